// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A chip of port/models behind the ATmega2560's SPI.
///
/// Its clock is the microcontroller's, its programs and erases take their time
/// in cycles, and it loses power together with the microcontroller.
#ifndef ESK_BENCH_MCU_SIMAVR_CHIP_H
#define ESK_BENCH_MCU_SIMAVR_CHIP_H

#include <stdint.h>

#include "bench/mcu/simavr_host.h"

/// Puts chip `name` on the bus, blank: "W25Q64JV", "MX25R6435F" or "SDHC". Ends
/// the program for any other name.
void host_chip_use(const char *name, uint64_t seed);

/// Turns on the power of chip and microcontroller; nothing without a chip. With
/// host->cut_call set, the power of both is cut within that operation.
void host_chip_power_on(struct host *host);

/// Turns it off at the microcontroller's present cycle, and counts a program or
/// erase that is torn.
void host_chip_power_off(struct host *host);

/// Ends the program with the reason if the chip was sent a command that it
/// refuses.
void host_chip_judge(void);

#endif
