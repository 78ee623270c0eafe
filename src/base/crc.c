// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CRC-32C and CRC-16 by tables of 16 or 256 entries, chosen by ESK_CRC_TABLE.
/// x86-64 hosts with SSE 4.2 use its instruction, three at a time; the value is
/// the same.
///
/// A table is linear: entry i is the sum of the entries of i's bits. So eight
/// constants make any of them.
#include "base/crc.h"

#include "base/bytes.h"
#include "base/rom.h"

#define BIT(i, n, entry) (((i) >> (n) & 1u) != 0 ? (entry) : 0u)

/// CRC-32C of the byte `i`, reflected polynomial 0x82F63B78.
#define CRC32C(i)                                                              \
    (BIT(i, 0, 0xF26B8303u) ^ BIT(i, 1, 0xE13B70F7u) ^                         \
     BIT(i, 2, 0xC79A971Fu) ^ BIT(i, 3, 0x8AD958CFu) ^                         \
     BIT(i, 4, 0x105EC76Fu) ^ BIT(i, 5, 0x20BD8EDEu) ^                         \
     BIT(i, 6, 0x417B1DBCu) ^ BIT(i, 7, 0x82F63B78u))

/// CRC-16 of the byte `i`, polynomial 0x1021.
#define CRC16(i)                                                               \
    (BIT(i, 0, 0x1021u) ^ BIT(i, 1, 0x2042u) ^ BIT(i, 2, 0x4084u) ^            \
     BIT(i, 3, 0x8108u) ^ BIT(i, 4, 0x1231u) ^ BIT(i, 5, 0x2462u) ^            \
     BIT(i, 6, 0x48C4u) ^ BIT(i, 7, 0x9188u))

#define ROW4(entry, i)                                                         \
    entry(i), entry((i) + 1u), entry((i) + 2u), entry((i) + 3u)
#define ROW16(entry, i)                                                        \
    ROW4(entry, i), ROW4(entry, (i) + 4u), ROW4(entry, (i) + 8u),              \
        ROW4(entry, (i) + 12u)
#define ROW64(entry, i)                                                        \
    ROW16(entry, i), ROW16(entry, (i) + 16u), ROW16(entry, (i) + 32u),         \
        ROW16(entry, (i) + 48u)
#define ROW256(entry)                                                          \
    ROW64(entry, 0u), ROW64(entry, 64u), ROW64(entry, 128u), ROW64(entry, 192u)

#if ESK_CRC_TABLE == 256

#if defined(__AVR__)

/// Takes `steps` times as many bytes as `step` has, in 4 cycles more each.
#define LOOP(step, name)                                                       \
    if (steps > 0) {                                                           \
        __asm__ volatile("1:\n\t" step "sbiw %[steps], 1\n\t"                  \
                         "brne 1b\n\t"                                         \
                         : [crc] "+r"(crc), [steps] "+w"(steps), "+x"(bytes)   \
                         : [table] "i"(name)                                   \
                         : "r30", "r31", "memory");                            \
    }

/// Takes `count` bytes, the odd ones first, then by fours. Returns the CRC.
#define TAKE(step, name)                                                       \
    uint16_t steps = count & 3u;                                               \
    LOOP(step, name)                                                           \
    steps = count >> 2;                                                        \
    LOOP(step step step step, name)                                            \
    return crc

#define CRC16_A(i) CRC16(i) & 0xFFu
#define CRC16_B(i) CRC16(i) >> 8

#define CRC32C_A(i) CRC32C(i) & 0xFFu
#define CRC32C_B(i) CRC32C(i) >> 8 & 0xFFu
#define CRC32C_C(i) CRC32C(i) >> 16 & 0xFFu
#define CRC32C_D(i) CRC32C(i) >> 24

/// A table for each byte of an entry. Each lies within 256 bytes of flash, so
/// that one register chooses the entry and another the table.
static const uint8_t crc32c_table[4][256] ESK_ROM
    __attribute__((aligned(256))) = {{ROW256(CRC32C_A)},
                                     {ROW256(CRC32C_B)},
                                     {ROW256(CRC32C_C)},
                                     {ROW256(CRC32C_D)}};

/// One byte: crc = (crc >> 8) ^ table[(crc ^ byte) & 255], in 22 cycles.
#define CRC32C_STEP                                                            \
    "ld r30, X+\n\t"                                                           \
    "eor r30, %A[crc]\n\t"                                                     \
    "ldi r31, hi8(%[table])\n\t"                                               \
    "lpm %A[crc], Z\n\t"                                                       \
    "eor %A[crc], %B[crc]\n\t"                                                 \
    "inc r31\n\t"                                                              \
    "lpm %B[crc], Z\n\t"                                                       \
    "eor %B[crc], %C[crc]\n\t"                                                 \
    "inc r31\n\t"                                                              \
    "lpm %C[crc], Z\n\t"                                                       \
    "eor %C[crc], %D[crc]\n\t"                                                 \
    "inc r31\n\t"                                                              \
    "lpm %D[crc], Z\n\t"

uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count) {
    TAKE(CRC32C_STEP, crc32c_table);
}

/// As crc32c_table: the upper bytes, then the lower ones.
static const uint8_t crc16_table[2][256] ESK_ROM
    __attribute__((aligned(256))) = {{ROW256(CRC16_B)}, {ROW256(CRC16_A)}};

/// One byte: crc = (crc << 8) ^ table[(crc >> 8) ^ byte], in 12 cycles.
#define CRC16_STEP                                                             \
    "ld r30, X+\n\t"                                                           \
    "eor r30, %B[crc]\n\t"                                                     \
    "ldi r31, hi8(%[table])\n\t"                                               \
    "lpm %B[crc], Z\n\t"                                                       \
    "eor %B[crc], %A[crc]\n\t"                                                 \
    "inc r31\n\t"                                                              \
    "lpm %A[crc], Z\n\t"

uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    TAKE(CRC16_STEP, crc16_table);
}

#else

static const uint32_t crc32c_table[256] ESK_ROM = {ROW256(CRC32C)};
static const uint16_t crc16_table[256] ESK_ROM = {ROW256(CRC16)};

uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        uint8_t index = (uint8_t)((crc ^ bytes[i]) & 0xFFu);
        crc = (crc >> 8) ^ esk_rom_u32(&crc32c_table[index]);
    }
    return crc;
}

uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        uint8_t index = (uint8_t)((crc >> 8) ^ bytes[i]);
        crc = (uint16_t)((crc << 8) ^ esk_rom_u16(&crc16_table[index]));
    }
    return crc;
}

#endif

#else

#define CRC32C_HIGH(i) CRC32C((i) << 4)
#define CRC16_HIGH(i) CRC16((i) << 4)

/// A byte's entry is the sum of those of its halves: no shift by four bits,
/// which is what costs on a chip that shifts bit by bit.
static const uint32_t crc32c_low[16] ESK_ROM = {ROW16(CRC32C, 0u)};
static const uint32_t crc32c_high[16] ESK_ROM = {ROW16(CRC32C_HIGH, 0u)};
static const uint16_t crc16_low[16] ESK_ROM = {ROW16(CRC16, 0u)};
static const uint16_t crc16_high[16] ESK_ROM = {ROW16(CRC16_HIGH, 0u)};

uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count) {
    for (; count > 0; count--) {
        uint8_t index = (uint8_t)((crc ^ *bytes) & 0xFFu);
        crc = (crc >> 8) ^ esk_rom_u32(&crc32c_low[index & 15u]) ^
              esk_rom_u32(&crc32c_high[index >> 4]);
        bytes++;
    }
    return crc;
}

uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    for (; count > 0; count--) {
        uint8_t index = (uint8_t)((crc >> 8) ^ *bytes);
        crc = (uint16_t)((crc << 8) ^ esk_rom_u16(&crc16_low[index & 15u]) ^
                         esk_rom_u16(&crc16_high[index >> 4]));
        bytes++;
    }
    return crc;
}

#endif

#if defined(__x86_64__) && defined(__GNUC__)

/// Bytes of a stream: three of them are the 504 that a page of 512 has after
/// its checksum, and go eight times into a page of 4,096.
enum { STREAM_BYTES = 168 };

/// A CRC after STREAM_BYTES, or twice as many, zero bytes is its product with
/// one of these, x^(8 n - 33) mod P, that the next step takes up.
#define SHIFT_ONE 0x1B3D8F29
#define SHIFT_TWO 0xA60CE07B

typedef long long crc_wide __attribute__((vector_size(16)));

__attribute__((target("sse4.2,pclmul"))) static uint64_t
crc32c_shift(uint64_t crc, long long by) {
    crc_wide product = __builtin_ia32_pclmulqdq128((crc_wide){(long long)crc},
                                                   (crc_wide){by}, 0);
    return __builtin_ia32_crc32di(0, (uint64_t)product[0]);
}

/// An instruction takes three cycles and begins each one: three streams at
/// once, which a CRC is linear enough to be put together from.
__attribute__((target("sse4.2,pclmul"))) static uint32_t
crc32c_streams(uint32_t crc, const uint8_t *bytes) {
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
    for (uint16_t i = 0; i < STREAM_BYTES; i = (uint16_t)(i + 8u)) {
        const uint8_t *at = bytes + i;
        first = __builtin_ia32_crc32di(first, esk_load_u64(at));
        second =
            __builtin_ia32_crc32di(second, esk_load_u64(at + STREAM_BYTES));
        third =
            __builtin_ia32_crc32di(third, esk_load_u64(at + 2 * STREAM_BYTES));
    }
    return (uint32_t)(crc32c_shift(first, SHIFT_TWO) ^
                      crc32c_shift(second, SHIFT_ONE) ^ third);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t
crc32c_x86(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    while (count >= 3 * STREAM_BYTES) {
        crc = crc32c_streams(crc, bytes);
        bytes += 3 * STREAM_BYTES;
        count = (uint16_t)(count - 3 * STREAM_BYTES);
    }
    uint64_t wide = crc;
    while (count >= 8) {
        wide = __builtin_ia32_crc32di(wide, esk_load_u64(bytes));
        bytes += 8;
        count = (uint16_t)(count - 8);
    }
    crc = (uint32_t)wide;
    while (count > 0) {
        crc = __builtin_ia32_crc32qi(crc, *bytes);
        bytes++;
        count--;
    }
    return crc;
}

uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul")
               ? crc32c_x86(crc, bytes, count)
               : esk_crc32c_portable(crc, bytes, count);
}
#else
uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    return esk_crc32c_portable(crc, bytes, count);
}
#endif
