// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "esker/schema.h"

#include "esker/status.h"
#include "table/series/series_spec.h"
#include "test/harness/esk_test.h"
#include "test/harness/table_columns.h"
#include "volume/schema_plan.h"

#define LONG_NAME "a name of thirty-two bytes, or so"

static const struct esk_column columns[] = {
    {.name = "at", .unit = "ms", .type = ESK_TYPE_U32},
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_F32},
    {.name = "gate", .type = ESK_TYPE_U8},
    {.name = "tag", .type = ESK_TYPE_BYTES, .bytes = 5},
    {.name = "note", .unit = "", .type = ESK_TYPE_VAR},
};

static const uint8_t edges[] = {10, 20, 30};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16},
    {.column = 2, .bitmap_bits = 8, .edges = edges, .edge_count = 3},
};

/// A valid table; a test breaks one thing of it.
struct good {
    struct esk_column columns[ESK_COLUMN_COUNT_MAX];
    struct esk_index_spec indexes[ESK_INDEX_COUNT_MAX];
    struct esk_series_spec spec;
};

static struct esk_series_spec *good_start(struct good *good) {
    memset(good, 0, sizeof *good);
    memcpy(good->columns, columns, sizeof columns);
    memcpy(good->indexes, indexes, sizeof indexes);
    good->spec.table.name = "log";
    good->spec.table.columns = good->columns;
    good->spec.indexes = good->indexes;
    table_columns(&good->spec.table, 5);
    good->spec.index_count = 2;
    return &good->spec;
}

static void check_fault(const struct good *good, uint16_t page_bytes,
                        uint8_t kind, uint8_t column) {
    struct esk_fault fault = {.kind = 0};
    int expected = kind == ESK_FAULT_NONE ? ESK_OK : ESK_E_SCHEMA;
    int status = esk_series_spec_check(&good->spec, page_bytes, &fault);
    ESK_CHECK_TEXT(esk_fault_text(fault.kind), esk_fault_text(kind));
    ESK_CHECK_INT(status, expected);
    ESK_CHECK_INT(fault.column, column);
}

ESK_TEST(schema_row_is_its_columns_one_after_another) {
    ESK_CHECK_INT(esk_row_bytes(columns, 5), 4 + 4 + 1 + 5 + ESK_VAR_REF_BYTES);
    static const uint16_t offsets[] = {0, 4, 8, 9, 14};
    for (uint8_t i = 0; i < 5; i++) {
        ESK_CHECK_INT(esk_row_offset(columns, i), offsets[i]);
    }
}

ESK_TEST(schema_knows_the_width_of_every_type) {
    static const uint16_t widths[] = {
        0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 7, ESK_VAR_REF_BYTES, 0};
    for (uint8_t type = 0; type < 14; type++) {
        ESK_CONTEXT("type %u", type);
        ESK_CHECK_INT(esk_type_bytes(type, 7), widths[type]);
    }
    ESK_CHECK_INT(esk_type_bytes(ESK_TYPE_BYTES, 1024), 1024);
    ESK_CHECK_INT(esk_type_bytes(ESK_TYPE_BYTES, 1025), 0);
}

ESK_TEST(schema_row_with_an_unknown_type_has_no_width) {
    struct esk_column unknown[] = {{.name = "a", .type = ESK_TYPE_U8},
                                   {.name = "b", .type = 99}};
    ESK_CHECK_INT(esk_row_bytes(unknown, 1), 1);
    ESK_CHECK_INT(esk_row_bytes(unknown, 2), 0);
}

ESK_TEST(schema_check_takes_a_good_table) {
    struct good good;
    good_start(&good);
    check_fault(&good, 128, ESK_FAULT_NONE, 0);
    check_fault(&good, 4096, ESK_FAULT_NONE, 0);
}

ESK_TEST(schema_check_finds_a_bad_table_name) {
    static const char *const names[] = {NULL, "", LONG_NAME};
    for (int i = 0; i < 3; i++) {
        struct good good;
        good_start(&good)->table.name = names[i];
        check_fault(&good, 256, ESK_FAULT_TABLE_NAME, 0);
        good_start(&good);
        good.columns[2].name = names[i];
        check_fault(&good, 256, ESK_FAULT_COLUMN_NAME, 2);
    }
}

ESK_TEST(schema_check_finds_missing_and_too_many_columns) {
    struct good good;
    good_start(&good)->table.columns = NULL;
    check_fault(&good, 256, ESK_FAULT_NO_COLUMNS, 0);
    good_start(&good)->table.column_count = 0;
    check_fault(&good, 256, ESK_FAULT_NO_COLUMNS, 0);
    good_start(&good)->table.column_count = ESK_COLUMN_COUNT_MAX + 1;
    check_fault(&good, 256, ESK_FAULT_NO_COLUMNS, 0);
}

ESK_TEST(schema_check_finds_each_bad_column) {
    struct good good;
    good_start(&good);
    good.columns[3].name = "heat";
    check_fault(&good, 256, ESK_FAULT_COLUMN_DUPLICATE, 3);
    good_start(&good);
    good.columns[2].type = 13;
    check_fault(&good, 256, ESK_FAULT_COLUMN_TYPE, 2);
    good_start(&good);
    good.columns[3].bytes = 0;
    check_fault(&good, 256, ESK_FAULT_COLUMN_TYPE, 3);
    good_start(&good);
    good.columns[1].unit = LONG_NAME;
    check_fault(&good, 256, ESK_FAULT_UNIT, 1);
    good_start(&good);
    good.columns[3].type = ESK_TYPE_VAR;
    check_fault(&good, 256, ESK_FAULT_VAR_COUNT, 4);
}

ESK_TEST(schema_check_finds_a_bad_key) {
    static const uint8_t types[] = {ESK_TYPE_F32, ESK_TYPE_F64, ESK_TYPE_BYTES};
    struct good good;
    good_start(&good)->table.key_column = 5;
    check_fault(&good, 256, ESK_FAULT_NO_KEY, 5);
    good_start(&good)->table.key_column = 4;
    check_fault(&good, 256, ESK_FAULT_KEY_TYPE, 4);
    for (int i = 0; i < 3; i++) {
        good_start(&good);
        good.columns[0].type = types[i];
        good.columns[0].bytes = 4;
        table_columns(&good.spec.table, 5);
        check_fault(&good, 256, ESK_FAULT_KEY_TYPE, 0);
    }
}

ESK_TEST(schema_check_finds_a_row_wider_than_a_page) {
    struct good good;
    good_start(&good);
    good.columns[3].bytes = 128 - 16 - 9 - ESK_VAR_REF_BYTES;
    table_columns(&good.spec.table, 5);
    check_fault(&good, 128, ESK_FAULT_NONE, 0);
    good.columns[3].bytes++;
    check_fault(&good, 128, ESK_FAULT_ROW_TOO_WIDE, 4);
    good.columns[3].bytes = 1000;
    check_fault(&good, 128, ESK_FAULT_ROW_TOO_WIDE, 3);
}

ESK_TEST(schema_check_finds_each_bad_index) {
    static const struct {
        struct esk_index_spec index;
        uint8_t kind;
    } cases[] = {
        {{.column = 5}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 0}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 3}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 4}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 1}, ESK_FAULT_INDEX_DUPLICATE},
        {{.column = 2, .bitmap_bits = 7}, ESK_FAULT_INDEX_BITMAP},
        {{.column = 2, .bitmap_bits = 128}, ESK_FAULT_INDEX_BITMAP},
        {{.column = 2, .bitmap_bits = 8, .edges = edges},
         ESK_FAULT_INDEX_EDGES},
        {{.column = 2, .bitmap_bits = 8, .edges = edges, .edge_count = 8},
         ESK_FAULT_INDEX_EDGES},
        {{.column = 2, .edges = edges, .edge_count = 64},
         ESK_FAULT_INDEX_EDGES},
        {{.column = 2,
          .bitmap_bits = ESK_BITMAP_NONE,
          .edges = edges,
          .edge_count = 1},
         ESK_FAULT_INDEX_EDGES},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct good good;
        ESK_CONTEXT("case %zu", i);
        good_start(&good);
        good.indexes[1] = cases[i].index;
        check_fault(&good, 256, cases[i].kind, 1);
    }
}

ESK_TEST(schema_check_takes_edges_without_a_number_of_buckets) {
    struct good good;
    good_start(&good);
    good.indexes[1].bitmap_bits = 0;
    check_fault(&good, 256, ESK_FAULT_NONE, 0);
}

ESK_TEST(schema_check_finds_edges_that_do_not_rise_or_are_nan) {
    static const uint8_t falling[] = {10, 9};
    static const uint8_t equal[] = {10, 10};
    static const uint8_t nan[] = {0, 0, 0xC0, 0x7F};
    struct good good;
    good_start(&good);
    good.indexes[1].edge_count = 2;
    good.indexes[1].edges = falling;
    check_fault(&good, 256, ESK_FAULT_INDEX_EDGES, 1);
    good.indexes[1].edges = equal;
    check_fault(&good, 256, ESK_FAULT_INDEX_EDGES, 1);
    good.indexes[0].edges = nan;
    good.indexes[0].edge_count = 1;
    check_fault(&good, 256, ESK_FAULT_INDEX_EDGES, 0);
}

ESK_TEST(schema_check_finds_missing_and_too_many_indexes) {
    struct good good;
    good_start(&good)->indexes = NULL;
    check_fault(&good, 256, ESK_FAULT_INDEX_COLUMN, 0);
    good.spec.index_count = 0;
    check_fault(&good, 256, ESK_FAULT_NONE, 0);
    good_start(&good)->index_count = ESK_INDEX_COUNT_MAX + 1;
    check_fault(&good, 256, ESK_FAULT_INDEX_COLUMN, 0);
}

ESK_TEST(schema_check_finds_index_entries_wider_than_half_a_page) {
    struct good good;
    good_start(&good);
    for (uint8_t i = 0; i < 8; i++) {
        static const char *const names[] = {"a", "b", "c", "d",
                                            "e", "f", "g", "h"};
        good.columns[i + 1] =
            (struct esk_column){.name = names[i], .type = ESK_TYPE_F64};
        good.indexes[i] = (struct esk_index_spec){.column = (uint8_t)(i + 1),
                                                  .bitmap_bits = 64};
    }
    table_columns(&good.spec.table, 9);
    good.spec.index_count = 8;
    check_fault(&good, 256, ESK_FAULT_INDEX_TOO_WIDE, 0);
    check_fault(&good, 512, ESK_FAULT_NONE, 0);
}

ESK_TEST(schema_check_finds_options_out_of_range) {
    static const struct {
        uint8_t full_policy;
        uint8_t group_pages;
        uint32_t data, index, var;
        uint8_t kind;
    } cases[] = {
        {2, 0, 0, 0, 0, ESK_FAULT_OPTION},  {0, 3, 0, 0, 0, ESK_FAULT_OPTION},
        {0, 65, 0, 0, 0, ESK_FAULT_OPTION}, {0, 0, 1, 0, 0, ESK_FAULT_REGION},
        {0, 0, 0, 1, 0, ESK_FAULT_REGION},  {0, 0, 0, 0, 1, ESK_FAULT_REGION},
        {1, 4, 2, 2, 2, ESK_FAULT_NONE},    {0, 64, 0, 0, 0, ESK_FAULT_NONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct good good;
        ESK_CONTEXT("case %zu", i);
        good_start(&good);
        good.spec.full_policy = cases[i].full_policy;
        good.spec.group_pages = cases[i].group_pages;
        good.spec.data_blocks = cases[i].data;
        good.spec.index_blocks = cases[i].index;
        good.spec.var_blocks = cases[i].var;
        check_fault(&good, 256, cases[i].kind, 0);
    }
}

/// A good table whose data pages are packed.
static struct esk_series_spec *packed_start(struct good *good) {
    struct esk_series_spec *spec = good_start(good);
    spec->codec = ESK_CODEC_PACKED;
    return spec;
}

ESK_TEST(schema_check_finds_modes_that_a_column_cannot_have) {
    static const struct {
        uint8_t column;
        uint8_t mode;
        bool fits;
    } cases[] = {
        {0, ESK_PACK_DELTA, true},       {0, ESK_PACK_RAW, false},
        {0, ESK_PACK_FLOAT, false},      {1, ESK_PACK_FLOAT, true},
        {1, ESK_PACK_DECIMAL + 3, true}, {1, ESK_PACK_RAW, true},
        {1, ESK_PACK_DELTA, false},      {1, ESK_PACK_RAW + 1, false},
        {2, ESK_PACK_LINEAR, true},      {2, ESK_PACK_DECIMAL, false},
        {3, ESK_PACK_RAW, true},         {3, ESK_PACK_DELTA, false},
        {4, ESK_PACK_DEFAULT, true},     {4, ESK_PACK_RAW, false},
    };
    struct good good;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t column = cases[i].column;
        bool fits = cases[i].fits;
        ESK_CONTEXT("case %u", (unsigned)i);
        packed_start(&good);
        good.columns[column].mode = cases[i].mode;
        check_fault(&good, 512, fits ? ESK_FAULT_NONE : ESK_FAULT_MODE,
                    fits ? 0 : column);
        good_start(&good);
        good.columns[column].mode = cases[i].mode;
        bool none = cases[i].mode == ESK_PACK_DEFAULT;
        check_fault(&good, 512, none ? ESK_FAULT_NONE : ESK_FAULT_MODE,
                    none ? 0 : column);
    }
}

ESK_TEST(schema_stores_the_mode_that_a_default_stands_for) {
    ESK_CHECK_INT(esk_mode_stored(ESK_TYPE_I64, ESK_PACK_DEFAULT, true),
                  ESK_PACK_LINEAR);
    ESK_CHECK_INT(esk_mode_stored(ESK_TYPE_U8, ESK_PACK_DEFAULT, false),
                  ESK_PACK_DELTA);
    ESK_CHECK_INT(esk_mode_stored(ESK_TYPE_F32, ESK_PACK_DEFAULT, false),
                  ESK_PACK_FLOAT);
    ESK_CHECK_INT(esk_mode_stored(ESK_TYPE_F64, ESK_PACK_DEFAULT, false), 0);
    ESK_CHECK_INT(esk_mode_stored(ESK_TYPE_F64, ESK_PACK_RAW, false), 0);
}

ESK_TEST(schema_check_finds_cells_that_cannot_be) {
    struct good good;
    good_start(&good)->codec = 2;
    check_fault(&good, 512, ESK_FAULT_CODEC, 0);
    good_start(&good)->cell_bytes = 256;
    check_fault(&good, 512, ESK_FAULT_CODEC, 0);
    static const struct {
        uint16_t cell;
        uint16_t page;
        bool fits;
    } cases[] = {{64, 512, true},   {128, 264, true},   {512, 512, true},
                 {32, 512, false},  {1024, 512, false}, {192, 512, false},
                 {512, 264, false}, {256, 264, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("cells of %u", cases[i].cell);
        packed_start(&good)->cell_bytes = cases[i].cell;
        check_fault(&good, cases[i].page,
                    cases[i].fits ? ESK_FAULT_NONE : ESK_FAULT_CODEC, 0);
    }
    /* A row, its fields, an envelope and a byte: 64 - 17 - 6 fields. */
    packed_start(&good)->cell_bytes = 64;
    good.columns[3].bytes = 26;
    table_columns(&good.spec.table, 5);
    check_fault(&good, 512, ESK_FAULT_NONE, 0);
    good.columns[3].bytes = 27;
    table_columns(&good.spec.table, 5);
    check_fault(&good, 512, ESK_FAULT_CODEC, 0);
}

ESK_TEST(schema_derives_cells_that_rows_fit) {
    static const struct {
        uint16_t row;
        uint16_t page;
        uint16_t cell;
    } cases[] = {{20, 512, 256}, {21, 512, 512},    {21, 256, 256},
                 {21, 528, 512}, {600, 2048, 1024}, {200, 256, 256},
                 {240, 256, 0},  {20, 128, 128}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct good good;
        ESK_CONTEXT("rows of %u", cases[i].row);
        packed_start(&good);
        good.columns[1].type = ESK_TYPE_BYTES;
        good.columns[1].bytes = (uint16_t)(cases[i].row - 4u);
        table_columns(&good.spec.table, 2);
        ESK_CHECK_INT(esk_series_cell_bytes(&good.spec, cases[i].page),
                      cases[i].cell);
    }
}

ESK_TEST(schema_fault_text_names_every_fault) {
    for (uint8_t kind = 0; kind <= ESK_FAULT_INDEX_SORTED; kind++) {
        ESK_CONTEXT("fault %u", kind);
        ESK_CHECK(strlen(esk_fault_text(kind)) > 0 || kind == 0);
        for (uint8_t other = 0; other < kind; other++) {
            ESK_CHECK(strcmp(esk_fault_text(kind), esk_fault_text(other)) != 0);
        }
    }
    ESK_CHECK(esk_fault_text(200) != NULL);
}

ESK_TEST(schema_derives_run_and_group_lengths_that_fit_a_page) {
    static const struct {
        uint8_t indexes, run_asked, group_asked;
        uint16_t page_bytes;
        uint8_t run, group;
    } cases[] = {
        {0, 0, 0, 128, 64, 16},     {0, 9, 5, 128, 9, 5},
        {0, 255, 64, 128, 255, 64}, {2, 0, 0, 4096, 64, 16},
        {2, 0, 0, 128, 6, 4},       {2, 3, 0, 128, 3, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct good good;
        uint8_t run = 0;
        uint8_t group = 0;
        ESK_CONTEXT("case %zu", i);
        good_start(&good);
        good.spec.index_count = cases[i].indexes;
        good.spec.run_pages = cases[i].run_asked;
        good.spec.group_pages = cases[i].group_asked;
        esk_series_spec_derive(&good.spec, cases[i].page_bytes, &run, &group);
        ESK_CHECK_INT(run, cases[i].run);
        ESK_CHECK_INT(group, cases[i].group);
    }
}

ESK_TEST(schema_knows_integers_from_numbers) {
    for (uint8_t type = 0; type < 14; type++) {
        ESK_CONTEXT("type %u", type);
        ESK_CHECK_INT(esk_type_is_integer(type),
                      type >= ESK_TYPE_I8 && type <= ESK_TYPE_U64);
        ESK_CHECK_INT(esk_type_is_number(type),
                      type >= ESK_TYPE_I8 && type <= ESK_TYPE_F64);
    }
}

ESK_TEST_MAIN()
