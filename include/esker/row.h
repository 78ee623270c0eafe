// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A row's struct and its columns from one list, so that they cannot differ.
///
///     #define LOG_ROW(F) F(U32, time, "s") F(I16, level, "mm") F(U16, x, "")
///     ESK_ROW(log_row, LOG_ROW);
///
///     static const struct esk_series_spec log_spec = {
///         .table = {.name = "log", ESK_ROW_SPEC(log_row)}};
///
/// makes `struct log_row` and `log_row_columns`. A struct with padding does not
/// compile: put wide columns first, or use ESK_ROW_PACKED.
/// The type of a column is I8 .. U64, F32, F64, BYTES(n) or TEXT(n), and for a
/// variable column VAR or VAR_TEXT, an array of ESK_VAR_REF_BYTES. A table with
/// missing values needs columns that are written by hand.
#ifndef ESKER_ROW_H
#define ESKER_ROW_H

#include <stddef.h>

#include "esker/schema.h"

#ifdef __cplusplus
#define ESK_ROW_ASSERT(condition, text) static_assert(condition, text)
#else
#define ESK_ROW_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#define ESK_ROW_PACK __attribute__((__packed__))

/* C type, array, column type, bytes if the type has no width, flags */
#define ESK_ROW_I8 int8_t, , ESK_TYPE_I8, 0, 0
#define ESK_ROW_I16 int16_t, , ESK_TYPE_I16, 0, 0
#define ESK_ROW_I32 int32_t, , ESK_TYPE_I32, 0, 0
#define ESK_ROW_I64 int64_t, , ESK_TYPE_I64, 0, 0
#define ESK_ROW_U8 uint8_t, , ESK_TYPE_U8, 0, 0
#define ESK_ROW_U16 uint16_t, , ESK_TYPE_U16, 0, 0
#define ESK_ROW_U32 uint32_t, , ESK_TYPE_U32, 0, 0
#define ESK_ROW_U64 uint64_t, , ESK_TYPE_U64, 0, 0
#define ESK_ROW_F32 float, , ESK_TYPE_F32, 0, 0
#define ESK_ROW_F64 double, , ESK_TYPE_F64, 0, 0
#define ESK_ROW_BYTES(n) uint8_t, [n], ESK_TYPE_BYTES, n, 0
#define ESK_ROW_TEXT(n) char, [n], ESK_TYPE_BYTES, n, ESK_COLUMN_TEXT
#define ESK_ROW_VAR uint8_t, [ESK_VAR_REF_BYTES], ESK_TYPE_VAR, 0, 0
#define ESK_ROW_VAR_TEXT                                                       \
    uint8_t, [ESK_VAR_REF_BYTES], ESK_TYPE_VAR, 0, ESK_COLUMN_TEXT

#define ESK_ROW_MEMBER(type, name, unit) ESK_ROW_MEMBER_OF(name, ESK_ROW_##type)
#define ESK_ROW_MEMBER_OF(...) ESK_ROW_MEMBER_AS(__VA_ARGS__)
#define ESK_ROW_MEMBER_AS(name, c, array, type, n, flags) c name array;

#define ESK_ROW_WIDTH(type, name, unit) ESK_ROW_WIDTH_OF(ESK_ROW_##type)
#define ESK_ROW_WIDTH_OF(...) ESK_ROW_WIDTH_AS(__VA_ARGS__)
#define ESK_ROW_WIDTH_AS(c, array, type, n, flags) +sizeof(c array)

#define ESK_ROW_COLUMN(type, name, unit)                                       \
    ESK_ROW_COLUMN_OF(#name, unit, ESK_ROW_##type)
#define ESK_ROW_COLUMN_OF(...) ESK_ROW_COLUMN_AS(__VA_ARGS__)
#define ESK_ROW_COLUMN_AS(name, unit, c, array, type, n, flags)                \
    {name, unit, type, n, flags, NULL, 0},

#define ESK_ROW_WITH(attribute, row, list)                                     \
    struct attribute row{list(ESK_ROW_MEMBER)};                                \
    ESK_ROW_ASSERT(sizeof(struct row) == 0 list(ESK_ROW_WIDTH),                \
                   "the row has padding: put wide columns first");             \
    static const struct esk_column row##_columns[] = {list(ESK_ROW_COLUMN)}

#define ESK_ROW(row, list) ESK_ROW_WITH(, row, list)
#define ESK_ROW_PACKED(row, list) ESK_ROW_WITH(ESK_ROW_PACK, row, list)

/// Members of a struct esk_table_spec, after .name.
#define ESK_ROW_SPEC(row)                                                      \
    .columns = row##_columns,                                                  \
    .column_count = sizeof row##_columns / sizeof row##_columns[0],            \
    .row_bytes = sizeof(struct row)

#endif
