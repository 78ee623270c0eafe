// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CRC-32C (Castagnoli) and CRC-16-CCITT, the checksums of pages.
#ifndef ESK_BASE_CRC_H
#define ESK_BASE_CRC_H

#include <stdint.h>

/// Entries of the checksums' tables, 16 (two tables, 192 bytes of constants) or
/// 256 (1.5 KB; a host's). Changes no value. Cycles for 512 bytes on an
/// ATmega2560, of 16 by -Os, of 256 in assembly, eight bytes a turn:
///
///              16        256
///     CRC-32C  34,900    11,200
///     CRC-16   22,100     6,000
#ifndef ESK_CRC_TABLE
#if SIZE_MAX > UINT32_MAX
#define ESK_CRC_TABLE 256
#else
#define ESK_CRC_TABLE 16
#endif
#endif

/// Continues a CRC-32C over `count` bytes. Start with any seed; there is no
/// final inversion, so calls chain. The standard value of a message is
/// ~esk_crc32c(~0, message, count).
/// Cost: one or two table loads a byte. With the processor's own instruction
/// (x86-64 with SSE 4.2, ARMv8 with CRC on Linux, tested at run time): about
/// 100 instructions for a page of 512 bytes.
uint32_t esk_crc32c(uint32_t crc, const uint8_t *bytes, uint16_t count);

/// The same without special instructions, on any machine.
uint32_t esk_crc32c_portable(uint32_t crc, const uint8_t *bytes,
                             uint16_t count);

/// Undoes esk_crc32c: returns the value before `count` bytes made it `crc`.
/// Cost: 8 steps a byte, without a table; for salvage alone.
uint32_t esk_crc32c_undo(uint32_t crc, const uint8_t *bytes, uint16_t count);

/// Continues a CRC-16-CCITT (polynomial 0x1021, most significant bit first).
/// Seed 0xFFFF gives CRC-16/IBM-3740.
/// Cost: one or two table loads a byte.
uint16_t esk_crc16(uint16_t crc, const uint8_t *bytes, uint16_t count);

#endif
