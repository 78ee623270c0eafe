// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring on a simulator, with only the fields of a volume, and pages that
/// contain the number of pages before them.
#ifndef ESK_TEST_RING_FIXTURE_H
#define ESK_TEST_RING_FIXTURE_H

#include "flash/ring.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { PAGES = 4, BLOCKS = 6, FIRST = 2, UNIT = 4, ALL = PAGES * BLOCKS };

struct ring_fixture {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_region_stats stats;
    struct esk_ring_config config;
    struct esk_ring ring;
    uint32_t appended; ///< pages so far: the next one's content
    bool refused;      ///< the last append
    uint8_t page[4096];
};

static const struct esk_geometry ring_fixture_nor =
    ESK_NOR(BLOCKS + FIRST, PAGES, 128);

static inline void ring_fixture_mount(struct ring_fixture *fixture) {
    memset(&fixture->stats, 0, sizeof fixture->stats);
    ESK_CHECK_INT(esk_ring_mount(&fixture->ring, &fixture->volume,
                                 &fixture->config, &fixture->stats,
                                 fixture->page),
                  ESK_OK);
}

static inline void ring_fixture_start(struct ring_fixture *fixture,
                                      const struct esk_geometry *geometry) {
    struct esk_sim_config config = {.geometry = *geometry, .dirty = true};
    memset(fixture, 0, sizeof *fixture);
    ESK_CHECK_INT(esk_sim_create(&fixture->sim, &config), ESK_OK);
    fixture->volume.device = esk_sim_device(fixture->sim);
    fixture->config = (struct esk_ring_config){.block = FIRST,
                                               .blocks = BLOCKS,
                                               .seed = 7,
                                               .unit = UNIT,
                                               .seals = &esk_seals_at_end,
                                               .kind = ESK_PAGE_DATA,
                                               .table = 1,
                                               .ahead = 1};
    ring_fixture_mount(fixture);
}

static inline void ring_fixture_end(struct ring_fixture *fixture) {
    ESK_CHECK_TEXT(esk_sim_violation(fixture->sim), "");
    esk_sim_destroy(fixture->sim);
}

/// Appends a page with the number of pages before it.
static inline int ring_fixture_append(struct ring_fixture *fixture,
                                      uint32_t *position) {
    esk_store_u32(fixture->page + ESK_ENVELOPE_BYTES, fixture->appended);
    int status = esk_ring_append(&fixture->ring, fixture->page, 1, 0, position);
    fixture->appended += status == ESK_OK;
    fixture->refused = status != ESK_OK;
    return status;
}

static inline void ring_fixture_append_many(struct ring_fixture *fixture,
                                            uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(ring_fixture_append(fixture, NULL), ESK_OK);
    }
}

/// Checks that every position of tail .. head reads back, except `holes`, in
/// the order of appending and up to the newest. (A page whose program was
/// reported as failed may be valid; then it is there twice.)
static inline void ring_fixture_check(struct ring_fixture *fixture,
                                      uint32_t holes) {
    uint32_t missing = 0;
    uint32_t next = 0;
    for (uint32_t at = fixture->ring.tail; at < fixture->ring.head; at++) {
        int status = esk_ring_read(&fixture->ring, at, fixture->page, true);
        if (status != ESK_OK) {
            missing++;
            continue;
        }
        ESK_CHECK_INT(esk_page_sequence(fixture->page), at);
        uint32_t content = esk_load_u32(fixture->page + ESK_ENVELOPE_BYTES);
        ESK_CHECK(content + 1 >= next);
        next = content + 1;
    }
    ESK_CHECK(missing <= holes);
    /* A refused page may be there. */
    ESK_CHECK(next == fixture->appended ||
              fixture->ring.tail == fixture->ring.head ||
              (fixture->refused && next == fixture->appended + 1));
}

#endif
