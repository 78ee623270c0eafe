// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the files of the tree table share.
///
///     get, cursor -> path -> pool -> store.load
///     put, delete -> path -> change, level by level, up -> store.place
///
/// One tree over three ways to keep nodes:
///
///     inplace    a node is written where it was; parents stay
///     wandering  a node is appended to the ring; so are its parents
///     mu         the path gathers in one page of RAM and is appended once
///
/// An *address* is a page of the region (inplace) or a ring position; the
/// pool's tags are addresses. ESK_PAGE_NONE as the root is the empty tree.
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
    ESK_STORE_OVERWRITES = 1u << 0, ///< a node keeps its address
    ESK_STORE_SHARES = 1u << 1,     ///< a path shares a page
    ESK_STORE_READS = 1u << 2,      ///< a reader's: it takes no change
};

/// What a change can take back when it fails.
struct esk_tree_state {
    uint32_t root;  ///< address; ESK_PAGE_NONE: no node yet
    uint32_t rows;  ///< UINT32_MAX: not known (inplace)
    uint32_t nodes; ///< inplace: pages in use
    uint32_t swept; ///< GC: the leaf that was swept last, or ESK_PAGE_NONE
    uint32_t due;   ///< GC: where the head is when a step of the sweep is due
    uint32_t order; ///< GC: leaves that the sweep wrote from here on lie in
                    ///< the order of their keys
    uint32_t paced; ///< GC: the most nodes of a pass of the sweep
    uint8_t height;
};

/// A change takes a page a level, and one more for a root: those are kept, and
/// as many are there to be taken without a write.
enum { ESK_TREE_SPARES = 2 * ESK_TREE_HEIGHT_MAX };

/// Pages that new nodes of a tree in place get. In the arena of such a tree.
struct esk_tree_spares {
    uint32_t page[ESK_TREE_SPARES]; ///< free; the last is taken first
    uint32_t from;                  ///< where the next search begins
    uint8_t count;
    bool none; ///< a search found no other
};

/// The journal in place, in the arena of a tree that has batches or merges.
struct esk_tree_batch {
    uint32_t first;  ///< page of the first slot
    uint32_t head;   ///< pages from here on are new in this batch
    uint16_t slots;  ///< that this batch has
    uint16_t used;   ///< of them
    uint16_t pages;  ///< that `home` has
    bool recorded;   ///< a commit failed whose record may be there
    bool doubted;    ///< a write failed that may have cost a slot
    bool joining;    ///< nodes are joined, and not yet all pages are written
    uint32_t home[]; ///< [slot], the page that it is to be written to
};

/// Addresses from here on are frames: of pages in the write cache.
#define ESK_TREE_KEPT_FIRST UINT32_C(0xFFFFFF00)

/// The write cache, in the arena of a tree that has one.
struct esk_tree_kept {
    uint32_t splits; ///< before the change under way
    uint32_t merges;
    uint8_t most;     ///< pages that may wait
    uint8_t count;    ///< of `pages`
    uint8_t made;     ///< of them by the change under way, the last
    uint8_t replaced; ///< of them by the change under way
    uint8_t height;   ///< before it
    bool through;     ///< it passes the cache by, which is empty
    struct {
        uint8_t frame;
        bool replaced;
    } pages[]; ///< oldest first
};

/// Small things first: what lies within 64 bytes of a pointer takes an 8-bit
/// processor one instruction a byte, anything further off four more.
struct esk_tree {
    struct esk_table table;
    uint8_t frame;      ///< of `page`
    uint8_t page_low;   ///< lowest level in `page`
    uint8_t root_frame; ///< where the root was last
    bool lru_n;
    bool in_batch;
    bool redirects; ///< inplace: pages are read and written in slots
    bool sweeping;  ///< GC: what is written is a leaf that the sweep moves
    bool was_cut;   ///< GC: a mount found what a cut left of a change
    bool broken;    ///< inplace: a split was cut short and is to be completed;
                    ///< a reader: always, so that each read looks at the
                    ///< writer; and what is closed: no cursor goes on
    struct esk_tree_state now;
    const struct esk_node_store *store;
    struct esk_tree_batch *batch;   ///< of those in place
    struct esk_tree_spares *spares; ///< NULL where nodes move
    struct esk_tree_kept *kept;     ///< what waits in it; NULL: there is none
    uint8_t *page;                  ///< mu: the path being written; NULL: none
    uint8_t *pending;               ///< an inner entry for the level above
    uint8_t *low; ///< key_bytes: the first key of a split node
    const struct esk_tree_batches *batches;         ///< NULL: none in place
    const struct esk_tree_write_cache *write_cache; ///< NULL: none
    const struct esk_tree_merge *merge;             ///< NULL: never
    uint8_t *probe;   ///< key_bytes: where GC or a repair looks
    uint32_t redo;    ///< inplace: read-only, the page that page 0 is a copy of
    uint32_t changes; ///< rises with every change
    struct esk_btree_layout layout;
    struct esk_ring ring; ///< inplace: pages from head on were never used
    struct esk_pool pool;
    struct esk_tree_path path; ///< of the call under way, but a cursor's
    struct esk_region_stats stats;
    uint32_t splits;
    uint32_t merges;
    /* An open has no room for what comes after the last that it uses. */
    struct esk_tree_state before; ///< the batch; not there where none can be
    /* From here on of nodes that move. */
    uint32_t committed; ///< root that takes effect after a cut
    uint8_t unread;     ///< newest pages that mounts could not read, in all
    uint32_t moved;
    uint32_t bad_pages;  ///< GC: of the blocks known bad
    uint32_t bad_seen;   ///< GC: failures when they were counted, and one; or 0
    uint16_t step;       ///< GC, wandering: pages that a step may program
    uint8_t step_height; ///< of the tree that `step` is for; 0: not known
    uint16_t pool_offsets[ESK_TREE_HEIGHT_MAX + 1]; ///< of LRU-N
};

/// The whole state that a node change works on at one level.
struct esk_tree_work {
    uint8_t *page;
    uint32_t address; ///< where the node was; ESK_PAGE_NONE: nowhere
    uint8_t frame;
    uint8_t level;
    bool pinned;
};

/// What a descent ends at.
struct esk_tree_spot {
    struct esk_tree_work work;  ///< of the path's last node
    struct esk_btree_node node; ///< in it
    uint32_t child;             ///< where the path would go on
    bool found;                 ///< the leaf has a row with the key
    bool rightmost;             ///< the path is the last one
};

/// What a pool passes on to esk_node_store.load.
struct esk_tree_load {
    struct esk_tree *tree;
    uint8_t level; ///< of the node that is wanted
};

/// What a level of a change tells the one above.
struct esk_tree_told {
    uint32_t child;   ///< where the node below is
    bool child_moved; ///< `child` has to be stored
    bool child_gone;  ///< the node below is empty and was dropped
    bool right_gone;  ///< the node right of the one below was joined to it
    bool has_right;   ///< tree->pending has to be inserted
};

/// Rows that a put brings to a leaf.
struct esk_tree_rows {
    const uint8_t *next;
    uint32_t count;
    uint32_t done; ///< of them, taken
};

/// What a change does to the leaf that its path ends at.
enum esk_tree_leaf_change {
    ESK_TREE_LEAF_KEEP,   ///< nothing: nodes move, or a level above is told
    ESK_TREE_LEAF_PUT,    ///< rows in
    ESK_TREE_LEAF_DELETE, ///< the row out
};

/// A change on its way up the path.
struct esk_tree_edit {
    struct esk_tree_rows rows; ///< of ESK_TREE_LEAF_PUT
    uint8_t leaf;              ///< enum esk_tree_leaf_change
    uint8_t level;             ///< where it begins
    struct esk_tree_told told;
    struct esk_tree_spot spot; ///< where the path ends; then its work, if
                               ///< pinned, is of the node under change
};

/// Where nodes live. Each call but load is made with nothing pinned beside
/// what it is given.
struct esk_node_store {
    /// Lays nodes out in a page; the row's and the key's places are set.
    void (*layout)(struct esk_btree_layout *layout, uint16_t page_bytes,
                   uint8_t k_percent);
    esk_pool_load *load; ///< its context: a struct esk_tree_load
    /// Takes up the region and finds the root. page: scratch.
    int (*mount)(struct esk_tree *tree, const struct esk_ring_config *region,
                 uint8_t *page);
    /// Makes room for a change that may append `pages` nodes. In place also
    /// completes what a failure left: 0, before a read, does no more.
    int (*begin)(struct esk_tree *tree, uint32_t pages);
    /// Nodes (inplace: pages) that the region can hold in `height` levels.
    uint32_t (*nodes_max)(const struct esk_tree *tree, uint8_t height);
    /// A node that was changed and not split: sets told->child_gone when it
    /// became empty and was dropped; a root may lose levels. May be NULL.
    int (*settle)(struct esk_tree *tree, struct esk_tree_work *work,
                  struct esk_btree_node *node, struct esk_tree_told *told);
    /// Takes tree->page; NULL where a path shares none.
    int (*take)(struct esk_tree *tree);
    /// Copies a node of the path into it.
    void (*gather)(struct esk_tree *tree, const struct esk_btree_node *from,
                   uint8_t level, uint32_t address);
    /// Gives the pool a class a level, empty; NULL where LRU-N is not.
    void (*pool_carve)(struct esk_tree *tree);
    /// Writes the node; `root`: the change takes effect with it.
    /// address  out: where it is now.
    int (*place)(struct esk_tree *tree, struct esk_tree_work *work, bool root,
                 uint32_t *address);
    /// Writes the two nodes that one was split into.
    /// changed  the left one differs from the node as it was.
    int (*split)(struct esk_tree *tree, struct esk_tree_work *left,
                 struct esk_tree_work *right, bool changed,
                 uint32_t *left_address, uint32_t *right_address);
    /// After ESK_FULL of a change: finds pages for new nodes. ESK_OK: there are
    /// some now. NULL where nodes move.
    int (*refill)(struct esk_tree *tree);
    /// Moves leaves in key order: of nodes that move each to a page of its own;
    /// else NULL.
    int (*sweep)(struct esk_tree *tree, uint16_t pages,
                 const struct esk_tree_path *tail);
    /// Collects ahead of need: of a ring. NULL where nodes stay.
    int (*collect)(void *tree, bool *done);
    uint8_t id;    ///< enum esk_tree_store
    uint8_t flags; ///< enum esk_store_flags
};

/// What a program that merges names.
struct esk_tree_merge {
    /// Joins the node of a level that lost an entry with a neighbour, if that
    /// fits, or takes levels off a root: sets told->right_gone.
    /// Returns ESK_OK also when it did not; else nothing was written.
    int (*join)(struct esk_tree *tree, struct esk_tree_work *work,
                struct esk_btree_node *node, struct esk_tree_told *told);
    /// Makes a change that joined nodes take effect. NULL where nodes move.
    int (*end)(struct esk_tree *tree);
    const struct esk_tree_batches *batches; ///< that it needs; or NULL
    uint8_t flags; ///< ESK_STORE_OVERWRITES: for stores that do
};

/// Batches where nodes keep their page.
struct esk_tree_batches {
    int (*begin)(struct esk_tree *tree, uint32_t pages);
    int (*commit)(struct esk_tree *tree);
    int (*abort)(struct esk_tree *tree);
    /// Before a change, pages > 0, or a repair. ESK_FULL: it might not fit.
    int (*ready)(struct esk_tree *tree, uint32_t pages);
    /// Where page `at` is to be read from in the batch.
    uint32_t (*find)(const struct esk_tree *tree, uint32_t at);
    /// Writes a page that there was before the batch.
    int (*write)(struct esk_tree *tree, uint32_t at, const uint8_t *page);
    /// Completes or undoes the batch whose record is in `page`.
    int (*replay)(struct esk_tree *tree, uint8_t *page);
};

/// Pages that wait in frames to be appended: where nodes move.
struct esk_tree_write_cache {
    /// Before a change. through: it is the one that failed, once more, and is
    /// to be written at once.
    /// Returns what appending returns.
    int (*begin)(struct esk_tree *tree, bool through);
    /// Makes a copy of a node that waits, to be changed.
    int (*own)(struct esk_tree *tree, struct esk_tree_work *work,
               struct esk_btree_node *node);
    /// Keeps the page in `frame`, which has the root or has not.
    /// Returns ESK_OK; ESK_E_NO_MEMORY: flush, and do without.
    int (*keep)(struct esk_tree *tree, uint8_t frame, bool root,
                uint32_t *address);
    /// The node of `level` at `address` is replaced, if the change succeeds.
    void (*replace)(struct esk_tree *tree, uint32_t address, uint8_t level);
    /// After a change.
    void (*end)(struct esk_tree *tree, bool failed);
    /// Appends all there is. On failure the rest still waits.
    int (*flush)(struct esk_tree *tree);
    /// Forgets it: what a batch that is aborted has changed.
    void (*drop)(struct esk_tree *tree);
};

/* What a program with a shape knows when it is compiled. */

static inline const struct esk_btree_layout *
esk_tree_layout(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(&esk_shape_tree, &tree->layout);
}

static inline const struct esk_node_store *
esk_tree_store(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(esk_shape_config.store, tree->store);
}

static inline const struct esk_tree_merge *
esk_tree_merge(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(esk_shape_config.merge, tree->merge);
}

static inline const struct esk_tree_batches *
esk_tree_batches(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(esk_shape_config.batches, tree->batches);
}

/// NULL: the tree has none.
static inline struct esk_tree_batch *
esk_tree_batch(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(
        esk_shape_config.batches == NULL ? NULL : tree->batch, tree->batch);
}

static inline const struct esk_tree_write_cache *
esk_tree_write_cache(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(esk_shape_config.write_cache, tree->write_cache);
}

/// NULL: there is no write cache.
static inline struct esk_tree_kept *esk_tree_kept(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(
        esk_shape_config.write_cache == NULL ? NULL : tree->kept, tree->kept);
}

static inline bool esk_tree_is_lru_n(const struct esk_tree *tree) {
    return ESK_SHAPED_TREE(false, tree->lru_n);
}

static inline bool esk_tree_overwrites(const struct esk_tree *tree) {
    return (esk_tree_store(tree)->flags & ESK_STORE_OVERWRITES) != 0;
}

static inline bool esk_tree_shares(const struct esk_tree *tree) {
    return (esk_tree_store(tree)->flags & ESK_STORE_SHARES) != 0;
}

/// Pins of the change under way that no esk_tree_work has: for assertions.
static inline uint16_t esk_tree_own_pins(const struct esk_tree *tree) {
    return (uint16_t)((tree->page != NULL ? 1u : 0u) +
                      (esk_tree_kept(tree) != NULL ? esk_tree_kept(tree)->count
                                                   : 0u));
}

/// Whether nothing is pinned beside what `left` and `right` have, either of
/// which may be NULL: how a store is called. For assertions.
static inline bool esk_tree_pins_only(const struct esk_tree *tree,
                                      const struct esk_tree_work *left,
                                      const struct esk_tree_work *right) {
    uint16_t given = (uint16_t)((left != NULL && left->pinned ? 1u : 0u) +
                                (right != NULL && right->pinned ? 1u : 0u));
    return esk_pool_pins(&tree->pool) == esk_tree_own_pins(tree) + given;
}

/* tree_path.c */

/// Pins the node of `level` at `address`.
/// Returns ESK_OK; ESK_E_CORRUPT for bytes that are no such node; ESK_E_IO;
/// ESK_E_NO_MEMORY.
int esk_tree_pin(struct esk_tree *tree, uint32_t address, uint8_t level,
                 struct esk_tree_work *work, struct esk_btree_node *node);

void esk_tree_unpin(struct esk_tree *tree, struct esk_tree_work *work);

/// Where `node`, which is at `address`, has its child `index`.
uint32_t esk_tree_child(const struct esk_btree_node *node, uint16_t index,
                        uint32_t address);

/// Which way a descent turns where it has no key.
enum esk_tree_side { ESK_TREE_FIRST, ESK_TREE_LAST };

/// Makes the path down to level `bottom` that takes `key`, or with `key` NULL
/// the first or last one. The leaf's index is the first row not below `key`
/// (FIRST: 0, LAST: the count). While tree->page is there, its nodes are
/// gathered in it.
/// spot     out: what it ends at; the work is pinned unless it fails, or nodes
///          are gathered.
int esk_tree_find(struct esk_tree *tree, struct esk_tree_path *path,
                  const uint8_t *key, enum esk_tree_side side, uint8_t bottom,
                  struct esk_tree_spot *spot);

/// Makes the path alone.
int esk_tree_descend(struct esk_tree *tree, struct esk_tree_path *path,
                     const uint8_t *key, enum esk_tree_side side,
                     uint8_t bottom);

/// Goes on from the path's node at `level` down to level `bottom`, where the
/// index is as with `key` NULL.
int esk_tree_extend(struct esk_tree *tree, struct esk_tree_path *path,
                    enum esk_tree_side side, uint8_t level, uint8_t bottom);

/// Goes on from the path's node at `level` to the first leaf below it, or the
/// last: the index there is 0, or the count.
static inline int esk_tree_reach(struct esk_tree *tree,
                                 struct esk_tree_path *path, uint8_t level,
                                 bool forward) {
    return esk_tree_extend(tree, path, forward ? ESK_TREE_FIRST : ESK_TREE_LAST,
                           level, 1);
}

/// Turns from the path's node at `level`, and what is below it, to the next
/// child, or the one before, of the nearest ancestor that has one.
/// level    in and out: of the node that the path ends at.
/// bound    may be NULL: what holds keys beyond it only is not there.
/// border   out, key_bytes bytes, may be NULL: keys before it were passed,
///          or going back those from it on; also with ESK_END for `bound`.
/// Returns  ESK_OK; ESK_END; ESK_E_CORRUPT, also when there are more nodes
///          than the region has; path->lost: the level it could not read.
int esk_tree_turn(struct esk_tree *tree, struct esk_tree_path *path,
                  uint8_t *level, bool forward, const uint8_t *bound,
                  uint8_t *border);

/* tree_change.c */

/// Makes the change along tree->path: that of the leaf, else what edit->told
/// says, and nodes get new addresses. On failure nothing has taken effect.
int esk_tree_change(struct esk_tree *tree, struct esk_tree_edit *edit);

/// Begins a change: completes what a failure left, makes room for what it may
/// append, and takes a page where a path shares one.
/// again    the change failed before it appended a page: there still is room.
int esk_tree_change_begin(struct esk_tree *tree, bool again);

/// Pins the node that is to be changed at `level`, or makes an empty one.
int esk_tree_work_open(struct esk_tree *tree, uint8_t level,
                       struct esk_tree_work *work, struct esk_btree_node *node);

/// Lets go of a node that was changed and not placed.
void esk_tree_work_drop(struct esk_tree *tree, struct esk_tree_work *work);

/// Ends it.
void esk_tree_change_end(struct esk_tree *tree, int status,
                         const struct esk_tree_state *before);

/// Nodes that a change may write.
static inline uint8_t esk_tree_change_pages(const struct esk_tree *tree) {
    return (uint8_t)(2u * tree->now.height + 1u);
}

/// Takes tree->page, where a path shares one.
static inline int esk_tree_take(struct esk_tree *tree) {
    return esk_tree_store(tree)->take != NULL ? esk_tree_store(tree)->take(tree)
                                              : ESK_OK;
}

/// Whether nothing may be programmed.
static inline bool esk_tree_is_read_only(const struct esk_tree *tree) {
    return (esk_volume_flags(tree->table.volume) & ESK_MOUNT_READ_ONLY) != 0;
}

/// The height is another one: LRU-N gets its classes anew.
static inline void esk_tree_height_changed(struct esk_tree *tree) {
    if (esk_tree_is_lru_n(tree)) {
        esk_tree_store(tree)->pool_carve(tree);
    }
}

/// Whether a page at `address` waits in the write cache.
static inline bool esk_tree_is_kept(uint32_t address) {
    return address >= ESK_TREE_KEPT_FIRST && address != ESK_PAGE_NONE;
}

/// Writes what waits in the write cache.
static inline int esk_tree_flush(struct esk_tree *tree) {
    return esk_tree_kept(tree) != NULL ? esk_tree_write_cache(tree)->flush(tree)
                                       : ESK_OK;
}

/// Has a node that was opened to be changed, and that waits in the write
/// cache, changed in a copy.
static inline int esk_tree_work_own(struct esk_tree *tree,
                                    struct esk_tree_work *work,
                                    struct esk_btree_node *node) {
    return esk_tree_kept(tree) != NULL && tree->page == NULL &&
                   esk_tree_is_kept(work->address)
               ? esk_tree_write_cache(tree)->own(tree, work, node)
               : ESK_OK;
}

/// Says that a change replaces the node of `level` at `address`.
static inline void esk_tree_replace(struct esk_tree *tree, uint32_t address,
                                    uint8_t level) {
    if (esk_tree_kept(tree) != NULL && esk_tree_is_kept(address)) {
        esk_tree_write_cache(tree)->replace(tree, address, level);
    }
}

/// Completes what a failure left before the tree is read.
/// Returns also ESK_E_INVALID when it is closed.
int esk_tree_ready(struct esk_tree *tree);

#endif
