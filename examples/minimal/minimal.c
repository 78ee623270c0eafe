// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a series: mount, open, append, sync, get, scan.
/// `make size` links it for every chip, so its size is that of a program with
/// only these calls. The driver's four functions are stubs in driver.c, for
/// the application to write.
///
///     -DMINIMAL_KEYS   NULL: a get is a binary search
///     -DMINIMAL_LOG    &esk_series_part_log: mounts read the stored key index
///
/// A core that is compiled for this device, with -DESK_SHAPE='"device_shape.h"'
/// of examples/minimal_shape, is smaller: esker/shape.h.
///
/// The volume and its table `log` were made before, by `esker format` on a
/// host, or by esk_volume_format and esk_series_create in a factory program.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"

#ifndef MINIMAL_KEYS
#define MINIMAL_KEYS &esk_series_part_keys
#endif
#ifdef MINIMAL_LOG
#define MINIMAL_PARTS_BYTES ESK_SERIES_LOG_BYTES(KEY_INDEX_BYTES)
#else
#define MINIMAL_PARTS_BYTES ESK_SERIES_KEYS_BYTES(KEY_INDEX_BYTES)
#define MINIMAL_LOG NULL
#endif

enum { PAGE_BYTES = 512, FRAMES = 2, KEY_INDEX_BYTES = 256 };

/// Arena of the table, with the scratch of the mount.
enum {
    ARENA_BYTES =
        ESK_SERIES_ARENA_BYTES(PAGE_BYTES, FRAMES, MINIMAL_PARTS_BYTES),
};

struct row {
    uint32_t time_s; ///< the key
    int32_t air, ground, water;
};

const struct esk_device flash_device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 512,
                 .block_pages = 8,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

/// The parts of the program: it links no value index, no variable column, no
/// condition on a column and no backward cursor.
static const struct esk_series_parts parts = {.keys = MINIMAL_KEYS,
                                              .log = MINIMAL_LOG};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// Sums the rows from `time_min` on.
static int scan(uint32_t time_min, int32_t *sum) {
    struct esk_series_query query = {.has_key_min = true, .key_min = time_min};
    struct row row;

    ESK_TRY(esk_series_cursor_open(series, &cursor, &query));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        *sum += row.air;
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int run(void) {
    struct esk_series_config config = {.key_index_bytes = KEY_INDEX_BYTES};
    struct row row = {0};
    int32_t sum = 0;

    ESK_TRY(esk_volume_mount(&volume, &flash_device, 0, arena, sizeof arena));
    ESK_TRY(esk_series_open_with(&series, &parts, &volume, "log", &config));
    for (uint32_t time_s = 1; time_s <= 100; time_s++) {
        row.time_s = time_s;
        row.air = driver_sample();
        ESK_TRY(esk_series_append(series, &row));
    }
    ESK_TRY(esk_series_sync(series));
    ESK_TRY(esk_series_get(series, 42, &row));
    return scan(50, &sum);
}

int main(void) {
    return run();
}
