// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Pages whose bytes no tree wrote, and that no checksum tells apart.
#include "test/harness/bush_rig.h"

/// Bytes that a checksum would have caught: no call may crash or hang.
ESK_TEST(tree_survives_hostile_pages) {
    for (uint8_t run = 0; run < 8; run++) {
        uint8_t store = (uint8_t)(ESK_STORE_INPLACE + run % 4);
        struct esk_bush bush;
        struct esk_sim *whole = NULL;
        struct esk_table_info info;
        struct esk_bush_table table = bush_plain(store);
        table.checksum = ESK_CHECKSUM_NONE;
        table.blocks = 24;
        table.policy = ESK_TREE_LRU_N;
        table.frames = 4;
        table.merges = run >= 4;
        table.batch_pages = esk_bush_overwrites(store) && run >= 4 ? 40 : 0;
        bush_start(&bush, &table);
        bush_puts(&bush, 150);
        ESK_CHECK_INT(esk_sim_clone(&whole, bush.sim), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                      ESK_OK);
        for (uint32_t i = 0; i < 1500; i++) {
            struct esk_tree_report report;
            uint32_t changes = 1 + esk_bush_random(&bush, 4);
            ESK_CONTEXT("run %u, image %u", run, i);
            esk_sim_restore(bush.sim, whole);
            esk_tree_close(bush.tree);
            for (uint32_t n = 0; n < changes; n++) {
                uint32_t page = info.block[0] * 8 +
                                esk_bush_random(&bush, info.blocks[0] * 8);
                uint16_t at = (uint16_t)(4 + esk_bush_random(&bush, 64));
                uint8_t bytes[4];
                for (size_t b = 0; b < sizeof bytes; b++) {
                    uint32_t value = esk_bush_random(&bush, 3);
                    bytes[b] =
                        (uint8_t)(value == 0   ? 0xFF
                                  : value == 1 ? 0
                                               : esk_bush_random(&bush, 256));
                }
                esk_sim_poke(bush.sim, page, at, bytes,
                             (uint16_t)(1 + esk_bush_random(&bush, 4)));
            }
            if (esk_bush_open(&bush) != ESK_OK) {
                esk_sim_restore(bush.sim, whole);
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
                continue;
            }
            for (uint32_t n = 0; n < 30; n++) {
                (void)esk_bush_call(&bush);
                if (bush.in_batch) {
                    (void)esk_tree_abort(bush.tree);
                    bush.in_batch = false;
                }
            }
            (void)esk_bush_verify(&bush);
            (void)esk_tree_check(bush.tree, &report);
            esk_tree_close(bush.tree);
            if (esk_bush_open(&bush) != ESK_OK) {
                esk_sim_restore(bush.sim, whole);
                ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            }
        }
        esk_sim_destroy(whole);
        esk_bush_free(&bush);
    }
}

/// The region page with the largest sequence number.
static uint32_t newest_page(struct esk_bush *bush,
                            const struct esk_table_info *info) {
    uint32_t pages = bush->device->geometry.block_pages;
    uint32_t newest = 0;
    uint32_t found = 0;
    for (uint32_t at = 0; at < info->blocks[0] * pages; at++) {
        uint32_t page = info->block[0] * pages + at;
        esk_sim_peek(bush->sim, page, bush->page);
        uint32_t sequence =
            (uint32_t)bush->page[8] | (uint32_t)bush->page[9] << 8 |
            (uint32_t)bush->page[10] << 16 | (uint32_t)bush->page[11] << 24;
        if (sequence != UINT32_MAX && sequence >= newest) {
            newest = sequence;
            found = page;
        }
    }
    return found;
}

ESK_TEST(root_that_names_itself_as_its_only_child_is_corrupt) {
    static const uint8_t self[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    struct esk_bush bush;
    struct esk_table_info info;
    struct esk_tree_stats stats;
    struct esk_bush_table table = bush_plain(ESK_STORE_WANDERING);
    table.checksum = ESK_CHECKSUM_NONE;
    bush_start(&bush, &table);
    uint32_t number = 0;
    do {
        ESK_CHECK_INT(esk_bush_put(&bush, number), ESK_OK);
        number++;
        esk_tree_stats(bush.tree, &stats);
    } while (stats.height < 2);
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    esk_tree_close(bush.tree);
    esk_sim_poke(bush.sim, newest_page(&bush, &info), 28 + 2 + 4, self, 4);
    ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
    ESK_CHECK_INT(esk_bush_delete(&bush, number - 1), ESK_E_CORRUPT);
    esk_bush_free(&bush);
}

/// Forges a byte of every page of the table and opens it again.
static int byte_forged(struct esk_bush *bush, uint16_t at, uint8_t value) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&bush->volume, "bush", &info, bush->page),
                  ESK_OK);
    uint32_t pages = bush->device->geometry.block_pages;
    esk_tree_close(bush->tree);
    for (uint32_t i = 0; i < info.blocks[0] * pages; i++) {
        uint32_t page = info.block[0] * pages + i;
        esk_sim_peek(bush->sim, page, bush->page);
        if (bush->page[6] != 0xFF && bush->page[6] != 0) {
            esk_sim_poke(bush->sim, page, at, &value, 1);
        }
    }
    return esk_bush_open(bush);
}

ESK_TEST(tree_refuses_heights_levels_and_homes_that_cannot_be) {
    struct esk_bush bush;
    struct esk_bush_table table = bush_plain(ESK_STORE_MU);
    uint8_t row[ESK_BUSH_ROW_BYTES_MAX];
    uint8_t key[8];
    table.checksum = ESK_CHECKSUM_NONE;
    bush_start(&bush, &table);
    bush_puts(&bush, 100);
    ESK_CHECK_INT(byte_forged(&bush, 18, 0), ESK_E_CORRUPT); /* height */
    esk_bush_free(&bush);
    table.store = ESK_STORE_INPLACE;
    bush_start(&bush, &table);
    bush_puts(&bush, 100);
    /* Every node says that it is a leaf, or one of level 2. */
    ESK_CHECK_INT(byte_forged(&bush, 6, 0x62), ESK_OK);
    esk_bush_key(&bush, 3, key);
    ESK_CHECK_INT(esk_tree_get(bush.tree, key, row), ESK_E_CORRUPT);
    esk_bush_free(&bush);
    table.store = ESK_STORE_JOURNALED;
    bush_start(&bush, &table);
    bush_puts(&bush, 100);
    /* The page in the journal says that it is at home there, or outside:
       then it is nobody's. */
    struct esk_table_info info;
    uint8_t home[4] = {0};
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    for (uint8_t value = 0; value < 2; value++) {
        memset(home, value == 0 ? 0 : 0x7F, sizeof home);
        esk_tree_close(bush.tree);
        esk_sim_poke(bush.sim, info.block[0] * 8, 8, home, 4);
        ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
        ESK_CHECK_HELD(esk_bush_verify(&bush), bush.why);
    }
    esk_bush_free(&bush);
}

ESK_TEST_MAIN()
