// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device that keeps pages of another one in RAM, for machines that have it.
///
///     struct esk_page_cache cache;
///     esk_page_cache_init(&cache, &file.device, memory, 1 << 20);
///     esk_volume_mount(&volume, &cache.device, 0, arena, sizeof arena);
///
/// A table's pool has a few frames and looks through all of them; this has as
/// many pages as there is memory and finds one by its number. What the tables
/// of a volume read is shared, and a small pool stays fast. Programs and
/// erases go to the device below at once: nothing is ever held back.
///
///     heads[hash(page)] -> slot -> next -> ...      hand: the clock's
///
/// Invariants
///  1. A page is in at most one slot, and its bytes are those of the device.
///  2. A page whose program or erase failed is in none.
#ifndef ESK_PAGE_CACHE_PAGE_CACHE_H
#define ESK_PAGE_CACHE_PAGE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bytes of memory that `pages` pages take, each with its tag, next, head and
/// used.
#define ESK_PAGE_CACHE_BYTES(page_bytes, pages)                                \
    ((size_t)(pages) * ((size_t)(page_bytes) + 13u))

/// A cache. The caller owns it; its fields are the cache's, the counters may
/// be read and zeroed by anyone.
struct esk_page_cache {
    struct esk_device device; ///< mount on this
    const struct esk_device *below;
    struct esk_device_ops ops;
    uint32_t *tags;  ///< [slot], the page; ESK_PAGE_NONE: empty
    uint32_t *next;  ///< [slot], of the same hash
    uint32_t *heads; ///< [hash], a slot
    uint8_t *pages;  ///< [slot], page_bytes each
    uint8_t *used;   ///< [slot], since the hand passed
    uint32_t slots;
    uint32_t hand; ///< where the next victim is looked for
    uint32_t hits; ///< reads served from RAM
    uint32_t misses;
};

/// Makes an empty cache of `below`.
///
/// below    borrowed; not to be written by others while the cache is used.
/// memory   borrowed, aligned for uint32_t.
/// bytes    ESK_PAGE_CACHE_BYTES of at least one page; what is more makes
///          more pages.
/// Returns  ESK_OK; ESK_E_NO_MEMORY.
/// Costs    a hit copies the bytes asked for; a page is read whole or, when a
///          part is asked for that is not there, passed on.
int esk_page_cache_init(struct esk_page_cache *cache,
                        const struct esk_device *below, void *memory,
                        size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
