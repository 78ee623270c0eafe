// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening and closing, and what is asked of an open series without reading
/// its rows.
#include "table/series/series.h"

#include <stddef.h>

#include "base/arena.h"
#include "base/inline.h"

enum {
    KEY_INDEX_BYTES_DEFAULT = 256,
    KEY_INDEX_BYTES_MIN = 48,
    ERASE_AHEAD_MAX = 8,
    REGION_DATA = 0,
    REGION_INDEX = 1,
    REGION_VAR = 2,
};

_Static_assert(sizeof(struct esk_series) <= ESK_SERIES_STATE_BYTES,
               "ESK_SERIES_STATE_BYTES is what callers size arenas with");

struct page_source {
    const struct esk_ring *ring;
    uint32_t position;
    bool verify;
};

static int page_load(void *context, uint32_t tag, uint8_t *page) {
    const struct page_source *source = context;
    (void)tag;
    return esk_ring_read(source->ring, source->position, page, source->verify);
}

int esk_series_pin(struct esk_series *series, const struct esk_ring *ring,
                   uint32_t position, uint8_t **page, uint8_t *frame) {
    struct page_source source = {
        .ring = ring,
        .position = position,
        .verify = (series->volume->flags & ESK_MOUNT_TRUST_LOADS) == 0,
    };
    if (position < ring->tail || position >= ring->head) {
        return ESK_NOT_FOUND;
    }
    uint32_t tag = esk_ring_page(ring, position);
    ESK_TRY(
        esk_pool_pin(&series->pool, tag, 0, page_load, &source, page, frame));
    if (esk_ring_owns(ring, *page, position)) {
        return ESK_OK;
    }
    esk_pool_unpin(&series->pool, *frame);
    esk_pool_forget(&series->pool, tag);
    return esk_pool_pin(&series->pool, tag, 0, page_load, &source, page, frame);
}

int esk_series_order(struct esk_series *series, uint8_t after, uint8_t next) {
    if ((series->dirty & after) != 0 &&
        esk_region_overwrites(&series->data.region)) {
        ESK_TRY(esk_region_sync(&series->data.region));
        series->dirty = 0;
    }
    series->dirty = (uint8_t)(series->dirty | next);
    return ESK_OK;
}

uint8_t esk_series_frames_min(const struct esk_table_info *info) {
    return (uint8_t)(2 + (info->index_count > 0 ? 1 : 0) +
                     (info->blocks[REGION_VAR] > 0 ? 1 : 0));
}

static uint16_t key_index_bytes(const struct esk_series_config *config) {
    if (config == NULL || config->key_index_bytes == 0) {
        return KEY_INDEX_BYTES_DEFAULT;
    }
    return config->key_index_bytes < KEY_INDEX_BYTES_MIN
               ? KEY_INDEX_BYTES_MIN
               : config->key_index_bytes;
}

static uint8_t frames(const struct esk_table_info *info,
                      const struct esk_series_config *config) {
    uint8_t least = esk_series_frames_min(info);
    return config == NULL || config->frames < least ? least : config->frames;
}

/// What esk_series_open carves, in order.
struct series_memory {
    struct esk_series *series;
    struct esk_ring *var;
    struct esk_ring *journal;
    uint8_t *pool;
    void *knots;
    struct esk_summary_column *columns;
    uint8_t *group;
    uint8_t *edges;
};

/// Bytes of a handle with these parts.
static uint16_t state_bytes(const struct esk_series_parts *parts) {
    return parts->log != NULL    ? sizeof(struct esk_series)
           : parts->keys != NULL ? offsetof(struct esk_series, log)
                                 : offsetof(struct esk_series, spline);
}

static uint32_t memory_carve(struct esk_arena *arena, struct esk_volume *volume,
                             const struct esk_series_parts *parts,
                             const struct esk_table_info *info,
                             const struct esk_series_config *config,
                             const struct esk_series_layout *layout,
                             struct series_memory *memory) {
    uint16_t page_bytes = volume->device->geometry.page_bytes;
    memory->series = esk_arena_take(arena, state_bytes(parts));
    memory->var = esk_arena_take(
        arena, info->blocks[REGION_VAR] > 0 ? sizeof *memory->var : 0);
    memory->journal = esk_arena_take(
        arena, info->sync_blocks > 0 ? sizeof *memory->journal : 0);
    memory->pool = esk_arena_take(
        arena, ESK_POOL_BYTES(page_bytes, frames(info, config), 1));
    memory->knots = esk_arena_take(
        arena, parts->keys != NULL ? key_index_bytes(config) : 0);
    memory->columns = esk_arena_take(
        arena, (uint32_t)(info->index_count * sizeof *memory->columns));
    memory->group = esk_arena_take(arena, (uint32_t)(info->group_pages - 1u) *
                                              layout->entry_bytes);
    memory->edges = esk_arena_take(arena, layout->edges_bytes);
    return arena->used;
}

/// Takes all columns. The row's layout goes to `layout` and, when it is not
/// NULL, to `series`.
static int columns_take(struct esk_descriptor *descriptor,
                        const struct esk_table_info *info,
                        struct esk_series_layout *layout,
                        struct esk_series *series) {
    if (info->column_count > ESK_COLUMN_COUNT_MAX ||
        info->index_count > ESK_INDEX_COUNT_MAX || info->group_pages < 2) {
        return ESK_E_CORRUPT;
    }
    for (uint8_t i = 0; i < info->column_count; i++) {
        struct esk_column_place column;
        ESK_TRY(esk_descriptor_column(descriptor, &column, NULL, NULL));
        if (info->index_count > 0) {
            layout->offset[i] = column.offset;
            layout->type[i] = column.type;
        }
        if (series != NULL && column.type == ESK_TYPE_VAR) {
            series->var_offset = column.offset;
        }
        if (series != NULL && i == info->key_column) {
            series->key_offset = column.offset;
            series->key_type = column.type;
            series->key_bytes = esk_order_width(column.type);
        }
    }
    return descriptor->row_offset == info->row_bytes ? ESK_OK : ESK_E_CORRUPT;
}

/// Reads the table's columns and value indexes, in one pass. With `series`
/// NULL only the sizes are found; else the layout, the indexed columns and
/// their edges are filled in.
static int layout_read(struct esk_volume *volume,
                       const struct esk_series_parts *parts,
                       const struct esk_table_info *info,
                       struct esk_series *series, uint8_t *edges,
                       struct esk_series_layout *layout, uint8_t *page) {
    struct esk_descriptor descriptor;
    if (parts->log != NULL && parts->keys == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    layout->entry_bytes = 0;
    layout->edges_bytes = 0;
    ESK_TRY(esk_descriptor_open(&descriptor, volume, info, page));
    ESK_TRY(columns_take(&descriptor, info, layout, series));
    if (info->index_count == 0) {
        return ESK_OK;
    }
    if (parts->values == NULL || parts->log == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    return parts->values->columns(series, &descriptor, info, layout, edges);
}

uint32_t esk_series_arena_bytes_with(struct esk_volume *volume,
                                     const struct esk_series_parts *parts,
                                     const struct esk_table_info *info,
                                     const struct esk_series_config *config,
                                     uint8_t *page) {
    struct esk_arena arena = {.next = NULL};
    struct series_memory memory;
    struct esk_series_layout layout;
    if (layout_read(volume, parts, info, NULL, NULL, &layout, page) != ESK_OK) {
        return 0;
    }
    return memory_carve(&arena, volume, parts, info, config, &layout, &memory);
}

/// Whether a run page has room for an entry and two knots, and a group page
/// for its entries and two knots.
static bool index_pages_fit(const struct esk_series *series,
                            const struct esk_table_info *info) {
    uint32_t page_bytes = series->volume->device->geometry.page_bytes;
    uint32_t knots = 2u * esk_series_knot_bytes(series);
    uint32_t entries = (info->group_pages - 1u) * series->entry_bytes;
    return info->run_pages > 0 && info->group_pages <= 64 &&
           ESK_INDEX_RUN_BODY + series->entry_bytes + knots <= page_bytes &&
           ESK_INDEX_TILE_BODY + entries + knots <= page_bytes;
}

/// Whether this build can serve the table as it was read.
static int layout_check(const struct esk_series *series,
                        const struct esk_table_info *info) {
    uint16_t page_bytes = series->volume->device->geometry.page_bytes;
    bool has_var = series->var_offset != ESK_SERIES_NO_VAR;
    bool no_var = has_var && series->parts->var == NULL;
    bool no_sync = info->sync_blocks > 0 && series->parts->sync == NULL;
    bool unserved = series->key_bytes > sizeof(esk_key) || no_var || no_sync;
    if (unserved || series->key_bytes == 0 ||
        (has_var && info->blocks[REGION_VAR] == 0) ||
        info->row_bytes > page_bytes - ESK_ENVELOPE_BYTES ||
        !index_pages_fit(series, info)) {
        return unserved ? ESK_E_UNSUPPORTED : ESK_E_CORRUPT;
    }
    return ESK_OK;
}

/// Where a ring's pages are, and what they are.
struct ring_place {
    uint32_t block;
    uint32_t blocks;
    uint16_t unit;
    uint8_t kind;
};

static int ring_mount(struct esk_series *series, struct esk_ring *ring,
                      const struct esk_table_info *info,
                      const struct ring_place *place, uint8_t ahead,
                      uint8_t *page) {
    bool index = place->kind == ESK_PAGE_INDEX;
    struct esk_ring_config config = {
        .block = place->block,
        .blocks = place->blocks,
        .seed = info->seed,
        .tail_hint = place->kind == ESK_PAGE_DATA ? info->tail_hint : 0,
        .unit = place->unit,
        .kind = place->kind,
        .table = info->id,
        .ahead = ahead,
        .refuse = place->kind == ESK_PAGE_SYNC ||
                  (!index && info->full_policy == ESK_FULL_REFUSE),
    };
    uint32_t count = series->volume->device->geometry.block_count;
    if (config.blocks < 2 || config.block >= count ||
        config.blocks > count - config.block) {
        return ESK_E_CORRUPT;
    }
    return esk_ring_mount(ring, series->volume, &config, &series->stats, page);
}

static void unread_set(struct esk_series *series, uint32_t pages) {
    series->unread = (uint8_t)(pages < UINT8_MAX ? pages : UINT8_MAX);
}

/// Finds the newest row on the medium: its key and ordinal; and how many pages
/// behind it hold bytes that are not valid, one that is valid in part included.
/// end      out: the position behind its page; the ring's tail without one.
/// Returns ESK_OK; ESK_E_IO.
static int newest_find(struct esk_series *series, uint32_t *end) {
    uint32_t partial = series->stats.partial;
    uint32_t unread = 0;
    *end = series->data.tail;
    for (uint32_t at = series->data.head; at > series->data.tail; at--) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status =
            esk_series_pin(series, &series->data, at - 1, &page, &frame);
        if (status == ESK_E_IO) {
            return status;
        }
        unread += status == ESK_E_CORRUPT ? 1 : 0;
        unread += status == ESK_OK ? series->stats.partial - partial : 0;
        unread_set(series, unread);
        if (status != ESK_OK) {
            continue;
        }
        uint16_t count = esk_page_count(page);
        series->ordinal = esk_page_aux(page) + count;
        if (count > 0) {
            series->newest = esk_series_row_key(
                series,
                esk_series_page_row(series, page, (uint16_t)(count - 1)));
            series->has_newest = true;
        }
        esk_pool_unpin(&series->pool, frame);
        *end = at;
        if (count > 0) {
            return ESK_OK;
        }
    }
    return ESK_OK;
}

/// Brings the key index back. Where that moves the head, because index pages
/// know of data pages that were lost, the newest row is found again; the
/// ordinals of the rows skip a row for each lost page, so that every reader
/// sees that rows are missing.
static int keys_recover(struct esk_series *series) {
    uint32_t head = series->data.head;
    uint32_t end = 0;
    ESK_TRY(newest_find(series, &end));
    if (series->parts->keys == NULL) {
        return ESK_OK;
    }
    ESK_TRY(series->parts->keys->recover(series));
    if (series->data.head > head) {
        ESK_TRY(newest_find(series, &end));
        if (end <= head) {
            /* The page behind the newest run was there. */
            uint32_t lost = series->log.run_first + 1u - head;
            series->ordinal += lost;
            unread_set(series, lost);
        }
    }
    return ESK_OK;
}

/// The sync journal's blocks are the data region's last ones.
static int rings_mount(struct esk_series *series,
                       const struct esk_table_info *info, uint8_t ahead,
                       uint8_t *page) {
    uint8_t sync = info->sync_blocks;
    uint32_t blocks = info->blocks[REGION_DATA];
    blocks = blocks > sync ? blocks - sync : 0;
    const struct ring_place data = {info->block[REGION_DATA], blocks,
                                    series->row_bytes, ESK_PAGE_DATA};
    const struct ring_place index = {info->block[REGION_INDEX],
                                     info->blocks[REGION_INDEX], 1,
                                     ESK_PAGE_INDEX};
    const struct ring_place var = {info->block[REGION_VAR],
                                   info->blocks[REGION_VAR], 1, ESK_PAGE_VAR};
    const struct ring_place journal = {info->block[REGION_DATA] + blocks, sync,
                                       series->row_bytes, ESK_PAGE_SYNC};
    ESK_TRY(ring_mount(series, &series->data, info, &data, ahead, page));
    if (series->parts->log != NULL) {
        ESK_TRY(
            ring_mount(series, &series->log.ring, info, &index, ahead, page));
    }
    if (series->var != NULL) {
        ESK_TRY(ring_mount(series, series->var, info, &var, ahead, page));
    }
    return series->journal == NULL ? ESK_OK
                                   : ring_mount(series, series->journal, info,
                                                &journal, ahead, page);
}

/// `info` is in the second frame: it goes with the first page that is pinned.
static int series_mount(struct esk_series *series,
                        const struct esk_table_info *info,
                        const struct esk_series_config *config) {
    uint8_t frame = 0;
    uint8_t ahead =
        config == NULL || config->erase_ahead == 0 ? 1 : config->erase_ahead;
    if (ahead > ERASE_AHEAD_MAX) {
        ahead = ERASE_AHEAD_MAX;
    }
    ESK_TRY(esk_pool_take(&series->pool, &series->write_page, &frame));
    if (series->column_count > 0) {
        ESK_TRY(esk_pool_take(&series->pool, &series->log.run_page, &frame));
    }
    if (series->var != NULL) {
        ESK_TRY(esk_pool_take(&series->pool, &series->var_page, &frame));
    }
    /* The write page is empty yet: it serves as scratch. */
    ESK_TRY(rings_mount(series, info, ahead, series->write_page));
    if (series->var != NULL) {
        series->parts->var->recover(series);
    }
    ESK_TRY(keys_recover(series));
    if (series->journal != NULL) {
        ESK_TRY(series->parts->sync->recover(series));
    }
    if ((series->volume->device->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0) {
        /* What a program that ended left in a cache may still be there. */
        series->dirty = ESK_SERIES_DATA | ESK_SERIES_VAR | ESK_SERIES_INDEX;
    }
    if (series->floor > 0 && series->var != NULL) {
        series->parts->var->trim(series);
    }
    return ESK_OK;
}

/// What an open knows of the table. Until the arena is carved it stands there,
/// after a page of scratch; then in the frames, past the first. The layout's
/// columns, which only a table with value indexes has, may reach into the
/// third frame and the key index, which are empty yet.
struct open_scratch {
    struct esk_table_info info;
    struct esk_series_layout layout;
};

/// The place in the frames at `pool`, whose tags come first.
static struct open_scratch *scratch_place(uint8_t *pool, uint16_t page_bytes,
                                          uint8_t frame_count) {
    return (void *)(pool + page_bytes + (size_t)frame_count * 8u);
}

static void series_clear(struct esk_series *series,
                         const struct esk_series_parts *parts,
                         const struct series_memory *memory,
                         const struct esk_table_info *info) {
    memset(series, 0, state_bytes(parts));
    series->parts = parts;
    series->columns = memory->columns;
    if (parts->log != NULL) {
        series->log.group = memory->group;
        series->log.group_number = UINT32_MAX;
    }
    series->var_offset = ESK_SERIES_NO_VAR;
    series->column_count = info->index_count;
    series->id = info->id;
    series->group_pages = info->group_pages;
    series->run_pages = info->run_pages;
    series->row_bytes = info->row_bytes;
    series->floor = info->floor_set ? (esk_key)info->floor_key : 0;
}

/// Carves the arena and fills in what the schema says.
/// scratch  in and out: where it is.
static ESK_OUT_OF_LINE int
series_make(struct esk_series **series, const struct esk_series_parts *parts,
            struct esk_volume *volume, const struct esk_series_config *config,
            struct esk_arena *arena, struct open_scratch **scratch) {
    uint16_t page_bytes = volume->device->geometry.page_bytes;
    struct esk_table_info *info = &(*scratch)->info;
    struct series_memory memory;

    ESK_TRY(layout_read(volume, parts, info, NULL, NULL, &(*scratch)->layout,
                        arena->next));
    memory_carve(arena, volume, parts, info, config, &(*scratch)->layout,
                 &memory);
    if (arena->next == NULL) {
        return ESK_E_NO_MEMORY;
    }
    struct esk_series *made = memory.series;
    struct open_scratch *moved =
        scratch_place(memory.pool, page_bytes, frames(info, config));
    memmove(&moved->info, info, sizeof *info);
    *scratch = moved;
    info = &moved->info;
    series_clear(made, parts, &memory, info);
    made->volume = volume;
    ESK_TRY(layout_read(volume, parts, info, made, memory.edges, &moved->layout,
                        memory.pool));
    made->entry_bytes = moved->layout.entry_bytes;
    ESK_TRY(layout_check(made, info));
    if (made->var_offset != ESK_SERIES_NO_VAR) {
        made->var = memory.var;
        memset(made->var, 0, sizeof *made->var);
    }
    if (info->sync_blocks > 0) {
        made->journal = memory.journal;
        memset(made->journal, 0, sizeof *made->journal);
    }
    esk_pool_init(&made->pool, memory.pool, page_bytes, frames(info, config));
    if (parts->keys != NULL) {
        parts->keys->init(made, memory.knots, key_index_bytes(config),
                          config == NULL ? 0 : config->key_error_16ths);
    }
    *series = made;
    return ESK_OK;
}

int esk_series_open_with(struct esk_series **series,
                         const struct esk_series_parts *parts,
                         struct esk_volume *volume, const char *name,
                         const struct esk_series_config *config, void *arena,
                         uint32_t arena_bytes) {
    struct esk_arena carved = {.next = arena, .bytes = arena_bytes};
    uint16_t page_bytes = volume->device->geometry.page_bytes;
    struct open_scratch *scratch = (void *)(carved.next + page_bytes);
    struct esk_series *made = NULL;

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
    ESK_TRY(series_make(&made, parts, volume, config, &carved, &scratch));
    int status = series_mount(made, &scratch->info, config);
    if (status != ESK_OK) {
        esk_series_close(made);
        return status;
    }
    *series = made;
    return ESK_OK;
}

void esk_series_close(struct esk_series *series) {
    esk_ring_unmount(&series->data);
    if (series->parts->log != NULL) {
        esk_ring_unmount(&series->log.ring);
    }
    if (series->var != NULL) {
        esk_ring_unmount(series->var);
    }
    if (series->journal != NULL) {
        esk_ring_unmount(series->journal);
    }
}

uint16_t esk_series_row_bytes(const struct esk_series *series) {
    return series->row_bytes;
}

void esk_series_stats(const struct esk_series *series,
                      struct esk_series_stats *stats) {
    const struct esk_region_stats *rings = &series->stats;
    memset(stats, 0, sizeof *stats);
    stats->pages = series->data.head - series->data.tail;
    if (series->parts->log != NULL) {
        stats->index_pages = series->log.ring.head - series->log.ring.tail;
        stats->index_failures = series->log.failures;
    }
    if (series->var != NULL) {
        stats->var_pages = series->var->head - series->var->tail;
    }
    stats->page_reads = rings->reads;
    stats->page_programs = rings->programs;
    stats->block_erases = rings->erases;
    stats->pages_damaged = rings->damaged;
    stats->program_failures = rings->program_failures;
    stats->erase_failures = rings->erase_failures;
    stats->blocks_skipped = rings->blocks_skipped;
    stats->newest_unread = series->unread;
    if (series->parts->keys == NULL) {
        return;
    }
    for (uint8_t i = 0; i < ESK_SPLINE_LEVEL_COUNT; i++) {
        stats->knots = (uint16_t)(stats->knots + series->spline.level[i].count);
    }
    stats->key_error_16ths = series->spline.error_16ths;
}
