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
///     &esk_store_tnc         a share of a commit     any
///
/// *) and 1 write for about 12 new nodes: the list of their pages.
///
/// Wandering, mu and tnc trees are *copy-on-write*, the other two *in place*.
///
/// A change is on the medium when its call returns, unless there is a write
/// cache; tnc always has one. esk_tree_sync makes all caches durable, the
/// driver's too. After power loss the tree has every change that a sync
/// acknowledged, then a prefix in order of the later changes; of a batch all or
/// nothing. (&esk_store_inplace on a medium that caches writes and reorders
/// them: any of the later changes.)
///
/// A key is passed as the bytes of the key column, little-endian, as in a row:
/// any integer, float (no NaN) or fixed-width bytes, which sort as with memcmp.
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
    ESK_STORE_TNC = 5,
};

struct esk_node_store;
struct esk_tree_merge;
struct esk_tree_batches;
struct esk_tree_write_cache;

/// One node a page, overwritten in place (btree-2022). Needs
/// ESK_MEDIUM_OVERWRITE, and page writes that are atomic at power loss.
extern const struct esk_node_store esk_store_inplace;
/// The same, each write first to a journal page: writes may tear.
extern const struct esk_node_store esk_store_journaled;
/// One node a page. A change writes a new page for the leaf and each parent.
extern const struct esk_node_store esk_store_wandering;
/// The whole path in one page (mutree-2007); leaves take k of a page
/// (lrun-kmutree-2012).
extern const struct esk_node_store esk_store_mu;
/// Small nodes, several a page (tnc-ubifs-2010). Changed nodes wait in frames,
/// and a commit packs them into pages, children before parents: when a change
/// finds no free frame, by esk_tree_sync, and before the collector runs. At
/// most a third of the region has nodes of the tree. Not in a program with a
/// shape.
extern const struct esk_node_store esk_store_tnc;

/// Merging: a node that a delete leaves half full or less is joined with a
/// neighbour below the same parent, if both fit one node. For copy-on-write
/// trees: such a delete costs 1 or 2 reads more, and no program.
extern const struct esk_tree_merge esk_merge_moving;
/// The same for trees in place, through their journal: a merge costs 4 writes
/// more. The tree uses freed pages when no new one is left. Links batches,
/// which use the same journal.
extern const struct esk_tree_merge esk_merge_inplace;

/// Batches for trees in place: they need 4 bytes of RAM for each page that a
/// batch may change.
extern const struct esk_tree_batches esk_batches_inplace;

/// A write cache for copy-on-write trees: changed pages wait in frames, and a
/// page that a later change replaces is never programmed (mutree-2007, section
/// 5.3). The cache is written in one atomic step when a change finds no free
/// frame, by esk_tree_sync, and before the collector runs.
extern const struct esk_tree_write_cache esk_write_cache;

enum esk_tree_policy {
    ESK_TREE_LRU_P = 0, ///< pages, least recently used first
    ESK_TREE_LRU_N = 1, ///< mu only: nodes, a list a level
};

enum esk_tree_limits {
    ESK_TREE_HEIGHT_MAX = 8,
    ESK_TREE_CURSOR_KEY_BYTES = 16, ///< widest key that a cursor stores
};

/// Layout of a tree's nodes in a page. Level 1 is the leaves.
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
    /// The store that the table was created with; required. Only the stores
    /// that a program names are linked.
    const struct esk_node_store *store;
    /// NULL: nodes are never merged. Else merging for the store's kind.
    const struct esk_tree_merge *merge;
    /// In place; NULL: no batches. Copy-on-write trees always have batches.
    const struct esk_tree_batches *batches;
    /// Copy-on-write; NULL: no write cache.
    const struct esk_tree_write_cache *write_cache;
    uint16_t batch_pages; ///< pages that a batch in place may change; 0: 16
    uint8_t frames;       ///< page frames, at least 2; 0: 2. With 3 or more
                          ///< the root stays cached. tnc: node frames, at
                          ///< least 5, which take a tree of one level, and 2
                          ///< for each further level; 0: 19, for all
    uint8_t write_frames; ///< frames that the write cache may take, at most all
                          ///< but 1 (mu: 2); 0: the most. Fewer than the height
                          ///< (mu: than 1): changes are written through
    uint8_t policy;       ///< enum esk_tree_policy
    uint8_t erase_ahead;  ///< blocks esk_volume_step keeps erased; more than 8
                          ///< count as 8; 0: 1
};

/// Counts since the table was opened.
struct esk_tree_stats {
    uint32_t page_reads; ///< page loads, those of the open and GC included
    uint32_t page_programs;
    uint32_t block_erases;
    uint32_t pages_moved; ///< live pages that GC wrote again
    uint32_t splits;
    uint32_t merges;
    uint32_t hits;   ///< nodes found in RAM
    uint32_t misses; ///< nodes that were read
    uint32_t pages_damaged;
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t nodes;     ///< of the tree now; in place: pages that are or were
                        ///< in use
    uint32_t nodes_max; ///< most that the region, and the height, can hold; bad
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
    uint32_t pages_free;    ///< in place: pages that had a node and have none
                            ///< now; used again when no new one is left
    uint32_t newest_unread; ///< copy-on-write: newest pages that opens since
                            ///< the create could not read: torn by power loss
                            ///< before a sync, or decayed, and the changes on
                            ///< them are lost. 127: or more
};

/// An open tree, in the volume's arena. A call with a handle that is NULL or
/// closed returns ESK_E_INVALID or 0, until another table uses its memory.
struct esk_tree;

/// The path from the root to a row: a node and an entry for each level. The
/// fields are EskerDB's.
struct esk_tree_path {
    esk_address address[ESK_TREE_HEIGHT_MAX]; ///< [level - 1]
    uint16_t index[ESK_TREE_HEIGHT_MAX];
    uint32_t turns; ///< to another child since the descent
    uint8_t lost;   ///< level of the node that could not be read
};

/// A cursor. The caller owns it. Between calls it holds no frame, so it needs
/// no close. The fields are EskerDB's.
struct esk_tree_cursor {
    /// What it was opened on; NULL: nothing.
    const struct esk_tree *tree;
    const uint8_t *next; ///< the next row, in a frame
    const esk_tag *held; ///< tag of the frame that had its leaf last; NULL
    uint16_t left;       ///< rows from `next` on that are wanted
    uint8_t resume;      ///< level where the path goes on down; 0: the end
    bool backward;
    bool has_last;  ///< `last` is the key of the row returned last, or
    bool from_last; ///< where readable keys begin again
    bool ended;
    uint8_t step_leaves;  ///< of the query; 0: no limit
    uint32_t changes;     ///< of the tree when the path was made
    const uint8_t *start; ///< first key; NULL: at the end of the keys
    const uint8_t *bound; ///< last key; NULL: none
    struct esk_tree_path path;
    uint8_t last[ESK_TREE_CURSOR_KEY_BYTES];
};

/// Which rows a cursor returns.
struct esk_tree_query {
    const void *key_min; ///< included; NULL: from the first
    const void *key_max; ///< included; NULL: to the last
    bool backward;       ///< from key_max down
    /// Most leaves that a call of the cursor leaves behind before it finds a
    /// row; then it returns ESK_AGAIN. Above 255 counts as 255. 0: as many as
    /// it takes.
    uint32_t step_leaves;
};

/// A node, as esk_tree_walk_next returns it.
struct esk_tree_node {
    uint32_t address;  ///< of its page: a page of the region (in place), or a
                       ///< position of the ring, which is page address modulo
                       ///< pages_max; tnc: a page of the region
    uint16_t count;    ///< rows of a leaf, else children
    uint16_t capacity; ///< most rows or children
    uint8_t level;     ///< 1: a leaf
    bool damaged;      ///< it cannot be read; count and capacity are 0
};

/// A walk over the nodes. The caller owns it; it needs no close.
struct esk_tree_walk {
    /// What it was opened on; NULL: nothing.
    const struct esk_tree *tree;
    uint32_t pages;            ///< of the region, live or dead: programmed and
                               ///< not yet to be erased
    uint32_t pages_max;        ///< of the region
    struct esk_tree_path path; ///< from here on EskerDB's
    uint32_t changes;
    uint8_t level; ///< of the last or the next node; 0: none
    bool told;
    bool damaged;
};

/// A tree to create. Everything in it but table.row_bytes is stored in the
/// catalog. C++20 names members in this order.
struct esk_tree_spec {
    struct esk_table_spec table;
    uint8_t store;     ///< enum esk_tree_store
    uint8_t k_percent; ///< mu: share of a page its leaf gets, 10..90; 0: 50.
                       ///< tnc: share of a page that a full node takes, 10..50;
                       ///< 0: 25, or what 4 entries take
    uint32_t blocks;   ///< of its region; 0: what is left of the device
};

/// What the catalog has of a tree beside its schema.
struct esk_tree_options {
    uint8_t store;     ///< enum esk_tree_store
    uint8_t k_percent; ///< mu: share of a page its leaf gets; tnc: a node
};

/// Decodes the options of a tree.
/// Returns  ESK_OK; ESK_E_CORRUPT when `info` is not of a tree;
///          ESK_E_UNSUPPORTED when the store is of a newer version.
int esk_tree_options(const struct esk_table_info *info,
                     struct esk_tree_options *options);

/// Checks `spec` for pages of `page_bytes`, as a tree.
/// Returns ESK_OK; ESK_E_SCHEMA with `fault` filled in.
int esk_tree_spec_check(const struct esk_tree_spec *spec, uint16_t page_bytes,
                        struct esk_fault *fault);

/// Creates a tree with the spec's store and k_percent. Variable columns are
/// refused. It erases as esk_series_create.
///
/// fault    out: what is wrong on ESK_E_SCHEMA; on ESK_E_NO_SPACE
///          ESK_FAULT_TOO_LARGE when the catalog is full. May be NULL.
/// Needs    a free page in the arena.
/// Returns  as esk_series_create; ESK_E_NO_SPACE also when the region is too
///          small: less than 8 pages, for wandering 2 blocks and 38 pages, for
///          tnc 3 blocks and 80 pages, for mu 2 or 3 blocks, 10 pages and 1
///          page in 31; ESK_E_UNSUPPORTED when the medium does not suit the
///          store.
/// Costs    as esk_series_create.
int esk_tree_create(struct esk_volume *volume, const struct esk_tree_spec *spec,
                    struct esk_fault *fault);

/// Bytes of the arena that esk_tree_open takes for the table, exactly; 0 when
/// the catalog cannot be read, the table has another store than `config`, or
/// `config` has too few frames. esker/arena.h has the figure as a constant.
/// Needs    a free page in the arena.
uint32_t esk_tree_arena_bytes(struct esk_volume *volume,
                              const struct esk_table_info *info,
                              const struct esk_tree_config *config);

/// Opens table `name`; undoes or completes what power loss interrupted.
///
/// tree     out: a handle inside the arena, valid until esk_tree_close; NULL
///          unless ESK_OK.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_NO_MEMORY when too little of the arena
///          is free, or tnc has too few frames for the tree's height;
///          ESK_E_INVALID when `config` has one frame (tnc: 1 to 4); ESK_E_BUSY
///          when the table or a reader of it is open already;
///          ESK_E_UNSUPPORTED (not a tree, another store, or merging, batches
///          or write cache of the other kind of store); ESK_E_READ_ONLY when a
///          split has to be completed; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    O(log blocks) page reads. In place: 3, and 3 or a path for each of
///          at most 16 pages that new nodes may have; without a root O(log
///          pages).
int esk_tree_open(struct esk_tree **tree, struct esk_volume *volume,
                  const char *name, const struct esk_tree_config *config);

/// Opens the tree that `spec` describes; creates it if there is none. A
/// firmware calls this after each reset.
///
/// fault    out: on ESK_E_SCHEMA what is wrong, or how the existing table
///          differs in its columns, its key or its store; on ESK_E_NO_SPACE
///          how many blocks are missing. May be NULL.
/// Returns  as esk_tree_create without ESK_E_EXISTS, and esk_tree_open.
/// Costs    as esk_tree_open, and 2 page reads a table of the catalog.
int esk_tree_open_or_create(struct esk_tree **tree, struct esk_volume *volume,
                            const struct esk_tree_spec *spec,
                            const struct esk_tree_config *config,
                            struct esk_fault *fault);

/// Reads the layout of a tree's nodes from the catalog, for esk_tree_attach.
///
/// info     of the tree.
/// store    the store that `info` names.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_E_CORRUPT when no node has such a layout; ESK_E_IO.
/// Costs    a read of the table's descriptor.
int esk_tree_layout_read(struct esk_volume *volume,
                         const struct esk_table_info *info,
                         const struct esk_node_store *store,
                         struct esk_btree_layout *layout);

/// Opens the tree that `info` and `layout` describe, without reading the
/// catalog, as esk_series_attach. Such a program has no readers.
///
/// info, layout  borrowed for the call.
/// Returns  as esk_tree_open; the table must not be open.
int esk_tree_attach(struct esk_tree **tree, struct esk_volume *volume,
                    const struct esk_table_info *info,
                    const struct esk_btree_layout *layout,
                    const struct esk_tree_config *config);

/// Closes the handle and aborts an open batch. Writes the write cache, but
/// returns no error: call esk_tree_sync first. The memory is free when the
/// tables that were opened later are closed, too.
void esk_tree_close(struct esk_tree *tree);

/// Puts one row: inserts it, or replaces the row with its key.
///
/// row      in, borrowed for the call: esk_tree_row_bytes bytes.
/// Returns  ESK_OK: on the medium, or in the write cache. ESK_FULL: no room for
///          a new row; changes and deletes still work. Then 1 block in 64, at
///          least 1, can go bad before they return ESK_E_WORN (copy-on-write,
///          on a medium with bad-block marks). ESK_E_INVALID: a NaN key.
///          ESK_E_IO, ESK_E_CORRUPT, ESK_E_WORN, ESK_E_READ_ONLY, ESK_E_LIMIT:
///          nothing changed; but in place the change may be visible, and
///          copy-on-write it may be after power loss before the next program.
/// Costs    height reads and the store's programs. Copy-on-write: GC of at most
///          2 blocks or 32 pages (a page: 1 program, 2 height + 3 reads) unless
///          room needs more; after an open all blocks' marks are read, after
///          power loss the pages that it cut, too, and 32 blocks or 128 KiB at
///          most erased. In place, without unused pages: all inner nodes read.
int esk_tree_put(struct esk_tree *tree, const void *row);

/// Puts a row with a new key. As esk_tree_put; also returns ESK_EXISTS.
int esk_tree_insert(struct esk_tree *tree, const void *row);

/// Replaces the row with the same key. As esk_tree_put; also returns
/// ESK_NOT_FOUND.
int esk_tree_update(struct esk_tree *tree, const void *row);

/// Puts `count` rows, one after another at `rows`. Rows next to each other in
/// key order share the write of their leaf: sorted rows cost about one program
/// a leaf instead of one a row.
/// done     out, may be NULL: rows that were put, also on failure.
int esk_tree_put_many(struct esk_tree *tree, const void *rows, uint32_t count,
                      uint32_t *done);

/// Deletes the row with `key`.
/// Returns  as esk_tree_put without ESK_FULL; ESK_NOT_FOUND.
int esk_tree_delete(struct esk_tree *tree, const void *key);

/// Copies the row with `key` into `row`.
/// row      out, esk_tree_row_bytes bytes; untouched unless ESK_OK.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    at most height reads; one less when the root is cached.
int esk_tree_get(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the largest key <= `key`. As esk_tree_get; costs one
/// path more when the row is in the leaf before.
int esk_tree_floor(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the smallest key >= `key`; NULL: the smallest of all. As
/// esk_tree_floor.
int esk_tree_ceiling(struct esk_tree *tree, const void *key, void *row);

/// Copies the row with the smallest key. ESK_NOT_FOUND: the table is empty.
int esk_tree_first(struct esk_tree *tree, void *row);

/// Copies the row with the largest key. ESK_NOT_FOUND: the table is empty.
int esk_tree_last(struct esk_tree *tree, void *row);

/// Sets `count` to the number of rows.
/// Costs    nothing; in place one read a leaf, the first time after an open.
int esk_tree_count(struct esk_tree *tree, uint32_t *count);

/// Starts `cursor` on the rows of `query`. NULL: every row.
/// Keeps    the keys of `query`, borrowed until the last use of the cursor.
/// Costs    nothing; the first next seeks.
int esk_tree_cursor_open(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         const struct esk_tree_query *query);

/// Copies the next row into `row`.
///
/// After a change of the table a cursor goes on from its last key, and sees
/// the changes after that key.
/// Returns  ESK_OK; ESK_END; ESK_E_STALE when the table was changed and keys
///          are wider than ESK_TREE_CURSOR_KEY_BYTES: open the cursor again;
///          ESK_E_CORRUPT when a node cannot be read: call again to go on after
///          the rows below this node; ESK_E_INVALID when the cursor was not
///          opened on this handle; ESK_E_IO: call again; ESK_AGAIN: see
///          step_leaves.
/// Costs    1 read a leaf, and one a parent of leaves. Trees in place that do
///          not merge keep leaves without rows: with step_leaves a call reads
///          at most height nodes, and 2 * height for each of these leaves.
int esk_tree_cursor_next(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         void *row);

/// Begins a batch: reads see its changes at once; commit makes all of them
/// take effect together. Writes the write cache first.
///
/// pages    copy-on-write: programs that the batch may need, for which room is
///          collected now: mu about one a row and one a split, wandering height
///          times that. 0: a block. In place: existing pages that the batch may
///          change, at most config.batch_pages. 0: config.batch_pages, but at
///          most half of the unused pages and 8 more (1 in 8 of a region of
///          less than 64 pages).
/// Returns  ESK_OK; ESK_FULL: no room for so many; ESK_E_INVALID in a batch;
///          ESK_E_UNSUPPORTED in place without config.batches;
///          ESK_E_READ_ONLY; ESK_E_IO and what collecting returns. Later a
///          change that finds no room returns ESK_FULL: commit or abort.
/// Costs    the GC, the pages in the write cache; an empty tree: 1 program.
int esk_tree_begin(struct esk_tree *tree, uint32_t pages);

/// Makes the batch take effect.
/// Returns  ESK_OK; ESK_E_INVALID outside a batch; ESK_E_IO, ESK_E_WORN: the
///          batch is still open; ESK_E_CORRUPT, in place: a write that failed
///          tore a page of the batch, or failed during a merge: the batch is
///          still open and can only be aborted; reads return this, too.
/// Costs    one program; in place two, and one for each page that the batch
///          changed. In place the next call repeats a write that failed after
///          the batch took effect.
int esk_tree_commit(struct esk_tree *tree);

/// Rolls the batch back.
/// Returns  ESK_OK; ESK_E_INVALID outside a batch; ESK_E_IO, ESK_E_WORN (in
///          place): the batch is still open.
/// Costs    nothing; in place one program.
int esk_tree_abort(struct esk_tree *tree);

/// Makes every change durable.
/// Returns  ESK_OK; ESK_E_IO; with a write cache also as a put: the changes are
///          still cached, call again.
/// Costs    the driver's sync, and the pages in the write cache.
int esk_tree_sync(struct esk_tree *tree);

/// Fills `stats`. Costs nothing.
void esk_tree_stats(const struct esk_tree *tree, struct esk_tree_stats *stats);

/// Fills `space` with the room and wear of the tree's region: its nodes, and
/// how many more it can get at its height. A tree in place erases nothing.
/// Costs    nothing.
void esk_tree_space(const struct esk_tree *tree, struct esk_space *space);

/// Reads every node and verifies envelopes, order, ranges and counts. Writes
/// the write cache first.
/// report   out, always filled in.
/// Returns  ESK_OK when nothing is wrong, whatever newest_unread is;
///          ESK_E_CORRUPT when something is; ESK_E_IO, and as a put.
int esk_tree_check(struct esk_tree *tree, struct esk_tree_report *report);

/// Starts a walk over the nodes of the tree, to show or measure it. Writes the
/// write cache first.
/// walk     out: pages and pages_max are set.
/// Returns  ESK_OK; ESK_E_CORRUPT; ESK_E_IO, and as a put.
/// Costs    nothing but the pages in the write cache.
int esk_tree_walk_open(struct esk_tree *tree, struct esk_tree_walk *walk);

/// Copies the next node into `node`: the root first, each node before its
/// children, children in key order.
///
/// node     out, untouched unless ESK_OK.
/// Returns  ESK_OK, also for a node that cannot be read: it is `damaged`, and
///          the walk skips the nodes below it; ESK_END; ESK_E_STALE when the
///          tree was changed since the walk was opened; ESK_E_INVALID when the
///          walk was not opened on this handle; ESK_E_IO: call again;
///          ESK_E_CORRUPT, for good: more nodes than the region can have.
/// Costs    1 read a node, and its parents again where frames are few.
int esk_tree_walk_next(struct esk_tree *tree, struct esk_tree_walk *walk,
                       struct esk_tree_node *node);

/// Bytes of the arena that esk_tree_reader_open takes, exactly.
uint32_t esk_tree_reader_arena_bytes(const struct esk_tree *tree,
                                     const struct esk_tree_config *config);

/// Opens a reader: a second handle on an open tree, with its own frames. All
/// read calls take it; calls that change a tree return ESK_E_READ_ONLY.
///
/// Copy-on-write: a *snapshot* of the last commit; writes the write cache
/// first. A read of a page that was collected since returns ESK_E_STALE: renew.
/// In place: the tree as it is; a change drops the reader's frames.
/// reader   out: a handle inside the arena, NULL unless ESK_OK. Close it with
///          esk_tree_close before its tree: after that its reads return
///          ESK_E_INVALID.
/// config   only frames (at least 1; 0: 2) and policy are used; may be NULL.
/// Returns  ESK_OK; ESK_E_INVALID of a reader; ESK_E_NO_MEMORY when too little
///          of the arena is free; in place as completing a failed change; with
///          a write cache as a put.
/// Costs    no page reads; the pages in the write cache.
int esk_tree_reader_open(struct esk_tree **reader, struct esk_tree *tree,
                         const struct esk_tree_config *config);

/// Makes the reader a snapshot of the tree as it is now. Its cursors go on
/// from their keys. As esk_tree_reader_open; ESK_E_INVALID of a tree that is no
/// reader.
int esk_tree_reader_renew(struct esk_tree *reader);

/// Bytes of one row.
uint16_t esk_tree_row_bytes(const struct esk_tree *tree);

#ifdef __cplusplus
}
#endif

#endif
