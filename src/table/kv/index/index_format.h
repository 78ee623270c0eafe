// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes of the pages of a kv table's index; FORMAT.md, "Index of a kv table".
#ifndef ESK_TABLE_KV_INDEX_INDEX_FORMAT_H
#define ESK_TABLE_KV_INDEX_INDEX_FORMAT_H

/// The high byte of an index page's aux; the others are its number: of the
/// leaf, or the inner node; 0: of the root.
enum esk_kv_level {
    ESK_KV_LEVEL_LEAF = 0,
    ESK_KV_LEVEL_INNER = 1,
    ESK_KV_LEVEL_ROOT = 2,
    ESK_KV_LEVEL_SHIFT = 24, ///< where it begins in aux
};

/// A page's reference: its number in the region. All ones: there is none; one
/// less: it was lost, and its entries are only in the log.
#define ESK_KV_REF_NONE UINT32_MAX
#define ESK_KV_REF_LOST (UINT32_MAX - 1)

/// A leaf: this, then entries of a hash's low bytes and an address.
enum esk_kv_leaf_offset {
    ESK_KV_LEAF_APPLIED = 0, ///< u32, mark: what is in the log from here on is
                             ///< newer than the leaf
    ESK_KV_LEAF_MORE = 4,    ///< u32, reference of a page with more entries
    ESK_KV_LEAF_COUNT = 8,   ///< u16, entries
    ESK_KV_LEAF_HEAD = 10,
};

enum { ESK_KV_SEGMENTS = 16 }; ///< of the leaves, each with a log position

/// The root: this, then the references of the inner nodes. Marks are those of
/// the log, in bytes: a page's position times its bytes, and an offset in it.
enum esk_kv_root_offset {
    ESK_KV_ROOT_APPLIED = 0,  ///< u32, mark: what is before it is in the counts
    ESK_KV_ROOT_KEYS = 4,     ///< u32
    ESK_KV_ROOT_LIVE = 8,     ///< u32, bytes of the newest records
    ESK_KV_ROOT_LONGEST = 12, ///< u32, bytes of the longest record, or more
    ESK_KV_ROOT_TAIL = 16,    ///< u32, position of the log's tail
    ESK_KV_ROOT_HAND = 20,    ///< u32, the leaf that is written next
    ESK_KV_ROOT_ENTERED = 24, ///< u32, mark: when its segment was begun
    ESK_KV_ROOT_SALT_MAX = 28, ///< u8, of the table's records
    ESK_KV_ROOT_FROM = 29, ///< u32 each segment, mark: what is before it is in
                           ///< the segment's leaves
    ESK_KV_ROOT_HEAD = 93, ///< behind ESK_KV_SEGMENTS marks
};

#endif
