// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Random faults: trees on media on which programs, erases, transfers and reads
/// fail and the power is cut, in any order, each fault in the middle of calls.
/// After each fault the table is in a state that its contract allows:
///
///     after the last change              a medium without a cache
///     ... or after any since the sync    a card that caches, a write cache
///     ... or after a call that failed    it may have taken effect
///
/// of a batch all or nothing; and every way to read agrees with this state.
///
/// ESK_LIVES  number of sequences, each with its own seed, store, medium, key
/// ESK_SEED   of the first
#include <stdlib.h>

#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum {
    LIVES = 60,
    BLOWS = 60,
    CALLS_MAX = 14,
    KEYS = 240,
    ROWS_MAX = 12, ///< of a put_many
    STATES_MAX = 600,
    PAGE_MAX = 512,
};

struct medium {
    const char *name;
    struct esk_geometry geometry;
    uint16_t cache;
    uint8_t ecc_word;
    bool whole;
};

/// By store: the first line is for stores in place.
static const struct medium media[] = {
    {.name = "card", .geometry = ESK_CARD(0, 8, 256), .whole = true},
    {.name = "caching card",
     .geometry = ESK_CARD(0, 8, 512),
     .whole = true,
     .cache = 20},
    {.name = "small card", .geometry = ESK_CARD(0, 8, 128), .whole = true},
    {.name = "tearing card", .geometry = ESK_CARD(0, 8, 256)},
    {.name = "tearing, caching card",
     .geometry = ESK_CARD(0, 4, 256),
     .cache = 12},
    {.name = "small tearing card", .geometry = ESK_CARD(0, 8, 128)},
    {.name = "nand", .geometry = ESK_NAND(0, 8, 512)},
    {.name = "nor", .geometry = ESK_NOR(0, 8, 256)},
    {.name = "words with ECC",
     .geometry = ESK_FLASH(0, 4, 256, 8, 1),
     .ecc_word = 8},
    {.name = "pages as blocks", .geometry = ESK_NAND(0, 1, 512)},
    {.name = "uncached card", .geometry = ESK_CARD(0, 8, 512)},
};

static const struct {
    uint8_t type;
    uint16_t bytes;
} keys[] = {
    {ESK_TYPE_U32, 0}, {ESK_TYPE_I16, 0}, {ESK_TYPE_U8, 0},
    {ESK_TYPE_F64, 0}, {ESK_TYPE_I64, 0}, {ESK_TYPE_BYTES, 17},
};

/// The changes of the present call, in order.
struct change {
    uint32_t number;
    uint32_t version; ///< 0: no row
};

struct life {
    struct esk_model_tree model;
    const struct medium *medium;
    struct esk_device front;
    uint32_t wear; ///< number of faults left that cost a block
    bool worn;     ///< such a fault happened
    bool doubted;  ///< a call failed, and nothing was programmed since
    bool torn;     ///< a write in place failed in this batch
    struct change changes[ROWS_MAX];
    uint32_t change_count;
    uint32_t state_count;
    uint32_t states[STATES_MAX][KEYS]; ///< possible states after a cut
};

static struct life life;

/// Over all sequences: that faults did happen.
static uint32_t cuts;
static uint32_t calls_failed;

/// Whether a cut may lose a completed change.
static bool is_cached(void) {
    return life.medium->cache != 0 || life.model.table.write_frames != 0;
}

static bool moves(void) {
    return !esk_model_tree_overwrites(life.model.table.store);
}

/// Adds `versions` to the possible states after a cut.
static void state_allow(const uint32_t *versions) {
    ESK_CHECK(life.state_count < STATES_MAX);
    memcpy(life.states[life.state_count], versions, sizeof life.states[0]);
    life.state_count++;
}

/// The committed state: in a batch the one before it.
static const uint32_t *model_durable(void) {
    struct esk_model_tree *model = &life.model;
    return model->in_batch ? model->before.version : model->expected.version;
}

/// No older state is possible from now on.
static void state_only(void) {
    life.state_count = 0;
    life.doubted = false;
    state_allow(model_durable());
}

static void change_make(uint32_t *versions, const struct change *change) {
    versions[change->number] = change->version;
}

/// Adds the possible states after a cut in the failed call, after `done` rows.
static void failed_allow(uint32_t done) {
    static uint32_t versions[KEYS];
    life.doubted = true;
    memcpy(versions, life.model.expected.version, sizeof versions);
    for (uint32_t i = done; i < life.change_count; i++) {
        change_make(versions, &life.changes[i]);
        state_allow(versions);
    }
}

static void life_begin(uint32_t seed) {
    uint32_t draw = seed * 2654435761u >> 7;
    uint8_t store = (uint8_t)(ESK_STORE_INPLACE + seed % 5);
    uint32_t kind = seed / 5;
    uint32_t at = store == ESK_STORE_INPLACE     ? kind % 3
                  : store == ESK_STORE_JOURNALED ? 3 + kind % 3
                                                 : 6 + kind % 5;
    uint32_t key = draw % (sizeof keys / sizeof *keys);
    memset(&life, 0, sizeof life);
    life.medium = &media[at];
    uint32_t pages = life.medium->geometry.block_pages;
    uint8_t k_percent = 0;
    if (store == ESK_STORE_MU && life.medium->geometry.page_bytes >= 512) {
        k_percent = (uint8_t)(30 + draw % 5 * 10);
    }
    bool small = life.medium->geometry.page_bytes < 256;
    struct esk_model_tree_table table = {
        .store = store,
        .key_type = keys[key].type,
        .key_bytes = small ? (uint16_t)(keys[key].bytes / 2) : keys[key].bytes,
        .pad_bytes = (uint16_t)(draw >> 3 & 1u ? 10 : 22),
        .k_percent = k_percent,
        .frames = (uint8_t)(2 + (draw >> 5) % 5),
        .policy = store == ESK_STORE_MU && (draw >> 8 & 1u) != 0
                      ? ESK_TREE_LRU_N
                      : ESK_TREE_LRU_P,
        .key_range = draw >> 9 & 1u ? KEYS : 90,
        .blocks = (160 + pages - 1) / pages + 8,
        .merges = (draw >> 10 & 1u) != 0,
        .batch_pages =
            store <= ESK_STORE_JOURNALED && (draw >> 11 & 1u) != 0 ? 40 : 0,
    };
    if (store == ESK_STORE_TNC) {
        table.blocks += 80 / pages;
        table.frames = (uint8_t)(11 + (draw >> 11) % 30);
        table.write_frames = table.frames;
    } else if (store >= ESK_STORE_WANDERING && (draw >> 10 & 1u) != 0) {
        table.frames = (uint8_t)(table.frames + 6u);
        table.write_frames = (uint8_t)(1 + (draw >> 11) % 10);
    }
    struct esk_sim_config config = {
        .geometry = life.medium->geometry,
        .seed = seed,
        .ecc_bits = life.medium->ecc_word != 0 ? 1 : 0,
        .ecc_bytes = life.medium->ecc_word,
        .whole_writes = life.medium->whole,
        .cache_programs = life.medium->cache,
        .erase_keeps =
            (life.medium->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    config.geometry.block_count = table.blocks + 80 / pages + 24;
    life.wear = moves() ? 3 : 20;
    ESK_CONTEXT("ESK_SEED=%u ESK_LIVES=1, store %u, %s, key type %u",
                (unsigned)seed, store, life.medium->name, keys[key].type);
    ESK_CHECK_INT(esk_model_tree_make_on(&life.model, &table, &config, seed),
                  ESK_OK);
    failing_device_make(&life.front, life.model.device);
    life.model.device = &life.front;
    ESK_CHECK_HELD(esk_model_tree_remount(&life.model), life.model.why);
    state_only();
}

/// Finds the table's state among those allowed from `first` on.
static void state_resolve(uint32_t first) {
    struct esk_model_tree *model = &life.model;
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    size_t bytes = model->range * sizeof *versions;
    bool found = false;
    ESK_CHECK_HELD(esk_model_tree_read_all(model, versions), model->why);
    for (uint32_t i = first; i < life.state_count && !found; i++) {
        found = memcmp(life.states[i], versions, bytes) == 0;
    }
    if (!found && life.medium->cache != 0 &&
        model->table.store == ESK_STORE_INPLACE) {
        /* Each key separately: nothing keeps the order of its changes. */
        found = true;
        for (uint32_t number = 0; number < model->range; number++) {
            bool may = false;
            for (uint32_t i = first; i < life.state_count; i++) {
                may = may || life.states[i][number] == versions[number];
            }
            found = found && may;
        }
    }
    ESK_CHECK_HELD(found, "in no state that is allowed");
    esk_model_tree_model_set(model, versions);
    if (first == 0) {
        state_only(); /* else some changes are still in the card's cache */
    }
}

/// Turns on the power and mounts without faults, perhaps with one more cut.
static void revive(void) {
    struct esk_model_tree *model = &life.model;
    bool cut = !esk_sim_is_on(model->sim);
    cuts += cut ? 1 : 0;
    uint32_t first = cut || life.medium->cache == 0 ? 0 : life.state_count - 1;
    read_fails = 0;
    esk_sim_failures_set(model->sim, NULL);
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    model->in_batch = false;
    int status = ESK_E_IO;
    for (uint32_t i = 0; i < 3 && status != ESK_OK; i++) {
        esk_sim_power_on(model->sim);
        if (i < 2 && cut && esk_model_tree_random(model, 3) == 0) {
            esk_sim_cut_at(model->sim,
                           esk_sim_op_count(model->sim) +
                               esk_model_tree_random(model, 3),
                           ESK_SIM_CUT_DRAWN);
        }
        status =
            esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH);
        if (status == ESK_OK) {
            status = esk_model_tree_open(model);
        }
        ESK_CHECK(status == ESK_OK || !esk_sim_is_on(model->sim));
        esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    }
    ESK_CHECK_INT(status, ESK_OK);
    state_resolve(first);
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
}

/// Draws a fault and when it happens.
static void blow_aim(void) {
    struct esk_model_tree *model = &life.model;
    struct esk_sim_failures failures = {.program = {0}};
    struct esk_sim_failure burst = {
        .burst_start = esk_model_tree_random(model, 30), .burst_length = 1};
    uint32_t choice = esk_model_tree_random(model, 6);
    /* On a card that caches only the power is cut: a write that failed may be
       in the cache, so the lost changes are unknown. */
    choice = life.medium->cache != 0 ? 3 : choice;
    if (choice < 2 && life.wear-- == 0) {
        life.wear = 0;
        choice += 2;
    }
    switch (choice) {
    case 0:
        failures.program = burst;
        life.worn = true;
        break;
    case 1:
        burst.burst_start /= 8;
        failures.erase = burst;
        life.worn = true;
        break;
    case 2:
        burst.burst_length += esk_model_tree_random(model, 8);
        failures.transfer = burst;
        break;
    case 3:
        esk_sim_cut_at(model->sim,
                       esk_sim_op_count(model->sim) +
                           esk_model_tree_random(model, 30),
                       ESK_SIM_CUT_DRAWN);
        return;
    case 4:
        read_fails = 1 + esk_model_tree_random(model, 60);
        return;
    default:
        return;
    }
    esk_sim_failures_set(model->sim, &failures);
}

/// A put or delete of one row, or a put of several.
static int change_call(uint32_t *done) {
    struct esk_model_tree *model = &life.model;
    uint8_t rows[ROWS_MAX * PAGE_MAX];
    uint32_t number = esk_model_tree_random(model, model->range);
    uint32_t kind = esk_model_tree_random(model, 10);
    struct change *change = life.changes;
    *done = 0;
    if (kind < 4) {
        esk_model_tree_key(model, number, rows);
        *change = (struct change){number, 0};
        life.change_count = 1;
        int status = esk_tree_delete(model->tree, rows);
        *done = status == ESK_OK ? 1 : 0;
        ESK_CHECK(status != ESK_FULL || model->in_batch || life.worn);
        return status;
    }
    uint32_t count = kind < 9 ? 1 : 1 + esk_model_tree_random(model, ROWS_MAX);
    uint32_t gap = 1 + esk_model_tree_random(model, 3);
    bool there = model->expected.version[number] != 0;
    for (uint32_t i = 0; i < count && number < model->range; i++) {
        *change++ = (struct change){number, ++model->version};
        esk_model_tree_row(model, number, model->version,
                           rows + (size_t)i * model->row_bytes);
        number += gap;
    }
    life.change_count = (uint32_t)(change - life.changes);
    if (life.change_count > 1) {
        return esk_tree_put_many(model->tree, rows, life.change_count, done);
    }
    int status = esk_tree_put(model->tree, rows);
    *done = status == ESK_OK ? 1 : 0;
    ESK_CHECK(status != ESK_FULL || !there || model->in_batch || life.worn);
    return status;
}

/// A write that failed tore a page of a batch in place, or failed during a
/// merge: the batch can only be aborted.
static void batch_lost(void) {
    struct esk_model_tree *model = &life.model;
    ESK_CHECK_INT(esk_tree_commit(model->tree), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_tree_abort(model->tree), ESK_OK);
    model->expected = model->before;
    model->in_batch = false;
    state_only();
    ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
}

/// Begins a batch, commits it or aborts it.
static int batch_call(void) {
    struct esk_model_tree *model = &life.model;
    int status = ESK_OK;
    if (!moves() && model->table.batch_pages == 0 && !model->table.merges) {
        ESK_CHECK_INT(esk_tree_begin(model->tree, 0), ESK_E_UNSUPPORTED);
        return ESK_OK;
    }
    if (!model->in_batch) {
        status = esk_tree_begin(model->tree, 0);
        model->before = model->expected;
        model->in_batch = status == ESK_OK;
        life.torn = false;
    } else if (esk_model_tree_random(model, 3) == 0) {
        status = esk_tree_abort(model->tree);
        ESK_CHECK(status == ESK_OK || !moves());
        model->in_batch = status != ESK_OK;
        if (status == ESK_OK) {
            model->expected = model->before;
        }
    } else {
        status = esk_tree_commit(model->tree);
        if (status == ESK_E_CORRUPT && life.torn) {
            batch_lost(); /* a page that left the tree may be torn */
            return ESK_OK;
        }
        model->in_batch = status != ESK_OK;
        if (status != ESK_OK) {
            life.doubted = true;
            state_allow(model->expected.version);
        }
    }
    return status;
}

/// After a write in place that failed: the next change repeats it; then each
/// key of the call has its old or its new row.
static void inplace_resolve(void) {
    struct esk_model_tree *model = &life.model;
    life.torn = model->in_batch;
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    uint32_t probe = life.changes[0].number;
    read_fails = 0;
    esk_sim_failures_set(model->sim, NULL);
    uint32_t other = (probe + model->range / 2) % model->range;
    for (uint32_t i = 0; i < life.change_count; i++) {
        other += other == life.changes[i].number ? 1 : 0;
    }
    other %= model->range;
    int status = esk_model_tree_put(model, other);
    if (model->in_batch && (status == ESK_E_CORRUPT ||
                            !esk_model_tree_read_all(model, versions))) {
        batch_lost();
        return;
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    ESK_CHECK_HELD(esk_model_tree_read_all(model, versions), model->why);
    for (uint32_t number = 0; number < model->range; number++) {
        bool may = versions[number] == model->expected.version[number];
        for (uint32_t i = 0; i < life.change_count; i++) {
            may = may || (life.changes[i].number == number &&
                          life.changes[i].version == versions[number]);
        }
        ESK_CHECK_HELD(may, "a failed call changed another key");
    }
    esk_model_tree_model_set(model, versions);
    state_only();
}

/// Updates the expected rows by a change that was made, or not.
static void change_note(int status, uint32_t done, bool programmed) {
    struct esk_model_tree *model = &life.model;
    for (uint32_t i = 0; i < done; i++) {
        struct change *change = &life.changes[i];
        uint32_t *version = &model->expected.version[change->number];
        model->expected.rows += change->version != 0 && *version == 0 ? 1 : 0;
        model->expected.rows -= change->version == 0 && *version != 0 ? 1 : 0;
        *version = change->version;
        if (is_cached() && !model->in_batch) {
            state_allow(model->expected.version);
        }
    }
    bool failed = status == ESK_E_IO || status == ESK_E_WORN;
    bool may_stay = failed && !moves() && esk_sim_is_on(model->sim);
    if (model->in_batch && !may_stay) {
        return;
    }
    if (!is_cached() && programmed && done > 0) {
        state_only();
    }
    if (failed && !may_stay) {
        failed_allow(done);
    } else if (failed) {
        inplace_resolve();
    }
}

static int sync_call(void) {
    const struct esk_sim_counters *counters = esk_sim_counters(life.model.sim);
    uint64_t programs = counters->programs;
    int status = esk_tree_sync(life.model.tree);
    life.doubted = life.doubted && counters->programs == programs;
    if (status == ESK_OK && is_cached() && !life.model.in_batch &&
        !life.doubted) {
        state_only();
    }
    return status;
}

/// One random call, and its outcome in the expected rows.
static int call_make(void) {
    struct esk_model_tree *model = &life.model;
    uint32_t choice = esk_model_tree_random(model, 20);
    uint64_t programs = esk_sim_counters(model->sim)->programs;
    uint32_t done = 0;
    if (life.state_count > STATES_MAX / 2) {
        return sync_call();
    }
    if (choice < 14) {
        int status = change_call(&done);
        change_note(status, done,
                    esk_sim_counters(model->sim)->programs != programs);
        return status;
    }
    if (choice < 16) {
        int status = batch_call();
        if (status == ESK_OK && !model->in_batch &&
            esk_sim_counters(model->sim)->programs != programs) {
            state_only(); /* a commit; an empty one programs nothing */
        }
        return status;
    }
    if (choice < 18) {
        return sync_call();
    }
    return esk_volume_step(
        &model->volume, (uint16_t)(1 + esk_model_tree_random(model, 4)), NULL);
}

static void live(void) {
    struct esk_model_tree *model = &life.model;
    for (uint32_t blow = 0; blow < BLOWS; blow++) {
        blow_aim();
        int status = ESK_OK;
        for (uint32_t i = 0; i < CALLS_MAX && status >= 0; i++) {
            status = call_make();
            calls_failed += status < 0 && esk_sim_is_on(model->sim) ? 1 : 0;
            ESK_CHECK_INT(status < 0 && status != ESK_E_IO &&
                                  status != ESK_E_WORN
                              ? status
                              : ESK_OK,
                          ESK_OK);
        }
        if (!esk_sim_is_on(model->sim) ||
            esk_model_tree_random(model, 3) == 0) {
            revive();
            continue;
        }
        read_fails = 0;
        esk_sim_failures_set(model->sim, NULL);
        esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
        ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
    }
}

static uint32_t environment(const char *name, uint32_t otherwise) {
    const char *text = getenv(name);
    return text == NULL ? otherwise : (uint32_t)strtoul(text, NULL, 10);
}

ESK_TEST(tree_keeps_its_promises_under_random_faults) {
    uint32_t first = environment("ESK_SEED", 1);
    uint32_t lives = environment("ESK_LIVES", LIVES);
    for (uint32_t seed = first; seed < first + lives; seed++) {
        life_begin(seed);
        live();
        esk_model_tree_free(&life.model);
    }
    ESK_CHECK(cuts >= 4 * lives);
    ESK_CHECK(calls_failed >= 4 * lives);
}

/// Lives that broke a promise once.
ESK_TEST(tree_keeps_its_promises_where_it_did_not) {
    static const uint32_t seeds[] = {
        1470,   /* a bad block with a valid page was taken back */
        2278,   /* the pages were taken back that outvoted a failed root */
        94914,  /* the same, in part, and blocks are pages */
        8378,   /* behind three bad blocks, a head's first page was old */
        103744, /* the first root of a tree in place was lost, not its pages */
        30711,  /* a header that could not be read was no live page */
    };
    for (uint32_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        life_begin(seeds[i]);
        live();
        esk_model_tree_free(&life.model);
    }
}

ESK_TEST_MAIN()
