// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Ranges of columns, and counts, as a part: what the value indexes of a series
/// are for.
#include "query/program.h"

/// Sets the range of a FOR at `op`. Returns ESK_OK; ESK_END: no row is in it.
static int range_set(const struct esk_program *program,
                     struct esk_series_range *range, const uint8_t *op) {
    uint8_t flags = op[ESK_FOR_RANGE_FLAGS];
    uint8_t type = flags >> ESK_PLACE_TABLE;
    bool is_high = false;
    range->column = op[ESK_FOR_RANGE_COLUMN];
    range->has_lo = (flags & ESK_FOR_RANGE_HAS_LO) != 0;
    range->has_hi = (flags & ESK_FOR_RANGE_HAS_HI) != 0;
    do {
        uint8_t r = op[is_high ? ESK_FOR_RANGE_HI : ESK_FOR_RANGE_LO];
        const esk_slot *slot = program->values + r;
        union esk_number *number = is_high ? &range->hi : &range->lo;
        bool *has = is_high ? &range->has_hi : &range->has_lo;
        if (*has && program->nulls[r] != 0) {
            return ESK_END;
        }
        if (type >= ESK_TYPE_F32) {
            program->parts->floats->bound(number, type, slot, !is_high);
        } else {
            number->i = *slot;
            if (type > ESK_TYPE_I64 && esk_slot_is_negative(slot)) {
                /* Below every value. */
                if (*has && is_high) {
                    return ESK_END;
                }
                *has = false;
            }
        }
        is_high = !is_high;
    } while (is_high);
    return ESK_OK;
}

static int ranges_set(struct esk_program *program, const uint8_t *op) {
    uint8_t count = op[ESK_FOR_FLAGS] >> ESK_FOR_RANGES;
    op += 7;
    for (uint8_t i = 0; i < count; i++, op += ESK_FOR_RANGE_BYTES) {
        ESK_TRY(range_set(program, program->ranges + i, op));
    }
    return ESK_OK;
}

/// COUNT.
static int count_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[2]];
    const struct esk_source *source = table->source;
    esk_slot *count = program->values + op[1];
    if (program->nulls[op[1]] != 0) {
        *count = 0;
        program->nulls[op[1]] = 0;
    }
    if (table->cursor == NULL) {
        table->state = ESK_CURSOR_CLOSED; /* it can only have a row of GET */
    }
    while (table->state != ESK_CURSOR_CLOSED && source->count != NULL) {
        uint32_t rows = 0;
        if (program->budget == 0) {
            return ESK_AGAIN;
        }
        int status =
            source->count(source, table->cursor, &program->budget, &rows);
        esk_slot more = (esk_slot)rows;
        if (esk_slot_is_negative(&more) ||
            !esk_slot_add(count, count, &more, false)) {
            return ESK_E_LIMIT;
        }
        if (status == ESK_OK) {
            table->state = ESK_CURSOR_CLOSED;
        } else if (status != ESK_AGAIN) {
            return status;
        }
    }
    while (table->state != ESK_CURSOR_CLOSED) {
        int status = esk_program_fetch(program, table, ESK_CURSOR_AHEAD);
        if (status == ESK_OK) {
            esk_slot_increment(count);
        } else if (status != ESK_END) {
            return status;
        }
    }
    return ESK_PROGRAM_GOES_ON;
}

/// COUNT, and the ranges of a FOR.
static bool ranges_check(struct esk_check *check, const uint8_t *op) {
    if (op[0] == ESK_OP_COUNT) {
        return true;
    }
    uint8_t count = op[ESK_FOR_FLAGS] >> ESK_FOR_RANGES;
    op += 7;
    for (; count > 0; count--, op += ESK_FOR_RANGE_BYTES) {
        uint8_t type = op[ESK_FOR_RANGE_FLAGS] >> ESK_PLACE_TABLE;
        if (type < ESK_TYPE_I8 || type > ESK_TYPE_F64 ||
            (type > ESK_TYPE_U64 &&
             (check->code[ESK_PROGRAM_FLAGS] & ESK_PROGRAM_FLOATS) == 0) ||
            !esk_check_registers(check, op[ESK_FOR_RANGE_LO], 1) ||
            !esk_check_registers(check, op[ESK_FOR_RANGE_HI], 1)) {
            return false;
        }
    }
    return true;
}

const struct esk_query_part esk_query_part_ranges = {
    .run = count_run, .check = ranges_check, .set = ranges_set};
