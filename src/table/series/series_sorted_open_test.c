// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sorted index in specifications, catalogs and arenas.
#include "test/harness/forge.h"
#include "test/harness/sorted_log.h"
#include "volume/volume_format.h"

/// A specification that differs from the usual one.
static uint8_t fault_of(struct esk_series_spec *of) {
    struct esk_fault fault = {.kind = 0};
    int status = esk_series_spec_check(of, 256, &fault);
    ESK_CHECK_INT(status, fault.kind == 0 ? ESK_OK : ESK_E_SCHEMA);
    return fault.kind;
}

ESK_TEST(series_sorted_index_is_checked) {
    static const double edges = 1;
    const struct {
        struct esk_index_spec index;
        uint8_t fault;
    } cases[] = {
        {{.column = 1}, ESK_FAULT_NONE},
        {{.column = 1, .entries = 65535, .fan = 8}, ESK_FAULT_NONE},
        {{.column = 1, .entries = 255}, ESK_FAULT_INDEX_SORTED},
        {{.column = 1, .fan = 1}, ESK_FAULT_INDEX_SORTED},
        {{.column = 1, .fan = 9}, ESK_FAULT_INDEX_SORTED},
        {{.column = 1, .bitmap_bits = 8}, ESK_FAULT_INDEX_SORTED},
        {{.column = 1, .edges = &edges}, ESK_FAULT_INDEX_SORTED},
        {{.column = 0}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 2}, ESK_FAULT_INDEX_COLUMN},
        {{.column = 1, .kind = 1}, ESK_FAULT_INDEX_SORTED}, /* no such kind */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %zu", i);
        struct esk_series_spec of = spec;
        struct esk_index_spec index = cases[i].index;
        index.kind = (uint8_t)(index.kind + ESK_INDEX_SORTED);
        of.indexes = &index;
        ESK_CHECK_INT(fault_of(&of), cases[i].fault);
    }
    struct esk_series_spec of = spec;
    of.sorted_blocks = 1;
    ESK_CHECK_INT(fault_of(&of), ESK_FAULT_INDEX_SORTED);
    of = spec;
    of.indexes = &indexes[1];
    ESK_CHECK_INT(fault_of(&of), ESK_FAULT_REGION);
    of.sorted_blocks = 0;
    of.merged_blocks = 0;
    ESK_CHECK_INT(fault_of(&of), ESK_FAULT_NONE);
    const struct esk_index_spec twice[] = {indexes[0], indexes[0]};
    of = spec;
    of.indexes = twice;
    of.index_count = 2;
    ESK_CHECK_INT(fault_of(&of), ESK_FAULT_INDEX_SORTED);
}

/// A column of 8 bytes has none.
ESK_TEST(series_sorted_index_is_of_a_column_of_4_bytes) {
    struct esk_column wide[] = {columns[0], columns[1]};
    struct esk_series_spec of = spec;
    wide[1].type = ESK_TYPE_I64;
    of.table.columns = wide;
    of.table.row_bytes = 12;
    ESK_CHECK_INT(fault_of(&of), ESK_FAULT_INDEX_SORTED);
}

ESK_TEST(series_sorted_index_is_in_the_catalog) {
    struct esk_table_info info;
    struct esk_index_spec index;
    struct esk_space space;
    table_start(&tables[1]);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(info.blocks[ESK_REGION_SORTED], 6);
    ESK_CHECK_INT(info.blocks[ESK_REGION_MERGED], 12);
    ESK_CHECK_INT(esk_series_frames_min(&info), 3);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 0, &index, NULL, 0),
                  ESK_OK);
    ESK_CHECK_INT(index.kind, ESK_INDEX_SORTED);
    ESK_CHECK_INT(index.column, 1);
    ESK_CHECK_INT(index.entries, 256);
    ESK_CHECK_INT(index.fan, 2);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 1, &index, NULL, 0),
                  ESK_OK);
    ESK_CHECK_INT(index.kind, ESK_INDEX_SUMMARY);
    ESK_CHECK_INT(index.bitmap_bits, 16);
    append(3000);
    esk_series_space(fixture.series, ESK_REGION_SORTED, &space);
    ESK_CHECK_INT(space.pages, 48);
    ESK_CHECK(space.pages_used > 0);
    esk_series_space(fixture.series, ESK_REGION_MERGED, &space);
    ESK_CHECK_INT(space.pages, 96);
    ESK_CHECK(space.pages_used > 0);
    fixture_end(&fixture);
    table_start(&tables[0]);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_series_frames_min(&info), 3);
    fixture_end(&fixture);
}

/// A program without the part, or without a part that it needs, does not open
/// the table.
ESK_TEST(series_sorted_index_needs_its_parts) {
    static uint64_t arena[8192];
    start(&fixture_nor, &spec);
    for (uint32_t i = 0; i < 4; i++) {
        ESK_CONTEXT("case %u", i);
        struct esk_series_parts parts = esk_series_parts_all;
        parts.sorted = i == 0 ? NULL : parts.sorted;
        parts.values = i == 1 ? NULL : parts.values;
        parts.log = i == 2 ? NULL : parts.log;
        fixture_mount(&fixture);
        ESK_CHECK_INT(test_series_open_with(&fixture.series, &parts,
                                            &fixture.volume, "log", NULL, arena,
                                            sizeof arena),
                      i < 3 ? ESK_E_UNSUPPORTED : ESK_OK);
    }
    fixture_end(&fixture);
}

/// A program with the part opens tables without a sorted index.
ESK_TEST(series_without_a_sorted_index_opens_with_the_part) {
    struct esk_series_spec of = spec;
    of.indexes = &indexes[1];
    of.sorted_blocks = 0;
    of.merged_blocks = 0;
    start(&fixture_nor, &of);
    append(1500);
    ask_many(10);
    fixture_end(&fixture);
}

/// Byte `at` of index `number` in the descriptor, behind two columns.
static void index_forge(uint8_t number, uint16_t at, uint8_t byte) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
    uint32_t first = info.columns + 2u * ESK_CATALOG_COLUMN_HEAD + 3u +
                     number * (uint32_t)ESK_CATALOG_INDEX_HEAD;
    forge_descriptor(&fixture, (uint16_t)(first + at), &byte, 1);
}

ESK_TEST(series_sorted_index_that_cannot_be_is_corrupt) {
    const struct {
        uint8_t index;
        uint8_t at;
        uint8_t byte;
        int status;
    } cases[] = {
        {0, ESK_CATALOG_INDEX_FAN, 1, ESK_E_CORRUPT},
        {0, ESK_CATALOG_INDEX_FAN, 9, ESK_E_CORRUPT},
        {0, ESK_CATALOG_INDEX_ENTRIES, 0, ESK_E_CORRUPT},
        {0, ESK_CATALOG_INDEX_COLUMN, 2, ESK_E_CORRUPT},
        {0, ESK_CATALOG_INDEX_KIND, 3, ESK_E_UNSUPPORTED},
        {0, ESK_CATALOG_INDEX_KIND, ESK_CATALOG_INDEX_SUMMARY,
         ESK_E_CORRUPT}, /* bits */
        {1, ESK_CATALOG_INDEX_KIND, ESK_CATALOG_INDEX_SORTED, ESK_E_CORRUPT},
        {0, ESK_CATALOG_INDEX_FAN, 3, ESK_OK},
    };
    static uint64_t arena[8192];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %zu", i);
        table_start(&tables[1]);
        index_forge(cases[i].index, cases[i].at, cases[i].byte);
        fixture_mount(&fixture);
        ESK_CHECK_INT(test_series_open(&fixture.series, &fixture.volume, "log",
                                       NULL, arena, sizeof arena),
                      cases[i].status);
        fixture_end(&fixture);
    }
}

/// A region of one block is no ring; without its region an index has no place.
ESK_TEST(series_sorted_index_without_its_regions_is_corrupt) {
    for (uint8_t i = 0; i < 3; i++) {
        ESK_CONTEXT("case %u", i);
        static uint64_t arena[8192];
        struct esk_table_info info;
        uint8_t blocks[4] = {i == 1 ? 0 : 1, 0, 0, 0};
        start(&fixture_nor, &spec);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
        /* The last two regions are those of the index. */
        uint32_t behind = i == 2 ? 1u : 2u;
        forge_descriptor(&fixture,
                         (uint16_t)(info.columns -
                                    behind * (uint32_t)ESK_CATALOG_REGION + 5u),
                         blocks, sizeof blocks);
        fixture_mount(&fixture);
        ESK_CHECK_INT(test_series_open(&fixture.series, &fixture.volume, "log",
                                       NULL, arena, sizeof arena),
                      ESK_E_CORRUPT);
        fixture_end(&fixture);
    }
}

ESK_TEST(series_sorted_arena_constant_is_what_an_open_takes) {
    static const uint16_t entries[] = {256, 4608, 8192};
    for (uint32_t i = 0; i < 6; i++) {
        const struct esk_geometry *geometry =
            i < 3 ? &fixture_nor : &fixture_nand;
        struct esk_series_config config = {.frames = 3, .key_index_bytes = 256};
        struct esk_index_spec index = indexes[0];
        struct esk_series_spec of = spec;
        struct esk_table_info info;
        ESK_CONTEXT("case %u", i);
        index.entries = entries[i % 3];
        of.indexes = &index;
        of.sync_blocks = ESK_SYNC_BLOCKS_NONE;
        start(geometry, &of);
        ESK_CHECK_INT(esk_volume_find(&fixture.volume, "log", &info), ESK_OK);
        uint32_t bytes =
            esk_series_arena_bytes(&fixture.volume, &info, &config);
        uint32_t constant = ESK_SERIES_ARENA_BYTES(
            geometry->page_bytes, 3,
            ESK_SERIES_ALL_BYTES(256, ROW_BYTES) +
                ESK_SERIES_VALUES_BYTES(1, 0, 16, 0) +
                ESK_SERIES_SORTED_BYTES(geometry->page_bytes, index.entries,
                                        index.fan));
        ESK_CHECK(constant >= bytes && constant <= bytes + 63 + 16);
        fixture_end(&fixture);
    }
}

/// Blocks that are derived hold the index of a full ring, whatever its sizes.
ESK_TEST(series_sorted_blocks_are_enough) {
    static const struct esk_geometry nor = ESK_NOR(96, 4, 256);
    static const uint8_t fans[] = {2, 3, 5, 8};
    struct esk_series_spec of = spec;
    for (uint32_t i = 0; i < 2 * sizeof fans; i++) {
        struct esk_index_spec index = indexes[0];
        index.fan = fans[i / 2];
        index.entries = i % 2 == 0 ? 256 : 768;
        of.indexes = &index;
        esk_series_sorted_blocks(&nor, &of, 24);
        of.data_blocks = 24;
        ESK_CONTEXT("fan %u, %u entries", index.fan, index.entries);
        ESK_CHECK(of.sorted_blocks >= 2 && of.merged_blocks >= 2);
        of.data_blocks += of.sorted_blocks + of.merged_blocks;
        start(&nor, &of);
        append(12000);
        ESK_CHECK_INT(fixture.series->sorting->index.lost, 0);
        fixture_end(&fixture);
    }
    of.indexes = indexes;
    of.index_count = 0;
    esk_series_sorted_blocks(&fixture_nor, &of, 100);
    ESK_CHECK_INT(of.sorted_blocks, 0);
    ESK_CHECK_INT(of.merged_blocks, 0);
    of = spec;
    of.codec = ESK_CODEC_PACKED;
    of.table.row_bytes = 5;
    esk_series_sorted_blocks(&fixture_nor, &of, UINT32_MAX);
    ESK_CHECK_INT(of.merged_blocks, UINT32_MAX);
}

/// A page of more rows than the buffer has room for: it is read.
ESK_TEST(series_sorted_page_of_too_many_rows_is_read) {
    static const struct esk_geometry wide = ESK_NOR(64, 8, 4096);
    struct esk_series_spec of = spec;
    start(&wide, &of);
    append(5000);
    ask_many(5);
    reboot();
    append(3000);
    ask_many(5);
    check();
    fixture_end(&fixture);
}

/// Columns are added: the index goes on, and pages before have narrower rows.
ESK_TEST(series_sorted_index_goes_on_where_columns_are_added) {
    static uint64_t arena[8192];
    const struct esk_column wide[] = {
        columns[0], columns[1], {.name = "w", .type = ESK_TYPE_U16}};
    const struct esk_table_spec more = {.name = "log",
                                        .columns = wide,
                                        .column_count = 3,
                                        .row_bytes = ROW_BYTES + 2};
    start(&fixture_nor, &spec);
    append(1000);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(test_series_add_columns(&fixture.volume,
                                          &esk_series_parts_all, &more, NULL,
                                          arena, sizeof arena, NULL),
                  ESK_OK);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t i = 0; i < 1200; i++) {
        uint8_t row[ROW_BYTES + 2] = {0};
        esk_store_u32(row, row_count);
        esk_store_u32(row + 4, (uint32_t)value_of(row_count));
        ESK_CHECK_INT(esk_series_append(fixture.series, row), ESK_OK);
        row_count++;
    }
    ask_many(20);
    reboot();
    ask_many(20);
    check();
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
