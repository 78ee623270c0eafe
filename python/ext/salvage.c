// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage: see esker/salvage.h. A copy takes the locks of both devices, that
/// of the damaged one first.

#include "handle.h"

int esk_py_volume_salvage(struct esk_py_device *device, uint32_t *mount) {
    ESK_TRY(esk_py_device_enter(device));
    int status = ESK_PY_BUSY;
    if (!device->mounted) {
        status =
            esk_volume_salvage(&device->volume, &device->device, device->page,
                               device->device.geometry.page_bytes);
        if (status == ESK_OK) {
            esk_py_device_mounted(device, false, mount);
        }
    }
    esk_py_device_leave(device);
    return status;
}

/// Takes the locks of two tables of different devices.
static int both_enter(struct esk_py_table *from, struct esk_py_table *to) {
    if (from->device == to->device) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_py_table_enter(from));
    int status = esk_py_table_enter(to);
    if (status != ESK_OK) {
        esk_py_table_leave(from);
    }
    return status;
}

static void both_leave(struct esk_py_table *from, struct esk_py_table *to) {
    esk_py_table_leave(to);
    esk_py_table_leave(from);
}

int esk_py_series_copy(struct esk_py_table *from, struct esk_py_table *to,
                       struct esk_series_copy *copy, bool begin, void *row,
                       void *value, uint32_t value_bytes, uint32_t rows) {
    ESK_TRY(both_enter(from, to));
    int status = begin ? esk_series_copy_open(copy, from->series) : ESK_OK;
    if (status == ESK_OK) {
        status = esk_series_copy_step(copy, from->series, to->series, row,
                                      value, value_bytes, rows);
    }
    both_leave(from, to);
    return status;
}

int esk_py_kv_copy(struct esk_py_table *from, struct esk_py_table *to,
                   struct esk_kv_copy *copy, bool begin, void *value,
                   uint32_t value_bytes, uint32_t keys) {
    ESK_TRY(both_enter(from, to));
    int status = begin ? esk_kv_copy_open(copy, from->kv) : ESK_OK;
    if (status == ESK_OK) {
        status =
            esk_kv_copy_step(copy, from->kv, to->kv, value, value_bytes, keys);
    }
    both_leave(from, to);
    return status;
}

int esk_py_tree_copy(struct esk_py_table *from, struct esk_py_table *to,
                     struct esk_tree_copy *copy, bool begin, void *row,
                     uint32_t rows) {
    ESK_TRY(both_enter(from, to));
    int status = begin ? esk_tree_copy_open(copy, from->tree) : ESK_OK;
    if (status == ESK_OK) {
        status = esk_tree_copy_step(copy, from->tree, to->tree, row, rows);
    }
    both_leave(from, to);
    return status;
}
