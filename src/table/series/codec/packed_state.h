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
    return (uint8_t)((uint8_t)(scale & (uint8_t)~PACKED_IS_QUIET) >> 2);
}

/// The offset, which is not 0, rounded up to a unit.
static inline uint16_t packed_unit_up(const struct esk_packed *packed,
                                      uint16_t at) {
    return (uint16_t)(((uint16_t)(at - 1u) | packed->unit_mask) + 1u);
}

/// Whether the begin of a cell at offset `cell` ends at `limit`.
static inline bool packed_cell_fits(const struct esk_packed *packed,
                                    uint16_t cell, uint16_t limit) {
    return (uint16_t)(cell + packed->row_bytes + packed->field_count) <= limit;
}

/// What one call works with: its arguments, and a place in the page's bits.
struct packed_call {
    uint8_t *at;    ///< the byte of the next bit
    uint8_t *end;   ///< writer: the byte before it is the last that is used;
                    ///< reader: bits from here on are zero
    uint16_t limit; ///< where the page's bits end
    uint8_t bit;    ///< number of the next bit in its byte
    uint8_t byte;   ///< reader: the rest of the byte before
    uint8_t left;   ///< reader: bits of it, below 8
    bool over;      ///< reader: bits that have no byte were read
    uint8_t mark; ///< reader, enum packed_mark: of the code that was read last
    bool keep;    ///< esk_packed_change makes a value that of the row before
    bool bare;    ///< the value has no code: esk_packed_change
    bool wide;    ///< a change does not fit: the row is written whole
    const struct esk_packed *packed;
    struct esk_packed_state *state;
    uint8_t *page;
    const uint8_t *row; ///< writer: the row; reader: NULL
    uint8_t *out;       ///< reader: where the row goes; writer: NULL
    uint8_t word[8];    ///< a change, low byte first
    uint8_t form[4];    ///< of an f32
};

/// Sets the end of the call's cell.
static inline void packed_call_end(struct packed_call *call) {
    uint16_t last = call->state->last;
    call->end = call->page + (last < call->limit ? last : call->limit);
}

/// Sets the call's place to that of its state.
static ESK_IN_LINE void packed_call_place(struct packed_call *call) {
    call->at = call->page + call->state->at;
    call->bit = call->state->bit;
}

/// Sets the state's place to that of the call.
static inline void packed_call_keep(const struct packed_call *call) {
    call->state->at = (uint16_t)(call->at - call->page);
    call->state->bit = call->bit;
}

/// Sets `scale` for a code whose quotient was `zeros`, or more.
void esk_packed_adapt(uint8_t *scale, uint8_t zeros);

/// The same, in line.
static inline void packed_adapt(uint8_t *scale, uint8_t zeros) {
    uint8_t now = *scale & (uint8_t)~PACKED_IS_QUIET;
    uint8_t less = zeros == 0 && now > 0 ? 1 : 0;
    uint8_t more = zeros > 1 && now < ESK_PACKED_SCALE_MAX - 1 ? 2 : 0;
    *scale = (uint8_t)(*scale + more - less);
}

/// Adds the number of `count` bytes at `from` to that at `to`. With a `flip` of
/// UINT8_MAX subtracts it.
void esk_packed_add(uint8_t *to, const uint8_t *from, uint8_t count,
                    uint8_t flip);

/// Extends the sign of the number of `bytes` bytes to 8 bytes.
void esk_packed_sign(uint8_t *number, uint8_t bytes);

/// Adds `change`, which has a sign, to the number at `to` of a field that is
/// not raw.
static inline void packed_add_change(struct packed_call *call,
                                     const struct esk_packed_field *field,
                                     uint8_t *to, uint32_t change) {
    if (ESK_HOST && field->bytes == 8) {
        uint64_t wide = (uint64_t)(int64_t)(int32_t)change;
        esk_store_u64(to, esk_load_u64(to) + wide);
    } else if (ESK_HOST && field->bytes == 4) {
        esk_store_u32(to, esk_load_u32(to) + change);
    } else {
        esk_store_u32(call->word, change);
        esk_packed_sign(call->word, 4);
        esk_packed_add(to, call->word, (uint8_t)field->bytes, 0);
    }
}

/// Writes the f32 at `from` to `to` in the form in which a field of `mode` is
/// predicted, or with `back` from that form. Returns false: it is no decimal.
bool esk_packed_turn(const struct packed_call *call, uint8_t mode,
                     const uint8_t *from, uint8_t *to, bool back);

/// The change from the value of the row before, in `part`, to the value at
/// `from`. With call->keep the value becomes that of the row before. Of a raw
/// field, and of a value that is no decimal, which is not kept, call->bare
/// becomes true, and a change is 1.
uint32_t esk_packed_change(struct packed_call *call,
                           const struct esk_packed_field *field,
                           const uint8_t *from, uint8_t *part);

/// Where a whole row begins that comes next: at the next byte, or at the next
/// unit in a cell whose rest is whole rows. 0: it has no room in the cell.
uint16_t esk_packed_whole(const struct packed_call *call);

/// Takes the whole row `row` as the row before, and copies it to call->out
/// unless that is NULL. Steps become 0, and the number of a decimal field whose
/// value is no decimal. With `restart` the scales become
/// ESK_PACKED_SCALE_START.
void esk_packed_take(struct packed_call *call, const uint8_t *row,
                     bool restart);

/// Takes the first row of the cell at the state's place, and the scales. Of a
/// writer, which has a call->row, it writes them before.
/// Returns false: bytes are no scales.
bool esk_packed_cell_take(struct packed_call *call);

#endif
