// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the opens of a series, by name and by shape.
#ifndef ESK_TABLE_SERIES_SERIES_OPEN_H
#define ESK_TABLE_SERIES_SERIES_OPEN_H

#include "base/arena.h"
#include "table/series/series.h"

/// The parts of the arena, in order.
struct esk_series_memory {
    struct esk_series *series;
    struct esk_ring *var;
    struct esk_ring *journal;
    struct esk_series_break_list *breaks;
    uint8_t *packing;     ///< of a packed table alone
    uint16_t state_bytes; ///< packed: of a writer's or reader's fields
    uint8_t field_count;  ///< packed
    uint8_t readers;
    uint8_t frames;
    uint8_t *filled; ///< pages that are being filled: rows, runs, values
    uint8_t *pool;
    uint16_t aside; ///< offset in `filled`: scratch until a page is pinned
    void *knots;
    struct esk_summary_column *columns;
    uint8_t *group;
    uint8_t *edges;
    uint8_t *entry; ///< packed: struct esk_series_packing's
};

enum {
    ESK_SERIES_KEY_INDEX_BYTES_MIN = 48, ///< as struct esk_series_config
};

/* What a table has, of the parts that all series of the program have: without
   the part an open refuses it. */

static inline bool esk_series_has_var(const struct esk_table_info *info) {
    return ESK_SHAPED_PARTS(esk_shape_parts.var != NULL, true) &&
           info->blocks[ESK_REGION_VAR] > 0;
}

static inline bool esk_series_has_sync(const struct esk_table_info *info) {
    return ESK_SHAPED_PARTS(esk_shape_parts.sync != NULL, true) &&
           info->blocks[ESK_REGION_SYNC] > 0;
}

static inline bool esk_series_has_values(const struct esk_table_info *info) {
    return ESK_SHAPED_PARTS(esk_shape_parts.values != NULL, true) &&
           info->index_count > 0;
}

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

/// Makes the handle, one of the volume's tables from now on, without frames,
/// rings, value indexes and breaks.
/// arena    that the handle was carved from.
void esk_series_make(const struct esk_arena *arena,
                     const struct esk_series_memory *memory,
                     struct esk_volume *volume,
                     const struct esk_series_parts *parts,
                     const struct esk_table_info *info,
                     const struct esk_series_shape *shape,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config);

/// Adds frames and mounts the handle; closes it on failure.
/// series   out; NULL unless ESK_OK.
/// status   of the steps before: on failure the handle is closed.
/// info, options  may be in memory->aside.
/// Returns  `status`; ESK_E_IO.
int esk_series_start(struct esk_series **series, int status,
                     const struct esk_series_memory *memory,
                     const struct esk_table_info *info,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config);

/// Mounts `ring` on the region of role `role`.
/// config   in, out: all but the region is set; its blocks are set.
/// page     scratch.
/// Returns  as esk_ring_mount; ESK_E_CORRUPT when the region cannot be a ring.
int esk_series_ring_mount(struct esk_series *series, struct esk_ring *ring,
                          struct esk_ring_config *config,
                          const struct esk_table_info *info, uint8_t role,
                          uint8_t *page);

/* series_breaks.c */

/// Makes a list without breaks.
void esk_series_breaks_init(struct esk_series_break_list *list);

/// Moves the tail of the data ring out of a break, which holds nothing.
void esk_series_breaks_trim(struct esk_series *series);

/// Decodes the breaks in the `bytes` bytes of `option`, for a table with rows
/// of `row_bytes` bytes. Returns ESK_OK; ESK_E_CORRUPT.
int esk_series_breaks_load(const uint8_t *option, uint16_t bytes,
                           uint16_t row_bytes,
                           struct esk_series_break_list *list);

/* series_break.c */

/// Programs the write page, and its index entries in RAM.
int esk_series_break_begin(struct esk_series *series);

/// Breaks the log off: drops the rows from `end` on, and of the page before
/// `end` those from number `count` on. With `spec` also adds columns. To be
/// called after esk_series_break_begin.
/// ordinal  of the next row.
/// row      as for esk_series_add_columns.
/// Returns  ESK_OK; ESK_E_LIMIT; as esk_catalog_alter.
int esk_series_break(struct esk_series *series, uint32_t end, uint16_t count,
                     uint32_t ordinal, const struct esk_table_spec *spec,
                     const uint8_t *row);

#endif
