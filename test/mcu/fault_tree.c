// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree under a failing driver.
///
///     -DTREE_STORE      a node store: esk_store_mu, ...
///     -DTREE_STORE_ID   the same as enum esk_tree_store
///
/// The model has two versions of a key: the last acknowledged one and the last
/// tried one, 0 for no row. Either may be there, because a failed write in
/// place may have taken effect; from then on the version found is the only one.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "esker/esker.h"
#include "test/mcu/fault.h"

enum { KEYS = 250, CHANGES = 12, ROWS_REFUSED = 40 };

struct row {
    uint32_t key;
    uint32_t value[3];
};

static const struct esk_tree_config config = {.store = &TREE_STORE};
static struct esk_tree *tree;
static struct esk_tree_cursor cursor;
static uint8_t certain[KEYS];
static uint8_t tried[KEYS];

/// Keys are spread, and in the order of their numbers.
static struct row row_at(uint8_t number, uint8_t version) {
    uint32_t key = number * 0x01020304u;
    return (struct row){key, {number, version, key ^ version}};
}

static int row_put(uint8_t number, uint8_t version) {
    struct row row = row_at(number, version);
    tried[number] = version;
    ESK_TRY(esk_tree_put(tree, &row));
    certain[number] = version;
    return ESK_OK;
}

static int row_delete(uint8_t number) {
    struct row row = row_at(number, 0);
    tried[number] = 0;
    ESK_TRY(esk_tree_delete(tree, &row.key));
    certain[number] = 0;
    return ESK_OK;
}

/// Whether `row` is one of the possible rows, and its key's number.
static uint8_t row_number(const struct row *row) {
    uint8_t number = (uint8_t)row->value[0];
    uint8_t version = (uint8_t)row->value[1];
    struct row wanted = row_at(number, version);
    FIRMWARE_HOLDS(number < KEYS && version != 0);
    FIRMWARE_HOLDS(memcmp(row, &wanted, sizeof wanted) == 0);
    FIRMWARE_HOLDS(version == certain[number] || version == tried[number]);
    return number;
}

/// Checks that numbers from `from` to before `to` may have no row.
static void absent(uint8_t from, uint8_t to, bool adopt) {
    for (; from < to; from++) {
        FIRMWARE_HOLDS(certain[from] == 0 || tried[from] == 0);
        if (adopt) {
            certain[from] = tried[from] = 0;
        }
    }
}

/// Every row, in order. With `adopt` the model continues from the rows found.
static int scan(bool adopt) {
    struct row row;
    uint8_t next = 0;
    ESK_TRY(esk_tree_cursor_open(tree, &cursor, NULL));
    int status = esk_tree_cursor_next(tree, &cursor, &row);
    while (status == ESK_OK) {
        uint8_t number = row_number(&row);
        FIRMWARE_HOLDS(number >= next);
        absent(next, number, adopt);
        if (adopt) {
            certain[number] = tried[number] = (uint8_t)row.value[1];
        }
        next = (uint8_t)(number + 1);
        status = esk_tree_cursor_next(tree, &cursor, &row);
    }
    if (status != ESK_END) {
        return status;
    }
    absent(next, KEYS, adopt);
    return ESK_OK;
}

int fault_create(void) {
    static const struct esk_column columns[4] = {
        {"key", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"number", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"version", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"both", "", ESK_TYPE_U32, 0, 0, NULL, 0},
    };
    static const struct esk_tree_spec spec = {.table = {.name = "log",
                                                        .columns = columns,
                                                        .column_count = 4,
                                                        .row_bytes = 16},
                                              .store = TREE_STORE_ID};
    struct esk_fault fault;
    memset(certain, 0, sizeof certain);
    memset(tried, 0, sizeof tried);
    return esk_tree_create(&fault_volume, &spec, &fault);
}

uint32_t fault_arena_needed(const struct esk_table_info *info) {
    return esk_tree_arena_bytes(&fault_volume, info, &config);
}

int fault_open(const char *name, uint32_t arena_bytes) {
    ESK_TRY(esk_volume_arena_set(&fault_volume, fault_arena, arena_bytes));
    return esk_tree_open(&tree, &fault_volume, name, &config);
}

void fault_close(void) {
    esk_tree_close(tree);
}

int fault_work(void) {
    struct row row;
    for (uint8_t i = 0; i < CHANGES; i++) {
        uint8_t number = (uint8_t)firmware_random(KEYS);
        if (certain[number] != 0 && i % 3 == 0) {
            ESK_TRY(row_delete(number));
        } else {
            uint8_t version = (uint8_t)(certain[number] % 250 + 1);
            ESK_TRY(row_put(number, version));
            row = row_at(number, 0);
            ESK_TRY(esk_tree_get(tree, &row.key, &row));
            FIRMWARE_HOLDS(row_number(&row) == number);
        }
    }
    ESK_TRY(esk_tree_sync(tree));
    return scan(false);
}

void fault_verify(void) {
    struct esk_tree_report report;
    FIRMWARE_DO(esk_tree_check(tree, &report));
    FIRMWARE_DO(scan(true));
}

void fault_refuses(void) {
    for (uint8_t i = 0; i < ROWS_REFUSED; i++) {
        FIRMWARE_DO(row_put(i, 1));
    }
    struct row row = row_at(1, 2);
    FIRMWARE_WANT(ESK_EXISTS, esk_tree_insert(tree, &row));
    row = row_at(ROWS_REFUSED, 1);
    FIRMWARE_WANT(ESK_NOT_FOUND, esk_tree_update(tree, &row));
    FIRMWARE_WANT(ESK_NOT_FOUND, esk_tree_delete(tree, &row.key));
    FIRMWARE_WANT(ESK_NOT_FOUND, esk_tree_get(tree, &row.key, &row));
    FIRMWARE_WANT(ESK_E_INVALID, esk_tree_commit(tree));
    FIRMWARE_DO(esk_tree_sync(tree));
}

bool fault_is_old(void) {
    return false;
}
