// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A mount whose reads failed for a while took unreadable pages for erased: it
/// found an old head, and the next rows overwrote others.
///
/// Here each read of a mount and open fails: alone, with some after it, and
/// with all after it. Then the mount or open returns an error, or the table is
/// complete; and later rows are written after the existing ones.
#include "table/series/series.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/fixture.h"
#include "test/harness/media.h"
#include "test/harness/model_series.h"
#include "test/harness/tree_fixture.h"

enum { ROWS_MORE = 30 };

/// Reads that fail after the first one.
static const uint32_t bursts[] = {0, 1, 2, 3, 9, 40, UINT32_MAX};

enum { BURSTS = sizeof bursts / sizeof bursts[0] };

struct series_case {
    const char *name;
    struct esk_geometry geometry;
    struct esk_model_series_table table;
    uint32_t rows;
};

static const struct series_case series_cases[] = {
    {.name = "nor without marks",
     .geometry = ESK_NOR(70, 8, 256),
     .table = {.no_marks = true,
               .index_count = 1,
               .pad_bytes = 30,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 8,
               .index_blocks = 6},
     .rows = 500},
    {.name = "nor with values",
     .geometry = ESK_NOR(80, 8, 256),
     .table = {.no_marks = true,
               .has_var = true,
               .value_bytes = 60,
               .index_count = 1,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 8,
               .index_blocks = 6,
               .var_blocks = 10},
     .rows = 500},
    {.name = "nor whose descriptors take many pages",
     .geometry = ESK_NOR(150, 4, 128),
     .table = {.wide_key = true,
               .index_count = 2,
               .pad_bytes = 20,
               .run_pages = 3,
               .group_pages = 4,
               .data_blocks = 20,
               .index_blocks = 20},
     .rows = 300},
    {.name = "nand that refuses",
     .geometry = ESK_NAND(100, 8, 512),
     .table = {.index_count = 1,
               .pad_bytes = 60,
               .full_policy = ESK_FULL_REFUSE,
               .data_blocks = 30,
               .index_blocks = 15},
     .rows = 300},
    {.name = "card with values",
     .geometry = ESK_CARD(80, 8, 512),
     .table = {.has_var = true,
               .value_bytes = 90,
               .data_blocks = 12,
               .index_blocks = 6,
               .var_blocks = 20},
     .rows = 700},
};

enum { SERIES_CASES = sizeof series_cases / sizeof series_cases[0] };

/// A table after a crash, behind a device that can fail.
static void model_series_start(struct esk_model_series *model,
                               const struct series_case *with,
                               struct esk_device *front) {
    struct esk_sim_config config = {
        .geometry = with->geometry,
        .seed = 1,
        .erase_keeps = (with->geometry.flags & ESK_MEDIUM_OVERWRITE) != 0};
    ESK_CHECK_INT(esk_model_series_make(model, &with->table, &config, 1),
                  ESK_OK);
    failing_device_make(front, model->device);
    model->device = front;
    for (uint32_t i = 0; i < with->rows; i++) {
        ESK_CHECK_INT(esk_model_series_append(model), ESK_OK);
        if (i % 40 == 39) {
            ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_model_series_erase_before(model, 1), ESK_OK);
    ESK_CHECK_INT(esk_model_series_append_many(model, 5), ESK_OK);
    ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
    ESK_CHECK_INT(esk_model_series_append_many(model, 3), ESK_OK);
}

static void model_series_recover_verify(struct esk_model_series *model) {
    esk_model_series_crash(model);
    ESK_CHECK_HELD(esk_model_series_recover(model) == ESK_OK, model->why);
    ESK_CHECK_HELD(esk_model_series_verify(model, true), model->why);
    ESK_CHECK_TEXT(esk_sim_violation(model->sim), "");
}

/// One mount with failing reads, and the calls after it. False: there was no
/// read number `read`.
static bool series_try(struct esk_model_series *model, uint32_t read,
                       uint32_t more, enum read_failure how) {
    esk_model_series_crash(model);
    fail_from(read, more, how);
    int status = esk_model_series_recover(model);
    if (!fail_end()) {
        return false;
    }
    if (how == READ_BROKEN && status != ESK_OK) {
        ESK_CHECK_INT(status, ESK_E_IO);
    }
    if (status == ESK_OK) {
        ESK_CHECK_HELD(esk_model_series_verify(model, false), model->why);
        ESK_CHECK_INT(esk_model_series_append_many(model, ROWS_MORE), ESK_OK);
        ESK_CHECK_INT(esk_model_series_sync(model), ESK_OK);
    }
    model_series_recover_verify(model);
    return true;
}

static void series_run(const struct series_case *with, enum read_failure how) {
    struct esk_model_series model;
    struct esk_model_series_save save;
    struct esk_device front;
    model_series_start(&model, with, &front);
    esk_model_series_save_make(&save, &model);
    esk_model_series_keep(&save, &model);
    uint32_t stride = esk_test_stride(3);
    for (uint32_t b = 0; b < BURSTS; b++) {
        bool more = true;
        for (uint32_t read = 1 + b % stride; more; read += stride) {
            ESK_CONTEXT("%s, read %u and %d more fail as %d", with->name,
                        (unsigned)read, (int)bursts[b], (int)how);
            esk_model_series_restore(&model, &save);
            more = series_try(&model, read, bursts[b], how);
        }
    }
    esk_model_series_save_free(&save);
    esk_model_series_free(&model);
}

ESK_TEST(series_is_whole_or_not_opened_when_reads_of_its_mount_fail) {
    for (uint32_t i = 0; i < SERIES_CASES; i++) {
        series_run(&series_cases[i], READ_BROKEN);
    }
}

/// A model on a medium after a power cut, for many tries.
struct tree_state {
    struct esk_model_tree model;
    struct esk_sim *sim;
    struct esk_model_tree_expected
        whole; ///< the result of a mount without failures
};

static struct tree_state state;
static struct esk_model_tree model;

static void model_read(struct esk_model_tree_expected *expected) {
    ESK_CHECK_HELD(esk_model_tree_read_all(&model, expected->version),
                   model.why);
    expected->rows = 0;
    for (uint32_t number = 0; number < model.range; number++) {
        expected->rows += expected->version[number] != 0 ? 1 : 0;
    }
}

static int model_tree_mount(void) {
    ESK_TRY(esk_volume_mount(&model.volume, model.device, 0, TEST_SCRATCH));
    return esk_model_tree_open(&model);
}

static void state_restore(void) {
    esk_sim_restore(model.sim, state.sim);
    model = state.model;
}

/// Fills a model, cuts its power and stores the state.
static void state_make(uint8_t store, uint32_t seed) {
    struct esk_model_tree_table table = model_tree_plain(store);
    table.batch_pages = store == ESK_STORE_JOURNALED ? 4 : 0;
    struct esk_sim_config medium = {.geometry = ESK_NAND(160, 8, 512),
                                    .seed = seed};
    if (esk_model_tree_overwrites(store)) {
        medium.geometry = (struct esk_geometry)ESK_CARD(160, 8, 512);
        medium.erase_keeps = true;
        medium.whole_writes = store == ESK_STORE_INPLACE;
    }
    ESK_CHECK_INT(esk_model_tree_make_on(&model, &table, &medium, seed),
                  ESK_OK);
    model_tree_puts(&model, 700);
    model_tree_front(&model);
    esk_sim_cut_at(model.sim, esk_sim_op_count(model.sim) + 1 + seed,
                   ESK_SIM_CUT_DRAWN);
    while (esk_model_tree_put(
               &model, esk_model_tree_random(&model, model.range)) == ESK_OK) {
    }
    esk_sim_power_on(model.sim);
    ESK_CHECK_INT(esk_sim_clone(&state.sim, model.sim), ESK_OK);
    state.model = model;
    ESK_CHECK_INT(model_tree_mount(), ESK_OK);
    model_read(&state.whole);
}

static void state_free(void) {
    esk_sim_destroy(state.sim);
    esk_model_tree_free(&model);
}

/// As series_try.
static bool tree_try(uint32_t read, uint32_t more, enum read_failure how) {
    state_restore();
    fail_from(read, more, how);
    int status = model_tree_mount();
    if (!fail_end()) {
        return false;
    }
    if (how == READ_BROKEN && status != ESK_OK) {
        ESK_CHECK_INT(status, ESK_E_IO);
    }
    model.expected = state.whole;
    if (status == ESK_OK) {
        ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
        model_tree_puts(&model, ROWS_MORE);
        ESK_CHECK_INT(esk_tree_sync(model.tree), ESK_OK);
    }
    ESK_CHECK_INT(model_tree_mount(), ESK_OK);
    ESK_CHECK_HELD(esk_model_tree_verify(&model), model.why);
    ESK_CHECK_TEXT(esk_sim_violation(model.sim), "");
    return true;
}

static void tree_run(uint8_t store, uint32_t seed, enum read_failure how) {
    state_make(store, seed);
    uint32_t stride = esk_test_stride(3);
    for (uint32_t b = 0; b < BURSTS; b++) {
        bool more = true;
        for (uint32_t read = 1 + b % stride; more; read += stride) {
            ESK_CONTEXT("store %u, seed %u, read %u and %d more fail as %d",
                        store, (unsigned)seed, (unsigned)read, (int)bursts[b],
                        (int)how);
            more = tree_try(read, bursts[b], how);
        }
    }
    state_free();
}

ESK_TEST(tree_is_whole_or_not_opened_when_reads_of_its_mount_fail) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        for (uint32_t seed = 0; seed < (esk_test_is_deep() ? 6u : 1u); seed++) {
            tree_run(store, seed, READ_BROKEN);
        }
    }
}

static struct esk_fixture fixture;

static int table_create(const char *name) {
    static const struct esk_column columns[] = {
        {"key", "", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"v", "", ESK_TYPE_I32, 0, 0, NULL, 0}};
    struct esk_series_spec spec = {.table = {.name = name,
                                             .columns = columns,
                                             .column_count = 2,
                                             .row_bytes = 8},
                                   .data_blocks = 4};
    return esk_series_create(&fixture.volume, &spec, NULL);
}

static int table_find(const char *name) {
    struct esk_table_info info;
    return esk_volume_find(&fixture.volume, name, &info);
}

static int volume_mount(void) {
    return esk_volume_mount(&fixture.volume, fixture.device, 0, TEST_SCRATCH);
}

/// How the reads of a catalog fail.
static const struct {
    enum read_failure how;
    uint32_t more;
} catalog_reads[] = {{READ_BROKEN, 0},          {READ_BROKEN, 1},
                     {READ_BROKEN, 2},          {READ_BROKEN, 9},
                     {READ_BROKEN, UINT32_MAX}, {READ_CORRUPT, 0},
                     {READ_FLIPPED, 0},         {READ_ERASED, 0}};

enum { CATALOG_READS = sizeof catalog_reads / sizeof catalog_reads[0] };

/// A mount with failing reads, or a find of a table, finds the tables of a
/// mount without failures, `b` by `wanted`, or fails; and the next mount after
/// a commit finds them.
static bool catalog_try(uint32_t read, uint32_t more, enum read_failure how,
                        int wanted) {
    fail_from(read, more, how);
    int status = volume_mount();
    int found = status == ESK_OK ? table_find("b") : status;
    if (!fail_end()) {
        return false;
    }
    if (found != wanted) {
        ESK_CHECK(found == ESK_E_IO ||
                  (how != READ_BROKEN && found == ESK_E_CORRUPT));
    }
    if (status != ESK_OK) {
        ESK_CHECK_INT(volume_mount(), ESK_OK);
    }
    ESK_CHECK_INT(table_find("a"), ESK_OK);
    ESK_CHECK_INT(table_find("b"), wanted);
    ESK_CHECK_INT(table_create("c"), ESK_OK);
    ESK_CHECK_INT(volume_mount(), ESK_OK);
    ESK_CHECK_INT(table_find("a"), ESK_OK);
    ESK_CHECK_INT(table_find("b"), wanted);
    ESK_CHECK_INT(table_find("c"), ESK_OK);
    return true;
}

/// Mounts after a cut at operation `cut` of a commit. False: the commit ended
/// before.
static bool catalog_run(uint32_t cut, enum esk_sim_cut_mode how) {
    static const struct esk_volume_config config = {.tables_max = 4};
    struct esk_sim *left = NULL;
    fixture_start(&fixture, &fixture_nor, &config);
    ESK_CHECK_INT(table_create("a"), ESK_OK);
    esk_sim_cut_at(fixture.sim, esk_sim_op_count(fixture.sim) + cut, how);
    bool done = table_create("b") == ESK_OK;
    esk_sim_power_on(fixture.sim);
    ESK_CHECK_INT(esk_sim_clone(&left, fixture.sim), ESK_OK);
    ESK_CHECK_INT(volume_mount(), ESK_OK);
    int wanted = table_find("b");
    uint32_t stride = esk_test_stride(3);
    for (uint32_t i = 0; i < CATALOG_READS; i++) {
        bool more = true;
        for (uint32_t read = 1 + i % stride; more; read += stride) {
            ESK_CONTEXT("cut %u, read %u and %d more fail as %d", (unsigned)cut,
                        (unsigned)read, (int)catalog_reads[i].more,
                        (int)catalog_reads[i].how);
            esk_sim_restore(fixture.sim, left);
            more = catalog_try(read, catalog_reads[i].more,
                               catalog_reads[i].how, wanted);
        }
    }
    esk_sim_destroy(left);
    fixture_end(&fixture);
    return !done;
}

ESK_TEST(volume_has_its_newest_catalog_or_is_not_mounted_when_reads_fail) {
    bool more = true;
    for (uint32_t cut = 1; more; cut++) {
        more = catalog_run(cut, ESK_SIM_CUT_BEFORE);
        ESK_CHECK_INT(catalog_run(cut, ESK_SIM_CUT_DRAWN), more);
        ESK_CHECK(more || cut > 4);
    }
}

ESK_TEST_MAIN()
