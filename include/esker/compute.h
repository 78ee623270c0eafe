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

/// Compares the keys of two records: < 0, 0 or > 0. NULL comes before all
/// values, and last where the key falls.
int8_t esk_order_compare(const struct esk_order *by, const esk_slot *a,
                         const uint8_t *a_nulls, const esk_slot *b,
                         const uint8_t *b_nulls);

/// What the bytes of a record are a multiple of: AVR aligns nothing.
#define ESK_RECORD_UNIT (sizeof(void *) <= 2 ? 1u : sizeof(esk_slot))

/// Bytes of a record of a top or of groups, and of the memory of `capacity`.
#define ESK_RECORD_BYTES(slots)                                                \
    ((uint32_t)(((slots) * (sizeof(esk_slot) + 1u) + 4u + ESK_RECORD_UNIT -    \
                 1u) /                                                         \
                ESK_RECORD_UNIT * ESK_RECORD_UNIT))

/// Records in memory of the caller's: the first `capacity` of those pushed, in
/// order, or one a key. Zero `count` and so on are EskerDB's.
struct esk_records {
    struct esk_order by;
    uint16_t capacity;
    uint8_t *memory; ///< ESK_RECORD_BYTES(slots) each, aligned for a slot
    uint32_t arrivals;
    uint16_t count;
};

/// Pushes a record: a heap has the first `capacity` ones, and drops the others.
/// Records with equal keys keep their order.
/// Returns  ESK_OK; ESK_NOT_FOUND: a record, this one or another, was dropped.
/// Costs    log2(capacity) comparisons and swaps.
int esk_topk_push(struct esk_records *records, const esk_slot *values,
                  const uint8_t *nulls);

/// Puts the records in order: 0 .. count - 1. No push may follow but after
/// esk_records_clear.
/// Costs    count * log2(count) comparisons and swaps.
void esk_topk_sort(struct esk_records *records);

/// What stands for all values: a quantile is so many ten-thousandths.
#define ESK_QUANTILE_WHOLE 10000u

/// Copies the record that `part` ten-thousandths of the sorted records reach:
/// of n records the one at place n * part / 10,000 from 1, rounded up, and at
/// least the first. 5,000 is the lower median.
/// values, nulls  out: NULL without records.
/// Returns  ESK_OK; ESK_NOT_FOUND: there are no records.
int esk_topk_quantile(const struct esk_records *records, uint16_t part,
                      esk_slot *values, uint8_t *nulls);

/// Finds the record of a key, or makes it, with NULL in the other slots.
/// index    out.
/// Returns  ESK_OK; ESK_NOT_FOUND: it was made; ESK_E_LIMIT: there are
///          `capacity` others.
/// Costs    a CRC of the key, and a comparison for each record on the way from
///          its place: few until three quarters are used.
int esk_groups_find(struct esk_records *records, const esk_slot *values,
                    const uint8_t *nulls, uint16_t *index);

/// Finds the first record of groups from place `index` on, 0 at first.
/// Returns  ESK_OK; ESK_END.
int esk_groups_next(const struct esk_records *records, uint16_t *index);

/// Copies a record's slots from `from` on: to registers, or from them.
void esk_records_get(const struct esk_records *records, uint16_t index,
                     uint8_t from, esk_slot *values, uint8_t *nulls);
void esk_records_set(struct esk_records *records, uint16_t index, uint8_t from,
                     const esk_slot *values, const uint8_t *nulls);

/// Whether a record has this key.
bool esk_records_is_key(const struct esk_records *records, uint16_t index,
                        const esk_slot *values, const uint8_t *nulls);

/// Removes all records. Also how records start.
void esk_records_clear(struct esk_records *records);

#ifdef __cplusplus
}
#endif

#endif
