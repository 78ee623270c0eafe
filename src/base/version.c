// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "esker/version.h"

uint32_t esk_version(void) {
    return ESK_VERSION;
}
