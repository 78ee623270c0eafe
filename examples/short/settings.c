// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Settings with defaults: from reset to the first value.
#include <string.h>

#include "examples/short/short.h"

#define SETTING(F) F(TEXT(12), name, "") F(U32, value, "")
ESK_ROW(setting, SETTING);

static struct esk_volume volume;
static struct esk_tree *settings;
static uint64_t
    arena[ESK_TREE_ARENA_BYTES(SHORT_PAGE_BYTES, 2, 12, ESK_TREE_MOVING_BYTES) /
          sizeof(uint64_t)];

int short_settings_start(const struct esk_device *flash) {
    static const struct esk_volume_config config = {.uuid = {'s', 'e', 't'}};
    static const struct esk_tree_spec spec = {
        .table = {.name = "settings", ESK_ROW_SPEC(setting)},
        .store = ESK_STORE_WANDERING};
    static const struct esk_tree_config open = {.store = &esk_store_wandering};
    ESK_TRY(esk_volume_mount_or_format(&volume, flash, 0, &config, arena,
                                       sizeof arena));
    return esk_tree_open_or_create(&settings, &volume, &spec, &open, NULL);
}

uint32_t short_setting(const char name[12], uint32_t otherwise) {
    struct setting row;
    return esk_tree_get(settings, name, &row) == ESK_OK ? row.value : otherwise;
}

int short_setting_set(const char name[12], uint32_t value) {
    struct setting row = {.value = value};
    memcpy(row.name, name, sizeof row.name);
    ESK_TRY(esk_tree_put(settings, &row));
    return esk_tree_sync(settings);
}
