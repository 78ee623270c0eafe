// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong with a volume and its catalog: each mistake is
/// refused with the error that the header names, the medium stays as it was,
/// and the tables go on working.
#include "test/harness/misuse.h"

enum { ROW_BYTES = 8, NAME_LONG = 300 };

static const struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
};
static const uint8_t edges[] = {1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0};
static const struct esk_index_spec by_level = {
    .column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 3};

static struct esk_series *series;
static struct esk_tree *tree;
static uint8_t row[ROW_BYTES];
static uint32_t key;

/// The specifications of the tables; `name` is theirs.
static struct esk_series_spec spec_of(const char *name) {
    struct esk_series_spec spec = {.table = {.name = name,
                                             .columns = columns,
                                             .column_count = 2,
                                             .row_bytes = ROW_BYTES},
                                   .indexes = &by_level,
                                   .index_count = 1,
                                   .data_blocks = 10,
                                   .index_blocks = 4};
    return spec;
}

static const struct esk_tree_config tree_config = {.store =
                                                       &esk_store_wandering};

static struct esk_tree_spec tree_spec_of(const char *name) {
    struct esk_tree_spec spec = {.table = spec_of(name).table,
                                 .store = ESK_STORE_WANDERING,
                                 .blocks = 20};
    return spec;
}

static void tables_open(void) {
    ESK_CHECK_INT(esk_series_open(&series, &misuse_volume, "log", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&tree, &misuse_volume, "map", &tree_config),
                  ESK_OK);
}

/// Both tables take a row and have it.
static void tables_work(void) {
    uint8_t got[ROW_BYTES];
    key++;
    misuse_u32(row, key);
    ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
    ESK_CHECK_INT(esk_series_get(series, key, got), ESK_OK);
    ESK_CHECK_BYTES(got, row, ROW_BYTES);
    ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_get(tree, row, got), ESK_OK);
    ESK_CHECK_BYTES(got, row, ROW_BYTES);
}

static void tables_close(void) {
    esk_series_close(series);
    esk_tree_close(tree);
}

static void start(void) {
    struct esk_series_spec log = spec_of("log");
    struct esk_tree_spec map = tree_spec_of("map");
    misuse_start(&misuse_nor);
    ESK_CHECK_INT(esk_series_create(&misuse_volume, &log, NULL), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &map, NULL), ESK_OK);
    tables_open();
    key = 0;
    for (uint8_t i = 0; i < 40; i++) {
        tables_work();
    }
}

/* Geometries. */

#define GEOMETRY(blocks, pages, bytes, unit)                                   \
    {.block_count = (blocks),                                                  \
     .block_pages = (pages),                                                   \
     .page_bytes = (bytes),                                                    \
     .program_bytes = (unit),                                                  \
     .erased_value = 0xFF}

static const struct esk_geometry geometries_refused[] = {
    GEOMETRY(0, 0, 0, 0),          GEOMETRY(120, 8, 0, 1),
    GEOMETRY(120, 8, 64, 1),       GEOMETRY(120, 8, 252, 1),
    GEOMETRY(120, 8, 16392, 1),    GEOMETRY(120, 8, 65535, 1),
    GEOMETRY(120, 0, 256, 1),      GEOMETRY(120, 4097, 256, 1),
    GEOMETRY(120, 65535, 256, 1),  GEOMETRY(0, 8, 256, 1),
    GEOMETRY(1, 8, 256, 1),        GEOMETRY(2, 8, 256, 1),
    GEOMETRY(1u << 29, 8, 256, 1), GEOMETRY(UINT32_MAX, 2, 256, 1),
    GEOMETRY(120, 8, 256, 0),      GEOMETRY(120, 8, 256, 3),
    GEOMETRY(120, 8, 256, 512),    GEOMETRY(120, 8, 256, 65535),
};

ESK_TEST(volume_refuses_a_geometry_that_cannot_be) {
    size_t count = sizeof geometries_refused / sizeof geometries_refused[0];
    for (size_t i = 0; i < count; i++) {
        struct esk_volume volume;
        struct esk_device *device = &misuse_ram.device;
        ESK_CONTEXT("geometry %zu", i);
        start();
        device->geometry = geometries_refused[i];
        MISUSE(esk_geometry_check(&device->geometry), ESK_E_GEOMETRY);
        MISUSE(esk_volume_mount(&volume, device, 0, MISUSE_ARENA),
               ESK_E_GEOMETRY);
        MISUSE(esk_volume_format(device, &misuse_config, MISUSE_ARENA),
               ESK_E_GEOMETRY);
        MISUSE(esk_volume_mount_or_format(&volume, device, 0, &misuse_config,
                                          MISUSE_ARENA),
               ESK_E_GEOMETRY);
        /* It is not mounted. */
        MISUSE(esk_volume_unmount(&volume), ESK_E_INVALID);
        device->geometry = misuse_nor;
        misuse_mount(0);
        tables_open();
        tables_work();
    }
}

/// Three blocks are enough for a bare kv store.
ESK_TEST(volume_refuses_three_blocks) {
    static const struct esk_geometry three = GEOMETRY(3, 8, 256, 1);
    struct esk_volume volume;
    struct esk_device *device = &misuse_ram.device;
    start();
    device->geometry = three;
    MISUSE(esk_geometry_check(&device->geometry), ESK_OK);
    MISUSE(esk_volume_format(device, &misuse_config, MISUSE_ARENA),
           ESK_E_NO_SPACE);
    MISUSE(esk_volume_mount(&volume, device, 0, MISUSE_ARENA), ESK_E_FOREIGN);
    device->geometry = misuse_nor;
}

ESK_TEST(volume_takes_pages_that_are_no_power_of_two) {
    static const struct esk_geometry odd = GEOMETRY(120, 7, 136, 1);
    struct esk_series_spec spec = spec_of("log");
    misuse_start(&odd);
    ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                            &misuse_volume, &spec, NULL, NULL),
                  ESK_OK);
    for (uint32_t i = 1; i < 200; i++) {
        misuse_u32(row, i);
        ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_get(series, 1, row), ESK_OK);
}

/* Arenas. */

struct arena_case {
    uint16_t shift; ///< of where it begins
    uint32_t bytes;
    int status;
    bool is_null;
};

static const struct arena_case arena_cases[] = {
    {.is_null = true, .bytes = 0, .status = ESK_E_INVALID},
    {.is_null = true, .bytes = 1, .status = ESK_E_INVALID},
    {.is_null = true, .bytes = 4096, .status = ESK_E_INVALID},
    {.is_null = true, .bytes = UINT32_MAX, .status = ESK_E_INVALID},
    {.shift = 1, .bytes = 4096, .status = ESK_E_INVALID},
    {.shift = 4, .bytes = 4096, .status = ESK_E_INVALID},
    {.shift = 7, .bytes = 4096, .status = ESK_E_INVALID},
    {.bytes = 0, .status = ESK_E_NO_MEMORY},
    {.bytes = 1, .status = ESK_E_NO_MEMORY},
    {.bytes = MISUSE_PAGE_BYTES - 1, .status = ESK_E_NO_MEMORY},
};

ESK_TEST(volume_refuses_an_arena_that_it_cannot_use) {
    for (size_t i = 0; i < sizeof arena_cases / sizeof arena_cases[0]; i++) {
        const struct arena_case *at = &arena_cases[i];
        static uint64_t memory[1024];
        const struct esk_volume_shape shape = {.seed = 1};
        struct esk_device *device = &misuse_ram.device;
        struct esk_volume other;
        void *arena = at->is_null ? NULL : (uint8_t *)memory + at->shift;
        ESK_CONTEXT("arena %zu", i);
        start();
        MISUSE(esk_volume_mount(&other, device, 0, arena, at->bytes),
               at->status);
        MISUSE(esk_volume_attach(&other, device, 0, &shape, arena, at->bytes),
               at->status);
        MISUSE(esk_volume_format(device, &misuse_config, arena, at->bytes),
               at->status);
        MISUSE(esk_volume_mount_or_format(&other, device, 0, &misuse_config,
                                          arena, at->bytes),
               at->status);
        MISUSE(esk_volume_arena_set(&misuse_volume, arena, at->bytes),
               at->status);
        tables_work();
        tables_close();
        tables_open();
        tables_work();
    }
}

/// Where an arena may begin and end, in bytes from where the open table does
/// and from where the next one would.
struct overlap {
    int32_t from;
    int32_t to;
    int status;
};

ESK_TEST(volume_refuses_an_arena_that_an_open_table_is_in) {
    enum { TABLE = 2048, TAIL = 2048 };
    /* The table that is open takes the arena's first 64 bytes, and more. */
    static const struct overlap overlaps[] = {
        {0, TABLE, ESK_E_BUSY},    {8, TABLE, ESK_E_BUSY},
        {64, TABLE, ESK_E_BUSY},   {-512, 8, ESK_E_BUSY},
        {-512, TABLE, ESK_E_BUSY}, {-512, 0, ESK_OK},
    };
    for (size_t i = 0; i < sizeof overlaps / sizeof overlaps[0]; i++) {
        for (uint8_t sets = 0; sets < 2; sets++) {
            static uint64_t memory[2048];
            static uint64_t aside[512];
            uint8_t *middle = (uint8_t *)(memory + 1024);
            struct esk_series *held = NULL;
            ESK_CONTEXT("overlap %zu, after %u arenas", i, sets);
            start();
            tables_close();
            ESK_CHECK_INT(
                esk_volume_arena_set(&misuse_volume, middle, sizeof memory / 2),
                ESK_OK);
            ESK_CHECK_INT(esk_series_open(&held, &misuse_volume, "log", NULL),
                          ESK_OK);
            if (sets > 0) {
                ESK_CHECK_INT(
                    esk_volume_arena_set(&misuse_volume, aside, sizeof aside),
                    ESK_OK);
            }
            int32_t bytes = overlaps[i].to - overlaps[i].from;
            MISUSE(esk_volume_arena_set(&misuse_volume,
                                        middle + overlaps[i].from,
                                        (uint32_t)bytes),
                   overlaps[i].status);
            ESK_CHECK_INT(esk_volume_step(&misuse_volume, 1, NULL), ESK_OK);
            misuse_u32(row, ++key);
            ESK_CHECK_INT(esk_series_append(held, row), ESK_OK);
            ESK_CHECK_INT(esk_series_get(held, 7, row), ESK_OK);
        }
    }
}

/* Formatting. */

ESK_TEST(volume_format_refuses_what_it_cannot_make) {
    static const struct esk_volume_config refused[] = {
        {.checksum = 3},
        {.checksum = 255},
        {.tables_max = 255},
        {.checksum = 255, .overwrite = true},
        {.tables_max = 255, .overwrite = true},
    };
    start();
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ESK_CONTEXT("config %zu", i);
        MISUSE(esk_volume_format(&misuse_ram.device, &refused[i], MISUSE_ARENA),
               ESK_E_INVALID);
    }
    /* A mounted volume is there: nothing is formatted over it by mistake. */
    static uint64_t other[1024];
    MISUSE(esk_volume_format(&misuse_ram.device, &misuse_config, other,
                             sizeof other),
           ESK_E_FOREIGN);
    tables_work();
    memset(misuse_chip, 0xFF, sizeof misuse_chip);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ESK_CONTEXT("config %zu, blank", i);
        MISUSE(esk_volume_mount_or_format(&misuse_volume, &misuse_ram.device, 0,
                                          &refused[i], MISUSE_ARENA),
               ESK_E_INVALID);
        MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_INVALID);
    }
}

ESK_TEST(volume_of_four_blocks_has_no_room_for_halves) {
    static const struct esk_geometry small = GEOMETRY(4, 8, 256, 1);
    memset(misuse_chip, 0xFF, sizeof misuse_chip);
    ESK_CHECK_INT(esk_ram_device_init(&misuse_ram, &small, misuse_chip,
                                      sizeof misuse_chip),
                  ESK_OK);
    MISUSE(esk_volume_mount_or_format(&misuse_volume, &misuse_ram.device, 0,
                                      &misuse_config, MISUSE_ARENA),
           ESK_E_NO_SPACE);
}

/* Names, columns and indexes. */

ESK_TEST(volume_finds_no_table_of_a_name_that_cannot_be) {
    static char name_long[NAME_LONG + 1];
    memset(name_long, 'l', NAME_LONG);
    static const char *const names[] = {NULL,
                                        "",
                                        "l",
                                        "lo",
                                        "logg",
                                        "LOG",
                                        "log\n",
                                        "\x80\xFF",
                                        name_long,
                                        "0123456789012345678901234567890",
                                        "01234567890123456789012345678901"};
    start();
    tables_close();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct esk_table_info info;
        ESK_CONTEXT("name %zu", i);
        MISUSE(esk_volume_find(&misuse_volume, names[i], &info), ESK_NOT_FOUND);
        MISUSE(esk_volume_drop(&misuse_volume, names[i]), ESK_NOT_FOUND);
        MISUSE(esk_series_open(&series, &misuse_volume, names[i], NULL),
               ESK_NOT_FOUND);
        MISUSE(esk_tree_open(&tree, &misuse_volume, names[i], &tree_config),
               ESK_NOT_FOUND);
    }
    /* The name of another kind of table. */
    MISUSE(esk_tree_open(&tree, &misuse_volume, "log", &tree_config),
           ESK_E_UNSUPPORTED);
    MISUSE(esk_series_open(&series, &misuse_volume, "map", NULL),
           ESK_E_UNSUPPORTED);
    tables_open();
    MISUSE(esk_volume_drop(&misuse_volume, "log"), ESK_E_BUSY);
    MISUSE(esk_volume_drop(&misuse_volume, "map"), ESK_E_BUSY);
    tables_work();
}

/// Names are bytes: any that are not NUL are taken, and are what is found.
ESK_TEST(volume_keeps_names_of_any_bytes) {
    static const char *const names[] = {"\x01",
                                        "\xFF\xFE\x80",
                                        "a/b\\c\n\t",
                                        "LOG",
                                        " log",
                                        "log ",
                                        "0123456789012345678901234567890"};
    start();
    tables_close();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct esk_series_spec spec = spec_of(names[i]);
        struct esk_tree_spec tree_spec = tree_spec_of(names[i]);
        struct esk_table_info info;
        ESK_CONTEXT("name %zu", i);
        ESK_CHECK_INT(esk_series_create(&misuse_volume, &spec, NULL), ESK_OK);
        MISUSE(esk_series_create(&misuse_volume, &spec, NULL), ESK_E_EXISTS);
        MISUSE(esk_tree_create(&misuse_volume, &tree_spec, NULL), ESK_E_EXISTS);
        MISUSE(esk_volume_find(&misuse_volume, names[i], &info), ESK_OK);
        ESK_CHECK_TEXT(info.name, names[i]);
        ESK_CHECK_INT(esk_volume_drop(&misuse_volume, names[i]), ESK_OK);
    }
    tables_open();
    tables_work();
}

ESK_TEST(volume_tells_no_column_or_index_that_is_not_there) {
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_index_spec index;
    uint8_t got[16];
    uint16_t cursor = UINT16_MAX;
    start();
    MISUSE(esk_volume_list(&misuse_volume, &cursor, &info), ESK_END);
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "log", &info), ESK_OK);
    for (uint16_t i = 2; i < 256; i++) {
        uint8_t number = (uint8_t)i;
        MISUSE(esk_volume_column(&misuse_volume, &info, number, &column),
               ESK_NOT_FOUND);
        MISUSE(esk_volume_index(&misuse_volume, &info, number, &index, got,
                                sizeof got),
               ESK_NOT_FOUND);
    }
    MISUSE(esk_volume_index(&misuse_volume, &info, 0, &index, NULL, 0),
           ESK_E_NO_MEMORY);
    MISUSE(esk_volume_index(&misuse_volume, &info, 0, &index, got, 11),
           ESK_E_NO_MEMORY);
    MISUSE(esk_volume_index(&misuse_volume, &info, 0, &index, got, 12), ESK_OK);
}

/// Infos that no call gave: none makes a read go astray.
ESK_TEST(volume_survives_infos_that_it_did_not_give) {
    struct esk_table_info given;
    start();
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "log", &given), ESK_OK);
    for (size_t at = 0; at < sizeof given; at++) {
        static const uint8_t bytes[] = {0, 1, 0x7F, 0xFF};
        for (uint8_t i = 0; i < 4 * sizeof bytes; i++) {
            struct esk_table_info info = given;
            struct esk_column_info column;
            struct esk_index_spec index;
            uint8_t got[ESK_EDGE_COUNT_MAX * 8];
            size_t width = (size_t)1 << (i / 4);
            width = width < sizeof info - at ? width : sizeof info - at;
            memset((uint8_t *)&info + at, bytes[i % 4], width);
            misuse_note();
            for (uint8_t n = 0; n < 3; n++) {
                (void)esk_volume_column(&misuse_volume, &info, n, &column);
                (void)esk_volume_index(&misuse_volume, &info, n, &index, got,
                                       sizeof got);
            }
            (void)esk_series_arena_bytes(&misuse_volume, &info, NULL);
            (void)esk_tree_arena_bytes(&misuse_volume, &info, &tree_config);
            (void)esk_series_frames_min(&info);
            ESK_CHECK(misuse_unchanged());
        }
    }
    tables_work();
}

/* Read-only mounts, steps, stamps. */

ESK_TEST(volume_mounted_read_only_refuses_each_change) {
    struct esk_series_spec other = spec_of("other");
    struct esk_tree_spec other_tree = tree_spec_of("other");
    uint16_t done = 0;
    start();
    tables_close();
    misuse_mount(ESK_MOUNT_READ_ONLY);
    tables_open();
    MISUSE(esk_volume_step(&misuse_volume, UINT16_MAX, &done), ESK_E_READ_ONLY);
    MISUSE(esk_series_append(series, row), ESK_E_READ_ONLY);
    MISUSE(esk_series_erase_before(series, 9), ESK_E_READ_ONLY);
    MISUSE(esk_series_erase_after(series, 9), ESK_E_READ_ONLY);
    MISUSE(esk_series_sync(series), ESK_OK);
    MISUSE(esk_tree_put(tree, row), ESK_E_READ_ONLY);
    MISUSE(esk_tree_delete(tree, row), ESK_E_READ_ONLY);
    MISUSE(esk_tree_begin(tree, 0), ESK_E_READ_ONLY);
    MISUSE(esk_tree_sync(tree), ESK_OK);
    MISUSE(esk_series_create(&misuse_volume, &other, NULL), ESK_E_READ_ONLY);
    MISUSE(esk_tree_create(&misuse_volume, &other_tree, NULL), ESK_E_READ_ONLY);
    tables_close();
    MISUSE(esk_volume_drop(&misuse_volume, "log"), ESK_E_READ_ONLY);
    struct esk_column wider[3] = {columns[0], columns[1], {.name = "new"}};
    wider[2].type = ESK_TYPE_U8;
    other = spec_of("log");
    other.table.columns = wider;
    table_columns(&other.table, 3);
    MISUSE(esk_series_add_columns(&misuse_volume, &esk_series_parts_all,
                                  &other.table, NULL, NULL),
           ESK_E_READ_ONLY);
    misuse_mount(0);
    tables_open();
    tables_work();
}

ESK_TEST(volume_is_not_made_on_a_blank_medium_that_is_read_only) {
    misuse_start(&misuse_nor);
    memset(misuse_chip, 0xFF, sizeof misuse_chip);
    MISUSE(esk_volume_mount_or_format(&misuse_volume, &misuse_ram.device,
                                      ESK_MOUNT_READ_ONLY, &misuse_config,
                                      MISUSE_ARENA),
           ESK_E_READ_ONLY);
    MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_INVALID);
}

/// Two handles of one medium: the one that does not see what the other changed
/// says that its catalog is lost, and tells no wrong table.
ESK_TEST(volume_that_another_changed_says_so) {
    static uint64_t arena[4096];
    struct esk_volume second;
    struct esk_table_info info;
    struct esk_series_spec spec = spec_of("other");
    struct esk_series *stale = NULL;
    struct esk_volume_report report;
    uint16_t at = 0;
    start();
    ESK_CHECK_INT(
        esk_volume_mount(&second, &misuse_ram.device, 0, arena, sizeof arena),
        ESK_OK);
    ESK_CHECK_INT(esk_series_create(&misuse_volume, &spec, NULL), ESK_OK);
    MISUSE(esk_volume_find(&second, "log", &info), ESK_E_CORRUPT);
    MISUSE(esk_volume_list(&second, &at, &info), ESK_E_CORRUPT);
    MISUSE(esk_volume_check(&second, &report), ESK_E_CORRUPT);
    MISUSE(esk_series_open(&stale, &second, "log", NULL), ESK_E_CORRUPT);
    MISUSE(esk_volume_drop(&second, "log"), ESK_E_CORRUPT);
    spec = spec_of("third");
    MISUSE(esk_series_create(&second, &spec, NULL), ESK_E_CORRUPT);
    tables_work();
}

ESK_TEST(volume_step_takes_any_budget) {
    uint16_t done = 7;
    start();
    MISUSE(esk_volume_step(&misuse_volume, 0, &done), ESK_OK);
    ESK_CHECK_INT(done, 0);
    ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, &done), ESK_OK);
    ESK_CHECK(done < UINT16_MAX);
    ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, NULL), ESK_OK);
    tables_work();
}

ESK_TEST(volume_texts_are_there_for_every_number) {
    for (int i = -300; i < 300; i++) {
        ESK_CHECK(esk_status_text(i)[0] != '\0');
        ESK_CHECK(esk_fault_text((uint8_t)i) != NULL);
    }
    for (uint16_t type = 0; type < 256; type++) {
        uint16_t bytes = esk_type_bytes((uint8_t)type, UINT16_MAX);
        ESK_CHECK(bytes <= 8);
    }
    ESK_CHECK_INT(esk_type_bytes(ESK_TYPE_BYTES, 0), 0);
}

/// A row of more bytes than its count holds has none.
ESK_TEST(row_bytes_do_not_wrap) {
    static struct esk_column wide[255];
    for (size_t i = 0; i < 255; i++) {
        wide[i].type = ESK_TYPE_BYTES;
        wide[i].bytes = 1024;
    }
    ESK_CHECK_INT(esk_row_bytes(wide, 0), 0);
    ESK_CHECK_INT(esk_row_bytes(wide, 63), 63 * 1024);
    ESK_CHECK_INT(esk_row_bytes(wide, 64), 0);
    ESK_CHECK_INT(esk_row_bytes(wide, 65), 0);
    ESK_CHECK_INT(esk_row_bytes(wide, 255), 0);
}

/* What is asserted: no pointer is NULL but where its call says so. */

ESK_TEST(volume_asserts_its_pointers) {
    struct esk_volume *volume = &misuse_volume;
    const struct esk_device *device = &misuse_ram.device;
    const struct esk_volume_shape shape = {.seed = 1};
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_index_spec index;
    uint8_t got[16];
    uint16_t at = 0;
    start();
    MISUSE_ASSERTS(esk_geometry_check(NULL));
    MISUSE_ASSERTS(esk_volume_format(NULL, &misuse_config, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_format(device, NULL, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_mount(NULL, device, 0, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_mount(volume, NULL, 0, MISUSE_ARENA));
    MISUSE_ASSERTS(
        esk_volume_mount_or_format(volume, device, 0, NULL, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_attach(NULL, device, 0, &shape, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_attach(volume, NULL, 0, &shape, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_attach(volume, device, 0, NULL, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_stamp(NULL, got));
    MISUSE_ASSERTS(esk_volume_stamp(volume, NULL));
    MISUSE_ASSERTS(esk_volume_stamp(volume, got)); /* it is mounted */
    MISUSE_ASSERTS(esk_volume_arena_set(NULL, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_volume_drop(NULL, "log"));
    MISUSE_ASSERTS(esk_volume_find(NULL, "log", &info));
    MISUSE_ASSERTS(esk_volume_find(volume, "log", NULL));
    MISUSE_ASSERTS(esk_volume_list(NULL, &at, &info));
    MISUSE_ASSERTS(esk_volume_list(volume, NULL, &info));
    MISUSE_ASSERTS(esk_volume_list(volume, &at, NULL));
    MISUSE_ASSERTS(esk_volume_column(volume, NULL, 0, &column));
    MISUSE_ASSERTS(esk_volume_column(volume, &info, 0, NULL));
    MISUSE_ASSERTS(esk_volume_index(volume, NULL, 0, &index, got, 16));
    MISUSE_ASSERTS(esk_volume_index(volume, &info, 0, NULL, got, 16));
    MISUSE_ASSERTS(esk_volume_check(volume, NULL));
    MISUSE_ASSERTS(esk_volume_step(NULL, 1, NULL));
    MISUSE_ASSERTS(esk_volume_unmount(NULL));
    MISUSE_ASSERTS(esk_row_bytes(NULL, 1));
    MISUSE_ASSERTS(esk_row_offset(NULL, 1));
    tables_work();
}

ESK_TEST(volume_asserts_that_a_driver_has_its_calls) {
    struct esk_volume volume;
    start();
    for (uint8_t i = 0; i < 5; i++) {
        struct esk_device_ops ops = *misuse_ram.device.ops;
        struct esk_device device = misuse_ram.device;
        device.ops = i == 0 ? NULL : &ops;
        ops.read = i == 1 ? NULL : ops.read;
        ops.program = i == 2 ? NULL : ops.program;
        ops.erase = i == 3 ? NULL : ops.erase;
        ops.sync = i == 4 ? NULL : ops.sync;
        MISUSE_ASSERTS(esk_volume_mount(&volume, &device, 0, MISUSE_ARENA));
        MISUSE_ASSERTS(
            esk_volume_format(&device, &misuse_config, MISUSE_ARENA));
    }
    /* Marks may be missing. */
    struct esk_device_ops unmarked = *misuse_ram.device.ops;
    unmarked.block_is_bad = NULL;
    unmarked.block_mark_bad = NULL;
    misuse_ram.device.ops = &unmarked;
    misuse_mount(0);
    tables_open();
    tables_work();
}

ESK_TEST_MAIN()
