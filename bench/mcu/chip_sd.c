// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An SD card, the first 2 MiB of it.
#include "bench/mcu/chip_board.h"
#include "port/avr/spi.h"
#include "port/sd_spi/sd_spi.h"

int chip_start(const struct esk_device **device) {
    static const struct esk_sd_spi_config config = {
        .block_count = CHIP_BLOCKS,
        .block_pages = CHIP_BLOCK_PAGES,
        .page_bytes = CHIP_PAGE_BYTES};
    static struct esk_sd_spi sd;
    esk_avr_spi_init(false);
    int status = esk_sd_spi_init(&sd, &esk_avr_spi, &config);
    esk_avr_spi_init(true);
    *device = &sd.device;
    return status;
}
