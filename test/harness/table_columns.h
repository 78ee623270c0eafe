// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The columns of a specification whose row has no struct.
#ifndef ESK_TEST_TABLE_COLUMNS_H
#define ESK_TEST_TABLE_COLUMNS_H

#include "esker/schema.h"

/// Sets how many of its columns `table` has.
static inline void table_columns(struct esk_table_spec *table, uint8_t count) {
    table->column_count = count;
    table->row_bytes = esk_row_bytes(table->columns, count);
}

#endif
