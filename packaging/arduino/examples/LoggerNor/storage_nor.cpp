// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// SPI NOR flash, a W25Q64 or any other that describes itself, on the
/// board's SPI with its select line at SELECT_PIN.
#include "esk_arduino_spi.h"
#include "storage.h"

enum { SELECT_PIN = 10 };
enum { CLOCK_HZ = 8000000 };

int storage_start(const struct esk_device **device) {
    static esk_arduino_spi bus;
    static esk_spi_nor nor;
    esk_arduino_spi_init(&bus, SELECT_PIN, CLOCK_HZ);
    *device = &nor.device;
    return esk_spi_nor_init(&nor, &bus.spi, NULL);
}
