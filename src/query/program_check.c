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
    [ESK_OP_FOR] = FORM(7, TABLE, BYTE, REGISTER, OWN),
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

/// A check that goes on.
struct check {
    const uint8_t *code;
    const struct esk_query_parts *parts;
    const struct esk_source *sources;
    uint16_t bytes;
    uint16_t at;   ///< offset of the instruction, or of what is checked
    uint16_t next; ///< offset of the next instruction
    uint16_t starts[ESK_PROGRAM_LOOPS_MAX];
    uint8_t source_count;
    uint8_t depth;
    uint8_t looped; ///< bit i: table i has a FOR
    uint8_t opened; ///< bit i: and it is no loop
    uint8_t helped; ///< bit i: helper i has a FORH
};

static ESK_OUT_OF_LINE int rule(bool holds) {
    return holds ? ESK_OK : ESK_E_CORRUPT;
}

static ESK_OUT_OF_LINE int need(bool has) {
    return has ? ESK_OK : ESK_E_UNSUPPORTED;
}

static bool has_bit(uint8_t bits, uint8_t index) {
    return (bits & (uint8_t)(1u << index)) != 0;
}

/// Whether `count` registers from `first` on are there.
static ESK_OUT_OF_LINE bool has_registers(const uint8_t *code, uint8_t first,
                                          uint16_t count) {
    return first < code[ESK_PROGRAM_REGISTERS] &&
           count <= (uint8_t)(code[ESK_PROGRAM_REGISTERS] - first);
}

/// Whether the whole instruction at offset `at` lies within the program.
static ESK_OUT_OF_LINE bool is_whole(const struct check *check, uint16_t at) {
    const uint8_t *op = check->code + at;
    uint16_t left = (uint16_t)(check->bytes - at);
    return left > 0 && op[0] < ESK_OP_COUNT_OF_ALL &&
           left >= (esk_op_form(op[0]) & 15u) && left >= esk_op_bytes(op);
}

/// Whether an instruction begins `distance` bytes behind the next one.
static ESK_OUT_OF_LINE int jump_check(const struct check *check,
                                      uint16_t distance) {
    uint16_t at = check->next;
    if (distance > (uint16_t)(check->bytes - at)) {
        return ESK_E_CORRUPT;
    }
    uint16_t to = (uint16_t)(at + distance);
    while (at < to && is_whole(check, at) && check->code[at] != ESK_OP_HALT) {
        at = (uint16_t)(at + esk_op_bytes(check->code + at));
    }
    return rule(at == to && at < check->bytes);
}

static const struct esk_source *source_of(const struct check *check,
                                          uint8_t table) {
    return esk_program_source(esk_program_table(check->code, table),
                              check->sources, check->source_count);
}

/// Whether `width` bytes at `offset` lie in a row of the table.
static int row_check(const struct check *check, uint8_t table, uint16_t offset,
                     uint16_t width) {
    if (table >= check->code[ESK_PROGRAM_TABLES]) {
        return ESK_E_CORRUPT;
    }
    uint16_t row = esk_load_u16(esk_program_table(check->code, table) +
                                ESK_PROGRAM_TABLE_ROW);
    return rule(offset <= row && width <= row - offset);
}

/// Checks the key of `table` in registers from `first` on.
static int key_check(const struct check *check, uint8_t table, uint8_t first) {
    const struct esk_source *source = source_of(check, table);
    ESK_TRY(need(source->key_type <= ESK_TYPE_U64 ||
                 source->key_type == ESK_TYPE_BYTES));
    return rule(
        has_registers(check->code, first, esk_source_key_slots(source)));
}

/// FOR, whose table is checked.
static int for_check(struct check *check, const uint8_t *op) {
    const uint8_t *code = check->code;
    uint8_t table = op[1];
    uint8_t flags = op[2];
    uint8_t ranges = flags >> ESK_FOR_RANGES;
    uint8_t bit = (uint8_t)(1u << table);
    uint8_t can = source_of(check, table)->kind->can;
    ESK_TRY(
        rule((check->looped & bit) == 0 && ranges <= code[ESK_PROGRAM_RANGES]));
    ESK_TRY(need((can & ESK_SOURCE_RANGES) != 0 || ranges == 0));
    check->looped |= bit;
    if ((flags & (ESK_FOR_MIN | ESK_FOR_MAX | ESK_FOR_BACKWARD)) != 0) {
        ESK_TRY(need((can & ESK_SOURCE_ORDERED) != 0));
    }
    if ((flags & ESK_FOR_MIN) != 0) {
        ESK_TRY(key_check(check, table, op[3]));
    }
    if ((flags & ESK_FOR_MAX) != 0) {
        ESK_TRY(key_check(check, table, op[4]));
    }
    for (const uint8_t *range = op + 7; ranges > 0; ranges--) {
        uint8_t type = range[ESK_FOR_RANGE_FLAGS] >> ESK_PLACE_TABLE;
        ESK_TRY(rule(type >= ESK_TYPE_I8 && type <= ESK_TYPE_F64 &&
                     (type <= ESK_TYPE_U64 ||
                      (code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_FLOATS) != 0) &&
                     has_registers(code, range[ESK_FOR_RANGE_LO], 1) &&
                     has_registers(code, range[ESK_FOR_RANGE_HI], 1)));
        range += ESK_FOR_RANGE_BYTES;
    }
    if ((flags & ESK_FOR_OPEN) != 0) {
        check->opened |= bit;
        return rule(esk_load_u16(op + 5) == 0);
    }
    ESK_TRY(rule(check->depth < ESK_PROGRAM_LOOPS_MAX));
    check->starts[check->depth++] = check->at;
    return ESK_OK;
}

/// NEXT and NEXTH: the end of the innermost loop.
static int next_check(struct check *check, const uint8_t *op) {
    if (check->depth == 0) {
        return ESK_E_CORRUPT;
    }
    uint16_t start = check->starts[--check->depth];
    const uint8_t *opener = check->code + start;
    uint16_t body = (uint16_t)(start + esk_op_bytes(opener));
    uint16_t exit = esk_load_u16(opener + (opener[0] == ESK_OP_FOR ? 5 : 2));
    return rule(opener[0] == op[0] - 1u && opener[1] == op[1] &&
                esk_load_u16(op + 2) == body && exit == check->next - body);
}

/// PUSH, GROUP and FORH.
static int helper_check(struct check *check, const uint8_t *op) {
    uint8_t index = op[1];
    ESK_TRY(rule(index < check->code[ESK_PROGRAM_HELPERS]));
    if (op[0] != ESK_OP_FORH) {
        bool groups =
            esk_program_helper(check->code, index)[0] == ESK_HELPER_GROUPS;
        return rule(groups == (op[0] == ESK_OP_GROUP));
    }
    uint8_t bit = (uint8_t)(1u << index);
    ESK_TRY(rule((check->helped & bit) == 0 &&
                 check->depth < ESK_PROGRAM_LOOPS_MAX));
    check->helped |= bit;
    check->starts[check->depth++] = check->at;
    return ESK_OK;
}

/// TEXT, whose table is checked.
static int text_check(const struct check *check, const uint8_t *op) {
    uint16_t constant = esk_load_u16(op + 7);
    ESK_TRY(rule(op[1] <= ESK_TEXT_ALL && constant <= check->bytes &&
                 op[9] <= check->bytes - constant));
    ESK_TRY(
        row_check(check, op[2], esk_load_u16(op + 3), esk_load_u16(op + 5)));
    return jump_check(check, op[10]);
}

/// What the form of an instruction does not say.
static int own_check(struct check *check, const uint8_t *op) {
    switch (op[0]) {
    case ESK_OP_JMP16:
        return jump_check(check, esk_load_u16(op + 1));
    case ESK_OP_FOR:
        return for_check(check, op);
    case ESK_OP_NEXT:
    case ESK_OP_NEXTH:
        return next_check(check, op);
    case ESK_OP_COUNT:
        return rule(has_bit(check->opened, op[2]));
    case ESK_OP_ADVANCE:
        ESK_TRY(rule(has_bit(check->opened, op[1])));
        ESK_TRY(need(
            (source_of(check, op[1])->kind->can & ESK_SOURCE_ORDERED) != 0 &&
            source_of(check, op[1])->key_type <= ESK_TYPE_U64));
        return ESK_OK;
    case ESK_OP_GET:
        return key_check(check, op[1], op[2]);
    case ESK_OP_LDT:
        ESK_TRY(rule(op[3] >= 1 && op[3] <= ESK_SLOT_BYTES));
        return row_check(check, op[2], esk_load_u16(op + 4), op[3]);
    case ESK_OP_TEXT:
        return text_check(check, op);
    default:
        return helper_check(check, op);
    }
}

/// A place and its offset, of one byte or, in LDW, two.
static int place_check(const struct check *check, const uint8_t *op,
                       const uint8_t *place) {
    uint8_t type = place[0] & ESK_PLACE_TYPE;
    uint8_t width = esk_order_width(type);
    uint16_t offset = op[0] == ESK_OP_LDW ? esk_load_u16(place + 1) : place[1];
    ESK_TRY(need(width <= ESK_SLOT_BYTES || type != ESK_TYPE_F64));
    ESK_TRY(rule(width != 0 &&
                 (type <= ESK_TYPE_U64 ||
                  (check->code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_FLOATS) != 0)));
    return row_check(check, place[0] >> ESK_PLACE_TABLE, offset, width);
}

/// Checks the operands of the instruction, which is whole.
static int operands_check(struct check *check, const uint8_t *op) {
    const uint8_t *operand = op + 1;
    for (uint16_t form = esk_op_form(op[0]) >> 4; form != 0; form >>= 3) {
        int status = ESK_OK;
        switch (form & 7u) {
        case OPERAND_REGISTER:
            status = rule(has_registers(check->code, *operand, 1));
            break;
        case OPERAND_WINDOW:
            status =
                rule(has_registers(check->code, *operand, ESK_WINDOW_SLOTS));
            break;
        case OPERAND_TABLE:
            status = rule(*operand < check->code[ESK_PROGRAM_TABLES]);
            break;
        case OPERAND_JUMP:
            status = jump_check(check, *operand);
            break;
        case OPERAND_PLACE:
            status = place_check(check, op, operand);
            break;
        case OPERAND_OWN:
            status = own_check(check, op);
            break;
        default:
            break;
        }
        ESK_TRY(status);
        operand++;
    }
    return ESK_OK;
}

/// The flag that an opcode needs; 0: none.
static uint8_t flag_of(uint8_t op) {
    return op >= ESK_OP_FADD      ? ESK_PROGRAM_FLOATS
           : op >= ESK_OP_LDT     ? ESK_PROGRAM_TEXT
           : op >= ESK_OP_PUSH    ? ESK_PROGRAM_HELPED
           : op >= ESK_OP_ADVANCE ? ESK_PROGRAM_JOINS
           : op == ESK_OP_LDI64   ? ESK_PROGRAM_WIDE
                                  : 0;
}

/// Checks the instructions, up to the first HALT.
static int ops_check(struct check *check) {
    const uint8_t *op = NULL;
    do {
        if (!is_whole(check, check->at)) {
            return ESK_E_CORRUPT;
        }
        op = check->code + check->at;
        uint8_t flag = flag_of(op[0]);
        check->next = (uint16_t)(check->at + esk_op_bytes(op));
        ESK_TRY(rule((check->code[ESK_PROGRAM_FLAGS] & flag) == flag));
        ESK_TRY(operands_check(check, op));
        check->at = check->next;
    } while (op[0] != ESK_OP_HALT);
    return rule(check->depth == 0);
}

static bool crc_is_right(const uint8_t *code, uint16_t bytes) {
    uint32_t crc = esk_crc32c(UINT32_MAX, code, ESK_PROGRAM_CRC);
    crc = esk_crc32c(crc, code + ESK_PROGRAM_HEAD,
                     (uint16_t)(bytes - ESK_PROGRAM_HEAD));
    return esk_words_equal(~crc, esk_load_u32(code + ESK_PROGRAM_CRC));
}

/// Checks the header.
static int head_check(struct check *check, uint32_t bytes) {
    const uint8_t *code = check->code;
    const struct esk_query_parts *parts = check->parts;
    if (bytes < ESK_PROGRAM_HEAD || bytes > ESK_PROGRAM_BYTES_MAX ||
        code[ESK_PROGRAM_MAGIC] != ESK_PROGRAM_MAGIC_0 ||
        code[ESK_PROGRAM_MAGIC + 1] != ESK_PROGRAM_MAGIC_1) {
        return ESK_E_CORRUPT;
    }
    if (code[ESK_PROGRAM_VERSION] != ESK_PROGRAM_VERSION_NOW) {
        return ESK_E_VERSION;
    }
    uint8_t flags = code[ESK_PROGRAM_FLAGS];
    check->bytes = (uint16_t)bytes;
    ESK_TRY(rule(esk_load_u16(code + ESK_PROGRAM_BYTES) == check->bytes &&
                 crc_is_right(code, check->bytes) &&
                 flags <= ESK_PROGRAM_FLAGS_ALL &&
                 code[ESK_PROGRAM_REGISTERS] <= ESK_PROGRAM_REGISTERS_MAX &&
                 code[ESK_PROGRAM_PARAMETERS] <= code[ESK_PROGRAM_REGISTERS] &&
                 code[ESK_PROGRAM_TABLES] <= ESK_PROGRAM_TABLES_MAX &&
                 code[ESK_PROGRAM_OUTPUTS] <= ESK_PROGRAM_OUTPUTS_MAX &&
                 code[ESK_PROGRAM_HELPERS] <= ESK_PROGRAM_HELPERS_MAX &&
                 code[ESK_PROGRAM_RANGES] <= ESK_PROGRAM_RANGES_MAX &&
                 esk_program_start(code) < check->bytes));
    return need(((flags & ESK_PROGRAM_WIDE) == 0 || ESK_QUERY_BITS == 64) &&
                ((flags & ESK_PROGRAM_FLOATS) == 0 ||
                 (parts->floats != NULL && ESK_HAS_REAL)) &&
                ((flags & ESK_PROGRAM_TEXT) == 0 || parts->text != NULL) &&
                ((flags & ESK_PROGRAM_JOINS) == 0 || parts->joins != NULL) &&
                ((flags & ESK_PROGRAM_HELPED) == 0 || parts->helpers != NULL) &&
                code[ESK_PROGRAM_RANGES] <= ESK_SERIES_RANGES_MAX);
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
static int entries_check(struct check *check) {
    const uint8_t *code = check->code;
    const uint8_t *entry = code + ESK_PROGRAM_HEAD;
    for (uint8_t i = 0; i < code[ESK_PROGRAM_TABLES]; i++) {
        check->at = (uint16_t)(entry - code);
        ESK_TRY(rule(entry[ESK_PROGRAM_TABLE_ZERO] == 0));
        if (source_of(check, i) == NULL) {
            return ESK_E_SCHEMA;
        }
        entry += ESK_PROGRAM_TABLE_BYTES;
    }
    for (uint8_t i = 0; i < code[ESK_PROGRAM_HELPERS]; i++) {
        uint8_t kind = entry[ESK_PROGRAM_HELPER_KIND];
        uint8_t slots = entry[ESK_PROGRAM_HELPER_SLOTS];
        uint8_t keys = entry[ESK_PROGRAM_HELPER_KEYS];
        check->at = (uint16_t)(entry - code);
        ESK_TRY(rule(
            kind >= ESK_HELPER_TOP && kind <= ESK_HELPER_GROUPS &&
            keys <= slots && keys <= ESK_PROGRAM_HELPER_KEYS_MAX && slots > 0 &&
            has_registers(code, entry[ESK_PROGRAM_HELPER_FIRST], slots) &&
            esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY) > 0));
        entry += ESK_PROGRAM_HELPER_BYTES;
    }
    return need(code[ESK_PROGRAM_HELPERS] == 0 ||
                (code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_HELPED) != 0);
}

/// Checks the outputs.
static int outputs_check(struct check *check) {
    const uint8_t *code = check->code;
    uint16_t end = esk_program_start(code);
    check->at = (uint16_t)(end - 2u * code[ESK_PROGRAM_OUTPUTS]);
    while (check->at < end) {
        const uint8_t *output = code + check->at;
        uint16_t left = (uint16_t)(end - check->at);
        uint8_t bytes = 2;
        bool holds = true;
        switch (output[0]) {
        case ESK_OUTPUT_INT:
        case ESK_OUTPUT_FLOAT:
            holds = has_registers(code, output[1], 1);
            break;
        case ESK_OUTPUT_AVG:
            holds = has_registers(code, output[1], ESK_WINDOW_SLOTS);
            break;
        case ESK_OUTPUT_ROW:
            holds = output[1] < code[ESK_PROGRAM_TABLES];
            break;
        case ESK_OUTPUT_ROW_TEXT:
            bytes = 6;
            holds = left >= bytes &&
                    row_check(check, output[1], esk_load_u16(output + 2),
                              esk_load_u16(output + 4)) == ESK_OK;
            break;
        case ESK_OUTPUT_TEXT:
            bytes = 4;
            holds = left >= bytes &&
                    has_registers(code, output[1],
                                  (uint16_t)((esk_load_u16(output + 2) +
                                              (ESK_SLOT_BYTES - 1u)) /
                                             ESK_SLOT_BYTES));
            break;
        default:
            return ESK_E_CORRUPT;
        }
        ESK_TRY(rule(holds));
        check->at = (uint16_t)(check->at + bytes);
    }
    return ESK_OK;
}

int esk_program_verify(const uint8_t *code, uint32_t bytes,
                       const struct esk_query_parts *parts,
                       const struct esk_source *sources, uint8_t source_count,
                       uint8_t *looped, uint16_t *at) {
    static const struct esk_query_parts none = {.joins = NULL};
    struct check check;
    memset(&check, 0, sizeof check);
    check.code = code;
    check.parts = parts != NULL ? parts : &none;
    check.sources = sources;
    check.source_count = source_count;
    int status = head_check(&check, bytes);
    if (status == ESK_OK) {
        status = entries_check(&check);
    }
    if (status == ESK_OK) {
        status = outputs_check(&check);
    }
    if (status == ESK_OK) {
        status = ops_check(&check);
    }
    *looped = check.looped;
    *at = check.at;
    return status;
}

int esk_program_check(const uint8_t *program, uint32_t program_bytes,
                      const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      struct esk_program_report *report) {
    ESK_ASSERT(program != NULL && report != NULL);
    struct esk_program measured = {.code = program, .parts = parts};
    struct esk_arena arena = {.start = NULL};
    uint8_t looped = 0;
    report->arena_bytes = 0;
    ESK_TRY(esk_program_verify(program, program_bytes, parts, sources,
                               source_count, &looped, &report->at));
    esk_program_carve(&measured, &arena, sources, source_count, looped);
    report->arena_bytes = arena.used;
    return ESK_OK;
}
