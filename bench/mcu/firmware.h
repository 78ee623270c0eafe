// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the firmware programs: console output and measuring.
///
/// Lines on the console:
///
///     = text    an answer: the same on every platform, byte for byte
///     # text    a figure of this platform: RAM, stack, number of samples
///
/// A group is a run of measured calls of one kind. The host measures the cost
/// between the marks; the firmware prints how many there were.
#ifndef ESK_BENCH_MCU_FIRMWARE_H
#define ESK_BENCH_MCU_FIRMWARE_H

#include <stdint.h>

#include "port/board.h"

/// Runs `call`, an int, between two marks; the result goes to `status`.
#define FIRMWARE_MEASURE(status, call)                                         \
    do {                                                                       \
        ESK_BOARD_MARK_BEGIN();                                                \
        (status) = (call);                                                     \
        ESK_BOARD_MARK_END();                                                  \
        firmware_samples++;                                                    \
    } while (0)

/// Ends the run with its line number, unless `claim` holds.
#define FIRMWARE_HOLDS(claim) firmware_holds((claim), __LINE__, 0)
/// The same, unless `call` returns `wanted`.
#define FIRMWARE_WANT(wanted, call) firmware_want((wanted), (call), __LINE__)
#define FIRMWARE_DO(call) FIRMWARE_WANT(0, (call))

extern uint32_t firmware_samples;

void firmware_holds(int claim, int line, int status);
void firmware_want(int wanted, int status, int line);

void firmware_text(const char *text);
void firmware_number(int32_t number);
/// A blank, the word, a blank and the number.
void firmware_pair(const char *word, uint32_t number);
void firmware_line(void);

/// Begins group `name`: paints the stack below the caller, clears counters
/// of the medium and the digest.
#define firmware_group_begin(name)                                             \
    firmware_group_start((name), esk_board_stack_pointer())
void firmware_group_start(const char *name, uintptr_t stack);

/// Ends it and prints it: operations, page I/O and digest as an answer; stack
/// below firmware_group_begin's caller, and samples, as figures.
void firmware_group_end(uint32_t operations);

/// A group "empty": the cost of the marks themselves.
void firmware_measure_nothing(void);

/// Groups "medium_read" and "medium_program": the cost of the benchmark's own
/// device, called as the library calls it, on its last block, which is lost.
/// `page` is for a page's bytes.
void firmware_measure_medium(uint8_t *page);

/// Adds `bytes` bytes at `data` to the group's digest (FNV-1a).
void firmware_digest(const void *data, uint16_t bytes);

/// The next number of a sequence, the same on every platform.
uint32_t firmware_random(uint32_t below);

#endif
