// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// examples/logger on a chip whose supply is cut at any cycle: in mount,
/// append, sync and erase. The board is the storage of port/board.h; this
/// program reads the logger's answers number by number.
///
/// Numbers that survive a cut, on the host:
///
///     slot 0     the logger has started once
///     slot 1     time of the newest row that a sync acknowledged, plus 1
///     slot 255   the number of this cut; 0: this run is the last
///
/// The clock starts at 0 after each cut and the logger continues from its
/// newest row, so times have no gap: rows are f(time), and `range` must return
/// every row from the first requested one to the newest.
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"
#include "examples/logger/board.h"
#include "examples/logger/logger.h"

enum {
    SLOT_READY = 0,
    SLOT_SYNCED = 1,
    SLOT_CUT = 255,
    ROW_FIELDS = 5,
    TURNS_LAST = 200,
    RECENT_ROWS = 60, ///< read after each cut; the last run reads all
};

static struct logger logger;
static uint32_t turns;
static const char *typed = "";
static char command[LOGGER_LINE_BYTES_MAX];

/// The answer so far: the fields of the present row, and the expected next
/// ones.
static int32_t field[ROW_FIELDS];
static uint8_t fields;
static bool negative;
static bool in_word; ///< the line is `ok N`, not a row
static uint32_t expected_s;
static uint32_t answered;
static bool failed; ///< the answer was `error`

static int16_t temp_of(uint32_t time_s) {
    return (int16_t)((time_s * 2654435761u >> 16) % 6000u) - 2000;
}

int board_start(void) {
    return ESK_OK;
}

const struct esk_device *board_device(void) {
    return &medium_device;
}

/// A second a turn, from 0 after each cut.
uint32_t board_seconds(void) {
    return turns;
}

void board_sample(struct logger_row *row) {
    row->temp_centi = temp_of(row->time_s);
    row->light = (uint16_t)~row->time_s;
    row->supply_mv = (uint16_t)(row->time_s ^ 0x5A5Au);
}

int board_get(void) {
    return *typed == '\0' ? -1 : *typed++;
}

bool board_idle(void) {
    return true;
}

/// A row of the answer is complete: checks that it is that of the next second.
static void row_came(void) {
    uint32_t time_s = (uint32_t)field[0];
    FIRMWARE_HOLDS(fields == ROW_FIELDS - 1);
    FIRMWARE_HOLDS(time_s == expected_s);
    FIRMWARE_HOLDS(field[1] == temp_of(time_s));
    FIRMWARE_HOLDS((uint16_t)field[2] == (uint16_t)~time_s);
    FIRMWARE_HOLDS((uint16_t)field[3] == (uint16_t)(time_s ^ 0x5A5Au));
    expected_s++;
    answered++;
}

void board_put(char character) {
    if (character == '\n') {
        if (!in_word) {
            row_came();
        }
        memset(field, 0, sizeof field);
        fields = 0;
        negative = in_word = false;
    } else if (character == ',') {
        FIRMWARE_HOLDS(++fields < ROW_FIELDS);
        negative = false;
    } else if (character == '-') {
        negative = true;
    } else if (character >= '0' && character <= '9') {
        int32_t digit = character - '0';
        field[fields] = field[fields] * 10 + (negative ? -digit : digit);
    } else {
        in_word = true;
        failed = failed || character == 'e';
    }
}

static void turn(void) {
    turns++;
    FIRMWARE_DO(logger_poll(&logger));
    if (logger.unsynced == 0) {
        esk_board_note(SLOT_SYNCED, logger.newest.time_s + 1);
    }
}

/// Appends `number` and an end of line to `text`.
static void command_end(char *text, uint32_t number) {
    char digits[10];
    uint8_t count = 0;
    do {
        digits[count++] = (char)('0' + (char)(number % 10u));
        number /= 10u;
    } while (number != 0);
    while (count > 0) {
        *text++ = digits[--count];
    }
    *text++ = '\n';
    *text = '\0';
}

/// Requests the rows from `first_s` on, without sampling.
static void ask(uint32_t first_s) {
    memcpy(command, "range ", 6);
    command_end(command + 6, first_s);
    char *end = command + strlen(command) - 1;
    *end++ = ' ';
    command_end(end, UINT32_MAX);
    typed = command;
    expected_s = first_s;
    answered = 0;
    do {
        FIRMWARE_DO(logger_talk(&logger));
    } while (logger_is_busy(&logger) || *typed != '\0');
    FIRMWARE_HOLDS(!failed);
    FIRMWARE_HOLDS(logger.empty || expected_s == logger.newest.time_s + 1);
}

int main(void) {
    static const struct logger_config config = {.period_s = 1, .sync_rows = 8};
    firmware_group_begin("logger");
    FIRMWARE_DO(logger_start(&logger, &config));
    if (esk_board_noted(SLOT_READY) == 0) {
        // The host makes no cut before this, so the run ends here.
        esk_board_note(SLOT_READY, 1);
        esk_board_exit(0);
    }
    uint32_t synced = esk_board_noted(SLOT_SYNCED);
    FIRMWARE_HOLDS(logger.empty ? synced == 0
                                : logger.newest.time_s + 1 >= synced);
    bool last = esk_board_noted(SLOT_CUT) == 0;
    uint32_t recent = synced > RECENT_ROWS ? synced - RECENT_ROWS : 1;
    if (!logger.empty) {
        ask(last ? 1 : recent);
    }
    for (uint32_t i = 0; !last || i < TURNS_LAST; i++) {
        turn();
    }
    ask(1);
    firmware_text("= logger");
    firmware_pair("rows", answered);
    firmware_pair("boots", logger.boot);
    firmware_line();
    esk_board_exit(0);
}
