// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Copying what can be read of a kv table into another.
#include "esker/salvage.h"
#include "table/kv/kv.h"

int esk_kv_copy_open(struct esk_kv_copy *copy, struct esk_kv *from) {
    ESK_ASSERT(copy != NULL);
    memset(copy, 0, sizeof *copy);
    return esk_table_live(from);
}

/// Counts the key that was read last as lost.
static int key_lose(struct esk_kv_copy *copy) {
    copy->pending = false;
    copy->failed = false;
    copy->keys_lost++;
    return ESK_NOT_FOUND;
}

/// Reads the next key and its value. As esk_kv_copy_step.
static int key_read(struct esk_kv_copy *copy, struct esk_kv *from, void *value,
                    uint32_t value_bytes) {
    uint32_t before = copy->cursor;
    uint8_t key_bytes = 0;
    int status = esk_kv_next(from, &copy->cursor, copy->key, &key_bytes);
    copy->key_bytes = status == ESK_OK ? key_bytes : 0;
    copy->is_long = false;
    if (status == ESK_OK) {
        status = esk_kv_get(from, copy->key, key_bytes, value, value_bytes,
                            &copy->bytes, &copy->type);
    }
    if (status == ESK_END) {
        return status;
    }
    if (status == ESK_E_IO && !copy->failed) {
        copy->failed = true;
        copy->cursor = before;
        return status;
    }
    copy->is_long = status == ESK_OK && copy->bytes > value_bytes;
    if (status != ESK_OK || copy->is_long) {
        return key_lose(copy);
    }
    copy->failed = false;
    copy->pending = true;
    return ESK_OK;
}

/// Puts the key that was read last. As esk_kv_copy_step.
static int key_put(struct esk_kv_copy *copy, struct esk_kv *to,
                   const void *value) {
    int status = esk_kv_put(to, copy->key, copy->key_bytes, value, copy->bytes,
                            copy->type);
    copy->is_long = status == ESK_E_LIMIT;
    if (status == ESK_E_LIMIT || status == ESK_E_INVALID) {
        return key_lose(copy); /* `to` cannot have such a value */
    }
    ESK_TRY(status);
    copy->pending = false;
    copy->keys++;
    return ESK_OK;
}

int esk_kv_copy_step(struct esk_kv_copy *copy, struct esk_kv *from,
                     struct esk_kv *to, void *value, uint32_t value_bytes,
                     uint32_t keys) {
    ESK_ASSERT(copy != NULL && (value != NULL || value_bytes == 0));
    ESK_TRY(esk_table_live(from));
    ESK_TRY(esk_table_live(to));
    for (; keys > 0; keys--) {
        if (!copy->pending) {
            ESK_TRY(key_read(copy, from, value, value_bytes));
        }
        ESK_TRY(key_put(copy, to, value));
    }
    return ESK_OK;
}
