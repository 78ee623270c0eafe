// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes all code that reads an image with series (test/fuzz/hostile.h).
#include "test/fuzz/hostile_series.h"

static const struct esk_column plain_columns[] = {
    {.name = "at", .type = ESK_TYPE_I32},
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_F32},
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
};

static const struct esk_column noted_columns[] = {
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "at", .type = ESK_TYPE_U64},
};

static const struct esk_series_spec noted_spec = {
    .table = {.name = "noted",
              .columns = noted_columns,
              .column_count = 2,
              .row_bytes = 8 + ESK_VAR_REF_BYTES,
              .key_column = 1},
    .full_policy = ESK_FULL_REFUSE,
    .data_blocks = 2,
    .index_blocks = 2,
    .var_blocks = 2,
};

static const struct esk_series_spec *series_spec(bool noted) {
    return noted ? &noted_spec : &plain_spec;
}

static void row_make(uint8_t *row, bool noted, uint32_t i) {
    float heat = (float)(i % 17) - 3.0f;
    if (noted) {
        esk_store_u64(row + ESK_VAR_REF_BYTES, i * 1000u);
        return;
    }
    esk_store_u32(row, i * 3 - 100);
    memcpy(row + 4, &heat, sizeof heat);
    row[8] = (uint8_t)(i * 5);
}
