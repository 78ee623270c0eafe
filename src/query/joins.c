// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Joins, as a part: a cursor that goes along with another one (ADVANCE), and
/// lookups (GET).
///
/// ADVANCE is run again after a pause: the cursor's state says whether its row
/// was compared. Of an inner join, whose jump is not 0, it ends the loop of the
/// next table where its own cursor has ended: NEXT then finds no row.
#include "query/program.h"

/// Jumps: the cursor has no row for the key.
static int missed(struct esk_program *program, const uint8_t *op) {
    program->next += op[3];
    return ESK_PROGRAM_GOES_ON;
}

static int advance_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[1]];
    const struct esk_source *source = table->source;
    const esk_slot *wanted = esk_program_operand(program, op[2]);
    if (table->state == ESK_CURSOR_ROW) {
        table->state = ESK_CURSOR_AHEAD;
    }
    while (wanted != NULL) {
        if (table->state == ESK_CURSOR_AHEAD) {
            esk_slot key;
            uint8_t place =
                (uint8_t)((op[1] << ESK_PLACE_TABLE) | source->key_type);
            table->state = ESK_CURSOR_ROW;
            ESK_TRY(
                esk_program_column(program, &key, place, source->key_offset));
            int8_t order = esk_slot_compare(&key, wanted);
            if (order == 0) {
                return ESK_PROGRAM_GOES_ON;
            }
            table->state = ESK_CURSOR_AHEAD;
            if (order > 0) {
                break;
            }
        }
        int status = esk_program_fetch(program, table, ESK_CURSOR_AHEAD);
        if (status == ESK_END) {
            table++;
            /* The nulls are behind the last table. */
            if (op[3] != 0 && (uint8_t *)table != program->nulls) {
                table->state = ESK_CURSOR_CLOSED;
            }
            break;
        }
        if (status != ESK_OK) {
            return status;
        }
    }
    return missed(program, op);
}

static int get_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_table *table = &program->tables[op[1]];
    const struct esk_source *source = table->source;
    uint16_t slots = esk_source_key_slots(source);
    int status = ESK_NOT_FOUND;
    table->state = ESK_CURSOR_CLOSED;
    if (esk_bytes_are(program->nulls + op[2], slots, 0)) {
        status = source->kind->get(source, &table->mark,
                                   program->values + op[2], table->row);
    }
    if (status == ESK_OK) {
        table->state = ESK_CURSOR_ROW;
        return ESK_PROGRAM_GOES_ON;
    }
    return status == ESK_NOT_FOUND ? missed(program, op) : status;
}

static int joins_run(struct esk_program *program, const uint8_t *op) {
    return op[0] == ESK_OP_GET ? get_run(program, op)
                               : advance_run(program, op);
}

static bool joins_check(struct esk_check *check, const uint8_t *op) {
    const struct esk_source *source = esk_check_source(check, op[1]);
    return esk_check_key(check, op[1], op[2]) &&
           (op[0] == ESK_OP_GET ||
            ((source->kind->can & ESK_SOURCE_ORDERED) != 0 &&
             source->key_type <= ESK_TYPE_U64));
}

const struct esk_query_part esk_query_part_joins = {.run = joins_run,
                                                    .check = joins_check};
