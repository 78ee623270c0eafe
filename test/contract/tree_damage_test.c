// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Scans of damaged trees: every row that can be read, in order, and each
/// node that cannot be is told once.
#include "test/harness/bush.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { RANGE = 400 };

static const struct esk_geometry nand = ESK_NAND(60, 16, 512);

static const struct esk_geometry sd = ESK_CARD(100, 8, 512);

enum state { ABSENT, THERE, LOST };

/// What a get says of every number. (A lost newest page takes changes back.)
struct truth {
    enum state state[RANGE];
    uint32_t version[RANGE];
    uint32_t lost;
};

static void truth_read(struct esk_bush *bush, struct truth *truth) {
    truth->lost = 0;
    for (uint32_t number = 0; number < RANGE; number++) {
        uint8_t key[32];
        uint8_t row[512];
        esk_bush_key(bush, number, key);
        int status = esk_tree_get(bush->tree, key, row);
        truth->state[number] = status == ESK_OK          ? THERE
                               : status == ESK_E_CORRUPT ? LOST
                                                         : ABSENT;
        truth->version[number] = row[0] | row[1] * 256u;
        truth->lost += status == ESK_E_CORRUPT ? 1 : 0;
    }
}

/// Puts a row that is there once more, which changes the tree.
static void change_make(struct esk_bush *bush, struct truth *truth) {
    uint32_t number = esk_bush_random(bush, RANGE);
    uint32_t tries = RANGE;
    while (truth->state[number] != THERE && tries > 0) {
        number = (number + 1) % RANGE;
        tries--;
    }
    if (truth->state[number] == THERE) {
        int status = esk_bush_put(bush, number);
        ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
                  status == ESK_FULL);
        if (status == ESK_OK) {
            truth->version[number] = bush->version;
        }
    }
}

/// Scans from `first` to `last`. changes: change the tree between calls.
/// Returns how many nodes were told lost.
static uint32_t scan_check(struct esk_bush *bush, struct truth *truth,
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
    esk_bush_key(bush, (uint32_t)first, low);
    esk_bush_key(bush, (uint32_t)last, high);
    ESK_CHECK_INT(esk_tree_cursor_open(bush->tree, &cursor, &query), ESK_OK);
    for (;;) {
        int status = esk_tree_cursor_next(bush->tree, &cursor, row);
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
                change_make(bush, truth);
            }
            continue;
        }
        /* Rows were passed over only after it was said. */
        ESK_CHECK(!in_lost || hidden);
        hidden = false;
        if (at < first || at > last) {
            ESK_CHECK_INT(status, ESK_END);
            break;
        }
        ESK_CHECK_INT(status, ESK_OK);
        esk_bush_row(bush, (uint32_t)at, truth->version[at], expected);
        ESK_CHECK_BYTES(row, expected, bush->row_bytes);
        at += step;
        if (changes) {
            change_make(bush, truth);
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

static void scans_check(struct esk_bush *bush, struct truth *truth) {
    struct esk_tree_report report;
    (void)esk_tree_check(bush->tree, &report);
    for (uint8_t way = 0; way < 2; way++) {
        uint32_t told = scan_check(bush, truth, 0, RANGE - 1, way == 1, false);
        ESK_CHECK_INT(told, report.pages_damaged);
        int32_t first = (int32_t)esk_bush_random(bush, RANGE);
        int32_t last = first + (int32_t)esk_bush_random(bush, 60);
        last = last < RANGE ? last : RANGE - 1;
        told = scan_check(bush, truth, first, last, way == 1, false);
        ESK_CHECK_INT(told > 0, !range_is_whole(truth, first, last));
    }
}

/// Flips bits of a page that was programmed. (Nobody looks at one that was
/// not, before it is programmed.)
static void page_hurt(struct esk_bush *bush, uint32_t page, uint32_t bits) {
    esk_sim_peek(bush->sim, page, bush->page);
    if (bush->page[8] != bush->device->geometry.erased_value ||
        bush->page[7] != bush->device->geometry.erased_value) {
        ESK_CHECK_INT(esk_sim_flip_random(bush->sim, page, bits), ESK_OK);
    }
}

static void damage_run(const struct esk_bush_table *table) {
    struct esk_bush bush;
    struct esk_sim *whole = NULL;
    struct esk_table_info info;
    struct truth truth;
    uint32_t hurt = 0;
    bool overwrites = esk_bush_overwrites(table->store);
    ESK_CHECK_INT(esk_bush_make(&bush, table, overwrites ? &sd : &nand, 4),
                  ESK_OK);
    for (uint32_t i = 0; i < 900; i++) {
        uint32_t number = esk_bush_random(&bush, RANGE);
        int status = i % 4 == 3 ? esk_bush_delete(&bush, number)
                                : esk_bush_put(&bush, number);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
                  status == ESK_FULL);
    }
    ESK_CHECK_INT(esk_sim_clone(&whole, bush.sim), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                  ESK_OK);
    uint32_t block_pages = bush.device->geometry.block_pages;
    uint32_t first = info.block[0] * block_pages;
    uint32_t pages = info.blocks[0] * block_pages;
    for (uint32_t at = 0; at < pages; at += 2) {
        ESK_CONTEXT("store %u, key of %u bytes, page %u", table->store,
                    table->key_bytes, at);
        esk_tree_close(bush.tree);
        esk_sim_restore(bush.sim, whole);
        page_hurt(&bush, first + at, 1 + at % 5);
        /* A second one, often a neighbour. */
        uint32_t second = first + (at + at % 7) % pages;
        page_hurt(&bush, second, 3);
        if (esk_bush_open(&bush) != ESK_OK) {
            ESK_CHECK(overwrites && (at <= 2 || second <= first + 2));
            esk_sim_restore(bush.sim, whole);
            ESK_CHECK_INT(esk_bush_open(&bush), ESK_OK);
            continue;
        }
        truth_read(&bush, &truth);
        hurt += truth.lost > 0 ? 1 : 0;
        scans_check(&bush, &truth);
        if (truth.lost > 0 && table->key_bytes <= ESK_TREE_CURSOR_KEY_BYTES) {
            scan_check(&bush, &truth, 0, RANGE - 1, at / 2 % 2 == 0, true);
        }
    }
    ESK_CHECK(hurt > 10);
    esk_sim_destroy(whole);
    esk_bush_free(&bush);
}

ESK_TEST(tree_scan_returns_every_row_that_can_be_read_and_tells_lost_nodes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_MU; store++) {
        struct esk_bush_table narrow = {.store = store,
                                        .key_type = ESK_TYPE_I16,
                                        .pad_bytes = 40,
                                        .key_range = RANGE};
        struct esk_bush_table wide = {.store = store,
                                      .key_type = ESK_TYPE_BYTES,
                                      .key_bytes = 20,
                                      .pad_bytes = 30,
                                      .key_range = RANGE};
        damage_run(&narrow);
        damage_run(&wide);
        /* Nearly full: in place the free list has pages in doubt. */
        narrow.merges = true;
        narrow.blocks = esk_bush_overwrites(store) ? 10 : 0;
        damage_run(&narrow);
    }
}

/// Reads rows far from `number`, so that its leaf leaves the frames.
static void frames_turn_over(struct esk_bush *bush, uint32_t number) {
    for (uint32_t i = 1; i < 8; i++) {
        uint8_t key[32];
        uint8_t row[512];
        esk_bush_key(bush, (number + i * 50) % RANGE, key);
        (void)esk_tree_get(bush->tree, key, row);
    }
}

ESK_TEST(tree_scan_goes_on_when_the_leaf_it_is_in_is_lost) {
    for (uint8_t way = 0; way < 2; way++) {
        struct esk_bush bush;
        struct esk_table_info info;
        struct esk_bush_table table = {.store = ESK_STORE_WANDERING,
                                       .key_type = ESK_TYPE_I16,
                                       .pad_bytes = 40,
                                       .key_range = RANGE};
        struct esk_tree_cursor cursor;
        struct esk_tree_query query = {.backward = way == 1};
        uint8_t row[512];
        uint32_t read = 0;
        uint32_t told = 0;
        ESK_CONTEXT("backward %u", way);
        ESK_CHECK_INT(esk_bush_make(&bush, &table, &nand, 1), ESK_OK);
        for (uint32_t i = 0; i < RANGE; i++) {
            ESK_CHECK_INT(esk_bush_put(&bush, i * 7 % RANGE), ESK_OK);
        }
        ESK_CHECK_INT(esk_volume_find(&bush.volume, "bush", &info, bush.page),
                      ESK_OK);
        esk_tree_cursor_open(bush.tree, &cursor, &query);
        for (int status = ESK_OK; status != ESK_END;) {
            status = esk_tree_cursor_next(bush.tree, &cursor, row);
            read += status == ESK_OK ? 1 : 0;
            told += status == ESK_E_CORRUPT ? 1 : 0;
            if (read >= 100 && told == 0 && cursor.path.index[0] > 0) {
                frames_turn_over(&bush, way == 0 ? read : RANGE - read);
                page_hurt(&bush,
                          info.block[0] * bush.device->geometry.block_pages +
                              cursor.path.address[0],
                          3);
            }
        }
        ESK_CHECK_INT(told, 1);
        /* Only the rest of one leaf is missing. */
        ESK_CHECK(read < RANGE && read + 9 >= RANGE);
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
