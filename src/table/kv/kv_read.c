// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The reading side of the log: records as a stream over pages.
///
/// A page's aux has the offset of the first record that begins in it, and the
/// low half of its stream offset. So a reader notices that a page was lost
/// inside a record, and finds the next record behind it.
#include "table/kv/kv.h"

/// Reads the page at `position` into the frame, unless it is there.
static int frame_read(struct esk_kv *kv, uint32_t position) {
    if (kv->frame_at == position) {
        return ESK_OK;
    }
    kv->frame_at = ESK_KV_NOWHERE;
    ESK_TRY(esk_ring_read(&kv->log, position, kv->frame, true));
    kv->frame_at = position;
    return ESK_OK;
}

int esk_kv_view(struct esk_kv *kv, uint32_t position,
                struct esk_kv_view *view) {
    if (kv->used > 0 && position == kv->page_at) {
        view->bytes = kv->page + ESK_ENVELOPE_BYTES;
        view->count = kv->used;
        view->start = kv->start;
        view->stream = kv->stream;
        view->first = kv->first;
        return ESK_OK;
    }
    if (position >= kv->log.head) {
        return ESK_END;
    }
    ESK_TRY(frame_read(kv, position));
    uint32_t aux = esk_page_aux(kv->frame);
    view->bytes = kv->frame + ESK_ENVELOPE_BYTES;
    view->count = esk_page_count(kv->frame);
    view->start = (aux & ESK_KV_AUX_HEAD) != 0 ? ESK_KV_HEAD_BYTES : 0;
    view->stream = (uint16_t)(aux >> 16);
    view->first = (uint16_t)(aux & ESK_KV_AUX_FIRST);
    return ESK_OK;
}

/// The position to try after `position`, whose page is not valid; behind the
/// log: that of the page in RAM.
static uint32_t position_after(const struct esk_kv *kv, uint32_t position) {
    uint32_t next = esk_ring_skip(&kv->log, position);
    return next >= kv->log.head && kv->used > 0 && position < kv->page_at
               ? kv->page_at
               : next;
}

int esk_kv_bytes_at(struct esk_kv *kv, struct esk_kv_place *place,
                    const uint8_t **bytes, uint16_t *count) {
    for (;;) {
        struct esk_kv_view view;
        int status = esk_kv_view(kv, place->position, &view);
        if (status == ESK_E_IO || status == ESK_END) {
            return status;
        }
        if (status != ESK_OK) {
            if (place->offset != 0) {
                return ESK_E_CORRUPT;
            }
            place->position = position_after(kv, place->position);
            continue;
        }
        if (place->offset == 0) {
            if (view.count > view.start &&
                esk_kv_view_stream(&view, view.count) == place->stream) {
                /* A copy of the page before, whose transfer seemed to fail. */
                place->position++;
                continue;
            }
            place->offset = view.start;
        }
        if (esk_kv_view_stream(&view, place->offset) != place->stream) {
            return ESK_E_CORRUPT;
        }
        if (place->offset < view.count) {
            *bytes = view.bytes + place->offset;
            *count = (uint16_t)(view.count - place->offset);
            return ESK_OK;
        }
        place->position = place->position + 1 < kv->log.head || kv->used == 0
                              ? place->position + 1
                              : kv->page_at;
        place->offset = 0;
    }
}

int esk_kv_piece(struct esk_kv *kv, struct esk_kv_place *place, uint32_t most,
                 const uint8_t **bytes, uint16_t *count) {
    ESK_TRY(esk_kv_bytes_at(kv, place, bytes, count));
    if (*count > most) {
        *count = (uint16_t)most;
    }
    esk_kv_place_move(place, *count);
    return ESK_OK;
}

int esk_kv_take(struct esk_kv *kv, struct esk_kv_place *place, uint8_t *out,
                uint32_t count) {
    while (count > 0) {
        const uint8_t *bytes = NULL;
        uint16_t part = 0;
        ESK_TRY(esk_kv_piece(kv, place, count, &bytes, &part));
        if (out != NULL) {
            memcpy(out, bytes, part);
            out += part;
        }
        count -= part;
    }
    return ESK_OK;
}

uint32_t esk_kv_position(const struct esk_kv *kv, uint32_t address) {
    const struct esk_ring *ring = &kv->log;
    uint32_t pages = esk_ring_pages(ring);
    uint32_t page = address / esk_envelope_page_bytes(&ring->region.envelope);
    uint32_t tail = esk_ring_page(ring, ring->tail) - esk_ring_first(ring);
    return ring->tail + (page >= tail ? page - tail : page + pages - tail);
}

int esk_kv_place(struct esk_kv *kv, uint32_t address,
                 struct esk_kv_place *place) {
    uint16_t page_bytes = esk_envelope_page_bytes(&kv->log.region.envelope);
    struct esk_kv_view view;
    place->position = esk_kv_position(kv, address);
    place->offset = (uint16_t)(address % page_bytes - ESK_ENVELOPE_BYTES);
    int status = esk_kv_view(kv, place->position, &view);
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_E_CORRUPT;
    }
    place->stream = esk_kv_view_stream(&view, place->offset);
    return ESK_OK;
}

/// Reads the record's key at `place`: its hash, which lacks the end.
/// copy     NULL, or where the key is copied.
/// wanted   NULL, or a key of as many bytes.
/// Returns  also ESK_NOT_FOUND: the key is not `wanted`.
static int key_take(struct esk_kv *kv, struct esk_kv_place *place,
                    struct esk_kv_record *record, uint8_t *copy,
                    const uint8_t *wanted) {
    uint8_t count = record->key_bytes;
    record->key = *place;
    record->hash = esk_kv_hash_begin(record->salt);
    while (count > 0) {
        const uint8_t *bytes = NULL;
        uint16_t part = 0;
        ESK_TRY(esk_kv_piece(kv, place, count, &bytes, &part));
        record->hash = esk_kv_hash_add(record->hash, bytes, part);
        if (copy != NULL) {
            memcpy(copy, bytes, part);
            copy += part;
        }
        if (wanted != NULL) {
            if (!esk_bytes_equal(bytes, wanted, part)) {
                return ESK_NOT_FOUND;
            }
            wanted += part;
        }
        count = (uint8_t)(count - part);
    }
    return ESK_OK;
}

/// Takes what the first bytes of a record say: its bytes lack a long value.
static void head_decode(const uint8_t *head, struct esk_kv_record *record) {
    uint16_t word = esk_load_u16(head + ESK_KV_RECORD_WORD);
    record->key_bytes = head[ESK_KV_RECORD_KEY_BYTES];
    record->type = (uint8_t)(word >> ESK_KV_WORD_TYPE & 7u);
    record->more = (word & ESK_KV_WORD_MORE) != 0;
    record->salt = (word & ESK_KV_WORD_SALTED) != 0 ? 1 : 0;
    record->value_bytes = word & ESK_KV_WORD_LONG;
    record->bytes =
        ESK_KV_RECORD_HEAD + (uint32_t)record->key_bytes + record->salt;
}

/// Reads a record's head and key, and leaves `place` at the value.
/// copy     as of esk_kv_record_copy.
/// wanted   NULL, or a key of `wanted_bytes` bytes.
/// Returns  also ESK_NOT_FOUND: it has another key.
static int head_take(struct esk_kv *kv, struct esk_kv_place *place,
                     struct esk_kv_record *record, uint8_t *copy,
                     const uint8_t *wanted, uint8_t wanted_bytes) {
    uint8_t head[ESK_KV_RECORD_HEAD + 1];
    ESK_TRY(esk_kv_take(kv, place, head, ESK_KV_RECORD_HEAD));
    head_decode(head, record);
    if (record->key_bytes == 0 || record->key_bytes > ESK_KV_KEY_BYTES_MAX) {
        return ESK_E_CORRUPT;
    }
    if (wanted != NULL && record->key_bytes != wanted_bytes) {
        return ESK_NOT_FOUND;
    }
    ESK_TRY(esk_kv_take(kv, place, &record->salt, record->salt));
    ESK_TRY(key_take(kv, place, record, copy, wanted));
    record->hash = esk_kv_hash_end(kv, record->hash);
    if (record->value_bytes == ESK_KV_WORD_LONG) {
        ESK_TRY(esk_kv_take(kv, place, head, sizeof head));
        record->value_bytes = esk_load_u32(head);
        record->bytes += (uint32_t)sizeof head;
    }
    if (record->value_bytes > esk_kv_block_room(kv)) {
        return ESK_E_CORRUPT;
    }
    record->bytes += record->value_bytes;
    record->value = *place;
    return ESK_OK;
}

int esk_kv_record_copy(struct esk_kv *kv, struct esk_kv_place *place,
                       struct esk_kv_record *record, bool whole, uint8_t *key) {
    ESK_TRY(head_take(kv, place, record, key, NULL, 0));
    return whole ? esk_kv_take(kv, place, NULL, record->value_bytes) : ESK_OK;
}

int esk_kv_first(struct esk_kv *kv, uint32_t position,
                 struct esk_kv_place *place) {
    struct esk_kv_view view;
    ESK_TRY(esk_kv_view(kv, position, &view));
    place->position = position;
    place->offset = view.first;
    place->stream = esk_kv_view_stream(&view, view.first);
    return view.first < view.count ? ESK_OK : ESK_END;
}

int esk_kv_record_head(struct esk_kv *kv, uint32_t address,
                       struct esk_kv_record *record) {
    const struct esk_region *region = &kv->log.region;
    uint16_t page_bytes = esk_envelope_page_bytes(&region->envelope);
    uint16_t at = (uint16_t)(address % page_bytes);
    bool in_ram = kv->page_at != ESK_KV_NOWHERE &&
                  esk_kv_position(kv, address) == kv->page_at;
    if (at + ESK_KV_RECORD_HEAD <= page_bytes && !in_ram) {
        /* No checksum covers so few bytes alone: two reads have to agree. */
        esk_page_id page = esk_ring_first(&kv->log) + address / page_bytes;
        uint8_t head[ESK_KV_RECORD_HEAD];
        uint8_t again[ESK_KV_RECORD_HEAD];
        int status = esk_region_peek(region, page, at, head, sizeof head);
        if (status != ESK_E_IO) {
            status = esk_region_peek(region, page, at, again, sizeof again);
        }
        if (status == ESK_E_IO) {
            return status;
        }
        head_decode(head, record);
        record->bytes += record->value_bytes;
        if (status == ESK_OK && record->value_bytes != ESK_KV_WORD_LONG &&
            esk_bytes_equal(head, again, sizeof head)) {
            return ESK_OK;
        }
    }
    struct esk_kv_place place;
    ESK_TRY(esk_kv_place(kv, address, &place));
    return esk_kv_record_read(kv, &place, record, false);
}

int esk_kv_live_count(struct esk_kv *kv) {
    kv->live = 0;
    for (uint32_t slot = 0; slot < kv->slot_count; slot++) {
        uint32_t address = esk_kv_slot_address(kv, slot);
        struct esk_kv_record record;
        if (address == ESK_KV_NOWHERE) {
            continue;
        }
        int status = esk_kv_record_head(kv, address, &record);
        if (status == ESK_E_IO) {
            return status;
        }
        kv->live += status == ESK_OK ? record.bytes : 0;
    }
    return ESK_OK;
}

int esk_kv_newest(struct esk_kv *kv, uint32_t hash, uint32_t *address) {
    uint32_t slot = 0;
    if (esk_kv_slot_find(kv, hash, &slot)) {
        *address = esk_kv_slot_address(kv, slot);
        return ESK_OK;
    }
    return !esk_kv_has_index(kv) ? ESK_NOT_FOUND
                                 : esk_kv_part(kv)->find(kv, hash, address);
}

int esk_kv_is_newest(struct esk_kv *kv, uint32_t hash, uint32_t address) {
    uint32_t newest = 0;
    ESK_TRY(esk_kv_newest(kv, hash, &newest));
    return newest == address ? ESK_OK : ESK_NOT_FOUND;
}

int esk_kv_record_match(struct esk_kv *kv, uint32_t address, const uint8_t *key,
                        uint8_t key_bytes, struct esk_kv_record *record) {
    struct esk_kv_place place;
    ESK_TRY(esk_kv_place(kv, address, &place));
    int status = head_take(kv, &place, record, NULL, key, key_bytes);
    return status == ESK_END ? ESK_E_CORRUPT : status;
}

/// Reads the newest record with a hash, and compares its key.
/// Returns as esk_kv_record_match; ESK_END: there is none.
static int newest_compare(struct esk_kv *kv, uint32_t hash, const uint8_t *key,
                          uint8_t key_bytes, struct esk_kv_record *record) {
    uint32_t address = 0;
    int status = esk_kv_newest(kv, hash, &address);
    if (status != ESK_OK) {
        return status == ESK_NOT_FOUND ? ESK_END : status;
    }
    return esk_kv_record_match(kv, address, key, key_bytes, record);
}

int esk_kv_find(struct esk_kv *kv, const uint8_t *key, uint8_t key_bytes,
                struct esk_kv_record *record) {
    uint8_t first_salt = 0;
    uint32_t first_hash = 0;
    int first = ESK_OK; /* ESK_NOT_FOUND: it is free; ESK_E_CORRUPT */
    uint8_t salt = 0;
    do {
        uint32_t hash = esk_kv_hash_begin(salt);
        hash = esk_kv_hash_end(kv, esk_kv_hash_add(hash, key, key_bytes));
        int status = newest_compare(kv, hash, key, key_bytes, record);
        record->hash = hash;
        record->salt = salt;
        if (status == ESK_OK && record->type == ESK_KV_DELETED) {
            return ESK_NOT_FOUND;
        }
        if (status == ESK_OK || status == ESK_E_IO) {
            return status;
        }
        /* What is damaged may be the key's record, or another key's. */
        bool is_first = first == ESK_OK && status == ESK_END;
        if (is_first || (first != ESK_E_CORRUPT && status == ESK_E_CORRUPT)) {
            first = status == ESK_END ? ESK_NOT_FOUND : status;
            first_salt = salt;
            first_hash = hash;
        }
        if (first != ESK_OK && salt >= kv->salt_max) {
            record->salt = first_salt;
            record->hash = first_hash;
            return first;
        }
        salt++;
    } while (salt != 0);
    return ESK_E_LIMIT;
}
