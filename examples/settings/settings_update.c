// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A firmware that meets the settings of another one.
///
///     stored version    the settings
///     none              are new, or older than versions: as version 0
///     lower             go through the steps, in one batch with the version
///     the same          are used
///     higher            are not changed: SETTINGS_NEWER
///
/// Invariant: the names of a set are on flash exactly while its version is.
/// So a step needs no memory of how far an update came before power loss.
#include <stddef.h>
#include <string.h>

#include "examples/settings/settings_batch.h"

static const char version_key[] = "set_version";

/// Reads the value of a step's name; a text into the batch's values.
static int value_read(struct settings *settings,
                      const struct settings_step *step,
                      union setting_value *value) {
    struct esk_kv *kv = settings->kv;
    char *text = (char *)settings->values + settings->value_bytes;
    uint16_t room = (uint16_t)(SETTINGS_VALUE_BYTES - settings->value_bytes);
    switch (step->type) {
    case ESK_KV_UNSIGNED:
        return esk_kv_get_u32(kv, step->name, &value->u32);
    case ESK_KV_SIGNED:
        return esk_kv_get_i32(kv, step->name, &value->i32);
    case ESK_KV_BOOL:
        return esk_kv_get_bool(kv, step->name, &value->flag);
    default:
        ESK_TRY(esk_kv_get_text(kv, step->name, text, room));
        settings->value_bytes =
            (uint16_t)(settings->value_bytes + strlen(text) + 1);
        value->text = text;
        return ESK_OK;
    }
}

/// Adds the changes of one step to the batch.
static int step_add(struct settings *settings,
                    const struct settings_step *step) {
    union setting_value was;
    union setting_value is;
    int status = value_read(settings, step, &was);
    if (status == ESK_NOT_FOUND) {
        return ESK_OK; // it had its default, and now has the new one
    }
    // A value that is not of its type is dropped.
    if (status != ESK_OK && status != ESK_E_SCHEMA) {
        return status;
    }
    bool stays = status == ESK_OK && step->to != SETTINGS_DROPPED;
    is = was;
    if (stays && step->convert != NULL) {
        stays = step->convert(&was, &is);
    }
    if (!stays) {
        return settings_batch_delete(settings, step->name);
    }
    const struct setting *to = &settings->set->settings[step->to];
    if (strcmp(step->name, to->name) != 0) {
        ESK_TRY(settings_batch_delete(settings, step->name));
    }
    return settings_batch_put(settings, to->name, to->type, &is);
}

int settings_update(struct settings *settings) {
    const struct settings_set *set = settings->set;
    const union setting_value version = {.u32 = set->version};
    uint32_t stored = 0;
    int status = esk_kv_get_u32(settings->kv, version_key, &stored);
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return status;
    }
    settings->is_newer = stored > set->version;
    ESK_TRY(settings_batch_begin(settings));
    if (stored == set->version) {
        return ESK_OK;
    }
    for (uint8_t i = 0; i < set->step_count; i++) {
        if (stored < set->steps[i].below) {
            ESK_TRY(step_add(settings, &set->steps[i]));
        }
    }
    ESK_TRY(
        settings_batch_put(settings, version_key, ESK_KV_UNSIGNED, &version));
    return settings_batch_commit(settings);
}
