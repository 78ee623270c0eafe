// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the benchmarks of packed tables: columns packed as a user would
/// declare them (bench_packed_sizes.c), and a table of them.
#ifndef ESK_BENCH_PACKED_BENCH_H
#define ESK_BENCH_PACKED_BENCH_H

#include "bench/series_bench.h"

struct packed_column {
    uint8_t type;
    uint8_t mode; ///< enum esk_pack_mode of a packed table
};

/// Makes the columns of a set. Returns how many.
static inline uint8_t packed_columns(struct esk_column *columns,
                                     const struct bench_data *data,
                                     bool packed) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
    static const struct packed_column kinds[3][8] = {
        {{ESK_TYPE_U32, ESK_PACK_LINEAR},
         {ESK_TYPE_I32, ESK_PACK_DELTA},
         {ESK_TYPE_I32, ESK_PACK_DELTA},
         {ESK_TYPE_I32, ESK_PACK_DELTA}},
        {{ESK_TYPE_I64, ESK_PACK_LINEAR}, {ESK_TYPE_F32, ESK_PACK_DECIMAL + 3}},
        {{ESK_TYPE_I64, ESK_PACK_LINEAR},
         {ESK_TYPE_I32, ESK_PACK_LINEAR},
         {ESK_TYPE_I32, ESK_PACK_LINEAR},
         {ESK_TYPE_F32, ESK_PACK_DECIMAL + 1},
         {ESK_TYPE_F32, ESK_PACK_DECIMAL + 3},
         {ESK_TYPE_F32, ESK_PACK_DECIMAL + 2},
         {ESK_TYPE_F32, ESK_PACK_DECIMAL},
         {ESK_TYPE_F32, ESK_PACK_DECIMAL}},
    };
    const struct packed_column *kind = kinds[data->row_bytes == 16   ? 0
                                             : data->row_bytes == 12 ? 1
                                                                     : 2];
    uint8_t count = 0;
    for (; count < 8 && kind[count].type != 0; count++) {
        columns[count] = (struct esk_column){
            .name = names[count],
            .unit = "",
            .type = kind[count].type,
            .mode = packed ? kind[count].mode : 0,
        };
    }
    return count;
}

/// Formats the device, makes the table and opens it. `cell_bytes` 0: the
/// default.
static inline void packed_make(struct bench_table *table,
                               const struct esk_device *device,
                               const struct bench_data *data,
                               const struct bench_shape *shape, bool packed,
                               uint16_t cell_bytes) {
    struct esk_column columns[8];
    struct esk_index_spec index = {.column = data->value_column,
                                   .bitmap_bits = shape->bitmap_bits > 0
                                                      ? shape->bitmap_bits
                                                      : ESK_BITMAP_NONE};
    struct esk_series_spec spec = {
        .table = {.name = "series",
                  .columns = columns,
                  .column_count = packed_columns(columns, data, packed),
                  .row_bytes = data->row_bytes},
        .indexes = &index,
        .index_count = shape->index_count,
        .codec = packed ? ESK_CODEC_PACKED : ESK_CODEC_RAW,
        .cell_bytes = cell_bytes,
    };
    if (shape->given) {
        bench_edges(data, &index);
    }
    bench_format(table, device, &spec);
    BENCH_DO(bench_open(table, device, data, shape, 0));
}

#endif
