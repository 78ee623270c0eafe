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
///   1. `at` is the offset of an instruction that was checked.
///   2. A table's row is read only in state ESK_CURSOR_ROW.
///   3. Whoever reads a row or a page that may be one of many pays for it.
///
/// Cost: an instruction is about 40 instructions of a host, 350 cycles on AVR
/// with slots of 64 bits.
#include "query/program.h"
#include "base/inline.h"
#include "esker/assert.h"

/// Carves `count` pieces of `bytes` bytes.
static ESK_OUT_OF_LINE void *take(struct esk_arena *arena, uint8_t count,
                                  uint16_t bytes) {
    return esk_arena_take(arena, (uint32_t)count * bytes);
}

void esk_program_carve(struct esk_program *program, struct esk_arena *arena,
                       const struct esk_check *check) {
    const uint8_t *code = program->code;
    uint8_t registers = code[ESK_PROGRAM_REGISTERS];
    uint8_t count = code[ESK_PROGRAM_TABLES];
    program->values = take(arena, registers, sizeof(esk_slot));
    program->ranges =
        take(arena, code[ESK_PROGRAM_RANGES], sizeof(struct esk_series_range));
    program->tables = take(arena, count, sizeof(struct esk_program_table));
    program->nulls = take(arena, registers, 1);
    for (uint8_t i = 0; i < count; i++) {
        const struct esk_source *source = esk_check_source(check, i);
        void *row = take(arena, 1, source->row_bytes);
        void *cursor = NULL;
        if ((check->looped & (uint8_t)(1u << i)) != 0) {
            cursor = take(arena, 1, source->cursor_bytes);
        }
        if (arena->start != NULL) {
            struct esk_program_table *table = &program->tables[i];
            table->source = source;
            table->row = row;
            table->cursor = cursor;
            if (source->kind->mark != NULL) {
                source->kind->mark(source, &table->mark);
            }
        }
    }
    if (code[ESK_PROGRAM_HELPERS] > 0) {
        program->parts->helpers->carve(program, arena);
    }
}

int esk_program_begin(struct esk_program *program, const uint8_t *code,
                      uint32_t code_bytes, const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      void *arena, uint32_t arena_bytes) {
    struct esk_arena memory;
    struct esk_check check;
    ESK_ASSERT(program != NULL && code != NULL);
    memset(program, 0, sizeof *program);
    memset(&check, 0, sizeof check);
    memset(&memory, 0, sizeof memory);
    program->state = ESK_PROGRAM_FAILED;
    program->code = code;
    program->parts = parts;
    check.code = code;
    check.parts = parts;
    check.sources = sources;
    check.source_count = source_count;
    if (arena == NULL || !esk_arena_is_aligned(arena)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_program_verify(&check, code_bytes));
    esk_program_carve(program, &memory, &check);
    if (memory.used > arena_bytes) {
        return ESK_E_NO_MEMORY;
    }
    memset(arena, 0, (size_t)memory.used);
    memory.start = arena;
    memory.used = 0;
    esk_program_carve(program, &memory, &check);
    program->at = esk_program_start(code);
    memset(program->nulls, 1, code[ESK_PROGRAM_REGISTERS]);
    program->state = ESK_PROGRAM_RUNS;
    return ESK_OK;
}

int esk_program_set(struct esk_program *program, uint8_t parameter,
                    esk_slot value) {
    if (program->state == ESK_PROGRAM_FAILED ||
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
                      struct esk_program_table *table) {
    const struct esk_source *source = table->source;
    int status = table->cursor != NULL ? ESK_AGAIN : ESK_END;
    while (status == ESK_AGAIN && esk_program_pay(program)) {
        status = source->kind->next(source, table->cursor, table->row);
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
    if (type >= ESK_TYPE_F32) {
        return program->parts->floats->load(slot, type, bytes) ? ESK_OK
                                                               : ESK_NOT_FOUND;
    }
    return esk_slot_load(slot, bytes, (uint8_t)(1u << ((type - 1u) & 3u)),
                         type <= ESK_TYPE_I64)
               ? ESK_OK
               : ESK_E_LIMIT;
}

void esk_program_aggregate(struct esk_program *program, uint8_t mask, uint8_t w,
                           const esk_slot *value) {
    static const esk_slot one = 1;
    esk_slot *window = esk_program_value(program, w);
    uint8_t *nulls = esk_program_null(program, w);
    if (nulls[ESK_WINDOW_COUNT] != 0) {
        memset(window, 0, (ESK_WINDOW_CARRY + 1) * sizeof *window);
        nulls[ESK_WINDOW_COUNT] = 0;
    }
    if (value == NULL) {
        return;
    }
    if ((mask & ESK_WINDOW_HAS_COUNT) != 0) {
        (void)esk_slot_add(window, window, &one, false);
    }
    if ((mask & ESK_WINDOW_HAS_SUM) != 0) {
        nulls[ESK_WINDOW_SUM] = 0;
        esk_slot_add_wide(window + ESK_WINDOW_SUM, value);
    }
    /* The least, then the greatest. */
    for (uint8_t i = ESK_WINDOW_MIN; i < ESK_WINDOW_SLOTS; i++) {
        esk_slot *best = window + i;
        int8_t order = esk_slot_compare(value, best);
        if ((mask & ESK_WINDOW_HAS_MIN) != 0 &&
            (nulls[i] != 0 || order == (i == ESK_WINDOW_MIN ? -1 : 1))) {
            esk_slot_copy(best, value);
            nulls[i] = 0;
        }
        mask >>= 1;
    }
}

/// Aggregates a value that a status says is one, or is NULL.
static int value_aggregate(struct esk_program *program, const uint8_t *op,
                           int status, const esk_slot *value, bool is_float) {
    if (status < 0) {
        return status;
    }
    if (status != ESK_OK) {
        value = NULL;
    }
    if (is_float) {
        program->parts->floats->aggregate(program, op[1], op[2], value);
    } else {
        esk_program_aggregate(program, op[1], op[2], value);
    }
    return ESK_PROGRAM_GOES_ON;
}

int esk_program_result(struct esk_program *program, uint8_t r, int status) {
    if (status < 0) {
        return status;
    }
    *esk_program_null(program, r) = status != ESK_OK;
    return ESK_PROGRAM_GOES_ON;
}

/// Whether one of the two registers at `operands` is NULL.
static ESK_APART bool either_is_null(const struct esk_program *program,
                                     const uint8_t *operands) {
    return (*esk_program_null(program, operands[0]) |
            *esk_program_null(program, operands[1])) != 0;
}

/// ADD to REM.
static int arithmetic_run(struct esk_program *program, const uint8_t *op) {
    esk_slot *r = esk_program_value(program, op[1]);
    const esk_slot *a = esk_program_value(program, op[2]);
    const esk_slot *b = esk_program_value(program, op[3]);
    int status = ESK_NOT_FOUND;
    if (!either_is_null(program, op + 2)) {
        uint8_t code = op[0];
        status = code == ESK_OP_MUL   ? esk_multiply(r, a, b)
                 : code == ESK_OP_DIV ? esk_divide(r, a, b)
                 : code == ESK_OP_REM ? esk_remainder(r, a, b)
                 : code == ESK_OP_SUB ? esk_subtract(r, a, b)
                                      : esk_add(r, a, b);
    }
    return esk_program_result(program, op[1], status);
}

/// NULL to SUM.
static int value_run(struct esk_program *program, const uint8_t *op) {
    uint8_t r = op[1];
    uint8_t a = op[2];
    esk_slot *value = esk_program_value(program, r);
    int status = ESK_OK;
    esk_slot column;
    switch (op[0]) {
    case ESK_OP_NULL:
        status = ESK_NOT_FOUND;
        break;
    case ESK_OP_MOV:
        esk_slot_copy(value, esk_program_value(program, a));
        status = *esk_program_null(program, a);
        break;
    case ESK_OP_LDI8:
    case ESK_OP_LDI16:
    case ESK_OP_LDI32:
    case ESK_OP_LDI64:
        (void)esk_slot_load(value, op + 2,
                            (uint8_t)(1u << (op[0] - ESK_OP_LDI8)), true);
        break;
    case ESK_OP_LD:
    case ESK_OP_LDW:
        status = esk_program_column(program, value, a,
                                    op[0] == ESK_OP_LD ? op[3]
                                                       : esk_load_u16(op + 3));
        break;
    case ESK_OP_NULLIF:
        if (either_is_null(program, op + 1) ||
            esk_slot_compare(value, esk_program_value(program, a)) != 0) {
            return ESK_PROGRAM_GOES_ON;
        }
        status = ESK_NOT_FOUND;
        break;
    case ESK_OP_CLEAR:
        memset(esk_program_null(program, r), 1, ESK_WINDOW_SLOTS);
        esk_program_aggregate(program, 0, r, NULL);
        return ESK_PROGRAM_GOES_ON;
    case ESK_OP_AGG:
        return value_aggregate(program, op, *esk_program_null(program, op[3]),
                               esk_program_value(program, op[3]), false);
    case ESK_OP_AGGC:
        return value_aggregate(
            program, op, esk_program_column(program, &column, op[3], op[4]),
            &column, (op[3] & ESK_PLACE_TYPE) >= ESK_TYPE_F32);
    default: /* SUM */
        a = (uint8_t)(a + ESK_WINDOW_SUM);
        status = ESK_NOT_FOUND;
        if (*esk_program_null(program, a) == 0) {
            status = esk_slot_narrow(value, esk_program_value(program, a))
                         ? ESK_OK
                         : ESK_E_LIMIT;
        }
        break;
    }
    return esk_program_result(program, r, status);
}

/// UNLESS_LT to JMP16.
static int jump_run(struct esk_program *program, const uint8_t *op) {
    uint8_t code = op[0];
    uint16_t distance = op[1];
    if (code < ESK_OP_JNULL) {
        uint8_t kind = (uint8_t)(code - ESK_OP_UNLESS_LT);
        bool holds =
            !either_is_null(program, op + 1) &&
            esk_relation_holds(
                kind & 3u, esk_slot_compare(esk_program_value(program, op[1]),
                                            esk_program_value(program, op[2])));
        distance = holds == (kind >= 4) ? op[3] : 0;
    } else if (code < ESK_OP_JMP) {
        bool is_null = *esk_program_null(program, op[1]) != 0;
        distance = is_null == (code == ESK_OP_JNULL) ? op[2] : 0;
    } else if (code == ESK_OP_JMP16) {
        distance = esk_load_u16(op + 1);
    }
    program->at = (uint16_t)(program->at + distance);
    return ESK_PROGRAM_GOES_ON;
}

/// Sets a bound on the key. Returns false if it is NULL: no row is in it.
static bool bound_set(const struct esk_program *program, const uint8_t *op,
                      uint8_t flag, uint8_t r, const esk_slot **bound) {
    if ((op[2] & flag) != 0) {
        *bound = esk_program_value(program, r);
        return *esk_program_null(program, r) == 0;
    }
    return true;
}

/// Opens the table of a FOR. Returns ESK_OK; ESK_END: no row; as the source.
static int table_open(struct esk_program *program,
                      struct esk_program_table *table, const uint8_t *op) {
    struct esk_source_bounds bounds;
    memset(&bounds, 0, sizeof bounds);
    bounds.backward = (op[2] & ESK_FOR_BACKWARD) != 0;
    bounds.ranges = program->ranges;
    if (!bound_set(program, op, ESK_FOR_MIN, op[3], &bounds.min) ||
        !bound_set(program, op, ESK_FOR_MAX, op[4], &bounds.max)) {
        return ESK_END;
    }
    bounds.range_count = op[2] >> ESK_FOR_RANGES;
    if (bounds.range_count > 0) {
        ESK_TRY(program->parts->ranges->set(program, op));
    }
    return table->source->kind->open(table->source, &table->mark, table->cursor,
                                     &bounds);
}

/// FOR.
static int for_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[1]];
    int status = ESK_OK;
    bool is_loop = (op[2] & ESK_FOR_OPEN) == 0;
    /* Else it was opened by a step that ended before its first row. */
    if (table->state != ESK_CURSOR_OPENED || !is_loop) {
        table->state = ESK_CURSOR_CLOSED;
        status = table_open(program, table, op);
        if (status == ESK_OK) {
            table->state = ESK_CURSOR_OPENED;
        }
    }
    if (status == ESK_OK && is_loop) {
        status = esk_program_fetch(program, table);
        if (status == ESK_OK) {
            table->state = ESK_CURSOR_ROW;
        }
    }
    if (status == ESK_END && is_loop) {
        program->at = (uint16_t)(program->at + esk_load_u16(op + 5));
    }
    return status == ESK_OK || status == ESK_END ? ESK_PROGRAM_GOES_ON : status;
}

/// NEXT.
static int next_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[1]];
    if (table->state == ESK_CURSOR_CLOSED) {
        return ESK_PROGRAM_GOES_ON;
    }
    int status = esk_program_fetch(program, table);
    if (status == ESK_OK) {
        table->state = ESK_CURSOR_ROW;
        program->at = esk_load_u16(op + 2);
    }
    return status == ESK_OK || status == ESK_END ? ESK_PROGRAM_GOES_ON : status;
}

/// Runs the instruction at `op`. As struct esk_query_part.
static int op_run(struct esk_program *program, const uint8_t *op) {
    uint8_t code = op[0];
    if (code <= ESK_OP_EMIT) {
        return code == ESK_OP_EMIT ? ESK_OK : ESK_END;
    }
    if (code < ESK_OP_ADD) {
        return value_run(program, op);
    }
    if (code < ESK_OP_UNLESS_LT) {
        return arithmetic_run(program, op);
    }
    if (code < ESK_OP_FOR) {
        return jump_run(program, op);
    }
    if (code > ESK_OP_NEXT) {
        return esk_query_part_of(program->parts, esk_op_flag(code))
            ->run(program, op);
    }
    return code == ESK_OP_FOR ? for_run(program, op) : next_run(program, op);
}

int esk_program_step(struct esk_program *program, uint16_t budget) {
    int status = ESK_PROGRAM_GOES_ON;
    if (program->state >= ESK_PROGRAM_ENDED) {
        return program->state == ESK_PROGRAM_ENDED ? ESK_END : ESK_E_INVALID;
    }
    program->state = ESK_PROGRAM_RUNS;
    program->budget = budget != 0 ? budget : UINT16_MAX;
    while (status == ESK_PROGRAM_GOES_ON) {
        uint16_t at = program->at;
        const uint8_t *op = program->code + at;
        program->at = (uint16_t)(at + esk_op_bytes(op));
        status = op_run(program, op);
        if (status != ESK_PROGRAM_GOES_ON && status != ESK_OK) {
            program->at = at;
        }
    }
    if (status == ESK_OK) {
        program->state = ESK_PROGRAM_HAS_ROW;
    } else if (status == ESK_END) {
        program->state = ESK_PROGRAM_ENDED;
    } else if (status != ESK_AGAIN) {
        program->state = ESK_PROGRAM_FAILED;
    }
    return status;
}
