// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Packed pages: rows as the bits by which they differ from a prediction.
///
///     16            c             2c                         page_bytes
///     | cell        | cell        | cell ...   free ... seals |
///
///     cell := row 0, whole | a byte a field | bits of rows 1, 2, ... | zeros
///
/// A *field* is a column, or one of the two numbers of a variable column's
/// reference. Each value is predicted by the row before; the difference is
/// written in a code whose length follows the differences seen (adaptive Rice
/// codes). All fields that hardly change share one bit a row.
///
/// Invariants
///  1. A cell is read without any other byte of the page but its own.
///  2. Zero bits read as "no more rows" up to the end of the cell.
///  3. Nothing is read at or beyond the limit that a reader is given, and every
///     row read takes at least one bit.
///  4. Bits once written are not changed: a page can be programmed up to a mark
///     and go on behind it.
///
/// Costs: no table, no second page; a state of ESK_PACKED_STATE_BYTES for a
/// writer and for each reader. At most 2 bytes a row are written above its own
/// size, and at most ESK_PACKED_SLACK bytes a cell.
#ifndef ESK_TABLE_SERIES_CODEC_PACKED_H
#define ESK_TABLE_SERIES_CODEC_PACKED_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/schema.h"
#include "esker/status.h"
#include "table/series/codec/packed_format.h"

/// f32 values as decimal numbers, packed_decimal.c. A program whose tables have
/// no such column does not link it.
struct esk_packed_decimals {
    /// Writes n, a u32, where the f32 at `from` is the nearest to
    /// n / 10^decimals. Returns false when there is no such n.
    bool (*encode)(const uint8_t *from, uint8_t decimals, uint8_t *to);
    /// Writes the f32 nearest to n / 10^decimals. Returns false when |n| is
    /// above ESK_PACKED_DECIMAL_LIMIT.
    bool (*decode)(const uint8_t *from, uint8_t decimals, uint8_t *to);
};

extern const struct esk_packed_decimals esk_series_part_decimals;

/// A field of a row.
struct esk_packed_field {
    uint16_t offset; ///< in the row
    uint16_t bytes;
    uint16_t part_bytes; ///< of a state: esk_packed_part_bytes
    uint8_t mode;        ///< enum esk_packed_mode
    bool is_word;        ///< 4 bytes of mode ESK_PACKED_DELTA or _LINEAR
};

/// Bytes of a state for a field of `bytes` bytes.
uint16_t esk_packed_part_bytes(uint16_t bytes, uint8_t mode);

/// A field at `offset`.
struct esk_packed_field esk_packed_field(uint16_t offset, uint16_t bytes,
                                         uint8_t mode);

/// How the rows of a table are packed. Field 0 is the key.
struct esk_packed {
    const struct esk_packed_field *fields;
    const struct esk_packed_decimals *decimals; ///< NULL: no such field
    uint16_t row_bytes;
    uint16_t cell_mask; ///< bytes of a cell, a power of two, less one
    uint8_t field_count;
    uint8_t unit_mask; ///< what is programmed apart is aligned to, less one
};

/// The state of a writer or a reader, followed by a part for each field: a
/// byte, the value in the row before, and 4 bytes more in mode
/// ESK_PACKED_LINEAR.
struct esk_packed_state {
    uint16_t at;   ///< offset of the byte of the next bit; 0: an empty page
    uint16_t last; ///< byte of the cell
    union {
        uint16_t limit; ///< reader: where the page ends. It moves up if the
                        ///< page is being written, and has more rows
        uint16_t saved; ///< writer: bytes that the cell's rows saved, and what
                        ///< they may lose
    };
    uint8_t bit; ///< number of the next bit in its byte
    uint8_t flags;
};

enum {
    ESK_PACKED_FIELDS_MAX = ESK_COLUMN_COUNT_MAX + 1,
    ESK_PACKED_SLACK = 7, ///< most bytes of a cell above the rows' own and a
                          ///< byte a field
};

#define ESK_PACKED_STATE_BYTES(field_count, row_bytes, linear_count)           \
    (8u + (field_count) + (row_bytes) + 4u * (linear_count))

/// Bytes of a state of `packed`.
uint16_t esk_packed_state_bytes(const struct esk_packed *packed);

/* packed_encode.c */

/// Makes the state of a writer, before its first page.
void esk_packed_init(const struct esk_packed *packed,
                     struct esk_packed_state *state);

/// Appends `row` to the page.
/// end      where the page ends: below the seals.
/// Returns  ESK_OK; ESK_FULL: it has no room, and is as it was.
int esk_packed_append(const struct esk_packed *packed,
                      struct esk_packed_state *state, uint8_t *page,
                      uint16_t end, const uint8_t *row);

/// Ends the rows so far at a unit, so that what is before can be programmed.
/// Returns  the offset up to which the bytes count.
uint16_t esk_packed_align(const struct esk_packed *packed,
                          struct esk_packed_state *state, uint8_t *page,
                          uint16_t end);

/// Makes the rest of the page's last cell zero, for a copy of the page, which
/// ends at `end`; the page can go on.
/// Returns  the offset up to which the bytes count.
uint16_t esk_packed_end(struct esk_packed_state *state, uint8_t *page,
                        uint16_t end);

/// Completes the page as esk_packed_end. The next row begins another page.
void esk_packed_close(struct esk_packed_state *state, uint8_t *page,
                      uint16_t end);

/// Makes of a reader of a page that was copied from a writer, after its last
/// row, a writer that goes on behind that row.
/// page     becomes the writer's page.
void esk_packed_resume(struct esk_packed_state *state, uint8_t *page);

/* packed_decode.c */

/// Where the bytes of a complete page end: below its seals.
uint16_t esk_packed_page_end(const uint8_t *page, uint16_t page_bytes);

/// Sets a reader before the first row of the cell at offset `cell`.
/// limit    the page's bytes from there on are not read: of a complete page
///          esk_packed_page_end - 1, of a sealed one what the seal covers, of
///          one being written esk_packed_written.
void esk_packed_seek(struct esk_packed_state *state, uint16_t cell,
                     uint16_t limit);

/// The limit for a reader of a page that `state` is writing.
uint16_t esk_packed_written(const struct esk_packed_state *state);

/// Reads the next row into `row`.
/// Returns  ESK_OK; ESK_END: the page has no more rows; ESK_E_CORRUPT: its
///          bits are no rows. The reader is of no use then.
int esk_packed_next(const struct esk_packed *packed,
                    struct esk_packed_state *state, const uint8_t *page,
                    uint8_t *row);

/// The key of the last row read, as in the row.
const uint8_t *esk_packed_key(const struct esk_packed_state *state);

/// Whether the page has a cell at offset `cell`, a multiple of the cell's bytes
/// or ESK_ENVELOPE_BYTES, if no cell before it ends with the page. Its first
/// row stands there.
bool esk_packed_has_cell(const struct esk_packed *packed, const uint8_t *page,
                         uint16_t cell, uint16_t limit);

/// Whether the cell at offset `cell` ends with the page: all rows are whole.
static inline bool esk_packed_is_last(const struct esk_packed *packed,
                                      const uint8_t *page, uint16_t cell) {
    return page[cell + packed->row_bytes] == ESK_PACKED_WHOLE;
}

#endif
