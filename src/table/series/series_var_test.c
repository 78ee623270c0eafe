// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The variable-length column.
#include "table/series/series.h"

#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "at", .type = ESK_TYPE_U32},
};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 2,
              .row_bytes = 4 + ESK_VAR_REF_BYTES,
              .key_column = 1},
    .data_blocks = 6,
    .index_blocks = 3,
    .var_blocks = 20};

static const struct esk_geometry *const media[] = {&fixture_nor, &fixture_nand,
                                                   &fixture_sd};

enum {
    KEY_OFFSET = ESK_VAR_REF_BYTES,
    ROW_BYTES = KEY_OFFSET + 4,
    VALUE_BYTES_MAX = 3000,
};

static uint8_t value[VALUE_BYTES_MAX];
static uint8_t got_bytes[VALUE_BYTES_MAX];

/// Lengths from nothing to several pages.
static uint32_t value_make(uint32_t key) {
    static const uint32_t lengths[] = {0,   1,   5,   200, 240, 241,  479,
                                       480, 496, 497, 700, 992, 1500, 3000};
    uint32_t length = lengths[key % 14];
    for (uint32_t i = 0; i < length; i++) {
        value[i] = (uint8_t)(key * 31 + i);
    }
    return length;
}

static int append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[ROW_BYTES];
    uint32_t length = value_make(key);
    memset(row, 0xDD, sizeof row);
    esk_store_u32(row + KEY_OFFSET, key);
    return esk_series_append_var(fixture->series, row, value, length);
}

static void start(struct esk_fixture *fixture,
                  const struct esk_geometry *geometry) {
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
}

/// Reads the value of `key` in pieces of `piece` bytes and compares it.
static void check_value(struct esk_fixture *fixture, uint32_t key,
                        uint32_t piece) {
    uint8_t row[ROW_BYTES];
    struct esk_series_value reader;
    uint32_t expected = value_make(key);
    ESK_CHECK_INT(esk_series_get(fixture->series, key, row), ESK_OK);
    ESK_CHECK_INT(esk_series_value_open(fixture->series, row, &reader), ESK_OK);
    ESK_CHECK_INT(reader.bytes, expected);
    for (uint32_t at = 0; at <= expected; at += piece) {
        uint32_t got = 99;
        uint32_t left = expected - at < piece ? expected - at : piece;
        ESK_CHECK_INT(esk_series_value_read(fixture->series, &reader, got_bytes,
                                            piece, &got),
                      ESK_OK);
        ESK_CHECK_INT(got, left);
        ESK_CHECK_BYTES(got_bytes, value + at, got);
    }
}

/// Opens the value of `row` and reads all of it into got_bytes.
static int value_read(struct esk_fixture *fixture, const uint8_t *row,
                      uint32_t *got) {
    struct esk_series_value reader;
    *got = 0;
    ESK_TRY(esk_series_value_open(fixture->series, row, &reader));
    return esk_series_value_read(fixture->series, &reader, got_bytes,
                                 sizeof got_bytes, got);
}

ESK_TEST(var_values_of_any_length_read_back_whole_and_in_pieces) {
    static const uint32_t pieces[] = {1, 7, 240, 4096};
    for (int m = 0; m < 3; m++) {
        struct esk_fixture fixture;
        start(&fixture, media[m]);
        for (uint32_t key = 1; key <= 42; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
            if (key % 9 == 0) {
                ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            }
        }
        for (int reboots = 0; reboots < 2; reboots++) {
            for (uint32_t key = 1; key <= 42; key++) {
                ESK_CONTEXT("medium %d, key %u, reboots %d", m, key, reboots);
                check_value(&fixture, key, pieces[key % 4]);
            }
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(var_pages_are_counted_as_the_values_fill_them) {
    struct esk_fixture fixture;
    struct esk_series_stats stats;
    uint32_t bytes = 0;
    start(&fixture, &fixture_nor);
    for (uint32_t key = 1; key <= 42; key++) {
        bytes += value_make(key);
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    esk_series_stats(fixture.series, &stats);
    ESK_CHECK(stats.var_pages >= bytes / fixture_nor.page_bytes);
    ESK_CHECK(stats.var_pages <= 1 + bytes / (fixture_nor.page_bytes - 32u));
    fixture_end(&fixture);
}

ESK_TEST(var_read_past_the_end_gives_no_bytes) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint32_t got = 99;
    start(&fixture, &fixture_nor);
    ESK_CHECK_INT(append(&fixture, 2), ESK_OK);
    ESK_CHECK_INT(esk_series_get(fixture.series, 2, row), ESK_OK);
    struct esk_series_value reader;
    ESK_CHECK_INT(esk_series_value_open(fixture.series, row, &reader), ESK_OK);
    ESK_CHECK_INT(
        esk_series_value_read(fixture.series, &reader, NULL, UINT32_MAX, &got),
        ESK_OK);
    ESK_CHECK_INT(got, 5);
    for (uint32_t bytes = 0; bytes < 3; bytes++) {
        ESK_CHECK_INT(esk_series_value_read(fixture.series, &reader, got_bytes,
                                            bytes, &got),
                      ESK_OK);
        ESK_CHECK_INT(got, 0);
    }
    fixture_end(&fixture);
}

ESK_TEST(var_slot_of_a_plain_append_is_an_empty_value) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    struct esk_series_value reader;
    start(&fixture, &fixture_nor);
    memset(row, 0xDD, sizeof row);
    ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_newest(fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_value_open(fixture.series, row, &reader), ESK_OK);
    ESK_CHECK_INT(reader.bytes, 0);
    fixture_end(&fixture);
}

ESK_TEST(var_calls_need_a_variable_column) {
    static const struct esk_series_spec plain = {
        .table = {.name = "plain",
                  .columns = columns + 1,
                  .column_count = 1,
                  .row_bytes = 4},
        .data_blocks = 2};
    struct esk_fixture fixture;
    uint8_t row[4] = {1};
    struct esk_series_value reader;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &plain);
    fixture_open(&fixture, "plain", NULL);
    ESK_CHECK_INT(esk_series_append_var(fixture.series, row, row, 1),
                  ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_value_open(fixture.series, row, &reader),
                  ESK_E_UNSUPPORTED);
    fixture_end(&fixture);
}

ESK_TEST(var_values_whose_pages_were_dropped_are_not_found) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint32_t got = 0;
    uint32_t dropped = 0;
    start(&fixture, &fixture_nor);
    for (uint32_t key = 1; key <= 200; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    for (uint32_t key = 1; key <= 200; key++) {
        uint32_t length = value_make(key);
        ESK_CONTEXT("key %u", key);
        ESK_CHECK_INT(esk_series_get(fixture.series, key, row), ESK_OK);
        int status = value_read(&fixture, row, &got);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        if (status == ESK_OK) {
            ESK_CHECK_BYTES(got_bytes, value, length);
        } else {
            dropped++;
        }
    }
    ESK_CHECK(dropped > 20);
    ESK_CHECK(dropped < 180);
    fixture_end(&fixture);
}

ESK_TEST(var_value_with_a_lost_page_is_corrupt_and_its_neighbours_are_not) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint32_t got = 0;
    start(&fixture, &fixture_nor);
    for (uint32_t key = 1; key <= 27; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    /* Key 13 has 3,000 bytes; lose a page from its middle. */
    ESK_CHECK_INT(esk_series_get(fixture.series, 13, row), ESK_OK);
    uint32_t position = esk_load_u32(row) + 5;
    ESK_CHECK_INT(esk_sim_flip(fixture.sim,
                               esk_ring_page(fixture.series->var, position),
                               999),
                  ESK_OK);
    ESK_CHECK_INT(value_read(&fixture, row, &got), ESK_E_CORRUPT);
    check_value(&fixture, 12, 100);
    check_value(&fixture, 14, 100);
    check_value(&fixture, 27, 100);
    fixture_end(&fixture);
}

ESK_TEST(var_reference_that_names_nothing_is_corrupt) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint32_t got = 0;
    start(&fixture, &fixture_nor);
    for (uint32_t key = 3; key <= 4; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_get(fixture.series, 3, row), ESK_OK);
    for (uint32_t stream = 0; stream <= UINT16_MAX; stream++) {
        bool is_it = stream == esk_load_u16(row + 4);
        uint8_t other[ROW_BYTES];
        memcpy(other, row, sizeof other);
        esk_store_u16(other + 4, (uint16_t)stream);
        int status = value_read(&fixture, other, &got);
        ESK_CONTEXT("stream offset %u", stream);
        /* Position 0, offset 0: no value. */
        bool is_none = stream == 0 && esk_load_u32(row) == 0;
        ESK_CHECK_INT(status, is_it || is_none ? ESK_OK : ESK_E_CORRUPT);
    }
    fixture_end(&fixture);
}

ESK_TEST(var_value_of_another_row_is_not_taken_for_one) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint8_t other[ROW_BYTES];
    uint32_t got = 0;
    start(&fixture, &fixture_nor);
    for (uint32_t key = 3; key <= 9; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    for (uint32_t key = 4; key <= 9; key++) {
        ESK_CHECK_INT(esk_series_get(fixture.series, 3, row), ESK_OK);
        ESK_CHECK_INT(esk_series_get(fixture.series, key, other), ESK_OK);
        memcpy(row, other, ESK_VAR_REF_BYTES);
        ESK_CHECK_INT(value_read(&fixture, row, &got), ESK_E_CORRUPT);
    }
    fixture_end(&fixture);
}

/// Pieces of any size cost one read a page of value, with the fewest frames.
ESK_TEST(var_value_read_in_pieces_costs_a_read_a_page) {
    static uint8_t large[100000];
    static const struct esk_geometry medium = {.block_count = 64,
                                               .block_pages = 8,
                                               .page_bytes = 512,
                                               .program_bytes = 1,
                                               .erased_value = 0xFF};
    struct esk_fixture fixture;
    struct esk_series_spec large_spec = spec;
    uint8_t row[ROW_BYTES] = {0};
    large_spec.var_blocks = 40;
    for (uint32_t i = 0; i < sizeof large; i++) {
        large[i] = (uint8_t)(i * 7 + i / 251);
    }
    fixture_start(&fixture, &medium, NULL);
    fixture_create(&fixture, &large_spec);
    fixture_open(&fixture, "log", NULL);
    ESK_CHECK_INT(
        esk_series_append_var(fixture.series, row, large, sizeof large),
        ESK_OK);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_series_newest(fixture.series, row), ESK_OK);
    for (uint32_t piece = 1; piece <= 4096; piece *= 2) {
        struct esk_series_value reader;
        struct esk_series_stats before;
        struct esk_series_stats after;
        uint32_t got = 1;
        uint32_t at = 0;
        fixture_reboot(&fixture);
        esk_series_stats(fixture.series, &before);
        ESK_CHECK_INT(esk_series_value_open(fixture.series, row, &reader),
                      ESK_OK);
        while (got > 0) {
            uint8_t bytes[4096];
            ESK_CHECK_INT(esk_series_value_read(fixture.series, &reader, bytes,
                                                piece, &got),
                          ESK_OK);
            ESK_CHECK_BYTES(bytes, large + at, got);
            at += got;
        }
        ESK_CHECK_INT(at, sizeof large);
        esk_series_stats(fixture.series, &after);
        uint32_t reads = after.page_reads - before.page_reads;
        ESK_CONTEXT("pieces of %u: %u page reads", piece, reads);
        ESK_CHECK(reads <= (sizeof large + 6) / 496 + 1);
    }
    fixture_end(&fixture);
}

ESK_TEST(var_write_goes_on_over_bad_blocks_and_failing_programs) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    start(&fixture, &fixture_nor);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(
        fixture.device->ops->block_mark_bad(fixture.device, info.block[2]),
        ESK_OK);
    struct esk_sim_failures failures = {.program = {.every = 80}};
    esk_sim_failures_set(fixture.sim, &failures);
    for (uint32_t key = 1; key <= 42; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    }
    for (int reboots = 0; reboots < 2; reboots++) {
        for (uint32_t key = 1; key <= 42; key++) {
            ESK_CONTEXT("key %u, reboots %d", key, reboots);
            check_value(&fixture, key, 500);
        }
        esk_sim_failures_set(fixture.sim, NULL);
        fixture_reboot(&fixture);
    }
    fixture_end(&fixture);
}

ESK_TEST(var_append_accepts_nothing_when_the_medium_is_dead) {
    struct esk_fixture fixture;
    uint32_t count = 0;
    start(&fixture, &fixture_nand);
    ESK_CHECK_INT(append(&fixture, 2), ESK_OK);
    struct esk_sim_failures failures = {.program = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    ESK_CHECK(append(&fixture, 13) < 0);
    ESK_CHECK(esk_series_sync(fixture.series) < 0);
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
    ESK_CHECK_INT(count, 1);
    check_value(&fixture, 2, 9);
    fixture_end(&fixture);
}

/// A refusing table whose values fill up first accepts rows again when rows
/// with values are erased, also after a reboot.
ESK_TEST(var_ring_that_refuses_gets_room_by_erase_before) {
    for (int m = 0; m < 3; m++) {
        for (int reboot = 0; reboot < 2; reboot++) {
            struct esk_series_spec refusing = spec;
            struct esk_fixture fixture;
            uint32_t key = 1;
            ESK_CONTEXT("medium %d, reboot %d", m, reboot);
            refusing.full_policy = ESK_FULL_REFUSE;
            refusing.var_blocks = 4;
            fixture_start(&fixture, media[m], NULL);
            fixture_create(&fixture, &refusing);
            fixture_open(&fixture, "log", NULL);
            while (append(&fixture, key) == ESK_OK) {
                key++;
            }
            ESK_CHECK_INT(append(&fixture, key), ESK_FULL);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            for (uint32_t at = 1; at < key; at++) {
                check_value(&fixture, at, 500);
            }
            uint32_t middle = key - key / 4;
            ESK_CHECK_INT(esk_series_erase_before(fixture.series, middle),
                          ESK_OK);
            if (reboot == 1) {
                fixture_reboot(&fixture);
            }
            uint32_t end = key;
            while (append(&fixture, end) == ESK_OK) {
                end++;
            }
            ESK_CHECK(end > key);
            for (uint32_t at = middle; at < end; at++) {
                check_value(&fixture, at, 500);
            }
            ESK_CHECK_INT(esk_series_erase_before(fixture.series, end), ESK_OK);
            ESK_CHECK_INT(append(&fixture, end), ESK_OK);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(var_ring_that_refuses_finds_values_after_many_rows_without) {
    struct esk_series_spec refusing = spec;
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES] = {0};
    refusing.full_policy = ESK_FULL_REFUSE;
    refusing.var_blocks = 2;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &refusing);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t key = 1; key <= 600; key++) {
        esk_store_u32(row + KEY_OFFSET, key * 14);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    for (uint32_t erased = 5; erased < 10000; erased += 700) {
        ESK_CHECK_INT(esk_series_erase_before(fixture.series, erased), ESK_OK);
        read_fails = 3;
        (void)esk_series_erase_before(fixture.series, erased + 1);
        read_fails = 0;
    }
    uint32_t key = 10001;
    while (append(&fixture, key) == ESK_OK) {
        key++;
    }
    ESK_CHECK(key > 10003);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
