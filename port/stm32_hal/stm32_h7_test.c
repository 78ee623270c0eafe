// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash port as compiled for an STM32H7: words of 32 bytes, bus faults.
#define FAKE_STM32 7
#define PART esk_word_flash_stm32h743

#include "port/stm32_hal/stm32_flash.c"

#include "stm32_cases.h"

ESK_TEST_MAIN()
