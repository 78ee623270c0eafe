// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the stores in place.
///
///     0        1      2      3 ...       head        end of nodes
///     journal  root   list   nodes       never used  slots
#ifndef ESK_TABLE_TREE_INPLACE_INPLACE_H
#define ESK_TABLE_TREE_INPLACE_INPLACE_H

#include "table/tree/tree.h"

enum {
    ESK_INPLACE_JOURNAL = 0,
    ESK_INPLACE_ROOT = 1,
    ESK_INPLACE_LIST = 2,  ///< pages for new nodes
    ESK_INPLACE_FIRST = 3, ///< the first page for a new node
    ESK_INPLACE_RECORD = ESK_TREE_HEIGHT_MAX + 1, ///< level of a record
    ESK_INPLACE_SLOTS = 8, ///< pages at the region's end reserved for slots
};

/// The page after those for nodes. Slots begin there.
static ESK_APART_OR_SHAPED esk_address
esk_inplace_end(const struct esk_tree *tree) {
    uint32_t pages = esk_ring_pages(&tree->ring);
    uint32_t slots = pages / ESK_INPLACE_SLOTS;
    return pages - (slots < ESK_INPLACE_SLOTS ? slots : ESK_INPLACE_SLOTS);
}

/* inplace.c */

/// Reads region page `at`, whatever its level.
/// level    out; 0: the list.
/// Returns  ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_inplace_read(struct esk_tree *tree, esk_address at, uint8_t *page,
                     uint8_t *level);

/// Reads slot `at`. home: out, the page that the slot is a copy of.
/// Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_inplace_slot_read(struct esk_tree *tree, esk_address at, uint8_t *page,
                          esk_address *home);

/// Sets the node that a page names, to the right of its own.
static inline void esk_inplace_link(uint8_t *page, uint32_t link) {
    esk_store_u32(page + ESK_ENVELOPE_AUX, link);
}

/// Writes a page whose elements, count and link are filled in, atomically at
/// power loss.
/// fresh    nothing refers to the page yet: it needs no slot.
int esk_inplace_write(struct esk_tree *tree, esk_address at, uint8_t *page,
                      uint8_t level, bool fresh);

/// Programs region page `at`; power loss may tear it.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_WORN.
int esk_inplace_program(struct esk_tree *tree, esk_address at,
                        const uint8_t *page);

/// Makes sure that later writes are not durable before earlier ones.
int esk_inplace_barrier(struct esk_tree *tree);

/* inplace_pages.c */

/// Pages that splits may have taken, in the order of spares.
struct esk_inplace_asked {
    esk_address page[ESK_TREE_SPARES];
    uint8_t count;
};

/// Reads the list. page: scratch. asked: out, from 0 on.
/// Returns  ESK_OK; ESK_E_CORRUPT: the root is lost; ESK_E_IO.
int esk_inplace_pages_load(struct esk_tree *tree, uint8_t *page,
                           struct esk_inplace_asked *asked);

/// Completes the split that took one of `asked`, if there is one.
/// Returns  ESK_OK; ESK_E_READ_ONLY; ESK_E_IO and what a change returns.
int esk_inplace_split_complete(struct esk_tree *tree,
                               const struct esk_inplace_asked *asked);

/// As esk_node_store.refill.
int esk_inplace_refill(struct esk_tree *tree);

/* inplace_journal.c */

/// Redirects writes of pages to slots until esk_inplace_journal_commit.
/// Returns  ESK_OK; ESK_FULL: there are too few slots.
int esk_inplace_journal_open(struct esk_tree *tree, uint32_t slots);

/// Commits the writes since then. Costs 2 writes, and one for each page.
/// Returns  ESK_OK; ESK_E_IO, ESK_E_WORN, ESK_E_CORRUPT: not committed.
int esk_inplace_journal_commit(struct esk_tree *tree);

#endif
