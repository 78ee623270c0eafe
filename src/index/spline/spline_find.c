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
        if (rest >= whole) {
            rest -= whole;
            quotient++;
        }
        if ((pages & bit) != 0) {
            rest += step;
            if (rest >= whole) {
                rest -= whole;
                quotient++;
            }
        }
    }
    /* A page's first key is predicted a hair too low as often as too high,
       and rounding down makes the former a miss: lean up by 1/256 page. */
    return rest + (whole >> 8) >= whole ? quotient + 1u : quotient;
}

/// Fills `hit` for a key between two knots, low.key <= key < high.key.
static void spline_hit_between(struct esk_spline_hit *hit, esk_key key,
                               const struct esk_spline_entry *low,
                               const struct esk_spline_entry *high) {
    uint32_t pages = high->position - low->position;
    uint32_t ahead = spline_scale(pages, (esk_key)(key - low->key),
                                  (esk_key)(high->key - low->key));
    hit->level = 0;
    hit->position = low->position;
    hit->low = low->position;
    hit->high = high->position - 1u;
    hit->guess = low->position + (ahead < pages ? ahead : pages - 1u);
}

/// The oldest knot in RAM, or the tip when there is none: the end of what
/// tiles cover.
static void spline_old_end(const struct esk_spline *spline,
                           struct esk_spline_entry *end) {
    end->key = spline->tip_key;
    end->position = spline->tip_position;
    if (spline->level[0].count != 0) {
        esk_spline_array_get(spline, 0, 0, end);
    }
}

/// Fills `hit` for the tile at `position`.
static void spline_hit_tile(const struct esk_spline *spline,
                            struct esk_spline_hit *hit, uint8_t level,
                            uint32_t position) {
    struct esk_spline_entry end;
    spline_old_end(spline, &end);
    hit->level = level;
    hit->position = position;
    hit->low = 0;
    hit->high = end.position;
    hit->guess = end.position;
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
        high.key = spline->tip_key;
        high.position = spline->tip_position;
        if (rank < spline->level[0].count) {
            esk_spline_array_get(spline, 0, rank, &high);
        }
        if (key < high.key) {
            spline_hit_between(hit, key, &low, &high);
        } else { /* at or after the newest point */
            hit->level = 0;
            hit->position = hit->low = hit->high = hit->guess = high.position;
        }
        return ESK_OK;
    }
    return ESK_NOT_FOUND;
}

void esk_spline_section_get(const struct esk_spline *spline,
                            const uint8_t *section, uint16_t index,
                            esk_key *key, uint32_t *position) {
    const uint8_t *bytes =
        section +
        (size_t)index * ESK_SPLINE_SECTION_ENTRY_BYTES(spline->key_bytes);
    *key = esk_spline_key_load(spline, bytes);
    *position = esk_load_u32(bytes + spline->key_bytes);
}

/// How many of the section's keys are <= `key`.
static uint16_t spline_section_rank(const struct esk_spline *spline,
                                    const uint8_t *section, uint16_t count,
                                    esk_key key) {
    uint16_t low = 0;
    while (low < count) {
        uint16_t middle = (uint16_t)((uint16_t)(low + count) >> 1);
        esk_key found;
        uint32_t position;
        esk_spline_section_get(spline, section, middle, &found, &position);
        if (found <= key) {
            low = (uint16_t)(middle + 1u);
        } else {
            count = middle;
        }
    }
    return low;
}

int esk_spline_find_in(const struct esk_spline *spline, const uint8_t *section,
                       uint16_t count, uint8_t entry_level, esk_key key,
                       struct esk_spline_hit *hit) {
    struct esk_spline_entry low;
    struct esk_spline_entry high;
    uint16_t rank = spline_section_rank(spline, section, count, key);
    if (rank == 0) {
        return ESK_NOT_FOUND;
    }
    esk_spline_section_get(spline, section, (uint16_t)(rank - 1u), &low.key,
                           &low.position);
    if (entry_level != 0) {
        spline_hit_tile(spline, hit, entry_level, low.position);
        return ESK_OK;
    }
    spline_old_end(spline, &high);
    uint32_t end = high.position;
    if (rank < count) {
        esk_spline_section_get(spline, section, rank, &high.key,
                               &high.position);
    }
    if (key < high.key && low.position < high.position &&
        high.position <= spline->tip_position) {
        spline_hit_between(hit, key, &low, &high);
        return ESK_OK;
    }
    /* Hostile bytes: positions that do not rise or are not there. */
    hit->level = 0;
    hit->position = hit->guess = hit->high = end;
    hit->low = low.position < end ? low.position : end;
    return ESK_OK;
}

bool esk_spline_tip(const struct esk_spline *spline, esk_key *key,
                    uint32_t *position) {
    *key = spline->tip_key;
    *position = spline->tip_position;
    return spline->has_tip;
}
