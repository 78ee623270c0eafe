// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As FreeRTOS's header: what the examples call of it.
#ifndef STAND_IN_FREERTOS_TASK_H
#define STAND_IN_FREERTOS_TASK_H

#ifndef STAND_IN_FREERTOS_H
#error "FreeRTOS.h must be included before task.h"
#endif

void vTaskDelay(TickType_t ticks);

#endif
