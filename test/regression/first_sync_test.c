// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A program ends without a sync, and the next one finds its changes: a driver
/// may still cache them. The first sync after an open made nothing durable when
/// that program had changed nothing itself: of a kv table on all media, of a
/// series where pages are not overwritten.
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"

enum { ROWS = 300 };

static const struct esk_geometry media[] = {
    ESK_NOR(80, 8, 256), ESK_NAND(80, 8, 512), ESK_CARD(80, 8, 512)};

enum { MEDIA = sizeof media / sizeof media[0] };

static const struct esk_column columns[] = {
    {.name = "at", .type = ESK_TYPE_U32}, {.name = "x", .type = ESK_TYPE_U32}};

#define COLUMNS .columns = columns, .column_count = 2, .row_bytes = 8

static const struct esk_series_spec series_spec = {
    .table = {.name = "log", COLUMNS}, .data_blocks = 12};
static const struct esk_tree_spec tree_spec = {
    .table = {.name = "tree", COLUMNS},
    .blocks = 12,
    .store = ESK_STORE_WANDERING};
static const struct esk_kv_spec kv_spec = {.name = "kv", .blocks = 8};
static const struct esk_kv_config kv_config = {.keys = 400};
static const struct esk_tree_config tree_config = {.store =
                                                       &esk_store_wandering};

static struct esk_sim *sim;
static struct esk_volume volume;
static struct esk_series *series;
static struct esk_tree *tree;
static struct esk_kv *kv;
static uint64_t arena[8192];

static void mount(void) {
    memset(&volume, 0x5A, sizeof volume);
    ESK_CHECK_INT(
        esk_volume_mount(&volume, esk_sim_device(sim), 0, arena, sizeof arena),
        ESK_OK);
}

static void start(const struct esk_geometry *geometry) {
    static const struct esk_volume_config format = {.uuid = {1}};
    const struct esk_sim_config part = {.geometry = *geometry, .seed = 1};
    ESK_CHECK_INT(esk_sim_create(&sim, &part), ESK_OK);
    ESK_CHECK_INT(
        esk_volume_format(esk_sim_device(sim), &format, arena, sizeof arena),
        ESK_OK);
    mount();
}

/// Checks that the sync that returns `status` is one of the medium.
static void sync_verify(int (*sync)(void), uint64_t syncs) {
    uint64_t before = esk_sim_counters(sim)->syncs;
    ESK_CHECK_INT(sync(), ESK_OK);
    ESK_CHECK_INT(esk_sim_counters(sim)->syncs - before, syncs);
}

static int series_sync(void) {
    return esk_series_sync(series);
}

static int tree_sync(void) {
    return esk_tree_sync(tree);
}

static int kv_sync(void) {
    return esk_kv_sync(kv);
}

ESK_TEST(first_sync_of_a_series_after_an_open_is_one_of_the_medium) {
    for (int m = 0; m < MEDIA; m++) {
        uint32_t row[2];
        ESK_CONTEXT("medium %d", m);
        start(&media[m]);
        ESK_CHECK_INT(esk_series_create(&volume, &series_spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
        for (row[0] = 1; row[0] <= ROWS; row[0]++) {
            row[1] = row[0];
            ESK_CHECK_INT(esk_series_append(series, row), ESK_OK);
        }
        mount();
        ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
        sync_verify(series_sync, 1);
        sync_verify(series_sync, 0);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(so_is_that_of_a_tree) {
    for (int m = 0; m < MEDIA; m++) {
        uint32_t row[2];
        ESK_CONTEXT("medium %d", m);
        start(&media[m]);
        ESK_CHECK_INT(esk_tree_create(&volume, &tree_spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_tree_open(&tree, &volume, "tree", &tree_config),
                      ESK_OK);
        for (row[0] = 1; row[0] <= ROWS; row[0]++) {
            row[1] = row[0];
            ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
        }
        mount();
        ESK_CHECK_INT(esk_tree_open(&tree, &volume, "tree", &tree_config),
                      ESK_OK);
        sync_verify(tree_sync, 1);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(so_is_that_of_a_kv_table) {
    for (int m = 0; m < MEDIA; m++) {
        ESK_CONTEXT("medium %d", m);
        start(&media[m]);
        ESK_CHECK_INT(esk_kv_create(&volume, &kv_spec, NULL), ESK_OK);
        ESK_CHECK_INT(esk_kv_open(&kv, &volume, "kv", &kv_config), ESK_OK);
        for (uint32_t key = 0; key < ROWS; key++) {
            ESK_CHECK_INT(esk_kv_put(kv, &key, sizeof key, &key, sizeof key, 0),
                          ESK_OK);
        }
        mount();
        ESK_CHECK_INT(esk_kv_open(&kv, &volume, "kv", &kv_config), ESK_OK);
        sync_verify(kv_sync, 1);
        sync_verify(kv_sync, 0);
        esk_sim_destroy(sim);
    }
}

ESK_TEST_MAIN()
