// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Failures of loggers in the field, each as a test.
#include "table/series/series.h"

#include "test/harness/level_log.h"

static const struct esk_geometry *const media[] = {&fixture_nor, &fixture_nand,
                                                   &fixture_sd};

enum { MEDIA = 3 };

static void start(struct esk_fixture *fixture,
                  const struct esk_geometry *geometry,
                  const struct esk_series_spec *spec) {
    level_start(fixture, geometry, spec, NULL);
}

static int append(struct esk_fixture *fixture, uint32_t key) {
    return level_append(fixture, key, key);
}

static void append_range(struct esk_fixture *fixture, uint32_t from,
                         uint32_t to) {
    for (uint32_t key = from; key <= to; key++) {
        ESK_CHECK_INT(append(fixture, key), ESK_OK);
    }
}

static uint32_t count(struct esk_fixture *fixture) {
    uint32_t rows = 0;
    ESK_CHECK_INT(esk_series_count(fixture->series, &rows), ESK_OK);
    return rows;
}

static uint32_t number_of(uint32_t key) {
    return key;
}

static uint32_t count_level(struct esk_fixture *fixture, int16_t level) {
    static const struct esk_series_query all;
    return level_count(fixture, level, &all, number_of);
}

ESK_TEST(field_one_bad_header_does_not_lose_the_rest) {
    for (int m = 0; m < MEDIA; m++) {
        for (uint32_t lost = 0; lost < 12; lost++) {
            struct esk_fixture fixture;
            uint32_t page_rows = (media[m]->page_bytes - 16u) / LEVEL_ROW_BYTES;
            uint32_t rows = 12 * page_rows + 5;
            ESK_CONTEXT("medium %d, page %u", m, lost);
            start(&fixture, media[m], &level_spec);
            append_range(&fixture, 1, rows);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            static const uint8_t zero[16] = {0};
            ESK_CHECK_INT(
                esk_sim_poke(fixture.sim,
                             esk_ring_page(&fixture.series->data, lost), 0,
                             zero, sizeof zero),
                ESK_OK);
            fixture_reboot(&fixture);
            struct esk_series_cursor cursor;
            uint8_t row[LEVEL_ROW_BYTES];
            uint32_t found = 0;
            ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, NULL),
                          ESK_OK);
            while (esk_series_cursor_next(fixture.series, &cursor, row) ==
                   ESK_OK) {
                found++;
            }
            ESK_CHECK_INT(found, rows - page_rows);
            ESK_CHECK_INT(append(&fixture, rows + 1), ESK_OK);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(field_exactly_full_then_reboot_keeps_everything) {
    for (int m = 0; m < MEDIA; m++) {
        for (uint32_t short_by = 0; short_by < 3; short_by++) {
            struct esk_series_spec spec = level_spec;
            struct esk_fixture fixture;
            uint32_t page_rows = (media[m]->page_bytes - 16u) / LEVEL_ROW_BYTES;
            ESK_CONTEXT("medium %d, %u rows short", m, short_by);
            spec.full_policy = ESK_FULL_REFUSE;
            spec.data_blocks = 4;
            uint32_t room = 4 * media[m]->block_pages * page_rows;
            start(&fixture, media[m], &spec);
            append_range(&fixture, 1, room - short_by);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            for (int reboots = 0; reboots < 2; reboots++) {
                fixture_reboot(&fixture);
                ESK_CHECK_INT(count(&fixture), room - short_by);
            }
            ESK_CHECK_INT(append(&fixture, room + 1), ESK_FULL);
            ESK_CHECK_INT(count(&fixture), room - short_by);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(field_ring_exactly_full_then_reboot_drops_a_block_at_most) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_series_spec spec = level_spec;
        struct esk_fixture fixture;
        uint32_t page_rows = (media[m]->page_bytes - 16u) / LEVEL_ROW_BYTES;
        uint32_t block_rows = media[m]->block_pages * page_rows;
        ESK_CONTEXT("medium %d", m);
        spec.data_blocks = 4;
        start(&fixture, media[m], &spec);
        append_range(&fixture, 1, 4 * block_rows);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(count(&fixture), 4 * block_rows);
        append_range(&fixture, 4 * block_rows + 1,
                     4 * block_rows + 1 + page_rows);
        ESK_CHECK_INT(count(&fixture), 3 * block_rows + 1 + page_rows);
        fixture_end(&fixture);
    }
}

ESK_TEST(field_cuts_during_recoveries_of_cuts_lose_no_synced_row) {
    for (int m = 0; m < MEDIA; m++) {
        for (uint64_t seed = 1; seed <= 60; seed++) {
            struct esk_fixture fixture;
            uint32_t synced = 0;
            uint32_t next = 1;
            start(&fixture, media[m], &level_spec);
            esk_sim_seed_set(fixture.sim, seed);
            for (uint32_t cut = 0; cut < 12; cut++) {
                ESK_CONTEXT("medium %d, seed %u, cut %u", m, (unsigned)seed,
                            cut);
                esk_sim_cut_at(fixture.sim,
                               esk_sim_op_count(fixture.sim) + seed * 7 % 5 +
                                   cut % 3,
                               ESK_SIM_CUT_DRAWN);
                while (esk_sim_is_on(fixture.sim)) {
                    if (append(&fixture, next) != ESK_OK) {
                        break;
                    }
                    if (next % 3 == 0 &&
                        esk_series_sync(fixture.series) == ESK_OK) {
                        synced = next;
                    }
                    next++;
                }
                fixture_reboot(&fixture);
                uint32_t rows = count(&fixture);
                ESK_CHECK(rows >= synced);
                ESK_CHECK(rows <= next);
                next = rows + 1;
            }
            for (uint32_t key = 1; key < next; key++) {
                uint8_t row[LEVEL_ROW_BYTES];
                ESK_CHECK_INT(esk_series_get(fixture.series, key, row), ESK_OK);
            }
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(field_clock_that_goes_back_is_refused_until_it_has_caught_up) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &level_spec);
    append_range(&fixture, 1000, 1200);
    for (uint32_t key = 1100; key <= 1200; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OUT_OF_ORDER);
    }
    append_range(&fixture, 1201, 1300);
    ESK_CHECK_INT(count(&fixture), 301);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_reboot(&fixture);
    ESK_CHECK_INT(append(&fixture, 1150), ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(append(&fixture, 1301), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(field_duplicate_key_is_refused_in_ram_and_on_the_medium) {
    struct esk_fixture fixture;
    uint8_t row[LEVEL_ROW_BYTES];
    start(&fixture, &fixture_nand, &level_spec);
    for (uint32_t key = 1; key <= 300; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        ESK_CHECK_INT(append(&fixture, key), ESK_OUT_OF_ORDER);
        if (key % 50 == 0) {
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            ESK_CHECK_INT(append(&fixture, key), ESK_OUT_OF_ORDER);
        }
    }
    ESK_CHECK_INT(count(&fixture), 300);
    ESK_CHECK_INT(esk_series_get(fixture.series, 150, row), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(field_sync_after_every_one_of_1000_rows_keeps_value_queries_exact) {
    static const struct esk_geometry *const chips[] = {&fixture_nor,
                                                       &fixture_nand};
    for (int c = 0; c < 2; c++) {
        struct esk_series_spec spec = level_spec;
        struct esk_geometry geometry = *chips[c];
        struct esk_fixture fixture;
        ESK_CONTEXT("chip %d", c);
        geometry.block_count = 128; /* NAND spends a page on every sync */
        spec.data_blocks = 90;
        start(&fixture, &geometry, &spec);
        for (uint32_t key = 1; key <= 1000; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            if (key % 250 == 0) {
                fixture_reboot(&fixture);
            }
        }
        for (int16_t level = 0; level < 50; level++) {
            ESK_CHECK_INT(count_level(&fixture, level), 20);
        }
        ESK_CHECK_INT(count_level(&fixture, 50), 0);
        ESK_CHECK_INT(count(&fixture), 1000);
        fixture_end(&fixture);
    }
}

ESK_TEST(field_page_of_more_than_255_rows_is_used_to_the_last) {
    static const struct esk_column narrow[] = {
        {.name = "at", .type = ESK_TYPE_U16}};
    static const struct esk_series_spec spec = {.table = {.name = "log",
                                                          .columns = narrow,
                                                          .column_count = 1,
                                                          .row_bytes = 2},
                                                .data_blocks = 8};
    struct esk_geometry geometry = fixture_nand;
    struct esk_fixture fixture;
    geometry.page_bytes = 2048;
    geometry.program_bytes = 2048;
    start(&fixture, &geometry, &spec);
    for (uint32_t key = 1; key <= 60000; key++) {
        uint8_t row[2];
        esk_store_u16(row, (uint16_t)key);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_reboot(&fixture);
    ESK_CHECK_INT(count(&fixture), 60000);
    for (uint32_t key = 1; key <= 60000; key += 7) {
        uint8_t row[2];
        ESK_CONTEXT("key %u", key);
        ESK_CHECK_INT(esk_series_get(fixture.series, key, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u16(row), key);
    }
    fixture_end(&fixture);
}

ESK_TEST(field_key_space_ends_at_the_types_maximum) {
    static const struct {
        uint8_t type;
        uint64_t max;
    } types[] = {
        {ESK_TYPE_I8, INT8_MAX},    {ESK_TYPE_I16, INT16_MAX},
        {ESK_TYPE_I32, INT32_MAX},  {ESK_TYPE_I64, INT64_MAX},
        {ESK_TYPE_U8, UINT8_MAX},   {ESK_TYPE_U16, UINT16_MAX},
        {ESK_TYPE_U32, UINT32_MAX}, {ESK_TYPE_U64, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct esk_column column = {.name = "at", .type = types[i].type};
        struct esk_series_spec spec = {
            .table = {.name = "log",
                      .columns = &column,
                      .column_count = 1,
                      .row_bytes = esk_type_bytes(types[i].type, 0)},
            .data_blocks = 4};
        struct esk_fixture fixture;
        start(&fixture, &fixture_nor, &spec);
        for (uint64_t back = 40; back <= 40; back--) {
            uint8_t row[8];
            ESK_CONTEXT("type %u, %u below its maximum", types[i].type,
                        (unsigned)back);
            esk_store_u64(row, types[i].max - back);
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        }
        for (int reboots = 0; reboots < 2; reboots++) {
            uint8_t row[8] = {0};
            uint8_t max[8];
            uint8_t bytes = esk_order_width(types[i].type);
            esk_store_u64(max, types[i].max);
            ESK_CHECK_INT(esk_series_append(fixture.series, max),
                          ESK_OUT_OF_ORDER);
            ESK_CHECK_INT(esk_series_append(fixture.series, row),
                          ESK_OUT_OF_ORDER);
            ESK_CHECK_INT(
                esk_series_get(fixture.series, (esk_key)types[i].max, row),
                ESK_OK);
            ESK_CHECK_BYTES(row, max, bytes);
            ESK_CHECK_INT(
                esk_series_ceiling(fixture.series, (esk_key)types[i].max, row),
                ESK_OK);
            ESK_CHECK_BYTES(row, max, bytes);
            ESK_CHECK_INT(esk_series_newest(fixture.series, row), ESK_OK);
            ESK_CHECK_BYTES(row, max, bytes);
            ESK_CHECK_INT(count(&fixture), 41);
            fixture_reboot(&fixture);
        }
        fixture_end(&fixture);
    }
}

/// Values and edges are bytes, low byte first, on every machine: compares the
/// index page's bytes with constants computed by hand.
ESK_TEST(field_bitmap_buckets_do_not_depend_on_the_hosts_byte_order) {
    static const uint8_t edges[] = {0x00, 0xFF, 0x64, 0x00, 0x2C, 0x01};
    static const struct esk_index_spec index[] = {
        {.column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 3}};
    static const int16_t levels[] = {-257, -300, 256, 299};
    /* Edges -256, 100, 300: buckets 0, 0, 2, 2. Order form of an i16 is the
       value with its sign bit flipped: -300 is 0x7ED4, 299 is 0x812B. */
    static const uint8_t entry[] = {0xD4, 0x7E, 0x2B, 0x81, 0x05};
    struct esk_series_spec spec = level_spec;
    struct esk_fixture fixture;
    spec.indexes = index;
    spec.run_pages = 2;
    start(&fixture, &fixture_nand, &spec);
    uint32_t page_rows = (512 - 16) / LEVEL_ROW_BYTES;
    for (uint32_t key = 1; key <= 3 * page_rows + 1; key++) {
        uint8_t row[LEVEL_ROW_BYTES];
        esk_store_u32(row, key);
        esk_store_u16(row + 4, (uint16_t)levels[key % 4]);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_sim_peek(fixture.sim,
                               esk_ring_page(&fixture.series->log.ring, 0),
                               fixture.page),
                  ESK_OK);
    ESK_CHECK_INT(fixture.page[ESK_INDEX_ROLE], ESK_INDEX_ZONE_PAGE);
    ESK_CHECK_INT(esk_load_u16(fixture.page + ESK_INDEX_ENTRIES), 2);
    ESK_CHECK_BYTES(fixture.page + ESK_INDEX_ZONE_BODY, entry, sizeof entry);
    ESK_CHECK_BYTES(fixture.page + ESK_INDEX_ZONE_BODY + sizeof entry, entry,
                    sizeof entry);
    fixture_end(&fixture);
}

ESK_TEST(field_erased_rows_still_in_ram_are_not_counted) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &level_spec);
    append_range(&fixture, 1, 10);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 6), ESK_OK);
    ESK_CHECK_INT(count(&fixture), 5);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
