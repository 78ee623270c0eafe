// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A data logger: samples, keeps what it sampled through resets, answers.
///
///     last             the newest row
///     range A B        rows with A <= time <= B
///     value LO HI      rows with LO <= temp <= HI, in 0.01 degC
///     count            how many rows are kept
///     stats            counters since the last reset
///
/// A row is answered as `time,temp,light,supply,boot`; every answer ends with
/// `ok N`, N lines, or `error S`, S an enum esk_status. Answers go out a row
/// a poll, so sampling goes on beside them.
#ifndef ESK_EXAMPLE_LOGGER_LOGGER_H
#define ESK_EXAMPLE_LOGGER_LOGGER_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/esker.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A row as it is stored: little-endian and without padding, so this struct
/// is it on every little-endian chip.
struct logger_row {
    uint32_t time_s;    ///< the key
    int16_t temp_centi; ///< 0.01 degC, indexed
    uint16_t light;     ///< raw
    uint16_t supply_mv;
    uint16_t boot; ///< resets before this row; a gap in time has a reason
};

enum {
#ifdef LOGGER_PAGE_BYTES
    LOGGER_PAGE_BYTES_MAX = LOGGER_PAGE_BYTES,
#else
    LOGGER_PAGE_BYTES_MAX = 512, ///< pages of the storage, at most
#endif
    LOGGER_KEY_INDEX_BYTES = 256,
    /// Three frames: two, and one for the value index. The sync journal is
    /// there on media that need one.
    LOGGER_ARENA_BYTES = ESK_SERIES_ARENA_BYTES(
        LOGGER_PAGE_BYTES_MAX, 3,
        ESK_SERIES_ALL_BYTES(LOGGER_KEY_INDEX_BYTES,
                             sizeof(struct logger_row)) +
            ESK_SERIES_SYNC_BYTES +
            ESK_SERIES_VALUES_BYTES(1, ESK_SERIES_ENTRY_BYTES(2, 16), 16, 0)),
    LOGGER_LINE_BYTES_MAX = 40,
};

struct logger_config {
    uint16_t period_s;  ///< between samples; 0: 1
    uint16_t sync_rows; ///< rows a sync: what a power cut may take; 0: 1
};

/// A running logger. The caller owns it; its fields are the logger's.
struct logger {
    const struct logger_config *config;
    struct esk_volume volume;
    struct esk_series *series;
    struct logger_row newest; ///< time_s is 0 and boot 0 before the first
    uint32_t clock_offset;    ///< added to board_seconds
    uint32_t append_failures; ///< rows that were given up
    uint32_t sync_failures;   ///< syncs that will be tried again
    uint16_t unsynced;        ///< rows since the last sync that succeeded
    uint16_t boot;            ///< of this run
    bool empty;               ///< no row yet

    bool answering;     ///< `cursor` has rows for the line
    bool line_too_long; ///< what comes is dropped up to the line's end
    uint8_t line_bytes;
    uint32_t answered; ///< lines of this answer
    char line[LOGGER_LINE_BYTES_MAX];
    struct esk_series_cursor cursor;
    uint64_t arena[LOGGER_ARENA_BYTES / sizeof(uint64_t)];
};

/// Mounts the board's volume, opens the log and goes on after its newest row.
/// A blank medium is formatted; one that holds anything else never is.
///
/// config   kept until the logger is forgotten.
/// Returns  ESK_OK; what mounting, creating or opening returned.
int logger_start(struct logger *logger, const struct logger_config *config);

/// One turn: takes a sample when it is due, syncs when enough have gathered,
/// erases ahead, reads the line, and sends one row of an answer.
///
/// Returns  ESK_OK; ESK_E_IO, ESK_E_WORN when the storage failed. The logger
///          goes on: what could not be appended is counted as given up, what
///          could not be synced is tried again.
/// Costs    at most one append, one sync, one erase and one cursor step.
int logger_poll(struct logger *logger);

/// Whether an answer is going out, so that the board must not rest.
bool logger_is_busy(const struct logger *logger);

/// Makes every row durable. As esk_series_sync.
int logger_sync(struct logger *logger);

/// Reads what the line has and begins an answer; sends a row of one begun.
/// In logger_line.c; logger_poll calls it.
int logger_talk(struct logger *logger);

#ifdef __cplusplus
}
#endif

#endif
