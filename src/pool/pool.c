// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The page pool: LRU-P, one class of slots, and what LRU-N builds on.
///
///     tags   3  4  5  6        order   2  0  3  1
///            ^frame 0                  ^oldest
///
/// A miss takes the oldest frame of class 0 that is not pinned. The code for
/// several classes is in pool_slots.c, called through esk_pool_slots(pool).
///
/// Invariants: see pool.h. Lists are byte arrays, because a chip has a handful
/// of frames and a move of a few bytes is cheaper than links.

#include "base/inline.h"
#include "pool/pool_list.h"

#include "base/counter.h"

#include <string.h>

void esk_pool_init(struct esk_pool *pool, void *memory, uint16_t page_bytes,
                   uint8_t frames) {
    esk_pool_carve(pool, memory, page_bytes, frames, 1);
    if (ESK_SHAPED(false, !ESK_SHAPE_ONE_CLASS)) {
        pool->slots = NULL;
        pool->class_offsets = NULL;
    }
}

void esk_pool_carve(struct esk_pool *pool, void *memory, uint16_t page_bytes,
                    uint8_t frames, uint8_t classes) {
    uint16_t slots = (uint16_t)((uint16_t)frames * classes);
    uint16_t place = 0;
    ESK_ASSERT(memory != NULL && (uintptr_t)memory % sizeof(uint32_t) == 0);
    ESK_ASSERT(frames > 0 && classes > 0 &&
               classes <= ESK_POOL_CLASS_COUNT_MAX);
    pool->tags = memory;
    pool->pins = (uint8_t *)(pool->tags + slots) + (size_t)frames * page_bytes;
    pool->hits = 0;
    pool->misses = 0;
    if (ESK_SHAPED_FRAMES(false, true)) {
        pool->pages = (uint8_t *)(pool->tags + slots);
        pool->frames = frames;
    }
    if (ESK_SHAPED_MEDIUM(false, true)) {
        pool->page_bytes = page_bytes;
    }
    if (ESK_SHAPED(false, !ESK_SHAPE_ONE_CLASS)) {
        pool->classes = classes;
    }
    esk_pool_forget_all(pool);
    uint8_t counted = esk_pool_counts(pool) ? frames : 0;
    memset(pool->pins, 0, counted);
    for (uint8_t class_ = 0; class_ < classes; class_++) {
        for (uint8_t frame = 0; frame < counted; frame++) {
            pool->pins[frames + place] = frame;
            place++;
        }
    }
}

uint8_t *esk_pool_page(const struct esk_pool *pool, uint8_t frame) {
    return esk_pool_pages(pool) + (size_t)frame * esk_pool_page_bytes(pool);
}

/// esk_pool_find, inlined. The newest frame is looked at first, but in a fast
/// build for a chip: there frames are few.
static inline uint8_t find(const struct esk_pool *pool, esk_tag tag,
                           uint8_t class_) {
    const esk_tag *tags = esk_pool_tags(pool, class_);
    uint8_t frames = esk_pool_frames(pool);
    uint8_t newest =
        esk_pool_at(pool, esk_pool_order(pool, class_), (uint8_t)(frames - 1u));
    if ((ESK_SMALL || ESK_HOST) && tags[newest] == tag) {
        return newest;
    }
    for (uint8_t frame = 0; frame < frames; frame++) {
        if (tags[frame] == tag) {
            return frame;
        }
    }
    return ESK_POOL_FRAME_NONE;
}

ESK_APART uint8_t esk_pool_find(const struct esk_pool *pool, esk_tag tag,
                                uint8_t class_) {
    return find(pool, tag, class_);
}

void esk_pool_move(struct esk_pool *pool, uint8_t frame, uint8_t class_,
                   esk_tag tag) {
    uint8_t *order = esk_pool_order(pool, class_);
    int8_t step = 1;
    if (tag != ESK_POOL_TAG_NONE) {
        order += esk_pool_frames(pool) - 1u;
        step = -1;
    }
    esk_pool_tags(pool, class_)[frame] = tag;
    esk_pool_shift(pool, order, step, frame);
}

uint8_t esk_pool_place(const uint8_t *order, uint8_t frame) {
    uint8_t place = 0;
    while (order[place] != frame) {
        place++;
    }
    return place;
}

bool esk_pool_pin_frame(struct esk_pool *pool, uint8_t frame, esk_tag tag,
                        uint8_t **page) {
    if (frame >= esk_pool_frames(pool) || !esk_pool_holds(pool, frame, tag)) {
        return false;
    }
    esk_count(&pool->hits);
    esk_pool_pinned(pool, frame);
    esk_pool_shift(pool, esk_pool_order(pool, 0) + esk_pool_frames(pool) - 1,
                   -1, frame);
    *page = esk_pool_page(pool, frame);
    return true;
}

ESK_HOST_FLAT int esk_pool_pin(struct esk_pool *pool, esk_tag tag,
                               uint8_t class_, esk_pool_load *load,
                               void *context, uint8_t **page, uint8_t *frame) {
    ESK_ASSERT(tag != ESK_POOL_TAG_NONE && class_ < esk_pool_classes(pool));
    if (esk_pool_slots(pool) != NULL) {
        return esk_pool_slots(pool)->pin(pool, tag, class_, load, context, page,
                                         frame);
    }
    uint8_t found = (ESK_SMALL ? esk_pool_find : find)(pool, tag, 0);
    bool held = found != ESK_POOL_FRAME_NONE;
    if (held) {
        esk_count(&pool->hits);
        esk_pool_pinned(pool, found);
    } else {
        found = esk_pool_evict(pool);
        if (found == ESK_POOL_FRAME_NONE) {
            return ESK_E_NO_MEMORY;
        }
        esk_count(&pool->misses);
        /* Before the load: few values live on across its call. */
        pool->tags[found] = tag; /* only its own slot is used */
    }
    *frame = found;
    *page = esk_pool_page(pool, found);
    esk_pool_shift(pool, esk_pool_order(pool, 0) + esk_pool_frames(pool) - 1,
                   -1, found);
    if (held) {
        return ESK_OK;
    }
    int status = load(context, tag, *page);
    if (status != ESK_OK) {
        esk_pool_move(pool, found, 0, ESK_POOL_TAG_NONE);
        esk_pool_unpin(pool, found);
    }
    return status;
}

int esk_pool_take(struct esk_pool *pool, uint8_t **page, uint8_t *frame) {
    uint8_t found = esk_pool_evict(pool);
    if (found == ESK_POOL_FRAME_NONE) {
        return ESK_E_NO_MEMORY;
    }
    esk_pool_move(pool, found, 0, ESK_POOL_TAG_NONE);
    *page = esk_pool_page(pool, found);
    *frame = found;
    return ESK_OK;
}

ESK_OUT_OF_LINE_WHERE_FAST void esk_pool_tag(struct esk_pool *pool,
                                             uint8_t frame, esk_tag tag) {
    ESK_ASSERT(frame < esk_pool_frames(pool) && pool->pins[frame] > 0);
    esk_pool_forget(pool, tag);
    for (uint8_t i = 0; i < esk_pool_classes(pool); i++) {
        esk_pool_move(pool, frame, i, tag);
    }
}

void esk_pool_rename(struct esk_pool *pool, uint8_t frame, esk_tag from,
                     esk_tag to) {
    ESK_ASSERT(frame < esk_pool_frames(pool) && pool->pins[frame] > 0);
    esk_pool_forget(pool, to);
    for (uint8_t i = 0; i < esk_pool_classes(pool); i++) {
        esk_tag *tags = esk_pool_tags(pool, i);
        tags[frame] = tags[frame] == from ? to : tags[frame];
    }
}

void esk_pool_give(struct esk_pool *pool, uint8_t frame) {
    esk_pool_unpin(pool, frame);
}

void esk_pool_forget_slot(struct esk_pool *pool, esk_tag tag, uint8_t class_) {
    uint8_t frame = esk_pool_find(pool, tag, class_);
    if (frame != ESK_POOL_FRAME_NONE) {
        esk_pool_move(pool, frame, class_, ESK_POOL_TAG_NONE);
    }
}

void esk_pool_forget(struct esk_pool *pool, esk_tag tag) {
    for (uint8_t i = 0; i < esk_pool_classes(pool); i++) {
        esk_pool_forget_slot(pool, tag, i);
    }
}

ESK_APART void esk_pool_forget_all(struct esk_pool *pool) {
    memset(pool->tags, 0xFF,
           (size_t)esk_pool_frames(pool) * esk_pool_classes(pool) *
               sizeof *pool->tags);
}
