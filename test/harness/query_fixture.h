// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tables for queries, and a runner that returns a query's rows as text.
///
///     query_start(40);
///     ESK_CHECK_TEXT(query_rows(".table 0\n...", 0), "1,2;3,-;");
///
/// Sources: 0 `log`, a series; 1 `rain`, a series with every third of its keys
/// moved by 5; 2 `map`, a tree; 3 `set`, a kv table; 4 `names`, a tree with
/// keys of text; 5 `set` in the order of its keys.
#ifndef ESK_TEST_QUERY_FIXTURE_H
#define ESK_TEST_QUERY_FIXTURE_H

#include "base/bytes.h"
#include "esker/esker.h"
#include "esker/runs.h"
#include "port/ram/ram.h"
#include "query/program_format.h"
#include "test/harness/assembler.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

enum {
    QUERY_SOURCES = 6,
    QUERY_LOG,
    QUERY_LOG_BYTES = 24,
    QUERY_RAIN_BYTES = 8,
    QUERY_MAP_BYTES = 16,
    QUERY_NAMES_BYTES = 16,
};

static const struct esk_geometry query_nor = ESK_NOR(120, 8, 256);
static uint8_t query_chip[120 * 8 * 256];
static struct esk_ram_device query_ram;
static struct esk_device query_device;
static struct esk_volume query_volume;
static struct esk_series *query_log;
static struct esk_series *query_rain;
static struct esk_tree *query_map;
static struct esk_kv *query_set;
static struct esk_tree *query_names;
static struct esk_source query_sources[QUERY_SOURCES];
static uint64_t query_tables[8 * 1024];
static uint64_t query_arena[4 * 1024];
static struct esk_assembly query_assembly;
static struct esk_program query_program;
static struct esk_scratch *query_scratch; ///< of a program; NULL: none
static struct esk_scratch query_blocks;   ///< blocks that no table has
static esk_slot query_parameters[4];
static uint8_t query_parameter_count;
static char query_text[32 * 1024];
static int query_status;      ///< that ended the last query
static uint32_t query_pauses; ///< of it
static int query_io_every;    ///< each so many steps a read fails; 0: none

static const struct esk_column query_log_columns[] = {
    {.name = "time", .type = ESK_TYPE_U32},
    {.name = "temp", .type = ESK_TYPE_I32},
    {.name = "gas", .type = ESK_TYPE_F32},
    {.name = "wide", .type = ESK_TYPE_F64},
    {.name = "name",
     .type = ESK_TYPE_BYTES,
     .bytes = 4,
     .flags = ESK_COLUMN_TEXT},
};
static const struct esk_index_spec query_log_indexes[] = {
    {.column = 1, .bitmap_bits = 16}};
static const struct esk_column query_rain_columns[] = {
    {.name = "time", .type = ESK_TYPE_U32},
    {.name = "rain", .type = ESK_TYPE_I32}};
static const struct esk_column query_map_columns[] = {
    {.name = "id", .type = ESK_TYPE_I16},
    {.name = "size", .type = ESK_TYPE_U16},
    {.name = "note",
     .type = ESK_TYPE_BYTES,
     .bytes = 12,
     .flags = ESK_COLUMN_TEXT}};
static const struct esk_column query_names_columns[] = {
    {.name = "name",
     .type = ESK_TYPE_BYTES,
     .bytes = 12,
     .flags = ESK_COLUMN_TEXT},
    {.name = "id", .type = ESK_TYPE_U32}};

static inline int32_t query_temp(uint32_t i) {
    return (int32_t)(i * 37 % 100) - 20;
}

static inline void query_row_log(uint8_t *row, uint32_t i) {
    float gas = i % 8 == 5 ? __builtin_nanf("") : (float)i / 4 - 2;
    double wide = (double)i * 0.1;
    uint32_t bits = 0;
    uint64_t wide_bits = 0;
    memcpy(&bits, &gas, sizeof bits);
    memcpy(&wide_bits, &wide, sizeof wide_bits);
    esk_store_u32(row, 100 + 10 * i);
    esk_store_u32(row + 4, (uint32_t)query_temp(i));
    esk_store_u32(row + 8, bits);
    esk_store_u64(row + 12, wide_bits);
    memcpy(row + 20, "ab\0", 4);
    row[20] = (uint8_t)("cadb"[i % 4]);
    row[21] = i % 2 == 0 ? 'x' : 0;
}

static inline void query_append(uint32_t i) {
    uint8_t row[QUERY_LOG_BYTES];
    query_row_log(row, i);
    ESK_CHECK_INT(esk_series_append(query_log, row), ESK_OK);
}

static inline void query_fill(uint32_t rows) {
    uint8_t row[32];
    for (uint32_t i = 0; i < rows; i++) {
        query_append(i);
        if (i % 3 == 0) {
            esk_store_u32(row, 105 + 10 * i);
            esk_store_u32(row + 4, i);
            ESK_CHECK_INT(esk_series_append(query_rain, row), ESK_OK);
        }
        memset(row, 0, sizeof row);
        esk_store_u16(row, (uint16_t)(i * 7 % rows - rows / 2));
        esk_store_u16(row + 2, (uint16_t)i);
        memcpy(row + 4, "note ", 5);
        row[9] = (uint8_t)('a' + i % 26);
        ESK_CHECK_INT(esk_tree_put(query_map, row), ESK_OK);
    }
    static const char *const words[] = {"alpha", "beta", "gamma",
                                        "abcdefghijkl"};
    for (uint32_t i = 0; i < 4; i++) {
        memset(row, 0, sizeof row);
        memcpy(row, words[i], strlen(words[i]));
        esk_store_u32(row + 12, i + 1);
        ESK_CHECK_INT(esk_tree_put(query_names, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_put_u32(query_set, "boots", 7), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_i32(query_set, "low", -5), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(query_set, "name", "esker"), ESK_OK);
    ESK_CHECK_INT(esk_kv_put_text(query_set, "a key that is too long", "x"),
                  ESK_OK);
}

static inline void query_create(void) {
    static const struct esk_series_spec log = {
        .table = {.name = "log",
                  .columns = query_log_columns,
                  .column_count = 5,
                  .row_bytes = QUERY_LOG_BYTES},
        .indexes = query_log_indexes,
        .index_count = 1,
        .data_blocks = 30,
        .index_blocks = 6};
    static const struct esk_series_spec rain = {
        .table = {.name = "rain",
                  .columns = query_rain_columns,
                  .column_count = 2,
                  .row_bytes = QUERY_RAIN_BYTES},
        .data_blocks = 12,
        .index_blocks = 6};
    static const struct esk_tree_spec map = {
        .table = {.name = "map",
                  .columns = query_map_columns,
                  .column_count = 3,
                  .row_bytes = QUERY_MAP_BYTES},
        .store = ESK_STORE_WANDERING,
        .blocks = 20};
    static const struct esk_tree_spec names = {
        .table = {.name = "names",
                  .columns = query_names_columns,
                  .column_count = 2,
                  .row_bytes = QUERY_NAMES_BYTES},
        .store = ESK_STORE_WANDERING,
        .blocks = 12};
    static const struct esk_kv_spec set = {.name = "set", .blocks = 6};
    static const struct esk_tree_config tree = {.store = &esk_store_wandering};
    static const struct esk_kv_config kv = {.keys = 16};
    ESK_CHECK_INT(esk_series_create(&query_volume, &log, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_create(&query_volume, &rain, NULL), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&query_volume, &map, NULL), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&query_volume, &names, NULL), ESK_OK);
    ESK_CHECK_INT(esk_kv_create(&query_volume, &set, NULL), ESK_OK);
    ESK_CHECK_INT(esk_series_open(&query_log, &query_volume, "log", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&query_rain, &query_volume, "rain", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&query_map, &query_volume, "map", &tree),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&query_names, &query_volume, "names", &tree),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_open(&query_set, &query_volume, "set", &kv), ESK_OK);
}

/// The fingerprint of a table.
static inline uint32_t query_print(const char *name) {
    struct esk_table_info info;
    uint32_t fingerprint = 0;
    ESK_CHECK_INT(esk_volume_find(&query_volume, name, &info), ESK_OK);
    ESK_CHECK_INT(esk_table_fingerprint(&query_volume, &info, &fingerprint),
                  ESK_OK);
    return fingerprint;
}

/// Makes the tables, with `rows` rows.
static inline void query_start(uint32_t rows) {
    static const struct esk_volume_config config = {.tables_max = 8};
    memset(query_chip, 0xFF, sizeof query_chip);
    ESK_CHECK_INT(esk_ram_device_init(&query_ram, &query_nor, query_chip,
                                      sizeof query_chip),
                  ESK_OK);
    failing_device_make(&query_device, &query_ram.device);
    ESK_CHECK_INT(esk_volume_mount_or_format(&query_volume, &query_device, 0,
                                             &config, query_tables,
                                             sizeof query_tables),
                  ESK_OK);
    query_create();
    esk_source_series(&query_sources[0], query_log, query_print("log"));
    esk_source_series(&query_sources[1], query_rain, query_print("rain"));
    esk_source_tree(&query_sources[2], query_map, query_print("map"));
    esk_source_kv(&query_sources[3], query_set, 12, 8);
    esk_source_tree(&query_sources[4], query_names, query_print("names"));
    esk_source_kv(&query_sources[5], query_set, 16, 5);
    esk_source_kv_ordered(&query_sources[5], 96);
    query_fill(rows);
    query_parameter_count = 0;
    query_io_every = 0;
    query_scratch = NULL;
    ESK_CHECK_INT(esk_scratch_init(&query_blocks, &query_device, 98, 18),
                  ESK_OK);
}

static inline void query_say(const char *format, double number,
                             intmax_t integer, const char *text) {
    size_t used = strlen(query_text);
    char *at = query_text + used;
    size_t room = sizeof query_text - used;
    if (text != NULL) {
        snprintf(at, room, "%s", text);
    } else if (format[1] == 'j') {
        snprintf(at, room, "%jd", integer);
    } else {
        snprintf(at, room, "%.9g", number);
    }
}

static inline double query_float(esk_slot slot) {
#if ESK_QUERY_BITS == 32
    float real = 0;
    slot ^= slot < 0 ? INT32_MAX : 0;
#else
    double real = 0;
    slot ^= slot < 0 ? INT64_MAX : 0;
#endif
    memcpy(&real, &slot, sizeof real);
    return (double)real;
}

static inline void query_value(uint8_t index, const struct esk_output *value) {
    uint8_t text[256] = {0};
    uint16_t bytes = 0;
    if (index > 0) {
        query_say("", 0, 0, ",");
    }
    if (value->is_null) {
        query_say("", 0, 0, "-");
    } else if (value->type == ESK_OUTPUT_INT) {
        query_say("%jd", 0, value->slots[0], NULL);
    } else if (value->type == ESK_OUTPUT_FLOAT) {
        query_say("%g", query_float(value->slots[0]), 0, NULL);
    } else if (value->type == ESK_OUTPUT_AVG) {
        ESK_CHECK_INT(value->slots[2], value->slots[1] < 0 ? -1 : 0);
        query_say("%g", (double)value->slots[1] / (double)value->slots[0], 0,
                  NULL);
    } else if (value->type == ESK_OUTPUT_ROW) {
        query_say("", 0, 0, "#");
        query_say("%jd", 0, esk_load_u32(value->data), NULL);
    } else {
        ESK_CHECK_INT(esk_program_text(&query_program, index, text, &bytes),
                      ESK_OK);
        text[bytes] = 0;
        query_say("", 0, 0, (const char *)text);
    }
}

static inline void query_row(void) {
    struct esk_output value;
    uint8_t index = 0;
    while (esk_program_row(&query_program, index, &value) == ESK_OK) {
        query_value(index, &value);
        index++;
    }
    query_say("", 0, 0, ";");
}

/// Begins the query in an arena of exactly the bytes that it needs.
static inline int query_begin(const uint8_t *code, uint16_t bytes) {
    struct esk_program_report report;
    ESK_TRY(esk_program_check(code, bytes, &esk_query_parts_all, query_sources,
                              QUERY_SOURCES, &report));
    ESK_CHECK(report.arena_bytes <= sizeof query_arena);
    memset(query_arena, 0xA5, sizeof query_arena);
    if (report.arena_bytes > 0) {
        ESK_CHECK_INT(esk_program_begin(&query_program, code, bytes,
                                        &esk_query_parts_all, query_sources,
                                        QUERY_SOURCES, query_arena,
                                        report.arena_bytes - 1),
                      ESK_E_NO_MEMORY);
    }
    ESK_TRY(esk_program_begin(&query_program, code, bytes, &esk_query_parts_all,
                              query_sources, QUERY_SOURCES, query_arena,
                              report.arena_bytes));
    esk_program_set_scratch(&query_program, query_scratch);
    for (uint8_t i = 0; i < query_parameter_count; i++) {
        ESK_TRY(esk_program_set(&query_program, i, query_parameters[i]));
    }
    return ESK_OK;
}

/// Runs the query that was begun, to its end.
static inline void query_run(uint16_t budget) {
    int steps = 0;
    query_text[0] = '\0';
    query_pauses = 0;
    do {
        if (query_io_every > 0 && ++steps % query_io_every == 0) {
            fail_from(1, 0, READ_BROKEN);
        }
        query_status = esk_program_step(&query_program, budget);
        if (query_io_every > 0) {
            fail_end();
        }
        query_pauses += query_status == ESK_AGAIN ? 1 : 0;
        if (query_status == ESK_OK) {
            query_row();
        }
    } while (query_status >= 0 && query_status != ESK_END);
}

/// The rows of a query: values with commas, `-` for NULL, rows with `;`. Then
/// the status if it is not ESK_END.
static inline const char *query_rows(const char *text, uint16_t budget) {
    bool assembled = esk_assemble(&query_assembly, text, query_sources);
    ESK_CHECK_TEXT(assembled ? "" : query_assembly.why, "");
    query_text[0] = '\0';
    query_status = query_begin(query_assembly.bytes, query_assembly.count);
    if (query_status == ESK_OK) {
        query_run(budget);
    }
    if (query_status != ESK_END) {
        query_say("", 0, 0, "!");
        query_say("%jd", 0, query_status, NULL);
    }
    return query_text;
}

#endif
