// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A catalog on a card that caches writes: the superblock of an interrupted
/// change could be on the card without its descriptors. The next change has the
/// same commit number, so the old superblock then had a catalog of descriptors
/// from two changes, each of them valid.
#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { SEEDS = 60, ROUNDS = 60, TABLES = 4, PAGE = 512 };

static const char *const names[TABLES] = {"a", "bb", "ccc", "dddd"};

static const struct esk_column columns[] = {
    {.name = "k", .type = ESK_TYPE_U32},
    {.name = "n", .type = ESK_TYPE_U32},
};

static struct esk_volume volume;
static uint64_t state;

static uint32_t draw(uint32_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % bound);
}

/// Which tables exist, bit by bit; each must be complete.
static unsigned tables_find(void) {
    unsigned found = 0;
    for (unsigned i = 0; i < TABLES; i++) {
        struct esk_table_info info;
        struct esk_column_info column;
        int status = esk_volume_find(&volume, names[i], &info);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        if (status == ESK_OK) {
            found |= 1u << i;
            ESK_CHECK_INT(info.column_count, 2);
            ESK_CHECK_INT(esk_volume_column(&volume, &info, 1, &column),
                          ESK_OK);
        }
    }
    return found;
}

/// Creates or drops table `i`.
static int table_change(unsigned i, bool there) {
    struct esk_series_spec spec = {.table = {.name = names[i],
                                             .columns = columns,
                                             .column_count = 2,
                                             .row_bytes = 8},
                                   .data_blocks = 2,
                                   .index_blocks = 2};
    return there ? esk_volume_drop(&volume, names[i])
                 : esk_series_create(&volume, &spec, NULL);
}

/// Changes tables until the power is cut, then finds those of the last
/// acknowledged change, or of the interrupted one.
static void round_run(struct esk_sim *sim, unsigned *tables) {
    int status = ESK_OK;
    unsigned next = *tables;
    esk_sim_cut_at(sim, esk_sim_op_count(sim) + draw(30), ESK_SIM_CUT_DRAWN);
    while (status == ESK_OK) {
        unsigned i = draw(TABLES);
        *tables = next;
        next = *tables ^ 1u << i;
        status = table_change(i, (*tables >> i & 1u) != 0);
    }
    ESK_CHECK(!esk_sim_is_on(sim));
    esk_sim_power_on(sim);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, TEST_SCRATCH),
        ESK_OK);
    unsigned found = tables_find();
    ESK_CHECK(found == *tables || found == next);
    *tables = found;
}

ESK_TEST(catalog_on_a_card_that_caches_is_one_that_was_written) {
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim_config config = {.geometry = ESK_CARD(60, 8, PAGE),
                                        .seed = seed,
                                        .erase_keeps = seed % 2 == 0,
                                        .cache_programs = 24};
        struct esk_volume_config format = {.uuid = {1}, .tables_max = 4};
        struct esk_sim *sim = NULL;
        unsigned tables = 0;
        state = seed;
        ESK_CONTEXT("seed %u", (unsigned)seed);
        ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
        const struct esk_device *device = esk_sim_device(sim);
        ESK_CHECK_INT(esk_volume_format(device, &format, TEST_SCRATCH), ESK_OK);
        ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH),
                      ESK_OK);
        for (uint32_t round = 0; round < ROUNDS; round++) {
            round_run(sim, &tables);
        }
        ESK_CHECK_TEXT(esk_sim_violation(sim), "");
        esk_sim_destroy(sim);
    }
}

ESK_TEST_MAIN()
