// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device on the flash inside a microcontroller that programs words of 4,
/// 8, 16 or 32 bytes: nRF52, STM32L4, U5, H7 and their kind.
///
///     static const struct esk_word_flash nvmc = {
///         .program = nvmc_program, .erase = nvmc_erase,
///         .flash_bytes = 1048576, .erase_bytes = 4096, .word_bytes = 4,
///     };
///     static const struct esk_internal_flash_config region = {
///         .address = 0xE0000, .bytes = 0x20000, .page_bytes = 512,
///     };
///     esk_internal_flash_init(&flash, &nvmc, &region);
///
/// A block is the controller's erase page, a page 256 bytes of it or
/// config.page_bytes. A word is programmed once between erases, as STM32L4's
/// ECC needs; a word that stays erased is not programmed.
#ifndef ESK_INTERNAL_FLASH_INTERNAL_FLASH_H
#define ESK_INTERNAL_FLASH_INTERNAL_FLASH_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The word-program port: the controller's flash, and its operations. Addresses
/// are in bytes, as the processor sees them. Each call has its own time limit,
/// and returns ESK_E_IO after that.
struct esk_word_flash {
    /// Programs the word at `address`, which was erased before.
    /// word     in, word_bytes bytes at any alignment.
    /// Returns  ESK_OK; ESK_E_MEDIUM when the controller reports a failure;
    ///          ESK_E_IO; ESK_E_READ_ONLY when it is protected.
    int (*program)(const struct esk_word_flash *port, uint32_t address,
                   const uint8_t *word);
    /// Erases the erase_bytes at `address`. Returns as program.
    int (*erase)(const struct esk_word_flash *port, uint32_t address);
    /// Copies bytes out. NULL: they are read in place, as memory. Needed where
    /// ECC interrupts the processor on a word that power loss tore (STM32L4:
    /// NMI): then this returns ESK_E_CORRUPT.
    int (*read)(const struct esk_word_flash *port, uint32_t address,
                void *buffer, uint16_t bytes);
    void *context;
    uint32_t flash_start; ///< address of its first byte
    uint32_t flash_bytes; ///< its size, as the controller's registers say
    uint32_t erase_bytes; ///< nRF52: 4,096; STM32L4: 2,048; H7: 131,072
    uint8_t word_bytes;   ///< nRF52: 4; STM32L4: 8; U5: 16; H7: 32
    /// A torn word reads as ESK_E_CORRUPT, and its page, too. Then a page is
    /// programmed once, and a sync takes a page of its own: synced rows must
    /// not share a page with words that may still be torn.
    bool has_ecc;
};

/// The region. Nothing here is stored.
struct esk_internal_flash_config {
    uint32_t address;    ///< of its first byte, the start of an erase page
    uint32_t bytes;      ///< whole erase pages; 0: to the end of the flash
    uint16_t page_bytes; ///< EskerDB's page; 0: 256
};

/// A region. The caller owns it; its fields are the driver's.
struct esk_internal_flash {
    struct esk_device device; ///< mount on this
    const struct esk_word_flash *port;
    uint32_t address;
};

/// Makes a device of the region.
///
/// port     borrowed while in use.
/// Returns  ESK_OK.
///          ESK_E_UNSUPPORTED words are not of 4, 8, 16 or 32 bytes.
///          ESK_E_GEOMETRY    the region is not within the flash, not of
///                            whole erase pages, or page_bytes does not fit.
/// Costs    nothing: the flash is not accessed.
///
/// Each word programmed is read back: one that differs is
/// ESK_E_MEDIUM. The device's calls return ESK_E_IO, or what the port returned;
/// program ESK_E_INVALID for parts of a word.
int esk_internal_flash_init(struct esk_internal_flash *flash,
                            const struct esk_word_flash *port,
                            const struct esk_internal_flash_config *config);

#ifdef __cplusplus
}
#endif

#endif
