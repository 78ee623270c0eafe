// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a kv table: mount, open, get, put, sync. `make
/// size` links it for every chip; the driver is examples/minimal's.
///
/// The volume and its table `set` were made before, by a host or a factory
/// program.
///
///     -DMINIMAL_ORDER=1  batches and keys in order, too
///     -DMINIMAL_INDEX=1  the table has an index
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"
#include "kv_order.h"

#ifndef MINIMAL_INDEX
#define MINIMAL_INDEX 0
#endif

enum { PAGE_BYTES = 256, BLOCK_PAGES = 16, KEYS = 60, BLOCKS = 4 };

enum { REGION_BYTES = BLOCKS * BLOCK_PAGES * PAGE_BYTES, INDEX_KEYS = 200 };

enum {
    ARENA_BYTES = MINIMAL_INDEX
                      ? ESK_KV_INDEX_ARENA_BYTES(PAGE_BYTES, KEYS, REGION_BYTES,
                                                 INDEX_KEYS)
                      : ESK_KV_ARENA_BYTES(PAGE_BYTES, KEYS, REGION_BYTES),
};

static const struct esk_device device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 16,
                 .block_pages = BLOCK_PAGES,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

static const struct esk_kv_config config = {
    .keys = KEYS,
    .part = MINIMAL_INDEX ? &esk_kv_part_index : NULL,
};

static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static int run(void) {
    uint32_t boots = 0;
    ESK_TRY(esk_volume_mount(&volume, &device, 0, arena, sizeof arena));
    ESK_TRY(esk_kv_open(&kv, &volume, "set", &config));
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
