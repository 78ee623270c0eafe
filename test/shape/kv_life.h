// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The life of a kv table of a constant shape, on the simulator, beside a model
/// of its keys. A test defines SHAPED and SNAPSHOTS, whether its shape has any;
/// it includes its shape and twins.h, then this, and defines table_boot().
#ifndef ESK_TEST_SHAPE_KV_LIFE_H
#define ESK_TEST_SHAPE_KV_LIFE_H

#include "test/shape/twins.h"

enum {
    SEEDS = 20, ///< ten times as many when deep
    STEPS = 150,
    KEYS = 60,
    BATCH = 4,
    VALUE_MAX = 40,
};

/// What a key has: nothing, or a value that follows from both.
struct model_key {
    bool there;
    uint32_t generation;
};

struct world {
    struct esk_kv *kv;
    uint32_t generation;
    uint32_t unsure; ///< changes that were cut: all of them or none
    uint32_t at[BATCH];
    struct model_key after[BATCH]; ///< the keys after these changes
    struct model_key keys[KEYS];
};

static struct world world;

/// Finds the table or makes it, and opens it: world.kv.
static int table_boot(void);

static int boot(void) {
    int status = told(table_boot());
    if (status == ESK_OK) {
        /* Both have read the meta halves, in different ways, before. */
        esk_sim_seed_set(twin.sim, draw(1u << 30));
    }
    return status;
}

static void world_make(uint64_t seed) {
    const struct esk_sim_config config = {.geometry = ESK_SHAPE_GEOMETRY,
                                          .seed = seed};
    twin_make(&config);
    if (is_compared(seed)) {
        twin.ops.read = read_steadily;
    }
    memset(&world, 0, sizeof world);
}

static uint8_t key_make(uint32_t key, char *made) {
    return (uint8_t)snprintf(made, 12, "key %u", (unsigned)key);
}

static uint32_t value_make(uint32_t key, struct model_key model,
                           uint8_t *made) {
    uint32_t bytes = (model.generation * 7 + key) % VALUE_MAX;
    memset(made, (int)(model.generation + key), bytes);
    return bytes;
}

/// Whether a get of a key answers what the model has.
static bool key_is(uint32_t key, struct model_key model) {
    char name[12];
    uint8_t expected[VALUE_MAX];
    uint8_t value[VALUE_MAX];
    uint32_t bytes = 0;
    uint8_t name_bytes = key_make(key, name);
    int status = told(esk_kv_get(world.kv, name, name_bytes, value,
                                 sizeof value, &bytes, NULL));
    if (!model.there) {
        return status == ESK_NOT_FOUND;
    }
    return status == ESK_OK && bytes == value_make(key, model, expected) &&
           memcmp(value, expected, bytes) == 0;
}

/// After a cut: the changes that it met are all there, or none is.
static void unsure_resolve(void) {
    bool are_new = true;
    for (uint32_t i = 0; i < world.unsure; i++) {
        are_new = are_new && key_is(world.at[i], world.after[i]);
    }
    for (uint32_t i = 0; i < world.unsure && are_new; i++) {
        world.keys[world.at[i]] = world.after[i];
    }
    world.unsure = 0;
}

static void verify(void) {
    struct esk_kv_stats stats;
    uint32_t there = 0;
    unsure_resolve();
    for (uint32_t key = 0; key < KEYS; key++) {
        ESK_CHECK(key_is(key, world.keys[key]));
        there += world.keys[key].there ? 1 : 0;
    }
    esk_kv_stats(world.kv, &stats);
    ESK_CHECK_INT(stats.keys, there);
    digest_add(&stats.keys, sizeof stats.keys);
}

/// A key that changes, before a change.
struct then {
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[BATCH];
    struct model_key model;
};

static struct then then;

static void then_open(uint32_t key) {
    int status =
        esk_kv_snapshot_open(world.kv, &then.snapshot, then.kept, BATCH);
    ESK_CHECK_INT(status, SHAPED && !SNAPSHOTS ? ESK_E_UNSUPPORTED : ESK_OK);
    then.model = world.keys[key];
}

static void then_check(uint32_t key) {
    char name[12];
    uint8_t expected[VALUE_MAX];
    uint8_t value[VALUE_MAX];
    uint32_t bytes = 0;
    uint8_t name_bytes = key_make(key, name);
    if (SNAPSHOTS) {
        int status =
            told(esk_kv_snapshot_get(&then.snapshot, name, name_bytes, value,
                                     sizeof value, &bytes, NULL));
        ESK_CHECK(status == (then.model.there ? ESK_OK : ESK_NOT_FOUND) ||
                  status == ESK_E_STALE);
        ESK_CHECK(status != ESK_OK ||
                  (bytes == value_make(key, then.model, expected) &&
                   memcmp(value, expected, bytes) == 0));
    }
    esk_kv_snapshot_close(&then.snapshot);
}

/// Changes some keys at once, and syncs.
static int change(void) {
    struct esk_kv_change changes[BATCH];
    char names[BATCH][12];
    uint8_t values[BATCH][VALUE_MAX];
    uint32_t count = draw(2) == 0 ? 1 : draw(BATCH) + 1;
    uint32_t first = draw(KEYS);
    memset(changes, 0, sizeof changes);
    world.generation++;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t key = (first + i * 13) % KEYS;
        struct model_key after = {draw(4) != 0, world.generation};
        after.there = after.there || !world.keys[key].there;
        world.at[i] = key;
        world.after[i] = after;
        changes[i].key = names[i];
        changes[i].key_bytes = key_make(key, names[i]);
        changes[i].value = values[i];
        changes[i].bytes = after.there ? value_make(key, after, values[i]) : 0;
        changes[i].type = after.there ? ESK_KV_BYTES : ESK_KV_DELETED;
    }
    world.unsure = count;
    then_open(first);
    ESK_TRY(told(esk_kv_change_many(world.kv, changes, (uint16_t)count, NULL)));
    ESK_TRY(told(esk_kv_sync(world.kv)));
    then_check(first);
    for (uint32_t i = 0; i < count; i++) {
        world.keys[world.at[i]] = world.after[i];
    }
    world.unsure = 0;
    return ESK_OK;
}

/// One step of the workload. Returns ESK_OK, or the status at a cut.
static int step(void) {
    uint32_t what = draw(8);
    if (what == 0) {
        verify();
        return ESK_OK;
    }
    if (what == 1) {
        esk_kv_close(world.kv);
        return boot();
    }
    for (uint32_t i = draw(12) + 1; i > 0; i--) {
        ESK_TRY(change());
    }
    return ESK_OK;
}

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
            power_again(boot);
            verify();
        }
        esk_sim_cut_at(twin.sim, 0, ESK_SIM_CUT_NONE);
    }
    verify();
    medium_digest();
}

/// The flavour `test` alone shows that keys are kept; the shaped one also shows
/// that results and bytes are the same.
static void lives(const char *folder) {
    uint32_t seeds = esk_test_is_deep() ? 10 * SEEDS : SEEDS;
    uint32_t cuts = 0;
    uint64_t erases = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        life(seed);
        cuts += twin.cuts;
        for (uint32_t at = 0; at < esk_shape_geometry.block_count; at++) {
            erases += esk_sim_block_wear(twin.sim, at);
        }
        uint64_t digest = twin.digest;
        ESK_CHECK(!SHAPED || !is_compared(seed) ||
                  digest == digest_elsewhere(folder, seed));
    }
    ESK_CHECK(cuts >= 15 * seeds);
    ESK_CHECK(erases >= 20 * seeds);
}

#endif
