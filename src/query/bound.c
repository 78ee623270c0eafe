// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Which bound ended a query. A failed step leaves `next` at the instruction
/// that failed, and that names its helper: a program that does not ask for the
/// bound has no code for it.
#include "esker/runs.h"
#include "query/helpers.h"

_Static_assert((int)ESK_BOUND_ROWS == (int)ESK_HELPER_SORT &&
                   (int)ESK_BOUND_GROUPS == (int)ESK_HELPER_GROUPS &&
                   (int)ESK_BOUND_RUNS == (int)ESK_HELPER_RUNS,
               "a bound is that of a kind of helper");

int esk_program_bound(const struct esk_program *program,
                      struct esk_program_bound *bound) {
    const uint8_t *op = program->next;
    if (program->status != ESK_E_LIMIT || op[0] < ESK_OP_PUSH ||
        op[0] > ESK_OP_NEXTH) {
        return ESK_NOT_FOUND;
    }
    const struct esk_program_helper *helper = &program->helpers[op[1]];
    const struct esk_records *records = &helper->records;
    bound->kind = helper->kind;
    if (helper->kind == ESK_HELPER_RUNS) {
        const void *state = records->memory;
        const struct esk_runs *runs = state;
        records = &runs->records;
        if (runs->scratch != NULL) {
            bound->most = bound->reached = 0;
            return ESK_OK;
        }
    }
    bound->most = records->capacity;
    bound->reached = records->count;
    return ESK_OK;
}
