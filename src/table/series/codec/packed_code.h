// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A packed page's bits, and the codes of changes in them.
///
/// Writing stops at the last byte of the cell, which is never used, so that no
/// bit is tested for room. A host writes and reads a code as one word, as long
/// as the cell has so many bytes more.
///
/// Private to this folder.
#ifndef ESK_TABLE_SERIES_CODEC_PACKED_CODE_H
#define ESK_TABLE_SERIES_CODEC_PACKED_CODE_H

#include "table/series/codec/packed_state.h"

/// A change's code: small changes before large, at the bottom the sign.
static inline uint32_t packed_zigzag(uint32_t change) {
    bool minus = (change & ESK_ORDER_WORD_SIGN) != 0;
    change <<= 1;
    return minus ? ~change : change;
}

/// The change of a code.
static inline uint32_t packed_unzigzag(uint32_t code) {
    return (code & 1u) != 0 ? ~(code >> 1) : code >> 1;
}

/// The next 8 bits of a reader, which adds to call->bit how many it takes.
uint8_t esk_packed_bits_ahead(struct packed_call *call);

/// Writes `zeros` zeros, at most 8, and the `count` bits of `value`, at most 8.
void esk_packed_bits_put(struct packed_call *call, uint8_t value, uint8_t count,
                         uint8_t zeros);

/// Writes the `count` bits of `value`, at most 8, or reads so many. Returns
/// them.
uint8_t esk_packed_bits_pass(struct packed_call *call, uint8_t value,
                             uint8_t count);

/// Writes `count` bytes, or reads so many.
void esk_packed_bytes_pass(struct packed_call *call, uint8_t *bytes,
                           uint16_t count);

/// packed_scale_adapt, for chips.
void esk_packed_scale_step(uint8_t *scale, uint8_t zeros);

/// The same without a branch that depends on the rows, for hosts.
static inline void packed_scale_add(uint8_t *scale, uint8_t zeros) {
    uint8_t now = *scale & (uint8_t)~PACKED_IS_QUIET;
    uint8_t less = now > 0 ? UINT8_MAX : 0;
    uint8_t more = zeros > 1 && now < ESK_PACKED_SCALE_MAX - 1 ? 2 : 0;
    *scale = (uint8_t)(*scale + (zeros == 0 ? less : more));
}

/// Sets `scale` for a code whose quotient was `zeros`, or more.
static inline void packed_scale_adapt(uint8_t *scale, uint8_t zeros) {
    (ESK_HOST ? packed_scale_add : esk_packed_scale_step)(scale, zeros);
}

/// Reads a code, and sets the field's scale. Returns its change; 0 when
/// call->mark becomes another than MARK_NONE.
uint32_t esk_packed_code_get(struct packed_call *call, uint8_t *scale);

/// The same, on a host from one word of 8 bytes, as long as the cell has so
/// many more. A mark, and what is no code, is read by esk_packed_code_get.
static ESK_IN_LINE uint32_t packed_code_get_word(struct packed_call *call,
                                                 uint8_t *scale) {
    if (!ESK_HOST || call->end - call->at < (ptrdiff_t)sizeof(uint64_t)) {
        return esk_packed_code_get(call, scale);
    }
    uint64_t word = esk_load_u64(call->at) >> call->bit;
    uint8_t low = packed_low_bits(*scale);
    uint8_t zeros = esk_zeros_below(word | 1u << ESK_PACKED_ZEROS);
    uint32_t high = zeros;
    uint8_t used = (uint8_t)(zeros + 1u);
    if (zeros == ESK_PACKED_ZEROS) {
        uint8_t length = (uint8_t)(word >> ESK_PACKED_ZEROS) &
                         ((1u << ESK_PACKED_LENGTH_BITS) - 1u);
        low = (uint8_t)(low + length);
        if (length < MARK_NONE || low > 31) {
            return esk_packed_code_get(call, scale);
        }
        used = ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS;
        high = 1;
    }
    packed_scale_adapt(scale, zeros);
    uint32_t below = (uint32_t)((UINT64_C(1) << low) - 1u);
    uint32_t code = high << low | ((uint32_t)(word >> used) & below);
    used = (uint8_t)(used + low + call->bit);
    call->at += used >> 3;
    call->bit = used & 7u;
    return packed_unzigzag(code);
}

/// Writes `change` and sets the field's scale; or writes call->mark, if it is
/// another than MARK_NONE.
void esk_packed_code_put(struct packed_call *call, uint32_t change,
                         uint8_t *scale);

/// The same, on a host as one word of 8 bytes, as long as the cell has so many
/// more.
static ESK_IN_LINE void packed_code_put_word(struct packed_call *call,
                                             uint32_t change, uint8_t *scale) {
    if (!ESK_HOST || call->mark != MARK_NONE ||
        call->end - call->at < (ptrdiff_t)sizeof(uint64_t)) {
        esk_packed_code_put(call, change, scale);
        return;
    }
    uint8_t low = packed_low_bits(*scale);
    change = packed_zigzag(change);
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
    packed_scale_adapt(scale, zeros);
    code = (code | below << bits) << call->bit | *call->at;
    esk_store_u64(call->at, code);
    bits = (uint8_t)(call->bit + bits + low);
    call->at += bits >> 3;
    call->bit = bits & 7u;
}

#endif
