// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The rules of integer arithmetic, once for all that queries run on.
///
/// A product and a quotient are made of magnitudes; then the sign is set.
#include "base/inline.h"
#include "base/slot.h"
#include "esker/compute.h"

int esk_add(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, false) ? ESK_OK : ESK_E_LIMIT;
}

int esk_subtract(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, true) ? ESK_OK : ESK_E_LIMIT;
}

static ESK_OUT_OF_LINE void slot_negate(esk_slot *r) {
    esk_slot zero = 0;
    (void)esk_slot_add(r, &zero, r, true);
}

/// bits = the magnitude of `slot`; that of the least slot is its own bits.
static ESK_OUT_OF_LINE void magnitude(esk_slot_bits *bits,
                                      const esk_slot *slot) {
    esk_slot_copy((esk_slot *)bits, slot);
    if (esk_slot_is_negative(slot)) {
        slot_negate((esk_slot *)bits);
    }
}

/// r = the number of that magnitude and sign. Returns ESK_OK; ESK_E_LIMIT.
static ESK_OUT_OF_LINE int signed_set(esk_slot *r, const esk_slot_bits *bits,
                                      bool negative) {
    static const esk_slot zero = 0;
    esk_slot_copy(r, (const esk_slot *)bits);
    if (negative) {
        slot_negate(r);
    }
    /* Zero has no sign; the least slot is its own negative. */
    return esk_slot_compare(r, &zero) == 0 ||
                   esk_slot_is_negative(r) == negative
               ? ESK_OK
               : ESK_E_LIMIT;
}

int esk_multiply(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    bool negative = esk_slot_is_negative(a) != esk_slot_is_negative(b);
    esk_slot_bits x;
    esk_slot_bits y;
    magnitude(&x, a);
    magnitude(&y, b);
    return esk_slot_multiply(&x, &y) ? signed_set(r, &x, negative)
                                     : ESK_E_LIMIT;
}

static ESK_OUT_OF_LINE int divide(esk_slot *r, const esk_slot *a,
                                  const esk_slot *b, uint8_t result) {
    static const esk_slot zero = 0;
    bool negative = esk_slot_is_negative(a);
    esk_slot_bits pair[2];
    esk_slot_bits y;
    magnitude(pair, a);
    magnitude(&y, b);
    if (esk_slot_compare(b, &zero) == 0) {
        return ESK_NOT_FOUND;
    }
    if (result == 0) {
        negative = negative != esk_slot_is_negative(b);
    }
    esk_slot_divide(pair, &y);
    return signed_set(r, pair + result, negative);
}

int esk_divide(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return divide(r, a, b, 0);
}

int esk_remainder(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return divide(r, a, b, 1);
}
