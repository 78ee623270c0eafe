// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on AT45DB DataFlash, D and E series, 1 to 64 Mbit.
///
///     static struct esk_dataflash flash;
///     esk_dataflash_init(&flash, &flash_spi, NULL);
///     esk_volume_mount(&volume, &flash.device, 0, arena, sizeof arena);
///
/// A block is the chip's block of 8 pages, a page the chip's page: 264, 528
/// or 1,056 bytes, or 256, 512 or 1,024 if the chip was configured so; init
/// reads which. A page is filled in the chip's buffer and programmed once
/// between erases.
///
/// Program and erase return ESK_E_MEDIUM when the chip or its comparison
/// reports a failure; ESK_E_IO; ESK_E_READ_ONLY when sector protection is on,
/// with nothing changed; program ESK_E_INVALID for less than a page.
#ifndef ESK_DATAFLASH_DATAFLASH_H
#define ESK_DATAFLASH_DATAFLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"
#include "port/spi/spi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How the chip is used; zero means the default. Nothing here is stored.
struct esk_dataflash_config {
    uint16_t block_first; ///< blocks of 8 pages before it are left alone
    uint16_t block_count; ///< blocks used; 0: all from block_first on
    uint16_t page_bytes;  ///< the only page size taken; 0: the chip's
};

/// A chip. The caller owns it; its fields are the driver's.
struct esk_dataflash {
    struct esk_device device; ///< mount on this
    const struct esk_spi *spi;
    uint16_t page_first; ///< of block_first
    uint8_t page_shift;  ///< bits of an address below the page number
    bool extended;       ///< an E part: it reports failures
};

/// Wakes the chip, waits for what a reset interrupted, and identifies it.
///
/// spi      borrowed while in use. Mode 0, up to 66 MHz.
/// config   NULL: the defaults.
/// Returns  ESK_OK.
///          ESK_NOT_FOUND     no chip answers: all bytes 0xFF or 0x00.
///          ESK_E_UNSUPPORTED no DataFlash with a JEDEC ID (1F 2x), or a
///                            density no D or E part has.
///          ESK_E_IO          the bus failed, or the chip stays busy for
///                            500 ms.
///          ESK_E_GEOMETRY    the chip is smaller than config asks, or its
///                            pages are not config->page_bytes.
///          ESK_E_READ_ONLY   sector protection is on; read-only mounts work.
/// Costs    8 bytes on the bus, 2 a poll.
int esk_dataflash_init(struct esk_dataflash *flash, const struct esk_spi *spi,
                       const struct esk_dataflash_config *config);

#ifdef __cplusplus
}
#endif

#endif
