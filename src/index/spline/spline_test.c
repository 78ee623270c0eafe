// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "index/spline/spline.h"

#include "base/bytes.h"
#include "test/harness/esk_test.h"

/* ------------------------------------------------- an index log in memory */

enum {
    PAGE_COUNT_MAX = 8192,
    SECTION_BYTES = 460,
    ROWS_A_PAGE = 31,
    RUN_PAGES = 50, ///< data pages an index page covers
};

/// What the series' index log does with an index page: a tile, or the knots
/// that are new; and what recovery needs to know.
struct index_page {
    uint8_t section[SECTION_BYTES];
    uint16_t count;
    bool is_tile;
    uint8_t error;
    uint32_t previous; ///< of a tile: the one closed before it
    uint32_t open[2];  ///< both levels' open tiles
    esk_key tip_key;
    uint32_t tip;
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

static void log_init(struct log *log, uint16_t bytes, uint8_t key_bytes,
                     uint8_t error) {
    memset(log, 0, sizeof *log);
    log->room =
        (uint16_t)(SECTION_BYTES / ESK_SPLINE_SECTION_ENTRY_BYTES(key_bytes));
    log->bytes = bytes;
    log->key_bytes = key_bytes;
    log->error = error;
    esk_spline_init(&log->spline, log->memory, bytes, key_bytes, error);
}

/// Ends a page: its place in the log and what the newest page knows.
static void log_write(struct log *log, struct index_page *page) {
    page->open[0] = log->spline.level[0].open_position;
    page->open[1] = log->spline.level[1].open_position;
    page->error = log->spline.error_16ths;
    esk_spline_tip(&log->spline, &page->tip_key, &page->tip);
    log->next++;
}

static void log_save(struct log *log, uint8_t level) {
    struct esk_spline *spline = &log->spline;
    const struct esk_spline_level *own = &spline->level[level];
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
    page->is_tile = true;
    page->count =
        esk_spline_save(spline, level, page->section, count, log->room);
    ESK_CHECK(page->count <= log->room && page->count > count);
    esk_spline_saved(spline, level, page->count, log->first + log->next);
    log_write(log, page);
    log->saves[level]++;
}

static void log_write_new(struct log *log) {
    struct index_page *page = &log->pages[log->next];
    ESK_CHECK(log->next < PAGE_COUNT_MAX);
    page->count = esk_spline_take_new(&log->spline, page->section, log->room);
    log_write(log, page);
    log->added = 0;
}

static void log_add(struct log *log, esk_key key, uint32_t position) {
    int status = esk_spline_add(&log->spline, key, position);
    for (int tries = 0; status == ESK_FULL; tries++) {
        ESK_CHECK(tries < 4);
        log_save(log, esk_spline_full_level(&log->spline));
        status = esk_spline_add(&log->spline, key, position);
    }
    ESK_CHECK_INT(status, ESK_OK);
    log->added++;
    if (log->added == RUN_PAGES) {
        log_write_new(log);
    }
}

/// Looks a key up down to its segment. Returns the tiles read, -1 when it is
/// not found.
static int log_find(struct log *log, esk_key key, struct esk_spline_hit *hit) {
    int reads = 0;
    int status = esk_spline_find(&log->spline, key, hit);
    while (status == ESK_OK && hit->level != 0) {
        uint32_t at = hit->position - log->first;
        uint8_t level = hit->level;
        ESK_CHECK(at < log->next && log->pages[at].is_tile);
        reads++;
        status = esk_spline_find_in(&log->spline, log->pages[at].section,
                                    log->pages[at].count, (uint8_t)(level - 1u),
                                    key, hit);
        ESK_CHECK(status != ESK_OK || hit->level < level);
    }
    return status == ESK_OK ? reads : -1;
}

/// Hands a tile to the spline. Returns whether it was taken up.
static bool log_restore_tile(struct log *log, uint8_t level, uint32_t position,
                             bool open) {
    const struct index_page *page = &log->pages[position - log->first];
    esk_spline_restore_error(&log->spline, page->error);
    return esk_spline_restore_tile(&log->spline, level, page->section,
                                   page->count, position, open);
}

/// Mounts: forgets RAM and builds it again from the pages from `tail` on.
static void log_mount(struct log *log, uint32_t tail) {
    const struct index_page *newest = &log->pages[log->next - 1u];
    struct esk_spline *spline = &log->spline;
    memset(log->memory, 0xA5, sizeof log->memory);
    esk_spline_init(spline, log->memory, log->bytes, log->key_bytes,
                    log->error);
    for (uint8_t level = 0; level < 2; level++) {
        if (newest->open[level] != ESK_SPLINE_NONE) {
            ESK_CHECK(log_restore_tile(log, level, newest->open[level], true));
        }
    }
    for (uint8_t level = 0; level < 2; level++) {
        uint32_t at = newest->open[level];
        while (at != ESK_SPLINE_NONE && at >= tail) {
            bool open = at == newest->open[level];
            if (!open && !log_restore_tile(log, level, at, false)) {
                break;
            }
            at = log->pages[at - log->first].previous;
        }
    }
    for (uint32_t i = 0; i < log->next; i++) {
        const struct index_page *page = &log->pages[i];
        esk_spline_restore_error(spline, page->error);
        for (uint16_t k = 0; !page->is_tile && k < page->count; k++) {
            struct esk_spline_entry knot;
            esk_spline_section_get(spline, page->section, k, &knot);
            esk_spline_restore_knot(spline, &knot);
        }
    }
    struct esk_spline_entry tip = {newest->tip_key, newest->tip};
    esk_spline_restore_tip(spline, &tip);
}

/* ------------------------------------------------------------------ points */

struct points {
    uint32_t count;
    esk_key key[20000];
    uint32_t position[20000];
};

static struct points test_points;

/// Every how many points check_points looks.
static uint32_t test_stride = 1;

struct result {
    double mean;
    int max;
    int tiles_max;
};

/// Checks every point and keys around it: the hit bounds the page, the
/// prediction is within the bound. Returns the reads a lookup costs.
static struct result check_points(struct log *log, const struct points *points,
                                  uint32_t from) {
    struct result result = {0, 0, 0};
    uint32_t looked = 0;
    uint32_t stride = test_stride;
    for (uint32_t i = from; i < points->count; i += stride) {
        if (i + 3 * stride >= points->count) {
            stride = 1; /* the newest ones all */
        }
        struct esk_spline_hit hit = {0, 0, 0, 0, 0};
        esk_key keys[3] = {points->key[i], points->key[i], points->key[i]};
        if (i + 1 < points->count) {
            keys[1] = points->key[i + 1] - 1u;
            keys[2] = points->key[i] + (points->key[i + 1] - keys[0]) / 2;
        }
        for (int k = 0; k < 3; k++) {
            int tiles = log_find(log, keys[k], &hit);
            uint32_t page = points->position[i];
            ESK_CONTEXT("%u bytes, point %u of %u, key %d %jx, page %u: %d "
                        "tiles, %u <= %u <= %u, bound %u",
                        log->bytes, i, points->count, k, (intmax_t)keys[k],
                        page, tiles, hit.low, hit.guess, hit.high,
                        log->spline.error_16ths);
            ESK_CHECK(tiles >= 0);
            ESK_CHECK(hit.low <= page && page <= hit.high);
            ESK_CHECK(hit.low <= hit.guess && hit.guess <= hit.high);
            int64_t off = (int64_t)hit.guess - (int64_t)page;
            int reads = tiles + 1 + (int)(off < 0 ? -off : off);
            if (k == 0) {
                int64_t bound = log->spline.error_16ths / 16 + 1;
                ESK_CHECK(off <= bound && -off <= bound);
            }
            result.mean += reads;
            looked++;
            result.max = reads > result.max ? reads : result.max;
            result.tiles_max =
                tiles > result.tiles_max ? tiles : result.tiles_max;
        }
    }
    result.mean /= looked == 0 ? 1 : looked;
    return result;
}

static void add_points(struct log *log, const struct points *points) {
    for (uint32_t i = 0; i < points->count; i++) {
        log_add(log, points->key[i], points->position[i]);
    }
}

static uint32_t test_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/// Gaps of many sizes: a key step that changes every few pages.
static void make_irregular(struct points *points, uint32_t count,
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

/* ---------------------------------------------------------------- the sets */

static FILE *data_open(const char *name) {
    const char *root = getenv("ESK_DATA");
    char path[512];
    snprintf(path, sizeof path, "%s/sensors/%s.i32x4",
             root != NULL ? root : "../shared/data", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        printf("skipped: no %s (set ESK_DATA)\n", path);
    }
    return file;
}

static esk_key test_keys[100001];

static uint32_t data_load(const char *name) {
    FILE *file = data_open(name);
    uint32_t rows = 0;
    uint8_t row[16];
    if (file == NULL) {
        return 0;
    }
    while (rows < 100000 && fread(row, sizeof row, 1, file) == 1) {
        test_keys[rows++] = esk_load_u32(row);
    }
    fclose(file);
    test_points.count = 0;
    for (uint32_t i = 0; i < rows; i += ROWS_A_PAGE) {
        test_points.key[test_points.count] = test_keys[i];
        test_points.position[test_points.count] = i / ROWS_A_PAGE;
        test_points.count++;
    }
    return rows;
}

struct target {
    const char *name;
    uint16_t bytes;
    uint8_t error;
    double mean_max;
    int max;
};

static void check_target(const struct target *target) {
    struct log *log = &test_log;
    uint32_t rows = data_load(target->name);
    if (rows == 0) {
        return;
    }
    log_init(log, target->bytes, 4, target->error);
    add_points(log, &test_points);
    struct result points = check_points(log, &test_points, 0);
    double mean = 0;
    int max = 0;
    for (uint32_t i = 0; i < rows; i++) {
        struct esk_spline_hit hit;
        int tiles = log_find(log, test_keys[i], &hit);
        int64_t off = (int64_t)hit.guess - (int64_t)(i / ROWS_A_PAGE);
        int reads = tiles + 1 + (int)(off < 0 ? -off : off);
        ESK_CHECK(tiles >= 0);
        mean += reads;
        max = reads > max ? reads : max;
    }
    mean /= rows;
    if (getenv("ESK_TEST_VERBOSE") != NULL) {
        printf("%-9s %4u B error %2u/16 entries %3u+%2u+%u saves %3u+%u: "
               "mean %.3f max %d; first keys mean %.3f max %d\n",
               target->name, target->bytes, log->spline.error_16ths,
               log->spline.level[0].count, log->spline.level[1].count,
               log->spline.level[2].count, log->saves[0], log->saves[1], mean,
               max, points.mean, points.max);
    }
    ESK_CONTEXT("%s, %u bytes: mean %.3f, max %d", target->name, target->bytes,
                mean, max);
    ESK_CHECK(mean <= target->mean_max);
    ESK_CHECK(max <= target->max);
}

ESK_TEST(spline_reaches_the_targets_on_the_sensor_sets) {
    const struct target targets[] = {
        {"uwa", 256, 0, 1.05, 3},    {"ethylene", 256, 0, 1.05, 3},
        {"watch", 2560, 0, 1.15, 3}, {"sea", 2560, 0, 1.20, 3},
        {"uwa", 128, 0, 2.1, 3},     {"ethylene", 128, 0, 2.1, 3},
        {"watch", 128, 0, 2.1, 3},   {"sea", 128, 0, 2.2, 3},
        {"watch", 256, 0, 2.1, 3},   {"sea", 256, 0, 2.15, 3},
        {"watch", 1024, 0, 2.1, 3},  {"watch", 2560, 8, 1.15, 3},
        {"watch", 4096, 0, 1.15, 3}, {"watch", 48, 0, 3.2, 4},
        {"sea", 48, 0, 3.2, 4},
    };
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        check_target(&targets[i]);
    }
}

/* ------------------------------------------------------------------ claims */

ESK_TEST(spline_finds_every_page_whatever_the_ram) {
    const uint16_t bytes[] = {48, 64, 128, 200, 256, 512, 2560, 8192};
    make_irregular(&test_points, 3000, 7);
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        log_init(&test_log, bytes[i], 4, 0);
        add_points(&test_log, &test_points);
        struct result result = check_points(&test_log, &test_points, 0);
        ESK_CHECK(result.tiles_max <= (bytes[i] < 100 ? 2 : 1));
        ESK_CHECK(result.max <= result.tiles_max + 2);
    }
}

ESK_TEST(spline_with_the_least_ram_finds_what_it_still_names) {
    const uint8_t widths[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 4; i++) {
        uint8_t width = widths[i];
        if (width > sizeof(esk_key)) {
            continue;
        }
        make_irregular(&test_points, width == 1 ? 60 : 2000, 3);
        for (uint32_t k = 0; k < test_points.count; k++) {
            esk_key key = width == 1 ? k * 4u : k * 30u;
            test_points.key[k] = width < 4 ? key : test_points.key[k];
        }
        log_init(&test_log, (uint16_t)ESK_SPLINE_BYTES_MIN(width), width, 0);
        add_points(&test_log, &test_points);
        check_points(&test_log, &test_points,
                     width < 4 ? 0 : test_points.count - 100);
        ESK_CHECK(esk_spline_entries(&test_log.spline) <= 4);
    }
}

ESK_TEST(spline_of_regular_keys_is_one_segment) {
    struct points *points = &test_points;
    points->count = 5000;
    for (uint32_t i = 0; i < points->count; i++) {
        points->key[i] = 1000 + i * 60;
        points->position[i] = 77 + i;
    }
    log_init(&test_log, 256, 4, 0);
    add_points(&test_log, points);
    struct result result = check_points(&test_log, points, 0);
    ESK_CHECK_INT(result.max, 1);
    ESK_CHECK_INT(esk_spline_entries(&test_log.spline), 1);
}

ESK_TEST(spline_takes_keys_from_zero_to_the_greatest) {
    const uint8_t widths[] = {1, 2, 4, 8};
    for (size_t i = 0; i < 4; i++) {
        uint8_t width = widths[i];
        if (width > sizeof(esk_key)) {
            continue;
        }
        esk_key max = (esk_key) ~(esk_key)0 >> (8 * (sizeof max - width));
        struct points *points = &test_points;
        points->count = 201;
        for (uint32_t k = 0; k < 100; k++) { /* both ends and one huge gap */
            points->key[k] = k;
            points->key[k + 101] = max - 99 + k;
        }
        points->key[100] = max / 2;
        for (uint32_t k = 0; k < 201; k++) {
            points->position[k] = k;
        }
        log_init(&test_log, 256, width, 0);
        add_points(&test_log, points);
        struct result result = check_points(&test_log, points, 0);
        ESK_CONTEXT("width %u: mean %.3f", width, result.mean);
        ESK_CHECK(result.mean < 1.4);
        ESK_CHECK_INT(result.tiles_max, 0);
    }
}

#if ESK_KEY_BITS == 64
ESK_TEST(spline_keeps_its_bound_on_spans_wider_than_32_bits) {
    struct points *points = &test_points;
    uint32_t seed = 9;
    esk_key key = 0;
    points->count = 4000;
    for (uint32_t i = 0; i < points->count; i++) {
        points->key[i] = key;
        points->position[i] = i;
        key += (UINT64_C(1) << 45) + ((uint64_t)test_random(&seed) << 12);
        if (i % 500 == 0) {
            key += UINT64_C(1) << 54;
        }
    }
    log_init(&test_log, 1024, 8, 0);
    add_points(&test_log, points);
    struct result result = check_points(&test_log, points, 0);
    ESK_CHECK(result.mean < 1.4 && result.tiles_max == 0);
}
#endif

ESK_TEST(spline_finds_nothing_below_the_oldest_key) {
    struct esk_spline_hit hit = {9, 9, 9, 9, 9};
    esk_key key;
    uint32_t position;
    log_init(&test_log, 256, 4, 0);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 5, &hit), ESK_NOT_FOUND);
    ESK_CHECK(!esk_spline_tip(&test_log.spline, &key, &position));
    log_add(&test_log, 100, 3);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 99, &hit), ESK_NOT_FOUND);
    ESK_CHECK_INT(hit.level, 9);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 100, &hit), ESK_OK);
    ESK_CHECK_INT(hit.guess, 3);
    ESK_CHECK(esk_spline_tip(&test_log.spline, &key, &position));
    ESK_CHECK_INT(key, 100);
    ESK_CHECK_INT(position, 3);
}

ESK_TEST(spline_ignores_points_that_do_not_rise) {
    esk_key key;
    uint32_t position;
    log_init(&test_log, 256, 4, 0);
    log_add(&test_log, 100, 3);
    log_add(&test_log, 100, 4);
    log_add(&test_log, 90, 5);
    log_add(&test_log, 110, 3);
    ESK_CHECK(esk_spline_tip(&test_log.spline, &key, &position));
    ESK_CHECK_INT(key, 100);
    ESK_CHECK_INT(position, 3);
}

ESK_TEST(spline_keeps_a_fixed_bound) {
    make_irregular(&test_points, 2000, 21);
    for (uint8_t error = 1; error <= 16; error++) {
        log_init(&test_log, 512, 4, error);
        add_points(&test_log, &test_points);
        ESK_CHECK_INT(test_log.spline.error_16ths, error);
        check_points(&test_log, &test_points, 0);
    }
}

ESK_TEST(spline_splits_segments_longer_than_16_bits_reach) {
    struct points *points = &test_points;
    points->count = 0;
    for (uint32_t i = 0; i < 19000; i++) {
        points->key[i] = i * 200;
        points->position[i] = i * 20;
        points->count++;
    }
    log_init(&test_log, 48, 4, 0);
    add_points(&test_log, points);
    struct result result = check_points(&test_log, points, 0);
    ESK_CHECK(test_log.saves[0] > 0);
    ESK_CHECK(result.tiles_max >= 1);
}

ESK_TEST(spline_survives_a_leap_of_positions) {
    const uint32_t leaps[] = {0x7FFE, 0x8000, 0xFFFF, 0x10000, 0x12345678};
    for (size_t i = 0; i < sizeof leaps / sizeof leaps[0]; i++) {
        for (uint32_t before = 1; before < 4; before++) {
            uint32_t position = 5;
            esk_key key = 10;
            struct esk_spline_hit hit;
            log_init(&test_log, 48, 4, 0);
            for (uint32_t k = 0; k < before; k++) {
                log_add(&test_log, key, position);
                key += 7 + k * k * 50;
                position++;
            }
            position += leaps[i];
            log_add(&test_log, key, position);
            log_add(&test_log, key + 10, position + 1);
            ESK_CONTEXT("leap %x after %u", leaps[i], before);
            ESK_CHECK(log_find(&test_log, key + 3, &hit) >= 0);
            ESK_CHECK(hit.low <= position && position <= hit.high);
            int reads = log_find(&test_log, 10, &hit);
            ESK_CHECK(reads < 0 || (hit.low <= 5 && 5 <= hit.high));
        }
    }
}

ESK_TEST(spline_writes_every_knot_once_before_it_is_saved) {
    make_irregular(&test_points, 1500, 17);
    log_init(&test_log, 8192, 4, 2);
    add_points(&test_log, &test_points);
    log_write_new(&test_log);
    esk_key last = 0;
    uint16_t knots = 0;
    for (uint32_t i = 0; i < test_log.next; i++) {
        for (uint16_t k = 0; k < test_log.pages[i].count; k++) {
            struct esk_spline_entry knot;
            esk_spline_section_get(&test_log.spline, test_log.pages[i].section,
                                   k, &knot);
            ESK_CHECK(knot.key > last);
            last = knot.key;
            knots++;
        }
    }
    ESK_CHECK_INT(knots, test_log.spline.level[0].count);
    ESK_CHECK_INT(
        esk_spline_take_new(&test_log.spline, test_log.pages[0].section, 10),
        0);
}

ESK_TEST(spline_thins_around_what_is_saved_already) {
    for (uint16_t save = 5; save < 57; save = (uint16_t)(save + 3)) {
        uint32_t next = 0;
        make_irregular(&test_points, 1200, 43);
        log_init(&test_log, 512, 4, 0);
        test_log.room = save;
        struct esk_spline *spline = &test_log.spline;
        while (spline->level[0].count < 70) {
            log_add(&test_log, test_points.key[next], next);
            next++;
        }
        log_save(&test_log, 0); /* unasked, while the bound is low */
        ESK_CHECK_INT(spline->error_16ths, ESK_SPLINE_ERROR_MIN_16THS);
        while (test_log.saves[0] == 1 && next < 1200) {
            log_add(&test_log, test_points.key[next], next);
            next++;
            test_points.count = next;
            if (spline->error_16ths > ESK_SPLINE_ERROR_MIN_16THS) {
                test_stride = 11;
                check_points(&test_log, &test_points, 0);
                test_stride = 1;
            }
            test_points.count = 1200;
        }
    }
}

ESK_TEST(spline_thins_across_a_leap) {
    struct points *points = &test_points;
    make_irregular(points, 900, 47);
    for (uint32_t i = 0; i < points->count; i++) {
        points->position[i] += (i >= 5 ? 40000u : 0) + (i >= 9 ? 3u : 0);
    }
    log_init(&test_log, 256, 4, 0);
    for (uint32_t i = 0; i < points->count; i++) {
        log_add(&test_log, points->key[i], points->position[i]);
    }
    check_points(&test_log, points, 0);
    ESK_CHECK_INT(test_log.spline.error_16ths, ESK_SPLINE_ERROR_MAX_16THS);
}

/* -------------------------------- what leaves RAM and comes back */

/// Where an index page stands that was written when no data page from
/// `data_tail` on existed yet: those pages may be gone with the data.
static uint32_t log_tail(const struct log *log, uint32_t data_tail) {
    uint32_t at = 0;
    while (at + 1u < log->next && log->pages[at].tip < data_tail) {
        at++;
    }
    return log->first + at;
}

ESK_TEST(spline_drops_the_oldest_when_nothing_can_be_saved) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 3000, 11);
    log_init(&test_log, 64, 4, 0);
    int drops = 0;
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(spline, test_points.key[i], i) == ESK_FULL) {
            esk_spline_drop(spline);
            drops++;
        }
    }
    ESK_CHECK(drops > 100);
    ESK_CHECK(esk_spline_entries(spline) * 6u <= spline->bytes);
    struct esk_spline_hit hit;
    ESK_CHECK_INT(esk_spline_find(spline, 5, &hit), ESK_NOT_FOUND);
    check_points(&test_log, &test_points, test_points.count - 10);
    /* Saves work again, and a directory that cannot be saved drops too. */
    log_init(&test_log, 48, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(spline, test_points.key[i], i) == ESK_FULL) {
            if (esk_spline_full_level(spline) == 0) {
                log_save(&test_log, 0);
            } else {
                esk_spline_drop(spline);
            }
        }
    }
    check_points(&test_log, &test_points, test_points.count - 10);
}

ESK_TEST(spline_drops_a_last_knot_only_by_name) {
    struct esk_spline *spline = &test_log.spline;
    uint32_t position = 0;
    log_init(&test_log, 48, 4, 0);
    ESK_CHECK_INT(esk_spline_add(spline, 10, position), ESK_OK);
    /* 65,536 pages on: the first knot must go and cannot be saved. */
    ESK_CHECK_INT(esk_spline_add(spline, 20, 0x10000), ESK_FULL);
    ESK_CHECK_INT(esk_spline_full_level(spline), 0);
    esk_spline_drop(spline);
    ESK_CHECK_INT(esk_spline_add(spline, 20, 0x10000), ESK_OK);
    struct esk_spline_hit hit;
    ESK_CHECK_INT(esk_spline_find(spline, 20, &hit), ESK_OK);
    ESK_CHECK_INT(hit.guess, 0x10000);
    ESK_CHECK_INT(esk_spline_find(spline, 10, &hit), ESK_NOT_FOUND);
}

ESK_TEST(spline_trims_what_the_rings_have_dropped) {
    const uint16_t bytes[] = {48, 64, 128, 512, 2560};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        uint32_t seed = 77;
        make_irregular(&test_points, 4000, 13);
        uint32_t all = test_points.count;
        log_init(&test_log, bytes[i], 4, 0);
        test_log.first = 1000;
        for (uint32_t k = 0; k < all; k++) {
            log_add(&test_log, test_points.key[k], k);
            uint32_t tail = k > 900 ? k - 900 : 0;
            if (test_random(&seed) % 50 == 0) {
                uint32_t index = log_tail(&test_log, tail);
                esk_spline_trim(&test_log.spline, tail, index);
                test_points.count = k + 1;
                test_stride = 5;
                check_points(&test_log, &test_points, tail);
                test_stride = 1;
            }
        }
        /* All of it goes but the last knot. */
        esk_spline_trim(&test_log.spline, all, UINT32_MAX - 1);
        ESK_CHECK_INT(esk_spline_entries(&test_log.spline), 1);
        ESK_CHECK_INT(test_log.spline.level[0].open_count, 0);
        ESK_CHECK(test_log.spline.level[0].closed_position == ESK_SPLINE_NONE);
        log_add(&test_log, test_points.key[all - 1] + 9, all);
    }
}

ESK_TEST(spline_trim_between_save_and_saved_is_harmless) {
    uint8_t section[SECTION_BYTES];
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 400, 19);
    log_init(&test_log, 2560, 4, 2);
    add_points(&test_log, &test_points);
    uint16_t unsaved = esk_spline_unsaved(spline, 0);
    ESK_CHECK(unsaved > 20);
    uint16_t count = esk_spline_save(spline, 0, section, 0, 10);
    ESK_CHECK_INT(count, 10);
    esk_spline_saved(spline, 0, count, 5);
    count = esk_spline_save(spline, 0, section, 10, 20);
    ESK_CHECK_INT(count, 20);
    esk_spline_trim(spline, 400, 6); /* the open tile goes, and all knots */
    esk_spline_saved(spline, 0, count, 7);
    ESK_CHECK_INT(spline->level[0].open_position, 7);
    ESK_CHECK_INT(spline->level[1].count, 1);
    ESK_CHECK_INT(spline->level[0].saved, spline->level[0].count);
}

ESK_TEST(spline_mounts_to_what_it_was_at_every_index_page) {
    const uint16_t bytes[] = {48, 64, 128, 256, 2560};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        for (uint32_t kind = 0; kind < 3; kind++) {
            make_irregular(&test_points, 3000, 23 + kind);
            uint32_t all = test_points.count;
            log_init(&test_log, bytes[i], 4, kind == 2 ? 3 : 0);
            test_log.first = 400;
            for (uint32_t k = 0; k < all; k++) {
                log_add(&test_log, test_points.key[k], k);
                bool at_page = test_log.added == 0;
                if (kind == 1 && k % 300 == 299 &&
                    esk_spline_unsaved(&test_log.spline, 0) != 0) {
                    log_save(&test_log, 0); /* now and then, unasked */
                    at_page = true;
                }
                if (!at_page || (k / RUN_PAGES) % 7 != 3) {
                    continue;
                }
                uint32_t tail = k > 1200 ? k - 1200 : 0;
                uint32_t index = log_tail(&test_log, tail);
                log_mount(&test_log, index);
                esk_spline_trim(&test_log.spline, tail, index);
                test_points.count = k + 1;
                test_stride = 7;
                if (bytes[i] >= 128) {
                    check_points(&test_log, &test_points, tail);
                } else {
                    check_points(&test_log, &test_points,
                                 k > 100 ? k - 100 : 0);
                }
                test_stride = 1;
            }
            test_points.count = all;
            check_points(&test_log, &test_points, all - 100);
        }
    }
}

ESK_TEST(spline_restore_takes_more_knots_than_ram_holds) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 6000, 29);
    log_init(&test_log, 48, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        struct esk_spline_entry knot = {test_points.key[i], i};
        esk_spline_restore_knot(spline, &knot);
    }
    ESK_CHECK(esk_spline_entries(spline) * 6u <= spline->bytes);
    struct esk_spline_entry low = {7, 9000}; /* below the newest: ignored */
    esk_spline_restore_knot(spline, &low);
    struct esk_spline_hit hit;
    uint32_t last = test_points.count - 1;
    ESK_CHECK_INT(esk_spline_find(spline, test_points.key[last], &hit), ESK_OK);
    ESK_CHECK_INT(hit.guess, last);
}

ESK_TEST(spline_restore_refuses_tiles_out_of_order) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[SECTION_BYTES];
    make_irregular(&test_points, 3000, 31);
    log_init(&test_log, 128, 4, 0);
    add_points(&test_log, &test_points);
    uint32_t open = spline->level[0].open_position;
    uint32_t closed = spline->level[0].closed_position;
    uint32_t older = test_log.pages[closed].previous;
    uint32_t oldest = test_log.pages[older].previous;
    esk_spline_init(spline, test_log.memory, 128, 4, 0);
    ESK_CHECK(!esk_spline_restore_tile(spline, 0, section, 0, 5, true));
    ESK_CHECK(log_restore_tile(&test_log, 0, open, true));
    ESK_CHECK(!log_restore_tile(&test_log, 0, open, false)); /* known */
    ESK_CHECK(log_restore_tile(&test_log, 0, older, false));
    ESK_CHECK(!log_restore_tile(&test_log, 0, closed, false));
    ESK_CHECK_INT(spline->level[0].closed_position, older);
    /* Positions that fall with rising keys, or are out of reach. */
    const struct index_page *page = &test_log.pages[oldest];
    ESK_CHECK(!esk_spline_restore_tile(spline, 0, page->section, page->count,
                                       open + 1, false));
    ESK_CHECK(!esk_spline_restore_tile(spline, 0, page->section, page->count,
                                       open - 0x10000, false));
    /* Entries that do not rise are left. */
    memset(section, 0, sizeof section);
    esk_spline_init(spline, test_log.memory, 128, 4, 0);
    ESK_CHECK(esk_spline_restore_tile(spline, 0, section, 20, 5, true));
    ESK_CHECK_INT(spline->level[0].count, 1);
}

ESK_TEST(spline_find_in_survives_hostile_tiles) {
    uint32_t seed = 41;
    log_init(&test_log, 128, 4, 0);
    make_irregular(&test_points, 300, 37);
    add_points(&test_log, &test_points);
    esk_key tip_key;
    uint32_t tip;
    esk_spline_tip(&test_log.spline, &tip_key, &tip);
    for (int i = 0; i < 20000; i++) {
        uint8_t section[SECTION_BYTES];
        struct esk_spline_hit hit;
        for (size_t k = 0; k < sizeof section; k++) {
            section[k] = (uint8_t)test_random(&seed);
            if (i % 2 == 0 && k % 8 >= 5) {
                section[k] = 0; /* positions that may be in range */
            }
        }
        esk_key key = test_random(&seed) << 8;
        uint16_t count = (uint16_t)(test_random(&seed) % 58);
        if (esk_spline_find_in(&test_log.spline, section, count, 0, key,
                               &hit) == ESK_OK) {
            ESK_CHECK_INT(hit.level, 0);
            ESK_CHECK(hit.low <= hit.guess && hit.guess <= hit.high &&
                      hit.high <= tip);
        }
    }
}

ESK_TEST(spline_forgets_the_oldest_top_entry_when_all_is_saved) {
    make_irregular(&test_points, 6000, 53);
    log_init(&test_log, 34, 4, 2);
    test_log.room = 4; /* small tiles, so that there are many */
    add_points(&test_log, &test_points);
    ESK_CHECK(test_log.saves[1] > 20);
    check_points(&test_log, &test_points, test_points.count - 2);
    struct esk_spline_hit hit;
    ESK_CHECK_INT(log_find(&test_log, 5, &hit), -1);
    /* The same, and then the medium refuses. */
    log_init(&test_log, 28, 4, 2);
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(&test_log.spline, test_points.key[i], i) ==
               ESK_FULL) {
            if (i < 200) {
                log_save(&test_log, esk_spline_full_level(&test_log.spline));
            } else {
                esk_spline_drop(&test_log.spline);
            }
        }
    }
    check_points(&test_log, &test_points, test_points.count - 2);
}

ESK_TEST(spline_mounts_with_less_ram_than_before) {
    make_irregular(&test_points, 6000, 59);
    log_init(&test_log, 200, 4, 2);
    add_points(&test_log, &test_points);
    log_write_new(&test_log);
    const uint16_t bytes[] = {160, 100, 64, 48, 34, 28};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++) {
        test_log.bytes = bytes[i];
        log_mount(&test_log, 0);
        uint16_t used = (uint16_t)(esk_spline_entries(&test_log.spline) * 6u +
                                   (test_log.spline.level[1].count +
                                    test_log.spline.level[2].count) *
                                       2u);
        ESK_CHECK(used <= bytes[i]);
        uint32_t bound = test_log.spline.error_16ths;
        ESK_CONTEXT("%u bytes, bound %u", bytes[i], bound);
        struct esk_spline_hit hit;
        uint32_t last = test_points.count - 1;
        ESK_CHECK_INT(log_find(&test_log, test_points.key[last], &hit), 0);
        ESK_CHECK_INT(hit.guess, last);
        for (uint32_t k = 0; k < test_points.count; k++) {
            if (log_find(&test_log, test_points.key[k], &hit) >= 0) {
                ESK_CHECK(hit.low <= k && k <= hit.high);
            }
        }
    }
}

ESK_TEST(spline_reads_tiles_when_no_knot_is_in_ram) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[SECTION_BYTES];
    struct esk_spline_hit hit;
    make_irregular(&test_points, 3000, 61);
    log_init(&test_log, 128, 4, 0);
    add_points(&test_log, &test_points);
    for (uint32_t i = 1; spline->fresh < 2; i++) {
        uint32_t last = test_points.count - 1;
        log_add(&test_log, test_points.key[last] + i * i * i, last + i);
    }
    ESK_CHECK_INT(esk_spline_take_new(spline, section, 1), 1);
    uint32_t closed = spline->level[0].closed_position;
    const struct index_page *page = &test_log.pages[closed];
    esk_spline_init(spline, test_log.memory, 128, 4, 0);
    ESK_CHECK(log_restore_tile(&test_log, 0, closed, false));
    struct esk_spline_entry knot;
    esk_spline_section_get(spline, page->section, 3, &knot);
    ESK_CHECK_INT(esk_spline_find(spline, knot.key, &hit), ESK_OK);
    ESK_CHECK_INT(hit.level, 1);
    ESK_CHECK_INT(hit.position, closed);
    ESK_CHECK_INT(
        esk_spline_find_in(spline, page->section, page->count, 0, knot.key, &hit),
        ESK_OK);
    ESK_CHECK(hit.low <= hit.high);
    ESK_CHECK_INT(
        esk_spline_find_in(spline, page->section, page->count, 0, 0, &hit),
        ESK_NOT_FOUND);
    /* A newer tile must be at a newer place. */
    memcpy(section, page->section, sizeof section);
    section[3] = 0xFF;
    ESK_CHECK(!esk_spline_restore_tile(spline, 0, section, 5, closed, false));
    spline->level[1].saved = 1;
    ESK_CHECK(!esk_spline_restore_tile(spline, 0, section, 5, closed, false));
    ESK_CHECK(
        esk_spline_restore_tile(spline, 0, section, 5, closed + 1, false));
}

ESK_TEST(spline_restore_takes_copies_of_closed_tiles_that_join) {
    struct esk_spline *spline = &test_log.spline;
    make_irregular(&test_points, 600, 67);
    log_init(&test_log, 4096, 4, 2);
    test_log.room = 10;
    for (uint32_t i = 0; i < test_points.count; i++) {
        log_add(&test_log, test_points.key[i], i);
        if (i % 40 == 39) {
            while (esk_spline_unsaved(spline, 0) > 0) {
                log_save(&test_log, 0);
            }
            log_write_new(&test_log);
        }
    }
    uint16_t before = spline->level[0].count;
    log_mount(&test_log, 0);
    ESK_CHECK(spline->level[0].count >= before); /* and maybe the tip */
    check_points(&test_log, &test_points, 0);
    /* A closed tile whose entries do not rise gives those that do. */
    uint32_t open = spline->level[0].open_position;
    uint32_t closed = test_log.pages[open].previous;
    struct index_page *page = &test_log.pages[closed];
    uint16_t count = test_log.pages[open].count;
    const uint32_t positions[] = {599, 0xFFFF0000};
    for (int i = 0; i < 2; i++) {
        uint8_t *entry = page->section + 8 * (page->count - 2);
        esk_store_u32(entry + 4, positions[i]);
        esk_spline_init(spline, test_log.memory, 4096, 4, 2);
        ESK_CHECK(log_restore_tile(&test_log, 0, open, true));
        ESK_CHECK(log_restore_tile(&test_log, 0, closed, false));
        ESK_CHECK_INT(spline->level[0].count, count);
    }
    memset(page->section + 8 * (page->count - 2), 0xFF, 4);
    esk_spline_init(spline, test_log.memory, 4096, 4, 2);
    ESK_CHECK(log_restore_tile(&test_log, 0, open, true));
    ESK_CHECK(log_restore_tile(&test_log, 0, closed, false));
    ESK_CHECK_INT(spline->level[0].count, count);
}

ESK_TEST(spline_restore_leaves_copies_out_of_reach) {
    struct esk_spline *spline = &test_log.spline;
    uint8_t section[3 * 8];
    const esk_key keys[] = {10, 20, 30, 40};
    const uint32_t positions[] = {1, 70000, 130000, 190000};
    log_init(&test_log, 256, 4, 2);
    for (uint32_t i = 0; i < 2; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            esk_store_u32(section + 8 * k, (uint32_t)keys[1 - i + k]);
            esk_store_u32(section + 8 * k + 4, positions[1 - i + k]);
        }
        ESK_CHECK(
            esk_spline_restore_tile(spline, 0, section, 2, 9 - i, i == 0));
    }
    ESK_CHECK_INT(spline->level[0].count, 2);
    ESK_CHECK_INT(spline->level[1].count, 2);
}

ESK_TEST_MAIN()
