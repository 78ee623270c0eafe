// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device that caches pages of another one in RAM, for machines with enough.
///
///     struct esk_page_cache cache;
///     esk_page_cache_init(&cache, &file.device, memory, 1 << 20);
///     esk_volume_mount(&volume, &cache.device, 0, arena, sizeof arena);
///
/// A table's pool has a few frames and compares all of them; this cache has as
/// many pages as there is memory, and finds a page by its number. The tables of
/// a volume share it, so a small pool stays fast. Programs and erases go to the
/// device below at once.
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

/// Bytes of memory for `pages` pages, each with its tag, next, head and used.
#define ESK_PAGE_CACHE_BYTES(page_bytes, pages)                                \
    ((size_t)(pages) * ((size_t)(page_bytes) + 13u))

/// A cache. The caller owns it; its fields are the cache's. Anyone may read and
/// zero the counters.
struct esk_page_cache {
    struct esk_device device; ///< mount on this
    const struct esk_device *below;
    struct esk_device_ops ops;
    uint32_t *tags;  ///< [slot], the page; ESK_PAGE_NONE: empty
    uint32_t *next;  ///< [slot], of the same hash
    uint32_t *heads; ///< [hash], a slot
    uint8_t *pages;  ///< [slot], page_bytes each
    uint8_t *used;   ///< [slot], used since the hand passed
    uint32_t slots;
    uint32_t hand; ///< start of the next search for a slot to reuse
    uint32_t hits; ///< reads served from RAM
    uint32_t misses;
};

/// Makes an empty cache of `below`.
///
/// below    borrowed; not to be written by others while the cache is used.
/// memory   borrowed, aligned for uint32_t.
/// bytes    ESK_PAGE_CACHE_BYTES of at least one page; more bytes are more
///          pages.
/// Returns  ESK_OK; ESK_E_NO_MEMORY.
/// Costs    a hit copies the bytes. A miss of a whole page reads the page; a
///          miss of a part is passed to the device below.
int esk_page_cache_init(struct esk_page_cache *cache,
                        const struct esk_device *below, void *memory,
                        size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
