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
    struct esk_py_series *series; ///< open ones, a list through `next`
    uint8_t *page;                ///< scratch, one page
};

struct esk_py_series {
    struct esk_py_device *device; ///< holds a reference
    struct esk_py_series *next;
    uint32_t references; ///< guarded by the device's lock
    bool open;
    struct esk_series *series; ///< in the arena
    void *arena;
    uint32_t arena_bytes;
    uint16_t row_bytes;
    uint8_t table_id;
    uint8_t key_column;
    uint8_t column_count;
    struct esk_column_info columns[ESK_COLUMN_COUNT_MAX];
};

struct esk_py_cursor {
    struct esk_py_series *series; ///< holds a reference
    struct esk_series_cursor cursor;
    struct esk_query query;
    struct esk_range *ranges; ///< what query.ranges points at
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
void esk_py_series_retain(struct esk_py_series *series);

/// Forgets the volume and closes its series; the lock is held.
void esk_py_device_unmount(struct esk_py_device *device);

#endif
