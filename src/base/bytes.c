// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/bytes.h"

bool esk_bytes_are(const uint8_t *bytes, uint16_t count, uint8_t value) {
    for (uint16_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return false;
        }
    }
    return true;
}
