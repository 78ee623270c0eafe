// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes all code that reads an image with kv tables (test/fuzz/hostile.h), of
/// which the second has an index.
///
///     byte 2   most keys in RAM
#include "test/fuzz/hostile.h"
#include "volume/volume.h"

enum {
    VALUE_BYTES_MAX = 300,
    KEYS = 40,
    BATCH = 5, ///< changes
};

static uint8_t value[VALUE_BYTES_MAX];

static uint8_t key_make(uint32_t i, uint8_t *key) {
    uint8_t bytes = (uint8_t)(1 + i * 7 % 30);
    memset(key, (int)('a' + i % 20), bytes);
    key[0] = (uint8_t)i;
    return bytes;
}

/* ------------------------------------------------------- the valid image */

/// Puts and deletes BATCH keys from number `first` on.
static void batch_put(struct esk_kv *kv, uint32_t first) {
    uint8_t keys[BATCH][ESK_KV_KEY_BYTES_MAX];
    struct esk_kv_change changes[BATCH];
    uint16_t refused = 0;
    memset(value, (int)first, sizeof value);
    for (uint32_t i = 0; i < BATCH; i++) {
        uint8_t bytes = key_make((first + i) % KEYS, keys[i]);
        bool deletes =
            (first + i) % 4 == 0 && esk_kv_exists(kv, keys[i], bytes) == ESK_OK;
        changes[i] = (struct esk_kv_change){
            .key = keys[i],
            .key_bytes = bytes,
            .value = value,
            .bytes = deletes ? 0 : (first + i) * 7 % 60,
            .type = deletes ? ESK_KV_DELETED : ESK_KV_BYTES};
    }
    (void)esk_kv_change_many(kv, changes, BATCH, &refused);
}

static void records_put(struct esk_kv *kv, uint32_t count) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = i * 29 % KEYS;
        uint8_t bytes = key_make(number, key);
        if (i % 7 == 6) {
            (void)esk_kv_delete(kv, key, bytes);
        } else {
            memset(value, (int)i, sizeof value);
            uint32_t length = i % 13 == 0 ? VALUE_BYTES_MAX : i * 11 % 50;
            (void)esk_kv_put(kv, key, bytes, value, length, ESK_KV_BYTES);
        }
        if (i % 11 == 5) {
            batch_put(kv, number);
        }
        if (i % 3 == 0) {
            (void)esk_kv_sync(kv);
        }
    }
    (void)esk_kv_put_u32(kv, "boots", count);
    (void)esk_kv_put_text(kv, "name", "esker");
    (void)esk_kv_sync(kv);
}

/// A table; the second one has an index. Returns a status.
static int table_make(struct esk_volume *volume, bool second, uint32_t count) {
    const struct esk_kv_config config = {.keys = KEYS + 24,
                                         .part = &esk_kv_part_index};
    const struct esk_kv_spec spec = {.name = second ? "second" : "first",
                                     .blocks = 3,
                                     .index_keys = second ? KEYS + 2 : 0};
    struct esk_kv *kv = NULL;
    ESK_TRY(esk_volume_arena_set(volume, arena, sizeof arena));
    ESK_TRY(esk_kv_create(volume, &spec, NULL));
    ESK_TRY(esk_kv_open(&kv, volume, spec.name, &config));
    records_put(kv, count);
    esk_kv_close(kv);
    return ESK_OK;
}

static void tables_make(struct esk_volume *volume, bool few) {
    if (table_make(volume, false, few ? 30 : 400) != ESK_OK ||
        table_make(volume, true, few ? 20 : 250) != ESK_OK) {
        abort();
    }
}

static void tables_renew(struct esk_volume *volume) {
    (void)esk_volume_drop(volume, "first");
    (void)table_make(volume, false, 20);
}

/* ---------------------------------------------------------- what is called */

/// Reads all keys in order, with room for a few, in one call or in steps.
static void kv_read_in_order(struct esk_kv *kv, uint8_t how) {
    const struct esk_kv_query query = {.backward = how % 2 == 0,
                                       .step_keys = how % 4 == 0 ? 3 : 0};
    static uint8_t memory[ESK_KV_CURSOR_BYTES(2, ESK_KV_KEY_BYTES_MAX)];
    struct esk_kv_cursor cursor;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t left = 4 * IMAGE_BYTES_MAX;
    int status = esk_kv_cursor_open(kv, &cursor, &query, memory, sizeof memory);
    while (status != ESK_END) {
        scan_bound(&left);
        status = esk_kv_cursor_next(kv, &cursor, key, &bytes);
    }
}

static void kv_read(struct esk_kv *kv, uint8_t how) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes = 0;
    uint32_t cursor = 0;
    uint32_t number = 0;
    char text[8];
    struct esk_kv_report report;
    uint32_t left = IMAGE_BYTES_MAX;
    int status = ESK_OK;
    while (status != ESK_END) {
        scan_bound(&left);
        status = esk_kv_next(kv, &cursor, key, &bytes);
        if (status == ESK_OK) {
            (void)esk_kv_get(kv, key, bytes, value, sizeof value, NULL, NULL);
        }
    }
    kv_read_in_order(kv, how);
    (void)esk_kv_get_u32(kv, "boots", &number);
    (void)esk_kv_get_text(kv, "name", text, sizeof text);
    (void)esk_kv_check(kv, &report);
}

/// Opens the table with so many keys in RAM, reads and changes it.
static void kv_use(struct esk_volume *volume, const char *name, uint32_t keys,
                   uint8_t how) {
    const struct esk_kv_config config = {
        .keys = keys, .part = &esk_kv_part_index, .replay_pages = how % 3};
    struct esk_kv *kv = NULL;
    uint16_t done = 0;
    if (esk_volume_arena_set(volume, arena, sizeof arena) != ESK_OK ||
        esk_kv_open(&kv, volume, name, &config) != ESK_OK) {
        return;
    }
    kv_read(kv, how);
    records_put(kv, 150);
    (void)esk_volume_step(volume, 20, &done);
    kv_read(kv, how);
    esk_kv_close(kv);
}

static void table_use(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t how) {
    bool has_index = info->blocks[ESK_REGION_INDEX] != 0;
    /* With an index a page's records need room. */
    uint32_t least =
        has_index ? esk_volume_geometry(volume)->page_bytes / 4u : 1;
    if (info->kind != ESK_TABLE_KV) {
        return;
    }
    kv_use(volume, info->name, least + how % 64u, how);
    if (has_index) {
        kv_use(volume, info->name, least, how);
    }
}
