// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sorted index on media that fail, are damaged or lose power: answers name
/// more pages, and miss none.
#include "index/sorted/sorted.h"

#include "base/bytes.h"
#include "test/harness/failing_device.h"
#include "test/harness/sorted_fixture.h"

static struct sorted_fixture fixture;

/// The device page of ring position `position`.
static uint32_t device_page(uint8_t level, uint32_t position) {
    return esk_ring_page(&fixture.sorted.levels[level].ring, position);
}

static void page_spoil(uint8_t level, uint32_t position) {
    ESK_CHECK_INT(esk_sim_flip(fixture.sim, device_page(level, position), 500),
                  ESK_OK);
}

ESK_TEST(sorted_answers_hold_where_programs_and_erases_fail) {
    static const struct esk_sim_failures cases[] = {
        {.program = {.every = 23}},
        {.program = {.every = 7}},
        {.program = {.burst_start = 60, .burst_length = 2}},
        {.transfer = {.every = 19}},
        {.erase = {.every = 9}},
        {.transfer = {.burst_start = 50, .burst_length = 60}},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %u", i);
        struct sorted_settings settings = sorted_usual;
        settings.blocks[0] = 60;
        settings.blocks[1] = 60;
        sorted_start(&fixture, &settings);
        fixture.lets_fail = true;
        esk_sim_failures_set(fixture.sim, &cases[i]);
        for (uint32_t j = 0; j < 20; j++) {
            sorted_append(&fixture, 40);
            sorted_ask_many(&fixture, 4);
        }
        ESK_CHECK(
            fixture.stats.program_failures + fixture.stats.erase_failures > 0);
        esk_sim_failures_set(fixture.sim, NULL);
        sorted_remount(&fixture);
        sorted_ask_many(&fixture, 10);
        esk_sim_destroy(fixture.sim);
    }
}

ESK_TEST(sorted_run_is_written_again_where_a_program_fails) {
    static const struct esk_sim_failures failures = {.program = {.every = 26}};
    struct sorted_settings settings = sorted_usual;
    settings.config.entries = 900;
    settings.config.fan = 2;
    settings.config.span_max = 60000;
    settings.config.extra = 0;
    settings.config.window_bytes = 128;
    settings.blocks[0] = 60;
    settings.blocks[1] = 60;
    sorted_start(&fixture, &settings);
    fixture.lets_fail = true;
    esk_sim_failures_set(fixture.sim, &failures);
    sorted_append(&fixture, 900);
    sorted_ask_each(&fixture);
    ESK_CHECK(fixture.stats.program_failures > 2);
    ESK_CHECK(fixture.sorted.lost < fixture.head / 2);
    esk_sim_destroy(fixture.sim);
}

/// The ring programs a closing page again behind the page that failed. There
/// the pages before it are not those of its run.
ESK_TEST(sorted_mount_leaves_out_a_run_whose_closing_page_was_moved) {
    enum { PROGRAMS = 40, PAGES = 120, ASKED = 150 };
    uint32_t failed = 0;
    for (uint32_t at = 0; at < PROGRAMS; at++) {
        const struct esk_sim_failures failures = {
            .program = {.burst_start = at, .burst_length = 1}};
        sorted_start(&fixture, &sorted_usual);
        fixture.lets_fail = true;
        esk_sim_failures_set(fixture.sim, &failures);
        while (fixture.failed == 0 && fixture.head < PAGES) {
            sorted_append(&fixture, 1);
        }
        failed += fixture.failed;
        ESK_CHECK_INT(sorted_mount(&fixture), ESK_OK);
        for (uint32_t i = 0; i < ASKED; i++) {
            ESK_CONTEXT("program %u, row %u", at, i);
            sorted_ask_row(&fixture, sorted_draw(&fixture) % fixture.head,
                           sorted_draw(&fixture) % SORTED_ROWS);
        }
        esk_sim_destroy(fixture.sim);
    }
    ESK_CHECK(failed > 4);
}

ESK_TEST(sorted_index_of_a_dead_medium_names_every_page) {
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 200);
    fixture.lets_fail = true;
    esk_sim_power_off(fixture.sim);
    sorted_append(&fixture, 300);
    ESK_CHECK(fixture.failed > 0 && fixture.sorted.lost > 0);
    sorted_ask_many(&fixture, 10);
    ESK_CHECK_INT(sorted_mount(&fixture), ESK_E_IO);
    esk_sim_power_on(fixture.sim);
    sorted_remount(&fixture);
    sorted_ask_many(&fixture, 10);
    sorted_end(&fixture);
}

/// Damages each page of an index that has room for `fences` fences.
static void damage(uint16_t fences) {
    struct esk_sim *whole = NULL;
    static struct sorted_fixture before;
    struct sorted_settings settings = sorted_usual;
    settings.config.fences = fences;
    sorted_start(&fixture, &settings);
    sorted_append(&fixture, 200);
    while (fixture.sorted.levels[0].count == 0 ||
           fixture.sorted.levels[1].count == 0) {
        sorted_append(&fixture, 1);
    }
    ESK_CHECK(fixture.head < 290);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    before = fixture;
    for (uint8_t level = 0; level < ESK_SORTED_LEVELS; level++) {
        uint32_t head = before.sorted.levels[level].ring.head;
        uint32_t tail = before.sorted.levels[level].ring.tail;
        for (uint32_t at = tail; at < head; at++) {
            ESK_CONTEXT("level %u page %u", level, at);
            fixture = before;
            esk_sim_restore(fixture.sim, whole);
            page_spoil(level, at);
            sorted_ask_many(&fixture, 3);
            sorted_append(&fixture, 60);
            sorted_ask_many(&fixture, 3);
            sorted_remount(&fixture);
            sorted_ask_many(&fixture, 3);
        }
    }
    esk_sim_destroy(whole);
    sorted_end(&fixture);
}

ESK_TEST(sorted_answers_hold_with_any_page_damaged) {
    damage(200);
}

ESK_TEST(sorted_answers_hold_with_any_page_damaged_and_few_fences_in_ram) {
    damage(2);
}

ESK_TEST(sorted_mount_returns_what_a_transfer_that_fails_returns) {
    static struct esk_device front;
    bool failed = true;
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 280);
    failing_device_make(&front, esk_sim_device(fixture.sim));
    fixture.volume.device = &front;
    for (uint32_t at = 1; failed; at++) {
        ESK_CONTEXT("read %u", at);
        fail_from(at, 0, READ_BROKEN);
        int status = sorted_mount(&fixture);
        failed = fail_end();
        ESK_CHECK_INT(status, failed ? ESK_E_IO : ESK_OK);
    }
    sorted_ask_many(&fixture, 5);
    sorted_end(&fixture);
}

ESK_TEST(sorted_level_0_forgets_the_oldest_run_where_merges_fail) {
    struct sorted_settings settings = sorted_usual;
    settings.config.entries = 72;
    settings.blocks[0] = 100;
    settings.data_pages = SORTED_PAGES_MAX;
    sorted_start(&fixture, &settings);
    fixture.lets_fail = true;
    for (uint32_t i = 0; i < settings.blocks[1]; i++) {
        esk_sim_block_fail(fixture.sim, settings.blocks[0] + i);
    }
    sorted_append(&fixture, 600);
    ESK_CHECK(fixture.sorted.lost > 0);
    ESK_CHECK_INT(fixture.sorted.levels[0].count, ESK_SORTED_RUNS_MAX);
    sorted_ask_many(&fixture, 10);
    esk_sim_destroy(fixture.sim);
}

/// Cuts the power at each of `count` operations.
static void cut(const struct sorted_settings *settings, uint32_t count) {
    static struct sorted_fixture before;
    struct esk_sim *whole = NULL;
    sorted_start(&fixture, settings);
    sorted_append(&fixture, 150);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    before = fixture;
    uint64_t first = esk_sim_op_count(fixture.sim);
    for (uint64_t at = first; at < first + count; at++) {
        ESK_CONTEXT("operation %u", (unsigned)at);
        fixture = before;
        esk_sim_restore(fixture.sim, whole);
        esk_sim_seed_set(fixture.sim, at);
        esk_sim_cut_at(fixture.sim, at, ESK_SIM_CUT_DRAWN);
        fixture.lets_fail = true;
        while (esk_sim_is_on(fixture.sim) && fixture.head < 500) {
            sorted_append(&fixture, 1);
        }
        esk_sim_power_on(fixture.sim);
        sorted_remount(&fixture);
        sorted_ask_many(&fixture, 3);
        sorted_append(&fixture, 60);
        sorted_ask_many(&fixture, 3);
    }
    esk_sim_destroy(whole);
    sorted_end(&fixture);
}

ESK_TEST(sorted_answers_hold_after_power_loss_at_every_operation) {
    cut(&sorted_usual, 90);
}

ESK_TEST(sorted_answers_hold_where_a_card_loses_what_it_cached) {
    struct sorted_settings settings = sorted_usual;
    settings.geometry = (struct esk_geometry)ESK_CARD(0, 4, SORTED_PAGE_BYTES);
    settings.cache_programs = 8;
    cut(&settings, 60);
}

/// Writes `bytes` at `offset` of a page, with a valid checksum.
static void page_forge(uint8_t level, uint32_t position, uint16_t offset,
                       uint32_t number, uint8_t bytes) {
    uint8_t page[SORTED_PAGE_BYTES];
    uint8_t part[4];
    const struct esk_ring *ring = &fixture.sorted.levels[level].ring;
    uint32_t at = device_page(level, position);
    ESK_CHECK_INT(esk_sim_peek(fixture.sim, at, page), ESK_OK);
    esk_store_u32(part, number);
    memcpy(page + offset, part, bytes);
    esk_envelope_close(&ring->region.envelope, page, esk_page_count(page));
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, at, 0, page, sizeof page), ESK_OK);
}

ESK_TEST(sorted_closing_page_that_is_hostile_is_not_used) {
    static const struct {
        uint16_t offset;
        uint32_t number;
        uint8_t bytes;
    } cases[] = {
        {ESK_SORTED_ROLE, 9, 1},
        {ESK_SORTED_PAGES, 0, 2},
        {ESK_SORTED_PAGES, UINT16_MAX, 2},
        {ESK_SORTED_PAGES, 59, 2},
        {ESK_SORTED_OTHERS, UINT8_MAX, 1},
        {ESK_SORTED_OTHERS, ESK_SORTED_RUNS_MAX - 1, 1},
        {ESK_SORTED_FENCE_SHIFT, 32, 1},
        {ESK_SORTED_SPAN, 0, 2},
        {ESK_SORTED_SPAN, UINT16_MAX, 2},
        {ESK_SORTED_DATA_FIRST, UINT32_MAX, 4},
        {ESK_ENVELOPE_AUX, UINT32_MAX - 1, 4},
        {ESK_SORTED_LISTS, UINT32_MAX, 4},
        {ESK_SORTED_LISTS, 0, 4},
    };
    static struct sorted_fixture before;
    struct esk_sim *whole = NULL;
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 290);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    before = fixture;
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint8_t level = 0; level < ESK_SORTED_LEVELS; level++) {
            ESK_CONTEXT("case %u level %u", i, level);
            fixture = before;
            esk_sim_restore(fixture.sim, whole);
            page_forge(level, before.sorted.levels[level].closing,
                       cases[i].offset, cases[i].number, cases[i].bytes);
            sorted_remount(&fixture);
            sorted_ask_many(&fixture, 3);
            sorted_append(&fixture, 60);
            sorted_ask_many(&fixture, 3);
        }
    }
    esk_sim_destroy(whole);
    sorted_end(&fixture);
}

ESK_TEST(sorted_merge_of_hostile_pages_is_bounded_and_comes_to_an_end) {
    static const struct {
        uint16_t offset;
        uint32_t number;
        uint8_t bytes;
    } cases[] = {{ESK_SORTED_COUNT, 1, 2}, {ESK_SORTED_ROLE, 9, 1}};
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %u", i);
        sorted_start(&fixture, &sorted_usual);
        struct esk_sorted_level *level = &fixture.sorted.levels[0];
        while (level->count < 3) {
            sorted_append(&fixture, 1);
        }
        for (uint8_t run = 0; run < level->count; run++) {
            for (uint16_t page = 0; page < level->runs[run].pages; page++) {
                page_forge(0, level->runs[run].first + page, cases[i].offset,
                           cases[i].number, cases[i].bytes);
            }
        }
        sorted_append(&fixture, 600);
        ESK_CHECK(fixture.sorted.levels[1].count > 0);
        sorted_ask_many(&fixture, 10);
        sorted_end(&fixture);
    }
}

static uint32_t one_of(uint32_t *seed, uint32_t first, uint32_t count) {
    *seed = *seed * 1664525u + 1013904223u;
    return first + (*seed >> 8) % count;
}

/// Settings of any size that the index has to work with.
static struct sorted_settings settings_draw(uint32_t *seed) {
    static const struct esk_geometry media[] = {
        ESK_NOR(0, 4, SORTED_PAGE_BYTES),
        ESK_NAND(0, 8, SORTED_PAGE_BYTES),
        ESK_CARD(0, 2, SORTED_PAGE_BYTES),
    };
    struct sorted_settings settings = {
        .config = {.entries = (uint16_t)one_of(seed, 64, 1500),
                   .fences = (uint16_t)one_of(seed, 0, 60),
                   .window_bytes = (uint16_t)one_of(seed, 1, 40),
                   .span_max = (uint16_t)one_of(seed, 2, 400),
                   .fan = (uint8_t)one_of(seed, 2, ESK_SORTED_FAN_MAX - 1),
                   .extra = (uint8_t)one_of(seed, 0, 5)},
        .geometry = media[one_of(seed, 0, 3)],
        .blocks = {one_of(seed, 2, 40), one_of(seed, 2, 60)},
        .data_pages = one_of(seed, 20, 1000),
        .spread = UINT32_C(1) << one_of(seed, 0, 24),
        .scale = (uint8_t)one_of(seed, 0, 9),
        .is_float = one_of(seed, 0, 3) == 0,
    };
    if ((settings.geometry.flags & ESK_MEDIUM_OVERWRITE) != 0) {
        settings.cache_programs = (uint16_t)one_of(seed, 0, 9);
    }
    return settings;
}

/// Something that happens to the index.
static void history_step(uint32_t *seed) {
    const struct esk_sim_failures failures = {
        .program = {.every = one_of(seed, 3, 40)},
        .transfer = {.every = one_of(seed, 3, 40)},
    };
    uint8_t level = (uint8_t)one_of(seed, 0, ESK_SORTED_LEVELS);
    const struct esk_ring *ring = &fixture.sorted.levels[level].ring;
    sorted_append(&fixture, one_of(seed, 0, 120));
    switch (one_of(seed, 0, 6)) {
    case 0:
        sorted_remount(&fixture);
        break;
    case 1:
        esk_sim_cut_at(fixture.sim,
                       esk_sim_op_count(fixture.sim) + one_of(seed, 0, 30),
                       ESK_SIM_CUT_DRAWN);
        sorted_append(&fixture, one_of(seed, 0, 100));
        esk_sim_cut_at(fixture.sim, 0, ESK_SIM_CUT_NONE);
        esk_sim_power_on(fixture.sim);
        sorted_remount(&fixture);
        break;
    case 2:
        esk_sim_failures_set(fixture.sim, &failures);
        sorted_append(&fixture, one_of(seed, 0, 60));
        esk_sim_failures_set(fixture.sim, NULL);
        break;
    case 3:
        if (ring->head > ring->tail) {
            page_spoil(level,
                       one_of(seed, ring->tail, ring->head - ring->tail));
        }
        break;
    default:
        break;
    }
    sorted_ask_many(&fixture, 2);
    for (uint32_t i = 0; i < 20 && fixture.head > 0; i++) {
        uint32_t tail = sorted_tail(&fixture);
        sorted_ask_row(&fixture, one_of(seed, tail, fixture.head - tail),
                       i % SORTED_ROWS);
    }
}

ESK_TEST(sorted_answers_hold_in_random_histories) {
    uint32_t histories = esk_test_repeats(60, 3000);
    for (uint32_t i = 0; i < histories; i++) {
        ESK_CONTEXT("history %u", i);
        uint32_t seed = i;
        struct sorted_settings settings = settings_draw(&seed);
        sorted_start(&fixture, &settings);
        esk_sim_seed_set(fixture.sim, i);
        fixture.lets_fail = true;
        for (uint32_t j = 0; j < 12; j++) {
            history_step(&seed);
        }
        esk_sim_destroy(fixture.sim);
    }
}

ESK_TEST_MAIN()
