// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Room and wear of a tree's region.
#include "table/tree/tree.h"

void esk_tree_space(const struct esk_tree *tree, struct esk_space *space) {
    ESK_ASSERT(space != NULL);
    struct esk_tree_stats stats;
    memset(space, 0, sizeof *space);
    if (esk_table_live(tree) != ESK_OK) {
        return;
    }
    esk_tree_stats(tree, &stats);
    if (esk_tree_overwrites(tree)) {
        space->pages = esk_ring_pages(&tree->ring);
    } else {
        esk_ring_space(&tree->ring, space);
    }
    space->pages_used = stats.nodes;
    space->pages_free =
        stats.nodes < stats.nodes_max ? stats.nodes_max - stats.nodes : 0;
}
