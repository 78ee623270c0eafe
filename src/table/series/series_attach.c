// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// From a table's shape to an open series: memory, rings, recovery after power
/// loss. Nothing here reads the catalog.
#include <stddef.h>

#include "base/arena.h"
#include "base/inline.h"
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

enum {
    KEY_INDEX_BYTES_DEFAULT = 256,
    KEY_ERROR_MAX_16THS = 16,
    ERASE_AHEAD_MAX = 8,
    DROPS_BITS = 20, ///< more positions than a cursor's last page is old
};

/* The constants of esker/arena.h. */
_Static_assert(
    offsetof(struct esk_series, key_memory) <= ESK_SERIES_HANDLE_BYTES &&
        offsetof(struct esk_series, spline) <=
            ESK_SERIES_HANDLE_BYTES + ESK_SERIES_SAMPLES_BYTES(0) &&
        offsetof(struct esk_series, spline.nodes) <=
            ESK_SERIES_HANDLE_BYTES + ESK_SERIES_KEYS_BYTES(0) &&
        sizeof(struct esk_series) <=
            ESK_SERIES_HANDLE_BYTES + ESK_SERIES_LOG_BYTES(0) &&
        sizeof(struct esk_series_break_list) <= ESK_SERIES_BREAKS_BYTES(0) &&
        sizeof(struct esk_ring) <= ESK_SERIES_VAR_BYTES &&
        sizeof(struct esk_series_sorting) <= ESK_SERIES_SORTING_BYTES &&
        sizeof(struct esk_summary_column) <=
            ESK_SERIES_VALUES_BYTES(1, 0, 1, 0),
    "constants of a series' memory");

/// Number of pages that are being filled.
static uint8_t filled(const struct esk_table_info *info) {
    return (uint8_t)(1 + (esk_series_has_values(info) ? 1 : 0) +
                     (esk_series_has_var(info) ? 1 : 0));
}

uint8_t esk_series_frames_min(const struct esk_table_info *info) {
    ESK_ASSERT(info != NULL);
    return (uint8_t)(filled(info) + 1u);
}

static ESK_APART uint16_t
key_index_bytes(const struct esk_series_config *config) {
    uint16_t asked = config == NULL ? 0 : config->key_index_bytes;
    return asked == 0 ? KEY_INDEX_BYTES_DEFAULT : asked;
}

/// Number of frames for pages that are read.
static uint8_t frames(const struct esk_table_info *info,
                      const struct esk_series_config *config) {
    uint8_t asked = config == NULL ? 0 : config->frames;
    return ESK_SHAPED_FRAMES(
        ESK_SHAPE_POOL_FRAMES,
        (uint8_t)((asked == 0 ? esk_series_frames_min(info) : asked) -
                  filled(info)));
}

/// Bytes of a handle with these parts.
static uint16_t state_bytes(const struct esk_series_parts *parts) {
    return parts->log != NULL       ? sizeof(struct esk_series)
           : parts->keys == NULL    ? offsetof(struct esk_series, key_memory)
           : parts->keys->is_spline ? offsetof(struct esk_series, spline.nodes)
                                    : offsetof(struct esk_series, spline);
}

int esk_series_carve(struct esk_arena *arena, struct esk_volume *volume,
                     const struct esk_series_parts *parts,
                     const struct esk_table_info *info,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config,
                     const struct esk_series_layout *layout,
                     struct esk_series_memory *memory) {
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    bool frames_can_be = config == NULL || config->frames == 0 ||
                         config->frames >= esk_series_frames_min(info);
    bool error_can_be =
        config == NULL || config->key_error_16ths <= KEY_ERROR_MAX_16THS;
    if (!ESK_SHAPED_FRAMES(true, frames_can_be) ||
        !ESK_SHAPED_SERIES(true, error_can_be) ||
        key_index_bytes(config) < ESK_SERIES_KEY_INDEX_BYTES_MIN) {
        return ESK_E_INVALID;
    }
    memory->series = esk_arena_take(arena, state_bytes(parts));
    memory->var = esk_series_has_var(info)
                      ? esk_arena_take(arena, sizeof *memory->var)
                      : NULL;
    memory->journal = esk_series_has_sync(info)
                          ? esk_arena_take(arena, sizeof *memory->journal)
                          : NULL;
    memory->breaks =
        parts->breaks != NULL
            ? esk_arena_take(arena, sizeof *memory->breaks + info->row_bytes)
            : NULL;
    memory->filled = esk_arena_take(arena, (uint32_t)filled(info) * page_bytes);
    memory->frames = frames(info, config);
    memory->pool =
        esk_arena_take(arena, ESK_POOL_BYTES(page_bytes, memory->frames, 1));
    /* In the second page that is being filled, or else behind the tags. */
    memory->aside = page_bytes;
    if (filled(info) == 1) {
        memory->aside = (uint16_t)(page_bytes + 8u * memory->frames);
    }
    memory->knots = parts->keys != NULL
                        ? esk_arena_take(arena, key_index_bytes(config))
                        : NULL;
    memory->columns = NULL;
    memory->group = NULL;
    memory->edges = NULL;
    memory->entry = NULL;
    if (esk_series_has_values(info)) {
        parts->values->carve(arena, parts, page_bytes, info, options, layout,
                             memory);
    }
    return esk_arena_fits(arena) ? ESK_OK : ESK_E_NO_MEMORY;
}

void esk_series_make(const struct esk_arena *arena,
                     const struct esk_series_memory *memory,
                     struct esk_volume *volume,
                     const struct esk_series_parts *parts,
                     const struct esk_table_info *info,
                     const struct esk_series_shape *shape,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config) {
    struct esk_series *series = memory->series;
    uint16_t page_bytes = esk_volume_geometry(volume)->page_bytes;
    uint8_t *page = memory->filled;
    memset(series, 0, (size_t)(page - (uint8_t *)series));
    esk_table_make(&series->table, volume, info->id, arena);
    if (ESK_SHAPED_SERIES(false, true)) {
        series->parts = parts;
        series->shape = *shape;
        series->floor = (esk_key)options->floor_key;
        /* A cursor of an earlier open has other rows in its frame. */
        series->drops = volume->commit << DROPS_BITS;
    }
    series->columns = memory->columns;
    series->write_page = page;
    if (parts->log != NULL) {
        series->log.group = memory->group;
        series->log.group_first = UINT32_MAX;
        if (esk_shape(series)->column_count > 0) {
            page += page_bytes;
            series->log.zone_page = page;
        }
    }
    series->breaks = memory->breaks;
    if (parts->var != NULL && shape->var_offset != ESK_SERIES_NO_VAR) {
        page += page_bytes;
        series->var_page = page;
        series->var = memory->var;
    }
    series->journal = memory->journal;
    if (parts->keys != NULL) {
        series->key_memory = memory->knots;
        series->key_bytes = key_index_bytes(config);
        series->key_error_16ths = config == NULL ? 0 : config->key_error_16ths;
        parts->keys->init(series);
    }
}

int esk_series_newest_find(struct esk_series *series, uint32_t *end) {
    bool found = false;
    *end = series->data.tail;
    series->unread = 0;
    for (uint32_t at = series->data.head; !found && at > series->data.tail;
         at = esk_ring_above(&series->data, at - 1)) {
        uint16_t partial = series->stats.partial;
        uint8_t *page = NULL;
        uint8_t frame = 0;
        int status =
            esk_series_pin(series, &series->data, at - 1, &page, &frame);
        if (status == ESK_E_IO) {
            return status;
        }
        if (status == ESK_E_CORRUPT || partial != series->stats.partial) {
            esk_series_unread(series);
        }
        if (status != ESK_OK) {
            continue;
        }
        uint16_t count = esk_page_count(page);
        if (esk_packed(series) != NULL) {
            count = esk_packed(series)->rows(series, page, count);
        }
        series->ordinal = esk_page_aux(page) + count;
        found = count > 0;
        if (found) {
            series->newest = esk_rows_key(series, page, (uint16_t)(count - 1));
            series->has_newest = true;
        }
        esk_pool_unpin(&series->pool, frame);
        *end = at;
    }
    if (esk_is_broken(series)) {
        esk_parts(series)->breaks->found(series, *end);
    }
    return ESK_OK;
}

ESK_APART int esk_series_ring_mount(struct esk_series *series,
                                    struct esk_ring *ring,
                                    struct esk_ring_config *config,
                                    const struct esk_table_info *info,
                                    uint8_t role, uint8_t *page) {
    config->block = info->block[role];
    config->blocks = info->blocks[role];
    if (!ESK_SHAPED_SERIES(
            true, esk_region_fits(esk_volume_geometry(series->table.volume),
                                  config->block, config->blocks, 2))) {
        return ESK_E_CORRUPT;
    }
    ESK_TRY(esk_ring_open(ring, series->table.volume, config, &series->stats,
                          page));
    esk_table_ring_add(&series->table, ring);
    return ESK_OK;
}

static ESK_APART int rings_mount(struct esk_series *series,
                                 const struct esk_table_info *info,
                                 const struct esk_series_options *options,
                                 uint8_t ahead, uint8_t *page) {
    struct esk_ring_config config = {
        .seed = info->seed,
        .tail_hint = options->tail,
        .unit = esk_shape(series)->row_bytes,
        .seals = &esk_seals_at_end,
        .kind = ESK_PAGE_DATA,
        .table = info->id,
        .ahead = ahead,
        .refuse = options->full_policy == ESK_FULL_REFUSE,
    };
    if (esk_parts(series)->breaks != NULL && series->breaks->log.count > 0) {
        config.breaks = &series->breaks->log;
    }
    if (esk_packed(series) != NULL) {
        esk_packed(series)->ring(&config);
    }
    ESK_TRY(esk_series_ring_mount(series, &series->data, &config, info,
                                  ESK_REGION_DATA, page));
    if (esk_is_broken(series)) {
        ESK_TRY(esk_parts(series)->breaks->mounted(series, page));
    }
    config.breaks = NULL;
    config.seals = &esk_seals_at_end;
    if (esk_sync_ring(series) != NULL) {
        ESK_TRY(esk_parts(series)->sync->mount(series, &config, info, page));
    }
    if (esk_parts(series)->log != NULL) {
        ESK_TRY(esk_parts(series)->log->mount(series, &config, info, page));
    }
    if (esk_var_ring(series) != NULL) {
        ESK_TRY(esk_parts(series)->var->mount(series, &config, info, page));
    }
    return ESK_OK;
}

/// Mounts the rings and restores the state of the last mount.
/// info, options  needed until the rings are mounted: before a page is pinned.
static int series_mount(struct esk_series *series,
                        const struct esk_table_info *info,
                        const struct esk_series_options *options,
                        const struct esk_series_config *config) {
    uint8_t ahead =
        config == NULL || config->erase_ahead == 0 ? 1 : config->erase_ahead;
    if (ahead > ERASE_AHEAD_MAX) {
        ahead = ERASE_AHEAD_MAX;
    }
    /* The write page is still empty: it serves as scratch. */
    ESK_TRY(rings_mount(series, info, options, ahead, series->write_page));
    uint32_t end = 0;
    ESK_TRY(esk_series_newest_find(series, &end));
    if (esk_parts(series)->keys != NULL) {
        ESK_TRY(esk_parts(series)->keys->recover(series));
    }
    if (esk_sync_ring(series) != NULL) {
        ESK_TRY(esk_parts(series)->sync->recover(series));
    }
    /* Pages of an earlier run may still be in a cache. */
    series->dirty = ESK_SERIES_DATA | ESK_SERIES_VAR | ESK_SERIES_INDEX;
    if ((esk_floor(series) > 0 || esk_is_broken(series)) &&
        esk_var_ring(series) != NULL) {
        esk_parts(series)->var->trim(series);
    }
    return ESK_OK;
}

int esk_series_start(struct esk_series **series, int status,
                     const struct esk_series_memory *memory,
                     const struct esk_table_info *info,
                     const struct esk_series_options *options,
                     const struct esk_series_config *config) {
    struct esk_series *made = memory->series;
    esk_pool_init(&made->pool, memory->pool,
                  esk_volume_geometry(made->table.volume)->page_bytes,
                  memory->frames);
    if (status == ESK_OK) {
        status = series_mount(made, info, options, config);
    }
    *series = esk_table_opened(made, status);
    return status;
}

int esk_series_attach(struct esk_series **series,
                      const struct esk_series_parts *parts,
                      struct esk_volume *volume,
                      const struct esk_table_info *info,
                      const struct esk_series_shape *shape,
                      const struct esk_series_options *options,
                      const struct esk_series_config *config) {
    ESK_ASSERT(series != NULL && parts != NULL && volume != NULL &&
               info != NULL && shape != NULL && options != NULL);
    ESK_ASSERT(info->index_count == 0 && !esk_table_is_open(volume, info->id));
    ESK_ASSERT(parts->var != NULL || shape->var_offset == ESK_SERIES_NO_VAR);
    ESK_ASSERT(parts->sync != NULL || info->blocks[ESK_REGION_SYNC] == 0);
    const struct esk_series_layout layout = {.entry_bytes = 0};
    struct esk_arena carved;
    struct esk_series_memory memory;
    *series = NULL;
    if (ESK_SHAPED_SERIES(false, info->codec != ESK_CODEC_RAW)) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(esk_volume_memory(volume, &carved));
    ESK_TRY(esk_series_carve(&carved, volume, parts, info, options, config,
                             &layout, &memory));
    esk_series_make(&carved, &memory, volume, parts, info, shape, options,
                    config);
    return esk_series_start(series, ESK_OK, &memory, info, options, config);
}
