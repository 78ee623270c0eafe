// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a kv table whose shape is a constant: open, get,
/// put, sync.
///
///     cc -DESK_SHAPE='"set_shape.h"' -Iexamples/minimal_shape ...
///
/// for every file, the core's too. set_shape.h is the output of `esker header
/// factory.img set`; bare_shape.h is of a bare store, which needs no image, and
/// index_shape.h of a table with an index. -DMINIMAL_ORDER=1: batches and keys
/// in order, too.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"
#include "esker/shape.h"
#include "kv_order.h"

#ifndef MINIMAL_INDEX
#define MINIMAL_INDEX 0
#endif

enum {
    PAGE_BYTES = 256,
    BLOCKS = 4,
    BLOCK_PAGES = 16,
    KEYS = 60,
    REGION_BYTES = BLOCKS * BLOCK_PAGES * PAGE_BYTES,
    INDEX_KEYS = 200,
    HAS_INDEX = MINIMAL_INDEX,
    ARENA_BYTES = HAS_INDEX
                      ? ESK_KV_INDEX_ARENA_BYTES(PAGE_BYTES, KEYS, REGION_BYTES,
                                                 INDEX_KEYS)
                      : ESK_KV_BARE_ARENA_BYTES(PAGE_BYTES, KEYS, REGION_BYTES),
};

const struct esk_device flash_device = {
    .ops = &driver_ops,
    .geometry = ESK_SHAPE_GEOMETRY,
};

static const struct esk_kv_config config = {
    .keys = KEYS,
    .part = HAS_INDEX ? &esk_kv_part_index : NULL,
};

static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static int open(void) {
#ifdef ESK_SHAPE_BARE
    return esk_kv_open_bare(&kv, &volume, &flash_device, 0, &esk_shape_bare,
                            &config, arena, sizeof arena);
#else
    ESK_TRY(esk_volume_attach(&volume, &flash_device, 0, &esk_shape_volume,
                              arena, sizeof arena));
    return esk_kv_attach(&kv, &volume, &esk_shape_table, &esk_shape_kv,
                         &config);
#endif
}

static int run(void) {
    uint32_t boots = 0;
    ESK_TRY(open());
    int status = esk_kv_get_u32(kv, "boots", &boots);
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    ESK_TRY(esk_kv_put_u32(kv, "boots", boots + 1));
    if (MINIMAL_ORDER) {
        ESK_TRY(order_run(kv, &boots));
    }
    return esk_kv_sync(kv);
}

int main(void) {
    return run();
}
