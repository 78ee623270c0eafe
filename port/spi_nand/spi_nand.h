// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on SPI NAND W25N01GV: 1,024 blocks of 64 pages of 2,048 bytes.
///
///     static struct esk_spi_nand nand;
///     esk_spi_nand_init(&nand, &flash_spi, NULL);
///     esk_volume_mount(&volume, &nand.device, 0, arena, sizeof arena);
///
/// The chip's own ECC is on: a read is right, corrected and counted, or
/// ESK_E_CORRUPT. So a page is programmed once between erases. Bad blocks have
/// a mark in the first page, by the maker or by EskerDB. The driver does not
/// change the chip's look-up table of replacement blocks.
///
/// Program and erase return ESK_E_MEDIUM by P_FAIL and E_FAIL, ESK_E_READ_ONLY
/// when the chip accepts no write-enable; all calls ESK_E_IO.
#ifndef ESK_SPI_NAND_SPI_NAND_H
#define ESK_SPI_NAND_SPI_NAND_H

#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"
#include "port/spi/spi.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How the chip is used; zero means the default. Nothing here is stored.
struct esk_spi_nand_config {
    uint16_t block_first; ///< blocks before it are left alone
    uint16_t block_count; ///< blocks used; 0: all from block_first on
};

/// A chip. The caller owns it; its fields are the driver's.
struct esk_spi_nand {
    struct esk_device device; ///< mount on this
    const struct esk_spi *spi;
    uint32_t pages_corrected; ///< reads in which ECC corrected 1 to 4 bits
    uint32_t pages_lost;      ///< reads beyond ECC, torn pages included
    uint16_t page_first;      ///< of block_first
};

/// Resets the chip, unlocks it, and turns ECC and buffer reads on.
///
/// spi      borrowed while in use. Mode 0, up to 104 MHz.
/// config   NULL: the defaults.
/// Returns  ESK_OK.
///          ESK_NOT_FOUND     no chip answers: all bytes 0xFF or 0x00.
///          ESK_E_UNSUPPORTED the ID is not EF AA 21.
///          ESK_E_IO          the bus failed, or the chip stays busy for
///                            20 ms.
///          ESK_E_GEOMETRY    config asks for more than 1,024 blocks.
///          ESK_E_READ_ONLY   the chip cannot be unlocked (SRP bits and /WP);
///                            read-only mounts work.
/// Costs    24 bytes on the bus, 3 a poll.
int esk_spi_nand_init(struct esk_spi_nand *nand, const struct esk_spi *spi,
                      const struct esk_spi_nand_config *config);

#ifdef __cplusplus
}
#endif

#endif
