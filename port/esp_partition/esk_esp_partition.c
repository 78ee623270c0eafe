// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// ESP-IDF's partitions: calls are passed on, and esp_err_t becomes a status.
///
/// An encrypted partition is refused. Its reads decrypt, so an erased byte
/// does not read as 0xFF, and EskerDB tells erased pages by their bytes.
///
/// Invariant: each call is within the partition and on its erase unit, so
/// that ESP_ERR_INVALID_ARG and ESP_ERR_INVALID_SIZE are never ours.
#include "port/esp_partition/esk_esp_partition.h"

#include <stddef.h>
#include <string.h>

#include <esp_idf_version.h>

#include "port/driver.h"

enum {
    ESP_PAGE_BYTES = 256,
    ESP_SECTOR_BYTES = 4096,
    /* Their headers differ by the version of ESP-IDF; the codes do not. */
    ESP_NOT_ALLOWED = 0x10D,                     ///< ESP_ERR_NOT_ALLOWED
    ESP_FLASH_PROTECTED = ESP_ERR_FLASH_BASE + 6 ///< ESP_ERR_FLASH_PROTECTED
};

/// The status of a call of ESP-IDF; an error is kept for the caller.
static int esp_status(struct esk_esp_partition *flash, esp_err_t error) {
    if (error == ESP_OK) {
        return ESK_OK;
    }
    flash->error = error;
    return error == ESP_NOT_ALLOWED || error == ESP_FLASH_PROTECTED
               ? ESK_E_READ_ONLY
               : ESK_E_IO;
}

static size_t esp_offset(const struct esk_device *device, esk_page_id page,
                         uint16_t offset) {
    return (size_t)page * device->geometry.page_bytes + offset;
}

static int esp_read(const struct esk_device *device, esk_page_id page,
                    uint16_t offset, void *buffer, uint16_t bytes) {
    struct esk_esp_partition *flash = device->context;
    size_t at = esp_offset(device, page, offset);
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    return esp_status(flash,
                      esp_partition_read(flash->partition, at, buffer, bytes));
}

static int esp_program(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, const void *buffer, uint16_t bytes) {
    struct esk_esp_partition *flash = device->context;
    size_t at = esp_offset(device, page, offset);
    ESK_TRY(esk_driver_check(device, page, offset, bytes));
    return esp_status(flash,
                      esp_partition_write(flash->partition, at, buffer, bytes));
}

static int esp_erase(const struct esk_device *device, uint32_t block) {
    struct esk_esp_partition *flash = device->context;
    const struct esk_geometry *geometry = &device->geometry;
    esk_page_id page = block * geometry->block_pages;
    size_t bytes = (size_t)geometry->block_pages * geometry->page_bytes;
    ESK_TRY(esk_driver_check(device, page, 0, 0));
    return esp_status(
        flash, esp_partition_erase_range(flash->partition,
                                         esp_offset(device, page, 0), bytes));
}

/// Nothing to do: what returned ESK_OK is on the chip.
static int esp_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops esp_ops = {
    .read = esp_read,
    .program = esp_program,
    .erase = esp_erase,
    .sync = esp_sync,
};

static bool esp_is_read_only(const esp_partition_t *partition) {
#if ESP_IDF_VERSION >= ESP_IDF_VERSION_VAL(5, 2, 0)
    return partition->readonly;
#else
    (void)partition;
    return false;
#endif
}

/// Fills in the geometry from the partition.
static int esp_geometry(struct esk_esp_partition *flash,
                        const struct esk_esp_partition_config *config) {
    struct esk_geometry *geometry = &flash->device.geometry;
    const esp_partition_t *partition = flash->partition;
    uint32_t page =
        config->page_bytes != 0 ? config->page_bytes : ESP_PAGE_BYTES;
    /* An external chip's: esp_partition_register_external may leave it 0. */
    uint32_t sector =
        partition->erase_size != 0 ? partition->erase_size : ESP_SECTOR_BYTES;
    if (sector % page != 0 || sector / page > UINT16_MAX ||
        partition->size % sector != 0) {
        return ESK_E_GEOMETRY;
    }
    geometry->page_bytes = (uint16_t)page;
    geometry->block_pages = (uint16_t)(sector / page);
    geometry->program_bytes =
        config->program_bytes != 0 ? config->program_bytes : 1;
    geometry->erased_value = 0xFF;
    return esk_driver_blocks(&flash->device, partition->size / sector, 0, 0);
}

int esk_esp_partition_init(struct esk_esp_partition *flash,
                           const struct esk_esp_partition_config *config) {
    int type = config->type != 0 ? config->type : ESP_PARTITION_TYPE_DATA;
    int subtype =
        config->subtype != 0 ? config->subtype : ESP_PARTITION_SUBTYPE_ANY;
    memset(flash, 0, sizeof *flash);
    if (config->label == NULL && config->type == 0 && config->subtype == 0) {
        return ESK_E_INVALID;
    }
    flash->partition = esp_partition_find_first(
        (esp_partition_type_t)type, (esp_partition_subtype_t)subtype,
        config->label);
    if (flash->partition == NULL) {
        return ESK_NOT_FOUND;
    }
    if (flash->partition->encrypted) {
        return ESK_E_UNSUPPORTED;
    }
    if (esp_is_read_only(flash->partition) && !config->read_only) {
        return ESK_E_READ_ONLY;
    }
    flash->device.ops = &esp_ops;
    flash->device.context = flash;
    return esp_geometry(flash, config);
}
