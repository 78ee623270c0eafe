// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes the order of calls: a byte program on a simulated device and a plain
/// array of the expected rows (test/harness/model_series.h).
///
///     byte 0, 1   medium and table
///     byte 2      how the table is opened
///     rest        one call a byte: its kind in the low bits, its size in the
///                 high ones
///
/// A row that is missing, wrong, twice or out of order aborts, and so does a
/// call that the medium refuses.
///
/// ESK_FUZZ_SEEDS=folder writes the first inputs of the corpus.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/fuzz/seeds.h"
#include "test/harness/model_series.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum { PROGRAM_BYTES_MAX = 200, ROWS_MAX = 2500 };

static const struct esk_geometry geometries[] = {
    {80, 4, 128, 0, 1, 0, 0xFF, 0},
    {80, 4, 256, 0, 256, 1, 0xFF, 0},
    {80, 8, 128, 0, 4, 8, 0xFF, 0},
    {80, 4, 256, 0, 64, 0, 0x00, ESK_MEDIUM_OVERWRITE},
};

/// The kinds of call, one for each value of a byte's low bits.
enum call {
    CALL_APPEND_FEW,
    CALL_APPEND_MANY,
    CALL_SYNC,
    CALL_STEP,
    CALL_ERASE,
    CALL_CRASH,
    CALL_CUT,
    CALL_VERIFY,
};

_Noreturn static void fail(const struct esk_model_series *model,
                           const char *what) {
    char text[512];
    esk_sim_describe(model->sim, text, sizeof text);
    fprintf(stderr, "%s: %s\n%s\n%s\n", what, model->why, text,
            esk_sim_violation(model->sim));
    abort();
}

static void recover_and_verify(struct esk_model_series *model) {
    esk_model_series_crash(model);
    if (esk_model_series_recover(model) != ESK_OK ||
        !esk_model_series_verify(model, false)) {
        fail(model, "after a crash");
    }
}

/// A cut within the next operations, in a random mode.
static void cut_and_recover(struct esk_model_series *model, uint32_t much) {
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + much,
                   ESK_SIM_CUT_DRAWN);
    int status = ESK_OK;
    for (uint32_t i = 0; i < 200 && status == ESK_OK; i++) {
        status = esk_model_series_append(model);
        if (status == ESK_OK && i % 8 == 7) {
            status = esk_model_series_sync(model);
        }
    }
    recover_and_verify(model);
}

static void call_make(struct esk_model_series *model, uint8_t byte) {
    uint32_t much = byte >> 3;
    int status = ESK_OK;
    switch ((enum call)(byte & 7u)) {
    case CALL_APPEND_FEW:
        status = esk_model_series_append_many(model, 1 + much);
        break;
    case CALL_APPEND_MANY:
        status = esk_model_series_append_many(model, 20 * much);
        break;
    case CALL_SYNC:
        status = esk_model_series_sync(model);
        break;
    case CALL_STEP:
        status = esk_model_series_step(model, (uint16_t)much);
        break;
    case CALL_ERASE:
        status = esk_model_series_erase_before(model, much % 10);
        break;
    case CALL_CRASH:
        recover_and_verify(model);
        break;
    case CALL_CUT:
        cut_and_recover(model, much);
        break;
    case CALL_VERIFY:
        if (!esk_model_series_verify(model, true)) {
            fail(model, "verify");
        }
        break;
    }
    if (status < 0) {
        fail(model, "a call failed on a sound medium");
    }
}

/// Returns false when all of the medium's bad blocks are in one copy of the
/// catalog, which then has no room.
static bool model_series_start(struct esk_model_series *model,
                               const uint8_t *data) {
    struct esk_sim_config config = {
        .geometry = geometries[data[0] & 3u],
        .seed = data[0],
        .dirty = (data[0] & 4u) != 0,
        .bad_blocks = (data[0] & 8u) != 0 ? 3 : 0,
    };
    config.erase_keeps = (config.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0 &&
                         (data[0] & 16u) != 0;
    struct esk_model_series_table table = {
        .wide_key = (data[1] & 1u) != 0,
        .edges_given = (data[1] & 2u) != 0,
        .has_var = (data[1] & 4u) != 0,
        .index_count = (uint8_t)((data[1] >> 3 & 3u) % 3),
        .full_policy = (data[1] & 32u) != 0,
        .group_pages = (data[1] & 64u) != 0 ? 4 : 0,
        .run_pages = (data[1] & 128u) != 0 ? 3 : 0,
        .erase_ahead = data[2] & 3u,
        .key_index_bytes = (uint16_t)((data[2] >> 2 & 3u) * 48),
        .value_bytes = (uint16_t)(1 + (data[2] >> 4) * 40),
        .data_blocks = 8,
        .index_blocks = 4,
        .var_blocks = 8,
    };
    int status = esk_model_series_make(model, &table, &config, data[0]);
    bool fits = status != ESK_E_NO_SPACE || config.bad_blocks == 0;
    if (status != ESK_OK && fits) {
        fail(model, "making the table");
    }
    return fits;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct esk_model_series model;
    if (bytes < 4 || bytes > PROGRAM_BYTES_MAX) {
        return 0;
    }
    if (!model_series_start(&model, data)) {
        esk_model_series_free(&model);
        return 0;
    }
    for (size_t i = 3; i < bytes && model.expected->count < ROWS_MAX; i++) {
        call_make(&model, data[i]);
    }
    if (!esk_model_series_verify(&model, true)) {
        fail(&model, "at the end");
    }
    if (esk_sim_violations(model.sim) != 0) {
        fail(&model, "the medium was misused");
    }
    esk_model_series_free(&model);
    return 0;
}

/* -------------------------------------------------------- where to begin */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const uint8_t seeds[][SEED_CALLS_BYTES] = {
        {0, 0x00, 0, 0x09, 2, 7, 5, 0x29, 7},
        {0, 0x4C, 0x34, 0x39, 2, 0x39, 7, 6, 4, 7},
        {1, 0x9F, 0x34, 0xA9, 2, 3, 0x24, 7, 0x56},
        {2, 0x2D, 0x30, 0xF9, 0xF9, 7, 0x44, 0xF9, 7, 5, 7},
        {3, 0xD1, 0x05, 0xF9, 2, 0xF9, 3, 7, 0x5E, 7},
        {17, 0xEC, 0xF7, 0x99, 0x1E, 0x2E, 0x3E, 0x4E, 7},
        {12, 0x0B, 0x02, 0xF9, 0xF9, 0xF9, 0x8E, 0xF9, 7},
        {7, 0x15, 0x0C, 0x0A, 0x10, 2, 0x10, 2, 0x10, 2, 5, 7},
        {2, 0x5A, 0x01, 0x3A, 0x38, 2, 0x1E, 0x0C, 0x1E, 0x14, 7},
        {19, 0x64, 0xFF, 0xF9, 2, 0xF9, 4, 0x14, 0xF9, 5, 7},
    };
    (void)argc;
    (void)argv;
    seeds_write_calls(seeds, sizeof seeds / sizeof seeds[0]);
    return 0;
}
