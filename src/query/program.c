// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The machine: runs a checked program in steps.
///
/// An instruction that cannot end within the budget is run again by the next
/// step, so it changes no register before its last read; how far it came is in
/// the state of its cursor.
///
/// Any failure is final: a cursor does not return the rows of a page again that
/// it failed to read, so an answer would lack them.
///
/// Invariants
///   1. `next` is an instruction that was checked.
///   2. A table's row is read only in state ESK_CURSOR_ROW.
///   3. Whoever reads a row or a page that may be one of many pays for it.
///
/// Cost: an instruction is about 40 instructions of a host, 350 cycles on AVR
/// with slots of 64 bits.
#include "query/program.h"
#include "base/inline.h"
#include "esker/assert.h"

ESK_OUT_OF_LINE void *esk_program_take(struct esk_arena *arena,
                                       uint16_t bytes) {
    void *piece = esk_arena_take(arena, bytes);
    return esk_arena_fits(arena) ? memset(piece, 0, bytes) : NULL;
}

/// Carves registers, tables and ranges in one piece, those first whose size is
/// a multiple of a slot's.
static void state_carve(struct esk_program *program, struct esk_arena *arena) {
    const uint8_t *code = program->code;
    uint8_t registers = code[ESK_PROGRAM_REGISTERS];
    uint8_t ranges = code[ESK_PROGRAM_RANGES];
    uint8_t count = code[ESK_PROGRAM_TABLES];
    esk_slot *values = esk_program_take(
        arena, (uint16_t)(registers * (uint8_t)(sizeof(esk_slot) + 1u) +
                          ranges * (uint8_t)sizeof(struct esk_series_range) +
                          count * (uint8_t)sizeof(struct esk_program_table)));
    if (values != NULL) {
        program->values = values;
        program->ranges = (void *)(values + registers);
        program->tables = (void *)(program->ranges + ranges);
        program->nulls = (void *)(program->tables + count);
    }
}

void esk_program_carve(struct esk_program *program, struct esk_arena *arena,
                       const struct esk_check *check) {
    const uint8_t *code = program->code;
    uint8_t looped = check->looped;
    state_carve(program, arena);
    struct esk_program_table *table = program->tables;
    for (uint8_t i = 0; i < code[ESK_PROGRAM_TABLES]; i++) {
        const struct esk_source *source = esk_check_source(check, i);
        uint16_t cursor_bytes = (looped & 1u) != 0 ? source->cursor_bytes : 0;
        uint8_t *row = esk_program_take(
            arena, (uint16_t)(cursor_bytes + source->row_bytes));
        if (row != NULL) {
            table->source = source;
            table->cursor = cursor_bytes != 0 ? row : NULL;
            table->row = row + cursor_bytes;
            if (source->kind->mark != NULL) {
                source->kind->mark(source, &table->mark);
            }
            table++;
        }
        looped >>= 1;
    }
    if (code[ESK_PROGRAM_HELPERS] > 0) {
        program->parts->helpers->carve(program, arena);
    }
}

int esk_program_begin(struct esk_program *program, const uint8_t *code,
                      uint32_t code_bytes, const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      void *arena, uint32_t arena_bytes) {
    struct esk_arena memory = {.start = arena, .used = 0, .bytes = arena_bytes};
    struct esk_check check;
    ESK_ASSERT(program != NULL && code != NULL);
    memset(&check, 0, sizeof check);
    program->status = ESK_E_INVALID;
    program->code = code;
    program->parts = parts;
    program->texts = NULL;
    program->text_bytes = 0;
    check.code = code;
    check.parts = parts;
    check.sources = sources;
    check.source_count = source_count;
    if (arena == NULL || !esk_arena_is_aligned(arena)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_program_verify(&check, code_bytes));
    esk_program_carve(program, &memory, &check);
    if (esk_program_take(&memory, 0) == NULL) { /* not all fits */
        return ESK_E_NO_MEMORY;
    }
    program->next = code + esk_program_start(code);
    memset(program->nulls, 1, code[ESK_PROGRAM_REGISTERS]);
    program->status = ESK_AGAIN;
    return ESK_OK;
}

int esk_program_set(struct esk_program *program, uint8_t parameter,
                    esk_slot value) {
    if (program->status < 0 ||
        parameter >= program->code[ESK_PROGRAM_PARAMETERS]) {
        return ESK_E_INVALID;
    }
    program->values[parameter] = value;
    program->nulls[parameter] = 0;
    return ESK_OK;
}

bool esk_program_pay(struct esk_program *program) {
    if (program->budget == 0) {
        return false;
    }
    program->budget--;
    return true;
}

int esk_program_fetch(struct esk_program *program,
                      struct esk_program_table *table, uint8_t state) {
    const struct esk_source *source = table->source;
    int status = ESK_END;
    if (table->cursor != NULL && table->state != ESK_CURSOR_CLOSED) {
        do {
            if (!esk_program_pay(program)) {
                return ESK_AGAIN;
            }
            status = source->kind->next(source, table->cursor, table->row);
            if (status == ESK_OK) {
                table->state = state;
                return ESK_OK;
            }
        } while (status == ESK_AGAIN);
    }
    if (status == ESK_END) {
        table->state = ESK_CURSOR_CLOSED;
    }
    return status;
}

int esk_program_column(const struct esk_program *program, esk_slot *slot,
                       uint8_t place, uint16_t offset) {
    const struct esk_program_table *table =
        &program->tables[place >> ESK_PLACE_TABLE];
    const uint8_t *bytes = table->row + offset;
    uint8_t type = place & ESK_PLACE_TYPE;
    if (table->state != ESK_CURSOR_ROW) {
        return ESK_NOT_FOUND;
    }
    if (!ESK_SLOT_APART && type == ESK_TYPE_I32) { /* the usual one */
        return esk_slot_load(slot, bytes, ESK_TYPE_I32) ? ESK_OK : ESK_E_LIMIT;
    }
    if (type >= ESK_TYPE_F32) {
        return program->parts->floats->load(slot, type, bytes) ? ESK_OK
                                                               : ESK_NOT_FOUND;
    }
    return esk_slot_load(slot, bytes, type) ? ESK_OK : ESK_E_LIMIT;
}

/// Takes a value into a register that is NULL or to which its order is `order`.
static ESK_IN_LINE void best_take(esk_slot *best, uint8_t *null,
                                  const esk_slot *value, int8_t order) {
    if (*null != 0 || esk_slot_compare(value, best) == order) {
        esk_slot_copy(best, value);
        *null = 0;
    }
}

void esk_program_aggregate(struct esk_program *program, uint8_t mask, uint8_t w,
                           const esk_slot *value) {
    esk_slot *window = program->values + w;
    uint8_t *nulls = program->nulls + w;
    if (nulls[ESK_WINDOW_COUNT] != 0) {
        memset(window, 0, (ESK_WINDOW_CARRY + 1) * sizeof *window);
        nulls[ESK_WINDOW_COUNT] = 0;
    }
    if (value == NULL) {
        return;
    }
    if ((mask & ESK_WINDOW_HAS_COUNT) != 0) {
        esk_slot_increment(window);
    }
    if ((mask & ESK_WINDOW_HAS_SUM) != 0) {
        nulls[ESK_WINDOW_SUM] = 0;
        if ((mask & ESK_WINDOW_FLOATS) != 0) {
            program->parts->floats->add(window + ESK_WINDOW_SUM, value);
        } else {
            esk_slot_add_wide(window + ESK_WINDOW_SUM, value);
        }
    }
    if ((mask & ESK_WINDOW_HAS_MIN) != 0) {
        best_take(window + ESK_WINDOW_MIN, nulls + ESK_WINDOW_MIN, value, -1);
    }
    if ((mask & ESK_WINDOW_HAS_MAX) != 0) {
        best_take(window + ESK_WINDOW_MAX, nulls + ESK_WINDOW_MAX, value, 1);
    }
}

const esk_slot *esk_program_operand(const struct esk_program *program,
                                    uint8_t r) {
    return program->nulls[r] != 0 ? NULL : program->values + r;
}

int esk_program_result(struct esk_program *program, uint8_t r, int status) {
    if (status < 0) {
        return status;
    }
    program->nulls[r] = status != ESK_OK;
    return ESK_PROGRAM_GOES_ON;
}

/// Moves on by the distance of 16 bits at `bytes`.
static ESK_IN_LINE int far_jump(struct esk_program *program,
                                const uint8_t *bytes) {
    program->next += esk_load_u16(bytes);
    return ESK_PROGRAM_GOES_ON;
}

/// Loads the column at `place`: a place and its offset in the row.
static ESK_APART int column_load(const struct esk_program *program,
                                 esk_slot *slot, const uint8_t *place) {
    return esk_program_column(program, slot, place[0], esk_load_u16(place + 1));
}

/// Whether one of the two registers at `operands` is NULL.
static ESK_IN_LINE bool either_is_null(const struct esk_program *program,
                                       const uint8_t *operands) {
    return (program->nulls[operands[0]] | program->nulls[operands[1]]) != 0;
}

/// ADD to REM.
static int arithmetic_run(const struct esk_program *program, const uint8_t *op,
                          esk_slot *r) {
    uint8_t code = op[0];
    const esk_slot *a = program->values + op[2];
    const esk_slot *b = program->values + op[3];
    if (either_is_null(program, op + 2)) {
        return ESK_NOT_FOUND;
    }
    if (code >= ESK_OP_MUL) {
        return esk_slot_scale(r, a, b, (uint8_t)(code - ESK_OP_MUL));
    }
    return esk_slot_add(r, a, b, code == ESK_OP_SUB) ? ESK_OK : ESK_E_LIMIT;
}

/// AGGC.
static int aggregate_run(struct esk_program *program, const uint8_t *op) {
    uint8_t mask = op[1] & ESK_WINDOW_HAS_ALL;
    uint8_t w = op[2];
    esk_slot column;
    int status = column_load(program, &column, op + 3);
    if (status < 0) {
        return status;
    }
    esk_program_aggregate(program, mask, w, status == ESK_OK ? &column : NULL);
    return ESK_PROGRAM_GOES_ON;
}

/// MOV and SUM.
static int move_run(const struct esk_program *program, const uint8_t *op,
                    esk_slot *value) {
    bool is_sum = op[0] == ESK_OP_SUM;
    const esk_slot *a = esk_program_operand(
        program, is_sum ? (uint8_t)(op[2] + ESK_WINDOW_SUM) : op[2]);
    if (a == NULL) {
        return ESK_NOT_FOUND;
    }
    if (is_sum) {
        return esk_slot_narrow(value, a) ? ESK_OK : ESK_E_LIMIT;
    }
    esk_slot_copy(value, a);
    return ESK_OK;
}

/// Jumps by the distance that ends the instruction, at `end`.
static int near_jump(struct esk_program *program, const uint8_t *end) {
    program->next = end + end[-1];
    return ESK_PROGRAM_GOES_ON;
}

/// How a and b compare: enum esk_when.
static ESK_IN_LINE uint8_t when_ordered(const esk_slot *a, const esk_slot *b) {
    int8_t order = esk_slot_compare(a, b);
    return order < 0    ? ESK_WHEN_LESS
           : order == 0 ? ESK_WHEN_EQUAL
                        : ESK_WHEN_GREATER;
}

/// How the two registers of IF, IFC and NULLIF compare: enum esk_when.
static uint8_t when_of(const struct esk_program *program, const uint8_t *op) {
    if (either_is_null(program, op + 1)) {
        return ESK_WHEN_NULL;
    }
    return when_ordered(program->values + op[1], program->values + op[2]);
}

/// IF, and IFC once its column is in its register.
static int if_run(struct esk_program *program, const uint8_t *op,
                  const uint8_t *end) {
    return (end[-2] & when_of(program, op)) != 0 ? near_jump(program, end)
                                                 : ESK_PROGRAM_GOES_ON;
}

/// Opens the table of a FOR. Returns ESK_OK; ESK_END: no row; as the source.
static int table_open(struct esk_program *program,
                      struct esk_program_table *table, const uint8_t *op) {
    struct esk_source_bounds bounds;
    uint8_t flags = op[ESK_FOR_FLAGS];
    const esk_slot *bound[2] = {NULL, NULL};
    uint8_t left = flags;
    for (uint8_t i = 0; i < 2; i++) {
        if ((left & ESK_FOR_MIN) != 0) {
            bound[i] = esk_program_operand(program, op[5 + i]);
            if (bound[i] == NULL) {
                return ESK_END;
            }
        }
        left >>= 1;
    }
    bounds.min = bound[0];
    bounds.max = bound[1];
    bounds.backward = (flags & ESK_FOR_BACKWARD) != 0;
    bounds.range_count = flags >> ESK_FOR_RANGES;
    bounds.ranges = program->ranges;
    bounds.program = program;
    if (bounds.range_count > 0) {
        ESK_TRY(program->parts->ranges->set(program, op));
    }
    return table->source->kind->open(table->source, &table->mark, table->cursor,
                                     &bounds);
}

/// FOR.
static int for_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[1]];
    uint8_t flags = op[ESK_FOR_FLAGS];
    uint8_t ranges = flags >> ESK_FOR_RANGES;
    bool is_loop = (flags & ESK_FOR_OPEN) == 0;
    int status = ESK_OK;
    program->next += (uint8_t)(ranges * ESK_FOR_RANGE_BYTES);
    /* Else it was opened by a step that ended before its first row. */
    if (table->state != ESK_CURSOR_OPENED || !is_loop) {
        table->state = ESK_CURSOR_CLOSED;
        status = table_open(program, table, op);
        if (status == ESK_OK) {
            table->state = ESK_CURSOR_OPENED;
        }
    }
    if (status == ESK_OK && is_loop) {
        status = esk_program_fetch(program, table, ESK_CURSOR_ROW);
    }
    if (status == ESK_END && is_loop) {
        return far_jump(program, op + 2);
    }
    return status == ESK_OK || status == ESK_END ? ESK_PROGRAM_GOES_ON : status;
}

/// NEXT.
static int next_run(struct esk_program *program, const uint8_t *op) {
    int status =
        esk_program_fetch(program, &program->tables[op[1]], ESK_CURSOR_ROW);
    if (status == ESK_OK) {
        program->next = program->code + esk_load_u16(op + 2);
    } else if (status != ESK_END) {
        return status;
    }
    return ESK_PROGRAM_GOES_ON;
}

/// Register r. For size its address is computed once, as `first`; for speed
/// only where there is need of it.
static ESK_IN_LINE esk_slot *register_of(const struct esk_program *program,
                                         esk_slot *first, uint8_t r) {
    return ESK_SMALL ? first : program->values + r;
}

/// Runs the instruction `code` at `op`, which ends at `end`. As struct
/// esk_query_part.
static int op_run(struct esk_program *program, uint8_t code, const uint8_t *op,
                  const uint8_t *end) {
    int status = ESK_OK;
    uint8_t r = op[1]; /* behind HALT there is the CRC at least */
    esk_slot *first = ESK_SMALL ? program->values + r : NULL;
    switch (code) {
    case ESK_OP_HALT:
        return ESK_END;
    case ESK_OP_EMIT:
        return ESK_OK;
    case ESK_OP_NULLIF:
        if (when_of(program, op) != ESK_WHEN_EQUAL) {
            return ESK_PROGRAM_GOES_ON;
        }
        status = ESK_NOT_FOUND;
        break;
    case ESK_OP_NULL:
        status = ESK_NOT_FOUND;
        break;
    case ESK_OP_MOV:
    case ESK_OP_SUM:
        status = move_run(program, op, register_of(program, first, r));
        break;
    case ESK_OP_LDI8:
    case ESK_OP_LDI16:
    case ESK_OP_LDI32:
    case ESK_OP_LDI64:
        (void)esk_slot_load(register_of(program, first, r), op + 2,
                            (uint8_t)(code - ESK_OP_LDI8 + ESK_TYPE_I8));
        break;
    case ESK_OP_LD:
        status = column_load(program, register_of(program, first, r), op + 2);
        break;
    case ESK_OP_CLEAR:
        memset(program->nulls + r, 1, ESK_WINDOW_SLOTS);
        esk_program_aggregate(program, 0, r, NULL);
        return ESK_PROGRAM_GOES_ON;
    case ESK_OP_AGG:
        esk_program_aggregate(program, r & ESK_WINDOW_HAS_ALL, op[2],
                              esk_program_operand(program, op[3]));
        return ESK_PROGRAM_GOES_ON;
    case ESK_OP_AGGC:
        return aggregate_run(program, op);
    case ESK_OP_ADD:
    case ESK_OP_SUB:
    case ESK_OP_MUL:
    case ESK_OP_DIV:
    case ESK_OP_REM:
        status = arithmetic_run(program, op, register_of(program, first, r));
        break;
    case ESK_OP_IFC:
        status = column_load(program, register_of(program, first, r), op + 3);
        status = esk_program_result(program, r, status);
        return status < 0 ? status : if_run(program, op, end);
    case ESK_OP_IF:
        return if_run(program, op, end);
    case ESK_OP_JMP:
        return near_jump(program, end);
    case ESK_OP_JMP16:
        return far_jump(program, op + 1);
    case ESK_OP_FOR:
        return for_run(program, op);
    case ESK_OP_NEXT:
        return next_run(program, op);
    default:
        return esk_query_part_of(program->parts, esk_op_flag(code))
            ->run(program, op);
    }
    return esk_program_result(program, r, status);
}

/// IFC, whose column is loaded. Returns where to go on.
static ESK_IN_LINE const uint8_t *usual_compare(struct esk_program *program,
                                                const uint8_t *op,
                                                const esk_slot *column) {
    esk_slot *values = program->values;
    uint8_t *nulls = program->nulls;
    uint8_t when = ESK_WHEN_NULL;
    esk_slot_copy(values + op[1], column);
    nulls[op[1]] = 0;
    if (nulls[op[2]] == 0) { /* it may be the same register */
        when = when_ordered(column, values + op[2]);
    }
    return op + ((op[6] & when) != 0 ? 8 + op[7] : 8);
}

/// Whether usual_run has the instruction.
static ESK_IN_LINE bool is_usual(const uint8_t *op) {
    return op[0] == ESK_OP_AGGC || op[0] == ESK_OP_IFC;
}

/// Runs AGGC and IFC of columns of 32 bits of a current row, of which most
/// loops consist: their second, shorter way. Returns where to go on.
static ESK_OUT_OF_LINE_ON_CHIPS const uint8_t *
usual_run(struct esk_program *program, const uint8_t *op) {
    while (is_usual(op)) {
        const struct esk_program_table *table =
            &program->tables[op[3] >> ESK_PLACE_TABLE];
        const uint8_t *bytes = table->row + esk_load_u16(op + 4);
        uint8_t type = op[3] & ESK_PLACE_TYPE;
        esk_slot column;
        if (table->state != ESK_CURSOR_ROW ||
            !(type == ESK_TYPE_I32
                  ? esk_slot_load(&column, bytes, ESK_TYPE_I32)
                  : type == ESK_TYPE_U32 &&
                        esk_slot_load(&column, bytes, ESK_TYPE_U32))) {
            return op;
        }
        if (op[0] == ESK_OP_IFC) {
            op = usual_compare(program, op, &column);
        } else {
            esk_program_aggregate(program, op[1] & ESK_WINDOW_HAS_ALL, op[2],
                                  &column);
            op += 6;
        }
    }
    return op;
}

ESK_HOST_FLAT int esk_program_step(struct esk_program *program,
                                   uint16_t budget) {
    const uint8_t *op;
    int status;
    if (program->status != ESK_OK && program->status != ESK_AGAIN) {
        return program->status == ESK_END ? ESK_END : ESK_E_INVALID;
    }
    program->budget = budget != 0 ? budget : UINT16_MAX;
    do {
        op = program->next;
        if (ESK_FAST && is_usual(op)) {
            op = usual_run(program, op);
        }
        uint8_t code = op[0];
        const uint8_t *end = op + (esk_op_form(code) & 15u);
        program->next = end;
        status = op_run(program, code, op, end);
    } while (status == ESK_PROGRAM_GOES_ON);
    if (status != ESK_OK) {
        program->next = op; /* and again, if it is to go on */
    }
    program->status = (int8_t)status;
    return status;
}
