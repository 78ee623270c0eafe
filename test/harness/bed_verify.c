// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Holding an open table against the model; bed.h says what has to agree.
#include <string.h>

#include "base/bytes.h"
#include "test/harness/bed.h"

enum { GETS = 6, QUERIES = 2 };

static bool goes_back(const struct esk_bed *bed) {
    return bed->table.parts == NULL || bed->table.parts->back != NULL;
}

static bool has_ranges(const struct esk_bed *bed) {
    return bed->table.parts == NULL || bed->table.parts->ranges != NULL;
}

static bool must_see_value(const struct esk_bed *bed,
                           const struct esk_bed_row *row) {
    return !bed->lenient && row->var_position >= bed->model->var_keep;
}

/// Checks the value of the row at `bytes`, which is the model's `row`.
static bool value_verify(struct esk_bed *bed, const struct esk_bed_row *row,
                         const uint8_t *bytes) {
    uint32_t length = 0;
    uint32_t got = 0;
    uint32_t expected = esk_bed_value_fill(bed, row, bed->value);
    int status = esk_series_var_bytes(bed->series, bytes, &length);
    if (status != ESK_OK || length != expected) {
        return esk_bed_fail(bed, "value of key %lld: %lu bytes, not %lu",
                            (long long)row->key, (unsigned long)length,
                            (unsigned long)expected);
    }
    memset(bed->readback, 0, expected);
    status = esk_series_var_read(bed->series, bytes, 0, bed->readback, expected,
                                 &got);
    if (status == ESK_OK &&
        (got != expected || memcmp(bed->readback, bed->value, expected) != 0)) {
        return esk_bed_fail(bed, "value of key %lld has other bytes",
                            (long long)row->key);
    }
    if (status != ESK_OK && must_see_value(bed, row)) {
        return esk_bed_fail(
            bed, "value of key %lld (var position %lu, kept from %lu): %s",
            (long long)row->key, (unsigned long)row->var_position,
            (unsigned long)bed->model->var_keep, esk_status_text(status));
    }
    /* A block of values may be half erased, too. */
    bed->values_damaged += status == ESK_E_CORRUPT ? 1 : 0;
    return true;
}

/// Whether row `index` is in a block that may be erased already, or half
/// erased: then it may be read one time and not the next.
static bool may_be_dropped(const struct esk_bed *bed, uint32_t index) {
    return bed->model->rows[index].position < bed->model->keep;
}

/// Notes the lowest key read, and checks it against erase_before.
static bool floor_verify(struct esk_bed *bed, uint32_t index) {
    const struct esk_bed_model *model = bed->model;
    int64_t key = model->rows[index].key;
    bed->lowest = key < bed->lowest ? key : bed->lowest;
    return !model->has_floor || key >= model->floor ||
           esk_bed_fail(bed, "key %lld is below erase_before's %lld",
                        (long long)key, (long long)model->floor);
}

/// Reads every row forward into bed->found, those aside that may be dropped.
static bool forward_verify(struct esk_bed *bed) {
    struct esk_series_cursor cursor;
    uint8_t bytes[ESK_BED_ROW_BYTES_MAX];
    uint8_t plain[ESK_BED_ROW_BYTES_MAX];
    struct esk_series_stats before;
    struct esk_series_stats after;
    uint32_t from = 0;
    esk_series_stats(bed->series, &before);
    int status = esk_series_cursor_open(bed->series, &cursor, NULL);
    bed->found_count = 0;
    bed->optional = 0;
    bed->values_damaged = 0;
    bed->lowest = INT64_MAX;
    while (status == ESK_OK) {
        status = esk_series_cursor_next(bed->series, &cursor, bytes);
        if (status != ESK_OK) {
            break;
        }
        uint32_t index = 0;
        memcpy(plain, bytes, bed->row_bytes);
        if (!esk_bed_row_find(bed, plain, from, &index)) {
            return esk_bed_fail(
                bed, "row %lu of the scan, near key %lld, was never accepted",
                (unsigned long)bed->found_count,
                index < bed->model->count
                    ? (long long)bed->model->rows[index].key
                    : -1LL);
        }
        if (bed->table.has_var &&
            !value_verify(bed, &bed->model->rows[index], bytes)) {
            return false;
        }
        if (!may_be_dropped(bed, index)) {
            bed->found[bed->found_count++] = index;
        } else {
            bed->optional++;
        }
        if (!floor_verify(bed, index)) {
            return false;
        }
        from = index + 1;
    }
    bed->seen = from;
    esk_series_stats(bed->series, &after);
    bed->pages_passed = esk_series_cursor_damaged(&cursor);
    bed->has_gap =
        bed->pages_passed > after.pages_damaged - before.pages_damaged;
    if (status != ESK_END) {
        return esk_bed_fail(bed, "forward scan ends with %s",
                            esk_status_text(status));
    }
    return true;
}

/// Decides whether the erase_before that a cut interrupted took effect.
static void floor_settle(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    if (model->has_floor_maybe && bed->lowest >= model->floor_maybe) {
        if (!model->has_floor || model->floor_maybe > model->floor) {
            model->floor = model->floor_maybe;
        }
        model->has_floor = true;
    }
    model->has_floor_maybe = false;
}

/// Checks that every row that has to be there was found.
static bool complete_verify(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    uint32_t last = bed->seen;
    uint32_t next = 0;
    for (uint32_t i = 0; i < model->count; i++) {
        const struct esk_bed_row *row = &model->rows[i];
        bool dropped = model->has_floor && row->key < model->floor;
        bool there = next < bed->found_count && bed->found[next] == i;
        next += there ? 1 : 0;
        if (!there && !dropped && row->position >= model->keep &&
            (i < model->synced || i < last)) {
            return esk_bed_fail(
                bed,
                "key %lld is missing: row %lu of %lu, synced %lu, found up "
                "to %lu; position %lu, kept from %lu",
                (long long)row->key, (unsigned long)i,
                (unsigned long)model->count, (unsigned long)model->synced,
                (unsigned long)last, (unsigned long)row->position,
                (unsigned long)model->keep);
        }
    }
    return true;
}

/// Takes the rows that were lost off the model's end.
static void model_settle(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    uint32_t count = bed->seen;
    if (!model->crashed) {
        return;
    }
    model->crashed = false;
    model->count = count;
    if (!model->kept || model->synced > count) {
        model->synced = count;
    }
    model->placed = count;
    if (count > 0) {
        model->key_next = model->rows[count - 1].key + 1;
    }
    if (model->has_floor && model->key_next < model->floor) {
        model->key_next = model->floor;
    }
}

/// A query for the test, and what the model says to it.
struct bed_query {
    struct esk_query query;
    struct esk_range range;
    int32_t lo;
    int32_t hi;
    int64_t key_min;
    int64_t key_max;
    bool by_w;
};

static void query_draw(struct esk_bed *bed, struct bed_query *query) {
    const struct esk_bed_model *model = bed->model;
    const struct esk_bed_row *row =
        &model->rows[bed->found[esk_bed_random(bed, bed->found_count)]];
    const struct esk_bed_row *other =
        &model->rows[bed->found[esk_bed_random(bed, bed->found_count)]];
    memset(query, 0, sizeof *query);
    query->by_w = esk_bed_random(bed, 3) == 0;
    int32_t middle = query->by_w ? row->w : row->v;
    int32_t width = (int32_t)esk_bed_random(bed, query->by_w ? 120 : 400);
    query->lo = middle - (esk_bed_random(bed, 2) == 0 ? width : 0);
    query->hi = middle + (esk_bed_random(bed, 2) == 0 ? width : 0);
    query->key_min = INT64_MIN;
    query->key_max = INT64_MAX;
    query->range.column = query->by_w ? bed->w_column : bed->v_column;
    query->range.has_lo = true;
    query->range.has_hi = true;
    query->range.lo.i = query->lo;
    query->range.hi.i = query->hi;
    query->query.ranges = &query->range;
    query->query.range_count = has_ranges(bed) ? 1 : 0;
    query->query.backward = esk_bed_random(bed, 2) == 0 && goes_back(bed);
    if (esk_bed_random(bed, 4) == 0) {
        query->key_min = row->key < other->key ? row->key : other->key;
        query->key_max = row->key < other->key ? other->key : row->key;
        query->query.has_key_min = true;
        query->query.has_key_max = true;
        query->query.key_min = (esk_key)query->key_min;
        query->query.key_max = (esk_key)query->key_max;
    }
}

static bool query_takes(const struct bed_query *query,
                        const struct esk_bed_row *row) {
    int32_t value = query->by_w ? row->w : row->v;
    bool meets = value >= query->lo && value <= query->hi;
    return (meets || query->query.range_count == 0) &&
           row->key >= query->key_min && row->key <= query->key_max;
}

/// Runs `query` and compares it with a filter over the rows found. NULL: a
/// backward scan of everything.
static bool query_verify(struct esk_bed *bed, struct bed_query *query) {
    struct esk_query all = {.backward = true};
    struct esk_query *asked = query == NULL ? &all : &query->query;
    struct esk_series_cursor cursor;
    uint8_t bytes[ESK_BED_ROW_BYTES_MAX];
    int status = esk_series_cursor_open(bed->series, &cursor, asked);
    uint32_t step = asked->backward ? UINT32_MAX : 1;
    uint32_t at = asked->backward ? bed->found_count - 1 : 0;
    while (status == ESK_OK) {
        uint32_t index = 0;
        status = esk_series_cursor_next(bed->series, &cursor, bytes);
        if (status == ESK_OK && esk_bed_row_find(bed, bytes, 0, &index) &&
            may_be_dropped(bed, index)) {
            continue;
        }
        while (at < bed->found_count && query != NULL &&
               !query_takes(query, &bed->model->rows[bed->found[at]])) {
            at += step;
        }
        bool more = at < bed->found_count;
        if (status == ESK_END && !more) {
            return true;
        }
        if (status != ESK_OK || !more ||
            !esk_bed_row_find(bed, bytes, 0, &index) ||
            index != bed->found[at]) {
            break;
        }
        at += step;
    }
    return esk_bed_fail(
        bed, "%s%s query %ld..%ld: %s where key %lld is due",
        asked->backward ? "backward" : "forward",
        query == NULL ? " scan" : (query->by_w ? " w" : " v"),
        query == NULL ? 0L : (long)query->lo,
        query == NULL ? 0L : (long)query->hi, esk_status_text(status),
        at < bed->found_count ? (long long)bed->model->rows[bed->found[at]].key
                              : -1LL);
}

typedef int (*bed_lookup)(struct esk_series *series, esk_key key, void *row);

/// Looks `key` up and checks that the answer is row `expected` of those
/// found; UINT32_MAX: none.
static bool lookup_verify(struct esk_bed *bed, const char *name,
                          bed_lookup lookup, int64_t key, uint32_t expected) {
    uint8_t bytes[ESK_BED_ROW_BYTES_MAX];
    uint32_t index = 0;
    int status = lookup(bed->series, (esk_key)key, bytes);
    /* Below the oldest row may be what is left of a dropped block, or a page
       whose program failed. */
    bool oldest =
        bed->found_count == 0 || key < bed->model->rows[bed->found[0]].key;
    bool may_miss = bed->lenient || bed->optional > 0 || oldest;
    bool none =
        status == ESK_NOT_FOUND || (may_miss && status == ESK_E_CORRUPT);
    bool row = status == ESK_OK && esk_bed_row_find(bed, bytes, 0, &index);
    bool right =
        expected == UINT32_MAX ? none : row && index == bed->found[expected];
    return right || (row && may_be_dropped(bed, index)) ||
           esk_bed_fail(bed, "%s(%lld): %s", name, (long long)key,
                        status == ESK_OK ? "another row"
                                         : esk_status_text(status));
}

static int newest_lookup(struct esk_series *series, esk_key key, void *row) {
    (void)key;
    return esk_series_newest(series, row);
}

static int oldest_lookup(struct esk_series *series, esk_key key, void *row) {
    (void)key;
    return esk_series_oldest(series, row);
}

static bool lookups_verify(struct esk_bed *bed) {
    const struct esk_bed_row *rows = bed->model->rows;
    uint32_t count = bed->found_count;
    bool back = goes_back(bed);
    if ((back && !lookup_verify(bed, "newest", newest_lookup, 0, count - 1)) ||
        !lookup_verify(bed, "oldest", oldest_lookup, 0,
                       count > 0 ? 0 : UINT32_MAX)) {
        return false;
    }
    for (uint32_t i = 0; i < GETS && count > 0; i++) {
        uint32_t at = esk_bed_random(bed, count);
        int64_t key = rows[bed->found[at]].key;
        bool next = at + 1 < count && rows[bed->found[at + 1]].key == key + 1;
        if (!lookup_verify(bed, "get", esk_series_get, key, at) ||
            (back && !lookup_verify(bed, "floor", esk_series_floor, key, at)) ||
            !lookup_verify(bed, "ceiling", esk_series_ceiling, key, at) ||
            (!next &&
             !lookup_verify(bed, "get", esk_series_get, key + 1, UINT32_MAX)) ||
            (back && !next &&
             !lookup_verify(bed, "floor", esk_series_floor, key + 1, at)) ||
            (!next &&
             !lookup_verify(bed, "ceiling", esk_series_ceiling, key + 1,
                            at + 1 < count ? at + 1 : UINT32_MAX))) {
            return false;
        }
    }
    return count == 0 || lookup_verify(bed, "get", esk_series_get,
                                       rows[bed->found[0]].key - 1, UINT32_MAX);
}

/// What esk_series_count and esk_series_check say.
static bool report_verify(struct esk_bed *bed) {
    struct esk_series_report report;
    uint32_t count = 0;
    int status = esk_series_count(bed->series, &count);
    uint32_t span = bed->found_count > 0
                        ? bed->found[bed->found_count - 1] - bed->found[0] + 1
                        : 0;
    if (status != ESK_OK || (span == bed->found_count && bed->optional == 0 &&
                             count != bed->found_count)) {
        return esk_bed_fail(bed, "count: %s, %lu of %lu",
                            esk_status_text(status), (unsigned long)count,
                            (unsigned long)bed->found_count);
    }
    status = esk_series_check(bed->series, &report);
    if (status != ESK_OK || report.rows < bed->found_count ||
        report.index_wrong > 0 || report.rows_missing > 0 ||
        report.values_missing > 0) {
        return esk_bed_fail(bed,
                            "check: %s, rows %lu of %lu, pages_damaged %lu, "
                            "index_wrong %lu, rows_missing %lu, "
                            "values_missing %lu",
                            esk_status_text(status), (unsigned long)report.rows,
                            (unsigned long)bed->found_count,
                            (unsigned long)report.pages_damaged,
                            (unsigned long)report.index_wrong,
                            (unsigned long)report.rows_missing,
                            (unsigned long)report.values_missing);
    }
    if (bed->has_gap) {
        return esk_bed_fail(bed, "a scan tells a gap between rows, check none");
    }
    return true;
}

bool esk_bed_verify(struct esk_bed *bed, bool full) {
    struct bed_query query;
    if (!forward_verify(bed)) {
        return false;
    }
    floor_settle(bed);
    if (!bed->lenient && !complete_verify(bed)) {
        return false;
    }
    if (full) {
        if ((goes_back(bed) && !query_verify(bed, NULL)) ||
            !lookups_verify(bed) || (!bed->lenient && !report_verify(bed))) {
            return false;
        }
        for (uint32_t i = 0; i < QUERIES && bed->found_count > 0; i++) {
            query_draw(bed, &query);
            if (!query_verify(bed, &query)) {
                return false;
            }
        }
    }
    model_settle(bed);
    return true;
}
