// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's line: commands in, rows out.
///
/// No printf: on an 8-bit chip it is larger than the whole protocol.
#include <stddef.h>
#include <string.h>

#include "examples/logger/board.h"
#include "examples/logger/logger.h"

static void line_put(const char *text) {
    while (*text != '\0') {
        board_put(*text++);
    }
}

/// Sends a number of 32 bits and its sign.
static void line_put_number(int64_t number) {
    char digits[10];
    uint8_t count = 0;
    if (number < 0) {
        board_put('-');
    }
    uint32_t left = (uint32_t)(number < 0 ? -number : number);
    do {
        digits[count++] = (char)('0' + (char)(left % 10u));
        left /= 10u;
    } while (left != 0);
    while (count > 0) {
        board_put(digits[--count]);
    }
}

static void line_put_row(struct logger *logger, const struct logger_row *row) {
    const int64_t fields[] = {row->time_s, row->temp_centi, row->light,
                              row->supply_mv, row->boot};
    for (uint8_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        line_put_number(fields[i]);
        board_put(i + 1u < sizeof fields / sizeof fields[0] ? ',' : '\n');
    }
    logger->answered++;
}

static void line_put_field(struct logger *logger, const char *name,
                           uint32_t number) {
    line_put(name);
    board_put('=');
    line_put_number(number);
    board_put('\n');
    logger->answered++;
}

/// Ends an answer: `ok N`, or `error S` for a failure.
static int line_end(struct logger *logger, int status) {
    bool ok = status == ESK_OK || status == ESK_END || status == ESK_NOT_FOUND;
    line_put(ok ? "ok " : "error ");
    line_put_number(ok ? (int64_t)logger->answered : status);
    board_put('\n');
    logger->answering = false;
    return ok ? ESK_OK : status;
}

/// Reads a number at *at and the spaces before it, and moves *at behind it.
/// Returns false when there is none, or when it exceeds 32 bits.
static bool line_take_number(const char **at, int64_t *number) {
    const char *text = *at;
    while (*text == ' ') {
        text++;
    }
    bool negative = *text == '-';
    text += negative;
    if (*text < '0' || *text > '9') {
        return false;
    }
    int64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) {
        value = value * 10 + (*text - '0');
        if (value > (int64_t)UINT32_MAX) {
            return false;
        }
    }
    *at = text;
    *number = negative ? -value : value;
    return true;
}

/// Reads the two bounds that end a command.
static bool line_take_bounds(const char *at, int64_t *lo, int64_t *hi) {
    return line_take_number(&at, lo) && line_take_number(&at, hi) &&
           *at == '\0';
}

/// Begins to send the rows of `query`.
static int line_answer(struct logger *logger,
                       const struct esk_series_query *query) {
    int status = esk_series_cursor_open(logger->series, &logger->cursor, query);
    logger->answering = status == ESK_OK;
    return status == ESK_OK ? ESK_OK : line_end(logger, status);
}

static int line_range(struct logger *logger, int64_t lo, int64_t hi) {
    if (hi < 0 || lo > hi) {
        return line_end(logger, ESK_OK);
    }
    const struct esk_series_query query = {.has_key_min = true,
                                           .has_key_max = true,
                                           .key_min =
                                               (esk_key)(lo < 0 ? 0 : lo),
                                           .key_max = (esk_key)hi};
    return line_answer(logger, &query);
}

static int line_value(struct logger *logger, int64_t lo, int64_t hi) {
    const struct esk_series_range range = {.column = 1,
                                           .has_lo = true,
                                           .has_hi = true,
                                           .lo = {.i = lo},
                                           .hi = {.i = hi}};
    const struct esk_series_query query = {.range_count = 1, .ranges = &range};
    return line_answer(logger, &query);
}

static int line_last(struct logger *logger) {
    struct logger_row row;
    int status = esk_series_newest(logger->series, &row);
    if (status == ESK_OK) {
        line_put_row(logger, &row);
    }
    return line_end(logger, status);
}

static int line_count(struct logger *logger) {
    uint32_t count = 0;
    int status = esk_series_count(logger->series, &count);
    if (status == ESK_OK) {
        line_put_number(count);
        board_put('\n');
        logger->answered++;
    }
    return line_end(logger, status);
}

static int line_stats(struct logger *logger) {
    struct esk_series_stats stats;
    esk_series_stats(logger->series, &stats);
    line_put_field(logger, "boot", logger->boot);
    line_put_field(logger, "unsynced", logger->unsynced);
    line_put_field(logger, "append_failures", logger->append_failures);
    line_put_field(logger, "sync_failures", logger->sync_failures);
    line_put_field(logger, "pages", stats.pages);
    line_put_field(logger, "reads", stats.page_reads);
    line_put_field(logger, "programs", stats.page_programs);
    line_put_field(logger, "erases", stats.block_erases);
    line_put_field(logger, "damaged", stats.pages_damaged);
    line_put_field(logger, "knots", stats.knots);
    line_put_field(logger, "ram", (uint32_t)sizeof *logger);
    return line_end(logger, ESK_OK);
}

static int line_schema(struct logger *logger) {
    line_put(logger_schema);
    logger->answered = LOGGER_SCHEMA_LINES;
    return line_end(logger, ESK_OK);
}

/// Carries out the command in `line`.
static int line_run(struct logger *logger) {
    const char *line = logger->line;
    int64_t lo = 0;
    int64_t hi = 0;
    logger->answered = 0;
    if (line[0] == ':') {
        logger_query_take(logger);
        return ESK_OK;
    }
    if (strcmp(line, "last") == 0) {
        return line_last(logger);
    }
    if (strcmp(line, "count") == 0) {
        return line_count(logger);
    }
    if (strcmp(line, "stats") == 0) {
        return line_stats(logger);
    }
    if (strcmp(line, "schema") == 0) {
        return line_schema(logger);
    }
    if (strncmp(line, "range ", 6) == 0 &&
        line_take_bounds(line + 6, &lo, &hi)) {
        return line_range(logger, lo, hi);
    }
    if (strncmp(line, "value ", 6) == 0 &&
        line_take_bounds(line + 6, &lo, &hi)) {
        return line_value(logger, lo, hi);
    }
    /// The command is wrong, not the storage.
    line_end(logger, ESK_E_INVALID);
    return ESK_OK;
}

/// Reads the waiting characters, up to one command.
static int line_listen(struct logger *logger) {
    for (uint8_t i = 0; i < LOGGER_LINE_BYTES_MAX; i++) {
        int character = board_get();
        if (character < 0) {
            return ESK_OK;
        }
        if (character != '\n' && character != '\r') {
            if (logger->line_bytes + 1u >= sizeof logger->line) {
                logger->line_too_long = true;
            } else {
                logger->line[logger->line_bytes++] = (char)character;
            }
            continue;
        }
        bool blank = logger->line_bytes == 0;
        logger->line[logger->line_too_long ? 0 : logger->line_bytes] = '\0';
        logger->line_bytes = 0;
        logger->line_too_long = false;
        if (!blank) {
            return line_run(logger);
        }
    }
    return ESK_OK;
}

int logger_talk(struct logger *logger) {
    struct logger_row row;
    if (logger_query_turn(logger)) {
        return ESK_OK;
    }
    if (!logger->answering) {
        return line_listen(logger);
    }
    int status = esk_series_cursor_next(logger->series, &logger->cursor, &row);
    if (status == ESK_OK) {
        line_put_row(logger, &row);
        return ESK_OK;
    }
    if (status == ESK_E_STALE) {
        return ESK_OK; // the oldest rows were dropped while they were read: go
                       // on
    }
    return line_end(logger, status);
}
