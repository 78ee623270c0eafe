// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Node work over bytes; see btree.h for the picture and the invariants.

#include "index/btree/btree.h"

#include "base/inline.h"
#include "base/order.h"
#include "base/scale.h"

/// How many entries fit `bytes` bytes of a page.
static uint16_t entries_in(const struct esk_btree_layout *layout, uint8_t level,
                           uint16_t bytes) {
    uint16_t head = layout->counts_inside ? ESK_TREE_NODE_HEAD : 0;
    if (bytes < head) {
        return 0;
    }
    uint32_t rest = 0;
    return (uint16_t)esk_quotient((uint16_t)(bytes - head),
                                  esk_btree_entry_bytes(layout, level), &rest);
}

void esk_btree_layout_whole(struct esk_btree_layout *layout, uint16_t body,
                            uint16_t page_bytes) {
    uint16_t bytes = (uint16_t)(page_bytes - body);
    for (uint8_t i = 0; i < ESK_TREE_HEIGHT_MAX; i++) {
        uint16_t entries = entries_in(layout, (uint8_t)(i + 1u), bytes);
        layout->offset[i] = body;
        layout->node_entries[i] = entries;
        layout->root_entries[i] = entries;
    }
    layout->offset[ESK_TREE_HEIGHT_MAX] = page_bytes;
    layout->height_max = ESK_TREE_HEIGHT_MAX;
    layout->shares = false;
}

void esk_btree_layout_shared(struct esk_btree_layout *layout,
                             uint16_t page_bytes, uint8_t k_percent) {
    uint16_t at = ESK_TREE_PAGE_BODY;
    uint8_t level = 1;
    uint16_t left = (uint16_t)(page_bytes - at);
    layout->shares = true;
    layout->offset[0] = at;
    for (; level < ESK_TREE_HEIGHT_MAX; level++) {
        uint16_t size = (uint16_t)((uint32_t)left * k_percent / 100u);
        uint16_t rest = (uint16_t)(left - size);
        uint16_t node = entries_in(layout, level, size);
        if (node < 2 || entries_in(layout, (uint8_t)(level + 1), rest) < 2) {
            break;
        }
        uint16_t whole = entries_in(layout, level, left);
        uint16_t twice = (uint16_t)(2u * node - 1u);
        layout->node_entries[level - 1] = node;
        layout->root_entries[level - 1] = whole < twice ? whole : twice;
        at = (uint16_t)(at + size);
        left = rest;
        layout->offset[level] = at;
    }
    uint16_t top = entries_in(layout, level, left);
    layout->node_entries[level - 1] = top;
    layout->root_entries[level - 1] = top;
    layout->height_max = level;
    layout->offset[level] = page_bytes;
}

bool esk_btree_layout_is_sound(const struct esk_btree_layout *layout) {
    return layout->height_max > 1 && esk_btree_capacity(layout, 1, 2) >= 2 &&
           esk_btree_capacity(layout, 2, 2) >= 2;
}

ESK_APART_IN_ALL void esk_btree_view(const struct esk_btree_layout *layout,
                                     uint8_t *page, uint8_t level,
                                     uint8_t height,
                                     struct esk_btree_node *node) {
    esk_btree_view_inline(layout, page, level, height, node);
}

/// Orders keys of any type.
static int8_t compare_wide(const struct esk_btree_layout *layout,
                           const uint8_t *a, const uint8_t *b) {
    if (layout->key_type == ESK_TYPE_BYTES) {
        int order = memcmp(a, b, layout->key_bytes);
        return (int8_t)((order > 0) - (order < 0));
    }
    uint8_t one[8];
    uint8_t other[8];
    uint8_t i = (uint8_t)layout->key_bytes;
    (void)esk_order_bytes(layout->key_type, i, a, one);
    (void)esk_order_bytes(layout->key_type, i, b, other);
    while (i > 0) {
        i--;
        if (one[i] != other[i]) {
            return one[i] < other[i] ? -1 : 1;
        }
    }
    return 0;
}

/// Whether keys are numbers of at most four bytes, which are compared as words;
/// but in a build for size, if it has no shape: one way is less code.
static bool is_narrow(const struct esk_btree_layout *layout) {
    return ESK_SHAPED_TREE(true, ESK_FAST) && layout->key_bytes <= 4 &&
           layout->key_type != ESK_TYPE_BYTES;
}

int8_t esk_btree_compare(const struct esk_btree_layout *layout,
                         const uint8_t *a, const uint8_t *b) {
    layout = esk_btree_layout_of(layout);
    if (!is_narrow(layout)) {
        return compare_wide(layout, a, b);
    }
    uint32_t one = esk_order_load32(layout->key_type, a);
    uint32_t other = esk_order_load32(layout->key_type, b);
    return (int8_t)((one > other) - (one < other));
}

/// esk_btree_search for keys of any type.
static ESK_OUT_OF_LINE uint16_t search_any(
    const struct esk_btree_layout *layout, const struct esk_btree_node *node,
    uint16_t low, const uint8_t *key, bool *found) {
    uint16_t high = esk_btree_count(node);
    *found = false;
    while (low < high) {
        uint16_t middle = (uint16_t)(low + (uint16_t)(high - low) / 2u);
        int8_t order =
            esk_btree_compare(layout, esk_btree_key(node, middle), key);
        if (order < 0) {
            low = (uint16_t)(middle + 1u);
        } else {
            *found = *found || order == 0;
            high = middle;
        }
    }
    return low;
}

uint16_t esk_btree_search(const struct esk_btree_layout *layout,
                          const struct esk_btree_node *node, uint16_t from,
                          const uint8_t *key, bool *found) {
    uint16_t count = esk_btree_count(node);
    uint16_t rest = from < count ? (uint16_t)(count - from) : 0;
    uint8_t type = esk_btree_layout_of(layout)->key_type;
    if (!esk_order_is_word(type)) {
        return search_any(layout, node, from, key, found);
    }
    uint16_t index =
        (uint16_t)(from + esk_order_rank_words(type, esk_btree_key(node, from),
                                               node->bytes, rest,
                                               esk_btree_word(type, key)));
    *found = index < count &&
             esk_load_u32(esk_btree_key(node, index)) == esk_load_u32(key);
    return index;
}

uint16_t esk_btree_descend(const struct esk_btree_layout *layout,
                           const struct esk_btree_node *node,
                           const uint8_t *key) {
    uint16_t last = (uint16_t)(esk_btree_count(node) - 1u);
    uint8_t type = esk_btree_layout_of(layout)->key_type;
    if (!esk_order_is_word(type)) {
        bool found = false;
        uint16_t index = search_any(layout, node, 1, key, &found);
        return found ? index : (uint16_t)(index - 1u);
    }
    /* Keys up to `key` are those below the next key. The largest key has no
       next one. */
    uint32_t after = esk_btree_word(type, key) + 1u;
    return after == 0 ? last
                      : esk_order_rank_words(type, esk_btree_key(node, 1),
                                             node->bytes, last, after);
}

static void count_set(const struct esk_btree_node *node, uint16_t count) {
    esk_store_u16(node->count, count);
}

void esk_btree_insert(const struct esk_btree_node *node, uint16_t index,
                      const uint8_t *entry) {
    uint16_t count = esk_btree_count(node);
    uint8_t *at = esk_btree_entry(node, index);
    esk_bytes_move_up(at, node->bytes,
                      (uint16_t)((count - index) * node->bytes));
    esk_bytes_copy_here(at, entry, node->bytes);
    count_set(node, (uint16_t)(count + 1u));
}

void esk_btree_remove(const struct esk_btree_node *node, uint16_t index) {
    uint16_t count = (uint16_t)(esk_btree_count(node) - 1u);
    uint8_t *at = esk_btree_entry(node, index);
    memmove(at, at + node->bytes, (size_t)(count - index) * node->bytes);
    count_set(node, count);
}

void esk_btree_split(const struct esk_btree_node *node, uint16_t at,
                     const struct esk_btree_node *right) {
    uint16_t moved = (uint16_t)(esk_btree_count(node) - at);
    esk_bytes_copy(right->entries, esk_btree_entry(node, at),
                   (uint16_t)(moved * node->bytes));
    count_set(right, moved);
    count_set(node, at);
}

void esk_btree_join(const struct esk_btree_node *node, uint16_t index,
                    const struct esk_btree_node *from) {
    uint16_t count = esk_btree_count(node);
    uint16_t more = esk_btree_count(from);
    uint16_t bytes = (uint16_t)(more * node->bytes);
    uint8_t *at = esk_btree_entry(node, index);
    esk_bytes_move_up(at, bytes, (uint16_t)((count - index) * node->bytes));
    esk_bytes_copy(at, from->entries, bytes);
    count_set(node, (uint16_t)(count + more));
}

bool esk_btree_rises(const struct esk_btree_layout *layout,
                     const struct esk_btree_node *node, bool is_leaf) {
    uint16_t count = esk_btree_count(node);
    for (uint16_t i = is_leaf ? 1 : 2; i < count; i++) {
        if (esk_btree_compare(layout, esk_btree_key(node, (uint16_t)(i - 1u)),
                              esk_btree_key(node, i)) >= 0) {
            return false;
        }
    }
    return true;
}
