// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A sorted value index: which data pages have a value of a range, for ranges
/// anywhere in the distribution. README.md has the idea and the costs.
///
///     add -> buffer in RAM -> run of level 0 -> merged, `fan` at a time -> 1
///
/// A *run* has the entries (value, data page) of consecutive data positions in
/// the order of their values, on consecutive pages of its level's ring, and
/// ends with a *closing page*: the run's directory, and the closing pages of
/// the level's older runs. A run is in use from its closing page on.
///
/// Invariants
///  1. The runs of level 1, those of level 0, the frozen part of the buffer and
///     the rest of it cover rising, disjoint data positions.
///  2. A data position that none of them covers counts as a match.
///  3. A step programs at most one page.
#ifndef ESK_INDEX_SORTED_SORTED_H
#define ESK_INDEX_SORTED_SORTED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "flash/ring.h"
#include "index/sorted/sorted_page.h"

enum {
    ESK_SORTED_LEVELS = 2,
    ESK_SORTED_RUNS_MAX = 32, ///< in use, a level
    ESK_SORTED_FAN_MAX = 8,   ///< runs that are merged at a time
};

/// No position; of fences: they are not in RAM.
#define ESK_SORTED_NONE UINT32_MAX

/// Where a level's ring is.
struct esk_sorted_blocks {
    uint32_t block;
    uint32_t blocks;
};

/// How an index is kept in RAM; nothing of it is stored.
struct esk_sorted_config {
    uint16_t entries; ///< room of the buffer, 64 ..; 6 bytes each
    uint16_t fences; ///< pages of a level whose values are in RAM; 4 bytes each
    uint16_t window_bytes; ///< a bit for each data page of an answer, 1 ..
    uint16_t span_max;     ///< most data pages of the buffer, 2 ..
    uint8_t fan;           ///< 2 .. ESK_SORTED_FAN_MAX
    uint8_t extra;         ///< bits of a value more than tell rows apart
};

struct esk_sorted_run {
    uint32_t first; ///< ring position of its first page
    uint32_t base;  ///< of its fences
    uint32_t fence; ///< of its first page, in the level's; or none
    struct esk_sorted_span span;
    uint16_t pages; ///< behind them is the closing page
    uint8_t shift;  ///< of its fences
};

/// A run that is being written.
struct esk_sorted_draft {
    uint8_t *page;                 ///< the next one
    uint32_t *values;              ///< first values of the pages
    uint8_t *blurs;                ///< of the pages
    struct esk_sorted_place place; ///< in the next page; count 0: it is empty
    struct esk_sorted_span span;
    uint32_t first; ///< ring position
    uint16_t pages; ///< programmed
};

struct esk_sorted_level {
    struct esk_ring ring;
    struct esk_sorted_draft draft;
    uint32_t *fences; ///< of runs, in their order
    uint32_t closing; ///< position of the newest closing page; or none
    uint16_t fence_count;
    uint16_t fences_max;
    uint8_t count;
    struct esk_sorted_run runs[ESK_SORTED_RUNS_MAX]; ///< oldest first
};

/// A run of level 0 that is being merged.
struct esk_sorted_stream {
    uint8_t *page;
    struct esk_sorted_place place;
    struct esk_sorted_entry entry; ///< the next one
    uint16_t pages;                ///< that were read
    bool has_entry;
    bool is_done;
};

/// The first answer at or after a data position.
struct esk_sorted_window {
    uint64_t lo; ///< of the range; lo > hi: there is no answer
    uint64_t hi;
    uint32_t first; ///< the data positions that it is about
    uint32_t end;
    /* Of an answer that is not complete. */
    const struct esk_sorted_level *level; ///< of the run that it is about
    uint32_t run;                         ///< ring position of its first page
    uint16_t next; ///< pages of the run that are still to be read ...
    uint16_t last; ///< ... up to here
    bool due;      ///< the answer is not complete
    bool ranged;   ///< `next` and `last` are set
    bool all;      ///< each of them can match
    uint8_t *bits; ///< else: which ones, from `first` on
};

struct esk_sorted {
    struct esk_sorted_config config;
    uint16_t page_bytes;
    uint16_t draft_pages_max;
    /* The buffer: its frozen part, then the rest; each in rising order. */
    uint32_t *values;
    uint16_t *pages; ///< data positions, from the part's first on
    uint16_t count;
    uint16_t frozen;                    ///< entries that become a run
    uint16_t taken;                     ///< of these, on programmed pages
    uint16_t rows_max;                  ///< of a data page
    struct esk_sorted_span frozen_span; ///< count 0: nothing is frozen
    uint32_t first;                     ///< data positions of the rest
    uint32_t end;
    uint32_t tail; ///< data positions below are dropped
    uint32_t lost; ///< data pages that no run will cover
    uint8_t *read_page;
    /// Called before each program; a failure ends the step. NULL: nothing is.
    int (*before)(void *owner);
    void *owner;     ///< argument of `before`
    uint8_t merging; ///< runs that are being merged; 0: none
    struct esk_sorted_stream streams[ESK_SORTED_FAN_MAX];
    struct esk_sorted_level levels[ESK_SORTED_LEVELS];
    struct esk_sorted_window window;
};

/// Takes an index' memory from `arena`, and makes the index empty.
void esk_sorted_carve(struct esk_sorted *sorted, struct esk_arena *arena,
                      const struct esk_sorted_config *config,
                      uint16_t page_bytes);

/// Mounts the rings and finds the newest complete runs.
///
/// config   of the rings; the index sets kind, unit, seals and refuse.
/// blocks   first block and blocks of each level's ring.
/// tail     data positions below are dropped.
/// head     of the data pages; a run that covers more is not used. Or
///          ESK_SORTED_NONE, and then esk_sorted_limit.
/// Returns  ESK_OK; ESK_E_IO.
/// Costs    two esk_ring_mount, at most ESK_SORTED_LOOKS page reads a level to
///          find the newest closing page, and two for each run.
int esk_sorted_mount(struct esk_sorted *sorted, struct esk_volume *volume,
                     const struct esk_ring_config *config,
                     const struct esk_sorted_blocks blocks[ESK_SORTED_LEVELS],
                     uint32_t tail, uint32_t head,
                     struct esk_region_stats *stats);

/// After a mount without a head: forgets the runs that cover data positions
/// from `head` on.
void esk_sorted_limit(struct esk_sorted *sorted, uint32_t head);

enum {
    ESK_SORTED_LOOKS = 64, ///< page reads of a mount for a closing page
};

/// The data position of the next page to add. After a mount the data pages from
/// here on are added again: at most two buffers of them.
uint32_t esk_sorted_next(const struct esk_sorted *sorted);

/// Whether the data page at `position`, of `rows` rows, can be added without a
/// loss; else steps make room. Notes the number of rows.
bool esk_sorted_admit(struct esk_sorted *sorted, uint32_t position,
                      uint16_t rows);

/// Adds the values of a data page that is programmed. Positions that are left
/// out have no rows.
/// position  at least esk_sorted_next; or one less, for more values of the page
///           that was added last.
/// values    of a numeric type of at most 4 bytes, `stride` bytes apart.
/// Costs     at most `entries` moves for each 32 values.
void esk_sorted_add(struct esk_sorted *sorted, uint32_t position, uint8_t type,
                    const uint8_t *values, uint16_t stride, uint16_t count);

/// Leaves the data positions from esk_sorted_next up to `position` uncovered:
/// each of them counts as a match.
/// Returns false where steps have to be made first.
bool esk_sorted_skip(struct esk_sorted *sorted, uint32_t position);

/// Goes on with a run or a merge. To be called once for each data page that was
/// added, when the data pages before it are durable.
/// Returns  ESK_OK; ESK_END: there was nothing to do; else as esk_ring_append:
///          the run is written again from its begin.
/// Costs    at most one page programmed, and 2 * fan pages read.
int esk_sorted_step(struct esk_sorted *sorted);

/// Drops the data positions below `tail`.
void esk_sorted_drop(struct esk_sorted *sorted, uint32_t tail);

/// Which data positions from `from` on can have a value of lo .. hi, order
/// forms. The answer is valid until the next call, also if pages are added.
/// Costs    the reads of one run: about 1 page, 2 where its fences are not in
///          RAM; none for the same range if `from` is in the last answer.
const struct esk_sorted_window *esk_sorted_find(struct esk_sorted *sorted,
                                                uint32_t lo, uint32_t hi,
                                                uint32_t from);

/// The same in parts: sorted->window is the answer about a piece of the data
/// positions with `position` in it.
/// first    where the piece begins, unless the last one has `position`; at most
///          `position`, and not below esk_sorted_base(position).
/// reads    in, out: pages that may still be read.
/// Returns  ESK_OK; ESK_AGAIN: ask again, before another range is asked for.
int esk_sorted_ask(struct esk_sorted *sorted, uint32_t lo, uint32_t hi,
                   uint32_t first, uint32_t position, uint16_t *reads);

/// Whether the last answer, complete or not, is about this range and
/// `position`.
bool esk_sorted_is_asked(const struct esk_sorted *sorted, uint32_t lo,
                         uint32_t hi, uint32_t position);

/// Where the piece with `position` in it begins for who asks downwards.
uint32_t esk_sorted_base(const struct esk_sorted *sorted, uint32_t position);

/// Whether data position `position`, of the window, can match.
bool esk_sorted_window_has(const struct esk_sorted_window *window,
                           uint32_t position);

/* Shared by the files of the folder. */

/// Reads page `position` of a level's ring. As esk_ring_read; ESK_E_CORRUPT
/// instead of ESK_NOT_FOUND.
int esk_sorted_read(const struct esk_sorted_level *level, uint32_t position,
                    uint8_t *page);

/// Takes the run of the closing page at `position` out of `page`. Returns false
/// if it is none, or not of data positions below `head`.
bool esk_sorted_run_load(const struct esk_sorted *sorted, const uint8_t *page,
                         uint32_t position, uint32_t head,
                         struct esk_sorted_run *run);

/// Fences of a run in its closing page.
const uint8_t *esk_sorted_fences(const uint8_t *page);

/// Adds a run that is newer than the level's others; its closing page is
/// `page`.
void esk_sorted_run_add(struct esk_sorted_level *level,
                        const struct esk_sorted_run *run, const uint8_t *page);

/// Forgets run `number` of a level.
void esk_sorted_run_remove(struct esk_sorted_level *level, uint8_t number);

/// Begins a run of `span`.
void esk_sorted_draft_begin(struct esk_sorted_level *level,
                            const struct esk_sorted_span *span);

/// Programs the draft's page. As esk_sorted_step.
int esk_sorted_draft_program(const struct esk_sorted *sorted,
                             struct esk_sorted_level *level);

/// Programs the closing page of the draft, and adds the run. As
/// esk_sorted_step.
int esk_sorted_draft_close(struct esk_sorted *sorted,
                           struct esk_sorted_level *level);

/// Most pages of a run of `level`.
uint16_t esk_sorted_draft_pages_max(const struct esk_sorted *sorted,
                                    const struct esk_sorted_level *level);

/// Goes on with a merge, or begins one. As esk_sorted_step.
int esk_sorted_merge_step(struct esk_sorted *sorted);

/// Ends a merge without a run.
void esk_sorted_merge_stop(struct esk_sorted *sorted);

#endif
