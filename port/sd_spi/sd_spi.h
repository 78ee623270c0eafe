// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on an SD card in SPI mode: SDSC, SDHC, SDXC.
///
///     static struct esk_sd_spi sd;
///     esk_sd_spi_init(&sd, &card_spi, NULL);    bus at 400 kHz or less
///     ... raise the bus to 25 MHz or less ...
///     esk_volume_mount(&volume, &sd.device, 0, arena, sizeof arena);
///
/// A page is one sector of 512 bytes or several; pages are overwritten, and
/// erase does nothing. Commands and data have checksums both ways. The driver
/// writes raw sectors: without sector_first it destroys the card's file system.
///
/// Read returns ESK_E_CORRUPT when the card's ECC failed; program ESK_E_MEDIUM
/// when the card reports a write error, ESK_E_READ_ONLY on a protected sector,
/// ESK_E_INVALID for parts of a sector; all ESK_E_IO.
#ifndef ESK_SD_SPI_SD_SPI_H
#define ESK_SD_SPI_SD_SPI_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"
#include "port/spi/spi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How the card is used; zero means the default. Nothing here is stored.
struct esk_sd_spi_config {
    uint32_t sector_first; ///< sectors before it are left alone
    uint32_t block_count;  ///< blocks used; 0: all that fit
    uint16_t block_pages;  ///< pages a block; 0: 16
    uint16_t page_bytes;   ///< 512, 1,024, ... 16,384; 0: 512
};

/// A card. The caller owns it; its fields are the driver's.
struct esk_sd_spi {
    struct esk_device device; ///< mount on this
    const struct esk_spi *spi;
    uint32_t sector_first;
    uint32_t sectors;    ///< of the card
    bool byte_addressed; ///< SDSC
};

/// Brings the card into SPI mode and identifies it. Call it again for another
/// card.
///
/// spi      borrowed while in use. Mode 0; at most 400 kHz until this returns.
/// config   NULL: the defaults.
/// Returns  ESK_OK.
///          ESK_NOT_FOUND     no card answers: all bytes 0xFF or 0x00.
///          ESK_E_UNSUPPORTED no SD card (MMC), or the wrong voltage, or no
///                            CSD that this driver can read.
///          ESK_E_IO          the bus or a checksum failed, or the card is
///                            not ready within 1 s.
///          ESK_E_GEOMETRY    the card is smaller than config asks, or
///                            page_bytes is no multiple of 512.
///          ESK_E_READ_ONLY   the card's CSD is write-protected; read-only
///                            mounts work. The slider is the board's to read.
int esk_sd_spi_init(struct esk_sd_spi *sd, const struct esk_spi *spi,
                    const struct esk_sd_spi_config *config);

#ifdef __cplusplus
}
#endif

#endif
