// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The frozen images of trees, format version 1: today's code reads them.
/// Bytes behind a node's last entry are undefined, so images are not compared
/// byte for byte.
#include <string.h>

#include "esker/esker.h"
#include "port/ram/ram.h"
#include "test/harness/arena.h"
#include "test/harness/golden.h"

enum {
    BLOCKS = 24,
    IMAGE_BYTES = BLOCKS * 8 * 256,
    ROWS = 120,
    ROW_BYTES = 2 + 8,
};

static const struct {
    const char *path;
    const struct esk_node_store *store;
    uint8_t id;
} images[] = {
    {"test/golden/v1_tree_inplace.img", &esk_store_inplace, ESK_STORE_INPLACE},
    {"test/golden/v1_tree_wandering.img", &esk_store_wandering,
     ESK_STORE_WANDERING},
    {"test/golden/v1_tree_mu.img", &esk_store_mu, ESK_STORE_MU},
    {"test/golden/v1_tree_tnc.img", &esk_store_tnc, ESK_STORE_TNC},
};

static uint8_t image[IMAGE_BYTES];
static uint64_t arena[1024];

static struct esk_geometry geometry_of(uint8_t store) {
    struct esk_geometry geometry = {
        .block_count = BLOCKS,
        .block_pages = 8,
        .page_bytes = 256,
        .program_bytes = 256,
        .erased_value = 0xFF,
        .flags = store == ESK_STORE_INPLACE ? ESK_MEDIUM_OVERWRITE : 0,
    };
    return geometry;
}

/// Row `i`, byte by byte: its key is i - 60, its text "row i".
static void row_make(uint32_t i, uint8_t *row) {
    uint16_t key = (uint16_t)(i - 60u);
    char text[16];
    memset(row, 0, ROW_BYTES);
    row[0] = (uint8_t)(key & 0xFFu);
    row[1] = (uint8_t)(key >> 8);
    int bytes = snprintf(text, sizeof text, "row %u", (unsigned)i);
    memcpy(row + 2, text, (size_t)bytes);
}

/// Whether row `i` was deleted again.
static bool row_is_gone(uint32_t i) {
    return i % 7 == 3;
}

static struct esk_tree_config config_of(size_t which) {
    struct esk_tree_config config = {.store = images[which].store};
    if (images[which].id == ESK_STORE_TNC) {
        config.frames = 19;
    }
    return config;
}

static void image_make(const struct esk_device *device, size_t which) {
    const struct esk_volume_config config = {.uuid = {0x74, 0x72, 0x65, 0x65}};
    const struct esk_column columns[] = {
        {"key", "", ESK_TYPE_I16, 0, 0, NULL, 0},
        {"text", "", ESK_TYPE_BYTES, 8, 0, NULL, 0},
    };
    const struct esk_tree_spec spec = {
        .table = {.name = "golden",
                  .columns = columns,
                  .column_count = 2,
                  .row_bytes = 10},
        .store = images[which].id,
        .k_percent = images[which].id == ESK_STORE_TNC ? 40 : 60};
    struct esk_tree_config tree_config = config_of(which);
    struct esk_volume volume;
    struct esk_tree *tree = NULL;
    uint8_t row[ROW_BYTES];
    ESK_CHECK_INT(esk_volume_format(device, &config, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, device, 0, TEST_SCRATCH), ESK_OK);
    ESK_CHECK_INT(esk_tree_create(&volume, &spec, NULL), ESK_OK);
    ESK_CHECK_INT(test_tree_open(&tree, &volume, "golden", &tree_config, arena,
                                 sizeof arena),
                  ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        row_make(i * 47 % ROWS, row);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    }
    for (uint32_t i = 0; i < ROWS; i++) {
        row_make(i, row);
        if (row_is_gone(i)) {
            ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
    esk_tree_close(tree);
}

ESK_TEST(golden_trees_are_read_row_by_row) {
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        struct esk_geometry geometry = geometry_of(images[i].id);
        struct esk_tree_config config = config_of(i);
        struct esk_ram_device ram;
        struct esk_volume volume;
        struct esk_tree *tree = NULL;
        struct esk_tree_cursor cursor;
        struct esk_tree_report report;
        uint8_t row[ROW_BYTES];
        uint8_t expected[ROW_BYTES];
        uint32_t rows = 0;
        ESK_CONTEXT("%s", images[i].path);
        if (golden_is_written()) {
            memset(image, 0xFF, sizeof image);
            ESK_CHECK_INT(
                esk_ram_device_init(&ram, &geometry, image, IMAGE_BYTES),
                ESK_OK);
            image_make(&ram.device, i);
            golden_file(images[i].path, "wb", image, IMAGE_BYTES);
        }
        golden_file(images[i].path, "rb", image, IMAGE_BYTES);
        ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, image, IMAGE_BYTES),
                      ESK_OK);
        ESK_CHECK_INT(esk_volume_mount(&volume, &ram.device,
                                       ESK_MOUNT_READ_ONLY, TEST_SCRATCH),
                      ESK_OK);
        ESK_CHECK_INT(test_tree_open(&tree, &volume, "golden", &config, arena,
                                     sizeof arena),
                      ESK_OK);
        ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, NULL), ESK_OK);
        for (uint32_t n = 0; n < ROWS; n++) {
            if (!row_is_gone(n)) {
                row_make(n, expected);
                ESK_CHECK_INT(esk_tree_cursor_next(tree, &cursor, row), ESK_OK);
                ESK_CHECK_BYTES(row, expected, ROW_BYTES);
                rows++;
            }
        }
        ESK_CHECK_INT(esk_tree_cursor_next(tree, &cursor, row), ESK_END);
        ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
        ESK_CHECK_INT(report.rows, rows);
        esk_tree_close(tree);
    }
}

ESK_TEST_MAIN()
