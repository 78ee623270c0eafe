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
enum mark {
    MARK_ZERO = ESK_PACKED_MARK_ALIGN,
    MARK_ONE = ESK_PACKED_MARK_ROW,
    MARK_NONE = ESK_PACKED_LENGTH_MIN,
    MARK_BAD,
};

/// A place in the bits of a page.
struct bits {
    const uint8_t *at;  ///< the next byte
    const uint8_t *end; ///< bits from here on are zero
    uint8_t byte;       ///< the rest of the byte before
    uint8_t left;       ///< bits of it, below 8
    bool over;          ///< bits that have no byte were read
    uint8_t mark;       ///< enum mark: of the code that was read last
    uint8_t word[5];    ///< what was read last
};

/// Takes the next byte.
static inline uint8_t bits_byte(struct bits *bits) {
    const uint8_t *at = bits->at;
    if (at == bits->end) {
        bits->over = true;
        return 0;
    }
    bits->at = at + 1;
    return *at;
}

/// Reads the next `count` bits, below 8.
static ESK_OUT_OF_LINE uint8_t bits_few(struct bits *bits, uint8_t count) {
    uint8_t byte = bits->byte;
    uint8_t left = bits->left;
    uint8_t value = 0;
    for (uint8_t mask = 1; count > 0; count--) {
        if (left == 0) {
            left = 8;
            byte = bits_byte(bits);
        }
        if ((byte & 1u) != 0) {
            value = (uint8_t)(value | mask);
        }
        mask = (uint8_t)(mask << 1);
        byte >>= 1;
        left--;
    }
    bits->byte = byte;
    bits->left = left;
    return value;
}

/// Reads the next `count` bits, at most 32, into bits->word.
static ESK_OUT_OF_LINE void bits_get(struct bits *bits, uint8_t count) {
    uint8_t *to = bits->word;
    esk_store_u32_here(to, 0);
    for (; count >= 8; count = (uint8_t)(count - 8u)) {
        uint16_t wide =
            (uint16_t)(bits_byte(bits) * (uint16_t)esk_bit(bits->left));
        *to++ = (uint8_t)(bits->byte | (wide & UINT8_MAX));
        bits->byte = (uint8_t)(wide >> 8);
    }
    *to = bits_few(bits, count);
}

/// Reads zeros and the one behind them, and returns how many; after
/// ESK_PACKED_ZEROS zeros no one is read.
static uint8_t bits_zeros(struct bits *bits) {
    uint8_t byte = bits->byte;
    uint8_t left = bits->left;
    uint8_t zeros = 0;
    bool one = false;
    while (!one && zeros < ESK_PACKED_ZEROS) {
        if (left == 0) {
            left = 8;
            byte = bits_byte(bits);
        }
        one = (byte & 1u) != 0;
        zeros = (uint8_t)(zeros + (one ? 0u : 1u));
        byte >>= 1;
        left--;
    }
    bits->byte = byte;
    bits->left = left;
    return zeros;
}

/// code_get for codes of many bits: `zeros` are read, `low` bits follow, or an
/// escape.
static ESK_OUT_OF_LINE uint32_t code_get_long(struct bits *bits, uint8_t *scale,
                                              uint8_t zeros, uint8_t low) {
    uint32_t code = zeros;
    if (zeros == ESK_PACKED_ZEROS) {
        uint8_t length = bits_few(bits, ESK_PACKED_LENGTH_BITS);
        low = (uint8_t)(low + length);
        if (length < MARK_NONE || low > 31) {
            bits->mark = length < MARK_NONE ? length : MARK_BAD;
            return 0;
        }
        code = 1;
    }
    bits_get(bits, low);
    for (; low >= 8; low = (uint8_t)(low - 8u)) {
        code <<= 8;
    }
    esk_packed_adapt(scale, zeros);
    code = code << low | esk_load_u32(bits->word);
    return (code & 1u) != 0 ? ~(code >> 1) : code >> 1;
}

/// Reads a code, and sets the field's scale. Returns its change; 0 when
/// bits->mark becomes another than MARK_NONE.
static ESK_OUT_OF_LINE uint32_t code_get(struct bits *bits, uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    uint8_t zeros = bits_zeros(bits);
    if (zeros == ESK_PACKED_ZEROS || low >= 8) {
        return code_get_long(bits, scale, zeros, low);
    }
    /* Most changes are small: 16 bits are less work for an 8-bit processor. */
    uint16_t code = (uint16_t)((uint16_t)zeros << low);
    esk_packed_adapt(scale, zeros);
    code = (uint16_t)(code | bits_few(bits, low));
    bool minus = (code & 1u) != 0;
    code >>= 1;
    return minus ? ~(uint32_t)code : code;
}

/// Reads the value of a raw field that is not quiet.
static void raw_get(struct bits *bits, const struct esk_packed_field *field,
                    uint8_t *part) {
    bool changed = bits_few(bits, 1) == 0;
    esk_packed_adapt(part, changed ? ESK_PACKED_ZEROS : 0);
    for (uint16_t left = changed ? field->bytes : 0; left > 0; left--) {
        bits_get(bits, 8);
        *++part = bits->word[0];
    }
}

/// Adds `change` to the integer at `value`.
static void value_add(const struct esk_packed_field *field, uint8_t *value,
                      uint32_t change) {
    uint16_t bytes = field->bytes;
    uint32_t sum = esk_packed_load(value, bytes) + change;
    if (bytes == 8) {
        esk_store_u32(value + 4, esk_packed_high(value, change));
    }
    if (bytes >= 4) {
        esk_store_u32(value, sum);
    } else {
        value[0] = (uint8_t)(sum & UINT8_MAX);
        if (bytes == 2) {
            value[1] = esk_byte_from(sum, 8);
        }
    }
}

/// Writes the field's value to `to`. Returns MARK_NONE; MARK_BAD: it is no
/// decimal.
static uint8_t value_give(const struct esk_packed *packed,
                          const struct esk_packed_field *field,
                          const uint8_t *value, uint8_t *to) {
    uint8_t mode = field->mode;
    if (mode < ESK_PACKED_FLOAT) {
        esk_bytes_copy(to, value, field->bytes);
        return MARK_NONE;
    }
    uint32_t number = esk_load_u32(value);
    if (mode == ESK_PACKED_FLOAT) {
        /* The order form is its own inverse but for the sign. */
        number =
            packed_order(number ^ ESK_ORDER_WORD_SIGN) ^ ESK_ORDER_WORD_SIGN;
    } else {
        if (number + ESK_PACKED_DECIMAL_LIMIT > 2u * ESK_PACKED_DECIMAL_LIMIT) {
            return MARK_BAD;
        }
        number = packed->decimals->decode(number,
                                          (uint8_t)(mode - ESK_PACKED_DECIMAL));
    }
    esk_store_u32(to, number);
    return MARK_NONE;
}

/// Adds `change` to the value of a field that is no word, and writes it into
/// `row` unless that is NULL. Returns MARK_NONE; MARK_BAD.
static ESK_OUT_OF_LINE uint8_t value_take(const struct esk_packed *packed,
                                          const struct esk_packed_field *field,
                                          uint8_t *value, uint32_t change,
                                          uint8_t *row) {
    if (field->mode != ESK_PACKED_RAW) {
        value_add(field, value, change);
    }
    return row == NULL ? MARK_NONE
                       : value_give(packed, field, value, row + field->offset);
}

/// Reads the fields of a row, into `row` unless it is NULL. bits->mark becomes
/// MARK_NONE; the mark of field 0; MARK_BAD.
static ESK_IN_LINE void fields_get(const struct esk_packed *packed,
                                   struct esk_packed_state *state,
                                   struct bits *bits, uint8_t *row) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    bool silent =
        (state->flags & PACKED_ANY_QUIET) != 0 && bits_few(bits, 1) != 0;
    bits->mark = MARK_NONE;
    for (uint8_t left = packed->field_count; left > 0; left--) {
        uint32_t change = 0;
        if (!silent || (*part & PACKED_IS_QUIET) == 0) {
            if (field->mode == ESK_PACKED_RAW) {
                raw_get(bits, field, part);
            } else {
                change = code_get(bits, part);
            }
        }
        if (bits->mark == MARK_NONE) {
            if (field->mode == ESK_PACKED_LINEAR) {
                uint8_t *step = packed_part_next(field, part) - 4;
                change += esk_load_u32(step);
                esk_store_u32_here(step, change);
            }
            if (field->is_word) {
                change += esk_load_u32(part + 1);
                esk_store_u32_here(part + 1, change);
                if (row != NULL) {
                    esk_store_u32_here(row + field->offset, change);
                }
            } else {
                bits->mark = value_take(packed, field, part + 1, change, row);
            }
        } else if (bits->mark == MARK_ZERO &&
                   field->mode >= ESK_PACKED_DECIMAL) {
            bits_get(bits, 32);
            if (row != NULL) {
                memcpy(row + field->offset, bits->word, 4);
            }
            bits->mark = MARK_NONE;
        }
        if (bits->mark != MARK_NONE) {
            if (left != packed->field_count) {
                bits->mark = MARK_BAD;
            }
            return;
        }
        part = packed_part_next(field, part);
        field++;
    }
}

/// Takes the whole row at the offset `at`.
static int whole_get(const struct esk_packed *packed,
                     struct esk_packed_state *state, const uint8_t *page,
                     uint16_t at, uint8_t *row) {
    if (at > state->end || packed->row_bytes > state->end - at) {
        return ESK_END;
    }
    state->at = (uint16_t)(at + packed->row_bytes);
    state->bit = 0;
    esk_packed_take(packed, state, page + at, true);
    if (row != NULL) {
        esk_bytes_copy(row, page + at, packed->row_bytes);
    }
    return ESK_OK;
}

/// Takes the next row of a cell whose rest is whole rows.
static int rest_get(const struct esk_packed *packed,
                    struct esk_packed_state *state, const uint8_t *page,
                    uint8_t *row) {
    uint16_t at = packed_unit_up(packed, esk_packed_written(state));
    int status = whole_get(packed, state, page, at, row);
    return status == ESK_OK && esk_bytes_are(page + at, packed->row_bytes, 0)
               ? ESK_END
               : status;
}

/// Sets `bits` to the state's place, which is before its end.
static void bits_begin(struct bits *bits, const uint8_t *page,
                       const struct esk_packed_state *state) {
    bits->at = page + state->at;
    bits->end = page + state->end;
    bits->left = 0;
    bits->over = false;
    if (state->bit > 0) {
        bits->left = (uint8_t)(8u - state->bit);
        bits->byte =
            (uint8_t)((uint16_t)(*bits->at++ * (uint16_t)esk_bit(bits->left)) >>
                      8);
    } else {
        bits->byte = 0;
    }
}

/// Reads the next row of the cell. Returns ESK_OK; ESK_END; ESK_E_CORRUPT.
static int row_get(const struct esk_packed *packed,
                   struct esk_packed_state *state, const uint8_t *page,
                   uint8_t *row) {
    struct bits bits;
    uint8_t mark = MARK_ZERO;
    while (mark == MARK_ZERO) {
        if ((state->flags & PACKED_WHOLE) != 0) {
            return rest_get(packed, state, page, row);
        }
        if (state->at >= state->end) {
            return ESK_END;
        }
        bits_begin(&bits, page, state);
        fields_get(packed, state, &bits, row);
        mark = bits.mark;
        if (mark == MARK_ZERO && bits.over) {
            return ESK_END;
        }
        if (mark == MARK_ONE) {
            mark = bits_few(&bits, 1) != 0 ? MARK_ZERO : MARK_ONE;
            if (mark == MARK_ZERO) {
                state->flags |= PACKED_WHOLE;
            }
        }
        if (mark == MARK_BAD || bits.over) {
            return ESK_E_CORRUPT;
        }
        state->at = (uint16_t)(bits.at - page);
        state->bit = 0;
        if (mark == MARK_ZERO) {
            state->at = packed_unit_up(packed, state->at);
        } else if (mark == MARK_NONE && bits.left > 0) {
            state->at--;
            state->bit = (uint8_t)(8u - bits.left);
        }
    }
    if (mark == MARK_NONE) {
        return ESK_OK;
    }
    int status = whole_get(packed, state, page, state->at, row);
    return status == ESK_END ? ESK_E_CORRUPT : status;
}

/// Takes the first row of the cell at the state's place, and the scales.
static int cell_open(const struct esk_packed *packed,
                     struct esk_packed_state *state, const uint8_t *page,
                     uint8_t *row) {
    const uint8_t *from = page + state->at;
    uint16_t last = (uint16_t)(state->at | packed->cell_mask);
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    state->flags = 0;
    if (!esk_packed_has_cell(packed, page, state->at, state->limit)) {
        return ESK_END;
    }
    state->end = state->limit < last ? state->limit : last;
    state->bit = 0;
    esk_packed_take(packed, state, from, false);
    if (row != NULL) {
        esk_bytes_copy(row, from, packed->row_bytes);
    }
    from += packed->row_bytes;
    state->at = (uint16_t)(state->at + packed->row_bytes);
    if (*from == ESK_PACKED_WHOLE) {
        state->at++;
        state->flags = PACKED_WHOLE;
        return ESK_OK;
    }
    for (uint8_t left = packed->field_count; left > 0; left--) {
        uint8_t stored = *from++;
        if (stored == 0 || stored > ESK_PACKED_QUIET) {
            return ESK_E_CORRUPT;
        }
        *part = stored == ESK_PACKED_QUIET
                    ? PACKED_IS_QUIET
                    : (uint8_t)(stored - ESK_PACKED_SCALE_ONE);
        if (stored == ESK_PACKED_QUIET) {
            state->flags |= PACKED_ANY_QUIET;
        }
        part = packed_part_next(field++, part);
        state->at++;
    }
    return ESK_OK;
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
    state->at = cell;
    state->limit = limit;
    state->flags = PACKED_FIRST;
}

void esk_packed_extend(const struct esk_packed *packed,
                       struct esk_packed_state *state, uint16_t limit) {
    uint16_t last = (uint16_t)(state->at - 1u) | packed->cell_mask;
    state->limit = limit;
    if ((state->flags & PACKED_FIRST) == 0) {
        state->end = limit < last ? limit : last;
    }
}

bool esk_packed_has_cell(const struct esk_packed *packed, const uint8_t *page,
                         uint16_t cell, uint16_t limit) {
    if (cell >= limit || packed_head(packed) > limit - cell) {
        return false;
    }
    uint8_t stored = page[cell + packed->row_bytes];
    return stored != 0 && stored != UINT8_MAX;
}

int esk_packed_next(const struct esk_packed *packed,
                    struct esk_packed_state *state, const uint8_t *page,
                    uint8_t *row) {
    if ((state->flags & PACKED_FIRST) != 0) {
        return cell_open(packed, state, page, row);
    }
    int status = row_get(packed, state, page, row);
    if (status == ESK_END) {
        state->at = packed_cell_next(packed, (uint16_t)(state->end - 1u));
        status = cell_open(packed, state, page, row);
    }
    return status;
}
