// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Entries that leave RAM and come back: nodes, drops, trims and mounts.
#include "index/spline/spline.h"

#include "test/harness/spline_log.h"

/// Position of the first index page after the data pages below `data_tail`:
/// earlier ones may be dropped with these.
static uint32_t log_tail(const struct log *log, uint32_t data_tail) {
    uint32_t at = 0;
    while (at + 1u < log->next && log->pages[at].last < data_tail) {
        at++;
    }
    return log->first + at;
}

ESK_TEST(spline_drops_the_oldest_when_nothing_can_be_saved) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 3000, 11);
    log_init(&test_log, 64, 4, 0);
    int drops = 0;
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(spline, test_points.key[i], i) == ESK_FULL) {
            if (!esk_spline_evict(spline)) {
                esk_spline_drop(spline);
                drops++;
            }
        }
    }
    ESK_CHECK(drops > 100);
    ESK_CHECK(esk_spline_entries(spline) * 6u <= test_log.bytes);
    uint32_t found = 0;
    ESK_CHECK_INT(esk_spline_find(spline, 5, &found), ESK_NOT_FOUND);
    check_points(&test_log, &test_points, test_points.count - 10);
    /* Saves work again, and a level that cannot be saved drops entries, too. */
    log_init(&test_log, 48, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(spline, test_points.key[i], i) == ESK_FULL) {
            if (esk_spline_evict(spline)) {
                continue;
            }
            if (esk_spline_full_level(spline) == 0) {
                log_save(&test_log, 0);
            } else {
                esk_spline_drop(spline);
            }
        }
    }
    check_points(&test_log, &test_points, test_points.count - 10);
}

ESK_TEST(spline_drops_a_last_knot_only_by_name) {
    struct esk_spline *spline = &test_log.spline;
    uint32_t position = 0;
    log_init(&test_log, 48, 4, 0);
    ESK_CHECK_INT(esk_spline_add(spline, 10, position), ESK_OK);
    /* 65,536 pages further: the first knot must be dropped, and cannot be
       saved. */
    ESK_CHECK_INT(esk_spline_add(spline, 20, 0x10000), ESK_FULL);
    ESK_CHECK(!esk_spline_evict(spline));
    ESK_CHECK_INT(esk_spline_full_level(spline), 0);
    esk_spline_drop(spline);
    ESK_CHECK(esk_spline_evict(spline));
    ESK_CHECK_INT(esk_spline_add(spline, 20, 0x10000), ESK_OK);
    uint32_t found = 0;
    ESK_CHECK_INT(esk_spline_find(spline, 20, &found), ESK_OK);
    ESK_CHECK_INT(found, 0x10000);
    ESK_CHECK_INT(esk_spline_find(spline, 10, &found), ESK_NOT_FOUND);
}

ESK_TEST(spline_trims_what_the_rings_have_dropped) {
    const uint16_t bytes[] = {48, 64, 128, 512, 2560};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        uint32_t seed = 77;
        make_irregular(&test_points, 4000, 13);
        uint32_t all = test_points.count;
        log_init(&test_log, bytes[i], 4, 0);
        test_log.first = 1000;
        for (uint32_t k = 0; k < all; k++) {
            log_add(&test_log, test_points.key[k], k);
            uint32_t tail = k > 900 ? k - 900 : 0;
            if (test_random(&seed) % 50 == 0) {
                uint32_t index = log_tail(&test_log, tail);
                esk_spline_trim(&test_log.spline, tail);
                esk_spline_trim_nodes(&test_log.spline, index);
                test_points.count = k + 1;
                test_stride = 5;
                check_points(&test_log, &test_points, tail);
                test_stride = 1;
            }
        }
        /* All but the last knot is dropped. */
        esk_spline_trim(&test_log.spline, all);
        esk_spline_trim_nodes(&test_log.spline, UINT32_MAX - 1);
        ESK_CHECK_INT(esk_spline_entries(&test_log.spline), 1);
        ESK_CHECK_INT(test_log.spline.nodes.node[0].open_count, 0);
        ESK_CHECK(test_log.spline.nodes.node[0].closed_position ==
                  ESK_SPLINE_NONE);
        log_add(&test_log, test_points.key[all - 1] + 9, all);
    }
}

ESK_TEST(spline_trim_between_save_and_saved_is_harmless) {
    uint8_t section[SECTION_BYTES];
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 400, 19);
    log_init(&test_log, 2560, 4, 2);
    add_points(&test_log, &test_points);
    uint16_t unsaved = esk_spline_unsaved(spline, 0);
    ESK_CHECK(unsaved > 20);
    uint16_t count = esk_spline_save(spline, 0, section, 0, 10);
    ESK_CHECK_INT(count, 10);
    esk_spline_saved(spline, 0, count, 5);
    count = esk_spline_save(spline, 0, section, 10, 20);
    ESK_CHECK_INT(count, 20);
    esk_spline_trim(spline, 400);
    esk_spline_trim_nodes(spline, 6); /* drops the open node and all knots */
    esk_spline_saved(spline, 0, count, 7);
    ESK_CHECK_INT(spline->nodes.node[0].open_position, 7);
    ESK_CHECK_INT(spline->nodes.level[0].count, 1);
    ESK_CHECK_INT(spline->level.saved, spline->level.count);
}

ESK_TEST(spline_mounts_to_what_it_was_at_every_index_page) {
    const uint16_t bytes[] = {48, 64, 128, 256, 2560};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        for (uint32_t kind = 0; kind < 3; kind++) {
            make_irregular(&test_points, 3000, 23 + kind);
            uint32_t all = test_points.count;
            log_init(&test_log, bytes[i], 4, kind == 2 ? 3 : 0);
            test_log.first = 400;
            for (uint32_t k = 0; k < all; k++) {
                log_add(&test_log, test_points.key[k], k);
                bool at_page = test_log.added == 0;
                if (kind == 1 && k % 300 == 299 &&
                    esk_spline_unsaved(&test_log.spline, 0) != 0) {
                    log_save(&test_log, 0); /* now and then, not full */
                    at_page = true;
                }
                if (!at_page || (k / RUN_PAGES) % 7 != 3) {
                    continue;
                }
                uint32_t tail = k > 1200 ? k - 1200 : 0;
                uint32_t index = log_tail(&test_log, tail);
                log_mount(&test_log, index);
                esk_spline_trim(&test_log.spline, tail);
                esk_spline_trim_nodes(&test_log.spline, index);
                test_points.count = k + 1;
                test_stride = 7;
                if (bytes[i] >= 128) {
                    check_points(&test_log, &test_points, tail);
                } else {
                    check_points(&test_log, &test_points,
                                 k > 100 ? k - 100 : 0);
                }
                test_stride = 1;
            }
            test_points.count = all;
            check_points(&test_log, &test_points, all - 100);
        }
    }
}

ESK_TEST(spline_restore_takes_more_knots_than_ram_holds) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 6000, 29);
    log_init(&test_log, 48, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        struct esk_spline_entry knot = {test_points.key[i], i};
        esk_spline_restore_knot(spline, &knot);
    }
    ESK_CHECK(esk_spline_entries(spline) * 6u <= test_log.bytes);
    struct esk_spline_entry low = {7, 9000}; /* below the newest: ignored */
    esk_spline_restore_knot(spline, &low);
    struct esk_spline_hit hit;
    uint32_t last = test_points.count - 1;
    ESK_CHECK_INT(esk_spline_find(spline, test_points.key[last], &hit.position),
                  ESK_OK);
    ESK_CHECK_INT(hit.position, last);
}

ESK_TEST(spline_restore_refuses_nodes_out_of_order) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[SECTION_BYTES];
    make_irregular(&test_points, 3000, 31);
    log_init(&test_log, 128, 4, 0);
    add_points(&test_log, &test_points);
    uint32_t open = spline->nodes.node[0].open_position;
    uint32_t closed = spline->nodes.node[0].closed_position;
    uint32_t older = test_log.pages[closed].previous;
    uint32_t oldest = test_log.pages[older].previous;
    log_spline_init(&test_log);
    ESK_CHECK(!esk_spline_restore_node(spline, 0, section, 0, 5, true));
    ESK_CHECK(log_restore_node(&test_log, 0, open, true));
    ESK_CHECK(!log_restore_node(&test_log, 0, open, false)); /* there already */
    ESK_CHECK(log_restore_node(&test_log, 0, older, false));
    ESK_CHECK(!log_restore_node(&test_log, 0, closed, false));
    ESK_CHECK_INT(spline->nodes.node[0].closed_position, older);
    /* Positions that fall while keys rise, or are out of range. */
    const struct index_page *page = &test_log.pages[oldest];
    ESK_CHECK(!esk_spline_restore_node(spline, 0, page->section, page->count,
                                       open + 1, false));
    ESK_CHECK(!esk_spline_restore_node(spline, 0, page->section, page->count,
                                       open - 0x10000, false));
    /* Entries that do not rise are skipped. */
    memset(section, 0, sizeof section);
    log_spline_init(&test_log);
    ESK_CHECK(esk_spline_restore_node(spline, 0, section, 20, 5, true));
    ESK_CHECK_INT(spline->level.count, 1);
}

ESK_TEST(spline_find_in_survives_hostile_nodes) {
    uint32_t seed = 41;
    log_init(&test_log, 128, 4, 0);
    make_irregular(&test_points, 300, 37);
    add_points(&test_log, &test_points);
    esk_key last_key;
    uint32_t last;
    esk_spline_last(&test_log.spline, &last_key, &last);
    for (int i = 0; i < 20000; i++) {
        uint8_t section[SECTION_BYTES];
        struct esk_spline_hit hit;
        for (size_t k = 0; k < sizeof section; k++) {
            section[k] = (uint8_t)test_random(&seed);
            if (i % 2 == 0 && k % 8 >= 5) {
                section[k] = 0; /* positions that may be in range */
            }
        }
        esk_key key = test_random(&seed) << 8;
        uint16_t count = (uint16_t)(test_random(&seed) % 58);
        if (esk_spline_find_in(&test_log.spline, section, count, 0, key,
                               &hit) == ESK_OK) {
            ESK_CHECK_INT(hit.level, 0);
            ESK_CHECK(hit.position <= last);
        }
    }
}

ESK_TEST(spline_forgets_the_oldest_top_entry_when_all_is_saved) {
    make_irregular(&test_points, 6000, 53);
    log_init(&test_log, 34, 4, 2);
    test_log.room = 4; /* small nodes, so that there are many */
    add_points(&test_log, &test_points);
    ESK_CHECK(test_log.saves[1] > 20);
    check_points(&test_log, &test_points, test_points.count - 2);
    struct esk_spline_hit hit;
    ESK_CHECK_INT(log_find(&test_log, 5, &hit), -1);
    /* The same, and then the medium refuses. */
    log_init(&test_log, 28, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(&test_log.spline, test_points.key[i], i) ==
               ESK_FULL) {
            if (esk_spline_evict(&test_log.spline)) {
                continue;
            }
            if (i < 200) {
                log_save(&test_log, esk_spline_full_level(&test_log.spline));
            } else {
                esk_spline_drop(&test_log.spline);
            }
        }
    }
    check_points(&test_log, &test_points, test_points.count - 2);
}

ESK_TEST(spline_mounts_with_less_ram_than_before) {
    make_irregular(&test_points, 6000, 59);
    log_init(&test_log, 200, 4, 2);
    add_points(&test_log, &test_points);
    log_write_new(&test_log);
    const uint16_t bytes[] = {160, 100, 64, 48, 34, 28};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        test_log.bytes = bytes[i];
        log_mount(&test_log, 0);
        uint16_t used = (uint16_t)(esk_spline_entries(&test_log.spline) * 6u +
                                   (test_log.spline.nodes.level[0].count +
                                    test_log.spline.nodes.level[1].count) *
                                       2u);
        ESK_CHECK(used <= bytes[i]);
        uint32_t bound = test_log.spline.error_16ths;
        ESK_CONTEXT("%u bytes, bound %u", bytes[i], bound);
        struct esk_spline_hit hit;
        uint32_t last = test_points.count - 1;
        ESK_CHECK_INT(log_find(&test_log, test_points.key[last], &hit), 0);
        ESK_CHECK_INT(hit.position, last);
        for (uint32_t k = 0; k < test_points.count; k++) {
            if (log_find(&test_log, test_points.key[k], &hit) >= 0) {
                uint32_t off =
                    hit.position < k ? k - hit.position : hit.position - k;
                ESK_CHECK(off <= bound / 16 + 1);
            }
        }
    }
}

ESK_TEST(spline_reads_nodes_when_no_knot_is_in_ram) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[SECTION_BYTES];
    struct esk_spline_hit hit;
    make_irregular(&test_points, 3000, 61);
    log_init(&test_log, 128, 4, 0);
    add_points(&test_log, &test_points);
    for (uint32_t i = 1; spline->fresh < 2; i++) {
        uint32_t last = test_points.count - 1;
        log_add(&test_log, test_points.key[last] + i * i * i, last + i);
    }
    ESK_CHECK_INT(esk_spline_take_new(spline, section, 1), 1);
    uint32_t closed = spline->nodes.node[0].closed_position;
    const struct index_page *page = &test_log.pages[closed];
    log_spline_init(&test_log);
    ESK_CHECK(log_restore_node(&test_log, 0, closed, false));
    struct esk_spline_entry knot;
    esk_spline_section_get(spline, page->section, 3, &knot);
    uint32_t found = 0;
    ESK_CHECK_INT(esk_spline_find(spline, knot.key, &found), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_spline_find_node(spline, knot.key, &hit), ESK_OK);
    ESK_CHECK_INT(hit.level, 1);
    ESK_CHECK_INT(hit.position, closed);
    ESK_CHECK_INT(esk_spline_find_in(spline, page->section, page->count, 0,
                                     knot.key, &hit),
                  ESK_OK);
    ESK_CHECK(hit.position <= spline->last.position);
    ESK_CHECK_INT(
        esk_spline_find_in(spline, page->section, page->count, 0, 0, &hit),
        ESK_NOT_FOUND);
    /* A newer node must be at a newer place. */
    memcpy(section, page->section, sizeof section);
    section[3] = 0xFF;
    ESK_CHECK(!esk_spline_restore_node(spline, 0, section, 5, closed, false));
    spline->nodes.level[0].saved = 1;
    ESK_CHECK(!esk_spline_restore_node(spline, 0, section, 5, closed, false));
    ESK_CHECK(
        esk_spline_restore_node(spline, 0, section, 5, closed + 1, false));
}

ESK_TEST(spline_restore_takes_copies_of_closed_nodes_that_join) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 600, 67);
    log_init(&test_log, 4096, 4, 2);
    test_log.room = 10;
    for (uint32_t i = 0; i < test_points.count; i++) {
        log_add(&test_log, test_points.key[i], i);
        if (i % 40 == 39) {
            while (esk_spline_unsaved(spline, 0) > 0) {
                log_save(&test_log, 0);
            }
            log_write_new(&test_log);
        }
    }
    uint16_t before = spline->level.count;
    log_mount(&test_log, 0);
    ESK_CHECK(spline->level.count >= before); /* and maybe the last point */
    check_points(&test_log, &test_points, 0);
    /* A closed node whose entries do not rise restores those that do. */
    uint32_t open = spline->nodes.node[0].open_position;
    uint32_t closed = test_log.pages[open].previous;
    struct index_page *page = &test_log.pages[closed];
    uint16_t count = test_log.pages[open].count;
    const uint32_t positions[] = {599, 0xFFFF0000};
    for (int i = 0; i < 2; i++) {
        uint8_t *entry = page->section + 8 * (page->count - 2);
        esk_store_u32(entry + 4, positions[i]);
        log_spline_init(&test_log);
        ESK_CHECK(log_restore_node(&test_log, 0, open, true));
        ESK_CHECK(log_restore_node(&test_log, 0, closed, false));
        ESK_CHECK_INT(spline->level.count, count);
    }
    memset(page->section + 8 * (page->count - 2), 0xFF, 4);
    log_spline_init(&test_log);
    ESK_CHECK(log_restore_node(&test_log, 0, open, true));
    ESK_CHECK(log_restore_node(&test_log, 0, closed, false));
    ESK_CHECK_INT(spline->level.count, count);
}

ESK_TEST(spline_restore_leaves_copies_out_of_reach) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[3 * 8];
    const esk_key keys[] = {10, 20, 30, 40};
    const uint32_t positions[] = {1, 70000, 130000, 190000};
    log_init(&test_log, 256, 4, 2);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            esk_store_u32(section + 8 * k, (uint32_t)keys[1 - i + k]);
            esk_store_u32(section + 8 * k + 4, positions[1 - i + k]);
        }
        ESK_CHECK(
            esk_spline_restore_node(spline, 0, section, 2, 9 - i, i == 0));
    }
    ESK_CHECK_INT(spline->level.count, 2);
    ESK_CHECK_INT(spline->nodes.level[0].count, 2);
}

ESK_TEST_MAIN()
