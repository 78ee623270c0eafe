// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the series benchmarks: data sets, a table to measure, output.
///
///     data set -> format, create -> open -> fill -> measure -> print
///
/// bench.h prints figures and ends the program at a failure.
#ifndef ESK_BENCH_SERIES_BENCH_H
#define ESK_BENCH_SERIES_BENCH_H

#include "bench/bench.h"

enum {
    BENCH_PAGE_BYTES = 512,
    BENCH_PAGE_BYTES_MAX = 4096,
    BENCH_ROWS_MAX = 100000,
    BENCH_TAIL_ROWS = 10,   ///< 0.01 % of BENCH_ROWS_MAX
    BENCH_BITMAP_BITS = 16, ///< of the value index
    BENCH_ROW_BYTES_MAX = 36,
};

/* ------------------------------------------------------------ data sets */

/// A data set: packed rows in rising key order, and the column for value
/// queries.
struct bench_data {
    const char *name;
    const char *column; ///< name of the value column
    uint8_t *rows;
    double *values; ///< the value column, sorted
    uint32_t count;
    uint16_t row_bytes;
    uint16_t value_offset;
    uint8_t value_column;
    uint8_t key_type;
    uint8_t value_type;
};

enum { BENCH_DATA_COUNT = 5 };

/// The sets of embeddb-2024 and the one that ships with the project. The
/// value columns are those that the paper's queries use.
static const struct bench_data bench_sets[BENCH_DATA_COUNT] = {
    {.name = "uwa", .column = "v1", .value_column = 1},
    {.name = "ethylene", .column = "v3", .value_column = 3},
    {.name = "watch", .column = "v1", .value_column = 1},
    {.name = "sea", .column = "v1", .value_column = 1},
    {.name = "sea_surface_temp",
     .column = "temp",
     .value_column = 1,
     .row_bytes = 12,
     .value_offset = 8,
     .key_type = ESK_TYPE_I64,
     .value_type = ESK_TYPE_F32},
};

static inline const uint8_t *bench_row(const struct bench_data *data,
                                       uint32_t index) {
    return data->rows + (size_t)index * data->row_bytes;
}

static inline esk_key bench_key(const struct bench_data *data, uint32_t index) {
    uint64_t key = 0;
    memcpy(&key, bench_row(data, index),
           data->key_type == ESK_TYPE_I64 ? 8 : 4);
    return (esk_key)key;
}

/// The value column of a row; every i32 and f32 is a double exactly.
static inline double bench_value(const struct bench_data *data,
                                 const uint8_t *row) {
    int32_t integer = 0;
    float real = 0;
    if (data->value_type == ESK_TYPE_F32) {
        memcpy(&real, row + data->value_offset, sizeof real);
        return (double)real;
    }
    memcpy(&integer, row + data->value_offset, sizeof integer);
    return integer;
}

/// Opens the set's file: the committed one, or one of ESK_DATA.
static inline FILE *bench_data_file(const struct bench_data *data) {
    char path[1024];
    const char *folder = getenv("ESK_DATA");
    if (data->key_type == ESK_TYPE_I64) {
        snprintf(path, sizeof path, "data/%s.rec", data->name);
    } else {
        snprintf(path, sizeof path, "%s/sensors/%s.i32x4",
                 folder != NULL ? folder : "../shared/data", data->name);
    }
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("skipped %s: no file %s\n", data->name, path);
        fflush(stdout);
    }
    return file;
}

/// Sorts the values of the value column.
static inline void bench_data_sort(struct bench_data *data) {
    for (uint32_t i = 0; i < data->count; i++) {
        data->values[i] = bench_value(data, bench_row(data, i));
    }
    qsort(data->values, data->count, sizeof *data->values, bench_compare);
}

/// Reads the rows of `data` from `file`, and closes it.
static inline void bench_data_read(struct bench_data *data, FILE *file) {
    data->rows = malloc((size_t)BENCH_ROWS_MAX * data->row_bytes);
    data->values = malloc(BENCH_ROWS_MAX * sizeof *data->values);
    BENCH_HOLDS(data->rows != NULL && data->values != NULL);
    data->count =
        (uint32_t)fread(data->rows, data->row_bytes, BENCH_ROWS_MAX, file);
    fclose(file);
    BENCH_HOLDS(data->count >= 1000);
    bench_data_sort(data);
}

/// Loads set `index` into `data`. Returns false when its file is missing.
static inline bool bench_data_load(struct bench_data *data, uint32_t index) {
    *data = bench_sets[index];
    if (data->row_bytes == 0) {
        data->row_bytes = 16;
        data->key_type = ESK_TYPE_U32;
        data->value_type = ESK_TYPE_I32;
        data->value_offset = (uint16_t)(4 * data->value_column);
    }
    FILE *file = bench_data_file(data);
    if (file == NULL) {
        return false;
    }
    bench_data_read(data, file);
    return true;
}

static inline void bench_data_free(struct bench_data *data) {
    free(data->rows);
    free(data->values);
}

/// A range of values: the narrowest with BENCH_TAIL_ROWS rows from rank `rank`
/// on; more rows if values are equal.
struct bench_span {
    double lo;
    double hi;
    uint32_t rows;  ///< in the range
    uint32_t pages; ///< with one of these rows
};

static inline struct bench_span bench_span_at(const struct bench_data *data,
                                              uint32_t rank,
                                              uint32_t page_rows) {
    struct bench_span span = {.lo = data->values[rank],
                              .hi = data->values[rank + BENCH_TAIL_ROWS - 1]};
    uint32_t page = UINT32_MAX;
    for (uint32_t i = 0; i < data->count; i++) {
        double value = bench_value(data, bench_row(data, i));
        if (value >= span.lo && value <= span.hi) {
            span.rows++;
            span.pages += i / page_rows != page;
            page = i / page_rows;
        }
    }
    return span;
}

static inline struct bench_span bench_tail(const struct bench_data *data,
                                           uint32_t page_rows) {
    return bench_span_at(data, data->count - BENCH_TAIL_ROWS, page_rows);
}

static inline uint32_t bench_page_rows(const struct bench_data *data,
                                       uint32_t page_bytes) {
    return (page_bytes - 16) / data->row_bytes;
}

/// Mean and maximum of a series of counts.
struct bench_tally {
    uint64_t sum;
    uint64_t max;
    uint32_t count;
};

static inline void bench_tally_add(struct bench_tally *tally, uint64_t value) {
    tally->sum += value;
    tally->max = value > tally->max ? value : tally->max;
    tally->count++;
}

static inline double bench_tally_mean(const struct bench_tally *tally) {
    return (double)tally->sum / tally->count;
}

/* ---------------------------------------------------------------- table */

/// How a table is made and opened.
struct bench_shape {
    uint8_t frames;
    uint8_t index_count;      ///< 0 or 1, on the data set's value column
    uint8_t bitmap_bits;      ///< of that index
    uint16_t key_index_bytes; ///< 0: the default
    bool given;               ///< buckets of equally many rows of the data set
};

/// A table under measurement.
struct bench_table {
    const struct bench_data *data;
    struct esk_volume volume;
    struct esk_table_info info;
    struct esk_series *series;
    void *arena;
    uint32_t arena_bytes;
    uint64_t page[BENCH_PAGE_BYTES_MAX / sizeof(uint64_t)];
};

/// Formats the device and creates the series on it.
static inline void bench_format(struct bench_table *table,
                                const struct esk_device *device,
                                const struct esk_series_spec *spec) {
    struct esk_volume_config config = {.uuid = {0xE5, 0xCE}};
    struct esk_fault fault;
    BENCH_DO(
        esk_volume_format(device, &config, table->page, sizeof table->page));
    BENCH_DO(esk_volume_mount(&table->volume, device, 0, table->page,
                              sizeof table->page));
    BENCH_DO(esk_series_create(&table->volume, spec, &fault));
    esk_volume_unmount(&table->volume);
}

static inline union esk_number bench_number(const struct bench_data *data,
                                            double value) {
    union esk_number number = {.u = 0};
    if (data->value_type == ESK_TYPE_F32) {
        number.f32 = (float)value;
    } else {
        number.i = (int64_t)value;
    }
    return number;
}

/// Gives an index the edges of buckets of equally many rows of the data set:
/// what a developer could know at best.
static inline void bench_edges(const struct bench_data *data,
                               struct esk_index_spec *index) {
    static uint8_t edges[64 * 4];
    uint32_t buckets = index->bitmap_bits;
    double before = data->values[0];
    index->edges = edges;
    for (uint32_t i = 1; i < buckets; i++) {
        double value = data->values[(uint64_t)data->count * i / buckets];
        if (value > before) {
            union esk_number edge = bench_number(data, value);
            memcpy(edges + (size_t)4 * index->edge_count++, &edge, 4);
            before = value;
        }
    }
}

static inline void bench_create(struct bench_table *table,
                                const struct esk_device *device,
                                const struct bench_data *data,
                                const struct bench_shape *shape) {
    static const struct esk_column four[] = {
        {"key", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v1", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v2", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v3", "", ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    static const struct esk_column two[] = {
        {"t", "ms", ESK_TYPE_I64, 0, 0, NULL, 0},
        {"temp", "degC", ESK_TYPE_F32, 0, 0, NULL, 0},
    };
    bool wide = data->key_type == ESK_TYPE_I64;
    struct esk_index_spec index = {.column = data->value_column,
                                   .bitmap_bits = shape->bitmap_bits > 0
                                                      ? shape->bitmap_bits
                                                      : ESK_BITMAP_NONE};
    struct esk_series_spec spec = {
        .table = {.name = "series",
                  .columns = wide ? two : four,
                  .column_count = wide ? 2 : 4,
                  .row_bytes = wide ? 12 : 16},
        .indexes = &index,
        .index_count = shape->index_count,
    };
    if (shape->given) {
        bench_edges(data, &index);
    }
    bench_format(table, device, &spec);
}

static inline struct esk_series_config
bench_config(const struct bench_shape *shape) {
    return (struct esk_series_config){
        .frames = shape->frames, .key_index_bytes = shape->key_index_bytes};
}

/// Mounts and opens. Returns ESK_OK or the first failure.
static inline int bench_open(struct bench_table *table,
                             const struct esk_device *device,
                             const struct bench_data *data,
                             const struct bench_shape *shape, uint8_t flags) {
    struct esk_series_config config = bench_config(shape);
    table->data = data;
    table->arena = NULL;
    ESK_TRY(esk_volume_mount(&table->volume, device, flags, table->page,
                             sizeof table->page));
    ESK_TRY(esk_volume_find(&table->volume, "series", &table->info));
    table->arena_bytes =
        esk_series_arena_bytes(&table->volume, &table->info, &config);
    table->arena = bench_memory(table->arena_bytes);
    BENCH_DO(
        esk_volume_arena_set(&table->volume, table->arena, table->arena_bytes));
    int status =
        esk_series_open(&table->series, &table->volume, "series", &config);
    if (status != ESK_OK) {
        free(table->arena);
        table->arena = NULL;
    }
    return status;
}

static inline void bench_close(struct bench_table *table) {
    esk_series_close(table->series);
    esk_volume_unmount(&table->volume);
    free(table->arena);
    table->arena = NULL;
}

static inline void bench_append(struct bench_table *table, uint32_t first,
                                uint32_t end) {
    for (uint32_t i = first; i < end; i++) {
        BENCH_DO(esk_series_append(table->series, bench_row(table->data, i)));
    }
}

/// Formats, creates, opens and appends every row, durably.
static inline void bench_build(struct bench_table *table,
                               const struct esk_device *device,
                               const struct bench_data *data,
                               const struct bench_shape *shape) {
    bench_create(table, device, data, shape);
    BENCH_DO(bench_open(table, device, data, shape, 0));
    bench_append(table, 0, data->count);
    BENCH_DO(esk_series_sync(table->series));
}

/// Gets row `index` and verifies it.
static inline void bench_get(struct bench_table *table, uint32_t index) {
    uint8_t row[BENCH_ROW_BYTES_MAX];
    BENCH_DO(esk_series_get(table->series, bench_key(table->data, index), row));
    BENCH_HOLDS(memcmp(row, bench_row(table->data, index),
                       table->data->row_bytes) == 0);
}

/// Runs `query` to its end. Returns the number of rows.
static inline uint32_t bench_query(struct bench_table *table,
                                   const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[BENCH_ROW_BYTES_MAX];
    uint32_t rows = 0;
    int status = ESK_OK;
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, query));
    while ((status = esk_series_cursor_next(table->series, &cursor, row)) ==
           ESK_OK) {
        rows++;
    }
    BENCH_WANT(ESK_END, status);
    return rows;
}

/// The rows `first` .. `first` + `count` - 1 by their keys.
static inline void bench_key_range(struct bench_table *table, uint32_t first,
                                   uint32_t count) {
    struct esk_series_query query = {
        .has_key_min = true,
        .has_key_max = true,
        .key_min = bench_key(table->data, first),
        .key_max = bench_key(table->data, first + count - 1),
    };
    BENCH_HOLDS(bench_query(table, &query) == count);
}

/// The rows of `span`.
static inline void bench_value_range(struct bench_table *table,
                                     const struct bench_span *span) {
    struct esk_series_range range = {
        .column = table->data->value_column,
        .has_lo = true,
        .has_hi = true,
        .lo = bench_number(table->data, span->lo),
        .hi = bench_number(table->data, span->hi),
    };
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    BENCH_HOLDS(bench_query(table, &query) == span->rows);
}

#endif
