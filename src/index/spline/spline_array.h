// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The spline's RAM: packed entries of all levels in one array.
///
///     [ level 2 ][ level 1 ][ level 0 ]  free
///
///     entry   key        key_bytes, order form, little-endian
///             position   levels 1, 2: 4 bytes
///                        level 0: the low 2 bytes; the newest knot's
///                        position, at most 65,535 above, gives the rest
///
/// Private to this folder. An index counts within a level, from the oldest
/// entry.
#ifndef ESK_INDEX_SPLINE_ARRAY_H
#define ESK_INDEX_SPLINE_ARRAY_H

#include "index/spline/spline.h"

/// The key_bytes little-endian bytes at `bytes`.
esk_key esk_spline_key_load(const struct esk_spline *spline,
                            const uint8_t *bytes);
void esk_spline_key_store(const struct esk_spline *spline, uint8_t *bytes,
                          esk_key key);

void esk_spline_array_get(const struct esk_spline *spline, uint8_t level,
                          uint16_t index, struct esk_spline_entry *entry);

/// Whether one more entry of `level` fits.
bool esk_spline_array_has_room(const struct esk_spline *spline, uint8_t level);

/// Whether knots take more than half of the bytes.
bool esk_spline_array_is_wide(const struct esk_spline *spline);

/// How many of `count` entries at `first` have keys <= `key`.
uint16_t esk_spline_rank(const struct esk_spline *spline, const uint8_t *first,
                         uint16_t count, uint8_t entry_bytes, esk_key key);

/// How many of the level's keys are <= `key`.
uint16_t esk_spline_array_rank(const struct esk_spline *spline, uint8_t level,
                               esk_key key);

/// The page to try first for a key between two knots, low.key <= key <
/// high.key.
uint32_t esk_spline_between(esk_key key, const struct esk_spline_entry *low,
                            const struct esk_spline_entry *high);

/// Inserts an entry. The caller has checked the room, and the 16 bits.
void esk_spline_array_insert(struct esk_spline *spline, uint8_t level,
                             uint16_t index,
                             const struct esk_spline_entry *entry);

/// Sets the position of the level's last entry.
void esk_spline_array_move_last(struct esk_spline *spline, uint8_t level,
                                uint32_t position);

/// Copies knot `from` over knot `to`.
void esk_spline_array_copy(struct esk_spline *spline, uint16_t to,
                           uint16_t from);

/// Removes entries `to`..`from` - 1 of `level`; only `count` changes.
void esk_spline_array_close(struct esk_spline *spline, uint8_t level,
                            uint16_t to, uint16_t from);

/// How many entries to remove at a time.
uint16_t esk_spline_array_batch(const struct esk_spline *spline);

/// Drops the `count` oldest entries of a level and corrects all counts.
void esk_spline_array_remove_oldest(struct esk_spline *spline, uint8_t level,
                                    uint16_t count);

/// Removes a few entries that are on a tile. False when there are none.
bool esk_spline_array_evict(struct esk_spline *spline);

#endif
