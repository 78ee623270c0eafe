// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A mount of a ring searches for its first page from the block on where the
/// catalog says that it begins. It read the header of the block after that one
/// once: if the only page of a sync journal was there, one wrong read hid the
/// rows of the last sync. Now a mount that finds no page searches again.
#include "base/bytes.h"

#include "test/harness/fixture.h"

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = fixture_columns,
              .column_count = 2,
              .row_bytes = 6},
    .data_blocks = 6,
    .sync_blocks = 2,
};

static const enum read_failure ways[] = {READ_FLIPPED, READ_ERASED,
                                         READ_CORRUPT};

enum { WAYS = sizeof ways / sizeof ways[0], ROWS = 9 };

static void append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[6] = {0};
    esk_store_u32(row, key);
    ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

ESK_TEST(a_wrong_read_of_an_open_does_not_hide_the_rows_of_a_journal) {
    static const struct esk_geometry nand = ESK_NAND(40, 4, 512);
    for (uint32_t synced = 1; synced < ROWS; synced++) {
        struct esk_fixture fixture;
        fixture_start(&fixture, &nand, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", NULL);
        append(&fixture, 0);
        append(&fixture, 1);
        /* The catalog gets the journal's head; then the journal leaves this
           block, which is erased. */
        ESK_CHECK_INT(esk_series_erase_after(fixture.series, 0), ESK_OK);
        for (uint32_t key = 1; key <= synced; key++) {
            append(&fixture, key);
        }
        ESK_CHECK_INT(esk_volume_step(&fixture.volume, 10, NULL), ESK_OK);
        for (unsigned way = 0; way < WAYS; way++) {
            bool failed = true;
            for (uint32_t read = 1; failed; read++) {
                uint32_t count = 0;
                ESK_CONTEXT("%u syncs, way %u, read %u", (unsigned)synced, way,
                            (unsigned)read);
                fixture_mount(&fixture);
                fail_from(read, 0, ways[way]);
                fixture_open(&fixture, "log", NULL);
                failed = fail_end();
                ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
                ESK_CHECK_INT(count, 1 + synced);
            }
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
