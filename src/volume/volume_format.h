// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of the superblock's and the catalog's fields; FORMAT.md,
/// "Superblock" and "Catalog".
#ifndef ESK_VOLUME_VOLUME_FORMAT_H
#define ESK_VOLUME_VOLUME_FORMAT_H

#define ESK_SUPER_MAGIC_TEXT "EskerDB"

enum esk_format_version {
    ESK_FORMAT_VERSION = 1,
};

/// In the superblock page.
enum esk_super_offset {
    ESK_SUPER_MAGIC = 16,         ///< "EskerDB" and a NUL
    ESK_SUPER_VERSION = 24,       ///< u16, ESK_FORMAT_VERSION
    ESK_SUPER_CHECKSUM = 26,      ///< u8, enum esk_checksum
    ESK_SUPER_TABLES_MAX = 27,    ///< u8
    ESK_SUPER_COMPATIBLE = 28,    ///< u32, features: may be ignored
    ESK_SUPER_READ_ONLY = 32,     ///< u32, features: needed to write
    ESK_SUPER_INCOMPATIBLE = 36,  ///< u32, features: needed to read
    ESK_SUPER_UUID = 40,          ///< 16 bytes
    ESK_SUPER_BLOCK_COUNT = 56,   ///< u32
    ESK_SUPER_BLOCK_PAGES = 60,   ///< u16
    ESK_SUPER_PAGE_BYTES = 62,    ///< u16
    ESK_SUPER_SPARE_BYTES = 64,   ///< u16
    ESK_SUPER_PROGRAM_BYTES = 66, ///< u16
    ESK_SUPER_PROGRAMS_MAX = 68,  ///< u8
    ESK_SUPER_ERASED_VALUE = 69,  ///< u8
    ESK_SUPER_MEDIUM_FLAGS = 70,  ///< u8, enum esk_medium_flags
    ESK_SUPER_TABLE_NEXT = 71,    ///< u8, id of the next table
    ESK_SUPER_SEED = 72,          ///< u32, start value of checksums
    ESK_SUPER_HALF_BLOCKS = 76,   ///< u32, blocks of a meta half
    ESK_SUPER_HALF_PAGES = 80,    ///< u16, pages of a half in use
    ESK_SUPER_CATALOG_PAGES = 82, ///< u16, descriptor pages in use
    ESK_SUPER_EPOCH = 84,         ///< u32, 0: reserved for encryption
    ESK_SUPER_END = 88,           ///< end of the superblock
};

/// In a table's descriptor, a stream of bytes over the payloads of its pages.
enum esk_descriptor_offset {
    ESK_DESCRIPTOR_ID = 0,             ///< u8
    ESK_DESCRIPTOR_KIND = 1,           ///< u8, enum esk_table_kind
    ESK_DESCRIPTOR_CODEC = 2,          ///< u8, 0: raw
    ESK_DESCRIPTOR_COLUMN_COUNT = 3,   ///< u8
    ESK_DESCRIPTOR_KEY_COLUMN = 4,     ///< u8
    ESK_DESCRIPTOR_INDEX_COUNT = 5,    ///< u8
    ESK_DESCRIPTOR_REGION_COUNT = 6,   ///< u8
    ESK_DESCRIPTOR_NAME_BYTES = 7,     ///< u8
    ESK_DESCRIPTOR_ROW_BYTES = 8,      ///< u16
    ESK_DESCRIPTOR_COMPATIBLE = 10,    ///< u16, features as a superblock's
    ESK_DESCRIPTOR_READ_ONLY = 12,     ///< u16
    ESK_DESCRIPTOR_INCOMPATIBLE = 14,  ///< u16
    ESK_DESCRIPTOR_SEED = 16,          ///< u32
    ESK_DESCRIPTOR_VERSION = 20,       ///< u32, the program's number
    ESK_DESCRIPTOR_OPTIONS_BYTES = 24, ///< u16
    ESK_DESCRIPTOR_NAME = 26,          ///< the name
};

/// After the name: options, regions, columns, indexes, each a run of entries.
enum esk_descriptor_sizes {
    ESK_OPTION_HEAD = 2,         ///< tag u8, bytes u8
    ESK_CATALOG_REGION = 9,      ///< role u8, first block u32, blocks u32
    ESK_CATALOG_COLUMN_HEAD = 9, ///< up to the name
    ESK_CATALOG_INDEX_HEAD = 6,  ///< up to the edges
};

/// In a column's entry.
enum esk_catalog_column_offset {
    ESK_CATALOG_COLUMN_ENTRY_BYTES = 0, ///< u16, bytes behind these two
    ESK_CATALOG_COLUMN_TYPE = 2,        ///< u8, enum esk_type
    ESK_CATALOG_COLUMN_FLAGS = 3,       ///< u8, enum esk_column_flags
    ESK_CATALOG_COLUMN_BYTES = 4,       ///< u16, width in the row
    ESK_CATALOG_COLUMN_MODE = 6, ///< u8, of the codec; 0 where it has none
    ESK_CATALOG_COLUMN_NAME_BYTES = 7, ///< u8
    ESK_CATALOG_COLUMN_UNIT_BYTES = 8, ///< u8
};

/// In an index's entry.
enum esk_catalog_index_offset {
    ESK_CATALOG_INDEX_ENTRY_BYTES = 0, ///< u16, bytes behind these two
    ESK_CATALOG_INDEX_KIND = 2,        ///< u8, 1: summary, 2: sorted
    ESK_CATALOG_INDEX_COLUMN = 3,      ///< u8
    ESK_CATALOG_INDEX_BITMAP_BITS = 4, ///< u8
    ESK_CATALOG_INDEX_EDGE_COUNT = 5,  ///< u8
    ESK_CATALOG_INDEX_ENTRIES = 4, ///< u8, sorted: entries of the buffer / 256
    ESK_CATALOG_INDEX_FAN = 5,     ///< u8, sorted: runs merged at a time
};

enum esk_catalog_index_kind {
    ESK_CATALOG_INDEX_SUMMARY = 1,
    ESK_CATALOG_INDEX_SORTED = 2,
};

/// Tags of options. A reader skips an unknown tag; a feature word says whether
/// that is allowed.
enum esk_option_tag {
    ESK_OPTION_SERIES = 1, ///< group_pages, run_pages, full policy, flags: u8
    ESK_OPTION_TAIL = 2,   ///< flags u8, data position u32, floor key u64
    ESK_OPTION_TREE = 3,   ///< store u8, k in percent u8
    ESK_OPTION_BREAKS = 4, ///< places where a series was broken off
    ESK_OPTION_KV = 5,     ///< of a kv table, enum esk_option_kv_offset
    ESK_OPTION_PACKED = 6, ///< bytes of a cell and of the unit, u8
};

/// Option 6: both as powers of two.
enum esk_option_packed {
    ESK_PACKED_CELL_MASK = 15, ///< bits of the cell's bytes
    ESK_PACKED_UNIT_SHIFT = 4, ///< where the unit's begin
};

enum esk_option_kv_offset {
    ESK_OPTION_KV_FLAGS = 0,
    ESK_OPTION_KV_PERCENT = 1, ///< u8, most percent of live bytes
    ESK_OPTION_KV_BYTES = 2,
    ESK_OPTION_KV_KEYS = 2,   ///< u32, most keys, with an index
    ESK_OPTION_KV_LEAVES = 6, ///< u32, of the index
    ESK_OPTION_KV_INDEX_BYTES = 10,
};

/// Flags of option ESK_OPTION_KV.
enum esk_option_kv_flag {
    ESK_OPTION_KV_WIDE = 1u << 0,  ///< hashes have 32 bits, else 16
    ESK_OPTION_KV_INDEX = 1u << 1, ///< there is an index: they have 24
};

/// Flags of option ESK_OPTION_SERIES.
enum esk_option_series_flag {
    ESK_OPTION_KEYS_REPEAT = 1u << 0, ///< rows in a row may have the same key
};

/// In option ESK_OPTION_BREAKS: a head, then breaks, the oldest first.
enum esk_option_breaks_offset {
    ESK_OPTION_BREAKS_SYNC = 0,  ///< u32, first valid sync journal position
    ESK_OPTION_BREAKS_INDEX = 4, ///< u32, first index position with valid knots
    ESK_OPTION_BREAKS_ORDINAL = 8, ///< u32, of the first row after the last
                                   ///< break
    ESK_OPTION_BREAKS_HEAD = 12,
};

/// In a break.
enum esk_option_break_offset {
    ESK_OPTION_BREAK_END = 0,        ///< u32, no data position from here on ...
    ESK_OPTION_BREAK_START = 4,      ///< u32, ... up to here has a page
    ESK_OPTION_BREAK_COUNT = 8,      ///< u16, most rows of the page before END
    ESK_OPTION_BREAK_ROW_BYTES = 10, ///< u16, of the rows before END
    ESK_OPTION_BREAK_BYTES = 12,
};

enum esk_option_tail_offset {
    ESK_OPTION_TAIL_FLAGS = 0,     ///< 1: the floor key is valid
    ESK_OPTION_TAIL_POSITION = 1,  ///< data positions below are dropped
    ESK_OPTION_TAIL_FLOOR_KEY = 5, ///< in order form: rows below are dropped
    ESK_OPTION_TAIL_BYTES = 13,
};

#endif
