// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// External sorting by runs.
///
///     memory   | records ...                  | frame to write |   runs made
///              | frame of run 0 | 1 | ...     | frame to write |   merged
///     scratch  | runs of an even pass ... | runs of an odd pass ... |
///
/// All runs of a pass but the last have as many pages, and all pages but the
/// last are full: so a run's place follows from its number, and no table of
/// runs takes memory. A pass merges each `inputs_max` runs, in the order in
/// which they were made; when no more are left the rows are given as they are
/// merged.
///
/// Invariants
///   1. A page is read only after this sort has written it. Its checksum starts
///      from the turn and the pass, its number is its place in the pass.
///   2. Of equal keys the record of the first run comes first.
///   3. A sort that does not spill changes nothing in the scratch.
///
/// Cost: pages * 2 * passes transfers; passes = log(runs) by inputs_max.
#include "esker/runs.h"
#include "base/bytes.h"
#include "flash/region.h"

enum {
    RUN_KIND = 0x5A, ///< of a page; no table has such pages
    INPUTS_MIN = 2,
};

enum runs_state {
    RUNS_FILLED,  ///< push adds records in memory
    RUNS_SPILLED, ///< those in memory are in order, and written page by page
    RUNS_HELD,    ///< all are in memory and in order
    RUNS_MERGED,  ///< steps merge runs to fewer ones
    RUNS_GIVEN,   ///< next merges the last ones
};

static const struct esk_geometry *geometry_of(const struct esk_runs *runs) {
    return esk_volume_geometry(&runs->scratch->volume);
}

/// Whether `volume` reaches `device`, and not what the program is compiled for.
/// Returns ESK_OK; ESK_E_UNSUPPORTED.
static int reach(const struct esk_volume *volume,
                 const struct esk_device *device) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    unsigned odd =
        (unsigned)(geometry->page_bytes ^ device->geometry.page_bytes) |
        (unsigned)(geometry->block_pages ^ device->geometry.block_pages);
    return odd == 0 && esk_volume_device(volume) == device ? ESK_OK
                                                           : ESK_E_UNSUPPORTED;
}

int esk_scratch_init(struct esk_scratch *scratch,
                     const struct esk_device *device, uint32_t first_block,
                     uint32_t block_count) {
    memset(scratch, 0, sizeof *scratch);
    scratch->volume.device = device;
    scratch->first_block = first_block;
    scratch->block_count = block_count;
    if (!esk_region_fits(&device->geometry, first_block, block_count, 1)) {
        return ESK_E_INVALID;
    }
    ESK_TRY(reach(&scratch->volume, device));
    for (uint32_t i = 0; i < block_count; i++) {
        if (esk_volume_block_is_bad(&scratch->volume, first_block + i)) {
            return ESK_E_MEDIUM;
        }
    }
    return ESK_OK;
}

/// Bytes of a record in a page: its slots, then which of them are NULL.
static uint16_t record_bytes(const struct esk_runs *runs) {
    uint16_t bytes =
        (uint16_t)(runs->records.by.slots * (uint8_t)(sizeof(esk_slot) + 1u));
    if (sizeof(void *) > 2) {
        bytes = (uint16_t)((bytes + sizeof(esk_slot) - 1u) &
                           ~(sizeof(esk_slot) - 1u));
    }
    return bytes;
}

/// Record `index` of the page in a frame.
static esk_slot *record_at(const struct esk_runs *runs, uint8_t *frame,
                           uint16_t index) {
    void *record =
        frame + ESK_ENVELOPE_BYTES + (uint16_t)(index * record_bytes(runs));
    return record;
}

static uint8_t *nulls_of(const struct esk_runs *runs, esk_slot *record) {
    return (uint8_t *)(record + runs->records.by.slots);
}

static uint8_t *input_frame(const struct esk_runs *runs, uint8_t input) {
    return runs->records.memory + (size_t)input * geometry_of(runs)->page_bytes;
}

int esk_runs_begin(struct esk_runs *runs, const struct esk_order *by,
                   void *memory, uint32_t bytes, struct esk_scratch *scratch) {
    uint32_t capacity = bytes / ESK_RECORD_BYTES(by->slots);
    memset(runs, 0, sizeof *runs);
    runs->records.by = *by;
    runs->records.memory = memory;
    if (scratch != NULL) {
        runs->scratch = scratch;
        uint16_t page = geometry_of(runs)->page_bytes;
        uint32_t inputs = bytes / page;
        if (inputs <= INPUTS_MIN) {
            return ESK_E_NO_MEMORY;
        }
        inputs = inputs - 1u < ESK_RUNS_INPUTS_MAX ? inputs - 1u
                                                   : ESK_RUNS_INPUTS_MAX;
        runs->inputs_max = (uint8_t)inputs;
        /* Behind the records and the frames, both. */
        bytes = (bytes - page) & ~UINT32_C(7);
        runs->frame = runs->records.memory + bytes;
        runs->page_records =
            (uint16_t)((page - ESK_ENVELOPE_BYTES) / record_bytes(runs));
        if (runs->page_records == 0) {
            return ESK_E_GEOMETRY;
        }
        capacity = bytes / ESK_RECORD_BYTES(by->slots);
        capacity = capacity < UINT16_MAX ? capacity : UINT16_MAX;
        capacity -= capacity % runs->page_records;
    }
    runs->records.capacity =
        (uint16_t)(capacity < UINT16_MAX ? capacity : UINT16_MAX);
    if (capacity == 0) {
        return ESK_E_NO_MEMORY;
    }
    esk_records_clear(&runs->records);
    return ESK_OK;
}

/// Where the pages of a pass begin in the scratch.
static uint32_t pass_start(const struct esk_runs *runs, uint8_t pass) {
    uint16_t block = geometry_of(runs)->block_pages;
    return (pass & 1u) == 0 ? 0 : (runs->pages + block - 1u) / block * block;
}

/// The region of the pages of a pass.
static void region_make(const struct esk_runs *runs, uint8_t pass,
                        struct esk_region_stats *stats,
                        struct esk_region *region) {
    const struct esk_geometry *geometry = geometry_of(runs);
    const struct esk_scratch *scratch = runs->scratch;
    memset(region, 0, sizeof *region);
    memset(stats, 0, sizeof *stats);
    region->volume = &runs->scratch->volume;
    region->stats = stats;
    region->envelope.page_bytes = geometry->page_bytes;
    region->envelope.erased_value = geometry->erased_value;
    region->envelope.kind = RUN_KIND;
    region->envelope.seed = runs->turn << 8 | pass;
    region->first_page = scratch->first_block * geometry->block_pages;
    region->pages = scratch->block_count * geometry->block_pages;
}

/// Writes the page in the frame, of `count` records.
static int page_write(struct esk_runs *runs, uint16_t count) {
    struct esk_region_stats stats;
    struct esk_region region;
    const struct esk_geometry *geometry = geometry_of(runs);
    region_make(runs, runs->pass, &stats, &region);
    uint32_t at = pass_start(runs, runs->pass) + runs->written;
    if (at >= region.pages) {
        return ESK_E_LIMIT;
    }
    uint16_t used =
        (uint16_t)(ESK_ENVELOPE_BYTES + (uint16_t)(count * record_bytes(runs)));
    memset(runs->frame + used, geometry->erased_value,
           (uint16_t)(geometry->page_bytes - used));
    esk_envelope_open(runs->frame, runs->written, 0);
    esk_envelope_close(&region.envelope, runs->frame, count);
    if (at % geometry->block_pages == 0 && !esk_region_overwrites(&region)) {
        ESK_TRY(esk_region_erase(&region, runs->scratch->first_block +
                                              at / geometry->block_pages));
    }
    ESK_TRY(esk_region_program(&region, region.first_page + at, runs->frame, 0,
                               geometry->page_bytes));
    runs->written++;
    return ESK_OK;
}

/// Begins to write the records in memory.
static void spill_begin(struct esk_runs *runs) {
    runs->state = RUNS_SPILLED;
    runs->at = 0;
    if (runs->turn == 0) {
        runs->turn = ++runs->scratch->turn;
    }
}

/// Writes the next page of the records in memory.
static int spill_step(struct esk_runs *runs) {
    struct esk_records *records = &runs->records;
    uint16_t count = 0;
    records->at = runs->at;
    for (; count < runs->page_records; count++) {
        records->values = record_at(runs, runs->frame, count);
        records->nulls = nulls_of(runs, records->values);
        if (esk_records_next(records) != ESK_OK) {
            break;
        }
    }
    ESK_TRY(page_write(runs, count));
    runs->at = (uint16_t)(runs->at + count);
    if (runs->at == records->count) {
        esk_records_clear(records);
        runs->state = RUNS_FILLED;
    }
    return ESK_OK;
}

int esk_runs_push(struct esk_runs *runs, esk_slot *values, uint8_t *nulls) {
    struct esk_records *records = &runs->records;
    if (runs->state == RUNS_FILLED) {
        if (records->count < records->capacity) {
            records->values = values;
            records->nulls = nulls;
            (void)esk_topk_push(records);
            return ESK_OK;
        }
        if (runs->inputs_max == 0) {
            return ESK_E_LIMIT;
        }
        spill_begin(runs);
    }
    return runs->state == RUNS_SPILLED ? ESK_AGAIN : ESK_E_INVALID;
}

/// Opens the runs from first_run on, as many as are merged at a time.
static void inputs_open(struct esk_runs *runs) {
    uint32_t next = runs->first_run * runs->run_pages;
    runs->inputs = 0;
    runs->at = 0;
    while (runs->inputs < runs->inputs_max && next < runs->pages) {
        struct esk_run_input *input = &runs->runs[runs->inputs++];
        input->next = next;
        next = runs->pages - next > runs->run_pages ? next + runs->run_pages
                                                    : runs->pages;
        input->end = next;
        input->left = 0;
    }
}

/// Ends a pass, and begins the next one or the last merge.
static int pass_end(struct esk_runs *runs) {
    runs->pages = runs->written;
    runs->written = 0;
    runs->first_run = 0;
    runs->pass++;
    bool is_last = (runs->pages - 1u) / runs->run_pages < runs->inputs_max;
    runs->state = is_last ? RUNS_GIVEN : RUNS_MERGED;
    inputs_open(runs);
    return !is_last && pass_start(runs, 1) + runs->pages >
                           runs->scratch->block_count *
                               geometry_of(runs)->block_pages
               ? ESK_E_LIMIT
               : ESK_OK;
}

/// An input whose next page is to be read; NULL: none.
static struct esk_run_input *input_waits(struct esk_runs *runs) {
    for (uint8_t i = 0; i < runs->inputs; i++) {
        struct esk_run_input *input = &runs->runs[i];
        if (input->left == 0 && input->next < input->end) {
            return input;
        }
    }
    return NULL;
}

/// Reads the next page of an input.
static int input_read(struct esk_runs *runs, struct esk_run_input *input) {
    struct esk_region_stats stats;
    struct esk_region region;
    uint8_t pass = (uint8_t)(runs->pass - 1u);
    uint8_t *frame = input_frame(runs, (uint8_t)(input - runs->runs));
    region_make(runs, pass, &stats, &region);
    int status = esk_region_read(
        &region, region.first_page + pass_start(runs, pass) + input->next,
        input->next, frame, true);
    if (status != ESK_OK) {
        return status == ESK_E_IO ? status : ESK_E_CORRUPT;
    }
    input->next++;
    input->at = 0;
    input->left = esk_page_count(frame);
    return input->left != 0 && input->left <= runs->page_records
               ? ESK_OK
               : ESK_E_CORRUPT;
}

/// Takes the least record of the inputs, the first of equal ones. NULL: none
/// is left.
static esk_slot *least_take(struct esk_runs *runs) {
    struct esk_run_input *least = NULL;
    esk_slot *found = NULL;
    for (uint8_t i = 0; i < runs->inputs; i++) {
        struct esk_run_input *input = &runs->runs[i];
        if (input->left == 0) {
            continue;
        }
        esk_slot *record = record_at(runs, input_frame(runs, i), input->at);
        if (found == NULL ||
            esk_order_compare(&runs->records.by, record, nulls_of(runs, record),
                              found) < 0) {
            found = record;
            least = input;
        }
    }
    if (least != NULL) {
        least->at++;
        least->left--;
    }
    return found;
}

/// Merges until a page is full or one is to be read, or all inputs are.
static int merge_step(struct esk_runs *runs) {
    struct esk_run_input *waits = input_waits(runs);
    esk_slot *record = NULL;
    if (waits != NULL) {
        return input_read(runs, waits);
    }
    do {
        record = least_take(runs);
        if (record != NULL) {
            memcpy(record_at(runs, runs->frame, runs->at), record,
                   record_bytes(runs));
            runs->at++;
        }
    } while (record != NULL && runs->at < runs->page_records &&
             input_waits(runs) == NULL);
    if (runs->at == runs->page_records || (record == NULL && runs->at > 0)) {
        ESK_TRY(page_write(runs, runs->at));
        runs->at = 0;
    }
    if (record != NULL) {
        return ESK_OK;
    }
    runs->first_run += runs->inputs;
    if (runs->first_run * runs->run_pages < runs->pages) {
        inputs_open(runs);
        return ESK_OK;
    }
    runs->run_pages *= runs->inputs_max;
    return pass_end(runs);
}

int esk_runs_next(struct esk_runs *runs, esk_slot *values, uint8_t *nulls) {
    struct esk_records *records = &runs->records;
    if (runs->state == RUNS_FILLED) {
        if (runs->turn == 0) {
            runs->state = RUNS_HELD;
            records->at = 0;
        } else if (records->count > 0) {
            spill_begin(runs);
        } else {
            runs->run_pages = records->capacity / runs->page_records;
            ESK_TRY(pass_end(runs));
        }
    }
    if (runs->state == RUNS_HELD) {
        records->values = values;
        records->nulls = nulls;
        return esk_records_next(records);
    }
    if (runs->state != RUNS_GIVEN || input_waits(runs) != NULL) {
        return ESK_AGAIN;
    }
    esk_slot *record = least_take(runs);
    if (record == NULL) {
        return ESK_END;
    }
    memcpy(values, record, records->by.slots * sizeof *values);
    memcpy(nulls, nulls_of(runs, record), records->by.slots);
    return ESK_OK;
}

int esk_runs_step(struct esk_runs *runs) {
    if (runs->scratch == NULL) {
        return ESK_E_INVALID;
    }
    if (runs->turn != runs->scratch->turn) {
        return ESK_E_STALE;
    }
    if (runs->state == RUNS_SPILLED) {
        return spill_step(runs);
    }
    struct esk_run_input *waits = input_waits(runs);
    return runs->state == RUNS_MERGED ? merge_step(runs)
           : waits != NULL            ? input_read(runs, waits)
                                      : ESK_E_INVALID;
}
