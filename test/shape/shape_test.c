// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series of a constant shape, on the simulator, beside a model of its rows.
#ifdef ESK_SHAPE
enum { SHAPED = 1 };
#else
#define ESK_SHAPE "test/shape/log_shape.h"
enum { SHAPED = 0 };
#endif

#include "esker/runs.h"
#include "test/shape/twin_volume.h"

enum {
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

static int boot(void) {
    static const struct esk_series_parts parts = {.keys =
                                                      &esk_series_part_keys};
    world.series = NULL;
    ESK_TRY(told(volume_boot()));
    /* Both have read the meta halves, in different ways, before. */
    esk_sim_seed_set(twin.sim, draw(1u << 30));
    return told(SHAPED
                    ? test_series_attach(&world.series, &esk_shape_parts,
                                         &twin.volume, &esk_shape_table,
                                         &esk_shape_series, &esk_shape_options,
                                         NULL, arena, sizeof arena)
                    : test_series_open_with(&world.series, &parts, &twin.volume,
                                            "log", NULL, arena, sizeof arena));
}

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
    uint32_t blocks = esk_shape_table.blocks[0] - BLOCKS_SLACK;
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
    ESK_CHECK_INT(told(esk_series_cursor_open(world.series, &cursor, &query)),
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
    for (uint32_t i = 0; i < GETS && end > 0; i++) {
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

/// The flavour `test` alone shows that rows are stored; `shape` also shows that
/// results and bytes are the same.
ESK_TEST(shape_keeps_what_was_synced_and_gives_what_the_catalog_gives) {
    uint32_t cuts = 0;
    for (uint64_t seed = 1; seed <= seeds(); seed++) {
        life(seed);
        cuts += twin.cuts;
        uint64_t digest = twin.digest;
        ESK_CHECK(!SHAPED || !is_compared(seed) ||
                  digest == digest_elsewhere("build/shape/", seed));
    }
    ESK_CHECK(cuts >= 45 * seeds());
}

// Failures -------------------------------------------------------------------

/// Appends `count` rows, with a sync of each; what fails with a transfer is
/// tried again, up to 3 times.
static void append_synced(uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct log_row row;
        struct model_row *made = &world.rows[world.count];
        int status = ESK_E_IO;
        made->key = world.key_next++;
        row_make(made, &row);
        for (uint32_t tries = 0; tries < 4 && status != ESK_OK; tries++) {
            status = esk_series_append(world.series, &row);
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        }
        ESK_CHECK_INT(status, ESK_OK);
        world.count++;
        status = ESK_E_IO;
        for (uint32_t tries = 0; tries < 4 && status != ESK_OK; tries++) {
            status = sync();
            ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
        }
        ESK_CHECK_INT(status, ESK_OK);
    }
}

ESK_TEST(shape_keeps_synced_rows_while_programs_and_transfers_fail) {
    for (uint32_t every = 5; every <= 14; every++) {
        for (uint32_t medium = 0; medium < 2; medium++) {
            ESK_CONTEXT("each %u-th fails, %s", every,
                        medium != 0 ? "programs" : "transfers");
            struct esk_sim_failures failures = {0};
            (medium != 0 ? &failures.program : &failures.transfer)->every =
                every;
            world_make(every, false);
            ESK_CHECK_INT(boot(), ESK_OK);
            esk_sim_failures_set(twin.sim, &failures);
            append_synced(200);
            failures = (struct esk_sim_failures){0};
            esk_sim_failures_set(twin.sim, &failures);
            verify();
            ESK_CHECK_INT(world.count, 200);
            esk_series_close(world.series);
            ESK_CHECK_INT(boot(), ESK_OK);
            verify();
            ESK_CHECK_INT(world.count, 200);
        }
    }
}

ESK_TEST(shape_goes_on_in_the_next_block_after_a_failed_transfer) {
    const struct esk_sim_failures once = {
        .transfer = {.burst_start = 0, .burst_length = 1}};
    const struct esk_sim_failures never = {0};
    world_make(1, false);
    ESK_CHECK_INT(boot(), ESK_OK);
    append_synced(3);
    esk_sim_failures_set(twin.sim, &once);
    append_synced(1);
    esk_sim_failures_set(twin.sim, &never);
    append_synced(1);
    ESK_CHECK_INT(pages_on_medium() >= BLOCK_PAGES, SHAPED);
    verify();
    ESK_CHECK_INT(world.count, 5);
}

ESK_TEST(shape_on_a_dead_bus_uses_up_no_more_than_a_block) {
    world_make(1, false);
    ESK_CHECK_INT(boot(), ESK_OK);
    append_synced(5);
    esk_sim_power_off(twin.sim);
    struct log_row row;
    struct model_row *made = &world.rows[world.count];
    made->key = world.key_next++;
    row_make(made, &row);
    ESK_CHECK_INT(esk_series_append(world.series, &row), ESK_OK);
    world.count++;
    for (uint32_t i = 0; i < 50; i++) {
        ESK_CHECK_INT(sync(), ESK_E_IO);
    }
    esk_sim_power_on(twin.sim);
    append_synced(5);
    ESK_CHECK(pages_on_medium() <= BLOCK_PAGES + 1u);
    verify();
    ESK_CHECK_INT(world.count, 11);
}

// Attach and stamp ----------------------------------------------------------

/// The input of `esker header`: test_header.py makes it in the same way.
static void volume_make(const char *uuid, bool has_second) {
    const struct esk_device *device =
        SHAPED ? TWIN_DEVICE : esk_sim_device(twin.sim);
    static const struct esk_column columns[] = {
        {"time", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
        {"air", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"ground", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
        {"water", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
    };
    struct esk_volume_config config = {.tables_max = 2};
    struct esk_series_spec spec = {.table = {.name = "log",
                                             .columns = columns,
                                             .column_count = 4,
                                             .row_bytes = 16},
                                   .data_blocks = 12,
                                   .index_blocks = 2};
    struct esk_volume volume;
    memcpy(config.uuid, uuid, sizeof config.uuid);
    ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    if (has_second) {
        spec.table.name = "second";
        spec.data_blocks = 2;
        ESK_CHECK_INT(esk_series_create(&volume, &spec, NULL), ESK_OK);
    }
}

static const char uuid[] = "shape shape shap";

/// Copies the meta halves to `bytes`.
static void meta_keep(uint8_t *bytes) {
    uint32_t pages = esk_shape_volume.half_blocks * BLOCK_PAGES;
    uint32_t all = esk_shape_geometry.block_count * BLOCK_PAGES;
    for (uint32_t i = 0; i < 2 * pages; i++) {
        uint32_t at = i < pages ? i : all - 2 * pages + i;
        ESK_CHECK_INT(esk_sim_peek(twin.sim, at, bytes), ESK_OK);
        bytes += PAGE_BYTES;
    }
}

enum { META_BYTES = 24 * BLOCK_PAGES * PAGE_BYTES };
static uint8_t made[META_BYTES];
static uint8_t stamped[META_BYTES];

ESK_TEST(shape_stamps_what_format_and_create_write) {
    world_make(1, false);
    volume_make(uuid, false);
    ESK_CHECK_INT(attach(), ESK_OK);
    ESK_CHECK_INT(twin.volume.half_valid, 3);
    meta_keep(made);
    world_make(2, false);
    ESK_CHECK_INT(attach(), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_stamp(&twin.volume, esk_shape_meta), ESK_OK);
    meta_keep(stamped);
    ESK_CHECK_BYTES(stamped, made, META_BYTES);
    ESK_CHECK_INT(attach(), ESK_OK);
    ESK_CHECK_INT(twin.volume.half_valid, 3);
}

ESK_TEST(shape_stamp_that_is_cut_is_completed_by_the_next_boot) {
    world_make(1, false);
    ESK_CHECK_INT(boot(), ESK_OK);
    meta_keep(made);
    uint64_t ops = esk_sim_op_count(twin.sim);
    ESK_CHECK(ops >= 6);
    for (uint64_t op = 0; op < ops; op++) {
        for (uint32_t mode = ESK_SIM_CUT_BEFORE; mode <= ESK_SIM_CUT_DRAWN;
             mode++) {
            ESK_CONTEXT("operation %" PRIu64 ", mode %" PRIu32, op, mode);
            world_make(3 + op, false);
            esk_sim_cut_at(twin.sim, op, (enum esk_sim_cut_mode)mode);
            ESK_CHECK_INT(boot(), ESK_E_IO);
            esk_sim_power_on(twin.sim);
            ESK_CHECK_INT(boot(), ESK_OK);
            ESK_CHECK_INT(append(), ESK_OK);
            ESK_CHECK_INT(sync(), ESK_OK);
            esk_series_close(world.series);
            ESK_CHECK_INT(boot(), ESK_OK);
            verify();
        }
    }
}

ESK_TEST(shape_does_not_attach_another_volume) {
    world_make(1, false);
    volume_make("another volume!!", false);
    ESK_CHECK_INT(attach(), ESK_E_SCHEMA);
}

ESK_TEST(shape_does_not_attach_with_other_flags_than_its_own) {
    world_make(1, false);
    ESK_CHECK_INT(volume_boot(), ESK_OK);
    ESK_CHECK_INT(esk_volume_attach(&twin.volume, TWIN_DEVICE,
                                    ESK_MOUNT_READ_ONLY, &esk_shape_volume,
                                    TEST_SCRATCH),
                  SHAPED ? ESK_E_INVALID : ESK_OK);
}

/// A sort would erase blocks of the program's own device.
ESK_TEST(shape_sorts_on_no_other_device) {
    struct esk_scratch scratch;
    world_make(1, false);
    ESK_CHECK_INT(esk_scratch_init(&scratch, TWIN_DEVICE, 2, 2), ESK_OK);
    ESK_CHECK_INT(esk_scratch_init(&scratch, esk_sim_device(twin.sim), 2, 2),
                  SHAPED ? ESK_E_UNSUPPORTED : ESK_OK);
}

ESK_TEST(shape_does_not_attach_a_catalog_that_was_changed) {
    world_make(1, false);
    volume_make(uuid, true);
    ESK_CHECK_INT(attach(), ESK_E_SCHEMA);
}

ESK_TEST(shape_does_not_write_over_two_damaged_superblocks) {
    world_make(1, false);
    volume_make(uuid, false);
    uint32_t half =
        (esk_shape_geometry.block_count - esk_shape_volume.half_blocks) *
        BLOCK_PAGES;
    uint32_t super = esk_shape_volume.half_pages - 1u;
    ESK_CHECK_INT(esk_sim_flip(twin.sim, super, 200), ESK_OK);
    ESK_CHECK_INT(attach(), ESK_OK);
    ESK_CHECK_INT(twin.volume.half_valid, 2);
    ESK_CHECK_INT(esk_sim_flip(twin.sim, half + super, 300), ESK_OK);
    ESK_CHECK_INT(attach(), ESK_E_CORRUPT);
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
