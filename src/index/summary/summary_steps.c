// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An entry of rows that come one after another: learned cells from steps.

#include "index/summary/summary_cells.h"

#include "base/inline.h"
#include "base/order.h"

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
                                   esk_summary_is_learned(column));
}

/// The byte of a step, whose number has more bits than there are steps.
static uint8_t *summary_step(const struct esk_summary_column *column,
                             uint8_t *steps, uint32_t step) {
    uint16_t mask = (uint16_t)((256u << summary_fine(column)) - 1u);
    return steps + 1 + (((uint16_t)(step & 0xFFFFu) & mask) >> 3);
}

static void summary_step_set(const struct esk_summary_column *column,
                             uint8_t *steps, uint32_t step) {
    *summary_step(column, steps, step) |=
        esk_summary_mask((uint8_t)(step & 7u));
}

/// Whether the step `at`, counted from `first`, is set. If it is clear, and all
/// behind it in its byte are, `at` becomes the last one of the byte.
static ESK_OUT_OF_LINE bool
summary_step_skip(const struct esk_summary_column *column, uint8_t *steps,
                  uint16_t first, uint16_t *at) {
    uint16_t step = (uint16_t)(first + *at);
    uint8_t bit = esk_summary_mask((uint8_t)(step & 7u));
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
    uint32_t step = esk_summary_window(part, width, steps[0]);
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
    summary_step_set(column, steps, esk_summary_window(part, width, shift));
    summary_step_set(column, steps,
                     esk_summary_window(part + width, width, shift));
}

/// Widens the zone of `part` to `value`.
static void summary_reach_zone(const struct esk_summary_column *column,
                               uint8_t *part, uint8_t *steps,
                               const uint8_t *value) {
    uint8_t width = column->width;
    uint8_t zone[2 * ESK_SUMMARY_WIDE];
    bool is_below = esk_summary_is_below(value, part, width);
    bool is_above = esk_summary_is_below(part + width, value, width);
    struct esk_summary_grid grid;
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
    if (!esk_summary_is_learned(column) || (is_below && is_above)) {
        return;
    }
    esk_summary_fit_zone(&grid, part, column);
    uint8_t shift = esk_summary_shift(&grid);
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
        struct esk_summary_number order;
        if (esk_order_bytes(column->type, width, row + column->offset,
                            order.byte)) {
            summary_reach_zone(column, entry, steps, order.byte);
            if (esk_summary_is_learned(column)) {
                summary_step_set(
                    column, steps,
                    esk_summary_window(order.byte, width, steps[0]));
            } else if (column->bitmap_bits > 0) {
                uint8_t cell = esk_summary_bucket(column, order.byte);
                entry[2u * width + (cell >> 3)] |= esk_summary_mask(cell);
            }
        }
        entry += esk_summary_part_bytes(column);
        steps += summary_steps_bytes(column);
    }
}

/// Sets the learned cells of `part`, a zone with values, from its steps.
static void summary_cells_set(const struct esk_summary_column *column,
                              uint8_t *part, uint8_t *steps) {
    uint8_t width = column->width;
    uint8_t *bitmap = part + width + width;
    uint16_t step = (uint16_t)esk_summary_window(part, width, steps[0]);
    uint16_t count = (uint16_t)(8u * summary_steps_bytes(column) - 8u);
    /* The zone's steps begin within these. */
    bool back = esk_summary_is_within(part, steps[0]);
    struct esk_summary_grid grid;
    esk_summary_fit_zone(&grid, part, column);
    uint8_t fine = (uint8_t)(esk_summary_shift(&grid) - steps[0]);
    for (uint16_t i = 0; i <= count; i++) {
        if (summary_step_skip(column, steps, step, &i)) {
            uint16_t high = (uint16_t)(i >> fine);
            uint16_t low = (uint16_t)((i - (back && i > 0 ? 1u : 0u)) >> fine);
            high = high < grid.last ? high : grid.last;
            low = low < high ? low : high;
            uint8_t cell = (uint8_t)((uint16_t)(low * grid.scale) >> 8);
            bitmap[cell >> 3] |= esk_summary_mask(cell);
            cell = (uint8_t)((uint16_t)(high * grid.scale) >> 8);
            bitmap[cell >> 3] |= esk_summary_mask(cell);
        }
    }
}

void esk_summary_complete(const struct esk_summary_column *columns,
                          uint8_t count, uint8_t *entry, uint8_t *steps) {
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_summary_column *column = &columns[i];
        uint8_t width = column->width;
        if (esk_summary_is_learned(column) &&
            !esk_summary_is_below(entry + width, entry, width)) {
            summary_cells_set(column, entry, steps);
        }
        entry += esk_summary_part_bytes(column);
        steps += summary_steps_bytes(column);
    }
}
