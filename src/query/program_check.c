// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The verifier: one pass over a program, forward.
///
/// A form says for each opcode how long the instruction is and what its
/// operands are; the few instructions that need more have their own function.
///
///     bits 0 .. 3    bytes, without the ranges of a FOR
///     bits 4 .. 15   four operands of 3 bits, the first one lowest
///
/// The parts check their own instructions, so that the linker drops these
/// checks, too.
///
/// Registers need no types, because none is ever an address. They begin NULL,
/// so none is read before it was set.
///
/// Invariants
///   1. What was passed lies within the program and touches only registers,
///      tables and helpers that there are.
///   2. `starts` has the loops around the instruction, the outermost first.
///
/// Cost: the CRC, a step of the pass an instruction, and for each jump the
/// instructions that it jumps over.
#include "base/crc.h"
#include "base/inline.h"
#include "base/order.h"
#include "base/real.h"
#include "base/rom.h"
#include "esker/assert.h"
#include "query/program.h"

enum operand {
    OPERAND_NONE,
    OPERAND_REGISTER,
    OPERAND_WINDOW,
    OPERAND_TABLE,
    OPERAND_BYTE, ///< any
    OPERAND_JUMP, ///< one byte, the last
    OPERAND_PLACE,
    OPERAND_OWN, ///< the instruction has its own function
};

#define FORM(bytes, a, b, c, d)                                                \
    ((uint16_t)((bytes) | OPERAND_##a << 4 | OPERAND_##b << 7 |                \
                OPERAND_##c << 10 | (unsigned)OPERAND_##d << 13))

static const uint16_t forms[ESK_OP_COUNT_OF_ALL] ESK_ROM = {
    [ESK_OP_HALT] = FORM(1, NONE, NONE, NONE, NONE),
    [ESK_OP_EMIT] = FORM(1, NONE, NONE, NONE, NONE),
    [ESK_OP_NULL] = FORM(2, REGISTER, NONE, NONE, NONE),
    [ESK_OP_MOV] = FORM(3, REGISTER, REGISTER, NONE, NONE),
    [ESK_OP_LDI8] = FORM(3, REGISTER, NONE, NONE, NONE),
    [ESK_OP_LDI16] = FORM(4, REGISTER, NONE, NONE, NONE),
    [ESK_OP_LDI32] = FORM(6, REGISTER, NONE, NONE, NONE),
    [ESK_OP_LDI64] = FORM(10, REGISTER, NONE, NONE, NONE),
    [ESK_OP_LD] = FORM(4, REGISTER, PLACE, NONE, NONE),
    [ESK_OP_LDW] = FORM(5, REGISTER, PLACE, NONE, NONE),
    [ESK_OP_NULLIF] = FORM(3, REGISTER, REGISTER, NONE, NONE),
    [ESK_OP_CLEAR] = FORM(2, WINDOW, NONE, NONE, NONE),
    [ESK_OP_AGG] = FORM(4, BYTE, WINDOW, REGISTER, NONE),
    [ESK_OP_AGGC] = FORM(5, BYTE, WINDOW, PLACE, NONE),
    [ESK_OP_SUM] = FORM(3, REGISTER, WINDOW, NONE, NONE),
    [ESK_OP_ADD] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_SUB] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_MUL] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_DIV] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_REM] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_UNLESS_LT] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_UNLESS_LE] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_UNLESS_EQ] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_UNLESS_NE] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_IF_LT] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_IF_LE] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_IF_EQ] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_IF_NE] = FORM(4, REGISTER, REGISTER, JUMP, NONE),
    [ESK_OP_JNULL] = FORM(3, REGISTER, JUMP, NONE, NONE),
    [ESK_OP_JVALUE] = FORM(3, REGISTER, JUMP, NONE, NONE),
    [ESK_OP_JMP] = FORM(2, JUMP, NONE, NONE, NONE),
    [ESK_OP_JMP16] = FORM(3, OWN, NONE, NONE, NONE),
    [ESK_OP_FOR] = FORM(7, TABLE, OWN, NONE, NONE),
    [ESK_OP_NEXT] = FORM(4, OWN, NONE, NONE, NONE),
    [ESK_OP_COUNT] = FORM(3, REGISTER, TABLE, OWN, NONE),
    [ESK_OP_ADVANCE] = FORM(4, TABLE, REGISTER, JUMP, OWN),
    [ESK_OP_GET] = FORM(4, TABLE, REGISTER, JUMP, OWN),
    [ESK_OP_PUSH] = FORM(2, OWN, NONE, NONE, NONE),
    [ESK_OP_GROUP] = FORM(2, OWN, NONE, NONE, NONE),
    [ESK_OP_FORH] = FORM(4, OWN, NONE, NONE, NONE),
    [ESK_OP_NEXTH] = FORM(4, OWN, NONE, NONE, NONE),
    [ESK_OP_LDT] = FORM(6, REGISTER, TABLE, OWN, NONE),
    [ESK_OP_TEXT] = FORM(11, BYTE, TABLE, OWN, NONE),
    [ESK_OP_FADD] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_FSUB] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_FMUL] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_FDIV] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_FLOAT] = FORM(3, REGISTER, REGISTER, NONE, NONE),
    [ESK_OP_TRUNC] = FORM(3, REGISTER, REGISTER, NONE, NONE),
    [ESK_OP_FCMP] = FORM(4, REGISTER, REGISTER, REGISTER, NONE),
    [ESK_OP_ROUND] = FORM(4, REGISTER, REGISTER, BYTE, NONE),
    [ESK_OP_FSUM] = FORM(3, REGISTER, WINDOW, NONE, NONE),
    [ESK_OP_FAVG] = FORM(3, REGISTER, WINDOW, NONE, NONE),
    [ESK_OP_FAGG] = FORM(4, BYTE, WINDOW, REGISTER, NONE),
};

uint16_t esk_op_form(uint8_t op) {
    return esk_rom_u16(&forms[op]);
}

uint8_t esk_op_bytes(const uint8_t *op) {
    uint8_t bytes = (uint8_t)(esk_op_form(op[0]) & 15u);
    if (op[0] == ESK_OP_FOR) {
        bytes =
            (uint8_t)(bytes + (op[2] >> ESK_FOR_RANGES) * ESK_FOR_RANGE_BYTES);
    }
    return bytes;
}

uint16_t esk_program_start(const uint8_t *code) {
    uint8_t wide =
        (uint8_t)(code[ESK_PROGRAM_TABLES] + code[ESK_PROGRAM_HELPERS]);
    return (uint16_t)(ESK_PROGRAM_HEAD + 8u * wide +
                      2u * code[ESK_PROGRAM_OUTPUTS]);
}

_Static_assert(ESK_PROGRAM_TABLE_BYTES == 8 && ESK_PROGRAM_HELPER_BYTES == 8,
               "esk_program_start");

bool esk_check_registers(const struct esk_check *check, uint8_t first,
                         uint16_t count) {
    return first + count <= check->code[ESK_PROGRAM_REGISTERS];
}

/// Whether the whole instruction at offset `at` lies within the program.
static ESK_OUT_OF_LINE bool is_whole(const struct esk_check *check,
                                     uint16_t at) {
    const uint8_t *op = check->code + at;
    uint16_t left = (uint16_t)(check->bytes - at);
    return left > 0 && op[0] < ESK_OP_COUNT_OF_ALL &&
           left >= (esk_op_form(op[0]) & 15u) && left >= esk_op_bytes(op);
}

bool esk_check_jump(const struct esk_check *check, uint16_t distance) {
    uint16_t at = check->next;
    if (distance >= (uint16_t)(check->bytes - at)) {
        return false;
    }
    uint16_t to = (uint16_t)(at + distance);
    while (at < to) {
        if (!is_whole(check, at) || check->code[at] == ESK_OP_HALT) {
            return false;
        }
        at = (uint16_t)(at + esk_op_bytes(check->code + at));
    }
    return at == to;
}

const struct esk_source *esk_check_source(const struct esk_check *check,
                                          uint8_t table) {
    return esk_program_source(esk_program_table(check->code, table),
                              check->sources, check->source_count);
}

bool esk_check_row(const struct esk_check *check, uint8_t table,
                   uint16_t offset, uint16_t width) {
    if (table >= check->code[ESK_PROGRAM_TABLES]) {
        return false;
    }
    uint16_t row = esk_load_u16(esk_program_table(check->code, table) +
                                ESK_PROGRAM_TABLE_ROW);
    return offset <= row && width <= (uint16_t)(row - offset);
}

bool esk_check_key(const struct esk_check *check, uint8_t table,
                   uint8_t first) {
    const struct esk_source *source = esk_check_source(check, table);
    return (source->key_type <= ESK_TYPE_U64 ||
            source->key_type == ESK_TYPE_BYTES) &&
           esk_check_registers(check, first, esk_source_key_slots(source));
}

bool esk_check_loop(struct esk_check *check, uint8_t *had, uint8_t index) {
    uint8_t bit = (uint8_t)(1u << index);
    if ((*had & bit) != 0 || check->depth == ESK_PROGRAM_LOOPS_MAX) {
        return false;
    }
    *had |= bit;
    check->starts[check->depth++] = check->at;
    return true;
}

/// FOR, whose table is checked.
static bool for_check(struct esk_check *check, const uint8_t *op) {
    uint8_t table = op[1];
    uint8_t flags = op[2];
    uint8_t ranges = flags >> ESK_FOR_RANGES;
    uint8_t can = esk_check_source(check, table)->kind->can;
    if (((flags & (ESK_FOR_MIN | ESK_FOR_MAX | ESK_FOR_BACKWARD)) != 0 &&
         (can & ESK_SOURCE_ORDERED) == 0) ||
        ((flags & ESK_FOR_MIN) != 0 && !esk_check_key(check, table, op[3])) ||
        ((flags & ESK_FOR_MAX) != 0 && !esk_check_key(check, table, op[4]))) {
        return false;
    }
    if (ranges != 0 && (ranges > check->code[ESK_PROGRAM_RANGES] ||
                        (can & ESK_SOURCE_RANGES) == 0 ||
                        !check->parts->ranges->check(check, op))) {
        return false;
    }
    if (!esk_check_loop(check, &check->looped, table)) {
        return false;
    }
    if ((flags & ESK_FOR_OPEN) != 0) {
        check->depth--;
    }
    return true;
}

/// NEXT and NEXTH: the end of the innermost loop.
static bool next_check(struct esk_check *check, const uint8_t *op) {
    if (check->depth == 0) {
        return false;
    }
    uint16_t start = check->starts[--check->depth];
    const uint8_t *opener = check->code + start;
    uint16_t body = (uint16_t)(start + esk_op_bytes(opener));
    uint16_t exit = esk_load_u16(opener + (opener[0] == ESK_OP_FOR ? 5 : 2));
    return opener[0] == (uint8_t)(op[0] - 1u) && opener[1] == op[1] &&
           esk_load_u16(op + 2) == body &&
           exit == (uint16_t)(check->next - body);
}

/// What the form of an instruction does not say.
static bool own_check(struct esk_check *check, const uint8_t *op) {
    switch (op[0]) {
    case ESK_OP_JMP16:
        return esk_check_jump(check, esk_load_u16(op + 1));
    case ESK_OP_FOR:
        return for_check(check, op);
    case ESK_OP_NEXT:
    case ESK_OP_NEXTH:
        return next_check(check, op);
    default:
        return esk_query_part_of(check->parts, esk_op_flag(op[0]))
            ->check(check, op);
    }
}

/// A place and its offset, of one byte or, in LDW, two.
static bool place_check(const struct esk_check *check, const uint8_t *op,
                        const uint8_t *place) {
    uint8_t type = place[0] & ESK_PLACE_TYPE;
    uint8_t width = esk_order_width(type);
    uint16_t offset = op[0] == ESK_OP_LDW ? esk_load_u16(place + 1) : place[1];
    return width != 0 &&
           (type <= ESK_TYPE_U64 ||
            ((check->code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_FLOATS) != 0 &&
             width <= ESK_SLOT_BYTES)) &&
           esk_check_row(check, place[0] >> ESK_PLACE_TABLE, offset, width);
}

/// Checks an operand of the instruction, which is whole.
static bool operand_check(struct esk_check *check, uint8_t kind,
                          const uint8_t *op, const uint8_t *operand) {
    switch (kind) {
    case OPERAND_REGISTER:
        return esk_check_registers(check, *operand, 1);
    case OPERAND_WINDOW:
        return esk_check_registers(check, *operand, ESK_WINDOW_SLOTS);
    case OPERAND_TABLE:
        return *operand < check->code[ESK_PROGRAM_TABLES];
    case OPERAND_JUMP:
        return esk_check_jump(check, *operand);
    case OPERAND_PLACE:
        return place_check(check, op, operand);
    case OPERAND_OWN:
        return own_check(check, op);
    default:
        return true;
    }
}

/// The first opcode of each group, from the last one back, and its flag.
static const uint8_t op_groups[] ESK_ROM = {
    ESK_OP_FADD,
    ESK_PROGRAM_FLOATS,
    ESK_OP_LDT,
    ESK_PROGRAM_TEXT,
    ESK_OP_PUSH,
    ESK_PROGRAM_HELPED,
    ESK_OP_ADVANCE,
    ESK_PROGRAM_JOINS,
    ESK_OP_COUNT,
    ESK_PROGRAM_RANGED,
    ESK_OP_LDI64 + 1,
    0,
    ESK_OP_LDI64,
    ESK_PROGRAM_WIDE,
    0,
    0,
};

uint8_t esk_op_flag(uint8_t op) {
    const uint8_t *group = op_groups;
    while (op < esk_rom_u8(group)) {
        group += 2;
    }
    return esk_rom_u8(group + 1);
}

const struct esk_query_part *
esk_query_part_of(const struct esk_query_parts *parts, uint8_t flag) {
    const struct esk_query_part *const *part = &parts->floats;
    for (; flag > ESK_PROGRAM_FLOATS; flag >>= 1) {
        part++;
    }
    return *part;
}

/// Checks the instructions, up to the first HALT.
static bool ops_check(struct esk_check *check) {
    const uint8_t *op = NULL;
    do {
        op = check->code + check->at;
        if (!is_whole(check, check->at) ||
            (esk_op_flag(op[0]) & (uint8_t)~check->code[ESK_PROGRAM_FLAGS]) !=
                0) {
            return false;
        }
        check->next = (uint16_t)(check->at + esk_op_bytes(op));
        const uint8_t *operand = op + 1;
        for (uint16_t form = esk_op_form(op[0]) >> 4; form != 0; form >>= 3) {
            if (!operand_check(check, form & 7u, op, operand++)) {
                return false;
            }
        }
        check->at = check->next;
    } while (op[0] != ESK_OP_HALT);
    return check->depth == 0;
}

/// The most of each count of the header, from ESK_PROGRAM_REGISTERS on.
static const uint8_t limits[] ESK_ROM = {
    ESK_PROGRAM_REGISTERS_MAX, ESK_PROGRAM_REGISTERS_MAX,
    ESK_PROGRAM_TABLES_MAX,    ESK_PROGRAM_OUTPUTS_MAX,
    ESK_PROGRAM_HELPERS_MAX,   ESK_PROGRAM_RANGES_MAX,
};

_Static_assert(offsetof(struct esk_query_parts, ranges) ==
                       4 * offsetof(struct esk_query_parts, text) &&
                   ESK_PROGRAM_FLOATS == 2 && ESK_PROGRAM_TEXT == 4 &&
                   ESK_PROGRAM_JOINS == 8 && ESK_PROGRAM_HELPED == 16 &&
                   ESK_PROGRAM_RANGED == 32,
               "parts are in the order of their flags");

/// Checks what the program needs of the build.
static bool needs_check(const struct esk_check *check) {
    uint8_t flags = check->code[ESK_PROGRAM_FLAGS];
    for (uint8_t flag = ESK_PROGRAM_RANGED; flag > ESK_PROGRAM_WIDE;
         flag >>= 1) {
        if ((flags & flag) != 0 &&
            esk_query_part_of(check->parts, flag) == NULL) {
            return false;
        }
    }
    return ((flags & ESK_PROGRAM_WIDE) == 0 || ESK_QUERY_BITS == 64) &&
           ((flags & ESK_PROGRAM_FLOATS) == 0 || ESK_HAS_REAL) &&
           check->code[ESK_PROGRAM_RANGES] <= ESK_SERIES_RANGES_MAX;
}

/// Checks the header.
static bool head_check(struct esk_check *check, uint32_t bytes) {
    const uint8_t *code = check->code;
    if (bytes < ESK_PROGRAM_HEAD || bytes > ESK_PROGRAM_BYTES_MAX ||
        esk_load_u16(code) !=
            (ESK_PROGRAM_MAGIC_0 | ESK_PROGRAM_MAGIC_1 << 8)) {
        return false;
    }
    check->bytes = (uint16_t)bytes;
    if (code[ESK_PROGRAM_VERSION] != ESK_PROGRAM_VERSION_NOW) {
        check->status = ESK_E_VERSION;
        return false;
    }
    uint32_t crc = esk_crc32c(UINT32_MAX, code, ESK_PROGRAM_CRC);
    crc = esk_crc32c(crc, code + ESK_PROGRAM_HEAD,
                     (uint16_t)(check->bytes - ESK_PROGRAM_HEAD));
    if (!esk_words_equal(~crc, esk_load_u32(code + ESK_PROGRAM_CRC)) ||
        esk_load_u16(code + ESK_PROGRAM_BYTES) != check->bytes ||
        code[ESK_PROGRAM_FLAGS] > ESK_PROGRAM_FLAGS_ALL) {
        return false;
    }
    for (uint8_t i = 0; i < sizeof limits; i++) {
        if (code[ESK_PROGRAM_REGISTERS + i] > esk_rom_u8(&limits[i])) {
            return false;
        }
    }
    if (code[ESK_PROGRAM_PARAMETERS] > code[ESK_PROGRAM_REGISTERS] ||
        (code[ESK_PROGRAM_RANGES] > 0 &&
         (code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_RANGED) == 0) ||
        (code[ESK_PROGRAM_HELPERS] > 0 &&
         (code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_HELPED) == 0) ||
        esk_program_start(code) >= check->bytes) {
        return false;
    }
    check->status = ESK_E_UNSUPPORTED;
    return needs_check(check);
}

const struct esk_source *esk_program_source(const uint8_t *entry,
                                            const struct esk_source *sources,
                                            uint8_t source_count) {
    for (; source_count > 0; source_count--, sources++) {
        if (sources->kind->kind == entry[ESK_PROGRAM_TABLE_KIND] &&
            sources->row_bytes == esk_load_u16(entry + ESK_PROGRAM_TABLE_ROW) &&
            esk_words_equal(sources->fingerprint,
                            esk_load_u32(entry + ESK_PROGRAM_TABLE_PRINT))) {
            return sources;
        }
    }
    return NULL;
}

/// Checks the entries of tables and helpers.
static bool entries_check(struct esk_check *check) {
    const uint8_t *code = check->code;
    check->at = ESK_PROGRAM_HEAD;
    for (uint8_t i = 0; i < code[ESK_PROGRAM_TABLES]; i++) {
        if (esk_check_source(check, i) == NULL) {
            check->status = ESK_E_SCHEMA;
            return false;
        }
        if (code[check->at + ESK_PROGRAM_TABLE_ZERO] != 0) {
            return false;
        }
        check->at = (uint16_t)(check->at + ESK_PROGRAM_TABLE_BYTES);
    }
    return code[ESK_PROGRAM_HELPERS] == 0 ||
           check->parts->helpers->check(check, NULL);
}

uint8_t esk_output_bytes(uint8_t type) {
    return type == ESK_OUTPUT_ROW_TEXT ? 6 : type == ESK_OUTPUT_TEXT ? 4 : 2;
}

/// Checks the output at `output`, which is whole.
static bool output_check(struct esk_check *check, const uint8_t *output) {
    uint8_t type = output[0];
    if (type >= ESK_OUTPUT_ROW_TEXT) {
        return type <= ESK_OUTPUT_TEXT &&
               (check->code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_TEXT) != 0 &&
               check->parts->text->check(check, output);
    }
    return type != 0 &&
           operand_check(check,
                         type == ESK_OUTPUT_ROW   ? OPERAND_TABLE
                         : type == ESK_OUTPUT_AVG ? OPERAND_WINDOW
                                                  : OPERAND_REGISTER,
                         output, output + 1);
}

/// Checks the outputs; then the instructions begin.
static bool outputs_check(struct esk_check *check) {
    uint16_t end = esk_program_start(check->code);
    check->at = (uint16_t)(end - 2u * check->code[ESK_PROGRAM_OUTPUTS]);
    while (check->at < end) {
        const uint8_t *output = check->code + check->at;
        uint8_t bytes = esk_output_bytes(output[0]);
        if (bytes > (uint16_t)(end - check->at) ||
            !output_check(check, output)) {
            return false;
        }
        check->at = (uint16_t)(check->at + bytes);
    }
    return true;
}

int esk_program_verify(struct esk_check *check, uint32_t bytes) {
    static const struct esk_query_parts none = {.joins = NULL};
    if (check->parts == NULL) {
        check->parts = &none;
    }
    check->status = ESK_E_CORRUPT;
    if (!head_check(check, bytes)) {
        return check->status;
    }
    check->status = ESK_E_CORRUPT;
    return entries_check(check) && outputs_check(check) && ops_check(check)
               ? ESK_OK
               : check->status;
}

int esk_program_check(const uint8_t *program, uint32_t program_bytes,
                      const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      struct esk_program_report *report) {
    ESK_ASSERT(program != NULL && report != NULL);
    struct esk_check check;
    memset(&check, 0, sizeof check);
    check.code = program;
    check.parts = parts;
    check.sources = sources;
    check.source_count = source_count;
    int status = esk_program_verify(&check, program_bytes);
    report->arena_bytes = 0;
    report->at = check.at;
    if (status == ESK_OK) {
        struct esk_program measured = {.code = program, .parts = parts};
        struct esk_arena arena = {.start = NULL};
        esk_program_carve(&measured, &arena, &check);
        report->arena_bytes = arena.used;
    }
    return status;
}
