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

static bool load_verifies(const struct page_source *source) {
    return (esk_volume_flags(source->ring->region.volume) &
            ESK_MOUNT_TRUST_LOADS) == 0;
}

static const struct esk_breaks *load_breaks(const struct page_source *source) {
    return ESK_SHAPED_BREAKS(source->ring->region.envelope.breaks);
}

/// page_load. status: as for esk_region_read_from.
static ESK_OUT_OF_LINE_WHERE_FAST int
load_from(const struct page_source *source, esk_address id, uint8_t *page,
          int status) {
    const struct esk_region *region = &source->ring->region;
    const struct esk_breaks *breaks = load_breaks(source);
    bool verify = load_verifies(source);
    status = esk_region_read_from(region, id, source->position, page, verify,
                                  status);
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

static ESK_APART int page_load(void *context, esk_tag tag, uint8_t *page) {
    const struct page_source *source = context;
    esk_address id = ESK_SHAPED_RING(esk_ring_page(source->ring, tag), tag);
    int status = ESK_AGAIN;
    if (ESK_FAST && load_breaks(source) == NULL &&
        esk_packed(source->series) == NULL) {
        const struct esk_region *region = &source->ring->region;
        status = esk_region_read_once(region, id, page);
        if (status == ESK_OK &&
            esk_region_is_valid(region, source->position, page,
                                load_verifies(source))) {
            return ESK_OK;
        }
    }
    return load_from(source, id, page, status);
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
