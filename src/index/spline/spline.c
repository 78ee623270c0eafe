// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The spline: the corridor, the error bound and the lookup.
///
///     page |            upper
///          |        .---*         A line from the last knot within the bound
///          |    .--' ..* tip      of every point since lies between the two
///          |  *'..---'            slopes. A point outside them ends the
///          |  knot   lower        segment at the tip, the point before it.
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

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"

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
    memset(spline, 0, sizeof *spline);
    spline->memory = memory;
    spline->bytes = bytes;
    spline->key_bytes = key_bytes;
    spline->error_16ths = error_16ths;
    spline->error_max = error_16ths;
    if (error_16ths == 0) {
        spline->error_16ths = ESK_SPLINE_ERROR_MIN_16THS;
        spline->error_max = ESK_SPLINE_ERROR_MAX_16THS;
    }
    for (uint8_t i = 0; i < ESK_SPLINE_LEVEL_COUNT - 1; i++) {
        spline->tile[i].open_position = ESK_SPLINE_NONE;
        spline->tile[i].closed_position = ESK_SPLINE_NONE;
    }
}

/* --------------------------------------------------------------- corridor */

/// Whether `a` is steeper than `b`. Runs are shortened by `shift` bits first.
/// Out of line: on an 8-bit chip two wide products and a comparison are long.
ESK_OUT_OF_LINE static bool slope_is_above(const struct esk_spline_slope *a,
                                           const struct esk_spline_slope *b,
                                           uint8_t shift) {
    return (uint64_t)a->rise * (uint32_t)(b->run >> shift) >
           (uint64_t)b->rise * (uint32_t)(a->run >> shift);
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

/// Continues the pass until it has ended or a few entries are free. Returns
/// whether it freed any.
///
///     knots   0 .. kept - 1   done; the last of them is `base`
///             next - 1        within the corridor: removed if `next` is, too
///             next ..         not checked yet
///
/// The last saved knot stays, because the next tile begins with it.
static bool spline_thin_on(struct esk_spline *spline) {
    struct esk_spline_level *knots = &spline->level[0];
    struct esk_spline_slope upper;
    struct esk_spline_slope lower;
    struct esk_spline_slope slope;
    struct esk_spline_entry base;
    struct esk_spline_entry knot;
    uint16_t joint = knots->saved;
    uint16_t batch = (uint16_t)(esk_spline_array_batch(spline) + 1u);
    uint16_t kept = (uint16_t)(spline->thin_next + 1u);
    uint16_t next = kept;
    upper.run = 0;
    esk_spline_array_get(spline, 0, spline->thin_next, &base);
    while (next < spline->thin_end && (uint16_t)(next - kept) < batch) {
        esk_spline_array_get(spline, 0, next, &knot);
        bool may_go = next != joint || upper.run == 0;
        if (may_go && spline_slope_to(&base, &knot, &slope) &&
            spline_narrow(&upper, &lower, &slope, spline->thin_slack)) {
            next++;
            continue;
        }
        if (upper.run == 0) { /* too far even from its neighbour */
            next++;
        }
        esk_spline_array_copy(spline, kept, (uint16_t)(next - 1u));
        esk_spline_array_get(spline, 0, kept, &base);
        kept++;
        upper.run = 0;
        if (next == joint) {
            knots->saved = kept;
        }
    }
    if (upper.run != 0) { /* the last one inside ends the segment */
        esk_spline_array_copy(spline, kept, (uint16_t)(next - 1u));
        kept++;
    }
    uint16_t freed = (uint16_t)(next - kept);
    if (next <= joint) {
        knots->saved = (uint16_t)(joint - freed);
    }
    esk_spline_array_close(spline, 0, kept, next);
    spline->thin_end = (uint16_t)(spline->thin_end - freed);
    spline->thin_next = kept == spline->thin_end ? kept : (uint16_t)(kept - 1u);
    /* Some removed knots were fresh: now a few older knots count as fresh and
       are written again, which recovery ignores. */
    if (spline->fresh > (uint16_t)(knots->count - knots->saved)) {
        spline->fresh = (uint16_t)(knots->count - knots->saved);
    }
    return freed != 0;
}

void esk_spline_restore_error(struct esk_spline *spline, uint8_t error_16ths) {
    if (error_16ths > spline->error_16ths && error_16ths <= spline->error_max) {
        spline->thin_slack = (uint8_t)(error_16ths - spline->error_16ths);
        spline->thin_next = 0;
        spline->thin_end = spline->level[0].count;
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

uint16_t esk_spline_unsaved(const struct esk_spline *spline, uint8_t level) {
    const struct esk_spline_level *own = &spline->level[level];
    uint16_t closed = own->count;
    if (level > 0 && spline->tile[level - 1].open_count != 0) {
        closed--; /* the last entry names the open tile, which moves */
    }
    return closed > own->saved ? (uint16_t)(closed - own->saved) : 0;
}

uint8_t esk_spline_full_level(const struct esk_spline *spline) {
    return spline->full_level;
}

/// Makes room for a knot at `position`.
/// Returns ESK_OK or ESK_FULL, then full_level needs to be saved.
static int spline_room(struct esk_spline *spline, uint32_t position) {
    struct esk_spline_level *level = spline->level;
    struct esk_spline_entry oldest;
    for (;;) {
        bool is_far = false;
        if (level[0].count != 0) {
            esk_spline_array_get(spline, 0, 0, &oldest);
            is_far = position - oldest.position > UINT16_MAX;
        }
        if (!is_far && esk_spline_array_has_room(spline, 0)) {
            return ESK_OK;
        }
        if ((!is_far && spline_thin(spline)) ||
            esk_spline_array_evict(spline)) {
            continue;
        }
        bool has_knots = esk_spline_unsaved(spline, 0) != 0;
        bool has_tiles = esk_spline_unsaved(spline, 1) != 0;
        bool is_wide = esk_spline_array_is_wide(spline);
        spline->full_level = has_tiles && !(has_knots && is_wide) ? 1 : 0;
        if (has_tiles || has_knots) {
            return ESK_FULL;
        }
        /* Nothing can be saved: there is a gap of 65,536 pages, which no
           segment spans, or the top level is full. */
        esk_spline_array_remove_oldest(spline, is_far ? 0 : 2, 1);
    }
}

void esk_spline_drop(struct esk_spline *spline) {
    struct esk_spline_level *own = &spline->level[spline->full_level];
    uint16_t batch = esk_spline_array_batch(spline);
    uint16_t most = (uint16_t)(own->count - 1u);
    if (most == 0) {
        own->saved = 1; /* the last knot stays and is not saved again */
        return;
    }
    esk_spline_array_remove_oldest(spline, spline->full_level,
                                   batch < most ? batch : most);
}

void esk_spline_ease(struct esk_spline *spline) {
    if (spline->full_level == 0 &&
        spline->error_max < SPLINE_ERROR_FORCED_MAX) {
        spline->error_max = (uint8_t)(spline->error_max + 4u);
    } else {
        esk_spline_drop(spline);
    }
}

/// Appends a knot, which starts a new corridor.
static ESK_APART int spline_push(struct esk_spline *spline,
                                 const struct esk_spline_entry *knot) {
    ESK_TRY(spline_room(spline, knot->position));
    esk_spline_array_insert(spline, 0, spline->level[0].count, knot);
    spline->upper.run = 0;
    spline->tip = *knot;
    spline->has_tip = true;
    spline->fresh++;
    return ESK_OK;
}

static bool spline_is_new(const struct esk_spline *spline,
                          const struct esk_spline_entry *point) {
    return !spline->has_tip || (point->key > spline->tip.key &&
                                point->position > spline->tip.position);
}

int esk_spline_add(struct esk_spline *spline, esk_key key, uint32_t position) {
    const struct esk_spline_level *knots = &spline->level[0];
    struct esk_spline_entry point = {key, position};
    struct esk_spline_entry knot;
    struct esk_spline_slope slope;
    uint8_t error = spline->error_16ths;
    if (error > SPLINE_ERROR_NEW_MAX) {
        error = SPLINE_ERROR_NEW_MAX;
    }
    if (!spline_is_new(spline, &point)) {
        return ESK_OK;
    }
    while (knots->count != 0) { /* at most twice: then the tip is the knot */
        esk_spline_array_get(spline, 0, (uint16_t)(knots->count - 1u), &knot);
        if (spline_slope_to(&knot, &point, &slope) &&
            spline_narrow(&spline->upper, &spline->lower, &slope, error)) {
            spline->tip = point;
            return ESK_OK;
        }
        if (spline->tip.key == knot.key) {
            break; /* a gap: the point itself becomes a knot */
        }
        ESK_TRY(spline_push(spline, &spline->tip));
    }
    return spline_push(spline, &point);
}

/// Adds a knot that must be added: what cannot be saved now is thinned more.
/// Returns whether the knot was above the newest one.
static bool spline_force(struct esk_spline *spline,
                         const struct esk_spline_entry *knot) {
    if (!spline_is_new(spline, knot)) {
        return false;
    }
    while (spline_push(spline, knot) != ESK_OK) {
        esk_spline_ease(spline);
    }
    return true;
}

void esk_spline_restore_knot(struct esk_spline *spline,
                             const struct esk_spline_entry *knot) {
    if (spline_force(spline, knot)) {
        spline->fresh--; /* it came from an index page */
    }
}

void esk_spline_restore_tip(struct esk_spline *spline,
                            const struct esk_spline_entry *tip) {
    (void)spline_force(spline, tip);
}
