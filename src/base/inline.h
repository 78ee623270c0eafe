// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Functions that stay functions. Compilers count instructions of a machine
/// with wide registers when they weigh a call against a copy; where each
/// 32-bit value is four bytes, the copy is several times larger.
///
/// And functions into which a host takes what they call in their file: with
/// wide registers a short function is less work than the call of it.
#ifndef ESK_BASE_INLINE_H
#define ESK_BASE_INLINE_H

#include <stdint.h>

#if defined(__GNUC__)
#define ESK_OUT_OF_LINE __attribute__((noinline))
#else
#define ESK_OUT_OF_LINE
#endif

#if defined(__GNUC__) && SIZE_MAX > UINT32_MAX
#define ESK_HOST_FLAT __attribute__((flatten))
#else
#define ESK_HOST_FLAT
#endif

#endif
