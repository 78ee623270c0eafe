// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model: a kv table on a simulated medium beside its expected values. A
/// value's length and bytes follow from its key's number and a version that
/// rises with every put, so an old value never looks like a new one.
#ifndef ESK_TEST_MODEL_KV_H
#define ESK_TEST_MODEL_KV_H

#include "esker/esker.h"
#include "port/sim/sim.h"

enum {
    ESK_MODEL_KV_KEYS_MAX = 1024,
    ESK_MODEL_KV_OPS_MAX = 256,
    ESK_MODEL_KV_VALUE_MAX = 4096,
    ESK_MODEL_KV_BATCH_MAX = 64, ///< changes of a batch
    ESK_MODEL_KV_ARENA = 65536,
};

struct esk_model_kv_table {
    uint32_t blocks;
    uint16_t keys;      ///< different ones
    uint16_t value_max; ///< bytes
    uint8_t key_max;    ///< bytes of a key; at least 3
    uint8_t checksum;
    uint8_t live_percent;
    uint8_t sync_one_in; ///< changes; 0: 4
    uint8_t batch_max;   ///< changes of a batch; 0: no batches
    uint16_t pending;    ///< with an index: most keys in RAM; 0: no index
    /// Most keys in RAM of the second open, the fourth, and so on: fewer than
    /// an open before filled, so the open itself makes steps. 0: `pending`.
    uint16_t pending_later;
    uint16_t replay_pages; ///< as in struct esk_kv_config
    bool bare;             ///< a store of the whole device
};

/// A medium with a table.
struct esk_model_kv_run {
    const char *name;
    struct esk_sim_config config;
    struct esk_model_kv_table table;
};

/// A change that no sync acknowledged. version 0: a delete.
struct esk_model_kv_op {
    uint16_t key;
    bool more; ///< the next one is of the same batch
    uint32_t version;
};

struct esk_model_kv {
    struct esk_sim *sim;
    const struct esk_device *device;
    struct esk_model_kv_table table;
    struct esk_volume volume;
    struct esk_kv *kv; ///< NULL while closed
    uint64_t random;
    uint32_t version;
    uint32_t full;    ///< puts and batches that were refused
    uint32_t batches; ///< that were accepted
    uint32_t opens;   ///< that were tried
    uint32_t others;  ///< keys that are there beside the model's: the caller's
    uint16_t ops;
    struct esk_model_kv_op op[ESK_MODEL_KV_OPS_MAX];
    uint32_t synced[ESK_MODEL_KV_KEYS_MAX]; ///< versions; 0: not there
    uint32_t now[ESK_MODEL_KV_KEYS_MAX];
    uint64_t arena[ESK_MODEL_KV_ARENA / 8];
    char why[200];
};

/// Formats the medium and opens a new table. seed: of the medium, and of the
/// random changes. Returns a status.
int esk_model_kv_make(struct esk_model_kv *model,
                      const struct esk_model_kv_run *run, uint64_t seed);
void esk_model_kv_free(struct esk_model_kv *model);

uint32_t esk_model_kv_random(struct esk_model_kv *model, uint32_t bound);

/// Puts, deletes, syncs or changes a batch at random. Returns the call's
/// status; ESK_OK for a refusal that was due.
int esk_model_kv_step(struct esk_model_kv *model);
int esk_model_kv_put(struct esk_model_kv *model, uint16_t key);
int esk_model_kv_delete(struct esk_model_kv *model, uint16_t key);
/// Changes `count` keys at random as a batch. Returns as esk_model_kv_step;
/// after a failure the table should be as it was.
int esk_model_kv_batch(struct esk_model_kv *model, uint16_t count);
int esk_model_kv_sync(struct esk_model_kv *model);

/// Whether `key` has its value of `version`.
/// snapshot  NULL, or where it is read; status: out, of the get.
bool esk_model_kv_value_is(struct esk_model_kv *model,
                           struct esk_kv_snapshot *snapshot, uint16_t key,
                           uint32_t version, int *status);

/// Turns the power on and opens the table, as after a reset. Returns a status.
int esk_model_kv_open(struct esk_model_kv *model);

/// Whether every key has its expected value, and walks, ordered cursors, check
/// and stats agree with that; else `why` says what does not.
bool esk_model_kv_verify(struct esk_model_kv *model);

/// Counts the keys whose get returns something else than was synced, and those
/// of which it says that they are damaged.
void esk_model_kv_compare(struct esk_model_kv *model, unsigned *wrong,
                          unsigned *corrupt);

/// Power on, mount, open, which must tell of no loss. Then the table must have
/// what was synced and a prefix of the later changes, with whole batches, which
/// become the expected values.
bool esk_model_kv_recover(struct esk_model_kv *model);

#endif
