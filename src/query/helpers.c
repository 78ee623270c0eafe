// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Top-k, sorting and groups in a program, as a part.
///
/// A helper's record is a row of registers. PUSH copies them; GROUP stores them
/// in the record that they belong to before it loads another.
#include "query/helpers.h"
#include "base/inline.h"

/// Begins a helper of zeros, by its entry.
static ESK_APART void helper_begin(const struct esk_program *program,
                                   struct esk_program_helper *helper,
                                   const uint8_t *entry, uint8_t *memory) {
    uint8_t first = entry[ESK_PROGRAM_HELPER_FIRST];
    helper->records.memory = memory;
    helper->records.by.slots = entry[ESK_PROGRAM_HELPER_SLOTS];
    helper->records.by.keys = entry[ESK_PROGRAM_HELPER_KEYS];
    helper->records.by.down = esk_load_u16(entry + ESK_PROGRAM_HELPER_DOWN);
    helper->records.capacity =
        esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY);
    helper->records.values = program->values + first;
    helper->records.nulls = program->nulls + first;
    helper->kind = entry[ESK_PROGRAM_HELPER_KIND];
}

void esk_helpers_carve(struct esk_program *program, struct esk_arena *arena) {
    const uint8_t *entry = esk_program_helper(program->code, 0);
    uint8_t count = program->code[ESK_PROGRAM_HELPERS];
    struct esk_program_helper *helper = esk_program_take(
        arena, (uint16_t)(count * sizeof(struct esk_program_helper)));
    program->helpers = helper;
    for (; count > 0; count--, entry += ESK_PROGRAM_HELPER_BYTES) {
        uint8_t *memory = esk_arena_take(
            arena, ESK_RECORD_BYTES(entry[ESK_PROGRAM_HELPER_SLOTS]) *
                       esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY));
        if (helper != NULL) {
            helper_begin(program, helper++, entry, memory);
        }
    }
}

/// PUSH and GROUP.
static int record_take(struct esk_program_helper *helper, bool is_push) {
    struct esk_records *records = &helper->records;
    uint8_t keys = records->by.keys;
    if (helper->is_read) {
        records->count = 0;
        helper->is_read = false;
    }
    int status = is_push ? esk_topk_push(records) : esk_groups_find(records);
    if (is_push) {
        return status == ESK_NOT_FOUND && helper->kind == ESK_HELPER_SORT
                   ? ESK_E_LIMIT
                   : ESK_PROGRAM_GOES_ON;
    }
    if (status == ESK_OK) {
        esk_records_get(records);
    } else if (status == ESK_NOT_FOUND) {
        memset(records->nulls + keys, 1, (uint8_t)(records->by.slots - keys));
    } else {
        return status;
    }
    helper->has_group = true;
    return ESK_PROGRAM_GOES_ON;
}

static int helpers_run(struct esk_program *program, const uint8_t *op) {
    uint8_t code = op[0];
    struct esk_program_helper *helper = &program->helpers[op[1]];
    struct esk_records *records = &helper->records;
    bool is_for = code == ESK_OP_FORH;
    if (code >= ESK_OP_FORH && !esk_program_pay(program)) {
        return ESK_AGAIN;
    }
    if (helper->has_group) {
        /* The registers are those of a record that another one follows. */
        esk_records_set(records);
        helper->has_group = false;
    }
    if (code < ESK_OP_FORH) {
        return record_take(helper, code == ESK_OP_PUSH);
    }
    if (is_for) {
        helper->is_read = true;
        records->at = 0;
    }
    /* A record that was taken in the loop ends it. */
    bool has = helper->is_read && esk_records_next(records) == ESK_OK;
    if (has != is_for) {
        program->next =
            (is_for ? program->next : program->code) + esk_load_u16(op + 2);
    }
    return ESK_PROGRAM_GOES_ON;
}

/// Checks the entries of helpers, which begin at check->at.
static bool entries_check(struct esk_check *check, uint8_t kinds) {
    for (uint8_t i = check->code[ESK_PROGRAM_HELPERS]; i > 0; i--) {
        const uint8_t *entry = check->code + check->at;
        uint8_t kind = entry[ESK_PROGRAM_HELPER_KIND];
        uint8_t slots = entry[ESK_PROGRAM_HELPER_SLOTS];
        uint8_t keys = entry[ESK_PROGRAM_HELPER_KEYS];
        if ((uint8_t)(kind - 1u) >= ESK_HELPER_RUNS || slots == 0 ||
            keys > slots || keys > ESK_PROGRAM_HELPER_KEYS_MAX ||
            !esk_check_registers(check, entry[ESK_PROGRAM_HELPER_FIRST],
                                 slots) ||
            esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY) == 0) {
            return false;
        }
        if (kind > kinds) {
            check->status = ESK_E_UNSUPPORTED;
            return false;
        }
        check->at = (uint16_t)(check->at + ESK_PROGRAM_HELPER_BYTES);
    }
    return true;
}

bool esk_helpers_check(struct esk_check *check, const uint8_t *op,
                       uint8_t kinds) {
    if (op == NULL) {
        return entries_check(check, kinds);
    }
    if (op[1] >= check->code[ESK_PROGRAM_HELPERS]) {
        return false;
    }
    if (op[0] == ESK_OP_FORH) {
        return esk_check_loop(check, &check->helped, op);
    }
    uint8_t kind = esk_program_helper(check->code, op[1])[0];
    return (kind == ESK_HELPER_GROUPS) == (op[0] == ESK_OP_GROUP);
}

static bool helpers_check(struct esk_check *check, const uint8_t *op) {
    if (op != NULL && op[0] == ESK_OP_QUANTILE) {
        check->status = ESK_E_UNSUPPORTED;
        return false;
    }
    return esk_helpers_check(check, op, ESK_HELPER_GROUPS);
}

const struct esk_query_part esk_query_part_helpers = {
    .run = helpers_run, .check = helpers_check, .carve = esk_helpers_carve};
