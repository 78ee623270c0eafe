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
///     cell(lo) to cell(hi) hold every value in lo..hi.
///  2. Cells follow from min and max alone: who reads an entry and who made
///     it compute the same ones.
///
/// Numbers are byte strings of the column's width, least significant byte
/// first, and are compared, subtracted and shifted as such: one code for
/// every width. 64-bit integers would make this file four times as large on
/// an 8-bit chip. Only the zone check, which every entry that a query passes
/// goes through, has a path of its own for up to 4 bytes.

#include "index/summary/summary.h"

#include "base/bytes.h"
#include "base/order.h"

enum { SUMMARY_WIDTH_MAX = 8 };

/// A number of `width` bytes; differences have a zero byte above them.
struct summary_number {
    uint8_t byte[SUMMARY_WIDTH_MAX + 1];
};

/// The learned cells of one entry's column.
struct summary_grid {
    const uint8_t *min;
    uint8_t skip;   ///< whole bytes of the shift
    uint8_t shift;  ///< bits of the shift, 0..7
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

/// Sets min to `min` in every byte, and max and bitmap to its opposite.
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

void esk_summary_clear(const struct esk_summary_column *columns,
                       uint8_t count, uint8_t *entry) {
    summary_fill(columns, count, entry, 0xFF);
}

void esk_summary_widen(const struct esk_summary_column *columns,
                       uint8_t count, uint8_t *entry) {
    summary_fill(columns, count, entry, 0);
}

/* ---------------------------------------------------------------- numbers */

static void summary_put(struct summary_number *number, uint64_t value) {
    for (uint8_t i = 0; i < SUMMARY_WIDTH_MAX; i++) {
        number->byte[i] = (uint8_t)(value & 0xFFu);
        value >>= 8;
    }
}

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

/// out = a - b, a >= b, with a zero byte above it.
static void summary_subtract(struct summary_number *out, const uint8_t *a,
                             const uint8_t *b, uint8_t width) {
    uint8_t borrow = 0;
    for (uint8_t i = 0; i < width; i++) {
        uint16_t part = (uint16_t)((uint16_t)a[i] - b[i] - borrow);
        out->byte[i] = (uint8_t)(part & 0xFFu);
        borrow = (uint8_t)((part >> 8) & 1u);
    }
    out->byte[width] = 0;
}

/// Bits 8 * skip + shift and up, 8 of them.
static uint8_t summary_window(const struct summary_number *number,
                              uint8_t skip, uint8_t shift) {
    uint16_t pair = esk_load_u16(&number->byte[skip]);
    return (uint8_t)((uint16_t)(pair >> shift) & 0xFFu);
}

/* ------------------------------------------------------------------ cells */

/// Fits the grid to min..max; `bits` is the bitmap's size.
static void summary_fit(struct summary_grid *grid, const uint8_t *min,
                        const uint8_t *max, uint8_t width, uint8_t bits) {
    struct summary_number span = {{0}};
    uint8_t top = (uint8_t)(width - 1u);
    summary_subtract(&span, max, min, width);
    while (top > 0 && span.byte[top] == 0) {
        top--;
    }
    grid->min = min;
    grid->skip = top;
    grid->shift = 0;
    if (top > 0) {
        /* The top byte's own bits, 1 to 8 of them, leave the window. */
        grid->skip = (uint8_t)(top - 1u);
        for (uint8_t rest = span.byte[top]; rest != 0; rest >>= 1) {
            grid->shift++;
        }
    }
    grid->last = summary_window(&span, grid->skip, grid->shift);
    grid->scale = 256;
    if (grid->last >= bits) {
        grid->scale =
            (uint16_t)(((uint16_t)bits << 8) / (uint16_t)(grid->last + 1u));
    }
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

/// The bit of a value between the grid's min and max.
static uint8_t summary_cell(const struct esk_summary_column *column,
                            const struct summary_grid *grid,
                            const uint8_t *value) {
    if (column->edges != NULL) {
        return summary_bucket(column, value);
    }
    struct summary_number distance = {{0}};
    summary_subtract(&distance, value, grid->min, column->width);
    uint8_t step = summary_window(&distance, grid->skip, grid->shift);
    return (uint8_t)((uint16_t)(step * grid->scale) >> 8);
}

/* ---------------------------------------------------------------- bitmaps */

static uint8_t summary_mask(uint8_t cell) {
    return (uint8_t)(1u << (cell & 7u));
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

/// Widens the empty `part` to the values; false when there is none.
static bool summary_fold_zone(const struct esk_summary_column *column,
                              uint8_t *part, const uint8_t *value,
                              uint16_t row_count, uint16_t row_bytes) {
    struct summary_number order;
    uint8_t width = column->width;
    uint8_t *min = part;
    uint8_t *max = part + width;
    for (; row_count > 0; row_count--, value += row_bytes) {
        if (!esk_order_bytes(column->type, width, value, order.byte)) {
            continue;
        }
        if (summary_is_below(order.byte, min, width)) {
            memcpy(min, order.byte, width);
        }
        if (summary_is_below(max, order.byte, width)) {
            memcpy(max, order.byte, width);
        }
    }
    return !summary_is_below(max, min, width);
}

static void summary_fold_bitmap(const struct esk_summary_column *column,
                                uint8_t *part, const uint8_t *value,
                                uint16_t row_count, uint16_t row_bytes) {
    struct summary_number order;
    struct summary_grid grid;
    uint8_t width = column->width;
    uint8_t *bitmap = part + width + width;
    summary_fit(&grid, part, part + width, width, column->bitmap_bits);
    for (; row_count > 0; row_count--, value += row_bytes) {
        if (esk_order_bytes(column->type, width, value, order.byte)) {
            uint8_t cell = summary_cell(column, &grid, order.byte);
            bitmap[cell >> 3] |= summary_mask(cell);
        }
    }
}

void esk_summary_fold(const struct esk_summary_column *columns, uint8_t count,
                      uint8_t *entry, const uint8_t *rows, uint16_t row_count,
                      uint16_t row_bytes) {
    esk_summary_clear(columns, count, entry);
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_summary_column *column = &columns[i];
        const uint8_t *value = rows + column->offset;
        if (summary_fold_zone(column, entry, value, row_count, row_bytes) &&
            column->bitmap_bits != 0) {
            summary_fold_bitmap(column, entry, value, row_count, row_bytes);
        }
        entry += summary_part_bytes(column);
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

static void summary_merge_part(const struct esk_summary_column *column,
                               uint8_t *part, const uint8_t *other) {
    uint8_t width = column->width;
    uint8_t bytes = summary_part_bytes(column);
    if (summary_is_below(other + width, other, width)) {
        return;
    }
    if (summary_is_below(part + width, part, width)) {
        memcpy(part, other, bytes);
        return;
    }
    /* Cells follow from the zone: those of another zone mean nothing here. */
    bool is_same = memcmp(part, other, (size_t)width + width) == 0;
    summary_merge_zone(part, other, width);
    for (uint8_t i = (uint8_t)(width + width); i < bytes; i++) {
        uint8_t bits = is_same || column->edges != NULL ? other[i] : 0xFF;
        part[i] |= bits;
    }
}

void esk_summary_merge(const struct esk_summary_column *columns,
                       uint8_t count, uint8_t *entry, const uint8_t *other) {
    for (uint8_t i = 0; i < count; i++) {
        uint8_t bytes = summary_part_bytes(&columns[i]);
        summary_merge_part(&columns[i], entry, other);
        entry += bytes;
        other += bytes;
    }
}

/* ------------------------------------------------------------------ match */

/// Whether no value of the entry lies in lo..hi.
static bool summary_excludes(const struct esk_summary_column *column,
                             const uint8_t *part, const uint8_t *lo,
                             const uint8_t *hi) {
    uint8_t width = column->width;
    const uint8_t *min = part;
    const uint8_t *max = part + width;
    struct summary_grid grid;
    if (summary_is_below(max, min, width) ||
        summary_is_below(max, lo, width) ||
        summary_is_below(hi, min, width)) {
        return true;
    }
    if (column->bitmap_bits == 0) {
        return false;
    }
    summary_fit(&grid, min, max, width, column->bitmap_bits);
    lo = summary_is_below(lo, min, width) ? min : lo;
    hi = summary_is_below(max, hi, width) ? max : hi;
    return !summary_any(max + width, summary_cell(column, &grid, lo),
                        summary_cell(column, &grid, hi));
}

/// The zone check of up to 4 bytes in 32-bit arithmetic: it dismisses most
/// entries of a query at a third of the cost.
static bool summary_zone_excludes32(const struct esk_summary_column *column,
                                    const uint8_t *part, uint32_t lo,
                                    uint32_t hi) {
    return column->width == 4 &&
           (esk_load_u32(part) > hi || esk_load_u32(part + 4) < lo);
}

bool esk_summary_may_match(const struct esk_summary_column *columns,
                           uint8_t count, const uint8_t *entry,
                           const struct esk_summary_range *ranges,
                           uint8_t range_count) {
    struct summary_number lo;
    struct summary_number hi;
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_summary_column *column = &columns[i];
        for (uint8_t j = 0; j < range_count; j++) {
            const struct esk_summary_range *range = &ranges[j];
            if (range->index != i) {
                continue;
            }
            if (summary_zone_excludes32(column, entry, (uint32_t)range->lo,
                                        (uint32_t)range->hi)) {
                return false;
            }
            summary_put(&lo, range->lo);
            summary_put(&hi, range->hi);
            if (summary_excludes(column, entry, lo.byte, hi.byte)) {
                return false;
            }
        }
        entry += summary_part_bytes(column);
    }
    return true;
}
