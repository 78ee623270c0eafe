// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a tree whose shape is a constant: attach, put,
/// get, iterate.
///
///     cc -DESK_SHAPE='"tree_shape.h"' -Iexamples/minimal_shape ...
///
/// for every file, the core's too. tree_shape.h is the output of `esker header
/// factory.img log` for an image that Python made:
///
///     geometry = Geometry(block_count=512, block_pages=8, page_bytes=512,
///                         program_bytes=512, programs_per_page_max=1,
///                         overwrite=True)
///     volume.create_tree("log", columns, store="inplace")
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"
#include "esker/shape.h"

/// The handle with its list of unused pages, two page frames, room for a key.
enum {
    PAGE_BYTES = 512,
    KEY_BYTES = 4,
    ARENA_BYTES =
        ESK_TREE_ARENA_BYTES(PAGE_BYTES, 2, KEY_BYTES, ESK_TREE_INPLACE_BYTES),
};

const struct esk_device flash_device = {
    .ops = &driver_ops,
    .geometry = ESK_SHAPE_GEOMETRY,
};

static struct esk_volume volume;
static struct esk_tree *tree;
static struct esk_tree_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// Sums all rows.
static int sum_rows(int32_t *sum) {
    struct log_row row;
    ESK_TRY(esk_tree_cursor_open(tree, &cursor, NULL));
    int status = esk_tree_cursor_next(tree, &cursor, &row);
    while (status == ESK_OK) {
        *sum += row.air;
        status = esk_tree_cursor_next(tree, &cursor, &row);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int run(void) {
    struct log_row row = {0};
    uint32_t wanted = 42;
    int32_t sum = 0;

    ESK_TRY(esk_volume_attach(&volume, &flash_device, 0, &esk_shape_volume,
                              arena, sizeof arena));
    ESK_TRY(esk_tree_attach(&tree, &volume, &esk_shape_table, &esk_shape_tree,
                            &esk_shape_config));
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
