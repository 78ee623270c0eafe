// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What writer and reader of packed pages share.
#ifndef ESK_TABLE_SERIES_CODEC_PACKED_STATE_H
#define ESK_TABLE_SERIES_CODEC_PACKED_STATE_H

#include "base/bytes.h"
#include "base/inline.h"
#include "base/order.h"
#include "flash/envelope_format.h"
#include "table/series/codec/packed.h"

/// esk_packed_state.flags. FRESH: the cell has one row, and no byte of it may
/// be programmed yet. POOR: the cell before ended in whole rows.
enum {
    PACKED_ANY_QUIET = 1u << 0,
    PACKED_WHOLE = 1u << 1,
    PACKED_FRESH = 1u << 2,
    PACKED_POOR = 1u << 3,
    PACKED_CLOSED = 1u << 4, ///< writer: the cell takes no more rows
    PACKED_FIRST = 1u << 5,  ///< reader: the cell's first row comes next
};

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

/// The offset rounded up to a unit.
static inline uint16_t packed_unit_up(const struct esk_packed *packed,
                                      uint16_t at) {
    return (uint16_t)((at + packed->unit_mask) & ~(uint16_t)packed->unit_mask);
}

/// The offset of the next cell's begin, after `at`, which is in a cell.
static inline uint16_t packed_cell_next(const struct esk_packed *packed,
                                        uint16_t at) {
    return (uint16_t)((at | packed->cell_mask) + 1u);
}

/// Bytes at the begin of a cell.
static inline uint16_t packed_head(const struct esk_packed *packed) {
    return (uint16_t)(packed->row_bytes + packed->field_count);
}

/// The f32 `bits` in order form: every bit is kept.
static inline uint32_t packed_order(uint32_t bits) {
    return (bits & ESK_ORDER_WORD_SIGN) != 0 ? ~bits
                                             : bits | ESK_ORDER_WORD_SIGN;
}

/// Sets `scale` for a code whose quotient was `zeros`, or more.
void esk_packed_adapt(uint8_t *scale, uint8_t zeros);

/// Takes the whole row `row` as the row before. Steps become 0, and the number
/// of a decimal field whose value is no decimal. With `restart` the scales
/// become ESK_PACKED_SCALE_START.
void esk_packed_take(const struct esk_packed *packed,
                     struct esk_packed_state *state, const uint8_t *row,
                     bool restart);

/// The f32 `bits` of a field of mode ESK_PACKED_FLOAT or above in the form that
/// is predicted. Returns false: it is no decimal.
bool esk_packed_form(const struct esk_packed *packed, uint8_t mode,
                     uint32_t bits, uint32_t *number);

/// The low bytes of the integer of `bytes` bytes at `from`, at most 4.
uint32_t esk_packed_load(const uint8_t *from, uint16_t bytes);

/// The high word of the 8-byte integer at `value` after the addition of
/// `change`, which has a sign.
uint32_t esk_packed_high(const uint8_t *value, uint32_t change);

#endif
