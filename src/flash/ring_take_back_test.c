// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring that takes back what a cut left of a change: blocks that nothing
/// needs are erased and written again, at the same positions.
#include "flash/ring.h"

#include "test/harness/ring_rig.h"

enum { LONG = 40, KEPT = LONG * PAGES + 5 };

static const struct esk_geometry nand = ESK_NAND(LONG + FIRST, PAGES, 128);
static const struct esk_geometry card = ESK_CARD(LONG + FIRST, PAGES, 128);

/// A refusing ring of LONG blocks, `kept` pages that are needed, of which
/// some blocks are dropped, and `torn` that are not; mounted anew.
static void rig_make(struct ring_rig *rig, bool overwrites, uint32_t kept,
                     uint32_t torn) {
    ring_rig_start(rig, overwrites ? &card : &nand);
    rig->config.blocks = LONG;
    rig->config.refuse = true;
    ring_rig_mount(rig);
    for (uint32_t i = 0; i < kept + torn; i++) {
        if (rig->ring.head >= LONG * PAGES) {
            esk_ring_drop(&rig->ring, rig->ring.head - (LONG - 1) * PAGES);
        }
        ring_rig_append_many(rig, 1);
    }
    ring_rig_mount(rig);
    ESK_CHECK_INT(rig->ring.head, kept + torn);
}

/// Takes back what is not needed. Without holes a page's content is where it
/// is.
static void taken_back(struct ring_rig *rig, uint32_t kept) {
    esk_ring_take_back(&rig->ring, kept, rig->page);
    rig->appended = rig->ring.head;
    ring_rig_check(rig, 0);
}

ESK_TEST(ring_takes_back_whole_blocks_and_writes_them_again) {
    for (uint32_t kept = KEPT - PAGES; kept <= KEPT; kept++) {
        for (uint32_t torn = 0; torn < 10 * PAGES; torn++) {
            struct ring_rig rig;
            bool overwrites = torn % 3 == 0;
            ESK_CONTEXT("%u kept, %u torn", kept, torn);
            rig_make(&rig, overwrites, kept, torn);
            uint32_t tail = rig.ring.tail;
            uint32_t from = esk_ring_block_from(&rig.ring, kept);
            taken_back(&rig, kept);
            ESK_CHECK_INT(rig.ring.head,
                          from < kept + torn ? from : kept + torn);
            ESK_CHECK_INT(rig.ring.tail, tail);
            ring_rig_mount(&rig);
            ESK_CHECK_INT(rig.ring.head, rig.appended);
            esk_ring_drop(&rig.ring, tail - tail % PAGES + PAGES);
            ring_rig_append_many(&rig, 1);
            ring_rig_mount(&rig);
            ring_rig_check(&rig, 0);
            ESK_CHECK_INT(rig.ring.head, rig.appended);
            ring_rig_end(&rig);
        }
    }
}

ESK_TEST(ring_takes_back_no_more_blocks_than_a_mount_looks_past) {
    struct ring_rig rig;
    uint32_t torn = 20 * PAGES;
    rig_make(&rig, false, KEPT, torn);
    uint32_t head = rig.ring.head;
    uint32_t gap = rig.ring.tail + LONG * PAGES - head;
    for (uint32_t again = 0; again < 4; again++) {
        taken_back(&rig, KEPT);
        uint32_t back = head - rig.ring.head;
        ESK_CHECK(back > 8 * PAGES);
        ESK_CHECK(back + gap <= (ESK_RING_GAP_MAX + 1) * PAGES);
        ring_rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, rig.appended);
    }
    ring_rig_end(&rig);
}

/// Takes back, is cut at operation `cut` of that, and does it again.
static void cut_run(bool overwrites, uint8_t mode, uint32_t cut) {
    struct ring_rig rig;
    ESK_CONTEXT("overwrites %d, mode %u, cut of operation %u", overwrites, mode,
                cut);
    rig_make(&rig, overwrites, KEPT, 6 * PAGES);
    uint32_t from = esk_ring_block_from(&rig.ring, KEPT);
    esk_sim_cut_at(rig.sim, esk_sim_op_count(rig.sim) + cut,
                   (enum esk_sim_cut_mode)mode);
    esk_ring_take_back(&rig.ring, KEPT, rig.page);
    ESK_CHECK(!esk_sim_is_on(rig.sim) && rig.ring.head > from);
    esk_sim_power_on(rig.sim);
    ring_rig_mount(&rig);
    taken_back(&rig, KEPT);
    ESK_CHECK_INT(rig.ring.head, from);
    ring_rig_append_many(&rig, PAGES + 1);
    ring_rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, from + PAGES + 1);
    ring_rig_check(&rig, 0);
    ring_rig_end(&rig);
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
        struct ring_rig rig;
        rig_make(&rig, false, KEPT, 6 * PAGES);
        uint32_t failing = KEPT - KEPT % PAGES + 4 * PAGES;
        uint32_t block = esk_ring_page(&rig.ring, failing) / PAGES;
        const struct esk_device *device = rig.volume.device;
        if (marked != 0) {
            ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
        } else {
            esk_sim_block_fail(rig.sim, block);
        }
        esk_ring_take_back(&rig.ring, KEPT, rig.page);
        ESK_CHECK_INT(rig.ring.head, failing + PAGES);
        ring_rig_append_many(&rig, 1);
        ring_rig_end(&rig);
    }
}

ESK_TEST_MAIN()
