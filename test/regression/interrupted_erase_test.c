// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A get of a dropped key returned that its row is damaged: the erase of the
/// block that is dropped next was cut, and its pages cannot be read.
#include "table/series/series.h"

#include "test/harness/level_log.h"

enum { ROWS = 5000, CUTS = 300 };

/// Cuts the power at operation `op` after ROWS rows. Returns whether pages of
/// the data region's oldest block cannot be read then.
static bool cut_made(struct esk_fixture *fixture, uint32_t op,
                     enum esk_sim_cut_mode mode) {
    struct esk_series_spec spec = level_spec;
    spec.data_blocks = 8;
    spec.index_blocks = 4;
    level_start(fixture, &fixture_nor, &spec, NULL);
    uint32_t key = 1;
    for (; key <= ROWS; key++) {
        ESK_CHECK_INT(level_append(fixture, key, key), ESK_OK);
    }
    esk_sim_cut_at(fixture->sim, esk_sim_op_count(fixture->sim) + op, mode);
    while (level_append(fixture, key, key) == ESK_OK) {
        key++;
    }
    fixture_reboot(fixture);
    uint32_t damaged = fixture->series->stats.damaged;
    (void)esk_series_get(fixture->series, 1, fixture->page);
    return fixture->series->stats.damaged > damaged;
}

ESK_TEST(get_of_a_dropped_key_finds_none_after_a_cut_in_an_erase) {
    uint32_t torn = 0;
    for (uint32_t op = 1; op <= CUTS; op++) {
        struct esk_fixture fixture;
        uint8_t row[LEVEL_ROW_BYTES];
        ESK_CONTEXT("cut at operation %u", op);
        torn += cut_made(&fixture, op,
                         op % 2 == 0 ? ESK_SIM_CUT_SUBSET : ESK_SIM_CUT_PREFIX)
                    ? 1
                    : 0;
        ESK_CHECK_INT(esk_series_get(fixture.series, 1, row), ESK_NOT_FOUND);
        fixture_end(&fixture);
    }
    ESK_CHECK(torn > 0);
}

ESK_TEST_MAIN()
