// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring: append, read, seal, drop, step, pass.
#include "flash/ring.h"

#include "test/harness/ring_fixture.h"

ESK_TEST(ring_starts_empty_on_a_medium_full_of_garbage) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ESK_CHECK_INT(fixture.ring.head, 0);
    ESK_CHECK_INT(fixture.ring.tail, 0);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 0, fixture.page, true),
                  ESK_NOT_FOUND);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_append_returns_rising_positions_that_read_back) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t position = 99;
        ESK_CHECK_INT(ring_fixture_append(&fixture, &position), ESK_OK);
        ESK_CHECK_INT(position, i);
    }
    ring_fixture_check(&fixture, 0);
    ESK_CHECK_INT(fixture.stats.programs, 10);
    ESK_CHECK_INT(fixture.stats.erases, 3);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 10, fixture.page, true),
                  ESK_NOT_FOUND);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_wraps_and_drops_the_oldest_block) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, ALL);
    ESK_CHECK_INT(fixture.ring.tail, 0);
    ring_fixture_append_many(&fixture, 1);
    ESK_CHECK_INT(fixture.ring.tail, PAGES);
    ring_fixture_append_many(&fixture, 5 * ALL);
    ESK_CHECK_INT(fixture.ring.tail, 5 * ALL + PAGES);
    ring_fixture_check(&fixture, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_that_refuses_is_full_after_one_lap_until_rows_are_dropped) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    fixture.ring.refuse = true;
    ring_fixture_append_many(&fixture, ALL);
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_FULL);
    ESK_CHECK_INT(fixture.ring.tail, 0);
    esk_ring_drop(&fixture.ring, PAGES - 1);
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_FULL);
    esk_ring_drop(&fixture.ring, PAGES);
    ring_fixture_append_many(&fixture, PAGES);
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_FULL);
    ring_fixture_check(&fixture, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_drop_moves_the_tail_up_only_and_not_past_the_head) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 6);
    esk_ring_drop(&fixture.ring, 3);
    ESK_CHECK_INT(fixture.ring.tail, 3);
    esk_ring_drop(&fixture.ring, 2);
    ESK_CHECK_INT(fixture.ring.tail, 3);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 2, fixture.page, true),
                  ESK_NOT_FOUND);
    esk_ring_drop(&fixture.ring, 100);
    ESK_CHECK_INT(fixture.ring.tail, 6);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_read_distinguishes_erased_damaged_and_unreadable) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 3);
    ESK_CHECK_INT(
        esk_sim_flip(fixture.sim, esk_ring_page(&fixture.ring, 1), 300),
        ESK_OK);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 1, fixture.page, true),
                  ESK_E_CORRUPT);
    ESK_CHECK_INT(fixture.stats.damaged, 1);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 1, fixture.page, false), ESK_OK);
    fixture.ring.head++; /* as if position 3 had been abandoned */
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 3, fixture.page, true),
                  ESK_NOT_FOUND);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 0, fixture.page, true),
                  ESK_E_IO);
    ESK_CHECK_INT(fixture.stats.damaged, 1); /* no read, no damage */
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_seals_leave_a_page_open_and_readable_after_a_reboot) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    memset(fixture.page, 0x11, sizeof fixture.page);
    for (uint16_t count = 1; count <= 12; count++) {
        if (!esk_ring_can_seal(&fixture.ring, count)) {
            ESK_CHECK_INT(esk_ring_room(&fixture.ring), count);
            break;
        }
        ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, count, 5),
                      ESK_OK);
        ESK_CHECK_INT(fixture.ring.head, 0);
        ESK_CHECK_INT(fixture.ring.open_seals, count);
        struct esk_ring again;
        uint8_t page[128];
        ESK_CHECK_INT(esk_ring_mount(&again, &fixture.volume, &fixture.config,
                                     &fixture.stats, page),
                      ESK_OK);
        ESK_CHECK_INT(again.head, 1);
        ESK_CHECK_INT(esk_ring_read(&again, 0, page, true), ESK_OK);
        ESK_CHECK_INT(esk_page_count(page), count);
    }
    ESK_CHECK_INT(esk_ring_append(&fixture.ring, fixture.page,
                                  esk_ring_room(&fixture.ring), 5, NULL),
                  ESK_OK);
    ESK_CHECK_INT(fixture.ring.open_seals, 0);
    ESK_CHECK_INT(esk_ring_read(&fixture.ring, 0, fixture.page, true), ESK_OK);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_seal_needs_a_medium_that_programs_parts_of_pages) {
    static const struct {
        uint16_t program_bytes;
        uint8_t programs_max;
        uint16_t count;
        bool can;
    } cases[] = {
        {1, 0, 1, true},   {1, 3, 1, false},   {1, 4, 1, true},
        {8, 0, 2, true},   {8, 0, 1, false},   {4, 0, 1, true},
        {16, 0, 4, false}, {128, 1, 1, false}, {1, 0, 26, true},
        {1, 0, 27, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct esk_geometry geometry = ring_fixture_nor;
        struct ring_fixture fixture;
        ESK_CONTEXT("case %zu", i);
        geometry.program_bytes = cases[i].program_bytes;
        geometry.programs_per_page_max = cases[i].programs_max;
        ring_fixture_start(&fixture, &geometry);
        ESK_CHECK_INT(esk_ring_can_seal(&fixture.ring, cases[i].count),
                      cases[i].can);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_seals_keep_programs_for_completing_the_page) {
    for (uint8_t most = 4; most <= 9; most++) {
        struct esk_geometry geometry = ring_fixture_nor;
        struct ring_fixture fixture;
        uint16_t count = 1;
        ESK_CONTEXT("%u programs a page", most);
        geometry.programs_per_page_max = most;
        ring_fixture_start(&fixture, &geometry);
        for (; esk_ring_can_seal(&fixture.ring, count); count++) {
            ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, count, 0),
                          ESK_OK);
        }
        ESK_CHECK_INT(fixture.ring.open_seals, (most - 2) / 2);
        ESK_CHECK_INT(
            esk_ring_append(&fixture.ring, fixture.page, count, 0, NULL),
            ESK_OK);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_completes_a_sealed_page_in_whole_program_units) {
    static const uint8_t units[] = {2, 4, 8};
    for (int i = 0; i < 3; i++) {
        struct esk_geometry geometry = ring_fixture_nor;
        struct ring_fixture fixture;
        ESK_CONTEXT("program unit %u", units[i]);
        geometry.program_bytes = units[i];
        ring_fixture_start(&fixture, &geometry);
        fixture.config.unit = 5;
        ring_fixture_mount(&fixture);
        ESK_CHECK(esk_ring_can_seal(&fixture.ring, 8));
        ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, 8, 0), ESK_OK);
        ESK_CHECK_INT(esk_ring_append(&fixture.ring, fixture.page, 11, 0, NULL),
                      ESK_OK);
        ESK_CHECK_INT(esk_ring_read(&fixture.ring, 0, fixture.page, true),
                      ESK_OK);
        ESK_CHECK_INT(esk_page_count(fixture.page), 11);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_page_takes_no_more_seals_than_it_counts) {
    struct esk_geometry geometry = ring_fixture_nor;
    struct ring_fixture fixture;
    geometry.page_bytes = 4096;
    ring_fixture_start(&fixture, &geometry);
    fixture.ring.open_seals = 249;
    ESK_CHECK(esk_ring_can_seal(&fixture.ring, 1));
    fixture.ring.open_seals = 250;
    ESK_CHECK(!esk_ring_can_seal(&fixture.ring, 1));
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_step_erases_ahead_and_no_further) {
    struct ring_fixture fixture;
    bool done = false;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    fixture.ring.ahead = 2;
    for (int i = 0; i < 4; i++) {
        ESK_CONTEXT("step %d", i);
        ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, i < 2);
    }
    ring_fixture_append_many(&fixture, 2 * PAGES);
    ESK_CHECK_INT(fixture.stats.erases, 2);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_step_drops_what_it_erases_unless_the_ring_refuses) {
    for (int refuse = 0; refuse < 2; refuse++) {
        struct ring_fixture fixture;
        bool done = false;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        fixture.ring.refuse = refuse == 1;
        ring_fixture_append_many(&fixture, ALL);
        ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, refuse == 0);
        ESK_CHECK_INT(fixture.ring.tail, refuse == 0 ? PAGES : 0);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_never_reuses_positions_that_the_log_had_reached) {
    static const struct {
        uint32_t to;
        uint32_t head;
        uint32_t tail;
    } cases[] = {
        {3, 5, 0},  /* not above head: nothing */
        {7, 8, 0},  /* no block is continued in the middle */
        {9, 12, 0}, /* a block is not begun in the middle */
        {12, 12, 0},     {ALL, ALL, 0},
        {ALL + 1, 5, 0}, /* existing pages would be dropped */
        {1000, 5, 0},    {UINT32_MAX - 5, 5, 0}, /* too far to be possible */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_fixture fixture;
        ESK_CONTEXT("case %zu", i);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, 5);
        ESK_CHECK_INT(
            esk_ring_reached(&fixture.ring, cases[i].to, false, fixture.page),
            ESK_OK);
        ESK_CHECK_INT(fixture.ring.head, cases[i].head);
        ESK_CHECK_INT(fixture.ring.tail, cases[i].tail);
        ring_fixture_append_many(&fixture, 6);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_that_lost_its_newest_blocks_can_have_reached_a_later_lap) {
    struct ring_fixture fixture;
    uint8_t zero[128] = {0};
    uint32_t head = ALL + 3 * PAGES;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, head);
    for (uint32_t at = head - 2 * PAGES; at < head; at++) {
        ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                   esk_ring_page(&fixture.ring, at), 0, zero,
                                   sizeof zero),
                      ESK_OK);
    }
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, head - 2 * PAGES);
    ESK_CHECK_INT(esk_ring_reached(&fixture.ring, head, false, fixture.page),
                  ESK_OK);
    ESK_CHECK_INT(fixture.ring.head, head);
    ESK_CHECK(fixture.ring.tail >= head - ALL);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_without_a_page_can_have_reached_any_position) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 5);
    esk_ring_drop(&fixture.ring, 5);
    ESK_CHECK_INT(esk_ring_reached(&fixture.ring, 1001, false, fixture.page),
                  ESK_OK);
    ESK_CHECK_INT(fixture.ring.head, 1004);
    ESK_CHECK_INT(fixture.ring.tail, 1004 - ALL);
    ring_fixture_append_many(&fixture, 6);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_ends_before_positions_go_round) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    uint32_t last = esk_ring_position_max(&fixture.ring) / ALL * ALL;
    fixture.config.tail_hint = last - 8;
    ring_fixture_mount(&fixture);
    int status = ESK_OK;
    for (uint32_t i = 0; i < 2 * ALL && status == ESK_OK; i++) {
        status = ring_fixture_append(&fixture, NULL);
    }
    ESK_CHECK_INT(status, ESK_E_LIMIT);
    uint32_t head = fixture.ring.head;
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, head);
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_E_LIMIT);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_never_keeps_more_ahead_than_it_can_spare) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    fixture.config.ahead = 8;
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.ahead, BLOCKS - 2);
    fixture.config.blocks = 2;
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.ahead, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST_MAIN()
