// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Series under damage: every row is a function of its number, so each row that
/// is read is compared with that, bit by bit.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/damage/damage.h"

enum {
    BODY_BYTES = 42, ///< of a row, random, so that pages differ
    ROW_BYTES_MAX = 4 + 2 + BODY_BYTES + ESK_VAR_REF_BYTES,
    VALUE_BYTES_MAX = 200,
    ROWS_MAX = 20000,
    VALUE_SPREAD = 920,
    NODES = 23,    ///< of values that are noise: a query of each
    GET_EVERY = 5, ///< one row in so many is also read by get
};

enum row_state {
    ROW_NEVER,    ///< not written
    ROW_TRIED,    ///< an append failed, or was unsynced at the close
    ROW_ACCEPTED, ///< appended, not synced
    ROW_SYNCED,
    ROW_ERASED, ///< below the floor
};

struct series_run {
    struct table *table;
    struct trial *trial;
    struct esk_series *series;
    int stage;
    bool twin;  ///< nothing is damaged: nothing may be reported
    bool noisy; ///< values are anywhere in their range
    uint32_t seen_first;
    uint32_t seen_last;
    uint32_t seen_count;
    bool seen[ROWS_MAX];
};

static struct series_run run;

// ------------------------------------------------------------------- rows

static uint32_t row_key(uint32_t i) {
    return 1000 + i * 8 + (uint32_t)(mix64(i) % 5);
}

static int16_t row_value(uint32_t i) {
    if (run.noisy) {
        return (int16_t)(mix64(i + 7) % VALUE_SPREAD);
    }
    return (int16_t)(i / 16 % 900 + mix64(i + 7) % 20);
}

static void bytes_make(uint8_t *to, uint32_t bytes, uint64_t seed) {
    for (uint32_t b = 0; b < bytes; b += 8) {
        uint64_t x = mix64(seed + b / 8);
        memcpy(to + b, &x, bytes - b < 8 ? bytes - b : 8);
    }
}

static uint32_t row_make(uint32_t i, uint8_t *row) {
    uint32_t key = row_key(i);
    int16_t value = row_value(i);
    for (int b = 0; b < 4; b++) {
        row[b] = (uint8_t)(key >> 8 * b);
    }
    row[4] = (uint8_t)value;
    row[5] = (uint8_t)((uint16_t)value >> 8);
    bytes_make(row + 6, BODY_BYTES, (uint64_t)i << 8);
    return 6 + BODY_BYTES;
}

static uint32_t value_make(uint32_t i, uint8_t *value) {
    uint32_t bytes = (uint32_t)(mix64(i + 99) % VALUE_BYTES_MAX);
    bytes_make(value, bytes, ((uint64_t)i << 8) + 128);
    return bytes;
}

// The number of `row`, UINT32_MAX when nobody wrote it.
static uint32_t row_number(const uint8_t *row) {
    uint8_t wanted[ROW_BYTES_MAX];
    uint32_t key = 0;
    for (int b = 0; b < 4; b++) {
        key |= (uint32_t)row[b] << 8 * b;
    }
    uint32_t i = (key - 1000) / 8;
    if (key < 1000 || i >= ROWS_MAX || row_key(i) != key) {
        return UINT32_MAX;
    }
    uint32_t bytes = row_make(i, wanted);
    return memcmp(row, wanted, bytes) == 0 ? i : UINT32_MAX;
}

// Checks a row that was read: returns its number, or records a finding.
static uint32_t row_check(const uint8_t *row, const char *by) {
    uint32_t i = row_number(row);
    uint8_t state = i == UINT32_MAX ? ROW_NEVER : run.table->log[i].state;
    if (state == ROW_NEVER) {
        found(run.trial, FINDING_WRONG, "%s: a row that nobody wrote", by);
        return UINT32_MAX;
    }
    if (state == ROW_ERASED) {
        found(run.trial, FINDING_WRONG, "%s: row %u, erased, is back", by,
              (unsigned)i);
        return UINT32_MAX;
    }
    return i;
}

// ------------------------------------------------------- table and volume

static const struct esk_series_parts parts_without_keys = {
    .var = &esk_series_part_var,
    .ranges = &esk_series_part_ranges,
    .sync = &esk_series_part_sync,
    .back = &esk_series_part_back,
    .packed = &esk_series_part_packed,
};

static int table_create(struct table *table) {
    const struct table_shape *shape = table->of->shape;
    const struct esk_column columns[] = {
        {.name = "t", .type = ESK_TYPE_U32},
        {.name = "v", .type = ESK_TYPE_I16},
        {.name = "body", .type = ESK_TYPE_BYTES, .bytes = BODY_BYTES},
        {.name = "note", .type = ESK_TYPE_VAR},
    };
    const struct esk_index_spec indexes[] = {
        {.kind = ESK_INDEX_SORTED, .column = 1, .entries = 256, .fan = 2},
        {.column = 1, .bitmap_bits = 16}};
    uint32_t share = table->of->data_blocks;
    struct esk_series_spec spec = {
        .table = {.name = "rows",
                  .columns = columns,
                  .column_count = shape->has_var ? 4 : 3,
                  .row_bytes = 6 + BODY_BYTES +
                               (shape->has_var ? ESK_VAR_REF_BYTES : 0)},
        .indexes = &indexes[shape->sorted ? 0 : 1],
        .index_count = (uint8_t)(shape->sorted + shape->has_indexes),
        .full_policy = shape->drops ? ESK_FULL_DROP_OLDEST : ESK_FULL_REFUSE,
        .group_pages = 4,
        .run_pages = 16,
        .data_blocks = share,
        .var_blocks = shape->has_var ? share : 0,
        .codec = shape->packed ? ESK_CODEC_PACKED : ESK_CODEC_RAW,
    };
    if (shape->has_var) { // values take more room than rows
        spec.data_blocks = share / 3;
        spec.var_blocks = share - share / 3;
    }
    if (shape->sorted) {
        esk_series_sorted_blocks(&table->medium->device.geometry, &spec, share);
        spec.data_blocks += spec.sorted_blocks + spec.merged_blocks;
    }
    run.noisy = shape->sorted;
    return esk_series_create(&table->volume, &spec, NULL);
}

static int table_open(struct table *table) {
    const struct esk_series_parts *parts =
        table->of->shape->no_keys ? &parts_without_keys : &esk_series_parts_all;
    struct esk_table_info info;
    run.series = NULL;
    ESK_TRY(esk_volume_mount(&table->volume, &table->medium->device, 0,
                             TEST_SCRATCH));
    ESK_TRY(esk_volume_find(&table->volume, "rows", &info));
    uint32_t pages = table->medium->device.geometry.block_pages;
    table->var_first = info.block[2] * pages;
    table->vars = info.blocks[2] * pages;
    uint32_t bytes =
        esk_series_arena_bytes_with(&table->volume, parts, &info, NULL);
    if (bytes == 0) {
        return ESK_E_CORRUPT;
    }
    table->arena = malloc(bytes); // exact, so that a sanitizer finds an overrun
    return test_series_open_with(&run.series, parts, &table->volume, "rows",
                                 NULL, table->arena, bytes);
}

static void table_close(struct table *table) {
    if (run.series != NULL) {
        esk_series_close(run.series);
        run.series = NULL;
    }
    esk_volume_unmount(&table->volume);
    free(table->arena);
    table->arena = NULL;
    for (uint32_t i = 0; i < table->rows; i++) {
        if (table->log[i].state == ROW_ACCEPTED) {
            table->log[i].state = ROW_TRIED;
        }
    }
    medium_cut(table->medium, table->rows);
}

static int row_append(struct table *table, uint8_t stage) {
    uint8_t row[ROW_BYTES_MAX] = {0};
    uint8_t value[VALUE_BYTES_MAX];
    uint32_t i = table->rows++;
    row_make(i, row);
    int status;
    if (table->of->shape->has_var) {
        uint32_t bytes = value_make(i, value);
        status = esk_series_append_var(run.series, row, value, bytes);
    } else {
        status = esk_series_append(run.series, row);
    }
    table->log[i].stage = stage;
    table->log[i].state = status == ESK_OK ? ROW_ACCEPTED : ROW_TRIED;
    return status;
}

static int rows_sync(struct table *table) {
    int status = esk_series_sync(run.series);
    if (status == ESK_OK) {
        for (uint32_t i = table->rows; i-- > 0;) {
            if (table->log[i].state == ROW_SYNCED) {
                break;
            }
            if (table->log[i].state == ROW_ACCEPTED) {
                table->log[i].state = ROW_SYNCED;
            }
        }
    }
    return status;
}

// ------------------------------------------------------------ reading

static uint32_t row_bytes(const struct table *table) {
    return 6 + BODY_BYTES +
           (table->of->shape->has_var ? (uint32_t)ESK_VAR_REF_BYTES : 0u);
}

// Rows that a damaged ring may drop earlier than an undamaged one, when more
// is written: the damaged blocks are skipped, and two for the rest.
static uint32_t rows_margin(const struct table *table, int stage) {
    const struct esk_geometry *geometry = &table->base->device.geometry;
    if (stage == 0 || !table->of->shape->drops) {
        return 0;
    }
    return (table->damage_blocks + 2) * geometry->block_pages *
           (geometry->page_bytes / row_bytes(table));
}

// Whether row `i` must be there, or its loss reported.
static bool row_owed(uint32_t i) {
    const struct table *table = run.table;
    uint32_t from = run.twin ? 0 : table->must_from[run.stage];
    // Rows since the damage are dropped only if an undamaged twin drops them,
    // too.
    if (!run.twin && (table->log[i].stage == 0 || from > table->base_rows)) {
        from += rows_margin(table, run.stage);
    }
    return table->log[i].state == ROW_SYNCED && i >= from;
}

// Reads a row's value: its length, and `done` bytes of it.
static int value_read(const uint8_t *row, uint8_t *value, uint32_t *length,
                      uint32_t *done) {
    struct esk_series_value reader;
    uint32_t got = 1;
    int status = esk_series_value_open(run.series, row, &reader);
    *length = status == ESK_OK ? reader.bytes : 0;
    while (status == ESK_OK && got > 0 && *done <= VALUE_BYTES_MAX) {
        status = esk_series_value_read(run.series, &reader, value + *done,
                                       VALUE_BYTES_MAX + 1 - *done, &got);
        *done += status == ESK_OK ? got : 0;
    }
    return status;
}

static void value_check(uint32_t i, const uint8_t *row) {
    uint8_t wanted[VALUE_BYTES_MAX];
    uint8_t value[VALUE_BYTES_MAX + 1];
    uint32_t bytes = value_make(i, wanted);
    uint32_t length = 0;
    uint32_t done = 0;
    int status = value_read(row, value, &length, &done);
    if (status == ESK_OK && length != bytes) {
        found(run.trial, FINDING_WRONG, "row %u: value of %u bytes, not %u",
              (unsigned)i, (unsigned)length, (unsigned)bytes);
        return;
    }
    if (status < 0) {
        told(run.trial, "value of row %u: %d", (unsigned)i, status);
    } else if (status == ESK_NOT_FOUND) {
        // The oldest values are dropped first; the twin shows how many.
        if (row_owed(i) && run.twin) {
            run.table->must_from[run.stage] = i + 1;
        } else if (row_owed(i)) {
            told(run.trial, "value of row %u: not found", (unsigned)i);
        }
    } else if (done != bytes || memcmp(value, wanted, bytes) != 0) {
        found(run.trial, FINDING_WRONG, "row %u: wrong value, %u bytes of %u",
              (unsigned)i, (unsigned)done, (unsigned)bytes);
    }
}

static void scan_forward(void) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t last = UINT32_MAX;
    int status = esk_series_cursor_open(run.series, &cursor, NULL);
    for (uint32_t n = 0; n < ROWS_MAX && status != ESK_END; n++) {
        status = esk_series_cursor_next(run.series, &cursor, row);
        if (status < 0) {
            told(run.trial, "scan: %d", status);
        }
        if (status != ESK_OK) {
            if (status != ESK_E_STALE) {
                break;
            }
            continue;
        }
        uint32_t i = row_check(row, "scan");
        if (i == UINT32_MAX) {
            continue;
        }
        if (last != UINT32_MAX && i <= last) {
            found(run.trial, FINDING_WRONG, "scan: row %u after row %u",
                  (unsigned)i, (unsigned)last);
        }
        run.seen_first = last == UINT32_MAX ? i : run.seen_first;
        last = i;
        run.seen[i] = true;
        run.seen_count++;
        if (run.table->of->shape->has_var) {
            value_check(i, row);
        }
    }
    run.seen_last = last;
    if (esk_series_cursor_damaged(&cursor) != 0) {
        told(run.trial, "scan: %u damaged",
             (unsigned)esk_series_cursor_damaged(&cursor));
    }
}

static void scan_backward(void) {
    struct esk_series_cursor cursor;
    const struct esk_series_query query = {.backward = true};
    uint8_t row[ROW_BYTES_MAX];
    uint32_t count = 0;
    int status = esk_series_cursor_open(run.series, &cursor, &query);
    while (status == ESK_OK && count <= ROWS_MAX) {
        status = esk_series_cursor_next(run.series, &cursor, row);
        if (status == ESK_OK) {
            uint32_t i = row_check(row, "backward");
            count += i != UINT32_MAX && run.seen[i] ? 1 : 0;
        }
    }
    bool said = status < 0 || esk_series_cursor_damaged(&cursor) != 0;
    if (said) {
        told(run.trial, "backward scan: %d", status);
    } else if (count != run.seen_count) {
        found(run.trial, FINDING_INDEX, "scan %u rows, backward %u of them",
              (unsigned)run.seen_count, (unsigned)count);
    }
}

// A query by value finds every row of the scan in lo .. hi.
static void scan_by_value(int16_t lo, int16_t hi, bool backward) {
    struct esk_series_range range = {.column = 1,
                                     .has_lo = true,
                                     .has_hi = true,
                                     .lo = {.i = lo},
                                     .hi = {.i = hi}};
    const struct esk_series_query query = {
        .ranges = &range, .range_count = 1, .backward = backward};
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t wanted = 0;
    uint32_t count = 0;
    uint32_t last = UINT32_MAX;
    for (uint32_t i = 0; i < run.table->rows; i++) {
        wanted += run.seen[i] && row_value(i) >= lo && row_value(i) <= hi;
    }
    int status = esk_series_cursor_open(run.series, &cursor, &query);
    while (status == ESK_OK && count <= ROWS_MAX) {
        status = esk_series_cursor_next(run.series, &cursor, row);
        if (status == ESK_OK) {
            uint32_t i = row_check(row, "by value");
            if (i != UINT32_MAX && last != UINT32_MAX &&
                (backward ? i >= last : i <= last)) {
                found(run.trial, FINDING_WRONG, "by value: row %u after row %u",
                      (unsigned)i, (unsigned)last);
            }
            last = i;
            count += i != UINT32_MAX && run.seen[i] ? 1 : 0;
        }
    }
    if (status < 0) {
        told(run.trial, "scan by value: %d", status);
    } else if (count != wanted) {
        found(run.trial, FINDING_INDEX,
              "stage %d: by value %u rows of %u, %u pages damaged", run.stage,
              (unsigned)count, (unsigned)wanted,
              (unsigned)esk_series_cursor_damaged(&cursor));
    }
}

// Queries by value: of the newest rows' values; where a sorted index names the
// pages, of all values, some at each stage, so that each entry matters.
static void scans_by_value(void) {
    if (!run.noisy) {
        int16_t lo = row_value(run.seen_last);
        scan_by_value((int16_t)(lo - 40), (int16_t)(lo + 10), false);
        return;
    }
    uint32_t first = (uint32_t)run.stage;
    for (uint32_t node = first; node < NODES; node += STAGES) {
        int16_t lo = (int16_t)(node * (VALUE_SPREAD / NODES));
        scan_by_value(lo, (int16_t)(lo + VALUE_SPREAD / NODES - 1),
                      node % 3 == 1);
    }
}

static void read_by_get(void) {
    uint8_t row[ROW_BYTES_MAX];
    uint32_t missing = 0;
    for (uint32_t i = 0; i < run.table->rows; i++) {
        bool owed = row_owed(i) && !run.seen[i];
        missing += owed ? 1 : 0;
        owed = owed && (missing < 16 || missing % 128 == 0); // they are slow
        if (!owed && (!run.seen[i] || i % GET_EVERY != 0)) {
            continue;
        }
        int status = esk_series_get(run.series, row_key(i), row);
        if (status < 0) {
            told(run.trial, "get of row %u: %d", (unsigned)i, status);
        } else if (status == ESK_OK) {
            uint32_t got = row_check(row, "get");
            if (got != UINT32_MAX && got != i) {
                found(run.trial, FINDING_WRONG, "get of row %u: row %u",
                      (unsigned)i, (unsigned)got);
            } else if (!run.seen[i]) {
                found(run.trial, FINDING_INDEX, "row %u by get, not by scan",
                      (unsigned)i);
            }
        } else if (run.seen[i]) {
            found(run.trial, FINDING_INDEX, "row %u by scan, not by get",
                  (unsigned)i);
        }
    }
}

static void read_ends(void) {
    uint8_t row[ROW_BYTES_MAX];
    int status = esk_series_newest(run.series, row);
    if (status < 0) {
        told(run.trial, "newest: %d", status);
    } else if (status == ESK_OK && row_check(row, "newest") != run.seen_last) {
        found(run.trial, FINDING_INDEX, "newest is not the scan's last");
    }
    status = esk_series_oldest(run.series, row);
    if (status < 0) {
        told(run.trial, "oldest: %d", status);
    } else if (status == ESK_OK && row_check(row, "oldest") != run.seen_first) {
        found(run.trial, FINDING_INDEX, "oldest is not the scan's first");
    }
    uint32_t count = 0;
    status = esk_series_count(run.series, &count);
    if (status < 0) {
        told(run.trial, "count: %d", status);
    } else if (count != run.seen_count) {
        told(run.trial, "count: %u, scan: %u", (unsigned)count,
             (unsigned)run.seen_count);
    }
}

static void read_reports(void) {
    struct esk_series_report report;
    struct esk_series_stats stats;
    int status = esk_series_check(run.series, &report);
    if (status != ESK_OK) {
        told(run.trial, "check: %d", status);
    }
    if (report.rows_missing + report.pages_damaged + report.pages_torn +
            report.values_missing + report.newest_unread !=
        0) {
        told(run.trial, "check: missing %u damaged %u torn %u unread %u",
             (unsigned)report.rows_missing, (unsigned)report.pages_damaged,
             (unsigned)report.pages_torn, (unsigned)report.newest_unread);
    }
    if (run.table->verbose) {
        printf("  check %d: rows %u missing %u pages %u damaged %u torn %u "
               "index %u damaged %u wrong %u unread %u\n",
               status, (unsigned)report.rows, (unsigned)report.rows_missing,
               (unsigned)report.pages, (unsigned)report.pages_damaged,
               (unsigned)report.pages_torn, (unsigned)report.index_pages,
               (unsigned)report.index_damaged, (unsigned)report.index_wrong,
               (unsigned)report.newest_unread);
    }
    esk_series_stats(run.series, &stats);
    if (stats.newest_unread != 0 || stats.pages_damaged != 0) {
        told(run.trial, "stats: damaged %u unread %u",
             (unsigned)stats.pages_damaged, (unsigned)stats.newest_unread);
    }
}

// ------------------------------------------------------------- judging

// Rows of undamaged pages are missing: the run hides them.
static void judge_hidden(uint32_t i) {
    const struct table *table = run.table;
    const struct esk_geometry *geometry = &table->base->device.geometry;
    uint32_t window =
        131072u / ((uint32_t)geometry->block_pages * geometry->page_bytes);
    window = window < 32 ? 32 : window;
    if (run.stage != 0 || run.twin || i >= table->row_count ||
        table->row_page[i] == ESK_PAGE_NONE ||
        table->medium->state[table->row_page[i]] >= PAGE_DAMAGED ||
        table->damage_blocks > window) {
        return;
    }
    found(run.trial, FINDING_HIDDEN, "row %u is on page %u, which is whole",
          (unsigned)i, (unsigned)table->row_page[i]);
}

// Whether the loss of the rows from `first` on looks like a table that was
// never longer: they are the newest, their blocks are lost or their pages are
// blank, and no page is left that was programmed after the second of them. (An
// index page covers the pages before the page that it follows.)
static bool looks_shorter(uint32_t first) {
    struct table *table = run.table;
    const struct medium *medium = table->medium;
    uint32_t oldest = UINT32_MAX; // programs of lost pages
    uint32_t since = UINT32_MAX;  // the one after it
    if (run.stage != 0 || run.twin) {
        return false;
    }
    for (uint32_t i = first; i < table->row_count; i++) {
        uint32_t page = table->row_page[i];
        if (run.seen[i] || page == ESK_PAGE_NONE ||
            !medium_page_is_gone(table->medium, page)) {
            return false;
        }
        uint32_t when = table->base->when[page];
        if (when < oldest) {
            since = oldest;
            oldest = when;
        } else if (when > oldest && when < since) {
            since = when;
        }
    }
    // Values without their row are no evidence: power loss may leave them.
    for (uint32_t page = 0; page < medium->pages; page++) {
        bool is_value =
            page >= table->var_first && page - table->var_first < table->vars;
        if (medium->state[page] == PAGE_PROGRAMMED && !is_value &&
            table->base->when[page] > since) {
            return false;
        }
    }
    return true;
}

static void rows_excuse(uint32_t first) {
    struct table *table = run.table;
    for (uint32_t i = first; i < table->row_count; i++) {
        table->log[i].state = ROW_TRIED;
    }
}

static void judge(void) {
    struct table *table = run.table;
    uint32_t missing = 0;
    uint32_t forgotten = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < table->rows; i++) {
        if (!row_owed(i) || run.seen[i]) {
            continue;
        }
        first = missing++ == 0 ? i : first;
        forgotten += table->log[i].told ? 1 : 0;
        table->log[i].told = table->log[i].told || run.trial->told;
        if (table->log[i].stage > 0 && !run.twin) {
            found(run.trial, FINDING_LATER, "stage %d: row %u of stage %u",
                  run.stage, (unsigned)i, (unsigned)table->log[i].stage);
        }
        judge_hidden(i);
    }
    run.trial->missing =
        missing > run.trial->missing ? missing : run.trial->missing;
    if (missing != 0 && !run.trial->told && looks_shorter(first)) {
        found(run.trial, FINDING_SHORTER, "%u rows from %u on",
              (unsigned)missing, (unsigned)first);
        rows_excuse(first);
    } else if (missing != 0 && !run.trial->told) {
        found(run.trial,
              forgotten == missing ? FINDING_FORGOTTEN : FINDING_SILENT,
              "stage %d: %u rows from %u on", run.stage, (unsigned)missing,
              (unsigned)first);
    }
}

static void read_all(struct table *table, int stage, struct trial *trial) {
    run.table = table;
    run.trial = trial;
    run.stage = stage;
    run.seen_count = 0;
    run.seen_first = run.seen_last = UINT32_MAX;
    memset(run.seen, 0, sizeof run.seen);
    trial->told = false;
    trial->told_by[0] = 0;
    scan_forward();
    scan_backward();
    if ((table->of->shape->has_indexes || run.noisy) && run.seen_count != 0) {
        scans_by_value();
    }
    read_by_get();
    read_ends();
    read_reports();
    judge();
    if (table->verbose) {
        printf("  stage %d: rows %u .. %u, %u of them, told by %s\n", stage,
               (unsigned)run.seen_first, (unsigned)run.seen_last,
               (unsigned)run.seen_count,
               trial->told ? trial->told_by : "nobody");
    }
}

// ---------------------------------------------------------------- stages

static void rows_add(struct table *table, int stage, struct trial *trial) {
    uint32_t count = 7 + (uint32_t)(mix64((uint64_t)stage + 3) % 40);
    int status = ESK_OK;
    for (uint32_t n = 0; n < count && status >= 0; n++) {
        status = row_append(table, (uint8_t)(stage + 1));
        if (status < 0 && table->verbose) {
            printf("  stage %d: append: %d\n", stage, status);
        }
        if (status == ESK_OUT_OF_ORDER) {
            found(trial, FINDING_WRONG, "append of row %u: out of order",
                  (unsigned)(table->rows - 1));
        }
        uint32_t rows = table->of->shape->sync_rows;
        rows = rows != 0 ? rows : 17;
        if (n % rows == rows - 1 && status == ESK_OK) {
            status = rows_sync(table);
        }
    }
    status = rows_sync(table);
    if (status != ESK_OK && table->verbose) {
        printf("  stage %d: sync: %d\n", stage, status);
    }
}

bool series_stage(struct table *table, int stage, struct trial *trial) {
    int status = table_open(table);
    if (status != ESK_OK) {
        if (table->verbose) {
            printf("  stage %d: open: %d\n", stage, status);
        }
        trial->unopened = true;
        table_close(table);
        return false;
    }
    read_all(table, stage, trial);
    if (stage + 1 < STAGES) {
        rows_add(table, stage, trial);
    }
    table_close(table);
    return true;
}

// ------------------------------------------------------------- the table

// Erases the newest eighth of `rows` rows.
static int newest_erase(struct table *table, uint32_t rows) {
    uint32_t from = rows - rows / 8;
    int status = esk_series_erase_after(run.series, row_key(from - 1));
    for (uint32_t i = from; status == ESK_OK && i < table->rows; i++) {
        table->log[i].state = ROW_ERASED;
    }
    return status;
}

// Fills the table: most of a region that refuses, laps of one that drops.
static int table_fill(struct table *table) {
    const struct esk_geometry *geometry = &table->medium->device.geometry;
    const struct table_shape *shape = table->of->shape;
    uint32_t a_page = (geometry->page_bytes - 24u) / row_bytes(table);
    uint32_t blocks =
        shape->has_var ? table->of->data_blocks / 3 : table->of->data_blocks;
    uint32_t rows = blocks * geometry->block_pages * a_page;
    rows = shape->drops ? rows * 17 / 10 : rows * 5 / 10;
    if (rows > ROWS_MAX - 1000) {
        rows = ROWS_MAX - 1000;
    }
    /* Each sync closes a page of values. */
    uint32_t most = (table->of->data_blocks - blocks) * geometry->block_pages *
                    shape->sync_rows / 2;
    if (shape->has_var && !shape->drops && most != 0 && rows > most) {
        rows = most;
    }
    for (uint32_t n = 0; n < rows; n++) {
        ESK_TRY(row_append(table, 0));
        if (shape->sync_rows != 0 ? n % shape->sync_rows == 0
                                  : mix64(n) % 23 == 0) {
            ESK_TRY(rows_sync(table));
        }
        if (shape->erases && n == rows * 9 / 10) {
            uint32_t floor = n - n / 8;
            ESK_TRY(esk_series_erase_before(run.series, row_key(floor)));
            for (uint32_t i = 0; i < floor; i++) {
                table->log[i].state = ROW_ERASED;
            }
        }
        if (shape->break_rows != 0 &&
            (n == rows * 3 / 10 || n == rows * 6 / 10 ||
             n + shape->break_rows + 1 == rows)) {
            ESK_TRY(newest_erase(table, n));
        }
    }
    return rows_sync(table);
}

// Finds each row's page: the newest one with its bytes. Of a packed page only
// the first row is there as it is; the rows up to the next page's first follow
// it.
static void rows_locate(struct table *table) {
    const struct medium *base = table->base;
    uint32_t page_bytes = base->device.geometry.page_bytes;
    table->row_count = table->base_rows;
    table->row_page = malloc((table->row_count + 1) * sizeof(uint32_t));
    memset(table->row_page, 0xFF, table->row_count * sizeof(uint32_t));
    for (uint32_t page = 0; page < base->pages; page++) {
        const uint8_t *bytes = base->bytes + (size_t)page * page_bytes;
        uint32_t step =
            table->of->shape->packed ? page_bytes : row_bytes(table);
        for (uint32_t at = 16; at + row_bytes(table) <= page_bytes;
             at += step) {
            uint32_t i = row_number(bytes + at);
            if (i < table->row_count &&
                (table->row_page[i] == ESK_PAGE_NONE ||
                 base->when[page] > base->when[table->row_page[i]])) {
                table->row_page[i] = page;
            }
        }
    }
    for (uint32_t i = 1; table->of->shape->packed && i < table->row_count;
         i++) {
        if (table->row_page[i] == ESK_PAGE_NONE) {
            table->row_page[i] = table->row_page[i - 1];
        }
    }
}

// Rows of an undamaged table at each stage; nothing of it may be reported.
static void stages_plan(struct table *table) {
    struct trial trial = {0};
    run.twin = true;
    for (int stage = 0; stage < STAGES; stage++) {
        table->must_from[stage] = 0;
        series_stage(table, stage, &trial);
        if (table->must_from[stage] < run.seen_first) {
            table->must_from[stage] = run.seen_first;
        }
        trial_explain(table->of, &trial);
    }
    run.twin = false;
}

bool series_make(struct table *table) {
    static const struct table_kind kind = {table_create, table_open, table_fill,
                                           table_close};
    if (!table_prepare(table, &kind, ROWS_MAX)) {
        return false;
    }
    rows_locate(table);
    stages_plan(table);
    return true;
}
