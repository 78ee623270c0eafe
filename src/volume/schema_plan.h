// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checks of a schema for tables of every kind, and type classes.
#ifndef ESK_VOLUME_SCHEMA_PLAN_H
#define ESK_VOLUME_SCHEMA_PLAN_H

#include "base/order.h"
#include "esker/schema.h"

enum { ESK_REGION_BLOCKS_MIN = 2 };

/// Checks a table's name, its columns and the number of its key column, for
/// pages of `page_bytes`. The table's kind checks whether that column can be a
/// key.
/// fault    out: all but its kind; its column is the wrong one, or the key
///          column if there is no fault.
/// Returns  enum esk_fault_kind.
uint8_t esk_schema_fault(const struct esk_table_spec *spec, uint16_t page_bytes,
                         struct esk_fault *fault);

bool esk_type_is_integer(uint8_t type);
bool esk_type_is_number(uint8_t type);

/// The mode that the catalog has for a packed table's column of `type`, whose
/// specification has `mode`; UINT8_MAX: it cannot have that.
uint8_t esk_mode_stored(uint8_t type, uint8_t mode, bool is_key);

/// Whether an index of a catalog is valid on a column of `type`.
bool esk_index_is_sound(const struct esk_index_spec *spec, uint8_t type);

/// Bits of a summary's bitmap, as the catalog has them, of a specification's.
uint8_t esk_bitmap_stored(uint8_t bitmap_bits);

/// The specification's, of what the catalog has; not sound if that is not.
uint8_t esk_bitmap_of(uint8_t stored);

/// What the catalog has of a sorted index: its entries / 256, and its fan.
uint8_t esk_sorted_entries(const struct esk_index_spec *spec);
uint8_t esk_sorted_fan(const struct esk_index_spec *spec);

/// Whether these can be, for a column of `type`.
bool esk_sorted_is_sound(uint8_t entries, uint8_t fan, uint8_t type);

#endif
