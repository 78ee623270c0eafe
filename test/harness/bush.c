// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/bush.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct esk_bush_key_type esk_bush_key_types[ESK_BUSH_KEY_TYPES] = {
    {ESK_TYPE_U8, 0},    {ESK_TYPE_I8, 0},     {ESK_TYPE_BYTES, 1},
    {ESK_TYPE_U16, 0},   {ESK_TYPE_I16, 0},    {ESK_TYPE_U32, 0},
    {ESK_TYPE_I32, 0},   {ESK_TYPE_U64, 0},    {ESK_TYPE_I64, 0},
    {ESK_TYPE_F32, 0},   {ESK_TYPE_F64, 0},    {ESK_TYPE_BYTES, 3},
    {ESK_TYPE_BYTES, 4}, {ESK_TYPE_BYTES, 20},
};

bool esk_bush_fail(struct esk_bush *bush, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bush->why, sizeof bush->why, format, arguments);
    va_end(arguments);
    return false;
}

uint32_t esk_bush_random(struct esk_bush *bush, uint32_t bound) {
    uint64_t z = bush->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) % bound);
}

static uint16_t key_width(const struct esk_bush *bush) {
    return esk_type_bytes(bush->table.key_type, bush->table.key_bytes);
}

void esk_bush_key(const struct esk_bush *bush, uint32_t number, uint8_t *key) {
    uint16_t width = key_width(bush);
    int64_t value = (int64_t)number - bush->range / 2;
    switch (bush->table.key_type) {
    case ESK_TYPE_F32: {
        float f = (float)value * 0.25f;
        memcpy(key, &f, sizeof f);
        return;
    }
    case ESK_TYPE_F64: {
        double d = (double)value * 1e10;
        memcpy(key, &d, sizeof d);
        return;
    }
    case ESK_TYPE_BYTES:
        memset(key, 0x5A, width);
        for (uint16_t i = 0; i < width && i < 4; i++) {
            key[width - 1 - i] = (uint8_t)(number >> (8 * i));
        }
        return;
    case ESK_TYPE_I64:
        value *= 0x100000003;
        break;
    case ESK_TYPE_U64:
        value = (int64_t)((uint64_t)number * 0x10000000000003u);
        break;
    case ESK_TYPE_U8:
    case ESK_TYPE_U16:
        value = number;
        break;
    case ESK_TYPE_U32:
        value = (int64_t)number * 0x100003;
        break;
    default:
        break;
    }
    for (uint16_t i = 0; i < width; i++) {
        key[i] = (uint8_t)((uint64_t)value >> (8 * i));
    }
}

void esk_bush_row(const struct esk_bush *bush, uint32_t number,
                  uint32_t version, uint8_t *row) {
    uint16_t width = key_width(bush);
    for (uint16_t i = 0; i < bush->row_bytes; i++) {
        row[i] = (uint8_t)(number * 31 + version * 7 + i);
    }
    for (uint16_t i = 0; i < 4; i++) {
        row[i] = (uint8_t)(version >> (8 * i));
    }
    esk_bush_key(bush, number, row + 4);
    (void)width;
}

static int table_create(struct esk_bush *bush) {
    const struct esk_bush_table *table = &bush->table;
    struct esk_column columns[3] = {
        {.name = "version", .type = ESK_TYPE_U32},
        {.name = "key", .type = table->key_type, .bytes = table->key_bytes},
        {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = table->pad_bytes},
    };
    struct esk_table_spec spec = {
        .name = "bush",
        .columns = columns,
        .column_count = (uint8_t)(table->pad_bytes > 0 ? 3 : 2),
        .key_column = 1,
        .data_blocks = table->blocks,
        .store = table->store,
        .k_percent = table->k_percent,
    };
    struct esk_fault fault = {0, 0};
    bush->row_bytes = esk_row_bytes(columns, spec.column_count);
    return esk_tree_create(&bush->volume, &spec, &fault, bush->page);
}

int esk_bush_open(struct esk_bush *bush) {
    static const struct esk_node_store *const stores[] = {
        NULL, &esk_store_inplace, &esk_store_journaled, &esk_store_wandering,
        &esk_store_mu};
    struct esk_table_info info;
    bush->config.store = stores[bush->table.store];
    bush->config.frames = bush->table.frames;
    bush->config.merge = NULL;
    if (bush->table.merges) {
        bush->config.merge = esk_bush_overwrites(bush->table.store)
                                 ? &esk_merge_inplace
                                 : &esk_merge_moving;
    }
    bush->config.policy = bush->table.policy;
    bush->config.batch_pages = bush->table.batch_pages;
    bush->config.batches =
        bush->table.batch_pages > 0 ? &esk_batches_inplace : NULL;
    bush->config.write_frames = bush->table.write_frames;
    bush->config.write_cache =
        bush->table.write_frames > 0 ? &esk_write_cache : NULL;
    ESK_TRY(esk_volume_find(&bush->volume, "bush", &info, bush->page));
    if (bush->arena == NULL) {
        bush->arena_bytes = esk_tree_arena_bytes(&bush->volume, &info,
                                                 &bush->config, bush->page);
        bush->arena = malloc(bush->arena_bytes);
    }
    return esk_tree_open(&bush->tree, &bush->volume, "bush", &bush->config,
                         bush->arena, bush->arena_bytes);
}

int esk_bush_make_on(struct esk_bush *bush, const struct esk_bush_table *table,
                     const struct esk_sim_config *config, uint64_t seed) {
    struct esk_volume_config volume = {.tables_max = 2,
                                       .checksum = table->checksum};
    memset(bush, 0, sizeof *bush);
    bush->table = *table;
    bush->random = seed;
    bush->range = table->key_range != 0 ? table->key_range : 2000;
    if (key_width(bush) == 1 && bush->range > 250) {
        bush->range = 250;
    }
    ESK_TRY(esk_sim_create(&bush->sim, config));
    bush->device = esk_sim_device(bush->sim);
    bush->page = malloc(bush->device->geometry.page_bytes);
    ESK_TRY(esk_volume_format(bush->device, &volume, bush->page));
    ESK_TRY(esk_volume_mount(&bush->volume, bush->device, 0, bush->page));
    ESK_TRY(table_create(bush));
    return esk_bush_open(bush);
}

int esk_bush_make(struct esk_bush *bush, const struct esk_bush_table *table,
                  const struct esk_geometry *geometry, uint64_t seed) {
    struct esk_sim_config config = {
        .geometry = *geometry,
        .seed = seed,
        .erase_keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    return esk_bush_make_on(bush, table, &config, seed);
}

void esk_bush_free(struct esk_bush *bush) {
    esk_sim_destroy(bush->sim);
    free(bush->arena);
    free(bush->page);
}

int esk_bush_put(struct esk_bush *bush, uint32_t number) {
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    esk_bush_row(bush, number, bush->version + 1, row);
    bush->version++;
    int status = esk_tree_put(bush->tree, row);
    if (status == ESK_OK) {
        bush->model.rows += bush->model.version[number] == 0 ? 1 : 0;
        bush->model.version[number] = bush->version;
    }
    return status;
}

int esk_bush_delete(struct esk_bush *bush, uint32_t number) {
    uint8_t key[1024];
    esk_bush_key(bush, number, key);
    int status = esk_tree_delete(bush->tree, key);
    if (status == ESK_OK) {
        bush->model.rows--;
        bush->model.version[number] = 0;
    }
    return status;
}

/// Whether `row` is key `number` as the model has it.
static bool row_is(struct esk_bush *bush, uint32_t number, const uint8_t *row) {
    uint8_t expected[ESK_BUSH_ROW_BYTES_MAX];
    esk_bush_row(bush, number, bush->model.version[number], expected);
    return memcmp(row, expected, bush->row_bytes) == 0;
}

/// The nearest number that has a row, from `number` on in direction `step`.
static int32_t model_near(const struct esk_bush *bush, int32_t number,
                          int32_t step) {
    while (number >= 0 && number < bush->range &&
           bush->model.version[number] == 0) {
        number += step;
    }
    return number < bush->range ? number : -1;
}

/// Holds a read's outcome against row `number` of the model; -1: none.
static bool read_is(struct esk_bush *bush, const char *call, int status,
                    int32_t number, const uint8_t *row) {
    int expected = number < 0 ? ESK_NOT_FOUND : ESK_OK;
    if (status != expected) {
        return esk_bush_fail(bush, "%s: %s, expected row %d", call,
                             esk_status_text(status), (int)number);
    }
    return number < 0 || row_is(bush, (uint32_t)number, row) ||
           esk_bush_fail(bush, "%s: not row %d", call, (int)number);
}

static bool reads_check(struct esk_bush *bush, uint32_t number) {
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t key[1024];
    esk_bush_key(bush, number, key);
    int32_t at = (int32_t)number;
    int32_t same = bush->model.version[number] != 0 ? at : -1;
    return read_is(bush, "get", esk_tree_get(bush->tree, key, row), same,
                   row) &&
           read_is(bush, "floor", esk_tree_floor(bush->tree, key, row),
                   model_near(bush, at, -1), row) &&
           read_is(bush, "ceiling", esk_tree_ceiling(bush->tree, key, row),
                   model_near(bush, at, 1), row);
}

static bool put_check(struct esk_bush *bush, uint32_t number) {
    bool there = bush->model.version[number] != 0;
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint32_t way = esk_bush_random(bush, 6);
    if (way == 0) {
        esk_bush_row(bush, number, bush->version + 1, row);
        int status = there ? esk_tree_insert(bush->tree, row)
                           : esk_tree_update(bush->tree, row);
        int expected = there ? ESK_EXISTS : ESK_NOT_FOUND;
        return status == expected || status == ESK_FULL ||
               esk_bush_fail(bush, "insert or update: %s",
                             esk_status_text(status));
    }
    int status = esk_bush_put(bush, number);
    if (status == ESK_FULL) {
        bush->full_seen = true;
        return !there || bush->in_batch ||
               esk_bush_fail(bush, "a change was refused");
    }
    return status == ESK_OK ||
           esk_bush_fail(bush, "put: %s", esk_status_text(status));
}

static bool many_check(struct esk_bush *bush, uint32_t number) {
    enum { MANY = 40 };
    uint8_t *rows = malloc((size_t)MANY * bush->row_bytes);
    uint32_t step = 1 + esk_bush_random(bush, 3);
    uint32_t count = 0;
    uint32_t done = 0;
    for (uint32_t at = number; count < MANY && at < bush->range; at += step) {
        esk_bush_row(bush, at, bush->version + 1 + count,
                     rows + (size_t)count * bush->row_bytes);
        count++;
    }
    int status = esk_tree_put_many(bush->tree, rows, count, &done);
    for (uint32_t i = 0; i < done; i++) {
        uint32_t at = number + i * step;
        bush->model.rows += bush->model.version[at] == 0 ? 1 : 0;
        bush->model.version[at] = bush->version + 1 + i;
    }
    bush->version += count;
    free(rows);
    return status == ESK_OK || status == ESK_FULL ||
           esk_bush_fail(bush, "put_many: %s", esk_status_text(status));
}

static bool delete_check(struct esk_bush *bush, uint32_t number) {
    bool there = bush->model.version[number] != 0;
    int status = esk_bush_delete(bush, number);
    return status == (there ? ESK_OK : ESK_NOT_FOUND) ||
           (bush->in_batch && status == ESK_FULL) ||
           esk_bush_fail(bush, "delete: %s, %s", esk_status_text(status),
                         there ? "there" : "not there");
}

/// Whether a batch may be refused for want of room. Where nodes move: those
/// that there are leave no room for `pages`, or a block. In place: `pages`, or
/// half of those never used, are too few for one change of a path, or with
/// merging of the neighbours and the free list beside it.
static bool batch_may_be_full(struct esk_bush *bush, uint32_t pages) {
    struct esk_tree_stats stats;
    struct esk_tree_walk walk;
    esk_tree_stats(bush->tree, &stats);
    if (!esk_bush_overwrites(bush->table.store)) {
        pages = pages > 0 ? pages : bush->device->geometry.block_pages;
        return stats.nodes + pages > stats.nodes_max;
    }
    uint32_t change = stats.height;
    if (bush->table.merges) {
        change = 3u * stats.height + 4u;
    }
    if (esk_tree_walk_open(bush->tree, &walk) != ESK_OK) {
        return false;
    }
    uint32_t unused = walk.pages_max - walk.pages;
    return pages > 0 ? pages < change || pages > unused : unused / 2 < change;
}

static bool batch_begin(struct esk_bush *bush, uint32_t pages) {
    bool unsupported =
        esk_bush_overwrites(bush->table.store) && bush->table.batch_pages == 0;
    bool may_be_full = batch_may_be_full(bush, pages);
    int status = esk_tree_begin(bush->tree, pages);
    bush->before = bush->model;
    bush->in_batch = status == ESK_OK;
    return status == (unsupported ? ESK_E_UNSUPPORTED : ESK_OK) ||
           (status == ESK_FULL && may_be_full) ||
           esk_bush_fail(bush, "begin: %s", esk_status_text(status));
}

bool esk_bush_batch(struct esk_bush *bush, uint32_t pages, bool takes_back) {
    if (!bush->in_batch) {
        return batch_begin(bush, pages);
    }
    int status =
        takes_back ? esk_tree_abort(bush->tree) : esk_tree_commit(bush->tree);
    bush->model = takes_back ? bush->before : bush->model;
    bush->in_batch = false;
    return status == ESK_OK ||
           esk_bush_fail(bush, "batch: %s", esk_status_text(status));
}

bool esk_bush_call(struct esk_bush *bush) {
    uint32_t number = esk_bush_random(bush, bush->range);
    uint32_t phase = (uint32_t)(bush->version / 600 % 4);
    uint32_t call = esk_bush_random(bush, 100);
    uint32_t puts = phase == 3 ? 20 : 45;
    uint32_t deletes = phase == 3 ? 75 : 65;
    if (call < puts) {
        return put_check(bush, number);
    }
    if (call < deletes) {
        return delete_check(bush, number);
    }
    if (call < 95) {
        return reads_check(bush, number);
    }
    if (call < 97) {
        return many_check(bush, number);
    }
    if (call < 98 && !bush->in_batch) {
        return esk_bush_remount(bush);
    }
    if (call < 99) {
        bool takes_back = bush->in_batch && esk_bush_random(bush, 3) == 0;
        return bush->table.no_batches || esk_bush_batch(bush, 0, takes_back);
    }
    int status = esk_volume_step(&bush->volume,
                                 (uint16_t)esk_bush_random(bush, 20), NULL);
    return status == ESK_OK ||
           esk_bush_fail(bush, "step: %s", esk_status_text(status));
}

bool esk_bush_remount(struct esk_bush *bush) {
    if (bush->in_batch) {
        bush->model = bush->before;
        bush->in_batch = false;
    }
    esk_tree_close(bush->tree);
    esk_volume_unmount(&bush->volume);
    int status = esk_volume_mount(&bush->volume, bush->device, 0, bush->page);
    if (status == ESK_OK) {
        status = esk_bush_open(bush);
    }
    return status == ESK_OK ||
           esk_bush_fail(bush, "remount: %s", esk_status_text(status));
}

bool esk_bush_read_all(struct esk_bush *bush, uint32_t *versions) {
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t expected[ESK_BUSH_ROW_BYTES_MAX];
    struct esk_tree_cursor cursor;
    uint32_t number = 0;
    memset(versions, 0, bush->range * sizeof *versions);
    esk_tree_cursor_open(bush->tree, &cursor, NULL);
    int status = esk_tree_cursor_next(bush->tree, &cursor, row);
    while (status == ESK_OK) {
        uint32_t version = (uint32_t)row[0] | (uint32_t)row[1] << 8 |
                           (uint32_t)row[2] << 16 | (uint32_t)row[3] << 24;
        bool found = false;
        for (; number < bush->range && !found; number++) {
            esk_bush_row(bush, number, version, expected);
            found = memcmp(row, expected, bush->row_bytes) == 0;
            versions[number] = found ? version : 0;
        }
        if (!found) {
            return esk_bush_fail(bush, "a row that was never put, or order");
        }
        status = esk_tree_cursor_next(bush->tree, &cursor, row);
    }
    return status == ESK_END ||
           esk_bush_fail(bush, "scan: %s", esk_status_text(status));
}

void esk_bush_model_set(struct esk_bush *bush, const uint32_t *versions) {
    bush->model.rows = 0;
    for (uint32_t number = 0; number < bush->range; number++) {
        bush->model.version[number] = versions[number];
        bush->model.rows += versions[number] != 0 ? 1 : 0;
    }
}

/// Every row from `from` to `to`, one way, against the model.
static bool cursor_verify(struct esk_bush *bush, int32_t from, int32_t to,
                          bool backward) {
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t low[1024];
    uint8_t high[1024];
    struct esk_tree_cursor cursor;
    struct esk_tree_query query = {.backward = backward};
    esk_bush_key(bush, (uint32_t)(from < 0 ? 0 : from), low);
    esk_bush_key(bush, (uint32_t)(to < 0 ? 0 : to), high);
    query.key_min = from < 0 ? NULL : low;
    query.key_max = to < 0 ? NULL : high;
    int32_t first = from < 0 ? 0 : from;
    int32_t last = to < 0 ? bush->range - 1 : to;
    int32_t at = backward ? last : first;
    int32_t step = backward ? -1 : 1;
    esk_tree_cursor_open(bush->tree, &cursor, &query);
    for (;;) {
        int status = esk_tree_cursor_next(bush->tree, &cursor, row);
        while (at >= first && at <= last && bush->model.version[at] == 0) {
            at += step;
        }
        bool there = at >= first && at <= last;
        if (status != (there ? ESK_OK : ESK_END)) {
            return esk_bush_fail(bush, "cursor %d..%d: %s, expected row %d",
                                 (int)from, (int)to, esk_status_text(status),
                                 there ? (int)at : -1);
        }
        if (!there) {
            return true;
        }
        if (!row_is(bush, (uint32_t)at, row)) {
            return esk_bush_fail(bush, "cursor %d..%d: not row %d", (int)from,
                                 (int)to, (int)at);
        }
        at += step;
    }
}

static bool ends_verify(struct esk_bush *bush) {
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint32_t count = 0;
    int status = esk_tree_count(bush->tree, &count);
    if (status != ESK_OK || count != bush->model.rows) {
        return esk_bush_fail(bush, "count: %s, %lu, expected %lu",
                             esk_status_text(status), (unsigned long)count,
                             (unsigned long)bush->model.rows);
    }
    return read_is(bush, "first", esk_tree_first(bush->tree, row),
                   model_near(bush, 0, 1), row) &&
           read_is(bush, "last", esk_tree_last(bush->tree, row),
                   model_near(bush, bush->range - 1, -1), row);
}

bool esk_bush_verify(struct esk_bush *bush) {
    struct esk_tree_report report;
    int32_t from = (int32_t)esk_bush_random(bush, bush->range);
    int32_t to = (int32_t)esk_bush_random(bush, bush->range);
    int status = esk_tree_check(bush->tree, &report);
    if (status != ESK_OK || report.rows != bush->model.rows) {
        return esk_bush_fail(
            bush,
            "check: %s, %lu rows of %lu, %lu nodes, %lu damaged, %lu out of "
            "order, %lu wrong",
            esk_status_text(status), (unsigned long)report.rows,
            (unsigned long)bush->model.rows, (unsigned long)report.nodes,
            (unsigned long)report.pages_damaged,
            (unsigned long)report.order_wrong,
            (unsigned long)report.nodes_wrong);
    }
    for (uint32_t number = 0; number < bush->range; number += 7) {
        if (!reads_check(bush, number)) {
            return false;
        }
    }
    return ends_verify(bush) && cursor_verify(bush, -1, -1, false) &&
           cursor_verify(bush, -1, -1, true) &&
           cursor_verify(bush, from, to, false) &&
           cursor_verify(bush, from, to, true);
}
