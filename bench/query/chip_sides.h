// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The five queries of chips.sql on a chip, each by a hand-written loop, by
/// generated C and by the machine.
#ifndef ESK_BENCH_QUERY_CHIP_SIDES_H
#define ESK_BENCH_QUERY_CHIP_SIDES_H

#include <stdint.h>

#include "app.h"
#include "esker/esker.h"
#include "esker/query.h"

enum {
    CHIP_QUERIES = 5,
    CHIP_ARENA_BYTES = sizeof(void *) > 2 ? 2048 : 768, ///< of the machine
};

/// An answer: its rows, and a digest of all its values.
struct chip_answer {
    uint32_t rows;
    uint32_t digest;
};

/// The sides. Returns ESK_OK, or the status of what failed.
typedef int (*chip_side)(struct esk_series *sst, uint8_t query,
                         struct chip_answer *answer);

int chip_hand(struct esk_series *sst, uint8_t query,
              struct chip_answer *answer);
int chip_generated(struct esk_series *sst, uint8_t query,
                   struct chip_answer *answer);
int chip_machine(struct esk_series *sst, uint8_t query,
                 struct chip_answer *answer);

/// Only checks the program of a query, as the machine does before it runs one.
int chip_check(struct esk_series *sst, uint8_t query,
               struct chip_answer *answer);

#endif
