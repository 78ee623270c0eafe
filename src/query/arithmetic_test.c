// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What queries compute with, as generated code calls it.
#include "base/slot.h"
#include "esker/compute.h"
#include "test/harness/esk_test.h"

ESK_TEST(sums_are_exact_and_an_error_only_when_they_are_read) {
    static const esk_slot most = INT64_MAX;
    static const esk_slot least = INT64_MIN;
    esk_slot sum[2] = {0, 0};
    esk_slot value = 0;
    for (int i = 0; i < 1000; i++) {
        esk_slot_add_wide(sum, &most);
    }
    ESK_CHECK(!esk_slot_narrow(&value, sum));
    for (int i = 0; i < 1000; i++) {
        esk_slot_add_wide(sum, &least);
    }
    ESK_CHECK(esk_slot_narrow(&value, sum));
    ESK_CHECK_INT(value, -1000);
    for (int i = 0; i < 2; i++) {
        esk_slot_add_wide(sum, &least);
    }
    ESK_CHECK(!esk_slot_narrow(&value, sum));
}

ESK_TEST(division_truncates_and_zero_gives_no_result) {
    esk_slot a = -7;
    esk_slot b = 2;
    esk_slot r = 9;
    ESK_CHECK_INT(esk_divide(&r, &a, &b), ESK_OK);
    ESK_CHECK_INT(r, -3);
    ESK_CHECK_INT(esk_remainder(&r, &a, &b), ESK_OK);
    ESK_CHECK_INT(r, -1);
    b = 0;
    ESK_CHECK_INT(esk_divide(&r, &a, &b), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_remainder(&r, &a, &b), ESK_NOT_FOUND);
    b = -1;
    a = INT64_MIN;
    ESK_CHECK_INT(esk_divide(&r, &a, &b), ESK_E_LIMIT);
    ESK_CHECK_INT(esk_multiply(&r, &a, &b), ESK_E_LIMIT);
    ESK_CHECK_INT(esk_add(&r, &a, &b), ESK_E_LIMIT);
    ESK_CHECK_INT(esk_subtract(&r, &a, &b), ESK_OK);
    ESK_CHECK_INT(r, INT64_MIN + 1);
}

/// A record of a key and its number; nulls 1: the key is NULL.
static void push(struct esk_records *records, esk_slot key, esk_slot number,
                 uint8_t null) {
    records->values[0] = key;
    records->values[1] = number;
    records->nulls[0] = null;
    records->nulls[1] = 0;
    (void)esk_topk_push(records);
}

ESK_TEST(topk_gives_the_first_records_of_a_stable_sort) {
    static esk_slot memory[10 * ESK_RECORD_BYTES(2) / sizeof(esk_slot)];
    esk_slot values[2];
    uint8_t nulls[2];
    for (uint16_t capacity = 1; capacity <= 8; capacity++) {
        struct esk_records records = {.by = {.slots = 2, .keys = 1},
                                      .capacity = capacity,
                                      .memory = (uint8_t *)memory,
                                      .values = values,
                                      .nulls = nulls};
        ESK_CONTEXT("capacity %u", capacity);
        esk_records_clear(&records);
        /* Keys 0, 3, 1, 4, 2, 0, 3, ...: four of each. */
        for (esk_slot i = 0; i < 20; i++) {
            push(&records, i * 3 % 5, i, 0);
        }
        ESK_CHECK_INT(records.count, capacity);
        records.at = 0;
        for (uint16_t i = 0; i < capacity; i++) {
            ESK_CHECK_INT(esk_records_next(&records), ESK_OK);
            ESK_CHECK_INT(values[0], i / 4);
            ESK_CHECK_INT(values[1], (i / 4 == 0 ? 0 : 2) + i % 4 * 5);
        }
        ESK_CHECK_INT(esk_records_next(&records), ESK_END);
    }
}

ESK_TEST(groups_have_one_record_a_key_in_their_order) {
    static esk_slot memory[5 * ESK_RECORD_BYTES(2) / sizeof(esk_slot)];
    esk_slot values[2] = {0, 0};
    uint8_t nulls[2] = {0, 0};
    struct esk_records records = {.by = {.slots = 2, .keys = 1},
                                  .capacity = 4,
                                  .memory = (uint8_t *)memory,
                                  .values = values,
                                  .nulls = nulls};
    esk_records_clear(&records);
    records.at = 0;
    ESK_CHECK_INT(esk_records_next(&records), ESK_END);
    for (values[0] = 2; values[0] >= 0; values[0]--) {
        values[1] = 7;
        ESK_CHECK_INT(esk_groups_find(&records), ESK_NOT_FOUND);
        values[1] = values[0] * 10;
        esk_records_set(&records);
        values[1] = 0;
        ESK_CHECK_INT(esk_groups_find(&records), ESK_OK);
        esk_records_get(&records);
        ESK_CHECK_INT(values[1], values[0] * 10);
    }
    nulls[0] = 1; /* NULL is a key, whatever its slot is */
    ESK_CHECK_INT(esk_groups_find(&records), ESK_NOT_FOUND);
    values[0] = 77;
    ESK_CHECK_INT(esk_groups_find(&records), ESK_OK);
    nulls[0] = 0;
    ESK_CHECK_INT(esk_groups_find(&records), ESK_E_LIMIT);
    ESK_CHECK_INT(records.count, 4);
    records.at = 0;
    ESK_CHECK_INT(esk_records_next(&records), ESK_OK);
    ESK_CHECK_INT(nulls[0], 1);
    for (esk_slot key = 0; key < 3; key++) {
        ESK_CHECK_INT(esk_records_next(&records), ESK_OK);
        ESK_CHECK_INT(values[0], key);
        ESK_CHECK_INT(values[1], key * 10);
    }
}

ESK_TEST_MAIN()
