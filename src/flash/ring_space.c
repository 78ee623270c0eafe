// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room of a ring and wear of its blocks, both from positions: a block is
/// erased once a lap, before it is begun.
#include "flash/ring.h"

void esk_ring_space(const struct esk_ring *ring, struct esk_space *space) {
    uint32_t pages = esk_ring_pages(ring);
    uint32_t kept = ring->head - (ring->tail - esk_ring_rest(ring, ring->tail));
    uint32_t erased = esk_ring_block_from(ring, ring->ready);
    space->pages = pages;
    space->pages_used = ring->head - ring->tail;
    space->pages_free = kept < pages ? pages - kept : 0;
    space->erases = erased / esk_region_geometry(&ring->region)->block_pages;
    space->erases_max = erased / pages + (erased % pages != 0 ? 1 : 0);
}
