// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the Pico SDK's header: the codes that flash_safe_execute returns.
#ifndef FAKE_PICO_ERROR_H
#define FAKE_PICO_ERROR_H

enum pico_error_codes {
    PICO_OK = 0,
    PICO_ERROR_TIMEOUT = -2,
    PICO_ERROR_NOT_PERMITTED = -4,
};

#endif
