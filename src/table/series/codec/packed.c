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

ESK_OUT_OF_LINE uint32_t esk_packed_load(const uint8_t *from, uint16_t bytes) {
    if (bytes == 1) {
        return *from;
    }
    return bytes == 2 ? esk_load_u16(from) : esk_load_u32(from);
}

uint32_t esk_packed_high(const uint8_t *value, uint32_t change) {
    uint32_t low = esk_load_u32(value);
    uint32_t high = esk_load_u32(value + 4);
    high += low + change < low ? 1u : 0u;
    return (change & ESK_ORDER_WORD_SIGN) != 0 ? high - 1u : high;
}

bool esk_packed_form(const struct esk_packed *packed, uint8_t mode,
                     uint32_t bits, uint32_t *number) {
    if (mode == ESK_PACKED_FLOAT) {
        *number = packed_order(bits);
        return true;
    }
    return packed->decimals->encode(bits, (uint8_t)(mode - ESK_PACKED_DECIMAL),
                                    number);
}

void esk_packed_take(const struct esk_packed *packed,
                     struct esk_packed_state *state, const uint8_t *row,
                     bool restart) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    for (uint8_t left = packed->field_count; left > 0; left--) {
        const uint8_t *from = row + field->offset;
        if (restart) {
            *part =
                (uint8_t)((*part & PACKED_IS_QUIET) | ESK_PACKED_SCALE_START);
        }
        esk_bytes_copy(part + 1, from, field->bytes);
        if (field->mode >= ESK_PACKED_FLOAT) {
            uint32_t number = 0;
            (void)esk_packed_form(packed, field->mode, esk_load_u32(from),
                                  &number);
            esk_store_u32(part + 1, number);
        }
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
    field.is_word = bytes == 4 && mode - ESK_PACKED_DELTA < 2;
    return field;
}

uint16_t esk_packed_written(const struct esk_packed_state *state) {
    return (uint16_t)(state->at + (state->bit > 0 ? 1u : 0u));
}

const uint8_t *esk_packed_key(const struct esk_packed_state *state) {
    return (const uint8_t *)(state + 1) + 1;
}
