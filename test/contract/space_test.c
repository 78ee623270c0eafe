// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room and wear that open tables return, compared with the simulator's counts
/// and with what happens next.
#include "base/bytes.h"
#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/tree_fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "value", .type = ESK_TYPE_U32},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_index_spec value_index[] = {
    {.column = 1, .bitmap_bits = ESK_BITMAP_NONE}};

static const struct esk_series_spec log_spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 3,
              .row_bytes = 8 + ESK_VAR_REF_BYTES},
    .indexes = value_index,
    .index_count = 1,
    .data_blocks = 6,
    .index_blocks = 3,
    .var_blocks = 7,
};

/// A sync is a seal, a page of a journal, and a page.
static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256), ESK_NAND(64, 4, 512), ESK_CARD(64, 8, 512)};

static int append(struct esk_fixture *fixture, uint32_t number) {
    uint8_t row[8 + ESK_VAR_REF_BYTES] = {0};
    uint8_t note[40] = {0};
    esk_store_u32(row, number);
    esk_store_u32(row + 4, number % 97);
    return esk_series_append_var(fixture->series, row, note, number % 41);
}

/// First block of the region of role `role`.
static uint32_t region_start(struct esk_fixture *fixture, uint8_t role) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, "log", &info), ESK_OK);
    return info.block[role];
}

static void wear_check(struct esk_fixture *fixture) {
    uint32_t a_block = fixture->device->geometry.block_pages;
    for (uint8_t role = 0; role < ESK_REGION_COUNT; role++) {
        struct esk_space space;
        struct esk_sim_wear wear;
        ESK_CONTEXT("region %u", role);
        esk_series_space(fixture->series, role, &space);
        esk_sim_wear(fixture->sim, region_start(fixture, role),
                     space.pages / a_block, &wear);
        ESK_CHECK_INT(space.erases, wear.total);
        ESK_CHECK_INT(space.erases_max, wear.max);
        ESK_CHECK(space.pages_used + space.pages_free <= space.pages + a_block);
    }
}

ESK_TEST(space_has_the_wear_of_the_medium) {
    for (size_t i = 0; i < sizeof media / sizeof media[0]; i++) {
        struct esk_fixture fixture;
        struct esk_space space;
        ESK_CONTEXT("medium %zu", i);
        fixture_start(&fixture, &media[i], NULL);
        fixture_create(&fixture, &log_spec);
        fixture_open(&fixture, "log", NULL);
        wear_check(&fixture);
        for (uint32_t number = 0; number < 8000; number++) {
            ESK_CHECK_INT(append(&fixture, number), ESK_OK);
            if (number % 50 == 0) {
                ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
                wear_check(&fixture);
            }
            if (number % 1777 == 0) {
                ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
                fixture_reboot(&fixture);
                wear_check(&fixture);
            }
        }
        esk_series_space(fixture.series, ESK_REGION_DATA, &space);
        ESK_CHECK(space.erases_max > 5);
        esk_series_space(fixture.series, ESK_REGION_COUNT, &space);
        ESK_CHECK_INT(space.pages + space.erases, 0);
        fixture_end(&fixture);
    }
}

/// The oldest row is dropped when no page is free, and not before.
ESK_TEST(space_shows_when_the_oldest_block_is_dropped) {
    struct esk_series_spec spec = log_spec;
    struct esk_fixture fixture;
    struct esk_space space;
    uint8_t row[8 + ESK_VAR_REF_BYTES];
    uint32_t oldest = 0;
    uint32_t drops = 0;
    spec.var_blocks = 30;
    fixture_start(&fixture, &media[0], NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t number = 0; number < 4000; number++) {
        esk_series_space(fixture.series, ESK_REGION_DATA, &space);
        ESK_CHECK_INT(append(&fixture, number), ESK_OK);
        ESK_CHECK_INT(esk_series_oldest(fixture.series, row), ESK_OK);
        if (esk_load_u32(row) != oldest) {
            ESK_CHECK_INT(space.pages_free, 0);
            oldest = esk_load_u32(row);
            drops++;
        }
    }
    ESK_CHECK(drops > 10);
    fixture_end(&fixture);
}

ESK_TEST(space_shows_when_a_table_is_full) {
    struct esk_series_spec spec = log_spec;
    struct esk_fixture fixture;
    struct esk_space space;
    uint32_t number = 0;
    spec.var_blocks = 30;
    spec.full_policy = ESK_FULL_REFUSE;
    fixture_start(&fixture, &media[0], NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    esk_series_space(fixture.series, ESK_REGION_DATA, &space);
    ESK_CHECK_INT(space.pages_used, 0);
    ESK_CHECK_INT(space.pages_free, space.pages);
    ESK_CHECK_INT(space.pages, 6 * 8);
    while (append(&fixture, number) == ESK_OK) {
        esk_series_space(fixture.series, ESK_REGION_DATA, &space);
        ESK_CHECK_INT(space.pages_used + space.pages_free, space.pages);
        number++;
    }
    ESK_CHECK_INT(append(&fixture, number), ESK_FULL);
    ESK_CHECK(space.pages_free <= 1); /* there is room for the rows in RAM */
    fixture_end(&fixture);
}

ESK_TEST(space_of_a_program_without_an_index_log_has_none) {
    const struct esk_series_parts parts = {.keys = &esk_series_part_keys};
    struct esk_series_spec spec = log_spec;
    struct esk_fixture fixture;
    struct esk_space space;
    table_columns(&spec.table, 2);
    spec.index_count = 0;
    spec.var_blocks = 0;
    fixture_start(&fixture, &media[0], NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(test_series_open_with(&fixture.series, &parts,
                                        &fixture.volume, "log", NULL,
                                        fixture.arena, fixture.arena_bytes),
                  ESK_OK);
    esk_series_space(fixture.series, ESK_REGION_INDEX, &space);
    ESK_CHECK_INT(space.pages, 0);
    esk_series_space(fixture.series, ESK_REGION_DATA, &space);
    ESK_CHECK_INT(space.pages, 6 * 8);
    fixture_end(&fixture);
}

ESK_TEST(space_of_a_tree_has_its_nodes_and_its_wear) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_space space;
        struct esk_tree_stats stats;
        struct esk_table_info info;
        struct esk_sim_wear wear;
        ESK_CONTEXT("store %u", store);
        table.blocks = store == ESK_STORE_TNC ? 90 : 24;
        table.key_range = 4000;
        model_tree_start(&model, &table);
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        model_tree_puts(&model, 500);
        for (uint32_t i = 0; store == ESK_STORE_TNC && i < 1200; i++) {
            ESK_CHECK_INT(
                esk_model_tree_put(&model, model_tree_key_there(&model)),
                ESK_OK);
            ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
        }
        esk_tree_space(model.tree, &space);
        esk_tree_stats(model.tree, &stats);
        esk_sim_wear(model.sim, info.block[0], info.blocks[0], &wear);
        ESK_CHECK_INT(space.pages, table.blocks * 8);
        ESK_CHECK_INT(space.pages_used, stats.nodes);
        ESK_CHECK_INT(space.pages_used + space.pages_free, stats.nodes_max);
        ESK_CHECK_INT(space.erases, wear.total);
        ESK_CHECK_INT(space.erases_max, wear.max);
        ESK_CHECK(esk_model_tree_overwrites(store) || space.erases > 24);
        model_tree_fill(&model);
        esk_tree_space(model.tree, &space);
        ESK_CHECK(space.pages_free <= 2);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
