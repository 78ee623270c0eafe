// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The rules of integer arithmetic, for generated C; base/slot.c has them.
#include "base/slot.h"
#include "esker/compute.h"

int esk_add(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, false) ? ESK_OK : ESK_E_LIMIT;
}

int esk_subtract(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_add(r, a, b, true) ? ESK_OK : ESK_E_LIMIT;
}

int esk_multiply(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_scale(r, a, b, ESK_SLOT_PRODUCT);
}

int esk_divide(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_scale(r, a, b, ESK_SLOT_QUOTIENT);
}

int esk_remainder(esk_slot *r, const esk_slot *a, const esk_slot *b) {
    return esk_slot_scale(r, a, b, ESK_SLOT_REMAINDER);
}
