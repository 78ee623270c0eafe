// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees in small regions: a tree that can be created has room for the rows
/// that the planner promises, and never refuses every change. Nothing depends
/// on time: ESK_DEEP tries twice as many.
#include <stdlib.h>

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"

enum {
    EVERY = 149, ///< one region in so many is tried
    EVERY_DEEP = 13,
    REGIONS = 5 * 6 * 11 * 6 * 5 * 6,
    KEYS_MAX = 3000,
    CHANGES = 300,
    ROW_BYTES_MAX = 64,
};

/// A region, and the planned rows.
struct small {
    uint16_t block_pages;
    uint16_t blocks;
    uint16_t page_bytes;
    uint16_t key_bytes;
    uint16_t row_bytes;
    uint8_t store;
    uint8_t frames;
};

struct model {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_tree *tree;
    void *arena;
    uint64_t random;
    uint8_t page[4096];
};

static const uint8_t stores_swept[] = {ESK_STORE_INPLACE, ESK_STORE_JOURNALED,
                                       ESK_STORE_WANDERING, ESK_STORE_MU,
                                       ESK_STORE_TNC};
static const uint16_t block_pages_swept[] = {1, 2, 4, 8, 16, 64};
static const uint16_t blocks_swept[] = {2, 3, 4, 5, 6, 8, 10, 14, 20, 28, 40};
static const uint16_t rows_swept[] = {4, 8, 12, 20, 32, 64};

static const uint8_t frames_swept[] = {0, 255, 5, 40, 9}; ///< of tnc

static const struct esk_node_store *const stores[] = {
    [ESK_STORE_INPLACE] = &esk_store_inplace,
    [ESK_STORE_JOURNALED] = &esk_store_journaled,
    [ESK_STORE_WANDERING] = &esk_store_wandering,
    [ESK_STORE_MU] = &esk_store_mu,
    [ESK_STORE_TNC] = &esk_store_tnc,
};

/// The most rows whose planned region is not larger.
static uint32_t rows_promised(const struct small *small) {
    uint32_t least = 0;
    uint32_t above = KEYS_MAX + 1;
    while (above - least > 1) {
        struct esk_tree_plan plan;
        struct esk_tree_need need = {
            .rows = least + (above - least) / 2,
            .block_pages = small->block_pages,
            .page_bytes = small->page_bytes,
            .leaf_entry_bytes = small->row_bytes,
            .index_entry_bytes = (uint16_t)(small->key_bytes + 4),
            .store = small->store,
            .k_percent = small->store == ESK_STORE_MU ? 50 : 0,
            .fill_percent = 50,
            .frames = small->frames};
        esk_tree_plan_headers(&need);
        if (small->store == ESK_STORE_TNC) {
            /* As esk_tree_create chooses: that of one row. */
            struct esk_tree_need one = need;
            one.rows = 1;
            (void)esk_tree_plan_best_k(&one, &need.k_percent);
        }
        if (esk_tree_plan(&need, &plan) == ESK_OK &&
            plan.blocks_least <= small->blocks) {
            least = need.rows;
        } else {
            above = need.rows;
        }
    }
    return least;
}

/// Returns the status of the creation.
static int start(struct model *model, const struct small *small) {
    const struct esk_column columns[] = {
        {.name = "key", .type = ESK_TYPE_BYTES, .bytes = small->key_bytes},
        {.name = "value",
         .type = ESK_TYPE_BYTES,
         .bytes = (uint16_t)(small->row_bytes - small->key_bytes)},
    };
    struct esk_sim_config sim = {
        .geometry = {.block_count = small->blocks + 40u,
                     .block_pages = small->block_pages,
                     .page_bytes = small->page_bytes,
                     .program_bytes = small->page_bytes,
                     .erased_value = 0xFF,
                     .flags = small->store <= ESK_STORE_JOURNALED
                                  ? ESK_MEDIUM_OVERWRITE
                                  : 0},
        .erase_keeps = small->store <= ESK_STORE_JOURNALED};
    struct esk_volume_config volume = {.tables_max = 1};
    struct esk_tree_spec spec = {.table = {.name = "t",
                                           .columns = columns,
                                           .column_count = 2,
                                           .row_bytes = small->row_bytes},
                                 .store = small->store,
                                 .blocks = small->blocks};
    struct esk_fault fault;
    memset(model, 0, sizeof *model);
    model->random = 88172645463325252u;
    ESK_CHECK_INT(esk_sim_create(&model->sim, &sim), ESK_OK);
    const struct esk_device *device = esk_sim_device(model->sim);
    int status = esk_volume_format(device, &volume, TEST_SCRATCH);
    if (status == ESK_OK) {
        status = esk_volume_mount(&model->volume, device, 0, TEST_SCRATCH);
    }
    if (status == ESK_OK) {
        status = esk_tree_create(&model->volume, &spec, &fault);
    }
    if (status != ESK_OK) {
        esk_sim_destroy(model->sim);
    }
    return status;
}

static void opened(struct model *model, const struct small *small) {
    struct esk_tree_config config = {.store = stores[small->store],
                                     .frames = small->frames};
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&model->volume, "t", &info), ESK_OK);
    uint32_t bytes = esk_tree_arena_bytes(&model->volume, &info, &config);
    model->arena = malloc(bytes);
    ESK_CHECK_INT(test_tree_open(&model->tree, &model->volume, "t", &config,
                                 model->arena, bytes),
                  ESK_OK);
}

static void end(struct model *model) {
    esk_tree_close(model->tree);
    esk_volume_unmount(&model->volume);
    esk_sim_destroy(model->sim);
    free(model->arena);
}

/// Row `number`: its key, and the rest.
static void row_make(const struct small *small, uint32_t number, uint8_t *row) {
    memset(row, 0, ROW_BYTES_MAX);
    if (small->key_bytes == 1) {
        row[0] = (uint8_t)number;
    } else {
        row[small->key_bytes - 2] = (uint8_t)(number >> 8);
        row[small->key_bytes - 1] = (uint8_t)number;
    }
    row[small->row_bytes - 1] ^= (uint8_t)(number * 7u);
}

static uint32_t random_below(struct model *model, uint32_t bound) {
    model->random ^= model->random << 13;
    model->random ^= model->random >> 7;
    model->random ^= model->random << 17;
    return (uint32_t)((model->random >> 32) * bound >> 32);
}

/// Puts rows until one is refused. Returns how many there are.
static uint32_t rows_put(struct model *model, const struct small *small,
                         uint16_t *numbers) {
    uint32_t count = small->key_bytes == 1 ? 256 : KEYS_MAX;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t rows = 0;
    int status = ESK_OK;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = random_below(model, i + 1);
        numbers[i] = numbers[at];
        numbers[at] = (uint16_t)i;
    }
    while (rows < count && status == ESK_OK) {
        row_make(small, numbers[rows], row);
        status = esk_tree_put(model->tree, row);
        rows += status == ESK_OK ? 1 : 0;
    }
    ESK_CHECK(status == ESK_OK || status == ESK_FULL);
    return rows;
}

/// Fills the tree; then changes rows, deletes all, and puts new ones: no change
/// is refused.
static void lived(struct model *model, const struct small *small) {
    static uint16_t numbers[KEYS_MAX];
    uint8_t row[ROW_BYTES_MAX];
    uint32_t promised = rows_promised(small);
    uint32_t rows = rows_put(model, small, numbers);
    ESK_CHECK(rows > 0 &&
              (rows >= promised || (small->key_bytes == 1 && rows == 256)));
    for (uint32_t i = 0; i < CHANGES; i++) {
        row_make(small, numbers[random_below(model, rows)], row);
        ESK_CHECK_INT(esk_tree_put(model->tree, row), ESK_OK);
    }
    for (uint32_t i = 0; i < rows; i++) {
        row_make(small, numbers[i], row);
        ESK_CHECK_INT(esk_tree_delete(model->tree, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_put(model->tree, row), ESK_OK);
}

/// Sets `small` to region `number` of the sweep. False: there is no such row,
/// or a mu tree on pages of a few keys is limited by its height.
static bool region_make(uint32_t number, struct small *small) {
    small->store = stores_swept[number % 5];
    number /= 5;
    small->block_pages = block_pages_swept[number % 6];
    number /= 6;
    small->blocks = blocks_swept[number % 11];
    number /= 11;
    small->page_bytes = (uint16_t)(128u << number % 6);
    number /= 6;
    small->key_bytes = (uint16_t)(1u << number % 5);
    number /= 5;
    small->row_bytes = rows_swept[number % 6];
    small->frames = 8;
    if (small->store == ESK_STORE_TNC) {
        uint32_t drawn = small->blocks + 3u * small->row_bytes +
                         5u * small->key_bytes + small->page_bytes / 128u;
        small->frames = frames_swept[drawn % 5];
    }
    bool ends = small->store == ESK_STORE_MU &&
                small->page_bytes <= 16 * small->key_bytes;
    return small->row_bytes > small->key_bytes && !ends;
}

ESK_TEST(tree_that_is_created_holds_the_rows_that_are_planned) {
    uint32_t every = esk_test_is_deep() ? EVERY_DEEP : EVERY;
    uint32_t created = 0;
    uint32_t refused = 0;
    for (uint32_t number = 0; number < REGIONS; number += every) {
        struct small small;
        struct model model;
        if (!region_make(number, &small)) {
            continue;
        }
        ESK_CONTEXT("store %u, %u blocks of %u pages of %u, row %u, key %u, "
                    "%u frames",
                    small.store, small.blocks, small.block_pages,
                    small.page_bytes, small.row_bytes, small.key_bytes,
                    small.frames);
        int status = start(&model, &small);
        if (status != ESK_OK) {
            ESK_CHECK(status == ESK_E_SCHEMA ||
                      (status == ESK_E_NO_SPACE && rows_promised(&small) == 0));
            refused++;
            continue;
        }
        opened(&model, &small);
        lived(&model, &small);
        end(&model);
        created++;
    }
    ESK_CHECK(created > refused && refused > 0);
}

ESK_TEST_MAIN()
