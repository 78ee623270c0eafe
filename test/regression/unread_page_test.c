// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A get whose page could not be transferred read the page below, saw that rows
/// were missing between the two, and called the table corrupt. The rows are
/// there: it is a failure of the transfer.
#include "base/bytes.h"
#include "test/harness/fixture.h"

enum { ROWS = 200, READS = 8, ROW_BYTES = 4 };

static const struct esk_column column = {.name = "t", .type = ESK_TYPE_U32};

ESK_TEST(series_get_of_a_page_that_is_not_transferred_is_a_failed_transfer) {
    const struct esk_series_spec spec = {.table = {.name = "log",
                                                   .columns = &column,
                                                   .column_count = 1,
                                                   .row_bytes = ROW_BYTES}};
    struct esk_fixture fixture;
    uint32_t failures = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t key = 0; key < 2 * ROWS; key += 2) {
        uint8_t row[ROW_BYTES];
        esk_store_u32(row, key);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    for (uint32_t key = 0; key < 2 * ROWS; key++) {
        for (uint32_t read = 1; read <= READS; read++) {
            uint8_t row[ROW_BYTES];
            ESK_CONTEXT("key %u, read %u", (unsigned)key, (unsigned)read);
            fail_from(read, 0, READ_BROKEN);
            int status = esk_series_get(fixture.series, key, row);
            if (fail_end() && status == ESK_E_IO) {
                failures++;
            } else {
                ESK_CHECK_INT(status, key % 2 == 0 ? ESK_OK : ESK_NOT_FOUND);
            }
        }
    }
    ESK_CHECK(failures > 0);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
