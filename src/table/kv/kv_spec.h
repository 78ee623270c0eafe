// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the catalog stores for a kv table, beside its region.
#ifndef ESK_TABLE_KV_KV_SPEC_H
#define ESK_TABLE_KV_KV_SPEC_H

#include "esker/kv.h"

enum {
    ESK_KV_LIVE_DEFAULT = 75,
    ESK_KV_LIVE_MAX = 95,
};
/// Regions from this many bytes on have hashes of 4 bytes.
#define ESK_KV_WIDE_BYTES 262144u

/// Leaves and blocks of an index for `keys` keys.
/// Returns whether there can be one.
bool esk_kv_index_plan(const struct esk_geometry *geometry, uint32_t log_blocks,
                       uint32_t keys, uint32_t *leaves, uint32_t *blocks);

/// Whether a table without an index has hashes of 4 bytes.
static inline bool esk_kv_is_wide(const struct esk_geometry *geometry,
                                  uint32_t blocks) {
    uint32_t pages = blocks * geometry->block_pages;
    return pages > (ESK_KV_WIDE_BYTES - 1) / geometry->page_bytes;
}

/// The share that a table is made with; 0: the default.
static inline uint8_t esk_kv_percent(uint8_t live_percent) {
    return live_percent != 0 ? live_percent : (uint8_t)ESK_KV_LIVE_DEFAULT;
}

/// The options of a new table; live_percent: 0 for the default.
void esk_kv_options_make(const struct esk_geometry *geometry, uint32_t blocks,
                         uint8_t live_percent, struct esk_kv_options *options);

/// Whether a table with these options can be opened.
/// Returns ESK_OK; ESK_E_UNSUPPORTED: an unknown flag; ESK_E_CORRUPT.
int esk_kv_options_check(const struct esk_kv_options *options);

/// Decodes the options of a table of kind kv.
/// Returns as esk_kv_options_check.
int esk_kv_options(const struct esk_table_info *info,
                   struct esk_kv_options *options);

#endif
