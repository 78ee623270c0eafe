// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees in place, opened read-only after a cut at any program of a split, a
/// batch or a merge: all rows are read, by key and in order, and nothing is
/// written. The interrupted change is complete, or not visible. Only if no
/// parent names a split's right node yet, the open returns ESK_E_READ_ONLY.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_geometry card = ESK_CARD(60, 8, 128);

enum change { SPLITS, BATCH, MERGES, CHANGES };

enum { CUTS_MAX = 400, ROWS = 60 };

static void start(struct esk_model_tree *model, uint8_t store,
                  enum change change) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 14,
                                         .key_range = 200,
                                         .merges = change == MERGES,
                                         .batch_pages =
                                             change == BATCH ? 40 : 0};
    struct esk_sim_config medium = {.geometry = card,
                                    .seed = 3,
                                    .whole_writes = store == ESK_STORE_INPLACE,
                                    .erase_keeps = true};
    ESK_CHECK_INT(esk_model_tree_make_on(model, &table, &medium, 5), ESK_OK);
    model_tree_puts(model, ROWS);
}

/// Makes changes until the power is cut, `number` the key of the last. Returns
/// false when all were made. In a batch the model has the rows before it.
static bool cut_comes(struct esk_model_tree *model, enum change change,
                      uint32_t *number) {
    if (change == BATCH) {
        model->before = model->expected;
        if (esk_tree_begin(model->tree, 0) != ESK_OK) {
            return true;
        }
    }
    for (uint32_t i = 0; i < 30; i++) {
        *number = change == MERGES ? model_tree_key_there(model)
                                   : esk_model_tree_random(model, model->range);
        int status = change == MERGES ? esk_model_tree_delete(model, *number)
                                      : esk_model_tree_put(model, *number);
        if (status != ESK_OK) {
            ESK_CHECK_INT(status, ESK_E_IO);
            return true;
        }
    }
    return change == BATCH && esk_tree_commit(model->tree) != ESK_OK;
}

/// Updates the model by the rows of the interrupted change.
static void change_resolve(struct esk_model_tree *model, enum change change,
                           uint32_t number) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    ESK_CHECK_HELD(esk_model_tree_read_all(model, versions), model->why);
    if (change != BATCH) {
        uint32_t was = model->expected.version[number];
        uint32_t is = change == MERGES ? 0 : model->version;
        ESK_CHECK(versions[number] == was || versions[number] == is);
        model->expected.rows += was == 0 && versions[number] != 0 ? 1 : 0;
        model->expected.rows -= was != 0 && versions[number] == 0 ? 1 : 0;
        model->expected.version[number] = versions[number];
    } else if (memcmp(versions, model->expected.version,
                      model->range * sizeof versions[0]) != 0) {
        model->expected = model->before;
    }
    model_tree_verify(model);
}

/// Reads everything of the volume after the cut, mounted read-only, then for
/// writing. Returns whether the first open required the second.
static bool read_only_verify(struct esk_model_tree *model, enum change change,
                             uint32_t number) {
    uint64_t ops = esk_sim_op_count(model->sim);
    ESK_CHECK_INT(esk_volume_mount(&model->volume, model->device,
                                   ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                  ESK_OK);
    int status =
        test_tree_open(&model->tree, &model->volume, "model", &model->config,
                       model->arena, model->arena_bytes);
    ESK_CHECK(status == ESK_OK || status == ESK_E_READ_ONLY);
    if (status == ESK_OK) {
        change_resolve(model, change, number);
        esk_tree_close(model->tree);
    }
    ESK_CHECK_INT(esk_sim_op_count(model->sim), ops);
    esk_volume_unmount(&model->volume);
    ESK_CHECK_INT(
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_model_tree_open(model), ESK_OK);
    if (status == ESK_OK) {
        model_tree_verify(model);
    } else {
        change_resolve(model, change, number);
    }
    return status != ESK_OK;
}

ESK_TEST(tree_cut_in_a_change_is_read_completely_without_writing) {
    for (uint32_t run = 0; run < 2 * CHANGES; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 2);
        enum change change = (enum change)(run / 2);
        uint32_t cut = 0;
        uint32_t asked = 0;
        for (bool came = true; came; cut++) {
            struct esk_model_tree model;
            uint32_t number = 0;
            ESK_CONTEXT("store %u, change %u, cut %u", store, change, cut);
            start(&model, store, change);
            esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + cut,
                           store == ESK_STORE_INPLACE ? ESK_SIM_CUT_BEFORE
                                                      : ESK_SIM_CUT_SUBSET);
            came = cut_comes(&model, change, &number);
            esk_sim_cut_at(model.sim, 0, ESK_SIM_CUT_NONE);
            esk_sim_power_on(model.sim);
            esk_tree_close(model.tree);
            esk_volume_unmount(&model.volume);
            model.in_batch = false;
            if (came) {
                asked += read_only_verify(&model, change, number) ? 1 : 0;
            }
            esk_model_tree_free(&model);
            ESK_CHECK(cut < CUTS_MAX);
        }
        ESK_CHECK(cut > 30);
        ESK_CHECK(change == SPLITS ? asked > 0 && asked < cut / 3 : asked == 0);
    }
}

ESK_TEST_MAIN()
