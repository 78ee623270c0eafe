// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Breaking the log off; see series_breaks.c.
///
///  1. Programs what is in RAM, and makes it durable.
///  2. Commits the break to the catalog.
///  3. Continues with the handle as a mount would.
#include "table/series/series_open.h"
#include "table/series/series_rows.h"
#include "volume/volume_format.h"

int esk_series_break_begin(struct esk_series *series) {
    if (series->write_count > 0) {
        ESK_TRY(esk_series_flush(series));
    }
    ESK_TRY(esk_region_sync(&series->data.region));
    series->dirty = 0;
    if (esk_parts(series)->log != NULL) {
        esk_parts(series)->log->end(series);
    }
    return ESK_OK;
}

/// The oldest position that a mount may find: a block that was erased ahead of
/// head has its pages still where an erase does nothing, or was cut.
static uint32_t oldest_found(const struct esk_ring *ring) {
    uint32_t ready = esk_ring_block_from(ring, ring->head);
    uint32_t pages = esk_ring_pages(ring);
    return ready > pages ? ready - pages : 0;
}

/// The breaks that are left, and the one at `end`. Breaks that no mount finds
/// rows before are left out. Breaks after `end` are in the dropped part, but
/// the rows that they dropped from the page before `end` stay dropped.
static int list_make(struct esk_series *series, uint32_t end, uint16_t count,
                     struct esk_series_break_list *list) {
    const struct esk_series_break_list *old = series->breaks;
    uint32_t oldest = oldest_found(&series->data);
    end = esk_ring_above(&series->data, end);
    const struct esk_break *behind =
        end > 0 ? esk_envelope_break(&series->data.region.envelope, end - 1)
                : NULL;
    if (behind != NULL && behind->end == end && behind->count < count) {
        count = behind->count;
    }
    struct esk_break made = {
        .end = end,
        .start = esk_ring_block_from(&series->data, series->data.head),
        .count = count,
        .unit = behind != NULL ? behind->unit : esk_shape(series)->row_bytes,
    };
    esk_series_breaks_init(list);
    for (uint8_t i = 0; i < old->log.count; i++) {
        if (old->log.at[i].start > oldest && old->log.at[i].start < end) {
            list->log.at[list->log.count] = old->log.at[i];
            list->log.count++;
        }
    }
    if (made.start > oldest) {
        if (list->log.count == ESK_SERIES_BREAKS_MAX ||
            made.start > esk_ring_position_max(&series->data)) {
            return ESK_E_LIMIT;
        }
        list->log.at[list->log.count] = made;
        list->log.count++;
    }
    list->journal =
        esk_sync_ring(series) != NULL ? esk_sync_ring(series)->head : 0;
    list->index =
        esk_parts(series)->log != NULL ? series->log.ring.head : old->index;
    return ESK_OK;
}

/// Writes `list` as option ESK_OPTION_BREAKS. Returns its bytes.
static uint8_t list_store(const struct esk_series_break_list *list,
                          uint8_t *option) {
    esk_store_u32(option + ESK_OPTION_BREAKS_SYNC, list->journal);
    esk_store_u32(option + ESK_OPTION_BREAKS_INDEX, list->index);
    esk_store_u32(option + ESK_OPTION_BREAKS_ORDINAL, list->ordinal);
    option += ESK_OPTION_BREAKS_HEAD;
    for (uint8_t i = 0; i < list->log.count; i++) {
        const struct esk_break *at = &list->log.at[i];
        esk_store_u32(option + ESK_OPTION_BREAK_END, at->end);
        esk_store_u32(option + ESK_OPTION_BREAK_START, at->start);
        esk_store_u16(option + ESK_OPTION_BREAK_COUNT, at->count);
        esk_store_u16(option + ESK_OPTION_BREAK_ROW_BYTES, at->unit);
        option += ESK_OPTION_BREAK_BYTES;
    }
    return (uint8_t)(ESK_OPTION_BREAKS_HEAD +
                     list->log.count * ESK_OPTION_BREAK_BYTES);
}

int esk_series_break(struct esk_series *series, uint32_t end, uint16_t count,
                     uint32_t ordinal, const struct esk_table_spec *spec,
                     const uint8_t *row) {
    uint8_t option[ESK_OPTION_BREAKS_HEAD +
                   ESK_SERIES_BREAKS_MAX * ESK_OPTION_BREAK_BYTES];
    struct esk_series_break_list list;
    struct esk_table_info info;
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_ASSERT(series->write_count == 0);
    ESK_TRY(list_make(series, end, count, &list));
    list.ordinal = ordinal;
    struct esk_table_change change = {
        .option = option,
        .option_bytes = list_store(&list, option),
        .tag = ESK_OPTION_BREAKS,
        .spec = spec,
        .row = row,
    };
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    int status =
        esk_catalog_find(series->table.volume, series->table.id, &info, page);
    if (status == ESK_OK) {
        /* The write page is empty: it serves as scratch. */
        status = esk_catalog_alter(series->table.volume, &info, &change, page,
                                   series->write_page);
    }
    esk_pool_give(&series->pool, frame);
    if (status == ESK_OK) {
        *series->breaks = list;
        series->data.region.envelope.breaks =
            list.log.count > 0 ? &series->breaks->log : NULL;
    }
    return status;
}

/// Continues after the break. Nothing here can fail.
static void break_end(struct esk_series *series) {
    esk_ring_leave(&series->data);
    esk_series_breaks_trim(series);
    if (esk_var_ring(series) != NULL) {
        esk_parts(series)->var->trim(series);
    }
    if (esk_sync_ring(series) != NULL) {
        esk_ring_drop(esk_sync_ring(series), esk_sync_ring(series)->head);
    }
    esk_pool_forget_all(&series->pool);
    const struct esk_series_keys *keys = esk_parts(series)->keys;
    if (keys != NULL) {
        /* Entries of dropped rows may be above later keys. With a log the rows
           before the break are found by a search. */
        keys->init(series);
        if (esk_parts(series)->log == NULL) {
            (void)keys->recover(series);
        }
    }
}

/// What a drop of the rows above a key leaves.
struct left {
    uint32_t end;     ///< data positions from here on have no such row
    uint16_t count;   ///< rows of the page before the end, at most
    uint32_t ordinal; ///< of the next row
    bool has_newest;
    esk_key newest;
};

/// Finds what is left of the rows up to `key`. Pages that cannot be read before
/// the first one above the key may have some of them: they stay.
static int left_find(struct esk_series *series, esk_key key,
                     struct left *left) {
    struct esk_series_place place = {.end = 0};
    esk_series_breaks_trim(series);
    uint32_t end = series->data.tail;
    int status = esk_series_seek(series, key, &place, NULL);
    if (status == ESK_OK) {
        end = place.position + 1;
        left->count =
            esk_rows_to(series, place.page, esk_page_count(place.page), key);
        left->has_newest = true;
        left->newest =
            esk_rows_key(series, place.page, (uint16_t)(left->count - 1u));
        left->ordinal = esk_page_aux(place.page) + left->count;
        esk_pool_unpin(&series->pool, place.frame);
        left->end = left->newest >= esk_floor(series) ? end : left->end;
    } else if (status != ESK_NOT_FOUND) {
        return status;
    }
    if (place.end > end) {
        left->end = place.end;
        left->count = UINT16_MAX;
        left->ordinal = place.ordinal;
    }
    return ESK_OK;
}

int esk_series_erase_after(struct esk_series *series, esk_key key) {
    ESK_TRY(esk_table_live(series));
    esk_key order = key;
    bool is_least =
        !esk_order_is_key(esk_shape(series)->key_type, &order) && order == 0;
    struct left left = {.end = oldest_found(&series->data),
                        .count = UINT16_MAX};

    ESK_ASSERT(esk_series_is_idle(series));
    if (ESK_SHAPED(true, esk_parts(series)->breaks == NULL)) {
        return ESK_E_UNSUPPORTED;
    }
    if ((esk_volume_flags(series->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (!series->has_newest || (series->newest <= order && !is_least)) {
        return ESK_OK;
    }
    ESK_TRY(esk_series_break_begin(series));
    if (!is_least && order >= esk_floor(series)) {
        ESK_TRY(left_find(series, order, &left));
    }
    ESK_TRY(esk_series_break(series, left.end, left.count, left.ordinal, NULL,
                             NULL));
    series->has_newest = left.has_newest;
    series->newest = left.newest;
    series->ordinal = left.ordinal;
    break_end(series);
    return ESK_OK;
}
