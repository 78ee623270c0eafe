// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A TNC on flash: nodes are packed in the pages of a ring.
///
///     | leaf leaf leaf | leaf inner leaf | leaf inner root commit |
///
/// A commit appends the dirty nodes, children first, and ends with a page that
/// has the root and commits. A mount reads the newest committed root, so after
/// power loss the tree is that of the last complete commit. Between commits
/// changes are in RAM only.
///
/// A child in the same page is named SELF, so a page that fails to program is
/// written to the next position without a change.
///
/// Garbage: the *sweep* writes the leaves again in key order, some in each step
/// that room needs. At the end of a pass every node is younger than the pass's
/// beginning, so the tail moves there. Nodes, all counted as full ones, may
/// take less than a third of the region.
#ifndef ESK_TABLE_TREE_TNC_TNC_PAGES_H
#define ESK_TABLE_TREE_TNC_TNC_PAGES_H

#include "flash/ring.h"
#include "table/tree/tnc/tnc.h"

/// The sweep's progress. In every commit.
struct esk_tnc_sweep {
    uint32_t begun; ///< position where the pass began
    uint32_t swept; ///< nodes that the pass has written
    bool has_key;   ///< false: the pass is at the first leaf
    uint8_t *key;   ///< the last key that it has written
};

struct esk_tnc_pages {
    struct esk_tnc tnc;
    struct esk_ring ring;
    struct esk_region_stats stats;
    struct esk_tnc_sweep sweep;
    uint8_t *read;       ///< the page that was read last
    uint8_t *fill;       ///< the page that is being filled
    uint32_t read_at;    ///< its position; ESK_PAGE_NONE: none
    uint32_t fill_at;    ///< page of the region where it is expected
    uint16_t fill_bytes; ///< end of its nodes; 0: no page is begun
    uint8_t fill_nodes;  ///< in it
    bool ready;          ///< what power loss left was erased
    uint16_t page_nodes; ///< nodes that fit a page, whatever their count
    uint32_t committed;  ///< position of the last commit; or ESK_PAGE_NONE
    uint32_t dirty_most; ///< nodes of a commit, if the caller makes none
    uint32_t good_pages; ///< of the region, without bad blocks
    uint32_t good_seen;  ///< failures when they were counted, plus 1; or 0
};

/// Bytes of memory for `nodes` nodes, exactly.
uint32_t esk_tnc_pages_memory_bytes(const struct esk_tnc_config *config,
                                    uint16_t page_bytes, uint32_t nodes);

/// Mounts the tree in the region; an empty region is an empty tree.
///
/// config   io and context are not used.
/// memory   as esk_tnc_init.
/// Returns  ESK_OK; ESK_E_INVALID as esk_tnc_init, or when a page has no room
///          for a node or a commit; ESK_E_LIMIT: too many pages; ESK_E_IO;
///          ESK_E_NO_MEMORY; ESK_E_CORRUPT.
/// Costs    as esk_ring_mount, and 1 or 2 page reads.
int esk_tnc_pages_mount(struct esk_tnc_pages *store, struct esk_volume *volume,
                        const struct esk_ring_config *region,
                        const struct esk_tnc_config *config, void *memory,
                        uint32_t bytes);

/// esk_tnc_put; before that makes room on flash for the next commits. Read by
/// esk_tnc_get and esk_tnc_above of store->tnc.
/// Returns  also ESK_FULL: no room for a new row; rows can be changed and
///          deleted. ESK_E_IO, ESK_E_WORN, ESK_E_READ_ONLY.
/// Costs    also, when room is needed: for each page that changes wrote about
///          two pages of the sweep.
int esk_tnc_pages_put(struct esk_tnc_pages *store, const void *row);

/// esk_tnc_delete; likewise.
int esk_tnc_pages_delete(struct esk_tnc_pages *store, const void *key);

/// Makes every change durable.
/// Returns  as esk_tnc_commit.
int esk_tnc_pages_sync(struct esk_tnc_pages *store);

/* What the two files share. */

/// Reads, writes and commits nodes; context: struct esk_tnc_pages.
extern const struct esk_tnc_io esk_tnc_pages_io;

/// Most pages that a commit of `nodes` nodes appends.
static inline uint32_t esk_tnc_pages_of(const struct esk_tnc_pages *store,
                                        uint32_t nodes) {
    /* The last page is not full, and the commit may need one more. */
    return nodes / store->page_nodes + 2u;
}

/// Makes room for a change and the commits that it may cause.
/// Returns  ESK_OK; ESK_FULL: not even for the next commit.
int esk_tnc_pages_room(struct esk_tnc_pages *store);

/// Whether the tree has as many nodes as the sweep can keep room for.
bool esk_tnc_pages_is_full(const struct esk_tnc_pages *store);

#endif
