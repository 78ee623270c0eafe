// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring on blocks that are bad, and media and buses that fail.
#include "flash/ring.h"

#include "flash/device_page.h"
#include "test/harness/ring_rig.h"

ESK_TEST(ring_passes_over_bad_blocks) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    const struct esk_device *device = rig.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 3), ESK_OK);
    for (uint32_t i = 0; i < 3 * ALL; i++) {
        ESK_CONTEXT("page %u", i);
        ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_OK);
        struct esk_ring kept = rig.ring;
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, kept.head);
        rig.ring = kept;
        rig.volume.rings = &rig.ring;
    }
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 24), 28);
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 25), 26);
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 28), 29);
    ESK_CHECK(rig.stats.blocks_skipped > 0 || rig.stats.erases == 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_with_only_bad_blocks_is_worn) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    const struct esk_device *device = rig.volume.device;
    for (uint32_t block = FIRST; block < FIRST + BLOCKS; block++) {
        ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
    }
    ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_E_WORN);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 0);
    ring_rig_end(&rig);
}

ESK_TEST(ring_marks_a_block_bad_that_fails_to_erase_and_goes_on) {
    struct ring_rig rig;
    bool bad = false;
    ring_rig_start(&rig, &ring_rig_nor);
    const struct esk_device *device = rig.volume.device;
    esk_sim_block_fail(rig.sim, FIRST + 1);
    ring_rig_append_many(&rig, 2 * PAGES);
    ESK_CHECK_INT(rig.ring.head, 3 * PAGES);
    ESK_CHECK_INT(rig.stats.erase_failures, 1);
    ESK_CHECK_INT(device->ops->block_is_bad(device, FIRST + 1, &bad), ESK_OK);
    ESK_CHECK(bad);
    ring_rig_check(&rig, PAGES);
    ring_rig_end(&rig);
}

ESK_TEST(ring_gives_a_block_up_whose_page_fails_to_program) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ring_rig_append_many(&rig, 2);
    struct esk_sim_failures failures = {.program = {.burst_length = 1}};
    esk_sim_failures_set(rig.sim, &failures);
    ring_rig_append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    ESK_CHECK_INT(rig.stats.program_failures, 1);
    ring_rig_check(&rig, 2);
    ring_rig_end(&rig);
}

ESK_TEST(ring_seals_again_on_another_page_when_a_seal_fails) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_OK);
    for (uint8_t fails = 0; fails < 2; fails++) {
        struct esk_sim_failures failures = {
            .program = {.burst_start = fails, .burst_length = 1}};
        uint32_t before = rig.ring.head;
        esk_sim_failures_set(rig.sim, &failures);
        ESK_CHECK_INT(
            esk_ring_seal(&rig.ring, rig.page, (uint16_t)(2 + fails), 0),
            ESK_OK);
        ESK_CHECK_INT(rig.ring.head, before + PAGES);
        ESK_CHECK_INT(rig.ring.open_seals, 1);
    }
    ring_rig_end(&rig);
}

/// A device that keeps no marks, for chips that cannot.
static struct esk_device_ops unmarked_ops;

static struct esk_device unmarked(const struct esk_device *device) {
    static struct esk_device copy;
    copy = *device;
    unmarked_ops = *device->ops;
    unmarked_ops.block_is_bad = NULL;
    unmarked_ops.block_mark_bad = NULL;
    copy.ops = &unmarked_ops;
    return copy;
}

ESK_TEST(ring_without_marks_leaves_a_block_that_fails_to_program) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    struct esk_device device = unmarked(rig.volume.device);
    rig.volume.device = &device;
    ring_rig_append_many(&rig, 1);
    struct esk_sim_failures one = {.program = {.burst_length = 1}};
    esk_sim_failures_set(rig.sim, &one);
    ring_rig_append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    ring_rig_check(&rig, 3);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    ring_rig_check(&rig, 3);
    ring_rig_end(&rig);
}

static uint32_t bad_blocks(const struct esk_device *device) {
    uint32_t count = 0;
    for (uint32_t block = 0; block < BLOCKS + FIRST; block++) {
        bool bad = false;
        ESK_CHECK_INT(device->ops->block_is_bad(device, block, &bad), ESK_OK);
        count += bad ? 1 : 0;
    }
    return count;
}

ESK_TEST(ring_on_a_medium_that_fails_throughout_drops_nothing_more) {
    for (int marks = 0; marks < 2; marks++) {
        struct ring_rig rig;
        bool done = true;
        ring_rig_start(&rig, &ring_rig_nor);
        const struct esk_device *real = rig.volume.device;
        struct esk_device device = unmarked(real);
        ESK_CONTEXT("marks %d", marks);
        if (marks == 0) {
            rig.volume.device = &device;
        }
        ring_rig_append_many(&rig, 3);
        struct esk_sim_failures failures = {.program = {.every = 1},
                                            .erase = {.every = 1}};
        esk_sim_failures_set(rig.sim, &failures);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
            ESK_CHECK(!done);
        }
        ESK_CHECK_INT(bad_blocks(real), marks == 0 ? 0 : 4);
        esk_sim_failures_set(rig.sim, NULL);
        ring_rig_mount(&rig);
        ring_rig_check(&rig, PAGES);
        ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_OK);
        ring_rig_check(&rig, ALL);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_on_a_dead_bus_uses_up_nothing) {
    /* At a block's beginning, its middle, and with nothing erased ahead. */
    for (uint32_t before = 1; before <= 2 * ALL; before++) {
        struct ring_rig rig;
        bool done = false;
        ESK_CONTEXT("%u pages before", before);
        ring_rig_start(&rig, &ring_rig_nor);
        ring_rig_append_many(&rig, before);
        struct esk_ring kept = rig.ring;
        esk_sim_power_off(rig.sim);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(ring_rig_append(&rig, NULL), ESK_E_IO);
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_IO);
            ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_E_IO);
        }
        ESK_CHECK_INT(rig.ring.head, kept.head);
        ESK_CHECK_INT(rig.ring.tail, kept.tail);
        ESK_CHECK_INT(rig.ring.ready, kept.ready);
        esk_sim_power_on(rig.sim);
        ring_rig_check(&rig, 0);
        ring_rig_append_many(&rig, PAGES + 1);
        ESK_CHECK_INT(rig.ring.head, before + PAGES + 1);
        ring_rig_check(&rig, 0);
        ESK_CHECK_INT(bad_blocks(rig.volume.device), 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(ring_passes_over_what_failed_transfers_left_and_marks_nothing) {
    for (uint32_t every = 3; every <= 9; every++) {
        for (uint32_t burst = 0; burst <= 8; burst++) {
            struct ring_rig rig;
            uint32_t refused = 0;
            ESK_CONTEXT("each %u-th transfer fails, and %u in a row", every,
                        burst);
            ring_rig_start(&rig, &ring_rig_nor);
            struct esk_sim_failures failures = {
                .transfer = {.every = every,
                             .burst_start = every,
                             .burst_length = burst}};
            esk_sim_failures_set(rig.sim, &failures);
            for (uint32_t i = 0; i < 2 * ALL; i++) {
                int status = ring_rig_append(&rig, NULL);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                refused += status != ESK_OK;
                ring_rig_check(&rig, ALL);
                if (i % 5 == 4) {
                    ring_rig_mount(&rig);
                    ring_rig_check(&rig, ALL);
                }
            }
            /* Four in a row refuse a call, or two erases. */
            ESK_CHECK(refused <= burst / 2 + 1);
            ESK_CHECK_INT(bad_blocks(rig.volume.device), 0);
            ring_rig_end(&rig);
        }
    }
}

ESK_TEST(ring_step_passes_over_a_block_that_turns_bad_before_its_turn) {
    struct ring_rig rig;
    bool done = false;
    ring_rig_start(&rig, &ring_rig_nor);
    const struct esk_device *device = rig.volume.device;
    ring_rig_append_many(&rig, 1);
    ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
    ESK_CHECK(done);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 1), ESK_OK);
    ring_rig_append_many(&rig, PAGES);
    ESK_CHECK_INT(rig.ring.head, 2 * PAGES + 1);
    ring_rig_end(&rig);
}

/// Pages from head to the oldest block's end a lap later, bad blocks left out.
static uint32_t room_count(const struct ring_rig *rig) {
    const struct esk_ring *ring = &rig->ring;
    uint32_t end = (ring->tail / PAGES + BLOCKS) * PAGES;
    uint32_t room = 0;
    for (uint32_t at = ring->head; at < end; at++) {
        bool begun = at / PAGES == ring->head / PAGES && ring->head % PAGES > 0;
        room += begun || !esk_ring_block_is_bad(ring, at - at % PAGES) ? 1 : 0;
    }
    return room;
}

ESK_TEST(ring_that_refuses_knows_its_room_while_blocks_go_bad) {
    for (uint32_t variant = 0; variant < 40; variant++) {
        struct ring_rig rig;
        ring_rig_start(&rig, &ring_rig_nor);
        const struct esk_device *device = rig.volume.device;
        rig.ring.refuse = true;
        if (variant % 3 == 0) {
            ESK_CHECK_INT(
                device->ops->block_mark_bad(device, FIRST + variant % BLOCKS),
                ESK_OK);
        }
        for (uint32_t i = 0; i < 5 * ALL; i++) {
            ESK_CONTEXT("variant %u, append %u", variant, i);
            if (i % 29 == 10 + variant % 13 && i < 3 * ALL) {
                struct esk_sim_failures once = {.program = {.burst_length = 1}};
                esk_sim_failures_set(rig.sim, i < 60 ? &once : NULL);
            }
            uint32_t room = room_count(&rig);
            ESK_CHECK(esk_ring_has_room(&rig.ring, room));
            ESK_CHECK(!esk_ring_has_room(&rig.ring, room + 1));
            ESK_CHECK(room == 0 || esk_ring_has_room(&rig.ring, 1));
            if (i == 30 + variant % 20) {
                esk_sim_block_fail(rig.sim, FIRST + variant % 5);
            }
            bool done = false;
            int status = esk_ring_step(&rig.ring, &done);
            ESK_CHECK(status == ESK_OK);
            room = room_count(&rig);
            ESK_CHECK(esk_ring_has_room(&rig.ring, room));
            ESK_CHECK(!esk_ring_has_room(&rig.ring, room + 1));
            uint32_t failures = rig.stats.program_failures;
            status = ring_rig_append(&rig, NULL);
            bool failed = rig.stats.program_failures > failures;
            ESK_CHECK(status == ESK_OK || status == ESK_FULL || failed);
            if (status != ESK_OK || i % 7 == variant % 7) {
                uint32_t gone = rig.ring.tail + 1 + variant % 9;
                gone = gone < rig.ring.head ? gone : rig.ring.head;
                esk_ring_drop(&rig.ring, gone);
            }
        }
        ESK_CHECK(rig.stats.program_failures > 0);
        ring_rig_end(&rig);
    }
}

ESK_TEST(device_block_without_a_readable_mark_counts_as_good) {
    struct ring_rig rig;
    ring_rig_start(&rig, &ring_rig_nor);
    const struct esk_device *device = rig.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK(esk_device_block_is_bad(device, FIRST));
    esk_sim_power_off(rig.sim);
    ESK_CHECK(!esk_device_block_is_bad(device, FIRST));
    ring_rig_end(&rig);
}

ESK_TEST_MAIN()
