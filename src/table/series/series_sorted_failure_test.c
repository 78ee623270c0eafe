// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series with a sorted index on media that fail, are damaged or lose power:
/// queries return the rows that a scan returns.
#include "test/harness/sorted_log.h"

static struct esk_sorted_level *level(uint8_t number) {
    return &fixture.series->sorting->index.levels[number];
}

/// Rows are appended until level 1 has a run, and level 0 one.
static void append_runs(void) {
    append(1000);
    while (level(1)->count == 0 || level(0)->count == 0) {
        append(1);
    }
}

/// Erases the block of device page `page`.
static void block_lose(esk_page_id page) {
    uint32_t block = page / fixture_nor.block_pages;
    const struct esk_device *device = esk_sim_device(fixture.sim);
    ESK_CHECK_INT(device->ops->erase(device, block), ESK_OK);
}

/// The newest data blocks are lost, and a durable run has their pages. Rows
/// that come after a mount must not be on positions that the run is taken for
/// by a later mount.
ESK_TEST(series_sorted_mount_does_not_use_positions_of_a_run_again) {
    for (uint32_t more = 0; more < 60; more += 12) {
        ESK_CONTEXT("%u pages more", more);
        start(&fixture_nor, &spec);
        append_runs();
        while (fixture.series->sorting->index.frozen > 0) {
            append(1);
        }
        append(more * 30);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        const struct esk_ring *ring = &fixture.series->data;
        uint32_t head = ring->head;
        uint32_t covered = 0;
        for (uint8_t i = 0; i < level(0)->count; i++) {
            covered =
                level(0)->runs[i].span.first + level(0)->runs[i].span.count;
        }
        for (uint8_t i = 0; i < 3; i++) {
            block_lose(esk_ring_page(ring, head - 1u - i * 8u));
        }
        /* The summary's log would be evidence, too. */
        const struct esk_ring *log = &fixture.series->log.ring;
        for (uint32_t at = log->tail; at < log->head; at++) {
            block_lose(esk_ring_page(log, at));
        }
        reboot();
        ESK_CHECK(fixture.series->data.head >= covered);
        row_count += 1000; /* keys that the lost rows did not have */
        append(31);
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        reboot();
        ask_many(10);
        append(900);
        reboot();
        ask_many(30);
        scan_make();
        for (uint32_t i = 0; i < scan.count; i++) {
            int32_t value = value_of(scan.numbers[i]);
            ask_one(&ways[0], value, value);
        }
        fixture_end(&fixture);
    }
}

/// Cuts the power at each of `count` operations.
static void cut(const struct esk_geometry *geometry, uint32_t count) {
    struct esk_sim *whole = NULL;
    start(geometry, &spec);
    append(2000);
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    uint32_t rows = row_count;
    uint64_t first = esk_sim_op_count(fixture.sim);
    for (uint64_t at = first; at < first + count; at++) {
        ESK_CONTEXT("operation %u", (unsigned)at);
        esk_sim_restore(fixture.sim, whole);
        row_count = rows;
        fixture_reboot(&fixture);
        esk_sim_seed_set(fixture.sim, at);
        esk_sim_cut_at(fixture.sim, at, ESK_SIM_CUT_DRAWN);
        while (esk_sim_is_on(fixture.sim)) {
            (void)append_one();
        }
        reboot();
        ask_many(4);
        append(500);
        ask_many(4);
        reboot();
        ask_many(4);
        check();
    }
    esk_sim_destroy(whole);
    fixture_end(&fixture);
}

ESK_TEST(series_sorted_answers_hold_after_power_loss) {
    cut(&fixture_nor, esk_test_repeats(50, 400));
    cut(&fixture_sd, esk_test_repeats(15, 200));
}

/// Each page of the index is damaged, one after another.
ESK_TEST(series_sorted_answers_hold_with_any_page_damaged) {
    struct esk_sim *whole = NULL;
    start(&fixture_nor, &spec);
    append_runs();
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    uint32_t rows = row_count;
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        uint32_t head = level(i)->ring.head;
        for (uint32_t at = level(i)->ring.tail; at < head; at++) {
            ESK_CONTEXT("level %u, page %u", i, at);
            struct esk_series_report report;
            esk_sim_restore(fixture.sim, whole);
            row_count = rows;
            reboot();
            ESK_CHECK_INT(esk_sim_flip(fixture.sim,
                                       esk_ring_page(&level(i)->ring, at), 500),
                          ESK_OK);
            ask_many(3);
            ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_OK);
            ESK_CHECK_INT(report.index_damaged, 1);
            reboot();
            ask_many(3);
            append(300);
            ask_many(3);
        }
    }
    esk_sim_destroy(whole);
    fixture_end(&fixture);
}

/// Data pages that a mount cannot read are readable later: a query finds their
/// rows, whatever was added to the index in between.
ESK_TEST(series_sorted_query_finds_rows_that_were_not_readable) {
    start(&fixture_nor, &spec);
    append_runs();
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    uint32_t next = fixture.series->sorting->index.first;
    uint32_t end = fixture.series->data.head;
    ESK_CHECK(end > next + 1);
    for (uint32_t at = next; at < end; at++) {
        ESK_CONTEXT("page %u", at);
        esk_page_id page = esk_ring_page(&fixture.series->data, at);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, page, 500), ESK_OK);
        reboot();
        ask_many(3);
        ESK_CHECK_INT(esk_sim_flip(fixture.sim, page, 500), ESK_OK);
        esk_pool_forget_all(&fixture.series->pool);
        scan_make();
        for (uint32_t i = 0; i < scan.count; i++) {
            int32_t value = value_of(scan.numbers[i]);
            ask_one(&ways[i % WAYS], value, value);
        }
    }
    fixture_end(&fixture);
}

/// The blocks of a level fail: queries read more pages, appends go on.
ESK_TEST(series_sorted_appends_go_on_where_the_index_is_dead) {
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        ESK_CONTEXT("level %u", i);
        struct esk_series_stats stats;
        start(&fixture_nor, &spec);
        append_runs();
        const struct esk_ring *ring = &level(i)->ring;
        for (uint32_t at = 0; at < esk_ring_pages(ring); at += 8) {
            esk_sim_block_fail(fixture.sim, esk_ring_page(ring, at) / 8);
        }
        for (uint32_t j = 0; j < 6; j++) {
            append(1000);
            ask_many(3);
        }
        esk_series_stats(fixture.series, &stats);
        ESK_CHECK(stats.index_failures > 0);
        reboot();
        ask_many(3);
        check();
        fixture_end(&fixture);
    }
}

/// Reads that fail end a mount, and no query.
ESK_TEST(series_sorted_mount_returns_what_a_transfer_that_fails_returns) {
    bool failed = true;
    start(&fixture_nor, &spec);
    append_runs();
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    for (uint32_t at = 1; failed; at += esk_test_repeats(7, 1)) {
        ESK_CONTEXT("read %u", at);
        fixture_mount(&fixture);
        fail_from(at, 2, READ_BROKEN);
        int status = fixture_try_open(&fixture, "log", NULL);
        failed = fail_end();
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        if (status == ESK_OK) {
            ask_many(2);
        }
    }
    fixture_end(&fixture);
}

/// Newest rows are dropped, and the log goes on in the next block.
ESK_TEST(series_sorted_answers_hold_after_erase_after) {
    start(&fixture_nor, &spec);
    append_runs();
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t last = row_count - 40 - 150 * i;
        ESK_CHECK_INT(esk_series_erase_after(fixture.series, last), ESK_OK);
        row_count = last + 1;
        ask_many(10);
        append(200 * i);
        ask_many(10);
        reboot();
        ask_many(10);
        append(400);
        ask_many(10);
        check();
    }
    ESK_CHECK_INT(esk_series_erase_before(fixture.series, row_count - 900),
                  ESK_OK);
    ask_many(10);
    reboot();
    append(500);
    ask_many(10);
    fixture_end(&fixture);
}

/// An index in RAM that lacks a value is reported.
ESK_TEST(series_sorted_check_finds_a_page_that_is_not_named) {
    struct esk_series_report report;
    start(&fixture_nor, &spec);
    append(100);
    struct esk_sorted *index = &fixture.series->sorting->index;
    ESK_CHECK(index->count > 10);
    index->values[5]++;
    ESK_CHECK_INT(esk_series_check(fixture.series, &report), ESK_E_CORRUPT);
    ESK_CHECK_INT(report.index_wrong, 1);
    fixture_end(&fixture);
}

/// Asks for all values that rows can have, a part at a time.
static void ask_all(void) {
    enum { PART = 50 };
    scan_make();
    for (int32_t lo = -SPREAD / 2; lo < SPREAD / 2; lo += PART) {
        (void)ask_one(&ways[0], lo, lo + PART - 1);
    }
}

/// Where erase does nothing, a mount finds rows again that an erase ahead of
/// head has dropped. Runs that were merged in between have their values.
ESK_TEST(series_sorted_finds_rows_that_an_erase_ahead_has_left) {
    static const struct esk_geometry card = ESK_CARD(64, 2, 256);
    static const struct esk_series_config config = {.erase_ahead = 4};
    struct esk_series_spec of = spec;
    of.sync_blocks = ESK_SYNC_BLOCKS_NONE;
    of.data_blocks = 12;
    esk_series_sorted_blocks(&card, &of, of.data_blocks);
    of.data_blocks += of.sorted_blocks + of.merged_blocks;
    start(&card, &of);
    fixture.config = &config;
    reboot();
    uint32_t back = 0;
    for (uint32_t i = 0; i < 120; i++) {
        ESK_CONTEXT("%u", i);
        for (uint32_t j = 0; j < 7; j++) {
            append(15);
            ESK_CHECK_INT(esk_volume_step(&fixture.volume, 8, NULL), ESK_OK);
        }
        ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
        uint32_t tail = fixture.series->data.tail;
        reboot();
        back += fixture.series->data.tail < tail;
        ask_all();
        check();
    }
    ESK_CHECK(back > 60);
    fixture_end(&fixture);
}

/* --------------------------------------------------------- random histories */

static uint32_t seed;

static uint32_t draw(uint32_t below) {
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/// A table of any sizes; its rings may be too small for what is in use.
static void table_draw(void) {
    static const struct esk_geometry media[] = {
        ESK_NOR(160, 4, 256), ESK_CARD(160, 2, 256), ESK_NAND(160, 4, 512)};
    static struct esk_series_config config;
    const struct esk_geometry *geometry = &media[draw(3)];
    struct esk_index_spec index[2] = {indexes[0], indexes[1]};
    struct esk_series_spec of = spec;
    index[0].entries = (uint16_t)(256 * (1 + draw(3)));
    index[0].fan = (uint8_t)(2 + draw(3));
    of.indexes = index;
    of.index_count = (uint8_t)(1 + draw(2));
    of.codec = draw(4) == 0 ? ESK_CODEC_PACKED : ESK_CODEC_RAW;
    of.data_blocks = 10 + draw(12);
    esk_series_sorted_blocks(geometry, &of, of.data_blocks);
    if (draw(3) == 0) {
        of.sorted_blocks = 2 + draw(2);
        of.merged_blocks = 2 + draw(3);
    }
    of.data_blocks += of.sorted_blocks + of.merged_blocks;
    start(geometry, &of);
    config = (struct esk_series_config){.erase_ahead = (uint8_t)draw(5)};
    fixture.config = &config;
    reboot();
}

/// Some of the values, in any way.
static void ask_some(void) {
    scan_make();
    for (uint32_t i = 0; i < 6; i++) {
        int32_t lo = (int32_t)draw(SPREAD) - SPREAD / 2;
        (void)ask_one(&ways[draw(WAYS)], lo, lo + (int32_t)draw(400));
    }
}

static void rows_append(uint32_t count) {
    int status = ESK_OK;
    for (; count > 0 && status == ESK_OK; count--) {
        status = append_one();
        if (draw(20) == 0) {
            (void)esk_volume_step(&fixture.volume, (uint16_t)draw(4), NULL);
        }
    }
}

static void failures_draw(void) {
    const struct esk_sim_failures failures = {
        .program = {.per_million = draw(3) == 0 ? 0 : draw(60000)},
        .erase = {.per_million = draw(3) == 0 ? 0 : draw(20000)}};
    esk_sim_failures_set(fixture.sim, draw(2) == 0 ? NULL : &failures);
}

static void history_step(void) {
    switch (draw(10)) {
    case 0:
        (void)esk_series_sync(fixture.series);
        reboot();
        break;
    case 1:
        fixture.flags = ESK_MOUNT_READ_ONLY;
        reboot();
        ask_some();
        fixture.flags = 0;
        reboot();
        break;
    case 2:
        esk_sim_power_off(fixture.sim);
        reboot();
        break;
    case 3:
        failures_draw();
        break;
    case 4:
        (void)esk_series_erase_before(fixture.series,
                                      row_count - row_count / 8);
        break;
    case 5:
        if (row_count > 300 &&
            esk_series_erase_after(fixture.series, row_count - 200) == ESK_OK) {
            row_count -= 199;
        }
        break;
    default:
        rows_append(draw(900));
        break;
    }
}

static void history(uint32_t number) {
    seed = number;
    table_draw();
    for (uint32_t step = 0; step < 30; step++) {
        ESK_CONTEXT("history %u, step %u", number, step);
        history_step();
        ask_some();
    }
    fixture_end(&fixture);
}

/// Programs and erases fail, rings are full, rows are dropped at both ends, the
/// power goes, and mounts are read-only.
ESK_TEST(series_sorted_answers_hold_in_random_histories) {
    uint32_t repeats = esk_test_repeats(30, 3000);
    for (uint32_t i = 0; i < repeats; i++) {
        history(i);
    }
}

/// On a card a mount finds a page again that an erase ahead has dropped, but
/// not the rows in it that erase_after had dropped before.
ESK_TEST(series_sorted_rows_that_were_dropped_twice_stay_dropped) {
    history(813);
    history(1592); /* all that is left is dropped, and a page below it found */
}

ESK_TEST_MAIN()
