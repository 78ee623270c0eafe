// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A forward cursor missed rows: the completion of its page had failed, so the
/// page's rows were written again further on. The page left its frame and could
/// not be read again, and its remaining rows were skipped on the other page,
/// too, or in RAM.
#include "table/series/series.h"

#include "test/harness/level_log.h"

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = level_columns,
                                                      .column_count = 2,
                                                      .row_bytes = 6},
                                            .data_blocks = 8,
                                            .index_blocks = 4};

static const struct esk_series_config config = {.frames = 2};

enum {
    SEALED = 95, ///< rows when the page that fails is sealed
    IN_RAM = 8,  ///< transfers that fail: more than an append repeats
    ROWS = 300,
};

/// Appends up to ROWS rows; `failures` programs of the page with row SEALED
/// fail. Stops at a failure of an append. Returns how many rows there are.
static uint32_t fill(struct esk_fixture *fixture, uint32_t failures) {
    /* The second program of the page's completion, and later ones. */
    const struct esk_sim_failures faults = {
        .transfer = {.burst_start = 1, .burst_length = failures}};
    for (uint32_t number = 1; number <= ROWS; number++) {
        int status = level_append(fixture, number * 3, number);
        if (status != ESK_OK) {
            ESK_CHECK_INT(status, ESK_E_IO);
            return number - 1;
        }
        if (number == SEALED) {
            ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
            esk_sim_failures_set(fixture->sim, &faults);
        }
    }
    return ROWS;
}

/// The position of the page that was sealed and not completed: the first one
/// with row SEALED.
static uint32_t sealed_position(struct esk_fixture *fixture) {
    const struct esk_ring *ring = &fixture->series->data;
    for (uint32_t at = ring->tail; at < ring->head; at++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint32_t end = 0;
        if (esk_series_pin(fixture->series, ring, at, &page, &frame) ==
            ESK_OK) {
            end = esk_page_aux(page) + esk_page_count(page);
            esk_pool_unpin(&fixture->series->pool, frame);
        }
        if (end >= SEALED) {
            ESK_CHECK_INT(end, SEALED);
            return at;
        }
    }
    ESK_CHECK(false);
    return 0;
}

/// Makes position `at` unreadable, on the medium and in RAM.
static void lose(struct esk_fixture *fixture, uint32_t at) {
    uint8_t zeros[16] = {0};
    esk_page_id page = esk_ring_page(&fixture->series->data, at);
    ESK_CHECK_INT(esk_sim_poke(fixture->sim, page, 0, zeros, sizeof zeros),
                  ESK_OK);
    esk_pool_forget(&fixture->series->pool, page);
}

/// Reads all rows; loses position `lost` when `before` were read.
static void read_all(struct esk_fixture *fixture, uint32_t rows,
                     uint32_t before, uint32_t lost) {
    struct esk_series_cursor cursor;
    uint8_t row[LEVEL_ROW_BYTES];
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, NULL),
                  ESK_OK);
    for (uint32_t number = 1; number <= rows; number++) {
        ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                      ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row), number * 3);
        if (number == before) {
            lose(fixture, lost);
        }
    }
    ESK_CHECK_INT(esk_series_cursor_next(fixture->series, &cursor, row),
                  ESK_END);
}

static void check(uint32_t failures, bool in_ram) {
    for (uint32_t before = SEALED - 30; before <= SEALED + 30; before++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("%u failures, lost after %u rows", failures, before);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", &config);
        uint32_t rows = fill(&fixture, failures);
        ESK_CHECK_INT(rows < ROWS, in_ram);
        ESK_CHECK(rows > SEALED);
        read_all(&fixture, rows, before, sealed_position(&fixture));
        fixture_end(&fixture);
    }
}

ESK_TEST(cursor_goes_on_where_a_lost_page_was_written_again) {
    check(1, false);
    check(2, false);
}

ESK_TEST(cursor_goes_on_in_ram_where_a_lost_page_was_written_again) {
    check(IN_RAM, true);
}

ESK_TEST_MAIN()
