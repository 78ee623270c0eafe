// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring: append, read, seal, drop, step, pass.
#include "flash/ring.h"

#include "flash/device_page.h"
#include "test/harness/ring_rig.h"

ESK_TEST(ring_starts_empty_on_a_medium_full_of_garbage) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ESK_CHECK_INT(rig.ring.head, 0);
    ESK_CHECK_INT(rig.ring.tail, 0);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_NOT_FOUND);
    ring_rig_end(&rig);
}

ESK_TEST(ring_append_returns_rising_positions_that_read_back) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t position = 99;
        ESK_CHECK_INT(ring_rig_append(&rig, &position), ESK_OK);
        ESK_CHECK_INT(position, i);
    }
    ring_rig_check(&rig, 0);
    ESK_CHECK_INT(rig.stats.programs, 10);
    ESK_CHECK_INT(rig.stats.erases, 3);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 10, rig.page, true), ESK_NOT_FOUND);
    ring_rig_end(&rig);
}

ESK_TEST(ring_wraps_and_drops_the_oldest_block) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, ALL);
    ESK_CHECK_INT(rig.ring.tail, 0);
    ring_rig_append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.tail, PAGES);
    ring_rig_append_many(&rig, 5 * ALL);
    ESK_CHECK_INT(rig.ring.tail, 5 * ALL + PAGES);
    ring_rig_check(&rig, 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_that_refuses_is_full_after_one_lap_until_rows_are_dropped) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    rig.ring.refuse = true;
    ring_rig_append_many(&rig, ALL);
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_FULL);
    ESK_CHECK_INT(rig.ring.tail, 0);
    esk_ring_drop(&rig.ring, PAGES - 1);
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_FULL);
    esk_ring_drop(&rig.ring, PAGES);
    ring_rig_append_many(&rig, PAGES);
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_FULL);
    ring_rig_check(&rig, 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_drop_moves_the_tail_up_only_and_not_past_the_head) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 6);
    esk_ring_drop(&rig.ring, 3);
    ESK_CHECK_INT(rig.ring.tail, 3);
    esk_ring_drop(&rig.ring, 2);
    ESK_CHECK_INT(rig.ring.tail, 3);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 2, rig.page, true), ESK_NOT_FOUND);
    esk_ring_drop(&rig.ring, 100);
    ESK_CHECK_INT(rig.ring.tail, 6);
    ring_rig_end(&rig);
}

ESK_TEST(ring_read_tells_erased_from_damaged_and_unreadable) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 3);
    ESK_CHECK_INT(esk_sim_flip(rig.sim, esk_ring_page(&rig.ring, 1), 300),
                  ESK_OK);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 1, rig.page, true), ESK_E_CORRUPT);
    ESK_CHECK_INT(rig.stats.damaged, 1);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 1, rig.page, false), ESK_OK);
    rig.ring.head++; /* as if position 3 had been given up */
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 3, rig.page, true), ESK_NOT_FOUND);
    esk_sim_power_off(rig.sim);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_E_IO);
    ESK_CHECK_INT(rig.stats.damaged, 2);
    ring_rig_end(&rig);
}

ESK_TEST(ring_seals_leave_a_page_open_and_readable_after_a_reboot) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    memset(rig.page, 0x11, sizeof rig.page);
    for (uint16_t count = 1; count <= 12; count++) {
        if (!esk_ring_can_seal(&rig.ring, count)) {
            ESK_CHECK_INT(esk_ring_room(&rig.ring), count);
            break;
        }
        ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, count, 5), ESK_OK);
        ESK_CHECK_INT(rig.ring.head, 0);
        ESK_CHECK_INT(rig.ring.open_seals, count);
        struct esk_ring again;
        uint8_t page[128];
        ESK_CHECK_INT(
            esk_ring_mount(&again, &rig.volume, &rig.config, &rig.stats, page),
            ESK_OK);
        ESK_CHECK_INT(again.head, 1);
        ESK_CHECK_INT(esk_ring_read(&again, 0, page, true), ESK_OK);
        ESK_CHECK_INT(esk_page_count(page), count);
        esk_ring_unmount(&again);
    }
    ESK_CHECK_INT(
        esk_ring_append(&rig.ring, rig.page, esk_ring_room(&rig.ring), 5, NULL),
        ESK_OK);
    ESK_CHECK_INT(rig.ring.open_seals, 0);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_OK);
    ring_rig_end(&rig);
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
        struct esk_geometry geometry = ring_rig_nor;
        struct ring_rig rig;
        ESK_CONTEXT("case %zu", i);
        geometry.program_bytes = cases[i].program_bytes;
        geometry.programs_per_page_max = cases[i].programs_max;
        ring_rig_start(&rig, &geometry);
        ESK_CHECK_INT(esk_ring_can_seal(&rig.ring, cases[i].count),
                      cases[i].can);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_seals_keep_programs_for_completing_the_page) {
    for (uint8_t most = 4; most <= 9; most++) {
        struct esk_geometry geometry = ring_rig_nor;
        struct ring_rig rig;
        uint16_t count = 1;
        ESK_CONTEXT("%u programs a page", most);
        geometry.programs_per_page_max = most;
        ring_rig_start(&rig, &geometry);
        for (; esk_ring_can_seal(&rig.ring, count); count++) {
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, count, 0), ESK_OK);
        }
        ESK_CHECK_INT(rig.ring.open_seals, (most - 2) / 2);
        ESK_CHECK_INT(esk_ring_append(&rig.ring, rig.page, count, 0, NULL),
                      ESK_OK);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_completes_a_sealed_page_in_whole_program_units) {
    static const uint8_t units[] = {2, 4, 8};
    for (int i = 0; i < 3; i++) {
        struct esk_geometry geometry = ring_rig_nor;
        struct ring_rig rig;
        ESK_CONTEXT("program unit %u", units[i]);
        geometry.program_bytes = units[i];
        ring_rig_start(&rig, &geometry);
        rig.config.unit = 5;
        ring_rig_mount(&rig);
        ESK_CHECK(esk_ring_can_seal(&rig.ring, 8));
        ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 8, 0), ESK_OK);
        ESK_CHECK_INT(esk_ring_append(&rig.ring, rig.page, 11, 0, NULL),
                      ESK_OK);
        ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_OK);
        ESK_CHECK_INT(esk_page_count(rig.page), 11);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_page_takes_no_more_seals_than_it_counts) {
    struct esk_geometry geometry = ring_rig_nor;
    struct ring_rig rig;
    geometry.page_bytes = 4096;
    ring_rig_start(&rig, &geometry);
    rig.ring.open_seals = 249;
    ESK_CHECK(esk_ring_can_seal(&rig.ring, 1));
    rig.ring.open_seals = 250;
    ESK_CHECK(!esk_ring_can_seal(&rig.ring, 1));
    ring_rig_end(&rig);
}

ESK_TEST(ring_step_erases_ahead_and_no_further) {
    struct ring_rig rig;
    bool done = false;
    ring_rig_start(&rig, &ring_rig_nor);
    rig.ring.ahead = 2;
    for (int i = 0; i < 4; i++) {
        ESK_CONTEXT("step %d", i);
        ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, i < 2);
    }
    ring_rig_append_many(&rig, 2 * PAGES);
    ESK_CHECK_INT(rig.stats.erases, 2);
    ring_rig_end(&rig);
}

ESK_TEST(ring_step_drops_what_it_erases_unless_the_ring_refuses) {
    for (int refuse = 0; refuse < 2; refuse++) {
        struct ring_rig rig;
        bool done = false;
        ring_rig_start(&rig, &ring_rig_nor);
        rig.ring.refuse = refuse == 1;
        ring_rig_append_many(&rig, ALL);
        ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, refuse == 0);
        ESK_CHECK_INT(rig.ring.tail, refuse == 0 ? PAGES : 0);
        ring_rig_check(&rig, 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_pass_gives_positions_up) {
    static const struct {
        uint32_t to;
        uint32_t head;
        uint32_t tail;
    } cases[] = {
        {3, 5, 0},  /* not above head: nothing */
        {7, 7, 0},  /* in the block that was begun */
        {9, 12, 0}, /* a block is not begun in the middle */
        {12, 12, 0},     {ALL, ALL, 0},
        {ALL + 1, 5, 0}, /* pages that are there would go */
        {1000, 5, 0},    {UINT32_MAX - 5, 5, 0}, /* too far to be true */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ring_rig rig;
        ESK_CONTEXT("case %zu", i);
        ring_rig_start(&rig, &ring_rig_nor);
        ring_rig_append_many(&rig, 5);
        esk_ring_pass(&rig.ring, cases[i].to);
        ESK_CHECK_INT(rig.ring.head, cases[i].head);
        ESK_CHECK_INT(rig.ring.tail, cases[i].tail);
        ring_rig_append_many(&rig, 6);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_pass_takes_an_empty_ring_anywhere) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 5);
    esk_ring_drop(&rig.ring, 5);
    esk_ring_pass(&rig.ring, 1001);
    ESK_CHECK_INT(rig.ring.head, 1004);
    ESK_CHECK_INT(rig.ring.tail, 1004 - ALL);
    ring_rig_append_many(&rig, 6);
    ring_rig_end(&rig);
}

ESK_TEST(ring_ends_before_positions_go_round) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    uint32_t last = esk_ring_position_max(&rig.ring) / ALL * ALL;
    rig.config.tail_hint = last - 8;
    ring_rig_mount(&rig);
    int status = ESK_OK;
    for (uint32_t i = 0; i < 2 * ALL && status == ESK_OK; i++) {
        status = ring_rig_append(&rig, NULL);
    }
    ESK_CHECK_INT(status, ESK_E_LIMIT);
    uint32_t head = rig.ring.head;
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, head);
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_E_LIMIT);
    ring_rig_end(&rig);
}

ESK_TEST(ring_never_keeps_more_ahead_than_it_can_spare) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    rig.config.ahead = 8;
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.ahead, BLOCKS - 2);
    rig.config.blocks = 2;
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.ahead, 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_unmount_leaves_the_volume_list_in_any_order) {
    struct ring_rig rig;
    struct esk_ring second;
    struct esk_ring third;
    struct esk_ring none;
    ring_rig_start(&rig, &ring_rig_nor);
    ESK_CHECK_INT(
        esk_ring_mount(&second, &rig.volume, &rig.config, &rig.stats, rig.page),
        ESK_OK);
    ESK_CHECK_INT(
        esk_ring_mount(&third, &rig.volume, &rig.config, &rig.stats, rig.page),
        ESK_OK);
    memset(&none, 0, sizeof none);
    esk_ring_unmount(&none);
    esk_ring_unmount(&second);
    ESK_CHECK(rig.volume.rings == &third);
    ESK_CHECK(third.next == &rig.ring);
    esk_ring_unmount(&second);
    esk_ring_unmount(&third);
    esk_ring_unmount(&rig.ring);
    ESK_CHECK(rig.volume.rings == NULL);
    ring_rig_end(&rig);
}

ESK_TEST_MAIN()
