// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages as a part; here, reading.
///
/// Two ways lead to a row:
///  - By its number in the page, for cursors and checks: from a reader before
///    it, in the best case the one that stands there; else from the page's
///    first row.
///  - By its key, for gets: the first key of each cell is at a fixed place, so
///    only one cell is decoded.
///
/// A backward scan reads rows by numbers that fall. It leaves one reader behind
/// as a *checkpoint*, s rows before the row it wants, and reads on with a copy.
/// So the cell is decoded from its begin for one row in s, and for the others
/// from the checkpoint:
///
///     | cell: row 0 ... checkpoint ... row wanted, rows read already ... |
///
/// Invariant: bytes of a page whose checksum is valid may still be hostile. A
/// row that cannot be decoded ends the page's rows, whatever its count says.
///
/// Cost: a decode for each row of the cell, or of the page, that comes before.
/// Backward, s is about the root of half the rows before: in a cell of n rows a
/// row costs about sqrt(n) decodes, and n / 2 with a single reader.
#include "index/summary/summary.h"
#include "table/series/series_packed.h"

static uint32_t page_name(const struct esk_series *series,
                          const uint8_t *page) {
    /* A write page that was programmed is read once more for the index. */
    return page == series->write_page && series->write_count != 0
               ? PACKED_WRITE
               : esk_page_sequence(page);
}

/// A page that is read, and how.
struct view {
    struct esk_series_packing *packing;
    const struct esk_packed *codec; ///< &narrow before columns were added
    const uint8_t *page;
    uint32_t name;
    uint16_t limit;
    struct esk_packed narrow;
};

static void view_make(const struct esk_series *series, const uint8_t *page,
                      struct view *view) {
    struct esk_series_packing *packing = esk_packing(series);
    uint16_t width = esk_rows_width(series, page);
    view->packing = packing;
    view->codec = &packing->codec;
    view->page = page;
    view->name = page_name(series, page);
    view->limit =
        view->name == PACKED_WRITE
            ? esk_packed_written(packing->writer)
            : (uint16_t)(esk_packed_page_end(
                             page, esk_pool_page_bytes(&series->pool)) -
                         1u);
    if (width != packing->codec.row_bytes) {
        view->narrow = packing->codec;
        view->narrow.row_bytes = width;
        uint8_t count = view->narrow.field_count;
        while (count > 1 && packing->fields[count - 1].offset >= width) {
            count--;
        }
        view->narrow.field_count = count;
        view->codec = &view->narrow;
    }
}

/// Reads the reader's next row. Returns false when there is none.
static bool reader_next(const struct view *view, struct packed_reader *reader) {
    struct esk_series_packing *packing = view->packing;
    uint16_t last = reader->state.last;
    reader->state.limit = view->limit;
    packing->row_page = PACKED_NONE;
    packing->sought_page = PACKED_NONE;
    if (esk_packed_next(view->codec, &reader->state, view->page,
                        packing->row) != ESK_OK) {
        reader->page = PACKED_NONE;
        return false;
    }
    if (last != reader->state.last) {
        reader->cell = (uint16_t)(last + 1u);
        reader->cell_row = reader->rows;
    }
    reader->rows++;
    return true;
}

/// Sets a reader before row `row`, the first of the cell at `cell`.
static void reader_set(const struct view *view, struct packed_reader *reader,
                       uint16_t cell, uint16_t row) {
    esk_packed_seek(&reader->state, cell, view->limit);
    reader->page = view->name;
    reader->cell = cell;
    reader->cell_row = row;
    reader->rows = row;
}

/// The reader that was not used for longest, of those of other pages if there
/// are such; with at most two it is so.
static struct packed_reader *reader_spare(struct esk_series_packing *packing) {
    uint8_t number = (uint8_t)(packing->last + 1u);
    packing->last = number < packing->reader_count ? number : 0;
    return packed_reader(packing, packing->last);
}

/// A copy of `reader`, in place of another one: `reader` itself where there is
/// no other.
static struct packed_reader *reader_copy(struct esk_series_packing *packing,
                                         const struct packed_reader *reader) {
    struct packed_reader *copy = reader_spare(packing);
    if (copy == reader) {
        copy = reader_spare(packing);
    }
    if (copy != reader) {
        memcpy(copy, reader, packing->reader_bytes);
    }
    return copy;
}

/// Sets a reader, whose cell is not the page's first, before the first row of
/// the cell before it. Its rows were read once, so they can be counted.
static void reader_back(const struct view *view, struct packed_reader *reader) {
    uint16_t behind = reader->cell;
    uint16_t first = reader->cell_row;
    uint16_t cell = (uint16_t)(behind - view->codec->cell_mask - 1u);
    if (cell == 0) {
        reader_set(view, reader, ESK_ENVELOPE_BYTES, 0);
        return;
    }
    reader_set(view, reader, cell, 0);
    while (reader->cell != behind && reader_next(view, reader)) {
    }
    reader_set(view, reader, cell, (uint16_t)(first + 1u - reader->rows));
}

/// The reader to read row `index` from.
static struct packed_reader *reader_for(const struct view *view,
                                        uint16_t index) {
    struct esk_series_packing *packing = view->packing;
    struct packed_reader *best = packed_reader(packing, packing->last);
    struct packed_reader *in_cell = NULL;
    struct packed_reader *behind = NULL;
    if (best->page == view->name && best->rows == index) {
        return best;
    }
    best = NULL;
    for (uint8_t i = 0; i < packing->reader_count; i++) {
        struct packed_reader *reader = packed_reader(packing, i);
        if (reader->page != view->name) {
            continue;
        }
        if (reader->rows <= index &&
            (best == NULL || reader->rows > best->rows)) {
            best = reader;
            packing->last = i;
        } else if (reader->cell_row <= index) {
            in_cell = reader;
        } else if (reader->cell_row == index + 1u) {
            behind = reader;
        }
    }
    if (best != NULL) {
        return best;
    }
    if (in_cell != NULL) {
        reader_set(view, in_cell, in_cell->cell, in_cell->cell_row);
        return in_cell;
    }
    if (behind != NULL) {
        reader_back(view, behind);
        return behind;
    }
    best = reader_spare(packing);
    reader_set(view, best, ESK_ENVELOPE_BYTES, 0);
    return best;
}

/// The row before which a backward scan to row `index` leaves a checkpoint. One
/// that it has left before stays.
static uint16_t checkpoint_of(const struct packed_reader *reader,
                              uint16_t index) {
    uint16_t left = (uint16_t)(index - reader->rows);
    uint16_t step = 1;
    if (reader->rows != reader->cell_row) {
        return reader->rows;
    }
    while (2u * step * step < left) {
        step = (uint16_t)(2u * step);
    }
    return (uint16_t)(index - step);
}

/// Reads row `index`. Returns NULL when the page has none: then
/// packing->row_index is how many it has.
static const uint8_t *row_read(const struct esk_series *series,
                               const uint8_t *page, uint16_t index) {
    struct esk_series_packing *packing = esk_packing(series);
    struct view view;
    if (packing->row_page == page_name(series, page) &&
        packing->row_index == index) {
        return packing->row;
    }
    view_make(series, page, &view);
    bool is_back =
        packing->row_page == view.name && packing->row_index == index + 1u;
    struct packed_reader *reader = reader_for(&view, index);
    uint16_t checkpoint =
        is_back ? checkpoint_of(reader, index) : (uint16_t)(index + 1u);
    while (reader->rows <= index) {
        if (reader->rows == checkpoint) {
            reader = reader_copy(packing, reader);
        }
        if (!reader_next(&view, reader)) {
            packing->row_index = reader->rows;
            return NULL;
        }
    }
    packing->row_page = view.name;
    packing->row_index = index;
    return packing->row;
}

uint16_t esk_packed_page_rows(const struct esk_series *series,
                              const uint8_t *page, uint16_t count) {
    return count == 0 || row_read(series, page, (uint16_t)(count - 1u)) != NULL
               ? count
               : esk_packing(series)->row_index;
}

const uint8_t *esk_packed_page_row(const struct esk_series *series,
                                   const uint8_t *page, uint16_t index) {
    const uint8_t *row = row_read(series, page, index);
    if (row == NULL && esk_packing(series)->row_index > 0) {
        index = (uint16_t)(esk_packing(series)->row_index - 1u);
        row = row_read(series, page, index);
    }
    return row != NULL ? row : page + ESK_ENVELOPE_BYTES;
}

/// The key of the last row that the reader has read.
static esk_key reader_key(const struct esk_series *series,
                          const struct packed_reader *reader) {
    return esk_row_key(series, esk_packed_key(&reader->state) -
                                   esk_shape(series)->key_offset);
}

/// The key of the cell at `cell`.
static esk_key cell_key(const struct esk_series *series, const uint8_t *page,
                        uint16_t cell) {
    return esk_row_key(series, page + cell);
}

/// The reader to search rows below `key` from.
static struct packed_reader *reader_below(const struct esk_series *series,
                                          const struct view *view,
                                          esk_key key) {
    struct esk_series_packing *packing = view->packing;
    struct packed_reader *best = NULL;
    for (uint8_t i = 0; i < packing->reader_count; i++) {
        struct packed_reader *reader = packed_reader(packing, i);
        if (reader->page == view->name && reader->rows > 0 &&
            cell_key(series, view->page, reader->cell) < key &&
            (best == NULL || reader->cell > best->cell)) {
            best = reader;
            packing->last = i;
        }
    }
    if (best == NULL) {
        best = reader_spare(packing);
        reader_set(view, best, ESK_ENVELOPE_BYTES, 0);
    } else if (reader_key(series, best) >= key) {
        reader_set(view, best, best->cell, best->cell_row);
    }
    return best;
}

uint16_t esk_packed_page_below(const struct esk_series *series,
                               const uint8_t *page, uint16_t count,
                               esk_key key) {
    struct view view;
    if (key == 0 || count == 0) {
        return 0;
    }
    view_make(series, page, &view);
    if (cell_key(series, page, ESK_ENVELOPE_BYTES) >= key) {
        return 0;
    }
    struct packed_reader *reader = reader_below(series, &view, key);
    while (reader->rows < count) {
        if (!reader_next(&view, reader)) {
            return reader->rows;
        }
        if (esk_row_key(series, view.packing->row) >= key) {
            view.packing->row_page = view.name;
            view.packing->row_index = (uint16_t)(reader->rows - 1u);
            return view.packing->row_index;
        }
    }
    return count;
}

/// Reads the first row with a key from `key` on, by the first keys of cells.
/// Returns false when there is none.
static bool row_seek(const struct esk_series *series, const struct view *view,
                     struct packed_reader *reader, esk_key key) {
    struct esk_series_packing *packing = view->packing;
    uint16_t cell = ESK_ENVELOPE_BYTES;
    uint16_t next = (uint16_t)(view->codec->cell_mask + 1u);
    while (!esk_packed_is_last(view->codec, view->page, cell) &&
           esk_packed_has_cell(view->codec, view->page, next, view->limit) &&
           cell_key(series, view->page, next) < key) {
        cell = next;
        next = (uint16_t)(next + view->codec->cell_mask + 1u);
    }
    reader_set(view, reader, cell, 0);
    do {
        if (!reader_next(view, reader)) {
            return false;
        }
    } while (esk_row_key(series, packing->row) < key);
    packing->sought_page = view->name;
    packing->sought = key;
    return true;
}

bool esk_packed_page_reaches(const struct esk_series *series,
                             const uint8_t *page, uint16_t count, esk_key key) {
    struct view view;
    if (esk_keys_repeat(series) != 0) {
        if (key == esk_order_key_max(esk_shape(series)->key_type)) {
            return false;
        }
        key++;
    }
    if (esk_is_broken(series)) {
        /* The page's last rows may be dropped ones. */
        return esk_packed_page_below(series, page, count, key) < count;
    }
    view_make(series, page, &view);
    struct packed_reader *reader = reader_spare(view.packing);
    bool found = row_seek(series, &view, reader, key);
    reader->page = PACKED_NONE; /* its rows have no numbers */
    return found;
}

/// Copies the row that was read last into `row`.
static void row_give(const struct esk_series *series, const struct view *view,
                     void *row) {
    const struct esk_series_packing *packing = view->packing;
    esk_row_copy(series, row,
                 esk_row_whole(series, packing->row, view->codec->row_bytes,
                               packing->other));
}

int esk_packed_page_find(const struct esk_series *series, const uint8_t *page,
                         uint16_t count, esk_key key, void *row) {
    struct esk_series_packing *packing = esk_packing(series);
    struct view view;
    view_make(series, page, &view);
    bool repeat = esk_keys_repeat(series) != 0;
    if (esk_is_broken(series)) {
        uint16_t at = esk_packed_page_below(series, page, count, key);
        int status = ESK_NOT_FOUND;
        while (at < count && row_read(series, page, at) != NULL &&
               esk_row_key(series, packing->row) == key) {
            row_give(series, &view, row);
            status = ESK_OK;
            at = repeat ? (uint16_t)(at + 1u) : count;
        }
        return status;
    }
    int status = ESK_NOT_FOUND;
    struct packed_reader *reader = NULL;
    bool found =
        packing->sought_page == view.name && packing->sought == key && !repeat;
    if (!found) {
        reader = reader_spare(packing);
        found = row_seek(series, &view, reader, key);
        reader->page = PACKED_NONE;
    }
    while (found && esk_row_key(series, packing->row) == key) {
        row_give(series, &view, row);
        status = ESK_OK;
        found = repeat && reader_next(&view, reader);
    }
    return status;
}

int esk_packed_page_take(const struct esk_series *series,
                         struct esk_series_cursor *cursor, uint8_t *row) {
    struct esk_series_packing *packing = esk_packing(series);
    const uint8_t *page = cursor->next;
    uint16_t width = esk_rows_width(series, page);
    for (; cursor->left > 0; cursor->left--, cursor->row++) {
        const uint8_t *bytes = row_read(series, page, cursor->row);
        if (bytes == NULL) {
            /* The rows of these ordinals are on the next page. */
            cursor->damaged++;
            cursor->end -= cursor->left;
            cursor->left = 0;
            return ESK_NOT_FOUND;
        }
        if (esk_row_key(series, bytes) > cursor->key_hi) {
            return ESK_END;
        }
        bytes = esk_row_whole(series, bytes, width, packing->other);
        if (cursor->matches == NULL || cursor->matches(cursor, bytes)) {
            if (row != NULL) {
                esk_row_copy(series, row, bytes);
            }
            cursor->left--;
            cursor->row++;
            return ESK_OK;
        }
    }
    return ESK_NOT_FOUND;
}

void esk_packed_page_loaded(const struct esk_series *series, uint8_t *page) {
    uint16_t count = esk_page_count(page);
    uint16_t most =
        (uint16_t)(esk_pool_page_bytes(&series->pool) - ESK_ENVELOPE_BYTES);
    struct view view;
    if ((count & PACKED_SEALED) == 0 ||
        page[ESK_ENVELOPE_KIND] != ESK_PAGE_PACKED) {
        return;
    }
    view_make(series, page, &view);
    struct packed_reader *reader = reader_spare(view.packing);
    reader_set(&view, reader, ESK_ENVELOPE_BYTES, 0);
    while (reader->rows < most && reader_next(&view, reader)) {
    }
    esk_store_u16(page + ESK_ENVELOPE_COUNT, reader->rows);
    reader->page = PACKED_NONE;
}

void esk_packed_page_left(struct esk_series_packing *packing) {
    packing->row_page = PACKED_NONE;
    packing->sought_page = PACKED_NONE;
    for (uint8_t i = 0; i < packing->reader_count; i++) {
        struct packed_reader *reader = packed_reader(packing, i);
        if (reader->page == PACKED_WRITE) {
            reader->page = PACKED_NONE;
        }
    }
}

static void entry_begin(const struct esk_series *series) {
    struct esk_series_packing *packing = esk_packing(series);
    esk_summary_begin(series->columns, esk_shape(series)->column_count,
                      packing->entry,
                      packing->entry + esk_shape(series)->entry_bytes);
    packing->entry_rows = 0;
}

void esk_packed_entry_add(const struct esk_series *series, const uint8_t *row,
                          bool is_first) {
    struct esk_series_packing *packing = esk_packing(series);
    if (is_first) {
        entry_begin(series);
    }
    esk_summary_reach(series->columns, esk_shape(series)->column_count,
                      packing->entry,
                      packing->entry + esk_shape(series)->entry_bytes, row);
    packing->entry_rows++;
}

/// A damaged page may have no rows: its entry begins before them.
void esk_packed_page_fold(const struct esk_series *series, const uint8_t *page,
                          uint8_t *entry) {
    struct esk_series_packing *packing = esk_packing(series);
    uint16_t bytes = esk_shape(series)->entry_bytes;
    uint16_t count = esk_page_count(page);
    if (page != series->write_page || packing->entry_rows != count) {
        entry_begin(series);
        for (uint16_t i = 0; i < count; i++) {
            esk_packed_entry_add(series, esk_packed_page_row(series, page, i),
                                 false);
        }
        packing->entry_rows = ENTRY_NONE;
    }
    memcpy(entry, packing->entry, bytes);
    esk_summary_complete(series->columns, esk_shape(series)->column_count,
                         entry, packing->entry + bytes);
}
