// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Programs of queries as handles: see host.h's invariants.

#include <stdlib.h>
#include <string.h>

#include "esker/runs.h"
#include "handle.h"
#include "port/ram/ram.h"
#include "query/program_format.h"

/// The scratch of a sort: memory that is not touched before it is used.
#define SCRATCH_GEOMETRY                                                       \
    {.block_count = 2048,                                                      \
     .block_pages = 64,                                                        \
     .page_bytes = 4096,                                                       \
     .program_bytes = 1,                                                       \
     .flags = ESK_MEDIUM_OVERWRITE}

struct esk_py_program {
    struct esk_scratch scratch;
    struct esk_ram_device ram;
    void *pages; ///< of the scratch; NULL: it has none
    struct esk_py_table *tables[ESK_PROGRAM_TABLES_MAX * 2];
    struct esk_source sources[ESK_PROGRAM_TABLES_MAX * 2];
    struct esk_program run;
    uint8_t *code;
    void *arena;
    uint8_t table_count;
};

/// Finds the entry of an open table; the lock is held.
static int entry_find(struct esk_py_table *table, struct esk_table_info *info) {
    struct esk_py_device *device = table->device;
    uint16_t cursor = 0;
    int status = ESK_OK;
    esk_py_volume_scratch(device);
    do {
        status = esk_volume_list(&device->volume, &cursor, info);
    } while ((status == ESK_OK && info->id != table->table_id) ||
             status == ESK_E_CORRUPT);
    return status;
}

/// The fingerprint of a table's rows; the lock is held.
static int fingerprint_of(struct esk_py_table *table, uint32_t *fingerprint) {
    struct esk_table_info info;
    ESK_TRY(entry_find(table, &info));
    return esk_table_fingerprint(&table->device->volume, &info, fingerprint);
}

/// Makes a source of a table; the lock is held.
static int source_make(struct esk_source *source,
                       const struct esk_py_query_table *of) {
    struct esk_py_table *table = of->table;
    uint32_t fingerprint = 0;
    if (table->kv != NULL) {
        esk_source_kv(source, table->kv, of->key_bytes, of->value_bytes);
        if (of->memory_bytes != 0) {
            esk_source_kv_ordered(source, of->memory_bytes);
        }
        return ESK_OK;
    }
    ESK_TRY(fingerprint_of(table, &fingerprint));
    if (table->series != NULL) {
        esk_source_series(source, table->series, fingerprint);
        esk_source_series_counts(source);
    } else {
        esk_source_tree(source, table->tree, fingerprint);
    }
    return ESK_OK;
}

/// Takes the lock of the program's device when all of its tables are open.
static int program_enter(struct esk_py_program *program) {
    if (program->table_count == 0) {
        return ESK_OK;
    }
    ESK_TRY(esk_py_table_enter(program->tables[0]));
    for (uint8_t i = 1; i < program->table_count; i++) {
        if (!program->tables[i]->open) {
            esk_py_table_leave(program->tables[0]);
            return ESK_PY_CLOSED;
        }
    }
    return ESK_OK;
}

static void program_leave(struct esk_py_program *program) {
    if (program->table_count > 0) {
        esk_py_table_leave(program->tables[0]);
    }
}

/// Gives a program that has begun, and may sort by runs, a scratch if there is
/// memory for one.
static void scratch_make(struct esk_py_program *program) {
    static const struct esk_geometry geometry = SCRATCH_GEOMETRY;
    size_t bytes = (size_t)geometry.block_count * geometry.block_pages *
                   geometry.page_bytes;
    if (program->code[ESK_PROGRAM_HELPERS] == 0) {
        return;
    }
    program->pages = calloc(1, bytes);
    if (program->pages != NULL &&
        esk_ram_device_init(&program->ram, &geometry, program->pages, bytes) ==
            ESK_OK &&
        esk_scratch_init(&program->scratch, &program->ram.device, 0,
                         geometry.block_count) == ESK_OK) {
        esk_program_set_scratch(&program->run, &program->scratch);
    }
}

/// Starts a program whose memory is zeros and whose tables are set; the lock is
/// held.
static int program_begin(struct esk_py_program *program, uint32_t bytes,
                         const struct esk_py_query_table *tables,
                         struct esk_program_report *report) {
    for (uint8_t i = 0; i < program->table_count; i++) {
        ESK_TRY(source_make(&program->sources[i], &tables[i]));
    }
    ESK_TRY(esk_program_check(program->code, bytes, &esk_query_parts_all,
                              program->sources, program->table_count, report));
    program->arena = malloc((size_t)report->arena_bytes + 8);
    if (program->arena == NULL) {
        return ESK_PY_NO_HEAP;
    }
    ESK_TRY(esk_program_begin(&program->run, program->code, bytes,
                              &esk_query_parts_all, program->sources,
                              program->table_count, program->arena,
                              report->arena_bytes));
    scratch_make(program);
    return ESK_OK;
}

static void program_free(struct esk_py_program *program) {
    free(program->pages);
    free(program->arena);
    free(program->code);
    free(program);
}

int esk_py_program_open(const void *code, uint32_t bytes,
                        const struct esk_py_query_table *tables,
                        uint8_t table_count, struct esk_program_report *report,
                        struct esk_py_program **out) {
    memset(report, 0, sizeof *report);
    struct esk_py_program *program = calloc(1, sizeof *program);
    if (program == NULL) {
        return ESK_PY_NO_HEAP;
    }
    if (table_count > sizeof program->tables / sizeof program->tables[0]) {
        free(program);
        return ESK_E_LIMIT;
    }
    for (uint8_t i = 0; i < table_count; i++) {
        program->tables[i] = tables[i].table;
        if (tables[i].table->device != tables[0].table->device) {
            free(program);
            return ESK_E_INVALID;
        }
    }
    program->table_count = table_count;
    program->code = malloc((size_t)bytes + 1);
    int status =
        program->code == NULL ? ESK_PY_NO_HEAP : program_enter(program);
    if (status == ESK_OK) {
        memcpy(program->code, code, bytes);
        status = program_begin(program, bytes, tables, report);
        for (uint8_t i = 0; status == ESK_OK && i < table_count; i++) {
            program->tables[i]->references++;
        }
        program_leave(program);
    }
    if (status == ESK_OK) {
        *out = program;
    } else {
        program_free(program);
    }
    return status;
}

void esk_py_program_release(struct esk_py_program *program) {
    for (uint8_t i = 0; i < program->table_count; i++) {
        esk_py_table_release(program->tables[i]);
    }
    program_free(program);
}

int esk_py_program_bound(const struct esk_py_program *program,
                         struct esk_program_bound *bound) {
    return esk_program_bound(&program->run, bound);
}

int esk_py_runs_plan(uint8_t slots, uint16_t capacity, uint32_t plan[4]) {
    static const struct esk_device device = {.geometry = SCRATCH_GEOMETRY};
    struct esk_scratch scratch = {.volume.device = &device};
    const struct esk_order by = {.slots = slots};
    struct esk_runs runs;
    uint32_t bytes = ESK_RECORD_BYTES(slots) * capacity;
    void *memory = malloc(bytes);
    int status = memory == NULL ? ESK_PY_NO_HEAP : ESK_E_NO_MEMORY;
    if (memory != NULL && bytes > ESK_RUNS_BYTES) {
        status = esk_runs_begin(&runs, &by, memory, bytes - ESK_RUNS_BYTES,
                                &scratch);
    }
    free(memory);
    ESK_TRY(status);
    plan[0] = runs.records.capacity;
    plan[1] = runs.page_records;
    plan[2] = runs.inputs_max;
    plan[3] = device.geometry.page_bytes;
    return ESK_OK;
}

int esk_py_program_set(struct esk_py_program *program, uint8_t parameter,
                       int64_t value) {
    return esk_program_set(&program->run, parameter, value);
}

int esk_py_program_set_text(struct esk_py_program *program, uint8_t parameter,
                            const void *texts, uint16_t offset, uint8_t bytes) {
    return esk_program_set_text(&program->run, parameter, texts, offset, bytes);
}

/// Bytes of an output in a packed row, without the NULL byte.
static uint16_t output_bytes(const struct esk_output *output) {
    return output->type == ESK_OUTPUT_INT || output->type == ESK_OUTPUT_FLOAT
               ? 8
           : output->type == ESK_OUTPUT_AVG ? 24
                                            : output->bytes;
}

/// Packs the row that is ready; returns what is behind it.
static uint8_t *row_pack(struct esk_py_program *program, uint8_t *to) {
    struct esk_output output;
    for (uint8_t i = 0; esk_program_row(&program->run, i, &output) == ESK_OK;
         i++) {
        uint16_t bytes = output_bytes(&output);
        uint16_t used = 0;
        *to++ = output.is_null;
        memset(to, 0, bytes);
        if (output.is_null) {
            /* zeros */
        } else if (output.type == ESK_OUTPUT_TEXT) {
            (void)esk_program_text(&program->run, i, to, &used);
        } else if (output.type >= ESK_OUTPUT_ROW) {
            memcpy(to, output.data, bytes);
        } else {
            memcpy(to, output.slots, bytes);
        }
        to += bytes;
    }
    return to;
}

int esk_py_program_fetch(struct esk_py_program *program, uint16_t budget,
                         uint32_t steps, void *rows, uint32_t rows_max,
                         uint32_t *count) {
    uint8_t *to = rows;
    int status = ESK_OK;
    *count = 0;
    ESK_TRY(program_enter(program));
    while ((status == ESK_OK || status == ESK_AGAIN) && *count < rows_max &&
           steps > 0) {
        status = esk_program_step(&program->run, budget);
        steps--;
        if (status == ESK_OK) {
            to = row_pack(program, to);
            *count += 1;
        }
    }
    program_leave(program);
    return status;
}
