// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A helper of a running program: records, and where it is in them.
#ifndef ESK_QUERY_HELPERS_H
#define ESK_QUERY_HELPERS_H

#include "query/program.h"

struct esk_program_helper {
    struct esk_records records;
    bool has_group; ///< the registers are those of a record
    bool is_read;   ///< a FORH has begun: the next record empties it
    uint8_t kind;   ///< enum esk_helper_kind
};

/// As the carve of a part.
void esk_helpers_carve(struct esk_program *program, struct esk_arena *arena);

/// As the check of a part, whose helpers have kinds up to `kinds`.
bool esk_helpers_check(struct esk_check *check, const uint8_t *op,
                       uint8_t kinds);

/// The same, of QUANTILE, too.
bool esk_quantiles_check(struct esk_check *check, const uint8_t *op,
                         uint8_t kinds);

#endif
