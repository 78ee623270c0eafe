// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Conditions of assertions, tested between calls in every build: an idle table
/// has nothing pinned but the pages that it fills, and its rings are sound.
#include "table/series/series.h"
#include "table/tree/tree.h"
#include "test/harness/fixture.h"
#include "test/harness/tree_fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "heat", .type = ESK_TYPE_I16},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 8},
};

ESK_TEST(series_between_calls_is_idle_and_its_rings_are_sound) {
    static const struct esk_geometry nor = ESK_NOR(80, 4, 256);
    for (uint8_t count = 2; count <= 3; count++) {
        struct esk_fixture fixture;
        struct esk_series_spec spec = {
            .table = {.name = "idle",
                      .columns = columns,
                      .column_count = count,
                      .row_bytes = esk_row_bytes(columns, count)},
            .indexes = indexes,
            .index_count = count == 3 ? 1 : 0,
            .data_blocks = 12,
            .index_blocks = 4,
            .var_blocks = 8};
        fixture_start(&fixture, &nor, NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "idle", NULL);
        for (uint32_t i = 0; i < 900; i++) {
            uint8_t row[16] = {0};
            esk_store_u32(row, i);
            ESK_CHECK_INT(count == 3 ? esk_series_append_var(fixture.series,
                                                             row, "note", 4)
                                     : esk_series_append(fixture.series, row),
                          ESK_OK);
            ESK_CHECK(esk_series_is_idle(fixture.series));
            ESK_CHECK(esk_ring_is_sound(&fixture.series->data));
            ESK_CHECK(esk_ring_is_sound(&fixture.series->log.ring));
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(tree_between_calls_has_nothing_pinned) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_model_tree model;
        model_tree_start(&model, &table);
        for (uint32_t i = 0; i < 200; i++) {
            model_tree_puts(&model, 1);
            ESK_CHECK(esk_tree_pins_only(model.tree, NULL, NULL));
            ESK_CHECK(esk_model_tree_overwrites(store) ||
                      esk_ring_is_sound(&model.tree->ring));
        }
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
