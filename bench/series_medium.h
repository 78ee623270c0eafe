// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The medium for counts: pages of 512 bytes in blocks of 4 KiB, 8 MiB, byte
/// programs, no ECC. The simulator counts device calls.
#ifndef ESK_BENCH_SERIES_MEDIUM_H
#define ESK_BENCH_SERIES_MEDIUM_H

#include "bench/series_bench.h"
#include "port/sim/sim.h"

enum { MEDIUM_BLOCKS = 2048, MEDIUM_BLOCK_PAGES = 8 };

static inline struct esk_sim *medium_make(void) {
    struct esk_sim *sim = NULL;
    struct esk_sim_config config = {
        .geometry = {.block_count = MEDIUM_BLOCKS,
                     .block_pages = MEDIUM_BLOCK_PAGES,
                     .page_bytes = BENCH_PAGE_BYTES,
                     .program_bytes = 1,
                     .erased_value = 0xFF},
        .seed = 1,
    };
    BENCH_DO(esk_sim_create(&sim, &config));
    return sim;
}

static inline uint64_t medium_reads(const struct esk_sim *sim) {
    return esk_sim_counters(sim)->reads;
}

#endif
