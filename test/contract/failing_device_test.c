// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Media that fail: programs, erases and reads.
///
/// Rows that append or sync did not acknowledge may be lost; acknowledged rows
/// are there after the next mount, in order and without others between. The
/// table continues on the remaining blocks, and returns ESK_E_WORN or ESK_E_IO
/// when there is none.
#include "table/series/series.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { STEPS = 500, REFUSALS_MAX = 6 };

struct medium {
    const char *name;
    struct esk_geometry geometry;
    struct esk_model_series_table table;
    uint32_t sync_rows; ///< rows a sync; 0: about 5, drawn
};

static const struct medium bases[] = {
    {.name = "nor without marks",
     .geometry = ESK_NOR(60, 8, 256),
     .table = {.no_marks = true,
               .index_count = 1,
               .pad_bytes = 30,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 20,
               .index_blocks = 10}},
    {.name = "words of 4 bytes with values",
     .geometry = ESK_FLASH(60, 8, 256, 4, 0),
     .table = {.has_var = true,
               .value_bytes = 20,
               .cell_bytes = 64,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 16,
               .index_blocks = 10,
               .var_blocks = 20}},
    {.name = "nand with a journal",
     .geometry = ESK_NAND(80, 8, 512),
     .table = {.index_count = 2,
               .pad_bytes = 20,
               .sync_blocks = 4,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 30,
               .index_blocks = 15}},
    {.name = "card",
     .geometry = ESK_CARD(80, 8, 512),
     .table = {.no_marks = true,
               .full_policy = ESK_FULL_DROP_OLDEST,
               .pad_bytes = 60,
               .sorted = true,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 20,
               .index_blocks = 10}},
    {.name = "nand with marks",
     .geometry = ESK_NAND(80, 8, 512),
     .table = {.index_count = 1,
               .pad_bytes = 60,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 30,
               .index_blocks = 15}},
    {.name = "nor with values",
     .geometry = ESK_NOR(80, 8, 256),
     .table = {.no_marks = true,
               .has_var = true,
               .value_bytes = 60,
               .index_count = 1,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 16,
               .index_blocks = 10,
               .var_blocks = 24}},
};

enum { BASES = sizeof bases / sizeof bases[0], MEDIA = 2 * BASES };

/// Medium `m` in run `i` of a loop: each base raw, and then packed.
static struct medium medium_of(uint32_t m, uint32_t i) {
    static const uint32_t intervals[] = {1, 7, 50};
    struct medium medium = bases[m % BASES];
    if (m >= BASES) {
        medium.table.packed = true;
        medium.sync_rows = intervals[i / 7 % 3];
    } else {
        medium.table.cell_bytes = 0;
    }
    return medium;
}

static void model_series_make(struct esk_model_series *model,
                              const struct medium *medium, uint64_t seed) {
    struct esk_sim_config config = {.geometry = medium->geometry, .seed = seed};
    ESK_CHECK_INT(esk_model_series_make(model, &medium->table, &config, seed),
                  ESK_OK);
}

/// Whether the step `i` is a sync.
static bool is_sync(struct esk_model_series *model, const struct medium *medium,
                    uint32_t i) {
    uint32_t rows = medium->sync_rows;
    return rows != 0 ? i % (rows + 1) == rows
                     : esk_model_series_random(model, 6) == 0;
}

/// Appends and syncs while the medium fails as configured.
/// Returns how many calls were refused in a row at the end.
static uint32_t work(struct esk_model_series *model,
                     const struct medium *medium, uint32_t steps) {
    uint32_t refused = 0;
    for (uint32_t i = 0; i < steps && refused < REFUSALS_MAX; i++) {
        int status = is_sync(model, medium, i) ? esk_model_series_sync(model)
                                               : esk_model_series_append(model);
        if (status != ESK_OK && status != ESK_E_IO && status != ESK_E_WORN) {
            ESK_CHECK_TEXT(esk_status_text(status), "an honest status");
        }
        refused = status == ESK_OK ? 0 : refused + 1;
        esk_model_series_note_heads(model);
    }
    return refused;
}

/// Mounts again on a medium that no longer fails, and checks the rows.
static void recover_verify(struct esk_model_series *model) {
    esk_sim_failures_set(model->sim, NULL);
    esk_model_series_crash(model);
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    /* The oldest block is dropped when its first pages failed: the mount cannot
       tell it from a block whose erase was cut. */
    model->expected->keep += model->device->geometry.block_pages;
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
}

/// A table that was refused again and again: its rows may be lost, block by
/// block. It still mounts, still returns the error, and breaks no rule of the
/// medium.
static void worn_verify(struct esk_model_series *model) {
    esk_sim_failures_set(model->sim, NULL);
    esk_model_series_crash(model);
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
    esk_model_series_free(model);
}

/// Whether a quick run leaves out the `i`th run of a loop on this medium.
static bool is_left_out(const struct medium *medium, uint32_t i) {
    if (i % esk_test_stride(2) != 0) {
        return true;
    }
    return medium->sync_rows != 0 && i % 7 != 3 && esk_test_rounds(0, 1) == 0;
}

static void run(const struct medium *medium,
                const struct esk_sim_failures *failures, uint64_t seed) {
    struct esk_model_series model;
    ESK_CONTEXT("%s, packed %u, sync %u, programs each %u (burst %u), erases "
                "each %u (burst %u), "
                "transfers each %u (burst %u), seed %u",
                medium->name, medium->table.packed, (unsigned)medium->sync_rows,
                failures->program.every, failures->program.burst_length,
                failures->erase.every, failures->erase.burst_length,
                failures->transfer.every, failures->transfer.burst_length,
                (unsigned)seed);
    model_series_make(&model, medium, seed);
    for (uint32_t round = 0; round < 4; round++) {
        esk_sim_failures_set(model.sim, failures);
        if (work(&model, medium, STEPS) > 0) {
            worn_verify(&model);
            return;
        }
        ESK_CHECK_HELD(esk_model_series_verify(&model, true), model.why);
        recover_verify(&model);
    }
    /* Blocks that failed to erase, or were marked, stay bad: the table may be
       worn. Without such blocks it continues. */
    uint32_t refused = work(&model, medium, 60);
    recover_verify(&model);
    ESK_CHECK(refused == 0 || !medium->table.no_marks ||
              failures->erase.every + failures->erase.burst_length > 0);
    esk_model_series_free(&model);
}

ESK_TEST(series_keeps_what_it_acknowledged_when_each_nth_program_fails) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        for (uint32_t every = 2; every <= 20; every++) {
            struct esk_sim_failures failures = {.program.every = every};
            struct medium medium = medium_of(m, every);
            if (!is_left_out(&medium, every)) {
                run(&medium, &failures, every);
            }
        }
    }
}

ESK_TEST(series_keeps_what_it_acknowledged_when_each_nth_erase_fails) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        for (uint32_t every = 2; every <= 20; every++) {
            struct esk_sim_failures failures = {.erase.every = every};
            struct medium medium = medium_of(m, every);
            if (!is_left_out(&medium, every)) {
                run(&medium, &failures, every);
            }
        }
    }
}

ESK_TEST(series_keeps_what_it_acknowledged_through_bursts) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        for (uint32_t i = 0; i < 12; i++) {
            struct esk_sim_failures failures = {
                .program = {.burst_start = 5 + 7 * i, .burst_length = 1 + i},
                .erase = {.burst_start = 2 + i, .burst_length = i / 3}};
            struct medium medium = medium_of(m, i);
            if (!is_left_out(&medium, i)) {
                run(&medium, &failures, 100 + i);
            }
        }
    }
}

static uint32_t bad_blocks(const struct esk_model_series *model) {
    const struct esk_device *device = esk_sim_device(model->sim);
    uint32_t count = 0;
    for (uint32_t b = 0; b < device->geometry.block_count; b++) {
        bool bad = false;
        ESK_CHECK_INT(device->ops->block_is_bad(device, b, &bad), ESK_OK);
        count += bad ? 1 : 0;
    }
    return count;
}

ESK_TEST(series_keeps_everything_when_transfers_fail_and_marks_no_block) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        for (uint32_t every = 3; every <= 20; every++) {
            struct esk_model_series model;
            struct medium medium = medium_of(m, every);
            if (is_left_out(&medium, every)) {
                continue;
            }
            struct esk_sim_failures failures = {
                .transfer = {.every = every,
                             .burst_start = 100 + every,
                             .burst_length = every / 2}};
            ESK_CONTEXT("%s, packed %u, transfers each %u", medium.name,
                        medium.table.packed, every);
            model_series_make(&model, &medium, every);
            for (uint32_t round = 0; round < 4; round++) {
                esk_sim_failures_set(model.sim, &failures);
                /* A burst may be longer than a call, but not than six calls. */
                ESK_CHECK(work(&model, &medium, STEPS) < REFUSALS_MAX);
                ESK_CHECK_HELD(esk_model_series_verify(&model, true),
                               model.why);
                recover_verify(&model);
            }
            ESK_CHECK_INT(bad_blocks(&model), 0);
            esk_model_series_free(&model);
        }
    }
}

ESK_TEST(series_goes_on_around_blocks_that_fail_for_good) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        for (uint32_t i = 0; i < 20; i++) {
            struct esk_model_series model;
            struct medium medium = medium_of(m, i);
            if (is_left_out(&medium, i)) {
                continue;
            }
            ESK_CONTEXT("%s, packed %u, seed %u", medium.name,
                        medium.table.packed, i);
            model_series_make(&model, &medium, i);
            for (uint32_t round = 0; round < 5; round++) {
                uint32_t block =
                    model.data_block +
                    esk_model_series_random(&model, model.table.data_blocks +
                                                        model.index_blocks +
                                                        model.var_blocks);
                esk_sim_block_fail(model.sim, block);
                ESK_CHECK_INT(work(&model, &medium, STEPS), 0);
                recover_verify(&model);
            }
            esk_model_series_free(&model);
        }
    }
}

ESK_TEST(series_returns_worn_when_every_block_is_worn) {
    for (uint32_t m = 0; m < MEDIA; m++) {
        struct esk_model_series model;
        struct medium medium = medium_of(m, m);
        ESK_CONTEXT("%s, packed %u", medium.name, medium.table.packed);
        model_series_make(&model, &medium, 9);
        uint32_t blocks = model.table.data_blocks + model.sync_blocks;
        for (uint32_t b = 0; b < blocks; b++) {
            esk_sim_block_fail(model.sim, model.data_block + b);
        }
        ESK_CHECK_INT(work(&model, &medium, STEPS), REFUSALS_MAX);
        int status = esk_model_series_sync(&model);
        ESK_CHECK(status == ESK_E_WORN || status == ESK_E_IO);
        model.expected->keep = UINT32_MAX;
        esk_model_series_crash(&model);
        ESK_CHECK_HELD(esk_model_series_recover(&model) == ESK_OK, model.why);
        esk_model_series_free(&model);
    }
}

/// Reads that fail: each n-th.
static uint32_t read_every;
static uint32_t reads_tried;
static const struct esk_device_ops *real_ops;

static int failing_read(const struct esk_device *device, esk_page_id page,
                        uint16_t offset, void *buffer, uint16_t bytes) {
    /* Two in a row: one read is repeated. */
    if (read_every != 0 && ++reads_tried % read_every < 2) {
        return ESK_E_IO;
    }
    return real_ops->read(device, page, offset, buffer, bytes);
}

ESK_TEST(series_reports_failing_reads_and_returns_no_wrong_row) {
    for (uint32_t every = 3; every <= 30; every++) {
        struct esk_model_series model;
        struct esk_series_cursor cursor;
        uint8_t bytes[ESK_MODEL_SERIES_ROW_BYTES_MAX];
        ESK_CONTEXT("each %u-th read and the next fail", every);
        read_every = 0;
        model_series_make(&model, &bases[0], every);
        real_ops = esk_sim_device(model.sim)->ops;
        model.ops_unmarked.read = failing_read;
        ESK_CHECK_INT(work(&model, &bases[0], STEPS), 0);
        ESK_CHECK_INT(esk_model_series_sync(&model), ESK_OK);
        read_every = every;
        uint32_t from = 0;
        uint32_t failed = 0;
        ESK_CHECK_INT(esk_series_cursor_open(model.series, &cursor, NULL),
                      ESK_OK);
        int status = ESK_OK;
        for (uint32_t i = 0; i < 4 * STEPS && status != ESK_END; i++) {
            uint32_t index = 0;
            status = esk_series_cursor_next(model.series, &cursor, bytes);
            failed += status == ESK_E_IO ? 1 : 0;
            if (status == ESK_OK) {
                ESK_CHECK(
                    esk_model_series_row_find(&model, bytes, from, &index));
                ESK_CHECK(index == from || failed > 0);
                from = index + 1;
            } else {
                ESK_CHECK(status == ESK_END || status == ESK_E_IO);
            }
        }
        ESK_CHECK_INT(status, ESK_END);
        ESK_CHECK(failed > 0);
        read_every = 0;
        recover_verify(&model);
        esk_model_series_free(&model);
    }
}

ESK_TEST_MAIN()
