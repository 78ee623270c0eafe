// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mistakes of a programmer: a core with assertions reports them.
#include "pool/pool.h"
#include "test/harness/ring_fixture.h"

#if ESK_ASSERTS

enum { PAGE_BYTES = 64, FRAMES = 2 };

static uint32_t memory[ESK_POOL_BYTES(PAGE_BYTES, FRAMES, 1) / 4 + 1];

static int load(void *context, uint32_t tag, uint8_t *page) {
    (void)context;
    memset(page, (int)tag, PAGE_BYTES);
    return ESK_OK;
}

static void pool_pin(struct esk_pool *pool, uint32_t tag, uint8_t *frame) {
    uint8_t *page = NULL;
    ESK_CHECK_INT(esk_pool_pin(pool, tag, 0, load, NULL, &page, frame), ESK_OK);
}

ESK_TEST(pool_asserts_that_a_pin_is_given_back_once) {
    struct esk_pool pool;
    uint8_t frame = 0;
    esk_pool_init(&pool, memory, PAGE_BYTES, FRAMES);
    pool_pin(&pool, 7, &frame);
    esk_pool_unpin(&pool, frame);
    ESK_CHECK_ASSERTS(esk_pool_unpin(&pool, frame));
    ESK_CHECK_ASSERTS(esk_pool_unpin(&pool, FRAMES));
    ESK_CHECK_ASSERTS(esk_pool_hold(&pool, frame));
    ESK_CHECK_INT(esk_pool_pins(&pool), 0);
}

ESK_TEST(pool_asserts_that_only_a_pinned_frame_gets_another_page) {
    struct esk_pool pool;
    uint8_t frame = 0;
    esk_pool_init(&pool, memory, PAGE_BYTES, FRAMES);
    pool_pin(&pool, 7, &frame);
    esk_pool_unpin(&pool, frame);
    ESK_CHECK_ASSERTS(esk_pool_tag(&pool, frame, 8));
    ESK_CHECK_ASSERTS(esk_pool_rename(&pool, frame, 7, 8));
    ESK_CHECK_ASSERTS(pool_pin(&pool, ESK_POOL_TAG_NONE, &frame));
}

ESK_TEST(pool_asserts_its_memory_and_frames) {
    struct esk_pool pool;
    ESK_CHECK_ASSERTS(esk_pool_init(&pool, NULL, PAGE_BYTES, FRAMES));
    ESK_CHECK_ASSERTS(
        esk_pool_init(&pool, (uint8_t *)memory + 1, PAGE_BYTES, FRAMES - 1));
    ESK_CHECK_ASSERTS(esk_pool_init(&pool, memory, PAGE_BYTES, 0));
}

ESK_TEST(ring_asserts_its_invariants_and_counts) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    struct esk_ring *ring = &fixture.ring;
    ESK_CHECK_ASSERTS(esk_ring_append(
        ring, fixture.page, (uint16_t)(esk_ring_room(ring) + 1u), 0, NULL));
    ring->tail = ring->head + 1;
    ESK_CHECK_ASSERTS(esk_ring_reserve(ring));
    ring->tail = ring->head;
    ESK_CHECK_INT(esk_ring_reserve(ring), ESK_OK);
    ring_fixture_end(&fixture);
}

ESK_TEST(region_asserts_that_a_program_stays_inside) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    const struct esk_region *region = &fixture.ring.region;
    esk_page_id end = region->first_page + region->pages;
    ESK_CHECK_ASSERTS(esk_region_program(region, end, fixture.page, 0, 128));
    ESK_CHECK_ASSERTS(
        esk_region_program(region, end - 1, fixture.page, 0, 129));
    ESK_CHECK_ASSERTS(esk_region_program(region, end - 1, fixture.page, 8, 8));
    ESK_CHECK_ASSERTS(esk_region_erase(region, FIRST + BLOCKS));
    ring_fixture_end(&fixture);
}

#endif

ESK_TEST_MAIN()
