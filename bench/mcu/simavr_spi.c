// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "bench/mcu/simavr_spi.h"

#include <stdbool.h>
#include <stddef.h>

#include <simavr/avr_ioport.h>

enum spi_register { SPI_SPCR = 0x4C, SPI_SPSR = 0x4D, SPI_SPDR = 0x4E };
enum { SPSR_SPIF = 0x80, SPSR_SPI2X = 0x01, SPCR_SPR = 0x03 };

static const struct spi_slave *slave_now;

/// The bus: one chip runs at a time.
static struct {
    uint64_t done_at; ///< cycle at which the byte on the bus ends
    uint8_t received;
    bool busy;
} bus;

/// Calls the chip's clock with `cycle`.
static void slave_clock(uint64_t cycle) {
    if (slave_now != NULL && slave_now->clock != NULL) {
        slave_now->clock(slave_now->context, cycle);
    }
}

void host_spi_slave_set(const struct spi_slave *slave) {
    slave_now = slave;
}

/// Cycles of one bit at the present divider.
static uint32_t spi_divider(const avr_t *avr) {
    static const uint8_t dividers[4] = {4, 16, 64, 128};
    uint32_t divider = dividers[avr->data[SPI_SPCR] & SPCR_SPR];
    return avr->data[SPI_SPSR] & SPSR_SPI2X ? divider / 2 : divider;
}

static void spi_data_write(avr_t *avr, avr_io_addr_t address, uint8_t byte,
                           void *context) {
    (void)context;
    avr->data[address] = byte;
    avr->data[SPI_SPSR] &= (uint8_t)~SPSR_SPIF;
    bus.done_at = avr->cycle + 8u * spi_divider(avr);
    slave_clock(bus.done_at);
    bus.received = slave_now == NULL
                       ? 0xFF
                       : slave_now->transfer(slave_now->context, byte);
    bus.busy = true;
}

static uint8_t spi_data_read(avr_t *avr, avr_io_addr_t address, void *context) {
    (void)context;
    avr->data[SPI_SPSR] &= (uint8_t)~SPSR_SPIF;
    avr->data[address] = bus.received;
    return bus.received;
}

static void spi_status_write(avr_t *avr, avr_io_addr_t address, uint8_t value,
                             void *context) {
    (void)context;
    avr->data[address] =
        (uint8_t)((avr->data[address] & SPSR_SPIF) | (value & SPSR_SPI2X));
}

static uint8_t spi_status_read(avr_t *avr, avr_io_addr_t address,
                               void *context) {
    (void)context;
    if (bus.busy && avr->cycle >= bus.done_at) {
        bus.busy = false;
        avr->data[address] |= SPSR_SPIF;
    }
    return avr->data[address];
}

static void spi_select(struct avr_irq_t *irq, uint32_t level, void *context) {
    const avr_t *avr = context;
    (void)irq;
    slave_clock(avr->cycle);
    if (slave_now != NULL) {
        (level != 0 ? slave_now->deselect
                    : slave_now->select)(slave_now->context);
    }
}

void host_spi_attach(avr_t *avr, uint8_t select_pin) {
    avr_io_addr_t data = AVR_DATA_TO_IO(SPI_SPDR);
    avr_io_addr_t status = AVR_DATA_TO_IO(SPI_SPSR);
    bus.busy = false;
    avr->io[data].w.c = spi_data_write;
    avr->io[data].r.c = spi_data_read;
    avr->io[status].w.c = spi_status_write;
    avr->io[status].r.c = spi_status_read;
    avr_irq_register_notify(
        avr_io_getirq(avr, AVR_IOCTL_IOPORT_GETIRQ('B'), select_pin),
        spi_select, avr);
}
