// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Two trees, of each store, that a program makes mistakes with. For the tests
/// of misuse_tree*_test.c.
#ifndef ESK_TEST_MISUSE_TREE_H
#define ESK_TEST_MISUSE_TREE_H

#include "test/harness/misuse.h"

enum { ROWS = 90, ROW_BYTES = 20, FAR = 1000000 };

/// u32 at | i32 level | bytes pad
static const struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 12},
};

/// A store, with all that a tree of it can be opened with.
struct kind {
    const char *name;
    struct esk_tree_config config;
    uint8_t store;
};

static const struct kind kinds[] = {
    {"inplace",
     {.store = &esk_store_inplace,
      .merge = &esk_merge_inplace,
      .batches = &esk_batches_inplace},
     ESK_STORE_INPLACE},
    {"journaled",
     {.store = &esk_store_journaled, .batches = &esk_batches_inplace},
     ESK_STORE_JOURNALED},
    {"wandering",
     {.store = &esk_store_wandering,
      .merge = &esk_merge_moving,
      .write_cache = &esk_write_cache,
      .frames = 8},
     ESK_STORE_WANDERING},
    {"mu", {.store = &esk_store_mu, .policy = ESK_TREE_LRU_N}, ESK_STORE_MU},
    {"tnc",
     {.store = &esk_store_tnc, .merge = &esk_merge_moving, .frames = 13},
     ESK_STORE_TNC},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct esk_tree *tree;
static struct esk_tree *other; ///< of the same kind, of narrower rows
static uint8_t row[ROW_BYTES];
static uint32_t key;

static inline struct esk_tree_spec spec_of(const struct kind *kind,
                                           const char *name) {
    struct esk_tree_spec spec = {.table = {.name = name,
                                           .columns = columns,
                                           .column_count = 3,
                                           .row_bytes = ROW_BYTES},
                                 .store = kind->store,
                                 .blocks = 24};
    return spec;
}

static inline struct esk_tree_spec other_spec(const struct kind *kind) {
    struct esk_tree_spec spec = spec_of(kind, "other");
    table_columns(&spec.table, 2);
    return spec;
}

static inline void row_make(uint32_t number) {
    memset(row, 0, sizeof row);
    misuse_u32(row, number);
    misuse_u32(row + 4, number * 3);
}

static inline void table_works(struct esk_tree *table, uint16_t bytes) {
    uint8_t got[ROW_BYTES];
    row_make(key);
    ESK_CHECK_INT(esk_tree_put(table, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_sync(table), ESK_OK);
    ESK_CHECK_INT(esk_tree_get(table, row, got), ESK_OK);
    ESK_CHECK_BYTES(got, row, bytes);
}

/// Both tables take a row and have it.
static inline void tables_work(void) {
    key++;
    table_works(tree, ROW_BYTES);
    table_works(other, 8);
}

static inline void tables_verify(void) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
    ESK_CHECK_INT(esk_tree_check(other, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
}

static inline void tables_open(const struct kind *kind) {
    ESK_CHECK_INT(esk_tree_open(&tree, &misuse_volume, "map", &kind->config),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&other, &misuse_volume, "other", &kind->config),
                  ESK_OK);
}

static inline void tables_close(void) {
    esk_tree_close(tree);
    esk_tree_close(other);
}

static inline void start(const struct kind *kind) {
    struct esk_tree_spec spec = spec_of(kind, "map");
    ESK_CONTEXT("%s", kind->name);
    misuse_start(&misuse_card);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &spec, NULL), ESK_OK);
    spec = other_spec(kind);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &spec, NULL), ESK_OK);
    tables_open(kind);
    key = 0;
    for (uint8_t i = 0; i < ROWS; i++) {
        tables_work();
    }
}

#endif
