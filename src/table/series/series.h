// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the files of the series table share.
///
///     append -> write page -> data ring      rows, in key order
///                          -> var page -> var ring     variable values
///                          -> index log -> index ring  summaries, spline
///
/// Three rings, so that data positions are dense and a straight line stays
/// straight. The index log is an accelerator only: a data page that no
/// trusted index page covers is simply read.
///
/// Index pages. A *run page* sums up consecutive data pages, one entry each,
/// and carries the knots made meanwhile. Every group_pages-th position of the
/// index ring is a *group page*: one entry for each index page before it in
/// its group, and a tile of the spline. Tiles that fill up in between get
/// *tile pages*. FORMAT.md has the bytes.
///
/// Keys inside are in order form (base/order.h) throughout.
#ifndef ESK_TABLE_SERIES_SERIES_H
#define ESK_TABLE_SERIES_SERIES_H

#include "base/bytes.h"
#include "base/order.h"
#include "esker/series.h"
#include "flash/ring.h"
#include "index/spline/spline.h"
#include "index/summary/summary.h"
#include "pool/pool.h"
#include "table/series/index_page_format.h"
#include "volume/table.h"
#include "volume/volume.h"

enum {
    ESK_SERIES_NO_INDEX = UINT8_MAX, ///< esk_series_bounds.index without one
};

/// What was programmed since the last sync.
enum esk_series_dirty {
    ESK_SERIES_DATA = 1u << 0,
    ESK_SERIES_VAR = 1u << 1,
    ESK_SERIES_INDEX = 1u << 2,
};

struct esk_series_break_list {
    uint32_t journal; ///< positions of the sync journal below hold nothing
    uint32_t index;   ///< knots of index pages below are of no use
    uint32_t ordinal; ///< of the first row behind the last one
    uint8_t count;
    struct esk_break at[ESK_SERIES_BREAKS_MAX]; ///< the oldest first
};

/// The index log: its ring, and what is in RAM of its next pages.
struct esk_series_index_log {
    uint8_t *run_page;  ///< entries of the run; NULL without value indexes
    uint32_t run_first; ///< data position where the last run ended
    uint32_t run_start; ///< data position of the run's first entry
    uint16_t run_count; ///< entries of the run
    uint16_t run_owed;  ///< of these the first, not read yet since the mount
    bool gap_unknown;   ///< pages from run_first to run_start may hold rows
    bool save_due;      ///< a group page left unsaved knots behind
    struct esk_ring ring;
    uint8_t *group;        ///< entries of the group being written
    uint32_t group_number; ///< the group that `group` is about
    uint32_t failures;     ///< index pages given up
};

/// Small things first, then the rings: what lies within 64 bytes of a pointer
/// takes an 8-bit processor one instruction a byte, anything further off four
/// more. Last comes what not every program has: esk_series_open_with carves
/// the handle no further than its parts go.
struct esk_series {
    struct esk_table table;
    const struct esk_series_parts *parts;
    uint8_t *write_page; ///< rows not yet in a closed page
    uint8_t *var_page;   ///< bytes not yet in a closed page; NULL without
    struct esk_series_shape shape;
    uint16_t write_count; ///< rows in the write page
    bool has_newest;
    uint8_t unread;   ///< newest pages that the mount could not read
    uint8_t dirty;    ///< enum esk_series_dirty: programmed since the last sync
    esk_key newest;   ///< key of the newest row
    esk_key floor;    ///< rows with smaller keys are dropped; 0: none
    uint32_t drops;   ///< times that the floor rose since the open
    uint32_t ordinal; ///< of the write page's first row
    struct esk_ring data;
    struct esk_pool pool;
    struct esk_region_stats stats;

    struct esk_ring *journal;           ///< NULL: syncs seal
    struct esk_ring *var;               ///< NULL without a variable column
    struct esk_summary_column *columns; ///< indexed columns
    uint32_t var_stream;   ///< stream offset of the var page's first byte
    uint16_t sealed_count; ///< rows of the write page that a sync made durable
    uint16_t var_used;     ///< bytes in the var page
    uint16_t var_sealed;   ///< of these, sealed on the medium
    struct esk_series_break_list *breaks; ///< NULL without that part
    uint8_t *row; ///< what rows from before a column have in it; NULL: whole
    uint8_t column_numbers[ESK_INDEX_COUNT_MAX]; ///< of the indexed columns

    /* With a key index. */
    void *key_memory;
    /* With the spline. */
    struct esk_spline spline;

    struct esk_series_index_log log; ///< with the index log
};

/// A data page, pinned.
struct esk_series_place {
    uint32_t position;
    uint8_t *page;
    uint8_t frame;
};

/* What a program with a shape knows when it is compiled. */

/// The shape of the rows, and of the index pages.
static inline const struct esk_series_shape *
esk_shape(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(&esk_shape_series, &series->shape);
}

/// The parts that the program named.
static inline const struct esk_series_parts *
esk_parts(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(&esk_shape_parts, series->parts);
}

/// 1 where rows next to each other may have the same key, else 0.
static inline uint8_t esk_keys_repeat(const struct esk_series *series) {
    return esk_shape(series)->keys_repeat ? 1 : 0;
}

/// Whether the log was broken off behind a row that can be there.
static inline bool esk_is_broken(const struct esk_series *series) {
    return esk_ring_is_broken(&series->data);
}

/// The ring of variable values; NULL: the table has none.
static inline struct esk_ring *esk_var_ring(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        esk_shape_series.var_offset == ESK_SERIES_NO_VAR ? NULL : series->var,
        series->var);
}

/// The sync journal's ring; NULL: syncs seal.
static inline struct esk_ring *esk_sync_ring(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        ESK_SHAPE_SYNC_BLOCKS == 0 ? NULL : series->journal, series->journal);
}

/* series.c: small things everyone needs. */

/// Whether nothing is pinned: how a public call begins. For assertions.
static inline bool esk_series_is_idle(const struct esk_series *series) {
    return esk_pool_pins(&series->pool) == 0;
}

/// Bytes of a knot in an index page.
static inline uint8_t esk_series_knot_bytes(const struct esk_series *series) {
    return (uint8_t)ESK_SPLINE_SECTION_ENTRY_BYTES(
        esk_shape(series)->key_bytes);
}

/// Counts a newest page that the mount cannot read.
static inline void esk_series_unread(struct esk_series *series) {
    if (series->unread < UINT8_MAX) {
        series->unread++;
    }
}

/// Pins position `position` of `ring`. Every outcome but ESK_OK leaves
/// nothing pinned.
int esk_series_pin(struct esk_series *series, const struct esk_ring *ring,
                   uint32_t position, uint8_t **page, uint8_t *frame);

/// Takes note that a page of ring `next` is about to be programmed, and first
/// makes durable what it must not outlive, `after`. Both are of enum
/// esk_series_dirty. A medium that takes pages in order does so by itself;
/// one with ESK_MEDIUM_OVERWRITE may keep them back and is synced, if
/// anything of `after` is not.
/// Returns ESK_OK; ESK_E_IO.
int esk_series_order(struct esk_series *series, uint8_t after, uint8_t next);

/// Positions of `ring` below are in the oldest block of a ring that has gone
/// round. A cut may have left it half erased: what it lacks was dropped, and is
/// not missing. Where pages are overwritten that may be in order of a cache: a
/// cut loses a block's last pages and leaves one of the next block's first, so
/// the oldest but one may be begun as well.
uint32_t esk_series_kept_from(const struct esk_ring *ring);

/// Holds the cursor to the table's floor, which rises. Returns whether it rose.
bool esk_series_cursor_floor(const struct esk_series *series,
                             struct esk_series_cursor *cursor);

/// Told by a cursor of two pages next to each other, between whose rows
/// `missing` are, by their ordinals; more than half of 2^32: some stand twice.
/// Missing ones count as a damaged page.
/// position  of the older page, at least
void esk_series_cursor_gap(const struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t missing,
                           uint32_t position);

/* series_page.c: what index pages hold. */

/// The knots section of an index page; NULL when its counts do not fit.
uint8_t *esk_series_index_knots(const struct esk_series *series, uint8_t *page);

/// The same of a page that has a tile of `level`; NULL when it has none.
uint8_t *esk_series_tile_knots(const struct esk_series *series, uint8_t *page,
                               uint8_t level);

/// The entries of an index page.
uint8_t *esk_series_index_entries(uint8_t *page);

/* series_index.c: the index log, writing. */

/// Takes note of a data page just programmed.
void esk_series_index_add(struct esk_series *series, uint32_t position,
                          uint8_t *page);

/// Whether the run in RAM has to be programmed before it can grow.
bool esk_series_run_is_full(const struct esk_series *series);

/// Writes the fields that every index page has, and the tip after `knots`
/// entries of `section`. Returns the payload bytes in use.
uint16_t esk_series_index_finish(const struct esk_series *series, uint8_t *page,
                                 uint8_t role, uint8_t *section,
                                 uint16_t knots);

/// Programs an index page of `bytes` bytes after the data pages it sums up.
/// As esk_ring_append.
int esk_series_index_append(struct esk_series *series, uint8_t *page,
                            uint16_t bytes, uint32_t *position);

/* series_recover.c: the index log, at mount. */

/// Rebuilds spline, group and run from the index ring and the data pages
/// after the last run page. Their entries in the run are owed.
int esk_series_recover(struct esk_series *series);

/// Makes the entries that a mount left owed. Costs a page read each.
void esk_series_run_settle(struct esk_series *series);

/* series_tiles.c, series_tiles_recover.c */

/// Makes the index ring's head programmable for a page that is no group page,
/// writing the group page when head is its place.
int esk_series_slot_prepare(struct esk_series *series);

/// Saves entries of the spline's full level; false when that cannot be.
bool esk_series_tiles_save(struct esk_series *series);

/// What a group page had no room for is saved at once: recovery reads run
/// pages back to the last group page only.
int esk_series_tiles_settle(struct esk_series *series);

/// Follows a hit of level > 0 down to a data page.
/// Returns ESK_OK; ESK_NOT_FOUND when a tile does not tell.
int esk_series_tiles_find(struct esk_series *series, esk_key key,
                          struct esk_spline_hit *hit);

/// Brings back spline and group. Returns the data position where the run
/// pages end; UINT32_MAX when none tells.
uint32_t esk_series_tiles_recover(struct esk_series *series);

/* series_append.c */

/// Programs the write page and starts an empty one. As esk_ring_append.
int esk_series_flush(struct esk_series *series);

/* series_seek.c */

/// Pins the page with the largest first key <= `key` (order form).
/// missing  out, may be NULL: rows are missing between that page and the
///          next one.
/// Returns  ESK_OK; ESK_NOT_FOUND when no page starts that low; ESK_E_CORRUPT:
///          the page at place->position, which was readable a moment ago, is
///          not now; ESK_E_IO.
int esk_series_seek(struct esk_series *series, esk_key key,
                    struct esk_series_place *place, bool *missing);

/// Whether `key` is not below the oldest row in RAM.
bool esk_series_write_page_from(const struct esk_series *series, esk_key key);

/* series_plan.c: which data pages a value query has to read. */

/// The first data position >= `position` that may match; the ring's head
/// when there is none.
uint32_t esk_series_plan_forward(struct esk_series *series,
                                 struct esk_series_plan *plan,
                                 uint32_t position);

/// The last data position <= `position` that may match.
/// Returns false when there is none.
bool esk_series_plan_backward(struct esk_series *series,
                              struct esk_series_plan *plan, uint32_t *position);

/* series_var.c: a value's reference in a row. */

/// Whether `reference` names a value that is not empty.
bool esk_series_has_value(const uint8_t *reference);

/* The parts that a program may leave out. A part's functions are named by its
   descriptor alone; a NULL part is tested where it is called, or by what only
   a table with the part has: run_page, var_page, a range's index. */

/// The key index.
struct esk_series_keys {
    bool is_spline;
    /// Makes the index empty, in the `bytes` bytes at series->key_memory.
    void (*init)(struct esk_series *series, uint16_t bytes,
                 uint8_t error_16ths);
    /// Brings it back at mount; data.head may rise. Returns ESK_OK; ESK_E_IO.
    int (*recover)(struct esk_series *series);
    /// Takes note of a data page just programmed.
    void (*add)(struct esk_series *series, uint32_t position, uint8_t *page);
    /// Sets `position` to the data page to try first for `key`, reading tiles;
    /// leaves it as it is when nothing tells.
    void (*guess)(struct esk_series *series, esk_key key, uint32_t *position);
    /// Forgets what the tails have passed.
    void (*trim)(struct esk_series *series);
    /// Forgets all, and begins anew with the pages that are there.
    void (*restart)(struct esk_series *series);
};

/// The index log.
struct esk_series_log {
    int (*recover)(struct esk_series *series); ///< esk_series_recover
    /// Programs the run in RAM, for the log is about to be broken off.
    void (*end)(struct esk_series *series);
    /// esk_series_index_add
    void (*add)(struct esk_series *series, uint32_t position, uint8_t *page);
    /// esk_series_tiles_find
    int (*find)(struct esk_series *series, esk_key key,
                struct esk_spline_hit *hit);
};

/// What an open reads of the table's columns.
struct esk_series_layout {
    uint16_t entry_bytes; ///< of a summary entry
    uint16_t edges_bytes; ///< of all given edges
    /* Where the columns are; only where there is a value index. */
    uint16_t offset[ESK_COLUMN_COUNT_MAX];
    uint8_t type[ESK_COLUMN_COUNT_MAX];
};

/// The value indexes: summaries, and plans made of them.
struct esk_series_values {
    /// Takes the descriptor's indexes. With `series` NULL only the layout's
    /// sizes are found; else the indexed columns too, and their edges.
    /// Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
    int (*columns)(struct esk_series *series, struct esk_descriptor *descriptor,
                   const struct esk_table_info *info,
                   struct esk_series_layout *layout, uint8_t *edges);
    /// Sets the run's next entry to the rows of data page `page`; NULL: to
    /// those of a page that cannot be read, none or any.
    void (*entry)(struct esk_series *series, uint8_t *page, bool any);
    /// Adds `count` entries, and any row with `any`, to what the group in RAM
    /// says of index position `position`. A new group begins empty.
    void (*group)(struct esk_series *series, uint32_t position,
                  const uint8_t *entries, uint16_t count, bool any);
    /// Whether `entry` admits `order` in indexed column `index`.
    bool (*admits)(const struct esk_series *series, const uint8_t *entry,
                   uint8_t index, uint64_t order);
    uint32_t (*forward)(struct esk_series *series, struct esk_series_plan *plan,
                        uint32_t position);
    bool (*backward)(struct esk_series *series, struct esk_series_plan *plan,
                     uint32_t *position);
};

/// The variable column.
struct esk_series_var {
    /// Says where the var stream goes on, behind the head of its ring.
    void (*recover)(struct esk_series *series);
    /// Appends the value of the row of `key` to the var stream and writes its
    /// reference.
    int (*write)(struct esk_series *series, esk_key key, const uint8_t *value,
                 uint32_t bytes, uint8_t *reference);
    /// Makes every byte of the var stream durable, in a seal or a short page.
    int (*flush)(struct esk_series *series);
    /// Drops the values of rows that erase_before dropped, where the var ring
    /// refuses when full: nothing else makes room in it.
    void (*trim)(struct esk_series *series);
    /// As esk_series_value_open, by the row's reference and key.
    int (*open)(struct esk_series *series, const uint8_t *reference,
                esk_key key, struct esk_series_value *value);
    /// As esk_series_value_read.
    int (*read)(struct esk_series *series, struct esk_series_value *value,
                uint8_t *out, uint32_t bytes, uint32_t *got);
};

/// The sync journal.
struct esk_series_sync {
    /// Brings back the write page, once data.head and the newest row are
    /// known. Returns ESK_OK; ESK_E_IO.
    int (*recover)(struct esk_series *series);
    /// Programs the write page as it is so far. As esk_ring_append.
    int (*write)(struct esk_series *series);
};

/// Conditions on columns.
struct esk_series_ranges {
    /// Takes the query's ranges. As esk_series_cursor_open.
    int (*open)(struct esk_series *series, struct esk_series_cursor *cursor,
                const struct esk_series_query *query);
};

/// Breaks of the log.
struct esk_series_breaks {
    /// Takes those that the catalog has. page: scratch. Returns ESK_OK;
    /// ESK_E_CORRUPT; ESK_E_UNSUPPORTED when they are more than this build can
    /// serve; ESK_E_IO.
    int (*open)(struct esk_series *series, uint8_t *page);
    /// Goes on from the last one, where the mounted data ring ends before it.
    /// page: scratch. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
    int (*mounted)(struct esk_series *series, uint8_t *page);
    /// Corrects the next row's ordinal, where no page behind the last one is
    /// left. end: position behind the newest row.
    void (*found)(struct esk_series *series, uint32_t end);
    /// Makes in `row` of the `width` bytes at `bytes` a row with all columns.
    void (*widen)(const struct esk_series *series, uint8_t *row,
                  const uint8_t *bytes, uint16_t width);
};

/// Backward cursors.
struct esk_series_back {
    /// As esk_series_cursor_next.
    int (*next)(struct esk_series *series, struct esk_series_cursor *cursor,
                void *row);
};

#endif
