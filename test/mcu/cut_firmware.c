// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A logger whose supply is cut at any cycle: from its first instruction on, in
/// mount, append, sync, and while the chip programs or erases.
///
/// These numbers survive a cut, on the host:
///
///     slot 0   the volume is made
///     slot 1   rows that a sync acknowledged
///     slot 2   rows that an append was begun for
///     slot 255 the number of this cut; 0: this run is the last
///
/// After each cut every synced row is there unless the ring dropped it for
/// room, then only rows that had been begun, in order, and no row is wrong. The
/// ring is small, so it wraps several times.
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"

enum {
    SLOT_READY = 0,
    SLOT_SYNCED = 1,
    SLOT_BEGUN = 2,
    SLOT_CUT = 255,
    ARENA_BYTES = 3072,
    DATA_BLOCKS = 6,
    INDEX_BLOCKS = 4,
    SYNC_ROWS = 7,
    LAST_ROWS = 500,
    PAGE_ROWS = 31,
    BLOCK_ROWS = 8 * PAGE_ROWS,
};

struct row {
    uint32_t key;
    uint32_t value[3];
};

static struct esk_volume volume;
static struct esk_series *series;
static struct esk_series_cursor cursor;
static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];

/// The only possible row of its key.
static void row_make(uint32_t key, struct row *row) {
    *row = (struct row){.key = key,
                        .value = {key * 2654435761u, ~key, key ^ 0x5A5A5A5Au}};
}

static void create(void) {
    static const struct esk_column columns[4] = {
        {"key", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v1", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v2", "", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"v3", "", ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    static const struct esk_index_spec index = {.column = 1, .bitmap_bits = 16};
    static const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 4,
                  .row_bytes = 16},
        .indexes = &index,
        .index_count = 1,
        .data_blocks = DATA_BLOCKS,
        .index_blocks = INDEX_BLOCKS,
    };
    static const struct esk_volume_config format = {.uuid = {0xE5, 0xCE}};
    struct esk_fault fault;
    FIRMWARE_DO(
        esk_volume_format(&medium_device, &format, arena, sizeof arena));
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_series_create(&volume, &spec, &fault));
    esk_volume_unmount(&volume);
    esk_board_note(SLOT_READY, 1);
}

/// Rows have rising keys without a gap, except in the oldest block of a full
/// region: after an interrupted erase one of its pages may be readable and the
/// next one not. Returns the newest key; 0 when there is none.
/// oldest   out: of the rows without a gap.
static uint32_t verify(uint32_t *oldest) {
    struct esk_space space;
    struct row row;
    struct row wanted;
    uint32_t first = 0;
    uint32_t key = 0;
    *oldest = 0;
    esk_series_space(series, ESK_REGION_DATA, &space);
    FIRMWARE_DO(esk_series_cursor_open(series, &cursor, NULL));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        if (key == 0) {
            first = row.key;
        }
        bool is_erasing = space.pages_free == 0 && row.key > key &&
                          row.key - first <= BLOCK_ROWS;
        if (key == 0 || (row.key != key + 1 && is_erasing)) {
            *oldest = row.key;
            key = row.key - 1;
        }
        row_make(++key, &wanted);
        FIRMWARE_HOLDS(memcmp(&row, &wanted, sizeof row) == 0);
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    FIRMWARE_WANT(ESK_END, status);
    return key;
}

static void log_rows(uint32_t key, uint32_t rows) {
    struct row row;
    for (uint32_t i = 0; i < rows; i++) {
        row_make(++key, &row);
        esk_board_note(SLOT_BEGUN, key);
        FIRMWARE_DO(esk_series_append(series, &row));
        if (key % SYNC_ROWS == 0) {
            FIRMWARE_DO(esk_series_sync(series));
            esk_board_note(SLOT_SYNCED, key);
        }
    }
}

int main(void) {
    uint32_t oldest;
    firmware_group_begin("cut");
    if (esk_board_noted(SLOT_READY) == 0) {
        create();
    }
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_series_open(&series, &volume, "log", NULL));
    uint32_t newest = verify(&oldest);
    FIRMWARE_HOLDS(newest >= esk_board_noted(SLOT_SYNCED));
    FIRMWARE_HOLDS(newest <= esk_board_noted(SLOT_BEGUN));
    bool last = esk_board_noted(SLOT_CUT) == 0;
    log_rows(newest, last ? LAST_ROWS : UINT32_MAX);
    newest = verify(&oldest);
    FIRMWARE_HOLDS(newest == esk_board_noted(SLOT_BEGUN));
    firmware_text("= rows");
    firmware_pair("newest", newest);
    firmware_pair("oldest", oldest);
    firmware_line();
    FIRMWARE_HOLDS(oldest <= 1 || newest - oldest > BLOCK_ROWS);
    esk_board_exit(0);
}
