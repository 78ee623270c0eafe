// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Sorts by runs in a program, as a part in place of that of helpers.
///
/// The memory of the helper's records is that of the sort: struct esk_runs,
/// then what it sorts in. A page is paid for before the step that transfers it.
#include "esker/runs.h"
#include "query/helpers.h"

/// The sort in the memory of a helper.
static struct esk_runs *runs_of(const struct esk_program_helper *helper) {
    void *state = helper->records.memory;
    return state;
}

static uint32_t memory_bytes(const struct esk_records *records) {
    return ESK_RECORD_BYTES(records->by.slots) * records->capacity;
}

/// Starts the sort in the memory of the helper.
static int runs_start(struct esk_program_helper *helper) {
    const struct esk_records *records = &helper->records;
    uint32_t bytes = memory_bytes(records);
    if (bytes <= ESK_RUNS_BYTES) {
        return ESK_E_NO_MEMORY;
    }
    helper->has_group = true;
    return esk_runs_begin(
        runs_of(helper), &records->by, records->memory + ESK_RUNS_BYTES,
        bytes - (uint32_t)ESK_RUNS_BYTES, runs_of(helper)->scratch);
}

void esk_program_set_scratch(struct esk_program *program,
                             struct esk_scratch *scratch) {
    for (uint8_t i = 0; i < program->code[ESK_PROGRAM_HELPERS]; i++) {
        struct esk_program_helper *helper = &program->helpers[i];
        if (helper->kind == ESK_HELPER_RUNS &&
            memory_bytes(&helper->records) > ESK_RUNS_BYTES) {
            runs_of(helper)->scratch = scratch;
        }
    }
}

static int sort_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_helper *helper = &program->helpers[op[1]];
    esk_slot *values = helper->records.values;
    uint8_t *nulls = helper->records.nulls;
    struct esk_runs *runs = runs_of(helper);
    bool is_push = op[0] == ESK_OP_PUSH;
    int status = ESK_OK;
    if (op[0] == ESK_OP_NEXTH && !helper->is_read) {
        return ESK_PROGRAM_GOES_ON; /* a PUSH in the loop ends it */
    }
    /* has_group: it was started. */
    if (!helper->has_group || (is_push && helper->is_read)) {
        ESK_TRY(runs_start(helper));
    }
    helper->is_read = !is_push;
    /* A record that is given is paid for, and a page that is transferred. */
    for (;;) {
        if (!is_push && !esk_program_pay(program)) {
            return ESK_AGAIN;
        }
        status = is_push ? esk_runs_push(runs, values, nulls)
                         : esk_runs_next(runs, values, nulls);
        if (status != ESK_AGAIN) {
            break;
        }
        if (is_push && !esk_program_pay(program)) {
            return ESK_AGAIN;
        }
        ESK_TRY(esk_runs_step(runs));
    }
    bool is_for = op[0] == ESK_OP_FORH;
    if (status < 0) {
        return status;
    }
    if (!is_push && (status == ESK_END) == is_for) {
        program->next =
            (is_for ? program->next : program->code) + esk_load_u16(op + 2);
    }
    return ESK_PROGRAM_GOES_ON;
}

static int runs_run(struct esk_program *program, const uint8_t *op) {
    return program->helpers[op[1]].kind == ESK_HELPER_RUNS
               ? sort_run(program, op)
               : esk_query_part_quantiles.run(program, op);
}

static bool runs_check(struct esk_check *check, const uint8_t *op) {
    return esk_quantiles_check(check, op, ESK_HELPER_RUNS);
}

static void runs_carve(struct esk_program *program, struct esk_arena *arena) {
    esk_helpers_carve(program, arena);
    if (esk_arena_fits(arena)) {
        esk_program_set_scratch(program, NULL);
    }
}

const struct esk_query_part esk_query_part_runs = {
    .run = runs_run, .check = runs_check, .carve = runs_carve};
