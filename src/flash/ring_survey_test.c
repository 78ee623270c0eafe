// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring by reading every block, beside the mount that searches.
#include "flash/ring.h"

#include "test/harness/ring_fixture.h"

enum { WIDE = 80 }; ///< blocks of a ring that is longer than two windows

/// Mounts a copy of the fixture's ring by reading every block.
static int survey(struct ring_fixture *fixture, struct esk_ring *ring) {
    memset(&fixture->stats, 0, sizeof fixture->stats);
    return esk_ring_survey(ring, &fixture->volume, &fixture->config,
                           &fixture->stats, fixture->page);
}

/// Mounts in both ways: the rings must be equal.
static void both_mount(struct ring_fixture *fixture) {
    struct esk_ring ring;
    ESK_CHECK_INT(survey(fixture, &ring), ESK_OK);
    ring_fixture_mount(fixture);
    ESK_CHECK_INT(ring.head, fixture->ring.head);
    ESK_CHECK_INT(ring.tail, fixture->ring.tail);
    ESK_CHECK_INT(ring.ready, fixture->ring.ready);
    ESK_CHECK_INT(ring.lap, fixture->ring.lap);
    ESK_CHECK_INT(ring.room, fixture->ring.room);
}

static void start_wide(struct ring_fixture *fixture) {
    static const struct esk_geometry wide = ESK_NOR(WIDE + FIRST, PAGES, 128);
    ring_fixture_start(fixture, &wide);
    fixture->config.blocks = WIDE;
    ring_fixture_mount(fixture);
}

ESK_TEST(ring_survey_finds_what_a_mount_finds_after_any_number_of_pages) {
    static const uint8_t erased[] = {0xFF, 0};
    for (uint8_t i = 0; i < 2; i++) {
        struct esk_geometry geometry = ring_fixture_nor;
        geometry.erased_value = erased[i];
        for (uint32_t count = 0; count <= 3 * ALL; count++) {
            struct ring_fixture fixture;
            bool done = false;
            ESK_CONTEXT("erased value %u, %u pages", erased[i], count);
            ring_fixture_start(&fixture, &geometry);
            ring_fixture_append_many(&fixture, count);
            both_mount(&fixture);
            ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
            both_mount(&fixture);
            fixture.config.tail_hint = fixture.ring.tail + count % 9;
            both_mount(&fixture);
            fixture.config.tail_hint = fixture.ring.head + 1;
            both_mount(&fixture);
            ring_fixture_end(&fixture);
        }
    }
}

/// With blocks of one page the first page is the last one.
ESK_TEST(ring_survey_reads_blocks_of_few_pages) {
    for (uint16_t pages = 1; pages <= 3; pages++) {
        const struct esk_geometry geometry =
            ESK_NOR(BLOCKS + FIRST, pages, 128);
        struct ring_fixture fixture;
        ring_fixture_start(&fixture, &geometry);
        for (uint32_t i = 0; i < 4 * ALL; i++) {
            ESK_CONTEXT("%u pages a block, %u pages", pages, i);
            both_mount(&fixture);
            ring_fixture_append_many(&fixture, 1);
        }
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_survey_finds_what_a_mount_finds_after_cuts) {
    for (uint64_t seed = 1; seed <= (esk_test_is_deep() ? 200 : 20); seed++) {
        struct ring_fixture fixture;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        for (uint32_t cut = 0; cut < 60; cut++) {
            ESK_CONTEXT("seed %u, cut %u", (unsigned)seed, cut);
            esk_sim_seed_set(fixture.sim, seed * 1000 + cut);
            esk_sim_cut_at(fixture.sim,
                           esk_sim_op_count(fixture.sim) + (cut * seed) % 11,
                           ESK_SIM_CUT_DRAWN);
            while (ring_fixture_append(&fixture, NULL) == ESK_OK) {
            }
            esk_sim_power_on(fixture.sim);
            /* A block whose erase was cut reads differently each time. */
            struct esk_ring ring;
            ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
            ring_fixture_mount(&fixture);
            ESK_CHECK_INT(ring.head, fixture.ring.head);
            ESK_CHECK_INT(ring.ready, fixture.ring.ready);
            ESK_CHECK(ring.tail / PAGES <= fixture.ring.tail / PAGES + 1);
            fixture.ring = ring;
            ring_fixture_check(&fixture, ALL);
        }
        ring_fixture_end(&fixture);
    }
}

/// Overwrites `count` pages from number `first` of the region on with `value`.
static void pages_damage(struct ring_fixture *fixture, uint32_t first,
                         uint32_t count, uint8_t value) {
    uint8_t bytes[128];
    memset(bytes, value, sizeof bytes);
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(esk_sim_poke(fixture->sim, FIRST * PAGES + first + i, 0,
                                   bytes, sizeof bytes),
                      ESK_OK);
    }
}

ESK_TEST(ring_survey_finds_pages_behind_damaged_runs_of_any_length) {
    static const uint8_t values[] = {0xFF, 0, 0x5A};
    for (uint32_t blocks = 1; blocks < WIDE - 1; blocks++) {
        struct ring_fixture fixture;
        struct esk_ring ring;
        ESK_CONTEXT("%u blocks", blocks);
        start_wide(&fixture);
        ring_fixture_append_many(&fixture, WIDE * PAGES - 2);
        pages_damage(&fixture, (WIDE - 1 - blocks) * PAGES, blocks * PAGES,
                     values[blocks % 3]);
        ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
        ESK_CHECK_INT(ring.head, WIDE * PAGES - 2);
        ESK_CHECK_INT(ring.tail, 0);
        ring_fixture_end(&fixture);
    }
}

/// A device that reads one bit of a header wrong, once.
static struct esk_device misread;
static struct esk_device_ops misread_ops;
static const struct esk_device_ops *misread_behind;
static esk_page_id misread_page;
static uint8_t misread_bit;

static int misread_read(const struct esk_device *device, esk_page_id page,
                        uint16_t offset, void *buffer, uint16_t bytes) {
    int status = misread_behind->read(device, page, offset, buffer, bytes);
    if (page == misread_page && offset == 0 && bytes == ESK_ENVELOPE_BYTES) {
        ((uint8_t *)buffer)[misread_bit / 8u] ^=
            (uint8_t)(1u << (misread_bit % 8u));
        misread_page = ESK_PAGE_NONE;
    }
    return status;
}

/// The header says another position than the page, which is valid.
ESK_TEST(ring_survey_believes_the_page_when_its_header_was_read_wrong) {
    struct ring_fixture fixture;
    struct esk_ring ring;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 2 * ALL + 3 * PAGES);
    misread = *fixture.volume.device;
    misread_behind = misread.ops;
    misread_ops = *misread.ops;
    misread_ops.read = misread_read;
    misread.ops = &misread_ops;
    fixture.volume.device = &misread;
    for (uint32_t page = 0; page < ALL; page++) {
        for (uint8_t bit = 0; bit < 8 * ESK_ENVELOPE_BYTES; bit++) {
            ESK_CONTEXT("bit %u of page %u", bit, page);
            misread_page = FIRST * PAGES + page;
            misread_bit = bit;
            ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
            ESK_CHECK_INT(ring.head, fixture.ring.head);
        }
    }
    ring_fixture_end(&fixture);
}

/// A copy of a page on another place is no page of that place, however new.
ESK_TEST(ring_survey_does_not_believe_a_page_of_another_place) {
    for (uint32_t at = 0; at < ALL - PAGES; at += PAGES) {
        struct ring_fixture fixture;
        struct esk_ring ring;
        ESK_CONTEXT("a copy at page %u", at);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, ALL);
        ESK_CHECK_INT(esk_region_peek(&fixture.ring.region,
                                      esk_ring_page(&fixture.ring, ALL - PAGES),
                                      0, fixture.page, 128),
                      ESK_OK);
        ESK_CHECK_INT(
            esk_sim_poke(fixture.sim, FIRST * PAGES + at, 0, fixture.page, 128),
            ESK_OK);
        ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
        ESK_CHECK_INT(ring.head, ALL);
        ESK_CHECK_INT(ring.tail, 0);
        ring_fixture_end(&fixture);
    }
}

/// The newest page is between damaged ones, of which some look older or newer.
ESK_TEST(ring_survey_finds_the_newest_page_between_damaged_ones) {
    static const uint8_t bits[] = {0, 3, 64, 65, 66, 69, 200};
    for (uint32_t i = 0; i < sizeof bits; i++) {
        for (uint32_t lap = 0; lap < 2; lap++) {
            struct ring_fixture fixture;
            struct esk_ring ring;
            uint32_t start = (lap * BLOCKS + 2) * PAGES;
            ESK_CONTEXT("bit %u, lap %u", bits[i], lap);
            ring_fixture_start(&fixture, &ring_fixture_nor);
            ring_fixture_append_many(&fixture, start + 3);
            for (uint32_t at = 0; at < 3; at += 2) {
                ESK_CHECK_INT(esk_sim_flip(fixture.sim,
                                           (FIRST + 2) * PAGES + at, bits[i]),
                              ESK_OK);
            }
            ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
            ESK_CHECK_INT(ring.head, start + 3);
            ring_fixture_end(&fixture);
        }
    }
}

/// All pages of the newest block but the last one look erased.
ESK_TEST(ring_survey_finds_the_newest_page_behind_blank_ones) {
    for (uint32_t lost = 0; lost < PAGES; lost++) {
        for (uint32_t block = 0; block < 2 * BLOCKS; block++) {
            struct ring_fixture fixture;
            uint32_t start = block * PAGES;
            ESK_CONTEXT("block %u, %u pages lost", block, lost);
            ring_fixture_start(&fixture, &ring_fixture_nor);
            ring_fixture_append_many(&fixture, start + lost + 1);
            pages_damage(&fixture, start % ALL, lost, 0xFF);
            both_mount(&fixture);
            ESK_CHECK_INT(fixture.ring.head, start + lost + 1);
            ring_fixture_end(&fixture);
        }
    }
}

/// A block of which only the first page was programmed, and that is damaged.
ESK_TEST(ring_survey_does_not_reuse_the_place_of_a_damaged_newest_page) {
    for (uint32_t lap = 0; lap < 2; lap++) {
        struct ring_fixture fixture;
        struct esk_ring ring;
        uint32_t blocks = lap * BLOCKS;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, blocks * PAGES + 1);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, FIRST * PAGES, 150), ESK_OK);
        ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
        ESK_CHECK_INT(ring.head, blocks * PAGES + 1);
        ring_fixture_end(&fixture);
    }
}

/// Pages of a table that was here before are not valid, also when they claim to
/// be newer.
ESK_TEST(ring_survey_skips_pages_of_a_table_that_was_here_before) {
    struct ring_fixture fixture;
    struct esk_ring ring;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 3 * ALL);
    fixture.config.seed++;
    ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
    ESK_CHECK_INT(ring.head, 0);
    fixture.ring = ring;
    fixture.appended = 0;
    ring_fixture_append_many(&fixture, PAGES + 1);
    both_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, PAGES + 1);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_survey_reads_two_headers_a_block) {
    struct ring_fixture fixture;
    struct esk_ring ring;
    start_wide(&fixture);
    for (uint32_t count = 0; count < 3; count++) {
        ring_fixture_append_many(&fixture, WIDE * PAGES);
        ESK_CHECK_INT(survey(&fixture, &ring), ESK_OK);
        ESK_CHECK(fixture.stats.headers <= 2 * WIDE + 4 * PAGES);
        ESK_CHECK(fixture.stats.reads <= 9);
    }
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_survey_fails_when_the_bus_is_down) {
    struct ring_fixture fixture;
    struct esk_ring ring;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, ALL);
    esk_sim_power_off(fixture.sim);
    ESK_CHECK_INT(survey(&fixture, &ring), ESK_E_IO);
    esk_sim_power_on(fixture.sim);
    both_mount(&fixture);
    ring_fixture_end(&fixture);
}

ESK_TEST_MAIN()
