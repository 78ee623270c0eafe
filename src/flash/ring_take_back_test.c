// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// esk_ring_take_back: blocks of an interrupted change are erased and written
/// again, at the same positions.
#include "flash/ring.h"

#include "test/harness/ring_fixture.h"

enum { LONG = 80, KEPT = LONG * PAGES + 5 };

static const struct esk_geometry nand = ESK_NAND(LONG + FIRST, PAGES, 128);
static const struct esk_geometry card = ESK_CARD(LONG + FIRST, PAGES, 128);

/// A refusing ring of LONG blocks: `kept` pages that are needed, of which some
/// blocks are dropped, and `torn` pages that are not; mounted again.
static void fixture_make(struct ring_fixture *fixture, bool overwrites,
                         uint32_t kept, uint32_t torn) {
    ring_fixture_start(fixture, overwrites ? &card : &nand);
    fixture->config.blocks = LONG;
    fixture->config.refuse = true;
    ring_fixture_mount(fixture);
    for (uint32_t i = 0; i < kept + torn; i++) {
        if (fixture->ring.head >= LONG * PAGES) {
            esk_ring_drop(&fixture->ring,
                          fixture->ring.head - (LONG - 1) * PAGES);
        }
        ring_fixture_append_many(fixture, 1);
    }
    ring_fixture_mount(fixture);
    ESK_CHECK_INT(fixture->ring.head, kept + torn);
}

/// Takes back the pages that are not needed. Without holes a page's content is
/// its position.
static void taken_back(struct ring_fixture *fixture, uint32_t kept) {
    esk_ring_take_back(&fixture->ring, kept, fixture->page);
    fixture->appended = fixture->ring.head;
    ring_fixture_check(fixture, 0);
}

ESK_TEST(ring_takes_back_whole_blocks_and_writes_them_again) {
    for (uint32_t kept = KEPT - PAGES; kept <= KEPT; kept++) {
        for (uint32_t torn = 0; torn < 10 * PAGES; torn++) {
            struct ring_fixture fixture;
            bool overwrites = torn % 3 == 0;
            ESK_CONTEXT("%u kept, %u torn", kept, torn);
            fixture_make(&fixture, overwrites, kept, torn);
            uint32_t tail = fixture.ring.tail;
            uint32_t from = esk_ring_block_from(&fixture.ring, kept);
            taken_back(&fixture, kept);
            ESK_CHECK_INT(fixture.ring.head,
                          from < kept + torn ? from : kept + torn);
            ESK_CHECK_INT(fixture.ring.tail, tail);
            ring_fixture_mount(&fixture);
            ESK_CHECK_INT(fixture.ring.head, fixture.appended);
            esk_ring_drop(&fixture.ring, tail - tail % PAGES + PAGES);
            ring_fixture_append_many(&fixture, 1);
            ring_fixture_mount(&fixture);
            ring_fixture_check(&fixture, 0);
            ESK_CHECK_INT(fixture.ring.head, fixture.appended);
            ring_fixture_end(&fixture);
        }
    }
}

ESK_TEST(ring_takes_back_no_more_blocks_than_a_mount_searches_past) {
    struct ring_fixture fixture;
    uint32_t torn = 60 * PAGES;
    fixture_make(&fixture, false, KEPT, torn);
    uint32_t head = fixture.ring.head;
    uint32_t gap = fixture.ring.tail + LONG * PAGES - head;
    for (uint32_t again = 0; again < 4; again++) {
        taken_back(&fixture, KEPT);
        uint32_t back = head - fixture.ring.head;
        ESK_CHECK(back > 28 * PAGES);
        ESK_CHECK(back + gap <= (esk_ring_window(&fixture.ring) + 1u) * PAGES);
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, fixture.appended);
    }
    ring_fixture_end(&fixture);
}

/// Takes back, with a cut at operation `cut`, and then again.
static void cut_run(bool overwrites, uint8_t mode, uint32_t cut) {
    struct ring_fixture fixture;
    ESK_CONTEXT("overwrites %d, mode %u, cut of operation %u", overwrites, mode,
                cut);
    fixture_make(&fixture, overwrites, KEPT, 6 * PAGES);
    uint32_t from = esk_ring_block_from(&fixture.ring, KEPT);
    esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim) + cut,
                   (enum esk_sim_cut_mode)mode);
    esk_ring_take_back(&fixture.ring, KEPT, fixture.page);
    ESK_CHECK(!esk_sim_is_on(fixture.sim) && fixture.ring.head > from);
    esk_sim_power_on(fixture.sim);
    uint32_t tail = fixture.ring.tail;
    ring_fixture_mount(&fixture);
    esk_ring_drop(&fixture.ring, tail); /* as the ring's owner does */
    taken_back(&fixture, KEPT);
    ESK_CHECK_INT(fixture.ring.head, from);
    ring_fixture_append_many(&fixture, PAGES + 1);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, from + PAGES + 1);
    esk_ring_drop(&fixture.ring, tail);
    ring_fixture_check(&fixture, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_takes_back_the_rest_after_a_cut_at_any_operation) {
    for (uint8_t mode = ESK_SIM_CUT_BEFORE; mode < ESK_SIM_CUT_DRAWN; mode++) {
        for (uint32_t cut = 0; cut < 6; cut++) {
            cut_run(false, mode, cut);
        }
        for (uint32_t cut = 0; cut < 6 * PAGES; cut++) {
            cut_run(true, mode, cut);
        }
    }
}

ESK_TEST(ring_takes_back_nothing_below_a_block_that_fails) {
    for (uint8_t marked = 0; marked < 2; marked++) {
        struct ring_fixture fixture;
        fixture_make(&fixture, false, KEPT, 6 * PAGES);
        uint32_t failing = KEPT - KEPT % PAGES + 4 * PAGES;
        uint32_t block = esk_ring_page(&fixture.ring, failing) / PAGES;
        const struct esk_device *device = fixture.volume.device;
        if (marked != 0) {
            ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
        } else {
            esk_sim_block_fail(fixture.sim, block);
        }
        esk_ring_take_back(&fixture.ring, KEPT, fixture.page);
        ESK_CHECK_INT(fixture.ring.head, failing + PAGES);
        ring_fixture_append_many(&fixture, 1);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST_MAIN()
