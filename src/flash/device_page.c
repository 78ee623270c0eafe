// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reads of a mount, and block marks, of media that may not have them.
#include "flash/device_page.h"

int esk_device_read_page_surely(const struct esk_device *device,
                                esk_page_id page, uint8_t *buffer) {
    int status = esk_device_read_page(device, page, buffer);
    return status == ESK_E_IO ? esk_device_read_page(device, page, buffer)
                              : status;
}

bool esk_device_block_is_bad(const struct esk_device *device, uint32_t block) {
    bool bad = false;
    if (device->ops->block_is_bad == NULL ||
        device->ops->block_is_bad(device, block, &bad) != ESK_OK) {
        return false;
    }
    return bad;
}

void esk_device_block_mark_bad(const struct esk_device *device,
                               uint32_t block) {
    if (device->ops->block_mark_bad != NULL) {
        (void)device->ops->block_mark_bad(device, block);
    }
}
