// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Configurations of the power-cut campaign: media, tables and workloads.
#ifndef ESK_TEST_CUT_CONFIGS_H
#define ESK_TEST_CUT_CONFIGS_H

#include "test/harness/model_series.h"

enum cut_sync {
    CUT_SYNC_NEVER,  ///< rows become durable page by page
    CUT_SYNC_EACH,   ///< after each row
    CUT_SYNC_RANDOM, ///< every few rows
    CUT_SYNC_DRAWN,  ///< every 1, 7 or 50 rows, drawn now and then
};

struct cut_config {
    const char *name;
    struct esk_model_series_table table;
    struct esk_geometry geometry; ///< block_count 0: chosen to fit
    uint32_t bad_blocks;
    uint8_t ecc_word; ///< bytes with an ECC of their own; 0: no ECC
    uint32_t ops;     ///< programs and erases of the workload
    uint32_t prefill_pages;
    uint32_t page_rows; ///< about how many rows fill a page
    uint8_t sync;       ///< enum cut_sync
    bool steps;         ///< esk_volume_step now and then
    bool erases;        ///< erase_before now and then
    bool breaks;        ///< erase_after now and then
    bool side;          ///< another table is created, filled and dropped
    bool remounts;      ///< clean mounts now and then
    bool dirty;         ///< the medium starts with garbage
    uint16_t cache;     ///< programs that the medium caches until a sync
    bool erase_keeps;   ///< erase leaves the bytes as they are
    bool whole_writes;  ///< an interrupted program has old or new bytes, no mix
};

/// All of them; `count` is how many. Each is there raw and packed.
const struct cut_config *cut_configs(size_t *count);

/// The table that is created and dropped beside the one under test.
struct cut_side {
    void *arena;
    uint32_t arena_bytes;
    uint32_t rows;   ///< appended
    uint32_t synced; ///< of these, acknowledged
    bool exists;     ///< create was acknowledged, drop was not begun
    bool maybe;      ///< a create or drop was cut
};

/// Makes the model of `config`, its ring prefilled. False: model->why.
bool cut_model_series_make(const struct cut_config *config,
                           struct esk_model_series *model,
                           struct cut_side *side, uint64_t seed);

void cut_side_free(struct cut_side *side);

/// Does one step of the workload. A normal outcome is ESK_OK.
int cut_step(const struct cut_config *config, struct esk_model_series *model,
             struct cut_side *side);

/// Creates, fills or drops the side table.
int cut_side_step(struct esk_model_series *model, struct cut_side *side);

/// Checks the side table after a recovery, and records whether it exists.
bool cut_side_verify(struct esk_model_series *model, struct cut_side *side);

#endif
