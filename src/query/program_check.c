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
/// Outputs are checked as if they were instructions, with forms of their own.
///
/// Invariants
///   1. What was passed lies within the program and touches only registers,
///      tables and helpers that there are.
///   2. `loops` has the loops around the instruction, the outermost first.
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
    OPERAND_ANY, ///< or none
    OPERAND_REGISTER,
    OPERAND_WINDOW,
    OPERAND_TABLE,
    OPERAND_JUMP,  ///< the last byte
    OPERAND_FAR,   ///< a jump of two bytes
    OPERAND_PLACE, ///< and its offset
    OPERAND_OWN,   ///< the instruction has its own function
};

#define FORM(bytes, a, b, c, d)                                                \
    ((uint16_t)((bytes) | OPERAND_##a << 4 | OPERAND_##b << 7 |                \
                OPERAND_##c << 10 | (unsigned)OPERAND_##d << 13))

const uint16_t esk_op_forms[ESK_OP_FORMS] ESK_ROM = {
    [ESK_OP_HALT] = FORM(1, ANY, ANY, ANY, ANY),
    [ESK_OP_EMIT] = FORM(1, ANY, ANY, ANY, ANY),
    [ESK_OP_NULL] = FORM(2, REGISTER, ANY, ANY, ANY),
    [ESK_OP_MOV] = FORM(3, REGISTER, REGISTER, ANY, ANY),
    [ESK_OP_LDI8] = FORM(3, REGISTER, ANY, ANY, ANY),
    [ESK_OP_LDI16] = FORM(4, REGISTER, ANY, ANY, ANY),
    [ESK_OP_LDI32] = FORM(6, REGISTER, ANY, ANY, ANY),
    [ESK_OP_LDI64] = FORM(10, REGISTER, ANY, ANY, ANY),
    [ESK_OP_LD] = FORM(5, REGISTER, PLACE, ANY, ANY),
    [ESK_OP_NULLIF] = FORM(3, REGISTER, REGISTER, ANY, ANY),
    [ESK_OP_CLEAR] = FORM(2, WINDOW, ANY, ANY, ANY),
    [ESK_OP_AGG] = FORM(4, ANY, WINDOW, REGISTER, ANY),
    [ESK_OP_AGGC] = FORM(6, ANY, WINDOW, PLACE, ANY),
    [ESK_OP_SUM] = FORM(3, REGISTER, WINDOW, ANY, ANY),
    [ESK_OP_ADD] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_SUB] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_MUL] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_DIV] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_REM] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_IF] = FORM(5, REGISTER, REGISTER, JUMP, ANY),
    [ESK_OP_IFC] = FORM(8, REGISTER, REGISTER, PLACE, JUMP),
    [ESK_OP_JMP] = FORM(2, JUMP, ANY, ANY, ANY),
    [ESK_OP_JMP16] = FORM(3, FAR, ANY, ANY, ANY),
    [ESK_OP_FOR] = FORM(7, TABLE, OWN, ANY, ANY),
    [ESK_OP_NEXT] = FORM(4, OWN, ANY, ANY, ANY),
    [ESK_OP_COUNT] = FORM(3, REGISTER, TABLE, OWN, ANY),
    [ESK_OP_ADVANCE] = FORM(4, TABLE, REGISTER, JUMP, OWN),
    [ESK_OP_GET] = FORM(4, TABLE, REGISTER, JUMP, OWN),
    [ESK_OP_PUSH] = FORM(2, OWN, ANY, ANY, ANY),
    [ESK_OP_GROUP] = FORM(2, OWN, ANY, ANY, ANY),
    [ESK_OP_FORH] = FORM(4, OWN, ANY, ANY, ANY),
    [ESK_OP_NEXTH] = FORM(4, OWN, ANY, ANY, ANY),
    [ESK_OP_QUANTILE] = FORM(4, OWN, ANY, ANY, ANY),
    [ESK_OP_LDT] = FORM(6, REGISTER, TABLE, OWN, ANY),
    [ESK_OP_TEXT] = FORM(11, ANY, TABLE, OWN, JUMP),
    [ESK_OP_LENGTH] = FORM(4, REGISTER, OWN, ANY, ANY),
    [ESK_OP_SUBSTR] = FORM(9, OWN, ANY, ANY, ANY),
    [ESK_OP_LDR] = FORM(4, OWN, ANY, REGISTER, ANY),
    [ESK_OP_FADD] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_FSUB] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_FMUL] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_FDIV] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_FLOAT] = FORM(3, REGISTER, REGISTER, ANY, ANY),
    [ESK_OP_TRUNC] = FORM(3, REGISTER, REGISTER, ANY, ANY),
    [ESK_OP_FCMP] = FORM(4, REGISTER, REGISTER, REGISTER, ANY),
    [ESK_OP_ROUND] = FORM(4, REGISTER, REGISTER, ANY, ANY),
    [ESK_OP_FSUM] = FORM(3, REGISTER, WINDOW, ANY, ANY),
    [ESK_OP_FAVG] = FORM(3, REGISTER, WINDOW, ANY, ANY),
    [ESK_OP_FAGG] = FORM(4, ANY, WINDOW, REGISTER, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_INT] = FORM(2, REGISTER, ANY, ANY, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_FLOAT] = FORM(2, REGISTER, ANY, ANY, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_AVG] = FORM(2, WINDOW, ANY, ANY, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_ROW] = FORM(2, TABLE, ANY, ANY, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_ROW_TEXT] = FORM(6, TABLE, OWN, ANY, ANY),
    [ESK_OP_OUTPUTS + ESK_OUTPUT_TEXT] = FORM(4, OWN, ANY, ANY, ANY),
};

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
    uint8_t registers = check->code[ESK_PROGRAM_REGISTERS];
    return first < registers && count <= (uint8_t)(registers - first);
}

/// Notes the form of the instruction or output at offset `at`, behind `base`.
/// Returns its bytes; 0: it does not lie within the program, or has no form.
static ESK_OUT_OF_LINE uint8_t whole_bytes(struct esk_check *check, uint16_t at,
                                           uint8_t base) {
    const uint8_t *op = check->code + at;
    uint16_t left = (uint16_t)(check->bytes - at);
    uint8_t count = ESK_OUTPUT_TYPES;
    if (base == 0) {
        count = ESK_OP_COUNT_OF_ALL;
    }
    if (left == 0 || op[0] >= count) {
        return 0;
    }
    check->form = (uint8_t)(op[0] + base);
    uint8_t bytes = (uint8_t)(esk_op_form(check->form) & 15u);
    if (check->form == ESK_OP_FOR && left >= bytes) {
        bytes = (uint8_t)(bytes + (op[ESK_FOR_FLAGS] >> ESK_FOR_RANGES) *
                                      ESK_FOR_RANGE_BYTES);
    }
    return left >= bytes ? bytes : 0;
}

bool esk_check_jump(struct esk_check *check, uint16_t distance) {
    uint16_t at = check->next;
    while (distance > 0) {
        uint8_t bytes = whole_bytes(check, at, 0);
        if (bytes == 0 || bytes > distance || check->form == ESK_OP_HALT) {
            return false;
        }
        at = (uint16_t)(at + bytes);
        distance = (uint16_t)(distance - bytes);
    }
    return at < check->bytes;
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

bool esk_check_loop(struct esk_check *check, uint8_t *had, const uint8_t *op) {
    uint8_t bit = (uint8_t)(1u << op[1]);
    if ((*had & bit) != 0 || check->depth == ESK_PROGRAM_LOOPS_MAX) {
        return false;
    }
    *had |= bit;
    struct esk_check_loop *loop = &check->loops[check->depth++];
    loop->op = op;
    loop->body = check->next;
    return true;
}

/// The registers of the bounds of FOR, whose source can `can`.
static ESK_IN_LINE bool bounds_check(const struct esk_check *check,
                                     const uint8_t *op, uint8_t can) {
    uint8_t left = op[ESK_FOR_FLAGS] & (ESK_FOR_MIN | ESK_FOR_MAX);
    for (const uint8_t *bound = op + 5; left != 0; left >>= 1, bound++) {
        if ((left & ESK_FOR_MIN) != 0 &&
            !((can & ESK_SOURCE_REFERENCES) != 0
                  ? esk_check_registers(check, *bound, 1)
                  : esk_check_key(check, op[1], *bound))) {
            return false;
        }
    }
    return true;
}

/// FOR, whose table is checked.
static bool for_check(struct esk_check *check, const uint8_t *op) {
    uint8_t flags = op[ESK_FOR_FLAGS];
    uint8_t can = esk_check_source(check, op[1])->kind->can;
    if ((flags & (uint8_t)~(can | ESK_FOR_OPEN)) != 0 ||
        !bounds_check(check, op, can) ||
        flags >> ESK_FOR_RANGES > check->code[ESK_PROGRAM_RANGES] ||
        (flags >> ESK_FOR_RANGES != 0 &&
         !check->parts->ranges->check(check, op)) ||
        !esk_check_loop(check, &check->looped, op)) {
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
    const struct esk_check_loop *loop = &check->loops[--check->depth];
    return op[0] == loop->op[0] + 1 && op[1] == loop->op[1] &&
           esk_load_u16(op + 2) == loop->body &&
           esk_load_u16(loop->op + 2) == (uint16_t)(check->next - loop->body);
}

/// What the form of an instruction or an output does not say.
static bool own_check(struct esk_check *check, const uint8_t *op,
                      uint8_t form) {
    if (form == ESK_OP_FOR) {
        return for_check(check, op);
    }
    if (form == ESK_OP_NEXT || form == ESK_OP_NEXTH) {
        return next_check(check, op);
    }
    return esk_query_part_of(check->parts, esk_op_flag(form))->check(check, op);
}

/// A place and its offset.
static bool place_check(const struct esk_check *check, const uint8_t *place,
                        uint8_t form) {
    uint8_t type = place[0] & ESK_PLACE_TYPE;
    uint8_t width = esk_order_width(type);
    return width != 0 &&
           (type <= ESK_TYPE_U64 ||
            ((check->code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_FLOATS) != 0 &&
             form != ESK_OP_AGGC && width <= ESK_SLOT_BYTES)) &&
           esk_check_row(check, place[0] >> ESK_PLACE_TABLE,
                         esk_load_u16(place + 1), width);
}

/// Checks an operand of the instruction or output at `op`, which is whole.
static bool operand_check(struct esk_check *check, uint8_t kind,
                          const uint8_t *op, const uint8_t *operand,
                          uint8_t form) {
    switch (kind) {
    case OPERAND_REGISTER:
    case OPERAND_WINDOW:
        return esk_check_registers(
            check, *operand, kind == OPERAND_WINDOW ? ESK_WINDOW_SLOTS : 1);
    case OPERAND_TABLE:
        return *operand < check->code[ESK_PROGRAM_TABLES];
    case OPERAND_JUMP:
    case OPERAND_FAR:
        return esk_check_jump(check, kind == OPERAND_FAR
                                         ? esk_load_u16(operand)
                                         : check->code[check->next - 1u]);
    case OPERAND_PLACE:
        return place_check(check, operand, form);
    case OPERAND_OWN:
        return own_check(check, op, form);
    default:
        return true;
    }
}

/// The first opcode of each group, from the last one back, and its flag.
static const uint8_t op_groups[] ESK_ROM = {
    ESK_OP_OUTPUTS + ESK_OUTPUT_ROW_TEXT,
    ESK_PROGRAM_TEXT,
    ESK_OP_OUTPUTS,
    0,
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

/// Checks the instruction or output at check->at, and goes on behind it. Its
/// form is that of its first byte, behind `base`.
static bool item_check(struct esk_check *check, uint8_t base) {
    const uint8_t *op = check->code + check->at;
    uint8_t bytes = whole_bytes(check, check->at, base);
    uint8_t form = check->form;
    if (bytes == 0 ||
        (esk_op_flag(form) & (uint8_t)~check->code[ESK_PROGRAM_FLAGS]) != 0) {
        return false;
    }
    check->next = (uint16_t)(check->at + bytes);
    const uint8_t *operand = op + 1;
    for (uint16_t left = esk_op_form(form) >> 4; left != 0; left >>= 3) {
        if (!operand_check(check, left & 7u, op, operand++, form)) {
            return false;
        }
    }
    check->at = check->next;
    return true;
}

/// Checks the outputs, and the instructions up to the first HALT.
static bool items_check(struct esk_check *check) {
    uint16_t start = esk_program_start(check->code);
    uint8_t base = ESK_OP_OUTPUTS;
    const uint8_t *op = NULL;
    check->at = (uint16_t)(start - 2u * check->code[ESK_PROGRAM_OUTPUTS]);
    do {
        if (check->at == start) {
            base = 0;
        }
        op = check->code + check->at;
        if (!item_check(check, base)) {
            return false;
        }
    } while (base != 0 || op[0] != ESK_OP_HALT);
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
    const struct esk_query_part *const *part = &check->parts->floats;
    for (uint8_t left = flags >> 1; left != 0; left >>= 1) {
        if ((left & 1u) != 0 && *part == NULL) {
            return false;
        }
        part++;
    }
    return ((flags & ESK_PROGRAM_WIDE) == 0 || ESK_QUERY_BITS == 64) &&
           ((flags & ESK_PROGRAM_FLOATS) == 0 || ESK_HAS_REAL) &&
           check->code[ESK_PROGRAM_RANGES] <= ESK_SERIES_RANGES_MAX;
}

/// Checks the header.
static bool head_check(struct esk_check *check, uint32_t bytes) {
    const uint8_t *code = check->code;
    if (bytes < ESK_PROGRAM_HEAD + ESK_PROGRAM_CRC_BYTES ||
        bytes > ESK_PROGRAM_BYTES_MAX ||
        esk_load_u16(code) !=
            (ESK_PROGRAM_MAGIC_0 | ESK_PROGRAM_MAGIC_1 << 8)) {
        return false;
    }
    check->bytes = (uint16_t)(bytes - ESK_PROGRAM_CRC_BYTES);
    if (code[ESK_PROGRAM_VERSION] != ESK_PROGRAM_VERSION_NOW) {
        check->status = ESK_E_VERSION;
        return false;
    }
    if (!esk_words_equal(~esk_crc32c(UINT32_MAX, code, check->bytes),
                         esk_load_u32(code + check->bytes)) ||
        esk_load_u16(code + ESK_PROGRAM_BYTES) != (uint16_t)bytes ||
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
        if (sources->kind->kind ==
                esk_load_u16(entry + ESK_PROGRAM_TABLE_KIND) &&
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
        check->at = (uint16_t)(check->at + ESK_PROGRAM_TABLE_BYTES);
    }
    return code[ESK_PROGRAM_HELPERS] == 0 ||
           check->parts->helpers->check(check, NULL);
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
    return entries_check(check) && items_check(check) ? ESK_OK : check->status;
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
        /* No byte fits, so it has an address, but nothing is written. */
        struct esk_arena arena = {.start = (uint8_t *)report};
        esk_program_carve(&measured, &arena, &check);
        report->arena_bytes = arena.used;
    }
    return status;
}
