// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/volume.h"

#include "flash/volume_format.h"
#include "test/harness/rig.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_I16},
};

static const struct esk_table_spec spec = {
    .name = "log", .columns = columns, .column_count = 2, .data_blocks = 4};

static int mount(struct esk_rig *rig) {
    return esk_volume_mount(&rig->volume, rig->device, 0, rig->page);
}

/// Bytes of `page` spoilt, as nothing but a forger could.
static void spoil(struct esk_rig *rig, esk_page_id page, uint16_t offset) {
    static const uint8_t zero[16] = {0};
    ESK_CHECK_INT(esk_sim_poke(rig->sim, page, offset, zero, sizeof zero),
                  ESK_OK);
}

static esk_page_id super_page(const struct esk_rig *rig, uint8_t half) {
    esk_page_id page = 0;
    ESK_CHECK_INT(esk_half_page(&rig->volume, half,
                                (uint16_t)(rig->volume.half_pages - 1u), &page),
                  ESK_OK);
    return page;
}

static bool has_table(struct esk_rig *rig, const char *name) {
    struct esk_table_info info;
    int status = esk_volume_find(&rig->volume, name, &info, rig->page);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    return status == ESK_OK;
}

ESK_TEST(volume_format_then_mount_gives_back_the_configuration) {
    static const struct esk_geometry *const media[] = {&rig_nor, &rig_nand,
                                                       &rig_sd};
    for (uint8_t i = 0; i < 3; i++) {
        struct esk_volume_config config = {
            .uuid = {1, 2, 3, 4}, .checksum = i, .tables_max = 3};
        struct esk_rig rig;
        ESK_CONTEXT("medium %u", i);
        rig_start(&rig, media[i], &config);
        ESK_CHECK_BYTES(rig.volume.uuid, config.uuid, 16);
        ESK_CHECK_INT(rig.volume.checksum, i);
        ESK_CHECK_INT(rig.volume.tables_max, 3);
        ESK_CHECK_INT(rig.volume.half_valid, 3);
        ESK_CHECK_INT(rig.volume.catalog_pages, 0);
        rig_end(&rig);
    }
}

ESK_TEST(volume_mount_reads_two_pages_and_a_search) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    esk_sim_counters_reset(rig.sim);
    rig_mount(&rig);
    ESK_CHECK(esk_sim_counters(rig.sim)->reads <= 2 + 8);
    ESK_CHECK_INT(esk_sim_counters(rig.sim)->programs, 0);
    rig_end(&rig);
}

ESK_TEST(volume_mount_finds_nothing_on_a_blank_or_foreign_medium) {
    for (int dirty = 0; dirty < 2; dirty++) {
        struct esk_sim_config config = {.geometry = rig_nor,
                                        .dirty = dirty == 1};
        struct esk_rig rig;
        memset(&rig, 0, sizeof rig);
        ESK_CHECK_INT(esk_sim_create(&rig.sim, &config), ESK_OK);
        rig.device = esk_sim_device(rig.sim);
        ESK_CHECK_INT(mount(&rig), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_sim_op_count(rig.sim), 0);
        esk_sim_power_off(rig.sim);
        ESK_CHECK_INT(mount(&rig), ESK_E_IO);
        rig_end(&rig);
    }
}

ESK_TEST(volume_format_refuses_what_it_cannot_store) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    struct esk_volume_config config = {.checksum = ESK_CHECKSUM_NONE + 1};
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page),
                  ESK_E_INVALID);
    config = (struct esk_volume_config){.tables_max = 255};
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page),
                  ESK_E_INVALID);
    config = (struct esk_volume_config){.tables_max = 77};
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page),
                  ESK_E_NO_SPACE);
    struct esk_device odd = *rig.device;
    odd.geometry.page_bytes = 100;
    ESK_CHECK_INT(esk_volume_format(&odd, &config, rig.page), ESK_E_GEOMETRY);
    ESK_CHECK_INT(esk_volume_mount(&rig.volume, &odd, 0, rig.page),
                  ESK_E_GEOMETRY);
    rig_end(&rig);
}

ESK_TEST(volume_format_works_around_bad_and_failing_blocks) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    uint32_t half = rig.volume.half_blocks;
    ESK_CHECK_INT(rig.device->ops->block_mark_bad(rig.device, 0), ESK_OK);
    esk_sim_block_fail(rig.sim, half);
    struct esk_volume_config config = {.tables_max = 2};
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page), ESK_OK);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.volume.half_valid, 3);
    rig_create(&rig, &spec);
    rig_mount(&rig);
    ESK_CHECK(has_table(&rig, "log"));
    rig_end(&rig);
}

ESK_TEST(volume_format_fails_when_a_half_has_too_few_good_blocks) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    for (uint32_t block = 0; block < 3; block++) {
        ESK_CHECK_INT(rig.device->ops->block_mark_bad(rig.device, block),
                      ESK_OK);
    }
    struct esk_volume_config config = {.tables_max = 2};
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page),
                  ESK_E_NO_SPACE);
    rig_end(&rig);
}

ESK_TEST(volume_format_tries_again_when_a_program_fails) {
    for (uint32_t at = 0; at < 2; at++) {
        struct esk_rig rig;
        ESK_CONTEXT("program %u fails", at);
        rig_start(&rig, &rig_nor, NULL);
        struct esk_sim_failures failures = {
            .program = {.burst_start = at, .burst_length = 1}};
        esk_sim_failures_set(rig.sim, &failures);
        struct esk_volume_config config = {.tables_max = 2};
        ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page), ESK_OK);
        rig_mount(&rig);
        ESK_CHECK_INT(rig.volume.half_valid, 3);
        rig_end(&rig);
    }
}

ESK_TEST(volume_format_reports_a_medium_that_never_programs) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    struct esk_sim_failures failures = {.program = {.every = 1}};
    esk_sim_failures_set(rig.sim, &failures);
    struct esk_volume_config config = {.tables_max = 2};
    int status = esk_volume_format(rig.device, &config, rig.page);
    ESK_CHECK(status == ESK_E_IO || status == ESK_E_NO_SPACE);
    rig_end(&rig);
}

ESK_TEST(volume_format_goes_on_counting_commits) {
    struct esk_rig rig;
    struct esk_volume_config config = {.tables_max = 2};
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &spec);
    uint32_t commit = rig.volume.commit;
    ESK_CHECK_INT(esk_volume_format(rig.device, &config, rig.page), ESK_OK);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.volume.commit, commit + 1);
    ESK_CHECK(!has_table(&rig, "log"));
    rig_end(&rig);
}

ESK_TEST(volume_mount_falls_back_on_the_twin_half) {
    for (uint8_t half = 0; half < 2; half++) {
        struct esk_rig rig;
        ESK_CONTEXT("half %u lost", half);
        rig_start(&rig, &rig_nor, NULL);
        rig_create(&rig, &spec);
        spoil(&rig, super_page(&rig, half), ESK_SUPER_SEED);
        rig_mount(&rig);
        ESK_CHECK_INT(rig.volume.half_valid, 2 >> half);
        ESK_CHECK(has_table(&rig, "log"));
        ESK_CHECK_INT(esk_volume_drop(&rig.volume, "log", rig.page), ESK_OK);
        ESK_CHECK_INT(rig.volume.half_valid, 3);
        rig_mount(&rig);
        ESK_CHECK_INT(rig.volume.half_valid, 3);
        ESK_CHECK(!has_table(&rig, "log"));
        rig_end(&rig);
    }
}

ESK_TEST(volume_with_both_superblocks_lost_is_corrupt_not_blank) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    esk_page_id twin = super_page(&rig, 1);
    spoil(&rig, super_page(&rig, 0), ESK_SUPER_SEED);
    spoil(&rig, twin, ESK_SUPER_SEED);
    ESK_CHECK_INT(mount(&rig), ESK_E_CORRUPT);
    rig_end(&rig);
}

ESK_TEST(volume_mount_takes_the_newer_half_and_both_when_equal) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &spec);
    /* A cut after the first half of the next commit was sealed. */
    struct esk_table_spec second = spec;
    second.name = "other";
    uint64_t op = esk_sim_op_count(rig.sim);
    for (uint64_t cut = 0;; cut++) {
        struct esk_sim *kept = NULL;
        ESK_CONTEXT("cut %u", (unsigned)cut);
        ESK_CHECK_INT(esk_sim_clone(&kept, rig.sim), ESK_OK);
        esk_sim_cut_at(rig.sim, op + cut, ESK_SIM_CUT_BEFORE);
        struct esk_volume volume = rig.volume;
        int status = esk_volume_create(&volume, ESK_TABLE_SERIES, &second, NULL,
                                       rig.page);
        bool on = esk_sim_is_on(rig.sim);
        esk_sim_power_on(rig.sim);
        rig_mount(&rig);
        ESK_CHECK(has_table(&rig, "log"));
        ESK_CHECK(status != ESK_OK || has_table(&rig, "other"));
        esk_sim_restore(rig.sim, kept);
        esk_sim_destroy(kept);
        rig_mount(&rig);
        if (on) {
            break;
        }
    }
    rig_end(&rig);
}

/// Writes `bytes` at `offset` of both superblocks and closes them again.
static void supers_forge(struct esk_rig *rig, uint16_t offset,
                         const void *bytes, uint16_t count) {
    esk_page_id ids[2] = {super_page(rig, 0), super_page(rig, 1)};
    struct esk_envelope envelope = esk_catalog_envelope(&rig->volume, 0);
    envelope.seed = 0;
    envelope.kind = ESK_PAGE_SUPERBLOCK;
    for (uint8_t half = 0; half < 2; half++) {
        ESK_CHECK_INT(esk_sim_peek(rig->sim, ids[half], rig->page), ESK_OK);
        memcpy(rig->page + offset, bytes, count);
        esk_envelope_close(&envelope, rig->page, esk_page_count(rig->page));
        ESK_CHECK_INT(esk_sim_poke(rig->sim, ids[half], 0, rig->page,
                                   envelope.page_bytes),
                      ESK_OK);
    }
}

ESK_TEST(volume_of_another_version_is_named_so) {
    struct esk_rig rig;
    const uint8_t version[] = {ESK_FORMAT_VERSION + 1, 0};
    rig_start(&rig, &rig_nor, NULL);
    supers_forge(&rig, ESK_SUPER_VERSION, version, 2);
    ESK_CHECK_INT(mount(&rig), ESK_E_VERSION);
    rig_end(&rig);
}

ESK_TEST(volume_of_another_geometry_or_with_odd_fields_is_named_so) {
    static const struct {
        uint16_t offset;
        uint8_t bytes[4];
        uint8_t count;
    } cases[] = {
        {ESK_SUPER_BLOCK_COUNT, {65}, 4},
        {ESK_SUPER_BLOCK_PAGES, {16}, 2},
        {ESK_SUPER_PAGE_BYTES, {0, 2}, 2},
        {ESK_SUPER_ERASED_VALUE, {0}, 1},
        {ESK_SUPER_HALF_BLOCKS, {0}, 4},
        {ESK_SUPER_HALF_BLOCKS, {33}, 4},
        {ESK_SUPER_HALF_PAGES, {0}, 2},
        {ESK_SUPER_HALF_PAGES, {0xFF, 0xFF}, 2},
        {ESK_SUPER_CATALOG_PAGES, {200}, 2},
        {ESK_SUPER_CHECKSUM, {3}, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_rig rig;
        ESK_CONTEXT("case %zu", i);
        rig_start(&rig, &rig_nor, NULL);
        supers_forge(&rig, cases[i].offset, cases[i].bytes, cases[i].count);
        ESK_CHECK_INT(mount(&rig), ESK_E_GEOMETRY);
        rig_end(&rig);
    }
}

ESK_TEST(volume_whose_halves_lie_elsewhere_than_its_superblock_is_corrupt) {
    struct esk_rig rig;
    const uint8_t pages[] = {3, 0};
    rig_start(&rig, &rig_nor, NULL);
    supers_forge(&rig, ESK_SUPER_HALF_PAGES, pages, 2);
    ESK_CHECK_INT(mount(&rig), ESK_E_CORRUPT);
    rig_end(&rig);
}

ESK_TEST(volume_mounts_on_a_host_file_of_other_spare_and_program_unit) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &spec);
    struct esk_device host = *rig.device;
    host.geometry.spare_bytes = 64;
    host.geometry.program_bytes = 256;
    ESK_CHECK_INT(esk_volume_mount(&rig.volume, &host, 0, rig.page), ESK_OK);
    ESK_CHECK(has_table(&rig, "log"));
    rig_end(&rig);
}

ESK_TEST(volume_mounted_read_only_programs_and_erases_nothing) {
    struct esk_rig rig;
    rig_start(&rig, &rig_nor, NULL);
    rig_create(&rig, &spec);
    rig.flags = ESK_MOUNT_READ_ONLY;
    rig_mount(&rig);
    uint64_t ops = esk_sim_op_count(rig.sim);
    struct esk_table_spec second = spec;
    second.name = "other";
    ESK_CHECK_INT(esk_volume_create(&rig.volume, ESK_TABLE_SERIES, &second,
                                    NULL, rig.page),
                  ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_volume_drop(&rig.volume, "log", rig.page),
                  ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 9, NULL), ESK_E_READ_ONLY);
    ESK_CHECK(has_table(&rig, "log"));
    ESK_CHECK_INT(esk_sim_op_count(rig.sim), ops);
    rig_end(&rig);
}

ESK_TEST(volume_step_erases_up_to_its_budget_across_open_tables) {
    struct esk_series_config config = {.erase_ahead = 2};
    struct esk_rig rig;
    uint16_t done = 99;
    rig_start(&rig, &rig_nor, NULL);
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 4, &done), ESK_OK);
    ESK_CHECK_INT(done, 0);
    rig_create(&rig, &spec);
    rig_open(&rig, "log", &config);
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 1, &done), ESK_OK);
    ESK_CHECK_INT(done, 1);
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 9, &done), ESK_OK);
    ESK_CHECK_INT(done, 2); /* of the data ring 2, of the index ring 1 */
    ESK_CHECK_INT(esk_volume_step(&rig.volume, 9, NULL), ESK_OK);
    esk_series_close(rig.series);
    esk_volume_unmount(&rig.volume);
    ESK_CHECK(rig.volume.device == NULL);
    rig_end(&rig);
}

ESK_TEST_MAIN()
