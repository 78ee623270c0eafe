// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "bench/query/chip_sides.h"

#include <string.h>

#include "programs.h"

static uint64_t arena[CHIP_ARENA_BYTES / sizeof(uint64_t)];

/// Memory of the query that runs.
static union {
    struct esk_series_cursor cursors[2];
    struct q1 q1;
    struct q2 q2;
    struct q3 q3;
    struct q4 q4;
    struct q5 q5;
    struct esk_program program;
} state;

static void put(struct chip_answer *answer, uint32_t value) {
    answer->digest = (answer->digest << 5) - answer->digest + value;
}

/* ---------------------------------------------------------- hand-written */

struct days {
    int64_t sum;
    uint32_t count;
    uint32_t day;
    uint32_t end;
    int32_t least;
    int32_t most;
};

static void days_begin(struct days *days, uint32_t time) {
    days->day = time / 86400u;
    days->end = days->day * 86400u + 86399u;
    days->least = INT32_MAX;
    days->most = INT32_MIN;
    days->sum = 0;
    days->count = 0;
}

static void days_end(const struct days *days, bool second,
                     struct chip_answer *answer) {
    if (second && days->most <= 12) {
        return;
    }
    put(answer, days->day);
    if (!second) {
        put(answer, (uint32_t)days->least);
        put(answer, (uint32_t)days->most);
    }
    put(answer, (uint32_t)days->sum);
    put(answer, days->count);
    if (second) {
        put(answer, (uint32_t)days->most);
    }
    answer->rows++;
}

static int hand_q1(struct esk_series *sst, struct chip_answer *answer) {
    struct esk_series_cursor *cursor = &state.cursors[0];
    struct sst row;
    struct days days = {.count = 0};
    int status = ESK_OK;
    ESK_TRY(esk_series_cursor_open(sst, cursor, NULL));
    while ((status = esk_series_cursor_next(sst, cursor, &row)) == ESK_OK) {
        if (days.count == 0 || row.time > days.end) {
            if (days.count != 0) {
                days_end(&days, false, answer);
            }
            days_begin(&days, row.time);
        }
        days.least = row.temp < days.least ? row.temp : days.least;
        days.most = row.temp > days.most ? row.temp : days.most;
        days.sum += row.temp;
        days.count++;
    }
    if (days.count != 0) {
        days_end(&days, false, answer);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int hand_q2(struct esk_series *sst, struct chip_answer *answer) {
    struct esk_series_cursor *cursor = &state.cursors[0];
    struct sst row;
    struct days days = {.count = 0};
    int status = ESK_OK;
    ESK_TRY(esk_series_cursor_open(sst, cursor, NULL));
    while ((status = esk_series_cursor_next(sst, cursor, &row)) == ESK_OK) {
        if (days.count == 0 || row.time > days.end) {
            if (days.count != 0) {
                days_end(&days, true, answer);
            }
            days_begin(&days, row.time);
        }
        days.most = row.step > days.most ? row.step : days.most;
        days.sum += row.temp;
        days.count++;
    }
    if (days.count != 0) {
        days_end(&days, true, answer);
    }
    return status == ESK_END ? ESK_OK : status;
}

static int hand_q3(struct esk_series *sst, struct chip_answer *answer) {
    struct esk_series_range range = {
        .column = SST_TEMP, .has_lo = true, .lo.i = 601};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint32_t count = 0;
    ESK_TRY(esk_series_cursor_open(sst, &state.cursors[0], &query));
    ESK_TRY(esk_series_cursor_count(sst, &state.cursors[0], &count));
    put(answer, count);
    answer->rows++;
    return ESK_OK;
}

static int hand_q4(struct esk_series *sst, struct chip_answer *answer) {
    const uint32_t shift = 2592000u;
    struct esk_series_cursor *now = &state.cursors[0];
    struct esk_series_cursor *before = &state.cursors[1];
    struct sst row;
    struct sst other;
    struct esk_series_query query = {.has_key_min = true,
                                     .has_key_max = true,
                                     .key_min = 1458950400u,
                                     .key_max = 1463270399u};
    ESK_TRY(esk_series_cursor_open(sst, now, &query));
    query.key_min -= shift;
    query.key_max -= shift;
    ESK_TRY(esk_series_cursor_open(sst, before, &query));
    int status = esk_series_cursor_next(sst, before, &other);
    while (status == ESK_OK) {
        status = esk_series_cursor_next(sst, now, &row);
        while (status == ESK_OK && other.time < row.time - shift) {
            status = esk_series_cursor_next(sst, before, &other);
        }
        if (status == ESK_OK && other.time == row.time - shift) {
            put(answer, row.time);
            put(answer, (uint32_t)row.temp);
            put(answer, (uint32_t)other.temp);
            answer->rows++;
        }
    }
    return status == ESK_END ? ESK_OK : status;
}

static void weeks_end(uint32_t bucket, uint32_t count,
                      struct chip_answer *answer) {
    if (count != 0) {
        put(answer, bucket);
        put(answer, count);
        answer->rows++;
    }
}

static int hand_q5(struct esk_series *sst, struct chip_answer *answer) {
    struct esk_series_cursor *cursor = &state.cursors[0];
    struct sst row;
    struct esk_series_range range = {
        .column = SST_TEMP, .has_lo = true, .lo.i = 601};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint32_t bucket = 0;
    uint32_t end = 0;
    uint32_t count = 0;
    int status = ESK_OK;
    ESK_TRY(esk_series_cursor_open(sst, cursor, &query));
    while ((status = esk_series_cursor_next(sst, cursor, &row)) == ESK_OK) {
        if (count == 0 || row.time > end) {
            weeks_end(bucket, count, answer);
            bucket = row.time / 604800u;
            end = bucket * 604800u + 604799u;
            count = 0;
        }
        count++;
    }
    weeks_end(bucket, count, answer);
    return status == ESK_END ? ESK_OK : status;
}

int chip_hand(struct esk_series *sst, uint8_t query,
              struct chip_answer *answer) {
    switch (query) {
    case 0:
        return hand_q1(sst, answer);
    case 1:
        return hand_q2(sst, answer);
    case 2:
        return hand_q3(sst, answer);
    case 3:
        return hand_q4(sst, answer);
    default:
        return hand_q5(sst, answer);
    }
}

/* ------------------------------------------------------------- generated */

/// Defines generated_NAME, which runs a query and calls ROW for its rows.
#define GENERATED(NAME, ROW)                                                   \
    static int generated_##NAME(struct esk_series *sst,                        \
                                struct chip_answer *answer) {                  \
        struct NAME##_row row;                                                 \
        int status = ESK_OK;                                                   \
        ESK_TRY(NAME##_open(&state.NAME, sst));                                \
        while ((status = NAME##_next(&state.NAME, &row)) == ESK_OK) {          \
            ROW;                                                               \
            answer->rows++;                                                    \
        }                                                                      \
        return status == ESK_END ? ESK_OK : status;                            \
    }

static void put_mean(struct chip_answer *answer, struct esk_avg mean) {
    put(answer, (uint32_t)mean.sum);
    put(answer, (uint32_t)mean.count);
}

GENERATED(q1, (put(answer, (uint32_t)row.day), put(answer, (uint32_t)row.least),
               put(answer, (uint32_t)row.most), put_mean(answer, row.mean)))
GENERATED(q2, (put(answer, (uint32_t)row.day), put_mean(answer, row.mean),
               put(answer, (uint32_t)row.most)))
GENERATED(q3, put(answer, (uint32_t)row.rows))
GENERATED(q4, (put(answer, row.time), put(answer, (uint32_t)row.temp_now),
               put(answer, (uint32_t)row.temp_before)))
GENERATED(q5,
          (put(answer, (uint32_t)row.bucket), put(answer, (uint32_t)row.rows)))

int chip_generated(struct esk_series *sst, uint8_t query,
                   struct chip_answer *answer) {
    switch (query) {
    case 0:
        return generated_q1(sst, answer);
    case 1:
        return generated_q2(sst, answer);
    case 2:
        return generated_q3(sst, answer);
    case 3:
        return generated_q4(sst, answer);
    default:
        return generated_q5(sst, answer);
    }
}

/* --------------------------------------------------------------- machine */

static const struct esk_query_parts parts = {.joins = &esk_query_part_joins,
                                             .ranges = &esk_query_part_ranges};

static void source_make(struct esk_source *source, struct esk_series *sst) {
    esk_source_series(source, sst, SST_FINGERPRINT);
    esk_source_series_counts(source);
}

int chip_machine(struct esk_series *sst, uint8_t query,
                 struct chip_answer *answer) {
    struct esk_source source;
    struct esk_output value;
    int status = ESK_OK;
    source_make(&source, sst);
    ESK_TRY(esk_program_begin(&state.program, query_programs[query],
                              query_bytes[query], &parts, &source, 1, arena,
                              sizeof arena));
    for (;;) {
        status = esk_program_step(&state.program, 0);
        if (status == ESK_AGAIN) {
            continue;
        }
        if (status != ESK_OK) {
            return status == ESK_END ? ESK_OK : status;
        }
        for (uint8_t i = 0;
             esk_program_row(&state.program, i, &value) == ESK_OK; i++) {
            if (value.type == 3) { /* a mean: its sum and its count */
                put(answer, (uint32_t)value.slots[1]);
            }
            put(answer, (uint32_t)value.slots[0]);
        }
        answer->rows++;
    }
}

int chip_check(struct esk_series *sst, uint8_t query,
               struct chip_answer *answer) {
    struct esk_source source;
    struct esk_program_report report;
    source_make(&source, sst);
    ESK_TRY(esk_program_check(query_programs[query], query_bytes[query], &parts,
                              &source, 1, &report));
    put(answer, report.at);
    return ESK_OK;
}
