// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room and wear of a series' regions.
#include "table/series/series.h"

static const struct esk_ring *ring_of(const struct esk_series *series,
                                      uint8_t role) {
    switch (role) {
    case ESK_REGION_DATA:
        return &series->data;
    case ESK_REGION_INDEX:
        return esk_parts(series)->log != NULL ? &series->log.ring : NULL;
    case ESK_REGION_VAR:
        return esk_var_ring(series);
    case ESK_REGION_SYNC:
        return esk_sync_ring(series);
    case ESK_REGION_SORTED:
    case ESK_REGION_MERGED:
        return esk_sorted(series) != NULL
                   ? &series->sorting->index.levels[role - ESK_REGION_SORTED]
                          .ring
                   : NULL;
    default:
        return NULL;
    }
}

void esk_series_space(const struct esk_series *series, uint8_t role,
                      struct esk_space *space) {
    ESK_ASSERT(space != NULL);
    memset(space, 0, sizeof *space);
    if (esk_table_live(series) != ESK_OK) {
        return;
    }
    const struct esk_ring *ring = ring_of(series, role);
    if (ring != NULL) {
        esk_ring_space(ring, space);
    }
}
