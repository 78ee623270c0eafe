// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A program whose queries were compiled from SQL.
///
///     esker sqlc schema.sql queries.sql -o app
///     cc queries.c app.c ... libesker.a
///
/// The table's struct and the queries' structs and functions are app.h's. A
/// change of schema.sql that is not on the medium is ESK_E_SCHEMA at log_open.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app.h"
#include "port/ram/ram.h"

enum {
    PAGE_BYTES = 256,
    BLOCK_PAGES = 16,
    BLOCKS = 64,
};

static uint8_t medium[(uint32_t)BLOCKS * BLOCK_PAGES * PAGE_BYTES];
static uint64_t arena[1024];
static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                             .block_pages = BLOCK_PAGES,
                                             .page_bytes = PAGE_BYTES,
                                             .program_bytes = 1,
                                             .erased_value = 0xFF};
static const uint8_t no_temp[] = {0x00, 0x80}; /* -32,768, little-endian */
static const struct esk_column columns[] = {
    {.name = "time", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "temp",
     .unit = "0.1 degC",
     .type = ESK_TYPE_I16,
     .missing = no_temp},
    {.name = "door", .type = ESK_TYPE_U8},
};
static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 3,
              .row_bytes = LOG_ROW_BYTES},
};

/// Three days: warm at noon, and the sensor is silent once an hour.
static int log_fill(struct esk_series *series) {
    for (uint32_t minute = 0; minute < 3 * 1440; minute++) {
        int32_t hour = (int32_t)(minute / 60u % 24u);
        int32_t warmth = 40 + 10 * (hour < 12 ? hour : 24 - hour);
        struct log row = {
            .time = minute * 60u,
            .temp = (int16_t)(minute % 60u == 59 ? INT16_MIN : warmth),
            .door = minute % 500u == 7,
        };
        ESK_TRY(esk_series_append(series, &row));
    }
    return esk_series_sync(series);
}

static int days_print(struct esk_series *series) {
    struct days days;
    struct days_row day;
    int status = days_open(&days, series, 86400);
    while (status == ESK_OK && (status = days_next(&days, &day)) == ESK_OK) {
        printf(
            "day %" PRId32 ": %" PRId32 " to %" PRId32 ", mean %" PRId64 "\n",
            day.day, day.coldest, day.warmest, day.mean.sum / day.mean.count);
    }
    return status == ESK_END ? ESK_OK : status;
}

/// Two queries at a time: each has its own memory.
static int both_print(struct esk_series *series) {
    struct opened opened;
    struct opened_row cold;
    struct warmest warmest;
    struct warmest_row warm;
    ESK_TRY(opened_open(&opened, series, 60));
    ESK_TRY(warmest_open(&warmest, series));
    int left = ESK_OK;
    int right = ESK_OK;
    while (left == ESK_OK || right == ESK_OK) {
        left = opened_next(&opened, &cold);
        if (left == ESK_OK) {
            printf("open at %" PRIu32 ", %" PRId32 "\n", cold.time, cold.temp);
        }
        right = warmest_next(&warmest, &warm);
        if (right == ESK_OK) {
            printf("warm at %" PRIu32 ", %" PRId32 "\n", warm.time, warm.temp);
        }
    }
    return left == ESK_END && right == ESK_END ? ESK_OK : ESK_E_IO;
}

static int run(void) {
    struct esk_ram_device ram;
    struct esk_volume volume;
    struct esk_series *series;
    const struct esk_volume_config config = {.uuid = "queries"};
    memset(medium, 0xFF, sizeof medium);
    ESK_TRY(esk_ram_device_init(&ram, &geometry, medium, sizeof medium));
    ESK_TRY(esk_volume_format(&ram.device, &config, arena, sizeof arena));
    ESK_TRY(esk_volume_mount(&volume, &ram.device, 0, arena, sizeof arena));
    ESK_TRY(esk_series_create(&volume, &spec, NULL));
    ESK_TRY(log_open(&series, &volume, NULL));
    ESK_TRY(log_fill(series));
    ESK_TRY(days_print(series));
    return both_print(series);
}

int main(void) {
    int status = run();
    if (status != ESK_OK) {
        printf("%s\n", esk_status_text(status));
    }
    return status == ESK_OK ? 0 : 1;
}
