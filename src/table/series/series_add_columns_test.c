// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Columns added to a series: the values of older rows, in every way to read,
/// and rows of both widths in one log.
#include "table/series/series.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/media.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum { NARROW = 16, WIDE = 24, WIDEST = 28, ROWS_MAX = 2000 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "number", .type = ESK_TYPE_U32},
    {.name = "text", .type = ESK_TYPE_VAR, .flags = ESK_COLUMN_TEXT},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 2},
    {.name = "level", .type = ESK_TYPE_U32, .unit = "mm"},
    {.name = "mac", .type = ESK_TYPE_BYTES, .bytes = 4},
    {.name = "more", .type = ESK_TYPE_I32},
};

enum { LEVEL = 4, MORE = 6 };

static const struct esk_index_spec value_index[] = {
    {.column = 1, .bitmap_bits = ESK_BITMAP_NONE}};

/// Values of older rows: level, mac, more.
static const uint8_t row_given[WIDEST] = {
    [NARROW] = 77, [NARROW + 4] = 1, 2, 3, 4, [WIDE] = 0xFE, 0xFF, 0xFF, 0xFF};

/// The second half has packed pages.
static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256), ESK_NAND(64, 4, 512), ESK_CARD(64, 8, 512),
    ESK_NOR(64, 8, 256), ESK_NAND(64, 4, 512), ESK_CARD(64, 8, 512)};

enum { MEDIA = sizeof media / sizeof media[0], RAW_MEDIA = MEDIA / 2 };

static struct esk_series_spec spec_with(uint8_t column_count) {
    return (struct esk_series_spec){
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = column_count,
                  .row_bytes = esk_row_bytes(columns, column_count),
                  .version = column_count},
        .indexes = value_index,
        .index_count = 1,
        .data_blocks = 24,
        .index_blocks = 4,
        .var_blocks = 8,
    };
}

/// Rows are numbered from 0, their keys are 10 apart.
struct log {
    struct esk_fixture fixture;
    uint32_t count;
    uint32_t narrow; ///< rows from before `level` and `mac`
    uint32_t wide;   ///< and from before `more`
};

static void reopen(struct log *log) {
    fixture_mount(&log->fixture);
    fixture_open(&log->fixture, "log", NULL);
}

static void log_start(struct log *log, const struct esk_geometry *geometry) {
    struct esk_series_spec spec = spec_with(LEVEL);
    memset(log, 0, sizeof *log);
    spec.codec =
        geometry >= media + MEDIA / 2 ? ESK_CODEC_PACKED : ESK_CODEC_RAW;
    fixture_start(&log->fixture, geometry, NULL);
    fixture_create(&log->fixture, &spec);
    fixture_open(&log->fixture, "log", NULL);
    log->narrow = UINT32_MAX;
    log->wide = UINT32_MAX;
}

/// The expected row with every column.
static void row_make(const struct log *log, uint32_t number,
                     uint8_t row[WIDEST]) {
    memcpy(row, row_given, WIDEST);
    esk_store_u32(row, 10 * number);
    esk_store_u32(row + 4, number);
    memset(row + 8, 0, ESK_VAR_REF_BYTES);
    row[14] = (uint8_t)number;
    row[15] = 0x5A;
    if (number >= log->narrow) {
        esk_store_u32(row + NARROW, 1000 + number);
        memset(row + NARROW + 4, 'a' + (int)(number % 26), 4);
    }
    if (number >= log->wide) {
        esk_store_u32(row + WIDE, number % 50);
    }
}

static void fill(struct log *log, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t row[WIDEST];
        char text[8];
        row_make(log, log->count, row);
        snprintf(text, sizeof text, "t%03u", (unsigned)log->count % 1000);
        ESK_CHECK_INT(esk_series_append_var(log->fixture.series, row, text, 4),
                      ESK_OK);
        log->count++;
    }
}

static int add_with(struct esk_fixture *fixture,
                    const struct esk_table_spec *spec, const void *row,
                    struct esk_fault *fault) {
    return test_series_add_columns(&fixture->volume, &esk_series_parts_all,
                                   spec, row, fixture->arena,
                                   fixture->arena_bytes, fault);
}

/// Adds columns up to number `column_count`, and opens the table.
static void add(struct log *log, uint8_t column_count) {
    struct esk_series_spec spec = spec_with(column_count);
    esk_series_close(log->fixture.series);
    ESK_CHECK_INT(add_with(&log->fixture, &spec.table, row_given, NULL),
                  ESK_OK);
    if (log->narrow == UINT32_MAX) {
        log->narrow = log->count;
    }
    if (column_count > MORE) {
        log->wide = log->count;
    }
    fixture_open(&log->fixture, "log", NULL);
}

static void row_check(struct log *log, const uint8_t *row, uint32_t number) {
    uint16_t bytes = esk_series_row_bytes(log->fixture.series);
    uint8_t expected[WIDEST];
    char text[8] = {0};
    uint32_t got = 0;
    struct esk_series_value value;
    row_make(log, number, expected);
    memcpy(expected + 8, row + 8, ESK_VAR_REF_BYTES);
    ESK_CHECK(memcmp(row, expected, bytes) == 0);
    ESK_CHECK_INT(esk_series_value_open(log->fixture.series, row, &value),
                  ESK_OK);
    ESK_CHECK_INT(
        esk_series_value_read(log->fixture.series, &value, text, 8, &got),
        ESK_OK);
    ESK_CHECK_INT(got, 4);
    ESK_CHECK_INT(strtol(text + 1, NULL, 10), number % 1000);
}

/// Reads the rows that meet `query`: those with a number in `wanted`.
static void query_check(struct log *log, struct esk_series_query *query,
                        bool (*wanted)(const uint8_t *row)) {
    struct esk_series_cursor cursor;
    uint8_t row[WIDEST];
    ESK_CHECK_INT(esk_series_cursor_open(log->fixture.series, &cursor, query),
                  ESK_OK);
    for (uint32_t i = 0; i < log->count; i++) {
        uint32_t number = query->backward ? log->count - 1 - i : i;
        uint8_t expected[WIDEST];
        row_make(log, number, expected);
        if (wanted(expected)) {
            ESK_CONTEXT("row %u", (unsigned)number);
            ESK_CHECK_INT(
                esk_series_cursor_next(log->fixture.series, &cursor, row),
                ESK_OK);
            row_check(log, row, number);
        }
    }
    ESK_CHECK_INT(esk_series_cursor_next(log->fixture.series, &cursor, row),
                  ESK_END);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
}

static bool every(const uint8_t *row) {
    (void)row;
    return true;
}

static bool level_is_given(const uint8_t *row) {
    return esk_load_u32(row + NARROW) == 77;
}

static bool level_is_1200_up(const uint8_t *row) {
    return esk_load_u32(row + NARROW) >= 1200;
}

static bool number_is_150_to_350(const uint8_t *row) {
    return esk_load_u32(row + 4) >= 150 && esk_load_u32(row + 4) <= 350;
}

static void queries_check(struct log *log, bool backward) {
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true};
    struct esk_series_query query = {.backward = backward};
    query_check(log, &query, every);
    query.ranges = &range;
    query.range_count = 1;
    range.lo.u = 150;
    range.hi.u = 350;
    query_check(log, &query, number_is_150_to_350);
    if (log->narrow != UINT32_MAX) {
        range.column = LEVEL;
        range.lo.u = 77;
        range.hi.u = 77;
        query_check(log, &query, level_is_given);
        range.lo.u = 1200;
        range.has_hi = false;
        query_check(log, &query, level_is_1200_up);
    }
}

static void log_check(struct log *log) {
    struct esk_series *series = log->fixture.series;
    struct esk_series_report report;
    uint8_t row[WIDEST];
    uint32_t count = 0;
    queries_check(log, false);
    queries_check(log, true);
    for (uint32_t i = 0; i < log->count; i += 3) {
        ESK_CONTEXT("row %u", (unsigned)i);
        ESK_CHECK_INT(esk_series_get(series, 10 * i, row), ESK_OK);
        row_check(log, row, i);
        ESK_CHECK_INT(esk_series_floor(series, 10 * i + 9, row), ESK_OK);
        row_check(log, row, i);
        ESK_CHECK_INT(esk_series_ceiling(series, i > 0 ? 10 * i - 9 : 0, row),
                      ESK_OK);
        row_check(log, row, i);
    }
    ESK_CHECK_INT(esk_series_oldest(series, row), ESK_OK);
    row_check(log, row, 0);
    ESK_CHECK_INT(esk_series_newest(series, row), ESK_OK);
    row_check(log, row, log->count - 1);
    ESK_CHECK_INT(esk_series_count(series, &count), ESK_OK);
    ESK_CHECK_INT(count, log->count);
    ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, log->count);
    ESK_CHECK_INT(report.rows_missing, 0);
    ESK_CHECK_INT(report.values_missing, 0);
    ESK_CHECK_INT(report.index_wrong, 0);
}

ESK_TEST(older_rows_have_the_values_given) {
    for (size_t i = 0; i < MEDIA; i++) {
        static struct log log;
        ESK_CONTEXT("medium %u", (unsigned)i);
        log_start(&log, &media[i]);
        fill(&log, 195);
        /* A page with seals, and a journal. */
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        fill(&log, 2);
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        reopen(&log);
        fill(&log, 3);
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        add(&log, MORE);
        log_check(&log);
        fill(&log, 133);
        log_check(&log);
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        add(&log, MORE + 1);
        log_check(&log);
        fill(&log, 200);
        log_check(&log);
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        reopen(&log);
        log_check(&log);
        fixture_end(&log.fixture);
    }
}

ESK_TEST(rows_are_dropped_in_front_of_columns_added) {
    static struct log log;
    log_start(&log, &media[0]);
    fill(&log, 200);
    ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
    add(&log, MORE);
    fill(&log, 100);
    ESK_CHECK_INT(esk_series_erase_after(log.fixture.series, 10 * 179), ESK_OK);
    log.count = 180;
    log.narrow = 180;
    fill(&log, 100);
    log_check(&log);
    ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
    reopen(&log);
    log_check(&log);
    fixture_end(&log.fixture);
}

ESK_TEST(columns_are_added_to_a_table_without_rows) {
    static struct log log;
    log_start(&log, &media[0]);
    add(&log, MORE);
    add(&log, MORE + 1);
    fill(&log, 100);
    log_check(&log);
    ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
    reopen(&log);
    log_check(&log);
    fixture_end(&log.fixture);
}

/// The call of a firmware at each reset costs nothing from the second on.
ESK_TEST(columns_that_are_there_are_left_alone) {
    static struct log log;
    struct esk_series_spec spec = spec_with(MORE);
    struct esk_table_info info;
    log_start(&log, &media[0]);
    fill(&log, 50);
    ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
    add(&log, MORE);
    esk_series_close(log.fixture.series);
    uint64_t before = esk_sim_op_count(log.fixture.sim);
    ESK_CHECK_INT(add_with(&log.fixture, &spec.table, NULL, NULL), ESK_OK);
    ESK_CHECK_INT(esk_sim_op_count(log.fixture.sim), before);
    ESK_CHECK_INT(esk_volume_find(&log.fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(info.version, MORE);
    ESK_CHECK_INT(info.column_count, MORE);
    ESK_CHECK_INT(info.row_bytes, WIDE);
    fixture_open(&log.fixture, "log", NULL);
    log_check(&log);
    fixture_end(&log.fixture);
}

ESK_TEST(no_row_given_means_zeros) {
    static struct log log;
    struct esk_series_spec spec = spec_with(MORE);
    uint8_t row[WIDEST];
    log_start(&log, &media[0]);
    fill(&log, 1);
    ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
    esk_series_close(log.fixture.series);
    ESK_CHECK_INT(add_with(&log.fixture, &spec.table, NULL, NULL), ESK_OK);
    fixture_open(&log.fixture, "log", NULL);
    memset(row, 0xFF, sizeof row);
    ESK_CHECK_INT(esk_series_newest(log.fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_load_u64(row + NARROW), 0);
    fixture_end(&log.fixture);
}

ESK_TEST(columns_that_cannot_be_added_are_reported) {
    static const struct esk_column two_values[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "text", .type = ESK_TYPE_VAR},
    };
    static struct log log;
    struct esk_fixture *fixture = &log.fixture;
    struct esk_fault fault = {.kind = 0};
    struct esk_series_spec spec = spec_with(MORE);
    struct esk_column other[7];
    struct esk_series_parts parts = esk_series_parts_all;
    log_start(&log, &media[0]);
    fill(&log, 50);
    /* The table is open. */
    static uint64_t arena[4096];
    ESK_CHECK_INT(test_series_add_columns(&fixture->volume,
                                          &esk_series_parts_all, &spec.table,
                                          row_given, arena, sizeof arena, NULL),
                  ESK_E_BUSY);
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
    esk_series_close(fixture->series);
    ESK_CHECK_INT(test_series_add_columns(&fixture->volume,
                                          &esk_series_parts_all, &spec.table,
                                          row_given, arena, 100, NULL),
                  ESK_E_NO_MEMORY);
    parts.breaks = NULL;
    ESK_CHECK_INT(test_series_add_columns(&fixture->volume, &parts, &spec.table,
                                          row_given, arena, sizeof arena, NULL),
                  ESK_E_UNSUPPORTED);

    memcpy(other, columns, sizeof other);
    other[1].type = ESK_TYPE_I32;
    spec.table.columns = other;
    ESK_CHECK_INT(add_with(fixture, &spec.table, NULL, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_TYPE);
    ESK_CHECK_INT(fault.column, 1);
    spec = spec_with(3);
    ESK_CHECK_INT(add_with(fixture, &spec.table, NULL, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_COUNT);
    spec = spec_with(MORE);
    memcpy(other, columns, sizeof other);
    other[5].bytes = 240;
    spec.table.columns = other;
    ESK_CHECK_INT(add_with(fixture, &spec.table, NULL, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_TOO_WIDE);
    spec.table.name = "none";
    other[5].bytes = 4;
    ESK_CHECK_INT(add_with(fixture, &spec.table, NULL, &fault), ESK_NOT_FOUND);

    spec = (struct esk_series_spec){.table = {.name = "short",
                                              .columns = two_values,
                                              .column_count = 1,
                                              .row_bytes = 4},
                                    .data_blocks = 2,
                                    .index_blocks = 2};
    fixture_create(fixture, &spec);
    table_columns(&spec.table, 2);
    ESK_CHECK_INT(add_with(fixture, &spec.table, NULL, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_COLUMN_TYPE);
    ESK_CHECK_INT(fault.column, 1);
    fixture_open(fixture, "log", NULL);
    log_check(&log);
    fixture_end(fixture);
}

ESK_TEST(a_catalog_without_room_is_reported) {
    static const struct esk_volume_config small = {.tables_max = 1};
    struct esk_fixture fixture;
    struct esk_fault fault = {.kind = 0};
    static struct esk_column many[64];
    static char names[64][24];
    struct esk_series_spec spec = {.table = {.name = "log",
                                             .columns = many,
                                             .column_count = 1,
                                             .row_bytes = 4},
                                   .data_blocks = 4,
                                   .index_blocks = 2};
    int status = ESK_OK;
    for (uint8_t i = 0; i < 64; i++) {
        snprintf(names[i], sizeof names[i], "column_with_number_%02u", i);
        many[i] = (struct esk_column){
            .name = names[i], .type = i == 0 ? ESK_TYPE_U32 : ESK_TYPE_U8};
    }
    fixture_start(&fixture, &fixture_nor, &small);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    uint8_t before = 1;
    while (status == ESK_OK && spec.table.column_count < 64) {
        before = spec.table.column_count;
        esk_series_close(fixture.series);
        table_columns(&spec.table, (uint8_t)(before + 1));
        status = add_with(&fixture, &spec.table, NULL, &fault);
        if (status == ESK_OK) {
            fixture_open(&fixture, "log", NULL);
        }
    }
    ESK_CHECK_INT(status, ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_TOO_LARGE);
    fixture_mount(&fixture);
    fixture_open(&fixture, "log", NULL);
    ESK_CHECK_INT(esk_series_row_bytes(fixture.series), 4 + before - 1);
    fixture_end(&fixture);
}

/// After a cut anywhere the table has the columns or not, and all its rows.
ESK_TEST(columns_that_a_codec_cannot_have_are_refused) {
    for (size_t i = 0; i < MEDIA; i += RAW_MEDIA) {
        static struct log log;
        struct esk_column wrong[LEVEL + 1];
        struct esk_series_spec spec = spec_with(LEVEL + 1);
        struct esk_fault fault;
        memcpy(wrong, columns, sizeof wrong);
        spec.table.columns = wrong;
        log_start(&log, &media[i]);
        esk_series_close(log.fixture.series);
        wrong[LEVEL].mode = i == 0 ? ESK_PACK_DELTA : ESK_PACK_FLOAT;
        ESK_CHECK_INT(add_with(&log.fixture, &spec.table, NULL, &fault),
                      ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_MODE);
        ESK_CHECK_INT(fault.column, LEVEL);
        wrong[LEVEL] = (struct esk_column){
            .name = "wide", .type = ESK_TYPE_BYTES, .bytes = 220};
        spec.table.row_bytes = NARROW + 220;
        int status = add_with(&log.fixture, &spec.table, NULL, &fault);
        ESK_CHECK_INT(status, i == 0 ? ESK_OK : ESK_E_SCHEMA);
        if (status != ESK_OK) {
            ESK_CHECK_INT(fault.kind, ESK_FAULT_CODEC);
        }
        fixture_end(&log.fixture);
    }
}

ESK_TEST(a_cut_leaves_all_rows_and_either_columns) {
    uint32_t done = 0;
    for (uint64_t cut = 1; cut < 60; cut++) {
        static struct log log;
        struct esk_series_spec spec = spec_with(MORE);
        ESK_CONTEXT("cut %u", (unsigned)cut);
        log_start(&log, &media[cut % RAW_MEDIA]);
        fill(&log, 103);
        ESK_CHECK_INT(esk_series_sync(log.fixture.series), ESK_OK);
        esk_series_close(log.fixture.series);
        esk_sim_cut_at(log.fixture.sim,
                       esk_sim_op_count(log.fixture.sim) + cut / RAW_MEDIA,
                       ESK_SIM_CUT_DRAWN);
        int status = add_with(&log.fixture, &spec.table, row_given, NULL);
        esk_sim_power_on(log.fixture.sim);
        fixture_mount(&log.fixture);
        fixture_open(&log.fixture, "log", NULL);
        if (esk_series_row_bytes(log.fixture.series) == WIDE) {
            log.narrow = log.count;
            done++;
        } else {
            ESK_CHECK(status != ESK_OK);
        }
        log_check(&log);
        fixture_end(&log.fixture);
    }
    ESK_CHECK(done > 5 && done < 55);
}

/// Forged: rows that would lack their key, value reference or indexed column.
ESK_TEST(rows_too_narrow_are_corrupt) {
    for (uint16_t bytes = 1; bytes <= NARROW; bytes++) {
        static struct log log;
        struct esk_table_info info;
        static uint8_t other[512];
        uint8_t option[ESK_OPTION_BREAKS_HEAD + ESK_OPTION_BREAK_BYTES] = {0};
        struct esk_table_change change = {.tag = ESK_OPTION_BREAKS,
                                          .option = option,
                                          .option_bytes = sizeof option};
        log_start(&log, &media[0]);
        esk_series_close(log.fixture.series);
        esk_store_u32(option + ESK_OPTION_BREAKS_HEAD + ESK_OPTION_BREAK_START,
                      8);
        esk_store_u16(option + ESK_OPTION_BREAKS_HEAD +
                          ESK_OPTION_BREAK_ROW_BYTES,
                      bytes);
        ESK_CHECK_INT(esk_volume_find(&log.fixture.volume, "log", &info),
                      ESK_OK);
        ESK_CHECK_INT(esk_catalog_alter(&log.fixture.volume, &info, &change,
                                        log.fixture.page, other),
                      ESK_OK);
        ESK_CHECK_INT(fixture_try_open(&log.fixture, "log", NULL),
                      bytes >= 14 ? ESK_OK : ESK_E_CORRUPT);
        fixture_end(&log.fixture);
    }
}

ESK_TEST_MAIN()
