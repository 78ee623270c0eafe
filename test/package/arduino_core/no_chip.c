// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A bus without a chip, where sketches are only linked.
#include "core_chip.h"

void core_chip_pin(uint8_t level) {
    (void)level;
}

uint8_t core_chip_transfer(uint8_t byte) {
    (void)byte;
    return 0xFF;
}

void core_chip_delay(uint32_t us) {
    (void)us;
}

int core_chip_status(void) {
    return 0;
}
