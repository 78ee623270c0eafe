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

/// As esk_order_compare, of the row and the record at a place of the order,
/// which is now that of the row.
static ESK_OUT_OF_LINE int8_t row_compare(struct esk_records *records,
                                          uint16_t place) {
    records->at = *order_at(records, place);
    return esk_order_compare(&records->by, records->values, records->nulls,
                             record_at(records, records->at));
}

void esk_records_clear(struct esk_records *records) {
    records->count = 0;
}

/// Copies part of a row to its record or, not `stores`, from there.
static ESK_APART void part_copy(void *record, void *row, uint16_t bytes,
                                bool stores) {
    memcpy(stores ? record : row, stores ? row : record, bytes);
}

/// The same of the slots from `from` on.
static ESK_OUT_OF_LINE void row_copy(const struct esk_records *records,
                                     uint8_t from, bool stores) {
    uint8_t slots = records->by.slots;
    uint8_t count = (uint8_t)(slots - from);
    esk_slot *record = record_at(records, records->at);
    part_copy(record + from, records->values + from,
              (uint16_t)(count * sizeof *record), stores);
    part_copy((uint8_t *)(record + slots) + from, records->nulls + from, count,
              stores);
}

void esk_records_get(const struct esk_records *records) {
    row_copy(records, 0, false);
}

void esk_records_set(const struct esk_records *records) {
    row_copy(records, records->by.keys, true);
}

/// The place of the row in the order: how many records do not come after it.
static ESK_OUT_OF_LINE uint16_t place_of(struct esk_records *records) {
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

int esk_topk_push(struct esk_records *records) {
    uint16_t place = place_of(records);
    uint16_t last = records->count;
    uint16_t number = last;
    bool drops = last == records->capacity;
    if (drops) {
        if (place == last) {
            return ESK_NOT_FOUND; /* the row itself */
        }
        number = *order_at(records, --last);
    } else {
        records->count++;
    }
    uint16_t *order = order_at(records, place);
    memmove(order + 1, order, (size_t)(last - place) * sizeof *order);
    *order = number;
    records->at = number;
    row_copy(records, 0, true);
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
        return ESK_OK;
    }
    if (records->count == records->capacity) {
        return ESK_E_LIMIT;
    }
    (void)esk_topk_push(records);
    return ESK_NOT_FOUND;
}
