// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The sync journal: how many rows stay with a sync a row where pages are
/// programmed once.
#include "table/series/series.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/media.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_U64},
};

enum { ROW_BYTES = 12, REGION_PAGES = 64, KEPT_LEAST = 2000 };

/// Media whose pages are programmed once, with 1, 2 and 4 pages a block.
static const struct esk_geometry media[] = {
    ESK_NAND(160, 1, 512), ESK_NAND(80, 2, 512), ESK_NAND(48, 4, 512),
    ESK_CARD(160, 1, 512), ESK_CARD(80, 2, 512), ESK_CARD(48, 4, 512),
};

enum { MEDIA = sizeof media / sizeof media[0] };

static void start(struct esk_fixture *fixture,
                  const struct esk_geometry *geometry, uint8_t full_policy) {
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 12},
        .full_policy = full_policy,
        .data_blocks = (uint32_t)(REGION_PAGES / geometry->block_pages),
        .index_blocks = 4,
    };
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
}

static int append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[ROW_BYTES];
    esk_store_u32(row, key);
    esk_store_u64(row + 4, UINT64_C(0x9E3779B97F4A7C15) * key);
    return esk_series_append(fixture->series, row);
}

/// Reads every row: those up to `newest`, without a gap. Returns how many.
static uint32_t rows_read(struct esk_fixture *fixture, uint32_t newest) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    uint32_t last = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, NULL),
                  ESK_OK);
    while (esk_series_cursor_next(fixture->series, &cursor, row) == ESK_OK) {
        uint32_t key = esk_load_u32(row);
        ESK_CHECK(last == 0 || key == last + 1);
        ESK_CHECK(esk_load_u64(row + 4) == UINT64_C(0x9E3779B97F4A7C15) * key);
        last = key;
        rows++;
    }
    ESK_CHECK_INT(last, newest);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
    return rows;
}

ESK_TEST(sync_of_every_row_keeps_pages_of_rows) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        uint32_t least = UINT32_MAX;
        start(&fixture, &media[m], ESK_FULL_DROP_OLDEST);
        for (uint32_t key = 1; key <= 9000; key++) {
            ESK_CONTEXT("medium %d, key %u", m, key);
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            if (key % 97 == 0) {
                fixture_reboot(&fixture);
            }
            if (key > 4000 && key % 31 == 0) {
                uint32_t rows = rows_read(&fixture, key);
                least = rows < least ? rows : least;
            }
        }
        ESK_CONTEXT("medium %d keeps %u rows", m, least);
        printf("    %u pages a block, flags %u: %u pages of 512 bytes keep %u "
               "rows of 12 bytes and more\n",
               media[m].block_pages, media[m].flags, REGION_PAGES, least);
        ESK_CHECK(least >= KEPT_LEAST);
        struct esk_series_report report;
        ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(sync_journal_wears_its_blocks_evenly) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    uint32_t low = UINT32_MAX;
    uint32_t high = 0;
    start(&fixture, &media[0], ESK_FULL_DROP_OLDEST);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(info.blocks[ESK_REGION_SYNC], 8);
    for (uint32_t key = 1; key <= 4000; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        if (key % 89 == 0) {
            fixture_reboot(&fixture);
        }
    }
    for (uint32_t i = 0; i < info.blocks[ESK_REGION_SYNC]; i++) {
        uint32_t block = info.block[ESK_REGION_SYNC] + i;
        uint32_t wear = esk_sim_block_wear(fixture.sim, block);
        low = wear < low ? wear : low;
        high = wear > high ? wear : high;
    }
    ESK_CONTEXT("%u to %u erases", low, high);
    ESK_CHECK(high - low <= 1);
    fixture_end(&fixture);
}

/// Blocks of the journal go bad one after another; synced rows stay.
ESK_TEST(sync_goes_on_when_blocks_of_the_journal_fail) {
    for (int bad = 0; bad <= 2; bad++) {
        struct esk_fixture fixture;
        struct esk_table_info info;
        start(&fixture, &media[2], ESK_FULL_DROP_OLDEST);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
        uint32_t end = info.block[0] + info.blocks[0];
        for (uint32_t key = 1; key <= 300; key++) {
            if (key == 100 && bad > 0) {
                esk_sim_block_fail(fixture.sim, end - 1);
            }
            if (key == 130 && bad > 1) {
                esk_sim_block_fail(fixture.sim, end - 2);
            }
            ESK_CONTEXT("%d bad, key %u", bad, key);
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
            (void)rows_read(&fixture, key);
        }
        fixture_end(&fixture);
    }
}

/// Programs of a sync are reported as failed, in the journal and then in the
/// data ring, but reach the medium. The rows of the next sync begin with rows
/// that the data ring has.
ESK_TEST(sync_keeps_rows_behind_those_of_a_page_reported_as_failed) {
    for (uint32_t failed = 1; failed <= 12; failed++) {
        for (uint32_t first = 50; first < 62; first++) {
            struct esk_fixture fixture;
            struct esk_sim_failures failures = {
                .transfer = {.burst_length = failed}};
            uint8_t row[ROW_BYTES];
            start(&fixture, &media[5], ESK_FULL_DROP_OLDEST);
            for (uint32_t key = 1; key <= first; key++) {
                ESK_CHECK_INT(append(&fixture, key), ESK_OK);
                ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            }
            ESK_CONTEXT("%u transfers fail, %u rows", failed, first);
            ESK_CHECK_INT(append(&fixture, first + 1), ESK_OK);
            esk_sim_failures_set(fixture.sim, &failures);
            (void)esk_series_sync(fixture.series);
            esk_sim_failures_set(fixture.sim, NULL);
            ESK_CHECK_INT(append(&fixture, first + 2), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            for (int mount = 0; mount < 2; mount++) {
                fixture_reboot(&fixture);
                for (uint32_t key = 1; key <= first + 2; key++) {
                    ESK_CHECK_INT(esk_series_get(fixture.series, key, row),
                                  ESK_OK);
                }
            }
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(sync_journal_of_a_full_table_keeps_its_last_rows) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        uint32_t key = 1;
        start(&fixture, &media[m], ESK_FULL_REFUSE);
        while (append(&fixture, key) == ESK_OK) {
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            if (key % 53 == 0) {
                fixture_reboot(&fixture);
            }
            key++;
        }
        ESK_CONTEXT("medium %d, key %u", m, key);
        ESK_CHECK_INT(append(&fixture, key), ESK_FULL);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(rows_read(&fixture, key - 1), key - 1);
        ESK_CHECK_INT(append(&fixture, key), ESK_FULL);
        ESK_CHECK_INT(esk_series_erase_before(fixture.series, key - 100),
                      ESK_OK);
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(sync_journal_is_read_by_a_mount_that_writes_nothing) {
    struct esk_fixture fixture;
    start(&fixture, &media[2], ESK_FULL_DROP_OLDEST);
    for (uint32_t key = 1; key <= 60; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    }
    fixture.flags = ESK_MOUNT_READ_ONLY;
    fixture_reboot(&fixture);
    ESK_CHECK_INT(rows_read(&fixture, 60), 60);
    fixture_end(&fixture);
}

ESK_TEST(sync_journal_needs_its_part) {
    struct esk_fixture fixture;
    struct esk_series_parts parts = esk_series_parts_all;
    struct esk_series *series = NULL;
    static uint64_t arena[2000];
    parts.sync = NULL;
    start(&fixture, &media[2], ESK_FULL_DROP_OLDEST);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(test_series_open_with(&series, &parts, &fixture.volume, "log",
                                        NULL, arena, sizeof arena),
                  ESK_E_UNSUPPORTED);
    fixture_end(&fixture);
}

/// Appends rows with a sync every third; program `lie` fails silently. Returns
/// the rows that are there after a reboot, or 0 when a sync failed.
static uint32_t rows_beside_lie(const struct esk_geometry *geometry,
                                uint8_t flags, uint32_t lie) {
    enum { ROWS = 240 };
    struct esk_fixture fixture;
    int status = ESK_OK;
    uint32_t rows = 0;
    fixture_start(&fixture, geometry, NULL);
    fixture.flags = flags;
    esk_volume_unmount(&fixture.volume);
    fixture_mount(&fixture);
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 12},
        .full_policy = ESK_FULL_DROP_OLDEST,
        .data_blocks = REGION_PAGES / 4,
        .index_blocks = 4,
    };
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    program_lies = lie;
    for (uint32_t key = 1; key <= ROWS && status == ESK_OK; key++) {
        status = append(&fixture, key);
        if (status == ESK_OK && key % 3 == 0) {
            status = esk_series_sync(fixture.series);
        }
    }
    program_lies = 0;
    fixture_reboot(&fixture);
    if (status == ESK_OK) {
        ESK_CHECK_INT(esk_series_count(fixture.series, &rows), ESK_OK);
    }
    fixture_end(&fixture);
    return rows;
}

ESK_TEST(sync_with_read_back_loses_no_row_to_a_silent_failure) {
    static const struct esk_geometry few[] = {
        ESK_NOR(48, 4, 256), ESK_NAND(48, 4, 512), ESK_CARD(48, 4, 512)};
    for (int m = 0; m < 3; m++) {
        uint32_t fewer = 0;
        for (uint32_t lie = 1; lie < 80; lie++) {
            ESK_CONTEXT("medium %d, program %u", m, lie);
            uint32_t rows = rows_beside_lie(&few[m], ESK_MOUNT_READ_BACK, lie);
            ESK_CHECK_INT(rows, 240);
            fewer += rows_beside_lie(&few[m], 0, lie) < rows ? 1 : 0;
        }
        ESK_CHECK(fewer > 0);
    }
}

ESK_TEST_MAIN()
