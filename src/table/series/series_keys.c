// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The key index as a part: a spline in RAM, with its knots in the index log.
#include "table/series/series.h"

static void spline_init(struct esk_series *series, void *memory, uint16_t bytes,
                        uint8_t error_16ths) {
    esk_spline_init(&series->spline, memory, bytes, series->key_bytes,
                    error_16ths);
}

/// Asks the spline and, where it says so, tiles.
static void spline_guess(struct esk_series *series, esk_key key,
                         uint32_t *position) {
    struct esk_spline_hit hit;
    int status = esk_spline_find(&series->spline, key, &hit);
    if (status == ESK_OK && hit.level > 0) {
        status = series->parts->tiles != NULL
                     ? series->parts->tiles->find(series, key, &hit)
                     : ESK_NOT_FOUND;
    }
    if (status == ESK_OK) {
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
