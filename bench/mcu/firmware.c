// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "bench/mcu/firmware.h"

#include <stddef.h>

#include "bench/mcu/medium.h"

enum {
    PAINT = 0xA5,
    /// Bytes below the stack pointer that the painting itself uses.
    PAINT_GAP = 64,
    MEDIUM_CALLS = 4, ///< of each kind, to measure one
};

uint32_t firmware_samples;

static struct {
    const char *name;
    uint32_t digest;
    uintptr_t stack;
} group;

static uint32_t random_state = 88172645u;

void firmware_text(const char *text) {
    while (*text != '\0') {
        esk_board_put(*text++);
    }
}

void firmware_number(int32_t number) {
    char digits[12];
    uint8_t count = 0;
    uint32_t left = (uint32_t)number;
    if (number < 0) {
        esk_board_put('-');
        left = 0u - left;
    }
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    while (count > 0) {
        esk_board_put(digits[--count]);
    }
}

void firmware_pair(const char *word, uint32_t number) {
    esk_board_put(' ');
    firmware_text(word);
    esk_board_put(' ');
    if (number > INT32_MAX) {
        firmware_number((int32_t)(number / 10));
        esk_board_put((char)('0' + number % 10));
    } else {
        firmware_number((int32_t)number);
    }
}

void firmware_line(void) {
    esk_board_put('\n');
}

void firmware_holds(int claim, int line, int status) {
    if (!claim) {
        firmware_text("failed line ");
        firmware_number(line);
        firmware_text(" status ");
        firmware_number(status);
        firmware_text(" in ");
        firmware_text(group.name != NULL ? group.name : "no group");
        firmware_line();
        esk_board_exit(1);
    }
}

void firmware_want(int wanted, int status, int line) {
    firmware_holds(status == wanted, line, status);
}

/// Paints from the stack's limit to the frame of the measured calls' caller.
static void stack_paint(uintptr_t stack) {
    uintptr_t limit = esk_board_stack_limit();
    group.stack = stack;
    if (limit == 0) {
        return;
    }
    volatile uint8_t *at = (volatile uint8_t *)limit;
    while ((uintptr_t)at < group.stack - PAINT_GAP) {
        *at++ = PAINT;
    }
}

/// Bytes below that caller's stack pointer that were written since.
static uint32_t stack_used(void) {
    uintptr_t limit = esk_board_stack_limit();
    if (limit == 0) {
        return 0;
    }
    const volatile uint8_t *at = (const volatile uint8_t *)limit;
    while ((uintptr_t)at < group.stack && *at == PAINT) {
        at++;
    }
    return (uint32_t)(group.stack - (uintptr_t)at);
}

void firmware_group_start(const char *name, uintptr_t stack) {
    group.name = name;
    group.digest = 2166136261u;
    firmware_samples = 0;
    medium_clear();
    stack_paint(stack);
}

void firmware_group_end(uint32_t operations) {
    uint32_t stack = stack_used();
    firmware_text("= ");
    firmware_text(group.name);
    firmware_pair("operations", operations);
    firmware_pair("reads", medium.reads);
    firmware_pair("sequential", medium.reads_sequential);
    firmware_pair("programs", medium.programs);
    firmware_pair("sequential", medium.programs_sequential);
    firmware_pair("erases", medium.erases);
    firmware_pair("digest", group.digest);
    firmware_line();
    firmware_text("# ");
    firmware_text(group.name);
    firmware_pair("samples", firmware_samples);
    firmware_pair("stack", stack);
    firmware_line();
}

void firmware_measure_nothing(void) {
    int status = 0;
    firmware_group_begin("empty");
    for (uint8_t i = 0; i < 4; i++) {
        FIRMWARE_MEASURE(status, 0);
    }
    firmware_group_end(4);
    FIRMWARE_DO(status);
}

void firmware_measure_medium(uint8_t *page) {
    const struct esk_device *device = &medium_device;
    const struct esk_geometry *geometry = &device->geometry;
    uint32_t block = geometry->block_count - 1;
    esk_page_id first = block * geometry->block_pages;
    uint16_t bytes = geometry->page_bytes;
    int status;
    FIRMWARE_DO(device->ops->erase(device, block));
    firmware_group_begin("medium_read");
    for (uint8_t i = 0; i < MEDIUM_CALLS; i++) {
        FIRMWARE_MEASURE(status,
                         device->ops->read(device, first + i, 0, page, bytes));
        FIRMWARE_DO(status);
    }
    firmware_group_end(MEDIUM_CALLS);
    firmware_group_begin("medium_program");
    for (uint8_t i = 0; i < MEDIUM_CALLS; i++) {
        FIRMWARE_MEASURE(
            status, device->ops->program(device, first + i, 0, page, bytes));
        FIRMWARE_DO(status);
    }
    firmware_group_end(MEDIUM_CALLS);
}

void firmware_digest(const void *data, uint16_t bytes) {
    const uint8_t *at = data;
    while (bytes-- != 0) {
        group.digest = (group.digest ^ *at++) * 16777619u;
    }
}

uint32_t firmware_random(uint32_t below) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state % below;
}
