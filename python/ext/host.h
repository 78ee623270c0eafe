// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The handles Python holds: the public C API with counted lifetimes, a lock
/// and memory of their own.
///
///     device <- table <- cursor <- Arrow stream  (each arrow keeps its
///                 ^ - - reader <- cursor ...      target)
///
/// A reader of a tree is a table too, and is closed with the tree's handle.
///
/// Invariants
///   1. One C call runs at a time on a device: every function here takes the
///      device's lock. The interpreter's lock is not held meanwhile.
///   2. A handle outlives what it was closed with. A call on it then returns
///      ESK_PY_CLOSED; memory goes with the last reference.
///   3. Nothing here calls Python, so Arrow consumers may run and release
///      streams on any thread.
///
/// Every function returns an esk_status or one of enum esk_py_status.
#ifndef ESK_PY_HOST_H
#define ESK_PY_HOST_H

#include <stddef.h>
#include <stdint.h>

#include "esker/esker.h"

/// The name that the table of a bare kv store has here.
#define ESK_PY_BARE_NAME "kv"

/// Outcomes of the binding itself, beside enum esk_status.
enum esk_py_status {
    ESK_PY_CLOSED = -100,     ///< the handle, or what it stands on, is closed
    ESK_PY_BUSY = -101,       ///< the device has a mounted volume already
    ESK_PY_NO_HEAP = -102,    ///< malloc failed
    ESK_PY_OS = -103,         ///< the operating system refused; see errno
    ESK_PY_TABLE_OPEN = -104, ///< the table has an open handle
    ESK_PY_NO_PART = -105,    ///< the simulator knows no such part
};

struct esk_py_device;
struct esk_py_table;
struct esk_py_cursor;

// Devices (device.c) --------------------------------------------------------

/// How a file is opened.
enum esk_py_file {
    ESK_PY_FILE_WRITE = 0,
    ESK_PY_FILE_READ = 1,    ///< it is never written
    ESK_PY_FILE_SALVAGE = 2, ///< the same, a file of any length
    ESK_PY_FILE_CREATE = 3,  ///< makes it, all erased; it must not be there
};
/// Opens `path` as a device. how: enum esk_py_file.
/// os_error  out on ESK_PY_OS: the errno.
int esk_py_file_open(const char *path, const struct esk_geometry *geometry,
                     int how, struct esk_py_device **out, int *os_error);

/// Unmounts and closes; handles on it stay valid and say ESK_PY_CLOSED.
int esk_py_device_close(struct esk_py_device *device);

/// Gives one reference back.
void esk_py_device_release(struct esk_py_device *device);

int esk_py_device_geometry(struct esk_py_device *device,
                           struct esk_geometry *geometry);

/// Raw access, for tools and for tests that damage an image.
int esk_py_device_read(struct esk_py_device *device, esk_page_id page,
                       void *buffer);

// Simulators (device.c); ESK_E_UNSUPPORTED on any other device --------------

struct esk_sim_config;
struct esk_sim_counters;
struct esk_sim_failures;
struct esk_sim_wear;

int esk_py_sim_create(const struct esk_sim_config *config,
                      struct esk_py_device **out);
/// Loads what esk_py_sim_save wrote.
int esk_py_sim_load(const char *path, struct esk_py_device **out);
int esk_py_sim_save(struct esk_py_device *device, const char *path);
/// Cuts the power at operation `op`; `mode` is enum esk_sim_cut_mode.
int esk_py_sim_cut_at(struct esk_py_device *device, uint64_t op, int mode);
int esk_py_sim_power(struct esk_py_device *device, bool on);
int esk_py_sim_is_on(struct esk_py_device *device, bool *on);
int esk_py_sim_failures_set(struct esk_py_device *device,
                            const struct esk_sim_failures *failures);
int esk_py_sim_counters_get(struct esk_py_device *device,
                            struct esk_sim_counters *counters);
int esk_py_sim_counters_reset(struct esk_py_device *device);
int esk_py_sim_op_count(struct esk_py_device *device, uint64_t *ops);
int esk_py_sim_wear_get(struct esk_py_device *device,
                        struct esk_sim_wear *wear);
/// Overwrites bytes of a page as a forger would; see esk_sim_poke.
int esk_py_sim_poke(struct esk_py_device *device, esk_page_id page,
                    uint16_t offset, const void *bytes, uint16_t count);
/// Writes the one line that repeats this simulator, and the last violation.
int esk_py_sim_describe(struct esk_py_device *device, char *text, size_t bytes);
int esk_py_sim_violations(struct esk_py_device *device, uint64_t *count,
                          char *text, size_t bytes);
/// The name of the part at `index`, NULL past the last; and its label.
const char *esk_py_sim_part_name(size_t index, const char **label);

// Volumes (table.c) ---------------------------------------------------------
// `mount` is the number esk_py_volume_mount gave; a later mount, an unmount
// or a closed device makes it stale.

int esk_py_volume_format(struct esk_py_device *device,
                         const struct esk_volume_config *config);
int esk_py_volume_mount(struct esk_py_device *device, uint8_t flags,
                        uint32_t *mount);
/// Mounts the bare kv store that has the whole device, as a volume of one
/// table, ESK_PY_BARE_NAME (kv.c).
///
/// bare     of a new store, which a blank device becomes; NULL: none is made.
/// Returns  as esk_kv_open_bare; ESK_NOT_FOUND: the device is blank, and `bare`
///          NULL.
int esk_py_bare_mount(struct esk_py_device *device, uint8_t flags,
                      const struct esk_kv_bare *bare, uint32_t *mount);
/// What the bare store that is mounted was made with.
int esk_py_bare_state(struct esk_py_device *device, uint32_t mount,
                      struct esk_kv_bare *bare);
/// Mounts a volume of which no superblock is left: esk_volume_salvage.
int esk_py_volume_salvage(struct esk_py_device *device, uint32_t *mount);
/// Closes the volume's open tables first. Nothing is synced.
int esk_py_volume_unmount(struct esk_py_device *device, uint32_t mount);
/// Copies the volume's state.
int esk_py_volume_state(struct esk_py_device *device, uint32_t mount,
                        struct esk_volume *volume);
int esk_py_volume_create(struct esk_py_device *device, uint32_t mount,
                         const struct esk_series_spec *spec,
                         struct esk_fault *fault);
int esk_py_volume_drop(struct esk_py_device *device, uint32_t mount,
                       const char *name);
int esk_py_volume_list(struct esk_py_device *device, uint32_t mount,
                       uint16_t *cursor, struct esk_table_info *info);
int esk_py_volume_check(struct esk_py_device *device, uint32_t mount,
                        struct esk_volume_report *report);
int esk_py_volume_find(struct esk_py_device *device, uint32_t mount,
                       const char *name, struct esk_table_info *info);
int esk_py_volume_column(struct esk_py_device *device, uint32_t mount,
                         const struct esk_table_info *info, uint8_t index,
                         struct esk_column_info *column);
int esk_py_volume_fingerprint(struct esk_py_device *device, uint32_t mount,
                              const struct esk_table_info *info,
                              uint32_t *fingerprint);
int esk_py_volume_index(struct esk_py_device *device, uint32_t mount,
                        const struct esk_table_info *info, uint8_t index,
                        struct esk_index_spec *spec, void *edges,
                        uint16_t edges_bytes);
int esk_py_volume_step(struct esk_py_device *device, uint32_t mount,
                       uint16_t budget, uint16_t *done);

// Open tables (table.c) -----------------------------------------------------
// A call for another kind of table returns ESK_E_UNSUPPORTED.

/// Forgets the handle, and a tree's readers; rows of a series that are not
/// synced, and an open batch of a tree, are lost. What waits in a tree's write
/// cache, or in a kv table, is written; esk_py_table_sync before reports
/// whether it could be.
int esk_py_table_close(struct esk_py_table *table);
void esk_py_table_release(struct esk_py_table *table);
int esk_py_table_sync(struct esk_py_table *table);
/// Rows of a series that can be read, or of a tree.
int esk_py_table_count(struct esk_py_table *table, uint32_t *count);
/// role     of a series' region; a tree and a kv table have one.
int esk_py_table_space(struct esk_py_table *table, uint8_t role,
                       struct esk_space *space);
/// Bytes of RAM the open table holds: its arena.
uint32_t esk_py_table_arena_bytes(const struct esk_py_table *table);

// Series (table.c) ----------------------------------------------------------

int esk_py_series_open(struct esk_py_device *device, uint32_t mount,
                       const char *name, const struct esk_series_config *config,
                       struct esk_py_table **out);
/// Appends `count` rows; `values` and `ends` are NULL without a variable
/// column, else row i's value is values[ends[i - 1] .. ends[i]).
int esk_py_series_append(struct esk_py_table *series, const void *rows,
                         uint32_t count, const void *values,
                         const uint64_t *ends, uint32_t *appended);

/// Which row a find copies.
enum esk_py_find {
    ESK_PY_GET = 0,
    ESK_PY_FLOOR = 1,
    ESK_PY_CEILING = 2,
    ESK_PY_NEWEST = 3, ///< trees: the last
    ESK_PY_OLDEST = 4, ///< trees: the first
};
int esk_py_series_find(struct esk_py_table *series, int which, uint64_t key,
                       void *row);
int esk_py_series_value_open(struct esk_py_table *series, const void *row,
                             struct esk_series_value *value);
int esk_py_series_value_read(struct esk_py_table *series,
                             struct esk_series_value *value, void *buffer,
                             uint32_t bytes, uint32_t *got);
int esk_py_series_erase_before(struct esk_py_table *series, uint64_t key);
int esk_py_series_erase_after(struct esk_py_table *series, uint64_t key);
int esk_py_series_add_columns(struct esk_py_device *device, uint32_t mount,
                              const struct esk_table_spec *spec,
                              const void *row, struct esk_fault *fault);
int esk_py_series_stats(struct esk_py_table *series,
                        struct esk_series_stats *stats);
int esk_py_series_check(struct esk_py_table *series,
                        struct esk_series_report *report);
/// ESK_SERIES_SORTED_BYTES: RAM of a sorted index.
uint32_t esk_py_series_sorted_bytes(uint16_t page_bytes, uint16_t entries,
                                    uint8_t fan);

// Trees (tree.c) ------------------------------------------------------------
// A key is the key column's bytes in a row.

/// Creates a tree; the spec says which store.
int esk_py_tree_create(struct esk_py_device *device, uint32_t mount,
                       const struct esk_tree_spec *spec,
                       struct esk_fault *fault);
/// Fills `layout`: where the tree's nodes have their rows and keys. Opens
/// nothing.
/// Returns  as esk_tree_layout_read; ESK_E_UNSUPPORTED for what is no tree, or
///          of a store that is not known.
int esk_py_tree_layout(struct esk_py_device *device, uint32_t mount,
                       const struct esk_table_info *info,
                       struct esk_btree_layout *layout);
/// Asks for merging, of the kind that the tree's store needs.
void esk_py_tree_merges(struct esk_tree_config *config);
/// Asks for a write cache; ESK_E_UNSUPPORTED at open where nodes stay.
void esk_py_tree_caches_writes(struct esk_tree_config *config);
/// config    its store is taken from the catalog.
int esk_py_tree_open(struct esk_py_device *device, uint32_t mount,
                     const char *name, const struct esk_tree_config *config,
                     struct esk_py_table **out);
/// Opens a reader on a tree: a table whose changes are ESK_E_READ_ONLY.
/// Returns  as esk_tree_reader_open; ESK_E_UNSUPPORTED on a reader.
int esk_py_tree_reader_open(struct esk_py_table *tree,
                            const struct esk_tree_config *config,
                            struct esk_py_table **out);
/// Takes the tree as it is now; ESK_E_UNSUPPORTED on what is no reader.
int esk_py_tree_reader_renew(struct esk_py_table *reader);

/// What becomes of a row whose key is there, or is not.
enum esk_py_put {
    ESK_PY_PUT = 0,    ///< put it in either case
    ESK_PY_INSERT = 1, ///< ESK_EXISTS when it is there
    ESK_PY_UPDATE = 2, ///< ESK_NOT_FOUND when it is not
};
/// Puts `count` rows. done: rows put, on failure too.
int esk_py_tree_put(struct esk_py_table *table, int how, const void *rows,
                    uint32_t count, uint32_t *done);
int esk_py_tree_delete(struct esk_py_table *table, const void *key);
int esk_py_tree_find(struct esk_py_table *table, int which, const void *key,
                     void *row);
int esk_py_tree_begin(struct esk_py_table *table, uint32_t pages);
int esk_py_tree_commit(struct esk_py_table *table);
int esk_py_tree_abort(struct esk_py_table *table);
int esk_py_tree_stats(struct esk_py_table *table, struct esk_tree_stats *stats);
int esk_py_tree_check(struct esk_py_table *table,
                      struct esk_tree_report *report);
/// Starts a walk over the nodes, or goes on with it.
int esk_py_tree_walk_open(struct esk_py_table *table,
                          struct esk_tree_walk *walk);
int esk_py_tree_walk_next(struct esk_py_table *table,
                          struct esk_tree_walk *walk,
                          struct esk_tree_node *node);
/// key_min, key_max   copied; NULL: no bound.
int esk_py_tree_cursor_open(struct esk_py_table *table, const void *key_min,
                            const void *key_max, bool backward,
                            struct esk_py_cursor **out);

// Kv tables (kv.c) ----------------------------------------------------------

/// arena_bytes   of an open table, on this processor
/// live_most     bytes that the newest records may take
/// rests         bytes that the rests of blocks may take
/// index_blocks  of the index, its leaves, entries of a leaf, leaves of an
///               inner node, bytes of an entry and a reference; 0: it has none
/// slot_bytes    of RAM, of a key
/// seals         a sync leaves the rest of a page for later
struct esk_py_kv_plan {
    uint32_t arena_bytes;
    uint32_t live_most;
    uint32_t index_blocks;
    uint32_t leaves;
    uint32_t leaf_entries;
    uint32_t inner_leaves;
    uint32_t entry_bytes;
    uint32_t ref_bytes;
    uint32_t slot_bytes;
    uint32_t rests;
    bool seals;
};

int esk_py_kv_create(struct esk_py_device *device, uint32_t mount,
                     const struct esk_kv_spec *spec, struct esk_fault *fault);
/// config    keys 0: as many as the region can have, at first up to 2^20, and
///           more where the table has more.
int esk_py_kv_open(struct esk_py_device *device, uint32_t mount,
                   const char *name, const struct esk_kv_config *config,
                   struct esk_py_table **out);
/// What a kv table of `blocks` blocks will have; see kv_plan.c.
/// keys        in RAM, as in struct esk_kv_config
/// index_keys  as in struct esk_kv_spec
/// longest     bytes of the longest record
/// Returns     ESK_OK; ESK_NOT_FOUND: there can be no such index.
int esk_py_kv_plan(const struct esk_geometry *geometry, uint32_t blocks,
                   uint8_t live_percent, uint32_t keys, uint32_t index_keys,
                   uint32_t longest, struct esk_py_kv_plan *plan);
/// ESK_KV_ARENA_BYTES, or that of a bare store.
uint32_t esk_py_kv_arena_bytes(const struct esk_geometry *geometry,
                               uint32_t blocks, uint32_t keys, bool is_bare);
int esk_py_kv_get(struct esk_py_table *table, const void *key,
                  uint8_t key_bytes, void *value, uint32_t room,
                  uint32_t *bytes, uint8_t *type);
int esk_py_kv_put(struct esk_py_table *table, const void *key,
                  uint8_t key_bytes, const void *value, uint32_t bytes,
                  uint8_t type);
int esk_py_kv_delete(struct esk_py_table *table, const void *key,
                     uint8_t key_bytes);
int esk_py_kv_change_many(struct esk_py_table *table,
                          struct esk_kv_change *changes, uint16_t count,
                          uint16_t *refused);
int esk_py_kv_next(struct esk_py_table *table, uint32_t *cursor, void *key,
                   uint8_t *key_bytes);
int esk_py_kv_stats(struct esk_py_table *table, struct esk_kv_stats *stats);
int esk_py_kv_check(struct esk_py_table *table, struct esk_kv_report *report);
int esk_py_kv_reader_check(struct esk_py_table *table);
/// snapshot, kept  to be freed after the close of the snapshot or of the table.
int esk_py_kv_snapshot_open(struct esk_py_table *table,
                            struct esk_kv_snapshot *snapshot,
                            struct esk_kv_kept *kept, uint16_t room);
int esk_py_kv_snapshot_close(struct esk_py_table *table,
                             struct esk_kv_snapshot *snapshot);
int esk_py_kv_snapshot_get(struct esk_py_table *table,
                           struct esk_kv_snapshot *snapshot, const void *key,
                           uint8_t key_bytes, void *value, uint32_t room,
                           uint32_t *bytes, uint8_t *type);
int esk_py_kv_snapshot_next(struct esk_py_table *table,
                            struct esk_kv_snapshot *snapshot, uint32_t *cursor,
                            void *key, uint8_t *key_bytes);

// Copies of damaged tables (salvage.c) --------------------------------------

/// Begins a copy, or goes on with it: as esk_series_copy_step. `from` and `to`
/// are of different devices and of the same kind.
int esk_py_series_copy(struct esk_py_table *from, struct esk_py_table *to,
                       struct esk_series_copy *copy, bool begin, void *row,
                       void *value, uint32_t value_bytes, uint32_t rows);
int esk_py_kv_copy(struct esk_py_table *from, struct esk_py_table *to,
                   struct esk_kv_copy *copy, bool begin, void *value,
                   uint32_t value_bytes, uint32_t keys);
int esk_py_tree_copy(struct esk_py_table *from, struct esk_py_table *to,
                     struct esk_tree_copy *copy, bool begin, void *row,
                     uint32_t rows);

// Cursors (table.c) ---------------------------------------------------------

/// Copies `query` and its ranges; holds a reference to `series`.
int esk_py_cursor_open(struct esk_py_table *series,
                       const struct esk_series_query *query,
                       struct esk_py_cursor **out);
/// Copies up to `rows_max` rows. `count` is set on every outcome: rows that
/// came before an ESK_END, ESK_E_STALE or failure are delivered.
int esk_py_cursor_fetch(struct esk_py_cursor *cursor, void *rows,
                        uint32_t rows_max, uint32_t *count);
void esk_py_cursor_release(struct esk_py_cursor *cursor);
/// Pages, or nodes of a tree, skipped because they cannot be read.
int esk_py_cursor_damaged(struct esk_py_cursor *cursor, uint32_t *pages);

// Queries (query.c) ---------------------------------------------------------

/// An open table of a query. Of a kv table: bytes of the columns of its rows.
struct esk_py_query_table {
    struct esk_py_table *table;
    uint8_t key_bytes;
    uint16_t value_bytes;
    uint16_t memory_bytes; ///< of cursors in the order of keys; 0: in none
};
struct esk_py_program;
/// Checks a program and starts it. Copies `code`; holds a reference to each of
/// the tables, which are of one device.
/// report    out, as of esk_program_check.
/// Returns   as esk_program_begin.
int esk_py_program_open(const void *code, uint32_t bytes,
                        const struct esk_py_query_table *tables,
                        uint8_t table_count, struct esk_program_report *report,
                        struct esk_py_program **out);
int esk_py_program_set(struct esk_py_program *program, uint8_t parameter,
                       int64_t value);
/// Sets a parameter that is a text; `texts` is borrowed until the last fetch.
int esk_py_program_set_text(struct esk_py_program *program, uint8_t parameter,
                            const void *texts, uint16_t offset, uint8_t bytes);
/// Steps the program up to `steps` times, of `budget` each, and packs up to
/// `rows_max` rows. A row is its outputs, each a byte, 1 where it is NULL, and
/// 8 bytes; of AVG 24: count, sum, its high part; else `bytes` of the output.
/// count     out, set on every outcome
/// Returns   as esk_program_step; ESK_OK: there are rows_max rows.
int esk_py_program_fetch(struct esk_py_program *program, uint16_t budget,
                         uint32_t steps, void *rows, uint32_t rows_max,
                         uint32_t *count);
void esk_py_program_release(struct esk_py_program *program);
int esk_py_program_bound(const struct esk_py_program *program,
                         struct esk_program_bound *bound);
/// What a sort by runs of records of `slots` slots makes of the memory of
/// `capacity` records: how many are in memory and in a page of the scratch, how
/// many runs are merged at a time, and the bytes of a page.
int esk_py_runs_plan(uint8_t slots, uint16_t capacity, uint32_t plan[4]);

// Rows ----------------------------------------------------------------------

/// A column of values, one after another, and where it goes in a row.
struct esk_py_source {
    const void *data;
    uint16_t bytes;  ///< width of a value
    uint16_t offset; ///< in the row
};
/// Interleaves columns into rows of `row_bytes`; slots not named are zero.
void esk_py_rows_pack(const struct esk_py_source *sources,
                      uint32_t source_count, uint32_t row_count,
                      uint16_t row_bytes, void *rows);

// Arrow (stream.c) ----------------------------------------------------------

/// Makes an ArrowArrayStream of the `column_count` columns named by index in
/// `columns`, from the rows of `cursor`, which it takes over, on failure too.
/// name      the table's, for the schema's metadata.
/// stream    out: a heap ArrowArrayStream; give it to esk_py_stream_capsule's
///           destructor or esk_py_stream_free.
int esk_py_stream_open(struct esk_py_cursor *cursor, const char *name,
                       const uint8_t *columns, uint8_t column_count,
                       uint32_t batch_rows, void **stream);
/// Releases the stream if its consumer has not, and frees it.
void esk_py_stream_free(void *stream);

// CSV (csv.c) ---------------------------------------------------------------

/// Where a field of a record goes.
struct esk_py_field {
    uint8_t type;    ///< enum esk_type; 0: not known yet
    bool is_text;    ///< UTF-8, never hexadecimal digits
    uint16_t bytes;  ///< in the row
    uint16_t offset; ///< in the row
};
/// What a file's records are, and how far a call came.
struct esk_py_csv {
    const struct esk_py_field *fields; ///< in the order of the header
    uint32_t field_count;
    uint32_t rows_max;
    uint16_t row_bytes;
    uint32_t rows;        ///< out: records read
    uint32_t lines;       ///< in and out: lines passed, blank ones too
    uint64_t bytes;       ///< out: of the text
    uint64_t value_bytes; ///< out
};
/// Packs the plain records at the start of a text; the call ends before the
/// first that is not, or is not whole.
/// is_last  the text ends where the file does
/// values   room for `bytes` bytes; `ends` and `lines` for rows_max: where a
///          row's value ends, and its last line's number
void esk_py_csv_pack(struct esk_py_csv *csv, const void *text, size_t bytes,
                     bool is_last, void *rows, void *values, uint64_t *ends,
                     uint32_t *lines);

enum esk_py_kind {
    ESK_PY_KIND_FLOAT = 1,    ///< a number with a point or an exponent
    ESK_PY_KIND_NEGATIVE = 2, ///< a number below zero
};
/// Sees what numbers the fields of type 0 hold: as esk_py_csv_pack.
/// kinds  in and out, one a field: enum esk_py_kind
void esk_py_csv_kinds(struct esk_py_csv *csv, const void *text, size_t bytes,
                      bool is_last, uint8_t *kinds);

// Packed pages (packed.c) ---------------------------------------------------

/// A field of a row and how it is packed.
struct esk_py_packed_field {
    uint16_t offset; ///< in the row
    uint16_t bytes;
    uint8_t mode; ///< as in the catalog
};
/// Counts the bytes of pages that rows take when they are packed: whole pages,
/// and of the last one what is written. The first field is the key.
/// Returns  ESK_OK; ESK_E_INVALID when a row does not fit a cell;
///          ESK_PY_NO_HEAP.
int esk_py_packed_bytes(const struct esk_py_packed_field *fields,
                        uint8_t field_count, uint16_t row_bytes,
                        uint16_t page_bytes, uint16_t cell_bytes,
                        const void *rows, uint32_t count, uint64_t *bytes);

// Value indexes (summary.c) -------------------------------------------------

/// The values of a column of numbers in rows.
struct esk_py_summary {
    const void *rows;
    uint32_t row_count;
    uint16_t row_bytes;
    uint16_t offset; ///< of the value in a row
    uint16_t bytes;  ///< of the value
    uint8_t type;    ///< enum esk_type
};
/// Counts the pages of `page_rows` rows, at most 65,535, that queries by value
/// would read.
/// bits   of a learned bitmap: 0, 8, 16, 32 or 64
/// ends   of each range the rows with its least and its greatest value
/// pages  out: the sum over all ranges
void esk_py_summary_pages(const struct esk_py_summary *from, uint32_t page_rows,
                          uint8_t bits, const uint32_t *ends,
                          uint32_t range_count, uint64_t *pages);

// Text ----------------------------------------------------------------------

/// esk_status_text, extended to enum esk_py_status.
const char *esk_py_status_text(int status);

#endif
