// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The cache: a hash of page numbers, and a clock that chooses the slot to
/// reuse. See page_cache.h for the picture and the invariants.
#include "port/page_cache/page_cache.h"

#include <stdbool.h>
#include <string.h>

#define SLOT_NONE UINT32_MAX

static uint32_t *head_of(const struct esk_page_cache *cache, esk_page_id page) {
    uint32_t hash = page * 0x9E3779B1u; /* neighbours hash far apart */
    return &cache->heads[(uint64_t)hash * cache->slots >> 32];
}

static uint8_t *slot_page(const struct esk_page_cache *cache, uint32_t slot) {
    return cache->pages + (size_t)slot * cache->device.geometry.page_bytes;
}

static uint32_t slot_find(const struct esk_page_cache *cache,
                          esk_page_id page) {
    uint32_t slot = *head_of(cache, page);
    while (slot != SLOT_NONE && cache->tags[slot] != page) {
        slot = cache->next[slot];
    }
    return slot;
}

static void slot_empty(struct esk_page_cache *cache, uint32_t slot) {
    uint32_t *link = head_of(cache, cache->tags[slot]);
    while (*link != slot) {
        link = &cache->next[*link];
    }
    *link = cache->next[slot];
    cache->tags[slot] = ESK_PAGE_NONE;
    cache->used[slot] = 0;
}

static void slot_fill(struct esk_page_cache *cache, uint32_t slot,
                      esk_page_id page) {
    uint32_t *head = head_of(cache, page);
    cache->tags[slot] = page;
    cache->next[slot] = *head;
    *head = slot;
}

static void page_forget(struct esk_page_cache *cache, esk_page_id page) {
    uint32_t slot = slot_find(cache, page);
    if (slot != SLOT_NONE) {
        slot_empty(cache, slot);
    }
}

/// Empties the first slot from the hand on that was not used since the hand
/// passed it. At most one round, since passing a slot clears its mark.
static uint32_t slot_take(struct esk_page_cache *cache) {
    bool found = false;
    uint32_t slot = cache->hand;
    while (!found) {
        slot = cache->hand;
        found = cache->used[slot] == 0;
        cache->used[slot] = 0;
        cache->hand = slot + 1 < cache->slots ? slot + 1 : 0;
    }
    if (cache->tags[slot] != ESK_PAGE_NONE) {
        slot_empty(cache, slot);
    }
    return slot;
}

static int cache_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    struct esk_page_cache *cache = device->context;
    uint16_t page_bytes = device->geometry.page_bytes;
    uint32_t slot = slot_find(cache, page);
    if (slot != SLOT_NONE && offset <= page_bytes &&
        bytes <= page_bytes - offset) {
        cache->hits++;
        cache->used[slot] = 1;
        memcpy(buffer, slot_page(cache, slot) + offset, bytes);
        return ESK_OK;
    }
    cache->misses++;
    ESK_TRY(cache->below->ops->read(cache->below, page, offset, buffer, bytes));
    if (bytes == page_bytes) {
        slot = slot_take(cache);
        memcpy(slot_page(cache, slot), buffer, bytes);
        slot_fill(cache, slot, page);
    }
    return ESK_OK;
}

static int cache_program(const struct esk_device *device, esk_page_id page,
                         uint16_t offset, const void *buffer, uint16_t bytes) {
    struct esk_page_cache *cache = device->context;
    uint32_t slot = slot_find(cache, page);
    int status =
        cache->below->ops->program(cache->below, page, offset, buffer, bytes);
    if (status != ESK_OK) {
        page_forget(cache, page);
        return status;
    }
    if (slot == SLOT_NONE && bytes == device->geometry.page_bytes) {
        slot = slot_take(cache);
        slot_fill(cache, slot, page);
    }
    if (slot != SLOT_NONE) {
        memcpy(slot_page(cache, slot) + offset, buffer, bytes);
    }
    return ESK_OK;
}

static int cache_erase(const struct esk_device *device, uint32_t block) {
    struct esk_page_cache *cache = device->context;
    uint16_t pages = device->geometry.block_pages;
    for (uint16_t i = 0; i < pages; i++) {
        page_forget(cache, block * pages + i);
    }
    return cache->below->ops->erase(cache->below, block);
}

static int cache_sync(const struct esk_device *device) {
    const struct esk_page_cache *cache = device->context;
    return cache->below->ops->sync(cache->below);
}

static int cache_block_is_bad(const struct esk_device *device, uint32_t block,
                              bool *bad) {
    const struct esk_page_cache *cache = device->context;
    return cache->below->ops->block_is_bad(cache->below, block, bad);
}

static int cache_block_mark_bad(const struct esk_device *device,
                                uint32_t block) {
    const struct esk_page_cache *cache = device->context;
    return cache->below->ops->block_mark_bad(cache->below, block);
}

int esk_page_cache_init(struct esk_page_cache *cache,
                        const struct esk_device *below, void *memory,
                        size_t bytes) {
    size_t page_bytes = below->geometry.page_bytes;
    size_t slots = bytes / ESK_PAGE_CACHE_BYTES(page_bytes, 1);
    if (slots == 0 || slots >= SLOT_NONE) {
        return ESK_E_NO_MEMORY;
    }
    memset(cache, 0, sizeof *cache);
    cache->below = below;
    cache->slots = (uint32_t)slots;
    cache->tags = memory;
    cache->next = cache->tags + slots;
    cache->heads = cache->next + slots;
    cache->pages = (uint8_t *)(cache->heads + slots);
    cache->used = cache->pages + slots * page_bytes;
    memset(cache->tags, 0xFF, slots * sizeof *cache->tags);
    memset(cache->heads, 0xFF, slots * sizeof *cache->heads);
    memset(cache->used, 0, slots);
    cache->ops = (struct esk_device_ops){.read = cache_read,
                                         .program = cache_program,
                                         .erase = cache_erase,
                                         .sync = cache_sync};
    if (below->ops->block_is_bad != NULL) {
        cache->ops.block_is_bad = cache_block_is_bad;
    }
    if (below->ops->block_mark_bad != NULL) {
        cache->ops.block_mark_bad = cache_block_mark_bad;
    }
    cache->device = (struct esk_device){
        .ops = &cache->ops, .context = cache, .geometry = below->geometry};
    return ESK_OK;
}
