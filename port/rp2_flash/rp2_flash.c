// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// RP2040 and RP2350: reads are memory, changes are calls of the SDK.
///
/// The SDK does not report whether a program or erase succeeded, so each is
/// read back. The SDK programs whole pages from SRAM: a part of a page is
/// copied into a page of 0xFF, and a bit that is programmed as 1 keeps its
/// value.
///
/// Invariant: what the SDK reads while the flash is unreadable, the page and
/// the order, is in SRAM.
#include <stddef.h>
#include <string.h>

#include <hardware/flash.h>
#include <hardware/regs/addressmap.h>
#include <pico/error.h>
#include <pico/flash.h>

#include "port/driver.h"
#include "port/rp2_flash/rp2_flash.h"

enum { RP2_TIMEOUT_MS = 1000 };

_Static_assert(FLASH_PAGE_SIZE == ESK_RP2_FLASH_PAGE_BYTES, "page of the SDK");
_Static_assert(FLASH_SECTOR_SIZE == ESK_RP2_FLASH_SECTOR_BYTES, "its sector");

/* The RP2350 may run from a partition that XIP_BASE shows at 0. The SDK's calls
   count from the start of the flash, and so does this window. */
#ifdef XIP_NOCACHE_NOALLOC_NOTRANSLATE_BASE
#define RP2_WINDOW XIP_NOCACHE_NOALLOC_NOTRANSLATE_BASE
#else
#define RP2_WINDOW XIP_BASE
#endif

/// The change that is made while the flash is unreadable.
struct rp2_change {
    uint32_t address;
    const uint8_t *page; ///< NULL: an erase
};

static void rp2_change_now(void *parameter) {
    const struct rp2_change *change = parameter;
    if (change->page != NULL) {
        flash_range_program(change->address, change->page, FLASH_PAGE_SIZE);
    } else {
        flash_range_erase(change->address, FLASH_SECTOR_SIZE);
    }
}

static int rp2_change(const struct esk_rp2_flash *flash, uint32_t address,
                      const uint8_t *page) {
    struct rp2_change change = {.address = address, .page = page};
    return flash->execute(rp2_change_now, &change, flash->timeout_ms) == PICO_OK
               ? ESK_OK
               : ESK_E_IO;
}

static const uint8_t *rp2_memory(uint32_t address) {
    return (const uint8_t *)((uintptr_t)RP2_WINDOW + address);
}

static uint32_t rp2_address(const struct esk_device *device, esk_page_id page,
                            uint16_t offset) {
    const struct esk_rp2_flash *flash = device->context;
    return flash->address + page * device->geometry.page_bytes + offset;
}

static int rp2_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *buffer, uint16_t bytes) {
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    memcpy(buffer, rp2_memory(rp2_address(device, page, offset)), bytes);
    return ESK_OK;
}

static int rp2_program(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, const void *buffer, uint16_t bytes) {
    struct esk_rp2_flash *flash = device->context;
    uint32_t address = rp2_address(device, page, offset);
    const uint8_t *from = buffer;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    while (bytes > 0) {
        uint16_t at = (uint16_t)(address % FLASH_PAGE_SIZE);
        uint16_t room = (uint16_t)(FLASH_PAGE_SIZE - at);
        uint16_t some = bytes < room ? bytes : room;
        memset(flash->page, 0xFF, sizeof flash->page);
        memcpy(flash->page + at, from, some);
        ESK_TRY(rp2_change(flash, address - at, flash->page));
        if (memcmp(rp2_memory(address), from, some) != 0) {
            return ESK_E_MEDIUM;
        }
        address += some;
        from += some;
        bytes = (uint16_t)(bytes - some);
    }
    return ESK_OK;
}

static int rp2_erase(const struct esk_device *device, uint32_t block) {
    struct esk_rp2_flash *flash = device->context;
    esk_page_id page = block * device->geometry.block_pages;
    uint32_t address = rp2_address(device, page, 0);
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    ESK_TRY(rp2_change(flash, address, NULL));
    memset(flash->page, 0xFF, sizeof flash->page);
    for (uint32_t at = 0; at < FLASH_SECTOR_SIZE; at += FLASH_PAGE_SIZE) {
        if (memcmp(rp2_memory(address + at), flash->page, FLASH_PAGE_SIZE)) {
            return ESK_E_MEDIUM;
        }
    }
    return ESK_OK;
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int rp2_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops rp2_ops = {
    .read = rp2_read,
    .program = rp2_program,
    .erase = rp2_erase,
    .sync = rp2_sync,
};

int esk_rp2_flash_init(struct esk_rp2_flash *flash,
                       const struct esk_rp2_flash_config *config) {
    struct esk_geometry *geometry = &flash->device.geometry;
    uint16_t page =
        config->page_bytes != 0 ? config->page_bytes : FLASH_PAGE_SIZE;
    memset(flash, 0, sizeof *flash);
    flash->device.ops = &rp2_ops;
    flash->device.context = flash;
    flash->execute =
        config->execute != NULL ? config->execute : flash_safe_execute;
    flash->timeout_ms =
        config->timeout_ms != 0 ? config->timeout_ms : RP2_TIMEOUT_MS;
    flash->address = config->address != 0
                         ? config->address
                         : PICO_FLASH_SIZE_BYTES - config->bytes;
    geometry->page_bytes = page;
    geometry->block_pages = (uint16_t)(FLASH_SECTOR_SIZE / page);
    geometry->program_bytes =
        config->program_bytes != 0 ? config->program_bytes : 1;
    geometry->erased_value = 0xFF;
    if (flash->address == 0 || config->bytes == 0 ||
        flash->address % FLASH_SECTOR_SIZE != 0 ||
        config->bytes % FLASH_SECTOR_SIZE != 0 ||
        FLASH_SECTOR_SIZE % page != 0) {
        return ESK_E_GEOMETRY;
    }
    return esk_driver_blocks(
        &flash->device, PICO_FLASH_SIZE_BYTES / FLASH_SECTOR_SIZE,
        flash->address / FLASH_SECTOR_SIZE, config->bytes / FLASH_SECTOR_SIZE);
}
