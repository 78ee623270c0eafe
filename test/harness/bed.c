// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The bed's life: making, saving, crashing, recovering.
#include "test/harness/bed.h"

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

bool esk_bed_fail(struct esk_bed *bed, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(bed->why, sizeof bed->why, format, arguments);
    va_end(arguments);
    return false;
}

/// SplitMix64, as the simulator's.
uint32_t esk_bed_random(struct esk_bed *bed, uint32_t bound) {
    uint64_t z = bed->model->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (uint32_t)((z >> 32) * bound >> 32);
}

static uint8_t column_add(struct esk_bed *bed, const char *name, uint8_t type,
                          uint16_t bytes) {
    struct esk_column *column = &bed->columns[bed->column_count];
    column->name = name;
    column->type = type;
    column->bytes = bytes;
    return bed->column_count++;
}

/// The key stands between other columns, so that offsets are not all 0.
static void schema_make(struct esk_bed *bed) {
    const struct esk_bed_table *table = &bed->table;
    bed->v_column = column_add(bed, "v", ESK_TYPE_I32, 0);
    bed->key_column =
        column_add(bed, "t", table->wide_key ? ESK_TYPE_I64 : ESK_TYPE_U32, 0);
    if (table->has_var) {
        bed->var_column = column_add(bed, "x", ESK_TYPE_VAR, 0);
    }
    if (table->pad_bytes > 0) {
        bed->pad_column =
            column_add(bed, "pad", ESK_TYPE_BYTES, table->pad_bytes);
    }
    bed->w_column = column_add(bed, "w", ESK_TYPE_I16, 0);
    bed->row_bytes = esk_row_bytes(bed->columns, bed->column_count);
    for (uint8_t i = 0; i < 7; i++) {
        bed->edges[i] = 300 * (i + 1);
    }
    bed->indexes[0] = (struct esk_index_spec){
        .column = bed->v_column,
        .bitmap_bits = 8,
        .edges = table->edges_given ? bed->edges : NULL,
        .edge_count = table->edges_given ? 7 : 0,
    };
    bed->indexes[1] = (struct esk_index_spec){
        .column = bed->w_column,
        .bitmap_bits = 16,
    };
}

static int table_create(struct esk_bed *bed) {
    const struct esk_bed_table *table = &bed->table;
    struct esk_table_spec spec = {
        .name = "log",
        .columns = bed->columns,
        .indexes = table->index_count > 0 ? bed->indexes : NULL,
        .column_count = bed->column_count,
        .key_column = bed->key_column,
        .index_count = table->index_count,
        .full_policy = table->full_policy,
        .group_pages = table->group_pages,
        .run_pages = table->run_pages,
        .data_blocks = table->data_blocks,
        .index_blocks = table->index_blocks,
        .var_blocks = table->var_blocks,
    };
    return esk_volume_create(&bed->volume, ESK_TABLE_SERIES, &spec, NULL,
                             bed->page);
}

static uint32_t bad_count(const struct esk_bed *bed, uint32_t first,
                          uint32_t count) {
    uint32_t bad = 0;
    for (uint32_t block = first; block < first + count; block++) {
        bool is_bad = false;
        if (bed->device->ops->block_is_bad != NULL) {
            (void)bed->device->ops->block_is_bad(bed->device, block, &is_bad);
        }
        bad += is_bad ? 1 : 0;
    }
    return bad;
}

/// Learns the regions and makes the arena.
static int table_learn(struct esk_bed *bed) {
    struct esk_series_config config = {
        .erase_ahead = bed->table.erase_ahead,
        .key_index_bytes = bed->table.key_index_bytes,
    };
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(&bed->volume, "log", &info, bed->page));
    bed->data_block = info.block[0];
    bed->index_block = info.block[1];
    bed->var_block = info.block[2];
    bed->table.data_blocks = info.blocks[0];
    bed->index_blocks = info.blocks[1];
    bed->var_blocks = info.blocks[2];
    bed->bad_blocks = bad_count(bed, info.block[0], info.blocks[0]);
    bed->var_bad_blocks = bad_count(bed, info.block[2], info.blocks[2]);
    bed->arena_bytes =
        esk_series_arena_bytes(&bed->volume, &info, &config, bed->page);
    bed->arena = allocate(bed->arena_bytes);
    return ESK_OK;
}

static int series_open(struct esk_bed *bed) {
    struct esk_series_config config = {
        .erase_ahead = bed->table.erase_ahead,
        .key_index_bytes = bed->table.key_index_bytes,
    };
    /* What a former life left in RAM must not matter. */
    memset(bed->arena, 0xA5, bed->arena_bytes);
    return esk_series_open_with(
        &bed->series,
        bed->table.parts != NULL ? bed->table.parts : &esk_series_parts_all,
        &bed->volume, "log", &config, bed->arena, bed->arena_bytes);
}

/// Formats bed->device and opens the table on it.
static int bed_start(struct esk_bed *bed, uint64_t seed) {
    const struct esk_bed_table *table = &bed->table;
    bed->page = allocate(bed->device->geometry.page_bytes);
    bed->value = allocate(ESK_BED_VALUE_BYTES_MAX);
    bed->readback = allocate(ESK_BED_VALUE_BYTES_MAX);
    bed->found = allocate(2 * ESK_BED_ROWS_MAX * sizeof *bed->found);
    bed->model = allocate(sizeof *bed->model);
    bed->model->random = seed;
    bed->model->key_next = table->wide_key ? -20000 : 10;
    schema_make(bed);
    struct esk_volume_config volume = {.uuid = {1, 2, 3, (uint8_t)seed},
                                       .checksum = table->checksum};
    ESK_TRY(esk_volume_format(bed->device, &volume, bed->page));
    ESK_TRY(esk_volume_mount(&bed->volume, bed->device, 0, bed->page));
    ESK_TRY(table_create(bed));
    ESK_TRY(table_learn(bed));
    return series_open(bed);
}

int esk_bed_make(struct esk_bed *bed, const struct esk_bed_table *table,
                 const struct esk_sim_config *config, uint64_t seed) {
    memset(bed, 0, sizeof *bed);
    bed->table = *table;
    ESK_TRY(esk_sim_create(&bed->sim, config));
    bed->device = esk_sim_device(bed->sim);
    bed->caches = config->cache_programs > 0;
    if (table->no_marks) {
        bed->ops_unmarked = *bed->device->ops;
        bed->ops_unmarked.block_is_bad = NULL;
        bed->ops_unmarked.block_mark_bad = NULL;
        bed->device_unmarked = *bed->device;
        bed->device_unmarked.ops = &bed->ops_unmarked;
        bed->device = &bed->device_unmarked;
    }
    return bed_start(bed, seed);
}

int esk_bed_make_on(struct esk_bed *bed, const struct esk_bed_table *table,
                    const struct esk_device *device, const bool *on,
                    uint64_t seed) {
    memset(bed, 0, sizeof *bed);
    bed->table = *table;
    bed->device = device;
    bed->on = on;
    return bed_start(bed, seed);
}

void esk_bed_free(struct esk_bed *bed) {
    esk_sim_destroy(bed->sim);
    free(bed->arena);
    free(bed->page);
    free(bed->value);
    free(bed->readback);
    free(bed->found);
    free(bed->model);
    memset(bed, 0, sizeof *bed);
}

void esk_bed_save_make(struct esk_bed_save *save, const struct esk_bed *bed) {
    if (esk_sim_clone(&save->sim, bed->sim) != ESK_OK) {
        exit(2);
    }
    save->arena = allocate(bed->arena_bytes);
    save->model = allocate(sizeof *save->model);
    esk_bed_keep(save, bed);
}

void esk_bed_save_free(struct esk_bed_save *save) {
    esk_sim_destroy(save->sim);
    free(save->arena);
    free(save->model);
}

/// Copies the part of the model that is in use.
static void model_copy(struct esk_bed_model *to,
                       const struct esk_bed_model *from) {
    memcpy(to, from, offsetof(struct esk_bed_model, rows));
    memcpy(to->rows, from->rows, from->count * sizeof from->rows[0]);
}

void esk_bed_keep(struct esk_bed_save *save, const struct esk_bed *bed) {
    esk_sim_restore(save->sim, bed->sim);
    save->volume = bed->volume;
    save->series = bed->series;
    memcpy(save->arena, bed->arena, bed->arena_bytes);
    model_copy(save->model, bed->model);
}

void esk_bed_restore(struct esk_bed *bed, const struct esk_bed_save *save) {
    esk_sim_restore(bed->sim, save->sim);
    bed->volume = save->volume;
    bed->series = save->series;
    memcpy(bed->arena, save->arena, bed->arena_bytes);
    model_copy(bed->model, save->model);
}

uint32_t esk_bed_retained(uint32_t head, uint32_t pages, uint32_t blocks,
                          uint32_t ahead, uint32_t bad) {
    uint32_t due = head % pages == 0 ? 1 : 0;
    uint32_t end = (head + pages - 1) / pages * pages +
                   pages * ((ahead > due ? ahead : due) + bad);
    uint32_t capacity = blocks * pages;
    return end > capacity ? end - capacity : 0;
}

static void var_keep_raise(struct esk_bed *bed, uint32_t head) {
    struct esk_bed_model *model = bed->model;
    uint32_t keep =
        esk_bed_retained(head, bed->device->geometry.block_pages,
                         bed->var_blocks, model->ahead, bed->var_bad_blocks);
    if (bed->table.full_policy != ESK_FULL_REFUSE && keep > model->var_keep) {
        model->var_keep = keep;
    }
}

void esk_bed_note_heads(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    uint32_t pages = bed->device->geometry.block_pages;
    uint32_t keep = 0;
    model->data_head = bed->series->data.head;
    model->var_head = bed->table.has_var ? bed->series->var->head : 0;
    model->laps = model->data_head / (pages * bed->table.data_blocks);
    if (bed->table.full_policy == ESK_FULL_REFUSE) {
        return;
    }
    keep = esk_bed_retained(model->data_head, pages, bed->table.data_blocks,
                            model->ahead, bed->bad_blocks);
    if (keep > model->keep) {
        model->keep = keep;
    }
    if (bed->table.has_var) {
        var_keep_raise(bed, model->var_head);
    }
}

void esk_bed_crash(struct esk_bed *bed) {
    struct esk_bed_model *model = bed->model;
    model->placed = model->count;
    model->crashed = true;
    model->kept = bed->caches && esk_sim_is_on(bed->sim);
    for (uint32_t i = 1; bed->table.has_var && i <= VALUE_PAGES_MAX; i++) {
        /* A long value may have gone through several pages. */
        var_keep_raise(bed, model->var_head + i);
    }
    bed->series = NULL;
    memset(&bed->volume, 0x5A, sizeof bed->volume);
    if (bed->sim != NULL) {
        esk_sim_power_on(bed->sim);
        esk_sim_cut_at(bed->sim, 0, ESK_SIM_CUT_NONE);
    }
}

int esk_bed_recover(struct esk_bed *bed) {
    int status = esk_volume_mount(&bed->volume, bed->device, 0, bed->page);
    if (status != ESK_OK) {
        esk_bed_fail(bed, "mount: %s", esk_status_text(status));
        return status;
    }
    status = series_open(bed);
    if (status != ESK_OK) {
        bed->series = NULL;
        esk_bed_fail(bed, "open: %s", esk_status_text(status));
        return status;
    }
    bed->model->generation++;
    /* Blocks may have gone bad since. */
    bed->bad_blocks = bad_count(bed, bed->data_block, bed->table.data_blocks);
    bed->var_bad_blocks = bad_count(bed, bed->var_block, bed->var_blocks);
    esk_bed_note_heads(bed);
    return ESK_OK;
}
