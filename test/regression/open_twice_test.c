// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A table that was opened while it was open added its rings to the volume's
/// list twice: the list became a loop, and two handles appended to one ring. In
/// the arena of an open table the second open overwrote the first: now an arena
/// belongs to a volume, which refuses one with an open table in it.
#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/model_tree.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
};

static const struct esk_series_spec specs[] = {
    {.table =
         {.name = "log", .columns = columns, .column_count = 2, .row_bytes = 6},
     .data_blocks = 8},
    {.table = {.name = "other",
               .columns = columns,
               .column_count = 2,
               .row_bytes = 6},
     .data_blocks = 8},
};

enum { ROW_BYTES = 6, ROWS = 300 };

static void append(struct esk_fixture *fixture, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const uint8_t row[ROW_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
}

ESK_TEST(series_refuses_to_be_opened_twice) {
    struct esk_fixture fixture;
    struct esk_series *again = NULL;
    uint16_t done = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &specs[0]);
    fixture_create(&fixture, &specs[1]);
    fixture_open(&fixture, "log", NULL);
    append(&fixture, 1, ROWS);
    uint8_t *arena = malloc(fixture.arena_bytes);
    ESK_CHECK_INT(test_series_open(&again, &fixture.volume, "log", NULL, arena,
                                   fixture.arena_bytes),
                  ESK_E_BUSY);
    ESK_CHECK_INT(test_series_open(&again, &fixture.volume, "other", NULL,
                                   fixture.arena, fixture.arena_bytes),
                  ESK_E_BUSY);
    ESK_CHECK(again == NULL);
    /* The first handle still works. */
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 100, &done), ESK_OK);
    append(&fixture, ROWS, 2 * ROWS);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
    ESK_CHECK_INT(count, 2 * ROWS - 1);
    /* Closed, both are free. */
    esk_series_close(fixture.series);
    ESK_CHECK_INT(test_series_open(&again, &fixture.volume, "other", NULL,
                                   fixture.arena, fixture.arena_bytes),
                  ESK_OK);
    ESK_CHECK_INT(test_series_open(&fixture.series, &fixture.volume, "log",
                                   NULL, arena, fixture.arena_bytes),
                  ESK_OK);
    free(arena);
    fixture_end(&fixture);
}

ESK_TEST(tree_refuses_to_be_opened_twice) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree_table table = {
            .store = store, .key_type = ESK_TYPE_U32, .key_range = 300};
        struct esk_geometry medium =
            store <= ESK_STORE_JOURNALED ? fixture_sd : fixture_nand;
        struct esk_model_tree model;
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &medium, 1), ESK_OK);
        struct esk_tree *first = model.tree;
        void *arena = model.arena;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_E_BUSY);
        model.arena = NULL;
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_E_BUSY);
        free(model.arena);
        model.arena = arena;
        ESK_CHECK(model.tree == NULL);
        model.tree = first;
        uint16_t done = 0;
        ESK_CHECK_INT(esk_volume_step(&model.volume, 100, &done), ESK_OK);
        esk_tree_close(first);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
