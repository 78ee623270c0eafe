// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Quantiles of the values that a sort keeps: the value at a place of their
/// order, so always one of them (SQL's PERCENTILE_DISC).
///
/// A part in place of that of helpers: QUANTILE. The other instructions are run
/// and checked there.
#include "query/helpers.h"

int esk_topk_quantile(struct esk_records *records, uint16_t part) {
    uint32_t reached = (uint32_t)records->count *
                       (part < ESK_QUANTILE_WHOLE ? part : ESK_QUANTILE_WHOLE);
    /* Rounded up and counted from 1; the place is counted from 0. */
    reached = (reached + ESK_QUANTILE_WHOLE - 1u) / ESK_QUANTILE_WHOLE;
    records->at = (uint16_t)(reached > 0 ? reached - 1u : 0u);
    if (esk_records_next(records) != ESK_OK) {
        memset(records->nulls, 1, records->by.slots);
        return ESK_NOT_FOUND;
    }
    return ESK_OK;
}

static int quantiles_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_helper *helper = &program->helpers[op[1]];
    if (op[0] != ESK_OP_QUANTILE) {
        return esk_query_part_helpers.run(program, op);
    }
    uint16_t part = esk_load_u16(op + 2);
    helper->is_read = part <= ESK_QUANTILE_PART_MAX;
    if (helper->is_read) {
        (void)esk_topk_quantile(&helper->records, part);
    } else {
        esk_records_clear(&helper->records);
    }
    return ESK_PROGRAM_GOES_ON;
}

bool esk_quantiles_check(struct esk_check *check, const uint8_t *op,
                         uint8_t kinds) {
    if (op == NULL || op[0] != ESK_OP_QUANTILE) {
        return esk_helpers_check(check, op, kinds);
    }
    uint16_t part = esk_load_u16(op + 2);
    /* It changes the place of a FORH, so that this one could never end. */
    return op[1] < check->code[ESK_PROGRAM_HELPERS] &&
           (check->helped & (uint8_t)(1u << op[1])) == 0 &&
           esk_program_helper(check->code, op[1])[0] <= ESK_HELPER_SORT &&
           (part <= ESK_QUANTILE_PART_MAX || part == ESK_QUANTILE_PART_NONE);
}

static bool quantiles_check(struct esk_check *check, const uint8_t *op) {
    return esk_quantiles_check(check, op, ESK_HELPER_GROUPS);
}

const struct esk_query_part esk_query_part_quantiles = {
    .run = quantiles_run, .check = quantiles_check, .carve = esk_helpers_carve};
