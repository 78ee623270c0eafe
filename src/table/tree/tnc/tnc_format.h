// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of the fields of pages with several nodes; FORMAT.md, "Packed
/// nodes".
#ifndef ESK_TABLE_TREE_TNC_TNC_FORMAT_H
#define ESK_TABLE_TREE_TNC_TNC_FORMAT_H

enum esk_tnc_page_offset {
    ESK_TNC_PAGE_COMMIT = 16, ///< u16, offset of the commit; 0: none
    ESK_TNC_PAGE_BODY = 18,   ///< start of the nodes
};

/// A node: u8 level, then u16 count and the entries as in other trees. A commit
/// is the last of its page and has level 0.
enum esk_tnc_commit_offset {
    ESK_TNC_COMMIT_HEIGHT = 1, ///< u8, levels of the tree; 0: it is empty
    ESK_TNC_COMMIT_ROOT = 2,   ///< u32, the root, as a child
    ESK_TNC_COMMIT_ROWS = 6,   ///< u32, rows of the tree
    ESK_TNC_COMMIT_NODES = 10, ///< u32, nodes of the tree
    ESK_TNC_COMMIT_BEGUN = 14, ///< u32, position where the sweep's pass began
    ESK_TNC_COMMIT_SWEPT = 18, ///< u32, nodes that the pass has written
    ESK_TNC_COMMIT_TAIL = 22,  ///< u32, no page before this position is needed
    ESK_TNC_COMMIT_HAS_KEY = 26, ///< u8, 1: the pass has a last key
    ESK_TNC_COMMIT_KEY = 27,     ///< the last key that the pass has written
};

/// A child: page of the region in bits 8 to 30, number of the node in the page
/// in bits 0 to 7.
enum esk_tnc_child_bits {
    ESK_TNC_CHILD_SLOT_BITS = 8,
};
/// As page of a child: the page that the parent is in.
#define ESK_TNC_CHILD_SELF 0x7FFFFFu

#endif
