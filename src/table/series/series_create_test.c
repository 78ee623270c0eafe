// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "esker/row.h"
#include "table/series/series.h"
#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

#define LOG_ROW(COLUMN)                                                        \
    COLUMN(U32, time, "s")                                                     \
    COLUMN(I16, level, "mm")                                                   \
    COLUMN(BYTES(3), mac, "")                                                  \
    COLUMN(TEXT(5), place, "")                                                 \
    COLUMN(VAR_TEXT, note, "")
ESK_ROW(log_row, LOG_ROW);

#define ODD_ROW(COLUMN)                                                        \
    COLUMN(U8, gate, "")                                                       \
    COLUMN(F32, heat, "degC")                                                  \
    COLUMN(U64, at, "us")
ESK_ROW_PACKED(odd_row, ODD_ROW);

static const struct esk_series_spec log_spec = {
    .table = {.name = "log", ESK_ROW_SPEC(log_row)}, .data_blocks = 8};

static uint64_t arena[512];

/// Opens what `spec` describes, or creates it, on the fixture's volume.
static int use(struct esk_fixture *fixture, const struct esk_series_spec *spec,
               struct esk_series **series, struct esk_fault *fault) {
    return test_series_open_or_create(series, &esk_series_parts_all,
                                      &fixture->volume, spec, NULL, arena,
                                      sizeof arena, fault);
}

ESK_TEST(row_macros_make_a_struct_and_its_columns) {
    ESK_CHECK_INT(sizeof(struct odd_row), 13);
    ESK_CHECK_INT(sizeof(struct log_row), 20);
    ESK_CHECK_INT(log_spec.table.column_count, 5);
    ESK_CHECK_INT(log_spec.table.row_bytes, 20);
    ESK_CHECK_INT(esk_row_bytes(log_row_columns, 5), 20);
    ESK_CHECK_INT(esk_row_bytes(odd_row_columns, 3), 13);
    ESK_CHECK_INT(esk_row_offset(log_row_columns, 3),
                  offsetof(struct log_row, place));
    ESK_CHECK_TEXT(log_row_columns[2].name, "mac");
    ESK_CHECK_TEXT(odd_row_columns[1].unit, "degC");
    ESK_CHECK_INT(log_row_columns[2].type, ESK_TYPE_BYTES);
    ESK_CHECK_INT(log_row_columns[2].bytes, 3);
    ESK_CHECK_INT(log_row_columns[3].flags, ESK_COLUMN_TEXT);
    ESK_CHECK_INT(log_row_columns[4].type, ESK_TYPE_VAR);
}

ESK_TEST(series_is_created_once_and_opened_at_each_later_boot) {
    struct esk_fixture fixture;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (uint32_t boot = 1; boot < 4; boot++) {
        struct esk_series *series = NULL;
        struct log_row row = {.time = boot, .place = "here"};
        uint32_t rows = 0;
        ESK_CONTEXT("boot %u", (unsigned)boot);
        ESK_CHECK_INT(use(&fixture, &log_spec, &series, NULL), ESK_OK);
        ESK_CHECK_INT(esk_series_append(series, &row), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        ESK_CHECK_INT(esk_series_count(series, &rows), ESK_OK);
        ESK_CHECK_INT(rows, boot);
        struct esk_series *again = NULL;
        ESK_CHECK_INT(use(&fixture, &log_spec, &again, NULL), ESK_E_BUSY);
        esk_series_close(series);
        fixture_mount(&fixture);
    }
    struct esk_table_info info;
    struct esk_column_info column;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_column(&fixture.volume, &info, 4, &column),
                  ESK_OK);
    ESK_CHECK_INT(column.flags, ESK_COLUMN_TEXT);
    /* A read-only mount opens it, and creates no other. */
    struct esk_series *series = NULL;
    ESK_CHECK_INT(esk_volume_mount(&fixture.volume, fixture.device,
                                   ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                  ESK_OK);
    ESK_CHECK_INT(use(&fixture, &log_spec, &series, NULL), ESK_OK);
    esk_series_close(series);
    struct esk_series_spec other = log_spec;
    other.table.name = "other";
    ESK_CHECK_INT(use(&fixture, &other, &series, NULL), ESK_E_READ_ONLY);
    fixture_end(&fixture);
}

/// A table that differs from log_spec, and how.
static const struct {
    uint8_t column; ///< to be changed; 255: none
    struct esk_column to;
    uint8_t count, key, row_bytes;
    struct esk_fault fault;
} differences[] = {
    {255, {.name = NULL}, 4, 0, 0, {ESK_FAULT_OTHER_COUNT, 0, 4, 5}},
    {255, {.name = NULL}, 5, 1, 0, {ESK_FAULT_OTHER_KEY, 1, 1, 0}},
    {255, {.name = NULL}, 5, 0, 24, {ESK_FAULT_ROW_STRUCT, 0, 24, 20}},
    {1,
     {.name = "depth", .type = ESK_TYPE_I16},
     5,
     0,
     0,
     {ESK_FAULT_OTHER_NAME, 1, 0, 0}},
    {1,
     {.name = "level", .type = ESK_TYPE_U16},
     5,
     0,
     0,
     {ESK_FAULT_OTHER_TYPE, 1, ESK_TYPE_U16, ESK_TYPE_I16}},
    {2,
     {.name = "mac", .type = ESK_TYPE_BYTES, .bytes = 6},
     5,
     0,
     0,
     {ESK_FAULT_OTHER_WIDTH, 2, 6, 3}},
    {2,
     {.name = "mac",
      .type = ESK_TYPE_BYTES,
      .bytes = 3,
      .flags = ESK_COLUMN_TEXT},
     5,
     0,
     0,
     {ESK_FAULT_OTHER_FLAGS, 2, ESK_COLUMN_TEXT, 0}},
    {1,
     {.name = "level", .type = ESK_TYPE_I16, .unit = "furlong"},
     5,
     0,
     0,
     {ESK_FAULT_OTHER_UNIT, 1, 0, 0}},
};

ESK_TEST(series_that_differs_is_reported_with_both_sides) {
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        struct esk_fixture fixture;
        struct esk_series *series = NULL;
        struct esk_fault fault = {.kind = 0};
        struct esk_column columns[5];
        struct esk_series_spec spec = log_spec;
        ESK_CONTEXT("case %zu", i);
        fixture_start(&fixture, &fixture_nor, NULL);
        ESK_CHECK_INT(use(&fixture, &spec, &series, NULL), ESK_OK);
        esk_series_close(series);
        memcpy(columns, log_row_columns, sizeof columns);
        if (differences[i].column != 255) {
            columns[differences[i].column] = differences[i].to;
        }
        spec.table.columns = columns;
        table_columns(&spec.table, differences[i].count);
        spec.table.key_column = differences[i].key;
        if (differences[i].row_bytes != 0) {
            spec.table.row_bytes = differences[i].row_bytes;
        }
        uint64_t operations = esk_sim_op_count(fixture.sim);
        ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, differences[i].fault.kind);
        ESK_CHECK_INT(fault.column, differences[i].fault.column);
        ESK_CHECK_INT(fault.wanted, differences[i].fault.wanted);
        ESK_CHECK_INT(fault.found, differences[i].fault.found);
        ESK_CHECK(strlen(esk_fault_text(fault.kind)) > 20);
        ESK_CHECK_INT(esk_sim_op_count(fixture.sim), operations);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_whose_keys_repeat_is_another) {
    struct esk_fixture fixture;
    struct esk_series *series = NULL;
    struct esk_fault fault = {.kind = 0};
    struct esk_series_spec spec = log_spec;
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(use(&fixture, &log_spec, &series, NULL), ESK_OK);
    esk_series_close(series);
    spec.keys_repeat = true;
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_OPTION);
    ESK_CHECK_INT(fault.wanted, 2);
    ESK_CHECK_INT(fault.found, 0);
    spec.keys_repeat = false;
    spec.full_policy = ESK_FULL_REFUSE;
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_OPTION);
    ESK_CHECK_INT(fault.wanted, ESK_FULL_REFUSE);
    ESK_CHECK_INT(fault.found, ESK_FULL_DROP_OLDEST);
    fixture_end(&fixture);
}

ESK_TEST(series_of_another_kind_or_without_room_is_reported) {
    static const struct esk_column map[] = {
        {.name = "id", .type = ESK_TYPE_U32},
        {.name = "value", .type = ESK_TYPE_U32}};
    const struct esk_tree_spec tree = {.table = {.name = "log",
                                                 .columns = map,
                                                 .column_count = 2,
                                                 .row_bytes = 8},
                                       .store = ESK_STORE_WANDERING,
                                       .blocks = 10};
    struct esk_fixture fixture;
    struct esk_series *series = NULL;
    struct esk_fault fault = {.kind = 0};
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(esk_tree_create(&fixture.volume, &tree, &fault), ESK_OK);
    ESK_CHECK_INT(use(&fixture, &log_spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_KIND);
    ESK_CHECK_INT(fault.wanted, ESK_TABLE_SERIES);
    ESK_CHECK_INT(fault.found, ESK_TABLE_TREE);
    struct esk_series_spec large = log_spec;
    large.table.name = "large";
    large.data_blocks = 60;
    large.index_blocks = 2;
    large.var_blocks = 2;
    ESK_CHECK_INT(use(&fixture, &large, &series, &fault), ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_NO_ROOM);
    ESK_CHECK_INT(fault.wanted, 64);
    ESK_CHECK_INT(fault.found, 64 - 2 * fixture.volume.half_blocks - 10);
    large.data_blocks = 0;
    large.index_blocks = 70;
    ESK_CHECK_INT(use(&fixture, &large, &series, &fault), ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_NO_ROOM);
    ESK_CHECK_INT(fault.wanted, 70 + 2 + 2);
    fixture_end(&fixture);
}

ESK_TEST(tree_is_created_once_and_opened_at_each_later_boot) {
    static const struct esk_column map[] = {
        {.name = "id", .type = ESK_TYPE_U32},
        {.name = "value", .type = ESK_TYPE_U32}};
    struct esk_tree_spec spec = {.table = {.name = "map",
                                           .columns = map,
                                           .column_count = 2,
                                           .row_bytes = 8},
                                 .store = ESK_STORE_WANDERING,
                                 .blocks = 10};
    struct esk_tree_config config = {.store = &esk_store_wandering};
    struct esk_fixture fixture;
    struct esk_fault fault = {.kind = 0};
    struct esk_tree *tree = NULL;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (uint32_t boot = 1; boot < 4; boot++) {
        const uint32_t row[] = {boot, 7};
        uint32_t rows = 0;
        ESK_CHECK_INT(test_tree_open_or_create(&tree, &fixture.volume, &spec,
                                               &config, arena, sizeof arena,
                                               &fault),
                      ESK_OK);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_count(tree, &rows), ESK_OK);
        ESK_CHECK_INT(rows, boot);
        esk_tree_close(tree);
        fixture_mount(&fixture);
    }
    spec.store = ESK_STORE_MU;
    config.store = &esk_store_mu;
    ESK_CHECK_INT(test_tree_open_or_create(&tree, &fixture.volume, &spec,
                                           &config, arena, sizeof arena,
                                           &fault),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_OPTION);
    ESK_CHECK_INT(fault.wanted, ESK_STORE_MU);
    ESK_CHECK_INT(fault.found, ESK_STORE_WANDERING);
    spec.store = ESK_STORE_WANDERING;
    config.store = &esk_store_wandering;
    spec.table.name = "small";
    spec.blocks = 3;
    ESK_CHECK_INT(test_tree_open_or_create(&tree, &fixture.volume, &spec,
                                           &config, arena, sizeof arena,
                                           &fault),
                  ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_NO_ROOM);
    ESK_CHECK_INT(fault.wanted, 7);
    ESK_CHECK_INT(fault.found, 3);
    ESK_CHECK_INT(test_tree_open_or_create(&tree, &fixture.volume, &spec,
                                           &config, arena, 20, NULL),
                  ESK_E_NO_MEMORY);
    fixture_end(&fixture);
}

ESK_TEST(options_of_a_newer_version_are_not_read) {
    struct esk_table_info info = {.options_bytes = ESK_OPTIONS_BYTES_MAX + 1};
    struct esk_series_options series;
    struct esk_tree_options tree;
    ESK_CHECK_INT(esk_series_options(&info, &series), ESK_E_CORRUPT);
    ESK_CHECK(series.has_breaks);
    ESK_CHECK_INT(esk_tree_options(&info, &tree), ESK_E_UNSUPPORTED);
    info.options_bytes = 0;
    ESK_CHECK_INT(esk_series_options(&info, &series), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_tree_options(&info, &tree), ESK_E_CORRUPT);
}

ESK_TEST(tree_whose_region_cannot_be_is_corrupt) {
    static const struct esk_column map[] = {
        {.name = "id", .type = ESK_TYPE_U32},
        {.name = "value", .type = ESK_TYPE_U32}};
    struct esk_tree_spec spec = {.table = {.name = "map",
                                           .columns = map,
                                           .column_count = 2,
                                           .row_bytes = 8},
                                 .store = ESK_STORE_WANDERING,
                                 .blocks = 10};
    struct esk_tree_config config = {.store = &esk_store_wandering};
    /* Blocks of the region, behind the head, the name, an option, a role. */
    const uint16_t at = ESK_DESCRIPTOR_NAME + 3 + (ESK_OPTION_HEAD + 2) + 5;
    static const uint8_t blocks[][4] = {{0}, {1}, {200}};
    for (size_t i = 0; i < 3; i++) {
        struct esk_fixture fixture;
        struct esk_tree *tree = NULL;
        ESK_CONTEXT("%u blocks", blocks[i][0]);
        fixture_start(&fixture, &fixture_nor, NULL);
        ESK_CHECK_INT(esk_tree_create(&fixture.volume, &spec, NULL), ESK_OK);
        forge_descriptor(&fixture, at, blocks[i], 4);
        fixture_mount(&fixture);
        ESK_CHECK_INT(test_tree_open(&tree, &fixture.volume, "map", &config,
                                     arena, sizeof arena),
                      ESK_E_CORRUPT);
        fixture_end(&fixture);
    }
}

ESK_TEST(tree_of_one_block_and_text_in_numbers_are_refused) {
    static const struct esk_column map[] = {
        {.name = "id", .type = ESK_TYPE_U32},
        {.name = "value", .type = ESK_TYPE_U32, .flags = ESK_COLUMN_TEXT}};
    struct esk_tree_spec spec = {.table = {.name = "map",
                                           .columns = map,
                                           .column_count = 1,
                                           .row_bytes = 4},
                                 .store = ESK_STORE_WANDERING,
                                 .blocks = 1};
    struct esk_fault fault = {.kind = 0};
    ESK_CHECK_INT(esk_tree_spec_check(&spec, 256, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_REGION);
    table_columns(&spec.table, 2);
    ESK_CHECK_INT(esk_tree_spec_check(&spec, 256, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_COLUMN_TYPE);
    ESK_CHECK_INT(fault.column, 1);
}

ESK_TEST(tree_columns_have_no_modes) {
    static const struct esk_column map[] = {
        {.name = "id", .type = ESK_TYPE_U32},
        {.name = "value", .type = ESK_TYPE_U32, .mode = ESK_PACK_DELTA}};
    struct esk_tree_spec spec = {.table = {.name = "map",
                                           .columns = map,
                                           .column_count = 2,
                                           .row_bytes = 8},
                                 .store = ESK_STORE_WANDERING};
    struct esk_fault fault = {.kind = 0};
    ESK_CHECK_INT(esk_tree_spec_check(&spec, 256, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_MODE);
    ESK_CHECK_INT(fault.column, 1);
}

ESK_TEST(series_packed_in_another_way_differs) {
    struct esk_column level[] = {
        {.name = "at", .type = ESK_TYPE_U32},
        {.name = "level", .type = ESK_TYPE_I16, .mode = ESK_PACK_RAW}};
    struct esk_series_spec spec = {.table = {.name = "level",
                                             .columns = level,
                                             .column_count = 2,
                                             .row_bytes = 6},
                                   .data_blocks = 8,
                                   .codec = ESK_CODEC_PACKED,
                                   .cell_bytes = 128};
    struct esk_fixture fixture;
    struct esk_fault fault = {.kind = 0};
    struct esk_series *series = NULL;
    fixture_start(&fixture, &fixture_nor, NULL);
    for (uint8_t boot = 0; boot < 2; boot++) {
        ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_OK);
        esk_series_close(series);
    }
    level[0].mode = ESK_PACK_LINEAR; /* the key's default */
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_OK);
    esk_series_close(series);
    level[1].mode = ESK_PACK_LINEAR;
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_MODE);
    ESK_CHECK_INT(fault.column, 1);
    ESK_CHECK_INT(fault.wanted, ESK_PACK_LINEAR);
    ESK_CHECK_INT(fault.found, 0);
    spec.cell_bytes = 0;
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_CELLS);
    ESK_CHECK_INT(fault.wanted, 256);
    ESK_CHECK_INT(fault.found, 128);
    spec.codec = ESK_CODEC_RAW;
    level[0].mode = 0;
    level[1].mode = 0;
    ESK_CHECK_INT(use(&fixture, &spec, &series, &fault), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_CODEC);
    ESK_CHECK_INT(fault.wanted, ESK_CODEC_RAW);
    ESK_CHECK_INT(fault.found, ESK_CODEC_PACKED);
    fixture_end(&fixture);
}

ESK_TEST(series_without_a_sync_journal_where_it_asks_for_none) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec spec = log_spec;
    spec.data_blocks = 16;
    for (uint8_t none = 0; none < 2; none++) {
        fixture_start(&fixture, &fixture_sd, NULL);
        spec.sync_blocks = none ? ESK_SYNC_BLOCKS_NONE : 0;
        ESK_CHECK_INT(esk_series_create(&fixture.volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
        ESK_CHECK_INT(info.blocks[ESK_REGION_SYNC] == 0, none);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_seeks_past_pages_without_rows) {
    static const struct esk_series_parts bare = {.keys = NULL};
    static const struct esk_series_spec odd_spec = {
        .table = {.name = "odd", ESK_ROW_SPEC(odd_row), .key_column = 2},
        .sync_blocks = ESK_SYNC_BLOCKS_NONE};
    struct esk_fixture fixture;
    struct esk_series *series = NULL;
    struct odd_row row = {.at = 1};
    fixture_start(&fixture, &fixture_nand, NULL);
    ESK_CHECK_INT(test_series_open_or_create(&series, &bare, &fixture.volume,
                                             &odd_spec, NULL, arena,
                                             sizeof arena, NULL),
                  ESK_OK);
    for (uint32_t page = 0; page < 12; page++) {
        for (uint32_t i = 0; i < 9; i++) {
            ESK_CHECK_INT(esk_series_append(series, &row), ESK_OK);
            row.at++;
        }
        ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        memset(fixture.page, 0xFF, sizeof fixture.page);
        ESK_CHECK_INT(esk_ring_append(&series->data, fixture.page, 0,
                                      series->ordinal, NULL),
                      ESK_OK);
    }
    for (uint32_t key = 1; key < 109; key++) {
        ESK_CHECK_INT(esk_series_get(series, key, &row), ESK_OK);
        ESK_CHECK_INT(row.at, key);
    }
    ESK_CHECK_INT(esk_series_get(series, 109, &row), ESK_NOT_FOUND);
    esk_series_close(series);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
