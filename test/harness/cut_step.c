// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The campaign's workload: one step at a time, drawn from the model's seed.
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "test/harness/arena.h"
#include "test/harness/cut_configs.h"

enum {
    META_BLOCKS = 14, ///< more than both meta halves take,
    META_PAGES = 44,  ///< where a block is a page
    SIDE_BLOCKS = 6,
    MAKE_TRIES = 40,
    SIDE_ROWS = 3,
    SIDE_FILLS = 7,
    SIDE_ARENA_BYTES = 4096, ///< in addition to its page frames
    SYNCS_ALIKE = 64,        ///< rows, about, between two drawn intervals
};

static const struct esk_column side_columns[] = {
    {.name = "k", .type = ESK_TYPE_U16},
    {.name = "n", .type = ESK_TYPE_U32},
};

static int side_open(struct esk_model_series *model, struct cut_side *side,
                     struct esk_series **series) {
    struct esk_table_info info;
    ESK_TRY(esk_volume_find(&model->volume, "side", &info));
    uint32_t bytes = esk_series_arena_bytes(&model->volume, &info, NULL);
    if (bytes > side->arena_bytes) {
        return ESK_E_NO_MEMORY;
    }
    return test_series_open(series, &model->volume, "side", NULL, side->arena,
                            side->arena_bytes);
}

static void side_row(uint32_t number, uint8_t *row) {
    esk_store_u16(row, (uint16_t)(number + 1));
    esk_store_u32(row + 2, number * 2654435761u);
}

/// Appends rows to the side table and syncs them.
static int side_fill(struct esk_model_series *model, struct cut_side *side) {
    struct esk_series *series = NULL;
    uint8_t row[6];
    ESK_TRY(side_open(model, side, &series));
    int status = ESK_OK;
    for (uint32_t i = 0; i < SIDE_ROWS && status == ESK_OK; i++) {
        side_row(side->rows, row);
        status = esk_series_append(series, row);
        side->rows += status == ESK_OK ? 1 : 0;
    }
    if (status == ESK_OK) {
        status = esk_series_sync(series);
        side->synced = status == ESK_OK ? side->rows : side->synced;
    }
    esk_series_close(series);
    return status;
}

static int side_create(struct esk_model_series *model, struct cut_side *side) {
    struct esk_series_spec spec = {
        .table = {.name = "side",
                  .columns = side_columns,
                  .column_count = 2,
                  .row_bytes = 6},
        .data_blocks = 3,
        .index_blocks = 2,
    };
    side->maybe = true;
    side->rows = 0;
    side->synced = 0;
    ESK_TRY(esk_series_create(&model->volume, &spec, NULL));
    side->maybe = false;
    side->exists = true;
    return ESK_OK;
}

static int side_drop(struct esk_model_series *model, struct cut_side *side) {
    side->maybe = true;
    ESK_TRY(esk_volume_drop(&model->volume, "side"));
    side->maybe = false;
    side->exists = false;
    return ESK_OK;
}

int cut_side_step(struct esk_model_series *model, struct cut_side *side) {
    if (!side->exists) {
        return side_create(model, side);
    }
    /* Before it drops rows itself: a fill may take a page of 12. */
    bool drops = esk_model_series_random(model, 3) == 0 ||
                 side->rows >= SIDE_FILLS * SIDE_ROWS;
    return drops ? side_drop(model, side) : side_fill(model, side);
}

/// Checks that the side table has its synced rows, then a prefix.
static bool side_rows_verify(struct esk_model_series *model,
                             struct cut_side *side) {
    struct esk_series *series = NULL;
    struct esk_series_cursor cursor;
    uint8_t row[6];
    uint8_t expected[6];
    uint32_t count = 0;
    int status = side_open(model, side, &series);
    if (status != ESK_OK) {
        return esk_model_series_fail(model, "side table: %s",
                                     esk_status_text(status));
    }
    status = esk_series_cursor_open(series, &cursor, NULL);
    while (status == ESK_OK) {
        status = esk_series_cursor_next(series, &cursor, row);
        side_row(count, expected);
        if (status == ESK_OK &&
            (count >= side->rows || memcmp(row, expected, sizeof row) != 0)) {
            break;
        }
        count += status == ESK_OK ? 1 : 0;
    }
    esk_series_close(series);
    if (status != ESK_END || count < side->synced) {
        return esk_model_series_fail(
            model, "side table: %s at row %lu, synced %lu",
            esk_status_text(status), (unsigned long)count,
            (unsigned long)side->synced);
    }
    side->rows = count;
    side->synced = count;
    return true;
}

bool cut_side_verify(struct esk_model_series *model, struct cut_side *side) {
    struct esk_table_info info;
    int status = esk_volume_find(&model->volume, "side", &info);
    bool there = status == ESK_OK;
    if (status != ESK_OK && status != ESK_NOT_FOUND) {
        return esk_model_series_fail(model, "finding the side table: %s",
                                     esk_status_text(status));
    }
    if (!side->maybe && there != side->exists) {
        return esk_model_series_fail(model, "the side table %s",
                                     there ? "is back" : "is gone");
    }
    if (side->maybe && !side->exists) {
        side->rows = 0;
        side->synced = 0;
    }
    side->maybe = false;
    side->exists = there;
    return !there || side_rows_verify(model, side);
}

void cut_side_free(struct cut_side *side) {
    free(side->arena);
    side->arena = NULL;
}

/// Whether the row just appended is to be synced.
static bool sync_is_due(const struct cut_config *config,
                        struct esk_model_series *model) {
    static const uint32_t intervals[] = {1, 7, 50};
    struct esk_model_series_expected *expected = model->expected;
    switch (config->sync) {
    case CUT_SYNC_EACH:
        return true;
    case CUT_SYNC_RANDOM:
        return esk_model_series_random(model, config->page_rows) == 0;
    case CUT_SYNC_DRAWN:
        if (expected->sync_rows == 0 ||
            esk_model_series_random(model, SYNCS_ALIKE) == 0) {
            expected->sync_rows = intervals[esk_model_series_random(model, 3)];
        }
        return expected->count - expected->synced >= expected->sync_rows;
    default:
        return false;
    }
}

/// Appends a row and syncs as configured.
static int append_step(const struct cut_config *config,
                       struct esk_model_series *model) {
    int status = esk_model_series_append(model);
    if (status == ESK_FULL) {
        /* Everything that was accepted must still become durable. */
        ESK_TRY(esk_model_series_sync(model));
        return esk_model_series_erase_before(
            model, 1 + esk_model_series_random(model, 7));
    }
    ESK_TRY(status);
    return sync_is_due(config, model) ? esk_model_series_sync(model) : ESK_OK;
}

int cut_step(const struct cut_config *config, struct esk_model_series *model,
             struct cut_side *side) {
    uint32_t choice = esk_model_series_random(model, 64);
    if (config->steps && choice < 8) {
        return esk_model_series_step(model, (uint16_t)(1 + choice % 3));
    }
    if (config->erases && choice == 8) {
        return esk_model_series_erase_before(model,
                                             esk_model_series_random(model, 9));
    }
    if (config->side && choice == 9) {
        return cut_side_step(model, side);
    }
    if (config->breaks && choice == 11) {
        return esk_model_series_erase_after(model,
                                            esk_model_series_random(model, 9));
    }
    if (config->remounts && choice == 10) {
        esk_model_series_crash(model);
        ESK_TRY(esk_model_series_recover(model));
        return esk_model_series_verify(model, false) ? ESK_OK : ESK_E_CORRUPT;
    }
    return append_step(config, model);
}

static bool prefill(const struct cut_config *config,
                    struct esk_model_series *model) {
    uint32_t rows = config->prefill_pages * config->page_rows;
    int status = esk_model_series_append_many(model, rows);
    if (status == ESK_OK) {
        status = esk_model_series_sync(model);
    }
    return status == ESK_OK ||
           esk_model_series_fail(model, "prefill: %s", esk_status_text(status));
}

bool cut_model_series_make(const struct cut_config *config,
                           struct esk_model_series *model,
                           struct cut_side *side, uint64_t seed) {
    const struct esk_model_series_table *table = &config->table;
    struct esk_sim_config sim = {
        .geometry = config->geometry,
        .bad_blocks = config->bad_blocks,
        .ecc_bits = config->ecc_word != 0 ? 1 : 0,
        .ecc_bytes = config->ecc_word,
        .dirty = config->dirty,
        .erase_keeps = config->erase_keeps,
        .whole_writes = config->whole_writes,
        .cache_programs = config->cache,
    };
    memset(side, 0, sizeof *side);
    side->arena_bytes = SIDE_ARENA_BYTES + 4u * config->geometry.page_bytes;
    side->arena = malloc(side->arena_bytes);
    uint32_t meta = config->geometry.block_pages > 1 ? META_BLOCKS : META_PAGES;
    sim.geometry.block_count =
        meta + table->data_blocks + table->index_blocks + table->var_blocks +
        SIDE_BLOCKS +
        (table->sorted
             ? ESK_MODEL_SERIES_SORTED_BLOCKS + ESK_MODEL_SERIES_MERGED_BLOCKS
             : 0);
    int status = ESK_E_WORN;
    /* Bad blocks can leave a ring or a meta half too little: draw again. */
    for (uint32_t i = 0; i < MAKE_TRIES; i++) {
        sim.seed = seed + i * 7919;
        status = esk_model_series_make(model, table, &sim, seed);
        if (status == ESK_OK &&
            (config->bad_blocks == 0 ||
             model->bad_blocks + 3 <= model->table.data_blocks)) {
            return prefill(config, model);
        }
        if (config->bad_blocks == 0) {
            break;
        }
        esk_model_series_free(model);
    }
    return esk_model_series_fail(model, "making the volume: %s",
                                 esk_status_text(status));
}
