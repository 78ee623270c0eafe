// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Zone map and bitmap.
///
///     min            v                                   max
///      |------|------|------|------|------|------|------|
///        0      1      2      3      4      5      6      cells
///
/// Invariants
///  1. The cell of a value never falls as the value rises, so the cells from
///     cell(lo) to cell(hi) have every value in lo..hi.
///  2. Cells depend only on min and max: the reader of an entry computes the
///     same cells as its writer.
///
/// The grid works on 32 bits: for a wider span, on the top four bytes. Columns
/// of up to 4 bytes are folded in 32-bit arithmetic, because each append folds.
/// 8-byte columns, and every match, are compared and subtracted as byte
/// strings: 64-bit integers would make this file three times as large on an
/// 8-bit chip.
///
/// Cost on an ATmega2560, 31 rows of an i32: a fold 6,800 cycles with a
/// bitmap, 2,900 without; a match 300 when the zone decides.

#include "index/summary/summary.h"

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"

enum { SUMMARY_WIDE = 8 };

/// An 8-byte number in order form, least significant byte first.
struct summary_number {
    uint8_t byte[SUMMARY_WIDE];
};

/// The learned cells of one entry's column.
struct summary_grid {
    uint8_t skip; ///< bytes of an 8-byte distance below the grid's 32 bits
    uint8_t shift;
    uint8_t last;   ///< the step of max
    uint16_t scale; ///< cells a step, in 1/256
};

static uint8_t summary_bitmap_bytes(const struct esk_summary_column *column) {
    return (uint8_t)(column->bitmap_bits >> 3);
}

static uint8_t summary_part_bytes(const struct esk_summary_column *column) {
    return (uint8_t)((uint8_t)(column->width << 1) +
                     summary_bitmap_bytes(column));
}

uint16_t esk_summary_entry_bytes(const struct esk_summary_column *columns,
                                 uint8_t count) {
    uint16_t bytes = 0;
    for (uint8_t i = 0; i < count; i++) {
        bytes = (uint16_t)(bytes + summary_part_bytes(&columns[i]));
    }
    return bytes;
}

/// Sets min to `min` in every byte, and max and bitmap to its complement.
static void summary_fill(const struct esk_summary_column *columns,
                         uint8_t count, uint8_t *entry, uint8_t min) {
    for (uint8_t i = 0; i < count; i++) {
        uint8_t width = columns[i].width;
        uint8_t bytes = summary_part_bytes(&columns[i]);
        memset(entry, min, width);
        memset(entry + width, (uint8_t)~min, (size_t)(bytes - width));
        entry += bytes;
    }
}

void esk_summary_clear(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry) {
    summary_fill(columns, count, entry, 0xFF);
}

void esk_summary_widen(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry) {
    summary_fill(columns, count, entry, 0);
}

/* ---------------------------------------------------------------- numbers */

static bool summary_is_below(const uint8_t *a, const uint8_t *b,
                             uint8_t width) {
    while (width > 0) {
        width--;
        if (a[width] != b[width]) {
            return a[width] < b[width];
        }
    }
    return false;
}

/// out = a - b of `width` bytes, a >= b.
static void summary_subtract(struct summary_number *out, const uint8_t *a,
                             const uint8_t *b, uint8_t width) {
    uint8_t borrow = 0;
    memset(out, 0, sizeof *out);
    for (uint8_t i = 0; i < width; i++) {
        uint16_t part = (uint16_t)((uint16_t)a[i] - b[i] - borrow);
        out->byte[i] = (uint8_t)(part & 0xFFu);
        borrow = (uint8_t)((part >> 8) & 1u);
    }
}

static void summary_put(uint8_t *bytes, uint8_t width, uint32_t value) {
    for (uint8_t i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(value & 0xFFu);
        value >>= 8;
    }
}

/* ------------------------------------------------------------------ cells */

/// Fits the grid to a span of max - min; `bits` is the bitmap's size.
static void summary_fit(struct summary_grid *grid, uint32_t span,
                        uint8_t bits) {
    grid->skip = 0;
    grid->shift = 0;
    while (span > 0xFFFFu) {
        span >>= 8;
        grid->shift = (uint8_t)(grid->shift + 8u);
    }
    uint16_t low = (uint16_t)span;
    while (low > 0xFFu) {
        low >>= 1;
        grid->shift++;
    }
    grid->last = (uint8_t)low;
    grid->scale = 256;
    if (low >= bits) {
        grid->scale =
            (uint16_t)((unsigned)((uint16_t)bits << 8) / (uint16_t)(low + 1u));
    }
}

/// The cell of the value `distance` above min; distance <= max - min.
static uint8_t summary_cell(const struct summary_grid *grid,
                            uint32_t distance) {
    uint8_t step = esk_byte_from(distance, grid->shift);
    return (uint8_t)((uint16_t)(step * grid->scale) >> 8);
}

/// Fits the grid to the zone of `part`.
static void summary_fit_zone(struct summary_grid *grid, const uint8_t *part,
                             const struct esk_summary_column *column) {
    struct summary_number span;
    uint8_t skip = SUMMARY_WIDE - 4;
    summary_subtract(&span, part + column->width, part, column->width);
    while (skip > 0 && span.byte[skip + 3] == 0) {
        skip--;
    }
    summary_fit(grid, esk_load_u32(&span.byte[skip]), column->bitmap_bits);
    grid->skip = skip;
}

/// The cell of `value`, of any width, in the zone that starts at `min`.
static uint8_t summary_cell_of(const struct summary_grid *grid,
                               const uint8_t *value, const uint8_t *min,
                               uint8_t width) {
    struct summary_number distance;
    summary_subtract(&distance, value, min, width);
    return summary_cell(grid, esk_load_u32(&distance.byte[grid->skip]));
}

/// The bucket of `value`: how many edges are <= it.
static uint8_t summary_bucket(const struct esk_summary_column *column,
                              const uint8_t *value) {
    uint8_t low = 0;
    uint8_t high = column->edge_count;
    while (low < high) {
        uint8_t middle = (uint8_t)((uint8_t)(low + high) >> 1);
        const uint8_t *edge = column->edges + (uint16_t)middle * column->width;
        if (summary_is_below(value, edge, column->width)) {
            high = middle;
        } else {
            low = (uint8_t)(middle + 1u);
        }
    }
    return low;
}

/// The bucket of a value of up to 4 bytes.
static uint8_t summary_bucket32(const struct esk_summary_column *column,
                                uint32_t value) {
    uint8_t bytes[4];
    esk_store_u32(bytes, value);
    return summary_bucket(column, bytes);
}

/* ---------------------------------------------------------------- bitmaps */

static uint8_t summary_mask(uint8_t cell) {
    return esk_bit(cell & 7u);
}

/// Whether any bit from low to high is set.
static bool summary_any(const uint8_t *bitmap, uint8_t low, uint8_t high) {
    for (; low <= high; low++) {
        if ((bitmap[low >> 3] & summary_mask(low)) != 0) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------- fold */

/// The values of one column, or its parts of entries: `count` of them, `stride`
/// bytes apart.
struct summary_values {
    const uint8_t *first;
    uint16_t count;
    uint16_t stride;
};

/// Next value of up to 4 bytes that is not a NaN, in order form. False at the
/// end.
static bool summary_next(const struct esk_summary_column *column,
                         struct summary_values *values, uint32_t *order) {
    while (values->count > 0) {
        const uint8_t *value = values->first;
        values->first += values->stride;
        values->count--;
        *order = esk_order_load32(column->type, value);
        if (column->type != ESK_TYPE_F32 || (*order <= UINT32_C(0xFF800000) &&
                                             *order >= UINT32_C(0x007FFFFF))) {
            return true;
        }
    }
    return false;
}

/// The zone of 4-byte integers. `flip` is their sign bit, or 0.
static void summary_zone_of_ints(const struct summary_values *values,
                                 uint32_t flip, uint32_t *least,
                                 uint32_t *most) {
    const uint8_t *value = values->first;
    uint16_t stride = values->stride;
    uint32_t min = *least;
    uint32_t max = *most;
    for (uint16_t i = values->count; i > 0; i--) {
        uint32_t order = esk_load_u32(value) ^ flip;
        if (order < min) {
            min = order;
        }
        if (order > max) {
            max = order;
        }
        value += stride;
    }
    *least = min;
    *most = max;
}

/// The learned cells of 4-byte integers.
static void summary_cells_of_ints(const struct summary_values *values,
                                  const struct summary_grid *grid,
                                  uint32_t base, uint8_t *bitmap) {
    const uint8_t *value = values->first;
    uint16_t stride = values->stride;
    for (uint16_t i = values->count; i > 0; i--) {
        uint8_t cell = summary_cell(grid, esk_load_u32(value) - base);
        bitmap[cell >> 3] |= summary_mask(cell);
        value += stride;
    }
}

/// Fills the empty `part` from values of up to 4 bytes. 4-byte integers, the
/// most common columns, have loops of their own.
static void summary_fold_narrow(const struct esk_summary_column *column,
                                uint8_t *part,
                                const struct summary_values *values) {
    struct summary_values left = *values;
    struct summary_grid grid;
    uint8_t width = column->width;
    uint8_t *bitmap = part + width + width;
    uint32_t order;
    uint32_t min = UINT32_MAX;
    uint32_t max = 0;
    bool is_int = width == 4 && column->type != ESK_TYPE_F32;
    uint32_t flip = column->type == ESK_TYPE_I32 ? UINT32_C(0x80000000) : 0;
    if (is_int) {
        summary_zone_of_ints(values, flip, &min, &max);
    } else {
        while (summary_next(column, &left, &order)) {
            min = order < min ? order : min;
            max = order > max ? order : max;
        }
    }
    if (min > max) {
        return;
    }
    summary_put(part, width, min);
    summary_put(part + width, width, max);
    if (column->bitmap_bits == 0) {
        return;
    }
    summary_fit(&grid, max - min, column->bitmap_bits);
    if (is_int && column->edges == NULL) {
        /* order - min, whether or not the sign bit is flipped in both. */
        summary_cells_of_ints(values, &grid, min ^ flip, bitmap);
        return;
    }
    left = *values;
    while (summary_next(column, &left, &order)) {
        uint8_t cell = column->edges == NULL ? summary_cell(&grid, order - min)
                                             : summary_bucket32(column, order);
        bitmap[cell >> 3] |= summary_mask(cell);
    }
}

/// Fills the empty `part` from values of 8 bytes.
static void summary_fold_wide(const struct esk_summary_column *column,
                              uint8_t *part,
                              const struct summary_values *values) {
    struct summary_number order;
    struct summary_grid grid;
    const uint8_t *value = values->first;
    uint8_t *min = part;
    uint8_t *max = part + SUMMARY_WIDE;
    uint8_t *bitmap = max + SUMMARY_WIDE;
    for (uint16_t i = values->count; i > 0; i--, value += values->stride) {
        if (!esk_order_bytes(column->type, SUMMARY_WIDE, value, order.byte)) {
            continue;
        }
        if (summary_is_below(order.byte, min, SUMMARY_WIDE)) {
            memcpy(min, order.byte, SUMMARY_WIDE);
        }
        if (summary_is_below(max, order.byte, SUMMARY_WIDE)) {
            memcpy(max, order.byte, SUMMARY_WIDE);
        }
    }
    if (column->bitmap_bits == 0 || summary_is_below(max, min, SUMMARY_WIDE)) {
        return;
    }
    summary_fit_zone(&grid, part, column);
    value = values->first;
    for (uint16_t i = values->count; i > 0; i--, value += values->stride) {
        if (esk_order_bytes(column->type, SUMMARY_WIDE, value, order.byte)) {
            uint8_t cell =
                column->edges == NULL
                    ? summary_cell_of(&grid, order.byte, min, SUMMARY_WIDE)
                    : summary_bucket(column, order.byte);
            bitmap[cell >> 3] |= summary_mask(cell);
        }
    }
}

void esk_summary_fold(const struct esk_summary_column *columns, uint8_t count,
                      uint8_t *entry, const uint8_t *rows, uint16_t row_count,
                      uint16_t row_bytes) {
    struct summary_values values = {rows, row_count, row_bytes};
    esk_summary_clear(columns, count, entry);
    for (uint8_t i = 0; i < count; i++) {
        values.first = rows + columns[i].offset;
        if (columns[i].width < SUMMARY_WIDE) {
            summary_fold_narrow(&columns[i], entry, &values);
        } else {
            summary_fold_wide(&columns[i], entry, &values);
        }
        entry += summary_part_bytes(&columns[i]);
    }
}

/* ------------------------------------------------------------------ steps */

static bool summary_is_learned(const struct esk_summary_column *column) {
    return column->bitmap_bits > 0 && column->edges == NULL;
}

/// A step is a zone's step, or a half or a quarter of one where there are more
/// bits: by so many bits it is narrower.
static uint8_t summary_fine(const struct esk_summary_column *column) {
    return (uint8_t)(column->bitmap_bits >> 5);
}

uint16_t esk_summary_steps_bytes(uint8_t bitmap_bits, bool learned) {
    return (uint16_t)(learned ? 1u + (32u << (bitmap_bits >> 5)) : 0u);
}

static uint16_t summary_steps_bytes(const struct esk_summary_column *column) {
    return esk_summary_steps_bytes(column->bitmap_bits,
                                   summary_is_learned(column));
}

/// The low 24 bits of value >> shift, `value` of `width` bytes.
static uint32_t summary_window(const uint8_t *value, uint8_t width,
                               uint8_t shift) {
    uint32_t window = 0;
    uint8_t at = (uint8_t)((shift >> 3) + 4u);
    for (uint8_t i = 4; i > 0; i--) {
        at--;
        window = window << 8 | (at < width ? value[at] : 0u);
    }
    return window >> (shift & 7u);
}

/// The byte of a step, whose number has more bits than there are steps.
static uint8_t *summary_step(const struct esk_summary_column *column,
                             uint8_t *steps, uint32_t step) {
    uint16_t mask = (uint16_t)((256u << summary_fine(column)) - 1u);
    return steps + 1 + (((uint16_t)(step & 0xFFFFu) & mask) >> 3);
}

static void summary_step_set(const struct esk_summary_column *column,
                             uint8_t *steps, uint32_t step) {
    *summary_step(column, steps, step) |= summary_mask((uint8_t)(step & 7u));
}

/// Whether the step `at`, counted from `first`, is set. If it is clear, and all
/// behind it in its byte are, `at` becomes the last one of the byte.
static ESK_OUT_OF_LINE bool
summary_step_skip(const struct esk_summary_column *column, uint8_t *steps,
                  uint16_t first, uint16_t *at) {
    uint16_t step = (uint16_t)(first + *at);
    uint8_t bit = summary_mask((uint8_t)(step & 7u));
    uint8_t byte = *summary_step(column, steps, step);
    if (byte < bit) {
        *at = (uint16_t)(*at + (7u - (step & 7u)));
    }
    return (byte & bit) != 0;
}

/// Makes the steps of the zone `part` as wide as `shift` says.
static void summary_steps_join(const struct esk_summary_column *column,
                               uint8_t *steps, const uint8_t *part,
                               uint8_t shift) {
    uint8_t old[ESK_SUMMARY_STEPS_BYTES_MAX];
    uint8_t width = column->width;
    uint16_t bytes = summary_steps_bytes(column);
    uint32_t step = summary_window(part, width, steps[0]);
    uint8_t by = (uint8_t)(shift - steps[0]);
    memcpy(old, steps, bytes);
    memset(steps, 0, bytes);
    steps[0] = shift;
    /* As many steps as there are, or more, become one: then min's and max's are
       all. */
    uint16_t count = (uint16_t)(8u * bytes - 8u);
    for (uint16_t i = 0; i < count && by < 10; i++) {
        if (summary_step_skip(column, old, (uint16_t)step, &i)) {
            summary_step_set(column, steps, (step + i) >> by);
        }
    }
    /* max may be one step further, whose bit is that of min's. */
    summary_step_set(column, steps, summary_window(part, width, shift));
    summary_step_set(column, steps, summary_window(part + width, width, shift));
}

/// Widens the zone of `part` to `value`.
static void summary_reach_zone(const struct esk_summary_column *column,
                               uint8_t *part, uint8_t *steps,
                               const uint8_t *value) {
    uint8_t width = column->width;
    uint8_t zone[2 * SUMMARY_WIDE];
    bool is_below = summary_is_below(value, part, width);
    bool is_above = summary_is_below(part + width, value, width);
    struct summary_grid grid;
    if (!is_below && !is_above) {
        return;
    }
    memcpy(zone, part, (size_t)width + width);
    if (is_below) {
        memcpy(part, value, width);
    }
    if (is_above) {
        memcpy(part + width, value, width);
    }
    if (!summary_is_learned(column) || (is_below && is_above)) {
        return;
    }
    summary_fit_zone(&grid, part, column);
    uint8_t shift = (uint8_t)(8u * grid.skip + grid.shift);
    uint8_t fine = summary_fine(column);
    if (shift > fine && shift - fine > steps[0]) {
        summary_steps_join(column, steps, zone, (uint8_t)(shift - fine));
    }
}

void esk_summary_begin(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, uint8_t *steps) {
    esk_summary_clear(columns, count, entry);
    for (; count > 0; count--, columns++) {
        uint16_t bytes = summary_steps_bytes(columns);
        memset(steps, 0, bytes);
        steps += bytes;
    }
}

void esk_summary_reach(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, uint8_t *steps, const uint8_t *row) {
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_summary_column *column = &columns[i];
        uint8_t width = column->width;
        struct summary_number order;
        if (esk_order_bytes(column->type, width, row + column->offset,
                            order.byte)) {
            summary_reach_zone(column, entry, steps, order.byte);
            if (summary_is_learned(column)) {
                summary_step_set(column, steps,
                                 summary_window(order.byte, width, steps[0]));
            } else if (column->bitmap_bits > 0) {
                uint8_t cell = summary_bucket(column, order.byte);
                entry[2u * width + (cell >> 3)] |= summary_mask(cell);
            }
        }
        entry += summary_part_bytes(column);
        steps += summary_steps_bytes(column);
    }
}

/// Whether min, of the zone `part`, is behind the begin of its step: then the
/// zone's steps begin within these.
static bool summary_is_within(const uint8_t *part, uint8_t shift) {
    for (; shift >= 8; shift = (uint8_t)(shift - 8u), part++) {
        if (*part != 0) {
            return true;
        }
    }
    return (*part & (summary_mask(shift) - 1u)) != 0;
}

/// Sets the learned cells of `part`, a zone with values, from its steps.
static void summary_cells_set(const struct esk_summary_column *column,
                              uint8_t *part, uint8_t *steps) {
    uint8_t width = column->width;
    uint8_t *bitmap = part + width + width;
    uint16_t step = (uint16_t)summary_window(part, width, steps[0]);
    uint16_t count = (uint16_t)(8u * summary_steps_bytes(column) - 8u);
    bool back = summary_is_within(part, steps[0]);
    struct summary_grid grid;
    summary_fit_zone(&grid, part, column);
    uint8_t fine = (uint8_t)(8u * grid.skip + grid.shift - steps[0]);
    for (uint16_t i = 0; i <= count; i++) {
        if (summary_step_skip(column, steps, step, &i)) {
            uint16_t high = (uint16_t)(i >> fine);
            uint16_t low = (uint16_t)((i - (back && i > 0 ? 1u : 0u)) >> fine);
            high = high < grid.last ? high : grid.last;
            low = low < high ? low : high;
            uint8_t cell = (uint8_t)((uint16_t)(low * grid.scale) >> 8);
            bitmap[cell >> 3] |= summary_mask(cell);
            cell = (uint8_t)((uint16_t)(high * grid.scale) >> 8);
            bitmap[cell >> 3] |= summary_mask(cell);
        }
    }
}

void esk_summary_complete(const struct esk_summary_column *columns,
                          uint8_t count, uint8_t *entry, uint8_t *steps) {
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_summary_column *column = &columns[i];
        uint8_t width = column->width;
        if (summary_is_learned(column) &&
            !summary_is_below(entry + width, entry, width)) {
            summary_cells_set(column, entry, steps);
        }
        entry += summary_part_bytes(column);
        steps += summary_steps_bytes(column);
    }
}

/* ------------------------------------------------------------------ merge */

/// Widens the zone of `part` by that of `other`.
static void summary_merge_zone(uint8_t *part, const uint8_t *other,
                               uint8_t width) {
    if (summary_is_below(other, part, width)) {
        memcpy(part, other, width);
    }
    if (summary_is_below(part + width, other + width, width)) {
        memcpy(part + width, other + width, width);
    }
}

void esk_summary_merge_zones(const struct esk_summary_column *columns,
                             uint8_t count, uint8_t *zones,
                             const uint8_t *entry) {
    for (uint8_t i = 0; i < count; i++) {
        uint8_t width = columns[i].width;
        if (!summary_is_below(entry + width, entry, width)) {
            summary_merge_zone(zones, entry, width);
        }
        zones += width + width;
        entry += summary_part_bytes(&columns[i]);
    }
}

/// Bits of a distance that are below the grid's steps.
static uint8_t summary_shift(const struct summary_grid *grid) {
    return (uint8_t)((uint8_t)(grid->skip << 3) + grid->shift);
}

/// Two grids, and where one is in the other. A *place* is a distance in parts
/// of a step: of 15 bits in a zone, so two of them can be added.
struct summary_overlay {
    struct summary_grid to;
    struct summary_grid from;
    uint16_t start; ///< place of from's min in to
    uint8_t unit;   ///< bits of a distance below a place
    uint8_t carry;  ///< 1: from's min is behind the begin of its place
};

/// The place at which from's step `step` begins, counted from its min, rounded
/// down.
static uint16_t summary_place(const struct summary_overlay *overlay,
                              uint16_t step) {
    uint8_t shift = summary_shift(&overlay->from);
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
    const struct summary_grid *to = &overlay->to;
    uint16_t step =
        (uint16_t)(place >> (uint8_t)(summary_shift(to) - overlay->unit));
    step = step < to->last ? step : to->last;
    return (uint8_t)((uint16_t)(step * to->scale) >> 8);
}

/// The first step of `cell`, or behind the last one.
static uint16_t summary_step_of(const struct summary_grid *grid, uint8_t cell,
                                const struct esk_summary_column *column) {
    uint16_t steps = (uint16_t)(grid->last + 1u);
    uint16_t step = cell;
    if (grid->scale < 256) { /* then a scale may be rounded down */
        step = (uint16_t)(cell * steps);
        for (uint8_t bits = column->bitmap_bits; bits > 1; bits >>= 1) {
            step >>= 1;
        }
    }
    while (step < steps && (uint16_t)(step * grid->scale) >> 8 < cell) {
        step++;
    }
    return step < steps ? step : steps;
}

/// Sets the cells that can have a value of from's steps `first` .. `end` - 1.
static void summary_spread(const struct summary_overlay *overlay,
                           uint16_t first, uint16_t end, uint8_t *bitmap) {
    bool is_whole = summary_shift(&overlay->from) >= overlay->unit;
    uint16_t low = summary_place(overlay, first);
    /* The last place: end's is behind it, or if rounded may be it. */
    uint16_t high = is_whole ? (uint16_t)(summary_place(overlay, end) - 1u)
                             : summary_place(overlay, (uint16_t)(end - 1u));
    uint8_t cell = summary_cell_at(overlay, (uint16_t)(overlay->start + low));
    uint8_t last = summary_cell_at(
        overlay, (uint16_t)(overlay->start + high + overlay->carry));
    for (; cell <= last; cell++) {
        bitmap[cell >> 3] |= summary_mask(cell);
    }
}

/// Adds the learned cells of `other`, whose zone is within that of `part`.
static void summary_add_cells(const struct esk_summary_column *column,
                              uint8_t *part, const uint8_t *other) {
    struct summary_overlay overlay;
    struct summary_number distance;
    uint8_t width = column->width;
    const uint8_t *bits = other + width + width;
    summary_fit_zone(&overlay.to, part, column);
    summary_fit_zone(&overlay.from, other, column);
    uint8_t shift = summary_shift(&overlay.to);
    overlay.unit = (uint8_t)(shift > 7 ? shift - 7u : 0u);
    summary_subtract(&distance, other, part, width);
    overlay.start =
        (uint16_t)(summary_window(distance.byte, width, overlay.unit) &
                   0xFFFFu);
    overlay.carry = summary_is_within(distance.byte, overlay.unit);
    uint8_t first = 0;
    bool was_set = false;
    for (uint8_t cell = 0; cell <= column->bitmap_bits; cell++) {
        bool is_set = cell < column->bitmap_bits &&
                      (bits[cell >> 3] & summary_mask(cell)) != 0;
        if (is_set && !was_set) {
            first = cell;
        } else if (was_set && !is_set) {
            summary_spread(&overlay,
                           summary_step_of(&overlay.from, first, column),
                           summary_step_of(&overlay.from, cell, column),
                           part + width + width);
        }
        was_set = is_set;
    }
}

/// Widens the zone of `part` by that of `other`, and adds its learned cells.
static void summary_merge_cells(const struct esk_summary_column *column,
                                uint8_t *part, const uint8_t *other) {
    uint8_t old[3 * SUMMARY_WIDE];
    uint8_t zone = (uint8_t)(column->width << 1);
    memcpy(old, part, summary_part_bytes(column));
    summary_merge_zone(part, other, column->width);
    if (memcmp(old, part, zone) != 0) {
        memset(part + zone, 0, summary_bitmap_bytes(column));
        summary_add_cells(column, part, old);
    }
    if (!esk_bytes_are(part + zone, summary_bitmap_bytes(column), UINT8_MAX)) {
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
                                const struct summary_values *others) {
    const uint8_t *other = others->first;
    uint16_t stride = others->stride;
    uint8_t bytes = summary_bitmap_bytes(column);
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
    if (summary_is_below(other + width, other, width)) {
        return;
    }
    if (summary_is_below(part + width, part, width)) {
        memcpy(part, other, summary_part_bytes(column));
    } else if (summary_is_learned(column) && memcmp(part, other, zone) != 0) {
        summary_merge_cells(column, part, other);
    } else {
        summary_merge_zone(part, other, width);
        summary_merge_bits(part + zone, other + zone,
                           summary_bitmap_bytes(column));
    }
}

void esk_summary_merge(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, const uint8_t *others,
                       uint16_t other_count, uint16_t entry_bytes) {
    for (uint8_t i = 0; i < count; i++) {
        struct summary_values left = {others, other_count, entry_bytes};
        if (ESK_FAST && columns[i].width == 4 &&
            !summary_is_learned(&columns[i])) {
            summary_merge_words(&columns[i], entry, &left);
            left.count = 0;
        }
        for (; left.count > 0; left.count--, left.first += entry_bytes) {
            summary_merge_part(&columns[i], entry, left.first);
        }
        entry += summary_part_bytes(&columns[i]);
        others += summary_part_bytes(&columns[i]);
    }
}

/* ------------------------------------------------------------------ match */

/// Whether no row of `part` can be within `range`. Compares bytes for every
/// width: the first one that differs decides, most often the highest.
static bool summary_excludes(const struct esk_summary_column *column,
                             const uint8_t *part,
                             const struct esk_summary_range *range) {
    struct summary_number first;
    struct summary_number last;
    const uint8_t *lo = first.byte;
    const uint8_t *hi = last.byte;
    uint8_t width = column->width;
    const uint8_t *min = part;
    const uint8_t *max = part + width;
    uint8_t low;
    uint8_t high;
    esk_store_u64(first.byte, range->lo);
    esk_store_u64(last.byte, range->hi);
    if (summary_is_below(max, lo, width) || summary_is_below(hi, min, width) ||
        summary_is_below(max, min, width)) {
        return true;
    }
    if (column->bitmap_bits == 0) {
        return false;
    }
    lo = summary_is_below(lo, min, width) ? min : lo;
    hi = summary_is_below(max, hi, width) ? max : hi;
    if (column->edges != NULL) {
        low = summary_bucket(column, lo);
        high = summary_bucket(column, hi);
    } else {
        struct summary_grid grid;
        summary_fit_zone(&grid, part, column);
        low = summary_cell_of(&grid, lo, min, width);
        high = summary_cell_of(&grid, hi, min, width);
    }
    return !summary_any(max + width, low, high);
}

uint64_t esk_summary_matches(const struct esk_summary_column *columns,
                             const uint8_t *entries, uint16_t entry_bytes,
                             uint16_t count,
                             const struct esk_summary_range *range) {
    uint8_t bits[8] = {0};
    uint8_t *byte = bits;
    uint8_t bit = 1;
    uint32_t lo = (uint32_t)range->lo;
    uint32_t hi = (uint32_t)range->hi;
    for (uint8_t i = range->index; i > 0; i--) {
        entries += summary_part_bytes(columns);
        columns++;
    }
    bool narrow = columns->width == 4;
    for (; count > 0; count--, entries += entry_bytes) {
        /* Most entries of most columns end here. */
        bool outside = narrow && (esk_load_u32(entries + 4) < lo ||
                                  esk_load_u32(entries) > hi);
        if (!outside && !summary_excludes(columns, entries, range)) {
            *byte |= bit;
        }
        bit = (uint8_t)(bit << 1);
        if (bit == 0) {
            bit = 1;
            byte++;
        }
    }
    return esk_load_u64(bits);
}

uint64_t esk_summary_within(const struct esk_summary_column *columns,
                            const uint8_t *entries, uint16_t entry_bytes,
                            uint16_t count,
                            const struct esk_summary_range *range) {
    uint8_t lo[SUMMARY_WIDE];
    uint8_t hi[SUMMARY_WIDE];
    uint8_t bits[8] = {0};
    for (uint8_t i = range->index; i > 0; i--) {
        entries += summary_part_bytes(columns);
        columns++;
    }
    uint8_t width = columns->width;
    esk_store_u64(lo, range->lo);
    esk_store_u64(hi, range->hi);
    for (uint8_t i = 0; i < count; i++, entries += entry_bytes) {
        const uint8_t *max = entries + width;
        if (!summary_is_below(entries, lo, width) &&
            !summary_is_below(hi, max, width) &&
            !summary_is_below(max, entries, width)) {
            bits[i >> 3] |= summary_mask(i);
        }
    }
    return esk_load_u64(bits);
}
