// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a store whose nodes keep their page shares with its merging.
#ifndef ESK_TABLE_TREE_INPLACE_INPLACE_H
#define ESK_TABLE_TREE_INPLACE_INPLACE_H

#include "table/tree/tree.h"

enum {
    ESK_INPLACE_JOURNAL = 0,
    ESK_INPLACE_ROOT = 1,
    ESK_INPLACE_FIRST = 2,                        ///< first that a split takes
    ESK_INPLACE_BATCH = ESK_BTREE_HEIGHT_MAX + 1, ///< level of a batch's record
};

/// Reads region page `at`, twice if it does not prove itself. Whatever level it
/// says it is, it has to prove.
/// level    out; 0: a page of the free list.
/// Returns  ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_inplace_read(struct esk_tree *tree, uint32_t at, uint8_t *page,
                     bool verify, uint8_t *level);

/// Writes a page whose elements and count are filled in. A cut leaves the old
/// one or the new one.
/// link     its aux.
int esk_inplace_write(struct esk_tree *tree, uint32_t at, uint8_t *page,
                      uint8_t level, uint32_t link);

/// Makes what was written survive a cut, whatever the medium caches.
int esk_inplace_sync(const struct esk_tree *tree);

/// Holds back what follows until what was written is safe, where a medium
/// writes in another order than it was told.
int esk_inplace_settle(struct esk_tree *tree);

/// Programs region page `at` whole; a cut may tear it where the medium does.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_WORN.
int esk_inplace_program(struct esk_tree *tree, uint32_t at,
                        const uint8_t *page);

/// What leads to a node.
enum esk_inplace_name {
    ESK_INPLACE_UNKNOWN, ///< it, or the way to it, cannot be read
    ESK_INPLACE_PARENT,
    ESK_INPLACE_LEFT, ///< only its left neighbour: its split was interrupted
    ESK_INPLACE_NOBODY,
};

/// Looks what leads to the node on region page `at`, along tree->path.
/// level    out: of the node.
/// Returns  ESK_OK; ESK_E_IO.
int esk_inplace_named(struct esk_tree *tree, uint32_t at, uint8_t *level,
                      enum esk_inplace_name *name);

/// Tells the parent of a node that a cut left without one, after
/// esk_inplace_named: tree->probe and tree->low are its key and its left
/// neighbour's.
int esk_inplace_link(struct esk_tree *tree, uint8_t level, uint32_t at);

/// Completes a split that took pages never used: at most one node a level, the
/// last that were made. Those that nobody names are taken back.
int esk_inplace_repair_made(struct esk_tree *tree);

#endif
