// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// CRC-32C backwards, bit by bit.
#include "base/crc.h"

#include <stdbool.h>

uint32_t esk_crc32c_undo(uint32_t crc, const uint8_t *bytes, uint16_t count) {
    while (count > 0) {
        count--;
        for (uint8_t i = 0; i < 8; i++) {
            /* The reflected polynomial has its highest bit set. */
            bool odd = crc >> 31 != 0;
            crc = (odd ? (crc ^ 0x82F63B78u) << 1 | 1u : crc << 1);
        }
        crc ^= bytes[count];
    }
    return crc;
}
