// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Columns, rows and keys: the layout of a row's bytes.
///
/// A row is its columns in the order of their declaration, little-endian,
/// without padding. A variable-length column takes ESK_VAR_REF_BYTES in the
/// row; its bytes are in a separate ring. One column is the key: an integer; in
/// a tree any type but variable bytes.
#ifndef ESKER_SCHEMA_H
#define ESKER_SCHEMA_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bits of the widest key that this build can use: 32 or 64. 32 makes keys
/// cheaper on 8-bit chips; tables with 64-bit keys return ESK_E_UNSUPPORTED.
/// Changes no byte on flash.
#ifndef ESK_KEY_BITS
#define ESK_KEY_BITS 64
#endif

/// A key: the column's value, sign-extended when its type is signed.
#if ESK_KEY_BITS == 32
typedef uint32_t esk_key;
/* A program does not link with a library of another key width. */
#define esk_volume_mount esk_volume_mount_with_32_bit_keys
#define esk_volume_mount_or_format esk_volume_mount_or_format_with_32_bit_keys
#define esk_volume_attach esk_volume_attach_with_32_bit_keys
#define esk_volume_salvage esk_volume_salvage_with_32_bit_keys
#elif ESK_KEY_BITS == 64
typedef uint64_t esk_key;
#else
#error "ESK_KEY_BITS is 32 or 64"
#endif

/// Bounds, so that every buffer has a constant size.
enum esk_schema_limits {
    ESK_NAME_BYTES_MAX = 31, ///< table, column and unit names, without NUL
    ESK_COLUMN_COUNT_MAX = 64,
    ESK_INDEX_COUNT_MAX = 8,   ///< value indexes a table
    ESK_EDGE_COUNT_MAX = 63,   ///< given bucket edges an index
    ESK_VAR_REF_BYTES = 6,     ///< what a variable column takes in a row
    ESK_MISSING_BYTES_MAX = 4, ///< widest column with a missing value
};

/// Column types. The values are on flash and never change.
enum esk_type {
    ESK_TYPE_I8 = 1,
    ESK_TYPE_I16 = 2,
    ESK_TYPE_I32 = 3,
    ESK_TYPE_I64 = 4,
    ESK_TYPE_U8 = 5,
    ESK_TYPE_U16 = 6,
    ESK_TYPE_U32 = 7,
    ESK_TYPE_U64 = 8,
    ESK_TYPE_F32 = 9,
    ESK_TYPE_F64 = 10,
    ESK_TYPE_BYTES = 11, ///< fixed number of bytes, `bytes` in the column
    ESK_TYPE_VAR = 12,   ///< variable-length bytes, at most one a table
};

/// A number of a column's type: set the member with the name of the type. f64
/// needs a double of 64 bits; AVR's has 32.
union esk_number {
    int64_t i;  ///< i8 .. i64
    uint64_t u; ///< u8 .. u64
    float f32;
#if __SIZEOF_DOUBLE__ == 8
    double f64;
#endif
    uint64_t f64_bits; ///< f64 as its IEEE 754 bits
};

/// Properties of a column beside its type. On flash.
enum esk_column_flags {
    /// Bytes, fixed or variable, that are UTF-8. In a fixed width the text ends
    /// before the first zero byte.
    ESK_COLUMN_TEXT = 1u << 0,
    /// It has a missing value: as returned by esk_volume_column. Not to be set
    /// in struct esk_column, where `missing` says it.
    ESK_COLUMN_MISSING = 1u << 1,
};

/// How a packed series (enum esk_codec) writes a column's values. A number of
/// decimals, 0 .. 3, is added to ESK_PACK_DECIMAL.
enum esk_pack_mode {
    ESK_PACK_DEFAULT = 0, ///< the key linear, integers delta, f32 float, else
                          ///< raw
    ESK_PACK_DELTA = 1,   ///< integers: the change
    ESK_PACK_LINEAR = 2,  ///< integers: the change of the change
    ESK_PACK_FLOAT = 3,   ///< f32: the change of its bits, in order form
    ESK_PACK_DECIMAL = 4, ///< f32 that are decimal numbers: the change of the
                          ///< number. Other values are stored whole.
    ESK_PACK_DECIMAL_MAX = 7,
    ESK_PACK_RAW = 8, ///< whether it changed, and then its bytes; not the key
};

/// One column. Strings are borrowed, NUL-terminated UTF-8.
struct esk_column {
    const char *name; ///< 1 .. ESK_NAME_BYTES_MAX bytes, unique in the table
    const char *unit; ///< "degC", "ms"; NULL or "" for none
    uint8_t type;     ///< enum esk_type
    uint16_t bytes;   ///< ESK_TYPE_BYTES only: its width, 1 .. 1024
    uint8_t flags;    ///< enum esk_column_flags
    /// The value that stands for "no value", little-endian as in a row, of a
    /// numeric column of at most ESK_MISSING_BYTES_MAX bytes, not the key: no
    /// range has it, and SQL reads it as NULL. NULL: none.
    const void *missing;
    uint8_t mode; ///< enum esk_pack_mode; 0 if the table is not packed
};

/// What a value index is. A column may have one of each kind.
enum esk_index_kind {
    ESK_INDEX_SUMMARY = 0, ///< of each page: a zone map, and a bitmap
    /// The column's values in their order, with the pages that have them: for
    /// few rows in the middle of noisy data. At most one in a table. For
    /// programs with some 40 KB of RAM; needs esk_series_part_sorted.
    ESK_INDEX_SORTED = 1,
};

enum {
    ESK_SORTED_ENTRIES_MIN = 256, ///< of struct esk_index_spec; also the unit
};

enum {
    ESK_BITMAP_DEFAULT = 64, ///< buckets, where bitmap_bits is 0
    ESK_BITMAP_NONE = 1,     ///< one bucket, the whole range: a zone map alone
};

/// One value index: a zone map and a bitmap; or a sorted one.
struct esk_index_spec {
    uint8_t column; ///< a numeric column of at most 8 bytes, not the key;
                    ///< sorted: of at most 4
    /// Buckets: 8, 16, 32 or 64; 0: ESK_BITMAP_DEFAULT. With 64, ten rows
    /// anywhere in noisy data cost the fewest page reads; data that changes
    /// slowly needs none: ESK_BITMAP_NONE. Never 0 where a call returns it.
    uint8_t bitmap_bits;
    /// Given bucket edges, rising, in the column's own little-endian bytes;
    /// bucket i holds values >= edge i-1 and < edge i. NULL: buckets are
    /// learned, a grid fitted to each page's own range.
    const void *edges;
    uint8_t edge_count; ///< < buckets when edges are given
    uint8_t kind;       ///< enum esk_index_kind

    /* Of a sorted index, whose bitmap_bits, edges and edge_count are 0. */

    /// Runs of values that are merged at a time, 2 .. 8; 0: 5.
    uint8_t fan;
    /// Values in RAM, of 6 bytes each, 256 .. 65,280, rounded down to a
    /// multiple of 256; 0: 4,608. With more of them a query reads fewer pages.
    uint16_t entries;
};

/// The part of a specification that tables of all kinds have: struct
/// esk_series_spec and struct esk_tree_spec begin with it. Everything in it but
/// row_bytes is stored in the catalog. C++20 names members in this order.
struct esk_table_spec {
    const char *name; ///< 1 .. ESK_NAME_BYTES_MAX bytes, unique
    const struct esk_column *columns;
    uint8_t column_count; ///< 1 .. ESK_COLUMN_COUNT_MAX
    uint16_t row_bytes;   ///< sizeof the program's row
    uint8_t key_column;   ///< which column is the key
    uint32_t version;     ///< the program's own number for the columns; create
                          ///< and add_columns store it, opens ignore it
};

/// What is wrong with a schema, and where.
enum esk_fault_kind {
    ESK_FAULT_NONE = 0,
    ESK_FAULT_TABLE_NAME,  ///< empty or too long
    ESK_FAULT_NO_COLUMNS,  ///< none, or more than the limit
    ESK_FAULT_COLUMN_NAME, ///< empty or too long
    ESK_FAULT_COLUMN_DUPLICATE,
    ESK_FAULT_COLUMN_TYPE,     ///< not an esk_type, or a width or flags out of
                               ///< range
    ESK_FAULT_UNIT,            ///< too long
    ESK_FAULT_NO_KEY,          ///< key_column names no column
    ESK_FAULT_KEY_TYPE,        ///< the key column cannot be one
    ESK_FAULT_VAR_COUNT,       ///< more than one variable column
    ESK_FAULT_ROW_TOO_WIDE,    ///< one row does not fit a page
    ESK_FAULT_INDEX_COLUMN,    ///< no such column, not numeric, or the key
    ESK_FAULT_INDEX_BITMAP,    ///< bitmap_bits not 0, 1, 8, 16, 32 or 64
    ESK_FAULT_INDEX_EDGES,     ///< not rising, or too many for the bitmap
    ESK_FAULT_INDEX_DUPLICATE, ///< a column is indexed twice
    ESK_FAULT_INDEX_TOO_WIDE,  ///< two index entries do not fit a page
    ESK_FAULT_OPTION,          ///< full_policy or group_pages
    ESK_FAULT_REGION,          ///< too few blocks for a ring
    ESK_FAULT_TOO_LARGE,       ///< the catalog has no room for the table
    ESK_FAULT_STORE,           ///< no such tree store, or another than that of
                               ///< the tree's config; k out of range
    ESK_FAULT_ROW_STRUCT,      ///< row_bytes are not those of the columns
    ESK_FAULT_NO_ROOM,         ///< too few blocks in a row are free

    /* A table of that name exists and differs. */

    ESK_FAULT_OTHER_KIND,    ///< series, tree, ...
    ESK_FAULT_OTHER_COUNT,   ///< of columns
    ESK_FAULT_OTHER_NAME,    ///< of a column
    ESK_FAULT_OTHER_TYPE,    ///< of a column
    ESK_FAULT_OTHER_WIDTH,   ///< of a column
    ESK_FAULT_OTHER_KEY,     ///< number of the key column
    ESK_FAULT_OTHER_OPTION,  ///< a tree's store; a series' full_policy, and 2
                             ///< where keys repeat
    ESK_FAULT_OTHER_FLAGS,   ///< of a column: text or bytes
    ESK_FAULT_OTHER_UNIT,    ///< of a column
    ESK_FAULT_OTHER_MISSING, ///< of a column

    ESK_FAULT_MISSING, ///< the column cannot have a missing value, or not NaN
    ESK_FAULT_MODE,    ///< the column cannot have this mode
    ESK_FAULT_CODEC, ///< no such codec; or cell_bytes are no power of two, out
                     ///< of range, or too few for a row

    /* A table of that name exists and differs. */

    ESK_FAULT_OTHER_CODEC, ///< enum esk_codec
    ESK_FAULT_OTHER_CELLS, ///< cell_bytes
    ESK_FAULT_OTHER_MODE,  ///< of a column, as the catalog has it: 0 for raw

    ESK_FAULT_INDEX_SORTED, ///< entries or fan of a sorted index are out of
                            ///< range, it has buckets, or it is the second one
};

struct esk_fault {
    uint8_t kind;    ///< enum esk_fault_kind
    uint8_t column;  ///< the wrong column, or the index for index faults
    uint32_t wanted; ///< by the program, from ESK_FAULT_ROW_STRUCT on: a kind,
                     ///< a count, a type, bytes, a number, or blocks
    uint32_t found;  ///< the same on the volume
};

/// Returns a sentence for `kind`, static, never NULL.
const char *esk_fault_text(uint8_t kind);

/// Bytes of one row of `columns`; 0 when a type is unknown, or they are more
/// than 65,535.
uint16_t esk_row_bytes(const struct esk_column *columns, uint8_t count);

/// Offset of column `index` in a row; `index` < count.
uint16_t esk_row_offset(const struct esk_column *columns, uint8_t index);

/// Bytes that a column of `type` takes in a row: `bytes` for ESK_TYPE_BYTES.
uint16_t esk_type_bytes(uint8_t type, uint16_t bytes);

#ifdef __cplusplus
}
#endif

#endif
