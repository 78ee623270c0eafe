// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong when it creates and opens a series: each
/// mistake is refused with the error that the header names, the medium stays as
/// it was, and the tables that are there go on working.
#include "test/harness/misuse_series.h"

/* How it is opened. */

struct config_case {
    struct esk_series_config config;
    int status;
};

static const struct config_case config_cases[] = {
    {{.frames = 0}, ESK_OK},
    {{.frames = 1}, ESK_E_INVALID},
    {{.frames = 3}, ESK_E_INVALID}, /* an index and values: 4 at least */
    {{.frames = 4}, ESK_OK},
    {{.frames = 255}, ESK_OK},
    {{.erase_ahead = 255}, ESK_OK},
    {{.key_index_bytes = 1}, ESK_E_INVALID},
    {{.key_index_bytes = 47}, ESK_E_INVALID},
    {{.key_index_bytes = 48}, ESK_OK},
    {{.key_index_bytes = 49}, ESK_OK},
    {{.key_index_bytes = 65528}, ESK_OK},
    {{.key_index_bytes = 65529}, ESK_OK},
    {{.key_index_bytes = 65535}, ESK_OK},
    {{.key_error_16ths = 1}, ESK_OK},
    {{.key_error_16ths = 16}, ESK_OK},
    {{.key_error_16ths = 17}, ESK_E_INVALID},
    {{.key_error_16ths = 255}, ESK_E_INVALID},
    {{.frames = 255, .erase_ahead = 255, .key_index_bytes = 65528}, ESK_OK},
};

/// Opens "log" in exactly the arena that it asks for, and in one byte less.
static void config_try(const struct config_case *at) {
    struct esk_table_info info;
    struct esk_series *own = NULL;
    const struct esk_series_config *config = &at->config;
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "log", &info), ESK_OK);
    uint32_t bytes = esk_series_arena_bytes(&misuse_volume, &info, config);
    ESK_CHECK_INT(bytes != 0, at->status == ESK_OK);
    if (bytes == 0) {
        MISUSE(esk_series_open(&own, &misuse_volume, "log", config),
               at->status);
        return;
    }
    void *arena = malloc(bytes);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, arena, bytes - 1),
                  ESK_OK);
    MISUSE(esk_series_open(&own, &misuse_volume, "log", config),
           ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, arena, bytes), ESK_OK);
    ESK_CHECK_INT(esk_series_open(&own, &misuse_volume, "log", config), ESK_OK);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, MISUSE_ARENA), ESK_OK);
    ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_open(&plain, &misuse_volume, "plain", NULL),
                  ESK_OK);
    series = own;
    for (uint16_t i = 0; i < 300; i++) {
        tables_work();
    }
    ESK_CHECK_INT(esk_series_get(own, key - 100, row), ESK_OK);
    free(arena);
}

ESK_TEST(series_refuses_a_configuration_out_of_range) {
    for (size_t i = 0; i < sizeof config_cases / sizeof config_cases[0]; i++) {
        ESK_CONTEXT("config %zu", i);
        start(&misuse_nor);
        esk_series_close(series);
        esk_series_close(plain);
        config_try(&config_cases[i]);
    }
}

/* What it is created by. */

enum { FAR = 1000000 };

struct spec_case {
    struct esk_series_spec spec; ///< what of it is not that of plain_spec
    int status;
    uint8_t fault;
    bool no_columns;
    bool no_row;
    bool with_index;
};

static const char name_of_32[] = "01234567890123456789012345678901";

#define AT {.name = "at", .type = ESK_TYPE_U32}
static const struct esk_column two_same[] = {AT, AT};
static const struct esk_column type_unknown[] = {AT, {.name = "x", .type = 13}};
static const struct esk_column type_zero[] = {AT, {.name = "x"}};
static const struct esk_column type_most[] = {AT, {.name = "x", .type = 255}};
static const struct esk_column no_bytes[] = {
    AT, {.name = "x", .type = ESK_TYPE_BYTES}};
static const struct esk_column bytes_most[] = {
    AT, {.name = "x", .type = ESK_TYPE_BYTES, .bytes = UINT16_MAX}};
static const struct esk_column wide[] = {
    AT, {.name = "x", .type = ESK_TYPE_BYTES, .bytes = 1024}};
static const struct esk_column name_null[] = {AT, {.type = ESK_TYPE_U8}};
static const struct esk_column name_empty[] = {
    AT, {.name = "", .type = ESK_TYPE_U8}};
static const struct esk_column name_long[] = {
    AT, {.name = name_of_32, .type = ESK_TYPE_U8}};
static const struct esk_column unit_long[] = {
    AT, {.name = "x", .unit = name_of_32, .type = ESK_TYPE_U8}};
static const struct esk_column two_vars[] = {
    AT,
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "x", .type = ESK_TYPE_VAR}};
static const struct esk_column text_number[] = {
    AT, {.name = "x", .type = ESK_TYPE_U8, .flags = ESK_COLUMN_TEXT}};

static const struct esk_column flags_unknown[] = {
    AT, {.name = "x", .type = ESK_TYPE_U8, .flags = 2}};
static const struct esk_column flags_most[] = {
    AT, {.name = "x", .type = ESK_TYPE_BYTES, .bytes = 1, .flags = 255}};

#define SPEC_COLUMNS(array, fault_kind)                                        \
    {.spec.table = {.columns = (array),                                        \
                    .column_count = sizeof(array) / sizeof(array)[0]},         \
     .status = ESK_E_SCHEMA,                                                   \
     .fault = (fault_kind)}
#define SPEC_FAULT(member, value, fault_kind)                                  \
    {.spec = {.member = (value)}, .status = ESK_E_SCHEMA, .fault = (fault_kind)}
#define SPEC_TOO_LARGE(member, value)                                          \
    {.spec = {.member = (value)},                                              \
     .status = ESK_E_NO_SPACE,                                                 \
     .fault = ESK_FAULT_NO_ROOM}

static const struct esk_index_spec bad_column = {.column = 200};
static const struct esk_index_spec bad_bits = {.column = 1, .bitmap_bits = 7};
static const struct esk_index_spec bad_count = {
    .column = 1, .bitmap_bits = 8, .edges = columns, .edge_count = 255};

static const struct spec_case spec_cases[] = {
    SPEC_FAULT(table.name, "", ESK_FAULT_TABLE_NAME),
    SPEC_FAULT(table.name, name_of_32, ESK_FAULT_TABLE_NAME),
    SPEC_FAULT(table.column_count, 65, ESK_FAULT_NO_COLUMNS),
    SPEC_FAULT(table.column_count, 255, ESK_FAULT_NO_COLUMNS),
    {.no_columns = true, .status = ESK_E_SCHEMA, .fault = ESK_FAULT_NO_COLUMNS},
    SPEC_COLUMNS(two_same, ESK_FAULT_COLUMN_DUPLICATE),
    SPEC_COLUMNS(type_unknown, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(type_zero, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(type_most, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(no_bytes, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(bytes_most, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(wide, ESK_FAULT_ROW_TOO_WIDE),
    SPEC_COLUMNS(name_null, ESK_FAULT_COLUMN_NAME),
    SPEC_COLUMNS(name_empty, ESK_FAULT_COLUMN_NAME),
    SPEC_COLUMNS(name_long, ESK_FAULT_COLUMN_NAME),
    SPEC_COLUMNS(unit_long, ESK_FAULT_UNIT),
    SPEC_COLUMNS(two_vars, ESK_FAULT_VAR_COUNT),
    SPEC_COLUMNS(text_number, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(flags_unknown, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(flags_most, ESK_FAULT_COLUMN_TYPE),
    SPEC_FAULT(table.row_bytes, 13, ESK_FAULT_ROW_STRUCT),
    {.no_row = true, .status = ESK_E_SCHEMA, .fault = ESK_FAULT_ROW_STRUCT},
    SPEC_FAULT(table.row_bytes, UINT16_MAX, ESK_FAULT_ROW_STRUCT),
    SPEC_FAULT(table.key_column, 4, ESK_FAULT_NO_KEY),
    SPEC_FAULT(table.key_column, 255, ESK_FAULT_NO_KEY),
    SPEC_FAULT(table.key_column, 2, ESK_FAULT_KEY_TYPE),
    SPEC_FAULT(table.key_column, 3, ESK_FAULT_KEY_TYPE),
    SPEC_FAULT(index_count, 1, ESK_FAULT_INDEX_COLUMN), /* NULL */
    SPEC_FAULT(index_count, 255, ESK_FAULT_INDEX_COLUMN),
    {.spec = {.indexes = &bad_column, .index_count = 1},
     .status = ESK_E_SCHEMA,
     .fault = ESK_FAULT_INDEX_COLUMN},
    {.spec = {.indexes = &bad_bits, .index_count = 1},
     .status = ESK_E_SCHEMA,
     .fault = ESK_FAULT_INDEX_BITMAP},
    {.spec = {.indexes = &bad_count, .index_count = 1},
     .status = ESK_E_SCHEMA,
     .fault = ESK_FAULT_INDEX_EDGES},
    SPEC_FAULT(full_policy, 2, ESK_FAULT_OPTION),
    SPEC_FAULT(full_policy, 255, ESK_FAULT_OPTION),
    SPEC_FAULT(group_pages, 3, ESK_FAULT_OPTION),
    SPEC_FAULT(group_pages, 65, ESK_FAULT_OPTION),
    SPEC_FAULT(group_pages, 255, ESK_FAULT_OPTION),
    SPEC_FAULT(sync_blocks, 1, ESK_FAULT_REGION),
    SPEC_FAULT(data_blocks, 1, ESK_FAULT_REGION),
    SPEC_FAULT(index_blocks, 1, ESK_FAULT_REGION),
    SPEC_FAULT(var_blocks, 1, ESK_FAULT_REGION),
};

static const struct spec_case size_cases[] = {
    SPEC_TOO_LARGE(data_blocks, MISUSE_BLOCKS),
    SPEC_TOO_LARGE(data_blocks, FAR),
    SPEC_TOO_LARGE(data_blocks, UINT32_MAX),
    SPEC_TOO_LARGE(data_blocks, UINT32_MAX - 1),
    SPEC_TOO_LARGE(data_blocks, UINT32_MAX - 5),
    SPEC_TOO_LARGE(data_blocks, UINT32_MAX / 2 + 1),
    SPEC_TOO_LARGE(index_blocks, FAR),
    SPEC_TOO_LARGE(index_blocks, UINT32_MAX),
    SPEC_TOO_LARGE(index_blocks, UINT32_MAX - 11),
    SPEC_TOO_LARGE(sync_blocks, 254),
    {.spec = {.var_blocks = UINT32_MAX},
     .with_index = true,
     .status = ESK_E_NO_SPACE,
     .fault = ESK_FAULT_NO_ROOM},
    {.spec = {.var_blocks = UINT32_MAX - 11},
     .with_index = true,
     .status = ESK_E_NO_SPACE,
     .fault = ESK_FAULT_NO_ROOM},
    {.spec = {.data_blocks = UINT32_MAX, .index_blocks = UINT32_MAX},
     .status = ESK_E_NO_SPACE,
     .fault = ESK_FAULT_NO_ROOM},
};

/// The specification of a case: what it does not say is that of a table that
/// can be created.
static struct esk_series_spec case_spec(const struct spec_case *at,
                                        bool all_data) {
    const struct esk_series_spec *says = &at->spec;
    struct esk_series_spec spec = at->with_index ? spec_of("x") : plain_spec();
    spec.table.name = "x";
    if (at->no_columns) {
        spec.table.columns = NULL;
    }
    misuse_table(&spec.table, &says->table);
    if (at->no_row) {
        spec.table.row_bytes = 0;
    }
    if (says->index_count != 0) {
        spec.indexes = says->indexes;
        spec.index_count = says->index_count;
    }
    spec.full_policy = says->full_policy;
    spec.group_pages = says->group_pages;
    spec.sync_blocks = says->sync_blocks;
    spec.data_blocks = all_data ? 0 : 12;
    spec.data_blocks =
        says->data_blocks != 0 ? says->data_blocks : spec.data_blocks;
    spec.index_blocks =
        says->index_blocks != 0 ? says->index_blocks : spec.index_blocks;
    spec.var_blocks =
        says->var_blocks != 0 ? says->var_blocks : spec.var_blocks;
    return spec;
}

static void spec_refused(const struct spec_case *at, bool all_data) {
    struct esk_series_spec spec = case_spec(at, all_data);
    struct esk_series *made = NULL;
    struct esk_fault fault = {.kind = 0};
    MISUSE(esk_series_create(&misuse_volume, &spec, &fault), at->status);
    ESK_CHECK_INT(fault.kind, at->fault);
    MISUSE(esk_series_create(&misuse_volume, &spec, NULL), at->status);
    memset(&fault, 0, sizeof fault);
    MISUSE(esk_series_open_or_create(&made, &esk_series_parts_all,
                                     &misuse_volume, &spec, NULL, &fault),
           at->status);
    ESK_CHECK_INT(fault.kind, at->fault);
    ESK_CHECK(made == NULL);
}

ESK_TEST(series_is_not_created_by_a_specification_that_cannot_be) {
    start(&misuse_nor);
    for (size_t i = 0; i < sizeof spec_cases / sizeof spec_cases[0]; i++) {
        ESK_CONTEXT("specification %zu", i);
        spec_refused(&spec_cases[i], false);
    }
    tables_work();
    tables_verify();
}

ESK_TEST(series_fits_no_page_that_has_no_room_for_a_row) {
    const struct esk_series_spec spec = spec_of("x");
    const struct esk_tree_spec tree = {.table = spec.table};
    for (uint16_t bytes = 0; bytes < 16 + ROW_BYTES; bytes++) {
        struct esk_fault fault = {.kind = 0};
        ESK_CONTEXT("pages of %u bytes", bytes);
        ESK_CHECK_INT(esk_series_spec_check(&spec, bytes, &fault),
                      ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_TOO_WIDE);
        ESK_CHECK_INT(esk_tree_spec_check(&tree, bytes, &fault), ESK_E_SCHEMA);
        ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_TOO_WIDE);
    }
}

ESK_TEST(series_of_more_blocks_than_there_are_is_not_created) {
    start(&misuse_nor);
    for (size_t i = 0; i < sizeof size_cases / sizeof size_cases[0]; i++) {
        const struct spec_case *at = &size_cases[i];
        ESK_CONTEXT("size %zu", i);
        spec_refused(at, false);
        /* What says no size gets what is left: nothing, here. */
        spec_refused(at, true);
    }
    tables_work();
    tables_verify();
}

/// Options at both ends of what is allowed.
static const struct esk_series_spec ends[] = {
    {.run_pages = 1, .group_pages = 4},
    {.run_pages = 1, .group_pages = 64},
    {.run_pages = 255, .group_pages = 4},
    {.run_pages = 255, .group_pages = 64},
    {.sync_blocks = 2},
    {.sync_blocks = 10},
    {.sync_blocks = ESK_SYNC_BLOCKS_NONE},
    {.full_policy = ESK_FULL_REFUSE},
    {.keys_repeat = true},
    {.data_blocks = 2, .index_blocks = 2, .var_blocks = 2},
    {.table = {.version = UINT32_MAX}},
};

ESK_TEST(series_works_at_the_ends_of_its_options) {
    const struct esk_geometry *const media[] = {&misuse_nor, &misuse_card};
    for (size_t n = 0; n < 2 * sizeof ends / sizeof ends[0]; n++) {
        struct esk_series_spec spec = spec_of("ends");
        const struct esk_series_spec *at = &ends[n / 2];
        struct esk_series_report report;
        ESK_CONTEXT("options %zu, medium %zu", n / 2, n % 2);
        start(media[n % 2]);
        esk_series_close(series);
        spec.run_pages = at->run_pages;
        spec.group_pages = at->group_pages;
        spec.sync_blocks = at->sync_blocks;
        spec.full_policy = at->full_policy;
        spec.keys_repeat = at->keys_repeat;
        spec.table.version = at->table.version;
        if (at->data_blocks != 0) {
            spec.data_blocks = at->data_blocks;
            spec.index_blocks = at->index_blocks;
            spec.var_blocks = at->var_blocks;
        }
        ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                                &misuse_volume, &spec, NULL,
                                                NULL),
                      ESK_OK);
        uint16_t rows = at->full_policy == ESK_FULL_REFUSE ? 50 : 400;
        for (uint16_t i = 0; i < rows; i++) {
            tables_work();
        }
        ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
    }
}

ESK_TEST(series_tells_how_many_blocks_are_missing) {
    static const uint32_t sizes[] = {FAR, UINT32_MAX};
    start(&misuse_nor);
    for (uint8_t i = 0; i < 2; i++) {
        struct esk_fault fault = {.kind = 0};
        struct esk_series_spec spec = spec_of("x");
        spec.data_blocks = 0;
        spec.var_blocks = sizes[i];
        MISUSE(esk_series_create(&misuse_volume, &spec, &fault),
               ESK_E_NO_SPACE);
        ESK_CHECK(fault.wanted >= sizes[i]);
        ESK_CHECK(fault.found < MISUSE_BLOCKS);
    }
}

ESK_TEST_MAIN()
