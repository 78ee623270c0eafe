// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the core says of a kv table before there is one: its RAM, the room of
/// its records, and its index.

#include <string.h>

#include "handle.h"
#include "table/kv/index/kv_index.h"
#include "table/kv/kv.h"
#include "table/kv/kv_spec.h"

/// Sets what the newest records and the rests of blocks may take: the core's
/// answers for a table of which only the region is known.
static void room_set(const struct esk_geometry *geometry, uint32_t blocks,
                     uint8_t live_percent, uint32_t longest,
                     struct esk_py_kv_plan *plan) {
    struct esk_device device = {.geometry = *geometry};
    struct esk_volume volume = {.device = &device};
    struct esk_kv kv;
    memset(&kv, 0, sizeof kv);
    kv.table.volume = &volume;
    kv.log.region.volume = &volume;
    kv.log.region.pages = blocks * geometry->block_pages;
    kv.log.region.envelope.page_bytes = geometry->page_bytes;
    kv.live_percent = esk_kv_percent(live_percent) & 0x7Fu;
    plan->live_most = esk_kv_live_most(&kv, longest);
    plan->rests = esk_kv_rests_max(&kv, longest);
}

int esk_py_kv_plan(const struct esk_geometry *geometry, uint32_t blocks,
                   uint8_t live_percent, uint32_t keys, uint32_t index_keys,
                   uint32_t longest, struct esk_py_kv_plan *plan) {
    uint32_t bytes = blocks * geometry->block_pages * geometry->page_bytes;
    memset(plan, 0, sizeof *plan);
    plan->slot_bytes = index_keys != 0 ? 3u + ESK_KV_INDEX_ADDRESS_BYTES(bytes)
                                       : ESK_KV_SLOT_BYTES(bytes);
    plan->seals = esk_kv_seals(geometry);
    room_set(geometry, blocks, live_percent, longest, plan);
    if (index_keys == 0) {
        plan->arena_bytes =
            ESK_KV_ARENA_BYTES(geometry->page_bytes, keys, bytes);
        return ESK_OK;
    }
    struct esk_kv_index_layout layout;
    if (!esk_kv_index_plan(geometry, blocks, index_keys, &plan->leaves,
                           &plan->index_blocks) ||
        !esk_kv_index_lay(geometry, plan->leaves, plan->index_blocks, blocks,
                          &layout)) {
        return ESK_NOT_FOUND;
    }
    plan->arena_bytes =
        ESK_KV_INDEX_ARENA_BYTES(geometry->page_bytes, keys, bytes, index_keys);
    plan->leaf_entries = layout.leaf_entries;
    plan->inner_leaves = layout.inner_leaves;
    plan->entry_bytes = esk_kv_entry_bytes(&layout);
    plan->ref_bytes = layout.ref_bytes;
    return ESK_OK;
}

uint32_t esk_py_kv_arena_bytes(const struct esk_geometry *geometry,
                               uint32_t blocks, uint32_t keys, bool is_bare) {
    uint32_t bytes = blocks * geometry->block_pages * geometry->page_bytes;
    return is_bare ? ESK_KV_BARE_ARENA_BYTES(geometry->page_bytes, keys, bytes)
                   : ESK_KV_ARENA_BYTES(geometry->page_bytes, keys, bytes);
}
