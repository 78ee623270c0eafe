// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The learned cells of an entry's column, and the numbers they are made from.
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
/// The grid works on 32 bits: for a wider span, on the top four bytes. Numbers
/// are compared and subtracted as byte strings: 64-bit integers would make the
/// code three times as large on an 8-bit chip.
///
/// Private to this folder.
#ifndef ESK_INDEX_SUMMARY_CELLS_H
#define ESK_INDEX_SUMMARY_CELLS_H

#include "base/bytes.h"
#include "base/inline.h"
#include "index/summary/summary.h"

enum { ESK_SUMMARY_WIDE = 8 };

/// An 8-byte number in order form, least significant byte first.
struct esk_summary_number {
    uint8_t byte[ESK_SUMMARY_WIDE];
};

/// The learned cells of one entry's column.
struct esk_summary_grid {
    uint8_t skip; ///< bytes of an 8-byte distance below the grid's 32 bits
    uint8_t shift;
    uint8_t last;   ///< the step of max
    uint16_t scale; ///< cells a step, in 1/256
};

/// The values of one column, or its parts of entries: `count` of them, `stride`
/// bytes apart.
struct esk_summary_values {
    const uint8_t *first;
    uint16_t count;
    uint16_t stride;
};

static inline uint8_t
esk_summary_bitmap_bytes(const struct esk_summary_column *column) {
    return (uint8_t)(column->bitmap_bits >> 3);
}

static inline uint8_t
esk_summary_part_bytes(const struct esk_summary_column *column) {
    return (uint8_t)((uint8_t)(column->width << 1) +
                     esk_summary_bitmap_bytes(column));
}

static inline uint8_t esk_summary_mask(uint8_t cell) {
    return esk_bit(cell & 7u);
}

static inline bool
esk_summary_is_learned(const struct esk_summary_column *column) {
    return column->bitmap_bits > 0 && column->edges == NULL;
}

static inline bool esk_summary_is_below(const uint8_t *a, const uint8_t *b,
                                        uint8_t width) {
    if (ESK_HOST && width == 4) {
        return esk_load_u32(a) < esk_load_u32(b);
    }
    while (width > 0) {
        width--;
        if (a[width] != b[width]) {
            return a[width] < b[width];
        }
    }
    return false;
}

/// out = a - b of `width` bytes, a >= b.
void esk_summary_subtract(struct esk_summary_number *out, const uint8_t *a,
                          const uint8_t *b, uint8_t width);

/// Fits the grid to a span of max - min; `bits` is the bitmap's size.
void esk_summary_fit(struct esk_summary_grid *grid, uint32_t span,
                     uint8_t bits);

/// Fits the grid to the zone of `part`.
void esk_summary_fit_zone(struct esk_summary_grid *grid, const uint8_t *part,
                          const struct esk_summary_column *column);

/// Bits of a distance that are below the grid's steps.
static inline uint8_t esk_summary_shift(const struct esk_summary_grid *grid) {
    return (uint8_t)((uint8_t)(grid->skip << 3) + grid->shift);
}

/// The cell of the value `distance` above min; distance <= max - min.
static inline uint8_t esk_summary_cell(const struct esk_summary_grid *grid,
                                       uint32_t distance) {
    uint8_t step = esk_byte_from(distance, grid->shift);
    return (uint8_t)((uint16_t)(step * grid->scale) >> 8);
}

/// The cell of `value`, of any width, in the zone that starts at `min`.
uint8_t esk_summary_cell_of(const struct esk_summary_grid *grid,
                            const uint8_t *value, const uint8_t *min,
                            uint8_t width);

/// The bucket of `value`: how many edges are <= it.
uint8_t esk_summary_bucket(const struct esk_summary_column *column,
                           const uint8_t *value);

/// The low 24 bits of value >> shift, `value` of `width` bytes.
uint32_t esk_summary_window(const uint8_t *value, uint8_t width, uint8_t shift);

/// Whether the value at `part` has a bit below `shift`: as a zone's min it is
/// then behind the begin of its step.
bool esk_summary_is_within(const uint8_t *part, uint8_t shift);

/// The first cell from `cell` on that is set, or clear; `end` if none is before
/// it.
uint8_t esk_summary_set_from(const uint8_t *bitmap, uint8_t cell, uint8_t end);
uint8_t esk_summary_clear_from(const uint8_t *bitmap, uint8_t cell,
                               uint8_t end);

#endif
