// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Damage takes the newest var pages, where a value ends, and later values are
/// written in their place. They got the stream offsets of the lost bytes when
/// all pages before were full. Then the damaged value went on in the bytes of a
/// later one, and the read succeeded.
#include "table/series/series.h"
#include "test/harness/fixture.h"

enum { ROWS = 40, PAGES = 6, ROUNDS = 12, VALUE_MAX = 512 * PAGES };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "trace", .type = ESK_TYPE_VAR},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = 10},
                                            .data_blocks = 6,
                                            .index_blocks = 3,
                                            .var_blocks = 20};

static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256), ESK_FLASH(64, 8, 256, 8, 0), ESK_CARD(64, 8, 512),
    ESK_OVERWRITTEN(64, 8, 256, 4)};

enum { FREE = 2 }; ///< from this medium on, pages are programmed in any order

static uint32_t bytes_of[ROWS]; ///< of each row's value
static uint32_t rows;
static uint32_t random_state;

static uint32_t draw(uint32_t bound) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % bound;
}

static void value_append(struct esk_series *series, uint32_t bytes) {
    uint8_t row[10] = {0};
    uint8_t value[VALUE_MAX];
    esk_store_u32(row, rows);
    memset(value, (int)rows, bytes);
    ESK_CHECK_INT(esk_series_append_var(series, row, value, bytes), ESK_OK);
    bytes_of[rows] = bytes;
    rows++;
}

/// Makes the newest `count` var pages look erased.
static void newest_lose(struct esk_fixture *fixture, uint32_t count) {
    const struct esk_ring *ring = fixture->series->var;
    uint8_t blank[512];
    memset(blank, fixture->device->geometry.erased_value, sizeof blank);
    for (uint32_t at = ring->head; count > 0 && at > ring->tail; count--) {
        at--;
        ESK_CHECK_INT(esk_sim_poke(fixture->sim, esk_ring_page(ring, at), 0,
                                   blank, fixture->device->geometry.page_bytes),
                      ESK_OK);
    }
}

/// Reads every value. One that was damaged is reported, as dropped if it began
/// before the oldest block that has a page; no other bytes come.
/// Returns how many there are.
static uint32_t values_check(struct esk_series *series) {
    struct esk_series_cursor cursor;
    uint8_t row[10];
    uint32_t found = 0;
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    while (esk_series_cursor_next(series, &cursor, row) == ESK_OK) {
        uint8_t value[VALUE_MAX];
        struct esk_series_value at;
        uint32_t got = 0;
        uint32_t number = esk_load_u32(row);
        ESK_CONTEXT("row %u of %u", (unsigned)number, (unsigned)rows);
        int status = esk_series_value_open(series, row, &at);
        if (status == ESK_OK) {
            ESK_CHECK_INT(at.bytes, bytes_of[number]);
            status =
                esk_series_value_read(series, &at, value, sizeof value, &got);
        }
        bool is_dropped = esk_load_u32(row + 4) < series->var->tail;
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
                  (status == ESK_NOT_FOUND && is_dropped));
        ESK_CHECK(esk_bytes_are(value, (uint16_t)got, (uint8_t)number));
        ESK_CHECK(status != ESK_OK || got == bytes_of[number]);
        found += status == ESK_OK ? 1 : 0;
    }
    return found;
}

static void log_start(struct esk_fixture *fixture,
                      const struct esk_geometry *geometry) {
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    rows = 0;
}

ESK_TEST(a_value_whose_last_pages_are_lost_does_not_go_on_in_a_later_one) {
    for (uint32_t run = 0; run < PAGES * sizeof media / sizeof media[0];
         run++) {
        struct esk_fixture fixture;
        uint32_t lost = 1 + run % PAGES;
        ESK_CONTEXT("run %u", (unsigned)run);
        log_start(&fixture, &media[run / PAGES]);
        uint32_t page = media[run / PAGES].page_bytes;
        value_append(fixture.series, (PAGES - 1) * page);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        newest_lose(&fixture, lost);
        fixture_reboot(&fixture);
        value_append(fixture.series, PAGES * page);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        ESK_CHECK_INT(values_check(fixture.series), 1);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(values_check(fixture.series), 1);
        fixture_end(&fixture);
    }
}

ESK_TEST(damage_after_damage_brings_no_other_value) {
    uint32_t runs = esk_test_is_deep() ? 400 : 40;
    for (uint32_t run = 0; run < runs; run++) {
        struct esk_fixture fixture;
        uint32_t medium = FREE + run % 2;
        random_state = run;
        log_start(&fixture, &media[medium]);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            for (uint32_t i = draw(ROWS / ROUNDS + 1); i > 0; i--) {
                value_append(fixture.series,
                             draw(PAGES * media[medium].page_bytes));
                if (draw(3) == 0) {
                    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
                }
            }
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            newest_lose(&fixture, draw(3) == 0 ? 1 + draw(PAGES) : 0);
            fixture_reboot(&fixture);
            ESK_CONTEXT("run %u, round %u", (unsigned)run, (unsigned)round);
            (void)values_check(fixture.series);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
