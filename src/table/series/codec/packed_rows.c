// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages: rows, written and read, which may be of any bytes.
///
/// Both directions predict a value by the row before, and add the same change
/// to the prediction. A writer computes the change and writes its code, a
/// reader reads it. All else is the same code for both.
///
/// A row is written in one pass, behind the bits that are there. If it turns
/// out not to fit, or to be longer than the row itself, the place behind the
/// last row stays: then the row begins the next cell, or is written whole.
///
/// If a cell's rows do not shrink, the rest of them is whole. If those of the
/// next cell do not, either, all up to the page's end are.
///
/// Invariants
///  1. No byte at or after a reader's `end` is read: bits from there on are
///     zero.
///  2. A row takes at least one bit, an alignment at least a byte. So a call
///     ends after at most as many steps as the page has bytes.
///  3. Where a writer's `bit` is above 0, the bits of the byte at `at` from
///     `bit` on are zero.
///
/// Cost: docs/results/packed.md has the cycles.
#include "table/series/codec/packed_code.h"

enum {
    SAVED_POOR = 2, ///< PACKED_SAVED, after a cell that ended in whole rows
    MARK_BYTES = 3, ///< of a whole row, at most
    MARK_BITS = ESK_PACKED_LENGTH_BITS + 1,
    MARK_REST = ESK_PACKED_MARK_ROW | 1u << ESK_PACKED_LENGTH_BITS,
};

/// Adds the number of `count` bytes at `from` to that at `to`. With a `flip` of
/// UINT8_MAX subtracts it.
static ESK_OUT_OF_LINE void number_add(uint8_t *to, const uint8_t *from,
                                       uint8_t count, uint8_t flip) {
    uint8_t carry = flip & 1u;
    for (; count > 0; count--) {
        uint16_t sum = (uint16_t)((uint16_t)(*to + carry) + (*from ^ flip));
        *to = (uint8_t)(sum & UINT8_MAX);
        carry = (uint8_t)(sum >> 8);
        from++;
        to++;
    }
}

/// Extends the sign of the number of `bytes` bytes to 8 bytes.
static ESK_OUT_OF_LINE void number_sign(uint8_t *number, uint8_t bytes) {
    uint8_t fill = (number[bytes - 1] & 0x80u) != 0 ? UINT8_MAX : 0;
    for (; bytes < 8; bytes++) {
        number[bytes] = fill;
    }
}

/// change_of for a field that is no word.
static ESK_OUT_OF_LINE uint32_t
change_find(struct packed_call *call, const struct esk_packed_field *field,
            const uint8_t *value) {
    const uint8_t *from = call->row + field->offset;
    uint8_t mode = field->mode;
    uint8_t bytes = (uint8_t)field->bytes;
    uint8_t *word = call->word;
    if (mode == ESK_PACKED_RAW) {
        return esk_bytes_equal(from, value, field->bytes) ? 0 : 1;
    }
    if (mode >= ESK_PACKED_FLOAT) {
        if (!esk_packed_turn(call, mode, from, call->form, false)) {
            esk_bytes_copy(call->form, from, 4);
            call->mark = MARK_ZERO;
            return 1;
        }
        from = call->form;
    }
    if (ESK_HOST && bytes == 8) {
        esk_store_u64(word, esk_load_u64(from) - esk_load_u64(value));
    } else if (ESK_HOST && bytes == 4) {
        uint32_t less = esk_load_u32(from) - esk_load_u32(value);
        esk_store_u64(word, (uint64_t)(int64_t)(int32_t)less);
    } else {
        esk_bytes_copy(word, from, bytes);
        number_add(word, value, bytes, UINT8_MAX);
        number_sign(word, bytes);
    }
    uint32_t change = esk_load_u32(word);
    if (esk_load_u32(word + 4) + (change >> 31) != 0) {
        call->mark = MARK_BAD;
        return 1;
    }
    return change;
}

/// The change of the row's value from the prediction; of a raw field 1 for a
/// value other than before. call->mark becomes MARK_ZERO: the value has no
/// number, and is in call->form; MARK_BAD: the change is too wide.
static ESK_IN_LINE uint32_t change_of(struct packed_call *call,
                                      const struct esk_packed_field *field,
                                      uint8_t *part) {
    uint32_t change;
    if (field->is_word) {
        change =
            esk_load_u32(call->row + field->offset) - esk_load_u32(part + 1);
    } else {
        change = change_find(call, field, part + 1);
    }
    if (field->mode == ESK_PACKED_LINEAR) {
        change -= esk_load_u32(packed_part_next(field, part) - 4);
    }
    return change;
}

/// Adds `change`, which has a sign, to the value of a field that is no word,
/// unless it is raw. A reader writes the value into the row.
/// Returns false: it is no decimal.
static bool value_pass(struct packed_call *call,
                       const struct esk_packed_field *field, uint8_t *value,
                       uint32_t change, bool writes) {
    uint8_t mode = field->mode;
    uint8_t bytes = (uint8_t)field->bytes;
    uint8_t *to = call->row + field->offset;
    if (mode != ESK_PACKED_RAW) {
        if (ESK_HOST && bytes == 8) {
            uint64_t wide = (uint64_t)(int64_t)(int32_t)change;
            esk_store_u64(value, esk_load_u64(value) + wide);
        } else if (ESK_HOST && bytes == 4) {
            esk_store_u32(value, esk_load_u32(value) + change);
        } else {
            esk_store_u32(call->word, change);
            number_sign(call->word, 4);
            number_add(value, call->word, bytes, 0);
        }
    }
    if (writes) {
        return true;
    }
    if (mode >= ESK_PACKED_FLOAT) {
        return esk_packed_turn(call, mode, value, to, true);
    }
    esk_bytes_copy(to, value, field->bytes);
    return true;
}

/// Writes or reads the value of a raw field.
static void raw_pass(struct packed_call *call,
                     const struct esk_packed_field *field, uint8_t *part) {
    const uint8_t *from = call->row + field->offset;
    uint8_t changed = 0;
    if (call->writes) {
        changed = (uint8_t)change_find(call, field, part + 1);
    }
    if (esk_packed_bits_pass(call, changed ^ 1u, 1) != 0) {
        packed_scale_adapt(part, 0);
    } else {
        packed_scale_adapt(part, ESK_PACKED_ZEROS);
        part++;
        esk_bytes_copy(part, from, field->bytes);
        esk_packed_bytes_pass(call, part, field->bytes);
    }
}

/// Whether the quiet fields of the row to be written are as predicted.
static bool is_silent(struct packed_call *call) {
    const struct esk_packed_field *field = call->packed->fields;
    uint8_t *part = packed_parts(call->state);
    uint8_t left = call->packed->field_count;
    for (; left > 0; left--) {
        uint8_t *next = packed_part_next(field, part);
        if ((*part & PACKED_IS_QUIET) != 0) {
            uint32_t change = change_of(call, field, part);
            if (change != 0 || call->mark == MARK_BAD) {
                return false;
            }
        }
        part = next;
        field++;
    }
    return true;
}

/// Writes the fields of the row, or reads them into the row. Their values
/// become those of the row before. call->mark becomes MARK_NONE; a mark of
/// field 0; MARK_BAD: what was read is no row, or a change of the row that is
/// written is too wide.
static ESK_OUT_OF_LINE_ON_32_BITS void fields_pass(struct packed_call *call,
                                                   bool writes) {
    const struct esk_packed_field *field = call->packed->fields;
    uint8_t *part = packed_parts(call->state);
    uint8_t silent = 0;
    uint8_t left = call->packed->field_count;
    if ((call->state->flags & PACKED_ANY_QUIET) != 0) {
        if (writes) {
            silent = is_silent(call);
            esk_packed_bits_put(call, silent, 1, 0);
        } else {
            silent = esk_packed_bits_ahead(call) & 1u;
            call->bit++;
        }
    }
    call->mark = MARK_NONE;
    for (; left > 0; left--) {
        uint32_t change = 0;
        if (silent == 0 || (*part & PACKED_IS_QUIET) == 0) {
            if (field->mode == ESK_PACKED_RAW) {
                raw_pass(call, field, part);
            } else if (writes) {
                change = change_of(call, field, part);
                packed_code_put_word(call, change, part);
            } else {
                change = packed_code_get_word(call, part);
            }
        }
        if (call->mark == MARK_NONE) {
            if (field->mode == ESK_PACKED_LINEAR) {
                uint8_t *step = packed_part_next(field, part) - 4;
                change += esk_load_u32(step);
                esk_store_u32_here(step, change);
            }
            if (field->is_word) {
                change += esk_load_u32(part + 1);
                esk_store_u32_here(part + 1, change);
                if (!writes) {
                    esk_store_u32_here(call->row + field->offset, change);
                }
            } else if (!value_pass(call, field, part + 1, change, writes)) {
                call->mark = MARK_BAD;
                return;
            }
        } else if (call->mark == MARK_ZERO &&
                   field->mode >= ESK_PACKED_DECIMAL) {
            esk_packed_bytes_pass(call, call->form, 4);
            if (!writes) {
                esk_bytes_copy(call->row + field->offset, call->form, 4);
            }
            call->mark = MARK_NONE;
        } else {
            if (left != call->packed->field_count) {
                call->mark = MARK_BAD;
            }
            return;
        }
        part = packed_part_next(field, part);
        field++;
    }
}

/// Copies the row to the offset `at` of the page, or from there, and makes it
/// the row before. The state's place becomes the one behind it. Steps become
/// 0, and the number of a decimal field whose value has none. With `restart`
/// the scales become ESK_PACKED_SCALE_START.
static ESK_OUT_OF_LINE void row_move(struct packed_call *call, uint16_t at,
                                     bool restart) {
    const struct esk_packed_field *field = call->packed->fields;
    uint8_t *part = packed_parts(call->state);
    uint16_t row_bytes = call->packed->row_bytes;
    uint8_t *row = call->row;
    uint8_t *place = call->page + at;
    uint8_t left = call->packed->field_count;
    call->state->at = (uint16_t)(at + row_bytes);
    call->state->bit = 0;
    if (call->writes) {
        esk_bytes_copy(place, row, row_bytes);
    } else {
        esk_bytes_copy(row, place, row_bytes);
        if ((call->state->flags & PACKED_WHOLE) != 0) {
            left = 1; /* only the key is asked for */
        }
    }
    for (; left > 0; left--) {
        const uint8_t *from = row + field->offset;
        uint8_t *next = packed_part_next(field, part);
        if (restart) {
            *part &= PACKED_IS_QUIET;
            *part |= ESK_PACKED_SCALE_START;
        }
        part++;
        if (field->mode >= ESK_PACKED_LINEAR) {
            esk_store_u32(next - 4, 0);
        }
        if (field->mode < ESK_PACKED_FLOAT) {
            esk_bytes_copy(part, from, field->bytes);
        } else {
            (void)esk_packed_turn(call, field->mode, from, part, false);
        }
        part = next;
        field++;
    }
}

/// Moves the whole row that comes next: at the next byte, behind a writer's
/// call->mark unless that is 0; or at the next unit in a cell whose rest is
/// whole rows. There a row of zeros is no row. Returns false: there is no row,
/// or it has no room in the cell.
static bool whole_pass(struct packed_call *call) {
    struct esk_packed_state *state = call->state;
    uint16_t row_bytes = call->packed->row_bytes;
    bool rest = (state->flags & PACKED_WHOLE) != 0;
    uint8_t bits = 0;
    if (call->writes && call->mark != 0) {
        bits = packed_mark_bits(state, ESK_PACKED_ZEROS + MARK_BITS);
    }
    uint16_t at = esk_packed_after(state, bits);
    if (rest) {
        at = esk_packed_unit_up(call->packed, at);
    }
    uint8_t *place = call->page + at;
    if ((uint16_t)(at + row_bytes) > (uint16_t)(call->end - call->page)) {
        return false;
    }
    if (rest && esk_bytes_are(call->writes ? call->row : place, row_bytes, 0)) {
        return false;
    }
    if (call->writes) {
        esk_packed_zeros(state, call->page, at);
        if (bits != 0) {
            packed_call_place(call);
            esk_packed_bits_put(call, call->mark, MARK_BITS,
                                (uint8_t)(bits - MARK_BITS));
        }
    }
    row_move(call, at, true);
    return true;
}

/// Moves the first row of the cell at the state's place, and the scales.
/// Returns false: bytes are no scales.
static bool cell_pass(struct packed_call *call) {
    const struct esk_packed *packed = call->packed;
    struct esk_packed_state *state = call->state;
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    state->flags = 0;
    row_move(call, state->at, false);
    uint8_t *at = call->page + state->at;
    if (!call->writes && *at == ESK_PACKED_WHOLE) {
        at++;
        state->last = PACKED_LAST_OF_ALL;
        state->flags = PACKED_WHOLE;
    } else {
        for (uint8_t left = packed->field_count; left > 0; left--) {
            if (call->writes) {
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

/// Decides how a row is written whose bits stand behind the last row.
/// call->mark becomes MARK_NONE: by these bits; else the row is whole, behind
/// the mark, or it is 0: behind the begin of the cell, which says so.
static void form_choose(struct packed_call *call, uint16_t limit) {
    struct esk_packed_state *state = call->state;
    bool whole = call->mark != MARK_NONE;
    int16_t more = (int16_t)(call->at - call->page);
    more = (int16_t)(more - (int16_t)state->at);
    more = (int16_t)(more - (int16_t)call->packed->row_bytes);
    if (whole || more > 1) {
        call->mark = ESK_PACKED_MARK_ROW;
        more = MARK_BYTES;
    }
    const int16_t most = 255;
    int16_t saved = (int16_t)state->saved;
    if (more >= 0 || saved <= most) {
        saved = (int16_t)(saved - more);
        state->saved = (uint16_t)saved;
    }
    if (more >= 0 && saved < MARK_BYTES) {
        /* The cell's rows saved too little: all from this one on are whole; if
           it is the second one, up to the page's end. */
        call->mark = MARK_REST;
        if ((state->flags & PACKED_FRESH) != 0) {
            call->mark = 0;
            state->at = (uint16_t)(state->at - call->packed->field_count);
            call->page[state->at++] = ESK_PACKED_WHOLE;
            state->last = PACKED_LAST_OF_ALL;
            call->end = call->page + limit;
        }
        state->flags |= PACKED_WHOLE;
    }
    state->flags &= (uint8_t)~PACKED_FRESH;
}

/// Moves the next row of the cell. Returns ESK_OK; ESK_END: the cell has no
/// more rows, or takes no more; ESK_E_CORRUPT.
static ESK_IN_LINE int row_pass(struct packed_call *call, uint16_t limit,
                                bool writes) {
    struct esk_packed_state *state = call->state;
    call->mark = 0;
    while ((state->flags & PACKED_WHOLE) == 0) {
        packed_call_place(call);
        if (writes) {
            *call->at &= (uint8_t)(esk_bit(call->bit) - 1u);
        } else if (call->at >= call->end) {
            return ESK_END;
        }
        fields_pass(call, writes);
        if (writes) {
            form_choose(call, limit);
            if (call->mark != MARK_NONE) {
                break;
            }
            if (call->at == call->end) {
                return ESK_END;
            }
        } else if (call->mark == MARK_ONE &&
                   esk_packed_bits_pass(call, 0, 1) != 0) {
            state->flags |= PACKED_WHOLE;
        }
        if (call->bit >= 8) {
            call->bit = (uint8_t)(call->bit - 8u);
            call->at++;
        }
        if (call->mark == MARK_BAD || call->at > call->end ||
            (call->at == call->end && call->bit > 0)) {
            return call->mark == MARK_ZERO ? ESK_END : ESK_E_CORRUPT;
        }
        state->at = (uint16_t)(call->at - call->page);
        state->bit = call->bit;
        if (call->mark == MARK_NONE) {
            return ESK_OK;
        }
        if (call->mark == MARK_ONE) {
            break;
        }
        state->at = esk_packed_unit_up(call->packed, esk_packed_written(state));
        state->bit = 0;
    }
    if (whole_pass(call)) {
        return ESK_OK;
    }
    return (state->flags & PACKED_WHOLE) != 0 || writes ? ESK_END
                                                        : ESK_E_CORRUPT;
}

/// Moves the next row: in the cell of the one before, or in the next.
static ESK_OUT_OF_LINE_ON_CHIPS int row_next(const struct esk_packed *packed,
                                             struct esk_packed_state *state,
                                             uint8_t *page, uint8_t *row,
                                             uint16_t limit, bool writes) {
    struct packed_call call;
    uint16_t cell = ESK_ENVELOPE_BYTES;
    call.packed = packed;
    call.state = state;
    call.page = page;
    call.row = row;
    call.writes = writes;
    if (state->at != 0) {
        if ((state->flags & PACKED_CLOSED) == 0) {
            call.end = page + esk_packed_last(state, limit);
            int status = row_pass(&call, limit, writes);
            if (status != ESK_END) {
                return status;
            }
        }
        cell = (uint16_t)(state->last + 1u);
        if (writes) {
            state->flags |= PACKED_CLOSED;
            (void)esk_packed_end(state, page, (uint16_t)(limit + 1u));
        }
    }
    uint16_t last = cell | packed->cell_mask;
    if (!packed_cell_fits(packed, cell, last < limit ? last : limit) ||
        !(writes || esk_packed_has_cell(packed, page, cell, limit))) {
        return writes ? ESK_FULL : ESK_END;
    }
    uint16_t saved =
        (state->flags & PACKED_WHOLE) != 0 ? SAVED_POOR : PACKED_SAVED;
    state->at = cell;
    state->last = last;
    if (!cell_pass(&call)) {
        return ESK_E_CORRUPT;
    }
    if (writes) {
        state->flags |= PACKED_FRESH;
        state->saved = saved;
    }
    return ESK_OK;
}

ESK_HOST_FLAT int esk_packed_append(const struct esk_packed *packed,
                                    struct esk_packed_state *state,
                                    uint8_t *page, uint16_t end,
                                    const uint8_t *row) {
    return row_next(packed, state, page, (uint8_t *)(uintptr_t)row,
                    (uint16_t)(end - 1u), true);
}

ESK_HOST_FLAT int esk_packed_next(const struct esk_packed *packed,
                                  struct esk_packed_state *state,
                                  const uint8_t *page, uint8_t *row) {
    return row_next(packed, state, (uint8_t *)(uintptr_t)page, row,
                    state->limit, false);
}
