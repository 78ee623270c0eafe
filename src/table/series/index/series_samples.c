// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest key index, as a part: the first keys of pages at even
/// distances, and a straight line between two of them.
///
///     cell     0    1    2    3         a cell is 2^shift pages
///     key     17   90  170  241    |    the newest key
///            base
///
/// A key costs only its own bytes. When RAM is full, cells become twice as
/// wide. With rows at an even rate a lookup is one read or two. A pause within
/// a cell costs a search there; a spline with an index log has no such cost.
#include "base/scale.h"
#include "table/series/series_rows.h"

/// At the start of the part's memory.
struct samples {
    uint32_t base;  ///< first position of the first cell
    uint16_t count; ///< of `key`
    uint16_t most;  ///< most keys there is room for
    uint8_t shift;
    esk_key key[]; ///< of the first page in the cell or after it
};

static struct samples *samples_of(const struct esk_series *series) {
    return series->key_memory;
}

static void samples_init(struct esk_series *series) {
    struct samples *samples = samples_of(series);
    memset(samples, 0, sizeof *samples);
    samples->most =
        (uint16_t)((series->key_bytes - sizeof *samples) / sizeof(esk_key));
}

/// Pages from the first cell to `position`. As many as a device's pages, or too
/// many for any cell.
static inline esk_address pages_to(const struct samples *samples,
                                   uint32_t position) {
    return (esk_address)(position - samples->base);
}

/// Drops cells below the tail; if there are none, makes the cells twice as
/// wide.
static void room_make(struct samples *samples, uint32_t tail) {
    esk_address gone = pages_to(samples, tail) >> samples->shift;
    bool wider = gone == 0 || gone >= samples->count;
    uint16_t kept = 0;
    for (uint16_t i = wider ? 0 : (uint16_t)gone; i < samples->count; i++) {
        /* The first of two cells that become one has its key. */
        if (!wider || (i & 1u) == 0) {
            samples->key[kept] = samples->key[i];
            kept++;
        }
    }
    samples->count = kept;
    if (wider) {
        samples->shift++;
    } else {
        samples->base += (esk_address)(gone << samples->shift);
    }
}

static void samples_add(struct esk_series *series, uint32_t position,
                        uint8_t *page) {
    struct samples *samples = samples_of(series);
    esk_key key = esk_rows_key_first(series, page);
    if (samples->count == 0) {
        samples->base = position;
    }
    while ((position - samples->base) >> samples->shift >= samples->count) {
        if (samples->count == samples->most) {
            room_make(samples, series->data.tail);
        } else {
            samples->key[samples->count] = key;
            samples->count++;
        }
    }
}

static void samples_guess(struct esk_series *series, esk_key key,
                          uint32_t *position) {
    const struct samples *samples = samples_of(series);
    uint16_t low = 0;
    uint16_t high = samples->count;
    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2u);
        if (samples->key[middle] <= key) {
            low = (uint16_t)(middle + 1u);
        } else {
            high = middle;
        }
    }
    if (low == 0) {
        return;
    }
    bool last = low == samples->count;
    esk_address at = (esk_address)(low - 1u) << samples->shift;
    esk_address pages = last ? pages_to(samples, series->data.head) - at
                             : (esk_address)1 << samples->shift;
    esk_key part = key - samples->key[low - 1u];
    esk_key whole =
        (last ? series->newest : samples->key[low]) - samples->key[low - 1u];
    *position = samples->base + at;
    /* So that a product is right up to 65,535 pages. */
    while (whole > UINT16_MAX) {
        whole >>= 1;
        part >>= 1;
    }
    if (part < whole) {
        uint32_t rest = 0;
        *position += esk_quotient((uint32_t)(uint16_t)pages * (uint16_t)part,
                                  (uint16_t)whole, &rest);
    }
}

/// Samples the pages that are there, at most as many as there is room for.
static int samples_recover(struct esk_series *series) {
    struct samples *samples = samples_of(series);
    uint32_t at = series->data.tail;
    while ((esk_address)(series->data.head - at) >> samples->shift >=
           samples->most) {
        samples->shift++;
    }
    while (at < series->data.head) {
        uint8_t *page = NULL;
        uint8_t frame = 0;
        if (esk_series_pin(series, &series->data, at, &page, &frame) ==
            ESK_OK) {
            samples_add(series, at, page);
            esk_pool_unpin(&series->pool, frame);
        }
        at += (esk_address)1 << samples->shift;
    }
    return ESK_OK;
}

static void samples_trim(struct esk_series *series) {
    (void)series; /* room_make does, when necessary */
}

const struct esk_series_keys esk_series_part_samples = {
    .init = samples_init,
    .recover = samples_recover,
    .add = samples_add,
    .guess = samples_guess,
    .trim = samples_trim,
};
