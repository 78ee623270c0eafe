// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree whose supply is cut at any cycle: from its first instruction on, in
/// mount, puts and deletes, and while the chip programs or erases.
///
///     -DTREE_STORE      a node store: esk_store_mu, ...
///     -DTREE_STORE_ID   the same as enum esk_tree_store
///
/// These numbers survive a cut, on the host:
///
///     slot 0        the volume is made
///     slot 1 + i    key i: its last synced version, and, shifted by 16, the
///                   last tried one; 0 is no row
///     slot 255      the number of this cut; 0: this run is the last
///
/// After each cut every key has one of its two versions, no other key is there,
/// and the tree's invariants hold. The region is small, so copy-on-write stores
/// collect all the time.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"

enum {
    SLOT_READY = 0,
    SLOT_KEYS = 1,
    SLOT_CUT = 255,
    KEYS = 200,
    ARENA_BYTES = 3072,
    BLOCKS = 10,
    CHANGES_LAST = 300,
};

struct row {
    uint32_t key;
    uint32_t value[3];
};

static const struct esk_tree_config config = {.store = &TREE_STORE};
static struct esk_volume volume;
static struct esk_tree *tree;
static struct esk_tree_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

static struct row row_at(uint8_t number, uint16_t version) {
    uint32_t key = number * 0x01010101u;
    return (struct row){key, {number, version, key ^ version}};
}

static uint16_t synced(uint8_t number) {
    return (uint16_t)esk_board_noted((uint8_t)(SLOT_KEYS + number));
}

static uint16_t tried(uint8_t number) {
    return (uint16_t)(esk_board_noted((uint8_t)(SLOT_KEYS + number)) >> 16);
}

static void tell(uint8_t number, uint16_t is_synced, uint16_t is_tried) {
    esk_board_note((uint8_t)(SLOT_KEYS + number),
                   is_synced | (uint32_t)is_tried << 16);
}

static void create(void) {
    static const struct esk_column columns[4] = {
        {"key", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"number", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"version", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"both", "", ESK_TYPE_U32, 0, 0, NULL, 0},
    };
    static const struct esk_tree_spec spec = {.table = {.name = "tree",
                                                        .columns = columns,
                                                        .column_count = 4,
                                                        .row_bytes = 16},
                                              .store = TREE_STORE_ID,
                                              .blocks = BLOCKS};
    static const struct esk_volume_config format = {.uuid = {0xE5, 0xCE}};
    struct esk_fault fault;
    FIRMWARE_DO(
        esk_volume_format(&medium_device, &format, arena, sizeof arena));
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_tree_create(&volume, &spec, &fault));
    esk_volume_unmount(&volume);
    esk_board_note(SLOT_READY, 1);
}

/// Sets the version found for a key, 0 for none: one of the two.
static void found(uint8_t number, uint16_t version) {
    FIRMWARE_HOLDS(version == synced(number) || version == tried(number));
    tell(number, version, version);
}

/// Returns how many rows there are.
static uint16_t verify(void) {
    struct esk_tree_report report;
    struct row row;
    uint8_t next = 0;
    uint16_t rows = 0;
    FIRMWARE_DO(esk_tree_check(tree, &report));
    FIRMWARE_DO(esk_tree_cursor_open(tree, &cursor, NULL));
    int status = esk_tree_cursor_next(tree, &cursor, &row);
    for (; status == ESK_OK; rows++) {
        uint8_t number = (uint8_t)row.value[0];
        struct row wanted = row_at(number, (uint16_t)row.value[1]);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        FIRMWARE_HOLDS(number >= next && number < KEYS && row.value[1] != 0);
        while (next < number) {
            found(next++, 0);
        }
        found(next++, (uint16_t)row.value[1]);
        status = esk_tree_cursor_next(tree, &cursor, &row);
    }
    FIRMWARE_WANT(ESK_END, status);
    while (next < KEYS) {
        found(next++, 0);
    }
    FIRMWARE_HOLDS(report.rows == rows);
    return rows;
}

/// Puts a key's next version, or now and then deletes it.
static void change(uint8_t number) {
    uint16_t now = synced(number);
    bool goes = now != 0 && now % 4 == 0;
    uint16_t next = goes ? 0 : (uint16_t)(now + 1u);
    struct row row = row_at(number, next);
    tell(number, now, next);
    if (goes) {
        FIRMWARE_DO(esk_tree_delete(tree, &row.key));
    } else {
        FIRMWARE_DO(esk_tree_put(tree, &row));
    }
    FIRMWARE_DO(esk_tree_sync(tree));
    tell(number, next, next);
}

int main(void) {
    firmware_group_begin("tree_cut");
    if (esk_board_noted(SLOT_READY) == 0) {
        create();
    }
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_tree_open(&tree, &volume, "tree", &config));
    verify();
    uint32_t cut = esk_board_noted(SLOT_CUT);
    uint16_t at = (uint16_t)(cut * 37u % KEYS);
    for (uint16_t i = 0; cut != 0 || i < CHANGES_LAST; i++) {
        change((uint8_t)at);
        at = (uint16_t)((at + 1u + firmware_random(60)) % KEYS);
    }
    uint16_t rows = verify();
    FIRMWARE_HOLDS(rows > KEYS / 4);
    firmware_text("= rows");
    firmware_pair("found", rows);
    firmware_line();
    esk_board_exit(0);
}
