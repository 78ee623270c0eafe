// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A full copy-on-write tree, and power cuts again and again while its
/// collector works, each after a mount. However many, and wherever in the
/// sweeps: changes and deletes of existing rows succeed.
#include "base/bytes.h"
#include "table/tree/tree.h"
#include "test/harness/tree_fixture.h"

enum { CHANGES = 40, DELETES = 8, TRIES = 6 };

static const struct {
    struct esk_geometry geometry;
    uint16_t blocks;
    uint16_t pad_bytes;
    uint8_t key_bytes;
} regions[] = {
    {ESK_NAND(160, 1, 256), 80, 35, 4},   {ESK_NAND(60, 4, 256), 24, 35, 4},
    {ESK_NAND(60, 4, 512), 40, 20, 20},   {ESK_NAND(60, 12, 256), 12, 35, 4},
    {ESK_NAND(60, 12, 1024), 20, 90, 4},  {ESK_NAND(60, 16, 512), 16, 35, 4},
    {ESK_NAND(60, 16, 2048), 26, 200, 4}, {ESK_NAND(60, 64, 512), 8, 60, 9},
    {ESK_NAND(60, 64, 2048), 12, 200, 4}, {ESK_CARD(60, 8, 512), 24, 35, 4},
    {ESK_NOR(60, 16, 256), 12, 35, 20},
};

/// Where in a change the power is cut.
enum where {
    ANYWHERE,
    BEFORE_EFFECT, ///< in the first step of the sweep
    AFTER_EFFECT,  ///< soon after the first step took effect
    LOSING_MOST,   ///< of some places, the one that costs most pages
    WHERES
};

static struct esk_model_tree model;

/// Pages after the committed root that cannot be erased.
static uint32_t pages_lost(void) {
    const struct esk_tree *tree = model.tree;
    uint32_t block = esk_ring_block_from(&tree->ring, tree->committed + 1u);
    uint32_t end = tree->ring.head < block ? tree->ring.head : block;
    return end - tree->committed - 1u;
}

/// Changes row `number`, for good.
static int change(uint32_t number) {
    ESK_TRY(esk_model_tree_put(&model, number));
    return esk_tree_sync(model.tree);
}

/// Changes row `number`; cuts the power after so many operations. Mounts.
static void cut_make(uint32_t number, uint32_t operations) {
    uint8_t key[32];
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t old = model.expected.version[number];
    esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + operations,
                   ESK_SIM_CUT_DRAWN);
    ESK_CHECK_INT(change(number), ESK_E_IO);
    esk_sim_power_on(model.sim);
    ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
    esk_model_tree_key(&model, number, key);
    ESK_CHECK_INT(esk_tree_get(model.tree, key, row), ESK_OK);
    model.expected.version[number] = esk_load_u32(row);
    ESK_CHECK(esk_load_u32(row) == old || esk_load_u32(row) == model.version);
}

/// Restores the medium, the model and the open tree.
static void state_restore(const struct esk_sim *sim,
                          const struct esk_model_tree *expected) {
    /* What waits in RAM must not reach the restored medium. */
    ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
    esk_sim_restore(model.sim, sim);
    model.expected = expected->expected;
    model.version = expected->version;
    ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
}

/// The operation of a change of `operations` at which the power is cut.
static uint32_t operation_find(enum where where, uint32_t number,
                               uint32_t operations, const struct esk_sim *sim,
                               const struct esk_model_tree *expected) {
    uint32_t near = operations < 120 ? operations : 120;
    uint32_t found = 0;
    uint32_t most = 0;
    switch (where) {
    case BEFORE_EFFECT:
        return esk_model_tree_random(&model, operations < 30 ? operations : 30);
    case AFTER_EFFECT:
        return operations < 50 ? operations - 1u
                               : 36 + esk_model_tree_random(&model, 14);
    case LOSING_MOST:
        for (uint32_t i = 0; i < TRIES; i++) {
            uint32_t operation = esk_model_tree_random(&model, near);
            cut_make(number, operation);
            uint32_t lost = pages_lost();
            if (lost >= most) {
                most = lost;
                found = operation;
            }
            state_restore(sim, expected);
        }
        return found;
    default:
        return esk_model_tree_random(&model, operations);
    }
}

/// Changes and deletes rows, then restores everything.
static void use(uint32_t cut, const struct esk_sim *sim,
                const struct esk_model_tree *expected) {
    model_tree_changes(&model, CHANGES);
    for (uint32_t i = 0; i < DELETES; i++) {
        ESK_CHECK_INT(
            esk_model_tree_delete(&model, model_tree_key_there(&model)),
            ESK_OK);
    }
    model_tree_changes(&model, CHANGES);
    if (cut % 10 == 0) {
        model_tree_verify_again(&model);
    }
    ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
    state_restore(sim, expected);
}

static void cuts_run(enum where where) {
    uint32_t cuts = esk_test_rounds(8, 30);
    static struct esk_model_tree expected;
    for (uint32_t cut = 1; cut <= cuts; cut++) {
        struct esk_sim *sim = NULL;
        uint32_t number = model_tree_key_there(&model);
        expected = model;
        ESK_CHECK_INT(esk_sim_clone(&sim, model.sim), ESK_OK);
        /* Torn pages read differently each time, so measure a mount whose reads
           are like those of the mount before the cut. */
        state_restore(sim, &expected);
        uint64_t before = esk_sim_op_count(model.sim);
        ESK_CHECK_INT(change(number), ESK_OK);
        uint32_t operations = (uint32_t)(esk_sim_op_count(model.sim) - before);
        state_restore(sim, &expected);
        cut_make(number,
                 operation_find(where, number, operations, sim, &expected));
        expected = model;
        esk_sim_destroy(sim);
        ESK_CHECK_INT(esk_sim_clone(&sim, model.sim), ESK_OK);
        use(cut, sim, &expected);
        esk_sim_destroy(sim);
    }
}

/// A tree that refused a row, some changes later.
static void tree_make(uint8_t store, size_t region) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_BYTES,
                                         .key_bytes = regions[region].key_bytes,
                                         .pad_bytes = regions[region].pad_bytes,
                                         .key_range = 4000,
                                         .blocks = regions[region].blocks};
    if (store == ESK_STORE_MU || store == ESK_STORE_TNC) {
        table.key_bytes = 4;
    }
    if (store == ESK_STORE_TNC) { /* the smallest region is larger */
        table.blocks += 40u / regions[region].geometry.block_pages;
    }
    ESK_CHECK_INT(
        esk_model_tree_make(&model, &table, &regions[region].geometry, 1),
        ESK_OK);
    model_tree_fill(&model);
    model_tree_changes(&model, 300);
    ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
}

static void store_run(uint8_t store) {
    static struct esk_model_tree full;
    for (size_t i = 0; i < sizeof regions / sizeof regions[0]; i++) {
        struct esk_sim *sim = NULL;
        tree_make(store, i);
        full = model;
        ESK_CHECK_INT(esk_sim_clone(&sim, model.sim), ESK_OK);
        for (uint8_t where = 0; where < WHERES; where++) {
            ESK_CONTEXT("store %u, %u blocks of %u pages of %u, cuts %u", store,
                        regions[i].blocks, regions[i].geometry.block_pages,
                        regions[i].geometry.page_bytes, where);
            state_restore(sim, &full);
            cuts_run((enum where)where);
        }
        esk_sim_destroy(sim);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(full_wandering_tree_goes_on_after_any_cuts_in_a_row) {
    store_run(ESK_STORE_WANDERING);
}

ESK_TEST(full_mu_tree_goes_on_after_any_cuts_in_a_row) {
    store_run(ESK_STORE_MU);
}

ESK_TEST(full_tnc_tree_goes_on_after_any_cuts_in_a_row) {
    store_run(ESK_STORE_TNC);
}

ESK_TEST_MAIN()
