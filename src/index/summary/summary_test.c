// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "index/summary/summary.h"

#include <math.h>

#include "base/bytes.h"
#include "base/order.h"
#include "test/harness/esk_test.h"

enum { ENTRY_BYTES_MAX = 3 * 24, ROWS_MAX = 200 };

struct set {
    struct esk_summary_column column;
    uint8_t rows[ROWS_MAX * 8];
    uint16_t row_count;
};

static uint64_t test_seed;

static uint64_t test_random(void) {
    test_seed = test_seed * UINT64_C(6364136223846793005) + 1;
    return test_seed >> 33 ^ test_seed << 31;
}

static struct esk_summary_column column_of(uint8_t type, uint8_t bits) {
    struct esk_summary_column column = {0};
    column.type = type;
    column.width = esk_order_width(type);
    column.bitmap_bits = bits;
    return column;
}

/// Rows of one column whose order forms are near `centre`, up to `spread`.
static void fill_rows(struct set *set, uint16_t count, uint64_t centre,
                      uint64_t spread) {
    uint64_t max = esk_order_max(set->column.type);
    set->row_count = count;
    for (uint16_t i = 0; i < count; i++) {
        uint8_t value[8];
        uint8_t width = set->column.width;
        esk_store_u64(value, (centre + test_random() % spread) & max);
        if (set->column.type <= ESK_TYPE_I64) {
            value[width - 1] ^= 0x80;
        }
        memcpy(&set->rows[i * width], value, width);
    }
}

static bool any_row_in(const struct set *set, uint64_t lo, uint64_t hi) {
    for (uint16_t i = 0; i < set->row_count; i++) {
        const uint8_t *value = &set->rows[i * set->column.width];
        uint64_t order = esk_order_load(set->column.type, value);
        if (!esk_order_is_nan(set->column.type, value) && order >= lo &&
            order <= hi) {
            return true;
        }
    }
    return false;
}

/// Whether the entry matches every range.
static bool may_match(const struct esk_summary_column *columns,
                      const uint8_t *entry,
                      const struct esk_summary_range *ranges, uint8_t count) {
    bool matches = true;
    for (uint8_t i = 0; i < count; i++) {
        matches = matches &&
                  esk_summary_matches(columns, entry, 0, 1, &ranges[i]) == 1;
    }
    return matches;
}

static bool entry_matches(const struct set *set, const uint8_t *entry,
                          uint64_t lo, uint64_t hi) {
    struct esk_summary_range range = {0, lo, hi};
    return may_match(&set->column, entry, &range, 1);
}

/// Tests many ranges: none with a row may be excluded. Returns how many of the
/// others match.
static int check_covers(const struct set *set, const uint8_t *entry,
                        uint64_t centre, uint64_t spread) {
    uint64_t max = esk_order_max(set->column.type);
    int wrong = 0;
    for (int i = 0; i < 300; i++) {
        uint64_t width = (uint64_t)1 << (test_random() % 12);
        uint64_t lo = (centre + test_random() % spread) & max;
        uint64_t hi = max - lo < width ? max : lo + width;
        bool may = entry_matches(set, entry, lo, hi);
        bool has = any_row_in(set, lo, hi);
        ESK_CHECK(may || !has);
        wrong += may && !has;
    }
    ESK_CHECK(entry_matches(set, entry, 0, max) == (set->row_count != 0));
    return wrong;
}

static const uint8_t test_types[] = {
    ESK_TYPE_I8,  ESK_TYPE_U8,  ESK_TYPE_I16, ESK_TYPE_U16, ESK_TYPE_I32,
    ESK_TYPE_U32, ESK_TYPE_I64, ESK_TYPE_U64, ESK_TYPE_F32, ESK_TYPE_F64};
static const uint8_t test_bits[] = {0, 8, 16, 32, 64};
static const uint64_t test_spreads[] = {
    1, 2, 7, 60, 1000, 100000, UINT64_C(1) << 33, UINT64_MAX};

ESK_TEST(summary_never_excludes_a_row_it_covers) {
    for (size_t t = 0; t < sizeof test_types; t++) {
        for (size_t b = 0; b < sizeof test_bits; b++) {
            for (size_t s = 0; s < 8; s++) {
                struct set set;
                uint8_t entry[ENTRY_BYTES_MAX];
                uint64_t centre = test_random();
                ESK_CONTEXT("type %u, bits %u, spread %ju", test_types[t],
                            test_bits[b], (uintmax_t)test_spreads[s]);
                set.column = column_of(test_types[t], test_bits[b]);
                fill_rows(&set, 31, centre, test_spreads[s]);
                esk_summary_fold(&set.column, 1, entry, set.rows, 31,
                                 set.column.width);
                check_covers(&set, entry, centre, test_spreads[s]);
            }
        }
    }
}

ESK_TEST(summary_merge_covers_both) {
    for (size_t t = 0; t < sizeof test_types; t++) {
        for (size_t b = 0; b < sizeof test_bits; b++) {
            for (size_t s = 0; s < 64; s++) {
                struct set set;
                struct set other;
                uint8_t entry[ENTRY_BYTES_MAX];
                uint8_t added[ENTRY_BYTES_MAX];
                uint64_t spread = test_spreads[s >> 3];
                uint64_t centre = test_random();
                uint64_t apart = test_random() % test_spreads[s & 7];
                ESK_CONTEXT("type %u, bits %u, case %zu", test_types[t],
                            test_bits[b], s);
                set.column = column_of(test_types[t], test_bits[b]);
                other.column = set.column;
                fill_rows(&set, 31, centre, spread);
                fill_rows(&other, 31, centre + apart, test_spreads[s & 7]);
                esk_summary_fold(&set.column, 1, entry, set.rows, 31,
                                 set.column.width);
                esk_summary_fold(&set.column, 1, added, other.rows, 31,
                                 set.column.width);
                esk_summary_merge(&set.column, 1, entry, added, 1, 0);
                memcpy(&set.rows[31 * set.column.width], other.rows,
                       (size_t)31 * set.column.width);
                set.row_count = 62;
                check_covers(&set, entry, centre, spread);
                check_covers(&set, entry, centre + apart, test_spreads[s & 7]);
                /* Merging once more changes nothing. */
                memcpy(other.rows, entry, sizeof entry);
                esk_summary_merge(&set.column, 1, entry, added, 1, 0);
                ESK_CHECK_BYTES(entry, other.rows,
                                esk_summary_entry_bytes(&set.column, 1));
            }
        }
    }
}

ESK_TEST(summary_bitmap_excludes_what_a_zone_map_lets_through) {
    struct set set;
    uint8_t entry[ENTRY_BYTES_MAX];
    int wrong[2];
    for (int i = 0; i < 2; i++) {
        test_seed = 99;
        set.column = column_of(ESK_TYPE_I32, i == 0 ? 0 : 64);
        fill_rows(&set, 31, 1u << 30, 1000000);
        esk_summary_fold(&set.column, 1, entry, set.rows, 31, 4);
        wrong[i] = check_covers(&set, entry, 1u << 30, 1000000);
    }
    ESK_CHECK(wrong[1] * 2 < wrong[0]);
}

ESK_TEST(summary_of_few_values_is_exact) {
    struct set set;
    uint8_t entry[ENTRY_BYTES_MAX];
    set.column = column_of(ESK_TYPE_U16, 16);
    set.row_count = 3;
    esk_store_u16(&set.rows[0], 100);
    esk_store_u16(&set.rows[2], 103);
    esk_store_u16(&set.rows[4], 115);
    esk_summary_fold(&set.column, 1, entry, set.rows, 3, 2);
    for (uint64_t value = 90; value < 130; value++) {
        ESK_CHECK_INT(entry_matches(&set, entry, value, value),
                      value == 100 || value == 103 || value == 115);
    }
}

ESK_TEST(summary_merge_keeps_cells_of_equal_zones) {
    struct set set;
    uint8_t entry[ENTRY_BYTES_MAX];
    uint8_t page[ENTRY_BYTES_MAX];
    set.column = column_of(ESK_TYPE_I16, 16);
    esk_summary_clear(&set.column, 1, entry);
    for (uint16_t i = 0; i < 3; i++) {
        esk_store_u16(&set.rows[0], (uint16_t)-990);
        esk_store_u16(&set.rows[2], (uint16_t)(-990 + 50 * i));
        esk_store_u16(&set.rows[4], 400);
        esk_summary_fold(&set.column, 1, page, set.rows, 3, 2);
        esk_summary_merge(&set.column, 1, entry, page, 1, 0);
    }
    ESK_CHECK(entry_matches(&set, entry, 32768 - 890, 32768 - 890));
    ESK_CHECK(!entry_matches(&set, entry, 32768 - 700, 32768 + 300));
    esk_store_u16(&set.rows[0], 401);
    esk_summary_fold(&set.column, 1, page, set.rows, 1, 2);
    esk_summary_merge(&set.column, 1, entry, page, 1, 0);
    ESK_CHECK(entry_matches(&set, entry, 32768 - 890, 32768 - 890));
    ESK_CHECK(!entry_matches(&set, entry, 32768 - 700, 32768 + 300));
    ESK_CHECK(!entry_matches(&set, entry, 32768 + 402, 32768 + 402));
}

/// The number of the column's width at `bytes`.
static uint64_t number_at(const struct esk_summary_column *column,
                          const uint8_t *bytes) {
    uint8_t wide[8] = {0};
    memcpy(wide, bytes, column->width);
    return esk_load_u64(wide);
}

static uint8_t model_shift(uint64_t span) {
    uint8_t shift = 0;
    while (span >> shift > 255) {
        shift++;
    }
    return shift;
}

/// The learned cell of the value `distance` above min.
static uint8_t model_cell(const struct esk_summary_column *column,
                          uint64_t span, uint64_t distance) {
    uint8_t shift = model_shift(span);
    uint32_t steps = (uint32_t)(span >> shift) + 1;
    uint32_t bits = column->bitmap_bits;
    uint32_t scale = steps <= bits ? 256 : bits * 256 / steps;
    return (uint8_t)((uint32_t)(distance >> shift) * scale >> 8);
}

/// Sets the cells of the zone of `to` in which values of set cells of `from`
/// can be, and no other.
static void model_cells(const struct esk_summary_column *column, uint8_t *to,
                        const uint8_t *from) {
    uint8_t width = column->width;
    uint64_t min = number_at(column, to);
    uint64_t span = number_at(column, to + width) - min;
    uint64_t from_min = number_at(column, from);
    uint64_t from_span = number_at(column, from + width) - from_min;
    uint8_t shift = model_shift(from_span);
    for (uint64_t step = 0; step <= from_span >> shift; step++) {
        uint64_t low = step << shift;
        uint64_t high = low + (((uint64_t)1 << shift) - 1);
        uint8_t cell = model_cell(column, from_span, low);
        high = high < from_span ? high : from_span;
        if ((from[2 * width + cell / 8] >> (cell & 7) & 1) == 0) {
            continue;
        }
        cell = model_cell(column, span, from_min - min + low);
        for (; cell <= model_cell(column, span, from_min - min + high);
             cell++) {
            uint8_t *byte = &to[2 * width + cell / 8];
            *byte = (uint8_t)(*byte | 1u << (cell & 7));
        }
    }
}

/// esk_summary_merge of one entry of one column, by numbers.
static void model_merge(const struct esk_summary_column *column, uint8_t *entry,
                        const uint8_t *other) {
    uint8_t width = column->width;
    uint8_t old[ENTRY_BYTES_MAX];
    uint64_t min = number_at(column, entry);
    uint64_t max = number_at(column, entry + width);
    uint64_t other_min = number_at(column, other);
    uint64_t other_max = number_at(column, other + width);
    if (other_min > other_max) {
        return;
    }
    if (min > max) {
        memcpy(entry, other, esk_summary_entry_bytes(column, 1));
        return;
    }
    memcpy(old, entry, sizeof old);
    memmove(entry, other_min < min ? other : entry, width);
    memmove(entry + width, (other_max > max ? other : entry) + width, width);
    if (column->edges == NULL && column->bitmap_bits > 0) {
        memset(entry + 2 * width, 0, column->bitmap_bits / 8);
        model_cells(column, entry, old);
        model_cells(column, entry, other);
        return;
    }
    for (uint16_t i = 0; i < column->bitmap_bits / 8; i++) {
        uint16_t at = (uint16_t)(2 * width + i);
        entry[at] = (uint8_t)(entry[at] | other[at]);
    }
}

/// Checks that `entry` has the bits of `exact`, and no others but neighbours of
/// these. Returns how many it has more.
static int check_bits(const struct esk_summary_column *column,
                      const uint8_t *entry, const uint8_t *exact) {
    uint16_t at = (uint16_t)(2 * column->width);
    uint64_t bits = 0;
    uint64_t exact_bits = 0;
    for (uint16_t i = 0; i < column->bitmap_bits / 8; i++) {
        bits |= (uint64_t)entry[at + i] << 8 * i;
        exact_bits |= (uint64_t)exact[at + i] << 8 * i;
    }
    ESK_CHECK_BYTES(entry, exact, at);
    ESK_CHECK((exact_bits & ~bits) == 0);
    ESK_CHECK((bits & ~(exact_bits | exact_bits << 1 | exact_bits >> 1)) == 0);
    return __builtin_popcountll(bits & ~exact_bits);
}

ESK_TEST(summary_merge_joins_cells_of_different_zones) {
    int cells = 0;
    int wrong = 0;
    for (uint32_t i = 0; i < sizeof test_types * 64 * 40; i++) {
        struct set set;
        uint8_t entry[ENTRY_BYTES_MAX];
        uint8_t exact[ENTRY_BYTES_MAX];
        uint8_t other[ENTRY_BYTES_MAX];
        uint64_t centre = test_random();
        uint8_t bits = test_bits[1 + i / sizeof test_types % 4];
        ESK_CONTEXT("case %u", i);
        set.column = column_of(test_types[i % sizeof test_types], bits);
        fill_rows(&set, 5, centre, test_spreads[i / 40 % 8]);
        esk_summary_fold(&set.column, 1, entry, set.rows, 5, set.column.width);
        memcpy(exact, entry, sizeof exact);
        fill_rows(&set, 5, centre + test_random() % test_spreads[i / 320 % 8],
                  test_spreads[i / 320 % 8]);
        esk_summary_fold(&set.column, 1, other, set.rows, 5, set.column.width);
        esk_summary_merge(&set.column, 1, entry, other, 1, 0);
        model_merge(&set.column, exact, other);
        wrong += check_bits(&set.column, entry, exact);
        cells += bits;
    }
    ESK_CHECK(wrong * 100 < cells);
}

ESK_TEST(summary_merge_of_a_run_is_that_of_its_entries) {
    enum { RUN = 9 };
    uint8_t edges[2 * 8] = {0};
    for (uint32_t i = 0; i < sizeof test_types * sizeof test_bits * 64; i++) {
        struct set set;
        uint8_t run[RUN * ENTRY_BYTES_MAX];
        uint8_t one[ENTRY_BYTES_MAX];
        uint8_t all[ENTRY_BYTES_MAX];
        uint8_t bits = test_bits[i / sizeof test_types % sizeof test_bits];
        ESK_CONTEXT("case %u", i);
        set.column = column_of(test_types[i % sizeof test_types], bits);
        if (bits > 0 && i % 3 == 0) {
            set.column.edges = edges;
            set.column.edge_count = 1;
        }
        uint16_t bytes = esk_summary_entry_bytes(&set.column, 1);
        uint64_t spread = 1 + test_random() % 8;
        for (uint16_t k = 0; k < RUN; k++) {
            uint16_t rows = (uint16_t)(test_random() % 4); /* or none */
            fill_rows(&set, rows, 1000, spread);
            esk_summary_fold(&set.column, 1, &run[k * bytes], set.rows, rows,
                             set.column.width);
        }
        esk_summary_clear(&set.column, 1, one);
        esk_summary_clear(&set.column, 1, all);
        for (uint16_t k = 0; k < RUN; k++) {
            model_merge(&set.column, one, &run[k * bytes]);
        }
        esk_summary_merge(&set.column, 1, all, run, RUN, bytes);
        ESK_CHECK_BYTES(all, one, bytes);
    }
}

ESK_TEST(summary_zones_cover_every_entry_merged) {
    struct esk_summary_column columns[2] = {column_of(ESK_TYPE_I32, 64),
                                            column_of(ESK_TYPE_U8, 8)};
    struct esk_summary_column zones_of[2] = {column_of(ESK_TYPE_I32, 0),
                                             column_of(ESK_TYPE_U8, 0)};
    uint8_t zones[10];
    uint8_t entry[ENTRY_BYTES_MAX];
    uint8_t row[5] = {0};
    columns[1].offset = 4;
    esk_summary_clear(zones_of, 2, zones);
    esk_summary_clear(columns, 2, entry);
    esk_summary_merge_zones(columns, 2, zones, entry);
    ESK_CHECK(esk_load_u32(zones) == UINT32_MAX);
    for (uint8_t i = 10; i < 20; i++) {
        row[0] = i;
        row[4] = (uint8_t)(100 - i);
        esk_summary_fold(columns, 2, entry, row, 1, 5);
        esk_summary_merge_zones(columns, 2, zones, entry);
    }
    ESK_CHECK_INT(esk_load_u32(zones), 0x80000000u + 10);
    ESK_CHECK_INT(esk_load_u32(zones + 4), 0x80000000u + 19);
    ESK_CHECK_INT(zones[8], 81);
    ESK_CHECK_INT(zones[9], 90);
    struct esk_summary_range range = {1, 85, 85};
    ESK_CHECK(may_match(zones_of, zones, &range, 1));
    range.lo = 91;
    range.hi = 255;
    ESK_CHECK(!may_match(zones_of, zones, &range, 1));
}

ESK_TEST(summary_given_edges_are_buckets_of_their_own) {
    const uint8_t widths[] = {1, 2, 4, 8};
    const uint8_t types[] = {ESK_TYPE_U8, ESK_TYPE_U16, ESK_TYPE_U32,
                             ESK_TYPE_U64};
    for (size_t w = 0; w < 4; w++) {
        struct set set;
        uint8_t entry[ENTRY_BYTES_MAX];
        uint8_t edges[3 * 8];
        uint8_t width = widths[w];
        set.column = column_of(types[w], 8);
        set.column.edges = edges;
        set.column.edge_count = 3;
        for (uint8_t i = 0; i < 3; i++) { /* 50, 100, 150 */
            uint8_t value[8];
            esk_store_u64(value, 50u * (i + 1u));
            memcpy(edges + i * width, value, width);
        }
        memset(set.rows, 0, sizeof set.rows);
        set.rows[0] = 49;
        set.rows[width] = 150;
        esk_summary_fold(&set.column, 1, entry, set.rows, 2, width);
        ESK_CONTEXT("width %u", width);
        ESK_CHECK_INT(entry[2 * width], 1 | 8);
        ESK_CHECK(entry_matches(&set, entry, 0, 49));
        ESK_CHECK(!entry_matches(&set, entry, 0, 48)); /* the zone map */
        ESK_CHECK(!entry_matches(&set, entry, 50, 149));
        ESK_CHECK(entry_matches(&set, entry, 50, 150));
        set.rows[0] = 60;
        set.rows[width] = 200;
        uint8_t other[ENTRY_BYTES_MAX];
        esk_summary_fold(&set.column, 1, other, set.rows, 2, width);
        esk_summary_merge(&set.column, 1, entry, other, 1, 0);
        ESK_CHECK_INT(entry[2 * width], 1 | 2 | 8);
        ESK_CHECK(entry_matches(&set, entry, 50, 99));
        ESK_CHECK(!entry_matches(&set, entry, 100, 149));
    }
}

ESK_TEST(summary_leaves_nan_out) {
    const float values[] = {NAN, 2.5f, NAN, -1.0f};
    struct set set;
    uint8_t entry[ENTRY_BYTES_MAX];
    uint8_t empty[ENTRY_BYTES_MAX];
    uint32_t bits;
    set.column = column_of(ESK_TYPE_F32, 16);
    for (int i = 0; i < 4; i++) {
        memcpy(&bits, &values[i], sizeof bits);
        esk_store_u32(&set.rows[4 * i], bits);
    }
    esk_summary_clear(&set.column, 1, empty);
    esk_summary_fold(&set.column, 1, entry, set.rows, 1, 4);
    ESK_CHECK_BYTES(entry, empty, 10);
    esk_summary_fold(&set.column, 1, entry, set.rows, 4, 4);
    memcpy(&bits, &values[3], sizeof bits);
    ESK_CHECK_INT(esk_load_u32(entry), ~bits);
    memcpy(&bits, &values[1], sizeof bits);
    ESK_CHECK_INT(esk_load_u32(entry + 4), bits | 0x80000000u);
    set.row_count = 4;
    check_covers(&set, entry, 0, UINT32_MAX);
}

ESK_TEST(summary_cleared_matches_nothing_and_widened_everything) {
    for (size_t t = 0; t < sizeof test_types; t++) {
        for (size_t b = 0; b < sizeof test_bits; b++) {
            struct set set;
            uint8_t entry[ENTRY_BYTES_MAX];
            uint8_t wide[ENTRY_BYTES_MAX];
            set.column = column_of(test_types[t], test_bits[b]);
            uint64_t max = esk_order_max(test_types[t]);
            uint16_t bytes = esk_summary_entry_bytes(&set.column, 1);
            ESK_CHECK_INT(bytes, 2 * set.column.width + test_bits[b] / 8);
            esk_summary_clear(&set.column, 1, entry);
            esk_summary_widen(&set.column, 1, wide);
            ESK_CHECK(!entry_matches(&set, entry, 0, max));
            for (int i = 0; i < 50; i++) {
                uint64_t value = test_random() & max;
                ESK_CHECK(entry_matches(&set, wide, value, value));
            }
            /* Merging with the empty and the unknown entry. */
            esk_summary_merge(&set.column, 1, wide, entry, 1, 0);
            esk_summary_merge(&set.column, 1, entry, wide, 1, 0);
            ESK_CHECK_BYTES(entry, wide, bytes);
            ESK_CHECK(entry_matches(&set, entry, max, max));
            fill_rows(&set, 20, 1, 1000);
            esk_summary_fold(&set.column, 1, entry, set.rows, 20,
                             set.column.width);
            esk_summary_merge(&set.column, 1, entry, wide, 1, 0);
            ESK_CHECK_BYTES(entry, wide, bytes);
        }
    }
}

ESK_TEST(summary_ranges_on_several_columns_must_all_match) {
    struct esk_summary_column columns[2] = {column_of(ESK_TYPE_I32, 16),
                                            column_of(ESK_TYPE_U8, 8)};
    const uint8_t rows[10] = {5, 0, 0, 0, 7, 9, 0, 0, 0, 8};
    uint8_t entry[ENTRY_BYTES_MAX];
    uint64_t zero = 0x80000000u;
    columns[1].offset = 4;
    ESK_CHECK_INT(esk_summary_entry_bytes(columns, 2), 10 + 3);
    esk_summary_fold(columns, 2, entry, rows, 2, 5);
    struct esk_summary_range ranges[3] = {
        {1, 7, 7}, {0, zero + 9, zero + 9}, {1, 0, 7}};
    ESK_CHECK(may_match(columns, entry, ranges, 3));
    ESK_CHECK(may_match(columns, entry, NULL, 0));
    ranges[2].hi = 6;
    ESK_CHECK(!may_match(columns, entry, ranges, 3));
    ranges[2].hi = 7;
    ranges[1].lo = zero + 6;
    ranges[1].hi = zero + 8;
    ESK_CHECK(!may_match(columns, entry, ranges, 3));
}

ESK_TEST(summary_finds_which_of_many_entries_match) {
    enum { COUNT = 64, BYTES = 8 + 2 };
    struct esk_summary_column column = column_of(ESK_TYPE_I32, 16);
    uint8_t entries[COUNT * BYTES];
    for (uint32_t i = 0; i < COUNT; i++) {
        uint8_t row[4];
        esk_store_u32(row, i % 7);
        esk_summary_fold(&column, 1, entries + i * BYTES, row, 1, 4);
    }
    for (uint16_t count = 0; count <= COUNT; count++) {
        struct esk_summary_range range = {0, 0x80000003u, 0x80000004u};
        uint64_t wanted = 0;
        for (uint16_t i = 0; i < count; i++) {
            wanted |= (uint64_t)(i % 7 == 3 || i % 7 == 4) << i;
        }
        ESK_CONTEXT("count %u", count);
        ESK_CHECK(esk_summary_matches(&column, entries, BYTES, count, &range) ==
                  wanted);
    }
}

/// Makes an entry row by row.
static void gather(const struct set *set, uint8_t *entry) {
    uint8_t steps[ESK_SUMMARY_STEPS_BYTES_MAX];
    esk_summary_begin(&set->column, 1, entry, steps);
    for (uint16_t i = 0; i < set->row_count; i++) {
        esk_summary_reach(&set->column, 1, entry, steps,
                          &set->rows[i * set->column.width]);
    }
    esk_summary_complete(&set->column, 1, entry, steps);
}

/// Bits of the entry's bitmap that are set.
static int bits_set(const struct set *set, const uint8_t *entry) {
    int count = 0;
    for (uint8_t i = 0; i < set->column.bitmap_bits; i++) {
        count += entry[2 * set->column.width + i / 8] >> i % 8 & 1;
    }
    return count;
}

ESK_TEST(summary_of_rows_one_by_one_covers_what_a_fold_covers) {
    int folded = 0;
    int gathered = 0;
    for (size_t t = 0; t < sizeof test_types; t++) {
        for (size_t b = 0; b < sizeof test_bits; b++) {
            for (uint8_t shift = 0; shift < 64; shift++) {
                struct set set;
                uint8_t entry[ENTRY_BYTES_MAX];
                uint8_t all[ENTRY_BYTES_MAX];
                uint64_t spread = UINT64_MAX >> shift;
                uint16_t count = (uint16_t)(1 + test_random() % 60);
                ESK_CONTEXT("type %u, bits %u, spread %ju", test_types[t],
                            test_bits[b], (uintmax_t)spread);
                set.column = column_of(test_types[t], test_bits[b]);
                fill_rows(&set, count, test_random(), spread);
                gather(&set, entry);
                esk_summary_fold(&set.column, 1, all, set.rows, count,
                                 set.column.width);
                size_t zone = 2u * set.column.width;
                ESK_CHECK_BYTES(entry, all, zone);
                for (size_t i = zone; i < zone + test_bits[b] / 8u; i++) {
                    ESK_CHECK((all[i] & ~entry[i]) == 0);
                    /* One bit a value, if there are bits enough. */
                    ESK_CHECK(spread > 255 || all[i] == entry[i]);
                }
                folded += bits_set(&set, all);
                gathered += bits_set(&set, entry);
            }
        }
    }
    ESK_CHECK(gathered < folded + folded / 16);
}

ESK_TEST(summary_of_rows_one_by_one_has_given_buckets_and_no_nan) {
    static const uint8_t edges[] = {10, 0, 0, 128, 20, 0, 0, 128};
    struct set set = {.column = column_of(ESK_TYPE_I32, 8), .row_count = 2};
    uint8_t entry[ENTRY_BYTES_MAX];
    set.column.edges = edges;
    set.column.edge_count = 2;
    esk_store_u32(set.rows, 5);
    esk_store_u32(set.rows + 4, 25);
    gather(&set, entry);
    ESK_CHECK_INT(entry[8], 5);

    uint32_t nan = 0;
    float value = NAN;
    memcpy(&nan, &value, 4);
    set.column = column_of(ESK_TYPE_F32, 8);
    esk_store_u32(set.rows, nan);
    set.row_count = 1;
    gather(&set, entry);
    ESK_CHECK(!entry_matches(&set, entry, 0, UINT32_MAX));
}

ESK_TEST(summary_survives_hostile_entries) {
    for (int i = 0; i < 20000; i++) {
        uint8_t type = test_types[test_random() % sizeof test_types];
        struct set set;
        uint8_t entry[ENTRY_BYTES_MAX];
        uint8_t other[ENTRY_BYTES_MAX];
        set.column = column_of(type, test_bits[test_random() % 5]);
        for (size_t j = 0; j < sizeof entry; j++) {
            entry[j] = (uint8_t)test_random();
            other[j] = (uint8_t)test_random();
        }
        esk_summary_merge(&set.column, 1, entry, other, 1, 0);
        entry_matches(&set, entry, test_random(), test_random());
    }
}

ESK_TEST_MAIN()
