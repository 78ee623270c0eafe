// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Settings with defaults: from reset to the first value.
#include <stddef.h>

#include "examples/short/short.h"

enum { KEYS = 32, BLOCKS = 4, BYTES = BLOCKS * 8 * SHORT_PAGE_BYTES };

static struct esk_volume volume;
static struct esk_kv *settings;
static uint64_t
    arena[ESK_KV_ARENA_BYTES(SHORT_PAGE_BYTES, KEYS, BYTES) / sizeof(uint64_t)];

int short_settings_start(const struct esk_device *flash) {
    static const struct esk_volume_config config = {.uuid = {'s', 'e', 't'}};
    static const struct esk_kv_spec spec = {"settings", .blocks = BLOCKS};
    static const struct esk_kv_config open = {.keys = KEYS};
    ESK_TRY(esk_volume_mount_or_format(&volume, flash, 0, &config, arena,
                                       sizeof arena));
    return esk_kv_open_or_create(&settings, &volume, &spec, &open, NULL);
}

uint32_t short_setting(const char *name, uint32_t otherwise) {
    uint32_t value = otherwise;
    (void)esk_kv_get_u32(settings, name, &value);
    return value;
}

int short_setting_set(const char *name, uint32_t value) {
    ESK_TRY(esk_kv_put_u32(settings, name, value));
    return esk_kv_sync(settings);
}
