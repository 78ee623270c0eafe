// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/harness/cut_trees.h"

#include "test/harness/media.h"

#define TREE(store_, range_, pad_)                                             \
    .store = (store_), .key_type = ESK_TYPE_U32, .key_range = (range_),        \
    .pad_bytes = (pad_)

/* Trees in place on a medium that caches so many programs. */
#define CACHED(cache_)                                                         \
    {.name = "inplace-cache-" #cache_,                                         \
     .table = {TREE(ESK_STORE_INPLACE, 200, 40)},                              \
     .geometry = ESK_CARD(60, 8, 128),                                         \
     .ops = 600,                                                               \
     .whole_writes = true,                                                     \
     .cache = (cache_)},                                                       \
        {.name = "journaled-cache-" #cache_,                                   \
         .table = {TREE(ESK_STORE_JOURNALED, 200, 40)},                        \
         .geometry = ESK_CARD(60, 8, 128),                                     \
         .ops = 600,                                                           \
         .cache = (cache_)},                                                   \
        {.name = "inplace-batches-cache-" #cache_,                             \
         .table = {TREE(ESK_STORE_INPLACE, 150, 40), .batch_pages = 12},       \
         .geometry = ESK_CARD(60, 8, 128),                                     \
         .ops = 900,                                                           \
         .prefill = 100,                                                       \
         .whole_writes = true,                                                 \
         .cache = (cache_)},                                                   \
        {.name = "journaled-batches-cache-" #cache_,                           \
         .table = {TREE(ESK_STORE_JOURNALED, 200, 40), .batch_pages = 12},     \
         .geometry = ESK_CARD(60, 8, 128),                                     \
         .ops = 900,                                                           \
         .prefill = 100,                                                       \
         .cache = (cache_)},                                                   \
        {.name = "inplace-merges-batches-cache-" #cache_,                      \
         .table = {TREE(ESK_STORE_INPLACE, 200, 20), .blocks = 12,             \
                   .merges = true, .batch_pages = 24},                         \
         .geometry = ESK_CARD(40, 8, 128),                                     \
         .ops = 900,                                                           \
         .prefill = 700,                                                       \
         .whole_writes = true,                                                 \
         .cache = (cache_)},                                                   \
    {                                                                          \
        .name = "journaled-merges-batches-cache-" #cache_,                     \
        .table = {TREE(ESK_STORE_JOURNALED, 250, 20), .blocks = 12,            \
                  .merges = true, .batch_pages = 24},                          \
        .geometry = ESK_CARD(40, 8, 128), .ops = 900, .prefill = 700,          \
        .cache = (cache_)                                                      \
    }

const struct cut_tree cut_trees[] = {
    {.name = "inplace",
     .table = {TREE(ESK_STORE_INPLACE, 150, 40)},
     .geometry = ESK_CARD(40, 8, 256),
     .ops = 500,
     .whole_writes = true},
    {.name = "inplace-deep",
     .table = {TREE(ESK_STORE_INPLACE, 200, 40)},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 600,
     .whole_writes = true},
    {.name = "journaled",
     .table = {TREE(ESK_STORE_JOURNALED, 150, 40)},
     .geometry = ESK_CARD(40, 8, 256),
     .ops = 600},
    {.name = "journaled-deep",
     .table = {TREE(ESK_STORE_JOURNALED, 200, 40)},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 600},
    {.name = "inplace-merges",
     .table = {TREE(ESK_STORE_INPLACE, 150, 40), .merges = true},
     .geometry = ESK_CARD(40, 8, 256),
     .ops = 600,
     .prefill = 100,
     .whole_writes = true},
    {.name = "inplace-merges-full",
     .table = {TREE(ESK_STORE_INPLACE, 250, 40), .blocks = 9, .merges = true},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700,
     .whole_writes = true},
    {.name = "journaled-merges",
     .table = {TREE(ESK_STORE_JOURNALED, 200, 40), .merges = true},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 700,
     .prefill = 100},
    {.name = "journaled-merges-full",
     .table = {TREE(ESK_STORE_JOURNALED, 250, 20), .blocks = 6, .merges = true},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700},
    {.name = "inplace-merges-cached",
     .table = {TREE(ESK_STORE_INPLACE, 250, 40), .blocks = 9, .merges = true},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700,
     .whole_writes = true,
     .cache = 24},
    {.name = "journaled-merges-cached",
     .table = {TREE(ESK_STORE_JOURNALED, 250, 20), .blocks = 6, .merges = true},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700,
     .cache = 24},
    {.name = "inplace-batches",
     .table = {TREE(ESK_STORE_INPLACE, 150, 40), .batch_pages = 12},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 900,
     .prefill = 100,
     .whole_writes = true},
    {.name = "inplace-merges-batches",
     .table = {TREE(ESK_STORE_INPLACE, 200, 20), .blocks = 12, .merges = true,
               .batch_pages = 24},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700,
     .whole_writes = true},
    {.name = "journaled-batches",
     .table = {TREE(ESK_STORE_JOURNALED, 200, 40), .batch_pages = 12},
     .geometry = ESK_CARD(60, 8, 128),
     .ops = 900,
     .prefill = 100},
    {.name = "journaled-merges-batches",
     .table = {TREE(ESK_STORE_JOURNALED, 250, 20), .blocks = 12, .merges = true,
               .batch_pages = 24},
     .geometry = ESK_CARD(40, 8, 128),
     .ops = 900,
     .prefill = 700},
    CACHED(2),
    CACHED(24),
    CACHED(200),
    {.name = "wandering-merges",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24,
               .merges = true},
     .geometry = ESK_NAND(52, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "mu-merges",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7, .merges = true},
     .geometry = ESK_NAND(32, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "wandering",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24},
     .geometry = ESK_NAND(52, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "wandering-small",
     .table = {TREE(ESK_STORE_WANDERING, 60, 60), .blocks = 14},
     .geometry = ESK_NAND(28, 8, 256),
     .ops = 900,
     .prefill = 300},
    {.name = "wandering-full",
     .table = {TREE(ESK_STORE_WANDERING, 250, 40), .blocks = 24},
     .geometry = ESK_NAND(52, 8, 256),
     .ops = 900,
     .prefill = 900},
    {.name = "wandering-deep",
     .table = {.store = ESK_STORE_WANDERING,
               .key_type = ESK_TYPE_BYTES,
               .key_bytes = 24,
               .key_range = 150,
               .pad_bytes = 30,
               .blocks = 60,
               .frames = 3},
     .geometry = ESK_NAND(100, 8, 256),
     .ops = 900,
     .prefill = 700},
    {.name = "mu",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7},
     .geometry = ESK_NAND(32, 8, 256),
     .ops = 900,
     .prefill = 400},
    {.name = "mu-one-page-blocks",
     .table = {TREE(ESK_STORE_MU, 60, 20), .blocks = 36},
     .geometry = ESK_NAND(140, 1, 256),
     .ops = 500,
     .prefill = 300},
    {.name = "mu-k30-lru-n",
     .table = {TREE(ESK_STORE_MU, 120, 8), .blocks = 5, .k_percent = 30,
               .frames = 4, .policy = ESK_TREE_LRU_N},
     .geometry = ESK_NAND(30, 16, 256),
     .ops = 900,
     .prefill = 500},
    {.name = "mu-k70-bad-blocks",
     .table = {TREE(ESK_STORE_MU, 120, 20), .blocks = 8, .k_percent = 70,
               .frames = 3},
     .geometry = ESK_NAND(34, 8, 512),
     .ops = 900,
     .prefill = 500,
     .bad_blocks = 3},
    {.name = "mu-word-ecc",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7},
     .geometry = ESK_FLASH(32, 8, 256, 8, 1),
     .ecc_word = 8,
     .ops = 900,
     .prefill = 400},
    {.name = "wandering-write-cache",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24, .frames = 10,
               .write_frames = 9},
     .geometry = ESK_NAND(52, 8, 256),
     .ops = 900,
     .prefill = 600},
    {.name = "wandering-deep-write-cache",
     .table = {.store = ESK_STORE_WANDERING,
               .key_type = ESK_TYPE_BYTES,
               .key_bytes = 24,
               .key_range = 150,
               .pad_bytes = 30,
               .blocks = 60,
               .frames = 16,
               .write_frames = 14,
               .merges = true},
     .geometry = ESK_NAND(100, 8, 256),
     .ops = 900,
     .prefill = 900},
    {.name = "mu-write-cache",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 9, .frames = 7,
               .write_frames = 5, .merges = true},
     .geometry = ESK_NAND(36, 8, 256),
     .ops = 900,
     .prefill = 600},
    {.name = "mu-lru-n-write-cache",
     .table = {TREE(ESK_STORE_MU, 120, 8), .blocks = 5, .frames = 6,
               .write_frames = 4, .policy = ESK_TREE_LRU_N},
     .geometry = ESK_NAND(30, 16, 256),
     .ops = 900,
     .prefill = 700},
    {.name = "mu-full",
     .table = {TREE(ESK_STORE_MU, 250, 40), .blocks = 6},
     .geometry = ESK_NAND(30, 8, 256),
     .ops = 900,
     .prefill = 500},
    {.name = "wandering-cached-2",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24},
     .geometry = ESK_CARD(52, 8, 256),
     .ops = 900,
     .prefill = 400,
     .cache = 2},
    {.name = "wandering-cached-24",
     .table = {TREE(ESK_STORE_WANDERING, 250, 40), .blocks = 24},
     .geometry = ESK_CARD(52, 8, 256),
     .ops = 900,
     .prefill = 900,
     .cache = 24},
    {.name = "wandering-cached-200",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24,
               .merges = true},
     .geometry = ESK_CARD(52, 8, 256),
     .ops = 900,
     .prefill = 400,
     .cache = 200},
    {.name = "wandering-cached-writes",
     .table = {TREE(ESK_STORE_WANDERING, 100, 40), .blocks = 24, .frames = 10,
               .write_frames = 9},
     .geometry = ESK_CARD(52, 8, 256),
     .ops = 900,
     .prefill = 600,
     .cache = 24},
    {.name = "mu-cached-2",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7},
     .geometry = ESK_CARD(32, 8, 256),
     .ops = 900,
     .prefill = 400,
     .cache = 2},
    {.name = "mu-cached-24",
     .table = {TREE(ESK_STORE_MU, 250, 40), .blocks = 6},
     .geometry = ESK_CARD(30, 8, 256),
     .ops = 900,
     .prefill = 500,
     .cache = 24},
    {.name = "mu-cached-200",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7, .merges = true},
     .geometry = ESK_CARD(32, 8, 256),
     .ops = 900,
     .prefill = 400,
     .cache = 200},
    {.name = "mu-cached-whole",
     .table = {TREE(ESK_STORE_MU, 100, 20), .blocks = 7},
     .geometry = ESK_CARD(32, 8, 256),
     .ops = 900,
     .prefill = 400,
     .whole_writes = true,
     .cache = 24},
};

const size_t cut_tree_count = sizeof cut_trees / sizeof cut_trees[0];

int cut_tree_make(const struct cut_tree *config, struct esk_model_tree *model,
                  uint64_t seed) {
    struct esk_sim_config medium = {
        .geometry = config->geometry,
        .seed = seed,
        .bad_blocks = config->bad_blocks,
        .ecc_bits = config->ecc_word != 0 ? 1 : 0,
        .ecc_bytes = config->ecc_word,
        .whole_writes = config->whole_writes,
        .cache_programs = config->cache,
        .erase_keeps = (config->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    return esk_model_tree_make_on(model, &config->table, &medium, seed);
}
