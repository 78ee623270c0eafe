// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// esk_series_check finds every fault, and nothing else.
#include "table/series/series.h"

#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16}};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 3,
              .row_bytes = 6 + ESK_VAR_REF_BYTES},
    .indexes = indexes,
    .index_count = 1,
    .group_pages = 4,
    .run_pages = 4,
    .data_blocks = 8,
    .index_blocks = 4,
    .var_blocks = 10};

enum {
    ROW_BYTES = 6 + ESK_VAR_REF_BYTES,
    VALUE_BYTES = 17,
    PAGE_ROWS = (256 - 16) / ROW_BYTES,
    ROWS = 500
};

static void start(struct esk_fixture *fixture) {
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    for (uint32_t key = 1; key <= ROWS; key++) {
        uint8_t row[VALUE_BYTES] = {0}; /* and its value */
        esk_store_u32(row, key);
        esk_store_u16(row + 4, (uint16_t)(key / 9));
        ESK_CHECK_INT(
            esk_series_append_var(fixture->series, row, row, VALUE_BYTES),
            ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

static int check(struct esk_fixture *fixture,
                 struct esk_series_report *report) {
    memset(report, 0xEE, sizeof *report);
    return esk_series_check(fixture->series, report);
}

static void damage(struct esk_fixture *fixture, const struct esk_ring *ring,
                   uint32_t position) {
    ESK_CHECK_INT(
        esk_sim_flip(fixture->sim, esk_ring_page(ring, position), 999), ESK_OK);
}

/// Changes bytes of a page and corrects its checksum.
static void forge(struct esk_fixture *fixture, const struct esk_ring *ring,
                  uint32_t position, uint16_t offset, uint8_t byte) {
    esk_page_id id = esk_ring_page(ring, position);
    ESK_CHECK_INT(esk_sim_peek(fixture->sim, id, fixture->page), ESK_OK);
    memset(fixture->page + offset, byte, 1);
    esk_envelope_close(&ring->region.envelope, fixture->page,
                       esk_page_count(fixture->page));
    ESK_CHECK_INT(esk_sim_poke(fixture->sim, id, 0, fixture->page, 256),
                  ESK_OK);
}

ESK_TEST(check_of_a_sound_table_counts_its_rows_and_pages) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    for (int reboots = 0; reboots < 2; reboots++) {
        ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
        ESK_CHECK_INT(report.rows, ROWS);
        ESK_CHECK(report.pages >= ROWS / PAGE_ROWS);
        ESK_CHECK(report.index_pages > 5);
        ESK_CHECK_INT(report.rows_missing + report.pages_damaged +
                          report.index_damaged + report.index_wrong +
                          report.values_missing,
                      0);
        fixture_reboot(&fixture);
    }
    fixture_end(&fixture);
}

ESK_TEST(check_of_an_empty_table_finds_nothing) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(report.rows + report.pages, 0);
    fixture_end(&fixture);
}

/// A ring of 40 blocks that has wrapped, unless it refuses, with as many blocks
/// erased ahead as possible, and `blocks` more blank ones at its start. Rows
/// below `floor` were erased.
static int check_without_oldest(uint32_t blocks, uint32_t floor, bool refuses,
                                struct esk_series_report *report) {
    static const struct esk_series_config config = {.erase_ahead = 8};
    struct esk_series_spec wide = spec;
    struct esk_fixture fixture;
    wide.data_blocks = 40;
    wide.full_policy = refuses ? ESK_FULL_REFUSE : ESK_FULL_DROP_OLDEST;
    table_columns(&wide.table, 2);
    wide.var_blocks = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &wide);
    fixture_open(&fixture, "log", &config);
    for (uint32_t key = 1; key <= (refuses ? 12000u : 20000u); key++) {
        uint8_t row[6] = {0};
        esk_store_u32(row, key);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 60, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, floor), ESK_OK);
    const struct esk_ring *ring = &fixture.series->data;
    uint32_t tail = esk_ring_block_from(ring, ring->tail);
    tail -= refuses && tail > ring->tail ? 8 : 0; /* rows before it are kept */
    memset(fixture.page, 0xFF, 256);
    for (uint32_t at = tail; at < tail + blocks * 8; at++) {
        ESK_CHECK_INT(esk_sim_poke(fixture.sim, esk_ring_page(ring, at), 0,
                                   fixture.page, 256),
                      ESK_OK);
    }
    fixture_reboot(&fixture);
    int status = check(&fixture, report);
    fixture_end(&fixture);
    return status;
}

ESK_TEST(check_reports_oldest_blocks_that_are_missing) {
    static const struct {
        uint32_t floor;
        uint32_t most; ///< blocks
        bool refuses;
    } rings[] = {{0, 28, false}, {12000, 17, false}, {4000, 17, true}};
    struct esk_series_report report;
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        uint32_t floor = rings[i].floor;
        bool refuses = rings[i].refuses;
        ESK_CHECK_INT(check_without_oldest(0, floor, refuses, &report), ESK_OK);
        ESK_CHECK_INT(report.pages_damaged + report.pages_torn, 0);
        for (uint32_t blocks = 6; blocks <= rings[i].most; blocks += 11) {
            ESK_CONTEXT("%u blocks, floor %u", blocks, floor);
            ESK_CHECK_INT(check_without_oldest(blocks, floor, refuses, &report),
                          ESK_E_CORRUPT);
            ESK_CHECK(report.pages_damaged >= (blocks - 2) * 8);
            ESK_CHECK(report.pages_damaged <= blocks * 8);
        }
    }
}

/// The index says how far the rows had come.
ESK_TEST(check_reports_that_every_data_page_is_missing) {
    struct esk_series_report report;
    for (uint32_t floor = 0; floor <= 4000; floor += 4000) {
        for (uint32_t refuses = 0; refuses < 2; refuses++) {
            ESK_CONTEXT("floor %u, refuses %u", floor, refuses);
            ESK_CHECK_INT(
                check_without_oldest(40, floor, refuses == 1, &report),
                ESK_E_CORRUPT);
            ESK_CHECK_INT(report.pages, 0);
            ESK_CHECK(report.pages_damaged >= 20 * 8);
        }
    }
}

enum { OLDEST = 16, KEPT = OLDEST + 8, PLAIN_ROWS = (256 - 16) / 6 };

/// Appends rows until the head of the data ring is at `position`, or a row is
/// refused.
static void plain_append(struct esk_fixture *fixture, uint32_t *key,
                         uint32_t position) {
    int status = ESK_OK;
    while (status == ESK_OK && fixture->series->data.head < position) {
        uint8_t row[6] = {0};
        esk_store_u32(row, ++*key);
        status = esk_series_append(fixture->series, row);
    }
}

/// A ring of 8 blocks that drops the block at OLDEST next. Power loss tore the
/// page at KEPT before it had rows.
static void oldest_start(struct esk_fixture *fixture) {
    struct esk_series_spec plain = spec;
    uint32_t key = 0;
    table_columns(&plain.table, 2);
    plain.var_blocks = 0;
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &plain);
    fixture_open(fixture, "log", NULL);
    plain_append(fixture, &key, KEPT);
    esk_sim_cut_at(fixture->sim, esk_sim_op_count(fixture->sim) + 1,
                   ESK_SIM_CUT_ALL_BUT_ONE);
    plain_append(fixture, &key, KEPT + 1);
    fixture_reboot(fixture);
    plain_append(fixture, &key, KEPT + 8 * 6 + 3);
    struct esk_ring *ring = &fixture->series->data;
    ESK_CHECK_INT(ring->tail, OLDEST);
    ESK_CHECK_INT(esk_ring_read(ring, KEPT, fixture->page, true),
                  ESK_E_CORRUPT);
}

ESK_TEST(check_takes_the_rest_of_the_oldest_block_for_erased) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    oldest_start(&fixture);
    for (uint32_t at = KEPT - 1; at > OLDEST; at--) {
        damage(&fixture, &fixture.series->data, at);
        ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
        ESK_CHECK_INT(report.pages_torn, KEPT - at + 1);
        ESK_CHECK_INT(report.pages_damaged + report.rows_missing, 0);
    }
    fixture_end(&fixture);
}

ESK_TEST(check_counts_rows_missing_behind_the_oldest_block) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    oldest_start(&fixture);
    memset(fixture.page, 0xFF, 256);
    for (uint32_t at = KEPT; at < KEPT + 8; at++) {
        esk_page_id page = esk_ring_page(&fixture.series->data, at);
        ESK_CHECK_INT(esk_sim_poke(fixture.sim, page, 0, fixture.page, 256),
                      ESK_OK);
    }
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.rows_missing, 7 * PLAIN_ROWS);
    ESK_CHECK_INT(report.pages_damaged, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_counts_a_damaged_data_page_and_its_rows) {
    static const uint32_t positions[] = {3, 20};
    for (int i = 0; i < 2; i++) {
        struct esk_fixture fixture;
        struct esk_series_report report;
        ESK_CONTEXT("page %u", positions[i]);
        start(&fixture);
        damage(&fixture, &fixture.series->data, positions[i]);
        ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
        ESK_CHECK_INT(report.pages_damaged, 1);
        ESK_CHECK_INT(report.rows_missing, PAGE_ROWS);
        ESK_CHECK_INT(report.rows, ROWS - PAGE_ROWS);
        ESK_CHECK_INT(report.index_wrong, 0);
        fixture_end(&fixture);
    }
}

ESK_TEST(check_finds_damage_at_the_beginning_until_rows_were_dropped) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    fixture.series->data.refuse = true; /* so that no row is dropped */
    for (uint32_t position = 0; position < 3; position++) {
        damage(&fixture, &fixture.series->data, position);
    }
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.pages_damaged, 3);
    ESK_CHECK_INT(report.rows_missing, 3 * PAGE_ROWS);
    ESK_CHECK_INT(report.rows, ROWS - 3 * PAGE_ROWS);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 10 * PAGE_ROWS + 1),
                  ESK_OK);
    damage(&fixture, &fixture.series->data, fixture.series->data.tail);
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(report.pages_torn, 1);
    ESK_CHECK_INT(report.rows_missing, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_counts_rows_missing_at_the_end) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    uint8_t row[VALUE_BYTES] = {0}; /* and its value */
    /* The newest page on the medium; the sealed one is in RAM, too. */
    uint32_t last = fixture.series->data.head - 1;
    damage(&fixture, &fixture.series->data, last);
    esk_store_u32(row, ROWS + 1);
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.rows_missing, PAGE_ROWS);
    fixture_end(&fixture);
}

ESK_TEST(check_counts_damaged_index_pages) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    damage(&fixture, &fixture.series->log.ring, 2);
    damage(&fixture, &fixture.series->log.ring, 4);
    /* They cost reads, no row. */
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(report.index_damaged, 2);
    ESK_CHECK_INT(report.rows_missing, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_counts_index_entries_that_would_miss_a_row) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    /* The smallest value of the first entry of the first zone page. */
    forge(&fixture, &fixture.series->log.ring, 0, ESK_INDEX_ZONE_BODY + 1,
          0xF0);
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.index_wrong, 1);
    ESK_CHECK_INT(report.index_damaged, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_with_an_unsound_index_survives_a_read_that_fails) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    bool failed = true;
    start(&fixture);
    forge(&fixture, &fixture.series->log.ring, 0, ESK_INDEX_ZONE_BODY + 1,
          0xF0);
    forge(&fixture, &fixture.series->log.ring,
          fixture.series->log.ring.head - 1, ESK_INDEX_KNOTS + 1, 0xFF);
    for (uint32_t read = 1; failed; read++) {
        ESK_CONTEXT("read %u fails", read);
        read_fails = read;
        int status = esk_series_check(fixture.series, &report);
        failed = read_fails == 0;
        read_fails = 0;
        ESK_CHECK_INT(status,
                      failed && status == ESK_E_IO ? ESK_E_IO : ESK_E_CORRUPT);
        ESK_CHECK(report.index_wrong <= 1);
        ESK_CHECK(failed || report.index_wrong == 1);
    }
    fixture_end(&fixture);
}

ESK_TEST(check_counts_values_that_cannot_be_read) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    damage(&fixture, fixture.series->var, 3);
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK(report.values_missing >= 240 / (17 + 6));
    ESK_CHECK(report.values_missing <= 240 / (17 + 6) + 2);
    ESK_CHECK_INT(report.rows, ROWS);
    fixture_end(&fixture);
}

ESK_TEST(check_finds_rows_out_of_order) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    forge(&fixture, &fixture.series->data, 2,
          ESK_ENVELOPE_BYTES + 2 * ROW_BYTES, 0);
    ESK_CHECK_INT(check(&fixture, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.rows, ROWS - 1);
    ESK_CHECK_INT(report.pages_damaged, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_leaves_out_rows_that_were_erased) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    uint32_t count = 0;
    start(&fixture);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 250), ESK_OK);
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
    ESK_CHECK_INT(count, ROWS - 249);
    ESK_CHECK_INT(report.rows, count);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 5000), ESK_OK);
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, 0);
    fixture_end(&fixture);
}

/// Appends rows from `key` on until the power is cut; returns the next key.
static uint32_t append_to_cut(struct esk_fixture *fixture, uint32_t key) {
    int status = ESK_OK;
    while (status == ESK_OK) {
        uint8_t row[VALUE_BYTES] = {0}; /* and its value */
        esk_store_u32(row, key);
        status = esk_series_append_var(fixture->series, row, row, VALUE_BYTES);
        key += status == ESK_OK ? 1 : 0;
    }
    return key;
}

ESK_TEST(check_calls_no_page_damaged_that_a_cut_tore) {
    uint32_t torn = 0;
    for (uint32_t cut = 0; cut < 60; cut++) {
        struct esk_fixture fixture;
        struct esk_series_report report;
        uint32_t count = 0;
        ESK_CONTEXT("cut at operation %u", cut);
        start(&fixture);
        esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim) + cut,
                       ESK_SIM_CUT_SUBSET);
        uint32_t key = append_to_cut(&fixture, ROWS + 1);
        fixture_reboot(&fixture);
        for (int after = 0; after < 2; after++) {
            ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
            ESK_CHECK_INT(report.pages_damaged, 0);
            ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
            ESK_CHECK_INT(report.rows, count);
            torn += report.pages_torn;
            for (uint32_t i = 0; i < 40; i++) {
                uint8_t row[VALUE_BYTES] = {0}; /* and its value */
                esk_store_u32(row, key++);
                ESK_CHECK_INT(esk_series_append_var(fixture.series, row, row,
                                                    VALUE_BYTES),
                              ESK_OK);
            }
        }
        fixture_end(&fixture);
    }
    ESK_CHECK(torn > 0);
}

ESK_TEST(check_without_the_catalog_reports_nothing_missing) {
    static const uint8_t zeros[16];
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 250), ESK_OK);
    for (uint8_t half = 0; half < 2; half++) {
        esk_page_id id = 0;
        ESK_CHECK_INT(esk_half_page(&fixture.volume, half, 0, &id), ESK_OK);
        ESK_CHECK_INT(esk_sim_poke(fixture.sim, id, 0, zeros, sizeof zeros),
                      ESK_OK);
    }
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, ROWS - 249);
    ESK_CHECK_INT(report.pages_damaged + report.rows_missing, 0);
    fixture_end(&fixture);
}

ESK_TEST(check_on_a_device_that_cannot_read_reports_damage) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    start(&fixture);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_E_IO);
    fixture_end(&fixture);
}

ESK_TEST(check_returns_io_when_any_read_fails) {
    struct esk_fixture fixture;
    struct esk_series_report report;
    bool failed = true;
    start(&fixture);
    for (uint32_t read = 1; failed; read += 1 + read / 40) {
        ESK_CONTEXT("read %u fails", read);
        fail_from(read, 0, READ_BROKEN);
        int status = esk_series_check(fixture.series, &report);
        failed = fail_end();
        ESK_CHECK_INT(status, failed ? ESK_E_IO : ESK_OK);
        ESK_CHECK_INT(report.index_wrong, 0);
    }
    ESK_CHECK_INT(check(&fixture, &report), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
