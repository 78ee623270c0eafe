// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The smallest firmware with a kv table: mount, open, get, put, sync. `make
/// size` links it for every chip; the driver is examples/minimal's.
///
/// The volume and its table `set` were made before, by a host or a factory
/// program.
#include <stddef.h>
#include <stdint.h>

#include "driver.h"
#include "esker/esker.h"

enum { PAGE_BYTES = 256, BLOCK_PAGES = 16, KEYS = 60, BLOCKS = 4 };

enum {
    ARENA_BYTES = ESK_KV_ARENA_BYTES(PAGE_BYTES, KEYS,
                                     (uint32_t)BLOCKS *BLOCK_PAGES *PAGE_BYTES),
};

static const struct esk_device device = {
    .ops = &driver_ops,
    .geometry = {.block_count = 16,
                 .block_pages = BLOCK_PAGES,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = 1,
                 .erased_value = 0xFF},
};

static const struct esk_kv_config config = {.keys = KEYS};

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
    return esk_kv_sync(kv);
}

int main(void) {
    return run();
}
