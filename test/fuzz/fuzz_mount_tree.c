// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes all code that reads an image with trees (test/fuzz/hostile.h).
///
///     byte 2   frames, policy
#include "test/fuzz/hostile.h"

static const struct esk_node_store *const stores[] = {NULL,
                                                      &esk_store_inplace,
                                                      &esk_store_journaled,
                                                      &esk_store_wandering,
                                                      &esk_store_mu,
                                                      &esk_store_tnc};

enum { STORE_COUNT = sizeof stores / sizeof stores[0] };

static const struct esk_column first_columns[] = {
    {.name = "key", .type = ESK_TYPE_I32},
    {.name = "value", .type = ESK_TYPE_U32},
};

static const struct esk_column second_columns[] = {
    {.name = "value", .type = ESK_TYPE_U16},
    {.name = "key", .type = ESK_TYPE_BYTES, .bytes = 5},
};

/// Offset of a table's key in its row.
struct place {
    uint16_t offset;
    uint16_t bytes;
    uint16_t row_bytes;
};

/// Writes a row of key number `i`, and returns its key's place.
static const uint8_t *row_write(const struct place *place, uint32_t i,
                                uint8_t *row) {
    memset(row, (int)i, ROW_BYTES_MAX);
    memset(row + place->offset, 0, place->bytes);
    for (uint16_t at = 0; at < place->bytes && at < 4; at++) {
        row[place->offset + at] = (uint8_t)(i >> (8 * at));
    }
    return row + place->offset;
}

/* ------------------------------------------------------- the valid image */

static void rows_put(struct esk_tree *tree, const struct place *place,
                     uint32_t count) {
    uint8_t row[ROW_BYTES_MAX];
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *key = row_write(place, i * 29 % 61, row);
        if (i % 5 == 4) {
            (void)esk_tree_delete(tree, key);
        } else {
            (void)esk_tree_put(tree, row);
        }
    }
}

static void table_make(struct esk_volume *volume, bool second, bool few) {
    const struct esk_geometry *geometry = &volume->device->geometry;
    bool overwrites = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
    struct esk_tree *tree = NULL;
    struct place place = {second ? 2 : 0, second ? 5 : 4, second ? 7 : 8};
    struct esk_tree_spec spec = {
        .table = {.name = second ? "second" : "first",
                  .columns = second ? second_columns : first_columns,
                  .column_count = 2,
                  .row_bytes = second ? 7 : 8,
                  .key_column = second ? 1 : 0},
        .store =
            (uint8_t)((overwrites ? ESK_STORE_INPLACE : ESK_STORE_WANDERING) +
                      (second ? 1 : 0)),
        .blocks = geometry->block_count / 3,
    };
    if (few && second && !overwrites) {
        spec.store = ESK_STORE_TNC;
    }
    struct esk_tree_config config = {.store = stores[spec.store]};
    if (esk_tree_create(volume, &spec, NULL) == ESK_OK &&
        test_tree_open(&tree, volume, spec.table.name, &config, arena,
                       sizeof arena) == ESK_OK) {
        rows_put(tree, &place, few ? 20 : 300);
        esk_tree_close(tree);
    }
}

static void tables_make(struct esk_volume *volume, bool few) {
    table_make(volume, false, few);
    table_make(volume, true, few);
}

static void tables_renew(struct esk_volume *volume) {
    (void)esk_volume_drop(volume, "first");
    table_make(volume, false, true);
}

/* ---------------------------------------------------------- what is called */

static void scan(struct esk_tree *tree, const struct esk_tree_query *query) {
    struct esk_tree_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t left = 8 * IMAGE_BYTES_MAX;
    int status = esk_tree_cursor_open(tree, &cursor, query);
    while (status == ESK_OK || status == ESK_E_CORRUPT) {
        scan_bound(&left);
        status = esk_tree_cursor_next(tree, &cursor, row);
    }
}

static void walk_all(struct esk_tree *tree) {
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t left = IMAGE_BYTES_MAX;
    int status = esk_tree_walk_open(tree, &walk);
    while (status == ESK_OK) {
        scan_bound(&left);
        status = esk_tree_walk_next(tree, &walk, &node);
    }
}

static void tree_read(struct esk_tree *tree, const struct place *place) {
    struct esk_tree_report report;
    uint8_t low[ROW_BYTES_MAX];
    uint8_t high[ROW_BYTES_MAX];
    uint8_t row[ROW_BYTES_MAX];
    uint32_t count = 0;
    struct esk_tree_query query = {.backward = true};
    scan(tree, NULL);
    scan(tree, &query);
    query.key_min = row_write(place, 10, low);
    query.key_max = row_write(place, 40, high);
    scan(tree, &query);
    for (uint32_t i = 0; i < 64; i += 9) {
        const uint8_t *key = row_write(place, i, low);
        (void)esk_tree_get(tree, key, row);
        (void)esk_tree_floor(tree, key, row);
        (void)esk_tree_ceiling(tree, key, row);
    }
    (void)esk_tree_first(tree, row);
    (void)esk_tree_last(tree, row);
    (void)esk_tree_count(tree, &count);
    (void)esk_tree_check(tree, &report);
    walk_all(tree);
}

static void tree_change(struct esk_tree *tree, const struct place *place) {
    uint8_t rows[8 * ROW_BYTES_MAX];
    uint32_t done = 0;
    rows_put(tree, place, 40);
    for (uint32_t i = 0; i < 8; i++) {
        uint8_t row[ROW_BYTES_MAX];
        row_write(place, 100 + i, row);
        memcpy(rows + (size_t)i * place->row_bytes, row, place->row_bytes);
    }
    (void)esk_tree_put_many(tree, rows, 8, &done);
    if (esk_tree_begin(tree, 6) == ESK_OK) {
        rows_put(tree, place, 5);
        (void)(place->bytes % 2 == 0 ? esk_tree_commit(tree)
                                     : esk_tree_abort(tree));
    }
    (void)esk_tree_sync(tree);
}

/// Reads beside changes.
static void reader_use(struct esk_volume *volume, struct esk_tree *tree,
                       const struct place *place, uint8_t how) {
    struct esk_tree_config config = {.frames = how & 3, .policy = how >> 2 & 1};
    struct esk_tree *reader = NULL;
    uint32_t bytes = esk_tree_reader_arena_bytes(tree, &config);
    void *exact = malloc(bytes);
    if (exact != NULL && test_tree_reader_open(volume, &reader, tree, &config,
                                               exact, bytes) == ESK_OK) {
        tree_read(reader, place);
        tree_change(tree, place);
        tree_read(reader, place);
        tree_change(reader, place);
        (void)esk_tree_reader_renew(reader);
        scan(reader, NULL);
        esk_tree_close(reader);
    }
    free(exact);
}

static void table_use(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t how) {
    struct esk_tree_config config = {.frames = how & 7, .policy = how >> 3 & 1};
    struct esk_column_info column = {.bytes = 0};
    struct esk_tree *tree = NULL;
    struct esk_tree_options options;
    if (esk_tree_options(info, &options) == ESK_OK) {
        config.store = stores[options.store];
    }
    uint32_t bytes = esk_tree_arena_bytes(volume, info, &config);
    void *exact = bytes > 0 && bytes <= sizeof arena ? malloc(bytes) : NULL;
    if (exact == NULL ||
        esk_volume_column(volume, info, info->key_column, &column) != ESK_OK) {
        free(exact);
        return;
    }
    if (test_tree_open(&tree, volume, info->name, &config, exact, bytes) ==
        ESK_OK) {
        struct place place = {column.offset, column.bytes,
                              esk_tree_row_bytes(tree)};
        tree_read(tree, &place);
        reader_use(volume, tree, &place, (uint8_t)(how >> 4));
        (void)esk_volume_step(volume, 3, NULL);
        tree_read(tree, &place);
        esk_tree_close(tree);
    }
    free(exact);
}
