// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Makes programs of queries (src/query/README.md) from text, a line each:
///
///     .regs 7                    .params 1      .ranges 1      .flags 2
///     .table 0                   a source, by its index
///     .helper 1 3 1 0 0 10       kind, slots, keys, first, down, capacity
///     .out int r1                or float, avg, row c0, rowtext c0 4 8,
///                                text r1 8
///     LDI16 r0 500
///     FOR c0 0 r0 r0 x           flags, min, max, exit; then ranges, each
///                                column, type * 16 + flags, lo, hi
///     b: LD r6 c0.i32 4          a label
///     NEXT c0 b
///     x: EMIT
///     HALT
///     t: .text abc
///
/// A number, a register, a table or a helper is written as one byte; labels as
/// a distance, or in NEXT, NEXTH and TEXT as an offset. Flags of the header
/// that the opcodes need are set.
#ifndef ESK_TEST_ASSEMBLER_H
#define ESK_TEST_ASSEMBLER_H

#include "esker/query.h"

enum { ESK_ASSEMBLY_BYTES = 1024 };

struct esk_assembly {
    uint8_t bytes[ESK_ASSEMBLY_BYTES];
    uint16_t count;
    char why[128]; ///< why it failed
};

/// Returns whether `text` is a program; else `why` says why not.
bool esk_assemble(struct esk_assembly *assembly, const char *text,
                  const struct esk_source *sources);

/// Sets the length and the CRC of a program of `count` bytes.
void esk_assembly_seal(uint8_t *bytes, uint16_t count);

#endif
