// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's queries: a program comes in frames, its rows go out in blocks.
///
/// A frame is a line: a colon, and these bytes in hexadecimal:
///
///     | kind u8 | length u8 of the body | body | CRC-32C u32 of the others |
///
/// README.md has the kinds. The host asks and the logger answers: a request
/// that is repeated changes nothing and is answered again, so a host repeats
/// what it has no answer to.
///
/// Invariants
///   1. The program that arrives and the one that runs are in different
///      buffers, which are swapped when the new one was checked.
///   2. A block is kept until the host asks for the next one.
///   3. While a block is being sent no line is read, so nothing else is sent.
#include <stddef.h>
#include <string.h>

#include "examples/logger/board.h"
#include "examples/logger/logger.h"

enum {
    FRAME_HEAD = 2,
    FRAME_CRC = 4,
    ROWS_A_TURN = 8, ///< or pages without a row
    BYTES_A_TURN = 16,
    VALUE_BYTES_MAX = 3 * (1 + sizeof(esk_slot)),
    NULL_MARK = 0xFF,
    PROTOCOL_VERSION = 1,
    OUTPUT_AVG = 3, ///< src/query/README.md
    PART_JOINS = 8, ///< bits as the flags of a program
    PART_HELPED = 16,
    PART_RANGED = 32,
#ifdef LOGGER_QUERY_FLOATS
    PART_FLOATS = 2,
#else
    PART_FLOATS = 0,
#endif
    PARTS = PART_FLOATS | PART_JOINS | PART_HELPED | PART_RANGED,
};

/// Offsets in the frame of a block.
enum {
    BLOCK_ID = FRAME_HEAD,
    BLOCK_NUMBER = BLOCK_ID + 4,
    BLOCK_STATUS = BLOCK_NUMBER + 1,
    BLOCK_DATA = BLOCK_STATUS + 1,
};

enum query_state {
    QUERY_NONE,
    QUERY_RUNS,  ///< until the block is complete
    QUERY_WAITS, ///< the block is complete; the host has to ask for it
    QUERY_SENDS, ///< the block
};

/* Floats of 64 bits are no part of avr-libc. */
static const struct esk_query_parts query_parts = {
    .joins = &esk_query_part_joins,
    .helpers = &esk_query_part_quantiles,
    .ranges = &esk_query_part_ranges,
#ifdef LOGGER_QUERY_FLOATS
    .floats = &esk_query_part_floats,
#endif
};

/* Frames ------------------------------------------------------------------- */

/// Bit by bit: a frame is short, and the library's own is not public.
static uint32_t frame_crc(const uint8_t *bytes, uint8_t count) {
    uint32_t crc = UINT32_MAX;
    while (count-- > 0) {
        crc ^= *bytes++;
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0);
        }
    }
    return ~crc;
}

static void frame_put_u32(uint8_t *bytes, uint32_t number) {
    for (uint8_t i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(number >> 8 * i);
    }
}

/// Completes a frame of `body` bytes of body; returns its bytes.
static uint8_t frame_seal(uint8_t *frame, char kind, uint8_t body) {
    uint8_t count = (uint8_t)(FRAME_HEAD + body);
    frame[0] = (uint8_t)kind;
    frame[1] = body;
    frame_put_u32(frame + count, frame_crc(frame, count));
    return (uint8_t)(count + FRAME_CRC);
}

static void frame_put_bytes(const uint8_t *bytes, uint8_t count) {
    static const char digits[] = "0123456789ABCDEF";
    while (count-- > 0) {
        board_put(digits[*bytes >> 4]);
        board_put(digits[*bytes++ & 15u]);
    }
}

static void frame_answer(uint8_t *frame, char kind, uint8_t body) {
    uint8_t count = frame_seal(frame, kind, body);
    board_put(':');
    frame_put_bytes(frame, count);
    board_put('\n');
}

/// The answer to what cannot be done.
static void frame_refuse(int status) {
    uint8_t frame[FRAME_HEAD + 1 + FRAME_CRC];
    frame[FRAME_HEAD] = (uint8_t)(int8_t)status;
    frame_answer(frame, 'e', 1);
}

static uint8_t frame_digit(char character) {
    if (character >= '0' && character <= '9') {
        return (uint8_t)(character - '0');
    }
    return character >= 'A' && character <= 'F'
               ? (uint8_t)(character - 'A' + 10)
               : 16;
}

/// Decodes the line behind its colon, in place. Returns whether it is a frame,
/// which is then at the line's start.
static bool frame_read(char *line) {
    uint8_t *frame = (uint8_t *)line;
    uint8_t count = 0;
    for (const char *at = line + 1; *at != '\0'; at += 2) {
        uint8_t high = frame_digit(at[0]);
        uint8_t low = high > 15 ? high : frame_digit(at[1]);
        if (low > 15) {
            return false;
        }
        frame[count++] = (uint8_t)(high << 4 | low);
    }
    if (count < FRAME_HEAD + FRAME_CRC ||
        count != FRAME_HEAD + frame[1] + FRAME_CRC) {
        return false;
    }
    count = (uint8_t)(count - FRAME_CRC);
    return esk_load_u32(frame + count) == frame_crc(frame, count);
}

/* Blocks ------------------------------------------------------------------- */

static void block_begin(struct logger_query *query, uint8_t number) {
    frame_put_u32(query->frame + BLOCK_ID, query->id);
    query->frame[BLOCK_NUMBER] = number;
    query->frame_bytes = BLOCK_DATA;
    query->state = QUERY_RUNS;
}

static void block_end(struct logger_query *query, int status) {
    query->frame[BLOCK_STATUS] = (uint8_t)(int8_t)status;
    query->frame_bytes = frame_seal(query->frame, 'b',
                                    (uint8_t)(query->frame_bytes - FRAME_HEAD));
    query->frame_sent = 0;
    query->state = query->asked ? QUERY_SENDS : QUERY_WAITS;
    query->asked = false;
}

static void block_put(struct logger_query *query, const void *bytes,
                      uint8_t count) {
    query->frame[query->frame_bytes++] = count;
    memcpy(query->frame + query->frame_bytes, bytes, count);
    query->frame_bytes = (uint8_t)(query->frame_bytes + count);
}

/// Appends the fewest bytes whose sign extends to the number.
static void block_put_number(struct logger_query *query, esk_slot number) {
    uint8_t bytes[sizeof number];
    uint8_t sign = number < 0 ? 0xFF : 0;
    uint8_t count = sizeof number;
    memcpy(bytes, &number, sizeof number); // little-endian, as all rows here
    while (count > 1 && bytes[count - 1] == sign &&
           ((bytes[count - 2] ^ sign) & 0x80u) == 0) {
        count--;
    }
    block_put(query, bytes, count);
}

static int block_put_value(struct logger_query *query,
                           const struct esk_output *value) {
    if (value->is_null) {
        query->frame[query->frame_bytes++] = NULL_MARK;
    } else if (value->data != NULL) {
        block_put(query, value->data, (uint8_t)value->bytes);
    } else if (value->type > OUTPUT_AVG) {
        return ESK_E_UNSUPPORTED; // text in registers: the log has no text
    } else {
        uint8_t count = value->type == OUTPUT_AVG ? 3 : 1;
        for (uint8_t i = 0; i < count; i++) {
            block_put_number(query, value->slots[i]);
        }
    }
    return ESK_OK;
}

/* The query ---------------------------------------------------------------- */

/// Puts values of the row into the block, until one of them ends.
static void query_put_row(struct logger_query *query) {
    struct esk_output value;
    memset(&value, 0, sizeof value);
    while (query->frame_bytes + VALUE_BYTES_MAX <=
           BLOCK_DATA + LOGGER_BLOCK_BYTES_MAX) {
        int status = esk_program_row(&query->program, query->output, &value);
        if (status == ESK_NOT_FOUND) {
            query->has_row = false;
            return;
        }
        if (status == ESK_OK) {
            status = block_put_value(query, &value);
        }
        if (status != ESK_OK) {
            block_end(query, status);
            return;
        }
        query->output++;
    }
    block_end(query, ESK_OK);
}

static void query_step(struct logger_query *query) {
    if (!query->has_row) {
        int status = esk_program_step(&query->program, ROWS_A_TURN);
        if (status == ESK_AGAIN) {
            return;
        }
        if (status != ESK_OK) {
            block_end(query, status);
            return;
        }
        query->has_row = true;
        query->output = 0;
    }
    query_put_row(query);
}

static void query_send(struct logger_query *query) {
    uint8_t left = (uint8_t)(query->frame_bytes - query->frame_sent);
    uint8_t count = left < BYTES_A_TURN ? left : BYTES_A_TURN;
    if (query->frame_sent == 0) {
        board_put(':');
    }
    frame_put_bytes(query->frame + query->frame_sent, count);
    query->frame_sent = (uint8_t)(query->frame_sent + count);
    if (query->frame_sent == query->frame_bytes) {
        board_put('\n');
        query->state = QUERY_WAITS;
    }
}

bool logger_query_turn(struct logger *logger) {
    struct logger_query *query = &logger->query;
    if (query->state == QUERY_RUNS) {
        query_step(query);
    } else if (query->state == QUERY_SENDS && !logger->answering) {
        query_send(query);
        return true;
    }
    return false;
}

bool logger_query_is_busy(const struct logger *logger) {
    return logger->query.state == QUERY_RUNS ||
           logger->query.state == QUERY_SENDS;
}

/* Requests ----------------------------------------------------------------- */

static void take_hello(void) {
    uint8_t frame[FRAME_HEAD + 16 + FRAME_CRC];
    uint8_t *body = frame + FRAME_HEAD;
    body[0] = PROTOCOL_VERSION;
    body[1] = 8 * sizeof(esk_slot);
    body[2] = PARTS;
    body[3] = 1; // tables
    frame_put_u32(body + 4, LOGGER_PROGRAM_BYTES_MAX);
    frame_put_u32(body + 8, LOGGER_QUERY_ARENA_BYTES);
    frame_put_u32(body + 12, logger_fingerprint);
    frame_answer(frame, 'h', 16);
}

/// A piece of a program: its offset u16, and bytes.
static void take_piece(struct logger_query *query, const uint8_t *body,
                       uint8_t bytes) {
    uint8_t frame[FRAME_HEAD + 2 + FRAME_CRC];
    uint16_t offset = esk_load_u16(body);
    uint16_t offset_max = (uint16_t)(LOGGER_PROGRAM_BYTES_MAX - bytes);
    if (offset > query->uploaded) {
        bytes = 0; // one before it was lost
    } else if (offset > offset_max) {
        frame_refuse(ESK_E_LIMIT);
        return;
    } else {
        memcpy(query->programs[query->next] + offset, body + 2, bytes);
        query->uploaded = (uint16_t)(offset + bytes);
    }
    frame[FRAME_HEAD] = (uint8_t)query->uploaded;
    frame[FRAME_HEAD + 1] = (uint8_t)(query->uploaded >> 8);
    frame_answer(frame, 'p', 2);
}

/// Checks the program that arrived and starts it, instead of the one that runs.
static int query_begin(struct logger *logger, uint32_t id, uint16_t bytes,
                       struct esk_program_report *report) {
    struct logger_query *query = &logger->query;
    const uint8_t *program = query->programs[query->next];
    if (bytes > query->uploaded) {
        return ESK_E_CORRUPT;
    }
    esk_source_series(&query->source, logger->series, logger_fingerprint);
    ESK_TRY(esk_program_check(program, bytes, &query_parts, &query->source, 1,
                              report));
    if (report->arena_bytes > sizeof query->arena) {
        return ESK_E_NO_MEMORY;
    }
    query->state = QUERY_NONE;
    ESK_TRY(esk_program_begin(&query->program, program, bytes, &query_parts,
                              &query->source, 1, query->arena,
                              sizeof query->arena));
    query->next ^= 1u;
    query->uploaded = 0;
    query->id = id;
    query->has_row = query->asked = false;
    block_begin(query, 0);
    return ESK_OK;
}

/// Run: id u32, bytes u16.
static void take_run(struct logger *logger, const uint8_t *body) {
    struct esk_program_report report = {0};
    uint8_t frame[FRAME_HEAD + 11 + FRAME_CRC];
    uint8_t *answer = frame + FRAME_HEAD;
    uint32_t id = esk_load_u32(body);
    int status = ESK_OK;
    if (logger->query.state == QUERY_NONE || logger->query.id != id) {
        status = query_begin(logger, id, esk_load_u16(body + 4), &report);
    }
    frame_put_u32(answer, id);
    answer[4] = (uint8_t)(int8_t)status;
    answer[5] = (uint8_t)report.at;
    answer[6] = (uint8_t)(report.at >> 8);
    frame_put_u32(answer + 7, report.arena_bytes);
    frame_answer(frame, 'r', 11);
}

/// A block: id u32, number u8.
static void take_block(struct logger_query *query, const uint8_t *body) {
    uint8_t number = query->frame[BLOCK_NUMBER];
    if (query->state == QUERY_NONE || esk_load_u32(body) != query->id) {
        frame_refuse(ESK_NOT_FOUND);
        return;
    }
    if (query->state == QUERY_WAITS && body[4] == (uint8_t)(number + 1u) &&
        query->frame[BLOCK_STATUS] == ESK_OK) {
        block_begin(query, body[4]);
    } else if (body[4] != number) {
        frame_refuse(ESK_E_INVALID);
        return;
    }
    if (query->state == QUERY_WAITS) {
        query->state = QUERY_SENDS;
        query->frame_sent = 0;
    } else if (query->asked && query->frame_bytes > BLOCK_DATA) {
        block_end(query, ESK_OK); // rows come slowly: send what there is
    } else if (query->asked) {
        uint8_t frame[FRAME_HEAD + 5 + FRAME_CRC];
        memcpy(frame + FRAME_HEAD, body, 5);
        frame_answer(frame, 'w', 5);
    } else {
        query->asked = true;
    }
}

/// Which bound ended the query: id u32.
static void take_limit(const struct logger_query *query, const uint8_t *body) {
    struct esk_program_bound bound = {.kind = ESK_BOUND_NONE};
    uint8_t frame[FRAME_HEAD + 9 + FRAME_CRC];
    uint8_t *answer = frame + FRAME_HEAD;
    if (query->state == QUERY_NONE || esk_load_u32(body) != query->id) {
        frame_refuse(ESK_NOT_FOUND);
        return;
    }
    (void)esk_program_bound(&query->program, &bound);
    memcpy(answer, body, 4);
    answer[4] = bound.kind;
    answer[5] = (uint8_t)bound.most;
    answer[6] = (uint8_t)(bound.most >> 8);
    answer[7] = (uint8_t)bound.reached;
    answer[8] = (uint8_t)(bound.reached >> 8);
    frame_answer(frame, 'l', 9);
}

void logger_query_take(struct logger *logger) {
    const uint8_t *frame = (const uint8_t *)logger->line;
    const uint8_t *body = frame + FRAME_HEAD;
    if (!frame_read(logger->line)) {
        frame_refuse(ESK_E_CORRUPT);
        return;
    }
    if (frame[0] == 'H' && frame[1] == 0) {
        take_hello();
    } else if (frame[0] == 'P' && frame[1] > 2) {
        take_piece(&logger->query, body, (uint8_t)(frame[1] - 2));
    } else if (frame[0] == 'R' && frame[1] == 6) {
        take_run(logger, body);
    } else if (frame[0] == 'B' && frame[1] == 5) {
        take_block(&logger->query, body);
    } else if (frame[0] == 'L' && frame[1] == 4) {
        take_limit(&logger->query, body);
    } else {
        frame_refuse(ESK_E_UNSUPPORTED);
    }
}
