// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Little-endian stores, and plain byte work; the loads are in esker/load.h.
///
/// Flash bytes are read and written only through these functions, never through
/// a struct cast, so images mean the same on every machine.
#ifndef ESK_BASE_BYTES_H
#define ESK_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/inline.h"
#include "base/rom.h"
#include "esker/load.h"

#if defined(__AVR__)

/* As the loads: esker/load.h. */

static inline void esk_store_u16(uint8_t *bytes, uint16_t value) {
    memcpy(bytes, &value, sizeof value);
}

static ESK_APART_OR_INLINE void esk_store_u32(uint8_t *bytes, uint32_t value) {
    memcpy(bytes, &value, sizeof value);
}

static inline void esk_store_u64(uint8_t *bytes, uint64_t value) {
    memcpy(bytes, &value, sizeof value);
}

#else

static inline void esk_store_u16(uint8_t *bytes, uint16_t value) {
    bytes[0] = (uint8_t)(value & 0xFFu);
    bytes[1] = (uint8_t)(value >> 8);
}

/* Not static: as esk_load_u32. */
inline void esk_store_u32(uint8_t *bytes, uint32_t value) {
    bytes[0] = (uint8_t)(value & 0xFFu);
    bytes[1] = (uint8_t)((value >> 8) & 0xFFu);
    bytes[2] = (uint8_t)((value >> 16) & 0xFFu);
    bytes[3] = (uint8_t)(value >> 24);
}

static inline void esk_store_u64(uint8_t *bytes, uint64_t value) {
    esk_store_u32(bytes, (uint32_t)(value & 0xFFFFFFFFu));
    esk_store_u32(bytes + 4, (uint32_t)(value >> 32));
}

#endif

/// The 8 bits of `value` from bit `shift` on, which is below 32.
#if SIZE_MAX > UINT32_MAX
static inline uint8_t esk_byte_from(uint32_t value, uint8_t shift) {
    return (uint8_t)((value >> shift) & UINT8_MAX);
}
#else
static inline uint8_t esk_byte_from(uint32_t value, uint8_t shift) {
    while (shift >= 8) {
        value >>= 8;
        shift = (uint8_t)(shift - 8u);
    }
    return (uint8_t)((uint16_t)value >> shift);
}
#endif

/// 2 to the power of `number`, at most 8; 0 for 8. To shift, an 8-bit processor
/// multiplies: its instruction for that takes two cycles.
#if defined(__AVR__)
extern const uint8_t esk_bit_powers[9];
static inline uint8_t esk_bit(uint8_t number) {
    return esk_rom_u8(esk_bit_powers + number);
}
#else
static inline uint8_t esk_bit(uint8_t number) {
    return (uint8_t)((1u << number) & UINT8_MAX);
}
#endif

/// How many zeros `bits`, which is not 0, has below its lowest one; the number
/// of its highest. For hosts, where each is an instruction.
#if defined(__GNUC__)
static inline uint8_t esk_zeros_below(uint64_t bits) {
    return (uint8_t)__builtin_ctzll(bits);
}
static inline uint8_t esk_top_bit(uint32_t bits) {
    return (uint8_t)(31 - __builtin_clz((unsigned)bits));
}
#else
static inline uint8_t esk_zeros_below(uint64_t bits) {
    uint8_t zeros = 0;
    for (; (bits & 1u) == 0; bits >>= 1) {
        zeros++;
    }
    return zeros;
}
static inline uint8_t esk_top_bit(uint32_t bits) {
    uint8_t number = 0;
    while (bits > 1) {
        bits >>= 1;
        number++;
    }
    return number;
}
#endif

/// esk_store_u32 for a place that is stored to often: no call on AVR.
#if defined(__AVR__)
static inline void esk_store_u32_here(uint8_t *bytes, uint32_t value) {
    memcpy(bytes, &value, sizeof value);
}
#else
static inline void esk_store_u32_here(uint8_t *bytes, uint32_t value) {
    esk_store_u32(bytes, value);
}
#endif

/// The address at `bytes`, which has 32 bits on flash. ESK_ADDRESS_NONE, which
/// no page has, if it is too large.
#if ESK_ADDRESS_BITS == 16
static ESK_APART_OR_INLINE esk_address esk_address_load(const uint8_t *bytes) {
    uint32_t stored = esk_load_u32(bytes);
    return stored < ESK_ADDRESS_NONE ? (esk_address)stored : ESK_ADDRESS_NONE;
}
#else
static inline esk_address esk_address_load(const uint8_t *bytes) {
    return esk_load_u32(bytes);
}
#endif

/// Whether two words are equal.
static inline bool esk_words_equal(uint32_t a, uint32_t b) {
#if SIZE_MAX > UINT16_MAX
    return a == b;
#else
    /* By halves: an 8-bit processor has few registers for two words. */
    uint32_t differs = a ^ b;
    return ((uint16_t)differs | (uint16_t)(differs >> 16)) == 0;
#endif
}

/// The same of words in RAM: an 8-bit processor looks at a half at a time.
static inline bool esk_words_equal_at(const uint32_t *a, const uint32_t *b) {
#if SIZE_MAX > UINT16_MAX
    return *a == *b;
#else
    const uint8_t *left = (const uint8_t *)a;
    const uint8_t *right = (const uint8_t *)b;
    return esk_load_u16(left) == esk_load_u16(right) &&
           esk_load_u16(left + 2) == esk_load_u16(right + 2);
#endif
}

static inline bool esk_addresses_equal_at(const esk_address *a,
                                          const esk_address *b) {
#if ESK_ADDRESS_BITS == 16
    return *a == *b;
#else
    return esk_words_equal_at(a, b);
#endif
}

/// Copies `count` bytes to where they do not overlap.
/// Cost: about 5 cycles a byte on AVR, where memcpy takes 8; on a host no call
/// for rows of 16 bytes, the usual ones.
#if SIZE_MAX > UINT32_MAX
static inline void esk_bytes_copy(void *to, const void *from, uint16_t count) {
    if (count == 16) {
        memcpy(to, from, 16);
    } else {
        memcpy(to, from, count);
    }
}
#else
void esk_bytes_copy(void *to, const void *from, uint16_t count);
#endif

/// The same for the rows of a table: in a build for speed no call on AVR.
#if defined(__AVR__)
#define ESK_BYTES_1 "ld __tmp_reg__, X+\n\tst Z+, __tmp_reg__\n\t"
#define ESK_BYTES_4 ESK_BYTES_1 ESK_BYTES_1 ESK_BYTES_1 ESK_BYTES_1
/// Runs of eight, then what is left.
#define ESK_BYTES_RUN(one, four)                                               \
    __asm__ volatile("sbiw %[count], 8\n\t"                                    \
                     "brcs 2f\n"                                               \
                     "1:\n\t" four four "sbiw %[count], 8\n\t"                 \
                     "brcc 1b\n"                                               \
                     "2:\n\t"                                                  \
                     "adiw %[count], 8\n\t"                                    \
                     "breq 4f\n"                                               \
                     "3:\n\t" one "sbiw %[count], 1\n\t"                       \
                     "brne 3b\n"                                               \
                     "4:\n\t"                                                  \
                     : "+x"(from), "+z"(to), [count] "+w"(count)               \
                     :                                                         \
                     : "memory")
static inline void esk_bytes_copy_here(void *to, const void *from,
                                       uint16_t count) {
#if defined(__OPTIMIZE_SIZE__)
    esk_bytes_copy(to, from, count);
#else
    ESK_BYTES_RUN(ESK_BYTES_1, ESK_BYTES_4);
#endif
}
#else
static inline void esk_bytes_copy_here(void *to, const void *from,
                                       uint16_t count) {
    esk_bytes_copy(to, from, count);
}
#endif

/// Moves `count` bytes up by `gap` bytes. The gap keeps its old bytes.
/// Cost: as esk_bytes_copy.
void esk_bytes_move_up(uint8_t *bytes, uint16_t gap, uint16_t count);

/// Moves `count` bytes; the places may overlap.
/// On a 32-bit chip a loop: for the few bytes moved here the libraries' memmove
/// is long.
#if SIZE_MAX > UINT32_MAX || SIZE_MAX == UINT16_MAX
static inline void esk_bytes_move(void *to, const void *from, uint16_t count) {
    memmove(to, from, count);
}
#else
void esk_bytes_move(void *to, const void *from, uint16_t count);
#endif

/// Whether the `count` bytes at `a` and at `b` are equal.
bool esk_bytes_equal(const void *a, const void *b, uint16_t count);

/// True when all `count` bytes equal `value`.
bool esk_bytes_are(const uint8_t *bytes, uint16_t count, uint8_t value);

#endif
