// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// UTF-8 as RFC 3629 has it: shortest forms, no surrogates, to U+10FFFF.

#include "utf8.h"

static bool is_tail(uint8_t byte) {
    return (byte & 0xC0u) == 0x80u;
}

size_t esk_py_utf8_length(const uint8_t *from, size_t bytes) {
    uint8_t head = from[0];
    if (head < 0x80) {
        return 1;
    }
    size_t length = head >= 0xF0 ? 4 : head >= 0xE0 ? 3 : 2;
    if (head < 0xC2 || head > 0xF4 || bytes < length) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if (!is_tail(from[i])) {
            return 0;
        }
    }
    uint8_t next = from[1];
    bool is_long =
        (head == 0xE0 && next < 0xA0) || (head == 0xF0 && next < 0x90);
    bool is_surrogate = head == 0xED && next >= 0xA0;
    bool is_past = head == 0xF4 && next >= 0x90;
    return is_long || is_surrogate || is_past ? 0 : length;
}

bool esk_py_utf8_valid(const uint8_t *from, size_t bytes) {
    size_t at = 0;
    while (at < bytes) {
        size_t length = esk_py_utf8_length(from + at, bytes - at);
        if (length == 0) {
            return false;
        }
        at += length;
    }
    return true;
}
