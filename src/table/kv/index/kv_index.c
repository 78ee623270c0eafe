// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reading an index: mount, lookup, walk.
#include "table/kv/index/kv_index.h"
#include "table/kv/kv_open.h"
#include "table/kv/kv_replay.h"
#include "volume/volume.h"

/* The constant of esker/arena.h. */
_Static_assert(sizeof(struct esk_kv_index_open) <=
                   ESK_BY_POINTER(131, 152, 200),
               "constants of a kv index's memory");

_Static_assert(ESK_KV_ROOT_HEAD == ESK_KV_ROOT_FROM + ESK_KV_MARKS_BYTES,
               "the marks of all segments");

static bool entry_lay(const struct esk_geometry *geometry,
                      const struct esk_kv_entry *entry,
                      struct esk_kv_index_layout *layout) {
    return esk_kv_index_lay(geometry, entry->options.leaves,
                            entry->index_blocks, entry->blocks, layout);
}

static uint32_t index_bytes(const struct esk_geometry *geometry,
                            const struct esk_kv_entry *entry) {
    struct esk_kv_index_layout layout;
    return esk_region_fits(geometry, entry->index_block, entry->index_blocks,
                           ESK_KV_BLOCKS_MIN) &&
                   entry_lay(geometry, entry, &layout)
               ? (uint32_t)sizeof(struct esk_kv_index_open) +
                     geometry->page_bytes + esk_kv_refs_bytes(&layout)
               : 0;
}

/// The position of a page that the root or a node names.
uint32_t esk_kv_ref_position(const struct esk_kv_index_open *index,
                             uint32_t ref) {
    const struct esk_ring *ring = &index->ring;
    uint32_t pages = esk_ring_pages(ring);
    uint32_t tail = esk_ring_page(ring, ring->tail) - esk_ring_first(ring);
    return ring->tail + (ref >= tail ? ref - tail : ref + pages - tail);
}

int esk_kv_index_read(struct esk_kv *kv, uint32_t ref, uint32_t aux,
                      uint8_t *page) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    if (ref >= esk_ring_pages(&index->ring)) {
        return ESK_E_CORRUPT;
    }
    int status = esk_ring_read(&index->ring, esk_kv_ref_position(index, ref),
                               page, true);
    if (status == ESK_OK && esk_page_aux(page) == aux) {
        return ESK_OK;
    }
    return status == ESK_E_IO ? status : ESK_E_CORRUPT;
}

uint32_t esk_kv_ref_load(const struct esk_kv_index_open *index,
                         const uint8_t *refs, uint32_t number) {
    uint8_t bytes = index->layout.ref_bytes;
    uint32_t ref = esk_kv_number(refs + (size_t)number * bytes, bytes);
    uint32_t none = UINT32_MAX >> (32u - 8u * bytes);
    return ref >= none - 1 ? UINT32_MAX - (none - ref) : ref;
}

int esk_kv_inner_read(struct esk_kv *kv, uint32_t inner) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    if (index->node_inner == inner) {
        return ESK_OK;
    }
    index->node_inner = ESK_KV_NO_INNER;
    uint32_t ref = esk_kv_ref_load(index, esk_kv_refs(kv), inner);
    if (ref == ESK_KV_REF_NONE) {
        return ESK_NOT_FOUND;
    }
    uint32_t aux = (uint32_t)ESK_KV_LEVEL_INNER << ESK_KV_LEVEL_SHIFT | inner;
    ESK_TRY(esk_kv_index_read(kv, ref, aux, esk_kv_node(kv)));
    index->node_inner = (uint16_t)inner;
    return ESK_OK;
}

int esk_kv_leaf_ref(struct esk_kv *kv, uint32_t leaf, uint32_t *ref) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    uint16_t many = index->layout.inner_leaves;
    ESK_TRY(esk_kv_inner_read(kv, leaf / many));
    *ref = esk_kv_ref_load(index, esk_kv_node(kv) + ESK_ENVELOPE_BYTES,
                           leaf % many);
    if (*ref == ESK_KV_REF_LOST) {
        return ESK_E_CORRUPT;
    }
    return *ref == ESK_KV_REF_NONE ? ESK_NOT_FOUND : ESK_OK;
}

int esk_kv_leaf_read(struct esk_kv *kv, uint32_t leaf, uint32_t ref,
                     struct esk_kv_leaf *out) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(esk_kv_index_read(kv, ref, leaf, kv->frame));
    const uint8_t *payload = kv->frame + ESK_ENVELOPE_BYTES;
    out->entries = payload + ESK_KV_LEAF_HEAD;
    out->base = esk_kv_leaf_hash(index, leaf);
    out->applied = esk_load_u32(payload + ESK_KV_LEAF_APPLIED);
    out->more = esk_load_u32(payload + ESK_KV_LEAF_MORE);
    out->count = esk_load_u16(payload + ESK_KV_LEAF_COUNT);
    /* A page with more entries was written before this one. */
    bool is_last = out->more == ESK_KV_REF_NONE;
    return out->count <= index->layout.leaf_entries &&
                   (is_last || esk_kv_ref_position(index, out->more) <
                                   esk_kv_ref_position(index, ref))
               ? ESK_OK
               : ESK_E_CORRUPT;
}

uint32_t esk_kv_leaf_entry(const struct esk_kv *kv,
                           const struct esk_kv_leaf *leaf, uint16_t entry,
                           uint32_t *address) {
    const struct esk_kv_index_layout *layout = &esk_kv_index(kv)->layout;
    uint8_t suffix = layout->suffix_bytes;
    const uint8_t *at =
        leaf->entries + (size_t)entry * esk_kv_entry_bytes(layout);
    *address = esk_kv_number(at + suffix, layout->address_bytes);
    uint32_t above = esk_kv_number(at, suffix) - leaf->base;
    return leaf->base + (above & (UINT32_MAX >> (32u - 8u * suffix)));
}

void esk_kv_leaf_store(const struct esk_kv *kv, uint32_t entry, uint32_t hash,
                       uint32_t address) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    const struct esk_kv_index_layout *layout = &index->layout;
    uint8_t suffix = layout->suffix_bytes;
    uint8_t *at = esk_kv_node(kv) + ESK_ENVELOPE_BYTES + ESK_KV_LEAF_HEAD +
                  (size_t)entry * esk_kv_entry_bytes(layout);
    esk_kv_number_store(at, suffix, hash);
    esk_kv_number_store(at + suffix, layout->address_bytes, address);
}

/// What a search in a leaf wants and found.
struct search {
    uint32_t from; ///< hashes from here on
    uint32_t best; ///< the smallest of them; UINT32_MAX: none
    uint32_t address;
    bool is_stale;
};

/// Searches all pages of a leaf. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
static int pages_search(struct esk_kv *kv, uint32_t number,
                        struct search *search) {
    uint32_t ref = 0;
    int status = esk_kv_leaf_ref(kv, number, &ref);
    if (status != ESK_OK) {
        return status == ESK_NOT_FOUND ? ESK_OK : status;
    }
    while (ref != ESK_KV_REF_NONE) {
        struct esk_kv_leaf leaf;
        ESK_TRY(esk_kv_leaf_read(kv, number, ref, &leaf));
        for (uint16_t i = 0; i < leaf.count; i++) {
            uint32_t address = 0;
            uint32_t hash = esk_kv_leaf_entry(kv, &leaf, i, &address);
            if (hash >= search->from && hash < search->best) {
                search->best = hash;
                search->address = address;
                search->is_stale = esk_kv_leaf_is_stale(kv, &leaf, address);
            }
        }
        ref = leaf.more;
    }
    return ESK_OK;
}

/// The same; a leaf that cannot be read is searched in the log.
/// Returns ESK_OK; ESK_E_IO.
static int leaf_search(struct esk_kv *kv, uint32_t number,
                       struct search *search) {
    struct search found = *search;
    int status = pages_search(kv, number, &found);
    if (status == ESK_E_CORRUPT) {
        return esk_kv_leaf_first(kv, number, &search->best, search->from,
                                 &search->address);
    }
    *search = found;
    return status;
}

static int index_find(struct esk_kv *kv, uint32_t hash, uint32_t *address) {
    struct search search = {.from = hash, .best = UINT32_MAX};
    ESK_TRY(leaf_search(kv, esk_kv_leaf_of(esk_kv_index(kv), hash), &search));
    if (search.best != hash) {
        return ESK_NOT_FOUND;
    }
    *address = search.address;
    return search.is_stale ? ESK_E_CORRUPT : ESK_OK;
}

static int index_next(struct esk_kv *kv, uint32_t *hash, uint32_t *address) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t leaf = esk_kv_leaf_of(index, *hash);
    struct search search = {.from = *hash, .best = UINT32_MAX};
    while (leaf < index->layout.leaves) {
        ESK_TRY(leaf_search(kv, leaf, &search));
        if (search.best != UINT32_MAX) {
            *hash = search.best;
            *address = search.address;
            return search.is_stale ? ESK_E_CORRUPT : ESK_OK;
        }
        leaf++;
    }
    return ESK_END;
}

/// Adds the record to the table's counts, in place of the one before it.
static int record_weigh(struct esk_kv *kv, const struct esk_kv_record *record) {
    uint32_t address = 0;
    struct esk_kv_record before;
    int status = esk_kv_newest(kv, record->hash, &address);
    if (status == ESK_OK) {
        status = esk_kv_record_head(kv, address, &before);
    }
    if (status == ESK_E_IO) {
        return status;
    }
    if (status == ESK_E_CORRUPT ||
        (status == ESK_OK && before.type != ESK_KV_DELETED)) {
        uint32_t bytes = status == ESK_OK ? before.bytes : 0;
        kv->live -= bytes < kv->live ? bytes : kv->live;
        kv->keys -= kv->keys > 0 ? 1 : 0;
    }
    if (record->type != ESK_KV_DELETED) {
        kv->keys++;
        kv->live += record->bytes;
    }
    return ESK_OK;
}

/// Makes room for a hash in the pending table.
static int slot_make(struct esk_kv *kv, uint32_t hash) {
    uint32_t slot = 0;
    if (kv->pending < kv->pending_max || esk_kv_slot_find(kv, hash, &slot)) {
        return ESK_OK;
    }
    bool may_write =
        (esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) == 0;
    return may_write ? esk_kv_index_room(kv, ESK_KV_DUE_NEVER, 1) : ESK_E_LIMIT;
}

/// Makes `record` the newest of its key, if it may be newer than what the index
/// has.
static int record_replay(struct esk_kv *kv, struct esk_kv_walk *walk,
                         const struct esk_kv_record *record, uint32_t address) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    uint32_t leaf = esk_kv_leaf_of(index, record->hash);
    uint32_t mark = esk_kv_mark(kv, address);
    kv->salt_max = record->salt > kv->salt_max ? record->salt : kv->salt_max;
    const uint8_t *marks = esk_kv_replay_marks(kv);
    uint32_t segment = esk_kv_segment(index, leaf);
    if (esk_kv_mark_before(mark, esk_load_u32(marks + 4u * segment))) {
        return ESK_OK;
    }
    index->head.limit = mark;
    index->head.tail = walk->tail;
    ESK_TRY(slot_make(kv, record->hash));
    if (!esk_kv_mark_before(mark, walk->counted)) {
        ESK_TRY(record_weigh(kv, record));
        esk_kv_record_note(kv, walk, record);
    }
    esk_kv_slot_take(kv, record->hash, address, record->type == ESK_KV_DELETED);
    return ESK_OK;
}

/// Takes what a root says. Returns whether it can be one of this table.
static bool root_take(struct esk_kv *kv, struct esk_kv_walk *walk) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    const uint8_t *root = esk_kv_node(kv) + ESK_ENVELOPE_BYTES;
    const struct esk_kv_index_layout *layout = &index->layout;
    uint32_t hand = esk_load_u32(root + ESK_KV_ROOT_HAND);
    if (hand >= layout->leaves) {
        return false;
    }
    index->hand = (uint16_t)hand;
    index->applied = esk_load_u32(root + ESK_KV_ROOT_APPLIED);
    index->entered = esk_load_u32(root + ESK_KV_ROOT_ENTERED);
    memcpy(esk_kv_replay_marks(kv), root + ESK_KV_ROOT_FROM,
           ESK_KV_MARKS_BYTES);
    memcpy(esk_kv_refs(kv), root + ESK_KV_ROOT_HEAD, esk_kv_refs_bytes(layout));
    kv->keys = esk_load_u32(root + ESK_KV_ROOT_KEYS);
    kv->live = esk_load_u32(root + ESK_KV_ROOT_LIVE);
    kv->longest = esk_load_u32(root + ESK_KV_ROOT_LONGEST);
    kv->salt_max = root[ESK_KV_ROOT_SALT_MAX];
    walk->tail = esk_load_u32(root + ESK_KV_ROOT_TAIL);
    walk->counted = index->applied;
    walk->is_rooted = true;
    return true;
}

/// Finds the newest root.
static int root_find(struct esk_kv *kv, struct esk_kv_walk *walk) {
    struct esk_kv_index_open *index = esk_kv_index(kv);
    const struct esk_ring *ring = &index->ring;
    uint32_t aux = (uint32_t)ESK_KV_LEVEL_ROOT << ESK_KV_LEVEL_SHIFT;
    uint32_t position = ring->head;
    while (position > ring->tail) {
        position--;
        int status = esk_ring_read(ring, position, esk_kv_node(kv), true);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_OK && esk_page_aux(esk_kv_node(kv)) == aux &&
            root_take(kv, walk)) {
            index->root = position;
            return ESK_OK;
        }
    }
    return ESK_OK;
}

/// The log position from which on an open replays, at least the tail.
static uint32_t replay_from(struct esk_kv *kv, uint32_t tail) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    const struct esk_ring *log = &kv->log;
    uint32_t end = esk_kv_mark_at(kv, log->head, 0);
    uint32_t most = 0;
    for (uint32_t i = 0; i < ESK_KV_SEGMENTS; i++) {
        /* Few leaves leave segments without one. */
        uint32_t leaf =
            (i * index->layout.leaves + ESK_KV_SEGMENTS - 1) / ESK_KV_SEGMENTS;
        uint32_t mark = esk_load_u32(esk_kv_replay_marks(kv) + 4u * i);
        if (leaf < index->layout.leaves && esk_kv_segment(index, leaf) == i &&
            !esk_kv_mark_before(end, mark) && end - mark > most) {
            most = end - mark;
        }
    }
    uint16_t page_bytes = esk_envelope_page_bytes(&log->region.envelope);
    uint32_t pages = most / page_bytes + 1;
    tail = tail > log->tail ? tail : log->tail;
    uint32_t from = log->head - tail > pages ? log->head - pages : tail;
    /* The stream goes on behind a page that can be read. */
    int status = ESK_E_CORRUPT;
    while (from > tail &&
           (status == ESK_E_CORRUPT || status == ESK_NOT_FOUND)) {
        struct esk_kv_place place;
        from--;
        status = esk_kv_first(kv, from, &place);
    }
    return from;
}

static int index_mount(struct esk_kv *kv, const struct esk_kv_entry *entry,
                       struct esk_kv_walk *walk) {
    struct esk_volume *volume = kv->table.volume;
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    struct esk_kv_index_open *index = esk_kv_index(kv);
    struct esk_kv_index head = index->head;
    struct esk_ring_config config;
    memset(index, 0, sizeof *index);
    index->head = head;
    index->head.keys_max = entry->options.keys;
    index->head.is_limited = true;
    index->head.is_replaying = true;
    index->head.is_begun = false;
    (void)entry_lay(geometry, entry, &index->layout);
    /* The log's ring knows the bytes of a page. */
    memset(esk_kv_refs(kv), 0xFF, esk_kv_refs_bytes(&index->layout));
    index->node_inner = ESK_KV_NO_INNER;
    index->root = ESK_KV_NOWHERE;
    esk_kv_ring_config(entry, &config);
    config.block = entry->index_block;
    config.blocks = entry->index_blocks;
    config.kind = ESK_PAGE_INDEX;
    ESK_TRY(esk_ring_open(&index->ring, volume, &config, &kv->stats,
                          esk_kv_node(kv)));
    walk->record = record_replay;
    walk->counts = true;
    walk->counted = esk_kv_mark_at(kv, kv->log.tail, 0);
    for (uint8_t i = 0; i < ESK_KV_SEGMENTS; i++) {
        esk_store_u32(esk_kv_replay_marks(kv) + 4u * i, walk->counted);
    }
    index->entered = walk->counted;
    index->applied = walk->counted;
    ESK_TRY(root_find(kv, walk));
    walk->from = replay_from(kv, walk->tail);
    index->paced = esk_kv_segment(index, index->hand) == 0
                       ? index->entered
                       : esk_load_u32(esk_kv_replay_marks(kv));
    esk_table_ring_add(&kv->table, &index->ring);
    return ESK_OK;
}

static int index_check(struct esk_kv *kv, uint32_t *lost) {
    const struct esk_kv_index_open *index = esk_kv_index(kv);
    struct search search = {.from = 0, .best = 0};
    uint32_t leaf = 0;
    while (leaf < index->layout.leaves) {
        uint32_t inner = leaf / index->layout.inner_leaves;
        int status = esk_kv_inner_read(kv, inner);
        bool has_node = status == ESK_OK;
        if (has_node) {
            status = pages_search(kv, leaf, &search);
        }
        ESK_TRY(status == ESK_E_IO ? status : ESK_OK);
        *lost += status == ESK_E_CORRUPT ? 1 : 0;
        leaf = has_node ? leaf + 1 : (inner + 1) * index->layout.inner_leaves;
    }
    return ESK_OK;
}

static void index_tail(struct esk_kv *kv, const struct esk_kv_walk *walk,
                       const uint8_t *bytes, const struct esk_kv_place *next) {
    uint32_t behind = esk_kv_mark_at(kv, next->position, next->offset);
    /* A copied page's marks do not know what came behind them before. */
    bool is_new = (int16_t)(next->stream - walk->seen) > 0;
    if (walk->counts && is_new && esk_kv_mark_before(walk->counted, behind)) {
        kv->keys = esk_load_u32(bytes + ESK_KV_TAIL_KEYS);
        kv->live = esk_load_u32(bytes + ESK_KV_TAIL_LIVE);
        kv->longest = esk_load_u32(bytes + ESK_KV_TAIL_LONGEST);
    }
}

/// Where damage took the log's newest pages, the index has marks of what was
/// there, and would take new records in their places for known ones.
static int index_replayed(struct esk_kv *kv, const struct esk_kv_walk *walk) {
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    uint32_t end = esk_kv_mark_at(kv, kv->log.head, 0);
    kv->index->is_limited = false;
    kv->index->is_replaying = false;
    if (!esk_kv_mark_before(end, walk->counted)) {
        return ESK_OK;
    }
    kv->pages_lost += (walk->counted - end + page_bytes - 1) / page_bytes;
    bool may_write =
        (esk_volume_flags(kv->table.volume) & ESK_MOUNT_READ_ONLY) == 0;
    return may_write ? esk_kv_index_forget(kv, kv->log.head) : ESK_OK;
}

const struct esk_kv_part esk_kv_part_index = {
    .bytes = index_bytes,
    .mount = index_mount,
    .tail = index_tail,
    .replayed = index_replayed,
    .page = esk_kv_index_page,
    .find = index_find,
    .next = index_next,
    .room = esk_kv_index_room,
    .check = index_check,
    .forget = esk_kv_index_forget,
};
