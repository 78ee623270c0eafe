// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An entry that covers other entries. Their learned cells are joined one by
/// one, from the smaller zone's grid to that of the larger.

#include "index/summary/summary_cells.h"

/// Widens the zone of `part` by that of `other`. Returns whether it changed.
static bool summary_merge_zone(uint8_t *part, const uint8_t *other,
                               uint8_t width) {
    bool is_below = esk_summary_is_below(other, part, width);
    bool is_above = esk_summary_is_below(part + width, other + width, width);
    if (is_below) {
        memcpy(part, other, width);
    }
    if (is_above) {
        memcpy(part + width, other + width, width);
    }
    return is_below || is_above;
}

void esk_summary_merge_zones(const struct esk_summary_column *columns,
                             uint8_t count, uint8_t *zones,
                             const uint8_t *entry) {
    for (uint8_t i = 0; i < count; i++) {
        uint8_t width = columns[i].width;
        if (!esk_summary_is_below(entry + width, entry, width)) {
            (void)summary_merge_zone(zones, entry, width);
        }
        zones += width + width;
        entry += esk_summary_part_bytes(&columns[i]);
    }
}

/// Two grids, and where one is in the other. A *place* is a distance in parts
/// of a step: of 15 bits in a zone, so two of them can be added.
struct summary_overlay {
    struct esk_summary_grid to;
    struct esk_summary_grid from;
    uint16_t start; ///< place of from's min in to
    uint8_t unit;   ///< bits of a distance below a place
    uint8_t carry;  ///< 1: from's min is behind the begin of its place
    uint8_t power;  ///< there are 2 to this power cells
};

/// The place at which from's step `step` begins, counted from its min, rounded
/// down.
static uint16_t summary_place(const struct summary_overlay *overlay,
                              uint16_t step) {
    uint8_t shift = esk_summary_shift(&overlay->from);
    uint8_t unit = overlay->unit;
    if (shift >= unit) {
        return (uint16_t)(step << (uint8_t)(shift - unit));
    }
    unit = (uint8_t)(unit - shift);
    return (uint16_t)((uint32_t)step >> (unit < 16 ? unit : 16));
}

/// The cell of a place in `to`.
static uint8_t summary_cell_at(const struct summary_overlay *overlay,
                               uint16_t place) {
    const struct esk_summary_grid *to = &overlay->to;
    uint16_t step =
        (uint16_t)(place >> (uint8_t)(esk_summary_shift(to) - overlay->unit));
    step = step < to->last ? step : to->last;
    return (uint8_t)((uint16_t)(step * to->scale) >> 8);
}

/// The first of from's steps that is in `cell`, or behind the last one.
static uint16_t summary_step_of(const struct summary_overlay *overlay,
                                uint8_t cell) {
    const struct esk_summary_grid *grid = &overlay->from;
    uint16_t steps = (uint16_t)(grid->last + 1u);
    uint16_t step = cell;
    if (grid->scale < 256) {
        /* A scale is rounded down: the step is this one or above. */
        uint8_t rest = (uint8_t)(esk_bit(overlay->power) - 1u);
        step = (uint16_t)((uint16_t)(cell * steps + rest) >> overlay->power);
        uint16_t place = (uint16_t)(step * grid->scale);
        for (; step < steps && place >> 8 < cell; step++) {
            place = (uint16_t)(place + grid->scale);
        }
    }
    return step < steps ? step : steps;
}

/// Sets the cells that can have a value of from's steps `first` .. `end` - 1.
static void summary_spread(const struct summary_overlay *overlay,
                           uint16_t first, uint16_t end, uint8_t *bitmap) {
    bool is_whole = esk_summary_shift(&overlay->from) >= overlay->unit;
    uint16_t low = summary_place(overlay, first);
    /* The last place: end's is behind it, or if rounded may be it. */
    uint16_t high = is_whole ? (uint16_t)(summary_place(overlay, end) - 1u)
                             : summary_place(overlay, (uint16_t)(end - 1u));
    uint8_t cell = summary_cell_at(overlay, (uint16_t)(overlay->start + low));
    uint8_t last = summary_cell_at(
        overlay, (uint16_t)(overlay->start + high + overlay->carry));
    for (; cell <= last; cell++) {
        bitmap[cell >> 3] |= esk_summary_mask(cell);
    }
}

/// Lays the grid of the zone `other` over that of `part`, which contains it.
static void summary_lay(const struct esk_summary_column *column,
                        const uint8_t *part, const uint8_t *other,
                        struct summary_overlay *overlay) {
    struct esk_summary_number distance;
    esk_summary_fit_zone(&overlay->to, part, column);
    esk_summary_fit_zone(&overlay->from, other, column);
    for (overlay->power = 3; column->bitmap_bits >> overlay->power > 1;) {
        overlay->power++;
    }
    uint8_t shift = esk_summary_shift(&overlay->to);
    overlay->unit = (uint8_t)(shift > 7 ? shift - 7u : 0u);
    if (ESK_FAST && column->width == 4) {
        uint32_t words = esk_load_u32(other) - esk_load_u32(part);
        uint32_t start = words >> overlay->unit;
        overlay->start = (uint16_t)(start & 0xFFFFu);
        overlay->carry = start << overlay->unit != words;
        return;
    }
    esk_summary_subtract(&distance, other, part, column->width);
    overlay->start = (uint16_t)(esk_summary_window(distance.byte, column->width,
                                                   overlay->unit) &
                                0xFFFFu);
    overlay->carry = esk_summary_is_within(distance.byte, overlay->unit);
}

/// Adds the learned cells of `other`, whose zone is within that of `part`.
static void summary_add_cells(const struct esk_summary_column *column,
                              uint8_t *part, const uint8_t *other) {
    struct summary_overlay overlay;
    uint8_t zone = (uint8_t)(column->width << 1);
    uint8_t cells = column->bitmap_bits;
    const uint8_t *bits = other + zone;
    summary_lay(column, part, other, &overlay);
    uint8_t cell = esk_summary_set_from(bits, 0, cells);
    while (cell < cells) {
        uint8_t end = esk_summary_clear_from(bits, cell, cells);
        summary_spread(&overlay, summary_step_of(&overlay, cell),
                       summary_step_of(&overlay, end), part + zone);
        cell = esk_summary_set_from(bits, end, cells);
    }
}

/// Widens the zone of `part` by that of `other`, and adds its learned cells.
static void summary_merge_cells(const struct esk_summary_column *column,
                                uint8_t *part, const uint8_t *other) {
    uint8_t old[3 * ESK_SUMMARY_WIDE];
    uint8_t zone = (uint8_t)(column->width << 1);
    uint8_t bytes = esk_summary_bitmap_bytes(column);
    memcpy(old, part, (size_t)zone + bytes);
    if (summary_merge_zone(part, other, column->width)) {
        memset(part + zone, 0, bytes);
        summary_add_cells(column, part, old);
    }
    if (!esk_bytes_are(part + zone, bytes, UINT8_MAX)) {
        summary_add_cells(column, part, other);
    }
}

/// Adds the bits of `other` to those of `part`.
static void summary_merge_bits(uint8_t *bitmap, const uint8_t *other,
                               uint8_t bytes) {
    for (; bytes > 0; bytes--) {
        *bitmap++ |= *other++;
    }
}

/// summary_merge_part for a run of parts of 4-byte values without learned
/// cells: the zone stays in registers.
static void summary_merge_words(const struct esk_summary_column *column,
                                uint8_t *part,
                                const struct esk_summary_values *others) {
    const uint8_t *other = others->first;
    uint16_t stride = others->stride;
    uint8_t bytes = esk_summary_bitmap_bytes(column);
    uint32_t min = esk_load_u32(part);
    uint32_t max = esk_load_u32(part + 4);
    for (uint16_t i = others->count; i > 0; i--, other += stride) {
        uint32_t other_min = esk_load_u32(other);
        uint32_t other_max = esk_load_u32(other + 4);
        if (other_max >= other_min) {
            min = other_min < min ? other_min : min;
            max = other_max > max ? other_max : max;
            summary_merge_bits(part + 8, other + 8, bytes);
        }
    }
    esk_store_u32(part, min);
    esk_store_u32(part + 4, max);
}

static void summary_merge_part(const struct esk_summary_column *column,
                               uint8_t *part, const uint8_t *other) {
    uint8_t width = column->width;
    uint8_t zone = (uint8_t)(width + width);
    if (esk_summary_is_below(other + width, other, width)) {
        return;
    }
    if (esk_summary_is_below(part + width, part, width)) {
        memcpy(part, other, esk_summary_part_bytes(column));
    } else if (esk_summary_is_learned(column) &&
               memcmp(part, other, zone) != 0) {
        summary_merge_cells(column, part, other);
    } else {
        (void)summary_merge_zone(part, other, width);
        summary_merge_bits(part + zone, other + zone,
                           esk_summary_bitmap_bytes(column));
    }
}

void esk_summary_merge(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, const uint8_t *others,
                       uint16_t other_count, uint16_t entry_bytes) {
    for (uint8_t i = 0; i < count; i++) {
        struct esk_summary_values left = {others, other_count, entry_bytes};
        if (ESK_FAST && columns[i].width == 4 &&
            !esk_summary_is_learned(&columns[i])) {
            summary_merge_words(&columns[i], entry, &left);
            left.count = 0;
        }
        for (; left.count > 0; left.count--, left.first += entry_bytes) {
            summary_merge_part(&columns[i], entry, left.first);
        }
        entry += esk_summary_part_bytes(&columns[i]);
        others += esk_summary_part_bytes(&columns[i]);
    }
}
