// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A series of a constant shape, on the simulator, beside a model of its rows.
#ifdef ESK_SHAPE
enum { SHAPED = 1, QUERIES = 1 };
#else
#define ESK_SHAPE "test/shape/log_shape.h"
enum { SHAPED = 0, QUERIES = 1 };
#endif

#include "esker/runs.h"
#include "test/shape/log_life.h"
#include "test/shape/twin_volume.h"

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

/// The flavour `test` alone shows that rows are stored; `shape` also shows that
/// results and bytes are the same.
ESK_TEST(shape_keeps_what_was_synced_and_gives_what_the_catalog_gives) {
    lives("build/shape/");
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
