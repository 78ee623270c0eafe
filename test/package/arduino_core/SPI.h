// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The part of Arduino's SPI that esk_arduino_spi.h uses. On a host a model of
/// port/models is behind it: core_chip.c.
#ifndef ESK_TEST_ARDUINO_SPI_CLASS_H
#define ESK_TEST_ARDUINO_SPI_CLASS_H

#include <stdint.h>

enum { SPI_MODE0 = 0 };

struct SPISettings {
    SPISettings(uint32_t, uint8_t, uint8_t) {
    }
};

class TestSpi {
  public:
    void begin() {
    }
    void beginTransaction(SPISettings) {
    }
    void endTransaction() {
    }
    uint8_t transfer(uint8_t byte);
};

extern TestSpi SPI;

#endif
