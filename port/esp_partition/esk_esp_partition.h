// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on a partition of ESP-IDF's partition table.
///
///     static struct esk_esp_partition flash;
///     static const struct esk_esp_partition_config config = {
///         .label = "esker",
///     };
///     esk_esp_partition_init(&flash, &config);
///     esk_volume_mount(&volume, &flash.device, 0, arena, sizeof arena);
///
/// A block is the partition's erase unit, a sector of 4,096 bytes. A page is
/// 256 bytes or what the caller asks for, and bytes are programmed one by one.
///
/// While the flash programs or erases, ESP-IDF keeps both cores from it: only
/// code and data in internal RAM are used. The stack of the task that calls
/// is in internal RAM, or ESP-IDF aborts.
#ifndef ESK_ESP_PARTITION_ESK_ESP_PARTITION_H
#define ESK_ESP_PARTITION_ESK_ESP_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#include <esp_partition.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The partition used, and how. Nothing here is stored.
struct esk_esp_partition_config {
    const char *label; ///< in the partition table; NULL: any
    uint8_t type;      ///< esp_partition_type_t; 0: ESP_PARTITION_TYPE_DATA
    uint8_t subtype;   ///< esp_partition_subtype_t; 0: any
    /// EskerDB's page, a divisor of the erase unit; 0: 256.
    uint16_t page_bytes;
    /// The least that the chip programs, a divisor of the page; 0: 1. A chip
    /// with ECC takes its ECC unit.
    uint16_t program_bytes;
    /// Opens a partition with the flag `readonly`, too: mount it with
    /// ESK_MOUNT_READ_ONLY.
    bool read_only;
};

/// A partition. The caller owns it; its fields are the driver's.
struct esk_esp_partition {
    struct esk_device device; ///< mount on this
    const esp_partition_t *partition;
    esp_err_t error; ///< of ESP-IDF's last call that failed; ESP_OK: none did
};

/// Finds the partition and makes a device of it. ESP-IDF does not ask the chip
/// whether a program failed: mount with ESK_MOUNT_READ_BACK if it may.
/// Returns  ESK_OK; ESK_E_INVALID: no label, type or subtype is given, and the
///          first data partition is another's; ESK_NOT_FOUND;
///          ESK_E_UNSUPPORTED: the partition is encrypted; ESK_E_READ_ONLY: it
///          is read-only (from ESP-IDF 5.2), and `read_only` is false;
///          ESK_E_GEOMETRY: it has a part of an erase unit or less than 4 of
///          them, or page_bytes or program_bytes do not fit.
///          The device's calls return ESK_E_READ_ONLY if the partition or the
///          chip is write-protected, else ESK_E_IO; `error` says why.
/// Costs    a search of the partition table; the flash is not accessed.
int esk_esp_partition_init(struct esk_esp_partition *flash,
                           const struct esk_esp_partition_config *config);

#ifdef __cplusplus
}
#endif

#endif
