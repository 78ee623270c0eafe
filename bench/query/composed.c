// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The five queries, composed by hand of the public operators in C and without
/// SQL: a source is opened with bounds and ranges and returns rows
/// (esker/query.h), slots are computed by the rules of arithmetic, and groups
/// are records (esker/compute.h). Nothing is known here of the rows' order but
/// what an operator says.
#include <string.h>

#include "bench/query/answer.h"
#include "esker/compute.h"
#include "esker/row.h"

enum {
    UWA,
    SEA,
    ETHYLENE,
    WATCH,
    ROW_BYTES = 16,
    VALUE_AT = 4, ///< of temp, air and x
    WIND_AT = 12,
    GROUPS = 128,
    SLOTS = 5, ///< of a group: its key, and
    KEY = 0,
    COUNT,
    SUM,
    LEAST,
    MOST,
};

/// A source that is open.
struct scan {
    const struct esk_source *source;
    struct esk_source_mark mark;
    uint64_t cursor[sizeof(struct esk_series_cursor) / 8 + 1];
    uint8_t row[ROW_BYTES];
};

static int scan_open(struct scan *scan, const struct esk_source *source,
                     const struct esk_source_bounds *bounds) {
    scan->source = source;
    if (source->cursor_bytes > sizeof scan->cursor ||
        source->row_bytes != ROW_BYTES) {
        return ESK_E_SCHEMA;
    }
    source->kind->mark(source, &scan->mark);
    return source->kind->open(source, &scan->mark, scan->cursor, bounds);
}

static int scan_next(struct scan *scan) {
    int status;
    do {
        status =
            scan->source->kind->next(scan->source, scan->cursor, scan->row);
    } while (status == ESK_AGAIN);
    return status;
}

static esk_slot column_i32(const struct scan *scan, uint8_t at) {
    return (int32_t)esk_load_u32(scan->row + at);
}

static esk_slot time_of(const struct scan *scan) {
    return esk_load_u32(scan->row);
}

/// Groups by one key, with the aggregates above.
struct groups {
    struct esk_records records;
    esk_slot row[SLOTS];
    uint8_t nulls[SLOTS];
    bool is_in; ///< the row is that of a group
    uint64_t memory[GROUPS * (SLOTS + 2)];
};

static void groups_begin(struct groups *groups) {
    memset(groups, 0, sizeof *groups);
    groups->records.by.slots = SLOTS;
    groups->records.by.keys = 1;
    groups->records.capacity = GROUPS;
    groups->records.memory = (uint8_t *)groups->memory;
    groups->records.values = groups->row;
    groups->records.nulls = groups->nulls;
    esk_records_clear(&groups->records);
}

/// Stores the group that the row is.
static void groups_leave(struct groups *groups) {
    if (groups->is_in) {
        esk_records_set(&groups->records);
    }
    groups->is_in = false;
}

/// Goes to the group of a key: `ends` begins a new one.
static void groups_enter(struct groups *groups, esk_slot key, esk_slot ends) {
    esk_slot *row = groups->row;
    groups_leave(groups);
    row[KEY] = key;
    groups->is_in = true;
    int status = esk_groups_find(&groups->records);
    if (status == ESK_NOT_FOUND) {
        row[COUNT] = row[SUM] = 0;
        row[LEAST] = row[MOST] = ends;
    } else {
        must(status, "groups");
        esk_records_get(&groups->records);
    }
}

/// Adds a row: `sum` to the sum, `ends` to the least and the most. Rows with
/// the key of the row before stay in its group.
static void groups_add(struct groups *groups, esk_slot key, esk_slot sum,
                       esk_slot ends) {
    static const esk_slot one = 1;
    esk_slot *row = groups->row;
    if (!groups->is_in || row[KEY] != key) {
        groups_enter(groups, key, ends);
    }
    must(esk_add(&row[COUNT], &row[COUNT], &one), "count");
    must(esk_add(&row[SUM], &row[SUM], &sum), "sum");
    row[LEAST] = ends < row[LEAST] ? ends : row[LEAST];
    row[MOST] = ends > row[MOST] ? ends : row[MOST];
}

/// No row follows: the groups are read from the first one on.
static void groups_read(struct groups *groups) {
    groups_leave(groups);
    groups->records.at = 0;
}

static struct groups groups;

/// The days of uwa: the mean of temp, and the ends of the column at `at`.
static void days_make(const struct esk_source *sources, uint8_t at) {
    static const struct esk_source_bounds all = {0};
    static const esk_slot day_s = 86400;
    struct scan scan;
    groups_begin(&groups);
    must(scan_open(&scan, &sources[UWA], &all), "open");
    while (scan_next(&scan) == ESK_OK) {
        esk_slot day = time_of(&scan);
        must(esk_divide(&day, &day, &day_s), "divide");
        groups_add(&groups, day, column_i32(&scan, VALUE_AT),
                   column_i32(&scan, at));
    }
    groups_read(&groups);
}

static void put_group_mean(struct answer *answer) {
    put_mean(answer, (double)groups.row[SUM] / (double)groups.row[COUNT]);
}

void composed_q1(const struct esk_source *sources, struct answer *answer) {
    days_make(sources, VALUE_AT);
    while (esk_records_next(&groups.records) == ESK_OK) {
        put(answer, groups.row[KEY]);
        put(answer, groups.row[LEAST]);
        put(answer, groups.row[MOST]);
        put_group_mean(answer);
        put_row(answer);
    }
}

void composed_q2(const struct esk_source *sources, struct answer *answer) {
    days_make(sources, WIND_AT);
    while (esk_records_next(&groups.records) == ESK_OK) {
        if (groups.row[MOST] > 150) {
            put(answer, groups.row[KEY]);
            put_group_mean(answer);
            put(answer, groups.row[MOST]);
            put_row(answer);
        }
    }
}

void composed_q3(const struct esk_source *sources, struct answer *answer) {
    static const struct esk_series_range range = {
        .column = 2, .has_lo = true, .lo.i = 1};
    static const struct esk_source_bounds bounds = {.range_count = 1,
                                                    .ranges = &range};
    const struct esk_source *source = &sources[ETHYLENE];
    struct scan scan;
    uint32_t count = 0;
    int status;
    must(scan_open(&scan, source, &bounds), "open");
    do {
        uint16_t pages = UINT16_MAX;
        status = source->count(source, scan.cursor, &pages, &count);
    } while (status == ESK_AGAIN);
    must(status, "count");
    put(answer, count);
    put_row(answer);
}

void composed_q4(const struct esk_source *sources, struct answer *answer) {
    static const esk_slot shift = 473385600;
    static const esk_slot least = 1420099200;
    static const esk_slot most = 1451635199;
    struct esk_source_bounds bounds = {.min = &least, .max = &most};
    struct scan sea, uwa;
    must(scan_open(&sea, &sources[SEA], &bounds), "open");
    esk_slot uwa_least, uwa_most;
    must(esk_subtract(&uwa_least, &least, &shift), "subtract");
    must(esk_subtract(&uwa_most, &most, &shift), "subtract");
    bounds.min = &uwa_least;
    bounds.max = &uwa_most;
    must(scan_open(&uwa, &sources[UWA], &bounds), "open");
    bool has = scan_next(&uwa) == ESK_OK;
    while (has && scan_next(&sea) == ESK_OK) {
        esk_slot time = time_of(&sea);
        esk_slot wanted;
        must(esk_subtract(&wanted, &time, &shift), "subtract");
        while (has && time_of(&uwa) < wanted) {
            has = scan_next(&uwa) == ESK_OK;
        }
        if (has && time_of(&uwa) == wanted) {
            put(answer, time);
            put(answer, column_i32(&sea, VALUE_AT));
            put(answer, column_i32(&uwa, VALUE_AT));
            put_row(answer);
        }
    }
}

void composed_q5(const struct esk_source *sources, struct answer *answer) {
    static const struct esk_series_range range = {
        .column = 1, .has_lo = true, .lo.i = 500000001};
    static const struct esk_source_bounds bounds = {.range_count = 1,
                                                    .ranges = &range};
    static const esk_slot width = 706000;
    struct scan scan;
    groups_begin(&groups);
    must(scan_open(&scan, &sources[WATCH], &bounds), "open");
    while (scan_next(&scan) == ESK_OK) {
        esk_slot bucket = time_of(&scan);
        must(esk_divide(&bucket, &bucket, &width), "divide");
        groups_add(&groups, bucket, 0, 0);
    }
    groups_read(&groups);
    while (esk_records_next(&groups.records) == ESK_OK) {
        put(answer, groups.row[KEY]);
        put(answer, groups.row[COUNT]);
        put_row(answer);
    }
}
