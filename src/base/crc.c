// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CRC-32C and CRC-16 by tables of 16 or 256 entries, chosen by ESK_CRC_TABLE.
/// Hosts with an instruction for it, SSE 4.2 or ARMv8's CRC, use that, three at
/// a time; the value is the same. A run-time test decides.
///
/// A table is linear: entry i is the sum of the entries of i's bits. So eight
/// constants make every entry.
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

/// `first`, then `steps` times `step`: 5 cycles more for a step. A branch would
/// not reach over eight bytes.
#define LOOP(first, step, name)                                                \
    if (steps > 0) {                                                           \
        __asm__ volatile(first "1:\n\t" step "sbiw %[steps], 1\n\t"            \
                               "breq 2f\n\t"                                   \
                               "rjmp 1b\n"                                     \
                               "2:\n\t"                                        \
                         : [crc] "+r"(crc), [steps] "+w"(steps), "+x"(bytes)   \
                         : [table] "i"(name)                                   \
                         : "r30", "r31", "memory");                            \
    }

/// The CRC of `count` bytes: first the odd ones, then groups of eight. r31
/// selects the table.
#define TAKE(one, eight, name)                                                 \
    uint16_t steps = count & 7u;                                               \
    LOOP("", TABLE one, name)                                                  \
    steps = count >> 3;                                                        \
    LOOP(TABLE, eight, name)                                                   \
    return crc

#define TABLE "ldi r31, hi8(%[table])\n\t"
#define ENTRY(to) "lpm " to ", Z\n\t"
#define MORE(to, value) "eor " to ", " value "\n\t"
#define UP "inc r31\n\t"
#define DOWN "dec r31\n\t"
#define INDEX(high) "ld r30, X+\n\t" MORE("r30", high)

#define CRC16_A(i) CRC16(i) & 0xFFu
#define CRC16_B(i) CRC16(i) >> 8

#define CRC32C_A(i) CRC32C(i) & 0xFFu
#define CRC32C_B(i) CRC32C(i) >> 8 & 0xFFu
#define CRC32C_C(i) CRC32C(i) >> 16 & 0xFFu
#define CRC32C_D(i) CRC32C(i) >> 24

/// A table for each byte of an entry. Each is within 256 bytes of flash, so one
/// register selects the entry and another the table.
static const uint8_t crc32c_table[4][256] ESK_ROM
    __attribute__((aligned(256))) = {{ROW256(CRC32C_A)},
                                     {ROW256(CRC32C_B)},
                                     {ROW256(CRC32C_C)},
                                     {ROW256(CRC32C_D)}};

/// One byte: crc = (crc >> 8) ^ table[(crc ^ byte) & 255], in 21 cycles. a: the
/// register with the CRC's lowest byte, d: that with its highest.
#define CRC32C_UP(a, b, c, d)                                                  \
    INDEX(a)                                                                   \
    ENTRY(a)                                                                   \
    MORE(a, b) UP ENTRY(b) MORE(b, c) UP ENTRY(c) MORE(c, d) UP ENTRY(d)
/// The next one, from the last table to the first. Then b has the lowest byte,
/// and a the highest.
#define CRC32C_DOWN(a, b, c, d)                                                \
    INDEX(a)                                                                   \
    ENTRY(a)                                                                   \
    DOWN ENTRY("r0") MORE(d, "r0") DOWN ENTRY("r0") MORE(c, "r0")              \
        DOWN ENTRY("r0") MORE(b, "r0")
#define CRC32C_TWO(a, b, c, d) CRC32C_UP(a, b, c, d) CRC32C_DOWN(a, b, c, d)

#define CRC_A "%A[crc]"
#define CRC_B "%B[crc]"
#define CRC_C "%C[crc]"
#define CRC_D "%D[crc]"
#define CRC32C_ONE CRC32C_UP(CRC_A, CRC_B, CRC_C, CRC_D)
#define CRC32C_EIGHT                                                           \
    CRC32C_TWO(CRC_A, CRC_B, CRC_C, CRC_D)                                     \
    CRC32C_TWO(CRC_B, CRC_C, CRC_D, CRC_A)                                     \
    CRC32C_TWO(CRC_C, CRC_D, CRC_A, CRC_B)                                     \
    CRC32C_TWO(CRC_D, CRC_A, CRC_B, CRC_C)

uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count) {
    TAKE(CRC32C_ONE, CRC32C_EIGHT, crc32c_table);
}

/// As crc32c_table: the upper bytes, then the lower ones.
static const uint8_t crc16_table[2][256] ESK_ROM
    __attribute__((aligned(256))) = {{ROW256(CRC16_B)}, {ROW256(CRC16_A)}};

/// One byte: crc = (crc << 8) ^ table[(crc >> 8) ^ byte], in 11 cycles; and the
/// next one. Then a has the upper byte.
#define CRC16_UP(a, b) INDEX(b) ENTRY(b) MORE(b, a) UP ENTRY(a)
#define CRC16_DOWN(a, b) INDEX(b) ENTRY(b) DOWN ENTRY("r0") MORE(a, "r0")
#define CRC16_FOUR                                                             \
    CRC16_UP(CRC_A, CRC_B)                                                     \
    CRC16_DOWN(CRC_A, CRC_B) CRC16_UP(CRC_B, CRC_A) CRC16_DOWN(CRC_B, CRC_A)

uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    TAKE(CRC16_UP(CRC_A, CRC_B), CRC16_FOUR CRC16_FOUR, crc16_table);
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

/// A byte's entry is the sum of the entries of its halves. So there is no shift
/// by four bits, which is slow on a chip that shifts bit by bit.
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

#define CRC_TARGET __attribute__((target("sse4.2,pclmul")))
#define CRC_STEP_8(crc, word) __builtin_ia32_crc32di((crc), (word))
#define CRC_STEP_4(crc, word) __builtin_ia32_crc32si((crc), (word))
#define CRC_STEP_1(crc, byte) __builtin_ia32_crc32qi((crc), (byte))

typedef long long crc_wide __attribute__((vector_size(16)));

/// The product without carries of two numbers of 32 bits.
CRC_TARGET static inline uint64_t crc_product(uint64_t left, uint32_t right) {
    crc_wide product = __builtin_ia32_pclmulqdq128(
        (crc_wide){(long long)left}, (crc_wide){(long long)right}, 0);
    return (uint64_t)product[0];
}

static inline bool crc_is_there(void) {
    return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

#elif defined(__aarch64__) && defined(__linux__) && defined(__GNUC__)

#define CRC_TARGET __attribute__((target(CRC_ARCHITECTURE)))
#if defined(__clang__)
#define CRC_ARCHITECTURE "crc,aes"
#define CRC_STEP_8(crc, word) __builtin_arm_crc32cd((uint32_t)(crc), (word))
#define CRC_STEP_4(crc, word) __builtin_arm_crc32cw((crc), (word))
#define CRC_STEP_1(crc, byte) __builtin_arm_crc32cb((crc), (byte))
#else
#define CRC_ARCHITECTURE "+crc+crypto"
#define CRC_STEP_8(crc, word) __builtin_aarch64_crc32cx((uint32_t)(crc), (word))
#define CRC_STEP_4(crc, word) __builtin_aarch64_crc32cw((crc), (word))
#define CRC_STEP_1(crc, byte) __builtin_aarch64_crc32cb((crc), (byte))
#endif

CRC_TARGET static inline uint64_t crc_product(uint64_t left, uint32_t right) {
    uint64_t product;
    __asm__("fmov d0, %1\n\tfmov d1, %2\n\t"
            "pmull v0.1q, v0.1d, v1.1d\n\tfmov %0, d0"
            : "=r"(product)
            : "r"(left), "r"((uint64_t)right)
            : "v0", "v1");
    return product;
}

/// The C library's, where there is one. The kernel's numbers do not change.
extern unsigned long getauxval(unsigned long type) __attribute__((weak));

static inline bool crc_is_there(void) {
    enum { HARDWARE = 16, PMULL = 1 << 4, CRC32 = 1 << 7 };
    return getauxval != 0 &&
           (getauxval(HARDWARE) & (PMULL | CRC32)) == (PMULL | CRC32);
}

#endif

#if defined(CRC_TARGET)

/// Bytes of a stream. Three streams are the 504 bytes that a page of 512 has
/// after its checksum, and they fit eight times into a page of 4,096.
enum { STREAM_BYTES = 168 };

/// A CRC after STREAM_BYTES zero bytes, or twice as many, is its product with
/// one of these, x^(8 n - 33) mod P; the next step reduces it.
#define SHIFT_ONE 0x1B3D8F29
#define SHIFT_TWO 0xA60CE07B

CRC_TARGET static inline uint64_t crc32c_shift(uint64_t crc, uint32_t by) {
    return CRC_STEP_8(0, crc_product(crc, by));
}

/// An instruction takes three cycles, and one can begin in each cycle. So three
/// streams run at once; a CRC is linear, so their results can be combined.
CRC_TARGET static uint32_t crc32c_streams(uint32_t crc, const uint8_t *bytes) {
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;
#pragma GCC unroll 21
    for (uint16_t i = 0; i < STREAM_BYTES; i = (uint16_t)(i + 8u)) {
        const uint8_t *at = bytes + i;
        first = CRC_STEP_8(first, esk_load_u64(at));
        second = CRC_STEP_8(second, esk_load_u64(at + STREAM_BYTES));
        third = CRC_STEP_8(third, esk_load_u64(at + 2 * STREAM_BYTES));
    }
    return (uint32_t)(crc32c_shift(first, SHIFT_TWO) ^
                      crc32c_shift(second, SHIFT_ONE) ^ third);
}

CRC_TARGET static uint32_t crc32c_processor(uint32_t crc, const uint8_t *bytes,
                                            uint16_t count) {
    while (count >= 3 * STREAM_BYTES) {
        crc = crc32c_streams(crc, bytes);
        bytes += 3 * STREAM_BYTES;
        count = (uint16_t)(count - 3 * STREAM_BYTES);
    }
    uint64_t wide = crc;
    while (count >= 8) {
        wide = CRC_STEP_8(wide, esk_load_u64(bytes));
        bytes += 8;
        count = (uint16_t)(count - 8);
    }
    crc = (uint32_t)wide;
    if (count >= 4) {
        crc = CRC_STEP_4(crc, esk_load_u32(bytes));
        bytes += 4;
        count = (uint16_t)(count - 4);
    }
    while (count > 0) {
        crc = CRC_STEP_1(crc, *bytes);
        bytes++;
        count--;
    }
    return crc;
}

uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    return crc_is_there() ? crc32c_processor(crc, bytes, count)
                          : esk_crc32c_portable(crc, bytes, count);
}

#else
uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    return esk_crc32c_portable(crc, bytes, count);
}
#endif
