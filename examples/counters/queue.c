// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The numbers of the oldest and the newest message are not stored: the keys
/// say them. Power loss takes back the newest changes, the last one first. So
/// the numbers that are there follow one another, but for a damaged record.
#include "examples/counters/queue.h"

#include <stddef.h>

enum { KEY_BYTES = 5 };

/// A message's key: 'q', then its number.
static void key_make(uint32_t number, uint8_t *key) {
    key[0] = 'q';
    for (uint8_t i = 1; i < KEY_BYTES; i++) {
        key[i] = (uint8_t)(number & 0xFFu);
        number >>= 8;
    }
}

static uint32_t key_number(const uint8_t *key) {
    uint32_t number = 0;
    for (uint8_t i = KEY_BYTES - 1; i > 0; i--) {
        number = number << 8 | key[i];
    }
    return number;
}

int queue_open(struct queue *queue, struct esk_kv *kv, uint32_t most) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint32_t cursor = 0;
    bool is_empty = true;
    *queue = (struct queue){.kv = kv, .most = most};
    int status = esk_kv_next(kv, &cursor, key, &key_bytes);
    while (status == ESK_OK || status == ESK_E_CORRUPT) {
        if (status == ESK_OK && key_bytes == KEY_BYTES && key[0] == 'q') {
            uint32_t number = key_number(key);
            if (is_empty || number < queue->first) {
                queue->first = number;
            }
            if (number >= queue->next) {
                queue->next = number + 1;
            }
            is_empty = false;
        }
        status = esk_kv_next(kv, &cursor, key, &key_bytes);
    }
    return status == ESK_END ? ESK_OK : status;
}

int queue_push(struct queue *queue, const void *message, uint16_t bytes) {
    uint8_t key[KEY_BYTES];
    if (queue->next - queue->first >= queue->most) {
        return ESK_FULL;
    }
    key_make(queue->next, key);
    ESK_TRY(
        esk_kv_put(queue->kv, key, KEY_BYTES, message, bytes, ESK_KV_BYTES));
    queue->next++;
    return esk_kv_sync(queue->kv);
}

int queue_peek(struct queue *queue, void *message, uint16_t room,
               uint32_t *bytes) {
    uint8_t key[KEY_BYTES];
    while (queue->first < queue->next) {
        key_make(queue->first, key);
        int status =
            esk_kv_get(queue->kv, key, KEY_BYTES, message, room, bytes, NULL);
        if (status != ESK_NOT_FOUND) {
            return status;
        }
        queue->first++; /* its record was lost */
    }
    return ESK_END;
}

int queue_pop(struct queue *queue) {
    uint8_t key[KEY_BYTES];
    if (queue->first >= queue->next) {
        return ESK_END;
    }
    key_make(queue->first, key);
    int status = esk_kv_delete(queue->kv, key, KEY_BYTES);
    if (status == ESK_OK || status == ESK_NOT_FOUND) {
        queue->first++;
        status = ESK_OK;
    }
    return status;
}
