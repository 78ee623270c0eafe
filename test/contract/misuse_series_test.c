// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong with an open series: each mistake is refused
/// with the error that the header names, the medium stays as it was, and the
/// table goes on working.
#include "test/harness/misuse_series.h"

#include <math.h>

enum { LONG = 40000 };

static uint8_t bytes_long[LONG];
static uint8_t bytes_read[LONG];

/* Queries and cursors. */

struct query_case {
    struct esk_series_range range;
    int status;    ///< of the open
    uint32_t rows; ///< that it yields
    bool is_key;   ///< the range is of keys
};

static const struct query_case query_cases[] = {
    {{.column = 0}, ESK_OK, ROWS, false}, /* a key is a number, too */
    {{.column = 1}, ESK_OK, ROWS, false},
    {{.column = 3}, ESK_E_INVALID, 0, false}, /* bytes */
    {{.column = 4}, ESK_E_INVALID, 0, false}, /* a value */
    {{.column = COLUMNS}, ESK_E_INVALID, 0, false},
    {{.column = 255}, ESK_E_INVALID, 0, false},
    {{.column = 1,
      .has_lo = true,
      .has_hi = true,
      .lo = {.i = 5},
      .hi = {.i = 4}},
     ESK_OK,
     0,
     false},
    {{.column = 1, .has_lo = true, .lo = {.i = INT64_MAX}}, ESK_OK, 0, false},
    {{.column = 1, .has_hi = true, .hi = {.i = INT64_MIN}}, ESK_OK, 0, false},
    {{.column = 5, .has_lo = true, .lo = {.u = UINT64_MAX}}, ESK_OK, 0, false},
    {{.column = 2, .has_lo = true, .lo = {.f32 = NAN}}, ESK_OK, 0, false},
    {{.column = 2, .has_hi = true, .hi = {.f32 = NAN}}, ESK_OK, 0, false},
    {{.column = 2, .has_hi = true, .hi = {.f32 = -NAN}}, ESK_OK, 0, false},
    {{.has_lo = true, .has_hi = true, .lo = {.u = 9}, .hi = {.u = 8}},
     ESK_OK,
     0,
     true},
    {{.has_lo = true, .lo = {.u = UINT64_MAX}}, ESK_OK, 0, true},
    {{.has_hi = true, .hi = {.u = UINT64_MAX}}, ESK_OK, ROWS, true},
    {{.has_hi = true, .hi = {.u = 0}}, ESK_OK, 0, true},
};

/// The rows that `cursor` yields; how its calls end is `end`.
static uint32_t rows_of(struct esk_series_cursor *cursor, int end) {
    uint8_t got[ROW_BYTES];
    uint32_t rows = 0;
    while (esk_series_cursor_next(series, cursor, got) == ESK_OK) {
        rows++;
    }
    ESK_CHECK_INT(esk_series_cursor_next(series, cursor, got), end);
    return rows;
}

ESK_TEST(series_refuses_a_query_that_cannot_be) {
    start(&misuse_nor);
    for (size_t i = 0; i < sizeof query_cases / sizeof query_cases[0]; i++) {
        const struct query_case *at = &query_cases[i];
        for (uint8_t backward = 0; backward < 2; backward++) {
            struct esk_series_cursor cursor;
            struct esk_series_query query = {
                .backward = backward != 0,
                .ranges = &at->range,
                .range_count = at->is_key ? 0 : 1,
                .has_key_min = at->is_key && at->range.has_lo,
                .has_key_max = at->is_key && at->range.has_hi,
                .key_min = at->range.lo.u,
                .key_max = at->range.hi.u};
            ESK_CONTEXT("query %zu, backward %u", i, backward);
            MISUSE(esk_series_cursor_open(series, &cursor, &query), at->status);
            ESK_CHECK_INT(rows_of(&cursor, at->status == ESK_OK
                                               ? ESK_END
                                               : ESK_E_INVALID),
                          at->rows);
            ESK_CHECK(misuse_unchanged());
        }
    }
    tables_work();
}

ESK_TEST(series_refuses_more_ranges_than_a_cursor_has_room_for) {
    static const struct esk_series_range ranges[255] = {{.column = 1}};
    start(&misuse_nor);
    for (uint16_t count = ESK_SERIES_RANGES_MAX + 1; count < 256; count++) {
        struct esk_series_cursor cursor;
        struct esk_series_query query = {.ranges = ranges,
                                         .range_count = (uint8_t)count};
        MISUSE(esk_series_cursor_open(series, &cursor, &query), ESK_E_LIMIT);
        ESK_CHECK_INT(rows_of(&cursor, ESK_E_INVALID), 0);
    }
}

ESK_TEST(cursor_serves_the_table_alone_that_it_was_opened_on) {
    struct esk_series_cursor cursor;
    struct esk_series_range range = {.column = 1, .has_lo = true};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    start(&misuse_nor);
    memset(&cursor, 0, sizeof cursor);
    MISUSE(esk_series_cursor_next(series, &cursor, row), ESK_E_INVALID);
    MISUSE(esk_series_cursor_next(plain, &cursor, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_cursor_damaged(&cursor), 0);
    for (uint8_t i = 0; i < 4; i++) {
        query.backward = i % 2 != 0;
        query.range_count = i / 2;
        ESK_CONTEXT("query %u", i);
        ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &query), ESK_OK);
        MISUSE(esk_series_cursor_next(plain, &cursor, row), ESK_E_INVALID);
        MISUSE(esk_series_cursor_next(series, &cursor, row), ESK_OK);
        /* Now it stands on a row, with more behind it. */
        MISUSE(esk_series_cursor_next(plain, &cursor, row), ESK_E_INVALID);
        ESK_CHECK_INT(rows_of(&cursor, ESK_END), ROWS - 1);
    }
    tables_work();
}

/* Values, keys and counts. */

ESK_TEST(value_is_of_a_table_that_has_values) {
    struct esk_series_value value;
    uint32_t got = 7;
    start(&misuse_nor);
    memset(&value, 0, sizeof value);
    MISUSE(esk_series_value_read(series, &value, row, 9, &got), ESK_OK);
    ESK_CHECK_INT(got, 0);
    MISUSE(esk_series_value_read(series, &value, NULL, UINT32_MAX, &got),
           ESK_OK);
    ESK_CHECK_INT(esk_series_newest(series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
    MISUSE(esk_series_value_read(plain, &value, row, 4, &got),
           ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(got, 0);
    MISUSE(esk_series_value_open(plain, row, &value), ESK_E_UNSUPPORTED);
    MISUSE(esk_series_append_var(plain, row, "x", 1), ESK_E_UNSUPPORTED);
    tables_work();
}

ESK_TEST(series_takes_no_value_that_its_region_cannot_hold) {
    static const uint32_t lengths[] = {LONG, UINT32_MAX / 2 - 6, UINT32_MAX / 2,
                                       UINT32_MAX / 2 + 1, UINT32_MAX};
    for (uint8_t policy = 0; policy < 2; policy++) {
        struct esk_series_spec spec = spec_of("other");
        start(&misuse_nor);
        esk_series_close(series);
        spec.full_policy = policy;
        ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                                &misuse_volume, &spec, NULL,
                                                NULL),
                      ESK_OK);
        tables_work();
        uint32_t first = key;
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            ESK_CONTEXT("policy %u, %u bytes", policy, lengths[i]);
            row_make(key + 1);
            MISUSE(esk_series_append_var(series, row, bytes_long, lengths[i]),
                   ESK_E_LIMIT);
            ESK_CHECK_INT(esk_series_get(series, key + 1, row), ESK_NOT_FOUND);
            tables_work();
        }
        /* No value from before is lost. */
        struct esk_series_value value;
        ESK_CHECK_INT(esk_series_get(series, first, row), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
        ESK_CHECK_INT(value.bytes, NOTE);
    }
}

/// The longest value that is taken is there, wherever it begins.
ESK_TEST(series_takes_a_value_as_long_as_all_blocks_but_one) {
    enum { HEAD = 6, WHOLE = (8 - 1) * 8 * (MISUSE_PAGE_BYTES - 16) - HEAD };
    start(&misuse_nor);
    for (uint32_t i = 0; i < 70; i++) {
        struct esk_series_value value;
        uint32_t got = 0;
        ESK_CONTEXT("value %u", i);
        row_make(++key);
        ESK_CHECK_INT(esk_series_append_var(series, row, bytes_long, i * 37),
                      ESK_OK);
        row_make(++key);
        ESK_CHECK_INT(esk_series_append_var(series, row, bytes_long, WHOLE + 1),
                      ESK_E_LIMIT);
        bytes_long[WHOLE - 1] = (uint8_t)i;
        ESK_CHECK_INT(esk_series_append_var(series, row, bytes_long, WHOLE),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
        ESK_CHECK_INT(value.bytes, 0); /* of the row before it was stored */
        ESK_CHECK_INT(esk_series_newest(series, row), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(series, row, &value), ESK_OK);
        ESK_CHECK_INT(value.bytes, WHOLE);
        ESK_CHECK_INT(
            esk_series_value_read(series, &value, bytes_read, WHOLE, &got),
            ESK_OK);
        ESK_CHECK_BYTES(bytes_read, bytes_long, WHOLE);
    }
}

ESK_TEST(series_appends_no_row_out_of_order_and_none_of_none) {
    uint32_t appended = 7;
    start(&misuse_nor);
    MISUSE(esk_series_append_many(series, NULL, 0, &appended), ESK_OK);
    ESK_CHECK_INT(appended, 0);
    MISUSE(esk_series_append_many(series, NULL, 0, NULL), ESK_OK);
    row_make(key);
    MISUSE(esk_series_append_many(series, row, UINT32_MAX, &appended),
           ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(appended, 0);
    MISUSE(esk_series_append(series, row), ESK_OUT_OF_ORDER);
    row_make(0);
    MISUSE(esk_series_append_var(series, row, "x", 1), ESK_OUT_OF_ORDER);
    MISUSE(esk_series_append_var(series, row, NULL, 0), ESK_OUT_OF_ORDER);
    struct esk_space space;
    for (uint16_t role = ESK_REGION_COUNT; role < 256; role++) {
        memset(&space, 0xA5, sizeof space);
        esk_series_space(series, (uint8_t)role, &space);
        ESK_CHECK_INT(space.pages | space.pages_used | space.erases, 0);
    }
    MISUSE(esk_series_get(series, UINT64_MAX, row), ESK_NOT_FOUND);
    MISUSE(esk_series_floor(series, 0, row), ESK_NOT_FOUND);
    MISUSE(esk_series_ceiling(series, UINT64_MAX, row), ESK_NOT_FOUND);
    tables_work();
    tables_verify();
}

/// A type of keys, and the least and the largest of it.
struct key_type {
    uint8_t type;
    int64_t least;
    uint64_t most;
};

static const struct key_type key_types[] = {
    {ESK_TYPE_U8, 0, UINT8_MAX},          {ESK_TYPE_U16, 0, UINT16_MAX},
    {ESK_TYPE_U32, 0, UINT32_MAX},        {ESK_TYPE_U64, 0, UINT64_MAX},
    {ESK_TYPE_I8, INT8_MIN, INT8_MAX},    {ESK_TYPE_I16, INT16_MIN, INT16_MAX},
    {ESK_TYPE_I32, INT32_MIN, INT32_MAX}, {ESK_TYPE_I64, INT64_MIN, INT64_MAX},
};
enum { KEY_TYPES = sizeof key_types / sizeof key_types[0] };

/// A series of that type, with rows of its least and its largest key and of
/// those between them that are next to 0.
static void keys_start(const struct key_type *type) {
    const struct esk_column only = {.name = "at", .type = type->type};
    struct esk_series_spec spec = plain_spec();
    const uint64_t keys[] = {(uint64_t)type->least, 1, 2, type->most};
    spec.table.columns = &only;
    table_columns(&spec.table, 1);
    misuse_start(&misuse_nor);
    ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                            &misuse_volume, &spec, NULL, NULL),
                  ESK_OK);
    for (uint8_t i = 0; i < 4; i++) {
        uint8_t bytes[8];
        misuse_u32(bytes, (uint32_t)keys[i]);
        misuse_u32(bytes + 4, (uint32_t)(keys[i] >> 32));
        ESK_CHECK_INT(esk_series_append(series, bytes), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
}

static uint32_t count_of(void) {
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(series, &count), ESK_OK);
    return count;
}

ESK_TEST(series_erases_by_keys_that_its_type_does_not_have) {
    for (uint8_t t = 0; t < KEY_TYPES; t++) {
        const struct key_type *type = &key_types[t];
        bool is_signed = type->least < 0;
        bool has_above = type->most < (is_signed ? INT64_MAX : UINT64_MAX);
        bool has_below = type->least < 0 && type->least > INT64_MIN;
        esk_key above = has_above ? type->most + 1 : type->most;
        ESK_CONTEXT("type %u", type->type);
        keys_start(type);
        MISUSE(esk_series_erase_after(series, above), ESK_OK);
        MISUSE(esk_series_erase_before(series, (esk_key)type->least), ESK_OK);
        if (has_below) {
            MISUSE(esk_series_erase_before(series, (esk_key)(type->least - 1)),
                   ESK_OK);
        }
        ESK_CHECK_INT(count_of(), 4);
        /* The row with the largest key stays. */
        ESK_CHECK_INT(esk_series_erase_before(series, above), ESK_OK);
        ESK_CHECK_INT(count_of(), 1);
        misuse_mount(0);
        ESK_CHECK_INT(esk_series_open(&series, &misuse_volume, "plain", NULL),
                      ESK_OK);
        ESK_CHECK_INT(count_of(), 1);
        keys_start(type);
        esk_key below = (esk_key)(has_below ? type->least - 1 : type->least);
        ESK_CHECK_INT(esk_series_erase_after(series, below), ESK_OK);
        ESK_CHECK_INT(count_of(), has_below ? 0 : 1);
    }
}

/* Parts, shapes, added columns. */

ESK_TEST(series_is_not_opened_without_the_parts_that_it_needs) {
    struct esk_series *own = NULL;
    struct esk_table_info info;
    start(&misuse_nor);
    esk_series_close(series);
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "log", &info), ESK_OK);
    for (uint8_t i = 0; i < 6; i++) {
        struct esk_series_parts parts = esk_series_parts_all;
        ESK_CONTEXT("without part %u", i);
        parts.keys = i == 0 ? NULL : parts.keys;
        parts.keys = i == 1 ? &esk_series_part_samples : parts.keys;
        parts.log = i == 2 ? NULL : parts.log;
        parts.values = i == 3 ? NULL : parts.values;
        parts.var = i >= 4 ? NULL : parts.var;
        if (i == 5) {
            memset(&parts, 0, sizeof parts);
        }
        MISUSE(esk_series_open_with(&own, &parts, &misuse_volume, "log", NULL),
               ESK_E_UNSUPPORTED);
        ESK_CHECK(own == NULL);
    }
    ESK_CHECK_INT(esk_series_open(&series, &misuse_volume, "log", NULL),
                  ESK_OK);
    tables_work();
}

ESK_TEST(series_without_optional_parts_says_what_it_cannot_do) {
    struct esk_series_parts parts = {.var = NULL};
    struct esk_series_cursor cursor;
    struct esk_series_range range = {.column = 1};
    struct esk_series_query query = {.backward = true};
    start(&misuse_nor);
    esk_series_close(plain);
    ESK_CHECK_INT(
        esk_series_open_with(&plain, &parts, &misuse_volume, "plain", NULL),
        ESK_OK);
    MISUSE(esk_series_cursor_open(plain, &cursor, &query), ESK_E_UNSUPPORTED);
    query.backward = false;
    query.ranges = &range;
    query.range_count = 1;
    MISUSE(esk_series_cursor_open(plain, &cursor, &query), ESK_E_UNSUPPORTED);
    MISUSE(esk_series_floor(plain, 9, row), ESK_E_UNSUPPORTED);
    MISUSE(esk_series_newest(plain, row), ESK_E_UNSUPPORTED);
    MISUSE(esk_series_erase_after(plain, 9), ESK_E_UNSUPPORTED);
    tables_work();
}

ESK_TEST(series_gets_no_columns_that_cannot_be_added) {
    struct esk_column wider[COLUMNS + 1];
    struct esk_fault fault;
    struct esk_table_spec spec = plain_spec().table;
    struct esk_series_parts without = esk_series_parts_all;
    start(&misuse_nor);
    memcpy(wider, columns, sizeof columns);
    spec.columns = wider;
    without.breaks = NULL;
#define ADD(parts)                                                             \
    esk_series_add_columns(&misuse_volume, (parts), &spec, NULL, &fault)
    table_columns(&spec, 3); /* fewer */
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_COUNT);
    table_columns(&spec, 4); /* the same */
    MISUSE(ADD(&esk_series_parts_all), ESK_OK);
    table_columns(&spec, 5); /* a value */
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_COLUMN_TYPE);
    wider[4] = columns[5];
    table_columns(&spec, 5);
    MISUSE(ADD(&without), ESK_E_UNSUPPORTED);
    MISUSE(ADD(&esk_series_parts_all), ESK_E_BUSY);
    spec.row_bytes = 14;
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_ROW_STRUCT);
    table_columns(&spec, 5);
    spec.name = "none";
    MISUSE(ADD(&esk_series_parts_all), ESK_NOT_FOUND);
    spec.name = NULL;
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    spec.name = "plain";
    spec.column_count = 255;
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    spec.column_count = 5;
    wider[0].type = ESK_TYPE_I32;
    MISUSE(ADD(&esk_series_parts_all), ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_OTHER_TYPE);
#undef ADD
    tables_work();
    tables_verify();
}

/* What is asserted: no pointer is NULL but where its call says so. */

ESK_TEST(series_asserts_its_pointers) {
    struct esk_series_cursor cursor;
    struct esk_series_value value = {.left = 1};
    struct esk_series_query query = {.range_count = 1};
    uint32_t got = 0;
    start(&misuse_nor);
    MISUSE_ASSERTS(esk_series_append(series, NULL));
    MISUSE_ASSERTS(esk_series_append_var(series, NULL, "x", 1));
    MISUSE_ASSERTS(esk_series_append_var(series, row, NULL, 1));
    MISUSE_ASSERTS(esk_series_append_many(series, NULL, 1, NULL));
    MISUSE_ASSERTS(esk_series_get(series, 1, NULL));
    MISUSE_ASSERTS(esk_series_floor(series, 1, NULL));
    MISUSE_ASSERTS(esk_series_ceiling(series, 1, NULL));
    MISUSE_ASSERTS(esk_series_newest(series, NULL));
    MISUSE_ASSERTS(esk_series_oldest(series, NULL));
    MISUSE_ASSERTS(esk_series_newest_key(series, NULL));
    MISUSE_ASSERTS(esk_series_count(series, NULL));
    MISUSE_ASSERTS(esk_series_cursor_open(series, NULL, NULL));
    MISUSE_ASSERTS(esk_series_cursor_open(series, &cursor, &query));
    MISUSE_ASSERTS(esk_series_cursor_next(series, NULL, row));
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    MISUSE_ASSERTS(esk_series_cursor_next(series, &cursor, NULL));
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
    MISUSE_ASSERTS(esk_series_cursor_next(series, &cursor, NULL));
    MISUSE_ASSERTS(esk_series_cursor_damaged(NULL));
    MISUSE_ASSERTS(esk_series_value_open(series, NULL, &value));
    MISUSE_ASSERTS(esk_series_value_open(series, row, NULL));
    MISUSE_ASSERTS(esk_series_value_read(series, NULL, row, 1, &got));
    MISUSE_ASSERTS(esk_series_value_read(series, &value, row, 1, NULL));
    MISUSE_ASSERTS(esk_series_check(series, NULL));
    MISUSE_ASSERTS(esk_series_stats(series, NULL));
    MISUSE_ASSERTS(esk_series_space(series, ESK_REGION_DATA, NULL));
    tables_work();
    tables_verify();
}

ESK_TEST(series_asserts_the_pointers_of_its_making) {
    const struct esk_series_parts *all = &esk_series_parts_all;
    struct esk_volume *volume = &misuse_volume;
    struct esk_series *own = NULL;
    struct esk_series_spec spec = plain_spec();
    struct esk_series_options options;
    struct esk_table_info info;
    struct esk_fault fault;
    start(&misuse_nor);
    ESK_CHECK_INT(esk_volume_find(volume, "plain", &info), ESK_OK);
    MISUSE_ASSERTS(esk_series_options(NULL, &options));
    MISUSE_ASSERTS(esk_series_options(&info, NULL));
    const struct esk_geometry none = {.block_count = 0};
    MISUSE_ASSERTS(esk_series_sync_blocks(NULL, 8, 8));
    MISUSE_ASSERTS(esk_series_sync_blocks(&none, 8, 8));
    MISUSE_ASSERTS(esk_series_frames_min(NULL));
    MISUSE_ASSERTS(esk_series_spec_check(NULL, 256, &fault));
    MISUSE_ASSERTS(esk_series_spec_check(&spec, 256, NULL));
    MISUSE_ASSERTS(esk_series_create(NULL, &spec, NULL));
    MISUSE_ASSERTS(esk_series_create(volume, NULL, NULL));
    MISUSE_ASSERTS(esk_series_arena_bytes(NULL, &info, NULL));
    MISUSE_ASSERTS(esk_series_arena_bytes(volume, NULL, NULL));
    MISUSE_ASSERTS(esk_series_arena_bytes_with(volume, NULL, &info, NULL));
    MISUSE_ASSERTS(esk_series_open(NULL, volume, "plain", NULL));
    MISUSE_ASSERTS(esk_series_open(&own, NULL, "plain", NULL));
    MISUSE_ASSERTS(esk_series_open_with(&own, NULL, volume, "plain", NULL));
    MISUSE_ASSERTS(
        esk_series_open_or_create(NULL, all, volume, &spec, NULL, NULL));
    MISUSE_ASSERTS(
        esk_series_open_or_create(&own, NULL, volume, &spec, NULL, NULL));
    MISUSE_ASSERTS(
        esk_series_open_or_create(&own, all, NULL, &spec, NULL, NULL));
    MISUSE_ASSERTS(
        esk_series_open_or_create(&own, all, volume, NULL, NULL, NULL));
    MISUSE_ASSERTS(esk_series_add_columns(NULL, all, &spec.table, NULL, NULL));
    MISUSE_ASSERTS(
        esk_series_add_columns(volume, NULL, &spec.table, NULL, NULL));
    MISUSE_ASSERTS(esk_series_add_columns(volume, all, NULL, NULL, NULL));
    tables_work();
}

ESK_TEST(series_asserts_what_it_is_attached_by) {
    const struct esk_series_parts *all = &esk_series_parts_all;
    struct esk_series_parts few = *all;
    struct esk_series_options options;
    struct esk_series_shape shape = {.var_offset = ESK_SERIES_NO_VAR};
    struct esk_table_info info;
    struct esk_series *own = NULL;
    start(&misuse_nor);
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "plain", &info), ESK_OK);
    ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
#define ATTACH(parts)                                                          \
    esk_series_attach(&own, (parts), &misuse_volume, &info, &shape, &options,  \
                      NULL)
    MISUSE_ASSERTS(ATTACH(all)); /* it is open */
    esk_series_close(plain);
    MISUSE_ASSERTS(ATTACH(NULL));
    info.index_count = 1;
    MISUSE_ASSERTS(ATTACH(all));
    info.index_count = 0;
    few.var = NULL;
    shape.var_offset = 4;
    MISUSE_ASSERTS(ATTACH(&few));
    few = *all;
    few.sync = NULL;
    info.blocks[ESK_REGION_SYNC] = 2;
    MISUSE_ASSERTS(ATTACH(&few));
#undef ATTACH
    ESK_CHECK_INT(esk_series_open(&plain, &misuse_volume, "plain", NULL),
                  ESK_OK);
    tables_work();
}

ESK_TEST_MAIN()
