// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The page that a writer packs rows into, which packed_rows.c does: its begin,
/// its end, and units that are programmed.
#include "table/series/codec/packed_state.h"

void esk_packed_init(const struct esk_packed *packed,
                     struct esk_packed_state *state) {
    const struct esk_packed_field *field = packed->fields;
    uint8_t *part = packed_parts(state);
    memset(state, 0, sizeof *state);
    for (uint8_t left = packed->field_count; left > 0; left--) {
        *part = ESK_PACKED_SCALE_START;
        part = packed_part_next(field++, part);
    }
}

/// The offset behind the cell, in a page that ends at `end`: which may be
/// another than at the last row, for seals come, and go when a page is
/// programmed again elsewhere.
static uint16_t cell_end(const struct esk_packed_state *state, uint16_t end) {
    return (uint16_t)(esk_packed_last(state, (uint16_t)(end - 1u)) + 1u);
}

uint16_t esk_packed_end(struct esk_packed_state *state, uint8_t *page,
                        uint16_t end) {
    end = cell_end(state, end);
    esk_packed_zeros(state, page, end);
    return end;
}

uint16_t esk_packed_align(const struct esk_packed *packed,
                          struct esk_packed_state *state, uint8_t *page,
                          uint16_t end) {
    uint16_t at = esk_packed_written(state);
    state->flags &= (uint8_t)~PACKED_FRESH;
    if (state->bit == 0 && esk_packed_unit_up(packed, at) == at) {
        return at;
    }
    if ((state->flags & (PACKED_WHOLE | PACKED_CLOSED)) == 0) {
        /* behind an escape of zeros */
        at = esk_packed_after(
            state,
            packed_mark_bits(state, ESK_PACKED_ZEROS + ESK_PACKED_LENGTH_BITS));
    }
    at = esk_packed_unit_up(packed, at);
    end = cell_end(state, end);
    if (at >= end) {
        state->flags |= PACKED_CLOSED;
        at = end;
    }
    esk_packed_zeros(state, page, at);
    state->at = at;
    state->bit = 0;
    return at;
}

void esk_packed_close(struct esk_packed_state *state, uint8_t *page,
                      uint16_t end) {
    (void)esk_packed_end(state, page, end);
    state->at = 0;
    state->bit = 0;
}

void esk_packed_resume(struct esk_packed_state *state, uint8_t *page) {
    state->saved = PACKED_SAVED;
    page[esk_packed_written(state)] = 0;
}
