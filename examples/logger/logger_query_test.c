// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger's queries over a line that loses, changes and repeats bytes.
///
/// The board is the simulator, a clock that the test moves, and a line: the
/// test is its host.
#include "examples/logger/logger.h"

#include "examples/logger/board.h"
#include "port/sim/sim.h"
#include "test/harness/assembler.h"
#include "test/harness/esk_test.h"

enum {
    ROWS = 120,
    FIRST_S = 100,
    ID = 0x12345678,
    PIECE_BYTES = 20,
    SAID_BYTES = 64 * 1024,
    TURNS_MAX = 4000,
};

/// SELECT time, temp FROM log WHERE temp > 500
static const char warm[] = ".table 0\n.regs 3\n.out int r1\n.out int r2\n"
                           "LDI16 r0 500\n"
                           "FOR c0 0 r0 r0 x\n"
                           "b: LD r2 c0.i16 4\n"
                           "UNLESS_LT r0 r2 n\n"
                           "LD r1 c0.u32 0\n"
                           "EMIT\n"
                           "n: NEXT c0 b\n"
                           "x: HALT";
/// SELECT NULL, count(temp), avg(temp), last row
static const char means[] = ".table 0\n.table 0\n.regs 8\n"
                            ".out int r6\n.out int r1\n.out avg r1\n"
                            ".out row c1\n"
                            "CLEAR r1\n"
                            "FOR c0 0 r0 r0 y\n"
                            "b: AGGC 3 r1 c0.i16 4\n"
                            "LD r7 c0.u32 0\n"
                            "NEXT c0 b\n"
                            "y: GET c1 r7 x\n"
                            "x: EMIT\nHALT";

static struct esk_sim *sim;
static uint32_t seconds;
static uint32_t step_s; ///< added to the clock by each turn
static const char *typed = "";
static size_t typed_bytes;
static char said[SAID_BYTES];
static size_t said_bytes;
static struct logger logger;
static struct esk_assembly assembly;

int board_start(void) {
    return ESK_OK;
}

const struct esk_device *board_device(void) {
    return esk_sim_device(sim);
}

uint32_t board_seconds(void) {
    return seconds;
}

static int16_t temp_of(uint32_t time_s) {
    return (int16_t)((int32_t)(time_s * 37u % 1000u) - 100);
}

void board_sample(struct logger_row *row) {
    row->temp_centi = temp_of(row->time_s);
    row->light = (uint16_t)row->time_s;
    row->supply_mv = 3300;
}

int board_get(void) {
    if (typed_bytes == 0) {
        return -1;
    }
    typed_bytes--;
    return (unsigned char)*typed++;
}

void board_put(char character) {
    ESK_CHECK(said_bytes + 1 < sizeof said);
    said[said_bytes++] = character;
    said[said_bytes] = '\0';
}

bool board_idle(void) {
    return true;
}

/* The host ----------------------------------------------------------------- */

struct frame {
    uint8_t bytes[256];
    uint8_t count; ///< of the body
    char kind;     ///< 0: the logger said nothing that is a frame
};

static void turn(void) {
    seconds += step_s;
    ESK_CHECK_INT(logger_poll(&logger), ESK_OK);
}

static uint32_t crc_of(const uint8_t *bytes, size_t count) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0);
        }
    }
    return ~crc;
}

/// Writes the line of a frame; returns its characters.
static size_t frame_line(char *line, char kind, const uint8_t *body,
                         uint8_t count) {
    uint8_t bytes[264] = {(uint8_t)kind, count};
    if (count > 0) {
        memcpy(bytes + 2, body, count);
    }
    uint32_t crc = crc_of(bytes, 2u + count);
    for (unsigned i = 0; i < 4; i++) {
        bytes[2u + count + i] = (uint8_t)(crc >> 8 * i);
    }
    char *at = line;
    *at++ = ':';
    for (unsigned i = 0; i < 6u + count; i++) {
        at += sprintf(at, "%02X", (unsigned)bytes[i]);
    }
    *at++ = '\n';
    return (size_t)(at - line);
}

static void type(const char *line, size_t count) {
    typed = line;
    typed_bytes = count;
    said_bytes = 0;
    said[0] = '\0';
    do {
        turn();
    } while (typed_bytes > 0 || logger_is_busy(&logger));
    turn();
}

/// The first frame in what the logger said.
static struct frame heard(void) {
    struct frame frame = {.kind = 0};
    const char *at = strchr(said, ':');
    unsigned byte = 0;
    unsigned count = 0;
    if (at == NULL) {
        return frame;
    }
    uint8_t bytes[264];
    for (at++; sscanf(at, "%2X", &byte) == 1 && *at != '\n'; at += 2) {
        bytes[count++] = (uint8_t)byte;
    }
    ESK_CHECK(count >= 6 && count == 6u + bytes[1]);
    uint32_t crc = crc_of(bytes, count - 4u);
    ESK_CHECK(esk_load_u32(bytes + count - 4) == crc);
    frame.kind = (char)bytes[0];
    frame.count = bytes[1];
    memcpy(frame.bytes, bytes + 2, frame.count);
    return frame;
}

static struct frame ask(char kind, const uint8_t *body, uint8_t count) {
    char line[600];
    type(line, frame_line(line, kind, body, count));
    return heard();
}

static int refusal(struct frame frame) {
    ESK_CHECK(frame.kind == 'e' && frame.count == 1);
    return (int8_t)frame.bytes[0];
}

static uint8_t piece_of(uint8_t *body, const uint8_t *program, uint16_t from,
                        uint16_t to) {
    uint16_t count = (uint16_t)(to - from);
    count = count < PIECE_BYTES ? count : PIECE_BYTES;
    body[0] = (uint8_t)from;
    body[1] = (uint8_t)(from >> 8);
    memcpy(body + 2, program + from, count);
    return (uint8_t)(2u + count);
}

/// Sends the first `bytes` bytes of a program.
static void upload(const uint8_t *program, uint16_t bytes) {
    for (uint16_t at = 0; at < bytes;) {
        uint8_t body[2 + PIECE_BYTES];
        struct frame frame = ask('P', body, piece_of(body, program, at, bytes));
        ESK_CHECK(frame.kind == 'p');
        uint16_t reached = esk_load_u16(frame.bytes);
        ESK_CHECK(reached > at && reached <= bytes);
        at = reached;
    }
}

static uint8_t run_of(uint8_t *body, uint32_t id, uint16_t bytes) {
    for (unsigned i = 0; i < 4; i++) {
        body[i] = (uint8_t)(id >> 8 * i);
    }
    body[4] = (uint8_t)bytes;
    body[5] = (uint8_t)(bytes >> 8);
    return 6;
}

/// Runs what was uploaded; returns the status.
static int run(uint32_t id, uint16_t bytes) {
    uint8_t body[6];
    struct frame frame = ask('R', body, run_of(body, id, bytes));
    ESK_CHECK(frame.kind == 'r' && frame.count == 11);
    ESK_CHECK(esk_load_u32(frame.bytes) == id);
    return (int8_t)frame.bytes[4];
}

static struct frame block(uint32_t id, uint8_t number) {
    uint8_t body[6];
    run_of(body, id, number);
    return ask('B', body, 5);
}

/// An answer, block after block.
struct answer {
    uint8_t bytes[16 * 1024];
    size_t count;
    int status;
};

static struct answer answer;

static void fetch(uint32_t id) {
    answer.count = 0;
    answer.status = ESK_OK;
    for (uint8_t number = 0; answer.status == ESK_OK; number++) {
        struct frame frame = block(id, number);
        for (unsigned i = 0; frame.kind == 'w' && i < TURNS_MAX; i++) {
            frame = block(id, number);
        }
        ESK_CHECK(frame.kind == 'b' && frame.bytes[4] == number);
        memcpy(answer.bytes + answer.count, frame.bytes + 6, frame.count - 6u);
        answer.count += frame.count - 6u;
        answer.status = (int8_t)frame.bytes[5];
    }
}

/// Takes a number from the answer.
static int64_t number_at(size_t *at) {
    uint8_t count = answer.bytes[(*at)++];
    ESK_CHECK(count >= 1 && count <= 8 && *at + count <= answer.count);
    uint64_t number = (answer.bytes[*at + count - 1] & 0x80) != 0 ? ~0ull : 0;
    for (unsigned i = count; i-- > 0;) {
        number = number << 8 | answer.bytes[*at + i];
    }
    *at += count;
    return (int64_t)number;
}

/// Checks the answer of `warm` over the rows up to `last_s`.
static void check_warm(uint32_t last_s) {
    size_t at = 0;
    ESK_CHECK_INT(answer.status, ESK_END);
    for (uint32_t time_s = FIRST_S; time_s <= last_s; time_s++) {
        if (temp_of(time_s) > 500) {
            ESK_CHECK_INT(number_at(&at), time_s);
            ESK_CHECK_INT(number_at(&at), temp_of(time_s));
        }
    }
    ESK_CHECK_INT(at, answer.count);
}

static void begin(void) {
    static const struct logger_config config = {.period_s = 1, .sync_rows = 4};
    const struct esk_sim_config chip = {.geometry = {.block_count = 64,
                                                     .block_pages = 8,
                                                     .page_bytes = 512,
                                                     .program_bytes = 1,
                                                     .erased_value = 0xFF},
                                        .seed = 5};
    ESK_CHECK_INT(esk_sim_create(&sim, &chip), ESK_OK);
    typed_bytes = 0;
    seconds = FIRST_S - 1;
    ESK_CHECK_INT(logger_start(&logger, &config), ESK_OK);
    step_s = 1;
    for (unsigned i = 0; i < ROWS; i++) {
        turn();
    }
    step_s = 0;
}

static void assemble(const char *text) {
    esk_source_series(&logger.query.source, logger.series, logger_fingerprint);
    bool is_program = esk_assemble(&assembly, text, &logger.query.source);
    ESK_CHECK(is_program);
}

/// Uploads, runs and fetches `warm`, whatever the line did before.
static void check_query(uint32_t id) {
    assemble(warm);
    upload(assembly.bytes, assembly.count);
    ESK_CHECK_INT(run(id, assembly.count), ESK_OK);
    fetch(id);
    check_warm(logger.newest.time_s);
}

/// The last block of the query before is still there.
static void fetch_again(uint32_t id) {
    struct frame frame = block(id, logger.query.frame[6]);
    ESK_CHECK(frame.kind == 'b' && (int8_t)frame.bytes[5] == ESK_END);
}

/* The tests ---------------------------------------------------------------- */

ESK_TEST(logger_has_the_fingerprint_that_it_says) {
    begin();
    struct esk_table_info info;
    uint32_t fingerprint = 0;
    static uint64_t arena[1024];
    struct esk_volume volume;
    ESK_CHECK_INT(logger_sync(&logger), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, board_device(), ESK_MOUNT_READ_ONLY,
                                   arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&volume, "log", &info), ESK_OK);
    ESK_CHECK_INT(esk_table_fingerprint(&volume, &info, &fingerprint), ESK_OK);
    ESK_CHECK(fingerprint == logger_fingerprint);
    struct frame hello = ask('H', NULL, 0);
    ESK_CHECK(hello.kind == 'h' && hello.count == 16);
    ESK_CHECK(esk_load_u32(hello.bytes + 12) == fingerprint);
    type("schema\n", 7);
    ESK_CHECK(strstr(said, "CREATE TABLE log (") == said);
    ESK_CHECK(strstr(said, "\nok 2\n") != NULL);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_answers_a_program_that_comes_over_the_line) {
    size_t at = 0;
    begin();
    check_query(ID);
    assemble(means);
    upload(assembly.bytes, assembly.count);
    ESK_CHECK_INT(run(ID + 1, assembly.count), ESK_OK);
    fetch(ID + 1);
    ESK_CHECK_INT(answer.status, ESK_END);
    ESK_CHECK_INT(answer.bytes[at++], 0xFF); // NULL
    ESK_CHECK_INT(number_at(&at), ROWS);
    int64_t sum = 0;
    for (uint32_t time_s = FIRST_S; time_s < FIRST_S + ROWS; time_s++) {
        sum += temp_of(time_s);
    }
    ESK_CHECK_INT(number_at(&at), ROWS);
    ESK_CHECK_INT(number_at(&at), sum);
    ESK_CHECK_INT(number_at(&at), 0);
    ESK_CHECK_INT(answer.bytes[at++], sizeof(struct logger_row));
    ESK_CHECK(memcmp(answer.bytes + at, &logger.newest,
                     sizeof(struct logger_row)) == 0);
    esk_sim_destroy(sim);
}

/// Asks for the bound that ended a query.
static struct frame limit(uint32_t id) {
    uint8_t body[6];
    run_of(body, id, 0);
    return ask('L', body, 4);
}

ESK_TEST(logger_names_the_bound_that_ended_a_query) {
    static const struct {
        const char *text;
        uint8_t kind, most;
    } cases[] = {
        {".table 0\n.regs 1\n.helper 3 1 1 0 0 9\n.out int r0\n"
         "FOR c0 0 r0 r0 x\nb: LD r0 c0.u32 0\nGROUP h0\nNEXT c0 b\nx: HALT",
         3, 9},
        {".table 0\n.regs 1\n.helper 2 1 1 0 0 7\n.out int r0\n"
         "FOR c0 0 r0 r0 x\nb: LD r0 c0.u32 0\nPUSH h0\nNEXT c0 b\nx: HALT",
         2, 7},
        /* An overflow, and a query that does not fail. */
        {".regs 1\nLDI32 r0 2147483647\nMUL r0 r0 r0\nMUL r0 r0 r0\nHALT", 0,
         0},
        {".regs 1\nHALT", 0, 0},
    };
    begin();
    ESK_CHECK_INT(refusal(limit(ID)), ESK_NOT_FOUND);
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("program %u", (unsigned)i);
        assemble(cases[i].text);
        upload(assembly.bytes, assembly.count);
        ESK_CHECK_INT(run(ID + i, assembly.count), ESK_OK);
        fetch(ID + i);
        ESK_CHECK_INT(answer.status, i < 3 ? ESK_E_LIMIT : ESK_END);
        for (unsigned again = 0; again < 2; again++) {
            struct frame frame = limit(ID + i);
            ESK_CHECK(frame.kind == 'l' && frame.count == 9);
            ESK_CHECK(esk_load_u32(frame.bytes) == ID + i);
            ESK_CHECK_INT(frame.bytes[4], cases[i].kind);
            ESK_CHECK_INT(esk_load_u16(frame.bytes + 5), cases[i].most);
            ESK_CHECK_INT(esk_load_u16(frame.bytes + 7), cases[i].most);
        }
        ESK_CHECK_INT(refusal(limit(ID + i + 1)), ESK_NOT_FOUND);
    }
    esk_sim_destroy(sim);
}

ESK_TEST(logger_samples_every_second_while_a_query_runs) {
    begin();
    uint32_t last_s = logger.newest.time_s;
    assemble(warm);
    upload(assembly.bytes, assembly.count);
    ESK_CHECK_INT(run(ID, assembly.count), ESK_OK);
    step_s = 1; // each turn
    fetch(ID);
    step_s = 0;
    check_warm(last_s); // and no row that was sampled later
    struct esk_series_cursor cursor;
    struct logger_row row;
    uint32_t time_s = FIRST_S;
    ESK_CHECK_INT(esk_series_cursor_open(logger.series, &cursor, NULL), ESK_OK);
    while (esk_series_cursor_next(logger.series, &cursor, &row) == ESK_OK) {
        ESK_CHECK_INT(row.time_s, time_s++);
    }
    ESK_CHECK_INT(time_s - 1, logger.newest.time_s);
    ESK_CHECK(logger.newest.time_s > last_s + 50);
    ESK_CHECK_INT(logger.append_failures, 0);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_keeps_its_query_when_an_upload_is_cut_at_any_byte) {
    begin();
    check_query(ID);
    for (uint16_t cut = 0; cut < assembly.count; cut++) {
        ESK_CONTEXT("cut at byte %u", (unsigned)cut);
        upload(assembly.bytes, cut);
        ESK_CHECK_INT(run(ID + 1, assembly.count), ESK_E_CORRUPT);
        ESK_CHECK_INT(run(ID + 1, cut), ESK_E_CORRUPT);
        fetch_again(ID);
    }
    check_query(ID + 2);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_keeps_its_query_when_a_program_is_changed_in_any_byte) {
    begin();
    check_query(ID);
    for (uint16_t at = 0; at < assembly.count; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            ESK_CONTEXT("byte %u, bit %u", (unsigned)at, bit);
            assembly.bytes[at] ^= (uint8_t)(1u << bit);
            upload(assembly.bytes, assembly.count);
            ESK_CHECK(run(ID + 1, assembly.count) < 0);
            assembly.bytes[at] ^= (uint8_t)(1u << bit);
            fetch_again(ID);
        }
    }
    check_query(ID + 2);
    esk_sim_destroy(sim);
}

/// Each frame of a query, of which one character is lost or becomes another,
/// or the rest is lost; then the frame again, twice. The line has no `\n`.
static void damage(const char *line, size_t count, size_t at, unsigned how) {
    char torn[600];
    size_t bytes = count;
    memcpy(torn, line, count);
    if (how < 8) {
        torn[at] = (char)(torn[at] ^ (1 << how));
    } else if (how == 8) {
        memmove(torn + at, torn + at + 1, count - at - 1);
        bytes--;
    } else {
        bytes = at;
    }
    if (bytes > 0) {
        type(torn, bytes);
    }
    if (how >= 8 || at + 1 == count) {
        type("\n", 1); // as a host does before it repeats
    }
}

ESK_TEST(logger_answers_when_any_character_of_a_frame_is_lost_or_changed) {
    begin();
    assemble(warm);
    uint16_t pieces =
        (uint16_t)((assembly.count + PIECE_BYTES - 1u) / PIECE_BYTES);
    for (unsigned how = 0; how < 10; how++) {
        uint32_t id = ID + how;
        for (uint16_t i = 0; i <= pieces + 1u; i++) {
            uint8_t body[2 + PIECE_BYTES];
            char line[600];
            char kind = i < pieces ? 'P' : i == pieces ? 'R' : 'B';
            uint8_t bytes = run_of(body, id, kind == 'R' ? assembly.count : 0);
            if (kind == 'P') {
                bytes = piece_of(body, assembly.bytes,
                                 (uint16_t)(i * PIECE_BYTES), assembly.count);
            } else if (kind == 'B') {
                bytes--; // the number of a block is one byte
            }
            size_t count = frame_line(line, kind, body, bytes);
            for (size_t at = 0; at < count; at++) {
                ESK_CONTEXT("%c %u, character %zu, %u", kind, i, at, how);
                damage(line, count, at, how);
                struct frame first = ask(kind, body, bytes);
                struct frame again = ask(kind, body, bytes);
                ESK_CHECK(first.kind == (kind == 'P'   ? 'p'
                                         : kind == 'R' ? 'r'
                                                       : 'b'));
                if (kind != 'R') {
                    ESK_CHECK(memcmp(&first, &again, sizeof first) == 0);
                }
            }
        }
        fetch(id);
        check_warm(logger.newest.time_s);
    }
    esk_sim_destroy(sim);
}

ESK_TEST(logger_refuses_programs_that_it_cannot_run) {
    static const struct {
        const char *text;
        int status;
    } refused[] = {
        {".flags 2\n.regs 3\nFADD r0 r1 r2\nHALT", ESK_E_UNSUPPORTED},
        {".regs 2\n.helper 1 2 1 0 0 600\nPUSH h0\nHALT", ESK_E_NO_MEMORY},
    };
    begin();
    check_query(ID);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ESK_CONTEXT("program %zu", i);
        assemble(refused[i].text);
        upload(assembly.bytes, assembly.count);
        ESK_CHECK_INT(run(ID + 1, assembly.count), refused[i].status);
    }
    assemble(warm);
    assembly.bytes[16] ^= 1; // the table's fingerprint
    esk_assembly_seal(assembly.bytes, assembly.count);
    upload(assembly.bytes, assembly.count);
    ESK_CHECK_INT(run(ID + 1, assembly.count), ESK_E_SCHEMA);
    fetch_again(ID);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_refuses_frames_that_it_does_not_know) {
    static const char *const wrong[] = {":\n",    ":4\n",  ":48\n",
                                        ":480\n", ":zz\n", ":480012345678\n"};
    uint8_t body[2 + PIECE_BYTES] = {LOGGER_PROGRAM_BYTES_MAX - 10, 0};
    begin();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("line %zu", i);
        type(wrong[i], strlen(wrong[i]));
        ESK_CHECK_INT(refusal(heard()), ESK_E_CORRUPT);
    }
    ESK_CHECK_INT(refusal(ask('Z', NULL, 0)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(ask('H', body, 1)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(ask('P', body, 2)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(ask('R', body, 5)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(ask('B', body, 6)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(ask('L', body, 5)), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(refusal(block(ID, 0)), ESK_NOT_FOUND);
    // A piece behind one that was lost is not taken; nor is one too many.
    struct frame frame = ask('P', body, 2 + PIECE_BYTES);
    ESK_CHECK(frame.kind == 'p' && esk_load_u16(frame.bytes) == 0);
    static const uint8_t zeros[LOGGER_PROGRAM_BYTES_MAX];
    upload(zeros, LOGGER_PROGRAM_BYTES_MAX - 10);
    ESK_CHECK_INT(refusal(ask('P', body, 2 + PIECE_BYTES)), ESK_E_LIMIT);
    check_query(ID);
    ESK_CHECK_INT(refusal(block(ID + 1, 0)), ESK_NOT_FOUND);
    ESK_CHECK_INT(refusal(block(ID, 99)), ESK_E_INVALID);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_says_that_it_works_when_it_is_asked_again) {
    char line[64];
    uint8_t body[6];
    begin();
    assemble(means);
    upload(assembly.bytes, assembly.count);
    ESK_CHECK_INT(run(ID, assembly.count), ESK_OK);
    // Begin again, and ask twice before the rows have been read.
    assemble(means);
    upload(assembly.bytes, assembly.count);
    run_of(body, ID + 1, assembly.count);
    size_t count = frame_line(line, 'R', body, 6);
    typed = line;
    typed_bytes = count;
    while (typed_bytes > 0) {
        turn();
    }
    char asks[64];
    run_of(body, ID + 1, 0);
    count = frame_line(asks, 'B', body, 5);
    said_bytes = 0;
    for (unsigned i = 0; i < 2; i++) {
        typed = asks;
        typed_bytes = count;
        while (typed_bytes > 0) {
            ESK_CHECK_INT(logger_talk(&logger), ESK_OK);
        }
    }
    ESK_CHECK(heard().kind == 'w');
    type("count\n", 6); // commands are answered meanwhile
    ESK_CHECK(strstr(said, "\nok 1\n") != NULL);
    ESK_CHECK(heard().kind == 'b');
    fetch_again(ID + 1);
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
