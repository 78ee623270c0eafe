// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sorted index on a simulator, with only the fields of a volume, and the
/// values of its data pages, which are in RAM.
#ifndef ESK_TEST_SORTED_FIXTURE_H
#define ESK_TEST_SORTED_FIXTURE_H

#include "base/order.h"
#include "index/sorted/sorted.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum {
    SORTED_PAGE_BYTES = 256,
    SORTED_ROWS = 8, ///< a data page
    SORTED_DATA_PAGES = 300,
    SORTED_PAGES_MAX = 20000, ///< data positions of a test
    SORTED_ARENA_BYTES = 1u << 18,
};

struct sorted_settings {
    struct esk_sorted_config config;
    struct esk_geometry geometry; ///< block_count 0: that of the rings
    uint32_t blocks[ESK_SORTED_LEVELS];
    uint32_t data_pages; ///< that the table has room for
    uint32_t spread;     ///< values are below it
    uint8_t scale;       ///< and then multiplied by 2^scale
    bool is_float;       ///< some are NaN
    uint16_t cache_programs;
};

static const struct sorted_settings sorted_usual = {
    .config = {.entries = 400,
               .fences = 200,
               .window_bytes = 64,
               .span_max = 200,
               .fan = 3,
               .extra = 1},
    .geometry = ESK_NOR(0, 4, SORTED_PAGE_BYTES),
    .blocks = {20, 40},
    .data_pages = SORTED_DATA_PAGES,
    .spread = 1u << 20,
};

struct sorted_fixture {
    struct sorted_settings settings;
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_region_stats stats;
    struct esk_sorted sorted;
    uint32_t seed;
    uint32_t head;
    bool lets_fail;   ///< steps may
    uint32_t failed;  ///< steps
    uint32_t named;   ///< data pages, by the last question
    uint32_t matched; ///< of these, with a match
    uint64_t arena[SORTED_ARENA_BYTES / 8];
    uint32_t values[SORTED_PAGES_MAX][SORTED_ROWS];
};

static inline uint32_t sorted_draw(struct sorted_fixture *fixture) {
    fixture->seed = fixture->seed * 1664525u + 1013904223u;
    return fixture->seed >> 8;
}

static inline uint8_t sorted_type(const struct sorted_fixture *fixture) {
    return fixture->settings.is_float ? ESK_TYPE_F32 : ESK_TYPE_U32;
}

static inline uint32_t sorted_tail(const struct sorted_fixture *fixture) {
    uint32_t pages = fixture->settings.data_pages;
    return fixture->head > pages ? fixture->head - pages : 0;
}

/// Mounts the index anew.
static inline int sorted_mount(struct sorted_fixture *fixture) {
    struct esk_arena arena = {.start = (uint8_t *)fixture->arena,
                              .bytes = SORTED_ARENA_BYTES};
    struct esk_ring_config rings = {.table = 1, .seed = 7, .ahead = 1};
    const uint32_t *count = fixture->settings.blocks;
    const struct esk_sorted_blocks blocks[ESK_SORTED_LEVELS] = {
        {.blocks = count[0]}, {.block = count[0], .blocks = count[1]}};
    memset(&fixture->stats, 0, sizeof fixture->stats);
    esk_sorted_carve(&fixture->sorted, &arena, &fixture->settings.config,
                     SORTED_PAGE_BYTES);
    ESK_CHECK(esk_arena_fits(&arena));
    return esk_sorted_mount(&fixture->sorted, &fixture->volume, &rings, blocks,
                            sorted_tail(fixture), fixture->head,
                            &fixture->stats);
}

static inline void sorted_start(struct sorted_fixture *fixture,
                                const struct sorted_settings *settings) {
    struct esk_sim_config config = {.geometry = settings->geometry,
                                    .seed = 5,
                                    .dirty = true,
                                    .cache_programs = settings->cache_programs};
    memset(fixture, 0, sizeof *fixture);
    fixture->settings = *settings;
    fixture->seed = 1;
    if (config.geometry.block_count == 0) {
        config.geometry.block_count = settings->blocks[0] + settings->blocks[1];
    }
    ESK_CHECK_INT(esk_sim_create(&fixture->sim, &config), ESK_OK);
    fixture->volume.device = esk_sim_device(fixture->sim);
    ESK_CHECK_INT(sorted_mount(fixture), ESK_OK);
}

static inline void sorted_end(struct sorted_fixture *fixture) {
    ESK_CHECK_TEXT(esk_sim_violation(fixture->sim), "");
    esk_sim_destroy(fixture->sim);
}

/// Gives the index data page `position`, and a step.
static inline void sorted_feed(struct sorted_fixture *fixture,
                               uint32_t position) {
    uint64_t before = fixture->stats.programs;
    esk_sorted_add(&fixture->sorted, position, sorted_type(fixture),
                   (const uint8_t *)fixture->values[position], sizeof(uint32_t),
                   SORTED_ROWS);
    esk_sorted_drop(&fixture->sorted, sorted_tail(fixture));
    int status = esk_sorted_step(&fixture->sorted);
    fixture->failed += status < 0;
    ESK_CHECK(fixture->lets_fail || status == ESK_OK || status == ESK_END);
    ESK_CHECK(fixture->stats.programs - before <= 1);
}

/// Writes `count` data pages.
static inline void sorted_append(struct sorted_fixture *fixture,
                                 uint32_t count) {
    uint32_t spread = fixture->settings.spread;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t *values = fixture->values[fixture->head];
        for (uint32_t j = 0; j < SORTED_ROWS; j++) {
            /* Denser in the middle. */
            values[j] = (sorted_draw(fixture) % spread +
                         sorted_draw(fixture) % spread) /
                        2;
            values[j] <<= fixture->settings.scale;
            if (fixture->settings.is_float && sorted_draw(fixture) % 4 == 0) {
                values[j] = UINT32_C(0x7FC00000);
            }
        }
        fixture->head++;
        sorted_feed(fixture, fixture->head - 1);
    }
}

/// Mounts, and gives the index the data pages that it has no run of.
static inline void sorted_remount(struct sorted_fixture *fixture) {
    ESK_CHECK_INT(sorted_mount(fixture), ESK_OK);
    for (uint32_t at = esk_sorted_next(&fixture->sorted); at < fixture->head;
         at++) {
        sorted_feed(fixture, at);
    }
}

/// Asks for the values lo .. hi, order forms: no page with one may be missing.
static inline void sorted_ask(struct sorted_fixture *fixture, uint32_t lo,
                              uint32_t hi) {
    uint32_t position = sorted_tail(fixture);
    fixture->named = 0;
    fixture->matched = 0;
    while (position < fixture->head) {
        const struct esk_sorted_window *window =
            esk_sorted_find(&fixture->sorted, lo, hi, position);
        ESK_CHECK(window->first <= position && window->end > position);
        for (; position < window->end && position < fixture->head; position++) {
            bool named = esk_sorted_window_has(window, position);
            bool matches = false;
            for (uint32_t i = 0; i < SORTED_ROWS; i++) {
                const uint8_t *value =
                    (const uint8_t *)&fixture->values[position][i];
                uint8_t type = sorted_type(fixture);
                uint32_t order = esk_order_load32(type, value);
                matches = matches || (!esk_order_is_nan(type, value) &&
                                      order >= lo && order <= hi);
            }
            ESK_CHECK(named || !matches);
            fixture->named += named;
            fixture->matched += matches;
        }
    }
}

/// Asks for the value of row `i` of data page `at`, alone.
static inline void sorted_ask_row(struct sorted_fixture *fixture, uint32_t at,
                                  uint32_t i) {
    uint32_t order = esk_order_load32(sorted_type(fixture),
                                      (const uint8_t *)&fixture->values[at][i]);
    sorted_ask(fixture, order, order);
}

/// Asks for each value that the table has, alone.
static inline void sorted_ask_each(struct sorted_fixture *fixture) {
    for (uint32_t at = sorted_tail(fixture); at < fixture->head; at++) {
        for (uint32_t i = 0; i < SORTED_ROWS; i++) {
            ESK_CONTEXT("value %u of page %u", i, at);
            sorted_ask_row(fixture, at, i);
        }
    }
}

/// Asks for `count` small ranges.
static inline void sorted_ask_many(struct sorted_fixture *fixture,
                                   uint32_t count) {
    uint32_t named = 0;
    uint32_t matched = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lo = sorted_draw(fixture) % fixture->settings.spread;
        if (fixture->settings.is_float) {
            lo = esk_order_load32(ESK_TYPE_F32, (const uint8_t *)&lo);
        }
        sorted_ask(fixture, lo, lo + sorted_draw(fixture) % 4000);
        named += fixture->named;
        matched += fixture->matched;
    }
    fixture->named = named;
    fixture->matched = matched;
}

#endif
