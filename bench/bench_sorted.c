// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The sorted index of src/index/sorted, fed as bench_sorted_model.c feeds its
/// model: the same data pages, moments and queries. docs/results/sorted.md has
/// the figures.
///
/// Data pages are not written: the table is a ring that holds the set once and
/// is written twice, and its pages are those that an answer names. Each answer
/// is checked: no page with a match is missing. A first pass has large rings
/// and finds how many pages of each are in use; the second one has so many.
#include "base/order.h"
#include "bench/sorted_bench.h"
#include "index/sorted/sorted.h"
#include "port/sim/sim.h"

static const char bench[] = "sorted";

enum {
    BLOCK_PAGES = 8,
    LARGE_BLOCKS = 200, ///< of each ring in the first pass
    ARENA_BYTES = 1u << 20,
};

struct settings {
    uint16_t entries;
    uint16_t fences;
    uint8_t fan;
    uint8_t extra;
};

struct reads {
    struct bench_tally all;
    struct bench_tally data;
    struct bench_tally index;
    struct bench_tally runs;
    struct bench_tally programs; ///< of a data page
};

struct table {
    const struct bench_data *data;
    const struct settings *settings;
    struct esk_sim *sim;
    struct esk_volume volume;
    struct esk_region_stats stats;
    struct esk_sorted sorted;
    uint8_t *arena;
    uint32_t arena_used;
    uint32_t *values; ///< order forms, by row
    uint32_t page_rows;
    uint32_t pages; ///< of the data ring
    uint32_t head;
    uint32_t blocks[ESK_SORTED_LEVELS];
    uint32_t used_max[ESK_SORTED_LEVELS]; ///< pages
    uint32_t held_max;                    ///< data pages of the buffer
    struct bench_sorted_span spans[BENCH_SORTED_QUERIES];
    struct reads reads;
};

/// Mounts the index: its rings are one behind the other.
static void index_mount(struct table *table, uint32_t tail, uint32_t head) {
    struct esk_ring_config rings = {.table = 1, .seed = 7, .ahead = 1};
    const uint32_t *count = table->blocks;
    const struct esk_sorted_blocks blocks[ESK_SORTED_LEVELS] = {
        {.blocks = count[0]}, {.block = count[0], .blocks = count[1]}};
    BENCH_DO(esk_sorted_mount(&table->sorted, &table->volume, &rings, blocks,
                              tail, head, &table->stats));
}

/// Makes an empty index with rings of table->blocks.
static void index_make(struct table *table) {
    const struct settings *settings = table->settings;
    struct esk_arena arena = {.start = table->arena, .bytes = ARENA_BYTES};
    struct esk_sorted_config config = {.entries = settings->entries,
                                       .fences = settings->fences,
                                       .window_bytes = 512,
                                       .span_max = 2048,
                                       .fan = settings->fan,
                                       .extra = settings->extra};
    struct esk_sim_config sim = {
        .geometry = {.block_count = table->blocks[0] + table->blocks[1],
                     .block_pages = BLOCK_PAGES,
                     .page_bytes = BENCH_PAGE_BYTES,
                     .program_bytes = 1,
                     .erased_value = 0xFF}};
    memset(&table->stats, 0, sizeof table->stats);
    memset(&table->volume, 0, sizeof table->volume);
    BENCH_DO(esk_sim_create(&table->sim, &sim));
    table->volume.device = esk_sim_device(table->sim);
    esk_sorted_carve(&table->sorted, &arena, &config, BENCH_PAGE_BYTES);
    BENCH_HOLDS(esk_arena_fits(&arena));
    table->arena_used = arena.used;
    index_mount(table, 0, 0);
}

static uint32_t tail_of(const struct table *table) {
    return table->head > table->pages ? table->head - table->pages : 0;
}

/// Notes how many pages of the rings are in use.
static void used_note(struct table *table) {
    const struct esk_sorted *sorted = &table->sorted;
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        const struct esk_sorted_level *level = &sorted->levels[i];
        bool writes = i == 0 ? sorted->frozen > 0 : sorted->merging > 0;
        uint32_t first = level->ring.head;
        if (level->count > 0) {
            first = level->runs[0].first;
        } else if (writes && level->draft.pages > 0) {
            first = level->draft.first;
        }
        uint32_t used = level->ring.head - first;
        table->used_max[i] =
            used > table->used_max[i] ? used : table->used_max[i];
    }
    uint32_t first = sorted->frozen_span.count > 0 ? sorted->frozen_span.first
                                                   : sorted->first;
    uint32_t held = sorted->end - first;
    table->held_max = held > table->held_max ? held : table->held_max;
}

/// A data page closes.
static void page_close(struct table *table) {
    uint32_t first = table->head % table->pages * table->page_rows;
    uint32_t before = table->stats.programs;
    const uint8_t *row = bench_row(table->data, first);
    esk_sorted_add(&table->sorted, table->head, table->data->value_type,
                   row + table->data->value_offset, table->data->row_bytes,
                   (uint16_t)table->page_rows);
    table->head++;
    esk_sorted_drop(&table->sorted, tail_of(table));
    int status = esk_sorted_step(&table->sorted);
    BENCH_HOLDS(status == ESK_OK || status == ESK_END);
    BENCH_HOLDS(table->stats.programs - before <= 1);
    bench_tally_add(&table->reads.programs, table->stats.programs - before);
    used_note(table);
}

/// Whether the data page at `position` has a value of the span.
static bool has_match(const struct table *table, uint32_t position,
                      const struct bench_sorted_span *span) {
    uint32_t first = position % table->pages * table->page_rows;
    for (uint32_t i = first; i < first + table->page_rows; i++) {
        if (table->values[i] >= span->lo && table->values[i] <= span->hi) {
            return true;
        }
    }
    return false;
}

static void query(struct table *table, const struct bench_sorted_span *span) {
    uint32_t before = table->stats.reads;
    uint32_t matching = 0;
    uint32_t data = 0;
    uint32_t position = tail_of(table);
    while (position < table->head) {
        const struct esk_sorted_window *window =
            esk_sorted_find(&table->sorted, span->lo, span->hi, position);
        for (; position < window->end && position < table->head; position++) {
            bool named = esk_sorted_window_has(window, position);
            bool holds = has_match(table, position, span);
            BENCH_HOLDS(named || !holds);
            data += named;
            matching += holds;
        }
    }
    uint32_t index = table->stats.reads - before;
    bench_tally_add(&table->reads.all, data + index);
    bench_tally_add(&table->reads.data, matching);
    bench_tally_add(&table->reads.index, index);
    bench_tally_add(&table->reads.runs, table->sorted.levels[0].count +
                                            table->sorted.levels[1].count);
}

/// Appends the set twice; asks in the second time.
/// programs, merge_reads  out: of the second time
static void run(struct table *table, uint32_t *programs,
                uint32_t *merge_reads) {
    uint32_t programs_before = 0;
    index_make(table);
    memset(&table->reads, 0, sizeof table->reads);
    table->head = 0;
    *merge_reads = 0;
    while (table->head < 2 * table->pages) {
        uint32_t reads = table->stats.reads;
        page_close(table);
        if (table->head <= table->pages) {
            programs_before = table->stats.programs;
            continue;
        }
        *merge_reads += table->stats.reads - reads;
        if (bench_sorted_asks(table->head, table->pages)) {
            for (uint32_t i = 0; i < BENCH_SORTED_QUERIES; i++) {
                query(table, &table->spans[i]);
            }
        }
    }
    *programs = table->stats.programs - programs_before;
    BENCH_HOLDS(table->sorted.lost == 0);
}

/// A mount of the index at the end: its page reads.
static uint32_t mount_reads(struct table *table) {
    struct esk_sorted_config config = table->sorted.config;
    struct esk_arena arena = {.start = table->arena, .bytes = ARENA_BYTES};
    uint32_t end = table->sorted.end;
    memset(&table->stats, 0, sizeof table->stats);
    esk_sorted_carve(&table->sorted, &arena, &config, BENCH_PAGE_BYTES);
    index_mount(table, tail_of(table), table->head);
    table->held_max = end - esk_sorted_next(&table->sorted);
    return table->stats.reads;
}

static void figures_print(struct table *table, uint32_t programs,
                          uint32_t merge_reads) {
    const struct settings *set = table->settings;
    const struct reads *reads = &table->reads;
    double rows = (double)table->pages * table->page_rows;
    double bytes = (double)(table->blocks[0] + table->blocks[1]) * BLOCK_PAGES *
                   BENCH_PAGE_BYTES;
    uint32_t held = table->held_max;
    uint32_t ram = table->arena_used + (uint32_t)sizeof table->sorted;
    uint32_t mount = mount_reads(table);
    char config[BENCH_TEXT_BYTES];
    snprintf(config, sizeof config,
             "%u entries, %u fences, fan %u, %u bits more", set->entries,
             set->fences, set->fan, set->extra);
    struct {
        const char *metric;
        double value;
        const char *unit;
    } figures[] = {
        {"page reads, mean", bench_tally_mean(&reads->all), "reads"},
        {"page reads, max", (double)reads->all.max, "reads"},
        {"pages with a match, mean", bench_tally_mean(&reads->data), "pages"},
        {"reads of index pages, mean", bench_tally_mean(&reads->index),
         "reads"},
        {"runs, mean", bench_tally_mean(&reads->runs), "runs"},
        {"runs, max", (double)reads->runs.max, "runs"},
        {"programs an append", programs / rows, "programs"},
        {"programs a data page, max", (double)reads->programs.max, "programs"},
        {"reads of merges an append", merge_reads / rows, "reads"},
        {"data pages in the buffer, max", held, "pages"},
        {"page reads of a mount", mount, "reads"},
        {"data pages to read again after it", table->held_max, "pages"},
        {"bytes a row", bytes / rows, "B"},
        {"RAM", ram, "B"},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bench_print(bench, figures[i].metric, table->data, figures[i].value,
                    figures[i].unit, "%s", config);
    }
}

static struct table table;

static void measure(const struct bench_data *data,
                    const struct settings *settings) {

    uint32_t programs = 0;
    uint32_t merge_reads = 0;
    memset(&table, 0, sizeof table);
    table.data = data;
    table.settings = settings;
    table.arena = bench_memory(ARENA_BYTES);
    table.page_rows = bench_page_rows(data, BENCH_PAGE_BYTES);
    table.pages = data->count / table.page_rows;
    uint32_t count = table.pages * table.page_rows;
    table.values = malloc(count * sizeof *table.values);
    BENCH_HOLDS(table.values != NULL);
    for (uint32_t i = 0; i < count; i++) {
        table.values[i] = esk_order_load32(
            data->value_type, bench_row(data, i) + data->value_offset);
    }
    bench_sorted_spans(table.values, count, table.spans);
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        table.blocks[i] = LARGE_BLOCKS;
    }
    run(&table, &programs, &merge_reads);
    esk_sim_destroy(table.sim);
    for (uint8_t i = 0; i < ESK_SORTED_LEVELS; i++) {
        table.blocks[i] =
            (table.used_max[i] + BLOCK_PAGES - 1) / BLOCK_PAGES + 1;
    }
    run(&table, &programs, &merge_reads);
    figures_print(&table, programs, merge_reads);
    esk_sim_destroy(table.sim);
    free(table.values);
    free(table.arena);
}

/// On all sets.
static const struct settings chosen = {4600, 512, 5, 1};

/// On the set where a page index reads most, too.
static const struct settings others[] = {
    {1400, 512, 8, 1}, {2600, 512, 8, 1}, {4600, 512, 4, 1}, {4600, 512, 5, 0},
    {4600, 512, 5, 2}, {4600, 0, 5, 1},   {6000, 640, 4, 2}, {8000, 640, 4, 1},
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
