// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the parts of the damage campaign.
///
/// A *case* is a kind of table on a class of media. Its table is made and
/// filled once. A *trial* restores that medium, damages it, and then reads
/// everything, appends, syncs and opens again, a few times.
#ifndef ESK_DAMAGE_DAMAGE_H
#define ESK_DAMAGE_DAMAGE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "esker/esker.h"
#include "test/damage/medium.h"
#include "test/harness/arena.h"

enum {
    STAGES = 4, ///< opens after the damage; rows are added in all but the last
    CALLS_A_STAGE = 4000000,
};

enum finding {
    FINDING_WRONG,     ///< a row that nobody wrote, or an erased one
    FINDING_SILENT,    ///< synced rows are missing, unreported
    FINDING_SHORTER,   ///< the newest rows are missing as if never written
    FINDING_FORGOTTEN, ///< an earlier open reported a loss, this one does not
    FINDING_LATER,     ///< rows synced after the damage are missing
    FINDING_HIDDEN,    ///< rows of readable pages are missing
    FINDING_INDEX,     ///< two ways to read a row disagree, unreported
    FINDING_CONTRACT,  ///< a call breaks the device contract
    FINDING_STUCK,     ///< no change is accepted any more
    FINDING_HANG,
    FINDING_CRASH,
    FINDING_COUNT,
};

extern const char *const finding_names[FINDING_COUNT];

/// A kind of table and how it is used.
struct table_shape {
    const char *name;
    bool tree;
    bool kv;
    bool bare;         ///< kv: a store without a volume
    bool drops;        ///< series: drops its oldest block
    bool has_var;      ///< series: variable values
    bool has_indexes;  ///< series: value indexes
    bool sorted;       ///< series: a sorted index of values that are noise
    bool packed;       ///< series: its pages are packed
    uint8_t sync_rows; ///< series: rows a sync; 0: about 20, drawn
    bool no_keys;      ///< series: opened without the key index
    bool erases;       ///< series: rows below a floor are erased
    /// Series: newest rows are erased a few times, the last time when so many
    /// rows are left to append; 0: never.
    uint8_t break_rows;
    bool has_index;   ///< kv
    bool has_batches; ///< tree, kv
    bool has_cache;   ///< tree: a write cache
    bool merges;      ///< tree
    uint8_t store;    ///< tree: enum esk_tree_store
    uint32_t blocks;  ///< of rows; 0: the usual number. bare: of the medium
};

struct damage_case {
    const struct table_shape *shape;
    const struct medium_class *kind;
    uint32_t blocks; ///< of the medium
    uint32_t data_blocks;
    char name[64];
};

/// Result of a trial.
struct trial {
    uint32_t findings[FINDING_COUNT];
    char why[FINDING_COUNT][160];
    bool told;        ///< some call reported a loss
    char told_by[64]; ///< the first such call of this stage
    uint32_t missing; ///< rows, in the worst stage
    bool unopened;    ///< the table could not be opened any more
};

/// State of a row number (series), or of a key (tree, kv).
struct row_log {
    uint8_t state;     ///< series: enum row_state
    uint8_t stage;     ///< stage of the write; 0: before the damage
    bool told;         ///< it was missing when a loss was reported
    uint16_t version;  ///< tree, kv: of the last change tried
    uint16_t accepted; ///< tree, kv: of the last that returned ESK_OK
    uint16_t synced;   ///< tree, kv: of the last change synced
    uint32_t when;     ///< tree, kv: programs of the medium at that sync
};

/// A case's table, what was written to it, and the medium it is on.
struct table {
    const struct damage_case *of;
    struct medium *medium;
    struct medium *base; ///< before the damage
    struct esk_volume volume;
    uint8_t *page;
    void *arena;
    uint32_t rows;      ///< row numbers, or changes, so far
    uint32_t base_rows; ///< before the damage
    struct row_log *log;
    struct row_log *base_log;
    uint32_t log_bytes;
    uint32_t must_from[STAGES]; ///< series: first row that an undamaged table
                                ///< still has
    uint32_t *row_page;         ///< series: page of each row, in base
    uint32_t row_count;         ///< of row_page
    uint32_t region_first;      ///< tree, kv: first page of its region
    uint32_t region_pages;      ///< tree, kv: pages of that region
    uint32_t var_first;         ///< series: first page of the values' region
    uint32_t vars;              ///< pages of that region
    uint32_t damage_blocks;     ///< of this trial, the longest run
    bool verbose;
    jmp_buf hang;
};

/// The functions of a kind of table; each returns a status.
struct table_kind {
    int (*create)(struct table *table);
    int (*open)(struct table *table);
    int (*fill)(struct table *table);
    void (*close)(struct table *table);
};

/// Makes the table with a log of `rows` rows, fills and closes it, and stores
/// its state in `base` and `base_log`. False: it could not be made.
bool table_prepare(struct table *table, const struct table_kind *kind,
                   uint32_t rows);

/// Fills in the table, and the other state of its kind.
bool series_make(struct table *table);
bool tree_make(struct table *table);
bool kv_make(struct table *table);

/// Opens, reads everything, adds rows, syncs and closes; `stage` from 0.
/// Returns false when the trial cannot continue.
bool series_stage(struct table *table, int stage, struct trial *trial);
bool tree_stage(struct table *table, int stage, struct trial *trial);
bool kv_stage(struct table *table, int stage, struct trial *trial);

/// Records a finding; of each kind the first text is stored.
void found(struct trial *trial, enum finding finding, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/// Records that a loss was reported.
void told(struct trial *trial, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// Prints findings and reports of a table that is not damaged.
void trial_explain(const struct damage_case *of, const struct trial *trial);

#endif
