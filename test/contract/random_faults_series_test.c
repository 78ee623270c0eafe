// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Random faults: rows, syncs and erase_before in any order while programs,
/// erases and transfers fail, the power is cut and returns, and the table is
/// mounted again and again.
///
/// After each fault the table is compared with the model
/// (test/harness/model_series.h): rows, oldest, count and check must agree.
/// ESK_LIVES=n runs n random sequences from seed ESK_SEED on, instead of a few.
#include <stdlib.h>

#include "table/series/series.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"

enum { LIVES = 100, BLOWS = 60, CALLS_MAX = 12 };

static const struct esk_geometry media[] = {
    ESK_NOR(0, 8, 256),
    ESK_NAND(0, 8, 512),
    ESK_CARD(0, 8, 512),
    ESK_NOR(0, 4, 128),
    {.block_pages = 8,
     .page_bytes = 256,
     .program_bytes = 8,
     .programs_per_page_max = 4},
};

enum { MEDIA = sizeof media / sizeof media[0] };

static void life_begin(struct esk_model_series *model, uint32_t seed,
                       bool packed) {
    uint32_t draw = seed * 2654435761u >> 8;
    struct esk_model_series_table table = {
        .packed = packed,
        .noise = packed && (draw >> 10 & 1u),
        .index_count = (uint8_t)(draw % 3),
        .has_var = draw >> 2 & 1u,
        .no_marks = draw >> 3 & 1u,
        .full_policy = draw >> 4 & 1u,
        .erase_ahead = (uint8_t)(draw >> 5 & 1u),
        .run_pages = draw >> 6 & 1u ? 3 : 0,
        .group_pages = draw >> 7 & 1u ? 4 : 0,
        .value_bytes = 40,
        .data_blocks = draw >> 8 & 1u ? 6 : 12,
        .index_blocks = 6,
        .var_blocks = 16,
    };
    struct esk_sim_config config = {.geometry = media[seed % MEDIA],
                                    .seed = seed};
    config.geometry.block_count = 110;
    config.erase_keeps =
        seed % 2 == 0 && (config.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0;
    if ((config.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0) {
        config.cache_programs = draw >> 9 & 1u ? 24 : 0;
    }
    config.bad_blocks = table.data_blocks > 6 && !table.no_marks ? 2 : 0;
    ESK_CHECK_INT(esk_model_series_make(model, &table, &config, seed), ESK_OK);
}

static void held(struct esk_model_series *model, bool sound) {
    ESK_CHECK_HELD(sound, model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
}

/// Turns on the power and mounts.
static void revive(struct esk_model_series *model) {
    esk_sim_failures_set(model->sim, NULL);
    esk_model_series_crash(model);
    held(model, esk_model_series_recover(model) == ESK_OK);
    held(model, esk_model_series_verify(model, true));
}

/// Draws a fault and the operation at which it happens.
/// wear     number of faults left that cost a block: some blocks must stay
///          good.
static void blow_aim(struct esk_model_series *model, uint32_t *wear) {
    struct esk_sim_failures failures = {.program = {0}};
    struct esk_sim_failure burst = {
        .burst_start = esk_model_series_random(model, 20),
        .burst_length = 1,
    };
    uint32_t choice = esk_model_series_random(model, 5);
    if (choice < 2 && *wear > 0) {
        *wear -= 1;
    } else if (choice < 2) {
        choice += 2;
    }
    switch (choice) {
    case 0:
        failures.program = burst;
        break;
    case 1:
        burst.burst_start /= 4;
        failures.erase = burst;
        break;
    case 2:
        burst.burst_length += esk_model_series_random(model, 8);
        failures.transfer = burst;
        break;
    case 3:
        esk_sim_cut_at(model->sim,
                       esk_sim_op_count(model->sim) +
                           esk_model_series_random(model, 12),
                       ESK_SIM_CUT_DRAWN);
        return;
    default:
        return;
    }
    esk_sim_failures_set(model->sim, &failures);
}

/// Appends rows, with a sync after every 1, 7 or 50 of them.
static int rows_make(struct esk_model_series *model) {
    static const uint32_t intervals[] = {1, 7, 50};
    uint32_t interval = intervals[esk_model_series_random(model, 3)];
    uint32_t syncs = 1 + esk_model_series_random(model, 60 / interval);
    for (; syncs > 0; syncs--) {
        int status = esk_model_series_append_many(model, interval);
        if (status != ESK_OK) {
            return status;
        }
        ESK_TRY(esk_model_series_sync(model));
    }
    return ESK_OK;
}

/// Makes one call.
static int call_make(struct esk_model_series *model) {
    uint32_t choice = esk_model_series_random(model, 16);
    if (model->table.packed && choice < 5) {
        return rows_make(model);
    }
    if (choice < 9) {
        return esk_model_series_append_many(
            model, 1 + esk_model_series_random(model, 60));
    }
    if (choice < 13) {
        return esk_model_series_sync(model);
    }
    if (choice < 15) {
        return esk_model_series_step(
            model, (uint16_t)(1 + esk_model_series_random(model, 3)));
    }
    return esk_model_series_erase_before(model,
                                         esk_model_series_random(model, 10));
}

static void live(struct esk_model_series *model) {
    uint32_t wear = model->table.data_blocks / 2;
    for (uint32_t blow = 0; blow < BLOWS; blow++) {
        int status = ESK_OK;
        blow_aim(model, &wear);
        for (uint32_t i = 0; i < CALLS_MAX && status >= 0; i++) {
            status = call_make(model);
            if (status == ESK_E_LIMIT) {
                return; /* more rows than the model has room for */
            }
            ESK_CHECK(status == ESK_OK || status == ESK_FULL ||
                      status == ESK_E_IO || status == ESK_E_WORN);
        }
        esk_model_series_note_heads(model);
        if (!esk_sim_is_on(model->sim) ||
            esk_model_series_random(model, 3) == 0) {
            revive(model);
        } else {
            held(model, esk_model_series_verify(model, true));
        }
    }
}

static uint32_t environment(const char *name, uint32_t otherwise) {
    const char *text = getenv(name);
    return text == NULL ? otherwise : (uint32_t)strtoul(text, NULL, 10);
}

static void lives_run(uint32_t first, uint32_t lives, bool packed) {
    for (uint32_t seed = first; seed < first + lives; seed++) {
        struct esk_model_series model;
        ESK_CONTEXT("ESK_SEED=%u ESK_LIVES=1%s", (unsigned)seed,
                    packed ? ", packed" : "");
        life_begin(&model, seed, packed);
        live(&model);
        esk_model_series_free(&model);
    }
}

/// A page of the block that is dropped next repeats rows of a dropped page.
ESK_TEST(series_keeps_its_promises_in_a_life_that_failed) {
    lives_run(5132, 1, false);
}

static void lives_draw(bool packed) {
    uint32_t lives = esk_test_rounds(LIVES / 6, LIVES) / esk_test_stride(2);
    lives_run(environment("ESK_SEED", 1), environment("ESK_LIVES", lives),
              packed);
}

ESK_TEST(series_keeps_its_promises_under_random_faults) {
    lives_draw(false);
}

ESK_TEST(packed_series_keeps_its_promises_under_random_faults) {
    lives_draw(true);
}

/// Pages that failed were at the head before the mount, not after it: rows of
/// the sync journal were programmed at a lower position than they began at.
ESK_TEST(packed_series_keeps_rows_of_the_journal_when_its_head_goes_back) {
    lives_run(8241, 1, true);
}

/// A card lost pages in its cache, and tore one of a lap ago after the oldest
/// block: that is no damage.
ESK_TEST(series_distinguishes_a_page_torn_a_lap_ago_from_damage) {
    lives_run(192, 1, false);
}

/// A failed program reached a block that still has the pages of a lap ago: the
/// mount took an older page of the block for its newest.
ESK_TEST(series_mount_finds_the_newest_of_pages_of_two_laps_in_a_block) {
    lives_run(2912, 1, false);
}

/// An interrupted erase left bits of a sequence that looked like those of the
/// next lap: the block was programmed without an erase.
ESK_TEST(series_mount_erases_a_block_whose_erase_was_cut) {
    lives_run(3394, 1, false);
}

/// Of the sync journal one block was good. Failed transfers ended it early, and
/// its next erase was cut: the mount went on in the block, half erased.
ESK_TEST(series_mount_does_not_go_on_in_the_only_block_of_a_journal) {
    lives_run(1364, 1, false);
}

ESK_TEST_MAIN()
