// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The walk over a log.
///
/// A page that is not valid is a hole, whose program failed or was cut, if the
/// next valid page goes on where the one before it ended, or further by
/// ESK_KV_GAP; or if it is a copy of the page before, which failed while it was
/// being filled. Else the page had records, and is lost. Behind the newest
/// valid page nothing shows what it was.
///
/// A record of a batch counts if those behind it do, up to the batch's last: at
/// the first of them the walk reads ahead.
///
/// A record that does not end in its page, of which a copy follows, is taken
/// from the copy: when the page failed, what it had there may have been given
/// up.
#include "base/inline.h"
#include "table/kv/kv_replay.h"

/// Takes what a tail mark says, which stands in the page at `position`.
/// next: what comes behind it.
static void mark_take(struct esk_kv *kv, struct esk_kv_walk *walk,
                      uint32_t position, const uint8_t *mark,
                      const struct esk_kv_place *next) {
    uint32_t tail = esk_load_u32(mark + ESK_KV_TAIL_POSITION);
    if (tail > position) {
        return;
    }
    walk->tail = tail;
    walk->tail_stream = esk_load_u16(mark + ESK_KV_TAIL_STREAM);
    if (esk_kv_has_index(kv)) { /* else an open counts all records */
        esk_kv_part(kv)->tail(kv, walk, mark, next);
    }
}

/// Moves `place` to the next record at or behind it in the page at `position`,
/// over all else. Returns ESK_OK; ESK_END: there is none; as esk_kv_take.
static int record_find(struct esk_kv *kv, struct esk_kv_walk *walk,
                       uint32_t position, struct esk_kv_place *place) {
    struct esk_kv_view view;
    ESK_TRY(esk_kv_view(kv, position, &view));
    while (place->position == position && place->offset < view.count) {
        uint16_t skip = 1;
        uint8_t mark[ESK_KV_TAIL_BYTES];
        switch (view.bytes[place->offset]) {
        case ESK_KV_TAIL:
            ESK_TRY(esk_kv_take(kv, place, mark, sizeof mark));
            mark_take(kv, walk, position, mark, place);
            continue;
        case ESK_KV_SEAL:
            skip = 1 + ESK_SEAL_BYTES;
            break;
        case ESK_KV_PAD:
            break;
        default:
            return ESK_OK;
        }
        /* A seal that goes on behind the page is none. */
        esk_kv_place_move(place, skip);
    }
    return ESK_END;
}

/// Moves `place` over a value of `bytes` bytes.
/// Returns ESK_OK; ESK_END: it does not end in its page.
static int value_skip(const struct esk_kv *kv, struct esk_kv_place *place,
                      uint32_t bytes) {
    if (bytes > (uint32_t)(esk_kv_page_room(kv) - place->offset)) {
        return ESK_END;
    }
    esk_kv_place_move(place, (uint16_t)bytes);
    return ESK_OK;
}

int esk_kv_view_from(struct esk_kv *kv, uint32_t position,
                     struct esk_kv_view *view) {
    int status = ESK_E_CORRUPT;
    uint32_t end = kv->log.head;
    /* A page in RAM may be there already: its program is in doubt. */
    end = kv->used > 0 && kv->page_at < end ? kv->page_at : end;
    while (position < end && status != ESK_OK && status != ESK_E_IO) {
        status = esk_kv_view(kv, position, view);
        position = esk_ring_skip(&kv->log, position);
    }
    return status;
}

/// Looks whether a copy of the page at `position` follows. end: position that a
/// record got to from there.
/// Returns ESK_OK: there is none; ESK_E_CORRUPT: there is one; ESK_E_IO.
static int copy_look(struct esk_kv *kv, uint32_t position, uint32_t end) {
    struct esk_kv_view page;
    struct esk_kv_view next;
    if (end <= position + 1) {
        return ESK_OK;
    }
    int status = esk_kv_view_from(kv, position, &page);
    if (status == ESK_OK) {
        status = esk_kv_view_from(kv, position + 1, &next);
    }
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_OK;
    }
    return next.stream == page.stream ? ESK_E_CORRUPT : ESK_OK;
}

/// Reads a batch from behind a record of it on, up to its last record. Apart:
/// its record is on the stack during a batch alone.
/// position  where that record begins; bytes: of it.
/// Returns   ESK_OK; ESK_E_IO: else the walk knows whether the batch is whole.
static ESK_APART_IN_ALL int
batch_read(struct esk_kv *kv, struct esk_kv_walk *walk, uint32_t position,
           struct esk_kv_place place, uint32_t bytes) {
    struct esk_kv_record record;
    struct esk_kv_place next = place;
    int status = ESK_OK;
    do {
        place = next;
        status = esk_kv_record_read(kv, &next, &record, true);
        bytes += status == ESK_OK ? record.bytes : 0;
    } while (status == ESK_OK && record.more);
    ESK_TRY(status == ESK_E_IO ? status : ESK_OK);
    place = status == ESK_OK ? next : place;
    int copied = copy_look(kv, position, place.position);
    ESK_TRY(copied == ESK_E_IO ? copied : ESK_OK);
    if (copied != ESK_OK) {
        place.position = position + 1;
        place.offset = 0;
    }
    walk->batch_end = place.position;
    walk->batch_end_offset = place.offset;
    walk->batch_is_whole = status == ESK_OK && copied == ESK_OK;
    if (walk->batch_is_whole && bytes > walk->batch_bytes) {
        walk->batch_bytes = bytes;
    }
    return ESK_OK;
}

/// Reads the record at `place`, and goes behind it.
/// Returns  ESK_OK; ESK_NOT_FOUND: the batch that it is of has no end, so that
///          it does not count; as esk_kv_record_read.
static int record_take(struct esk_kv *kv, struct esk_kv_walk *walk,
                       struct esk_kv_place *place,
                       struct esk_kv_record *record) {
    uint32_t position = place->position;
    uint16_t offset = place->offset;
    ESK_TRY(esk_kv_record_read(kv, place, record, true));
    ESK_TRY(copy_look(kv, position, place->position));
    if (!record->more) {
        return ESK_OK;
    }
    if (position > walk->batch_end ||
        (position == walk->batch_end && offset >= walk->batch_end_offset)) {
        ESK_TRY(batch_read(kv, walk, position, *place, record->bytes));
    }
    return walk->batch_is_whole ? ESK_OK : ESK_NOT_FOUND;
}

int esk_kv_walk_page(struct esk_kv *kv, struct esk_kv_walk *walk,
                     uint32_t position) {
    struct esk_kv_place place;
    int status = esk_kv_first(kv, position, &place);
    while (status == ESK_OK && place.position == position) {
        struct esk_kv_record record;
        status = record_find(kv, walk, position, &place);
        if (status != ESK_OK) {
            break;
        }
        uint32_t address = esk_kv_address(kv, position, place.offset);
        status = walk->skips
                     ? esk_kv_record_copy(kv, &place, &record, false, walk->key)
                     : record_take(kv, walk, &place, &record);
        if (status == ESK_E_CORRUPT || status == ESK_END) {
            walk->records_torn++;
            return ESK_OK;
        }
        if (status == ESK_OK) {
            walk->records++;
            ESK_TRY(walk->record(kv, walk, &record, address));
        } else if (status == ESK_NOT_FOUND) {
            walk->records_torn++;
            status = ESK_OK;
        }
        if (status == ESK_OK && walk->skips) {
            status = value_skip(kv, &place, record.value_bytes);
        }
    }
    return status == ESK_END || status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Whether a page whose stream begins at `stream` follows one that had the
/// bytes from `start` up to `end`. A page whose program seemed to fail may be
/// there: the next one is a copy, or goes on where a record was given up.
static bool follows(uint16_t stream, uint16_t start, uint16_t end) {
    uint16_t gap = (uint16_t)(stream - end);
    uint16_t copied = (uint16_t)(stream - start);
    return gap == 0 || gap == ESK_KV_GAP || copied == 0 || copied == ESK_KV_GAP;
}

int esk_kv_walk(struct esk_kv *kv, struct esk_kv_walk *walk) {
    const struct esk_ring *ring = &kv->log;
    uint32_t position = walk->from > ring->tail ? walk->from : ring->tail;
    uint32_t odd = 0; /* pages that are not valid, since the last that was */
    uint16_t start = 0;
    bool has_before = position == 0;
    walk->first = ring->head;
    while (position < ring->head) {
        struct esk_kv_view view;
        if (kv->used > 0 && position == kv->page_at) {
            break; /* it is in RAM: its program is in doubt */
        }
        if (position + 1 == ring->head) {
            kv->frame_at = ESK_KV_NOWHERE; /* is it whole? */
        }
        uint16_t partial = kv->stats.partial;
        int status = esk_kv_view(kv, position, &view);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK) {
            odd += status == ESK_E_CORRUPT ? 1 : 0;
            position = esk_ring_skip(ring, position);
            continue;
        }
        uint16_t stream = view.stream;
        if (has_before && !follows(stream, start, walk->stream)) {
            walk->pages_lost += odd > 0 ? odd : 1;
        }
        if (walk->pages == 0) {
            walk->first = position;
        }
        if (esk_kv_has_index(kv)) {
            walk->seen = has_before && stream == start ? walk->stream : stream;
        }
        odd = 0;
        has_before = true;
        start = stream;
        walk->stream = esk_kv_view_stream(&view, view.count);
        walk->pages++;
        partial = (uint16_t)(kv->stats.partial - partial);
        status = esk_kv_walk_page(kv, walk, position);
        if (status != ESK_OK) {
            return status;
        }
        walk->newest_unread = partial;
        position++;
    }
    walk->newest_unread += odd;
    return kv->used > 0 ? esk_kv_walk_page(kv, walk, kv->page_at) : ESK_OK;
}

int esk_kv_record_pass(struct esk_kv *kv, struct esk_kv_walk *walk,
                       const struct esk_kv_record *record, uint32_t address) {
    (void)kv;
    (void)walk;
    (void)record;
    (void)address;
    return ESK_OK;
}

uint32_t esk_kv_walk_lost_first(struct esk_kv *kv,
                                const struct esk_kv_walk *walk) {
    const struct esk_ring *ring = &kv->log;
    uint16_t begun = esk_ring_rest(ring, walk->first);
    uint32_t start = walk->first - begun;
    struct esk_kv_view view;
    if (walk->is_rooted || ring->tail == 0 || walk->first >= ring->head ||
        walk->first < walk->tail) {
        return 0; /* the walk knows, or these pages do not count */
    }
    if (walk->tail != start && walk->tail != 0) {
        return walk->first - walk->tail;
    }
    /* A log without a tail mark has its first block yet. */
    uint32_t lost = begun == 0 && walk->tail == 0 ? 1 : begun;
    if (lost == 0 || esk_kv_view(kv, walk->first, &view) != ESK_OK) {
        return 0;
    }
    return follows(view.stream, walk->tail_stream, walk->tail_stream) ? 0
                                                                      : lost;
}
