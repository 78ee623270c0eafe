// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What opens of tables in a volume and of bare stores share.
#ifndef ESK_TABLE_KV_KV_OPEN_H
#define ESK_TABLE_KV_KV_OPEN_H

#include "table/kv/kv.h"

/// What an open knows of its table.
struct esk_kv_entry {
    uint32_t block;
    uint32_t blocks;
    uint32_t index_block;
    uint32_t index_blocks; ///< 0: no index
    uint32_t seed;
    const uint8_t *head; ///< of a bare store, copied; else NULL
    uint8_t id;
    struct esk_kv_options options;
};

/// Carves the table from `memory`, mounts its log and replays it.
/// kv       out: NULL on failure.
/// Returns  as esk_kv_open.
int esk_kv_take_up(struct esk_kv **kv, struct esk_volume *volume,
                   struct esk_arena *memory, const struct esk_kv_entry *entry,
                   const struct esk_kv_config *config);

/// The parameters of a table's log.
void esk_kv_ring_config(const struct esk_kv_entry *entry,
                        struct esk_ring_config *config);

#endif
