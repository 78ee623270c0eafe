// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Top-k, sorting and groups in a program, as a part.
///
/// A helper's record is a row of registers. PUSH copies them; GROUP stores them
/// in the record that they belong to before it loads another, and does nothing
/// while the key stays the same.
#include "query/helpers.h"

void esk_helpers_carve(struct esk_program *program, struct esk_arena *arena) {
    const uint8_t *code = program->code;
    uint8_t count = code[ESK_PROGRAM_HELPERS];
    struct esk_program_helper *helper = esk_arena_take(
        arena, count * (uint32_t)sizeof(struct esk_program_helper));
    program->helpers = helper;
    for (uint8_t i = 0; i < count; i++, helper++) {
        const uint8_t *entry = esk_program_helper(code, i);
        struct esk_program_helper made = {
            .kind = entry[ESK_PROGRAM_HELPER_KIND],
            .first = entry[ESK_PROGRAM_HELPER_FIRST],
        };
        struct esk_records *records = &made.records;
        records->by.slots = entry[ESK_PROGRAM_HELPER_SLOTS];
        records->by.keys = entry[ESK_PROGRAM_HELPER_KEYS];
        records->by.down = esk_load_u16(entry + ESK_PROGRAM_HELPER_DOWN);
        records->capacity = esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY);
        records->memory = esk_arena_take(
            arena, ESK_RECORD_BYTES(records->by.slots) * records->capacity);
        if (esk_arena_fits(arena)) {
            *helper = made;
            esk_records_clear(&helper->records);
        }
    }
}

/// Stores the registers of a group in its record.
static void group_store(struct esk_program_helper *helper,
                        const esk_slot *values, const uint8_t *nulls) {
    if (helper->has_group) {
        esk_records_set(&helper->records, helper->at, helper->records.by.keys,
                        values, nulls);
    }
    helper->has_group = false;
}

/// PUSH.
static int push_run(struct esk_program_helper *helper, const esk_slot *values,
                    const uint8_t *nulls) {
    int status = esk_topk_push(&helper->records, values, nulls);
    return status == ESK_NOT_FOUND && helper->kind == ESK_HELPER_SORT
               ? ESK_E_LIMIT
               : ESK_PROGRAM_GOES_ON;
}

/// GROUP.
static int group_run(struct esk_program_helper *helper, esk_slot *values,
                     uint8_t *nulls) {
    struct esk_records *records = &helper->records;
    uint8_t keys = records->by.keys;
    if (helper->has_group &&
        esk_records_is_key(records, helper->at, values, nulls)) {
        return ESK_PROGRAM_GOES_ON;
    }
    group_store(helper, values, nulls);
    int status = esk_groups_find(records, values, nulls, &helper->at);
    if (status < 0) {
        return status;
    }
    esk_records_get(records, helper->at, keys, values, nulls);
    helper->has_group = true;
    return ESK_PROGRAM_GOES_ON;
}

/// FORH, once the budget is paid, and NEXTH: loads the next record.
/// Returns whether there is one.
static bool record_take(struct esk_program_helper *helper, esk_slot *values,
                        uint8_t *nulls) {
    uint16_t index = helper->at;
    if (helper->kind == ESK_HELPER_GROUPS
            ? esk_groups_next(&helper->records, &index) != ESK_OK
            : index >= helper->records.count) {
        return false;
    }
    esk_records_get(&helper->records, index, 0, values, nulls);
    helper->at = (uint16_t)(index + 1u);
    return true;
}

static int helpers_run(struct esk_program *program, const uint8_t *op) {
    struct esk_program_helper *helper = &program->helpers[op[1]];
    esk_slot *values = program->values + helper->first;
    uint8_t *nulls = program->nulls + helper->first;
    bool is_for = op[0] == ESK_OP_FORH;
    if (op[0] < ESK_OP_FORH) {
        if (helper->is_read) {
            esk_records_clear(&helper->records);
            helper->is_read = false;
        }
        return op[0] == ESK_OP_PUSH ? push_run(helper, values, nulls)
                                    : group_run(helper, values, nulls);
    }
    if (!esk_program_pay(program)) {
        return ESK_AGAIN;
    }
    if (is_for) {
        group_store(helper, values, nulls);
        if (helper->kind != ESK_HELPER_GROUPS && !helper->is_read) {
            esk_topk_sort(&helper->records);
        }
        helper->is_read = true;
        helper->at = 0;
    }
    if (helper->is_read && record_take(helper, values, nulls)) {
        if (!is_for) {
            program->next = program->code + esk_load_u16(op + 2);
        }
    } else if (is_for) {
        program->next += esk_load_u16(op + 2);
    }
    return ESK_PROGRAM_GOES_ON;
}

/// Checks the entries of helpers, which begin at check->at.
static bool entries_check(struct esk_check *check) {
    const uint8_t *code = check->code;
    for (uint8_t i = 0; i < code[ESK_PROGRAM_HELPERS]; i++) {
        const uint8_t *entry = code + check->at;
        uint8_t kind = entry[ESK_PROGRAM_HELPER_KIND];
        uint8_t slots = entry[ESK_PROGRAM_HELPER_SLOTS];
        uint8_t keys = entry[ESK_PROGRAM_HELPER_KEYS];
        if (kind < ESK_HELPER_TOP || kind > ESK_HELPER_GROUPS || slots == 0 ||
            keys > slots || keys > ESK_PROGRAM_HELPER_KEYS_MAX ||
            !esk_check_registers(check, entry[ESK_PROGRAM_HELPER_FIRST],
                                 slots) ||
            esk_load_u16(entry + ESK_PROGRAM_HELPER_CAPACITY) == 0) {
            return false;
        }
        check->at = (uint16_t)(check->at + ESK_PROGRAM_HELPER_BYTES);
    }
    return true;
}

static bool helpers_check(struct esk_check *check, const uint8_t *op) {
    if (op == NULL) {
        return entries_check(check);
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

const struct esk_query_part esk_query_part_helpers = {
    .run = helpers_run, .check = helpers_check, .carve = esk_helpers_carve};
