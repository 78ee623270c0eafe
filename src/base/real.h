// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Floats in a query's slots.
#ifndef ESK_BASE_REAL_H
#define ESK_BASE_REAL_H

#include "base/slot.h"

/// A float as wide as a slot; on AVR double has 32 bits, and slots of 64 bits
/// have no floats.
#if ESK_QUERY_BITS == 32
typedef float esk_real;
#else
typedef double esk_real;
#endif

#define ESK_HAS_REAL (sizeof(esk_real) == sizeof(esk_slot))

#endif
