// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model: a tree table on a simulated medium beside a sorted array of its
/// expected rows. A row's bytes follow from its key's number and a version that
/// rises with every put, so an old row never looks like a new one.
#ifndef ESK_TEST_MODEL_TREE_H
#define ESK_TEST_MODEL_TREE_H

#include "esker/esker.h"
#include "port/sim/sim.h"

enum { ESK_MODEL_TREE_KEYS_MAX = 4096, ESK_MODEL_TREE_ROW_BYTES_MAX = 8192 };

/// Every kind of key; those of one byte have 250 values and come first.
enum { ESK_MODEL_TREE_KEY_TYPES = 14, ESK_MODEL_TREE_KEY_TYPES_SHORT = 3 };

struct esk_model_tree_key_type {
    uint8_t type;
    uint16_t bytes; ///< of a BYTES key
};

extern const struct esk_model_tree_key_type
    esk_model_tree_key_types[ESK_MODEL_TREE_KEY_TYPES];

/// Parameters of the table. Zero: plain.
struct esk_model_tree_table {
    uint8_t store; ///< enum esk_tree_store
    uint8_t k_percent;
    uint8_t key_type;
    uint8_t frames;
    uint8_t policy;
    uint8_t checksum;
    uint16_t key_bytes; ///< of a BYTES key
    uint16_t pad_bytes; ///< width of a bytes column; 0: none
    uint16_t key_range; ///< number of possible keys; 0: 2000, or all of a byte
    uint32_t blocks;    ///< 0: all of the device
    bool no_batches;
    bool merges;          ///< the tree is opened to merge nodes
    uint16_t batch_pages; ///< in place: has batches
    uint8_t write_frames; ///< copy-on-write: of a write cache
};

/// Version 0: no such row.
struct esk_model_tree_expected {
    uint32_t version[ESK_MODEL_TREE_KEYS_MAX];
    uint32_t rows;
};

struct esk_model_tree {
    struct esk_sim *sim;
    const struct esk_device *device;
    struct esk_model_tree_table table;
    struct esk_volume volume;
    struct esk_tree *tree; ///< NULL while closed
    struct esk_tree_config config;
    void *arena;
    uint32_t arena_bytes;
    uint8_t *page;
    uint64_t random;
    uint32_t version; ///< of the last put
    uint16_t range;
    uint16_t row_bytes;
    bool in_batch;
    bool full_seen;
    struct esk_model_tree_expected expected;
    struct esk_model_tree_expected before; ///< the batch
    char why[300];
};

/// Whether `store` is for media that overwrite, and only for these.
static inline bool esk_model_tree_overwrites(uint8_t store) {
    return store <= ESK_STORE_JOURNALED;
}

/// Makes a formatted volume with the tree `model`, and opens it.
int esk_model_tree_make(struct esk_model_tree *model,
                        const struct esk_model_tree_table *table,
                        const struct esk_geometry *geometry, uint64_t seed);
int esk_model_tree_make_on(struct esk_model_tree *model,
                           const struct esk_model_tree_table *table,
                           const struct esk_sim_config *config, uint64_t seed);
void esk_model_tree_free(struct esk_model_tree *model);

/// The next random number below `bound`.
uint32_t esk_model_tree_random(struct esk_model_tree *model, uint32_t bound);

/// Writes key number `number` of the key type; numbers sort as keys do.
void esk_model_tree_key(const struct esk_model_tree *model, uint32_t number,
                        uint8_t *key);

/// Writes the row of key `number` in `version`.
void esk_model_tree_row(const struct esk_model_tree *model, uint32_t number,
                        uint32_t version, uint8_t *row);

/// One random call; its outcome is checked. False: model->why.
bool esk_model_tree_call(struct esk_model_tree *model);

/// Puts key `number`. Changes the model when it succeeds.
int esk_model_tree_put(struct esk_model_tree *model, uint32_t number);
int esk_model_tree_delete(struct esk_model_tree *model, uint32_t number);

/// Begins a batch with room for `pages`, or ends the present one: aborts or
/// commits it. False, with model->why, for a wrong outcome.
bool esk_model_tree_batch(struct esk_model_tree *model, uint32_t pages,
                          bool takes_back);

/// Mounts and opens. Returns the status of the first failure.
int esk_model_tree_open(struct esk_model_tree *model);

/// Closes, unmounts, mounts, opens; a batch is lost.
bool esk_model_tree_remount(struct esk_model_tree *model);

/// Reads the table in order: the version of every key, 0 for no row. False for
/// a row that no put made, or one out of order.
bool esk_model_tree_read_all(struct esk_model_tree *model, uint32_t *versions);

/// Makes `versions` the expected.
void esk_model_tree_model_set(struct esk_model_tree *model,
                              const uint32_t *versions);

/// Reads everything in every way and compares it with the expected.
bool esk_model_tree_verify(struct esk_model_tree *model);

__attribute__((format(printf, 2, 3))) bool
esk_model_tree_fail(struct esk_model_tree *model, const char *format, ...);

#endif
