// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The sections of an index page.
#include "base/inline.h"
#include "table/series/series.h"

static uint16_t body_offset(uint8_t role) {
    return role == ESK_INDEX_ZONE_PAGE ? ESK_INDEX_ZONE_BODY
                                       : ESK_INDEX_NODE_BODY;
}

uint8_t *esk_series_index_entries(uint8_t *page) {
    return page + body_offset(page[ESK_INDEX_ROLE]);
}

uint8_t *esk_series_index_knots(const struct esk_series *series,
                                uint8_t *page) {
    uint32_t offset = body_offset(page[ESK_INDEX_ROLE]);
    uint32_t knots = esk_load_u16(page + ESK_INDEX_KNOTS);
    if (page[ESK_INDEX_ROLE] != ESK_INDEX_NODE_PAGE) {
        uint32_t entries = esk_load_u16(page + ESK_INDEX_ENTRIES);
        offset += entries * esk_shape(series)->entry_bytes;
        if (entries > esk_shape(series)->run_pages &&
            entries >= esk_shape(series)->group_pages) {
            return NULL;
        }
    }
    knots += (page[ESK_INDEX_FLAGS] & ESK_INDEX_LAST) != 0 ? 1u : 0u;
    if (offset + knots * esk_series_knot_bytes(series) >
        esk_pool_page_bytes(&series->pool)) {
        return NULL;
    }
    return page + offset;
}

uint8_t *esk_series_node_knots(const struct esk_series *series, uint8_t *page,
                               uint8_t level) {
    bool is_node = page[ESK_INDEX_ROLE] != ESK_INDEX_ZONE_PAGE &&
                   page[ESK_INDEX_LEVEL] == level;
    return is_node ? esk_series_index_knots(series, page) : NULL;
}

ESK_APART_IN_ALL uint32_t esk_series_kept_from(const struct esk_ring *ring) {
    const struct esk_geometry *geometry =
        esk_volume_geometry(ring->region.volume);
    uint32_t pages = geometry->block_pages;
    uint32_t blocks = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ? 2 : 1;
    if (esk_ring_refuses(ring) || ring->ready < esk_ring_pages(ring) - pages) {
        return 0;
    }
    return (ring->tail / pages + blocks) * pages;
}
