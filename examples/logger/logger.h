// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger: samples, stores the rows, and answers, also after resets.
///
///     last             the newest row
///     range A B        rows with A <= time <= B
///     value LO HI      rows with LO <= temp <= HI, in 0.01 degC
///     count            how many rows are stored
///     stats            counters since the last reset
///     schema           the table, as the SQL that creates it
///
/// A row is answered as `time,temp,light,supply,boot`. Every answer ends with
/// `ok N` after N lines, or with `error S`, S an enum esk_status. A poll sends
/// one row, so sampling continues during an answer.
///
/// A line that begins with a colon is a frame: README.md says how SQL is
/// compiled on a host, sent as a program, and answered.
#ifndef ESK_EXAMPLE_LOGGER_LOGGER_H
#define ESK_EXAMPLE_LOGGER_LOGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/esker.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A stored row: little-endian and without padding, so this struct has the same
/// bytes on every little-endian chip.
struct logger_row {
    uint32_t time_s;    ///< the key
    int16_t temp_centi; ///< 0.01 degC, indexed
    uint16_t light;     ///< raw
    uint16_t supply_mv;
    uint16_t boot; ///< resets before this row: explains a gap in time
};

enum {
#ifdef LOGGER_PAGE_BYTES
    LOGGER_PAGE_BYTES_MAX = LOGGER_PAGE_BYTES,
#else
    LOGGER_PAGE_BYTES_MAX = 512, ///< largest pages of the storage
#endif
    LOGGER_KEY_INDEX_BYTES = 256,
    /// Three frames: two, and one for the value index. And the sync journal,
    /// for media that need it.
    LOGGER_ARENA_BYTES = ESK_SERIES_ARENA_BYTES(
        LOGGER_PAGE_BYTES_MAX, 3,
        ESK_SERIES_ALL_BYTES(LOGGER_KEY_INDEX_BYTES,
                             sizeof(struct logger_row)) +
            ESK_SERIES_SYNC_BYTES +
            ESK_SERIES_VALUES_BYTES(1, ESK_SERIES_ENTRY_BYTES(2, 16), 16, 0)),
    /// A command, or the largest frame: it fits in the 64 bytes that a UART's
    /// buffer has while the logger writes.
    LOGGER_LINE_BYTES_MAX = 60,
    LOGGER_SCHEMA_LINES = 2,
    LOGGER_PROGRAM_BYTES_MAX = 256, ///< usual ones have 50 to 120
    /// Of a running program: registers, two cursors, groups.
    LOGGER_QUERY_ARENA_BYTES =
        (600 + 2 * sizeof(struct esk_series_cursor)) / 8 * 8,
    LOGGER_BLOCK_BYTES_MAX = 96, ///< of an answer, sent at once
    /// A frame around it: see README.md.
    LOGGER_FRAME_BYTES_MAX = LOGGER_BLOCK_BYTES_MAX + 12,
};

struct logger_config {
    uint16_t period_s;  ///< between samples; 0: 1
    uint16_t sync_rows; ///< rows a sync, which power loss may lose; 0: 1
};

/// Queries of the line. One program may run while another one arrives.
struct logger_query {
    struct esk_program program;
    struct esk_source source;
    uint32_t id;         ///< which query runs; its host chose it
    uint16_t uploaded;   ///< bytes of the program that arrives
    uint16_t frame_sent; ///< bytes
    uint8_t frame_bytes;
    uint8_t state;  ///< enum of logger_query.c
    uint8_t output; ///< next one of the row
    bool has_row;   ///< the program has one
    bool asked;     ///< the host waits for the block
    uint8_t next;   ///< index of the program that arrives
    uint8_t programs[2][LOGGER_PROGRAM_BYTES_MAX];
    uint8_t frame[LOGGER_FRAME_BYTES_MAX]; ///< a block of the answer
    uint64_t arena[LOGGER_QUERY_ARENA_BYTES / sizeof(uint64_t)];
};

/// A running logger. The caller owns it; its fields are the logger's.
struct logger {
    const struct logger_config *config;
    struct esk_volume volume;
    struct esk_series *series;
    struct logger_row newest; ///< time_s is 0 and boot 0 before the first
    uint32_t clock_offset;    ///< added to board_seconds
    uint32_t append_failures; ///< rows that were lost
    uint32_t sync_failures;   ///< syncs that failed and will be repeated
    uint16_t unsynced;        ///< rows since the last sync that succeeded
    uint16_t boot;            ///< of this run
    bool empty;               ///< no row yet

    bool answering;     ///< `cursor` has rows for the line
    bool line_too_long; ///< characters are dropped up to the line's end
    uint8_t line_bytes;
    uint32_t answered; ///< lines of this answer
    char line[LOGGER_LINE_BYTES_MAX];
    struct esk_series_cursor cursor;
    struct logger_query query;
    uint64_t arena[LOGGER_ARENA_BYTES / sizeof(uint64_t)];
};

/// Mounts the board's volume, opens the log and continues after its newest row.
/// Formats a blank medium only.
///
/// config   borrowed until the logger is no longer used.
/// Returns  ESK_OK; as mounting, creating or opening.
int logger_start(struct logger *logger, const struct logger_config *config);

/// One turn: takes a sample when it is due, syncs when there are enough rows,
/// erases ahead, reads the line, and sends one row of an answer.
///
/// Returns  ESK_OK; ESK_E_IO, ESK_E_WORN when the storage failed. The logger
///          continues: it counts rows that it could not append, and repeats a
///          sync that failed.
/// Costs    at most one append, one sync, one erase, one cursor step, and one
///          step of a query: 8 rows or pages, or 16 bytes sent.
int logger_poll(struct logger *logger);

/// Whether an answer is being sent, so that the board must not sleep.
bool logger_is_busy(const struct logger *logger);

/// Makes every row durable. As esk_series_sync.
int logger_sync(struct logger *logger);

/// Reads the line and begins an answer, or sends a row of the present one.
/// In logger_line.c; logger_poll calls it.
int logger_talk(struct logger *logger);

/// The table: SQL that creates it, two lines, and its esk_table_fingerprint.
extern const char logger_schema[];
extern const uint32_t logger_fingerprint;

/// Carries out the frame in `line`, which begins with a colon.
/// In logger_query.c, as the next two; logger_talk calls them.
void logger_query_take(struct logger *logger);

/// Runs the query for one step, or sends a part of its answer unless the line
/// has the answer of a command.
/// Returns  whether it sent something.
bool logger_query_turn(struct logger *logger);

/// Whether the query runs or sends, and does not wait for its host.
bool logger_query_is_busy(const struct logger *logger);

#ifdef __cplusplus
}
#endif

#endif
