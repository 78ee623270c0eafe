// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Taking a ring up: head and tail, whatever is on the medium.
#include "flash/ring.h"

#include "flash/device_page.h"
#include "test/harness/ring_rig.h"

ESK_TEST(ring_mount_finds_head_and_tail_after_any_number_of_pages) {
    struct ring_rig rig;
    for (uint32_t count = 0; count <= 3 * ALL; count++) {
        ESK_CONTEXT("%u pages", count);
        ring_rig_start(&rig, &ring_rig_nor);
        ring_rig_append_many(&rig, count);
        uint32_t tail = rig.ring.tail;
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, count);
        /* Where the next block begins is no reason to give rows up yet. */
        ESK_CHECK_INT(rig.ring.tail, tail);
        ring_rig_check(&rig, 0);
        ring_rig_append_many(&rig, 2);
        ring_rig_check(&rig, 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_mount_costs_a_logarithm_of_the_blocks) {
    struct esk_geometry large = ring_rig_nor;
    struct ring_rig rig;
    large.block_count = 1024 + FIRST;
    ring_rig_start(&rig, &large);
    for (uint32_t block = 0; block < large.block_count; block++) {
        ESK_CHECK_INT(rig.volume.device->ops->erase(rig.volume.device, block),
                      ESK_OK);
    }
    rig.config.blocks = 1024;
    ring_rig_mount(&rig);
    ring_rig_append_many(&rig, 3000);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 3000);
    ESK_CONTEXT("%u reads", rig.stats.reads);
    ESK_CHECK(rig.stats.reads <= 2 * 10 + 2 + 8 + 40);
    ring_rig_end(&rig);
}

ESK_TEST(ring_mount_starts_at_the_tail_hint) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 10);
    rig.config.tail_hint = 7;
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.tail, 7);
    ESK_CHECK_INT(rig.ring.head, 10);
    ring_rig_end(&rig);
}

ESK_TEST(ring_with_a_tail_hint_and_no_page_begins_a_block) {
    static const uint32_t hints[][2] = {{8, 8}, {9, 12}, {0, 0}, {21, 24}};
    for (int i = 0; i < 4; i++) {
        struct ring_rig rig;
        ring_rig_start(&rig, &ring_rig_nor);
        rig.config.tail_hint = hints[i][0];
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, hints[i][1]);
        ESK_CHECK_INT(rig.ring.tail, hints[i][1]);
        ring_rig_append_many(&rig, 9);
        ring_rig_check(&rig, 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_mount_believes_a_tail_hint_above_every_page) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 5);
    rig.config.tail_hint = 6;
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 6);
    ESK_CHECK_INT(rig.ring.tail, 6);
    ring_rig_end(&rig);
}

ESK_TEST(ring_of_another_seed_kind_or_table_sees_no_old_page) {
    for (int change = 0; change < 3; change++) {
        struct ring_rig rig;
        ESK_CONTEXT("change %d", change);
        ring_rig_start(&rig, &ring_rig_nor);
        ring_rig_append_many(&rig, 2 * ALL);
        rig.config.seed += change == 0;
        rig.config.kind = (uint8_t)(rig.config.kind + (change == 1));
        rig.config.table = (uint8_t)(rig.config.table + (change == 2));
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, 0);
        ring_rig_append_many(&rig, ALL + 3);
        ring_rig_check(&rig, 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_mount_passes_over_pages_that_a_cut_tore) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 5);
    esk_sim_cut_at(rig.sim, esk_sim_op_count(rig.sim), ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(ring_rig_append(&rig, NULL) < 0);
    esk_sim_power_on(rig.sim);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 6);
    ring_rig_append_many(&rig, 6);
    ring_rig_check(&rig, 1);
    ring_rig_end(&rig);
}

ESK_TEST(ring_mount_writes_a_torn_page_again_where_that_is_allowed) {
    struct esk_geometry sd = ring_rig_nor;
    struct ring_rig rig;
    sd.flags = ESK_MEDIUM_OVERWRITE;
    ring_rig_start(&rig, &sd);
    ring_rig_append_many(&rig, 5);
    esk_sim_cut_at(rig.sim, esk_sim_op_count(rig.sim), ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(ring_rig_append(&rig, NULL) < 0);
    esk_sim_power_on(rig.sim);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 5);
    ring_rig_append_many(&rig, 3);
    ring_rig_check(&rig, 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_mount_is_not_fooled_by_damaged_pages_or_blocks) {
    for (uint32_t first = 0; first < 12; first++) {
        struct ring_rig rig;
        uint8_t zero[128] = {0};
        ESK_CONTEXT("two blocks' pages damaged from position %u", first);
        ring_rig_start(&rig, &ring_rig_nor);
        ring_rig_append_many(&rig, 22);
        for (uint32_t at = first; at < first + 2 * PAGES; at++) {
            ESK_CHECK_INT(esk_sim_poke(rig.sim, esk_ring_page(&rig.ring, at), 0,
                                       zero, sizeof zero),
                          ESK_OK);
        }
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, 22);
        ring_rig_check(&rig, rig.ring.tail == 0 ? 2 * PAGES : 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_mount_passes_over_pages_that_the_medium_cannot_read) {
    struct esk_sim_config config = {.geometry = ring_rig_nor, .ecc_bits = 1};
    struct ring_rig rig;
    struct ring_rig with_ecc;
    ring_rig_start(&rig, &ring_rig_nor);
    with_ecc = rig;
    ESK_CHECK_INT(esk_sim_create(&with_ecc.sim, &config), ESK_OK);
    with_ecc.volume.device = esk_sim_device(with_ecc.sim);
    ring_rig_mount(&with_ecc);
    ring_rig_append_many(&with_ecc, 9);
    for (uint32_t at = 0; at < 8; at += 4) {
        ESK_CHECK_INT(esk_sim_flip_random(with_ecc.sim,
                                          esk_ring_page(&with_ecc.ring, at), 5),
                      ESK_OK);
    }
    ring_rig_mount(&with_ecc);
    ESK_CHECK_INT(with_ecc.ring.head, 9);
    ESK_CHECK_INT(esk_ring_read(&with_ecc.ring, 4, with_ecc.page, true),
                  ESK_E_CORRUPT);
    ring_rig_end(&with_ecc);
    ring_rig_end(&rig);
}

ESK_TEST(ring_mounted_read_only_programs_nothing) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 3);
    rig.volume.flags = ESK_MOUNT_READ_ONLY;
    uint64_t ops = esk_sim_op_count(rig.sim);
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_sim_op_count(rig.sim), ops);
    ring_rig_check(&rig, 0);
    ring_rig_end(&rig);
}

ESK_TEST_MAIN()
