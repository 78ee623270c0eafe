// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Power loss in the erase of the oldest block of values: the values whose
/// pages are gone were dropped, but a read returned ESK_E_CORRUPT, as if the
/// medium were damaged.
#include "table/series/series.h"
#include "test/harness/fixture.h"

enum { CUTS = 60, BYTES = 150 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "trace", .type = ESK_TYPE_VAR},
};

static const struct esk_series_spec spec = {.table = {.name = "log",
                                                      .columns = columns,
                                                      .column_count = 2,
                                                      .row_bytes = 10},
                                            .data_blocks = 6,
                                            .index_blocks = 3,
                                            .var_blocks = 4};

static const struct esk_geometry media[] = {
    ESK_NOR(64, 4, 256), ESK_NAND(64, 4, 512), ESK_FLASH(64, 4, 256, 8, 0)};

static uint32_t rows;

static int row_append(struct esk_series *series) {
    uint8_t row[10] = {0};
    uint8_t value[BYTES];
    esk_store_u32(row, rows);
    memset(value, (int)(rows % 251), sizeof value);
    ESK_TRY(esk_series_append_var(series, row, value, sizeof value));
    rows++;
    return rows % 3 == 0 ? esk_series_sync(series) : ESK_OK;
}

/// Reads every value: all of it, or it was dropped. Counts both.
static void values_check(struct esk_series *series, uint32_t *read,
                         uint32_t *dropped) {
    struct esk_series_cursor cursor;
    uint8_t row[10];
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    while (esk_series_cursor_next(series, &cursor, row) == ESK_OK) {
        uint8_t value[BYTES];
        struct esk_series_value at;
        uint32_t got = 0;
        uint32_t number = esk_load_u32(row);
        int status = esk_series_value_open(series, row, &at);
        if (status == ESK_OK) {
            status =
                esk_series_value_read(series, &at, value, sizeof value, &got);
        }
        ESK_CHECK(esk_bytes_are(value, (uint16_t)got, (uint8_t)(number % 251)));
        ESK_CHECK_INT(status, got == sizeof value ? ESK_OK : ESK_NOT_FOUND);
        *read += status == ESK_OK ? 1 : 0;
        *dropped += status == ESK_OK ? 0 : 1;
    }
}

ESK_TEST(values_of_a_block_whose_erase_was_cut_were_dropped) {
    for (uint32_t run = 0; run < CUTS * sizeof media / sizeof media[0]; run++) {
        struct esk_fixture fixture;
        uint32_t read = 0;
        uint32_t dropped = 0;
        ESK_CONTEXT("run %u", (unsigned)run);
        fixture_start(&fixture, &media[run / CUTS], NULL);
        fixture_create(&fixture, &spec);
        fixture_open(&fixture, "log", NULL);
        rows = 0;
        uint32_t lap = spec.var_blocks * media[run / CUTS].block_pages;
        while (fixture.series->var->head < lap) {
            ESK_CHECK_INT(row_append(fixture.series), ESK_OK);
        }
        esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim) + run % CUTS,
                       ESK_SIM_CUT_PREFIX);
        while (row_append(fixture.series) == ESK_OK) {
        }
        fixture_reboot(&fixture);
        values_check(fixture.series, &read, &dropped);
        ESK_CHECK(read > 0 && dropped > 0);
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
