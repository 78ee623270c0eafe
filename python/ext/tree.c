// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees as counted handles: see host.h's invariants.
///
/// Each function is the C API's call of that name between enter and leave.

#include <stdlib.h>
#include <string.h>

#include "handle.h"

/// Pages that a batch in place may change.
enum {
    BATCH_PAGES = 2048,
    ARENA_BYTES_ANY = 4096, ///< of an open that fails
};

/// Takes the lock when `table` is an open tree.
static int tree_enter(struct esk_py_table *table) {
    ESK_TRY(esk_py_table_enter(table));
    if (table->tree == NULL) {
        esk_py_table_leave(table);
        return ESK_E_UNSUPPORTED;
    }
    return ESK_OK;
}

/// Returns `status` after giving the lock back.
static int tree_leave(struct esk_py_table *table, int status) {
    esk_py_table_leave(table);
    return status;
}

int esk_py_tree_create(struct esk_py_device *device, uint32_t mount,
                       const struct esk_tree_spec *spec,
                       struct esk_fault *fault) {
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_tree_create(&device->volume, spec, fault);
    esk_py_device_leave(device);
    return status;
}

/// The store that the catalog names; NULL: none that is known.
static const struct esk_node_store *store_find(uint8_t id) {
    switch (id) {
    case ESK_STORE_INPLACE:
        return &esk_store_inplace;
    case ESK_STORE_JOURNALED:
        return &esk_store_journaled;
    case ESK_STORE_WANDERING:
        return &esk_store_wandering;
    case ESK_STORE_MU:
        return &esk_store_mu;
    case ESK_STORE_TNC:
        return &esk_store_tnc;
    default:
        return NULL;
    }
}

int esk_py_tree_layout(struct esk_py_device *device, uint32_t mount,
                       const struct esk_table_info *info,
                       struct esk_btree_layout *layout) {
    struct esk_tree_options options;
    ESK_TRY(esk_tree_options(info, &options));
    const struct esk_node_store *store = store_find(options.store);
    if (info->kind != ESK_TABLE_TREE || store == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    ESK_TRY(esk_py_volume_enter(device, mount));
    int status = esk_tree_layout_read(&device->volume, info, store, layout);
    esk_py_device_leave(device);
    return status;
}

void esk_py_tree_merges(struct esk_tree_config *config) {
    config->merge = &esk_merge_moving;
}

void esk_py_tree_caches_writes(struct esk_tree_config *config) {
    config->write_cache = &esk_write_cache;
}

/// Opens the core's tree; the lock is held.
static int tree_open_core(struct esk_py_table *table,
                          const struct esk_table_info *info,
                          const void *given) {
    struct esk_py_device *device = table->device;
    struct esk_tree_config config = *(const struct esk_tree_config *)given;
    struct esk_tree_options options;
    ESK_TRY(esk_tree_options(info, &options));
    config.store = store_find(options.store);
    if (config.store == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    config.batches = NULL;
    if (options.store <= ESK_STORE_JOURNALED) {
        config.merge = config.merge != NULL ? &esk_merge_inplace : NULL;
        config.batches = &esk_batches_inplace;
        config.batch_pages = BATCH_PAGES;
    }
    uint32_t bytes = esk_tree_arena_bytes(&device->volume, info, &config);
    /* 0: the open says why. */
    ESK_TRY(esk_py_table_arena(table, bytes > 0 ? bytes : ARENA_BYTES_ANY));
    return esk_tree_open(&table->tree, &device->volume, info->name, &config);
}

int esk_py_tree_open(struct esk_py_device *device, uint32_t mount,
                     const char *name, const struct esk_tree_config *config,
                     struct esk_py_table **out) {
    return esk_py_table_open(device, mount, name, ESK_TABLE_TREE,
                             tree_open_core, config, out);
}

// Readers -------------------------------------------------------------------

/// Fills and opens a reader of `tree`; the lock is held.
static int reader_fill(struct esk_py_table *reader, struct esk_py_table *tree,
                       const struct esk_tree_config *config) {
    if (tree->writer != NULL) {
        return ESK_E_UNSUPPORTED;
    }
    *reader = (struct esk_py_table){
        .device = tree->device,
        .writer = tree,
        .row_bytes = tree->row_bytes,
        .table_id = tree->table_id,
        .key_column = tree->key_column,
        .column_count = tree->column_count,
    };
    memcpy(reader->columns, tree->columns, sizeof reader->columns);
    ESK_TRY(esk_py_table_arena(
        reader, esk_tree_reader_arena_bytes(tree->tree, config)));
    return esk_tree_reader_open(&reader->tree, tree->tree, config);
}

int esk_py_tree_reader_open(struct esk_py_table *tree,
                            const struct esk_tree_config *config,
                            struct esk_py_table **out) {
    struct esk_py_table *reader = calloc(1, sizeof *reader);
    if (reader == NULL) {
        return ESK_PY_NO_HEAP;
    }
    int status = tree_enter(tree);
    if (status == ESK_OK) {
        status = reader_fill(reader, tree, config);
        esk_py_volume_scratch(tree->device);
        if (status == ESK_OK) {
            esk_py_table_enlist(reader);
            *out = reader;
        }
        esk_py_table_leave(tree);
    }
    if (status != ESK_OK) {
        free(reader->arena);
        free(reader);
    }
    return status;
}

int esk_py_tree_reader_renew(struct esk_py_table *reader) {
    ESK_TRY(tree_enter(reader));
    return tree_leave(reader, reader->writer == NULL
                                  ? ESK_E_UNSUPPORTED
                                  : esk_tree_reader_renew(reader->tree));
}

// Changes -------------------------------------------------------------------

int esk_py_tree_put(struct esk_py_table *table, int how, const void *rows,
                    uint32_t count, uint32_t *done) {
    const uint8_t *row = rows;
    *done = 0;
    ESK_TRY(tree_enter(table));
    if (how == ESK_PY_PUT) {
        return tree_leave(table,
                          esk_tree_put_many(table->tree, rows, count, done));
    }
    int status = ESK_OK;
    while (status == ESK_OK && *done < count) {
        status = how == ESK_PY_INSERT ? esk_tree_insert(table->tree, row)
                                      : esk_tree_update(table->tree, row);
        if (status == ESK_OK) {
            row += table->row_bytes;
            *done += 1;
        }
    }
    return tree_leave(table, status);
}

int esk_py_tree_delete(struct esk_py_table *table, const void *key) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_delete(table->tree, key));
}

int esk_py_tree_begin(struct esk_py_table *table, uint32_t pages) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_begin(table->tree, pages));
}

int esk_py_tree_commit(struct esk_py_table *table) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_commit(table->tree));
}

int esk_py_tree_abort(struct esk_py_table *table) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_abort(table->tree));
}

// Reads ---------------------------------------------------------------------

int esk_py_tree_find(struct esk_py_table *table, int which, const void *key,
                     void *row) {
    ESK_TRY(tree_enter(table));
    struct esk_tree *tree = table->tree;
    switch (which) {
    case ESK_PY_GET:
        return tree_leave(table, esk_tree_get(tree, key, row));
    case ESK_PY_FLOOR:
        return tree_leave(table, esk_tree_floor(tree, key, row));
    case ESK_PY_CEILING:
        return tree_leave(table, esk_tree_ceiling(tree, key, row));
    case ESK_PY_NEWEST:
        return tree_leave(table, esk_tree_last(tree, row));
    case ESK_PY_OLDEST:
        return tree_leave(table, esk_tree_first(tree, row));
    default:
        return tree_leave(table, ESK_E_INVALID);
    }
}

int esk_py_tree_stats(struct esk_py_table *table,
                      struct esk_tree_stats *stats) {
    ESK_TRY(tree_enter(table));
    esk_tree_stats(table->tree, stats);
    return tree_leave(table, ESK_OK);
}

int esk_py_tree_check(struct esk_py_table *table,
                      struct esk_tree_report *report) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_check(table->tree, report));
}

int esk_py_tree_walk_open(struct esk_py_table *table,
                          struct esk_tree_walk *walk) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_walk_open(table->tree, walk));
}

int esk_py_tree_walk_next(struct esk_py_table *table,
                          struct esk_tree_walk *walk,
                          struct esk_tree_node *node) {
    ESK_TRY(tree_enter(table));
    return tree_leave(table, esk_tree_walk_next(table->tree, walk, node));
}

// Cursors -------------------------------------------------------------------

/// Opens the core's cursor of a tree; the lock is held.
static int tree_cursor_open(struct esk_py_table *table,
                            struct esk_py_cursor *cursor) {
    return table->tree == NULL
               ? ESK_E_UNSUPPORTED
               : esk_tree_cursor_open(table->tree, &cursor->tree,
                                      &cursor->tree_query);
}

int esk_py_tree_cursor_open(struct esk_py_table *table, const void *key_min,
                            const void *key_max, bool backward,
                            struct esk_py_cursor **out) {
    size_t bytes = table->columns[table->key_column].bytes;
    struct esk_py_cursor *cursor = esk_py_cursor_new(2 * bytes);
    if (cursor == NULL) {
        return ESK_PY_NO_HEAP;
    }
    uint8_t *keys = cursor->bounds;
    cursor->tree_query.backward = backward;
    if (key_min != NULL) {
        cursor->tree_query.key_min = memcpy(keys, key_min, bytes);
    }
    if (key_max != NULL) {
        cursor->tree_query.key_max = memcpy(keys + bytes, key_max, bytes);
    }
    return esk_py_cursor_start(cursor, table, tree_cursor_open, out);
}
