// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CRC-32C by half bytes: 64 bytes of table, no 1 KB table in a 4 KB part.
/// x86-64 hosts with SSE 4.2 use its instruction; the value is the same.
#include "base/crc.h"

#include "base/bytes.h"
#include "base/rom.h"

/// Reflected polynomial 0x82F63B78, one entry a low half byte.
static const uint32_t crc32c_table[16] ESK_ROM = {
    0x00000000u, 0x105EC76Fu, 0x20BD8EDEu, 0x30E349B1u,
    0x417B1DBCu, 0x5125DAD3u, 0x61C69362u, 0x7198540Du,
    0x82F63B78u, 0x92A8FC17u, 0xA24BB5A6u, 0xB21572C9u,
    0xC38D26C4u, 0xD3D3E1ABu, 0xE330A81Au, 0xF36E6F75u,
};

/// Polynomial 0x1021, one entry a high half byte.
static const uint16_t crc16_table[16] ESK_ROM = {
    0x0000u, 0x1021u, 0x2042u, 0x3063u, 0x4084u, 0x50A5u, 0x60C6u, 0x70E7u,
    0x8108u, 0x9129u, 0xA14Au, 0xB16Bu, 0xC18Cu, 0xD1ADu, 0xE1CEu, 0xF1EFu,
};

uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        crc = (crc >> 4) ^ esk_rom_u32(&crc32c_table[crc & 0x0Fu]);
        crc = (crc >> 4) ^ esk_rom_u32(&crc32c_table[crc & 0x0Fu]);
    }
    return crc;
}

#if defined(__x86_64__) && defined(__GNUC__)
__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *bytes, uint16_t count) {
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
    return __builtin_cpu_supports("sse4.2")
               ? crc32c_sse42(crc, bytes, count)
               : esk_crc32c_portable(crc, bytes, count);
}
#else
uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    return esk_crc32c_portable(crc, bytes, count);
}
#endif

uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        uint8_t byte = bytes[i];
        uint8_t index = (uint8_t)((crc >> 12) ^ (byte >> 4));
        crc = (uint16_t)((crc << 4) ^ esk_rom_u16(&crc16_table[index & 15u]));
        index = (uint8_t)((crc >> 12) ^ (byte & 0x0Fu));
        crc = (uint16_t)((crc << 4) ^ esk_rom_u16(&crc16_table[index & 15u]));
    }
    return crc;
}
