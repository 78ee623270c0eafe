// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Merging in place: a change of several pages, through the journal.
///
/// Joining two nodes writes two pages: the left node with the entries of both,
/// and the parent without the right one. A parent that is joined in turn, or a
/// root that loses a level, adds one page each. The page of the right node is
/// free, because no node names it.
///
/// In a batch the pages are the batch's. A write that fails during a merge
/// leaves a batch that can only be aborted.
///
/// Invariant: a node's aux is the node to its right, or none. A joined node
/// has the aux of the right one, so no aux is a free page.
#include "table/tree/inplace/inplace.h"
#include "table/tree/tree_merge.h"

/// Records that page `freed` has no node any more.
static void page_leave(struct esk_tree *tree, uint32_t freed) {
    esk_pool_forget(&tree->pool, freed);
    tree->spares->none = false;
}

/// Takes a level off a root whose two children were joined: the root gets the
/// entries of the remaining child, which has two children or is a leaf.
static int root_shrink(struct esk_tree *tree, struct esk_tree_work *work,
                       struct esk_btree_node *node) {
    struct esk_tree_work below;
    struct esk_btree_node from;
    uint8_t level = (uint8_t)(work->level - 1u);
    if (level == 0 || esk_btree_count(node) > 1) {
        return ESK_OK;
    }
    esk_address child = esk_address_load(esk_btree_child(node, 0));
    ESK_TRY(esk_tree_pin(tree, child, level, &below, &from));
    tree->now.height = level;
    work->level = level;
    esk_btree_view(esk_tree_layout_given(tree), work->page, level, level, node);
    esk_store_u16(node->count, 0);
    esk_btree_join(node, 0, &from);
    esk_tree_unpin(tree, &below);
    page_leave(tree, child);
    return ESK_OK;
}

static int inplace_join(struct esk_tree *tree, struct esk_tree_work *work,
                        struct esk_btree_node *node,
                        struct esk_tree_outcome *outcome) {
    struct esk_tree_joined joined;
    uint32_t freed = work->address;
    if (work->level == tree->now.height) {
        return root_shrink(tree, work, node);
    }
    /* Without room for one page of each level nothing is joined. */
    if (!tree->redirects &&
        (esk_btree_count(node) > node->capacity / 2u ||
         esk_inplace_journal_open(tree, tree->now.height) != ESK_OK)) {
        return ESK_OK;
    }
    if (!esk_tree_join(tree, work, node, &joined)) {
        tree->redirects = tree->in_batch || esk_tree_batch(tree)->used > 0;
        return ESK_OK;
    }
    outcome->right_gone = true;
    esk_tree_batch(tree)->joining = true;
    if (joined.right) {
        esk_store_u32(work->page + ESK_ENVELOPE_AUX, joined.link);
        freed = joined.address;
    } else {
        /* The node's page is now that of the left one. */
        work->address = joined.address;
        tree->path.address[work->level - 1] = joined.address;
    }
    page_leave(tree, freed);
    return ESK_OK;
}

static int inplace_merge_end(struct esk_tree *tree) {
    esk_tree_batch(tree)->joining = false;
    return tree->redirects && !tree->in_batch ? esk_inplace_journal_commit(tree)
                                              : ESK_OK;
}

const struct esk_tree_merge esk_merge_inplace = {
    .join = inplace_join,
    .end = inplace_merge_end,
    .batches = &esk_batches_inplace,
    .flags = ESK_STORE_OVERWRITES,
};
