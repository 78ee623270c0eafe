// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Nodes: entries move from RAM to index pages and come back at mount.
///
///     level 1     ... [ t1 ][ t2 ][ t3, open ]        in RAM
///                       |     |      |
///     nodes           k1..k9 k9..k17 k17..k21
///     level 0                          [ k20 k21 ][ k22 k23 k24 ]  in RAM
///                                        saved      unsaved
///
/// An open node grows: it is read, unsaved entries are appended, and it is
/// programmed again at a new place, which its entry one level up then names. A
/// new node closes it.
///
/// In RAM a node's entry has its key and, in 4 bytes, its index position. The
/// entries stand in front of the knots, those of the highest level first. A
/// level is searched only when all entries of the level below (newer keys) are
/// above the key.

#include "index/spline/spline_array.h"

#include "base/bytes.h"
#include "base/inline.h"

/* ------------------------------------------------------- entries in RAM */

void esk_spline_nodes_init(struct esk_spline *spline) {
    struct esk_spline_nodes *nodes = &spline->nodes;
    memset(nodes, 0, sizeof *nodes);
    for (uint8_t i = 0; i < ESK_SPLINE_LEVEL_COUNT - 1; i++) {
        nodes->node[i].open_position = ESK_SPLINE_NONE;
        nodes->node[i].closed_position = ESK_SPLINE_NONE;
    }
}

/// What is known of `level`.
static const struct esk_spline_level *level_at(const struct esk_spline *spline,
                                               uint8_t level) {
    return level == 0 ? &spline->level : &spline->nodes.level[level - 1];
}

static ESK_APART struct esk_spline_level *level_own(struct esk_spline *spline,
                                                    uint8_t level) {
    return level == 0 ? &spline->level : &spline->nodes.level[level - 1];
}

/// Bytes of one entry of `level`.
static uint8_t entry_bytes(const struct esk_spline *spline, uint8_t level) {
    return level == 0 ? esk_spline_knot_bytes(spline)
                      : (uint8_t)(esk_spline_key_bytes(spline) +
                                  ESK_SPLINE_POSITION_BYTES);
}

static uint8_t *entry_at(const struct esk_spline *spline, uint8_t level,
                         uint16_t index) {
    uint8_t *at = spline->knots - spline->nodes.bytes;
    for (uint8_t i = ESK_SPLINE_LEVEL_COUNT - 1; i > level; i--) {
        at += (size_t)level_at(spline, i)->count * entry_bytes(spline, i);
    }
    return at + (size_t)index * entry_bytes(spline, level);
}

static void entry_get(const struct esk_spline *spline, uint8_t level,
                      uint16_t index, struct esk_spline_entry *entry) {
    if (level == 0) {
        esk_spline_knot_get(spline, index, entry);
        return;
    }
    const uint8_t *bytes = entry_at(spline, level, index);
    entry->key = esk_spline_key_load(spline, bytes);
    entry->position = esk_load_u32(bytes + esk_spline_key_bytes(spline));
}

/// How many of the level's keys are <= `key`.
static uint16_t entry_rank(const struct esk_spline *spline, uint8_t level,
                           esk_key key) {
    return esk_spline_rank(spline, entry_at(spline, level, 0),
                           level_at(spline, level)->count,
                           entry_bytes(spline, level), key);
}

static bool entry_fits(const struct esk_spline *spline, uint8_t level) {
    return esk_spline_array_has_room(spline, entry_bytes(spline, level));
}

/// Inserts an entry. The caller has checked the room.
static void entry_insert(struct esk_spline *spline, uint8_t level,
                         uint16_t index, const struct esk_spline_entry *entry) {
    if (level == 0) {
        esk_spline_knot_insert(spline, index, entry);
        return;
    }
    uint8_t bytes = entry_bytes(spline, level);
    esk_store_u32(esk_spline_array_open(spline, entry_at(spline, level, index),
                                        bytes, entry->key),
                  entry->position);
    spline->nodes.level[level - 1].count++;
    spline->nodes.bytes = (uint16_t)(spline->nodes.bytes + bytes);
    spline->knots += bytes;
    spline->bytes = (uint16_t)(spline->bytes - bytes);
}

/// Drops the `count` oldest entries of a level and corrects all counts.
static void entries_drop(struct esk_spline *spline, uint8_t level,
                         uint16_t count) {
    struct esk_spline_nodes *nodes = &spline->nodes;
    if (level == 0) {
        esk_spline_knots_drop(spline, count);
        return;
    }
    uint8_t *first = entry_at(spline, level, 0);
    uint16_t bytes = (uint16_t)(count * entry_bytes(spline, level));
    esk_spline_array_close(spline, first, first + bytes);
    nodes->bytes = (uint16_t)(nodes->bytes - bytes);
    spline->knots -= bytes;
    spline->bytes = (uint16_t)(spline->bytes + bytes);
    struct esk_spline_level *own = level_own(spline, level);
    own->count = (uint16_t)(own->count - count);
    esk_spline_lessen(&own->saved, count);
    if (own->count == 0) {
        /* The open node's entry was removed, too: its entries are no longer
           saved. */
        nodes->node[level - 1].open_count = 0;
        nodes->node[level - 1].open_position = ESK_SPLINE_NONE;
        level_own(spline, (uint8_t)(level - 1))->saved = 0;
    }
}

int esk_spline_find_node(const struct esk_spline *spline, esk_key key,
                         struct esk_spline_hit *hit) {
    struct esk_spline_entry node;
    for (uint8_t level = 1; level < ESK_SPLINE_LEVEL_COUNT; level++) {
        uint16_t rank = entry_rank(spline, level, key);
        if (rank != 0) {
            entry_get(spline, level, (uint16_t)(rank - 1u), &node);
            hit->level = level;
            hit->position = node.position;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

/* ------------------------------------------------------------------- room */

/// Whether knots take more than half of the bytes.
static bool knots_are_wide(const struct esk_spline *spline) {
    return spline->nodes.bytes < spline->bytes;
}

uint16_t esk_spline_unsaved(const struct esk_spline *spline, uint8_t level) {
    const struct esk_spline_level *own = level_at(spline, level);
    uint16_t closed = own->count;
    if (level > 0 && spline->nodes.node[level - 1].open_count != 0) {
        closed--; /* the last entry names the open node, which moves */
    }
    return closed > own->saved ? (uint16_t)(closed - own->saved) : 0;
}

uint8_t esk_spline_full_level(const struct esk_spline *spline) {
    return spline->nodes.full_level;
}

/// Removes a few entries that are on a node. False when there are none.
static bool saved_drop(struct esk_spline *spline) {
    const struct esk_spline_level *nodes = spline->nodes.level;
    /* The last saved knot stays: the next node begins with it. */
    uint16_t most = spline->level.saved;
    esk_spline_lessen(&most, 1);
    uint8_t from = 0;
    /* A level-1 entry saves a read for the keys of a whole node, a knot only
       for its own segment: remove knots while they are the larger part. */
    if (nodes->saved != 0 && (most == 0 || !knots_are_wide(spline))) {
        most = nodes->saved;
        from = 1;
    }
    if (most == 0) {
        return false;
    }
    uint16_t batch = esk_spline_array_batch(spline);
    entries_drop(spline, from, batch < most ? batch : most);
    return true;
}

bool esk_spline_evict(struct esk_spline *spline) {
    if (saved_drop(spline)) {
        return true;
    }
    bool has_knots = esk_spline_unsaved(spline, 0) != 0;
    bool has_nodes = esk_spline_unsaved(spline, 1) != 0;
    spline->nodes.full_level =
        has_nodes && !(has_knots && knots_are_wide(spline)) ? 1 : 0;
    if (has_nodes || has_knots) {
        return false;
    }
    /* Nothing can be saved: there is a gap of 65,536 pages, which no segment
       spans, or the top level is full. */
    entries_drop(spline, entry_fits(spline, 0) ? 0 : 2, 1);
    return true;
}

void esk_spline_drop(struct esk_spline *spline) {
    struct esk_spline_level *own = level_own(spline, spline->nodes.full_level);
    uint16_t batch = esk_spline_array_batch(spline);
    uint16_t most = (uint16_t)(own->count - 1u);
    if (most == 0) {
        own->saved = 1; /* the last knot stays and is not saved again */
        return;
    }
    entries_drop(spline, spline->nodes.full_level, batch < most ? batch : most);
}

/* ----------------------------------------------------------------- saving */

static uint8_t *node_at(const struct esk_spline *spline, uint8_t *section,
                        uint16_t index) {
    return section + (size_t)index * ESK_SPLINE_SECTION_ENTRY_BYTES(
                                         esk_spline_key_bytes(spline));
}

static void key_store(const struct esk_spline *spline, uint8_t *bytes,
                      esk_key key) {
    for (uint8_t i = 0; i < esk_spline_key_bytes(spline); i++) {
        bytes[i] = (uint8_t)(key & 0xFFu);
        key = (esk_key)(key >> 8);
    }
}

/// Writes entry `from` of `level` as entry `to` of `section`.
static void node_put(const struct esk_spline *spline, uint8_t *section,
                     uint16_t to, uint8_t level, uint16_t from) {
    struct esk_spline_entry entry;
    entry_get(spline, level, from, &entry);
    uint8_t *bytes = node_at(spline, section, to);
    key_store(spline, bytes, entry.key);
    esk_store_u32(bytes + esk_spline_key_bytes(spline), entry.position);
}

uint16_t esk_spline_save(struct esk_spline *spline, uint8_t level,
                         uint8_t *section, uint16_t count, uint16_t room) {
    uint16_t from = level_at(spline, level)->saved;
    uint16_t left = esk_spline_unsaved(spline, level);
    spline->nodes.pending = 0;
    spline->nodes.pending_new_node = count == 0;
    if (count == 0 && from != 0) {
        node_put(spline, section, count, level, (uint16_t)(from - 1u));
        count++;
    }
    for (; left != 0 && count < room; left--) {
        node_put(spline, section, count, level, from);
        count++;
        from++;
        spline->nodes.pending++;
    }
    if (count != 0) {
        spline->nodes.pending_key = esk_spline_key_load(spline, section);
    }
    return count;
}

/// Appends an entry for a new node to `level`. This must succeed: if nothing
/// else helps, the oldest entry is dropped.
static void node_name(struct esk_spline *spline, uint8_t level,
                      uint32_t position) {
    while (!entry_fits(spline, level)) {
        if (!saved_drop(spline)) {
            entries_drop(spline, level_at(spline, 2)->count != 0 ? 2 : 1, 1);
        }
    }
    struct esk_spline_entry node = {spline->nodes.pending_key, position};
    entry_insert(spline, level, level_at(spline, level)->count, &node);
}

/// Sets the position of the level's last entry.
static void node_moved(struct esk_spline *spline, uint8_t level,
                       uint32_t position) {
    uint16_t last = (uint16_t)(level_at(spline, level)->count - 1u);
    esk_store_u32(entry_at(spline, level, last) + esk_spline_key_bytes(spline),
                  position);
}

void esk_spline_saved(struct esk_spline *spline, uint8_t level, uint16_t count,
                      uint32_t index_position) {
    struct esk_spline_level *own = level_own(spline, level);
    struct esk_spline_node *node = &spline->nodes.node[level];
    bool was_open = node->open_count != 0;
    uint16_t unsaved = esk_spline_unsaved(spline, level);
    if (spline->nodes.pending > unsaved) {
        spline->nodes.pending = unsaved; /* some were dropped in between */
    }
    own->saved = (uint16_t)(own->saved + spline->nodes.pending);
    spline->nodes.pending = 0;
    if (level == 0 && spline->fresh > (uint16_t)(own->count - own->saved)) {
        spline->fresh = (uint16_t)(own->count - own->saved);
    }
    if (was_open && spline->nodes.pending_new_node) {
        node->closed_position = node->open_position;
    }
    node->open_count = count;
    node->open_position = index_position;
    if (!was_open || spline->nodes.pending_new_node) {
        node_name(spline, (uint8_t)(level + 1u), index_position);
    } else {
        node_moved(spline, (uint8_t)(level + 1u), index_position);
    }
}

uint16_t esk_spline_take_new(struct esk_spline *spline, uint8_t *section,
                             uint16_t room) {
    uint16_t count = spline->fresh < room ? spline->fresh : room;
    uint16_t from = (uint16_t)(spline->level.count - spline->fresh);
    for (uint16_t i = 0; i < count; i++) {
        node_put(spline, section, i, 0, (uint16_t)(from + i));
    }
    spline->fresh = (uint16_t)(spline->fresh - count);
    return count;
}

void esk_spline_trim_nodes(struct esk_spline *spline, uint32_t index_tail) {
    struct esk_spline_entry entry;
    for (uint8_t i = 1; i < ESK_SPLINE_LEVEL_COUNT; i++) {
        uint16_t gone = 0;
        while (gone < level_at(spline, i)->count) {
            entry_get(spline, i, gone, &entry);
            if (entry.position >= index_tail) {
                break;
            }
            gone++;
        }
        if (gone != 0) {
            entries_drop(spline, i, gone);
        }
        if (spline->nodes.node[i - 1u].closed_position < index_tail) {
            spline->nodes.node[i - 1u].closed_position = ESK_SPLINE_NONE;
        }
    }
}

/* --------------------------------------------------------------- recovery */

/// Inserts an entry below the newer ones of `level`, just above the saved ones.
/// False when it is there already, out of order, out of range or out of room.
static bool node_restore_entry(struct esk_spline *spline, uint8_t level,
                               const struct esk_spline_entry *entry) {
    const struct esk_spline_level *own = level_at(spline, level);
    struct esk_spline_entry near;
    uint16_t rank = entry_rank(spline, level, entry->key);
    if (rank != own->saved) {
        return false;
    }
    if (rank != 0) {
        entry_get(spline, level, (uint16_t)(rank - 1u), &near);
        if (near.key == entry->key || near.position >= entry->position) {
            return false;
        }
    }
    if (rank != own->count) {
        entry_get(spline, level, rank, &near);
        if (near.position <= entry->position ||
            (level == 0 &&
             spline->knot_position - entry->position > UINT16_MAX)) {
            return false;
        }
    }
    while (!entry_fits(spline, level)) {
        /* Nodes take precedence over copies of their entries. One copy stays in
           each level: it shows which nodes are there already. */
        uint8_t from = spline->level.saved > 1 ? 0 : 1;
        if (level == 0 || level_at(spline, from)->saved < 2) {
            return false;
        }
        entries_drop(spline, from, 1);
    }
    entry_insert(spline, level, rank, entry);
    return true;
}

/// Copies entries of a closed node into RAM, below those of the node after it,
/// whose first entry repeats this node's last. Without that entry there would
/// be a gap, so nothing is copied.
static void node_restore_copies(struct esk_spline *spline, uint8_t level,
                                const uint8_t *section, uint16_t count) {
    struct esk_spline_level *own = level_own(spline, level);
    struct esk_spline_entry entry;
    struct esk_spline_entry oldest;
    if (own->count == 0) {
        return;
    }
    entry_get(spline, level, 0, &oldest);
    count--;
    esk_spline_section_get(spline, section, count, &entry);
    if (entry.key != oldest.key) {
        return;
    }
    while (count > 0 && entry_fits(spline, level)) {
        count--;
        esk_spline_section_get(spline, section, count, &entry);
        if (entry.key >= oldest.key || entry.position >= oldest.position ||
            (level == 0 &&
             spline->knot_position - entry.position > UINT16_MAX)) {
            return;
        }
        entry_insert(spline, level, 0, &entry);
        own->saved++;
        oldest = entry;
    }
}

bool esk_spline_restore_node(struct esk_spline *spline, uint8_t level,
                             const uint8_t *section, uint16_t count,
                             uint32_t index_position, bool open) {
    struct esk_spline_node *node = &spline->nodes.node[level];
    struct esk_spline_entry entry;
    uint16_t loaded = 0;
    if (count == 0) {
        return false;
    }
    esk_spline_section_get(spline, section, 0, &entry);
    entry.position = index_position;
    if (!node_restore_entry(spline, (uint8_t)(level + 1u), &entry)) {
        return false;
    }
    if (!open) {
        if (node->closed_position == ESK_SPLINE_NONE) {
            node->closed_position = index_position;
        }
        node_restore_copies(spline, level, section, count);
        return true;
    }
    node->open_count = count;
    node->open_position = index_position;
    /* Newest first, each below the one before; half the RAM is for knots. */
    while (count > 0 && (loaded == 0 || knots_are_wide(spline))) {
        count--;
        esk_spline_section_get(spline, section, count, &entry);
        if (!node_restore_entry(spline, level, &entry)) {
            break;
        }
        if (level == 0 && loaded == 0) {
            spline->has_last = true;
            spline->last.key = entry.key;
            spline->last.position = entry.position;
        }
        loaded++;
    }
    level_own(spline, level)->saved = loaded;
    return true;
}

/// Adds a knot that must be added: what cannot be saved now is thinned more.
/// Returns whether the knot was above the newest one.
static bool knot_force(struct esk_spline *spline,
                       const struct esk_spline_entry *knot) {
    if (!esk_spline_is_new(spline, knot)) {
        return false;
    }
    while (esk_spline_push(spline, knot) != ESK_OK) {
        if (esk_spline_evict(spline)) {
            continue;
        }
        if (spline->nodes.full_level == 0) {
            esk_spline_ease(spline);
        } else {
            esk_spline_drop(spline);
        }
    }
    return true;
}

void esk_spline_restore_knot(struct esk_spline *spline,
                             const struct esk_spline_entry *knot) {
    if (knot_force(spline, knot)) {
        spline->fresh--; /* it came from an index page */
    }
}

void esk_spline_restore_last(struct esk_spline *spline,
                             const struct esk_spline_entry *last) {
    (void)knot_force(spline, last);
}
