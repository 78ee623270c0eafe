// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI port over Arduino's SPI.h, one chip on the board's bus.
///
///     static esk_arduino_spi bus;
///     esk_arduino_spi_init(&bus, 53, 8000000);
///     esk_spi_nor_init(&nor, &bus.spi, NULL);
#ifndef ESK_ARDUINO_SPI_H
#define ESK_ARDUINO_SPI_H

#include <Arduino.h>
#include <SPI.h>
#include <esker.h>

struct esk_arduino_spi {
    struct esk_spi spi; ///< give this to a driver
    uint32_t hertz;     ///< highest clock; may change between calls
    uint8_t pin;        ///< the chip's select line
};

static void esk_arduino_select(const struct esk_spi *spi) {
    const esk_arduino_spi *bus = (const esk_arduino_spi *)spi->context;
    SPI.beginTransaction(SPISettings(bus->hertz, MSBFIRST, SPI_MODE0));
    digitalWrite(bus->pin, LOW);
}

static void esk_arduino_deselect(const struct esk_spi *spi) {
    const esk_arduino_spi *bus = (const esk_arduino_spi *)spi->context;
    digitalWrite(bus->pin, HIGH);
    SPI.endTransaction();
}

static int esk_arduino_transfer(const struct esk_spi *, const uint8_t *send,
                                uint8_t *receive, uint16_t bytes) {
    for (uint16_t i = 0; i < bytes; i++) {
        uint8_t in = SPI.transfer(send != NULL ? send[i] : 0xFF);
        if (receive != NULL) {
            receive[i] = in;
        }
    }
    return ESK_OK;
}

static void esk_arduino_delay_us(const struct esk_spi *, uint32_t us) {
    /* delayMicroseconds accepts at most 16,383. */
    delay(us / 1000);
    delayMicroseconds((unsigned int)(us % 1000));
}

/// Starts the bus and deselects the chip. `bus` must not move.
static inline void esk_arduino_spi_init(esk_arduino_spi *bus, uint8_t pin,
                                        uint32_t hertz) {
    bus->pin = pin;
    bus->hertz = hertz;
    bus->spi.select = esk_arduino_select;
    bus->spi.deselect = esk_arduino_deselect;
    bus->spi.transfer = esk_arduino_transfer;
    bus->spi.delay_us = esk_arduino_delay_us;
    bus->spi.command = NULL;
    bus->spi.context = bus;
    digitalWrite(pin, HIGH);
    pinMode(pin, OUTPUT);
    SPI.begin();
    /* Clock and mode of a first transfer without select. */
    SPI.beginTransaction(SPISettings(hertz, MSBFIRST, SPI_MODE0));
    SPI.endTransaction();
}

#endif
