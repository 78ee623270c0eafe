// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "index/summary/summary_cells.h"

void esk_summary_subtract(struct esk_summary_number *out, const uint8_t *a,
                          const uint8_t *b, uint8_t width) {
    uint8_t borrow = 0;
    memset(out, 0, sizeof *out);
    for (uint8_t i = 0; i < width; i++) {
        uint16_t part = (uint16_t)((uint16_t)a[i] - b[i] - borrow);
        out->byte[i] = (uint8_t)(part & 0xFFu);
        borrow = (uint8_t)((part >> 8) & 1u);
    }
}

void esk_summary_fit(struct esk_summary_grid *grid, uint32_t span,
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

void esk_summary_fit_zone(struct esk_summary_grid *grid, const uint8_t *part,
                          const struct esk_summary_column *column) {
    struct esk_summary_number span;
    uint8_t skip = ESK_SUMMARY_WIDE - 4;
    if (ESK_FAST && column->width == 4) {
        esk_summary_fit(grid, esk_load_u32(part + 4) - esk_load_u32(part),
                        column->bitmap_bits);
        return;
    }
    esk_summary_subtract(&span, part + column->width, part, column->width);
    while (skip > 0 && span.byte[skip + 3] == 0) {
        skip--;
    }
    esk_summary_fit(grid, esk_load_u32(&span.byte[skip]), column->bitmap_bits);
    grid->skip = skip;
}

uint8_t esk_summary_cell_of(const struct esk_summary_grid *grid,
                            const uint8_t *value, const uint8_t *min,
                            uint8_t width) {
    struct esk_summary_number distance;
    esk_summary_subtract(&distance, value, min, width);
    return esk_summary_cell(grid, esk_load_u32(&distance.byte[grid->skip]));
}

uint8_t esk_summary_bucket(const struct esk_summary_column *column,
                           const uint8_t *value) {
    uint8_t low = 0;
    uint8_t high = column->edge_count;
    while (low < high) {
        uint8_t middle = (uint8_t)((uint8_t)(low + high) >> 1);
        const uint8_t *edge = column->edges + (uint16_t)middle * column->width;
        if (esk_summary_is_below(value, edge, column->width)) {
            high = middle;
        } else {
            low = (uint8_t)(middle + 1u);
        }
    }
    return low;
}

uint32_t esk_summary_window(const uint8_t *value, uint8_t width,
                            uint8_t shift) {
    uint32_t window = 0;
    uint8_t at = (uint8_t)((shift >> 3) + 4u);
    for (uint8_t i = 4; i > 0; i--) {
        at--;
        window = window << 8 | (at < width ? value[at] : 0u);
    }
    return window >> (shift & 7u);
}

bool esk_summary_is_within(const uint8_t *part, uint8_t shift) {
    for (; shift >= 8; shift = (uint8_t)(shift - 8u), part++) {
        if (*part != 0) {
            return true;
        }
    }
    return (*part & (esk_summary_mask(shift) - 1u)) != 0;
}

/// The first cell from `cell` on whose bit is not that of `byte`; `end`.
static uint8_t summary_other_than(const uint8_t *bitmap, uint8_t byte,
                                  uint8_t cell, uint8_t end) {
    while (cell < end) {
        uint8_t rest = (uint8_t)((bitmap[cell >> 3] ^ byte) >> (cell & 7u));
        if (rest != 0) {
            for (; (rest & 1u) == 0; rest = (uint8_t)(rest >> 1)) {
                cell++;
            }
            break;
        }
        cell = (uint8_t)((cell | 7u) + 1u);
    }
    return cell < end ? cell : end;
}

uint8_t esk_summary_set_from(const uint8_t *bitmap, uint8_t cell, uint8_t end) {
    return summary_other_than(bitmap, 0, cell, end);
}

uint8_t esk_summary_clear_from(const uint8_t *bitmap, uint8_t cell,
                               uint8_t end) {
    return summary_other_than(bitmap, UINT8_MAX, cell, end);
}
