// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The chip on the bus of the test's Arduino.
#ifndef ESK_TEST_CORE_CHIP_H
#define ESK_TEST_CORE_CHIP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void core_chip_pin(uint8_t level);
uint8_t core_chip_transfer(uint8_t byte);
void core_chip_delay(uint32_t us);
/// 0 unless the chip was sent a command that it refuses.
int core_chip_status(void);

#ifdef __cplusplus
}
#endif

#endif
