// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The memory functions for a program without a C library, or with one whose
/// functions are made for speed: newlib's take 484 bytes on a Cortex-M0+. Byte
/// loops, small rather than fast. Compile with -fno-builtin and without
/// link-time optimisation, or they call themselves.
#include <stdint.h>
#include <string.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    uint8_t *target = to;
    const uint8_t *source = from;
    while (bytes-- != 0) {
        *target++ = *source++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    uint8_t *target = to;
    const uint8_t *source = from;
    if ((uintptr_t)target > (uintptr_t)source) {
        while (bytes-- != 0) {
            target[bytes] = source[bytes];
        }
        return to;
    }
    while (bytes-- != 0) {
        *target++ = *source++;
    }
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    uint8_t *target = to;
    while (bytes-- != 0) {
        *target++ = (uint8_t)value;
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t bytes) {
    const uint8_t *a = left;
    const uint8_t *b = right;
    for (size_t i = 0; i < bytes; i++) {
        if (a[i] != b[i]) {
            return a[i] < b[i] ? -1 : 1;
        }
    }
    return 0;
}

size_t strlen(const char *text) {
    size_t bytes = 0;
    while (text[bytes] != '\0') {
        bytes++;
    }
    return bytes;
}

int strcmp(const char *left, const char *right) {
    return memcmp(left, right, strlen(left) + 1);
}
