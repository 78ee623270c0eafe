// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The model's life: making, saving, crashing, recovering.
#include "test/harness/model_series.h"
#include "test/harness/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/series/series.h"

enum { VALUE_PAGES_MAX = 4 };

static void *allocate(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(2);
    }
    return memory;
}

bool esk_model_series_fail(struct esk_model_series *model, const char *format,
                           ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(model->why, sizeof model->why, format, arguments);
    va_end(arguments);
    return false;
}

/// SplitMix64, as the simulator's.
uint32_t esk_model_series_random(struct esk_model_series *model,
                                 uint32_t bound) {
    uint64_t z = model->expected->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * bound >> 32);
}

static uint8_t column_add(struct esk_model_series *model, const char *name,
                          uint8_t type, uint16_t bytes) {
    struct esk_column *column = &model->columns[model->column_count];
    column->name = name;
    column->type = type;
    column->bytes = bytes;
    return model->column_count++;
}

/// The key stands between other columns, so that offsets are not all 0.
static void schema_make(struct esk_model_series *model) {
    const struct esk_model_series_table *table = &model->table;
    model->v_column = column_add(model, "v", ESK_TYPE_I32, 0);
    model->key_column = column_add(
        model, "t", table->wide_key ? ESK_TYPE_I64 : ESK_TYPE_U32, 0);
    if (table->has_var) {
        model->var_column = column_add(model, "x", ESK_TYPE_VAR, 0);
    }
    if (table->pad_bytes > 0) {
        model->pad_column =
            column_add(model, "pad", ESK_TYPE_BYTES, table->pad_bytes);
    }
    model->w_column = column_add(model, "w", ESK_TYPE_I16, 0);
    model->row_bytes = esk_row_bytes(model->columns, model->column_count);
    for (uint8_t i = 0; i < 7; i++) {
        model->edges[i] = 300 * (i + 1);
    }
    model->indexes[0] = (struct esk_index_spec){
        .column = model->v_column,
        .bitmap_bits = 8,
        .edges = table->edges_given ? model->edges : NULL,
        .edge_count = table->edges_given ? 7 : 0,
    };
    model->indexes[1] = (struct esk_index_spec){
        .column = model->w_column,
        .bitmap_bits = 16,
    };
    if (table->sorted) {
        model->indexes[table->index_count] =
            (struct esk_index_spec){.kind = ESK_INDEX_SORTED,
                                    .column = model->v_column,
                                    .entries = ESK_SORTED_ENTRIES_MIN,
                                    .fan = 2};
    }
}

static int table_create(struct esk_model_series *model) {
    const struct esk_model_series_table *table = &model->table;
    uint32_t sorted = table->sorted ? ESK_MODEL_SERIES_SORTED_BLOCKS +
                                          ESK_MODEL_SERIES_MERGED_BLOCKS
                                    : 0;
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = model->columns,
                  .column_count = model->column_count,
                  .row_bytes = model->row_bytes,
                  .key_column = model->key_column},
        .indexes =
            table->index_count > 0 || table->sorted ? model->indexes : NULL,
        .index_count = (uint8_t)(table->index_count + (table->sorted ? 1 : 0)),
        .sorted_blocks = table->sorted ? ESK_MODEL_SERIES_SORTED_BLOCKS : 0,
        .merged_blocks = table->sorted ? ESK_MODEL_SERIES_MERGED_BLOCKS : 0,
        .full_policy = table->full_policy,
        .keys_repeat = table->keys_repeat,
        .group_pages = table->group_pages,
        .run_pages = table->run_pages,
        .sync_blocks = table->sync_blocks,
        .data_blocks = table->data_blocks + sorted,
        .index_blocks = table->index_blocks,
        .var_blocks = table->var_blocks,
        .codec = table->packed ? ESK_CODEC_PACKED : ESK_CODEC_RAW,
        .cell_bytes = table->cell_bytes,
    };
    return esk_series_create(&model->volume, &spec, NULL);
}

static uint32_t bad_count(const struct esk_model_series *model, uint32_t first,
                          uint32_t count) {
    uint32_t bad = 0;
    for (uint32_t block = first; block < first + count; block++) {
        bool is_bad = false;
        if (model->device->ops->block_is_bad != NULL) {
            (void)model->device->ops->block_is_bad(model->device, block,
                                                   &is_bad);
        }
        bad += is_bad ? 1 : 0;
    }
    return bad;
}

/// Learns the regions and makes the arena.
static int table_learn(struct esk_model_series *model) {
    struct esk_series_config config = {
        .erase_ahead = model->table.erase_ahead,
        .key_index_bytes = model->table.key_index_bytes,
        .readers = model->table.readers,
    };
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(&model->volume, "log", &info));
    model->data_block = info.block[0];
    model->index_block = info.block[1];
    model->var_block = info.block[2];
    model->table.data_blocks = info.blocks[ESK_REGION_DATA];
    model->sync_blocks = info.blocks[ESK_REGION_SYNC];
    model->index_blocks = info.blocks[1];
    model->var_blocks = info.blocks[2];
    model->bad_blocks =
        bad_count(model, info.block[0], model->table.data_blocks);
    model->var_bad_blocks = bad_count(model, info.block[2], info.blocks[2]);
    model->arena_bytes = esk_series_arena_bytes(&model->volume, &info, &config);
    model->arena = allocate(model->arena_bytes);
    return ESK_OK;
}

static int series_open(struct esk_model_series *model) {
    struct esk_series_config config = {
        .erase_ahead = model->table.erase_ahead,
        .key_index_bytes = model->table.key_index_bytes,
        .readers = model->table.readers,
    };
    /* What a former life left in RAM must not matter. */
    memset(model->arena, 0xA5, model->arena_bytes);
    return test_series_open_with(
        &model->series,
        model->table.parts != NULL ? model->table.parts : &esk_series_parts_all,
        &model->volume, "log", &config, model->arena, model->arena_bytes);
}

/// Formats model->device and opens the table on it.
static int model_series_start(struct esk_model_series *model, uint64_t seed) {
    const struct esk_model_series_table *table = &model->table;
    model->page = allocate(model->device->geometry.page_bytes);
    model->value = allocate(ESK_MODEL_SERIES_VALUE_BYTES_MAX);
    model->readback = allocate(ESK_MODEL_SERIES_VALUE_BYTES_MAX);
    model->found =
        allocate(2 * ESK_MODEL_SERIES_ROWS_MAX * sizeof *model->found);
    model->expected = allocate(sizeof *model->expected);
    model->expected->random = seed;
    model->expected->key_next = table->wide_key ? -20000 : 10;
    schema_make(model);
    struct esk_volume_config volume = {.uuid = {1, 2, 3, (uint8_t)seed},
                                       .checksum = table->checksum,
                                       .overwrite = true};
    ESK_TRY(esk_volume_format(model->device, &volume, TEST_SCRATCH));
    ESK_TRY(esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH));
    ESK_TRY(table_create(model));
    ESK_TRY(table_learn(model));
    return series_open(model);
}

int esk_model_series_make(struct esk_model_series *model,
                          const struct esk_model_series_table *table,
                          const struct esk_sim_config *config, uint64_t seed) {
    memset(model, 0, sizeof *model);
    model->table = *table;
    ESK_TRY(esk_sim_create(&model->sim, config));
    model->device = esk_sim_device(model->sim);
    model->caches = config->cache_programs > 0;
    if (table->no_marks) {
        model->ops_unmarked = *model->device->ops;
        model->ops_unmarked.block_is_bad = NULL;
        model->ops_unmarked.block_mark_bad = NULL;
        model->device_unmarked = *model->device;
        model->device_unmarked.ops = &model->ops_unmarked;
        model->device = &model->device_unmarked;
    }
    return model_series_start(model, seed);
}

int esk_model_series_make_on(struct esk_model_series *model,
                             const struct esk_model_series_table *table,
                             const struct esk_device *device, const bool *on,
                             uint64_t seed) {
    memset(model, 0, sizeof *model);
    model->table = *table;
    model->device = device;
    model->on = on;
    return model_series_start(model, seed);
}

void esk_model_series_free(struct esk_model_series *model) {
    esk_sim_destroy(model->sim);
    free(model->arena);
    free(model->page);
    free(model->value);
    free(model->readback);
    free(model->found);
    free(model->expected);
    memset(model, 0, sizeof *model);
}

void esk_model_series_save_make(struct esk_model_series_save *save,
                                const struct esk_model_series *model) {
    if (esk_sim_clone(&save->sim, model->sim) != ESK_OK) {
        exit(2);
    }
    save->arena = allocate(model->arena_bytes);
    save->expected = allocate(sizeof *save->expected);
    esk_model_series_keep(save, model);
}

void esk_model_series_save_free(struct esk_model_series_save *save) {
    esk_sim_destroy(save->sim);
    free(save->arena);
    free(save->expected);
}

/// Copies the part of the model that is in use.
static void model_copy(struct esk_model_series_expected *to,
                       const struct esk_model_series_expected *from) {
    memcpy(to, from, offsetof(struct esk_model_series_expected, rows));
    memcpy(to->rows, from->rows, from->count * sizeof from->rows[0]);
}

void esk_model_series_keep(struct esk_model_series_save *save,
                           const struct esk_model_series *model) {
    esk_sim_restore(save->sim, model->sim);
    save->volume = model->volume;
    save->series = model->series;
    memcpy(save->arena, model->arena, model->arena_bytes);
    model_copy(save->expected, model->expected);
}

void esk_model_series_restore(struct esk_model_series *model,
                              const struct esk_model_series_save *save) {
    esk_sim_restore(model->sim, save->sim);
    model->volume = save->volume;
    model->series = save->series;
    memcpy(model->arena, save->arena, model->arena_bytes);
    model_copy(model->expected, save->expected);
}

uint32_t esk_model_series_retained(uint32_t head, uint32_t pages,
                                   uint32_t blocks, uint32_t ahead,
                                   uint32_t bad) {
    uint32_t due = head % pages == 0 ? 1 : 0;
    uint32_t end = (head + pages - 1) / pages * pages +
                   pages * ((ahead > due ? ahead : due) + bad);
    uint32_t capacity = blocks * pages;
    return end > capacity ? end - capacity : 0;
}

/// Counts the bad blocks again: some may have gone bad since. Without power
/// none is found, so the counts only rise.
static void bad_recount(struct esk_model_series *model) {
    uint32_t bad =
        bad_count(model, model->data_block, model->table.data_blocks);
    model->bad_blocks = bad > model->bad_blocks ? bad : model->bad_blocks;
    bad = bad_count(model, model->var_block, model->var_blocks);
    model->var_bad_blocks =
        bad > model->var_bad_blocks ? bad : model->var_bad_blocks;
}

static void var_keep_raise(struct esk_model_series *model, uint32_t head) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t keep = esk_model_series_retained(
        head, model->device->geometry.block_pages, model->var_blocks,
        expected->ahead, model->var_bad_blocks);
    if (model->table.full_policy != ESK_FULL_REFUSE &&
        keep > expected->var_keep) {
        expected->var_keep = keep;
    }
}

void esk_model_series_note_heads(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t pages = model->device->geometry.block_pages;
    uint32_t keep = 0;
    expected->data_head = model->series->data.head;
    expected->var_head = model->table.has_var ? model->series->var->head : 0;
    expected->laps = expected->data_head / (pages * model->table.data_blocks);
    if (model->table.full_policy == ESK_FULL_REFUSE) {
        return;
    }
    bad_recount(model);
    keep = esk_model_series_retained(expected->data_head, pages,
                                     model->table.data_blocks, expected->ahead,
                                     model->bad_blocks);
    if (keep > expected->keep) {
        expected->keep = keep;
    }
    if (model->table.has_var) {
        var_keep_raise(model, expected->var_head);
    }
}

void esk_model_series_crash(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    expected->placed = expected->count;
    expected->crashed = true;
    expected->kept = model->caches && esk_sim_is_on(model->sim);
    for (uint32_t i = 1; model->table.has_var && i <= VALUE_PAGES_MAX; i++) {
        /* A long value may have gone through several pages. */
        var_keep_raise(model, expected->var_head + i);
    }
    model->series = NULL;
    memset(&model->volume, 0x5A, sizeof model->volume);
    if (model->sim != NULL) {
        esk_sim_power_on(model->sim);
        esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
    }
}

/// Rows in the sync journal are programmed at the head, which may have gone
/// back over pages that a failing medium did not program.
static void positions_bound(struct esk_model_series *model) {
    struct esk_model_series_expected *expected = model->expected;
    uint32_t head = model->series->data.head;
    for (uint32_t i = expected->count;
         i > 0 && expected->rows[i - 1].position > head; i--) {
        expected->rows[i - 1].position = head;
    }
}

int esk_model_series_recover(struct esk_model_series *model) {
    int status =
        esk_volume_mount(&model->volume, model->device, 0, TEST_SCRATCH);
    if (status != ESK_OK) {
        esk_model_series_fail(model, "mount: %s", esk_status_text(status));
        return status;
    }
    status = series_open(model);
    if (status != ESK_OK) {
        model->series = NULL;
        esk_model_series_fail(model, "open: %s", esk_status_text(status));
        return status;
    }
    model->expected->generation++;
    positions_bound(model);
    esk_model_series_note_heads(model);
    return ESK_OK;
}
