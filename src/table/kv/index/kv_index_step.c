// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writing an index: a step puts what the pending table has of the next leaves
/// into them.
#include "table/kv/index/kv_index.h"
#include "volume/volume.h"

/// A step that is being made.
struct step {
    uint32_t applied; ///< mark: what is before it is in the leaves then
    struct esk_kv_counts counted; ///< what is before it is in these counts
    uint8_t waits;  ///< bits of leaves with records that are not programmed
    uint32_t stale; ///< entries of records that are lost
    uint32_t first; ///< leaf
    uint32_t count;
    uint32_t ref[ESK_KV_STEP_LEAVES];
    uint32_t hand;
    uint32_t entered;
};

/// Programs the page in `node`, of which `used` bytes of payload count: where
/// the medium allows it, only these and a seal.
/// ref  out: the page's reference.
static int page_write(struct esk_kv *kv, uint16_t used, uint32_t aux,
                      uint32_t *ref) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    struct esk_ring *ring = &index->ring;
    uint16_t unit = esk_volume_geometry(kv->table.volume)->program_bytes;
    uint32_t end = (uint32_t)used + ESK_ENVELOPE_BYTES + unit - 1u;
    uint32_t position = 0;
    end = end / unit * unit - ESK_ENVELOPE_BYTES;
    index->node_inner = ESK_KV_NO_INNER;
    ESK_TRY(esk_ring_reserve(ring));
    if (end + ESK_SEAL_BYTES <= esk_kv_page_room(kv) &&
        esk_ring_can_seal(ring, (uint16_t)(end + ESK_SEAL_BYTES))) {
        memset(esk_kv_node(kv) + ESK_ENVELOPE_BYTES + used, 0,
               (size_t)(end - used));
        ESK_TRY(esk_ring_seal(ring, esk_kv_node(kv),
                              (uint16_t)(end + ESK_SEAL_BYTES), aux));
        position = ring->head;
        esk_ring_next(ring);
    } else {
        ESK_TRY(esk_ring_append(ring, esk_kv_node(kv), used, aux, &position));
    }
    *ref = esk_ring_page(ring, position) - esk_ring_first(ring);
    return ESK_OK;
}

static uint32_t mark_min(uint32_t a, uint32_t b) {
    return esk_kv_mark_before(a, b) ? a : b;
}

static uint32_t mark_max(uint32_t a, uint32_t b) {
    return esk_kv_mark_before(a, b) ? b : a;
}

/// A leaf that is made: its entries, of which those of one page are kept.
struct gather {
    uint32_t skip;    ///< entries before the page's
    uint32_t count;   ///< of all pages
    uint32_t stale;   ///< entries of records that are lost
    uint32_t applied; ///< mark, of the leaf before
};

static void entry_add(struct esk_kv *kv, struct gather *gather, uint32_t hash,
                      uint32_t address) {
    uint32_t entry = gather->count - gather->skip;
    if (gather->count >= gather->skip &&
        entry < esk_kv_index(kv)->layout.leaf_entries) {
        esk_kv_leaf_store(kv, entry, hash, address);
    }
    gather->count++;
}

/// Whether a slot's record is before the step's limit: it is programmed.
static bool slot_goes(const struct esk_kv *kv, uint32_t slot) {
    uint32_t mark = esk_kv_mark(kv, esk_kv_slot_address(kv, slot));
    return esk_kv_mark_before(mark, kv->index->limit);
}

/// Whether a record that is not where its leaf says is nowhere: a replay may
/// come to it yet.
static bool is_lost(const struct esk_kv *kv, uint32_t hash) {
    uint32_t slot = 0;
    return !kv->index->is_replaying && !esk_kv_slot_find(kv, hash, &slot);
}

/// Adds the entries that a leaf has, but those that the pending table replaces.
static int gather_old(struct esk_kv *kv, uint32_t number, uint32_t ref,
                      struct gather *gather) {
    while (ref != ESK_KV_REF_NONE) {
        struct esk_kv_leaf leaf;
        ESK_TRY(esk_kv_leaf_read(kv, number, ref, &leaf));
        gather->applied = leaf.applied;
        for (uint16_t i = 0; i < leaf.count; i++) {
            uint32_t address = 0;
            uint32_t slot = 0;
            uint32_t hash = esk_kv_leaf_entry(kv, &leaf, i, &address);
            if (esk_kv_slot_find(kv, hash, &slot) && slot_goes(kv, slot)) {
                continue;
            }
            if (esk_kv_leaf_is_stale(kv, &leaf, address)) {
                gather->stale += is_lost(kv, hash) ? 1 : 0;
                continue;
            }
            entry_add(kv, gather, hash, address);
        }
        ref = leaf.more;
    }
    return ESK_OK;
}

/// Finds the next slot with a hash from *hash on, below `end`, and moves *hash
/// behind it. Returns whether there is one.
static bool slot_below(const struct esk_kv *kv, uint32_t *hash, uint32_t end,
                       uint32_t *slot) {
    if (!esk_kv_slot_next(kv, *hash, slot)) {
        return false;
    }
    *hash = esk_kv_slot_hash(kv, *slot) + 1;
    return *hash <= end;
}

/// Adds what the pending table has of a leaf.
static void gather_new(struct esk_kv *kv, uint32_t number,
                       struct gather *gather) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t hash = esk_kv_leaf_hash(index, number);
    uint32_t end = esk_kv_leaf_hash(index, number + 1);
    uint32_t slot = 0;
    while (slot_below(kv, &hash, end, &slot)) {
        if (slot_goes(kv, slot) && !esk_kv_slot_deletes(kv, slot)) {
            entry_add(kv, gather, hash - 1, esk_kv_slot_address(kv, slot));
        }
    }
}

/// Makes page `skip` / leaf_entries of a leaf in `node`.
static int leaf_gather(struct esk_kv *kv, uint32_t number, uint32_t ref,
                       struct gather *gather) {
    gather->count = 0;
    gather->stale = 0;
    ESK_TRY(gather_old(kv, number, ref, gather));
    gather_new(kv, number, gather);
    return ESK_OK;
}

/// Completes the page of `count` entries in `node`, and writes it.
/// more  in and out: reference of a page with more entries, and of this one.
static int leaf_end(struct esk_kv *kv, uint32_t applied, uint32_t number,
                    uint16_t count, uint32_t *more) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint8_t bytes = esk_kv_entry_bytes(&index->layout);
    uint8_t *payload = esk_kv_node(kv) + ESK_ENVELOPE_BYTES;
    esk_store_u32(payload + ESK_KV_LEAF_APPLIED, applied);
    esk_store_u32(payload + ESK_KV_LEAF_MORE, *more);
    esk_store_u16(payload + ESK_KV_LEAF_COUNT, count);
    return page_write(kv, (uint16_t)(ESK_KV_LEAF_HEAD + count * bytes), number,
                      more);
}

/// The mark up to which a leaf has all when the step is made. In a replay that
/// may be more than the step gives: the leaf was written when the log was
/// longer, and the replay passes over what it has.
/// before  of the leaf until now.
static uint32_t leaf_applied(const struct esk_kv *kv, const struct step *step,
                             uint32_t number, uint32_t before) {
    uint32_t applied = step->applied;
    if (kv->index->is_replaying) {
        uint32_t segment = esk_kv_segment(esk_kv_index(kv), number);
        uint32_t from = esk_load_u32(esk_kv_replay_marks(kv) + 4u * segment);
        applied = mark_max(applied, mark_max(from, before));
    }
    return applied;
}

/// Writes the pages of a leaf of which a page cannot be read, from the log.
static int leaf_repair(struct esk_kv *kv, struct step *step, uint32_t at) {
    uint32_t from = 0;
    uint32_t number = step->first + at;
    uint32_t applied = leaf_applied(kv, step, number, step->applied);
    int status = ESK_OK;
    step->ref[at] = ESK_KV_REF_NONE;
    kv->index->limit = applied;
    while (status == ESK_OK && from != UINT32_MAX) {
        uint16_t count = 0;
        status = esk_kv_leaf_remake(kv, number, &from, &count);
        if (status == ESK_OK) {
            status = leaf_end(kv, applied, number, count, &step->ref[at]);
        }
    }
    kv->index->limit = step->applied;
    return status;
}

/// Writes the pages of leaf `step->first + at`, the last one first, and gives
/// the step its reference.
static int leaf_write(struct esk_kv *kv, struct step *step, uint32_t at) {
    uint16_t many = esk_kv_index(kv)->layout.leaf_entries;
    uint32_t number = step->first + at;
    uint32_t old = step->ref[at];
    struct gather gather = {.applied = step->applied};
    int status = old == ESK_KV_REF_LOST ? ESK_E_CORRUPT
                                        : leaf_gather(kv, number, old, &gather);
    if (status == ESK_E_CORRUPT) {
        return leaf_repair(kv, step, at);
    }
    ESK_TRY(status);
    uint32_t applied = leaf_applied(kv, step, number, gather.applied);
    step->ref[at] = ESK_KV_REF_NONE;
    step->stale += gather.stale;
    if (gather.count > many) {
        gather.skip = (gather.count - 1) / many * many;
        ESK_TRY(leaf_gather(kv, number, old, &gather));
    }
    uint32_t end = gather.count;
    for (;;) {
        ESK_TRY(leaf_end(kv, applied, number, (uint16_t)(end - gather.skip),
                         &step->ref[at]));
        if (gather.skip == 0) {
            return ESK_OK;
        }
        end = gather.skip;
        gather.skip -= many;
        ESK_TRY(leaf_gather(kv, number, old, &gather));
    }
}

static void ref_store(const struct esk_kv_index_open *index, uint8_t *refs,
                      uint32_t number, uint32_t ref) {
    uint8_t bytes = index->layout.ref_bytes;
    esk_kv_number_store(refs + (size_t)number * bytes, bytes, ref);
}

/// Makes the inner node in `node`, lost or new ones too.
static int inner_load(struct esk_kv *kv, uint32_t inner) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    int status = esk_kv_inner_read(kv, inner);
    if (status == ESK_NOT_FOUND || status == ESK_E_CORRUPT) {
        uint32_t ref =
            status == ESK_NOT_FOUND ? ESK_KV_REF_NONE : ESK_KV_REF_LOST;
        for (uint16_t i = 0; i < index->layout.inner_leaves; i++) {
            ref_store(index, esk_kv_node(kv) + ESK_ENVELOPE_BYTES, i, ref);
        }
        return ESK_OK;
    }
    return status;
}

/// Writes the inner node of the step's leaves.
static int inner_write(struct esk_kv *kv, const struct step *step,
                       uint32_t *ref) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint16_t many = index->layout.inner_leaves;
    uint32_t inner = step->first / many;
    uint32_t leaves = index->layout.leaves - inner * many;
    uint16_t used =
        (uint16_t)((leaves < many ? leaves : many) * index->layout.ref_bytes);
    ESK_TRY(inner_load(kv, inner));
    for (uint32_t i = 0; i < step->count; i++) {
        ref_store(index, esk_kv_node(kv) + ESK_ENVELOPE_BYTES,
                  step->first % many + i, step->ref[i]);
    }
    uint32_t aux = (uint32_t)ESK_KV_LEVEL_INNER << ESK_KV_LEVEL_SHIFT | inner;
    return page_write(kv, used, aux, ref);
}

/// Copies the marks of all segments to `marks` in `node`; none is behind the
/// limit: what comes there is to be taken back. Without a root that can be read
/// they are that of the log's tail: what is before it is nowhere.
static int marks_find(struct esk_kv *kv, uint8_t *marks) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    if (kv->index->is_replaying) {
        memcpy(marks, esk_kv_replay_marks(kv), ESK_KV_MARKS_BYTES);
        return ESK_OK;
    }
    int status =
        esk_ring_read(&index->ring, index->root, esk_kv_node(kv), true);
    uint32_t tail = esk_kv_mark_at(kv, kv->log.tail, 0);
    for (uint8_t i = 0; i < ESK_KV_SEGMENTS; i++) {
        uint32_t mark = status == ESK_OK ? esk_load_u32(marks) : tail;
        esk_store_u32(marks, mark_min(mark, kv->index->limit));
        marks += 4;
    }
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Moves the hand over the step's leaves.
/// marks  of all segments.
static void hand_move(const struct esk_kv_index_open *index, struct step *step,
                      uint8_t *marks) {
    uint32_t leaves = index->layout.leaves;
    for (uint32_t leaf = step->first; leaf < step->first + step->count;
         leaf++) {
        uint32_t segment = esk_kv_segment(index, leaf);
        uint8_t *at = marks + 4u * segment;
        uint32_t mark = esk_load_u32(at);
        bool is_first = leaf == 0 || esk_kv_segment(index, leaf - 1) != segment;
        bool is_last =
            leaf + 1 == leaves || esk_kv_segment(index, leaf + 1) != segment;
        /* In a replay a step's mark may be before that of the step before. */
        step->entered =
            is_first ? step->applied : mark_min(step->entered, step->applied);
        if ((((uint32_t)step->waits >> (leaf - step->first)) & 1u) != 0) {
            /* What such a record replaces may be in no leaf: it is replayed. */
            step->entered = mark;
        }
        if (is_last) {
            esk_store_u32(at, mark_max(mark, step->entered));
        }
    }
    step->hand = step->first + step->count;
    step->hand = step->hand == leaves ? 0 : step->hand;
}

/// Writes the root of what is in RAM: the step takes effect.
static int root_write(struct esk_kv *kv, struct step *step) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint8_t *root = esk_kv_node(kv) + ESK_ENVELOPE_BYTES;
    uint16_t refs = esk_kv_refs_bytes(&index->layout);
    uint32_t ref = 0;
    ESK_TRY(marks_find(kv, root + ESK_KV_ROOT_FROM));
    hand_move(index, step, root + ESK_KV_ROOT_FROM);
    esk_store_u32(root + ESK_KV_ROOT_APPLIED, step->counted.mark);
    esk_store_u32(root + ESK_KV_ROOT_KEYS, step->counted.keys);
    esk_store_u32(root + ESK_KV_ROOT_LIVE, step->counted.live);
    esk_store_u32(root + ESK_KV_ROOT_LONGEST, kv->longest);
    uint32_t tail = kv->index->is_replaying ? kv->index->tail : kv->log.tail;
    esk_store_u32(root + ESK_KV_ROOT_TAIL, tail);
    root[ESK_KV_ROOT_SALT_MAX] = kv->salt_max;
    esk_store_u32(root + ESK_KV_ROOT_HAND, step->hand);
    esk_store_u32(root + ESK_KV_ROOT_ENTERED, step->entered);
    memcpy(root + ESK_KV_ROOT_HEAD, esk_kv_refs(kv), refs);
    /* The records and pages that it names are durable before it is. */
    ESK_TRY(esk_region_barrier(&index->ring.region));
    ESK_TRY(page_write(kv, (uint16_t)(ESK_KV_ROOT_HEAD + refs),
                       (uint32_t)ESK_KV_LEVEL_ROOT << ESK_KV_LEVEL_SHIFT,
                       &ref));
    if (kv->index->is_replaying) {
        memcpy(esk_kv_replay_marks(kv), root + ESK_KV_ROOT_FROM,
               ESK_KV_MARKS_BYTES);
    }
    return ESK_OK;
}

/// Frees the slots of what the step wrote.
static void slots_free(struct esk_kv *kv, const struct step *step) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t hash = esk_kv_leaf_hash(index, step->first);
    uint32_t end = esk_kv_leaf_hash(index, step->first + step->count);
    uint32_t slot = 0;
    while (slot_below(kv, &hash, end, &slot)) {
        if (slot_goes(kv, slot)) {
            esk_kv_slot_free(kv, slot);
        }
    }
}

/// The position of the oldest page of a leaf that can be read.
static int leaf_oldest(struct esk_kv *kv, uint32_t leaf, uint32_t ref,
                       uint32_t *position) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    int status = ESK_OK;
    while (status == ESK_OK && ref < ESK_KV_REF_LOST) {
        struct esk_kv_leaf page = {.more = ESK_KV_REF_NONE};
        *position = esk_kv_ref_position(index, ref);
        status = esk_kv_leaf_read(kv, leaf, ref, &page);
        ref = page.more;
    }
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Drops the pages before those of the leaf at the hand: its oldest page is
/// the oldest one that is needed. If that is lost, it is the next leaf's.
static int tail_drop(struct esk_kv *kv) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    uint16_t many = index->layout.inner_leaves;
    uint32_t leaf = index->hand;
    uint32_t position = index->root;
    /* Leaves from the hand to the last, then from the first to the hand. */
    uint32_t end = index->layout.leaves;
    while (leaf < end) {
        uint32_t ref = 0;
        int status = esk_kv_leaf_ref(kv, leaf, &ref);
        if (status == ESK_OK) {
            ESK_TRY(leaf_oldest(kv, leaf, ref, &position));
            break;
        }
        if (status != ESK_E_CORRUPT) {
            return status == ESK_NOT_FOUND ? ESK_OK : status;
        }
        bool has_node = index->node_inner == leaf / many;
        leaf = has_node ? leaf + 1 : (leaf / many + 1) * many;
        if (leaf >= end && end > index->hand) {
            leaf = 0;
            end = index->hand;
        }
    }
    esk_ring_drop(&index->ring, position);
    return ESK_OK;
}

/// Gives up what a step that was cut, or failed, has written behind the newest
/// root.
static void junk_erase(struct esk_kv *kv) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    if (index->root == ESK_KV_NOWHERE) {
        esk_ring_drop(&index->ring, index->ring.head);
    } else if (!kv->index->is_begun) {
        index->node_inner = ESK_KV_NO_INNER;
        esk_ring_take_back(&index->ring, index->root + 1, esk_kv_node(kv));
    }
}

void esk_kv_index_page(struct esk_kv *kv, bool is_within) {
    struct esk_kv_counts *complete = &esk_kv_index(kv)->complete;
    complete->mark = is_within ? esk_kv_mark(kv, kv->record_at)
                               : esk_kv_mark_at(kv, kv->page_at, 0);
    complete->keys = kv->keys;
    complete->live = kv->live;
}

/// What the step's leaves get: in a replay, all before the record that is
/// replayed; else what is programmed: where that takes no page, all.
static int step_set_limit(struct esk_kv *kv, struct step *step) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    struct esk_kv_counts now = {0, kv->keys, kv->live};
    if (kv->index->is_limited) {
        uint32_t limit = kv->index->limit;
        now.mark =
            esk_kv_mark_before(limit, index->applied) ? index->applied : limit;
        step->applied = limit;
        step->counted = now;
        return ESK_OK;
    }
    if (kv->used == 0 || esk_kv_flush_seals(kv)) {
        ESK_TRY(esk_kv_flush(kv));
    }
    if (kv->used == kv->sealed) {
        index->complete = now;
        index->complete.mark = esk_kv_mark_next(kv);
    }
    step->counted = index->complete;
    step->applied = step->counted.mark;
    kv->index->is_limited = true;
    kv->index->limit = step->applied;
    return ESK_OK;
}

/// Finds the leaves of records that are not programmed yet.
static void waits_find(const struct esk_kv *kv, struct step *step) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t hash = esk_kv_leaf_hash(index, step->first);
    uint32_t end = esk_kv_leaf_hash(index, step->first + step->count);
    uint32_t slot = 0;
    step->waits = 0;
    while (slot_below(kv, &hash, end, &slot)) {
        if (!slot_goes(kv, slot)) {
            uint32_t at = esk_kv_leaf_of(index, hash - 1) - step->first;
            step->waits = (uint8_t)(step->waits | 1u << at);
        }
    }
}

static int leaves_write(struct esk_kv *kv) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    const struct esk_kv_index_layout *layout = &index->layout;
    struct step step;
    uint32_t left = layout->leaves - index->hand;
    ESK_TRY(step_set_limit(kv, &step));
    step.stale = 0;
    step.first = index->hand;
    step.count = left < ESK_KV_STEP_LEAVES ? left : ESK_KV_STEP_LEAVES;
    step.entered = index->entered;
    waits_find(kv, &step);
    ESK_TRY(tail_drop(kv));
    ESK_TRY(inner_load(kv, step.first / layout->inner_leaves));
    for (uint32_t i = 0; i < step.count; i++) {
        step.ref[i] =
            esk_kv_ref_load(index, esk_kv_node(kv) + ESK_ENVELOPE_BYTES,
                            step.first % layout->inner_leaves + i);
    }
    for (uint32_t i = 0; i < step.count; i++) {
        ESK_TRY(leaf_write(kv, &step, i));
    }
    uint32_t inner = step.first / layout->inner_leaves;
    uint32_t before = esk_kv_ref_load(index, esk_kv_refs(kv), inner);
    uint32_t ref = 0;
    ESK_TRY(inner_write(kv, &step, &ref));
    ref_store(index, esk_kv_refs(kv), inner, ref);
    int status = root_write(kv, &step);
    if (status != ESK_OK) {
        ref_store(index, esk_kv_refs(kv), inner, before);
        return status;
    }
    index->root = index->ring.head - 1;
    index->applied = step.counted.mark;
    index->hand = (uint16_t)step.hand;
    index->entered = step.entered;
    if (step.hand == 0) {
        index->paced = step.applied;
    }
    kv->records_lost += step.stale;
    kv->keys -= step.stale < kv->keys ? step.stale : kv->keys;
    slots_free(kv, &step);
    return ESK_OK;
}

static int step_make(struct esk_kv *kv) {
    bool is_limited = kv->index->is_limited;
    junk_erase(kv);
    kv->index->is_begun = true;
    int status = leaves_write(kv);
    kv->index->is_begun = status == ESK_OK;
    kv->index->is_limited = is_limited;
    /* A round's pages always fit in blocks that are good. */
    return status == ESK_FULL ? ESK_E_WORN : status;
}

int esk_kv_index_forget(struct esk_kv *kv, uint32_t position) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t mark = esk_kv_mark_at(kv, position, 0);
    uint32_t applied = index->applied;
    uint32_t leaf = 0;
    if (!esk_kv_mark_before(mark, applied)) {
        return ESK_OK;
    }
    index->entered = mark_min(index->entered, mark);
    kv->index->limit = mark;
    kv->index->is_limited = true;
    int status = ESK_OK;
    while (status == ESK_OK && leaf < index->layout.leaves) {
        uint32_t left = index->layout.leaves - index->hand;
        leaf += left < ESK_KV_STEP_LEAVES ? left : ESK_KV_STEP_LEAVES;
        if (leaf >= index->layout.leaves) {
            /* The last root says that no leaf names what comes behind. Copies
               change no counts. */
            index->applied = mark;
        }
        status = step_make(kv);
    }
    kv->index->is_limited = false;
    index->applied = status == ESK_OK ? mark : applied;
    return status;
}

/// Whether the round is behind what keeps an open within its pages.
static bool is_late(const struct esk_kv *kv) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    uint32_t gone = (esk_kv_mark_next(kv) - index->paced) / page_bytes;
    uint32_t leaves = index->layout.leaves;
    uint32_t pages = index->head.replay_pages;
    /* Hot keys do not fill the pending table. */
    pages = pages == 0 ? kv->pending_max - kv->pending_max / 4 : pages;
    if (pages > esk_ring_pages(&kv->log)) {
        pages = esk_ring_pages(&kv->log);
    }
    if (leaves <= ESK_KV_STEP_LEAVES) {
        return gone >= pages; /* a step is a round */
    }
    /* The round's share of the leaves is its share of the pages. */
    return gone >= pages || gone > index->hand * (pages / leaves) +
                                       index->hand * (pages % leaves) / leaves;
}

/// Whether a step can be made now at no cost beside its pages: no page of the
/// log has to be closed for it. Nor is it the last block that is filled, whose
/// copies may have to be taken back: no leaf should name them.
static bool is_free(const struct esk_kv *kv) {
    uint32_t block = esk_volume_geometry(kv->table.volume)->block_pages;
    return (kv->used == kv->sealed || esk_kv_flush_seals(kv)) &&
           esk_ring_has_room((struct esk_ring *)&kv->log, 2 * block);
}

int esk_kv_index_room(struct esk_kv *kv, enum esk_kv_due due, uint32_t keys) {
    uint32_t most = kv->pending_max;
    uint32_t leaves = esk_kv_index(kv)->layout.leaves;
    uint32_t round = leaves / ESK_KV_STEP_LEAVES + 1;
    uint32_t steps = 0;
    bool is_due =
        kv->pending > most / 8 * due || (due <= ESK_KV_DUE_PUT && is_late(kv));
    if (due != ESK_KV_DUE_NEVER && is_due && is_free(kv)) {
        ESK_TRY(step_make(kv));
    }
    while (kv->pending > most - keys) {
        if (steps++ > round) {
            /* All that is left is in the page in RAM. */
            ESK_TRY(esk_kv_flush(kv));
        }
        ESK_TRY(step_make(kv));
    }
    return ESK_OK;
}
