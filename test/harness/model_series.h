// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model: a series table on a simulated medium beside a plain array of its
/// expected rows.
///
///     model  --append, sync, crash, recover-->  series table on a simulator
///      |                                          |
///      expected: rows appended, last synced       verify: table against rows
///
/// A row's bytes follow from its key and its generation, which rises with each
/// power cut: a row lost in a cut and a later row with the same key differ, so
/// stale bytes never look like new ones.
///
/// What a table must have after any number of cuts, and what
/// esk_model_series_verify checks:
///
///  1. Every row that sync acknowledged and that retention keeps, byte for
///     byte, with its variable value.
///  2. Of the rows after the last sync, a prefix in order. Rows that were read
///     after a cut count as synced; if the medium caches and its power stayed
///     on, only after the next sync.
///  3. Nothing else: no row that was never accepted, none twice, none out of
///     order, none below an acknowledged erase_before, none that an erase_after
///     dropped. An erase_after in a cut took effect or did not.
///  4. Every way to read gives the same rows: forward, backward, by value,
///     get, floor, ceiling, count; esk_series_check finds nothing wrong.
///
/// What retention keeps. A refusing table: everything. A table that drops:
/// with the head at position H of a ring of B blocks of P pages, of which
/// `bad` are bad, and with `ahead` blocks erased ahead by esk_volume_step,
///
///     every position from  roundup(H, P) + P * max(ahead, due) + P * bad
///                          - B * P  on
///
/// where `due` is 1 when H is the first position of a block and 0 otherwise: at
/// least B - 1 - ahead - bad blocks of the newest pages. The same for values,
/// in their own ring.
#ifndef ESK_TEST_MODEL_SERIES_H
#define ESK_TEST_MODEL_SERIES_H

#include "esker/esker.h"
#include "port/sim/sim.h"

enum {
    ESK_MODEL_SERIES_ROWS_MAX = 8192,
    ESK_MODEL_SERIES_ROW_BYTES_MAX = 1200,
    ESK_MODEL_SERIES_VALUE_BYTES_MAX = 16384,
    ESK_MODEL_SERIES_FLOORS_MAX = 8,    ///< failed erase_befores until a mount
    ESK_MODEL_SERIES_SORTED_BLOCKS = 3, ///< of a sorted index
    ESK_MODEL_SERIES_MERGED_BLOCKS = 4,
};

/// The table of a model: columns and options. Zero: plain.
struct esk_model_series_table {
    bool wide_key;    ///< an i64 key with negative values, else u32
    bool edges_given; ///< of the first index; else learned
    bool has_var;
    bool no_marks;    ///< the driver keeps no bad-block marks
    bool keys_repeat; ///< needs pad_bytes, so that such rows differ
    bool noise;       ///< keys and values do not pack
    bool packed;      ///< codec; its readers and cells: the next two
    uint8_t readers;
    uint16_t cell_bytes;
    uint8_t index_count; ///< 0, 1 (v: i32) or 2 (v, and w: i16)
    bool sorted;         ///< a sorted index of v, too
    uint8_t full_policy; ///< enum esk_full_policy
    uint8_t group_pages;
    uint8_t run_pages;
    uint8_t checksum;    ///< enum esk_checksum
    uint8_t erase_ahead; ///< of esk_series_config
    uint8_t sync_blocks; ///< of the data region
    uint16_t pad_bytes;  ///< width of a bytes column; 0: none
    uint16_t key_index_bytes;
    uint16_t value_bytes; ///< most bytes of an ordinary value
    uint32_t data_blocks; ///< when it is made: of the data ring
    uint32_t index_blocks;
    uint32_t var_blocks;
    const struct esk_series_parts *parts; ///< opened with; NULL: all
};

/// One row as it was accepted.
struct esk_model_series_row {
    int64_t key;
    uint32_t generation;
    uint32_t repeat;       ///< rows of its key before it
    uint32_t position;     ///< of its page, or one not above it
    uint32_t var_position; ///< of its value's first page, or one not above it
    int32_t v;
    int16_t w;
};

/// The expected contents of the table.
struct esk_model_series_expected {
    uint64_t random; ///< the workload's generator
    int64_t key_next;
    int64_t floor; ///< rows below are dropped
    /// The same, each of an erase_before that failed: a mount may find one.
    int64_t floors_maybe[ESK_MODEL_SERIES_FLOORS_MAX];
    uint32_t floors_maybe_count;
    uint32_t count;     ///< rows accepted
    uint32_t synced;    ///< of these, acknowledged by sync
    uint32_t placed;    ///< of these, in a page that is complete
    uint32_t sync_rows; ///< rows a sync, where the workload draws that
    uint32_t keep;      ///< positions from here on are retained
    uint32_t var_keep;
    uint32_t data_head; ///< before the present call
    uint32_t var_head;
    uint32_t generation;
    uint32_t ahead; ///< blocks that steps may have erased ahead
    uint32_t laps;  ///< of the data ring, so far
    bool has_floor;
    bool has_left; ///< an erase_after has not ended: its rows that stay are
    uint32_t left; ///< these
    bool crashed;  ///< since the last verify
    bool kept;     ///< that crash did not affect the medium's power and cache
    struct esk_model_series_row rows[ESK_MODEL_SERIES_ROWS_MAX];
};

struct esk_model_series {
    struct esk_sim *sim;             ///< NULL after esk_model_series_make_on
    const bool *on;                  ///< power, if there is no simulator
    const struct esk_device *device; ///< the simulator's, or one around it
    struct esk_device_ops ops_unmarked;
    struct esk_device device_unmarked;
    struct esk_model_series_table table;
    struct esk_volume volume;
    struct esk_series *series; ///< NULL while closed
    void *arena;
    uint32_t arena_bytes;
    uint8_t *page;
    uint8_t *value; ///< scratch for a value
    uint8_t *readback;
    uint32_t *found; ///< scratch: the rows that the last verify found
    uint32_t found_count;
    uint32_t seen;           ///< the model's rows up to the newest one read
    uint32_t optional;       ///< rows found outside the retention
    uint32_t values_damaged; ///< of rows whose values may be dropped
    uint32_t pages_passed;   ///< by the last scan, from its cursor
    bool has_gap;            ///< more than the invalid pages that were read
    struct esk_column columns[6];
    struct esk_index_spec indexes[3]; ///< the sorted one, if any, is last
    int32_t edges[7];
    uint8_t column_count;
    uint8_t key_column;
    uint8_t v_column;
    uint8_t w_column;
    uint8_t var_column;
    uint8_t pad_column;
    uint16_t row_bytes;
    uint32_t bad_blocks; ///< in the data region
    uint32_t var_bad_blocks;
    uint32_t data_block; ///< first block of the data region
    uint32_t index_block;
    uint32_t var_block;
    uint32_t index_blocks;
    uint32_t var_blocks;
    uint32_t sync_blocks;
    bool caches;  ///< a cut may lose programs since the last sync
    bool lenient; ///< pages may be damaged: rows may be missing, never wrong
    struct esk_model_series_expected *expected;
    char why[320]; ///< reason of the last failed call
};

/// All state of a model that a power cut or a call can change.
struct esk_model_series_save {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_series *series;
    void *arena;
    struct esk_model_series_expected *expected;
};

/// Makes a formatted volume with the table `log` on a simulator of `config`,
/// and opens it. Returns ESK_OK or the status of the call that failed.
int esk_model_series_make(struct esk_model_series *model,
                          const struct esk_model_series_table *table,
                          const struct esk_sim_config *config, uint64_t seed);

/// The same on any erased device of the caller: then model->sim is NULL, no
/// save can be made, and after a crash the caller turns on the power.
/// on    borrowed: whether the device has power.
int esk_model_series_make_on(struct esk_model_series *model,
                             const struct esk_model_series_table *table,
                             const struct esk_device *device, const bool *on,
                             uint64_t seed);

void esk_model_series_free(struct esk_model_series *model);

/// Makes room for a save of `model`; esk_model_series_save_free frees it.
void esk_model_series_save_make(struct esk_model_series_save *save,
                                const struct esk_model_series *model);
void esk_model_series_save_free(struct esk_model_series_save *save);

/// Copies the model's state to `save`, and back.
void esk_model_series_keep(struct esk_model_series_save *save,
                           const struct esk_model_series *model);
void esk_model_series_restore(struct esk_model_series *model,
                              const struct esk_model_series_save *save);

/// The next random number of the model's workload, below `bound`.
uint32_t esk_model_series_random(struct esk_model_series *model,
                                 uint32_t bound);

/// Appends the next row. As esk_series_append.
int esk_model_series_append(struct esk_model_series *model);

/// Appends `count` rows, or up to the first status that is not ESK_OK.
int esk_model_series_append_many(struct esk_model_series *model,
                                 uint32_t count);

int esk_model_series_sync(struct esk_model_series *model);

/// Does up to `budget` steps of the volume.
int esk_model_series_step(struct esk_model_series *model, uint16_t budget);

/// Erases the rows before about `eighths` in eight of all rows.
int esk_model_series_erase_before(struct esk_model_series *model,
                                  uint32_t eighths);

/// Erases the rows after about `eighths` in eight of the newest hundred.
int esk_model_series_erase_after(struct esk_model_series *model,
                                 uint32_t eighths);

/// Drops all RAM, as a power cut does, and turns on the power.
void esk_model_series_crash(struct esk_model_series *model);

/// Mounts and opens. Returns ESK_OK or what failed, with model->why.
int esk_model_series_recover(struct esk_model_series *model);

/// Checks the open table against the expected rows, then removes the rows that
/// it lost from the model. `full` reads in every way. False: model->why.
bool esk_model_series_verify(struct esk_model_series *model, bool full);

/// Writes the bytes of `row` into `bytes`, with a zero variable reference.
void esk_model_series_row_fill(const struct esk_model_series *model,
                               const struct esk_model_series_row *row,
                               uint8_t *bytes);

/// Writes the row's value into `bytes` and returns its length.
uint32_t esk_model_series_value_fill(const struct esk_model_series *model,
                                     const struct esk_model_series_row *row,
                                     uint8_t *bytes);

/// Whether `bytes` is a row of the model from row `from` on; its number goes
/// to `index`. Clears the variable reference in `bytes` first.
bool esk_model_series_row_find(const struct esk_model_series *model,
                               uint8_t *bytes, uint32_t from, uint32_t *index);

/// Records why a check failed; returns false.
__attribute__((format(printf, 2, 3))) bool
esk_model_series_fail(struct esk_model_series *model, const char *format, ...);

/// First position that is retained; see the head of this file.
uint32_t esk_model_series_retained(uint32_t head, uint32_t pages,
                                   uint32_t blocks, uint32_t ahead,
                                   uint32_t bad);

/// Records the positions of the rings' heads, before and after a call.
void esk_model_series_note_heads(struct esk_model_series *model);

#endif
