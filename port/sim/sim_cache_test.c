// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A card's write cache, its atomic writes, and words with ECC: what a cut may
/// lose, and what it may not change.
#include <unistd.h>

#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { PAGE = 128, PAGES = 8, SEEDS = 400, ROUNDS = 3 };

static const struct esk_geometry card = ESK_CARD(4, 4, PAGE);

static struct esk_sim *card_new(uint64_t seed, uint16_t cache, bool whole) {
    struct esk_sim_config config = {.geometry = card,
                                    .seed = seed,
                                    .erase_keeps = true,
                                    .whole_writes = whole,
                                    .cache_programs = cache};
    struct esk_sim *sim = NULL;
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
    ESK_CONTEXT("seed %u, cache %u", (unsigned)seed, cache);
    return sim;
}

/// Programs the first pages with `fill`, one after another.
static void round_program(struct esk_sim *sim, uint8_t fill) {
    const struct esk_device *device = esk_sim_device(sim);
    uint8_t bytes[PAGE];
    memset(bytes, fill, sizeof bytes);
    for (esk_page_id page = 0; page < PAGES; page++) {
        ESK_CHECK_INT(device->ops->program(device, page, 0, bytes, PAGE),
                      ESK_OK);
    }
}

static int sync(struct esk_sim *sim) {
    return esk_sim_device(sim)->ops->sync(esk_sim_device(sim));
}

/// The byte of all of `page`, or -1 for a mix.
static int fill_of(struct esk_sim *sim, esk_page_id page) {
    uint8_t bytes[PAGE];
    ESK_CHECK_INT(esk_sim_peek(sim, page, bytes), ESK_OK);
    for (unsigned i = 1; i < PAGE; i++) {
        if (bytes[i] != bytes[0]) {
            return -1;
        }
    }
    return bytes[0];
}

ESK_TEST(cache_shows_what_was_programmed_and_a_sync_keeps_it) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = card_new(seed, 16, false);
        round_program(sim, 1);
        for (esk_page_id page = 0; page < PAGES; page++) {
            ESK_CHECK_INT(fill_of(sim, page), 1);
        }
        ESK_CHECK_INT(sync(sim), ESK_OK);
        esk_sim_power_off(sim);
        ESK_CHECK_INT(sync(sim), ESK_E_IO);
        esk_sim_power_on(sim);
        for (esk_page_id page = 0; page < PAGES; page++) {
            ESK_CHECK_INT(fill_of(sim, page), 1);
        }
        esk_sim_destroy(sim);
    }
}

/// Results of cuts in three rounds over pages that a sync made durable before.
struct losses {
    unsigned none;      ///< nothing was lost
    unsigned all;       ///< every round
    unsigned reordered; ///< an earlier program was lost, a later one not
    unsigned torn;
};

static void losses_count(struct esk_sim *sim, struct losses *losses) {
    unsigned lowest = UINT8_MAX;
    unsigned highest = 0;
    unsigned first = 0;
    unsigned torn = 0;
    for (esk_page_id page = 0; page < PAGES; page++) {
        int fill = fill_of(sim, page);
        if (fill < 0) {
            torn++;
            continue;
        }
        ESK_CHECK(fill >= 1 && fill <= 1 + ROUNDS);
        lowest = (unsigned)fill < lowest ? (unsigned)fill : lowest;
        highest = (unsigned)fill > highest ? (unsigned)fill : highest;
        /* In order, no page is newer than one before it. */
        losses->reordered += page > 0 && (unsigned)fill > first ? 1 : 0;
        first = (unsigned)fill;
    }
    ESK_CHECK(torn <= 1);
    losses->torn += torn;
    losses->none += lowest == 1 + ROUNDS ? 1 : 0;
    losses->all += highest == 1 ? 1 : 0;
}

ESK_TEST(cache_loses_and_reorders_unsynced_programs) {
    for (int whole = 0; whole < 2; whole++) {
        struct losses losses = {0};
        for (uint64_t seed = 0; seed < SEEDS; seed++) {
            struct esk_sim *sim = card_new(seed, 64, whole == 1);
            round_program(sim, 1);
            ESK_CHECK_INT(sync(sim), ESK_OK);
            for (uint8_t round = 0; round < ROUNDS; round++) {
                round_program(sim, (uint8_t)(2 + round));
            }
            esk_sim_power_off(sim);
            losses_count(sim, &losses);
            esk_sim_destroy(sim);
        }
        ESK_CHECK(losses.all > SEEDS / 8);
        ESK_CHECK(losses.reordered > SEEDS / 8);
        ESK_CHECK(whole == 1 ? losses.torn == 0 : losses.torn > SEEDS / 16);
    }
}

ESK_TEST(cache_that_is_full_writes_out_what_a_cut_cannot_lose) {
    struct losses losses = {0};
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = card_new(seed, 2, true);
        for (uint8_t round = 0; round <= ROUNDS; round++) {
            round_program(sim, (uint8_t)(1 + round));
        }
        esk_sim_power_off(sim);
        unsigned old = 0;
        for (esk_page_id page = 0; page < PAGES; page++) {
            old += fill_of(sim, page) != 1 + ROUNDS ? 1 : 0;
        }
        ESK_CHECK(old <= 2);
        losses_count(sim, &losses);
        esk_sim_destroy(sim);
    }
    ESK_CHECK(losses.none > 0 && losses.none < SEEDS);
}

ESK_TEST(cache_is_cloned_restored_and_saved) {
    char image[200];
    char sidecar[220];
    const char *base = getenv("TMPDIR");
    snprintf(image, sizeof image, "%s/esk_cache_%ld.img",
             base == NULL ? "/tmp" : base, (long)getpid());
    snprintf(sidecar, sizeof sidecar, "%s.sim", image);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct esk_sim *sim = card_new(seed, 16, false);
        struct esk_sim *copy = NULL;
        struct esk_sim *loaded = NULL;
        round_program(sim, 1);
        ESK_CHECK_INT(esk_sim_clone(&copy, sim), ESK_OK);
        ESK_CHECK_INT(esk_sim_save(sim, image), ESK_OK);
        ESK_CHECK_INT(esk_sim_load(&loaded, image), ESK_OK);
        esk_sim_power_off(sim);
        esk_sim_power_off(loaded);
        for (int again = 0; again < 2; again++) {
            struct esk_sim *other = NULL;
            ESK_CHECK_INT(esk_sim_clone(&other, copy), ESK_OK);
            esk_sim_power_off(other);
            for (esk_page_id page = 0; page < PAGES; page++) {
                ESK_CHECK_INT(fill_of(other, page), fill_of(sim, page));
                ESK_CHECK_INT(fill_of(loaded, page), fill_of(sim, page));
            }
            esk_sim_restore(other, copy);
            ESK_CHECK_INT(fill_of(other, 0), 1);
            esk_sim_destroy(other);
        }
        esk_sim_destroy(sim);
        esk_sim_destroy(copy);
        esk_sim_destroy(loaded);
    }
    unlink(image);
    unlink(sidecar);
}

ESK_TEST(whole_writes_leave_the_old_page_or_the_new) {
    unsigned kept = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim *sim = card_new(seed, 0, true);
        const struct esk_device *device = esk_sim_device(sim);
        uint8_t bytes[PAGE];
        round_program(sim, 1);
        memset(bytes, 0x5A, sizeof bytes);
        esk_sim_cut_at(sim, esk_sim_op_count(sim),
                       (enum esk_sim_cut_mode)(1 + seed % 6));
        ESK_CHECK_INT(device->ops->program(device, 3, 0, bytes, PAGE),
                      ESK_E_IO);
        int fill = fill_of(sim, 3);
        ESK_CHECK(fill == 1 || fill == 0x5A);
        kept += fill == 1 ? 1 : 0;
        esk_sim_destroy(sim);
    }
    ESK_CHECK(kept > SEEDS / 4 && kept < SEEDS * 3 / 4);
}

ESK_TEST(word_ecc_reports_a_torn_word_and_no_other) {
    static const struct esk_geometry words = ESK_FLASH(4, 4, PAGE, 8, 0);
    unsigned torn_seen = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct esk_sim_config config = {
            .geometry = words, .seed = seed, .ecc_bits = 1, .ecc_bytes = 8};
        struct esk_sim *sim = NULL;
        uint8_t bytes[PAGE];
        uint8_t seen[8];
        memset(bytes, 0x24, sizeof bytes);
        ESK_CONTEXT("seed %u", (unsigned)seed);
        ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
        const struct esk_device *device = esk_sim_device(sim);
        esk_sim_cut_at(sim, 0, ESK_SIM_CUT_PREFIX);
        ESK_CHECK_INT(device->ops->program(device, 0, 0, bytes, PAGE),
                      ESK_E_IO);
        esk_sim_power_on(sim);
        /* Complete words, at most one torn, then erased ones. */
        unsigned stage = 0;
        for (uint16_t at = 0; at < PAGE; at = (uint16_t)(at + 8)) {
            int status = device->ops->read(device, 0, at, seen, 8);
            unsigned now = status != ESK_OK ? 1 : seen[0] == 0xFF ? 2 : 0;
            ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT);
            ESK_CHECK(now >= stage && (now != 1 || stage == 0));
            torn_seen += now == 1 ? 1 : 0;
            stage = now == 1 ? 2 : now;
            for (unsigned i = 1; status == ESK_OK && i < 8; i++) {
                ESK_CHECK_INT(seen[i], seen[0]);
            }
        }
        ESK_CHECK_INT(esk_sim_violations(sim), 0);
        ESK_CHECK_INT(device->ops->program(device, 0, 0, bytes, 8), ESK_E_IO);
        esk_sim_destroy(sim);
    }
    ESK_CHECK(torn_seen > SEEDS / 2);
}

ESK_TEST(word_ecc_must_divide_the_program_unit) {
    struct esk_sim *sim = NULL;
    struct esk_sim_config config = {
        .geometry = ESK_FLASH(4, 4, PAGE, 4, 0), .ecc_bits = 1, .ecc_bytes = 8};
    ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_E_GEOMETRY);
}

ESK_TEST_MAIN()
