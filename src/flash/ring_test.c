// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/ring.h"

#include "flash/device_page.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { PAGES = 4, BLOCKS = 6, FIRST = 2, UNIT = 4, ALL = PAGES * BLOCKS };

/// A ring on a simulator, with no volume but its fields.
struct rig {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_ring_stats stats;
    struct esk_ring_config config;
    struct esk_ring ring;
    uint32_t appended; ///< pages so far: the next one's content
    bool refused;      ///< the last append
    uint8_t page[4096];
};

static const struct esk_geometry nor = ESK_NOR(BLOCKS + FIRST, PAGES, 128);

static void rig_mount(struct rig *rig) {
    memset(&rig->stats, 0, sizeof rig->stats);
    rig->volume.rings = NULL;
    ESK_CHECK_INT(esk_ring_mount(&rig->ring, &rig->volume, &rig->config,
                                 &rig->stats, rig->page),
                  ESK_OK);
}

static void rig_start(struct rig *rig, const struct esk_geometry *geometry) {
    struct esk_sim_config config = {.geometry = *geometry, .dirty = true};
    memset(rig, 0, sizeof *rig);
    ESK_CHECK_INT(esk_sim_create(&rig->sim, &config), ESK_OK);
    rig->volume.device = esk_sim_device(rig->sim);
    rig->config = (struct esk_ring_config){.block = FIRST,
                                           .blocks = BLOCKS,
                                           .seed = 7,
                                           .unit = UNIT,
                                           .kind = ESK_PAGE_DATA,
                                           .table = 1,
                                           .ahead = 1};
    rig_mount(rig);
}

static void rig_end(struct rig *rig) {
    ESK_CHECK_TEXT(esk_sim_violation(rig->sim), "");
    esk_sim_destroy(rig->sim);
}

/// Appends a page that says how many there were before it.
static int append(struct rig *rig, uint32_t *position) {
    esk_store_u32(rig->page + ESK_ENVELOPE_BYTES, rig->appended);
    int status = esk_ring_append(&rig->ring, rig->page, 1, 0, position);
    rig->appended += status == ESK_OK;
    rig->refused = status != ESK_OK;
    return status;
}

static void append_many(struct rig *rig, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(append(rig, NULL), ESK_OK);
    }
}

/// Every position of tail .. head reads back, but for `holes`, in the order
/// of appending and up to the newest. (A page whose program was said to fail
/// may prove itself all the same; then it is there twice.)
static void check_readable(struct rig *rig, uint32_t holes) {
    uint32_t missing = 0;
    uint32_t next = 0;
    for (uint32_t at = rig->ring.tail; at < rig->ring.head; at++) {
        int status = esk_ring_read(&rig->ring, at, rig->page, true);
        if (status != ESK_OK) {
            missing++;
            continue;
        }
        ESK_CHECK_INT(esk_page_sequence(rig->page), at);
        uint32_t content = esk_load_u32(rig->page + ESK_ENVELOPE_BYTES);
        ESK_CHECK(content + 1 >= next);
        next = content + 1;
    }
    ESK_CHECK(missing <= holes);
    /* What was refused may be there. */
    ESK_CHECK(next == rig->appended || rig->ring.tail == rig->ring.head ||
              (rig->refused && next == rig->appended + 1));
}

ESK_TEST(ring_starts_empty_on_a_medium_full_of_garbage) {
    struct rig rig;
    rig_start(&rig, &nor);
    ESK_CHECK_INT(rig.ring.head, 0);
    ESK_CHECK_INT(rig.ring.tail, 0);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_NOT_FOUND);
    rig_end(&rig);
}

ESK_TEST(ring_append_returns_rising_positions_that_read_back) {
    struct rig rig;
    rig_start(&rig, &nor);
    for (uint32_t i = 0; i < 10; i++) {
        uint32_t position = 99;
        ESK_CHECK_INT(append(&rig, &position), ESK_OK);
        ESK_CHECK_INT(position, i);
    }
    check_readable(&rig, 0);
    ESK_CHECK_INT(rig.stats.programs, 10);
    ESK_CHECK_INT(rig.stats.erases, 3);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 10, rig.page, true), ESK_NOT_FOUND);
    rig_end(&rig);
}

ESK_TEST(ring_wraps_and_drops_the_oldest_block) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, ALL);
    ESK_CHECK_INT(rig.ring.tail, 0);
    append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.tail, PAGES);
    append_many(&rig, 5 * ALL);
    ESK_CHECK_INT(rig.ring.tail, 5 * ALL + PAGES);
    check_readable(&rig, 0);
    rig_end(&rig);
}

ESK_TEST(ring_that_refuses_is_full_after_one_lap_until_rows_are_dropped) {
    struct rig rig;
    rig_start(&rig, &nor);
    rig.ring.refuse = true;
    append_many(&rig, ALL);
    ESK_CHECK_INT(append(&rig, NULL), ESK_FULL);
    ESK_CHECK_INT(rig.ring.tail, 0);
    esk_ring_drop(&rig.ring, PAGES - 1);
    ESK_CHECK_INT(append(&rig, NULL), ESK_FULL);
    esk_ring_drop(&rig.ring, PAGES);
    append_many(&rig, PAGES);
    ESK_CHECK_INT(append(&rig, NULL), ESK_FULL);
    check_readable(&rig, 0);
    rig_end(&rig);
}

ESK_TEST(ring_drop_moves_the_tail_up_only_and_not_past_the_head) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 6);
    esk_ring_drop(&rig.ring, 3);
    ESK_CHECK_INT(rig.ring.tail, 3);
    esk_ring_drop(&rig.ring, 2);
    ESK_CHECK_INT(rig.ring.tail, 3);
    ESK_CHECK_INT(esk_ring_read(&rig.ring, 2, rig.page, true), ESK_NOT_FOUND);
    esk_ring_drop(&rig.ring, 100);
    ESK_CHECK_INT(rig.ring.tail, 6);
    rig_end(&rig);
}

ESK_TEST(ring_mount_finds_head_and_tail_after_any_number_of_pages) {
    struct rig rig;
    for (uint32_t count = 0; count <= 3 * ALL; count++) {
        ESK_CONTEXT("%u pages", count);
        rig_start(&rig, &nor);
        append_many(&rig, count);
        uint32_t tail = rig.ring.tail;
        rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, count);
        /* Where the next block begins is no reason to give rows up yet. */
        ESK_CHECK_INT(rig.ring.tail, tail);
        check_readable(&rig, 0);
        append_many(&rig, 2);
        check_readable(&rig, 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_mount_costs_a_logarithm_of_the_blocks) {
    struct esk_geometry large = nor;
    struct rig rig;
    large.block_count = 1024 + FIRST;
    rig_start(&rig, &large);
    for (uint32_t block = 0; block < large.block_count; block++) {
        ESK_CHECK_INT(rig.volume.device->ops->erase(rig.volume.device, block),
                      ESK_OK);
    }
    rig.config.blocks = 1024;
    rig_mount(&rig);
    append_many(&rig, 3000);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 3000);
    ESK_CONTEXT("%u reads", rig.stats.reads);
    ESK_CHECK(rig.stats.reads <= 2 * 10 + 2 + 8 + 40);
    rig_end(&rig);
}

ESK_TEST(ring_mount_starts_at_the_tail_hint) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 10);
    rig.config.tail_hint = 7;
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.tail, 7);
    ESK_CHECK_INT(rig.ring.head, 10);
    rig_end(&rig);
}

ESK_TEST(ring_with_a_tail_hint_and_no_page_begins_a_block) {
    static const uint32_t hints[][2] = {{8, 8}, {9, 12}, {0, 0}, {21, 24}};
    for (int i = 0; i < 4; i++) {
        struct rig rig;
        rig_start(&rig, &nor);
        rig.config.tail_hint = hints[i][0];
        rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, hints[i][1]);
        ESK_CHECK_INT(rig.ring.tail, hints[i][1]);
        append_many(&rig, 9);
        check_readable(&rig, 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_mount_believes_a_tail_hint_above_every_page) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 5);
    rig.config.tail_hint = 6;
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 6);
    ESK_CHECK_INT(rig.ring.tail, 6);
    rig_end(&rig);
}

ESK_TEST(ring_of_another_seed_kind_or_table_sees_no_old_page) {
    for (int change = 0; change < 3; change++) {
        struct rig rig;
        ESK_CONTEXT("change %d", change);
        rig_start(&rig, &nor);
        append_many(&rig, 2 * ALL);
        rig.config.seed += change == 0;
        rig.config.kind = (uint8_t)(rig.config.kind + (change == 1));
        rig.config.table = (uint8_t)(rig.config.table + (change == 2));
        rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, 0);
        append_many(&rig, ALL + 3);
        check_readable(&rig, 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_mount_passes_over_pages_that_a_cut_tore) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 5);
    esk_sim_cut_at(rig.sim, esk_sim_op_count(rig.sim), ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(append(&rig, NULL) < 0);
    esk_sim_power_on(rig.sim);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 6);
    append_many(&rig, 6);
    check_readable(&rig, 1);
    rig_end(&rig);
}

ESK_TEST(ring_mount_writes_a_torn_page_again_where_that_is_allowed) {
    struct esk_geometry sd = nor;
    struct rig rig;
    sd.flags = ESK_MEDIUM_OVERWRITE;
    rig_start(&rig, &sd);
    append_many(&rig, 5);
    esk_sim_cut_at(rig.sim, esk_sim_op_count(rig.sim), ESK_SIM_CUT_ALL_BUT_ONE);
    ESK_CHECK(append(&rig, NULL) < 0);
    esk_sim_power_on(rig.sim);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 5);
    append_many(&rig, 3);
    check_readable(&rig, 0);
    rig_end(&rig);
}

ESK_TEST(ring_mount_is_not_fooled_by_damaged_pages_or_blocks) {
    for (uint32_t first = 0; first < 12; first++) {
        struct rig rig;
        uint8_t zero[128] = {0};
        ESK_CONTEXT("two blocks' pages damaged from position %u", first);
        rig_start(&rig, &nor);
        append_many(&rig, 22);
        for (uint32_t at = first; at < first + 2 * PAGES; at++) {
            ESK_CHECK_INT(esk_sim_poke(rig.sim, esk_ring_page(&rig.ring, at), 0,
                                       zero, sizeof zero),
                          ESK_OK);
        }
        rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, 22);
        check_readable(&rig, rig.ring.tail == 0 ? 2 * PAGES : 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_mount_passes_over_pages_that_the_medium_cannot_read) {
    struct esk_sim_config config = {.geometry = nor, .ecc_bits = 1};
    struct rig rig;
    struct rig with_ecc;
    rig_start(&rig, &nor);
    with_ecc = rig;
    ESK_CHECK_INT(esk_sim_create(&with_ecc.sim, &config), ESK_OK);
    with_ecc.volume.device = esk_sim_device(with_ecc.sim);
    rig_mount(&with_ecc);
    append_many(&with_ecc, 9);
    for (uint32_t at = 0; at < 8; at += 4) {
        ESK_CHECK_INT(esk_sim_flip_random(with_ecc.sim,
                                          esk_ring_page(&with_ecc.ring, at), 5),
                      ESK_OK);
    }
    rig_mount(&with_ecc);
    ESK_CHECK_INT(with_ecc.ring.head, 9);
    ESK_CHECK_INT(esk_ring_read(&with_ecc.ring, 4, with_ecc.page, true),
                  ESK_E_CORRUPT);
    rig_end(&with_ecc);
    rig_end(&rig);
}

ESK_TEST(ring_read_tells_erased_from_damaged_and_unreadable) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 3);
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
    rig_end(&rig);
}

ESK_TEST(ring_seals_leave_a_page_open_and_readable_after_a_reboot) {
    struct rig rig;
    rig_start(&rig, &nor);
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
    rig_end(&rig);
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
        struct esk_geometry geometry = nor;
        struct rig rig;
        ESK_CONTEXT("case %zu", i);
        geometry.program_bytes = cases[i].program_bytes;
        geometry.programs_per_page_max = cases[i].programs_max;
        rig_start(&rig, &geometry);
        ESK_CHECK_INT(esk_ring_can_seal(&rig.ring, cases[i].count),
                      cases[i].can);
        rig_end(&rig);
    }
}

ESK_TEST(ring_seals_keep_programs_for_completing_the_page) {
    for (uint8_t most = 4; most <= 9; most++) {
        struct esk_geometry geometry = nor;
        struct rig rig;
        uint16_t count = 1;
        ESK_CONTEXT("%u programs a page", most);
        geometry.programs_per_page_max = most;
        rig_start(&rig, &geometry);
        for (; esk_ring_can_seal(&rig.ring, count); count++) {
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, count, 0), ESK_OK);
        }
        ESK_CHECK_INT(rig.ring.open_seals, (most - 2) / 2);
        ESK_CHECK_INT(esk_ring_append(&rig.ring, rig.page, count, 0, NULL),
                      ESK_OK);
        rig_end(&rig);
    }
}

ESK_TEST(ring_completes_a_sealed_page_in_whole_program_units) {
    static const uint8_t units[] = {2, 4, 8};
    for (int i = 0; i < 3; i++) {
        struct esk_geometry geometry = nor;
        struct rig rig;
        ESK_CONTEXT("program unit %u", units[i]);
        geometry.program_bytes = units[i];
        rig_start(&rig, &geometry);
        rig.config.unit = 5;
        rig_mount(&rig);
        ESK_CHECK(esk_ring_can_seal(&rig.ring, 8));
        ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 8, 0), ESK_OK);
        ESK_CHECK_INT(esk_ring_append(&rig.ring, rig.page, 11, 0, NULL),
                      ESK_OK);
        ESK_CHECK_INT(esk_ring_read(&rig.ring, 0, rig.page, true), ESK_OK);
        ESK_CHECK_INT(esk_page_count(rig.page), 11);
        rig_end(&rig);
    }
}

ESK_TEST(ring_page_takes_no_more_seals_than_it_counts) {
    struct esk_geometry geometry = nor;
    struct rig rig;
    geometry.page_bytes = 4096;
    rig_start(&rig, &geometry);
    rig.ring.open_seals = 249;
    ESK_CHECK(esk_ring_can_seal(&rig.ring, 1));
    rig.ring.open_seals = 250;
    ESK_CHECK(!esk_ring_can_seal(&rig.ring, 1));
    rig_end(&rig);
}

ESK_TEST(ring_passes_over_bad_blocks) {
    struct rig rig;
    rig_start(&rig, &nor);
    const struct esk_device *device = rig.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 3), ESK_OK);
    for (uint32_t i = 0; i < 3 * ALL; i++) {
        ESK_CONTEXT("page %u", i);
        ESK_CHECK_INT(append(&rig, NULL), ESK_OK);
        struct esk_ring kept = rig.ring;
        rig_mount(&rig);
        ESK_CHECK_INT(rig.ring.head, kept.head);
        rig.ring = kept;
        rig.volume.rings = &rig.ring;
    }
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 24), 28);
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 25), 26);
    ESK_CHECK_INT(esk_ring_skip(&rig.ring, 28), 29);
    ESK_CHECK(rig.stats.blocks_skipped > 0 || rig.stats.erases == 0);
    rig_end(&rig);
}

ESK_TEST(ring_with_only_bad_blocks_is_worn) {
    struct rig rig;
    rig_start(&rig, &nor);
    const struct esk_device *device = rig.volume.device;
    for (uint32_t block = FIRST; block < FIRST + BLOCKS; block++) {
        ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
    }
    ESK_CHECK_INT(append(&rig, NULL), ESK_E_WORN);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, 0);
    rig_end(&rig);
}

ESK_TEST(ring_marks_a_block_bad_that_fails_to_erase_and_goes_on) {
    struct rig rig;
    bool bad = false;
    rig_start(&rig, &nor);
    const struct esk_device *device = rig.volume.device;
    esk_sim_block_fail(rig.sim, FIRST + 1);
    append_many(&rig, 2 * PAGES);
    ESK_CHECK_INT(rig.ring.head, 3 * PAGES);
    ESK_CHECK_INT(rig.stats.erase_failures, 1);
    ESK_CHECK_INT(device->ops->block_is_bad(device, FIRST + 1, &bad), ESK_OK);
    ESK_CHECK(bad);
    check_readable(&rig, PAGES);
    rig_end(&rig);
}

ESK_TEST(ring_gives_a_block_up_whose_page_fails_to_program) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 2);
    struct esk_sim_failures failures = {.program = {.burst_length = 1}};
    esk_sim_failures_set(rig.sim, &failures);
    append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    ESK_CHECK_INT(rig.stats.program_failures, 1);
    check_readable(&rig, 2);
    rig_end(&rig);
}

ESK_TEST(ring_seals_again_on_another_page_when_a_seal_fails) {
    struct rig rig;
    rig_start(&rig, &nor);
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
    rig_end(&rig);
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
    struct rig rig;
    rig_start(&rig, &nor);
    struct esk_device device = unmarked(rig.volume.device);
    rig.volume.device = &device;
    append_many(&rig, 1);
    struct esk_sim_failures one = {.program = {.burst_length = 1}};
    esk_sim_failures_set(rig.sim, &one);
    append_many(&rig, 1);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    check_readable(&rig, 3);
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, PAGES + 1);
    check_readable(&rig, 3);
    rig_end(&rig);
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
        struct rig rig;
        bool done = true;
        rig_start(&rig, &nor);
        const struct esk_device *real = rig.volume.device;
        struct esk_device device = unmarked(real);
        ESK_CONTEXT("marks %d", marks);
        if (marks == 0) {
            rig.volume.device = &device;
        }
        append_many(&rig, 3);
        struct esk_sim_failures failures = {.program = {.every = 1},
                                            .erase = {.every = 1}};
        esk_sim_failures_set(rig.sim, &failures);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(append(&rig, NULL), ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_WORN);
            ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
            ESK_CHECK(!done);
        }
        ESK_CHECK_INT(bad_blocks(real), marks == 0 ? 0 : 4);
        esk_sim_failures_set(rig.sim, NULL);
        rig_mount(&rig);
        check_readable(&rig, PAGES);
        ESK_CHECK_INT(append(&rig, NULL), ESK_OK);
        check_readable(&rig, ALL);
        rig_end(&rig);
    }
}

ESK_TEST(ring_on_a_dead_bus_uses_up_nothing) {
    /* At a block's beginning, its middle, and with nothing erased ahead. */
    for (uint32_t before = 1; before <= 2 * ALL; before++) {
        struct rig rig;
        bool done = false;
        ESK_CONTEXT("%u pages before", before);
        rig_start(&rig, &nor);
        append_many(&rig, before);
        struct esk_ring kept = rig.ring;
        esk_sim_power_off(rig.sim);
        for (int calls = 0; calls < 20; calls++) {
            ESK_CHECK_INT(append(&rig, NULL), ESK_E_IO);
            ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_IO);
            ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_E_IO);
        }
        ESK_CHECK_INT(rig.ring.head, kept.head);
        ESK_CHECK_INT(rig.ring.tail, kept.tail);
        ESK_CHECK_INT(rig.ring.ready, kept.ready);
        esk_sim_power_on(rig.sim);
        check_readable(&rig, 0);
        append_many(&rig, PAGES + 1);
        ESK_CHECK_INT(rig.ring.head, before + PAGES + 1);
        check_readable(&rig, 0);
        ESK_CHECK_INT(bad_blocks(rig.volume.device), 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_passes_over_what_failed_transfers_left_and_marks_nothing) {
    for (uint32_t every = 3; every <= 9; every++) {
        for (uint32_t burst = 0; burst <= 8; burst++) {
            struct rig rig;
            uint32_t refused = 0;
            ESK_CONTEXT("each %u-th transfer fails, and %u in a row", every,
                        burst);
            rig_start(&rig, &nor);
            struct esk_sim_failures failures = {
                .transfer = {.every = every,
                             .burst_start = every,
                             .burst_length = burst}};
            esk_sim_failures_set(rig.sim, &failures);
            for (uint32_t i = 0; i < 2 * ALL; i++) {
                int status = append(&rig, NULL);
                ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
                refused += status != ESK_OK;
                check_readable(&rig, ALL);
                if (i % 5 == 4) {
                    rig_mount(&rig);
                    check_readable(&rig, ALL);
                }
            }
            /* Four in a row refuse a call, or two erases. */
            ESK_CHECK(refused <= burst / 2 + 1);
            ESK_CHECK_INT(bad_blocks(rig.volume.device), 0);
            rig_end(&rig);
        }
    }
}

ESK_TEST(ring_step_erases_ahead_and_no_further) {
    struct rig rig;
    bool done = false;
    rig_start(&rig, &nor);
    rig.ring.ahead = 2;
    for (int i = 0; i < 4; i++) {
        ESK_CONTEXT("step %d", i);
        ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, i < 2);
    }
    append_many(&rig, 2 * PAGES);
    ESK_CHECK_INT(rig.stats.erases, 2);
    rig_end(&rig);
}

ESK_TEST(ring_step_drops_what_it_erases_unless_the_ring_refuses) {
    for (int refuse = 0; refuse < 2; refuse++) {
        struct rig rig;
        bool done = false;
        rig_start(&rig, &nor);
        rig.ring.refuse = refuse == 1;
        append_many(&rig, ALL);
        ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
        ESK_CHECK_INT(done, refuse == 0);
        ESK_CHECK_INT(rig.ring.tail, refuse == 0 ? PAGES : 0);
        check_readable(&rig, 0);
        rig_end(&rig);
    }
}

ESK_TEST(ring_step_passes_over_a_block_that_turns_bad_before_its_turn) {
    struct rig rig;
    bool done = false;
    rig_start(&rig, &nor);
    const struct esk_device *device = rig.volume.device;
    append_many(&rig, 1);
    ESK_CHECK_INT(esk_ring_step(&rig.ring, &done), ESK_OK);
    ESK_CHECK(done);
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST + 1), ESK_OK);
    append_many(&rig, PAGES);
    ESK_CHECK_INT(rig.ring.head, 2 * PAGES + 1);
    rig_end(&rig);
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
        struct rig rig;
        ESK_CONTEXT("case %zu", i);
        rig_start(&rig, &nor);
        append_many(&rig, 5);
        esk_ring_pass(&rig.ring, cases[i].to);
        ESK_CHECK_INT(rig.ring.head, cases[i].head);
        ESK_CHECK_INT(rig.ring.tail, cases[i].tail);
        append_many(&rig, 6);
        rig_end(&rig);
    }
}

ESK_TEST(ring_pass_takes_an_empty_ring_anywhere) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 5);
    esk_ring_drop(&rig.ring, 5);
    esk_ring_pass(&rig.ring, 1001);
    ESK_CHECK_INT(rig.ring.head, 1004);
    ESK_CHECK_INT(rig.ring.tail, 1004 - ALL);
    append_many(&rig, 6);
    rig_end(&rig);
}

ESK_TEST(ring_ends_before_positions_go_round) {
    struct rig rig;
    rig_start(&rig, &nor);
    uint32_t last = esk_ring_position_max(&rig.ring) / ALL * ALL;
    rig.config.tail_hint = last - 8;
    rig_mount(&rig);
    int status = ESK_OK;
    for (uint32_t i = 0; i < 2 * ALL && status == ESK_OK; i++) {
        status = append(&rig, NULL);
    }
    ESK_CHECK_INT(status, ESK_E_LIMIT);
    uint32_t head = rig.ring.head;
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.head, head);
    ESK_CHECK_INT(append(&rig, NULL), ESK_E_LIMIT);
    rig_end(&rig);
}

ESK_TEST(ring_mounted_read_only_programs_nothing) {
    struct rig rig;
    rig_start(&rig, &nor);
    append_many(&rig, 3);
    rig.volume.flags = ESK_MOUNT_READ_ONLY;
    uint64_t ops = esk_sim_op_count(rig.sim);
    ESK_CHECK_INT(append(&rig, NULL), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_ring_seal(&rig.ring, rig.page, 1, 0), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_sim_op_count(rig.sim), ops);
    check_readable(&rig, 0);
    rig_end(&rig);
}

ESK_TEST(ring_never_keeps_more_ahead_than_it_can_spare) {
    struct rig rig;
    rig_start(&rig, &nor);
    rig.config.ahead = 8;
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.ahead, BLOCKS - 2);
    rig.config.blocks = 2;
    rig_mount(&rig);
    ESK_CHECK_INT(rig.ring.ahead, 0);
    rig_end(&rig);
}

ESK_TEST(ring_unmount_leaves_the_volume_list_in_any_order) {
    struct rig rig;
    struct esk_ring second;
    struct esk_ring third;
    struct esk_ring none;
    rig_start(&rig, &nor);
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
    rig_end(&rig);
}

ESK_TEST(device_block_without_a_readable_mark_counts_as_good) {
    struct rig rig;
    rig_start(&rig, &nor);
    const struct esk_device *device = rig.volume.device;
    ESK_CHECK_INT(device->ops->block_mark_bad(device, FIRST), ESK_OK);
    ESK_CHECK(esk_device_block_is_bad(device, FIRST));
    esk_sim_power_off(rig.sim);
    ESK_CHECK(!esk_device_block_is_bad(device, FIRST));
    rig_end(&rig);
}

ESK_TEST_MAIN()
