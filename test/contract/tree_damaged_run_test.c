// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Runs of damaged pages in trees in place, 1 to 12 long, at every place.
///
/// The mount finds the first page that was never used; if it finds a lower one,
/// new nodes overwrite pages in use. So after each run the table has every row
/// whose path is undamaged, and returns an error for the others. Then rows are
/// put that split nodes, and after another mount nothing else is lost or out of
/// order.
#include "table/tree/tree.h"
#include "test/harness/tree_fixture.h"

enum {
    RUN_MAX = 12,
    RANGE_MAX = 512,
    PUTS = 48, ///< additional rows
};

struct shape {
    struct esk_model_tree_table table;
    struct esk_geometry geometry;
    uint32_t rows;
    uint8_t height; ///< at least
    bool rising;    ///< the rows come in order
    bool dirty;     ///< unused pages have pages of an older table
    bool batch;     ///< the additional rows are a batch
};

#define RUN_CARD ESK_CARD(64, 8, 512)
#define RUN_FINE ESK_CARD(128, 8, 256)
#define RUN_NARROW(...)                                                        \
    {.key_type = ESK_TYPE_U32, .pad_bytes = 100, __VA_ARGS__}
#define RUN_WIDE(...)                                                          \
    {.key_type = ESK_TYPE_BYTES, .key_bytes = 20, .pad_bytes = 60, __VA_ARGS__}

static const struct shape shapes[] = {
    {.table = RUN_NARROW(0), .geometry = RUN_CARD, .rows = 60, .height = 2},
    {.table = RUN_NARROW(0), .geometry = RUN_CARD, .rows = 250, .height = 3},
    {.table = RUN_NARROW(0),
     .geometry = RUN_CARD,
     .rows = 250,
     .height = 3,
     .rising = true},
    {.table = RUN_WIDE(0), .geometry = RUN_FINE, .rows = 180, .height = 4},
    {.table = RUN_WIDE(0),
     .geometry = RUN_FINE,
     .rows = 100,
     .height = 3,
     .dirty = true},
    {.table = RUN_WIDE(.merges = true),
     .geometry = RUN_FINE,
     .rows = 120,
     .height = 3},
    {.table = RUN_WIDE(.batch_pages = 200),
     .geometry = RUN_FINE,
     .rows = 100,
     .height = 3,
     .batch = true},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, LIST = 2 };

/// How a page is damaged.
enum damage { FLIPPED, ERASED, FOREIGN, DAMAGES };

/// State before any damage.
struct truth {
    struct esk_tree_path path[RANGE_MAX]; ///< the path of each number's row
    uint8_t height;
    uint32_t region; ///< its first page on the device
    uint32_t head;
    uint32_t first; ///< of the damaged pages
    uint32_t count;
    uint32_t healed; ///< the page that is in the journal; 0: none
};

/// Whether page `at` is damaged, after a mount.
static bool is_damaged(const struct truth *truth, uint32_t at) {
    bool heals = truth->first > 0 && truth->healed == at;
    return at - truth->first < truth->count && !heals;
}

static bool is_lost(const struct truth *truth, uint32_t number) {
    bool lost = false;
    for (uint8_t level = 0; level < truth->height; level++) {
        lost = lost || is_damaged(truth, truth->path[number].address[level]);
    }
    return lost;
}

static void page_hurt(struct esk_model_tree *model, uint32_t page,
                      enum damage how) {
    uint8_t bytes[512];
    uint16_t page_bytes = model->device->geometry.page_bytes;
    ESK_CHECK_INT(esk_sim_peek(model->sim, page, bytes), ESK_OK);
    bytes[page_bytes / 2] ^= 0x10;
    if (how != FLIPPED) {
        memset(bytes, how == ERASED ? 0 : 0x5A, page_bytes);
    }
    ESK_CHECK_INT(esk_sim_poke(model->sim, page, 0, bytes, page_bytes), ESK_OK);
}

/// Fills the region with pages of another volume's table: only the checksum's
/// seed differs.
static void region_soil(struct esk_model_tree *model,
                        const struct shape *shape) {
    struct esk_model_tree other;
    struct esk_model_tree_table table = model->table;
    table.key_range = RANGE_MAX;
    ESK_CHECK_INT(esk_model_tree_make(&other, &table, &shape->geometry, 99),
                  ESK_OK);
    model_tree_puts(&other, 1200);
    ESK_CHECK_INT(other.tree->ring.region.first_page,
                  model->tree->ring.region.first_page);
    for (uint32_t at = 0; at < other.tree->ring.head; at++) {
        uint32_t page = other.tree->ring.region.first_page + at;
        ESK_CHECK_INT(esk_sim_peek(other.sim, page, other.page), ESK_OK);
        other.page[ESK_ENVELOPE_CHECKSUM] ^= 0x55;
        ESK_CHECK_INT(esk_sim_poke(model->sim, page, 0, other.page,
                                   shape->geometry.page_bytes),
                      ESK_OK);
    }
    esk_model_tree_free(&other);
    ESK_CHECK(esk_model_tree_remount(model));
}

static void tree_make(struct esk_model_tree *model, const struct shape *shape,
                      uint8_t store, struct truth *truth) {
    struct esk_model_tree_table table = shape->table;
    table.store = store;
    table.key_range = (uint16_t)(2 * shape->rows);
    ESK_CHECK_INT(esk_model_tree_make(model, &table, &shape->geometry, 7),
                  ESK_OK);
    if (shape->dirty) {
        region_soil(model, shape);
    }
    for (uint32_t i = 0; i < shape->rows; i++) {
        uint32_t row = shape->rising ? i : i * 7919 % shape->rows;
        ESK_CHECK_INT(esk_model_tree_put(model, 2 * row), ESK_OK);
    }
    if (table.merges) {
        for (uint32_t i = shape->rows / 4; i < shape->rows / 2; i++) {
            ESK_CHECK_INT(esk_model_tree_delete(model, 2 * i), ESK_OK);
        }
        ESK_CHECK(model->tree->merges > 0);
    }
    ESK_CHECK(model->tree->now.height >= shape->height);
    truth->height = model->tree->now.height;
    truth->region = model->tree->ring.region.first_page;
    truth->head = model->tree->ring.head;
    truth->healed = 0;
    if (store == ESK_STORE_JOURNALED) {
        truth->healed = model_tree_peek(model, 0, ESK_ENVELOPE_SEQUENCE);
    }
    for (uint32_t number = 0; number < model->range; number++) {
        uint8_t key[32];
        esk_model_tree_key(model, number, key);
        ESK_CHECK_INT(esk_tree_descend(model->tree, &truth->path[number], key,
                                       ESK_TREE_FIRST, 1),
                      ESK_OK);
    }
}

/// Each get returns the model's row, or its path was damaged.
static void rows_check(struct esk_model_tree *model,
                       const struct truth *truth) {
    for (uint32_t number = 0; number < model->range; number++) {
        uint8_t key[32];
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint8_t expected[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint32_t version = model->expected.version[number];
        esk_model_tree_key(model, number, key);
        int status = esk_tree_get(model->tree, key, row);
        if (is_lost(truth, number)) {
            ESK_CHECK_INT(status, ESK_E_CORRUPT);
        } else if (version == 0) {
            ESK_CHECK_INT(status, ESK_NOT_FOUND);
        } else {
            ESK_CHECK_INT(status, ESK_OK);
            esk_model_tree_row(model, number, version, expected);
            ESK_CHECK_BYTES(row, expected, model->row_bytes);
        }
    }
}

/// Returns how many nodes are damaged: nothing else is wrong.
static uint32_t tree_check(struct esk_model_tree *model) {
    struct esk_tree_report report;
    int status = esk_tree_check(model->tree, &report);
    ESK_CHECK_INT(status, report.pages_damaged > 0 ? ESK_E_CORRUPT : ESK_OK);
    ESK_CHECK_INT(report.order_wrong, 0);
    ESK_CHECK_INT(report.nodes_wrong, 0);
    return report.pages_damaged;
}

/// Puts new rows, all over the keys.
static void rows_add(struct esk_model_tree *model, const struct shape *shape,
                     const struct truth *truth) {
    uint32_t splits = model->tree->splits;
    uint32_t lost = 0;
    if (shape->batch) {
        ESK_CHECK_HELD(esk_model_tree_batch(model, 0, false), model->why);
    }
    for (uint32_t i = 0; i < PUTS; i++) {
        uint32_t row = i * 131 % shape->rows;
        bool is_hit = is_lost(truth, 2 * row + 1);
        int status = esk_model_tree_put(model, 2 * row + 1);
        /* No page is known as free if the list and an inner node are lost
           together. */
        bool full = status == ESK_FULL && is_damaged(truth, LIST);
        ESK_CHECK(full || status == (is_hit ? ESK_E_CORRUPT : ESK_OK));
        lost += is_hit || full ? 1 : 0;
    }
    if (shape->batch) {
        ESK_CHECK_HELD(esk_model_tree_batch(model, 0, false), model->why);
    }
    ESK_CHECK(lost > PUTS / 4 || model->tree->splits > splits);
}

/// Damages a run of a closed table, and continues. Returns false when the table
/// cannot be opened.
static bool run_try(struct esk_model_tree *model, const struct shape *shape,
                    const struct truth *truth, enum damage how) {
    for (uint32_t at = truth->first; at < truth->first + truth->count; at++) {
        page_hurt(model, truth->region + at, how);
    }
    if (esk_model_tree_open(model) != ESK_OK) {
        return false;
    }
    rows_check(model, truth);
    uint32_t damaged = tree_check(model);
    rows_add(model, shape, truth);
    ESK_CHECK_HELD(esk_model_tree_remount(model), model->why);
    ESK_CHECK_INT(tree_check(model), damaged);
    rows_check(model, truth);
    esk_tree_close(model->tree);
    return true;
}

static void shape_try(uint32_t number, uint8_t store) {
    static struct truth truth;
    static struct esk_model_tree_expected expected;
    const struct shape *shape = &shapes[number];
    struct esk_model_tree model;
    struct esk_sim *whole = NULL;
    tree_make(&model, shape, store, &truth);
    expected = model.expected;
    esk_tree_close(model.tree);
    ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
    uint32_t stride = esk_test_stride(3);
    for (uint32_t at = 0; at < truth.head; at++) {
        uint32_t least = 1 + at % stride;
        for (uint32_t count = least; count <= RUN_MAX; count += stride) {
            enum damage how = (enum damage)((at + count / stride) % DAMAGES);
            ESK_CONTEXT("shape %u, store %u, %u damaged from page %u of %u",
                        number, store, count, at, truth.head);
            truth.first = at;
            truth.count = count;
            bool is_open = run_try(&model, shape, &truth, how);
            /* Without its root a table is lost. */
            ESK_CHECK_INT(is_open, !is_damaged(&truth, 1));
            esk_sim_restore(model.sim, whole);
            model.expected = expected;
        }
    }
    esk_sim_destroy(whole);
    esk_model_tree_free(&model);
}

ESK_TEST(tree_in_place_loses_no_row_that_a_run_of_damaged_pages_spared) {
    /* An odd step takes both stores. */
    uint32_t step = esk_test_rounds(3, 1);
    for (uint32_t number = 0; number < SHAPES; number += step) {
        uint8_t store =
            number % 2 == 0 ? ESK_STORE_INPLACE : ESK_STORE_JOURNALED;
        shape_try(number, store);
    }
}

ESK_TEST_MAIN()
