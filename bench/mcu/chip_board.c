// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The storage of port/board.h over a chip's driver. The first call starts the
/// chip, so the cost of the start is in `format and create`.
#include "bench/mcu/chip_board.h"

#include <stddef.h>

#include "bench/mcu/firmware.h"
#include "esker/status.h"

static const struct esk_device *chip;

static const struct esk_device *chip_ready(void) {
    if (chip == NULL) {
        FIRMWARE_DO(chip_start(&chip));
        FIRMWARE_HOLDS(chip->geometry.page_bytes == CHIP_PAGE_BYTES);
        FIRMWARE_HOLDS(chip->geometry.block_pages == CHIP_BLOCK_PAGES);
        FIRMWARE_HOLDS(chip->geometry.block_count == CHIP_BLOCKS);
    }
    return chip;
}

int esk_board_read(uint32_t address, void *buffer, uint16_t bytes) {
    const struct esk_device *device = chip_ready();
    int status =
        device->ops->read(device, address / CHIP_PAGE_BYTES,
                          (uint16_t)(address % CHIP_PAGE_BYTES), buffer, bytes);
    return status == ESK_OK ? 0 : -1;
}

int esk_board_program(uint32_t address, const void *buffer, uint16_t bytes) {
    const struct esk_device *device = chip_ready();
    int status = device->ops->program(device, address / CHIP_PAGE_BYTES,
                                      (uint16_t)(address % CHIP_PAGE_BYTES),
                                      buffer, bytes);
    return status == ESK_OK ? 0 : -1;
}

int esk_board_erase(uint32_t address, uint32_t bytes) {
    const struct esk_device *device = chip_ready();
    uint32_t block_bytes = (uint32_t)CHIP_BLOCK_PAGES * CHIP_PAGE_BYTES;
    int status = bytes == block_bytes
                     ? device->ops->erase(device, address / block_bytes)
                     : ESK_E_INVALID;
    return status == ESK_OK ? 0 : -1;
}
