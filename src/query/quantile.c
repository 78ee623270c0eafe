// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Quantiles of the values that a sort keeps: the value at a place of their
/// order, so always one of them (SQL's PERCENTILE_DISC).
///
/// A part in place of that of helpers: GROUP on a top or a sort. The others are
/// run and checked there.
#include "query/helpers.h"

int esk_topk_quantile(const struct esk_records *records, uint16_t part,
                      esk_slot *values, uint8_t *nulls) {
    uint32_t place = (uint32_t)records->count *
                     (part < ESK_QUANTILE_WHOLE ? part : ESK_QUANTILE_WHOLE);
    if (records->count == 0) {
        memset(nulls, 1, records->by.slots);
        return ESK_NOT_FOUND;
    }
    /* Rounded up and counted from 1; the place is counted from 0. */
    place = (place + ESK_QUANTILE_WHOLE - 1u) / ESK_QUANTILE_WHOLE;
    esk_records_get(records, (uint16_t)(place > 0 ? place - 1u : 0u), 0, values,
                    nulls);
    return ESK_OK;
}

static int quantiles_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_helper *helper = &program->helpers[op[1]];
    if (op[0] != ESK_OP_GROUP || helper->kind == ESK_HELPER_GROUPS) {
        return esk_query_part_helpers.run(program, op);
    }
    esk_slot *values = program->values + helper->first;
    uint8_t *nulls = program->nulls + helper->first;
    if (nulls[0] != 0) {
        esk_records_clear(&helper->records);
        helper->is_read = false;
        return ESK_PROGRAM_GOES_ON;
    }
    if (!helper->is_read) {
        esk_topk_sort(&helper->records);
        helper->is_read = true;
    }
    (void)esk_topk_quantile(&helper->records, (uint16_t)values[0], values,
                            nulls);
    return ESK_PROGRAM_GOES_ON;
}

static bool quantiles_check(struct esk_check *check, const uint8_t *op) {
    return op != NULL && op[0] == ESK_OP_GROUP
               ? op[1] < check->code[ESK_PROGRAM_HELPERS]
               : esk_query_part_helpers.check(check, op);
}

const struct esk_query_part esk_query_part_quantiles = {
    .run = quantiles_run, .check = quantiles_check, .carve = esk_helpers_carve};
