// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash of an ESP32 and ESP-IDF's partitions on it, as documented.
///
/// It refuses, with the code that ESP-IDF returns, what is outside the
/// partition or off its erase unit, and a change of one that is read-only. A
/// write clears bits and sets none.
#ifndef FAKE_ESP_FAKE_H
#define FAKE_ESP_FAKE_H

#include <esp_partition.h>

#include "port/models/chip.h"

enum { FAKE_ESP_BYTES = 2 << 20, FAKE_ESP_PARTITIONS = 8 };

struct esp_fake {
    struct esk_chip chip;
    esp_partition_t table[FAKE_ESP_PARTITIONS]; ///< no label: free
    esp_err_t fails; ///< what the next read, write or erase returns
    uint32_t finds;
    uint32_t calls; ///< reads, writes and erases
    size_t busy_at;
    size_t busy_bytes;
    bool erasing;
    uint8_t target[256]; ///< what is being written
};

extern struct esp_fake esp_fake;
extern uint8_t esp_fake_array[FAKE_ESP_BYTES];

/// An erased flash with power, and a table of one partition: data, undefined,
/// "esker", of so many bytes in the flash's middle.
void esp_fake_reset(uint32_t bytes, uint64_t seed);

#endif
