// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring on blocks that are bad, and media and buses that fail.
#include "flash/ring.h"

#include "test/harness/ring_fixture.h"

ESK_TEST(ring_skips_bad_blocks) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_device *device = fixture.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 3), ESK_OK);
    for (uint32_t i = 0; i < 3 * ALL; i++) {
        ESK_CONTEXT("page %u", i);
        ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_OK);
        struct esk_ring kept = fixture.ring;
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, kept.head);
        fixture.ring = kept;
    }
    ESK_CHECK_INT(esk_ring_skip(&fixture.ring, 24), 28);
    ESK_CHECK_INT(esk_ring_skip(&fixture.ring, 25), 26);
    ESK_CHECK_INT(esk_ring_skip(&fixture.ring, 28), 29);
    ESK_CHECK(fixture.stats.blocks_skipped > 0 || fixture.stats.erases == 0);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_with_only_bad_blocks_is_worn) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_device *device = fixture.volume.device;
    for (uint32_t block = FIRST; block < FIRST + BLOCKS; block++) {
        ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
    }
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_E_WORN);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_marks_a_block_bad_that_fails_to_erase_and_goes_on) {
    struct ring_fixture fixture;
    bool bad = false;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_device *device = fixture.volume.device;
    esk_sim_block_fail(fixture.sim, FIRST + 1);
    ring_fixture_append_many(&fixture, 2 * PAGES);
    ESK_CHECK_INT(fixture.ring.head, 3 * PAGES);
    ESK_CHECK_INT(fixture.stats.erase_failures, 1);
    ESK_CHECK_INT(device->ops->block_is_bad(device, FIRST + 1, &bad), ESK_OK);
    ESK_CHECK(bad);
    ring_fixture_check(&fixture, PAGES);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_abandons_a_block_whose_page_fails_to_program) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 2);
    struct esk_sim_failures failures = {.program = {.burst_length = 1}};
    esk_sim_failures_set(fixture.sim, &failures);
    ring_fixture_append_many(&fixture, 1);
    ESK_CHECK_INT(fixture.ring.head, PAGES + 1);
    ESK_CHECK_INT(fixture.stats.program_failures, 1);
    ring_fixture_check(&fixture, 2);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_seals_again_on_another_page_when_a_seal_fails) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, 1, 0), ESK_OK);
    for (uint8_t fails = 0; fails < 2; fails++) {
        struct esk_sim_failures failures = {
            .program = {.burst_start = fails, .burst_length = 1}};
        uint32_t before = fixture.ring.head;
        esk_sim_failures_set(fixture.sim, &failures);
        ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page,
                                    (uint16_t)(2 + fails), 0),
                      ESK_OK);
        ESK_CHECK_INT(fixture.ring.head, before + PAGES);
        ESK_CHECK_INT(fixture.ring.open_seals, 1);
    }
    ring_fixture_end(&fixture);
}

/// A device without bad-block marks.
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
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    struct esk_device device = unmarked(fixture.volume.device);
    fixture.volume.device = &device;
    ring_fixture_append_many(&fixture, 1);
    struct esk_sim_failures one = {.program = {.burst_length = 1}};
    esk_sim_failures_set(fixture.sim, &one);
    ring_fixture_append_many(&fixture, 1);
    ESK_CHECK_INT(fixture.ring.head, PAGES + 1);
    ring_fixture_check(&fixture, 3);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, PAGES + 1);
    ring_fixture_check(&fixture, 3);
    ring_fixture_end(&fixture);
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
        struct ring_fixture fixture;
        bool done = true;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        const struct esk_device *real = fixture.volume.device;
        struct esk_device device = unmarked(real);
        ESK_CONTEXT("marks %d", marks);
        if (marks == 0) {
            fixture.volume.device = &device;
        }
        ring_fixture_append_many(&fixture, 3);
        struct esk_sim_failures failures = {.program = {.every = 1},
                                            .erase = {.every = 1}};
        esk_sim_failures_set(fixture.sim, &failures);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, 1, 0),
                          ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
            ESK_CHECK(!done);
        }
        ESK_CHECK_INT(bad_blocks(real), marks == 0 ? 0 : 4);
        esk_sim_failures_set(fixture.sim, NULL);
        ring_fixture_mount(&fixture);
        ring_fixture_check(&fixture, PAGES);
        ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_OK);
        ring_fixture_check(&fixture, ALL);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_on_a_dead_bus_uses_up_nothing) {
    /* At a block's first page, in its middle, and with nothing erased ahead. */
    for (uint32_t before = 1; before <= 2 * ALL; before++) {
        struct ring_fixture fixture;
        bool done = false;
        ESK_CONTEXT("%u pages before", before);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, before);
        struct esk_ring kept = fixture.ring;
        esk_sim_power_off(fixture.sim);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_E_IO);
            ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, 1, 0),
                          ESK_E_IO);
            ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_E_IO);
        }
        ESK_CHECK_INT(fixture.ring.head, kept.head);
        ESK_CHECK_INT(fixture.ring.tail, kept.tail);
        ESK_CHECK_INT(fixture.ring.ready, kept.ready);
        esk_sim_power_on(fixture.sim);
        ring_fixture_check(&fixture, 0);
        ring_fixture_append_many(&fixture, PAGES + 1);
        ESK_CHECK_INT(fixture.ring.head, before + PAGES + 1);
        ring_fixture_check(&fixture, 0);
        ESK_CHECK_INT(bad_blocks(fixture.volume.device), 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_skips_pages_of_failed_transfers_and_marks_nothing) {
    for (uint32_t every = 3; every <= 9; every++) {
        for (uint32_t burst = 0; burst <= 8; burst++) {
            struct ring_fixture fixture;
            uint32_t refused = 0;
            ESK_CONTEXT("each %u-th transfer fails, and %u in a row", every,
                        burst);
            ring_fixture_start(&fixture, &ring_fixture_nor);
            struct esk_sim_failures failures = {
                .transfer = {.every = every,
                             .burst_start = every,
                             .burst_length = burst}};
            esk_sim_failures_set(fixture.sim, &failures);
            for (uint32_t i = 0; i < 2 * ALL; i++) {
                int status = ring_fixture_append(&fixture, NULL);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                refused += status != ESK_OK;
                ring_fixture_check(&fixture, ALL);
                if (i % 5 == 4) {
                    ring_fixture_mount(&fixture);
                    ring_fixture_check(&fixture, ALL);
                }
            }
            /* Four in a row make a call fail, or two erases. */
            ESK_CHECK(refused <= burst / 2 + 1);
            ESK_CHECK_INT(bad_blocks(fixture.volume.device), 0);
            ring_fixture_end(&fixture);
        }
    }
}

ESK_TEST(ring_step_skips_a_block_that_goes_bad_before_its_turn) {
    struct ring_fixture fixture;
    bool done = false;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_device *device = fixture.volume.device;
    ring_fixture_append_many(&fixture, 1);
    ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
    ESK_CHECK(done);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 1), ESK_OK);
    ring_fixture_append_many(&fixture, PAGES);
    ESK_CHECK_INT(fixture.ring.head, 2 * PAGES + 1);
    ring_fixture_end(&fixture);
}

/// Pages from head to the oldest block's end a lap later, without bad blocks.
static uint32_t room_count(const struct ring_fixture *fixture) {
    const struct esk_ring *ring = &fixture->ring;
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
        struct ring_fixture fixture;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        const struct esk_device *device = fixture.volume.device;
        fixture.ring.refuse = true;
        if (variant % 3 == 0) {
            ESK_CHECK_INT(
                device->ops->block_mark_bad(device, FIRST + variant % BLOCKS),
                ESK_OK);
        }
        for (uint32_t i = 0; i < 5 * ALL; i++) {
            ESK_CONTEXT("variant %u, append %u", variant, i);
            if (i % 29 == 10 + variant % 13 && i < 3 * ALL) {
                struct esk_sim_failures once = {.program = {.burst_length = 1}};
                esk_sim_failures_set(fixture.sim, i < 60 ? &once : NULL);
            }
            uint32_t room = room_count(&fixture);
            ESK_CHECK(esk_ring_has_room(&fixture.ring, room));
            ESK_CHECK(!esk_ring_has_room(&fixture.ring, room + 1));
            ESK_CHECK(room == 0 || esk_ring_has_room(&fixture.ring, 1));
            if (i == 30 + variant % 20) {
                esk_sim_block_fail(fixture.sim, FIRST + variant % 5);
            }
            bool done = false;
            int status = esk_ring_step(&fixture.ring, &done);
            ESK_CHECK(status == ESK_OK);
            room = room_count(&fixture);
            ESK_CHECK(esk_ring_has_room(&fixture.ring, room));
            ESK_CHECK(!esk_ring_has_room(&fixture.ring, room + 1));
            uint32_t failures = fixture.stats.program_failures;
            status = ring_fixture_append(&fixture, NULL);
            bool failed = fixture.stats.program_failures > failures;
            ESK_CHECK(status == ESK_OK || status == ESK_FULL || failed);
            if (status != ESK_OK || i % 7 == variant % 7) {
                uint32_t gone = fixture.ring.tail + 1 + variant % 9;
                gone = gone < fixture.ring.head ? gone : fixture.ring.head;
                esk_ring_drop(&fixture.ring, gone);
            }
        }
        ESK_CHECK(fixture.stats.program_failures > 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(region_block_without_a_readable_mark_counts_as_good) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_device *device = fixture.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK(esk_volume_block_is_bad(&fixture.volume, FIRST));
    esk_sim_power_off(fixture.sim);
    ESK_CHECK(!esk_volume_block_is_bad(&fixture.volume, FIRST));
    ring_fixture_end(&fixture);
}

ESK_TEST_MAIN()
