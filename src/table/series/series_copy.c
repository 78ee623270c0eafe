// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Copying what can be read of a series into another.
///
/// A row stays in the caller's scratch until `to` has taken it, so a call that
/// fails is made again.
#include "esker/salvage.h"
#include "table/series/series_rows.h"

int esk_series_copy_open(struct esk_series_copy *copy,
                         struct esk_series *from) {
    memset(copy, 0, sizeof *copy);
    return esk_series_cursor_open(from, &copy->cursor, NULL);
}

/// Reads the variable value of `row`. got: its bytes; 0 of one that is lost.
/// Returns ESK_OK; ESK_NOT_FOUND when it is lost; ESK_E_IO.
static int value_read(struct esk_series *from, const void *row, void *value,
                      uint32_t value_bytes, uint32_t *got) {
    struct esk_series_value reader;
    *got = 0;
    int status = esk_series_value_open(from, row, &reader);
    uint32_t room = value != NULL ? value_bytes : 0;
    if (status == ESK_OK && reader.bytes > room) {
        status = ESK_NOT_FOUND;
    }
    if (status == ESK_OK) {
        status = esk_series_value_read(from, &reader, value, reader.bytes, got);
    }
    if (status != ESK_OK) {
        *got = 0;
    }
    return status == ESK_E_CORRUPT ? ESK_NOT_FOUND : status;
}

/// Appends the row in `row` to `to`.
static int row_append(struct esk_series_copy *copy, struct esk_series *from,
                      struct esk_series *to, const void *row, void *value,
                      uint32_t value_bytes) {
    uint32_t bytes = 0;
    if (esk_var_ring(from) == NULL) {
        return esk_series_append(to, row);
    }
    int read = value_read(from, row, value, value_bytes, &bytes);
    if (read != ESK_OK && read != ESK_NOT_FOUND) {
        return read;
    }
    ESK_TRY(esk_series_append_var(to, row, value, bytes));
    copy->values_lost += read == ESK_NOT_FOUND ? 1u : 0u;
    return ESK_OK;
}

/// Notes a gap, up to the row with key `before`; NULL: to the table's end.
static int gap_note(struct esk_series_copy *copy, const esk_key *before) {
    copy->damaged = copy->cursor.damaged;
    copy->gaps++;
    copy->has_after = copy->has_last;
    copy->after = copy->last;
    copy->has_before = before != NULL;
    copy->before = before != NULL ? *before : 0;
    return ESK_NOT_FOUND;
}

/// Copies one row. As esk_series_copy_step.
static int row_copy(struct esk_series_copy *copy, struct esk_series *from,
                    struct esk_series *to, void *row, void *value,
                    uint32_t value_bytes) {
    if (!copy->pending) {
        int status = esk_series_cursor_next(from, &copy->cursor, row);
        if (status == ESK_END && copy->damaged != copy->cursor.damaged) {
            return gap_note(copy, NULL);
        }
        ESK_TRY(status);
        copy->pending = true;
    }
    ESK_TRY(row_append(copy, from, to, row, value, value_bytes));
    copy->pending = false;
    copy->rows++;
    esk_key key =
        esk_key_from_order(esk_shape(from)->key_type, esk_row_key(from, row));
    /* Ordinals show whether the skipped pages had rows, or power loss tore
       them. */
    uint32_t end = copy->cursor.end - copy->cursor.left;
    bool follows = copy->has_last && end == copy->next + 1u;
    int status = copy->damaged != copy->cursor.damaged && !follows
                     ? gap_note(copy, &key)
                     : ESK_OK;
    copy->damaged = copy->cursor.damaged;
    copy->has_last = true;
    copy->last = key;
    copy->next = end;
    return status;
}

int esk_series_copy_step(struct esk_series_copy *copy, struct esk_series *from,
                         struct esk_series *to, void *row, void *value,
                         uint32_t value_bytes, uint32_t rows) {
    ESK_TRY(esk_table_live(from));
    ESK_TRY(esk_table_live(to));
    if (esk_series_row_bytes(from) != esk_series_row_bytes(to)) {
        return ESK_E_INVALID;
    }
    for (; rows > 0; rows--) {
        ESK_TRY(row_copy(copy, from, to, row, value, value_bytes));
    }
    return ESK_OK;
}
