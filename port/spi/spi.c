// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Commands and waiting, the same for every flash chip on SPI.
///
/// Invariant: every path deselects the chip, so that other chips can use the
/// bus.
#include <stddef.h>

#include "port/spi/spi.h"

int esk_spi_command(const struct esk_spi *spi, const uint8_t *header,
                    uint8_t header_bytes, const uint8_t *send, uint8_t *receive,
                    uint16_t bytes) {
    if (spi->command != NULL) {
        return spi->command(spi, header, header_bytes, send, receive, bytes);
    }
    spi->select(spi);
    int status = spi->transfer(spi, header, NULL, header_bytes);
    if (status == ESK_OK && bytes > 0) {
        status = spi->transfer(spi, send, receive, bytes);
    }
    spi->deselect(spi);
    return status;
}

int esk_spi_wait(const struct esk_spi *spi, const struct esk_spi_ready *ready,
                 uint32_t bound_us, uint8_t *status) {
    uint32_t step = (bound_us >> 10) + 1;
    for (uint32_t waited = 0; waited <= bound_us; waited += step) {
        ESK_TRY(esk_spi_command(spi, ready->header, ready->header_bytes, NULL,
                                status, 1));
        if (*status == 0xFF) {
            return ESK_E_IO;
        }
        if ((*status & ready->mask) == ready->value) {
            return ESK_OK;
        }
        spi->delay_us(spi, step);
    }
    return ESK_E_IO;
}
