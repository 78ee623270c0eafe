// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A board that is this machine: storage in memory, input from a file.
///
///     ESK_BOARD_INPUT=file   the file that esk_board_input reads
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "port/board.h"

enum { STORAGE_BYTES = 2 * 1024 * 1024, SLOTS = 256 };

static uint8_t storage[STORAGE_BYTES];
static uint32_t notes[SLOTS];

/// Whether the storage has these bytes. Makes it, blank, at the first call.
static int storage_holds(uint32_t address, uint32_t bytes) {
    static int begun;
    if (!begun) {
        memset(storage, 0xFF, STORAGE_BYTES);
        begun = 1;
    }
    return address <= STORAGE_BYTES && bytes <= STORAGE_BYTES - address;
}

int esk_board_read(uint32_t address, void *buffer, uint16_t bytes) {
    if (!storage_holds(address, bytes)) {
        return -1;
    }
    memcpy(buffer, storage + address, bytes);
    return 0;
}

int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes) {
    if (!storage_holds(address, bytes)) {
        return -1;
    }
    memcpy(storage + address, buffer, bytes);
    return 0;
}

int esk_board_erase(uint32_t address, uint32_t bytes) {
    if (!storage_holds(address, bytes)) {
        return -1;
    }
    memset(storage + address, 0xFF, bytes);
    return 0;
}

int esk_board_input(uint32_t address, void *buffer, uint16_t bytes) {
    static FILE *file;
    if (file == NULL) {
        const char *path = getenv("ESK_BOARD_INPUT");
        file = path == NULL ? NULL : fopen(path, "rb");
    }
    if (file == NULL || fseek(file, (long)address, SEEK_SET) != 0) {
        return -1;
    }
    return fread(buffer, 1, bytes, file) == bytes ? 0 : -1;
}

void esk_board_put(char character) {
    putchar(character);
}

void esk_board_note(uint8_t slot, uint32_t number) {
    notes[slot] = number;
}

uint32_t esk_board_noted(uint8_t slot) {
    return notes[slot];
}

_Noreturn void esk_board_exit(int status) {
    fflush(stdout);
    exit(status);
}

uintptr_t esk_board_stack_pointer(void) {
    return (uintptr_t)__builtin_frame_address(0);
}

uintptr_t esk_board_stack_limit(void) {
    return 0;
}
