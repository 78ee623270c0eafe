// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the Pico SDK's header: the calls that the driver uses.
#ifndef FAKE_PICO_FLASH_H
#define FAKE_PICO_FLASH_H

#include <stdint.h>

int flash_safe_execute(void (*func)(void *), void *param,
                       uint32_t enter_exit_timeout_ms);

#endif
