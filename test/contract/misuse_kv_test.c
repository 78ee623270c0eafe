// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong with a kv table or a bare store: each mistake
/// is refused with the error that the header names, the medium stays as it was,
/// and the table goes on working.
#include "test/harness/misuse.h"

enum { KEYS_MAX = 12, LONG = MISUSE_BLOCK_PAGES * MISUSE_PAGE_BYTES };

static const struct esk_kv_spec spec = {.name = "set", .blocks = 6};
static const struct esk_kv_config config = {.keys = KEYS_MAX};
static const struct esk_kv_bare bare = {.id = 7};
static const struct esk_geometry small =
    ESK_NOR(12, MISUSE_BLOCK_PAGES, MISUSE_PAGE_BYTES);
static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
};
static const struct esk_series_spec log_spec = {.table = {.name = "log",
                                                          .columns = columns,
                                                          .column_count = 2,
                                                          .row_bytes = 8},
                                                .data_blocks = 10,
                                                .index_blocks = 4};
static const struct esk_tree_spec map_spec = {.table = {.name = "map",
                                                        .columns = columns,
                                                        .column_count = 2,
                                                        .row_bytes = 8},
                                              .store = ESK_STORE_WANDERING,
                                              .blocks = 20};
static const struct esk_tree_config map_config = {.store =
                                                      &esk_store_wandering};

static struct esk_kv *kv;
static uint8_t value[LONG + 1];
static uint32_t round_number;

static void kv_works(void) {
    uint32_t found = 0;
    round_number++;
    ESK_CHECK_INT(esk_kv_put_u32(kv, "round", round_number), ESK_OK);
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    ESK_CHECK_INT(esk_kv_get_u32(kv, "round", &found), ESK_OK);
    ESK_CHECK_INT(found, round_number);
}

/// The table has its two keys, and is sound.
static void kv_verify(void) {
    struct esk_kv_report report;
    ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
    ESK_CHECK_INT(report.keys, 2);
}

static void kv_fill(void) {
    ESK_CHECK_INT(esk_kv_put_text(kv, "name", "esker"), ESK_OK);
    kv_works();
}

static void start(void) {
    misuse_start(&misuse_nor);
    ESK_CHECK_INT(esk_kv_create(&misuse_volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&kv, &misuse_volume, "set", &config), ESK_OK);
    kv_fill();
}

static int bare_open(uint8_t flags) {
    return esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device, flags,
                            &bare, &config, MISUSE_ARENA);
}

static void bare_start(void) {
    memset(misuse_chip, 0xFF, sizeof misuse_chip);
    ESK_CHECK_INT(esk_ram_device_init(&misuse_ram, &small, misuse_chip,
                                      sizeof misuse_chip),
                  ESK_OK);
    ESK_CHECK_INT(bare_open(0), ESK_OK);
    kv_fill();
}

/* Keys and values. */

ESK_TEST(kv_takes_no_key_that_cannot_be) {
    static const uint8_t lengths[] = {0, ESK_KV_KEY_BYTES_MAX + 1, 255};
    char text[ESK_KV_KEY_BYTES_MAX + 2];
    start();
    for (size_t i = 0; i < sizeof lengths; i++) {
        MISUSE(esk_kv_get(kv, value, lengths[i], NULL, 0, NULL, NULL),
               ESK_E_INVALID);
        MISUSE(esk_kv_put(kv, value, lengths[i], NULL, 0, ESK_KV_BYTES),
               ESK_E_INVALID);
        MISUSE(esk_kv_delete(kv, value, lengths[i]), ESK_E_INVALID);
    }
    MISUSE(esk_kv_get(kv, NULL, 3, NULL, 0, NULL, NULL), ESK_E_INVALID);
    MISUSE(esk_kv_exists(kv, NULL, 3), ESK_E_INVALID);
    MISUSE(esk_kv_exists(kv, "none", 4), ESK_NOT_FOUND);
    MISUSE(esk_kv_exists(kv, "name", 4), ESK_OK);
    MISUSE(esk_kv_put(kv, NULL, 3, NULL, 0, ESK_KV_BYTES), ESK_E_INVALID);
    MISUSE(esk_kv_delete(kv, NULL, 3), ESK_E_INVALID);
    MISUSE(esk_kv_get(kv, "none", 4, NULL, 0, NULL, NULL), ESK_NOT_FOUND);
    MISUSE(esk_kv_delete(kv, "none", 4), ESK_NOT_FOUND);
    memset(text, 'k', sizeof text);
    text[sizeof text - 1] = '\0';
    for (int i = 0; i < 2; i++) {
        const char *key = i == 0 ? "" : text;
        uint32_t number = 5;
        int32_t integer = 5;
        bool on = true;
        char found[8] = "5";
        MISUSE(esk_kv_get_u32(kv, key, &number), ESK_E_INVALID);
        MISUSE(esk_kv_put_u32(kv, key, 1), ESK_E_INVALID);
        MISUSE(esk_kv_get_i32(kv, key, &integer), ESK_E_INVALID);
        MISUSE(esk_kv_put_i32(kv, key, 1), ESK_E_INVALID);
        MISUSE(esk_kv_add_u32(kv, key, 1, &number), ESK_E_INVALID);
        MISUSE(esk_kv_get_bool(kv, key, &on), ESK_E_INVALID);
        MISUSE(esk_kv_put_bool(kv, key, true), ESK_E_INVALID);
        MISUSE(esk_kv_get_text(kv, key, found, sizeof found), ESK_E_INVALID);
        MISUSE(esk_kv_put_text(kv, key, "a"), ESK_E_INVALID);
        MISUSE(esk_kv_get_f32_bits(kv, key, &number), ESK_E_INVALID);
        MISUSE(esk_kv_put_f32_bits(kv, key, &number), ESK_E_INVALID);
        ESK_CHECK(number == 5 && integer == 5 && on && found[0] == '5');
    }
    kv_works();
    kv_verify();
}

ESK_TEST(kv_takes_no_value_that_its_type_does_not_have) {
    static const uint8_t bytes[9] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
    static const struct {
        uint8_t type;
        uint32_t count;
    } cases[] = {
        {ESK_KV_UNSIGNED, 9},
        {ESK_KV_UNSIGNED, 2},
        {ESK_KV_UNSIGNED, 8},
        {ESK_KV_SIGNED, 9},
        {ESK_KV_SIGNED, 3},
        {ESK_KV_FLOAT, 0},
        {ESK_KV_FLOAT, 3},
        {ESK_KV_FLOAT, 5},
        {ESK_KV_FLOAT, 9},
        {ESK_KV_BOOL, 0},
        {ESK_KV_BOOL, 2},
        {6, 1},
        {7, 0},
        {8, 1},
        {255, 1},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", (unsigned)i);
        MISUSE(esk_kv_put(kv, "key", 3, bytes, cases[i].count, cases[i].type),
               ESK_E_INVALID);
    }
    MISUSE(esk_kv_put(kv, "key", 3, bytes + 8, 1, ESK_KV_BOOL), ESK_E_INVALID);
    kv_works();
    kv_verify();
}

ESK_TEST(kv_takes_no_record_longer_than_a_block) {
    static const uint32_t lengths[] = {
        LONG,           LONG - 8 * 16,  UINT32_MAX / 2, UINT32_MAX - 300,
        UINT32_MAX - 7, UINT32_MAX - 4, UINT32_MAX};
    for (int is_bare = 0; is_bare < 2; is_bare++) {
        is_bare != 0 ? bare_start() : start();
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            ESK_CONTEXT("bare %d, %u bytes", is_bare, lengths[i]);
            MISUSE(esk_kv_put(kv, "key", 3, value, lengths[i], ESK_KV_BYTES),
                   ESK_E_LIMIT);
            MISUSE(esk_kv_put(kv, "name", 4, value, lengths[i], ESK_KV_TEXT),
                   ESK_E_LIMIT);
        }
        kv_works();
        kv_verify();
    }
}

ESK_TEST(full_kv_refuses_new_keys_and_longer_values) {
    start();
    for (uint32_t i = 2; i < KEYS_MAX; i++) {
        uint8_t key = (uint8_t)i;
        ESK_CHECK_INT(esk_kv_put(kv, &key, 1, value, 500, ESK_KV_BYTES),
                      ESK_OK);
    }
    MISUSE(esk_kv_put(kv, "new", 3, NULL, 0, ESK_KV_BYTES), ESK_FULL);
    MISUSE(esk_kv_put_u32(kv, "new", 0), ESK_FULL);
    MISUSE(esk_kv_put(kv, "name", 4, value, 1900, ESK_KV_BYTES), ESK_FULL);
    MISUSE(esk_kv_put(kv, "\x02", 1, value, 1900, ESK_KV_BYTES), ESK_FULL);
    kv_works();
    ESK_CHECK_INT(esk_kv_put(kv, "\x02", 1, value, 500, ESK_KV_BYTES), ESK_OK);
    ESK_CHECK_INT(esk_kv_delete(kv, "\x02", 1), ESK_OK);
    kv_works();
}

ESK_TEST(kv_gets_no_value_of_another_type_and_keeps_the_default) {
    uint32_t number = 5;
    int32_t integer = -5;
    uint32_t bits = 9;
    bool on = true;
    char text[8] = "default";
    start();
    ESK_CHECK_INT(esk_kv_put(kv, "big", 3, "\0\0\0\0\1", 5, ESK_KV_UNSIGNED),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put(kv, "double", 6, value, 8, ESK_KV_FLOAT), ESK_OK);
    MISUSE(esk_kv_get_u32(kv, "name", &number), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_u32(kv, "big", &number), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_i32(kv, "round", &integer), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_bool(kv, "round", &on), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_f32_bits(kv, "double", &bits), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_text(kv, "round", text, sizeof text), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_text(kv, "name", text, 5), ESK_E_SCHEMA);
    MISUSE(esk_kv_get_text(kv, "name", text, 0), ESK_E_SCHEMA);
    ESK_CHECK(number == 5 && integer == -5 && bits == 9 && on);
    ESK_CHECK_TEXT(text, "default");
    kv_works();
}

ESK_TEST(kv_walk_from_anywhere_ends) {
    static const uint32_t cursors[] = {1u << 24, UINT32_MAX - 1, UINT32_MAX};
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    start();
    for (size_t i = 0; i < sizeof cursors / sizeof cursors[0]; i++) {
        uint32_t cursor = cursors[i];
        MISUSE(esk_kv_next(kv, &cursor, key, &key_bytes), ESK_END);
        MISUSE(esk_kv_next(kv, &cursor, key, &key_bytes), ESK_END);
    }
    kv_works();
}

ESK_TEST(kv_cursor_takes_no_bounds_that_cannot_be) {
    static const struct esk_kv_query cases[] = {
        {.from_bytes = 1},
        {.below_bytes = 1},
        {.prefix_bytes = 1},
        {.from = value, .from_bytes = ESK_KV_KEY_BYTES_MAX + 1},
        {.below = value, .below_bytes = ESK_KV_KEY_BYTES_MAX + 1},
        {.prefix = value, .prefix_bytes = 255},
    };
    struct esk_kv_cursor cursor;
    uint8_t memory[64];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 9;
    start();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", (unsigned)i);
        MISUSE(
            esk_kv_cursor_open(kv, &cursor, &cases[i], memory, sizeof memory),
            ESK_E_INVALID);
        MISUSE(esk_kv_cursor_next(kv, &cursor, key, &key_bytes), ESK_E_INVALID);
    }
    kv_works();
    kv_verify();
}

ESK_TEST(kv_cursor_takes_no_memory_without_room_for_a_key) {
    struct esk_kv_cursor cursor;
    uint8_t memory[64];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 9;
    start();
    MISUSE(esk_kv_cursor_open(kv, &cursor, NULL, NULL, sizeof memory),
           ESK_E_INVALID);
    for (uint32_t bytes = 0; bytes < 24; bytes++) {
        bool is_open = bytes >= ESK_KV_CURSOR_BYTES(1, 1);
        ESK_CONTEXT("%u bytes", bytes);
        MISUSE(esk_kv_cursor_open(kv, &cursor, NULL, memory, bytes),
               is_open ? ESK_OK : ESK_E_NO_MEMORY);
        MISUSE(esk_kv_cursor_next(kv, &cursor, key, &key_bytes),
               !is_open                            ? ESK_E_INVALID
               : bytes < ESK_KV_CURSOR_BYTES(1, 5) ? ESK_E_NO_MEMORY
                                                   : ESK_OK);
    }
    kv_works();
    kv_verify();
}

ESK_TEST(kv_cursor_works_on_the_handle_that_it_was_opened_on) {
    static const struct esk_kv_spec other_spec = {.name = "other", .blocks = 4};
    struct esk_kv_cursor cursor;
    struct esk_kv *other = NULL;
    uint8_t memory[64];
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 9;
    start();
    ESK_CHECK_INT(esk_kv_open_or_create(&other, &misuse_volume, &other_spec,
                                        &config, NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_cursor_open(kv, &cursor, NULL, memory, sizeof memory),
                  ESK_OK);
    MISUSE(esk_kv_cursor_next(other, &cursor, key, &key_bytes), ESK_E_INVALID);
    MISUSE(esk_kv_cursor_next(NULL, &cursor, key, &key_bytes), ESK_E_INVALID);
    ESK_CHECK_INT(key_bytes, 9);
    MISUSE(esk_kv_cursor_next(kv, &cursor, key, &key_bytes), ESK_OK);
    ESK_CHECK(key_bytes == 4 && memcmp(key, "name", 4) == 0);
    esk_kv_close(other);
    MISUSE(esk_kv_cursor_next(kv, &cursor, key, &key_bytes), ESK_OK);
    ESK_CHECK(key_bytes == 5 && memcmp(key, "round", 5) == 0);
    esk_kv_close(kv);
    MISUSE(esk_kv_cursor_next(kv, &cursor, key, &key_bytes), ESK_E_INVALID);
    MISUSE(esk_kv_cursor_open(kv, &cursor, NULL, memory, sizeof memory),
           ESK_E_INVALID);
}

ESK_TEST(kv_cursor_calls_assert_their_pointers) {
    struct esk_kv_cursor cursor;
    uint8_t memory[64];
    uint8_t key_bytes = 0;
    start();
    MISUSE_ASSERTS(esk_kv_cursor_open(kv, NULL, NULL, memory, sizeof memory));
    ESK_CHECK_INT(esk_kv_cursor_open(kv, &cursor, NULL, memory, sizeof memory),
                  ESK_OK);
    MISUSE_ASSERTS(esk_kv_cursor_next(kv, NULL, value, &key_bytes));
    MISUSE_ASSERTS(esk_kv_cursor_next(kv, &cursor, NULL, &key_bytes));
    MISUSE_ASSERTS(esk_kv_cursor_next(kv, &cursor, value, NULL));
    kv_works();
    kv_verify();
}

ESK_TEST(kv_calls_assert_their_pointers) {
    struct esk_kv *other = NULL;
    uint32_t cursor = 0;
    uint8_t key_bytes = 0;
    start();
    MISUSE_ASSERTS(esk_kv_get(kv, "name", 4, NULL, 5, NULL, NULL));
    MISUSE_ASSERTS(esk_kv_put(kv, "name", 4, NULL, 5, ESK_KV_BYTES));
    MISUSE_ASSERTS(esk_kv_put_text(kv, "name", NULL));
    MISUSE_ASSERTS(esk_kv_put_text(kv, NULL, "text"));
    MISUSE_ASSERTS(esk_kv_get_u32(kv, NULL, &cursor));
    MISUSE_ASSERTS(esk_kv_next(kv, NULL, value, &key_bytes));
    MISUSE_ASSERTS(esk_kv_next(kv, &cursor, NULL, &key_bytes));
    MISUSE_ASSERTS(esk_kv_next(kv, &cursor, value, NULL));
    MISUSE_ASSERTS(esk_kv_create(&misuse_volume, NULL, NULL));
    MISUSE_ASSERTS(esk_kv_open(NULL, &misuse_volume, "set", &config));
    MISUSE_ASSERTS(esk_kv_open(&other, &misuse_volume, NULL, &config));
    MISUSE_ASSERTS(esk_kv_open(&other, &misuse_volume, "set", NULL));
    MISUSE_ASSERTS(
        esk_kv_open_or_create(NULL, &misuse_volume, &spec, &config, NULL));
    MISUSE_ASSERTS(
        esk_kv_open_or_create(&other, &misuse_volume, NULL, &config, NULL));
    MISUSE_ASSERTS(
        esk_kv_open_or_create(&other, &misuse_volume, &spec, NULL, NULL));
    kv_works();
    kv_verify();
}

/* Tables. */

ESK_TEST(kv_is_not_created_from_what_cannot_be_stored) {
    static const char longest[] = "12345678901234567890123456789012";
    static const struct {
        struct esk_kv_spec spec;
        int status;
    } cases[] = {
        {{.name = NULL}, ESK_E_SCHEMA},
        {{.name = ""}, ESK_E_SCHEMA},
        {{.name = longest}, ESK_E_SCHEMA},
        {{.name = "a", .blocks = 1}, ESK_E_SCHEMA},
        {{.name = "a", .blocks = ESK_KV_BLOCKS_MIN - 1}, ESK_E_SCHEMA},
        {{.name = "a", .live_percent = 96}, ESK_E_SCHEMA},
        {{.name = "a", .live_percent = 255}, ESK_E_SCHEMA},
        {{.name = "a", .blocks = MISUSE_BLOCKS}, ESK_E_NO_SPACE},
        {{.name = "a", .blocks = UINT32_MAX / 2}, ESK_E_NO_SPACE},
        {{.name = "a", .blocks = UINT32_MAX}, ESK_E_NO_SPACE},
        {{.name = "set", .blocks = 4}, ESK_E_EXISTS},
        {{.name = "set"}, ESK_E_EXISTS},
    };
    start();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_fault fault;
        ESK_CONTEXT("case %u", (unsigned)i);
        MISUSE(esk_kv_create(&misuse_volume, &cases[i].spec, &fault),
               cases[i].status);
        MISUSE(esk_kv_create(&misuse_volume, &cases[i].spec, NULL),
               cases[i].status);
    }
    kv_works();
    kv_verify();
}

ESK_TEST(kv_and_other_tables_are_opened_as_what_they_are) {
    struct esk_kv *other = kv;
    struct esk_series *series = NULL;
    struct esk_tree *tree = NULL;
    struct esk_fault fault;
    static const char *const names[] = {"log", "map"};
    start();
    ESK_CHECK_INT(esk_series_create(&misuse_volume, &log_spec, NULL), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &map_spec, NULL), ESK_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct esk_kv_spec wrong = {.name = names[i]};
        MISUSE(esk_kv_open(&other, &misuse_volume, names[i], &config),
               ESK_E_UNSUPPORTED);
        ESK_CHECK(other == NULL);
        MISUSE(esk_kv_open_or_create(&other, &misuse_volume, &wrong, &config,
                                     &fault),
               ESK_E_SCHEMA);
        ESK_CHECK(other == NULL);
        MISUSE(esk_kv_create(&misuse_volume, &wrong, NULL), ESK_E_EXISTS);
    }
    MISUSE(esk_kv_open(&other, &misuse_volume, "none", &config), ESK_NOT_FOUND);
    MISUSE(esk_kv_open(&other, &misuse_volume, "", &config), ESK_NOT_FOUND);
    MISUSE(esk_kv_open(&other, &misuse_volume, "set", &config), ESK_E_BUSY);
    MISUSE(esk_kv_open_or_create(&other, &misuse_volume, &spec, &config, NULL),
           ESK_E_BUSY);
    MISUSE(esk_volume_drop(&misuse_volume, "set"), ESK_E_BUSY);
    MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_BUSY);
    esk_kv_close(kv);
    MISUSE(esk_series_open(&series, &misuse_volume, "set", NULL),
           ESK_E_UNSUPPORTED);
    MISUSE(esk_tree_open(&tree, &misuse_volume, "set", &map_config),
           ESK_E_UNSUPPORTED);
    ESK_CHECK(series == NULL && tree == NULL);
    struct esk_series_spec as_series = log_spec;
    as_series.table.name = "set";
    MISUSE(esk_series_open_or_create(&series, &esk_series_parts_all,
                                     &misuse_volume, &as_series, NULL, NULL),
           ESK_E_SCHEMA);
    struct esk_tree_spec as_tree = map_spec;
    as_tree.table.name = "set";
    MISUSE(esk_tree_open_or_create(&tree, &misuse_volume, &as_tree, &map_config,
                                   NULL),
           ESK_E_SCHEMA);
    ESK_CHECK_INT(esk_kv_open(&kv, &misuse_volume, "set", &config), ESK_OK);
    kv_works();
    kv_verify();
}

ESK_TEST(kv_open_without_enough_memory_leaves_nothing_open) {
    static const uint32_t keys[] = {UINT32_MAX, UINT32_MAX / 2, UINT32_MAX / 8,
                                    1u << 29, 1u << 20};
    const uint32_t needed = ESK_KV_ARENA_BYTES(MISUSE_PAGE_BYTES, KEYS_MAX,
                                               6u * MISUSE_BLOCK_PAGES * 256u);
    uint32_t least = 0;
    start();
    esk_kv_close(kv);
    const struct esk_kv_config none = {.keys = 0};
    MISUSE(esk_kv_open(&kv, &misuse_volume, "set", &none), ESK_E_INVALID);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct esk_kv_config many = {.keys = keys[i]};
        MISUSE(esk_kv_open(&kv, &misuse_volume, "set", &many), ESK_E_NO_MEMORY);
    }
    const struct esk_kv_config one = {.keys = 1};
    MISUSE(esk_kv_open(&kv, &misuse_volume, "set", &one), ESK_E_LIMIT);
    for (uint32_t bytes = MISUSE_PAGE_BYTES; bytes <= needed; bytes += 8) {
        ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, misuse_arena, bytes),
                      ESK_OK);
        misuse_note();
        int status = esk_kv_open(&kv, &misuse_volume, "set", &config);
        ESK_CHECK(misuse_unchanged());
        ESK_CHECK(status == ESK_E_NO_MEMORY || status == ESK_OK);
        ESK_CHECK((kv != NULL) == (status == ESK_OK));
        if (status == ESK_OK && least == 0) {
            least = bytes;
        }
        ESK_CHECK(least == 0 || status == ESK_OK);
        esk_kv_close(kv);
    }
    ESK_CHECK(least != 0);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, MISUSE_ARENA), ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&kv, &misuse_volume, "set", &config), ESK_OK);
    kv_works();
    kv_verify();
}

/// Nothing of a table that may only be read is written.
static void only_read(void) {
    uint32_t bits = 0;
    uint16_t done = 0;
    char text[8];
    MISUSE(esk_kv_put(kv, "name", 4, "b", 1, ESK_KV_TEXT), ESK_E_READ_ONLY);
    MISUSE(esk_kv_put_u32(kv, "new", 1), ESK_E_READ_ONLY);
    MISUSE(esk_kv_add_u32(kv, "new", 1, &bits), ESK_E_READ_ONLY);
    MISUSE(esk_kv_put_i32(kv, "new", 1), ESK_E_READ_ONLY);
    MISUSE(esk_kv_put_bool(kv, "new", true), ESK_E_READ_ONLY);
    MISUSE(esk_kv_put_text(kv, "new", "a"), ESK_E_READ_ONLY);
    MISUSE(esk_kv_put_f32_bits(kv, "new", &bits), ESK_E_READ_ONLY);
    MISUSE(esk_kv_delete(kv, "name", 4), ESK_E_READ_ONLY);
    MISUSE(esk_kv_delete(kv, "none", 4), ESK_E_READ_ONLY);
    MISUSE(esk_kv_sync(kv), ESK_OK);
    MISUSE(esk_volume_step(&misuse_volume, 9, &done), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_kv_get_text(kv, "name", text, sizeof text), ESK_OK);
    ESK_CHECK_TEXT(text, "esker");
    misuse_note();
    kv_verify();
    esk_kv_close(kv);
    ESK_CHECK(misuse_unchanged());
}

ESK_TEST(kv_that_may_only_be_read_is_not_written) {
    start();
    misuse_mount(ESK_MOUNT_READ_ONLY);
    static const struct esk_kv_spec new_spec = {.name = "new", .blocks = 4};
    MISUSE(esk_kv_create(&misuse_volume, &new_spec, NULL), ESK_E_READ_ONLY);
    MISUSE(esk_kv_open_or_create(&kv, &misuse_volume, &new_spec, &config, NULL),
           ESK_E_READ_ONLY);
    ESK_CHECK_INT(
        esk_kv_open_or_create(&kv, &misuse_volume, &spec, &config, NULL),
        ESK_OK);
    only_read();
    MISUSE(esk_volume_drop(&misuse_volume, "set"), ESK_E_READ_ONLY);
    bare_start();
    ESK_CHECK_INT(bare_open(ESK_MOUNT_READ_ONLY), ESK_OK);
    only_read();
}

/* Bare stores. */

/// One wrong argument of an open.
struct wrong_open {
    struct esk_kv_bare bare;
    uint32_t keys;
    uint32_t arena_bytes;
    uint8_t flags;
    uint8_t shift; ///< of the arena
    int status;
};

ESK_TEST(bare_store_is_not_opened_with_wrong_arguments) {
    static const struct wrong_open cases[] = {
        {.bare = {.checksum = 3}, .status = ESK_E_INVALID},
        {.bare = {.checksum = 255}, .status = ESK_E_INVALID},
        {.bare = {.live_percent = 96}, .status = ESK_E_INVALID},
        {.bare = {.live_percent = 255}, .status = ESK_E_INVALID},
        {.keys = UINT32_MAX, .status = ESK_E_NO_MEMORY},
        {.keys = UINT32_MAX / 2, .status = ESK_E_NO_MEMORY},
        {.keys = 1u << 20, .status = ESK_E_NO_MEMORY},
        {.arena_bytes = 8, .status = ESK_E_NO_MEMORY},
        {.arena_bytes = MISUSE_PAGE_BYTES, .status = ESK_E_NO_MEMORY},
        {.shift = 1, .status = ESK_E_INVALID},
        {.flags = 2u * ESK_MOUNT_READ_BACK, .status = ESK_E_INVALID},
        {.flags = 0xFE, .status = ESK_E_INVALID},
        {.flags = 0xFF, .status = ESK_E_INVALID},
    };
    for (int is_new = 0; is_new < 2; is_new++) {
        bare_start();
        esk_kv_close(kv);
        ESK_CHECK_INT(esk_volume_unmount(&misuse_volume), ESK_OK);
        if (is_new != 0) {
            memset(misuse_chip, 0xFF, sizeof misuse_chip);
        }
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            const struct wrong_open *wrong = &cases[i];
            const struct esk_kv_config keys = {
                .keys = wrong->keys != 0 ? wrong->keys : KEYS_MAX};
            ESK_CONTEXT("new %d, case %u", is_new, (unsigned)i);
            kv = (void *)value;
            MISUSE(esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device,
                                    wrong->flags, &wrong->bare, &keys,
                                    (uint8_t *)misuse_arena + wrong->shift,
                                    wrong->arena_bytes != 0
                                        ? wrong->arena_bytes
                                        : (uint32_t)sizeof misuse_arena - 64),
                   wrong->status);
            ESK_CHECK(kv == NULL);
            MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_INVALID);
        }
        MISUSE(esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device, 0,
                                &bare, &config, NULL, 4096),
               ESK_E_INVALID);
        const struct esk_kv_config none = {.keys = 0};
        MISUSE(esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device, 0,
                                &bare, &none, MISUSE_ARENA),
               ESK_E_INVALID);
        MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_INVALID);
        ESK_CHECK_INT(bare_open(0), ESK_OK);
        kv_works();
    }
}

ESK_TEST(bare_store_has_3_to_64_blocks) {
    static const uint32_t counts[] = {0, 1, 2, ESK_KV_BARE_BLOCKS_MAX + 1,
                                      MISUSE_BLOCKS};
    bare_start();
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        misuse_ram.device.geometry.block_count = counts[i];
        ESK_CONTEXT("%u blocks", counts[i]);
        MISUSE(bare_open(0), ESK_E_GEOMETRY);
        ESK_CHECK(kv == NULL);
    }
    /* Others than its own. */
    for (uint32_t blocks = 3; blocks <= ESK_KV_BARE_BLOCKS_MAX; blocks++) {
        misuse_ram.device.geometry.block_count = blocks;
        ESK_CONTEXT("%u blocks", blocks);
        MISUSE(bare_open(0),
               blocks == small.block_count ? ESK_OK : ESK_E_GEOMETRY);
    }
}

/// A byte of a page in the place of a head's first one.
ESK_TEST(bare_store_is_not_made_of_other_data) {
    misuse_start(&misuse_nor);
    misuse_ram.device.geometry.block_count = ESK_KV_BARE_BLOCKS_MAX;
    MISUSE(bare_open(0), ESK_E_FOREIGN);
    MISUSE(bare_open(ESK_MOUNT_READ_ONLY), ESK_E_FOREIGN);
    memset(misuse_chip, 0xFF, sizeof misuse_chip);
    MISUSE(bare_open(ESK_MOUNT_READ_ONLY), ESK_E_READ_ONLY);
    for (uint32_t page = 0; page < 64 * MISUSE_BLOCK_PAGES; page++) {
        uint8_t *byte = &misuse_chip[page * MISUSE_PAGE_BYTES + 16];
        ESK_CONTEXT("page %u", page);
        *byte = 0x5A;
        MISUSE(bare_open(0), ESK_E_FOREIGN);
        ESK_CHECK(kv == NULL);
        *byte = 0xFF;
    }
}

ESK_TEST(bare_store_has_an_empty_catalog_that_takes_nothing) {
    struct esk_table_info info;
    struct esk_volume_report report;
    struct esk_kv *other = NULL;
    struct esk_series *series = NULL;
    struct esk_tree *tree = NULL;
    uint16_t place = 0;
    bare_start();
    MISUSE(esk_volume_list(&misuse_volume, &place, &info), ESK_END);
    MISUSE(esk_volume_find(&misuse_volume, "kv", &info), ESK_NOT_FOUND);
    MISUSE(esk_volume_drop(&misuse_volume, "kv"), ESK_NOT_FOUND);
    MISUSE(esk_volume_check(&misuse_volume, &report), ESK_OK);
    MISUSE(esk_kv_create(&misuse_volume, &spec, NULL), ESK_E_NO_SPACE);
    MISUSE(esk_kv_open(&other, &misuse_volume, "kv", &config), ESK_NOT_FOUND);
    MISUSE(esk_kv_open_or_create(&other, &misuse_volume, &spec, &config, NULL),
           ESK_E_NO_SPACE);
    MISUSE(esk_series_create(&misuse_volume, &log_spec, NULL), ESK_E_NO_SPACE);
    MISUSE(esk_tree_create(&misuse_volume, &map_spec, NULL), ESK_E_NO_SPACE);
    MISUSE(esk_series_open(&series, &misuse_volume, "log", NULL),
           ESK_NOT_FOUND);
    MISUSE(esk_tree_open(&tree, &misuse_volume, "map", &map_config),
           ESK_NOT_FOUND);
    ESK_CHECK(other == NULL && series == NULL && tree == NULL);
    MISUSE(esk_volume_unmount(&misuse_volume), ESK_E_BUSY);
    kv_works();
    kv_verify();
    esk_kv_close(kv);
    struct esk_kv_spec any = {.name = "a"};
    MISUSE(esk_kv_create(&misuse_volume, &any, NULL), ESK_E_NO_SPACE);
    any.blocks = 3;
    MISUSE(esk_kv_create(&misuse_volume, &any, NULL), ESK_E_NO_SPACE);
    MISUSE(esk_volume_unmount(&misuse_volume), ESK_OK);
}

/// Wherever its log is in the device, from the first page on.
ESK_TEST(bare_store_is_no_volume_and_is_not_formatted) {
    bare_start();
    for (uint32_t i = 0; i < 300; i++) {
        ESK_CONTEXT("change %u", i);
        ESK_CHECK_INT(esk_kv_put(kv, "name", 4, value, 100, ESK_KV_BYTES),
                      ESK_OK);
        kv_works();
        esk_kv_close(kv);
        misuse_note();
        int status = esk_volume_mount(&misuse_volume, &misuse_ram.device, 0,
                                      MISUSE_ARENA);
        ESK_CHECK(status == ESK_E_FOREIGN || status == ESK_NOT_FOUND);
        ESK_CHECK(misuse_unchanged());
        MISUSE(esk_volume_mount_or_format(&misuse_volume, &misuse_ram.device, 0,
                                          &misuse_config, MISUSE_ARENA),
               ESK_E_FOREIGN);
        ESK_CHECK_INT(bare_open(0), ESK_OK);
    }
    kv_verify();
}

ESK_TEST(bare_opens_assert_their_pointers) {
    bare_start();
    esk_kv_close(kv);
    MISUSE_ASSERTS(esk_kv_open_bare(NULL, &misuse_volume, &misuse_ram.device, 0,
                                    &bare, &config, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_kv_open_bare(&kv, NULL, &misuse_ram.device, 0, &bare,
                                    &config, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_kv_open_bare(&kv, &misuse_volume, NULL, 0, &bare,
                                    &config, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device, 0,
                                    NULL, &config, MISUSE_ARENA));
    MISUSE_ASSERTS(esk_kv_open_bare(&kv, &misuse_volume, &misuse_ram.device, 0,
                                    &bare, NULL, MISUSE_ARENA));
}

ESK_TEST_MAIN()
