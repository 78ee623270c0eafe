// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Tables attached by their shape are those that an open finds by their name;
/// a volume is attached, or stamped, by its superblocks alone.
#include "table/series/series.h"
#include "table/tree/tree.h"
#include "test/harness/arena.h"
#include "test/harness/level_log.h"

enum { ROWS = 400, META_BYTES = 1024 };

static const struct esk_series_spec series_spec = {
    .table = {.name = "log",
              .columns = level_columns,
              .column_count = 2,
              .row_bytes = 6},
    .data_blocks = 20,
    .index_blocks = 6};

static const struct esk_tree_spec tree_spec = {
    .table = {.name = "map",
              .columns = level_columns,
              .column_count = 2,
              .row_bytes = 6},
    .store = ESK_STORE_WANDERING,
    .blocks = 20};

static const struct esk_series_parts parts = {.keys = &esk_series_part_keys};
static const struct esk_tree_config config = {.store = &esk_store_wandering};
static uint64_t arena[512];

static struct esk_table_info info_of(struct esk_fixture *fixture,
                                     const char *name) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&fixture->volume, name, &info), ESK_OK);
    return info;
}

static struct esk_volume_shape volume_shape(const struct esk_volume *volume) {
    return (struct esk_volume_shape){.seed = volume->seed,
                                     .commit = volume->commit,
                                     .half_blocks = volume->half_blocks,
                                     .half_pages = volume->half_pages,
                                     .catalog_pages = volume->catalog_pages,
                                     .checksum = volume->checksum};
}

ESK_TEST(series_attached_by_its_shape_is_the_one_that_was_opened) {
    struct esk_fixture fixture;
    struct esk_series *series = NULL;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &series_spec);
    fixture_open(&fixture, "log", NULL);
    for (uint32_t i = 0; i < ROWS; i++) {
        ESK_CHECK_INT(level_append(&fixture, i, i), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(fixture.series), ESK_OK);
    struct esk_series_shape shape = fixture.series->shape;
    struct esk_table_info info = info_of(&fixture, "log");
    struct esk_series_options options;
    ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
    esk_series_close(fixture.series);
    ESK_CHECK_INT(test_series_attach(&series, &parts, &fixture.volume, &info,
                                     &shape, &options, NULL,
                                     (uint8_t *)arena + 1, sizeof arena - 8),
                  ESK_E_INVALID);
    ESK_CHECK_INT(test_series_attach(&series, &parts, &fixture.volume, &info,
                                     &shape, &options, NULL, arena, 600),
                  ESK_E_NO_MEMORY);
    const struct esk_series_config few = {.key_index_bytes = 8};
    ESK_CHECK_INT(test_series_attach(&series, &parts, &fixture.volume, &info,
                                     &shape, &options, &few, arena,
                                     sizeof arena),
                  ESK_E_INVALID);
    ESK_CHECK_INT(test_series_attach(&series, &parts, &fixture.volume, &info,
                                     &shape, &options, NULL, arena,
                                     sizeof arena),
                  ESK_OK);
    uint32_t rows = 0;
    ESK_CHECK_INT(esk_series_count(series, &rows), ESK_OK);
    ESK_CHECK_INT(rows, ROWS);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint8_t row[LEVEL_ROW_BYTES];
        ESK_CHECK_INT(esk_series_get(series, i, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u16(row + 4), (uint16_t)level_of(i));
    }
    esk_series_close(series);
    fixture_end(&fixture);
}

ESK_TEST(series_of_packed_pages_is_not_attached) {
    struct esk_fixture fixture;
    struct esk_series *series = NULL;
    struct esk_series_spec spec = series_spec;
    struct esk_series_options options;
    spec.codec = ESK_CODEC_PACKED;
    fixture_start(&fixture, &fixture_nor, NULL);
    fixture_create(&fixture, &spec);
    fixture_open(&fixture, "log", NULL);
    struct esk_series_shape shape = fixture.series->shape;
    struct esk_table_info info = info_of(&fixture, "log");
    ESK_CHECK_INT(esk_series_options(&info, &options), ESK_OK);
    ESK_CHECK_INT(esk_series_cells(&info, &options), ESK_OK);
    ESK_CHECK_INT(options.cell_bytes, 256);
    ESK_CHECK_INT(options.unit_bytes, 1);
    info.codec = ESK_CODEC_RAW;
    ESK_CHECK_INT(esk_series_cells(&info, &options), ESK_OK);
    ESK_CHECK_INT(options.cell_bytes, 0);
    ESK_CHECK_INT(options.unit_bytes, 0);
    info.codec = ESK_CODEC_PACKED;
    esk_series_close(fixture.series);
    ESK_CHECK_INT(test_series_attach(&series, &parts, &fixture.volume, &info,
                                     &shape, &options, NULL, arena,
                                     sizeof arena),
                  ESK_E_UNSUPPORTED);
    fixture_end(&fixture);
}

ESK_TEST(tree_attached_by_its_shape_is_the_one_that_was_opened) {
    struct esk_fixture fixture;
    struct esk_tree *tree = NULL;
    fixture_start(&fixture, &fixture_nor, NULL);
    ESK_CHECK_INT(esk_tree_create(&fixture.volume, &tree_spec, NULL), ESK_OK);
    ESK_CHECK_INT(test_tree_open(&tree, &fixture.volume, "map", &config, arena,
                                 sizeof arena),
                  ESK_OK);
    for (uint32_t i = 0; i < ROWS; i++) {
        uint8_t row[LEVEL_ROW_BYTES] = {0};
        esk_store_u32(row, i * 7 % ROWS);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
    struct esk_btree_layout layout = tree->layout;
    struct esk_table_info info = info_of(&fixture, "map");
    esk_tree_close(tree);
    ESK_CHECK_INT(test_tree_attach(&tree, &fixture.volume, &info, &layout,
                                   &config, (uint8_t *)arena + 1,
                                   sizeof arena - 8),
                  ESK_E_INVALID);
    ESK_CHECK_INT(test_tree_attach(&tree, &fixture.volume, &info, &layout,
                                   &config, arena, 600),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(test_tree_attach(&tree, &fixture.volume, &info, &layout,
                                   &config, arena, sizeof arena),
                  ESK_OK);
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, ROWS);
    esk_tree_close(tree);
    fixture_end(&fixture);
}

/// Copies the pages of the newest half in the form of esk_volume_stamp.
static void meta_take(const struct esk_fixture *fixture, uint8_t *meta) {
    const struct esk_volume *volume = &fixture->volume;
    esk_page_id first = 0;
    ESK_CHECK_INT(esk_half_page(volume, volume->half_newest, 0, &first),
                  ESK_OK);
    uint32_t at = 0;
    for (uint32_t i = 0; i <= volume->catalog_pages; i++) {
        uint32_t page = i < volume->catalog_pages
                            ? first + i
                            : first + volume->half_pages - 1u;
        uint16_t bytes = fixture->device->geometry.page_bytes;
        ESK_CHECK(at + 2u + bytes <= META_BYTES);
        esk_store_u16(meta + at, bytes);
        ESK_CHECK_INT(esk_sim_peek(fixture->sim, page, meta + at + 2), ESK_OK);
        at += 2u + bytes;
    }
}

static int attach(const struct esk_fixture *fixture, struct esk_volume *volume,
                  const struct esk_volume_shape *shape) {
    return esk_volume_attach(volume, fixture->device, 0, shape, TEST_SCRATCH);
}

static void blocks_erase(const struct esk_fixture *fixture) {
    const struct esk_device *device = fixture->device;
    for (uint32_t block = 0; block < device->geometry.block_count; block++) {
        ESK_CHECK_INT(device->ops->erase(device, block), ESK_OK);
    }
}

/// Erases the medium of a volume whose shape it returns.
static struct esk_volume_shape stamp_start(struct esk_fixture *fixture,
                                           uint8_t *meta) {
    struct esk_volume volume;
    fixture_start(fixture, &fixture_nor, NULL);
    fixture_create(fixture, &series_spec);
    struct esk_volume_shape shape = volume_shape(&fixture->volume);
    meta_take(fixture, meta);
    ESK_CHECK_INT(attach(fixture, &volume, &shape), ESK_OK);
    shape.commit++;
    ESK_CHECK_INT(attach(fixture, &volume, &shape), ESK_E_SCHEMA);
    shape.commit--;
    blocks_erase(fixture);
    return shape;
}

ESK_TEST(volume_attached_and_stamped_is_the_one_that_was_formatted) {
    struct esk_fixture fixture;
    struct esk_volume volume;
    static uint8_t meta[META_BYTES];
    struct esk_volume_shape shape = stamp_start(&fixture, meta);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_stamp(&volume, meta), ESK_OK);
    fixture_mount(&fixture);
    (void)info_of(&fixture, "log");
    fixture_end(&fixture);
}

ESK_TEST(volume_is_not_stamped_over_what_is_no_torn_stamp) {
    static const uint8_t torn[] = {0x51, 0, 1};
    static const uint8_t other[] = {0x2E, 0x5A};
    static uint8_t meta[META_BYTES];
    struct esk_fixture fixture;
    struct esk_volume volume;
    struct esk_volume_shape shape = stamp_start(&fixture, meta);
    const struct esk_device *device = fixture.device;
    esk_page_id super = 0;
    ESK_CHECK_INT(esk_half_page(&fixture.volume, 0,
                                (uint16_t)(shape.half_pages - 1u), &super),
                  ESK_OK);
    ESK_CHECK_INT(
        esk_sim_poke(fixture.sim, super, ESK_ENVELOPE_KIND, torn, sizeof torn),
        ESK_OK);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, super, ESK_ENVELOPE_KIND, other,
                               sizeof other),
                  ESK_OK);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_E_CORRUPT);
    ESK_CHECK_INT(device->ops->erase(device, super / 8), ESK_OK);
    /* The rows of a volume that lost its superblocks, or another system's. */
    esk_page_id second = (shape.half_blocks + 1) * 8;
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, second, 0, other, sizeof other),
                  ESK_OK);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    uint64_t operations = esk_sim_op_count(fixture.sim);
    ESK_CHECK_INT(esk_volume_stamp(&volume, meta), ESK_E_FOREIGN);
    ESK_CHECK_INT(esk_sim_op_count(fixture.sim), operations);
    ESK_CHECK_INT(device->ops->erase(device, second / 8), ESK_OK);
    esk_page_id last = device->geometry.block_count * 8 - 3;
    ESK_CHECK_INT(esk_sim_poke(fixture.sim, last, 0, other, sizeof other),
                  ESK_OK);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    ESK_CHECK_INT(esk_volume_stamp(&volume, meta), ESK_E_FOREIGN);
    ESK_CHECK_INT(device->ops->erase(device, last / 8), ESK_OK);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    fixture_end(&fixture);
}

ESK_TEST(volume_without_a_good_block_is_not_stamped) {
    static uint8_t meta[META_BYTES];
    struct esk_fixture fixture;
    struct esk_volume volume;
    struct esk_volume_shape shape = stamp_start(&fixture, meta);
    const struct esk_device *device = fixture.device;
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_NOT_FOUND);
    for (uint32_t block = 0; block < device->geometry.block_count; block++) {
        ESK_CHECK_INT(device->ops->block_mark_bad(device, block), ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_stamp(&volume, meta), ESK_E_NO_SPACE);
    ESK_CHECK_INT(attach(&fixture, &volume, &shape), ESK_E_CORRUPT);
    ESK_CHECK_INT(esk_volume_stamp(&volume, meta), ESK_E_INVALID);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
