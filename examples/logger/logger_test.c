// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The logger on a simulated chip that loses power again and again.
///
/// The board is the simulator, a clock that may restart, and a line on which
/// the test sends commands: it checks what a user would see.
#include "examples/logger/logger.h"

#include "examples/logger/board.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

enum {
    ROWS_MAX = 1u << 16,
    ANSWER_BYTES = 4u << 20,
    RESETS = 1000,
    BLOCK_ROWS_MAX = 80
};

static struct esk_sim *sim;
static uint32_t seconds;
static uint64_t state;
static const char *typed = "";
static char answer[ANSWER_BYTES];
static size_t answer_bytes;

/// Every row that was accepted: rows[0..synced) must be there, later ones may.
static struct logger_row rows[ROWS_MAX];
static uint32_t row_count;
static uint32_t synced;
static uint32_t samples;
static uint32_t cuts_in_recovery;
static struct logger logger;

static uint32_t drawn(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % below);
}

int board_start(void) {
    return ESK_OK;
}

const struct esk_device *board_device(void) {
    return esk_sim_device(sim);
}

uint32_t board_seconds(void) {
    return seconds;
}

/// Each sample has other bits, so no row can be mistaken for another.
void board_sample(struct logger_row *row) {
    row->temp_centi = (int16_t)((int32_t)drawn(6000) - 2000);
    row->light = (uint16_t)drawn(65536);
    row->supply_mv = (uint16_t)samples;
    ESK_CHECK(row_count < ROWS_MAX);
    rows[row_count] = *row;
    samples++;
}

int board_get(void) {
    return *typed == '\0' ? -1 : *typed++;
}

void board_put(char character) {
    ESK_CHECK(answer_bytes + 1 < sizeof answer);
    answer[answer_bytes++] = character;
    answer[answer_bytes] = '\0';
}

bool board_idle(void) {
    return true;
}

/// One turn; records which rows were accepted and which were synced.
static int turn(void) {
    uint32_t before = samples;
    uint32_t failures = logger.append_failures;
    int status = logger_poll(&logger);
    if (samples != before && logger.append_failures == failures) {
        row_count++;
    }
    if (status == ESK_OK && logger.unsynced == 0) {
        synced = row_count;
    }
    return status;
}

/// Sends a command and receives the answer, while the clock stands still.
static void ask(const char *command) {
    answer_bytes = 0;
    answer[0] = '\0';
    typed = command;
    do {
        ESK_CHECK_INT(turn(), ESK_OK);
    } while (*typed != '\0' || logger.answering || answer_bytes == 0);
    typed = ""; // the command was the caller's
}

/// Reads the next row of the answer; false at its `ok`.
static bool answered_row(const char **at, struct logger_row *row) {
    unsigned time_s = 0;
    int temp = 0;
    unsigned light = 0;
    unsigned supply = 0;
    unsigned boot = 0;
    int bytes = 0;
    if (sscanf(*at, "%u,%d,%u,%u,%u\n%n", &time_s, &temp, &light, &supply,
               &boot, &bytes) != 5) {
        return false;
    }
    *at += bytes;
    *row = (struct logger_row){time_s, (int16_t)temp, (uint16_t)light,
                               (uint16_t)supply, (uint16_t)boot};
    return true;
}

static bool rows_equal(const struct logger_row *a, const struct logger_row *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/// Compares the answer with the rows of rows[first..] whose time, or for
/// `by_value` whose temperature, is lo .. hi.
static void check_answer(uint32_t first, bool by_value, int64_t lo,
                         int64_t hi) {
    const char *at = answer;
    struct logger_row row;
    uint32_t count = 0;
    unsigned told = 0;
    for (uint32_t i = first; i < row_count; i++) {
        int64_t number =
            by_value ? (int64_t)rows[i].temp_centi : (int64_t)rows[i].time_s;
        if (number < lo || number > hi) {
            continue;
        }
        ESK_CHECK(answered_row(&at, &row));
        ESK_CHECK(rows_equal(&row, &rows[i]));
        count++;
    }
    ESK_CHECK_INT(sscanf(at, "ok %u\n", &told), 1);
    ESK_CHECK_INT(told, count);
}

/// Reads all rows after a reset: a run of rows[] without a gap, up to at least
/// the last synced row, from rows[0] on when `from_start`. Rows after the run
/// are lost, so they are removed here, too. If the oldest rows are dropped,
/// some pages of a block whose erase was cut may still be readable and others
/// not: they had been dropped already.
static void check_survivors(bool from_start) {
    struct esk_series_cursor cursor;
    struct logger_row row;
    uint32_t first = 0;
    uint32_t count = 0;
    int status = esk_series_cursor_open(logger.series, &cursor, NULL);
    while (status == ESK_OK && (status = esk_series_cursor_next(
                                    logger.series, &cursor, &row)) == ESK_OK) {
        uint32_t next = first + count;
        while (next < row_count && rows[next].time_s != row.time_s) {
            next++;
        }
        ESK_CHECK(next < row_count);
        ESK_CHECK(rows_equal(&row, &rows[next]));
        if (next != first + count) {
            // Only at the old end: the block that was being erased.
            ESK_CHECK(!from_start && count <= BLOCK_ROWS_MAX);
            first = next;
            count = 0;
        }
        count++;
    }
    ESK_CHECK_INT(status, ESK_END);
    ESK_CHECK(!from_start || count == 0 || first == 0);
    ESK_CHECK(count > 0 || synced == 0);
    ESK_CHECK(count == 0 || first + count >= synced);
    row_count = count == 0 ? 0 : first + count;
    synced = row_count;
}

/// Index in rows[] of the oldest row that is there now.
static uint32_t first_kept(void) {
    struct logger_row oldest;
    uint32_t first = 0;
    if (esk_series_oldest(logger.series, &oldest) != ESK_OK) {
        return row_count;
    }
    while (rows[first].time_s != oldest.time_s) {
        first++;
        ESK_CHECK(first < row_count);
    }
    return first;
}

/// Sends every command, when no erase ahead is due.
static void check_questions(void) {
    char command[64];
    char wanted[64];
    const char *at = answer;
    struct logger_row row;
    seconds = 0;
    for (unsigned i = 0; i < 4; i++) {
        ESK_CHECK_INT(turn(), ESK_OK);
    }
    uint32_t first = first_kept();
    ask("count\n");
    snprintf(wanted, sizeof wanted, "%u\nok 1\n",
             (unsigned)(row_count - first));
    ESK_CHECK(strcmp(answer, wanted) == 0);
    ask("last\n");
    if (row_count == 0) {
        ESK_CHECK(strcmp(answer, "ok 0\n") == 0);
        return;
    }
    ESK_CHECK(answered_row(&at, &row));
    ESK_CHECK(rows_equal(&row, &rows[row_count - 1]));

    uint32_t from = rows[drawn(row_count)].time_s;
    uint32_t to = from + drawn(300);
    snprintf(command, sizeof command, "range %u %u\n", (unsigned)from,
             (unsigned)to);
    ask(command);
    check_answer(first, false, from, to);
    int32_t lo = (int32_t)drawn(6000) - 2000;
    int32_t hi = lo + (int32_t)drawn(60);
    snprintf(command, sizeof command, "value %d %d\n", (int)lo, (int)hi);
    ask(command);
    check_answer(first, true, lo, hi);
}

/// Cuts the power at one of the next `operations` programs and erases.
static void cut_soon(uint32_t operations) {
    esk_sim_cut_at(sim, esk_sim_op_count(sim) + drawn(operations),
                   ESK_SIM_CUT_DRAWN);
}

static void cut_not(void) {
    esk_sim_cut_at(sim, 0, ESK_SIM_CUT_NONE);
}

/// One life: starts, and unless the power fails in that recovery, answers
/// commands, then samples until the power fails inside a program or an erase,
/// or between two turns.
static void live(const struct logger_config *config, bool from_start) {
    cut_soon(12);
    seconds = drawn(2) == 0 ? 0 : 10 * samples; // reset, or with a battery
    int status = logger_start(&logger, config);
    if (status == ESK_OK) {
        cut_not();
        check_survivors(from_start);
        check_questions();
        cut_soon(24);
    } else {
        cuts_in_recovery++;
    }
    for (uint32_t i = drawn(120); status == ESK_OK && i > 0; i--) {
        seconds += drawn(3);
        status = turn();
    }
    ESK_CHECK(status == ESK_OK || !esk_sim_is_on(sim));
    cut_not();
    esk_sim_power_off(sim);
    esk_sim_power_on(sim);
}

static void check_resets(const struct esk_geometry *geometry, uint64_t seed,
                         const struct logger_config *config, bool from_start) {
    const struct esk_sim_config chip = {.geometry = *geometry, .seed = seed};
    uint32_t resets = esk_test_rounds(RESETS / 4, RESETS);
    ESK_CHECK_INT(esk_sim_create(&sim, &chip), ESK_OK);
    state = seed;
    seconds = row_count = synced = samples = cuts_in_recovery = 0;
    for (unsigned reset = 0; reset < resets; reset++) {
        char text[128];
        esk_sim_describe(sim, text, sizeof text);
        ESK_CONTEXT("reset %u, %s", reset, text);
        live(config, from_start);
    }
    ESK_CHECK_INT(esk_sim_violations(sim), 0);
    ESK_CHECK(samples > 10 * resets);
    ESK_CHECK(cuts_in_recovery > 0);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_keeps_every_synced_row_through_1000_resets) {
    const struct esk_geometry nor = {.block_count = 4096,
                                     .block_pages = 8,
                                     .page_bytes = 512,
                                     .program_bytes = 1,
                                     .erased_value = 0xFF};
    const struct logger_config config = {.period_s = 1, .sync_rows = 8};
    check_resets(&nor, 1, &config, true);
}

ESK_TEST(logger_keeps_the_newest_rows_of_a_full_chip_through_1000_resets) {
    const struct esk_geometry nor = {.block_count = 24,
                                     .block_pages = 4,
                                     .page_bytes = 256,
                                     .program_bytes = 1,
                                     .erased_value = 0xFF};
    const struct logger_config config = {.period_s = 2, .sync_rows = 5};
    check_resets(&nor, 2, &config, false);
}

ESK_TEST(logger_keeps_every_synced_row_where_a_page_is_programmed_once) {
    const struct esk_geometry nand = {.block_count = 2048,
                                      .block_pages = 32,
                                      .page_bytes = 512,
                                      .program_bytes = 512,
                                      .programs_per_page_max = 1,
                                      .erased_value = 0xFF};
    const struct logger_config config = {.period_s = 1, .sync_rows = 16};
    check_resets(&nand, 3, &config, true);
}

/// A logger on a fresh chip of 64 blocks with `count` rows, a second apart.
static void begin(uint32_t count) {
    static const struct logger_config config = {.period_s = 1, .sync_rows = 4};
    const struct esk_sim_config chip = {.geometry = {.block_count = 64,
                                                     .block_pages = 8,
                                                     .page_bytes = 512,
                                                     .program_bytes = 1,
                                                     .erased_value = 0xFF},
                                        .seed = 5};
    ESK_CHECK_INT(esk_sim_create(&sim, &chip), ESK_OK);
    state = 5;
    seconds = 100;
    row_count = synced = samples = 0;
    typed = "";
    ESK_CHECK_INT(logger_start(&logger, &config), ESK_OK);
    while (row_count < count) {
        ESK_CHECK_INT(turn(), ESK_OK);
        seconds++;
    }
    seconds--;
}

ESK_TEST(logger_refuses_unknown_commands) {
    static const char *const wrong[] = {
        "lost\n",
        "range\n",
        "range 1\n",
        "range 1 2 3\n",
        "range 1 x\n",
        "value 1\n",
        "value - 1\n",
        "range 1 4294967296\n",
        "count 1\n",
        " count\n",
        "counting sheep until the line is much too long to be kept\n",
    };
    begin(3);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("command %zu", i);
        ask(wrong[i]);
        ESK_CHECK(strcmp(answer, "error -17\n") == 0);
    }
    ask("\r\n\ncount\r\n");
    ESK_CHECK(strcmp(answer, "3\nok 1\n") == 0);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_answers_bounds_that_no_row_can_meet) {
    begin(50);
    ask("range 10 5\n");
    check_answer(0, false, 10, 5);
    ask("range -7 -1\n");
    check_answer(0, false, -7, -1);
    ask("range -7 120\n");
    check_answer(0, false, -7, 120);
    ask("value 5 1\n");
    check_answer(0, true, 5, 1);
    ask("value -100000 100000\n");
    check_answer(0, true, -100000, 100000);
    ask("value -4294967295 -100000\n");
    check_answer(0, true, -4294967295, -100000);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_samples_while_an_answer_goes_out) {
    begin(200);
    typed = "range 0 4294967295\n";
    answer_bytes = 0;
    do {
        seconds++;
        ESK_CHECK_INT(turn(), ESK_OK);
    } while (row_count < 300);
    while (logger.answering) {
        ESK_CHECK_INT(turn(), ESK_OK);
    }
    check_answer(0, false, 0, UINT32_MAX);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_never_formats_over_what_it_cannot_read) {
    begin(20);
    for (esk_page_id page = 0; page < 64 * 8; page++) {
        const uint8_t junk[16] = {0x5A};
        ESK_CHECK_INT(esk_sim_poke(sim, page, 0, junk, sizeof junk), ESK_OK);
    }
    uint64_t operations = esk_sim_op_count(sim);
    const struct logger_config config = {0};
    ESK_CHECK(logger_start(&logger, &config) < 0);
    ESK_CHECK_INT(esk_sim_op_count(sim), operations);
    esk_sim_destroy(sim);
}

ESK_TEST(logger_goes_on_when_the_clock_is_set_back) {
    begin(20);
    uint32_t before = rows[19].time_s;
    seconds = 3;
    for (unsigned i = 0; i < 10; i++) {
        ESK_CHECK_INT(turn(), ESK_OK);
        seconds++;
    }
    ESK_CHECK(row_count >= 28);
    ESK_CHECK_INT(rows[20].time_s, before + 1);
    ESK_CHECK_INT(logger.append_failures, 0);
    esk_sim_destroy(sim);
}

ESK_TEST_MAIN()
