// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI of an AVR with a chip behind it, at its true speed.
///
/// libsimavr's own SPI takes the same time with every divider; here a byte
/// takes eight times the divider: 16 cycles at F_CPU / 2.
#ifndef ESK_BENCH_MCU_SIMAVR_SPI_H
#define ESK_BENCH_MCU_SIMAVR_SPI_H

#include <stdint.h>

#include <simavr/sim_avr.h>

/// A chip as its bus sees it: select (its pin low), bytes, deselect.
struct spi_slave {
    void *context;
    /// Called with the cycle before each of the others; NULL: the chip has no
    /// clock.
    void (*clock)(void *context, uint64_t cycle);
    void (*select)(void *context);
    void (*deselect)(void *context);
    uint8_t (*transfer)(void *context, uint8_t byte);
};

/// Sets the chip of every AVR that is started from now on; NULL: none, and the
/// bus reads 0xFF. Borrowed.
void host_spi_slave_set(const struct spi_slave *slave);

/// 64 KB of memory as a chip: see simavr_memory.c.
extern const struct spi_slave host_spi_memory;

/// Replaces the chip's SPI registers and watches its select pin, of port B.
void host_spi_attach(avr_t *avr, uint8_t select_pin);

#endif
