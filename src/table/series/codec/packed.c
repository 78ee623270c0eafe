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

ESK_OUT_OF_LINE bool esk_packed_turn(const struct packed_call *call,
                                     uint8_t mode, const uint8_t *from,
                                     uint8_t *to, bool back) {
    const struct esk_packed_decimals *decimals = call->packed->decimals;
    if (mode != ESK_PACKED_FLOAT) {
        mode = (uint8_t)(mode - ESK_PACKED_DECIMAL);
        return back ? decimals->decode(from, mode, to)
                    : decimals->encode(from, mode, to);
    }
    /* The order form is its own inverse but for the sign. */
    uint32_t bits = esk_load_u32(from);
    bool is_high = (bits & ESK_ORDER_WORD_SIGN) != 0;
    esk_store_u32(to, is_high != back ? ~bits : bits ^ ESK_ORDER_WORD_SIGN);
    return true;
}

void esk_packed_zeros(const struct esk_packed_state *state, uint8_t *page,
                      uint16_t to) {
    uint16_t at = state->at;
    if (state->bit > 0) {
        page[at] &= (uint8_t)(esk_bit(state->bit) - 1u);
        at++;
    }
    for (; at < to; at++) {
        page[at] = 0;
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

ESK_APART uint16_t esk_packed_after(const struct esk_packed_state *state,
                                    uint8_t bits) {
    bits = (uint8_t)(bits + state->bit + 7);
    return (uint16_t)(state->at + (uint8_t)(bits >> 3));
}

uint16_t esk_packed_written(const struct esk_packed_state *state) {
    return esk_packed_after(state, 0);
}

uint16_t esk_packed_unit_up(const struct esk_packed *packed, uint16_t at) {
    return (uint16_t)(((uint16_t)(at - 1u) | packed->unit_mask) + 1u);
}

uint16_t esk_packed_last(const struct esk_packed_state *state, uint16_t last) {
    return state->last < last ? state->last : last;
}

const uint8_t *esk_packed_key(const struct esk_packed_state *state) {
    return (const uint8_t *)(state + 1) + 1;
}
