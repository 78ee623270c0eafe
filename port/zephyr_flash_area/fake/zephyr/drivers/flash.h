// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As Zephyr's header: the calls that the driver uses.
#ifndef FAKE_ZEPHYR_DRIVERS_FLASH_H
#define FAKE_ZEPHYR_DRIVERS_FLASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct device;

struct flash_parameters {
    const size_t write_block_size;
    struct {
        bool no_explicit_erase : 1;
    } caps;
    uint8_t erase_value;
};

#define FLASH_ERASE_C_EXPLICIT 0x01

int flash_params_get_erase_cap(const struct flash_parameters *p);

const struct flash_parameters *flash_get_parameters(const struct device *dev);

struct flash_pages_info {
    off_t start_offset;
    size_t size;
    uint32_t index;
};

int flash_get_page_info_by_offs(const struct device *dev, off_t offset,
                                struct flash_pages_info *info);

#endif
