// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What generated C calls; the queries themselves are tested from Python.
#include "esker/generated.h"

#include <string.h>

#include "test/harness/fixture.h"

ESK_TEST(generated_stop_goes_on_only_after_again_and_io) {
    static const struct {
        int status;
        uint8_t at;
    } cases[] = {{ESK_AGAIN, 3},
                 {ESK_E_IO, 3},
                 {ESK_END, ESK_QUERY_ENDED},
                 {ESK_E_STALE, ESK_QUERY_FAILED},
                 {ESK_E_LIMIT, ESK_QUERY_FAILED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t at = 9;
        ESK_CHECK_INT(esk_query_stop(&at, 3, cases[i].status), cases[i].status);
        ESK_CHECK_INT(at, cases[i].at);
    }
    ESK_CHECK_INT(esk_query_over(ESK_QUERY_ENDED), ESK_END);
    ESK_CHECK_INT(esk_query_over(ESK_QUERY_FAILED), ESK_E_INVALID);
}

static struct esk_fixture fixture;

static bool repeats; /* whether the table's keys may */

static void series_start(uint8_t type, const int32_t *keys, int count) {
    const struct esk_column column = {.name = "t", .type = type};
    const struct esk_series_spec spec = {.table = {.name = "log",
                                                   .columns = &column,
                                                   .column_count = 1,
                                                   .row_bytes = 4},
                                         .keys_repeat = repeats};
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    for (int i = 0; i < count; i++) {
        ESK_CHECK_INT(esk_series_append(fixture.series, &keys[i]), ESK_OK);
    }
}

/// Bounds a query by the rows that there are now.
static void bounded(struct esk_series_query *query, bool is_signed, bool none) {
    struct esk_source_mark mark;
    esk_source_mark_series(&mark, fixture.series);
    esk_query_bound(query, &mark, is_signed, none);
}

ESK_TEST(generated_bound_is_the_newest_key_or_a_smaller_one) {
    const int32_t keys[] = {-7, -2};
    struct esk_series_query query = {.has_key_max = true};
    int64_t newest = 0;
    series_start(ESK_TYPE_I32, keys, 2);

    query.key_max = (esk_key)5;
    bounded(&query, true, false);
    ESK_CHECK_INT((int64_t)query.key_max, -2);
    query.key_max = (esk_key)-5;
    bounded(&query, true, false);
    ESK_CHECK_INT((int64_t)query.key_max, -5);
    ESK_CHECK(!query.has_key_min);
    query.has_key_max = false;
    bounded(&query, false, false);
    ESK_CHECK(query.has_key_max);
    query.key_max = 9;
    bounded(&query, false, false);
    ESK_CHECK_INT((int64_t)query.key_max, 9);
    esk_query_newest(fixture.series, &newest);
    ESK_CHECK_INT(newest, -2);
    fixture_end(&fixture);
}

static int rows_of(const struct esk_series_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[4];
    int rows = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, query),
                  ESK_OK);
    while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
        rows++;
    }
    return rows;
}

ESK_TEST(generated_bound_excludes_a_later_row_with_the_newest_key) {
    const int32_t keys[] = {1, 4, 4};
    struct esk_series_query query = {0};
    repeats = true;
    series_start(ESK_TYPE_U32, keys, 3);
    bounded(&query, false, false);
    ESK_CHECK_INT(esk_series_append(fixture.series, &keys[2]), ESK_OK);
    ESK_CHECK_INT(rows_of(&query), 3);
    ESK_CHECK_INT(rows_of(NULL), 4);
    fixture_end(&fixture);
    repeats = false;
}

ESK_TEST(generated_bound_selects_no_row_of_an_empty_table) {
    struct esk_series_query query = {0};
    const int32_t key = 0;
    int64_t newest = 0;
    series_start(ESK_TYPE_U32, NULL, 0);
    esk_query_newest(fixture.series, &newest);
    ESK_CHECK(newest == INT64_MIN);
    bounded(&query, false, false);
    ESK_CHECK_INT(esk_series_append(fixture.series, &key), ESK_OK);
    ESK_CHECK_INT(rows_of(&query), 0);

    memset(&query, 0, sizeof query);
    bounded(&query, false, true);
    ESK_CHECK_INT(rows_of(&query), 0);
    ESK_CHECK_INT(rows_of(NULL), 1);
    fixture_end(&fixture);
}

ESK_TEST(generated_key_is_little_endian) {
    const uint8_t expected[] = {0xFE, 0xFF, 0xFF};
    uint8_t bytes[3];
    ESK_CHECK(esk_query_key(bytes, (esk_key)-2, 3) == bytes);
    ESK_CHECK_BYTES(bytes, expected, 3);
}

ESK_TEST(generated_sums_are_exact_beyond_64_bits) {
    struct esk_wide_sum sum = {0, 0};
    int64_t value = 0;
    ESK_CHECK(esk_wide_sum_fits(&sum, &value) && value == 0);
    esk_wide_sum_add(&sum, INT64_MAX);
    ESK_CHECK(esk_wide_sum_fits(&sum, &value) && value == INT64_MAX);
    esk_wide_sum_add(&sum, 1);
    ESK_CHECK(!esk_wide_sum_fits(&sum, &value));
    ESK_CHECK(esk_wide_sum_mean(&sum, 2) == 4611686018427387904.0);
    esk_wide_sum_add(&sum, INT64_MIN);
    ESK_CHECK(esk_wide_sum_fits(&sum, &value) && value == 0);
    esk_wide_sum_add(&sum, INT64_MIN);
    ESK_CHECK(esk_wide_sum_fits(&sum, &value) && value == INT64_MIN);
    esk_wide_sum_add(&sum, -1);
    ESK_CHECK(!esk_wide_sum_fits(&sum, &value));
}

ESK_TEST(generated_means_are_rounded_once) {
    const struct esk_wide_sum least = {0, INT64_MIN};
    ESK_CHECK(esk_i64_mean(0, 3) == 0);
    ESK_CHECK(esk_i64_mean(-7, 2) == -3.5);
    ESK_CHECK(esk_i64_mean(1, 3) == 1.0 / 3.0);
    ESK_CHECK(esk_u64_mean(UINT64_MAX, 1) == 18446744073709551616.0);
    /* 2^53 + 1 is between two floats: the even one. */
    ESK_CHECK(esk_i64_mean(9007199254740993, 1) == 9007199254740992.0);
    ESK_CHECK(esk_wide_sum_mean(&least, 1) ==
              -9223372036854775808.0 * 18446744073709551616.0);
}

ESK_TEST(generated_comparison_of_int_and_float_is_exact) {
    static const struct {
        int64_t a;
        double b;
        int order;
    } cases[] = {
        {9007199254740993, 9007199254740992.0, 1},
        {INT64_MAX, 9223372036854775808.0, -1},
        {INT64_MIN, -9223372036854775808.0, 0},
        {INT64_MIN, -1e300, 1},
        {INT64_MAX, 1e300, -1},
        {3, 3.5, -1},
        {-3, -3.5, 1},
        {4, 3.5, 1},
        {2, 3.5, -1},
        {3, 3.0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK_INT(esk_compare_int_f64(cases[i].a, cases[i].b),
                      cases[i].order);
    }
}

ESK_TEST(generated_sums_of_floats_lose_no_small_value) {
    static const double values[] = {1e100, 1.0, -1e100, 0.5};
    struct esk_f64_sum sum = {0, 0};
    for (int i = 0; i < 4; i++) {
        esk_f64_sum_add(&sum, values[i]);
    }
    ESK_CHECK(esk_f64_sum_value(&sum) == 1.5);
    ESK_CHECK(esk_f64_sum_mean(&sum, 3) == 0.5);
    esk_f64_sum_add(&sum, 1e308 * 10);
    esk_f64_sum_add(&sum, 1);
    ESK_CHECK(esk_f64_sum_value(&sum) > 1e308);
}

ESK_TEST(generated_slots_of_floats_rise_with_them) {
    static const double values[] = {-1e300, -1.5, -1e-300, 0.0, 1e-9, 2.0};
    for (int i = 0; i < 6; i++) {
        esk_slot slot = esk_f64_slot(values[i]);
        ESK_CHECK(esk_f64_of_slot(slot) == values[i]);
        ESK_CHECK(i == 0 || esk_f64_slot(values[i - 1]) < slot);
    }
}

ESK_TEST(generated_rounding_is_half_away_from_zero) {
    ESK_CHECK(esk_round_f64(2.5, 0) == 3);
    ESK_CHECK(esk_round_f64(-2.5, 0) == -3);
    ESK_CHECK(esk_round_f64(-2.4, 0) == -2);
    ESK_CHECK(esk_round_f64(1.25, 1) == 1.3);
    ESK_CHECK(esk_round_f64(1e300, 3) == 1e300);
}

ESK_TEST(generated_slots_of_both_zeros_are_one) {
    ESK_CHECK(esk_f64_slot(-0.0) == esk_f64_slot(0.0));
}

ESK_TEST(generated_texts_compare_by_bytes) {
    ESK_CHECK(esk_text_compare("ab\0\0", 4, "ab", 2) == 0);
    ESK_CHECK(esk_text_compare("ab", 2, "abc", 3) < 0);
    ESK_CHECK(esk_text_compare("abc", 3, "ab", 2) > 0);
    ESK_CHECK(esk_text_compare("b", 1, "abc", 3) > 0);
    ESK_CHECK(esk_text_compare("\xC3\xA4", 2, "z", 1) > 0);
}

ESK_TEST(generated_lengths_and_parts_of_text_count_characters) {
    static const char text[] = "a\xC3\xA4z\xE2\x82\xAC\0";
    static const struct {
        uint16_t skip;
        uint16_t count;
        uint16_t at;
        uint16_t bytes;
    } cases[] = {
        {0, 0, 0, 0},          {0, 1, 0, 1}, {0, 2, 0, 3},
        {1, 1, 1, 2},          {1, 2, 1, 3}, {3, 9, 4, 3},
        {2, UINT16_MAX, 3, 4}, {4, 1, 7, 0}, {9, 1, 7, 0},
    };
    ESK_CHECK_INT(esk_text_length(text, 8), 4);
    ESK_CHECK_INT(esk_text_length("\xA4\xA4", 2), 1);
    ESK_CHECK_INT(esk_text_length("", 0), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint16_t bytes = 77;
        const void *part =
            esk_text_part(text, 8, cases[i].skip, cases[i].count, &bytes);
        ESK_CHECK(part == text + cases[i].at);
        ESK_CHECK_INT(bytes, cases[i].bytes);
    }
}

ESK_TEST(generated_copies_of_text_end_with_a_zero) {
    char text[4];
    esk_text_copy(text, sizeof text, "abcdef", 6);
    ESK_CHECK_TEXT(text, "abc");
    esk_text_copy(text, sizeof text, "a\0", 2);
    ESK_CHECK_BYTES(text, "a\0\0\0", 4);
}

ESK_TEST(generated_slots_of_texts_order_as_texts_do) {
    static const char *const texts[] = {
        "", "a", "abcdefgh", "abcdefghi", "a\xC3\xA4", "b", "\xFF\xFF"};
    esk_slot last[2];
    esk_slot slots[2];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        ESK_CONTEXT("text %zu", i);
        esk_text_to_slots(slots, 2, texts[i], (uint16_t)strlen(texts[i]));
        ESK_CHECK(i == 0 || slots[0] > last[0] ||
                  (slots[0] == last[0] && slots[1] > last[1]));
        memcpy(last, slots, sizeof last);
        esk_text_of_slots(slots, 2);
        ESK_CHECK(esk_text_compare(slots, sizeof slots, texts[i],
                                   (uint16_t)strlen(texts[i])) == 0);
    }
}

ESK_TEST(generated_like_matches_as_sql_does) {
    static const struct {
        const char *text;
        const char *pattern;
        char escape;
        bool matches;
    } cases[] = {
        {"abc", "abc", 0, true},      {"abc", "ab", 0, false},
        {"ab", "abc", 0, false},      {"abc", "a%", 0, true},
        {"abc", "%c", 0, true},       {"abc", "a_c", 0, true},
        {"abc", "ABC", 0, false},     {"", "%", 0, true},
        {"", "_", 0, false},          {"aab", "%ab", 0, true},
        {"abab", "%ab%b", 0, true},   {"abcbc", "a%b_", 0, true},
        {"a%c", "a!%c", '!', true},   {"abc", "a!%c", '!', false},
        {"\xC3\xA4x", "_x", 0, true}, {"a\xC3\xA4", "%_x", 0, false},
        {"a_c", "a!_c", '!', true},   {"abc", "a!_c", '!', false},
        {"a!", "a!", '!', true},      {"abcd", "%b%", 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %zu", i);
        ESK_CHECK(esk_text_like(cases[i].text, (uint16_t)strlen(cases[i].text),
                                cases[i].pattern,
                                (uint16_t)strlen(cases[i].pattern),
                                cases[i].escape) == cases[i].matches);
    }
}

ESK_TEST_MAIN()
