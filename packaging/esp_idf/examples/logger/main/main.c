// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A logger over a partition: the free heap, once a second.
///
/// What was synced is there after any reset. What may be lost are the rows
/// since: SYNC_ROWS less one, and the one being sampled.
#include "esk_esp_partition.h"
#include "esp_err.h"
#include "esp_log.h"
#include "esp_system.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"

enum { PERIOD_MS = 1000, SYNC_ROWS = 10, PAGE_BYTES = 256 };

#define LOG_ROW(F) F(U32, time, "s") F(U32, heap, "B")
ESK_ROW(log_row, LOG_ROW);

static const char *const TAG = "logger";

/* All in internal RAM: with the flash busy PSRAM cannot be reached. */
static struct esk_esp_partition flash;
static struct esk_volume volume;
static struct esk_series *series;
static uint64_t arena[ESK_SERIES_ARENA_BYTES(
                          PAGE_BYTES, 2,
                          ESK_SERIES_ALL_BYTES(256, sizeof(struct log_row))) /
                      sizeof(uint64_t)];

/// Opens the log. The partition is formatted when it is blank, the table made
/// when there is none; neither is touched otherwise.
static int log_open(void) {
    static const struct esk_esp_partition_config partition = {
        .label = "esker", .page_bytes = PAGE_BYTES};
    static const struct esk_volume_config config = {.uuid = {'l', 'o', 'g'}};
    static const struct esk_series_spec spec = {
        .table = {.name = "log", ESK_ROW_SPEC(log_row)}};
    ESK_TRY(esk_esp_partition_init(&flash, &partition));
    ESK_TRY(esk_volume_mount_or_format(&volume, &flash.device, 0, &config,
                                       arena, sizeof arena));
    return esk_series_open_or_create(&series, &esk_series_parts_all, &volume,
                                     &spec, NULL, NULL);
}

/// Appends a row and syncs every SYNC_ROWS of them. Blocks are erased ahead
/// here, so that no append waits for one.
static int log_sample(uint32_t time) {
    static uint32_t unsynced;
    const struct log_row row = {.time = time, .heap = esp_get_free_heap_size()};
    ESK_TRY(esk_series_append(series, &row));
    unsynced++;
    if (unsynced >= SYNC_ROWS) {
        uint32_t count = 0;
        ESK_TRY(esk_series_sync(series));
        unsynced = 0;
        ESK_TRY(esk_series_count(series, &count));
        ESP_LOGI(TAG, "%u rows kept, the newest of %u s", (unsigned)count,
                 (unsigned)time);
    }
    return esk_volume_step(&volume, 1, NULL);
}

static void log_report(const char *what, int status) {
    ESP_LOGE(TAG, "%s: %s (ESP-IDF: %s)", what, esk_status_text(status),
             esp_err_to_name(flash.error));
}

void app_main(void) {
    esk_key newest = 0;
    int status = log_open();
    if (status != ESK_OK) {
        log_report("not opened", status);
        return;
    }
    /* Without a clock time counts samples, and goes on from the newest. */
    (void)esk_series_newest_key(series, &newest);
    ESP_LOGI(TAG, "opened, the newest row is of %u s", (unsigned)newest);
    for (uint32_t time = (uint32_t)newest + 1;; time++) {
        status = log_sample(time);
        if (status != ESK_OK) {
            log_report("not kept", status);
        }
        vTaskDelay(pdMS_TO_TICKS(PERIOD_MS));
    }
}
