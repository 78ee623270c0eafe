// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Kv tables as counted handles: see host.h's invariants.
///
/// Each function is the C API's call of that name between enter and leave.

#include <stdlib.h>
#include <string.h>

#include "handle.h"
#include "table/kv/kv.h"
#include "table/kv/kv_spec.h"
#include "volume/volume_format.h"

enum {
    RECORD_BYTES_MIN = 4,  ///< head, a key of 1 byte, no value
    KEYS_START = 1u << 20, ///< tried first where the caller does not say
    KEYS_MOST = 1u << 28,  ///< so that the arena's size is a uint32_t
    PENDING_START = 1024,  ///< of a table with an index: its next open may be
                           ///< that of a chip
    BARE_BYTES = 32,       ///< that a bare store's arena has more
};

/// Takes the lock when `table` is an open kv table.
static int kv_enter(struct esk_py_table *table) {
    ESK_TRY(esk_py_table_enter(table));
    if (table->kv == NULL) {
        esk_py_table_leave(table);
        return ESK_E_UNSUPPORTED;
    }
    return ESK_OK;
}

/// Returns `status` after giving the lock back.
static int kv_leave(struct esk_py_table *table, int status) {
    esk_py_table_leave(table);
    return status;
}

int esk_py_kv_create(struct esk_py_device *device, uint32_t mount,
                     const struct esk_kv_spec *spec, struct esk_fault *fault) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_kv_create(&device->volume, spec, fault);
    esk_py_device_leave(device);
    return status;
}

/// Bytes of an arena for a table of `keys` keys in RAM. index_keys: of a table
/// with an index, else 0.
static uint32_t arena_bytes(const struct esk_geometry *geometry, uint32_t keys,
                            uint32_t index_keys) {
    uint32_t bytes =
        index_keys != 0
            ? ESK_KV_INDEX_ARENA_BYTES(geometry->page_bytes, keys, UINT32_MAX,
                                       index_keys)
            : ESK_KV_ARENA_BYTES(geometry->page_bytes, keys, UINT32_MAX);
    return bytes + ESK_ARENA_ROUND(sizeof(struct esk_table_info));
}

/// Most keys of a table with an index; 0: it has none.
static uint32_t index_keys(const struct esk_table_info *info) {
    struct esk_kv_options options;
    return esk_kv_options(info, &options) == ESK_OK ? options.keys : 0;
}

/// Most keys that a region of `blocks` blocks can have.
static uint32_t keys_that_fit(const struct esk_geometry *geometry,
                              uint32_t blocks) {
    uint64_t bytes =
        (uint64_t)blocks * geometry->block_pages * geometry->page_bytes;
    uint64_t keys = bytes / RECORD_BYTES_MIN;
    return keys < KEYS_MOST ? (uint32_t)keys : (uint32_t)KEYS_MOST;
}

/// Opens the core's table for `keys` keys, else as `given` says; the lock is
/// held. A bare store's is opened with its volume.
static int kv_open_with(struct esk_py_table *table,
                        const struct esk_table_info *info,
                        const struct esk_kv_config *given, uint32_t keys) {
    struct esk_py_device *device = table->device;
    const struct esk_kv_config config = {.keys = keys,
                                         .part = &esk_kv_part_index,
                                         .replay_pages = given->replay_pages};
    if (keys > KEYS_MOST) {
        return ESK_E_NO_MEMORY;
    }
    free(table->arena);
    table->arena = NULL;
    uint32_t bytes =
        arena_bytes(&device->device.geometry, keys, index_keys(info));
    if (!device->is_bare) {
        ESK_TRY(esk_py_table_arena(table, bytes));
        return esk_kv_open(&table->kv, &device->volume, info->name, &config);
    }
    table->arena_bytes = bytes + BARE_BYTES;
    table->arena = malloc(table->arena_bytes);
    if (table->arena == NULL) {
        return ESK_PY_NO_HEAP;
    }
    (void)esk_volume_unmount(&device->volume);
    return esk_kv_open_bare(&table->kv, &device->volume, &device->device,
                            device->flags, &device->bare, &config, table->arena,
                            table->arena_bytes);
}

/// Opens the core's table; the lock is held. Without a number of keys there is
/// room for as many as the region can have, up to KEYS_START; for more where
/// the table has more.
static int kv_open_core(struct esk_py_table *table,
                        const struct esk_table_info *info, const void *given) {
    const struct esk_kv_config *config = given;
    uint32_t fit =
        keys_that_fit(&table->device->device.geometry, info->blocks[0]);
    if (config->keys != 0) {
        return kv_open_with(table, info, config, config->keys);
    }
    uint32_t first =
        index_keys(info) != 0 ? (uint32_t)PENDING_START : (uint32_t)KEYS_START;
    uint32_t keys = fit < first ? fit : first;
    int status = kv_open_with(table, info, config, keys);
    while (status == ESK_E_LIMIT && keys < fit) {
        keys = keys < fit / 2 ? 2 * keys : fit;
        status = kv_open_with(table, info, config, keys);
    }
    return status;
}

void esk_py_bare_entry(const struct esk_py_device *device,
                       struct esk_table_info *info) {
    memset(info, 0, sizeof *info);
    info->id = 1;
    info->kind = ESK_TABLE_KV;
    info->blocks[0] = device->device.geometry.block_count;
    memcpy(info->name, ESK_PY_BARE_NAME, sizeof ESK_PY_BARE_NAME);
    info->options[0] = ESK_OPTION_KV;
    info->options[1] = sizeof device->bare_options;
    memcpy(info->options + ESK_OPTION_HEAD, device->bare_options,
           sizeof device->bare_options);
    info->options_bytes = ESK_OPTION_HEAD + sizeof device->bare_options;
}

/// Keeps what the head of a store says.
static void head_keep(struct esk_py_device *device, const uint8_t *head) {
    memcpy(device->bare_options, head + ESK_KV_HEAD_OPTIONS,
           sizeof device->bare_options);
    device->bare.id = esk_load_u32(head + ESK_KV_HEAD_SEED);
    device->bare.checksum = head[ESK_KV_HEAD_CHECKSUM];
    device->bare.live_percent = device->bare_options[1];
}

/// Opens the core's store and closes it, so that its volume stays mounted; the
/// lock is held. Returns as esk_kv_open_bare.
static int bare_take(struct esk_py_device *device, uint8_t flags,
                     const struct esk_kv_bare *bare) {
    const struct esk_kv_config config = {.keys = 0};
    struct esk_py_table table = {.device = device};
    struct esk_table_info info;
    device->is_bare = true;
    device->flags = flags;
    device->bare = *bare;
    esk_py_bare_entry(device, &info);
    int status = kv_open_core(&table, &info, &config);
    if (status == ESK_OK) {
        head_keep(device, esk_kv_head(table.kv));
    }
    esk_kv_close(table.kv);
    esk_py_volume_scratch(device);
    free(table.arena);
    return status;
}

int esk_py_bare_mount(struct esk_py_device *device, uint8_t flags,
                      const struct esk_kv_bare *bare, uint32_t *mount) {
    static const struct esk_kv_bare none = {.id = 0};
    uint8_t looking = flags | ESK_MOUNT_READ_ONLY;
    ESK_TRY(esk_py_device_enter(device));
    int status = ESK_PY_BUSY;
    if (!device->mounted) {
        status = bare_take(device, bare == NULL ? looking : flags,
                           bare == NULL ? &none : bare);
        if (bare == NULL && status == ESK_E_READ_ONLY) {
            status = ESK_NOT_FOUND;
        } else if (bare == NULL && flags != looking && status == ESK_OK) {
            status = bare_take(device, flags, &none);
        }
        if (status == ESK_OK) {
            esk_py_device_mounted(device, true, mount);
        }
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_bare_state(struct esk_py_device *device, uint32_t mount,
                      struct esk_kv_bare *bare) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    *bare = device->bare;
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_kv_open(struct esk_py_device *device, uint32_t mount,
                   const char *name, const struct esk_kv_config *config,
                   struct esk_py_table **out) {
    return esk_py_table_open(device, mount, name, ESK_TABLE_KV, kv_open_core,
                             config, out);
}

int esk_py_kv_get(struct esk_py_table *table, const void *key,
                  uint8_t key_bytes, void *value, uint32_t room,
                  uint32_t *bytes, uint8_t *type) {
    ESK_TRY(kv_enter(table));
    return kv_leave(
        table, esk_kv_get(table->kv, key, key_bytes, value, room, bytes, type));
}

int esk_py_kv_put(struct esk_py_table *table, const void *key,
                  uint8_t key_bytes, const void *value, uint32_t bytes,
                  uint8_t type) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table,
                    esk_kv_put(table->kv, key, key_bytes, value, bytes, type));
}

int esk_py_kv_delete(struct esk_py_table *table, const void *key,
                     uint8_t key_bytes) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table, esk_kv_delete(table->kv, key, key_bytes));
}

int esk_py_kv_change_many(struct esk_py_table *table,
                          struct esk_kv_change *changes, uint16_t count,
                          uint16_t *refused) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table,
                    esk_kv_change_many(table->kv, changes, count, refused));
}

int esk_py_kv_next(struct esk_py_table *table, uint32_t *cursor, void *key,
                   uint8_t *key_bytes) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table, esk_kv_next(table->kv, cursor, key, key_bytes));
}

int esk_py_kv_stats(struct esk_py_table *table, struct esk_kv_stats *stats) {
    ESK_TRY(kv_enter(table));
    esk_kv_stats(table->kv, stats);
    return kv_leave(table, ESK_OK);
}

int esk_py_kv_check(struct esk_py_table *table, struct esk_kv_report *report) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table, esk_kv_check(table->kv, report));
}

int esk_py_kv_reader_check(struct esk_py_table *table) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table, esk_kv_reader_check(table->kv));
}

int esk_py_kv_snapshot_open(struct esk_py_table *table,
                            struct esk_kv_snapshot *snapshot,
                            struct esk_kv_kept *kept, uint16_t room) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table,
                    esk_kv_snapshot_open(table->kv, snapshot, kept, room));
}

int esk_py_kv_snapshot_close(struct esk_py_table *table,
                             struct esk_kv_snapshot *snapshot) {
    ESK_TRY(kv_enter(table));
    esk_kv_snapshot_close(snapshot);
    return kv_leave(table, ESK_OK);
}

int esk_py_kv_snapshot_get(struct esk_py_table *table,
                           struct esk_kv_snapshot *snapshot, const void *key,
                           uint8_t key_bytes, void *value, uint32_t room,
                           uint32_t *bytes, uint8_t *type) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table, esk_kv_snapshot_get(snapshot, key, key_bytes, value,
                                               room, bytes, type));
}

int esk_py_kv_snapshot_next(struct esk_py_table *table,
                            struct esk_kv_snapshot *snapshot, uint32_t *cursor,
                            void *key, uint8_t *key_bytes) {
    ESK_TRY(kv_enter(table));
    return kv_leave(table,
                    esk_kv_snapshot_next(snapshot, cursor, key, key_bytes));
}
