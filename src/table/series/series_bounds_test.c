// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Key bounds of a query that are outside the values of the key's type. A bound
/// is an esk_key: of an unsigned type it has no sign, so -5 is a number above
/// all keys, and a caller with signed numbers clamps them.
#include "table/series/series.h"

#include "test/harness/fixture.h"

struct key_type {
    uint8_t type;
    int64_t min;
    uint64_t max;
};

static const struct key_type types[] = {
    {ESK_TYPE_I8, INT8_MIN, INT8_MAX},    {ESK_TYPE_I16, INT16_MIN, INT16_MAX},
    {ESK_TYPE_I32, INT32_MIN, INT32_MAX}, {ESK_TYPE_I64, INT64_MIN, INT64_MAX},
    {ESK_TYPE_U8, 0, UINT8_MAX},          {ESK_TYPE_U16, 0, UINT16_MAX},
    {ESK_TYPE_U32, 0, UINT32_MAX},        {ESK_TYPE_U64, 0, UINT64_MAX},
};

enum { TYPES = sizeof types / sizeof types[0], BOUNDS = 14 };

/// Whether `a` is below `b`, keys of the type, or numbers outside it.
static bool is_below(const struct key_type *type, esk_key a, esk_key b) {
    return type->min < 0 ? (int64_t)a < (int64_t)b : a < b;
}

/// Makes a table with rows at both ends of the type and around 0.
static uint32_t start(struct esk_fixture *fixture, const struct key_type *type,
                      esk_key *keys) {
    const struct esk_column column = {.name = "key", .type = type->type};
    uint8_t bytes = (uint8_t)esk_type_bytes(type->type, 0);
    struct esk_series_spec spec = {.table = {.name = "log",
                                             .columns = &column,
                                             .column_count = 1,
                                             .row_bytes = bytes},
                                   .data_blocks = 4,
                                   .index_blocks = 4};
    uint32_t rows = 0;
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &spec);
    fixture_open(fixture, "log", NULL);
    for (int64_t i = 0; i < 60; i++) {
        esk_key key = (esk_key)(type->min + i);
        key = i >= 20 ? (esk_key)(i - (type->min < 0 ? 40 : 0)) : key;
        key = i >= 40 ? type->max - (uint64_t)(59 - i) : key;
        int status = esk_series_append(fixture->series, &key);
        ESK_CHECK_INT(status, ESK_OK);
        keys[rows++] = key;
    }
    return rows;
}

ESK_TEST(series_key_bounds_outside_the_key_type_are_clamped) {
    for (unsigned i = 0; i < TYPES; i++) {
        const struct key_type *type = &types[i];
        struct esk_fixture fixture;
        esk_key keys[60];
        uint32_t rows = start(&fixture, type, keys);
        const esk_key bounds[BOUNDS] = {
            (esk_key)type->min,
            (esk_key)type->min - 1u,
            (esk_key)type->min + 1u,
            type->max,
            type->max + 1u,
            type->max - 1u,
            0,
            5,
            (esk_key)-5,
            (esk_key)INT64_MIN,
            INT64_MAX,
            UINT64_MAX,
            UINT32_MAX,
            (esk_key)INT32_MIN,
        };
        for (unsigned j = 0; j < BOUNDS * BOUNDS * 2; j++) {
            esk_key min = bounds[j % BOUNDS];
            esk_key max = bounds[j / BOUNDS % BOUNDS];
            struct esk_series_query query = {.has_key_min = j % 3 != 0,
                                             .has_key_max = j % 5 != 0,
                                             .backward = j >= BOUNDS * BOUNDS,
                                             .key_min = min,
                                             .key_max = max};
            struct esk_series_cursor cursor;
            ESK_CONTEXT("type %u, query %u", type->type, j);
            ESK_CHECK_INT(
                esk_series_cursor_open(fixture.series, &cursor, &query),
                ESK_OK);
            for (uint32_t row = 0; row < rows; row++) {
                esk_key key = keys[query.backward ? rows - 1 - row : row];
                esk_key found = 0;
                uint8_t width = (uint8_t)esk_type_bytes(type->type, 0);
                if ((query.has_key_min && is_below(type, key, min)) ||
                    (query.has_key_max && is_below(type, max, key))) {
                    continue;
                }
                ESK_CHECK_INT(
                    esk_series_cursor_next(fixture.series, &cursor, &found),
                    ESK_OK);
                ESK_CHECK(memcmp(&found, &key, width) == 0);
            }
            uint64_t none = 0;
            ESK_CHECK_INT(
                esk_series_cursor_next(fixture.series, &cursor, &none),
                ESK_END);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
