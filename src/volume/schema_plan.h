// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What tables of every kind ask of a schema, and type classes.
#ifndef ESK_VOLUME_SCHEMA_PLAN_H
#define ESK_VOLUME_SCHEMA_PLAN_H

#include "base/order.h"
#include "esker/schema.h"

enum { ESK_REGION_BLOCKS_MIN = 2 };

/// What is wrong with a table's name, its columns, or the number of its key
/// column, for pages of `page_bytes`. Whether that column can be a key, the
/// kind knows.
/// fault    out: all but its kind; its column is the one at fault, the key
///          column without a fault.
/// Returns  enum esk_fault_kind.
uint8_t esk_schema_fault(const struct esk_table_spec *spec, uint16_t page_bytes,
                         struct esk_fault *fault);

bool esk_type_is_integer(uint8_t type);
bool esk_type_is_number(uint8_t type);

/// Whether an index of a catalog is one that can have been created, on a
/// column of `type`.
bool esk_index_is_sound(const struct esk_index_spec *spec, uint8_t type);

#endif
