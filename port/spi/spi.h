// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI port: four functions that a board fills in, for one chip.
/// A controller that sends whole commands (quad SPI) has `command` instead of
/// the first three.
///
///     static void board_select(const struct esk_spi *spi) { ... }
///     ...
///     static const struct esk_spi flash_spi = {
///         .select = board_select,
///         .deselect = board_deselect,
///         .transfer = board_transfer,
///         .delay_us = board_delay_us,
///     };
///     esk_spi_nor_init(&nor, &flash_spi, NULL);
///
/// The bus is SPI mode 0, most significant bit first, at a clock that the chip
/// supports (see each driver's README). On a shared bus, select takes the bus
/// and deselect releases it. Drivers hold the bus for one command, and not
/// while they wait; only SD cards need it for a whole transaction.
///
/// Time is a delay and not a clock, so a board needs no timer, and an operating
/// system can run other tasks meanwhile. A delay may be longer than asked,
/// never shorter: each wait ends after its bound in delays.
#ifndef ESK_SPI_SPI_H
#define ESK_SPI_SPI_H

#include <stdint.h>

#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// One chip on a bus. The caller owns it and keeps it while a driver uses it.
struct esk_spi {
    /// Drives the chip's select line low. May wait for a shared bus.
    void (*select)(const struct esk_spi *spi);
    /// Drives the select line high.
    void (*deselect)(const struct esk_spi *spi);
    /// Clocks `bytes` bytes both ways, selected or not.
    ///
    /// send     in; NULL: 0xFF each.
    /// receive  out, may be `send`; NULL: dropped.
    /// Returns  ESK_OK; ESK_E_IO when the controller or its DMA failed.
    int (*transfer)(const struct esk_spi *spi, const uint8_t *send,
                    uint8_t *receive, uint16_t bytes);
    /// Waits at least `us` microseconds.
    void (*delay_us)(const struct esk_spi *spi, uint32_t us);
    /// Does esk_spi_command's work; NULL: select, transfer, deselect do it.
    /// `header` has 1 to 5 bytes. Drivers of SD cards do not call it.
    int (*command)(const struct esk_spi *spi, const uint8_t *header,
                   uint8_t header_bytes, const uint8_t *send, uint8_t *receive,
                   uint16_t bytes);
    void *context; ///< the board's
};

/// A command with its answer or data: select, `header`, the body, deselect.
///
/// header   in: instruction, address and dummy bytes.
/// send     in: the body; NULL: 0xFF each.
/// receive  out: the body as the chip answers; NULL: dropped.
/// Returns  ESK_OK; ESK_E_IO.
int esk_spi_command(const struct esk_spi *spi, const uint8_t *header,
                    uint8_t header_bytes, const uint8_t *send, uint8_t *receive,
                    uint16_t bytes);

/// The status of a chip that is ready.
struct esk_spi_ready {
    uint8_t header[2]; ///< the command that reads its status
    uint8_t header_bytes;
    uint8_t mask; ///< of the status byte
    uint8_t value;
};

/// Waits until the chip is ready, at most `bound_us` (up to 2^31).
///
/// status   out, also on ESK_E_IO: the last status byte read.
/// Returns  ESK_OK; ESK_E_IO when a transfer failed, time ran out, or the
///          status is 0xFF, which no chip returns: the line is not driven.
/// Costs    2 or 3 bytes a poll, a poll each 1/1,024 of the bound.
int esk_spi_wait(const struct esk_spi *spi, const struct esk_spi_ready *ready,
                 uint32_t bound_us, uint8_t *status);

#ifdef __cplusplus
}
#endif

#endif
