// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of the pages of a sorted index; FORMAT.md, "Sorted index pages".
#ifndef ESK_INDEX_SORTED_SORTED_FORMAT_H
#define ESK_INDEX_SORTED_SORTED_FORMAT_H

/// What a page is.
enum esk_sorted_role {
    ESK_SORTED_RUN = 1,     ///< entries of a run
    ESK_SORTED_CLOSING = 2, ///< the last page of a run: its directory
};

/// A page of entries.
enum esk_sorted_run_offset {
    ESK_SORTED_ROLE = 16,       ///< u8, enum esk_sorted_role
    ESK_SORTED_SHIFT = 17,      ///< u8, low bits that values do not have
    ESK_SORTED_BLUR = 18,       ///< u8, low bits that a value may lack
    ESK_SORTED_VALUE_K = 19,    ///< u8, parameter of the first step of values
    ESK_SORTED_PAGE_K = 20,     ///< u8, of the first step of data pages
    ESK_SORTED_RESERVED = 21,   ///< u8, 0
    ESK_SORTED_SPAN = 22,       ///< u16, data positions that the run covers
    ESK_SORTED_DATA_FIRST = 24, ///< u32, the first of them
    ESK_SORTED_VALUE = 28,      ///< u32, of the first entry, >> shift
    ESK_SORTED_COUNT = 32,      ///< u16, entries
    ESK_SORTED_ENTRIES = 34,    ///< where the bits of entries begin
};

/// A closing page: role, span and first position as above.
enum esk_sorted_closing_offset {
    ESK_SORTED_FENCE_SHIFT = 17, ///< u8, low bits that fences do not have
    ESK_SORTED_PAGES = 18,       ///< u16, of the run, right before this one
    ESK_SORTED_OTHERS = 20,      ///< u8, older runs of the level in use
    ESK_SORTED_FENCE_BASE = 28,  ///< u32, of fences
    ESK_SORTED_LISTS = 32,       ///< u32 a run: its closing page, oldest first;
                                 ///< then u32 a page of this run: its fence
};

enum esk_sorted_sizes {
    ESK_SORTED_LIST_ENTRY = 4, ///< of a run or a fence
    ESK_SORTED_ESCAPE = 16,    ///< ones that begin an escape
    ESK_SORTED_SHIFT_MAX = 31, ///< of values and fences
    ESK_SORTED_K_MAX = 25,     ///< of a page's first steps
    ESK_SORTED_MEAN_SHIFT = 5, ///< means are of about 32 steps, in 1/32
    ESK_SORTED_MEAN_UNIT = 46, ///< a mean of 46/32 has the parameter 0
    ESK_SORTED_BLUR_BITS = 8,  ///< of a fence; the rest is its value
};

#endif
