// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device's calls as the flash layer uses them: whole pages, and block
/// marks that a medium may not have.
#ifndef ESK_FLASH_DEVICE_PAGE_H
#define ESK_FLASH_DEVICE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

static inline int esk_device_read_page(const struct esk_device *device,
                                       esk_page_id page, uint8_t *buffer) {
    return device->ops->read(device, page, 0, buffer,
                             device->geometry.page_bytes);
}

/// The same, once more if the transfer failed: for a mount, which learns from
/// what it reads what it may write over.
int esk_device_read_page_surely(const struct esk_device *device,
                                esk_page_id page, uint8_t *buffer);

/// Whether `block` is marked bad. A mark that cannot be read is no mark: the
/// erase that follows decides.
bool esk_device_block_is_bad(const struct esk_device *device, uint32_t block);

/// Marks `block` bad, where the medium keeps marks.
void esk_device_block_mark_bad(const struct esk_device *device, uint32_t block);

#endif
