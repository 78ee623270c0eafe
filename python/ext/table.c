// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Volumes, series and cursors as counted handles: see host.h's invariants.
///
/// Each function is the C API's call of that name between enter and leave.

#include <stdlib.h>
#include <string.h>

#include "handle.h"

// Volumes -------------------------------------------------------------------

/// Takes the lock when `mount` is the mount that is alive.
static int volume_enter(struct esk_py_device *device, uint32_t mount) {
    ESK_TRY(esk_py_device_enter(device));
    if (!device->mounted || device->mount != mount) {
        esk_py_device_leave(device);
        return ESK_PY_CLOSED;
    }
    return ESK_OK;
}

/// Closes an open series; the lock is held.
static void series_close(struct esk_py_series *series) {
    struct esk_py_series **link = &series->device->series;
    while (*link != series) {
        link = &(*link)->next;
    }
    *link = series->next;
    esk_series_close(series->series);
    series->open = false;
}

void esk_py_device_unmount(struct esk_py_device *device) {
    if (!device->mounted) {
        return;
    }
    while (device->series != NULL) {
        series_close(device->series);
    }
    esk_volume_unmount(&device->volume);
    device->mounted = false;
}

int esk_py_volume_format(struct esk_py_device *device,
                         const struct esk_volume_config *config) {
    ESK_TRY(esk_py_device_enter(device));
    int status = device->mounted
                     ? ESK_PY_BUSY
                     : esk_volume_format(&device->device, config, device->page);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_mount(struct esk_py_device *device, uint8_t flags,
                        uint32_t *mount) {
    ESK_TRY(esk_py_device_enter(device));
    int status = ESK_PY_BUSY;
    if (!device->mounted) {
        status = esk_volume_mount(&device->volume, &device->device, flags,
                                  device->page);
        if (status == ESK_OK) {
            device->mounted = true;
            device->mount++;
            *mount = device->mount;
        }
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_unmount(struct esk_py_device *device, uint32_t mount) {
    ESK_TRY(volume_enter(device, mount));
    esk_py_device_unmount(device);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_volume_state(struct esk_py_device *device, uint32_t mount,
                        struct esk_volume *volume) {
    ESK_TRY(volume_enter(device, mount));
    *volume = device->volume;
    volume->rings = NULL;
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_volume_create(struct esk_py_device *device, uint32_t mount,
                         const struct esk_table_spec *spec,
                         struct esk_fault *fault) {
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_create(&device->volume, ESK_TABLE_SERIES, spec,
                                   fault, device->page);
    esk_py_device_leave(device);
    return status;
}

/// Whether a series of table `id` is open; the lock is held.
static bool table_is_open(const struct esk_py_device *device, uint8_t id) {
    for (const struct esk_py_series *series = device->series; series != NULL;
         series = series->next) {
        if (series->table_id == id) {
            return true;
        }
    }
    return false;
}

int esk_py_volume_drop(struct esk_py_device *device, uint32_t mount,
                       const char *name) {
    struct esk_table_info info;
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_find(&device->volume, name, &info, device->page);
    if (status == ESK_OK) {
        status = table_is_open(device, info.id)
                     ? ESK_PY_TABLE_OPEN
                     : esk_volume_drop(&device->volume, name, device->page);
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_list(struct esk_py_device *device, uint32_t mount,
                       uint16_t *cursor, struct esk_table_info *info) {
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_list(&device->volume, cursor, info, device->page);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_find(struct esk_py_device *device, uint32_t mount,
                       const char *name, struct esk_table_info *info) {
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_find(&device->volume, name, info, device->page);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_column(struct esk_py_device *device, uint32_t mount,
                         const struct esk_table_info *info, uint8_t index,
                         struct esk_column_info *column) {
    ESK_TRY(volume_enter(device, mount));
    int status =
        esk_volume_column(&device->volume, info, index, column, device->page);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_index(struct esk_py_device *device, uint32_t mount,
                        const struct esk_table_info *info, uint8_t index,
                        struct esk_index_spec *spec, void *edges,
                        uint16_t edges_bytes) {
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_index(&device->volume, info, index, spec, edges,
                                  edges_bytes, device->page);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_step(struct esk_py_device *device, uint32_t mount,
                       uint16_t budget, uint16_t *done) {
    ESK_TRY(volume_enter(device, mount));
    int status = esk_volume_step(&device->volume, budget, done);
    esk_py_device_leave(device);
    return status;
}

// Series --------------------------------------------------------------------

/// Takes the lock when `series` is open.
static int series_enter(struct esk_py_series *series) {
    ESK_TRY(esk_py_device_enter(series->device));
    if (!series->open) {
        esk_py_device_leave(series->device);
        return ESK_PY_CLOSED;
    }
    return ESK_OK;
}

static void series_leave(struct esk_py_series *series) {
    esk_py_device_leave(series->device);
}

/// Reads the columns and opens the table into `series`; the lock is held.
static int series_fill(struct esk_py_series *series, const char *name,
                       const struct esk_series_config *config) {
    struct esk_py_device *device = series->device;
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(&device->volume, name, &info, device->page));
    if (info.kind != ESK_TABLE_SERIES) {
        return ESK_E_UNSUPPORTED;
    }
    if (table_is_open(device, info.id)) {
        return ESK_PY_TABLE_OPEN;
    }
    if (info.column_count > ESK_COLUMN_COUNT_MAX) {
        return ESK_E_CORRUPT;
    }
    for (uint8_t i = 0; i < info.column_count; i++) {
        ESK_TRY(esk_volume_column(&device->volume, &info, i,
                                  &series->columns[i], device->page));
        if ((uint32_t)series->columns[i].offset + series->columns[i].bytes >
            info.row_bytes) {
            return ESK_E_CORRUPT;
        }
    }
    series->arena_bytes =
        esk_series_arena_bytes(&device->volume, &info, config, device->page);
    if (series->arena_bytes == 0) {
        return ESK_E_CORRUPT;
    }
    series->arena = malloc(series->arena_bytes);
    if (series->arena == NULL) {
        return ESK_PY_NO_HEAP;
    }
    ESK_TRY(esk_series_open(&series->series, &device->volume, name, config,
                            series->arena, series->arena_bytes));
    series->table_id = info.id;
    series->row_bytes = info.row_bytes;
    series->key_column = info.key_column;
    series->column_count = info.column_count;
    return ESK_OK;
}

int esk_py_series_open(struct esk_py_device *device, uint32_t mount,
                       const char *name, const struct esk_series_config *config,
                       struct esk_py_series **out) {
    struct esk_py_series *series = calloc(1, sizeof *series);
    if (series == NULL) {
        return ESK_PY_NO_HEAP;
    }
    series->device = device;
    int status = volume_enter(device, mount);
    if (status != ESK_OK) {
        free(series);
        return status;
    }
    status = series_fill(series, name, config);
    if (status == ESK_OK) {
        series->references = 1;
        series->open = true;
        series->next = device->series;
        device->series = series;
        device->references++;
        *out = series;
    }
    esk_py_device_leave(device);
    if (status != ESK_OK) {
        free(series->arena);
        free(series);
    }
    return status;
}

int esk_py_series_close(struct esk_py_series *series) {
    ESK_TRY(series_enter(series));
    series_close(series);
    series_leave(series);
    return ESK_OK;
}

void esk_py_series_retain(struct esk_py_series *series) {
    pthread_mutex_lock(&series->device->lock);
    series->references++;
    pthread_mutex_unlock(&series->device->lock);
}

void esk_py_series_release(struct esk_py_series *series) {
    struct esk_py_device *device = series->device;
    pthread_mutex_lock(&device->lock);
    series->references--;
    bool last = series->references == 0;
    if (last && series->open) {
        series_close(series);
    }
    pthread_mutex_unlock(&device->lock);
    if (last) {
        free(series->arena);
        free(series);
        esk_py_device_release(device);
    }
}

uint32_t esk_py_series_arena_bytes(const struct esk_py_series *series) {
    return series->arena_bytes;
}

int esk_py_series_append(struct esk_py_series *series, const void *rows,
                         uint32_t count, const void *values,
                         const uint64_t *ends, uint32_t *appended) {
    *appended = 0;
    ESK_TRY(series_enter(series));
    int status = ESK_OK;
    if (ends == NULL) {
        status = esk_series_append_many(series->series, rows, count, appended);
    } else {
        uint64_t start = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *row =
                (const uint8_t *)rows + (size_t)i * series->row_bytes;
            status = esk_series_append_var(series->series, row,
                                           (const uint8_t *)values + start,
                                           (uint32_t)(ends[i] - start));
            if (status != ESK_OK) {
                break;
            }
            start = ends[i];
            *appended = i + 1;
        }
    }
    series_leave(series);
    return status;
}

int esk_py_series_sync(struct esk_py_series *series) {
    ESK_TRY(series_enter(series));
    int status = esk_series_sync(series->series);
    series_leave(series);
    return status;
}

int esk_py_series_find(struct esk_py_series *series, int which, uint64_t key,
                       void *row) {
    ESK_TRY(series_enter(series));
    int status = ESK_E_INVALID;
    switch (which) {
    case ESK_PY_GET:
        status = esk_series_get(series->series, key, row);
        break;
    case ESK_PY_FLOOR:
        status = esk_series_floor(series->series, key, row);
        break;
    case ESK_PY_CEILING:
        status = esk_series_ceiling(series->series, key, row);
        break;
    case ESK_PY_NEWEST:
        status = esk_series_newest(series->series, row);
        break;
    case ESK_PY_OLDEST:
        status = esk_series_oldest(series->series, row);
        break;
    default:
        break;
    }
    series_leave(series);
    return status;
}

int esk_py_series_count(struct esk_py_series *series, uint32_t *count) {
    ESK_TRY(series_enter(series));
    int status = esk_series_count(series->series, count);
    series_leave(series);
    return status;
}

int esk_py_series_var_bytes(struct esk_py_series *series, const void *row,
                            uint32_t *bytes) {
    ESK_TRY(series_enter(series));
    int status = esk_series_var_bytes(series->series, row, bytes);
    series_leave(series);
    return status;
}

int esk_py_series_var_read(struct esk_py_series *series, const void *row,
                           uint32_t offset, void *buffer, uint32_t bytes,
                           uint32_t *got) {
    *got = 0;
    ESK_TRY(series_enter(series));
    int status = ESK_OK;
    // The core may give less than asked, a page at a time.
    while (*got < bytes) {
        uint32_t piece = 0;
        status =
            esk_series_var_read(series->series, row, offset + *got,
                                (uint8_t *)buffer + *got, bytes - *got, &piece);
        if (status != ESK_OK || piece == 0) {
            break;
        }
        *got += piece;
    }
    series_leave(series);
    return status;
}

int esk_py_series_erase_before(struct esk_py_series *series, uint64_t key) {
    ESK_TRY(series_enter(series));
    int status = esk_series_erase_before(series->series, key);
    series_leave(series);
    return status;
}

int esk_py_series_stats(struct esk_py_series *series,
                        struct esk_series_stats *stats) {
    ESK_TRY(series_enter(series));
    esk_series_stats(series->series, stats);
    series_leave(series);
    return ESK_OK;
}

int esk_py_series_check(struct esk_py_series *series,
                        struct esk_series_report *report) {
    ESK_TRY(series_enter(series));
    int status = esk_series_check(series->series, report);
    series_leave(series);
    return status;
}

// Cursors -------------------------------------------------------------------

int esk_py_cursor_open(struct esk_py_series *series,
                       const struct esk_query *query,
                       struct esk_py_cursor **out) {
    struct esk_py_cursor *cursor = calloc(1, sizeof *cursor);
    struct esk_range *ranges =
        calloc((size_t)query->range_count + 1, sizeof *ranges);
    int status = ESK_PY_NO_HEAP;
    if (cursor == NULL || ranges == NULL) {
        goto failed;
    }
    if (query->range_count > 0) {
        memcpy(ranges, query->ranges, query->range_count * sizeof *ranges);
    }
    cursor->ranges = ranges;
    cursor->query = *query;
    cursor->query.ranges = ranges;
    status = series_enter(series);
    if (status != ESK_OK) {
        goto failed;
    }
    status =
        esk_series_cursor_open(series->series, &cursor->cursor, &cursor->query);
    if (status == ESK_OK) {
        series->references++;
        cursor->series = series;
    }
    series_leave(series);
    if (status != ESK_OK) {
        goto failed;
    }
    *out = cursor;
    return ESK_OK;

failed:
    free(ranges);
    free(cursor);
    return status;
}

int esk_py_cursor_fetch(struct esk_py_cursor *cursor, void *rows,
                        uint32_t rows_max, uint32_t *count) {
    struct esk_py_series *series = cursor->series;
    uint8_t *row = rows;
    *count = 0;
    ESK_TRY(series_enter(series));
    int status = ESK_OK;
    while (status == ESK_OK && *count < rows_max) {
        status = esk_series_cursor_next(series->series, &cursor->cursor, row);
        if (status == ESK_OK) {
            row += series->row_bytes;
            *count += 1;
        }
    }
    series_leave(series);
    return status;
}

void esk_py_cursor_release(struct esk_py_cursor *cursor) {
    esk_py_series_release(cursor->series);
    free(cursor->ranges);
    free(cursor);
}

int esk_py_cursor_damaged(struct esk_py_cursor *cursor, uint32_t *pages) {
    ESK_TRY(series_enter(cursor->series));
    *pages = esk_series_cursor_damaged(&cursor->cursor);
    series_leave(cursor->series);
    return ESK_OK;
}

// Rows ----------------------------------------------------------------------

void esk_py_rows_pack(const struct esk_py_source *sources,
                      uint32_t source_count, uint32_t row_count,
                      uint16_t row_bytes, void *rows) {
    memset(rows, 0, (size_t)row_count * row_bytes);
    for (uint32_t s = 0; s < source_count; s++) {
        const uint8_t *from = sources[s].data;
        uint8_t *to = (uint8_t *)rows + sources[s].offset;
        size_t bytes = sources[s].bytes;
        for (uint32_t i = 0; i < row_count; i++) {
            memcpy(to, from, bytes);
            from += bytes;
            to += row_bytes;
        }
    }
}
