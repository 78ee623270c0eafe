// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages: what writer and reader do alike.
#include "table/series/codec/packed_state.h"

uint16_t esk_packed_state_bytes(const struct esk_packed *packed) {
    uint16_t bytes = sizeof(struct esk_packed_state);
    for (uint8_t i = 0; i < packed->field_count; i++) {
        bytes = (uint16_t)(bytes + packed->fields[i].part_bytes);
    }
    return bytes;
}

ESK_OUT_OF_LINE void esk_packed_adapt(uint8_t *scale, uint8_t zeros) {
    uint8_t now = *scale & (uint8_t)~PACKED_IS_QUIET;
    if (zeros == 0 && now > 0) {
        *scale = (uint8_t)(*scale - 1u);
    } else if (zeros > 1 && now < ESK_PACKED_SCALE_MAX - 1) {
        *scale = (uint8_t)(*scale + 2u);
    }
}

ESK_OUT_OF_LINE void esk_packed_add(uint8_t *to, const uint8_t *from,
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

ESK_OUT_OF_LINE void esk_packed_sign(uint8_t *number, uint8_t bytes) {
    uint8_t fill = (number[bytes - 1] & 0x80u) != 0 ? UINT8_MAX : 0;
    for (; bytes < 8; bytes++) {
        number[bytes] = fill;
    }
}

ESK_OUT_OF_LINE bool esk_packed_turn(const struct packed_call *call,
                                     uint8_t mode, const uint8_t *from,
                                     uint8_t *to, bool back) {
    const struct esk_packed_decimals *decimals = call->packed->decimals;
    if (mode != ESK_PACKED_FLOAT) {
        mode = (uint8_t)(mode - ESK_PACKED_DECIMAL);
        return back ? decimals->decode(from, mode, to)
                    : decimals->encode(from, mode, to);
    }
    /* The order form is its own inverse but for the sign: every bit is kept. */
    bool is_high = (from[3] & 0x80u) != 0;
    uint8_t flip = is_high != back ? UINT8_MAX : 0;
    for (uint8_t i = 0; i < 4; i++) {
        to[i] = from[i] ^ flip;
    }
    to[3] = (uint8_t)(to[3] ^ (flip == 0 ? 0x80u : 0u));
    return true;
}

ESK_OUT_OF_LINE uint32_t esk_packed_change(struct packed_call *call,
                                           const struct esk_packed_field *field,
                                           const uint8_t *from, uint8_t *part) {
    uint8_t mode = field->mode;
    uint16_t bytes = field->bytes;
    uint8_t *word = call->word;
    uint32_t change = 1;
    part++;
    call->bare = mode == ESK_PACKED_RAW;
    if (call->bare) {
        change = esk_bytes_equal(from, part, bytes) ? 0 : 1;
    } else {
        if (mode >= ESK_PACKED_FLOAT) {
            if (!esk_packed_turn(call, mode, from, call->form, false)) {
                call->bare = true;
                return 1;
            }
            from = call->form;
        }
        if (ESK_HOST && bytes == 8) {
            esk_store_u64(word, esk_load_u64(from) - esk_load_u64(part));
        } else if (ESK_HOST && bytes == 4) {
            uint32_t less = esk_load_u32(from) - esk_load_u32(part);
            esk_store_u64(word, (uint64_t)(int64_t)(int32_t)less);
        } else {
            esk_bytes_copy(word, from, bytes);
            esk_packed_add(word, part, (uint8_t)bytes, UINT8_MAX);
            esk_packed_sign(word, (uint8_t)bytes);
        }
        change = esk_load_u32(word);
        if (esk_load_u32(word + 4) + (change >> 31) != 0) {
            call->wide = true;
        }
    }
    if (call->keep) {
        esk_bytes_copy(part, from, bytes);
    }
    return change;
}

ESK_OUT_OF_LINE uint16_t esk_packed_whole(const struct packed_call *call) {
    const struct esk_packed_state *state = call->state;
    uint16_t at = esk_packed_written(state);
    uint16_t end = (uint16_t)(call->end - call->page);
    if ((state->flags & PACKED_WHOLE) != 0) {
        at = packed_unit_up(call->packed, at);
    }
    return at <= end && call->packed->row_bytes <= end - at ? at : 0;
}

void esk_packed_take(struct packed_call *call, const uint8_t *row,
                     bool restart) {
    const struct esk_packed_field *field = call->packed->fields;
    uint8_t *part = packed_parts(call->state);
    if (call->out != NULL) {
        esk_bytes_copy(call->out, row, call->packed->row_bytes);
    }
    call->keep = true;
    uint8_t left = call->packed->field_count;
    if ((call->state->flags & PACKED_WHOLE) != 0) {
        left = 1; /* only the key is asked for */
    }
    for (; left > 0; left--) {
        if (restart) {
            *part &= PACKED_IS_QUIET;
            *part |= ESK_PACKED_SCALE_START;
        }
        if (field->mode >= ESK_PACKED_DECIMAL) {
            esk_store_u32(part + 1, 0);
        }
        (void)esk_packed_change(call, field, row + field->offset, part);
        part = packed_part_next(field, part);
        if (field->mode == ESK_PACKED_LINEAR) {
            esk_store_u32(part - 4, 0);
        }
        field++;
    }
}

uint16_t esk_packed_part_bytes(uint16_t bytes, uint8_t mode) {
    return (uint16_t)(bytes + (mode == ESK_PACKED_LINEAR ? 5u : 1u));
}

struct esk_packed_field esk_packed_field(uint16_t offset, uint16_t bytes,
                                         uint8_t mode) {
    struct esk_packed_field field;
    field.offset = offset;
    field.bytes = bytes;
    field.part_bytes = esk_packed_part_bytes(bytes, mode);
    field.mode = mode;
    field.is_word =
        bytes == 4 && (mode == ESK_PACKED_DELTA || mode == ESK_PACKED_LINEAR);
    return field;
}

uint16_t esk_packed_written(const struct esk_packed_state *state) {
    return (uint16_t)(state->at + (state->bit > 0 ? 1u : 0u));
}

const uint8_t *esk_packed_key(const struct esk_packed_state *state) {
    return (const uint8_t *)(state + 1) + 1;
}
