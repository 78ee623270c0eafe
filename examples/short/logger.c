// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A logger: from reset to the first row. After a reset it continues.
#include <stddef.h>

#include "examples/short/short.h"

#define LOG_ROW(F) F(U32, time, "s") F(I16, temp, "cdegC") F(U16, supply, "mV")
ESK_ROW(log_row, LOG_ROW);

static struct esk_volume volume;
static struct esk_series *log_table;
static uint64_t arena[ESK_SERIES_ARENA_BYTES(
                          SHORT_PAGE_BYTES, 2,
                          ESK_SERIES_ALL_BYTES(256, sizeof(struct log_row))) /
                      sizeof(uint64_t)];

int short_logger(const struct esk_device *flash, uint32_t time) {
    static const struct esk_volume_config config = {.uuid = {'l', 'o', 'g'}};
    static const struct esk_series_spec spec = {
        .table = {.name = "log", ESK_ROW_SPEC(log_row)}};
    ESK_TRY(esk_volume_mount_or_format(&volume, flash, 0, &config, arena,
                                       sizeof arena));
    ESK_TRY(esk_series_open_or_create(&log_table, &esk_series_parts_all,
                                      &volume, &spec, NULL, NULL));
    const struct log_row row = {.time = time, .temp = 2150, .supply = 3300};
    ESK_TRY(esk_series_append(log_table, &row));
    return esk_series_sync(log_table);
}
