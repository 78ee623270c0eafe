// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Text of generated C: bytes of a fixed width, or a string.
#include <string.h>

#include "base/slot.h"
#include "esker/generated.h"

/// Bytes of a text without the zeros that follow it.
static uint16_t text_bytes(const uint8_t *text, uint16_t bytes) {
    while (bytes > 0 && text[bytes - 1u] == 0) {
        bytes--;
    }
    return bytes;
}

int esk_text_compare(const void *a, uint16_t a_bytes, const void *b,
                     uint16_t b_bytes) {
    uint16_t left = text_bytes(a, a_bytes);
    uint16_t right = text_bytes(b, b_bytes);
    int order = memcmp(a, b, left < right ? left : right);
    return order != 0 ? order : (left > right) - (left < right);
}

void esk_text_copy(char *to, uint16_t to_bytes, const void *text,
                   uint16_t bytes) {
    uint16_t copied = bytes < to_bytes ? bytes : (uint16_t)(to_bytes - 1u);
    memset(to, 0, to_bytes);
    memcpy(to, text, copied);
}

void esk_text_to_slots(esk_slot *slots, uint8_t count, const void *text,
                       uint16_t bytes) {
    const uint8_t *in = text;
    for (uint8_t i = 0; i < count; i++) {
        uint8_t part =
            (uint8_t)(bytes < ESK_SLOT_BYTES ? bytes : ESK_SLOT_BYTES);
        esk_slot_from_text(slots + i, in, part);
        in += part;
        bytes = (uint16_t)(bytes - part);
    }
}

void esk_text_of_slots(esk_slot *slots, uint8_t count) {
    for (uint8_t i = 0; i < count; i++) {
        esk_slot slot = slots[i];
        esk_slot_to_text(&slot, (uint8_t *)(slots + i), ESK_SLOT_BYTES);
    }
}

/// Bytes of the character at `at`.
static uint16_t character_bytes(const uint8_t *text, uint16_t at,
                                uint16_t bytes) {
    uint16_t end = (uint16_t)(at + 1u);
    while (end < bytes && (text[end] & 0xC0u) == 0x80u) {
        end++;
    }
    return (uint16_t)(end - at);
}

/// Where the character is that follows `count` others behind `at`.
static uint16_t characters_skip(const uint8_t *text, uint16_t at,
                                uint16_t bytes, uint16_t count) {
    for (; at < bytes && count > 0; count--) {
        at = (uint16_t)(at + character_bytes(text, at, bytes));
    }
    return at;
}

int32_t esk_text_length(const void *text, uint16_t bytes) {
    int32_t count = 0;
    uint16_t at = 0;
    for (bytes = text_bytes(text, bytes); at < bytes; count++) {
        at = characters_skip(text, at, bytes, 1);
    }
    return count;
}

const void *esk_text_part(const void *text, uint16_t bytes, uint16_t skip,
                          uint16_t count, uint16_t *part_bytes) {
    const uint8_t *in = text;
    bytes = text_bytes(in, bytes);
    uint16_t at = characters_skip(in, 0, bytes, skip);
    *part_bytes = (uint16_t)(characters_skip(in, at, bytes, count) - at);
    return in + at;
}

/* After a mismatch the last % takes one character more. Those before it never
   need to: what follows them has matched at the first place it could. */
bool esk_text_like(const void *text, uint16_t bytes, const char *pattern,
                   uint16_t pattern_bytes, char escape) {
    const uint8_t *in = text;
    uint16_t at = 0;
    uint16_t next = 0;
    uint16_t any = UINT16_MAX; ///< behind the last % of the pattern
    uint16_t taken = 0;        ///< where the text goes on that it took
    bytes = text_bytes(in, bytes);
    while (at < bytes || next < pattern_bytes) {
        char wanted = next < pattern_bytes ? pattern[next] : 0;
        bool plain = next < pattern_bytes && escape != 0 && wanted == escape;
        if (!plain && next < pattern_bytes && wanted == '%') {
            any = ++next;
            taken = at;
            continue;
        }
        if (plain && next + 1u < pattern_bytes) {
            wanted = pattern[next + 1u];
        }
        if (next < pattern_bytes && at < bytes &&
            ((!plain && wanted == '_') || in[at] == (uint8_t)wanted)) {
            bool one = plain || wanted != '_';
            at = (uint16_t)(at + (one ? 1u : character_bytes(in, at, bytes)));
            next = (uint16_t)(next + (plain ? 2u : 1u));
            continue;
        }
        if (any == UINT16_MAX || taken >= bytes) {
            return false;
        }
        taken = (uint16_t)(taken + character_bytes(in, taken, bytes));
        at = taken;
        next = any;
    }
    return true;
}
