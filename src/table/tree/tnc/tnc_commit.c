// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The commit of a TNC (tnc-ubifs-2010, section 6.2): writes dirty nodes, each
/// after the dirty nodes below it, so that a node has its children's addresses
/// when it is written. A walk over dirty nodes alone, because the nodes above a
/// dirty node are dirty.
#include "table/tree/tnc/tnc.h"

/// Copies the node in `slot` into tnc->scratch, its children by address.
/// Returns its bytes.
static uint16_t node_encode(const struct esk_tnc *tnc, uint32_t slot) {
    struct esk_btree_node node;
    esk_tnc_view(tnc, slot, &node);
    uint16_t count = esk_btree_count(&node);
    uint16_t bytes = (uint16_t)(ESK_TREE_NODE_HEAD + count * node.bytes);
    memcpy(tnc->scratch, node.count, bytes);
    node.entries = tnc->scratch + ESK_TREE_NODE_HEAD;
    for (uint16_t i = 0; i < count && tnc->slot[slot].level > 1; i++) {
        uint8_t *child = esk_btree_child(&node, i);
        uint32_t at = esk_load_u32(child);
        if (esk_tnc_is_slot(at)) {
            esk_store_u32(child, tnc->slot[at & ~ESK_TNC_IN_RAM].address);
        }
    }
    return bytes;
}

static int node_write(struct esk_tnc *tnc, uint32_t slot) {
    const struct esk_tnc_io *io = tnc->config.io;
    struct esk_tnc_slot *node = &tnc->slot[slot];
    uint16_t bytes = node_encode(tnc, slot);
    uint32_t address = ESK_PAGE_NONE;
    ESK_TRY(io->write(tnc->config.context, tnc->scratch, bytes, node->level,
                      &address));
    if (esk_tnc_is_slot(address)) {
        return ESK_E_LIMIT;
    }
    if (node->address != ESK_PAGE_NONE && io->drop != NULL) {
        io->drop(tnc->config.context, node->address);
    }
    node->address = address;
    node->flags &= (uint8_t)~ESK_TNC_DIRTY;
    tnc->dirty--;
    tnc->stats.writes++;
    tnc->stats.write_bytes += bytes;
    return ESK_OK;
}

/// The next dirty child of the node in `slot`, from entry *index on;
/// ESK_PAGE_NONE: there is no other.
static uint32_t child_next(const struct esk_tnc *tnc, uint32_t slot,
                           uint16_t *index) {
    struct esk_btree_node node;
    esk_tnc_view(tnc, slot, &node);
    uint16_t count = tnc->slot[slot].children > 0 ? esk_btree_count(&node) : 0;
    while (*index < count) {
        uint32_t child = esk_load_u32(esk_btree_child(&node, *index));
        uint32_t at = child & ~ESK_TNC_IN_RAM;
        ++*index;
        if (esk_tnc_is_slot(child) &&
            (tnc->slot[at].flags & ESK_TNC_DIRTY) != 0) {
            return at;
        }
    }
    return ESK_PAGE_NONE;
}

/// Writes the dirty nodes from the root in `slot` down.
static int nodes_write(struct esk_tnc *tnc, uint32_t slot) {
    uint16_t index[ESK_TNC_HEIGHT_MAX];
    index[tnc->root.height - 1] = 0;
    while (slot != ESK_PAGE_NONE) {
        uint8_t level = tnc->slot[slot].level;
        uint32_t child = child_next(tnc, slot, &index[level - 1]);
        if (child != ESK_PAGE_NONE) {
            slot = child;
            index[level - 2] = 0;
        } else {
            ESK_TRY(node_write(tnc, slot));
            slot = tnc->slot[slot].parent;
        }
    }
    return ESK_OK;
}

int esk_tnc_commit(struct esk_tnc *tnc) {
    struct esk_tnc_root root = tnc->root;
    if (!tnc->changed) {
        return ESK_OK;
    }
    /* An empty tree has no root; a root on flash or a clean one is written. */
    if (root.address != ESK_PAGE_NONE && esk_tnc_is_slot(root.address)) {
        uint32_t slot = root.address & ~ESK_TNC_IN_RAM;
        if ((tnc->slot[slot].flags & ESK_TNC_DIRTY) != 0) {
            ESK_TRY(nodes_write(tnc, slot));
        }
        root.address = tnc->slot[slot].address;
    }
    ESK_TRY(tnc->config.io->commit(tnc->config.context, &root));
    tnc->changed = false;
    tnc->stats.commits++;
    return ESK_OK;
}
