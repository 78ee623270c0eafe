// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Queries as programs of bytes: checked once, then run in steps over open
/// tables, on a host or on a device that is already deployed.
///
///     struct esk_source sources[1];
///     struct esk_program program;
///     struct esk_output value;
///     esk_source_series(&sources[0], log, LOG_FINGERPRINT);
///     esk_program_begin(&program, bytes, count, &esk_query_parts_all, sources,
///                       1, arena, sizeof arena);
///     esk_program_set(&program, 0, 42);
///     while ((status = esk_program_step(&program, 100)) != ESK_END) {
///         if (status == ESK_OK) {
///             esk_program_row(&program, 0, &value);
///         } else if (status != ESK_AGAIN) {
///             return status;
///         }
///         ... sample, append: a step ends after 100 rows or pages ...
///     }
///
/// The format is in src/query/README.md. A program cannot read or write outside
/// its own registers and rows, and always ends, whatever its bytes are.
#ifndef ESKER_QUERY_H
#define ESKER_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/kv.h"
#include "esker/schema.h"
#include "esker/series.h"
#include "esker/status.h"
#include "esker/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Bits of a slot, which holds a value: 64 or 32. With 32 a value that does not
/// fit ends the query with ESK_E_LIMIT, and floats are f32.
#ifndef ESK_QUERY_BITS
#define ESK_QUERY_BITS 64
#endif

/// An integer; or a float's bits, of which all but the sign are inverted when
/// the float is negative: so floats compare as integers do.
#if ESK_QUERY_BITS == 32
typedef int32_t esk_slot;
/* A program does not link with a library of another slot width. */
#define esk_program_begin esk_program_begin_with_32_bit_slots
#define esk_program_check esk_program_check_with_32_bit_slots
#elif ESK_QUERY_BITS == 64
typedef int64_t esk_slot;
#else
#error "ESK_QUERY_BITS is 32 or 64"
#endif

/// What a source adds to a query's bounds: rows behind it came after the query
/// began.
struct esk_source_mark {
    esk_key newest;
    uint32_t ordinal_end; ///< of the row that would be next
    bool is_empty;        ///< the table had no row
};

/// Notes the rows that a series has now. Costs nothing.
void esk_source_mark_series(struct esk_source_mark *mark,
                            const struct esk_series *series);

/// Which rows a source returns.
struct esk_source_bounds {
    const esk_slot *min; ///< smallest key, included; NULL: none
    const esk_slot *max; ///< largest key, included; NULL: none
    bool backward;
    uint8_t range_count;
    const struct esk_series_range *ranges;
    /// Whose texts `min` and `max` refer to: ESK_SOURCE_REFERENCES.
    const struct esk_program *program;
};

struct esk_program;
struct esk_source;

/// What a source of this kind can do beside a scan: the flags that a FOR of it
/// may have.
enum esk_source_can {
    ESK_SOURCE_ORDERED = 7,    ///< key bounds, backward, and rows in key order
    ESK_SOURCE_REFERENCES = 8, ///< bounds are references to texts, no keys
    ESK_SOURCE_RANGES = 240,
};

/// One kind of table as a source: a constant descriptor. A program that names
/// no source of a kind does not link it.
struct esk_source_kind {
    uint8_t kind; ///< enum esk_table_kind
    uint8_t can;  ///< enum esk_source_can
    /// Notes what the query may see; NULL: all.
    void (*mark)(const struct esk_source *source, struct esk_source_mark *mark);
    /// Starts `cursor`.
    /// Returns  ESK_OK; ESK_END: no row can match; as the table's cursor_open.
    int (*open)(const struct esk_source *source,
                const struct esk_source_mark *mark, void *cursor,
                const struct esk_source_bounds *bounds);
    /// Copies the next row. Reads at most 1 page without returning a row.
    /// Returns  ESK_OK; ESK_AGAIN: call again; ESK_END; as cursor_next.
    int (*next)(const struct esk_source *source, void *cursor, uint8_t *row);
    /// Copies the row with the key in `key` and the slots after it. Without one
    /// `row` may have any bytes.
    /// Returns  ESK_OK; ESK_NOT_FOUND; as the table's get.
    int (*get)(const struct esk_source *source,
               const struct esk_source_mark *mark, const esk_slot *key,
               uint8_t *row);
};

/// An open table, as a query sees it. The caller owns it, and keeps it and the
/// table until the query's last step. Set by the calls below.
struct esk_source {
    const struct esk_source_kind *kind;
    void *table;
    /// Adds to `count` the rows that a cursor has left, without copying them;
    /// NULL: they are visited. As esk_series_cursor_count.
    /// pages    in: the most that it reads, at least 1; out: less what the
    ///          call took of them, all at ESK_AGAIN if they are at most 255.
    int (*count)(const struct esk_source *source, void *cursor, uint16_t *pages,
                 uint32_t *count);
    uint32_t fingerprint; ///< of the schema: esk_table_fingerprint
    uint16_t cursor_bytes;
    uint16_t row_bytes;
    uint16_t key_offset; ///< in a row
    uint16_t key_bytes;
    uint8_t key_type; ///< enum esk_type
};

/// Makes a source of an open series, or a tree or a reader of one.
/// fingerprint  esk_table_fingerprint of the table, or the same constant.
void esk_source_series(struct esk_source *source, struct esk_series *series,
                       uint32_t fingerprint);
void esk_source_tree(struct esk_source *source, struct esk_tree *tree,
                     uint32_t fingerprint);

/// Lets COUNT use the value indexes of a series' source, which must be all of
/// its parts: pages that lie within the ranges are counted, not read.
void esk_source_series_counts(struct esk_source *source);

/// Makes a source of an open kv table, which has rows of the columns
///
///     key     text of `key_bytes` bytes, zeros after a shorter one
///     type    u8, enum esk_kv_type
///     bytes   u32, of the value
///     number  i64, of types UNSIGNED, SIGNED and BOOL; else INT64_MIN
///     value   `value_bytes` bytes: its beginning, zeros after a shorter one
///
/// in no order; see esk_source_kv_ordered. Keys longer than `key_bytes` are
/// left out.
/// key_bytes    1 .. ESK_KV_KEY_BYTES_MAX.
/// value_bytes  up to 1,024; 0: rows have no such column.
void esk_source_kv(struct esk_source *source, struct esk_kv *kv,
                   uint8_t key_bytes, uint16_t value_bytes);

/// Lets such a source return its rows in the order of their keys, both ways,
/// and take bounds of the key, which are references (src/query/README.md).
///
/// memory_bytes  of each scan's cursor: as esk_kv_cursor_open. What is above
///               65,535 bytes together with a row is not used.
/// Costs         a step as esk_kv_cursor_next with step_keys 1. Bounds of one
///               key are a lookup.
void esk_source_kv_ordered(struct esk_source *source, uint16_t memory_bytes);

/// Parts of the machine that a program may leave out; the linker drops a part
/// that is not named.
struct esk_query_part;
struct esk_query_parts {
    const struct esk_query_part *floats;
    const struct esk_query_part *text;
    const struct esk_query_part *joins;   ///< ADVANCE, GET
    const struct esk_query_part *helpers; ///< top-k, sort and groups
    const struct esk_query_part *ranges;  ///< ranges of FOR, COUNT
};

extern const struct esk_query_part esk_query_part_ranges;
extern const struct esk_query_part esk_query_part_joins;
extern const struct esk_query_part esk_query_part_helpers;
/// In place of that of helpers: the same, and quantiles.
extern const struct esk_query_part esk_query_part_quantiles;
/// In place of that one: the same, and sorts of any number of records through a
/// scratch: esk_program_set_scratch of esker/runs.h.
extern const struct esk_query_part esk_query_part_runs;
extern const struct esk_query_part esk_query_part_text;
/// With slots of 64 bits it needs a double of 64 bits, which AVR has not.
extern const struct esk_query_part esk_query_part_floats;

/// Every part.
extern const struct esk_query_parts esk_query_parts_all;

/// What esk_program_check found.
struct esk_program_report {
    uint32_t arena_bytes; ///< that esk_program_begin takes
    uint16_t at;          ///< offset of what is refused
};

/// Checks a program in one pass: what is checked is safe to run.
///
/// program  in, borrowed for the call.
/// parts    may be NULL: none.
/// sources  the tables that the program may use, found by their fingerprints.
/// report   out, always filled in.
/// Returns  ESK_OK; ESK_E_CORRUPT: no program, or it breaks a rule of the
///          format; ESK_E_VERSION; ESK_E_UNSUPPORTED: it needs a part, wider
///          slots, or what a source cannot do; ESK_E_SCHEMA: no source has
///          the fingerprint, kind and row bytes of a table.
/// Costs    no page reads; a CRC of the program, and its instructions once.
int esk_program_check(const uint8_t *program, uint32_t program_bytes,
                      const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      struct esk_program_report *report);

/// A running program. The caller owns it; it needs no close. The fields are
/// EskerDB's.
struct esk_program {
    const uint8_t *code;
    const struct esk_query_parts *parts;
    esk_slot *values; ///< registers
    uint8_t *nulls;   ///< for each register, 1: NULL
    struct esk_program_table *tables;
    struct esk_program_helper *helpers;
    struct esk_series_range *ranges;
    const uint8_t *texts; ///< of its parameters
    uint16_t text_bytes;
    const uint8_t *next; ///< the next instruction
    uint16_t budget;     ///< left of this step
    int8_t status;       ///< of the last step
};

/// Checks a program and starts it. Its parameters are NULL until they are set.
///
/// program  out: the run. Registers, rows and cursors are in the arena.
/// code     borrowed, unchanged, until the last step; so are parts, sources
///          and arena.
/// arena    aligned for uint64_t: as many bytes as esk_program_check reports.
/// Returns  as esk_program_check; ESK_E_NO_MEMORY; ESK_E_INVALID: the arena is
///          NULL or not aligned.
/// Costs    as esk_program_check. A query sees no row that is appended to a
///          series later.
int esk_program_begin(struct esk_program *program, const uint8_t *code,
                      uint32_t code_bytes, const struct esk_query_parts *parts,
                      const struct esk_source *sources, uint8_t source_count,
                      void *arena, uint32_t arena_bytes);

/// Sets a parameter, before the first step.
/// Returns  ESK_OK; ESK_E_INVALID: the program has no such parameter.
int esk_program_set(struct esk_program *program, uint8_t parameter,
                    esk_slot value);

/// Sets a parameter that is a text, before the first step: no register has its
/// bytes, so it may be longer than any.
///
/// texts    borrowed until the last step: the same for each such parameter.
/// offset   of this text in them.
/// bytes    of this text, which has no zero byte.
/// Returns  as esk_program_set; ESK_E_INVALID: other texts.
/// Costs    nothing.
int esk_program_set_text(struct esk_program *program, uint8_t parameter,
                         const void *texts, uint16_t offset, uint8_t bytes);

/// Runs the program until a row is ready or the budget is used up.
///
/// budget   rows visited, and pages read without a row, of this call; 0:
///          65,535.
/// Returns  ESK_OK: a row is ready; ESK_AGAIN: call again; ESK_END;
///          ESK_E_LIMIT: an overflow, or more groups or rows in order than the
///          program has room for, esk_program_bound; ESK_E_STALE: rows were
///          dropped that the query had yet to read; ESK_E_IO; as the calls of
///          the tables, and of esker/runs.h where it sorts by runs. After a
///          failure each call returns ESK_E_INVALID: begin again.
/// Costs    budget page reads, and 3 or a path for each FOR and GET. Sorting
///          the records of a helper is not divided.
int esk_program_step(struct esk_program *program, uint16_t budget);

/// What a program had no room for.
enum esk_bound_kind {
    ESK_BOUND_NONE = 0,   ///< no bound: the program ended for another reason
    ESK_BOUND_ROWS = 2,   ///< rows in order, or values of a quantile
    ESK_BOUND_GROUPS = 3, ///< groups
    ESK_BOUND_RUNS = 4,   ///< rows in order, of a helper that sorts by runs
};

/// A bound that a program states.
struct esk_program_bound {
    uint8_t kind;     ///< enum esk_bound_kind
    uint16_t most;    ///< records that it has room for; 0: its scratch is full
    uint16_t reached; ///< records that it had when another one came
};

/// Which bound ended a query, after a step that returned ESK_E_LIMIT.
/// bound    out.
/// Returns  ESK_OK; ESK_NOT_FOUND: none: it was an overflow, or no such step.
int esk_program_bound(const struct esk_program *program,
                      struct esk_program_bound *bound);

/// One value of a row. Its pointers are valid until the next step.
struct esk_output {
    uint8_t type; ///< enum esk_output_type of src/query/program_format.h
    bool is_null;
    uint16_t bytes;        ///< ROW, ROW_TEXT, TEXT: length
    const uint8_t *data;   ///< ROW, ROW_TEXT
    const esk_slot *slots; ///< INT, FLOAT: the value; AVG: count, low slot of
                           ///< the sum, high slot; TEXT: for esk_program_text
};

/// Reads output `index` of the row that is ready.
/// value    out.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last output; ESK_E_INVALID without
///          a row; ESK_E_CORRUPT: of a type that is not known.
int esk_program_row(const struct esk_program *program, uint8_t index,
                    struct esk_output *value);

/// Copies the bytes of an output of type TEXT or ROW_TEXT, without the zeros at
/// their end.
/// text     out: value.bytes bytes.
/// bytes    out: without the zeros.
/// Returns  as esk_program_row; ESK_E_UNSUPPORTED: the output is no text.
int esk_program_text(const struct esk_program *program, uint8_t index,
                     uint8_t *text, uint16_t *bytes);

#ifdef __cplusplus
}
#endif

#endif
