// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An arena declared as bytes may begin at any address; what was carved from
/// one that was not aligned trapped on a Cortex-M0+ or worked by luck.
#include "test/harness/bush_rig.h"
#include "test/harness/rig.h"

/// Opens with the arena at every offset but 0.
#define REFUSED_OFF_LINE(opened, memory, at)                                   \
    for (uint8_t *at = (memory) + 1; at < (memory) + sizeof(uint64_t); at++) { \
        ESK_CONTEXT("offset %u", (unsigned)(at - (memory)));                   \
        ESK_CHECK_INT((opened), ESK_E_INVALID);                                \
    }

ESK_TEST(series_refuses_an_arena_that_is_not_aligned) {
    static const struct esk_column column = {.name = "at",
                                             .type = ESK_TYPE_U32};
    const struct esk_table_spec spec = {
        .name = "log", .columns = &column, .column_count = 1};
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &spec);
    rig_open(&rig, "log", NULL);
    esk_series_close(rig.series);
    uint32_t bytes = rig.arena_bytes;
    uint8_t *memory = malloc(bytes + sizeof(uint64_t));
    REFUSED_OFF_LINE(
        esk_series_open(&rig.series, &rig.volume, "log", NULL, at, bytes),
        memory, at)
    free(memory);
    rig_end(&rig);
}

ESK_TEST(tree_and_its_reader_refuse_an_arena_that_is_not_aligned) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush bush;
        struct esk_bush_table table = bush_plain(store);
        struct esk_tree *tree = NULL;
        bush_start(&bush, &table);
        uint32_t bytes = bush.arena_bytes;
        uint8_t *memory = malloc(bytes + sizeof(uint64_t));
        REFUSED_OFF_LINE(
            esk_tree_reader_open(&tree, bush.tree, NULL, at, bytes), memory, at)
        esk_tree_close(bush.tree);
        REFUSED_OFF_LINE(
            esk_tree_open(&tree, &bush.volume, "bush", &bush.config, at, bytes),
            memory, at)
        free(memory);
        ESK_CHECK(tree == NULL);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
