// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The batch: the changes of a set, a reset or an update, written at once.
///
/// Its memory is in struct settings, not on the stack: a chip's linker then
/// counts it. Numbers are encoded into `values`; texts stay where they are.
#include "examples/settings/settings_batch.h"

#include <stddef.h>
#include <string.h>

int settings_batch_begin(struct settings *settings) {
    settings->change_count = 0;
    settings->value_bytes = 0;
    return settings->is_newer ? (int)SETTINGS_NEWER : ESK_OK;
}

static int change_add(struct settings *settings, const char *name, uint8_t type,
                      const void *value, uint8_t bytes) {
    if (settings->change_count == SETTINGS_CHANGES_MAX) {
        return ESK_E_LIMIT;
    }
    settings->changes[settings->change_count++] =
        (struct esk_kv_change){.key = name,
                               .key_bytes = (uint8_t)strlen(name),
                               .value = value,
                               .bytes = bytes,
                               .type = type};
    return ESK_OK;
}

/// The number that the table stores for a value that is no text: see enum
/// esk_kv_type.
static uint32_t number_of(uint8_t type, const union setting_value *value) {
    if (type == ESK_KV_SIGNED) {
        uint32_t twice = (uint32_t)value->i32 << 1;
        return value->i32 < 0 ? ~twice : twice;
    }
    return type == ESK_KV_BOOL ? value->flag : value->u32;
}

int settings_batch_put(struct settings *settings, const char *name,
                       uint8_t type, const union setting_value *value) {
    uint8_t *encoded = settings->values + settings->value_bytes;
    uint8_t bytes = 0;
    if (type == ESK_KV_TEXT) {
        size_t length = strlen(value->text);
        return length > SETTINGS_TEXT_BYTES
                   ? ESK_E_INVALID
                   : change_add(settings, name, type, value->text,
                                (uint8_t)length);
    }
    if (settings->value_bytes + sizeof(uint32_t) > SETTINGS_VALUE_BYTES) {
        return ESK_E_LIMIT;
    }
    uint32_t number = number_of(type, value);
    for (; number != 0 || (type == ESK_KV_BOOL && bytes == 0); number >>= 8) {
        encoded[bytes++] = (uint8_t)number;
    }
    settings->value_bytes = (uint16_t)(settings->value_bytes + bytes);
    return change_add(settings, name, type, encoded, bytes);
}

int settings_batch_delete(struct settings *settings, const char *name) {
    return change_add(settings, name, ESK_KV_DELETED, NULL, 0);
}

int settings_batch_commit(struct settings *settings) {
    ESK_TRY(esk_kv_change_many(settings->kv, settings->changes,
                               settings->change_count, NULL));
    return esk_kv_sync(settings->kv);
}
