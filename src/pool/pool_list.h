// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the files of this folder, private to it: a class's tags and its
/// LRU list.
#ifndef ESK_POOL_POOL_LIST_H
#define ESK_POOL_POOL_LIST_H

#include "pool/pool.h"

#include "base/counter.h"

enum { ESK_POOL_FRAME_NONE = 0xFF };

/// Slots of the classes below `class_`. Most pools have one class, and a small
/// chip should not multiply for it.
static inline uint16_t esk_pool_below(const struct esk_pool *pool,
                                      uint8_t class_) {
    return class_ == 0 || esk_pool_classes(pool) == 1
               ? 0
               : (uint16_t)((uint16_t)class_ * esk_pool_frames(pool));
}

/// Tags of the class's slots, by frame.
static inline esk_tag *esk_pool_tags(const struct esk_pool *pool,
                                     uint8_t class_) {
    return pool->tags + esk_pool_below(pool, class_);
}

/// The class's frames, least recently used first.
static inline uint8_t *esk_pool_order(const struct esk_pool *pool,
                                      uint8_t class_) {
    return pool->pins + esk_pool_frames(pool) + esk_pool_below(pool, class_);
}

/// Divides `memory` and empties every slot.
void esk_pool_carve(struct esk_pool *pool, void *memory, uint16_t page_bytes,
                    uint8_t frames, uint8_t classes);

/// The frame at `place` of the list `order`.
static inline uint8_t esk_pool_at(const struct esk_pool *pool,
                                  const uint8_t *order, uint8_t place) {
    return esk_pool_is_single(pool) ? 0 : order[place];
}

/// Puts `frame` at the end `at` of a list and moves the others on, up to its
/// old place. Searching from that end finds often used frames at once.
/// step     to the other end.
static inline void esk_pool_shift(const struct esk_pool *pool, uint8_t *at,
                                  int8_t step, uint8_t frame) {
    uint8_t moved = frame;
    bool more = !esk_pool_is_single(pool);
    while (more) {
        uint8_t before = *at;
        *at = moved;
        moved = before;
        at += step;
        more = moved != frame;
    }
}

/// The frame whose slot of `class_` has page `tag`; ESK_POOL_FRAME_NONE.
uint8_t esk_pool_find(const struct esk_pool *pool, esk_tag tag, uint8_t class_);

/// Tags the slot and makes it the youngest of its class; without a tag
/// (ESK_POOL_TAG_NONE) the oldest.
void esk_pool_move(struct esk_pool *pool, uint8_t frame, uint8_t class_,
                   esk_tag tag);

/// Place of `frame` in the list `order`.
uint8_t esk_pool_place(const uint8_t *order, uint8_t frame);

/// The first place in the list whose frame is not pinned; `frames` when there
/// is none.
static inline uint8_t esk_pool_oldest(const struct esk_pool *pool,
                                      const uint8_t *order) {
    uint8_t place = 0;
    while (esk_pool_counts(pool) && place < esk_pool_frames(pool) &&
           pool->pins[esk_pool_at(pool, order, place)] != 0) {
        place++;
    }
    return place;
}

/// Chooses a frame, saves its slots above class 0, and pins it; the caller may
/// change its slot of class 0. ESK_POOL_FRAME_NONE when every frame is pinned.
static inline uint8_t esk_pool_evict(struct esk_pool *pool) {
    const uint8_t *order = esk_pool_order(pool, 0);
    uint8_t place = esk_pool_oldest(pool, order);
    if (place == esk_pool_frames(pool)) {
        return ESK_POOL_FRAME_NONE;
    }
    uint8_t frame = esk_pool_at(pool, order, place);
    if (esk_pool_slots(pool) != NULL) {
        esk_pool_slots(pool)->spread(pool, frame);
    }
    if (esk_pool_counts(pool)) {
        pool->pins[frame] = 1;
    }
    return frame;
}

#endif
