// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The page pool: LRU-P with one class, LRU-N with several.
///
///     tags   class 0   3  4  5  6        order  class 0   0  1  2  3
///            class 1  13  9  .  6                class 1   2  0  3  1
///                     ^frame 0                             ^oldest
///
/// A miss takes the oldest frame of class 0 that nobody has pinned. Before
/// its bytes go, each of its other slots that is younger than the oldest one
/// of its class moves there, so every class loses its own oldest slot and no
/// other (lrun-kmutree-2012, section III-B, step ii).
///
/// Invariants: see pool.h. A slot copy is the only work that grows with the
/// page; lists are byte arrays, because a chip has a handful of frames and a
/// move of a few bytes is cheaper than links.

#include "pool/pool.h"

#include <string.h>

enum { POOL_FRAME_NONE = 0xFF };

void esk_pool_init(struct esk_pool *pool, void *memory, uint16_t page_bytes,
                   uint8_t frames, uint8_t classes,
                   const uint16_t *class_offsets) {
    uint16_t slots = (uint16_t)((uint16_t)frames * classes);
    pool->tags = memory;
    pool->pages = (uint8_t *)(pool->tags + slots);
    pool->order = pool->pages + (size_t)frames * page_bytes;
    pool->pins = pool->order + slots;
    pool->class_offsets = class_offsets;
    pool->hits = 0;
    pool->misses = 0;
    pool->page_bytes = page_bytes;
    pool->frames = frames;
    pool->classes = classes;
    memset(pool->pins, 0, frames);
    esk_pool_forget_all(pool);
    for (uint16_t i = 0; i < slots; i++) {
        pool->order[i] = (uint8_t)(i % frames);
    }
}

uint8_t *esk_pool_page(const struct esk_pool *pool, uint8_t frame) {
    return pool->pages + (size_t)frame * pool->page_bytes;
}

static uint32_t *pool_tags(const struct esk_pool *pool, uint8_t class_) {
    return pool->tags + (uint16_t)class_ * pool->frames;
}

static uint8_t *pool_order(const struct esk_pool *pool, uint8_t class_) {
    return pool->order + (uint16_t)class_ * pool->frames;
}

/// The frame whose slot of `class_` holds page `tag`.
static uint8_t pool_find(const struct esk_pool *pool, uint32_t tag,
                         uint8_t class_) {
    const uint32_t *tags = pool_tags(pool, class_);
    for (uint8_t frame = 0; frame < pool->frames; frame++) {
        if (tags[frame] == tag) {
            return frame;
        }
    }
    return POOL_FRAME_NONE;
}

static uint8_t pool_place(const uint8_t *order, uint8_t frame) {
    uint8_t place = 0;
    while (order[place] != frame) {
        place++;
    }
    return place;
}

/// Makes the slot the youngest of its class.
static void pool_touch(struct esk_pool *pool, uint8_t frame, uint8_t class_) {
    uint8_t *order = pool_order(pool, class_);
    uint8_t place = pool_place(order, frame);
    memmove(order + place, order + place + 1,
            (size_t)(pool->frames - 1u - place));
    order[pool->frames - 1u] = frame;
}

/// Empties the slot and makes it the oldest of its class.
static void pool_empty(struct esk_pool *pool, uint8_t frame, uint8_t class_) {
    uint8_t *order = pool_order(pool, class_);
    uint8_t place = pool_place(order, frame);
    memmove(order + 1, order, place);
    order[0] = frame;
    pool_tags(pool, class_)[frame] = ESK_POOL_TAG_NONE;
}

/// The first place in the list of `class_` whose frame nobody has pinned;
/// `frames` when there is none.
static uint8_t pool_oldest(const struct esk_pool *pool, uint8_t class_) {
    const uint8_t *order = pool_order(pool, class_);
    uint8_t place = 0;
    while (place < pool->frames && pool->pins[order[place]] != 0) {
        place++;
    }
    return place;
}

/// Moves `frame`'s slot of `class_` onto the oldest slot of that class, and
/// the two change places in the list. Nothing to do when it is that slot, or
/// empty: an empty one is the oldest, or as old.
static void pool_migrate(struct esk_pool *pool, uint8_t frame, uint8_t class_) {
    uint32_t *tags = pool_tags(pool, class_);
    uint8_t *order = pool_order(pool, class_);
    uint8_t oldest = pool_oldest(pool, class_);
    uint8_t victim = order[oldest];
    if (victim == frame || tags[frame] == ESK_POOL_TAG_NONE) {
        return;
    }
    uint16_t offset = pool->class_offsets[class_];
    uint16_t bytes = (uint16_t)(pool->class_offsets[class_ + 1] - offset);
    memcpy(esk_pool_page(pool, victim) + offset,
           esk_pool_page(pool, frame) + offset, bytes);
    tags[victim] = tags[frame];
    order[pool_place(order, frame)] = victim;
    order[oldest] = frame;
}

/// Chooses a frame, saves what is worth keeping of it, pins it and leaves it
/// empty. POOL_FRAME_NONE when every frame is pinned.
static uint8_t pool_evict(struct esk_pool *pool) {
    uint8_t place = pool_oldest(pool, 0);
    if (place == pool->frames) {
        return POOL_FRAME_NONE;
    }
    uint8_t frame = pool_order(pool, 0)[place];
    for (uint8_t i = 1; i < pool->classes; i++) {
        pool_migrate(pool, frame, i);
    }
    for (uint8_t i = 0; i < pool->classes; i++) {
        pool_empty(pool, frame, i);
    }
    pool->pins[frame] = 1;
    return frame;
}

/// Forgets page `tag` at `class_` unless its frame is pinned.
/// Returns whether a pinned frame goes on holding it.
static bool pool_drop(struct esk_pool *pool, uint32_t tag, uint8_t class_) {
    uint8_t frame = pool_find(pool, tag, class_);
    if (frame == POOL_FRAME_NONE) {
        return false;
    }
    if (pool->pins[frame] != 0) {
        return true;
    }
    pool_empty(pool, frame, class_);
    return false;
}

int esk_pool_pin(struct esk_pool *pool, uint32_t tag, uint8_t class_,
                 esk_pool_load *load, void *context, uint8_t **page,
                 uint8_t *frame) {
    uint8_t found = pool_find(pool, tag, class_);
    if (found != POOL_FRAME_NONE) {
        pool->hits++;
        pool->pins[found]++;
        pool_touch(pool, found, class_);
        *page = esk_pool_page(pool, found);
        *frame = found;
        return ESK_OK;
    }
    /* Slots of the page that come in again make room first (step i). One in
       a pinned frame stays, and the copy that comes in goes without a tag. */
    uint8_t kept = 0;
    for (uint8_t i = 0; i < class_; i++) {
        if (pool_drop(pool, tag, i)) {
            kept = (uint8_t)(kept | (uint8_t)(1u << i));
        }
    }
    found = pool_evict(pool);
    if (found == POOL_FRAME_NONE) {
        return ESK_E_NO_MEMORY;
    }
    pool->misses++;
    int status = load(context, tag, esk_pool_page(pool, found));
    if (status != ESK_OK) {
        pool->pins[found] = 0;
        return status;
    }
    for (uint8_t i = 0; i <= class_; i++) {
        if ((kept & (uint8_t)(1u << i)) == 0) {
            pool_tags(pool, i)[found] = tag;
            pool_touch(pool, found, i);
        }
    }
    *page = esk_pool_page(pool, found);
    *frame = found;
    return ESK_OK;
}

void esk_pool_unpin(struct esk_pool *pool, uint8_t frame) {
    pool->pins[frame]--;
}

int esk_pool_take(struct esk_pool *pool, uint8_t **page, uint8_t *frame) {
    uint8_t found = pool_evict(pool);
    if (found == POOL_FRAME_NONE) {
        return ESK_E_NO_MEMORY;
    }
    *page = esk_pool_page(pool, found);
    *frame = found;
    return ESK_OK;
}

void esk_pool_tag(struct esk_pool *pool, uint8_t frame, uint32_t tag) {
    for (uint8_t i = 0; i < pool->classes; i++) {
        uint8_t older = pool_find(pool, tag, i);
        if (older != POOL_FRAME_NONE) {
            pool_empty(pool, older, i);
        }
        pool_tags(pool, i)[frame] = tag;
        pool_touch(pool, frame, i);
    }
}

void esk_pool_give(struct esk_pool *pool, uint8_t frame) {
    esk_pool_unpin(pool, frame);
}

void esk_pool_forget_slot(struct esk_pool *pool, uint32_t tag, uint8_t class_) {
    uint8_t frame = pool_find(pool, tag, class_);
    if (frame != POOL_FRAME_NONE) {
        pool_empty(pool, frame, class_);
    }
}

void esk_pool_forget(struct esk_pool *pool, uint32_t tag) {
    for (uint8_t i = 0; i < pool->classes; i++) {
        esk_pool_forget_slot(pool, tag, i);
    }
}

void esk_pool_forget_all(struct esk_pool *pool) {
    memset(pool->tags, 0xFF,
           (size_t)pool->frames * pool->classes * sizeof *pool->tags);
}
