// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "volume/volume.h"

#include "esker/series.h"
#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "volume/volume_format.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 1,
                                                      .row_bytes = 4},
                                            .data_blocks = 4};

static const struct esk_volume_config config = {.uuid = {1, 2, 3},
                                                .tables_max = 2};

static int boot(struct esk_volume *volume, const struct esk_device *device) {
    return esk_volume_mount_or_format(volume, device, 0, &config, TEST_SCRATCH);
}

ESK_TEST(volume_is_formatted_once_and_mounted_at_each_later_boot) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    fixture_start(&fixture, &fixture_nor, &config);
    for (uint32_t i = 0; i < fixture_nor.block_count; i++) {
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, i), ESK_OK);
    }
    ESK_CHECK_INT(boot(&fixture.volume, fixture.device), ESK_OK);
    ESK_CHECK_INT(fixture.volume.half_valid, 3);
    ESK_CHECK_INT(esk_series_create(&fixture.volume, &spec, NULL), ESK_OK);
    for (int i = 0; i < 3; i++) {
        uint64_t operations = esk_sim_op_count(fixture.sim);
        ESK_CHECK_INT(boot(&fixture.volume, fixture.device), ESK_OK);
        ESK_CHECK_INT(esk_sim_op_count(fixture.sim), operations);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    }
    fixture_end(&fixture);
}

ESK_TEST(volume_is_not_made_on_a_medium_that_holds_something_else) {
    static const struct {
        esk_page_id page;
        uint16_t offset;
    } cases[] = {
        {0, 0},   {0, 255},  {7, 0},    {7, 100},  {511, 0},
        {504, 3}, {15, 200}, {256, 17}, {503, 44},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_sim_config medium = {.geometry = fixture_nor};
        struct esk_sim *sim = NULL;
        struct esk_volume volume;
        const uint8_t byte = 0x5A;
        ESK_CONTEXT("page %u, offset %u", (unsigned)cases[i].page,
                    cases[i].offset);
        ESK_CHECK_INT(esk_sim_create(&sim, &medium), ESK_OK);
        const struct esk_device *device = esk_sim_device(sim);
        ESK_CHECK_INT(
            esk_sim_poke(sim, cases[i].page, cases[i].offset, &byte, 1),
            ESK_OK);
        uint64_t operations = esk_sim_op_count(sim);
        ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH),
                      ESK_E_FOREIGN);
        ESK_CHECK_INT(boot(&volume, device), ESK_E_FOREIGN);
        ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH),
                      ESK_E_FOREIGN);
        ESK_CHECK_INT(esk_sim_op_count(sim), operations);
        struct esk_volume_config over = config;
        over.overwrite = true;
        ESK_CHECK_INT(
            esk_volume_mount_or_format(&volume, device, 0, &over, TEST_SCRATCH),
            ESK_E_FOREIGN);
        ESK_CHECK_INT(esk_sim_op_count(sim), operations);
        ESK_CHECK_INT(esk_volume_format(device, &over, TEST_SCRATCH), ESK_OK);
        ESK_CHECK_INT(boot(&volume, device), ESK_OK);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(volume_is_not_made_where_a_page_that_it_erases_has_data) {
    static const esk_page_id pages[] = {1, 3, 6, 505, 508, 510};
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        struct esk_sim_config medium = {.geometry = fixture_nor};
        struct esk_sim *sim = NULL;
        struct esk_volume volume;
        const uint8_t byte = 0x5A;
        ESK_CONTEXT("page %u", (unsigned)pages[i]);
        ESK_CHECK_INT(esk_sim_create(&sim, &medium), ESK_OK);
        const struct esk_device *device = esk_sim_device(sim);
        ESK_CHECK_INT(esk_sim_poke(sim, pages[i], 100, &byte, 1), ESK_OK);
        uint64_t operations = esk_sim_op_count(sim);
        ESK_CHECK_INT(boot(&volume, device), ESK_E_FOREIGN);
        ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH),
                      ESK_E_FOREIGN);
        ESK_CHECK_INT(esk_sim_op_count(sim), operations);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(volume_is_mounted_with_no_unknown_flag) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (uint32_t flags = 8; flags < 256; flags *= 2) {
        ESK_CHECK_INT(esk_volume_mount(&fixture.volume, fixture.device,
                                       (uint8_t)flags, TEST_SCRATCH),
                      ESK_E_INVALID);
    }
    fixture_end(&fixture);
}

ESK_TEST(volume_is_not_formatted_over_another_without_overwrite) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, &config);
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_E_FOREIGN);
    /* Both superblocks are lost, but the table's pages prevent a format. */
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    const uint8_t row[4] = {1};
    ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    for (uint32_t i = 0; i < fixture.volume.half_blocks; i++) {
        uint32_t last = fixture_nor.block_count - 1 - i;
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, i), ESK_OK);
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, last), ESK_OK);
    }
    struct esk_volume volume;
    ESK_CHECK_INT(boot(&volume, fixture.device), ESK_E_FOREIGN);
    fixture_end(&fixture);
}

/// Media whose first format is cut.
static const struct {
    struct esk_geometry geometry;
    uint16_t cache_programs;
} media[] = {
    {ESK_NOR(24, 8, 256), 0},  {ESK_NOR(60, 1, 128), 0},
    {ESK_NAND(24, 4, 512), 0}, {ESK_CARD(24, 4, 512), 0},
    {ESK_CARD(24, 4, 512), 2}, {ESK_CARD(24, 4, 512), 24},
    {ESK_NOR(200, 4, 128), 0},
};

/// A boot of a blank medium with a cut at operation `op`; then one with a cut
/// at operation `again`; then one without.
static void boot_cut(size_t at, uint64_t op, uint64_t again,
                     enum esk_sim_cut_mode mode) {
    struct esk_sim_config medium = {
        .geometry = media[at].geometry,
        .seed = op * 64 + again,
        .cache_programs = media[at].cache_programs,
        .erase_keeps = media[at].cache_programs == 2,
    };
    struct esk_volume_config small = {.uuid = {9}, .tables_max = 1};
    struct esk_sim *sim = NULL;
    struct esk_volume volume;
    ESK_CHECK_INT(esk_sim_create(&sim, &medium), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    esk_sim_cut_at(sim, op, mode);
    (void)esk_volume_mount_or_format(&volume, device, 0, &small, TEST_SCRATCH);
    esk_sim_power_off(sim);
    esk_sim_power_on(sim);
    /* If most of a superblock is there, it may be of another volume. */
    small.uuid[0] = mode == ESK_SIM_CUT_ALL_BUT_ONE ? (uint8_t)again : 9;
    esk_sim_cut_at(sim, esk_sim_op_count(sim) + again, mode);
    (void)esk_volume_mount_or_format(&volume, device, 0, &small, TEST_SCRATCH);
    esk_sim_power_off(sim);
    esk_sim_power_on(sim);
    esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE);
    ESK_CHECK_INT(
        esk_volume_mount_or_format(&volume, device, 0, &small, TEST_SCRATCH),
        ESK_OK);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    esk_sim_destroy(sim);
}

ESK_TEST(volume_whose_first_format_was_cut_is_formatted_by_the_next_boot) {
    for (size_t at = 0; at < sizeof media / sizeof media[0]; at++) {
        for (uint32_t mode = ESK_SIM_CUT_BEFORE; mode <= ESK_SIM_CUT_DRAWN;
             mode++) {
            for (uint64_t op = 0; op < 12; op++) {
                for (uint64_t again = 0; again < 12; again++) {
                    ESK_CONTEXT("medium %zu, mode %u, operations %u and %u", at,
                                (unsigned)mode, (unsigned)op, (unsigned)again);
                    boot_cut(at, op, again, (enum esk_sim_cut_mode)mode);
                }
            }
        }
    }
}

ESK_TEST(volume_with_an_open_table_is_not_unmounted_nor_the_table_dropped) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, &config);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_E_BUSY);
    ESK_CHECK_INT(esk_volume_unmount(&fixture.volume), ESK_E_BUSY);
    const uint8_t row[4] = {1};
    ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
    ESK_CHECK_INT(esk_volume_unmount(&fixture.volume), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(volume_left_over_under_another_is_not_mounted_again) {
    struct esk_fixture fixture;
    struct esk_volume_config large = {.uuid = {1}, .tables_max = 9};
    fixture_start(&fixture, &fixture_nor, &large);
    struct esk_volume_config small = {
        .uuid = {1}, .tables_max = 1, .overwrite = true};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &small, TEST_SCRATCH),
                  ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.volume.tables_max, 1);
    uint32_t commit = fixture.volume.commit;
    uint32_t blocks = fixture.volume.half_blocks;
    /* One half is lost: after it is the old volume's. */
    for (uint32_t i = 0; i < blocks; i++) {
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, i), ESK_OK);
    }
    fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.volume.tables_max, 1);
    ESK_CHECK_INT(fixture.volume.commit, commit);
    fixture_end(&fixture);
}

ESK_TEST(volume_on_a_bus_that_fails_is_not_formatted) {
    struct esk_fixture fixture;
    const uint8_t bytes[] = {0x78, 0xF0, 'E', 's'};
    fixture_start(&fixture, &fixture_nor, &config);
    for (uint32_t i = 0; i < fixture_nor.block_count; i++) {
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, i), ESK_OK);
    }
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, 7, 0, bytes, 2), ESK_OK);
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, 7, 16, bytes + 2, 2), ESK_OK);
    uint64_t operations = esk_sim_op_count(fixture.sim);
    bool failed = true;
    for (uint32_t read = 1; failed; read++) {
        ESK_CONTEXT("read %u", (unsigned)read);
        if (esk_sim_op_count(fixture.sim) != operations) {
            break;
        }
        fail_from(read, 3, READ_BROKEN);
        int status = boot(&fixture.volume, fixture.device);
        failed = fail_end();
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        ESK_CHECK(status == ESK_OK ||
                  esk_sim_op_count(fixture.sim) == operations);
    }
    fixture_end(&fixture);
}

ESK_TEST(volume_without_a_good_block_for_its_first_half_stays_foreign) {
    struct esk_fixture fixture;
    const uint8_t byte = 0x5A;
    fixture_start(&fixture, &fixture_nor, &config);
    for (uint32_t i = 0; i < fixture_nor.block_count; i++) {
        ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, i), ESK_OK);
    }
    for (uint32_t i = 0; i < 3; i++) {
        ESK_CHECK_INT(fixture.device->ops->block_mark_bad(fixture.device, i),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, 39, 9, &byte, 1), ESK_OK);
    ESK_CHECK_INT(boot(&fixture.volume, fixture.device), ESK_E_FOREIGN);
    fixture_end(&fixture);
}

ESK_TEST(catalog_blocks_are_those_that_no_table_gets) {
    static const struct esk_geometry *const kinds[] = {
        &fixture_nor, &fixture_nand, &fixture_sd};
    for (uint8_t i = 0; i < 6; i++) {
        struct esk_fixture fixture;
        const struct esk_geometry *at = kinds[i % 3];
        uint8_t tables = i < 3 ? 2 : 17;
        struct esk_volume_config wanted = {.tables_max = tables};
        ESK_CONTEXT("medium %u, %u tables", i % 3u, tables);
        fixture_start(&fixture, at, &wanted);
        bool marks = fixture.device->ops->block_is_bad != NULL;
        uint32_t catalog = ESK_VOLUME_CATALOG_BLOCKS(
            at->page_bytes, at->block_pages, tables, marks ? 2u : 0u);
        struct esk_tree_spec map = {
            .table = spec.table,
            .store = ESK_STORE_WANDERING,
            .blocks = at->block_count - catalog + 1,
        };
        ESK_CHECK_INT(esk_tree_create(&fixture.volume, &map, NULL),
                      ESK_E_NO_SPACE);
        map.blocks--;
        ESK_CHECK_INT(esk_tree_create(&fixture.volume, &map, NULL), ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_on_a_device_of_another_size_is_named_so) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, &config);
    struct esk_device other = *fixture.device;
    other.geometry.block_count /= 2;
    ESK_CHECK_INT(boot(&fixture.volume, &other), ESK_E_GEOMETRY);
    other.geometry.block_count *= 4; /* reads fail after the device's end */
    ESK_CHECK_INT(boot(&fixture.volume, &other), ESK_E_GEOMETRY);
    esk_sim_destroy(fixture.sim);
}

ESK_TEST_MAIN()
