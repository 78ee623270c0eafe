// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The nodes in RAM: slots, loads, clean-up; see tnc.h for the picture and the
/// invariants.
///
/// A node is dropped only if no child of it is in RAM, so on a path every node
/// but the last is safe by itself. The last one is tnc->held.
#include "base/arena.h"
#include "esker/assert.h"
#include "table/tree/tnc/tnc.h"

enum { SHRINK_PERCENT = 25 };

static uint32_t larger(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

static uint32_t entry_bytes(const struct esk_tnc_config *config) {
    uint32_t inner = config->key_bytes + (uint32_t)ESK_TREE_CHILD_BYTES;
    return larger(config->row_bytes, inner);
}

static uint32_t node_bytes(const struct esk_tnc_config *config) {
    return ESK_TREE_NODE_HEAD + config->fanout * entry_bytes(config);
}

/// Carves memory for `nodes` nodes.
static void memory_carve(struct esk_tnc *tnc,
                         const struct esk_tnc_config *config,
                         struct esk_arena *arena, uint32_t nodes) {
    uint32_t bytes = node_bytes(config);
    tnc->slot =
        esk_arena_take(arena, nodes * (uint32_t)sizeof(struct esk_tnc_slot));
    tnc->bytes = esk_arena_take(arena, nodes * bytes);
    tnc->scratch = esk_arena_take(arena, bytes);
    tnc->entry = esk_arena_take(arena, entry_bytes(config));
}

uint32_t esk_tnc_memory_bytes(const struct esk_tnc_config *config,
                              uint32_t nodes) {
    struct esk_arena arena = {NULL, 0, 0};
    struct esk_tnc tnc;
    memory_carve(&tnc, config, &arena, nodes);
    return arena.used;
}

static bool config_is_sound(const struct esk_tnc_config *config) {
    return config->fanout >= ESK_TNC_FANOUT_MIN &&
           config->fanout <= ESK_TNC_FANOUT_MAX && config->key_bytes > 0 &&
           config->key_offset + (uint32_t)config->key_bytes <=
               config->row_bytes &&
           node_bytes(config) <= UINT16_MAX;
}

int esk_tnc_init(struct esk_tnc *tnc, const struct esk_tnc_config *config,
                 const struct esk_tnc_root *root, void *memory,
                 uint32_t bytes) {
    struct esk_arena arena = {memory, 0, bytes};
    if (!config_is_sound(config)) {
        return ESK_E_INVALID;
    }
    if (root != NULL && root->height > ESK_TNC_HEIGHT_MAX) {
        return ESK_E_CORRUPT;
    }
    uint32_t fixed = esk_tnc_memory_bytes(config, 0) + 2u * ESK_ARENA_ALIGN;
    uint32_t one = node_bytes(config) + (uint32_t)sizeof(struct esk_tnc_slot);
    uint32_t nodes = bytes > fixed ? (bytes - fixed) / one : 0;
    if (esk_tnc_memory_bytes(config, nodes + 1) <= bytes) {
        nodes++;
    }
    if (nodes == 0) {
        return ESK_E_NO_MEMORY;
    }
    memset(tnc, 0, sizeof *tnc);
    tnc->config = *config;
    if (tnc->config.split == NULL) {
        tnc->config.split = esk_tnc_split_edge;
    }
    if (tnc->config.shrink_percent == 0) {
        tnc->config.shrink_percent = SHRINK_PERCENT;
    }
    tnc->layout = (struct esk_btree_layout){.row_bytes = config->row_bytes,
                                            .key_offset = config->key_offset,
                                            .key_bytes = config->key_bytes,
                                            .key_type = config->key_type,
                                            .counts_inside = true};
    memory_carve(tnc, config, &arena, nodes);
    ESK_ASSERT(esk_arena_fits(&arena));
    tnc->node_bytes = (uint16_t)node_bytes(config);
    tnc->slots = nodes;
    tnc->free_first = ESK_PAGE_NONE;
    tnc->held = ESK_PAGE_NONE;
    for (uint32_t slot = nodes; slot > 0; slot--) {
        tnc->slot[slot - 1] =
            (struct esk_tnc_slot){ESK_PAGE_NONE, tnc->free_first, 0, 0, 0};
        tnc->free_first = slot - 1;
    }
    tnc->free = nodes;
    tnc->root = (struct esk_tnc_root){ESK_PAGE_NONE, 0, 0, 0};
    if (root != NULL) {
        tnc->root = *root;
    }
    return ESK_OK;
}

void esk_tnc_view(const struct esk_tnc *tnc, uint32_t slot,
                  struct esk_btree_node *node) {
    uint8_t *bytes = tnc->bytes + (size_t)slot * tnc->node_bytes;
    bool at_leaf = tnc->slot[slot].level == 1;
    node->count = bytes;
    node->entries = bytes + ESK_TREE_NODE_HEAD;
    node->capacity = tnc->config.fanout;
    node->bytes =
        at_leaf ? tnc->config.row_bytes
                : (uint16_t)(tnc->config.key_bytes + ESK_TREE_CHILD_BYTES);
    node->key = at_leaf ? tnc->config.key_offset : 0;
}

static void slot_give(struct esk_tnc *tnc, uint32_t slot) {
    uint32_t parent = tnc->slot[slot].parent;
    if (parent != ESK_PAGE_NONE) {
        tnc->slot[parent].children--;
    }
    tnc->slot[slot].level = 0;
    tnc->slot[slot].flags = 0;
    tnc->slot[slot].parent = tnc->free_first;
    tnc->free_first = slot;
    tnc->free++;
}

static uint32_t slot_take(struct esk_tnc *tnc, uint8_t level) {
    uint32_t slot = tnc->free_first;
    ESK_ASSERT(slot != ESK_PAGE_NONE);
    tnc->free_first = tnc->slot[slot].parent;
    tnc->free--;
    tnc->slot[slot] =
        (struct esk_tnc_slot){ESK_PAGE_NONE, ESK_PAGE_NONE, 0, level, 0};
    if (tnc->slots - tnc->free > tnc->stats.in_ram_most) {
        tnc->stats.in_ram_most = tnc->slots - tnc->free;
    }
    return slot;
}

uint32_t esk_tnc_take(struct esk_tnc *tnc, uint8_t level) {
    uint32_t slot = slot_take(tnc, level);
    struct esk_btree_node node;
    tnc->slot[slot].flags = ESK_TNC_DIRTY | ESK_TNC_USED;
    tnc->dirty++;
    tnc->changed = true;
    tnc->root.nodes++;
    tnc->stats.made++;
    esk_tnc_view(tnc, slot, &node);
    esk_store_u16(node.count, 0);
    return slot;
}

void esk_tnc_drop(struct esk_tnc *tnc, uint32_t slot) {
    const struct esk_tnc_slot *gone = &tnc->slot[slot];
    if (gone->address != ESK_PAGE_NONE && tnc->config.io->drop != NULL) {
        tnc->config.io->drop(tnc->config.context, gone->address);
    }
    if ((gone->flags & ESK_TNC_DIRTY) != 0) {
        tnc->dirty--;
    }
    tnc->root.nodes--;
    tnc->stats.gone++;
    slot_give(tnc, slot);
}

void esk_tnc_mark(struct esk_tnc *tnc, uint32_t slot) {
    tnc->changed = true;
    while (slot != ESK_PAGE_NONE &&
           (tnc->slot[slot].flags & ESK_TNC_DIRTY) == 0) {
        tnc->slot[slot].flags |= ESK_TNC_DIRTY;
        tnc->dirty++;
        slot = tnc->slot[slot].parent;
    }
}

/// Drops a clean node from RAM: its address takes its place in the parent.
static void node_clean(struct esk_tnc *tnc, uint32_t slot) {
    uint32_t parent = tnc->slot[slot].parent;
    uint32_t address = tnc->slot[slot].address;
    if (parent == ESK_PAGE_NONE) {
        tnc->root.address = address;
    } else {
        struct esk_btree_node node;
        esk_tnc_view(tnc, parent, &node);
        uint16_t index = 0;
        while (esk_load_u32(esk_btree_child(&node, index)) !=
               (ESK_TNC_IN_RAM | slot)) {
            index++; /* invariant 3: one entry names the slot */
        }
        esk_store_u32(esk_btree_child(&node, index), address);
    }
    slot_give(tnc, slot);
    tnc->stats.cleaned++;
}

/// esk_tnc_clean, but for the node in tnc->held.
static void nodes_clean(struct esk_tnc *tnc, uint32_t nodes) {
    /* Each round drops a node or takes a mark, or is the last one. */
    uint32_t idle = 0;
    while (tnc->free < nodes && idle < tnc->slots) {
        uint32_t at = tnc->hand;
        struct esk_tnc_slot *slot = &tnc->slot[at];
        tnc->hand = at + 1u < tnc->slots ? at + 1u : 0;
        idle++;
        if (slot->level == 0 || slot->children > 0 || at == tnc->held ||
            (slot->flags & ESK_TNC_DIRTY) != 0) {
            continue;
        }
        idle = 0;
        if ((slot->flags & ESK_TNC_USED) != 0) {
            slot->flags = 0;
        } else {
            node_clean(tnc, at);
        }
    }
}

void esk_tnc_clean(struct esk_tnc *tnc, uint32_t nodes) {
    tnc->held = ESK_PAGE_NONE;
    nodes_clean(tnc, nodes);
}

/// Drops a share of the clean nodes, and more until `nodes` slots are free.
static void nodes_shrink(struct esk_tnc *tnc, uint32_t nodes) {
    uint32_t clean = tnc->slots - tnc->free - tnc->dirty;
    uint32_t percent = tnc->config.shrink_percent;
    uint32_t share = clean / 100u * percent + clean % 100u * percent / 100u;
    nodes_clean(tnc, larger(tnc->free + share, nodes));
}

int esk_tnc_room(struct esk_tnc *tnc, uint32_t nodes) {
    if (tnc->free >= nodes) {
        return ESK_OK;
    }
    if (tnc->config.commits_first) {
        ESK_TRY(esk_tnc_commit(tnc));
    }
    nodes_shrink(tnc, nodes);
    if (tnc->free < nodes) {
        ESK_TRY(esk_tnc_commit(tnc));
        nodes_shrink(tnc, nodes);
    }
    return tnc->free >= nodes ? ESK_OK : ESK_E_NO_MEMORY;
}

/// Whether a node that was read can be used. Its bytes may be anything.
static bool node_is_sound(const struct esk_tnc *tnc, uint32_t slot) {
    struct esk_btree_node node;
    bool at_leaf = tnc->slot[slot].level == 1;
    esk_tnc_view(tnc, slot, &node);
    uint16_t count = esk_btree_count(&node);
    if (count == 0 || count > node.capacity ||
        !esk_btree_rises(&tnc->layout, &node, at_leaf)) {
        return false;
    }
    for (uint16_t i = 0; i < count && !at_leaf; i++) {
        if (esk_tnc_is_slot(esk_load_u32(esk_btree_child(&node, i)))) {
            return false;
        }
    }
    return true;
}

/// Reads the node at `address` into a free slot.
static int node_load(struct esk_tnc *tnc, uint32_t address, uint8_t level,
                     uint32_t *slot) {
    ESK_TRY(esk_tnc_room(tnc, 1));
    uint32_t taken = slot_take(tnc, level);
    int status = tnc->config.io->read(
        tnc->config.context, address, level,
        tnc->bytes + (size_t)taken * tnc->node_bytes, tnc->node_bytes);
    tnc->stats.reads++;
    if (status == ESK_OK && !node_is_sound(tnc, taken)) {
        status = ESK_E_CORRUPT;
    }
    if (status != ESK_OK) {
        slot_give(tnc, taken);
        return status;
    }
    tnc->slot[taken].address = address;
    *slot = taken;
    return ESK_OK;
}

int esk_tnc_child(struct esk_tnc *tnc, uint32_t parent, uint16_t index,
                  uint32_t *slot) {
    uint32_t child = tnc->root.address;
    uint8_t level = tnc->root.height;
    uint8_t *link = NULL;
    if (parent != ESK_PAGE_NONE) {
        struct esk_btree_node node;
        esk_tnc_view(tnc, parent, &node);
        link = esk_btree_child(&node, index);
        child = esk_load_u32(link);
        level = (uint8_t)(tnc->slot[parent].level - 1u);
    }
    if (esk_tnc_is_slot(child)) {
        *slot = child & ~ESK_TNC_IN_RAM;
    } else {
        tnc->held = parent;
        ESK_TRY(node_load(tnc, child, level, slot));
        tnc->slot[*slot].parent = parent;
        if (link == NULL) {
            tnc->root.address = ESK_TNC_IN_RAM | *slot;
        } else {
            esk_store_u32(link, ESK_TNC_IN_RAM | *slot);
            tnc->slot[parent].children++;
        }
    }
    tnc->slot[*slot].flags |= ESK_TNC_USED;
    return ESK_OK;
}
