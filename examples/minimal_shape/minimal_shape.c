// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a series whose shape is a constant: attach,
/// append, sync, scan; and get, unless -DMINIMAL_GET=0.
///
///     cc -DESK_SHAPE='"log_shape.h"' -Iexamples/minimal_shape ...
///
/// for every file, the core's too. With -DMINIMAL_GET=0 also
/// -DESK_SHAPE_PARTS='{0}', because no key index is needed, and
/// -DESK_SHAPE_QUERIES=0, because it scans all rows; with another key
/// index -DMINIMAL_SPLINE=0 and its name in ESK_SHAPE_PARTS. log_shape.h is of
/// an image that was made by
///
///     echo time,air,ground,water > log.csv
///     esker import factory.img log log.csv --create --key time
///         --type time=u32 --type air=i32 --type ground=i32 --type water=i32
///         --page 512 --block 4K --size 2M
///     esker header factory.img log -o log_shape.h
///
/// A firmware that also writes the volume on a blank medium calls
/// esk_volume_stamp when the attach returns ESK_NOT_FOUND: esker/shape.h.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"
#include "esker/shape.h"

#ifndef MINIMAL_GET
#define MINIMAL_GET 1
#endif

/* Whether the key index is a spline; with -DMINIMAL_SPLINE=0 it is
   esk_series_part_samples, or there is none. */
#ifndef MINIMAL_SPLINE
#define MINIMAL_SPLINE MINIMAL_GET
#endif

/// A page that is being filled, a page that is read, the key index if there is
/// one, the handle.
enum {
    PAGE_BYTES = 512,
    KEY_INDEX_BYTES = 256,
    KEYS_BYTES = MINIMAL_SPLINE ? ESK_SERIES_KEYS_BYTES(KEY_INDEX_BYTES)
                 : MINIMAL_GET  ? ESK_SERIES_SAMPLES_BYTES(KEY_INDEX_BYTES)
                                : 0,
    ARENA_BYTES = ESK_SERIES_ARENA_BYTES(PAGE_BYTES, 2, KEYS_BYTES),
};

const struct esk_device flash_device = {
    .ops = &driver_ops,
    .geometry = ESK_SHAPE_GEOMETRY,
};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// Sums the rows from `time_min` on; without a get all rows.
static int scan(uint32_t time_min, int32_t *sum) {
    const struct esk_series_query query = {.has_key_min = true,
                                           .key_min = time_min};
    struct log_row row;

    ESK_TRY(
        esk_series_cursor_open(series, &cursor, MINIMAL_GET ? &query : NULL));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        *sum += row.air;
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int run(void) {
    struct log_row row = {0};
    int32_t sum = 0;

    ESK_TRY(esk_volume_attach(&volume, &flash_device, 0, &esk_shape_volume,
                              arena, sizeof arena));
    ESK_TRY(esk_series_attach(&series, &esk_shape_parts, &volume,
                              &esk_shape_table, &esk_shape_series,
                              &esk_shape_options, NULL));
    for (uint32_t time = 1; time <= 100; time++) {
        row.time = time;
        row.air = driver_sample();
        ESK_TRY(esk_series_append(series, &row));
    }
    ESK_TRY(esk_series_sync(series));
    if (MINIMAL_GET) {
        ESK_TRY(esk_series_get(series, 42, &row));
    }
    return scan(50, &sum);
}

int main(void) {
    return run();
}
