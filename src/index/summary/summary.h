// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The value index over bytes: a zone map and a bitmap for each column.
///
/// An entry summarises a set of rows (a data page, a run of pages, a group of
/// index pages) in a fixed number of bytes:
///
///     for each column:  min     width bytes, order form, little-endian
///                       max     width bytes
///                       bitmap  bitmap_bits / 8 bytes
///
/// Bitmap with given edges: bit i is set when a value is in bucket i, where i
/// is the number of edges <= the value. Learned: cells of equal width over the
/// entry's own range, computed from min and max alone, so nothing else is
/// stored:
///
///     shift  the smallest with last = (max - min) >> shift <= 255
///     scale  256 when last < bitmap_bits,
///            else bitmap_bits * 256 / (last + 1)
///     cell of v  =  ((v - min) >> shift) * scale >> 8
///
/// A column of few values (last < bitmap_bits) has a bit for each value.
/// A merge of different zones sets each cell of the joined zone that can have
/// a value of a set cell. The joined cells are the wider ones, so one becomes
/// one or two of them.
///
/// States: min > max and bitmap 0 is the empty entry, which matches nothing;
/// min 0, max and bitmap all ones is the unknown entry, which matches
/// everything. Hostile bytes only give wrong answers, never a bad access.
///
/// No I/O and no state.
#ifndef ESK_INDEX_SUMMARY_H
#define ESK_INDEX_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>

/// One indexed column. Constant after the open; in the table's arena.
struct esk_summary_column {
    uint16_t offset;     ///< of the value in a row
    uint8_t type;        ///< a numeric enum esk_type
    uint8_t width;       ///< 1, 2, 4 or 8: bytes of the type
    uint8_t bitmap_bits; ///< 0, 8, 16, 32 or 64
    uint8_t edge_count;  ///< < bitmap_bits
    bool has_missing;    ///< the catalog has a value that no range has
    /// Bucket edges in order form, width bytes each, little-endian, rising;
    /// NULL: learned.
    const uint8_t *edges;
};

/// A condition on one indexed column: lo <= value <= hi.
struct esk_summary_range {
    uint8_t index; ///< number of the column
    uint64_t lo;   ///< order form
    uint64_t hi;   ///< order form
};

/// Bytes of one entry.
uint16_t esk_summary_entry_bytes(const struct esk_summary_column *columns,
                                 uint8_t count);

/// Makes `entry` empty: it matches nothing.
void esk_summary_clear(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry);

/// Makes `entry` unknown: it matches everything.
void esk_summary_widen(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry);

/// Makes `entry` cover exactly the `row_count` rows at `rows`, `row_bytes`
/// apart. NaN values are skipped: they match no range.
/// Costs two passes over the rows with a bitmap, one without.
void esk_summary_fold(const struct esk_summary_column *columns, uint8_t count,
                      uint8_t *entry, const uint8_t *rows, uint16_t row_count,
                      uint16_t row_bytes);

/// The same for rows that come one after another, each once: esk_summary_begin,
/// a esk_summary_reach for each row, esk_summary_complete. Until then the entry
/// has no learned buckets.
///
/// Learned buckets depend on the zone, which the last row may change. So values
/// are noted in *steps*, a power of two wide, which stay where they are when
/// the zone grows, and are joined in pairs. There are 256 of them, 512 for 32
/// bits and 1024 for 64. A step can be in two of the buckets: both are set.
/// Where max - min > 255 the entry may so match more than that of a fold.
///
/// steps    esk_summary_steps_bytes of all columns together.
void esk_summary_begin(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, uint8_t *steps);
void esk_summary_reach(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, uint8_t *steps, const uint8_t *row);
void esk_summary_complete(const struct esk_summary_column *columns,
                          uint8_t count, uint8_t *entry, uint8_t *steps);

enum { ESK_SUMMARY_STEPS_BYTES_MAX = 1 + 1024 / 8 };

/// Bytes of a column's steps: a shift, and a bit a step.
uint16_t esk_summary_steps_bytes(uint8_t bitmap_bits, bool learned);

/// Extends `zones` by what `entry` covers. `zones` is an entry without bitmaps:
/// 2 * width bytes a column, the layout of the same columns with bitmap_bits 0.
void esk_summary_merge_zones(const struct esk_summary_column *columns,
                             uint8_t count, uint8_t *zones,
                             const uint8_t *entry);

/// Extends `entry` by what `other_count` entries, `entry_bytes` apart, cover,
/// in this order. `entry` has the zone of all, and at least the bits of all.
void esk_summary_merge(const struct esk_summary_column *columns, uint8_t count,
                       uint8_t *entry, const uint8_t *others,
                       uint16_t other_count, uint16_t entry_bytes);

/// Bit i of the result is set if entry i, of up to 64 entries `entry_bytes`
/// apart, may have a row in `range`; if it is clear, the entry has none.
/// count    0 .. 64.
/// range    of one of `columns`.
uint64_t esk_summary_matches(const struct esk_summary_column *columns,
                             const uint8_t *entries, uint16_t entry_bytes,
                             uint16_t count,
                             const struct esk_summary_range *range);

/// The same of the entries with rows whose zone is within `range`: all of their
/// rows but NaN are.
uint64_t esk_summary_within(const struct esk_summary_column *columns,
                            const uint8_t *entries, uint16_t entry_bytes,
                            uint16_t count,
                            const struct esk_summary_range *range);

#endif
