// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The trap that requests an operation from the debugger, here QEMU.
#ifndef ESK_PORT_SEMIHOSTING_H
#define ESK_PORT_SEMIHOSTING_H

#include <stdint.h>

/// Does `operation` with its parameter block. Returns the host's result.
static inline intptr_t semihosting_call(int operation, const void *block) {
#if defined(__arm__)
    register intptr_t result __asm__("r0") = operation;
    register const void *parameter __asm__("r1") = block;
    __asm__ volatile("bkpt 0xAB" : "+r"(result) : "r"(parameter) : "memory");
    return result;
#else
    register intptr_t result __asm__("a0") = operation;
    register const void *parameter __asm__("a1") = block;
    /* Three uncompressed instructions on one page are the trap. */
    __asm__ volatile(".balign 16\n"
                     ".option push\n"
                     ".option norvc\n"
                     "slli x0, x0, 0x1f\n"
                     "ebreak\n"
                     "srai x0, x0, 7\n"
                     ".option pop\n"
                     : "+r"(result)
                     : "r"(parameter)
                     : "memory");
    return result;
#endif
}

#endif
