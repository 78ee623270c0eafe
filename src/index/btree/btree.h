// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The B+-tree's node as bytes: its layout in a page, and the operations on it.
/// No I/O.
///
///     leaf    row 0 | row 1 | ...            rows in the schema's layout
///     inner   key 0, child 0 | key 1, child 1 | ...
///
/// Child i of an inner node has the keys from key i up to key i + 1. Key 0 is
/// not compared: the first child also takes all smaller keys.
///
/// Invariants
///  1. Keys of a node rise strictly.
///  2. Every key of a node, key 0 too, is in the range that its ancestors give
///     the node, so a search for any of them at its level finds the node.
#ifndef ESK_INDEX_BTREE_BTREE_H
#define ESK_INDEX_BTREE_BTREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/order.h"
#include "base/shape.h"
#include "esker/tree.h"
#include "flash/envelope_format.h"
#include "index/btree/btree_format.h"

/// A child that is in the same page as its parent.
#define ESK_BTREE_SELF ESK_ADDRESS_NONE

/// A node in a page in RAM.
struct esk_btree_node {
    uint8_t *count;   ///< its u16
    uint8_t *entries; ///< its first entry
    uint16_t bytes;   ///< of an entry
    uint16_t key;     ///< offset of an entry's key
    uint16_t capacity;
};

/// Lays out one node a page, from `body` on.
void esk_btree_layout_whole(struct esk_btree_layout *layout, uint16_t body,
                            uint16_t page_bytes);

/// Lays out a node of every level in a page: each level gets k_percent of the
/// room that the levels below it left, the root all of it (mu-Tree, Algorithm
/// 1; k-partitioning, lrun-kmutree-2012 Fig. 10; here leaves come first).
/// Levels with room for less than two entries are left out.
void esk_btree_layout_shared(struct esk_btree_layout *layout,
                             uint16_t page_bytes, uint8_t k_percent);

/// `layout`, or the layout that the program is compiled for.
static inline const struct esk_btree_layout *
esk_btree_layout_of(const struct esk_btree_layout *layout) {
    return ESK_SHAPED_TREE(&esk_shape_tree, layout);
}

/// Most entries of a node of `level` in a tree of `height` levels. The root of
/// a shared page has at most what two nodes below a new root can take.
static inline uint16_t esk_btree_capacity(const struct esk_btree_layout *layout,
                                          uint8_t level, uint8_t height) {
    layout = esk_btree_layout_of(layout);
    uint8_t at = (uint8_t)(level - 1u);
    return ESK_SHAPED_TREE(!esk_shape_tree.shares, false) /* one node a page */
               ? layout->node_entries[at > 0]
               : level < height ? layout->node_entries[at]
                                : layout->root_entries[at];
}

/// Where the node of `level` begins in a page.
static inline uint16_t esk_btree_offset(const struct esk_btree_layout *layout,
                                        uint8_t level) {
    return ESK_SHAPED_TREE(!esk_shape_tree.shares, false)
               ? esk_btree_layout_of(layout)->offset[0]
               : esk_btree_layout_of(layout)->offset[level - 1];
}

/// Bytes of an entry of a node of `level`.
static inline uint16_t
esk_btree_entry_bytes(const struct esk_btree_layout *layout, uint8_t level) {
    layout = esk_btree_layout_of(layout);
    return level == 1 ? layout->row_bytes
                      : (uint16_t)(layout->key_bytes + ESK_TREE_CHILD_BYTES);
}

/// Whether leaves have room for two rows and inner nodes for two children.
bool esk_btree_layout_is_sound(const struct esk_btree_layout *layout);

/// Fills in `node` for the node of `level` in `page`.
void esk_btree_view(const struct esk_btree_layout *layout, uint8_t *page,
                    uint8_t level, uint8_t height, struct esk_btree_node *node);

/// The same, inlined.
static inline void esk_btree_view_inline(const struct esk_btree_layout *layout,
                                         uint8_t *page, uint8_t level,
                                         uint8_t height,
                                         struct esk_btree_node *node) {
    layout = esk_btree_layout_of(layout);
    uint8_t *base = page + esk_btree_offset(layout, level);
    node->count = page + ESK_ENVELOPE_COUNT;
    if (layout->counts_inside) {
        node->count = base;
        base += ESK_TREE_NODE_HEAD;
    }
    node->entries = base;
    node->capacity = esk_btree_capacity(layout, level, height);
    node->bytes = esk_btree_entry_bytes(layout, level);
    node->key = level == 1 ? layout->key_offset : 0;
}

/// esk_btree_view for the way down a tree: inlined, but in a build for size.
static inline void esk_btree_view_often(const struct esk_btree_layout *layout,
                                        uint8_t *page, uint8_t level,
                                        uint8_t height,
                                        struct esk_btree_node *node) {
    (ESK_SMALL ? esk_btree_view : esk_btree_view_inline)(layout, page, level,
                                                         height, node);
}

static inline uint16_t esk_btree_count(const struct esk_btree_node *node) {
    return esk_load_u16(node->count);
}

static inline uint8_t *esk_btree_entry(const struct esk_btree_node *node,
                                       uint16_t index) {
    return node->entries + (uint16_t)(index * node->bytes);
}

static inline uint8_t *esk_btree_key(const struct esk_btree_node *node,
                                     uint16_t index) {
    return esk_btree_entry(node, index) + node->key;
}

/// The child's page number in an inner node's entry.
static inline uint8_t *esk_btree_child(const struct esk_btree_node *node,
                                       uint16_t index) {
    return esk_btree_entry(node, index) + node->bytes - ESK_TREE_CHILD_BYTES;
}

/// Compares two keys: below 0, 0 or above 0.
int8_t esk_btree_compare(const struct esk_btree_layout *layout,
                         const uint8_t *a, const uint8_t *b);

/// The first entry from `from` on whose key is not below `key`; the count when
/// there is none. found: that key is equal to `key`.
/// Costs log2(count) comparisons.
uint16_t esk_btree_search(const struct esk_btree_layout *layout,
                          const struct esk_btree_node *node, uint16_t from,
                          const uint8_t *key, bool *found);

/// The child of an inner node whose range contains `key`.
uint16_t esk_btree_descend(const struct esk_btree_layout *layout,
                           const struct esk_btree_node *node,
                           const uint8_t *key);

enum {
    ESK_BTREE_WORD = 4, ///< bytes of a key that is a word
    ESK_BTREE_WORD_ENTRY = ESK_BTREE_WORD + ESK_TREE_CHILD_BYTES,
};

/// Order form of a key that is a word.
static inline uint32_t esk_btree_word(uint8_t type, const uint8_t *key) {
    uint32_t order = esk_load_u32(key);
    return type == ESK_TYPE_I32 ? order ^ ESK_ORDER_WORD_SIGN : order;
}

/// esk_btree_descend by the `count` entries of an inner node whose keys are
/// words. after: the key's order form plus 1; 0: no key is larger.
static inline uint16_t esk_btree_descend_word(uint8_t type,
                                              const uint8_t *entries,
                                              uint16_t count, uint32_t after) {
    /* Keys up to the key are those below the next key. */
    uint16_t last = (uint16_t)(count - 1u);
    return after == 0
               ? last
               : esk_order_rank_often(type, entries + ESK_BTREE_WORD_ENTRY,
                                      ESK_BTREE_WORD_ENTRY, last, after);
}

/// esk_btree_search from 0 on for a key that is a word, by its order form.
static inline uint16_t esk_btree_search_word(uint8_t type,
                                             const struct esk_btree_node *node,
                                             const uint8_t *key, uint32_t order,
                                             bool *found) {
    uint16_t count = esk_btree_count(node);
    const uint8_t *keys = node->entries + node->key;
    uint16_t index =
        esk_order_rank_often(type, keys, node->bytes, count, order);
    *found =
        index < count && esk_load_u32(keys + (uint16_t)(index * node->bytes)) ==
                             esk_load_u32(key);
    return index;
}

/// Inserts `entry` at `index`; count < capacity.
void esk_btree_insert(const struct esk_btree_node *node, uint16_t index,
                      const uint8_t *entry);

/// Removes entry `index`.
void esk_btree_remove(const struct esk_btree_node *node, uint16_t index);

/// Moves the entries from `at` on to `right`, which gets no others. Their bytes
/// in `node` stay, behind its count.
void esk_btree_split(const struct esk_btree_node *node, uint16_t at,
                     const struct esk_btree_node *right);

/// Inserts the entries of `from` at `index`; they fit.
void esk_btree_join(const struct esk_btree_node *node, uint16_t index,
                    const struct esk_btree_node *from);

/// Whether keys rise strictly (from key 1 on in an inner node).
bool esk_btree_rises(const struct esk_btree_layout *layout,
                     const struct esk_btree_node *node, bool is_leaf);

#endif
