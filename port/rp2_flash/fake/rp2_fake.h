// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash of an RP2040 and the SDK's calls for it, as they are documented.
///
/// It refuses: a program or erase outside flash_safe_execute, off its
/// alignment, or past the flash; data that is in the flash itself. A program
/// clears bits and sets none.
#ifndef FAKE_RP2_FAKE_H
#define FAKE_RP2_FAKE_H

#include "port/models/chip.h"

struct rp2_fake {
    struct esk_chip chip;
    int core_1;       ///< failure of flash_safe_execute; 0: none
    bool late;        ///< with that error, after the call was made
    bool safe;        ///< within flash_safe_execute
    uint32_t timeout; ///< its argument in the last call
    uint32_t busy_at;
    bool erasing;
    bool failing;
    uint8_t page[256];
};

extern struct rp2_fake rp2_fake;

/// An erased flash, with power.
void rp2_fake_reset(uint64_t seed);

#endif
