// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Planning a tree table before there is one: how high it gets, how much of
/// the medium it takes, what an update programs, how long the part lasts.
///
///     rows, entry widths, page, store, k
///         -> entries a node -> height, pages -> programs -> years
///
/// The model is that of mutree-2007, section 4 (nodes all full: the lowest
/// tree, the fewest pages) and of lrun-kmutree-2012, section IV (every node
/// half full: the highest tree), in whole entries instead of logarithms.
/// What is between the two, at `fill_percent`, is an expectation and says so.
/// Deletions are not in it: nodes that emptied are not refilled.
///
/// Nothing here touches a medium; integers only, a few thousand steps.
#ifndef ESKER_TREE_PLAN_H
#define ESKER_TREE_PLAN_H

#include <stdint.h>

#include "esker/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

enum esk_tree_plan_limits {
    ESK_TREE_PLAN_HEIGHT_MAX = 8,
    ESK_TREE_PLAN_K_MIN = 10, ///< least and most k considered, in percent
    ESK_TREE_PLAN_K_MAX = 90,
    /// Mean fill of nodes after random inserts, ln 2; after rising keys it
    /// is 100, after random inserts and splits in halves never below 50.
    ESK_TREE_PLAN_FILL_RANDOM = 69,
};

/// Said of a lifetime that the 32 bits do not hold.
#define ESK_TREE_PLAN_DAYS_MAX UINT32_MAX

/// What is known before. Zero means the default where one is named.
struct esk_tree_need {
    uint32_t rows;          ///< the most the tree is to hold, from 1
    uint32_t updates_a_day; ///< puts and deletes; 0: no lifetime is given
    uint32_t endurance;     ///< erases a block stands; 0: no lifetime
    uint32_t blocks;        ///< of the table's region; 0: the least
    uint16_t block_pages;
    uint16_t page_bytes;
    uint16_t page_header_bytes; ///< of a page, in no node
    uint16_t node_header_bytes; ///< of a node, in no entry
    uint16_t leaf_entry_bytes;  ///< a row
    uint16_t index_entry_bytes; ///< a key and a page number
    uint8_t store;              ///< enum esk_tree_store
    uint8_t k_percent;    ///< share of the leaf's level in a page; 0: best
    uint8_t height_most;  ///< when the best k is sought; 0: any
    uint8_t fill_percent; ///< 50 .. 100; 0: ESK_TREE_PLAN_FILL_RANDOM
};

/// What follows.
struct esk_tree_plan {
    uint32_t rows_sure;    ///< rows the tree holds however they arrive
    uint32_t pages_least;  ///< live pages when every node is full
    uint32_t pages;        ///< live pages at fill_percent
    uint32_t blocks_least; ///< a region with room to regain space in
    /// Page programs an update in thousandths, splits in it: before space
    /// is regained; with that, updates uniform over the keys; at the most,
    /// whatever the updates are.
    uint32_t programs_milli;
    uint32_t programs_gc_milli;
    uint32_t programs_most_milli; ///< UINT32_MAX: the region is too small
    uint32_t life_days;           ///< at programs_most_milli; 0: not asked for
    uint16_t leaf_entries;
    uint8_t k_percent;    ///< given or best; 100 for other stores than mu
    uint8_t height;       ///< at fill_percent: page reads a get
    uint8_t height_least; ///< of a tree of full nodes
    uint8_t height_most;  ///< of a tree of half-full nodes
};

/// Sets the header bytes of `need` to what EskerDB's pages of need->store
/// take. The papers reckon with 0.
void esk_tree_plan_headers(struct esk_tree_need *need);

/// Entries of a node at `level` (1: the leaf) of a tree of `height`.
/// Returns  0 when such a node cannot be.
/// lrun-kmutree-2012, section IV; with k_percent 50 mutree-2007, eq. (4).
uint16_t esk_tree_plan_entries(const struct esk_tree_need *need,
                               uint8_t k_percent, uint8_t level,
                               uint8_t height);

/// The largest k at which a tree holds need->rows however they arrive, no
/// higher than need->height_most: the fewest pages. lrun-kmutree-2012,
/// formula (1).
/// Returns  ESK_OK with `k_percent` set; ESK_NOT_FOUND when there is none.
int esk_tree_plan_best_k(const struct esk_tree_need *need, uint8_t *k_percent);

/// Fills `plan` for `need`.
/// Returns  ESK_OK; ESK_E_INVALID when a width, a count or the store makes
///          no sense; ESK_NOT_FOUND when a tree of this page, these entries
///          and this k need not hold the rows: ask with a larger page.
int esk_tree_plan(const struct esk_tree_need *need, struct esk_tree_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
