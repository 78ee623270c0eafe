// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Host time beside SQLite, as ratios: SQLite's time over EskerDB's.
///
/// Set up as in embeddb-2024 section 4: INTEGER PRIMARY KEY, a secondary index
/// on the value column of the query, WAL, synchronous off, one transaction for
/// all inserts; statements prepared once, reads within a transaction,
/// every column of every row fetched. EskerDB writes an image file through
/// port/posix_file; its sync does not call fsync, as SQLite's does not.
///
/// By pread, EskerDB reads ahead of a scan by the driver's default, 32 KiB; in
/// the setup with the least cache its pages in RAM, these included, are fewer
/// than SQLite's ten.
///
/// Both do each operation in turn, ROUNDS times; a figure is the ratio of the
/// medians of processor time, to two digits. Both compute the same sum over
/// what they read.
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/compare.h"
#include "bench/series_bench.h"
#include "port/page_cache/page_cache.h"
#include "port/posix_file/posix_file.h"

static const char bench[] = "series_host";
static const char image_path[] = "build/bench/series.img";
static const char base_path[] = "build/bench/series.db";

enum {
    ROUNDS = 9,
    GETS = 100000,
    RANGES = 20,
    TAILS = 200, ///< tail queries a round
    IMAGE_BYTES = 8 * 1024 * 1024,
    BLOCK_PAGES = 8,
    SQL_BYTES = 160,
};

enum operation { OP_INSERT, OP_GET, OP_RANGE, OP_SCAN, OP_TAIL, OP_COUNT };

static const char *const op_names[OP_COUNT] = {
    "host, insert", "host, random get", "host, 5 % key range",
    "host, full scan", "host, tail value query"};

/// Pages and cache of one comparison.
struct setup {
    const char *label;
    struct bench_shape shape;
    uint16_t page_bytes;  ///< EskerDB's
    int32_t sqlite_cache; ///< PRAGMA cache_size; 0: EskerDB's bytes
    uint32_t page_cache;  ///< bytes of a page cache between pool and file; 0:
                          ///< none
};

/// The sides of a comparison.
enum side { SIDE_PREAD, SIDE_MMAP, SIDE_SQLITE, SIDE_SQLITE_MMAP, SIDE_COUNT };

struct comparison {
    const struct bench_data *data;
    const struct setup *setup;
    struct bench_span tail;
    struct esk_posix_file files[2]; ///< by enum side
    struct esk_page_cache cache;    ///< over the file that is read by pread
    void *cache_memory;
    struct bench_table tables[2];
    sqlite3 *bases[2];
    sqlite3_stmt *statements[2][OP_COUNT];
    double seconds[OP_COUNT][SIDE_COUNT][ROUNDS];
};

/* ------------------------------------------------------------- EskerDB */

static int sync_skip(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static struct esk_geometry image_geometry(const struct setup *setup) {
    uint32_t block = (uint32_t)BLOCK_PAGES * setup->page_bytes;
    return (struct esk_geometry){.block_count = IMAGE_BYTES / block,
                                 .block_pages = BLOCK_PAGES,
                                 .page_bytes = setup->page_bytes,
                                 .program_bytes = setup->page_bytes,
                                 .erased_value = 0xFF,
                                 .flags = ESK_MEDIUM_OVERWRITE};
}

/// Appends every row to a new image. Returns the time, creation left out.
static double esker_insert(struct comparison *cmp) {
    static struct bench_table table;
    struct esk_geometry geometry = image_geometry(cmp->setup);
    struct esk_posix_file file;
    (void)unlink(image_path);
    BENCH_DO(esk_posix_file_create(&file, image_path, &geometry, 0));
    struct esk_device_ops ops = *file.device.ops;
    struct esk_device device = file.device;
    ops.sync = sync_skip;
    device.ops = &ops;
    bench_create(&table, &device, cmp->data, &cmp->setup->shape);
    BENCH_DO(bench_open(&table, &device, cmp->data, &cmp->setup->shape, 0));
    double start = compare_now_s();
    bench_append(&table, 0, cmp->data->count);
    BENCH_DO(esk_series_sync(table.series));
    double seconds = compare_now_s() - start;
    bench_close(&table);
    BENCH_DO(esk_posix_file_close(&file));
    return seconds;
}

static void esker_open(struct comparison *cmp, enum side side) {
    struct esk_geometry geometry = image_geometry(cmp->setup);
    unsigned flags = ESK_POSIX_FILE_READ_ONLY;
    struct esk_posix_file *file = &cmp->files[side];
    flags |= side == SIDE_MMAP ? ESK_POSIX_FILE_MMAP : 0u;
    BENCH_DO(esk_posix_file_open(file, image_path, &geometry, flags));
    const struct esk_device *device = &file->device;
    if (side == SIDE_PREAD && cmp->setup->page_cache > 0) {
        cmp->cache_memory = bench_memory(cmp->setup->page_cache);
        BENCH_DO(esk_page_cache_init(&cmp->cache, device, cmp->cache_memory,
                                     cmp->setup->page_cache));
        device = &cmp->cache.device;
    }
    BENCH_DO(bench_open(&cmp->tables[side], device, cmp->data,
                        &cmp->setup->shape, ESK_MOUNT_READ_ONLY));
}

/// A program's use of a row: the sum of its columns.
static inline double row_sum(const struct bench_data *data,
                             const uint8_t *row) {
    double sum = 0;
    if (data->key_type == ESK_TYPE_I64) {
        int64_t key = 0;
        memcpy(&key, row, sizeof key);
        return (double)key + bench_value(data, row);
    }
    uint32_t key = 0;
    int32_t values[3];
    memcpy(&key, row, sizeof key);
    memcpy(values, row + 4, sizeof values);
    sum += key;
    for (uint8_t i = 0; i < 3; i++) {
        sum += values[i];
    }
    return sum;
}

static double esker_query(struct bench_table *table,
                          const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[16];
    double sum = 0;
    BENCH_DO(esk_series_cursor_open(table->series, &cursor, query));
    while (esk_series_cursor_next(table->series, &cursor, row) == ESK_OK) {
        sum += row_sum(table->data, row);
    }
    return sum;
}

static double esker_gets(struct bench_table *table) {
    uint64_t random = 88172645463325252u;
    uint8_t row[16];
    double sum = 0;
    for (uint32_t i = 0; i < GETS; i++) {
        uint32_t index = bench_random(&random, table->data->count);
        BENCH_DO(
            esk_series_get(table->series, bench_key(table->data, index), row));
        sum += row_sum(table->data, row);
    }
    return sum;
}

static double esker_run(struct comparison *cmp, enum side side,
                        enum operation op) {
    struct bench_table *table = &cmp->tables[side];
    const struct bench_data *data = cmp->data;
    uint32_t rows = data->count / RANGES;
    double sum = 0;
    if (op == OP_GET) {
        return esker_gets(table);
    }
    if (op == OP_SCAN) {
        return esker_query(table, NULL);
    }
    for (uint32_t i = 0; op == OP_RANGE && i < RANGES; i++) {
        struct esk_series_query query = {
            .has_key_min = true,
            .has_key_max = true,
            .key_min = bench_key(data, i * rows),
            .key_max = bench_key(data, (i + 1) * rows - 1),
        };
        sum += esker_query(table, &query);
    }
    for (uint32_t i = 0; op == OP_TAIL && i < TAILS; i++) {
        struct esk_series_range range = {.column = data->value_column,
                                         .has_lo = true,
                                         .has_hi = true,
                                         .lo = bench_number(data, cmp->tail.lo),
                                         .hi =
                                             bench_number(data, cmp->tail.hi)};
        struct esk_series_query query = {.range_count = 1, .ranges = &range};
        sum += esker_query(table, &query);
    }
    return sum;
}

/* -------------------------------------------------------------- SQLite */

static void sql_do(sqlite3 *base, const char *sql) {
    char *error = NULL;
    if (sqlite3_exec(base, sql, NULL, NULL, &error) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, error);
        exit(1);
    }
}

static sqlite3_stmt *sql_prepare(sqlite3 *base, const char *sql) {
    sqlite3_stmt *statement = NULL;
    BENCH_HOLDS(sqlite3_prepare_v2(base, sql, -1, &statement, NULL) ==
                SQLITE_OK);
    return statement;
}

static sqlite3 *sqlite_base(const struct comparison *cmp) {
    sqlite3 *base = NULL;
    char sql[SQL_BYTES];
    int32_t cache = cmp->setup->sqlite_cache;
    BENCH_HOLDS(sqlite3_open(base_path, &base) == SQLITE_OK);
    sql_do(base, "PRAGMA page_size = 4096");
    sql_do(base, "PRAGMA journal_mode = WAL");
    sql_do(base, "PRAGMA synchronous = OFF");
    if (cache == 0) {
        cache = -(int32_t)(cmp->tables[SIDE_PREAD].arena_bytes / 1024);
    }
    snprintf(sql, sizeof sql, "PRAGMA cache_size = %d", (int)cache);
    sql_do(base, sql);
    return base;
}

/// Inserts every row into a new base. Returns the time, creation left out.
static double sqlite_insert(struct comparison *cmp) {
    const struct bench_data *data = cmp->data;
    bool wide = data->key_type == ESK_TYPE_I64;
    char sql[SQL_BYTES];
    (void)unlink(base_path);
    sqlite3 *base = sqlite_base(cmp);
    sql_do(base, wide ? "CREATE TABLE s (key INTEGER PRIMARY KEY, temp REAL)"
                      : "CREATE TABLE s (key INTEGER PRIMARY KEY, "
                        "v1 INTEGER, v2 INTEGER, v3 INTEGER)");
    snprintf(sql, sizeof sql, "CREATE INDEX s_%s ON s (%s)", data->column,
             data->column);
    sql_do(base, sql);
    sqlite3_stmt *insert =
        sql_prepare(base, wide ? "INSERT INTO s VALUES (?, ?)"
                               : "INSERT INTO s VALUES (?, ?, ?, ?)");
    double start = compare_now_s();
    sql_do(base, "BEGIN");
    for (uint32_t i = 0; i < data->count; i++) {
        const uint8_t *row = bench_row(data, i);
        int32_t values[3];
        sqlite3_bind_int64(insert, 1, (sqlite3_int64)bench_key(data, i));
        if (wide) {
            sqlite3_bind_double(insert, 2, bench_value(data, row));
        } else {
            memcpy(values, row + 4, sizeof values);
            for (int k = 0; k < 3; k++) {
                sqlite3_bind_int(insert, k + 2, values[k]);
            }
        }
        BENCH_HOLDS(sqlite3_step(insert) == SQLITE_DONE);
        sqlite3_reset(insert);
    }
    sql_do(base, "COMMIT");
    double seconds = compare_now_s() - start;
    sqlite3_finalize(insert);
    sql_do(base, "PRAGMA wal_checkpoint(TRUNCATE)");
    BENCH_HOLDS(sqlite3_close(base) == SQLITE_OK);
    return seconds;
}

static void sqlite_open(struct comparison *cmp, uint8_t index) {
    sqlite3 *base = sqlite_base(cmp);
    sqlite3_stmt **statements = cmp->statements[index];
    char sql[SQL_BYTES];
    sql_do(base, index == 1 ? "PRAGMA mmap_size = 1073741824"
                            : "PRAGMA mmap_size = 0");
    statements[OP_GET] = sql_prepare(base, "SELECT * FROM s WHERE key = ?");
    statements[OP_RANGE] =
        sql_prepare(base, "SELECT * FROM s WHERE key BETWEEN ? AND ?");
    statements[OP_SCAN] = sql_prepare(base, "SELECT * FROM s");
    snprintf(sql, sizeof sql, "SELECT * FROM s WHERE %s BETWEEN ? AND ?",
             cmp->data->column);
    statements[OP_TAIL] = sql_prepare(base, sql);
    cmp->bases[index] = base;
}

static double sql_sum(const struct bench_data *data, sqlite3_stmt *statement) {
    double sum = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        double row = (double)sqlite3_column_int64(statement, 0);
        if (data->key_type == ESK_TYPE_I64) {
            row += sqlite3_column_double(statement, 1);
        } else {
            for (int i = 1; i < 4; i++) {
                row += sqlite3_column_int(statement, i);
            }
        }
        sum += row;
    }
    sqlite3_reset(statement);
    return sum;
}

static double sqlite_run(struct comparison *cmp, uint8_t index,
                         enum operation op) {
    const struct bench_data *data = cmp->data;
    sqlite3_stmt *statement = cmp->statements[index][op];
    uint64_t random = 88172645463325252u;
    uint32_t rows = data->count / RANGES;
    double sum = 0;
    sql_do(cmp->bases[index], "BEGIN");
    for (uint32_t i = 0; op == OP_GET && i < GETS; i++) {
        uint32_t row = bench_random(&random, data->count);
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)bench_key(data, row));
        sum += sql_sum(data, statement);
    }
    for (uint32_t i = 0; op == OP_RANGE && i < RANGES; i++) {
        sqlite3_bind_int64(statement, 1,
                           (sqlite3_int64)bench_key(data, i * rows));
        sqlite3_bind_int64(statement, 2,
                           (sqlite3_int64)bench_key(data, (i + 1) * rows - 1));
        sum += sql_sum(data, statement);
    }
    if (op == OP_SCAN) {
        sum = sql_sum(data, statement);
    }
    for (uint32_t i = 0; op == OP_TAIL && i < TAILS; i++) {
        sqlite3_bind_double(statement, 1, cmp->tail.lo);
        sqlite3_bind_double(statement, 2, cmp->tail.hi);
        sum += sql_sum(data, statement);
    }
    sql_do(cmp->bases[index], "COMMIT");
    return sum;
}

/* ------------------------------------------------------------- cmp */

static double side_run(struct comparison *cmp, enum side side,
                       enum operation op, double *seconds) {
    double start = compare_now_s();
    double sum = side < SIDE_SQLITE
                     ? esker_run(cmp, side, op)
                     : sqlite_run(cmp, (uint8_t)(side - SIDE_SQLITE), op);
    *seconds = compare_now_s() - start;
    return sum;
}

static void ratio_print(const struct comparison *cmp, enum operation op,
                        enum side other, enum side own, const char *paths) {
    double ratio =
        compare_ratio(cmp->seconds[op][other], cmp->seconds[op][own], ROUNDS);
    bench_print(bench, op_names[op], cmp->data, ratio, "times", "%s; %s",
                cmp->setup->label, paths);
}

static void ratios_print(const struct comparison *cmp) {
    int used = 0;
    int most = 0;
    ratio_print(cmp, OP_INSERT, SIDE_SQLITE, SIDE_PREAD,
                "files written by pwrite");
    for (enum operation op = OP_GET; op < OP_COUNT; op++) {
        ratio_print(cmp, op, SIDE_SQLITE, SIDE_PREAD, "pread");
        ratio_print(cmp, op, SIDE_SQLITE, SIDE_MMAP,
                    "EskerDB mmap, SQLite pread");
        ratio_print(cmp, op, SIDE_SQLITE_MMAP, SIDE_MMAP, "mmap on both sides");
    }
    bench_print(bench, "host, cache bytes, EskerDB", cmp->data,
                cmp->tables[SIDE_PREAD].arena_bytes + cmp->setup->page_cache +
                    ESK_POSIX_FILE_AHEAD_BYTES,
                "B", "%s; the whole arena, and what is read ahead by pread",
                cmp->setup->label);
    sqlite3_db_status(cmp->bases[0], SQLITE_DBSTATUS_CACHE_USED, &used, &most,
                      0);
    bench_print(bench, "host, cache bytes, SQLite", cmp->data, used, "B",
                "%s; in use after the queries", cmp->setup->label);
}

static void compare_run(const struct bench_data *data,
                        const struct setup *setup) {
    static struct comparison cmp;
    memset(&cmp, 0, sizeof cmp);
    cmp.data = data;
    cmp.setup = setup;
    cmp.tail = bench_tail(data, bench_page_rows(data, setup->page_bytes));
    double *own = cmp.seconds[OP_INSERT][SIDE_PREAD];
    double *other = cmp.seconds[OP_INSERT][SIDE_SQLITE];
    (void)esker_insert(&cmp);
    esker_open(&cmp, SIDE_PREAD);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        own[round] = esker_insert(&cmp);
        other[round] = sqlite_insert(&cmp);
    }
    bench_close(&cmp.tables[SIDE_PREAD]);
    BENCH_DO(esk_posix_file_close(&cmp.files[SIDE_PREAD]));
    free(cmp.cache_memory);
    for (uint8_t i = 0; i < 2; i++) {
        esker_open(&cmp, (enum side)i);
        sqlite_open(&cmp, i);
    }
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (enum operation op = OP_GET; op < OP_COUNT; op++) {
            double sums[SIDE_COUNT];
            for (enum side side = 0; side < SIDE_COUNT; side++) {
                sums[side] =
                    side_run(&cmp, side, op, &cmp.seconds[op][side][round]);
                BENCH_HOLDS(sums[side] - sums[0] <= 0 &&
                            sums[side] - sums[0] >= 0);
            }
        }
    }
    ratios_print(&cmp);
    for (uint8_t i = 0; i < 2; i++) {
        for (enum operation op = OP_GET; op < OP_COUNT; op++) {
            sqlite3_finalize(cmp.statements[i][op]);
        }
        BENCH_HOLDS(sqlite3_close(cmp.bases[i]) == SQLITE_OK);
        bench_close(&cmp.tables[i]);
        BENCH_DO(esk_posix_file_close(&cmp.files[i]));
    }
    free(cmp.cache_memory);
}

int main(void) {
    static const struct setup setups[] = {
        {.label = "least cache: EskerDB 4 frames of 512 B, "
                  "SQLite 10 pages of 4 KiB",
         .shape = {.frames = 4,
                   .index_count = 1,
                   .bitmap_bits = BENCH_BITMAP_BITS},
         .page_bytes = 512,
         .sqlite_cache = 10},
        {.label = "the same 1 MB of cache, pages of 4 KiB",
         .shape = {.frames = 240,
                   .index_count = 1,
                   .bitmap_bits = BENCH_BITMAP_BITS,
                   .key_index_bytes = 2560},
         .page_bytes = 4096},
        {.label = "SQLite's default cache, 2,000 KiB on both sides; EskerDB "
                  "pages of 512 B",
         .shape = {.frames = 4,
                   .index_count = 1,
                   .bitmap_bits = BENCH_BITMAP_BITS,
                   .key_index_bytes = 2560},
         .page_bytes = 512,
         .sqlite_cache = -2000,
         .page_cache = 1960 * 1024},
    };
    compare_load_print(bench, "host, load average at the start");
    (void)mkdir("build", 0777);
    (void)mkdir("build/bench", 0777);
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        if (bench_data_load(&data, i)) {
            for (uint32_t k = 0; k < sizeof setups / sizeof *setups; k++) {
                compare_run(&data, &setups[k]);
            }
            bench_data_free(&data);
        }
    }
    (void)unlink(image_path);
    (void)unlink(base_path);
    return 0;
}
