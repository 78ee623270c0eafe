// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the catalog derives from a schema, and type classes.
#ifndef ESK_VOLUME_SCHEMA_PLAN_H
#define ESK_VOLUME_SCHEMA_PLAN_H

#include "base/order.h"
#include "esker/schema.h"
#include "esker/volume.h"

/// Checks `spec` as a table of `kind`. As esk_table_spec_check.
int esk_table_kind_check(uint8_t kind, const struct esk_table_spec *spec,
                         uint16_t page_bytes, struct esk_fault *fault);

bool esk_type_is_integer(uint8_t type);
bool esk_type_is_number(uint8_t type);
bool esk_bitmap_bits_are_good(uint8_t bits);

/// Whether an index of a catalog is one that can have been created, on a
/// column of `type`.
bool esk_index_is_sound(const struct esk_index_spec *spec, uint8_t type);

/// The run and group lengths a table gets: the asked ones (or the defaults),
/// cut so that a run page keeps room for knots and a group page for a tile.
/// `spec` has passed esk_table_spec_check.
void esk_table_spec_derive(const struct esk_table_spec *spec,
                           uint16_t page_bytes, uint8_t *run_pages,
                           uint8_t *group_pages);

#endif
