// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The collector: takes pages from the tail of the log. A record there that is
/// its key's newest is written again at the head; all else is dropped. It
/// begins a block early and moves a few pages a call; a table of few blocks
/// cannot spare one, and there a call takes a whole block.
#include "table/kv/kv_replay.h"
#include "volume/volume.h"

enum {
    PAGES_A_CALL = 4,
    EARLY_BLOCKS = 8, ///< a table of fewer begins when a block is left
};

enum { PIECE_BYTES = 16 }; ///< at least a record's head

/// Copies the record of `bytes` bytes at `place` to the log's head; or compares
/// it with the one at `other`, if that is not NULL. A copy is in no batch.
/// Returns  also ESK_NOT_FOUND: they differ; as esk_kv_take, esk_kv_write.
static int record_copy(struct esk_kv *kv, struct esk_kv_place *place,
                       struct esk_kv_place *other, uint32_t bytes) {
    uint8_t piece[PIECE_BYTES];
    uint8_t others[PIECE_BYTES];
    uint8_t kept = (uint8_t)~(ESK_KV_WORD_MORE >> 8); /* bits of the word */
    while (bytes > 0) {
        uint8_t part = bytes < PIECE_BYTES ? (uint8_t)bytes : PIECE_BYTES;
        ESK_TRY(esk_kv_take(kv, place, piece, part));
        piece[ESK_KV_RECORD_WORD + 1] &= kept;
        if (other == NULL) {
            ESK_TRY(esk_kv_write(kv, piece, part));
        } else {
            ESK_TRY(esk_kv_take(kv, other, others, part));
            others[ESK_KV_RECORD_WORD + 1] &= kept;
            if (!esk_bytes_equal(piece, others, part)) {
                return ESK_NOT_FOUND;
            }
        }
        kept = UINT8_MAX;
        bytes -= part;
    }
    return ESK_OK;
}

/// Writes the record at `address` again. If it cannot be read, its key is lost.
static int record_move(struct esk_kv *kv, const struct esk_kv_record *record,
                       uint32_t address) {
    struct esk_kv_place place;
    uint32_t slot = 0;
    if (esk_kv_has_index(kv)) {
        ESK_TRY(esk_kv_part(kv)->room(kv, ESK_KV_DUE_NEVER, 1));
    }
    ESK_TRY(esk_kv_record_begin(kv, record->bytes));
    uint16_t mark = kv->used;
    int status = esk_kv_place(kv, address, &place);
    if (status == ESK_OK) {
        status = record_copy(kv, &place, NULL, record->bytes);
    }
    if (status == ESK_OK) {
        esk_kv_slot_take(kv, record->hash, kv->record_at,
                         record->type == ESK_KV_DELETED);
        return ESK_OK;
    }
    esk_kv_record_abort(kv, mark);
    if (status != ESK_E_CORRUPT && status != ESK_END) {
        return status;
    }
    if (!esk_kv_slot_find(kv, record->hash, &slot)) {
        return ESK_OK; /* a step counts what its leaves name in vain */
    }
    esk_kv_slot_free(kv, slot);
    uint32_t older = 0;
    status = esk_kv_newest(kv, record->hash, &older);
    if (status == ESK_NOT_FOUND && record->type != ESK_KV_DELETED) {
        kv->keys--;
        kv->live -= record->bytes;
    }
    kv->records_lost += status != ESK_E_CORRUPT ? 1 : 0;
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Moves a record of the tail's page if it is its key's newest.
static int record_keep(struct esk_kv *kv, struct esk_kv_walk *walk,
                       const struct esk_kv_record *record, uint32_t address) {
    (void)walk;
    int status = esk_kv_is_newest(kv, record->hash, address);
    if (status == ESK_OK) {
        return record_move(kv, record, address);
    }
    /* Of a key whose newest record is lost, an older one does not count. */
    return status == ESK_E_IO ? status : ESK_OK;
}

/// Moves what counts of the records that begin in the page at `position`.
/// clean    out: all their keys can be read.
static int page_move(struct esk_kv *kv, uint32_t position, bool *clean) {
    struct esk_kv_walk walk;
    memset(&walk, 0, sizeof walk);
    walk.record = record_keep;
    walk.skips = true;
    int status = esk_kv_walk_page(kv, &walk, position);
    *clean = walk.records_torn == 0;
    return status;
}

/// Whether what was moved is to be made durable at the end of a block, so that
/// the block is free: where that costs no page, when the page is half full, or
/// when it has to be.
static bool is_due(struct esk_kv *kv) {
    return kv->used == kv->sealed || kv->passed >= kv->log.head ||
           esk_kv_flush_seals(kv) || kv->used >= esk_kv_page_room(kv) / 2u ||
           !esk_ring_has_room(
               &kv->log, esk_volume_geometry(kv->table.volume)->block_pages);
}

/// Takes the next page of the tail. Returns ESK_END when there is none.
static int page_collect(struct esk_kv *kv) {
    struct esk_ring *ring = &kv->log;
    struct esk_kv_view view;
    uint32_t position = kv->passed > ring->tail ? kv->passed : ring->tail;
    uint32_t next = position + 1;
    bool clean = true;
    if (position >= ring->head) {
        /* All that counts may be in RAM. */
        return ring->tail < kv->passed && kv->used > kv->sealed
                   ? esk_kv_flush(kv)
                   : ESK_END;
    }
    int status = esk_kv_view(kv, position, &view);
    if (status == ESK_E_IO) {
        return status;
    }
    if (status == ESK_OK) {
        kv->passed_stream = esk_kv_view_stream(&view, view.count);
        ESK_TRY(page_move(kv, position, &clean));
    } else {
        next = esk_ring_skip(ring, position);
        clean = false;
    }
    if (!clean) {
        uint32_t lost = esk_kv_slots_drop(kv, position, next);
        kv->records_lost += lost;
        kv->keys -= lost < kv->keys ? lost : kv->keys;
        if (lost > 0 && !esk_kv_has_index(kv)) {
            ESK_TRY(esk_kv_live_count(kv));
        }
    }
    kv->pages_moved++;
    if (esk_ring_rest(ring, next) != 0) {
        kv->passed = next;
        return ESK_OK;
    }
    ESK_TRY(esk_kv_tail_write(kv, next, kv->passed_stream));
    kv->passed = next;
    return is_due(kv) ? esk_kv_flush(kv) : ESK_OK;
}

/// The walk that takes copies back.
struct originals {
    struct esk_kv_walk walk;
    uint32_t end;    ///< behind the tail's block
    uint32_t copies; ///< where the copies begin
    uint32_t left;   ///< originals for which the pending table had no room
};

/// Whether a record among the copies forbids to erase them: it is the newest of
/// its hash yet, or a delete that only the log has.
/// Returns ESK_OK: it does not; ESK_FULL; ESK_E_IO.
static int copy_judge(struct esk_kv *kv, const struct esk_kv_record *record,
                      uint32_t address) {
    if (!esk_kv_has_index(kv)) {
        /* copies_erase looks whether one is the newest. */
        return record->type == ESK_KV_DELETED ? ESK_FULL : ESK_OK;
    }
    int status = esk_kv_is_newest(kv, record->hash, address);
    return status == ESK_OK ? ESK_FULL : (status == ESK_E_IO ? status : ESK_OK);
}

/// Makes a record of the tail's block the newest of its key again, if that one
/// is a copy of it. Returns ESK_OK; ESK_FULL: not all is a copy; ESK_E_IO.
static int original_take(struct esk_kv *kv, struct esk_kv_walk *walk,
                         const struct esk_kv_record *record, uint32_t address) {
    struct originals *originals = (struct originals *)walk;
    uint32_t position = esk_kv_position(kv, address);
    struct esk_kv_place original;
    struct esk_kv_place copy;
    uint32_t newest = 0;
    uint32_t slot = 0;
    if (position >= originals->copies) {
        return originals->left > 0 ? ESK_OK : copy_judge(kv, record, address);
    }
    if (position >= originals->end) {
        return ESK_OK;
    }
    int status = esk_kv_newest(kv, record->hash, &newest);
    if (status == ESK_OK && esk_kv_position(kv, newest) < originals->copies) {
        return ESK_OK;
    }
    if (status == ESK_OK) {
        status = esk_kv_place(kv, address, &original);
    }
    if (status == ESK_OK) {
        status = esk_kv_place(kv, newest, &copy);
    }
    if (status == ESK_OK) {
        status = record_copy(kv, &original, &copy, record->bytes);
    }
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_OK;
    }
    bool has_room = !esk_kv_has_index(kv) ||
                    kv->pending + 2 <= kv->slot_count ||
                    esk_kv_slot_find(kv, record->hash, &slot);
    originals->left += has_room ? 0 : 1;
    if (has_room) {
        esk_kv_slot_take(kv, record->hash, address,
                         record->type == ESK_KV_DELETED);
    }
    return ESK_OK;
}

/// Makes the originals in the tail's block the newest again, as many at a time
/// as the pending table has room for: the index takes the others.
static int originals_take(struct esk_kv *kv, uint32_t end, uint32_t copies) {
    struct originals originals;
    int status = ESK_OK;
    do {
        memset(&originals, 0, sizeof originals);
        originals.walk.record = original_take;
        originals.end = end;
        originals.copies = copies;
        ESK_TRY(esk_kv_walk(kv, &originals.walk));
        status =
            originals.left == 0
                ? ESK_OK
                : esk_kv_part(kv)->room(kv, ESK_KV_DUE_NEVER, kv->pending_max);
    } while (status == ESK_OK && originals.left > 0);
    return status;
}

/// Takes back what was moved when there is no room to go on: power cuts in the
/// collector have filled the block that it moves to. If that block has only
/// copies, and each of them has its original in the tail's block, it is erased,
/// and the stream goes on where it did there: no page seems to be missing. Not
/// if a record goes over into it: a page at the end of the block before failed.
/// Returns ESK_OK; ESK_FULL when that is not so; ESK_E_IO, also when the block
/// cannot be erased.
static int copies_erase(struct esk_kv *kv) {
    struct esk_ring *ring = &kv->log;
    uint16_t block = esk_volume_geometry(kv->table.volume)->block_pages;
    uint32_t copies = ring->head - block;
    uint32_t end = ring->tail - esk_ring_rest(ring, ring->tail) + block;
    struct esk_kv_view view = {.stream = kv->stream};
    bool is_known = kv->used == 0 && esk_ring_rest(ring, ring->head) == 0 &&
                    ring->head >= block && copies >= end;
    if (is_known) {
        /* Nothing of the tail's block is erased yet. */
        ring->tail = end - block;
        kv->passed = ring->tail;
        ESK_TRY(originals_take(kv, end, copies));
        int status = esk_kv_view_from(kv, copies, &view);
        ESK_TRY(status == ESK_E_IO ? status : ESK_OK);
        is_known = view.first == view.start;
    }
    for (uint32_t slot = 0; slot < kv->slot_count && is_known; slot++) {
        uint32_t position = esk_kv_slot_position(kv, slot);
        is_known = position == ESK_KV_NOWHERE || position < copies;
    }
    if (!is_known) {
        return ESK_FULL;
    }
    esk_kv_snapshots_keep(kv, NULL); /* positions are used again */
    if (esk_kv_has_index(kv)) {
        ESK_TRY(esk_kv_part(kv)->forget(kv, copies));
        ESK_TRY(esk_region_barrier(&ring->region));
    }
    esk_kv_page_forget(kv);
    kv->frame_at = ESK_KV_NOWHERE;
    esk_ring_take_back(ring, copies, kv->frame);
    if (ring->head != copies) {
        return ESK_E_IO;
    }
    kv->stream = view.stream;
    return ESK_OK;
}

/// Pages that have to be free before a record of `bytes` bytes is written, with
/// `spare` blocks beside: the rest of the head's block, and another block if
/// the record does not fit there.
static uint32_t pages_wanted(const struct esk_kv *kv, uint32_t bytes,
                             uint32_t spare) {
    const struct esk_ring *ring = &kv->log;
    uint16_t block = esk_volume_geometry(kv->table.volume)->block_pages;
    uint16_t begun = esk_ring_rest(ring, ring->head);
    bool is_begun = begun != 0 || kv->used > 0;
    uint32_t rest = is_begun ? (uint32_t)(block - begun) : 0;
    /* A sync may need a page of its own. */
    bool fits =
        is_begun && bytes + esk_kv_page_room(kv) <= esk_kv_block_rest(kv);
    return rest + (spare + (fits ? 0 : 1)) * block;
}

/// Whether the collector would find more than it has to move.
static bool is_worth(const struct esk_kv *kv) {
    const struct esk_ring *ring = &kv->log;
    uint32_t block = esk_volume_geometry(kv->table.volume)->block_pages;
    uint32_t from = kv->passed > ring->tail ? kv->passed : ring->tail;
    uint32_t bytes = kv->live + esk_kv_rests_max(kv, kv->longest);
    return ring->head > from + block + 2 &&
           (ring->head - from - block - 2) * esk_kv_page_room(kv) > bytes;
}

int esk_kv_room(struct esk_kv *kv, uint32_t bytes) {
    struct esk_ring *ring = &kv->log;
    uint32_t block = esk_volume_geometry(kv->table.volume)->block_pages;
    uint32_t pages = esk_ring_pages(ring);
    uint32_t taken = 0;
    int early = pages >= EARLY_BLOCKS * block ? ESK_OK : ESK_FULL;
    while (early == ESK_OK && taken < PAGES_A_CALL && is_worth(kv) &&
           !esk_ring_has_room(ring, pages_wanted(kv, bytes, 2))) {
        early = page_collect(kv);
        taken++;
    }
    if (early != ESK_OK && early != ESK_FULL) {
        return early;
    }
    bool is_first = true;
    while (!esk_ring_has_room(ring, pages_wanted(kv, bytes, 1))) {
        int status = taken > pages + block ? ESK_END : page_collect(kv);
        if (status == ESK_FULL && is_first) {
            is_first = false;
            status = copies_erase(kv);
        }
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_FULL : status;
        }
        taken++;
    }
    return ESK_OK;
}

int esk_kv_collect(void *owner, bool *done) {
    struct esk_kv *kv = owner;
    *done = false;
    if (!is_worth(kv) || esk_ring_has_room(&kv->log, pages_wanted(kv, 0, 2))) {
        uint32_t pending = kv->pending;
        int status = esk_kv_has_index(kv)
                         ? esk_kv_part(kv)->room(kv, ESK_KV_DUE_IDLE, 1)
                         : ESK_OK;
        *done = kv->pending < pending;
        return status == ESK_FULL ? ESK_OK : status;
    }
    int status = page_collect(kv);
    *done = status == ESK_OK;
    return status == ESK_END || status == ESK_FULL ? ESK_OK : status;
}
