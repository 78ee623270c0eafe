// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The QSPI port as compiled for the HAL of OCTOSPI.
#define FAKE_QSPI 2

#include "port/stm32_qspi/stm32_qspi.c"

#include "qspi_cases.h"

ESK_TEST_MAIN()
