// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Volumes, series and cursors as counted handles: see host.h's invariants.
///
/// Each function is the C API's call of that name between enter and leave.

#include <stdlib.h>
#include <string.h>

#include "handle.h"

// Volumes -------------------------------------------------------------------

int esk_py_volume_enter(struct esk_py_device *device, uint32_t mount) {
    ESK_TRY(esk_py_device_enter(device));
    if (!device->mounted || device->mount != mount) {
        esk_py_device_leave(device);
        return ESK_PY_CLOSED;
    }
    return ESK_OK;
}

/// Takes an open table off the device's list, closed; the lock is held.
static void table_close_one(struct esk_py_table **link) {
    struct esk_py_table *table = *link;
    *link = table->next;
    if (table->series != NULL) {
        esk_series_close(table->series);
    } else if (table->tree != NULL) {
        esk_tree_close(table->tree);
    } else {
        esk_kv_close(table->kv);
    }
    table->open = false;
}

/// Closes an open table, its readers first; the lock is held.
static void table_close(struct esk_py_table *table) {
    struct esk_py_table **link = &table->device->tables;
    while (*link != NULL) {
        if ((*link)->writer == table) {
            table_close_one(link);
        } else {
            link = &(*link)->next;
        }
    }
    link = &table->device->tables;
    while (*link != table) {
        link = &(*link)->next;
    }
    table_close_one(link);
}

void esk_py_device_unmount(struct esk_py_device *device) {
    if (!device->mounted) {
        return;
    }
    while (device->tables != NULL) {
        table_close(device->tables);
    }
    esk_volume_unmount(&device->volume);
    device->mounted = false;
}

void esk_py_device_mounted(struct esk_py_device *device, bool is_bare,
                           uint32_t *mount) {
    device->mounted = true;
    device->is_bare = is_bare;
    device->mount++;
    *mount = device->mount;
}

int esk_py_volume_format(struct esk_py_device *device,
                         const struct esk_volume_config *config) {
    ESK_TRY(esk_py_device_enter(device));
    int status = device->mounted
                     ? ESK_PY_BUSY
                     : esk_volume_format(&device->device, config, device->page,
                                         device->device.geometry.page_bytes);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_mount(struct esk_py_device *device, uint8_t flags,
                        uint32_t *mount) {
    ESK_TRY(esk_py_device_enter(device));
    int status = ESK_PY_BUSY;
    if (!device->mounted) {
        status =
            esk_volume_mount(&device->volume, &device->device, flags,
                             device->page, device->device.geometry.page_bytes);
        if (status == ESK_OK) {
            esk_py_device_mounted(device, false, mount);
        }
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_unmount(struct esk_py_device *device, uint32_t mount) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    esk_py_device_unmount(device);
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_volume_state(struct esk_py_device *device, uint32_t mount,
                        struct esk_volume *volume) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    *volume = device->volume;
    volume->tables = NULL;
    esk_py_device_leave(device);
    return ESK_OK;
}

int esk_py_volume_create(struct esk_py_device *device, uint32_t mount,
                         const struct esk_series_spec *spec,
                         struct esk_fault *fault) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    struct esk_series_spec made = *spec;
    const struct esk_geometry *geometry = &device->device.geometry;
    if (made.table.row_bytes > 0) {
        esk_series_sorted_blocks(geometry, &made,
                                 made.data_blocks > 0 ? made.data_blocks
                                                      : geometry->block_count);
        made.data_blocks +=
            made.data_blocks > 0 ? made.sorted_blocks + made.merged_blocks : 0;
    }
    int status = esk_series_create(&device->volume, &made, fault);
    esk_py_device_leave(device);
    return status;
}

/// Whether table `id` is open; the lock is held.
static bool table_is_open(const struct esk_py_device *device, uint8_t id) {
    for (const struct esk_py_table *table = device->tables; table != NULL;
         table = table->next) {
        if (table->table_id == id) {
            return true;
        }
    }
    return false;
}

int esk_py_volume_drop(struct esk_py_device *device, uint32_t mount,
                       const char *name) {
    struct esk_table_info info;
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_volume_find(&device->volume, name, &info);
    if (status == ESK_OK) {
        status = table_is_open(device, info.id)
                     ? ESK_PY_TABLE_OPEN
                     : esk_volume_drop(&device->volume, name);
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_list(struct esk_py_device *device, uint32_t mount,
                       uint16_t *cursor, struct esk_table_info *info) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = ESK_END;
    if (!device->is_bare) {
        status = esk_volume_list(&device->volume, cursor, info);
    } else if (*cursor == 0) {
        (*cursor)++;
        esk_py_bare_entry(device, info);
        status = ESK_OK;
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_check(struct esk_py_device *device, uint32_t mount,
                        struct esk_volume_report *report) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = ESK_OK;
    if (device->is_bare) { /* it has no catalog */
        memset(report, 0, sizeof *report);
    } else {
        status = esk_volume_check(&device->volume, report);
    }
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_entry(struct esk_py_device *device, const char *name,
                        struct esk_table_info *info) {
    if (!device->is_bare) {
        return esk_volume_find(&device->volume, name, info);
    }
    esk_py_bare_entry(device, info);
    return strcmp(name, info->name) == 0 ? ESK_OK : ESK_NOT_FOUND;
}

int esk_py_volume_find(struct esk_py_device *device, uint32_t mount,
                       const char *name, struct esk_table_info *info) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_py_volume_entry(device, name, info);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_column(struct esk_py_device *device, uint32_t mount,
                         const struct esk_table_info *info, uint8_t index,
                         struct esk_column_info *column) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_volume_column(&device->volume, info, index, column);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_fingerprint(struct esk_py_device *device, uint32_t mount,
                              const struct esk_table_info *info,
                              uint32_t *fingerprint) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_table_fingerprint(&device->volume, info, fingerprint);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_index(struct esk_py_device *device, uint32_t mount,
                        const struct esk_table_info *info, uint8_t index,
                        struct esk_index_spec *spec, void *edges,
                        uint16_t edges_bytes) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_volume_index(&device->volume, info, index, spec, edges,
                                  edges_bytes);
    esk_py_device_leave(device);
    return status;
}

int esk_py_volume_step(struct esk_py_device *device, uint32_t mount,
                       uint16_t budget, uint16_t *done) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_volume_step(&device->volume, budget, done);
    esk_py_device_leave(device);
    return status;
}

// Open tables ---------------------------------------------------------------

int esk_py_table_enter(struct esk_py_table *table) {
    ESK_TRY(esk_py_device_enter(table->device));
    if (!table->open) {
        esk_py_device_leave(table->device);
        return ESK_PY_CLOSED;
    }
    return ESK_OK;
}

void esk_py_table_leave(struct esk_py_table *table) {
    esk_py_device_leave(table->device);
}

/// Reads the columns; the lock is held.
static int columns_fill(struct esk_py_table *table,
                        const struct esk_table_info *info) {
    if (info->column_count > ESK_COLUMN_COUNT_MAX ||
        info->key_column >= info->column_count) {
        return ESK_E_CORRUPT;
    }
    for (uint8_t i = 0; i < info->column_count; i++) {
        ESK_TRY(esk_volume_column(&table->device->volume, info, i,
                                  &table->columns[i]));
        if ((uint32_t)table->columns[i].offset + table->columns[i].bytes >
            info->row_bytes) {
            return ESK_E_CORRUPT;
        }
    }
    return ESK_OK;
}

/// Reads what the catalog has and opens the table; the lock is held.
static int table_fill(struct esk_py_table *table, const char *name,
                      uint8_t kind, esk_py_table_open_core *open,
                      const void *config) {
    struct esk_py_device *device = table->device;
    struct esk_table_info info;
    ESK_TRY(esk_py_volume_entry(device, name, &info));
    if (info.kind != kind) {
        return ESK_E_UNSUPPORTED;
    }
    if (table_is_open(device, info.id)) {
        return ESK_PY_TABLE_OPEN;
    }
    if (kind != ESK_TABLE_KV) { /* which has no columns */
        ESK_TRY(columns_fill(table, &info));
    }
    table->table_id = info.id;
    table->row_bytes = info.row_bytes;
    table->key_column = info.key_column;
    table->column_count = info.column_count;
    return open(table, &info, config);
}

void esk_py_table_enlist(struct esk_py_table *table) {
    struct esk_py_device *device = table->device;
    table->references = 1;
    table->open = true;
    table->next = device->tables;
    device->tables = table;
    device->references++;
    if (table->writer != NULL) {
        table->writer->references++;
    }
}

int esk_py_table_open(struct esk_py_device *device, uint32_t mount,
                      const char *name, uint8_t kind,
                      esk_py_table_open_core *open, const void *config,
                      struct esk_py_table **out) {
    struct esk_py_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return ESK_PY_NO_HEAP;
    }
    table->device = device;
    int status = esk_py_volume_enter(device, mount);
    if (status != ESK_OK) {
        free(table);
        return status;
    }
    status = table_fill(table, name, kind, open, config);
    esk_py_volume_scratch(device);
    if (status == ESK_OK) {
        esk_py_table_enlist(table);
        *out = table;
    }
    esk_py_device_leave(device);
    if (status != ESK_OK) {
        free(table->arena);
        free(table);
    }
    return status;
}

void esk_py_volume_scratch(struct esk_py_device *device) {
    (void)esk_volume_arena_set(&device->volume, device->page,
                               device->device.geometry.page_bytes);
}

int esk_py_table_arena(struct esk_py_table *table, uint32_t bytes) {
    if (bytes == 0) {
        return ESK_E_CORRUPT;
    }
    table->arena_bytes = bytes;
    table->arena = malloc(bytes);
    return table->arena == NULL ? ESK_PY_NO_HEAP
                                : esk_volume_arena_set(&table->device->volume,
                                                       table->arena, bytes);
}

int esk_py_table_close(struct esk_py_table *table) {
    ESK_TRY(esk_py_table_enter(table));
    table_close(table);
    esk_py_table_leave(table);
    return ESK_OK;
}

/// Gives one reference back.
/// Returns what the table held a reference of, now the caller's to give back;
/// NULL: nothing, or the table lives.
static struct esk_py_table *table_let_go(struct esk_py_table *table) {
    struct esk_py_device *device = table->device;
    struct esk_py_table *writer = NULL;
    pthread_mutex_lock(&device->lock);
    table->references--;
    bool last = table->references == 0;
    if (last && table->open) {
        table_close(table);
    }
    pthread_mutex_unlock(&device->lock);
    if (last) {
        writer = table->writer;
        free(table->arena);
        free(table);
        esk_py_device_release(device);
    }
    return writer;
}

void esk_py_table_release(struct esk_py_table *table) {
    while (table != NULL) {
        table = table_let_go(table);
    }
}

uint32_t esk_py_table_arena_bytes(const struct esk_py_table *table) {
    return table->arena_bytes;
}

int esk_py_table_sync(struct esk_py_table *table) {
    ESK_TRY(esk_py_table_enter(table));
    int status = table->series != NULL ? esk_series_sync(table->series)
                 : table->tree != NULL ? esk_tree_sync(table->tree)
                                       : esk_kv_sync(table->kv);
    esk_py_table_leave(table);
    return status;
}

int esk_py_table_count(struct esk_py_table *table, uint32_t *count) {
    ESK_TRY(esk_py_table_enter(table));
    int status = table->series != NULL ? esk_series_count(table->series, count)
                 : table->tree != NULL ? esk_tree_count(table->tree, count)
                                       : ESK_E_UNSUPPORTED;
    esk_py_table_leave(table);
    return status;
}

// Series --------------------------------------------------------------------

/// Takes the lock when `table` is an open series.
static int series_enter(struct esk_py_table *table) {
    ESK_TRY(esk_py_table_enter(table));
    if (table->series == NULL) {
        esk_py_table_leave(table);
        return ESK_E_UNSUPPORTED;
    }
    return ESK_OK;
}

/// Opens the core's series; the lock is held.
static int series_open_core(struct esk_py_table *table,
                            const struct esk_table_info *info,
                            const void *config) {
    struct esk_py_device *device = table->device;
    ESK_TRY(esk_py_table_arena(
        table, esk_series_arena_bytes(&device->volume, info, config)));
    return esk_series_open(&table->series, &device->volume, info->name, config);
}

int esk_py_series_open(struct esk_py_device *device, uint32_t mount,
                       const char *name, const struct esk_series_config *config,
                       struct esk_py_table **out) {
    return esk_py_table_open(device, mount, name, ESK_TABLE_SERIES,
                             series_open_core, config, out);
}

int esk_py_series_append(struct esk_py_table *table, const void *rows,
                         uint32_t count, const void *values,
                         const uint64_t *ends, uint32_t *appended) {
    *appended = 0;
    ESK_TRY(series_enter(table));
    int status = ESK_OK;
    if (ends == NULL) {
        status = esk_series_append_many(table->series, rows, count, appended);
    } else {
        uint64_t start = 0;
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t *row =
                (const uint8_t *)rows + (size_t)i * table->row_bytes;
            status = esk_series_append_var(table->series, row,
                                           (const uint8_t *)values + start,
                                           (uint32_t)(ends[i] - start));
            if (status != ESK_OK) {
                break;
            }
            start = ends[i];
            *appended = i + 1;
        }
    }
    esk_py_table_leave(table);
    return status;
}

int esk_py_series_find(struct esk_py_table *table, int which, uint64_t key,
                       void *row) {
    typedef int by_key(struct esk_series *, uint64_t, void *);
    static by_key *const calls[] = {[ESK_PY_GET] = esk_series_get,
                                    [ESK_PY_FLOOR] = esk_series_floor,
                                    [ESK_PY_CEILING] = esk_series_ceiling};
    ESK_TRY(series_enter(table));
    int status = ESK_E_INVALID;
    if (which >= ESK_PY_GET && which <= ESK_PY_CEILING) {
        status = calls[which](table->series, key, row);
    } else if (which == ESK_PY_NEWEST) {
        status = esk_series_newest(table->series, row);
    } else if (which == ESK_PY_OLDEST) {
        status = esk_series_oldest(table->series, row);
    }
    esk_py_table_leave(table);
    return status;
}

int esk_py_series_value_open(struct esk_py_table *table, const void *row,
                             struct esk_series_value *value) {
    ESK_TRY(series_enter(table));
    int status = esk_series_value_open(table->series, row, value);
    esk_py_table_leave(table);
    return status;
}

int esk_py_series_value_read(struct esk_py_table *table,
                             struct esk_series_value *value, void *buffer,
                             uint32_t bytes, uint32_t *got) {
    *got = 0;
    ESK_TRY(series_enter(table));
    int status =
        esk_series_value_read(table->series, value, buffer, bytes, got);
    esk_py_table_leave(table);
    return status;
}

int esk_py_series_erase_before(struct esk_py_table *table, uint64_t key) {
    ESK_TRY(series_enter(table));
    int status = esk_series_erase_before(table->series, key);
    esk_py_table_leave(table);
    return status;
}

int esk_py_series_erase_after(struct esk_py_table *table, uint64_t key) {
    ESK_TRY(series_enter(table));
    int status = esk_series_erase_after(table->series, key);
    esk_py_table_leave(table);
    return status;
}

/// Adds the columns; the lock is held.
static int columns_add(struct esk_py_device *device,
                       const struct esk_table_spec *spec, const void *row,
                       struct esk_fault *fault) {
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(&device->volume, spec->name, &info));
    if (table_is_open(device, info.id)) {
        return ESK_PY_TABLE_OPEN;
    }
    uint32_t bytes = esk_series_arena_bytes(&device->volume, &info, NULL);
    void *arena = malloc(bytes > 0 ? bytes : 1u);
    if (arena == NULL) {
        return ESK_PY_NO_HEAP;
    }
    int status = esk_volume_arena_set(&device->volume, arena, bytes);
    if (status == ESK_OK) {
        status = esk_series_add_columns(&device->volume, &esk_series_parts_all,
                                        spec, row, fault);
    }
    esk_py_volume_scratch(device);
    free(arena);
    return status;
}

int esk_py_series_add_columns(struct esk_py_device *device, uint32_t mount,
                              const struct esk_table_spec *spec,
                              const void *row, struct esk_fault *fault) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = columns_add(device, spec, row, fault);
    esk_py_device_leave(device);
    return status;
}

uint32_t esk_py_series_sorted_bytes(uint16_t page_bytes, uint16_t entries,
                                    uint8_t fan) {
    return ESK_SERIES_SORTED_BYTES(page_bytes, entries, fan);
}

int esk_py_series_stats(struct esk_py_table *table,
                        struct esk_series_stats *stats) {
    ESK_TRY(series_enter(table));
    esk_series_stats(table->series, stats);
    esk_py_table_leave(table);
    return ESK_OK;
}

int esk_py_series_check(struct esk_py_table *table,
                        struct esk_series_report *report) {
    ESK_TRY(series_enter(table));
    int status = esk_series_check(table->series, report);
    esk_py_table_leave(table);
    return status;
}

// Cursors -------------------------------------------------------------------

struct esk_py_cursor *esk_py_cursor_new(size_t bounds_bytes) {
    struct esk_py_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor != NULL && bounds_bytes > 0) {
        cursor->bounds = calloc(1, bounds_bytes);
        if (cursor->bounds == NULL) {
            free(cursor);
            cursor = NULL;
        }
    }
    return cursor;
}

int esk_py_cursor_start(struct esk_py_cursor *cursor,
                        struct esk_py_table *table,
                        esk_py_cursor_open_core *open,
                        struct esk_py_cursor **out) {
    int status = esk_py_table_enter(table);
    if (status == ESK_OK) {
        status = open(table, cursor);
        if (status == ESK_OK) {
            table->references++;
            cursor->table = table;
            *out = cursor;
        }
        esk_py_table_leave(table);
    }
    if (status != ESK_OK) {
        free(cursor->bounds);
        free(cursor);
    }
    return status;
}

/// Opens the core's cursor of a series; the lock is held.
static int series_cursor_open(struct esk_py_table *table,
                              struct esk_py_cursor *cursor) {
    return table->series == NULL
               ? ESK_E_UNSUPPORTED
               : esk_series_cursor_open(table->series, &cursor->series,
                                        cursor->series_query);
}

int esk_py_cursor_open(struct esk_py_table *table,
                       const struct esk_series_query *query,
                       struct esk_py_cursor **out) {
    struct esk_py_cursor *cursor = esk_py_cursor_new(0);
    if (cursor == NULL) {
        return ESK_PY_NO_HEAP;
    }
    cursor->series_query = query;
    return esk_py_cursor_start(cursor, table, series_cursor_open, out);
}

int esk_py_table_space(struct esk_py_table *table, uint8_t role,
                       struct esk_space *space) {
    ESK_TRY(esk_py_table_enter(table));
    if (table->series != NULL) {
        esk_series_space(table->series, role, space);
    } else if (table->tree != NULL) {
        esk_tree_space(table->tree, space);
    } else {
        (void)esk_kv_space(table->kv, space);
    }
    esk_py_table_leave(table);
    return ESK_OK;
}

/// Copies the next row of either kind of table; the lock is held. Damage is
/// skipped: by series themselves, by trees when they are called again.
static int cursor_next(struct esk_py_cursor *cursor, void *row) {
    struct esk_py_table *table = cursor->table;
    if (table->series != NULL) {
        return esk_series_cursor_next(table->series, &cursor->series, row);
    }
    int status = esk_tree_cursor_next(table->tree, &cursor->tree, row);
    while (status == ESK_E_CORRUPT) {
        cursor->damaged++;
        status = esk_tree_cursor_next(table->tree, &cursor->tree, row);
    }
    return status;
}

int esk_py_cursor_fetch(struct esk_py_cursor *cursor, void *rows,
                        uint32_t rows_max, uint32_t *count) {
    uint8_t *row = rows;
    *count = 0;
    ESK_TRY(esk_py_table_enter(cursor->table));
    int status = ESK_OK;
    while (status == ESK_OK && *count < rows_max) {
        status = cursor_next(cursor, row);
        if (status == ESK_OK) {
            row += cursor->table->row_bytes;
            *count += 1;
        }
    }
    esk_py_table_leave(cursor->table);
    return status;
}

void esk_py_cursor_release(struct esk_py_cursor *cursor) {
    esk_py_table_release(cursor->table);
    free(cursor->bounds);
    free(cursor);
}

int esk_py_cursor_damaged(struct esk_py_cursor *cursor, uint32_t *pages) {
    ESK_TRY(esk_py_table_enter(cursor->table));
    *pages = cursor->table->series != NULL
                 ? esk_series_cursor_damaged(&cursor->series)
                 : cursor->damaged;
    esk_py_table_leave(cursor->table);
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
