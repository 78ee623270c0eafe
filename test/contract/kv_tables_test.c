// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two kv tables with an index in one volume, cut at random: each keeps what
/// was synced, and a prefix of its later changes. They share the arena, the
/// medium and its cache.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"

enum {
    TABLES = 2,
    KEYS = 300,
    VALUE_MAX = 60,
    OPS_MAX = 64,
    BATCH = 3,
    CUTS = 60,
    SEEDS = 3, ///< ten times as many when deep
    ARENA_BYTES = 32768,
};

static const char *const names[TABLES] = {"settings", "messages"};

/// A change that no sync acknowledged. version 0: a delete.
struct op {
    uint16_t key;
    bool more; ///< the next one is of the same batch
    uint32_t version;
};

struct model {
    struct esk_kv *kv;
    uint16_t ops;
    struct op op[OPS_MAX];
    uint32_t synced[KEYS]; ///< versions; 0: not there
};

struct run {
    const char *name;
    struct esk_sim_config config;
    uint32_t pending; ///< config.keys
};

static struct model models[TABLES];
static struct esk_sim *sim;
static struct esk_volume volume;
static uint64_t arena[ARENA_BYTES / 8];
static uint64_t state;
static uint32_t version;

static uint32_t draw(uint32_t bound) {
    state = state * 6364136223846793005u + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % bound);
}

static uint8_t key_make(uint16_t key, char *made) {
    return (uint8_t)snprintf(made, 16, "k%u", (unsigned)key);
}

static uint32_t value_make(uint16_t key, uint32_t of, uint8_t *made) {
    uint32_t bytes = (of * 7 + key) % VALUE_MAX + 4;
    memset(made, (int)(of + key), bytes);
    memcpy(made, &of, sizeof of);
    return bytes;
}

/// Whether a key has that version.
static bool key_is(struct esk_kv *kv, uint16_t key, uint32_t of) {
    char name[16];
    uint8_t wanted[VALUE_MAX + 4];
    uint8_t value[VALUE_MAX + 4];
    uint32_t bytes = 0;
    uint8_t key_bytes = key_make(key, name);
    int status =
        esk_kv_get(kv, name, key_bytes, value, sizeof value, &bytes, NULL);
    if (of == 0) {
        return status == ESK_NOT_FOUND;
    }
    return status == ESK_OK && bytes == value_make(key, of, wanted) &&
           memcmp(value, wanted, bytes) == 0;
}

static bool table_is(const struct model *model, const uint32_t *versions) {
    for (uint16_t key = 0; key < KEYS; key++) {
        if (!key_is(model->kv, key, versions[key])) {
            return false;
        }
    }
    return true;
}

/// Makes what the table has the synced state: after `ops` of its changes.
static void model_commit(struct model *model, uint16_t ops) {
    for (uint16_t i = 0; i < ops; i++) {
        model->synced[model->op[i].key] = model->op[i].version;
    }
    model->ops = 0;
}

/// Finds how many of the unsynced changes the table has.
static bool prefix_find(struct model *model, uint16_t *ops) {
    uint32_t versions[KEYS];
    memcpy(versions, model->synced, sizeof versions);
    for (*ops = 0;; ++*ops) {
        bool is_within = *ops > 0 && model->op[*ops - 1].more;
        if (!is_within && table_is(model, versions)) {
            return true;
        }
        if (*ops == model->ops) {
            return false;
        }
        versions[model->op[*ops].key] = model->op[*ops].version;
    }
}

static int boot(const struct run *run) {
    const struct esk_kv_config config = {.keys = run->pending,
                                         .part = &esk_kv_part_index};
    uint32_t first = draw(TABLES);
    ESK_TRY(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena));
    for (uint32_t i = 0; i < TABLES; i++) {
        uint32_t table = (first + i) % TABLES;
        ESK_TRY(esk_kv_open(&models[table].kv, &volume, names[table], &config));
    }
    return ESK_OK;
}

static void world_make(const struct run *run, uint64_t seed) {
    const struct esk_volume_config format = {.uuid = {5}, .tables_max = 2};
    struct esk_sim_config config = run->config;
    config.seed = seed;
    memset(models, 0, sizeof models);
    state = seed;
    version = 0;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena),
        ESK_OK);
    for (uint32_t table = 0; table < TABLES; table++) {
        const struct esk_kv_spec spec = {
            .name = names[table], .blocks = 16, .index_keys = KEYS};
        ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
    }
    ESK_CHECK_INT(boot(run), ESK_OK);
}

static int sync(struct model *model) {
    ESK_TRY(esk_kv_sync(model->kv));
    model_commit(model, model->ops);
    return ESK_OK;
}

/// The version that a key has, with all changes.
static uint32_t version_now(const struct model *model, uint16_t key) {
    uint32_t now = model->synced[key];
    for (uint16_t i = 0; i < model->ops; i++) {
        now = model->op[i].key == key ? model->op[i].version : now;
    }
    return now;
}

/// Changes one key, or some as a batch.
static int change(struct model *model) {
    struct esk_kv_change changes[BATCH];
    char keys[BATCH][16];
    uint8_t values[BATCH][VALUE_MAX + 4];
    uint16_t count = draw(4) == 0 ? BATCH : 1;
    uint16_t first = (uint16_t)draw(draw(2) == 0 ? KEYS : 12);
    if (model->ops + count > OPS_MAX) {
        ESK_TRY(sync(model));
    }
    memset(changes, 0, sizeof changes);
    for (uint16_t i = 0; i < count; i++) {
        uint16_t key = (uint16_t)((first + 17 * i) % KEYS);
        bool gone = draw(5) == 0 && version_now(model, key) != 0;
        uint32_t of = gone ? 0 : ++version;
        model->op[model->ops + i] = (struct op){key, i + 1 < count, of};
        changes[i].key = keys[i];
        changes[i].key_bytes = key_make(key, keys[i]);
        changes[i].value = values[i];
        changes[i].bytes = gone ? 0 : value_make(key, of, values[i]);
        changes[i].type = gone ? ESK_KV_DELETED : ESK_KV_BYTES;
    }
    int status = esk_kv_change_many(model->kv, changes, count, NULL);
    /* A call that a cut met may have been done. */
    model->ops =
        (uint16_t)(model->ops + (status >= 0 && status != ESK_OK ? 0 : count));
    return status;
}

static int step(void) {
    struct model *model = &models[draw(TABLES)];
    uint32_t what = draw(16);
    if (what == 0) {
        return esk_volume_step(&volume, 2, NULL);
    }
    return what < 5 ? sync(model) : change(model);
}

/// Power on: both tables have what they had, and go on.
static void recover(const struct run *run) {
    do {
        esk_sim_power_on(sim);
        if (draw(3) == 0) {
            esk_sim_cut_at(sim, esk_sim_op_count(sim) + draw(20),
                           ESK_SIM_CUT_DRAWN);
        }
    } while (boot(run) != ESK_OK);
    esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE);
    for (uint32_t table = 0; table < TABLES; table++) {
        struct esk_kv_report report;
        uint16_t ops = 0;
        ESK_CHECK(prefix_find(&models[table], &ops));
        model_commit(&models[table], ops);
        ESK_CHECK_INT(esk_kv_check(models[table].kv, &report), ESK_OK);
        ESK_CHECK_INT(report.index_lost, 0);
    }
}

static void life(const struct run *run, uint64_t seed) {
    ESK_CONTEXT("%s, seed %lu", run->name, (unsigned long)seed);
    world_make(run, seed);
    for (uint32_t i = 0; i < 3000; i++) {
        ESK_CHECK_INT(step(), ESK_OK);
    }
    for (uint32_t cut = 0; cut < CUTS; cut++) {
        esk_sim_cut_at(sim, esk_sim_op_count(sim) + draw(60),
                       ESK_SIM_CUT_DRAWN);
        int status = ESK_OK;
        while (status == ESK_OK) {
            status = step();
        }
        ESK_CHECK(!esk_sim_is_on(sim));
        recover(run);
    }
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_destroy(sim);
    sim = NULL;
}

ESK_TEST(two_kv_tables_with_an_index_survive_cuts_in_one_volume) {
    static const struct run runs[] = {
        {"NOR", {.geometry = ESK_NOR(80, 8, 256)}, 40},
        {"NAND", {.geometry = ESK_NAND(80, 8, 512)}, 140},
        {"cached card",
         {.geometry = ESK_CARD(80, 8, 512), .cache_programs = 8},
         140},
    };
    uint64_t seeds = esk_test_draws(SEEDS, 10 * SEEDS);
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            life(&runs[i], seed);
        }
    }
}

ESK_TEST_MAIN()
