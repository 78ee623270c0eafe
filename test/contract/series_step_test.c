// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Cursors of a series whose calls are bounded: for many queries a cursor with
/// step_pages returns what a cursor without a limit returns, and no call reads
/// more pages than it may, by the simulator's counters. A count is of the rows
/// that are returned.
#include "table/series/series.h"

#include <math.h>

#include "test/harness/fixture.h"

enum { ROW_BYTES = 15, ROWS_MAX = 4000, QUERIES = 150 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16}, /* an index with a bitmap */
    {.name = "heat", .type = ESK_TYPE_F32},  /* an index with none; NaN */
    {.name = "load", .type = ESK_TYPE_I32},  /* no index */
    {.name = "gate", .type = ESK_TYPE_U8},   /* rises slowly, an index */
};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16},
    {.column = 2, .bitmap_bits = ESK_BITMAP_NONE},
    {.column = 4, .bitmap_bits = ESK_BITMAP_NONE}};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 5,
              .row_bytes = ROW_BYTES},
    .indexes = indexes,
    .index_count = 3,
    .group_pages = 5,
    .run_pages = 4,
    .data_blocks = 20,
    .index_blocks = 20,
};

/// What is done to the table before it is read.
struct step_case {
    const char *name;
    uint32_t rows;
    bool keys_repeat;
    bool reopened;      ///< after the last append: entries are owed
    uint8_t data_lost;  ///< each n-th data page is damaged; 0: none
    uint8_t index_lost; ///< the same of index pages
    uint8_t run_pages;  ///< 0: that of `spec`
    bool narrow;        ///< an index on gate alone, for long runs
};

static const struct step_case cases[] = {
    {.name = "of one page", .rows = 5},
    {.name = "short", .rows = 200},
    {.name = "not full", .rows = 1500},
    {.name = "wrapped", .rows = ROWS_MAX},
    {.name = "reopened", .rows = 1790, .reopened = true, .run_pages = 64},
    {.name = "of repeated keys", .rows = 1800, .keys_repeat = true},
    {.name = "with damaged pages", .rows = 1800, .data_lost = 7},
    {.name = "with many damaged pages", .rows = 1800, .data_lost = 2},
    {.name = "with a damaged index", .rows = 1800, .index_lost = 3},
    {.name = "with no index page", .rows = 1800, .index_lost = 1},
    {.name = "of long runs", .rows = 2200, .run_pages = 100, .narrow = true},
    {.name = "with damage", .rows = ROWS_MAX, .data_lost = 5, .index_lost = 4},
};

enum { CASES = sizeof cases / sizeof cases[0] };

static uint32_t draws;

static uint32_t random_below(uint32_t bound) {
    draws = draws * 1664525u + 1013904223u;
    return (draws >> 8) % bound;
}

static void row_make(const struct step_case *given, uint32_t number,
                     uint8_t *row) {
    static uint32_t level;
    uint32_t at = given->keys_repeat ? number / 70 : number;
    level = number == 0 ? 500 : level + random_below(21) - 10;
    esk_store_u32(row, 1000 + at * 3);
    esk_store_u16(row + 4, (uint16_t)level);
    float heat = (float)(level % 300) / 4.0f;
    heat = number % 37 == 0 ? NAN : heat;
    memcpy(row + 6, &heat, 4);
    esk_store_u32(row + 10, random_below(1000));
    row[14] = (uint8_t)(number / 40);
}

static void pages_damage(struct esk_fixture *fixture,
                         const struct esk_ring *ring, uint8_t each) {
    for (uint32_t at = ring->tail; each > 0 && at < ring->head; at += each) {
        ESK_CHECK_INT(
            esk_sim_flip_random(fixture->sim, esk_ring_page(ring, at), 60),
            ESK_OK);
    }
}

static void start(struct esk_fixture *fixture, const struct step_case *given) {
    struct esk_series_spec made = spec;
    uint8_t row[ROW_BYTES];
    made.keys_repeat = given->keys_repeat;
    made.run_pages = given->run_pages > 0 ? given->run_pages : spec.run_pages;
    made.indexes = given->narrow ? &indexes[2] : indexes;
    made.index_count = given->narrow ? 1 : 3;
    draws = 1;
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &made);
    fixture_open(fixture, "log", NULL);
    for (uint32_t i = 0; i < given->rows; i++) {
        row_make(given, i, row);
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
    if (given->reopened) {
        ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
        fixture_reboot(fixture);
    }
    pages_damage(fixture, &fixture->series->data, given->data_lost);
    pages_damage(fixture, &fixture->series->log.ring, given->index_lost);
    esk_pool_forget_all(&fixture->series->pool);
}

static struct esk_series_range ranges[3];

static void range_draw(struct esk_series_range *range) {
    static const uint8_t numbers[] = {0, 1, 2, 3, 4};
    static const uint32_t from[] = {1000, 300, 0, 0, 0};
    static const uint32_t span[] = {12000, 500, 80, 1000, 100};
    uint8_t column = numbers[random_below(5)];
    uint32_t lo = from[column] + random_below(span[column]);
    uint32_t hi = lo + random_below(1 + span[column] / 4);
    memset(range, 0, sizeof *range);
    range->column = column;
    range->has_lo = random_below(4) != 0;
    range->has_hi = random_below(4) != 0;
    range->lo.u = lo;
    range->hi.u = hi;
    if (column == 2) {
        range->lo.f32 = (float)lo;
        range->hi.f32 = (float)hi;
    }
}

static void query_draw(struct esk_series_query *query) {
    uint32_t key = 900 + random_below(12500);
    memset(query, 0, sizeof *query);
    query->backward = random_below(2) == 0;
    query->has_key_min = random_below(3) == 0;
    query->has_key_max = random_below(3) == 0;
    query->key_min = key;
    query->key_max = key + random_below(4000);
    query->ranges = ranges;
    query->range_count = (uint8_t)random_below(4);
    for (uint8_t i = 0; i < query->range_count; i++) {
        range_draw(&ranges[i]);
    }
}

static uint64_t reads(const struct esk_fixture *fixture) {
    return esk_sim_counters(fixture->sim)->reads;
}

/// Calls until the outcome is not ESK_AGAIN.
/// most     reads of one call.
static int next(struct esk_fixture *fixture, struct esk_series_cursor *cursor,
                uint8_t *row, uint64_t most, uint32_t *calls) {
    int status = ESK_AGAIN;
    while (status == ESK_AGAIN) {
        bool seeks = cursor->backward && !cursor->started;
        uint64_t before = reads(fixture);
        status = esk_series_cursor_next(fixture->series, cursor, row);
        *calls += 1;
        ESK_CHECK(*calls < 100000);
        ESK_CHECK(seeks || reads(fixture) - before <= most);
        ESK_CHECK(cursor->step_pages > 0 || status != ESK_AGAIN);
    }
    return status;
}

/// Runs a query without a limit, and one with `pages`, side by side.
static void query_compare(struct esk_fixture *fixture,
                          const struct step_case *given,
                          struct esk_series_query *query, uint32_t pages) {
    struct esk_series_cursor all;
    struct esk_series_cursor steps;
    uint8_t row[ROW_BYTES];
    uint8_t other[ROW_BYTES];
    uint64_t most =
        given->data_lost + given->index_lost > 0 ? 3 * (uint64_t)pages : pages;
    uint32_t calls = 0;
    int status = ESK_OK;
    query->step_pages = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &all, query), ESK_OK);
    query->step_pages = pages;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &steps, query),
                  ESK_OK);
    for (uint32_t rows = 0; status == ESK_OK; rows++) {
        status = next(fixture, &all, row, UINT32_MAX, &calls);
        ESK_CHECK_INT(next(fixture, &steps, other, most, &calls), status);
        ESK_CHECK_BYTES(other, row, status == ESK_OK ? ROW_BYTES : 0);
        ESK_CHECK(rows < ROWS_MAX + 1u);
    }
    ESK_CHECK_INT(status, ESK_END);
    if (!steps.by_value) {
        ESK_CHECK_INT(steps.damaged, all.damaged);
    }
    ESK_CHECK_INT(next(fixture, &steps, other, most, &calls), ESK_END);
}

ESK_TEST(series_cursor_in_steps_returns_the_same_rows_and_reads_no_more) {
    static const uint32_t steps[] = {1, 2, 3, 7, 40, 70000};
    for (unsigned i = 0; i < CASES; i++) {
        struct esk_fixture fixture;
        start(&fixture, &cases[i]);
        unsigned queries = esk_test_is_deep() ? 10 * QUERIES : QUERIES;
        for (unsigned j = 0; j < queries; j++) {
            struct esk_series_query query;
            uint32_t pages = steps[j % 6];
            ESK_CONTEXT("table %s, query %u, %u pages", cases[i].name, j,
                        pages);
            query_draw(&query);
            query_compare(&fixture, &cases[i], &query, pages);
        }
        fixture_end(&fixture);
    }
}

static uint32_t found[ROWS_MAX];

/// Stores the keys of the rows of a query in `found`. Returns how many.
static uint32_t query_keys(struct esk_fixture *fixture,
                           struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    uint32_t calls = 0;
    query->step_pages = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    while (next(fixture, &cursor, row, UINT32_MAX, &calls) == ESK_OK) {
        found[rows] = esk_load_u32(row);
        rows++;
    }
    return rows;
}

/// Counts what is left of a query after `skip` rows.
static uint32_t query_count(struct esk_fixture *fixture,
                            const struct step_case *given,
                            struct esk_series_query *query, uint32_t pages,
                            uint32_t skip) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint64_t most =
        given->data_lost + given->index_lost > 0 ? 3 * (uint64_t)pages : pages;
    uint32_t calls = 0;
    uint32_t count = 0;
    int status = ESK_OK;
    query->step_pages = pages;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    for (; skip > 0 && status == ESK_OK; skip--) {
        status = next(fixture, &cursor, row, UINT64_MAX, &calls);
    }
    do {
        uint64_t before = reads(fixture);
        status = esk_series_cursor_count(fixture->series, &cursor, &count);
        ESK_CHECK(pages == 0 || reads(fixture) - before <= most);
        ESK_CHECK(++calls < 100000);
    } while (status == ESK_AGAIN);
    ESK_CHECK_INT(status, ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture->series, &cursor, &count),
                  status);
    ESK_CHECK_INT(next(fixture, &cursor, row, UINT64_MAX, &calls), ESK_END);
    return count;
}

ESK_TEST(series_cursor_count_is_of_the_rows_that_are_returned) {
    static const uint32_t steps[] = {0, 1, 2, 3, 9, 50};
    for (unsigned i = 0; i < CASES; i++) {
        struct esk_fixture fixture;
        start(&fixture, &cases[i]);
        unsigned queries = esk_test_is_deep() ? 10 * QUERIES : QUERIES;
        for (unsigned j = 0; j < queries; j++) {
            struct esk_series_query query;
            ESK_CONTEXT("table %s, query %u", cases[i].name, j);
            query_draw(&query);
            query.backward = false;
            uint32_t rows = query_keys(&fixture, &query);
            uint32_t skip = j % 3 == 0 ? random_below(rows + 1) : 0;
            ESK_CHECK_INT(
                query_count(&fixture, &cases[i], &query, steps[j % 6], skip),
                rows - skip);
        }
        fixture_end(&fixture);
    }
}

static uint32_t compared;
static bool (*compare)(const struct esk_series_cursor *cursor,
                       const uint8_t *row);

static bool compare_counted(const struct esk_series_cursor *cursor,
                            const uint8_t *row) {
    compared++;
    return compare(cursor, row);
}

/// The rows that a count compares.
static uint32_t rows_compared(struct esk_fixture *fixture, uint8_t column,
                              float lo, uint32_t *count) {
    struct esk_series_range range = {.column = column, .has_lo = true};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    struct esk_series_cursor cursor;
    range.lo.i = (int64_t)lo;
    if (column == 2) {
        range.lo.f32 = lo;
    }
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, &query),
                  ESK_OK);
    compared = 0;
    *count = 0;
    compare = cursor.matches;
    cursor.matches = compare_counted;
    ESK_CHECK_INT(esk_series_cursor_count(fixture->series, &cursor, count),
                  ESK_OK);
    return compared;
}

ESK_TEST(series_cursor_count_compares_no_row_of_pages_within_the_range) {
    struct esk_fixture fixture;
    uint32_t count = 0;
    start(&fixture, &cases[2]); /* 16 rows a page */
    uint32_t in_ram = fixture.series->write_count;
    /* gate is number / 40, so one page has rows on both sides of 11. */
    ESK_CHECK_INT(rows_compared(&fixture, 4, 11, &count), 16 + in_ram);
    ESK_CHECK_INT(count, cases[2].rows - 440);
    /* Each page has a NaN, or may have one. */
    ESK_CHECK(rows_compared(&fixture, 2, -1, &count) >= cases[2].rows - 16);
    ESK_CHECK_INT(count, cases[2].rows - (cases[2].rows + 36) / 37);
    /* load has no index. */
    ESK_CHECK_INT(rows_compared(&fixture, 3, 0, &count), cases[2].rows);
    ESK_CHECK_INT(count, cases[2].rows);
    fixture_end(&fixture);
}

ESK_TEST(series_cursor_count_reports_what_a_cursor_reports) {
    struct esk_fixture fixture;
    struct esk_series_cursor cursor;
    struct esk_series_query query = {.backward = true};
    uint8_t row[ROW_BYTES];
    uint32_t count = 7;
    start(&fixture, &cases[2]);
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_E_UNSUPPORTED);
    memset(&cursor, 0, sizeof cursor);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_E_INVALID);
    query = (struct esk_series_query){.has_key_max = true, .key_max = 3};
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_OK);
    query = (struct esk_series_query){
        .has_key_min = true, .key_min = 9, .has_key_max = true, .key_max = 8};
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_OK);
    ESK_CHECK_INT(count, 7);
    /* Rows ahead of it are dropped; the others are counted afterwards. */
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_next(fixture.series, &cursor, row), ESK_OK);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 1000 + 3 * 5),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_E_STALE);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_OK);
    ESK_CHECK_INT(count, 7 + cases[2].rows - 5);
    /* A page that does not read is not counted. */
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, NULL),
                  ESK_OK);
    esk_pool_forget_all(&fixture.series->pool);
    count = 0;
    fail_from(3, UINT32_MAX, READ_BROKEN);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_E_IO);
    ESK_CHECK(fail_end());
    ESK_CHECK(count > 0 && count < 40);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_OK);
    ESK_CHECK_INT(count, cases[2].rows - 5 - 16);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_E_INVALID);
    fixture_end(&fixture);
}

/// Columns that a table gets later have the same value in its older rows.
ESK_TEST(series_cursor_count_compares_columns_that_older_rows_lack) {
    struct esk_fixture fixture;
    struct esk_series_spec old = spec;
    struct esk_series_range range = {.column = 4, .has_lo = true, .lo.u = 7};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    uint8_t row[ROW_BYTES] = {0};
    old.table.column_count = 4;
    old.table.row_bytes = ROW_BYTES - 1;
    old.index_count = 2;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &old);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t i = 0; i < 300; i++) {
        esk_store_u32(row, i);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    esk_series_close(fixture.series);
    row[14] = 8;
    ESK_CHECK_INT(TEST_IN_ARENA(&fixture.volume, fixture.arena,
                                fixture.arena_bytes,
                                esk_series_add_columns(&fixture.volume,
                                                       &esk_series_parts_all,
                                                       &spec.table, row, NULL)),
                  ESK_OK);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t i = 300; i < 400; i++) {
        esk_store_u32(row, i);
        row[14] = (uint8_t)(i % 2 == 0 ? 7 : 6);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(query_count(&fixture, &cases[1], &query, 0, 0), 350);
    ESK_CHECK_INT(query_count(&fixture, &cases[1], &query, 2, 11), 339);
    fixture_end(&fixture);
}

/// Erases rows while a cursor is between two steps, and checks what it returns
/// then.
static void query_erase(struct esk_fixture *fixture,
                        struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t calls = 0;
    uint32_t at = 0;
    uint32_t wanted = query_keys(fixture, query);
    query->step_pages = 1 + random_below(4);
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    int status = ESK_OK;
    uint32_t stop = 1 + random_below(60);
    while (status == ESK_OK || (status == ESK_AGAIN && stop > 0)) {
        status = esk_series_cursor_next(fixture->series, &cursor, row);
        at += status == ESK_OK;
        stop -= stop > 0;
    }
    if (status != ESK_AGAIN) {
        return;
    }
    uint32_t floor = (at > 0 ? found[at - 1] : 1000) + random_below(200);
    ESK_CHECK_INT(esk_series_erase_before(fixture->series, floor), ESK_OK);
    bool lost = at > 0 && at < wanted && found[at] < floor;
    while (at < wanted && found[at] < floor) {
        at++;
    }
    status = next(fixture, &cursor, row, query->step_pages, &calls);
    ESK_CHECK(!lost || status == ESK_E_STALE);
    if (status == ESK_E_STALE) {
        status = next(fixture, &cursor, row, query->step_pages, &calls);
    }
    for (; at < wanted; at++) {
        ESK_CHECK_INT(status, ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row), found[at]);
        status = next(fixture, &cursor, row, query->step_pages, &calls);
    }
    ESK_CHECK_INT(status, ESK_END);
}

ESK_TEST(series_cursor_between_steps_is_stale_when_its_next_row_is_erased) {
    for (unsigned i = 0; i < 60; i++) {
        struct esk_fixture fixture;
        start(&fixture, &cases[i % 2 == 0 ? 2 : 3]);
        draws = i;
        for (unsigned j = 0; j < 20; j++) {
            struct esk_series_query query;
            ESK_CONTEXT("table %u, query %u", i, j);
            query_draw(&query);
            query.backward = false;
            query_erase(&fixture, &query);
        }
        fixture_end(&fixture);
    }
}

/// Appends rows between the steps of a cursor, which then must have returned
/// what a new one returns.
static void query_append(struct esk_fixture *fixture,
                         const struct step_case *given,
                         struct esk_series_query *query, uint32_t *appended) {
    static uint32_t got[ROWS_MAX];
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    uint32_t more = 0;
    int status = ESK_OK;
    uint32_t from = *appended;
    query->step_pages = 1 + random_below(3);
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, query),
                  ESK_OK);
    while (status == ESK_OK || status == ESK_AGAIN) {
        status = esk_series_cursor_next(fixture->series, &cursor, row);
        if (status == ESK_OK) {
            got[rows] = esk_load_u32(row);
            rows++;
        }
        if (*appended - from < 200 && random_below(3) > 0) {
            row_make(given, *appended, row);
            ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
            *appended += 1;
        }
    }
    ESK_CHECK_INT(status, ESK_END);
    uint32_t wanted = query_keys(fixture, query);
    uint32_t last = 1000 + (from - 1u) * 3; /* when it was opened */
    while (query->backward && more < wanted && found[more] > last) {
        more++;
    }
    for (uint32_t i = 0; i < rows; i++, more++) {
        /* Its first step may come after appends. */
        while (i == 0 && query->backward && found[more] < got[0]) {
            more--;
        }
        ESK_CHECK_INT(got[i], found[more]);
    }
    ESK_CHECK(more <= wanted);
    ESK_CHECK(query->backward || more + 1u >= wanted);
}

ESK_TEST(series_cursor_in_steps_is_exact_while_rows_are_appended) {
    for (unsigned i = 0; i < 30; i++) {
        struct esk_fixture fixture;
        uint32_t appended = cases[2].rows;
        start(&fixture, &cases[2]);
        draws = i;
        for (unsigned j = 0; j < 5; j++) {
            struct esk_series_query query;
            ESK_CONTEXT("table %u, query %u", i, j);
            query_draw(&query);
            query_append(&fixture, &cases[2], &query, &appended);
        }
        fixture_end(&fixture);
    }
}

/// The oldest zone page is lost, and the query begins below it: a step that may
/// read no more than the way there takes comes to the data page in the next
/// call.
ESK_TEST(series_cursor_backward_ends_where_the_oldest_run_page_is_lost) {
    struct esk_fixture fixture;
    const struct step_case given = {
        .name = "one run", .rows = 700, .run_pages = 16, .narrow = true};
    start(&fixture, &given);
    ESK_CHECK(fixture.series->log.ring.head > 0);
    pages_damage(&fixture, &fixture.series->log.ring, 1);
    esk_pool_forget_all(&fixture.series->pool);
    struct esk_series_range range = {.column = 4, .has_lo = true};
    struct esk_series_query query = {.backward = true,
                                     .ranges = &range,
                                     .range_count = 1,
                                     .has_key_max = true,
                                     .key_max = 1000 + 3 * 40};
    for (uint32_t pages = 0; pages < 6; pages++) {
        ESK_CONTEXT("%u pages", pages);
        struct esk_series_cursor cursor;
        uint8_t row[ROW_BYTES];
        uint32_t rows = 0;
        uint32_t steps = 0;
        int status = ESK_AGAIN;
        query.step_pages = pages;
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        while (status == ESK_AGAIN || status == ESK_OK) {
            status = esk_series_cursor_next(fixture.series, &cursor, row);
            rows += status == ESK_OK ? 1 : 0;
            steps++;
            ESK_CHECK(steps < 1000);
        }
        ESK_CHECK_INT(status, ESK_END);
        ESK_CHECK_INT(rows, 41);
    }
    fixture_end(&fixture);
}

/// The first value query after an open makes the entries that the open left
/// out, in steps, too.
ESK_TEST(series_cursor_in_steps_makes_entries_that_an_open_left_out) {
    static const struct step_case long_runs = {
        .rows = 2000, .reopened = true, .run_pages = 100, .narrow = true};
    for (uint32_t run = 0; run < 8; run++) {
        struct esk_fixture fixture;
        struct esk_series_cursor cursor;
        struct esk_series_range range = {.column = 4,
                                         .has_lo = true,
                                         .has_hi = true,
                                         .lo.u = run % 4 < 2 ? 3 : 44,
                                         .hi.u = 45};
        struct esk_series_query query = {.ranges = &range,
                                         .range_count = 1,
                                         .backward = run % 2 == 1,
                                         .step_pages = 1 + run / 4};
        uint8_t row[ROW_BYTES];
        uint32_t calls = 0;
        uint32_t rows = 0;
        ESK_CONTEXT("run %u", run);
        start(&fixture, &long_runs);
        uint32_t owed = fixture.series->log.run_unread;
        ESK_CHECK(owed > 3);
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        while (next(&fixture, &cursor, row, query.step_pages, &calls) ==
               ESK_OK) {
            found[rows] = esk_load_u32(row);
            rows++;
        }
        ESK_CHECK_INT(fixture.series->log.run_unread, 0);
        ESK_CHECK(calls >= owed / query.step_pages);
        for (uint32_t i = 0; i < rows; i++) {
            uint32_t number = query.backward ? 45 * 40 + 39 - i
                                             : (uint32_t)range.lo.u * 40 + i;
            ESK_CHECK_INT(found[i], 1000 + 3 * number);
        }
        ESK_CHECK_INT(rows, 40 * (46 - range.lo.u));
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
