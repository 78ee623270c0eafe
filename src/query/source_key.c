// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An integer key from a slot. It fits its type if it is the same when it is
/// loaded from its bytes; else its sign says on which side it is.
#include "query/source.h"

int8_t esk_source_key(uint8_t type, const esk_slot *slot, uint8_t *bytes) {
    bool negative = esk_slot_is_negative(slot);
    esk_slot loaded;
    esk_store_u64(bytes, (uint64_t)(int64_t)*slot);
    if (esk_slot_load(&loaded, bytes, type) &&
        esk_slot_compare(&loaded, slot) == 0) {
        return 0;
    }
    return negative ? -1 : 1;
}
