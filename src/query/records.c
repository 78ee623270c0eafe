// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Records in memory: the first k in an order, and one for each key.
///
///     | slots | nulls, 1 byte each | ... capacity | number u16 | ... capacity
///       record 0                     records        in order
///
/// A record stays where it was put; its number is put in order, by halving. A
/// record comes behind those with an equal key, and a group is the one before
/// the place that its key would have.
#include "base/bytes.h"
#include "base/inline.h"
#include "base/slot.h"
#include "esker/compute.h"

int8_t esk_order_compare(const struct esk_order *by, const esk_slot *a,
                         const uint8_t *a_nulls, const esk_slot *record) {
    const uint8_t *nulls = (const uint8_t *)(record + by->slots);
    uint16_t down = by->down;
    for (uint8_t left = by->keys; left > 0; left--) {
        int8_t order = (int8_t)(*nulls++ - *a_nulls);
        if (order == 0 && *a_nulls == 0) {
            order = esk_slot_compare(a, record);
        }
        if (order != 0) {
            return (down & 1u) != 0 ? (int8_t)-order : order;
        }
        down >>= 1;
        a++;
        a_nulls++;
        record++;
    }
    return 0;
}

/// A record; that behind the last one is where the numbers begin.
static ESK_OUT_OF_LINE esk_slot *record_at(const struct esk_records *records,
                                           uint16_t number) {
    uint16_t bytes =
        (uint16_t)(ESK_RECORD_BYTES(records->by.slots) - ESK_RECORD_NUMBER);
    void *record = records->memory + (size_t)number * bytes;
    return record;
}

/// The number of the record at a place of the order.
static ESK_OUT_OF_LINE uint16_t *order_at(const struct esk_records *records,
                                          uint16_t place) {
    void *order = record_at(records, records->capacity);
    return (uint16_t *)order + place;
}

/// As esk_order_compare, of the row and the record at a place of the order.
static ESK_OUT_OF_LINE int8_t row_compare(const struct esk_records *records,
                                          uint16_t place) {
    return esk_order_compare(&records->by, records->values, records->nulls,
                             record_at(records, *order_at(records, place)));
}

void esk_records_clear(struct esk_records *records) {
    records->count = 0;
}

void esk_records_get(const struct esk_records *records) {
    uint8_t slots = records->by.slots;
    const esk_slot *record = record_at(records, records->at);
    memcpy(records->values, record, slots * sizeof *record);
    memcpy(records->nulls, record + slots, slots);
}

/// Copies the slots of the row from `from` on to its record.
static ESK_OUT_OF_LINE void row_store(const struct esk_records *records,
                                      uint8_t from) {
    uint8_t slots = records->by.slots;
    esk_slot *record = record_at(records, records->at);
    uint8_t *nulls = (uint8_t *)(record + slots);
    for (; from < slots; from++) {
        esk_slot_copy(record + from, records->values + from);
        nulls[from] = records->nulls[from];
    }
}

void esk_records_set(const struct esk_records *records) {
    row_store(records, records->by.keys);
}

/// The place of the row in the order: how many records do not come after it.
static ESK_OUT_OF_LINE uint16_t place_of(const struct esk_records *records) {
    uint16_t low = 0;
    uint16_t high = records->count;
    while (low < high) {
        uint16_t middle = (uint16_t)(low + (uint16_t)(high - low) / 2u);
        if (row_compare(records, middle) < 0) {
            high = middle;
        } else {
            low = (uint16_t)(middle + 1u);
        }
    }
    return low;
}

/// Puts the row at a place of the order, as a record of its own; if there are
/// `capacity`, as the last one.
static ESK_OUT_OF_LINE void row_put(struct esk_records *records,
                                    uint16_t place) {
    uint16_t last = records->count;
    uint16_t number = last;
    if (last == records->capacity) {
        number = *order_at(records, --last);
    } else {
        records->count++;
    }
    uint16_t *order = order_at(records, place);
    memmove(order + 1, order, (size_t)(last - place) * sizeof *order);
    *order = number;
    records->at = number;
    row_store(records, 0);
}

int esk_topk_push(struct esk_records *records) {
    bool drops = records->count == records->capacity;
    uint16_t place = place_of(records);
    if (place < records->capacity) {
        row_put(records, place);
    }
    return drops ? ESK_NOT_FOUND : ESK_OK;
}

int esk_records_next(struct esk_records *records) {
    uint16_t place = records->at;
    if (place >= records->count) {
        return ESK_END;
    }
    records->at = *order_at(records, place);
    esk_records_get(records);
    records->at = (uint16_t)(place + 1u);
    return ESK_OK;
}

int esk_groups_find(struct esk_records *records) {
    uint16_t place = place_of(records);
    if (place > 0 && row_compare(records, (uint16_t)(place - 1u)) == 0) {
        records->at = *order_at(records, (uint16_t)(place - 1u));
        return ESK_OK;
    }
    if (records->count == records->capacity) {
        return ESK_E_LIMIT;
    }
    row_put(records, place);
    return ESK_NOT_FOUND;
}
