// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong with a tree of each store, its batches and its
/// readers: each mistake is refused with the error that the header names, the
/// medium stays as it was, and the table goes on working.
#include "test/harness/misuse_tree.h"

#include <math.h>

/* Batches. */

ESK_TEST(tree_takes_batch_calls_in_their_order_alone) {
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        MISUSE(esk_tree_abort(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_begin(tree, 0), ESK_OK);
        MISUSE(esk_tree_begin(tree, 0), ESK_E_INVALID);
        MISUSE(esk_tree_begin(tree, UINT32_MAX), ESK_E_INVALID);
        row_make(key + 1);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_commit(tree), ESK_OK);
        MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        MISUSE(esk_tree_abort(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
        tables_work();
        tables_verify();
    }
}

ESK_TEST(tree_begins_no_batch_of_more_pages_than_there_can_be) {
    static const uint32_t sizes[] = {MISUSE_PAGES,       FAR,
                                     UINT32_MAX / 2 + 1, UINT32_MAX - 9,
                                     UINT32_MAX - 3,     UINT32_MAX - 2,
                                     UINT32_MAX - 1,     UINT32_MAX};
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ESK_CONTEXT("%s, %u pages", kinds[k].name, sizes[i]);
            MISUSE(esk_tree_begin(tree, sizes[i]), ESK_FULL);
            MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        }
        tables_work();
        tables_verify();
    }
}

/// Every call but those that change the table, commit or abort.
static void batch_call(uint8_t call) {
    struct esk_tree_report report;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    struct esk_tree_stats stats;
    struct esk_tree *reader = NULL;
    uint8_t got[ROW_BYTES];
    uint32_t count = 0;
    switch (call) {
    case 0:
        ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
        break;
    case 1:
        ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
        break;
    case 2:
        ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
        ESK_CHECK_INT(esk_tree_walk_next(tree, &walk, &node), ESK_OK);
        break;
    case 3:
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, NULL), ESK_OK);
        ESK_CHECK_INT(esk_tree_last(reader, got), ESK_OK);
        ESK_CHECK_INT(esk_tree_reader_renew(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_check(reader, &report), ESK_OK);
        ESK_CHECK_INT(esk_tree_count(reader, &count), ESK_OK);
        esk_tree_close(reader);
        break;
    case 4:
        ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, NULL),
                      ESK_OK);
        break;
    case 5:
        ESK_CHECK_INT(esk_volume_drop(&misuse_volume, "map"), ESK_E_BUSY);
        ESK_CHECK_INT(esk_volume_unmount(&misuse_volume), ESK_E_BUSY);
        esk_tree_stats(tree, &stats);
        break;
    default:
        /* The other table is not in the batch. */
        row_make(FAR);
        ESK_CHECK_INT(esk_tree_put(other, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_delete(other, row), ESK_OK);
        break;
    }
}

/// Rows of the table, by reading all.
static uint32_t rows_now(void) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
    return report.rows;
}

/// How a batch ends: aborted, by a close, by a reset, committed.
enum batch_end { BATCH_ABORT, BATCH_CLOSE, BATCH_RESET, BATCH_COMMIT };

ESK_TEST(tree_takes_a_batch_back_whatever_is_called_in_it) {
    enum { CALLS = 7, CHANGES = 6 };
    for (size_t k = 0; k < KINDS; k++) {
        for (uint8_t n = 0; n < CALLS * 4; n++) {
            uint8_t call = n / 4;
            enum batch_end end = (enum batch_end)(n % 4);
            start(&kinds[k]);
            ESK_CONTEXT("%s, call %u, end %u", kinds[k].name, call, end);
            ESK_CHECK_INT(esk_tree_begin(tree, 0), ESK_OK);
            for (uint8_t i = 1; i <= CHANGES / 2; i++) {
                row_make(key + i);
                ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
            }
            batch_call(call);
            row_make(1);
            ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
            if (end == BATCH_COMMIT) {
                ESK_CHECK_INT(esk_tree_commit(tree), ESK_OK);
                ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
            } else if (end == BATCH_ABORT) {
                ESK_CHECK_INT(esk_tree_abort(tree), ESK_OK);
            }
            if (end == BATCH_CLOSE) {
                tables_close();
            }
            if (end != BATCH_ABORT) {
                misuse_mount(0);
                tables_open(&kinds[k]);
            }
            uint32_t rows = key;
            if (end == BATCH_COMMIT) {
                rows += CHANGES / 2 - 1;
            }
            ESK_CHECK_INT(rows_now(), rows);
            key += CHANGES;
            tables_work();
        }
    }
}

ESK_TEST(tree_in_place_without_batches_says_so) {
    for (size_t k = 0; k < 2; k++) {
        struct esk_tree_config config = {.store = kinds[k].config.store};
        start(&kinds[k]);
        esk_tree_close(tree);
        ESK_CHECK_INT(esk_tree_open(&tree, &misuse_volume, "map", &config),
                      ESK_OK);
        MISUSE(esk_tree_begin(tree, 1), ESK_E_UNSUPPORTED);
        tables_work();
    }
}

/* Readers. */

ESK_TEST(reader_takes_no_change_and_has_no_reader) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree *reader = NULL;
        struct esk_tree *second = NULL;
        struct esk_tree_config absurd = {.frames = 255, .policy = 255};
        uint32_t done = 7;
        start(&kinds[k]);
        MISUSE(esk_tree_reader_renew(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, &absurd), ESK_OK);
        MISUSE(esk_tree_reader_open(&second, reader, NULL), ESK_E_INVALID);
        ESK_CHECK(second == NULL);
        row_make(1);
        MISUSE(esk_tree_put(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_insert(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_update(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_delete(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_put_many(reader, row, 1, &done), ESK_E_READ_ONLY);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_begin(reader, 0), ESK_E_READ_ONLY);
        MISUSE(esk_tree_commit(reader), ESK_E_INVALID);
        MISUSE(esk_tree_abort(reader), ESK_E_INVALID);
        MISUSE(esk_tree_sync(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, row, row), ESK_OK);
        MISUSE(esk_tree_reader_renew(reader), ESK_OK);
        struct esk_tree_stats stats;
        struct esk_space space;
        struct esk_tree_report report;
        struct esk_tree_walk walk;
        esk_tree_stats(reader, &stats);
        esk_tree_space(reader, &space);
        MISUSE(esk_tree_check(reader, &report), ESK_OK);
        ESK_CHECK_INT(report.rows, ROWS);
        MISUSE(esk_tree_walk_open(reader, &walk), ESK_OK);
        MISUSE(esk_volume_step(&misuse_volume, 0, NULL), ESK_OK);
        esk_tree_close(reader);
        tables_work();
        tables_verify();
    }
}

/* Cursors and walks. */

static uint32_t rows_of(struct esk_tree *table, struct esk_tree_cursor *cursor,
                        int end) {
    uint8_t got[ROW_BYTES];
    uint32_t rows = 0;
    while (esk_tree_cursor_next(table, cursor, got) == ESK_OK) {
        rows++;
    }
    ESK_CHECK_INT(esk_tree_cursor_next(table, cursor, got), end);
    return rows;
}

ESK_TEST(cursor_serves_the_tree_alone_that_it_was_opened_on) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_cursor cursor;
        struct esk_tree *reader = NULL;
        start(&kinds[k]);
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, NULL), ESK_OK);
        memset(&cursor, 0, sizeof cursor);
        MISUSE(esk_tree_cursor_next(tree, &cursor, row), ESK_E_INVALID);
        for (uint8_t backward = 0; backward < 2; backward++) {
            struct esk_tree_query query = {.backward = backward != 0};
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            MISUSE(esk_tree_cursor_next(other, &cursor, row), ESK_E_INVALID);
            MISUSE(esk_tree_cursor_next(tree, &cursor, row), ESK_OK);
            MISUSE(esk_tree_cursor_next(other, &cursor, row), ESK_E_INVALID);
            MISUSE(esk_tree_cursor_next(reader, &cursor, row), ESK_E_INVALID);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), ROWS - 1);
        }
        tables_work();
    }
}

ESK_TEST(walk_goes_over_the_tree_alone_that_it_was_opened_on) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        start(&kinds[k]);
        memset(&walk, 0, sizeof walk);
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
        MISUSE(esk_tree_walk_next(other, &walk, &node), ESK_E_INVALID);
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_OK);
        MISUSE(esk_tree_walk_next(other, &walk, &node), ESK_E_INVALID);
        tables_work();
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_E_STALE);
        tables_verify();
    }
}

ESK_TEST(cursor_takes_bounds_in_any_order) {
    static const uint8_t low[4] = {0};
    static const uint8_t high[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        for (uint8_t backward = 0; backward < 2; backward++) {
            struct esk_tree_cursor cursor;
            struct esk_tree_query query = {
                .key_min = high, .key_max = low, .backward = backward != 0};
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), 0);
            query.key_min = low;
            query.key_max = high;
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), ROWS);
        }
        MISUSE(esk_tree_floor(tree, low, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_ceiling(tree, high, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_get(tree, high, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_delete(tree, high), ESK_NOT_FOUND);
    }
}

/* Rows and keys. */

ESK_TEST(tree_puts_none_of_none_and_only_what_the_call_says) {
    for (size_t k = 0; k < KINDS; k++) {
        uint32_t done = 7;
        start(&kinds[k]);
        MISUSE(esk_tree_put_many(tree, NULL, 0, &done), ESK_OK);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_put_many(tree, NULL, 0, NULL), ESK_OK);
        row_make(1);
        MISUSE(esk_tree_insert(tree, row), ESK_EXISTS);
        row_make(FAR);
        MISUSE(esk_tree_update(tree, row), ESK_NOT_FOUND);
        tables_work();
        tables_verify();
    }
}

ESK_TEST(tree_takes_no_key_that_is_no_number) {
    const struct esk_column ratio = {.name = "ratio", .type = ESK_TYPE_F32};
    const float no_number[2] = {NAN, -NAN};
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_spec spec = spec_of(&kinds[k], "ratios");
        uint8_t got[4];
        start(&kinds[k]);
        tables_close();
        spec.table.columns = &ratio;
        table_columns(&spec.table, 1);
        ESK_CHECK_INT(esk_tree_open_or_create(&tree, &misuse_volume, &spec,
                                              &kinds[k].config, NULL),
                      ESK_OK);
        for (int i = -40; i < 40; i++) {
            float value = (float)i;
            ESK_CHECK_INT(esk_tree_put(tree, &value), ESK_OK);
        }
        ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
        for (uint8_t i = 0; i < 2; i++) {
            struct esk_tree_cursor cursor;
            uint32_t done = 7;
            const void *nan = &no_number[i];
            struct esk_tree_query query = {.key_min = nan, .key_max = nan};
            MISUSE(esk_tree_put(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_insert(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_update(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_put_many(tree, nan, 1, &done), ESK_E_INVALID);
            ESK_CHECK_INT(done, 0);
            MISUSE(esk_tree_delete(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_get(tree, nan, got), ESK_NOT_FOUND);
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), 0);
        }
    }
}

ESK_TEST(tree_mounted_read_only_refuses_each_change) {
    for (size_t k = 0; k < KINDS; k++) {
        uint32_t done = 7;
        start(&kinds[k]);
        tables_close();
        misuse_mount(ESK_MOUNT_READ_ONLY);
        tables_open(&kinds[k]);
        row_make(1);
        MISUSE(esk_tree_put(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_insert(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_update(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_put_many(tree, row, 1, &done), ESK_E_READ_ONLY);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_delete(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_begin(tree, 0), ESK_E_READ_ONLY);
        MISUSE(esk_tree_sync(tree), ESK_OK);
        struct esk_tree_report report;
        MISUSE(esk_tree_check(tree, &report), ESK_OK);
        tables_close();
        misuse_mount(0);
        tables_open(&kinds[k]);
        tables_work();
        tables_verify();
    }
}

/* What is asserted: no pointer is NULL but where its call says so. */

static void pointers_asserted(const struct kind *kind) {
    struct esk_tree_cursor cursor;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    start(kind);
    row_make(1);
    MISUSE_ASSERTS(esk_tree_put(tree, NULL));
    MISUSE_ASSERTS(esk_tree_insert(tree, NULL));
    MISUSE_ASSERTS(esk_tree_update(tree, NULL));
    MISUSE_ASSERTS(esk_tree_put_many(tree, NULL, 1, NULL));
    MISUSE_ASSERTS(esk_tree_delete(tree, NULL));
    MISUSE_ASSERTS(esk_tree_get(tree, NULL, row));
    MISUSE_ASSERTS(esk_tree_get(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_floor(tree, NULL, row));
    MISUSE_ASSERTS(esk_tree_floor(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_ceiling(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_first(tree, NULL));
    MISUSE_ASSERTS(esk_tree_last(tree, NULL));
    MISUSE_ASSERTS(esk_tree_count(tree, NULL));
    MISUSE_ASSERTS(esk_tree_cursor_open(tree, NULL, NULL));
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, NULL, row));
    ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, NULL), ESK_OK);
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, &cursor, NULL));
    ESK_CHECK_INT(esk_tree_cursor_next(tree, &cursor, row), ESK_OK);
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, &cursor, NULL));
    MISUSE_ASSERTS(esk_tree_check(tree, NULL));
    MISUSE_ASSERTS(esk_tree_stats(tree, NULL));
    MISUSE_ASSERTS(esk_tree_space(tree, NULL));
    MISUSE_ASSERTS(esk_tree_walk_open(tree, NULL));
    MISUSE_ASSERTS(esk_tree_walk_next(tree, NULL, &node));
    ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
    MISUSE_ASSERTS(esk_tree_walk_next(tree, &walk, NULL));
    MISUSE_ASSERTS(esk_tree_reader_open(NULL, tree, NULL));
    tables_work();
    tables_verify();
}

ESK_TEST(tree_asserts_its_pointers) {
    for (size_t k = 0; k < KINDS; k++) {
        pointers_asserted(&kinds[k]);
    }
}

ESK_TEST(tree_asserts_the_pointers_of_its_making) {
    const struct esk_tree_config *config = &kinds[3].config;
    struct esk_volume *volume = &misuse_volume;
    struct esk_tree_spec spec = spec_of(&kinds[3], "x");
    struct esk_btree_layout layout;
    struct esk_tree_options options;
    struct esk_table_info info;
    struct esk_tree *own = NULL;
    struct esk_fault fault;
    start(&kinds[3]);
    ESK_CHECK_INT(esk_volume_find(volume, "map", &info), ESK_OK);
    MISUSE_ASSERTS(esk_tree_options(NULL, &options));
    MISUSE_ASSERTS(esk_tree_options(&info, NULL));
    MISUSE_ASSERTS(esk_tree_spec_check(NULL, 256, &fault));
    MISUSE_ASSERTS(esk_tree_spec_check(&spec, 256, NULL));
    MISUSE_ASSERTS(esk_tree_create(NULL, &spec, NULL));
    MISUSE_ASSERTS(esk_tree_create(volume, NULL, NULL));
    MISUSE_ASSERTS(esk_tree_arena_bytes(NULL, &info, config));
    MISUSE_ASSERTS(esk_tree_arena_bytes(volume, NULL, config));
    MISUSE_ASSERTS(esk_tree_arena_bytes(volume, &info, NULL));
    MISUSE_ASSERTS(esk_tree_layout_read(volume, &info, NULL, &layout));
    MISUSE_ASSERTS(esk_tree_layout_read(volume, &info, config->store, NULL));
    MISUSE_ASSERTS(esk_tree_open(NULL, volume, "map", config));
    MISUSE_ASSERTS(esk_tree_open(&own, NULL, "map", config));
    MISUSE_ASSERTS(esk_tree_open(&own, volume, "map", NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(NULL, volume, &spec, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, NULL, &spec, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, volume, NULL, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, volume, &spec, NULL, NULL));
    ESK_CHECK_INT(esk_tree_layout_read(volume, &info, config->store, &layout),
                  ESK_OK);
    /* It is open. */
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, &layout, config));
    esk_tree_close(tree);
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, &layout, NULL));
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, NULL, &layout, config));
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, NULL, config));
    ESK_CHECK_INT(esk_tree_open(&tree, volume, "map", config), ESK_OK);
    tables_work();
}

/* The plan. */

ESK_TEST(tree_plan_asserts_its_pointers) {
    const struct esk_tree_need need = {.rows = 1};
    struct esk_tree_plan plan;
    uint8_t k = 0;
    MISUSE_ASSERTS(esk_tree_plan_headers(NULL));
    MISUSE_ASSERTS(esk_tree_plan_entries(NULL, 50, 1, 1));
    MISUSE_ASSERTS(esk_tree_plan_best_k(NULL, &k));
    MISUSE_ASSERTS(esk_tree_plan_best_k(&need, NULL));
    MISUSE_ASSERTS(esk_tree_plan(NULL, &plan));
    MISUSE_ASSERTS(esk_tree_plan(&need, NULL));
}

ESK_TEST(tree_plan_answers_any_need) {
    static const uint16_t words[] = {0, 1, 2, 15, 16, 127, 512, UINT16_MAX};
    static const uint32_t counts[] = {0, 1, 1000, UINT32_MAX};
    static const uint8_t bytes[] = {0, 1, 50, 100, 101, 255};
    enum { WORDS = 8, COUNTS = 4, BYTES = 6, ROUNDS = 60000 };
    uint32_t random = 12345;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t drawn[16];
        for (uint8_t n = 0; n < 16; n++) {
            random = random * 1664525u + 1013904223u;
            drawn[n] = random >> 16;
        }
        struct esk_tree_plan plan;
        uint8_t k = 0;
        struct esk_tree_need need = {
            .rows = counts[drawn[0] % COUNTS],
            .updates_a_day = counts[drawn[1] % COUNTS],
            .endurance = counts[drawn[2] % COUNTS],
            .blocks = counts[drawn[3] % COUNTS],
            .block_pages = words[drawn[4] % WORDS],
            .page_bytes = words[drawn[5] % WORDS],
            .page_header_bytes = words[drawn[6] % 5],
            .node_header_bytes = words[drawn[7] % 5],
            .leaf_entry_bytes = words[drawn[8] % WORDS],
            .index_entry_bytes = words[drawn[9] % WORDS],
            .store = (uint8_t)(drawn[10] % 6),
            .k_percent = bytes[drawn[11] % BYTES],
            .height_most = bytes[drawn[12] % BYTES],
            .fill_percent = bytes[drawn[13] % BYTES],
            .frames = bytes[drawn[14] % BYTES]};
        ESK_CONTEXT("need %u", i);
        int status = esk_tree_plan(&need, &plan);
        ESK_CHECK(status == ESK_OK || status == ESK_E_INVALID ||
                  status == ESK_NOT_FOUND);
        status = esk_tree_plan_best_k(&need, &k);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        uint16_t entries = esk_tree_plan_entries(
            &need, bytes[drawn[14] % BYTES], bytes[drawn[15] % 2],
            bytes[drawn[14] % BYTES]);
        bool is_none = need.leaf_entry_bytes == 0 ||
                       need.page_bytes < need.page_header_bytes;
        ESK_CHECK(!is_none || bytes[drawn[15] % 2] != 1 || entries == 0);
        esk_tree_plan_headers(&need);
    }
}

ESK_TEST_MAIN()
