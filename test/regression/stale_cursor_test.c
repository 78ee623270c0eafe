// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A forward cursor and a change of the table between two of its calls. After
/// ESK_E_STALE on a page of narrower rows, from before columns were added, and
/// on a page that was entered before they were added, the cursor went on with
/// the width of later rows: it returned bytes of two rows as one.
#include "base/bytes.h"
#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { NARROW = 32, WIDE = 36, ROWS = 60, OLDER = 10, LEVEL = 77 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "number", .type = ESK_TYPE_U32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = NARROW - 8},
    {.name = "level", .type = ESK_TYPE_U32},
};

static const struct esk_geometry media[] = {
    ESK_NOR(64, 4, 256), ESK_NAND(64, 4, 256), ESK_OVERWRITTEN(64, 4, 256, 1)};

enum { MEDIA = sizeof media / sizeof media[0] };

static uint64_t arena[2048];
static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_series *series;
static uint32_t count;  ///< rows appended
static uint32_t floor_; ///< rows before this one are dropped
static uint32_t wide;   ///< first row with `level`

static struct esk_series_spec spec_of(bool is_wide) {
    return (struct esk_series_spec){
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = is_wide ? 4 : 3,
                  .row_bytes = is_wide ? WIDE : NARROW},
        .data_blocks = 6,
        .index_blocks = 3,
    };
}

static void row_make(uint32_t number, uint8_t row[WIDE]) {
    memset(row, (int)(number % 251), WIDE);
    esk_store_u32(row, 10 * number);
    esk_store_u32(row + 4, number);
    esk_store_u32(row + NARROW, number < wide ? LEVEL : 1000 + number);
}

static void rows_append(uint32_t rows) {
    for (; rows > 0; rows--) {
        uint8_t row[WIDE];
        row_make(count, row);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        count++;
    }
}

static void row_add(uint32_t at) {
    (void)at;
    rows_append(1);
}

static void rows_sync(uint32_t at) {
    (void)at;
    rows_append(1);
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
}

static void step(uint32_t at) {
    uint16_t done = 0;
    (void)at;
    ESK_CHECK_INT(esk_volume_step(&volume, 2, &done), ESK_OK);
}

static void page_fill(uint32_t at) {
    (void)at;
    rows_append(9);
}

/// The ring wraps, and drops the cursor's rows.
static void wrap(uint32_t at) {
    (void)at;
    rows_append(4 * ROWS);
}

static void rows_drop(uint32_t at) {
    floor_ = at + 3;
    ESK_CHECK_INT(esk_series_erase_before(series, 10 * (esk_key)floor_),
                  ESK_OK);
}

static void columns_add(uint32_t at) {
    struct esk_series_spec spec = spec_of(true);
    const struct esk_series *before = series;
    uint8_t row[WIDE] = {[NARROW] = LEVEL};
    (void)at;
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
    esk_series_close(series);
    ESK_CHECK_INT(esk_series_add_columns(&volume, &esk_series_parts_all,
                                         &spec.table, row, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
    ESK_CHECK(series == before);
    wide = wide < count ? wide : count;
}

static void columns_add_and_rows(uint32_t at) {
    columns_add(at);
    rows_append(12);
}

static void reopen(uint32_t at) {
    (void)at;
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
    esk_series_close(series);
    ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
}

static const struct change {
    const char *name;
    void (*make)(uint32_t at); ///< with the cursor's next row `at`
} changes[] = {
    {"a row", row_add},       {"a sync", rows_sync},
    {"a step", step},         {"a page", page_fill},
    {"a lap", wrap},          {"dropped rows", rows_drop},
    {"columns", columns_add}, {"columns and rows", columns_add_and_rows},
    {"an open", reopen},
};

enum { CHANGES = sizeof changes / sizeof changes[0] };

static void table_make(const struct esk_geometry *geometry, bool is_wide) {
    struct esk_series_spec spec = spec_of(false);
    struct esk_sim_config config = {.geometry = *geometry, .seed = 1};
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    ESK_CHECK_INT(
        esk_volume_format(device, &(struct esk_volume_config){.tables_max = 2},
                          arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
    count = 0;
    floor_ = 0;
    wide = UINT32_MAX;
    rows_append(is_wide ? OLDER : ROWS);
    if (is_wide) {
        columns_add(0);
        rows_append(ROWS - OLDER);
    }
}

/// Reads the next row, which is `next` or, where rows were dropped, a later
/// one. Returns the one after it.
static uint32_t row_read(struct esk_series_cursor *cursor, uint32_t next) {
    uint8_t row[WIDE];
    uint8_t expected[WIDE];
    uint32_t kept = 0;
    ESK_CHECK_INT(esk_series_count(series, &kept), ESK_OK);
    int status = esk_series_cursor_next(series, cursor, row);
    if (status == ESK_E_STALE) {
        ESK_CHECK(next < floor_ || next < count - kept);
        status = esk_series_cursor_next(series, cursor, row);
    }
    ESK_CHECK_INT(status, ESK_OK);
    uint32_t number = esk_load_u32(row + 4);
    ESK_CHECK(number == next || (number > next && number == count - kept));
    row_make(number, expected);
    ESK_CHECK(memcmp(row, expected, esk_series_row_bytes(series)) == 0);
    return number + 1;
}

/// Reads `at` rows, makes two changes with one row between them, reads on.
static void cursor_check(uint32_t at, const struct change *first,
                         const struct change *second) {
    struct esk_series_cursor cursor;
    uint8_t row[WIDE];
    uint32_t next = 0;
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    while (next < at) {
        next = row_read(&cursor, next);
    }
    first->make(next);
    if (next < count) {
        next = row_read(&cursor, next);
    }
    second->make(next);
    while (next < count) {
        next = row_read(&cursor, next);
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
}

ESK_TEST(a_forward_cursor_goes_on_after_every_kind_of_change) {
    uint32_t stride = esk_test_is_deep() ? 1 : 7;
    for (uint32_t run = 0; run < MEDIA * CHANGES * CHANGES; run++) {
        uint32_t medium = run / CHANGES / CHANGES;
        const struct change *first = &changes[run / CHANGES % CHANGES];
        const struct change *second = &changes[run % CHANGES];
        for (uint32_t at = run % stride; at + 3 < ROWS; at += stride) {
            bool is_wide = at % 2 == 1;
            bool drops = first->make == rows_drop || second->make == rows_drop;
            if (drops && at + 8 > ROWS) {
                continue; /* no row would be left */
            }
            ESK_CONTEXT("medium %u, %s, %s, row %u", (unsigned)medium,
                        first->name, second->name, (unsigned)at);
            table_make(&media[medium], is_wide);
            cursor_check(at, first, second);
            ESK_CHECK_TEXT(esk_sim_violation(sim), "");
            esk_sim_destroy(sim);
        }
    }
}

ESK_TEST_MAIN()
