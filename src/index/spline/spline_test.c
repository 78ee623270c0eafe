// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Lookups: the targets on the sensor sets, the error bound, room.
#include "index/spline/spline_array.h"

#include "test/harness/spline_log.h"

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
        int nodes = log_find(log, test_keys[i], &hit);
        int64_t off = (int64_t)hit.position - (int64_t)(i / ROWS_A_PAGE);
        int reads = nodes + 1 + (int)(off < 0 ? -off : off);
        ESK_CHECK(nodes >= 0);
        mean += reads;
        max = reads > max ? reads : max;
    }
    mean /= rows;
    if (getenv("ESK_TEST_VERBOSE") != NULL) {
        printf("%-9s %4u B error %2u/16 entries %3u+%2u+%u saves %3u+%u: "
               "mean %.3f max %d; first keys mean %.3f max %d\n",
               target->name, target->bytes, log->spline.error_16ths,
               log->spline.level.count, log->spline.nodes.level[0].count,
               log->spline.nodes.level[1].count, log->saves[0], log->saves[1],
               mean, max, points.mean, points.max);
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
        ESK_CHECK(result.nodes_max <= (bytes[i] < 100 ? 2 : 1));
        ESK_CHECK(result.max <= result.nodes_max + 2);
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
        ESK_CHECK_INT(result.nodes_max, 0);
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
    ESK_CHECK(result.mean < 1.4 && result.nodes_max == 0);
}
#endif

ESK_TEST(spline_finds_nothing_below_the_oldest_key) {
    uint32_t found = 9;
    esk_key key;
    uint32_t position;
    log_init(&test_log, 256, 4, 0);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 5, &found), ESK_NOT_FOUND);
    ESK_CHECK(!esk_spline_last(&test_log.spline, &key, &position));
    log_add(&test_log, 100, 3);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 99, &found), ESK_NOT_FOUND);
    ESK_CHECK_INT(found, 9);
    ESK_CHECK_INT(esk_spline_find(&test_log.spline, 100, &found), ESK_OK);
    ESK_CHECK_INT(found, 3);
    ESK_CHECK(esk_spline_last(&test_log.spline, &key, &position));
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
    ESK_CHECK(esk_spline_last(&test_log.spline, &key, &position));
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
    ESK_CHECK(result.nodes_max >= 1);
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
            ESK_CHECK_INT(hit.position, position);
            int reads = log_find(&test_log, 10, &hit);
            ESK_CHECK(reads < 0 || hit.position == 5);
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
    ESK_CHECK_INT(knots, test_log.spline.level.count);
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
        while (spline->level.count < 70) {
            log_add(&test_log, test_points.key[next], next);
            next++;
        }
        log_save(&test_log, 0); /* before it is full, while the bound is low */
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

ESK_TEST(spline_without_nodes_ends_before_their_fields) {
    struct esk_spline spline;
    uint8_t *nodes = (uint8_t *)&spline.nodes;
    uint8_t memory[64];
    memset(nodes, 0xA5, sizeof spline.nodes);
    make_irregular(&test_points, 3000, 71);
    esk_spline_init(&spline, memory, sizeof memory, 4, 0);
    for (uint32_t i = 0; i < test_points.count; i++) {
        while (esk_spline_add(&spline, test_points.key[i], i) == ESK_FULL) {
            esk_spline_ease(&spline);
        }
        esk_spline_trim(&spline, i / 2);
    }
    for (size_t i = 0; i < sizeof spline.nodes; i++) {
        ESK_CHECK_INT(nodes[i], 0xA5);
    }
}

ESK_TEST(spline_without_nodes_keeps_its_bound_at_a_gap) {
    struct esk_spline spline;
    uint8_t memory[256];
    uint32_t found = 0;
    int drops = 0;
    esk_spline_init(&spline, memory, sizeof memory, 4, 0);
    for (uint32_t key = 1; key < 10; key++) {
        ESK_CHECK_INT(esk_spline_add(&spline, key * key, key), ESK_OK);
    }
    uint8_t bound = spline.error_max;
    while (esk_spline_add(&spline, 200, 0x20000) == ESK_FULL) {
        esk_spline_ease(&spline);
        drops++;
    }
    ESK_CHECK(drops > 0);
    ESK_CHECK_INT(spline.error_max, bound);
    ESK_CHECK_INT(esk_spline_find(&spline, 200, &found), ESK_OK);
    ESK_CHECK_INT(found, 0x20000);
    ESK_CHECK_INT(esk_spline_find(&spline, 81, &found), ESK_NOT_FOUND);
}

/// Of 8-bit chips: what a comparison of products of 64 bits says.
ESK_TEST(spline_compares_slopes_with_short_rises_as_long_ones) {
    static const uint32_t rises[] = {0, 1, 16, 255, 256, 65535};
    static const uint32_t runs[] = {1, 300, 65535, 65536, 90001, UINT32_MAX};
    enum { COUNT = 6 };
    for (uint32_t i = 0; i < COUNT * COUNT * COUNT * COUNT; i++) {
        struct esk_spline_slope a = {runs[i % COUNT], rises[i / 6 % COUNT]};
        struct esk_spline_slope b = {runs[i / 36 % COUNT], rises[i / 216]};
        ESK_CONTEXT("case %u", i);
        ESK_CHECK_INT(esk_slopes_fall(&a, &b),
                      a.rise * (uint64_t)b.run > b.rise * (uint64_t)a.run);
    }
}

ESK_TEST_MAIN()
