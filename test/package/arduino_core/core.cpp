// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// setup once, loop a thousand times: then whatever was typed is answered.
#include <stdio.h>
#include <stdlib.h>

#include "Arduino.h"
#include "SD.h"
#include "SPI.h"
#include "core_chip.h"

TestSerial Serial;
TestSpi SPI;
TestSd SD;
TestSdFile test_sd_file;

static unsigned long now_ms;

unsigned long millis() {
    return now_ms += 7;
}

void delay(unsigned long ms) {
    now_ms += ms;
    core_chip_delay((uint32_t)ms * 1000u);
}

void delayMicroseconds(unsigned int us) {
    core_chip_delay(us);
}

void pinMode(uint8_t, uint8_t) {
}

void digitalWrite(uint8_t, uint8_t level) {
    core_chip_pin(level);
}

uint8_t TestSpi::transfer(uint8_t byte) {
    return core_chip_transfer(byte);
}

int analogRead(uint8_t) {
    return 512;
}

void TestSerial::begin(unsigned long) {
}

int TestSerial::available() {
    int character = getchar();
    if (character == EOF) {
        return 0;
    }
    ungetc(character, stdin);
    return 1;
}

int TestSerial::read() {
    return getchar();
}

/// Skips what is no number, as Arduino's does.
long TestSerial::parseInt() {
    int character = getchar();
    long number = 0;
    while (character != EOF && character != '-' &&
           (character < '0' || character > '9')) {
        character = getchar();
    }
    bool negative = character == '-';
    if (negative) {
        character = getchar();
    }
    while (character >= '0' && character <= '9') {
        number = 10 * number + (character - '0');
        character = getchar();
    }
    ungetc(character, stdin);
    return negative ? -number : number;
}

size_t TestSerial::write(uint8_t character) {
    putchar(character);
    return 1;
}

void TestSerial::print(const char *text) {
    fputs(text, stdout);
}

void TestSerial::print(long number) {
    printf("%ld", number);
}

void TestSerial::print(unsigned long number) {
    printf("%lu", number);
}

void TestSerial::print(int number) {
    printf("%d", number);
}

void TestSerial::print(unsigned int number) {
    printf("%u", number);
}

int main() {
    setup();
    for (int i = 0; i < 1000; i++) {
        loop();
    }
    return core_chip_status();
}
