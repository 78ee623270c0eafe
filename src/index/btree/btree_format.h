// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Offsets of the fields of tree pages; FORMAT.md, "Trees".
#ifndef ESK_INDEX_BTREE_BTREE_FORMAT_H
#define ESK_INDEX_BTREE_BTREE_FORMAT_H

/// In a page of a copy-on-write tree (wandering, mu).
enum esk_tree_page_offset {
    ESK_TREE_PAGE_LOW = 16,    ///< u8, level of the page's lowest node
    ESK_TREE_PAGE_TOP = 17,    ///< u8, level of its highest node
    ESK_TREE_PAGE_HEIGHT = 18, ///< u8, levels of the tree
    ESK_TREE_PAGE_FLAGS = 19,  ///< u8, below
    ESK_TREE_PAGE_ROWS = 20,   ///< u32, rows of the tree
    ESK_TREE_PAGE_NODES = 24,  ///< u32, nodes of the tree
    ESK_TREE_PAGE_BODY = 28,   ///< start of the nodes (mu)
    ESK_TREE_PAGE_SWEPT = 28,  ///< u32, wandering: the leaf swept last
    ESK_TREE_PAGE_DUE = 32,    ///< u32, wandering: position where the next step
                               ///< of the sweep is due
    ESK_TREE_PAGE_ORDER = 36,  ///< u32, wandering: from here on the leaves that
                               ///< the sweep wrote are in key order
    ESK_TREE_PAGE_NODE = 40,   ///< start of the node (wandering)
};

enum esk_tree_page_flags {
    ESK_TREE_PAGE_COMMIT = 1, ///< the page has the root, which is committed
    /// Values from here up, with ESK_TREE_PAGE_COMMIT: newest pages that mounts
    /// since the tree was created could not read; 127: or more.
    ESK_TREE_PAGE_UNREAD = 2,
    /// Without ESK_TREE_PAGE_COMMIT: a leaf that the sweep wrote.
    ESK_TREE_PAGE_MOVED = 2,
};

/// In a page of packed nodes (tnc); rows, nodes, height and flags as above.
enum esk_tree_packed_offset {
    ESK_TREE_PACKED_COUNT = 16, ///< u8, nodes of the page, 1 .. 255
    ESK_TREE_PACKED_PASS = 17,  ///< u8, 1: a pass of the sweep is under way
    ESK_TREE_PACKED_TAIL = 28,  ///< u32, no page before this position is needed
    ESK_TREE_PACKED_BEGUN = 32, ///< u32, position where the pass began
    ESK_TREE_PACKED_DONE = 36,  ///< u32, nodes that the pass has written
    ESK_TREE_PACKED_BODY = 40,  ///< start of the nodes. Behind the last node of
    ///< a page with a root: the last key of the pass
};

/// A packed node: u8 level, then as other nodes. A child: page of the region in
/// bits 8 to 30, number of the node in the page in bits 0 to 7.
enum esk_tree_packed_node {
    ESK_TREE_PACKED_LEVEL_BYTES = 1,
    ESK_TREE_PACKED_PERCENT_MAX = 50,
    ESK_TREE_PACKED_NUMBER_BITS = 8,
};
/// As page of a child: the page that its parent is in.
#define ESK_TREE_PACKED_SELF UINT32_C(0x7FFFFF)
/// A child that could not be read when its page was about to be erased.
#define ESK_TREE_PACKED_LOST UINT32_C(0x7FFFFE00)

/// The list of a tree in place, kind ESK_PAGE_NODE: pages for new nodes, u32
/// each; the envelope's count is the number of them.
enum esk_tree_list_offset {
    ESK_TREE_LIST_HEAD = 16,  ///< u32, no page from here on was ever used
    ESK_TREE_LIST_ASKED = 20, ///< u16, number of first entries that may be in
                              ///< use
    ESK_TREE_LIST_BODY = 24,  ///< start of the entries
};

/// A node of a copy-on-write tree: u16 count, then the entries; an inner entry
/// ends with its child's page, u32.
enum esk_tree_node_sizes {
    ESK_TREE_NODE_HEAD = 2,
    ESK_TREE_CHILD_BYTES = 4,
};

#endif
