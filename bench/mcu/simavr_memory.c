// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The simplest chip on the bus: 64 KB of memory. 0x03 reads and 0x02 writes
/// from a 16-bit address on; it shows that the bus is right.
#include <stddef.h>

#include "bench/mcu/simavr_spi.h"

enum { READ = 0x03, WRITE = 0x02, HEAD_BYTES = 3 };

static struct {
    uint8_t bytes[0x10000];
    uint8_t head[HEAD_BYTES];
    uint16_t at;
    uint16_t count; ///< bytes of the head so far
} memory;

static void memory_select(void *context) {
    (void)context;
    memory.count = 0;
}

static void memory_deselect(void *context) {
    (void)context;
    memory.count = HEAD_BYTES + 1;
}

static uint8_t memory_transfer(void *context, uint8_t byte) {
    (void)context;
    if (memory.count < HEAD_BYTES) {
        memory.head[memory.count++] = byte;
        memory.at = (uint16_t)(memory.head[1] << 8 | memory.head[2]);
        return 0xFF;
    }
    if (memory.count > HEAD_BYTES) {
        return 0xFF; /* Not selected. */
    }
    if (memory.head[0] == WRITE) {
        memory.bytes[memory.at++] = byte;
        return 0xFF;
    }
    return memory.head[0] == READ ? memory.bytes[memory.at++] : 0xFF;
}

const struct spi_slave host_spi_memory = {
    .select = memory_select,
    .deselect = memory_deselect,
    .transfer = memory_transfer,
};
