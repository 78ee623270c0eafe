// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program with batches and keys in order calls beside get and put.
#ifndef EXAMPLES_MINIMAL_KV_ORDER_H
#define EXAMPLES_MINIMAL_KV_ORDER_H

#include "esker/esker.h"

/* -DMINIMAL_ORDER=1: the program makes these calls. */
#ifndef MINIMAL_ORDER
#define MINIMAL_ORDER 0
#endif

enum { ORDER_KEYS = 8, ORDER_KEY_BYTES = 16 };

/// Changes two keys at once, and counts the keys of a prefix in order.
static int order_run(struct esk_kv *kv, uint32_t *count) {
    static uint8_t memory[ESK_KV_CURSOR_BYTES(ORDER_KEYS, ORDER_KEY_BYTES)];
    const struct esk_kv_query query = {.prefix = "wifi/", .prefix_bytes = 5};
    struct esk_kv_change changes[2];
    struct esk_kv_cursor cursor;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    esk_kv_change_text(&changes[0], "wifi/name", "home");
    esk_kv_change_u32(&changes[1], "wifi/channel", 11);
    ESK_TRY(esk_kv_change_many(kv, changes, 2, NULL));
    ESK_TRY(esk_kv_cursor_open(kv, &cursor, &query, memory, sizeof memory));
    int status = esk_kv_cursor_next(kv, &cursor, key, &bytes);
    while (status == ESK_OK) {
        ++*count;
        status = esk_kv_cursor_next(kv, &cursor, key, &bytes);
    }
    return status == ESK_END ? ESK_OK : status;
}

#endif
