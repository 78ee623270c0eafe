// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A newest data page that read as blank was not reported, though the index had
/// a zone page, which is written only when the page after its run exists. Now
/// it is reported, and never more than what was lost.
#include "table/series/series.h"
#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "trace", .type = ESK_TYPE_BYTES, .bytes = 96},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = 100},
                                            .full_policy = ESK_FULL_REFUSE,
                                            .run_pages = 5,
                                            .data_blocks = 20,
                                            .index_blocks = 4};

/// Appends rows until the newest page on the medium is the first after a run
/// page. Returns how many rows that page has.
static uint16_t fill(struct esk_fixture *fixture, uint32_t pages) {
    struct esk_series *series = fixture->series;
    uint16_t rows = 0;
    for (uint32_t i = 1;; i++) {
        uint8_t row[100] = {0};
        uint32_t head = series->data.head;
        uint16_t count = (uint16_t)(series->write_count + 1u);
        esk_store_u32(row, i);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        rows = (uint16_t)(count - series->write_count);
        if (series->data.head > head && head >= pages &&
            series->log.run_count == 1) {
            return rows;
        }
    }
}

ESK_TEST(lost_newest_page_that_the_index_covers_is_reported) {
    static const struct esk_geometry nor = ESK_NOR(80, 16, 256);
    for (uint32_t pages = 20; pages < 60; pages += 5) {
        struct esk_fixture fixture;
        struct esk_series_report report;
        uint8_t blank[256];
        fixture_start(&fixture, &nor, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", NULL);
        uint16_t rows = fill(&fixture, pages);
        struct esk_ring *ring = &fixture.series->data;
        ESK_CONTEXT("%u pages, %u rows on the newest", ring->head, rows);
        memset(blank, 0xFF, sizeof blank);
        ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                   esk_ring_page(ring, ring->head - 1), 0,
                                   blank, sizeof blank),
                      ESK_OK);
        fixture_reboot(&fixture);
        for (int opened = 0; opened < 2; opened++) {
            uint8_t row[100] = {0xFF, 0xFF, 0xFF};
            row[3] = (uint8_t)opened;
            ESK_CHECK_INT(esk_series_check(fixture.series, &report),
                          ESK_E_CORRUPT);
            ESK_CHECK(report.rows_missing > 0);
            ESK_CHECK(report.rows_missing <= rows);
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
