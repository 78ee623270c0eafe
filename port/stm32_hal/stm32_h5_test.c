// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash port as compiled for an STM32H5: words of 16 bytes, sectors.
#define FAKE_STM32 5
#define PART esk_word_flash_stm32u575

#include "port/stm32_hal/stm32_flash.c"

#include "stm32_cases.h"

ESK_TEST_MAIN()
