// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The parts of data/parts/parts.csv as simulators. Run from the root.
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

static struct esk_sim *sim_of_part(const char *part,
                                   struct esk_geometry geometry) {
    struct esk_sim_config config = {.part = part, .geometry = geometry};
    struct esk_sim *sim = NULL;
    ESK_CONTEXT("part %s", part);
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    return sim;
}

ESK_TEST(sim_part_table_is_the_csv_in_order) {
    char line[4096];
    FILE *file = fopen("data/parts/parts.csv", "r");
    ESK_CHECK(file != NULL);
    ESK_CHECK(fgets(line, sizeof line, file) != NULL);
    size_t index = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        const struct esk_sim_part *part = esk_sim_part_at(index);
        ESK_CHECK(part != NULL);
        line[strcspn(line, ",")] = 0;
        ESK_CHECK_TEXT(part->name, line);
        ESK_CHECK(esk_sim_part_find(line) == part);
        index++;
    }
    fclose(file);
    ESK_CHECK(esk_sim_part_at(index) == NULL);
    ESK_CHECK(index > 30);
    ESK_CHECK(esk_sim_part_find("no such part") == NULL);
}

ESK_TEST(sim_makes_every_part_at_its_full_size) {
    const struct esk_sim_part *part;
    for (size_t i = 0; (part = esk_sim_part_at(i)) != NULL; i++) {
        struct esk_sim *sim = sim_of_part(part->name, (struct esk_geometry){0});
        const struct esk_device *device = esk_sim_device(sim);
        const struct esk_geometry *geometry = &device->geometry;
        uint8_t page[16384];
        uint32_t last = geometry->block_count - 1;
        memset(page, 0x3C, sizeof page);
        ESK_CHECK_INT(device->ops->erase(device, last), ESK_OK);
        ESK_CHECK_INT(device->ops->program(device, last * geometry->block_pages,
                                           0, page, geometry->page_bytes),
                      ESK_OK);
        ESK_CHECK_INT(device->ops->read(device, last * geometry->block_pages, 0,
                                        page, geometry->page_bytes),
                      ESK_OK);
        ESK_CHECK_INT(page[geometry->page_bytes - 1], 0x3C);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_part_without_a_time_is_marked) {
    const struct esk_sim_part *part;
    for (size_t i = 0; (part = esk_sim_part_at(i)) != NULL; i++) {
        const struct esk_sim_timing *typical = &part->typical;
        ESK_CONTEXT("part %s", part->name);
        bool read = typical->read_ns != 0 || typical->read_byte_ps != 0;
        bool known = (part->unknown & ESK_SIM_UNKNOWN_READ) == 0;
        ESK_CHECK(read || !known);
        known = (part->unknown & ESK_SIM_UNKNOWN_PROGRAM) == 0;
        ESK_CHECK(typical->program_ns != 0 || typical->program_byte_ps != 0 ||
                  !known);
        known = (part->unknown & ESK_SIM_UNKNOWN_ERASE) == 0;
        ESK_CHECK(typical->erase_ns != 0 || !known ||
                  part->medium == ESK_SIM_EEPROM);
        ESK_CHECK(part->worst.program_ns >= typical->program_ns);
        ESK_CHECK(part->worst.erase_ns >= typical->erase_ns);
    }
}

/// Sums the time of programming and reading back `pages` pages of a part.
static void part_time(const char *name, uint32_t pages, uint64_t *read_us,
                      uint64_t *program_us) {
    struct esk_sim *sim = sim_of_part(name, (struct esk_geometry){0});
    const struct esk_device *device = esk_sim_device(sim);
    uint8_t page[16384] = {0};
    uint16_t bytes = device->geometry.page_bytes;
    for (uint32_t i = 0; i < pages; i++) {
        ESK_CHECK_INT(device->ops->program(device, i, 0, page, bytes), ESK_OK);
    }
    for (uint32_t i = 0; i < pages; i++) {
        ESK_CHECK_INT(device->ops->read(device, i, 0, page, bytes), ESK_OK);
    }
    *read_us = esk_sim_counters(sim)->read_time_ns / 1000;
    *program_us = esk_sim_counters(sim)->program_time_ns / 1000;
    esk_sim_destroy(sim);
}

ESK_TEST(sim_part_times_are_those_of_the_papers) {
    uint64_t read_us;
    uint64_t program_us;
    part_time("mutree_mlc", 10, &read_us, &program_us);
    ESK_CHECK_INT(read_us, 1656);
    ESK_CHECK_INT(program_us, 9058);
    part_time("mutree_slc", 10, &read_us, &program_us);
    ESK_CHECK_INT(read_us, 778);
    ESK_CHECK_INT(program_us, 2528);
    part_time("btree2022_sd_mega", 345, &read_us, &program_us);
    ESK_CHECK_INT((read_us + 500) / 1000, 1000);
    ESK_CHECK_INT((program_us + 500) / 1000, 1971); // 345 / 175 s
    // 483 KiB/s and 435 KiB/s of 512-byte pages, the first one random.
    part_time("embeddb_sd_samd21", 966, &read_us, &program_us);
    ESK_CHECK_INT((read_us + 500) / 1000, 1000);
    ESK_CHECK_INT((program_us + 500) / 1000, 1111);
}

ESK_TEST(sim_part_reads_at_the_speed_of_its_bus) {
    uint64_t read_us;
    uint64_t program_us;
    part_time("w25q128jv", 1, &read_us, &program_us); // 133 MHz
    ESK_CHECK_INT(read_us, 15);                       // 256 * 8 / 133
    ESK_CHECK_INT(program_us, 715);
    part_time("nrf52840", 1, &read_us, &program_us); // 128 words of 41 us
    ESK_CHECK_INT(program_us, 5248);
}

ESK_TEST(sim_part_takes_its_worst_times_when_asked) {
    struct esk_sim_config config = {.part = "w25q128jv", .worst_case = true};
    struct esk_sim *sim;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    ESK_CHECK_INT(device->ops->erase(device, 0), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(sim)->time_ns, 400000000);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_part_page_can_be_another_size) {
    static const struct {
        const char *part;
        struct esk_geometry wish;
        uint32_t block_count;
        uint16_t block_pages;
        uint16_t program_bytes;
    } cases[] = {
        {"w25q64jv", {.page_bytes = 512}, 2048, 8, 1},
        {"w25q64jv", {.page_bytes = 512, .block_count = 16}, 16, 8, 1},
        {"at45db161d", {.page_bytes = 512}, 4096, 1, 512},
        {"at45db161d", {.block_pages = 8}, 512, 8, 528},
        {"mutree_mlc", {.page_bytes = 2048}, 128, 256, 2048},
        {"nand256_a", {.programs_per_page_max = 3}, 2048, 32, 512},
        {"nrf52840", {.program_bytes = 8, .spare_bytes = 4}, 64, 8, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_sim *sim = sim_of_part(cases[i].part, cases[i].wish);
        const struct esk_geometry *geometry = &esk_sim_device(sim)->geometry;
        ESK_CHECK_INT(geometry->block_count, cases[i].block_count);
        ESK_CHECK_INT(geometry->block_pages, cases[i].block_pages);
        ESK_CHECK_INT(geometry->program_bytes, cases[i].program_bytes);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_part_takes_flags_and_erased_value_wished_for) {
    struct esk_sim *sim = sim_of_part(
        "w25q64jv", (struct esk_geometry){.block_count = 4,
                                          .erased_value = 0x01,
                                          .flags = ESK_MEDIUM_OVERWRITE});
    const struct esk_geometry *geometry = &esk_sim_device(sim)->geometry;
    ESK_CHECK_INT(geometry->erased_value, 0x01);
    ESK_CHECK_INT(geometry->flags, ESK_MEDIUM_OVERWRITE);
    esk_sim_destroy(sim);
}

ESK_TEST(sim_part_draws_no_more_bad_blocks_than_its_maximum) {
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct esk_sim_config config = {.part = "w25n01gv",
                                        .bad_blocks = ESK_SIM_BAD_BLOCKS_DRAWN,
                                        .seed = seed};
        struct esk_sim *sim;
        struct esk_sim_wear wear;
        ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
        esk_sim_wear(sim, 0, 1024, &wear);
        ESK_CHECK(wear.blocks >= 1004 && wear.blocks <= 1024);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(sim_refuses_a_part_or_geometry_that_is_none) {
    struct esk_sim *sim;
    struct esk_sim_config config = {.part = "w25q"};
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_NOT_FOUND);
    config.part = NULL;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_E_GEOMETRY);
    config.geometry = esk_sim_part_at(0)->geometry;
    config.bad_blocks = ESK_SIM_BAD_BLOCKS_DRAWN; // no part, so none
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    esk_sim_destroy(sim);
    esk_sim_destroy(NULL);
}

ESK_TEST_MAIN()
