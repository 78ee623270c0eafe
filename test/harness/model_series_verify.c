// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Checks an open table against the model; see model_series.h.
#include <string.h>

#include "base/bytes.h"
#include "table/series/series.h"
#include "test/harness/model_series.h"

enum { GETS = 6, QUERIES = 2 };

static bool goes_back(const struct esk_model_series *model) {
    return model->table.parts == NULL || model->table.parts->back != NULL;
}

static bool has_ranges(const struct esk_model_series *model) {
    return model->table.parts == NULL || model->table.parts->ranges != NULL;
}

static bool must_see_value(const struct esk_model_series *model,
                           const struct esk_model_series_row *row) {
    return !model->lenient && row->var_position >= model->expected->var_keep;
}

/// Checks the value of the row at `bytes`, the model's `row`.
static bool value_verify(struct esk_model_series *model,
                         const struct esk_model_series_row *row,
                         const uint8_t *bytes) {
    struct esk_series_value value;
    uint32_t got = 0;
    uint32_t expected = esk_model_series_value_fill(model, row, model->value);
    memset(model->readback, 0, expected);
    int status = esk_series_value_open(model->series, bytes, &value);
    if (status == ESK_OK && value.bytes != expected) {
        return esk_model_series_fail(
            model, "value of key %lld: %lu bytes, not %lu", (long long)row->key,
            (unsigned long)value.bytes, (unsigned long)expected);
    }
    if (status == ESK_OK) {
        status = esk_series_value_read(model->series, &value, model->readback,
                                       expected, &got);
    }
    if (status == ESK_OK &&
        (got != expected ||
         memcmp(model->readback, model->value, expected) != 0)) {
        return esk_model_series_fail(model, "value of key %lld has other bytes",
                                     (long long)row->key);
    }
    if (status != ESK_OK && must_see_value(model, row)) {
        return esk_model_series_fail(
            model, "value of key %lld (var position %lu, kept from %lu): %s",
            (long long)row->key, (unsigned long)row->var_position,
            (unsigned long)model->expected->var_keep, esk_status_text(status));
    }
    /* A block of values may be half erased, too. */
    model->values_damaged += status == ESK_E_CORRUPT ? 1 : 0;
    return true;
}

/// Whether row `index` is in a block that may be erased, completely or in part:
/// then a read may succeed one time and not the next.
static bool may_be_dropped(const struct esk_model_series *model,
                           uint32_t index) {
    return model->expected->rows[index].position < model->expected->keep;
}

/// Checks a key read against erase_before.
static bool floor_verify(struct esk_model_series *model, uint32_t index) {
    const struct esk_model_series_expected *expected = model->expected;
    int64_t key = expected->rows[index].key;
    return !expected->has_floor || key >= expected->floor ||
           esk_model_series_fail(model, "key %lld is below erase_before's %lld",
                                 (long long)key, (long long)expected->floor);
}

/// Reads every row forward into model->found, except those that may be dropped.
static bool forward_verify(struct esk_model_series *model) {
    struct esk_series_cursor cursor;
    uint8_t bytes[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    uint8_t plain[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    struct esk_series_stats before;
    struct esk_series_stats after;
    uint32_t from = 0;
    esk_series_stats(model->series, &before);
    int status = esk_series_cursor_open(model->series, &cursor, NULL);
    model->found_count = 0;
    model->optional = 0;
    model->values_damaged = 0;
    while (status == ESK_OK) {
        status = esk_series_cursor_next(model->series, &cursor, bytes);
        if (status != ESK_OK) {
            break;
        }
        uint32_t index = 0;
        memcpy(plain, bytes, model->row_bytes);
        if (!esk_model_series_row_find(model, plain, from, &index)) {
            return esk_model_series_fail(
                model, "row %lu of the scan, near key %lld, was never accepted",
                (unsigned long)model->found_count,
                index < model->expected->count
                    ? (long long)model->expected->rows[index].key
                    : -1LL);
        }
        if (model->table.has_var &&
            !value_verify(model, &model->expected->rows[index], bytes)) {
            return false;
        }
        if (!may_be_dropped(model, index)) {
            model->found[model->found_count++] = index;
        } else {
            model->optional++;
        }
        if (!floor_verify(model, index)) {
            return false;
        }
        from = index + 1;
    }
    model->seen = from;
    esk_series_stats(model->series, &after);
    model->pages_passed = esk_series_cursor_damaged(&cursor);
    model->has_gap =
        model->pages_passed > after.pages_damaged - before.pages_damaged;
    if (status != ESK_END) {
        return esk_model_series_fail(model, "forward scan ends with %s",
                                     esk_status_text(status));
    }
    return true;
}

/// Checks the lowest key that the table keeps. An erase_before that failed did
/// nothing; where it could not find that out, a mount may find it committed.
static bool floor_key_verify(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    bool has_floor = esk_floor(model->series) > 0;
    int64_t floor = (int64_t)esk_key_from_order(
        esk_shape(model->series)->key_type, esk_floor(model->series));
    for (uint32_t i = 0; expected->crashed && i < expected->floors_maybe_count;
         i++) {
        if (has_floor && floor == expected->floors_maybe[i]) {
            expected->floor = floor;
            expected->has_floor = true;
        }
    }
    expected->floors_maybe_count =
        expected->crashed ? 0 : expected->floors_maybe_count;
    return (has_floor == expected->has_floor &&
            (!has_floor || floor == expected->floor)) ||
           esk_model_series_fail(
               model, "the table keeps keys from %lld on, not from %lld",
               (long long)floor, (long long)expected->floor);
}

/// Finds out whether the erase_after that a cut interrupted took effect.
static void left_resolve(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    if (expected->has_left && model->seen <= expected->left &&
        expected->count > expected->left) {
        expected->count = expected->left;
        if (expected->synced > expected->count) {
            expected->synced = expected->count;
        }
        if (expected->placed > expected->count) {
            expected->placed = expected->count;
        }
    }
    expected->has_left = false;
}

/// Checks that every required row was found.
static bool complete_verify(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t last = model->seen;
    uint32_t next = 0;
    for (uint32_t i = 0; i < expected->count; i++) {
        const struct esk_model_series_row *row = &expected->rows[i];
        bool dropped = expected->has_floor && row->key < expected->floor;
        bool there = next < model->found_count && model->found[next] == i;
        next += there ? 1 : 0;
        if (!there && !dropped && row->position >= expected->keep &&
            (i < expected->synced || i < last)) {
            return esk_model_series_fail(
                model,
                "key %lld is missing: row %lu of %lu, synced %lu, found up "
                "to %lu; position %lu, kept from %lu",
                (long long)row->key, (unsigned long)i,
                (unsigned long)expected->count, (unsigned long)expected->synced,
                (unsigned long)last, (unsigned long)row->position,
                (unsigned long)expected->keep);
        }
    }
    return true;
}

/// Removes the lost rows from the model's end.
static void model_drop_lost(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t count = model->seen;
    if (!expected->crashed) {
        return;
    }
    expected->crashed = false;
    expected->count = count;
    if (!expected->kept || expected->synced > count) {
        expected->synced = count;
    }
    expected->placed = count;
    if (count > 0) {
        expected->key_next = expected->rows[count - 1].key + 1;
    }
    if (expected->has_floor && expected->key_next < expected->floor) {
        expected->key_next = expected->floor;
    }
}

/// A query for the test, and its expected result.
struct model_series_query {
    struct esk_series_query query;
    struct esk_series_range range;
    int32_t lo;
    int32_t hi;
    int64_t key_min;
    int64_t key_max;
    bool by_w;
};

static void query_draw(struct esk_model_series *model,
                       struct model_series_query *query) {
    const struct esk_model_series_expected *expected = model->expected;
    const struct esk_model_series_row *row =
        &expected->rows[model->found[esk_model_series_random(
            model, model->found_count)]];
    const struct esk_model_series_row *other =
        &expected->rows[model->found[esk_model_series_random(
            model, model->found_count)]];
    memset(query, 0, sizeof *query);
    query->by_w = esk_model_series_random(model, 3) == 0;
    int32_t middle = query->by_w ? row->w : row->v;
    int32_t width =
        (int32_t)esk_model_series_random(model, query->by_w ? 120 : 400);
    query->lo = middle - (esk_model_series_random(model, 2) == 0 ? width : 0);
    query->hi = middle + (esk_model_series_random(model, 2) == 0 ? width : 0);
    query->key_min = INT64_MIN;
    query->key_max = INT64_MAX;
    query->range.column = query->by_w ? model->w_column : model->v_column;
    query->range.has_lo = true;
    query->range.has_hi = true;
    query->range.lo.i = query->lo;
    query->range.hi.i = query->hi;
    query->query.ranges = &query->range;
    query->query.range_count = has_ranges(model) ? 1 : 0;
    query->query.backward =
        esk_model_series_random(model, 2) == 0 && goes_back(model);
    if (esk_model_series_random(model, 4) == 0) {
        query->key_min = row->key < other->key ? row->key : other->key;
        query->key_max = row->key < other->key ? other->key : row->key;
        query->query.has_key_min = true;
        query->query.has_key_max = true;
        query->query.key_min = (esk_key)query->key_min;
        query->query.key_max = (esk_key)query->key_max;
    }
}

static bool query_takes(const struct model_series_query *query,
                        const struct esk_model_series_row *row) {
    int32_t value = query->by_w ? row->w : row->v;
    bool meets = value >= query->lo && value <= query->hi;
    return (meets || query->query.range_count == 0) &&
           row->key >= query->key_min && row->key <= query->key_max;
}

/// Runs `query` and compares it with a filter over the rows found. NULL: a
/// backward scan of everything.
static bool query_verify(struct esk_model_series *model,
                         struct model_series_query *query) {
    struct esk_series_query all = {.backward = true};
    struct esk_series_query *asked = query == NULL ? &all : &query->query;
    struct esk_series_cursor cursor;
    uint8_t bytes[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    int status = esk_series_cursor_open(model->series, &cursor, asked);
    uint32_t step = asked->backward ? UINT32_MAX : 1;
    uint32_t at = asked->backward ? model->found_count - 1 : 0;
    while (status == ESK_OK) {
        uint32_t index = 0;
        status = esk_series_cursor_next(model->series, &cursor, bytes);
        if (status == ESK_OK &&
            esk_model_series_row_find(model, bytes, 0, &index) &&
            may_be_dropped(model, index)) {
            continue;
        }
        while (at < model->found_count && query != NULL &&
               !query_takes(query, &model->expected->rows[model->found[at]])) {
            at += step;
        }
        bool more = at < model->found_count;
        if (status == ESK_END && !more) {
            return true;
        }
        if (status != ESK_OK || !more ||
            !esk_model_series_row_find(model, bytes, 0, &index) ||
            index != model->found[at]) {
            break;
        }
        at += step;
    }
    return esk_model_series_fail(
        model, "%s%s query %ld..%ld: %s where key %lld is due",
        asked->backward ? "backward" : "forward",
        query == NULL ? " scan" : (query->by_w ? " w" : " v"),
        query == NULL ? 0L : (long)query->lo,
        query == NULL ? 0L : (long)query->hi, esk_status_text(status),
        at < model->found_count
            ? (long long)model->expected->rows[model->found[at]].key
            : -1LL);
}

typedef int (*model_series_lookup)(struct esk_series *series, esk_key key,
                                   void *row);

/// Reads `key` and checks that the result is row `expected` of those found;
/// UINT32_MAX: none.
static bool lookup_verify(struct esk_model_series *model, const char *name,
                          model_series_lookup lookup, int64_t key,
                          uint32_t expected) {
    uint8_t bytes[ESK_MODEL_SERIES_ROW_BYTES_MAX];
    uint32_t index = 0;
    int status = lookup(model->series, (esk_key)key, bytes);
    /* Below the oldest row there may be rows of a block that is dropped in
       part, or a page whose program failed. */
    bool oldest = model->found_count == 0 ||
                  key < model->expected->rows[model->found[0]].key;
    bool may_miss = model->lenient || model->optional > 0 || oldest;
    bool none =
        status == ESK_NOT_FOUND || (may_miss && status == ESK_E_CORRUPT);
    bool row =
        status == ESK_OK && esk_model_series_row_find(model, bytes, 0, &index);
    bool right =
        expected == UINT32_MAX ? none : row && index == model->found[expected];
    return right || (row && may_be_dropped(model, index)) ||
           esk_model_series_fail(model, "%s(%lld): %s", name, (long long)key,
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

static bool lookups_verify(struct esk_model_series *model) {
    const struct esk_model_series_row *rows = model->expected->rows;
    uint32_t count = model->found_count;
    bool back = goes_back(model);
    if ((back &&
         !lookup_verify(model, "newest", newest_lookup, 0, count - 1)) ||
        !lookup_verify(model, "oldest", oldest_lookup, 0,
                       count > 0 ? 0 : UINT32_MAX)) {
        return false;
    }
    for (uint32_t i = 0; i < GETS && count > 0; i++) {
        uint32_t at = esk_model_series_random(model, count);
        int64_t key = rows[model->found[at]].key;
        uint32_t first = at;
        while (first > 0 && rows[model->found[first - 1]].key == key) {
            first--;
        }
        while (at + 1 < count && rows[model->found[at + 1]].key == key) {
            at++;
        }
        bool next = at + 1 < count && rows[model->found[at + 1]].key == key + 1;
        if (!lookup_verify(model, "get", esk_series_get, key, at) ||
            (back &&
             !lookup_verify(model, "floor", esk_series_floor, key, at)) ||
            !lookup_verify(model, "ceiling", esk_series_ceiling, key, first) ||
            (!next && !lookup_verify(model, "get", esk_series_get, key + 1,
                                     UINT32_MAX)) ||
            (back && !next &&
             !lookup_verify(model, "floor", esk_series_floor, key + 1, at)) ||
            (!next &&
             !lookup_verify(model, "ceiling", esk_series_ceiling, key + 1,
                            at + 1 < count ? at + 1 : UINT32_MAX))) {
            return false;
        }
    }
    return count == 0 ||
           lookup_verify(model, "get", esk_series_get,
                         rows[model->found[0]].key - 1, UINT32_MAX);
}

/// Whether `count` is a possible count of the rows found. The block that is
/// dropped next may be erased in part: one of its pages may be readable once
/// and not again, so its rows may be counted though no scan found them.
static bool count_holds(const struct esk_model_series *model, uint32_t count) {
    const struct esk_model_series_expected *expected = model->expected;
    uint32_t more = count - model->found_count;
    uint32_t first = model->found_count > 0 ? model->found[0] : 0;
    return more == 0 || (more <= first &&
                         expected->rows[first - 1].position < expected->keep);
}

/// Checks esk_series_count and esk_series_check.
static bool report_verify(struct esk_model_series *model) {
    struct esk_series_report report;
    uint32_t count = 0;
    int status = esk_series_count(model->series, &count);
    uint32_t span =
        model->found_count > 0
            ? model->found[model->found_count - 1] - model->found[0] + 1
            : 0;
    if (status != ESK_OK ||
        (span == model->found_count && model->optional == 0 &&
         !count_holds(model, count))) {
        return esk_model_series_fail(
            model, "count: %s, %lu of %lu", esk_status_text(status),
            (unsigned long)count, (unsigned long)model->found_count);
    }
    status = esk_series_check(model->series, &report);
    if (status != ESK_OK || report.rows < model->found_count ||
        report.index_wrong > 0 || report.rows_missing > 0 ||
        report.values_missing > 0) {
        return esk_model_series_fail(
            model,
            "check: %s, rows %lu of %lu, pages_damaged %lu, "
            "index_wrong %lu, rows_missing %lu, "
            "values_missing %lu",
            esk_status_text(status), (unsigned long)report.rows,
            (unsigned long)model->found_count,
            (unsigned long)report.pages_damaged,
            (unsigned long)report.index_wrong,
            (unsigned long)report.rows_missing,
            (unsigned long)report.values_missing);
    }
    if (model->has_gap) {
        return esk_model_series_fail(
            model, "a scan tells a gap between rows, check none");
    }
    return true;
}

bool esk_model_series_verify(struct esk_model_series *model, bool full) {
    struct model_series_query query;
    if (!floor_key_verify(model) || !forward_verify(model)) {
        return false;
    }
    left_resolve(model);
    if (!model->lenient && !complete_verify(model)) {
        return false;
    }
    if (full) {
        if ((goes_back(model) && !query_verify(model, NULL)) ||
            !lookups_verify(model) ||
            (!model->lenient && !report_verify(model))) {
            return false;
        }
        for (uint32_t i = 0; i < QUERIES && model->found_count > 0; i++) {
            query_draw(model, &query);
            if (!query_verify(model, &query)) {
                return false;
            }
        }
    }
    model_drop_lost(model);
    return true;
}
