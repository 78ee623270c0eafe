// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Readers beside a tree that is changed: each read returns the model of their
/// snapshot, or ESK_E_STALE.
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"
#include "test/harness/model_tree.h"

enum { READERS = 3, RANGE_MAX = 400 };

/// Small, so that the ring wraps every few hundred changes.
static const struct esk_geometry nand = ESK_NAND(60, 8, 512);

static const struct esk_geometry sd = ESK_CARD(60, 8, 512);

/// A reader, its expected rows, and a cursor of it.
struct view {
    struct esk_tree *tree;
    struct esk_tree_config config;
    void *arena;
    uint32_t arena_bytes;
    uint32_t version[RANGE_MAX]; ///< 0: no such row
    uint32_t rows;
    struct esk_tree_cursor cursor;
    struct esk_tree_query query;
    uint8_t low[32];
    uint8_t high[32];
    int32_t first;
    int32_t last;
    int32_t at; ///< the cursor's next number
};

struct grove {
    struct esk_model_tree model;
    struct view views[READERS];
    uint32_t exact; ///< exact reads
    uint32_t stale;
    bool overwrites;
    bool wide; ///< keys too wide for a cursor to store
};

static bool is_batched(const struct grove *grove) {
    return grove->model.in_batch;
}

/// Sets the expected rows to those of a reader opened now.
static void model_take(struct grove *grove, struct view *view) {
    const struct esk_model_tree_expected *expected =
        is_batched(grove) ? &grove->model.before : &grove->model.expected;
    memcpy(view->version, expected->version, sizeof view->version);
    view->rows = expected->rows;
}

static void cursor_start(struct grove *grove, struct view *view) {
    struct esk_model_tree *model = &grove->model;
    uint32_t range = model->range;
    view->first = (int32_t)esk_model_tree_random(model, range);
    view->last = (int32_t)esk_model_tree_random(model, range);
    esk_model_tree_key(model, (uint32_t)view->first, view->low);
    esk_model_tree_key(model, (uint32_t)view->last, view->high);
    view->query.backward = esk_model_tree_random(model, 2) == 0;
    view->query.key_min = view->low;
    view->query.key_max = view->high;
    if (esk_model_tree_random(model, 3) > 0) {
        view->query.key_min = NULL;
        view->query.key_max = NULL;
        view->first = 0;
        view->last = (int32_t)range - 1;
    }
    view->at = view->query.backward ? view->last : view->first;
    ESK_CHECK_INT(esk_tree_cursor_open(view->tree, &view->cursor, &view->query),
                  ESK_OK);
}

static void view_open(struct grove *grove, struct view *view) {
    struct esk_tree *tree = grove->model.tree;
    uint32_t bytes = esk_tree_reader_arena_bytes(tree, &view->config);
    if (view->arena == NULL) {
        view->arena = malloc(bytes);
    }
    ESK_CHECK_INT(test_tree_reader_open(&grove->model.volume, &view->tree, tree,
                                        &view->config, view->arena, bytes - 1),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(test_tree_reader_open(&grove->model.volume, &view->tree, tree,
                                        &view->config, view->arena, bytes),
                  ESK_OK);
    model_take(grove, view);
    cursor_start(grove, view);
}

static void view_renew(struct grove *grove, struct view *view) {
    ESK_CHECK_INT(esk_tree_reader_renew(view->tree), ESK_OK);
    model_take(grove, view);
    if (grove->wide) {
        cursor_start(grove, view);
    }
}

/// The nearest number from `at` on that has a row; -1: none.
static int32_t near(const struct view *view, int32_t at, int32_t step,
                    int32_t first, int32_t last) {
    while (at >= first && at <= last && view->version[at] == 0) {
        at += step;
    }
    return at >= first && at <= last ? at : -1;
}

/// Checks the result of a read against row `number`; -1: none, `end`. Returns
/// whether it was exact; else the reader was stale and is renewed.
static bool read_is(struct grove *grove, struct view *view, int status,
                    int32_t number, int end, const uint8_t *row) {
    uint8_t expected[512];
    if (status == ESK_E_STALE) {
        ESK_CHECK(!grove->overwrites || grove->wide);
        grove->stale++;
        view_renew(grove, view);
        return false;
    }
    grove->exact++;
    ESK_CHECK_INT(status, number < 0 ? end : ESK_OK);
    if (number >= 0) {
        esk_model_tree_row(&grove->model, (uint32_t)number,
                           view->version[number], expected);
        ESK_CHECK_BYTES(row, expected, grove->model.row_bytes);
    }
    return true;
}

static void row_read(struct grove *grove, struct view *view) {
    int32_t range = grove->model.range;
    int32_t at = (int32_t)esk_model_tree_random(&grove->model, (uint32_t)range);
    uint8_t row[512];
    uint8_t key[32];
    esk_model_tree_key(&grove->model, (uint32_t)at, key);
    int32_t found = view->version[at] != 0 ? at : -1;
    switch (esk_model_tree_random(&grove->model, 5)) {
    case 0:
        read_is(grove, view, esk_tree_get(view->tree, key, row), found,
                ESK_NOT_FOUND, row);
        return;
    case 1:
        read_is(grove, view, esk_tree_floor(view->tree, key, row),
                near(view, at, -1, 0, range - 1), ESK_NOT_FOUND, row);
        return;
    case 2:
        read_is(grove, view, esk_tree_ceiling(view->tree, key, row),
                near(view, at, 1, 0, range - 1), ESK_NOT_FOUND, row);
        return;
    case 3:
        read_is(grove, view, esk_tree_first(view->tree, row),
                near(view, 0, 1, 0, range - 1), ESK_NOT_FOUND, row);
        return;
    default:
        read_is(grove, view, esk_tree_last(view->tree, row),
                near(view, range - 1, -1, 0, range - 1), ESK_NOT_FOUND, row);
    }
}

/// Some rows of the view's cursor, which continues after a renewal, and starts
/// again at its end.
static void rows_scan(struct grove *grove, struct view *view) {
    uint32_t count = esk_model_tree_random(&grove->model, 30);
    int32_t step = view->query.backward ? -1 : 1;
    uint8_t row[512];
    for (uint32_t i = 0; i < count; i++) {
        int status = esk_tree_cursor_next(view->tree, &view->cursor, row);
        int32_t at = near(view, view->at, step, view->first, view->last);
        if (!read_is(grove, view, status, at, ESK_END, row)) {
            if (grove->wide) {
                return;
            }
            continue;
        }
        if (at < 0) {
            ESK_CHECK_INT(esk_tree_cursor_next(view->tree, &view->cursor, row),
                          ESK_END);
            cursor_start(grove, view);
            return;
        }
        view->at = at + step;
    }
}

static void whole_check(struct grove *grove, struct view *view) {
    struct esk_tree_report report;
    uint32_t count = 0;
    ESK_CHECK_INT(esk_tree_count(view->tree, &count), ESK_OK);
    ESK_CHECK_INT(count, view->rows);
    int status = esk_tree_check(view->tree, &report);
    if (read_is(grove, view, status, -1, ESK_OK, NULL)) {
        ESK_CHECK_INT(report.rows, view->rows);
    }
}

/// A read of a reader; the writer's frames do not change.
static void reader_call(struct grove *grove, struct view *view) {
    struct esk_tree_stats before;
    struct esk_tree_stats after;
    if (grove->overwrites) {
        model_take(grove, view);
    }
    esk_tree_stats(grove->model.tree, &before);
    switch (esk_model_tree_random(&grove->model, 40)) {
    case 0:
        whole_check(grove, view);
        break;
    case 1:
        view_renew(grove, view);
        break;
    case 2:
        esk_tree_close(view->tree);
        view_open(grove, view);
        break;
    case 3: {
        uint8_t row[512];
        esk_model_tree_row(&grove->model, 1, 1, row);
        ESK_CHECK_INT(esk_tree_put(view->tree, row), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_delete(view->tree, row + 4), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_begin(view->tree, 0), ESK_E_READ_ONLY);
        ESK_CHECK_INT(esk_tree_commit(view->tree), ESK_E_INVALID);
        break;
    }
    default:
        if (esk_model_tree_random(&grove->model, 2) == 0) {
            row_read(grove, view);
        } else {
            rows_scan(grove, view);
        }
    }
    esk_tree_stats(grove->model.tree, &after);
    if (grove->model.table.store != ESK_STORE_TNC) { /* it has a write cache */
        ESK_CHECK_BYTES(&after, &before, sizeof after);
    }
}

/// A change, a batch's begin or end, or a step of the volume.
static void writer_call(struct grove *grove) {
    struct esk_model_tree *model = &grove->model;
    uint32_t number = esk_model_tree_random(model, model->range);
    uint32_t call = esk_model_tree_random(model, 100);
    int status = ESK_OK;
    if (call < 60) {
        status = esk_model_tree_put(model, number);
    } else if (call < 95) {
        status = esk_model_tree_delete(model, number);
    } else if (call < 97) {
        status = esk_volume_step(&model->volume, 20, NULL);
    } else if (!model->in_batch) {
        model->before = model->expected;
        status = esk_tree_begin(model->tree, 0);
        model->in_batch = status == ESK_OK;
    } else if (call == 97) {
        status = esk_tree_abort(model->tree);
        model->expected = model->before;
        model->in_batch = false;
    } else {
        status = esk_tree_commit(model->tree);
        model->in_batch = status != ESK_OK;
    }
    ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND ||
              status == ESK_FULL);
    if (grove->overwrites && call >= 97 && !model->in_batch) {
        /* Pages that an abort leaves for repair are not read by readers. */
        uint32_t count;
        ESK_CHECK_INT(esk_tree_count(model->tree, &count), ESK_OK);
        ESK_CHECK_INT(count, model->expected.rows);
    }
}

static void grove_run(struct grove *grove,
                      const struct esk_model_tree_table *table, uint32_t calls,
                      uint32_t seed) {
    grove->overwrites = esk_model_tree_overwrites(table->store);
    grove->wide = table->key_bytes > ESK_TREE_CURSOR_KEY_BYTES;
    ESK_CONTEXT("store %u, frames %u, policy %u, key of %u bytes, seed %u",
                table->store, table->frames, table->policy, table->key_bytes,
                seed);
    ESK_CHECK_INT(esk_model_tree_make(&grove->model, table,
                                      grove->overwrites ? &sd : &nand, seed),
                  ESK_OK);
    for (uint8_t i = 0; i < READERS; i++) {
        struct view *view = &grove->views[i];
        view->config.frames = (uint8_t)(i + 1u);
        view->config.policy = table->policy;
        view_open(grove, view);
    }
    for (uint32_t i = 0; i < calls; i++) {
        if (esk_model_tree_random(&grove->model, 10) < 6) {
            writer_call(grove);
        } else {
            reader_call(grove, &grove->views[i % READERS]);
        }
    }
    ESK_CHECK(grove->exact > calls);
    for (uint8_t i = 0; i < READERS; i++) {
        esk_tree_close(grove->views[i].tree);
        free(grove->views[i].arena);
    }
    if (grove->model.in_batch) {
        ESK_CHECK_INT(esk_tree_commit(grove->model.tree), ESK_OK);
        grove->model.in_batch = false;
    }
    ESK_CHECK_HELD(esk_model_tree_verify(&grove->model) &&
                       esk_model_tree_remount(&grove->model) &&
                       esk_model_tree_verify(&grove->model),
                   grove->model.why);
    esk_model_tree_free(&grove->model);
}

static void runs(uint8_t key_type, uint8_t key_bytes, uint32_t calls) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        for (uint8_t policy = 0; policy < 2; policy++) {
            struct grove grove = {0};
            struct esk_model_tree_table table = {.store = store,
                                                 .policy = policy,
                                                 .key_type = key_type,
                                                 .key_bytes = key_bytes,
                                                 .pad_bytes = 16,
                                                 .key_range = RANGE_MAX,
                                                 .blocks = 40};
            if (esk_model_tree_overwrites(store)) {
                table.batch_pages = 40;
            }
            if (store == ESK_STORE_MU && key_bytes > 0) {
                table.blocks = 12; /* its height allows few such rows */
            }
            grove_run(&grove, &table, calls, 3u + store);
            ESK_CHECK(grove.overwrites || grove.stale > 10);
        }
    }
}

ESK_TEST(reader_shows_its_snapshot_or_is_stale_in_every_store) {
    runs(ESK_TYPE_I32, 0, 12000);
}

ESK_TEST(reader_is_right_where_a_cursor_cannot_find_its_key_again) {
    runs(ESK_TYPE_BYTES, 20, 8000);
}

/// A tree of `rows` rows without collection, and a reader.
static void pair_make(struct grove *grove, uint8_t store, uint8_t frames,
                      uint32_t rows) {
    struct esk_geometry geometry = esk_model_tree_overwrites(store) ? sd : nand;
    struct esk_model_tree_table table = {.store = store,
                                         .key_type = ESK_TYPE_U32,
                                         .pad_bytes = 16,
                                         .key_range = RANGE_MAX};
    ESK_CONTEXT("store %u, frames %u", store, frames);
    geometry.block_count = 1200;
    grove->overwrites = store <= ESK_STORE_JOURNALED;
    ESK_CHECK_INT(esk_model_tree_make(&grove->model, &table, &geometry, 9),
                  ESK_OK);
    for (uint32_t i = 0; i < rows; i++) {
        ESK_CHECK_INT(esk_model_tree_put(&grove->model, i * 7 % RANGE_MAX),
                      ESK_OK);
    }
    grove->views[0].config.frames = frames;
    view_open(grove, &grove->views[0]);
}

static void pair_free(struct grove *grove) {
    esk_tree_close(grove->views[0].tree);
    free(grove->views[0].arena);
    esk_model_tree_free(&grove->model);
}

ESK_TEST(snapshot_is_never_stale_while_nothing_is_collected) {
    for (uint8_t store = ESK_STORE_WANDERING; store <= ESK_STORE_TNC; store++) {
        struct grove grove = {0};
        struct view *view = &grove.views[0];
        pair_make(&grove, store, 2, 300);
        for (uint32_t i = 0; i < 1500; i++) {
            uint32_t number = esk_model_tree_random(&grove.model, RANGE_MAX);
            (void)esk_model_tree_delete(&grove.model, number);
            ESK_CHECK_INT(esk_model_tree_put(&grove.model, i * 13 % RANGE_MAX),
                          ESK_OK);
            row_read(&grove, view);
            rows_scan(&grove, view);
        }
        whole_check(&grove, view);
        ESK_CHECK_INT(grove.stale, 0);
        ESK_CHECK_INT(view->rows, 300);
        pair_free(&grove);
    }
}

ESK_TEST(reader_reads_no_more_pages_than_its_frames_make_it) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_TNC; store++) {
        for (uint8_t frames = 1; frames <= 3; frames++) {
            struct grove grove = {0};
            struct esk_tree_stats stats;
            uint8_t row[512];
            uint8_t key[8];
            pair_make(&grove, store, frames, RANGE_MAX);
            struct esk_tree *reader = grove.views[0].tree;
            esk_model_tree_key(&grove.model, 0, key);
            ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_OK);
            esk_tree_stats(reader, &stats);
            uint32_t before = stats.page_reads;
            for (uint32_t i = 0; i < 1000; i++) {
                uint32_t number =
                    esk_model_tree_random(&grove.model, RANGE_MAX);
                esk_model_tree_key(&grove.model, number, key);
                ESK_CHECK_INT(esk_tree_get(reader, key, row), ESK_OK);
            }
            esk_tree_stats(reader, &stats);
            ESK_CHECK(stats.height > 1);
            uint32_t most = frames == 1 ? stats.height : stats.height - 1u;
            ESK_CHECK(stats.page_reads - before <= 1000 * most);
            pair_free(&grove);
        }
    }
}

ESK_TEST(reader_of_pages_that_are_overwritten_survives_failed_writes) {
    for (uint8_t store = ESK_STORE_INPLACE; store <= ESK_STORE_JOURNALED;
         store++) {
        struct grove grove = {0};
        struct esk_model_tree *model = &grove.model;
        struct view *view = &grove.views[0];
        uint32_t failed = 0;
        pair_make(&grove, store, 2, 200);
        for (uint32_t i = 0; i < 600; i++) {
            uint32_t number = esk_model_tree_random(model, RANGE_MAX);
            uint32_t old = model->expected.version[number];
            uint8_t row[512];
            uint8_t key[8];
            esk_sim_cut_at(model->sim,
                           esk_sim_op_count(model->sim) +
                               esk_model_tree_random(model, 3),
                           ESK_SIM_CUT_BEFORE);
            int status = esk_model_tree_put(model, number);
            esk_sim_power_on(model->sim);
            esk_sim_cut_at(model->sim, 0, ESK_SIM_CUT_NONE);
            bool wrote = status == ESK_OK;
            failed += wrote ? 0 : 1;
            /* The old row or the new one, and the same from now on. */
            esk_model_tree_key(model, number, key);
            status = esk_tree_get(view->tree, key, row);
            uint32_t now = status == ESK_OK ? row[0] | row[1] * 256u : 0;
            ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
            ESK_CHECK(now == old || now == model->version);
            if (!wrote) {
                model->expected.rows += old == 0 && now != 0 ? 1 : 0;
                model->expected.version[number] = now;
            }
            model_take(&grove, view);
            row_read(&grove, view);
            rows_scan(&grove, view);
        }
        ESK_CHECK(failed > 50);
        model_take(&grove, view);
        whole_check(&grove, view);
        ESK_CHECK_HELD(esk_model_tree_verify(model), model->why);
        pair_free(&grove);
    }
}

ESK_TEST_MAIN()
