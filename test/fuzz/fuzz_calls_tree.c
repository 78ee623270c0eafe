// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes the order of calls on a tree: a byte program on a simulated device
/// and a sorted array (test/harness/model_tree.h), with a reader.
///
///     byte 0, 1   medium, store (64: tnc), key, row
///     byte 2      how the table is opened
///     rest        one call a byte: its kind in the low bits, its size in the
///                 high ones
///
/// A row that is missing, wrong, twice or out of order aborts, and so does a
/// call that the medium refuses, and a reader that returns other rows than its
/// snapshot's without ESK_E_STALE.
///
/// ESK_FUZZ_SEEDS=folder writes the first inputs of the corpus.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/seeds.h"
#include "test/harness/arena.h"
#include "test/harness/model_tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum {
    PROGRAM_BYTES_MAX = 60,
    KEY_RANGE = 200,
    READER_BYTES_MAX = 8192,
    CUT_CHANGES = 40
};

static const struct esk_geometry moving[] = {
    {60, 4, 256, 0, 1, 0, 0xFF, 0},
    {60, 4, 256, 0, 256, 1, 0xFF, 0},
    {48, 8, 512, 0, 512, 1, 0xFF, 0},
    {30, 16, 512, 0, 8, 0, 0x00, ESK_MEDIUM_OVERWRITE},
};

static const struct esk_geometry staying = {60,  4, 256,  0,
                                            256, 0, 0x00, ESK_MEDIUM_OVERWRITE};

/// The kinds of call, one for each value of a byte's low bits.
enum call {
    CALL_PUT,
    CALL_DELETE,
    CALL_TURN,
    CALL_BATCH,
    CALL_CUT,
    CALL_STEP,
    CALL_READER,
    CALL_VERIFY,
};

struct change {
    uint32_t number;
    uint32_t version; ///< 0: no row
};

/// A model, the position in the program, and the reader's expected rows.
struct run {
    struct esk_model_tree model;
    struct esk_tree *reader; ///< NULL: none
    struct esk_model_tree_expected shown;
    struct esk_model_tree_expected
        start; ///< before changes that a cut may lose
    uint64_t arena[READER_BYTES_MAX / 8];
    uint32_t at;
    uint32_t stride;
};

_Noreturn static void fail(const struct run *run, const char *what) {
    char text[512];
    esk_sim_describe(run->model.sim, text, sizeof text);
    fprintf(stderr, "%s: %s\n%s\n%s\n", what, run->model.why, text,
            esk_sim_violation(run->model.sim));
    abort();
}

static void verify(struct run *run) {
    if (!esk_model_tree_verify(&run->model)) {
        fail(run, "verify");
    }
}

/// Puts or deletes the next key. Returns whether there was power.
static bool row_change(struct run *run, bool puts) {
    struct esk_model_tree *model = &run->model;
    bool there = model->expected.version[run->at] != 0;
    int status = puts ? esk_model_tree_put(model, run->at)
                      : esk_model_tree_delete(model, run->at);
    bool refused = status == ESK_FULL && (model->in_batch || (puts && !there));
    bool absent = status == ESK_NOT_FOUND && !puts && !there;
    bool dark = status == ESK_E_IO && !esk_sim_is_on(model->sim);
    if (status != ESK_OK && !refused && !absent && !dark) {
        fail(run, esk_status_text(status));
    }
    run->at = (run->at + run->stride) % model->range;
    return !dark;
}

static void reader_close(struct run *run) {
    if (run->reader != NULL) {
        esk_tree_close(run->reader);
        run->reader = NULL;
    }
}

static void remount(struct run *run) {
    reader_close(run);
    if (!esk_model_tree_remount(&run->model)) {
        fail(run, "remount");
    }
}

/// Mounts the table after a cut: RAM is lost.
static void take_up(struct run *run) {
    struct esk_model_tree *model = &run->model;
    run->reader = NULL;
    model->in_batch = false;
    int status =
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH);
    if (status == ESK_OK) {
        status = esk_model_tree_open(model);
    }
    if (status != ESK_OK) {
        fail(run, esk_status_text(status));
    }
}

/// Sets the model to the table's rows: those after `least` or more of the
/// changes since `run->start`.
static void changes_resolve(struct run *run, const struct change *changes,
                            uint32_t least, uint32_t count) {
    static uint32_t versions[ESK_MODEL_TREE_KEYS_MAX];
    struct esk_model_tree *model = &run->model;
    size_t bytes = model->range * sizeof *versions;
    uint32_t made = 0;
    if (!esk_model_tree_read_all(model, versions)) {
        fail(run, "after a cut");
    }
    while (made < least || memcmp(run->start.version, versions, bytes) != 0) {
        if (made == count) {
            fail(run, "after a cut: in no state that it may leave");
        }
        run->start.version[changes[made].number] = changes[made].version;
        made++;
    }
    esk_model_tree_model_set(model, versions);
}

/// Changes until the power is cut, at operation `much` from now or never. The
/// interrupted change has taken effect or not, and so have the last ones in a
/// write cache; of a batch nothing has.
static void cut_and_recover(struct run *run, uint32_t much) {
    struct esk_model_tree *model = &run->model;
    struct change changes[CUT_CHANGES];
    bool on = true;
    bool cached =
        model->table.write_frames != 0 || model->table.store == ESK_STORE_TNC;
    uint32_t count = 0;
    /* In place needs page writes that are atomic at power loss. */
    bool whole = model->table.store == ESK_STORE_INPLACE;
    if (esk_tree_sync(model->tree) != ESK_OK) {
        fail(run, "sync");
    }
    run->start = model->in_batch ? model->before : model->expected;
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + much,
                   !whole          ? ESK_SIM_CUT_DRAWN
                   : much % 2 == 0 ? ESK_SIM_CUT_BEFORE
                                   : ESK_SIM_CUT_AFTER);
    for (uint32_t i = 0; i < CUT_CHANGES && on; i++) {
        bool puts = i % 4 != 3;
        struct change *change = &changes[count];
        change->number = run->at;
        on = row_change(run, puts);
        change->version = puts ? model->version : 0;
        bool made = model->expected.version[change->number] == change->version;
        count += !on || made ? 1 : 0;
    }
    uint32_t least = cached ? 0 : on ? count : count - 1;
    if (model->in_batch) {
        least = 0;
        count = 0;
    }
    esk_sim_power_on(model->sim);
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    take_up(run);
    changes_resolve(run, changes, least, count);
    verify(run);
}

/// Opens a reader, or renews it.
static void reader_take(struct run *run) {
    struct esk_model_tree *model = &run->model;
    /* A reader sees the changes that a write cache has written. */
    int status = model->in_batch ? ESK_OK : esk_tree_sync(model->tree);
    if (status != ESK_OK) {
        fail(run, "sync");
    }
    if (run->reader == NULL) {
        struct esk_tree_config config = {
            .frames = (uint8_t)(1 + model->table.frames % 3),
            .policy = model->table.policy};
        status =
            test_tree_reader_open(&model->volume, &run->reader, model->tree,
                                  &config, run->arena, sizeof run->arena);
    } else {
        status = esk_tree_reader_renew(run->reader);
    }
    if (status != ESK_OK) {
        fail(run, "reader");
    }
    run->shown = model->in_batch ? model->before : model->expected;
}

/// Scans the reader: its snapshot, to the end or until it is stale.
static void reader_check(struct run *run, bool backward) {
    struct esk_model_tree *model = &run->model;
    struct esk_tree_cursor cursor;
    struct esk_tree_query query = {.backward = backward};
    uint8_t row[512];
    uint8_t expected[512];
    bool moves = !esk_model_tree_overwrites(model->table.store);
    if (!moves) {
        run->shown = model->expected;
    }
    if (esk_tree_cursor_open(run->reader, &cursor, &query) != ESK_OK) {
        fail(run, "a reader's cursor");
    }
    int status = ESK_OK;
    for (uint32_t i = 0; i < model->range && status == ESK_OK; i++) {
        uint32_t number = backward ? model->range - 1u - i : i;
        if (run->shown.version[number] == 0) {
            continue;
        }
        status = esk_tree_cursor_next(run->reader, &cursor, row);
        esk_model_tree_row(model, number, run->shown.version[number], expected);
        if (status == ESK_END ||
            (status == ESK_OK &&
             memcmp(row, expected, model->row_bytes) != 0)) {
            fail(run, "a reader shows another tree");
        }
    }
    if (status == ESK_OK) {
        status = esk_tree_cursor_next(run->reader, &cursor, row);
    }
    if (status != ESK_END && !(status == ESK_E_STALE && moves)) {
        fail(run, "a reader does not come to its end");
    }
}

static void call_make(struct run *run, uint8_t byte) {
    uint32_t much = byte >> 3;
    switch ((enum call)(byte & 7u)) {
    case CALL_PUT:
    case CALL_DELETE:
        for (uint32_t i = 0; i <= much; i++) {
            (void)row_change(run, (byte & 7u) == CALL_PUT);
        }
        break;
    case CALL_TURN:
        run->stride = 1 + much % 8 * 7;
        run->at = (run->at + much / 8 * 41) % run->model.range;
        break;
    case CALL_BATCH:
        if (!esk_model_tree_batch(&run->model, much, much % 3 == 0)) {
            fail(run, "batch");
        }
        break;
    case CALL_CUT:
        cut_and_recover(run, much);
        break;
    case CALL_STEP:
        if (much == 0) {
            remount(run);
        } else if (esk_volume_step(&run->model.volume, (uint16_t)much, NULL) !=
                   ESK_OK) {
            fail(run, "step");
        }
        break;
    case CALL_READER:
        if (run->reader == NULL || much % 4 == 0) {
            reader_take(run);
        } else {
            reader_check(run, much % 2 == 0);
        }
        break;
    case CALL_VERIFY:
        verify(run);
        break;
    }
}

/// Makes the table. False: not possible on such pages.
static bool run_start(struct run *run, const uint8_t *data) {
    static const uint8_t types[] = {ESK_TYPE_I32, ESK_TYPE_U8, ESK_TYPE_F64,
                                    ESK_TYPE_BYTES};
    bool packs = (data[0] & 64u) != 0;
    uint8_t store = packs ? (uint8_t)ESK_STORE_TNC
                          : (uint8_t)(ESK_STORE_INPLACE + (data[0] & 3u));
    bool stays = esk_model_tree_overwrites(store);
    struct esk_model_tree_table table = {
        .store = store,
        .key_type = types[data[1] & 3u],
        .key_bytes = (data[1] & 4u) != 0 ? 20 : 3,
        .pad_bytes = (uint16_t)((data[1] >> 3 & 7u) * 5),
        .k_percent = (uint8_t)(30 + (data[1] >> 6) * 15),
        .frames = (uint8_t)(2 + (data[2] & 3u)),
        .write_frames = stays || packs ? 0 : data[2] >> 5,
        .policy = data[2] >> 2 & 1u,
        .checksum = (uint8_t)((data[2] >> 3 & 3u) % 2),
        .key_range = KEY_RANGE,
        .blocks = 24,
    };
    table.frames = (uint8_t)(table.frames + table.write_frames);
    if (packs) { /* from height 1 on */
        table.k_percent = (uint8_t)(table.k_percent % 41u + 10u);
        table.frames = (uint8_t)(5u + 4u * (data[2] >> 5) + (data[2] & 3u));
        table.merges = (data[2] & 4u) != 0;
    }
    struct esk_sim_config config = {
        .geometry = stays ? staying : moving[data[0] >> 2 & 3u],
        .seed = data[0],
        .bad_blocks = !stays && (data[0] & 16u) != 0 ? 1 : 0,
        .dirty = !stays && (data[0] & 32u) != 0,
    };
    config.erase_keeps = (config.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
    if (config.geometry.block_count < 40) {
        table.blocks = 16;
    }
    if (packs) {
        table.blocks = (uint16_t)(config.geometry.block_count - 16u);
    }
    int status = esk_model_tree_make_on(&run->model, &table, &config, data[1]);
    if (status != ESK_OK && status != ESK_E_SCHEMA) {
        fail(run, esk_status_text(status));
    }
    run->stride = 1;
    return status == ESK_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static struct run run;
    if (bytes < 4 || bytes > PROGRAM_BYTES_MAX) {
        return 0;
    }
    memset(&run, 0, sizeof run);
    if (!run_start(&run, data)) {
        esk_model_tree_free(&run.model);
        return 0;
    }
    for (size_t i = 3; i < bytes; i++) {
        call_make(&run, data[i]);
    }
    if (run.reader != NULL) {
        reader_check(&run, false);
    }
    verify(&run);
    reader_close(&run);
    if (esk_sim_violations(run.model.sim) != 0) {
        fail(&run, "the medium was misused");
    }
    esk_model_tree_free(&run.model);
    return 0;
}

/* -------------------------------------------------------- where to begin */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const uint8_t seeds[][SEED_CALLS_BYTES] = {
        {0, 0x10, 0, 0xF8, 0x12, 0xF8, 0x39, 7, 0x44, 0x06, 0x0E, 7},
        {1, 0x11, 1, 0xF8, 0x24, 0x34, 0x44, 7, 0x1C, 0xF9, 0x05, 7},
        {2, 0x18, 0, 0xF8, 6, 0x3A, 0xF8, 0x16, 0x0E, 0xF8, 0x0E, 7},
        {3, 0x18, 4, 0xF8, 6, 0x3A, 0xF8, 0x16, 0x0E, 0xF8, 0x0E, 7},
        {6, 0x5F, 2, 0xF8, 0xFB, 0x78, 0x0B, 0xFB, 0x79, 0x1B, 0x05, 7},
        {7, 0x9A, 7, 0xF8, 0xFB, 0x78, 0x0B, 0xFB, 0x79, 0x1B, 0x3C, 7},
        {11, 0x0C, 0, 0xF8, 0xF8, 0x5A, 0xF8, 0x3C, 0x06, 0xF8, 0x0E, 7},
        {15, 0x10, 5, 0xF8, 0xFB, 0x3C, 0x06, 0xFB, 0x78, 0x0E, 0x16, 7},
        {0x33, 0x48, 3, 0xF8, 0x7A, 0xF8, 0xF8, 0x2D, 0xF9, 6, 0x74, 7},
        {0x36, 0x08, 1, 0xF8, 0x7A, 0xF8, 0xF8, 0x2D, 0xF9, 6, 0x74, 7},
        {2, 0x10, 0xE0, 0xF8, 0xFB, 0x3A, 0x24, 6, 0x5C, 0xF8, 0x14, 7},
        {3, 0x98, 0x86, 0xF8, 0x24, 0x3A, 0xF8, 6, 0x1C, 0x34, 0x0E, 7},
        {0x40, 0x10, 0x60, 0xF8, 0x12, 0xF8, 0x39, 7, 0x44, 0x06, 0x0E, 7},
        {0x44, 0x08, 0xE4, 0xF8, 0xFB, 0x78, 0x0B, 0xFB, 0x79, 0x1B, 0x05, 7},
        {0x78, 0x18, 0x84, 0xF8, 0x24, 0x3A, 0xF8, 0xF9, 0x1C, 0x34, 0x0E, 7},
        {0x6C, 0x10, 0x43, 0xF8, 0x7A, 0xF8, 0xF8, 0x2D, 0xF9, 6, 0x74, 7},
    };
    (void)argc;
    (void)argv;
    seeds_write_calls(seeds, sizeof seeds / sizeof seeds[0]);
    return 0;
}
