// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tree table: rows in key order, each key once, put, changed, deleted.
///
/// One B+-tree over a *node store*, which decides where a node lives:
///
///     store                  a change costs          medium
///     &esk_store_inplace     1 write, +2 a split *)  overwrites pages whole
///     &esk_store_journaled   twice that              overwrites, may tear
///     &esk_store_wandering   height programs         any
///     &esk_store_mu          1 program, +1 a split   any
///
/// *) and one for about 12 new nodes: the list of the pages they get.
///
/// A change is on the medium when its call returns, unless there is a write
/// cache; esk_tree_sync makes what is in caches, the driver's own too, safe.
/// What a power cut leaves: every change that a sync acknowledged, then a
/// prefix in order of the later ones; of a batch all or nothing.
/// (&esk_store_inplace on a medium that keeps writes back and writes them in
/// any order: of the later ones, any.)
///
/// A key is passed as the key column's own bytes, little-endian, as in a row:
/// any integer, float (no NaN) or fixed-width bytes, which sort as memcmp
/// does.
#ifndef ESKER_TREE_H
#define ESKER_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/schema.h"
#include "esker/status.h"
#include "esker/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where the nodes live. On flash.
enum esk_tree_store {
    ESK_STORE_INPLACE = 1,
    ESK_STORE_JOURNALED = 2,
    ESK_STORE_WANDERING = 3,
    ESK_STORE_MU = 4,
};

struct esk_node_store;
struct esk_tree_merge;
struct esk_tree_batches;
struct esk_tree_write_cache;

/// One node a page, overwritten where it is (btree-2022). Needs
/// ESK_MEDIUM_OVERWRITE and page writes that a cut leaves old or new.
extern const struct esk_node_store esk_store_inplace;
/// The same, each write first to a journal page: a write may tear.
extern const struct esk_node_store esk_store_journaled;
/// One node a page, a new page for every change, and so for its parents.
extern const struct esk_node_store esk_store_wandering;
/// The whole path in one page (mutree-2007); leaves take k of a page
/// (lrun-kmutree-2012).
extern const struct esk_node_store esk_store_mu;

/// Merging: a node that a delete leaves at half or less is joined with a
/// neighbour below the same parent when the two fit one node. For wandering
/// and mu trees: costs 1 or 2 reads such a delete, and no program.
extern const struct esk_tree_merge esk_merge_moving;
/// The same for trees in place, through their journal; a page that a merge
/// frees is used again when no new one is left. Costs 4 writes more a merge.
/// Names batches along with it: it needs the same journal.
extern const struct esk_tree_merge esk_merge_inplace;

/// Batches where pages are overwritten: they need a journal of many pages,
/// and 4 bytes of RAM for each.
extern const struct esk_tree_batches esk_batches_inplace;

/// A write cache for wandering and mu trees: the pages of changes wait in
/// frames, so what later changes replace is never programmed (mutree-2007,
/// section 5.3). They are written together, in one atomic step, when a change
/// finds no frames left, by esk_tree_sync, and before space is collected.
extern const struct esk_tree_write_cache esk_write_cache;

enum esk_tree_policy {
    ESK_TREE_LRU_P = 0, ///< pages, least recently used first
    ESK_TREE_LRU_N = 1, ///< mu only: nodes, a list a level
};

enum esk_tree_limits {
    ESK_TREE_HEIGHT_MAX = 8,
    ESK_TREE_CURSOR_KEY_BYTES = 16, ///< widest key a cursor finds again
};

/// Where a tree's nodes are in a page; levels from 1, the leaves.
struct esk_btree_layout {
    uint16_t row_bytes;
    uint16_t key_offset; ///< of the key in a row
    uint16_t key_bytes;
    uint8_t key_type;   ///< enum esk_type
    uint8_t height_max; ///< levels that can be laid out
    bool shares;        ///< a page holds a node of each level
    bool counts_inside; ///< nodes begin with their count; else the envelope
    /// [level - 1] begins the level's node, [height_max] the page's end.
    uint16_t offset[ESK_TREE_HEIGHT_MAX + 1];
    uint16_t node_entries[ESK_TREE_HEIGHT_MAX]; ///< [level - 1], capacities
    uint16_t root_entries[ESK_TREE_HEIGHT_MAX];
};

/// How a tree is opened; zero means the default. Nothing here is stored.
struct esk_tree_config {
    /// The store the table was created with; required, so that the linker
    /// keeps only the stores that are named.
    const struct esk_node_store *store;
    /// NULL: nodes are never merged. Else that of the store's kind.
    const struct esk_tree_merge *merge;
    /// Of a tree in place that has batches; NULL: none. Moving trees have
    /// them anyway.
    const struct esk_tree_batches *batches;
    /// Of a moving tree that has a write cache; NULL: none.
    const struct esk_tree_write_cache *write_cache;
    uint16_t batch_pages; ///< pages that a batch in place may change; 0: 16
    uint8_t frames;       ///< page frames, at least 2; 0: 2. From the third
                          ///< on the root stays in one
    uint8_t write_frames; ///< of them that pages not yet written may take; 0,
                          ///< and at most: all but 1 (mu: 2). Less than the
                          ///< height (mu: 1) is as no write cache
    uint8_t policy;       ///< enum esk_tree_policy
    uint8_t erase_ahead;  ///< blocks esk_volume_step keeps erased, at most 8;
                          ///< 0: 1
};

/// What has happened since the table was opened.
struct esk_tree_stats {
    uint32_t page_reads; ///< page loads, those of mount and GC included
    uint32_t page_programs;
    uint32_t block_erases;
    uint32_t pages_moved; ///< live pages that GC wrote anew
    uint32_t splits;
    uint32_t merges;
    uint32_t hits;   ///< nodes found in RAM
    uint32_t misses; ///< nodes that were read
    uint32_t pages_damaged;
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t nodes;     ///< of the tree now; inplace: pages that are or were
                        ///< in use
    uint32_t nodes_max; ///< that the region, and the height, can hold; bad
                        ///< blocks count from the first change on
    uint8_t height;     ///< levels; 1: the root is a leaf
};

/// What esk_tree_check found.
struct esk_tree_report {
    uint32_t rows;
    uint32_t nodes;
    uint32_t leaves;
    uint32_t pages_damaged; ///< nodes that cannot be read
    uint32_t order_wrong;   ///< entries out of order or out of their range
    uint32_t nodes_wrong;   ///< counts or links that break an invariant
    uint32_t pages_free;    ///< in place: of those that were taken for nodes,
                            ///< without one: taken again when none is unused
    uint32_t newest_unread; ///< where nodes move: newest pages that opens since
                            ///< it was created could not read. A cut tore them,
                            ///< before their sync returned, or they decayed,
                            ///< and the changes on them are lost. 127: or more
};

/// An open tree. It lives in the volume's arena. A handle that was closed, or
/// is NULL, as after an open that failed, is refused until its memory is
/// another table's: ESK_E_INVALID, or 0.
struct esk_tree;

/// From the root to a row: a node and an entry of it a level. EskerDB's.
struct esk_tree_path {
    uint32_t address[ESK_TREE_HEIGHT_MAX]; ///< [level - 1]
    uint16_t index[ESK_TREE_HEIGHT_MAX];
    uint32_t turns; ///< to another child since the descent
    uint8_t lost;   ///< level of the node that could not be read
};

/// A cursor. The caller owns it; it holds no frame between calls, so it is
/// closed by being forgotten. The fields are EskerDB's.
struct esk_tree_cursor {
    /// What it was opened on; NULL: nothing.
    const struct esk_tree *tree;
    const uint8_t *next; ///< the next row, in a frame
    uint16_t left;       ///< rows from `next` on that may come
    uint8_t frame;       ///< where its leaf was last
    uint8_t resume;      ///< level where the path goes on down; 0: it ends
    bool backward;
    bool has_last;  ///< `last` is the key of the row returned last, or
    bool from_last; ///< where readable keys begin again
    bool ended;
    uint32_t changes;     ///< of the tree when the path was made
    const uint8_t *start; ///< where it begins; NULL: at the end of the keys
    const uint8_t *bound; ///< the last key that may come; NULL: none
    struct esk_tree_path path;
    uint8_t last[ESK_TREE_CURSOR_KEY_BYTES];
};

/// What a cursor yields.
struct esk_tree_query {
    const void *key_min; ///< included; NULL: from the first
    const void *key_max; ///< included; NULL: to the last
    bool backward;       ///< from key_max down
};

/// A node, as esk_tree_walk_next tells it.
struct esk_tree_node {
    uint32_t address;  ///< of its page: a page of the region (inplace), or a
                       ///< position of its ring, that many pages on, modulo
                       ///< pages_max
    uint16_t count;    ///< rows of a leaf, else children
    uint16_t capacity; ///< of them that it can take
    uint8_t level;     ///< 1: a leaf
    bool damaged;      ///< it cannot be read; count and capacity are 0
};

/// A walk over the nodes. The caller owns it and forgets it.
struct esk_tree_walk {
    /// What it was opened on; NULL: nothing.
    const struct esk_tree *tree;
    uint32_t pages;            ///< of the region, live or dead: programmed and
                               ///< not yet to be erased
    uint32_t pages_max;        ///< of the region
    struct esk_tree_path path; ///< from here on EskerDB's
    uint32_t changes;
    uint8_t level; ///< of the node told last, or to be told; 0: none
    bool told;
    bool damaged;
};

/// A tree to create. Everything in it but table.row_bytes is stored in the
/// catalog. C++20 names members in this order.
struct esk_tree_spec {
    struct esk_table_spec table;
    uint8_t store;     ///< enum esk_tree_store
    uint8_t k_percent; ///< mu: share of a page its leaf gets, 10..90; 0: 50
    uint32_t blocks;   ///< of its region; 0: what is left of the device
};

/// What the catalog keeps of a tree beside its schema.
struct esk_tree_options {
    uint8_t store;     ///< enum esk_tree_store
    uint8_t k_percent; ///< mu: share of a page its leaf gets
};

/// Returns ESK_OK; ESK_E_CORRUPT when `info` is not of a tree;
/// ESK_E_UNSUPPORTED when the store is one of a newer version.
int esk_tree_options(const struct esk_table_info *info,
                     struct esk_tree_options *options);

/// Checks `spec` for pages of `page_bytes`, as a tree.
/// Returns ESK_OK; ESK_E_SCHEMA with `fault` filled in.
int esk_tree_spec_check(const struct esk_tree_spec *spec, uint16_t page_bytes,
                        struct esk_fault *fault);

/// Creates a tree. The spec's store and k_percent say where nodes live;
/// variable columns are refused. Nothing is erased or reserved until it is
/// opened.
///
/// fault    out: what is wrong on ESK_E_SCHEMA; on ESK_E_NO_SPACE
///          ESK_FAULT_TOO_LARGE when it is the catalog that is full. May be
///          NULL.
/// Needs a page of the arena free.
/// Returns  as esk_series_create; ESK_E_NO_SPACE also when the region has less
///          than 8 pages, or for mu less than three blocks, ten pages and one
///          page in 31; ESK_E_UNSUPPORTED when the medium is not one for the
///          store.
/// Costs    as esk_series_create.
int esk_tree_create(struct esk_volume *volume, const struct esk_tree_spec *spec,
                    struct esk_fault *fault);

/// Bytes of the arena esk_tree_open needs for the table, exactly; 0 when the
/// catalog cannot be read, the table is not of the config's store, or it asks
/// for one frame. Needs a page of the arena free. esker/arena.h has it as a
/// constant.
uint32_t esk_tree_arena_bytes(struct esk_volume *volume,
                              const struct esk_table_info *info,
                              const struct esk_tree_config *config);

/// Opens table `name`, undoing or completing what a cut interrupted.
///
/// tree     out: a handle inside the arena, valid until esk_tree_close; NULL
///          unless ESK_OK.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_NO_MEMORY when too little of the arena
///          is free; ESK_E_INVALID when `config` asks for one frame; ESK_E_BUSY
///          when the table or a reader of it is open already; ESK_E_UNSUPPORTED
///          (not a tree, not of this store, or its merging, batches or write
///          cache are missing or not of this store's kind); ESK_E_READ_ONLY
///          when a split has to be completed; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    O(log blocks) page reads. Inplace: 3, and for each of at most 16
///          pages that new nodes may have got 3 or a path; without a root
///          O(log pages).
int esk_tree_open(struct esk_tree **tree, struct esk_volume *volume,
                  const char *name, const struct esk_tree_config *config);

/// Opens the tree that `spec` describes; creates it where there is none. What a
/// firmware calls after each reset.
///
/// fault    out: on ESK_E_SCHEMA what is wrong, or how the table that is there
///          differs in its columns, its key or its store; on ESK_E_NO_SPACE
///          how many blocks are missing. May be NULL.
/// Returns  as esk_tree_create, but for ESK_E_EXISTS, and esk_tree_open.
/// Costs    2 page reads a table of the catalog more than esk_tree_open.
int esk_tree_open_or_create(struct esk_tree **tree, struct esk_volume *volume,
                            const struct esk_tree_spec *spec,
                            const struct esk_tree_config *config,
                            struct esk_fault *fault);

/// Reads from the catalog how the nodes of a tree are laid out: what
/// esk_tree_attach takes.
///
/// info     of the tree; store: the one that it names.
/// Needs a page of the arena free.
/// Returns  ESK_OK; ESK_E_CORRUPT when no node can be laid out so; ESK_E_IO.
/// Costs    a read of the table's descriptor.
int esk_tree_layout_read(struct esk_volume *volume,
                         const struct esk_table_info *info,
                         const struct esk_node_store *store,
                         struct esk_btree_layout *layout);

/// Opens the tree that `info` and `layout` describe, without a look at the
/// catalog: as esk_series_attach. Such a program has no readers.
///
/// info, layout  borrowed for the call.
/// Returns  as esk_tree_open; the table must not be open.
int esk_tree_attach(struct esk_tree **tree, struct esk_volume *volume,
                    const struct esk_table_info *info,
                    const struct esk_btree_layout *layout,
                    const struct esk_tree_config *config);

/// Forgets the handle; an open batch is aborted. What waits in a write cache
/// is written; esk_tree_sync before tells whether it could be. The memory is
/// free once the tables that were opened after it are closed, too.
void esk_tree_close(struct esk_tree *tree);

/// Puts one row: inserts it, or replaces the row with its key.
///
/// row      in, borrowed for the call: esk_tree_row_bytes bytes.
/// Returns  ESK_OK: it is on the medium, or in the write cache. ESK_FULL: no
///          room for one row more. Deletes and changes of rows that are there
///          still work, at any fill: a moving tree counts on no bad block, and
///          when a row is refused one block in 64, at least one, can still go
///          bad before they return ESK_E_WORN. (Counted are blocks with a mark:
///          a medium that keeps none is trusted.) ESK_E_INVALID for a NaN
///          key; ESK_E_IO, ESK_E_CORRUPT, ESK_E_WORN, ESK_E_READ_ONLY,
///          ESK_E_LIMIT: nothing was changed. (Where pages are overwritten a
///          change that failed may have taken effect: reads tell. Where nodes
///          move a cut before the next program may let it take effect.)
/// Cuts     of power of a moving tree: what one leaves half done is erased by
///          the first change after it, and takes no room. What cannot be is the
///          rest of the block with the root in effect, less than a block, until
///          the collector has gone round; and of more than 12 blocks those
///          above (erased ones count: with blocks of fewer than 4 pages, or
///          after a batch). So of cuts between which nothing takes effect any
///          number takes no more than one does. Steps of a wandering tree's
///          collector end with a block, where there is nothing to lose, and
///          after a cut it catches up before a change is made. A full tree
///          takes changes and deletes after 30 cuts in a row anywhere in its
///          sweeps: tested on 8 to 80 blocks of 1 to 64 pages.
/// Costs    height reads and the store's programs; when the medium is full
///          of old pages also GC of a block or more. Inplace: when no page is
///          left that was never used, a read of every inner node for a number
///          of new nodes. The first change of a
///          moving tree after open looks at the mark of every block, and
///          after a cut erases up to 12.
int esk_tree_put(struct esk_tree *tree, const void *row);

/// Puts a row whose key is not there yet. Also returns ESK_EXISTS.
int esk_tree_insert(struct esk_tree *tree, const void *row);

/// Replaces the row with the key. Also returns ESK_NOT_FOUND.
int esk_tree_update(struct esk_tree *tree, const void *row);

/// Puts `count` rows, one after another at `rows`. Neighbours in key order
/// that share a leaf share its write: sorted input costs about one program a
/// leaf instead of one a row.
/// done     out, may be NULL: rows that were put, also on failure.
int esk_tree_put_many(struct esk_tree *tree, const void *rows, uint32_t count,
                      uint32_t *done);

/// Deletes the row with `key`.
/// Returns  as esk_tree_put but for ESK_FULL; ESK_NOT_FOUND.
int esk_tree_delete(struct esk_tree *tree, const void *key);

/// Copies the row with `key` into `row`.
/// row      out, esk_tree_row_bytes bytes; untouched unless ESK_OK.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    at most height reads; one less when the root stays in RAM.
int esk_tree_get(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the largest key <= `key`. As esk_tree_get; one path
/// more where the row is in the leaf before.
int esk_tree_floor(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the smallest key >= `key`; NULL: the smallest of all. As
/// esk_tree_floor.
int esk_tree_ceiling(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the smallest key. ESK_NOT_FOUND: the table is empty.
int esk_tree_first(struct esk_tree *tree, void *row);

/// Copies the row with the largest key. ESK_NOT_FOUND: the table is empty.
int esk_tree_last(struct esk_tree *tree, void *row);

/// Sets `count` to the number of rows.
/// Costs    nothing; inplace: one read a leaf the first time after open.
int esk_tree_count(struct esk_tree *tree, uint32_t *count);

/// Starts `cursor` on the rows that `query` asks for. NULL: every row.
/// Keeps    `query`'s keys, borrowed, until the cursor is last used.
/// Costs    nothing; the first next seeks.
int esk_tree_cursor_open(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         const struct esk_tree_query *query);

/// Copies the next row into `row`.
///
/// After a change of the table a cursor goes on from the key it was at: it
/// sees what was changed ahead of it.
/// Returns  ESK_OK; ESK_END; ESK_E_STALE when the table was changed and the
///          key is wider than ESK_TREE_CURSOR_KEY_BYTES: open it again;
///          ESK_E_CORRUPT when a node cannot be read: the rows below it are
///          left out, call again to go on behind them; ESK_E_INVALID when it
///          was not opened on this handle; ESK_E_IO: call again.
/// Costs    1 read a leaf, and one a parent of leaves.
int esk_tree_cursor_next(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         void *row);

/// Begins a batch: changes until commit are seen by reads at once and take
/// effect on the medium together.
///
/// What waits in a write cache is written first, and takes effect.
/// pages    programs that the batch may need: mu about one a row and one a
///          split, wandering height times that. Nothing can be collected
///          under a batch, so room for them is made now. 0: a block. In place:
///          pages that it may change, of those that there are; new ones are
///          not counted. At most config.batch_pages; 0: so many, or the 8 (of
///          fewer than 64 pages an eighth) that the region keeps for it and
///          half of those that were never used, which is where they come from.
///          A table without a node is given an empty one: 1 program.
/// Returns  ESK_OK; ESK_FULL: there cannot be as much room; ESK_E_INVALID in
///          a batch; ESK_E_UNSUPPORTED in place when config.batches is not
///          named;
///          ESK_E_READ_ONLY; ESK_E_IO and what collecting returns. A change
///          in a batch that took up its room returns ESK_FULL: commit or
///          abort.
int esk_tree_begin(struct esk_tree *tree, uint32_t pages);

/// Makes the batch take effect. Costs one program; in place two, and one for
/// each page that the batch changed. There a write that fails once the batch
/// is in effect is done again by the next call.
/// Returns  ESK_OK; ESK_E_INVALID outside a batch; ESK_E_IO, ESK_E_WORN: the
///          batch is still open; ESK_E_CORRUPT likewise, in place: a write that
///          failed tore a page of the batch, or came in the midst of a merge:
///          then the batch can only be aborted, and reads say so too.
int esk_tree_commit(struct esk_tree *tree);

/// Takes the batch back. Costs nothing; in place one program.
/// Returns  ESK_OK; ESK_E_INVALID outside a batch; ESK_E_IO, ESK_E_WORN (in
///          place): the batch is still open.
int esk_tree_abort(struct esk_tree *tree);

/// Makes every change survive any later power cut.
/// Returns  ESK_OK; ESK_E_IO; with a write cache what appending returns: the
///          changes are still there, call again.
/// Costs    the driver's sync, and the pages in the write cache.
int esk_tree_sync(struct esk_tree *tree);

/// Fills `stats`. Costs nothing.
void esk_tree_stats(const struct esk_tree *tree, struct esk_tree_stats *stats);

/// Room and wear of the tree's region: nodes that there are, and that it can
/// still get at its height. A tree in place erases nothing. Costs nothing.
void esk_tree_space(const struct esk_tree *tree, struct esk_space *space);

/// Reads every node and verifies envelopes, order, ranges and counts.
/// What waits in a write cache is written first.
/// report   out, always filled in.
/// Returns  ESK_OK when nothing is wrong, which newest_unread does not count
///          for; ESK_E_CORRUPT when something is; ESK_E_IO, and what writing
///          returns.
int esk_tree_check(struct esk_tree *tree, struct esk_tree_report *report);

/// Starts a walk over the nodes of the tree, to show or measure it.
/// walk     out: pages and pages_max are set.
/// Returns  ESK_OK; ESK_E_CORRUPT; ESK_E_IO, and what writing returns. Costs
///          nothing; writes what waits in a write cache.
int esk_tree_walk_open(struct esk_tree *tree, struct esk_tree_walk *walk);

/// Tells the next node: the root first, each node before its children, which
/// come in key order.
///
/// node     out, untouched unless ESK_OK.
/// Returns  ESK_OK, also for a node that cannot be read: it is `damaged`, and
///          what is below it is left out; ESK_END; ESK_E_STALE when the tree
///          was changed since the walk was opened; ESK_E_INVALID when it was
///          not opened on this handle; ESK_E_IO: call again;
///          ESK_E_CORRUPT, for good: there are more nodes than can be.
/// Costs    1 read a node, and its parents again where frames are few.
int esk_tree_walk_next(struct esk_tree *tree, struct esk_tree_walk *walk,
                       struct esk_tree_node *node);

/// Bytes of the arena esk_tree_reader_open needs, exactly.
uint32_t esk_tree_reader_arena_bytes(const struct esk_tree *tree,
                                     const struct esk_tree_config *config);

/// Opens a reader on an open tree: a handle with frames of its own, so that
/// long scans and busy changes do not take each other's.
///
/// Whatever reads a tree reads a reader; what changes one returns
/// ESK_E_READ_ONLY. Calls on a tree and its readers are made one at a time,
/// as all calls on a volume.
///
/// Where nodes move a reader is a *snapshot*: it shows the tree as it was when
/// the reader was opened (under a batch: before it), however often the tree
/// is changed. What waits in a write cache is written first, and takes effect.
/// When a node is needed whose page was collected since, a read returns
/// ESK_E_STALE, never anything else than the snapshot: renew it, and cursors
/// go on from their keys. Where pages are overwritten a reader shows the tree
/// as it is, and its frames are forgotten after a change.
///
/// reader   out: a handle inside the arena, valid until it is closed by
///          esk_tree_close, which comes before the tree's own: with its tree
///          closed a reader reads nothing, ESK_E_INVALID. NULL unless ESK_OK.
/// config   frames (at least 1; 0: 2) and policy are looked at; may be NULL.
/// Returns  ESK_OK; ESK_E_INVALID of a reader; ESK_E_NO_MEMORY when too little
///          of the arena is free; where pages are overwritten what completing a
///          failed change returns; with a write cache what appending returns.
/// Costs    no page reads; the pages in the write cache.
int esk_tree_reader_open(struct esk_tree **reader, struct esk_tree *tree,
                         const struct esk_tree_config *config);

/// Takes the tree as it is now for the reader's snapshot; its cursors go on
/// from the keys they were at. As esk_tree_reader_open; ESK_E_INVALID of a tree
/// that is no reader.
int esk_tree_reader_renew(struct esk_tree *reader);

/// Bytes of one row.
uint16_t esk_tree_row_bytes(const struct esk_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
