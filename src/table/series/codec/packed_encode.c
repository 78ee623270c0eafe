// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writing packed pages.
///
/// A row is written in one pass, behind the bits that are there. If it turns
/// out not to fit, or to be longer than the row itself, place, byte and scales
/// are taken back: then the row begins the next cell, or is written whole.
/// Writing stops at the last byte of the cell, which is never used, so that no
/// bit is tested for room.
///
/// If a cell's rows do not shrink, the rest of them is whole, and a cell that
/// follows such a cell can be whole from its second row on.
///
/// Invariant: where `bit` is above 0, the bits of the byte at `at` from `bit`
/// on are zero, and so is the byte after it.
///
/// Cost: docs/results/packed.md has the cycles; 65 bytes of stack for scales.
#include "table/series/codec/packed_state.h"

enum {
    QUIET_BELOW = 4, ///< scale of a field that begins a cell quiet
    SAVED_START = 5, ///< what the first rows of a cell may lose
    MARK_BYTES = 3,  ///< of a whole row, at most
    MARK_BITS = ESK_PACKED_LENGTH_BITS + 1,
    MARK_REST = ESK_PACKED_MARK_ROW | 1u << ESK_PACKED_LENGTH_BITS,
};

/// Where the next bit goes. The byte before `end` is the last that is used.
struct pen {
    uint8_t *at;
    uint8_t *end;
    uint8_t bit;
};

/// Writes `zeros` zeros, at most 8, and the `count` bits of `value`, at most 8.
static ESK_OUT_OF_LINE void pen_put(struct pen *pen, uint8_t value,
                                    uint8_t count, uint8_t zeros) {
    uint8_t *at = pen->at;
    uint8_t bit = (uint8_t)(pen->bit + zeros);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        at += at != pen->end ? 1 : 0;
        *at = 0;
    }
    uint16_t wide = (uint16_t)(value * (uint16_t)esk_bit(bit));
    *at = (uint8_t)(*at | (wide & UINT8_MAX));
    bit = (uint8_t)(bit + count);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        at += at != pen->end ? 1 : 0;
        *at = (uint8_t)(wide >> 8);
    }
    pen->at = at;
    pen->bit = bit;
}

/// Writes `zeros` zeros and the low `count` bits of `value`.
static ESK_OUT_OF_LINE void pen_put_word(struct pen *pen, uint32_t value,
                                         uint8_t count, uint8_t zeros) {
    while (count > 8) {
        pen_put(pen, (uint8_t)(value & UINT8_MAX), 8, zeros);
        value >>= 8;
        count = (uint8_t)(count - 8u);
        zeros = 0;
    }
    pen_put(pen, (uint8_t)(value & (uint8_t)(esk_bit(count) - 1u)), count,
            zeros);
}

/// Writes `change` and sets the field's scale.
static ESK_OUT_OF_LINE void code_put(struct pen *pen, uint32_t change,
                                     uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    /* Small changes before large, at the bottom the sign. */
    bool minus = (change & ESK_ORDER_WORD_SIGN) != 0;
    change <<= 1;
    change = minus ? ~change : change;
    uint32_t high = change;
    uint8_t shift = low;
    for (; shift >= 8; shift = (uint8_t)(shift - 8u)) {
        high >>= 8;
    }
    high >>= shift;
    uint8_t zeros = ESK_PACKED_ZEROS;
    if (high < ESK_PACKED_ZEROS) {
        zeros = (uint8_t)high;
        change = change << 1 | 1u;
        low++;
    } else {
        uint8_t length = 0;
        while (high > 1) {
            high >>= 1;
            length++;
        }
        pen_put(pen, length, ESK_PACKED_LENGTH_BITS, ESK_PACKED_ZEROS);
        low = (uint8_t)(low + length);
    }
    esk_packed_adapt(scale, zeros);
    zeros = zeros < ESK_PACKED_ZEROS ? zeros : 0;
    if (low <= 8) { /* no call in between: most changes are small */
        pen_put(pen, (uint8_t)(change & (uint8_t)(esk_bit(low) - 1u)), low,
                zeros);
    } else {
        pen_put_word(pen, change, low, zeros);
    }
}

/// What is known of a value that is no word.
struct value {
    const struct esk_packed *packed;
    uint32_t number; ///< its low word; of a float, its form
    bool bare;       ///< it is no decimal: it is written as it is
    bool wide;       ///< a change does not fit: the row is written whole
};

/// Not an initializer: it would clear the number as well.
static inline void value_begin(struct value *value,
                               const struct esk_packed *packed) {
    value->packed = packed;
    value->bare = false;
    value->wide = false;
}

/// The change from the value before, at `part` + 1, to the value at `from`.
static ESK_OUT_OF_LINE uint32_t
value_change(struct value *value, const struct esk_packed_field *field,
             const uint8_t *from, const uint8_t *part) {
    uint16_t bytes = field->bytes;
    part++;
    value->bare = false;
    if (field->mode == ESK_PACKED_RAW) {
        return !esk_bytes_equal(from, part, bytes);
    }
    value->number = esk_packed_load(from, bytes);
    if (field->mode >= ESK_PACKED_FLOAT) {
        value->bare = !esk_packed_form(value->packed, field->mode,
                                       value->number, &value->number);
    }
    uint32_t change = value->number - esk_packed_load(part, bytes);
    if (bytes == 1) {
        return (uint32_t)(int32_t)(int8_t)(uint8_t)change;
    }
    if (bytes == 2) {
        return (uint32_t)(int32_t)(int16_t)(uint16_t)change;
    }
    if (bytes == 8 && esk_packed_high(part, change) != esk_load_u32(from + 4)) {
        value->wide = true;
    }
    return change;
}

/// The change of a word, which is made that of the row before.
static inline uint32_t word_change(const uint8_t *from, uint8_t *part) {
    uint32_t number = esk_load_u32(from);
    uint32_t change = number - esk_load_u32(part + 1);
    esk_store_u32_here(part + 1, number);
    return change;
}

/// Makes the value at `from` that of the row before.
static void value_keep(const struct value *value,
                       const struct esk_packed_field *field,
                       const uint8_t *from, uint8_t *part) {
    if (field->mode < ESK_PACKED_FLOAT) {
        esk_bytes_copy(part + 1, from, field->bytes);
    } else {
        esk_store_u32(part + 1, value->number);
    }
}

/// Whether every quiet field of `row` is as predicted.
static bool is_silent(const struct esk_packed *packed,
                      struct esk_packed_state *state, const uint8_t *row) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    struct value value;
    value_begin(&value, packed);
    for (uint8_t left = packed->field_count; left > 0; left--) {
        uint8_t *next = packed_part_next(field, part);
        if ((*part & PACKED_IS_QUIET) != 0) {
            uint32_t step =
                field->mode == ESK_PACKED_LINEAR ? esk_load_u32(next - 4) : 0;
            const uint8_t *from = row + field->offset;
            uint32_t change = field->is_word
                                  ? esk_load_u32(from) - esk_load_u32(part + 1)
                                  : value_change(&value, field, from, part);
            if (change != step || value.bare || value.wide) {
                return false;
            }
        }
        part = next;
        field++;
    }
    return true;
}

/// Writes the value of a field that is no word.
static void value_put(struct pen *pen, const struct esk_packed_field *field,
                      const uint8_t *from, uint8_t *part, uint32_t change) {
    if (field->mode == ESK_PACKED_RAW) {
        bool changed = change != 0;
        pen_put(pen, changed ? 0 : 1, 1, 0);
        esk_packed_adapt(part, changed ? ESK_PACKED_ZEROS : 0);
        for (uint16_t left = changed ? field->bytes : 0; left > 0; left--) {
            pen_put(pen, *from++, 8, 0);
        }
    } else {
        pen_put(pen, ESK_PACKED_MARK_VALUE, ESK_PACKED_LENGTH_BITS,
                ESK_PACKED_ZEROS);
        pen_put_word(pen, esk_load_u32(from), 32, 0);
    }
}

/// Writes the fields of `row`, those that are not quiet if `silent`, and makes
/// their values those of the row before. Returns false when a change is too
/// wide: then the row is to be written whole.
static bool fields_put(const struct esk_packed *packed,
                       struct esk_packed_state *state, const uint8_t *row,
                       struct pen *pen, bool silent) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    struct value value;
    value_begin(&value, packed);
    for (uint8_t left = packed->field_count; left > 0; left--) {
        const uint8_t *from = row + field->offset;
        uint8_t *next = packed_part_next(field, part);
        if (silent && (*part & PACKED_IS_QUIET) != 0) {
            if (field->mode == ESK_PACKED_LINEAR) {
                esk_bytes_copy(part + 1, from, field->bytes);
            }
        } else {
            uint32_t change = field->is_word
                                  ? word_change(from, part)
                                  : value_change(&value, field, from, part);
            if (field->mode == ESK_PACKED_LINEAR) {
                uint32_t step = change;
                change -= esk_load_u32(next - 4);
                esk_store_u32_here(next - 4, step);
            }
            if (field->mode == ESK_PACKED_RAW || value.bare) {
                value_put(pen, field, from, part, change);
            } else {
                code_put(pen, change, part);
            }
            if (!field->is_word && !value.bare) {
                value_keep(&value, field, from, part);
            }
            value.bare = false; /* a word does not set it */
        }
        part = next;
        field++;
    }
    return !value.wide;
}

/// Goes on at the offset `to`, in the cell or at its end, behind zeros.
static void zeros_put(struct esk_packed_state *state, uint8_t *page,
                      uint16_t to) {
    uint16_t at = esk_packed_written(state);
    for (; at < to; at++) {
        page[at] = 0;
    }
    state->at = to;
    state->bit = 0;
}

/// Copies the row to offset `at`, behind which the next goes on. Returns false
/// when it does not fit.
static bool row_copy(const struct esk_packed *packed,
                     struct esk_packed_state *state, uint8_t *page, uint16_t at,
                     const uint8_t *row) {
    if (at > state->end || packed->row_bytes > state->end - at) {
        return false;
    }
    esk_bytes_copy(page + at, row, packed->row_bytes);
    state->at = (uint16_t)(at + packed->row_bytes);
    state->bit = 0;
    return true;
}

/// Appends the row in a cell whose rest is whole rows. A row of zeros would
/// read as the end.
static int whole_put(const struct esk_packed *packed,
                     struct esk_packed_state *state, uint8_t *page,
                     const uint8_t *row) {
    uint16_t at = packed_unit_up(packed, esk_packed_written(state));
    if (esk_bytes_are(row, packed->row_bytes, 0)) {
        state->flags &= (uint8_t)~PACKED_WHOLE;
        return ESK_FULL;
    }
    if (at <= state->end) {
        zeros_put(state, page, at);
    }
    return row_copy(packed, state, page, at, row) ? ESK_OK : ESK_FULL;
}

/// Whether all rows from one on are to be whole that would take `used` bytes:
/// the cell's rows saved too little.
static bool rest_is_whole(const struct esk_packed *packed,
                          const struct esk_packed_state *state, uint16_t used) {
    return used >= packed->row_bytes &&
           used - packed->row_bytes + MARK_BYTES > state->saved;
}

/// Appends the row as it is, behind a mark, or as the second of a cell of whole
/// rows. `rest`: all rows after it are whole.
static ESK_OUT_OF_LINE int row_put_whole(const struct esk_packed *packed,
                                         struct esk_packed_state *state,
                                         uint8_t *page, const uint8_t *row,
                                         bool rest) {
    struct pen pen = {page + state->at, page + state->end, state->bit};
    uint8_t *start = pen.at;
    uint8_t before = *start;
    uint8_t zeros = ESK_PACKED_ZEROS;
    bool poor = (state->flags & (PACKED_FRESH | PACKED_POOR)) ==
                (PACKED_FRESH | PACKED_POOR);
    esk_packed_take(packed, state, row, true);
    if (poor) {
        pen.at -= packed->field_count;
        *pen.at++ = ESK_PACKED_WHOLE;
        *pen.at = 0;
        rest = true;
    } else {
        zeros = (uint8_t)(zeros + (state->flags & PACKED_ANY_QUIET));
        pen_put(&pen, rest ? MARK_REST : ESK_PACKED_MARK_ROW, MARK_BITS, zeros);
    }
    if (pen.at != pen.end) {
        uint16_t at = (uint16_t)(pen.at - page);
        if (rest) {
            state->at = at;
            state->bit = pen.bit;
            state->flags |= PACKED_WHOLE;
            return whole_put(packed, state, page, row);
        }
        at = (uint16_t)(at + (pen.bit > 0 ? 1u : 0u));
        if (row_copy(packed, state, page, at, row)) {
            return ESK_OK;
        }
    }
    *start = before;
    return ESK_FULL;
}

/// Appends the row to the cell. Returns ESK_OK; ESK_FULL, after which the cell
/// takes no row.
static int row_put(const struct esk_packed *packed,
                   struct esk_packed_state *state, uint8_t *page,
                   const uint8_t *row) {
    struct pen pen = {page + state->at, page + state->end, state->bit};
    uint8_t before = *pen.at;
    bool silent = false;
    uint16_t row_bytes = packed->row_bytes;
    if ((state->flags & PACKED_ANY_QUIET) != 0) {
        silent = is_silent(packed, state, row);
        pen_put(&pen, silent ? 1 : 0, 1, 0);
    }
    bool narrow = fields_put(packed, state, row, &pen, silent);
    uint16_t used = (uint16_t)((uint16_t)(pen.at - page) - state->at);
    /* After such a cell a row that does not shrink says what comes. */
    bool poor = (state->flags & (PACKED_FRESH | PACKED_POOR)) ==
                (PACKED_FRESH | PACKED_POOR);
    bool whole =
        !narrow || used > row_bytes + 1u || (poor && used >= row_bytes);
    if (whole) {
        used = (uint16_t)(row_bytes + MARK_BYTES);
    }
    bool rest = rest_is_whole(packed, state, used);
    uint16_t saved = (uint16_t)(state->saved + row_bytes - used);
    int status = ESK_OK;
    if (whole || rest) {
        page[state->at] = before;
        status = row_put_whole(packed, state, page, row, rest);
    } else if (pen.at == pen.end) {
        page[state->at] = before;
        return ESK_FULL;
    } else {
        pen.at[1] = 0;
        state->at = (uint16_t)(pen.at - page);
        state->bit = pen.bit;
    }
    state->saved = saved < UINT8_MAX ? saved : UINT8_MAX;
    state->flags &= (uint8_t)~PACKED_FRESH;
    return status;
}

/// Begins a cell with `row` at offset `cell`, in a page that ends at `end`.
static int cell_begin(const struct esk_packed *packed,
                      struct esk_packed_state *state, uint8_t *page,
                      uint16_t end, uint16_t cell, const uint8_t *row) {
    uint16_t last = (uint16_t)(cell | packed->cell_mask);
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    last = last < end ? last : (uint16_t)(end - 1u);
    if (cell > last || packed_head(packed) > last - cell) {
        return ESK_FULL;
    }
    uint8_t *to = page + cell;
    esk_bytes_copy(to, row, packed->row_bytes);
    to += packed->row_bytes;
    state->flags = (state->flags & PACKED_WHOLE) != 0
                       ? PACKED_FRESH | PACKED_POOR
                       : PACKED_FRESH;
    for (uint8_t left = packed->field_count; left > 0; left--) {
        uint8_t now = *part & (uint8_t)~PACKED_IS_QUIET;
        *to = (uint8_t)(now + ESK_PACKED_SCALE_ONE);
        if (now < QUIET_BELOW) {
            now = PACKED_IS_QUIET;
            *to = ESK_PACKED_QUIET;
            state->flags |= PACKED_ANY_QUIET;
        }
        *part = now;
        part = packed_part_next(field++, part);
        to++;
    }
    state->at = (uint16_t)(to - page);
    state->bit = 0;
    state->end = last;
    state->saved = SAVED_START;
    esk_packed_take(packed, state, row, false);
    return ESK_OK;
}

void esk_packed_init(const struct esk_packed *packed,
                     struct esk_packed_state *state) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    memset(state, 0, sizeof *state);
    for (uint8_t left = packed->field_count; left > 0; left--) {
        *part = ESK_PACKED_SCALE_START;
        part = packed_part_next(field++, part);
    }
}

/// Ends the cell's bits before the page's end, which may be another than at the
/// last row: seals come, and go when a page is programmed again elsewhere.
static void end_set(const struct esk_packed *packed,
                    struct esk_packed_state *state, uint16_t end) {
    uint16_t last = state->end | packed->cell_mask;
    state->end = last < end ? last : (uint16_t)(end - 1u);
}

int esk_packed_append(const struct esk_packed *packed,
                      struct esk_packed_state *state, uint8_t *page,
                      uint16_t end, const uint8_t *row) {
    if (state->at == 0) {
        return cell_begin(packed, state, page, end, ESK_ENVELOPE_BYTES, row);
    }
    end_set(packed, state, end);
    if ((state->flags & PACKED_CLOSED) == 0) {
        if (state->bit == 0) {
            page[state->at] = 0; /* what a seal left there is not known */
        }
        int status = (state->flags & PACKED_WHOLE) != 0
                         ? whole_put(packed, state, page, row)
                         : row_put(packed, state, page, row);
        if (status == ESK_OK) {
            return status;
        }
        state->flags |= PACKED_CLOSED;
    }
    /* Of a cell that was closed above seals, too: they may be gone. */
    zeros_put(state, page, (uint16_t)(state->end + 1u));
    return cell_begin(packed, state, page, end,
                      packed_cell_next(packed, state->end), row);
}

uint16_t esk_packed_align(const struct esk_packed *packed,
                          struct esk_packed_state *state, uint8_t *page) {
    uint16_t at = esk_packed_written(state);
    state->flags &= (uint8_t)~PACKED_FRESH;
    if (at != state->at || packed_unit_up(packed, at) != at) {
        uint8_t mark = ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS;
        mark = (uint8_t)(mark + ((state->flags & PACKED_ANY_QUIET) != 0));
        if ((state->flags & (PACKED_WHOLE | PACKED_CLOSED)) == 0) {
            at =
                (uint16_t)(state->at +
                           ((uint8_t)((uint8_t)(state->bit + mark) + 7u) >> 3));
        }
        at = packed_unit_up(packed, at);
        if (at > state->end) {
            state->flags |= PACKED_CLOSED;
            at = (uint16_t)(state->end + 1u);
        }
        zeros_put(state, page, at);
    }
    return state->at;
}

/// Makes the rest of the cell zero. Returns where it ends.
static uint16_t rest_clear(const struct esk_packed_state *state,
                           uint8_t *page) {
    for (uint16_t at = esk_packed_written(state); at <= state->end; at++) {
        page[at] = 0;
    }
    return (uint16_t)(state->end + 1u);
}

uint16_t esk_packed_end(const struct esk_packed *packed,
                        struct esk_packed_state *state, uint8_t *page,
                        uint16_t end) {
    end_set(packed, state, end);
    return rest_clear(state, page);
}

void esk_packed_close(struct esk_packed_state *state, uint8_t *page,
                      uint16_t end) {
    if (state->end >= end) {
        state->end = (uint16_t)(end - 1u);
    }
    (void)rest_clear(state, page);
    state->at = 0;
}

void esk_packed_resume(const struct esk_packed *packed,
                       struct esk_packed_state *state, uint8_t *page) {
    uint16_t at = esk_packed_written(state);
    state->end = (uint16_t)(at - 1u) | packed->cell_mask;
    state->saved = SAVED_START;
    state->flags &= PACKED_ANY_QUIET | PACKED_WHOLE;
    page[at] = 0;
}
