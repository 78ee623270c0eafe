// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes and bits of a packed page; FORMAT.md, "Packed pages".
#ifndef ESK_TABLE_SERIES_CODEC_PACKED_FORMAT_H
#define ESK_TABLE_SERIES_CODEC_PACKED_FORMAT_H

/// A column's mode. Stored in the catalog. Of ESK_PACKED_DECIMAL and above, the
/// mode less ESK_PACKED_DECIMAL is the number of decimals.
enum esk_packed_mode {
    ESK_PACKED_RAW = 0,         ///< one bit: as before, or else the bytes
    ESK_PACKED_DELTA = 1,       ///< an integer's change
    ESK_PACKED_LINEAR = 2,      ///< the change of an integer's change
    ESK_PACKED_FLOAT = 3,       ///< an f32: the change of its order form
    ESK_PACKED_DECIMAL = 4,     ///< an f32: the change of n = value * 10^e
    ESK_PACKED_DECIMAL_MAX = 7, ///< three decimals
};

/// The byte of a field after the first row of a cell.
enum esk_packed_scale {
    ESK_PACKED_SCALE_ONE = 1,    ///< stored for scale 0; scales follow
    ESK_PACKED_SCALE_START = 16, ///< of a table, and after a whole row
    ESK_PACKED_SCALE_MAX = 126,  ///< stored as 127
    ESK_PACKED_QUIET = 0x80,     ///< scale 0, and the field is quiet
    ESK_PACKED_WHOLE = 0x81,     ///< of field 0: all rows up to the page's end
                                 ///< are of this cell, and whole
};

/// A code: q zeros, a one, then the low bits of the change. With
/// ESK_PACKED_ZEROS zeros an escape: q is as long as ESK_PACKED_LENGTH_BITS
/// bits say, less its top bit. Lengths that no such q has are marks.
enum esk_packed_code {
    ESK_PACKED_ZEROS = 6,
    ESK_PACKED_LENGTH_BITS = 5,
    ESK_PACKED_LENGTH_MIN = 2,
    ESK_PACKED_MARK_ALIGN = 0, ///< of field 0: the next row is aligned
    ESK_PACKED_MARK_ROW = 1,   ///< of field 0: a whole row follows
    ESK_PACKED_MARK_VALUE = 0, ///< of a decimal: the f32 follows
};

enum esk_packed_limit {
    ESK_PACKED_CELL_BYTES_MIN = 64,
};

/// A decimal's n: |n| is below.
#define ESK_PACKED_DECIMAL_LIMIT (UINT32_C(1) << 24)

#endif
