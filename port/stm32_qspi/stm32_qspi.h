// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI port over ST's HAL of QUADSPI, OCTOSPI and XSPI: a serial flash
/// beside an STM32, for the drivers of port/spi_nor, spi_nand and dataflash.
///
///     static struct esk_stm32_qspi bus;
///     static struct esk_spi_nor nor;
///     esk_stm32_qspi_init(&bus, &hqspi, true);
///     esk_spi_nor_init(&nor, &bus.spi, NULL);
///
/// The program has initialised the controller, as CubeMX does: one flash, not
/// a pair of them, and not memory-mapped while EskerDB uses it.
#ifndef ESK_STM32_QSPI_STM32_QSPI_H
#define ESK_STM32_QSPI_STM32_QSPI_H

#include <stdbool.h>

/* The header of the family's HAL; CubeMX includes it in main.h. */
#ifndef ESK_STM32_HAL
#define ESK_STM32_HAL "main.h"
#endif
#include ESK_STM32_HAL

#include "port/spi/spi.h"

#if defined(HAL_XSPI_MODULE_ENABLED)
typedef XSPI_HandleTypeDef esk_stm32_qspi_handle;
#elif defined(HAL_OSPI_MODULE_ENABLED)
typedef OSPI_HandleTypeDef esk_stm32_qspi_handle;
#elif defined(HAL_QSPI_MODULE_ENABLED)
typedef QSPI_HandleTypeDef esk_stm32_qspi_handle;
#else
#error "enable the HAL module of QSPI, OSPI or XSPI in stm32xxxx_hal_conf.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// A flash at the controller. The caller owns it; it must not move.
struct esk_stm32_qspi {
    struct esk_spi spi; ///< give this to a driver
    esk_stm32_qspi_handle *handle;
    bool quad_reads;
    bool failed; ///< the last command; the port's
};

/// Fills in the port. Its commands return ESK_E_IO for any failure of the HAL.
///
/// handle      of the initialised controller; borrowed while in use.
/// quad_reads  NOR only: reads take four lines (6Bh and 6Ch for 03h and 13h).
///             The chip's quad enable bit must be set; the port does not set
///             it.
void esk_stm32_qspi_init(struct esk_stm32_qspi *qspi,
                         esk_stm32_qspi_handle *handle, bool quad_reads);

#ifdef __cplusplus
}
#endif

#endif
