// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Copying what can be read of a tree into another.
#include "esker/salvage.h"
#include "table/tree/tree.h"

int esk_tree_copy_open(struct esk_tree_copy *copy, struct esk_tree *from) {
    memset(copy, 0, sizeof *copy);
    return esk_tree_cursor_open(from, &copy->cursor, NULL);
}

/// Copies one row. As esk_tree_copy_step.
static int row_copy(struct esk_tree_copy *copy, struct esk_tree *from,
                    struct esk_tree *to, void *row) {
    if (!copy->pending) {
        int status = esk_tree_cursor_next(from, &copy->cursor, row);
        if (status == ESK_E_CORRUPT) {
            copy->gaps++;
            return ESK_NOT_FOUND;
        }
        ESK_TRY(status);
        copy->pending = true;
    }
    ESK_TRY(esk_tree_put(to, row));
    copy->pending = false;
    copy->rows++;
    return ESK_OK;
}

int esk_tree_copy_step(struct esk_tree_copy *copy, struct esk_tree *from,
                       struct esk_tree *to, void *row, uint32_t rows) {
    ESK_TRY(esk_table_live(from));
    ESK_TRY(esk_table_live(to));
    if (esk_tree_row_bytes(from) != esk_tree_row_bytes(to)) {
        return ESK_E_INVALID;
    }
    for (; rows > 0; rows--) {
        ESK_TRY(row_copy(copy, from, to, row));
    }
    return ESK_OK;
}
