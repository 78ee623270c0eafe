// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A backward value query with a key_max missed rows: a page was sealed, its
/// completion failed, and its rows were written again on the next page. The
/// search by key began at the first copy, but the value index covered the
/// second.
#include "table/series/series.h"

#include "test/harness/level_log.h"

enum { ROWS = 400 };

/// Keys that no straight line fits, so that searches miss.
static uint32_t key_of(uint32_t number) {
    return number * number;
}

static uint32_t number_of(uint32_t key) {
    uint32_t number = 0;
    while (key_of(number) < key) {
        number++;
    }
    return number;
}

/// Rows of `level` up to `key_max`, newest first.
static uint32_t count_level(struct esk_fixture *fixture, int16_t level,
                            uint32_t key_max) {
    struct esk_series_query query = {
        .backward = true, .has_key_max = true, .key_max = key_max};
    return level_count(fixture, level, &query, number_of);
}

/// Appends rows; the page with row `rewritten` is written twice.
static void fill(struct esk_fixture *fixture, uint32_t rewritten) {
    /* The second program of the page's completion. */
    const struct esk_sim_failures failures = {
        .transfer = {.burst_start = 1, .burst_length = 1}};
    for (uint32_t number = 1; number <= ROWS; number++) {
        ESK_CHECK_INT(level_append(fixture, key_of(number), number), ESK_OK);
        if (number == rewritten) {
            ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
            esk_sim_failures_set(fixture->sim, &failures);
        }
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
    ESK_CHECK_INT(fixture->series->stats.program_failures, 1);
}

ESK_TEST(backward_value_query_finds_rows_of_a_page_written_twice) {
    static const struct esk_series_config config = {.key_index_bytes = 48,
                                                    .key_error_16ths = 16};
    struct esk_series_spec spec = level_spec;
    spec.data_blocks = 8;
    spec.index_blocks = 4;
    for (uint32_t rewritten = 50; rewritten < ROWS - 60; rewritten += 7) {
        struct esk_fixture fixture;
        level_start(&fixture, &fixture_nor, &spec, &config);
        fill(&fixture, rewritten);
        int16_t level = level_of(rewritten);
        uint32_t expected = 0;
        for (uint32_t number = 1; number <= ROWS; number++) {
            expected += level_of(number) == level ? 1 : 0;
            ESK_CONTEXT("row %u sealed, rows to %u", rewritten, number);
            ESK_CHECK_INT(count_level(&fixture, level, key_of(number)),
                          expected);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
