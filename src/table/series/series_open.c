// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a series by its name: its shape, read from the catalog.
#include "table/series/series_open.h"
#include "base/inline.h"

/// Takes all columns: the row's shape, and with value indexes where each is.
static int columns_take(struct esk_descriptor *descriptor,
                        const struct esk_table_info *info,
                        struct esk_series_layout *layout,
                        struct esk_series_shape *shape) {
    if (info->column_count > ESK_COLUMN_COUNT_MAX ||
        info->index_count > ESK_INDEX_COUNT_MAX || info->group_pages < 2) {
        return ESK_E_CORRUPT;
    }
    memset(shape, 0, sizeof *shape);
    shape->row_bytes = info->row_bytes;
    shape->var_offset = ESK_SERIES_NO_VAR;
    shape->column_count = info->index_count;
    shape->group_pages = info->group_pages;
    shape->run_pages = info->run_pages;
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(descriptor, &column, NULL, NULL));
        if (info->index_count > 0) {
            layout->offset[i] = column.offset;
            layout->type[i] = column.type;
        }
        if (column.type == ESK_TYPE_VAR) {
            shape->var_offset = column.offset;
        }
        if (i == info->key_column) {
            shape->key_offset = column.offset;
            shape->key_type = column.type;
            shape->key_bytes = esk_order_width(column.type);
        }
    }
    return descriptor->row_offset == info->row_bytes ? ESK_OK : ESK_E_CORRUPT;
}

/// Reads the table's columns and value indexes, in one pass.
/// series   NULL: of the value indexes only the sizes are found; else the
///          indexed columns are filled in, and their edges.
static int layout_read(struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       struct esk_series *series, uint8_t *edges,
                       struct esk_series_layout *layout,
                       struct esk_series_shape *shape, uint8_t *page) {
    struct esk_descriptor descriptor;
    if (parts->log != NULL &&
        (parts->keys == NULL || !parts->keys->is_spline)) {
        return ESK_E_UNSUPPORTED;
    }
    layout->entry_bytes = 0;
    layout->edges_bytes = 0;
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    ESK_TRY(columns_take(&descriptor, info, layout, shape));
    if (info->index_count > 0) {
        if (parts->values == NULL || parts->log == NULL) {
            return ESK_E_UNSUPPORTED;
        }
        ESK_TRY(
            parts->values->columns(series, &descriptor, info, layout, edges));
    }
    shape->entry_bytes = layout->entry_bytes;
    return ESK_OK;
}

uint32_t esk_series_arena_bytes_with(struct esk_volume *volume,
                                     const struct esk_series_parts *parts,
                                     const struct esk_table_info *info,
                                     const struct esk_series_config *config,
                                     uint8_t *page) {
    struct esk_arena arena = {.next = NULL};
    struct esk_series_memory memory;
    struct esk_series_layout layout;
    struct esk_series_shape shape;
    if (layout_read(volume, parts, info, NULL, NULL, &layout, &shape, page) !=
        ESK_OK) {
        return 0;
    }
    return esk_series_carve(&arena, volume, parts, info, config, &layout,
                            &memory);
}

/// Whether a run page has room for an entry and two knots, and a group page
/// for its entries and two knots.
static bool index_pages_fit(const struct esk_series_shape *shape,
                            uint16_t page_bytes) {
    uint32_t knots = 2u * ESK_SPLINE_SECTION_ENTRY_BYTES(shape->key_bytes);
    uint32_t entries = (shape->group_pages - 1u) * shape->entry_bytes;
    return shape->run_pages > 0 && shape->group_pages <= 64 &&
           ESK_INDEX_RUN_BODY + shape->entry_bytes + knots <= page_bytes &&
           ESK_INDEX_TILE_BODY + entries + knots <= page_bytes;
}

/// Whether `blocks` blocks from `block` on are a ring's on the device.
static bool region_fits(const struct esk_volume *volume, uint32_t block,
                        uint32_t blocks) {
    uint32_t count = esk_volume_geometry(volume)->block_count;
    return blocks >= 2 && block < count && blocks <= count - block;
}

/// Whether the catalog's words make sense, and this build can serve the table.
static int shape_check(const struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       const struct esk_series_shape *shape) {
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    uint32_t blocks = info->blocks[ESK_REGION_DATA];
    bool has_var = shape->var_offset != ESK_SERIES_NO_VAR;
    bool unserved = shape->key_bytes > sizeof(esk_key) ||
                    (has_var && parts->var == NULL) ||
                    (info->sync_blocks > 0 && parts->sync == NULL);
    bool sound = shape->key_bytes > 0 &&
                 info->row_bytes <= page_bytes - ESK_ENVELOPE_BYTES &&
                 index_pages_fit(shape, page_bytes) &&
                 blocks > info->sync_blocks && info->sync_blocks != 1 &&
                 blocks - info->sync_blocks >= 2 &&
                 region_fits(volume, info->block[ESK_REGION_DATA], blocks) &&
                 (parts->log == NULL ||
                  region_fits(volume, info->block[ESK_REGION_INDEX],
                              info->blocks[ESK_REGION_INDEX])) &&
                 (!has_var || region_fits(volume, info->block[ESK_REGION_VAR],
                                          info->blocks[ESK_REGION_VAR]));
    return unserved ? ESK_E_UNSUPPORTED : sound ? ESK_OK : ESK_E_CORRUPT;
}

/// What an open knows of the table. Until the arena is carved it stands there,
/// after a page of scratch; then aside. The layout's columns, which only a
/// table with value indexes has, may reach into the frames and the key index,
/// which are empty yet.
struct open_scratch {
    struct esk_table_info info;
    struct esk_series_layout layout;
};

int esk_series_open_with(struct esk_series **series,
                         const struct esk_series_parts *parts,
                         struct esk_volume *volume, const char *name,
                         const struct esk_series_config *config, void *arena,
                         uint32_t arena_bytes) {
    struct esk_arena carved = {.next = arena, .bytes = arena_bytes};
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    struct open_scratch *scratch = (void *)(carved.next + page_bytes);
    struct esk_series_memory memory;
    struct esk_series_shape shape;

    /* Any arena that is large enough has room for both. */
    if (arena_bytes < page_bytes + sizeof *scratch) {
        return ESK_E_NO_MEMORY;
    }
    if (!esk_arena_is_aligned(arena)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_table_find(volume, name, &scratch->info, arena, arena_bytes));
    if (scratch->info.kind != ESK_TABLE_SERIES) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(layout_read(volume, parts, &scratch->info, NULL, NULL,
                        &scratch->layout, &shape, arena));
    ESK_TRY(shape_check(volume, parts, &scratch->info, &shape));
    esk_series_carve(&carved, volume, parts, &scratch->info, config,
                     &scratch->layout, &memory);
    if (carved.next == NULL) {
        return ESK_E_NO_MEMORY;
    }
    scratch =
        memmove(memory.filled + memory.aside, scratch, sizeof scratch->info);
    esk_series_make(&memory, volume, parts, &scratch->info, &shape, config);
    if (shape.column_count > 0) {
        ESK_TRY(layout_read(volume, parts, &scratch->info, memory.series,
                            memory.edges, &scratch->layout, &shape,
                            memory.filled));
    }
    return esk_series_start(series, &memory, &scratch->info, config);
}
