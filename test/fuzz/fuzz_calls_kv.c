// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes the order of calls on a kv table: a byte program on a simulated
/// device and an array of versions (test/harness/model_kv.h), with two
/// counters, a cursor, a snapshot and a reader.
///
///     byte 0      medium and table
///     byte 1      lengths, checksum, share of live bytes
///     byte 2      how the table is opened
///     rest        one call a byte: its kind in the low bits, its size in the
///                 high ones
///
/// A value that is missing or wrong aborts, and so does a call that the medium
/// refuses, a cursor that leaves out a key or returns one twice or out of
/// order, and a snapshot or a reader that returns other values than its own
/// without ESK_E_STALE.
///
/// ESK_FUZZ_SEEDS=folder writes the first inputs of the corpus.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/seeds.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum {
    PROGRAM_BYTES_MAX = 60,
    COUNTERS = 2,
    CUT_CHANGES = 40,
    KEPT_MAX = 24,
    CURSOR_BYTES = 400,
    CHECKS_MAX = 100, ///< of a reader in a row
};

static const struct esk_model_kv_run tables[] = {
    {"NOR", {.geometry = ESK_NOR(12, 8, 256)}, {.blocks = 4, .keys = 30}},
    {"pages of 128",
     {.geometry = ESK_NOR(20, 8, 128)},
     {.blocks = 9, .keys = 40}},
    {"words of 8",
     {.geometry = ESK_FLASH(16, 8, 256, 8, 0)},
     {.blocks = 5, .keys = 30}},
    {"NAND",
     {.geometry = ESK_NAND(30, 4, 256), .bad_blocks = 2},
     {.blocks = 12, .keys = 30}},
    {"a card that caches",
     {.geometry = ESK_CARD(24, 8, 256),
      .cache_programs = 8,
      .erase_keeps = true},
     {.blocks = 8, .keys = 30}},
    {"EEPROM",
     {.geometry = ESK_OVERWRITTEN(16, 8, 128, 1), .erase_keeps = true},
     {.blocks = 6, .keys = 30}},
    {"bare", {.geometry = ESK_NOR(3, 8, 256)}, {.keys = 25, .bare = true}},
    {"bare NAND",
     {.geometry = ESK_NAND(16, 4, 256), .bad_blocks = 2},
     {.keys = 30, .bare = true}},
    {"index",
     {.geometry = ESK_NOR(48, 8, 256)},
     {.blocks = 16, .keys = 200, .pending = 60, .pending_later = 20}},
    {"index, small",
     {.geometry = ESK_NOR(60, 8, 128)},
     {.blocks = 16, .keys = 120, .pending = 34, .replay_pages = 16}},
    {"index, NAND",
     {.geometry = ESK_NAND(60, 8, 256), .bad_blocks = 2},
     {.blocks = 16, .keys = 200, .pending = 100, .pending_later = 66}},
    {"index, a card that caches",
     {.geometry = ESK_CARD(60, 8, 256),
      .cache_programs = 8,
      .erase_keeps = true},
     {.blocks = 16, .keys = 200, .pending = 100}},
};

/// The kinds of call, one for each value of a byte's low bits.
enum call {
    CALL_PUT,
    CALL_PUT_MORE,
    CALL_DELETE,
    CALL_TURN,
    CALL_BATCH,
    CALL_ADD,
    CALL_SYNC,
    CALL_STEP,
    CALL_CUT,
    CALL_REOPEN,
    CALL_CURSOR,
    CALL_NEXT,
    CALL_SNAPSHOT,
    CALL_READER,
    CALL_READER_LOOK,
    CALL_VERIFY,
};

/// What a number may be after power loss: `synced` up to `now`.
struct counter {
    uint32_t synced;
    uint32_t now;
};

/// A cursor, and which keys it has to return.
struct order {
    struct esk_kv_cursor cursor;
    bool is_open;
    bool backward;
    uint8_t memory[CURSOR_BYTES];
    uint8_t last[ESK_KV_KEY_BYTES_MAX];
    uint8_t last_bytes; ///< 0: none was returned
    bool stays[ESK_MODEL_KV_KEYS_MAX];
    bool met[ESK_MODEL_KV_KEYS_MAX];
};

struct run {
    struct esk_model_kv model;
    struct counter counter[COUNTERS];
    struct order order;
    struct esk_kv_snapshot snapshot;
    struct esk_kv_kept kept[KEPT_MAX];
    bool has_snapshot;
    uint32_t kept_versions[ESK_MODEL_KV_KEYS_MAX];
    struct esk_volume reader_volume;
    struct esk_kv *reader; ///< NULL: none
    uint32_t shown[ESK_MODEL_KV_KEYS_MAX];
    uint64_t arena[ESK_MODEL_KV_ARENA / 8];
    uint16_t at;
    uint16_t stride;
};

_Noreturn static void fail(const struct run *run, const char *what) {
    char text[512];
    esk_sim_describe(run->model.sim, text, sizeof text);
    fprintf(stderr, "%s: %s\n%s\n%s\n", what, run->model.why, text,
            esk_sim_violation(run->model.sim));
    abort();
}

/// Aborts unless a change was made, or the power is off.
/// Returns whether there was power.
static bool change_judge(const struct run *run, int status) {
    bool is_dark = !esk_sim_is_on(run->model.sim);
    if (status != ESK_OK && !(status == ESK_E_IO && is_dark)) {
        fail(run, esk_status_text(status));
    }
    return status == ESK_OK;
}

static bool sync_make(struct run *run) {
    if (!change_judge(run, esk_model_kv_sync(&run->model))) {
        return false;
    }
    for (unsigned i = 0; i < COUNTERS; i++) {
        run->counter[i].synced = run->counter[i].now;
    }
    return true;
}

/// Syncs where the model has no place for so many changes more.
static bool place_make(struct run *run, uint32_t changes) {
    return run->model.ops + changes < ESK_MODEL_KV_OPS_MAX || sync_make(run);
}

static bool key_change(struct run *run, bool puts) {
    uint16_t key = run->at;
    if (!place_make(run, 1)) {
        return false;
    }
    run->at = (uint16_t)((run->at + run->stride) % run->model.table.keys);
    return change_judge(run, puts ? esk_model_kv_put(&run->model, key)
                                  : esk_model_kv_delete(&run->model, key));
}

static bool batch_make(struct run *run, uint32_t changes) {
    return place_make(run, changes) &&
           change_judge(run,
                        esk_model_kv_batch(&run->model, (uint16_t)changes));
}

static const char *const counter_keys[COUNTERS] = {"~boots", "~energy"};

static void others_count(struct run *run) {
    run->model.others = 0;
    for (unsigned i = 0; i < COUNTERS; i++) {
        run->model.others += run->counter[i].now > 0 ? 1 : 0;
    }
}

static bool counter_add(struct run *run, unsigned which, uint32_t by) {
    struct counter *counter = &run->counter[which];
    uint32_t sum = 0;
    int status = esk_kv_add_u32(run->model.kv, counter_keys[which], by, &sum);
    if (status == ESK_FULL) {
        return true;
    }
    counter->now += by; /* perhaps, after power loss */
    others_count(run);
    if (!change_judge(run, status)) {
        return false;
    }
    if (sum != counter->now) {
        fail(run, "a counter has another sum");
    }
    return true;
}

/// Reads the counters after an open.
static void counters_read(struct run *run) {
    for (unsigned i = 0; i < COUNTERS; i++) {
        struct counter *counter = &run->counter[i];
        uint32_t value = 0;
        int status = esk_kv_get_u32(run->model.kv, counter_keys[i], &value);
        if ((status != ESK_OK && status != ESK_NOT_FOUND) ||
            value < counter->synced || value > counter->now) {
            fail(run, "a counter was never that after its sync");
        }
        counter->now = value;
        counter->synced = value;
    }
    others_count(run);
}

static void verify(struct run *run) {
    if (!esk_model_kv_verify(&run->model)) {
        fail(run, "verify");
    }
}

// -------------------------------------------------------------- a cursor

static uint16_t key_number(const uint8_t *key, uint8_t bytes) {
    return bytes < 2 ? UINT16_MAX : (uint16_t)(key[0] | key[1] << 8);
}

static void cursor_begin(struct run *run, uint32_t much) {
    struct order *order = &run->order;
    const struct esk_kv_query query = {.backward = much % 2 == 1,
                                       .step_keys = much % 4 / 2 * 5};
    memset(order, 0, sizeof *order);
    order->is_open = true;
    order->backward = query.backward;
    for (uint16_t key = 0; key < run->model.table.keys; key++) {
        order->stays[key] = run->model.now[key] != 0;
    }
    if (esk_kv_cursor_open(run->model.kv, &order->cursor, &query, order->memory,
                           sizeof order->memory) != ESK_OK) {
        fail(run, "a cursor");
    }
}

/// Keys that are not there now need not be returned any more.
static void cursor_follow(struct run *run) {
    for (uint16_t key = 0; key < run->model.table.keys; key++) {
        run->order.stays[key] =
            run->order.stays[key] && run->model.now[key] != 0;
    }
}

static void key_judge(struct run *run, const uint8_t *key, uint8_t bytes) {
    struct order *order = &run->order;
    uint16_t number = key_number(key, bytes);
    uint8_t least = bytes < order->last_bytes ? bytes : order->last_bytes;
    int way = memcmp(key, order->last, least);
    way = way != 0 ? way : bytes - order->last_bytes;
    if (order->last_bytes > 0 && (way == 0 || (way < 0) != order->backward)) {
        fail(run, "a cursor returns keys out of order");
    }
    if (number < run->model.table.keys) {
        order->met[number] = true;
        if (run->model.now[number] == 0) {
            fail(run, "a cursor returns a key that was deleted");
        }
    }
    memcpy(order->last, key, bytes);
    order->last_bytes = bytes;
}

static void cursor_next(struct run *run, uint32_t much) {
    struct order *order = &run->order;
    int status = order->is_open ? ESK_OK : ESK_END;
    for (uint32_t i = 0; i <= much * 8 && status != ESK_END; i++) {
        uint8_t key[ESK_KV_KEY_BYTES_MAX];
        uint8_t bytes = 0;
        status = esk_kv_cursor_next(run->model.kv, &order->cursor, key, &bytes);
        if (status == ESK_OK) {
            key_judge(run, key, bytes);
        } else if (status != ESK_END && status != ESK_AGAIN) {
            fail(run, esk_status_text(status));
        }
    }
    for (uint16_t key = 0;
         order->is_open && status == ESK_END && key < run->model.table.keys;
         key++) {
        if (order->stays[key] && !order->met[key]) {
            fail(run, "a cursor leaves out a key");
        }
    }
    order->is_open = status != ESK_END;
}

// ------------------------------------------------------------ a snapshot

static void snapshot_close(struct run *run) {
    if (run->has_snapshot) {
        esk_kv_snapshot_close(&run->snapshot);
        run->has_snapshot = false;
    }
}

static void snapshot_take(struct run *run, uint32_t much) {
    snapshot_close(run);
    uint16_t room = (uint16_t)(much * 2 % (KEPT_MAX + 1));
    if (esk_kv_snapshot_open(run->model.kv, &run->snapshot, run->kept, room) !=
        ESK_OK) {
        fail(run, "a snapshot");
    }
    memcpy(run->kept_versions, run->model.now, sizeof run->kept_versions);
    run->has_snapshot = true;
}

static void snapshot_check(struct run *run) {
    for (uint16_t key = 0; run->has_snapshot && key < run->model.table.keys;
         key++) {
        int status = ESK_OK;
        bool is_right = esk_model_kv_value_is(&run->model, &run->snapshot, key,
                                              run->kept_versions[key], &status);
        if (!is_right && status != ESK_E_STALE) {
            fail(run, "a snapshot shows another value");
        }
    }
}

// -------------------------------------------------------------- a reader

static void reader_close(struct run *run) {
    if (run->reader != NULL) {
        esk_kv_close(run->reader);
        esk_volume_unmount(&run->reader_volume);
        run->reader = NULL;
    }
}

static void reader_open(struct run *run) {
    const struct esk_model_kv_table *table = &run->model.table;
    /* A reader writes no index, so what it replays has to fit its RAM. */
    const struct esk_kv_config config = {
        .keys = table->keys + COUNTERS,
        .part = table->pending != 0 ? &esk_kv_part_index : NULL,
        .replay_pages = table->replay_pages};
    static const struct esk_kv_bare bare = {.id = 0x6B76};
    reader_close(run);
    /* A reader needs a writer that made a change since its open. */
    if (!key_change(run, true) || !sync_make(run)) {
        fail(run, "a change before a reader");
    }
    int status = ESK_OK;
    if (table->bare) {
        status = esk_kv_open_bare(&run->reader, &run->reader_volume,
                                  run->model.device, ESK_MOUNT_READ_ONLY, &bare,
                                  &config, run->arena, sizeof run->arena);
    } else {
        status = esk_volume_mount(&run->reader_volume, run->model.device,
                                  ESK_MOUNT_READ_ONLY, run->arena,
                                  sizeof run->arena);
        status =
            status != ESK_OK
                ? status
                : esk_kv_open(&run->reader, &run->reader_volume, "kv", &config);
    }
    if (status == ESK_E_READ_ONLY) { /* the put was refused: nothing is there */
        run->reader = NULL;
        return;
    }
    if (status != ESK_OK) {
        fail(run, esk_status_text(status));
    }
    memcpy(run->shown, run->model.now, sizeof run->shown);
}

/// Whether the reader has a value that the key has had since the reader's open;
/// without an index that of the open.
static bool reader_is_right(struct run *run, uint16_t key) {
    struct esk_model_kv *model = &run->model;
    struct esk_kv *writer = model->kv;
    uint32_t first = run->shown[key];
    uint32_t last = model->table.pending != 0 ? model->version : first;
    int status = ESK_OK;
    model->kv = run->reader;
    bool is_right = esk_model_kv_value_is(model, NULL, key, first, &status);
    bool is_deleted = status == ESK_NOT_FOUND && last > first;
    for (uint32_t v = first + 1; v <= last && status == ESK_OK && !is_right;
         v++) {
        is_right = esk_model_kv_value_is(model, NULL, key, v, &status);
    }
    model->kv = writer;
    return is_right || is_deleted;
}

static void reader_look(struct run *run) {
    int status = ESK_AGAIN;
    if (run->reader == NULL) {
        return;
    }
    for (uint32_t i = 0; i < CHECKS_MAX && status == ESK_AGAIN; i++) {
        status = esk_kv_reader_check(run->reader);
    }
    if (status == ESK_E_STALE) {
        reader_close(run);
        return;
    }
    if (status != ESK_OK) {
        fail(run, "a reader's check");
    }
    for (uint16_t key = 0; key < run->model.table.keys; key++) {
        if (!reader_is_right(run, key)) {
            fail(run, "a reader shows another value");
        }
    }
}

// ----------------------------------------------------------------- opens

/// RAM is lost, or closed: what was synced is there, and a prefix of the rest.
static void take_up(struct run *run) {
    run->order.is_open = false;
    run->has_snapshot = false;
    if (!esk_model_kv_recover(&run->model)) {
        fail(run, "recover");
    }
    counters_read(run);
    verify(run);
}

static void reopen(struct run *run) {
    snapshot_close(run);
    if (!sync_make(run)) {
        fail(run, "sync");
    }
    esk_kv_close(run->model.kv);
    esk_volume_unmount(&run->model.volume);
    take_up(run);
}

/// Changes until the power is cut, at operation `much` from now or never.
static void cut_and_recover(struct run *run, uint32_t much) {
    struct esk_model_kv *model = &run->model;
    bool on = true;
    reader_close(run);
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + much,
                   ESK_SIM_CUT_DRAWN);
    for (uint32_t i = 0; i < CUT_CHANGES && on; i++) {
        switch (i % 8) {
        case 3:
            on = key_change(run, false);
            break;
        case 5:
            on = batch_make(run, 1 + much % 5);
            break;
        case 6:
            on = counter_add(run, i % COUNTERS, much + 1);
            break;
        case 7:
            on = sync_make(run);
            break;
        default:
            on = key_change(run, true);
            break;
        }
    }
    esk_sim_power_on(model->sim);
    esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    take_up(run);
}

static void keys_change(struct run *run, bool puts, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        (void)key_change(run, puts);
    }
}

static void call_make(struct run *run, uint8_t byte) {
    uint32_t much = byte >> 4;
    switch ((enum call)(byte & 15u)) {
    case CALL_PUT:
        keys_change(run, true, much + 1);
        break;
    case CALL_PUT_MORE:
        keys_change(run, true, 8 * (much + 1));
        break;
    case CALL_DELETE:
        keys_change(run, false, much + 1);
        break;
    case CALL_TURN:
        run->stride = (uint16_t)(1 + much % 4 * 7);
        run->at = (uint16_t)((run->at + much / 4 * 11) % run->model.table.keys);
        break;
    case CALL_BATCH:
        (void)batch_make(run, much + 1);
        break;
    case CALL_ADD:
        (void)counter_add(run, much % COUNTERS, 1 + much * much * 40);
        break;
    case CALL_SYNC:
        (void)sync_make(run);
        break;
    case CALL_STEP:
        if (esk_volume_step(&run->model.volume, (uint16_t)(much + 1), NULL) !=
            ESK_OK) {
            fail(run, "step");
        }
        break;
    case CALL_CUT:
        cut_and_recover(run, much * 2);
        break;
    case CALL_REOPEN:
        reopen(run);
        break;
    case CALL_CURSOR:
        cursor_begin(run, much);
        break;
    case CALL_NEXT:
        cursor_next(run, much);
        break;
    case CALL_SNAPSHOT:
        snapshot_take(run, much);
        break;
    case CALL_READER:
        reader_open(run);
        break;
    case CALL_READER_LOOK:
        reader_look(run);
        snapshot_check(run);
        break;
    case CALL_VERIFY:
        verify(run);
        snapshot_check(run);
        break;
    }
    cursor_follow(run);
}

/// Makes the table. False: not possible on such pages.
static bool run_start(struct run *run, const uint8_t *data) {
    static const uint8_t shares[] = {0, 50, 90, 95};
    struct esk_model_kv_run made =
        tables[data[0] % (sizeof tables / sizeof tables[0])];
    struct esk_model_kv_table *table = &made.table;
    table->value_max = (uint16_t)(8 + (data[1] & 7u) * 24);
    table->key_max = (uint8_t)(4 + (data[1] >> 3 & 3u) * 9);
    table->checksum = (data[1] & 32u) != 0 ? ESK_CHECKSUM_CRC16 : 0;
    table->live_percent = shares[data[1] >> 6];
    if (table->pending != 0) {
        table->pending = (uint16_t)(table->pending + data[2] % 8 * 10);
    }
    int status = esk_model_kv_make(&run->model, &made, data[2] >> 3);
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
        esk_model_kv_free(&run.model);
        return 0;
    }
    for (size_t i = 3; i < bytes; i++) {
        call_make(&run, data[i]);
    }
    reader_look(&run);
    snapshot_check(&run);
    reader_close(&run);
    cursor_next(&run, ESK_MODEL_KV_KEYS_MAX);
    verify(&run);
    reopen(&run);
    if (esk_sim_violations(run.model.sim) != 0) {
        fail(&run, "the medium was misused");
    }
    esk_model_kv_free(&run.model);
    return 0;
}

/* -------------------------------------------------------- where to begin */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const uint8_t seeds[][SEED_CALLS_BYTES] = {
        {0, 0x01, 0, 0xF1, 0x72, 0xF1, 0x1A, 0x54, 0x3B, 0x88, 0x65, 0x0F},
        {1, 0x0A, 0, 0xF1, 0x0D, 0x71, 0x0E, 0x25, 0xF1, 0x0E, 0x28, 0x0F},
        {2, 0x93, 0, 0xF1, 0x5C, 0x31, 0x0F, 0xF4, 0x06, 0x17, 0x48, 0x0F},
        {3, 0x4C, 0, 0xF1, 0x0A, 0x21, 0x32, 0xFB, 0x94, 0xFB, 0x09, 0x0F},
        {4, 0xC2, 0, 0xF1, 0x3A, 0xF1, 0x0B, 0x0D, 0x34, 0x0E, 0xA8, 0x0F},
        {5, 0x21, 0, 0xF1, 0x85, 0x85, 0x68, 0x95, 0x06, 0x38, 0x95, 0x0F},
        {6, 0xD3, 0, 0xF1, 0x9C, 0xF1, 0x0E, 0x62, 0xF1, 0x98, 0x54, 0x0F},
        {7, 0x8A, 0, 0x71, 0x0D, 0x54, 0x0E, 0xF1, 0x0E, 0x2A, 0x7B, 0x58},
        {8, 0x09, 0, 0xF1, 0xF1, 0x2A, 0x54, 0x1B, 0x52, 0xFB, 0x78, 0x0F},
        {9, 0x41, 1, 0xF1, 0xF1, 0x37, 0x0D, 0xF1, 0x0E, 0x97, 0x48, 0x0F},
        {10, 0x1A, 2, 0xF1, 0x4C, 0xF1, 0x0F, 0xF4, 0x1A, 0xFB, 0xB8, 0x0F},
        {11, 0x82, 3, 0xF1, 0x0D, 0xF1, 0x0E, 0x95, 0xF1, 0x09, 0xC8, 0x0F},
    };
    (void)argc;
    (void)argv;
    seeds_write_calls(seeds, sizeof seeds / sizeof seeds[0]);
    return 0;
}
