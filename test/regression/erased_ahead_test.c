// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tnc tree with many frames on blocks of one page: steps erased more blocks
/// ahead than a mount searches for a page. Where these were the region's first,
/// the next open found no page, and the tree had no rows.
#include "base/bytes.h"
#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { ROW_BYTES = 16, ROWS = 200, BLOCKS = 1100 };

static const struct esk_column columns[] = {
    {.name = "key", .type = ESK_TYPE_U32},
    {.name = "value", .type = ESK_TYPE_BYTES, .bytes = ROW_BYTES - 4},
};

static const struct esk_tree_spec spec = {.table = {.name = "t",
                                                    .columns = columns,
                                                    .column_count = 2,
                                                    .row_bytes = ROW_BYTES},
                                          .store = ESK_STORE_TNC,
                                          .blocks = BLOCKS};

static const struct esk_tree_config config = {.store = &esk_store_tnc,
                                              .frames = 255};

static struct esk_volume volume;
static struct esk_tree *tree;
static uint64_t arena[65536];

static void tree_open(const struct esk_device *device) {
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(
        test_tree_open(&tree, &volume, "t", &config, arena, sizeof arena),
        ESK_OK);
}

static void row_put(uint32_t key) {
    uint8_t row[ROW_BYTES] = {0};
    esk_store_u32(row, key);
    ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
}

ESK_TEST(open_finds_the_pages_behind_all_blocks_that_steps_erased_ahead) {
    static const struct esk_volume_config format = {.tables_max = 1};
    const struct esk_sim_config medium = {
        .geometry = ESK_NAND(BLOCKS + 16, 1, 4096), .seed = 1};
    struct esk_sim *sim = NULL;
    struct esk_fault fault;
    ESK_CHECK_INT(esk_sim_create(&sim, &medium), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    ESK_CHECK_INT(esk_volume_format(device, &format, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&volume, &spec, &fault), ESK_OK);
    tree_open(device);
    for (uint32_t i = 0; i < 3 * BLOCKS; i++) {
        uint32_t count = 0;
        uint16_t done = 0;
        row_put(i % ROWS);
        if (i < ROWS || i % 8 != 0) {
            continue;
        }
        ESK_CONTEXT("change %u", i);
        ESK_CHECK_INT(esk_volume_step(&volume, 300, &done), ESK_OK);
        esk_tree_close(tree);
        ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
        tree_open(device);
        ESK_CHECK_INT(esk_tree_count(tree, &count), ESK_OK);
        ESK_CHECK_INT(count, ROWS);
    }
    esk_tree_close(tree);
    ESK_CHECK_TEXT(esk_sim_violation(sim), "");
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
