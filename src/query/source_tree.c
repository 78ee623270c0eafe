// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A tree, or a reader of one, as a source of rows.
///
/// A tree takes bounds as the bytes of keys; they are in the cursor's memory,
/// behind it. A key that is looked up has its bytes where its row will be.
#include "query/source.h"
#include "table/tree/tree.h"

static struct esk_tree *tree_of(const struct esk_source *source) {
    return source->table;
}

/// Sets `bytes` to the key in `slot`, as esk_source_key.
static int8_t key_set(const struct esk_source *source, const esk_slot *slot,
                      uint8_t *bytes) {
    uint8_t integer[ESK_SOURCE_KEY_BYTES];
    if (source->key_type == ESK_TYPE_BYTES) {
        esk_slot_to_text(slot, bytes, source->key_bytes);
        return 0;
    }
    int8_t side = esk_source_key(source->key_type, slot, integer);
    memcpy(bytes, integer, source->key_bytes);
    return side;
}

static int tree_open(const struct esk_source *source,
                     const struct esk_source_mark *mark, void *cursor,
                     const struct esk_source_bounds *bounds) {
    struct esk_tree_query query = {.backward = bounds->backward,
                                   .step_leaves = 1};
    uint8_t *key = (uint8_t *)cursor + sizeof(struct esk_tree_cursor);
    (void)mark;
    if (bounds->min != NULL) {
        int8_t side = key_set(source, bounds->min, key);
        if (side > 0) {
            return ESK_END;
        }
        query.key_min = side == 0 ? key : NULL;
    }
    if (bounds->max != NULL) {
        key += source->key_bytes;
        int8_t side = key_set(source, bounds->max, key);
        if (side < 0) {
            return ESK_END;
        }
        query.key_max = side == 0 ? key : NULL;
    }
    return esk_tree_cursor_open(tree_of(source), cursor, &query);
}

static int tree_next(const struct esk_source *source, void *cursor,
                     uint8_t *row) {
    return esk_tree_cursor_next(tree_of(source), cursor, row);
}

static int tree_get(const struct esk_source *source,
                    const struct esk_source_mark *mark, const esk_slot *slot,
                    uint8_t *row) {
    (void)mark;
    return key_set(source, slot, row) == 0
               ? esk_tree_get(tree_of(source), row, row)
               : ESK_NOT_FOUND;
}

static const struct esk_source_kind kind_tree = {
    .kind = ESK_TABLE_TREE,
    .can = ESK_SOURCE_ORDERED,
    .open = tree_open,
    .next = tree_next,
    .get = tree_get,
};

void esk_source_tree(struct esk_source *source, struct esk_tree *tree,
                     uint32_t fingerprint) {
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    memset(source, 0, sizeof *source);
    source->kind = &kind_tree;
    source->table = tree;
    source->fingerprint = fingerprint;
    source->cursor_bytes =
        (uint16_t)(sizeof(struct esk_tree_cursor) + 2u * layout->key_bytes);
    source->row_bytes = layout->row_bytes;
    source->key_offset = layout->key_offset;
    source->key_bytes = layout->key_bytes;
    source->key_type = layout->key_type;
}
