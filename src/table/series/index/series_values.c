// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The value indexes as a part: the indexed columns, and the entries of a run's
/// pages and of a group's runs.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"
#include "volume/schema_plan.h"

/// The type of column `number`.
static uint8_t type_of(const struct esk_series_layout *layout, uint8_t number) {
    return layout->type[number] & (uint8_t)~ESK_SERIES_HAS_MISSING;
}

static uint32_t columns_bytes(const struct esk_table_info *info) {
    return info->index_count * (uint32_t)sizeof(struct esk_summary_column);
}

/// Reads an index's edges and converts them to order form at `edges`.
static int edges_take(struct esk_descriptor *descriptor, uint8_t type,
                      uint8_t count, uint8_t *edges) {
    uint8_t width = esk_order_width(type);
    for (uint8_t i = 0; i < count; i++) {
        uint8_t wide[8];
        ESK_TRY(esk_descriptor_edges(descriptor, wide, width));
        esk_store_u64(wide, esk_order_load(type, wide));
        memcpy(edges + (uint16_t)i * width, wide, width);
    }
    return ESK_OK;
}

/// Adds column `spec` as indexed column `index`; its edges go to `edges`.
static int column_take(struct esk_series *series, uint8_t index,
                       struct esk_descriptor *descriptor,
                       const struct esk_index_spec *spec,
                       const struct esk_series_layout *layout, uint8_t *edges) {
    struct esk_summary_column *column = &series->columns[index];
    series->column_numbers[index] = spec->column;
    column->offset = layout->offset[spec->column];
    column->type = type_of(layout, spec->column);
    column->width = esk_order_width(column->type);
    column->bitmap_bits = esk_bitmap_stored(spec->bitmap_bits);
    column->edge_count = spec->edge_count;
    column->has_missing =
        (layout->type[spec->column] & ESK_SERIES_HAS_MISSING) != 0;
    column->edges = spec->edge_count > 0 ? edges : NULL;
    return edges_take(descriptor, column->type, spec->edge_count, edges);
}

/// Notes the sorted index `spec`; with `series` makes it, where indexes_carve
/// has carved it.
static void sorted_take(struct esk_series *series,
                        const struct esk_table_info *info,
                        const struct esk_index_spec *spec,
                        struct esk_series_layout *layout) {
    layout->sorted_entries = spec->entries;
    layout->sorted_fan = spec->fan;
    if (series != NULL) {
        struct esk_arena arena = {.start = (uint8_t *)series->columns};
        uint16_t page_bytes =
            esk_volume_geometry(series->table.volume)->page_bytes;
        (void)esk_arena_take(&arena, columns_bytes(info));
        series->sorting =
            esk_parts(series)->sorted->carve(&arena, layout, page_bytes, true);
        series->sorting->index.owner = series;
        series->sorting->offset = layout->offset[spec->column];
        series->sorting->type = type_of(layout, spec->column);
        series->sorting->width = esk_order_width(series->sorting->type);
    }
}

/// Reads the edges of the summary `spec`, indexed column number `index`.
static int summary_take(struct esk_series *series, uint8_t index,
                        struct esk_descriptor *descriptor,
                        const struct esk_index_spec *spec,
                        struct esk_series_layout *layout, uint8_t *edges) {
    uint8_t width = esk_order_width(type_of(layout, spec->column));
    uint16_t bytes = (uint16_t)(spec->edge_count * width);
    uint8_t bits = esk_bitmap_stored(spec->bitmap_bits);
    if (series == NULL) {
        ESK_TRY(esk_descriptor_edges(descriptor, NULL, bytes));
    } else {
        ESK_TRY(column_take(series, index, descriptor, spec, layout,
                            edges + layout->edges_bytes));
    }
    layout->edges_bytes = (uint16_t)(layout->edges_bytes + bytes);
    layout->entry_bytes =
        (uint16_t)(layout->entry_bytes + 2u * width + bits / 8u);
    layout->steps_bytes =
        (uint16_t)(layout->steps_bytes +
                   esk_summary_steps_bytes(bits,
                                           bits > 0 && spec->edge_count == 0));
    return ESK_OK;
}

static int columns_read(const struct esk_series_parts *parts,
                        struct esk_series *series,
                        struct esk_descriptor *descriptor,
                        const struct esk_table_info *info,
                        struct esk_series_layout *layout, uint8_t *edges) {
    for (uint8_t i = 0; i < info->index_count; i++) {
        struct esk_index_spec spec;
        ESK_TRY(esk_descriptor_index(descriptor, &spec));
        bool again = spec.kind == ESK_INDEX_SORTED && /* a table has one */
                     layout->sorted_entries != 0;
        if (spec.column >= info->column_count || again ||
            !esk_index_is_sound(&spec, type_of(layout, spec.column))) {
            return ESK_E_CORRUPT;
        }
        if (spec.kind != ESK_INDEX_SORTED) {
            ESK_TRY(summary_take(series, layout->summaries, descriptor, &spec,
                                 layout, edges));
            layout->summaries++;
        } else if (parts->sorted == NULL) {
            return ESK_E_UNSUPPORTED;
        } else {
            sorted_take(series, info, &spec, layout);
        }
    }
    return ESK_OK;
}

static void entry_set(struct esk_series *series, uint8_t *page, bool any) {
    const struct esk_summary_column *columns = series->columns;
    uint8_t count = esk_shape(series)->column_count;
    uint8_t *entry =
        series->log.zone_page + ESK_INDEX_ZONE_BODY +
        (uint16_t)(series->log.run_count * esk_shape(series)->entry_bytes);
    if (page != NULL && esk_packed(series) != NULL) {
        esk_packed(series)->fold(series, page, entry);
    } else if (page != NULL) {
        esk_summary_fold(columns, count, entry, esk_rows_at(series, page, 0),
                         esk_page_count(page), esk_rows_width(series, page));
    } else if (any) {
        esk_summary_widen(columns, count, entry);
    } else {
        esk_summary_clear(columns, count, entry);
    }
    if (!series->log.is_joined) {
        series->log.is_joined = true;
        esk_summary_clear(columns, count, series->log.group);
    }
    esk_summary_merge(columns, count, series->log.group, entry, 1, 0);
}

static void group_note(struct esk_series *series, uint32_t position,
                       const uint8_t *entries, uint16_t count, bool any) {
    struct esk_series_index_log *log = &series->log;
    uint8_t slot = esk_series_group_slot(series, position);
    uint16_t bytes = esk_shape(series)->entry_bytes;
    uint8_t columns = esk_shape(series)->column_count;
    uint8_t last = (uint8_t)(esk_shape(series)->group_pages - 1);
    uint8_t *entry = log->group;

    if (position - slot != log->group_first) {
        log->group_first = position - slot;
        log->group_count = 0;
    }
    while (log->group_count <= slot && log->group_count < last) {
        log->group_count++;
        entry = log->group + (uint16_t)(log->group_count * bytes);
        esk_summary_clear(series->columns, columns, entry);
    }
    if (slot == last) {
        return;
    }
    ESK_ASSERT(entry == log->group + (uint16_t)((slot + 1u) * bytes));
    if (count > 0) {
        esk_summary_merge(series->columns, columns, entry, entries, count,
                          bytes);
    }
    if (any) {
        esk_summary_widen(series->columns, columns, entry);
    }
}

static bool entry_admits(const struct esk_series *series, const uint8_t *entry,
                         uint8_t index, uint64_t order) {
    struct esk_summary_range range = {.index = index, .lo = order, .hi = order};
    return esk_summary_matches(series->columns, entry, 0, 1, &range) != 0;
}

static void indexes_carve(struct esk_arena *arena,
                          const struct esk_series_parts *parts,
                          uint16_t page_bytes,
                          const struct esk_table_info *info,
                          const struct esk_series_options *options,
                          const struct esk_series_layout *layout,
                          struct esk_series_memory *memory) {
    memory->columns = esk_arena_take(arena, columns_bytes(info));
    if (layout->sorted_entries > 0) {
        (void)parts->sorted->carve(arena, layout, page_bytes, false);
    }
    memory->group = esk_arena_take(arena, (uint32_t)options->group_pages *
                                              layout->entry_bytes);
    memory->edges = esk_arena_take(arena, layout->edges_bytes);
    if (info->codec == ESK_CODEC_PACKED) {
        memory->entry = esk_arena_take(arena, (uint32_t)layout->entry_bytes +
                                                  layout->steps_bytes);
    }
}

const struct esk_series_values esk_series_part_values = {
    .carve = indexes_carve,
    .columns = columns_read,
    .entry = entry_set,
    .group = group_note,
    .admits = entry_admits,
    .forward = esk_series_plan_forward,
    .backward = esk_series_plan_backward,
};
