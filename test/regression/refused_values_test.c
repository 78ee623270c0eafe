// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A table that refuses when full lost its oldest value at the next mount: a
/// program had failed in the value's block, and the mount took the block for
/// one that was being dropped.
#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"

enum { VALUE_BYTES = 700, ROW_BYTES = 8 + ESK_VAR_REF_BYTES };

static uint64_t arena[1024];

static struct esk_series *series_open(struct esk_volume *volume,
                                      const struct esk_device *device) {
    struct esk_series *series = NULL;
    ESK_CHECK_INT(esk_volume_mount(volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(
        test_series_open(&series, volume, "t", NULL, arena, sizeof arena),
        ESK_OK);
    return series;
}

ESK_TEST(refusing_table_keeps_the_values_of_a_block_that_failed) {
    const struct esk_column columns[] = {
        {"k", "", ESK_TYPE_I64, 0, 0, NULL, 0},
        {"v", "", ESK_TYPE_VAR, 0, 0, NULL, 0}};
    const struct esk_series_spec spec = {
        .table = {.name = "t",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 8 + ESK_VAR_REF_BYTES},
        .full_policy = ESK_FULL_REFUSE};
    const struct esk_volume_config format = {.uuid = {1}};
    struct esk_sim_config config = {.seed = 1};
    config.geometry.block_count = 40;
    config.geometry.block_pages = 8;
    config.geometry.page_bytes = 256;
    config.geometry.program_bytes = 8;
    config.geometry.programs_per_page_max = 4;
    struct esk_sim *sim = NULL;
    struct esk_volume volume;
    uint8_t row[ROW_BYTES] = {0};
    uint8_t value[VALUE_BYTES];

    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    const struct esk_device *device = esk_sim_device(sim);
    ESK_CHECK_INT(esk_volume_format(device, &format, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    struct esk_series *series = series_open(&volume, device);
    struct esk_sim_failures failures = {0};
    failures.program.burst_start = 1;
    failures.program.burst_length = 1;
    esk_sim_failures_set(sim, &failures);
    int status = ESK_OK;
    for (uint8_t i = 0; i < 200 && status == ESK_OK; i++) {
        row[0] = i;
        memset(value, i + 1, sizeof value);
        status = esk_series_append_var(series, row, value, sizeof value);
    }
    ESK_CHECK_INT(status, ESK_FULL);
    esk_series_close(series);

    series = series_open(&volume, device);
    struct esk_series_cursor cursor;
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    uint32_t rows = 0;
    while (esk_series_cursor_next(series, &cursor, row) == ESK_OK) {
        struct esk_series_value reader;
        uint32_t got = 0;
        ESK_CHECK_INT(esk_series_value_open(series, row, &reader), ESK_OK);
        ESK_CHECK_INT(
            esk_series_value_read(series, &reader, value, sizeof value, &got),
            ESK_OK);
        ESK_CHECK_INT(got, VALUE_BYTES);
        ESK_CHECK_INT(value[0], row[0] + 1);
        rows++;
    }
    ESK_CHECK(rows > 0);
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
