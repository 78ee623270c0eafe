// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "test/damage/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct table_shape shapes[] = {
    {.name = "series-refuse"},
    {.name = "series-drop", .drops = true},
    {.name = "series-bare", .drops = true, .no_keys = true},
    {.name = "series-index", .drops = true, .has_indexes = true},
    {.name = "series-index-refuse", .has_indexes = true},
    {.name = "series-var", .has_var = true},
    {.name = "series-var-drop", .drops = true, .has_var = true},
    {.name = "series-floor", .drops = true, .erases = true},
    {.name = "series-break", .break_rows = 30},
    {.name = "series-break-drop", .drops = true, .break_rows = 30},
    {.name = "series-break-index", .has_indexes = true, .break_rows = 2},
    {.name = "series-break-var", .has_var = true, .break_rows = 12},
    {.name = "series-sorted", .drops = true, .sorted = true, .blocks = 14},
    {.name = "series-sorted-index",
     .sorted = true,
     .has_indexes = true,
     .blocks = 14},
    {.name = "tree-inplace", .tree = true, .store = ESK_STORE_INPLACE},
    {.name = "tree-inplace-merge",
     .tree = true,
     .store = ESK_STORE_INPLACE,
     .merges = true,
     .has_batches = true},
    {.name = "tree-journaled", .tree = true, .store = ESK_STORE_JOURNALED},
    {.name = "tree-journaled-batch",
     .tree = true,
     .store = ESK_STORE_JOURNALED,
     .has_batches = true},
    {.name = "tree-wandering", .tree = true, .store = ESK_STORE_WANDERING},
    {.name = "tree-wandering-cache",
     .tree = true,
     .store = ESK_STORE_WANDERING,
     .has_cache = true,
     .merges = true},
    {.name = "tree-mu", .tree = true, .store = ESK_STORE_MU},
    {.name = "tree-tnc",
     .tree = true,
     .store = ESK_STORE_TNC,
     .has_cache = true,
     .merges = true},
    {.name = "tree-mu-batch",
     .tree = true,
     .store = ESK_STORE_MU,
     .has_batches = true,
     .merges = true},
    {.name = "kv", .kv = true},
    {.name = "kv-small", .kv = true, .blocks = 4},
    {.name = "kv-bare", .kv = true, .bare = true, .blocks = 12},
    {.name = "kv-batch", .kv = true, .has_batches = true, .blocks = 12},
    {.name = "kv-index", .kv = true, .has_index = true, .blocks = 32},
    {.name = "kv-index-batch",
     .kv = true,
     .has_index = true,
     .has_batches = true,
     .blocks = 20},
};

/// Bits that a bare store's head and its page's envelope take.
enum { HEAD_BITS = 48 * 8 };

enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    CASES_MAX = 2 * SHAPES * MEDIUM_CLASSES,
    PACKED_BLOCKS = 12,
};

static const char *const fill_names[FILL_COUNT] = {"blank", "zero", "random",
                                                   "unreadable"};
static const char *const kind_names[] = {"run", "pages", "bit", "drawn",
                                         "newest"};

enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

static bool shape_fits(const struct table_shape *shape,
                       const struct medium_class *kind) {
    bool overwrites =
        (kind->geometry.flags & (unsigned)ESK_MEDIUM_OVERWRITE) != 0;
    bool in_place = shape->store == ESK_STORE_INPLACE ||
                    shape->store == ESK_STORE_JOURNALED;
    if (shape->store == ESK_STORE_INPLACE && kind->keeps_back) {
        return false; // nothing is promised there for unsynced rows
    }
    if (shape->sorted && !shape->packed && strcmp(kind->name, "nor") != 0 &&
        (shape->has_indexes || strcmp(kind->name, "cache") != 0)) {
        return false; // one medium with seals, one that reorders writes
    }
    if (shape->store == ESK_STORE_MU && kind->geometry.page_bytes < 256) {
        return false; // too small for a path
    }
    if (shape->store == ESK_STORE_TNC && kind->geometry.page_bytes < 256) {
        return false; // two nodes of two rows do not fit
    }
    return !in_place || overwrites;
}

// A series' shape with packed pages, of the case `number`.
static struct table_shape packed_shape(const struct table_shape *shape,
                                       uint32_t number) {
    static const uint8_t intervals[] = {1, 7, 50};
    struct table_shape packed = *shape;
    packed.packed = true;
    packed.sync_rows = intervals[number % 3];
    packed.blocks =
        shape->has_var || shape->blocks != 0 ? shape->blocks : PACKED_BLOCKS;
    return packed;
}

static void case_make(struct damage_case *made, const struct table_shape *shape,
                      const struct medium_class *kind) {
    made->shape = shape;
    made->kind = kind;
    made->data_blocks = shape->blocks != 0 ? shape->blocks : 40;
    made->blocks = shape->bare ? shape->blocks : shape->sorted ? 40 : 60;
    snprintf(made->name, sizeof made->name, "%s/%s%s", shape->name, kind->name,
             shape->packed ? "-packed" : "");
}

const struct damage_case *damage_cases(uint32_t *count) {
    static struct damage_case cases[CASES_MAX];
    static struct table_shape packed[CASES_MAX];
    uint32_t made = 0;
    for (size_t k = 0; k < MEDIUM_CLASSES; k++) {
        for (size_t s = 0; s < SHAPES; s++) {
            const struct medium_class *kind = &medium_classes[k];
            if (shape_fits(&shapes[s], kind)) {
                case_make(&cases[made++], &shapes[s], kind);
            }
            if (!shapes[s].tree && !shapes[s].kv) {
                packed[made] = packed_shape(&shapes[s], (uint32_t)(k + s));
                case_make(&cases[made], &packed[made], kind);
                made++;
            }
        }
    }
    *count = made;
    return cases;
}

static void list_add(struct damage_list *list, enum damage_kind kind,
                     enum fill fill, uint32_t at, uint32_t count) {
    if (list->count == list->room) {
        list->room = list->room * 2 + 1024;
        list->items = realloc(list->items, list->room * sizeof list->items[0]);
        if (list->items == NULL) {
            exit(2);
        }
    }
    list->items[list->count++] = (struct damage){
        .kind = (uint8_t)kind, .fill = (uint8_t)fill, .at = at, .count = count};
}

// One in so many of the list, but not every n-th of a pattern.
static bool chosen(uint32_t *at, uint32_t one_in) {
    return mix64((*at)++) % one_in == 0;
}

static void list_runs(struct damage_list *list, const struct table *table,
                      uint32_t one_in, uint32_t *at) {
    uint32_t blocks = table->of->blocks;
    int fills = table->of->kind->has_ecc ? FILL_COUNT : FILL_UNREADABLE;
    for (uint32_t run = 1; run <= RUN_BLOCKS_MAX; run++) {
        for (uint32_t start = 0; start + run <= blocks; start++) {
            for (int fill = 0; fill < fills; fill++) {
                if (chosen(at, one_in)) {
                    list_add(list, DAMAGE_RUN, (enum fill)fill, start, run);
                }
            }
        }
        for (int fill = 0; fill < fills; fill++) {
            if (chosen(at, one_in < 3 ? 1 : one_in / 3)) {
                list_add(list, DAMAGE_NEWEST, (enum fill)fill, 0, run);
            }
        }
    }
}

static void list_pages(struct damage_list *list, const struct table *table,
                       uint32_t one_in, uint32_t *at) {
    int fills = table->of->kind->has_ecc ? FILL_COUNT : FILL_UNREADABLE;
    for (uint32_t page = 0; page < table->base->pages; page++) {
        for (int fill = 0; fill < fills; fill++) {
            if (chosen(at, one_in)) {
                list_add(list, DAMAGE_PAGES, (enum fill)fill, page, 1);
            }
            if (chosen(at, one_in)) {
                uint32_t pages = 2 + (uint32_t)(mix64(*at) % 9);
                if (page + pages <= table->base->pages) {
                    list_add(list, DAMAGE_PAGES, (enum fill)fill, page, pages);
                }
            }
        }
    }
}

// Bits of the heads of a bare store, which the first page of each block has:
// all of the first one, which an open reads, and some of the others.
static void list_heads(struct damage_list *list, const struct table *table,
                       uint32_t one_in, uint32_t *at) {
    uint32_t pages = table->of->kind->geometry.block_pages;
    uint32_t heads = 0;
    for (uint32_t block = 0; block < table->of->blocks; block++) {
        uint32_t page = block * pages;
        heads += table->base->state[page] == PAGE_PROGRAMMED ? 1 : 0;
        bool is_first =
            heads == 1 && table->base->state[page] == PAGE_PROGRAMMED;
        for (uint32_t bit = 0; bit < HEAD_BITS; bit++) {
            if (chosen(at, one_in) || is_first) {
                list_add(list, DAMAGE_BIT, FILL_BLANK, page, bit);
            }
        }
    }
}

void damage_list_make(struct damage_list *list, const struct table *table,
                      uint32_t one_in, uint32_t drawn, uint32_t seed) {
    uint32_t at = 0;
    for (const char *c = table->of->name; *c != 0; c++) {
        at = at * 31u + (unsigned char)*c; // each case draws others
    }
    uint32_t bits = table->of->kind->geometry.page_bytes * 8u;
    list_runs(list, table, one_in, &at);
    list_pages(list, table, one_in, &at);
    for (uint32_t back = 0; back < 3; back++) {
        uint32_t page = medium_newest(table->base, back);
        for (uint32_t bit = 0; bit < bits; bit++) {
            if (chosen(&at, one_in)) {
                list_add(list, DAMAGE_BIT, FILL_BLANK, page, bit);
            }
        }
    }
    if (table->of->shape->bare) {
        list_heads(list, table, one_in, &at);
    }
    for (uint32_t i = 0; i < drawn; i++) {
        list_add(list, DAMAGE_DRAWN, FILL_BLANK,
                 (uint32_t)(mix64(((uint64_t)seed << 32) + i) >> 32), 0);
    }
}

void damage_write(const struct damage *damage, char *text, size_t bytes) {
    snprintf(text, bytes, "%s %u %u %s", kind_names[damage->kind],
             (unsigned)damage->at, (unsigned)damage->count,
             fill_names[damage->fill]);
}

bool damage_read(struct damage *damage, const char *text) {
    char kind[16];
    char fill[16];
    unsigned at;
    unsigned count;
    if (sscanf(text, "%15s %u %u %15s", kind, &at, &count, fill) != 4) {
        return false;
    }
    *damage = (struct damage){.kind = KINDS, .fill = FILL_COUNT};
    damage->at = at;
    damage->count = count;
    for (uint8_t i = 0; i < KINDS; i++) {
        damage->kind = strcmp(kind, kind_names[i]) == 0 ? i : damage->kind;
    }
    for (uint8_t i = 0; i < FILL_COUNT; i++) {
        damage->fill = strcmp(fill, fill_names[i]) == 0 ? i : damage->fill;
    }
    return damage->kind < KINDS && damage->fill < FILL_COUNT;
}

void damage_class(const struct damage *damage, char *text, size_t bytes) {
    if (damage->kind == DAMAGE_BIT || damage->kind == DAMAGE_DRAWN) {
        snprintf(text, bytes, "%s", kind_names[damage->kind]);
    } else {
        snprintf(text, bytes, "%s-%s", kind_names[damage->kind],
                 fill_names[damage->fill]);
    }
}

static void blocks_fill(struct table *table, uint32_t first, uint32_t count,
                        enum fill fill) {
    uint32_t pages = table->of->kind->geometry.block_pages;
    medium_fill(table->medium, first * pages, count * pages, fill,
                first * 64 + count);
    if (count > table->damage_blocks) {
        table->damage_blocks = count;
    }
}

// The blocks that were written to last, wherever they are.
static void newest_fill(struct table *table, uint32_t count, enum fill fill) {
    uint32_t pages = table->of->kind->geometry.block_pages;
    uint32_t done = 0;
    for (uint32_t back = 0; back < count * pages && done < count; back++) {
        uint32_t page = medium_newest(table->base, back);
        uint32_t block = page / pages;
        if (table->medium->state[page] < PAGE_DAMAGED) {
            blocks_fill(table, block, 1, fill);
            done++;
        }
    }
    table->damage_blocks = done;
}

static void drawn_do(uint32_t seed, struct table *table) {
    uint64_t at = (uint64_t)seed << 16;
    uint32_t times = 1 + (uint32_t)(mix64(at) % 4);
    int fills = table->of->kind->has_ecc ? FILL_COUNT : FILL_UNREADABLE;
    uint32_t blocks = 0;
    for (uint32_t n = 0; n < times; n++) {
        struct damage damage = {
            .kind = (uint8_t)(mix64(at + n * 8 + 1) % 3),
            .fill = (uint8_t)(mix64(at + n * 8 + 2) % (uint64_t)fills)};
        uint32_t whole =
            damage.kind == DAMAGE_RUN ? table->of->blocks : table->base->pages;
        damage.at = (uint32_t)(mix64(at + n * 8 + 3) % whole);
        damage.count = 1 + (uint32_t)(mix64(at + n * 8 + 4) % 12);
        if (mix64(at + n * 8 + 5) % 3 == 0) { // near the newest page
            damage.at = medium_newest(table->base,
                                      (uint32_t)(mix64(at + n * 8 + 6) % 8));
            damage.at /= damage.kind == DAMAGE_RUN
                             ? table->of->kind->geometry.block_pages
                             : 1;
        }
        if (damage.kind != DAMAGE_BIT && damage.at + damage.count > whole) {
            damage.at = whole - damage.count;
        }
        damage_do(&damage, table);
        blocks += damage.kind == DAMAGE_RUN ? damage.count : 1;
    }
    table->damage_blocks = blocks;
}

void damage_do(const struct damage *damage, struct table *table) {
    uint32_t pages = table->of->kind->geometry.block_pages;
    switch (damage->kind) {
    case DAMAGE_RUN:
        blocks_fill(table, damage->at, damage->count, (enum fill)damage->fill);
        break;
    case DAMAGE_NEWEST:
        newest_fill(table, damage->count, (enum fill)damage->fill);
        break;
    case DAMAGE_PAGES:
        medium_fill(table->medium, damage->at, damage->count,
                    (enum fill)damage->fill, damage->at * 16 + damage->count);
        table->damage_blocks = 1 + damage->count / pages;
        break;
    case DAMAGE_BIT:
        medium_flip(table->medium, damage->at,
                    damage->count %
                        (table->of->kind->geometry.page_bytes * 8u));
        table->damage_blocks = 1;
        break;
    default:
        drawn_do(damage->at, table);
        break;
    }
}
