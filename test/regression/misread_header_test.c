// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Before a block is erased, its headers are read: a page that is newer than
/// the head stops the append. One wrong read made a page of a lap ago look
/// newer, and the page itself is valid: so an append returned ESK_E_CORRUPT,
/// which it never returns otherwise on a sound medium. Now that header is read
/// again.
#include "base/bytes.h"

#include "test/harness/fixture.h"

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = fixture_columns,
              .column_count = 2,
              .row_bytes = 6},
    .data_blocks = 4, /* of 4 pages: a flipped bit of 16 names the same page */
    .index_blocks = 2,
};

enum { LAPS = 3, PAGES = 16, PAGE_ROWS = 40, READS = 16 };

ESK_TEST(append_goes_on_after_a_header_of_an_old_page_was_read_wrong) {
    static const struct esk_geometry nor = ESK_NOR(32, 4, 256);
    for (uint32_t read = 1; read <= READS; read++) {
        struct esk_fixture fixture;
        fixture_start(&fixture, &nor, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", NULL);
        fail_from(read, 0, READ_FLIPPED);
        for (uint32_t key = 1; key <= LAPS * PAGES * PAGE_ROWS; key++) {
            uint8_t row[6] = {0};
            esk_store_u32(row, key);
            ESK_CONTEXT("read %u, key %u", read, key);
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        }
        ESK_CHECK(fail_end());
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
