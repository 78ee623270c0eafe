// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Sorting by runs on simulated media, beside a stable sort in memory.
#include <stdlib.h>

#include "base/bytes.h"
#include "esker/runs.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

enum { BLOCKS = 70, FIRST = 3, ROWS_MAX = 1000, SLOTS = 3, PAGE = 256 };

static struct esk_sim *sim;
static struct esk_device device;
static struct esk_scratch scratch;
static struct esk_runs runs;
static uint64_t memory[1024];
static uint32_t steps;

/// A key with many equal ones, some of them NULL, a second key and a number.
static void record_make(uint32_t i, esk_slot *values, uint8_t *nulls) {
    uint32_t mixed = (i + 1) * UINT32_C(2654435761) >> 7;
    values[0] = (esk_slot)(mixed % 97) - 40;
    values[1] = (esk_slot)(mixed % 5);
    values[2] = (esk_slot)i;
    nulls[0] = values[0] == 0;
    nulls[1] = 0;
    nulls[2] = 0;
}

static void start(const struct esk_geometry *geometry, uint32_t blocks) {
    const struct esk_sim_config config = {.geometry = *geometry};
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    failing_device_make(&device, esk_sim_device(sim));
    ESK_CHECK_INT(esk_scratch_init(&scratch, &device, FIRST, blocks), ESK_OK);
}

static void end(void) {
    ESK_CHECK_TEXT(esk_sim_violations(sim) != 0 ? esk_sim_violation(sim) : "",
                   "");
    esk_sim_destroy(sim);
}

static int begin(uint32_t bytes, uint16_t down) {
    const struct esk_order by = {.slots = SLOTS, .keys = 2, .down = down};
    memset(memory, 0xA5, sizeof memory);
    steps = 0;
    return esk_runs_begin(&runs, &by, memory, bytes, &scratch);
}

/// Steps as often as a call asks for it.
static int waited(int status) {
    steps++;
    return status == ESK_AGAIN ? esk_runs_step(&runs) : status;
}

static int push_all(uint32_t rows) {
    esk_slot values[SLOTS];
    uint8_t nulls[SLOTS];
    for (uint32_t i = 0; i < rows; i++) {
        int status = ESK_AGAIN;
        record_make(i, values, nulls);
        while ((status = esk_runs_push(&runs, values, nulls)) == ESK_AGAIN) {
            ESK_TRY(waited(status));
        }
        ESK_TRY(status);
    }
    return ESK_OK;
}

static int next(esk_slot *values, uint8_t *nulls) {
    int status = ESK_AGAIN;
    while ((status = esk_runs_next(&runs, values, nulls)) == ESK_AGAIN) {
        ESK_TRY(waited(status));
    }
    return status;
}

static const struct esk_order *compared_by;

static int compare(const void *a, const void *b) {
    esk_slot x[SLOTS];
    uint8_t x_nulls[SLOTS];
    struct {
        esk_slot slots[SLOTS];
        uint8_t nulls[SLOTS];
    } y;
    uint32_t i = *(const uint32_t *)a;
    uint32_t j = *(const uint32_t *)b;
    record_make(i, x, x_nulls);
    record_make(j, y.slots, y.nulls);
    int order = esk_order_compare(compared_by, x, x_nulls, y.slots);
    return order != 0 ? order : i < j ? -1 : 1;
}

/// Checks that all rows come in the order of a stable sort.
static void check_rows(uint32_t rows) {
    static uint32_t expected[ROWS_MAX];
    esk_slot values[SLOTS];
    esk_slot made[SLOTS];
    uint8_t nulls[SLOTS];
    uint8_t made_nulls[SLOTS];
    for (uint32_t i = 0; i < rows; i++) {
        expected[i] = i;
    }
    compared_by = &runs.records.by;
    qsort(expected, rows, sizeof expected[0], compare);
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CONTEXT("row %u of %u", (unsigned)i, (unsigned)rows);
        ESK_CHECK_INT(next(values, nulls), ESK_OK);
        record_make(expected[i], made, made_nulls);
        ESK_CHECK(memcmp(values, made, sizeof made) == 0 &&
                  memcmp(nulls, made_nulls, sizeof made_nulls) == 0);
    }
    ESK_CHECK_INT(next(values, nulls), ESK_END);
    ESK_CHECK_INT(next(values, nulls), ESK_END);
}

static const struct esk_geometry media[] = {
    ESK_NAND(BLOCKS + FIRST, 8, PAGE),
    ESK_NOR(BLOCKS + FIRST, 4, PAGE),
    ESK_OVERWRITTEN(BLOCKS + FIRST, 8, PAGE, 1),
};

ESK_TEST(runs_give_any_number_of_records_in_a_stable_order) {
    /* Of memory for 3 pages two runs are merged at a time. */
    static const uint32_t bytes[] = {3 * PAGE, 5 * PAGE, 20 * PAGE, 8000};
    static const uint32_t rows[] = {0, 1, 8, 15, 16, 17, 100, 500, 930};
    for (size_t m = 0; m < sizeof media / sizeof media[0]; m++) {
        for (size_t b = 0; b < sizeof bytes / sizeof bytes[0]; b++) {
            start(&media[m], BLOCKS);
            for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
                ESK_CONTEXT("medium %zu, %u bytes", m, (unsigned)bytes[b]);
                ESK_CHECK_INT(begin(bytes[b], r % 2 == 0 ? 0 : 1), ESK_OK);
                ESK_CHECK_INT(push_all(rows[r]), ESK_OK);
                check_rows(rows[r]);
            }
            end();
        }
    }
}

ESK_TEST(runs_that_fit_in_memory_leave_the_scratch_alone) {
    start(&media[0], BLOCKS);
    ESK_CHECK_INT(begin(20 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(runs.records.capacity), ESK_OK);
    check_rows(runs.records.capacity);
    ESK_CHECK_INT(steps, 0);
    ESK_CHECK_INT(scratch.turn, 0);
    ESK_CHECK_INT(esk_sim_op_count(sim), 0);
    end();
}

ESK_TEST(runs_take_a_page_a_step) {
    struct esk_sim_counters before;
    start(&media[0], BLOCKS);
    ESK_CHECK_INT(begin(4 * PAGE, 0), ESK_OK);
    esk_slot values[SLOTS];
    uint8_t nulls[SLOTS];
    uint32_t pushed = 0;
    int status = ESK_AGAIN;
    while (pushed < 500 || status != ESK_END) {
        record_make(pushed, values, nulls);
        status = pushed < 500 ? esk_runs_push(&runs, values, nulls)
                              : esk_runs_next(&runs, values, nulls);
        pushed += pushed < 500 && status == ESK_OK ? 1 : 0;
        if (status == ESK_AGAIN) {
            before = *esk_sim_counters(sim);
            ESK_CHECK_INT(esk_runs_step(&runs), ESK_OK);
            const struct esk_sim_counters *after = esk_sim_counters(sim);
            ESK_CHECK(after->reads - before.reads + after->programs -
                          before.programs <=
                      1);
            ESK_CHECK(after->erases - before.erases <= 1);
        }
    }
    end();
}

ESK_TEST(runs_name_what_is_too_small) {
    const struct esk_order wide = {.slots = 30, .keys = 1};
    start(&media[0], 1);
    ESK_CHECK_INT(begin(3 * PAGE - 1, 0), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_runs_begin(&runs, &wide, memory, 8000, &scratch),
                  ESK_E_GEOMETRY);
    ESK_CHECK_INT(begin(8000, 0), ESK_OK);
    ESK_CHECK_INT(esk_runs_begin(&runs, &wide, memory, 250, NULL),
                  ESK_E_NO_MEMORY);
    /* Without a scratch the memory is the bound. */
    const struct esk_order one = {.slots = SLOTS, .keys = 2};
    ESK_CHECK_INT(
        esk_runs_begin(&runs, &one, memory, 10 * ESK_RECORD_BYTES(SLOTS), NULL),
        ESK_OK);
    ESK_CHECK_INT(esk_runs_step(&runs), ESK_E_INVALID);
    ESK_CHECK_INT(push_all(10), ESK_OK);
    ESK_CHECK_INT(push_all(1), ESK_E_LIMIT);
    check_rows(10);
    /* A block of 8 pages, 7 records each. */
    ESK_CHECK_INT(begin(5 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(600), ESK_E_LIMIT);
    end();
    /* More runs than are merged at a time need the same again. */
    start(&media[0], 3);
    ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(14 * 7), ESK_OK);
    esk_slot values[SLOTS];
    uint8_t nulls[SLOTS];
    ESK_CHECK_INT(next(values, nulls), ESK_E_LIMIT);
    end();
    start(&media[0], 4);
    ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(14 * 7), ESK_OK);
    check_rows(14 * 7);
    /* A push behind the last record. */
    ESK_CHECK_INT(push_all(1), ESK_E_INVALID);
    ESK_CHECK_INT(esk_runs_step(&runs), ESK_E_INVALID);
    ESK_CHECK_INT(esk_scratch_init(&scratch, &device, FIRST, BLOCKS + 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_scratch_init(&scratch, &device, FIRST, 0), ESK_E_INVALID);
    ESK_CHECK_INT(device.ops->block_mark_bad(&device, FIRST + 2), ESK_OK);
    ESK_CHECK_INT(esk_scratch_init(&scratch, &device, FIRST, BLOCKS),
                  ESK_E_MEDIUM);
    end();
}

ESK_TEST(runs_of_a_sort_that_lost_the_scratch_are_stale) {
    struct esk_runs first;
    static uint64_t other[1024];
    start(&media[0], BLOCKS);
    ESK_CHECK_INT(begin(4 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(200), ESK_OK);
    first = runs;
    memcpy(other, memory, sizeof other);
    ESK_CHECK_INT(begin(4 * PAGE, 1), ESK_OK);
    ESK_CHECK_INT(push_all(200), ESK_OK);
    check_rows(200);
    memcpy(memory, other, sizeof other);
    runs = first;
    esk_slot values[SLOTS];
    uint8_t nulls[SLOTS];
    ESK_CHECK_INT(next(values, nulls), ESK_E_STALE);
    end();
}

ESK_TEST(runs_report_pages_that_they_cannot_read_or_write) {
    static const struct {
        enum read_failure as;
        int status;
    } cases[] = {{READ_BROKEN, ESK_E_IO},
                 {READ_CORRUPT, ESK_E_CORRUPT},
                 {READ_FLIPPED, ESK_E_CORRUPT},
                 {READ_ERASED, ESK_E_CORRUPT}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (uint32_t at = 1; at < 60; at += 7) {
            ESK_CONTEXT("case %zu, read %u", i, (unsigned)at);
            start(&media[0], BLOCKS);
            ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
            ESK_CHECK_INT(push_all(300), ESK_OK);
            fail_from(at, UINT32_MAX, cases[i].as);
            esk_slot values[SLOTS];
            uint8_t nulls[SLOTS];
            int status = ESK_OK;
            while (status == ESK_OK) {
                status = next(values, nulls);
            }
            ESK_CHECK_INT(status, cases[i].status);
            ESK_CHECK(fail_end());
            end();
        }
    }
    start(&media[0], BLOCKS);
    esk_sim_block_fail(sim, FIRST + 2);
    ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
    ESK_CHECK_INT(push_all(300), ESK_E_MEDIUM);
    end();
}

ESK_TEST(runs_after_a_power_loss_begin_on_what_it_left) {
    for (uint64_t cut = 1; cut < 120; cut += 9) {
        ESK_CONTEXT("cut at %u", (unsigned)cut);
        start(&media[0], BLOCKS);
        esk_sim_cut_at(sim, cut, ESK_SIM_CUT_PREFIX);
        ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
        int status = push_all(300);
        esk_slot values[SLOTS];
        uint8_t nulls[SLOTS];
        while (status == ESK_OK) {
            status = next(values, nulls);
        }
        ESK_CHECK_INT(status, ESK_E_IO);
        esk_sim_power_on(sim);
        ESK_CHECK_INT(esk_scratch_init(&scratch, &device, FIRST, BLOCKS),
                      ESK_OK);
        ESK_CHECK_INT(begin(3 * PAGE, 0), ESK_OK);
        ESK_CHECK_INT(push_all(300), ESK_OK);
        check_rows(300);
        end();
    }
}

ESK_TEST_MAIN()
