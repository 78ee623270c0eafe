// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Every call refuses a closed handle, the handle of a failed open, and a
/// volume that is not mounted, and does not change the medium.
#include <stdlib.h>

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"

enum { PAGE_BYTES = 256, BLOCK_PAGES = 8, BLOCKS = 96, ROW_BYTES = 16 };

static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                             .block_pages = BLOCK_PAGES,
                                             .page_bytes = PAGE_BYTES,
                                             .program_bytes = 1,
                                             .erased_value = 0xFF};
static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 2},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_series_spec series_spec = {
    .table = {.name = "log",
              .columns = columns,
              .column_count = 4,
              .row_bytes = 10 + ESK_VAR_REF_BYTES},
    .data_blocks = 12,
    .index_blocks = 6,
    .var_blocks = 6};
static const struct esk_tree_spec tree_spec = {.table = {.name = "map",
                                                         .columns = columns,
                                                         .column_count = 3,
                                                         .row_bytes = 10},
                                               .store = ESK_STORE_WANDERING,
                                               .blocks = 20};
static const struct esk_tree_config tree_config = {.store =
                                                       &esk_store_wandering};
static const struct esk_kv_spec kv_spec = {.name = "set", .blocks = 6};
static const struct esk_kv_config kv_config = {.keys = 20};
static const struct esk_volume_config volume_config = {.tables_max = 3};

static uint8_t chip[BLOCKS * BLOCK_PAGES * PAGE_BYTES];
static uint8_t before[sizeof chip];
static uint64_t arena[2048];
static struct esk_ram_device ram;
static struct esk_volume volume;
static struct esk_series *series;
static struct esk_tree *tree;
static struct esk_tree *reader;
static struct esk_kv *kv;
static struct esk_series_cursor cursor;
static struct esk_tree_cursor tree_cursor;
static struct esk_tree_walk walk;
static uint8_t row[64];

static void start(void) {
    memset(chip, 0xFF, sizeof chip);
    memset(row, 0, sizeof row);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, chip, sizeof chip),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount_or_format(&volume, &ram.device, 0,
                                             &volume_config, arena,
                                             sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                            &volume, &series_spec, NULL, NULL),
                  ESK_OK);
    ESK_CHECK_INT(
        esk_tree_open_or_create(&tree, &volume, &tree_spec, &tree_config, NULL),
        ESK_OK);
    ESK_CHECK_INT(
        esk_kv_open_or_create(&kv, &volume, &kv_spec, &kv_config, NULL),
        ESK_OK);
    /* In RAM only. */
    ESK_CHECK_INT(esk_kv_put_u32(kv, "key", 5), ESK_OK);
    for (uint8_t i = 1; i < 40; i++) {
        row[0] = i;
        ESK_CHECK_INT(esk_series_append_var(series, row, "note", 4), ESK_OK);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_cursor_open(series, &cursor, NULL), ESK_OK);
    ESK_CHECK_INT(esk_tree_cursor_open(tree, &tree_cursor, NULL), ESK_OK);
    /* Both are on a row, with more rows after it on the same page. */
    ESK_CHECK_INT(esk_series_cursor_next(series, &cursor, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_cursor_next(tree, &tree_cursor, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
    ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, NULL), ESK_OK);
    /* The next row would complete the page that is in RAM only. */
    row[0] = 41;
}

static uint8_t is_zero(const void *bytes, size_t count) {
    const uint8_t *at = bytes;
    uint8_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all |= at[i];
    }
    return all == 0;
}

/// Every call of a series, on a handle that is refused.
static void series_refused(struct esk_series *stale) {
    struct esk_series_value value;
    struct esk_series_report report;
    struct esk_series_stats stats;
    struct esk_space space;
    uint32_t number = 0;
    esk_key key = 0;
    ESK_CHECK_INT(esk_series_append(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_append_var(stale, row, "x", 1), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_append_many(stale, row, 1, &number),
                  ESK_E_INVALID);
    ESK_CHECK_INT(number, 0);
    ESK_CHECK_INT(esk_series_sync(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_get(stale, 1, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_floor(stale, 1, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_ceiling(stale, 1, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_newest(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_oldest(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_newest_key(stale, &key), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_count(stale, &number), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_cursor_next(stale, &cursor, row), ESK_E_INVALID);
    struct esk_series_cursor other;
    ESK_CHECK_INT(esk_series_cursor_open(stale, &other, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_value_open(stale, row, &value), ESK_E_INVALID);
    memset(&value, 0, sizeof value);
    value.left = 1;
    ESK_CHECK_INT(esk_series_value_read(stale, &value, row, 1, &number),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_erase_before(stale, 9), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_erase_after(stale, 9), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_check(stale, &report), ESK_E_INVALID);
    ESK_CHECK(is_zero(&report, sizeof report));
    memset(&stats, 0xA5, sizeof stats);
    esk_series_stats(stale, &stats);
    ESK_CHECK(is_zero(&stats, sizeof stats));
    memset(&space, 0xA5, sizeof space);
    esk_series_space(stale, ESK_REGION_DATA, &space);
    ESK_CHECK(is_zero(&space, sizeof space));
    ESK_CHECK_INT(esk_series_row_bytes(stale), 0);
    esk_series_close(stale);
}

/// Every call of a tree, and of a reader, on a handle that is refused.
static void tree_refused(struct esk_tree *stale) {
    struct esk_tree *other = NULL;
    struct esk_tree_cursor opened;
    struct esk_tree_walk walked;
    struct esk_tree_report report;
    struct esk_tree_stats stats;
    struct esk_tree_node node;
    struct esk_space space;
    uint32_t number = 0;
    ESK_CHECK_INT(esk_tree_put(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_insert(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_update(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_put_many(stale, row, 1, &number), ESK_E_INVALID);
    ESK_CHECK_INT(number, 0);
    ESK_CHECK_INT(esk_tree_delete(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_get(stale, row, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_floor(stale, row, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_ceiling(stale, row, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_first(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_last(stale, row), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_count(stale, &number), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_cursor_open(stale, &opened, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_cursor_next(stale, &tree_cursor, row),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_begin(stale, 2), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_commit(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_abort(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_sync(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_check(stale, &report), ESK_E_INVALID);
    ESK_CHECK(is_zero(&report, sizeof report));
    ESK_CHECK_INT(esk_tree_walk_open(stale, &walked), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_walk_next(stale, &walk, &node), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_reader_arena_bytes(stale, NULL), 0);
    ESK_CHECK_INT(esk_tree_reader_open(&other, stale, NULL), ESK_E_INVALID);
    ESK_CHECK(other == NULL);
    ESK_CHECK_INT(esk_tree_reader_renew(stale), ESK_E_INVALID);
    memset(&stats, 0xA5, sizeof stats);
    esk_tree_stats(stale, &stats);
    ESK_CHECK(is_zero(&stats, sizeof stats));
    memset(&space, 0xA5, sizeof space);
    esk_tree_space(stale, &space);
    ESK_CHECK(is_zero(&space, sizeof space));
    ESK_CHECK_INT(esk_tree_row_bytes(stale), 0);
    esk_tree_close(stale);
}

/// Every call of a kv table, on a handle that is refused.
static void kv_refused(struct esk_kv *stale) {
    struct esk_kv_report report;
    struct esk_kv_stats stats;
    struct esk_kv_copy copy;
    struct esk_kv_cursor kv_cursor;
    struct esk_space space;
    uint8_t key[ESK_KV_KEY_BYTES_MAX];
    uint8_t key_bytes = 0;
    uint32_t number = 7;
    int32_t integer = 7;
    bool on = true;
    char text[8] = "7";
    ESK_CHECK_INT(esk_kv_get(stale, "key", 3, row, 9, &number, &key_bytes),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put(stale, "key", 3, row, 9, ESK_KV_BYTES),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_delete(stale, "key", 3), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_sync(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get_u32(stale, "key", &number), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put_u32(stale, "key", 1), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_add_u32(stale, "key", 1, &number), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get_i32(stale, "key", &integer), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put_i32(stale, "key", 1), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get_bool(stale, "key", &on), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put_bool(stale, "key", true), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get_text(stale, "key", text, 8), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put_text(stale, "key", "a"), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_get_f32_bits(stale, "key", &number), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_put_f32_bits(stale, "key", &number), ESK_E_INVALID);
    ESK_CHECK(number == 7 && integer == 7 && on && text[0] == '7');
    number = 0;
    ESK_CHECK_INT(esk_kv_next(stale, &number, key, &key_bytes), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_exists(stale, "key", 3), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_cursor_open(stale, &kv_cursor, NULL, row, sizeof row),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_cursor_next(stale, &kv_cursor, key, &key_bytes),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_copy_open(&copy, stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_copy_step(&copy, stale, stale, NULL, 0, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_check(stale, &report), ESK_E_INVALID);
    ESK_CHECK(is_zero(&report, sizeof report));
    memset(&stats, 0xA5, sizeof stats);
    esk_kv_stats(stale, &stats);
    ESK_CHECK(is_zero(&stats, sizeof stats));
    ESK_CHECK_INT(esk_kv_space(stale, &space), ESK_E_INVALID);
    esk_kv_close(stale);
}

/// Every call with a volume.
static void volume_refused(struct esk_volume *stale) {
    struct esk_table_info info;
    struct esk_column_info column;
    struct esk_index_spec index;
    struct esk_volume_report report;
    struct esk_series *of_series = NULL;
    struct esk_tree *of_tree = NULL;
    struct esk_kv *of_kv = NULL;
    uint16_t place = 0;
    uint8_t edges[64];
    memset(&info, 0, sizeof info);
    ESK_CHECK_INT(esk_volume_list(stale, &place, &info), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_find(stale, "log", &info), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_column(stale, &info, 0, &column), ESK_E_INVALID);
    ESK_CHECK_INT(
        esk_volume_index(stale, &info, 0, &index, edges, sizeof edges),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_check(stale, &report), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_drop(stale, "log"), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_step(stale, 9, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_arena_set(stale, arena, sizeof arena),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_unmount(stale), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_create(stale, &series_spec, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_create(stale, &tree_spec, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_open(&of_series, stale, "log", NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_open_or_create(&of_series, &esk_series_parts_all,
                                            stale, &series_spec, NULL, NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_add_columns(stale, &esk_series_parts_all,
                                         &series_spec.table, NULL, NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_open(&of_tree, stale, "map", &tree_config),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_open_or_create(&of_tree, stale, &tree_spec,
                                          &tree_config, NULL),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_create(stale, &kv_spec, NULL), ESK_E_INVALID);
    ESK_CHECK_INT(esk_kv_open(&of_kv, stale, "set", &kv_config), ESK_E_INVALID);
    ESK_CHECK_INT(
        esk_kv_open_or_create(&of_kv, stale, &kv_spec, &kv_config, NULL),
        ESK_E_INVALID);
    ESK_CHECK(of_series == NULL && of_tree == NULL && of_kv == NULL);
}

ESK_TEST(series_that_was_closed_is_refused) {
    start();
    memcpy(before, chip, sizeof chip);
    esk_series_close(series);
    series_refused(series);
    series_refused(NULL);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
}

ESK_TEST(tree_and_reader_that_were_closed_are_refused) {
    start();
    memcpy(before, chip, sizeof chip);
    esk_tree_close(reader);
    tree_refused(reader);
    esk_tree_close(tree);
    tree_refused(tree);
    tree_refused(NULL);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
    /* The other table is open. */
    ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
}

/// A close makes durable what was accepted.
ESK_TEST(kv_that_was_closed_is_refused) {
    start();
    memcpy(before, chip, sizeof chip);
    kv_refused(NULL);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
    esk_kv_close(kv);
    ESK_CHECK(memcmp(before, chip, sizeof chip) != 0);
    memcpy(before, chip, sizeof chip);
    kv_refused(kv);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
    /* The other table is open. */
    ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
}

ESK_TEST(kv_of_a_bare_store_that_was_closed_is_refused) {
    static const struct esk_kv_bare bare = {.id = 1};
    struct esk_geometry few = geometry;
    few.block_count = 4;
    memset(chip, 0xFF, sizeof chip);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &few, chip, sizeof chip), ESK_OK);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, &ram.device, 0, &bare,
                                   &kv_config, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_put_u32(kv, "key", 5), ESK_OK);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_BUSY);
    esk_kv_close(kv);
    memcpy(before, chip, sizeof chip);
    kv_refused(kv);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
    volume_refused(&volume);
    kv_refused(kv);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
    few.block_count = 5;
    ESK_CHECK_INT(esk_ram_device_init(&ram, &few, chip, sizeof chip), ESK_OK);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &volume, &ram.device, 0, &bare,
                                   &kv_config, arena, sizeof arena),
                  ESK_E_GEOMETRY);
    ESK_CHECK(kv == NULL);
    volume_refused(&volume);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
}

ESK_TEST(open_that_fails_leaves_no_handle) {
    start();
    struct esk_series *again = series;
    struct esk_tree *tree_again = tree;
    ESK_CHECK_INT(esk_series_open(&again, &volume, "log", NULL), ESK_E_BUSY);
    ESK_CHECK(again == NULL);
    ESK_CHECK_INT(esk_tree_open(&tree_again, &volume, "map", &tree_config),
                  ESK_E_BUSY);
    ESK_CHECK(tree_again == NULL);
    struct esk_kv *kv_again = kv;
    ESK_CHECK_INT(esk_kv_open(&kv_again, &volume, "set", &kv_config),
                  ESK_E_BUSY);
    ESK_CHECK(kv_again == NULL);
}

ESK_TEST(volume_that_was_unmounted_is_refused) {
    start();
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_BUSY);
    esk_tree_close(reader);
    esk_tree_close(tree);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_BUSY);
    esk_kv_close(kv);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_E_BUSY);
    esk_series_close(series);
    ESK_CHECK_INT(esk_volume_unmount(&volume), ESK_OK);
    memcpy(before, chip, sizeof chip);
    volume_refused(&volume);
    series_refused(series);
    tree_refused(tree);
    kv_refused(kv);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
}

ESK_TEST(volume_whose_mount_failed_is_refused) {
    start();
    memset(chip, 0x55, sizeof chip);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, &ram.device, 0, arena, sizeof arena),
        ESK_E_FOREIGN);
    memcpy(before, chip, sizeof chip);
    volume_refused(&volume);
    ESK_CHECK(memcmp(before, chip, sizeof chip) == 0);
}

ESK_TEST_MAIN()
