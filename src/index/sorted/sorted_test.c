// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sorted index: answers, costs, merges, mounts, and what runs out.
#include "index/sorted/sorted.h"

#include "test/harness/sorted_fixture.h"

static struct sorted_fixture fixture;

ESK_TEST(sorted_answers_miss_no_page_and_name_few_others) {
    sorted_start(&fixture, &sorted_usual);
    for (uint32_t i = 0; i < 40; i++) {
        ESK_CONTEXT("moment %u", i);
        sorted_append(&fixture, 50);
        sorted_ask_many(&fixture, 20);
        ESK_CHECK(fixture.named <= 2 * fixture.matched);
    }
    ESK_CHECK_INT(fixture.sorted.lost, 0);
    ESK_CHECK(fixture.sorted.levels[1].count > 0);
    sorted_ask(&fixture, 0, UINT32_MAX);
    ESK_CHECK_INT(fixture.named, SORTED_DATA_PAGES);
    sorted_ask(&fixture, UINT32_MAX - 1, UINT32_MAX);
    ESK_CHECK_INT(fixture.named, 0);
    sorted_end(&fixture);
}

ESK_TEST(sorted_answers_hold_for_each_value_where_these_are_least_sharp) {
    struct sorted_settings settings = sorted_usual;
    settings.config.extra = 0;
    settings.config.fan = 8;
    settings.config.entries = 300;
    settings.config.window_bytes = 128;
    settings.data_pages = 400;
    settings.blocks[0] = 40;
    settings.scale = 6;
    sorted_start(&fixture, &settings);
    for (uint32_t i = 0; i < 4; i++) {
        sorted_append(&fixture, 170);
        sorted_ask_each(&fixture);
    }
    ESK_CHECK_INT(fixture.sorted.lost, 0);
    ESK_CHECK(fixture.sorted.levels[1].count > 0);
    sorted_end(&fixture);
}

ESK_TEST(sorted_answers_hold_where_sparse_values_follow_dense_ones) {
    struct sorted_settings settings = sorted_usual;
    settings.config.extra = 0;
    settings.config.window_bytes = 128;
    for (uint32_t dense = 150; dense < 300; dense += 2) {
        ESK_CONTEXT("%u dense values", dense);
        sorted_start(&fixture, &settings);
        for (uint32_t i = 0; i < 200; i++) {
            for (uint32_t j = 0; j < SORTED_ROWS; j++) {
                uint32_t number = i * SORTED_ROWS + j;
                uint32_t lot = number * 7 % 360;
                fixture.values[i][j] =
                    lot < dense ? 1000 + lot : lot * 2000000u + number;
            }
            fixture.head++;
            sorted_feed(&fixture, i);
        }
        ESK_CHECK(fixture.sorted.levels[1].count > 0);
        for (uint32_t i = 0; i < dense; i++) {
            sorted_ask(&fixture, 1000 + i, 1000 + i);
        }
        sorted_ask(&fixture, 0, dense * 2000000u + 4000);
        sorted_end(&fixture);
    }
}

ESK_TEST(sorted_answers_hold_for_values_of_any_distribution) {
    static const struct {
        uint32_t spread;
        uint8_t extra;
        bool is_float;
        uint16_t fences;
        uint16_t window_bytes;
        uint8_t scale;
    } cases[] = {
        {1, 1, false, 200, 64, 0},
        {3, 0, false, 200, 1, 0},
        {50, 2, false, 0, 64, 0},
        {UINT32_MAX / 512, 0, false, 0, 2, 0},
        {UINT32_MAX / 512, 4, true, 40, 64, 0},
        {UINT32_MAX / 512, 1, false, 40, 64, 9},
        {1u << 20, 31, false, 90, 8, 0},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ESK_CONTEXT("case %u", i);
        struct sorted_settings settings = sorted_usual;
        settings.spread = cases[i].spread;
        settings.is_float = cases[i].is_float;
        settings.config.extra = cases[i].extra;
        settings.config.fences = cases[i].fences;
        settings.config.window_bytes = cases[i].window_bytes;
        settings.scale = cases[i].scale;
        sorted_start(&fixture, &settings);
        for (uint32_t j = 0; j < 20; j++) {
            sorted_append(&fixture, 70);
            sorted_ask_many(&fixture, 10);
        }
        ESK_CHECK_INT(fixture.sorted.lost, 0);
        sorted_end(&fixture);
    }
}

ESK_TEST(sorted_answers_hold_where_a_page_ends_among_values_of_one_shift) {
    struct sorted_settings settings = sorted_usual;
    settings.config.entries = 1950;
    settings.config.fan = 2;
    settings.config.extra = 0;
    settings.config.span_max = 60000;
    settings.config.window_bytes = 128;
    settings.blocks[0] = 60;
    settings.blocks[1] = 100;
    for (uint8_t scale = 0; scale < esk_test_rounds(1, 4); scale++) {
        settings.scale = scale;
        sorted_start(&fixture, &settings);
        sorted_append(&fixture, 850);
        sorted_ask_each(&fixture);
        ESK_CHECK_INT(fixture.sorted.lost, 0);
        sorted_end(&fixture);
    }
}

ESK_TEST(sorted_answers_are_the_same_for_the_pages_of_one_run) {
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 250);
    const struct esk_sorted_window *window =
        esk_sorted_find(&fixture.sorted, 500000, 501000, 0);
    uint32_t reads = fixture.stats.reads;
    ESK_CHECK(reads > 0 && window->end > 2);
    ESK_CHECK(esk_sorted_find(&fixture.sorted, 500000, 501000, window->end - 1)
                  ->first == 0);
    ESK_CHECK_INT(fixture.stats.reads, reads);
    (void)esk_sorted_find(&fixture.sorted, 500000, 501001, 0);
    ESK_CHECK(fixture.stats.reads > reads);
    sorted_end(&fixture);
}

ESK_TEST(sorted_mounts_with_the_newest_runs_after_any_page) {
    sorted_start(&fixture, &sorted_usual);
    for (uint32_t i = 0; i < 600; i++) {
        ESK_CONTEXT("page %u", i);
        sorted_append(&fixture, 1);
        uint32_t runs = fixture.sorted.levels[1].count;
        uint32_t end = esk_sorted_next(&fixture.sorted);
        ESK_CHECK_INT(sorted_mount(&fixture), ESK_OK);
        ESK_CHECK(fixture.sorted.levels[1].count >= runs);
        ESK_CHECK(end - esk_sorted_next(&fixture.sorted) <
                  2u * fixture.settings.config.entries / SORTED_ROWS);
        ESK_CHECK(fixture.stats.reads <= 100);
        for (uint32_t at = esk_sorted_next(&fixture.sorted); at < fixture.head;
             at++) {
            sorted_feed(&fixture, at);
        }
        if (i % 20 == 0) {
            sorted_ask_many(&fixture, 5);
        }
    }
    sorted_end(&fixture);
}

ESK_TEST(sorted_runs_of_data_pages_that_are_gone_are_not_used) {
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 290);
    uint32_t head = fixture.head;
    fixture.head = 60;
    ESK_CHECK_INT(sorted_mount(&fixture), ESK_OK);
    ESK_CHECK(esk_sorted_next(&fixture.sorted) <= 60);
    fixture.head = head;
    sorted_ask_many(&fixture, 20);
    sorted_end(&fixture);
}

ESK_TEST(sorted_buffer_without_values_or_of_too_many_pages_becomes_a_run) {
    struct sorted_settings settings = sorted_usual;
    settings.config.span_max = 20;
    settings.spread = 1;
    sorted_start(&fixture, &settings);
    sorted_append(&fixture, 100);
    ESK_CHECK(fixture.sorted.levels[0].count + fixture.sorted.levels[1].count >
              0);
    ESK_CHECK_INT(fixture.sorted.lost, 0);
    sorted_ask_many(&fixture, 5);
    sorted_end(&fixture);

    settings.is_float = true;
    sorted_start(&fixture, &settings);
    for (uint32_t i = 0; i < 40; i++) {
        for (uint32_t j = 0; j < SORTED_ROWS; j++) {
            fixture.values[i][j] = UINT32_C(0x7FC00000);
        }
        fixture.head++;
        sorted_feed(&fixture, i);
    }
    ESK_CHECK_INT(fixture.sorted.count, 0);
    ESK_CHECK_INT(fixture.stats.programs, 0);
    sorted_append(&fixture, 50);
    sorted_ask_many(&fixture, 5);
    sorted_end(&fixture);
}

ESK_TEST(sorted_run_with_more_pages_than_fences_is_lost_and_the_next_shorter) {
    struct sorted_settings settings = sorted_usual;
    settings.config.entries = 5000;
    settings.config.span_max = 60000;
    settings.config.extra = 31;
    settings.spread = UINT32_MAX / 512;
    sorted_start(&fixture, &settings);
    sorted_append(&fixture, 2500);
    ESK_CHECK(fixture.sorted.lost > 0);
    ESK_CHECK(fixture.sorted.config.entries < 5000);
    uint32_t lost = fixture.sorted.lost;
    sorted_append(&fixture, 1000);
    sorted_ask_many(&fixture, 10);
    ESK_CHECK(fixture.sorted.lost >= lost);
    sorted_end(&fixture);
}

/// Appends until a merge has programmed pages, and then lets it have too many.
static void merge_overflow(void) {
    struct esk_sorted *sorted = &fixture.sorted;
    while (sorted->merging == 0 || sorted->levels[1].draft.pages == 0) {
        sorted_append(&fixture, 1);
    }
    sorted->levels[1].draft.pages =
        esk_sorted_draft_pages_max(sorted, &sorted->levels[1]);
    sorted_append(&fixture, 1);
}

ESK_TEST(sorted_merge_with_more_pages_than_fences_is_done_with_fewer_runs) {
    sorted_start(&fixture, &sorted_usual);
    for (uint8_t fan = 3; fan > 1; fan--) {
        ESK_CHECK_INT(fixture.sorted.config.fan, fan);
        merge_overflow();
        ESK_CHECK_INT(fixture.sorted.lost, 0);
        sorted_append(&fixture, 200);
        sorted_ask_many(&fixture, 10);
    }
    merge_overflow();
    ESK_CHECK(fixture.sorted.lost > 0);
    sorted_append(&fixture, 200);
    sorted_ask_many(&fixture, 10);
    ESK_CHECK(fixture.sorted.levels[1].count > 0);
    sorted_end(&fixture);
}

ESK_TEST(sorted_level_with_too_many_runs_forgets_the_oldest) {
    struct sorted_settings settings = sorted_usual;
    settings.config.entries = 72;
    settings.config.fan = 2;
    settings.blocks[0] = 100;
    settings.blocks[1] = 200;
    settings.data_pages = SORTED_PAGES_MAX;
    sorted_start(&fixture, &settings);
    sorted_append(&fixture, 1500);
    ESK_CHECK(fixture.sorted.lost > 0);
    ESK_CHECK(fixture.sorted.levels[1].count >= ESK_SORTED_RUNS_MAX - 1);
    sorted_ask_many(&fixture, 20);
    sorted_remount(&fixture);
    sorted_ask_many(&fixture, 20);
    sorted_end(&fixture);
}

ESK_TEST(sorted_ring_that_is_too_small_drops_runs_and_no_answer) {
    struct sorted_settings settings = sorted_usual;
    settings.blocks[0] = 6;
    settings.blocks[1] = 6;
    sorted_start(&fixture, &settings);
    for (uint32_t i = 0; i < 20; i++) {
        sorted_append(&fixture, 60);
        sorted_ask_many(&fixture, 10);
    }
    ESK_CHECK(fixture.sorted.lost > 0);
    sorted_end(&fixture);
}

/// An answer in parts is that of one call, whatever a part may read.
ESK_TEST(sorted_answer_is_the_same_in_parts) {
    static const uint16_t fences[] = {200, 2};
    for (uint32_t i = 0; i < 2; i++) {
        ESK_CONTEXT("%u fences", fences[i]);
        struct sorted_settings settings = sorted_usual;
        settings.config.fences = fences[i];
        sorted_start(&fixture, &settings);
        sorted_append(&fixture, 250);
        uint32_t parts = 0;
        for (uint32_t at = sorted_tail(&fixture); at < fixture.head; at++) {
            uint32_t lo = sorted_draw(&fixture) % fixture.settings.spread;
            uint32_t hi = lo + 100000;
            uint32_t base = esk_sorted_base(&fixture.sorted, at);
            uint16_t reads = 0;
            ESK_CHECK(base <= at);
            while (esk_sorted_ask(&fixture.sorted, lo, hi, base, at, &reads) ==
                   ESK_AGAIN) {
                ESK_CHECK_INT(reads, 0);
                ESK_CHECK(esk_sorted_is_asked(&fixture.sorted, lo, hi, at));
                reads = 1;
                parts++;
            }
            bool named = esk_sorted_window_has(&fixture.sorted.window, at);
            fixture.sorted.window.lo = 1;
            fixture.sorted.window.hi = 0;
            ESK_CHECK_INT(
                named, esk_sorted_window_has(
                           esk_sorted_find(&fixture.sorted, lo, hi, at), at));
        }
        ESK_CHECK(parts > 200);
        sorted_end(&fixture);
    }
}

/// A run is merged away while an answer about it waits.
ESK_TEST(sorted_answer_about_a_run_that_is_gone_names_every_page) {
    uint16_t reads = 0;
    sorted_start(&fixture, &sorted_usual);
    while (fixture.sorted.levels[0].count < 2) {
        sorted_append(&fixture, 1);
    }
    uint32_t at = fixture.sorted.levels[0].runs[0].span.first;
    ESK_CHECK_INT(
        esk_sorted_ask(&fixture.sorted, 0, UINT32_MAX, at, at, &reads),
        ESK_AGAIN);
    while (fixture.sorted.levels[1].count == 0) {
        sorted_append(&fixture, 1);
    }
    ESK_CHECK_INT(
        esk_sorted_ask(&fixture.sorted, 0, UINT32_MAX, at, at, &reads), ESK_OK);
    ESK_CHECK(fixture.sorted.window.all);
    sorted_end(&fixture);
}

/// A mount that does not know the head takes each run; then it is told.
ESK_TEST(sorted_limit_forgets_runs_beyond_the_head) {
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 280);
    uint32_t head = fixture.head;
    for (uint32_t to = head; to > 0; to -= to < 20 ? to : 20) {
        ESK_CONTEXT("head %u", to);
        fixture.head = UINT32_MAX;
        fixture.settings.data_pages = UINT32_MAX;
        ESK_CHECK_INT(sorted_mount(&fixture), ESK_OK);
        uint32_t next = esk_sorted_next(&fixture.sorted);
        ESK_CHECK(next > 100 && next <= head);
        esk_sorted_limit(&fixture.sorted, to);
        ESK_CHECK(esk_sorted_next(&fixture.sorted) <= to);
        ESK_CHECK(to < next || esk_sorted_next(&fixture.sorted) == next);
        fixture.head = to;
        for (uint32_t at = esk_sorted_next(&fixture.sorted); at < to; at++) {
            esk_sorted_add(&fixture.sorted, at, ESK_TYPE_U32,
                           (const uint8_t *)fixture.values[at],
                           sizeof(uint32_t), SORTED_ROWS);
        }
        sorted_ask_many(&fixture, 3);
    }
    sorted_end(&fixture);
}

/// A position that is skipped counts as a match, and no run covers it.
ESK_TEST(sorted_position_that_is_skipped_is_named) {
    sorted_start(&fixture, &sorted_usual);
    sorted_append(&fixture, 5);
    ESK_CHECK(esk_sorted_skip(&fixture.sorted, 6));
    ESK_CHECK_INT(esk_sorted_next(&fixture.sorted), 6);
    fixture.head = 6;
    sorted_append(&fixture, 1);
    /* What was added before is becoming a run: the next ones have to wait. */
    ESK_CHECK(!esk_sorted_skip(&fixture.sorted, 8));
    sorted_append(&fixture, 100);
    const struct esk_sorted_window *window =
        esk_sorted_find(&fixture.sorted, 1, 1, 5);
    ESK_CHECK(window->first == 5 && esk_sorted_window_has(window, 5));
    ESK_CHECK_INT(window->end, 6);
    sorted_end(&fixture);
}

ESK_TEST_MAIN()
