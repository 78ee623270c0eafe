// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on SPI NOR flash: W25Q, MX25R and other chips with SFDP tables
/// (JESD216).
///
///     static struct esk_spi_nor nor;
///     esk_spi_nor_init(&nor, &flash_spi, NULL);
///     esk_volume_mount(&volume, &nor.device, 0, arena, sizeof arena);
///
/// A block is the chip's smallest erase unit (4 KB), a page its program page
/// (256 bytes) or config.page_bytes. Bytes are programmed one by one, so syncs
/// seal. Capacity, erase units, page and addressing come from the chip's
/// tables, never from a list of chips.
///
/// Program and erase return ESK_E_MEDIUM by the fail bits of Macronix or by
/// `verify`; ESK_E_IO; ESK_E_READ_ONLY when the chip is protected, with nothing
/// changed.
#ifndef ESK_SPI_NOR_SPI_NOR_H
#define ESK_SPI_NOR_SPI_NOR_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"
#include "port/spi/spi.h"

/// 1: the driver is compiled for plain chips only, up to 16 MB: pages of 256
/// bytes, erase units of 4 KB by instruction 20h, three address bytes, and the
/// size as a power of two in the last byte of the JEDEC ID, as with W25Q, MX25
/// and GD25Q. The driver then reads no tables and verifies nothing.
#ifndef ESK_SPI_NOR_PLAIN
#define ESK_SPI_NOR_PLAIN 0
#endif
/// EskerDB's page there: 256, or 128.
#ifndef ESK_SPI_NOR_PLAIN_PAGE
#define ESK_SPI_NOR_PLAIN_PAGE 256
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// How the chip is used; zero means the default. Nothing here is stored.
struct esk_spi_nor_config {
    uint32_t block_first; ///< erase units before it are left alone
    uint32_t block_count; ///< erase units used; 0: all from block_first on
    uint32_t jedec_id;    ///< the only chip accepted, as 0xEF4017; 0: any
    uint16_t page_bytes;  ///< EskerDB's page; 0: the chip's program page
    /// Reads back what was programmed: for chips that do not report a failed
    /// program, as W25Q. Costs a read a program.
    bool verify;
};

/// A chip. The caller owns it; its fields are the driver's.
struct esk_spi_nor {
    struct esk_device device; ///< mount on this
    const struct esk_spi *spi;
    uint32_t address;     ///< of block 0
    uint32_t jedec_id;    ///< manufacturer, type, capacity, as read
    uint32_t chip_blocks; ///< erase units of the chip
    uint16_t chip_page;   ///< bytes one program command takes at most
    uint8_t address_bytes;
    uint8_t read_opcode;
    uint8_t program_opcode;
    uint8_t erase_opcode;
    uint8_t protect_mask; ///< block protection in the status register
    bool verify;
};

/// Wakes the chip, waits for what a reset interrupted, and identifies it.
///
/// spi      borrowed while in use. Mode 0, at most the chip's clock for
///          instruction 03h (33 MHz on MX25R, 50 MHz on W25Q).
/// config   NULL: the defaults.
/// Returns  ESK_OK.
///          ESK_NOT_FOUND     no chip answers: all bytes 0xFF or 0x00.
///          ESK_E_UNSUPPORTED another chip than config->jedec_id, or one
///                            without SFDP or with no way to its last byte.
///          ESK_E_IO          the bus failed, or the chip is busy for 4 s.
///          ESK_E_GEOMETRY    the chip is smaller than config asks, or
///                            page_bytes does not fit.
///          ESK_E_READ_ONLY   write-protected blocks; read-only mounts work.
/// Costs    99 bytes on the bus and 64 of stack.
int esk_spi_nor_init(struct esk_spi_nor *nor, const struct esk_spi *spi,
                     const struct esk_spi_nor_config *config);

/// Sends the chip into deep power-down; init wakes it.
/// Returns  ESK_OK; ESK_E_IO.
int esk_spi_nor_sleep(const struct esk_spi_nor *nor);

#ifdef __cplusplus
}
#endif

#endif
