// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// TNC, the tree node cache: a B+-tree of which some nodes are in RAM, where
/// changed nodes wait to be written together (tnc-ubifs-2010, section 6).
///
///     root, RAM, dirty
///     |-- inner, RAM, dirty
///     |   |-- leaf, RAM, dirty    waits for the commit
///     |   |-- leaf, RAM, clean    a clean-up may drop it
///     |   '-- leaf, flash
///     '-- inner, flash            all nodes below it are on flash, too
///
/// A node is as in index/btree: u16 count, then the entries. It does not know
/// where a medium has it: struct esk_tnc_io reads and writes nodes.
///
/// Invariants
///  1. A node in RAM is the root or has its parent in RAM.
///  2. The parent of a dirty node is dirty, so a commit writes exactly the
///     dirty nodes, children before parents.
///  3. An inner entry names the child's slot while the child is in RAM, else
///     the child's address.
///  4. A clean node has an address.
#ifndef ESK_TABLE_TREE_TNC_TNC_H
#define ESK_TABLE_TREE_TNC_TNC_H

#include "index/btree/btree.h"

enum {
    ESK_TNC_HEIGHT_MAX = 24,
    ESK_TNC_FANOUT_MIN = 4,
    ESK_TNC_FANOUT_MAX = 256,
};

/// A child from here on is a slot: of a node in RAM. So addresses are below.
#define ESK_TNC_IN_RAM UINT32_C(0x80000000)

/// A tree on the medium.
struct esk_tnc_root {
    uint32_t address; ///< ESK_PAGE_NONE: the tree is empty
    uint32_t rows;
    uint32_t nodes;
    uint8_t height;
};

/// Where nodes are when they are not in RAM.
struct esk_tnc_io {
    /// Copies the node at `address` into `node`, at most `bytes` bytes.
    /// Returns  ESK_OK; ESK_E_CORRUPT when there is no node of `level`;
    ///          ESK_E_IO.
    int (*read)(void *context, uint32_t address, uint8_t level, uint8_t *node,
                uint16_t bytes);
    /// Writes a node of `bytes` bytes, count and entries, to a new place.
    /// address  out: below ESK_TNC_IN_RAM.
    int (*write)(void *context, const uint8_t *node, uint16_t bytes,
                 uint8_t level, uint32_t *address);
    /// Makes all nodes written so far, and this root, take effect together.
    int (*commit)(void *context, const struct esk_tnc_root *root);
    /// The node at `address` is garbage from the next commit on. May be NULL.
    void (*drop)(void *context, uint32_t address);
};

/// A full node that gets one more entry.
struct esk_tnc_full {
    const struct esk_btree_node *node;
    const uint8_t *key; ///< of the entry
    uint16_t index;     ///< of the entry, 0 .. count
    uint8_t level;
    bool rightmost; ///< no node of the level has larger keys
    bool appended;  ///< the node below was split and kept all its entries
};

/// Divides a full node: returns how many of its count + 1 entries, with the new
/// one, stay in the left node: 1 .. count.
typedef uint16_t esk_tnc_split(const struct esk_tnc_full *full);

/// Halves the node, but keeps a node at the tree's right edge full: rising keys
/// fill every node.
uint16_t esk_tnc_split_edge(const struct esk_tnc_full *full);

/// Always halves the node.
uint16_t esk_tnc_split_half(const struct esk_tnc_full *full);

/// How a TNC is made; zero means the default. Nothing here is stored. In a
/// program with a tree's shape, row and key are those of the shape.
struct esk_tnc_config {
    const struct esk_tnc_io *io;
    void *context;        ///< passed to io
    esk_tnc_split *split; ///< NULL: esk_tnc_split_edge
    uint16_t row_bytes;
    uint16_t key_offset; ///< of the key in a row
    uint16_t key_bytes;
    uint16_t fanout;  ///< most entries of a node, 4 .. 256
    uint8_t key_type; ///< enum esk_type
    /// Percent of the clean nodes that a clean-up drops, 1 .. 100; 0: 25.
    uint8_t shrink_percent;
    /// A full buffer is always committed before it is cleaned up, as the paper
    /// does. Else only when dropping clean nodes makes too little room.
    bool commits_first;
};

/// Counts since the TNC was made.
struct esk_tnc_stats {
    uint32_t reads;       ///< nodes
    uint32_t writes;      ///< nodes
    uint64_t write_bytes; ///< of these, counts and entries in use
    uint32_t commits;
    uint32_t cleaned;     ///< clean nodes that were dropped from RAM
    uint32_t made;        ///< new nodes: splits and roots
    uint32_t gone;        ///< nodes that left the tree
    uint32_t in_ram_most; ///< most nodes in RAM at a time
};

enum esk_tnc_flags {
    ESK_TNC_DIRTY = 1u << 0, ///< not written since it was changed
    ESK_TNC_USED = 1u << 1,  ///< visited since the clean-up's hand passed it
};

/// A node in RAM, beside its bytes.
struct esk_tnc_slot {
    uint32_t address;  ///< ESK_PAGE_NONE: never written
    uint32_t parent;   ///< slot; ESK_PAGE_NONE: root. Free: the next free slot
    uint16_t children; ///< of them in RAM
    uint8_t level;     ///< leaves have 1; 0: the slot is free
    uint8_t flags;     ///< enum esk_tnc_flags
};

/// Nodes from the root, [height - 1], to a leaf.
struct esk_tnc_path {
    uint32_t slot[ESK_TNC_HEIGHT_MAX];
    uint16_t index[ESK_TNC_HEIGHT_MAX];
    uint8_t edge; ///< from this level up nodes are at the tree's right edge
};

struct esk_tnc {
    struct esk_tnc_config config;
    struct esk_btree_layout layout; ///< of keys and rows
    struct esk_tnc_slot *slot;
    uint8_t *bytes;      ///< of the nodes in RAM
    uint8_t *scratch;    ///< node_bytes: a node on its way to the medium
    uint8_t *entry;      ///< an inner entry for the level above
    uint16_t node_bytes; ///< a full node's
    uint32_t slots;
    uint32_t free;            ///< of the slots
    uint32_t free_first;      ///< ESK_PAGE_NONE: none
    uint32_t dirty;           ///< nodes
    uint32_t hand;            ///< slot where the next clean-up begins
    uint32_t held;            ///< slot that a clean-up must not drop
    struct esk_tnc_root root; ///< address: slot or address, as a child
    bool changed;             ///< since the last commit
    struct esk_tnc_path path; ///< of the present call
    struct esk_tnc_stats stats;
};

/// Bytes of memory for `nodes` nodes, exactly.
uint32_t esk_tnc_memory_bytes(const struct esk_tnc_config *config,
                              uint32_t nodes);

/// Makes a TNC over the tree `root`; NULL: an empty tree.
///
/// config   in, copied; io and context are borrowed until the last use.
/// memory   aligned for any type, borrowed likewise: as many nodes as fit.
/// Returns  ESK_OK; ESK_E_INVALID when the fanout or an entry's bytes are out
///          of range; ESK_E_CORRUPT when `root` is too high;
///          ESK_E_NO_MEMORY when not one node fits.
/// Costs    nothing; the first call reads the root.
int esk_tnc_init(struct esk_tnc *tnc, const struct esk_tnc_config *config,
                 const struct esk_tnc_root *root, void *memory, uint32_t bytes);

/// Copies the row with `key` into `row`.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT; ESK_E_IO; ESK_E_NO_MEMORY
///          when a path needs more nodes than there are; what a commit returns.
/// Costs    height reads at most; a commit when the buffer is full.
int esk_tnc_get(struct esk_tnc *tnc, const void *key, void *row);

/// Copies the row with the smallest key above `key`; NULL: the smallest of all.
/// As esk_tnc_get; two paths when the row is in the next leaf.
int esk_tnc_above(struct esk_tnc *tnc, const void *key, void *row);

/// Puts one row: inserts it, or replaces the row with its key.
/// Returns  as esk_tnc_get; ESK_E_INVALID: a NaN key; ESK_FULL: the tree has
///          its largest height. Unless ESK_OK, nothing changed.
/// Costs    as esk_tnc_get. Needs 2 height + 1 nodes at most.
int esk_tnc_put(struct esk_tnc *tnc, const void *row);

/// Deletes the row with `key`. A node that becomes empty leaves the tree.
/// Returns  as esk_tnc_get. Unless ESK_OK, nothing changed.
int esk_tnc_delete(struct esk_tnc *tnc, const void *key);

/// Writes all dirty nodes, children before parents, and commits the root.
/// Returns  ESK_OK; what io returns: call again.
/// Costs    a write of each dirty node; nothing when nothing changed.
int esk_tnc_commit(struct esk_tnc *tnc);

/// Drops clean nodes until `nodes` slots are free, or no clean node without a
/// child in RAM is left. Nodes that were not visited for the longest time go
/// first, roughly: a clock's hand goes round.
void esk_tnc_clean(struct esk_tnc *tnc, uint32_t nodes);

/* What the files of the TNC share. */

static inline bool esk_tnc_is_slot(uint32_t child) {
    return child >= ESK_TNC_IN_RAM;
}

/// Views the node in `slot`.
void esk_tnc_view(const struct esk_tnc *tnc, uint32_t slot,
                  struct esk_btree_node *node);

/// Finds or loads child `index` of the node in `parent`; ESK_PAGE_NONE: the
/// root.
int esk_tnc_child(struct esk_tnc *tnc, uint32_t parent, uint16_t index,
                  uint32_t *slot);

/// Makes at least `nodes` slots free. The node in tnc->held stays.
int esk_tnc_room(struct esk_tnc *tnc, uint32_t nodes);

/// Takes a free slot for a new node, which is dirty.
uint32_t esk_tnc_take(struct esk_tnc *tnc, uint8_t level);

/// Frees the slot of a node that leaves the tree.
void esk_tnc_drop(struct esk_tnc *tnc, uint32_t slot);

/// Marks the node in `slot` and those above it as dirty.
void esk_tnc_mark(struct esk_tnc *tnc, uint32_t slot);

#endif
