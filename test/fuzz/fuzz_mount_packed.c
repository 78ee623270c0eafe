// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes all code that reads images with packed series (test/fuzz/hostile.h).
#include "test/fuzz/hostile_series.h"

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

static const struct esk_series_spec *series_spec(bool noted) {
    return noted ? &noted_spec : &plain_spec;
}

static void row_make(uint8_t *row, bool noted, uint32_t i) {
    float heat = (float)(i % 17) / 10.0f - 0.5f;
    if (noted) {
        esk_store_u64(row + ESK_VAR_REF_BYTES, i * 1000u);
        esk_store_u32(row + ESK_VAR_REF_BYTES + 8, 0x41A00000u + i % 9u);
        row[ESK_VAR_REF_BYTES + 12] = (uint8_t)(i / 4);
        return;
    }
    esk_store_u32(row, i * 3 - 100);
    memcpy(row + 4, &heat, sizeof heat);
    row[8] = (uint8_t)(i * 5);
}
