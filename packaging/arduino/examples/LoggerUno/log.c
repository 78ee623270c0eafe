// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The library compiled for one table: esker.c is included here, with the
/// table's shape before it, and links no catalog. The linker then leaves the
/// library's own object out.
#define ESK_SHAPE "log_shape.h"
/* No key index: a search reads a few pages more. */
#define ESK_SHAPE_PARTS {0}
#define ESK_COUNTERS 0
/* The chip is a W25Q, an MX25 or alike, of 16 MB at most. */
#define ESK_SPI_NOR_PLAIN 1

#include "log_shape.h"

#include <esker.c>

#include "log.h"

/* A page being filled, a page that is read, the handle. */
enum { ARENA_BYTES = ESK_SERIES_ARENA_BYTES(256, 2, 0) };

/* A call's frame is on the stack while the call runs, not for ever: main
   would take them all in. */
#define APART __attribute__((noinline))

static struct esk_spi_nor nor;
static struct esk_volume volume;
static struct esk_series *series;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

_Static_assert(sizeof(log_sample) == sizeof(struct log_row),
               "the sketch's row is the shape's");

int log_start(const struct esk_spi *bus, uint32_t *next) {
    static const struct esk_geometry geometry = ESK_SHAPE_GEOMETRY;
    const struct esk_spi_nor_config config = {.block_count =
                                                  geometry.block_count};
    esk_key newest = 0;

    ESK_TRY(esk_spi_nor_init(&nor, bus, &config));
    int status = esk_volume_attach(&volume, &nor.device, 0, &esk_shape_volume,
                                   arena, sizeof arena);
    if (status == ESK_NOT_FOUND) {
        status = esk_volume_stamp(&volume, esk_shape_meta);
    }
    ESK_TRY(status);
    ESK_TRY(esk_series_attach(&series, &esk_shape_parts, &volume,
                              &esk_shape_table, &esk_shape_series,
                              &esk_shape_options, NULL));
    *next = esk_series_newest_key(series, &newest) == ESK_OK ? newest + 1 : 0;
    return ESK_OK;
}

APART int log_append(const log_sample *sample) {
    return esk_series_append(series, sample);
}

APART int log_sync(void) {
    return esk_series_sync(series);
}

APART int log_range(uint32_t min, uint32_t max,
                    void (*show)(const log_sample *)) {
    const struct esk_series_query query = {
        .has_key_min = true,
        .has_key_max = true,
        .key_min = min,
        .key_max = max,
    };
    struct esk_series_cursor cursor;
    log_sample sample;

    ESK_TRY(esk_series_cursor_open(series, &cursor, &query));
    int status = esk_series_cursor_next(series, &cursor, &sample);
    while (status == ESK_OK) {
        show(&sample);
        status = esk_series_cursor_next(series, &cursor, &sample);
    }
    return status == ESK_END ? ESK_OK : status;
}
