// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees under damage. The changes of a key are numbered: version v of key k is
/// a row, or no row, as a function of the two. So a row contains the number of
/// its change, and a row older than the last synced change is a loss, like a
/// missing one.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/damage/versions.h"

enum {
    TREE_BODY_BYTES = 34,
    TREE_ROW_BYTES = 4 + 2 + TREE_BODY_BYTES,
    BATCH_CHANGES = 6,
};

static struct esk_tree *run_tree;

// ------------------------------------------------------------------- rows

static uint32_t key_of(uint32_t k) {
    return 100 + k * 7;
}

static void tree_row_make(uint32_t k, uint32_t v, uint8_t *row) {
    uint32_t key = key_of(k);
    for (int b = 0; b < 4; b++) {
        row[b] = (uint8_t)(key >> 8 * b);
    }
    row[4] = (uint8_t)v;
    row[5] = (uint8_t)(v >> 8);
    for (uint32_t b = 0; b < TREE_BODY_BYTES; b += 8) {
        uint64_t x = mix64(((uint64_t)k << 40) + ((uint64_t)v << 8) + b);
        uint32_t left = TREE_BODY_BYTES - b;
        memcpy(row + 6 + b, &x, left < 8 ? left : 8);
    }
}

// The number of the row's key, or KEYS_MAX with a finding.
static uint32_t tree_row_check(const uint8_t *row, const char *by,
                               uint16_t *version) {
    uint8_t wanted[TREE_ROW_BYTES];
    uint32_t key = 0;
    for (int b = 0; b < 4; b++) {
        key |= (uint32_t)row[b] << 8 * b;
    }
    uint32_t k = (key - 100) / 7;
    *version = (uint16_t)(row[4] | row[5] << 8);
    if (key < 100 || k >= versions.keys || key_of(k) != key) {
        found(versions.trial, FINDING_WRONG, "%s: key %u that nobody wrote", by,
              (unsigned)key);
        return KEYS_MAX;
    }
    tree_row_make(k, *version, wanted);
    if (memcmp(row, wanted, sizeof wanted) != 0 ||
        *version > versions.table->log[k].version ||
        version_deletes(k, *version)) {
        found(versions.trial, FINDING_WRONG,
              "%s: key %u: row that nobody wrote", by, (unsigned)k);
        return KEYS_MAX;
    }
    return k;
}

// ------------------------------------------------------- table and volume

static const struct esk_node_store *store_of(const struct table_shape *shape) {
    switch (shape->store) {
    case ESK_STORE_INPLACE:
        return &esk_store_inplace;
    case ESK_STORE_JOURNALED:
        return &esk_store_journaled;
    case ESK_STORE_WANDERING:
        return &esk_store_wandering;
    case ESK_STORE_TNC:
        return &esk_store_tnc;
    default:
        return &esk_store_mu;
    }
}

static bool shape_moves(const struct table_shape *shape) {
    return shape->store >= ESK_STORE_WANDERING;
}

static int tree_create(struct table *table) {
    const struct esk_column columns[] = {
        {.name = "k", .type = ESK_TYPE_U32},
        {.name = "v", .type = ESK_TYPE_U16},
        {.name = "body", .type = ESK_TYPE_BYTES, .bytes = TREE_BODY_BYTES},
    };
    const struct esk_tree_spec spec = {
        .table = {.name = "rows",
                  .columns = columns,
                  .column_count = 3,
                  .row_bytes = 6 + TREE_BODY_BYTES},
        .store = table->of->shape->store,
        .blocks = table->of->data_blocks,
    };
    return esk_tree_create(&table->volume, &spec, NULL);
}

static int tree_open(struct table *table) {
    const struct table_shape *shape = table->of->shape;
    bool moves = shape_moves(shape);
    struct esk_tree_config config = {.store = store_of(shape), .frames = 3};
    struct esk_table_info info;
    if (shape->merges) {
        config.merge = moves ? &esk_merge_moving : &esk_merge_inplace;
    }
    if (shape->has_batches && !moves) {
        config.batches = &esk_batches_inplace;
    }
    if (shape->has_cache) {
        config.write_cache = &esk_write_cache;
        config.frames = 16;
    }
    run_tree = NULL;
    ESK_TRY(esk_volume_mount(&table->volume, &table->medium->device, 0,
                             TEST_SCRATCH));
    ESK_TRY(esk_volume_find(&table->volume, "rows", &info));
    uint32_t block_pages = table->medium->device.geometry.block_pages;
    table->region_first = info.block[0] * block_pages;
    table->region_pages = info.blocks[0] * block_pages;
    uint32_t bytes = esk_tree_arena_bytes(&table->volume, &info, &config);
    if (bytes == 0) {
        return ESK_E_CORRUPT;
    }
    table->arena = malloc(bytes); // exact, so that a sanitizer finds an overrun
    return test_tree_open(&run_tree, &table->volume, "rows", &config,
                          table->arena, bytes);
}

static void tree_close(struct table *table) {
    if (run_tree != NULL) {
        esk_tree_close(run_tree);
        run_tree = NULL;
    }
    esk_volume_unmount(&table->volume);
    free(table->arena);
    table->arena = NULL;
    medium_cut(table->medium, table->rows);
}

// Puts or deletes the next version of a random key.
static int tree_change(struct table *table) {
    uint8_t row[TREE_ROW_BYTES];
    uint32_t k = (uint32_t)(mix64((uint64_t)table->rows++ + 5) % versions.keys);
    struct row_log *log = &table->log[k];
    uint16_t v = ++log->version;
    int status;
    tree_row_make(k, v, row);
    if (version_deletes(k, v)) {
        status = esk_tree_delete(run_tree, row);
        status = status == ESK_NOT_FOUND ? ESK_OK : status;
    } else {
        status = esk_tree_put(run_tree, row);
    }
    if (status == ESK_OK) {
        log->accepted = v;
    }
    return status;
}

static int tree_sync(struct table *table, uint8_t stage) {
    int status = esk_tree_sync(run_tree);
    if (status == ESK_OK) {
        versions_sync(table, stage);
    }
    return status;
}

// A few changes that take effect together, or separate ones without batches.
static int tree_batch(struct table *table) {
    uint16_t accepted[KEYS_MAX];
    int status = esk_tree_begin(run_tree, 8);
    if (status != ESK_OK) {
        return status == ESK_FULL ? tree_change(table) : status;
    }
    for (uint32_t k = 0; k < versions.keys; k++) {
        accepted[k] = table->log[k].accepted;
    }
    for (int n = 0; n < BATCH_CHANGES && status == ESK_OK; n++) {
        status = tree_change(table);
    }
    int commit = esk_tree_commit(run_tree);
    if (commit != ESK_OK) {
        (void)esk_tree_abort(run_tree);
        for (uint32_t k = 0; k < versions.keys; k++) {
            table->log[k].accepted = accepted[k];
        }
    }
    return commit != ESK_OK ? commit : status;
}

// ------------------------------------------------------------ reading

static void tree_scan(bool backward) {
    struct esk_tree_cursor cursor;
    const struct esk_tree_query query = {.backward = backward};
    uint8_t row[TREE_ROW_BYTES];
    uint32_t last = backward ? UINT32_MAX : 0;
    uint32_t count = 0;
    bool said = false;
    int status = esk_tree_cursor_open(run_tree, &cursor, &query);
    for (uint32_t n = 0; n < KEYS_MAX * 8 && status != ESK_END; n++) {
        status = esk_tree_cursor_next(run_tree, &cursor, row);
        if (status < 0) {
            told(versions.trial, "%s: %d", backward ? "backward" : "scan",
                 status);
            said = true;
        }
        if (status != ESK_OK) {
            continue;
        }
        uint16_t version = 0;
        uint32_t k =
            tree_row_check(row, backward ? "backward" : "scan", &version);
        if (k == KEYS_MAX) {
            continue;
        }
        if (count != 0 && (backward ? k >= last : k <= last)) {
            found(versions.trial, FINDING_WRONG, "scan: key %u after %u",
                  (unsigned)k, (unsigned)last);
        }
        last = k;
        count++;
        if (!backward) {
            versions.seen[k] = version;
        } else if (versions.seen[k] != version) {
            found(versions.trial, FINDING_INDEX, "key %u backward, not forward",
                  (unsigned)k);
        }
    }
    if (status != ESK_END) {
        found(versions.trial, FINDING_HANG, "scan: no end");
    }
    if (!backward) {
        versions.seen_count = count;
    } else if (!said && count != versions.seen_count) {
        found(versions.trial, FINDING_INDEX, "%u rows forward, %u backward",
              (unsigned)versions.seen_count, (unsigned)count);
    }
}

static void tree_gets(void) {
    uint8_t row[TREE_ROW_BYTES];
    uint8_t wanted[TREE_ROW_BYTES];
    for (uint32_t k = 0; k < versions.keys; k++) {
        uint16_t version = NOT_SEEN;
        if (k % 3 != 0 && version_is_due(k, versions.seen[k])) {
            continue;
        }
        tree_row_make(k, 0, wanted);
        int status = esk_tree_get(run_tree, wanted, row);
        if (status < 0) {
            told(versions.trial, "get of key %u: %d", (unsigned)k, status);
            continue;
        }
        if (status == ESK_OK && tree_row_check(row, "get", &version) != k) {
            found(versions.trial, FINDING_WRONG, "get of key %u: another row",
                  (unsigned)k);
        } else if (version != versions.seen[k]) {
            found(versions.trial, FINDING_INDEX, "key %u: get %u, scan %u",
                  (unsigned)k, (unsigned)version, (unsigned)versions.seen[k]);
        }
    }
}

static void tree_reports(void) {
    struct esk_tree_report report;
    struct esk_tree_stats stats;
    uint32_t count = 0;
    int status = esk_tree_count(run_tree, &count);
    if (status < 0) {
        told(versions.trial, "count: %d", status);
    } else if (count != versions.seen_count) {
        told(versions.trial, "count: %u, scan: %u", (unsigned)count,
             (unsigned)versions.seen_count);
    }
    status = esk_tree_check(run_tree, &report);
    if (status != ESK_OK ||
        report.pages_damaged + report.order_wrong + report.nodes_wrong != 0) {
        told(versions.trial, "check: %d, damaged %u order %u nodes %u", status,
             (unsigned)report.pages_damaged, (unsigned)report.order_wrong,
             (unsigned)report.nodes_wrong);
    }
    if (report.newest_unread != 0) {
        told(versions.trial, "check: newest unread %u",
             (unsigned)report.newest_unread);
    }
    esk_tree_stats(run_tree, &stats);
    if (stats.pages_damaged != 0) {
        told(versions.trial, "stats: damaged %u",
             (unsigned)stats.pages_damaged);
    }
}

static void tree_read_all(struct table *table, int stage, struct trial *trial) {
    versions_begin(table, stage, trial);
    tree_scan(false);
    tree_scan(true);
    tree_gets();
    tree_reports();
    versions_judge();
    if (table->verbose) {
        printf("  stage %d: %u rows, told by %s\n", stage,
               (unsigned)versions.seen_count,
               trial->told ? trial->told_by : "nobody");
    }
}

// ---------------------------------------------------------------- stages

static int tree_add(struct table *table, uint8_t stage, uint32_t count) {
    int status = ESK_OK;
    int worst = ESK_OK;
    for (uint32_t n = 0; n < count; n++) {
        bool batch = table->of->shape->has_batches && n % 16 == 7;
        status = batch ? tree_batch(table) : tree_change(table);
        worst = status < 0 ? status : worst; // ESK_FULL: a batch's room
        if (mix64((uint64_t)table->rows + 11) % 9 == 0) {
            status = tree_sync(table, stage);
            worst = status != ESK_OK ? status : worst;
        }
    }
    status = tree_sync(table, stage);
    return status != ESK_OK ? status : worst;
}

bool tree_stage(struct table *table, int stage, struct trial *trial) {
    int status = tree_open(table);
    if (status != ESK_OK) {
        if (table->verbose) {
            printf("  stage %d: open: %d\n", stage, status);
        }
        trial->unopened = true;
        tree_close(table);
        return false;
    }
    tree_read_all(table, stage, trial);
    if (stage + 1 < STAGES) {
        status = tree_add(table, (uint8_t)(stage + 1), 30);
        if (status != ESK_OK && table->verbose) {
            printf("  stage %d: changes: %d\n", stage, status);
        }
    }
    tree_close(table);
    return true;
}

// ------------------------------------------------------------- the table

// Number of keys: a fifth of what the pages have room for, less for mu.
static uint32_t keys_plan(const struct table *table) {
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    uint32_t a_page = (geometry->page_bytes - 28u) / TREE_ROW_BYTES;
    uint32_t keys = table->of->data_blocks * geometry->block_pages * a_page / 5;
    keys /= table->of->shape->store == ESK_STORE_MU ? 4 : 1;
    return keys < KEYS_MAX ? keys : KEYS_MAX;
}

static int tree_fill(struct table *table) {
    versions.keys = keys_plan(table);
    return tree_add(table, 0,
                    versions.keys * (shape_moves(table->of->shape) ? 5 : 3));
}

bool tree_make(struct table *table) {
    static const struct table_kind kind = {tree_create, tree_open, tree_fill,
                                           tree_close};
    struct trial trial = {0};
    if (!table_prepare(table, &kind, KEYS_MAX)) {
        return false;
    }
    for (int stage = 0; stage < STAGES; stage++) {
        tree_stage(table, stage, &trial);
        trial_explain(table->of, &trial);
    }
    return true;
}
