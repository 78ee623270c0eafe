// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reading packed pages, which may have any bytes.
///
/// Invariants
///  1. No byte at or after the limit is read: bits from there on are zero.
///  2. A row takes at least one bit, an alignment at least a byte. So a call
///     ends after at most as many steps as the page has bytes.
///
/// Cost: docs/results/packed.md has the cycles.
#include "table/series/codec/packed_state.h"

/// What a field's code was, if it was no change: the length of its escape.
enum packed_mark {
    MARK_ZERO = ESK_PACKED_MARK_ALIGN,
    MARK_ONE = ESK_PACKED_MARK_ROW,
    MARK_NONE = ESK_PACKED_LENGTH_MIN,
    MARK_BAD,
};

/// Takes the next byte.
static inline uint8_t bits_byte(struct packed_call *call) {
    uint8_t *at = call->at;
    if (at == call->end) {
        call->over = true;
        return 0;
    }
    call->at = at + 1;
    return *at;
}

/// Reads the next `count` bits, below 8.
static ESK_OUT_OF_LINE_ON_CHIPS uint8_t bits_few(struct packed_call *call,
                                                 uint8_t count) {
    uint8_t byte = call->byte;
    uint8_t left = call->left;
    uint8_t value = 0;
    for (uint8_t mask = 1; count > 0; count--) {
        if (left == 0) {
            left = 8;
            byte = bits_byte(call);
        }
        if ((byte & 1u) != 0) {
            value = (uint8_t)(value | mask);
        }
        mask = (uint8_t)(mask << 1);
        byte >>= 1;
        left--;
    }
    call->byte = byte;
    call->left = left;
    return value;
}

/// Reads the next `count` bits, at most 32, into call->word, with `high` above
/// them.
static ESK_OUT_OF_LINE_ON_CHIPS void bits_get(struct packed_call *call,
                                              uint8_t count, uint8_t high) {
    uint8_t *to = call->word;
    esk_store_u32_here(to, 0);
    for (; count >= 8; count = (uint8_t)(count - 8u)) {
        uint16_t wide =
            (uint16_t)(bits_byte(call) * (uint16_t)esk_bit(call->left));
        *to++ = (uint8_t)(call->byte | (wide & UINT8_MAX));
        call->byte = (uint8_t)(wide >> 8);
    }
    uint16_t top = (uint16_t)(high * (uint16_t)esk_bit(count));
    to[0] = (uint8_t)(bits_few(call, count) | (top & UINT8_MAX));
    to[1] = (uint8_t)(top >> 8);
}

/// Reads zeros and the one behind them, and returns how many; after
/// ESK_PACKED_ZEROS zeros no one is read.
static uint8_t bits_zeros(struct packed_call *call) {
    uint8_t byte = call->byte;
    uint8_t left = call->left;
    uint8_t zeros = 0;
    bool one = false;
    while (!one && zeros < ESK_PACKED_ZEROS) {
        if (left == 0) {
            left = 8;
            byte = bits_byte(call);
        }
        one = (byte & 1u) != 0;
        zeros = (uint8_t)(zeros + (one ? 0u : 1u));
        byte >>= 1;
        left--;
    }
    call->byte = byte;
    call->left = left;
    return zeros;
}

/// code_get for codes of many bits: `zeros` are read, `low` bits follow, or an
/// escape.
static uint32_t code_get_long(struct packed_call *call, uint8_t *scale,
                              uint8_t zeros, uint8_t low) {
    uint8_t high = zeros;
    if (zeros == ESK_PACKED_ZEROS) {
        uint8_t length = bits_few(call, ESK_PACKED_LENGTH_BITS);
        low = (uint8_t)(low + length);
        if (length < MARK_NONE || low > 31) {
            call->mark = length < MARK_NONE ? length : MARK_BAD;
            return 0;
        }
        high = 1;
    }
    bits_get(call, low, high);
    esk_packed_adapt(scale, zeros);
    uint32_t code = esk_load_u32(call->word);
    return (code & 1u) != 0 ? ~(code >> 1) : code >> 1;
}

/// Reads a code, and sets the field's scale. Returns its change; 0 when
/// call->mark becomes another than MARK_NONE.
static ESK_OUT_OF_LINE_ON_HOSTS uint32_t code_get(struct packed_call *call,
                                                  uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    uint8_t zeros = bits_zeros(call);
    if (ESK_NO_SHORT_WAYS || zeros == ESK_PACKED_ZEROS || low >= 8) {
        return code_get_long(call, scale, zeros, low);
    }
    /* Most changes are small: 16 bits are less work for an 8-bit processor. */
    uint16_t code = (uint16_t)((uint16_t)zeros << low);
    esk_packed_adapt(scale, zeros);
    code = (uint16_t)(code | bits_few(call, low));
    bool minus = (code & 1u) != 0;
    code >>= 1;
    return minus ? ~(uint32_t)code : code;
}

/// code_get, on a host from one word of 8 bytes, as long as the cell has so
/// many more. A mark, and what is no code, is read by code_get.
static ESK_IN_LINE uint32_t code_get_word(struct packed_call *call,
                                          uint8_t *scale) {
    if (!ESK_HOST || call->end - call->at < (ptrdiff_t)sizeof(uint64_t)) {
        return code_get(call, scale);
    }
    uint8_t left = call->left;
    uint64_t word = esk_load_u64(call->at) << left | call->byte;
    uint8_t low = packed_low_bits(*scale);
    uint8_t zeros = esk_zeros_below(word | 1u << ESK_PACKED_ZEROS);
    uint32_t high = zeros;
    uint8_t used = (uint8_t)(zeros + 1u);
    if (zeros == ESK_PACKED_ZEROS) {
        uint8_t length = (uint8_t)(word >> ESK_PACKED_ZEROS) &
                         ((1u << ESK_PACKED_LENGTH_BITS) - 1u);
        low = (uint8_t)(low + length);
        if (length < MARK_NONE || low > 31) {
            return code_get(call, scale);
        }
        used = ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS;
        high = 1;
    }
    packed_adapt(scale, zeros);
    uint32_t below = (uint32_t)((UINT64_C(1) << low) - 1u);
    uint32_t code = high << low | ((uint32_t)(word >> used) & below);
    used = (uint8_t)(used + low);
    /* The bits that are left of the byte that the code ends in. */
    uint8_t bytes = (uint8_t)((used + 7u - left) >> 3);
    left = (uint8_t)(left + 8u * bytes - used);
    call->at += bytes;
    call->left = left;
    call->byte = (uint8_t)((word >> used) & ((1u << left) - 1u));
    return (code & 1u) != 0 ? ~(code >> 1) : code >> 1;
}

/// Reads the value of a raw field, unless it is `quiet`.
static void raw_get(struct packed_call *call,
                    const struct esk_packed_field *field, uint8_t *part) {
    bool changed = bits_few(call, 1) == 0;
    esk_packed_adapt(part, changed ? ESK_PACKED_ZEROS : 0);
    for (uint16_t left = changed ? field->bytes : 0; left > 0; left--) {
        bits_get(call, 8, 0);
        *++part = call->word[0];
    }
}

/// Adds `change`, which has a sign, to the value of a field that is no word,
/// unless it is raw, and writes the value into call->out.
/// Returns false: it is no decimal.
static bool value_take(struct packed_call *call,
                       const struct esk_packed_field *field, uint8_t *value,
                       uint32_t change) {
    uint8_t mode = field->mode;
    uint8_t *to = call->out + field->offset;
    if (mode != ESK_PACKED_RAW) {
        packed_add_change(call, field, value, change);
    }
    if (mode >= ESK_PACKED_FLOAT) {
        return esk_packed_turn(call, mode, value, to, true);
    }
    esk_bytes_copy(to, value, field->bytes);
    return true;
}

/// Reads the fields of a row, into call->out. call->mark
/// becomes MARK_NONE; the mark of field 0; MARK_BAD.
static ESK_IN_LINE void fields_get(struct packed_call *call) {
    const struct esk_packed_field *field = call->packed->fields;
    uint8_t *part = packed_parts(call->state);
    bool silent = false;
    uint8_t left = call->packed->field_count;
    call->mark = MARK_NONE;
    if ((call->state->flags & PACKED_ANY_QUIET) != 0) {
        silent = bits_few(call, 1) != 0;
    }
    for (; left > 0; left--) {
        uint8_t *next = packed_part_next(field, part);
        uint32_t change = 0;
        if (!silent || (*part & PACKED_IS_QUIET) == 0) {
            if (field->mode == ESK_PACKED_RAW) {
                raw_get(call, field, part);
            } else {
                change = code_get_word(call, part);
            }
        }
        if (call->mark == MARK_NONE) {
            if (field->mode == ESK_PACKED_LINEAR) {
                change += esk_load_u32(next - 4);
                esk_store_u32_here(next - 4, change);
            }
            if (field->is_word) {
                change += esk_load_u32(part + 1);
                esk_store_u32_here(part + 1, change);
                esk_store_u32_here(call->out + field->offset, change);
            } else if (!value_take(call, field, part + 1, change)) {
                call->mark = MARK_BAD;
                return;
            }
        } else if (call->mark == MARK_ZERO &&
                   field->mode >= ESK_PACKED_DECIMAL) {
            bits_get(call, 32, 0);
            esk_bytes_copy(call->out + field->offset, call->word, 4);
            call->mark = MARK_NONE;
        } else {
            if (left != call->packed->field_count) {
                call->mark = MARK_BAD;
            }
            return;
        }
        part = next;
        field++;
    }
}

/// Takes the whole row that comes next. Returns false: it has no room.
static ESK_OUT_OF_LINE_ON_CHIPS bool whole_get(struct packed_call *call) {
    uint16_t at = esk_packed_whole(call);
    if (at == 0) {
        return false;
    }
    call->state->at = (uint16_t)(at + call->packed->row_bytes);
    esk_packed_take(call, call->page + at, true);
    return true;
}

/// Sets the call to the state's place, which is before its end.
static void bits_begin(struct packed_call *call) {
    packed_call_place(call);
    call->over = false;
    call->left = 0;
    call->byte = 0;
    if (call->bit > 0) {
        call->left = (uint8_t)(8u - call->bit);
        call->byte = (uint8_t)(*call->at++ >> call->bit);
    }
}

/// Reads the next row of the cell. Returns ESK_OK; ESK_END; ESK_E_CORRUPT.
static ESK_IN_LINE int row_get(struct packed_call *call) {
    struct esk_packed_state *state = call->state;
    while ((state->flags & PACKED_WHOLE) == 0) {
        if (call->page + state->at >= call->end) {
            return ESK_END;
        }
        bits_begin(call);
        fields_get(call);
        uint8_t mark = call->mark;
        if (mark == MARK_ONE && bits_few(call, 1) != 0) {
            state->flags |= PACKED_WHOLE;
            mark = MARK_ZERO;
        }
        if (mark == MARK_BAD || call->over) {
            return mark == MARK_ZERO ? ESK_END : ESK_E_CORRUPT;
        }
        state->at = (uint16_t)(call->at - call->page);
        state->bit = 0;
        if (mark == MARK_NONE) {
            if (call->left > 0) {
                state->at--;
                state->bit = (uint8_t)(8u - call->left);
            }
            return ESK_OK;
        }
        if (mark == MARK_ONE) {
            return whole_get(call) ? ESK_OK : ESK_E_CORRUPT;
        }
        state->at = packed_unit_up(call->packed, state->at);
    }
    if (!whole_get(call)) {
        return ESK_END;
    }
    return esk_bytes_are(call->out, call->packed->row_bytes, 0) ? ESK_END
                                                                : ESK_OK;
}

bool esk_packed_cell_take(struct packed_call *call) {
    const struct esk_packed *packed = call->packed;
    struct esk_packed_state *state = call->state;
    uint8_t *at = call->page + state->at;
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    const uint8_t *row = call->row;
    state->last = (uint16_t)(state->at | packed->cell_mask);
    state->bit = 0;
    state->flags = 0;
    if (row != NULL) {
        esk_bytes_copy(at, row, packed->row_bytes);
    }
    esk_packed_take(call, at, false);
    at += packed->row_bytes;
    if (row == NULL && *at == ESK_PACKED_WHOLE) {
        at++;
        state->last = PACKED_LAST_OF_ALL;
        state->flags = PACKED_WHOLE;
    } else {
        for (uint8_t left = packed->field_count; left > 0; left--) {
            if (row != NULL) {
                uint8_t now = *part & (uint8_t)~PACKED_IS_QUIET;
                *at = now < QUIET_BELOW ? ESK_PACKED_QUIET
                                        : (uint8_t)(now + ESK_PACKED_SCALE_ONE);
            }
            uint8_t scale = (uint8_t)(*at++ - ESK_PACKED_SCALE_ONE);
            if (scale >= ESK_PACKED_QUIET) {
                return false;
            }
            if (scale == ESK_PACKED_QUIET - ESK_PACKED_SCALE_ONE) {
                scale = PACKED_IS_QUIET;
                state->flags |= PACKED_ANY_QUIET;
            }
            *part = scale;
            part = packed_part_next(field++, part);
        }
    }
    state->at = (uint16_t)(at - call->page);
    return true;
}

/// Reads the first row of the cell at the state's place.
static int cell_open(struct packed_call *call) {
    const struct esk_packed_state *state = call->state;
    if (!esk_packed_has_cell(call->packed, call->page, state->at,
                             call->limit)) {
        return ESK_END;
    }
    return esk_packed_cell_take(call) ? ESK_OK : ESK_E_CORRUPT;
}

uint16_t esk_packed_page_end(const uint8_t *page, uint16_t page_bytes) {
    uint16_t end = page_bytes;
    while (end >= ESK_ENVELOPE_BYTES + ESK_SEAL_BYTES &&
           page[end - 2u] == page[ESK_ENVELOPE_KIND] &&
           page[end - 1u] == page[ESK_ENVELOPE_TABLE]) {
        end = (uint16_t)(end - ESK_SEAL_BYTES);
    }
    return end;
}

void esk_packed_seek(struct esk_packed_state *state, uint16_t cell,
                     uint16_t limit) {
    /* At the end of a cell, whose next one begins there. */
    state->at = cell;
    state->last = (uint16_t)(cell - 1u);
    state->limit = limit;
    state->flags = 0;
}

bool esk_packed_has_cell(const struct esk_packed *packed, const uint8_t *page,
                         uint16_t cell, uint16_t limit) {
    if (!packed_cell_fits(packed, cell, limit)) {
        return false;
    }
    uint8_t stored = page[cell + packed->row_bytes];
    return stored != 0 && stored != UINT8_MAX;
}

ESK_HOST_FLAT int esk_packed_next(const struct esk_packed *packed,
                                  struct esk_packed_state *state,
                                  const uint8_t *page, uint8_t *row) {
    struct packed_call call;
    call.packed = packed;
    call.state = state;
    call.page = (uint8_t *)(uintptr_t)page; /* which is only read */
    call.row = NULL;
    call.out = row;
    call.limit = state->limit;
    packed_call_end(&call);
    int status = row_get(&call);
    if (status != ESK_END) {
        return status;
    }
    state->at = (uint16_t)(state->last + 1u);
    return cell_open(&call);
}
