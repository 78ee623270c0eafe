// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// One arena a volume: compares the constants of esker/arena.h with the arena
/// that opens take, and checks who shares it.
#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"
#include "test/harness/table_columns.h"

enum { SLACK = 63, BLOCKS = 160, BLOCK_PAGES = 8, PAGE_BYTES_MAX = 2048 };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "rate", .type = ESK_TYPE_F64},
    {.name = "note", .type = ESK_TYPE_VAR},
};
enum { COLUMNS = sizeof columns / sizeof columns[0] };
static const struct esk_index_spec indexes[] = {
    {.column = 1, .bitmap_bits = 16},
    {.column = 2, .bitmap_bits = 64},
};
static const struct esk_volume_config config = {.tables_max = 4};

static uint8_t chip[BLOCKS * BLOCK_PAGES * PAGE_BYTES_MAX];
static uint64_t arena[8192];
static struct esk_ram_device ram;
static struct esk_volume volume;

static void start(uint16_t page_bytes, uint8_t flags, uint32_t arena_bytes) {
    const struct esk_geometry geometry = {.block_count = BLOCKS,
                                          .block_pages = BLOCK_PAGES,
                                          .page_bytes = page_bytes,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF,
                                          .flags = flags};
    memset(chip, 0xFF, sizeof chip);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, chip, sizeof chip),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount_or_format(&volume, &ram.device, 0, &config,
                                             arena, arena_bytes),
                  ESK_OK);
}

static struct esk_series_spec spec_of(const char *name, uint8_t column_count,
                                      uint8_t index_count) {
    return (struct esk_series_spec){
        .table = {.name = name,
                  .columns = columns,
                  .column_count = column_count,
                  .row_bytes = esk_row_bytes(columns, column_count < COLUMNS
                                                          ? column_count
                                                          : COLUMNS)},
        .indexes = indexes,
        .index_count = index_count,
        .data_blocks = 20,
        .index_blocks = 6,
        .var_blocks = 6};
}

_Static_assert(ESK_SERIES_ENTRY_BYTES(4, 0) == 16 &&
                   ESK_SERIES_ENTRY_BYTES(4, ESK_BITMAP_NONE) == 8 &&
                   ESK_SERIES_STEPS_BYTES(0) == ESK_SERIES_STEPS_BYTES(64),
               "without a number of buckets there are 64");

/// Whether `constant` is `bytes`, or at most `slack` bytes more.
static void fits(uint32_t constant, uint32_t bytes, uint32_t slack) {
    ESK_CHECK(bytes > 0);
    ESK_CHECK(constant >= bytes);
    ESK_CHECK(constant <= bytes + SLACK + slack);
}

/// A table, and its constants besides the key index.
static const struct series_case {
    const char *name;
    uint8_t column_count;
    uint8_t index_count;
    uint8_t sync_blocks;
    uint8_t frames_more;
    uint32_t slack;
    bool packed;
} series_cases[] = {
    {"plain", 2, 0, ESK_SYNC_BLOCKS_NONE, 0, 0, false},
    {"journal", 2, 0, 2, 0, 0, false},
    {"values", 3, 2, ESK_SYNC_BLOCKS_NONE, 1, 16, false},
    {"all", 4, 2, 2, 2, 16, false},
    {"packed", 2, 0, ESK_SYNC_BLOCKS_NONE, 0, 32, true},
    {"packed_values", 3, 2, ESK_SYNC_BLOCKS_NONE, 1, 48, true},
};

/// group_pages  as the create chose it: fewer on small pages
static uint32_t series_bytes(const struct series_case *of, uint16_t page_bytes,
                             uint8_t frames, uint16_t keys,
                             uint8_t group_pages) {
    uint32_t parts =
        ESK_SERIES_ALL_BYTES(keys, esk_row_bytes(columns, of->column_count));
    if (of->column_count == 4) {
        parts += ESK_SERIES_VAR_BYTES;
    }
    if (of->sync_blocks == 2) {
        parts += ESK_SERIES_SYNC_BYTES;
    }
    if (of->index_count > 0) {
        parts += ESK_SERIES_VALUES_BYTES(
            2, ESK_SERIES_ENTRY_BYTES(4, 16) + ESK_SERIES_ENTRY_BYTES(8, 64),
            group_pages, 0);
    }
    if (of->packed) {
        parts += ESK_SERIES_PACKED_BYTES(
            of->column_count, esk_row_bytes(columns, of->column_count), 1, 2);
    }
    if (of->packed && of->index_count > 0) {
        parts += ESK_SERIES_PACKED_VALUES_BYTES(
            ESK_SERIES_ENTRY_BYTES(4, 16) + ESK_SERIES_ENTRY_BYTES(8, 64),
            ESK_SERIES_STEPS_BYTES(16) + ESK_SERIES_STEPS_BYTES(64));
    }
    return ESK_SERIES_ARENA_BYTES(page_bytes, frames, parts);
}

ESK_TEST(arena_constants_of_a_series_are_what_its_open_takes) {
    static const uint16_t page_bytes[] = {512, 1024, PAGE_BYTES_MAX};
    static const uint16_t keys[] = {48, 256, 2500};
    for (unsigned i = 0; i < 3 * 3 * 6 * 3; i++) {
        const struct series_case *of = &series_cases[i % 6];
        struct esk_series_spec spec =
            spec_of(of->name, of->column_count, of->index_count);
        uint16_t page = page_bytes[i / 6 % 3];
        struct esk_series_config open = {
            .frames = (uint8_t)(2 + of->frames_more + i / 54),
            .key_index_bytes = keys[i / 18 % 3]};
        struct esk_table_info info;
        struct esk_series *series = NULL;
        ESK_CONTEXT("%s, pages of %u, %u frames, %u B", of->name, page,
                    open.frames, open.key_index_bytes);
        start(page, 0, sizeof arena);
        spec.sync_blocks = of->sync_blocks;
        spec.codec = of->packed ? ESK_CODEC_PACKED : ESK_CODEC_RAW;
        ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&volume, of->name, &info), ESK_OK);
        uint32_t bytes = esk_series_arena_bytes(&volume, &info, &open);
        struct esk_series_options options;
        ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
        fits(series_bytes(of, page, open.frames, open.key_index_bytes,
                          options.group_pages),
             bytes, of->slack);
        /* These bytes are enough, and one less is not. */
        ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, bytes), ESK_OK);
        ESK_CHECK_INT(esk_series_open(&series, &volume, of->name, &open),
                      ESK_OK);
        esk_series_close(series);
        ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, bytes - 8), ESK_OK);
        ESK_CHECK_INT(esk_series_open(&series, &volume, of->name, &open),
                      ESK_E_NO_MEMORY);
    }
}

ESK_TEST(arena_constants_of_a_series_part_by_part) {
    static const struct esk_series_parts parts[] = {
        {.keys = NULL},
        {.keys = &esk_series_part_samples},
        {.keys = &esk_series_part_keys},
        {.keys = &esk_series_part_keys, .log = &esk_series_part_log},
    };
    const uint32_t bytes[] = {0, ESK_SERIES_SAMPLES_BYTES(256),
                              ESK_SERIES_KEYS_BYTES(256),
                              ESK_SERIES_LOG_BYTES(256)};
    struct esk_series_spec spec = spec_of("plain", 2, 0);
    struct esk_table_info info;
    spec.sync_blocks = ESK_SYNC_BLOCKS_NONE;
    start(512, 0, sizeof arena);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&volume, "plain", &info), ESK_OK);
    for (unsigned i = 0; i < 4; i++) {
        ESK_CONTEXT("parts %u", i);
        fits(ESK_SERIES_ARENA_BYTES(512, 2, bytes[i]),
             esk_series_arena_bytes_with(&volume, &parts[i], &info, NULL), 0);
    }
}

ESK_TEST(arena_constants_of_a_tree_are_what_its_open_takes) {
    for (unsigned i = 0; i < 4 * 3; i++) {
        static const uint8_t stores[] = {ESK_STORE_INPLACE, ESK_STORE_JOURNALED,
                                         ESK_STORE_WANDERING, ESK_STORE_MU};
        static const struct esk_node_store *const named[] = {
            &esk_store_inplace, &esk_store_journaled, &esk_store_wandering,
            &esk_store_mu};
        uint8_t frames = (uint8_t)(2 + i / 4 * 3);
        bool moves = i % 4 > 1;
        struct esk_tree_config open = {.store = named[i % 4], .frames = frames};
        struct esk_tree_config second = {.frames = frames};
        struct esk_tree_spec spec = {.table = {.name = "map",
                                               .columns = columns,
                                               .column_count = 3,
                                               .row_bytes = 16},
                                     .store = stores[i % 4],
                                     .blocks = 20};
        struct esk_table_info info;
        struct esk_tree *tree = NULL;
        struct esk_tree *reader = NULL;
        ESK_CONTEXT("store %u, %u frames", stores[i % 4], frames);
        start(512, moves ? 0 : ESK_MEDIUM_OVERWRITE, sizeof arena);
        ESK_CHECK_INT(esk_tree_create(&volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&volume, "map", &info), ESK_OK);
        uint32_t bytes = esk_tree_arena_bytes(&volume, &info, &open);
        fits(ESK_TREE_ARENA_BYTES(512, frames, 4,
                                  moves ? ESK_TREE_MOVING_BYTES
                                        : ESK_TREE_INPLACE_BYTES),
             bytes, 0);
        if (moves) {
            open.write_cache = &esk_write_cache;
            fits(ESK_TREE_ARENA_BYTES(512, frames, 4,
                                      ESK_TREE_MOVING_BYTES +
                                          ESK_TREE_WRITE_CACHE_BYTES(frames)),
                 esk_tree_arena_bytes(&volume, &info, &open), 0);
        } else {
            open.batches = &esk_batches_inplace;
            fits(ESK_TREE_ARENA_BYTES(512, frames, 4,
                                      ESK_TREE_BATCHES_BYTES(16)),
                 esk_tree_arena_bytes(&volume, &info, &open), 0);
        }
        ESK_CHECK_INT(esk_tree_open(&tree, &volume, "map", &open), ESK_OK);
        fits(ESK_TREE_READER_ARENA_BYTES(512, frames, 4, 0),
             esk_tree_reader_arena_bytes(tree, &second), 0);
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, &second), ESK_OK);
        esk_tree_close(reader);
        esk_tree_close(tree);
    }
}

ESK_TEST(arena_constants_of_a_tnc_tree_are_what_its_open_takes) {
    static const uint8_t frames[] = {5, 19, 60};
    for (unsigned i = 0; i < 3; i++) {
        struct esk_tree_config open = {.store = &esk_store_tnc,
                                       .frames = frames[i]};
        struct esk_tree_config second = {.frames = 3};
        uint8_t k_percent = (uint8_t)(20 + 13 * i);
        struct esk_tree_spec spec = {.table = {.name = "map",
                                               .columns = columns,
                                               .column_count = 3,
                                               .row_bytes = 16},
                                     .store = ESK_STORE_TNC,
                                     .k_percent = k_percent,
                                     .blocks = 20};
        struct esk_table_info info;
        struct esk_tree *tree = NULL;
        ESK_CONTEXT("%u frames", frames[i]);
        start(512, 0, sizeof arena);
        ESK_CHECK_INT(esk_tree_create(&volume, &spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_volume_find(&volume, "map", &info), ESK_OK);
        uint32_t node = ESK_TREE_TNC_FRAME_BYTES(512, k_percent);
        fits(ESK_TREE_ARENA_BYTES(node, frames[i], 4,
                                  ESK_TREE_TNC_BYTES(512, frames[i], 4)),
             esk_tree_arena_bytes(&volume, &info, &open), 0);
        ESK_CHECK_INT(esk_tree_open(&tree, &volume, "map", &open), ESK_OK);
        fits(ESK_TREE_READER_ARENA_BYTES(node, 3, 4, 0),
             esk_tree_reader_arena_bytes(tree, &second), 0);
        esk_tree_close(tree);
    }
}

/// The least arena with which `open` succeeds, found from `bytes` down.
static uint32_t least_arena(int (*open)(uint32_t blocks, uint32_t keys,
                                        uint32_t bytes),
                            uint32_t blocks, uint32_t keys, uint32_t bytes) {
    while (open(blocks, keys, bytes - 8) == ESK_OK) {
        bytes -= 8;
    }
    ESK_CHECK_INT(open(blocks, keys, bytes - 8), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(open(blocks, keys, bytes), ESK_OK);
    return bytes;
}

static int kv_open(uint32_t blocks, uint32_t keys, uint32_t bytes) {
    const struct esk_kv_config open = {.keys = keys};
    struct esk_kv *kv = NULL;
    (void)blocks;
    ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, bytes), ESK_OK);
    int status = esk_kv_open(&kv, &volume, "kv", &open);
    esk_kv_close(kv);
    return status;
}

static int kv_open_bare(uint32_t blocks, uint32_t keys, uint32_t bytes) {
    static const struct esk_kv_bare bare = {.id = 4};
    const struct esk_kv_config open = {.keys = keys};
    struct esk_volume device;
    struct esk_device part = ram.device;
    struct esk_kv *kv = NULL;
    part.geometry.block_count = blocks;
    int status =
        esk_kv_open_bare(&kv, &device, &part, 0, &bare, &open, arena, bytes);
    esk_kv_close(kv);
    return status;
}

ESK_TEST(arena_constants_of_a_kv_table_are_what_its_open_takes) {
    static const uint32_t blocks[] = {4, 20, 62, 130};
    static const uint32_t keys[] = {1, 60, 800};
    static const uint16_t pages[] = {512, 528, PAGE_BYTES_MAX};
    for (unsigned i = 0; i < 4 * 3 * 3; i++) {
        uint16_t page = pages[i % 3];
        uint32_t count = blocks[i / 3 % 4];
        uint32_t most = keys[i / 12];
        uint32_t region = count * BLOCK_PAGES * page;
        const struct esk_kv_spec spec = {.name = "kv", .blocks = count};
        ESK_CONTEXT("pages of %u, %lu blocks, %lu keys", page,
                    (unsigned long)count, (unsigned long)most);
        start(page, 0, sizeof arena);
        ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
        uint32_t bytes = ESK_KV_ARENA_BYTES(page, most, region);
        fits(bytes, least_arena(kv_open, count, most, bytes), 0);
        if (count <= 64) {
            start(page, 0, sizeof arena);
            memset(chip, 0xFF, sizeof chip);
            bytes = ESK_KV_BARE_ARENA_BYTES(page, most, region);
            fits(bytes, least_arena(kv_open_bare, count, most, bytes), 0);
        }
    }
}

ESK_TEST(arena_is_free_from_the_last_open_table_on) {
    const struct esk_series_spec specs[] = {
        spec_of("a", 2, 0), spec_of("b", 2, 0), spec_of("c", 2, 0)};
    const uint32_t one =
        ESK_SERIES_ARENA_BYTES(256, 2, ESK_SERIES_ALL_BYTES(256, 8));
    struct esk_series *open[3] = {NULL, NULL, NULL};
    struct esk_series *more = NULL;
    struct esk_table_info info;
    uint8_t row[8] = {1};
    start(256, 0, 3 * one + ESK_VOLUME_ARENA_BYTES(256));
    for (unsigned i = 0; i < 3; i++) {
        ESK_CHECK_INT(esk_series_create(&volume, &specs[i], NULL), ESK_OK);
    }
    for (unsigned i = 0; i < 3; i++) {
        ESK_CHECK_INT(
            esk_series_open(&open[i], &volume, specs[i].table.name, NULL),
            ESK_OK);
        ESK_CHECK_INT(esk_series_append(open[i], row), ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_find(&volume, "a", &info), ESK_OK);
    /* The memory of one between two open ones is free when the later one is
       closed. */
    esk_series_close(open[1]);
    ESK_CHECK_INT(esk_series_open(&more, &volume, "b", NULL), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_series_append(open[1], row), ESK_E_INVALID);
    row[0] = 2;
    ESK_CHECK_INT(esk_series_append(open[0], row), ESK_OK);
    ESK_CHECK_INT(esk_series_append(open[2], row), ESK_OK);
    esk_series_close(open[2]);
    ESK_CHECK_INT(esk_series_open(&more, &volume, "c", NULL), ESK_OK);
    ESK_CHECK(more == open[1]);
    ESK_CHECK_INT(esk_series_open(&open[2], &volume, "b", NULL), ESK_OK);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(open[0], &count), ESK_OK);
    ESK_CHECK_INT(count, 2);
}

ESK_TEST(arena_that_is_full_serves_its_tables_and_no_catalog_call) {
    const struct esk_series_spec spec = spec_of("a", 2, 0);
    struct esk_series *series = NULL;
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_volume_report report;
    uint16_t place = 0;
    uint8_t row[8] = {0};
    start(256, 0, sizeof arena);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&volume, "a", &info), ESK_OK);
    ESK_CHECK_INT(
        esk_volume_arena_set(&volume, arena,
                             esk_series_arena_bytes(&volume, &info, NULL)),
        ESK_OK);
    ESK_CHECK_INT(esk_series_open(&series, &volume, "a", NULL), ESK_OK);
    for (uint8_t i = 1; i < 200; i++) {
        row[0] = i;
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_erase_before(series, 50), ESK_OK);
    ESK_CHECK_INT(esk_series_erase_after(series, 150), ESK_OK);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(series, &count), ESK_OK);
    ESK_CHECK_INT(count, 101);
    ESK_CHECK_INT(esk_volume_list(&volume, &place, &info), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_find(&volume, "a", &info), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_column(&volume, &info, 0, &column),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_check(&volume, &report), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_drop(&volume, "a"), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, sizeof arena),
                  ESK_E_BUSY);
    esk_series_close(series);
    ESK_CHECK_INT(esk_volume_find(&volume, "a", &info), ESK_OK);
}

ESK_TEST(arena_is_refused_where_it_is_not_aligned_or_has_no_page) {
    start(256, 0, sizeof arena);
    ESK_CHECK_INT(esk_volume_arena_set(&volume, (uint8_t *)arena + 4, 4096),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, 255), ESK_E_NO_MEMORY);
    struct esk_volume other;
    ESK_CHECK_INT(
        esk_volume_mount(&other, &ram.device, 0, (uint8_t *)arena + 4, 4096),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_mount(&other, &ram.device, 0, arena, 255),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_format(&ram.device, &config, arena, 255),
                  ESK_E_NO_MEMORY);
    /* The volume's memory did not change. */
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&volume, "a", &info), ESK_NOT_FOUND);
}

/// Makes the volume's arena one of exactly the bytes that an open of "log" with
/// `parts` asks for; to be freed.
static void *arena_exact(const struct esk_series_parts *parts,
                         const struct esk_series_config *at) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&volume, "log", &info), ESK_OK);
    uint32_t bytes = esk_series_arena_bytes_with(&volume, parts, &info, at);
    void *memory = malloc(bytes);
    ESK_CHECK_INT(esk_volume_arena_set(&volume, memory, bytes), ESK_OK);
    return memory;
}

/// The least page, and the least key index.
ESK_TEST(arena_holds_what_an_open_reads_of_any_number_of_columns) {
    static const struct esk_series_config least = {.key_index_bytes = 48};
    static char names[ESK_COLUMN_COUNT_MAX][4];
    static struct esk_column many[ESK_COLUMN_COUNT_MAX];
    for (uint8_t count = 2; count <= ESK_COLUMN_COUNT_MAX; count++) {
        struct esk_index_spec last = {.column = (uint8_t)(count - 1u)};
        struct esk_series_spec spec = spec_of("log", count, 1);
        struct esk_series_report report;
        struct esk_series *series = NULL;
        uint8_t row[ESK_COLUMN_COUNT_MAX];
        ESK_CONTEXT("%u columns", count);
        for (uint8_t i = 0; i < count; i++) {
            snprintf(names[i], sizeof names[i], "%u", i);
            many[i] = (struct esk_column){.name = names[i]};
            many[i].type = i + 1u == count ? ESK_TYPE_I8 : ESK_TYPE_U8;
        }
        spec.table.columns = many;
        table_columns(&spec.table, count);
        spec.indexes = &last;
        start(128, 0, sizeof arena);
        ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
        void *memory = arena_exact(&esk_series_parts_all, &least);
        ESK_CHECK_INT(esk_series_open(&series, &volume, "log", &least), ESK_OK);
        for (uint8_t i = 0; i < 100; i++) {
            memset(row, i % 2 != 0 ? -1 : 1, sizeof row);
            row[0] = i;
            ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        }
        struct esk_series_range range = {
            .column = last.column, .has_hi = true, .hi = {.i = 0}};
        struct esk_series_query query = {.ranges = &range, .range_count = 1};
        struct esk_series_cursor cursor;
        uint32_t rows = 0;
        ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, &query), ESK_OK);
        while (esk_series_cursor_next(series, &cursor, row) == ESK_OK) {
            rows++;
        }
        ESK_CHECK_INT(rows, 50);
        ESK_CHECK_INT(esk_series_check(series, &report), ESK_OK);
        esk_series_close(series);
        free(memory);
    }
}

ESK_TEST(arena_without_a_key_index_holds_what_an_open_reads_of_breaks) {
    struct esk_series_parts parts = {.breaks = &esk_series_part_breaks};
    struct esk_series_spec spec = spec_of("log", 2, 0);
    struct esk_series *series = NULL;
    uint8_t row[8] = {0};
    start(128, 0, sizeof arena);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    for (uint8_t boot = 0; boot < 3; boot++) {
        void *memory = arena_exact(&parts, NULL);
        ESK_CHECK_INT(
            esk_series_open_with(&series, &parts, &volume, "log", NULL),
            ESK_OK);
        for (uint8_t i = 0; i < 50; i++) {
            row[0]++;
            ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        }
        row[0] = (uint8_t)(row[0] - 9u);
        ESK_CHECK_INT(esk_series_erase_after(series, row[0]), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
        ESK_CHECK_INT(esk_series_get(series, row[0], row), ESK_OK);
        esk_series_close(series);
        ESK_CHECK_INT(esk_volume_arena_set(&volume, arena, sizeof arena),
                      ESK_OK);
        free(memory);
    }
}

ESK_TEST_MAIN()
