// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Scans of damaged trees: every readable row, in order, and each unreadable
/// node reported once.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum { RANGE = 400 };

static const struct esk_geometry nand = ESK_NAND(60, 16, 512);

static const struct esk_geometry sd = ESK_CARD(100, 8, 512);

enum state { ABSENT, THERE, LOST };

/// The result of a get for every number. (A lost newest page loses changes.)
struct truth {
    enum state state[RANGE];
    uint32_t version[RANGE];
    uint32_t lost;
};

static void truth_read(struct esk_model_tree *model, struct truth *truth) {
    truth->lost = 0;
    for (uint32_t number = 0; number < RANGE; number++) {
        uint8_t key[32];
        uint8_t row[512];
        esk_model_tree_key(model, number, key);
        int status = esk_tree_get(model->tree, key, row);
        truth->state[number] = status == ESK_OK          ? THERE
                               : status == ESK_E_CORRUPT ? LOST
                                                         : ABSENT;
        truth->version[number] = row[0] | row[1] * 256u;
        truth->lost += status == ESK_E_CORRUPT ? 1 : 0;
    }
}

/// Puts an existing row again, which changes the tree.
static void change_make(struct esk_model_tree *model, struct truth *truth) {
    uint32_t number = esk_model_tree_random(model, RANGE);
    uint32_t tries = RANGE;
    while (truth->state[number] != THERE && tries > 0) {
        number = (number + 1) % RANGE;
        tries--;
    }
    if (truth->state[number] == THERE) {
        int status = esk_model_tree_put(model, number);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
                  status == ESK_FULL);
        if (status == ESK_OK) {
            truth->version[number] = model->version;
        }
    }
}

/// Scans from `first` to `last`. changes: change the tree between calls.
/// Returns how many nodes were reported lost.
static uint32_t scan_check(struct esk_model_tree *model, struct truth *truth,
                           int32_t first, int32_t last, bool backward,
                           bool changes) {
    struct esk_tree_cursor cursor;
    uint8_t low[32];
    uint8_t high[32];
    uint8_t row[512];
    uint8_t expected[512];
    struct esk_tree_query query = {
        .key_min = low, .key_max = high, .backward = backward};
    int32_t step = backward ? -1 : 1;
    int32_t at = backward ? last : first;
    uint32_t told = 0;
    bool hidden = false;
    esk_model_tree_key(model, (uint32_t)first, low);
    esk_model_tree_key(model, (uint32_t)last, high);
    ESK_CHECK_INT(esk_tree_cursor_open(model->tree, &cursor, &query), ESK_OK);
    for (;;) {
        int status = esk_tree_cursor_next(model->tree, &cursor, row);
        bool in_lost = false;
        while (at >= first && at <= last && truth->state[at] != THERE) {
            in_lost = in_lost || truth->state[at] == LOST;
            at += step;
        }
        if (status == ESK_E_CORRUPT) {
            told++;
            ESK_CHECK(told <= RANGE);
            hidden = true;
            if (changes && told % 2 == 1) {
                change_make(model, truth);
            }
            continue;
        }
        /* Rows were skipped only after an error was returned. */
        ESK_CHECK(!in_lost || hidden);
        hidden = false;
        if (at < first || at > last) {
            ESK_CHECK_INT(status, ESK_END);
            break;
        }
        ESK_CHECK_INT(status, ESK_OK);
        esk_model_tree_row(model, (uint32_t)at, truth->version[at], expected);
        ESK_CHECK_BYTES(row, expected, model->row_bytes);
        at += step;
        if (changes) {
            change_make(model, truth);
        }
    }
    return told;
}

static bool range_is_whole(const struct truth *truth, int32_t first,
                           int32_t last) {
    bool whole = true;
    for (int32_t at = first; at <= last; at++) {
        whole = whole && truth->state[at] != LOST;
    }
    return whole;
}

static void scans_check(struct esk_model_tree *model, struct truth *truth) {
    struct esk_tree_report report;
    (void)esk_tree_check(model->tree, &report);
    for (uint8_t way = 0; way < 2; way++) {
        uint32_t told = scan_check(model, truth, 0, RANGE - 1, way == 1, false);
        ESK_CHECK_INT(told, report.pages_damaged);
        int32_t first = (int32_t)esk_model_tree_random(model, RANGE);
        int32_t last = first + (int32_t)esk_model_tree_random(model, 60);
        last = last < RANGE ? last : RANGE - 1;
        told = scan_check(model, truth, first, last, way == 1, false);
        ESK_CHECK_INT(told > 0, !range_is_whole(truth, first, last));
    }
}

/// Flips bits of a page that was programmed. (A page that was not is not read
/// before it is programmed.)
static void page_hurt(struct esk_model_tree *model, uint32_t page,
                      uint32_t bits) {
    esk_sim_peek(model->sim, page, model->page);
    if (model->page[8] != model->device->geometry.erased_value ||
        model->page[7] != model->device->geometry.erased_value) {
        ESK_CHECK_INT(esk_sim_flip_random(model->sim, page, bits), ESK_OK);
    }
}

static void damage_run(const struct esk_model_tree_table *table) {
    struct esk_model_tree model;
    struct esk_sim *whole = NULL;
    struct esk_table_info info;
    struct truth truth;
    uint32_t hurt = 0;
    bool overwrites = esk_model_tree_overwrites(table->store);
    ESK_CHECK_INT(
        esk_model_tree_make(&model, table, overwrites ? &sd : &nand, 4),
        ESK_OK);
    for (uint32_t i = 0; i < 900; i++) {
        uint32_t number = esk_model_tree_random(&model, RANGE);
        int status = i % 4 == 3 ? esk_model_tree_delete(&model, number)
                                : esk_model_tree_put(&model, number);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_FULL);
    }
    ESK_CHECK_INT(esk_sim_clone(&whole, model.sim), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
    uint32_t block_pages = model.device->geometry.block_pages;
    uint32_t first = info.block[0] * block_pages;
    uint32_t pages = info.blocks[0] * block_pages;
    for (uint32_t at = 0; at < pages; at += 2 * esk_test_stride(3)) {
        ESK_CONTEXT("store %u, key of %u bytes, page %u", table->store,
                    table->key_bytes, at);
        esk_tree_close(model.tree);
        esk_sim_restore(model.sim, whole);
        page_hurt(&model, first + at, 1 + at % 5);
        /* A second one, often a neighbour. */
        uint32_t second = first + (at + at % 7) % pages;
        page_hurt(&model, second, 3);
        if (esk_model_tree_open(&model) != ESK_OK) {
            ESK_CHECK(overwrites && (at <= 2 || second <= first + 2));
            esk_sim_restore(model.sim, whole);
            ESK_CHECK_INT(esk_model_tree_open(&model), ESK_OK);
            continue;
        }
        truth_read(&model, &truth);
        hurt += truth.lost > 0 ? 1 : 0;
        scans_check(&model, &truth);
        if (truth.lost > 0 && table->key_bytes <= ESK_TREE_CURSOR_KEY_BYTES) {
            scan_check(&model, &truth, 0, RANGE - 1, at / 2 % 2 == 0, true);
        }
    }
    ESK_CHECK(hurt > 10 / esk_test_stride(3));
    esk_sim_destroy(whole);
    esk_model_tree_free(&model);
}

ESK_TEST(tree_scan_returns_every_readable_row_and_reports_lost_nodes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        struct esk_model_tree_table narrow = {.store = store,
                                              .key_type = ESK_TYPE_I16,
                                              .pad_bytes = 40,
                                              .key_range = RANGE};
        struct esk_model_tree_table wide = {.store = store,
                                            .key_type = ESK_TYPE_BYTES,
                                            .key_bytes = 20,
                                            .pad_bytes = 30,
                                            .key_range = RANGE};
        damage_run(&narrow);
        damage_run(&wide);
        /* Nearly full: in place, new nodes get pages that others freed. */
        narrow.merges = true;
        narrow.blocks = esk_model_tree_overwrites(store) ? 10 : 0;
        damage_run(&narrow);
    }
}

/// Reads rows far from `number`, so that its leaf leaves the frames.
static void frames_turn_over(struct esk_model_tree *model, uint32_t number) {
    for (uint32_t i = 1; i < 8; i++) {
        uint8_t key[32];
        uint8_t row[512];
        esk_model_tree_key(model, (number + i * 50) % RANGE, key);
        (void)esk_tree_get(model->tree, key, row);
    }
}

ESK_TEST(tree_scan_goes_on_when_the_leaf_it_is_in_is_lost) {
    for (uint8_t way = 0; way < 2; way++) {
        struct esk_model_tree model;
        struct esk_table_info info;
        struct esk_model_tree_table table = {.store = ESK_STORE_WANDERING,
                                             .key_type = ESK_TYPE_I16,
                                             .pad_bytes = 40,
                                             .key_range = RANGE};
        struct esk_tree_cursor cursor;
        struct esk_tree_query query = {.backward = way == 1};
        uint8_t row[512];
        uint32_t read = 0;
        uint32_t told = 0;
        ESK_CONTEXT("backward %u", way);
        ESK_CHECK_INT(esk_model_tree_make(&model, &table, &nand, 1), ESK_OK);
        for (uint32_t i = 0; i < RANGE; i++) {
            ESK_CHECK_INT(esk_model_tree_put(&model, i * 7 % RANGE), ESK_OK);
        }
        ESK_CHECK_INT(esk_volume_find(&model.volume, "model", &info), ESK_OK);
        esk_tree_cursor_open(model.tree, &cursor, &query);
        for (int status = ESK_OK; status != ESK_END;) {
            status = esk_tree_cursor_next(model.tree, &cursor, row);
            read += status == ESK_OK ? 1 : 0;
            told += status == ESK_E_CORRUPT ? 1 : 0;
            if (read >= 100 && told == 0 && cursor.path.index[0] > 0) {
                frames_turn_over(&model, way == 0 ? read : RANGE - read);
                uint32_t block = model.device->geometry.block_pages;
                page_hurt(&model,
                          info.block[0] * block +
                              cursor.path.address[0] % (info.blocks[0] * block),
                          3);
            }
        }
        ESK_CHECK_INT(told, 1);
        /* Only the rest of one leaf is missing. */
        ESK_CHECK(read < RANGE && read + 9 >= RANGE);
        esk_model_tree_free(&model);
    }
}

ESK_TEST_MAIN()
