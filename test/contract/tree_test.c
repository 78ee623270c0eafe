// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tree table compared with a sorted array: every store, every key type,
/// random calls, mounts in between.
#include <stdio.h>

#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

static const struct esk_geometry nand = ESK_NAND(80, 16, 512);

static const struct esk_geometry sd = ESK_CARD(100, 8, 512);

static const uint8_t stores[] = {ESK_STORE_INPLACE, ESK_STORE_JOURNALED,
                                 ESK_STORE_WANDERING, ESK_STORE_MU,
                                 ESK_STORE_TNC};

/// Random calls, checked one by one; a full check now and then.
static void random_run(const struct esk_model_tree_table *table,
                       const struct esk_geometry *geometry, uint32_t calls,
                       uint32_t seed) {
    struct esk_model_tree model;
    ESK_CONTEXT("store %u, k %u, key type %u of %u bytes, row pad %u, frames "
                "%u, policy %u, write frames %u, seed %u",
                table->store, table->k_percent, table->key_type,
                table->key_bytes, table->pad_bytes, table->frames,
                table->policy, table->write_frames, seed);
    int status = esk_model_tree_make(&model, table, geometry, seed);
    ESK_CHECK_INT(status, ESK_OK);
    for (uint32_t i = 0; i < calls; i++) {
        bool held = esk_model_tree_call(&model);
        if (held && i % 500 == 499) {
            held = esk_model_tree_verify(&model);
        }
        ESK_CHECK_HELD(held, model.why);
    }
    ESK_CHECK_HELD(esk_model_tree_verify(&model) &&
                       esk_model_tree_remount(&model) &&
                       esk_model_tree_verify(&model),
                   model.why);
    ESK_CHECK_INT(esk_sim_violations(model.sim), 0);
    esk_model_tree_free(&model);
}

static const struct esk_geometry *medium_for(uint8_t store) {
    return esk_model_tree_overwrites(store) ? &sd : &nand;
}

ESK_TEST(tree_is_a_sorted_array_with_every_store_and_key) {
    for (size_t s = 0; s < sizeof stores; s++) {
        for (size_t k = 0; k < ESK_MODEL_TREE_KEY_TYPES; k++) {
            struct esk_model_tree_table table = {
                .store = stores[s],
                .key_type = esk_model_tree_key_types[k].type,
                .key_bytes = esk_model_tree_key_types[k].bytes,
                .pad_bytes = 12};
            random_run(&table, medium_for(stores[s]), 3000, 7);
        }
    }
}

ESK_TEST(tree_works_with_rows_of_which_two_fit_a_leaf) {
    for (size_t s = 0; s < sizeof stores; s++) {
        for (uint16_t pad = 36; pad <= 226; pad = (uint16_t)(pad + 38)) {
            struct esk_model_tree_table table = {.store = stores[s],
                                                 .key_type = ESK_TYPE_U32,
                                                 .pad_bytes = pad,
                                                 .key_range = 150};
            if ((stores[s] != ESK_STORE_MU || pad < 110) &&
                (stores[s] != ESK_STORE_TNC || pad < 100)) {
                random_run(&table, medium_for(stores[s]), 2000, 3);
            }
        }
    }
}

ESK_TEST(mu_tree_works_with_any_k_frames_and_policy) {
    for (uint8_t k = 20; k <= 80; k = (uint8_t)(k + 10)) {
        for (uint8_t frames = 2; frames <= 6; frames++) {
            for (uint8_t policy = 0; policy < 2; policy++) {
                struct esk_model_tree_table table = {.store = ESK_STORE_MU,
                                                     .key_type = ESK_TYPE_U32,
                                                     .pad_bytes = 4,
                                                     .k_percent = k,
                                                     .frames = frames,
                                                     .policy = policy};
                random_run(&table, &nand, 3000, k + frames);
            }
        }
    }
}

ESK_TEST(moving_trees_work_with_write_caches_of_any_size) {
    for (uint8_t frames = 2; frames <= 10; frames++) {
        for (uint8_t most = 1; most < frames; most++) {
            struct esk_model_tree_table table = {.store = ESK_STORE_WANDERING,
                                                 .key_type = ESK_TYPE_U32,
                                                 .pad_bytes = 60,
                                                 .frames = frames,
                                                 .write_frames = most,
                                                 .merges = most % 2 == 0};
            random_run(&table, &nand, 2000, frames * 16u + most);
            table.store = ESK_STORE_MU;
            table.pad_bytes = 4;
            table.k_percent = (uint8_t)(20 + most * 6u);
            table.policy = frames % 2u;
            random_run(&table, &nand, 2000, frames * 16u + most);
        }
    }
}

ESK_TEST(tnc_tree_works_with_nodes_and_frames_of_any_number) {
    static const uint8_t percents[] = {12, 25, 33, 50};
    static const uint8_t frames[] = {11, 13, 19, 40, 255};
    for (size_t p = 0; p < sizeof percents; p++) {
        for (size_t f = 0; f < sizeof frames; f++) {
            struct esk_model_tree_table table = {
                .store = ESK_STORE_TNC,
                .key_type = ESK_TYPE_U32,
                .pad_bytes = 8,
                .k_percent = percents[p],
                .frames = frames[f],
                .write_frames = (uint8_t)(f % 2 == 0 ? 0 : frames[f] - 2),
                .merges = p % 2 == 0};
            random_run(&table, &nand, 3000, (uint32_t)(p * 16u + f));
            table.blocks = 12; /* many laps of the ring */
            table.key_range = 60;
            table.merges = true;
            random_run(&table, &nand, 3000, (uint32_t)(p * 16u + f));
        }
    }
}

ESK_TEST_MAIN()
