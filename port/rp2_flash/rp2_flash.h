// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on the flash that an RP2040 or RP2350 runs from, by the Pico SDK.
///
///     static struct esk_rp2_flash flash;
///     static const struct esk_rp2_flash_config region = {.bytes = 256 * 1024};
///     esk_rp2_flash_init(&flash, &region);
///     esk_volume_mount(&volume, &flash.device, 0, arena, sizeof arena);
///
/// A block is a sector of 4,096 bytes, a page 256 bytes or config.page_bytes.
/// Bytes are programmed one by one, so syncs seal: the SDK programs 256 bytes
/// at a time, and the driver sends the other bytes as 0xFF, which leaves a NOR
/// cell as it is.
///
/// While the flash programs or erases, neither core can read code or constants
/// from it. flash_safe_execute of the SDK takes care of that; core 1, once it
/// runs, must have called flash_safe_execute_core_init.
#ifndef ESK_RP2_FLASH_RP2_FLASH_H
#define ESK_RP2_FLASH_RP2_FLASH_H

#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ESK_RP2_FLASH_PAGE_BYTES = 256, ///< what the SDK programs at once
    ESK_RP2_FLASH_SECTOR_BYTES = 4096,
};

/// Calls `call` while neither core uses the flash and no interrupt runs.
/// Returns 0 when `call` was made and all runs again, as flash_safe_execute.
typedef int (*esk_rp2_execute)(void (*call)(void *), void *parameter,
                               uint32_t timeout_ms);

/// The region, and how it is used. Nothing here is stored.
struct esk_rp2_flash_config {
    uint32_t address;        ///< from the flash's beginning; 0: at its end
    uint32_t bytes;          ///< whole sectors
    uint32_t timeout_ms;     ///< for the other core to stop; 0: 1,000
    uint16_t page_bytes;     ///< EskerDB's page, divides 4,096; 0: 256
    uint16_t program_bytes;  ///< 256 where the chip has ECC; 0: 1
    esk_rp2_execute execute; ///< NULL: flash_safe_execute
};

/// A region. The caller owns it, in SRAM; its fields are the driver's.
struct esk_rp2_flash {
    struct esk_device device; ///< mount on this
    esk_rp2_execute execute;
    uint32_t timeout_ms;
    uint32_t address;
    uint8_t page[ESK_RP2_FLASH_PAGE_BYTES]; ///< bytes of the present program
};

/// Makes a device of the region.
///
/// Returns  ESK_OK.
///          ESK_E_GEOMETRY  the region is not within PICO_FLASH_SIZE_BYTES, not
///                          of whole sectors, begins at 0, where the boot
///                          loader is, or page_bytes does not fit.
/// Costs    nothing: the flash is not touched.
///
/// What was programmed or erased is read back: ESK_E_MEDIUM when it differs.
/// ESK_E_IO when the other core did not stop or start again in time, or
/// must not be stopped.
int esk_rp2_flash_init(struct esk_rp2_flash *flash,
                       const struct esk_rp2_flash_config *config);

#ifdef __cplusplus
}
#endif

#endif
