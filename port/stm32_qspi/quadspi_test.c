// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The QSPI port as compiled for the HAL of QUADSPI.
#define FAKE_QSPI 1

#include "port/stm32_qspi/stm32_qspi.c"

#include "qspi_cases.h"

ESK_TEST_MAIN()
