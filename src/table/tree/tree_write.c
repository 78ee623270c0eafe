// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The calls that change a tree.
#include "table/tree/tree.h"

enum put_mode { PUT_ANY, PUT_NEW, PUT_OLD };

/// Sets only the members that a descent needs: an 8-bit processor takes five
/// cycles a byte to set all to zero.
static void edit_begin(struct esk_tree_edit *edit) {
    edit->rows.done = 0;
    edit->level = 1;
    edit->outcome.child_moved = false;
    edit->outcome.child_gone = false;
    edit->outcome.right_gone = false;
    edit->outcome.has_right = false;
    edit->spot.work.pinned = false;
}

/// Whether `edit` puts one new row in a leaf in place that has room for it. In
/// a build for size there is one way to change a tree.
static inline bool is_plain(const struct esk_tree *tree,
                            const struct esk_tree_edit *edit) {
    const struct esk_btree_node *node = &edit->spot.node;
    return !ESK_SMALL && edit->spot.work.pinned && !edit->spot.found &&
           edit->leaf == ESK_TREE_LEAF_PUT && edit->rows.count == 1 &&
           esk_tree_overwrites(tree) && esk_tree_merge(tree) == NULL &&
           esk_tree_cached(tree) == NULL &&
           esk_btree_count(node) < node->capacity;
}

/// esk_tree_change and esk_tree_change_end for such an edit: no level above
/// changes, and of the tree's state only the count of rows.
static int plain_change(struct esk_tree *tree, struct esk_tree_edit *edit) {
    struct esk_tree_work *work = &edit->spot.work;
    bool root = work->level == tree->now.height;
    esk_btree_insert(&edit->spot.node, tree->path.index[0], edit->rows.next);
    ESK_ASSERT(esk_tree_pins_only(tree, work, NULL));
    int status =
        esk_tree_store(tree)->place(tree, work, root, &edit->outcome.child);
    if (status != ESK_OK) {
        struct esk_tree_state before = tree->now;
        esk_tree_work_drop(tree, work);
        esk_tree_change_end(tree, status, &before);
        return status;
    }
    edit->rows.next += esk_tree_layout(tree)->row_bytes;
    edit->rows.done = 1;
    if (tree->now.rows != UINT32_MAX) {
        tree->now.rows++;
    }
    tree->changes++;
    return ESK_OK;
}

/// Finds the leaf of `key` and makes `edit` there. PUT_NEW, DELETE and PUT_OLD
/// first check whether the row exists.
/// through  without the write cache.
static ESK_FAST_FLAT int leaf_change(struct esk_tree *tree, const uint8_t *key,
                                     struct esk_tree_edit *edit,
                                     enum put_mode mode, bool through) {
    int status = esk_tree_change_begin(tree, through);
    if (status == ESK_FULL && !esk_tree_in_batch(tree) &&
        !esk_tree_overwrites(tree) && tree->bad_pages > 0) {
        /* A change always has room, unless blocks failed. */
        status = ESK_E_WORN;
    }
    ESK_TRY(status);
    edit_begin(edit);
    if (esk_tree_cached(tree) != NULL) {
        status = esk_tree_write_cache(tree)->begin(tree, through);
    }
    if (status == ESK_OK) {
        status = esk_tree_find(tree, &tree->path, key, ESK_TREE_FIRST, 1,
                               &edit->spot);
        status = status == ESK_NOT_FOUND ? ESK_OK : status;
    }
    if (status == ESK_OK && mode == PUT_NEW && edit->spot.found) {
        status = ESK_EXISTS;
    }
    if (status == ESK_OK && mode == PUT_OLD && !edit->spot.found) {
        status = ESK_NOT_FOUND;
    }
    if (status == ESK_OK && is_plain(tree, edit)) {
        return plain_change(tree, edit);
    }
    struct esk_tree_state before = tree->now; /* a descent changes nothing */
    if (status == ESK_OK) {
        status = esk_tree_change(tree, edit);
    }
    esk_tree_unpin(tree, &edit->spot.work);
    esk_tree_change_end(tree, status, &before);
    return status;
}

/// The same; repeats it when pages for new nodes were found, and without the
/// write cache when there are too few frames.
/// bytes    the key; for ESK_TREE_LEAF_PUT the rows.
/// edit     its leaf and the count of rows are set.
static int leaf_edit(struct esk_tree *tree, const uint8_t *bytes,
                     struct esk_tree_edit *edit, enum put_mode mode) {
    const uint8_t *key = bytes;
    ESK_TRY(esk_table_live(tree));
    if (edit->leaf == ESK_TREE_LEAF_PUT) {
        key += esk_tree_layout(tree)->key_offset;
    }
    edit->rows.next = bytes;
    if (esk_order_is_nan(esk_tree_layout(tree)->key_type, key)) {
        return ESK_E_INVALID;
    }
    int status = leaf_change(tree, key, edit, mode, false);
    if (status == ESK_FULL && esk_tree_store(tree)->refill != NULL) {
        ESK_TRY(esk_tree_store(tree)->refill(tree));
        edit->rows.next = bytes;
        status = leaf_change(tree, key, edit, mode, false);
    }
    if (status == ESK_E_NO_MEMORY && esk_tree_cached(tree) != NULL) {
        edit->rows.next = bytes;
        status = leaf_change(tree, key, edit, mode, true);
    }
    return status;
}

static int row_put(struct esk_tree *tree, const void *row, enum put_mode mode) {
    struct esk_tree_edit edit;
    ESK_ASSERT(row != NULL);
    edit.leaf = ESK_TREE_LEAF_PUT;
    edit.rows.count = 1;
    edit.rows.follow = NULL;
    return leaf_edit(tree, row, &edit, mode);
}

int esk_tree_put(struct esk_tree *tree, const void *row) {
    return row_put(tree, row, PUT_ANY);
}

int esk_tree_insert(struct esk_tree *tree, const void *row) {
    return row_put(tree, row, PUT_NEW);
}

int esk_tree_update(struct esk_tree *tree, const void *row) {
    return row_put(tree, row, PUT_OLD);
}

int esk_tree_put_many(struct esk_tree *tree, const void *rows, uint32_t count,
                      uint32_t *done) {
    const uint8_t *row = rows;
    int status = esk_table_live(tree);
    uint32_t put = 0;
    ESK_ASSERT(rows != NULL || count == 0);
    while (put < count && status == ESK_OK) {
        struct esk_tree_edit edit;
        edit.leaf = ESK_TREE_LEAF_PUT;
        edit.rows.count = count - put;
        edit.rows.follow = esk_tree_rows_follow;
        status = leaf_edit(tree, row, &edit, PUT_ANY);
        if (status == ESK_OK) {
            put += edit.rows.done;
            row = edit.rows.next;
        }
    }
    if (done != NULL) {
        *done = put;
    }
    return status;
}

int esk_tree_delete(struct esk_tree *tree, const void *key) {
    struct esk_tree_edit edit;
    ESK_ASSERT(key != NULL);
    edit.leaf = ESK_TREE_LEAF_DELETE;
    edit.remove = esk_btree_remove;
    edit.rows.count = 0;
    return leaf_edit(tree, key, &edit, PUT_OLD);
}

int esk_tree_begin(struct esk_tree *tree, uint32_t pages) {
    ESK_TRY(esk_table_live(tree));
    if (esk_tree_in_batch(tree)) {
        return ESK_E_INVALID;
    }
    if (esk_tree_is_read_only(tree) ||
        (esk_tree_store(tree)->flags & ESK_STORE_READS) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (esk_tree_overwrites(tree) && esk_tree_batches(tree) == NULL) {
        return ESK_E_UNSUPPORTED;
    }
    if (esk_tree_batches(tree) != NULL) {
        return esk_tree_batches(tree)->begin(tree, pages);
    }
    if (pages == 0) {
        pages = esk_volume_geometry(tree->table.volume)->block_pages;
    }
    /* A change asks for the most that it may take. */
    uint32_t most = UINT32_MAX - esk_tree_change_pages(tree);
    pages = (pages < most ? pages : most) + esk_tree_change_pages(tree);
    ESK_TRY(esk_tree_store(tree)->begin(tree, pages));
    ESK_TRY(esk_tree_flush(tree));
    tree->before = tree->now;
    tree->in_batch = true;
    return ESK_OK;
}

/// Whether the tree is open, and in a batch.
static int batch_live(const struct esk_tree *tree) {
    ESK_TRY(esk_table_live(tree));
    return esk_tree_in_batch(tree) ? ESK_OK : ESK_E_INVALID;
}

/// Commits the batch, whose root is in the write cache.
static int cached_commit(struct esk_tree *tree) {
    tree->in_batch = false;
    int status = esk_tree_flush(tree);
    tree->in_batch = status != ESK_OK;
    return status;
}

int esk_tree_commit(struct esk_tree *tree) {
    ESK_TRY(batch_live(tree));
    if (esk_tree_batches(tree) != NULL) {
        return esk_tree_batches(tree)->commit(tree);
    }
    if (tree->now.root == tree->before.root) {
        tree->in_batch = false;
        return ESK_OK;
    }
    if (esk_tree_is_cached(tree->now.root)) {
        return cached_commit(tree);
    }
    /* Writes the root again, in a page that commits. There always is room for
       one page, also when the batch took all of its room. */
    ESK_TRY(esk_tree_take(tree));
    if (esk_tree_cached(tree) != NULL) {
        esk_tree_cached(tree)->through = !esk_tree_packs(tree);
    }
    struct esk_tree_state before = tree->now;
    struct esk_tree_edit edit = {.level = tree->now.height};
    int status = esk_tree_descend(tree, &tree->path, NULL, ESK_TREE_FIRST,
                                  tree->now.height);
    tree->in_batch = false;
    if (status == ESK_OK) {
        status = esk_tree_change(tree, &edit);
    }
    tree->in_batch = status != ESK_OK;
    esk_tree_change_end(tree, status, &before);
    return status == ESK_OK && esk_tree_is_cached(tree->now.root)
               ? cached_commit(tree)
               : status;
}

int esk_tree_abort(struct esk_tree *tree) {
    ESK_TRY(batch_live(tree));
    if (esk_tree_batches(tree) != NULL) {
        ESK_TRY(esk_tree_batches(tree)->abort(tree));
    }
    if (esk_tree_cached(tree) != NULL) {
        esk_tree_write_cache(tree)->drop(tree);
    }
    bool height_changed = tree->now.height != tree->before.height;
    tree->now = tree->before;
    tree->in_batch = false;
    tree->changes++;
    if (height_changed) {
        esk_tree_height_changed(tree);
    }
    return ESK_OK;
}

int esk_tree_sync(struct esk_tree *tree) {
    ESK_TRY(esk_table_live(tree));
    if (esk_tree_is_read_only(tree)) {
        return ESK_OK;
    }
    ESK_TRY(esk_tree_flush(tree));
    return esk_region_sync(&tree->ring.region);
}
