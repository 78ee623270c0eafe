// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Shared by the spline's tests: an index log in memory, which handles nodes
/// and new knots as the series' index log does, and sets of points.
#ifndef ESK_TEST_SPLINE_LOG_H
#define ESK_TEST_SPLINE_LOG_H

#include "base/bytes.h"
#include "index/spline/spline.h"
#include "test/harness/esk_test.h"

/* ------------------------------------------------- an index log in memory */

enum {
    PAGE_COUNT_MAX = 8192,
    SECTION_BYTES = 460,
    ROWS_A_PAGE = 31,
    RUN_PAGES = 50, ///< data pages of an index page
};

/// The parts of an index page that the spline needs: a node, or the new knots;
/// and the fields for recovery.
struct index_page {
    uint8_t section[SECTION_BYTES];
    uint16_t count;
    bool is_node;
    uint8_t error;
    uint32_t previous; ///< of a node: the closed one before it
    uint32_t open[2];  ///< both levels' open nodes
    esk_key last_key;
    uint32_t last;
};

struct log {
    struct esk_spline spline;
    uint8_t memory[8192];
    struct index_page pages[PAGE_COUNT_MAX];
    uint32_t next;  ///< pages written
    uint32_t first; ///< index position of pages[0]
    uint16_t bytes;
    uint16_t room;
    uint8_t key_bytes;
    uint8_t error;
    uint32_t added; ///< data pages since the last index page
    uint32_t saves[2];
};

static struct log test_log;

/// Makes the log's spline empty.
static inline void log_spline_init(struct log *log) {
    esk_spline_init(&log->spline, log->memory, log->bytes, log->key_bytes,
                    log->error);
    esk_spline_nodes_init(&log->spline);
}

static inline void log_init(struct log *log, uint16_t bytes, uint8_t key_bytes,
                            uint8_t error) {
    memset(log, 0, sizeof *log);
    log->room =
        (uint16_t)(SECTION_BYTES / ESK_SPLINE_SECTION_ENTRY_BYTES(key_bytes));
    log->bytes = bytes;
    log->key_bytes = key_bytes;
    log->error = error;
    log_spline_init(log);
}

/// Ends a page: records its place in the log, and the newest fields.
static inline void log_write(struct log *log, struct index_page *page) {
    page->open[0] = log->spline.nodes.node[0].open_position;
    page->open[1] = log->spline.nodes.node[1].open_position;
    page->error = log->spline.error_16ths;
    esk_spline_last(&log->spline, &page->last_key, &page->last);
    log->next++;
}

static inline void log_save(struct log *log, uint8_t level) {
    struct esk_spline *spline = &log->spline;
    const struct esk_spline_node *own = &spline->nodes.node[level];
    ESK_CHECK(log->next < PAGE_COUNT_MAX);
    struct index_page *page = &log->pages[log->next];
    uint16_t count = 0;
    ESK_CHECK(esk_spline_unsaved(spline, level) > 0);
    page->previous = own->open_position;
    if (own->open_count != 0 && own->open_count < log->room) {
        count = own->open_count;
        page->previous = own->closed_position;
        memcpy(page->section,
               log->pages[own->open_position - log->first].section,
               SECTION_BYTES);
    }
    page->is_node = true;
    page->count =
        esk_spline_save(spline, level, page->section, count, log->room);
    ESK_CHECK(page->count <= log->room && page->count > count);
    esk_spline_saved(spline, level, page->count, log->first + log->next);
    log_write(log, page);
    log->saves[level]++;
}

static inline void log_write_new(struct log *log) {
    struct index_page *page = &log->pages[log->next];
    ESK_CHECK(log->next < PAGE_COUNT_MAX);
    page->count = esk_spline_take_new(&log->spline, page->section, log->room);
    log_write(log, page);
    log->added = 0;
}

static inline void log_add(struct log *log, esk_key key, uint32_t position) {
    int status = esk_spline_add(&log->spline, key, position);
    for (int tries = 0; status == ESK_FULL; tries++) {
        ESK_CHECK(tries < 64);
        if (!esk_spline_evict(&log->spline)) {
            log_save(log, esk_spline_full_level(&log->spline));
        }
        status = esk_spline_add(&log->spline, key, position);
    }
    ESK_CHECK_INT(status, ESK_OK);
    log->added++;
    if (log->added == RUN_PAGES) {
        log_write_new(log);
    }
}

/// Searches a key down to its segment. Returns the nodes read, -1 when it is
/// not found.
static inline int log_find(struct log *log, esk_key key,
                           struct esk_spline_hit *hit) {
    int reads = 0;
    int status = esk_spline_find(&log->spline, key, &hit->position);
    hit->level = 0;
    if (status != ESK_OK) {
        status = esk_spline_find_node(&log->spline, key, hit);
    }
    while (status == ESK_OK && hit->level != 0) {
        uint32_t at = hit->position - log->first;
        uint8_t level = hit->level;
        ESK_CHECK(at < log->next && log->pages[at].is_node);
        reads++;
        status = esk_spline_find_in(&log->spline, log->pages[at].section,
                                    log->pages[at].count, (uint8_t)(level - 1u),
                                    key, hit);
        ESK_CHECK(status != ESK_OK || hit->level < level);
    }
    return status == ESK_OK ? reads : -1;
}

/// Restores a node in the spline. Returns whether it was added.
static inline bool log_restore_node(struct log *log, uint8_t level,
                                    uint32_t position, bool open) {
    const struct index_page *page = &log->pages[position - log->first];
    esk_spline_restore_error(&log->spline, page->error);
    return esk_spline_restore_node(&log->spline, level, page->section,
                                   page->count, position, open);
}

/// Mounts: drops RAM and builds it again from the pages from `tail` on.
static inline void log_mount(struct log *log, uint32_t tail) {
    const struct index_page *newest = &log->pages[log->next - 1u];
    struct esk_spline *spline = &log->spline;
    memset(log->memory, 0xA5, sizeof log->memory);
    log_spline_init(log);
    for (uint8_t level = 0; level < 2; level++) {
        if (newest->open[level] != ESK_SPLINE_NONE) {
            ESK_CHECK(log_restore_node(log, level, newest->open[level], true));
        }
    }
    for (uint8_t level = 0; level < 2; level++) {
        uint32_t at = newest->open[level];
        while (at != ESK_SPLINE_NONE && at >= tail) {
            bool open = at == newest->open[level];
            if (!open && !log_restore_node(log, level, at, false)) {
                break;
            }
            at = log->pages[at - log->first].previous;
        }
    }
    for (uint32_t i = 0; i < log->next; i++) {
        const struct index_page *page = &log->pages[i];
        esk_spline_restore_error(spline, page->error);
        for (uint16_t k = 0; !page->is_node && k < page->count; k++) {
            struct esk_spline_entry knot;
            esk_spline_section_get(spline, page->section, k, &knot);
            esk_spline_restore_knot(spline, &knot);
        }
    }
    struct esk_spline_entry last = {newest->last_key, newest->last};
    esk_spline_restore_last(spline, &last);
}

/* ------------------------------------------------------------------ points */

struct points {
    uint32_t count;
    esk_key key[20000];
    uint32_t position[20000];
};

static struct points test_points;

/// check_points checks every so many points.
static uint32_t test_stride = 1;

struct result {
    double mean;
    int max;
    int nodes_max;
};

/// Checks every point and keys around it: the hit bounds the page, the
/// prediction is within the bound. Returns the reads a lookup costs.
static inline struct result
check_points(struct log *log, const struct points *points, uint32_t from) {
    struct result result = {0, 0, 0};
    uint32_t looked = 0;
    uint32_t stride = test_stride;
    for (uint32_t i = from; i < points->count; i += stride) {
        if (i + 3 * stride >= points->count) {
            stride = 1; /* all of the newest ones */
        }
        struct esk_spline_hit hit = {0, 0};
        esk_key keys[3] = {points->key[i], points->key[i], points->key[i]};
        int64_t gap = 0;
        if (i + 1 < points->count) {
            keys[1] = points->key[i + 1] - 1u;
            keys[2] = points->key[i] + (points->key[i + 1] - keys[0]) / 2;
            gap = points->position[i + 1] - points->position[i];
        }
        for (int k = 0; k < 3; k++) {
            int nodes = log_find(log, keys[k], &hit);
            uint32_t page = points->position[i];
            ESK_CONTEXT("%u bytes, point %u of %u, key %d %jx, page %u: %d "
                        "nodes, guess %u, bound %u",
                        log->bytes, i, points->count, k, (intmax_t)keys[k],
                        page, nodes, hit.position, log->spline.error_16ths);
            ESK_CHECK(nodes >= 0);
            int64_t off = (int64_t)hit.position - (int64_t)page;
            int reads = nodes + 1 + (int)(off < 0 ? -off : off);
            int64_t bound = log->spline.error_16ths / 16 + 1;
            ESK_CHECK(-off <= bound && off <= bound + (k == 0 ? 0 : gap));
            result.mean += reads;
            looked++;
            result.max = reads > result.max ? reads : result.max;
            result.nodes_max =
                nodes > result.nodes_max ? nodes : result.nodes_max;
        }
    }
    result.mean /= looked == 0 ? 1 : looked;
    return result;
}

static inline void add_points(struct log *log, const struct points *points) {
    for (uint32_t i = 0; i < points->count; i++) {
        log_add(log, points->key[i], points->position[i]);
    }
}

static inline uint32_t test_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/// Gaps of many sizes: a key step that changes every few pages.
static inline void make_irregular(struct points *points, uint32_t count,
                                  uint32_t seed) {
    esk_key key = 5;
    uint32_t step = 100;
    points->count = count;
    for (uint32_t i = 0; i < count; i++) {
        points->key[i] = key;
        points->position[i] = i;
        if (test_random(&seed) % 7 == 0) {
            step = 1 + test_random(&seed) % 5000;
        }
        key += step + test_random(&seed) % (step + 1);
    }
}

#endif
