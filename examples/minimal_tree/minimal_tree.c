// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a tree: mount, open, put, get, iterate. `make
/// size` links it for every chip, node store and part; the driver is
/// examples/minimal's. Only the store that is named here is linked.
///
/// A core that is compiled for this device, with -DESK_SHAPE='"card_shape.h"'
/// of examples/minimal_shape, is smaller: esker/shape.h.
///
/// The volume and its table `log` were made before, by a host or a factory
/// program, with the same store.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"

#ifndef MINIMAL_STORE
#define MINIMAL_STORE esk_store_inplace
#endif
/* Parts besides the store: members of the configuration. */
#ifndef MINIMAL_PARTS
#define MINIMAL_PARTS
#endif
#ifndef MINIMAL_STORE_BYTES
#define MINIMAL_STORE_BYTES ESK_TREE_INPLACE_BYTES
#endif

enum { PAGE_BYTES = 512, FRAMES = 2, KEY_BYTES = 4 };

/// Arena of the table, with the scratch of the mount. For other stores
/// -DMINIMAL_STORE_BYTES; it runs only with those that it names.
enum {
    ARENA_BYTES = ESK_TREE_ARENA_BYTES(PAGE_BYTES, FRAMES, KEY_BYTES,
                                       MINIMAL_STORE_BYTES),
};

struct row {
    uint32_t id; ///< the key
    int32_t air, ground, water;
};

const struct esk_device flash_device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 512,
                 .block_pages = 8,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = PAGE_BYTES,
                 .programs_per_page_max = 1,
                 .erased_value = 0xFF,
                 .flags = ESK_MEDIUM_OVERWRITE},
};

static const struct esk_tree_config config = {.store = &MINIMAL_STORE,
                                              MINIMAL_PARTS};

static struct esk_volume volume;
static struct esk_tree *tree;
static struct esk_tree_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// Sums all rows.
static int sum_rows(int32_t *sum) {
    struct row row;
    ESK_TRY(esk_tree_cursor_open(tree, &cursor, NULL));
    int status = esk_tree_cursor_next(tree, &cursor, &row);
    while (status == ESK_OK) {
        *sum += row.air;
        status = esk_tree_cursor_next(tree, &cursor, &row);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int run(void) {
    struct row row = {0};
    uint32_t wanted = 42;
    int32_t sum = 0;

    ESK_TRY(esk_volume_mount(&volume, &flash_device, 0, arena, sizeof arena));
    ESK_TRY(esk_tree_open(&tree, &volume, "log", &config));
    for (row.id = 1; row.id <= 100; row.id++) {
        row.air = driver_sample();
        ESK_TRY(esk_tree_put(tree, &row));
    }
    ESK_TRY(esk_tree_get(tree, &wanted, &row));
    return sum_rows(&sum);
}

int main(void) {
    return run();
}
