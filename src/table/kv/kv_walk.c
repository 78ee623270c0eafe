// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The walk over a log.
///
/// A page that is not valid is a hole, whose program failed or was cut, if the
/// next valid page goes on where the one before it ended, or further by
/// ESK_KV_GAP; or if it is a copy of the page before, which failed while it was
/// being filled. Else the page had records, and is lost. Behind the newest
/// valid page nothing shows what it was.
#include "table/kv/kv_replay.h"

/// Takes what a tail mark says, which stands in the page at `position`.
/// next: what comes behind it.
static void mark_take(struct esk_kv *kv, struct esk_kv_walk *walk,
                      uint32_t position, const uint8_t *mark,
                      const struct esk_kv_place *next) {
    if (mark[0] != ESK_KV_TAIL ||
        esk_load_u32(mark + ESK_KV_TAIL_POSITION) > position) {
        return;
    }
    walk->tail = esk_load_u32(mark + ESK_KV_TAIL_POSITION);
    walk->tail_stream = esk_load_u16(mark + ESK_KV_TAIL_STREAM);
    uint32_t behind = esk_kv_mark_at(kv, next->position, next->offset);
    if (walk->counts && esk_kv_mark_before(walk->counted, behind)) {
        kv->keys = esk_load_u32(mark + ESK_KV_TAIL_KEYS);
        kv->live = esk_load_u32(mark + ESK_KV_TAIL_LIVE);
        kv->longest = esk_load_u32(mark + ESK_KV_TAIL_LONGEST);
    }
}

/// Moves `place` over a value of `bytes` bytes that ends in the page at
/// `position`. Returns ESK_OK; ESK_END: it does not; as esk_kv_bytes_at.
static int value_skip(struct esk_kv *kv, struct esk_kv_place *place,
                      uint32_t position, uint32_t bytes) {
    const uint8_t *at = NULL;
    uint16_t count = 0;
    if (bytes == 0 || place->position != position) {
        return ESK_OK;
    }
    ESK_TRY(esk_kv_bytes_at(kv, place, &at, &count));
    return bytes < count ? esk_kv_take(kv, place, NULL, bytes) : ESK_END;
}

/// Reads the records that begin in the page at `position`.
static int page_records(struct esk_kv *kv, struct esk_kv_walk *walk,
                        uint32_t position) {
    struct esk_kv_place place;
    int status = esk_kv_first(kv, position, &place);
    while (status == ESK_OK && place.position == position) {
        struct esk_kv_record record;
        uint8_t mark[ESK_KV_TAIL_BYTES] = {0};
        status = esk_kv_lead(kv, &place, mark);
        mark_take(kv, walk, position, mark, &place);
        if (status != ESK_OK) {
            break;
        }
        uint32_t address = esk_kv_address(kv, position, place.offset);
        status = esk_kv_record_copy(kv, &place, &record, walk->key == NULL,
                                    walk->key);
        if (status == ESK_E_CORRUPT || status == ESK_END) {
            walk->records_torn++;
            return ESK_OK;
        }
        if (status == ESK_OK) {
            walk->records++;
            status = walk->record(kv, walk, &record, address);
        }
        if (status == ESK_OK && walk->key != NULL) {
            status = value_skip(kv, &place, position, record.value_bytes);
        }
    }
    return status == ESK_END || status == ESK_E_CORRUPT ? ESK_OK : status;
}

/// Whether a page whose stream begins at `stream` follows one that had the
/// bytes from `start` up to `end`.
static bool follows(uint16_t stream, uint16_t start, uint16_t end) {
    uint16_t gap = (uint16_t)(stream - end);
    return gap == 0 || gap == ESK_KV_GAP || stream == start;
}

int esk_kv_walk(struct esk_kv *kv, struct esk_kv_walk *walk) {
    const struct esk_ring *ring = &kv->log;
    uint32_t position = walk->from > ring->tail ? walk->from : ring->tail;
    uint32_t odd = 0; /* pages that are not valid, since the last that was */
    uint32_t partial = kv->stats.partial;
    uint16_t start = 0;
    bool has_before = position == 0;
    walk->first = ring->head;
    while (position < ring->head) {
        struct esk_kv_place place;
        if (kv->used > 0 && position == kv->page_at) {
            break; /* it is in RAM: its program is in doubt */
        }
        if (position + 1 == ring->head) {
            kv->frame_at = ESK_KV_NOWHERE; /* is it whole? */
        }
        partial = kv->stats.partial;
        int status = esk_kv_first(kv, position, &place);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_OK && status != ESK_END) {
            odd += status == ESK_E_CORRUPT ? 1 : 0;
            position = esk_ring_skip(ring, position);
            continue;
        }
        uint32_t aux = esk_page_aux(kv->frame);
        uint16_t stream = (uint16_t)(aux >> 16);
        if (has_before && !follows(stream, start, walk->stream)) {
            walk->pages_lost += odd > 0 ? odd : 1;
        }
        if (walk->pages == 0) {
            walk->first = position;
        }
        odd = 0;
        has_before = true;
        start = stream;
        walk->stream =
            (uint16_t)(stream + esk_page_count(kv->frame) - esk_kv_start(aux));
        walk->pages++;
        bool is_whole = partial == kv->stats.partial;
        status = page_records(kv, walk, position);
        if (status != ESK_OK) {
            return status;
        }
        walk->newest_unread = is_whole ? 0 : 1;
        position++;
    }
    walk->newest_unread += odd;
    return kv->used > 0 ? page_records(kv, walk, kv->page_at) : ESK_OK;
}

uint32_t esk_kv_walk_lost_first(struct esk_kv *kv,
                                const struct esk_kv_walk *walk) {
    const struct esk_ring *ring = &kv->log;
    uint16_t begun = esk_ring_rest(ring, walk->first);
    uint32_t start = walk->first - begun;
    struct esk_kv_place place;
    if (kv->index != NULL || ring->tail == 0 || walk->first >= ring->head ||
        walk->first < walk->tail) {
        return 0; /* the walk knows, or these pages do not count */
    }
    if (walk->tail != start && walk->tail != 0) {
        return walk->first - walk->tail;
    }
    /* A log without a tail mark has its first block yet. */
    uint32_t lost = begun == 0 && walk->tail == 0 ? 1 : begun;
    if (lost == 0 || esk_kv_first(kv, walk->first, &place) == ESK_E_IO) {
        return 0;
    }
    uint16_t stream = (uint16_t)(esk_page_aux(kv->frame) >> 16);
    return follows(stream, walk->tail_stream, walk->tail_stream) ? 0 : lost;
}
