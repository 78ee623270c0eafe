// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Kv tables and bare stores under damage: test/damage/versions.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/damage/versions.h"

enum {
    KEY_BYTES_MIN = 5,
    KEY_BYTES_MAX = 24,
    VALUE_BYTES_MAX = 420,
    LONG_ONE_IN = 40,
    RECORD_BYTES = 64, ///< about, with its part of a seal
    LAPS = 3,          ///< of the log when the table is made
    BATCH_MAX = 8,     ///< changes of a batch
    CHANGES = 30,      ///< of a stage
};

static struct esk_kv *run_kv;
static bool log_is_whole; ///< the damage is elsewhere

/// The newest batch that was tried, and before the damage.
static struct batch {
    uint16_t count;
    uint16_t key[BATCH_MAX];
    uint16_t version[BATCH_MAX];
} batch, base_batch;

// ------------------------------------------------------------------- keys

static uint8_t key_make(uint32_t k, uint8_t *key) {
    uint32_t spread = KEY_BYTES_MAX - KEY_BYTES_MIN + 1;
    uint8_t bytes = (uint8_t)(KEY_BYTES_MIN + mix64(k + 77) % spread);
    for (uint8_t i = 0; i < bytes; i++) {
        key[i] = (uint8_t)('a' + mix64((uint64_t)k * 300 + i) % 26);
    }
    key[0] = (uint8_t)k;
    key[1] = (uint8_t)(k >> 8);
    return bytes;
}

// The value begins with its version.
static uint32_t kv_value_make(uint32_t k, uint32_t v, uint8_t *value) {
    uint64_t seed = mix64(((uint64_t)k << 24) + v);
    uint32_t most = seed % LONG_ONE_IN == 0 ? VALUE_BYTES_MAX : 50;
    uint32_t bytes = 2 + (uint32_t)(mix64(seed) % (most - 1));
    for (uint32_t i = 0; i < bytes; i++) {
        value[i] = (uint8_t)mix64(seed + i);
    }
    value[0] = (uint8_t)v;
    value[1] = (uint8_t)(v >> 8);
    return bytes;
}

// The version of a value of key `k`, or NOT_SEEN with a finding.
static uint16_t value_check(uint32_t k, const uint8_t *value, uint32_t bytes,
                            const char *by) {
    uint8_t wanted[VALUE_BYTES_MAX + 1];
    uint16_t version = 0;
    if (bytes >= 2) {
        version = (uint16_t)(value[0] | value[1] << 8);
    }
    if (version == 0 || version > versions.table->log[k].version ||
        version_deletes(k, version) ||
        bytes != kv_value_make(k, version, wanted) ||
        memcmp(value, wanted, bytes) != 0) {
        found(versions.trial, FINDING_WRONG,
              "%s: key %u: value that nobody wrote", by, (unsigned)k);
        return NOT_SEEN;
    }
    return version;
}

// The number of a key, or KEYS_MAX with a finding.
static uint32_t key_check(const uint8_t *key, uint8_t bytes) {
    uint8_t wanted[KEY_BYTES_MAX];
    uint32_t k = bytes < 2 ? KEYS_MAX : (uint32_t)(key[0] | key[1] << 8);
    if (k >= versions.keys || bytes != key_make(k, wanted) ||
        memcmp(key, wanted, bytes) != 0) {
        found(versions.trial, FINDING_WRONG, "walk: key that nobody wrote");
        return KEYS_MAX;
    }
    return k;
}

// ------------------------------------------------------- table and volume

// Different keys. With an index they are many, so that it has several leaves.
static uint32_t keys_count(const struct table *table) {
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    uint32_t pages = table->of->data_blocks * geometry->block_pages;
    uint32_t room = pages * (geometry->page_bytes - 16u);
    uint32_t keys = room / RECORD_BYTES / (table->of->shape->has_index ? 2 : 4);
    return keys < KEYS_MAX ? keys : KEYS_MAX;
}

static int kv_create(struct table *table) {
    bool has_index = table->of->shape->has_index;
    const struct esk_kv_spec spec = {.name = "rows",
                                     .blocks = table->of->data_blocks,
                                     .index_keys =
                                         has_index ? keys_count(table) : 0};
    return table->of->shape->bare ? ESK_OK
                                  : esk_kv_create(&table->volume, &spec, NULL);
}

// Opens a bare store, which has the whole medium.
static int bare_open(struct table *table, const struct esk_kv_config *config) {
    static const struct esk_kv_bare bare = {.id = 9};
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    table->region_first = 0;
    table->region_pages = table->medium->pages;
    uint32_t bytes = ESK_KV_BARE_ARENA_BYTES(geometry->page_bytes, config->keys,
                                             (uint32_t)geometry->page_bytes *
                                                 table->region_pages);
    table->arena = malloc(bytes);
    return esk_kv_open_bare(&run_kv, &table->volume, &table->medium->device, 0,
                            &bare, config, table->arena, bytes);
}

static int kv_open(struct table *table) {
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    bool has_index = table->of->shape->has_index;
    const struct esk_kv_config config = {
        .keys = has_index ? geometry->page_bytes / 4u : (uint32_t)KEYS_MAX,
        .part = has_index ? &esk_kv_part_index : NULL};
    struct esk_table_info info;
    run_kv = NULL;
    if (table->of->shape->bare) {
        return bare_open(table, &config);
    }
    ESK_TRY(esk_volume_mount(&table->volume, &table->medium->device, 0,
                             TEST_SCRATCH));
    ESK_TRY(esk_volume_find(&table->volume, "rows", &info));
    table->region_first = info.block[0] * geometry->block_pages;
    table->region_pages = info.blocks[0] * geometry->block_pages;
    uint32_t region = (uint32_t)geometry->page_bytes * table->region_pages;
    uint32_t bytes =
        has_index
            ? ESK_KV_INDEX_ARENA_BYTES(geometry->page_bytes, config.keys,
                                       region, keys_count(table))
            : ESK_KV_ARENA_BYTES(geometry->page_bytes, config.keys, region);
    table->arena = malloc(bytes); // exact, so that a sanitizer finds an overrun
    ESK_TRY(esk_volume_arena_set(&table->volume, table->arena, bytes));
    int status = esk_kv_open(&run_kv, &table->volume, "rows", &config);
    return test_arena_end(&table->volume, status);
}

static void kv_close(struct table *table) {
    esk_kv_close(run_kv);
    run_kv = NULL;
    esk_volume_unmount(&table->volume);
    free(table->arena);
    table->arena = NULL;
    medium_cut(table->medium, table->rows);
}

// Puts or deletes the next version of a random key.
static int kv_change(struct table *table) {
    uint8_t key[KEY_BYTES_MAX];
    uint8_t value[VALUE_BYTES_MAX + 1];
    uint32_t k = (uint32_t)(mix64((uint64_t)table->rows++ + 5) % versions.keys);
    uint8_t key_bytes = key_make(k, key);
    struct row_log *log = &table->log[k];
    uint16_t v = ++log->version;
    int status;
    if (version_deletes(k, v)) {
        status = esk_kv_delete(run_kv, key, key_bytes);
        status = status == ESK_NOT_FOUND ? ESK_OK : status;
    } else {
        uint32_t bytes = kv_value_make(k, v, value);
        status = esk_kv_put(run_kv, key, key_bytes, value, bytes, ESK_KV_BYTES);
    }
    if (status == ESK_OK) {
        log->accepted = v;
    }
    return status;
}

// Draws the next version of a key for a batch. False: it has no change, the
// key is there already, or a key that is not there would be deleted.
static bool batch_draw(struct table *table, struct esk_kv_change *change,
                       uint8_t *key, uint8_t *value) {
    uint32_t k = (uint32_t)(mix64((uint64_t)table->rows++ + 5) % versions.keys);
    for (uint16_t i = 0; i < batch.count; i++) {
        if (batch.key[i] == k) {
            return false;
        }
    }
    uint16_t v = (uint16_t)(table->log[k].version + 1);
    bool deletes = version_deletes(k, v);
    uint8_t key_bytes = key_make(k, key);
    if (deletes && esk_kv_exists(run_kv, key, key_bytes) != ESK_OK) {
        return false;
    }
    table->log[k].version = v;
    *change = (struct esk_kv_change){
        .key = key,
        .key_bytes = key_bytes,
        .value = value,
        .bytes = deletes ? 0 : kv_value_make(k, v, value),
        .type = deletes ? ESK_KV_DELETED : ESK_KV_BYTES};
    batch.key[batch.count] = (uint16_t)k;
    batch.version[batch.count++] = v;
    return true;
}

// Changes up to BATCH_MAX random keys at once.
static int kv_batch(struct table *table) {
    static uint8_t keys[BATCH_MAX][KEY_BYTES_MAX];
    static uint8_t values[BATCH_MAX][VALUE_BYTES_MAX + 1];
    struct esk_kv_change changes[BATCH_MAX];
    batch.count = 0;
    for (uint32_t tries = 0; tries < BATCH_MAX; tries++) {
        uint16_t at = batch.count;
        (void)batch_draw(table, &changes[at], keys[at], values[at]);
    }
    int status = esk_kv_change_many(run_kv, changes, batch.count, NULL);
    for (uint16_t i = 0; i < batch.count && status == ESK_OK; i++) {
        table->log[batch.key[i]].accepted = batch.version[i];
    }
    return status;
}

static int kv_sync(struct table *table, uint8_t stage) {
    int status = esk_kv_sync(run_kv);
    if (status == ESK_OK) {
        versions_sync(table, stage);
    }
    return status;
}

// ------------------------------------------------------------ reading

static void kv_gets(void) {
    uint8_t key[KEY_BYTES_MAX];
    uint8_t value[VALUE_BYTES_MAX + 1];
    for (uint32_t k = 0; k < versions.keys; k++) {
        uint32_t bytes = 0;
        uint8_t key_bytes = key_make(k, key);
        int status = esk_kv_get(run_kv, key, key_bytes, value, sizeof value,
                                &bytes, NULL);
        if (status < 0) {
            told(versions.trial, "get of key %u: %d", (unsigned)k, status);
        } else if (status == ESK_OK && bytes > VALUE_BYTES_MAX) {
            found(versions.trial, FINDING_WRONG, "get of key %u: too long",
                  (unsigned)k);
        } else if (status == ESK_OK) {
            versions.seen[k] = value_check(k, value, bytes, "get");
            versions.seen_count++;
        }
    }
}

static void kv_walk(void) {
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint32_t cursor = 0;
    uint32_t count = 0;
    bool said = false;
    int status = ESK_OK;
    for (uint32_t n = 0; n < KEYS_MAX * 8 && status != ESK_END; n++) {
        status = esk_kv_next(run_kv, &cursor, key, &key_bytes);
        if (status < 0) {
            told(versions.trial, "walk: %d", status);
            said = true;
        }
        if (status != ESK_OK) {
            continue;
        }
        uint32_t k = key_check(key, key_bytes);
        count++;
        if (k < KEYS_MAX && versions.seen[k] == NOT_SEEN &&
            !versions.trial->told) {
            found(versions.trial, FINDING_INDEX, "key %u by walk, not by get",
                  (unsigned)k);
        }
    }
    if (status != ESK_END) {
        found(versions.trial, FINDING_HANG, "walk: no end");
    }
    if (!said && !versions.trial->told && count != versions.seen_count) {
        found(versions.trial, FINDING_INDEX, "%u keys by get, %u by walk",
              (unsigned)versions.seen_count, (unsigned)count);
    }
}

static void kv_reports(void) {
    struct esk_kv_report report;
    struct esk_kv_stats stats;
    int status = esk_kv_check(run_kv, &report);
    if (status != ESK_OK || report.newest_unread != 0) {
        told(versions.trial, "check: %d, lost %u pages %u keys, unread %u",
             status, (unsigned)report.pages_lost, (unsigned)report.keys_lost,
             (unsigned)report.newest_unread);
    }
    esk_kv_stats(run_kv, &stats);
    if (stats.pages_lost + stats.newest_unread + stats.records_lost != 0) {
        told(versions.trial, "stats: lost %u pages %u records, unread %u",
             (unsigned)stats.pages_lost, (unsigned)stats.records_lost,
             (unsigned)stats.newest_unread);
    }
}

// A batch of which some changes are there and others are not, where nothing was
// reported. A missing key says nothing: it may be deleted before or after.
static void batch_judge(void) {
    unsigned new = 0;
    unsigned old = 0;
    for (uint16_t i = 0; i < batch.count; i++) {
        uint16_t seen = versions.seen[batch.key[i]];
        uint16_t v = batch.version[i];
        if (versions.table->log[batch.key[i]].version == v) {
            new += seen == v ? 1 : 0;
            old += seen < v ? 1 : 0;
        }
    }
    if (new != 0 && old != 0 && !versions.trial->told) {
        found(versions.trial, FINDING_SILENT, "stage %d: %u of a batch, not %u",
              versions.stage, new, old);
    }
}

// Whether no page of the log is damaged.
static bool log_check(const struct table *table) {
    for (uint32_t i = 0; i < table->region_pages; i++) {
        if (table->medium->state[table->region_first + i] >= PAGE_DAMAGED) {
            return false;
        }
    }
    return true;
}

static void kv_read_all(struct table *table, int stage, struct trial *trial) {
    versions_begin(table, stage, trial);
    kv_gets();
    kv_walk();
    kv_reports();
    versions_judge();
    batch_judge();
    if (log_is_whole && trial->missing > 0) {
        found(trial, FINDING_HIDDEN, "stage %d: %u keys of a log that is whole",
              stage, (unsigned)trial->missing);
    }
    if (table->verbose) {
        printf("  stage %d: %u keys, told by %s\n", stage,
               (unsigned)versions.seen_count,
               trial->told ? trial->told_by : "nobody");
    }
}

// ---------------------------------------------------------------- stages

// done: out, how many changes and batches were accepted.
static int kv_add(struct table *table, uint8_t stage, uint32_t count,
                  uint32_t *done) {
    bool has_batches = table->of->shape->has_batches;
    int status = ESK_OK;
    int worst = ESK_OK;
    *done = 0;
    for (uint32_t n = 0; n < count; n++) {
        bool is_batch =
            has_batches && mix64((uint64_t)table->rows + 17) % 6 == 0;
        status = is_batch ? kv_batch(table) : kv_change(table);
        *done += status == ESK_OK ? 1 : 0;
        worst = status < 0 ? status : worst;
        if (mix64((uint64_t)table->rows + 11) % 9 == 0) {
            status = kv_sync(table, stage);
            worst = status != ESK_OK ? status : worst;
        }
    }
    status = kv_sync(table, stage);
    return status != ESK_OK ? status : worst;
}

bool kv_stage(struct table *table, int stage, struct trial *trial) {
    uint32_t done = 0;
    if (stage == 0) {
        batch = base_batch;
    }
    int status = kv_open(table);
    if (stage == 0) {
        log_is_whole = status == ESK_OK && log_check(table);
    }
    if (status != ESK_OK) {
        if (table->verbose) {
            printf("  stage %d: open: %d\n", stage, status);
        }
        trial->unopened = true;
        kv_close(table);
        return false;
    }
    kv_read_all(table, stage, trial);
    if (stage + 1 < STAGES) {
        status = kv_add(table, (uint8_t)(stage + 1), CHANGES, &done);
        if (stage + 2 == STAGES && done == 0) {
            found(trial, FINDING_STUCK,
                  "stage %d: %u changes, none accepted: %d", stage,
                  (unsigned)CHANGES, status);
        }
        if (status != ESK_OK && table->verbose) {
            printf("  stage %d: changes: %d\n", stage, status);
        }
    }
    kv_close(table);
    return true;
}

// ------------------------------------------------------------- the table

static int kv_fill(struct table *table) {
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    uint32_t room = table->region_pages * (geometry->page_bytes - 16u);
    uint32_t done = 0;
    versions.keys = keys_count(table);
    return kv_add(table, 0, LAPS * room / RECORD_BYTES, &done);
}

bool kv_make(struct table *table) {
    static const struct table_kind kind = {kv_create, kv_open, kv_fill,
                                           kv_close};
    struct trial trial = {0};
    if (!table_prepare(table, &kind, KEYS_MAX)) {
        return false;
    }
    base_batch = batch;
    for (int stage = 0; stage < STAGES; stage++) {
        kv_stage(table, stage, &trial);
        trial_explain(table->of, &trial);
    }
    return true;
}
