// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Damage around a break of the log: the catalog has the break's start, so rows
/// after it are found, and losses are reported.
#include "flash/ring.h"
#include "table/series/series.h"

#include "test/harness/fixture.h"

enum {
    ROW_BYTES = 12,
    PAGE_ROWS = (256 - 16) / ROW_BYTES,
    BLOCK_PAGES = 8,
    LEFT = 4 * BLOCK_PAGES,     ///< pages before the break
    DROPPED = 12 * BLOCK_PAGES, ///< first page after the break
};

static void rows_append(struct esk_fixture *fixture, uint32_t first,
                        uint32_t count) {
    for (uint32_t i = first; i < first + count; i++) {
        uint8_t row[ROW_BYTES] = {0};
        esk_store_u64(row, i);
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

/// A table of LEFT pages, with a break behind them.
static void fixture_break(struct esk_fixture *fixture) {
    static const struct esk_column columns[] = {
        {.name = "at", .type = ESK_TYPE_I64},
        {.name = "number", .type = ESK_TYPE_U32},
    };
    static const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 12},
        .data_blocks = 40,
    };
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    rows_append(fixture, 0, DROPPED * PAGE_ROWS);
    ESK_CHECK_INT(esk_series_erase_after(fixture->series, LEFT * PAGE_ROWS - 1),
                  ESK_OK);
    ESK_CHECK_INT(fixture->series->data.head, DROPPED);
}

/// Fills pages with bytes that are not valid.
static void ring_fill(struct esk_fixture *fixture, const struct esk_ring *ring,
                      uint32_t first, uint32_t count, uint8_t byte) {
    memset(fixture->page, byte, 256);
    for (uint32_t at = first; at < first + count; at++) {
        ESK_CHECK_INT(esk_sim_poke(fixture->sim, esk_ring_page(ring, at), 0,
                                   fixture->page, 256),
                      ESK_OK);
    }
}

static void pages_fill(struct esk_fixture *fixture, uint32_t first,
                       uint32_t count, uint8_t byte) {
    ring_fill(fixture, &fixture->series->data, first, count, byte);
}

static void expect_report(struct esk_fixture *fixture, uint32_t rows,
                          uint32_t missing) {
    struct esk_series_report report;
    int status = esk_series_check(fixture->series, &report);
    ESK_CHECK_INT(status, missing > 0 ? ESK_E_CORRUPT : ESK_OK);
    ESK_CHECK_INT(report.rows, rows);
    ESK_CHECK_INT(report.rows_missing, missing);
}

static void expect(struct esk_fixture *fixture, uint32_t rows,
                   uint32_t missing) {
    uint32_t count = 0;
    expect_report(fixture, rows, missing);
    ESK_CHECK_INT(esk_series_count(fixture->series, &count), ESK_OK);
    ESK_CHECK_INT(count, rows + missing);
}

/// Rows up to the key may be on pages that cannot be read: a drop of the rows
/// above the key leaves these pages.
ESK_TEST(a_drop_gives_up_no_page_that_cannot_be_read) {
    enum { FIRST = 4, LAST = 9 }; /* of the damaged pages */
    const struct {
        uint32_t first, last; /* damaged pages */
        uint32_t key;         /* on the last damaged page */
        uint32_t rows;        /* that are left */
    } cases[] = {
        {0, LEFT, LEFT * PAGE_ROWS - 2, 0},
        {0, LAST, LAST * PAGE_ROWS - 1, 0},
        {FIRST, LAST, LAST * PAGE_ROWS - 1, FIRST * PAGE_ROWS},
        {FIRST, LEFT, LEFT * PAGE_ROWS - 2, FIRST * PAGE_ROWS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fixture fixture;
        uint32_t damaged = cases[i].last - cases[i].first;
        ESK_CONTEXT("case %u", (unsigned)i);
        fixture_break(&fixture);
        pages_fill(&fixture, cases[i].first, damaged, 0x5A);
        ESK_CHECK_INT(esk_series_erase_after(fixture.series, cases[i].key),
                      ESK_OK);
        ESK_CHECK_INT(fixture.series->data.tail, 0);
        expect_report(&fixture, cases[i].rows, damaged * PAGE_ROWS);
        fixture_reboot(&fixture);
        expect_report(&fixture, cases[i].rows, damaged * PAGE_ROWS);
        fixture_end(&fixture);
    }
}

ESK_TEST(rows_after_a_break_are_found_over_damage_before_it) {
    struct esk_fixture fixture;
    const uint32_t next = LEFT * PAGE_ROWS;
    fixture_break(&fixture);
    rows_append(&fixture, next, 2 * PAGE_ROWS);
    pages_fill(&fixture, LEFT, DROPPED + 1 - LEFT, 0x5A);
    const struct esk_ring *index = &fixture.series->log.ring;
    ring_fill(&fixture, index, index->tail, index->head, 0x5A);
    for (uint32_t opens = 0; opens < 3; opens++) {
        fixture_reboot(&fixture);
        uint32_t added = PAGE_ROWS * (1 + opens);
        expect(&fixture, next + added, PAGE_ROWS);
        rows_append(&fixture, next + PAGE_ROWS + added, PAGE_ROWS);
    }
    fixture_end(&fixture);
}

ESK_TEST(a_damaged_first_page_behind_a_break_is_not_programmed_over) {
    struct esk_fixture fixture;
    const uint8_t zeros[4] = {0};
    const uint32_t next = LEFT * PAGE_ROWS;
    fixture_break(&fixture);
    rows_append(&fixture, next, PAGE_ROWS);
    pages_fill(&fixture, LEFT, DROPPED - LEFT, 0xFF);
    esk_page_id first = esk_ring_page(&fixture.series->data, DROPPED);
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, first, 100, zeros, sizeof zeros),
                  ESK_OK);
    fixture_reboot(&fixture);
    ESK_CHECK_INT(fixture.series->unread, 1);
    ESK_CHECK_INT(fixture.series->data.head, DROPPED + 1);
    fixture_end(&fixture);
}

ESK_TEST(rows_lost_before_a_break_are_reported_with_none_after_it) {
    struct esk_fixture fixture;
    const uint32_t next = LEFT * PAGE_ROWS;
    for (uint32_t lost = 1; lost < LEFT; lost += LEFT - 2) {
        fixture_break(&fixture);
        pages_fill(&fixture, LEFT - lost, DROPPED - LEFT + lost, 0xFF);
        fixture_reboot(&fixture);
        uint32_t left = next - lost * PAGE_ROWS;
        expect(&fixture, left, lost * PAGE_ROWS);
        rows_append(&fixture, next, 5);
        fixture_reboot(&fixture);
        expect(&fixture, left + 5, lost * PAGE_ROWS);
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
