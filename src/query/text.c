// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Text, as a part: text in slots (LDT, LDR, LENGTH, SUBSTR), and comparisons
/// of a row's text with one of the program or of a parameter (TEXT).
///
/// A character is a byte and the continuation bytes of UTF-8 that follow it.
///
/// A text is as long as its column; a shorter one has zeros at its end, which
/// are below any other byte. So two texts compare as if both were as long as
/// the longer one.
#include "esker/generated.h"
#include "query/program.h"

static int8_t text_compare(const uint8_t *a, uint16_t a_bytes, const uint8_t *b,
                           uint16_t b_bytes) {
    for (uint16_t i = 0; i < a_bytes || i < b_bytes; i++) {
        uint8_t x = i < a_bytes ? a[i] : 0;
        uint8_t y = i < b_bytes ? b[i] : 0;
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

/// Where the text from `slots` on goes on, `count` characters behind `at`.
static uint8_t characters_skip(const esk_slot *slots, uint8_t bytes, uint8_t at,
                               uint16_t count) {
    for (; at < bytes && count > 0; count--) {
        do {
            at++;
        } while (at < bytes &&
                 (esk_slot_text_byte(slots, at) & 0xC0u) == 0x80u);
    }
    return at;
}

/// LENGTH and SUBSTR, of the `bytes` bytes of text from `slots` on.
static void characters_run(esk_slot *r, const uint8_t *op,
                           const esk_slot *slots, uint8_t bytes) {
    uint8_t at = 0;
    while (bytes > 0 && esk_slot_text_byte(slots, (uint8_t)(bytes - 1u)) == 0) {
        bytes--;
    }
    if (op[0] == ESK_OP_LENGTH) {
        uint8_t count = 0;
        for (; at < bytes; at = characters_skip(slots, bytes, at, 1)) {
            count++;
        }
        *r = count;
        return;
    }
    at = characters_skip(slots, bytes, 0, esk_load_u16(op + 5));
    bytes = characters_skip(slots, bytes, at, esk_load_u16(op + 7));
    for (uint16_t left = esk_text_slots(op[2]); left > 0; left--) {
        uint8_t piece[ESK_SLOT_BYTES];
        for (uint8_t i = 0; i < ESK_SLOT_BYTES; i++) {
            piece[i] = at < bytes ? esk_slot_text_byte(slots, at++) : 0;
        }
        esk_slot_from_text(r++, piece, ESK_SLOT_BYTES);
    }
}

/// LDR. A text that is longer would be another one when it is cut.
static int referred_run(struct esk_program *program, const uint8_t *op) {
    const esk_slot *slot = esk_program_operand(program, op[3]);
    esk_slot *r = program->values + op[1];
    uint8_t count = (uint8_t)esk_text_slots(op[2]);
    uint8_t left = 0;
    memset(program->nulls + op[1], slot == NULL, count);
    if (slot == NULL) {
        return ESK_PROGRAM_GOES_ON;
    }
    const uint8_t *text = esk_program_reference(program, slot, &left);
    if (text == NULL || left > op[2]) {
        return text == NULL ? ESK_E_INVALID : ESK_E_LIMIT;
    }
    for (; count > 0; count--) {
        uint8_t piece = left < ESK_SLOT_BYTES ? left : ESK_SLOT_BYTES;
        esk_slot_from_text(r++, text, piece);
        text += piece;
        left = (uint8_t)(left - piece);
    }
    return ESK_PROGRAM_GOES_ON;
}

static int text_run(struct esk_program *program, const uint8_t *op) {
    if (op[0] == ESK_OP_LDR) {
        return referred_run(program, op);
    }
    if (op[0] >= ESK_OP_LENGTH) {
        bool is_length = op[0] == ESK_OP_LENGTH;
        const uint8_t *text = op + (is_length ? 2 : 3);
        uint8_t null = program->nulls[text[0]];
        memset(program->nulls + op[1], null,
               is_length ? 1u : esk_text_slots(op[2]));
        if (null == 0) {
            characters_run(program->values + op[1], op,
                           program->values + text[0], text[1]);
        }
        return ESK_PROGRAM_GOES_ON;
    }
    const struct esk_program_table *table = &program->tables[op[2]];
    bool has_row = table->state == ESK_CURSOR_ROW;
    if (op[0] == ESK_OP_LDT) {
        if (has_row) {
            esk_slot_from_text(&program->values[op[1]],
                               table->row + esk_load_u16(op + 4), op[3]);
        }
        program->nulls[op[1]] = !has_row;
        return ESK_PROGRAM_GOES_ON;
    }
    uint8_t how = op[1];
    uint16_t bytes = esk_load_u16(op + 5);
    const uint8_t *text = program->code + esk_load_u16(op + 7);
    uint8_t text_bytes = op[9];
    if ((how & ESK_TEXT_REFERRED) != 0) {
        const esk_slot *slot = esk_program_operand(program, op[7]);
        has_row = has_row && slot != NULL;
        if (has_row) {
            text = esk_program_reference(program, slot, &text_bytes);
            if (text == NULL) {
                return ESK_E_INVALID;
            }
        }
    }
    const uint8_t *in = table->row + esk_load_u16(op + 3);
    int8_t order = 0;
    if (has_row && (how & ESK_TEXT_LIKE) != 0) {
        order = !esk_text_like(in, bytes, (const char *)text, text_bytes,
                               (char)ESK_TEXT_ESCAPE);
    } else if (has_row) {
        order = text_compare(in, bytes, text, text_bytes);
    }
    bool holds = has_row && esk_relation_holds(how & ESK_TEXT_RELATION, order);
    if (holds == ((how & ESK_TEXT_IF) != 0)) {
        program->next += op[10];
    }
    return ESK_PROGRAM_GOES_ON;
}

/// Whether the registers of a text, and its bytes, at `operand` are there.
static bool registers_check(const struct esk_check *check,
                            const uint8_t *operand) {
    return esk_check_registers(check, operand[0], esk_text_slots(operand[1]));
}

/// What the forms do not say, of outputs of types ROW_TEXT and TEXT, too.
static bool text_check(struct esk_check *check, const uint8_t *op) {
    if (op[0] == ESK_OUTPUT_ROW_TEXT) {
        return esk_check_row(check, op[1], esk_load_u16(op + 2),
                             esk_load_u16(op + 4));
    }
    if (op[0] == ESK_OUTPUT_TEXT) {
        /* Of more bytes the sum of esk_text_slots may be beyond 16 bits. */
        uint16_t bytes = esk_load_u16(op + 2);
        return bytes <= ESK_PROGRAM_REGISTERS_MAX * ESK_SLOT_BYTES &&
               esk_check_registers(check, op[1], esk_text_slots(bytes));
    }
    if (op[0] == ESK_OP_LDT) {
        return op[3] >= 1 && op[3] <= ESK_SLOT_BYTES &&
               esk_check_row(check, op[2], esk_load_u16(op + 4), op[3]);
    }
    if (op[0] == ESK_OP_LENGTH) {
        return registers_check(check, op + 2);
    }
    if (op[0] == ESK_OP_SUBSTR) {
        return registers_check(check, op + 1) && registers_check(check, op + 3);
    }
    if (op[0] == ESK_OP_LDR) {
        return registers_check(check, op + 1);
    }
    uint16_t constant = esk_load_u16(op + 7);
    if ((op[1] & ESK_TEXT_REFERRED) != 0) {
        if ((op[8] | op[9]) != 0 || !esk_check_registers(check, op[7], 1)) {
            return false;
        }
        constant = 0;
    }
    return op[1] <= ESK_TEXT_ALL && constant <= check->bytes &&
           op[9] <= (uint16_t)(check->bytes - constant) &&
           esk_check_row(check, op[2], esk_load_u16(op + 3),
                         esk_load_u16(op + 5));
}

const struct esk_query_part esk_query_part_text = {.run = text_run,
                                                   .check = text_check};
