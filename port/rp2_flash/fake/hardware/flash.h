// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the Pico SDK's header: the calls that the driver uses.
#ifndef FAKE_HARDWARE_FLASH_H
#define FAKE_HARDWARE_FLASH_H

#include <stddef.h>
#include <stdint.h>

#define FLASH_PAGE_SIZE (1u << 8)
#define FLASH_SECTOR_SIZE (1u << 12)
#define PICO_FLASH_SIZE_BYTES (1024u * 1024u)

void flash_range_erase(uint32_t flash_offs, size_t count);
void flash_range_program(uint32_t flash_offs, const uint8_t *data,
                         size_t count);

#endif
