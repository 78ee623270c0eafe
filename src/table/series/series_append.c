// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Appending and syncing: rows gather in the write page.
///
/// Order of durability: the variable bytes of a row, then the row, then the
/// index entry of its page. Power loss between them leaves bytes that no row
/// refers to, or a page that the next mount adds to the index.
#include "base/inline.h"
#include "table/series/series_rows.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

ESK_OUT_OF_LINE int esk_series_flush(struct esk_series *series) {
    uint32_t position = 0;
    if (esk_var_ring(series) != NULL) {
        ESK_TRY(esk_parts(series)->var->flush(series));
    }
    ESK_TRY(esk_series_order(series, ESK_SERIES_DATA | ESK_SERIES_VAR,
                             ESK_SERIES_DATA));
    uint16_t end =
        esk_packed(series) != NULL ? esk_packed(series)->end(series) : 0;
    ESK_TRY(esk_ring_append_to(&series->data, series->write_page,
                               series->write_count, end, series->ordinal,
                               &position));
    series->ordinal += series->write_count;
    series->write_count = 0;
    series->sealed_count = 0;
    if (esk_parts(series)->keys != NULL) {
        esk_parts(series)->keys->add(series, position, series->write_page);
    }
    return ESK_OK;
}

/// Whether no row with `key` may come next.
static inline bool key_is_late(const struct esk_series *series, esk_key key) {
    return key < esk_floor(series) ||
           (key <= series->newest && series->has_newest &&
            (key != series->newest || esk_keys_repeat(series) == 0));
}

/// Checks that a row with `key` may come next, and makes room for it.
static int row_admit(struct esk_series *series, esk_key key) {
    if ((esk_volume_flags(series->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (key_is_late(series, key)) {
        return ESK_OUT_OF_ORDER;
    }
    if (series->write_count >= esk_ring_room(&series->data)) {
        ESK_TRY(esk_series_flush(series));
    }
    if (series->write_count == 0 && esk_ring_refuses(&series->data)) {
        /* A row is accepted only if its page will have room. */
        return esk_ring_reserve(&series->data);
    }
    return ESK_OK;
}

/// Counts a row with `key` that is in the write page.
static inline void row_count(struct esk_series *series, esk_key key) {
    series->write_count++;
    series->newest = key;
    series->has_newest = true;
}

static ESK_OUT_OF_LINE_WHERE_FAST int row_append(struct esk_series *series,
                                                 const void *row,
                                                 const uint8_t *value,
                                                 uint32_t bytes) {
    ESK_ASSERT(row != NULL && (value != NULL || bytes == 0));
    ESK_TRY(esk_table_live(series));
    ESK_ASSERT(esk_series_is_idle(series));
    esk_key key = esk_row_key(series, row);
    ESK_TRY(row_admit(series, key));
    bool is_raw = esk_packed(series) == NULL;
    uint8_t *slot =
        is_raw ? esk_rows_slot(series) : esk_packed(series)->slot(series);
    uint8_t *var = slot + esk_shape(series)->var_offset;
    esk_row_copy(series, slot, row);
    if (esk_var_ring(series) != NULL) {
        ESK_TRY(esk_parts(series)->var->write(series, key, value, bytes, var));
    }
    if (!is_raw) {
        ESK_TRY(esk_packed(series)->append(series));
    }
    row_count(series, key);
    return ESK_OK;
}

/// Whether the next row has no more to do than to be copied: a raw one that
/// follows others in its page. On a chip also: its key is loaded without a
/// call.
static inline bool copies_only(const struct esk_series *series) {
    return esk_table_live(series) == ESK_OK &&
           (esk_volume_flags(series->table.volume) & ESK_MOUNT_READ_ONLY) ==
               0 &&
           series->write_count > 0 &&
           series->write_count < esk_ring_room(&series->data) &&
           ((uintptr_t)esk_packed(series) | (uintptr_t)esk_var_ring(series)) ==
               0 &&
           (ESK_HOST || esk_shape(series)->key_type == ESK_TYPE_U32);
}

/// Most rows are appended without saving a register.
int esk_series_append(struct esk_series *series, const void *row) {
    if (ESK_FAST && copies_only(series)) {
        ESK_ASSERT(row != NULL && esk_series_is_idle(series));
        esk_key key = esk_row_key(series, row);
        if (!key_is_late(series, key)) {
            uint8_t *slot = esk_rows_slot(series);
            series->write_count++; /* there is a newest row */
            series->newest = key;
            esk_bytes_copy_here(slot, row, esk_shape(series)->row_bytes);
            return ESK_OK;
        }
    }
    return row_append(series, row, NULL, 0);
}

int esk_series_append_var(struct esk_series *series, const void *row,
                          const void *value, uint32_t bytes) {
    ESK_TRY(esk_table_live(series));
    if (esk_var_ring(series) == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    return row_append(series, row, value, bytes);
}

int esk_series_append_many(struct esk_series *series, const void *rows,
                           uint32_t count, uint32_t *appended) {
    const uint8_t *row = rows;
    int status = esk_table_live(series);
    uint32_t done = 0;
    while (done < count && status == ESK_OK) {
        status = row_append(series, row, NULL, 0);
        if (status == ESK_OK) {
            row += esk_shape(series)->row_bytes;
            done++;
        }
    }
    if (appended != NULL) {
        *appended = done;
    }
    return status;
}

/// Programs the rows of the write page that are not durable: a seal, or else
/// the whole page.
static int rows_program(struct esk_series *series) {
    uint16_t count = esk_packed(series) != NULL
                         ? esk_packed(series)->align(series)
                         : series->write_count;
    if (count == 0 || !esk_ring_can_seal(&series->data, count)) {
        return esk_series_flush(series);
    }
    ESK_TRY(esk_series_order(series, ESK_SERIES_DATA | ESK_SERIES_VAR,
                             ESK_SERIES_DATA));
    ESK_TRY(esk_ring_seal(&series->data, series->write_page, count,
                          series->ordinal));
    series->sealed_count = series->write_count;
    return ESK_OK;
}

ESK_APART int esk_series_sync(struct esk_series *series) {
    ESK_TRY(esk_table_live(series));
    ESK_ASSERT(esk_series_is_idle(series));
    if ((esk_volume_flags(series->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_OK;
    }
    if (series->write_count > series->sealed_count) {
        if (esk_var_ring(series) != NULL) {
            ESK_TRY(esk_parts(series)->var->flush(series));
        }
        if (esk_sync_ring(series) != NULL) {
            if (esk_parts(series)->sync->write(series) == ESK_OK) {
                series->sealed_count = series->write_count;
            } else {
                ESK_TRY(esk_series_flush(series));
            }
        } else {
            ESK_TRY(rows_program(series));
        }
    }
    if ((series->dirty & (ESK_SERIES_DATA | ESK_SERIES_VAR)) != 0) {
        ESK_TRY(esk_region_sync(&series->data.region));
        series->dirty = 0;
    }
    return ESK_OK;
}

/// The first position that stays when rows below `key` are dropped: pages
/// before it have only smaller keys. `key` is not 0.
static int first_kept(struct esk_series *series, esk_key key,
                      uint32_t *position) {
    struct esk_series_place place;
    int status = esk_series_seek(
        series, (esk_key)(key - esk_keys_repeat(series)), &place, NULL);
    if (status == ESK_NOT_FOUND) {
        *position = series->data.tail;
        return ESK_OK;
    }
    if (status != ESK_OK) {
        return status;
    }
    uint16_t count = esk_page_count(place.page);
    bool all_below = esk_rows_below(series, place.page, count, key) == count;
    *position = place.position + (all_below ? 1 : 0);
    esk_pool_unpin(&series->pool, place.frame);
    return ESK_OK;
}

int esk_series_erase_before(struct esk_series *series, esk_key key) {
    uint32_t position = 0;
    uint8_t *page = NULL;
    uint8_t frame = 0;

    ESK_TRY(esk_table_live(series));
    esk_key order = esk_order_from_key(esk_shape(series)->key_type, key);
    ESK_ASSERT(esk_series_is_idle(series));
    if ((esk_volume_flags(series->table.volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (order <= esk_floor(series)) {
        return ESK_OK;
    }
    /* With a shape: the catalog would have another one. */
    ESK_TRY(ESK_SHAPED_SERIES(ESK_E_UNSUPPORTED,
                              first_kept(series, order, &position)));
    ESK_TRY(esk_pool_take(&series->pool, &page, &frame));
    uint8_t tail[ESK_OPTION_TAIL_BYTES];
    tail[ESK_OPTION_TAIL_FLAGS] = 1;
    esk_store_u32(tail + ESK_OPTION_TAIL_POSITION, position);
    esk_store_u64(tail + ESK_OPTION_TAIL_FLOOR_KEY, order);
    int status = esk_catalog_patch(series->table.volume, series->table.id,
                                   ESK_OPTION_TAIL, tail, sizeof tail, page);
    esk_pool_give(&series->pool, frame);
    if (status != ESK_OK) {
        return status;
    }
    series->floor = order;
    series->drops++;
    esk_ring_drop(&series->data, position);
    if (esk_var_ring(series) != NULL) {
        esk_parts(series)->var->trim(series);
    }
    if (esk_parts(series)->keys != NULL) {
        esk_parts(series)->keys->trim(series);
    }
    return ESK_OK;
}
