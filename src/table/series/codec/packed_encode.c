// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Writing packed pages.
///
/// A row is written in one pass, behind the bits that are there. If it turns
/// out not to fit, or to be longer than the row itself, place and byte are
/// taken back: then the row begins the next cell, or is written whole. Writing
/// stops at the last byte of the cell, which is never used, so that no bit is
/// tested for room.
///
/// If a cell's rows do not shrink, the rest of them is whole. If those of the
/// next cell do not, either, all up to the page's end are.
///
/// Invariant: where `bit` is above 0, the bits of the byte at `at` from `bit`
/// on are zero.
///
/// Cost: docs/results/packed.md has the cycles.
#include "table/series/codec/packed_state.h"

enum {
    SAVED_START = 6, ///< what the first rows of a cell may lose,
    SAVED_POOR = 2,  ///< and after a cell that ended in whole rows
    MARK_BYTES = 3,  ///< of a whole row, at most
    MARK_BITS = ESK_PACKED_LENGTH_BITS + 1,
    MARK_REST = ESK_PACKED_MARK_ROW | 1u << ESK_PACKED_LENGTH_BITS,
};

/// Writes `zeros` zeros, at most 8, and the `count` bits of `value`, at most 8.
static ESK_OUT_OF_LINE void pen_put(struct packed_call *call, uint8_t value,
                                    uint8_t count, uint8_t zeros) {
    uint8_t *at = call->at;
    uint8_t bit = (uint8_t)(call->bit + zeros);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        at += at != call->end ? 1 : 0;
        *at = 0;
    }
    uint16_t wide = (uint16_t)(value * (uint16_t)esk_bit(bit));
    *at = (uint8_t)(*at | (wide & UINT8_MAX));
    bit = (uint8_t)(bit + count);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        at += at != call->end ? 1 : 0;
        *at = (uint8_t)(wide >> 8);
    }
    call->at = at;
    call->bit = bit;
}

/// Writes `zeros` zeros and the low `count` bits of `value`.
static void pen_put_word(struct packed_call *call, uint32_t value,
                         uint8_t count, uint8_t zeros) {
    while (count > 8) {
        pen_put(call, (uint8_t)(value & UINT8_MAX), 8, zeros);
        value >>= 8;
        count = (uint8_t)(count - 8u);
        zeros = 0;
    }
    pen_put(call, (uint8_t)(value & (uint8_t)(esk_bit(count) - 1u)), count,
            zeros);
}

/// Writes `change` and sets the field's scale.
static ESK_OUT_OF_LINE void code_put(struct packed_call *call, uint32_t change,
                                     uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    /* Small changes before large, at the bottom the sign. */
    bool minus = (change & ESK_ORDER_WORD_SIGN) != 0;
    change <<= 1;
    change = minus ? ~change : change;
    uint32_t high = change >> low;
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
        pen_put(call, length, ESK_PACKED_LENGTH_BITS, ESK_PACKED_ZEROS);
        low = (uint8_t)(low + length);
    }
    esk_packed_adapt(scale, zeros);
    zeros = zeros < ESK_PACKED_ZEROS ? zeros : 0;
    pen_put_word(call, change, low, zeros);
}

/// code_put, on a host as one word of 8 bytes, as long as the cell has so many
/// more.
static ESK_IN_LINE void code_put_word(struct packed_call *call, uint32_t change,
                                      uint8_t *scale) {
    if (!ESK_HOST || call->end - call->at < (ptrdiff_t)sizeof(uint64_t)) {
        code_put(call, change, scale);
        return;
    }
    uint8_t low = packed_low_bits(*scale);
    bool minus = (change & ESK_ORDER_WORD_SIGN) != 0;
    change <<= 1;
    change = minus ? ~change : change;
    uint32_t high = change >> low;
    uint64_t below = change;
    uint64_t code = 0;
    uint8_t zeros = ESK_PACKED_ZEROS;
    uint8_t bits = 0;
    if (high < ESK_PACKED_ZEROS) {
        zeros = (uint8_t)high;
        code = UINT64_C(1) << zeros;
        bits = (uint8_t)(zeros + 1u);
    } else {
        uint8_t length = esk_top_bit(high);
        low = (uint8_t)(low + length);
        code = (uint64_t)length << ESK_PACKED_ZEROS;
        bits = ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS;
    }
    below &= (UINT64_C(1) << low) - 1u;
    packed_adapt(scale, zeros);
    code = (code | below << bits) << call->bit | *call->at;
    esk_store_u64(call->at, code);
    bits = (uint8_t)(call->bit + bits + low);
    call->at += bits >> 3;
    call->bit = bits & 7u;
}

/// Writes the value of a field that has no code: whether a raw field changed,
/// and its bytes; an f32 that is no decimal.
static void value_put(struct packed_call *call,
                      const struct esk_packed_field *field, const uint8_t *from,
                      uint8_t *part, bool changed) {
    uint16_t left = changed ? field->bytes : 0;
    if (field->mode != ESK_PACKED_RAW) {
        pen_put(call, ESK_PACKED_MARK_VALUE, ESK_PACKED_LENGTH_BITS,
                ESK_PACKED_ZEROS);
    } else {
        pen_put(call, changed ? 0 : 1, 1, 0);
        esk_packed_adapt(part, changed ? ESK_PACKED_ZEROS : 0);
    }
    for (; left > 0; left--) {
        pen_put(call, *from++, 8, 0);
    }
}

/// Writes the fields of the row, and makes their values those of the row
/// before. The first of two passes, if the cell has quiet fields, finds out
/// whether they all are as predicted; then the second writes the others.
/// Returns false when a change is too wide: the row is to be written whole.
static ESK_OUT_OF_LINE bool fields_put(struct packed_call *call) {
    bool silent = false;
    call->wide = false;
    call->keep = (call->state->flags & PACKED_ANY_QUIET) == 0;
    for (;;) {
        const struct esk_packed_field *field = call->packed->fields;
        uint8_t *part = packed_parts(call->state);
        uint8_t left = call->packed->field_count;
        for (; left > 0; left--) {
            uint8_t *next = packed_part_next(field, part);
            const uint8_t *from = call->row + field->offset;
            bool quiet = (*part & PACKED_IS_QUIET) != 0;
            if (silent && quiet) {
                /* as predicted: its step stays */
                if (field->mode == ESK_PACKED_LINEAR) {
                    esk_bytes_copy(part + 1, from, field->bytes);
                }
            } else if (call->keep || quiet) {
                uint32_t change;
                call->bare = false;
                if (field->is_word) {
                    uint32_t number = esk_load_u32(from);
                    change = number - esk_load_u32(part + 1);
                    if (call->keep) {
                        esk_store_u32_here(part + 1, number);
                    }
                } else {
                    change = esk_packed_change(call, field, from, part);
                }
                if (field->mode == ESK_PACKED_LINEAR) {
                    uint32_t step = change;
                    change -= esk_load_u32(next - 4);
                    if (call->keep) {
                        esk_store_u32_here(next - 4, step);
                    }
                }
                if (!call->keep) {
                    if (change != 0) {
                        break;
                    }
                } else if (call->bare) {
                    value_put(call, field, from, part, change != 0);
                } else {
                    code_put_word(call, change, part);
                }
            }
            part = next;
            field++;
        }
        if (call->keep) {
            return !call->wide;
        }
        silent = left == 0;
        pen_put(call, silent ? 1 : 0, 1, 0);
        call->keep = true;
    }
}

/// Makes the page zero from behind the last row up to the offset `to`, and goes
/// on there, in the cell or at its end.
static ESK_OUT_OF_LINE void zeros_put(struct esk_packed_state *state,
                                      uint8_t *page, uint16_t to) {
    uint16_t at = state->at;
    if (state->bit > 0) {
        page[at] &= (uint8_t)(esk_bit(state->bit) - 1u);
        at++;
    }
    for (; at < to; at++) {
        page[at] = 0;
    }
    state->at = to;
    state->bit = 0;
}

/// Sets the call's place behind the last row, and makes the bits from there on
/// zero: of a row that was taken back, and what a seal left there.
static ESK_OUT_OF_LINE void row_begin(struct packed_call *call) {
    packed_call_place(call);
    *call->at &= (uint8_t)(esk_bit(call->bit) - 1u);
}

/// Copies the row to the next byte; at the next unit in a cell whose rest is
/// whole rows. There a row of zeros would read as the end. Returns false: the
/// cell takes no more rows.
static ESK_OUT_OF_LINE bool whole_put(struct packed_call *call) {
    struct esk_packed_state *state = call->state;
    uint16_t row_bytes = call->packed->row_bytes;
    uint16_t at = esk_packed_whole(call);
    if ((state->flags & PACKED_WHOLE) != 0 &&
        esk_bytes_are(call->row, row_bytes, 0)) {
        state->flags &= (uint8_t)~PACKED_WHOLE;
        at = 0;
    }
    if (at == 0) {
        return false;
    }
    zeros_put(state, call->page, at);
    state->at = (uint16_t)(at + row_bytes);
    esk_bytes_copy(call->page + at, call->row, row_bytes);
    return true;
}

/// Appends the row as it is, behind a mark. `rest`: all rows after it are
/// whole; if it is the second of its cell up to the page's end.
static bool row_put_whole(struct packed_call *call, bool rest) {
    struct esk_packed_state *state = call->state;
    uint16_t at = state->at;
    uint8_t bit = state->bit;
    uint8_t flags = state->flags;
    row_begin(call);
    esk_packed_take(call, call->row, true);
    state->flags &= (uint8_t)~PACKED_FRESH;
    if (rest && (flags & PACKED_FRESH) != 0) {
        call->at -= call->packed->field_count;
        *call->at++ = ESK_PACKED_WHOLE;
        *call->at = 0;
        state->last = PACKED_LAST_OF_ALL;
        packed_call_end(call);
    } else {
        uint8_t zeros = ESK_PACKED_ZEROS;
        zeros = (uint8_t)(zeros + (state->flags & PACKED_ANY_QUIET));
        pen_put(call, rest ? MARK_REST : ESK_PACKED_MARK_ROW, MARK_BITS, zeros);
    }
    if (call->at != call->end) {
        packed_call_keep(call);
        if (rest) {
            state->flags |= PACKED_WHOLE;
        }
        if (whole_put(call)) {
            return true;
        }
        if (rest) {
            return false; /* the zeros behind it begin here */
        }
    }
    state->at = at;
    state->bit = bit;
    return false;
}

/// Appends the row to the cell. Returns false: the cell takes no more rows.
static ESK_IN_LINE bool row_put(struct packed_call *call) {
    struct esk_packed_state *state = call->state;
    row_begin(call);
    const uint8_t *begin = call->at;
    bool whole = !fields_put(call);
    int16_t more = (int16_t)((int16_t)(call->at - begin) -
                             (int16_t)call->packed->row_bytes);
    if (whole || more > 1) {
        whole = true;
        more = MARK_BYTES;
    }
    const int16_t most = 255;
    int16_t saved = (int16_t)state->saved;
    if (more >= 0 || saved <= most) {
        saved = (int16_t)(saved - more);
        state->saved = (uint16_t)saved;
    }
    /* The cell's rows saved too little: all from this one on are whole. */
    bool rest = more >= 0 && saved < MARK_BYTES;
    if (whole || rest) {
        return row_put_whole(call, rest);
    }
    state->flags &= (uint8_t)~PACKED_FRESH;
    if (call->at == call->end) {
        return false;
    }
    packed_call_keep(call);
    return true;
}

/// Begins a cell with the row at offset `cell`.
static int cell_begin(struct packed_call *call, uint16_t cell) {
    struct esk_packed_state *state = call->state;
    int16_t saved =
        (state->flags & PACKED_WHOLE) != 0 ? SAVED_POOR : SAVED_START;
    uint16_t last = cell | call->packed->cell_mask;
    if (!packed_cell_fits(call->packed, cell,
                          last < call->limit ? last : call->limit)) {
        return ESK_FULL;
    }
    state->at = cell;
    (void)esk_packed_cell_take(call);
    state->flags |= PACKED_FRESH;
    state->saved = (uint16_t)saved;
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

/// The offset behind the cell, in a page that ends at `end`: which may be
/// another than at the last row, for seals come, and go when a page is
/// programmed again elsewhere.
static uint16_t cell_end(const struct esk_packed_state *state, uint16_t end) {
    return state->last < end ? (uint16_t)(state->last + 1u) : end;
}

int esk_packed_append(const struct esk_packed *packed,
                      struct esk_packed_state *state, uint8_t *page,
                      uint16_t end, const uint8_t *row) {
    struct packed_call call;
    uint16_t cell = ESK_ENVELOPE_BYTES;
    call.packed = packed;
    call.state = state;
    call.page = page;
    call.row = row;
    call.out = NULL;
    call.limit = (uint16_t)(end - 1u);
    if (state->at != 0) {
        packed_call_end(&call);
        if ((state->flags & PACKED_CLOSED) == 0) {
            if ((state->flags & PACKED_WHOLE) != 0 ? whole_put(&call)
                                                   : row_put(&call)) {
                return ESK_OK;
            }
            state->flags |= PACKED_CLOSED;
        }
        cell = (uint16_t)(state->last + 1u);
        zeros_put(state, page, cell_end(state, end));
    }
    return cell_begin(&call, cell);
}

uint16_t esk_packed_align(const struct esk_packed *packed,
                          struct esk_packed_state *state, uint8_t *page,
                          uint16_t end) {
    uint16_t at = state->at;
    uint8_t bits = 7;
    state->flags &= (uint8_t)~PACKED_FRESH;
    if (state->bit == 0 && packed_unit_up(packed, at) == at) {
        return at;
    }
    if ((state->flags & (PACKED_WHOLE | PACKED_CLOSED)) == 0) {
        /* behind an escape of zeros */
        bits = ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS + 7;
        bits = (uint8_t)(bits + (state->flags & PACKED_ANY_QUIET));
    }
    at = (uint16_t)(at + ((uint8_t)(state->bit + bits) >> 3));
    at = packed_unit_up(packed, at);
    end = cell_end(state, end);
    if (at >= end) {
        state->flags |= PACKED_CLOSED;
        at = end;
    }
    zeros_put(state, page, at);
    return at;
}

uint16_t esk_packed_end(struct esk_packed_state *state, uint8_t *page,
                        uint16_t end) {
    uint16_t at = state->at;
    uint8_t bit = state->bit;
    end = cell_end(state, end);
    zeros_put(state, page, end);
    state->at = at;
    state->bit = bit;
    return end;
}

void esk_packed_close(struct esk_packed_state *state, uint8_t *page,
                      uint16_t end) {
    zeros_put(state, page, cell_end(state, end));
    state->at = 0;
}

void esk_packed_resume(struct esk_packed_state *state, uint8_t *page) {
    state->saved = SAVED_START;
    page[esk_packed_written(state)] = 0;
}
