// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the files of the series table share.
///
///     append -> write page -> data ring      rows, in key order
///                          -> var page -> var ring     variable values
///                          -> index log -> index ring  summaries, spline
///
/// Three rings, so that data positions are dense and the line from keys to
/// positions stays straight. The index log only makes reads faster: a data page
/// that no readable index page covers is read.
///
/// Index pages. A *zone page* has the zone map entries of a run of data pages,
/// and the knots made meanwhile. Every group_pages-th position of the index
/// ring is a *summary page*: one entry for each index page before it in its
/// group, and a node of the spline. Nodes that fill up in between get *node
/// pages*. FORMAT.md has the bytes.
///
/// Inside the series, keys are in order form (base/order.h).
#ifndef ESK_TABLE_SERIES_SERIES_H
#define ESK_TABLE_SERIES_SERIES_H

#include "base/bytes.h"
#include "base/order.h"
#include "esker/series.h"
#include "flash/ring.h"
#include "index/sorted/sorted.h"
#include "index/spline/spline.h"
#include "index/summary/summary.h"
#include "pool/pool.h"
#include "table/series/index_page_format.h"
#include "volume/table.h"
#include "volume/volume.h"

enum {
    ESK_SERIES_NO_INDEX = UINT8_MAX, ///< esk_series_bounds.index: no value
                                     ///< index
    ESK_SERIES_HAS_MISSING = 0x80,   ///< bit beside a type: the column has a
                                     ///< missing value
};

/// What was programmed since the last sync.
enum esk_series_dirty {
    ESK_SERIES_DATA = 1u << 0,
    ESK_SERIES_VAR = 1u << 1,
    ESK_SERIES_INDEX = 1u << 2,
};

struct esk_arena;
struct esk_series_memory;

/// The part of breaks, followed by a row with the values of new columns.
struct esk_series_break_list {
    struct esk_breaks log;
    uint32_t journal; ///< no sync journal position below has a page
    uint32_t index;   ///< knots of index pages below are not used
    uint32_t ordinal; ///< of the first row after the last break
};

/// The index log: its ring, and the parts of its next pages that are in RAM.
struct esk_series_index_log {
    uint8_t *zone_page;  ///< entries of the run; NULL without value indexes
    uint32_t run_first;  ///< data position where the last run ended
    uint32_t run_start;  ///< data position of the run's first entry
    uint16_t run_count;  ///< entries of the run
    uint16_t run_unread; ///< first entries of the run that no page was read for
                         ///< yet
    bool gap_unknown;    ///< pages from run_first to run_start may have rows
    bool save_due;       ///< a summary page had no room for all unsaved knots
    bool is_joined;      ///< `group` begins with an entry of the run
    uint8_t group_count; ///< entries of the group so far
    struct esk_ring ring;
    uint8_t *group; ///< an entry of all pages since the last zone page, then
                    ///< those of the group being written
    uint32_t group_first; ///< the first index position of `group`
    uint32_t failures;    ///< index pages that were not written
};

/// A sorted index of a column, and how far it has the data pages.
struct esk_series_sorting {
    uint16_t offset; ///< of the column in a row
    uint8_t type;
    uint8_t width; ///< of the type
    uint32_t next; ///< data position to add next
    bool is_full;  ///< a step has to come first
    struct esk_sorted index;
};

/// Small members first, then the rings: within 64 bytes of a pointer an 8-bit
/// processor takes one instruction a byte, beyond that four more. The last
/// members are those that not every program has: esk_series_open_with carves
/// the handle only as far as its parts need.
struct esk_series {
    struct esk_table table;
    const struct esk_series_parts *parts;
    uint8_t *write_page; ///< rows that are in no complete page
    uint8_t *var_page;   ///< bytes that are in no complete page; NULL without
    struct esk_ring *journal;               ///< NULL: syncs seal
    struct esk_ring *var;                   ///< NULL without a variable column
    const struct esk_series_packed *packed; ///< NULL: pages are raw
    struct esk_series_shape shape;
    uint16_t write_count; ///< rows in the write page
    bool has_newest;
    uint8_t unread;   ///< newest pages that the mount could not read
    uint8_t dirty;    ///< enum esk_series_dirty: programmed since the last sync
    esk_key newest;   ///< key of the newest row
    esk_key floor;    ///< rows with smaller keys are dropped; 0: none
    uint32_t drops;   ///< rises with the floor; begins with another number
                      ///< after each commit of the catalog
    uint32_t ordinal; ///< of the write page's first row
    struct esk_ring data;
    struct esk_pool pool;
    struct esk_region_stats stats;

    struct esk_summary_column *columns; ///< indexed columns
    uint32_t var_stream;   ///< stream offset of the var page's first byte
    uint16_t sealed_count; ///< rows of the write page that a sync made durable
    uint16_t var_used;     ///< bytes in the var page
    uint16_t var_sealed;   ///< of these, sealed on the medium
    struct esk_series_break_list *breaks;        ///< NULL without that part
    uint8_t column_numbers[ESK_INDEX_COUNT_MAX]; ///< of the indexed columns

    /* With a key index. */
    void *key_memory;
    uint16_t key_bytes;      ///< at key_memory
    uint8_t key_error_16ths; ///< as struct esk_series_config
    /* With the spline. */
    struct esk_spline spline;

    struct esk_series_index_log log;    ///< with the index log
    struct esk_series_sorting *sorting; ///< the same; NULL: no sorted index
};

/// A data page, pinned.
struct esk_series_place {
    uint32_t position;
    uint8_t *page;
    uint8_t frame;
    uint32_t end;     ///< of the pages that may have rows up to the key; only
                      ///< set where the key is not within the page
    uint32_t ordinal; ///< of the first row at `end`
};

/* Constants in a program with a shape. */

/// The shape of the rows, and of the index pages.
static inline const struct esk_series_shape *
esk_shape(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(&esk_shape_series, &series->shape);
}

/// The parts of the program.
static inline const struct esk_series_parts *
esk_parts(const struct esk_series *series) {
    return ESK_SHAPED_PARTS(&esk_shape_parts, series->parts);
}

/// Rows with smaller keys are dropped; 0: none.
static inline esk_key esk_floor(const struct esk_series *series) {
    return ESK_SHAPED_SERIES((esk_key)esk_shape_options.floor_key,
                             series->floor);
}

/// 1 if consecutive rows may have the same key, else 0.
static inline uint8_t esk_keys_repeat(const struct esk_series *series) {
    return esk_shape(series)->keys_repeat ? 1 : 0;
}

/// The row behind the breaks.
static inline uint8_t *esk_break_row(struct esk_series_break_list *list) {
    return (uint8_t *)(list + 1);
}

/// Whether the log has a break after a row that can still be there.
static inline bool esk_is_broken(const struct esk_series *series) {
    return esk_ring_is_broken(&series->data);
}

/// Whether cursors have conditions.
static inline bool esk_has_queries(void) {
    return ESK_SHAPED_SERIES(ESK_SHAPE_QUERIES != 0, true);
}

/// The ring of variable values; NULL: the table has none.
static inline struct esk_ring *esk_var_ring(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        esk_shape_series.var_offset == ESK_SERIES_NO_VAR ? NULL : series->var,
        ESK_SHAPED_PARTS(esk_shape_parts.var == NULL ? NULL : series->var,
                         series->var));
}

/// The sync journal's ring; NULL: syncs seal.
static inline struct esk_ring *esk_sync_ring(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        ESK_SHAPE_SYNC_BLOCKS == 0 ? NULL : series->journal,
        ESK_SHAPED_PARTS(esk_shape_parts.sync == NULL ? NULL : series->journal,
                         series->journal));
}

/// The part of a table with packed pages; NULL: its pages are raw.
static inline const struct esk_series_packed *
esk_packed(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        NULL,
        ESK_SHAPED_PARTS(esk_shape_parts.packed == NULL ? NULL : series->packed,
                         series->packed));
}

/// esk_sorted where the parts are no constants.
const struct esk_series_sorted *
esk_series_sorted_part(const struct esk_series *series);

/// The part of a table with a sorted index; NULL: it has none.
static inline const struct esk_series_sorted *
esk_sorted(const struct esk_series *series) {
    return ESK_SHAPED_SERIES(
        NULL, ESK_SHAPED_PARTS(esk_shape_parts.sorted == NULL
                                   ? NULL
                                   : esk_series_sorted_part(series),
                               esk_series_sorted_part(series)));
}

/// Whether a range is of the column of the sorted index.
static inline bool esk_is_sorted(const struct esk_series *series,
                                 const struct esk_series_bounds *bounds) {
    return esk_sorted(series) != NULL &&
           bounds->offset == series->sorting->offset;
}

/* series.c: small functions for all files. */

/// Whether nothing is pinned, as at the begin of a public call. For assertions.
static inline bool esk_series_is_idle(const struct esk_series *series) {
    return esk_pool_pins(&series->pool) == 0;
}

/// The place of index position `position` in its group.
static inline uint8_t esk_series_group_slot(const struct esk_series *series,
                                            uint32_t position) {
    return (uint8_t)esk_rest(esk_shape(series)->group_pages, position);
}

/// Bytes of a knot in an index page.
static inline uint8_t esk_series_knot_bytes(const struct esk_series *series) {
    return (uint8_t)ESK_SPLINE_SECTION_ENTRY_BYTES(
        esk_shape(series)->key_bytes);
}

/// How many ordinals there are from `first` up to, not including, `end`; 0 when
/// `end` comes before `first`. Ordinals wrap.
static inline uint32_t esk_ordinals(uint32_t first, uint32_t end) {
    uint32_t count = end - first;
    return count > UINT32_MAX / 2 ? 0 : count;
}

/// Counts a newest page that the mount cannot read.
static inline void esk_series_unread(struct esk_series *series) {
    if (series->unread < UINT8_MAX) {
        series->unread++;
    }
}

/// Pins position `position` of `ring`. Unless ESK_OK, nothing is pinned.
int esk_series_pin(struct esk_series *series, const struct esk_ring *ring,
                   uint32_t position, uint8_t **page, uint8_t *frame);

/// To be called before a page of ring `next` is programmed: makes the pages of
/// `after` durable first. Both are of enum esk_series_dirty. A medium that
/// programs in order needs nothing; with ESK_MEDIUM_OVERWRITE the device is
/// synced if any page of `after` is unsynced.
/// Returns ESK_OK; ESK_E_IO.
int esk_series_order(struct esk_series *series, uint8_t after, uint8_t next);

/// Positions of `ring` below the result are in the oldest block of a ring that
/// has wrapped. After power loss this block may be half erased; its pages were
/// dropped and are not missing. Where pages are overwritten a cache may have
/// reordered the writes: power loss loses a block's last pages and leaves one
/// of the next block's first, so the second oldest block may be begun, too.
uint32_t esk_series_kept_from(const struct esk_ring *ring);

/// Raises the cursor's lower bound to the table's floor, and notes it.
void esk_series_cursor_floor(const struct esk_series *series,
                             struct esk_series_cursor *cursor);

/// Records that of two adjacent pages the older one's rows end before ordinal
/// `end`, and the newer one's begin with `first`. Missing rows count as a
/// damaged page.
/// position  of the older page, at least
void esk_series_cursor_gap(const struct esk_series *series,
                           struct esk_series_cursor *cursor, uint32_t end,
                           uint32_t first, uint32_t position);

/// Whether a call of the cursor may read one more page in its step; counts it.
static inline bool esk_series_cursor_reads(struct esk_series_cursor *cursor) {
    if (!esk_has_queries() || cursor->step_pages == 0) {
        return true;
    }
    if (cursor->budget == 0) {
        return false;
    }
    cursor->budget--;
    return true;
}

/* series_attach.c */

/// Finds the newest row on the medium: its key, its ordinal, and how many pages
/// after it have bytes but are not valid, or valid only in part. If all pages
/// after a break are lost, the break gives the ordinal.
/// end      out: the position after its page; the ring's tail without one.
/// Returns ESK_OK; ESK_E_IO.
int esk_series_newest_find(struct esk_series *series, uint32_t *end);

/* series_page.c: the contents of index pages. */

/// The knots section of an index page; NULL when its counts are too large.
uint8_t *esk_series_index_knots(const struct esk_series *series, uint8_t *page);

/// The same for a page with a node of `level`; NULL when it has none.
uint8_t *esk_series_node_knots(const struct esk_series *series, uint8_t *page,
                               uint8_t level);

/// The entries of an index page.
uint8_t *esk_series_index_entries(uint8_t *page);

/* series_index.c: the index log, writing. */

/// Adds a data page that was just programmed.
void esk_series_index_add(struct esk_series *series, uint32_t position,
                          uint8_t *page);

/// Whether the run in RAM must be programmed before another entry.
bool esk_series_run_is_full(const struct esk_series *series);

/// Writes the fields that every index page has, and the last point after
/// `knots` entries of `section`. Returns the payload bytes in use.
uint16_t esk_series_index_finish(const struct esk_series *series, uint8_t *page,
                                 uint8_t role, uint8_t *section,
                                 uint16_t knots);

/// Programs an index page of `bytes` bytes, after the data pages that it
/// covers.
/// As esk_ring_append.
int esk_series_index_append(struct esk_series *series, uint8_t *page,
                            uint16_t bytes, uint32_t *position);

/* series_recover.c: the index log, at mount. */

/// Rebuilds spline, group and run from the index ring and the data pages after
/// the last zone page. The entries of these pages are made later.
int esk_series_recover(struct esk_series *series);

/// Makes the last `count` of the run's entries that a mount left out. Costs a
/// page read for each.
void esk_series_run_complete(struct esk_series *series, uint16_t count);

/* series_plan.c */

/// Sets `position` to the first data page from there on that can have a match
/// by the summaries. Returns ESK_OK; ESK_AGAIN.
int esk_series_summary_forward(struct esk_series *series,
                               struct esk_series_cursor *cursor,
                               uint32_t *position);

/// The same downwards; also ESK_END.
int esk_series_summary_backward(struct esk_series *series,
                                struct esk_series_cursor *cursor,
                                uint32_t *position);

/* series_nodes.c, series_nodes_recover.c */

/// Makes the index ring's head programmable for a page that is no summary page;
/// writes the summary page if head is its place.
int esk_series_slot_prepare(struct esk_series *series);

/// Saves entries of the spline's full level; false when that is not possible.
bool esk_series_nodes_save(struct esk_series *series);

/// Saves at once the knots that a summary page had no room for: recovery reads
/// zone pages back to the last summary page only.
int esk_series_nodes_flush(struct esk_series *series);

/// Sets `position` to the data page to try first for a key below the knots in
/// RAM. Leaves it as it is when no node has the key, or one cannot be used.
void esk_series_nodes_find(struct esk_series *series, esk_key key,
                           uint32_t *position);

/// Restores spline and group. Returns the data position where the zone pages
/// end; UINT32_MAX when there is none.
uint32_t esk_series_nodes_recover(struct esk_series *series);

/* series_append.c */

/// Programs the write page and starts an empty one. As esk_ring_append.
int esk_series_flush(struct esk_series *series);

/* series_seek.c */

/// Pins the page with the largest first key <= `key` (order form).
/// missing  out, may be NULL: rows are missing between that page and the next
///          one.
/// Returns  ESK_OK; ESK_NOT_FOUND when no page starts at or below `key`;
///          ESK_E_CORRUPT: the page at place->position was readable in the
///          search and is not now; ESK_E_IO.
int esk_series_seek(struct esk_series *series, esk_key key,
                    struct esk_series_place *place, bool *missing);

/// Whether `key` is not below the oldest row in RAM.
bool esk_series_write_page_from(const struct esk_series *series, esk_key key);

/* series_plan.c: which data pages a value query has to read. */

/// Moves `position` up to the first data position that may match; to the
/// ring's head when there is none.
/// Returns ESK_OK; ESK_AGAIN: the positions before it do not match.
int esk_series_plan_forward(struct esk_series *series,
                            struct esk_series_cursor *cursor,
                            uint32_t *position);

/// Moves `position` down to the last data position that may match.
/// Returns ESK_OK; ESK_END when there is none; ESK_AGAIN: the positions after
/// it do not match.
int esk_series_plan_backward(struct esk_series *series,
                             struct esk_series_cursor *cursor,
                             uint32_t *position);

/* series_var.c: a value's reference in a row. */

/// Whether `reference` is of a value that is not empty.
bool esk_series_has_value(const uint8_t *reference);

/* The parts that a program may leave out. Only a part's descriptor names its
   functions. A NULL part is tested where it is called, or by a member that only
   a table with the part has: zone_page, var_page, a range's index. */

/// Mounts the part's ring, after the data ring.
/// config   in, out: of another ring of the table. The part sets unit, kind,
///          tail_hint and refuse.
/// page     scratch. Nothing may be pinned: `info` is where frames will be.
/// Returns  as esk_series_ring_mount.
typedef int esk_series_part_mount(struct esk_series *series,
                                  struct esk_ring_config *config,
                                  const struct esk_table_info *info,
                                  uint8_t *page);

/// The key index.
struct esk_series_keys {
    bool is_spline;
    /// Makes the index empty, in series->key_memory.
    void (*init)(struct esk_series *series);
    /// Restores the index at mount; data.head may rise, and then the newest row
    /// is another. Returns ESK_OK; ESK_E_IO.
    int (*recover)(struct esk_series *series);
    /// Adds a data page that was just programmed.
    void (*add)(struct esk_series *series, uint32_t position, uint8_t *page);
    /// Sets `position` to the data page to try first for `key`; reads nodes.
    /// Leaves `position` as it is when the index has nothing.
    void (*guess)(struct esk_series *series, esk_key key, uint32_t *position);
    /// Drops entries below the tails.
    void (*trim)(struct esk_series *series);
};

/// The index log.
struct esk_series_log {
    /// Whether a zone page has room for an entry and two knots, and a summary
    /// page for its entries and two knots.
    bool (*fits)(const struct esk_series_shape *shape, uint16_t page_bytes);
    /// Makes the spline one with nodes.
    void (*nodes_init)(struct esk_series *series);
    esk_series_part_mount *mount;
    int (*recover)(struct esk_series *series); ///< esk_series_recover
    /// Programs the run in RAM before a break of the log.
    void (*end)(struct esk_series *series);
    /// esk_series_index_add
    void (*add)(struct esk_series *series, uint32_t position, uint8_t *page);
    /// esk_series_nodes_find
    void (*find)(struct esk_series *series, esk_key key, uint32_t *position);
};

/// What an open reads about the table's columns.
struct esk_series_layout {
    uint16_t entry_bytes; ///< of a summary entry
    uint16_t edges_bytes; ///< of all given edges
    uint16_t steps_bytes; ///< of all learned buckets, while a page is written
    uint16_t sorted_entries; ///< of the sorted index; 0: there is none
    uint8_t sorted_fan;
    uint8_t summaries;
    /* Offsets of the columns; only with a value index. */
    uint16_t offset[ESK_COLUMN_COUNT_MAX];
    uint8_t type[ESK_COLUMN_COUNT_MAX]; ///< and ESK_SERIES_HAS_MISSING
};

/// The value indexes: summaries, and the plans that use them.
struct esk_series_values {
    /// Carves the indexed columns, the sorted index, a group's entries and the
    /// columns' edges.
    void (*carve)(struct esk_arena *arena, const struct esk_series_parts *parts,
                  uint16_t page_bytes, const struct esk_table_info *info,
                  const struct esk_series_options *options,
                  const struct esk_series_layout *layout,
                  struct esk_series_memory *memory);
    /// Reads the descriptor's indexes. With `series` NULL only the sizes of the
    /// layout, else also the indexed columns and their edges.
    /// Returns ESK_OK; ESK_E_UNSUPPORTED; ESK_E_CORRUPT; ESK_E_IO.
    int (*columns)(const struct esk_series_parts *parts,
                   struct esk_series *series, struct esk_descriptor *descriptor,
                   const struct esk_table_info *info,
                   struct esk_series_layout *layout, uint8_t *edges);
    /// Sets the run's next entry to cover the rows of data page `page`; NULL:
    /// no row, or with `any` every row, for a page that cannot be read. Joins
    /// it to the first entry of log.group, so that no call has to join a run.
    void (*entry)(struct esk_series *series, uint8_t *page, bool any);
    /// Extends the entry of index position `position` in the group in RAM by
    /// `count` entries, and with `any` by every row. A new group begins empty.
    /// Positions rise.
    void (*group)(struct esk_series *series, uint32_t position,
                  const uint8_t *entries, uint16_t count, bool any);
    /// Whether `entry` may have a row with `order` in indexed column `index`.
    bool (*admits)(const struct esk_series *series, const uint8_t *entry,
                   uint8_t index, uint64_t order);
    /// esk_series_plan_forward, esk_series_plan_backward
    int (*forward)(struct esk_series *series, struct esk_series_cursor *cursor,
                   uint32_t *position);
    int (*backward)(struct esk_series *series, struct esk_series_cursor *cursor,
                    uint32_t *position);
};

/// The variable column.
struct esk_series_var {
    /// Also sets where the var stream goes on, behind the head of its ring.
    esk_series_part_mount *mount;
    /// Appends the value of the row with `key` to the var stream and writes its
    /// reference.
    int (*write)(struct esk_series *series, esk_key key, const uint8_t *value,
                 uint32_t bytes, uint8_t *reference);
    /// Makes every byte of the var stream durable, in a seal or a short page.
    int (*flush)(struct esk_series *series);
    /// Drops the values of rows that erase_before dropped, where the var ring
    /// refuses when full: only this makes room in it.
    void (*trim)(struct esk_series *series);
    /// As esk_series_value_open, with the row's reference and key.
    int (*open)(struct esk_series *series, const uint8_t *reference,
                esk_key key, struct esk_series_value *value);
    /// As esk_series_value_read.
    int (*read)(struct esk_series *series, struct esk_series_value *value,
                uint8_t *out, uint32_t bytes, uint32_t *got);
};

/// The sync journal.
struct esk_series_sync {
    esk_series_part_mount *mount;
    /// Restores the write page, after data.head and the newest row. Returns
    /// ESK_OK; ESK_E_IO.
    int (*recover)(struct esk_series *series);
    /// Programs the unfinished write page. As esk_ring_append.
    int (*write)(struct esk_series *series);
};

/// Conditions on columns.
struct esk_series_ranges {
    /// Resolves the query's ranges. As esk_series_cursor_open.
    int (*open)(struct esk_series *series, struct esk_series_cursor *cursor,
                const struct esk_series_query *query);
};

/// Breaks of the log.
struct esk_series_breaks {
    /// Reads the breaks and the values of new columns from the catalog. page:
    /// scratch. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_UNSUPPORTED when there are
    /// more than this build supports; ESK_E_IO.
    int (*open)(struct esk_series *series, const struct esk_table_info *info,
                uint8_t *page);
    /// Moves the head behind the last break if the mounted data ring ends
    /// before it. page: scratch. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
    int (*mounted)(struct esk_series *series, uint8_t *page);
    /// Corrects the next row's ordinal when no page after the last break is
    /// left. end: position after the newest row's page.
    void (*found)(struct esk_series *series, uint32_t end);
    /// Makes in `row` a row with all columns from the `width` bytes at `bytes`.
    void (*widen)(const struct esk_series *series, uint8_t *row,
                  const uint8_t *bytes, uint16_t width);
};

/// Packed pages. A *row* of a page is in memory of the part until another one
/// is read. Behind the last row that can be read, of a hostile page, each row
/// is that one.
struct esk_series_packed {
    /// Reads the cells into the options, and carves what the table has more,
    /// right before the handle. Returns ESK_OK; ESK_E_UNSUPPORTED: a part is
    /// missing; ESK_E_CORRUPT: also if the cells cannot be; ESK_E_IO.
    int (*carve)(struct esk_arena *arena, struct esk_volume *volume,
                 const struct esk_series_parts *parts,
                 const struct esk_table_info *info,
                 struct esk_series_options *options,
                 const struct esk_series_config *config,
                 struct esk_series_memory *memory, uint8_t *page);
    /// Fills it in, and makes the write page writable. As `carve`.
    int (*begin)(const struct esk_series_memory *memory,
                 const struct esk_table_info *info,
                 const struct esk_series_options *options);
    /// Where a row is put that is appended next.
    uint8_t *(*slot)(const struct esk_series *series);
    /// Appends that row to the write page, and programs that first if it is
    /// full. As esk_series_append_var, for a row that may come next.
    int (*append)(struct esk_series *series);
    /// Ends the write page's rows at a program unit. Returns the bytes to
    /// seal; 0: the page has no room for a seal.
    uint16_t (*align)(const struct esk_series *series);
    /// Completes the write page. Returns where its bytes end.
    uint16_t (*end)(const struct esk_series *series);
    /// Changes the data ring's configuration from that of raw pages.
    void (*ring)(struct esk_ring_config *config);
    /// Makes a page that was loaded, maybe sealed, one that counts rows.
    void (*loaded)(const struct esk_series *series, uint8_t *page);
    /// Makes a copy of page `page` of the sync journal the write page. Returns
    /// its rows.
    uint16_t (*resume)(struct esk_series *series, const uint8_t *page);
    /// Row `index` of a page.
    const uint8_t *(*row)(const struct esk_series *series, const uint8_t *page,
                          uint16_t index);
    /// How many of the page's `count` rows can be read.
    uint16_t (*rows)(const struct esk_series *series, const uint8_t *page,
                     uint16_t count);
    /// As esk_rows_below.
    uint16_t (*below)(const struct esk_series *series, const uint8_t *page,
                      uint16_t count, esk_key key);
    /// Whether a row has a key not below `key`.
    bool (*reaches)(const struct esk_series *series, const uint8_t *page,
                    uint16_t count, esk_key key);
    /// As esk_rows_find.
    int (*find)(const struct esk_series *series, const uint8_t *page,
                uint16_t count, esk_key key, void *row);
    /// Returns in `row`, unless it is NULL, the next of the cursor's rows in
    /// its page that meets every range. Returns ESK_OK; ESK_NOT_FOUND: there is
    /// none; ESK_END: the next row is above the cursor's last key.
    int (*take)(const struct esk_series *series,
                struct esk_series_cursor *cursor, uint8_t *row);
    /// Makes `entry` cover the rows of a page.
    void (*fold)(const struct esk_series *series, const uint8_t *page,
                 uint8_t *entry);
};

/// A sorted index.
struct esk_series_sorted {
    /// Carves its memory, for pages of `page_bytes` bytes; with `made` also
    /// makes the index there. Returns the index.
    struct esk_series_sorting *(*carve)(struct esk_arena *arena,
                                        const struct esk_series_layout *layout,
                                        uint16_t page_bytes, bool made);
    /// Mounts its rings, and finds its runs.
    esk_series_part_mount *mount;
    /// Forgets runs of more data pages than there are, after the mount has
    /// found the head.
    void (*recover)(struct esk_series *series);
    /// Adds a data page that was just programmed, and makes a step.
    void (*add)(struct esk_series *series, uint32_t position, uint8_t *page);
    /// As esk_series_plan_forward and esk_series_plan_backward, for a cursor
    /// with a range of its column.
    int (*forward)(struct esk_series *series, struct esk_series_cursor *cursor,
                   uint32_t *position);
    int (*backward)(struct esk_series *series, struct esk_series_cursor *cursor,
                    uint32_t *position);
    /// Whether it names data page `position` for the value at `value`.
    bool (*admits)(struct esk_series *series, uint32_t position,
                   const uint8_t *value);
};

/// Backward cursors.
struct esk_series_back {
    /// As esk_series_cursor_next.
    int (*next)(struct esk_series *series, struct esk_series_cursor *cursor,
                void *row);
};

#endif
