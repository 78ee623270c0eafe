// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Opening: memory, options, recovery of the index, and forged descriptors and
/// index pages.
#include "table/series/series.h"

#include "test/harness/arena.h"
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I16},
    {.name = "note", .type = ESK_TYPE_VAR},
};

static const uint8_t edges[] = {10, 0, 20, 0};

static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 2}};

static const struct esk_series_spec spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 3,
              .row_bytes = 6 + ESK_VAR_REF_BYTES},
    .indexes = indexes,
    .index_count = 1,
    .group_pages = 4,
    .run_pages = 4,
    .data_blocks = 16,
    .index_blocks = 4,
    .var_blocks = 10};

enum { ROW_BYTES = 18 };

static int append(struct esk_fixture *fixture, uint32_t key) {
    uint8_t row[ROW_BYTES] = {0};
    esk_store_u32(row, key * key);
    esk_store_u16(row + 4, (uint16_t)(key / 9));
    if (fixture->series->var_page == NULL) {
        return esk_series_append(fixture->series, row);
    }
    return esk_series_append_var(fixture->series, row, row, key % ROW_BYTES);
}

static void start(struct esk_fixture *fixture,
                  const struct esk_series_spec *wanted,
                  const struct esk_series_config *config, uint32_t rows) {
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, wanted);
    fixture_open(fixture, "log", config);
    for (uint32_t key = 1; key <= rows; key++) {
        ESK_CHECK_INT(append(fixture, key), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture->series), ESK_OK);
}

/// Every row by key and by value.
static void check_rows(struct esk_fixture *fixture, uint32_t rows) {
    uint8_t row[ROW_BYTES];
    for (uint32_t key = 1; key <= rows; key += 7) {
        ESK_CHECK_INT(esk_series_get(fixture->series, key * key, row), ESK_OK);
    }
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true};
    struct esk_series_query query = {.ranges = &range, .range_count = 1};
    struct esk_series_cursor cursor;
    uint32_t found = 0;
    range.lo.i = 15;
    range.hi.i = 25;
    ESK_CHECK_INT(esk_series_cursor_open(fixture->series, &cursor, &query),
                  ESK_OK);
    while (esk_series_cursor_next(fixture->series, &cursor, row) == ESK_OK) {
        found++;
    }
    ESK_CHECK_INT(found, rows < 234 ? rows - 134 : 99);
}

static const struct esk_series_spec *plain_spec(void) {
    static struct esk_series_spec plain;
    plain = spec;
    plain.index_count = 0;
    return &plain;
}

ESK_TEST(open_takes_exactly_arena_bytes_of_the_arena) {
    static const struct esk_series_config configs[] = {
        {.frames = 0},
        {.frames = 9},
        {.key_index_bytes = 1000},
        {.key_index_bytes = 48}};
    for (int i = 0; i < 4; i++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("config %d", i);
        start(&fixture, &spec, &configs[i], 300);
        esk_series_close(fixture.series);
        struct esk_series *series = NULL;
        for (uint32_t bytes = 0; bytes < fixture.arena_bytes; bytes += 8) {
            ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log",
                                           &configs[i], fixture.arena, bytes),
                          ESK_E_NO_MEMORY);
        }
        ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log",
                                       &configs[i], fixture.arena,
                                       fixture.arena_bytes - 1),
                      ESK_E_NO_MEMORY);
        ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log",
                                       &configs[i], fixture.arena,
                                       fixture.arena_bytes),
                      ESK_OK);
        fixture_end(&fixture);
    }
}

ESK_TEST(open_with_the_fewest_frames_serves_every_call) {
    for (uint8_t which = 0; which < 4; which++) {
        struct esk_series_spec wanted = spec;
        struct esk_table_info info;
        struct esk_fixture fixture;
        struct esk_series_report report;
        uint32_t count = 0;
        ESK_CONTEXT("table %u", which);
        wanted.index_count = which & 1u;
        table_columns(&wanted.table, (which & 2u) != 0 ? 3 : 2);
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &wanted);
        fixture_open(&fixture, "log", NULL);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
        ESK_CHECK_INT(esk_series_frames_min(&info),
                      2 + (which & 1u) + (which >> 1));
        for (uint32_t key = 1; key <= 600; key++) {
            uint8_t row[ROW_BYTES] = {0};
            esk_store_u32(row, key * key);
            esk_store_u16(row + 4, (uint16_t)(key / 9));
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        }
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        check_rows(&fixture, 600);
        ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_OK);
        ESK_CHECK_INT(esk_series_erase_before(fixture.series, 400), ESK_OK);
        ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
        ESK_CHECK_INT(count, 581);
        fixture_end(&fixture);
    }
}

ESK_TEST(open_options_change_costs_and_no_row) {
    static const struct esk_series_config configs[] = {
        {.frames = 4},
        {.frames = 20},
        {.erase_ahead = 3},
        {.erase_ahead = 200},
        {.key_index_bytes = 48},
        {.key_index_bytes = 4000},
        {.key_error_16ths = 1},
        {.key_error_16ths = 16},
        {.key_index_bytes = 48, .key_error_16ths = 1},
    };
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("config %zu", i);
        start(&fixture, &spec, &configs[i], 800);
        check_rows(&fixture, 800);
        ESK_CHECK_INT(esk_volume_step(&fixture.volume, 20, NULL), ESK_OK);
        fixture_reboot(&fixture);
        check_rows(&fixture, 800);
        for (uint32_t key = 801; key <= 1100; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(open_reports_what_it_cannot_open) {
    struct esk_fixture fixture;
    start(&fixture, &spec, NULL, 10);
    ESK_CHECK_INT(fixture_try_open(&fixture, "other", NULL), ESK_NOT_FOUND);
    esk_series_close(fixture.series);
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(esk_series_arena_bytes(&fixture.volume, &info, NULL), 0);
    struct esk_series *series = NULL;
    ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log", NULL,
                                   fixture.arena, fixture.arena_bytes),
                  ESK_E_IO);
    fixture_end(&fixture);
}

ESK_TEST(open_refuses_less_than_the_least) {
    static const struct esk_series_config configs[] = {
        {.frames = 1}, {.frames = 3}, {.key_index_bytes = 47}};
    struct esk_fixture fixture;
    struct esk_table_info info;
    start(&fixture, &spec, NULL, 10);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_series_frames_min(&info), 4);
    for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++) {
        struct esk_series *series = NULL;
        ESK_CONTEXT("config %zu", i);
        ESK_CHECK_INT(
            esk_series_arena_bytes(&fixture.volume, &info, &configs[i]), 0);
        ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log",
                                       &configs[i], fixture.arena,
                                       fixture.arena_bytes),
                      ESK_E_INVALID);
        ESK_CHECK(series == NULL);
    }
    fixture_open(&fixture, "log", NULL);
    fixture_end(&fixture);
}

ESK_TEST(open_of_two_tables_on_one_volume_keeps_them_apart) {
    struct esk_fixture fixture;
    struct esk_series_spec second = spec;
    second.table.name = "second";
    second.data_blocks = 6;
    start(&fixture, &spec, NULL, 50);
    fixture_create(&fixture, &second);
    struct esk_series *first = fixture.series;
    void *arena = fixture.arena;
    fixture.arena = NULL;
    fixture_open(&fixture, "second", NULL);
    for (uint32_t key = 1; key <= 400; key++) {
        ESK_CHECK_INT(append(&fixture, key), ESK_OK);
    }
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(first, &count), ESK_OK);
    ESK_CHECK_INT(count, 50);
    ESK_CHECK_INT(esk_series_count(fixture.series, &count), ESK_OK);
    ESK_CHECK_INT(count, 400);
    esk_series_close(first);
    esk_series_close(fixture.series);
    ESK_CHECK(fixture.volume.tables == NULL);
    free(arena);
    fixture_end(&fixture);
}

/* --------------------------------------------------------- from a forger */

/// Offsets of the parts of the descriptor of "log".
enum {
    OPTIONS = ESK_DESCRIPTOR_NAME + 3,
    GROUP_PAGES = OPTIONS + ESK_OPTION_HEAD,
    TAIL = GROUP_PAGES + 4,
    REGIONS = TAIL + ESK_OPTION_HEAD + ESK_OPTION_TAIL_BYTES,
    INDEX_REGION = REGIONS + ESK_CATALOG_REGION,
    VAR_REGION = INDEX_REGION + ESK_CATALOG_REGION,
    COLUMNS = VAR_REGION + ESK_CATALOG_REGION,
    INDEX_HEAD = COLUMNS + (9 + 2) + (9 + 5) + (9 + 4),
};

ESK_TEST(open_refuses_descriptors_that_cannot_be) {
    static const struct {
        uint16_t at;
        uint8_t bytes[4];
        uint8_t count;
        int status;
    } cases[] = {
        {ESK_DESCRIPTOR_KIND, {ESK_TABLE_TREE}, 1, ESK_E_UNSUPPORTED},
        {ESK_DESCRIPTOR_INDEX_COUNT, {9}, 1, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_KIND, {77}, 1, ESK_E_UNSUPPORTED},
        {ESK_DESCRIPTOR_CODEC, {1}, 1, ESK_E_CORRUPT}, /* without its option */
        {ESK_DESCRIPTOR_CODEC, {2}, 1, ESK_E_UNSUPPORTED},
        {ESK_DESCRIPTOR_COMPATIBLE, {1}, 1, ESK_OK},
        {ESK_DESCRIPTOR_READ_ONLY + 1, {1}, 1, ESK_E_READ_ONLY},
        {ESK_DESCRIPTOR_INCOMPATIBLE, {1}, 1, ESK_E_UNSUPPORTED},
        {OPTIONS, {77}, 1, ESK_E_CORRUPT},
        {OPTIONS + 1, {2}, 1, ESK_E_CORRUPT},
        {OPTIONS + 1, {200}, 1, ESK_E_CORRUPT},
        {GROUP_PAGES, {1}, 1, ESK_E_CORRUPT},
        {GROUP_PAGES, {65}, 1, ESK_E_CORRUPT},
        {GROUP_PAGES, {60}, 1, ESK_E_CORRUPT},
        {GROUP_PAGES + 1, {0}, 1, ESK_E_CORRUPT},
        {GROUP_PAGES + 2, {7}, 1, ESK_E_UNSUPPORTED},
        {GROUP_PAGES + 3, {2}, 1, ESK_E_UNSUPPORTED},
        {TAIL, {77}, 1, ESK_E_CORRUPT},
        {TAIL + ESK_OPTION_HEAD, {2}, 1, ESK_E_UNSUPPORTED},
        {COLUMNS + ESK_CATALOG_COLUMN_TYPE, {13}, 1, ESK_E_UNSUPPORTED},
        {COLUMNS + ESK_CATALOG_COLUMN_FLAGS, {0x80}, 1, ESK_OK},
        {ESK_DESCRIPTOR_KEY_COLUMN, {2}, 1, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_KEY_COLUMN, {77}, 1, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_ROW_BYTES, {19}, 1, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_ROW_BYTES, {17}, 1, ESK_E_CORRUPT},
        {INDEX_HEAD + ESK_CATALOG_INDEX_KIND, {3}, 1, ESK_E_UNSUPPORTED},
        {INDEX_HEAD + ESK_CATALOG_INDEX_COLUMN, {77}, 1, ESK_E_CORRUPT},
        {INDEX_HEAD + ESK_CATALOG_INDEX_COLUMN, {2}, 1, ESK_E_CORRUPT},
        {INDEX_HEAD + ESK_CATALOG_INDEX_BITMAP_BITS, {9}, 1, ESK_E_CORRUPT},
        {INDEX_HEAD + ESK_CATALOG_INDEX_BITMAP_BITS, {1}, 1, ESK_E_CORRUPT},
        {INDEX_HEAD + ESK_CATALOG_INDEX_EDGE_COUNT, {16}, 1, ESK_E_CORRUPT},
        {ESK_DESCRIPTOR_COLUMN_COUNT, {65}, 1, ESK_E_CORRUPT},
        {REGIONS, {77}, 1, ESK_E_CORRUPT},
        {REGIONS + 1, {64, 0, 0, 0}, 4, ESK_E_CORRUPT},
        {REGIONS + 5, {1, 0, 0, 0}, 4, ESK_E_CORRUPT},
        {REGIONS + 5, {64, 0, 0, 0}, 4, ESK_E_CORRUPT},
        {INDEX_REGION + 5, {0, 0, 0, 0}, 4, ESK_E_CORRUPT},
        {VAR_REGION + 5, {0, 0, 0, 0}, 4, ESK_E_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fixture fixture;
        static uint64_t arena[4096];
        struct esk_series *series = NULL;
        ESK_CONTEXT("case %zu", i);
        start(&fixture, &spec, NULL, 10);
        esk_series_close(fixture.series);
        forge_descriptor(&fixture, cases[i].at, cases[i].bytes, cases[i].count);
        fixture_mount(&fixture);
        ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "log", NULL,
                                       arena, sizeof arena),
                      cases[i].status);
        if (cases[i].status == ESK_OK) {
            esk_series_close(series);
        }
        ESK_CHECK(fixture.volume.tables == NULL);
        fixture_end(&fixture);
    }
}

/// Changes an index page and corrects its checksum.
static void index_forge(struct esk_fixture *fixture, uint32_t position,
                        uint16_t offset, const uint8_t *bytes, uint16_t count) {
    const struct esk_ring *ring = &fixture->series->log.ring;
    esk_page_id id = esk_ring_page(ring, position);
    ESK_CHECK_INT(esk_sim_peek(fixture->sim, id, fixture->page), ESK_OK);
    memcpy(fixture->page + offset, bytes, count);
    esk_envelope_close(&ring->region.envelope, fixture->page,
                       esk_page_count(fixture->page));
    ESK_CHECK_INT(esk_sim_poke(fixture->sim, id, 0, fixture->page, 256),
                  ESK_OK);
}

ESK_TEST(open_bears_index_pages_that_cannot_be) {
    static const struct {
        uint16_t at;
        uint8_t bytes[4];
        uint8_t count;
    } cases[] = {
        {ESK_INDEX_KNOTS, {0xFF, 0xFF}, 2},
        {ESK_INDEX_ENTRIES, {0xFF, 0xFF}, 2},
        {ESK_INDEX_ROLE, {ESK_INDEX_SUMMARY_PAGE}, 1},
        {ESK_INDEX_ROLE, {ESK_INDEX_NODE_PAGE}, 1},
        {ESK_INDEX_ROLE, {77}, 1},
        {ESK_INDEX_LEVEL, {1}, 1},
        {ESK_INDEX_ERROR, {255}, 1},
        {ESK_INDEX_NODE_PREV, {0, 0, 0, 0}, 4},
        {ESK_INDEX_NODE_OPEN_1, {0, 0, 0, 0}, 4},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t back = 1; back < 9; back++) {
            struct esk_fixture fixture;
            uint8_t row[ROW_BYTES];
            ESK_CONTEXT("case %zu, %u pages back", i, back);
            start(&fixture, plain_spec(), NULL, 900);
            index_forge(&fixture, fixture.series->log.ring.head - back,
                        cases[i].at, cases[i].bytes, cases[i].count);
            fixture_reboot(&fixture);
            for (uint32_t key = 1; key <= 900; key += 13) {
                ESK_CHECK_INT(esk_series_get(fixture.series, key * key, row),
                              ESK_OK);
            }
            ESK_CHECK_INT(append(&fixture, 901), ESK_OK);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(open_never_reuses_lost_positions_that_the_index_covers) {
    for (int with_index = 0; with_index < 2; with_index++) {
        struct esk_fixture fixture;
        uint8_t row[ROW_BYTES];
        uint32_t rows = 600;
        ESK_CONTEXT("value index %d", with_index);
        start(&fixture, with_index == 1 ? &spec : plain_spec(), NULL, rows);
        uint32_t head = fixture.series->data.head;
        /* The data blocks are lost, the index blocks are not. */
        for (uint32_t i = 0; i < fixture.series->data.region.pages / 8; i++) {
            ESK_CHECK_INT(fixture.device->ops->erase(
                              fixture.device,
                              fixture.series->data.region.first_page / 8 + i),
                          ESK_OK);
        }
        fixture_reboot(&fixture);
        ESK_CHECK(fixture.series->data.head + 12 >= head);
        ESK_CHECK_INT(esk_series_newest(fixture.series, row), ESK_NOT_FOUND);
        for (uint32_t key = 1; key <= rows; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        }
        check_rows(&fixture, rows);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        check_rows(&fixture, rows);
        fixture_end(&fixture);
    }
}

/// Keys that no line fits: dense on one page, sparse on the next, so that
/// every page needs a knot.
static uint32_t rough_key(uint32_t number) {
    enum { ROWS = 13, DENSE = 1000, SPARSE = 200000 };
    uint32_t page = number / ROWS;
    uint32_t row = number % ROWS;
    uint32_t pairs = page / 2 * ROWS * (DENSE + SPARSE);
    return page % 2 == 0 ? pairs + row * DENSE
                         : pairs + ROWS * DENSE + row * SPARSE;
}

static void append_rough(struct esk_fixture *fixture, uint32_t first,
                         uint32_t last) {
    for (uint32_t number = first; number <= last; number++) {
        uint8_t row[ROW_BYTES] = {0};
        esk_store_u32(row, rough_key(number));
        ESK_CHECK_INT(esk_series_append(fixture->series, row), ESK_OK);
    }
}

static void check_rough(struct esk_fixture *fixture, uint32_t last) {
    for (uint32_t number = 1; number <= last; number += 5) {
        uint8_t row[ROW_BYTES];
        ESK_CHECK_INT(esk_series_get(fixture->series, rough_key(number), row),
                      ESK_OK);
    }
}

ESK_TEST(open_finds_rough_keys_again_with_the_smallest_spline) {
    static const struct esk_series_config config = {.key_index_bytes = 48,
                                                    .key_error_16ths = 1};
    for (int damage = 0; damage < 3; damage++) {
        for (uint16_t run = 4; run <= 64; run *= 16) {
            struct esk_series_spec wanted = spec;
            struct esk_fixture fixture;
            ESK_CONTEXT("damage %d, zone pages %u", damage, run);
            wanted.run_pages = (uint8_t)run;
            start(&fixture, &wanted, &config, 0);
            if (damage == 1) { /* the index region is worn */
                for (uint32_t i = 0; i < wanted.index_blocks; i++) {
                    esk_sim_block_fail(
                        fixture.sim,
                        fixture.series->log.ring.region.first_page / 8 + i);
                }
            }
            append_rough(&fixture, 1, 1400);
            ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
            check_rough(&fixture, 1400);
            for (uint32_t at = fixture.series->log.ring.tail;
                 damage == 2 && at < fixture.series->log.ring.head; at += 3) {
                ESK_CHECK_INT(
                    esk_sim_flip(fixture.sim,
                                 esk_ring_page(&fixture.series->log.ring, at),
                                 999),
                    ESK_OK);
            }
            check_rough(&fixture, 1400);
            fixture_reboot(&fixture);
            check_rough(&fixture, 1400);
            append_rough(&fixture, 1401, 1450);
            check_rough(&fixture, 1450);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(open_node_that_changed_is_not_continued) {
    static const struct esk_series_config config = {.key_index_bytes = 48,
                                                    .key_error_16ths = 1};
    static const uint8_t knots[] = {1, 0};
    struct esk_fixture fixture;
    start(&fixture, &spec, &config, 0);
    append_rough(&fixture, 1, 700);
    for (uint32_t number = 700; number < 1400; number += 100) {
        uint32_t node = fixture.series->spline.nodes.node[0].open_position;
        ESK_CHECK(node < fixture.series->log.ring.head);
        index_forge(&fixture, node, ESK_INDEX_KNOTS, knots, 2);
        append_rough(&fixture, number + 1, number + 100);
    }
    check_rough(&fixture, 1400);
    fixture_end(&fixture);
}

/// Small pages and wide keys: unsaved knots alone can fill a zone page.
ESK_TEST(open_with_small_pages_and_a_worn_index_finds_every_key) {
    static const struct esk_column wide[] = {
        {.name = "at", .type = ESK_TYPE_U64}};
    static const struct esk_series_spec wanted = {.table = {.name = "log",
                                                            .columns = wide,
                                                            .column_count = 1,
                                                            .row_bytes = 8},
                                                  .data_blocks = 12,
                                                  .index_blocks = 4};
    for (uint64_t every = 1; every < 6; every += 2) {
        struct esk_geometry geometry = fixture_nor;
        struct esk_fixture fixture;
        struct esk_sim_failures failures = {
            .program = {.every = (uint32_t)every * 4}};
        geometry.page_bytes = 128;
        fixture_start(&fixture, &geometry, NULL);
        fixture_create(&fixture, &wanted);
        fixture_open(&fixture, "log", NULL);
        for (uint32_t i = 0; i < 4; i++) {
            esk_sim_block_fail(fixture.sim,
                               fixture.series->log.ring.region.first_page / 8 +
                                   i);
        }
        uint8_t row[8];
        for (uint64_t number = 1; number <= 600; number++) {
            esk_store_u64(row, (uint64_t)rough_key((uint32_t)number) << 20);
            ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        }
        esk_sim_failures_set(fixture.sim, &failures);
        for (uint64_t number = 1; number <= 600; number += 7) {
            ESK_CHECK_INT(
                esk_series_get(fixture.series,
                               (esk_key)rough_key((uint32_t)number) << 20, row),
                ESK_OK);
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(open_reports_any_single_read_that_fails_and_opens_the_next_time) {
    for (uint8_t which = 0; which < 2; which++) {
        struct esk_fixture fixture;
        start(&fixture, which == 0 ? &spec : plain_spec(), NULL, 700);
        bool failed = true;
        for (uint32_t read = 1; failed; read++) {
            ESK_CONTEXT("table %u, read %u fails", which, read);
            esk_series_close(fixture.series);
            fixture_mount(&fixture);
            read_fails = read;
            int status =
                test_series_open(&fixture.series, &fixture.volume, "log", NULL,
                                 fixture.arena, fixture.arena_bytes);
            failed = read_fails == 0;
            read_fails = 0;
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
            if (status != ESK_OK) {
                ESK_CHECK(fixture.volume.tables == NULL);
                fixture_open(&fixture, "log", NULL);
            }
            if (read % 9 == 0 || !failed) {
                check_rows(&fixture, 700);
            }
        }
        fixture_end(&fixture);
    }
}

ESK_TEST(open_recovers_the_index_whatever_page_of_it_is_lost) {
    for (uint32_t back = 1; back < 24; back++) {
        struct esk_fixture fixture;
        ESK_CONTEXT("from %u index pages back", back);
        start(&fixture, &spec, NULL, 900);
        uint32_t head = fixture.series->log.ring.head;
        for (uint32_t at = head - back; at < head; at += 1 + back % 3) {
            ESK_CHECK_INT(
                esk_sim_flip(fixture.sim,
                             esk_ring_page(&fixture.series->log.ring, at), 999),
                ESK_OK);
        }
        fixture_reboot(&fixture);
        check_rows(&fixture, 900);
        for (uint32_t key = 901; key <= 1000; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        }
        check_rows(&fixture, 1000);
        fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()

/// The entries of the run in RAM are made when a value query, or the end of the
/// run, needs them: rows that were found by value before are found after.
ESK_TEST(open_leaves_the_entries_of_the_last_run_to_later_calls) {
    for (uint32_t more = 0; more <= 700; more += 350) {
        struct esk_series_spec wanted = spec;
        struct esk_fixture fixture;
        struct esk_series_stats stats;
        ESK_CONTEXT("%u rows more", more);
        wanted.run_pages = 30;
        start(&fixture, &wanted, NULL, 0);
        uint32_t rows = 0;
        while (rows < 300 || fixture.series->log.run_count < 29) {
            rows++;
            ESK_CHECK_INT(append(&fixture, rows), ESK_OK);
        }
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        ESK_CHECK(fixture.series->log.run_count >= 29);
        esk_series_stats(fixture.series, &stats);
        ESK_CHECK(stats.page_reads < 29);
        for (uint32_t key = rows + 1; key <= rows + more; key++) {
            ESK_CHECK_INT(append(&fixture, key), ESK_OK);
        }
        check_rows(&fixture, rows + more);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        fixture_reboot(&fixture);
        check_rows(&fixture, rows + more);
        fixture_end(&fixture);
    }
}
