// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The key index as a part: a spline in RAM.
///
/// With the index log it is exact: the log has every knot, in its pages and in
/// nodes. Without the log, an open samples the data pages, and the spline gets
/// coarser when RAM is full.
#include "table/series/series_rows.h"

enum { SAMPLES_MAX = 64 };

static void spline_init(struct esk_series *series) {
    esk_spline_init(&series->spline, series->key_memory, series->key_bytes,
                    esk_shape(series)->key_bytes, series->key_error_16ths);
    if (esk_parts(series)->log != NULL) {
        esk_parts(series)->log->nodes_init(series);
    }
}

/// Searches the spline and, if necessary, nodes.
static void spline_guess(struct esk_series *series, esk_key key,
                         uint32_t *position) {
    if (esk_spline_find(&series->spline, key, position) != ESK_OK &&
        esk_parts(series)->log != NULL) {
        esk_parts(series)->log->find(series, key, position);
    }
}

static void spline_trim(struct esk_series *series) {
    esk_spline_trim(&series->spline, series->data.tail);
}

/// Adds a data page to the spline; nothing is saved.
static void page_add(struct esk_series *series, uint32_t position,
                     uint8_t *page) {
    esk_key key = esk_rows_key_first(series, page);
    while (esk_spline_add(&series->spline, key, position) == ESK_FULL) {
        esk_spline_ease(&series->spline);
    }
}

/// Makes the spline from data pages at even distances. The more evenly keys
/// rise, the nearer each page is to the line.
static void pages_sample(struct esk_series *series) {
    uint32_t at = series->data.tail;
    uint32_t step = (series->data.head - at) / SAMPLES_MAX + 1;
    for (; at < series->data.head; at += step) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (esk_series_pin(series, &series->data, at, &page, &frame) ==
            ESK_OK) {
            page_add(series, at, page);
            esk_pool_unpin(&series->pool, frame);
        }
    }
}

static int keys_recover(struct esk_series *series) {
    if (esk_parts(series)->log != NULL) {
        ESK_TRY(esk_parts(series)->log->recover(series));
    } else {
        pages_sample(series);
    }
    spline_trim(series);
    return ESK_OK;
}

static void keys_add(struct esk_series *series, uint32_t position,
                     uint8_t *page) {
    if (esk_parts(series)->log != NULL) {
        esk_parts(series)->log->add(series, position, page);
    } else {
        page_add(series, position, page);
    }
    spline_trim(series);
}

const struct esk_series_keys esk_series_part_keys = {
    .is_spline = true,
    .init = spline_init,
    .recover = keys_recover,
    .add = keys_add,
    .guess = spline_guess,
    .trim = spline_trim,
};
