// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs a sketch on an Arduino Uno in libsimavr, with SPI NOR at pin 10.
///
///     uno_host [options] sketch.elf
///       --sketch NAME    LoggerUno unless given
///       --chip NAME      of port/models; W25Q64JV unless given
///       --cuts N         cuts the supply N times, alternately at any cycle and
///                        within a program or an erase
///       --cut-cycles C   within C cycles of a start
///       --cut-calls K    within the first K programs and erases of a start
///       --last-cycles C  length of the last life, which is not cut
///       --seed S
///
/// uno_logger.c and uno_settings.c say what is typed to a sketch. Both inputs
/// read other millivolts each time. The output, a line each:
///
///     life N          the supply is on, the RAM is painted
///     > TEXT          a whole line of the sketch
///     < TEXT          typed text
///     cut             the supply is cut
///     stack BYTES     the deepest stack of all lives
///     torn P E        cuts within a program, within an erase
///
/// scripts/uno checks it. Lines that a cut shortened are not printed.
#include <stdlib.h>
#include <string.h>

#include <simavr/avr_adc.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_elf.h>

#include "bench/mcu/simavr_chip.h"
#include "bench/mcu/simavr_host.h"
#include "bench/mcu/simavr_spi.h"
#include "test/mcu/uno_host.h"

enum { SELECT_PIN = 2 }; /* PB2, the board's pin 10 */
enum { SRAM = 0x100, PAINT = 0xA5, SUPPLY_MV = 5000 };

static struct {
    elf_firmware_t firmware;
    const char *chip;
    const struct uno_user *user;
    uint32_t cuts;
    uint32_t cut_cycles;
    uint32_t cut_calls;
    uint64_t last_cycles;
    uint32_t stack_bytes;
    bool last; ///< this life is not cut
} uno;

void host_profile_dump(struct host *host, const char *line) {
    (void)host, (void)line;
}

void uno_type(struct host *host, const char *text) {
    avr_irq_t *input =
        avr_io_getirq(host->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    printf("< %s", text);
    for (; *text != '\0'; text++) {
        avr_raise_irq(input, (uint8_t)*text);
    }
}

static void byte_came(struct avr_irq_t *irq, uint32_t byte, void *context) {
    struct host *host = context;
    (void)irq;
    if (byte == '\n') {
        host->line[host->line_bytes] = '\0';
        host->line_bytes = 0;
        printf("> %s\n", host->line);
        uno.user->line_came(host, uno.last);
    } else if (byte != '\r' && host->line_bytes + 1 < HOST_LINE_BYTES) {
        host->line[host->line_bytes++] = (char)byte;
    }
}

/// Each conversion reads another voltage.
static void input_read(struct avr_irq_t *irq, uint32_t value, void *context) {
    struct host *host = context;
    (void)irq, (void)value;
    for (int pin = ADC_IRQ_ADC0; pin <= ADC_IRQ_ADC1; pin++) {
        avr_raise_irq(avr_io_getirq(host->avr, AVR_IOCTL_ADC_GETIRQ, pin),
                      host_random(host, SUPPLY_MV));
    }
}

/// First byte past the program's static data.
static uint32_t static_end(void) {
    return SRAM + uno.firmware.datasize + uno.firmware.bsssize;
}

static void uno_start(struct host *host) {
    uint32_t flags = 0;
    avr_t *avr = avr_make_mcu_by_name("atmega328p");
    if (avr == NULL) {
        host_die("libsimavr has no", "atmega328p");
    }
    host->avr = avr;
    avr_init(avr);
    avr->frequency = HOST_HZ;
    avr->log = LOG_ERROR;
    avr->vcc = avr->avcc = avr->aref = SUPPLY_MV;
    avr_load_firmware(avr, &uno.firmware);
    memset(avr->data + static_end(), PAINT, avr->ramend + 1u - static_end());
    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT),
        byte_came, host);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_OUT_TRIGGER),
        input_read, host);
    host_spi_attach(avr, SELECT_PIN);
    host->line_bytes = 0;
    host->cut = false;
    host_chip_power_on(host);
}

/// The deepest stack of this life: down to the lowest overwritten byte.
static void stack_measure(const avr_t *avr) {
    uint32_t lowest = static_end();
    while (lowest <= avr->ramend && avr->data[lowest] == PAINT) {
        lowest++;
    }
    uint32_t bytes = avr->ramend + 1u - lowest;
    uno.stack_bytes = bytes > uno.stack_bytes ? bytes : uno.stack_bytes;
}

/// One life, `cycles` long unless a cut in a program or an erase ends it
/// before.
static void uno_live(struct host *host, uint64_t cycles) {
    uno_start(host);
    host_cut_in(host, cycles);
    while (!host->cut) {
        int state = avr_run(host->avr);
        if (!host->cut && (state == cpu_Crashed || state == cpu_Done)) {
            host_die("the sketch crashed:", "state");
        }
    }
    stack_measure(host->avr);
    host_chip_power_off(host);
    avr_terminate(host->avr);
}

static void uno_run(struct host *host) {
    for (uint32_t i = 0; i < uno.cuts; i++) {
        uint64_t cycles = 1 + host_random(host, uno.cut_cycles);
        host->cut_call = i % 2 == 0 ? 0 : 1 + host_random(host, uno.cut_calls);
        printf("life %u\n", i);
        /* A life with too few programs ends, too. */
        uno_live(host, i % 2 == 0 ? cycles : 2ull * uno.cut_cycles);
        printf("cut\n");
    }
    uno.last = true;
    host->cut_call = 0;
    printf("life %u\n", uno.cuts);
    uint32_t torn[2] = {host->torn_programs, host->torn_erases};
    uno_live(host, uno.last_cycles);
    printf("stack %u\ntorn %u %u\n", uno.stack_bytes, torn[0], torn[1]);
}

static const struct uno_user *user_of(const char *sketch) {
    static const struct uno_user *const users[] = {&uno_logger, &uno_settings};
    for (size_t i = 0; i < sizeof users / sizeof users[0]; i++) {
        if (strcmp(users[i]->sketch, sketch) == 0) {
            return users[i];
        }
    }
    host_die("unknown sketch", sketch);
}

static void option_take(struct host *host, char **at) {
    const char *value = at[1] != NULL ? at[1] : "";
    uint32_t number = (uint32_t)strtoul(value, NULL, 10);
    if (strcmp(at[0], "--chip") == 0) {
        uno.chip = value;
    } else if (strcmp(at[0], "--sketch") == 0) {
        uno.user = user_of(value);
    } else if (strcmp(at[0], "--cuts") == 0) {
        uno.cuts = number;
    } else if (strcmp(at[0], "--cut-cycles") == 0) {
        uno.cut_cycles = number;
    } else if (strcmp(at[0], "--cut-calls") == 0) {
        uno.cut_calls = number;
    } else if (strcmp(at[0], "--last-cycles") == 0) {
        uno.last_cycles = number;
    } else if (strcmp(at[0], "--seed") == 0) {
        host->random ^= number * 0x9E3779B97F4A7C15u;
    } else {
        host_die("unknown option", at[0]);
    }
}

int main(int count, char **arguments) {
    static struct host host = {.random = 88172645463325252u};
    uno.chip = "W25Q64JV";
    uno.cut_cycles = 2 * HOST_HZ;
    uno.cut_calls = 8;
    uno.user = &uno_logger;
    uno.last_cycles = HOST_HZ;
    for (int i = 1; i + 1 < count; i += 2) {
        option_take(&host, arguments + i);
    }
    host_log_errors_only();
    if (count % 2 != 0 ||
        elf_read_firmware(arguments[count - 1], &uno.firmware) != 0) {
        host_die("cannot load", arguments[count - 1]);
    }
    host_chip_use(uno.chip, host.random);
    uno_run(&host);
    host_chip_judge();
    return 0;
}
