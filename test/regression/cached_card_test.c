// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees on a card that caches writes lost rows that a sync had acknowledged. A
/// split's left node was on the card, but not its right node, or not the new
/// root; and a page that a mount wrote from the journal could be lost when the
/// journal was written again.
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum { SEEDS = 40, ROUNDS = 40, PUTS_MAX = 30 };

static uint32_t synced[ESK_MODEL_TREE_KEYS_MAX];

/// Puts rows, some of them synced, until the power is cut.
static void work(struct esk_model_tree *model) {
    int status = ESK_OK;
    esk_sim_cut_at(model->sim,
                   esk_sim_op_count(model->sim) +
                       esk_model_tree_random(model, 40),
                   ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        for (uint32_t i = 0; i < PUTS_MAX && status == ESK_OK; i++) {
            status = esk_model_tree_put(
                model, esk_model_tree_random(model, model->range));
        }
        if (status == ESK_OK && esk_tree_sync(model->tree) == ESK_OK) {
            memcpy(synced, model->expected.version, sizeof synced);
        }
    }
    ESK_CHECK_INT(status, ESK_E_IO);
}

static void recover(struct esk_model_tree *model) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    esk_sim_power_on(model->sim);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    ESK_CHECK_HELD(esk_model_tree_read_all(model, versions), model->why);
    for (uint32_t number = 0; number < model->range; number++) {
        ESK_CHECK(versions[number] >= synced[number]);
    }
    esk_model_tree_model_set(model, versions);
    memcpy(synced, versions, model->range * sizeof *versions);
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

ESK_TEST(tree_on_a_card_that_caches_keeps_every_synced_row) {
    for (uint32_t seed = 0; seed < 2 * SEEDS; seed++) {
        bool journaled = seed % 2 == 1;
        struct esk_model_tree model;
        struct esk_model_tree_table table = {
            .store = journaled ? ESK_STORE_JOURNALED : ESK_STORE_INPLACE,
            .key_type = ESK_TYPE_U32,
            .pad_bytes = 40,
            .key_range = 400};
        struct esk_sim_config card = {.geometry = ESK_CARD(80, 8, 128),
                                      .seed = seed,
                                      .erase_keeps = true,
                                      .whole_writes = !journaled,
                                      .cache_programs = 24};
        ESK_CONTEXT("seed %u", (unsigned)seed);
        ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &card, seed),
                      ESK_OK);
        memset(synced, 0, sizeof synced);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            work(&model);
            recover(&model);
        }
        ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
