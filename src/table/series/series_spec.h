// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The specification of a series: its check and its defaults.
#ifndef ESK_TABLE_SERIES_SERIES_SPEC_H
#define ESK_TABLE_SERIES_SERIES_SPEC_H

#include "esker/series.h"

/// The run and group lengths of a table: the given ones (or the defaults),
/// reduced so that a run page has room for knots and a group page for a tile.
/// `spec` has passed esk_series_spec_check.
void esk_series_spec_derive(const struct esk_series_spec *spec,
                            uint16_t page_bytes, uint8_t *run_pages,
                            uint8_t *group_pages);

/// Whether columns and key are ones that a series can have. As
/// esk_series_spec_check.
int esk_series_table_check(const struct esk_table_spec *table,
                           uint16_t page_bytes, struct esk_fault *fault);

#endif
