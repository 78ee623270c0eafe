// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The key index as a part: a spline in RAM, with tiles in the index log.
#include "table/series/series.h"

enum { LEVELS_MAX = 4 };

static void spline_init(struct esk_series *series, void *memory, uint16_t bytes,
                        uint8_t error_16ths) {
    esk_spline_init(&series->spline, memory, bytes, series->key_bytes,
                    error_16ths);
}

/// Asks the spline, reading tiles as it says.
static void spline_guess(struct esk_series *series, esk_key key,
                         uint32_t *position) {
    struct esk_spline_hit hit;
    int status = esk_spline_find(&series->spline, key, &hit);
    for (uint8_t i = 0; i < LEVELS_MAX && status == ESK_OK && hit.level > 0;
         i++) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        uint8_t level = (uint8_t)(hit.level - 1);
        status =
            esk_series_pin(series, &series->index, hit.position, &page, &frame);
        if (status != ESK_OK) {
            break;
        }
        const uint8_t *knots = esk_series_index_knots(series, page);
        status = ESK_NOT_FOUND;
        if (knots != NULL && page[ESK_INDEX_ROLE] != ESK_INDEX_RUN &&
            page[ESK_INDEX_LEVEL] == level) {
            status = esk_spline_find_in(&series->spline, knots,
                                        esk_load_u16(page + ESK_INDEX_KNOTS),
                                        level, key, &hit);
        }
        esk_pool_unpin(&series->pool, frame);
    }
    if (status == ESK_OK && hit.level == 0) {
        *position = hit.position;
    }
}

static void spline_trim(struct esk_series *series) {
    esk_spline_trim(&series->spline, series->data.tail, series->index.tail);
}

const struct esk_series_keys esk_series_part_keys = {
    .init = spline_init,
    .recover = esk_series_recover,
    .add = esk_series_index_add,
    .guess = spline_guess,
    .trim = spline_trim,
};
