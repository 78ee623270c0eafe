// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Stubs for a board's driver: they do nothing and always succeed.
#include "driver.h"

#include <stddef.h>

#include "esker/status.h"

static int driver_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    (void)device, (void)page, (void)offset, (void)buffer, (void)bytes;
    return ESK_OK;
}

static int driver_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    (void)device, (void)page, (void)offset, (void)buffer, (void)bytes;
    return ESK_OK;
}

static int driver_erase(const struct esk_device *device, uint32_t block) {
    (void)device, (void)block;
    return ESK_OK;
}

static int driver_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

const struct esk_device_ops driver_ops = {
    .read = driver_read,
    .program = driver_program,
    .erase = driver_erase,
    .sync = driver_sync,
};

int32_t driver_sample(void) {
    return 0;
}
