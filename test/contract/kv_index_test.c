// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The index of kv tables: damage to its pages, leaves of many pages, little
/// RAM, full tables, rounds that go on after cuts.
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_kv.h"

#include "table/kv/index/kv_index.h"

static struct esk_model_kv model;

static const struct esk_model_kv_run nor = {"NOR",
                                            {.geometry = ESK_NOR(60, 16, 256)},
                                            {.blocks = 24,
                                             .keys = 600,
                                             .value_max = 60,
                                             .key_max = 12,
                                             .pending = 120}};
static const struct esk_model_kv_run nand = {"NAND",
                                             {.geometry = ESK_NAND(60, 8, 512)},
                                             {.blocks = 24,
                                              .keys = 600,
                                              .value_max = 100,
                                              .key_max = 16,
                                              .pending = 200}};

static struct esk_kv_index_open *index_of(void) {
    return (struct esk_kv_index_open *)model.kv->index;
}

static void steps_make(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
    }
    ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
}

static void model_start(const struct esk_model_kv_run *run, uint64_t seed,
                        unsigned steps) {
    ESK_CHECK_INT(esk_model_kv_make(&model, run, seed), ESK_OK);
    steps_make(steps);
}

static uint32_t index_lost(void) {
    struct esk_kv_report report;
    ESK_CHECK_INT(esk_kv_check(model.kv, &report), ESK_OK);
    return report.index_lost;
}

/// One damaged page of the index, any one: every value is there, and stays.
ESK_TEST(a_damaged_page_of_an_index_loses_nothing) {
    const struct esk_model_kv_run *runs[] = {&nor, &nand};
    uint32_t step = esk_test_rounds(4, 1) * esk_test_stride(2);
    for (unsigned run = 0; run < 2; run++) {
        model_start(runs[run], 5 + run, 4000);
        uint32_t position = index_of()->ring.tail;
        uint32_t told = 0;
        ESK_CHECK(index_of()->ring.head - position > 20);
        for (; position < index_of()->ring.head; position += step) {
            ESK_CONTEXT("%s, page %lu", runs[run]->name,
                        (unsigned long)position);
            esk_page_id page = esk_ring_page(&index_of()->ring, position);
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, 777), ESK_OK);
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
            told += index_lost();
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, 777), ESK_OK);
        }
        ESK_CHECK(told > (step == 1 ? 10 : 0));
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        ESK_CHECK_INT(index_lost(), 0);
        esk_model_kv_free(&model);
    }
}

ESK_TEST(a_damaged_page_of_an_index_is_written_again) {
    for (unsigned i = 0; i < 24; i++) {
        model_start(i % 2 == 0 ? &nor : &nand, 40 + i, 3000);
        struct esk_ring *ring = &index_of()->ring;
        uint32_t pages = ring->head - ring->tail;
        for (unsigned flips = 0; flips <= i % 3; flips++) {
            uint32_t position = ring->tail + esk_model_kv_random(&model, pages);
            ESK_CHECK_INT(
                esk_sim_flip(model.sim, esk_ring_page(ring, position), 500),
                ESK_OK);
        }
        ESK_CONTEXT("seed %u", 40 + i);
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        steps_make(3000);
        ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        ESK_CHECK_INT(index_lost(), 0);
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        esk_model_kv_free(&model);
    }
}

/// Each step begins with what the newest root says. One that was damaged while
/// the table is open is as none: an open replays more.
ESK_TEST(a_root_that_is_damaged_in_use_loses_nothing) {
    for (unsigned run = 0; run < 2; run++) {
        model_start(run == 0 ? &nor : &nand, 90 + run, 3000);
        for (unsigned i = 0; i < 6; i++) {
            const struct esk_ring *ring = &index_of()->ring;
            uint32_t root = index_of()->root;
            ESK_CONTEXT("run %u, damage %u", run, i);
            ESK_CHECK_INT(
                esk_sim_flip(model.sim, esk_ring_page(ring, root), 500),
                ESK_OK);
            for (unsigned left = 60; index_of()->root == root; left--) {
                ESK_CHECK(left > 0);
                steps_make(20);
            }
            ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        }
        esk_model_kv_free(&model);
    }
}

/// All of the index is lost: the log has everything.
ESK_TEST(an_index_that_is_lost_is_made_again) {
    model_start(&nor, 9, 1200);
    const struct esk_region *region = &index_of()->ring.region;
    for (uint32_t page = 0; page < region->pages; page++) {
        ESK_CHECK_INT(esk_sim_flip(model.sim, region->first_page + page, 100),
                      ESK_OK);
    }
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    steps_make(3000);
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    esk_model_kv_free(&model);
}

/// The log's newest pages are damaged, of which the index has the records: what
/// is written in their places is found, and no key has bytes of another.
ESK_TEST(an_index_forgets_what_a_damaged_log_does_not_have) {
    unsigned told = 0;
    uint32_t lost = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned wrong = 0;
        unsigned corrupt = 0;
        model_start(i % 2 == 0 ? &nor : &nand, 60 + i, 3000);
        const struct esk_ring *log = &model.kv->log;
        for (uint32_t page = 0; page < 5 + 10 * i; page++) {
            ESK_CHECK_INT(esk_sim_flip(model.sim,
                                       esk_ring_page(log, log->head - page),
                                       33),
                          ESK_OK);
        }
        ESK_CONTEXT("seed %u", 60 + i);
        ESK_CHECK_INT(esk_model_kv_open(&model), ESK_OK);
        struct esk_kv_stats stats;
        esk_kv_stats(model.kv, &stats);
        lost += stats.pages_lost;
        ESK_CHECK(stats.pages_lost <= 5 + 10 * i);
        esk_model_kv_compare(&model, &wrong, &told);
        for (uint16_t key = 0; key < model.table.keys; key++) {
            ESK_CHECK_INT(model.now[key] != 0
                              ? esk_model_kv_put(&model, key)
                              : esk_model_kv_delete(&model, key),
                          ESK_OK);
            if (key % 100 == 99) {
                ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
                ESK_CHECK_INT(esk_model_kv_open(&model), ESK_OK);
            }
        }
        wrong = 0;
        esk_model_kv_compare(&model, &wrong, &corrupt);
        ESK_CHECK_INT(wrong, 0);
        ESK_CHECK_INT(corrupt, 0);
        esk_model_kv_free(&model);
    }
    ESK_CHECK(told > 10 && lost > 10);
}

/// Deletes are lost, so that there are more keys than the index has counted.
ESK_TEST(keys_that_come_back_are_no_lost_keys) {
    struct esk_kv_report report;
    model_start(&nor, 21, 3000);
    for (uint16_t key = 0; key < 400; key++) {
        ESK_CHECK_INT(esk_model_kv_delete(&model, key), ESK_OK);
        if (key % 100 == 99) {
            ESK_CHECK_INT(esk_model_kv_sync(&model), ESK_OK);
        }
    }
    const struct esk_ring *log = &model.kv->log;
    for (uint32_t page = 0; page < 30; page++) {
        ESK_CHECK_INT(
            esk_sim_flip(model.sim, esk_ring_page(log, log->head - page), 33),
            ESK_OK);
    }
    ESK_CHECK_INT(esk_model_kv_open(&model), ESK_OK);
    uint32_t counted = model.kv->keys;
    (void)esk_kv_check(model.kv, &report);
    ESK_CHECK(report.keys > counted);
    ESK_CHECK_INT(report.keys_lost, 0);
    esk_model_kv_free(&model);
}

/// Two keys whose hashes are equal in all 32 bits, and which came after the
/// newest root.
ESK_TEST(a_replay_finds_keys_of_one_hash) {
    static const char *const keys[] = {"kc18133b", "keb14eca"};
    model_start(&nor, 22, 3000);
    for (uint32_t i = 0; i < 2; i++) {
        ESK_CHECK_INT(esk_kv_put_u32(model.kv, keys[i], i), ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
    ESK_CHECK_INT(model.kv->salt_max, 1);
    ESK_CHECK_INT(esk_model_kv_open(&model), ESK_OK);
    ESK_CHECK_INT(model.kv->salt_max, 1);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = 2;
        ESK_CHECK_INT(esk_kv_get_u32(model.kv, keys[i], &value), ESK_OK);
        ESK_CHECK_INT(value, i);
    }
    esk_model_kv_free(&model);
}

/// Keys with hashes of one leaf: it gets pages until they are all there.
ESK_TEST(a_leaf_has_as_many_pages_as_it_needs) {
    enum { WANTED = 150 };
    static uint32_t keys[WANTED];
    uint32_t found = 0;
    model_start(&nor, 3, 0);
    const struct esk_kv_index_open *index = index_of();
    for (uint32_t key = 0; found < WANTED; key++) {
        uint32_t hash = esk_kv_hash_begin(0);
        hash = esk_kv_hash_add(hash, (const uint8_t *)&key, sizeof key);
        hash = esk_kv_hash_end(model.kv, hash);
        if (esk_kv_leaf_of(index, hash) == 2) {
            keys[found++] = key;
        }
    }
    for (uint32_t round = 0; round < 6; round++) {
        for (uint32_t i = 0; i < WANTED; i++) {
            ESK_CHECK_INT(esk_kv_put(model.kv, &keys[i], sizeof keys[i], &round,
                                     sizeof round, ESK_KV_BYTES),
                          ESK_OK);
        }
        ESK_CHECK_INT(esk_kv_sync(model.kv), ESK_OK);
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        for (uint32_t i = 0; i < WANTED; i++) {
            uint32_t value = 0;
            ESK_CHECK_INT(esk_kv_get(model.kv, &keys[i], sizeof keys[i], &value,
                                     sizeof value, NULL, NULL),
                          ESK_OK);
            ESK_CHECK_INT(value, round);
        }
        ESK_CHECK_INT(index_lost(), 0);
    }
    struct esk_kv_stats stats;
    esk_kv_stats(model.kv, &stats);
    ESK_CHECK_INT(stats.keys, WANTED);
    /* Its newest page is damaged: all of them are made again. */
    uint32_t ref = 0;
    ESK_CHECK_INT(esk_kv_leaf_ref(model.kv, 2, &ref), ESK_OK);
    ESK_CHECK_INT(
        esk_sim_flip(model.sim, index_of()->ring.region.first_page + ref, 700),
        ESK_OK);
    ESK_CHECK_INT(index_lost(), 1);
    for (uint32_t i = 0; i < 2 * WANTED; i++) {
        ESK_CHECK_INT(esk_kv_put(model.kv, &keys[i % 5], sizeof keys[0], &i,
                                 sizeof i, ESK_KV_BYTES),
                      ESK_OK);
        ESK_CHECK_INT(esk_kv_put(model.kv, &i, sizeof i, "", 0, ESK_KV_BYTES),
                      ESK_OK);
    }
    ESK_CHECK_INT(index_lost(), 0);
    for (uint32_t i = 5; i < WANTED; i++) {
        uint32_t value = 0;
        ESK_CHECK_INT(esk_kv_get(model.kv, &keys[i], sizeof keys[i], &value,
                                 sizeof value, NULL, NULL),
                      ESK_OK);
        ESK_CHECK(value == 5 || keys[i] < 2 * WANTED);
    }
    esk_model_kv_free(&model);
}

/// Pages that no step wrote are passed over.
ESK_TEST(a_root_of_no_table_is_passed_over) {
    model_start(&nor, 8, 2500);
    struct esk_kv_index_open *index = index_of();
    uint32_t aux = (uint32_t)ESK_KV_LEVEL_ROOT << ESK_KV_LEVEL_SHIFT;
    memset(esk_kv_node(model.kv), 0xEE, 256);
    ESK_CHECK_INT(
        esk_ring_append(&index->ring, esk_kv_node(model.kv), 200, aux, NULL),
        ESK_OK);
    ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
    steps_make(1000);
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    esk_model_kv_free(&model);
}

/// One step writes all of it: it is due once in `replay_pages`, not at each
/// page.
ESK_TEST(an_index_of_few_leaves_is_written_once_a_round) {
    static const struct esk_model_kv_run small = {
        "NAND",
        {.geometry = ESK_NAND(100, 8, 512)},
        {.blocks = 40,
         .keys = 320,
         .value_max = 100,
         .key_max = 16,
         .pending = 400}};
    model_start(&small, 3, 6000);
    uint32_t log_pages = model.kv->log.head;
    uint32_t index_pages = index_of()->ring.head;
    ESK_CHECK(log_pages > 1000);
    ESK_CHECK(index_pages > 10 && index_pages < log_pages / 10);
    esk_model_kv_free(&model);
}

ESK_TEST(an_index_is_planned_for_any_number_of_keys) {
    static const struct esk_geometry geometry = ESK_NOR(2000, 16, 256);
    bool has_least = false;
    for (uint32_t keys = 1; keys < 40000; keys++) {
        struct esk_kv_index_layout layout;
        uint32_t leaves = 0;
        uint32_t blocks = 0;
        ESK_CONTEXT("%lu keys", (unsigned long)keys);
        ESK_CHECK(esk_kv_index_plan(&geometry, 200, keys, &leaves, &blocks));
        ESK_CHECK(esk_kv_index_lay(&geometry, leaves, blocks, 200, &layout));
        ESK_CHECK(leaves * layout.leaf_entries >= keys);
        ESK_CHECK(blocks * 16 >= leaves + leaves / 4);
        has_least = has_least || leaves == 256;
    }
    ESK_CHECK(has_least);
}

/// Fewer keys in RAM than before: the open makes the steps that it takes, if it
/// may write.
ESK_TEST(an_open_with_less_room_makes_steps) {
    model_start(&nor, 12, 4000);
    uint32_t pending = model.kv->pending;
    ESK_CHECK(pending > 20);
    for (uint16_t room = 130; room >= 2; room--) {
        const struct esk_kv_config config = {.keys = room,
                                             .part = &esk_kv_part_index};
        ESK_CONTEXT("room %u", room);
        ESK_CHECK_INT(esk_volume_mount(&model.volume, model.device,
                                       ESK_MOUNT_READ_ONLY, model.arena,
                                       sizeof model.arena),
                      ESK_OK);
        int status = esk_kv_open(&model.kv, &model.volume, "kv", &config);
        ESK_CHECK(status == ESK_OK ||
                  (room < pending && status == ESK_E_LIMIT));
        model.table.pending = room;
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        pending = model.kv->pending;
        if (room % 10 == 0) {
            ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        }
    }
    steps_make(2000);
    ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    const struct esk_kv_config none = {.keys = 130};
    esk_kv_close(model.kv);
    ESK_CHECK_INT(esk_kv_open(&model.kv, &model.volume, "kv", &none),
                  ESK_E_UNSUPPORTED);
    esk_model_kv_free(&model);
}

static int table_open(void) {
    const struct esk_kv_config config = {.keys = model.table.pending,
                                         .part = &esk_kv_part_index};
    int status = esk_volume_mount(&model.volume, model.device, 0, model.arena,
                                  sizeof model.arena);
    return status != ESK_OK
               ? status
               : esk_kv_open(&model.kv, &model.volume, "kv", &config);
}

/// A page of the log is damaged: each value is what it was, or its loss is told
/// by a get, or by the open or a check.
ESK_TEST(no_damaged_page_of_a_log_with_an_index_is_silent) {
    const struct esk_model_kv_run *runs[] = {&nor, &nand};
    uint32_t step = esk_test_rounds(4, 1) * esk_test_stride(2);
    for (unsigned run = 0; run < 2; run++) {
        model_start(runs[run], 21 + run, 14000);
        uint32_t tail = model.kv->log.tail;
        uint32_t head = model.kv->log.head;
        uint32_t told = 0;
        ESK_CHECK(tail > 0);
        for (uint32_t position = tail; position <= head; position += step) {
            ESK_CONTEXT("%s, page %lu of %lu to %lu", runs[run]->name,
                        (unsigned long)position, (unsigned long)tail,
                        (unsigned long)head);
            esk_page_id page = esk_ring_page(&model.kv->log, position);
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, 400), ESK_OK);
            ESK_CHECK_INT(table_open(), ESK_OK);
            unsigned wrong = 0;
            unsigned corrupt = 0;
            esk_model_kv_compare(&model, &wrong, &corrupt);
            struct esk_kv_report report;
            struct esk_kv_stats stats;
            int checked = esk_kv_check(model.kv, &report);
            esk_kv_stats(model.kv, &stats);
            bool is_told = checked != ESK_OK || stats.pages_lost > 0 ||
                           stats.newest_unread > 0 || stats.records_lost > 0;
            ESK_CHECK(wrong == 0 || is_told);
            ESK_CHECK(corrupt == 0 || checked != ESK_OK);
            told += is_told ? 1 : 0;
            ESK_CHECK_INT(esk_sim_flip(model.sim, page, 400), ESK_OK);
        }
        ESK_CHECK(told > 20 / step);
        esk_model_kv_free(&model);
    }
}

/// Opens that have less room than the session before, and are cut while they
/// make steps.
static void cuts_survive(const struct esk_model_kv_run *run, uint64_t seed,
                         unsigned cuts) {
    model_start(run, seed, 2000);
    for (unsigned cut = 0; cut < cuts; cut++) {
        ESK_CONTEXT("%s, seed %lu, cut %u", run->name, (unsigned long)seed,
                    cut);
        uint64_t now = esk_sim_op_count(model.sim);
        esk_sim_cut_at(model.sim, now + esk_model_kv_random(&model, 60),
                       ESK_SIM_CUT_DRAWN);
        while (esk_sim_is_on(model.sim)) {
            int status = esk_model_kv_step(&model);
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        }
        /* Where pages are programmed once, those of a page at least. */
        uint16_t least = run == &nor ? 2 : 128;
        model.table.pending =
            (uint16_t)(least + esk_model_kv_random(&model, 120));
        for (uint32_t opens = esk_model_kv_random(&model, 3); opens > 0;
             opens--) {
            esk_sim_power_on(model.sim);
            now = esk_sim_op_count(model.sim);
            esk_sim_cut_at(model.sim, now + esk_model_kv_random(&model, 200),
                           ESK_SIM_CUT_DRAWN);
            (void)table_open();
        }
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
    }
    esk_model_kv_free(&model);
}

ESK_TEST(opens_with_less_room_survive_power_cuts) {
    struct esk_model_kv_run card = {
        "card", {.geometry = ESK_CARD(80, 8, 512)}, nand.table};
    const struct esk_model_kv_run *runs[] = {&nor, &nand, &card};
    static const uint16_t caches[] = {2, 24, 200};
    for (unsigned seed = 1; seed <= 3; seed++) {
        card.config.cache_programs = caches[seed - 1];
        for (unsigned run = 0; run < 3; run++) {
            cuts_survive(runs[run], seed,
                         esk_test_draws(15, 300) / esk_test_stride(2));
        }
    }
}

/// Cuts steps until what they leave has used up the rest of a block.
static void cuts_fill_block(void) {
    unsigned cuts = 0;
    while (esk_ring_rest(&index_of()->ring, index_of()->ring.head) != 0) {
        esk_sim_cut_at(model.sim,
                       esk_sim_op_count(model.sim) + 1 +
                           esk_model_kv_random(&model, 9),
                       ESK_SIM_CUT_DRAWN);
        while (esk_sim_is_on(model.sim)) {
            int status = esk_model_kv_step(&model);
            ESK_CHECK(status == ESK_OK || !esk_sim_is_on(model.sim));
        }
        ESK_CHECK_HELD(esk_model_kv_recover(&model), model.why);
        ESK_CHECK(cuts++ < 500);
    }
}

/// Steps are cut again and again before each one that is made: what they leave
/// uses up the rest of a block, and the ring has a block for each step of a
/// round.
ESK_TEST(steps_that_are_cut_use_up_no_ring) {
    static const uint16_t blocks[] = {8, 16, 64};
    for (unsigned i = 0; i < 3; i++) {
        struct esk_model_kv_run run = nor;
        run.config.geometry.block_pages = blocks[i];
        run.config.geometry.page_bytes = 128;
        run.config.geometry.block_count = 5000u / blocks[i] + 40;
        run.table.blocks = (uint16_t)(3000u / blocks[i] + 8);
        run.table.keys = 1000;
        run.table.pending = 40;
        model_start(&run, 3 + i, 6000);
        for (unsigned made = 0;
             made < esk_test_rounds(10, 40) / esk_test_stride(2); made++) {
            ESK_CONTEXT("blocks of %u pages, step %u", blocks[i], made);
            cuts_fill_block();
            uint32_t root = index_of()->root;
            while (index_of()->root == root) {
                ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
            }
        }
        ESK_CHECK_INT(index_lost(), 0);
        ESK_CHECK_HELD(esk_model_kv_verify(&model), model.why);
        esk_model_kv_free(&model);
    }
}

static int put(uint32_t key, uint8_t byte, uint32_t bytes) {
    uint8_t value[64];
    memset(value, byte, sizeof value);
    int status =
        esk_kv_put(model.kv, &key, sizeof key, value, bytes, ESK_KV_BYTES);
    return status != ESK_OK ? status : esk_kv_sync(model.kv);
}

/// Full by bytes, then full by keys: changes that need no room go on.
ESK_TEST(a_full_table_with_an_index_takes_changes) {
    for (unsigned kind = 0; kind < 2; kind++) {
        struct esk_model_kv_run run = kind == 0 ? nor : nand;
        run.table.keys = 1000;
        run.table.live_percent = 95;
        run.table.blocks = kind == 0 ? 8 : 30;
        ESK_CHECK_INT(esk_model_kv_make(&model, &run, 1), ESK_OK);
        uint32_t keys = 0;
        int status = ESK_OK;
        while ((status = put(keys, 1, 40)) == ESK_OK) {
            keys++;
        }
        ESK_CHECK_INT(status, ESK_FULL);
        ESK_CHECK(kind == 0 ? keys > 300 && keys < 1000 : keys == 1000);
        for (uint32_t i = 0; i < 3000; i++) {
            ESK_CONTEXT("change %lu", (unsigned long)i);
            ESK_CHECK_INT(put(i * 7 % keys, (uint8_t)i, 40), ESK_OK);
        }
        for (uint32_t key = 0; key < keys; key += 2) {
            ESK_CHECK_INT(esk_kv_delete(model.kv, &key, sizeof key), ESK_OK);
        }
        ESK_CHECK_HELD(esk_model_kv_sync(&model) == ESK_OK, "sync");
        for (uint32_t key = 0; key < keys; key += 2) {
            ESK_CHECK_INT(put(key, 3, 40), ESK_OK);
        }
        struct esk_kv_report report;
        ESK_CHECK_INT(esk_kv_check(model.kv, &report), ESK_OK);
        ESK_CHECK_INT(report.keys, keys);
        esk_model_kv_free(&model);
    }
}

/// No call's work grows with the table.
ESK_TEST(a_put_programs_a_bounded_number_of_pages) {
    struct esk_model_kv_run run = nor;
    run.config.geometry.block_count = 200;
    run.table.blocks = 100;
    run.table.keys = 1000;
    run.table.value_max = 40;
    ESK_CHECK_INT(esk_model_kv_make(&model, &run, 77), ESK_OK);
    uint32_t most = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct esk_kv_stats before;
        struct esk_kv_stats after;
        esk_kv_stats(model.kv, &before);
        ESK_CHECK_INT(esk_model_kv_step(&model), ESK_OK);
        esk_kv_stats(model.kv, &after);
        uint32_t programs = after.programs - before.programs;
        most = programs > most ? programs : most;
    }
    ESK_CHECK(most <= 24);
    esk_model_kv_free(&model);
}

ESK_TEST(specifications_without_room_for_an_index_are_refused) {
    struct esk_fault fault;
    model_start(&nor, 1, 0);
    struct esk_kv_spec spec = {
        .name = "other", .blocks = 4, .index_keys = 4000000};
    ESK_CHECK_INT(esk_kv_create(&model.volume, &spec, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OPTION);
    spec.index_keys = UINT32_MAX;
    ESK_CHECK_INT(esk_kv_create(&model.volume, &spec, &fault), ESK_E_SCHEMA);
    spec.index_keys = 60000;
    ESK_CHECK_INT(esk_kv_create(&model.volume, &spec, &fault), ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_NO_ROOM);
    ESK_CHECK(fault.wanted > fault.found);
    spec.index_keys = 100;
    spec.blocks = 0;
    ESK_CHECK_INT(esk_kv_create(&model.volume, &spec, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_REGION);
    esk_model_kv_free(&model);
}

ESK_TEST_MAIN()
