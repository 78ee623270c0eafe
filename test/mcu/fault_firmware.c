// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bad input on the chip: each gives a status that firmware can act on, and
/// what was synced is still there.
///
///     arena one byte short       ESK_E_NO_MEMORY
///     chip of another size       ESK_E_GEOMETRY
///     blank chip                 ESK_NOT_FOUND
///     no such table              ESK_NOT_FOUND
///     key not above the newest   ESK_OUT_OF_ORDER
///     driver fails once, at any call of mount, open, load, get and scan
///     driver fails for good from any of these calls on
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"

enum {
    ARENA_BYTES = 3072,
    ROWS = 200,        ///< synced before the driver fails
    ROWS_MORE = 70,    ///< appended while it fails
    ROWS_YOUNG = 1500, ///< then the table is made anew
};

struct row {
    uint32_t key;
    int32_t value;
};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// Rows accepted since the table was made: row i has key 3 i + 1.
static uint32_t accepted;
static uint32_t synced;

static uint8_t *page(void) {
    return (uint8_t *)arena;
}

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

static int mount(void) {
    ESK_TRY(esk_volume_mount(&volume, &medium_device, 0, page()));
    return esk_series_open(&series, &volume, "log", NULL, arena, sizeof arena);
}

static void leave(void) {
    esk_series_close(series);
    esk_volume_unmount(&volume);
}

static int create(void) {
    static const struct esk_column columns[2] = {
        {"key", "s", ESK_TYPE_U32, 0},
        {"value", "", ESK_TYPE_I32, 0},
    };
    static const struct esk_index_spec index = {.column = 1, .bitmap_bits = 16};
    static const struct esk_table_spec spec = {
        .name = "log",
        .columns = columns,
        .column_count = 2,
        .indexes = &index,
        .index_count = 1,
    };
    static const struct esk_volume_config format = {.uuid = {0xE5, 0xCE}};
    struct esk_fault fault;
    ESK_TRY(esk_volume_format(&medium_device, &format, page()));
    ESK_TRY(esk_volume_mount(&volume, &medium_device, 0, page()));
    return esk_volume_create(&volume, ESK_TABLE_SERIES, &spec, &fault, page());
}

/// Every row from the first on, none missing; `rows` is how many.
static int scan(uint32_t *rows) {
    struct row row;
    *rows = 0;
    ESK_TRY(esk_series_cursor_open(series, &cursor, NULL));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        struct row wanted = row_at(*rows);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        ++*rows;
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    return status == ESK_END ? ESK_OK : status;
}

/// Mounts on a driver that works: all synced rows, and a prefix of the rest.
static void verify(void) {
    uint32_t rows = 0;
    medium_clear();
    FIRMWARE_DO(mount());
    FIRMWARE_DO(scan(&rows));
    FIRMWARE_HOLDS(rows >= synced && rows <= accepted);
    leave();
    /* What was not synced may be gone: the application starts from here. */
    accepted = rows;
}

static void refuses_what_does_not_fit(void) {
    struct esk_table_info info;
    struct esk_device other = medium_device;
    firmware_group_begin("refuses");
    FIRMWARE_WANT(ESK_NOT_FOUND,
                  esk_volume_mount(&volume, &medium_device, 0, page()));
    FIRMWARE_DO(create());
    FIRMWARE_DO(esk_volume_find(&volume, "log", &info, page()));
    uint32_t bytes = esk_series_arena_bytes(&volume, &info, NULL, page());
    FIRMWARE_HOLDS(bytes > 0 && bytes <= sizeof arena);
    FIRMWARE_WANT(ESK_E_NO_MEMORY, esk_series_open(&series, &volume, "log",
                                                   NULL, arena, bytes - 1));
    FIRMWARE_WANT(ESK_NOT_FOUND,
                  esk_series_open(&series, &volume, "lag", NULL, arena, bytes));
    FIRMWARE_DO(esk_series_open(&series, &volume, "log", NULL, arena, bytes));
    leave();
    other.geometry.block_count /= 2;
    FIRMWARE_WANT(ESK_E_GEOMETRY, esk_volume_mount(&volume, &other, 0, page()));
    other.geometry.block_count *= 4;
    FIRMWARE_WANT(ESK_E_GEOMETRY, esk_volume_mount(&volume, &other, 0, page()));
    firmware_group_end(6);
}

static void refuses_keys_out_of_order(void) {
    firmware_group_begin("order");
    FIRMWARE_DO(mount());
    FIRMWARE_DO(append(ROWS));
    struct row row = row_at(accepted - 1);
    FIRMWARE_WANT(ESK_OUT_OF_ORDER, esk_series_append(series, &row));
    FIRMWARE_DO(sync_rows());
    leave();
    verify();
    firmware_group_end(1);
}

/// What an application does, while the driver fails: mounts, adds rows,
/// syncs, reads. Returns the first failure.
static int work(void) {
    struct row row;
    uint32_t rows = 0;
    ESK_TRY(mount());
    ESK_TRY(append(ROWS_MORE));
    ESK_TRY(sync_rows());
    ESK_TRY(esk_series_get(series, row_at(7).key, &row));
    return scan(&rows);
}

/// Lets call after call fail until the work gets by without meeting it, on
/// a table of any size: it grows, and is made anew.
static void survives_a_driver(const char *name, uint8_t fails_last) {
    uint32_t failed = 0;
    uint32_t runs = 0;
    uint8_t missed = 0;
    firmware_group_begin(name);
    uint32_t appended_before = accepted;
    while (missed <= ROWS_YOUNG / ROWS_MORE) {
        medium_clear();
        medium.fails_last = fails_last;
        medium.fails_at = ++runs;
        int status = work();
        bool met = medium.calls >= medium.fails_at;
        missed = met ? 0 : (uint8_t)(missed + 1);
        /* A failing program is passed over: the work then succeeds. */
        FIRMWARE_HOLDS(status <= ESK_OK);
        failed += status != ESK_OK;
        if (fails_last != 0 && met) {
            FIRMWARE_HOLDS(status != ESK_OK || synced == accepted);
        }
        esk_volume_unmount(&volume);
        verify();
        /* Keep the table young: rows from the first on must all be there. */
        if (accepted - appended_before > ROWS_YOUNG) {
            FIRMWARE_DO(create());
            esk_volume_unmount(&volume);
            accepted = 0;
            synced = 0;
            appended_before = 0;
        }
    }
    FIRMWARE_HOLDS(runs > 50);
    FIRMWARE_HOLDS(failed > 0);
    medium_clear();
    firmware_digest(&runs, sizeof runs);
    firmware_digest(&failed, sizeof failed);
    firmware_group_end(runs);
}

int main(void) {
    refuses_what_does_not_fit();
    refuses_keys_out_of_order();
    survives_a_driver("fails_once", 0);
    survives_a_driver("fails_for_good", 1);
    esk_board_exit(0);
}
