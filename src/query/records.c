// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Records in memory: the first k in an order, and one for each key.
///
///     | slots | nulls, 1 byte each | arrival u32 |     a record of a top
///     | slots | nulls, 1 byte each | used u8     |     a record of groups
///
/// A top that is full is a heap whose root comes last in the order. A record
/// that comes before it takes its place. Arrival numbers make equal keys
/// differ, so the order is that of a stable sort.
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

/// A record. Its nulls are behind its slots, its tail behind them: the arrival
/// number, or whether a record of groups is used.
static ESK_OUT_OF_LINE esk_slot *record_at(const struct esk_records *records,
                                           uint16_t index) {
    uint16_t bytes = (uint16_t)ESK_RECORD_BYTES(records->by.slots);
    void *record = records->memory + (size_t)index * bytes;
    return record;
}

static uint8_t *nulls_of(const struct esk_records *records, esk_slot *record) {
    return (uint8_t *)(record + records->by.slots);
}

static uint8_t *tail_of(const struct esk_records *records, esk_slot *record) {
    return nulls_of(records, record) + records->by.slots;
}

/// As esk_order_compare, of registers and a record.
static ESK_OUT_OF_LINE int8_t key_compare(const struct esk_records *records,
                                          const esk_slot *values,
                                          const uint8_t *nulls,
                                          esk_slot *record) {
    return esk_order_compare(&records->by, values, nulls, record,
                             nulls_of(records, record));
}

void esk_records_clear(struct esk_records *records) {
    records->count = 0;
    records->arrivals = 0;
    for (uint16_t i = 0; i < records->capacity; i++) {
        *tail_of(records, record_at(records, i)) = 0;
    }
}

void esk_records_get(const struct esk_records *records, uint16_t index,
                     uint8_t from, esk_slot *values, uint8_t *nulls) {
    esk_slot *record = record_at(records, index);
    uint8_t count = (uint8_t)(records->by.slots - from);
    memcpy(nulls + from, nulls_of(records, record) + from, count);
    memcpy(values + from, record + from, (size_t)count * sizeof *values);
}

void esk_records_set(struct esk_records *records, uint16_t index, uint8_t from,
                     const esk_slot *values, const uint8_t *nulls) {
    esk_slot *record = record_at(records, index);
    uint8_t count = (uint8_t)(records->by.slots - from);
    memcpy(nulls_of(records, record) + from, nulls + from, count);
    memcpy(record + from, values + from, (size_t)count * sizeof *values);
}

bool esk_records_is_key(const struct esk_records *records, uint16_t index,
                        const esk_slot *values, const uint8_t *nulls) {
    return key_compare(records, values, nulls, record_at(records, index)) == 0;
}

/// Whether record `a` comes before record `b`.
static bool comes_before(const struct esk_records *records, esk_slot *a,
                         esk_slot *b) {
    int8_t order = key_compare(records, a, nulls_of(records, a), b);
    return order != 0 ? order < 0
                      : esk_load_u32(tail_of(records, a)) <
                            esk_load_u32(tail_of(records, b));
}

static void records_swap(const struct esk_records *records, esk_slot *a,
                         esk_slot *b) {
    uint8_t *x = (uint8_t *)a;
    uint8_t *y = (uint8_t *)b;
    for (uint16_t i = (uint16_t)ESK_RECORD_BYTES(records->by.slots); i > 0;
         i--) {
        uint8_t byte = *x;
        *x++ = *y;
        *y++ = byte;
    }
}

/// Moves record `at` of a heap of `count` down to its place.
static ESK_OUT_OF_LINE void heap_down(const struct esk_records *records,
                                      uint16_t at, uint16_t count) {
    esk_slot *record = record_at(records, at);
    /* A place below half of the count has a child. */
    while (at < count / 2u) {
        uint16_t child = (uint16_t)(2u * at + 1u);
        esk_slot *below = record_at(records, child);
        if ((uint16_t)(child + 1u) < count) {
            esk_slot *other = record_at(records, (uint16_t)(child + 1u));
            if (comes_before(records, below, other)) {
                below = other;
                child++;
            }
        }
        if (!comes_before(records, record, below)) {
            return;
        }
        records_swap(records, record, below);
        record = below;
        at = child;
    }
}

/// Makes a heap of the records.
static void heap_make(const struct esk_records *records) {
    for (uint16_t at = records->count / 2u; at > 0; at--) {
        heap_down(records, (uint16_t)(at - 1u), records->count);
    }
}

int esk_topk_push(struct esk_records *records, const esk_slot *values,
                  const uint8_t *nulls) {
    uint16_t at = records->count;
    bool is_full = at == records->capacity;
    if (is_full) {
        at = 0;
        if (key_compare(records, values, nulls, record_at(records, 0)) >= 0) {
            return ESK_NOT_FOUND;
        }
    }
    esk_records_set(records, at, 0, values, nulls);
    esk_store_u32(tail_of(records, record_at(records, at)),
                  records->arrivals++);
    if (is_full) {
        heap_down(records, 0, records->count);
        return ESK_NOT_FOUND;
    }
    records->count++;
    if (records->count == records->capacity) {
        heap_make(records);
    }
    return ESK_OK;
}

void esk_topk_sort(struct esk_records *records) {
    heap_make(records);
    for (uint16_t left = records->count; left > 1; left--) {
        uint16_t last = (uint16_t)(left - 1u);
        records_swap(records, record_at(records, 0), record_at(records, last));
        heap_down(records, 0, last);
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
    return (uint16_t)((uint16_t)crc % records->capacity);
}

int esk_groups_find(struct esk_records *records, const esk_slot *values,
                    const uint8_t *nulls, uint16_t *index) {
    uint16_t at = place_of(records, values, nulls);
    for (uint16_t left = records->capacity; left > 0; left--) {
        esk_slot *record = record_at(records, at);
        uint8_t *used = tail_of(records, record);
        *index = at;
        if (*used == 0) {
            uint8_t keys = records->by.keys;
            *used = 1;
            records->count++;
            memset(record, 0, (size_t)records->by.slots * sizeof *record);
            memset(nulls_of(records, record), 1, records->by.slots);
            memcpy(record, values, keys * sizeof *record);
            memcpy(nulls_of(records, record), nulls, keys);
            return ESK_NOT_FOUND;
        }
        if (key_compare(records, values, nulls, record) == 0) {
            return ESK_OK;
        }
        at++;
        if (at == records->capacity) {
            at = 0;
        }
    }
    return ESK_E_LIMIT;
}

int esk_groups_next(const struct esk_records *records, uint16_t *index) {
    for (; *index < records->capacity; ++*index) {
        if (*tail_of(records, record_at(records, *index)) != 0) {
            return ESK_OK;
        }
    }
    return ESK_END;
}
