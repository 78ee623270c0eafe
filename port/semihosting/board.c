// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A board in QEMU: storage and input are files of the working folder, read and
/// written by semihosting (ARM's specification, version 2; RISC-V's is the same
/// with its own trap).
///
///     storage.img     the storage, made by who starts the board
///     input.rows      the input
///     console         QEMU's stderr
///
/// A call costs the core some tens of instructions; the copy costs none.
#include <stddef.h>
#include <stdint.h>

#include "port/board.h"
#include "port/semihosting/semihosting.h"

enum semihosting_operation {
    SYS_OPEN = 0x01,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_SEEK = 0x0A,
    SYS_EXIT_EXTENDED = 0x20,
};

enum { OPEN_READ = 1, OPEN_UPDATE = 3, PAGE_BYTES = 512, LINE_BYTES = 128 };

static const uintptr_t application_exit = 0x20026;

static const char storage_name[] = "storage.img";
static const char input_name[] = "input.rows";

/// A file opened at its first use: its handle + 1, or 0.
static intptr_t storage_file;
static intptr_t input_file;

static intptr_t file_open(const char *name, size_t length, int mode) {
    uintptr_t block[3] = {(uintptr_t)name, (uintptr_t)mode, length};
    return semihosting_call(SYS_OPEN, block) + 1;
}

static int file_seek(intptr_t file, uint32_t address) {
    uintptr_t block[2] = {(uintptr_t)(file - 1), address};
    return semihosting_call(SYS_SEEK, block) == 0 ? 0 : -1;
}

/// Reads or writes; the call returns the number of bytes that it did not copy.
static int file_copy(int operation, intptr_t file, uint32_t address,
                     const void *buffer, uint32_t bytes) {
    uintptr_t block[3] = {(uintptr_t)(file - 1), (uintptr_t)buffer, bytes};
    if (file == 0 || file_seek(file, address) != 0) {
        return -1;
    }
    return semihosting_call(operation, block) == 0 ? 0 : -1;
}

static intptr_t storage(void) {
    if (storage_file == 0) {
        storage_file =
            file_open(storage_name, sizeof storage_name - 1, OPEN_UPDATE);
    }
    return storage_file;
}

int esk_board_read(uint32_t address, void *buffer, uint16_t bytes) {
    return file_copy(SYS_READ, storage(), address, buffer, bytes);
}

int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes) {
    return file_copy(SYS_WRITE, storage(), address, buffer, bytes);
}

int esk_board_erase(uint32_t address, uint32_t bytes) {
    static uint8_t erased[PAGE_BYTES];
    for (uint16_t i = 0; erased[0] == 0 && i < PAGE_BYTES; i++) {
        erased[PAGE_BYTES - 1 - i] = 0xFF;
    }
    for (uint32_t done = 0; done < bytes; done += PAGE_BYTES) {
        if (file_copy(SYS_WRITE, storage(), address + done, erased,
                      PAGE_BYTES) != 0) {
            return -1;
        }
    }
    return 0;
}

int esk_board_input(uint32_t address, void *buffer, uint16_t bytes) {
    if (input_file == 0) {
        input_file = file_open(input_name, sizeof input_name - 1, OPEN_READ);
    }
    return file_copy(SYS_READ, input_file, address, buffer, bytes);
}

void esk_board_put(char character) {
    static char line[LINE_BYTES];
    static uint8_t count;
    line[count++] = character;
    if (character == '\n' || count == LINE_BYTES - 1) {
        line[count] = '\0';
        semihosting_call(SYS_WRITE0, line);
        count = 0;
    }
}

void esk_board_note(uint8_t slot, uint32_t number) {
    (void)slot, (void)number;
}

uint32_t esk_board_noted(uint8_t slot) {
    (void)slot;
    return 0;
}

_Noreturn void esk_board_exit(int status) {
    uintptr_t block[2] = {application_exit, (uintptr_t)status};
    semihosting_call(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

/// The linker's: the end of static data.
extern uint8_t esk_board_static_end;

uintptr_t esk_board_stack_limit(void) {
    return (uintptr_t)&esk_board_static_end;
}

uintptr_t esk_board_stack_pointer(void) {
    uintptr_t pointer;
#if defined(__arm__)
    __asm__ volatile("mov %0, sp" : "=r"(pointer));
#else
    __asm__ volatile("mv %0, sp" : "=r"(pointer));
#endif
    return pointer;
}
