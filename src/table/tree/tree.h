// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the files of the tree table share.
///
///     get, cursor -> path -> pool -> store.load
///     put, delete -> path -> change, level by level, up -> store.place
///
/// One tree over three kinds of store:
///
///     inplace    a node is overwritten in place; its parents do not change
///     wandering  a node is appended to the ring; so are its parents
///     mu         the path is gathered in one page of RAM and appended once
///
/// An *address* is a page of the region (in place) or a ring position; the
/// pool's tags are addresses. ESK_ADDRESS_NONE as the root is the empty tree.
#ifndef ESK_TABLE_TREE_TREE_H
#define ESK_TABLE_TREE_TREE_H

#include "base/bytes.h"
#include "base/order.h"
#include "esker/tree.h"
#include "flash/ring.h"
#include "index/btree/btree.h"
#include "pool/pool.h"
#include "volume/table.h"

enum esk_store_flags {
    ESK_STORE_OVERWRITES = 1u << 0, ///< a node's address never changes
    ESK_STORE_SHARES = 1u << 1,     ///< the nodes of a path share a page
    ESK_STORE_READS = 1u << 2,      ///< of a reader: refuses changes
    ESK_STORE_PACKS = 1u << 3,      ///< several nodes a page, a frame for each
};

/// The state that a failed change restores.
struct esk_tree_state {
    esk_address root; ///< ESK_ADDRESS_NONE: no node yet
    uint32_t rows;    ///< UINT32_MAX: unknown (in place)
    uint32_t nodes;   ///< in place: pages in use
    uint32_t swept;   ///< GC: the leaf that was swept last, or ESK_PAGE_NONE
    uint32_t due;   ///< GC: position of the head at which the next step of the
                    ///< sweep is due
    uint32_t order; ///< GC: from here on the leaves that the sweep wrote are
                    ///< in key order
    uint32_t paced; ///< GC: most nodes of a pass of the sweep
    uint8_t height;
    /* tnc: swept: a pass is under way unless ESK_PAGE_NONE; due: position where
       it began; order: nodes that it has written; paced: nodes when this was
       counted. */
};

/// A change takes one page for each level, and one for a root. Twice as many
/// are listed, so most changes take pages without writing the list.
enum { ESK_TREE_SPARES = 2 * ESK_TREE_HEIGHT_MAX };

/// Pages for new nodes of a tree in place. In the arena of such a tree.
struct esk_tree_spares {
    esk_address page[ESK_TREE_SPARES]; ///< free; the last is taken first
    esk_address from;                  ///< start of the next search
    uint8_t count;
    bool none; ///< a search found no other
};

/// The journal in place, in the arena of a tree that has batches or merges.
struct esk_tree_batch {
    esk_address first; ///< page of the first slot
    esk_address head;  ///< no page from here on was in use before this batch
    uint16_t slots;    ///< of this batch
    uint16_t used;     ///< of them
    uint16_t pages;    ///< entries of `home`
    bool recorded;     ///< a commit failed, and its record may be on the medium
    bool doubted;      ///< a write failed that may have torn a slot
    bool joining;      ///< a merge is not written completely
    esk_address home[]; ///< [slot], the page that the slot is a copy of
};

/// Addresses from here on are frames: of pages in the write cache.
#define ESK_TREE_CACHED_FIRST UINT32_C(0xFFFFFF00)

/// The write cache, in the arena of a tree that has one.
struct esk_tree_cached {
    uint32_t splits; ///< before the present change
    uint32_t merges;
    uint8_t most;     ///< most pages in the cache
    uint8_t count;    ///< of `pages`
    uint8_t made;     ///< the last ones, made by the present change
    uint8_t replaced; ///< replaced by the present change
    uint8_t height;   ///< before the present change
    bool through;     ///< the present change is written through; the cache is
                      ///< empty
    struct {
        uint8_t frame;
        bool replaced;
    } pages[]; ///< oldest first
};

/// The page of packed nodes, in the arena of a tree that packs.
struct esk_tree_packed {
    uint8_t *page;       ///< behind this struct; then the key
    uint8_t *key;        ///< key_bytes: the last key of the sweep's pass
    uint32_t read_at;    ///< position of `page`; ESK_PAGE_NONE: of none
    uint32_t seen;       ///< there was room when the ring's head was here, with
    uint32_t nodes;      ///< so many nodes
    uint32_t idle;       ///< head when a pass made too little room
    uint16_t page_nodes; ///< full nodes that fit a page
    uint8_t most;        ///< changed nodes
    uint8_t frames;      ///< of the tree; a reader may have fewer
    bool verifies;       ///< loads are not trusted: their nodes are written
};

/// Small members first: within 64 bytes of a pointer an 8-bit processor takes
/// one instruction a byte, beyond that four more.
struct esk_tree {
    struct esk_table table;
    uint8_t root_frame; ///< frame that had the root last
    bool lru_n;
    bool in_batch;
    bool redirects; ///< in place: pages are read and written in slots
    bool broken;    ///< in place: a split is to be completed; a reader: always,
                    ///< so that each read checks the writer; a closed handle:
                    ///< always, so that no cursor goes on
    uint32_t changes; ///< rises with every change
    struct esk_tree_state now;
    const struct esk_node_store *store;
    struct esk_tree_batch *batch; ///< of those in place
    union {
        void *own;                      ///< what only its kind of store has
        struct esk_tree_spares *spares; ///< in place
        struct esk_tree_packed *packed; ///< a store that packs
    };
    struct esk_tree_cached *cached; ///< write cache; NULL: none
    uint8_t *page;                  ///< mu: page in which the path is gathered;
                                    ///< NULL: none
    uint8_t *pending;               ///< an inner entry for the level above
    uint8_t *low; ///< key_bytes: the first key of a split node
    const struct esk_tree_batches *batches;         ///< NULL: none in place
    const struct esk_tree_write_cache *write_cache; ///< NULL: none
    const struct esk_tree_merge *merge;             ///< NULL: nodes are never
                                                    ///< merged
    uint8_t *probe;   ///< key_bytes: the key that GC or a repair searches
    esk_address redo; ///< in place, read-only: the page that page 0 is a copy
                      ///< of
    uint8_t frame;    ///< of `page`
    uint8_t page_low; ///< lowest level in `page`
    bool sweeping;    ///< GC: the sweep is writing leaves
    bool was_cut;     ///< GC: the mount found an incomplete change
    struct esk_btree_layout layout;
    struct esk_ring ring; ///< in place: no page from head on was ever used
    struct esk_pool pool;
    struct esk_tree_path path; ///< of the present call, unless a cursor's
    struct esk_region_stats stats;
    uint32_t splits;
    uint32_t merges;
    /* An open does not carve the members after the last one that it uses. */
    struct esk_tree_state before; ///< the batch; only if batches are possible
    /* From here on: copy-on-write. */
    uint32_t committed; ///< the committed root
    uint8_t unread;     ///< newest pages that mounts could not read, in total
    uint32_t moved;
    uint32_t bad_pages;  ///< GC: pages of known bad blocks
    uint32_t bad_seen;   ///< GC: failures when they were counted, plus 1; or 0
    uint16_t step;       ///< GC, wandering: most pages of a step
    uint8_t step_height; ///< tree height for which `step` is; 0: unknown
    uint16_t pool_offsets[ESK_TREE_HEIGHT_MAX + 1]; ///< of LRU-N
};

/// The node under change at one level, and its page.
struct esk_tree_work {
    uint8_t *page;
    esk_address address; ///< of the node before the change;
                         ///< ESK_ADDRESS_NONE: it is new
    uint8_t frame;
    uint8_t level;
    bool pinned;
};

/// The end of a descent.
struct esk_tree_spot {
    struct esk_tree_work work;  ///< of the path's last node
    struct esk_btree_node node; ///< in it
    esk_address child;          ///< the child where the path would go on
    bool found;                 ///< the leaf has a row with the key
    bool rightmost;             ///< no path is further right
};

/// What a pool passes to esk_node_store.load.
struct esk_tree_load {
    struct esk_tree *tree;
    uint8_t level; ///< of the node that is wanted
};

/// What a level of a change reports to the level above.
struct esk_tree_outcome {
    esk_address child; ///< address of the node below
    bool child_moved;  ///< `child` is to be stored
    bool child_gone;   ///< the node below is empty and was dropped
    bool right_gone;   ///< the node to the right of the one below was joined to
                       ///< it
    bool has_right;    ///< tree->pending is to be inserted
};

struct esk_tree_edit;

/// Rows of a put.
struct esk_tree_rows {
    const uint8_t *next;
    uint32_t count;
    uint32_t done; ///< rows that were put
    /// Puts the next rows of the put after the one at `index`, as long as they
    /// belong in this node and fit. NULL for one row: a program that puts one
    /// at a time does not link it.
    void (*follow)(struct esk_tree *tree, struct esk_tree_edit *edit,
                   const struct esk_btree_node *node, uint16_t index,
                   bool rightmost);
};

/// The change of the leaf at the end of the path.
enum esk_tree_leaf_change {
    ESK_TREE_LEAF_KEEP,   ///< none: the leaf is moved, or only levels above
                          ///< change
    ESK_TREE_LEAF_PUT,    ///< insert or replace rows
    ESK_TREE_LEAF_DELETE, ///< remove the row
};

/// A change on its way up the path.
struct esk_tree_edit {
    struct esk_tree_rows rows; ///< of ESK_TREE_LEAF_PUT
    /// Of ESK_TREE_LEAF_DELETE: esk_btree_remove. A program that deletes no
    /// rows does not link it.
    void (*remove)(const struct esk_btree_node *node, uint16_t index);
    uint8_t leaf;  ///< enum esk_tree_leaf_change
    uint8_t level; ///< level where the change begins
    struct esk_tree_outcome outcome;
    struct esk_tree_spot spot; ///< end of the path; then its work, if pinned,
                               ///< is of the node under change
};

/// A store: where nodes are. Each call except load is made with nothing pinned
/// but its arguments.
struct esk_node_store {
    /// Lays nodes out in a page; the offsets of row and key are set before.
    void (*layout)(struct esk_btree_layout *layout, uint16_t page_bytes,
                   uint8_t k_percent);
    esk_pool_load *load; ///< its context: a struct esk_tree_load
    /// Mounts the region and finds the root. page: scratch.
    int (*mount)(struct esk_tree *tree, const struct esk_ring_config *region,
                 uint8_t *page);
    /// Makes room for a change that may append `pages` nodes. In place it also
    /// completes what a failure left; 0, before a read, does only that.
    int (*begin)(struct esk_tree *tree, uint32_t pages);
    /// Most nodes (in place: pages) of the region in `height` levels.
    uint32_t (*nodes_max)(const struct esk_tree *tree, uint8_t height);
    /// For a node that was changed and not split: drops an empty node and sets
    /// outcome->child_gone; may take levels off a root. May be NULL.
    int (*shrink)(struct esk_tree *tree, struct esk_tree_work *work,
                  struct esk_btree_node *node,
                  struct esk_tree_outcome *outcome);
    /// Takes tree->page; NULL where paths do not share a page.
    int (*take)(struct esk_tree *tree);
    /// Copies a node of the path into tree->page.
    void (*gather)(struct esk_tree *tree, const struct esk_btree_node *from,
                   uint8_t level, esk_address address);
    /// Gives the pool a class for each level, empty; NULL without LRU-N.
    void (*pool_carve)(struct esk_tree *tree);
    /// Writes the node; `root`: this commits the change.
    /// address  out: of the node now.
    int (*place)(struct esk_tree *tree, struct esk_tree_work *work, bool root,
                 esk_address *address);
    /// Writes the two nodes of a split.
    /// changed  the left one differs from the node before the split.
    int (*split)(struct esk_tree *tree, struct esk_tree_work *left,
                 struct esk_tree_work *right, bool changed,
                 esk_address *left_address, esk_address *right_address);
    /// After ESK_FULL of a change: finds pages for new nodes. ESK_OK: some were
    /// found. NULL for copy-on-write.
    int (*refill)(struct esk_tree *tree);
    /// Moves leaves in key order, each to a page of its own: wandering. Else
    /// NULL.
    int (*sweep)(struct esk_tree *tree, uint16_t pages,
                 const struct esk_tree_path *tail);
    /// Collects ahead: for the ring's step. NULL in place.
    int (*collect)(void *tree, bool *done);
    /// The write cache that the store always has; NULL: that of the config.
    const struct esk_tree_write_cache *cache;
    uint8_t id;         ///< enum esk_tree_store
    uint8_t flags;      ///< enum esk_store_flags
    uint8_t frames_min; ///< config.frames, at least
    uint8_t frames;     ///< where that is 0
};

/// The part that a program names for merging.
struct esk_tree_merge {
    /// Joins the node of a level that lost an entry with a neighbour, if both
    /// fit one node, and sets outcome->right_gone; or takes levels off a root.
    /// Returns ESK_OK also when nothing was joined; on failure nothing was
    /// written.
    int (*join)(struct esk_tree *tree, struct esk_tree_work *work,
                struct esk_btree_node *node, struct esk_tree_outcome *outcome);
    /// Commits a change that joined nodes. NULL for copy-on-write.
    int (*end)(struct esk_tree *tree);
    const struct esk_tree_batches *batches; ///< that merging needs; or NULL
    uint8_t flags; ///< ESK_STORE_OVERWRITES: for stores in place
};

/// Batches of trees in place.
struct esk_tree_batches {
    int (*begin)(struct esk_tree *tree, uint32_t pages);
    int (*commit)(struct esk_tree *tree);
    int (*abort)(struct esk_tree *tree);
    /// Before a change, pages > 0, or a repair. ESK_FULL: it may not fit.
    int (*ready)(struct esk_tree *tree, uint32_t pages);
    /// The page to read for page `at` in the batch.
    esk_address (*find)(const struct esk_tree *tree, esk_address at);
    /// Writes a page that existed before the batch.
    int (*write)(struct esk_tree *tree, esk_address at, const uint8_t *page);
    /// Completes or undoes the batch whose record is in `page`.
    int (*replay)(struct esk_tree *tree, uint8_t *page);
};

/// The write cache of copy-on-write trees: pages wait in frames to be appended.
struct esk_tree_write_cache {
    /// Before a change. through: repeats the change that found too few frames;
    /// its pages are to be written at once.
    /// Returns  as appending.
    int (*begin)(struct esk_tree *tree, bool through);
    /// Copies a cached node, for a change.
    int (*own)(struct esk_tree *tree, struct esk_tree_work *work,
               struct esk_btree_node *node);
    /// Adds the page in `frame` to the cache; `root`: it has the root.
    /// Returns ESK_OK; ESK_E_NO_MEMORY: flush, and write through.
    int (*keep)(struct esk_tree *tree, uint8_t frame, bool root,
                esk_address *address);
    /// Marks the node of `level` at `address` as replaced, if the change
    /// succeeds.
    void (*replace)(struct esk_tree *tree, esk_address address, uint8_t level);
    /// After a change.
    void (*end)(struct esk_tree *tree, bool failed);
    /// Appends all cached pages. On failure the rest is still cached.
    int (*flush)(struct esk_tree *tree);
    /// Drops all cached pages: an aborted batch's.
    void (*drop)(struct esk_tree *tree);
};

/* Constants in a program with a shape. */

static inline const struct esk_btree_layout *
esk_tree_layout(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(&esk_shape_tree, &tree->layout);
}

/// The layout, to be given to a function of index/btree, which knows it in a
/// program with a shape: a constant whose address is taken is in RAM on AVR,
/// once in each file.
static inline const struct esk_btree_layout *
esk_tree_layout_given(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(NULL, &tree->layout);
}

/// Copies a key.
static ESK_APART_OR_SHAPED void esk_tree_key_copy(const struct esk_tree *tree,
                                                  uint8_t *to,
                                                  const uint8_t *from) {
    memcpy(to, from, esk_tree_layout(tree)->key_bytes);
}

static inline const struct esk_node_store *
esk_tree_store(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(esk_shape_config.store, tree->store);
}

static inline const struct esk_tree_merge *
esk_tree_merge(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(esk_shape_config.merge, tree->merge);
}

/// The batches in place of `config`, or those that merging needs. As a
/// function's argument a constant's address hides its value from a compiler.
#define ESK_TREE_BATCHES_OF(config)                                            \
    ((config).batches == NULL && (config).merge != NULL                        \
         ? (config).merge->batches                                             \
         : (config).batches)

static inline const struct esk_tree_batches *
esk_tree_batches(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(ESK_TREE_BATCHES_OF(esk_shape_config),
                             tree->batches);
}

/// NULL: the tree has none.
static inline struct esk_tree_batch *
esk_tree_batch(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(
        ESK_TREE_BATCHES_OF(esk_shape_config) == NULL ? NULL : tree->batch,
        tree->batch);
}

/// Whether a change of several pages can be begun: batches, and merges in
/// place.
static ESK_CONSTANT bool esk_tree_has_batches(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(
        (esk_shape_config.store->flags & ESK_STORE_OVERWRITES) == 0 ||
            ESK_TREE_BATCHES_OF(esk_shape_config) != NULL,
        ((void)tree, true));
}

static ESK_CONSTANT bool esk_tree_in_batch(const struct esk_tree *tree) {
    return esk_tree_has_batches(tree) && tree->in_batch;
}

/// In place: whether pages are read and written in slots.
static inline bool esk_tree_redirects(const struct esk_tree *tree) {
    return esk_tree_has_batches(tree) && tree->redirects;
}

static inline const struct esk_tree_write_cache *
esk_tree_write_cache(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(esk_shape_config.write_cache, tree->write_cache);
}

/// NULL: there is no write cache.
static inline struct esk_tree_cached *
esk_tree_cached(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(
        esk_shape_config.write_cache == NULL ? NULL : tree->cached,
        tree->cached);
}

static inline bool esk_tree_is_lru_n(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(
        false, ESK_SHAPE_ONE_CLASS
                   ? false
                   : ESK_SHAPED_CONFIG((esk_shape_config.store->flags &
                                        ESK_STORE_SHARES) != 0 &&
                                           tree->lru_n,
                                       tree->lru_n));
}

static inline bool esk_tree_overwrites(const struct esk_tree *tree) {
    return (esk_tree_store(tree)->flags & ESK_STORE_OVERWRITES) != 0;
}

/* What a level can report besides has_right: in place and without merging
   nothing. */

static inline bool esk_tree_moves(void) {
    return ESK_SHAPED_CONFIG(
        (esk_shape_config.store->flags & ESK_STORE_OVERWRITES) == 0, true);
}

static inline bool esk_tree_joins(void) {
    return ESK_SHAPED_CONFIG(esk_shape_config.merge != NULL, true);
}

static inline bool esk_tree_drops(void) {
    return ESK_SHAPED_CONFIG(esk_shape_config.store->shrink != NULL ||
                                 esk_shape_config.merge != NULL,
                             true);
}

static inline bool esk_tree_packs(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(
        false, (esk_tree_store(tree)->flags & ESK_STORE_PACKS) != 0);
}

static inline bool esk_tree_shares(const struct esk_tree *tree) {
    return (esk_tree_store(tree)->flags & ESK_STORE_SHARES) != 0;
}

/// Whether the path's nodes are copied into tree->page.
static inline bool esk_tree_gathers(const struct esk_tree *tree) {
    return ESK_SHAPED_CONFIG(esk_shape_config.store->gather != NULL, true) &&
           tree->page != NULL;
}

/// Pins of the present change outside any esk_tree_work: for assertions.
static inline uint16_t esk_tree_own_pins(const struct esk_tree *tree) {
    return (uint16_t)((esk_tree_gathers(tree) ? 1u : 0u) +
                      (esk_tree_cached(tree) != NULL
                           ? esk_tree_cached(tree)->count
                           : 0u));
}

/// Whether nothing is pinned but `left` and `right`, either of which may be
/// NULL, as when a store is called. For assertions.
static inline bool esk_tree_pins_only(const struct esk_tree *tree,
                                      const struct esk_tree_work *left,
                                      const struct esk_tree_work *right) {
    uint16_t given = (uint16_t)((left != NULL && left->pinned ? 1u : 0u) +
                                (right != NULL && right->pinned ? 1u : 0u));
    return esk_pool_pins(&tree->pool) == esk_tree_own_pins(tree) + given;
}

/* Stores that pack. */

enum {
    ESK_TREE_PACKED_NODE = 20,              ///< offset of the node in its frame
    ESK_TREE_PACKED_FRAMES_MIN = 2 * 1 + 3, ///< see esk_packed_frames
};

/// Lays out a node that takes k_percent of a page, in its frame.
static inline void esk_tree_packed_layout(struct esk_btree_layout *layout,
                                          uint16_t page_bytes,
                                          uint8_t k_percent) {
    uint32_t share = k_percent < ESK_TREE_PACKED_PERCENT_MAX
                         ? k_percent
                         : ESK_TREE_PACKED_PERCENT_MAX;
    uint32_t bytes =
        (uint32_t)(page_bytes - ESK_TREE_PACKED_BODY) * share / 100u;
    layout->counts_inside = true;
    bytes = bytes > ESK_TREE_PACKED_LEVEL_BYTES
                ? bytes - ESK_TREE_PACKED_LEVEL_BYTES
                : 0;
    esk_btree_layout_whole(layout, ESK_TREE_PACKED_NODE,
                           (uint16_t)(ESK_TREE_PACKED_NODE + bytes));
}

/// The position of the page of a packed node at `address`: the one from `tail`
/// on within a lap. Hostile addresses have one, too.
static inline uint32_t esk_tree_packed_position(const struct esk_tree *tree,
                                                uint32_t tail,
                                                uint32_t address) {
    uint32_t pages = esk_ring_pages(&tree->ring);
    uint32_t page = address >> ESK_TREE_PACKED_NUMBER_BITS;
    uint32_t first = tail % pages;
    return page >= pages ? ESK_PAGE_NONE
                         : tail + page - first + (page < first ? pages : 0);
}

/* tree_path.c */

/// Pins the node of `level` at `address`.
/// Returns ESK_OK; ESK_E_CORRUPT for bytes that are no such node; ESK_E_IO;
/// ESK_E_NO_MEMORY.
int esk_tree_pin(struct esk_tree *tree, esk_address address, uint8_t level,
                 struct esk_tree_work *work, struct esk_btree_node *node);

void esk_tree_unpin(struct esk_tree *tree, struct esk_tree_work *work);

/// Address of child `index` of `node`, which is at `address`. Only where nodes
/// share pages a child can be in its parent's.
esk_address esk_tree_child(const struct esk_tree *tree,
                           const struct esk_btree_node *node, uint16_t index,
                           esk_address address);

/// The side on which a descent without a key stays.
enum esk_tree_side { ESK_TREE_FIRST, ESK_TREE_LAST };

/// Makes the path for `key` down to level `bottom`, or with `key` NULL the
/// first or last path. The leaf's index is the first row not below `key`
/// (FIRST: 0, LAST: the count). If tree->page is set, the path's nodes are
/// gathered in it.
/// spot     out: the end of the path; the work is pinned unless the call fails,
///          or nodes are gathered.
int esk_tree_find(struct esk_tree *tree, struct esk_tree_path *path,
                  const uint8_t *key, enum esk_tree_side side, uint8_t bottom,
                  struct esk_tree_spot *spot);

/// Makes only the path.
int esk_tree_descend(struct esk_tree *tree, struct esk_tree_path *path,
                     const uint8_t *key, enum esk_tree_side side,
                     uint8_t bottom);

/// Continues from the path's node at `level` down to level `bottom`, with the
/// index as for `key` NULL.
int esk_tree_extend(struct esk_tree *tree, struct esk_tree_path *path,
                    enum esk_tree_side side, uint8_t level, uint8_t bottom);

/// Continues from the path's node at `level` to the first leaf below it, or the
/// last: the index there is 0, or the count.
static inline int esk_tree_reach(struct esk_tree *tree,
                                 struct esk_tree_path *path, uint8_t level,
                                 bool forward) {
    return esk_tree_extend(tree, path, forward ? ESK_TREE_FIRST : ESK_TREE_LAST,
                           level, 1);
}

/// Turns from the path's node at `level` to the next child, or the one before,
/// of the nearest ancestor that has one.
/// level    in and out: of the node at the end of the path.
/// bound    may be NULL: children with keys only beyond it are skipped.
/// border   out, key_bytes bytes, may be NULL: keys before it were passed, or
///          backward keys from it on; also with ESK_END for `bound`.
/// Returns  ESK_OK; ESK_END; ESK_E_CORRUPT, also when there are more nodes than
///          the region has; path->lost: the level that could not be read.
int esk_tree_turn(struct esk_tree *tree, struct esk_tree_path *path,
                  uint8_t *level, bool forward, const uint8_t *bound,
                  uint8_t *border);

/* tree_change.c */

/// Makes the change along tree->path: that of the leaf, else that of
/// edit->outcome. On failure nothing has taken effect.
int esk_tree_change(struct esk_tree *tree, struct esk_tree_edit *edit);

/// esk_tree_rows.follow.
void esk_tree_rows_follow(struct esk_tree *tree, struct esk_tree_edit *edit,
                          const struct esk_btree_node *node, uint16_t index,
                          bool rightmost);

/// Begins a change: completes what a failure left, makes room for the pages
/// that the change may append, and takes a page where paths share one.
/// again    the change failed before it appended a page: there still is room.
int esk_tree_change_begin(struct esk_tree *tree, bool again);

/// Pins the node that is to be changed at `level`, or makes an empty one.
int esk_tree_work_open(struct esk_tree *tree, uint8_t level,
                       struct esk_tree_work *work, struct esk_btree_node *node);

/// Releases a node that was changed and not placed.
void esk_tree_work_drop(struct esk_tree *tree, struct esk_tree_work *work);

/// Ends a change.
void esk_tree_change_end(struct esk_tree *tree, int status,
                         const struct esk_tree_state *before);

/// Most nodes that a change writes.
static inline uint8_t esk_tree_change_pages(const struct esk_tree *tree) {
    return (uint8_t)(2u * tree->now.height + 1u);
}

/// Takes tree->page where paths share a page.
static inline int esk_tree_take(struct esk_tree *tree) {
    return esk_tree_store(tree)->take != NULL ? esk_tree_store(tree)->take(tree)
                                              : ESK_OK;
}

/// Whether nothing may be programmed.
static inline bool esk_tree_is_read_only(const struct esk_tree *tree) {
    return (esk_volume_flags(tree->table.volume) & ESK_MOUNT_READ_ONLY) != 0;
}

/// After a change of the height: LRU-N makes its classes again.
static inline void esk_tree_height_changed(struct esk_tree *tree) {
    if (esk_tree_is_lru_n(tree)) {
        esk_tree_store(tree)->pool_carve(tree);
    }
}

/// Whether `address` is of a page in the write cache.
static inline bool esk_tree_is_cached(uint32_t address) {
    return address >= ESK_TREE_CACHED_FIRST && address != ESK_ADDRESS_NONE;
}

/// Writes the write cache.
static inline int esk_tree_flush(struct esk_tree *tree) {
    return esk_tree_cached(tree) != NULL
               ? esk_tree_write_cache(tree)->flush(tree)
               : ESK_OK;
}

/// If the node that was opened for a change is in the write cache, changes a
/// copy instead.
static inline int esk_tree_work_own(struct esk_tree *tree,
                                    struct esk_tree_work *work,
                                    struct esk_btree_node *node) {
    return esk_tree_cached(tree) != NULL && tree->page == NULL &&
                   esk_tree_is_cached(work->address)
               ? esk_tree_write_cache(tree)->own(tree, work, node)
               : ESK_OK;
}

/// Marks the node of `level` at `address` as replaced by a change.
static inline void esk_tree_replace(struct esk_tree *tree, esk_address address,
                                    uint8_t level) {
    if (esk_tree_cached(tree) != NULL && esk_tree_is_cached(address)) {
        esk_tree_write_cache(tree)->replace(tree, address, level);
    }
}

/// Completes what a failure left, before a read.
/// Returns also ESK_E_INVALID when the tree is closed.
int esk_tree_ready(struct esk_tree *tree);

#endif
