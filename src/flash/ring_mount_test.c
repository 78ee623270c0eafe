// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a ring: head and tail, whatever is on the medium.
#include "flash/ring.h"

#include "test/harness/ring_fixture.h"

ESK_TEST(ring_mount_finds_head_and_tail_after_any_number_of_pages) {
    struct ring_fixture fixture;
    for (uint32_t count = 0; count <= 3 * ALL; count++) {
        ESK_CONTEXT("%u pages", count);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, count);
        uint32_t tail = fixture.ring.tail;
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, count);
        /* The start of the next block is no reason to drop rows yet. */
        ESK_CHECK_INT(fixture.ring.tail, tail);
        ring_fixture_check(&fixture, 0);
        ring_fixture_append_many(&fixture, 2);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_costs_a_logarithm_of_the_blocks) {
    struct esk_geometry large = ring_fixture_nor;
    struct ring_fixture fixture;
    large.block_count = 1024 + FIRST;
    ring_fixture_start(&fixture, &large);
    for (uint32_t block = 0; block < large.block_count; block++) {
        ESK_CHECK_INT(
            fixture.volume.device->ops->erase(fixture.volume.device, block),
            ESK_OK);
    }
    fixture.config.blocks = 1024;
    ring_fixture_mount(&fixture);
    ring_fixture_append_many(&fixture, 3000);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 3000);
    ESK_CONTEXT("%u reads", fixture.stats.reads);
    ESK_CHECK(fixture.stats.reads <= 2 * 10 + 2 + 8 + 40);
    ring_fixture_end(&fixture);
}

/// Also where an erased page reads as one that begins at position 0.
ESK_TEST(ring_mount_finds_the_tail_behind_what_was_erased_ahead) {
    static const uint8_t erased[] = {0xFF, 0};
    for (uint8_t i = 0; i < 2; i++) {
        struct ring_fixture fixture;
        struct esk_geometry geometry = ring_fixture_nor;
        bool done = false;
        ESK_CONTEXT("erased value %u", erased[i]);
        geometry.erased_value = erased[i];
        ring_fixture_start(&fixture, &geometry);
        ring_fixture_append_many(&fixture, (BLOCKS - 1) * PAGES + 1);
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.tail, 0);
        ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
        ESK_CHECK(done);
        ESK_CHECK_INT(fixture.ring.tail, PAGES);
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.tail, PAGES);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

/// The only block with pages is not the first one that a mount reads, and its
/// first page is lost: a program that was cut, or damage.
ESK_TEST(ring_mount_of_few_blocks_finds_pages_behind_one_that_looks_erased) {
    for (uint32_t blocks = 2; blocks <= 3; blocks++) {
        struct ring_fixture fixture;
        uint8_t blank[128];
        bool done = true;
        ESK_CONTEXT("%u blocks", blocks);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        fixture.config.blocks = blocks;
        fixture.config.refuse = true;
        fixture.config.ahead = (uint8_t)(blocks - 1);
        ring_fixture_mount(&fixture);
        ring_fixture_append_many(&fixture, PAGES + 3);
        esk_ring_drop(&fixture.ring, PAGES + 2);
        while (done) {
            ESK_CHECK_INT(esk_ring_step(&fixture.ring, &done), ESK_OK);
        }
        memset(blank, 0xFF, sizeof blank);
        for (uint32_t lost = PAGES; lost < PAGES + 2; lost++) {
            ESK_CHECK_INT(esk_sim_poke(fixture.sim, FIRST * PAGES + lost, 0,
                                       blank, sizeof blank),
                          ESK_OK);
            ring_fixture_mount(&fixture);
            ESK_CHECK_INT(fixture.ring.head, PAGES + 3);
            ring_fixture_check(&fixture, 2);
        }
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_starts_at_the_tail_hint) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 10);
    fixture.config.tail_hint = 7;
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.tail, 7);
    ESK_CHECK_INT(fixture.ring.head, 10);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_with_a_tail_hint_and_no_page_begins_a_block) {
    static const uint32_t hints[][2] = {{8, 8}, {9, 12}, {0, 0}, {21, 24}};
    for (int i = 0; i < 4; i++) {
        struct ring_fixture fixture;
        ring_fixture_start(&fixture, &ring_fixture_nor);
        fixture.config.tail_hint = hints[i][0];
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, hints[i][1]);
        ESK_CHECK_INT(fixture.ring.tail, hints[i][1]);
        ring_fixture_append_many(&fixture, 9);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_accepts_a_tail_hint_above_every_page) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 5);
    fixture.config.tail_hint = 6;
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 8); /* no block is begun in the middle */
    ESK_CHECK_INT(fixture.ring.tail, 8);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_of_another_seed_kind_or_table_sees_no_old_page) {
    for (int change = 0; change < 3; change++) {
        struct ring_fixture fixture;
        ESK_CONTEXT("change %d", change);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, 2 * ALL);
        fixture.config.seed += change == 0;
        fixture.config.kind = (uint8_t)(fixture.config.kind + (change == 1));
        fixture.config.table = (uint8_t)(fixture.config.table + (change == 2));
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, 0);
        ring_fixture_append_many(&fixture, ALL + 3);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

/// A page of zeros has the sequence of position 0, and was not begun.
ESK_TEST(ring_mount_of_zeros_finds_no_page) {
    static const uint8_t zeros[4096];
    for (uint32_t count = 1; count <= PAGES; count++) {
        struct ring_fixture fixture;
        ESK_CONTEXT("%u pages", count);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        for (uint32_t i = 0; i < count; i++) {
            ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                       esk_ring_page(&fixture.ring, i), 0,
                                       zeros, ring_fixture_nor.page_bytes),
                          ESK_OK);
        }
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, 0);
        ring_fixture_append_many(&fixture, ALL + 3);
        ring_fixture_check(&fixture, 0);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_skips_torn_pages) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 5);
    esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim),
                   ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(ring_fixture_append(&fixture, NULL) < 0);
    esk_sim_power_on(fixture.sim);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 6);
    ring_fixture_append_many(&fixture, 6);
    ring_fixture_check(&fixture, 1);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_mount_leaves_a_torn_page_alone_where_pages_are_overwritten) {
    struct esk_geometry sd = ring_fixture_nor;
    struct ring_fixture fixture;
    sd.flags = ESK_MEDIUM_OVERWRITE;
    ring_fixture_start(&fixture, &sd);
    ring_fixture_append_many(&fixture, 5);
    esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim),
                   ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(ring_fixture_append(&fixture, NULL) < 0);
    esk_sim_power_on(fixture.sim);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 6);
    ring_fixture_append_many(&fixture, 3);
    ring_fixture_check(&fixture, 1);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_mount_is_not_fooled_by_damaged_pages_or_blocks) {
    for (uint32_t first = 0; first < 12; first++) {
        struct ring_fixture fixture;
        uint8_t zero[128] = {0};
        ESK_CONTEXT("two blocks' pages damaged from position %u", first);
        ring_fixture_start(&fixture, &ring_fixture_nor);
        ring_fixture_append_many(&fixture, 22);
        for (uint32_t at = first; at < first + 2 * PAGES; at++) {
            ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                       esk_ring_page(&fixture.ring, at), 0,
                                       zero, sizeof zero),
                          ESK_OK);
        }
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, 22);
        ring_fixture_check(&fixture, fixture.ring.tail == 0 ? 2 * PAGES : 0);
        ring_fixture_end(&fixture);
    }
}

/// Mounts the ring of `geometry` after `whole` blocks were overwritten with
/// `value`, and behind them all pages but the newest of the newest block, which
/// has the number `block`.
static void newest_check(const struct esk_geometry *geometry, uint32_t block,
                         uint32_t whole, uint32_t damaged, uint8_t value) {
    struct ring_fixture fixture;
    uint8_t bytes[128];
    uint32_t start = block * geometry->block_pages;
    ESK_CONTEXT("flags %u, block %u, %u blocks and %u pages of %02X",
                geometry->flags, (unsigned)block, (unsigned)whole,
                (unsigned)damaged, value);
    memset(bytes, value, sizeof bytes);
    ring_fixture_start(&fixture, geometry);
    for (uint32_t i = 0; i < geometry->block_count; i++) {
        ESK_CHECK_INT(
            fixture.volume.device->ops->erase(fixture.volume.device, i),
            ESK_OK);
    }
    ring_fixture_mount(&fixture);
    ring_fixture_append_many(&fixture, start + damaged + 1);
    for (uint32_t at = start - whole * geometry->block_pages;
         at < start + damaged; at++) {
        ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                   esk_ring_page(&fixture.ring, at), 0, bytes,
                                   sizeof bytes),
                      ESK_OK);
    }
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, start + damaged + 1);
    ring_fixture_end(&fixture);
}

static const struct esk_geometry large_media[] = {
    ESK_NOR(BLOCKS + FIRST, 4 * PAGES, 128),
    ESK_CARD(BLOCKS + FIRST, 4 * PAGES, 128)};
static const uint8_t lost_values[] = {0, 0x5A, 0xFF};

/// The pages of the newest block may all be lost but one, and look erased.
ESK_TEST(ring_mount_finds_the_newest_page_behind_damaged_ones_of_its_block) {
    for (uint32_t i = 0; i < 6; i++) {
        const struct esk_geometry *geometry = &large_media[i % 2];
        for (uint32_t lost = 1; lost < 4 * PAGES - 1; lost++) {
            newest_check(geometry, 2, 0, lost, lost_values[i / 2]);
            newest_check(geometry, 0, 0, lost, lost_values[i / 2]);
            newest_check(geometry, BLOCKS + 2, 0, lost, lost_values[i / 2]);
        }
    }
}

/// So may whole blocks before it. In the first lap nothing tells damage from
/// blocks that were never written, if they look alike: these are left out.
ESK_TEST(ring_mount_finds_the_newest_page_where_a_run_of_damage_ends) {
    for (uint32_t i = 0; i < 6; i++) {
        const struct esk_geometry *geometry = &large_media[i % 2];
        uint8_t value = lost_values[i / 2];
        for (uint32_t whole = 1; whole <= 3; whole++) {
            for (uint32_t lost = 1; lost < 4 * PAGES - 1; lost++) {
                newest_check(geometry, BLOCKS + 2, whole, lost, value);
                if (value != 0xFF && i % 2 == 0) {
                    newest_check(geometry, 4, whole, lost, value);
                }
            }
        }
    }
}

ESK_TEST(ring_mount_finds_the_newest_page_behind_bytes_like_a_header) {
    static const struct esk_geometry large =
        ESK_NOR(BLOCKS + FIRST, 4 * PAGES, 128);
    for (uint32_t damaged = 1; damaged < 4 * PAGES - 1; damaged++) {
        struct ring_fixture fixture;
        uint8_t other[128];
        uint32_t start = 8 * PAGES;
        ESK_CONTEXT("%u pages damaged", (unsigned)damaged);
        ring_fixture_start(&fixture, &large);
        ring_fixture_append_many(&fixture, start + damaged + 1);
        for (uint32_t at = start; at < start + damaged; at++) {
            esk_page_id page = esk_ring_page(&fixture.ring, at);
            ESK_CHECK_INT(esk_sim_peek(fixture.sim, page, other), ESK_OK);
            esk_store_u32(other + ESK_ENVELOPE_SEQUENCE,
                          at + 999 * esk_ring_pages(&fixture.ring));
            ESK_CHECK_INT(
                esk_sim_poke(fixture.sim, page, 0, other, sizeof other),
                ESK_OK);
        }
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, start + damaged + 1);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_searches_between_lost_pages_and_one_of_a_lap_ago) {
    static const struct esk_geometry card =
        ESK_CARD(BLOCKS + FIRST, 2 * PAGES, 128);
    for (uint32_t lost = 1; lost < 2 * PAGES - 2; lost++) {
        struct ring_fixture fixture;
        uint8_t blank[128];
        uint8_t old[128];
        uint32_t start = 2 * ALL + 4 * PAGES; /* a block of the second lap */
        ESK_CONTEXT("%u pages lost", (unsigned)lost);
        ring_fixture_start(&fixture, &card);
        ring_fixture_append_many(&fixture, start);
        /* The page that is still on a card whose erase does nothing. */
        esk_page_id last = esk_ring_page(&fixture.ring, start + 2 * PAGES - 1);
        ESK_CHECK_INT(esk_sim_peek(fixture.sim, last, old), ESK_OK);
        ring_fixture_append_many(&fixture, 2 * PAGES - 1);
        ESK_CHECK_INT(esk_sim_poke(fixture.sim, last, 0, old, sizeof old),
                      ESK_OK);
        memset(blank, card.erased_value, sizeof blank);
        for (uint32_t at = start; at < start + lost; at++) {
            ESK_CHECK_INT(esk_sim_poke(fixture.sim,
                                       esk_ring_page(&fixture.ring, at), 0,
                                       blank, sizeof blank),
                          ESK_OK);
        }
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, start + 2 * PAGES - 1);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mount_skips_pages_that_the_medium_cannot_read) {
    struct esk_sim_config config = {.geometry = ring_fixture_nor,
                                    .ecc_bits = 1};
    struct ring_fixture fixture;
    struct ring_fixture with_ecc;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    with_ecc = fixture;
    ESK_CHECK_INT(esk_sim_create(&with_ecc.sim, &config), ESK_OK);
    with_ecc.volume.device = esk_sim_device(with_ecc.sim);
    ring_fixture_mount(&with_ecc);
    ring_fixture_append_many(&with_ecc, 9);
    for (uint32_t at = 0; at < 8; at += 4) {
        ESK_CHECK_INT(esk_sim_flip_random(with_ecc.sim,
                                          esk_ring_page(&with_ecc.ring, at), 5),
                      ESK_OK);
    }
    ring_fixture_mount(&with_ecc);
    ESK_CHECK_INT(with_ecc.ring.head, 9);
    ESK_CHECK_INT(esk_ring_read(&with_ecc.ring, 4, with_ecc.page, true),
                  ESK_E_CORRUPT);
    ring_fixture_end(&with_ecc);
    ring_fixture_end(&fixture);
}

/// Blocks of 4 KiB: a window has ESK_RING_WINDOW_BLOCKS of them.
enum { WIDE = 48, WIDE_PAGE = 1024, FILLS = 3 };

/// Contents of a run of damaged blocks.
enum run_content { RUN_BLANK, RUN_ZERO, RUN_RANDOM, RUN_CONTENTS };

/// Damages `count` pages of the ring's region, from number `first` on.
static void pages_damage(struct ring_fixture *fixture, uint32_t first,
                         uint32_t count, enum run_content content) {
    static uint8_t bytes[WIDE_PAGE];
    const struct esk_region *region = &fixture->ring.region;
    uint16_t size = esk_envelope_page_bytes(&region->envelope);
    uint32_t pages =
        fixture->config.blocks * esk_region_geometry(region)->block_pages;
    uint32_t random = 12345;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = (first + i) % pages;
        for (size_t b = 0; b < size; b++) {
            random = random * 1664525u + 1013904223u;
            bytes[b] = content == RUN_BLANK  ? 0xFF
                       : content == RUN_ZERO ? 0
                                             : (uint8_t)(random >> 24);
        }
        ESK_CHECK_INT(
            esk_sim_poke(fixture->sim, region->first_page + at, 0, bytes, size),
            ESK_OK);
    }
}

static void run_damage(struct ring_fixture *fixture, uint32_t block,
                       uint32_t blocks, enum run_content content) {
    pages_damage(fixture, block * PAGES, blocks * PAGES, content);
}

/// Checks a mount after a run of blocks from `block` on was damaged: every
/// readable page is in tail .. head.
static void run_check(const struct ring_fixture *whole, uint32_t block,
                      uint32_t blocks) {
    struct ring_fixture fixture = *whole;
    uint8_t page[4096];
    uint32_t newest = UINT32_MAX;
    memset(&fixture.stats, 0, sizeof fixture.stats);
    for (uint32_t at = whole->ring.tail; at < whole->ring.head; at++) {
        uint32_t in = (at / PAGES) % WIDE;
        if ((in + WIDE - block) % WIDE >= blocks) {
            newest = at;
        }
    }
    ring_fixture_mount(&fixture);
    if (newest == UINT32_MAX) {
        return; /* all of it is lost */
    }
    ESK_CHECK(fixture.ring.head > newest);
    ESK_CHECK(fixture.ring.tail <= newest);
    for (uint32_t at = whole->ring.tail; at <= newest; at++) {
        uint32_t in = (at / PAGES) % WIDE;
        if ((in + WIDE - block) % WIDE >= blocks) {
            ESK_CHECK_INT(esk_ring_read(&fixture.ring, at, page, true), ESK_OK);
        }
    }
}

ESK_TEST(ring_mount_finds_all_around_a_run_of_damaged_blocks) {
    static const uint32_t fills[FILLS] = {WIDE * PAGES - 17, WIDE * PAGES * 2,
                                          WIDE * PAGES * 3 + 70};
    static const struct esk_geometry geometries[] = {
        ESK_NOR(WIDE + FIRST, PAGES, WIDE_PAGE),
        ESK_CARD(WIDE + FIRST, PAGES, WIDE_PAGE)};
    uint32_t stride = esk_test_stride(4);
    for (uint32_t kind = 0; kind < 2 * FILLS; kind++) {
        struct ring_fixture fixture;
        struct esk_sim *damaged = NULL;
        ring_fixture_start(&fixture, &geometries[kind % 2]);
        fixture.config.blocks = WIDE;
        ring_fixture_mount(&fixture);
        ring_fixture_append_many(&fixture, fills[kind / 2]);
        ESK_CHECK_INT(esk_sim_clone(&damaged, fixture.sim), ESK_OK);
        struct ring_fixture with = fixture;
        with.sim = damaged;
        with.volume.device = esk_sim_device(damaged);
        with.ring.region.volume = &with.volume;
        for (uint32_t blocks = 1; blocks <= ESK_RING_WINDOW_BLOCKS; blocks++) {
            uint32_t block = blocks % stride;
            for (; block < WIDE; block += stride) {
                enum run_content content =
                    (enum run_content)((block + blocks) % RUN_CONTENTS);
                ESK_CONTEXT("medium %u, %u pages, %u blocks from %u as %d",
                            kind % 2, fills[kind / 2], blocks, block,
                            (int)content);
                esk_sim_restore(damaged, fixture.sim);
                run_damage(&with, block, blocks, content);
                run_check(&with, block, blocks);
            }
        }
        esk_sim_destroy(damaged);
        ring_fixture_end(&fixture);
    }
}

/// Fills a block, then blocks that are bad or damaged, `run` of them, and some
/// pages of the next one, of which the first `lost` are damaged.
static void head_hide(struct ring_fixture *fixture, bool bad, uint32_t run,
                      uint32_t lost) {
    const struct esk_device *device = fixture->volume.device;
    ring_fixture_append_many(fixture, PAGES);
    for (uint32_t i = 1; bad && i <= run; i++) {
        ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + i), ESK_OK);
    }
    ring_fixture_append_many(fixture, (bad ? 0 : run * PAGES) + lost + 1);
    if (!bad) {
        run_damage(fixture, 1, run, RUN_RANDOM);
    }
    pages_damage(fixture, (1 + run) * PAGES, lost, RUN_RANDOM);
}

/// The append that would erase such a block finds its page: it was refused for
/// good.
ESK_TEST(ring_mount_finds_the_newest_page_behind_lost_ones_after_a_run) {
    const struct esk_geometry geometry = ESK_NOR(WIDE + FIRST, PAGES, 1024);
    for (uint32_t i = 0; i < 2 * PAGES * (ESK_RING_WINDOW_BLOCKS + 1); i++) {
        struct ring_fixture fixture;
        bool bad = i % 2 == 1;
        uint32_t lost = i / 2 % PAGES;
        uint32_t run = i / 2 / PAGES;
        ESK_CONTEXT("%u blocks %s, %u pages lost", (unsigned)run,
                    bad ? "bad" : "damaged", (unsigned)lost);
        ring_fixture_start(&fixture, &geometry);
        fixture.config.blocks = WIDE;
        ring_fixture_mount(&fixture);
        head_hide(&fixture, bad, run, lost);
        uint32_t head = fixture.ring.head;
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, head);
        ring_fixture_append_many(&fixture, 2 * PAGES);
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_append_stops_at_newer_pages_that_a_longer_run_hid) {
    struct ring_fixture fixture;
    struct esk_geometry wide = ESK_NOR(2 * WIDE + FIRST, PAGES, WIDE_PAGE);
    uint32_t hidden = (8 + ESK_RING_WINDOW_BLOCKS + 4) * PAGES;
    ring_fixture_start(&fixture, &wide);
    fixture.config.blocks = 2 * WIDE;
    ring_fixture_mount(&fixture);
    ring_fixture_append_many(&fixture, hidden + 9);
    run_damage(&fixture, 8, hidden / PAGES - 8, RUN_BLANK);
    ring_fixture_mount(&fixture);
    ESK_CHECK_INT(fixture.ring.head, 8 * PAGES);
    int status = ESK_OK;
    uint32_t appended = 0;
    while (status == ESK_OK && appended < hidden) {
        status = ring_fixture_append(&fixture, NULL);
        appended += status == ESK_OK ? 1 : 0;
    }
    ESK_CHECK_INT(status, ESK_E_CORRUPT);
    ESK_CHECK_INT(fixture.ring.head, hidden);
    ring_fixture_mount(&fixture); /* the run is shorter now */
    ESK_CHECK_INT(fixture.ring.head, hidden + 9);
    ring_fixture_end(&fixture);
}

ESK_TEST(ring_reads_few_headers_of_a_block_before_it_erases_it) {
    struct ring_fixture fixture;
    struct esk_geometry wide = ESK_NOR(WIDE + FIRST, PAGES, WIDE_PAGE);
    ring_fixture_start(&fixture, &wide);
    fixture.config.blocks = WIDE;
    run_damage(&fixture, 0, WIDE, RUN_BLANK);
    ring_fixture_mount(&fixture);
    for (uint32_t headers = 2; headers > 0; headers--) {
        fixture.stats.headers = 0;
        ring_fixture_append_many(&fixture, WIDE * PAGES);
        ESK_CHECK_INT(fixture.stats.headers, WIDE * headers);
    }
    ring_fixture_end(&fixture);
}

/// Of a few damaged blocks, the last one too, a mount reads every header, of
/// the others as many as of a blank block.
ESK_TEST(ring_mount_reads_few_headers_of_a_damaged_oldest_run) {
    enum { LONG = 64, RUN = ESK_RING_WINDOW_BLOCKS, WHOLE = 4 };
    struct esk_geometry geometry = ESK_NOR(WIDE + FIRST, LONG, 128);
    for (enum run_content content = 0; content < RUN_CONTENTS; content++) {
        struct ring_fixture fixture;
        ESK_CONTEXT("content %d", (int)content);
        ring_fixture_start(&fixture, &geometry);
        fixture.config.blocks = WIDE;
        ring_fixture_mount(&fixture);
        ring_fixture_append_many(&fixture, WIDE * LONG * 2 + 9);
        uint32_t block = fixture.ring.tail / LONG % WIDE;
        pages_damage(&fixture, block * LONG, RUN * LONG, content);
        ring_fixture_mount(&fixture);
        ESK_CHECK_INT(fixture.ring.head, WIDE * LONG * 2 + 9);
        /* The run is read when the origin is searched, and for the tail. */
        ESK_CHECK(fixture.stats.headers <=
                  2 * (WHOLE * LONG + (RUN + 1) * (ESK_RING_PROBES + 1)));
        ring_fixture_end(&fixture);
    }
}

ESK_TEST(ring_mounted_read_only_programs_nothing) {
    struct ring_fixture fixture;
    ring_fixture_start(&fixture, &ring_fixture_nor);
    ring_fixture_append_many(&fixture, 3);
    fixture.volume.flags = ESK_MOUNT_READ_ONLY;
    uint64_t ops = esk_sim_op_count(fixture.sim);
    ESK_CHECK_INT(ring_fixture_append(&fixture, NULL), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_ring_seal(&fixture.ring, fixture.page, 1, 0),
                  ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), ops);
    ring_fixture_check(&fixture, 0);
    ring_fixture_end(&fixture);
}

ESK_TEST_MAIN()
