// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Internal flash: a page is a run of words, each programmed and read back.
#include <stddef.h>
#include <string.h>

#include "port/driver.h"
#include "port/internal_flash/internal_flash.h"

enum { INTERNAL_WORD_MAX = 32, INTERNAL_PAGE_BYTES = 256 };

static int internal_copy(const struct esk_word_flash *port, uint32_t address,
                         void *buffer, uint16_t bytes) {
    if (port->read != NULL) {
        return port->read(port, address, buffer, bytes);
    }
    memcpy(buffer, (const void *)(uintptr_t)address, bytes);
    return ESK_OK;
}

static uint32_t internal_address(const struct esk_device *device,
                                 esk_page_id page, uint16_t offset) {
    const struct esk_internal_flash *flash = device->context;
    return flash->address + page * device->geometry.page_bytes + offset;
}

static int internal_read(const struct esk_device *device, esk_page_id page,
                         uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_internal_flash *flash = device->context;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    return internal_copy(flash->port, internal_address(device, page, offset),
                         buffer, bytes);
}

static int internal_word(const struct esk_word_flash *port, uint32_t address,
                         const uint8_t *word) {
    uint8_t seen[INTERNAL_WORD_MAX];
    memset(seen, 0xFF, sizeof seen);
    if (memcmp(word, seen, port->word_bytes) == 0) {
        return ESK_OK;
    }
    ESK_TRY(port->program(port, address, word));
    int status = internal_copy(port, address, seen, port->word_bytes);
    if (status == ESK_E_CORRUPT) {
        return ESK_E_MEDIUM;
    }
    ESK_TRY(status);
    return memcmp(word, seen, port->word_bytes) != 0 ? ESK_E_MEDIUM : ESK_OK;
}

static int internal_program(const struct esk_device *device, esk_page_id page,
                            uint16_t offset, const void *buffer,
                            uint16_t bytes) {
    const struct esk_internal_flash *flash = device->context;
    const struct esk_word_flash *port = flash->port;
    uint32_t address = internal_address(device, page, offset);
    const uint8_t *word = buffer;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    if ((unsigned)(offset | bytes) % port->word_bytes != 0) {
        return ESK_E_INVALID;
    }
    for (uint16_t at = 0; at < bytes; at = (uint16_t)(at + port->word_bytes)) {
        ESK_TRY(internal_word(port, address + at, word + at));
    }
    return ESK_OK;
}

static int internal_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_internal_flash *flash = device->context;
    esk_page_id page = block * device->geometry.block_pages;
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    return flash->port->erase(flash->port, internal_address(device, page, 0));
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int internal_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops internal_ops = {
    .read = internal_read,
    .program = internal_program,
    .erase = internal_erase,
    .sync = internal_sync,
};

int esk_internal_flash_init(struct esk_internal_flash *flash,
                            const struct esk_word_flash *port,
                            const struct esk_internal_flash_config *config) {
    struct esk_geometry *geometry = &flash->device.geometry;
    uint32_t erase = port->erase_bytes;
    uint8_t word = port->word_bytes;
    uint32_t first = config->address - port->flash_start;
    memset(flash, 0, sizeof *flash);
    if (word < 4 || word > INTERNAL_WORD_MAX || (word & (word - 1)) != 0) {
        return ESK_E_UNSUPPORTED;
    }
    flash->device.ops = &internal_ops;
    flash->device.context = flash;
    flash->port = port;
    flash->address = config->address;
    geometry->page_bytes =
        config->page_bytes != 0 ? config->page_bytes : INTERNAL_PAGE_BYTES;
    geometry->block_pages = (uint16_t)(erase / geometry->page_bytes);
    geometry->program_bytes = word;
    geometry->programs_per_page_max = port->has_ecc ? 1 : 0;
    geometry->erased_value = 0xFF;
    if (config->address < port->flash_start || first % erase != 0 ||
        config->bytes % erase != 0 || erase % geometry->page_bytes != 0) {
        return ESK_E_GEOMETRY;
    }
    return esk_driver_blocks(&flash->device, port->flash_bytes / erase,
                             first / erase, config->bytes / erase);
}
