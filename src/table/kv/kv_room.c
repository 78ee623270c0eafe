// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How much a table may hold, so that every change that needs no more room goes
/// on for good.
#include "table/kv/kv.h"
#include "volume/volume.h"

uint32_t esk_kv_blocks_max(const struct esk_geometry *geometry) {
    return UINT32_MAX / geometry->page_bytes / geometry->block_pages;
}

uint32_t esk_kv_pages_max(const struct esk_geometry *geometry, uint32_t blocks,
                          uint8_t percent) {
    uint32_t block = geometry->block_pages;
    uint32_t pages = blocks * block;
    uint32_t taken = block + 3;
    if (!esk_kv_seals(geometry) || block == 1) {
        /* The collector leaves the rest of a page in each block; of blocks of
           one page, less than half. */
        taken += (block > 1 ? blocks : blocks / 2) + 1;
    }
    uint32_t share =
        (pages - block) / 100 * percent + (pages - block) % 100 * percent / 100;
    uint32_t most = pages > taken ? pages - taken : 0;
    return share < most ? share : most;
}

uint32_t esk_kv_block_room(const struct esk_kv *kv) {
    uint32_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    return pages * esk_kv_page_room(kv) -
           (esk_kv_is_bare(kv) ? (uint32_t)ESK_KV_HEAD_BYTES : 0);
}

uint32_t esk_kv_rests_max(const struct esk_kv *kv, uint32_t longest) {
    uint16_t pages = esk_volume_geometry(kv->table.volume)->block_pages;
    /* One is collected, and the last one's rest is free. */
    uint32_t blocks = esk_ring_pages(&kv->log) / pages - 2;
    uint32_t half = (blocks + 1) / 2 * esk_kv_block_room(kv);
    if (pages == 1) {
        return longest; /* kv->capacity has the rests */
    }
    return longest + (longest < half / blocks ? longest * blocks : half);
}

uint32_t esk_kv_live_most(const struct esk_kv *kv, uint32_t longest) {
    uint32_t rests = esk_kv_rests_max(kv, longest);
    uint32_t most = kv->capacity > rests ? kv->capacity - rests : 0;
    return most < kv->live_max ? most : kv->live_max;
}
