// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Zephyr's flash map: calls are passed on, and errno becomes a status.
///
/// Invariant: a device with ESK_MEDIUM_OVERWRITE calls no erase.
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include <zephyr/drivers/flash.h>
#include <zephyr/storage/flash_map.h>

#include "port/driver.h"
#include "port/zephyr_flash_area/zephyr_flash_area.h"

enum {
    ZEPHYR_PAGE_BYTES = 256,
    ZEPHYR_ECC_WORD_BYTES = 8,
    ZEPHYR_VERIFY_BYTES = 32,
};

static int zephyr_status(int error) {
    switch (error) {
    case 0:
        return ESK_OK;
    case -EACCES:
    case -EPERM:
    case -EROFS:
        return ESK_E_READ_ONLY;
    default:
        return ESK_E_IO;
    }
}

static off_t zephyr_offset(const struct esk_device *device, esk_page_id page,
                           uint16_t offset) {
    return (off_t)page * device->geometry.page_bytes + offset;
}

static int zephyr_copy(const struct esk_zephyr_flash_area *flash, off_t at,
                       void *buffer, uint16_t bytes) {
    int error = flash_area_read(flash->area, at, buffer, bytes);
    if (error == -EBADMSG || (error == -EIO && flash->ecc)) {
        return ESK_E_CORRUPT;
    }
    return zephyr_status(error);
}

static int zephyr_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    return zephyr_copy(device->context, zephyr_offset(device, page, offset),
                       buffer, bytes);
}

/// Reads back what was programmed.
static int zephyr_verify(const struct esk_zephyr_flash_area *flash, off_t at,
                         const uint8_t *from, uint16_t bytes) {
    uint8_t seen[ZEPHYR_VERIFY_BYTES];
    while (bytes > 0) {
        uint16_t some = bytes < sizeof seen ? bytes : (uint16_t)sizeof seen;
        int status = zephyr_copy(flash, at, seen, some);
        if (status == ESK_E_CORRUPT) {
            return ESK_E_MEDIUM;
        }
        ESK_TRY(status);
        if (memcmp(seen, from, some) != 0) {
            return ESK_E_MEDIUM;
        }
        at += some;
        from += some;
        bytes = (uint16_t)(bytes - some);
    }
    return ESK_OK;
}

static int zephyr_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    const struct esk_zephyr_flash_area *flash = device->context;
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    off_t at = zephyr_offset(device, page, offset);
    ESK_TRY(zephyr_status(flash_area_write(flash->area, at, buffer, bytes)));
    return flash->verify ? zephyr_verify(flash, at, buffer, bytes) : ESK_OK;
}

static int zephyr_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_zephyr_flash_area *flash = device->context;
    const struct esk_geometry *geometry = &device->geometry;
    esk_page_id page = block * geometry->block_pages;
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    if ((geometry->flags & ESK_MEDIUM_OVERWRITE) != 0) {
        return ESK_OK;
    }
    size_t bytes = (size_t)geometry->block_pages * geometry->page_bytes;
    return zephyr_status(
        flash_area_erase(flash->area, zephyr_offset(device, page, 0), bytes));
}

/// Nothing to do: a call that returned ESK_OK is on the medium.
static int zephyr_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops zephyr_ops = {
    .read = zephyr_read,
    .program = zephyr_program,
    .erase = zephyr_erase,
    .sync = zephyr_sync,
};

/// The size of the area's sectors, which must be equal.
static int zephyr_sector(const struct flash_area *area, size_t *bytes) {
    const struct device *driver = flash_area_get_device(area);
    struct flash_pages_info sector;
    *bytes = 0;
    for (size_t at = 0; at < area->fa_size; at += *bytes) {
        off_t offset = area->fa_off + (off_t)at;
        if (flash_get_page_info_by_offs(driver, offset, &sector) != 0) {
            return ESK_E_GEOMETRY;
        }
        if (at > 0 && sector.size != *bytes) {
            return ESK_E_UNSUPPORTED;
        }
        *bytes = sector.size;
        if (sector.start_offset != offset || *bytes > area->fa_size - at) {
            return ESK_E_GEOMETRY;
        }
    }
    return *bytes != 0 ? ESK_OK : ESK_E_GEOMETRY;
}

/// Fills in the geometry from the area.
static int zephyr_geometry(struct esk_zephyr_flash_area *flash,
                           const struct esk_zephyr_flash_area_config *config) {
    struct esk_geometry *geometry = &flash->device.geometry;
    const struct flash_parameters *parameters =
        flash_get_parameters(flash_area_get_device(flash->area));
    uint32_t word = flash_area_align(flash->area);
    size_t sector;
    ESK_TRY(zephyr_sector(flash->area, &sector));
    if (word == 0) {
        return ESK_E_GEOMETRY;
    }
    uint32_t page = (ZEPHYR_PAGE_BYTES + word - 1) / word * word;
    page = config->page_bytes != 0 ? config->page_bytes : page;
    if (word > page || page > UINT16_MAX || sector % page != 0 ||
        sector / page > UINT16_MAX) {
        return ESK_E_GEOMETRY;
    }
    flash->ecc = config->ecc == ESK_ZEPHYR_FLASH_ECC_AUTO
                     ? word >= ZEPHYR_ECC_WORD_BYTES
                     : config->ecc == ESK_ZEPHYR_FLASH_ECC_YES;
    geometry->page_bytes = (uint16_t)page;
    geometry->block_pages = (uint16_t)(sector / page);
    geometry->program_bytes = (uint16_t)word;
    geometry->programs_per_page_max = flash->ecc ? 1 : 0;
    geometry->erased_value = flash_area_erased_val(flash->area);
    geometry->flags =
        (flash_params_get_erase_cap(parameters) & FLASH_ERASE_C_EXPLICIT) != 0
            ? 0
            : ESK_MEDIUM_OVERWRITE;
    return esk_driver_blocks(&flash->device,
                             (uint32_t)(flash->area->fa_size / sector), 0, 0);
}

int esk_zephyr_flash_area_init(
    struct esk_zephyr_flash_area *flash,
    const struct esk_zephyr_flash_area_config *config) {
    memset(flash, 0, sizeof *flash);
    if (flash_area_open(config->id, &flash->area) != 0) {
        return ESK_NOT_FOUND;
    }
    flash->device.ops = &zephyr_ops;
    flash->device.context = flash;
    flash->verify = config->verify;
    int status = zephyr_geometry(flash, config);
    if (status != ESK_OK) {
        esk_zephyr_flash_area_deinit(flash);
    }
    return status;
}

void esk_zephyr_flash_area_deinit(struct esk_zephyr_flash_area *flash) {
    flash_area_close(flash->area);
    flash->area = NULL;
}
