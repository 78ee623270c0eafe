// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Where the superblock's and the catalog's fields are; FORMAT.md,
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
    ESK_SUPER_UUID = 28,          ///< 16 bytes
    ESK_SUPER_BLOCK_COUNT = 44,   ///< u32
    ESK_SUPER_BLOCK_PAGES = 48,   ///< u16
    ESK_SUPER_PAGE_BYTES = 50,    ///< u16
    ESK_SUPER_SPARE_BYTES = 52,   ///< u16
    ESK_SUPER_PROGRAM_BYTES = 54, ///< u16
    ESK_SUPER_PROGRAMS_MAX = 56,  ///< u8
    ESK_SUPER_ERASED_VALUE = 57,  ///< u8
    ESK_SUPER_MEDIUM_FLAGS = 58,  ///< u8, enum esk_medium_flags
    ESK_SUPER_TABLE_NEXT = 59,    ///< u8, id the next table gets
    ESK_SUPER_SEED = 60,          ///< u32, start value of checksums
    ESK_SUPER_HALF_BLOCKS = 64,   ///< u32, blocks of a meta half
    ESK_SUPER_HALF_PAGES = 68,    ///< u16, pages of a half in use
    ESK_SUPER_CATALOG_PAGES = 70, ///< u16, descriptor pages in use
    ESK_SUPER_END = 72,           ///< end of the superblock
};

/// In a table's descriptor, a stream of bytes over the payloads of its pages.
enum esk_descriptor_offset {
    ESK_DESCRIPTOR_ID = 0,           ///< u8
    ESK_DESCRIPTOR_KIND = 1,         ///< u8, enum esk_table_kind
    ESK_DESCRIPTOR_COLUMN_COUNT = 2, ///< u8
    ESK_DESCRIPTOR_KEY_COLUMN = 3,   ///< u8
    ESK_DESCRIPTOR_INDEX_COUNT = 4,  ///< u8
    ESK_DESCRIPTOR_FULL_POLICY = 5,  ///< u8, enum esk_full_policy
    ESK_DESCRIPTOR_GROUP_PAGES = 6,  ///< u8
    ESK_DESCRIPTOR_RUN_PAGES = 7,    ///< u8
    ESK_DESCRIPTOR_ROW_BYTES = 8,    ///< u16
    ESK_DESCRIPTOR_CODEC = 10,       ///< u8, 0: raw
    ESK_DESCRIPTOR_FLOOR_SET = 11,   ///< u8, 1: floor_key holds
    ESK_DESCRIPTOR_SEED = 12,        ///< u32
    ESK_DESCRIPTOR_BLOCK = 16,       ///< u32 x 3, data, index, var
    ESK_DESCRIPTOR_BLOCKS = 28,      ///< u32 x 3
    ESK_DESCRIPTOR_TAIL_HINT = 40,   ///< u32
    ESK_DESCRIPTOR_FLOOR_KEY = 44,   ///< u64
    ESK_DESCRIPTOR_SYNC_BLOCKS = 52, ///< u8, of the data region
    ESK_DESCRIPTOR_NAME = 53,        ///< u8 length, then the name
};

/// A column in the descriptor: type u8, bytes u16, name length u8, unit
/// length u8, name, unit. An index: column u8, bitmap bits u8, edge count u8,
/// edges, each of the column's width.
enum esk_descriptor_sizes {
    ESK_DESCRIPTOR_COLUMN_HEAD = 5,
    ESK_DESCRIPTOR_INDEX_HEAD = 3,
};

#endif
