// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzing the code that reads an image with two series: one with value
/// indexes, and one with values of any length (test/fuzz/hostile.h). With
/// OTHER_TABLES the image has the first alone, and its index is sorted.
///
///     byte 2   frames, bytes of the key index and its error bound
#ifndef ESK_TEST_FUZZ_HOSTILE_SERIES_H
#define ESK_TEST_FUZZ_HOSTILE_SERIES_H

#include "test/fuzz/hostile.h"

/* Functions of a target. */

/// The table with values of any length if `noted`, or that with indexes.
static const struct esk_series_spec *series_spec(bool noted);
/// Makes row `i` of a table; the value is not part of it. The first table has
/// an f32 in column 1.
static void row_make(uint8_t *row, bool noted, uint32_t i);

enum { HEAT = 4, HEATS = 211 };

static const struct esk_index_spec sorted_index = {
    .kind = ESK_INDEX_SORTED, .column = 1, .entries = 256, .fan = 2};

/// The values of a sorted index are noise, so that its runs have many entries.
static float heat_of(uint32_t i) {
    return (float)(i * 73 % HEATS) - 90.0f;
}

static void row_of(uint8_t *row, bool noted, uint32_t i) {
    float heat = heat_of(i);
    row_make(row, noted, i);
    if (other_tables && !noted) {
        memcpy(row + HEAT, &heat, sizeof heat);
    }
}

static void rows_append(struct esk_series *series, bool noted, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) {
        uint8_t row[ROW_BYTES_MAX] = {0};
        row_of(row, noted, i);
        if (noted) {
            (void)esk_series_append_var(series, row, image, i * 7 % 200);
        } else {
            (void)esk_series_append(series, row);
        }
        if (i % 11 == 0) {
            (void)esk_series_sync(series);
        }
    }
    (void)esk_series_sync(series);
}

static void table_make(struct esk_volume *volume, bool noted, uint32_t rows) {
    struct esk_series_spec spec = *series_spec(noted);
    struct esk_series *series = NULL;
    if (other_tables && !noted) {
        spec.indexes = &sorted_index;
        spec.index_count = 1;
        spec.sorted_blocks = 4;
        spec.merged_blocks = 5;
        spec.index_blocks = 2;
        spec.data_blocks += spec.sorted_blocks + spec.merged_blocks;
    }
    if (esk_series_create(volume, &spec, NULL) == ESK_OK &&
        test_series_open(&series, volume, spec.table.name, NULL, arena,
                         sizeof arena) == ESK_OK) {
        rows_append(series, noted, rows);
        esk_series_close(series);
    }
}

/* ---------------------------------------------------------- what is called */

static void value_read(struct esk_series *series, const uint8_t *row) {
    uint8_t bytes[300];
    struct esk_series_value value;
    uint32_t got = 0;
    if (esk_series_value_open(series, row, &value) == ESK_OK) {
        (void)esk_series_value_read(series, &value, bytes, sizeof bytes, &got);
        (void)esk_series_value_read(series, &value, NULL, UINT32_MAX, &got);
    }
}

static void scan(struct esk_series *series,
                 const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t left = 4 * IMAGE_BYTES_MAX;
    uint32_t values = 8;
    int status = esk_series_cursor_open(series, &cursor, query);
    while (status == ESK_OK || status == ESK_E_STALE || status == ESK_E_IO ||
           status == ESK_AGAIN) {
        scan_bound(&left);
        status = esk_series_cursor_next(series, &cursor, row);
        if (status == ESK_OK && values > 0) {
            values--;
            value_read(series, row);
        }
    }
}

static void query_all(struct esk_series *series,
                      const struct esk_table_info *info) {
    for (uint8_t i = 0; i < 2 * 4; i++) {
        struct esk_series_range range = {.column = (uint8_t)(i / 2),
                                         .has_lo = true};
        struct esk_series_query query = {.backward = i % 2 == 1,
                                         .ranges = &range,
                                         .range_count =
                                             i / 2 < info->column_count};
        range.lo.f32 = 5.0f;
        if (info->kind == ESK_TABLE_SERIES) {
            scan(series, &query);
        }
    }
}

/// Narrow ranges, which a sorted index answers; in steps, too.
static void values_find(struct esk_series *series,
                        const struct esk_table_info *info) {
    for (uint8_t i = 0; i < 8; i++) {
        float heat = heat_of(i * 17u);
        struct esk_series_range range = {
            .column = 1, .has_lo = true, .has_hi = true};
        struct esk_series_query query = {.backward = i % 2 == 1,
                                         .ranges = &range,
                                         .range_count = 1,
                                         .step_pages = i / 4};
        range.lo.f32 = heat;
        range.hi.f32 = heat + (float)(i % 3);
        if (other_tables && info->column_count > 1) {
            scan(series, &query);
        }
    }
}

static void keys_find(struct esk_series *series) {
    static const int64_t keys[] = {0, -90, 50, 1000, 700, 30000, INT64_MIN};
    uint8_t row[ROW_BYTES_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)esk_series_get(series, (esk_key)keys[i], row);
        (void)esk_series_floor(series, (esk_key)keys[i], row);
        (void)esk_series_ceiling(series, (esk_key)keys[i], row);
    }
    (void)esk_series_newest(series, row);
    (void)esk_series_oldest(series, row);
    (void)esk_series_count(series, &count);
}

/// A sync after each `sync_rows` rows.
static void rows_add(struct esk_series *series,
                     const struct esk_table_info *info,
                     const struct esk_column_info *key, uint8_t sync_rows) {
    uint8_t row[ROW_BYTES_MAX] = {0};
    for (uint32_t i = 0; i < 120; i++) {
        uint64_t next = 20000u + i;
        uint8_t wide[8];
        esk_store_u64(wide, key->bytes == 1 ? i : next);
        memcpy(row + key->offset, wide, key->bytes);
        if (info->blocks[2] > 0) {
            (void)esk_series_append_var(series, row, image, i);
        } else {
            (void)esk_series_append(series, row);
        }
        if (i % sync_rows == 0) {
            (void)esk_series_sync(series);
        }
    }
    (void)esk_series_sync(series);
    (void)esk_series_erase_before(series, 20010);
}

static void table_use(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t how) {
    struct esk_series_config config = {
        .frames = (uint8_t)(how & 7),
        .key_index_bytes = (uint16_t)((how >> 3 & 3) * 40),
        .key_error_16ths = (uint8_t)(how >> 5),
    };
    struct esk_series *series = NULL;
    struct esk_series_report report;
    struct esk_column_info column = {.bytes = 0};
    uint8_t edges[ESK_EDGE_COUNT_MAX * 8];
    struct esk_index_spec spec;

    for (uint8_t i = 0; i < 6; i++) {
        (void)esk_volume_column(volume, info, i, &column);
        (void)esk_volume_index(volume, info, i, &spec, edges, sizeof edges);
    }
    uint32_t bytes = esk_series_arena_bytes(volume, info, &config);
    void *exact = bytes > 0 && bytes <= sizeof arena ? malloc(bytes) : NULL;
    if (exact == NULL || test_series_open(&series, volume, info->name, &config,
                                          exact, bytes) != ESK_OK) {
        free(exact);
        return;
    }
    struct esk_series_query backward = {.backward = true};
    scan(series, NULL);
    scan(series, &backward);
    query_all(series, info);
    values_find(series, info);
    keys_find(series);
    (void)esk_series_check(series, &report);
    if (esk_volume_column(volume, info, info->key_column, &column) == ESK_OK) {
        static const uint8_t sync_rows[] = {16, 1, 7, 50};
        rows_add(series, info, &column, sync_rows[how & 3]);
    }
    scan(series, NULL);
    query_all(series, info);
    values_find(series, info);
    (void)esk_series_check(series, &report);
    (void)esk_volume_step(volume, 3, NULL);
    esk_series_close(series);
    free(exact);
}

static void tables_make(struct esk_volume *volume, bool few) {
    /* of a sorted index so many that runs are merged */
    table_make(volume, false, few ? 30 : other_tables ? 1000 : 400);
    if (!other_tables) {
        table_make(volume, true, few ? 3 : 40);
    }
    struct esk_table_info info;
    if (esk_volume_find(volume, series_spec(false)->table.name, &info) !=
        ESK_OK) {
        abort(); /* the image has no room for it */
    }
}

static void tables_renew(struct esk_volume *volume) {
    (void)esk_volume_drop(volume, series_spec(false)->table.name);
    table_make(volume, false, 20);
}

#endif
