// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with all kinds of columns, for tests of the catalog.
#ifndef ESK_TEST_HARNESS_CATALOG_FIXTURE_H
#define ESK_TEST_HARNESS_CATALOG_FIXTURE_H

#include "esker/series.h"
#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_F32},
    {.name = "at", .unit = "ms", .type = ESK_TYPE_I64},
    {.name = "gate", .type = ESK_TYPE_U8},
    {.name = "tag", .unit = "", .type = ESK_TYPE_BYTES, .bytes = 5},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const uint8_t gate_edges[] = {10, 20, 30};

static const struct esk_index_spec indexes[] = {
    {.column = 0, .bitmap_bits = 16},
    {.column = 2, .bitmap_bits = 8, .edges = gate_edges, .edge_count = 3},
};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 5,
              .row_bytes = 18 + ESK_VAR_REF_BYTES,
              .key_column = 1,
              .version = 7},
    .indexes = indexes,
    .index_count = 2,
    .full_policy = ESK_FULL_REFUSE,
    .group_pages = 5,
    .run_pages = 3,
    .data_blocks = 4,
    .index_blocks = 3,
    .var_blocks = 2,
};

static inline struct esk_series_spec named(const char *name) {
    struct esk_series_spec copy = spec;
    copy.table.name = name;
    return copy;
}

static inline int create(struct esk_fixture *fixture,
                         const struct esk_series_spec *wanted) {
    return esk_series_create(&fixture->volume, wanted, NULL);
}

static inline int find(struct esk_fixture *fixture, const char *name,
                       struct esk_table_info *info) {
    return esk_volume_find(&fixture->volume, name, info);
}

static inline int column_of(struct esk_fixture *fixture,
                            const struct esk_table_info *info, uint8_t index,
                            struct esk_column_info *column) {
    return esk_volume_column(&fixture->volume, info, index, column);
}

#endif
