// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with a sorted index: its queries return the rows that a scan does,
/// whatever happens to the medium.
#include "test/harness/sorted_log.h"

ESK_TEST(series_sorted_index_gives_the_rows_of_a_scan) {
    for (uint32_t i = 0; i < TABLES; i++) {
        table_start(&tables[i]);
        for (uint32_t j = 0; j < 4; j++) {
            append(tables[i].rows / 4);
            ask_many(10);
            reboot();
            ask_many(10);
            append(300);
            ask_many(10);
        }
        ESK_CHECK(fixture.series->sorting->index.levels[1].count > 0);
        ESK_CHECK_INT(fixture.series->sorting->index.lost, 0);
        check();
        fixture_end(&fixture);
    }
}

ESK_TEST(series_sorted_index_reads_few_pages) {
    start(&fixture_nor, &spec);
    append(3000);
    /* About 110 pages with data, and 3 rows a query. */
    uint32_t reads = ask_many(50);
    ESK_CHECK(reads < 50 * 16);
    fixture_end(&fixture);
}

ESK_TEST(series_sorted_append_programs_one_page_more_at_most) {
    start(&fixture_nor, &spec);
    for (uint32_t i = 0; i < 5000; i++) {
        uint32_t before = fixture.series->stats.programs;
        uint32_t reads = fixture.series->stats.reads;
        append(1);
        ESK_CHECK(fixture.series->stats.programs - before <= 4);
        ESK_CHECK(fixture.series->stats.reads - reads <= 12);
    }
    fixture_end(&fixture);
}

/// Counts by a cursor's count, with the zones of a summary beside.
ESK_TEST(series_sorted_index_counts) {
    table_start(&tables[1]);
    append(3000);
    scan_make();
    struct esk_series_range range = {.column = 1, .has_lo = true};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    for (int32_t lo = -SPREAD / 2; lo < SPREAD / 2 + 10; lo += 500) {
        struct esk_series_cursor cursor;
        uint32_t count = 0;
        uint32_t expected = 0;
        range.lo.i = lo;
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                      ESK_OK);
        for (uint32_t i = 0; i < scan.count; i++) {
            expected += value_of(scan.numbers[i]) >= lo;
        }
        ESK_CHECK_INT(count, expected);
    }
    fixture_end(&fixture);
}

/// A count that a summary helped, and that goes on without it after the run in
/// RAM was programmed: the entries there are those of other pages then.
ESK_TEST(series_sorted_count_forgets_a_run_that_was_programmed) {
    struct esk_series_spec of = spec;
    of.indexes = indexes;
    of.index_count = 2;
    of.run_pages = 16;
    start(&fixture_nor, &of);
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true, .lo.i = 0, .hi.i = 100};
    struct esk_series_range other = {.column = 1, .has_lo = true, .lo.i = 9};
    struct esk_series_query query = {
        .ranges = &range, .range_count = 1, .step_pages = 1};
    struct esk_series_query between = {.ranges = &other, .range_count = 1};
    struct esk_series_cursor cursors[2];
    uint8_t row[ROW_BYTES];
    uint32_t count = 0;
    uint32_t ignored = 0;
    uint32_t expected = 0;
    int status = ESK_AGAIN;
    for (uint32_t i = 0; i < 1200; i++) {
        /* Pages with rows of both kinds, then all rows are in the range. */
        bool is_in = i >= 360 || i % 2 == 0;
        esk_store_u32(row, i);
        esk_store_u32(row + 4, is_in ? 50 : 5000);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        expected += is_in ? 1 : 0;
        if (i == 360) {
            ESK_CHECK_INT(
                esk_series_cursor_open(fixture.series, &cursors[0], &query),
                ESK_OK);
        }
        if (i == 361 || i == 362) {
            ESK_CHECK_INT(
                esk_series_cursor_count(fixture.series, &cursors[0], &count),
                ESK_AGAIN);
        }
        if (i == 361) {
            /* Another answer: the next step asks the summary. */
            ESK_CHECK_INT(
                esk_series_cursor_open(fixture.series, &cursors[1], &between),
                ESK_OK);
            ESK_CHECK_INT(
                esk_series_cursor_count(fixture.series, &cursors[1], &ignored),
                ESK_OK);
        }
    }
    ESK_CHECK(cursors[0].plan.open_run);
    for (uint32_t i = 0; i < 1000 && status == ESK_AGAIN; i++) {
        status = esk_series_cursor_count(fixture.series, &cursors[0], &count);
    }
    ESK_CHECK_INT(status, ESK_OK);
    ESK_CHECK_INT(count, expected);
    fixture_end(&fixture);
}

/// Two cursors with steps of a page take turns: each takes the other's answer
/// away, and both come to their ends.
ESK_TEST(series_sorted_cursors_with_steps_do_not_wait_for_one_another) {
    start(&fixture_nor, &spec);
    append(3000);
    scan_make();
    struct esk_series_range ranges[2] = {
        {.column = 1, .has_lo = true, .has_hi = true, .lo.i = 5, .hi.i = 40},
        {.column = 1, .has_lo = true, .has_hi = true, .lo.i = 90, .hi.i = 120}};
    struct esk_series_cursor cursors[2];
    uint32_t found[2] = {0, 0};
    uint32_t expected[2] = {0, 0};
    bool ended[2] = {false, false};
    for (uint32_t i = 0; i < 2; i++) {
        struct esk_series_query query = {
            .ranges = &ranges[i], .range_count = 1, .step_pages = 1};
        ESK_CHECK_INT(
            esk_series_cursor_open(fixture.series, &cursors[i], &query),
            ESK_OK);
        for (uint32_t j = 0; j < scan.count; j++) {
            int32_t value = value_of(scan.numbers[j]);
            expected[i] += value >= ranges[i].lo.i && value <= ranges[i].hi.i;
        }
    }
    for (uint32_t steps = 0; !ended[0] || !ended[1]; steps++) {
        uint8_t row[ROW_BYTES];
        uint32_t i = steps % 2;
        ESK_CHECK(steps < 20000);
        int status = esk_series_cursor_next(fixture.series, &cursors[i], row);
        found[i] += status == ESK_OK;
        ended[i] = ended[i] || status == ESK_END;
    }
    ESK_CHECK_INT(found[0], expected[0]);
    ESK_CHECK_INT(found[1], expected[1]);
    fixture_end(&fixture);
}

/// Conditions that no value meets, and two on the column.
ESK_TEST(series_sorted_index_combines_conditions) {
    table_start(&tables[1]);
    append(2000);
    scan_make();
    for (uint32_t i = 0; i < 4; i++) {
        struct esk_series_range ranges[2] = {
            {.column = 1, .has_lo = true, .lo.i = i < 2 ? 100 : 300},
            {.column = 1, .has_hi = true, .hi.i = 200}};
        struct esk_series_query query = {
            .ranges = ranges, .range_count = 2, .backward = i % 2 == 1};
        struct esk_series_cursor cursor;
        uint8_t row[ROW_BYTES];
        uint32_t expected = 0;
        uint32_t found = 0;
        for (uint32_t j = 0; j < scan.count; j++) {
            int32_t value = value_of(scan.numbers[j]);
            expected += value >= ranges[0].lo.i && value <= 200;
        }
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
            found++;
        }
        ESK_CHECK_INT(found, expected);
        ESK_CHECK((found > 0) == (i < 2));
    }
    fixture_end(&fixture);
}

/// Ranges of two columns, one with the sorted index and one with a summary; the
/// sorted index alone, and where a page of it is lost.
ESK_TEST(series_sorted_index_and_summaries_work_together) {
    struct esk_column three[] = {columns[0], columns[1], columns[1]};
    const struct esk_index_spec both[] = {
        indexes[0], {.column = 2, .bitmap_bits = 16}, indexes[1]};
    enum { WIDE_BYTES = 12, ROWS = 3000 };
    struct esk_series_spec of = spec;
    three[2].name = "w";
    of.table.columns = three;
    of.table.column_count = 3;
    of.table.row_bytes = WIDE_BYTES;
    of.indexes = both;
    of.index_count = 3;
    start(&fixture_nor, &of);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint8_t row[WIDE_BYTES];
        esk_store_u32(row, i);
        esk_store_u32(row + 4, (uint32_t)value_of(i));
        esk_store_u32(row + 8, i / 100);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    for (uint32_t i = 0; i < 40; i++) {
        struct esk_series_range ranges[2] = {
            {.column = 1, .has_lo = true, .lo.i = (int32_t)i * 100 - 1500},
            {.column = 2, .has_hi = true, .hi.i = 20 + i / 3}};
        struct esk_series_query query = {.ranges = ranges,
                                         .range_count = 1 + i / 2 % 2,
                                         .backward = i % 2 == 1,
                                         .step_pages = i % 3};
        struct esk_series_cursor cursor;
        uint8_t row[WIDE_BYTES];
        uint32_t expected = 0;
        uint32_t found = 0;
        if (i == 20) {
            const struct esk_ring *ring =
                &fixture.series->sorting->index.levels[1].ring;
            for (uint32_t at = ring->tail; at < ring->head; at += 2) {
                (void)esk_sim_flip(fixture.sim, esk_ring_page(ring, at), 500);
            }
        }
        ESK_CHECK_INT(esk_series_oldest(fixture.series, row), ESK_OK);
        for (uint32_t j = esk_load_u32(row); j < ROWS; j++) {
            expected += value_of(j) >= ranges[0].lo.i &&
                        (query.range_count == 1 || j / 100 <= 20 + i / 3);
        }
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        while (next_row(&cursor, row) == ESK_OK) {
            found++;
        }
        ESK_CHECK_INT(found, expected);
    }
    fixture_end(&fixture);
}

/// The first query after a mount adds the pages that no run covers, in steps.
ESK_TEST(series_sorted_query_with_steps_adds_pages_after_a_mount) {
    start(&fixture_nor, &spec);
    append(2050);
    for (uint32_t i = 0; i < WAYS; i++) {
        ESK_CONTEXT("way %u", i);
        reboot();
        scan_make();
        uint32_t next = fixture.series->sorting->next;
        ESK_CHECK(next < fixture.series->data.head);
        ask_one(&ways[i], 0, 20);
        ESK_CHECK_INT(fixture.series->sorting->next, fixture.series->data.head);
    }
    fixture_end(&fixture);
}

/// NaN is in no range, and a check finds nothing wrong with it.
ESK_TEST(series_sorted_index_of_floats_leaves_nan_out) {
    struct esk_column floats[] = {columns[0], columns[1]};
    struct esk_series_spec of = spec;
    floats[1].type = ESK_TYPE_F32;
    of.table.columns = floats;
    start(&fixture_nor, &of);
    for (uint32_t i = 0; i < 2000; i++) {
        uint8_t row[ROW_BYTES];
        float value = (float)value_of(i);
        uint32_t nan = UINT32_C(0x7FC00000);
        esk_store_u32(row, i);
        memcpy(row + 4, i % 5 == 0 ? (void *)&nan : (void *)&value, 4);
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
    }
    check();
    for (float lo = -2500; lo < 2500; lo += 99) {
        struct esk_series_range range = {
            .column = 1, .has_lo = true, .lo.f32 = lo};
        struct esk_series_query query = {.ranges = &range, .range_count = 1};
        struct esk_series_cursor cursor;
        uint32_t count = 0;
        uint32_t expected = 0;
        uint8_t row[ROW_BYTES];
        ESK_CHECK_INT(esk_series_oldest(fixture.series, row), ESK_OK);
        for (uint32_t i = esk_load_u32(row); i < 2000; i++) {
            expected += i % 5 != 0 && (float)value_of(i) >= lo;
        }
        ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                      ESK_OK);
        ESK_CHECK_INT(count, expected);
    }
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
