// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "table/series/codec/packed_code.h"

ESK_OUT_OF_LINE_ON_CHIPS uint8_t
esk_packed_bits_ahead(struct packed_call *call) {
    const uint8_t *end = call->end;
    const uint8_t *at = call->at;
    uint8_t bit = call->bit;
    if (at == end) {
        call->bit = 8; /* or more: the next bit is behind the end */
        return 0;
    }
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        call->bit = bit;
        call->at++;
        at++;
        if (at == end) {
            return 0;
        }
    }
    uint16_t wide = at[0];
    if (at + 1 != end) {
        wide = (uint16_t)(wide | (uint16_t)(at[1] << 8));
    }
    return (uint8_t)(wide >> bit);
}

ESK_OUT_OF_LINE void esk_packed_bits_put(struct packed_call *call,
                                         uint8_t value, uint8_t count,
                                         uint8_t zeros) {
    uint8_t *at = call->at;
    uint8_t bit = (uint8_t)(call->bit + zeros);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        if (at != call->end) {
            at++;
        }
        *at = 0;
    }
    uint16_t wide = (uint16_t)(value * (uint16_t)esk_bit(bit));
    *at = (uint8_t)(*at | (wide & UINT8_MAX));
    bit = (uint8_t)(bit + count);
    if (bit >= 8) {
        bit = (uint8_t)(bit - 8u);
        if (at != call->end) {
            at++;
        }
        *at = (uint8_t)(wide >> 8);
    }
    call->at = at;
    call->bit = bit;
}

ESK_OUT_OF_LINE_ON_CHIPS uint8_t esk_packed_bits_pass(struct packed_call *call,
                                                      uint8_t value,
                                                      uint8_t count) {
    if (call->writes) {
        esk_packed_bits_put(call, value, count, 0);
        return value;
    }
    value = esk_packed_bits_ahead(call);
    call->bit = (uint8_t)(call->bit + count);
    return value & (uint8_t)(esk_bit(count) - 1u);
}

ESK_OUT_OF_LINE void esk_packed_bytes_pass(struct packed_call *call,
                                           uint8_t *bytes, uint16_t count) {
    for (; count > 0; count--) {
        *bytes = esk_packed_bits_pass(call, *bytes, 8);
        bytes++;
    }
}

ESK_OUT_OF_LINE_ON_CHIPS void esk_packed_scale_step(uint8_t *scale,
                                                    uint8_t zeros) {
    uint8_t now = *scale & (uint8_t)~PACKED_IS_QUIET;
    if (zeros == 0 && now > 0) {
        *scale = (uint8_t)(*scale - 1u);
    } else if (zeros > 1 && now < ESK_PACKED_SCALE_MAX - 1) {
        *scale = (uint8_t)(*scale + 2u);
    }
}

ESK_OUT_OF_LINE_ON_HOSTS uint32_t esk_packed_code_get(struct packed_call *call,
                                                      uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    uint8_t byte = esk_packed_bits_ahead(call);
    uint8_t zeros = 0;
    while (zeros < ESK_PACKED_ZEROS && (byte & 1u) == 0) {
        byte >>= 1;
        zeros++;
    }
    uint8_t high = zeros;
    call->bit = (uint8_t)(call->bit + zeros);
    if (zeros < ESK_PACKED_ZEROS) {
        call->bit++;
    } else {
        uint8_t length = esk_packed_bits_pass(call, 0, ESK_PACKED_LENGTH_BITS);
        low = (uint8_t)(low + length);
        if (length < MARK_NONE || low > 31) {
            call->mark = length < MARK_NONE ? length : MARK_BAD;
            return 0;
        }
        high = 1;
    }
    packed_scale_adapt(scale, zeros);
    uint32_t code;
    if (!ESK_NO_SHORT_WAYS && low < 8) {
        /* Most changes are small, and their codes in one byte. */
        uint8_t power = esk_bit(low);
        byte >>= 1;
        if ((uint8_t)(zeros + low) >= 8) {
            byte = esk_packed_bits_ahead(call);
        }
        call->bit = (uint8_t)(call->bit + low);
        uint16_t top = (uint16_t)(high * (uint16_t)power);
        code = (byte & (uint8_t)(power - 1u)) | top;
    } else {
        uint8_t *to = call->word + (low >> 3);
        esk_store_u32(call->word, 0);
        esk_packed_bytes_pass(call, call->word, low >> 3);
        low &= 7u;
        uint16_t top = (uint16_t)(high * (uint16_t)esk_bit(low));
        to[0] =
            (uint8_t)(esk_packed_bits_pass(call, 0, low) | (top & UINT8_MAX));
        to[1] = (uint8_t)(top >> 8);
        code = esk_load_u32(call->word);
    }
    return packed_unzigzag(code);
}

/// Writes `zeros` zeros and the low `count` bits of `value`.
static void put_word(struct packed_call *call, uint32_t value, uint8_t count,
                     uint8_t zeros) {
    while (count > 8) {
        esk_packed_bits_put(call, (uint8_t)(value & UINT8_MAX), 8, zeros);
        value >>= 8;
        count = (uint8_t)(count - 8u);
        zeros = 0;
    }
    esk_packed_bits_put(call, (uint8_t)(value & (uint8_t)(esk_bit(count) - 1u)),
                        count, zeros);
}

ESK_OUT_OF_LINE void esk_packed_code_put(struct packed_call *call,
                                         uint32_t change, uint8_t *scale) {
    uint8_t low = packed_low_bits(*scale);
    change = packed_zigzag(change);
    uint32_t high = change >> low;
    uint8_t zeros = ESK_PACKED_ZEROS;
    if (call->mark != MARK_NONE) {
        esk_packed_bits_put(call, call->mark, ESK_PACKED_LENGTH_BITS,
                            ESK_PACKED_ZEROS);
        return;
    }
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
        esk_packed_bits_put(call, length, ESK_PACKED_LENGTH_BITS,
                            ESK_PACKED_ZEROS);
        low = (uint8_t)(low + length);
    }
    packed_scale_adapt(scale, zeros);
    zeros = zeros < ESK_PACKED_ZEROS ? zeros : 0;
    put_word(call, change, low, zeros);
}
