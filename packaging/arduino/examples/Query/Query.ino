// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Queries over Serial, answered with the key index and a value index.
///
///     t 100 120    rows with 100 <= time <= 120
///     v 2100 2120  rows with 21.00 <= temp <= 21.20 degC
///
/// Set the monitor to 115200 baud and to end lines with a newline. After
/// each answer the sketch prints the number of rows and of pages read; the
/// table has nine pages. For a Mega 2560 or any 32-bit board.
#include <esker.h>

enum { PAGE_BYTES = 128, BLOCKS = 32, ROWS = 150 };

struct Row {
    uint32_t time_s;
    int16_t temp_centi;
} __attribute__((packed));

static uint8_t memory[PAGE_BYTES * BLOCKS];
/* Three frames: two, and one for the value index. */
static uint64_t arena[ESK_SERIES_ARENA_BYTES(
                          PAGE_BYTES, 3,
                          ESK_SERIES_LOG_BYTES(128) +
                              ESK_SERIES_VALUES_BYTES(
                                  1, ESK_SERIES_ENTRY_BYTES(2, 16), 16, 0)) /
                      sizeof(uint64_t)];
static esk_ram_device ram;
static esk_volume volume;
static esk_series *series;

static int openTable() {
    esk_column columns[2] = {};
    columns[0].name = "time";
    columns[0].unit = "s";
    columns[0].type = ESK_TYPE_U32;
    columns[1].name = "temp";
    columns[1].unit = "cdegC";
    columns[1].type = ESK_TYPE_I16;

    esk_index_spec byTemp = {};
    byTemp.column = 1;
    byTemp.bitmap_bits = 16;

    esk_series_spec spec = {};
    spec.table.name = "log";
    spec.table.columns = columns;
    spec.table.column_count = 2;
    spec.table.row_bytes = sizeof(Row);
    spec.indexes = &byTemp;
    spec.index_count = 1;

    /* What the queries use; other parts take no flash and no RAM. */
    static esk_series_parts parts = {};
    parts.keys = &esk_series_part_keys;
    parts.log = &esk_series_part_log;
    parts.values = &esk_series_part_values;
    parts.ranges = &esk_series_part_ranges;

    esk_series_config opened = {};
    opened.key_index_bytes = 128;
    return esk_series_open_or_create(&series, &parts, &volume, &spec, &opened,
                                     NULL);
}

static int start() {
    esk_geometry geometry = {};
    geometry.block_count = BLOCKS;
    geometry.block_pages = 1;
    geometry.page_bytes = PAGE_BYTES;
    geometry.program_bytes = 1;
    geometry.erased_value = 0xFF;

    esk_volume_config config = {};
    config.tables_max = 1;

    memset(memory, 0xFF, sizeof memory);
    ESK_TRY(esk_ram_device_init(&ram, &geometry, memory, sizeof memory));
    ESK_TRY(esk_volume_mount_or_format(&volume, &ram.device, 0, &config, arena,
                                       sizeof arena));
    ESK_TRY(openTable());
    for (uint32_t i = 0; i < ROWS; i++) {
        Row row;
        row.time_s = i;
        row.temp_centi = (int16_t)(2000 + 2 * i + i % 7);
        ESK_TRY(esk_series_append(series, &row));
    }
    return esk_series_sync(series);
}

static int answer(const esk_series_query *query) {
    static esk_series_cursor cursor;
    struct esk_series_stats before; /* a function has the name too */
    struct esk_series_stats after;
    Row row;
    uint32_t rows = 0;

    esk_series_stats(series, &before);
    ESK_TRY(esk_series_cursor_open(series, &cursor, query));
    int status = esk_series_cursor_next(series, &cursor, &row);
    while (status == ESK_OK) {
        Serial.print(row.time_s);
        Serial.print(" s  ");
        Serial.println(row.temp_centi);
        rows++;
        status = esk_series_cursor_next(series, &cursor, &row);
    }
    esk_series_stats(series, &after);
    Serial.print(rows);
    Serial.print(" rows, page reads: ");
    Serial.println(after.page_reads - before.page_reads);
    return status == ESK_END ? ESK_OK : status;
}

static int ask(char what, long lo, long hi) {
    esk_series_query query = {};
    esk_series_range range = {};
    if (what == 't') {
        query.has_key_min = true;
        query.has_key_max = true;
        query.key_min = (esk_key)lo;
        query.key_max = (esk_key)hi;
    } else {
        range.column = 1;
        range.has_lo = true;
        range.has_hi = true;
        range.lo.i = lo;
        range.hi.i = hi;
        query.ranges = &range;
        query.range_count = 1;
    }
    return answer(&query);
}

void setup() {
    Serial.begin(115200);
    int status = start();
    Serial.print("status ");
    Serial.println(status);
    while (status != ESK_OK) {
    }
    Serial.println("t FROM TO or v LOW HIGH");
}

void loop() {
    if (Serial.available() == 0) {
        return;
    }
    int what = Serial.read();
    if (what != 't' && what != 'v') {
        return;
    }
    long lo = Serial.parseInt();
    long hi = Serial.parseInt();
    int status = ask((char)what, lo, hi);
    if (status != ESK_OK) {
        Serial.print("status ");
        Serial.println(status);
    }
}
