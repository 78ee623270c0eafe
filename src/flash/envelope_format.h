// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of an envelope's fields; FORMAT.md, "Envelope".
#ifndef ESK_FLASH_ENVELOPE_FORMAT_H
#define ESK_FLASH_ENVELOPE_FORMAT_H

/// The first 16 bytes of every page. Bytes 0..7, the closing part, are
/// programmed last; bytes 8..15, the opening part, first.
enum esk_envelope_offset {
    ESK_ENVELOPE_CHECKSUM = 0, ///< u32, over the page from ESK_ENVELOPE_COUNT
    ESK_ENVELOPE_COUNT = 4,    ///< u16, elements in the page
    ESK_ENVELOPE_KIND = 6,     ///< u8, enum esk_page_kind
    ESK_ENVELOPE_TABLE = 7,    ///< u8, the table's id; 0: the volume's
    ESK_ENVELOPE_SEQUENCE = 8, ///< u32, ring position, or commit number
    ESK_ENVELOPE_AUX = 12,     ///< u32, by kind; see FORMAT.md
    ESK_ENVELOPE_BYTES = 16,   ///< where the payload begins
    ESK_ENVELOPE_OPENING = 8,  ///< where the opening part begins
    ESK_SEAL_BYTES = 8,        ///< a seal: a closing part for fewer elements
};

/// TREE: of a copy-on-write tree. LOG: of a kv table. NODE plus its level: a
/// node in place.
enum esk_page_kind {
    ESK_PAGE_SUPERBLOCK = 0x51,
    ESK_PAGE_CATALOG = 0x52,
    ESK_PAGE_DATA = 0x53,
    ESK_PAGE_INDEX = 0x54,
    ESK_PAGE_VAR = 0x55,
    ESK_PAGE_TREE = 0x56,
    ESK_PAGE_SYNC = 0x57,
    ESK_PAGE_PACKED = 0x58,
    ESK_PAGE_LOG = 0x59,
    ESK_PAGE_SORTED = 0x5B,
    ESK_PAGE_NODE = 0x60,
};

#endif
