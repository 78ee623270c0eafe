// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage: the readable rows of a table are copied into another volume, and
/// every gap is reported.
#include "test/harness/salvage_store.h"

ESK_TEST(copy_says_between_which_keys_rows_are_lost) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    uint8_t row[16];
    uint32_t rows = (256 - 16) / 12; /* of a page */
    store_format(to, ESK_CHECKSUM_CRC16);
    tables_create(to);
    tables_open(to);
    page_spoil(store, data_page(store, "log", 0));
    page_spoil(store, data_page(store, "log", 3));
    page_spoil(store, data_page(store, "log", 4));
    page_spoil(store, data_page(store, "log", (LOG_ROWS - 1) / rows));
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    int gaps = 0;
    for (int status = ESK_OK; status != ESK_END;) {
        status =
            esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 7);
        if (status == ESK_NOT_FOUND) {
            gaps++;
            ESK_CHECK(copy.has_after == (gaps > 1));
            ESK_CHECK(copy.has_before == (gaps < 3));
            ESK_CHECK_INT(copy.after, gaps == 1   ? 0
                                      : gaps == 2 ? 3 * rows
                                                  : LOG_ROWS - rows);
            ESK_CHECK_INT(copy.before, gaps == 1   ? rows + 1
                                       : gaps == 2 ? 5 * rows + 1
                                                   : 0);
        } else {
            ESK_CHECK(status == ESK_OK || status == ESK_END);
        }
    }
    ESK_CHECK_INT(gaps, 3);
    ESK_CHECK_INT(copy.gaps, 3);
    ESK_CHECK_INT(copy.rows, LOG_ROWS - 4 * rows);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(to->log, &count), ESK_OK);
    ESK_CHECK_INT(count, copy.rows);
    store_end(store);
    store_end(to);
}

ESK_TEST(copy_reports_no_loss_at_a_page_that_power_loss_tore) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    uint8_t row[16] = {0};
    uint32_t pages = LOG_ROWS / ((256 - 16) / 12);
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    page_spoil(store, data_page(store, "log", pages));
    tables_open(store);
    for (uint32_t key = LOG_ROWS + 1; key <= LOG_ROWS + 50; key++) {
        log_row(row, key);
        ESK_CHECK_INT(esk_series_append(store->log, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 10000),
        ESK_END);
    ESK_CHECK(copy.damaged > 0);
    ESK_CHECK_INT(copy.gaps, 0);
    ESK_CHECK_INT(copy.rows, LOG_ROWS + 50);
    store_end(store);
    store_end(to);
}

ESK_TEST(copy_goes_on_after_a_row_could_not_be_written) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    static const struct esk_sim_failures failures = {
        .transfer = {.burst_start = 5, .burst_length = 9}};
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    int failed = 0;
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_OK);
    esk_sim_failures_set(to->sim, &failures);
    for (int status = ESK_OK; status != ESK_END;) {
        status =
            esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 100);
        failed += status == ESK_E_IO;
    }
    esk_sim_failures_set(to->sim, &failures);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_tree_copy_step(&tree, store->map, to->map, row, 100);
        failed += status == ESK_E_IO;
    }
    ESK_CHECK(failed > 0);
    ESK_CHECK_INT(copy.rows, LOG_ROWS);
    ESK_CHECK_INT(tree.rows, MAP_ROWS);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(to->log, &count), ESK_OK);
    ESK_CHECK_INT(count, LOG_ROWS);
    ESK_CHECK_INT(esk_tree_count(to->map, &count), ESK_OK);
    ESK_CHECK_INT(count, MAP_ROWS);
    store_end(store);
    store_end(to);
}

ESK_TEST(values_that_are_lost_are_empty_and_counted) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    struct esk_series_value value;
    struct esk_table_info info;
    uint8_t row[16];
    uint8_t room[20];
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "notes", &info), ESK_OK);
    page_spoil(store, info.block[ESK_REGION_VAR] * 8u + 1u);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_series_copy_step(&copy, store->notes, to->notes, row, room,
                                      sizeof room, 5);
        ESK_CHECK(status == ESK_OK || status == ESK_END);
    }
    ESK_CHECK_INT(copy.rows, NOTES);
    uint32_t lost = 0;
    for (uint32_t i = 1; i <= NOTES; i++) {
        ESK_CHECK_INT(esk_series_get(to->notes, i, row), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(to->notes, row, &value), ESK_OK);
        lost += value.bytes != i % 50;
        ESK_CHECK(value.bytes == i % 50 || value.bytes == 0);
        ESK_CHECK(value.bytes <= sizeof room);
    }
    ESK_CHECK_INT(copy.values_lost, lost);
    ESK_CHECK(lost > 30);
    store_end(store);
    store_end(to);
}

/// A read that fails may be of a page of rows, which is a gap then, or of a
/// value, which is read again.
ESK_TEST(copy_goes_on_after_a_read_failed) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    uint8_t row[16];
    uint8_t value[NOTE_BYTES];
    int gaps = 0;
    tables_open(store);
    for (uint32_t read = 1; read < 40; read++) {
        struct store *to = store_new(&media[0]);
        struct esk_series_copy copy;
        int failed = 0;
        ESK_CONTEXT("read %u", read);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
        fail_from(read, 0, READ_BROKEN);
        for (int status = ESK_OK; status != ESK_END;) {
            status = esk_series_copy_step(&copy, store->notes, to->notes, row,
                                          value, sizeof value, 1);
            failed += status == ESK_E_IO;
            ESK_CHECK(status >= 0 || status == ESK_E_IO);
        }
        ESK_CHECK_INT(failed, fail_end());
        ESK_CHECK(copy.gaps <= 1);
        ESK_CHECK((copy.gaps == 1) == (copy.rows < NOTES));
        ESK_CHECK_INT(copy.values_lost, 0);
        gaps += (int)copy.gaps;
        store_end(to);
    }
    ESK_CHECK(gaps > 0 && gaps < 20);
    store_end(store);
}

ESK_TEST(copy_of_a_tree_passes_lost_nodes) {
    for (size_t m = 0; m < 3; m++) {
        struct store *store = store_start(&media[m], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[m]);
        struct esk_tree_copy copy;
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        struct esk_table_info info;
        uint32_t in_node = 0;
        esk_page_id lost = 0;
        ESK_CONTEXT("medium %u", (unsigned)m);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        tables_open(store);
        ESK_CHECK_INT(esk_tree_walk_open(store->map, &walk), ESK_OK);
        while (esk_tree_walk_next(store->map, &walk, &node) == ESK_OK) {
            if (node.level == 1 && in_node == 0) {
                lost = node.address; /* the first leaf */
                in_node = node.count;
            }
        }
        ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
        lost %= info.blocks[ESK_REGION_DATA] * media[m].block_pages;
        page_spoil(store, data_page(store, "map", lost));
        tables_close(store);
        tables_open(store);
        ESK_CHECK_INT(map_copy(&copy, store->map, to->map), ESK_END);
        ESK_CHECK_INT(copy.rows, MAP_ROWS - in_node);
        ESK_CHECK_INT(copy.gaps, 1);
        store_end(store);
        store_end(to);
    }
}

ESK_TEST(copy_refuses_rows_of_another_width_and_closed_tables) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    store_format(to, ESK_CHECKSUM_CRC32C);
    struct esk_tree_spec wide = {.table = {.name = "wide",
                                           .columns = log_columns,
                                           .column_count = 3,
                                           .row_bytes = 12},
                                 .blocks = 16,
                                 .store = ESK_STORE_WANDERING};
    struct esk_tree_config config = {.store = &esk_store_wandering};
    ESK_CHECK_INT(esk_tree_create(&to->volume, &wide, NULL), ESK_OK);
    tables_create(to);
    tables_open(to);
    struct esk_tree *other = NULL;
    ESK_CHECK_INT(esk_tree_open(&other, &to->volume, "wide", &config), ESK_OK);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_OK);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, to->notes, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, other, row, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, NULL, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, NULL, row, 1),
                  ESK_E_INVALID);
    tables_close(store);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, to->map, row, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_E_INVALID);
    ESK_CHECK_INT(copy.rows, 0);
    ESK_CHECK_INT(tree.rows, 0);
    store_end(store);
    store_end(to);
}

/// Without a buffer a value is lost, however long it may be.
ESK_TEST(values_are_lost_without_a_buffer) {
    static const uint32_t rooms[] = {0, NOTE_BYTES};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[0]);
        struct esk_series_copy copy;
        uint8_t row[16];
        ESK_CONTEXT("%u bytes", (unsigned)rooms[i]);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        tables_open(store);
        ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
        ESK_CHECK_INT(esk_series_copy_step(&copy, store->notes, to->notes, row,
                                           NULL, rooms[i], NOTES + 1),
                      ESK_END);
        ESK_CHECK_INT(copy.rows, NOTES);
        ESK_CHECK_INT(copy.values_lost, NOTES - NOTES / 50);
        store_end(store);
        store_end(to);
    }
}

ESK_TEST_MAIN()
