// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the handles are made of; only this folder includes it.
#ifndef ESK_PY_HANDLE_H
#define ESK_PY_HANDLE_H

#include <pthread.h>

#include "host.h"

/// What a kind of device does beyond esk_device_ops.
struct esk_py_device_kind {
    /// Closes files and frees what `self->context` points at.
    int (*close)(struct esk_py_device *self);
};

struct esk_py_device {
    pthread_mutex_t lock;
    uint32_t references; ///< guarded by lock
    bool open;
    const struct esk_py_device_kind *kind;
    void *context;            ///< the kind's own
    struct esk_device device; ///< what the core sees
    struct esk_volume volume;
    uint32_t mount; ///< number of the newest mount
    bool mounted;
    bool is_bare;                ///< what is mounted is a bare kv store: kv.c
    uint8_t flags;               ///< of a bare store's opens
    struct esk_kv_bare bare;     ///< what it was made with, or is to be
    uint8_t bare_options[2];     ///< as option 5 of a catalog
    struct esk_py_table *tables; ///< open ones, a list through `next`
    uint8_t *page; ///< the volume's arena while no table is opened
};

struct esk_py_table {
    struct esk_py_device *device; ///< holds a reference
    struct esk_py_table *next;
    uint32_t references; ///< guarded by the device's lock
    bool open;
    struct esk_series *series;   ///< in the arena; NULL: of another kind
    struct esk_tree *tree;       ///< the same
    struct esk_kv *kv;           ///< the same
    struct esk_py_table *writer; ///< a reader's tree, of which it holds a
                                 ///< reference; else NULL
    void *arena;
    uint32_t arena_bytes;
    uint16_t row_bytes;
    uint8_t table_id;
    uint8_t key_column;
    uint8_t column_count;
    struct esk_column_info columns[ESK_COLUMN_COUNT_MAX];
};

struct esk_py_cursor {
    struct esk_py_table *table; ///< holds a reference
    void *bounds; ///< what a tree's query points at, to be freed; or NULL
    struct esk_series_cursor series;
    const struct esk_series_query
        *series_query; ///< the caller's, while it opens
    struct esk_tree_cursor tree;
    struct esk_tree_query tree_query;
    uint32_t damaged; ///< nodes of a tree that were skipped
};

/// Makes a device around `device`, with one reference.
/// Returns ESK_OK; ESK_PY_NO_HEAP.
int esk_py_device_new(const struct esk_py_device_kind *kind, void *context,
                      const struct esk_device *device,
                      struct esk_py_device **out);

/// Takes the lock when `device` is open, else returns ESK_PY_CLOSED.
int esk_py_device_enter(struct esk_py_device *device);
void esk_py_device_leave(struct esk_py_device *device);

/// Takes one more reference.
void esk_py_device_retain(struct esk_py_device *device);

/// Takes the lock when `mount` is the mount that is alive.
int esk_py_volume_enter(struct esk_py_device *device, uint32_t mount);

/// Takes a mount of the device that succeeded; the lock is held.
/// mount  out: its number.
void esk_py_device_mounted(struct esk_py_device *device, bool is_bare,
                           uint32_t *mount);

/// Finds a table's catalog entry; of a bare store, which has none, what one
/// would say. The lock is held.
int esk_py_volume_entry(struct esk_py_device *device, const char *name,
                        struct esk_table_info *info);

/// The entry of a bare store (kv.c).
void esk_py_bare_entry(const struct esk_py_device *device,
                       struct esk_table_info *info);

/// Takes the lock when `table` is open.
int esk_py_table_enter(struct esk_py_table *table);
void esk_py_table_leave(struct esk_py_table *table);

/// Opens the core's handle of a table whose columns are known; the lock is
/// held. config: the kind's own.
typedef int esk_py_table_open_core(struct esk_py_table *table,
                                   const struct esk_table_info *info,
                                   const void *config);

/// Makes a handle on table `name`, which has to be of `kind`.
int esk_py_table_open(struct esk_py_device *device, uint32_t mount,
                      const char *name, uint8_t kind,
                      esk_py_table_open_core *open, const void *config,
                      struct esk_py_table **out);

/// Gives a table that is being opened its arena, and the volume for as long.
///
/// bytes    what the core asks for; 0: it cannot say, the catalog is unsound.
/// Returns  ESK_OK; ESK_E_CORRUPT; ESK_PY_NO_HEAP.
int esk_py_table_arena(struct esk_py_table *table, uint32_t bytes);

/// Makes the device's page the volume's arena again: what is not opening a
/// table needs no more.
void esk_py_volume_scratch(struct esk_py_device *device);

/// Puts a table whose core handle is open among the device's; the lock is
/// held. From then on it has one reference, and holds one of the device and of
/// its writer.
void esk_py_table_enlist(struct esk_py_table *table);

/// Makes a cursor without a table, `bounds_bytes` of zeros for what its query
/// points at; NULL: no heap.
struct esk_py_cursor *esk_py_cursor_new(size_t bounds_bytes);

/// Opens the core's cursor by the query that was set; the lock is held.
/// Returns ESK_E_UNSUPPORTED when `table` is of another kind.
typedef int esk_py_cursor_open_core(struct esk_py_table *table,
                                    struct esk_py_cursor *cursor);

/// Opens `cursor` on `table`, of which it holds a reference from then on. A
/// cursor that cannot be opened is freed.
int esk_py_cursor_start(struct esk_py_cursor *cursor,
                        struct esk_py_table *table,
                        esk_py_cursor_open_core *open,
                        struct esk_py_cursor **out);

/// Forgets the volume and closes its tables; the lock is held.
void esk_py_device_unmount(struct esk_py_device *device);

#endif
