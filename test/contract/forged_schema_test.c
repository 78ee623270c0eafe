// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A table's descriptor with one byte changed, and a checksum that is right:
/// whatever it says, the volume mounts, its other table has all its rows, and
/// each call of the table itself returns ESK_OK or an error that its header
/// names. Nothing outside of the arena that an open asked for is touched.
#include "test/harness/fixture.h"
#include "test/harness/forge.h"
#include "volume/volume_format.h"

enum { ROWS = 90, STEPS_MAX = 4000, ARENA_MAX = 1u << 20, WIDTH_MAX = 4096 };

static const struct esk_geometry card = ESK_CARD(72, 8, 256);

static const struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .unit = "mm", .type = ESK_TYPE_I16},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 12},
    {.name = "note", .type = ESK_TYPE_VAR, .flags = ESK_COLUMN_TEXT},
};
static const uint8_t edges[] = {0, 0, 40, 0};
static const struct esk_index_spec by_level = {
    .column = 1, .bitmap_bits = 8, .edges = edges, .edge_count = 2};

/// A table to forge; of a tree its store is named.
struct subject {
    const char *name;
    const struct esk_geometry *geometry;
    const struct esk_node_store *store;
    const struct esk_tree_merge *merge;
    const struct esk_tree_write_cache *write_cache;
    uint8_t store_id;
    bool has_index;
    bool has_var;
    bool is_broken; ///< it has a sync journal, and newest rows were dropped
};

static const struct subject subjects[] = {
    {.name = "series with values",
     .geometry = &fixture_nor,
     .has_index = true,
     .has_var = true},
    {.name = "series broken off", .geometry = &card, .is_broken = true},
    {.name = "inplace",
     .geometry = &card,
     .store = &esk_store_inplace,
     .store_id = ESK_STORE_INPLACE},
    {.name = "journaled",
     .geometry = &card,
     .store = &esk_store_journaled,
     .merge = &esk_merge_inplace,
     .store_id = ESK_STORE_JOURNALED},
    {.name = "wandering",
     .geometry = &card,
     .store = &esk_store_wandering,
     .merge = &esk_merge_moving,
     .store_id = ESK_STORE_WANDERING},
    {.name = "mu",
     .geometry = &card,
     .store = &esk_store_mu,
     .write_cache = &esk_write_cache,
     .store_id = ESK_STORE_MU},
    {.name = "tnc",
     .geometry = &card,
     .store = &esk_store_tnc,
     .store_id = ESK_STORE_TNC},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static const uint8_t values[] = {0, 1, 0x7F, 0x80, 0xFF};

static struct esk_fixture fixture;
static struct esk_series *other;
static uint64_t other_arena[512];
static uint8_t row[WIDTH_MAX];

/// The specification of a series of `subject`, or of the other one: NULL.
static struct esk_series_spec spec_of(const struct subject *subject) {
    struct esk_series_spec spec = {
        .table = {.name = subject != NULL ? "it" : "other",
                  .columns = columns,
                  .column_count = 3,
                  .row_bytes = 18},
        .data_blocks = 8};
    if (subject == NULL) {
        return spec;
    }
    spec.data_blocks = 14;
    spec.sync_blocks = subject->is_broken ? 2 : 0;
    spec.keys_repeat = subject->is_broken;
    if (subject->has_var) {
        table_columns(&spec.table, 4);
        spec.var_blocks = 4;
    }
    if (subject->has_index) {
        spec.indexes = &by_level;
        spec.index_count = 1;
    }
    return spec;
}

static struct esk_tree_spec tree_spec_of(const struct subject *subject) {
    struct esk_tree_spec spec = {.table = {.name = "it",
                                           .columns = columns,
                                           .column_count = 3,
                                           .row_bytes = 18},
                                 .store = subject->store_id,
                                 .blocks = 14};
    if (subject->store_id == ESK_STORE_TNC) {
        spec.blocks = 28;
    }
    return spec;
}

static struct esk_tree_config config_of(const struct subject *subject) {
    struct esk_tree_config config = {.store = subject->store,
                                     .merge = subject->merge,
                                     .write_cache = subject->write_cache,
                                     .frames = subject->merge != NULL ? 4 : 0};
    return config;
}

static void row_make(uint8_t key) {
    memset(row, 0, sizeof row);
    row[0] = key;
    row[4] = (uint8_t)(key * 7u);
}

static void other_open(void) {
    ESK_CHECK_INT(test_series_open(&other, &fixture.volume, "other", NULL,
                                   other_arena, sizeof other_arena),
                  ESK_OK);
}

static void series_fill(struct esk_series *series, bool has_var, bool breaks) {
    for (uint8_t key = 1; key <= ROWS; key++) {
        row_make(key);
        ESK_CHECK_INT(has_var ? esk_series_append_var(series, row, "note", 4)
                              : esk_series_append(series, row),
                      ESK_OK);
        if (breaks && key == ROWS / 2) {
            ESK_CHECK_INT(esk_series_erase_after(series, ROWS / 2 - 3), ESK_OK);
        }
    }
    ESK_CHECK_INT(esk_series_sync(series), ESK_OK);
}

/// Makes the volume: the other table with rows, and the one to be forged.
static void start(const struct subject *subject) {
    static uint64_t arena[2048];
    struct esk_series_spec spec = spec_of(NULL);
    static const struct esk_volume_config three = {.tables_max = 4};
    fixture_start(&fixture, subject->geometry, &three);
    fixture_create(&fixture, &spec);
    other_open();
    series_fill(other, false, false);
    esk_series_close(other);
    if (subject->store == NULL) {
        struct esk_series *series = NULL;
        spec = spec_of(subject);
        fixture_create(&fixture, &spec);
        ESK_CHECK_INT(test_series_open(&series, &fixture.volume, "it", NULL,
                                       arena, sizeof arena),
                      ESK_OK);
        series_fill(series, subject->has_var, subject->is_broken);
        esk_series_close(series);
        return;
    }
    struct esk_tree *tree = NULL;
    struct esk_tree_spec tree_spec = tree_spec_of(subject);
    struct esk_tree_config config = config_of(subject);
    ESK_CHECK_INT(test_tree_open_or_create(&tree, &fixture.volume, &tree_spec,
                                           &config, arena, sizeof arena, NULL),
                  ESK_OK);
    for (uint8_t key = 1; key <= ROWS; key++) {
        row_make(key);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
    }
    esk_tree_close(tree);
}

/// The other table has every row, and is sound.
static void other_verify(void) {
    struct esk_series_report report;
    struct esk_series_cursor cursor;
    other_open();
    ESK_CHECK_INT(esk_series_cursor_open(other, &cursor, NULL), ESK_OK);
    for (uint8_t key = 1; key <= ROWS; key++) {
        uint8_t expected[WIDTH_MAX];
        row_make(key);
        memcpy(expected, row, sizeof row);
        ESK_CHECK_INT(esk_series_cursor_next(other, &cursor, row), ESK_OK);
        ESK_CHECK_BYTES(row, expected, 18);
    }
    ESK_CHECK_INT(esk_series_cursor_next(other, &cursor, row), ESK_END);
    ESK_CHECK_INT(esk_series_check(other, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, ROWS);
    esk_series_close(other);
}

/// Holds when `status` is one that a read or a change of an open table, or a
/// call of the catalog, may return where the descriptor is another's.
static void status_verify(int status, const char *call) {
    static const int allowed[] = {
        ESK_OK,        ESK_NOT_FOUND,  ESK_END,           ESK_OUT_OF_ORDER,
        ESK_FULL,      ESK_E_CORRUPT,  ESK_E_UNSUPPORTED, ESK_E_STALE,
        ESK_E_INVALID, ESK_E_NO_SPACE, ESK_E_LIMIT,       ESK_E_IO,
        ESK_E_WORN};
    for (size_t i = 0; i < sizeof allowed / sizeof allowed[0]; i++) {
        if (status == allowed[i]) {
            return;
        }
    }
    ESK_CHECK_TEXT(esk_status_text(status), call);
}

/// Everything that reads a series, then a change.
static void series_use(struct esk_series *series) {
    struct esk_series_cursor cursor;
    struct esk_series_report report;
    struct esk_series_stats stats;
    struct esk_series_value value;
    struct esk_space space;
    struct esk_series_range range = {
        .column = 1, .has_lo = true, .has_hi = true, .hi = {.i = 30}};
    struct esk_series_query query = {.range_count = 1, .ranges = &range};
    uint32_t count = 0;
    ESK_CHECK(esk_series_row_bytes(series) < WIDTH_MAX);
    for (uint8_t pass = 0; pass < 3; pass++) {
        query.backward = pass == 1;
        int status =
            esk_series_cursor_open(series, &cursor, pass == 0 ? NULL : &query);
        uint32_t steps = 0;
        while (status != ESK_END && status != ESK_E_INVALID &&
               status != ESK_E_UNSUPPORTED && status != ESK_E_CORRUPT) {
            status_verify(status, "cursor");
            ESK_CHECK(steps++ < STEPS_MAX);
            status = esk_series_cursor_next(series, &cursor, row);
            if (status == ESK_OK &&
                esk_series_value_open(series, row, &value) == ESK_OK) {
                status_verify(esk_series_value_read(series, &value, NULL,
                                                    value.bytes, &count),
                              "value");
            }
        }
    }
    status_verify(esk_series_get(series, 20, row), "get");
    status_verify(esk_series_floor(series, 33, row), "floor");
    status_verify(esk_series_ceiling(series, 33, row), "ceiling");
    status_verify(esk_series_count(series, &count), "count");
    status_verify(esk_series_check(series, &report), "check");
    esk_series_stats(series, &stats);
    for (uint8_t role = 0; role < ESK_REGION_COUNT; role++) {
        esk_series_space(series, role, &space);
    }
}

static void series_change(struct esk_series *series) {
    memset(row, 0x7F, sizeof row);
    status_verify(esk_series_append(series, row), "append");
    status_verify(esk_series_append_var(series, row, "a", 1), "append_var");
    status_verify(esk_series_sync(series), "sync");
    status_verify(esk_series_erase_before(series, 4), "erase_before");
    status_verify(esk_series_erase_after(series, 9), "erase_after");
    status_verify(esk_series_append(series, row), "append");
}

static void tree_use(struct esk_tree *tree) {
    struct esk_tree_cursor cursor;
    struct esk_tree_report report;
    struct esk_tree_stats stats;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    struct esk_space space;
    struct esk_tree_query query = {.backward = true};
    uint8_t key[WIDTH_MAX] = {20};
    uint32_t count = 0;
    ESK_CHECK(esk_tree_row_bytes(tree) < WIDTH_MAX);
    for (uint8_t pass = 0; pass < 2; pass++) {
        int status =
            esk_tree_cursor_open(tree, &cursor, pass == 0 ? NULL : &query);
        for (uint32_t steps = 0; status != ESK_END; steps++) {
            status_verify(status, "cursor");
            ESK_CHECK(steps < STEPS_MAX);
            status = esk_tree_cursor_next(tree, &cursor, row);
        }
    }
    status_verify(esk_tree_get(tree, key, row), "get");
    status_verify(esk_tree_floor(tree, key, row), "floor");
    status_verify(esk_tree_ceiling(tree, key, row), "ceiling");
    status_verify(esk_tree_last(tree, row), "last");
    status_verify(esk_tree_count(tree, &count), "count");
    status_verify(esk_tree_check(tree, &report), "check");
    int status = esk_tree_walk_open(tree, &walk);
    for (uint32_t steps = 0; status == ESK_OK; steps++) {
        ESK_CHECK(steps < STEPS_MAX);
        status = esk_tree_walk_next(tree, &walk, &node);
    }
    status_verify(status, "walk");
    esk_tree_stats(tree, &stats);
    esk_tree_space(tree, &space);
}

static void tree_change(struct esk_tree *tree) {
    memset(row, 0x7F, sizeof row);
    for (uint8_t i = 0; i < 20; i++) {
        row[0] = (uint8_t)(i * 9u);
        status_verify(esk_tree_put(tree, row), "put");
    }
    status_verify(esk_tree_delete(tree, row), "delete");
    status_verify(esk_tree_sync(tree), "sync");
}

/// The calls of the catalog that take what it says of the table.
static void catalog_use(const struct esk_table_info *info) {
    struct esk_column_info column;
    struct esk_index_spec index;
    struct esk_volume_report report;
    struct esk_tree_options tree_options;
    struct esk_series_options series_options;
    uint8_t found[ESK_EDGE_COUNT_MAX * 8];
    for (uint16_t i = 0; i < 256; i++) {
        status_verify(
            esk_volume_column(&fixture.volume, info, (uint8_t)i, &column),
            "column");
        int status = esk_volume_index(&fixture.volume, info, (uint8_t)i, &index,
                                      found, sizeof found);
        status_verify(status == ESK_E_NO_MEMORY ? ESK_OK : status, "index");
    }
    status_verify(esk_series_options(info, &series_options), "options");
    status_verify(esk_tree_options(info, &tree_options), "options");
    ESK_CHECK_INT(esk_volume_check(&fixture.volume, &report), ESK_OK);
}

/// An open may fail as a damaged or a newer table does, and no table that is
/// found may seem not to be there.
static void open_verify(int status, bool found) {
    ESK_CHECK(status == ESK_OK || status == ESK_E_CORRUPT ||
              status == ESK_E_UNSUPPORTED || status == ESK_E_READ_ONLY ||
              (status == ESK_NOT_FOUND && !found));
}

/// Opens the table in exactly what it asks for, and uses it.
static void table_use(const struct subject *subject) {
    struct esk_table_info info = {.descriptor = 0};
    struct esk_series *series = NULL;
    struct esk_tree *tree = NULL;
    struct esk_tree_config config = config_of(subject);
    struct esk_volume *volume = &fixture.volume;
    uint32_t bytes = 0;
    bool found = esk_volume_find(volume, "it", &info) == ESK_OK;
    if (found) {
        catalog_use(&info);
        bytes = subject->store == NULL
                    ? esk_series_arena_bytes(volume, &info, NULL)
                    : esk_tree_arena_bytes(volume, &info, &config);
    }
    ESK_CHECK(bytes < ARENA_MAX);
    bytes = bytes != 0 ? bytes : 8192;
    void *arena = malloc(bytes);
    int status =
        subject->store == NULL
            ? test_series_open(&series, volume, "it", NULL, arena, bytes)
            : test_tree_open(&tree, volume, "it", &config, arena, bytes);
    open_verify(status, found);
    if (series != NULL) {
        series_use(series);
        series_change(series);
        esk_series_close(series);
    }
    if (tree != NULL) {
        tree_use(tree);
        tree_change(tree);
        esk_tree_close(tree);
    }
    ESK_CHECK(volume->tables == NULL);
    free(arena);
}

/// Makes `width` bytes of the descriptor, of `bytes` bytes, from byte `at` on
/// all `value`.
static void field_forge(const struct esk_table_info *info, uint16_t at,
                        uint8_t width, uint16_t bytes, uint8_t value) {
    uint16_t room =
        (uint16_t)(fixture.device->geometry.page_bytes - ESK_ENVELOPE_BYTES);
    for (uint8_t i = 0; i < width && at < bytes; i++, at++) {
        uint16_t page = (uint16_t)(info->descriptor + at / room);
        forge_halves(&fixture, ESK_PAGE_CATALOG, page,
                     (uint16_t)(ESK_ENVELOPE_BYTES + at % room), &value, 1);
    }
}

/// Changes the catalog that the forged descriptor is in. A drop goes by the
/// table's id: one that was forged to be another's is left alone.
static void catalog_change(uint8_t id_other) {
    struct esk_volume *volume = &fixture.volume;
    struct esk_series_spec spec = spec_of(NULL);
    struct esk_table_info info = {.descriptor = 0};
    struct esk_fault fault;
    spec.table.name = "new";
    status_verify(esk_series_create(volume, &spec, &fault), "create");
    other_verify();
    if (esk_volume_find(volume, "it", &info) == ESK_OK && info.id != id_other) {
        status_verify(esk_volume_drop(volume, "it"), "drop");
        other_verify();
    }
}

/// Bytes of the table's descriptor.
static uint16_t descriptor_bytes(const struct esk_table_info *info) {
    uint16_t bytes = 0;
    for (uint8_t i = 0; i < info->descriptor_pages; i++) {
        esk_page_id id = 0;
        ESK_CHECK_INT(esk_half_page(&fixture.volume, 0,
                                    (uint16_t)(info->descriptor + i), &id),
                      ESK_OK);
        ESK_CHECK_INT(esk_sim_peek(fixture.sim, id, fixture.page), ESK_OK);
        bytes = (uint16_t)(bytes + esk_page_count(fixture.page));
    }
    return bytes;
}

/// Forges each field of `width` bytes that the descriptor can have.
static void descriptor_forge(const struct subject *subject, uint8_t width,
                             uint8_t value) {
    struct esk_table_info info;
    struct esk_table_info other_info;
    struct esk_sim *whole = NULL;
    start(subject);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "it", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&fixture.volume, "other", &other_info),
                  ESK_OK);
    uint16_t bytes = descriptor_bytes(&info);
    uint16_t stride = (uint16_t)esk_test_stride(3);
    for (uint16_t at = value % stride; at < bytes; at += stride) {
        ESK_CONTEXT("%s, %u bytes from %u on are %u", subject->name, width, at,
                    value);
        esk_sim_restore(fixture.sim, whole);
        fixture_mount(&fixture);
        field_forge(&info, at, width, bytes, value);
        fixture_mount(&fixture);
        other_verify();
        catalog_change(other_info.id);
        esk_sim_restore(fixture.sim, whole);
        fixture_mount(&fixture);
        field_forge(&info, at, width, bytes, value);
        fixture_mount(&fixture);
        table_use(subject);
    }
    esk_sim_destroy(whole);
    fixture_end(&fixture);
}

ESK_TEST(forged_descriptor_hides_no_other_table) {
    for (size_t i = 0; i < SUBJECTS; i++) {
        for (size_t v = 0; v < sizeof values; v++) {
            descriptor_forge(&subjects[i], 1, values[v]);
            descriptor_forge(&subjects[i], 2, values[v]);
            descriptor_forge(&subjects[i], 4, values[v]);
        }
    }
}

/// A superblock that lies may cost the volume, as mount says.
static void mount_verify(int status) {
    ESK_CHECK(status == ESK_OK || status == ESK_E_FOREIGN ||
              status == ESK_E_CORRUPT || status == ESK_E_VERSION ||
              status == ESK_E_UNSUPPORTED || status == ESK_E_READ_ONLY ||
              status == ESK_E_GEOMETRY);
}

ESK_TEST(forged_superblock_is_refused_or_served) {
    const struct subject *subject = &subjects[0];
    struct esk_sim *whole = NULL;
    start(subject);
    ESK_CHECK_INT(esk_sim_clone(&whole, fixture.sim), ESK_OK);
    uint16_t index = (uint16_t)(fixture.volume.half_pages - 1u);
    for (uint16_t at = ESK_SUPER_MAGIC; at < ESK_SUPER_END; at++) {
        for (size_t v = 0; v < sizeof values; v++) {
            ESK_CONTEXT("byte %u is %u", at, values[v]);
            esk_sim_restore(fixture.sim, whole);
            fixture_mount(&fixture);
            forge_halves(&fixture, ESK_PAGE_SUPERBLOCK, index, at, &values[v],
                         1);
            int status = esk_volume_mount(&fixture.volume, fixture.device, 0,
                                          TEST_SCRATCH);
            mount_verify(status);
            if (status == ESK_OK) {
                table_use(subject);
            }
        }
    }
    esk_sim_destroy(whole);
    fixture_end(&fixture);
}

ESK_TEST_MAIN()
