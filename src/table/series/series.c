// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Functions for all files of the series, closing, and the calls that read no
/// rows.
#include "table/series/series.h"
#include "base/inline.h"

#include "base/counter.h"

struct page_source {
    const struct esk_series *series;
    const struct esk_ring *ring;
    uint32_t position;
};

static ESK_APART int page_load(void *context, esk_tag tag, uint8_t *page) {
    const struct page_source *source = context;
    const struct esk_region *region = &source->ring->region;
    esk_address id = ESK_SHAPED_RING(esk_ring_page(source->ring, tag), tag);
    const struct esk_breaks *breaks =
        ESK_SHAPED_BREAKS(region->envelope.breaks);
    bool verify =
        (esk_volume_flags(region->volume) & ESK_MOUNT_TRUST_LOADS) == 0;
    int status = esk_region_read(region, id, source->position, page, verify);
    if (status == ESK_E_CORRUPT) {
        esk_count(&region->stats->damaged);
    }
    if (status == ESK_OK && breaks != NULL) {
        breaks->shorten(breaks, source->position, page);
    }
    if (status == ESK_OK && esk_packed(source->series) != NULL) {
        esk_packed(source->series)->loaded(source->series, page);
    }
    return status;
}

/// esk_series_pin when a frame had another ring's page: reads it again.
static ESK_OUT_OF_LINE_WHERE_FAST int pin_again(struct esk_series *series,
                                                struct page_source *source,
                                                esk_tag tag, uint8_t **page,
                                                uint8_t *frame) {
    esk_pool_unpin(&series->pool, *frame);
    esk_pool_forget(&series->pool, tag);
    return esk_pool_pin(&series->pool, tag, 0, page_load, source, page, frame);
}

ESK_FAST_FLAT int esk_series_pin(struct esk_series *series,
                                 const struct esk_ring *ring, uint32_t position,
                                 uint8_t **page, uint8_t *frame) {
    struct page_source source = {
        .series = series, .ring = ring, .position = position};
    if (position < ring->tail || position >= ring->head ||
        (esk_ring_is_broken(ring) && esk_ring_gap(ring, position) != NULL)) {
        return ESK_NOT_FOUND;
    }
    /* Positions, if there is one ring: then a frame has no page of another
       ring or of a lap ago. */
    esk_tag tag = ESK_SHAPED_RING(position, esk_ring_page(ring, position));
    ESK_TRY(
        esk_pool_pin(&series->pool, tag, 0, page_load, &source, page, frame));
    return ESK_SHAPED_RING(true, esk_ring_owns(ring, *page, position))
               ? ESK_OK
               : pin_again(series, &source, tag, page, frame);
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

ESK_OUT_OF_LINE const struct esk_series_sorted *
esk_series_sorted_part(const struct esk_series *series) {
    const struct esk_series_parts *parts = esk_parts(series);
    /* Without the log the handle has no such member. */
    return parts->log == NULL || series->sorting == NULL ? NULL : parts->sorted;
}

void esk_series_close(struct esk_series *series) {
    if (esk_table_live(series) == ESK_OK) {
        esk_table_delist(&series->table);
        series->data.tail = UINT32_MAX; /* no cursor has its next row here */
    }
}

uint16_t esk_series_row_bytes(const struct esk_series *series) {
    return esk_table_live(series) == ESK_OK ? esk_shape(series)->row_bytes : 0;
}

void esk_series_stats(const struct esk_series *series,
                      struct esk_series_stats *stats) {
    ESK_ASSERT(stats != NULL);
    memset(stats, 0, sizeof *stats);
    if (esk_table_live(series) != ESK_OK) {
        return;
    }
    const struct esk_region_stats *rings = &series->stats;
    stats->pages = series->data.head - series->data.tail;
    if (esk_parts(series)->log != NULL) {
        stats->index_pages = series->log.ring.head - series->log.ring.tail;
        stats->index_failures = series->log.failures;
    }
    if (esk_var_ring(series) != NULL) {
        stats->var_pages =
            esk_var_ring(series)->head - esk_var_ring(series)->tail;
    }
    stats->page_reads = rings->reads;
    stats->page_programs = rings->programs;
    stats->block_erases = rings->erases;
    stats->pages_damaged = rings->damaged;
    stats->program_failures = rings->program_failures;
    stats->erase_failures = rings->erase_failures;
    stats->blocks_skipped = rings->blocks_skipped;
    stats->newest_unread = series->unread;
    if (esk_parts(series)->keys == NULL ||
        !esk_parts(series)->keys->is_spline) {
        return;
    }
    stats->knots = series->spline.level.count;
    if (esk_parts(series)->log != NULL) {
        stats->knots = esk_spline_entries(&series->spline);
    }
    stats->key_error_16ths = series->spline.error_16ths;
}
