// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on a partition of Zephyr's flash map.
///
///     static struct esk_zephyr_flash_area flash;
///     static const struct esk_zephyr_flash_area_config region = {
///         .id = FIXED_PARTITION_ID(esker_partition),
///     };
///     esk_zephyr_flash_area_init(&flash, &region);
///     esk_volume_mount(&volume, &flash.device, 0, arena, sizeof arena);
///
/// A block is an erase sector of the flash driver's page layout; program_bytes
/// is its write block, erased_value its value of erased bytes.
///
/// A flash that needs no erase (FRAM, MRAM, RRAM: flash_params_get_erase_cap
/// has no FLASH_ERASE_C_EXPLICIT) has ESK_MEDIUM_OVERWRITE; then erase does
/// nothing. Zephyr would write erased_value over the block, which wears it and
/// which EskerDB does not need.
///
/// Flash drivers take semaphores: call from threads, not from interrupts.
#ifndef ESK_ZEPHYR_FLASH_AREA_ZEPHYR_FLASH_AREA_H
#define ESK_ZEPHYR_FLASH_AREA_ZEPHYR_FLASH_AREA_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct flash_area;

/// Whether a word that power loss tore cannot be read. Then a page is
/// programmed once (a sync takes a page of its own, because its rows must not
/// share a page with words that may still be torn), and a read that fails with
/// EIO is ESK_E_CORRUPT: Zephyr has no errno for it.
enum esk_zephyr_flash_ecc {
    ESK_ZEPHYR_FLASH_ECC_AUTO = 0, ///< yes from write blocks of 8 bytes on
    ESK_ZEPHYR_FLASH_ECC_NO,
    ESK_ZEPHYR_FLASH_ECC_YES,
};

/// The area, and how it is used. Nothing here is stored.
struct esk_zephyr_flash_area_config {
    uint8_t id;          ///< of the partition: FIXED_PARTITION_ID(label)
    uint8_t ecc;         ///< enum esk_zephyr_flash_ecc
    uint16_t page_bytes; ///< EskerDB's page; 0: 256, as whole write blocks
    /// Reads back what was programmed: for NOR drivers that do not check
    /// whether a program failed. Costs a read a program.
    bool verify;
};

/// An area. The caller owns it; its fields are the driver's.
struct esk_zephyr_flash_area {
    struct esk_device device; ///< mount on this
    const struct flash_area *area;
    bool ecc;
    bool verify;
};

/// Opens the area and makes a device of it.
///
/// Returns  ESK_OK.
///          ESK_NOT_FOUND     no such area, or its flash driver is not ready.
///          ESK_E_UNSUPPORTED the area's sectors are of several sizes.
///          ESK_E_GEOMETRY    the area is not of whole sectors, or too small,
///                            or page_bytes is no multiple of the write block
///                            or no divisor of a sector.
///          After any but ESK_OK the area is closed.
/// Costs    a look-up a sector in the page layout; the flash is not accessed.
///
/// The device's calls return ESK_E_READ_ONLY for EACCES, EPERM and EROFS;
/// read ESK_E_CORRUPT for EBADMSG, and for EIO where there is ECC; program
/// ESK_E_MEDIUM by `verify`; ESK_E_IO for any other errno.
int esk_zephyr_flash_area_init(
    struct esk_zephyr_flash_area *flash,
    const struct esk_zephyr_flash_area_config *config);

/// Closes the area. No volume may be mounted on it.
void esk_zephyr_flash_area_deinit(struct esk_zephyr_flash_area *flash);

#ifdef __cplusplus
}
#endif

#endif
