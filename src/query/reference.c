// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Texts that registers refer to, in the program or in the parameters' texts. A
/// reference is any number, so it is checked where it is used.
#include "query/program.h"

const uint8_t *esk_program_reference(const struct esk_program *program,
                                     const esk_slot *slot, uint8_t *bytes) {
    const uint8_t *texts = program->code;
    uint16_t room = esk_load_u16(texts + ESK_PROGRAM_BYTES);
    uint32_t bits = (uint32_t)*slot;
    if (esk_slot_is_negative(slot)) {
        texts = program->texts;
        room = program->text_bytes;
        bits = ~bits;
    }
    *bytes = (uint8_t)(bits & 0xFFu);
    bits >>= ESK_REFERENCE_OFFSET;
    return texts != NULL && bits <= room && *bytes <= (uint16_t)(room - bits)
               ? texts + bits
               : NULL;
}

int esk_program_set_text(struct esk_program *program, uint8_t parameter,
                         const void *texts, uint16_t offset, uint8_t bytes) {
    esk_slot bits = (esk_slot)offset << ESK_REFERENCE_OFFSET | bytes;
    uint16_t end = (uint16_t)(offset + bytes);
    if (texts == NULL || end < offset ||
        (program->texts != NULL && program->texts != texts)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(esk_program_set(program, parameter, -1 - bits));
    program->texts = texts;
    if (end > program->text_bytes) {
        program->text_bytes = end;
    }
    return ESK_OK;
}
