// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Several classes of slots a frame: LRU-N.
///
///     tags   class 0   3  4  5  6        order  class 0   0  1  2  3
///            class 1  13  9  .  6                class 1   2  0  3  1
///                     ^frame 0                             ^oldest
///
/// Before a frame is reused, each of its slots above class 0 that is younger
/// than the oldest slot of its class moves there. So every class loses its own
/// oldest slot and no other (lrun-kmutree-2012, section III-B, step ii).
///
/// A slot copy is the only work that grows with the page.

#include "pool/pool_list.h"

#include "base/counter.h"

#include <string.h>

/// Moves `frame`'s slot of `class_` onto the oldest slot of that class; the two
/// change places in the list. Does nothing when it is that slot, or empty: an
/// empty slot is among the oldest.
static void pool_migrate(struct esk_pool *pool, uint8_t frame, uint8_t class_) {
    esk_tag *tags = esk_pool_tags(pool, class_);
    uint8_t *order = esk_pool_order(pool, class_);
    uint8_t oldest = esk_pool_oldest(pool, order);
    uint8_t victim = order[oldest];
    if (victim == frame || tags[frame] == ESK_POOL_TAG_NONE) {
        return;
    }
    uint16_t offset = pool->class_offsets[class_];
    uint16_t bytes = (uint16_t)(pool->class_offsets[class_ + 1] - offset);
    memcpy(esk_pool_page(pool, victim) + offset,
           esk_pool_page(pool, frame) + offset, bytes);
    tags[victim] = tags[frame];
    order[esk_pool_place(order, frame)] = victim;
    order[oldest] = frame;
}

static void pool_spread(struct esk_pool *pool, uint8_t frame) {
    for (uint8_t i = 1; i < esk_pool_classes(pool); i++) {
        pool_migrate(pool, frame, i);
        esk_pool_move(pool, frame, i, ESK_POOL_TAG_NONE);
    }
    pool->tags[frame] = ESK_POOL_TAG_NONE;
}

/// Before page `tag` is loaded for `class_`: its slots in the classes below
/// make room (step i). A slot in a pinned frame stays, and the loaded copy gets
/// no tag: its bit is set in the result.
static uint8_t pool_leave(struct esk_pool *pool, esk_tag tag, uint8_t class_) {
    uint8_t kept = 0;
    for (uint8_t i = 0; i < class_; i++) {
        uint8_t frame = esk_pool_find(pool, tag, i);
        if (frame == ESK_POOL_FRAME_NONE) {
            continue;
        }
        if (pool->pins[frame] != 0) {
            kept = (uint8_t)(kept | (uint8_t)(1u << i));
        } else {
            esk_pool_move(pool, frame, i, ESK_POOL_TAG_NONE);
        }
    }
    return kept;
}

/// Loads page `tag` into a frame and pins it; the caller sets the slots' tags.
/// Returns as esk_pool_pin.
static int pool_fill(struct esk_pool *pool, esk_tag tag, esk_pool_load *load,
                     void *context, uint8_t **page, uint8_t *frame) {
    uint8_t found = esk_pool_evict(pool);
    if (found == ESK_POOL_FRAME_NONE) {
        return ESK_E_NO_MEMORY;
    }
    esk_count(&pool->misses);
    *frame = found;
    *page = esk_pool_page(pool, found);
    int status = load(context, tag, *page);
    if (status != ESK_OK) {
        esk_pool_move(pool, found, 0, ESK_POOL_TAG_NONE);
        esk_pool_unpin(pool, found);
    }
    return status;
}

static int pool_pin(struct esk_pool *pool, esk_tag tag, uint8_t class_,
                    esk_pool_load *load, void *context, uint8_t **page,
                    uint8_t *frame) {
    uint8_t found = esk_pool_find(pool, tag, class_);
    if (found != ESK_POOL_FRAME_NONE) {
        esk_count(&pool->hits);
        pool->pins[found]++;
        *page = esk_pool_page(pool, found);
    } else {
        uint8_t kept = pool_leave(pool, tag, class_);
        ESK_TRY(pool_fill(pool, tag, load, context, page, &found));
        for (uint8_t i = 0; i < class_; i++) {
            if ((kept & 1u) == 0) {
                esk_pool_move(pool, found, i, tag);
            }
            kept >>= 1;
        }
    }
    esk_pool_move(pool, found, class_, tag);
    *frame = found;
    return ESK_OK;
}

static const struct esk_pool_slots pool_slots = {
    .pin = pool_pin,
    .spread = pool_spread,
};

void esk_pool_init_classes(struct esk_pool *pool, void *memory,
                           uint16_t page_bytes, uint8_t frames, uint8_t classes,
                           const uint16_t *class_offsets) {
    esk_pool_carve(pool, memory, page_bytes, frames, classes);
    pool->slots = &pool_slots;
    pool->class_offsets = class_offsets;
}
