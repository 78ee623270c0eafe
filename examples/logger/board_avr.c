// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's board on an ATmega2560 at 16 MHz and 5 V, with nothing but a
/// TMP36 on ADC0 and a light sensor on ADC1:
///
///     storage   the chip's EEPROM: 32 pages of 128 bytes, about 100 rows
///     line      UART 0, 38,400 baud, received by interrupt
///     clock     timer 1, one interrupt a second
///     supply    the band gap measured against AVCC
///
/// EEPROM lasts some 100,000 writes a byte, so build it with a row a minute
/// (-DLOGGER_PERIOD_S=60) and -DLOGGER_PAGE_BYTES=128. For more rows put an
/// SPI flash's device in the place of eeprom_ops; nothing else changes.
#include <avr/eeprom.h>
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <util/atomic.h>

#include "examples/logger/board.h"
#include "examples/logger/logger.h"

enum {
    PAGE_BYTES = 128,
    BLOCKS = 32,
    BAUD = 38400,
    RECEIVED_BYTES = 64, ///< a power of two
    ADC_SUPPLY = 30,     ///< the band gap
    BAND_GAP_MV = 1100,
};

#define CLOCK_HZ 16000000ul

static volatile uint32_t seconds;
static volatile uint8_t received[RECEIVED_BYTES];
static volatile uint8_t received_head; ///< place of the next one
static uint8_t received_tail;

ISR(TIMER1_COMPA_vect) {
    seconds++;
}

/// A full buffer drops characters; the logger answers a torn line with `error`.
ISR(USART0_RX_vect) {
    uint8_t character = UDR0;
    uint8_t head = received_head;
    uint8_t next = (uint8_t)((head + 1u) % RECEIVED_BYTES);
    if (next != received_tail) {
        received[head] = character;
        received_head = next;
    }
}

/// An EEPROM address, a pointer for avr-libc.
static uint16_t eeprom_at(esk_page_id page, uint16_t offset) {
    return (uint16_t)((uint16_t)page * PAGE_BYTES + offset);
}

static int eeprom_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    (void)device;
    eeprom_read_block(buffer, (const void *)eeprom_at(page, offset), bytes);
    return ESK_OK;
}

/// Bytes that do not change are not written: no time, no wear.
static int eeprom_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    (void)device;
    eeprom_update_block(buffer, (void *)eeprom_at(page, offset), bytes);
    return ESK_OK;
}

static int eeprom_erase(const struct esk_device *device, uint32_t block) {
    (void)device;
    for (uint8_t i = 0; i < PAGE_BYTES; i++) {
        eeprom_update_byte((uint8_t *)eeprom_at(block, i), 0xFF);
    }
    return ESK_OK;
}

static int eeprom_sync(const struct esk_device *device) {
    (void)device;
    eeprom_busy_wait();
    return ESK_OK;
}

static const struct esk_device_ops eeprom_ops = {
    .read = eeprom_read,
    .program = eeprom_program,
    .erase = eeprom_erase,
    .sync = eeprom_sync,
};

static const struct esk_device eeprom = {
    .ops = &eeprom_ops,
    .geometry = {.block_count = BLOCKS,
                 .block_pages = 1,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

int board_start(void) {
    UBRR0 = (uint16_t)(CLOCK_HZ / 16 / BAUD - 1);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
    UCSR0C = _BV(UCSZ01) | _BV(UCSZ00);
    OCR1A = (uint16_t)(CLOCK_HZ / 1024 - 1);
    TCCR1B = _BV(WGM12) | _BV(CS12) | _BV(CS10);
    TIMSK1 = _BV(OCIE1A);
    ADCSRA = _BV(ADEN) | _BV(ADPS2) | _BV(ADPS1) | _BV(ADPS0);
    sei();
    return ESK_OK;
}

const struct esk_device *board_device(void) {
    return &eeprom;
}

uint32_t board_seconds(void) {
    uint32_t now = 0;
    ATOMIC_BLOCK(ATOMIC_RESTORESTATE) {
        now = seconds;
    }
    return now;
}

/// The second of two readings: the first one after a change of channel is not
/// settled. Returns 0 .. 1023 of AVCC.
static uint16_t adc_read(uint8_t channel) {
    ADMUX = (uint8_t)(_BV(REFS0) | channel);
    for (uint8_t i = 0; i < 2; i++) {
        ADCSRA |= _BV(ADSC);
        while ((ADCSRA & _BV(ADSC)) != 0) {
        }
    }
    return ADC;
}

void board_sample(struct logger_row *row) {
    uint16_t gap = adc_read(ADC_SUPPLY);
    uint32_t supply_mv = BAND_GAP_MV * 1024ul / (gap == 0 ? 1u : gap);
    row->supply_mv = supply_mv > 6000 ? 0 : (uint16_t)supply_mv;
    // A TMP36 gives 500 mV at 0 degC, and 10 mV a degree.
    int32_t sensor_mv = (int32_t)(adc_read(0) * supply_mv / 1024u);
    row->temp_centi = (int16_t)((sensor_mv - 500) * 10);
    row->light = adc_read(1);
}

int board_get(void) {
    uint8_t tail = received_tail;
    if (tail == received_head) {
        return -1;
    }
    uint8_t character = received[tail];
    received_tail = (uint8_t)((tail + 1u) % RECEIVED_BYTES);
    return character;
}

void board_put(char character) {
    while ((UCSR0A & _BV(UDRE0)) == 0) {
    }
    UDR0 = (uint8_t)character;
}

/// Sleeps until the clock ticks or a character comes, unless one of them
/// happened since the last turn. No interrupt can come between the test and the
/// sleep: the instruction after sei runs before any interrupt.
bool board_idle(void) {
    static uint32_t turned;
    cli();
    if (received_tail == received_head && turned == seconds) {
        SMCR = _BV(SE); // idle: only the core stops
        sei();
        sleep_cpu();
        SMCR = 0;
    }
    sei();
    turned = board_seconds();
    return true;
}
