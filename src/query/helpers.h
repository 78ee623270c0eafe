// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A helper of a running program: records, and where it is in them.
#ifndef ESK_QUERY_HELPERS_H
#define ESK_QUERY_HELPERS_H

#include "query/program.h"

struct esk_program_helper {
    struct esk_records records;
    uint16_t at;    ///< record of the registers, or the next one of FORH
    bool has_group; ///< the registers are those of record `at`
    bool is_read;   ///< a FORH has begun: the next record empties it
    uint8_t kind;   ///< enum esk_helper_kind
    uint8_t first;  ///< register
};

/// As the carve of a part.
void esk_helpers_carve(struct esk_program *program, struct esk_arena *arena);

#endif
