// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree of a constant shape, on the simulator, beside a model of its rows.
#ifdef ESK_SHAPE
enum { SHAPED = 1 };
#else
#define ESK_SHAPE "test/shape/tree_shape.h"
enum { SHAPED = 0 };
#endif

#include "base/bytes.h"
#include "test/shape/twin_volume.h"

enum {
    SEEDS = 20, ///< ten times as many when deep
    STEPS = 150,
    KEYS = 500,
};

/// The model's versions of a key. After a cut in a change of it, two are
/// possible.
struct model_row {
    bool there;
    uint32_t generation;
};

struct world {
    struct esk_tree *tree;
    uint32_t generation;
    uint32_t splits;
    uint32_t unsure;        ///< the key whose change was cut; KEYS: none
    struct model_row after; ///< the row after that change
    struct model_row rows[KEYS];
};

static struct world world;
static uint64_t arena[256];
static struct esk_tree_cursor cursor;

static void world_make(uint64_t seed) {
    /* As on cards with atomic page writes: in place a torn page is lost. */
    const struct esk_sim_config config = {
        .geometry = ESK_SHAPE_GEOMETRY, .seed = seed, .whole_writes = true};
    twin_make(&config);
    memset(&world, 0, sizeof world);
    world.unsure = KEYS;
}

static int boot_with(const struct esk_tree_config *config) {
    ESK_TRY(told(volume_boot()));
    /* Both have read the meta halves, in different ways, before. */
    esk_sim_seed_set(twin.sim, draw(1u << 30));
    return told(SHAPED ? test_tree_attach(&world.tree, &twin.volume,
                                          &esk_shape_table, &esk_shape_tree,
                                          config, arena, sizeof arena)
                       : test_tree_open(&world.tree, &twin.volume, "map",
                                        config, arena, sizeof arena));
}

static int boot(void) {
    return boot_with(&esk_shape_config);
}

static void row_make(uint32_t key, struct model_row model,
                     struct map_row *made) {
    made->time = key;
    made->air = (int32_t)(model.generation * 2654435761u >> 1);
    made->ground = (int32_t)(key * 40503u >> 1);
    made->water = -made->ground;
}

/// Whether the row is the model's, or that of an interrupted change; then the
/// model is updated.
static bool row_is(uint32_t key, const struct map_row *row) {
    struct map_row expected;
    struct model_row *model = &world.rows[key];
    row_make(key, *model, &expected);
    if (model->there && memcmp(row, &expected, sizeof expected) == 0) {
        return true;
    }
    row_make(key, world.after, &expected);
    if (key != world.unsure || !world.after.there ||
        memcmp(row, &expected, sizeof expected) != 0) {
        return false;
    }
    *model = world.after;
    return true;
}

/// Whether the key may be missing: by the model, or an interrupted delete.
static void absent_check(uint32_t key) {
    struct model_row *model = &world.rows[key];
    ESK_CHECK(!model->there || (key == world.unsure && !world.after.there));
    model->there = false;
}

static int change(void) {
    struct map_row row;
    uint32_t key = draw(KEYS);
    struct model_row after = {draw(4) != 0, ++world.generation};
    world.unsure = key;
    world.after = after;
    row_make(key, after, &row);
    int status = told(after.there ? esk_tree_put(world.tree, &row)
                                  : esk_tree_delete(world.tree, &key));
    if (status == ESK_NOT_FOUND) {
        ESK_CHECK(!after.there && !world.rows[key].there);
        status = ESK_OK;
    }
    if (status == ESK_OK) {
        world.rows[key] = after;
        world.unsure = KEYS;
    }
    return status;
}

/// Every row from a key on, and a get of some.
static void verify(void) {
    struct map_row row;
    uint32_t key = 0;
    ESK_CHECK_INT(told(esk_tree_cursor_open(world.tree, &cursor, NULL)),
                  ESK_OK);
    while (told(esk_tree_cursor_next(world.tree, &cursor, &row)) == ESK_OK) {
        ESK_CHECK(row.time >= key && row.time < KEYS);
        while (key < row.time) {
            absent_check(key++);
        }
        ESK_CHECK(row_is(key++, &row));
        digest_add(&row, sizeof row);
    }
    while (key < KEYS) {
        absent_check(key++);
    }
    world.unsure = KEYS;
    for (uint32_t i = 0; i < 20; i++) {
        key = draw(KEYS);
        bool there = world.rows[key].there;
        ESK_CHECK_INT(told(esk_tree_get(world.tree, &key, &row)),
                      there ? ESK_OK : ESK_NOT_FOUND);
        ESK_CHECK(!there || row_is(key, &row));
    }
}

static void splits_add(void) {
    struct esk_tree_stats stats;
    esk_tree_stats(world.tree, &stats);
    world.splits += stats.splits;
}

/// After a cut: turns on the power until the tree is open.
static void recover(void) {
    power_again(boot);
    verify();
}

/// One step of the workload. Returns ESK_OK, or the status at a cut.
static int step(void) {
    uint32_t what = draw(8);
    if (what == 0) {
        verify();
        return ESK_OK;
    }
    if (what == 1) {
        ESK_TRY(told(esk_tree_sync(world.tree)));
        splits_add();
        esk_tree_close(world.tree);
        return boot();
    }
    for (uint32_t i = draw(12) + 1; i > 0; i--) {
        ESK_TRY(change());
    }
    return ESK_OK;
}

/// A life of a tree from a blank medium on, with cuts.
static void life(uint64_t seed) {
    ESK_CONTEXT("seed %" PRIu64 ", %s", seed, SHAPED ? "shaped" : "opened");
    world_make(seed);
    ESK_CHECK_INT(boot(), ESK_OK);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (draw(2) == 0) {
            uint32_t mode = ESK_SIM_CUT_BEFORE + draw(ESK_SIM_CUT_DRAWN);
            esk_sim_cut_at(twin.sim, esk_sim_op_count(twin.sim) + draw(16),
                           (enum esk_sim_cut_mode)mode);
        }
        int status = step();
        if (status != ESK_OK) {
            recover();
        }
        esk_sim_cut_at(twin.sim, 0, ESK_SIM_CUT_NONE);
    }
    splits_add();
    ESK_CHECK_INT(told(esk_tree_sync(world.tree)), ESK_OK);
    verify();
    medium_digest();
}

/// The flavour `test` alone shows that rows are stored; `shape_tree` also shows
/// that results and bytes are the same.
ESK_TEST(shape_tree_keeps_rows_and_gives_what_the_catalog_gives) {
    uint32_t seeds = esk_test_is_deep() ? 10 * SEEDS : SEEDS;
    uint32_t cuts = 0;
    uint32_t splits = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        life(seed);
        cuts += twin.cuts;
        splits += world.splits;
        uint64_t digest = twin.digest;
        ESK_CHECK(!SHAPED ||
                  digest == digest_elsewhere("build/shape_tree/", seed));
    }
    ESK_CHECK(cuts >= 15 * seeds);
    ESK_CHECK(splits >= 5 * seeds);
}

/// A core of a constant shape has no packed nodes, and one with addresses of 16
/// bits no positions. In the flavour `test` the table is of another store.
ESK_TEST(shape_tree_refuses_other_stores) {
    const struct esk_tree_config packs = {.store = &esk_store_tnc};
    const struct esk_tree_config moves = {.store = &esk_store_wandering};
    world_make(1);
    ESK_CHECK_INT(boot_with(&packs), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(boot_with(&moves), ESK_E_UNSUPPORTED);
    ESK_CHECK(world.tree == NULL);
    ESK_CHECK_INT(boot(), ESK_OK);
}

ESK_TEST(shape_tree_takes_no_stored_address_for_a_smaller_one) {
    const uint8_t small[] = {3, 1, 0, 0};
    const uint8_t large[] = {3, 1, 1, 0};
    ESK_CHECK_INT(esk_address_load(small), 0x103);
    ESK_CHECK_INT(esk_address_load(large),
                  ESK_ADDRESS_BITS == 16 ? ESK_ADDRESS_NONE : 0x10103);
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
