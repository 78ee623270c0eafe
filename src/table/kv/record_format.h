// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes of a kv table's log; FORMAT.md, "Kv tables".
#ifndef ESK_TABLE_KV_RECORD_FORMAT_H
#define ESK_TABLE_KV_RECORD_FORMAT_H

/// The first byte of what follows in the stream.
enum esk_kv_lead {
    ESK_KV_PAD = 0,    ///< one byte that means nothing
    ESK_KV_TAIL = 254, ///< a tail mark
    ESK_KV_SEAL = 255, ///< a seal of ESK_SEAL_BYTES follows
    /* 1 .. 253: a record with a key of so many bytes. */
};

/// A tail mark: what stands before it in the log is dropped.
enum esk_kv_tail_offset {
    ESK_KV_TAIL_POSITION = 1, ///< u32, of the first page that counts
    ESK_KV_TAIL_STREAM = 5,   ///< u16, low half of its stream offset
    ESK_KV_TAIL_KEYS = 7,     ///< u32, keys of the table
    ESK_KV_TAIL_LIVE = 11,    ///< u32, bytes of their newest records
    ESK_KV_TAIL_LONGEST = 15, ///< u32, bytes of the longest record, or more
    ESK_KV_TAIL_BYTES = 19,
};

/// What the stream offset rises by when the log goes on after an open, or after
/// a record that was given up.
#define ESK_KV_GAP 0x8000u

/// A record: head, salt if it has one, key, length if it is long, value.
enum esk_kv_record_offset {
    ESK_KV_RECORD_KEY_BYTES = 0, ///< u8
    ESK_KV_RECORD_WORD = 1,      ///< u16, the bits below
    ESK_KV_RECORD_HEAD = 3,
};

enum esk_kv_word {
    ESK_KV_WORD_LONG = 0x07FF, ///< bytes of the value; this: a u32 has them
    ESK_KV_WORD_TYPE = 11,     ///< 3 bits from here: enum esk_kv_type
    ESK_KV_WORD_SALTED = 0x4000,
};
#define ESK_KV_WORD_MORE 0x8000u ///< the next record is of the same batch

/// The low half of a log page's aux.
enum esk_kv_aux {
    ESK_KV_AUX_FIRST = 0x3FFF, ///< where the first item begins; this: none
};
#define ESK_KV_AUX_HEAD 0x8000u ///< the payload begins with a head

/// The head of a bare store.
enum esk_kv_head_offset {
    ESK_KV_HEAD_MAGIC = 0,         ///< the text `EskerKV` and a zero byte
    ESK_KV_HEAD_VERSION = 8,       ///< u16, 1
    ESK_KV_HEAD_CHECKSUM = 10,     ///< u8, enum esk_checksum
    ESK_KV_HEAD_OPTIONS = 11,      ///< two bytes, as option 5
    ESK_KV_HEAD_ERASED_VALUE = 13, ///< u8, geometry
    ESK_KV_HEAD_PAGE_BYTES = 14,   ///< u16, geometry
    ESK_KV_HEAD_BLOCK_PAGES = 16,  ///< u16, geometry
    ESK_KV_HEAD_BLOCK_COUNT = 18,  ///< u16, geometry
    ESK_KV_HEAD_READ_ONLY = 20,    ///< u16, feature word
    ESK_KV_HEAD_INCOMPATIBLE = 22, ///< u16, feature word
    ESK_KV_HEAD_SEED = 24,         ///< u32, of its pages' checksums
    ESK_KV_HEAD_BYTES = 28,
};

#endif
