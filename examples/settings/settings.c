// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Open, get, set, count, reset.
#include "examples/settings/settings.h"

#include <stddef.h>
#include <string.h>

#include "esker/assert.h"
#include "examples/settings/settings_batch.h"

static const struct esk_kv_config config = {.keys = SETTINGS_KEYS_MAX};

/// The settings of a table that was just opened.
static int begin(struct settings *settings) {
    int status = settings_update(settings);
    if (status != ESK_OK && status != SETTINGS_NEWER) {
        esk_kv_close(settings->kv);
        settings->kv = NULL;
    }
    return status;
}

int settings_open(struct settings *settings, const struct settings_set *set,
                  struct esk_volume *volume) {
    static const struct esk_kv_spec spec = {.name = "settings",
                                            .blocks = SETTINGS_BLOCKS};
    *settings = (struct settings){.set = set};
    ESK_TRY(esk_kv_open_or_create(&settings->kv, volume, &spec, &config, NULL));
    return begin(settings);
}

int settings_open_bare(struct settings *settings,
                       const struct settings_set *set,
                       struct esk_volume *volume,
                       const struct esk_device *device, void *arena,
                       uint32_t arena_bytes) {
    static const struct esk_kv_bare bare = {.id = 0x5E771465};
    *settings = (struct settings){.set = set};
    ESK_TRY(esk_kv_open_bare(&settings->kv, volume, device, 0, &bare, &config,
                             arena, arena_bytes));
    return begin(settings);
}

static const struct setting *setting_at(const struct settings *settings,
                                        uint8_t id, uint8_t type) {
    ESK_ASSERT(id < settings->set->count);
    ESK_ASSERT(settings->set->settings[id].type == type);
    (void)type;
    return &settings->set->settings[id];
}

int settings_get_u32(const struct settings *settings, uint8_t id,
                     uint32_t *value) {
    const struct setting *setting = setting_at(settings, id, ESK_KV_UNSIGNED);
    *value = setting->initial.u32;
    return esk_kv_get_u32(settings->kv, setting->name, value);
}

int settings_get_i32(const struct settings *settings, uint8_t id,
                     int32_t *value) {
    const struct setting *setting = setting_at(settings, id, ESK_KV_SIGNED);
    *value = setting->initial.i32;
    return esk_kv_get_i32(settings->kv, setting->name, value);
}

int settings_get_bool(const struct settings *settings, uint8_t id,
                      bool *value) {
    const struct setting *setting = setting_at(settings, id, ESK_KV_BOOL);
    *value = setting->initial.flag;
    return esk_kv_get_bool(settings->kv, setting->name, value);
}

int settings_get_text(const struct settings *settings, uint8_t id, char *text,
                      uint16_t room) {
    const struct setting *setting = setting_at(settings, id, ESK_KV_TEXT);
    ESK_ASSERT(strlen(setting->initial.text) < room);
    strcpy(text, setting->initial.text);
    return esk_kv_get_text(settings->kv, setting->name, text, room);
}

int settings_set_many(struct settings *settings,
                      const struct settings_change *changes, uint8_t count) {
    ESK_TRY(settings_batch_begin(settings));
    for (uint8_t i = 0; i < count; i++) {
        ESK_ASSERT(changes[i].id < settings->set->count);
        const struct setting *setting = &settings->set->settings[changes[i].id];
        ESK_TRY(settings_batch_put(settings, setting->name, setting->type,
                                   &changes[i].value));
    }
    return settings_batch_commit(settings);
}

static int set_one(struct settings *settings, uint8_t id, uint8_t type,
                   union setting_value value) {
    const struct settings_change change = {.id = id, .value = value};
    (void)setting_at(settings, id, type);
    return settings_set_many(settings, &change, 1);
}

int settings_set_u32(struct settings *settings, uint8_t id, uint32_t value) {
    return set_one(settings, id, ESK_KV_UNSIGNED,
                   (union setting_value){.u32 = value});
}

int settings_set_i32(struct settings *settings, uint8_t id, int32_t value) {
    return set_one(settings, id, ESK_KV_SIGNED,
                   (union setting_value){.i32 = value});
}

int settings_set_bool(struct settings *settings, uint8_t id, bool value) {
    return set_one(settings, id, ESK_KV_BOOL,
                   (union setting_value){.flag = value});
}

int settings_set_text(struct settings *settings, uint8_t id, const char *text) {
    return set_one(settings, id, ESK_KV_TEXT,
                   (union setting_value){.text = text});
}

int settings_count(struct settings *settings, uint8_t id) {
    uint32_t value = 0;
    int status = settings_get_u32(settings, id, &value);
    // A count that cannot be read does not begin again.
    return status == ESK_OK || status == ESK_NOT_FOUND
               ? settings_set_u32(settings, id, value + 1)
               : status;
}

int settings_reset(struct settings *settings, bool keeps_credentials) {
    uint8_t kept = SETTING_COUNTER;
    kept = (uint8_t)(kept | (keeps_credentials ? SETTING_CREDENTIAL : 0));
    ESK_TRY(settings_batch_begin(settings));
    for (uint8_t i = 0; i < settings->set->count; i++) {
        const struct setting *setting = &settings->set->settings[i];
        const char *name = setting->name;
        if ((setting->flags & kept) != 0) {
            continue;
        }
        int status = esk_kv_exists(settings->kv, name, (uint8_t)strlen(name));
        if (status == ESK_OK) {
            status = settings_batch_delete(settings, name);
        }
        if (status != ESK_OK && status != ESK_NOT_FOUND) {
            return status;
        }
    }
    return settings_batch_commit(settings);
}
