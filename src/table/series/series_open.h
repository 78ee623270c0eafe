// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What opening a series by its name and attaching one by its shape share.
#ifndef ESK_TABLE_SERIES_SERIES_OPEN_H
#define ESK_TABLE_SERIES_SERIES_OPEN_H

#include "base/arena.h"
#include "table/series/series.h"

/// What the arena is carved into, in order.
struct esk_series_memory {
    struct esk_series *series;
    struct esk_ring *var;
    struct esk_ring *journal;
    struct esk_series_break_list *breaks;
    uint8_t *row;    ///< as struct esk_series
    uint8_t *filled; ///< pages being filled: of rows, runs, values
    uint8_t *pool;
    uint16_t aside; ///< from `filled` on: scratch until a page is pinned
    void *knots;
    struct esk_summary_column *columns;
    uint8_t *group;
    uint8_t *edges;
};

/// Carves the arena.
/// Returns  ESK_OK; ESK_E_INVALID when `config` is out of range;
///          ESK_E_NO_MEMORY.
int esk_series_carve(struct esk_arena *arena, struct esk_volume *volume,
                     const struct esk_series_parts *parts,
                     const struct esk_table_info *info,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config,
                     const struct esk_series_layout *layout,
                     struct esk_series_memory *memory);

/// Makes the handle, without frames, rings, value indexes and breaks: a table
/// of the volume from now on.
/// arena    what it was carved from.
void esk_series_make(const struct esk_arena *arena,
                     const struct esk_series_memory *memory,
                     struct esk_volume *volume,
                     const struct esk_series_parts *parts,
                     const struct esk_table_info *info,
                     const struct esk_series_shape *shape,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config);

/// Gives it frames and mounts it; a handle that cannot be mounted is closed.
/// series   out; NULL unless ESK_OK.
/// status   of what was done with it before: it is closed if that failed.
/// info, options  may stand there, in memory->aside.
/// Returns  `status`; ESK_E_IO.
int esk_series_start(struct esk_series **series, int status,
                     const struct esk_series_memory *memory,
                     const struct esk_table_info *info,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config);

/* series_breaks.c */

/// Reads the breaks that the `bytes` bytes of `option` are, of a table whose
/// rows have `row_bytes` bytes. Returns ESK_OK; ESK_E_CORRUPT.
int esk_series_breaks_load(const uint8_t *option, uint16_t bytes,
                           uint16_t row_bytes,
                           struct esk_series_break_list *list);

/* series_break.c */

/// Programs the write page, and what RAM has of the index of it.
int esk_series_break_begin(struct esk_series *series);

/// Breaks the log off: rows from `end` on, and of the page before it those from
/// number `count` on, are dropped. With `spec` columns are added as well.
/// After esk_series_break_begin.
/// ordinal  of the next row.
/// row      as for esk_series_add_columns.
/// Returns  ESK_OK; ESK_E_LIMIT; as esk_catalog_alter.
int esk_series_break(struct esk_series *series, uint32_t end, uint16_t count,
                     uint32_t ordinal, const struct esk_table_spec *spec,
                     const uint8_t *row);

#endif
