// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The version of the headers that a program is compiled with, and of the
/// library that it links.
#ifndef ESKER_VERSION_H
#define ESKER_VERSION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ESK_VERSION_MAJOR 0
#define ESK_VERSION_MINOR 1
#define ESK_VERSION_PATCH 0

/// One number that rises with the version: 1.2.3 is 10203.
#define ESK_VERSION                                                            \
    (ESK_VERSION_MAJOR * UINT32_C(10000) + ESK_VERSION_MINOR * 100 +           \
     ESK_VERSION_PATCH)

/// ESK_VERSION of the library. It differs from ESK_VERSION when the headers are
/// of another version.
uint32_t esk_version(void);

#ifdef __cplusplus
}
#endif

#endif
