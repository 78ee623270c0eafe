// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As ESP-IDF's header: what the examples call of it.
#ifndef STAND_IN_ESP_SYSTEM_H
#define STAND_IN_ESP_SYSTEM_H

#include <stdint.h>

uint32_t esp_get_free_heap_size(void);

#endif
