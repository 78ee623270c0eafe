// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes all code that reads images with packed series (test/fuzz/hostile.h).
///
///     byte 2   frames, bytes of the key index and its error bound
#include "test/fuzz/hostile.h"

static const struct esk_column plain_columns[] = {
    {.name = "at", .type = ESK_TYPE_I32},
    {.name = "heat",
     .unit = "degC",
     .type = ESK_TYPE_F32,
     .mode = ESK_PACK_DECIMAL + 1},
    {.name = "gate", .type = ESK_TYPE_U8},
};

static const uint8_t gate_edges[] = {10, 60, 120, 200};

static const struct esk_index_spec plain_indexes[] = {
    {.column = 1, .bitmap_bits = 8},
    {.column = 2, .bitmap_bits = 8, .edges = gate_edges, .edge_count = 4},
};

static const struct esk_series_spec plain_spec = {
    .table = {.name = "plain",
              .columns = plain_columns,
              .column_count = 3,
              .row_bytes = 9},
    .indexes = plain_indexes,
    .index_count = 2,
    .group_pages = 4,
    .run_pages = 3,
    .data_blocks = 5,
    .codec = ESK_CODEC_PACKED,
    .cell_bytes = 64,
};

static const struct esk_column noted_columns[] = {
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "at", .type = ESK_TYPE_U64},
    {.name = "heat", .type = ESK_TYPE_F32},
    {.name = "tag", .type = ESK_TYPE_BYTES, .bytes = 3},
};

static const struct esk_series_spec noted_spec = {
    .table = {.name = "noted",
              .columns = noted_columns,
              .column_count = 4,
              .row_bytes = 15 + ESK_VAR_REF_BYTES,
              .key_column = 1},
    .full_policy = ESK_FULL_REFUSE,
    .data_blocks = 2,
    .index_blocks = 2,
    .var_blocks = 2,
    .codec = ESK_CODEC_PACKED,
};

static void rows_append(struct esk_series *series, bool noted, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) {
        uint8_t row[ROW_BYTES_MAX] = {0};
        if (noted) {
            esk_store_u64(row + ESK_VAR_REF_BYTES, i * 1000u);
            esk_store_u32(row + ESK_VAR_REF_BYTES + 8, 0x41A00000u + i % 9u);
            row[ESK_VAR_REF_BYTES + 12] = (uint8_t)(i / 4);
            (void)esk_series_append_var(series, row, image, i * 7 % 200);
        } else {
            float heat = (float)(i % 17) / 10.0f - 0.5f;
            esk_store_u32(row, i * 3 - 100);
            memcpy(row + 4, &heat, sizeof heat);
            row[8] = (uint8_t)(i * 5);
            (void)esk_series_append(series, row);
        }
        if (i % 11 == 0) {
            (void)esk_series_sync(series);
        }
    }
    (void)esk_series_sync(series);
}

static void table_make(struct esk_volume *volume,
                       const struct esk_series_spec *spec, uint32_t rows) {
    struct esk_series *series = NULL;
    if (esk_series_create(volume, spec, NULL) == ESK_OK &&
        test_series_open(&series, volume, spec->table.name, NULL, arena,
                         sizeof arena) == ESK_OK) {
        rows_append(series, spec == &noted_spec, rows);
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
    while (status == ESK_OK || status == ESK_E_STALE || status == ESK_E_IO) {
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

static void rows_add(struct esk_series *series,
                     const struct esk_table_info *info,
                     const struct esk_column_info *key) {
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
        if (i % 16 == 0) {
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
    keys_find(series);
    (void)esk_series_check(series, &report);
    if (esk_volume_column(volume, info, info->key_column, &column) == ESK_OK) {
        rows_add(series, info, &column);
    }
    scan(series, NULL);
    query_all(series, info);
    (void)esk_series_check(series, &report);
    (void)esk_volume_step(volume, 3, NULL);
    esk_series_close(series);
    free(exact);
}

static void tables_make(struct esk_volume *volume, bool few) {
    table_make(volume, &plain_spec, few ? 30 : 400);
    table_make(volume, &noted_spec, few ? 3 : 40);
}

static void tables_renew(struct esk_volume *volume) {
    (void)esk_volume_drop(volume, "plain");
    table_make(volume, &plain_spec, 20);
}
