// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An SD card on the board's SPI with its select line at SELECT_PIN. Its
/// sectors are used as they are, without a file system. A card that holds
/// something else is refused: status -17, ESK_E_FOREIGN. Wipe it first, on a
/// computer: each byte 0xFF, or an erase of a card that reads so after it.
#include "esk_arduino_spi.h"
#include "storage.h"

enum { SELECT_PIN = 10 };
enum { START_HZ = 250000, CLOCK_HZ = 8000000 };

int storage_start(const struct esk_device **device) {
    static esk_arduino_spi bus;
    static esk_sd_spi sd;
    /* A card begins slowly. */
    esk_arduino_spi_init(&bus, SELECT_PIN, START_HZ);
    int status = esk_sd_spi_init(&sd, &bus.spi, NULL);
    bus.hertz = CLOCK_HZ;
    *device = &sd.device;
    return status;
}
