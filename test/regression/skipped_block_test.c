// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Check reported damage, and values as missing, where there was none. The
/// oldest block was bad and still had pages: a ring skips such a block before
/// it erases the one behind it, and the power was cut in that erase. The mount
/// took the bad block for the tail, and the block behind it for one that has to
/// have its pages.
#include "table/series/series.h"

#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { BLOCKS = 6, PAGES = 8, BAD = 2, CUTS = 60 };

static void model_start(struct esk_model_series *model, uint8_t ahead) {
    struct esk_model_series_table table = {
        .erase_ahead = ahead,
        .has_var = true,
        .value_bytes = 40,
        .data_blocks = BLOCKS,
        .index_blocks = 4,
        .var_blocks = BLOCKS,
    };
    struct esk_sim_config config = {.geometry = ESK_NOR(60, PAGES, 256)};
    ESK_CHECK_INT(esk_model_series_make(model, &table, &config, 1), ESK_OK);
}

/// Appends rows until the head of `ring` is at `position`.
static void append_up_to(struct esk_model_series *model,
                         const struct esk_ring *ring, uint32_t position) {
    while (ring->head < position) {
        ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
        ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
    }
}

/// Makes block BAD of the data ring, or the ring of values, fail when it is
/// half full, and cuts the power at operation `op` of the time when it is the
/// oldest.
static void cut_make(struct esk_model_series *model, bool of_values,
                     uint32_t op) {
    const struct esk_ring *ring =
        of_values ? model->series->var : &model->series->data;
    uint32_t block = of_values ? model->var_block : model->data_block;
    append_up_to(model, ring, BAD * PAGES + PAGES / 2);
    esk_sim_block_fail(model->sim, block + BAD);
    append_up_to(model, ring, (BLOCKS + BAD) * PAGES - 2);
    esk_sim_cut_at(model->sim, esk_sim_op_count(model->sim) + op,
                   op % 2 == 0 ? ESK_SIM_CUT_SUBSET : ESK_SIM_CUT_PREFIX);
    while (esk_sim_is_on(model->sim)) {
        (void)esk_model_series_append(model);
        (void)esk_model_series_sync(model);
        (void)esk_model_series_step(model, 1);
    }
}

ESK_TEST(series_is_sound_after_a_cut_behind_a_bad_oldest_block) {
    for (uint32_t run = 0; run < 4 * CUTS; run++) {
        struct esk_model_series model;
        bool of_values = run % 2 == 1;
        uint8_t ahead = run / 2 % 2 == 1 ? 3 : 1;
        uint32_t op = run / 4;
        ESK_CONTEXT("%s, %u erased ahead, cut at operation %u",
                    of_values ? "values" : "rows", ahead, (unsigned)op);
        model_start(&model, ahead);
        cut_make(&model, of_values, op);
        esk_model_series_crash(&model);
        ESK_CHECK_INT(esk_model_series_recover(&model), ESK_OK);
        ESK_CHECK_HELD(esk_model_series_verify(&model, true), model.why);
        esk_model_series_free(&model);
    }
}

ESK_TEST_MAIN()
