// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The series table: rows in rising key order, appended, never changed. Where
/// keys may repeat, rows with the same key keep the order of their appends.
///
/// Rows gather in one page of RAM. A full page is programmed at the head of
/// a ring of blocks. When the ring is full, the oldest block is dropped or the
/// append is refused. A spline maps a key to a page; optional value indexes
/// say which pages can contain a value. Every read sees the rows in RAM.
///
/// After power loss the table has all rows that a sync acknowledged, then a
/// prefix in order of the rows appended after that sync, and nothing else.
/// This also holds on a card or a file that caches pages and writes them in
/// any order. There (ESK_MEDIUM_OVERWRITE) a series syncs the device before
/// each page that must not be on the medium without an earlier one: once a data
/// page, unless the caller has, once an index page, and once for each page of a
/// value longer than a page. Rows that one run of a program left unsynced and
/// the next run reads are durable after the next sync.
#ifndef ESKER_SERIES_H
#define ESKER_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/schema.h"
#include "esker/status.h"
#include "esker/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How a series is opened; zero means the default. Nothing here is stored.
struct esk_series_config {
    uint8_t frames;           ///< page frames in the arena; 0: the least, as
                              ///< esk_series_frames_min returns
    uint8_t erase_ahead;      ///< blocks esk_volume_step keeps erased; more
                              ///< than 8 count as 8; 0: 1
    uint16_t key_index_bytes; ///< RAM of the spline, 48 .. 65535; 0: 256
    /// Bound of the spline's error in 1/16 page, 1 .. 16; 0: chosen to fit
    /// key_index_bytes, from 2/16 up to 10/16.
    uint8_t key_error_16ths;
    /// Packed tables: states of readers, 48 bytes or more each; 0: 2. Cursors
    /// and gets share them. Where more of them take turns, a row costs a
    /// decode of up to a cell. A backward cursor takes two.
    uint8_t readers;
};

/// A condition: lo <= column <= hi, both ends included. NaN and the column's
/// missing value never match.
struct esk_series_range {
    union esk_number lo;
    union esk_number hi;
    bool has_lo;
    bool has_hi;
    uint8_t column;
};

/// Most ranges that a query can have, 1 .. 255. Each costs 24 bytes in every
/// cursor. Default: 8, or 1 where pointers have 16 bits. The core
/// and all files that include its headers need the same value.
#ifndef ESK_SERIES_RANGES_MAX
#define ESK_SERIES_RANGES_MAX (sizeof(void *) <= 2 ? 1 : 8)
#endif

/// What a cursor returns: rows that meet every condition, in key order.
struct esk_series_query {
    bool has_key_min;
    bool has_key_max;
    bool backward; ///< newest first
    bool has_ordinal_end;
    uint8_t range_count;
    const struct esk_series_range
        *ranges; ///< range_count of them; all must be met
    /// Included. One outside the values of the key's type is above or below
    /// all keys. An esk_key of an unsigned type has no sign: clamp -5 to 0.
    esk_key key_min;
    esk_key key_max;
    /// Most pages that a call of the cursor reads, which then returns
    /// ESK_AGAIN; above 255 counts as 255. 0: as many as it takes.
    uint32_t step_pages;
    /// Where keys repeat: rows from this ordinal on are not returned. For a
    /// query of the rows that are there now: esk_series_next_ordinal. Where
    /// keys do not repeat, the newest key as key_max does this.
    uint32_t ordinal_end;
};

/// Counts since the table was opened.
struct esk_series_stats {
    uint32_t pages; ///< data pages on the medium, holes included
    uint32_t index_pages;
    uint32_t var_pages;
    uint32_t page_reads; ///< pages loaded; pages found in a frame do not count
    uint32_t page_programs;
    uint32_t block_erases;
    uint32_t pages_damaged; ///< page loads that were not valid
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t blocks_skipped; ///< bad blocks
    uint32_t index_failures; ///< index pages not written; reads stay exact
    uint16_t knots;          ///< spline entries in RAM
    uint8_t key_error_16ths; ///< the spline's error bound now
    uint8_t newest_unread;   ///< as in esk_series_report
};

/// What esk_series_check found.
struct esk_series_report {
    uint32_t rows;          ///< rows read, in order and not erased
    uint32_t rows_missing;  ///< at least so many rows were written and cannot
                            ///< be read
    uint32_t pages;         ///< valid data pages
    uint32_t pages_damaged; ///< invalid pages where rows are missing, and pages
                            ///< of 4 or more lost blocks in a row at the start
                            ///< of a ring, or of all of it
    uint32_t pages_torn;    ///< invalid pages where no row is known to be
                            ///< missing, as after power loss or a failed
                            ///< program; and pages that are valid in part
    uint32_t index_pages;
    uint32_t index_damaged;  ///< invalid index pages: cost reads, no row
    uint32_t index_wrong;    ///< index entries that would miss a row
    uint32_t values_missing; ///< variable values that cannot be read
    uint32_t newest_unread;  ///< newest pages that the open could not read, or
                             ///< only in part: torn by power loss, or damaged
                             ///< and synced rows are lost
};

enum {
    ESK_SERIES_BREAKS_MAX = 4, ///< breaks that the table's rows can have
};

/// An open series, in the volume's arena. A call with a handle that is NULL or
/// closed returns ESK_E_INVALID or 0, until another table uses its memory.
struct esk_series;

/// What to do when the data region is full.
enum esk_full_policy {
    ESK_FULL_DROP_OLDEST = 0, ///< the oldest block is dropped
    ESK_FULL_REFUSE = 1,      ///< append returns ESK_FULL
};

enum {
    ESK_SYNC_BLOCKS_NONE = 255,
};

/// A series to create. Everything in it but table.row_bytes is stored in the
/// catalog. C++20 names members in this order.
struct esk_series_spec {
    struct esk_table_spec table;
    const struct esk_index_spec *indexes; ///< may be NULL
    uint8_t index_count;                  ///< 0 .. ESK_INDEX_COUNT_MAX
    uint8_t full_policy;                  ///< enum esk_full_policy
    bool keys_repeat;      ///< rows in a row may have the same key
    uint8_t group_pages;   ///< index pages a summary group, 4..64; 0: 16
    uint8_t run_pages;     ///< most data pages an index page covers; 0: 64
    uint8_t sync_blocks;   ///< blocks of the data region that are its sync
                           ///< journal, 2 .. 254; 0: derived;
                           ///< ESK_SYNC_BLOCKS_NONE: none
    uint32_t data_blocks;  ///< blocks for rows; 0: what is left of the device
    uint32_t index_blocks; ///< blocks for index pages; 0: derived
    uint32_t var_blocks;   ///< blocks for variable data; 0: half of data's
    uint8_t codec;         ///< enum esk_codec
    uint16_t cell_bytes;   ///< packed: what a get decodes at most, a power of
                           ///< two from 64 on, at most a page; 0: 256, and 512
                           ///< for rows of more than 20 bytes
    /// With a sorted index, as esk_series_sorted_blocks says: blocks of the
    /// data region that are for its runs that are to be merged, and for merged
    /// ones, 2 or more; else 0.
    uint32_t sorted_blocks;
    uint32_t merged_blocks;
};

/// What the catalog has of a series beside its schema.
struct esk_series_options {
    uint64_t floor_key; ///< in order form: rows below are dropped; 0: none
    uint32_t tail;      ///< data positions below are dropped
    uint8_t group_pages;
    uint8_t run_pages;
    uint8_t full_policy; ///< enum esk_full_policy
    bool keys_repeat;
    bool has_breaks; ///< an open needs esk_series_part_breaks

    /* Of a packed table, by esk_series_cells. */

    uint16_t cell_bytes;
    uint8_t unit_bytes; ///< what its syncs align rows to
};

/// Decodes the options of a series.
/// Returns  ESK_OK; ESK_E_CORRUPT when `info` is not of a series;
///          ESK_E_UNSUPPORTED when an option is of a newer version.
int esk_series_options(const struct esk_table_info *info,
                       struct esk_series_options *options);

/// Decodes the options of packed pages, which esk_series_options leaves out;
/// both are 0 if the table is raw.
/// Returns  ESK_OK; ESK_E_CORRUPT.
int esk_series_cells(const struct esk_table_info *info,
                     struct esk_series_options *options);

/// Blocks of the sync journal when the specification says 0: as many as hold 8
/// pages, at least 2, if rows of `row_bytes` bytes cannot be sealed as often
/// as a page has room, and if that is at most a quarter of `data_blocks`;
/// else 0. Asserts that the geometry is valid.
uint8_t esk_series_sync_blocks(const struct esk_geometry *geometry,
                               uint16_t row_bytes, uint32_t data_blocks);

/// Sets the blocks of the sorted index in `spec`, for rows in up to
/// `data_blocks` blocks; add them to spec->data_blocks if that is not 0. With
/// fewer the index forgets the oldest rows' values, and queries read their
/// pages.
void esk_series_sorted_blocks(const struct esk_geometry *geometry,
                              struct esk_series_spec *spec,
                              uint32_t data_blocks);

/// Checks `spec` for pages of `page_bytes`, as a series.
/// Returns ESK_OK; ESK_E_SCHEMA with `fault` filled in.
int esk_series_spec_check(const struct esk_series_spec *spec,
                          uint16_t page_bytes, struct esk_fault *fault);

/// Creates a series. Of its regions only a first page that is not blank is
/// erased, with its block: the rest when rows come.
///
/// fault    out: what is wrong on ESK_E_SCHEMA; on ESK_E_NO_SPACE
///          ESK_FAULT_TOO_LARGE when the catalog is full. May be NULL.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_E_SCHEMA; ESK_E_EXISTS; ESK_E_NO_SPACE (no run of
///          blocks, or the catalog is full); ESK_E_READ_ONLY; ESK_E_CORRUPT;
///          ESK_E_NO_MEMORY; ESK_E_IO.
/// Costs    two meta halves erased and programmed; at most an erase a region.
int esk_series_create(struct esk_volume *volume,
                      const struct esk_series_spec *spec,
                      struct esk_fault *fault);

/// Layout of a series' rows and index entries, derived from its columns.
struct esk_series_shape {
    uint16_t row_bytes;
    uint16_t entry_bytes; ///< of a summary entry; 0: no value index
    uint16_t key_offset;  ///< of the key in a row
    uint16_t var_offset;  ///< of a variable value's reference in a row
    uint8_t key_type;     ///< enum esk_type
    uint8_t key_bytes;
    uint8_t group_pages; ///< as in struct esk_series_options
    uint8_t run_pages;
    uint8_t column_count; ///< indexed columns
    bool keys_repeat;     ///< as in struct esk_series_options
};

/// var_offset of a table without a variable column.
#define ESK_SERIES_NO_VAR UINT16_MAX

/// Parts of the series that a program may leave out: a part that no open names
/// is not linked.
struct esk_series_parts {
    /// The key index. NULL: a lookup is a binary search over the pages.
    const struct esk_series_keys *keys;
    /// The index log, which stores the key index and the value indexes; needs
    /// keys. NULL: an open makes the key index from at most 64 data pages, the
    /// index gets coarser where RAM is short, and the log is not written. A
    /// log from before stays valid.
    const struct esk_series_log *log;
    const struct esk_series_values *values; ///< value indexes; needs the log
    const struct esk_series_var *var;       ///< variable columns
    /// The sync journal: needed if the table has one (sync_blocks of struct
    /// esk_series_spec).
    const struct esk_series_sync *sync;
    const struct esk_series_ranges *ranges; ///< a query's ranges
    /// Backward cursors, esk_series_floor and esk_series_newest.
    const struct esk_series_back *back;
    /// Tables whose newest rows were dropped (esk_series_erase_after), or that
    /// got columns (esk_series_add_columns).
    const struct esk_series_breaks *breaks;
    const struct esk_series_packed *packed;     ///< packed tables
    const struct esk_packed_decimals *decimals; ///< their decimal columns
    /// A sorted index (ESK_INDEX_SORTED); needs the log and `values`.
    const struct esk_series_sorted *sorted;
};

extern const struct esk_series_keys esk_series_part_keys;
/// The smallest key index: sampled keys and a straight line between them, for
/// rows at an even rate. Without the index log.
extern const struct esk_series_keys esk_series_part_samples;
extern const struct esk_series_log esk_series_part_log;
extern const struct esk_series_values esk_series_part_values;
extern const struct esk_series_var esk_series_part_var;
extern const struct esk_series_sync esk_series_part_sync;
extern const struct esk_series_ranges esk_series_part_ranges;
extern const struct esk_series_back esk_series_part_back;
extern const struct esk_series_breaks esk_series_part_breaks;
extern const struct esk_series_packed esk_series_part_packed;
extern const struct esk_packed_decimals esk_series_part_decimals;
extern const struct esk_series_sorted esk_series_part_sorted;

/// Every part.
extern const struct esk_series_parts esk_series_parts_all;

/// A range inside a cursor: offset of the column, bounds in order form. The
/// fields are EskerDB's.
struct esk_series_bounds {
    uint64_t lo;
    uint64_t hi;
    uint16_t offset; ///< of the column in a row
    uint8_t type : 7;
    uint8_t has_missing : 1;
    uint8_t index;    ///< which value index covers the column; 255: none
    uint32_t missing; ///< with has_missing: not in the range
};

/// Position of a cursor in the value index: which data pages it has to read.
/// The fields are EskerDB's.
struct esk_series_plan {
    uint8_t range_count;
    bool open_run;      ///< the current run is the one in RAM
    bool exhausted;     ///< backward: no index page is left
    uint8_t walk;       ///< how a step ended on the way to the next run
    uint32_t run_first; ///< pages from here to run_start are read
    uint32_t run_start; ///< pages that the current index page covers
    uint32_t run_end;
    uint32_t above; ///< pages from run_end to here are read
    uint32_t window_base;
    uint32_t index_position;
    uint32_t group;  ///< first position of group_mask's; UINT32_MAX: none
    uint32_t asked;  ///< data position + 1 that a step asked a sorted index of
    uint64_t window; ///< which of the next 64 entries of the run match
    uint64_t group_mask; ///< which index pages of the group match
    struct esk_series_bounds ranges[ESK_SERIES_RANGES_MAX];
};

/// A cursor: a position among the rows. The caller owns it. Between calls it
/// holds no frame, so it needs no close. The fields are EskerDB's.
struct esk_series_cursor {
    /// What it was opened on; NULL: nothing.
    const struct esk_series *series;
    const uint8_t *next; ///< the next row, in a frame; if packed, the page
    const esk_tag *held; ///< the tag of that frame; NULL: none yet
    esk_tag tag;         ///< device page of `position`
    uint32_t drops;      ///< of the table when that page was entered
    uint32_t position;   ///< data page the cursor is on; head: rows in RAM
    uint16_t left;       ///< rows from `next` on that are wanted
    uint8_t step_pages;  ///< of the query; 0: no limit
    uint8_t budget;      ///< pages that the call may still read
    uint32_t end;        ///< ordinal after these rows; backward: before them
    bool backward;
    bool impossible; ///< no row can match
    bool by_value;   ///< a value index narrows the pages
    bool has_end;    ///< `end` is set
    bool follows;    ///< and the page before was read
    bool rose;       ///< the table's floor rose since the last page
    bool stale;      ///< and rows that were next are gone
    esk_key key_lo;  ///< order form
    esk_key key_hi;
    uint32_t damaged;
    /* Backward. */
    bool started;
    uint16_t row;  ///< rows of the page that are left; forward, of a packed
                   ///< page: the next row
    bool in_write; ///< on the rows in RAM
    bool has_last;
    esk_key last;    ///< rows from this key on are skipped
    uint32_t before; ///< where keys repeat: rows from this ordinal on are too,
                     ///< also forward
    /// Whether `row` meets every range; NULL: there is none.
    bool (*matches)(const struct esk_series_cursor *cursor, const uint8_t *row);
    struct esk_series_plan plan;
};

/// A variable value that is being read. The caller owns it. Between calls it
/// holds no frame. The fields but `bytes` are EskerDB's.
struct esk_series_value {
    uint32_t bytes;    ///< of the whole value
    uint32_t left;     ///< not read yet
    uint32_t position; ///< var page that the next byte is on, or one before
    uint32_t stream;   ///< stream offset of the next byte
};

/// Least number of frames for the table: 2, +1 with value indexes, +1 with a
/// variable column.
uint8_t esk_series_frames_min(const struct esk_table_info *info);

/// Bytes of the arena that esk_series_open takes for the table, exactly; 0 when
/// the catalog cannot be read, or `config` is out of range. Fewer parts take no
/// more. esker/arena.h has the figure as a constant.
/// Needs    a free page in the arena.
uint32_t esk_series_arena_bytes(struct esk_volume *volume,
                                const struct esk_table_info *info,
                                const struct esk_series_config *config);

/// The same for esk_series_open_with; 0 also when `parts` lacks a part that the
/// table needs.
uint32_t esk_series_arena_bytes_with(struct esk_volume *volume,
                                     const struct esk_series_parts *parts,
                                     const struct esk_table_info *info,
                                     const struct esk_series_config *config);

/// Opens table `name`; recovers it after power loss.
///
/// series   out: a handle inside the arena, valid until esk_series_close; NULL
///          unless ESK_OK.
/// config   may be NULL for the defaults.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_NO_MEMORY when too little of the arena
///          is free; ESK_E_INVALID when `config` is out of range; ESK_E_BUSY
///          when the table is open already; ESK_E_UNSUPPORTED (not a series, or
///          keys wider than this build); ESK_E_CORRUPT; ESK_E_IO.
/// Costs    O(log blocks) + at most group_pages page reads, one for each node
///          that the key index has room for, and run_pages reads of a few
///          bytes; with the key index and no index log at most 64 page reads.
///          The first value query, or the first index page that is programmed,
///          reads at most run_pages more pages.
int esk_series_open(struct esk_series **series, struct esk_volume *volume,
                    const char *name, const struct esk_series_config *config);

/// Opens table `name` with the parts that `parts` names, borrowed until close.
/// As esk_series_open, which names all; also ESK_E_UNSUPPORTED when `parts`
/// lacks a part that the table needs.
int esk_series_open_with(struct esk_series **series,
                         const struct esk_series_parts *parts,
                         struct esk_volume *volume, const char *name,
                         const struct esk_series_config *config);

/// Opens the table that `spec` describes; creates it if there is none. A
/// firmware calls this after each reset.
///
/// parts    as for esk_series_open_with.
/// fault    out: on ESK_E_SCHEMA what is wrong, or how the existing table
///          differs in its columns (all of each), its key, keys_repeat,
///          full_policy, codec or cell_bytes; on ESK_E_NO_SPACE how many
///          blocks are missing. May be NULL.
/// Returns  as esk_series_create without ESK_E_EXISTS, and esk_series_open.
/// Costs    as esk_series_open, and 2 page reads a table of the catalog.
int esk_series_open_or_create(struct esk_series **series,
                              const struct esk_series_parts *parts,
                              struct esk_volume *volume,
                              const struct esk_series_spec *spec,
                              const struct esk_series_config *config,
                              struct esk_fault *fault);

/// Opens the table that `info` and `shape` describe, without reading the
/// catalog: they must agree with it. `esker header` prints both, for a firmware
/// that is compiled for one table (esker/shape.h). Only for tables without
/// value indexes; ESK_E_UNSUPPORTED if its pages are packed.
///
/// info, shape, options  borrowed for the call.
/// Returns  as esk_series_open; the table must not be open.
/// Costs    as esk_series_open without the catalog's pages. In a program that
///          is compiled for a table of up to 512 blocks, and without marks of
///          bad blocks, up to 2 reads of 16 bytes a block instead of about
///          2 * log2(blocks).
int esk_series_attach(struct esk_series **series,
                      const struct esk_series_parts *parts,
                      struct esk_volume *volume,
                      const struct esk_table_info *info,
                      const struct esk_series_shape *shape,
                      const struct esk_series_options *options,
                      const struct esk_series_config *config);

/// Closes the handle. Rows not synced are lost; sync first. The memory is free
/// when the tables that were opened later are closed, too.
void esk_series_close(struct esk_series *series);

/// Appends one row.
///
/// row      in, borrowed for the call: esk_series_row_bytes bytes. A
///          variable column is ignored and stored as an empty value.
/// Returns  ESK_OK: accepted, in RAM or on the medium. ESK_OUT_OF_ORDER: the
///          key is below the newest, or equal where keys do not repeat.
///          ESK_FULL (ESK_FULL_REFUSE only). ESK_E_IO: transfers fail; call
///          again. ESK_E_WORN, until the next mount: 4 blocks in a row failed,
///          or no good block is left. ESK_E_READ_ONLY; ESK_E_LIMIT. An error
///          accepts nothing and loses no earlier row.
/// Costs    1 / rows-a-page programs on average; at most one data, one
///          variable and three index pages, each a program, one more if it was
///          sealed, an erase and 2 reads. Once after an open, with a value
///          index, run_pages reads. With ESK_MEDIUM_OVERWRITE one device sync
///          more than pages, at most.
int esk_series_append(struct esk_series *series, const void *row);

/// Appends one row whose variable column is `bytes` bytes at `value`.
/// As esk_series_append; ESK_E_UNSUPPORTED without a variable column;
/// ESK_E_LIMIT when all blocks of its region but one are too few for the value.
/// Costs    also bytes / page_bytes + 2 programs of variable pages.
int esk_series_append_var(struct esk_series *series, const void *row,
                          const void *value, uint32_t bytes);

/// Appends `count` rows, one after another at `rows`.
/// appended out, may be NULL: rows that were accepted, also on failure.
int esk_series_append_many(struct esk_series *series, const void *rows,
                           uint32_t count, uint32_t *appended);

/// Makes every accepted row durable.
/// Returns  ESK_OK; ESK_E_IO, ESK_E_WORN: rows since the last sync may not be
///          durable, and stay readable; call again.
/// Costs    where the medium programs parts of a page: 2 programs, 4 with
///          variable data; when the page has no room for a seal, as an append
///          that fills it. With a sync journal: 1 program, and an erase for
///          each of its blocks filled. Else a page, filled as far as it is. For
///          each program at most an erase and 2 reads. Nothing when no row is
///          unsynced, but for one device sync after an open with
///          ESK_MEDIUM_OVERWRITE.
int esk_series_sync(struct esk_series *series);

/// Copies the row with key == `key` into `row`; if there are several, the
/// newest.
/// row      out, esk_series_row_bytes bytes; untouched unless ESK_OK.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT when rows are missing, or a
///          page does not read, where the key would be; ESK_E_IO.
/// Costs    about 1 page read on average, at most 3 where the spline covers
///          the key; else a binary search over the pages.
int esk_series_get(struct esk_series *series, esk_key key, void *row);

/// Copies the newest row with key <= `key`. As esk_series_get.
int esk_series_floor(struct esk_series *series, esk_key key, void *row);

/// Copies the oldest row with key >= `key`. As esk_series_get.
int esk_series_ceiling(struct esk_series *series, esk_key key, void *row);

/// Sets `key` to the newest row's key, also if that row was erased since. The
/// next row's key must follow it.
/// Returns  ESK_OK; ESK_NOT_FOUND when there was no row.
/// Costs    nothing.
int esk_series_newest_key(const struct esk_series *series, esk_key *key);

/// Sets `ordinal` to the number that the next appended row gets. Rows are
/// numbered in the order of their appends; numbers wrap at 2^32.
/// Returns  ESK_OK; ESK_E_INVALID. Costs nothing.
int esk_series_next_ordinal(const struct esk_series *series, uint32_t *ordinal);

/// Copies the newest row. ESK_NOT_FOUND when the table is empty.
int esk_series_newest(struct esk_series *series, void *row);

/// Copies the oldest row. ESK_NOT_FOUND when the table is empty.
int esk_series_oldest(struct esk_series *series, void *row);

/// Sets `count` to the number of rows, those of damaged pages included.
/// Costs    at most 2 page reads when no page is damaged.
int esk_series_count(struct esk_series *series, uint32_t *count);

/// Starts `cursor` on the rows of `query`. NULL: every row.
///
/// Returns  ESK_OK; ESK_E_INVALID for an unknown or non-numeric column;
///          ESK_E_UNSUPPORTED: backward or with ranges, without that part, or
///          any query with -DESK_SHAPE_QUERIES=0;
///          ESK_E_LIMIT: more than ESK_SERIES_RANGES_MAX ranges; ESK_E_IO.
/// Keeps    nothing: `query` and its ranges are borrowed for the call.
/// Costs    with key_min a seek, as esk_series_get. A backward cursor seeks in
///          its first next.
int esk_series_cursor_open(struct esk_series *series,
                           struct esk_series_cursor *cursor,
                           const struct esk_series_query *query);

/// Copies the next row into `row`.
///
/// A forward cursor also returns rows that were appended after its open. A
/// damaged page is skipped and counted.
/// Returns  ESK_OK; ESK_END; ESK_AGAIN: see step_pages; ESK_E_STALE when rows
///          between the last one and the next were dropped (call again to go on
///          from the oldest row); ESK_E_INVALID when it was not opened on this
///          table; ESK_E_IO.
/// Costs    by key: 1 page read a page of rows. By value: index pages whose
///          zone overlaps, and data pages whose entry overlaps. With step_pages
///          at most so many of both; a damaged page is read up to 3 times. The
///          first next of a backward cursor with key_max only seeks then.
int esk_series_cursor_next(struct esk_series *series,
                           struct esk_series_cursor *cursor, void *row);

/// Adds to `count` the rows that the forward cursor would still return: until
/// ESK_OK, of one call or of several; then the cursor is at its end. Rows of
/// damaged pages are not returned, and so not counted. Rows appended meanwhile
/// are, as by esk_series_cursor_next.
///
/// count    in, out: 0 for the first call; stays valid with every outcome.
/// Returns  ESK_OK; as esk_series_cursor_next but ESK_END;
///          ESK_E_UNSUPPORTED for a backward cursor.
/// Costs    as esk_series_cursor_next until ESK_END, and a read more for 64
///          pages. Rows are compared only on pages that are not wholly within
///          the ranges by their value index, which floats never are.
int esk_series_cursor_count(struct esk_series *series,
                            struct esk_series_cursor *cursor, uint32_t *count);

/// Returns the number of invalid pages that the cursor skipped, and of gaps
/// between the ordinals of pages that it read one after another: a page there
/// lost rows but is valid. Only esk_series_check finds a gap before the
/// cursor's first page, or between pages that a value index selects.
uint32_t esk_series_cursor_damaged(const struct esk_series_cursor *cursor);

/// Starts `value` on `row`'s variable value.
///
/// row      in: as this table returned the row; borrowed for the call.
/// value    out: `bytes` is the value's length, 0 when it has none.
/// Returns  ESK_OK; ESK_E_UNSUPPORTED without a variable column;
///          ESK_NOT_FOUND when its pages were dropped, or were lost in the
///          block that is dropped next: power loss may have cut its erase;
///          ESK_E_CORRUPT; ESK_E_IO.
/// Costs    1 page read, 2 where the value begins at a page's end; 0 of an
///          empty value.
int esk_series_value_open(struct esk_series *series, const void *row,
                          struct esk_series_value *value);

/// Reads up to `bytes` bytes of a value, from where the last read ended.
/// buffer   out; NULL: the bytes are skipped.
/// got      out: bytes read, also on failure; 0 at the value's end.
/// Returns  as esk_series_value_open. The next call goes on from there.
/// Costs    1 page read a page of the value, whatever the size of the pieces,
///          while the page stays in its frame.
int esk_series_value_read(struct esk_series *series,
                          struct esk_series_value *value, void *buffer,
                          uint32_t bytes, uint32_t *got);

/// Drops every row with a key below `key`, durably, and frees their blocks. No
/// row with such a key can be appended from then on. A key above the largest of
/// its type counts as that one.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_READ_ONLY; ESK_E_UNSUPPORTED in a program
///          that is compiled with a shape.
/// Costs    one catalog write. Appends and steps erase the blocks later.
int esk_series_erase_before(struct esk_series *series, esk_key key);

/// Drops every row with a key above `key`, durably: for rows of a clock that
/// ran ahead. The rest of the newest page's block stays unused, and so do the
/// pages of the dropped rows until their blocks are the oldest, or no row is
/// left. Open each cursor again.
/// Returns  ESK_OK; ESK_E_LIMIT: the table's rows have ESK_SERIES_BREAKS_MAX
///          breaks (drops of newest rows, added columns); ESK_E_UNSUPPORTED
///          without the part `breaks`; ESK_E_NO_SPACE when the catalog is full;
///          ESK_E_READ_ONLY; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    a seek, a data page, a zone page, and a catalog write; without an
///          index log also as esk_series_open. From then on a lookup of an
///          older row is a binary search.
int esk_series_erase_after(struct esk_series *series, esk_key key);

/// Adds to table `spec->name` the columns that `spec` has after the table's
/// own. Older rows have the values of `row` there. The table must be closed.
///
/// parts    as for esk_series_open_with; needs `breaks`.
/// spec     `table` of a series' specification. The table gets its version.
/// row      in: a row with every column of `spec`. NULL: all zeros.
/// fault    out: on ESK_E_SCHEMA what is wrong, or how the table's own columns
///          differ; ESK_FAULT_TOO_LARGE when the catalog is full. May be NULL.
/// Needs    as much free arena as esk_series_open_with.
/// Returns  ESK_OK, also when the table has all columns; ESK_E_SCHEMA;
///          ESK_E_LIMIT and ESK_E_UNSUPPORTED as esk_series_erase_after; as
///          esk_series_open_with.
/// Costs    as esk_series_open, and as esk_series_erase_after without a seek.
int esk_series_add_columns(struct esk_volume *volume,
                           const struct esk_series_parts *parts,
                           const struct esk_table_spec *spec, const void *row,
                           struct esk_fault *fault);

/// Fills `stats`. Costs nothing.
void esk_series_stats(const struct esk_series *series,
                      struct esk_series_stats *stats);

/// Fills `space` with the room and wear of region `role`, enum esk_region_role;
/// all 0 when the table has no such region, or the index log's part is not
/// named. A page of ESK_REGION_DATA has at most (page_bytes - 16) / row_bytes
/// rows; syncs make it fewer. Wear is computed from positions: erases before
/// the table was created, and erases ahead before the last open, do not count.
/// Costs    nothing.
void esk_series_space(const struct esk_series *series, uint8_t role,
                      struct esk_space *space);

/// Reads every page and verifies envelopes, row order, continuity, index
/// entries against rows, and variable values.
/// report   out, always filled in.
/// Returns  ESK_OK when no row, value or index entry is wrong or missing;
///          ESK_E_CORRUPT when one is; ESK_E_IO when a read failed and the
///          rest is right. A page that was damaged while it was the newest
///          cannot be told from a torn one: newest_unread counts it until rows
///          follow it, then pages_torn. The same holds for the oldest page of
///          a table that has dropped rows.
int esk_series_check(struct esk_series *series,
                     struct esk_series_report *report);

/// Bytes of one row.
uint16_t esk_series_row_bytes(const struct esk_series *series);

#ifdef __cplusplus
}
#endif

#endif
