// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The page pool: the only owner of page RAM.
///
/// Frames of one page each. A frame is divided into slots, one for each class.
/// A slot has the tag of the page that its bytes came from, and each class has
/// its own LRU list. One class is LRU-P. One class for each tree level is LRU-N
/// (lrun-kmutree-2012, section III-B): a slot whose tag differs from its
/// neighbours' is the paper's page address swizzling. The pool knows slots, not
/// trees.
///
///     frame:   | class 0          | class 1   | class 2 |
///     tags:      page 3             page 13     page 3
///
/// Classes are ordered. Class 0 is the leaf level and decides which frame is
/// evicted. A tree asks for pages from the highest class down. So a page that
/// is missed at class c is not needed at a higher class, and its slots above c
/// count as empty: room for other pages' slots.
///
/// Invariants
///  1. A (page, class) pair is in at most one slot.
///  2. A pinned frame's bytes and tags change only through its owner.
///  3. Slots without a tag are at the old end of their class's list.
#ifndef ESK_POOL_POOL_H
#define ESK_POOL_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/shape.h"
#include "esker/assert.h"
#include "esker/status.h"

enum { ESK_POOL_CLASS_COUNT_MAX = 8, ESK_POOL_FRAME_COUNT_MAX = 255 };

/// The tag of an empty slot; no page has it.
#define ESK_POOL_TAG_NONE ESK_TAG_NONE

/// Fills `page` with the page tagged `tag`, verified.
/// Returns ESK_OK, or the status that esk_pool_pin shall return.
typedef int esk_pool_load(void *context, esk_tag tag, uint8_t *page);

/// Bytes of arena for a pool: pages, a tag and a list place for each slot, a
/// pin count for each frame. A constant expression when its arguments are.
#define ESK_POOL_BYTES(page_bytes, frames, classes)                            \
    ((uint32_t)(frames) *                                                      \
     ((uint32_t)(page_bytes) + 5u * (uint32_t)(classes) + 1u))

struct esk_pool;

/// The functions of a pool of several classes. Firmware whose pools have one
/// class does not link them.
struct esk_pool_slots {
    /// esk_pool_pin.
    int (*pin)(struct esk_pool *pool, esk_tag tag, uint8_t class_,
               esk_pool_load *load, void *context, uint8_t **page,
               uint8_t *frame);
    /// Moves the slots of `frame` above class 0 that are worth it to other
    /// frames, and empties `frame`.
    void (*spread)(struct esk_pool *pool, uint8_t frame);
};

/// A pool. The caller owns it; the fields are the pool's. Anyone may read and
/// zero the counters.
struct esk_pool {
    esk_tag *tags;  ///< [class][frame]
    uint8_t *pages; ///< [frame], page_bytes each
    uint8_t *pins;  ///< [frame]; then the lists, [class][place]: frames,
                    ///< least recently used first
    const struct esk_pool_slots *slots; ///< NULL for one class
    const uint16_t *class_offsets;      ///< borrowed; NULL for one class
    uint32_t hits;                      ///< pins served from RAM
    uint32_t misses;                    ///< pins that called load
    uint16_t page_bytes;
    uint8_t frames;
    uint8_t classes;
};

static inline uint16_t esk_pool_page_bytes(const struct esk_pool *pool) {
    return ESK_SHAPED_MEDIUM(esk_shape_geometry.page_bytes, pool->page_bytes);
}

static inline uint8_t esk_pool_frames(const struct esk_pool *pool) {
    return ESK_SHAPED_FRAMES(ESK_SHAPE_POOL_FRAMES, pool->frames);
}

/// Whether the program is compiled for one frame: then there is no order of
/// frames.
static inline bool esk_pool_is_single(const struct esk_pool *pool) {
    return ESK_SHAPED_FRAMES(ESK_SHAPE_POOL_FRAMES == 1, ((void)pool, false));
}

/// Whether pins are counted. With one frame the owner has at most one page
/// pinned, so only assertions need them.
static inline bool esk_pool_counts(const struct esk_pool *pool) {
    return (bool)(ESK_ASSERTS | !esk_pool_is_single(pool));
}

/* With a table's shape, or where no tree has LRU-N, a pool has one class. */

static inline uint8_t esk_pool_classes(const struct esk_pool *pool) {
    return ESK_SHAPED(1, ESK_SHAPE_ONE_CLASS ? 1 : pool->classes);
}

static inline const struct esk_pool_slots *
esk_pool_slots(const struct esk_pool *pool) {
    return ESK_SHAPED(NULL, ESK_SHAPE_ONE_CLASS ? NULL : pool->slots);
}

/// The pages of the frames: behind the tags.
static inline uint8_t *esk_pool_pages(const struct esk_pool *pool) {
    return ESK_SHAPED_FRAMES(
        (uint8_t *)(pool->tags +
                    (uint16_t)(ESK_SHAPE_POOL_FRAMES * esk_pool_classes(pool))),
        pool->pages);
}

/// Carves `memory` into an empty pool of one class.
///
/// memory   ESK_POOL_BYTES(page_bytes, frames, 1) bytes, aligned for
///          uint32_t, borrowed for the pool's life.
/// frames   1 .. ESK_POOL_FRAME_COUNT_MAX.
void esk_pool_init(struct esk_pool *pool, void *memory, uint16_t page_bytes,
                   uint8_t frames);

/// Carves `memory` into an empty pool of `classes` classes.
///
/// memory   ESK_POOL_BYTES(page_bytes, frames, classes) bytes, as above.
/// classes  1 .. ESK_POOL_CLASS_COUNT_MAX.
/// class_offsets  borrowed: class c takes the bytes [c] .. [c + 1] - 1 of a
///          page, so classes + 1 rising offsets.
void esk_pool_init_classes(struct esk_pool *pool, void *memory,
                           uint16_t page_bytes, uint8_t frames, uint8_t classes,
                           const uint16_t *class_offsets);

/// Finds page `tag`, or loads it, and pins its frame.
///
/// class_   the slot that is wanted; only its bytes are defined.
/// page     out: the frame's first byte, so the slot is at its usual offset.
/// frame    out: for esk_pool_unpin.
/// Returns  ESK_OK; ESK_E_NO_MEMORY when every frame is pinned; or the status
///          of `load`, then the evicted frame is empty.
/// Keeps    the slot until the frame is unpinned; pins nest.
/// Costs    at most one load; frames * classes tag compares; with several
///          classes at most one slot copy a class.
int esk_pool_pin(struct esk_pool *pool, esk_tag tag, uint8_t class_,
                 esk_pool_load *load, void *context, uint8_t **page,
                 uint8_t *frame);

/// The same without a search, for a caller that knows which frame page `tag`
/// was in last; any number is allowed. For pools of one class. Returns false
/// when the page is not there, and pins nothing.
bool esk_pool_pin_frame(struct esk_pool *pool, uint8_t frame, esk_tag tag,
                        uint8_t **page);

/// Whether `frame`, from an earlier pin, still has page `tag`. For pools of one
/// class.
static inline bool esk_pool_holds(const struct esk_pool *pool, uint8_t frame,
                                  esk_tag tag) {
    return esk_words_equal(pool->tags[frame], tag);
}

/// Counts a pin of `frame`.
static inline void esk_pool_pinned(struct esk_pool *pool, uint8_t frame) {
    ESK_ASSERT(pool->pins[frame] < UINT8_MAX);
    pool->pins[frame] = (uint8_t)(pool->pins[frame] + esk_pool_counts(pool));
}

/// Pins `frame`, which is pinned, once more.
static inline void esk_pool_hold(struct esk_pool *pool, uint8_t frame) {
    ESK_ASSERT(frame < esk_pool_frames(pool) && pool->pins[frame] > 0);
    esk_pool_pinned(pool, frame);
}

/// Releases one pin of `frame`.
static inline void esk_pool_unpin(struct esk_pool *pool, uint8_t frame) {
    ESK_ASSERT(frame < esk_pool_frames(pool) && pool->pins[frame] > 0);
    pool->pins[frame] = (uint8_t)(pool->pins[frame] - esk_pool_counts(pool));
}

/// Number of pins of all frames: for assertions.
static inline uint16_t esk_pool_pins(const struct esk_pool *pool) {
    uint16_t pins = 0;
    for (uint8_t frame = 0; frame < esk_pool_frames(pool); frame++) {
        pins = (uint16_t)(pins + pool->pins[frame]);
    }
    return pins;
}

/// Pins a frame for writing. Its bytes are undefined, and it has no tag.
/// Returns ESK_OK; ESK_E_NO_MEMORY when every frame is pinned.
int esk_pool_take(struct esk_pool *pool, uint8_t **page, uint8_t *frame);

/// Sets page `tag` as the page of the taken `frame`, in every class. Older
/// slots of that page are dropped. May be called again when the bytes were
/// written to another page.
void esk_pool_tag(struct esk_pool *pool, uint8_t frame, esk_tag tag);

/// Renames page `from`, in `frame`, to page `to`. Its dropped slots stay
/// dropped.
void esk_pool_rename(struct esk_pool *pool, uint8_t frame, esk_tag from,
                     esk_tag to);

/// Releases a taken frame; without a tag it is empty.
void esk_pool_give(struct esk_pool *pool, uint8_t frame);

/// Drops page `tag`, for instance because its block is erased. Its pinned
/// frames keep their bytes until they are unpinned.
void esk_pool_forget(struct esk_pool *pool, esk_tag tag);

/// Drops one slot of page `tag`, for instance a node that was replaced.
void esk_pool_forget_slot(struct esk_pool *pool, esk_tag tag, uint8_t class_);

/// Drops every page.
void esk_pool_forget_all(struct esk_pool *pool);

/// The page in `frame`.
uint8_t *esk_pool_page(const struct esk_pool *pool, uint8_t frame);

#endif
