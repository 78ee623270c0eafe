// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The catalog on media that fail, and of damaged pages.
#include "test/harness/catalog_fixture.h"
#include "test/harness/forge.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

ESK_TEST(catalog_commit_works_around_failing_programs_and_erases) {
    for (uint32_t at = 0; at < 6; at++) {
        struct esk_sim_failure one = {.burst_start = at, .burst_length = 1};
        struct esk_sim_failures cases[] = {{.program = one}, {.erase = one}};
        for (int i = 0; i < 2; i++) {
            struct esk_fixture fixture;
            struct esk_table_info info;
            ESK_CONTEXT("operation %u, %s", at, i == 0 ? "program" : "erase");
            fixture_start(&fixture, &fixture_nor, NULL);
            esk_sim_failures_set(fixture.sim, &cases[i]);
            fixture_create(&fixture, &spec);
            ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
            fixture_mount(&fixture);
            ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(catalog_commit_that_cannot_be_written_leaves_the_old_catalog) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec other = named("other");
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    struct esk_sim_failures failures = {.program = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    ESK_CHECK(create(&fixture, &other) < 0);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "other", &info), ESK_NOT_FOUND);
    esk_sim_failures_set(fixture.sim, NULL);
    fixture_mount(&fixture);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "other", &info), ESK_NOT_FOUND);
    fixture_end(&fixture);
}

/// A chip without marks: an erase that fails ends the commit.
ESK_TEST(catalog_commit_fails_on_a_failing_erase_where_blocks_have_no_marks) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    struct esk_device_ops ops = *fixture.device->ops;
    struct esk_device plain = *fixture.device;
    ops.block_is_bad = NULL;
    ops.block_mark_bad = NULL;
    plain.ops = &ops;
    struct esk_volume_config config = {.tables_max = 2, .overwrite = true};
    ESK_CHECK_INT(esk_volume_format(&plain, &config, TEST_SCRATCH), ESK_OK);
    fixture.device = &plain;
    fixture_mount(&fixture);
    struct esk_sim_failures failures = {.erase = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    ESK_CHECK_INT(create(&fixture, &spec), ESK_E_IO);
    fixture_end(&fixture);
}

ESK_TEST(catalog_page_lost_in_one_half_is_read_from_the_other) {
    for (uint8_t half = 0; half < 2; half++) {
        struct esk_fixture fixture;
        struct esk_table_info info;
        struct esk_column_info column;
        esk_page_id id = 0;
        ESK_CONTEXT("half %u", half);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        struct esk_volume_report report;
        ESK_CHECK_INT(esk_half_page(&fixture.volume, half, 0, &id), ESK_OK);
        ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_OK);
        ESK_CHECK_INT(report.pages_single, 0);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, id, 999), ESK_OK);
        fixture_mount(&fixture);
        ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_OK);
        ESK_CHECK_INT(report.pages_single, 1);
        ESK_CHECK_INT(report.pages, fixture.volume.catalog_pages);
        ESK_CHECK_INT(report.halves_lost, 0);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        ESK_CHECK_INT(column_of(&fixture, &info, 4, &column), ESK_OK);
        /* A commit repairs it. */
        static const uint8_t tail[ESK_OPTION_TAIL_BYTES] = {1, 5, 0, 0, 0, 6};
        ESK_CHECK_INT(esk_catalog_patch(&fixture.volume, info.id,
                                        ESK_OPTION_TAIL, tail, sizeof tail,
                                        fixture.page),
                      ESK_OK);
        fixture_mount(&fixture);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        struct esk_series_options options;
        ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
        ESK_CHECK_INT(options.tail, 5);
        ESK_CHECK_INT(options.floor_key, 6);
        ESK_CHECK_INT(esk_catalog_patch(&fixture.volume, info.id,
                                        ESK_OPTION_TREE, tail, 2, fixture.page),
                      ESK_E_CORRUPT);
        fixture_end(&fixture);
    }
}

ESK_TEST(catalog_page_lost_in_both_halves_is_reported) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_index_spec index;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    for (uint8_t half = 0; half < 2; half++) {
        esk_page_id id = 0;
        ESK_CHECK_INT(esk_half_page(&fixture.volume, half, 0, &id), ESK_OK);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, id, 999), ESK_OK);
    }
    struct esk_volume_report report;
    ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.pages_lost, 1);
    ESK_CHECK_INT(report.halves_lost, 0);
    struct esk_series_spec other = named("other");
    ESK_CHECK_INT(column_of(&fixture, &info, 0, &column), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 0, &index, NULL, 0),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_E_CORRUPT);
    ESK_CHECK_INT(create(&fixture, &other), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_E_CORRUPT);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_E_IO);
    fixture_end(&fixture);
}

/* ------------------------------------------------ descriptors from a forger */

/// Offsets of the parts of the descriptor of "log".
enum {
    OPTIONS = ESK_DESCRIPTOR_NAME + 3,
    REGIONS = OPTIONS + 2 + 4 + 2 + ESK_OPTION_TAIL_BYTES,
    COLUMNS = REGIONS + 3 * ESK_CATALOG_REGION,
    GATE = COLUMNS + (9 + 4 + 4) + (9 + 2 + 2),
    INDEXES = GATE + (9 + 4) + (9 + 3) + (9 + 4),
};

ESK_TEST(catalog_reports_a_descriptor_whose_bytes_cannot_be) {
    static const struct {
        uint16_t at;
        uint8_t byte;
        int found, column, index;
    } cases[] = {
        {ESK_DESCRIPTOR_CODEC, 1, ESK_OK, ESK_OK, ESK_OK},
        {ESK_DESCRIPTOR_INCOMPATIBLE, 1, ESK_OK, ESK_OK, ESK_OK},
        {ESK_DESCRIPTOR_NAME_BYTES, 32, ESK_E_CORRUPT, ESK_OK, ESK_OK},
        {ESK_DESCRIPTOR_NAME_BYTES, 2, ESK_OK, ESK_E_UNSUPPORTED,
         ESK_E_UNSUPPORTED},
        {ESK_DESCRIPTOR_OPTIONS_BYTES + 1, 9, ESK_E_CORRUPT, ESK_OK, ESK_OK},
        {ESK_DESCRIPTOR_REGION_COUNT, 99, ESK_E_CORRUPT, ESK_OK, ESK_OK},
        {ESK_DESCRIPTOR_COLUMN_COUNT, 200, ESK_OK, ESK_OK, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_ROW_BYTES, 12, ESK_OK, ESK_E_CORRUPT, ESK_E_CORRUPT},
        {COLUMNS, 3, ESK_OK, ESK_E_CORRUPT, ESK_E_CORRUPT},
        {COLUMNS + ESK_CATALOG_COLUMN_TYPE, 99, ESK_OK, ESK_E_UNSUPPORTED,
         ESK_E_UNSUPPORTED},
        {COLUMNS + ESK_CATALOG_COLUMN_MODE, 1, ESK_OK, ESK_E_UNSUPPORTED,
         ESK_E_UNSUPPORTED},
        {COLUMNS + ESK_CATALOG_COLUMN_BYTES, 0, ESK_OK, ESK_E_CORRUPT,
         ESK_E_CORRUPT},
        {COLUMNS + ESK_CATALOG_COLUMN_BYTES, 3, ESK_OK, ESK_E_CORRUPT,
         ESK_E_CORRUPT},
        {COLUMNS + ESK_CATALOG_COLUMN_NAME_BYTES, 40, ESK_OK, ESK_E_CORRUPT,
         ESK_E_CORRUPT},
        {COLUMNS + ESK_CATALOG_COLUMN_UNIT_BYTES, 40, ESK_OK, ESK_E_CORRUPT,
         ESK_E_CORRUPT},
        {INDEXES + ESK_CATALOG_INDEX_KIND, 3, ESK_OK, ESK_OK,
         ESK_E_UNSUPPORTED},
        {INDEXES + ESK_CATALOG_INDEX_COLUMN, 77, ESK_OK, ESK_OK, ESK_E_CORRUPT},
        {INDEXES + ESK_CATALOG_INDEX_COLUMN, 3, ESK_OK, ESK_OK, ESK_E_CORRUPT},
        {INDEXES + ESK_CATALOG_INDEX_BITMAP_BITS, 9, ESK_OK, ESK_OK,
         ESK_E_CORRUPT},
        {INDEXES + ESK_CATALOG_INDEX_EDGE_COUNT, 16, ESK_OK, ESK_OK,
         ESK_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fixture fixture;
        struct esk_table_info info;
        struct esk_table_info forged;
        struct esk_column_info column;
        struct esk_index_spec index;
        uint8_t edges[63];
        ESK_CONTEXT("case %zu", i);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &spec);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        forge_descriptor(&fixture, cases[i].at, &cases[i].byte, 1);
        uint16_t cursor = 0;
        ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &forged),
                      cases[i].found);
        if (cases[i].found == ESK_OK) {
            info = forged;
        }
        int expected = cases[i].column;
        ESK_CHECK_INT(column_of(&fixture, &info, 2, &column), expected);
        ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 1, &index, edges,
                                       sizeof edges),
                      cases[i].index);
        fixture_end(&fixture);
    }
}

ESK_TEST(catalog_lists_a_table_of_a_newer_version_and_finds_those_behind) {
    static const struct {
        uint16_t at;
        uint8_t byte;
    } cases[] = {
        {ESK_DESCRIPTOR_KIND, 77},
        {ESK_DESCRIPTOR_CODEC, 1},
        {ESK_DESCRIPTOR_INCOMPATIBLE, 1},
        {ESK_DESCRIPTOR_COLUMN_COUNT, 255},
        {OPTIONS, 77},
        {REGIONS, 9},
        {COLUMNS + ESK_CATALOG_COLUMN_TYPE, 99},
        {INDEXES + ESK_CATALOG_INDEX_KIND, 9},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fixture fixture;
        struct esk_table_info info;
        struct esk_table_info found;
        struct esk_series_spec behind = named("behind");
        struct esk_series_spec third = named("third");
        ESK_CONTEXT("case %zu", i);
        fixture_start(&fixture, &fixture_nor,
                      &(struct esk_volume_config){.tables_max = 3});
        fixture_create(&fixture, &spec);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        ESK_CHECK_INT(create(&fixture, &behind), ESK_OK);
        forge_descriptor(&fixture, cases[i].at, &cases[i].byte, 1);
        ESK_CHECK_INT(find(&fixture, "behind", &found), ESK_OK);
        ESK_CHECK_INT(find(&fixture, "log", &found), ESK_OK);
        ESK_CHECK_INT(found.id, info.id);
        /* Tables before and after it do not depend on its kind: its blocks are
           its own, and it can be dropped. */
        ESK_CHECK_INT(create(&fixture, &third), ESK_OK);
        ESK_CHECK_INT(find(&fixture, "third", &found), ESK_OK);
        ESK_CHECK_INT(found.block[0], info.block[0] + 18);
        ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
        ESK_CHECK_INT(find(&fixture, "log", &found), ESK_NOT_FOUND);
        ESK_CHECK_INT(find(&fixture, "behind", &found), ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(catalog_descriptor_that_is_lost_hides_no_other) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec behind = named("behind");
    uint16_t cursor = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(create(&fixture, &behind), ESK_OK);
    for (uint8_t half = 0; half < 2; half++) {
        esk_page_id id = 0;
        ESK_CHECK_INT(esk_half_page(&fixture.volume, half, 0, &id), ESK_OK);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, id, 999), ESK_OK);
    }
    ESK_CHECK_INT(find(&fixture, "behind", &info), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info), ESK_OK);
    ESK_CHECK_TEXT(info.name, "behind");
    ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info), ESK_END);
    fixture_end(&fixture);
}

ESK_TEST(catalog_descriptor_cut_off_at_its_last_page_is_corrupt) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_column_info column;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    info.descriptor_pages = 0;
    ESK_CHECK_INT(column_of(&fixture, &info, 0, &column), ESK_E_CORRUPT);
    fixture_end(&fixture);
}

/// Fills a table, drops it and makes it again.
static void made_again(const struct esk_geometry *medium) {
    struct esk_fixture fixture;
    struct esk_series_stats stats;
    uint8_t row[30] = {0};
    uint32_t count = 9;
    fixture_start(&fixture, medium, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t i = 0; i < 100; i++) {
        esk_store_u64(row + 4, i);
        ESK_CHECK_INT(esk_series_append_var(fixture.series, row, row, 20),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
    ESK_CHECK_INT(count, 0);
    ESK_CHECK_INT(esk_series_newest(fixture.series, row), ESK_NOT_FOUND);
    esk_series_stats(fixture.series, &stats);
    ESK_CHECK_INT(stats.newest_unread, 0);
    fixture_end(&fixture);
}

ESK_TEST(catalog_table_made_after_a_drop_sees_no_old_row) {
    made_again(&fixture_nor);
    made_again(&fixture_sd);
}

ESK_TEST(catalog_calls_report_any_page_that_cannot_be_read) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec other = named("other");
    static const struct esk_geometry small = ESK_NOR(128, 8, 128);
    bool failed = true;
    fixture_start(&fixture, &small,
                  NULL); /* descriptors of more than one page */
    fixture_create(&fixture, &spec);
    for (uint32_t read = 1; failed; read++) {
        struct esk_index_spec index;
        uint8_t edges[3];
        ESK_CONTEXT("read %u fails", read);
        reads_failed = 0;
        read_fails = read;
        read_fails_more = 3; /* of each half, twice */
        int status = create(&fixture, &other);
        failed = reads_failed > 0;
        read_fails = read;
        read_fails_more = 3;
        int found = find(&fixture, "log", &info);
        read_fails = 0;
        read_fails_more = 0;
        ESK_CHECK(found == ESK_OK || found == ESK_E_IO);
        ESK_CHECK(found != ESK_OK ||
                  esk_volume_index(&fixture.volume, &info, 1, &index, edges,
                                   3) == ESK_OK);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        read_fails = read;
        found = esk_volume_index(&fixture.volume, &info, 1, &index, edges, 3);
        ESK_CHECK(found == ESK_OK || found == ESK_E_IO);
        read_fails = 0;
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                  status == ESK_E_CORRUPT);
        fixture_mount(&fixture);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        found = find(&fixture, "other", &info);
        ESK_CHECK_INT(found, status == ESK_OK ? ESK_OK : ESK_NOT_FOUND);
        if (found == ESK_OK) {
            ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "other"), ESK_OK);
        }
    }
    fixture_end(&fixture);
}

ESK_TEST(volume_check_reports_a_lost_half_and_a_bus_that_is_down) {
    struct esk_fixture fixture;
    struct esk_volume_report report;
    esk_page_id id = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(esk_half_page(&fixture.volume, 1,
                                (uint16_t)(fixture.volume.half_pages - 1u),
                                &id),
                  ESK_OK);
    ESK_CHECK_INT(esk_sim_flip(fixture.sim, id, 200), ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_OK);
    ESK_CHECK_INT(report.halves_lost, 1);
    ESK_CHECK_INT(report.pages_single, report.pages);
    ESK_CHECK_INT(report.pages_lost, 0);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_E_IO);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
