// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The RAM device: page p is the p-th run of page_bytes bytes.
#include <string.h>

#include "port/ram/ram.h"

/// Returns the address of the bytes, NULL when they are not on the device.
static uint8_t *ram_at(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, uint16_t bytes) {
    const struct esk_geometry *geometry = &device->geometry;
    uint8_t *memory = device->context;
    if (page >= geometry->block_count * geometry->block_pages ||
        (uint32_t)offset + bytes > geometry->page_bytes) {
        return NULL;
    }
    return memory + (size_t)page * geometry->page_bytes + offset;
}

static int ram_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *buffer, uint16_t bytes) {
    const uint8_t *at = ram_at(device, page, offset, bytes);
    if (at == NULL) {
        return ESK_E_IO;
    }
    memcpy(buffer, at, bytes);
    return ESK_OK;
}

static int ram_program(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, const void *buffer, uint16_t bytes) {
    uint8_t *at = ram_at(device, page, offset, bytes);
    if (at == NULL) {
        return ESK_E_IO;
    }
    memcpy(at, buffer, bytes);
    return ESK_OK;
}

static int ram_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_geometry *geometry = &device->geometry;
    if (block >= geometry->block_count) {
        return ESK_E_IO;
    }
    for (uint16_t i = 0; i < geometry->block_pages; i++) {
        memset(ram_at(device, block * geometry->block_pages + i, 0, 0),
               geometry->erased_value, geometry->page_bytes);
    }
    return ESK_OK;
}

static int ram_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops ram_ops = {
    .read = ram_read,
    .program = ram_program,
    .erase = ram_erase,
    .sync = ram_sync,
};

int esk_ram_device_init(struct esk_ram_device *ram,
                        const struct esk_geometry *geometry, void *memory,
                        size_t bytes) {
    ESK_TRY(esk_geometry_check(geometry));
    // Divisions, so that nothing overflows where size_t has 16 bits.
    size_t pages = bytes / geometry->page_bytes;
    if (pages / geometry->block_pages < geometry->block_count) {
        return ESK_E_NO_MEMORY;
    }
    *ram = (struct esk_ram_device){
        {.ops = &ram_ops, .context = memory, .geometry = *geometry}};
    return ESK_OK;
}
