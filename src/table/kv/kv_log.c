// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The writing side of the log. Records gather in a page in RAM; a record that
/// does not fit goes on in the next page. A flush puts a running seal behind
/// them, where the medium programs parts of pages.
#include "flash/ring.h"
#include "table/kv/kv.h"
#include "volume/volume.h"

/// Number of the page in the region.
static uint32_t region_page(const struct esk_kv *kv, uint32_t position) {
    return esk_ring_page(&kv->log, position) - esk_ring_first(&kv->log);
}

uint32_t esk_kv_address(const struct esk_kv *kv, uint32_t position,
                        uint16_t offset) {
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    return region_page(kv, position) * page_bytes + ESK_ENVELOPE_BYTES + offset;
}

uint32_t esk_kv_mark_at(const struct esk_kv *kv, uint32_t position,
                        uint16_t offset) {
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    return position * page_bytes + ESK_ENVELOPE_BYTES + offset;
}

uint32_t esk_kv_mark(const struct esk_kv *kv, uint32_t address) {
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    return esk_kv_position(kv, address) * page_bytes + address % page_bytes;
}

uint32_t esk_kv_mark_next(const struct esk_kv *kv) {
    return kv->used > 0 ? esk_kv_mark_at(kv, kv->page_at, kv->used)
                        : esk_kv_mark_at(kv, kv->log.head, 0);
}

/// Records where the page in RAM was programmed: further on than expected when
/// pages failed.
static void page_placed(struct esk_kv *kv, uint32_t position) {
    kv->dirty = true;
    if (kv->start != 0) {
        kv->head_at = esk_ring_block_from(&kv->log, position + 1u);
    }
    if (position == kv->page_at) {
        return;
    }
    uint32_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    uint32_t from = region_page(kv, kv->page_at);
    uint32_t to = region_page(kv, position);
    esk_kv_slots_move(kv, from, to);
    esk_kv_snapshots_move(kv, kv->page_at, position);
    if (kv->record_at / page_bytes == from) {
        kv->record_at = kv->record_at % page_bytes + to * page_bytes;
    }
    kv->page_at = position;
}

static uint32_t page_aux(const struct esk_kv *kv) {
    return kv->first | (uint32_t)kv->stream << 16 |
           (kv->start != 0 ? (uint32_t)ESK_KV_AUX_HEAD : 0);
}

/// Empties the page in RAM.
static ESK_OUT_OF_LINE void page_clear(struct esk_kv *kv) {
    kv->page_at = ESK_KV_NOWHERE;
    kv->start = 0;
    kv->used = 0;
    kv->sealed = 0;
    kv->first = ESK_KV_NO_RECORD;
}

/// Programs the page and starts an empty one.
static int page_close(struct esk_kv *kv) {
    if (kv->used == kv->sealed && kv->log.head == kv->page_at) {
        esk_ring_next(&kv->log);
    } else {
        /* Also when more bytes failed, and were given up: a copy follows. */
        uint32_t position = 0;
        ESK_TRY(esk_ring_append(&kv->log, kv->page, kv->used, page_aux(kv),
                                &position));
        page_placed(kv, position);
    }
    kv->stream = (uint16_t)(kv->stream + kv->used - kv->start);
    page_clear(kv);
    esk_ring_drop(&kv->log, kv->passed);
    return ESK_OK;
}

enum {
    /// A page that is sealed and has fewer bytes left stays as it is: the first
    /// bytes of a record there would take two programs more.
    REST_MIN = 24,
};

/// Makes room for a byte in the page. is_within: of a record that was begun.
static int page_ready(struct esk_kv *kv, bool is_within) {
    if (kv->used == esk_kv_page_room(kv)) {
        ESK_TRY(page_close(kv));
    }
    if (kv->used == 0) {
        /* No page is durable before the one that it follows. */
        ESK_TRY(esk_region_barrier(&kv->log.region));
        ESK_TRY(esk_ring_reserve(&kv->log));
        kv->page_at = kv->log.head;
        if (esk_kv_is_bare(kv) &&
            kv->head_at != esk_ring_block_from(&kv->log, kv->page_at + 1u)) {
            memcpy(kv->page + ESK_ENVELOPE_BYTES, esk_kv_head(kv),
                   ESK_KV_HEAD_BYTES);
            kv->start = ESK_KV_HEAD_BYTES;
            kv->used = kv->start;
            kv->sealed = kv->start;
        }
        if (esk_kv_has_index(kv)) {
            esk_kv_part(kv)->page(kv, is_within);
        }
    }
    return ESK_OK;
}

/// The item at the page's end may be the first that begins in it.
static void first_set(struct esk_kv *kv) {
    if (kv->first == ESK_KV_NO_RECORD) {
        kv->first = kv->used;
    }
}

uint32_t esk_kv_block_rest(const struct esk_kv *kv) {
    const struct esk_ring *ring = &kv->log;
    uint32_t room = esk_kv_page_room(kv);
    uint16_t block = esk_region_geometry(&ring->region)->block_pages;
    uint32_t rest = (uint32_t)(block - esk_ring_rest(ring, ring->head)) * room;
    if (kv->used > 0) {
        return rest - kv->used;
    }
    return esk_kv_is_bare(kv) ? rest - ESK_KV_HEAD_BYTES : rest;
}

/// Skips what is left of the head's block, unless the page failed there and is
/// in a block that has room for `bytes` bytes.
static int block_leave(struct esk_kv *kv, uint32_t bytes) {
    if (kv->used > kv->start) {
        ESK_TRY(page_close(kv));
    }
    page_clear(kv);
    if (bytes > esk_kv_block_rest(kv)) {
        esk_ring_leave(&kv->log);
    }
    return ESK_OK;
}

/// Begins a record. is_within: of a batch that was begun.
static int record_append(struct esk_kv *kv, bool is_within, uint32_t *address) {
    ESK_TRY(page_ready(kv, is_within));
    first_set(kv);
    *address = esk_kv_address(kv, kv->page_at, kv->used);
    return ESK_OK;
}

int esk_kv_record_begin(struct esk_kv *kv, uint32_t bytes) {
    if (kv->used > kv->start && kv->used == kv->sealed &&
        kv->used + REST_MIN > esk_kv_page_room(kv)) {
        ESK_TRY(page_close(kv));
    }
    if (bytes > esk_kv_block_rest(kv)) {
        ESK_TRY(block_leave(kv, bytes));
    }
    return record_append(kv, false, &kv->record_at);
}

int esk_kv_record_append(struct esk_kv *kv, uint32_t *address) {
    return record_append(kv, true, address);
}

void esk_kv_page_forget(struct esk_kv *kv) {
    page_clear(kv);
    esk_ring_open_none(&kv->log);
    kv->stream = (uint16_t)(kv->stream + ESK_KV_GAP);
}

int esk_kv_tail_write(struct esk_kv *kv, uint32_t position, uint16_t stream) {
    uint8_t mark[ESK_KV_TAIL_BYTES];
    mark[0] = ESK_KV_TAIL;
    esk_store_u32(mark + ESK_KV_TAIL_POSITION, position);
    esk_store_u16(mark + ESK_KV_TAIL_STREAM, stream);
    esk_store_u32(mark + ESK_KV_TAIL_KEYS, kv->keys);
    esk_store_u32(mark + ESK_KV_TAIL_LIVE, kv->live);
    esk_store_u32(mark + ESK_KV_TAIL_LONGEST, kv->longest);
    ESK_TRY(esk_kv_record_begin(kv, sizeof mark));
    uint16_t before = kv->used;
    int status = esk_kv_write(kv, mark, sizeof mark);
    if (status != ESK_OK) {
        esk_kv_record_abort(kv, before);
    }
    return status;
}

int esk_kv_write(struct esk_kv *kv, const uint8_t *bytes, uint32_t count) {
    while (count > 0) {
        ESK_TRY(page_ready(kv, true));
        uint16_t room = (uint16_t)(esk_kv_page_room(kv) - kv->used);
        uint16_t part = count < room ? (uint16_t)count : room;
        memcpy(kv->page + ESK_ENVELOPE_BYTES + kv->used, bytes, part);
        kv->used = (uint16_t)(kv->used + part);
        bytes += part;
        count -= part;
    }
    return ESK_OK;
}

void esk_kv_record_abort(struct esk_kv *kv, uint16_t mark) {
    if (kv->page_at != ESK_KV_NOWHERE &&
        kv->record_at == esk_kv_address(kv, kv->page_at, mark)) {
        kv->used = mark;
        if (kv->first == mark) {
            kv->first = ESK_KV_NO_RECORD;
        }
        return;
    }
    /* Its first part is programmed. What comes next does not continue it. */
    page_clear(kv);
    kv->stream = (uint16_t)(kv->stream + ESK_KV_GAP);
}

/// Where a seal ends: behind zeros up to its lead byte, which is the last byte
/// before a unit.
static uint32_t seal_end(const struct esk_kv *kv) {
    uint16_t unit = esk_volume_geometry(kv->table.volume)->program_bytes;
    uint32_t end = (uint32_t)kv->used + ESK_ENVELOPE_BYTES + unit;
    return end / unit * unit - ESK_ENVELOPE_BYTES + ESK_SEAL_BYTES;
}

bool esk_kv_flush_seals(const struct esk_kv *kv) {
    uint32_t end = seal_end(kv);
    return end <= esk_kv_page_room(kv) &&
           esk_ring_can_seal(&kv->log, (uint16_t)end);
}

int esk_kv_flush(struct esk_kv *kv) {
    if (kv->used == kv->sealed) {
        esk_ring_drop(&kv->log, kv->passed);
        return ESK_OK;
    }
    if (!esk_kv_flush_seals(kv)) {
        return page_close(kv);
    }
    uint32_t end = seal_end(kv);
    uint8_t *lead = kv->page + ESK_ENVELOPE_BYTES + kv->used;
    uint16_t pads = (uint16_t)(end - ESK_SEAL_BYTES - 1u - kv->used);
    first_set(kv);
    memset(lead, ESK_KV_PAD, pads);
    lead[pads] = ESK_KV_SEAL;
    ESK_TRY(esk_ring_seal(&kv->log, kv->page, (uint16_t)end, page_aux(kv)));
    kv->used = (uint16_t)end;
    kv->sealed = kv->used;
    page_placed(kv, kv->log.head);
    esk_ring_drop(&kv->log, kv->passed);
    return ESK_OK;
}
