// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// EskerDB's side of the kv benchmark in a file: a kv table in a volume of its
/// own. The file is a medium that overwrites, in units of a byte: an erase
/// writes nothing, and a sync programs the records that are new and a seal.
#ifndef ESK_BENCH_KV_OWN_H
#define ESK_BENCH_KV_OWN_H

#include <unistd.h>

#include "bench/kv_load.h"
#include "port/page_cache/page_cache.h"
#include "port/posix_file/posix_file.h"
#include "table/kv/kv_spec.h"

enum {
    KV_OWN_UNIT_BYTES = 4096, ///< of set->block_pages
    KV_OWN_PENDING = 4096,    ///< keys in RAM beside an index
    /// Of the log's bytes, the newest records have about so many percent.
    KV_OWN_LIVE_PERCENT = 60,
    KV_OWN_RECORD_BYTES = 6, ///< beside key and value, at most
    KV_OWN_CURSOR_BYTES = 65535,
};

struct kv_own {
    uint16_t page_bytes;
    bool indexed;       ///< false: all keys are in RAM
    uint32_t cache_kib; ///< of RAM in all, the rest for pages; 0: no cache
    struct esk_posix_file file;
    struct esk_page_cache cache;
    void *cache_memory;
    uint64_t cache_bytes;
    struct esk_volume volume;
    struct esk_kv *kv;
    void *arena;
    uint32_t arena_bytes;
    enum kv_commit commit;
    uint16_t changes;
    struct esk_kv_change change[KV_BATCH];
    char key[KV_BATCH][KV_KEY_BYTES];
    uint8_t value[KV_BATCH][KV_VALUE_BYTES_MAX];
};

static const char kv_own_path[] = "build/bench/kv.img";

static inline uint32_t kv_divide_up(uint64_t count, uint64_t by) {
    return (uint32_t)((count + by - 1) / by);
}

/// Blocks of the log for a set.
static inline uint32_t kv_own_log_blocks(const struct kv_set *set) {
    uint64_t record = KV_KEY_BYTES + set->value_bytes + KV_OWN_RECORD_BYTES;
    uint64_t block = (uint64_t)set->block_pages * KV_OWN_UNIT_BYTES;
    uint64_t bytes = record * set->keys * 100 / KV_OWN_LIVE_PERCENT;
    return kv_divide_up(bytes, block) + 1;
}

static inline void kv_own_arena(struct kv_own *own, const struct kv_set *set,
                                uint32_t log_blocks) {
    uint32_t log = log_blocks * (uint32_t)set->block_pages * KV_OWN_UNIT_BYTES;
    own->arena_bytes =
        ESK_VOLUME_ARENA_BYTES(own->page_bytes) +
        (own->indexed ? ESK_KV_INDEX_ARENA_BYTES(own->page_bytes,
                                                 KV_OWN_PENDING, log, set->keys)
                      : ESK_KV_ARENA_BYTES(own->page_bytes, set->keys, log));
    own->arena = bench_memory(own->arena_bytes);
}

/// RAM but for the page cache.
static inline uint64_t kv_own_table_bytes(const struct kv_own *own) {
    return own->arena_bytes + sizeof own->file + sizeof own->volume;
}

static inline uint64_t kv_own_ram(void *context) {
    struct kv_own *own = context;
    return kv_own_table_bytes(own) + own->cache_bytes;
}

static inline void kv_own_create(void *context, const struct kv_set *set) {
    struct kv_own *own = context;
    uint32_t log_blocks = kv_own_log_blocks(set);
    uint16_t block_pages = (uint16_t)((uint32_t)set->block_pages *
                                      KV_OWN_UNIT_BYTES / own->page_bytes);
    struct esk_geometry geometry = {.block_pages = block_pages,
                                    .page_bytes = own->page_bytes,
                                    .program_bytes = 1,
                                    .erased_value = 0xFF,
                                    .flags = ESK_MEDIUM_OVERWRITE};
    uint32_t index_blocks = 0;
    uint32_t leaves = 0;
    if (own->indexed) {
        BENCH_HOLDS(esk_kv_index_plan(&geometry, log_blocks, set->keys, &leaves,
                                      &index_blocks));
    }
    geometry.block_count =
        log_blocks + index_blocks +
        ESK_VOLUME_CATALOG_BLOCKS(own->page_bytes, block_pages, 1, 0);
    const struct esk_volume_config format = {
        .uuid = {3}, .tables_max = 1, .overwrite = true};
    const struct esk_kv_spec spec = {.name = "kv",
                                     .blocks = log_blocks,
                                     .index_keys =
                                         own->indexed ? set->keys : 0};
    const struct esk_kv_config config = {
        .keys = own->indexed ? (uint32_t)KV_OWN_PENDING : set->keys,
        .part = own->indexed ? &esk_kv_part_index : NULL};
    kv_own_arena(own, set, log_blocks);
    (void)unlink(kv_own_path);
    BENCH_DO(esk_posix_file_create(&own->file, kv_own_path, &geometry, 0));
    const struct esk_device *device = &own->file.device;
    own->cache_bytes = 0;
    if (own->cache_kib != 0) {
        own->cache_bytes =
            (uint64_t)own->cache_kib * 1024 - kv_own_table_bytes(own);
        own->cache_memory = bench_memory(own->cache_bytes);
        BENCH_DO(esk_page_cache_init(&own->cache, device, own->cache_memory,
                                     own->cache_bytes));
        device = &own->cache.device;
    }
    BENCH_DO(esk_volume_format(device, &format, own->arena, own->arena_bytes));
    BENCH_DO(esk_volume_mount(&own->volume, device, 0, own->arena,
                              own->arena_bytes));
    BENCH_DO(
        esk_kv_open_or_create(&own->kv, &own->volume, &spec, &config, NULL));
}

static inline void kv_own_begin(void *context, enum kv_commit commit) {
    struct kv_own *own = context;
    own->commit = commit;
    own->changes = 0;
}

/// Adds a change to the batch; the benchmark's buffers are used again.
static inline void kv_own_change(struct kv_own *own, const char *key,
                                 const void *value, uint32_t bytes,
                                 uint8_t type) {
    uint16_t at = own->changes++;
    memcpy(own->key[at], key, KV_KEY_BYTES);
    if (bytes > 0) {
        memcpy(own->value[at], value, bytes);
    }
    own->change[at] =
        (struct esk_kv_change){.key = own->key[at],
                               .key_bytes = KV_KEY_BYTES,
                               .value = bytes > 0 ? own->value[at] : NULL,
                               .bytes = bytes,
                               .type = type};
}

static inline void kv_own_put(void *context, const char *key, const void *value,
                              uint32_t bytes) {
    struct kv_own *own = context;
    if (own->commit == KV_COMMIT_BATCH) {
        kv_own_change(own, key, value, bytes, ESK_KV_BYTES);
        return;
    }
    BENCH_DO(
        esk_kv_put(own->kv, key, KV_KEY_BYTES, value, bytes, ESK_KV_BYTES));
}

static inline void kv_own_remove(void *context, const char *key) {
    struct kv_own *own = context;
    if (own->commit == KV_COMMIT_BATCH) {
        kv_own_change(own, key, NULL, 0, ESK_KV_DELETED);
        return;
    }
    BENCH_DO(esk_kv_delete(own->kv, key, KV_KEY_BYTES));
}

static inline void kv_own_commit(void *context) {
    struct kv_own *own = context;
    if (own->commit == KV_COMMIT_BATCH) {
        BENCH_DO(esk_kv_change_many(own->kv, own->change, own->changes, NULL));
    }
    BENCH_DO(esk_kv_sync(own->kv));
}

static inline uint32_t kv_own_get(void *context, const char *key, void *value) {
    struct kv_own *own = context;
    uint32_t bytes = 0;
    BENCH_DO(esk_kv_get(own->kv, key, KV_KEY_BYTES, value, KV_VALUE_BYTES_MAX,
                        &bytes, NULL));
    return bytes;
}

static inline void kv_own_scan(void *context, kv_visit *visit, void *visitor) {
    static uint8_t memory[KV_OWN_CURSOR_BYTES];
    struct kv_own *own = context;
    struct esk_kv_cursor cursor;
    char key[ESK_KV_KEY_BYTES_MAX];
    uint8_t value[KV_VALUE_BYTES_MAX];
    uint8_t key_bytes = 0;
    BENCH_DO(esk_kv_cursor_open(own->kv, &cursor, NULL, memory, sizeof memory));
    int status = esk_kv_cursor_next(own->kv, &cursor, key, &key_bytes);
    while (status == ESK_OK) {
        visit(visitor, key, value, kv_own_get(own, key, value));
        status = esk_kv_cursor_next(own->kv, &cursor, key, &key_bytes);
    }
    BENCH_WANT(ESK_END, status);
}

static inline uint64_t kv_own_file_bytes(void *context) {
    const struct kv_own *own = context;
    const struct esk_geometry *geometry = &own->file.device.geometry;
    return (uint64_t)geometry->block_count * geometry->block_pages *
           geometry->page_bytes;
}

static inline void kv_own_nothing(void *context) {
    (void)context;
}

/// Checks the table, and removes the file.
static inline void kv_own_close(void *context) {
    struct kv_own *own = context;
    struct esk_kv_report report;
    BENCH_DO(esk_kv_check(own->kv, &report));
    esk_kv_close(own->kv);
    BENCH_DO(esk_volume_unmount(&own->volume));
    BENCH_DO(esk_posix_file_close(&own->file));
    (void)unlink(kv_own_path);
    free(own->arena);
    free(own->cache_memory);
    own->cache_memory = NULL;
}

static inline struct kv_side kv_own_side(const char *name, struct kv_own *own) {
    return (struct kv_side){
        .name = name,
        .context = own,
        .create = kv_own_create,
        .begin = kv_own_begin,
        .put = kv_own_put,
        .remove = kv_own_remove,
        .commit = kv_own_commit,
        .read_begin = kv_own_nothing,
        .get = kv_own_get,
        .scan = kv_own_scan,
        .read_end = kv_own_nothing,
        .file_bytes = kv_own_file_bytes,
        .ram_bytes = kv_own_ram,
        .close = kv_own_close,
    };
}

#endif
