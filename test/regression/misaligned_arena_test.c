// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An arena declared as bytes may begin at any address; structs carved from a
/// misaligned one trapped on a Cortex-M0+, or worked by luck.
#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/tree_fixture.h"

/// Opens with the arena at every offset but 0.
#define REFUSED_OFF_LINE(opened, memory, at)                                   \
    for (uint8_t *at = (memory) + 1; at < (memory) + sizeof(uint64_t); at++) { \
        ESK_CONTEXT("offset %u", (unsigned)(at - (memory)));                   \
        ESK_CHECK_INT((opened), ESK_E_INVALID);                                \
    }

ESK_TEST(series_refuses_an_arena_that_is_not_aligned) {
    static const struct esk_column column = {.name = "at",
                                             .type = ESK_TYPE_U32};
    const struct esk_series_spec spec = {.table = {.name = "log",
                                                   .columns = &column,
                                                   .column_count = 1,
                                                   .row_bytes = 4}};
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    esk_series_close(fixture.series);
    uint32_t bytes = fixture.arena_bytes;
    uint8_t *memory = malloc(bytes + sizeof(uint64_t));
    REFUSED_OFF_LINE(test_series_open(&fixture.series, &fixture.volume, "log",
                                      NULL, at, bytes),
                     memory, at)
    free(memory);
    fixture_end(&fixture);
}

ESK_TEST(tree_and_its_reader_refuse_an_arena_that_is_not_aligned) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_tree *tree = NULL;
        model_tree_start(&model, &table);
        uint32_t bytes = model.arena_bytes;
        uint8_t *memory = malloc(bytes + sizeof(uint64_t));
        REFUSED_OFF_LINE(test_tree_reader_open(&model.volume, &tree, model.tree,
                                               NULL, at, bytes),
                         memory, at)
        esk_tree_close(model.tree);
        REFUSED_OFF_LINE(test_tree_open(&tree, &model.volume, "model",
                                        &model.config, at, bytes),
                         memory, at)
        free(memory);
        ESK_CHECK(tree == NULL);
        ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
