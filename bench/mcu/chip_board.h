// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board's storage as a chip on the ATmega2560's SPI: chip_board.c and one
/// of chip_nor.c and chip_sd.c replace port/avr/storage.c.
#ifndef ESK_BENCH_MCU_CHIP_BOARD_H
#define ESK_BENCH_MCU_CHIP_BOARD_H

#include "esker/device.h"

enum { CHIP_PAGE_BYTES = 512, CHIP_BLOCK_PAGES = 8, CHIP_BLOCKS = 512 };

/// Starts bus and driver. Returns the driver's status; `device` is out.
int chip_start(const struct esk_device **device);

#endif
