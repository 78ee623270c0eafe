// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The values of a row that is ready.
#include "esker/assert.h"
#include "query/program.h"

/// Sets what lies in a table's current row.
static void row_output(const struct esk_program *program, const uint8_t *output,
                       struct esk_output *value) {
    const struct esk_program_table *table = &program->tables[output[1]];
    value->is_null = table->state != ESK_CURSOR_ROW;
    value->data = table->row;
    value->bytes = table->source->row_bytes;
    if (output[0] == ESK_OUTPUT_ROW_TEXT) {
        value->data += esk_load_u16(output + 2);
        value->bytes = esk_load_u16(output + 4);
    }
}

int esk_program_row(const struct esk_program *program, uint8_t index,
                    struct esk_output *value) {
    ESK_ASSERT(program != NULL && value != NULL);
    if (program->status != ESK_OK) {
        return ESK_E_INVALID;
    }
    const uint8_t *end = program->code + esk_program_start(program->code);
    const uint8_t *output = end - 2 * program->code[ESK_PROGRAM_OUTPUTS];
    for (; output < end && index > 0; index--) {
        output += esk_op_form((uint8_t)(ESK_OP_OUTPUTS + output[0])) & 15u;
    }
    if (output >= end) {
        return ESK_NOT_FOUND;
    }
    memset(value, 0, sizeof *value);
    value->type = output[0];
    if (value->type == ESK_OUTPUT_ROW || value->type == ESK_OUTPUT_ROW_TEXT) {
        row_output(program, output, value);
        return ESK_OK;
    }
    uint8_t r = output[1];
    value->slots = program->values + r;
    if (value->type == ESK_OUTPUT_TEXT) {
        value->bytes = esk_load_u16(output + 2);
    } else if (value->type == ESK_OUTPUT_AVG) {
        r = (uint8_t)(r + ESK_WINDOW_SUM);
    }
    value->is_null = program->nulls[r] != 0;
    return ESK_OK;
}

int esk_program_text(const struct esk_program *program, uint8_t index,
                     uint8_t *text, uint16_t *bytes) {
    struct esk_output value;
    ESK_TRY(esk_program_row(program, index, &value));
    if (value.type == ESK_OUTPUT_TEXT) {
        esk_slot_to_text(value.slots, text, value.bytes);
    } else if (value.type == ESK_OUTPUT_ROW_TEXT) {
        memcpy(text, value.data, value.bytes);
    } else {
        return ESK_E_UNSUPPORTED;
    }
    while (value.bytes > 0 && text[value.bytes - 1] == 0) {
        value.bytes--;
    }
    *bytes = value.bytes;
    return ESK_OK;
}
