// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Forged pages of the meta halves: other bytes, with a valid checksum.
#ifndef ESK_TEST_FORGE_H
#define ESK_TEST_FORGE_H

#include "test/harness/fixture.h"
#include "volume/volume.h"

/// Overwrites `count` bytes at `offset` of page `index` in half `half`.
/// kind  ESK_PAGE_SUPERBLOCK or ESK_PAGE_CATALOG.
static inline void forge_half(struct esk_fixture *fixture, uint8_t half,
                              uint8_t kind, uint16_t index, uint16_t offset,
                              const void *bytes, uint16_t count) {
    struct esk_meta meta;
    esk_page_id id = 0;
    esk_meta_open(&meta, &fixture->volume, kind);
    ESK_CHECK_INT(esk_half_page(&fixture->volume, half, index, &id), ESK_OK);
    ESK_CHECK_INT(esk_sim_peek(fixture->sim, id, fixture->page), ESK_OK);
    memcpy(fixture->page + offset, bytes, count);
    esk_envelope_close(&meta.region.envelope, fixture->page,
                       esk_page_count(fixture->page));
    ESK_CHECK_INT(esk_sim_poke(fixture->sim, id, 0, fixture->page,
                               meta.region.envelope.page_bytes),
                  ESK_OK);
}

/// The same in both halves.
static inline void forge_halves(struct esk_fixture *fixture, uint8_t kind,
                                uint16_t index, uint16_t offset,
                                const void *bytes, uint16_t count) {
    for (uint8_t half = 0; half < 2; half++) {
        forge_half(fixture, half, kind, index, offset, bytes, count);
    }
}

/// The same, from byte `at` of the first descriptor on.
static inline void forge_descriptor(struct esk_fixture *fixture, uint16_t at,
                                    const void *bytes, uint16_t count) {
    forge_halves(fixture, ESK_PAGE_CATALOG, 0,
                 (uint16_t)(ESK_ENVELOPE_BYTES + at), bytes, count);
}

#endif
