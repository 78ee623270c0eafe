// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the machine and its parts share.
#ifndef ESK_QUERY_PROGRAM_H
#define ESK_QUERY_PROGRAM_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/rom.h"
#include "base/slot.h"
#include "esker/compute.h"
#include "query/program_format.h"

/// States of a table's cursor. In state ROW the table has a current row; no
/// other state lets a program see its bytes.
enum esk_cursor_state {
    ESK_CURSOR_CLOSED, ///< never opened, or at its end
    ESK_CURSOR_OPENED, ///< no row was read
    ESK_CURSOR_AHEAD,  ///< the row in RAM is behind what was asked for
    ESK_CURSOR_ROW,
};

/// A table of a running program.
struct esk_program_table {
    const struct esk_source *source;
    void *cursor; ///< NULL: it has no FOR
    uint8_t *row;
    struct esk_source_mark mark;
    uint8_t state; ///< enum esk_cursor_state
};

/// An instruction ran, and the next one follows: no status of a caller.
enum { ESK_PROGRAM_GOES_ON = 127 };

/// A check that goes on.
struct esk_check {
    const uint8_t *code;
    const struct esk_query_parts *parts;
    const struct esk_source *sources;
    uint16_t bytes; ///< without the CRC
    uint16_t at;    ///< offset of the instruction, or of what is checked
    uint16_t next;  ///< offset of the next instruction
    uint8_t source_count;
    uint8_t form; ///< of the instruction or output: esk_op_form
    uint8_t depth;
    uint8_t looped; ///< bit i: table i has a FOR
    uint8_t helped; ///< bit i: helper i has a FORH
    int status;     ///< if it is refused now
    struct esk_check_loop {
        const uint8_t *op;          ///< its FOR or FORH
        uint16_t body;              ///< the offset behind that
    } loops[ESK_PROGRAM_LOOPS_MAX]; ///< around it, the outermost first
};

/// A part. Those calls that a kind of part does not have are NULL.
struct esk_query_part {
    /// Runs the instruction at `op`, behind which the program's `next` already
    /// is. As esk_program_step, or ESK_PROGRAM_GOES_ON. If it returns anything
    /// else, the instruction is run again by the next step.
    int (*run)(struct esk_program *program, const uint8_t *op);
    /// Checks what the form of the instruction at `op` does not say. Ranges:
    /// also the ranges of a FOR. Helpers: NULL: their entries. Text: also an
    /// output.
    bool (*check)(struct esk_check *check, const uint8_t *op);
    /// Ranges: sets those of the FOR at `op`. Returns ESK_OK; ESK_END: no row
    /// can be in all of them.
    int (*set)(struct esk_program *program, const uint8_t *op);
    /// Floats: r = the value of `type` at `bytes`, of f32 or f64. Returns
    /// whether it is a number.
    bool (*load)(esk_slot *r, uint8_t type, const uint8_t *bytes);
    /// Floats: the bound in `slot` of a range of `type`.
    void (*bound)(union esk_number *number, uint8_t type, const esk_slot *slot,
                  bool is_low);
    /// Floats: adds a value to a sum and its compensation.
    void (*add)(esk_slot *sum, const esk_slot *value);
    /// Helpers: carves the records.
    void (*carve)(struct esk_program *program, struct esk_arena *arena);
};

/// Bytes of an instruction without the ranges of a FOR, and what its operands
/// are: see program_check.c. `op` is one of the format.
enum {
    ESK_OP_OUTPUTS = ESK_OP_COUNT_OF_ALL, ///< here are those of outputs
    ESK_OP_FORMS = ESK_OP_OUTPUTS + ESK_OUTPUT_TYPES,
};

extern const uint16_t esk_op_forms[ESK_OP_FORMS] ESK_ROM;

static inline uint16_t esk_op_form(uint8_t op) {
    return esk_rom_u16(&esk_op_forms[op]);
}

/// Offset of the first instruction.
uint16_t esk_program_start(const uint8_t *code);

/// A table's entry, and a helper's.
static inline const uint8_t *esk_program_table(const uint8_t *code,
                                               uint8_t index) {
    return code + ESK_PROGRAM_HEAD + ESK_PROGRAM_TABLE_BYTES * index;
}

static inline const uint8_t *esk_program_helper(const uint8_t *code,
                                                uint8_t index) {
    return esk_program_table(code, code[ESK_PROGRAM_TABLES]) +
           ESK_PROGRAM_HELPER_BYTES * index;
}

/// The source of the table of entry `entry`; NULL: there is none.
const struct esk_source *esk_program_source(const uint8_t *entry,
                                            const struct esk_source *sources,
                                            uint8_t source_count);

/// Where the text is that `slot` refers to.
/// bytes    out.
/// Returns  NULL: it is not in the program, nor in the parameters' texts.
const uint8_t *esk_program_reference(const struct esk_program *program,
                                     const esk_slot *slot, uint8_t *bytes);

/// Carves `bytes` bytes of zeros; NULL: they, or earlier ones, do not fit.
void *esk_program_take(struct esk_arena *arena, uint16_t bytes);

/// Carves what a checked program needs, its parts and code set. Beyond the
/// arena it only measures.
void esk_program_carve(struct esk_program *program, struct esk_arena *arena,
                       const struct esk_check *check);

/// As esk_program_check. code, parts, sources and source_count are set, the
/// others are zeros.
int esk_program_verify(struct esk_check *check, uint32_t bytes);

/* For the checks of parts. */

/// Whether register `first` is there, and `count` registers from it on.
bool esk_check_registers(const struct esk_check *check, uint8_t first,
                         uint16_t count);
/// Whether an instruction begins `distance` bytes behind the end of this one.
bool esk_check_jump(struct esk_check *check, uint16_t distance);
/// Whether `width` bytes at `offset` lie in a row of the table.
bool esk_check_row(const struct esk_check *check, uint8_t table,
                   uint16_t offset, uint16_t width);
/// The source of a table that there is.
const struct esk_source *esk_check_source(const struct esk_check *check,
                                          uint8_t table);
/// Whether a key of `table` is in the registers from `first` on.
bool esk_check_key(const struct esk_check *check, uint8_t table, uint8_t first);
/// Begins the loop of a table or a helper, which has one, at `op`. had: bits of
/// those that had one.
bool esk_check_loop(struct esk_check *check, uint8_t *had, const uint8_t *op);

/// The flag of the part that has the opcode, enum esk_program_flags; 0: none.
uint8_t esk_op_flag(uint8_t op);

/// The part of that flag; NULL: it is not named. WIDE is no part.
const struct esk_query_part *
esk_query_part_of(const struct esk_query_parts *parts, uint8_t flag);

/// Registers that a text of `bytes` bytes takes.
static inline uint16_t esk_text_slots(uint16_t bytes) {
    return (uint16_t)((bytes + (uint16_t)(ESK_SLOT_BYTES - 1)) /
                      ESK_SLOT_BYTES);
}

/// Whether a relation, 0 <, 1 <=, 2 =, 3 <>, holds of what a comparison gave.
static inline bool esk_relation_holds(uint8_t relation, int8_t order) {
    if (relation >= 2) {
        return (order == 0) == (relation == 2);
    }
    return order < (int8_t)relation;
}

/// Registers that a key of the source takes.
static inline uint16_t esk_source_key_slots(const struct esk_source *source) {
    return source->key_type == ESK_TYPE_BYTES
               ? esk_text_slots(source->key_bytes)
               : 1u;
}

/// Loads the column of `place`, an operand byte, at `offset` of the current
/// row.
/// Returns  ESK_OK; ESK_NOT_FOUND: it is NULL; ESK_E_LIMIT.
int esk_program_column(const struct esk_program *program, esk_slot *slot,
                       uint8_t place, uint16_t offset);

/// Takes the result of an instruction into register r: ESK_OK, or else NULL.
/// Returns  ESK_PROGRAM_GOES_ON; a failure.
int esk_program_result(struct esk_program *program, uint8_t r, int status);

/// Reads the table's next row, within the budget. If there is one, the table is
/// in `state`.
/// Returns  ESK_OK; ESK_AGAIN; ESK_END; as the source's next.
int esk_program_fetch(struct esk_program *program,
                      struct esk_program_table *table, uint8_t state);

/// Register r; NULL if its value is.
const esk_slot *esk_program_operand(const struct esk_program *program,
                                    uint8_t r);

/// Takes one from the budget; returns whether there was one.
bool esk_program_pay(struct esk_program *program);

/// Aggregates a value, NULL: none, into the window at w, by `mask`: also
/// ESK_WINDOW_FLOATS.
void esk_program_aggregate(struct esk_program *program, uint8_t mask, uint8_t w,
                           const esk_slot *value);

#endif
