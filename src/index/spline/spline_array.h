// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The knots: packed entries in RAM, behind those of nodes.
///
///     [ nodes' entries ][ knots ]  free
///
///     knot    key        key_bytes, order form, little-endian
///             position   2 bytes, the low ones; the newest knot's position,
///                        at most 65,535 above, gives the rest
///
/// Private to this folder. An index counts from the oldest knot.
#ifndef ESK_INDEX_SPLINE_ARRAY_H
#define ESK_INDEX_SPLINE_ARRAY_H

#include "index/spline/spline.h"

/// Whether `a` is steeper than `b`, for rises of 16 bits and runs of 32.
bool esk_slopes_fall(const struct esk_spline_slope *a,
                     const struct esk_spline_slope *b);

/// Bytes of a knot in RAM.
static inline uint8_t esk_spline_knot_bytes(const struct esk_spline *spline) {
    return (uint8_t)(esk_spline_key_bytes(spline) + 2u);
}

/// The key_bytes little-endian bytes at `bytes`.
esk_key esk_spline_key_load(const struct esk_spline *spline,
                            const uint8_t *bytes);

/// Knot `index`; that of the count is where the next one goes.
uint8_t *esk_spline_knot_at(const struct esk_spline *spline, uint16_t index);

void esk_spline_knot_get(const struct esk_spline *spline, uint16_t index,
                         struct esk_spline_entry *entry);

/// Whether `bytes` more bytes fit.
bool esk_spline_array_has_room(const struct esk_spline *spline, uint8_t bytes);

/// How many of `count` entries at `first` have keys <= `key`.
uint16_t esk_spline_rank(const struct esk_spline *spline, const uint8_t *first,
                         uint16_t count, uint8_t entry_bytes, esk_key key);

/// Makes room for `bytes` bytes at `at`, with `key` first. The caller has
/// checked the room. Returns the place after the key.
uint8_t *esk_spline_array_open(const struct esk_spline *spline, uint8_t *at,
                               uint8_t bytes, esk_key key);

/// Removes the bytes from `to` up to `from`.
void esk_spline_array_close(const struct esk_spline *spline, uint8_t *to,
                            const uint8_t *from);

/// Inserts a knot. The caller has checked the room, and the 16 bits.
void esk_spline_knot_insert(struct esk_spline *spline, uint16_t index,
                            const struct esk_spline_entry *entry);

/// Appends a knot, which starts a new corridor.
/// Returns ESK_OK; ESK_FULL, as esk_spline_add.
int esk_spline_push(struct esk_spline *spline,
                    const struct esk_spline_entry *knot);

/// Whether a point is after the newest one, by key and by position.
bool esk_spline_is_new(const struct esk_spline *spline,
                       const struct esk_spline_entry *point);

/// How many entries to remove at a time.
uint16_t esk_spline_array_batch(const struct esk_spline *spline);

/// Reduces `value` by `by`, to 0 at least.
void esk_spline_lessen(uint16_t *value, uint16_t by);

/// Drops the `count` oldest knots and corrects all counts.
void esk_spline_knots_drop(struct esk_spline *spline, uint16_t count);

#endif
