// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/bytes.h"

#include "base/inline.h"

#if defined(__AVR__)

const uint8_t esk_bit_powers[9] ESK_ROM = {1, 2, 4, 8, 16, 32, 64, 128, 0};

#define DOWN_1 "ld __tmp_reg__, -X\n\tst -Z, __tmp_reg__\n\t"
#define DOWN_4 DOWN_1 DOWN_1 DOWN_1 DOWN_1
#define DOWN_8 DOWN_4 DOWN_4
void esk_bytes_copy(void *to, const void *from, uint16_t count) {
    ESK_BYTES_RUN(ESK_BYTES_1, ESK_BYTES_4);
}

/// In a build for speed runs of 24 before those of eight: half a leaf is moved
/// for a new row.
void esk_bytes_move_up(uint8_t *bytes, uint16_t gap, uint16_t count) {
    uint8_t *from = bytes + count;
    uint8_t *to = from + gap;
#if !defined(__OPTIMIZE_SIZE__)
    __asm__ volatile("sbiw %[count], 24\n\t"
                     "brcs 2f\n"
                     "1:\n\t" DOWN_8 DOWN_8 DOWN_8 "sbiw %[count], 24\n\t"
                     "brcc 1b\n"
                     "2:\n\t"
                     "adiw %[count], 24\n\t"
                     : "+x"(from), "+z"(to), [count] "+w"(count)
                     :
                     : "memory");
#endif
    ESK_BYTES_RUN(DOWN_1, DOWN_4);
}

#else

extern inline uint32_t esk_load_u32(const uint8_t *bytes);
extern inline void esk_store_u32(uint8_t *bytes, uint32_t value);

#if SIZE_MAX <= UINT32_MAX
void esk_bytes_copy(void *to, const void *from, uint16_t count) {
    memcpy(to, from, count);
}

#if SIZE_MAX > UINT16_MAX
void esk_bytes_move(void *to, const void *from, uint16_t count) {
    bool up = (uintptr_t)to > (uintptr_t)from;
    for (uint16_t i = 0; i < count; i++) {
        uint16_t at = up ? (uint16_t)(count - 1u - i) : i;
        ((uint8_t *)to)[at] = ((const uint8_t *)from)[at];
    }
}
#endif
#endif

void esk_bytes_move_up(uint8_t *bytes, uint16_t gap, uint16_t count) {
    memmove(bytes + gap, bytes, count);
}

#endif

ESK_OUT_OF_LINE bool esk_bytes_are(const uint8_t *bytes, uint16_t count,
                                   uint8_t value) {
    for (uint16_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}

ESK_OUT_OF_LINE bool esk_bytes_equal(const void *a, const void *b,
                                     uint16_t count) {
    const uint8_t *at = a;
    const uint8_t *other = b;
    for (; count > 0; count--) {
        if (*at != *other) {
            return false;
        }
        at++;
        other++;
    }
    return true;
}
