// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening a series by its name: reads its shape from the catalog.
#include <stddef.h>

#include "base/inline.h"
#include "table/series/series_open.h"
#include "volume/volume_format.h"

int esk_series_options(const struct esk_table_info *info,
                       struct esk_series_options *options) {
    ESK_ASSERT(info != NULL && options != NULL);
    /* Breaks do not fit into the stored part of the options. */
    options->has_breaks = info->options_bytes > sizeof info->options;
    uint16_t bytes = options->has_breaks ? (uint16_t)sizeof info->options
                                         : info->options_bytes;
    const uint8_t *own =
        esk_option_find(info->options, bytes, ESK_OPTION_SERIES, 4);
    const uint8_t *tail = esk_option_find(info->options, bytes, ESK_OPTION_TAIL,
                                          ESK_OPTION_TAIL_BYTES);
    if (own == NULL || tail == NULL || own[0] < 2) {
        return ESK_E_CORRUPT;
    }
    options->group_pages = own[0];
    options->run_pages = own[1];
    options->full_policy = own[2];
    options->keys_repeat = (own[3] & ESK_OPTION_KEYS_REPEAT) != 0;
    options->tail = esk_load_u32(tail + ESK_OPTION_TAIL_POSITION);
    options->floor_key = tail[ESK_OPTION_TAIL_FLAGS] != 0
                             ? esk_load_u64(tail + ESK_OPTION_TAIL_FLOOR_KEY)
                             : 0;
    return options->full_policy > ESK_FULL_REFUSE ||
                   own[3] > ESK_OPTION_KEYS_REPEAT ||
                   tail[ESK_OPTION_TAIL_FLAGS] > 1
               ? ESK_E_UNSUPPORTED
               : ESK_OK;
}

/// Reads all columns: the row's shape, and with value indexes each offset.
static int columns_take(struct esk_descriptor *descriptor,
                        const struct esk_table_info *info,
                        const struct esk_series_options *options,
                        struct esk_series_layout *layout,
                        struct esk_series_shape *shape) {
    if (info->column_count > ESK_COLUMN_COUNT_MAX ||
        info->index_count > ESK_INDEX_COUNT_MAX) {
        return ESK_E_CORRUPT;
    }
    memset(shape, 0, sizeof *shape);
    shape->row_bytes = info->row_bytes;
    shape->var_offset = ESK_SERIES_NO_VAR;
    shape->group_pages = options->group_pages;
    shape->run_pages = options->run_pages;
    shape->keys_repeat = options->keys_repeat;
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(descriptor, &column, NULL, NULL));
        if (esk_series_has_values(info)) {
            layout->offset[i] = column.offset;
            layout->type[i] = column.type;
            if ((column.flags & ESK_COLUMN_MISSING) != 0) {
                layout->type[i] |= ESK_SERIES_HAS_MISSING;
            }
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
/// descriptor  at its first column.
/// series   NULL: only the sizes of the value indexes; else also the indexed
///          columns and their edges.
static int layout_read(struct esk_descriptor *descriptor,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       const struct esk_series_options *options,
                       struct esk_series *series, uint8_t *edges,
                       struct esk_series_layout *layout,
                       struct esk_series_shape *shape) {
    if (parts->log != NULL &&
        (parts->keys == NULL || !parts->keys->is_spline)) {
        return ESK_E_UNSUPPORTED;
    }
    layout->entry_bytes = 0;
    layout->edges_bytes = 0;
    layout->steps_bytes = 0;
    layout->sorted_entries = 0;
    layout->summaries = 0;
    if (options->has_breaks && parts->breaks == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(columns_take(descriptor, info, options, layout, shape));
    if (info->index_count > 0) {
        if (parts->values == NULL || parts->log == NULL) {
            return ESK_E_UNSUPPORTED;
        }
        ESK_TRY(parts->values->columns(parts, series, descriptor, info, layout,
                                       edges));
    }
    shape->column_count = layout->summaries;
    shape->entry_bytes = layout->entry_bytes;
    return ESK_OK;
}

/// Carves what comes before the handle: of a packed table. Returns as the
/// part's carve.
static int pages_carve(struct esk_arena *arena, struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       struct esk_series_options *options,
                       const struct esk_series_config *config,
                       struct esk_series_memory *memory, uint8_t *page) {
    if (info->codec == ESK_CODEC_RAW) {
        return ESK_OK;
    }
    return parts->packed == NULL
               ? ESK_E_UNSUPPORTED
               : parts->packed->carve(arena, volume, parts, info, options,
                                      config, memory, page);
}

uint32_t esk_series_arena_bytes_with(struct esk_volume *volume,
                                     const struct esk_series_parts *parts,
                                     const struct esk_table_info *info,
                                     const struct esk_series_config *config) {
    ESK_ASSERT(parts != NULL && info != NULL);
    uint8_t *page = NULL;
    struct esk_arena arena = {.bytes = UINT32_MAX};
    struct esk_series_memory memory;
    struct esk_series_layout layout;
    struct esk_series_shape shape;
    struct esk_series_options options;
    struct esk_descriptor descriptor;
    if (esk_volume_page(volume, &page) != ESK_OK ||
        esk_series_options(info, &options) != ESK_OK ||
        esk_descriptor_open(&descriptor, volume, info, page) != ESK_OK ||
        layout_read(&descriptor, parts, info, &options, NULL, NULL, &layout,
                    &shape) != ESK_OK ||
        pages_carve(&arena, volume, parts, info, &options, config, &memory,
                    page) != ESK_OK) {
        return 0;
    }
    return esk_series_carve(&arena, volume, parts, info, &options, config,
                            &layout, &memory) == ESK_OK
               ? arena.used
               : 0;
}

/// Whether the catalog's values are possible, and this build supports the
/// table.
static int shape_check(const struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       const struct esk_series_shape *shape) {
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    bool has_var = shape->var_offset != ESK_SERIES_NO_VAR;
    bool has_sync = info->blocks[ESK_REGION_SYNC] > 0;
    if (shape->key_bytes > sizeof(esk_key) || (has_var && parts->var == NULL) ||
        (has_sync && parts->sync == NULL)) {
        return ESK_E_UNSUPPORTED;
    }
    return shape->key_bytes > 0 &&
                   info->row_bytes <= page_bytes - ESK_ENVELOPE_BYTES &&
                   (!has_var || info->blocks[ESK_REGION_VAR] > 0) &&
                   (parts->log == NULL || parts->log->fits(shape, page_bytes))
               ? ESK_OK
               : ESK_E_CORRUPT;
}

/// What an open has read about the table. Before the arena is carved this is at
/// the arena's end. Then the needed part is moved aside, and a layout stands
/// behind it. The layout's columns, which only a table with value indexes has,
/// may reach into the frames and the key index, which are still empty.
struct open_scratch {
    struct esk_series_options options;
    struct esk_table_info info;
    struct esk_series_layout layout;
};

enum {
    ASIDE_BYTES = offsetof(struct open_scratch, info) +
                  offsetof(struct esk_table_info, options),
    FRAME_BYTES = ESK_POOL_BYTES(ESK_PAGE_BYTES_MIN, 1, 1) - 8u,
};

_Static_assert(ASIDE_BYTES + offsetof(struct esk_series_layout, offset) <=
                       FRAME_BYTES &&
                   ASIDE_BYTES + sizeof(struct esk_series_layout) <=
                       ESK_PAGE_BYTES_MIN + FRAME_BYTES +
                           ESK_SERIES_KEY_INDEX_BYTES_MIN,
               "the layout fits into the frames and key index of any table");

ESK_APART int esk_series_open_with(struct esk_series **series,
                                   const struct esk_series_parts *parts,
                                   struct esk_volume *volume, const char *name,
                                   const struct esk_series_config *config) {
    ESK_ASSERT(series != NULL && parts != NULL);
    struct esk_arena carved;
    uint8_t *page = NULL;
    struct esk_series_memory memory;
    struct esk_series_shape shape;
    struct esk_descriptor columns;

    *series = NULL;
    parts = ESK_SHAPED_PARTS(&esk_shape_parts, parts);
    /* Any arena that is large enough for the table has room for it. */
    ESK_TRY(esk_volume_memory_read(volume, &carved, sizeof(struct open_scratch),
                                   &page));
    struct open_scratch *scratch =
        (void *)(page + esk_volume_geometry(volume)->page_bytes);
    ESK_TRY(esk_table_find(volume, name, ESK_TABLE_SERIES, &scratch->info,
                           &columns, page));
    ESK_TRY(esk_series_options(&scratch->info, &scratch->options));
    ESK_TRY(layout_read(&columns, parts, &scratch->info, &scratch->options,
                        NULL, NULL, &scratch->layout, &shape));
    ESK_TRY(shape_check(volume, parts, &scratch->info, &shape));
    ESK_TRY(pages_carve(&carved, volume, parts, &scratch->info,
                        &scratch->options, config, &memory, page));
    ESK_TRY(esk_series_carve(&carved, volume, parts, &scratch->info,
                             &scratch->options, config, &scratch->layout,
                             &memory));
    uint8_t *aside = memory.filled + memory.aside;
    esk_bytes_move(aside, scratch, ASIDE_BYTES);
    scratch = (void *)aside;
    struct esk_series_layout *layout = (void *)(aside + ASIDE_BYTES);
    esk_series_make(&carved, &memory, volume, parts, &scratch->info, &shape,
                    &scratch->options, config);
    int status = ESK_OK;
    if (esk_series_has_values(&scratch->info)) {
        status = esk_descriptor_open(&columns, volume, &scratch->info,
                                     memory.filled);
        if (status == ESK_OK) {
            status =
                layout_read(&columns, parts, &scratch->info, &scratch->options,
                            memory.series, memory.edges, layout, &shape);
        }
    }
    if (status == ESK_OK && scratch->info.codec != ESK_CODEC_RAW) {
        status =
            parts->packed->begin(&memory, &scratch->info, &scratch->options);
    }
    if (status == ESK_OK && scratch->options.has_breaks) {
        status =
            parts->breaks->open(memory.series, &scratch->info, memory.filled);
    }
    return esk_series_start(series, status, &memory, &scratch->info,
                            &scratch->options, config);
}
