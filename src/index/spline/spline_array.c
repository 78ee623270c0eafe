// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed knots; lookup in them and in nodes. See spline_array.h for the
/// picture.
///
/// The knots at both ends of a segment are first keys of their pages, so the
/// answer is certainly between them. The line between them only says which page
/// to try first.
///
/// Cost: an insert or removal moves the bytes after it. So entries are removed
/// in batches of 1/128 of the array: a chip with little RAM moves few bytes,
/// one with more RAM moves them seldom.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"
#include "base/scale.h"

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
    if (!ESK_SHAPED_SERIES(false, ESK_NO_SHORT_WAYS) && left == 4) {
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
    if (!ESK_SHAPED_SERIES(false, ESK_NO_SHORT_WAYS) &&
        esk_spline_key_bytes(spline) == 4 && count <= UINT8_MAX &&
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

/// pages * run / span rounded down, with a small bias: run < span.
static uint32_t spline_scale(uint32_t pages, esk_key run, esk_key span) {
    while (span >= (esk_key)1 << 30) {
        span >>= 1;
        run >>= 1;
    }
    uint32_t whole = (uint32_t)span;
    uint32_t rest = 0;
    uint32_t quotient = esk_scale(pages, (uint32_t)run, whole, &rest);
    /* A page's first key is predicted slightly too low as often as too high,
       and after rounding down too low is a miss: so add 1/256 page. */
    return rest + (whole >> 8) >= whole ? quotient + 1u : quotient;
}

/// The page to try first for a key between two knots, low.key <= key <
/// high.key.
static ESK_OUT_OF_LINE_ON_CHIPS uint32_t
spline_between(esk_key key, const struct esk_spline_entry *low,
               const struct esk_spline_entry *high) {
    uint32_t pages = high->position - low->position;
    uint32_t ahead = spline_scale(pages, (esk_key)(key - low->key),
                                  (esk_key)(high->key - low->key));
    return low->position + (ahead < pages ? ahead : pages - 1u);
}

/// How many knots' keys are <= `key`.
static uint16_t knot_rank(const struct esk_spline *spline, esk_key key) {
    return esk_spline_rank(spline, esk_spline_knot_at(spline, 0),
                           spline->level.count, esk_spline_knot_bytes(spline),
                           key);
}

ESK_FAST_FLAT int esk_spline_find(const struct esk_spline *spline, esk_key key,
                                  uint32_t *position) {
    struct esk_spline_entry low;
    struct esk_spline_entry high = spline->last;
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
        key < high.key ? spline_between(key, &low, &high) : high.position;
    return ESK_OK;
}

void esk_spline_section_get(const struct esk_spline *spline,
                            const uint8_t *section, uint16_t index,
                            struct esk_spline_entry *entry) {
    const uint8_t *bytes =
        section + (size_t)index * ESK_SPLINE_SECTION_ENTRY_BYTES(
                                      esk_spline_key_bytes(spline));
    entry->key = esk_spline_key_load(spline, bytes);
    entry->position = esk_load_u32(bytes + esk_spline_key_bytes(spline));
}

ESK_HOST_FLAT int esk_spline_find_in(const struct esk_spline *spline,
                                     const uint8_t *section, uint16_t count,
                                     uint8_t entry_level, esk_key key,
                                     struct esk_spline_hit *hit) {
    struct esk_spline_entry low;
    struct esk_spline_entry high;
    uint16_t rank = esk_spline_rank(
        spline, section, count,
        (uint8_t)ESK_SPLINE_SECTION_ENTRY_BYTES(esk_spline_key_bytes(spline)),
        key);
    if (rank == 0) {
        return ESK_NOT_FOUND;
    }
    esk_spline_section_get(spline, section, (uint16_t)(rank - 1u), &low);
    hit->level = entry_level;
    hit->position = low.position;
    if (entry_level != 0) {
        return ESK_OK;
    }
    /* What nodes cover ends with the oldest knot in RAM. */
    high = spline->last;
    if (spline->level.count != 0) {
        esk_spline_knot_get(spline, 0, &high);
    }
    hit->position = high.position;
    if (rank < count) {
        esk_spline_section_get(spline, section, rank, &high);
    }
    /* Hostile bytes: positions that do not rise, or do not exist. */
    if (key < high.key && low.position < high.position &&
        high.position <= spline->last.position) {
        hit->position = spline_between(key, &low, &high);
    }
    return ESK_OK;
}

bool esk_spline_last(const struct esk_spline *spline, esk_key *key,
                     uint32_t *position) {
    *key = spline->last.key;
    *position = spline->last.position;
    return spline->has_last;
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
    esk_spline_lessen(&spline->thin_next, count);
    esk_spline_lessen(&spline->thin_end, count);
    if (esk_spline_has_nodes()) {
        esk_spline_lessen(&knots->saved, count);
    }
    if (esk_spline_has_nodes() && spline->fresh > knots->count) {
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
