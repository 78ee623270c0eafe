// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series under a failing driver. Row i has key 3 i + 1, so the model is
/// two numbers: rows accepted, and of these synced.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "esker/esker.h"
#include "test/mcu/fault.h"

enum {
    ROWS_WORK = 70,   ///< appended by one work
    ROWS_YOUNG = 400, ///< then the table is made again
};

struct row {
    uint32_t key;
    int32_t value;
};

static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint32_t accepted;
static uint32_t synced;

static struct row row_at(uint32_t index) {
    return (struct row){.key = 3 * index + 1,
                        .value = (int32_t)(index * 2654435761u)};
}

static int append(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct row row = row_at(accepted);
        ESK_TRY(esk_series_append(series, &row));
        accepted++;
    }
    return ESK_OK;
}

static int sync_rows(void) {
    ESK_TRY(esk_series_sync(series));
    synced = accepted;
    return ESK_OK;
}

/// Every row from the first on; `rows` is one more than the last one's index.
/// None is missing unless the cursor reports it: then ESK_E_CORRUPT.
static int scan(uint32_t *rows) {
    struct row row;
    bool whole = true;
    *rows = 0;
    ESK_TRY(esk_series_cursor_open(series, &cursor, NULL));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        uint32_t index = (row.key - 1) / 3;
        struct row wanted = row_at(index);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        if (index != *rows) {
            FIRMWARE_HOLDS(index > *rows);
            FIRMWARE_HOLDS(esk_series_cursor_damaged(&cursor) != 0);
            whole = false;
        }
        *rows = index + 1;
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    if (status != ESK_END) {
        return status;
    }
    return whole ? ESK_OK : ESK_E_CORRUPT;
}

int fault_create(void) {
    static const struct esk_column columns[2] = {
        {"key", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"value", "", ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    static const struct esk_index_spec index = {.column = 1, .bitmap_bits = 16};
    static const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 8},
        .indexes = &index,
        .index_count = 1,
    };
    struct esk_fault fault;
    accepted = 0;
    synced = 0;
    return esk_series_create(&fault_volume, &spec, &fault);
}

uint32_t fault_arena_needed(const struct esk_table_info *info) {
    return esk_series_arena_bytes(&fault_volume, info, NULL);
}

int fault_open(const char *name, uint32_t arena_bytes) {
    ESK_TRY(esk_volume_arena_set(&fault_volume, fault_arena, arena_bytes));
    return esk_series_open(&series, &fault_volume, name, NULL);
}

void fault_close(void) {
    esk_series_close(series);
}

int fault_work(void) {
    struct row row;
    uint32_t rows = 0;
    ESK_TRY(append(ROWS_WORK));
    ESK_TRY(sync_rows());
    ESK_TRY(esk_series_get(series, row_at(7).key, &row));
    return scan(&rows);
}

/// All synced rows, and a prefix of the rest. Unsynced rows may be lost: the
/// application starts from here.
void fault_verify(void) {
    uint32_t rows = 0;
    FIRMWARE_DO(scan(&rows));
    FIRMWARE_HOLDS(rows >= synced && rows <= accepted);
    accepted = rows;
}

void fault_refuses(void) {
    FIRMWARE_DO(append(ROWS_WORK));
    struct row row = row_at(accepted - 1);
    FIRMWARE_WANT(ESK_OUT_OF_ORDER, esk_series_append(series, &row));
    FIRMWARE_DO(sync_rows());
}

bool fault_is_old(void) {
    return accepted > ROWS_YOUNG;
}
