// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A nearly full tree whose nodes move refused every change, for good, after a
/// cut of a sweep: the mount put the ring's tail as far back as there are
/// pages, and for the window from there, most of it dead, there was no room.
#include "base/bytes.h"
#include "test/harness/bush_rig.h"

enum { CUTS = 60, CHANGES = 60 };

struct region {
    struct esk_geometry geometry;
    uint16_t blocks;
    uint8_t wandering_key_bytes;
    uint8_t pad_bytes;
};

static const struct region regions[] = {
    {ESK_NAND(60, 4, 256), 24, 20, 35},  {ESK_NAND(60, 8, 512), 24, 20, 35},
    {ESK_NAND(60, 16, 512), 26, 4, 35},  {ESK_NAND(60, 32, 1024), 24, 20, 60},
    {ESK_NAND(160, 1, 256), 80, 20, 35}, {ESK_NAND(160, 1, 256), 80, 4, 35},
    {ESK_NAND(160, 1, 256), 80, 3, 8},   {ESK_NOR(60, 16, 256), 24, 20, 35},
};

enum { REGIONS = sizeof regions / sizeof regions[0] };

/// A tree that refused a row; an eighth of its rows is deleted, if it is to
/// be `sparse`.
static void tree_make(struct esk_bush *bush, const struct region *region,
                      uint8_t store, bool sparse) {
    struct esk_bush_table table = {.store = store,
                                   .key_type = ESK_TYPE_BYTES,
                                   .key_bytes = region->wandering_key_bytes,
                                   .pad_bytes = region->pad_bytes,
                                   .key_range = 4000,
                                   .blocks = region->blocks};
    if (store == ESK_STORE_MU) {
        table.key_bytes = 4;
    }
    ESK_CHECK_INT(esk_bush_make(bush, &table, &region->geometry, 1), ESK_OK);
    bush_fill(bush);
    uint32_t rows = sparse ? bush->model.rows * 7 / 8 : bush->model.rows;
    while (bush->model.rows > rows) {
        ESK_CHECK_INT(esk_bush_delete(bush, bush_key_there(bush)), ESK_OK);
    }
    bush_changes(bush, 300);
}

/// Changes rows until the power goes, `operations` from now.
static void cut_make(struct esk_bush *bush, uint32_t operations) {
    int status = ESK_OK;
    uint32_t number = 0;
    uint32_t old = 0;
    uint8_t key[32];
    uint8_t row[256];
    esk_sim_cut_at(bush->sim, esk_sim_op_count(bush->sim) + operations,
                   ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        number = bush_key_there(bush);
        old = bush->model.version[number];
        status = esk_bush_put(bush, number);
    }
    ESK_CHECK_INT(status, ESK_E_IO);
    esk_sim_power_on(bush->sim);
    ESK_CHECK_HELD(esk_bush_remount(bush), bush->why);
    esk_bush_key(bush, number, key);
    ESK_CHECK_INT(esk_tree_get(bush->tree, key, row), ESK_OK);
    bush->model.version[number] = esk_load_u32(row);
    ESK_CHECK(esk_load_u32(row) == old || esk_load_u32(row) == bush->version);
}

static void region_run(const struct region *region, uint8_t store,
                       bool sparse) {
    static struct esk_bush bush;
    static struct esk_bush full;
    struct esk_sim *sim = NULL;
    tree_make(&bush, region, store, sparse);
    ESK_CHECK_INT(esk_sim_clone(&sim, bush.sim), ESK_OK);
    full = bush;
    for (uint32_t cut = 1; cut <= CUTS; cut++) {
        ESK_CONTEXT("store %u, %u blocks of %u pages of %u, sparse %d, cut %u",
                    store, region->blocks, region->geometry.block_pages,
                    region->geometry.page_bytes, sparse, (unsigned)cut);
        esk_sim_restore(bush.sim, sim);
        bush = full;
        ESK_CHECK_HELD(esk_bush_remount(&bush), bush.why);
        cut_make(&bush, cut);
        bush_changes(&bush, CHANGES);
        bush_verify(&bush);
    }
    ESK_CHECK_TEXT(esk_sim_violation(bush.sim), "");
    esk_sim_destroy(sim);
    esk_bush_free(&bush);
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
