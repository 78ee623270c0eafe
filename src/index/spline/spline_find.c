// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The line between two knots, and lookup in a tile.
///
/// The knots at both ends of a segment are first keys of their pages, so the
/// answer is certainly between them. The line between them only says which page
/// to try first.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/scale.h"

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

ESK_OUT_OF_LINE uint32_t
esk_spline_between(esk_key key, const struct esk_spline_entry *low,
                   const struct esk_spline_entry *high) {
    uint32_t pages = high->position - low->position;
    uint32_t ahead = spline_scale(pages, (esk_key)(key - low->key),
                                  (esk_key)(high->key - low->key));
    return low->position + (ahead < pages ? ahead : pages - 1u);
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
    /* What tiles cover ends with the oldest knot in RAM. */
    high = spline->tip;
    if (spline->level.count != 0) {
        esk_spline_knot_get(spline, 0, &high);
    }
    hit->position = high.position;
    if (rank < count) {
        esk_spline_section_get(spline, section, rank, &high);
    }
    /* Hostile bytes: positions that do not rise, or do not exist. */
    if (key < high.key && low.position < high.position &&
        high.position <= spline->tip.position) {
        hit->position = esk_spline_between(key, &low, &high);
    }
    return ESK_OK;
}

bool esk_spline_tip(const struct esk_spline *spline, esk_key *key,
                    uint32_t *position) {
    *key = spline->tip.key;
    *position = spline->tip.position;
    return spline->has_tip;
}
