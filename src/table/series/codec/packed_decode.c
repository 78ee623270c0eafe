// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A reader's place in a page, whose rows packed_rows.c reads.
#include "table/series/codec/packed_state.h"

uint16_t esk_packed_page_end(const uint8_t *page, uint16_t page_bytes) {
    uint16_t end = page_bytes;
    while (end >= ESK_ENVELOPE_BYTES + ESK_SEAL_BYTES &&
           page[end - 2u] == page[ESK_ENVELOPE_KIND] &&
           page[end - 1u] == page[ESK_ENVELOPE_TABLE]) {
        end = (uint16_t)(end - ESK_SEAL_BYTES);
    }
    return end;
}

void esk_packed_seek(struct esk_packed_state *state, uint16_t cell,
                     uint16_t limit) {
    /* At the end of a cell, whose next one begins there. */
    state->at = cell;
    state->last = (uint16_t)(cell - 1u);
    state->limit = limit;
    state->flags = 0;
}

bool esk_packed_has_cell(const struct esk_packed *packed, const uint8_t *page,
                         uint16_t cell, uint16_t limit) {
    if (!packed_cell_fits(packed, cell, limit)) {
        return false;
    }
    uint8_t stored = page[cell + packed->row_bytes];
    return stored != 0 && stored != UINT8_MAX;
}
