// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed tables whose pages or catalog say what cannot be, with a checksum
/// that is right: where no key is forged all rows of other pages are there,
/// every call ends, and nothing outside of the arena is touched.
#include "table/series/series_rows.h"
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume_format.h"

enum { ROW_BYTES = 22, ROWS = 400, CELL = 64, HEAT = 2, PAD = 3 };

static struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
    {.name = "heat", .type = ESK_TYPE_F32, .mode = ESK_PACK_DECIMAL + 1},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 6},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_index_spec by_level = {.column = 1, .bitmap_bits = 8};

static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256),
    ESK_NAND(64, 8, 256),
};
enum { MEDIA = sizeof media / sizeof media[0] };

static struct esk_fixture fixture;

static struct esk_series_spec spec_of(void) {
    return (struct esk_series_spec){.table = {.name = "log",
                                              .columns = columns,
                                              .column_count = 5,
                                              .row_bytes = ROW_BYTES},
                                    .data_blocks = 16,
                                    .var_blocks = 6,
                                    .codec = ESK_CODEC_PACKED,
                                    .cell_bytes = CELL,
                                    .indexes = &by_level,
                                    .index_count = 1};
}

static void row_make(uint32_t key, uint8_t *row) {
    const float heat = (float)(key % 50) / 10;
    memset(row, 0, ROW_BYTES);
    esk_store_u32(row, key);
    esk_store_u16(row + 4, (uint16_t)(key * 7u % 300));
    memcpy(row + 6, &heat, sizeof heat);
    row[10 + key % 6] = (uint8_t)key;
}

static void append(uint32_t from, uint32_t to) {
    uint8_t row[ROW_BYTES];
    for (uint32_t key = from; key < to; key++) {
        row_make(key, row);
        ESK_CHECK_INT(esk_series_append_var(fixture.series, row, "x", 1),
                      ESK_OK);
    }
}

/// Makes the table, with the rows 1 .. ROWS, of which the newest are synced.
static void start(const struct esk_geometry *geometry) {
    struct esk_series_spec spec = spec_of();
    fixture_start(&fixture, geometry, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    append(1, ROWS + 1);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
}

/// Makes `width` bytes of the page at `position` from `at` on `bytes`, corrects
/// its checksum, and opens the table anew.
static void forge(const struct esk_ring *ring, uint32_t position, uint16_t at,
                  const void *bytes, uint16_t width) {
    esk_page_id id = esk_ring_page(ring, position);
    const struct esk_envelope *envelope = &ring->region.envelope;
    ESK_CHECK_INT(esk_sim_peek(fixture.sim, id, fixture.page), ESK_OK);
    memcpy(fixture.page + at, bytes, width);
    esk_envelope_close(envelope, fixture.page, esk_page_count(fixture.page));
    ESK_CHECK_INT(
        esk_sim_poke(fixture.sim, id, 0, fixture.page, envelope->page_bytes),
        ESK_OK);
    fixture_reboot(&fixture);
}

/// Whether the row is as it was appended: all but the value's reference.
static bool is_right(uint32_t key, const uint8_t *row) {
    uint8_t expected[ROW_BYTES];
    row_make(key, expected);
    return memcmp(row, expected, 16) == 0;
}

/// Reads all rows by a cursor. Those of keys `first` up to `end`, which are on
/// the forged page, may differ or be missing. Of the others all must be there
/// if `is_strict`, and the cursor must have counted damage.
static void scan(uint32_t first, uint32_t end, bool is_strict, bool backward) {
    struct esk_series_cursor cursor;
    struct esk_series_query query = {.backward = backward};
    uint8_t row[ROW_BYTES];
    uint32_t others = 0;
    uint32_t steps = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
        uint32_t key = esk_load_u32(row);
        ESK_CHECK(steps++ < 2 * ROWS);
        others += (key < first || key >= end) && is_right(key, row);
    }
    if (is_strict) {
        ESK_CHECK_INT(others, ROWS - (end - first));
        ESK_CHECK(first == end || end > ROWS ||
                  esk_series_cursor_damaged(&cursor) > 0);
    }
}

/// Every other way to read, for rows of which some are forged.
static void use(uint32_t first, uint32_t end, bool is_strict) {
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true, .hi = {.i = 150}};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    struct esk_series_cursor cursor;
    struct esk_series_report report;
    uint8_t row[ROW_BYTES];
    uint32_t count = 0;
    for (uint32_t key = 1; key <= ROWS; key++) {
        int status = esk_series_get(fixture.series, key, row);
        ESK_CHECK(status != ESK_OK || esk_load_u32(row) == key);
        if (is_strict && (key < first || key >= end)) {
            ESK_CHECK_INT(status, ESK_OK);
            ESK_CHECK(is_right(key, row));
        }
        status = esk_series_floor(fixture.series, key, row);
        ESK_CHECK(status != ESK_OK || esk_load_u32(row) <= key);
        status = esk_series_ceiling(fixture.series, key, row);
        ESK_CHECK(status != ESK_OK || esk_load_u32(row) >= key);
    }
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_cursor_count(fixture.series, &cursor, &count),
                  ESK_OK);
    int status = esk_series_check(fixture.series, &report);
    ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
    if (is_strict && end <= ROWS) {
        ESK_CHECK_INT(status, ESK_E_CORRUPT);
    }
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
}

/// Rows of the data page at `position`: from `*first` up to `*end`.
static void page_keys(uint32_t position, uint32_t *first, uint32_t *end) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    ESK_CHECK_INT(esk_series_pin(fixture.series, &fixture.series->data,
                                 position, &page, &frame),
                  ESK_OK);
    *first = esk_page_aux(page) + 1;
    *end = *first + esk_page_count(page);
    esk_pool_unpin(&fixture.series->pool, frame);
}

/// What is forged of a page. Strict: rows end early, and no key and no ordinal
/// is another.
static const struct {
    const char *what;
    uint8_t bytes[4];
    uint16_t at;
    uint8_t count;
    bool is_strict;
} forgeries[] = {
    {"more rows than it has", {150, 0}, ESK_ENVELOPE_COUNT, 2, true},
    {"a scale of the first cell",
     {0xFE},
     ESK_ENVELOPE_BYTES + ROW_BYTES + 1,
     1,
     true},
    {"no second cell", {0}, CELL + ROW_BYTES, 1, true},
    {"a scale of the third cell", {0x99}, 2 * CELL + ROW_BYTES + 2, 1, true},
    {"bits of the first cell",
     {0},
     ESK_ENVELOPE_BYTES + ROW_BYTES + 8,
     4,
     false},
    {"key of the second cell", {0xFF, 0xFF, 0xFF, 0xFF}, CELL, 4, false},
    {"key of the first cell", {0}, ESK_ENVELOPE_BYTES, 4, false},
};
enum { FORGERIES = sizeof forgeries / sizeof forgeries[0] };

/// Makes a table and forges a data page of it: the newest complete one, which
/// the index does not have yet, or one before it.
static void forged_check(uint32_t medium, uint32_t forged, bool is_newest) {
    uint32_t first = 0;
    uint32_t end = 0;
    bool is_strict = forgeries[forged].is_strict;
    start(&media[medium]);
    struct esk_series *series = fixture.series;
    uint32_t position = is_newest ? series->data.head - 1 : 3;
    page_keys(position, &first, &end);
    ESK_CHECK(first > 1 && end <= ROWS + 1);
    forge(&series->data, position, forgeries[forged].at,
          forgeries[forged].bytes, forgeries[forged].count);
    scan(first, end, is_strict, false);
    use(first, end, is_strict);
    scan(first, end, is_strict, true);
    int status = esk_series_erase_before(fixture.series, end - 1);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    use(1, end, false);
    status = esk_series_erase_after(fixture.series, end);
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
    uint8_t row[ROW_BYTES];
    row_make(UINT32_MAX - 2, row);
    status = esk_series_append_var(fixture.series, row, "x", 1);
    ESK_CHECK(status == ESK_OK || status == ESK_OUT_OF_ORDER);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(forged_rows_of_a_packed_page_hide_no_others) {
    for (uint32_t i = 0; i < MEDIA * FORGERIES; i++) {
        ESK_CONTEXT("medium %u: %s", (unsigned)(i % MEDIA),
                    forgeries[i / MEDIA].what);
        forged_check(i % MEDIA, i / MEDIA, false);
        forged_check(i % MEDIA, i / MEDIA, true);
    }
}

/// What a scan found of the rows before and behind a forged page.
struct found {
    uint32_t below;
    uint32_t above;
};

static struct found rows_find(uint32_t first, uint32_t end, bool backward) {
    struct esk_series_cursor cursor;
    struct esk_series_query query = {.backward = backward};
    struct found found = {0, 0};
    uint8_t row[ROW_BYTES];
    uint32_t steps = 0;
    ESK_CHECK_INT(esk_series_cursor_open(fixture.series, &cursor, &query),
                  ESK_OK);
    while (esk_series_cursor_next(fixture.series, &cursor, row) == ESK_OK) {
        uint32_t key = esk_load_u32(row);
        ESK_CHECK(steps++ < 2 * ROWS);
        found.below += key < first && is_right(key, row) ? 1u : 0u;
        found.above += key >= end && is_right(key, row) ? 1u : 0u;
    }
    return found;
}

/// The smallest and the largest key that is read from the page at `position`.
static void keys_read(uint32_t position, uint32_t *least, uint32_t *most) {
    uint8_t *page = NULL;
    uint8_t frame = 0;
    *least = UINT32_MAX;
    *most = 0;
    ESK_CHECK_INT(esk_series_pin(fixture.series, &fixture.series->data,
                                 position, &page, &frame),
                  ESK_OK);
    for (uint16_t i = 0; i < esk_page_count(page); i++) {
        uint32_t key = (uint32_t)esk_rows_key(fixture.series, page, i);
        *least = key < *least ? key : *least;
        *most = key > *most ? key : *most;
    }
    esk_pool_unpin(&fixture.series->pool, frame);
}

/// As if there were no checksum: each bit behind the envelope is another. A
/// cursor hides rows of other pages at most by a key that is beyond theirs.
ESK_TEST(forged_bits_of_a_packed_page_hide_no_others) {
    uint32_t first = 0;
    uint32_t end = 0;
    start(&media[1]);
    page_keys(3, &first, &end);
    for (uint32_t bit = 8 * ESK_ENVELOPE_BYTES; bit < 8 * 256; bit++) {
        uint8_t byte = 0;
        uint32_t least = 0;
        uint32_t most = 0;
        ESK_CONTEXT("bit %u", (unsigned)bit);
        const struct esk_ring *ring = &fixture.series->data;
        ESK_CHECK_INT(
            esk_sim_peek(fixture.sim, esk_ring_page(ring, 3), fixture.page),
            ESK_OK);
        byte = fixture.page[bit / 8];
        uint8_t other = (uint8_t)(byte ^ (1u << bit % 8));
        forge(ring, 3, (uint16_t)(bit / 8), &other, 1);
        keys_read(3, &least, &most);
        struct found found = rows_find(first, end, false);
        ESK_CHECK_INT(found.below, first - 1);
        ESK_CHECK(most >= end || found.above == ROWS + 1 - end);
        found = rows_find(first, end, true);
        ESK_CHECK_INT(found.above, ROWS + 1 - end);
        ESK_CHECK(least < first || found.below == first - 1);
        forge(&fixture.series->data, 3, (uint16_t)(bit / 8), &byte, 1);
    }
    fixture_end(&fixture);
}

/// A journal page with fewer rows than its count: which rows follow is not
/// known, so the table goes on without them.
ESK_TEST(forged_journal_page_of_a_packed_table_costs_its_rows) {
    struct esk_series_spec spec = spec_of();
    const uint8_t count[] = {150, 0};
    struct esk_series_stats stats;
    spec.sync_blocks = 2;
    fixture_start(&fixture, &media[1], NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    append(1, ROWS + 1);
    uint32_t first = fixture.series->ordinal + 1;
    ESK_CHECK(fixture.series->write_count > 0);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    const struct esk_ring *journal = esk_sync_ring(fixture.series);
    forge(journal, journal->head - 1, ESK_ENVELOPE_COUNT, count, 2);
    ESK_CHECK_INT(fixture.series->write_count, 0);
    scan(first, ROWS + 1, true, false);
    use(first, ROWS + 1, true);
    append(ROWS + 1, 2 * ROWS);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_reboot(&fixture);
    scan(first, ROWS + 1, false, true);
    esk_series_stats(fixture.series, &stats);
    ESK_CHECK_INT(stats.pages_damaged, 0);
    fixture_end(&fixture);
}

/// Offset in the descriptor of the entry of column `number`.
static uint16_t column_at(uint8_t number) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    uint16_t at = info.columns;
    for (uint8_t i = 0; i < number; i++) {
        const char *unit = columns[i].unit != NULL ? columns[i].unit : "";
        at = (uint16_t)(at + ESK_CATALOG_COLUMN_HEAD + strlen(columns[i].name) +
                        strlen(unit));
    }
    return at;
}

ESK_TEST(forged_modes_that_a_column_cannot_have_are_corrupt) {
    /* A bit for each mode from 0 on. */
    static const uint16_t can_be[] = {0x06, 0x07, 0xF9, 0x01, 0x01};
    for (uint8_t i = 0; i < 5 * 16; i++) {
        uint8_t mode = i % 16;
        uint8_t number = i / 16;
        ESK_CONTEXT("column %u, mode %u", number, mode);
        start(&media[0]);
        forge_descriptor(
            &fixture, (uint16_t)(column_at(number) + ESK_CATALOG_COLUMN_MODE),
            &mode, 1);
        fixture_mount(&fixture);
        struct esk_series *series = NULL;
        int status = test_series_open(&series, &fixture.volume, "log", NULL,
                                      fixture.arena, fixture.arena_bytes);
        if (mode > ESK_PACK_DECIMAL_MAX) {
            ESK_CHECK_INT(status, ESK_E_UNSUPPORTED);
        } else if ((can_be[number] >> mode & 1) == 0) {
            ESK_CHECK_INT(status, ESK_E_CORRUPT);
        } else {
            ESK_CHECK(status == ESK_OK || status == ESK_E_NO_MEMORY);
        }
        fixture_end(&fixture);
    }
}

/// Offset in the descriptor of the packed table's option.
static uint16_t option_at(void) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    uint16_t at = 0;
    while (info.options[at] != ESK_OPTION_PACKED) {
        at = (uint16_t)(at + ESK_OPTION_HEAD + info.options[at + 1]);
    }
    return (uint16_t)(ESK_DESCRIPTOR_NAME + strlen("log") + at);
}

ESK_TEST(forged_cells_that_cannot_be_are_corrupt) {
    for (uint8_t power = 0; power < 17; power++) {
        ESK_CONTEXT("cells of 2^%u bytes", power);
        start(&media[0]);
        forge_descriptor(&fixture, (uint16_t)(option_at() + ESK_OPTION_HEAD),
                         &power, 1);
        fixture_mount(&fixture);
        struct esk_series *series = NULL;
        int status = test_series_open(&series, &fixture.volume, "log", NULL,
                                      fixture.arena, fixture.arena_bytes);
        ESK_CHECK_INT(status,
                      power >= 6 && power <= 8 ? ESK_OK : ESK_E_CORRUPT);
        if (status == ESK_OK) {
            fixture.series = series;
            use(1, ROWS + 1, false);
            append(ROWS + 1, 2 * ROWS);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(decimal_columns_need_their_part) {
    struct esk_series_parts parts = esk_series_parts_all;
    struct esk_series *series = NULL;
    struct esk_table_info info;
    start(&media[0]);
    fixture_mount(&fixture);
    parts.decimals = NULL;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(
        esk_series_arena_bytes_with(&fixture.volume, &parts, &info, NULL), 0);
    ESK_CHECK_INT(test_series_open_with(&series, &parts, &fixture.volume, "log",
                                        NULL, fixture.arena,
                                        fixture.arena_bytes),
                  ESK_E_UNSUPPORTED);
    fixture_end(&fixture);
}

ESK_TEST(no_key_is_above_the_largest_where_keys_repeat) {
    struct esk_series_spec spec = spec_of();
    uint8_t row[ROW_BYTES];
    spec.keys_repeat = true;
    spec.sync_blocks = ESK_SYNC_BLOCKS_NONE;
    fixture_start(&fixture, &media[1], NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    append(1, ROWS + 1);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(fixture.series->write_count, 0);
    ESK_CHECK_INT(esk_series_get(fixture.series, ROWS, row), ESK_OK);
    ESK_CHECK_INT(esk_series_get(fixture.series, UINT32_MAX, row),
                  ESK_NOT_FOUND);
    row_make(UINT32_MAX, row);
    for (uint32_t i = 0; i < 40; i++) {
        ESK_CHECK_INT(esk_series_append_var(fixture.series, row, "x", 1),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_series_get(fixture.series, UINT32_MAX, row), ESK_OK);
    ESK_CHECK_INT(esk_load_u32(row), UINT32_MAX);
    ESK_CHECK_INT(esk_series_get(fixture.series, 7, row), ESK_OK);
    ESK_CHECK(is_right(7, row));
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
