// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tiles: entries move from RAM to index pages and come back at mount.
///
///     level 1     ... [ t1 ][ t2 ][ t3, open ]        in RAM
///                       |     |      |
///     tiles           k1..k9 k9..k17 k17..k21
///     level 0                          [ k20 k21 ][ k22 k23 k24 ]  in RAM
///                                        saved      unsaved
///
/// An open tile grows: it is read, unsaved entries are appended, and it is
/// programmed again at a new place, which its entry one level up then names. A
/// new tile closes it.

#include "index/spline/spline_array.h"

#include "base/bytes.h"

static uint8_t *tile_at(const struct esk_spline *spline, uint8_t *section,
                        uint16_t index) {
    return section + (size_t)index * ESK_SPLINE_SECTION_ENTRY_BYTES(
                                         esk_spline_key_bytes(spline));
}

/// Writes entry `from` of `level` as entry `to` of `section`.
static void tile_put(const struct esk_spline *spline, uint8_t *section,
                     uint16_t to, uint8_t level, uint16_t from) {
    struct esk_spline_entry entry;
    esk_spline_array_get(spline, level, from, &entry);
    uint8_t *bytes = tile_at(spline, section, to);
    esk_spline_key_store(spline, bytes, entry.key);
    esk_store_u32(bytes + esk_spline_key_bytes(spline), entry.position);
}

uint16_t esk_spline_save(struct esk_spline *spline, uint8_t level,
                         uint8_t *section, uint16_t count, uint16_t room) {
    uint16_t from = spline->level[level].saved;
    uint16_t left = esk_spline_unsaved(spline, level);
    spline->pending = 0;
    spline->pending_new_tile = count == 0;
    if (count == 0 && from != 0) {
        tile_put(spline, section, count, level, (uint16_t)(from - 1u));
        count++;
    }
    for (; left != 0 && count < room; left--) {
        tile_put(spline, section, count, level, from);
        count++;
        from++;
        spline->pending++;
    }
    if (count != 0) {
        spline->pending_key = esk_spline_key_load(spline, section);
    }
    return count;
}

/// Appends an entry for a new tile to `level`. This must succeed: if nothing
/// else helps, the oldest entry is dropped.
static void tile_name(struct esk_spline *spline, uint8_t level,
                      uint32_t position) {
    while (!esk_spline_array_has_room(spline, level)) {
        if (!esk_spline_array_evict(spline)) {
            esk_spline_array_remove_oldest(
                spline, spline->level[2].count != 0 ? 2 : 1, 1);
        }
    }
    struct esk_spline_entry tile = {spline->pending_key, position};
    esk_spline_array_insert(spline, level, spline->level[level].count, &tile);
}

void esk_spline_saved(struct esk_spline *spline, uint8_t level, uint16_t count,
                      uint32_t index_position) {
    struct esk_spline_level *own = &spline->level[level];
    struct esk_spline_tile *tile = &spline->tile[level];
    bool was_open = tile->open_count != 0;
    uint16_t unsaved = esk_spline_unsaved(spline, level);
    if (spline->pending > unsaved) {
        spline->pending = unsaved; /* some were dropped in between */
    }
    own->saved = (uint16_t)(own->saved + spline->pending);
    spline->pending = 0;
    if (level == 0 && spline->fresh > (uint16_t)(own->count - own->saved)) {
        spline->fresh = (uint16_t)(own->count - own->saved);
    }
    if (was_open && spline->pending_new_tile) {
        tile->closed_position = tile->open_position;
    }
    tile->open_count = count;
    tile->open_position = index_position;
    if (!was_open || spline->pending_new_tile) {
        tile_name(spline, (uint8_t)(level + 1u), index_position);
    } else {
        esk_spline_array_move_last(spline, (uint8_t)(level + 1u),
                                   index_position);
    }
}

uint16_t esk_spline_take_new(struct esk_spline *spline, uint8_t *section,
                             uint16_t room) {
    uint16_t count = spline->fresh < room ? spline->fresh : room;
    uint16_t from = (uint16_t)(spline->level[0].count - spline->fresh);
    for (uint16_t i = 0; i < count; i++) {
        tile_put(spline, section, i, 0, (uint16_t)(from + i));
    }
    spline->fresh = (uint16_t)(spline->fresh - count);
    return count;
}

/// Number of entries at the start of `level` that can be dropped, without the
/// last `keep`: those whose successor (keep 1) or own position (keep 0) is
/// below `tail`.
static void tile_trim(struct esk_spline *spline, uint8_t level, uint8_t keep,
                      uint32_t tail) {
    struct esk_spline_entry entry;
    uint16_t gone = 0;
    while (gone + keep < spline->level[level].count) {
        esk_spline_array_get(spline, level, (uint16_t)(gone + keep), &entry);
        if (entry.position >= tail) {
            break;
        }
        gone++;
    }
    if (gone != 0) {
        esk_spline_array_remove_oldest(spline, level, gone);
    }
}

void esk_spline_trim(struct esk_spline *spline, uint32_t data_tail,
                     uint32_t index_tail) {
    tile_trim(spline, 0, 1, data_tail + 1u);
    for (uint8_t i = 1; i < ESK_SPLINE_LEVEL_COUNT; i++) {
        tile_trim(spline, i, 0, index_tail);
        if (spline->tile[i - 1u].closed_position < index_tail) {
            spline->tile[i - 1u].closed_position = ESK_SPLINE_NONE;
        }
    }
}

/* --------------------------------------------------------------- recovery */

/// Inserts an entry below the newer ones of `level`, just above the saved ones.
/// False when it is there already, out of order, out of range or out of room.
static bool tile_restore_entry(struct esk_spline *spline, uint8_t level,
                               const struct esk_spline_entry *entry) {
    const struct esk_spline_level *own = &spline->level[level];
    struct esk_spline_entry near;
    uint16_t rank = esk_spline_array_rank(spline, level, entry->key);
    if (rank != own->saved) {
        return false;
    }
    if (rank != 0) {
        esk_spline_array_get(spline, level, (uint16_t)(rank - 1u), &near);
        if (near.key == entry->key || near.position >= entry->position) {
            return false;
        }
    }
    if (rank != own->count) {
        esk_spline_array_get(spline, level, rank, &near);
        if (near.position <= entry->position ||
            (level == 0 &&
             spline->knot_position - entry->position > UINT16_MAX)) {
            return false;
        }
    }
    while (!esk_spline_array_has_room(spline, level)) {
        /* Tiles take precedence over copies of their entries. One copy stays in
           each level: it shows which tiles are there already. */
        uint8_t from = spline->level[0].saved > 1 ? 0 : 1;
        if (level == 0 || spline->level[from].saved < 2) {
            return false;
        }
        esk_spline_array_remove_oldest(spline, from, 1);
    }
    esk_spline_array_insert(spline, level, rank, entry);
    return true;
}

/// Copies entries of a closed tile into RAM, below those of the tile after it,
/// whose first entry repeats this tile's last. Without that entry there would
/// be a gap, so nothing is copied.
static void tile_restore_copies(struct esk_spline *spline, uint8_t level,
                                const uint8_t *section, uint16_t count) {
    struct esk_spline_level *own = &spline->level[level];
    struct esk_spline_entry entry;
    struct esk_spline_entry oldest;
    if (own->count == 0) {
        return;
    }
    esk_spline_array_get(spline, level, 0, &oldest);
    count--;
    esk_spline_section_get(spline, section, count, &entry);
    if (entry.key != oldest.key) {
        return;
    }
    while (count > 0 && esk_spline_array_has_room(spline, level)) {
        count--;
        esk_spline_section_get(spline, section, count, &entry);
        if (entry.key >= oldest.key || entry.position >= oldest.position ||
            (level == 0 &&
             spline->knot_position - entry.position > UINT16_MAX)) {
            return;
        }
        esk_spline_array_insert(spline, level, 0, &entry);
        own->saved++;
        oldest = entry;
    }
}

bool esk_spline_restore_tile(struct esk_spline *spline, uint8_t level,
                             const uint8_t *section, uint16_t count,
                             uint32_t index_position, bool open) {
    struct esk_spline_tile *tile = &spline->tile[level];
    struct esk_spline_entry entry;
    uint16_t loaded = 0;
    if (count == 0) {
        return false;
    }
    esk_spline_section_get(spline, section, 0, &entry);
    entry.position = index_position;
    if (!tile_restore_entry(spline, (uint8_t)(level + 1u), &entry)) {
        return false;
    }
    if (!open) {
        if (tile->closed_position == ESK_SPLINE_NONE) {
            tile->closed_position = index_position;
        }
        tile_restore_copies(spline, level, section, count);
        return true;
    }
    tile->open_count = count;
    tile->open_position = index_position;
    /* Newest first, each below the one before; half the RAM is for knots. */
    while (count > 0 && (loaded == 0 || esk_spline_array_is_wide(spline))) {
        count--;
        esk_spline_section_get(spline, section, count, &entry);
        if (!tile_restore_entry(spline, level, &entry)) {
            break;
        }
        if (level == 0 && loaded == 0) {
            spline->has_tip = true;
            spline->tip.key = entry.key;
            spline->tip.position = entry.position;
        }
        loaded++;
    }
    spline->level[level].saved = loaded;
    return true;
}
