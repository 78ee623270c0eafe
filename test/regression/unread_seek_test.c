// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A search by key went on with the page before one that could not be read for
/// a failed transfer. A cursor then began too early: it returned rows below its
/// bound, or left out the newest ones. A drop of newest rows dropped those of
/// the page as well. Now such a search returns ESK_E_IO, unless ordinals show
/// that the page has no row.
#include "table/series/series.h"

#include "test/harness/fixture.h"

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = fixture_columns,
              .column_count = 2,
              .row_bytes = 6},
    .full_policy = ESK_FULL_REFUSE,
    .data_blocks = 16,
};

enum { ROWS = 2000, READS = 14, STEP = 37 };

static void log_start(struct esk_fixture *fixture) {
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    for (uint32_t key = 0; key < ROWS; key++) {
        uint8_t row[6] = {0};
        esk_store_u32(row, key);
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
    fixture_reboot(fixture);
}

ESK_TEST(a_cursor_does_not_begin_before_a_page_that_could_not_be_read) {
    struct esk_fixture fixture;
    uint32_t failures = 0;
    log_start(&fixture);
    for (uint32_t key = 0; key < ROWS - 100; key += STEP) {
        for (uint32_t read = 1; read < READS; read++) {
            struct esk_series_query query = {
                .has_key_max = true, .backward = true, .key_max = key};
            struct esk_series_cursor cursor;
            uint8_t row[6];
            ESK_CONTEXT("key %u, read %u", (unsigned)key, (unsigned)read);
            esk_pool_forget_all(&fixture.series->pool);
            fail_from(read, 0, READ_BROKEN);
            int status =
                esk_series_cursor_open(fixture.series, &cursor, &query);
            if (status == ESK_OK) {
                status = esk_series_cursor_next(fixture.series, &cursor, row);
            }
            bool failed = fail_end();
            ESK_CHECK(status == ESK_OK || (failed && status == ESK_E_IO));
            ESK_CHECK(status != ESK_OK || esk_load_u32(row) == key);
            failures += status != ESK_OK ? 1 : 0;
        }
    }
    ESK_CHECK(failures > 50);
    fixture_end(&fixture);
}

ESK_TEST(a_drop_whose_search_fails_drops_no_row_below_its_key) {
    for (uint32_t read = 1; read < READS; read++) {
        struct esk_fixture fixture;
        uint32_t count = 0;
        const uint32_t key = ROWS / 2;
        log_start(&fixture);
        ESK_CONTEXT("read %u", (unsigned)read);
        fail_from(read, 0, READ_BROKEN);
        int status = esk_series_erase_after(fixture.series, key);
        fail_end();
        fixture_reboot(&fixture);
        ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
        ESK_CHECK(count == key + 1 ||
                  (status == ESK_E_IO && count > ROWS - 100));
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
