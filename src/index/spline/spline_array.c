// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed knots, and lookup in them; see spline_array.h for the picture.
///
/// Cost: an insert or removal moves the bytes after it. So entries are removed
/// in batches of 1/128 of the array: a chip with little RAM moves few bytes,
/// one with more RAM moves them seldom.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"

uint8_t *esk_spline_knot_at(const struct esk_spline *spline, uint16_t index) {
    return spline->knots + (size_t)index * esk_spline_knot_bytes(spline);
}

/// The end of the newest knot.
static uint8_t *array_end(const struct esk_spline *spline) {
    return esk_spline_knot_at(spline, spline->level.count);
}

bool esk_spline_array_has_room(const struct esk_spline *spline, uint8_t bytes) {
    uint16_t used = (uint16_t)(array_end(spline) - spline->knots);
    return bytes <= (uint16_t)(spline->bytes - used);
}

esk_key esk_spline_key_load(const struct esk_spline *spline,
                            const uint8_t *bytes) {
    uint8_t left = esk_spline_key_bytes(spline);
    if (left == 4) {
        return esk_load_u32(bytes);
    }
    esk_key key = 0;
    while (left > 0) {
        left--;
        key = (esk_key)((key << 8) | bytes[left]);
    }
    return key;
}

ESK_HOST_FLAT void esk_spline_knot_get(const struct esk_spline *spline,
                                       uint16_t index,
                                       struct esk_spline_entry *entry) {
    const uint8_t *bytes = esk_spline_knot_at(spline, index);
    entry->key = esk_spline_key_load(spline, bytes);
    bytes += esk_spline_key_bytes(spline);
    uint32_t newest = spline->knot_position;
    entry->position =
        newest - (uint16_t)((uint16_t)newest - esk_load_u16(bytes));
}

uint16_t esk_spline_rank(const struct esk_spline *spline, const uint8_t *first,
                         uint16_t count, uint8_t entry_bytes, esk_key key) {
    uint16_t low = 0;
    if (esk_spline_key_bytes(spline) == 4 && count <= UINT8_MAX &&
        key < UINT32_MAX) {
        /* Order forms are unsigned words. */
        return esk_order_rank_words(ESK_TYPE_U32, first, entry_bytes, count,
                                    (uint32_t)key + 1u);
    }
    while (low < count) {
        uint16_t middle = (uint16_t)((uint16_t)(low + count) >> 1);
        const uint8_t *entry = first + (size_t)middle * entry_bytes;
        if (esk_spline_key_load(spline, entry) <= key) {
            low = (uint16_t)(middle + 1u);
        } else {
            count = middle;
        }
    }
    return low;
}

/// How many knots' keys are <= `key`.
static uint16_t knot_rank(const struct esk_spline *spline, esk_key key) {
    return esk_spline_rank(spline, esk_spline_knot_at(spline, 0),
                           spline->level.count, esk_spline_knot_bytes(spline),
                           key);
}

ESK_HOST_FLAT int esk_spline_find(const struct esk_spline *spline, esk_key key,
                                  uint32_t *position) {
    struct esk_spline_entry low;
    struct esk_spline_entry high = spline->tip;
    uint16_t rank = knot_rank(spline, key);
    if (rank == 0) {
        return ESK_NOT_FOUND;
    }
    esk_spline_knot_get(spline, (uint16_t)(rank - 1u), &low);
    if (rank < spline->level.count) {
        esk_spline_knot_get(spline, rank, &high);
    }
    /* At or after the newest point: its page. */
    *position =
        key < high.key ? esk_spline_between(key, &low, &high) : high.position;
    return ESK_OK;
}

uint8_t *esk_spline_array_open(const struct esk_spline *spline, uint8_t *at,
                               uint8_t bytes, esk_key key) {
    esk_bytes_move(at + bytes, at, (uint16_t)(array_end(spline) - at));
    for (uint8_t i = esk_spline_key_bytes(spline); i > 0; i--) {
        *at = (uint8_t)(key & 0xFFu);
        at++;
        key = (esk_key)(key >> 8);
    }
    return at;
}

void esk_spline_array_close(const struct esk_spline *spline, uint8_t *to,
                            const uint8_t *from) {
    esk_bytes_move(to, from, (uint16_t)(array_end(spline) - from));
}

void esk_spline_knot_insert(struct esk_spline *spline, uint16_t index,
                            const struct esk_spline_entry *entry) {
    uint8_t *rest =
        esk_spline_array_open(spline, esk_spline_knot_at(spline, index),
                              esk_spline_knot_bytes(spline), entry->key);
    esk_store_u16(rest, (uint16_t)(entry->position & 0xFFFFu));
    if (index == spline->level.count) {
        spline->knot_position = entry->position;
    }
    spline->level.count++;
}

uint16_t esk_spline_array_batch(const struct esk_spline *spline) {
    return (uint16_t)(1u + (spline->level.count >> 7));
}

ESK_APART void esk_spline_lessen(uint16_t *value, uint16_t by) {
    *value = *value > by ? (uint16_t)(*value - by) : 0;
}

void esk_spline_knots_drop(struct esk_spline *spline, uint16_t count) {
    struct esk_spline_level *knots = &spline->level;
    esk_spline_array_close(spline, esk_spline_knot_at(spline, 0),
                           esk_spline_knot_at(spline, count));
    knots->count = (uint16_t)(knots->count - count);
    esk_spline_lessen(&knots->saved, count);
    esk_spline_lessen(&spline->thin_next, count);
    esk_spline_lessen(&spline->thin_end, count);
    if (spline->fresh > knots->count) {
        spline->fresh = knots->count;
    }
}

void esk_spline_trim(struct esk_spline *spline, uint32_t data_tail) {
    struct esk_spline_entry next;
    uint16_t gone = 0;
    while (gone + 1u < spline->level.count) {
        esk_spline_knot_get(spline, (uint16_t)(gone + 1u), &next);
        if (next.position > data_tail) {
            break;
        }
        gone++;
    }
    if (gone > 0) {
        esk_spline_knots_drop(spline, gone);
    }
}
