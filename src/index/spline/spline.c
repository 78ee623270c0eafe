// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The spline: the corridor, the error bound and the lookup.
///
///     page |            upper
///          |        .---*         A line from the last knot within the bound
///          |    .--' ..* last     of every point since lies between the two
///          |  *'..---'            slopes. A point outside them ends the
///          |  knot   lower        segment at the last point before it.
///          +------------------ key
///
/// When RAM is full, the bound rises and the same corridor runs over the knots,
/// with the increase as its slack. A removed knot is within the slack of the
/// new line, so every point is within the old bound plus the slack. A pass
/// continues where it stopped, and stops when a few entries are free: so no
/// single call takes all the time, and knots that can stay have the finer
/// bound. The bound rises in one step, because two passes leave more knots than
/// one with the same total slack (on the data set `watch` 436 against 414).
///
/// Invariants: see spline.h. Cost of an add: up to sixteen products of 32 x 32
/// bits, no division.

#include <stddef.h>

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/scale.h"

enum {
    /// Longest segment: so that two segments fit 16 bits.
    SPLINE_SEGMENT_PAGES_MAX = 0x7FFF,
    /// Highest bound that esk_spline_ease sets,
    SPLINE_ERROR_FORCED_MAX = 240,
    /// and the highest bound of new points.
    SPLINE_ERROR_NEW_MAX = 16,
};

void esk_spline_init(struct esk_spline *spline, void *memory, uint16_t bytes,
                     uint8_t key_bytes, uint8_t error_16ths) {
    memset(spline, 0, offsetof(struct esk_spline, nodes));
    spline->knots = memory;
    spline->bytes = bytes;
    spline->key_bytes = key_bytes;
    spline->error_16ths = error_16ths;
    spline->error_max = error_16ths;
    if (error_16ths == 0) {
        spline->error_16ths = ESK_SPLINE_ERROR_MIN_16THS;
        spline->error_max = ESK_SPLINE_ERROR_MAX_16THS;
    }
}

/* --------------------------------------------------------------- corridor */

bool esk_slopes_fall(const struct esk_spline_slope *a,
                     const struct esk_spline_slope *b) {
    return esk_products_fall((uint16_t)a->rise, (uint32_t)b->run,
                             (uint16_t)b->rise, (uint32_t)a->run);
}

/// slope_is_above by products of 64 bits.
static ESK_OUT_OF_LINE_WHERE_FAST bool
slope_is_above_wide(const struct esk_spline_slope *a,
                    const struct esk_spline_slope *b, uint8_t shift) {
    return (uint64_t)a->rise * (uint32_t)(b->run >> shift) >
           (uint64_t)b->rise * (uint32_t)(a->run >> shift);
}

/// Whether `a` is steeper than `b`. Runs are shortened by `shift` bits first.
/// Out of line: on an 8-bit chip the products and the comparison are long.
ESK_OUT_OF_LINE static bool slope_is_above(const struct esk_spline_slope *a,
                                           const struct esk_spline_slope *b,
                                           uint8_t shift) {
    /* Keys of 32 bits have no shift. A host multiplies 64 bits at once. */
    bool is_short = ESK_FAST && !ESK_HOST && ESK_KEY_BITS == 32 &&
                    ((a->rise | b->rise) >> 16) == 0;
    return is_short ? esk_slopes_fall(a, b) : slope_is_above_wide(a, b, shift);
}

/// Narrows the corridor between `upper` and `lower` so that its lines pass
/// `point` within `error`. Returns false, and does nothing, when no line of the
/// corridor does.
///
/// Slopes are compared by cross products, which are exact while the run fits
/// 32 bits; longer runs lose their low bits, all alike.
static bool spline_narrow(struct esk_spline_slope *upper,
                          struct esk_spline_slope *lower,
                          const struct esk_spline_slope *point, uint8_t error) {
    struct esk_spline_slope over = *point;
    struct esk_spline_slope under = *point;
    over.rise += error;
    under.rise = under.rise > error ? under.rise - error : 0;
    if (upper->run != 0) {
        esk_key longest = point->run; /* of all three */
        uint8_t shift = 0;
        while (longest > UINT32_MAX) {
            longest >>= 1;
            shift++;
        }
        if (slope_is_above(point, upper, shift) ||
            slope_is_above(lower, point, shift)) {
            return false;
        }
        if (slope_is_above(&under, lower, shift)) {
            *lower = under;
        }
        if (!slope_is_above(upper, &over, shift)) {
            return true;
        }
    } else {
        *lower = under;
    }
    *upper = over;
    return true;
}

/// The slope from `from` to `to`. False when it is too long.
static bool spline_slope_to(const struct esk_spline_entry *from,
                            const struct esk_spline_entry *to,
                            struct esk_spline_slope *slope) {
    uint32_t pages = to->position - from->position;
    slope->run = (esk_key)(to->key - from->key);
    slope->rise = pages << 4;
    return pages <= SPLINE_SEGMENT_PAGES_MAX;
}

/* --------------------------------------------------------------- thinning */

/// Copies knot `from` over knot `to`.
static void knot_copy(struct esk_spline *spline, uint16_t to, uint16_t from) {
    esk_bytes_move(esk_spline_knot_at(spline, to),
                   esk_spline_knot_at(spline, from),
                   esk_spline_knot_bytes(spline));
}

/// Continues the pass until it has ended or a few entries are free. Returns
/// whether it freed any.
///
///     knots   0 .. kept - 1   done; the last of them is `base`
///             next - 1        within the corridor: removed if `next` is, too
///             next ..         not checked yet
///
/// The last saved knot stays, because the next node begins with it.
static bool spline_thin_on(struct esk_spline *spline) {
    struct esk_spline_level *knots = &spline->level;
    struct esk_spline_slope upper;
    struct esk_spline_slope lower;
    struct esk_spline_slope slope;
    struct esk_spline_entry base;
    struct esk_spline_entry knot;
    uint16_t joint = esk_spline_has_nodes() ? knots->saved : 0;
    uint16_t batch = (uint16_t)(esk_spline_array_batch(spline) + 1u);
    uint16_t kept = (uint16_t)(spline->thin_next + 1u);
    uint16_t next = kept;
    upper.run = 0;
    esk_spline_knot_get(spline, spline->thin_next, &base);
    while (next < spline->thin_end && (uint16_t)(next - kept) < batch) {
        esk_spline_knot_get(spline, next, &knot);
        bool may_go =
            !esk_spline_has_nodes() || next != joint || upper.run == 0;
        if (may_go && spline_slope_to(&base, &knot, &slope) &&
            spline_narrow(&upper, &lower, &slope, spline->thin_slack)) {
            next++;
            continue;
        }
        if (upper.run == 0) { /* too far even from its neighbour */
            next++;
        }
        knot_copy(spline, kept, (uint16_t)(next - 1u));
        esk_spline_knot_get(spline, kept, &base);
        kept++;
        upper.run = 0;
        if (esk_spline_has_nodes() && next == joint) {
            knots->saved = kept;
        }
    }
    if (upper.run != 0) { /* the last one inside ends the segment */
        knot_copy(spline, kept, (uint16_t)(next - 1u));
        kept++;
    }
    uint16_t freed = (uint16_t)(next - kept);
    if (esk_spline_has_nodes() && next <= joint) {
        knots->saved = (uint16_t)(joint - freed);
    }
    esk_spline_array_close(spline, esk_spline_knot_at(spline, kept),
                           esk_spline_knot_at(spline, next));
    knots->count = (uint16_t)(knots->count - freed);
    spline->thin_end = (uint16_t)(spline->thin_end - freed);
    spline->thin_next = kept == spline->thin_end ? kept : (uint16_t)(kept - 1u);
    /* Some removed knots were fresh: now a few older knots count as fresh and
       are written again, which recovery ignores. */
    if (esk_spline_has_nodes() &&
        spline->fresh > (uint16_t)(knots->count - knots->saved)) {
        spline->fresh = (uint16_t)(knots->count - knots->saved);
    }
    return freed != 0;
}

void esk_spline_restore_error(struct esk_spline *spline, uint8_t error_16ths) {
    if (error_16ths > spline->error_16ths && error_16ths <= spline->error_max) {
        spline->thin_slack = (uint8_t)(error_16ths - spline->error_16ths);
        spline->thin_next = 0;
        spline->thin_end = spline->level.count;
        spline->error_16ths = error_16ths;
    }
}

/// Frees entries by thinning; raises the bound if it may rise.
static bool spline_thin(struct esk_spline *spline) {
    for (;;) {
        while (spline->thin_next < spline->thin_end) {
            if (spline_thin_on(spline)) {
                return true;
            }
        }
        if (spline->error_16ths >= spline->error_max) {
            return false;
        }
        esk_spline_restore_error(spline, spline->error_max);
    }
}

/* -------------------------------------------------------------- room, add */

/// Makes room for a knot at `position` by thinning.
/// Returns ESK_OK; ESK_FULL: it has no room, or is too far from the oldest.
static int spline_room(struct esk_spline *spline, uint32_t position) {
    struct esk_spline_entry oldest = {0, position};
    if (spline->level.count != 0) {
        esk_spline_knot_get(spline, 0, &oldest);
    }
    if (position - oldest.position > UINT16_MAX) {
        return ESK_FULL;
    }
    while (!esk_spline_array_has_room(spline, esk_spline_knot_bytes(spline))) {
        if (!spline_thin(spline)) {
            return ESK_FULL;
        }
    }
    return ESK_OK;
}

void esk_spline_ease(struct esk_spline *spline) {
    uint16_t batch = esk_spline_array_batch(spline);
    if (spline->error_max < SPLINE_ERROR_FORCED_MAX &&
        !esk_spline_array_has_room(spline, esk_spline_knot_bytes(spline))) {
        spline->error_max = (uint8_t)(spline->error_max + 4u);
    } else {
        /* Or there is a gap of 65,536 pages, which no segment spans. */
        esk_spline_knots_drop(spline, batch);
    }
}

ESK_APART int esk_spline_push(struct esk_spline *spline,
                              const struct esk_spline_entry *knot) {
    ESK_TRY(spline_room(spline, knot->position));
    esk_spline_knot_insert(spline, spline->level.count, knot);
    spline->upper.run = 0;
    spline->last = *knot;
    spline->has_last = true;
    spline->fresh = (uint16_t)(spline->fresh + esk_spline_has_nodes());
    return ESK_OK;
}

bool esk_spline_is_new(const struct esk_spline *spline,
                       const struct esk_spline_entry *point) {
    return !spline->has_last || (point->key > spline->last.key &&
                                 point->position > spline->last.position);
}

int esk_spline_add(struct esk_spline *spline, esk_key key, uint32_t position) {
    const struct esk_spline_level *knots = &spline->level;
    struct esk_spline_entry point = {key, position};
    struct esk_spline_entry knot;
    struct esk_spline_slope slope;
    uint8_t error = spline->error_16ths;
    if (error > SPLINE_ERROR_NEW_MAX) {
        error = SPLINE_ERROR_NEW_MAX;
    }
    if (!esk_spline_is_new(spline, &point)) {
        return ESK_OK;
    }
    /* At most twice: then the last point is the knot. */
    while (knots->count != 0) {
        esk_spline_knot_get(spline, (uint16_t)(knots->count - 1u), &knot);
        if (spline_slope_to(&knot, &point, &slope) &&
            spline_narrow(&spline->upper, &spline->lower, &slope, error)) {
            spline->last = point;
            return ESK_OK;
        }
        if (spline->last.key == knot.key) {
            break; /* a gap: the point itself becomes a knot */
        }
        ESK_TRY(esk_spline_push(spline, &spline->last));
    }
    return esk_spline_push(spline, &point);
}
