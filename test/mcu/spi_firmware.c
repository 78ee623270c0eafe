// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A page to the chip on the bus and back, measured: a byte takes at least the
/// time of the bus, and a chip that is not selected sends nothing.
#include <string.h>

#include "bench/mcu/firmware.h"
#include "port/avr/spi.h"

enum { PAGE_BYTES = 512, READ = 0x03, WRITE = 0x02 };

static uint8_t page[PAGE_BYTES];
static uint8_t back[PAGE_BYTES];

static int page_write(void) {
    static const uint8_t head[3] = {WRITE, 0x12, 0x00};
    esk_avr_spi.select(&esk_avr_spi);
    esk_avr_spi.transfer(&esk_avr_spi, head, 0, sizeof head);
    esk_avr_spi.transfer(&esk_avr_spi, page, 0, sizeof page);
    esk_avr_spi.deselect(&esk_avr_spi);
    return 0;
}

static int page_read(void) {
    static const uint8_t head[3] = {READ, 0x12, 0x00};
    esk_avr_spi.select(&esk_avr_spi);
    esk_avr_spi.transfer(&esk_avr_spi, head, 0, sizeof head);
    esk_avr_spi.transfer(&esk_avr_spi, 0, back, sizeof back);
    esk_avr_spi.deselect(&esk_avr_spi);
    return 0;
}

int main(void) {
    int status;
    for (uint16_t i = 0; i < PAGE_BYTES; i++) {
        page[i] = (uint8_t)firmware_random(256);
    }
    firmware_group_begin("spi");
    esk_avr_spi_init(true);
    FIRMWARE_MEASURE(status, page_write());
    FIRMWARE_DO(status);
    FIRMWARE_MEASURE(status, page_read());
    FIRMWARE_DO(status);
    FIRMWARE_HOLDS(memcmp(page, back, sizeof page) == 0);
    esk_avr_spi.transfer(&esk_avr_spi, 0, back, 2);
    FIRMWARE_HOLDS(back[0] == 0xFF && back[1] == 0xFF);
    firmware_digest(page, sizeof page);
    firmware_group_end(2);
    esk_board_exit(0);
}
