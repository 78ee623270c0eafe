// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device for firmware on a board: the board's storage as pages, with
/// counters, and with failures for tests.
#ifndef ESK_BENCH_MCU_MEDIUM_H
#define ESK_BENCH_MCU_MEDIUM_H

#include <stdint.h>

#include "esker/device.h"

/// Calls since the counters were cleared, and which of them is to fail.
struct medium {
    uint32_t reads;
    uint32_t reads_sequential; ///< of these, of the page after the last
    uint32_t programs;
    uint32_t programs_sequential;
    uint32_t erases;
    /// The call that fails, from 1 on over reads, programs and erases; 0: none.
    uint32_t fails_at;
    uint32_t calls;      ///< since fails_at was set
    uint32_t fails_more; ///< with fails_at: so many later calls fail, too
    /// With fails_at: the medium fails, not the transfer. Programs, which are
    /// left in part, and erases return ESK_E_MEDIUM and are counted; reads do
    /// neither.
    uint8_t fails_medium;
    uint32_t read_next; ///< the page whose read would be sequential
    uint32_t program_next;
};

extern struct medium medium;

/// 512 blocks of 8 pages of 512 bytes (2 MiB) with programs of single bytes, as
/// SPI NOR; or, with -DMEDIUM_SD=1, an SD card: whole pages, overwritten.
extern const struct esk_device medium_device;

/// Clears the counters and the failures.
void medium_clear(void);

#endif
