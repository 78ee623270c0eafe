// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How much a table may hold, so that every change that needs no more room goes
/// on for good.
#include "table/kv/kv.h"
#include "volume/volume.h"

uint32_t esk_kv_blocks_max(const struct esk_geometry *geometry) {
    return UINT32_MAX / geometry->page_bytes / geometry->block_pages;
}

uint32_t esk_kv_block_room(const struct esk_kv *kv) {
    uint32_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    return pages * esk_kv_page_room(kv) -
           (esk_kv_is_bare(kv) ? (uint32_t)ESK_KV_HEAD_BYTES : 0);
}

uint32_t esk_kv_rests_max(const struct esk_kv *kv, uint32_t longest) {
    uint16_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    /* One is collected, and the last one's rest is free. */
    uint32_t blocks = esk_kv_blocks(kv) - 2;
    uint32_t half = (blocks + 1) / 2 * esk_kv_block_room(kv);
    if (pages == 1) {
        return longest; /* the capacity has the rests */
    }
    return longest + (longest < half / blocks ? longest * blocks : half);
}

uint32_t esk_kv_live_most(const struct esk_kv *kv, uint32_t longest) {
    uint32_t rests = esk_kv_rests_max(kv, longest);
    uint32_t most =
        esk_kv_capacity(kv) > rests ? esk_kv_capacity(kv) - rests : 0;
    return most < esk_kv_live_max(kv) ? most : esk_kv_live_max(kv);
}
