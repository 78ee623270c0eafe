// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs examples/logger on an ATmega2560 in libsimavr, with its UART on a
/// pseudo terminal, as a serial line is on a host.
///
///     logger_host logger.elf
///
/// It prints the terminal's name, and ends when its stdin ends. Both
/// directions are as fast as the line: a character each 4,166 cycles. The chip
/// is never ahead of real time, and may be behind: it then is as slow as the
/// machine that simulates it. At the end it prints `stack BYTES`, the deepest
/// stack.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <simavr/avr_adc.h>
#include <simavr/avr_uart.h>
#include <simavr/sim_cycle_timers.h>
#include <simavr/sim_elf.h>

#include "bench/mcu/simavr_host.h"

enum {
    SRAM = 0x200,
    PAINT = 0xA5,
    SUPPLY_MV = 5000,
    BAUD = 38400,
    CHARACTER_CYCLES = HOST_HZ / (BAUD / 10),
    SLICE_CYCLES = HOST_HZ / 1000, ///< at most a slice a real millisecond
};

static struct {
    avr_t *avr;
    elf_firmware_t firmware;
    int terminal;
} chip;

static void byte_came(struct avr_irq_t *irq, uint32_t byte, void *context) {
    unsigned char character = (unsigned char)byte;
    (void)irq, (void)context;
    // A terminal that nobody reads is full: the line drops the character.
    if (write(chip.terminal, &character, 1) != 1) {
        return;
    }
}

/// Each conversion reads another voltage.
static void input_read(struct avr_irq_t *irq, uint32_t value, void *context) {
    static uint32_t number;
    (void)irq, (void)value, (void)context;
    for (int pin = ADC_IRQ_ADC0; pin <= ADC_IRQ_ADC1; pin++) {
        number = number * 1103515245u + 12345u;
        avr_raise_irq(avr_io_getirq(chip.avr, AVR_IOCTL_ADC_GETIRQ, pin),
                      (number >> 16) % SUPPLY_MV);
    }
}

static void sleep_not(avr_t *avr, avr_cycle_count_t cycles) {
    (void)avr, (void)cycles; // the slices keep the time
}

static uint32_t static_end(void) {
    return SRAM + chip.firmware.datasize + chip.firmware.bsssize;
}

static void chip_start(void) {
    uint32_t flags = 0;
    avr_t *avr = avr_make_mcu_by_name("atmega2560");
    if (avr == NULL) {
        host_die("libsimavr has no", "atmega2560");
    }
    chip.avr = avr;
    avr_init(avr);
    avr->frequency = HOST_HZ;
    avr->log = LOG_ERROR;
    avr->vcc = avr->avcc = avr->aref = SUPPLY_MV;
    avr->sleep = sleep_not;
    avr_load_firmware(avr, &chip.firmware);
    memset(avr->data + static_end(), PAINT, avr->ramend + 1u - static_end());
    avr_ioctl(avr, AVR_IOCTL_UART_GET_FLAGS('0'), &flags);
    flags &= ~(uint32_t)(AVR_UART_FLAG_STDIO | AVR_UART_FLAG_POLL_SLEEP);
    avr_ioctl(avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT),
        byte_came, NULL);
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_ADC_GETIRQ, ADC_IRQ_OUT_TRIGGER),
        input_read, NULL);
}

/// A terminal whose bytes are not changed. Returns its name.
static const char *terminal_open(void) {
    struct termios raw;
    chip.terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (chip.terminal < 0 || grantpt(chip.terminal) != 0 ||
        unlockpt(chip.terminal) != 0) {
        host_die("no", "pseudo terminal");
    }
    // Kept open, so that a host that closes it does not end the line.
    int other = open(ptsname(chip.terminal), O_RDWR | O_NOCTTY);
    if (other < 0 || tcgetattr(other, &raw) != 0) {
        host_die("no", "pseudo terminal");
    }
    raw.c_iflag = 0;
    raw.c_oflag = 0;
    raw.c_lflag = 0;
    tcsetattr(other, TCSANOW, &raw);
    fcntl(chip.terminal, F_SETFL, O_NONBLOCK);
    return ptsname(chip.terminal);
}

/// Gives the chip the next character, once a character's time; the chip never
/// sleeps for longer.
static avr_cycle_count_t line_step(avr_t *avr, avr_cycle_count_t when,
                                   void *context) {
    unsigned char character = 0;
    (void)context;
    if (read(chip.terminal, &character, 1) == 1) {
        avr_raise_irq(
            avr_io_getirq(avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT),
            character);
    }
    return when + CHARACTER_CYCLES;
}

/// A millisecond of the chip, which takes at least one of this machine.
static void slice_run(void) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_nsec -= 1000000000;
        end.tv_sec++;
    }
    avr_cycle_count_t until = chip.avr->cycle + SLICE_CYCLES;
    while (chip.avr->cycle < until) {
        int state = avr_run(chip.avr);
        if (state == cpu_Crashed || state == cpu_Done) {
            host_die("the logger", "crashed");
        }
    }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

static bool input_ended(void) {
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char character = 0;
    return poll(&input, 1, 0) > 0 && read(STDIN_FILENO, &character, 1) <= 0;
}

void host_profile_dump(struct host *host, const char *line) {
    (void)host, (void)line;
}

int main(int count, char **arguments) {
    host_log_errors_only();
    if (count != 2 || elf_read_firmware(arguments[1], &chip.firmware) != 0) {
        host_die("usage:", "logger_host logger.elf");
    }
    chip_start();
    printf("%s\n", terminal_open());
    avr_cycle_timer_register(chip.avr, CHARACTER_CYCLES, line_step, NULL);
    fflush(stdout);
    while (!input_ended()) {
        slice_run();
    }
    uint32_t lowest = static_end();
    while (lowest <= chip.avr->ramend && chip.avr->data[lowest] == PAINT) {
        lowest++;
    }
    printf("stack %u\n", chip.avr->ramend + 1u - lowest);
    return 0;
}
