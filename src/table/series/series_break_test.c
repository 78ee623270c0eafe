// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Dropping the newest rows: no way to read returns one of them, and the log
/// continues after them.
#include "table/series/series_open.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/media.h"
#include "volume/volume_format.h"

enum { ROW_BYTES = 12, ROWS_MAX = 8000 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_I64},
    {.name = "number", .type = ESK_TYPE_U32},
};

static const struct esk_index_spec value_index[] = {
    {.column = 1, .bitmap_bits = ESK_BITMAP_NONE}};

static const struct esk_series_spec log_spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 2,
              .row_bytes = 12},
    .indexes = value_index,
    .index_count = 1,
    .data_blocks = 24,
    .index_blocks = 4,
};

/// A sync is a seal, a page of a journal, and a page.
static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256), ESK_NAND(64, 4, 512), ESK_CARD(64, 8, 512)};

enum { MEDIA = sizeof media / sizeof media[0] };

/// The series, and its expected rows.
struct log {
    struct esk_fixture fixture;
    uint32_t count;
    uint32_t number; ///< of the next row
    int64_t keys[ROWS_MAX];
    uint32_t numbers[ROWS_MAX];
};

static struct log *log_start(const struct esk_geometry *geometry,
                             const struct esk_series_spec *spec) {
    struct log *log = calloc(1, sizeof *log);
    fixture_start(&log->fixture, geometry, NULL);
    fixture_create(&log->fixture, spec);
    fixture_open(&log->fixture, "log", NULL);
    return log;
}

static void log_end(struct log *log) {
    fixture_end(&log->fixture);
    free(log);
}

static int64_t newest_key(const struct log *log) {
    return log->count > 0 ? log->keys[log->count - 1] : -1000;
}

static int append(struct log *log, int64_t key) {
    uint8_t row[ROW_BYTES];
    esk_store_u64(row, (uint64_t)key);
    esk_store_u32(row + 8, log->number);
    int status = esk_series_append(log->fixture.series, row);
    if (status == ESK_OK) {
        log->keys[log->count] = key;
        log->numbers[log->count] = log->number;
        log->count++;
        log->number++;
    }
    return status;
}

static void fill(struct log *log, uint32_t rows) {
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CHECK_INT(append(log, newest_key(log) + 10), ESK_OK);
    }
}

/// Drops all but `left` rows; the key may be between two.
static int drop(struct log *log, uint32_t left, int64_t between) {
    int64_t key = left > 0 ? log->keys[left - 1] + between : INT64_MIN;
    int status = esk_series_erase_after(log->fixture.series, (esk_key)key);
    if (status == ESK_OK && left < log->count) {
        log->count = left;
    }
    return status;
}

static void reopen(struct log *log) {
    fixture_mount(&log->fixture);
    fixture_open(&log->fixture, "log", log->fixture.config);
}

static void scan_check(struct log *log, struct esk_series_query *query,
                       uint32_t first, uint32_t rows) {
    struct esk_series *series = log->fixture.series;
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, query), ESK_OK);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t at = query->backward ? first + rows - 1 - i : first + i;
        ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 8), log->numbers[at]);
        ESK_CHECK_INT((int64_t)esk_load_u64(row), log->keys[at]);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
}

static void lookups_check(struct log *log, uint32_t from) {
    struct esk_series *series = log->fixture.series;
    uint8_t row[ROW_BYTES];
    for (uint32_t i = from; i < log->count; i += 7) {
        esk_key key = (esk_key)log->keys[i];
        ESK_CHECK_INT(esk_series_get(series, key, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 8), log->numbers[i]);
        ESK_CHECK_INT(esk_series_get(series, key + 3, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_series_floor(series, key + 3, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 8), log->numbers[i]);
        ESK_CHECK_INT(esk_series_ceiling(series, key - 3, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 8), log->numbers[i]);
    }
    int status = esk_series_newest(series, row);
    ESK_CHECK_INT(status, log->count > from ? ESK_OK : ESK_NOT_FOUND);
    if (status == ESK_OK) {
        ESK_CHECK_INT(esk_load_u32(row + 8), log->numbers[log->count - 1]);
    }
}

/// Reads in every way the rows from number `from` on; older ones were dropped.
static void log_check_from(struct log *log, uint32_t from) {
    struct esk_series *series = log->fixture.series;
    struct esk_series_query query = {.has_key_min = false};
    struct esk_series_report report;
    uint32_t count = 0;
    uint32_t rows = log->count - from;
    ESK_CONTEXT("%u rows from %u on", (unsigned)rows, (unsigned)from);
    scan_check(log, &query, from, rows);
    query.backward = true;
    scan_check(log, &query, from, rows);
    for (uint8_t i = 0; rows > 0 && i < 2; i++) {
        /* The last rows are on pages that no zone page tells of. */
        uint32_t low = from + rows / 3;
        uint32_t high = i == 0 ? from + rows * 2 / 3 : from + rows - 1;
        struct esk_series_range range = {
            .column = 1, .has_lo = true, .has_hi = true};
        range.lo.u = log->numbers[low];
        range.hi.u = log->numbers[high];
        query = (struct esk_series_query){.ranges = &range, .range_count = 1};
        scan_check(log, &query, low, high - low + 1);
        query.backward = true;
        scan_check(log, &query, low, high - low + 1);
    }
    lookups_check(log, from);
    ESK_CHECK_INT(esk_series_count(series, &count), ESK_OK);
    ESK_CHECK_INT(count, rows);
    ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, rows);
    ESK_CHECK_INT(report.rows_missing, 0);
    ESK_CHECK_INT(report.index_wrong, 0);
}

static void log_check(struct log *log) {
    log_check_from(log, 0);
}

/// All the newest rows may be in RAM, on one page, on several blocks.
ESK_TEST(dropped_rows_are_gone_and_the_log_goes_on) {
    static const uint32_t dropped[] = {1, 3, 19, 90, 450, 599};
    for (size_t i = 0; i < MEDIA; i++) {
        for (size_t j = 0; j < sizeof dropped / sizeof dropped[0]; j++) {
            struct log *log = log_start(&media[i], &log_spec);
            ESK_CONTEXT("medium %u, %u rows", (unsigned)i,
                        (unsigned)dropped[j]);
            fill(log, 600);
            ESK_CHECK_INT(drop(log, 600 - dropped[j], j % 2), ESK_OK);
            log_check(log);
            /* Only the catalog has this for the next mount. */
            reopen(log);
            log_check(log);
            ESK_CHECK_INT(append(log, newest_key(log)), ESK_OUT_OF_ORDER);
            ESK_CHECK_INT(append(log, newest_key(log) + 5), ESK_OK);
            fill(log, 130);
            log_check(log);
            ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
            reopen(log);
            log_check(log);
            log_end(log);
        }
    }
}

ESK_TEST(all_rows_can_be_dropped) {
    for (size_t i = 0; i < MEDIA; i++) {
        struct log *log = log_start(&media[i], &log_spec);
        fill(log, 300);
        ESK_CHECK_INT(drop(log, 0, 0), ESK_OK);
        log_check(log);
        reopen(log);
        log_check(log);
        fill(log, 200);
        ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
        reopen(log);
        log_check(log);
        log_end(log);
    }
}

ESK_TEST(synced_rows_are_dropped_with_the_journal) {
    static const struct esk_geometry nand = ESK_NAND(64, 4, 512);
    struct log *log = log_start(&nand, &log_spec);
    for (uint32_t i = 0; i < 100; i++) {
        fill(log, 1);
        ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
    }
    ESK_CHECK_INT(drop(log, 95, 0), ESK_OK);
    reopen(log);
    log_check(log);
    /* Keys between the dropped ones. */
    ESK_CHECK_INT(append(log, newest_key(log) + 5), ESK_OK);
    ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
    reopen(log);
    log_check(log);
    log_end(log);
}

ESK_TEST(a_drop_of_no_row_changes_nothing) {
    struct log *log = log_start(&media[0], &log_spec);
    ESK_CHECK_INT(esk_series_erase_after(log->fixture.series, 5), ESK_OK);
    fill(log, 100);
    uint64_t before = esk_sim_op_count(log->fixture.sim);
    ESK_CHECK_INT(drop(log, 100, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_op_count(log->fixture.sim), before);
    log_check(log);
    log_end(log);
}

/// Drops again from the page where the last drop ended, when the log continues
/// right after that page: it was the last of its block.
ESK_TEST(a_page_is_dropped_from_again_and_again) {
    for (size_t i = 0; i < MEDIA; i++) {
        uint32_t rows = (media[i].page_bytes - 16u) / ROW_BYTES;
        struct log *log = log_start(&media[i], &log_spec);
        fill(log, 2 * media[i].block_pages * rows - 3);
        ESK_CHECK_INT(drop(log, log->count - 2, 0), ESK_OK);
        ESK_CHECK_INT(log->fixture.series->data.head, 2 * media[i].block_pages);
        for (uint32_t added = 0; added < 3; added++) {
            ESK_CHECK_INT(drop(log, log->count - added - 3, 0), ESK_OK);
            log_check(log);
            reopen(log);
            log_check(log);
            fill(log, added + 1);
            log_check(log);
        }
        log_end(log);
    }
}

ESK_TEST(drops_are_limited_by_the_rows_that_are_there) {
    struct esk_series_spec spec = log_spec;
    struct log *log = NULL;
    spec.full_policy = ESK_FULL_REFUSE;
    log = log_start(&media[0], &spec);
    for (uint32_t i = 0; i < ESK_SERIES_BREAKS_MAX; i++) {
        fill(log, 60);
        ESK_CHECK_INT(drop(log, log->count - 5, 0), ESK_OK);
    }
    fill(log, 60);
    ESK_CHECK_INT(drop(log, log->count - 5, 0), ESK_E_LIMIT);
    log_check(log);
    reopen(log);
    log_check(log);
    /* A break before an older one replaces it. */
    ESK_CHECK_INT(drop(log, 80, 0), ESK_OK);
    fill(log, 60);
    ESK_CHECK_INT(drop(log, log->count - 5, 0), ESK_OK);
    reopen(log);
    log_check(log);
    log_end(log);
}

/// Any number of breaks, if the ring wraps meanwhile.
ESK_TEST(drops_that_the_tail_has_passed_are_forgotten) {
    for (size_t i = 0; i < MEDIA; i++) {
        struct log *log = log_start(&media[i], &log_spec);
        for (uint32_t lap = 0; lap < 6; lap++) {
            uint32_t oldest = 0;
            uint8_t row[ROW_BYTES];
            for (uint32_t rows = 0; rows < 6000; rows += 1000) {
                fill(log, 1000);
                ESK_CHECK_INT(esk_series_oldest(log->fixture.series, row),
                              ESK_OK);
                oldest = 0;
                while (log->numbers[oldest] != esk_load_u32(row + 8)) {
                    oldest++;
                }
                log->count -= oldest;
                memmove(log->keys, log->keys + oldest,
                        log->count * sizeof log->keys[0]);
                memmove(log->numbers, log->numbers + oldest,
                        log->count * sizeof log->numbers[0]);
                log_check(log);
            }
            ESK_CHECK_INT(drop(log, log->count - 33, 0), ESK_OK);
            reopen(log);
            log_check(log);
        }
        log_end(log);
    }
}

ESK_TEST(rows_dropped_at_both_ends) {
    for (size_t i = 0; i < MEDIA; i++) {
        struct log *log = log_start(&media[i], &log_spec);
        struct esk_series *series = log->fixture.series;
        fill(log, 600);
        ESK_CHECK_INT(esk_series_erase_before(series, (esk_key)log->keys[300]),
                      ESK_OK);
        ESK_CHECK_INT(drop(log, 320, 0), ESK_OK);
        log_check_from(log, 300);
        reopen(log);
        log_check_from(log, 300);
        /* Rows older than the remaining ones. */
        ESK_CHECK_INT(drop(log, 200, 0), ESK_OK);
        log_check_from(log, 200);
        reopen(log);
        ESK_CHECK_INT(append(log, log->keys[299] - 5), ESK_OUT_OF_ORDER);
        log_end(log);
    }
}

/// A key above the newest row's, and not below the floor.
static int append_until_full(struct log *log, int64_t *key) {
    int status = ESK_OK;
    while (status == ESK_OK) {
        *key += 10;
        status = append(log, *key);
    }
    return status;
}

/// A drop that leaves no row of a full series frees its pages: by the least
/// key, a key below the floor, one between the floor and the next row, and one
/// below all rows.
ESK_TEST(a_full_series_without_a_row_has_room_again) {
    struct esk_series_spec spec = log_spec;
    spec.full_policy = ESK_FULL_REFUSE;
    spec.data_blocks = 8;
    for (unsigned i = 0; i < 4 * MEDIA; i++) {
        struct log *log = log_start(&media[i / 4], &spec);
        struct esk_series *series = log->fixture.series;
        int64_t key = 0;
        ESK_CONTEXT("medium %u, key %u", i / 4, i % 4);
        ESK_CHECK_INT(append_until_full(log, &key), ESK_FULL);
        int64_t floor = i % 4 == 3 ? 0 : newest_key(log) - 9;
        if (i % 4 != 3) {
            ESK_CHECK_INT(esk_series_erase_before(series, (esk_key)floor),
                          ESK_OK);
            ESK_CHECK_INT(append_until_full(log, &key), ESK_FULL);
        }
        const int64_t after[] = {INT64_MIN, floor - 15, floor + 3, 5};
        ESK_CHECK_INT(esk_series_erase_after(series, (esk_key)after[i % 4]),
                      ESK_OK);
        log->count = 0;
        if (i % 2 == 0) {
            reopen(log);
        }
        key = floor > 0 ? floor : 7;
        for (uint32_t rows = 0; rows < 500; rows++) {
            ESK_CHECK_INT(append(log, key), ESK_OK);
            key += 10;
        }
        log_check(log);
        ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
        reopen(log);
        log_check(log);
        ESK_CHECK_INT(append(log, floor - 10), ESK_OUT_OF_ORDER);
        log_end(log);
    }
}

/// Its ring goes round without a floor: no check takes a block of an earlier
/// lap for a lost one.
ESK_TEST(a_series_that_is_emptied_again_and_again_has_lost_no_block) {
    struct esk_series_spec spec = log_spec;
    struct esk_series_report report;
    spec.full_policy = ESK_FULL_REFUSE;
    spec.data_blocks = 8;
    for (unsigned i = 0; i < MEDIA; i++) {
        struct log *log = log_start(&media[i], &spec);
        ESK_CONTEXT("medium %u", i);
        for (unsigned laps = 0; laps < 4; laps++) {
            int64_t key = 0;
            ESK_CHECK_INT(append_until_full(log, &key), ESK_FULL);
            ESK_CHECK_INT(drop(log, 300, 0), ESK_OK);
            ESK_CHECK_INT(esk_series_check(log->fixture.series, &report),
                          ESK_OK);
            ESK_CHECK_INT(report.rows, 300);
            ESK_CHECK_INT(drop(log, 0, 0), ESK_OK);
        }
        log_end(log);
    }
}

/* Pages before an earlier break are no longer in use, but not erased yet: a
   mount finds them. */
ESK_TEST(rows_before_an_earlier_break_do_not_come_back) {
    enum { KEPT = 600 };
    struct esk_series_spec spec = log_spec;
    spec.data_blocks = 8;
    for (unsigned i = 0; i < MEDIA; i++) {
        struct log *log = log_start(&media[i], &spec);
        struct esk_series *series = log->fixture.series;
        ESK_CONTEXT("medium %u", i);
        fill(log, 1000);
        ESK_CHECK_INT(drop(log, KEPT, 0), ESK_OK);
        int64_t key = newest_key(log);
        uint32_t start = series->data.head;
        for (int64_t next = key;
             series->data.tail == 0 ||
             esk_ring_gap(&series->data, series->data.tail) == NULL;) {
            next += 10;
            ESK_CHECK_INT(append(log, next), ESK_OK);
            /* It drops a block before there is need. */
            ESK_CHECK_INT(esk_volume_step(&log->fixture.volume, 1, NULL),
                          ESK_OK);
        }
        ESK_CHECK(series->data.tail < start);
        ESK_CHECK_INT(esk_series_erase_after(series, (esk_key)(key - 200)),
                      ESK_OK);
        log->count = 0;
        reopen(log);
        ESK_CHECK_INT(append(log, key - 100), ESK_OK);
        log_check(log);
        log_end(log);
    }
}

ESK_TEST(a_program_without_the_part_is_refused) {
    struct log *log = log_start(&media[0], &log_spec);
    struct esk_fixture *fixture = &log->fixture;
    struct esk_series_parts parts = esk_series_parts_all;
    struct esk_table_info info;
    parts.breaks = NULL;
    fill(log, 60);
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
    fixture_mount(fixture);
    ESK_CHECK_INT(test_series_open_with(&fixture->series, &parts,
                                        &fixture->volume, "log", NULL,
                                        fixture->arena, fixture->arena_bytes),
                  ESK_OK);
    ESK_CHECK_INT(drop(log, 50, 0), ESK_E_UNSUPPORTED);
    reopen(log);
    ESK_CHECK_INT(drop(log, 50, 0), ESK_OK);
    fixture_mount(fixture);
    ESK_CHECK_INT(test_series_open_with(&fixture->series, &parts,
                                        &fixture->volume, "log", NULL,
                                        fixture->arena, fixture->arena_bytes),
                  ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(
        esk_series_arena_bytes_with(&fixture->volume, &parts, &info, NULL), 0);
    reopen(log);
    log_check(log);
    log_end(log);
}

/// Opens it with no index log, and with these keys.
static void open_without_log(struct log *log,
                             const struct esk_series_keys *keys) {
    static struct esk_series_parts parts;
    struct esk_fixture *fixture = &log->fixture;
    parts = esk_series_parts_all;
    parts.keys = keys;
    parts.log = NULL;
    parts.values = NULL;
    fixture_mount(fixture);
    ESK_CHECK_INT(test_series_open_with(&fixture->series, &parts,
                                        &fixture->volume, "log", NULL,
                                        fixture->arena, fixture->arena_bytes),
                  ESK_OK);
}

ESK_TEST(key_index_without_a_log_begins_anew) {
    static const struct esk_series_keys *const keys[] = {
        &esk_series_part_keys, &esk_series_part_samples, NULL};
    struct esk_series_spec plain = log_spec;
    plain.index_count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct log *log = log_start(&media[0], &plain);
        ESK_CONTEXT("keys %u", (unsigned)i);
        open_without_log(log, keys[i]);
        fill(log, 900);
        ESK_CHECK_INT(drop(log, 500, 0), ESK_OK);
        fill(log, 300);
        ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
        log_check(log);
        open_without_log(log, keys[i]);
        log_check(log);
        log_end(log);
    }
}

ESK_TEST(a_read_only_mount_drops_nothing) {
    struct log *log = log_start(&media[0], &log_spec);
    fill(log, 60);
    ESK_CHECK_INT(esk_series_sync(log->fixture.series), ESK_OK);
    log->fixture.flags = ESK_MOUNT_READ_ONLY;
    reopen(log);
    ESK_CHECK_INT(drop(log, 50, 0), ESK_E_READ_ONLY);
    log_check(log);
    log_end(log);
}

/// Whatever fails, the rows are those from before or after.
static void drop_fails(uint32_t read, uint32_t syncs) {
    struct log *log = log_start(&media[0], &log_spec);
    struct esk_fixture *fixture = &log->fixture;
    uint32_t left = 100;
    ESK_CONTEXT("read %u fails, or sync %u", (unsigned)read, (unsigned)syncs);
    fill(log, 200);
    fail_from(read, UINT32_MAX, READ_BROKEN);
    sync_fails = read == 0;
    syncs_pass = syncs;
    int status = drop(log, left, 0);
    sync_fails = false;
    fail_end();
    ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
    if (status != ESK_OK) {
        uint32_t count = 0;
        reopen(log);
        ESK_CHECK_INT(esk_series_count(fixture->series, &count), ESK_OK);
        ESK_CHECK(count == left || count >= 180);
        log->count = count;
    }
    log_check(log);
    log_end(log);
}

ESK_TEST(a_device_that_fails_loses_no_row_of_a_drop) {
    for (uint32_t at = 1; at < 30; at++) {
        drop_fails(at, 0);
    }
    for (uint32_t syncs = 0; syncs < 5; syncs++) {
        drop_fails(0, syncs);
    }
}

ESK_TEST(breaks_that_make_no_sense_are_corrupt) {
    static const struct {
        uint32_t end[2];
        uint32_t start[2];
        uint16_t row_bytes[2];
        int status;
    } cases[] = {
        {{5, 20}, {8, 24}, {8, 12}, ESK_OK},
        {{9, 20}, {8, 24}, {8, 12}, ESK_E_CORRUPT},
        {{5, 7}, {8, 24}, {8, 12}, ESK_E_CORRUPT},
        {{5, 20}, {8, 16}, {8, 12}, ESK_E_CORRUPT},
        {{5, 20}, {8, 24}, {12, 8}, ESK_E_CORRUPT},
        {{5, 20}, {8, 24}, {8, 13}, ESK_E_CORRUPT},
        {{5, 20}, {8, 24}, {0, 12}, ESK_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_series_break_list list;
        uint8_t option[ESK_OPTION_BREAKS_HEAD + 2 * ESK_OPTION_BREAK_BYTES];
        memset(option, 0, sizeof option);
        for (uint8_t at = 0; at < 2; at++) {
            uint8_t *to =
                option + ESK_OPTION_BREAKS_HEAD + at * ESK_OPTION_BREAK_BYTES;
            esk_store_u32(to + ESK_OPTION_BREAK_END, cases[i].end[at]);
            esk_store_u32(to + ESK_OPTION_BREAK_START, cases[i].start[at]);
            esk_store_u16(to + ESK_OPTION_BREAK_ROW_BYTES,
                          cases[i].row_bytes[at]);
        }
        ESK_CONTEXT("case %u", (unsigned)i);
        ESK_CHECK_INT(esk_series_breaks_load(option, sizeof option, 12, &list),
                      cases[i].status);
        ESK_CHECK_INT(esk_series_breaks_load(option, ESK_OPTION_BREAKS_HEAD - 1,
                                             12, &list),
                      ESK_E_CORRUPT);
    }
}

/// Opens the table with `bytes` bytes of a new option ESK_OPTION_BREAKS.
static int open_with_option(uint8_t tag, uint8_t bytes) {
    static uint8_t other[1024];
    static const uint8_t option[UINT8_MAX] = {0};
    struct log *log = log_start(&media[0], &log_spec);
    struct esk_fixture *fixture = &log->fixture;
    struct esk_table_info info;
    struct esk_table_change change = {
        .tag = tag, .option = option, .option_bytes = bytes};
    esk_series_close(fixture->series);
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_catalog_alter(&fixture->volume, &info, &change,
                                    fixture->page, other),
                  ESK_OK);
    int status = fixture_try_open(fixture, "log", NULL);
    log_end(log);
    return status;
}

ESK_TEST(more_breaks_than_this_build_serves_are_refused) {
    uint8_t most =
        ESK_OPTION_BREAKS_HEAD + ESK_SERIES_BREAKS_MAX * ESK_OPTION_BREAK_BYTES;
    ESK_CHECK_INT(open_with_option(ESK_OPTION_BREAKS, (uint8_t)(most + 1u)),
                  ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(open_with_option(ESK_OPTION_BREAKS, 3), ESK_E_CORRUPT);
    ESK_CHECK_INT(open_with_option(ESK_OPTION_BREAKS, ESK_OPTION_BREAKS_HEAD),
                  ESK_OK);
}

ESK_TEST(unknown_options_are_skipped) {
    ESK_CHECK_INT(open_with_option(99, 3), ESK_OK);
    ESK_CHECK_INT(open_with_option(99, 200), ESK_OK);
}

ESK_TEST(option_that_ends_behind_the_options_is_corrupt) {
    struct log *log = log_start(&media[0], &log_spec);
    struct esk_fixture *fixture = &log->fixture;
    struct esk_table_info info;
    uint16_t bytes = 0;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    /* As if the options ended 3 bytes before they do. */
    info.options_bytes = (uint16_t)(info.options_bytes - 3u);
    info.columns = (uint16_t)(info.columns - 3u);
    ESK_CHECK_INT(esk_catalog_option(&fixture->volume, &info, 99, NULL,
                                     UINT8_MAX, &bytes, fixture->page),
                  ESK_E_CORRUPT);
    log_end(log);
}

ESK_TEST_MAIN()
