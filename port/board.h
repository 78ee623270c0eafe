// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the firmware of benchmarks and tests needs from a board, the same on
/// every platform: a storage, an input, a console, marks and an end.
///
///     port/avr          ATmega2560 under the simavr host of bench/mcu
///     port/cortex_m     Cortex-M0 and M3 in QEMU     \ files and console by
///     port/riscv        RV32 in QEMU                 / port/semihosting
///     port/wasm         a module in Node
///     port/host         a program of this machine, the reference for all
///
/// Storage and input are outside the chip and cost it almost nothing, so the
/// counts are the library's own work.
#ifndef ESK_PORT_BOARD_H
#define ESK_PORT_BOARD_H

#include <stdint.h>

/// Copies `bytes` bytes at `address` of the storage into `buffer`.
/// Returns 0, or -1 past the storage's end.
int esk_board_read(uint32_t address, void *buffer, uint16_t bytes);

/// Programs `bytes` bytes at `address` of the storage.
/// Returns 0, or -1 past the storage's end and, where the storage is strict
/// (port/avr), for bytes that are not erased.
int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes);

/// Erases `bytes` bytes at `address` to 0xFF. Returns 0 or -1.
int esk_board_erase(uint32_t address, uint32_t bytes);

/// Copies `bytes` bytes at `address` of the input, a file on the host. Returns
/// 0, or -1 past its end.
int esk_board_input(uint32_t address, void *buffer, uint16_t bytes);

/// Sends one character to the console.
void esk_board_put(char character);

/// Stores `number` in `slot` on the host, where it survives power cuts. The
/// firmware and its host agree on the slots. Platforms without power cuts
/// ignore it.
void esk_board_note(uint8_t slot, uint32_t number);

/// The number stored last in `slot`, by this run or an earlier one; 0 at first.
uint32_t esk_board_noted(uint8_t slot);

/// Ends the run; 0 is success.
_Noreturn void esk_board_exit(int status);

/// The stack pointer of the caller.
uintptr_t esk_board_stack_pointer(void);

/// The lowest address that the stack may reach; 0 if unknown.
uintptr_t esk_board_stack_limit(void);

/// What runs between two marks is counted: in cycles or in instructions.
#if defined(__AVR__)
#define ESK_BOARD_MARK_BEGIN() (*(volatile uint8_t *)0xE1 = 1)
#define ESK_BOARD_MARK_END() (*(volatile uint8_t *)0xE1 = 0)
#elif defined(__arm__)
/* Hints that no core implements, so they do nothing. */
#define ESK_BOARD_MARK_BEGIN() __asm__ volatile(".hword 0xBF50" ::: "memory")
#define ESK_BOARD_MARK_END() __asm__ volatile(".hword 0xBF60" ::: "memory")
#elif defined(__riscv)
#define ESK_BOARD_MARK_BEGIN()                                                 \
    __asm__ volatile(".word 0x00100013" ::: "memory") /* addi x0, x0, 1 */
#define ESK_BOARD_MARK_END()                                                   \
    __asm__ volatile(".word 0x00200013" ::: "memory") /* addi x0, x0, 2 */
#else
#define ESK_BOARD_MARK_BEGIN() ((void)0)
#define ESK_BOARD_MARK_END() ((void)0)
#endif

#endif
