// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/model_tree.h"
#include "test/harness/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct esk_model_tree_key_type
    esk_model_tree_key_types[ESK_MODEL_TREE_KEY_TYPES] = {
        {ESK_TYPE_U8, 0},    {ESK_TYPE_I8, 0},     {ESK_TYPE_BYTES, 1},
        {ESK_TYPE_U16, 0},   {ESK_TYPE_I16, 0},    {ESK_TYPE_U32, 0},
        {ESK_TYPE_I32, 0},   {ESK_TYPE_U64, 0},    {ESK_TYPE_I64, 0},
        {ESK_TYPE_F32, 0},   {ESK_TYPE_F64, 0},    {ESK_TYPE_BYTES, 3},
        {ESK_TYPE_BYTES, 4}, {ESK_TYPE_BYTES, 20},
};

bool esk_model_tree_fail(struct esk_model_tree *model, const char *format,
                         ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->why, sizeof model->why, format, arguments);
    va_end(arguments);
    return false;
}

uint32_t esk_model_tree_random(struct esk_model_tree *model, uint32_t bound) {
    uint64_t z = model->random += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)((z ^ (z >> 31)) % bound);
}

static uint16_t key_width(const struct esk_model_tree *model) {
    return esk_type_bytes(model->table.key_type, model->table.key_bytes);
}

void esk_model_tree_key(const struct esk_model_tree *model, uint32_t number,
                        uint8_t *key) {
    uint16_t width = key_width(model);
    int64_t value = (int64_t)number - model->range / 2;
    switch (model->table.key_type) {
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

void esk_model_tree_row(const struct esk_model_tree *model, uint32_t number,
                        uint32_t version, uint8_t *row) {
    uint16_t width = key_width(model);
    for (uint16_t i = 0; i < model->row_bytes; i++) {
        row[i] = (uint8_t)(number * 31 + version * 7 + i);
    }
    for (uint16_t i = 0; i < 4; i++) {
        row[i] = (uint8_t)(version >> (8 * i));
    }
    esk_model_tree_key(model, number, row + 4);
    (void)width;
}

static int table_create(struct esk_model_tree *model) {
    const struct esk_model_tree_table *table = &model->table;
    struct esk_column columns[3] = {
        {.name = "version", .type = ESK_TYPE_U32},
        {.name = "key", .type = table->key_type, .bytes = table->key_bytes},
        {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = table->pad_bytes},
    };
    uint8_t count = table->pad_bytes > 0 ? 3 : 2;
    struct esk_tree_spec spec = {
        .table = {.name = "model",
                  .columns = columns,
                  .column_count = count,
                  .row_bytes = esk_row_bytes(columns, count),
                  .key_column = 1},
        .store = table->store,
        .k_percent = table->k_percent,
        .blocks = table->blocks,
    };
    struct esk_fault fault = {.kind = 0};
    model->row_bytes = spec.table.row_bytes;
    return esk_tree_create(&model->volume, &spec, &fault);
}

int esk_model_tree_open(struct esk_model_tree *model) {
    static const struct esk_node_store *const stores[] = {NULL,
                                                          &esk_store_inplace,
                                                          &esk_store_journaled,
                                                          &esk_store_wandering,
                                                          &esk_store_mu,
                                                          &esk_store_tnc};
    struct esk_table_info info;
    model->config.store = stores[model->table.store];
    model->config.frames = model->table.frames;
    model->config.merge = NULL;
    if (model->table.merges) {
        model->config.merge = esk_model_tree_overwrites(model->table.store)
                                  ? &esk_merge_inplace
                                  : &esk_merge_moving;
    }
    model->config.policy = model->table.policy;
    model->config.batch_pages = model->table.batch_pages;
    model->config.batches =
        model->table.batch_pages > 0 ? &esk_batches_inplace : NULL;
    model->config.write_frames = model->table.write_frames;
    model->config.write_cache =
        model->table.write_frames > 0 ? &esk_write_cache : NULL;
    ESK_TRY(esk_volume_find(&model->volume, "model", &info));
    if (model->arena == NULL) {
        model->arena_bytes =
            esk_tree_arena_bytes(&model->volume, &info, &model->config);
        model->arena = malloc(model->arena_bytes);
    }
    return test_tree_open(&model->tree, &model->volume, "model", &model->config,
                          model->arena, model->arena_bytes);
}

int esk_model_tree_make_on(struct esk_model_tree *model,
                           const struct esk_model_tree_table *table,
                           const struct esk_sim_config *config, uint64_t seed) {
    struct esk_volume_config volume = {
        .tables_max = 2, .checksum = table->checksum, .overwrite = true};
    memset(model, 0, sizeof *model);
    model->table = *table;
    model->random = seed;
    model->range = table->key_range != 0 ? table->key_range : 2000;
    if (key_width(model) == 1 && model->range > 250) {
        model->range = 250;
    }
    ESK_TRY(esk_sim_create(&model->sim, config));
    model->device = esk_sim_device(model->sim);
    model->page = malloc(model->device->geometry.page_bytes);
    ESK_TRY(esk_volume_format(model->device, &volume, TEST_SCRATCH));
    ESK_TRY(esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH));
    ESK_TRY(table_create(model));
    return esk_model_tree_open(model);
}

int esk_model_tree_make(struct esk_model_tree *model,
                        const struct esk_model_tree_table *table,
                        const struct esk_geometry *geometry, uint64_t seed) {
    struct esk_sim_config config = {
        .geometry = *geometry,
        .seed = seed,
        .erase_keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    return esk_model_tree_make_on(model, table, &config, seed);
}

void esk_model_tree_free(struct esk_model_tree *model) {
    esk_sim_destroy(model->sim);
    free(model->arena);
    free(model->page);
}

int esk_model_tree_put(struct esk_model_tree *model, uint32_t number) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_model_tree_row(model, number, model->version + 1, row);
    model->version++;
    int status = esk_tree_put(model->tree, row);
    if (status == ESK_OK) {
        model->expected.rows += model->expected.version[number] == 0 ? 1 : 0;
        model->expected.version[number] = model->version;
    }
    return status;
}

int esk_model_tree_delete(struct esk_model_tree *model, uint32_t number) {
    uint8_t key[1024];
    esk_model_tree_key(model, number, key);
    int status = esk_tree_delete(model->tree, key);
    if (status == ESK_OK) {
        model->expected.rows--;
        model->expected.version[number] = 0;
    }
    return status;
}

/// Whether `row` is the model's row of key `number`.
static bool row_is(struct esk_model_tree *model, uint32_t number,
                   const uint8_t *row) {
    uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
    esk_model_tree_row(model, number, model->expected.version[number],
                       expected);
    return memcmp(row, expected, model->row_bytes) == 0;
}

/// The nearest number that has a row, from `number` on in direction `step`.
static int32_t model_near(const struct esk_model_tree *model, int32_t number,
                          int32_t step) {
    while (number >= 0 && number < model->range &&
           model->expected.version[number] == 0) {
        number += step;
    }
    return number < model->range ? number : -1;
}

/// Checks the outcome of a read against row `number` of the expected; -1: none.
static bool read_is(struct esk_model_tree *model, const char *call, int status,
                    int32_t number, const uint8_t *row) {
    int expected = number < 0 ? ESK_NOT_FOUND : ESK_OK;
    if (status != expected) {
        return esk_model_tree_fail(model, "%s: %s, expected row %d", call,
                                   esk_status_text(status), (int)number);
    }
    return number < 0 || row_is(model, (uint32_t)number, row) ||
           esk_model_tree_fail(model, "%s: not row %d", call, (int)number);
}

static bool reads_check(struct esk_model_tree *model, uint32_t number) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t key[1024];
    esk_model_tree_key(model, number, key);
    int32_t at = (int32_t)number;
    int32_t same = model->expected.version[number] != 0 ? at : -1;
    return read_is(model, "get", esk_tree_get(model->tree, key, row), same,
                   row) &&
           read_is(model, "floor", esk_tree_floor(model->tree, key, row),
                   model_near(model, at, -1), row) &&
           read_is(model, "ceiling", esk_tree_ceiling(model->tree, key, row),
                   model_near(model, at, 1), row);
}

static bool put_check(struct esk_model_tree *model, uint32_t number) {
    bool there = model->expected.version[number] != 0;
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t way = esk_model_tree_random(model, 6);
    if (way == 0) {
        esk_model_tree_row(model, number, model->version + 1, row);
        int status = there ? esk_tree_insert(model->tree, row)
                           : esk_tree_update(model->tree, row);
        int expected = there ? ESK_EXISTS : ESK_NOT_FOUND;
        return status == expected || status == ESK_FULL ||
               esk_model_tree_fail(model, "insert or update: %s",
                                   esk_status_text(status));
    }
    int status = esk_model_tree_put(model, number);
    if (status == ESK_FULL) {
        model->full_seen = true;
        return !there || model->in_batch ||
               esk_model_tree_fail(model, "a change was refused");
    }
    return status == ESK_OK ||
           esk_model_tree_fail(model, "put: %s", esk_status_text(status));
}

static bool many_check(struct esk_model_tree *model, uint32_t number) {
    enum { MANY = 40 };
    uint8_t *rows = malloc((size_t)MANY * model->row_bytes);
    uint32_t step = 1 + esk_model_tree_random(model, 3);
    uint32_t count = 0;
    uint32_t done = 0;
    for (uint32_t at = number; count < MANY && at < model->range; at += step) {
        esk_model_tree_row(model, at, model->version + 1 + count,
                           rows + (size_t)count * model->row_bytes);
        count++;
    }
    int status = esk_tree_put_many(model->tree, rows, count, &done);
    for (uint32_t i = 0; i < done; i++) {
        uint32_t at = number + i * step;
        model->expected.rows += model->expected.version[at] == 0 ? 1 : 0;
        model->expected.version[at] = model->version + 1 + i;
    }
    model->version += count;
    free(rows);
    return status == ESK_OK || status == ESK_FULL ||
           esk_model_tree_fail(model, "put_many: %s", esk_status_text(status));
}

static bool delete_check(struct esk_model_tree *model, uint32_t number) {
    bool there = model->expected.version[number] != 0;
    int status = esk_model_tree_delete(model, number);
    return status == (there ? ESK_OK : ESK_NOT_FOUND) ||
           (model->in_batch && status == ESK_FULL) ||
           esk_model_tree_fail(model, "delete: %s, %s", esk_status_text(status),
                               there ? "there" : "not there");
}

/// Whether a batch may be refused for lack of room. Copy-on-write: the nodes
/// leave no room for `pages`, or a block. In place: `pages`, or the region's
/// slots, may be too few for a change of a path.
static bool batch_may_be_full(struct esk_model_tree *model, uint32_t pages) {
    struct esk_tree_stats stats;
    esk_tree_stats(model->tree, &stats);
    if (!esk_model_tree_overwrites(model->table.store)) {
        pages = pages > 0 ? pages : model->device->geometry.block_pages;
        return stats.nodes + pages > stats.nodes_max;
    }
    uint32_t change = stats.height + 1u;
    uint32_t unused = stats.nodes_max - stats.nodes;
    return pages > 0 ? pages < change || pages > unused : unused / 2 < change;
}

static bool batch_begin(struct esk_model_tree *model, uint32_t pages) {
    bool unsupported = esk_model_tree_overwrites(model->table.store) &&
                       model->table.batch_pages == 0 && !model->table.merges;
    bool may_be_full = batch_may_be_full(model, pages);
    int status = esk_tree_begin(model->tree, pages);
    model->before = model->expected;
    model->in_batch = status == ESK_OK;
    return status == (unsupported ? ESK_E_UNSUPPORTED : ESK_OK) ||
           (status == ESK_FULL && may_be_full) ||
           esk_model_tree_fail(model, "begin: %s", esk_status_text(status));
}

bool esk_model_tree_batch(struct esk_model_tree *model, uint32_t pages,
                          bool takes_back) {
    if (!model->in_batch) {
        return batch_begin(model, pages);
    }
    int status =
        takes_back ? esk_tree_abort(model->tree) : esk_tree_commit(model->tree);
    model->expected = takes_back ? model->before : model->expected;
    model->in_batch = false;
    return status == ESK_OK ||
           esk_model_tree_fail(model, "batch: %s", esk_status_text(status));
}

bool esk_model_tree_call(struct esk_model_tree *model) {
    uint32_t number = esk_model_tree_random(model, model->range);
    uint32_t phase = (uint32_t)(model->version / 600 % 4);
    uint32_t call = esk_model_tree_random(model, 100);
    uint32_t puts = phase == 3 ? 20 : 45;
    uint32_t deletes = phase == 3 ? 75 : 65;
    if (call < puts) {
        return put_check(model, number);
    }
    if (call < deletes) {
        return delete_check(model, number);
    }
    if (call < 95) {
        return reads_check(model, number);
    }
    if (call < 97) {
        return many_check(model, number);
    }
    if (call < 98 && !model->in_batch) {
        return esk_model_tree_remount(model);
    }
    if (call < 99) {
        bool takes_back =
            model->in_batch && esk_model_tree_random(model, 3) == 0;
        return model->table.no_batches ||
               esk_model_tree_batch(model, 0, takes_back);
    }
    int status = esk_volume_step(
        &model->volume, (uint16_t)esk_model_tree_random(model, 20), NULL);
    return status == ESK_OK ||
           esk_model_tree_fail(model, "step: %s", esk_status_text(status));
}

bool esk_model_tree_remount(struct esk_model_tree *model) {
    if (model->in_batch) {
        model->expected = model->before;
        model->in_batch = false;
    }
    esk_tree_close(model->tree);
    esk_volume_unmount(&model->volume);
    int status =
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH);
    if (status == ESK_OK) {
        status = esk_model_tree_open(model);
    }
    return status == ESK_OK ||
           esk_model_tree_fail(model, "remount: %s", esk_status_text(status));
}

bool esk_model_tree_read_all(struct esk_model_tree *model, uint32_t *versions) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
    struct esk_tree_cursor cursor;
    uint32_t number = 0;
    memset(versions, 0, model->range * sizeof *versions);
    esk_tree_cursor_open(model->tree, &cursor, NULL);
    int status = esk_tree_cursor_next(model->tree, &cursor, row);
    while (status == ESK_OK) {
        uint32_t version = (uint32_t)row[0] | (uint32_t)row[1] << 8 |
                           (uint32_t)row[2] << 16 | (uint32_t)row[3] << 24;
        bool found = false;
        for (; number < model->range && !found; number++) {
            esk_model_tree_row(model, number, version, expected);
            found = memcmp(row, expected, model->row_bytes) == 0;
            versions[number] = found ? version : 0;
        }
        if (!found) {
            return esk_model_tree_fail(model,
                                       "a row that was never put, or order");
        }
        status = esk_tree_cursor_next(model->tree, &cursor, row);
    }
    return status == ESK_END ||
           esk_model_tree_fail(model, "scan: %s", esk_status_text(status));
}

void esk_model_tree_model_set(struct esk_model_tree *model,
                              const uint32_t *versions) {
    model->expected.rows = 0;
    for (uint32_t number = 0; number < model->range; number++) {
        model->expected.version[number] = versions[number];
        model->expected.rows += versions[number] != 0 ? 1 : 0;
    }
}

/// Checks every row from `from` to `to`, in one direction, against the
/// expected.
static bool cursor_verify(struct esk_model_tree *model, int32_t from,
                          int32_t to, bool backward) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint8_t low[1024];
    uint8_t high[1024];
    struct esk_tree_cursor cursor;
    struct esk_tree_query query = {.backward = backward};
    esk_model_tree_key(model, (uint32_t)(from < 0 ? 0 : from), low);
    esk_model_tree_key(model, (uint32_t)(to < 0 ? 0 : to), high);
    query.key_min = from < 0 ? NULL : low;
    query.key_max = to < 0 ? NULL : high;
    int32_t first = from < 0 ? 0 : from;
    int32_t last = to < 0 ? model->range - 1 : to;
    int32_t at = backward ? last : first;
    int32_t step = backward ? -1 : 1;
    esk_tree_cursor_open(model->tree, &cursor, &query);
    for (;;) {
        int status = esk_tree_cursor_next(model->tree, &cursor, row);
        while (at >= first && at <= last && model->expected.version[at] == 0) {
            at += step;
        }
        bool there = at >= first && at <= last;
        if (status != (there ? ESK_OK : ESK_END)) {
            return esk_model_tree_fail(
                model, "cursor %d..%d: %s, expected row %d", (int)from, (int)to,
                esk_status_text(status), there ? (int)at : -1);
        }
        if (!there) {
            return true;
        }
        if (!row_is(model, (uint32_t)at, row)) {
            return esk_model_tree_fail(model, "cursor %d..%d: not row %d",
                                       (int)from, (int)to, (int)at);
        }
        at += step;
    }
}

static bool ends_verify(struct esk_model_tree *model) {
    uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
    uint32_t count = 0;
    int status = esk_tree_count(model->tree, &count);
    if (status != ESK_OK || count != model->expected.rows) {
        return esk_model_tree_fail(
            model, "count: %s, %lu, expected %lu", esk_status_text(status),
            (unsigned long)count, (unsigned long)model->expected.rows);
    }
    return read_is(model, "first", esk_tree_first(model->tree, row),
                   model_near(model, 0, 1), row) &&
           read_is(model, "last", esk_tree_last(model->tree, row),
                   model_near(model, model->range - 1, -1), row);
}

bool esk_model_tree_verify(struct esk_model_tree *model) {
    struct esk_tree_report report;
    int32_t from = (int32_t)esk_model_tree_random(model, model->range);
    int32_t to = (int32_t)esk_model_tree_random(model, model->range);
    int status = esk_tree_check(model->tree, &report);
    if (status != ESK_OK || report.rows != model->expected.rows) {
        return esk_model_tree_fail(
            model,
            "check: %s, %lu rows of %lu, %lu nodes, %lu damaged, %lu out of "
            "order, %lu wrong",
            esk_status_text(status), (unsigned long)report.rows,
            (unsigned long)model->expected.rows, (unsigned long)report.nodes,
            (unsigned long)report.pages_damaged,
            (unsigned long)report.order_wrong,
            (unsigned long)report.nodes_wrong);
    }
    for (uint32_t number = 0; number < model->range; number += 7) {
        if (!reads_check(model, number)) {
            return false;
        }
    }
    return ends_verify(model) && cursor_verify(model, -1, -1, false) &&
           cursor_verify(model, -1, -1, true) &&
           cursor_verify(model, from, to, false) &&
           cursor_verify(model, from, to, true);
}
