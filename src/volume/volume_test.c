// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "volume/volume.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume_format.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_I16},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = 6},
                                            .data_blocks = 4};

static int mount(struct esk_fixture *fixture) {
    return esk_volume_mount(&fixture->volume, fixture->device, 0, TEST_SCRATCH);
}

/// Damages bytes of `page` in a way that only a forger can.
static void spoil(struct esk_fixture *fixture, esk_page_id page,
                  uint16_t offset) {
    static const uint8_t zero[16] = {0};
    ESK_CHECK_INT(esk_sim_poke(fixture->sim, page, offset, zero, sizeof zero),
                  ESK_OK);
}

static esk_page_id super_page(struct esk_fixture *fixture, uint8_t half) {
    esk_page_id page = 0;
    ESK_CHECK_INT(esk_half_page(&fixture->volume, half,
                                (uint16_t)(fixture->volume.half_pages - 1u),
                                &page),
                  ESK_OK);
    return page;
}

static bool has_table(struct esk_fixture *fixture, const char *name) {
    struct esk_table_info info;
    int status = esk_volume_find(&fixture->volume, name, &info);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK;
}

ESK_TEST(volume_format_then_mount_gives_back_the_configuration) {
    static const struct esk_geometry *const media[] = {
        &fixture_nor, &fixture_nand, &fixture_sd};
    for (uint8_t i = 0; i < 3; i++) {
        struct esk_volume_config config = {
            .uuid = {1, 2, 3, 4}, .checksum = i, .tables_max = 3};
        struct esk_fixture fixture;
        ESK_CONTEXT("medium %u", i);
        fixture_start(&fixture, media[i], &config);
        ESK_CHECK_BYTES(fixture.volume.uuid, config.uuid, 16);
        ESK_CHECK_INT(fixture.volume.checksum, i);
        ESK_CHECK_INT(fixture.volume.tables_max, 3);
        ESK_CHECK_INT(fixture.volume.half_valid, 3);
        ESK_CHECK_INT(fixture.volume.catalog_pages, 0);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_mount_reads_two_pages_and_a_search) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    esk_sim_counters_reset(fixture.sim);
    fixture_mount(&fixture);
    ESK_CHECK(esk_sim_counters(fixture.sim)->reads <= 2 + 8);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->programs, 0);
    fixture_end(&fixture);
}

ESK_TEST(volume_mount_finds_nothing_on_a_blank_or_foreign_medium) {
    for (int dirty = 0; dirty < 2; dirty++) {
        struct esk_sim_config config = {.geometry = fixture_nor,
                                        .dirty = dirty == 1};
        struct esk_fixture fixture;
        memset(&fixture, 0, sizeof fixture);
        ESK_CHECK_INT(esk_sim_create(&fixture.sim, &config), ESK_OK);
        fixture.device = esk_sim_device(fixture.sim);
        ESK_CHECK_INT(mount(&fixture), dirty ? ESK_E_FOREIGN : ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_sim_op_count(fixture.sim), 0);
        esk_sim_power_off(fixture.sim);
        ESK_CHECK_INT(mount(&fixture), ESK_E_IO);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_format_refuses_what_it_cannot_store) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    struct esk_volume_config config = {.checksum = ESK_CHECKSUM_NONE + 1};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_E_INVALID);
    config = (struct esk_volume_config){.tables_max = 255};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_E_INVALID);
    config = (struct esk_volume_config){.tables_max = 77};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_E_NO_SPACE);
    struct esk_device odd = *fixture.device;
    odd.geometry.page_bytes = 100;
    ESK_CHECK_INT(esk_volume_format(&odd, &config, TEST_SCRATCH),
                  ESK_E_GEOMETRY);
    ESK_CHECK_INT(esk_volume_mount(&fixture.volume, &odd, 0, TEST_SCRATCH),
                  ESK_E_GEOMETRY);
    fixture_end(&fixture);
}

ESK_TEST(volume_format_works_around_bad_and_failing_blocks) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    uint32_t half = fixture.volume.half_blocks;
    ESK_CHECK_INT(fixture.device->ops->block_mark_bad(fixture.device, 0),
                  ESK_OK);
    esk_sim_block_fail(fixture.sim, half);
    struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.volume.half_valid, 3);
    fixture_create(&fixture, &spec);
    fixture_mount(&fixture);
    ESK_CHECK(has_table(&fixture, "log"));
    fixture_end(&fixture);
}

ESK_TEST(volume_format_fails_when_a_half_has_too_few_good_blocks) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (uint32_t block = 0; block < 3; block++) {
        ESK_CHECK_INT(
            fixture.device->ops->block_mark_bad(fixture.device, block), ESK_OK);
    }
    struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_E_NO_SPACE);
    fixture_end(&fixture);
}

ESK_TEST(volume_format_tries_again_when_a_program_fails) {
    for (uint32_t at = 0; at < 2; at++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("program %u fails", at);
        fixture_start(&fixture, &fixture_nor, NULL);
        struct esk_sim_failures failures = {
            .program = {.burst_start = at, .burst_length = 1}};
        esk_sim_failures_set(fixture.sim, &failures);
        struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
        ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                      ESK_OK);
        fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.volume.half_valid, 3);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_format_reports_a_medium_that_never_programs) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    struct esk_sim_failures failures = {.program = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
    int status = esk_volume_format(fixture.device, &config, TEST_SCRATCH);
    ESK_CHECK(status == ESK_E_IO || status == ESK_E_NO_SPACE);
    fixture_end(&fixture);
}

ESK_TEST(volume_format_goes_on_counting_commits) {
    struct esk_fixture fixture;
    struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    uint32_t commit = fixture.volume.commit;
    ESK_CHECK_INT(esk_volume_format(fixture.device, &config, TEST_SCRATCH),
                  ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.volume.commit, commit + 1);
    ESK_CHECK(!has_table(&fixture, "log"));
    fixture_end(&fixture);
}

ESK_TEST(volume_mount_uses_the_other_half_when_one_is_damaged) {
    for (uint8_t half = 0; half < 2; half++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("half %u lost", half);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        spoil(&fixture, super_page(&fixture, half), ESK_SUPER_SEED);
        fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.volume.half_valid, 2 >> half);
        ESK_CHECK(has_table(&fixture, "log"));
        ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
        ESK_CHECK_INT(fixture.volume.half_valid, 3);
        fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.volume.half_valid, 3);
        ESK_CHECK(!has_table(&fixture, "log"));
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_with_both_superblocks_lost_is_corrupt_not_blank) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    esk_page_id twin = super_page(&fixture, 1);
    spoil(&fixture, super_page(&fixture, 0), ESK_SUPER_SEED);
    spoil(&fixture, twin, ESK_SUPER_SEED);
    ESK_CHECK_INT(mount(&fixture), ESK_E_CORRUPT);
    fixture_end(&fixture);
}

ESK_TEST(volume_mount_takes_the_newer_half_and_both_when_equal) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    /* A cut after the first half of the next commit was sealed. */
    struct esk_series_spec second = spec;
    second.table.name = "other";
    uint64_t op = esk_sim_op_count(fixture.sim);
    for (uint64_t cut = 0;; cut++) {
        struct esk_sim *kept = NULL;
        ESK_CONTEXT("cut %u", (unsigned)cut);
        ESK_CHECK_INT(esk_sim_clone(&kept, fixture.sim), ESK_OK);
        esk_sim_cut_at(fixture.sim, op + cut, ESK_SIM_CUT_BEFORE);
        struct esk_volume volume = fixture.volume;
        int status = esk_series_create(&volume, &second, NULL);
        bool on = esk_sim_is_on(fixture.sim);
        esk_sim_power_on(fixture.sim);
        fixture_mount(&fixture);
        ESK_CHECK(has_table(&fixture, "log"));
        ESK_CHECK(status != ESK_OK || has_table(&fixture, "other"));
        esk_sim_restore(fixture.sim, kept);
        esk_sim_destroy(kept);
        fixture_mount(&fixture);
        if (on) {
            break;
        }
    }
    fixture_end(&fixture);
}

/// Writes `bytes` at `offset` of both superblocks and closes them again.
static void supers_forge(struct esk_fixture *fixture, uint16_t offset,
                         const void *bytes, uint16_t count) {
    forge_halves(fixture, ESK_PAGE_SUPERBLOCK,
                 (uint16_t)(fixture->volume.half_pages - 1u), offset, bytes,
                 count);
}

ESK_TEST(volume_of_another_version_is_named_so) {
    struct esk_fixture fixture;
    const uint8_t version[] = {ESK_FORMAT_VERSION + 1, 0};
    fixture_start(&fixture, &fixture_nor, NULL);
    supers_forge(&fixture, ESK_SUPER_VERSION, version, 2);
    ESK_CHECK_INT(mount(&fixture), ESK_E_VERSION);
    fixture_end(&fixture);
}

/// Fields of a superblock that no volume of the fixture's device has.
static const struct {
    uint16_t offset;
    uint8_t bytes[4];
    uint8_t count;
} odd_fields[] = {
    {ESK_SUPER_BLOCK_COUNT, {65}, 4},
    {ESK_SUPER_BLOCK_PAGES, {16}, 2},
    {ESK_SUPER_PAGE_BYTES, {0, 2}, 2},
    {ESK_SUPER_ERASED_VALUE, {0}, 1},
    {ESK_SUPER_HALF_BLOCKS, {0}, 4},
    {ESK_SUPER_HALF_BLOCKS, {33}, 4},
    {ESK_SUPER_HALF_PAGES, {0}, 2},
    {ESK_SUPER_HALF_PAGES, {0xFF, 0xFF}, 2},
    {ESK_SUPER_CATALOG_PAGES, {200}, 2},
};
enum { ODD_FIELDS = sizeof odd_fields / sizeof odd_fields[0] };

ESK_TEST(volume_of_another_geometry_or_with_odd_fields_is_named_so) {
    for (size_t i = 0; i < ODD_FIELDS; i++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("case %zu", i);
        fixture_start(&fixture, &fixture_nor, NULL);
        supers_forge(&fixture, odd_fields[i].offset, odd_fields[i].bytes,
                     odd_fields[i].count);
        ESK_CHECK_INT(mount(&fixture), ESK_E_GEOMETRY);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_is_mounted_beside_a_superblock_of_another_geometry) {
    for (size_t i = 0; i < 2 * ODD_FIELDS; i++) {
        struct esk_fixture fixture;
        uint8_t half = i % 2;
        ESK_CONTEXT("case %zu, half %u", i / 2, half);
        fixture_start(&fixture, &fixture_nor, NULL);
        ESK_CHECK_INT(esk_series_create(&fixture.volume, &spec, NULL), ESK_OK);
        uint32_t seed = fixture.volume.seed;
        forge_half(&fixture, half, ESK_PAGE_SUPERBLOCK,
                   (uint16_t)(fixture.volume.half_pages - 1u),
                   odd_fields[i / 2].offset, odd_fields[i / 2].bytes,
                   odd_fields[i / 2].count);
        ESK_CHECK_INT(mount(&fixture), ESK_OK);
        ESK_CHECK_INT(fixture.volume.half_valid, 2 - half);
        ESK_CHECK_INT(fixture.volume.seed, seed);
        ESK_CHECK(has_table(&fixture, "log"));
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_of_a_newer_version_is_mounted_as_far_as_it_allows) {
    static const struct {
        uint16_t offset;
        uint8_t byte;
        int written, read;
    } cases[] = {
        {ESK_SUPER_COMPATIBLE + 3, 0x80, ESK_OK, ESK_OK},
        {ESK_SUPER_READ_ONLY + 1, 1, ESK_E_READ_ONLY, ESK_OK},
        {ESK_SUPER_INCOMPATIBLE, 1, ESK_E_UNSUPPORTED, ESK_E_UNSUPPORTED},
        {ESK_SUPER_CHECKSUM, 3, ESK_E_UNSUPPORTED, ESK_E_UNSUPPORTED},
        {ESK_SUPER_EPOCH, 1, ESK_OK, ESK_OK},
        {ESK_SUPER_MEDIUM_FLAGS, 0x80, ESK_OK, ESK_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("case %zu", i);
        fixture_start(&fixture, &fixture_nor, NULL);
        supers_forge(&fixture, cases[i].offset, &cases[i].byte, 1);
        ESK_CHECK_INT(mount(&fixture), cases[i].written);
        ESK_CHECK_INT(esk_volume_mount(&fixture.volume, fixture.device,
                                       ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                      cases[i].read);
        if (cases[i].written == ESK_OK) {
            fixture_mount(&fixture);
            fixture_create(&fixture, &spec);
            fixture_mount(&fixture);
            ESK_CHECK(has_table(&fixture, "log"));
            /* A commit does not change a feature word that may be ignored. */
            ESK_CHECK_INT(fixture.volume.compatible_features,
                          i == 0 ? 0x80000000u : 0);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_survives_the_loss_of_either_end_of_the_device) {
    for (uint8_t end = 0; end < 2; end++) {
        struct esk_fixture fixture;
        struct esk_volume_report report;
        ESK_CONTEXT("end %u", end);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        uint32_t blocks = fixture.volume.half_blocks;
        uint32_t first =
            end == 0 ? 0 : fixture.device->geometry.block_count - blocks;
        for (uint32_t i = 0; i < blocks; i++) {
            ESK_CHECK_INT(fixture.device->ops->erase(fixture.device, first + i),
                          ESK_OK);
        }
        fixture_mount(&fixture);
        ESK_CHECK(has_table(&fixture, "log"));
        ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_OK);
        ESK_CHECK_INT(report.halves_lost, 1);
        /* A commit writes both again. */
        ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
        fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.volume.half_valid, 3);
        fixture_end(&fixture);
    }
}

ESK_TEST(volume_whose_halves_are_not_where_its_superblock_is_is_corrupt) {
    struct esk_fixture fixture;
    const uint8_t pages[] = {3, 0};
    fixture_start(&fixture, &fixture_nor, NULL);
    supers_forge(&fixture, ESK_SUPER_HALF_PAGES, pages, 2);
    ESK_CHECK_INT(mount(&fixture), ESK_E_CORRUPT);
    fixture_end(&fixture);
}

ESK_TEST(volume_mounts_on_a_host_file_of_other_spare_and_program_unit) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    struct esk_device host = *fixture.device;
    host.geometry.spare_bytes = 64;
    host.geometry.program_bytes = 256;
    ESK_CHECK_INT(esk_volume_mount(&fixture.volume, &host, 0, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK(has_table(&fixture, "log"));
    fixture_end(&fixture);
}

ESK_TEST(volume_mounted_read_only_programs_and_erases_nothing) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture.flags = ESK_MOUNT_READ_ONLY;
    fixture_mount(&fixture);
    uint64_t ops = esk_sim_op_count(fixture.sim);
    struct esk_series_spec second = spec;
    second.table.name = "other";
    ESK_CHECK_INT(esk_series_create(&fixture.volume, &second, NULL),
                  ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 9, NULL), ESK_E_READ_ONLY);
    ESK_CHECK(has_table(&fixture, "log"));
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), ops);
    fixture_end(&fixture);
}

ESK_TEST(volume_step_erases_up_to_its_budget_across_open_tables) {
    struct esk_series_config config = {.erase_ahead = 2};
    struct esk_fixture fixture;
    uint16_t done = 99;
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 4, &done), ESK_OK);
    ESK_CHECK_INT(done, 0);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", &config);
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 1, &done), ESK_OK);
    ESK_CHECK_INT(done, 1);
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 9, &done), ESK_OK);
    ESK_CHECK_INT(done, 2); /* of the data ring 2, of the index ring 1 */
    ESK_CHECK_INT(esk_volume_step(&fixture.volume, 9, NULL), ESK_OK);
    esk_series_close(fixture.series);
    esk_volume_unmount(&fixture.volume);
    ESK_CHECK(fixture.volume.device == NULL);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
