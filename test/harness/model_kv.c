// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/model_kv.h"

#include <stdio.h>
#include <string.h>

static uint64_t mixed(uint64_t value) {
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

uint32_t esk_model_kv_random(struct esk_model_kv *model, uint32_t bound) {
    model->random += UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(mixed(model->random) % bound);
}

static uint8_t key_make(const struct esk_model_kv *model, uint16_t key,
                        uint8_t *bytes) {
    uint32_t room = model->table.key_max - 2u;
    uint8_t count = (uint8_t)(2u + mixed(key + 1u) % room);
    for (uint8_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)('a' + mixed(key * 251u + i) % 26);
    }
    bytes[0] = (uint8_t)key;
    bytes[1] = (uint8_t)(key >> 8);
    return count;
}

static uint32_t value_make(const struct esk_model_kv *model, uint16_t key,
                           uint32_t version, uint8_t *bytes) {
    uint64_t seed = mixed((uint64_t)version << 16 | key);
    /* Mostly short ones. */
    uint32_t most = model->table.value_max;
    uint32_t bound = seed % 8 == 0 ? most : most / 4;
    uint32_t count = (uint32_t)(seed >> 8) % (bound + 1);
    for (uint32_t i = 0; i < count; i++) {
        bytes[i] = (uint8_t)mixed(seed + i);
    }
    return count;
}

int esk_model_kv_open(struct esk_model_kv *model) {
    const struct esk_model_kv_table *table = &model->table;
    bool is_later = model->opens++ % 2 == 1 && table->pending_later != 0;
    uint16_t pending = is_later ? table->pending_later : table->pending;
    const struct esk_kv_config config = {
        .keys = pending != 0 ? pending : table->keys,
        .part = table->pending != 0 ? &esk_kv_part_index : NULL,
        .replay_pages = table->replay_pages};
    const struct esk_kv_bare bare = {.id = 0x6B76,
                                     .checksum = model->table.checksum,
                                     .live_percent = model->table.live_percent};
    esk_sim_power_on(model->sim);
    model->kv = NULL;
    if (model->table.bare) {
        return esk_kv_open_bare(&model->kv, &model->volume, model->device, 0,
                                &bare, &config, model->arena,
                                sizeof model->arena);
    }
    int status = esk_volume_mount(&model->volume, model->device, 0,
                                  model->arena, sizeof model->arena);
    return status != ESK_OK
               ? status
               : esk_kv_open(&model->kv, &model->volume, "kv", &config);
}

int esk_model_kv_make(struct esk_model_kv *model,
                      const struct esk_model_kv_run *run, uint64_t seed) {
    const struct esk_model_kv_table *table = &run->table;
    struct esk_sim_config config = run->config;
    struct esk_volume_config volume = {.uuid = {7},
                                       .checksum = table->checksum,
                                       .tables_max = 1,
                                       .overwrite = true};
    const struct esk_kv_spec spec = {.name = "kv",
                                     .blocks = table->blocks,
                                     .live_percent = table->live_percent,
                                     .index_keys =
                                         table->pending != 0 ? table->keys : 0};
    esk_sim_destroy(model->sim);
    memset(model, 0, sizeof *model);
    model->table = *table;
    model->random = seed;
    config.seed = seed;
    ESK_TRY(esk_sim_create(&model->sim, &config));
    model->device = esk_sim_device(model->sim);
    if (table->bare) {
        return esk_model_kv_open(model);
    }
    ESK_TRY(esk_volume_format(model->device, &volume, model->arena,
                              sizeof model->arena));
    ESK_TRY(esk_volume_mount(&model->volume, model->device, 0, model->arena,
                             sizeof model->arena));
    ESK_TRY(esk_kv_create(&model->volume, &spec, NULL));
    return esk_model_kv_open(model);
}

void esk_model_kv_free(struct esk_model_kv *model) {
    esk_sim_destroy(model->sim);
    model->sim = NULL;
}

/// Records a change that the table accepted, or may have accepted.
static void op_add(struct esk_model_kv *model, uint16_t key, uint32_t version) {
    model->op[model->ops].key = key;
    model->op[model->ops].more = false;
    model->op[model->ops].version = version;
    model->ops++;
}

int esk_model_kv_put(struct esk_model_kv *model, uint16_t key) {
    static uint8_t value[ESK_MODEL_KV_VALUE_MAX];
    uint8_t name[ESK_KV_KEY_BYTES_MAX];
    uint8_t name_bytes = key_make(model, key, name);
    uint32_t version = model->version + 1;
    uint32_t bytes = value_make(model, key, version, value);
    model->version = version;
    int status =
        esk_kv_put(model->kv, name, name_bytes, value, bytes, ESK_KV_BYTES);
    if (status == ESK_FULL) {
        model->full++;
        return ESK_OK;
    }
    op_add(model, key, version);
    if (status == ESK_OK) {
        model->now[key] = version;
    }
    return status;
}

int esk_model_kv_delete(struct esk_model_kv *model, uint16_t key) {
    uint8_t name[ESK_KV_KEY_BYTES_MAX];
    uint8_t name_bytes = key_make(model, key, name);
    int status = esk_kv_delete(model->kv, name, name_bytes);
    if (status == ESK_NOT_FOUND) {
        return model->now[key] == 0 ? ESK_OK : ESK_E_CORRUPT;
    }
    op_add(model, key, 0);
    if (status == ESK_OK) {
        model->now[key] = 0;
    }
    return status;
}

/// Draws `count` changes of different keys. versions: out, 0 of a delete.
/// Returns how many fit the buffers.
static uint16_t batch_draw(struct esk_model_kv *model, uint16_t count,
                           struct esk_kv_change *changes, uint16_t *keys,
                           uint32_t *versions) {
    static uint8_t names[ESK_MODEL_KV_BATCH_MAX][ESK_KV_KEY_BYTES_MAX];
    static uint8_t values[16 * ESK_MODEL_KV_VALUE_MAX];
    bool drawn[ESK_MODEL_KV_KEYS_MAX] = {false};
    uint32_t used = 0;
    uint16_t made = 0;
    count = count < model->table.keys ? count : model->table.keys;
    while (made < count &&
           used + ESK_MODEL_KV_VALUE_MAX <= (uint32_t)sizeof values) {
        uint16_t key = (uint16_t)esk_model_kv_random(model, model->table.keys);
        if (drawn[key]) {
            continue;
        }
        drawn[key] = true;
        struct esk_kv_change *change = &changes[made];
        memset(change, 0xA5, sizeof *change);
        bool is_delete =
            model->now[key] != 0 && esk_model_kv_random(model, 4) == 0;
        keys[made] = key;
        versions[made] = is_delete ? 0 : ++model->version;
        change->key = names[made];
        change->key_bytes = key_make(model, key, names[made]);
        change->value = values + used;
        change->type = is_delete ? ESK_KV_DELETED : ESK_KV_BYTES;
        change->bytes =
            is_delete ? 0
                      : value_make(model, key, versions[made], values + used);
        used += change->bytes;
        made++;
    }
    return made;
}

int esk_model_kv_batch(struct esk_model_kv *model, uint16_t count) {
    struct esk_kv_change changes[ESK_MODEL_KV_BATCH_MAX];
    uint16_t keys[ESK_MODEL_KV_BATCH_MAX];
    uint32_t versions[ESK_MODEL_KV_BATCH_MAX];
    uint16_t refused = UINT16_MAX;
    count = batch_draw(model, count, changes, keys, versions);
    int status = esk_kv_change_many(model->kv, changes, count, &refused);
    if ((refused == UINT16_MAX) != (status == ESK_OK) ||
        status == ESK_NOT_FOUND) {
        return ESK_E_CORRUPT; /* the deletes are of keys that are there */
    }
    if (status == ESK_FULL || status == ESK_E_LIMIT) {
        model->full++;
        return ESK_OK;
    }
    for (uint16_t i = 0; i < count && status == ESK_OK; i++) {
        op_add(model, keys[i], versions[i]);
        model->op[model->ops - 1].more = i + 1 < count;
        model->now[keys[i]] = versions[i];
    }
    model->batches += status == ESK_OK ? 1 : 0;
    return status;
}

int esk_model_kv_sync(struct esk_model_kv *model) {
    ESK_TRY(esk_kv_sync(model->kv));
    memcpy(model->synced, model->now, sizeof model->synced);
    model->ops = 0;
    return ESK_OK;
}

int esk_model_kv_step(struct esk_model_kv *model) {
    uint8_t one_in = model->table.sync_one_in;
    uint16_t key = (uint16_t)esk_model_kv_random(model, model->table.keys);
    if (model->ops + 2 + model->table.batch_max >= ESK_MODEL_KV_OPS_MAX ||
        esk_model_kv_random(model, one_in != 0 ? one_in : 4) == 0) {
        return esk_model_kv_sync(model);
    }
    uint32_t most = model->table.batch_max;
    if (most > 0 && esk_model_kv_random(model, 2) == 0) {
        return esk_model_kv_batch(
            model, (uint16_t)(1 + esk_model_kv_random(model, most)));
    }
    if (esk_model_kv_random(model, 8) == 0) {
        return esk_model_kv_delete(model, key);
    }
    return esk_model_kv_put(model, key);
}

bool esk_model_kv_value_is(struct esk_model_kv *model,
                           struct esk_kv_snapshot *snapshot, uint16_t key,
                           uint32_t version, int *status) {
    static uint8_t wanted[ESK_MODEL_KV_VALUE_MAX];
    static uint8_t found[ESK_MODEL_KV_VALUE_MAX];
    uint8_t name[ESK_KV_KEY_BYTES_MAX];
    uint8_t name_bytes = key_make(model, key, name);
    uint32_t bytes = 0;
    *status = snapshot != NULL
                  ? esk_kv_snapshot_get(snapshot, name, name_bytes, found,
                                        sizeof found, &bytes, NULL)
                  : esk_kv_get(model->kv, name, name_bytes, found, sizeof found,
                               &bytes, NULL);
    if (version == 0) {
        return *status == ESK_NOT_FOUND;
    }
    return *status == ESK_OK &&
           bytes == value_make(model, key, version, wanted) &&
           memcmp(found, wanted, bytes) == 0;
}

/// Whether `key` has its value of `version`. status: of the get.
static bool value_is(struct esk_model_kv *model, uint16_t key, uint32_t version,
                     int *status) {
    return esk_model_kv_value_is(model, NULL, key, version, status);
}

/// Whether an ordered cursor returns `there` keys in order, with memory for a
/// part of them; one way or the other, from one call to the next.
static bool order_verify(struct esk_model_kv *model, uint32_t there) {
    static uint8_t memory[2048];
    uint8_t names[2][ESK_KV_KEY_BYTES_MAX];
    uint8_t bytes[2] = {0, 0};
    const struct esk_kv_query query = {.backward = model->version % 2 == 1};
    struct esk_kv_cursor cursor;
    uint32_t count = 0;
    bool is_ordered = true;
    int status =
        esk_kv_cursor_open(model->kv, &cursor, &query, memory, sizeof memory);
    while (status == ESK_OK && count <= there) {
        uint32_t at = count % 2;
        status = esk_kv_cursor_next(model->kv, &cursor, names[at], &bytes[at]);
        if (status == ESK_OK && count++ > 0) {
            uint8_t least = bytes[0] < bytes[1] ? bytes[0] : bytes[1];
            int order = memcmp(names[at], names[1 - at], least);
            order = order != 0 ? order : bytes[at] - bytes[1 - at];
            is_ordered =
                is_ordered && order != 0 && (order < 0) == query.backward;
        }
    }
    if (status != ESK_END || count != there || !is_ordered) {
        snprintf(model->why, sizeof model->why,
                 "%lu keys: a cursor %s has %lu%s, status %d",
                 (unsigned long)there, query.backward ? "down" : "up",
                 (unsigned long)count, is_ordered ? "" : ", in disorder",
                 status);
        return false;
    }
    return true;
}

bool esk_model_kv_verify(struct esk_model_kv *model) {
    uint32_t there = model->others;
    uint32_t walked = 0;
    uint32_t cursor = 0;
    uint8_t name[ESK_KV_KEY_BYTES_MAX];
    uint8_t name_bytes = 0;
    int status = ESK_OK;
    for (uint16_t key = 0; key < model->table.keys; key++) {
        if (!value_is(model, key, model->now[key], &status)) {
            snprintf(model->why, sizeof model->why,
                     "key %u is not of version %lu: status %d", key,
                     (unsigned long)model->now[key], status);
            return false;
        }
        there += model->now[key] != 0 ? 1 : 0;
    }
    while ((status = esk_kv_next(model->kv, &cursor, name, &name_bytes)) ==
           ESK_OK) {
        walked++;
    }
    struct esk_kv_report report;
    struct esk_kv_stats stats;
    int checked = esk_kv_check(model->kv, &report);
    esk_kv_stats(model->kv, &stats);
    if (status != ESK_END || walked != there || checked != ESK_OK ||
        report.keys != there || stats.keys != there) {
        snprintf(model->why, sizeof model->why,
                 "%lu keys: walked %lu, status %d; check %d, %lu keys, "
                 "%lu pages lost, %lu keys lost",
                 (unsigned long)there, (unsigned long)walked, status, checked,
                 (unsigned long)report.keys, (unsigned long)report.pages_lost,
                 (unsigned long)report.keys_lost);
        return false;
    }
    return order_verify(model, there);
}

void esk_model_kv_compare(struct esk_model_kv *model, unsigned *wrong,
                          unsigned *corrupt) {
    for (uint16_t key = 0; key < model->table.keys; key++) {
        int status = ESK_OK;
        bool is_right = value_is(model, key, model->synced[key], &status);
        *corrupt += status == ESK_E_CORRUPT ? 1 : 0;
        *wrong += !is_right && status != ESK_E_CORRUPT ? 1 : 0;
    }
}

bool esk_model_kv_recover(struct esk_model_kv *model) {
    int status = ESK_OK;
    status = esk_model_kv_open(model);
    if (status != ESK_OK) {
        snprintf(model->why, sizeof model->why, "open: status %d", status);
        return false;
    }
    struct esk_kv_stats stats;
    esk_kv_stats(model->kv, &stats);
    if (stats.pages_lost > 0 || stats.records_lost > 0) {
        snprintf(model->why, sizeof model->why,
                 "the open told of %lu pages and %lu records lost",
                 (unsigned long)stats.pages_lost,
                 (unsigned long)stats.records_lost);
        return false;
    }
    memcpy(model->now, model->synced, sizeof model->now);
    for (uint16_t prefix = 0;; prefix++) {
        uint16_t key = 0;
        while (key < model->table.keys &&
               value_is(model, key, model->now[key], &status)) {
            key++;
        }
        if (key == model->table.keys) {
            break;
        }
        if (prefix == model->ops) {
            snprintf(model->why, sizeof model->why,
                     "no prefix of %u changes: key %u, status %d", model->ops,
                     key, status);
            return false;
        }
        do {
            model->now[model->op[prefix].key] = model->op[prefix].version;
        } while (model->op[prefix].more && ++prefix < model->ops);
    }
    memcpy(model->synced, model->now, sizeof model->synced);
    model->ops = 0;
    return true;
}
