// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Sorting of more records than memory holds: sorted runs of them are written
/// to blocks that the caller has no other use for, and merged.
///
///     static struct esk_scratch scratch;
///     esk_scratch_init(&scratch, &flash, 200, 16);
///     esk_runs_begin(&runs, &by, memory, sizeof memory, &scratch);
///     while (...) { the same record after ESK_AGAIN
///         status = esk_runs_push(&runs, values, nulls);
///         ESK_TRY(status == ESK_AGAIN ? esk_runs_step(&runs) : status);
///     }
///     while ((status = esk_runs_next(&runs, values, nulls)) != ESK_END) {
///         ESK_TRY(status == ESK_AGAIN ? esk_runs_step(&runs) : status);
///     }
///
/// Nothing in the blocks outlives a sort: each one erases what it writes to, so
/// a power loss leaves nothing to clean.
#ifndef ESKER_RUNS_H
#define ESKER_RUNS_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/compute.h"
#include "esker/volume.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Blocks for sorting. The caller owns it; the fields are EskerDB's.
struct esk_scratch {
    struct esk_volume volume; ///< never mounted: how the device is reached
    uint32_t first_block;
    uint32_t block_count;
    uint32_t turn; ///< of the sort whose pages they have
};

/// Takes the blocks [first_block, first_block + block_count) of a device, which
/// no table has: as of a volume that was formatted with fewer blocks.
/// Returns  ESK_OK; ESK_E_INVALID: they are not on the device, or none;
///          ESK_E_MEDIUM: one of them is marked bad; ESK_E_UNSUPPORTED: the
///          program is compiled for another device (esker/shape.h).
/// Costs    a look at the mark of each block.
int esk_scratch_init(struct esk_scratch *scratch,
                     const struct esk_device *device, uint32_t first_block,
                     uint32_t block_count);

enum {
    ESK_RUNS_INPUTS_MAX = 16, ///< runs that are merged at a time
};

/// A sort. The caller owns it and its memory; the fields are EskerDB's.
struct esk_runs {
    struct esk_records records; ///< those in memory
    struct esk_scratch *scratch;
    uint8_t *frame;     ///< the page that is written
    uint32_t turn;      ///< of the scratch; 0: nothing is in it
    uint32_t pages;     ///< of the last pass that is complete
    uint32_t written;   ///< pages of this pass
    uint32_t run_pages; ///< of each run of the last pass, but the last run
    uint32_t first_run; ///< that is merged
    uint16_t at;        ///< record that is next
    uint16_t page_records;
    uint8_t inputs_max; ///< runs that memory has room to merge; 0: no scratch
    uint8_t inputs;
    uint8_t pass;
    uint8_t state;
    struct esk_run_input {
        uint32_t next; ///< page
        uint32_t end;
        uint16_t left; ///< records of its page in memory
        uint16_t at;   ///< the next of them
    } runs[ESK_RUNS_INPUTS_MAX];
};

/// Bytes of struct esk_runs in front of its memory, in one piece.
#define ESK_RUNS_BYTES ((sizeof(struct esk_runs) + 7u) & ~(size_t)7u)

/// Starts a sort. by: as of a top.
/// memory   `bytes` bytes, aligned for uint64_t. As many records as it has room
///          for, ESK_RECORD_BYTES(slots) each, are sorted without the scratch
///          if that is NULL; else a page less.
/// scratch  may be NULL: more records are ESK_E_LIMIT. A sort that needs it
///          takes it from the sort before.
/// Returns  ESK_OK; ESK_E_NO_MEMORY: no room for three pages, or for as many
///          records as a page has; ESK_E_GEOMETRY: a page is too small for a
///          record.
int esk_runs_begin(struct esk_runs *runs, const struct esk_order *by,
                   void *memory, uint32_t bytes, struct esk_scratch *scratch);

/// Adds a record. Records with equal keys keep their order.
/// Returns  ESK_OK; ESK_AGAIN: first make a step; ESK_E_LIMIT.
/// Costs    as esk_topk_push.
int esk_runs_push(struct esk_runs *runs, esk_slot *values, uint8_t *nulls);

/// Gives the next record in order. No push may follow.
/// Returns  ESK_OK; ESK_AGAIN: first make a step; ESK_END; ESK_E_LIMIT: the
///          scratch has not twice as many pages as the records, which more
///          runs need than are merged at a time.
/// Costs    a comparison for each run.
int esk_runs_next(struct esk_runs *runs, esk_slot *values, uint8_t *nulls);

/// Does what push or next waits for. A failure is final.
/// Returns  ESK_OK; ESK_E_LIMIT: the scratch is full; ESK_E_STALE: another sort
///          took it; ESK_E_CORRUPT; ESK_E_MEDIUM; ESK_E_IO; ESK_E_INVALID:
///          nothing waits.
/// Costs    a page read, or an erase at most and a page program after merging a
///          page of records.
int esk_runs_step(struct esk_runs *runs);

/// Gives a program that was begun, whose parts have esk_query_part_runs, blocks
/// to sort in; without them its orders have the bound of their memory. Of two
/// orders, or programs, that need them at a time the first one ends with
/// ESK_E_STALE.
void esk_program_set_scratch(struct esk_program *program,
                             struct esk_scratch *scratch);

#ifdef __cplusplus
}
#endif

#endif
