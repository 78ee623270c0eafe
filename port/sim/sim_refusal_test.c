// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the medium refuses, and the cost of each operation.
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

enum { PAGE = 256, PAGES = 4, BLOCKS = 8 };

static const struct esk_geometry geometry = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = 64,
    .programs_per_page_max = 2,
    .erased_value = 0xFF,
};

static const struct esk_sim_timing timing = {
    .read_ns = 1000,
    .read_sequential_ns = 100,
    .read_byte_ps = 500,
    .program_ns = 20000,
    .program_sequential_ns = 2000,
    .program_byte_ps = 1000,
    .program_step_bytes = 128,
    .erase_ns = 3000000,
};

static uint8_t data[PAGE];
static uint8_t page_read[PAGE];

static struct esk_sim *sim_new(struct esk_sim_config config) {
    struct esk_sim *sim = NULL;
    memset(data, 0x5A, sizeof data);
    if (config.geometry.page_bytes == 0) {
        config.geometry = geometry;
    }
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    return sim;
}

static int sim_program(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                       uint16_t bytes) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->program(device, page, offset, data, bytes);
}

static int sim_erase(struct esk_sim *sim, uint32_t block) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->erase(device, block);
}

static int sim_read(struct esk_sim *sim, esk_page_id page, uint16_t offset,
                    uint16_t bytes) {
    const struct esk_device *device = esk_sim_device(sim);
    return device->ops->read(device, page, offset, page_read, bytes);
}

/// Checks that the last call was refused, for this reason.
static void check_refused(struct esk_sim *sim, int status, uint64_t count,
                          const char *reason) {
    ESK_CONTEXT("%s", esk_sim_violation(sim));
    ESK_CHECK_INT(status, ESK_E_IO);
    ESK_CHECK_INT(esk_sim_violations(sim), count);
    ESK_CHECK(strstr(esk_sim_violation(sim), reason) != NULL);
}

ESK_TEST(sim_reads_back_what_was_programmed) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    ESK_CHECK_INT(sim_program(sim, 1, 64, 128), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 1, 0, PAGE), ESK_OK);
    ESK_CHECK_INT(page_read[63], 0xFF);
    ESK_CHECK_BYTES(page_read + 64, data, 128);
    ESK_CHECK_INT(page_read[192], 0xFF);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 1, 64, 1), ESK_OK);
    ESK_CHECK_INT(page_read[0], 0xFF);
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    ESK_CHECK_TEXT(esk_sim_violation(sim), "");
    esk_sim_destroy(sim);
}

ESK_TEST(sim_serves_a_medium_erased_to_zero) {
    struct esk_sim_config config = {.geometry = geometry};
    config.geometry.erased_value = 0x00;
    struct esk_sim *sim = sim_new(config);
    ESK_CHECK_INT(sim_read(sim, 0, 0, 1), ESK_OK);
    ESK_CHECK_INT(page_read[0], 0x00);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_BYTES(page_read, data, 64);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_bytes_that_are_not_erased) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    ESK_CHECK_INT(sim_program(sim, 0, 0, 128), ESK_OK);
    check_refused(sim, sim_program(sim, 0, 64, 64), 1, "not erased");
    ESK_CHECK_INT(sim_program(sim, 0, 128, 64), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_erased_values_programmed_twice) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    memset(data, 0xFF, sizeof data);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    check_refused(sim, sim_program(sim, 0, 0, 64), 1, "not erased");
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_a_page_out_of_order_in_its_block) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    ESK_CHECK_INT(sim_program(sim, 2, 0, 64), ESK_OK);
    check_refused(sim, sim_program(sim, 1, 0, 64), 1, "out of order");
    ESK_CHECK_INT(sim_program(sim, 2, 64, 64), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, PAGES, 0, 64), ESK_OK);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 1, 0, 64), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_more_programs_a_page_than_the_part_allows) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 0, 64, 64), ESK_OK);
    check_refused(sim, sim_program(sim, 0, 128, 64), 1, "too many");
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_what_is_off_the_program_unit) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    check_refused(sim, sim_program(sim, 0, 1, 64), 1, "program unit");
    check_refused(sim, sim_program(sim, 0, 0, 63), 2, "program unit");
    check_refused(sim, sim_program(sim, 0, 0, 0), 3, "program unit");
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_what_is_past_the_page_or_the_device) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    uint32_t end = PAGES * BLOCKS;
    const struct esk_device *device = esk_sim_device(sim);
    bool bad;
    check_refused(sim, sim_program(sim, 0, 192, 128), 1, "past the page");
    check_refused(sim, sim_program(sim, end, 0, 64), 2, "past the device");
    check_refused(sim, sim_read(sim, 0, 255, 2), 3, "past the page");
    check_refused(sim, sim_read(sim, end, 0, 1), 4, "past the device");
    check_refused(sim, sim_erase(sim, BLOCKS), 5, "past the device");
    check_refused(sim, device->ops->block_is_bad(device, BLOCKS, &bad), 6,
                  "past the device");
    check_refused(sim, device->ops->block_mark_bad(device, BLOCKS), 7,
                  "past the device");
    ESK_CHECK_INT(esk_sim_op_count(sim), 0);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_bad_blocks_and_reports_them) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    const struct esk_device *device = esk_sim_device(sim);
    bool bad = true;
    ESK_CHECK_INT(device->ops->block_is_bad(device, 1, &bad), ESK_OK);
    ESK_CHECK(!bad);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, 1), ESK_OK);
    ESK_CHECK_INT(device->ops->block_is_bad(device, 1, &bad), ESK_OK);
    ESK_CHECK(bad);
    check_refused(sim, sim_program(sim, PAGES, 0, 64), 1, "bad block");
    check_refused(sim, sim_erase(sim, 1), 2, "bad block");
    ESK_CHECK_INT(sim_read(sim, PAGES, 0, 1), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_refuses_a_dirty_medium_before_an_erase) {
    struct esk_sim *sim =
        sim_new((struct esk_sim_config){.dirty = true, .seed = 3});
    check_refused(sim, sim_program(sim, 0, 0, 64), 1, "completed erase");
    ESK_CHECK_INT(sim_read(sim, 0, 0, PAGE), ESK_OK);
    memset(data, 0xFF, sizeof data);
    ESK_CHECK(memcmp(page_read, data, PAGE) != 0);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_draws_factory_bad_blocks_but_never_block_0) {
    for (uint64_t seed = 0; seed < 50; seed++) {
        ESK_CONTEXT("seed %u", (unsigned)seed);
        struct esk_sim *sim =
            sim_new((struct esk_sim_config){.bad_blocks = 3, .seed = seed});
        const struct esk_device *device = esk_sim_device(sim);
        unsigned count = 0;
        for (uint32_t block = 0; block < BLOCKS; block++) {
            bool bad;
            ESK_CHECK_INT(device->ops->block_is_bad(device, block, &bad),
                          ESK_OK);
            ESK_CHECK(block != 0 || !bad);
            count += bad;
        }
        ESK_CHECK_INT(count, 3);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_overwrites_where_the_medium_can) {
    struct esk_sim_config config = {.geometry = geometry};
    config.geometry.flags = ESK_MEDIUM_OVERWRITE;
    struct esk_sim *sim = sim_new(config);
    for (int i = 0; i < 5; i++) {
        ESK_CHECK_INT(sim_program(sim, 3, 0, 64), ESK_OK);
        memset(data, i, sizeof data);
        ESK_CHECK_INT(sim_program(sim, 1, 0, 64), ESK_OK);
        ESK_CHECK_INT(sim_read(sim, 1, 0, 64), ESK_OK);
        ESK_CHECK_BYTES(page_read, data, 64);
    }
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_keeps_bytes_over_an_erase_that_does_nothing) {
    struct esk_sim_config config = {.geometry = geometry, .erase_keeps = true};
    config.geometry.flags = ESK_MEDIUM_OVERWRITE;
    struct esk_sim *sim = sim_new(config);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    esk_sim_cut_at(sim, esk_sim_op_count(sim), ESK_SIM_CUT_SUBSET);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_E_IO);
    esk_sim_power_on(sim);
    ESK_CHECK_INT(sim_read(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_BYTES(page_read, data, 64);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_time_is_the_sum_of_its_operations) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){.timing = &timing});
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_INT(counters->program_time_ns, 20000 + 64);
    ESK_CHECK_INT(sim_program(sim, 1, 64, 128), ESK_OK); // sequential, 2 steps
    ESK_CHECK_INT(counters->program_time_ns, 20064 + 2 * 2000 + 128);
    ESK_CHECK_INT(sim_read(sim, 0, 0, 200), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 1, 0, 2), ESK_OK); // sequential
    ESK_CHECK_INT(sim_read(sim, 1, 0, 2), ESK_OK); // the same page is not
    ESK_CHECK_INT(counters->read_time_ns, 1000 + 100 + 100 + 1 + 1000 + 1);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(counters->erase_time_ns, 3000000);
    ESK_CHECK_INT(counters->time_ns, counters->read_time_ns +
                                         counters->program_time_ns +
                                         counters->erase_time_ns);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_counts_what_is_done_and_starts_again_on_reset) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    const struct esk_device *device = esk_sim_device(sim);
    const struct esk_sim_counters *counters = esk_sim_counters(sim);
    ESK_CHECK_INT(sim_program(sim, 0, 0, 64), ESK_OK);
    ESK_CHECK_INT(sim_program(sim, 1, 0, 128), ESK_OK);
    ESK_CHECK_INT(sim_read(sim, 0, 0, 10), ESK_OK);
    ESK_CHECK_INT(sim_erase(sim, 0), ESK_OK);
    ESK_CHECK_INT(device->ops->sync(device), ESK_OK);
    ESK_CHECK_INT(counters->programs, 2);
    ESK_CHECK_INT(counters->programs_sequential, 1);
    ESK_CHECK_INT(counters->reads, 1);
    ESK_CHECK_INT(counters->erases, 1);
    ESK_CHECK_INT(counters->syncs, 1);
    ESK_CHECK_INT(counters->bytes_programmed, 192);
    ESK_CHECK_INT(counters->bytes_read, 10);
    esk_sim_counters_reset(sim);
    ESK_CHECK_INT(counters->programs, 0);
    ESK_CHECK_INT(esk_sim_op_count(sim), 3);
    ESK_CHECK_INT(esk_sim_block_wear(sim, 0), 1);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_wear_leaves_bad_blocks_out) {
    struct esk_sim *sim = sim_new((struct esk_sim_config){0});
    const struct esk_device *device = esk_sim_device(sim);
    struct esk_sim_wear wear;
    for (int i = 0; i < 3; i++) {
        ESK_CHECK_INT(sim_erase(sim, 1), ESK_OK);
    }
    ESK_CHECK_INT(sim_erase(sim, 2), ESK_OK);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, 3), ESK_OK);
    esk_sim_wear(sim, 1, 3, &wear);
    ESK_CHECK_INT(wear.blocks, 2);
    ESK_CHECK_INT(wear.min, 1);
    ESK_CHECK_INT(wear.max, 3);
    ESK_CHECK_INT(wear.total, 4);
    ESK_CHECK_INT(wear.mean_milli, 2000);
    esk_sim_wear(sim, 3, 1, &wear);
    ESK_CHECK_INT(wear.blocks, 0);
    ESK_CHECK_INT(wear.min, 0);
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
