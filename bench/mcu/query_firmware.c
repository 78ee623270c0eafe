// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Queries on a chip: each of bench/query/chips.sql by a hand-written loop, by
/// generated C and by the machine, one measured call a side, from the opening
/// to the last row. All sides must give the same rows.
///
///     input: as of series_firmware.c
///     -DQUERY_ROWS   rows to append before the queries
#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "bench/query/chip_sides.h"

enum {
    HEAD_BYTES = 16,
    ARENA_BYTES = 3584,
    FRAMES = 4,
    NAME_BYTES = 16,
    SIDES = 4,
};

static const struct {
    const char *name;
    chip_side run;
} sides[SIDES] = {
    {"hand", chip_hand},
    {"generated", chip_generated},
    {"machine", chip_machine},
    {"check", chip_check},
};

static uint64_t arena[ARENA_BYTES / sizeof(uint64_t)];
static struct esk_volume volume;
static struct esk_series *sst;

static void create(void) {
    static const struct esk_column columns[] = {
        {"time", NULL, ESK_TYPE_U32, 0, 0, NULL, 0},
        {"temp", NULL, ESK_TYPE_I32, 0, 0, NULL, 0},
        {"number", NULL, ESK_TYPE_I32, 0, 0, NULL, 0},
        {"step", NULL, ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    static const struct esk_index_spec index = {.column = SST_TEMP,
                                                .bitmap_bits = 16};
    static const struct esk_series_spec spec = {
        .table = {.name = "sst",
                  .columns = columns,
                  .column_count = sizeof columns / sizeof columns[0],
                  .row_bytes = SST_ROW_BYTES},
        .indexes = &index,
        .index_count = 1,
    };
    static const struct esk_volume_config format = {
        .uuid = {0xE5, 0xCE}, .checksum = ESK_CHECKSUM_CRC32C};
    static const struct esk_series_config config = {.key_index_bytes = 256,
                                                    .frames = FRAMES};
    FIRMWARE_DO(
        esk_volume_format(&medium_device, &format, arena, sizeof arena));
    FIRMWARE_DO(
        esk_volume_mount(&volume, &medium_device, 0, arena, sizeof arena));
    FIRMWARE_DO(esk_series_create(&volume, &spec, NULL));
    FIRMWARE_DO(sst_open(&sst, &volume, &config));
    for (uint32_t i = 0; i < QUERY_ROWS; i++) {
        struct sst row;
        FIRMWARE_DO(
            esk_board_input(HEAD_BYTES + i * SST_ROW_BYTES, &row, sizeof row));
        FIRMWARE_DO(esk_series_append(sst, &row));
    }
    FIRMWARE_DO(esk_series_sync(sst));
}

int main(void) {
    char names[CHIP_QUERIES * SIDES][NAME_BYTES];
    firmware_measure_nothing();
    create();
    for (uint8_t query = 0; query < CHIP_QUERIES; query++) {
        struct chip_answer first = {0, 0};
        for (uint8_t side = 0; side < SIDES; side++) {
            struct chip_answer answer = {0, 0};
            char *name = names[query * SIDES + side];
            int status = ESK_OK;
            strcpy(name, "q1_");
            name[1] = (char)('1' + query);
            strcat(name, sides[side].name);
            firmware_group_begin(name);
            FIRMWARE_MEASURE(status, sides[side].run(sst, query, &answer));
            FIRMWARE_DO(status);
            if (side == 0) {
                first = answer;
            }
            FIRMWARE_HOLDS(
                sides[side].run == chip_check ||
                (answer.rows == first.rows && answer.digest == first.digest));
            firmware_digest(&answer.digest, sizeof answer.digest);
            firmware_group_end(answer.rows);
        }
    }
    esk_board_exit(0);
}
