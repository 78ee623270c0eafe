// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Compares the planner with trees: its region has room for the rows, in any
/// order, and the tree's height and size are the planned ones.
#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"

enum { ROW_BYTES = 16, ROWS_MAX = 20000 };

static const struct esk_column columns[] = {
    {.name = "key", .type = ESK_TYPE_U32},
    {.name = "value", .type = ESK_TYPE_BYTES, .bytes = ROW_BYTES - 4},
};

/// A store on pages of a size.
struct shape {
    const struct esk_node_store *store;
    uint8_t id;
    uint8_t k_percent;
    uint16_t page_bytes;
    uint16_t block_pages;
    uint32_t rows;
};

static const struct shape shapes[] = {
    {&esk_store_mu, ESK_STORE_MU, 50, 512, 16, 500},
    {&esk_store_mu, ESK_STORE_MU, 0, 512, 16, 500},
    {&esk_store_mu, ESK_STORE_MU, 30, 2048, 16, ROWS_MAX},
    {&esk_store_mu, ESK_STORE_MU, 0, 2048, 16, ROWS_MAX},
    {&esk_store_wandering, ESK_STORE_WANDERING, 0, 512, 16, 2000},
    {&esk_store_wandering, ESK_STORE_WANDERING, 0, 2048, 16, ROWS_MAX},
    {&esk_store_tnc, ESK_STORE_TNC, 0, 256, 16, 2000},
    {&esk_store_tnc, ESK_STORE_TNC, 0, 512, 16, 2000},
    {&esk_store_tnc, ESK_STORE_TNC, 50, 512, 4, 5000},
    {&esk_store_tnc, ESK_STORE_TNC, 10, 2048, 64, ROWS_MAX},
    {&esk_store_tnc, ESK_STORE_TNC, 0, 2048, 16, ROWS_MAX},
    {&esk_store_inplace, ESK_STORE_INPLACE, 0, 512, 16, 5000},
    {&esk_store_inplace, ESK_STORE_INPLACE, 0, 2048, 16, ROWS_MAX},
};

static struct esk_tree_need need_of(const struct shape *shape) {
    struct esk_tree_need need = {
        .rows = shape->rows,
        .block_pages = shape->block_pages,
        .page_bytes = shape->page_bytes,
        .leaf_entry_bytes = ROW_BYTES,
        .index_entry_bytes = 8,
        .store = shape->id,
        .k_percent = shape->k_percent,
    };
    esk_tree_plan_headers(&need);
    return need;
}

struct model {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_tree *tree;
    void *arena;
    uint8_t page[2048];
};

/// What changes cost.
struct costs {
    uint32_t changes;
    uint32_t milli; ///< programs a change, in thousandths
    uint32_t most;  ///< of a call
};

static void model_series_make(struct model *model, const struct shape *shape,
                              const struct esk_tree_plan *plan) {
    struct esk_sim_config sim = {
        .geometry = {.block_count = plan->blocks_least + 16u,
                     .block_pages = shape->block_pages,
                     .page_bytes = shape->page_bytes,
                     .program_bytes = shape->page_bytes,
                     .erased_value = 0xFF,
                     .flags = shape->id == ESK_STORE_INPLACE
                                  ? ESK_MEDIUM_OVERWRITE
                                  : 0}};
    struct esk_volume_config volume = {.tables_max = 1};
    struct esk_tree_spec spec = {.table = {.name = "t",
                                           .columns = columns,
                                           .column_count = 2,
                                           .row_bytes = ROW_BYTES},
                                 .store = shape->id,
                                 .k_percent = plan->k_percent,
                                 .blocks = plan->blocks_least};
    struct esk_tree_config config = {.store = shape->store,
                                     .frames = plan->frames};
    struct esk_table_info info;
    struct esk_fault fault;
    if (shape->id != ESK_STORE_MU && shape->id != ESK_STORE_TNC) {
        spec.k_percent = 0;
    }
    ESK_CHECK_INT(esk_sim_create(&model->sim, &sim), ESK_OK);
    const struct esk_device *device = esk_sim_device(model->sim);
    ESK_CHECK_INT(esk_volume_format(device, &volume, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&model->volume, device, 0, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&model->volume, &spec, &fault), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&model->volume, "t", &info), ESK_OK);
    uint32_t bytes = esk_tree_arena_bytes(&model->volume, &info, &config);
    ESK_CHECK(plan->arena_bytes >= bytes && plan->arena_bytes <= bytes + 64);
    model->arena = malloc(bytes);
    ESK_CHECK_INT(test_tree_open(&model->tree, &model->volume, "t", &config,
                                 model->arena, bytes),
                  ESK_OK);
}

static void model_series_free(struct model *model) {
    esk_tree_close(model->tree);
    esk_volume_unmount(&model->volume);
    esk_sim_destroy(model->sim);
    free(model->arena);
}

/// Changes rows, each with a sync, until the region was written some times.
static void model_series_change(struct model *model, uint32_t rows,
                                uint32_t laps, struct costs *costs) {
    const struct esk_sim_counters *now = esk_sim_counters(model->sim);
    uint8_t row[ROW_BYTES] = {0};
    uint64_t random = 88172645463325252u;
    uint64_t first = now->programs;
    *costs = (struct costs){0};
    while (now->programs - first < laps) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint32_t key = (uint32_t)((random >> 32) * rows >> 32);
        uint64_t before = now->programs;
        memcpy(row, &key, sizeof key);
        ESK_CHECK_INT(esk_tree_put(model->tree, row), ESK_OK);
        uint64_t call = now->programs - before;
        costs->most = call > costs->most ? (uint32_t)call : costs->most;
        ESK_CHECK_INT(esk_tree_sync(model->tree), ESK_OK);
        costs->changes++;
    }
    costs->milli = (uint32_t)((now->programs - first) * 1000 / costs->changes);
}

enum order { ORDER_RISING, ORDER_FALLING, ORDER_RANDOM, ORDER_COUNT };

/// Keys 0 .. rows - 1 in an order.
static const uint32_t *keys_in(enum order order, uint32_t rows) {
    static uint32_t keys[ROWS_MAX];
    uint64_t random = 88172645463325252u;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t at = i;
        if (order == ORDER_RANDOM) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            at = (uint32_t)((random >> 32) * (i + 1u) >> 32);
        }
        keys[i] = keys[at];
        keys[at] = order == ORDER_FALLING ? rows - 1 - i : i;
    }
    return keys;
}

/// Puts every row.
static void model_series_fill(struct model *model, enum order order,
                              uint32_t rows) {
    const uint32_t *keys = keys_in(order, rows);
    uint8_t row[ROW_BYTES] = {0};
    for (uint32_t i = 0; i < rows; i++) {
        memcpy(row, &keys[i], sizeof keys[i]);
        ESK_CHECK_INT(esk_tree_put(model->tree, row), ESK_OK);
    }
}

/// Full nodes of tnc that a page takes.
static uint32_t nodes_a_page(const struct esk_tree_need *need,
                             const struct esk_tree_plan *plan) {
    uint32_t body = (uint32_t)need->page_bytes - need->page_header_bytes;
    return body / (body * plan->k_percent / 100u);
}

ESK_TEST(tree_plan_s_region_takes_the_rows_it_was_asked_for) {
    for (uint32_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const struct shape *shape = &shapes[s];
        struct esk_tree_need need = need_of(shape);
        struct esk_tree_plan plan;
        struct model model;
        ESK_CONTEXT("shape %u", s);
        ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
        model_series_make(&model, shape, &plan);
        model_series_fill(&model, ORDER_RANDOM, shape->rows);
        model_series_free(&model);
    }
}

ESK_TEST(tree_plan_bounds_the_height_and_the_pages_of_a_tree) {
    uint32_t stride = esk_test_stride(2);
    for (uint32_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (uint32_t order = s % stride; order < ORDER_COUNT;
             order += stride) {
            const struct shape *shape = &shapes[s];
            struct esk_tree_need need = need_of(shape);
            struct esk_tree_plan plan;
            struct esk_tree_report report;
            struct esk_tree_stats stats;
            struct model model;
            need.fill_percent = 50; /* a region for the tree with the emptiest
                                       nodes */
            ESK_CONTEXT("shape %u, order %u", s, order);
            ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
            model_series_make(&model, shape, &plan);
            model_series_fill(&model, (enum order)order, shape->rows);
            ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_OK);
            esk_tree_stats(model.tree, &stats);
            uint32_t pages =
                shape->id == ESK_STORE_MU ? report.leaves : report.nodes;
            if (shape->id == ESK_STORE_TNC) {
                uint32_t each = nodes_a_page(&need, &plan);
                pages = (pages + each - 1) / each;
            }
            ESK_CHECK(stats.height >= plan.height_least);
            ESK_CHECK(stats.height <= plan.height_most);
            ESK_CHECK(pages >= plan.pages_least);
            /* The last node of a level may be less than half full. */
            ESK_CHECK(pages <= plan.pages + plan.height_most);
            model_series_free(&model);
        }
    }
}

ESK_TEST(tree_plan_prices_the_programs_of_a_change) {
    uint32_t stride = esk_test_stride(2);
    for (uint32_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        const struct shape *shape = &shapes[s];
        for (uint32_t more = s % stride; more < 2; more += stride) {
            struct esk_tree_need need = need_of(shape);
            struct esk_tree_plan plan;
            struct model model;
            struct costs costs;
            need.frames = more == 1 && shape->id == ESK_STORE_TNC ? 100 : 0;
            ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
            need.blocks = plan.blocks_least * (more + 1);
            ESK_CHECK_INT(esk_tree_plan(&need, &plan), ESK_OK);
            plan.blocks_least = need.blocks;
            ESK_CONTEXT("shape %u, %u blocks", s, (unsigned)need.blocks);
            model_series_make(&model, shape, &plan);
            model_series_fill(&model, ORDER_RANDOM, shape->rows);
            uint32_t pages = need.blocks * need.block_pages;
            model_series_change(&model, shape->rows, 3 * pages, &costs);
            model_series_change(&model, shape->rows, 3 * pages, &costs);
            ESK_CHECK(costs.most <= plan.call_pages);
            if (shape->id == ESK_STORE_TNC) {
                ESK_CHECK(costs.milli >= plan.programs_milli * 9 / 10);
                ESK_CHECK(costs.milli <= plan.programs_gc_milli);
            }
            model_series_free(&model);
        }
    }
}

ESK_TEST_MAIN()
