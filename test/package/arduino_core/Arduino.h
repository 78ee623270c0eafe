// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The part of Arduino that the sketches use, over stdin and stdout: so that
/// they run on a host, and compile for chips whose cores are not packaged.
#ifndef ESK_TEST_ARDUINO_H
#define ESK_TEST_ARDUINO_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { A0 = 14, A1 = 15 };
enum { LOW = 0, HIGH = 1, OUTPUT = 1, MSBFIRST = 1 };

/// Milliseconds since the start; every call and delay takes some.
unsigned long millis();
void delay(unsigned long ms);
void delayMicroseconds(unsigned int us);
void pinMode(uint8_t pin, uint8_t mode);
/// Every pin is the select line of the chip on the bus.
void digitalWrite(uint8_t pin, uint8_t level);
/// Always 512.
int analogRead(uint8_t pin);

class TestSerial {
  public:
    void begin(unsigned long baud);
    int available();
    int read();
    long parseInt();
    size_t write(uint8_t character);
    void print(const char *text);
    void print(long number);
    void print(unsigned long number);
    void print(int number);
    void print(unsigned int number);
    template <typename Any> void println(Any value) {
        print(value);
        write('\n');
    }
};

extern TestSerial Serial;

void setup();
void loop();

#endif
