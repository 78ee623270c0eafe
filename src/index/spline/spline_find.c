// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Lookup, in RAM and in a tile.
///
/// The knots at both ends of a segment are first keys of their pages, so they
/// bound the answer for certain; the line between them only says where to
/// look first. A level is searched only when the one below it (newer keys)
/// does not reach down to the key.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"

/// pages * run / span rounded down, with a small bias: run < span.
///
/// Digit by digit, as in long multiplication and division at once: after
/// each bit of `pages`, quotient * span + rest = (bits so far) * run. No
/// product is wider than 32 bits and there is no division.
static uint32_t spline_scale(uint32_t pages, esk_key run, esk_key span) {
    while ((span >> 30) != 0) {
        span >>= 1;
        run >>= 1;
    }
    uint32_t step = (uint32_t)run;
    uint32_t whole = (uint32_t)span;
    uint32_t quotient = 0;
    uint32_t rest = 0;
    uint32_t bit = 1;
    while (bit <= (pages >> 1)) {
        bit <<= 1;
    }
    for (; bit != 0; bit >>= 1) {
        quotient <<= 1;
        rest <<= 1;
        if ((pages & bit) != 0) {
            rest += step;
        }
        while (rest >= whole) { /* twice at most: rest is below 3 * whole */
            rest -= whole;
            quotient++;
        }
    }
    /* A page's first key is predicted a hair too low as often as too high,
       and rounding down makes the former a miss: lean up by 1/256 page. */
    return rest + (whole >> 8) >= whole ? quotient + 1u : quotient;
}

/// Fills `hit` for a data page.
static void spline_hit_page(struct esk_spline_hit *hit, uint32_t low,
                            uint32_t guess, uint32_t high) {
    hit->level = 0;
    hit->position = guess;
    hit->low = low;
    hit->high = high;
    hit->guess = guess;
}

/// Fills `hit` for a key between two knots, low.key <= key < high.key.
ESK_OUT_OF_LINE static void
spline_hit_between(struct esk_spline_hit *hit, esk_key key,
                   const struct esk_spline_entry *low,
                   const struct esk_spline_entry *high) {
    uint32_t last = high->position - low->position - 1u;
    uint32_t ahead = spline_scale(last + 1u, (esk_key)(key - low->key),
                                  (esk_key)(high->key - low->key));
    ahead = ahead < last ? ahead : last;
    spline_hit_page(hit, low->position, low->position + ahead,
                    high->position - 1u);
}

/// The oldest knot in RAM, or the tip when there is none: the end of what
/// tiles cover.
static void spline_old_end(const struct esk_spline *spline,
                           struct esk_spline_entry *end) {
    *end = spline->tip;
    if (spline->level[0].count != 0) {
        esk_spline_array_get(spline, 0, 0, end);
    }
}

/// Fills `hit` for the tile at `position`.
ESK_OUT_OF_LINE static void spline_hit_tile(const struct esk_spline *spline,
                                            struct esk_spline_hit *hit,
                                            uint8_t level, uint32_t position) {
    struct esk_spline_entry end;
    spline_old_end(spline, &end);
    spline_hit_page(hit, 0, end.position, end.position);
    hit->level = level;
    hit->position = position;
}

int esk_spline_find(const struct esk_spline *spline, esk_key key,
                    struct esk_spline_hit *hit) {
    for (uint8_t level = 0; level < ESK_SPLINE_LEVEL_COUNT; level++) {
        uint16_t rank = esk_spline_array_rank(spline, level, key);
        if (rank == 0) {
            continue;
        }
        struct esk_spline_entry low;
        esk_spline_array_get(spline, level, (uint16_t)(rank - 1u), &low);
        if (level != 0) {
            spline_hit_tile(spline, hit, level, low.position);
            return ESK_OK;
        }
        struct esk_spline_entry high;
        high = spline->tip;
        if (rank < spline->level[0].count) {
            esk_spline_array_get(spline, 0, rank, &high);
        }
        if (key < high.key) {
            spline_hit_between(hit, key, &low, &high);
        } else { /* at or after the newest point */
            spline_hit_page(hit, high.position, high.position, high.position);
        }
        return ESK_OK;
    }
    return ESK_NOT_FOUND;
}

void esk_spline_section_get(const struct esk_spline *spline,
                            const uint8_t *section, uint16_t index,
                            struct esk_spline_entry *entry) {
    const uint8_t *bytes =
        section +
        (size_t)index * ESK_SPLINE_SECTION_ENTRY_BYTES(spline->key_bytes);
    entry->key = esk_spline_key_load(spline, bytes);
    entry->position = esk_load_u32(bytes + spline->key_bytes);
}

int esk_spline_find_in(const struct esk_spline *spline, const uint8_t *section,
                       uint16_t count, uint8_t entry_level, esk_key key,
                       struct esk_spline_hit *hit) {
    struct esk_spline_entry low;
    struct esk_spline_entry high;
    uint16_t rank = esk_spline_rank(
        spline, section, count,
        (uint8_t)ESK_SPLINE_SECTION_ENTRY_BYTES(spline->key_bytes), key);
    if (rank == 0) {
        return ESK_NOT_FOUND;
    }
    esk_spline_section_get(spline, section, (uint16_t)(rank - 1u), &low);
    if (entry_level != 0) {
        spline_hit_tile(spline, hit, entry_level, low.position);
        return ESK_OK;
    }
    spline_old_end(spline, &high);
    uint32_t end = high.position;
    if (rank < count) {
        esk_spline_section_get(spline, section, rank, &high);
    }
    if (key < high.key && low.position < high.position &&
        high.position <= spline->tip.position) {
        spline_hit_between(hit, key, &low, &high);
        return ESK_OK;
    }
    /* Hostile bytes: positions that do not rise or are not there. */
    spline_hit_page(hit, low.position < end ? low.position : end, end, end);
    return ESK_OK;
}

bool esk_spline_tip(const struct esk_spline *spline, esk_key *key,
                    uint32_t *position) {
    *key = spline->tip.key;
    *position = spline->tip.position;
    return spline->has_tip;
}
