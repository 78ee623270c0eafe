// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Page reads of a get when the key index is only in RAM.
#include "table/series/series.h"

#include "test/harness/arena.h"
#include "test/harness/level_log.h"

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = level_columns,
                                                      .column_count = 2,
                                                      .row_bytes = 6},
                                            .data_blocks = 52,
                                            .index_blocks = 3};

enum { ROWS = 15000, GETS = 1500 };

/// How keys rise: along a curve that no straight line fits, evenly, or with
/// pauses.
enum shape { CURVE, LINE, PAUSES, SHAPES };

static uint32_t key_of(enum shape shape, uint32_t number) {
    return shape == CURVE  ? number * number
           : shape == LINE ? 10 * number + number % 7
                           : 10 * number + number / 900 * 40000;
}

static void append(struct esk_fixture *fixture, enum shape shape, uint32_t from,
                   uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        uint8_t row[LEVEL_ROW_BYTES] = {0};
        esk_store_u32(row, key_of(shape, i));
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

/// Mean reads of a get, over rows from all of the table.
static double reads_a_get(struct esk_fixture *fixture, enum shape shape) {
    uint32_t before = fixture->series->stats.reads;
    for (uint32_t i = 0; i < GETS; i++) {
        uint8_t row[LEVEL_ROW_BYTES];
        uint32_t key = key_of(shape, i * 7919 % ROWS);
        ESK_CHECK_INT(esk_series_get(fixture->series, key, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row), key);
    }
    return (double)(fixture->series->stats.reads - before) / (double)GETS;
}

static void open_with(struct esk_fixture *fixture,
                      const struct esk_series_parts *parts,
                      uint16_t key_index_bytes) {
    struct esk_series_config config = {.key_index_bytes = key_index_bytes};
    static uint64_t arena[1024];
    fixture_mount(fixture);
    ESK_CHECK_INT(test_series_open_with(&fixture->series, parts,
                                        &fixture->volume, "log", &config, arena,
                                        sizeof arena),
                  ESK_OK);
}

/// The rows take 375 pages: a binary search reads ten.
ESK_TEST(keys_in_ram_alone_make_a_get_a_few_reads) {
    const struct esk_series_parts keys = {.keys = &esk_series_part_keys};
    const struct esk_series_parts none = {.keys = NULL};
    const struct {
        uint16_t bytes;
        double grown; ///< most reads, all pages added one by one
        double mount; ///< after an open
    } limits[] = {{48, 8.0, 8.0}, {256, 1.15, 1.55}, {2048, 1.15, 1.55}};
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            struct esk_fixture fixture;
            ESK_CONTEXT("shape %d, %u bytes", shape, limits[i].bytes);
            fixture_start(&fixture, &fixture_nor, NULL);
            fixture_create(&fixture, &spec);
            open_with(&fixture, &keys, limits[i].bytes);
            append(&fixture, shape, 0, ROWS);
            double grown = reads_a_get(&fixture, shape);
            open_with(&fixture, &keys, limits[i].bytes);
            double mount = reads_a_get(&fixture, shape);
            open_with(&fixture, &none, limits[i].bytes);
            double search = reads_a_get(&fixture, shape);
            if (getenv("ESK_TEST_VERBOSE") != NULL) {
                printf("shape %d, %4u B: %.2f grown, %.2f sampled, %.2f none\n",
                       shape, limits[i].bytes, grown, mount, search);
            }
            ESK_CHECK(grown <= limits[i].grown);
            ESK_CHECK(mount <= limits[i].mount);
            ESK_CHECK(search > 9);
            fixture_end(&fixture);
        }
    }
}

/// Samples of 375 pages: room for half of them, a sixth, and all.
ESK_TEST(samples_make_a_get_of_even_keys_a_read_or_two) {
    const struct esk_series_parts keys = {.keys = &esk_series_part_samples};
    const struct {
        uint16_t bytes;
        double reads[SHAPES]; ///< at most
    } limits[] = {
        {48, {6.6, 1.1, 5.6}}, {256, {1.5, 1.1, 4.0}}, {2048, {1.1, 1.1, 1.1}}};
    for (enum shape shape = 0; shape < SHAPES; shape++) {
        for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
            struct esk_fixture fixture;
            ESK_CONTEXT("shape %d, %u bytes", shape, limits[i].bytes);
            fixture_start(&fixture, &fixture_nor, NULL);
            fixture_create(&fixture, &spec);
            open_with(&fixture, &keys, limits[i].bytes);
            append(&fixture, shape, 0, ROWS);
            double grown = reads_a_get(&fixture, shape);
            open_with(&fixture, &keys, limits[i].bytes);
            double mount = reads_a_get(&fixture, shape);
            if (getenv("ESK_TEST_VERBOSE") != NULL) {
                printf("shape %d, %4u B: %.2f grown, %.2f sampled\n", shape,
                       limits[i].bytes, grown, mount);
            }
            ESK_CHECK(grown <= limits[i].reads[shape]);
            ESK_CHECK(mount <= limits[i].reads[shape]);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(samples_find_keys_that_are_far_apart) {
    const struct esk_series_parts keys = {.keys = &esk_series_part_samples};
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    open_with(&fixture, &keys, 256);
    for (uint32_t i = 0; i < 100; i++) {
        uint8_t row[LEVEL_ROW_BYTES] = {0};
        esk_store_u32(row, i * 42000000u);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    uint32_t before = fixture.series->stats.reads;
    for (uint32_t i = 0; i < 100; i++) {
        uint8_t row[LEVEL_ROW_BYTES];
        ESK_CHECK_INT(esk_series_get(fixture.series, i * 42000000u, row),
                      ESK_OK);
    }
    ESK_CHECK(fixture.series->stats.reads - before < 10);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
