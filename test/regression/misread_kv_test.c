// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// An open of a kv table with an index reads the heads of replaced records,
/// which no checksum covers: one wrong read left wrong counts of keys and
/// bytes, and a check then reported a lost key. The open of a bare store takes
/// the seed of its checksums from a head that it cannot check yet: one wrong
/// read made it ESK_E_FOREIGN, or a new store.
///
/// Here each read of an open is wrong once.
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

#include "port/sim/sim.h"

enum { KEYS = 40, ROUNDS = 6 };

static const enum read_failure ways[] = {READ_FLIPPED, READ_ERASED,
                                         READ_CORRUPT};

enum { WAYS = sizeof ways / sizeof ways[0] };

static struct esk_sim *sim;
static struct esk_device medium;
static struct esk_volume volume;
static struct esk_kv *kv;
static uint64_t arena[4096];

static void sim_make(const struct esk_geometry *geometry) {
    const struct esk_sim_config part = {.geometry = *geometry, .seed = 2};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &part), ESK_OK);
    failing_device_make(&medium, esk_sim_device(sim));
}

/// Opens it, with read number `read` wrong. Returns whether one was.
static bool open_wrong(int (*open)(void), uint32_t read, enum read_failure how,
                       int *status) {
    fail_from(read, 0, how);
    *status = open();
    return fail_end();
}

static int table_open(void) {
    static const struct esk_kv_config config = {.keys = 80,
                                                .part = &esk_kv_part_index};
    ESK_TRY(esk_volume_mount(&volume, &medium, 0, arena, sizeof arena));
    return esk_kv_open(&kv, &volume, "map", &config);
}

ESK_TEST(a_wrong_read_of_an_open_leaves_the_counts_of_an_index_right) {
    static const struct esk_geometry geometry = ESK_NOR(40, 16, 256);
    static const struct esk_volume_config format = {.tables_max = 2};
    static const struct esk_kv_spec spec = {
        .name = "map", .blocks = 12, .index_keys = 200};
    sim_make(&geometry);
    ESK_CHECK_INT(esk_volume_format(&medium, &format, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, &medium, 0, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_kv_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(table_open(), ESK_OK);
    for (uint32_t i = 0; i < KEYS * ROUNDS; i++) {
        uint32_t key = i % KEYS;
        uint8_t value[12] = {(uint8_t)i};
        ESK_CHECK_INT(esk_kv_put(kv, &key, sizeof key, value, sizeof value, 0),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
    struct esk_kv_stats right;
    esk_kv_stats(kv, &right);
    for (unsigned way = 0; way < WAYS; way++) {
        bool failed = true;
        for (uint32_t read = 1; failed; read++) {
            struct esk_kv_stats stats;
            struct esk_kv_report report;
            int status = ESK_OK;
            ESK_CONTEXT("way %u, read %u", way, (unsigned)read);
            failed = open_wrong(table_open, read, ways[way], &status);
            ESK_CHECK_INT(status, ESK_OK);
            esk_kv_stats(kv, &stats);
            ESK_CHECK_INT(stats.keys, KEYS);
            ESK_CHECK_INT(stats.live_bytes, right.live_bytes);
            ESK_CHECK_INT(esk_kv_check(kv, &report), ESK_OK);
        }
    }
}

static uint32_t store_id;

static int store_open(void) {
    static const struct esk_kv_config config = {.keys = 20};
    const struct esk_kv_bare bare = {.id = store_id};
    return esk_kv_open_bare(&kv, &volume, &medium, 0, &bare, &config, arena,
                            sizeof arena);
}

ESK_TEST(a_wrong_read_of_an_open_does_not_hide_a_bare_store) {
    static const struct esk_geometry geometry = ESK_NOR(3, 8, 128);
    for (unsigned way = 0; way < WAYS; way++) {
        bool failed = true;
        for (uint32_t read = 1; failed; read++) {
            uint32_t value = 0;
            int status = ESK_OK;
            ESK_CONTEXT("way %u, read %u", way, (unsigned)read);
            sim_make(&geometry);
            store_id = 5;
            ESK_CHECK_INT(store_open(), ESK_OK);
            ESK_CHECK_INT(esk_kv_put_u32(kv, "a", 7), ESK_OK);
            ESK_CHECK_INT(esk_kv_sync(kv), ESK_OK);
            store_id = 6; /* the store keeps its own */
            failed = open_wrong(store_open, read, ways[way], &status);
            ESK_CHECK_INT(status, ESK_OK);
            ESK_CHECK_INT(esk_kv_get_u32(kv, "a", &value), ESK_OK);
            ESK_CHECK_INT(value, 7);
        }
    }
}

ESK_TEST(a_wrong_read_of_an_open_makes_no_blank_device_foreign) {
    static const struct esk_geometry geometry = ESK_NOR(3, 8, 128);
    for (unsigned way = 0; way < WAYS; way++) {
        bool failed = true;
        for (uint32_t read = 1; failed; read++) {
            int status = ESK_OK;
            ESK_CONTEXT("way %u, read %u", way, (unsigned)read);
            sim_make(&geometry);
            failed = open_wrong(store_open, read, ways[way], &status);
            ESK_CHECK_INT(status, ESK_OK);
        }
    }
}

ESK_TEST_MAIN()
