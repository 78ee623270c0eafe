// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reading damaged trees: forged, lost and failing nodes, through the tree and
/// through readers of one frame.
#include "test/harness/arena.h"
#include "test/harness/tree_fixture.h"

static const struct esk_tree_config one_frame = {.frames = 1};

/// Room for a reader of a page of 512 bytes.
static uint64_t reader_arena[512];

static struct esk_tree *reader_open(struct esk_model_tree *model,
                                    const struct esk_tree_config *config) {
    struct esk_tree *reader = NULL;
    ESK_CHECK_INT(test_tree_reader_open(&model->volume, &reader, model->tree,
                                        config, reader_arena,
                                        sizeof reader_arena),
                  ESK_OK);
    return reader;
}

/// The device page where the tree's region begins.
static uint32_t region_start(struct esk_model_tree *model) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&model->volume, "model", &info), ESK_OK);
    return info.block[0] * model->device->geometry.block_pages;
}

/// The address of node number `index` of a level, counted in key order.
static uint32_t node_at(struct esk_model_tree *model, uint8_t level,
                        uint32_t index) {
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    ESK_CHECK_INT(esk_tree_walk_open(model->tree, &walk), ESK_OK);
    for (;;) {
        ESK_CHECK_INT(esk_tree_walk_next(model->tree, &walk, &node), ESK_OK);
        if (node.level == level && index == 0) {
            return node.address;
        }
        index -= node.level == level ? 1 : 0;
    }
}

/// A model of `rows` rows without checksums.
static void model_tree_unproven(struct esk_model_tree *model, uint8_t store,
                                uint32_t rows) {
    struct esk_model_tree_table table = model_tree_plain(store);
    table.checksum = ESK_CHECKSUM_NONE;
    model_tree_start(model, &table);
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CHECK_INT(esk_model_tree_put(model, i), ESK_OK);
    }
}

static void page_lose(struct esk_model_tree *model, uint32_t address) {
    static const uint8_t junk[4] = {1, 2, 3, 4};
    uint32_t page = region_start(model) + address;
    ESK_CHECK_INT(esk_sim_poke(model->sim, page, 4, junk, sizeof junk), ESK_OK);
}

/// Forges an inner node all of whose children are the same.
static void node_forge(struct esk_model_tree *model, uint32_t address,
                       uint8_t level, uint8_t height, uint32_t child) {
    enum { COUNT = 58 };
    uint32_t page = region_start(model) + address;
    uint8_t head[4] = {level, level, height, 1};
    uint8_t node[2 + COUNT * 8] = {COUNT, 0};
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t *entry = node + 2 + i * 8;
        esk_model_tree_key(model, i, entry);
        entry[4] = (uint8_t)child;
        entry[5] = (uint8_t)(child >> 8);
    }
    ESK_CHECK_INT(esk_sim_poke(model->sim, page, 16, head, sizeof head),
                  ESK_OK);
    ESK_CHECK_INT(esk_sim_poke(model->sim, page, 40, node, sizeof node),
                  ESK_OK);
}

ESK_TEST(nodes_that_name_one_child_often_do_not_keep_a_scan_for_ever) {
    struct esk_model_tree model;
    struct esk_tree_cursor cursor;
    struct esk_tree_report report;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint8_t row[64];
    model_tree_unproven(&model, ESK_STORE_WANDERING, 100);
    uint32_t root = node_at(&model, 2, 0);
    uint32_t third = node_at(&model, 1, 0);
    uint32_t second = node_at(&model, 1, 1);
    uint32_t leaf = node_at(&model, 1, 2);
    uint32_t most = 160 * 8 * ESK_TREE_HEIGHT_MAX;
    node_forge(&model, second, 2, 2, leaf);
    node_forge(&model, third, 3, 3, second);
    node_forge(&model, root, 4, 4, third); /* 216,000 leaves */
    ESK_CHECK(esk_model_tree_remount(&model));
    for (uint8_t way = 0; way < 2; way++) {
        struct esk_tree_query query = {.backward = way == 1};
        uint32_t rows = 0;
        uint32_t told = 0;
        esk_tree_cursor_open(model.tree, &cursor, &query);
        for (int status = ESK_OK; status != ESK_END; rows++) {
            status = esk_tree_cursor_next(model.tree, &cursor, row);
            ESK_CHECK(rows < most * 16);
            told += status == ESK_E_CORRUPT ? 1 : 0;
        }
        ESK_CHECK_INT(told, 1);
        ESK_CHECK(rows > most);
    }
    ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_E_CORRUPT);
    ESK_CHECK(report.nodes_wrong > 0 && report.nodes <= most);
    ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
    int status = ESK_OK;
    for (uint32_t told = 0; status == ESK_OK; told++) {
        ESK_CHECK(told <= most);
        status = esk_tree_walk_next(model.tree, &walk, &node);
    }
    ESK_CHECK_INT(status, ESK_E_CORRUPT);
    esk_model_tree_free(&model);
}

ESK_TEST(inner_node_without_children_is_corrupt) {
    static const uint8_t none[2] = {0, 0};
    struct esk_model_tree model;
    uint8_t row[64];
    model_tree_unproven(&model, ESK_STORE_WANDERING, 100);
    uint32_t page = region_start(&model) + node_at(&model, 2, 0);
    esk_sim_poke(model.sim, page, 40, none, sizeof none);
    ESK_CHECK(esk_model_tree_remount(&model));
    ESK_CHECK_INT(esk_tree_first(model.tree, row), ESK_E_CORRUPT);
    esk_model_tree_free(&model);
}

ESK_TEST(reader_distinguishes_a_wrong_child_from_a_collected_one) {
    static const uint8_t zero[4] = {0, 0, 0, 0};
    struct esk_model_tree model;
    uint8_t key[8];
    uint8_t row[64];
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_WANDERING);
    table.checksum = ESK_CHECKSUM_NONE;
    table.blocks = 24;
    model_tree_start(&model, &table);
    /* A lap, so that position 0 is dropped. */
    model_tree_puts(&model, 600);
    uint32_t root = node_at(&model, 2, 0);
    esk_sim_poke(model.sim, region_start(&model) + root % (24 * 8), 40 + 2 + 4,
                 zero, sizeof zero);
    struct esk_tree *reader = reader_open(&model, &one_frame);
    esk_model_tree_key(&model, 0, key);
    ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_E_CORRUPT);
    model_tree_puts(&model, 300);
    ESK_CHECK_INT(esk_tree_last(reader, row), ESK_E_STALE);
    esk_tree_close(reader);
    esk_model_tree_free(&model);
}

ESK_TEST(scan_of_a_tree_whose_root_is_lost_reports_it_once_and_ends) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_model_tree model;
        struct esk_tree_cursor cursor;
        uint8_t row[64];
        uint32_t count = 0;
        ESK_CONTEXT("store %u", store);
        struct esk_model_tree_table table = model_tree_plain(store);
        model_tree_start(&model, &table);
        model_tree_puts(&model, 150);
        struct esk_tree *reader = reader_open(&model, NULL);
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
        ESK_CHECK_INT(esk_tree_walk_next(model.tree, &walk, &node), ESK_OK);
        ESK_CHECK(node.level > 1);
        page_lose(&model, node.address);
        esk_tree_cursor_open(reader, &cursor, NULL);
        ESK_CHECK_INT(esk_tree_cursor_next(reader, &cursor, row),
                      ESK_E_CORRUPT);
        ESK_CHECK_INT(esk_tree_cursor_next(reader, &cursor, row), ESK_END);
        ESK_CHECK_INT(esk_tree_count(reader, &count), ESK_OK);
        ESK_CHECK_INT(count, model.expected.rows);
        ESK_CHECK_INT(esk_tree_walk_open(reader, &walk), ESK_OK);
        ESK_CHECK_INT(esk_tree_walk_next(reader, &walk, &node), ESK_OK);
        ESK_CHECK(node.damaged);
        ESK_CHECK_INT(esk_tree_walk_next(reader, &walk, &node), ESK_END);
        esk_tree_close(reader);
        esk_model_tree_free(&model);
    }
}

ESK_TEST(count_that_has_to_read_the_leaves_reports_a_lost_one) {
    struct esk_model_tree model;
    uint32_t count = 0;
    struct esk_model_tree_table table = model_tree_plain(ESK_STORE_INPLACE);
    model_tree_start(&model, &table);
    model_tree_puts(&model, 150);
    page_lose(&model, node_at(&model, 1, 2));
    ESK_CHECK(esk_model_tree_remount(&model));
    ESK_CHECK_INT(esk_tree_count(model.tree, &count), ESK_E_CORRUPT);
    esk_model_tree_free(&model);
}

/// A tree of three levels behind a device that can fail, with a lost leaf.
static void model_tree_high(struct esk_model_tree *model, bool lost) {
    struct esk_model_tree_table table = {.store = ESK_STORE_WANDERING,
                                         .key_type = ESK_TYPE_BYTES,
                                         .key_bytes = 16,
                                         .pad_bytes = 100,
                                         .key_range = 300};
    model_tree_start(model, &table);
    for (uint32_t i = 0; i < 300; i++) {
        ESK_CHECK_INT(esk_model_tree_put(model, i), ESK_OK);
    }
    if (lost) {
        page_lose(model, node_at(model, 1, 30));
    }
    model_tree_front(model);
}

ESK_TEST(reader_of_one_frame_goes_on_after_reads_that_failed) {
    struct esk_model_tree model;
    uint32_t rows[2] = {0, 0};
    for (uint8_t fails = 0; fails < 2; fails++) {
        struct esk_tree_cursor cursor;
        uint8_t row[200];
        uint8_t last[200] = {0};
        uint32_t told = 0;
        uint32_t failed = 0;
        model_tree_high(&model, true);
        struct esk_tree *reader = reader_open(&model, &one_frame);
        esk_tree_cursor_open(reader, &cursor, NULL);
        for (int status = ESK_OK; status != ESK_END;) {
            /* Each read of a call fails once, until the call succeeds. */
            uint32_t at = 0;
            do {
                at += fails;
                read_fails = at;
                status = esk_tree_cursor_next(reader, &cursor, row);
                failed += status == ESK_E_IO ? 1 : 0;
            } while (status == ESK_E_IO);
            read_fails = 0;
            told += status == ESK_E_CORRUPT ? 1 : 0;
            if (status == ESK_OK) {
                ESK_CHECK(rows[fails] == 0 ||
                          memcmp(row + 4, last + 4, 16) > 0);
                memcpy(last, row, sizeof last);
                rows[fails]++;
            }
        }
        ESK_CHECK_INT(told, 1);
        ESK_CHECK(failed >= 100u * fails);
        esk_tree_close(reader);
        esk_model_tree_free(&model);
    }
    ESK_CHECK_INT(rows[1], rows[0]);
    ESK_CHECK(rows[0] > 290);
}

ESK_TEST(walk_and_check_with_one_frame_survive_reads_that_fail) {
    struct esk_model_tree model;
    struct esk_tree_report whole;
    struct esk_tree_report report;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t nodes = 0;
    uint32_t failed = 0;
    model_tree_high(&model, false);
    struct esk_tree *reader = reader_open(&model, &one_frame);
    ESK_CHECK_INT(esk_tree_check(reader, &whole), ESK_OK);
    ESK_CHECK_INT(whole.rows, 300);
    for (uint32_t at = 1; at < 60; at++) {
        read_fails = at;
        ESK_CHECK_INT(esk_tree_check(reader, &report), ESK_E_IO);
    }
    ESK_CHECK_INT(esk_tree_walk_open(reader, &walk), ESK_OK);
    for (int status = ESK_OK; status != ESK_END;) {
        uint32_t at = 0;
        do {
            at++;
            read_fails = at;
            status = esk_tree_walk_next(reader, &walk, &node);
            failed += status == ESK_E_IO ? 1 : 0;
        } while (status == ESK_E_IO);
        read_fails = 0;
        nodes += status == ESK_OK ? 1 : 0;
    }
    ESK_CHECK(failed > whole.nodes);
    ESK_CHECK_INT(nodes, whole.nodes);
    esk_tree_close(reader);
    esk_model_tree_free(&model);
}

ESK_TEST(scan_of_damaged_inner_nodes_skips_the_nodes_below) {
    struct esk_model_tree model;
    struct esk_tree_cursor cursor;
    struct esk_tree_report report;
    uint8_t row[200];
    uint32_t rows = 0;
    uint32_t told = 0;
    model_tree_high(&model, false);
    page_lose(&model, node_at(&model, 2, 1));
    ESK_CHECK(esk_model_tree_remount(&model));
    esk_tree_cursor_open(model.tree, &cursor, NULL);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_tree_cursor_next(model.tree, &cursor, row);
        rows += status == ESK_OK ? 1 : 0;
        told += status == ESK_E_CORRUPT ? 1 : 0;
    }
    ESK_CHECK_INT(esk_tree_check(model.tree, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(told, 1);
    ESK_CHECK_INT(report.pages_damaged, 1);
    ESK_CHECK_INT(rows, report.rows);
    ESK_CHECK(rows > 150 && rows < 290);
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    uint32_t damaged = 0;
    ESK_CHECK_INT(esk_tree_walk_open(model.tree, &walk), ESK_OK);
    while (esk_tree_walk_next(model.tree, &walk, &node) == ESK_OK) {
        damaged += node.damaged ? 1 : 0;
        ESK_CHECK(!node.damaged || node.level == 2);
    }
    ESK_CHECK_INT(damaged, 1);
    esk_model_tree_free(&model);
}

/// A page of a live node that reads as erased is lost, too.
ESK_TEST(leaf_that_reads_as_erased_is_reported_and_counted) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree model;
        struct esk_model_tree_table table = model_tree_plain(store);
        struct esk_tree_stats stats;
        struct esk_tree_cursor cursor;
        uint8_t erased[4096];
        uint8_t row[ESK_MODEL_TREE_ROW_BYTES_MAX];
        uint32_t told = 0;
        ESK_CONTEXT("store %u", store);
        model_tree_start(&model, &table);
        model_tree_puts(&model, 300);
        uint32_t page = region_start(&model) + node_at(&model, 1, 2);
        uint16_t bytes = model.device->geometry.page_bytes;
        memset(erased, model.device->geometry.erased_value, sizeof erased);
        ESK_CHECK(bytes <= sizeof erased);
        ESK_CHECK_INT(esk_sim_poke(model.sim, page, 0, erased, bytes), ESK_OK);
        ESK_CHECK(esk_model_tree_remount(&model));
        ESK_CHECK_INT(esk_tree_cursor_open(model.tree, &cursor, NULL), ESK_OK);
        int status = ESK_OK;
        while (status != ESK_END) {
            status = esk_tree_cursor_next(model.tree, &cursor, row);
            told += status == ESK_E_CORRUPT ? 1 : 0;
            ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
                      status == ESK_END);
        }
        esk_tree_stats(model.tree, &stats);
        ESK_CHECK(told > 0);
        ESK_CHECK(stats.pages_damaged >= told);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
