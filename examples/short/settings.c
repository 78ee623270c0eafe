// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Settings with defaults, in a small flash of their own: ten lines from reset
/// to the first value.
#include <stddef.h>

#include "examples/short/short.h"

static struct esk_volume volume;
static struct esk_kv *settings;
static uint64_t arena[ESK_KV_BARE_ARENA_BYTES(256, 32, 3 * 4096) / 8];

int short_settings(const struct esk_device *flash, uint32_t *baud) {
    static const struct esk_kv_bare bare = {.id = 1};
    static const struct esk_kv_config config = {.keys = 32};
    ESK_TRY(esk_kv_open_bare(&settings, &volume, flash, 0, &bare, &config,
                             arena, sizeof arena));
    return esk_kv_get_u32(settings, "baud", baud);
}

int short_setting_set(const char *name, uint32_t value) {
    ESK_TRY(esk_kv_put_u32(settings, name, value));
    return esk_kv_sync(settings);
}
