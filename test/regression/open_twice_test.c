// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A table that was opened while it was open put its rings into the volume's
/// list twice: the list went round for ever, and two handles appended to one
/// ring. In the arena of an open table the second open wrote over the first.
#include "test/harness/bush.h"
#include "test/harness/rig.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
};

static const struct esk_table_spec specs[] = {
    {.name = "log", .columns = columns, .column_count = 2, .data_blocks = 8},
    {.name = "other", .columns = columns, .column_count = 2, .data_blocks = 8},
};

enum { ROW_BYTES = 6, ROWS = 300 };

static void append(struct esk_rig *rig, uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; i++) {
        const uint8_t row[ROW_BYTES] = {(uint8_t)i, (uint8_t)(i >> 8)};
        ESK_CHECK_INT(esk_series_append(rig->series, row), ESK_OK);
    }
}

ESK_TEST(series_refuses_to_be_opened_twice) {
    struct esk_rig rig;
    struct esk_series *again = NULL;
    uint16_t done = 0;
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &specs[0]);
    rig_create(&rig, &specs[1]);
    rig_open(&rig, "log", NULL);
    append(&rig, 1, ROWS);
    uint8_t *arena = malloc(rig.arena_bytes);
    ESK_CHECK_INT(esk_series_open(&again, &rig.volume, "log", NULL, arena,
                                  rig.arena_bytes),
                  ESK_E_BUSY);
    ESK_CHECK_INT(esk_series_open(&again, &rig.volume, "other", NULL, rig.arena,
                                  rig.arena_bytes),
                  ESK_E_BUSY);
    ESK_CHECK(again == NULL);
    /* The first handle has come to no harm. */
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 100, &done), ESK_OK);
    append(&rig, ROWS, 2 * ROWS);
    ESK_CHECK_INT(esk_series_sync(rig.series), ESK_OK);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(rig.series, &count), ESK_OK);
    ESK_CHECK_INT(count, 2 * ROWS - 1);
    /* Closed, both are free. */
    esk_series_close(rig.series);
    ESK_CHECK_INT(esk_series_open(&again, &rig.volume, "other", NULL, rig.arena,
                                  rig.arena_bytes),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&rig.series, &rig.volume, "log", NULL, arena,
                                  rig.arena_bytes),
                  ESK_OK);
    free(arena);
    rig_end(&rig);
}

ESK_TEST(tree_refuses_to_be_opened_twice) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush_table table = {
            .store = store, .key_type = ESK_TYPE_U32, .key_range = 300};
        struct esk_geometry medium =
            store <= ESK_STORE_JOURNALED ? rig_sd : rig_nand;
        struct esk_bush bush;
        ESK_CONTEXT("store %u", store);
        ESK_CHECK_INT(esk_bush_make(&bush, &table, &medium, 1), ESK_OK);
        struct esk_tree *first = bush.tree;
        void *arena = bush.arena;
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_E_BUSY);
        bush.arena = NULL;
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_E_BUSY);
        free(bush.arena);
        bush.arena = arena;
        ESK_CHECK(bush.tree == first);
        uint16_t done = 0;
        ESK_CHECK_INT(esk_volume_step(&bush.volume, 100, &done), ESK_OK);
        esk_tree_close(first);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
