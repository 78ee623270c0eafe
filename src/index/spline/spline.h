// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The spline key index: maps a key to a data page, in the caller's bytes.
///
/// Greedy one-pass spline over the points (first key of a data page, page
/// position), after embeddb-2024 section 3.3.1, with a fractional error bound
/// and without loss. When RAM is full, the error bound rises; at its maximum,
/// old entries are saved on index pages ("nodes"), and RAM has one entry for
/// each node.
///
///     RAM array:  [ level 2 ][ level 1 ][ level 0 ]     keys rise in a level
///     level 0 entry  = knot: (first key of data page p, p)
///     level l entry  = (first key of a level l-1 node, its index position)
///
/// The open node, too, has an entry from its first save on, the last one of the
/// level above. Saving the node again moves that entry to the new copy. So a
/// lookup reaches open and closed nodes in the same way.
///
/// The spline does no I/O. The caller (the series' index log) programs nodes
/// and calls esk_spline_saved with their positions. Positions only rise.
///
/// Invariants
///  1. Keys and positions rise strictly through a level.
///  2. Every level-0 entry is in RAM or on a node that an entry of level 1
///     names (in RAM or, in turn, on a node). Entries in RAM are the newest
///     of their level, and include the last saved one.
///  3. Within a segment the predicted position of any data page's first key
///     is off by at most error_16ths / 16 pages before rounding.
///  4. A node's first entry repeats the last entry of the node before it, so
///     a key between two nodes belongs to exactly one.
#ifndef ESK_INDEX_SPLINE_H
#define ESK_INDEX_SPLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shape.h"
#include "esker/schema.h"
#include "esker/status.h"

enum {
    ESK_SPLINE_LEVEL_COUNT = 3,
    ESK_SPLINE_ERROR_MIN_16THS = 2,
    ESK_SPLINE_ERROR_MAX_16THS = 10,
    ESK_SPLINE_POSITION_BYTES = 4, ///< of a position in a node
};

/// No index position has this value.
#define ESK_SPLINE_NONE UINT32_MAX

/// Bytes of one entry in a section of an index page.
#define ESK_SPLINE_SECTION_ENTRY_BYTES(key_bytes)                              \
    ((key_bytes) + (unsigned)ESK_SPLINE_POSITION_BYTES)

/// Least RAM: two knots and a node's entry for each level.
#define ESK_SPLINE_BYTES_MIN(key_bytes) (4u * (key_bytes) + 12u)

/// One level: how many of its newest entries are in RAM, and how many of these
/// (the oldest) are also on a node.
struct esk_spline_level {
    uint16_t count; ///< entries in RAM
    uint16_t saved; ///< leading entries in RAM that a node holds
};

/// The newest nodes of a level: the open one and the one before it.
struct esk_spline_node {
    uint32_t open_position;   ///< of the open node; ESK_SPLINE_NONE
    uint32_t closed_position; ///< newest closed node; ESK_SPLINE_NONE
    uint16_t open_count;      ///< entries on the open node; 0: none is open
};

/// rise / run, in 1/16 page a key.
struct esk_spline_slope {
    esk_key run;
    uint32_t rise;
};

/// A knot, or a node's first key and its index position.
struct esk_spline_entry {
    esk_key key;
    uint32_t position;
};

/// What only a spline with nodes has.
struct esk_spline_nodes {
    struct esk_spline_level level[ESK_SPLINE_LEVEL_COUNT - 1]; ///< from 1
    struct esk_spline_node node[ESK_SPLINE_LEVEL_COUNT - 1];   ///< from 0 on
    esk_key pending_key; ///< first key of the section saved last
    uint16_t pending;    ///< entries that esk_spline_save appended last
    uint16_t bytes;      ///< of entries, in front of the knots
    uint8_t full_level;  ///< level to save after the last esk_spline_evict
    bool pending_new_node;
};

/// A spline. The fields are its own; callers may read error_16ths, level and
/// nodes.
struct esk_spline {
    uint8_t *knots; ///< packed, see spline_array.h; entries of nodes in front
    struct esk_spline_level level; ///< the knots'
    uint32_t knot_position;        ///< of the newest knot
    uint16_t bytes;                ///< from `knots` on
    uint16_t fresh;                ///< newest knots that are on no index page
    uint16_t thin_next;            ///< first knot that the running thinning has
                                   ///< not checked
    uint16_t thin_end;             ///< first knot that it does not check
    uint8_t thin_slack;            ///< 1/16 pages that the thinning may add
    uint8_t key_bytes;             ///< 1, 2, 4 or 8
    uint8_t error_16ths;           ///< the present bound
    uint8_t error_max;             ///< the highest bound
    bool has_last;
    struct esk_spline_entry last; ///< the newest point
    /* The corridor: the lines from the last knot that are within the error
       bound of all points since are between these two. run 0: no point yet. */
    struct esk_spline_slope upper;
    struct esk_spline_slope lower;
    /* The last member: a spline without nodes may end before it. */
    struct esk_spline_nodes nodes;
};

/// Bytes of a key.
static inline uint8_t esk_spline_key_bytes(const struct esk_spline *spline) {
    return ESK_SHAPED_SERIES(esk_shape_series.key_bytes, spline->key_bytes);
}

/// Whether the program's splines can have nodes: with the index log.
static inline bool esk_spline_has_nodes(void) {
    return ESK_SHAPED_PARTS(esk_shape_parts.log != NULL, true);
}

/// Makes an empty spline. With nodes esk_spline_nodes_init has to follow.
///
/// memory   borrowed for the spline's life; any alignment.
/// bytes    ESK_SPLINE_BYTES_MIN(key_bytes) .. 65535.
/// key_bytes  1, 2, 4 or 8, not wider than esk_key.
/// error_16ths  the bound; 0: adaptive, 2/16 until RAM is full, then 10/16.
void esk_spline_init(struct esk_spline *spline, void *memory, uint16_t bytes,
                     uint8_t key_bytes, uint8_t error_16ths);

/// Adds a data page: its first key (order form) and its position.
///
/// Keys and positions rise; a point that does not rise is ignored (ESK_OK).
/// Returns  ESK_OK; ESK_FULL: nothing was added. Make room, and add again: with
///          nodes see esk_spline_evict, else esk_spline_ease.
/// Costs    no I/O; at most one pass over the entries.
int esk_spline_add(struct esk_spline *spline, esk_key key, uint32_t position);

/// Makes room without saving: raises the bound by 4/16 page, up to 15 pages;
/// above that, or when knots are 65,536 pages apart, drops the oldest knots.
void esk_spline_ease(struct esk_spline *spline);

/// Searches `key` (order form) in the knots in RAM.
///
/// position  out, untouched unless ESK_OK: the data page to try first. Pages
///           above the newest point are not in the spline: a key above it gets
///           the newest page.
/// Returns   ESK_OK; ESK_NOT_FOUND when the key is below all knots.
/// Costs     a binary search; no division.
int esk_spline_find(const struct esk_spline *spline, esk_key key,
                    uint32_t *position);

/// The newest point added. Returns false when there is none.
bool esk_spline_last(const struct esk_spline *spline, esk_key *key,
                     uint32_t *position);

/// Drops knots whose segments are all below `data_tail`.
void esk_spline_trim(struct esk_spline *spline, uint32_t data_tail);

/* spline_node.c: with nodes. */

/// Result of a lookup.
struct esk_spline_hit {
    uint8_t level;     ///< 0: a data page. Else: read node `position`, whose
                       ///< entries are of level `level` - 1
    uint32_t position; ///< the data page to try first, or the node's index
                       ///< position
};

/// Makes an empty spline one without nodes so far.
void esk_spline_nodes_init(struct esk_spline *spline);

/// Makes room after ESK_FULL: removes a few entries that are on a node.
/// Returns whether it did. Else save esk_spline_full_level (save, program,
/// saved) and add again; if that is impossible call esk_spline_drop.
bool esk_spline_evict(struct esk_spline *spline);

/// The level to save after the last esk_spline_evict.
uint8_t esk_spline_full_level(const struct esk_spline *spline);

/// Makes room: drops the oldest entries of the full level that are on no node.
/// A lookup of their keys returns ESK_NOT_FOUND from then on.
void esk_spline_drop(struct esk_spline *spline);

/// Entries of `level` in RAM that are on no node and may be saved.
uint16_t esk_spline_unsaved(const struct esk_spline *spline, uint8_t level);

/// Appends unsaved entries to a node's bytes, as far as they fit.
///
/// section  in and out: `count` entries of the open node as read from flash
///          (count == node[level].open_count), or none (0) to start a new
///          node, which begins with a repeat of the last saved entry.
/// room     entries that fit the section, at least 2.
/// Returns  the new count. Nothing is recorded until esk_spline_saved.
uint16_t esk_spline_save(struct esk_spline *spline, uint8_t level,
                         uint8_t *section, uint16_t count, uint16_t room);

/// Records that the section of the last esk_spline_save is on flash.
///
/// index_position  of its page. A new node closes the one before it:
///                 open_position becomes closed_position.
void esk_spline_saved(struct esk_spline *spline, uint8_t level, uint16_t count,
                      uint32_t index_position);

/// Searches the node of a key that esk_spline_find did not find.
/// Returns  ESK_OK; ESK_NOT_FOUND when the key is below all entries.
int esk_spline_find_node(const struct esk_spline *spline, esk_key key,
                         struct esk_spline_hit *hit);

/// Searches `key` in a node that esk_spline_find_node or this call returned.
///
/// section  `count` entries of level `entry_level` (hit->level - 1).
/// Returns  as esk_spline_find_node. Hostile bytes give a wrong hit, at most
///          the newest position, never a bad access.
int esk_spline_find_in(const struct esk_spline *spline, const uint8_t *section,
                       uint16_t count, uint8_t entry_level, esk_key key,
                       struct esk_spline_hit *hit);

/// Packs the knots that are on no index page into `section`, oldest first, at
/// most `room`, and marks them as written. They stay unsaved. Returns how many.
uint16_t esk_spline_take_new(struct esk_spline *spline, uint8_t *section,
                             uint16_t room);

/// Reads entry `index` of a section.
void esk_spline_section_get(const struct esk_spline *spline,
                            const uint8_t *section, uint16_t index,
                            struct esk_spline_entry *entry);

/// Recovery at mount, in this order, on an empty spline. With a node and with
/// new knots the caller stores the error_16ths of that moment, and calls
/// restore_error with it first.
///
///   1. restore_node: level 0's open node, level 1's open node (open = true);
///      then level 0's closed nodes, newest to oldest, until it returns
///      false; then level 1's closed nodes likewise.
///   2. restore_knot for each knot in esk_spline_take_new sections, oldest
///      first. Those not above the open node's last entry are ignored. So,
///      going back in the log, the first page with only such knots is the last
///      page to read. Saving level 0 now and then bounds this walk: a save is
///      legal whenever esk_spline_unsaved is not 0.
///   3. restore_last with the last point of the newest index page; then
///      esk_spline_add for the data pages after it.
///
/// A missing step costs reads (keys that are ESK_NOT_FOUND, wider segments),
/// never a wrong hit.
///
/// Returns true when the node was added; false when its entry is there already
/// or out of order, or there is no room: then older nodes are not needed.
bool esk_spline_restore_node(struct esk_spline *spline, uint8_t level,
                             const uint8_t *section, uint16_t count,
                             uint32_t index_position, bool open);

/// Sets the bound of the entries that follow.
void esk_spline_restore_error(struct esk_spline *spline, uint8_t error_16ths);

/// Adds a knot from an index page, unless it is not above the newest one. When
/// RAM is full the bound rises, above its maximum if necessary.
void esk_spline_restore_knot(struct esk_spline *spline,
                             const struct esk_spline_entry *knot);

/// Adds the corridor's stored newest point as a knot, which is legal because
/// the corridor was open there.
void esk_spline_restore_last(struct esk_spline *spline,
                             const struct esk_spline_entry *last);

/// Drops entries whose node is below `index_tail`.
void esk_spline_trim_nodes(struct esk_spline *spline, uint32_t index_tail);

/// Entries in RAM, all levels.
static inline uint16_t esk_spline_entries(const struct esk_spline *spline) {
    uint16_t count = spline->level.count;
    for (uint8_t i = 0; i < ESK_SPLINE_LEVEL_COUNT - 1; i++) {
        count = (uint16_t)(count + spline->nodes.level[i].count);
    }
    return count;
}

#endif
