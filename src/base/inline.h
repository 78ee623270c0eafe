// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Functions that stay functions. Compilers count instructions of a machine
/// with wide registers when they weigh a call against a copy; where each
/// 32-bit value is four bytes, the copy is several times larger.
#ifndef ESK_BASE_INLINE_H
#define ESK_BASE_INLINE_H

#if defined(__GNUC__)
#define ESK_OUT_OF_LINE __attribute__((noinline))
#else
#define ESK_OUT_OF_LINE
#endif

#endif
