// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The specification of a series: its check and its defaults.
#ifndef ESK_TABLE_SERIES_SERIES_SPEC_H
#define ESK_TABLE_SERIES_SERIES_SPEC_H

#include "esker/series.h"

/// The run and group lengths of a table: the given ones (or the defaults),
/// reduced so that a zone page has room for knots and a summary page for a
/// node. `spec` has passed esk_series_spec_check.
void esk_series_spec_derive(const struct esk_series_spec *spec,
                            uint16_t page_bytes, uint8_t *run_pages,
                            uint8_t *group_pages);

/// Bytes of a packed table's cells, for pages of `page_bytes`: the given ones,
/// or as many as the rows need. 0: they cannot be, or a row does not fit.
uint16_t esk_series_cell_bytes(const struct esk_series_spec *spec,
                               uint16_t page_bytes);

/// Whether a cell of `cell` bytes has room for a row of the table.
bool esk_series_cell_fits(const struct esk_table_spec *table, uint16_t cell);

/// Whether the columns' modes can be in a table of this codec.
/// place    out: the column that cannot.
/// Returns  enum esk_fault_kind.
uint8_t esk_series_mode_fault(const struct esk_table_spec *table, uint8_t codec,
                              uint8_t *place);

/// Whether columns and key are ones that a series can have. As
/// esk_series_spec_check.
int esk_series_table_check(const struct esk_table_spec *table,
                           uint16_t page_bytes, struct esk_fault *fault);

#endif
