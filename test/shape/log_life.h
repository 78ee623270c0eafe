// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The life of a series on the simulator, beside a model of its rows. A test
/// defines SHAPED, and QUERIES, whether there is more than scans of all rows;
/// it includes its shape and twins.h, then this, and defines boot().
#ifndef ESK_TEST_SHAPE_LOG_LIFE_H
#define ESK_TEST_SHAPE_LOG_LIFE_H

#include "test/shape/twins.h"

enum {
    DATA_BLOCKS = 12,
    BLOCK_ROWS = BLOCK_PAGES * (PAGE_BYTES - 16) / 16,
    SEEDS = 8, ///< ten times as many when deep
    STEPS = 260,
    ROWS_MAX = 16000,
    GETS = 12,
    BLOCKS_SLACK = 4, ///< dropped, erased ahead, or skipped after a cut
};

struct model_row {
    uint32_t key;
    uint32_t generation;
};

struct world {
    struct esk_series *series; ///< NULL while closed
    bool steady; ///< a block whose erase was cut reads the same each time
    uint32_t generation;
    uint32_t key_next;
    uint32_t count;  ///< rows accepted
    uint32_t synced; ///< of these
    struct model_row rows[ROWS_MAX];
};

static struct world world;
static uint64_t arena[1024];
static struct esk_series_cursor cursor;

static void row_make(const struct model_row *row, struct log_row *made) {
    made->time = row->key;
    made->air = (int32_t)(row->generation * 2654435761u >> 1);
    made->ground = (int32_t)(row->key * 40503u >> 1);
    made->water = -made->ground;
}

static void world_make(uint64_t seed, bool dirty) {
    const struct esk_sim_config config = {
        .geometry = ESK_SHAPE_GEOMETRY, .seed = seed, .dirty = dirty};
    twin_make(&config);
    memset(&world, 0, sizeof world);
    world.steady = true;
    world.key_next = 1;
}

/// Finds the volume or makes it, and opens the series: world.series.
static int boot(void);

static uint32_t pages_on_medium(void) {
    struct esk_series_stats stats;
    esk_series_stats(world.series, &stats);
    return stats.pages;
}

// The workload --------------------------------------------------------------

static int append(void) {
    struct log_row row;
    int status = ESK_OK;
    for (uint32_t i = draw(60) + 1; i > 0 && status == ESK_OK; i--) {
        ESK_CHECK(world.count < ROWS_MAX);
        struct model_row *made = &world.rows[world.count];
        world.key_next += 1 + draw(5);
        made->key = world.key_next;
        made->generation = world.generation;
        row_make(made, &row);
        status = told(esk_series_append(world.series, &row));
        /* After a cut in the call the row may be there. */
        world.count++;
    }
    return status;
}

static int sync(void) {
    int status = told(esk_series_sync(world.series));
    if (status == ESK_OK) {
        world.synced = world.count;
    }
    return status;
}

/// The model's row with the smallest key not below `key`.
static uint32_t model_find(uint32_t key) {
    uint32_t low = 0;
    uint32_t high = world.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (world.rows[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void row_check(const struct log_row *row, uint32_t index) {
    struct log_row expected;
    ESK_CHECK(index < world.count);
    row_make(&world.rows[index], &expected);
    ESK_CHECK_BYTES(row, &expected, sizeof expected);
    digest_add(row, sizeof *row);
}

/// Whether the ring has wrapped: pages are dropped only if it has all of its
/// blocks but BLOCKS_SLACK.
static bool may_have_dropped(void) {
    uint32_t blocks = DATA_BLOCKS - BLOCKS_SLACK;
    return pages_on_medium() >= blocks * BLOCK_PAGES;
}

/// Scans from the first row of the model that is not below `key_min`, to its
/// last. Returns the numbers of the first row and past the last one.
static void scan(uint32_t key_min, uint32_t key_max, uint32_t *first,
                 uint32_t *end) {
    const struct esk_series_query query = {.has_key_min = true,
                                           .key_min = key_min,
                                           .has_key_max = true,
                                           .key_max = key_max};
    struct log_row row;
    *first = 0;
    *end = 0;
    if (!QUERIES) {
        ESK_CHECK_INT(esk_series_cursor_open(world.series, &cursor, &query),
                      SHAPED ? ESK_E_UNSUPPORTED : ESK_OK);
    }
    ESK_CHECK_INT(told(esk_series_cursor_open(world.series, &cursor,
                                              QUERIES ? &query : NULL)),
                  ESK_OK);
    while (told(esk_series_cursor_next(world.series, &cursor, &row)) ==
           ESK_OK) {
        /* After a cut in the erase of the oldest block a part of it may be
           there. */
        bool is_left = *end > 0 && *end - *first <= BLOCK_ROWS &&
                       world.rows[*end].key < row.time && may_have_dropped();
        if (*end == 0 || is_left) {
            *first = model_find(row.time);
            *end = *first;
        }
        row_check(&row, *end);
        *end += 1;
    }
}

/// Whether the row `index` of those from `first` on may be gone when it is read
/// again: it is in the oldest block, and a cut in its erase made its pages
/// unsteady. They were dropped.
static bool may_be_gone(uint32_t index, uint32_t first) {
    return !world.steady && index - first < BLOCK_ROWS && may_have_dropped();
}

/// Compares the open series with the model.
static void verify(void) {
    struct log_row row;
    uint32_t first = 0;
    uint32_t end = 0;
    scan(0, UINT32_MAX, &first, &end);
    ESK_CHECK(end >= world.synced || (end == 0 && world.synced == 0));
    ESK_CHECK(end <= world.count);
    ESK_CHECK(first == 0 || may_have_dropped());
    world.count = end;
    for (uint32_t i = 0; QUERIES && i < GETS && end > 0; i++) {
        uint32_t index = first + draw(end - first);
        uint32_t key = world.rows[index].key;
        int status = told(esk_series_get(world.series, key, &row));
        if (status == ESK_NOT_FOUND && may_be_gone(index, first)) {
            continue;
        }
        ESK_CHECK_INT(status, ESK_OK);
        row_check(&row, index);
        if (may_be_gone(index, first)) {
            continue;
        }
        if (index + 1 < end && world.rows[index + 1].key > key + 1) {
            ESK_CHECK_INT(told(esk_series_get(world.series, key + 1, &row)),
                          ESK_NOT_FOUND);
        }
        uint32_t last = index + draw(end - index);
        uint32_t found_first = 0;
        uint32_t found_end = 0;
        scan(key, world.rows[last].key, &found_first, &found_end);
        ESK_CHECK_INT(found_first, index);
        ESK_CHECK_INT(found_end, last + 1);
    }
}

/// After a cut: turns on the power until the series is open.
static void recover(void) {
    power_again(boot);
    verify();
    /* Rows that were read are durable. */
    world.synced = world.count;
    world.generation++;
}

/// One step of the workload. Returns ESK_OK, or the status at a cut.
static int step(void) {
    uint16_t done = 0;
    uint32_t what = draw(16);
    if (what < 8) {
        return append();
    }
    if (what < 12) {
        return sync();
    }
    if (what == 12) {
        return told(esk_volume_step(&twin.volume, 1, &done));
    }
    if (what == 13) {
        ESK_TRY(sync());
        esk_series_close(world.series);
        int status = boot();
        if (status == ESK_OK) {
            verify();
        }
        return status;
    }
    if (what == 14) {
        verify();
    }
    return ESK_OK;
}

/// A life of a series from a blank medium on, with cuts.
static void life(uint64_t seed) {
    ESK_CONTEXT("seed %" PRIu64 ", %s", seed, SHAPED ? "shaped" : "opened");
    world_make(seed, false);
    world.steady = is_compared(seed);
    if (world.steady) {
        twin.ops.read = read_steadily;
    }
    ESK_CHECK_INT(boot(), ESK_OK);
    for (uint32_t i = 0; i < STEPS; i++) {
        bool cut = draw(2) == 0;
        if (cut) {
            uint32_t mode = ESK_SIM_CUT_BEFORE + draw(ESK_SIM_CUT_DRAWN);
            esk_sim_cut_at(twin.sim, esk_sim_op_count(twin.sim) + draw(3),
                           (enum esk_sim_cut_mode)mode);
        }
        int status = step();
        if (status != ESK_OK) {
            recover();
        }
        esk_sim_cut_at(twin.sim, 0, ESK_SIM_CUT_NONE);
    }
    ESK_CHECK_INT(sync(), ESK_OK);
    verify();
    medium_digest();
}

static uint32_t seeds(void) {
    return esk_test_is_deep() ? 10 * SEEDS : SEEDS;
}

/// Lives of all seeds, each compared with that of the twin in another flavour.
/// folder: of this one.
static void lives(const char *folder) {
    uint32_t cuts = 0;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        life(seed);
        cuts += twin.cuts;
        uint64_t digest = twin.digest;
        ESK_CHECK(!SHAPED || !is_compared(seed) ||
                  digest == digest_elsewhere(folder, seed));
    }
    ESK_CHECK(cuts >= 45 * seeds());
}

#endif
