// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Trees on a card that keeps writes back lost rows that a sync had
/// acknowledged. A split's left node was on the card and its right node, or a
/// root that had grown, was not; and a page that a mount wrote from the
/// journal could still be lost when the journal was written again.
#include "test/harness/bush.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { SEEDS = 40, ROUNDS = 40, PUTS_MAX = 30 };

static uint32_t synced[ESK_BUSH_KEYS_MAX];

/// Puts rows, some of them synced, until the power goes.
static void work(struct esk_bush *bush) {
    int status = ESK_OK;
    esk_sim_cut_at(bush->sim,
                   esk_sim_op_count(bush->sim) + esk_bush_random(bush, 40),
                   ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        for (uint32_t i = 0; i < PUTS_MAX && status == ESK_OK; i++) {
            status = esk_bush_put(bush, esk_bush_random(bush, bush->range));
        }
        if (status == ESK_OK && esk_tree_sync(bush->tree) == ESK_OK) {
            memcpy(synced, bush->model.version, sizeof synced);
        }
    }
    ESK_CHECK_INT(status, ESK_E_IO);
}

static void recover(struct esk_bush *bush) {
    static uint32_t versions[ESK_BUSH_KEYS_MAX];
    esk_sim_power_on(bush->sim);
    ESK_CHECK_INT(esk_volume_mount(&bush->volume, bush->device, 0, bush->page),
                  ESK_OK);
    ESK_CHECK_INT(esk_bush_open(bush), ESK_OK);
    ESK_CHECK_HELD(esk_bush_read_all(bush, versions), bush->why);
    for (uint32_t number = 0; number < bush->range; number++) {
        ESK_CHECK(versions[number] >= synced[number]);
    }
    esk_bush_model_set(bush, versions);
    memcpy(synced, versions, bush->range * sizeof *versions);
    ESK_CHECK_HELD(esk_bush_verify(bush), bush->why);
}

ESK_TEST(tree_on_a_card_that_caches_keeps_every_synced_row) {
    for (uint32_t seed = 0; seed < 2 * SEEDS; seed++) {
        bool journaled = seed % 2 == 1;
        struct esk_bush bush;
        struct esk_bush_table table = {.store = journaled ? ESK_STORE_JOURNALED
                                                          : ESK_STORE_INPLACE,
                                       .key_type = ESK_TYPE_U32,
                                       .pad_bytes = 40,
                                       .key_range = 400};
        struct esk_sim_config card = {.geometry = ESK_CARD(80, 8, 128),
                                      .seed = seed,
                                      .erase_keeps = true,
                                      .whole_writes = !journaled,
                                      .cache_programs = 24};
        ESK_CONTEXT("seed %u", (unsigned)seed);
        ESK_CHECK_INT(esk_bush_make_on(&bush, &table, &card, seed), ESK_OK);
        memset(synced, 0, sizeof synced);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            work(&bush);
            recover(&bush);
        }
        ESK_CHECK_TEXT(esk_sim_violation(bush.sim), "");
        esk_bush_free(&bush);
    }
}

ESK_TEST_MAIN()
