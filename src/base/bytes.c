// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/bytes.h"

#if defined(__AVR__)

#define COPY_1 "ld __tmp_reg__, X+\n\tst Z+, __tmp_reg__\n\t"
#define COPY_4 COPY_1 COPY_1 COPY_1 COPY_1
#define DOWN_1 "ld __tmp_reg__, -X\n\tst -Z, __tmp_reg__\n\t"
#define DOWN_4 DOWN_1 DOWN_1 DOWN_1 DOWN_1
#define RUN(step) __asm__ volatile(step : "+x"(from), "+z"(to) : : "memory")

void esk_bytes_copy(void *to, const void *from, uint16_t count) {
    for (uint16_t eights = count >> 3; eights > 0; eights--) {
        RUN(COPY_4 COPY_4);
    }
    for (uint8_t left = count & 7u; left > 0; left--) {
        RUN(COPY_1);
    }
}

void esk_bytes_move_up(uint8_t *bytes, uint16_t gap, uint16_t count) {
    uint8_t *from = bytes + count;
    uint8_t *to = from + gap;
    for (uint16_t eights = count >> 3; eights > 0; eights--) {
        RUN(DOWN_4 DOWN_4);
    }
    for (uint8_t left = count & 7u; left > 0; left--) {
        RUN(DOWN_1);
    }
}

#else

void esk_bytes_copy(void *to, const void *from, uint16_t count) {
    memcpy(to, from, count);
}

void esk_bytes_move_up(uint8_t *bytes, uint16_t gap, uint16_t count) {
    memmove(bytes + gap, bytes, count);
}

#endif

bool esk_bytes_are(const uint8_t *bytes, uint16_t count, uint8_t value) {
    for (uint16_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}
