// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the files of the part for packed pages share: what a table has in RAM.
///
/// A *reader* is a place in a page, with the state of the codec there. Cursors
/// and gets have no reader of their own: the next row of a page is read from
/// the reader that stands before it, if there is one. So a row costs one decode
/// where rows are read one after another, by as many cursors at a time as there
/// are readers, and else the rows of the cell before it.
#ifndef ESK_TABLE_SERIES_SERIES_PACKED_H
#define ESK_TABLE_SERIES_SERIES_PACKED_H

#include "table/series/codec/packed.h"
#include "table/series/series_open.h"
#include "table/series/series_rows.h"

enum { READERS_DEFAULT = 2 };

/// `entry` has another page's rows.
#define ENTRY_NONE UINT16_MAX

/// Bit of a page's count: it is that of a seal, so it counts bytes.
#define PACKED_SEALED 0x8000u

/// Names of pages that are at no data position: the write page, and no page.
#define PACKED_WRITE UINT32_MAX
#define PACKED_NONE (UINT32_MAX - 1u)

struct packed_reader {
    uint32_t page;     ///< its name; PACKED_NONE: of no use
    uint16_t rows;     ///< of the page, that were read
    uint16_t cell;     ///< where the cell of the next row begins
    uint16_t cell_row; ///< number of that cell's first row
    struct esk_packed_state state;
};

struct esk_series_packing {
    struct esk_packed codec;
    struct esk_packed_field *fields;
    struct esk_packed_state *writer;
    uint8_t *row;         ///< the row that was read last
    uint8_t *other;       ///< another row
    uint8_t *readers;     ///< reader_count, each of reader_bytes
    uint8_t *entry;       ///< of the value index, of the write page's rows, and
                          ///< its steps; NULL: no value index
    uint32_t row_page;    ///< name of the page that `row` is of
    uint32_t sought_page; ///< `row` is the first of this page from `sought` on
    esk_key sought;
    uint16_t row_index;  ///< number of `row` in its page
    uint16_t entry_rows; ///< how many are in `entry`; ENTRY_NONE
    uint16_t reader_bytes;
    uint8_t reader_count;
    uint8_t last; ///< number of the reader that was used last
};

/// What a packed table has more: it ends where the handle begins.
static inline struct esk_series_packing *
esk_packing(const struct esk_series *series) {
    return (struct esk_series_packing *)(uintptr_t)series - 1;
}

/// Reader `number`.
static inline struct packed_reader *
packed_reader(const struct esk_series_packing *packing, uint8_t number) {
    return (void *)(packing->readers + (size_t)number * packing->reader_bytes);
}

/* series_packed_read.c: members of the part. */

void esk_packed_page_loaded(const struct esk_series *series, uint8_t *page);
const uint8_t *esk_packed_page_row(const struct esk_series *series,
                                   const uint8_t *page, uint16_t index);
uint16_t esk_packed_page_rows(const struct esk_series *series,
                              const uint8_t *page, uint16_t count);
uint16_t esk_packed_page_below(const struct esk_series *series,
                               const uint8_t *page, uint16_t count,
                               esk_key key);
bool esk_packed_page_reaches(const struct esk_series *series,
                             const uint8_t *page, uint16_t count, esk_key key);
int esk_packed_page_find(const struct esk_series *series, const uint8_t *page,
                         uint16_t count, esk_key key, void *row);
int esk_packed_page_take(const struct esk_series *series,
                         struct esk_series_cursor *cursor, uint8_t *row);
void esk_packed_page_fold(const struct esk_series *series, const uint8_t *page,
                          uint8_t *entry);

/// Adds a row of the write page, or of a page that is read, to the entry in
/// RAM; with `is_first` that is empty before.
void esk_packed_entry_add(const struct esk_series *series, const uint8_t *row,
                          bool is_first);

/// Another write page begins: what was read of the last one is forgotten.
void esk_packed_page_left(struct esk_series_packing *packing);

#endif
