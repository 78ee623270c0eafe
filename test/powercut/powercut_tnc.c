// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The power-cut campaign of packed nodes: the tree node cache on flash.
/// test/harness/cut_campaign.h describes the cuts and the arguments.
///
/// After a cut the tree must be that of the last sync, of a commit since then,
/// or of the commit that was cut. Changes after that commit are lost.
#include <stdio.h>

#include "esker/schema.h"
#include "table/tree/tnc/tnc_pages.h"
#include "test/harness/cut_campaign.h"
#include "test/harness/media.h"
#include "volume/volume.h"

enum {
    FIRST = 2, ///< block of the region
    KEYS = 240,
    KEY_BYTES = 4,
    ROW_BYTES = 16,
    STATES_MAX = 24,
    STEPS_AFTER = 30,
    PREFILL = 1000, ///< steps before the cuts
    MEMORY_BYTES = 1 << 14,
};

struct cut_tnc {
    const char *name;
    struct esk_geometry geometry;
    uint32_t ops;
    uint32_t nodes; ///< of RAM
    uint16_t fanout;
    uint16_t cache; ///< programs that the medium caches
};

static const struct cut_tnc configs[] = {
    {"tnc_nor", ESK_NOR(FIRST + 44, 8, 256), 500, 14, 8, 0},
    {"tnc_nor_small", ESK_NOR(FIRST + 16, 8, 256), 400, 14, 8, 0},
    {"tnc_nor_high", ESK_NOR(FIRST + 64, 8, 256), 500, 24, 4, 0},
    {"tnc_nand", ESK_NAND(FIRST + 64, 4, 512), 400, 14, 8, 0},
    {"tnc_card", ESK_CARD(FIRST + 44, 8, 256), 400, 14, 8, 0},
    {"tnc_card_cache", ESK_CARD(FIRST + 44, 8, 256), 400, 14, 8, 6},
};

struct rows {
    uint32_t value[KEYS]; ///< 0: no such key
};

/// All that a call or a cut can change, beside the medium.
struct state {
    struct esk_volume volume;
    struct esk_tnc_pages store; ///< points into `memory`
    uint64_t memory[MEMORY_BYTES / 8];
    struct rows now;
    struct rows states[STATES_MAX]; ///< that a cut may leave, beside `now`
    uint32_t state_count;
    uint64_t random;
    uint32_t value; ///< the last one that was put
};

static const struct cut_tnc *config;
static struct esk_sim *sim;
static struct state state;
static struct {
    struct esk_sim *sim;
    struct state state;
} saves[CUT_SNAPSHOTS];
static char why[200];

static uint32_t drawn(uint32_t below) {
    state.random ^= state.random << 13;
    state.random ^= state.random >> 7;
    state.random ^= state.random << 17;
    return (uint32_t)((state.random >> 32) * below >> 32);
}

static void tnc_keep(enum cut_snapshot to) {
    saves[to].state = state;
    esk_sim_restore(saves[to].sim, sim);
}

static void tnc_restore(enum cut_snapshot from) {
    state = saves[from].state;
    esk_sim_restore(sim, saves[from].sim);
}

static int tnc_mount(void) {
    const struct esk_ring_config region = {
        .block = FIRST,
        .blocks = config->geometry.block_count - FIRST,
        .seed = 5,
        .unit = 1,
        .kind = ESK_PAGE_TREE,
        .table = 1,
        .ahead = 1,
        .refuse = true};
    const struct esk_tnc_config own = {.row_bytes = ROW_BYTES,
                                       .key_bytes = KEY_BYTES,
                                       .key_offset = 4,
                                       .fanout = config->fanout,
                                       .key_type = ESK_TYPE_I32};
    uint32_t bytes = esk_tnc_pages_memory_bytes(
        &own, config->geometry.page_bytes, config->nodes);
    memset(state.memory, 0xA5, sizeof state.memory);
    return bytes > sizeof state.memory
               ? ESK_E_NO_MEMORY
               : esk_tnc_pages_mount(&state.store, &state.volume, &region, &own,
                                     state.memory, bytes);
}

/// One change. It takes effect after every commit of its call.
static int change(void) {
    uint8_t row[ROW_BYTES] = {0};
    uint32_t key = drawn(KEYS);
    bool deletes = drawn(100) < 40;
    uint32_t commits = state.store.tnc.stats.commits;
    struct rows before = state.now;
    esk_store_u32(row + 4, key);
    esk_store_u32(row + 8, ++state.value);
    int status = deletes ? esk_tnc_pages_delete(&state.store, row + 4)
                         : esk_tnc_pages_put(&state.store, row);
    if (status == ESK_OK) {
        state.now.value[key] = deletes ? 0 : state.value;
    }
    if (state.store.tnc.stats.commits != commits) {
        /* A medium with a cache may still lose the commit. */
        state.state_count = config->cache > 0 ? state.state_count : 0;
        state.states[state.state_count++] = before;
    }
    return status > 0 ? ESK_OK : status;
}

static int tnc_step(struct cut_campaign *run) {
    (void)run;
    int status = ESK_OK;
    uint32_t kind = drawn(100);
    if (kind < 8 || state.state_count > STATES_MAX - 2) {
        status = esk_tnc_pages_sync(&state.store);
        if (status == ESK_OK) {
            state.states[0] = state.now;
            state.state_count = 1;
        }
    } else if (kind < 10) {
        esk_tnc_clean(&state.store.tnc, drawn(config->nodes));
    } else {
        status = change();
    }
    return esk_sim_is_on(sim) ? status : ESK_E_IO;
}

/// Reads all rows.
static bool rows_read(struct cut_campaign *run, struct rows *rows) {
    uint8_t row[ROW_BYTES];
    uint8_t key[KEY_BYTES];
    const uint8_t *last = NULL;
    uint32_t count = 0;
    int status = ESK_OK;
    memset(rows, 0, sizeof *rows);
    for (;;) {
        status = esk_tnc_above(&state.store.tnc, last, row);
        if (status != ESK_OK || esk_load_u32(row + 4) >= KEYS) {
            break;
        }
        rows->value[esk_load_u32(row + 4)] = esk_load_u32(row + 8);
        memcpy(key, row + 4, sizeof key);
        last = key;
        count++;
    }
    if (status != ESK_NOT_FOUND) {
        return cut_fail(run, "reading: %s", esk_status_text(status));
    }
    return count == state.store.tnc.root.rows ||
           cut_fail(run, "%u rows of %u", (unsigned)count,
                    (unsigned)state.store.tnc.root.rows);
}

static bool tnc_recover(struct cut_campaign *run) {
    struct rows found;
    bool was_on = esk_sim_is_on(sim);
    esk_sim_power_on(sim);
    esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE); /* one that did not come */
    int status = tnc_mount();
    if (status != ESK_OK) {
        return cut_fail(run, "mount: %s", esk_status_text(status));
    }
    if (!rows_read(run, &found)) {
        return false;
    }
    bool is = memcmp(&found, &state.now, sizeof found) == 0;
    for (uint32_t i = 0; i < state.state_count; i++) {
        is = is || memcmp(&found, &state.states[i], sizeof found) == 0;
    }
    state.now = found;
    /* A reset alone does not empty the medium's cache. */
    state.state_count = was_on && config->cache > 0 ? state.state_count : 0;
    state.states[state.state_count++] = found;
    return is ? esk_sim_violations(sim) == 0 ||
                    cut_fail(run, "%s", esk_sim_violation(sim))
              : cut_fail(run, "in no state that a cut may leave");
}

/// Runs some steps. False: one failed with the power on.
static bool steps_run(struct cut_campaign *run) {
    int status = ESK_OK;
    for (uint32_t i = 0; i < STEPS_AFTER && status == ESK_OK; i++) {
        status = tnc_step(run);
    }
    return status == ESK_OK || !esk_sim_is_on(sim) ||
           cut_fail(run, "going on: %s", esk_status_text(status));
}

static bool tnc_deeper(struct cut_campaign *run) {
    esk_sim_cut_at(sim, esk_sim_op_count(sim) + drawn(12), ESK_SIM_CUT_DRAWN);
    return steps_run(run);
}

static bool tnc_go_on(struct cut_campaign *run) {
    struct rows found;
    if (!steps_run(run)) {
        return false;
    }
    if (drawn(2) == 0) {
        return tnc_recover(run);
    }
    return rows_read(run, &found) &&
           (memcmp(&found, &state.now, sizeof found) == 0 ||
            cut_fail(run, "rows differ"));
}

static void tnc_stir(uint64_t bits) {
    state.random ^= bits;
}

static const char *config_name(size_t at) {
    return configs[at].name;
}

static bool tnc_make(struct cut_campaign *run, size_t at) {
    config = &configs[at];
    run->why = why;
    run->why_bytes = sizeof why;
    run->ops = config->ops;
    run->mode_last = ESK_SIM_CUT_ALL_BUT_ONE;
    const struct esk_sim_config medium = {
        .geometry = config->geometry,
        .seed = run->seed,
        .dirty = true,
        .erase_keeps = (config->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0,
        .cache_programs = config->cache};
    memset(&state, 0, sizeof state);
    state.random = 88172645463325252u + run->seed;
    state.state_count = 1;
    int status = esk_sim_create(&sim, &medium);
    if (status == ESK_OK) {
        state.volume.device = esk_sim_device(sim);
        status = tnc_mount();
    }
    for (uint32_t i = 0; i < PREFILL && status == ESK_OK; i++) {
        status = tnc_step(run);
    }
    run->sim = sim;
    for (int i = 0; i < CUT_SNAPSHOTS && status == ESK_OK; i++) {
        status = esk_sim_clone(&saves[i].sim, sim);
    }
    return status == ESK_OK ||
           cut_fail(run, "prefill: %s", esk_status_text(status));
}

static void tnc_free(void) {
    for (int i = 0; i < CUT_SNAPSHOTS; i++) {
        esk_sim_destroy(saves[i].sim);
    }
    esk_sim_destroy(sim);
}

static void tnc_print(const struct cut_campaign *run) {
    printf("%-20s %6llu cuts over %4lu ops; height %u, %lu nodes, "
           "%lu pages of %lu",
           run->name, (unsigned long long)run->cuts, (unsigned long)config->ops,
           state.store.tnc.root.height,
           (unsigned long)state.store.tnc.root.nodes,
           (unsigned long)state.store.ring.head,
           (unsigned long)esk_ring_pages(&state.store.ring));
}

int main(int argc, char **argv) {
    const struct cut_kind tnc = {.program = "powercut_tnc",
                                 .configs = sizeof configs / sizeof configs[0],
                                 .name = config_name,
                                 .make = tnc_make,
                                 .free = tnc_free,
                                 .keep = tnc_keep,
                                 .restore = tnc_restore,
                                 .step = tnc_step,
                                 .stir = tnc_stir,
                                 .recover = tnc_recover,
                                 .deeper = tnc_deeper,
                                 .go_on = tnc_go_on,
                                 .print = tnc_print};
    return cut_campaign_main(&tnc, argc, argv);
}
