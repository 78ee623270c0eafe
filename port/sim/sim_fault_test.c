// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Faults of the simulator: cuts, failures, flips; and that a seed repeats
/// them.
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

enum { PAGE = 128, PAGES = 4, BLOCKS = 4, SEEDS = 200 };

static const struct esk_geometry nand = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = PAGE,
    .programs_per_page_max = 1,
    .erased_value = 0xFF,
};

static uint8_t data[PAGE];
static uint8_t seen[PAGE];

static struct esk_sim *sim_new(uint64_t seed, uint16_t ecc_bits) {
    struct esk_sim_config config = {
        .geometry = nand, .seed = seed, .ecc_bits = ecc_bits};
    struct esk_sim *sim = NULL;
    for (unsigned i = 0; i < PAGE; i++) {
        data[i] = (uint8_t)(i * 37u + 11u);
    }
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CONTEXT("seed %u", (unsigned)seed);
    return sim;
}

static int sim_program(struct esk_sim *sim, esk_page_id page) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->program(device, page, 0, data, PAGE);
}

static int sim_erase(struct esk_sim *sim, uint32_t block) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->erase(device, block);
}

static int sim_read(struct esk_sim *sim, esk_page_id page) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->read(device, page, 0, seen, PAGE);
}

static unsigned bit_count(uint8_t byte) {
    return (unsigned)__builtin_popcount(byte);
}

/// Bits of `data` that are programmed, not erased.
static unsigned data_bits(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < PAGE; i++) {
        count += bit_count((uint8_t)~data[i]);
    }
    return count;
}

/// Bits of `data` that are still erased in `seen`.
static unsigned missing_bits(void) {
    unsigned count = 0;
    for (unsigned i = 0; i < PAGE; i++) {
        count += bit_count((uint8_t)(seen[i] & ~data[i]));
        ESK_CHECK_INT(data[i] & ~seen[i], 0); // and none that data has not
    }
    return count;
}

/// Cuts the first program by `mode`, turns on the power, reads the page.
static struct esk_sim *sim_after_cut(uint64_t seed,
                                     enum esk_sim_cut_mode mode) {
    struct esk_sim *sim = sim_new(seed, 0);
    esk_sim_cut_at(sim, 0, mode);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
    ESK_CHECK(!esk_sim_is_on(sim));
    esk_sim_power_on(sim);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    return sim;
}

ESK_TEST(sim_refuses_every_call_without_power) {
    struct esk_sim *sim = sim_new(1, 0);
    const struct esk_device *device = esk_sim_device(sim);
    bool bad;
    esk_sim_power_off(sim);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_E_IO);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_E_IO);
    ESK_CHECK_INT(device->ops->sync(device), ESK_E_IO);
    ESK_CHECK_INT(device->ops->block_is_bad(device, 0, &bad), ESK_E_IO);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, 0), ESK_E_IO);
    ESK_CHECK_INT(esk_sim_op_count(sim), 0);
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_power_on(sim);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_cuts_at_the_operation_asked_for_and_once) {
    struct esk_sim *sim = sim_new(1, 0);
    esk_sim_cut_at(sim, 2, ESK_SIM_CUT_BEFORE);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 1), ESK_E_IO);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_E_IO);
    esk_sim_power_on(sim);
    ESK_CHECK_INT(esk_sim_op_count(sim), 3);
    ESK_CHECK_INT(sim_program(sim, 1), ESK_OK);
    esk_sim_cut_at(sim, 4, ESK_SIM_CUT_BEFORE);
    esk_sim_cut_at(sim, 4, ESK_SIM_CUT_NONE);
    ESK_CHECK_INT(sim_program(sim, 2), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_cut_before_leaves_the_page_to_be_programmed) {
    struct esk_sim *sim = sim_after_cut(1, ESK_SIM_CUT_BEFORE);
    ESK_CHECK_INT(missing_bits(), data_bits());
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_cut_after_leaves_the_page_whole) {
    struct esk_sim *sim = sim_after_cut(1, ESK_SIM_CUT_AFTER);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
    ESK_CHECK_INT(esk_sim_violations(sim), 1);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_cut_prefix_lands_bits_up_to_some_bit) {
    bool part_of_a_byte = false;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_after_cut(seed, ESK_SIM_CUT_PREFIX);
        unsigned at = 0;
        (void)missing_bits();
        while (at < PAGE && seen[at] == data[at]) {
            at++;
        }
        if (at < PAGE) {
            part_of_a_byte = part_of_a_byte || seen[at] != 0xFF;
            at++;
        }
        while (at < PAGE) {
            ESK_CHECK_INT(seen[at], 0xFF);
            at++;
        }
        esk_sim_destroy(sim);
    }
    ESK_CHECK(part_of_a_byte);
}

ESK_TEST(sim_cut_subset_lands_some_bits_anywhere) {
    unsigned few = 0;
    unsigned most = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_after_cut(seed, ESK_SIM_CUT_SUBSET);
        unsigned missing = missing_bits();
        few += missing > data_bits() * 3 / 4;
        most += missing < data_bits() / 4;
        esk_sim_destroy(sim);
    }
    ESK_CHECK(few > 10);
    ESK_CHECK(most > 10);
}

ESK_TEST(sim_cut_all_but_one_misses_one_bit) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_after_cut(seed, ESK_SIM_CUT_ALL_BUT_ONE);
        ESK_CHECK_INT(missing_bits(), 1);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_refuses_a_torn_page_only_when_bits_show) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_after_cut(seed, ESK_SIM_CUT_PREFIX);
        bool shows = missing_bits() != data_bits();
        ESK_CHECK_INT(sim_program(sim, 0), shows ? ESK_E_IO : ESK_OK);
        ESK_CHECK_INT(esk_sim_violations(sim), shows ? 1 : 0);
        ESK_CHECK_INT(sim_program(sim, 1), ESK_OK);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_cut_drawn_reaches_every_mode) {
    unsigned whole = 0;
    unsigned none = 0;
    unsigned but_one = 0;
    unsigned torn = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_after_cut(seed, ESK_SIM_CUT_DRAWN);
        unsigned missing = missing_bits();
        whole += missing == 0;
        none += missing == data_bits();
        but_one += missing == 1;
        torn += missing > 1 && missing < data_bits();
        esk_sim_destroy(sim);
    }
    ESK_CHECK(whole > 10 && none > 10 && but_one > 10 && torn > 10);
}

ESK_TEST(sim_torn_overwrite_mixes_old_and_new_bits) {
    struct esk_sim_config config = {.geometry = nand, .seed = 5};
    config.geometry.flags = ESK_MEDIUM_OVERWRITE;
    config.geometry.programs_per_page_max = 0;
    struct esk_sim *sim = sim_new(5, 0);
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    uint8_t old[PAGE];
    memcpy(old, data, PAGE);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    memset(data, 0xA5, PAGE);
    esk_sim_cut_at(sim, 1, ESK_SIM_CUT_SUBSET);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
    esk_sim_power_on(sim);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    for (unsigned i = 0; i < PAGE; i++) {
        ESK_CHECK_INT((seen[i] ^ old[i]) & (seen[i] ^ data[i]), 0);
    }
    ESK_CHECK(memcmp(seen, data, PAGE) != 0);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_erase_cut_before_or_after_leaves_a_stable_block) {
    for (int after = 0; after < 2; after++) {
        struct esk_sim *sim = sim_new(1, 0);
        ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
        esk_sim_cut_at(sim, 1, after ? ESK_SIM_CUT_AFTER : ESK_SIM_CUT_BEFORE);
        ESK_CHECK_INT(sim_erase(sim, 0), ESK_E_IO);
        esk_sim_power_on(sim);
        ESK_CHECK_INT(esk_sim_block_wear(sim, 0), (uint32_t)after);
        ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
        ESK_CHECK_INT(missing_bits(), after ? data_bits() : 0);
        ESK_CHECK_INT(sim_program(sim, after ? 0 : 1), ESK_OK);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_interrupted_erase_is_unstable_until_an_erase_completes) {
    static const enum esk_sim_cut_mode modes[] = {
        ESK_SIM_CUT_PREFIX, ESK_SIM_CUT_SUBSET, ESK_SIM_CUT_ALL_BUT_ONE};
    for (unsigned i = 0; i < 3; i++) {
        unsigned unstable = 0;
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct esk_sim *sim = sim_new(seed, 0);
            for (esk_page_id page = 0; page < PAGES; page++) {
                ESK_CHECK_INT(sim_program(sim, page), ESK_OK);
            }
            esk_sim_cut_at(sim, PAGES, modes[i]);
            ESK_CHECK_INT(sim_erase(sim, 0), ESK_E_IO);
            esk_sim_power_on(sim);
            uint8_t before[PAGE];
            ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
            memcpy(before, seen, PAGE);
            for (int read = 0; read < 8; read++) {
                ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
                (void)missing_bits();
            }
            unstable += memcmp(before, seen, PAGE) != 0;
            ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
            ESK_CHECK_INT(esk_sim_violations(sim), 1);
            ESK_CHECK_INT(esk_sim_block_wear(sim, 0), 0);
            ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
            ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
            ESK_CHECK_INT(missing_bits(), data_bits());
            ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
            esk_sim_destroy(sim);
        }
        ESK_CHECK(unstable > SEEDS / 2);
    }
}

ESK_TEST(sim_fails_every_nth_a_burst_and_by_chance) {
    struct esk_sim *sim = sim_new(9, 0);
    struct esk_sim_failures failures = {
        .program = {.every = 3, .burst_start = 4, .burst_length = 1}};
    esk_sim_failures_set(sim, &failures);
    for (esk_page_id page = 0; page < 8; page++) {
        bool fails = page == 2 || page == 4 || page == 5;
        ESK_CHECK_INT(sim_program(sim, page), fails ? ESK_E_MEDIUM : ESK_OK);
    }
    ESK_CHECK_INT(esk_sim_counters(sim)->programs_failed, 3);
    failures = (struct esk_sim_failures){.erase = {.per_million = 500000}};
    esk_sim_failures_set(sim, &failures);
    unsigned failed = 0;
    for (uint32_t block = 0; block < BLOCKS; block++) {
        for (int i = 0; i < 20; i++) {
            failed += sim_erase(sim, block) != ESK_OK;
        }
    }
    ESK_CHECK(failed > 40); // a block fails for good with its first failure
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_failures_set(sim, NULL);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_E_MEDIUM);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_failed_program_leaves_a_part_of_its_bits) {
    unsigned partial = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_new(seed, 0);
        esk_sim_block_fail(sim, 1);
        ESK_CHECK_INT(sim_program(sim, PAGES), ESK_E_MEDIUM);
        ESK_CHECK(esk_sim_is_on(sim));
        ESK_CHECK_INT(sim_read(sim, PAGES), ESK_OK);
        unsigned missing = missing_bits();
        partial += missing != 0 && missing != data_bits();
        ESK_CHECK_INT(sim_erase(sim, 1), ESK_E_MEDIUM);
        ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
        esk_sim_destroy(sim);
    }
    ESK_CHECK(partial > SEEDS / 3);
}

ESK_TEST(sim_failed_transfer_leaves_nothing_a_part_or_all_done) {
    unsigned kinds[3] = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_new(seed, 0);
        struct esk_sim_failures failures = {
            .transfer = {.burst_start = 1, .burst_length = 2}};
        esk_sim_failures_set(sim, &failures);
        ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
        ESK_CHECK_INT(sim_program(sim, 1), ESK_E_IO);
        ESK_CHECK_INT(sim_read(sim, 1), ESK_OK);
        unsigned missing = missing_bits();
        kinds[missing == 0 ? 0 : missing == data_bits() ? 1 : 2]++;
        ESK_CHECK_INT(sim_erase(sim, 1), ESK_E_IO);
        ESK_CHECK_INT(sim_erase(sim, 1), ESK_OK);
        ESK_CHECK_INT(sim_program(sim, PAGES), ESK_OK);
        ESK_CHECK_INT(esk_sim_counters(sim)->transfers_failed, 2);
        ESK_CHECK_INT(esk_sim_counters(sim)->programs_failed, 0);
        ESK_CHECK_INT(esk_sim_violations(sim), 0);
        esk_sim_destroy(sim);
    }
    ESK_CHECK(kinds[0] > 0 && kinds[1] > 0 && kinds[2] > 0);
}

ESK_TEST(sim_block_fails_at_the_end_of_its_endurance) {
    struct esk_sim *sim = sim_new(1, 0);
    esk_sim_failures_set(sim, &(struct esk_sim_failures){.endurance = 5});
    for (int i = 0; i < 5; i++) {
        ESK_CHECK_INT(sim_erase(sim, 2), ESK_OK);
    }
    ESK_CHECK_INT(sim_erase(sim, 2), ESK_E_MEDIUM);
    ESK_CHECK_INT(esk_sim_counters(sim)->erases_failed, 1);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_flips_show_without_ecc_until_the_erase) {
    struct esk_sim *sim = sim_new(1, 0);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_flip(sim, 0, 9), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_INT(seen[1], data[1] ^ 2);
    seen[1] ^= 2;
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(esk_sim_flip(sim, 0, PAGE * 8), ESK_E_INVALID);
    ESK_CHECK_INT(esk_sim_flip(sim, PAGES * BLOCKS, 0), ESK_E_INVALID);
    ESK_CHECK_INT(esk_sim_flip_random(sim, 0, PAGE * 8 + 1), ESK_E_INVALID);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_bit_stuck_before_a_program_stays_where_it_hurts) {
    struct esk_sim *sim = sim_new(1, 0);
    memset(data, 0xF0, PAGE);
    ESK_CHECK_INT(esk_sim_flip(sim, 0, 0), ESK_OK); // wanted programmed
    ESK_CHECK_INT(esk_sim_flip(sim, 0, 7), ESK_OK); // wanted erased
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_INT(seen[0], 0x70);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_ecc_corrects_up_to_its_bits_and_no_more) {
    struct esk_sim *sim = sim_new(7, 4);
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_flip_random(sim, 0, 4), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(esk_sim_counters(sim)->bits_corrected, 4);
    ESK_CHECK_INT(sim_program(sim, 1), ESK_OK);
    ESK_CHECK_INT(esk_sim_flip_random(sim, 1, 5), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 1), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_sim_counters(sim)->reads_corrupt, 1);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_ecc_makes_a_torn_page_whole_or_corrupt) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = sim_new(seed, 1);
        esk_sim_cut_at(sim, 0, ESK_SIM_CUT_ALL_BUT_ONE);
        ESK_CHECK_INT(sim_program(sim, 0), ESK_E_IO);
        esk_sim_power_on(sim);
        ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
        ESK_CHECK_BYTES(seen, data, PAGE);
        esk_sim_cut_at(sim, 1, ESK_SIM_CUT_SUBSET);
        ESK_CHECK_INT(sim_program(sim, 1), ESK_E_IO);
        esk_sim_power_on(sim);
        ESK_CHECK_INT(sim_read(sim, 1), ESK_E_CORRUPT);
        esk_sim_destroy(sim);
    }
}

/// Runs a fixed sequence with faults and returns a hash of all results.
static uint64_t life_hash(struct esk_sim *sim) {
    uint64_t hash = 14695981039346656037u;
    struct esk_sim_failures failures = {.program = {.per_million = 200000}};
    esk_sim_failures_set(sim, &failures);
    esk_sim_cut_at(sim, 6, ESK_SIM_CUT_DRAWN);
    for (uint32_t op = 0; op < 30; op++) {
        int status = op % 5 == 4 ? sim_erase(sim, op / 5 % BLOCKS)
                                 : sim_program(sim, op % (PAGES * BLOCKS));
        hash = (hash ^ (uint64_t)status) * 1099511628211u;
        esk_sim_power_on(sim);
        for (esk_page_id page = 0; page < PAGES * BLOCKS; page++) {
            (void)sim_read(sim, page);
            for (unsigned i = 0; i < PAGE; i++) {
                hash = (hash ^ seen[i]) * 1099511628211u;
            }
        }
    }
    return hash ^ esk_sim_counters(sim)->time_ns;
}

ESK_TEST(sim_repeats_itself_for_a_seed_and_not_for_another) {
    uint64_t hashes[3];
    for (unsigned i = 0; i < 3; i++) {
        struct esk_sim *sim = sim_new(i < 2 ? 42 : 43, 0);
        hashes[i] = life_hash(sim);
        esk_sim_destroy(sim);
    }
    ESK_CHECK(hashes[0] == hashes[1]);
    ESK_CHECK(hashes[0] != hashes[2]);
}

ESK_TEST(sim_restores_a_snapshot_as_often_as_asked) {
    struct esk_sim *sim = sim_new(11, 0);
    struct esk_sim *snapshot;
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, PAGES), ESK_OK);
    ESK_CHECK_INT(esk_sim_flip(sim, PAGES, 3), ESK_OK);
    ESK_CHECK_INT(esk_sim_clone(&snapshot, sim), ESK_OK);
    uint64_t first = life_hash(sim);
    for (int i = 0; i < 3; i++) {
        esk_sim_restore(sim, snapshot);
        ESK_CHECK_INT(esk_sim_op_count(sim), 2);
        ESK_CHECK(life_hash(sim) == first);
    }
    ESK_CHECK_INT(esk_sim_peek(snapshot, 0, seen), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    esk_sim_restore(sim, snapshot);
    esk_sim_seed_set(sim, 12);
    ESK_CHECK(life_hash(sim) != first);
    esk_sim_destroy(sim);
    ESK_CHECK(life_hash(snapshot) == first);
    esk_sim_destroy(snapshot);
}

ESK_TEST(sim_poke_writes_against_every_rule) {
    struct esk_sim *sim = sim_new(1, 0);
    uint8_t forged[2] = {0x12, 0x34};
    ESK_CHECK_INT(sim_program(sim, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_poke(sim, 0, 5, forged, 2), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0), ESK_OK);
    ESK_CHECK_BYTES(seen + 5, forged, 2);
    ESK_CHECK_INT(seen[4], data[4]);
    ESK_CHECK_INT(esk_sim_poke(sim, 2, 0, forged, 2), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 2), ESK_E_IO);
    ESK_CHECK_INT(esk_sim_poke(sim, 0, PAGE - 1, forged, 2), ESK_E_INVALID);
    ESK_CHECK_INT(esk_sim_poke(sim, PAGES * BLOCKS, 0, forged, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_sim_peek(sim, PAGES * BLOCKS, seen), ESK_E_INVALID);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_describes_itself_with_its_seed) {
    struct esk_sim *sim = sim_new(77, 0);
    char text[400];
    char little[8];
    esk_sim_cut_at(sim, 12, ESK_SIM_CUT_SUBSET);
    esk_sim_describe(sim, text, sizeof text);
    ESK_CHECK(strstr(text, "seed=77") != NULL);
    ESK_CHECK(strstr(text, "cut=4@12") != NULL);
    esk_sim_describe(sim, little, sizeof little);
    ESK_CHECK_INT(strlen(little), sizeof little - 1);
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
