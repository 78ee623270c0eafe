// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The five queries of embeddb-2024, Table 3, each by a hand-written loop, by
/// operators composed by hand, by generated C, by the machine and by SQLite.
///
///     sides FOLDER BASE count    each once, for callgrind; prints the answers
///     sides FOLDER BASE time     milliseconds of processor time, best of 7
///
/// FOLDER has the sets as files of 16-byte rows; BASE is SQLite's file. The
/// medium of EskerDB is RAM, with checksums verified at each load.
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app.h"
#include "bench/query/answer.h"
#include "esker/query.h"
#include "port/ram/ram.h"
#include "programs.h"

enum {
    PAGE_BYTES = 512,
    BLOCK_PAGES = 8,
    BLOCKS = 2048,
    ROUNDS = 7,
    TABLES = 4,
    SIDE_COUNT = 5,
};

static const char *const names[TABLES] = {"uwa", "sea", "ethylene", "watch"};
static const char *const values[TABLES] = {"temp", "air", "conc", "x"};
static struct esk_series *tables[TABLES];
static struct esk_source sources[TABLES];
static uint64_t program_arena[1024];
static sqlite3 *base;
static sqlite3_stmt *statements[5];

/* ---------------------------------------------------------- hand-written */

struct days {
    bool begun;
    uint32_t day;
    uint32_t end;
    int32_t least;
    int32_t most;
    int64_t sum;
    uint32_t count;
};

static void days_end(const struct days *days, bool second,
                     struct answer *answer) {
    struct esk_avg avg = {days->sum, days->count};
    if (second && days->most <= 150) {
        return;
    }
    put(answer, days->day);
    if (second) {
        put_avg(answer, avg);
        put(answer, days->most);
    } else {
        put(answer, days->least);
        put(answer, days->most);
        put_avg(answer, avg);
    }
    put_row(answer);
}

COUNTED void count_hand_q1(struct answer *answer) {
    struct esk_series_cursor cursor;
    struct uwa row;
    struct days days = {.begun = false};
    must(esk_series_cursor_open(tables[0], &cursor, NULL), "open");
    while (esk_series_cursor_next(tables[0], &cursor, &row) == ESK_OK) {
        if (!days.begun || row.time > days.end) {
            if (days.begun) {
                days_end(&days, false, answer);
            }
            days.begun = true;
            days.day = row.time / 86400u;
            days.end = days.day * 86400u + 86399u;
            days.least = INT32_MAX;
            days.most = INT32_MIN;
            days.sum = 0;
            days.count = 0;
        }
        days.least = row.temp < days.least ? row.temp : days.least;
        days.most = row.temp > days.most ? row.temp : days.most;
        days.sum += row.temp;
        days.count++;
    }
    if (days.begun) {
        days_end(&days, false, answer);
    }
}

COUNTED void count_hand_q2(struct answer *answer) {
    struct esk_series_cursor cursor;
    struct uwa row;
    struct days days = {.begun = false};
    must(esk_series_cursor_open(tables[0], &cursor, NULL), "open");
    while (esk_series_cursor_next(tables[0], &cursor, &row) == ESK_OK) {
        if (!days.begun || row.time > days.end) {
            if (days.begun) {
                days_end(&days, true, answer);
            }
            days.begun = true;
            days.day = row.time / 86400u;
            days.end = days.day * 86400u + 86399u;
            days.most = INT32_MIN;
            days.sum = 0;
            days.count = 0;
        }
        days.most = row.wind > days.most ? row.wind : days.most;
        days.sum += row.temp;
        days.count++;
    }
    if (days.begun) {
        days_end(&days, true, answer);
    }
}

COUNTED void count_hand_q3(struct answer *answer) {
    struct esk_series_cursor cursor;
    struct esk_series_range range = {
        .column = ETHYLENE_CONC, .has_lo = true, .lo.i = 1};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint32_t count = 0;
    must(esk_series_cursor_open(tables[2], &cursor, &query), "open");
    must(esk_series_cursor_count(tables[2], &cursor, &count), "count");
    put(answer, count);
    put_row(answer);
}

COUNTED void count_hand_q4(struct answer *answer) {
    const uint32_t shift = 473385600u;
    struct esk_series_cursor left, right;
    struct sea sea;
    struct uwa uwa;
    struct esk_series_query query = {.has_key_min = true,
                                     .has_key_max = true,
                                     .key_min = 1420099200u,
                                     .key_max = 1451635199u};
    must(esk_series_cursor_open(tables[1], &left, &query), "open");
    query.key_min -= shift;
    query.key_max -= shift;
    must(esk_series_cursor_open(tables[0], &right, &query), "open");
    bool has = esk_series_cursor_next(tables[0], &right, &uwa) == ESK_OK;
    while (has && esk_series_cursor_next(tables[1], &left, &sea) == ESK_OK) {
        while (has && uwa.time < sea.time - shift) {
            has = esk_series_cursor_next(tables[0], &right, &uwa) == ESK_OK;
        }
        if (has && uwa.time == sea.time - shift) {
            put(answer, sea.time);
            put(answer, sea.air);
            put(answer, uwa.temp);
            put_row(answer);
        }
    }
}

COUNTED void count_hand_q5(struct answer *answer) {
    struct esk_series_cursor cursor;
    struct watch row;
    struct esk_series_range range = {
        .column = WATCH_X, .has_lo = true, .lo.i = 500000001};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint32_t bucket = 0, end = 0, count = 0;
    must(esk_series_cursor_open(tables[3], &cursor, &query), "open");
    while (esk_series_cursor_next(tables[3], &cursor, &row) == ESK_OK) {
        if (count == 0 || row.time > end) {
            if (count > 0) {
                put(answer, bucket);
                put(answer, count);
                put_row(answer);
            }
            bucket = row.time / 706000u;
            end = bucket * 706000u + 705999u;
            count = 0;
        }
        count++;
    }
    if (count > 0) {
        put(answer, bucket);
        put(answer, count);
        put_row(answer);
    }
}

/* -------------------------------------------------------------- composed */

#define COMPOSED(query)                                                        \
    COUNTED void count_composed_##query(struct answer *answer) {               \
        composed_##query(sources, answer);                                     \
    }

COMPOSED(q1)
COMPOSED(q2)
COMPOSED(q3)
COMPOSED(q4)
COMPOSED(q5)

/* ------------------------------------------------------------- generated */

static struct q1 q1;
static struct q2 q2;
static struct q3 q3;
static struct q4 q4;
static struct q5 q5;

COUNTED void count_generated_q1(struct answer *answer) {
    struct q1_row row;
    must(q1_open(&q1, tables[0]), "open");
    while (q1_next(&q1, &row) == ESK_OK) {
        put(answer, row.day);
        put(answer, row.least);
        put(answer, row.most);
        put_avg(answer, row.mean);
        put_row(answer);
    }
}

COUNTED void count_generated_q2(struct answer *answer) {
    struct q2_row row;
    must(q2_open(&q2, tables[0]), "open");
    while (q2_next(&q2, &row) == ESK_OK) {
        put(answer, row.day);
        put_avg(answer, row.mean);
        put(answer, row.most);
        put_row(answer);
    }
}

COUNTED void count_generated_q3(struct answer *answer) {
    struct q3_row row;
    must(q3_open(&q3, tables[2]), "open");
    while (q3_next(&q3, &row) == ESK_OK) {
        put(answer, row.rows);
        put_row(answer);
    }
}

COUNTED void count_generated_q4(struct answer *answer) {
    struct q4_row row;
    must(q4_open(&q4, tables[1], tables[0]), "open");
    while (q4_next(&q4, &row) == ESK_OK) {
        put(answer, row.time);
        put(answer, row.temp_sea);
        put(answer, row.temp_uwa);
        put_row(answer);
    }
}

COUNTED void count_generated_q5(struct answer *answer) {
    struct q5_row row;
    must(q5_open(&q5, tables[3]), "open");
    while (q5_next(&q5, &row) == ESK_OK) {
        put(answer, row.bucket);
        put(answer, row.rows);
        put_row(answer);
    }
}

/* --------------------------------------------------------------- machine */

static void program_run(const uint8_t *code, uint32_t bytes,
                        struct answer *answer) {
    struct esk_program program;
    struct esk_output value;
    int status;
    must(esk_program_begin(&program, code, bytes, &esk_query_parts_all, sources,
                           TABLES, program_arena, sizeof program_arena),
         "begin");
    while ((status = esk_program_step(&program, 0)) != ESK_END) {
        if (status == ESK_AGAIN) {
            continue;
        }
        must(status, "step");
        for (uint8_t i = 0; esk_program_row(&program, i, &value) == ESK_OK;
             i++) {
            if (value.type == 3) {
                put_mean(answer,
                         (double)value.slots[1] / (double)value.slots[0]);
            } else {
                put(answer, value.slots[0]);
            }
        }
        put_row(answer);
    }
}

#define MACHINE(query)                                                         \
    COUNTED void count_machine_##query(struct answer *answer) {                \
        program_run(query##_program, sizeof query##_program, answer);          \
    }

MACHINE(q1)
MACHINE(q2)
MACHINE(q3)
MACHINE(q4)
MACHINE(q5)

/* ---------------------------------------------------------------- SQLite */

static void statement_run(sqlite3_stmt *statement, struct answer *answer) {
    int columns = sqlite3_column_count(statement);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++) {
            if (sqlite3_column_type(statement, i) == SQLITE_FLOAT) {
                put_mean(answer, sqlite3_column_double(statement, i));
            } else {
                put(answer, sqlite3_column_int64(statement, i));
            }
        }
        put_row(answer);
    }
    sqlite3_reset(statement);
}

#define SQLITE(query, index)                                                   \
    COUNTED void count_sqlite_##query(struct answer *answer) {                 \
        statement_run(statements[index], answer);                              \
    }

SQLITE(q1, 0)
SQLITE(q2, 1)
SQLITE(q3, 2)
SQLITE(q4, 3)
SQLITE(q5, 4)

/* ------------------------------------------------------------------- all */

#define SIDES(query)                                                           \
    {count_hand_##query, count_composed_##query, count_generated_##query,      \
     count_machine_##query, count_sqlite_##query}

static void (*const runs[5][SIDE_COUNT])(struct answer *answer) = {
    SIDES(q1), SIDES(q2), SIDES(q3), SIDES(q4), SIDES(q5)};
static const char *const sides[SIDE_COUNT] = {"hand", "composed", "generated",
                                              "machine", "sqlite"};
static const uint32_t ram[5] = {Q1_RAM, Q2_RAM, Q3_RAM, Q4_RAM, Q5_RAM};

static uint32_t page_reads(void) {
    uint32_t sum = 0;
    for (int i = 0; i < TABLES; i++) {
        struct esk_series_stats stats;
        esk_series_stats(tables[i], &stats);
        sum += stats.page_reads;
    }
    return sum;
}

static void table_make(struct esk_volume *volume, int index,
                       const char *folder) {
    char path[512];
    const char *column[4] = {"time", values[index], "v2", "v3"};
    struct esk_column columns[4];
    struct esk_index_spec value = {.column = 1, .bitmap_bits = 16};
    struct esk_series_config config = {.frames = 4, .key_index_bytes = 256};
    uint8_t row[16];
    memset(columns, 0, sizeof columns);
    if (index == 0 || index == 1) {
        column[2] = "pressure";
        column[3] = "wind";
    } else if (index == 2) {
        column[1] = "co";
        column[2] = "conc";
        column[3] = "sensor";
        value.column = 2;
    } else {
        column[2] = "y";
        column[3] = "z";
    }
    for (int i = 0; i < 4; i++) {
        columns[i].name = column[i];
        columns[i].type = i == 0 ? ESK_TYPE_U32 : ESK_TYPE_I32;
    }
    struct esk_series_spec spec = {.table = {.name = names[index],
                                             .columns = columns,
                                             .column_count = 4,
                                             .row_bytes = 16},
                                   .indexes = &value,
                                   .index_count = 1,
                                   .data_blocks = 440,
                                   .index_blocks = 24};
    must(esk_series_create(volume, &spec, NULL), "create");
    must(esk_series_open(&tables[index], volume, names[index], &config),
         "open");
    snprintf(path, sizeof path, "%s/%s.i32x4", folder, names[index]);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        must(1, path);
    }
    while (fread(row, sizeof row, 1, file) == 1) {
        must(esk_series_append(tables[index], row), "append");
    }
    fclose(file);
    must(esk_series_sync(tables[index]), "sync");
    uint32_t fingerprint = 0;
    struct esk_table_info info;
    must(esk_volume_find(volume, names[index], &info), "find");
    must(esk_table_fingerprint(volume, &info, &fingerprint), "fingerprint");
    esk_source_series(&sources[index], tables[index], fingerprint);
    esk_source_series_counts(&sources[index]);
}

static void tables_make(const char *folder) {
    static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                                 .block_pages = BLOCK_PAGES,
                                                 .page_bytes = PAGE_BYTES,
                                                 .program_bytes = 1,
                                                 .erased_value = 0xFF};
    static struct esk_ram_device device;
    static struct esk_volume volume;
    static uint64_t arena[65536];
    const struct esk_volume_config config = {.uuid = "query"};
    size_t bytes = (size_t)BLOCKS * BLOCK_PAGES * PAGE_BYTES;
    uint8_t *memory = malloc(bytes);
    if (memory == NULL) {
        exit(1);
    }
    memset(memory, 0xFF, bytes);
    must(esk_ram_device_init(&device, &geometry, memory, bytes), "device");
    must(esk_volume_format(&device.device, &config, arena, sizeof arena),
         "format");
    must(esk_volume_mount(&volume, &device.device, 0, arena, sizeof arena),
         "mount");
    for (int i = 0; i < TABLES; i++) {
        table_make(&volume, i, folder);
    }
}

static void base_open(const char *path) {
    if (sqlite3_open(path, &base) != SQLITE_OK) {
        must(1, path);
    }
    for (int i = 0; i < 5; i++) {
        if (sqlite3_prepare_v2(base, query_texts[i], -1, &statements[i],
                               NULL) != SQLITE_OK) {
            must(1, sqlite3_errmsg(base));
        }
    }
    sqlite3_exec(base, "BEGIN", NULL, NULL, NULL);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void run(int query, int side, int rounds) {
    double best = 1e9;
    struct answer answer;
    uint32_t reads = 0;
    for (int round = 0; round < rounds; round++) {
        memset(&answer, 0, sizeof answer);
        uint32_t before = page_reads();
        double start = seconds();
        runs[query][side](&answer);
        double spent = seconds() - start;
        best = spent < best ? spent : best;
        reads = page_reads() - before;
    }
    printf("q%d %s %" PRIu32 " %" PRIu64 " %" PRIu32 " %.6f\n", query + 1,
           sides[side], answer.rows, answer.sum, reads, best * 1e3);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        return 2;
    }
    int rounds = strcmp(argv[3], "time") == 0 ? ROUNDS : 1;
    tables_make(argv[1]);
    base_open(argv[2]);
    for (int query = 0; query < 5; query++) {
        for (int side = 0; side < SIDE_COUNT; side++) {
            run(query, side, rounds);
        }
        struct esk_program_report report;
        must(esk_program_check(query_programs[query], query_bytes[query],
                               &esk_query_parts_all, sources, TABLES, &report),
             "check");
        printf("q%d ram %" PRIu32 " %" PRIu32 "\n", query + 1, ram[query],
               (uint32_t)(report.arena_bytes + sizeof(struct esk_program)));
    }
    printf("sqlite ram %lld\n", (long long)sqlite3_memory_highwater(0));
    return 0;
}
