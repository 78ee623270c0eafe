// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/crc.h"
#include "test/harness/catalog_fixture.h"
#include "volume/volume.h"

ESK_TEST(catalog_gives_back_the_table_that_was_created) {
    struct esk_fixture fixture;
    struct esk_series_options options;
    struct esk_table_info info;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    for (int mounts = 0; mounts < 2; mounts++) {
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        ESK_CHECK_TEXT(info.name, "log");
        ESK_CHECK_INT(info.kind, ESK_TABLE_SERIES);
        ESK_CHECK_INT(info.id, 1);
        ESK_CHECK_INT(info.column_count, 5);
        ESK_CHECK_INT(info.key_column, 1);
        ESK_CHECK_INT(info.index_count, 2);
        ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
        ESK_CHECK_INT(options.full_policy, ESK_FULL_REFUSE);
        ESK_CHECK_INT(options.group_pages, 5);
        ESK_CHECK_INT(options.run_pages, 3);
        ESK_CHECK_INT(options.floor_key, 0);
        ESK_CHECK_INT(info.version, 7);
        ESK_CHECK_INT(info.row_bytes, 18 + ESK_VAR_REF_BYTES);
        ESK_CHECK_INT(info.blocks[0], 4);
        ESK_CHECK_INT(info.blocks[1], 3);
        ESK_CHECK_INT(info.blocks[2], 2);
        ESK_CHECK_INT(info.block[1], info.block[0] + 4);
        ESK_CHECK_INT(info.block[2], info.block[1] + 3);
        fixture_mount(&fixture);
    }
    fixture_end(&fixture);
}

ESK_TEST(catalog_gives_back_columns_and_indexes) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    uint16_t offset = 0;
    for (uint8_t i = 0; i < 5; i++) {
        struct esk_column_info column;
        ESK_CONTEXT("column %u", i);
        ESK_CHECK_INT(column_of(&fixture, &info, i, &column), ESK_OK);
        ESK_CHECK_TEXT(column.name, columns[i].name);
        ESK_CHECK_TEXT(column.unit,
                       columns[i].unit == NULL ? "" : columns[i].unit);
        ESK_CHECK_INT(column.type, columns[i].type);
        ESK_CHECK_INT(column.offset, offset);
        offset = (uint16_t)(offset + column.bytes);
    }
    for (uint8_t i = 0; i < 2; i++) {
        struct esk_index_spec index;
        uint8_t edges[3] = {0};
        ESK_CONTEXT("index %u", i);
        ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, i, &index, edges,
                                       sizeof edges),
                      ESK_OK);
        ESK_CHECK_INT(index.column, indexes[i].column);
        ESK_CHECK_INT(index.bitmap_bits, indexes[i].bitmap_bits);
        ESK_CHECK_INT(index.edge_count, indexes[i].edge_count);
        ESK_CHECK_INT(index.edges != NULL, i == 1);
        ESK_CHECK_BYTES(edges, gate_edges, i == 1 ? 3 : 0);
    }
    fixture_end(&fixture);
}

ESK_TEST(catalog_has_64_buckets_for_an_index_that_says_nothing) {
    static const uint8_t given[] = {0, ESK_BITMAP_NONE, 64, 8};
    static const uint8_t found[] = {64, ESK_BITMAP_NONE, 64, 8};
    for (uint8_t i = 0; i < sizeof given; i++) {
        struct esk_index_spec index = {.column = 2, .bitmap_bits = given[i]};
        struct esk_series_spec of = spec;
        struct esk_fixture fixture;
        struct esk_table_info info;
        of.indexes = &index;
        of.index_count = 1;
        fixture_start(&fixture, &fixture_nor, NULL);
        fixture_create(&fixture, &of);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        ESK_CHECK_INT(
            esk_volume_index(&fixture.volume, &info, 0, &index, NULL, 0),
            ESK_OK);
        ESK_CHECK_INT(index.bitmap_bits, found[i]);
        fixture_end(&fixture);
    }
}

ESK_TEST(catalog_reports_the_end_of_columns_indexes_and_buffer) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_index_spec index;
    uint8_t edges[3];
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    ESK_CHECK_INT(column_of(&fixture, &info, 5, &column), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 2, &index, edges, 3),
                  ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 1, &index, edges, 2),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, 0, &index, NULL, 0),
                  ESK_OK);
    fixture_end(&fixture);
}

static uint32_t fingerprint_of(struct esk_fixture *fixture, const char *name) {
    struct esk_table_info info;
    uint32_t fingerprint = 0;
    ESK_CHECK_INT(find(fixture, name, &info), ESK_OK);
    ESK_CHECK_INT(esk_table_fingerprint(&fixture->volume, &info, &fingerprint),
                  ESK_OK);
    return fingerprint;
}

/// The bytes that the fingerprint of `log` is the checksum of.
static const char log_words[] = "\x01\x01"
                                "\x09\x04\0heat\0"
                                "\x04\x08\0at\0"
                                "\x05\x01\0gate\0"
                                "\x0B\x05\0tag\0"
                                "\x0C\x06\0note";

ESK_TEST(catalog_fingerprint_is_of_kind_key_and_columns_alone) {
    struct esk_fixture fixture;
    struct esk_column other[5];
    struct esk_series_spec changed = named("other");
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    uint32_t log = fingerprint_of(&fixture, "log");
    ESK_CHECK_INT(log, ~esk_crc32c(UINT32_MAX, (const uint8_t *)log_words,
                                   sizeof log_words));
    changed.table.columns = other;
    for (unsigned change = 0; change < 8; change++) {
        ESK_CONTEXT("change %u", change);
        memcpy(other, columns, sizeof other);
        changed.index_count = change == 0 ? 0 : 2;
        changed.table.version = change == 0 ? 0 : 8;
        changed.table.key_column = change == 4 ? 2 : 1;
        changed.index_count = change == 4 ? 1 : changed.index_count;
        changed.data_blocks = change == 1 ? 5 : 4;
        other[0].unit = change == 2 ? "K" : "degC";
        other[3].flags = change == 3 ? ESK_COLUMN_TEXT : 0;
        other[4].name = change == 5 ? "nota" : "note";
        other[1].type = change == 6 ? ESK_TYPE_U64 : ESK_TYPE_I64;
        other[3].bytes = change == 7 ? 6 : 5;
        changed.table.row_bytes = change == 7 ? 25 : 24;
        fixture_create(&fixture, &changed);
        ESK_CHECK_INT(fingerprint_of(&fixture, "other") == log, change < 4);
        ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "other"), ESK_OK);
    }
    fixture_end(&fixture);
}

/// A program that joins or orders by unique keys is none for keys that repeat.
ESK_TEST(catalog_fingerprint_says_whether_keys_repeat) {
    struct esk_fixture fixture;
    struct esk_series_spec repeating = named("other");
    uint8_t bytes[sizeof log_words];
    repeating.keys_repeat = true;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &repeating);
    memcpy(bytes, log_words, sizeof bytes);
    bytes[0] |= 0x80;
    ESK_CHECK_INT(fingerprint_of(&fixture, "other"),
                  ~esk_crc32c(UINT32_MAX, bytes, sizeof bytes));
    fixture_end(&fixture);
}

ESK_TEST(catalog_fingerprint_needs_a_readable_descriptor) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    uint32_t fingerprint = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    info.column_count = 6; /* more than there are */
    ESK_CHECK(esk_table_fingerprint(&fixture.volume, &info, &fingerprint) !=
              ESK_OK);
    info.descriptor = 7;
    ESK_CHECK_INT(esk_table_fingerprint(&fixture.volume, &info, &fingerprint),
                  ESK_E_CORRUPT);
    esk_volume_unmount(&fixture.volume);
    ESK_CHECK_INT(esk_table_fingerprint(&fixture.volume, &info, &fingerprint),
                  ESK_E_INVALID);
    ESK_CHECK_INT(fingerprint, 0);
    fixture_end(&fixture);
}

ESK_TEST(catalog_lists_tables_in_order_and_then_ends) {
    static const char *const names[] = {"a", "b", "c"};
    struct esk_fixture fixture;
    struct esk_table_info info;
    uint16_t cursor = 0;
    fixture_start(&fixture, &fixture_nor,
                  &(struct esk_volume_config){.tables_max = 3});
    ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info), ESK_END);
    for (int i = 0; i < 3; i++) {
        struct esk_series_spec wanted = named(names[i]);
        ESK_CHECK_INT(create(&fixture, &wanted), ESK_OK);
    }
    for (int i = 0; i < 3; i++) {
        ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info), ESK_OK);
        ESK_CHECK_TEXT(info.name, names[i]);
        ESK_CHECK_INT(info.id, i + 1);
    }
    ESK_CHECK_INT(esk_volume_list(&fixture.volume, &cursor, &info), ESK_END);
    ESK_CHECK_INT(esk_catalog_find(&fixture.volume, 2, &info, fixture.page),
                  ESK_OK);
    ESK_CHECK_TEXT(info.name, "b");
    ESK_CHECK_INT(esk_catalog_find(&fixture.volume, 9, &info, fixture.page),
                  ESK_NOT_FOUND);
    fixture_end(&fixture);
}

ESK_TEST(catalog_refuses_a_name_that_is_taken_and_drops_only_what_is_there) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    ESK_CHECK_INT(create(&fixture, &spec), ESK_E_EXISTS);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "other"), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_NOT_FOUND);
    fixture_mount(&fixture);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_NOT_FOUND);
    fixture_end(&fixture);
}

ESK_TEST(catalog_refuses_a_schema_with_the_fault_and_stores_nothing) {
    struct esk_fixture fixture;
    struct esk_fault fault = {.kind = 0};
    struct esk_series_spec bad = spec;
    bad.table.key_column = 3;
    fixture_start(&fixture, &fixture_nor, NULL);
    uint64_t ops = esk_sim_op_count(fixture.sim);
    ESK_CHECK_INT(esk_series_create(&fixture.volume, &bad, &fault),
                  ESK_E_SCHEMA);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_KEY_TYPE);
    ESK_CHECK_INT(fault.column, 3);
    ESK_CHECK_INT(create(&fixture, &bad), ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), ops);
    fixture_end(&fixture);
}

ESK_TEST(catalog_entry_runs_over_several_small_pages) {
    static char names[40][ESK_NAME_BYTES_MAX + 1];
    static struct esk_column many[40];
    uint8_t edges[2][63 * 8];
    struct esk_fixture fixture;
    struct esk_table_info info;
    for (uint8_t i = 0; i < 40; i++) {
        snprintf(names[i], sizeof names[i], "column number %u of forty ...", i);
        many[i] = (struct esk_column){
            .name = names[i], .unit = "a unit", .type = ESK_TYPE_U32};
    }
    many[7].type = ESK_TYPE_U64;
    for (uint8_t i = 0; i < 63; i++) {
        esk_store_u32(edges[0] + i * 4, i * 3u);
        esk_store_u64(edges[1] + i * 8, i * 5u);
    }
    struct esk_index_spec wide[] = {
        {.column = 3, .bitmap_bits = 64, .edges = edges[0], .edge_count = 63},
        {.column = 7, .bitmap_bits = 64, .edges = edges[1], .edge_count = 63}};
    struct esk_series_spec wanted = {
        .table = {.name = "wide",
                  .columns = many,
                  .column_count = 40,
                  .row_bytes = esk_row_bytes(many, 40)},
        .indexes = wide,
        .index_count = 2,
        .data_blocks = 2};
    struct esk_volume_config config = {.tables_max = 5};
    fixture_start(&fixture, &fixture_nor, &config);
    struct esk_series_spec before = named("before");
    struct esk_series_spec after = named("after");
    ESK_CHECK_INT(create(&fixture, &before), ESK_OK);
    ESK_CHECK_INT(create(&fixture, &wanted), ESK_OK);
    ESK_CHECK_INT(create(&fixture, &after), ESK_OK);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "before"), ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(find(&fixture, "after", &info), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "wide", &info), ESK_OK);
    ESK_CHECK(info.descriptor_pages > 8);
    for (uint8_t i = 0; i < 40; i++) {
        struct esk_column_info column;
        ESK_CHECK_INT(column_of(&fixture, &info, i, &column), ESK_OK);
        ESK_CHECK_TEXT(column.name, names[i]);
    }
    for (uint8_t i = 0; i < 2; i++) {
        struct esk_index_spec index;
        uint8_t got[63 * 8];
        ESK_CHECK_INT(esk_volume_index(&fixture.volume, &info, i, &index, got,
                                       sizeof got),
                      ESK_OK);
        ESK_CHECK_BYTES(got, edges[i], i == 0 ? 63 * 4 : 63 * 8);
    }
    fixture_end(&fixture);
}

ESK_TEST(catalog_that_is_full_refuses_a_table_and_keeps_the_others) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_volume_config config = {.tables_max = 3};
    struct esk_fault fault = {.kind = 0};
    int status = ESK_OK;
    uint32_t tables = 0;
    struct esk_geometry geometry = fixture_nor;
    geometry.block_count = 400;
    geometry.block_pages = 4;
    fixture_start(&fixture, &geometry, &config);
    for (; status == ESK_OK; tables++) {
        char name[8];
        snprintf(name, sizeof name, "t%u", tables);
        struct esk_series_spec wanted = named(name);
        status = esk_series_create(&fixture.volume, &wanted, &fault);
    }
    ESK_CHECK_INT(status, ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_TOO_LARGE);
    ESK_CHECK_INT(tables, config.tables_max + 1);
    ESK_CHECK_INT(find(&fixture, "t0", &info), ESK_OK);
    fixture_mount(&fixture);
    ESK_CHECK_INT(find(&fixture, "t1", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "t0"), ESK_OK);
    struct esk_series_spec again = named("again");
    ESK_CHECK_INT(create(&fixture, &again), ESK_OK);
    ESK_CHECK_INT(fixture.volume.half_valid, 3);
    fixture_end(&fixture);
}

ESK_TEST(catalog_refuses_a_descriptor_that_its_pages_cannot_hold) {
    struct esk_fixture fixture;
    struct esk_volume_config config = {.tables_max = 1};
    struct esk_fault fault = {.kind = 0};
    struct esk_series_spec wanted = named("wide");
    struct esk_column many[ESK_COLUMN_COUNT_MAX];
    char names[ESK_COLUMN_COUNT_MAX][ESK_NAME_BYTES_MAX + 1];
    fixture_start(&fixture, &fixture_nor, &config);
    for (uint8_t i = 0; i < ESK_COLUMN_COUNT_MAX; i++) {
        snprintf(names[i], sizeof names[i], "column_%u_of_a_sensor_array", i);
        many[i] = (struct esk_column){names[i],
                                      "metres above the sea",
                                      i == 0 ? ESK_TYPE_U32 : ESK_TYPE_U8,
                                      0,
                                      0,
                                      NULL,
                                      0};
    }
    wanted.table.columns = many;
    table_columns(&wanted.table, ESK_COLUMN_COUNT_MAX);
    wanted.table.key_column = 0;
    wanted.index_count = 0;
    ESK_CHECK_INT(esk_series_create(&fixture.volume, &wanted, &fault),
                  ESK_E_NO_SPACE);
    ESK_CHECK_INT(fault.kind, ESK_FAULT_TOO_LARGE);
    struct esk_series_spec small = named("small");
    ESK_CHECK_INT(create(&fixture, &small), ESK_OK);
    fixture_end(&fixture);
}

ESK_TEST(catalog_gives_regions_that_do_not_overlap_and_reuses_freed_ones) {
    struct esk_fixture fixture;
    struct esk_table_info a;
    struct esk_table_info b;
    struct esk_table_info c;
    fixture_start(&fixture, &fixture_nor, NULL);
    struct esk_series_spec tables[] = {named("a"), named("b"), named("c")};
    ESK_CHECK_INT(create(&fixture, &tables[0]), ESK_OK);
    ESK_CHECK_INT(create(&fixture, &tables[1]), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "a", &a), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "b", &b), ESK_OK);
    ESK_CHECK_INT(a.block[0], fixture.volume.half_blocks);
    ESK_CHECK_INT(b.block[0], a.block[0] + 9);
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "a"), ESK_OK);
    ESK_CHECK_INT(create(&fixture, &tables[2]), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "c", &c), ESK_OK);
    ESK_CHECK_INT(c.block[0], a.block[0]);
    ESK_CHECK_INT(c.id, 3);
    ESK_CHECK(c.seed != a.seed);
    /* A table with one block more than the gap goes behind the others. */
    ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "c"), ESK_OK);
    tables[0].data_blocks++;
    ESK_CHECK_INT(create(&fixture, &tables[0]), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "a", &a), ESK_OK);
    ESK_CHECK_INT(a.block[0], b.block[0] + 9);
    fixture_end(&fixture);
}

ESK_TEST(catalog_gives_a_table_what_is_left_of_the_device) {
    static const uint8_t with_var[] = {0, 1};
    for (int i = 0; i < 2; i++) {
        for (uint32_t asked = 0; asked <= 3; asked += 3) {
            struct esk_fixture fixture;
            struct esk_table_info info;
            struct esk_series_spec wanted = spec;
            ESK_CONTEXT("var %u, asked %u", with_var[i], asked);
            table_columns(&wanted.table, with_var[i] ? 5 : 4);
            wanted.data_blocks = 0;
            wanted.run_pages = 0;
            wanted.index_blocks = asked;
            wanted.var_blocks = asked;
            fixture_start(&fixture, &fixture_nor, NULL);
            ESK_CHECK_INT(create(&fixture, &wanted), ESK_OK);
            ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
            ESK_CHECK_INT(2 * fixture.volume.half_blocks + info.blocks[0] +
                              info.blocks[1] + info.blocks[2],
                          64);
            ESK_CHECK(info.blocks[0] > info.blocks[1]);
            ESK_CHECK_INT(info.blocks[2] > 0, with_var[i]);
            ESK_CHECK(asked == 0 || info.blocks[1] == asked);
            struct esk_series_spec second = named("second");
            ESK_CHECK_INT(create(&fixture, &second), ESK_E_NO_SPACE);
            second.data_blocks = 0;
            ESK_CHECK_INT(create(&fixture, &second), ESK_E_NO_SPACE);
            fixture_end(&fixture);
        }
    }
}

ESK_TEST(catalog_derives_index_and_var_regions_from_the_data_region) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec wanted = spec;
    wanted.index_blocks = 0;
    wanted.var_blocks = 0;
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(create(&fixture, &wanted), ESK_OK);
    ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
    ESK_CHECK_INT(info.blocks[0], 4);
    ESK_CHECK(info.blocks[1] >= 3);
    ESK_CHECK_INT(info.blocks[2], 4);
    fixture_end(&fixture);
}

ESK_TEST(catalog_refuses_regions_that_leave_a_ring_under_two_blocks) {
    static const uint32_t asked[][2] = {{100, 0}, {0, 100}, {52, 0}, {0, 52}};
    for (int i = 0; i < 4; i++) {
        struct esk_fixture fixture;
        struct esk_series_spec wanted = spec;
        ESK_CONTEXT("case %d", i);
        wanted.data_blocks = 0;
        wanted.index_blocks = asked[i][0];
        wanted.var_blocks = asked[i][1];
        fixture_start(&fixture, &fixture_nor, NULL);
        ESK_CHECK_INT(create(&fixture, &wanted), ESK_E_NO_SPACE);
        fixture_end(&fixture);
    }
}

ESK_TEST(catalog_ids_go_round_past_zero_and_those_in_use) {
    struct esk_fixture fixture;
    struct esk_table_info info;
    struct esk_series_spec kept = named("kept");
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(create(&fixture, &kept), ESK_OK);
    for (int i = 2; i <= 300; i++) {
        ESK_CONTEXT("table %d", i);
        ESK_CHECK_INT(create(&fixture, &spec), ESK_OK);
        ESK_CHECK_INT(find(&fixture, "log", &info), ESK_OK);
        ESK_CHECK_INT(info.id, i < 256 ? i : i - 254);
        ESK_CHECK_INT(esk_volume_drop(&fixture.volume, "log"), ESK_OK);
    }
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
