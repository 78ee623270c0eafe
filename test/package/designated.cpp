// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// C++20's designated initialisers in the order of the structs' members, as
/// the README's program has them, and the row's macro.
#include "esker.h"

#define LOG_ROW(COLUMN) COLUMN(U32, time, "s") COLUMN(F32, temp, "degC")
ESK_ROW(log_row, LOG_ROW);

extern const struct esk_geometry geometry;
extern const struct esk_series_spec spec;
extern const struct esk_tree_spec tree_spec;
extern const struct esk_volume_config config;

const struct esk_geometry geometry = {.block_count = 128,
                                      .block_pages = 8,
                                      .page_bytes = 256,
                                      .program_bytes = 1,
                                      .erased_value = 0xFF};
static const struct esk_index_spec by_temp = {.column = 1, .bitmap_bits = 8};
const struct esk_series_spec spec = {.table = {.name = "log",
                                               ESK_ROW_SPEC(log_row),
                                               .key_column = 0,
                                               .version = 1},
                                     .indexes = &by_temp,
                                     .index_count = 1,
                                     .full_policy = ESK_FULL_REFUSE,
                                     .data_blocks = 64};
const struct esk_tree_spec tree_spec = {
    .table = {.name = "last", ESK_ROW_SPEC(log_row)},
    .store = ESK_STORE_MU,
    .k_percent = 60,
    .blocks = 32};
const struct esk_volume_config config = {.uuid = {0x4E, 0x01}};
