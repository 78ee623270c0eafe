// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As FreeRTOS's header in ESP-IDF: ticks of 10 ms.
#ifndef STAND_IN_FREERTOS_H
#define STAND_IN_FREERTOS_H

#include <stdint.h>

typedef uint32_t TickType_t;

#define pdMS_TO_TICKS(ms) ((TickType_t)(ms) / 10u)

#endif
