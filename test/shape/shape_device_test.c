// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A core that is compiled for its device, and reads the shape of its tables
/// from the catalog.
#ifdef ESK_SHAPE
enum { SHAPED = 1, QUERIES = 1 };
#else
#define ESK_SHAPE "test/shape/device_shape.h"
enum { SHAPED = 0, QUERIES = 1 };
#endif

#include "test/shape/log_life.h"

static const struct esk_column columns[] = {
    {"time", "s", ESK_TYPE_U32, 0, 0, NULL, 0},
    {"air", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
    {"ground", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
    {"water", "mdegC", ESK_TYPE_I32, 0, 0, NULL, 0},
};

static int mount(uint8_t flags) {
    return esk_volume_mount(&twin.volume, TWIN_DEVICE, flags, TEST_SCRATCH);
}

/// Makes the volume and its series.
static int volume_make(uint32_t data_blocks) {
    static const struct esk_volume_config config = {.tables_max = 2};
    const struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = columns,
                  .column_count = 4,
                  .row_bytes = sizeof(struct log_row)},
        .data_blocks = data_blocks};
    /* Both with room for marks: the shape's device has them, and no use. */
    const struct esk_device *device =
        SHAPED ? TWIN_DEVICE : esk_sim_device(twin.sim);
    ESK_TRY(esk_volume_format(device, &config, TEST_SCRATCH));
    ESK_TRY(mount(0));
    return esk_series_create(&twin.volume, &spec, NULL);
}

static int boot(void) {
    world.series = NULL;
    int status = told(mount(0));
    ESK_TRY(status == ESK_NOT_FOUND ? told(volume_make(DATA_BLOCKS)) : status);
    return told(test_series_open_with(&world.series, &esk_shape_parts,
                                      &twin.volume, "log", NULL, arena,
                                      sizeof arena));
}

/// The flavour `test` alone shows that rows are stored; `shape_device` also
/// shows that results and bytes are the same.
ESK_TEST(shape_device_keeps_what_was_synced_and_gives_what_any_core_gives) {
    lives("build/shape_device/");
}

ESK_TEST(shape_device_does_not_mount_with_other_flags_than_its_own) {
    world_make(1, false);
    ESK_CHECK_INT(volume_make(DATA_BLOCKS), ESK_OK);
    ESK_CHECK_INT(mount(ESK_MOUNT_READ_ONLY), SHAPED ? ESK_E_INVALID : ESK_OK);
}

/// The parts of series say that there are no others.
ESK_TEST(shape_device_of_series_opens_no_tree) {
    const struct esk_tree_spec spec = {.table = {.name = "map",
                                                 .columns = columns,
                                                 .column_count = 4,
                                                 .row_bytes = 16},
                                       .store = ESK_STORE_WANDERING};
    const struct esk_tree_config config = {.store = &esk_store_wandering};
    struct esk_tree *tree = NULL;
    world_make(1, false);
    ESK_CHECK_INT(volume_make(4), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&twin.volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(test_tree_open(&tree, &twin.volume, "map", &config, arena,
                                 sizeof arena),
                  SHAPED ? ESK_E_UNSUPPORTED : ESK_OK);
}

ESK_TEST(shape_device_of_series_opens_no_bare_store) {
    static const struct esk_kv_bare bare = {.id = 1};
    static const struct esk_kv_config config = {.keys = 10};
    struct esk_kv *kv = NULL;
    world_make(1, false);
    ESK_CHECK_INT(esk_kv_open_bare(&kv, &twin.volume, TWIN_DEVICE, 0, &bare,
                                   &config, arena, sizeof arena),
                  SHAPED ? ESK_E_UNSUPPORTED : ESK_OK);
}

int main(int argc, char **argv) {
    return twin_main(argc, argv);
}
