// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What queries compute with: the rules of arithmetic, order, the first records
/// and groups. The machine of esker/query.h and generated C use the same
/// functions, so that both give the same rows.
#ifndef ESKER_COMPUTE_H
#define ESKER_COMPUTE_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/query.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// r = a + b; r = a - b. r may be a or b, here and below.
/// Returns  ESK_OK; ESK_E_LIMIT: beyond a slot.
int esk_add(esk_slot *r, const esk_slot *a, const esk_slot *b);
int esk_subtract(esk_slot *r, const esk_slot *a, const esk_slot *b);

/// r = a * b. As esk_add.
int esk_multiply(esk_slot *r, const esk_slot *a, const esk_slot *b);

/// r = a / b, toward 0; r = a % b, with the sign of a.
/// Returns  ESK_OK; ESK_NOT_FOUND: b is 0, the result is NULL; ESK_E_LIMIT: the
///          least slot / -1.
/// Costs    on an 8-bit chip about 600 cycles where both fit 32 bits, 8,000
///          where not.
int esk_divide(esk_slot *r, const esk_slot *a, const esk_slot *b);
int esk_remainder(esk_slot *r, const esk_slot *a, const esk_slot *b);

/// How records are ordered: by their first `keys` slots.
struct esk_order {
    uint8_t slots;
    uint8_t keys;  ///< at most 16
    uint16_t down; ///< bit i: key i falls
};

/// Compares the keys of a row and of a record, whose NULLs are behind its
/// slots: < 0, 0 or > 0. NULL comes before all values, and last where the key
/// falls.
int8_t esk_order_compare(const struct esk_order *by, const esk_slot *a,
                         const uint8_t *a_nulls, const esk_slot *record);

/// What the bytes of a record are a multiple of: AVR aligns nothing.
#define ESK_RECORD_UNIT (sizeof(void *) <= 2 ? 1u : sizeof(esk_slot))

/// Bytes of a record's place in the order.
#define ESK_RECORD_NUMBER 2u

/// Bytes of a record of a top or of groups, and of the memory of `capacity`.
#define ESK_RECORD_BYTES(slots)                                                \
    ((uint32_t)(((slots) * (sizeof(esk_slot) + 1u) + ESK_RECORD_UNIT - 1u) /   \
                    ESK_RECORD_UNIT * ESK_RECORD_UNIT +                        \
                ESK_RECORD_NUMBER))

/// Records in memory of the caller's: the first `capacity` of those pushed, or
/// one a key, in order. They are copied from a row of slots of the caller's and
/// to it. `count` and `at` are EskerDB's.
struct esk_records {
    struct esk_order by;
    uint16_t capacity;
    uint16_t count;
    uint16_t at;      ///< number of the record of the row; or the next place
    uint8_t *memory;  ///< ESK_RECORD_BYTES(slots) each, aligned for a slot
    esk_slot *values; ///< the row
    uint8_t *nulls;   ///< for each slot, 1: it is NULL
};

/// Pushes the row: the first `capacity` ones in order are kept, and the others
/// dropped. Rows with equal keys keep their order.
/// Returns  ESK_OK; ESK_NOT_FOUND: a row, this one or another, was dropped.
/// Costs    log2(count) comparisons; 2 bytes are moved for each record behind.
int esk_topk_push(struct esk_records *records);

/// Sets the row to the record at place `at` of the order, 0 at first, and goes
/// on to the next place. Of groups the order is that of the keys.
/// Returns  ESK_OK; ESK_END.
int esk_records_next(struct esk_records *records);

/// What stands for all values: a quantile is so many ten-thousandths.
#define ESK_QUANTILE_WHOLE 10000u

/// Sets the row to the record that `part` ten-thousandths of the records reach:
/// of n records the one at place n * part / 10,000 from 1, rounded up, and at
/// least the first. 5,000 is the lower median. Without records it is NULL.
/// Returns  ESK_OK; ESK_NOT_FOUND: there are no records.
int esk_topk_quantile(struct esk_records *records, uint16_t part);

/// Finds the record of the row's key, or makes it of the row.
/// Returns  ESK_OK; ESK_NOT_FOUND: it was made; ESK_E_LIMIT: there are
///          `capacity` others.
/// Costs    as esk_topk_push.
int esk_groups_find(struct esk_records *records);

/// Copies the record that was found to the row; and the row to it, but for its
/// key.
void esk_records_get(const struct esk_records *records);
void esk_records_set(const struct esk_records *records);

/// Removes all records. Also how records start.
void esk_records_clear(struct esk_records *records);

#ifdef __cplusplus
}
#endif

#endif
