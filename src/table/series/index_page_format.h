// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of an index page's fields; FORMAT.md, "Index page".
#ifndef ESK_TABLE_SERIES_INDEX_PAGE_FORMAT_H
#define ESK_TABLE_SERIES_INDEX_PAGE_FORMAT_H

/// In a page of kind ESK_PAGE_INDEX. The envelope's count is the payload bytes
/// in use, its aux the first data position that the page covers.
enum esk_index_offset {
    ESK_INDEX_START = 16,       ///< u32, data position of the first entry
    ESK_INDEX_ENTRIES = 20,     ///< u16, entries: data pages, or index pages
    ESK_INDEX_KNOTS = 22,       ///< u16, entries of the knots section
    ESK_INDEX_ROLE = 24,        ///< u8, enum esk_index_role
    ESK_INDEX_LEVEL = 25,       ///< u8, level of the knots section
    ESK_INDEX_FLAGS = 26,       ///< u8, enum esk_index_flags
    ESK_INDEX_ERROR = 27,       ///< u8, the spline's error bound in 1/16 page
    ESK_INDEX_ZONE_BODY = 28,   ///< start of a zone page's entries
    ESK_INDEX_NODE_PREV = 28,   ///< u32, closed node of this level before it
    ESK_INDEX_NODE_OPEN_0 = 32, ///< u32, open node of level 0
    ESK_INDEX_NODE_OPEN_1 = 36, ///< u32, open node of level 1
    ESK_INDEX_NODE_BODY = 40,   ///< start of other index pages' entries
};

enum esk_index_role {
    ESK_INDEX_ZONE_PAGE = 1,    ///< entries for a run of data pages
    ESK_INDEX_SUMMARY_PAGE = 2, ///< entries for its group's zone pages; a node
    ESK_INDEX_NODE_PAGE = 3,    ///< a node only
};

enum esk_index_flags {
    ESK_INDEX_GAP_EMPTY = 1, ///< pages from aux to start have no rows
    ESK_INDEX_LAST = 2,      ///< the knots section ends with the last point
};

#endif
