// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The word port of port/internal_flash over ST's HAL: STM32L4, L5, G0, G4,
/// WB, WL (words of 8 bytes), U5, H5 (16) and H7 (32, H7A3 16).
///
///     static struct esk_word_flash port;
///     static const struct esk_internal_flash_config region = {
///         .address = 0x080C0000, .bytes = 0x40000,
///     };
///     esk_stm32_flash_port(&port);
///     esk_internal_flash_init(&flash, &port, &region);
///
/// A word that power loss tore cannot be read: the chip raises NMI (H7: a bus
/// fault, which the port handles). The program's handler is
///
///     void NMI_Handler(void) {
///         if (!esk_stm32_flash_nmi()) {
///             ... what it was before ...
///         }
///     }
#ifndef ESK_STM32_HAL_STM32_FLASH_H
#define ESK_STM32_HAL_STM32_FLASH_H

#include <stdbool.h>

#include "port/internal_flash/internal_flash.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Fills in the port of the chip that this file is compiled for.
///
/// Its program and erase unlock the flash, call the HAL, and lock the flash
/// again. They return ESK_E_MEDIUM for a program or operation error,
/// ESK_E_READ_ONLY for write protection, ESK_E_IO for everything else: the HAL
/// was busy, ran out of time, did not unlock, or found a wrong sequence.
void esk_stm32_flash_port(struct esk_word_flash *port);

/// Records that ECC could not correct a word that was read.
/// Returns  whether the NMI was for that; then its flag is cleared.
bool esk_stm32_flash_nmi(void);

#ifdef __cplusplus
}
#endif

#endif
