// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A check counted values as missing that erase_before had dropped: the oldest
/// page of rows stays as long as one of its rows, but the values of its erased
/// rows may be dropped earlier. The same holds for values in the block that is
/// dropped next: an interrupted erase may have damaged it.
#include "table/series/series.h"

#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 2,
              .row_bytes = 4 + ESK_VAR_REF_BYTES},
    .data_blocks = 6,
    .index_blocks = 3,
    .var_blocks = 4};

enum { ROW_BYTES = 16, VALUE_BYTES = 100 };

static void append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[ROW_BYTES] = {0};
    uint8_t value[VALUE_BYTES];
    esk_store_u32(row, key);
    memset(value, (uint8_t)key, sizeof value);
    ESK_CHECK_INT(
        esk_series_append_var(fixture->series, row, value, sizeof value),
        ESK_OK);
}

/// Damages the page of values at `position`; returns the values missing.
static uint32_t missing_without(struct esk_fixture *fixture, uint32_t position,
                                int expected) {
    struct esk_series_report report;
    esk_page_id page = esk_ring_page(fixture->series->var, position);
    ESK_CHECK_INT(esk_sim_flip(fixture->sim, page, 999), ESK_OK);
    fixture_reboot(fixture);
    ESK_CHECK_INT(esk_series_check(fixture->series, &report), expected);
    return report.values_missing;
}

ESK_TEST(check_misses_no_value_of_an_erased_row) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t key = 1; key <= 20; key++) {
        append(&fixture, key);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    /* Rows 1 to 15 share a page; of their values, page 0 holds two. */
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 5), ESK_OK);
    ESK_CHECK_INT(missing_without(&fixture, 0, ESK_OK), 0);
    ESK_CHECK(missing_without(&fixture, 4, ESK_E_CORRUPT) >= 2);
    fixture_end(&fixture);
}

ESK_TEST(check_misses_no_value_in_the_block_that_is_dropped_next) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    uint32_t key = 0;
    while (fixture.series->var->head < 3 * 8) {
        append(&fixture, ++key);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(missing_without(&fixture, 2, ESK_OK), 0);
    ESK_CHECK(missing_without(&fixture, 9, ESK_E_CORRUPT) >= 2);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
