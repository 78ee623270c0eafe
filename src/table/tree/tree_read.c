// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Reading a tree: single rows, neighbours, cursors.
///
/// Every read is a path, and perhaps a step to a neighbouring leaf. A cursor
/// has a path; when the tree was changed, it makes a new one from its last key.
/// A node that cannot be read is reported once and skipped.
///
/// Forward, a cursor counts the wanted rows of a leaf once, and copies them
/// while the leaf stays in its frame.
#include "base/inline.h"
#include "table/tree/tree.h"

/// Whether `row` is beyond the cursor's bound.
static bool row_is_beyond(const struct esk_tree *tree,
                          const struct esk_tree_cursor *cursor,
                          const uint8_t *row) {
    if (cursor == NULL || cursor->bound == NULL) {
        return false;
    }
    int8_t order = esk_btree_compare(esk_tree_layout_given(tree),
                                     row + esk_tree_layout(tree)->key_offset,
                                     cursor->bound);
    return cursor->backward ? order < 0 : order > 0;
}

/// Sets up the cursor, whose path ends at row `index` of `node`, for the rows
/// after it; the path then ends at the last of these.
static void rows_ahead(const struct esk_tree *tree,
                       struct esk_tree_cursor *cursor,
                       const struct esk_btree_node *node, uint16_t index) {
    uint16_t end = esk_btree_count(node);
    if (cursor->bound != NULL) {
        bool found = false;
        end = esk_btree_search(esk_tree_layout_given(tree), node, index,
                               cursor->bound, &found);
        end = (uint16_t)(end + (found ? 1 : 0));
    }
    cursor->left = (uint16_t)(end - index - 1u);
    cursor->next = esk_btree_entry(node, (uint16_t)(index + 1u));
    cursor->path.index[0] = (uint16_t)(end - 1u);
}

/// Copies the row at the end of `path`. cursor: may be NULL.
/// Returns ESK_OK; ESK_NOT_FOUND past the leaf's last row; ESK_END beyond the
/// cursor's bound.
static int row_copy(struct esk_tree *tree, struct esk_tree_path *path,
                    struct esk_tree_cursor *cursor, void *row) {
    struct esk_tree_work work;
    struct esk_btree_node node;
    uint8_t *page = NULL;
    work.pinned = false;
    if (!ESK_SMALL && cursor != NULL && !esk_tree_is_lru_n(tree) &&
        cursor->held != NULL && *cursor->held == path->address[0]) {
        /* Mostly the leaf is in the frame of the row before. A build for size
           searches for it. */
        page = esk_pool_page(&tree->pool,
                             (uint8_t)(cursor->held - tree->pool.tags));
    }
    if (page != NULL) {
        esk_btree_view(esk_tree_layout_given(tree), page, 1, tree->now.height,
                       &node);
    } else {
        path->lost = 1;
        ESK_TRY(esk_tree_pin(tree, path->address[0], 1, &work, &node));
        if (cursor != NULL) {
            cursor->held = &tree->pool.tags[work.frame];
        }
    }
    int status = ESK_NOT_FOUND;
    if (path->index[0] < esk_btree_count(&node)) {
        const uint8_t *from = esk_btree_entry(&node, path->index[0]);
        status = ESK_END;
        if (!row_is_beyond(tree, cursor, from)) {
            esk_bytes_copy(row, from, esk_tree_layout(tree)->row_bytes);
            status = ESK_OK;
            if (cursor != NULL && !cursor->backward &&
                !esk_tree_is_lru_n(tree)) {
                rows_ahead(tree, cursor, &node, path->index[0]);
            }
        }
    }
    esk_tree_unpin(tree, &work);
    return status;
}

static bool is_wide(const struct esk_tree *tree) {
    return esk_tree_layout(tree)->key_bytes > ESK_TREE_CURSOR_KEY_BYTES;
}

/// Moves a path to the next leaf, or the one before. cursor: may be NULL.
/// Forward, the leaf is read only for its first row. In steps, the cursor notes
/// the key between the leaves: there it goes on if the tree is changed.
static int leaf_step(struct esk_tree *tree, struct esk_tree_path *path,
                     struct esk_tree_cursor *cursor, bool forward) {
    const uint8_t *bound = cursor != NULL ? cursor->bound : NULL;
    uint8_t *border = NULL;
    uint8_t level = 1;
    if (cursor != NULL && cursor->step_leaves != 0 && !is_wide(tree)) {
        border = cursor->last;
    }
    ESK_TRY(esk_tree_turn(tree, path, &level, forward, bound, border));
    if (border != NULL) {
        cursor->has_last = true;
        cursor->from_last = forward;
    }
    if (forward && level == 1) {
        path->index[0] = 0;
        return ESK_OK;
    }
    return esk_tree_reach(tree, path, level, forward);
}

/// Whether a call of the cursor has passed as many leaves as it may. passed: of
/// them so far.
static bool step_ends(const struct esk_tree_cursor *cursor, uint8_t *passed) {
    if (cursor == NULL || cursor->step_leaves == 0) {
        return false;
    }
    *passed = (uint8_t)(*passed + 1u);
    return *passed == cursor->step_leaves;
}

/// Copies the row at `path`, or the next one after it; leaves may be empty.
/// path: ends at that row; with ESK_AGAIN at a leaf that was not read.
static int row_forward(struct esk_tree *tree, struct esk_tree_path *path,
                       struct esk_tree_cursor *cursor, void *row) {
    uint8_t passed = 0;
    int status = row_copy(tree, path, cursor, row);
    while (status == ESK_NOT_FOUND) {
        ESK_TRY(leaf_step(tree, path, cursor, true));
        if (step_ends(cursor, &passed)) {
            return ESK_AGAIN;
        }
        status = row_copy(tree, path, cursor, row);
    }
    return status;
}

/// Copies the row before `path`, or the next one before that.
static int row_backward(struct esk_tree *tree, struct esk_tree_path *path,
                        struct esk_tree_cursor *cursor, void *row) {
    uint8_t passed = 0;
    while (path->index[0] == 0) {
        ESK_TRY(leaf_step(tree, path, cursor, false));
        if (step_ends(cursor, &passed)) {
            return ESK_AGAIN;
        }
    }
    path->index[0]--;
    return row_copy(tree, path, cursor, row);
}

/// ESK_END of a step means that the row does not exist.
static int row_status(int status) {
    return status == ESK_END ? ESK_NOT_FOUND : status;
}

ESK_FAST_FLAT int esk_tree_get(struct esk_tree *tree, const void *key,
                               void *row) {
    ESK_ASSERT(key != NULL && row != NULL);
    struct esk_tree_spot spot;
    ESK_TRY(esk_tree_ready(tree));
    ESK_TRY(esk_tree_find(tree, &tree->path, key, ESK_TREE_FIRST, 1, &spot));
    if (spot.found) {
        esk_bytes_copy_here(row,
                            esk_btree_entry(&spot.node, tree->path.index[0]),
                            esk_tree_layout(tree)->row_bytes);
    }
    esk_pool_unpin(&tree->pool, spot.work.frame);
    return spot.found ? ESK_OK : ESK_NOT_FOUND;
}

int esk_tree_floor(struct esk_tree *tree, const void *key, void *row) {
    int status = esk_tree_get(tree, key, row);
    return status == ESK_NOT_FOUND
               ? row_status(row_backward(tree, &tree->path, NULL, row))
               : status;
}

int esk_tree_ceiling(struct esk_tree *tree, const void *key, void *row) {
    ESK_ASSERT(row != NULL);
    ESK_TRY(esk_tree_ready(tree));
    struct esk_tree_path *path = &tree->path;
    ESK_TRY(esk_tree_descend(tree, path, key, ESK_TREE_FIRST, 1));
    return row_status(row_forward(tree, path, NULL, row));
}

int esk_tree_first(struct esk_tree *tree, void *row) {
    return esk_tree_ceiling(tree, NULL, row);
}

int esk_tree_last(struct esk_tree *tree, void *row) {
    ESK_ASSERT(row != NULL);
    ESK_TRY(esk_tree_ready(tree));
    struct esk_tree_path *path = &tree->path;
    ESK_TRY(esk_tree_descend(tree, path, NULL, ESK_TREE_LAST, 1));
    return row_status(row_backward(tree, path, NULL, row));
}

/// Counts the rows of every leaf.
static int rows_count(struct esk_tree *tree, uint32_t *count) {
    struct esk_tree_path *path = &tree->path;
    uint32_t rows = 0;
    int status = esk_tree_descend(tree, path, NULL, ESK_TREE_LAST, 1);
    while (status == ESK_OK) {
        rows += path->index[0];
        status = leaf_step(tree, path, NULL, false);
    }
    *count = rows;
    return status == ESK_END || status == ESK_NOT_FOUND ? ESK_OK : status;
}

int esk_tree_count(struct esk_tree *tree, uint32_t *count) {
    ESK_ASSERT(count != NULL);
    uint32_t rows = 0;
    ESK_TRY(esk_tree_ready(tree));
    if (tree->now.rows == UINT32_MAX) {
        ESK_TRY(rows_count(tree, &rows));
        tree->now.rows = rows;
    }
    *count = tree->now.rows;
    return ESK_OK;
}

int esk_tree_cursor_open(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         const struct esk_tree_query *query) {
    ESK_ASSERT(cursor != NULL);
    memset(cursor, 0, sizeof *cursor);
    ESK_TRY(esk_table_live(tree));
    cursor->tree = tree;
    cursor->changes = tree->changes - 1u;
    if (query != NULL) {
        cursor->backward = query->backward;
        cursor->start = query->backward ? query->key_max : query->key_min;
        cursor->bound = query->backward ? query->key_min : query->key_max;
        cursor->step_leaves = query->step_leaves < UINT8_MAX
                                  ? (uint8_t)query->step_leaves
                                  : UINT8_MAX;
    }
    return ESK_OK;
}

/// Makes the path to the place where the cursor goes on: its next row, or
/// backward the row after it.
static int cursor_seek(struct esk_tree *tree, struct esk_tree_cursor *cursor) {
    struct esk_tree_spot spot;
    const uint8_t *key = cursor->has_last ? cursor->last : cursor->start;
    if (cursor->has_last && is_wide(tree)) {
        return ESK_E_STALE;
    }
    ESK_TRY(esk_tree_find(tree, &cursor->path, key,
                          cursor->backward ? ESK_TREE_LAST : ESK_TREE_FIRST, 1,
                          &spot));
    esk_tree_unpin(tree, &spot.work);
    /* Forward, the last returned row is skipped. Backward, the row at the start
       is not. */
    bool over = cursor->has_last && !cursor->from_last;
    if (spot.found && over != cursor->backward) {
        cursor->path.index[0]++;
    }
    return ESK_OK;
}

/// Moves the cursor behind the node that could not be read: to the next one,
/// or, if the tree is changed meanwhile, to the key between them.
static int cursor_pass(struct esk_tree *tree, struct esk_tree_cursor *cursor) {
    uint8_t *border = is_wide(tree) ? NULL : cursor->last;
    bool forward = !cursor->backward;
    int status = ESK_E_CORRUPT;
    uint8_t level = 0;
    while (status == ESK_E_CORRUPT && level < tree->now.height) {
        level = cursor->path.lost;
        status = esk_tree_turn(tree, &cursor->path, &level, forward,
                               cursor->bound, border);
    }
    if (status != ESK_OK && status != ESK_END && status != ESK_E_CORRUPT) {
        return status;
    }
    cursor->ended = status != ESK_OK;
    cursor->has_last = true;
    cursor->from_last = forward;
    cursor->resume = level;
    cursor->changes = tree->changes;
    return ESK_E_CORRUPT;
}

static int cursor_move(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                       void *row) {
    uint8_t resume = cursor->resume;
    uint16_t left = cursor->left;
    bool forward = !cursor->backward;
    cursor->resume = 0;
    cursor->left = 0;
    if (cursor->changes != tree->changes) {
        ESK_TRY(cursor_seek(tree, cursor));
    } else if (resume > 0) {
        ESK_TRY(esk_tree_reach(tree, &cursor->path, resume, forward));
    } else if (forward && left == 0 && cursor->bound == NULL &&
               !esk_tree_is_lru_n(tree)) {
        /* It returned all rows of its leaf. */
        ESK_TRY(leaf_step(tree, &cursor->path, cursor, true));
    } else if (forward) {
        cursor->path.index[0] = (uint16_t)(cursor->path.index[0] - left + 1u);
    }
    cursor->changes = tree->changes;
    return forward ? row_forward(tree, &cursor->path, cursor, row)
                   : row_backward(tree, &cursor->path, cursor, row);
}

/// Stores the key of the row that the cursor returns. Returns ESK_OK.
static ESK_OUT_OF_LINE int key_note(const struct esk_tree *tree,
                                    struct esk_tree_cursor *cursor,
                                    const uint8_t *row) {
    const uint8_t *key = row + esk_tree_layout(tree)->key_offset;
    uint16_t bytes = esk_tree_layout(tree)->key_bytes;
    if (bytes == sizeof(uint32_t)) { /* the usual key */
        memcpy(cursor->last, key, sizeof(uint32_t));
    } else if (bytes <= ESK_TREE_CURSOR_KEY_BYTES) {
        memcpy(cursor->last, key, bytes);
    }
    return ESK_OK;
}

/// The next row, if it is not in the frame of the last one.
static ESK_OUT_OF_LINE int
cursor_go(struct esk_tree *tree, struct esk_tree_cursor *cursor, void *row) {
    ESK_TRY(esk_tree_ready(tree));
    if (cursor->tree != tree) {
        return ESK_E_INVALID;
    }
    ESK_ASSERT(row != NULL && esk_tree_pins_only(tree, NULL, NULL));
    if (cursor->ended) {
        return ESK_END;
    }
    int status = cursor_move(tree, cursor, row);
    if (status == ESK_OK) {
        cursor->has_last = true;
        cursor->from_last = false;
        return key_note(tree, cursor, row);
    }
    if (status == ESK_AGAIN) {
        cursor->resume = 1;
        return ESK_AGAIN;
    }
    cursor->changes = tree->changes - 1u;
    if (status == ESK_NOT_FOUND || status == ESK_END) {
        cursor->ended = true;
        return ESK_END;
    }
    return status == ESK_E_CORRUPT ? cursor_pass(tree, cursor) : status;
}

int esk_tree_cursor_next(struct esk_tree *tree, struct esk_tree_cursor *cursor,
                         void *row) {
    ESK_ASSERT(cursor != NULL && row != NULL);
    /* Of a cursor with rows left the tree is not NULL. */
    if (cursor->left == 0 || tree != cursor->tree || tree->broken ||
        !esk_words_equal_at(&cursor->changes, &tree->changes) ||
        !esk_addresses_equal_at(cursor->held, &cursor->path.address[0])) {
        return cursor_go(tree, cursor, row);
    }
    const struct esk_btree_layout *layout = esk_tree_layout(tree);
    const uint8_t *from = cursor->next;
    cursor->left--;
    cursor->next = from + layout->row_bytes;
    esk_bytes_copy_here(row, from, layout->row_bytes);
    if (ESK_FAST && layout->key_bytes == sizeof(uint32_t)) {
        const uint8_t *key = row;
        memcpy(cursor->last, key + layout->key_offset, sizeof(uint32_t));
        return ESK_OK;
    }
    return key_note(tree, cursor, row); /* last: then no value lives on */
}
