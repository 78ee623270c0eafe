// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash port as compiled for an STM32L4: words of 8 bytes, pages.
#define FAKE_STM32 4
#define PART esk_word_flash_stm32l476

#include "port/stm32_hal/stm32_flash.c"

#include "stm32_cases.h"

ESK_TEST_MAIN()
