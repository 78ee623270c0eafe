// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Records in memory: the first k in an order, and one for each key.
///
///     | slots | nulls, 1 byte each | arrival u32 |     a record of a top
///     | slots | nulls, 1 byte each | used u8     |     a record of groups
///
/// A top is a heap whose root comes last in the order. A record that comes
/// before it takes its place. Arrival numbers make equal keys differ, so the
/// order is that of a stable sort.
///
/// Groups are a hash table with open addressing: the place of a key is the CRC
/// of its slots, and the next free record from there on.
#include "base/bytes.h"
#include "base/crc.h"
#include "base/inline.h"
#include "base/slot.h"
#include "esker/compute.h"

int8_t esk_order_compare(const struct esk_order *by, const esk_slot *a,
                         const uint8_t *a_nulls, const esk_slot *b,
                         const uint8_t *b_nulls) {
    uint16_t down = by->down;
    for (uint8_t i = 0; i < by->keys; i++) {
        int8_t order = (int8_t)(b_nulls[i] - a_nulls[i]);
        if (order == 0 && a_nulls[i] == 0) {
            order = esk_slot_compare(a + i, b + i);
        }
        if (order != 0) {
            return (down & 1u) != 0 ? (int8_t)-order : order;
        }
        down >>= 1;
    }
    return 0;
}

static uint16_t stride_of(const struct esk_records *records) {
    return (uint16_t)ESK_RECORD_BYTES(records->by.slots);
}

static esk_slot *values_of(const struct esk_records *records, uint16_t index) {
    void *record = records->memory + (size_t)index * stride_of(records);
    return record;
}

static uint8_t *nulls_of(const struct esk_records *records, uint16_t index) {
    return (uint8_t *)(values_of(records, index) + records->by.slots);
}

/// The arrival number, or whether a record of groups is used.
static uint8_t *tail_of(const struct esk_records *records, uint16_t index) {
    return nulls_of(records, index) + records->by.slots;
}

void esk_records_clear(struct esk_records *records) {
    records->count = 0;
    records->arrivals = 0;
    for (uint16_t i = 0; i < records->capacity; i++) {
        *tail_of(records, i) = 0;
    }
}

void esk_records_get(const struct esk_records *records, uint16_t index,
                     uint8_t from, esk_slot *values, uint8_t *nulls) {
    uint8_t count = (uint8_t)(records->by.slots - from);
    memcpy(values + from, values_of(records, index) + from,
           (size_t)count * sizeof *values);
    memcpy(nulls + from, nulls_of(records, index) + from, count);
}

void esk_records_set(struct esk_records *records, uint16_t index, uint8_t from,
                     const esk_slot *values, const uint8_t *nulls) {
    uint8_t count = (uint8_t)(records->by.slots - from);
    memcpy(values_of(records, index) + from, values + from,
           (size_t)count * sizeof *values);
    memcpy(nulls_of(records, index) + from, nulls + from, count);
}

bool esk_records_is_key(const struct esk_records *records, uint16_t index,
                        const esk_slot *values, const uint8_t *nulls) {
    return esk_order_compare(&records->by, values, nulls,
                             values_of(records, index),
                             nulls_of(records, index)) == 0;
}

/// Whether record `a` comes before record `b`.
static bool comes_before(const struct esk_records *records, uint16_t a,
                         uint16_t b) {
    int8_t order = esk_order_compare(
        &records->by, values_of(records, a), nulls_of(records, a),
        values_of(records, b), nulls_of(records, b));
    return order != 0 ? order < 0
                      : esk_load_u32(tail_of(records, a)) <
                            esk_load_u32(tail_of(records, b));
}

static void records_swap(const struct esk_records *records, uint16_t a,
                         uint16_t b) {
    uint8_t *x = (uint8_t *)values_of(records, a);
    uint8_t *y = (uint8_t *)values_of(records, b);
    for (uint16_t i = stride_of(records); i > 0; i--) {
        uint8_t byte = *x;
        *x++ = *y;
        *y++ = byte;
    }
}

/// Moves record `at` of a heap of `count` down to its place.
static void heap_down(const struct esk_records *records, uint16_t at,
                      uint16_t count) {
    for (;;) {
        uint32_t child = 2u * (uint32_t)at + 1u;
        if (child >= count) {
            return;
        }
        if (child + 1u < count &&
            comes_before(records, (uint16_t)child, (uint16_t)(child + 1u))) {
            child++;
        }
        if (!comes_before(records, at, (uint16_t)child)) {
            return;
        }
        records_swap(records, at, (uint16_t)child);
        at = (uint16_t)child;
    }
}

/// Stores a record at `index`, as the newest.
static void record_store(struct esk_records *records, uint16_t index,
                         const esk_slot *values, const uint8_t *nulls) {
    esk_records_set(records, index, 0, values, nulls);
    esk_store_u32(tail_of(records, index), records->arrivals);
    records->arrivals++;
}

int esk_topk_push(struct esk_records *records, const esk_slot *values,
                  const uint8_t *nulls) {
    if (records->count == records->capacity) {
        if (esk_order_compare(&records->by, values, nulls,
                              values_of(records, 0),
                              nulls_of(records, 0)) < 0) {
            record_store(records, 0, values, nulls);
            heap_down(records, 0, records->count);
        }
        return ESK_NOT_FOUND;
    }
    uint16_t at = records->count++;
    record_store(records, at, values, nulls);
    while (at > 0) {
        uint16_t parent = (uint16_t)((at - 1u) / 2u);
        if (!comes_before(records, parent, at)) {
            break;
        }
        records_swap(records, at, parent);
        at = parent;
    }
    return ESK_OK;
}

void esk_topk_sort(struct esk_records *records) {
    for (uint16_t left = records->count; left > 1; left--) {
        records_swap(records, 0, (uint16_t)(left - 1u));
        heap_down(records, 0, (uint16_t)(left - 1u));
    }
}

/// The place where the search for a key begins.
static uint16_t place_of(const struct esk_records *records,
                         const esk_slot *values, const uint8_t *nulls) {
    uint32_t crc = UINT32_MAX;
    for (uint8_t i = 0; i < records->by.keys; i++) {
        if (nulls[i] == 0) {
            crc =
                esk_crc32c(crc, (const uint8_t *)(values + i), sizeof *values);
        }
    }
    return (uint16_t)((uint16_t)(crc ^ crc >> 16) % records->capacity);
}

int esk_groups_find(struct esk_records *records, const esk_slot *values,
                    const uint8_t *nulls, uint16_t *index) {
    uint16_t at = place_of(records, values, nulls);
    for (uint16_t i = 0; i < records->capacity; i++) {
        if (*tail_of(records, at) == 0) {
            esk_records_set(records, at, 0, values, nulls);
            memset(nulls_of(records, at) + records->by.keys, 1,
                   (size_t)(records->by.slots - records->by.keys));
            *tail_of(records, at) = 1;
            records->count++;
            *index = at;
            return ESK_NOT_FOUND;
        }
        if (esk_records_is_key(records, at, values, nulls)) {
            *index = at;
            return ESK_OK;
        }
        at = (uint16_t)(at + 1u) == records->capacity ? 0 : (uint16_t)(at + 1u);
    }
    return ESK_E_LIMIT;
}

int esk_groups_next(const struct esk_records *records, uint16_t *index) {
    while (*index < records->capacity) {
        if (*tail_of(records, *index) != 0) {
            return ESK_OK;
        }
        *index = (uint16_t)(*index + 1u);
    }
    return ESK_END;
}
