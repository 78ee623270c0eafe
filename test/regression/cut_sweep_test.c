// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A nearly full copy-on-write tree refused every change, for good, after a cut
/// of a sweep: the mount put the ring's tail as far back as there are pages,
/// and the window from there, mostly dead pages, left no room.
#include "base/bytes.h"
#include "test/harness/tree_fixture.h"

enum { CUTS = 60, CHANGES = 60 };

struct region {
    struct esk_geometry geometry;
    uint16_t blocks;
    uint8_t wandering_key_bytes;
    uint8_t pad_bytes;
};

static const struct region regions[] = {
    {ESK_NAND(60, 4, 256), 24, 20, 35},  {ESK_NAND(60, 8, 512), 24, 20, 35},
    {ESK_NAND(60, 16, 512), 26, 4, 35},  {ESK_NAND(60, 32, 1024), 24, 20, 90},
    {ESK_NAND(160, 1, 256), 80, 20, 35}, {ESK_NAND(160, 1, 256), 80, 4, 35},
    {ESK_NAND(160, 1, 256), 80, 3, 8},   {ESK_NOR(60, 16, 256), 24, 20, 35},
};

enum { REGIONS = sizeof regions / sizeof regions[0] };

/// A tree that refused a row; for `sparse` an eighth of its rows is deleted.
static void tree_make(struct esk_model_tree *model, const struct region *region,
                      uint8_t store, bool sparse) {
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_BYTES,
                                         .key_bytes =
                                             region->wandering_key_bytes,
                                         .pad_bytes = region->pad_bytes,
                                         .key_range = 4000,
                                         .blocks = region->blocks};
    if (store == ESK_STORE_MU) {
        table.key_bytes = 4;
    }
    ESK_CHECK_INT(esk_model_tree_make(model, &table, &region->geometry, 1),
                  ESK_OK);
    model_tree_fill(model);
    uint32_t rows =
        sparse ? model->expected.rows * 7 / 8 : model->expected.rows;
    while (model->expected.rows > rows) {
        ESK_CHECK_INT(esk_model_tree_delete(model, model_tree_key_there(model)),
                      ESK_OK);
    }
    model_tree_changes(model, 300);
}

/// Changes rows until the power is cut, `operations` from now.
static void cut_make(struct esk_model_tree *model, uint32_t operations) {
    int status = ESK_OK;
    uint32_t number = 0;
    uint32_t old = 0;
    uint8_t key[32];
    uint8_t row[256];
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + operations,
                   ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        number = model_tree_key_there(model);
        old = model->expected.version[number];
        status = esk_model_tree_put(model, number);
    }
    ESK_CHECK_INT(status, ESK_E_IO);
    esk_sim_power_on(model->sim);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    esk_model_tree_key(model, number, key);
    ESK_CHECK_INT(esk_tree_get(model->tree, key, row), ESK_OK);
    model->expected.version[number] = esk_load_u32(row);
    ESK_CHECK(esk_load_u32(row) == old || esk_load_u32(row) == model->version);
}

static void region_run(const struct region *region, uint8_t store,
                       bool sparse) {
    static struct esk_model_tree model;
    static struct esk_model_tree full;
    struct esk_sim *sim = NULL;
    tree_make(&model, region, store, sparse);
    ESK_CHECK_INT(esk_sim_clone(&sim, model.sim), ESK_OK);
    full = model;
    uint32_t step = esk_test_rounds(7, 1);
    for (uint32_t cut = 1; cut <= CUTS; cut += step) {
        ESK_CONTEXT("store %u, %u blocks of %u pages of %u, sparse %d, cut %u",
                    store, region->blocks, region->geometry.block_pages,
                    region->geometry.page_bytes, sparse, (unsigned)cut);
        esk_sim_restore(model.sim, sim);
        model = full;
        ESK_CHECK_HELD(esk_model_tree_remount(&model), model.why);
        cut_make(&model, cut);
        model_tree_changes(&model, CHANGES);
        model_tree_verify(&model);
    }
    ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
    esk_sim_destroy(sim);
    esk_model_tree_free(&model);
}

ESK_TEST(full_tree_takes_changes_after_a_cut_at_any_operation) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_MU; store++) {
        for (uint32_t i = 0; i < REGIONS; i++) {
            region_run(&regions[i], store, false);
            region_run(&regions[i], store, true);
        }
    }
}

ESK_TEST_MAIN()
