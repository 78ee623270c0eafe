// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board of both sketches for an Uno: SPI NOR flash with its select line at
/// pin 10, and Serial at 115200 baud. Included once, by the sketch.
#ifndef UNO_BOARD_H
#define UNO_BOARD_H

#include <SPI.h>
#include <esker.h>

enum { SELECT_PIN = 10 };

/* The bus has this one chip, so its clock and mode are set once. With others
   on it use esk_arduino_spi.h, as LoggerNor does. */

static void chipSelect(const struct esk_spi *) {
    digitalWrite(SELECT_PIN, LOW);
}

static void chipDeselect(const struct esk_spi *) {
    digitalWrite(SELECT_PIN, HIGH);
}

static int chipTransfer(const struct esk_spi *, const uint8_t *send,
                        uint8_t *receive, uint16_t bytes) {
    for (; bytes > 0; bytes--) {
        uint8_t in = SPI.transfer(send != NULL ? *send++ : 0xFF);
        if (receive != NULL) {
            *receive++ = in;
        }
    }
    return ESK_OK;
}

/* The driver asks for 4 ms at most, delayMicroseconds takes 16. */
static void chipDelay(const struct esk_spi *, uint32_t us) {
    delayMicroseconds((unsigned int)us);
}

static const struct esk_spi bus = {chipSelect, chipDeselect, chipTransfer,
                                   chipDelay,  NULL,         NULL};

/* The C library writes a number in 110 B less than Arduino's. */
static void put(int32_t number, char end) {
    char digits[12];
    ltoa(number, digits, 10);
    for (const char *digit = digits; *digit != '\0'; digit++) {
        Serial.write(*digit);
    }
    Serial.write(end);
}

static void boardBegin() {
    Serial.begin(115200);
    digitalWrite(SELECT_PIN, HIGH);
    pinMode(SELECT_PIN, OUTPUT);
    SPI.begin();
    SPI.beginTransaction(SPISettings(8000000, MSBFIRST, SPI_MODE0));
}

static void say(char what, int32_t number) {
    Serial.write(what);
    Serial.write(' ');
    put(number, '\n');
}

#endif
