// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Rows by key: append, sync, get, floor, ceiling, count, erase_before.
#include "table/series/series.h"

#include "test/harness/fixture.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "value", .type = ESK_TYPE_I32},
};

static const struct esk_series_spec log_spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 2,
              .row_bytes = 8},
    .group_pages = 4,
    .run_pages = 4,
    .data_blocks = 8,
    .index_blocks = 4,
};

static const struct esk_geometry *const media[] = {&fixture_nor, &fixture_nand,
                                                   &fixture_sd};

enum { MEDIA = 3, ROW_BYTES = 8 };

static void start(struct esk_fixture *fixture,
                  const struct esk_geometry *geometry,
                  const struct esk_series_spec *spec) {
    fixture_start(fixture, geometry, NULL);
    fixture_create(fixture, spec);
    fixture_open(fixture, spec->table.name, NULL);
}

static int append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[ROW_BYTES];
    esk_store_u32(row, key);
    esk_store_u32(row + 4, key * 7);
    return esk_series_append(fixture->series, row);
}

static void append_range(struct esk_fixture *fixture, uint32_t from,
                         uint32_t to, uint32_t step) {
    for (uint32_t key = from; key <= to; key += step) {
        ESK_CHECK_INT(append(fixture, key), ESK_OK);
    }
}

typedef int find_call(struct esk_series *series, esk_key key, void *row);

/// Result of `find` for `key`: the key that it found, or -status.
static int64_t found(struct esk_fixture *fixture, find_call *find,
                     esk_key key) {
    uint8_t row[ROW_BYTES];
    memset(row, 0xEE, sizeof row);
    int status = find(fixture->series, key, row);
    if (status != ESK_OK) {
        ESK_CHECK_INT(row[0], 0xEE);
        return -1000 - status;
    }
    ESK_CHECK_INT(esk_load_u32(row + 4), esk_load_u32(row) * 7);
    return esk_load_u32(row);
}

enum { NONE = -1000 - ESK_NOT_FOUND };

static uint32_t count(struct esk_fixture *fixture) {
    uint32_t rows = 0;
    ESK_CHECK_INT(esk_series_count(fixture->series, &rows), ESK_OK);
    return rows;
}

static uint32_t newest(struct esk_fixture *fixture) {
    uint8_t row[ROW_BYTES];
    esk_key key = 0;
    ESK_CHECK_INT(esk_series_newest(fixture->series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_newest_key(fixture->series, &key), ESK_OK);
    ESK_CHECK_INT(key, esk_load_u32(row));
    return esk_load_u32(row);
}

static uint32_t oldest(struct esk_fixture *fixture) {
    uint8_t row[ROW_BYTES];
    ESK_CHECK_INT(esk_series_oldest(fixture->series, row), ESK_OK);
    return esk_load_u32(row);
}

static struct esk_series_stats stats(struct esk_fixture *fixture) {
    struct esk_series_stats now;
    esk_series_stats(fixture->series, &now);
    return now;
}

ESK_TEST(series_that_is_empty_finds_nothing) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        esk_key key = 7;
        uint8_t row[ROW_BYTES];
        ESK_CONTEXT("medium %d", m);
        start(&fixture, media[m], &log_spec);
        for (int reboots = 0; reboots < 2; reboots++) {
            ESK_CHECK_INT(found(&fixture, esk_series_get, 5), NONE);
            ESK_CHECK_INT(found(&fixture, esk_series_floor, 5), NONE);
            ESK_CHECK_INT(found(&fixture, esk_series_ceiling, 5), NONE);
            ESK_CHECK_INT(esk_series_newest(fixture.series, row),
                          ESK_NOT_FOUND);
            ESK_CHECK_INT(esk_series_newest_key(fixture.series, &key),
                          ESK_NOT_FOUND);
            ESK_CHECK_INT(key, 7);
            ESK_CHECK_INT(esk_series_oldest(fixture.series, row),
                          ESK_NOT_FOUND);
            ESK_CHECK_INT(count(&fixture), 0);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(series_finds_rows_in_ram_and_on_the_medium_by_every_key) {
    for (int m = 0; m < MEDIA; m++) {
        for (uint32_t rows = 1; rows <= 400; rows += 57) {
            struct esk_fixture fixture;
            start(&fixture, media[m], &log_spec);
            append_range(&fixture, 10, 10 * rows, 10);
            ESK_CHECK_INT(count(&fixture), rows);
            ESK_CHECK_INT(newest(&fixture), 10 * rows);
            ESK_CHECK_INT(oldest(&fixture), 10);
            for (uint32_t key = 0; key <= 10 * rows + 10; key += 5) {
                int64_t below = key / 10 * 10;
                int64_t above = (key + 9) / 10 * 10;
                ESK_CONTEXT("medium %d, %u rows, key %u", m, rows, key);
                below = below > 10 * rows ? 10 * rows : below;
                above = above < 10 ? 10 : above;
                ESK_CHECK_INT(found(&fixture, esk_series_get, key),
                              key % 10 == 0 && key >= 10 && key <= 10 * rows
                                  ? (int64_t)key
                                  : NONE);
                ESK_CHECK_INT(found(&fixture, esk_series_floor, key),
                              below >= 10 ? below : NONE);
                ESK_CHECK_INT(found(&fixture, esk_series_ceiling, key),
                              above <= 10 * rows ? above : NONE);
            }
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(series_refuses_a_key_that_is_not_above_the_newest) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 5, 5, 1);
    ESK_CHECK_INT(append(&fixture, 5), ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(append(&fixture, 4), ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_reboot(&fixture);
    ESK_CHECK_INT(append(&fixture, 5), ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(append(&fixture, 6), ESK_OK);
    ESK_CHECK_INT(count(&fixture), 2);
    fixture_end(&fixture);
}

ESK_TEST(series_keeps_synced_rows_over_a_reboot_and_no_others) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("medium %d", m);
        start(&fixture, media[m], &log_spec);
        append_range(&fixture, 1, 200, 1);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        append_range(&fixture, 201, 203, 1);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(count(&fixture), 200);
        ESK_CHECK_INT(newest(&fixture), 200);
        append_range(&fixture, 201, 300, 1);
        ESK_CHECK_INT(count(&fixture), 300);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_sync_costs_no_page_where_parts_of_pages_are_programmed) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    for (uint32_t key = 1; key <= 10; key++) {
        uint64_t before = esk_sim_counters(fixture.sim)->programs;
        append_range(&fixture, key, key, 1);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        ESK_CHECK_INT(esk_sim_counters(fixture.sim)->programs - before, 2);
        ESK_CHECK_INT(stats(&fixture).pages, 0);
    }
    uint64_t before = esk_sim_counters(fixture.sim)->programs;
    uint64_t syncs = esk_sim_counters(fixture.sim)->syncs;
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->programs - before, 0);
    ESK_CHECK_INT(esk_sim_counters(fixture.sim)->syncs - syncs, 0);
    fixture_end(&fixture);
}

ESK_TEST(series_sync_reports_a_device_that_cannot_sync) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nand, &log_spec);
    append_range(&fixture, 1, 3, 1);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK(esk_series_sync(fixture.series) < 0);
    ESK_CHECK_INT(found(&fixture, esk_series_get, 2), 2);
    fixture_end(&fixture);
}

ESK_TEST(series_drops_the_oldest_block_when_it_is_full) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("medium %d", m);
        start(&fixture, media[m], &log_spec);
        append_range(&fixture, 1, 20000, 1);
        uint32_t first = oldest(&fixture);
        ESK_CHECK(first > 10000);
        ESK_CHECK_INT(count(&fixture), 20001 - first);
        ESK_CHECK_INT(found(&fixture, esk_series_get, first), first);
        ESK_CHECK_INT(found(&fixture, esk_series_get, first - 1), NONE);
        ESK_CHECK_INT(found(&fixture, esk_series_floor, first - 1), NONE);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(oldest(&fixture), first);
        ESK_CHECK_INT(newest(&fixture), 20000);
        for (uint32_t key = first; key <= 20000; key += 97) {
            ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(series_that_refuses_keeps_everything_and_returns_full) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_series_spec spec = log_spec;
        struct esk_fixture fixture;
        uint32_t key = 1;
        ESK_CONTEXT("medium %d", m);
        spec.full_policy = ESK_FULL_REFUSE;
        start(&fixture, media[m], &spec);
        while (append(&fixture, key) == ESK_OK) {
            key++;
        }
        uint32_t rows = key - 1;
        uint32_t page_rows = (media[m]->page_bytes - 16u) / ROW_BYTES;
        ESK_CHECK_INT(rows, esk_ring_pages(&fixture.series->data) * page_rows);
        ESK_CHECK_INT(append(&fixture, key), ESK_FULL);
        ESK_CHECK_INT(count(&fixture), rows);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(count(&fixture), rows);
        ESK_CHECK_INT(append(&fixture, key), ESK_FULL);
        ESK_CHECK_INT(esk_series_erase_before(fixture.series, rows / 2),
                      ESK_OK);
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_append_many_returns_how_many_it_accepted) {
    struct esk_fixture fixture;
    uint8_t rows[5 * ROW_BYTES] = {0};
    uint32_t appended = 99;
    static const uint32_t keys[] = {3, 7, 9, 8, 20};
    for (int i = 0; i < 5; i++) {
        esk_store_u32(rows + i * ROW_BYTES, keys[i]);
    }
    start(&fixture, &fixture_nor, &log_spec);
    ESK_CHECK_INT(esk_series_append_many(fixture.series, rows, 5, &appended),
                  ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(appended, 3);
    ESK_CHECK_INT(
        esk_series_append_many(fixture.series, rows + 4 * ROW_BYTES, 1, NULL),
        ESK_OK);
    ESK_CHECK_INT(esk_series_append_many(fixture.series, rows, 0, &appended),
                  ESK_OK);
    ESK_CHECK_INT(appended, 0);
    ESK_CHECK_INT(count(&fixture), 4);
    fixture_end(&fixture);
}

ESK_TEST(series_row_bytes_is_the_rows_width) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    ESK_CHECK_INT(esk_series_row_bytes(fixture.series), ROW_BYTES);
    fixture_end(&fixture);
}

ESK_TEST(series_erase_before_drops_smaller_keys_for_good) {
    static const uint32_t floors[] = {0, 1, 2, 150, 389, 390, 391, 395, 399};
    for (int m = 0; m < MEDIA; m++) {
        for (int i = 0; i < 9; i++) {
            struct esk_fixture fixture;
            uint32_t key = floors[i];
            uint32_t first = key < 1 ? 1 : key;
            ESK_CONTEXT("medium %d, key %u", m, key);
            start(&fixture, media[m], &log_spec);
            append_range(&fixture, 1, 390, 1);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            append_range(&fixture, 391, 400, 1);
            ESK_CHECK_INT(esk_series_erase_before(fixture.series, key), ESK_OK);
            ESK_CHECK_INT(count(&fixture), 401 - first);
            ESK_CHECK_INT(oldest(&fixture), first);
            ESK_CHECK_INT(found(&fixture, esk_series_get, first), first);
            ESK_CHECK_INT(found(&fixture, esk_series_get, first - 1), NONE);
            ESK_CHECK_INT(found(&fixture, esk_series_floor, first - 1), NONE);
            ESK_CHECK_INT(found(&fixture, esk_series_ceiling, 0), first);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
            ESK_CHECK_INT(count(&fixture), 401 - first);
            ESK_CHECK_INT(oldest(&fixture), first);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(series_erase_before_everything_leaves_an_empty_table) {
    for (int m = 0; m < MEDIA; m++) {
        struct esk_fixture fixture;
        uint8_t row[ROW_BYTES];
        ESK_CONTEXT("medium %d", m);
        start(&fixture, media[m], &log_spec);
        append_range(&fixture, 1, 400, 1);
        ESK_CHECK_INT(esk_series_erase_before(fixture.series, 1000), ESK_OK);
        for (int reboots = 0; reboots < 2; reboots++) {
            ESK_CHECK_INT(count(&fixture), 0);
            ESK_CHECK_INT(esk_series_newest(fixture.series, row),
                          ESK_NOT_FOUND);
            ESK_CHECK_INT(esk_series_oldest(fixture.series, row),
                          ESK_NOT_FOUND);
            ESK_CHECK_INT(append(&fixture, 999), ESK_OUT_OF_ORDER);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
        append_range(&fixture, 1000, 1400, 1);
        ESK_CHECK_INT(count(&fixture), 401);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        ESK_CHECK_INT(count(&fixture), 401);
        ESK_CHECK_INT(oldest(&fixture), 1000);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_erase_before_a_smaller_floor_costs_nothing) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 100, 1);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 50), ESK_OK);
    uint64_t ops = esk_sim_op_count(fixture.sim);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 50), ESK_OK);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 7), ESK_OK);
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), ops);
    ESK_CHECK_INT(oldest(&fixture), 50);
    fixture_end(&fixture);
}

ESK_TEST(series_erase_before_that_fails_drops_nothing) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 100, 1);
    struct esk_sim_failures failures = {.program = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    ESK_CHECK(esk_series_erase_before(fixture.series, 50) < 0);
    ESK_CHECK_INT(count(&fixture), 100);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 50), ESK_E_IO);
    fixture_end(&fixture);
}

ESK_TEST(series_opened_read_only_reads_and_writes_nothing) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 100, 1);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture.flags = ESK_MOUNT_READ_ONLY;
    fixture_reboot(&fixture);
    uint64_t ops = esk_sim_op_count(fixture.sim);
    ESK_CHECK_INT(append(&fixture, 101), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, 9), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(found(&fixture, esk_series_get, 77), 77);
    ESK_CHECK_INT(count(&fixture), 100);
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), ops);
    fixture_end(&fixture);
}

ESK_TEST(series_trusts_loads_when_the_mount_says_so) {
    for (int trust = 0; trust < 2; trust++) {
        struct esk_fixture fixture;
        start(&fixture, &fixture_nor, &log_spec);
        append_range(&fixture, 1, 1000, 1);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture.flags = trust == 1 ? ESK_MOUNT_TRUST_LOADS : 0;
        fixture_reboot(&fixture);
        /* A bit of the free space behind the page's last row. */
        esk_page_id page = esk_ring_page(&fixture.series->data, 5);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, page, 255 * 8), ESK_OK);
        uint32_t key = 5 * 30 + 10;
        ESK_CHECK_INT(found(&fixture, esk_series_get, key),
                      trust == 1 ? (int64_t)key : -1000 - ESK_E_CORRUPT);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_get_returns_corrupt_only_where_rows_are_missing) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 2, 2000, 2);
    /* 30 rows a page: page 7 has the keys 422 to 480. */
    ESK_CHECK_INT(
        esk_sim_flip(fixture.sim, esk_ring_page(&fixture.series->data, 7), 200),
        ESK_OK);
    for (uint32_t key = 0; key <= 2001; key++) {
        bool lost = key > 420 && key < 482;
        ESK_CONTEXT("key %u", key);
        if (lost) {
            ESK_CHECK_INT(found(&fixture, esk_series_get, key),
                          -1000 - ESK_E_CORRUPT);
        } else {
            ESK_CHECK_INT(found(&fixture, esk_series_get, key),
                          key >= 2 && key % 2 == 0 ? (int64_t)key : NONE);
        }
    }
    ESK_CHECK_INT(found(&fixture, esk_series_floor, 470), 420);
    ESK_CHECK_INT(found(&fixture, esk_series_ceiling, 470), 482);
    ESK_CHECK(stats(&fixture).pages_damaged > 0);
    fixture_end(&fixture);
}

ESK_TEST(series_reads_report_a_device_that_cannot_read) {
    struct esk_fixture fixture;
    uint8_t row[ROW_BYTES];
    uint32_t rows = 0;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 500, 1);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(found(&fixture, esk_series_get, 9), -1000 - ESK_E_IO);
    ESK_CHECK_INT(found(&fixture, esk_series_floor, 9), -1000 - ESK_E_IO);
    ESK_CHECK_INT(found(&fixture, esk_series_ceiling, 9), -1000 - ESK_E_IO);
    ESK_CHECK_INT(esk_series_oldest(fixture.series, row), ESK_E_IO);
    ESK_CHECK_INT(esk_series_count(fixture.series, &rows), ESK_E_IO);
    ESK_CHECK_INT(found(&fixture, esk_series_get, 499), 499);
    fixture_end(&fixture);
}

ESK_TEST(series_count_starts_at_the_oldest_readable_page) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 300, 1);
    ESK_CHECK_INT(
        esk_sim_flip(fixture.sim, esk_ring_page(&fixture.series->data, 0), 200),
        ESK_OK);
    ESK_CHECK_INT(count(&fixture), 270);
    fixture_end(&fixture);
}

ESK_TEST(series_get_costs_at_most_three_page_reads_in_the_mean_about_one) {
    struct esk_fixture fixture;
    uint32_t worst = 0;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 1500, 1);
    uint32_t before = stats(&fixture).page_reads;
    for (uint32_t key = 1; key <= 1500; key += 31) {
        uint32_t reads = stats(&fixture).page_reads;
        ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
        reads = stats(&fixture).page_reads - reads;
        worst = reads > worst ? reads : worst;
    }
    ESK_CHECK(worst <= 3);
    ESK_CHECK(stats(&fixture).page_reads - before <= 2 * 1500 / 31);
    fixture_end(&fixture);
}

ESK_TEST(series_never_takes_a_cached_page_from_a_lap_ago) {
    static const struct esk_series_config config = {.frames = 100};
    struct esk_series_spec spec = log_spec;
    struct esk_fixture fixture;
    spec.data_blocks = 3;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", &config);
    for (uint32_t lap = 0; lap < 4; lap++) {
        append_range(&fixture, lap * 700 + 1, lap * 700 + 700, 1);
        uint32_t first = oldest(&fixture);
        for (uint32_t key = first; key <= lap * 700 + 700; key++) {
            ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
        }
    }
    fixture_end(&fixture);
}

ESK_TEST(series_calls_report_any_single_read_that_fails) {
    for (uint32_t read = 1; read < 12; read++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("read %u fails", read);
        start(&fixture, &fixture_nor, &log_spec);
        append_range(&fixture, 1, 600, 1);
        for (uint32_t key = 1; key <= 600; key += 101) {
            read_fails = read;
            int64_t got = found(&fixture, esk_series_get, key);
            ESK_CHECK(got == key || got == -1000 - ESK_E_IO ||
                      got == -1000 - ESK_E_CORRUPT);
            read_fails = read;
            got = found(&fixture, esk_series_floor, key);
            ESK_CHECK(got <= (int64_t)key);
            read_fails = 0;
            ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
        }
        read_fails = read;
        int status = esk_series_erase_before(fixture.series, 300);
        read_fails = 0;
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO ||
                  status == ESK_E_CORRUPT);
        ESK_CHECK_INT(count(&fixture), status == ESK_OK ? 301 : 600);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_stats_count_pages_programs_and_reads) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    uint64_t programs = esk_sim_counters(fixture.sim)->programs;
    uint64_t erases = esk_sim_counters(fixture.sim)->erases;
    append_range(&fixture, 1, 901, 1); /* 30 pages and a row */
    struct esk_series_stats now = stats(&fixture);
    ESK_CHECK_INT(now.pages, 30);
    ESK_CHECK(now.index_pages >= 7);
    ESK_CHECK_INT(now.var_pages, 0);
    ESK_CHECK_INT(now.page_programs,
                  esk_sim_counters(fixture.sim)->programs - programs);
    ESK_CHECK_INT(now.block_erases,
                  esk_sim_counters(fixture.sim)->erases - erases);
    ESK_CHECK_INT(now.pages_damaged + now.program_failures +
                      now.erase_failures + now.index_failures,
                  0);
    ESK_CHECK(now.knots > 0);
    ESK_CHECK(now.key_error_16ths >= 2);
    fixture_end(&fixture);
}

ESK_TEST(series_goes_on_over_failing_programs_and_erases) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nand, &log_spec);
    struct esk_sim_failures failures = {.program = {.every = 40},
                                        .erase = {.every = 9}};
    esk_sim_failures_set(fixture.sim, &failures);
    append_range(&fixture, 1, 2500, 1);
    struct esk_series_stats now = stats(&fixture);
    ESK_CHECK(now.program_failures > 0);
    esk_sim_failures_set(fixture.sim, NULL);
    uint32_t first = oldest(&fixture);
    for (uint32_t key = first; key <= 2500; key++) {
        ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
    }
    fixture_end(&fixture);
}

ESK_TEST(series_append_on_a_dead_medium_fails_and_keeps_earlier_rows) {
    struct esk_fixture fixture;
    uint32_t key = 1;
    start(&fixture, &fixture_nor, &log_spec);
    append_range(&fixture, 1, 20, 1);
    struct esk_sim_failures failures = {.program = {.every = 1},
                                        .erase = {.every = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    key = 21;
    while (append(&fixture, key) == ESK_OK) {
        key++;
    }
    ESK_CHECK(append(&fixture, key) < 0);
    ESK_CHECK(esk_series_sync(fixture.series) < 0);
    for (uint32_t at = 1; at < key; at++) {
        ESK_CHECK_INT(found(&fixture, esk_series_get, at), at);
    }
    fixture_end(&fixture);
}

ESK_TEST(series_with_a_worn_index_region_stays_exact) {
    struct esk_fixture fixture;
    start(&fixture, &fixture_nor, &log_spec);
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    for (uint32_t i = 0; i < info.blocks[1]; i++) {
        esk_sim_block_fail(fixture.sim, info.block[1] + i);
    }
    append_range(&fixture, 1, 1500, 1);
    ESK_CHECK(stats(&fixture).index_failures > 0);
    for (uint32_t key = 1; key <= 1500; key += 13) {
        ESK_CHECK_INT(found(&fixture, esk_series_get, key), key);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_reboot(&fixture);
    ESK_CHECK_INT(count(&fixture), 1500);
    ESK_CHECK_INT(found(&fixture, esk_series_get, 700), 700);
    fixture_end(&fixture);
}

/* ------------------------------------------------------------- key types */

static const struct key_type {
    uint8_t type;
    uint8_t bytes;
    int64_t keys[7]; ///< rising; the smallest and largest of the type
} key_types[] = {
    {ESK_TYPE_I8, 1, {INT8_MIN, -100, -1, 0, 1, 100, INT8_MAX}},
    {ESK_TYPE_I16, 2, {INT16_MIN, -300, -1, 0, 1, 300, INT16_MAX}},
    {ESK_TYPE_I32, 4, {INT32_MIN, -70000, -1, 0, 1, 70000, INT32_MAX}},
    {ESK_TYPE_I64, 8, {INT64_MIN, INT32_MIN, -1, 0, 1, INT32_MAX, INT64_MAX}},
    {ESK_TYPE_U8, 1, {0, 1, 2, 100, 127, 128, UINT8_MAX}},
    {ESK_TYPE_U16, 2, {0, 1, 255, 256, 32767, 32768, UINT16_MAX}},
    {ESK_TYPE_U32, 4, {0, 1, 65535, 65536, INT32_MAX, 3000000000, UINT32_MAX}},
    {ESK_TYPE_U64, 8, {0, 1, UINT32_MAX, INT64_MAX, INT64_MIN, -2, -1}},
};

enum { KEY_TYPES = sizeof key_types / sizeof key_types[0] };

static void start_keyed(struct esk_fixture *fixture,
                        const struct key_type *type) {
    struct esk_column keyed[] = {{.name = "pad", .type = ESK_TYPE_U8},
                                 {.name = "key", .type = type->type}};
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = keyed,
                  .column_count = 2,
                  .row_bytes = (uint16_t)(1 + esk_type_bytes(type->type, 0)),
                  .key_column = 1},
        .data_blocks = 4};
    start(fixture, &fixture_nor, &spec);
}

static int append_key(struct esk_fixture *fixture, const struct key_type *type,
                      int64_t key) {
    uint8_t row[9] = {0};
    uint8_t wide[8];
    esk_store_u64(wide, (uint64_t)key);
    memcpy(row + 1, wide, type->bytes);
    return esk_series_append(fixture->series, row);
}

/// The key in `row`, in the form of `keys`.
static int64_t row_key(const struct key_type *type, const uint8_t *row) {
    esk_key order = (esk_key)esk_order_load(type->type, row + 1);
    return (int64_t)(uint64_t)esk_key_from_order(type->type, order);
}

ESK_TEST(series_keeps_every_key_type_in_order_from_least_to_greatest) {
    for (int t = 0; t < KEY_TYPES; t++) {
        const struct key_type *type = &key_types[t];
        struct esk_fixture fixture;
        start_keyed(&fixture, type);
        for (int i = 0; i < 7; i++) {
            ESK_CHECK_INT(append_key(&fixture, type, type->keys[i]), ESK_OK);
            ESK_CHECK_INT(append_key(&fixture, type, type->keys[i]),
                          ESK_OUT_OF_ORDER);
        }
        for (int reboots = 0; reboots < 2; reboots++) {
            struct esk_series_cursor cursor;
            uint8_t row[9];
            ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, NULL),
                          ESK_OK);
            for (int i = 0; i < 7; i++) {
                esk_key key = (esk_key)type->keys[i];
                ESK_CONTEXT("type %u, key %d", type->type, i);
                ESK_CHECK_INT(
                    esk_series_cursor_next(fixture.series, &cursor, row),
                    ESK_OK);
                ESK_CHECK_INT(row_key(type, row), type->keys[i]);
                ESK_CHECK_INT(esk_series_get(fixture.series, key, row), ESK_OK);
                ESK_CHECK_INT(row_key(type, row), type->keys[i]);
                ESK_CHECK_INT(esk_series_floor(fixture.series, key, row),
                              ESK_OK);
                ESK_CHECK_INT(row_key(type, row), type->keys[i]);
                ESK_CHECK_INT(esk_series_ceiling(fixture.series, key, row),
                              ESK_OK);
                ESK_CHECK_INT(row_key(type, row), type->keys[i]);
            }
            ESK_CHECK_INT(esk_series_cursor_next(fixture.series, &cursor, row),
                          ESK_END);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            fixture_reboot(&fixture);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(series_bounds_outside_the_key_type_are_clamped_or_match_nothing) {
    static const struct {
        uint8_t type;
        int64_t key;
        bool floor_found, ceiling_found;
    } cases[] = {
        {ESK_TYPE_I8, -129, false, true},
        {ESK_TYPE_I8, 128, true, false},
        {ESK_TYPE_U8, 256, true, false},
        {ESK_TYPE_U8, -1, true, false},
        {ESK_TYPE_I32, INT64_MIN, false, true},
        {ESK_TYPE_U32, INT64_MAX, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct key_type type = {.type = cases[i].type};
        struct esk_fixture fixture;
        uint8_t row[9];
        esk_key key = (esk_key)cases[i].key;
        ESK_CONTEXT("case %zu", i);
        type.bytes = esk_order_width(type.type);
        start_keyed(&fixture, &type);
        ESK_CHECK_INT(append_key(&fixture, &type, 0), ESK_OK);
        ESK_CHECK_INT(append_key(&fixture, &type, 9), ESK_OK);
        ESK_CHECK_INT(esk_series_get(fixture.series, key, row), ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_series_floor(fixture.series, key, row),
                      cases[i].floor_found ? ESK_OK : ESK_NOT_FOUND);
        ESK_CHECK_INT(esk_series_ceiling(fixture.series, key, row),
                      cases[i].ceiling_found ? ESK_OK : ESK_NOT_FOUND);
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
