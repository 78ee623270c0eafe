// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes of a program; README.md of this folder is the normative text.
///
///     | header | tables | helpers | outputs | instructions | constants | CRC |
///     0        12       + 8 each  + 8 each  + 2 each   HALT ^          bytes ^
#ifndef ESK_QUERY_PROGRAM_FORMAT_H
#define ESK_QUERY_PROGRAM_FORMAT_H

enum esk_program_offset {
    ESK_PROGRAM_MAGIC = 0,      ///< 'E', 'q'
    ESK_PROGRAM_VERSION = 2,    ///< u8, ESK_PROGRAM_VERSION_NOW
    ESK_PROGRAM_FLAGS = 3,      ///< u8, enum esk_program_flags
    ESK_PROGRAM_BYTES = 4,      ///< u16, of the whole program
    ESK_PROGRAM_REGISTERS = 6,  ///< u8, 0 .. 64
    ESK_PROGRAM_PARAMETERS = 7, ///< u8, the first registers
    ESK_PROGRAM_TABLES = 8,     ///< u8, 0 .. 8
    ESK_PROGRAM_OUTPUTS = 9,    ///< u8, entries of 2 bytes, 0 .. 64
    ESK_PROGRAM_HELPERS = 10,   ///< u8, 0 .. 8
    ESK_PROGRAM_RANGES = 11,    ///< u8, most ranges of a FOR, 0 .. 8
    ESK_PROGRAM_HEAD = 12,      ///< bytes of the header
    ESK_PROGRAM_CRC_BYTES = 4,  ///< at the end: u32, CRC-32C of all before it
};

enum esk_program_limits {
    ESK_PROGRAM_VERSION_NOW = 1,
    ESK_PROGRAM_BYTES_MAX = 8192,
    ESK_PROGRAM_REGISTERS_MAX = 64,
    ESK_PROGRAM_TABLES_MAX = 8,
    ESK_PROGRAM_HELPERS_MAX = 8,
    ESK_PROGRAM_OUTPUTS_MAX = 64,
    ESK_PROGRAM_RANGES_MAX = 8,
    ESK_PROGRAM_LOOPS_MAX = 8, ///< loops inside one another
};
#define ESK_PROGRAM_MAGIC_0 0x45u
#define ESK_PROGRAM_MAGIC_1 0x71u

/// What a program needs of the build that runs it.
enum esk_program_flags {
    ESK_PROGRAM_WIDE = 1,    ///< slots of 64 bits
    ESK_PROGRAM_FLOATS = 2,  ///< the part for floats
    ESK_PROGRAM_TEXT = 4,    ///< the part for text
    ESK_PROGRAM_JOINS = 8,   ///< the part for joins
    ESK_PROGRAM_HELPED = 16, ///< the part for top-k and groups
    ESK_PROGRAM_RANGED = 32, ///< the part for ranges and counts
    ESK_PROGRAM_FLAGS_ALL = 63,
};

/// A table's entry.
enum esk_program_table_offset {
    ESK_PROGRAM_TABLE_PRINT = 0, ///< u32, the schema's fingerprint
    ESK_PROGRAM_TABLE_ROW = 4,   ///< u16, bytes of a row
    ESK_PROGRAM_TABLE_KIND = 6,  ///< u16, enum esk_table_kind
    ESK_PROGRAM_TABLE_BYTES = 8,
};

/// A helper's entry.
enum esk_program_helper_offset {
    ESK_PROGRAM_HELPER_KIND = 0,     ///< u8, enum esk_helper_kind
    ESK_PROGRAM_HELPER_SLOTS = 1,    ///< u8, registers of a record, 1 .. 64
    ESK_PROGRAM_HELPER_KEYS = 2,     ///< u8, the first of them are the key
    ESK_PROGRAM_HELPER_FIRST = 3,    ///< u8, the first register
    ESK_PROGRAM_HELPER_DOWN = 4,     ///< u16, bit i: key i falls; groups: 0
    ESK_PROGRAM_HELPER_CAPACITY = 6, ///< u16, most records, at least 1
    ESK_PROGRAM_HELPER_BYTES = 8,
    ESK_PROGRAM_HELPER_KEYS_MAX = 16,
};

enum esk_helper_kind {
    ESK_HELPER_TOP = 1,    ///< keeps the first `capacity` records in order
    ESK_HELPER_SORT = 2,   ///< the same; ESK_E_LIMIT when there are more
    ESK_HELPER_GROUPS = 3, ///< one record a key; ESK_E_LIMIT when more
    ESK_HELPER_RUNS = 4, ///< a sort of any number, in the memory of `capacity`
};

/// An output: its type, then a register or a table.
enum esk_output_type {
    ESK_OUTPUT_INT = 1,      ///< register
    ESK_OUTPUT_FLOAT = 2,    ///< register, a float in its slot's form
    ESK_OUTPUT_AVG = 3,      ///< register: the mean of the window that begins
                             ///< there
    ESK_OUTPUT_ROW = 4,      ///< table: its current row, whole
    ESK_OUTPUT_ROW_TEXT = 5, ///< table; two more entries follow: u16 offset,
                             ///< u16 bytes in its current row
    ESK_OUTPUT_TEXT = 6,     ///< first register; one more entry follows: u16
                             ///< bytes, that many in registers in a row
    ESK_OUTPUT_TYPES = 7,    ///< 0 is none
};

/// Registers of a window, from its first one.
enum esk_window {
    ESK_WINDOW_COUNT = 0, ///< values that are not NULL
    ESK_WINDOW_SUM = 1,   ///< the sum's low slot; NULL when count is 0
    ESK_WINDOW_CARRY = 2, ///< its high slot; of floats: the compensation
    ESK_WINDOW_MIN = 3,
    ESK_WINDOW_MAX = 4,
    ESK_WINDOW_SLOTS = 5,
};

/// QUANTILE: the part of all records, in ten-thousandths.
enum esk_quantile_part {
    ESK_QUANTILE_PART_MAX = 10000,
    ESK_QUANTILE_PART_NONE = 0x7FFF, ///< the helper is emptied instead
};

/// Which of them AGG, AGGC and FAGG update.
enum esk_window_mask {
    ESK_WINDOW_HAS_COUNT = 1,
    ESK_WINDOW_HAS_SUM = 2,
    ESK_WINDOW_HAS_MIN = 4,
    ESK_WINDOW_HAS_MAX = 8,
    ESK_WINDOW_HAS_ALL = 15,
    ESK_WINDOW_FLOATS = 16, ///< in no program: the values are floats
};

/// Flags of FOR; the high four bits are the number of its ranges.
enum esk_for_flags {
    ESK_FOR_MIN = 1,      ///< key >= the second operand
    ESK_FOR_MAX = 2,      ///< key <= the third
    ESK_FOR_BACKWARD = 4, ///< the largest key first
    ESK_FOR_OPEN = 8,     ///< no loop: for ADVANCE or COUNT
    ESK_FOR_RANGES = 4,   ///< bits below the number of ranges
    ESK_FOR_FLAGS = 4,    ///< the operand's place in the instruction
};

/// A range of FOR: column, its type and flags, register of lo, of hi.
enum esk_for_range_offset {
    ESK_FOR_RANGE_COLUMN = 0, ///< u8
    ESK_FOR_RANGE_FLAGS = 1,  ///< u8: type * 16 + flags below
    ESK_FOR_RANGE_LO = 2,     ///< u8, register
    ESK_FOR_RANGE_HI = 3,     ///< u8, register
    ESK_FOR_RANGE_BYTES = 4,
    ESK_FOR_RANGE_HAS_LO = 1,
    ESK_FOR_RANGE_HAS_HI = 2,
};

/// How TEXT compares, in its first operand.
enum esk_text_how {
    ESK_TEXT_RELATION = 3,  ///< bits: 0 <, 1 <=, 2 =, 3 <>
    ESK_TEXT_IF = 4,        ///< jump where true; else unless true
    ESK_TEXT_LIKE = 8,      ///< equal: as the pattern says, else above
    ESK_TEXT_REFERRED = 16, ///< the text that a register refers to
    ESK_TEXT_ALL = 31,
};

/// In a pattern of TEXT, in front of a % or _ that is no wildcard: no byte of
/// UTF-8.
#define ESK_TEXT_ESCAPE 0xFFu

/// A reference to a text of at most 255 bytes, in a register: offset * 256 +
/// bytes, in the program; or -1 minus that, in the texts of the parameters.
enum { ESK_REFERENCE_OFFSET = 8 }; ///< bits below the offset

/// Operand bytes that stand for a table and a type: table * 16 + type.
enum esk_place {
    ESK_PLACE_TYPE = 15,
    ESK_PLACE_TABLE = 4, ///< bits below the table
};

/// When IF and IFC jump, in their last operand but one.
enum esk_when {
    ESK_WHEN_LESS = 1,    ///< a < b
    ESK_WHEN_EQUAL = 2,   ///< a = b
    ESK_WHEN_GREATER = 4, ///< a > b
    ESK_WHEN_NULL = 8,    ///< a or b is NULL
    ESK_WHEN_EVER = 15,
};

/// r, a, b, m are registers, c a table, h a helper, t a table and a type, w a
/// window's first register. off: jump so many bytes on from the instruction's
/// end. README.md has the meanings.
enum esk_op {
    ESK_OP_HALT = 0,   ///< the last instruction, and nowhere else
    ESK_OP_EMIT = 1,   ///< a row is ready
    ESK_OP_NULL = 2,   ///< r
    ESK_OP_MOV = 3,    ///< r a
    ESK_OP_LDI8 = 4,   ///< r i8
    ESK_OP_LDI16 = 5,  ///< r i16
    ESK_OP_LDI32 = 6,  ///< r i32
    ESK_OP_LDI64 = 7,  ///< r i64
    ESK_OP_LD = 8,     ///< r t off16: a column
    ESK_OP_NULLIF = 9, ///< r m: r is NULL where r = m
    ESK_OP_CLEAR = 10, ///< w: count 0, the others NULL
    ESK_OP_AGG = 11,   ///< mask w a
    ESK_OP_AGGC = 12,  ///< mask w t off16: of integers
    ESK_OP_SUM = 13,   ///< r w: the window's sum
    ESK_OP_ADD = 14,   ///< r a b
    ESK_OP_SUB = 15,   ///< r a b
    ESK_OP_MUL = 16,   ///< r a b
    ESK_OP_DIV = 17,   ///< r a b
    ESK_OP_REM = 18,   ///< r a b
    ESK_OP_IF = 19,    ///< a b when off8
    ESK_OP_IFC = 20,   ///< r b t off16 when off8: LD r t, IF r b
    ESK_OP_JMP = 21,   ///< off8
    ESK_OP_JMP16 = 22, ///< off16
    ESK_OP_FOR = 23,   ///< c off16 flags a b, 4 bytes a range
    ESK_OP_NEXT = 24,  ///< c body16, an offset in the program
    ESK_OP_COUNT = 25, ///< r c: r grows by the rows that are left

    /* Joins. */
    ESK_OP_ADVANCE = 26, ///< c a off8: on to the row with key a; jump: none
    ESK_OP_GET = 27,     ///< c a off8: the row with key a; jump: none

    /* Top-k and groups. */
    ESK_OP_PUSH = 28,     ///< h
    ESK_OP_GROUP = 29,    ///< h
    ESK_OP_FORH = 30,     ///< h off16
    ESK_OP_NEXTH = 31,    ///< h body16
    ESK_OP_QUANTILE = 32, ///< h part16

    /* Text. */
    ESK_OP_LDT = 33,    ///< r c n off16: n bytes of text into a slot
    ESK_OP_TEXT = 34,   ///< how c off16 bytes16 at16 n8 off8
    ESK_OP_LENGTH = 35, ///< r a n8: the characters of the n bytes from a on
    ESK_OP_SUBSTR = 36, ///< r m8 a n8 skip16 count16: some of them, m bytes
    ESK_OP_LDR = 37,    ///< r m8 a: the text that a refers to, m bytes

    /* Floats. */
    ESK_OP_FADD = 38,  ///< r a b
    ESK_OP_FSUB = 39,  ///< r a b
    ESK_OP_FMUL = 40,  ///< r a b
    ESK_OP_FDIV = 41,  ///< r a b
    ESK_OP_FLOAT = 42, ///< r a: of an integer
    ESK_OP_TRUNC = 43, ///< r a: toward 0, an integer
    ESK_OP_FCMP = 44,  ///< r a b: integer a with float b: -1, 0, 1
    ESK_OP_ROUND = 45, ///< r a digits8
    ESK_OP_FSUM = 46,  ///< r w: the sum of a window of floats
    ESK_OP_FAVG = 47,  ///< r w: the mean of a window of integers
    ESK_OP_FAGG = 48,  ///< mask w a: floats

    ESK_OP_COUNT_OF_ALL = 49,
};

#endif
