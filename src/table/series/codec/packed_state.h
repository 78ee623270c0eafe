// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What writer and reader of packed pages share.
#ifndef ESK_TABLE_SERIES_CODEC_PACKED_STATE_H
#define ESK_TABLE_SERIES_CODEC_PACKED_STATE_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"
#include "flash/envelope_format.h"
#include "table/series/codec/packed.h"

/// esk_packed_state.flags. FRESH: the cell has one row, and no byte of it may
/// be programmed yet.
enum {
    PACKED_ANY_QUIET = 1u << 0,
    PACKED_WHOLE = 1u << 1,
    PACKED_FRESH = 1u << 2,
    PACKED_CLOSED = 1u << 4, ///< writer: the cell takes no more rows
};

/// The last byte of a cell that ends with the page: above all pages.
#define PACKED_LAST_OF_ALL ((uint16_t)INT16_MAX)

enum { PACKED_SAVED = 6 }; ///< what the first rows of a cell may lose

enum { QUIET_BELOW = 4 }; ///< scale of a field that begins a cell quiet

/// Bit 7 of a field's scale in a state: the field is quiet in this cell.
enum { PACKED_IS_QUIET = 0x80 };

/// The first field's part of a state: its scale, its value in the row before,
/// in the form that is predicted, and if it is linear its step, a u32. The
/// parts of the other fields follow.
static inline uint8_t *packed_parts(struct esk_packed_state *state) {
    return (uint8_t *)(state + 1);
}

/// The part of the field after `field`, whose part is `part`. A step is at the
/// end of a part.
static inline uint8_t *packed_part_next(const struct esk_packed_field *field,
                                        uint8_t *part) {
    return part + field->part_bytes;
}

/// How many low bits of a change stand behind the unary part of its code.
static inline uint8_t packed_low_bits(uint8_t scale) {
    scale &= (uint8_t)~PACKED_IS_QUIET;
    scale >>= 2;
    return scale;
}

/// The offset, which is not 0, rounded up to a unit.
uint16_t esk_packed_unit_up(const struct esk_packed *packed, uint16_t at);

/// Whether the begin of a cell at offset `cell` ends at `limit`.
static inline bool packed_cell_fits(const struct esk_packed *packed,
                                    uint16_t cell, uint16_t limit) {
    return (uint16_t)(cell + packed->row_bytes + packed->field_count) <= limit;
}

/// What a field's code is, if it is no change: the length of its escape.
enum packed_mark {
    MARK_ZERO = ESK_PACKED_MARK_ALIGN,
    MARK_ONE = ESK_PACKED_MARK_ROW,
    MARK_NONE = ESK_PACKED_LENGTH_MIN,
    MARK_BAD,
};

/// What one call works with: its arguments, and a place in the page's bits. A
/// writer moves a row into the page, a reader out of it.
struct packed_call {
    uint8_t *at;  ///< the byte of the next bit
    uint8_t *end; ///< writer: the byte before it is the last that is used;
                  ///< reader: bits from here on are zero
    const struct esk_packed *packed;
    struct esk_packed_state *state;
    uint8_t *page;   ///< a reader's is only read
    uint8_t *row;    ///< a writer's is only read
    uint8_t bit;     ///< number of the next bit in its byte; a reader's may be
                     ///< in the byte behind it
    bool writes;     ///< it is a writer's
    uint8_t mark;    ///< of the code that was read, or is to be written: enum
                     ///< packed_mark
    uint8_t word[8]; ///< a change, low byte first
    uint8_t form[4]; ///< of an f32
};

/// Sets the call's place to that of its state.
static ESK_IN_LINE void packed_call_place(struct packed_call *call) {
    call->at = call->page + call->state->at;
    call->bit = call->state->bit;
}

/// Writes the f32 at `from` to `to` in the form in which a field of `mode` is
/// predicted, or with `back` from that form. Returns false: it is no decimal.
bool esk_packed_turn(const struct packed_call *call, uint8_t mode,
                     const uint8_t *from, uint8_t *to, bool back);

/// The offset behind `bits` more bits and the rest of their last byte.
uint16_t esk_packed_after(const struct esk_packed_state *state, uint8_t bits);

/// Bits of a mark of `bits` bits behind its zeros.
static inline uint8_t packed_mark_bits(const struct esk_packed_state *state,
                                       uint8_t bits) {
    return (uint8_t)(bits + (state->flags & PACKED_ANY_QUIET));
}

/// The last byte of the state's cell in a page whose last byte is at `last`.
uint16_t esk_packed_last(const struct esk_packed_state *state, uint16_t last);

/// Makes the page zero from behind the last row up to the offset `to`.
void esk_packed_zeros(const struct esk_packed_state *state, uint8_t *page,
                      uint16_t to);

#endif
