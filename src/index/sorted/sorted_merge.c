// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The merge of the oldest runs of level 0 into one of level 1.
///
/// Each source has a frame, so each of its pages is read once. A step reads
/// until a page of the new run is full, or until it has read 2 * fan pages. A
/// merged run is in use from its closing page on; only then the sources are
/// forgotten. A source that cannot be read is forgotten at once, and the merge
/// begins anew without it.
///
/// Data pages are contiguous in a run, so runs on both sides of a lost one are
/// not merged.
#include "index/sorted/sorted.h"

enum {
    READS_FAN = 2,  ///< most reads of a step, in fans
    MARGIN = 8,     ///< a merged run may have an eighth more pages
    SOURCES_MIN = 1 ///< merged when no later run can join them
};

/// A step ended before the page was full.
enum { MERGE_PAUSED = ESK_AGAIN };

void esk_sorted_merge_stop(struct esk_sorted *sorted) {
    sorted->merging = 0;
}

static uint32_t span_end(const struct esk_sorted_span *span) {
    return span->first + span->count;
}

/// How many of the oldest runs of level 0 can be merged.
/// span     out: what they cover
static uint8_t sources(const struct esk_sorted *sorted,
                       struct esk_sorted_span *span) {
    const struct esk_sorted_level *level = &sorted->levels[0];
    uint32_t pages_max = esk_sorted_draft_pages_max(sorted, &sorted->levels[1]);
    uint32_t pages = 0;
    uint32_t covered = 0;
    uint8_t count = 0;
    while (count < level->count && count < sorted->config.fan) {
        const struct esk_sorted_run *run = &level->runs[count];
        pages += run->pages;
        covered += run->span.count;
        if (count > 0 &&
            (pages + pages / MARGIN >= pages_max || covered > UINT16_MAX ||
             run->span.first != span_end(&run[-1].span))) {
            break;
        }
        span->first = level->runs[0].span.first;
        span->count = (uint16_t)covered;
        count++;
    }
    /* A later run could still join them. */
    return count == level->count && count < sorted->config.fan ? 0 : count;
}

/// Reads the next page of a stream.
/// Returns ESK_OK; ESK_END; ESK_E_CORRUPT; ESK_E_IO.
static int stream_read(const struct esk_sorted *sorted,
                       const struct esk_sorted_run *run,
                       struct esk_sorted_stream *stream) {
    if (stream->pages == run->pages) {
        return ESK_END;
    }
    ESK_TRY(esk_sorted_read(&sorted->levels[0], run->first + stream->pages,
                            stream->page));
    if (!esk_sorted_page_open(&stream->place, stream->page, sorted->page_bytes,
                              &run->span)) {
        return ESK_E_CORRUPT;
    }
    stream->pages++;
    return ESK_OK;
}

/// Moves stream `number` to its next entry, if it has none.
/// reads    in, out: pages that may still be read
/// Returns  ESK_OK; MERGE_PAUSED; ESK_E_CORRUPT; ESK_E_IO.
static int stream_fill(struct esk_sorted *sorted, uint8_t number,
                       uint8_t *reads) {
    struct esk_sorted_stream *stream = &sorted->streams[number];
    const struct esk_sorted_run *run = &sorted->levels[0].runs[number];
    int status = ESK_END;
    if (stream->has_entry || stream->is_done) {
        return ESK_OK;
    }
    if (stream->pages > 0) {
        status =
            esk_sorted_page_next(&stream->place, stream->page, &stream->entry);
    }
    if (status == ESK_END) {
        if (*reads == 0) {
            return MERGE_PAUSED;
        }
        (*reads)--;
        status = stream_read(sorted, run, stream);
        if (status == ESK_OK) {
            status = esk_sorted_page_next(&stream->place, stream->page,
                                          &stream->entry);
        }
    }
    stream->has_entry = status == ESK_OK;
    stream->is_done = status == ESK_END;
    return status == ESK_END ? ESK_OK : status;
}

/// Fills all streams. Forgets a source that cannot be read: then the merge is
/// over. As esk_sorted_merge_step, and MERGE_PAUSED.
static int streams_fill(struct esk_sorted *sorted, uint8_t *reads) {
    for (uint8_t i = 0; i < sorted->merging; i++) {
        int status = stream_fill(sorted, i, reads);
        if (status == ESK_E_CORRUPT) {
            sorted->lost += sorted->levels[0].runs[i].span.count;
            esk_sorted_run_remove(&sorted->levels[0], i);
            esk_sorted_merge_stop(sorted);
        }
        if (status != ESK_OK) {
            return status;
        }
    }
    return ESK_OK;
}

/// The stream with the smallest entry; the oldest one of several; NULL: all
/// are at their end.
static struct esk_sorted_stream *smallest(struct esk_sorted *sorted,
                                          uint8_t *number) {
    struct esk_sorted_stream *least = NULL;
    for (uint8_t i = 0; i < sorted->merging; i++) {
        struct esk_sorted_stream *stream = &sorted->streams[i];
        if (stream->has_entry &&
            (least == NULL || stream->entry.value < least->entry.value)) {
            least = stream;
            *number = i;
        }
    }
    return least;
}

/// The shift of a page of the merged run: the largest of the pages that its
/// entries come from.
static uint8_t shift_of(const struct esk_sorted *sorted) {
    uint8_t shift = 0;
    for (uint8_t i = 0; i < sorted->merging; i++) {
        const struct esk_sorted_stream *stream = &sorted->streams[i];
        if (stream->has_entry && stream->place.shift > shift) {
            shift = stream->place.shift;
        }
    }
    return shift;
}

/// Moves entries to the draft's page until it is full, or all are moved.
/// Returns ESK_OK; as streams_fill.
static int page_fill(struct esk_sorted *sorted) {
    struct esk_sorted_draft *draft = &sorted->levels[1].draft;
    uint8_t reads = (uint8_t)(READS_FAN * sorted->config.fan);
    for (;;) {
        uint8_t number = 0;
        ESK_TRY(streams_fill(sorted, &reads));
        struct esk_sorted_stream *stream = smallest(sorted, &number);
        if (stream == NULL) {
            return ESK_OK;
        }
        struct esk_sorted_entry entry = stream->entry;
        uint32_t first = sorted->levels[0].runs[number].span.first;
        /* Of dropped data pages, too: a mount may find them again. */
        entry.page = (uint16_t)(first - draft->span.first + entry.page);
        if (draft->place.count == 0) {
            esk_sorted_page_begin(&draft->place, draft->page,
                                  sorted->page_bytes, &draft->span,
                                  shift_of(sorted), &entry);
        } else if (!esk_sorted_page_put(&draft->place, draft->page, &entry)) {
            return ESK_OK;
        }
        stream->has_entry = false;
    }
}

/// Begins to write the merged run.
static void merge_begin(struct esk_sorted *sorted,
                        const struct esk_sorted_span *span) {
    esk_sorted_draft_begin(&sorted->levels[1], span);
    for (uint8_t i = 0; i < sorted->merging; i++) {
        struct esk_sorted_stream *stream = &sorted->streams[i];
        stream->pages = 0;
        stream->has_entry = false;
        stream->is_done = false;
    }
}

/// Forgets the sources.
static void merge_end(struct esk_sorted *sorted) {
    for (; sorted->merging > 0; sorted->merging--) {
        esk_sorted_run_remove(&sorted->levels[0], 0);
    }
}

/// The merged run has more pages than its closing page has fences: from now on
/// fewer runs are merged at a time. One that is too long alone is forgotten.
static void merge_overflows(struct esk_sorted *sorted) {
    if (sorted->merging > 1) {
        sorted->config.fan = (uint8_t)(sorted->merging - 1);
        esk_sorted_merge_stop(sorted);
        return;
    }
    sorted->lost += sorted->levels[1].draft.span.count;
    merge_end(sorted);
}

int esk_sorted_merge_step(struct esk_sorted *sorted) {
    struct esk_sorted_level *level = &sorted->levels[1];
    struct esk_sorted_draft *draft = &level->draft;
    struct esk_sorted_span span = {.first = 0};
    int status = ESK_OK;
    if (sorted->merging == 0) {
        sorted->merging = sources(sorted, &span);
        if (sorted->merging < SOURCES_MIN) {
            return ESK_END;
        }
        merge_begin(sorted, &span);
    }
    if (draft->pages == esk_sorted_draft_pages_max(sorted, level)) {
        merge_overflows(sorted);
        return ESK_OK;
    }
    status = page_fill(sorted);
    if (status == MERGE_PAUSED || status == ESK_E_CORRUPT) {
        return ESK_OK;
    }
    if (status == ESK_OK && draft->place.count > 0) {
        status = esk_sorted_draft_program(sorted, level);
    } else if (status == ESK_OK) {
        if (draft->pages > 0) {
            status = esk_sorted_draft_close(sorted, level);
        }
        if (status == ESK_OK) {
            merge_end(sorted);
        }
    }
    if (status != ESK_OK) {
        esk_sorted_merge_stop(sorted);
    }
    return status;
}
