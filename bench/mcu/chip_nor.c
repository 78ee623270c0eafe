// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NOR, the first 2 MiB of it, in EskerDB's pages of 512 bytes.
#include "bench/mcu/chip_board.h"
#include "port/avr/spi.h"
#include "port/spi_nor/spi_nor.h"

int chip_start(const struct esk_device **device) {
    static const struct esk_spi_nor_config config = {
        .block_count = CHIP_BLOCKS, .page_bytes = CHIP_PAGE_BYTES};
    static struct esk_spi_nor nor;
    esk_avr_spi_init(true);
    *device = &nor.device;
    return esk_spi_nor_init(&nor, &esk_avr_spi, &config);
}
