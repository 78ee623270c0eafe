// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "port/avr/host_call.h"

#define REGISTER(address) (*(volatile uint8_t *)(address))

/// Little-endian and without padding: the host reads it from SRAM.
struct avr_request {
    uint32_t address;
    uint32_t bytes;
    const void *buffer;
};

int esk_avr_call(uint8_t command, uint32_t address, const void *buffer,
                 uint32_t bytes) {
    struct avr_request request = {address, bytes, buffer};
    uintptr_t where = (uintptr_t)&request;
    REGISTER(0xE2) = (uint8_t)where;
    REGISTER(0xE3) = (uint8_t)(where >> 8);
    /* The host reads the request from memory. */
    __asm__ volatile("" ::"r"(&request) : "memory");
    REGISTER(0xE0) = command;
    __asm__ volatile("" ::: "memory");
    return REGISTER(0xE4) == 0 ? 0 : -1;
}
