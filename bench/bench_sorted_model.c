// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A model of a sorted value index, which chooses its sizes: src/ has none yet.
/// docs/results/sorted.md has what it shows.
///
///     buffer in RAM -> runs of level 0 -> merged, `fan` at a time -> last
///
/// An entry is a value and a data page. A run has the entries of consecutive
/// data pages in the order of their values, on index pages:
///
///     page: shift, k; entries: Rice(value >> shift, less the one before, k),
///           then the data page in the run's bits; of a value that repeats,
///           Rice(data page, less the one before)
///
/// Entries need not have the whole value, because a query checks the row. A
/// page's shift keeps of a value what the last level needs for about
/// 1 / 2^extra data pages too many in each run. A merge cannot make values
/// sharper, so the runs of every level are as sharp as the last level's.
///
/// When a data page closes, the buffer gets its rows, and at most one index
/// page is programmed, of the lowest level that has one due. A merged run
/// replaces its sources when its pages and the directory are programmed. The
/// directory has the first value of each index page of levels from 1 on, in
/// order, so a query reads one page of it. The first values of level 0, and of
/// the directory's pages, are in RAM. Each level is a ring of its own, so
/// nothing is collected.
///
/// The table is a ring with room for the data set once. The set is appended
/// twice, and the figures are those of the second time.
#include "bench/sorted_bench.h"

static const char bench[] = "sorted_model";

enum {
    PAYLOAD_BITS = (BENCH_PAGE_BYTES - 32) * 8, ///< envelope, head
    FENCE_BYTES = 3, ///< of an index page in the directory, packed
    LEVELS_MAX = 4,
    RUNS_MAX = 4096,
    WINDOW = 256, ///< entries by which a page's shift and k are chosen
    DENSE = 32,   ///< entries of the window's densest part, which decides
};

struct entry {
    uint32_t value; ///< order form
    uint32_t page;
    uint8_t shift; ///< low bits that are lost
};

struct index_page {
    uint32_t first; ///< entry
    uint8_t shift;
};

struct run {
    struct entry *entries;
    struct index_page *pages;
    uint32_t count;
    uint32_t page_count;
    uint32_t data_first;
    uint32_t data_end;
    uint32_t at;      ///< position of the first page in its level's ring
    uint32_t written; ///< pages that are programmed
    uint32_t due;     ///< with the directory's, if it is merged
    uint8_t level;
    bool is_live;   ///< queries use it
    bool is_source; ///< it is being merged
};

struct settings {
    uint8_t buffer_pages; ///< of RAM
    uint8_t fan;
    uint8_t levels;
    uint8_t extra;     ///< bits
    uint8_t page_rows; ///< of packed pages; 0: pages are raw
};

struct model {
    struct settings settings;
    const struct bench_data *data;
    uint32_t *values; ///< order forms, by row
    uint32_t page_rows;
    uint32_t pages; ///< of the data ring
    uint32_t head;
    struct entry *buffer;
    uint32_t buffered;
    uint32_t buffer_first; ///< data page
    struct run runs[RUNS_MAX];
    uint32_t run_count;
    uint32_t ring_head[LEVELS_MAX];
    uint32_t span_max[LEVELS_MAX]; ///< pages that the level's ring needs
    /* Figures of the second time. */
    uint32_t programs;
    uint32_t merge_reads;
    uint32_t buffer_most; ///< data pages in the buffer
};

static uint32_t order_of(const struct bench_data *data, const uint8_t *row) {
    uint32_t bits = 0;
    memcpy(&bits, row + data->value_offset, sizeof bits);
    if (data->value_type == ESK_TYPE_F32) {
        return bits >> 31 != 0 ? ~bits : bits | UINT32_C(1) << 31;
    }
    return bits ^ UINT32_C(1) << 31;
}

static int entry_compare(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    if (a->value != b->value) {
        return a->value < b->value ? -1 : 1;
    }
    return (a->page > b->page) - (a->page < b->page);
}

static uint8_t bits_of(uint32_t number) {
    uint8_t bits = 0;
    while (number > 0) {
        number >>= 1;
        bits++;
    }
    return bits;
}

/* ---------------------------------------------------------------- a page */

/// Data pages of a run of the last level, by the settings and what RAM held.
static double last_growth(const struct settings *settings, uint8_t level) {
    double growth = 1;
    for (uint8_t i = level; i + 1 < settings->levels; i++) {
        growth *= settings->fan;
    }
    return growth;
}

/// The shift of the page that begins at entry `first`.
static uint8_t shift_of(const struct settings *settings,
                        const struct entry *entries, uint32_t count,
                        uint32_t first, uint8_t level) {
    uint32_t end = first + WINDOW < count ? first + WINDOW : count;
    double gap = 1e18;
    for (uint32_t i = first; i < end; i += DENSE) {
        uint32_t last = i + DENSE < count ? i + DENSE : count;
        double mean =
            (double)(entries[last - 1].value - entries[i].value) / (last - i);
        gap = last - i >= DENSE / 2 && mean < gap ? mean : gap;
    }
    gap = gap > 1e17 ? 1 : gap / last_growth(settings, level);
    uint8_t shift = 0;
    uint8_t least = 0;
    while (gap >= 2 && shift < 31) {
        gap /= 2;
        shift++;
    }
    shift = shift > settings->extra ? (uint8_t)(shift - settings->extra) : 0;
    for (uint32_t i = first; i < end; i++) {
        least = entries[i].shift > least ? entries[i].shift : least;
    }
    return shift > least ? shift : least;
}

/// Bits of a number in a Rice code.
static uint32_t rice_bits(uint32_t number, uint8_t k) {
    uint32_t quotient = number >> k;
    return quotient < 24 ? quotient + 1 + k : 24 + 32;
}

/// The best k for the values of the window from `first` on.
static uint8_t k_of(const struct entry *entries, uint32_t count, uint32_t first,
                    uint8_t shift) {
    uint32_t end = first + WINDOW < count ? first + WINDOW : count;
    uint64_t least = UINT64_MAX;
    uint8_t best = 0;
    for (uint8_t k = 0; k < 28; k++) {
        uint64_t sum = 0;
        for (uint32_t i = first + 1; i < end; i++) {
            sum += rice_bits((entries[i].value >> shift) -
                                 (entries[i - 1].value >> shift),
                             k);
        }
        if (sum < least) {
            least = sum;
            best = k;
        }
    }
    return best;
}

static int place_compare(const void *left, const void *right) {
    const struct entry *a = left;
    const struct entry *b = right;
    return (a->page > b->page) - (a->page < b->page);
}

/// Sorts the entries that begin at `first` and are the same at `shift` by data
/// page. Of each data page one stays; they are moved to the end.
/// end      out: behind them.
/// Returns  how many stay.
static uint32_t same_sort(struct entry *entries, uint32_t first, uint32_t count,
                          uint8_t shift, uint32_t *end) {
    uint32_t last = first + 1;
    while (last < count &&
           entries[last].value >> shift == entries[first].value >> shift) {
        last++;
    }
    qsort(entries + first, last - first, sizeof *entries, place_compare);
    uint32_t to = last - 1;
    for (uint32_t i = last - 1; i-- > first;) {
        if (entries[i].page != entries[to].page) {
            entries[--to] = entries[i];
        }
    }
    *end = last;
    return last - to;
}

/// A run that is packed.
struct packer {
    const struct settings *settings;
    struct run *run;
    uint32_t kept;   ///< entries
    uint32_t bits;   ///< of the page
    uint32_t before; ///< value
    uint8_t shift;
    uint8_t k;
    uint8_t wide; ///< bits of a data page
};

static void page_begin(struct packer *packer, uint32_t from) {
    struct run *run = packer->run;
    packer->shift =
        shift_of(packer->settings, run->entries, run->count, from, run->level);
    packer->k = k_of(run->entries, run->count, from, packer->shift);
    run->pages[run->page_count++] =
        (struct index_page){.first = packer->kept, .shift = packer->shift};
    packer->before = run->entries[from].value >> packer->shift;
    packer->bits = 0;
}

/// Packs entries of one value. Returns how many the page had room for.
static uint32_t same_pack(struct packer *packer, uint32_t from, uint32_t same) {
    struct run *run = packer->run;
    uint8_t rise = bits_of((run->data_end - run->data_first) / same / 2);
    for (uint32_t i = 0; i < same; i++) {
        struct entry entry = run->entries[from + i];
        uint32_t value = entry.value >> packer->shift;
        uint32_t cost =
            rice_bits(value - packer->before, packer->k) + packer->wide;
        if (i > 0) {
            uint32_t step = entry.page - run->entries[packer->kept - 1].page;
            cost = packer->k + 1u + rice_bits(step - 1, rise);
        }
        if (packer->bits + cost > PAYLOAD_BITS) {
            return i;
        }
        packer->bits += cost;
        packer->before = value;
        entry.shift = packer->shift;
        run->entries[packer->kept++] = entry;
    }
    return same;
}

/// Makes the pages of a run, and its entries as sharp as these have them.
/// Returns the bits of all.
static uint64_t run_pack(const struct settings *settings, struct run *run) {
    struct packer packer = {.settings = settings,
                            .run = run,
                            .wide = bits_of(run->data_end - run->data_first)};
    uint32_t from = 0;
    run->page_count = 0;
    if (run->count > 0) {
        page_begin(&packer, 0);
    }
    while (from < run->count) {
        uint32_t end = 0;
        uint32_t same =
            same_sort(run->entries, from, run->count, packer.shift, &end);
        uint32_t packed = same_pack(&packer, end - same, same);
        from = end - same + packed;
        if (packed < same) {
            page_begin(&packer, from);
        }
    }
    run->count = packer.kept;
    return run->page_count == 0
               ? 0
               : (uint64_t)(run->page_count - 1) * PAYLOAD_BITS + packer.bits;
}

/* ----------------------------------------------------------- the levels */

static struct run *run_add(struct model *model, uint8_t level, uint32_t count) {
    BENCH_HOLDS(model->run_count < RUNS_MAX);
    struct run *run = &model->runs[model->run_count++];
    memset(run, 0, sizeof *run);
    run->level = level;
    run->count = count;
    run->entries = malloc((count + 1u) * sizeof *run->entries);
    run->pages = malloc((count + 1u) * sizeof *run->pages);
    BENCH_HOLDS(run->entries != NULL && run->pages != NULL);
    return run;
}

static uint32_t tail_of(const struct model *model) {
    return model->head > model->pages ? model->head - model->pages : 0;
}

/// Forgets runs that are merged, or of dropped data pages only.
static void runs_drop(struct model *model) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < model->run_count; i++) {
        struct run *run = &model->runs[i];
        bool gone = run->data_end <= tail_of(model) && run->is_live;
        if ((run->is_source && !run->is_live) || (gone && !run->is_source)) {
            free(run->entries);
            free(run->pages);
        } else {
            model->runs[kept++] = *run;
        }
    }
    model->run_count = kept;
    for (uint8_t level = 0; level < model->settings.levels; level++) {
        for (uint32_t i = 0; i < kept; i++) {
            struct run *run = &model->runs[i];
            uint32_t span = model->ring_head[level] - run->at;
            if (run->level == level && span > model->span_max[level]) {
                model->span_max[level] = span;
            }
        }
    }
}

/// Takes the buffer as a run of level 0 when it is full.
static void buffer_take(struct model *model) {
    struct run *run = run_add(model, 0, model->buffered);
    run->data_first = model->buffer_first;
    run->data_end = model->head;
    memcpy(run->entries, model->buffer, model->buffered * sizeof *run->entries);
    uint64_t bits = run_pack(&model->settings, run);
    uint32_t room = model->settings.buffer_pages * (uint32_t)PAYLOAD_BITS;
    uint64_t next = bits + bits / (run->data_end - run->data_first);
    if (next <= room) {
        free(run->entries);
        free(run->pages);
        model->run_count--;
        return;
    }
    run->due = run->page_count;
    run->at = model->ring_head[0];
    model->ring_head[0] += run->page_count;
    run->is_live = true; /* its rows are in RAM until it is programmed */
    model->buffered = 0;
    model->buffer_first = model->head;
}

/// Pages of the directory when `made` is in it.
static uint32_t directory_pages(const struct model *model,
                                const struct run *made) {
    uint32_t bytes = made->page_count * FENCE_BYTES;
    for (uint32_t i = 0; i < model->run_count; i++) {
        const struct run *run = &model->runs[i];
        if (run->level > 0 && run->is_live && !run->is_source) {
            bytes += run->page_count * FENCE_BYTES;
        }
    }
    return (bytes + PAYLOAD_BITS / 8 - 1) / (PAYLOAD_BITS / 8);
}

/// Merges the oldest `fan` runs of a level that has so many.
static void level_merge(struct model *model, uint8_t level) {
    uint32_t found = 0;
    uint32_t count = 0;
    uint32_t sources[UINT8_MAX + 1] = {0};
    for (uint32_t i = 0; i < model->run_count; i++) {
        struct run *run = &model->runs[i];
        if (run->level == level && run->is_live && !run->is_source &&
            run->written == run->due && found < model->settings.fan) {
            sources[found++] = i;
            count += run->count;
        }
    }
    if (found < model->settings.fan) {
        return;
    }
    struct run *run = run_add(model, (uint8_t)(level + 1), count);
    run->data_first = model->runs[sources[0]].data_first;
    run->data_end = model->runs[sources[found - 1]].data_end;
    run->count = 0;
    for (uint32_t i = 0; i < found; i++) {
        struct run *source = &model->runs[sources[i]];
        source->is_source = true;
        for (uint32_t j = 0; j < source->count; j++) {
            if (source->entries[j].page >= tail_of(model)) {
                run->entries[run->count++] = source->entries[j];
            }
        }
    }
    qsort(run->entries, run->count, sizeof *run->entries, entry_compare);
    (void)run_pack(&model->settings, run);
    run->due = run->page_count + directory_pages(model, run);
    run->at = model->ring_head[level + 1];
    model->ring_head[level + 1] += run->page_count;
}

/// The merged run is durable: its sources are not needed.
static void run_finish(struct model *model, struct run *run) {
    for (uint32_t i = 0; i < model->run_count; i++) {
        struct run *source = &model->runs[i];
        if (source->is_source && source->level + 1 == run->level &&
            source->data_first >= run->data_first &&
            source->data_end <= run->data_end) {
            source->is_live = false;
        }
    }
    run->is_live = true;
}

/// Programs a page that is due. Returns whether there was one.
static bool page_program(struct model *model) {
    for (uint8_t level = 0; level < model->settings.levels; level++) {
        for (uint32_t i = 0; i < model->run_count; i++) {
            struct run *run = &model->runs[i];
            if (run->level != level || run->written >= run->due) {
                continue;
            }
            if (level > 0 && run->written < run->page_count) {
                model->merge_reads += model->settings.fan;
            }
            run->written++;
            if (level > 0 && run->written == run->due) {
                run_finish(model, run);
            }
            return true;
        }
    }
    return false;
}

/// A data page closes.
static void page_close(struct model *model) {
    for (uint32_t i = 0; i < model->page_rows; i++) {
        uint32_t row = model->head % model->pages * model->page_rows + i;
        model->buffer[model->buffered++] =
            (struct entry){.value = model->values[row], .page = model->head};
    }
    model->head++;
    qsort(model->buffer, model->buffered, sizeof *model->buffer, entry_compare);
    buffer_take(model);
    for (uint8_t level = 0; level + 1 < model->settings.levels; level++) {
        level_merge(model, level);
    }
    model->programs += page_program(model);
    uint32_t held = model->head - model->buffer_first;
    model->buffer_most = held > model->buffer_most ? held : model->buffer_most;
    runs_drop(model);
}

/* ----------------------------------------------------------------- queries */

struct reads {
    struct bench_tally all;
    struct bench_tally more;  ///< than pages with a match
    struct bench_tally data;  ///< pages with a match
    struct bench_tally index; ///< index pages
    struct bench_tally runs;
};

/// Marks the data pages of the entries of `count` that a query has to read.
static uint32_t entries_mark(const struct model *model,
                             const struct entry *entries, uint32_t count,
                             uint32_t lo, uint32_t hi, uint8_t *marks) {
    uint32_t pages = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct entry *entry = &entries[i];
        uint32_t value = entry->value >> entry->shift;
        if (value >= lo >> entry->shift && value <= hi >> entry->shift &&
            entry->page >= tail_of(model) &&
            !marks[entry->page % model->pages]) {
            marks[entry->page % model->pages] = 1;
            pages++;
        }
    }
    return pages;
}

/// Reads of a run's index pages: those whose values reach into lo .. hi.
static uint32_t run_reads(const struct run *run, uint32_t lo, uint32_t hi) {
    uint32_t reads = 0;
    for (uint32_t i = 0; i < run->page_count; i++) {
        uint8_t shift = run->pages[i].shift;
        uint32_t end =
            i + 1 < run->page_count ? run->pages[i + 1].first : run->count;
        uint32_t first = run->entries[run->pages[i].first].value >> shift;
        uint32_t last = run->entries[end - 1].value >> shift;
        reads += first <= hi >> shift && last >= lo >> shift;
    }
    return reads;
}

static uint32_t true_pages(const struct model *model, uint32_t lo,
                           uint32_t hi) {
    uint32_t pages = 0;
    for (uint32_t page = 0; page < model->pages; page++) {
        bool has = false;
        for (uint32_t i = 0; i < model->page_rows && !has; i++) {
            uint32_t value = model->values[page * model->page_rows + i];
            has = value >= lo && value <= hi;
        }
        pages += has;
    }
    return pages;
}

/// A query of lo .. hi. The directory is one page, of every run's first values.
static void query(struct model *model, uint32_t lo, uint32_t hi, uint8_t *marks,
                  struct reads *reads) {
    uint32_t index = 0;
    uint32_t runs = 0;
    bool directory = false;
    memset(marks, 0, model->pages);
    uint32_t data =
        entries_mark(model, model->buffer, model->buffered, lo, hi, marks);
    for (uint32_t i = 0; i < model->run_count; i++) {
        const struct run *run = &model->runs[i];
        if (run->is_live) {
            data +=
                entries_mark(model, run->entries, run->count, lo, hi, marks);
            directory = directory || run->level > 0;
            index += run_reads(run, lo, hi);
            runs++;
        }
    }
    index += directory;
    uint32_t matching = true_pages(model, lo, hi);
    bench_tally_add(&reads->all, data + index);
    bench_tally_add(&reads->more, data + index - matching);
    bench_tally_add(&reads->data, matching);
    bench_tally_add(&reads->index, index);
    bench_tally_add(&reads->runs, runs);
}

/* ---------------------------------------------------------------- measure */

/// Pages of the levels' rings, in whole blocks of 8, with one to erase.
static uint32_t ring_pages(const struct model *model) {
    uint32_t pages = 0;
    for (uint8_t level = 0; level < model->settings.levels; level++) {
        pages += (model->span_max[level] + 7) / 8 * 8 + 8;
    }
    return pages;
}

/// Of the last level, with what its pages have beside entries; below 0: it has
/// no run yet.
static double entry_bytes(const struct model *model) {
    double bytes = 0;
    double entries = 0;
    for (uint32_t i = 0; i < model->run_count; i++) {
        const struct run *run = &model->runs[i];
        if (run->level + 1 == model->settings.levels && run->is_live) {
            bytes += (double)run->page_count * BENCH_PAGE_BYTES;
            entries += run->count;
        }
    }
    return entries > 0 ? bytes / entries : -1;
}

static void figures_print(const struct model *model,
                          const struct reads *reads) {
    const struct settings *set = &model->settings;
    double rows = (double)model->pages * model->page_rows;
    char config[BENCH_TEXT_BYTES];
    int used = snprintf(config, sizeof config,
                        "buffer %u pages, fan %u, %u levels, %u bits more",
                        set->buffer_pages, set->fan, set->levels, set->extra);
    if (set->page_rows > 0) {
        snprintf(config + used, sizeof config - (size_t)used,
                 ", %u rows a page", set->page_rows);
    }
    struct {
        const char *metric;
        double value;
        const char *unit;
    } figures[] = {
        {"page reads, mean", bench_tally_mean(&reads->all), "reads"},
        {"page reads, max", (double)reads->all.max, "reads"},
        {"pages with a match, mean", bench_tally_mean(&reads->data), "pages"},
        {"pages with a match, max", (double)reads->data.max, "pages"},
        {"reads beyond these, max", (double)reads->more.max, "reads"},
        {"reads of index pages, mean", bench_tally_mean(&reads->index),
         "reads"},
        {"runs, mean", bench_tally_mean(&reads->runs), "runs"},
        {"runs, max", (double)reads->runs.max, "runs"},
        {"programs an append", model->programs / rows, "programs"},
        {"reads of merges an append", model->merge_reads / rows, "reads"},
        {"data pages in the buffer, max", model->buffer_most, "pages"},
        {"bytes an entry, last level", entry_bytes(model), "B"},
        {"bytes a row", ring_pages(model) * BENCH_PAGE_BYTES / rows, "B"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (figures[i].value >= 0) {
            bench_print(bench, figures[i].metric, model->data, figures[i].value,
                        figures[i].unit, "%s", config);
        }
    }
}

static void measure(const struct bench_data *data,
                    const struct settings *settings) {
    static struct model model;
    static struct bench_sorted_span spans[BENCH_SORTED_QUERIES];
    struct reads reads = {.all = {0}};
    memset(&model, 0, sizeof model);
    model.settings = *settings;
    model.data = data;
    model.page_rows = settings->page_rows > 0
                          ? settings->page_rows
                          : bench_page_rows(data, BENCH_PAGE_BYTES);
    model.pages = data->count / model.page_rows;
    uint32_t count = model.pages * model.page_rows;
    model.values = malloc(count * sizeof *model.values);
    model.buffer = malloc(count * sizeof *model.buffer);
    uint8_t *marks = malloc(model.pages);
    BENCH_HOLDS(model.values != NULL && model.buffer != NULL && marks != NULL);
    for (uint32_t i = 0; i < count; i++) {
        model.values[i] = order_of(data, bench_row(data, i));
    }
    bench_sorted_spans(model.values, count, spans);
    while (model.head < 2 * model.pages) {
        page_close(&model);
        if (model.head == model.pages) {
            model.programs = 0;
            model.merge_reads = 0;
        }
        if (bench_sorted_asks(model.head, model.pages)) {
            for (uint32_t i = 0; i < BENCH_SORTED_QUERIES; i++) {
                query(&model, spans[i].lo, spans[i].hi, marks, &reads);
            }
        }
    }
    figures_print(&model, &reads);
    for (uint32_t i = 0; i < model.run_count; i++) {
        free(model.runs[i].entries);
        free(model.runs[i].pages);
    }
    free(model.values);
    free(model.buffer);
    free(marks);
}

/// On all sets.
static const struct settings chosen = {8, 4, 3, 0, 0};

/// On the set where a page index reads most, too. 50 rows are those of a packed
/// page of it.
static const struct settings others[] = {
    {1, 8, 3, 0, 0},  {2, 6, 3, 0, 0},  {4, 6, 3, 0, 0},
    {4, 5, 3, 1, 0},  {8, 5, 3, 1, 0},  {8, 8, 2, 1, 0},
    {16, 6, 2, 1, 0}, {16, 6, 2, 2, 0}, {8, 4, 3, 0, 50},
};

int main(void) {
    for (uint32_t i = 0; i < BENCH_DATA_COUNT; i++) {
        struct bench_data data;
        if (!bench_data_load(&data, i)) {
            continue;
        }
        measure(&data, &chosen);
        for (size_t j = 0; j < sizeof others / sizeof *others; j++) {
            if (strcmp(data.name, "watch") == 0) {
                measure(&data, &others[j]);
            }
        }
        bench_data_free(&data);
    }
    return 0;
}
