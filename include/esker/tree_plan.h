// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Plans a tree before it is created: its height, its pages, the programs of
/// an update, the years that the part lasts.
///
///     rows, entry widths, page, store, k
///         -> entries a node -> height, pages -> programs -> years
///
/// The model is that of mutree-2007, section 4 (full nodes: the lowest tree,
/// the fewest pages) and of lrun-kmutree-2012, section IV (half-full nodes: the
/// highest tree), in whole entries instead of logarithms. Figures at
/// `fill_percent` are between the two, and are expectations. The model has no
/// deletes: nodes that they empty are not filled again.
///
/// No call here touches a medium. Integers only, a few thousand steps.
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

/// A lifetime that does not fit 32 bits.
#define ESK_TREE_PLAN_DAYS_MAX UINT32_MAX

/// Input. Zero means the default where one is named.
struct esk_tree_need {
    uint32_t rows;          ///< most rows of the tree, at least 1
    uint32_t updates_a_day; ///< puts and deletes; 0: no lifetime is computed
    uint32_t endurance;     ///< erases that a block survives; 0: no lifetime
    uint32_t blocks;        ///< of the table's region; 0: the least
    uint16_t block_pages;
    uint16_t page_bytes;
    uint16_t page_header_bytes; ///< of a page, outside its nodes
    uint16_t node_header_bytes; ///< of a node, outside its entries
    uint16_t leaf_entry_bytes;  ///< a row
    uint16_t index_entry_bytes; ///< a key and a page number
    uint8_t store;              ///< enum esk_tree_store
    uint8_t k_percent;    ///< share of the leaf's level in a page, tnc: of a
                          ///< node; 0: best
    uint8_t height_most;  ///< limit for the best k; 0: none
    uint8_t fill_percent; ///< 50 .. 100; 0: ESK_TREE_PLAN_FILL_RANDOM
    uint8_t frames;       ///< config.frames; 0: the store's default
};

/// Result.
struct esk_tree_plan {
    uint32_t rows_sure;    ///< rows that fit in whatever order they arrive
    uint32_t pages_least;  ///< live pages when every node is full
    uint32_t pages;        ///< live pages at fill_percent
    uint32_t blocks_least; ///< of a region with room for the collector
    uint32_t arena_bytes;  ///< of esk_tree_open, on this processor, no parts
    uint32_t call_pages;   ///< page programs of a put or delete, at most
    /// Page programs an update in thousandths, with splits: without GC; with
    /// GC for updates uniform over the keys; with GC, for any updates, at most.
    /// tnc: with a sync after each update.
    uint32_t programs_milli;
    uint32_t programs_gc_milli;
    uint32_t programs_most_milli; ///< UINT32_MAX: the region is too small
    uint32_t life_days;           ///< at programs_most_milli; 0: not computed
    uint16_t leaf_entries;
    uint8_t k_percent;    ///< given or best; 100 for other stores than mu, tnc
    uint8_t height;       ///< at fill_percent: page reads a get
    uint8_t height_least; ///< of a tree of full nodes
    uint8_t height_most;  ///< of a tree of half-full nodes
    uint8_t frames;       ///< given or the default
    uint8_t frames_least; ///< for height_most
};

/// Sets the header bytes of `need` to those of EskerDB's pages for
/// need->store. The papers use 0.
void esk_tree_plan_headers(struct esk_tree_need *need);

/// Entries of a node at `level` (1: the leaf) of a tree of `height`.
/// Returns  0 when there is no such node.
/// lrun-kmutree-2012, section IV; with k_percent 50 mutree-2007, eq. (4).
uint16_t esk_tree_plan_entries(const struct esk_tree_need *need,
                               uint8_t k_percent, uint8_t level,
                               uint8_t height);

/// Sets `k_percent` to the largest k with which a tree of at most
/// need->height_most levels holds need->rows rows in whatever order they
/// arrive: the fewest pages. lrun-kmutree-2012, formula (1). For tnc to the
/// least from esk_tree_create's default on, in as many levels as the frames
/// allow.
/// Returns  ESK_OK; ESK_NOT_FOUND when there is none.
int esk_tree_plan_best_k(const struct esk_tree_need *need, uint8_t *k_percent);

/// Fills `plan` for `need`.
/// Returns  ESK_OK; ESK_E_INVALID when a width, a count or the store is out of
///          range; ESK_NOT_FOUND when a tree with this page, these entries and
///          this k may not hold the rows: try a larger page.
int esk_tree_plan(const struct esk_tree_need *need, struct esk_tree_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
