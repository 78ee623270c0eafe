// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the kinds of sources share.
#ifndef ESK_QUERY_SOURCE_H
#define ESK_QUERY_SOURCE_H

#include "base/bytes.h"
#include "base/slot.h"
#include "esker/query.h"

enum { ESK_SOURCE_KEY_BYTES = 8 }; ///< of an integer key here

/// Sets `bytes`, ESK_SOURCE_KEY_BYTES of them, to the key in `slot`, with its
/// sign.
/// Returns  < 0, 0 or > 0: below the values of `type`, one of them, or above.
int8_t esk_source_key(uint8_t type, const esk_slot *slot, uint8_t *bytes);

/// The number of a kv table's integer or boolean of a type, at `bytes`, which
/// are 8 with zeros behind it; INT64_MIN: it is none, or has 64 bits.
int64_t esk_query_kv_number(uint8_t type, const uint8_t *bytes);

#endif
