// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// One flipped bit in the newest page lost up to 31 synced rows, unreported:
/// the mount took the page for an unwritten one, and the next append overwrote
/// it. Now each synced row is returned, or the statistics, the check and a scan
/// report that the newest page cannot be read.
#include "table/series/series.h"

#include "test/harness/level_log.h"

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = level_columns,
                                                      .column_count = 2,
                                                      .row_bytes = 6},
                                            .data_blocks = 16,
                                            .index_blocks = 4};

static const struct esk_geometry *const media[] = {&fixture_nor, &fixture_nand,
                                                   &fixture_sd};

enum { MEDIA = sizeof media / sizeof media[0], MORE = 40 };

/// A log of `rows` synced rows, keys 1 .. rows.
static void fill(struct esk_fixture *fixture,
                 const struct esk_geometry *geometry, uint32_t rows) {
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    for (uint32_t key = 1; key <= rows; key++) {
        ESK_CHECK_INT(level_append(fixture, key, key), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

/// Reads every row, whose keys rise by one except at lost rows. Returns how
/// many; damaged: out, pages that the cursor skipped.
static uint32_t scan(struct esk_fixture *fixture, uint32_t *damaged) {
    struct esk_series_cursor cursor;
    uint8_t row[16];
    uint32_t rows = 0;
    uint32_t last = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, NULL),
                  ESK_OK);
    while (esk_series_cursor_next(fixture->series, &cursor, row) == ESK_OK) {
        ESK_CHECK(esk_load_u32(row) > last);
        last = esk_load_u32(row);
        rows++;
    }
    *damaged = esk_series_cursor_damaged(&cursor);
    return rows;
}

/// Flips bit `bit` of the newest page, and appends after it.
static void flip(struct esk_fixture *fixture, uint32_t rows, uint32_t bit) {
    const struct esk_ring *ring = &fixture->series->data;
    uint32_t newest = ring->head - 1; /* a mount leaves no page open */
    struct esk_series_report report;
    struct esk_series_stats stats;
    uint32_t damaged = 0;
    ESK_CHECK_INT(esk_sim_flip(fixture->sim, esk_ring_page(ring, newest), bit),
                  ESK_OK);
    fixture_reboot(fixture);
    uint32_t found = scan(fixture, &damaged);
    ESK_CHECK(found == rows || damaged > 0);
    esk_series_stats(fixture->series, &stats);
    ESK_CHECK(found == rows || stats.newest_unread > 0);
    /* With a sync journal after it, its rows are known to be missing. */
    int status = esk_series_check(fixture->series, &report);
    ESK_CHECK(status == ESK_OK || report.rows_missing == rows - found);
    ESK_CHECK_INT(report.newest_unread, stats.newest_unread);

    /* Its position is not used again. */
    for (uint32_t i = 1; i <= MORE; i++) {
        ESK_CHECK_INT(level_append(fixture, rows + i, i), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
    fixture_reboot(fixture);
    ESK_CHECK_INT(scan(fixture, &damaged), found + MORE);
    ESK_CHECK_INT(esk_series_check(fixture->series, &report), status);
    ESK_CHECK(found == rows || report.pages_torn + report.pages_damaged > 0);
}

ESK_TEST(series_reports_a_newest_page_with_a_flipped_bit) {
    for (uint32_t medium = 0; medium < MEDIA; medium++) {
        uint32_t bits = 8u * media[medium]->page_bytes;
        for (uint32_t rows = 1; rows < 500; rows += rows < 4 ? 1 : 31) {
            struct esk_fixture whole;
            struct esk_sim *kept = NULL;
            fill(&whole, media[medium], rows);
            ESK_CHECK_INT(esk_sim_clone(&kept, whole.sim), ESK_OK);
            /* Every bit of a few pages, some of the others. */
            for (uint32_t bit = 0; bit < bits; bit += rows < 2 ? 1 : 101) {
                ESK_CONTEXT("medium %u, %u rows, bit %u", medium, rows, bit);
                esk_sim_restore(whole.sim, kept);
                fixture_reboot(&whole);
                flip(&whole, rows, bit);
            }
            esk_sim_destroy(kept);
            fixture_end(&whole);
        }
    }
}

ESK_TEST_MAIN()
