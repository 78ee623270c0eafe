// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tree table on a chip: 10,000 inserts in random order, gets, an iteration
/// and a reopen; every row is verified and added to a digest.
///
///     -DTREE_STORE        a node store: esk_store_inplace, ...
///     -DTREE_STORE_ID     the same as enum esk_tree_store
///     -DTREE_FRAMES       page frames, M of the papers
///     -DTREE_WRITE_CACHE  &esk_write_cache, or NULL
///     -DTREE_CHECKSUM     enum esk_checksum
///     -DTREE_ROWS         rows inserted; default 10,000
///
/// Row number i has a key that is a mixture of the bits of i, different for
/// each i, so rows that follow each other in time do not in the tree.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"

#ifndef TREE_ROWS
#define TREE_ROWS 10000
#endif

enum {
    ROWS = TREE_ROWS,
    GETS = 1000,
    ARENA_BYTES = TREE_FRAMES > 3 ? 4096 : 3072,
    COLUMNS = 4
};

struct row {
    uint32_t key;
    uint32_t value[3];
};

static struct esk_volume volume;
static struct esk_tree *tree;
static struct esk_tree_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static const struct esk_tree_config config = {
    .store = &TREE_STORE,
    .write_cache = TREE_WRITE_CACHE,
    .frames = TREE_FRAMES,
};

static void row_make(uint16_t number, struct row *row) {
    uint32_t mixed = number;
    mixed = (mixed ^ mixed << 16) * 0x45D9F3Bu;
    mixed = (mixed ^ mixed >> 16) * 0x45D9F3Bu;
    mixed ^= mixed >> 16;
    *row = (struct row){mixed, {number, ~mixed, mixed ^ number}};
}

static void create(void) {
    static const struct esk_column columns[COLUMNS] = {
        {"key", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"number", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v2", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v3", "", ESK_TYPE_U32, 0, 0, NULL, 0},
    };
    static const struct esk_tree_spec spec = {
        .table = {.name = "tree",
                  .columns = columns,
                  .column_count = COLUMNS,
                  .row_bytes = sizeof(struct row)},
        .store = TREE_STORE_ID};
    static const struct esk_volume_config format = {.uuid = {0xE5, 0xCE},
                                                    .checksum = TREE_CHECKSUM};
    struct esk_fault fault;
    struct esk_table_info info;
    firmware_group_begin("create");
    FIRMWARE_DO(
        esk_volume_format(&medium_device, &format, arena, sizeof arena));
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_tree_create(&volume, &spec, &fault));
    firmware_group_end(1);
    FIRMWARE_DO(esk_volume_find(&volume, "tree", &info));
    firmware_text("# ram");
    firmware_pair("arena", esk_tree_arena_bytes(&volume, &info, &config));
    firmware_pair("volume", (uint32_t)sizeof volume);
    firmware_pair("cursor", (uint32_t)sizeof cursor);
    firmware_line();
    esk_volume_unmount(&volume);
}

static void measure_open(const char *name) {
    int status;
    firmware_group_begin(name);
    FIRMWARE_MEASURE(status, esk_volume_mount(&volume, &medium_device, 0, arena,
                                              sizeof arena));
    FIRMWARE_DO(status);
    FIRMWARE_MEASURE(status, esk_tree_open(&tree, &volume, "tree", &config));
    FIRMWARE_DO(status);
    firmware_group_end(1);
}

static void measure_insert(void) {
    struct row row;
    int status;
    firmware_group_begin("insert");
    for (uint16_t i = 0; i < ROWS; i++) {
        row_make(i, &row);
        FIRMWARE_MEASURE(status, esk_tree_insert(tree, &row));
        FIRMWARE_DO(status);
    }
    FIRMWARE_MEASURE(status, esk_tree_sync(tree));
    FIRMWARE_DO(status);
    firmware_group_end(ROWS);
}

static void measure_get(const char *name) {
    struct row wanted;
    struct row row;
    int status;
    firmware_group_begin(name);
    for (uint16_t i = 0; i < GETS; i++) {
        row_make((uint16_t)firmware_random(ROWS), &wanted);
        FIRMWARE_MEASURE(status, esk_tree_get(tree, &wanted.key, &row));
        FIRMWARE_DO(status);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        firmware_digest(&row, sizeof row);
    }
    firmware_group_end(GETS);
}

static void measure_iteration(void) {
    struct row wanted;
    struct row row;
    uint16_t rows = 0;
    uint32_t last = 0;
    int status;
    firmware_group_begin("iteration");
    FIRMWARE_MEASURE(status, esk_tree_cursor_open(tree, &cursor, NULL));
    FIRMWARE_DO(status);
    for (;;) {
        FIRMWARE_MEASURE(status, esk_tree_cursor_next(tree, &cursor, &row));
        if (status != ESK_OK) {
            break;
        }
        FIRMWARE_HOLDS(rows == 0 || row.key > last);
        row_make((uint16_t)row.value[0], &wanted);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        firmware_digest(&row, sizeof row);
        last = row.key;
        rows++;
    }
    FIRMWARE_WANT(ESK_END, status);
    FIRMWARE_HOLDS(rows == ROWS);
    firmware_group_end(rows);
}

static void leave(void) {
    FIRMWARE_DO(esk_tree_sync(tree));
    esk_tree_close(tree);
    esk_volume_unmount(&volume);
}

int main(void) {
    firmware_measure_nothing();
    create();
    measure_open("open");
    measure_insert();
    measure_get("get");
    measure_iteration();
    leave();
    measure_open("reopen");
    measure_get("get_reopened");
    leave();
    firmware_measure_medium((uint8_t *)arena);
    esk_board_exit(0);
}
