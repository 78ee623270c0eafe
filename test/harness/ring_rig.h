// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A ring on a simulator, with no volume but its fields, and pages that say
/// how many there were before them.
#ifndef ESK_TEST_RING_RIG_H
#define ESK_TEST_RING_RIG_H

#include "flash/ring.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { PAGES = 4, BLOCKS = 6, FIRST = 2, UNIT = 4, ALL = PAGES * BLOCKS };

struct ring_rig {
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_ring_stats stats;
    struct esk_ring_config config;
    struct esk_ring ring;
    uint32_t appended; ///< pages so far: the next one's content
    bool refused;      ///< the last append
    uint8_t page[4096];
};

static const struct esk_geometry ring_rig_nor =
    ESK_NOR(BLOCKS + FIRST, PAGES, 128);

static inline void ring_rig_mount(struct ring_rig *rig) {
    memset(&rig->stats, 0, sizeof rig->stats);
    rig->volume.rings = NULL;
    ESK_CHECK_INT(esk_ring_mount(&rig->ring, &rig->volume, &rig->config,
                                 &rig->stats, rig->page),
                  ESK_OK);
}

static inline void ring_rig_start(struct ring_rig *rig,
                                  const struct esk_geometry *geometry) {
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
    ring_rig_mount(rig);
}

static inline void ring_rig_end(struct ring_rig *rig) {
    ESK_CHECK_TEXT(esk_sim_violation(rig->sim), "");
    esk_sim_destroy(rig->sim);
}

/// Appends a page that says how many there were before it.
static inline int ring_rig_append(struct ring_rig *rig, uint32_t *position) {
    esk_store_u32(rig->page + ESK_ENVELOPE_BYTES, rig->appended);
    int status = esk_ring_append(&rig->ring, rig->page, 1, 0, position);
    rig->appended += status == ESK_OK;
    rig->refused = status != ESK_OK;
    return status;
}

static inline void ring_rig_append_many(struct ring_rig *rig, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        ESK_CHECK_INT(ring_rig_append(rig, NULL), ESK_OK);
    }
}

/// Every position of tail .. head reads back, but for `holes`, in the order
/// of appending and up to the newest. (A page whose program was said to fail
/// may prove itself all the same; then it is there twice.)
static inline void ring_rig_check(struct ring_rig *rig, uint32_t holes) {
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

#endif
