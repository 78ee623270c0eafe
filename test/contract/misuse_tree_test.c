// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong with a tree of each store, its batches and its
/// readers: each mistake is refused with the error that the header names, the
/// medium stays as it was, and the table goes on working.
#include "test/harness/misuse.h"

#include <math.h>

enum { ROWS = 90, ROW_BYTES = 20, FAR = 1000000 };

/// u32 at | i32 level | bytes pad
static const struct esk_column columns[] = {
    {.name = "at", .unit = "s", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "pad", .type = ESK_TYPE_BYTES, .bytes = 12},
};

/// A store, with all that a tree of it can be opened with.
struct kind {
    const char *name;
    struct esk_tree_config config;
    uint8_t store;
};

static const struct kind kinds[] = {
    {"inplace",
     {.store = &esk_store_inplace,
      .merge = &esk_merge_inplace,
      .batches = &esk_batches_inplace},
     ESK_STORE_INPLACE},
    {"journaled",
     {.store = &esk_store_journaled, .batches = &esk_batches_inplace},
     ESK_STORE_JOURNALED},
    {"wandering",
     {.store = &esk_store_wandering,
      .merge = &esk_merge_moving,
      .write_cache = &esk_write_cache,
      .frames = 8},
     ESK_STORE_WANDERING},
    {"mu", {.store = &esk_store_mu, .policy = ESK_TREE_LRU_N}, ESK_STORE_MU},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct esk_tree *tree;
static struct esk_tree *other; ///< of the same kind, of narrower rows
static uint8_t row[ROW_BYTES];
static uint32_t key;

static struct esk_tree_spec spec_of(const struct kind *kind, const char *name) {
    struct esk_tree_spec spec = {.table = {.name = name,
                                           .columns = columns,
                                           .column_count = 3,
                                           .row_bytes = ROW_BYTES},
                                 .store = kind->store,
                                 .blocks = 24};
    return spec;
}

static struct esk_tree_spec other_spec(const struct kind *kind) {
    struct esk_tree_spec spec = spec_of(kind, "other");
    spec.table.column_count = 2;
    spec.table.row_bytes = 8;
    return spec;
}

static void row_make(uint32_t number) {
    memset(row, 0, sizeof row);
    misuse_u32(row, number);
    misuse_u32(row + 4, number * 3);
}

static void table_works(struct esk_tree *table, uint16_t bytes) {
    uint8_t got[ROW_BYTES];
    row_make(key);
    ESK_CHECK_INT(esk_tree_put(table, row), ESK_OK);
    ESK_CHECK_INT(esk_tree_sync(table), ESK_OK);
    ESK_CHECK_INT(esk_tree_get(table, row, got), ESK_OK);
    ESK_CHECK_BYTES(got, row, bytes);
}

/// Both tables take a row and have it.
static void tables_work(void) {
    key++;
    table_works(tree, ROW_BYTES);
    table_works(other, 8);
}

static void tables_verify(void) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
    ESK_CHECK_INT(esk_tree_check(other, &report), ESK_OK);
    ESK_CHECK_INT(report.rows, key);
}

static void tables_open(const struct kind *kind) {
    ESK_CHECK_INT(esk_tree_open(&tree, &misuse_volume, "map", &kind->config),
                  ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&other, &misuse_volume, "other", &kind->config),
                  ESK_OK);
}

static void tables_close(void) {
    esk_tree_close(tree);
    esk_tree_close(other);
}

static void start(const struct kind *kind) {
    struct esk_tree_spec spec = spec_of(kind, "map");
    ESK_CONTEXT("%s", kind->name);
    misuse_start(&misuse_card);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &spec, NULL), ESK_OK);
    spec = other_spec(kind);
    ESK_CHECK_INT(esk_tree_create(&misuse_volume, &spec, NULL), ESK_OK);
    tables_open(kind);
    key = 0;
    for (uint8_t i = 0; i < ROWS; i++) {
        tables_work();
    }
}

/* How it is opened. */

/// Members that are not those of the kind.
struct config_case {
    struct esk_tree_config config;
    int moving; ///< status where nodes move
    int stays;  ///< where they stay
};

static const struct config_case config_cases[] = {
    {{.frames = 0}, ESK_OK, ESK_OK},
    {{.frames = 1}, ESK_E_INVALID, ESK_E_INVALID},
    {{.frames = 2}, ESK_OK, ESK_OK},
    {{.frames = 255}, ESK_OK, ESK_OK},
    {{.policy = 255}, ESK_OK, ESK_OK},
    {{.erase_ahead = 255}, ESK_OK, ESK_OK},
    {{.write_frames = 255}, ESK_OK, ESK_OK},
    {{.merge = &esk_merge_moving}, ESK_OK, ESK_E_UNSUPPORTED},
    {{.merge = &esk_merge_inplace}, ESK_E_UNSUPPORTED, ESK_OK},
    {{.batches = &esk_batches_inplace}, ESK_E_UNSUPPORTED, ESK_OK},
    {{.batches = &esk_batches_inplace, .batch_pages = 1},
     ESK_E_UNSUPPORTED,
     ESK_OK},
    {{.batches = &esk_batches_inplace, .batch_pages = UINT16_MAX},
     ESK_E_UNSUPPORTED,
     ESK_OK},
    {{.batch_pages = UINT16_MAX}, ESK_OK, ESK_OK},
    {{.write_cache = &esk_write_cache}, ESK_OK, ESK_E_UNSUPPORTED},
    {{.write_cache = &esk_write_cache, .write_frames = 255},
     ESK_OK,
     ESK_E_UNSUPPORTED},
    {{.write_cache = &esk_write_cache, .frames = 255, .write_frames = 255},
     ESK_OK,
     ESK_E_UNSUPPORTED},
    {{.write_cache = &esk_write_cache, .frames = 2, .write_frames = 1},
     ESK_OK,
     ESK_E_UNSUPPORTED},
};

static bool kind_moves(const struct kind *kind) {
    return kind->store >= ESK_STORE_WANDERING;
}

/// Opens "map" in exactly the arena that it asks for, and in one byte less.
static void config_try(const struct esk_tree_config *config, int status) {
    struct esk_table_info info;
    struct esk_tree *own = NULL;
    ESK_CHECK_INT(esk_volume_find(&misuse_volume, "map", &info), ESK_OK);
    uint32_t bytes = esk_tree_arena_bytes(&misuse_volume, &info, config);
    if (status != ESK_OK) {
        MISUSE(esk_tree_open(&own, &misuse_volume, "map", config), status);
        ESK_CHECK(own == NULL);
        return;
    }
    ESK_CHECK(bytes > 0);
    void *arena = malloc(bytes);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, arena, bytes - 1),
                  ESK_OK);
    MISUSE(esk_tree_open(&own, &misuse_volume, "map", config), ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, arena, bytes), ESK_OK);
    ESK_CHECK_INT(esk_tree_open(&own, &misuse_volume, "map", config), ESK_OK);
    ESK_CHECK_INT(esk_volume_arena_set(&misuse_volume, MISUSE_ARENA), ESK_OK);
    tree = own;
    for (uint16_t i = 0; i < 200; i++) {
        key++;
        table_works(tree, ROW_BYTES);
        ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
    }
    int begun = esk_tree_begin(tree, 0);
    ESK_CHECK(begun == ESK_OK || begun == ESK_E_UNSUPPORTED ||
              begun == ESK_FULL);
    if (begun == ESK_OK) {
        (void)esk_tree_put(tree, row);
        ESK_CHECK_INT(esk_tree_abort(tree), ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, NULL), ESK_OK);
    esk_tree_close(tree);
    free(arena);
}

ESK_TEST(tree_refuses_a_configuration_that_is_not_of_its_store) {
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < sizeof config_cases / sizeof config_cases[0];
             i++) {
            const struct config_case *at = &config_cases[i];
            struct esk_tree_config config = at->config;
            start(&kinds[k]);
            tables_close();
            config.store = kinds[k].config.store;
            ESK_CONTEXT("%s, config %zu", kinds[k].name, i);
            config_try(&config, kind_moves(&kinds[k]) ? at->moving : at->stays);
        }
    }
}

ESK_TEST(tree_is_opened_with_its_own_store_alone) {
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        tables_close();
        for (size_t o = 0; o <= KINDS; o++) {
            struct esk_btree_layout layout;
            struct esk_table_info info;
            struct esk_tree_config config = {.store = NULL};
            struct esk_tree *own = NULL;
            if (o < KINDS) {
                config.store = kinds[o].config.store;
            }
            int status = o == k ? ESK_OK : ESK_E_UNSUPPORTED;
            ESK_CHECK_INT(esk_volume_find(&misuse_volume, "map", &info),
                          ESK_OK);
            if (o != k) {
                MISUSE(esk_tree_open(&own, &misuse_volume, "map", &config),
                       status);
                ESK_CHECK_INT(
                    esk_tree_arena_bytes(&misuse_volume, &info, &config), 0);
            }
            if (o < KINDS) {
                MISUSE(esk_tree_layout_read(&misuse_volume, &info, config.store,
                                            &layout),
                       status);
            }
        }
        tables_open(&kinds[k]);
        tables_work();
        tables_verify();
    }
}

/* What it is created by. */

static const char name_of_32[] = "01234567890123456789012345678901";

#define AT {.name = "at", .type = ESK_TYPE_U32}
static const struct esk_column with_var[] = {
    AT, {.name = "x", .type = ESK_TYPE_VAR}};
static const struct esk_column wide[] = {
    AT, {.name = "x", .type = ESK_TYPE_BYTES, .bytes = 200}};
static const struct esk_column key_wide[] = {
    {.name = "x", .type = ESK_TYPE_BYTES, .bytes = 120}};

struct spec_case {
    struct esk_tree_spec spec;
    int status;
    uint8_t fault;
};

#define SPEC_FAULT(member, value, fault_kind)                                  \
    {.spec = {.member = (value)}, .status = ESK_E_SCHEMA, .fault = (fault_kind)}
#define SPEC_COLUMNS(array, number, fault_kind)                                \
    {.spec.table = {.columns = (array),                                        \
                    .column_count = sizeof(array) / sizeof(array)[0],          \
                    .key_column = (number)},                                   \
     .status = ESK_E_SCHEMA,                                                   \
     .fault = (fault_kind)}
#define SPEC_TOO_LARGE(count)                                                  \
    {.spec = {.blocks = (count)},                                              \
     .status = ESK_E_NO_SPACE,                                                 \
     .fault = ESK_FAULT_NO_ROOM}

static const struct spec_case spec_cases[] = {
    SPEC_FAULT(table.name, "", ESK_FAULT_TABLE_NAME),
    SPEC_FAULT(table.name, name_of_32, ESK_FAULT_TABLE_NAME),
    SPEC_FAULT(table.column_count, 255, ESK_FAULT_NO_COLUMNS),
    SPEC_FAULT(table.row_bytes, 21, ESK_FAULT_ROW_STRUCT),
    SPEC_FAULT(table.key_column, 3, ESK_FAULT_NO_KEY),
    SPEC_FAULT(table.key_column, 255, ESK_FAULT_NO_KEY),
    SPEC_FAULT(blocks, 1, ESK_FAULT_REGION),
    SPEC_FAULT(store, 5, ESK_FAULT_STORE),
    SPEC_FAULT(store, 255, ESK_FAULT_STORE),
    SPEC_FAULT(k_percent, 1, ESK_FAULT_STORE),
    SPEC_FAULT(k_percent, 9, ESK_FAULT_STORE),
    SPEC_FAULT(k_percent, 91, ESK_FAULT_STORE),
    SPEC_FAULT(k_percent, 255, ESK_FAULT_STORE),
    SPEC_COLUMNS(with_var, 0, ESK_FAULT_COLUMN_TYPE),
    SPEC_COLUMNS(with_var, 1, ESK_FAULT_KEY_TYPE),
    SPEC_COLUMNS(wide, 0, ESK_FAULT_ROW_TOO_WIDE),
    SPEC_COLUMNS(key_wide, 0, ESK_FAULT_ROW_TOO_WIDE),
    SPEC_TOO_LARGE(MISUSE_BLOCKS),
    SPEC_TOO_LARGE(FAR),
    SPEC_TOO_LARGE(UINT32_MAX / 8 + 1),
    SPEC_TOO_LARGE(UINT32_MAX / 2 + 1),
    SPEC_TOO_LARGE(UINT32_MAX - 1),
    SPEC_TOO_LARGE(UINT32_MAX),
};

/// The specification of a case: what it does not say is that of a tree that
/// can be created.
static struct esk_tree_spec case_spec(const struct spec_case *at,
                                      const struct kind *kind) {
    const struct esk_tree_spec *says = &at->spec;
    struct esk_tree_spec spec = spec_of(kind, "x");
    if (says->table.columns != NULL) {
        spec.table.column_count = says->table.column_count;
    }
    misuse_table(&spec.table, &says->table);
    spec.blocks = says->blocks != 0 ? says->blocks : spec.blocks;
    spec.store = says->store != 0 ? says->store : spec.store;
    spec.k_percent = says->k_percent;
    return spec;
}

ESK_TEST(tree_is_not_created_by_a_specification_that_cannot_be) {
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        for (size_t i = 0; i < sizeof spec_cases / sizeof spec_cases[0]; i++) {
            const struct spec_case *at = &spec_cases[i];
            struct esk_tree_spec spec = case_spec(at, &kinds[k]);
            struct esk_tree *own = NULL;
            struct esk_fault fault = {.kind = 0};
            ESK_CONTEXT("%s, specification %zu", kinds[k].name, i);
            MISUSE(esk_tree_create(&misuse_volume, &spec, &fault), at->status);
            ESK_CHECK_INT(fault.kind, at->fault);
            MISUSE(esk_tree_open_or_create(&own, &misuse_volume, &spec,
                                           &kinds[k].config, NULL),
                   at->status);
            ESK_CHECK(own == NULL);
        }
        tables_work();
        tables_verify();
    }
}

ESK_TEST(tree_in_place_is_not_created_where_nothing_is_overwritten) {
    for (size_t k = 0; k < 2; k++) {
        struct esk_tree_spec spec = spec_of(&kinds[k], "map");
        misuse_start(&misuse_nor);
        MISUSE(esk_tree_create(&misuse_volume, &spec, NULL), ESK_E_UNSUPPORTED);
    }
}

ESK_TEST(tree_is_not_created_of_another_store_than_it_is_opened_with) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_spec spec = spec_of(&kinds[k], "x");
        start(&kinds[k]);
        for (size_t o = 0; o <= KINDS; o++) {
            struct esk_tree_config config = {.store = NULL};
            struct esk_fault fault = {.kind = 0};
            struct esk_tree *own = NULL;
            if (o < KINDS) {
                config.store = kinds[o].config.store;
            }
            if (o != k) {
                MISUSE(esk_tree_open_or_create(&own, &misuse_volume, &spec,
                                               &config, &fault),
                       ESK_E_SCHEMA);
                ESK_CHECK_INT(fault.kind, ESK_FAULT_STORE);
            }
        }
        tables_work();
    }
}

/* Batches. */

ESK_TEST(tree_takes_batch_calls_in_their_order_alone) {
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        MISUSE(esk_tree_abort(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_begin(tree, 0), ESK_OK);
        MISUSE(esk_tree_begin(tree, 0), ESK_E_INVALID);
        MISUSE(esk_tree_begin(tree, UINT32_MAX), ESK_E_INVALID);
        row_make(key + 1);
        ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_commit(tree), ESK_OK);
        MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        MISUSE(esk_tree_abort(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
        tables_work();
        tables_verify();
    }
}

ESK_TEST(tree_begins_no_batch_of_more_pages_than_there_can_be) {
    static const uint32_t sizes[] = {MISUSE_PAGES,       FAR,
                                     UINT32_MAX / 2 + 1, UINT32_MAX - 9,
                                     UINT32_MAX - 3,     UINT32_MAX - 2,
                                     UINT32_MAX - 1,     UINT32_MAX};
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            ESK_CONTEXT("%s, %u pages", kinds[k].name, sizes[i]);
            MISUSE(esk_tree_begin(tree, sizes[i]), ESK_FULL);
            MISUSE(esk_tree_commit(tree), ESK_E_INVALID);
        }
        tables_work();
        tables_verify();
    }
}

/// Every call but those that change the table, commit or abort.
static void batch_call(uint8_t call) {
    struct esk_tree_report report;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    struct esk_tree_stats stats;
    struct esk_tree *reader = NULL;
    uint8_t got[ROW_BYTES];
    uint32_t count = 0;
    switch (call) {
    case 0:
        ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
        break;
    case 1:
        ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
        break;
    case 2:
        ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
        ESK_CHECK_INT(esk_tree_walk_next(tree, &walk, &node), ESK_OK);
        break;
    case 3:
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, NULL), ESK_OK);
        ESK_CHECK_INT(esk_tree_last(reader, got), ESK_OK);
        ESK_CHECK_INT(esk_tree_reader_renew(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_check(reader, &report), ESK_OK);
        ESK_CHECK_INT(esk_tree_count(reader, &count), ESK_OK);
        esk_tree_close(reader);
        break;
    case 4:
        ESK_CHECK_INT(esk_volume_step(&misuse_volume, UINT16_MAX, NULL),
                      ESK_OK);
        break;
    case 5:
        ESK_CHECK_INT(esk_volume_drop(&misuse_volume, "map"), ESK_E_BUSY);
        ESK_CHECK_INT(esk_volume_unmount(&misuse_volume), ESK_E_BUSY);
        esk_tree_stats(tree, &stats);
        break;
    default:
        /* The other table is not in the batch. */
        row_make(FAR);
        ESK_CHECK_INT(esk_tree_put(other, row), ESK_OK);
        ESK_CHECK_INT(esk_tree_delete(other, row), ESK_OK);
        break;
    }
}

/// Rows of the table, by reading all.
static uint32_t rows_now(void) {
    struct esk_tree_report report;
    ESK_CHECK_INT(esk_tree_check(tree, &report), ESK_OK);
    return report.rows;
}

/// How a batch ends: aborted, by a close, by a reset, committed.
enum batch_end { BATCH_ABORT, BATCH_CLOSE, BATCH_RESET, BATCH_COMMIT };

ESK_TEST(tree_takes_a_batch_back_whatever_is_called_in_it) {
    enum { CALLS = 7, CHANGES = 6 };
    for (size_t k = 0; k < KINDS; k++) {
        for (uint8_t n = 0; n < CALLS * 4; n++) {
            uint8_t call = n / 4;
            enum batch_end end = (enum batch_end)(n % 4);
            start(&kinds[k]);
            ESK_CONTEXT("%s, call %u, end %u", kinds[k].name, call, end);
            ESK_CHECK_INT(esk_tree_begin(tree, 0), ESK_OK);
            for (uint8_t i = 1; i <= CHANGES / 2; i++) {
                row_make(key + i);
                ESK_CHECK_INT(esk_tree_put(tree, row), ESK_OK);
            }
            batch_call(call);
            row_make(1);
            ESK_CHECK_INT(esk_tree_delete(tree, row), ESK_OK);
            if (end == BATCH_COMMIT) {
                ESK_CHECK_INT(esk_tree_commit(tree), ESK_OK);
                ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
            } else if (end == BATCH_ABORT) {
                ESK_CHECK_INT(esk_tree_abort(tree), ESK_OK);
            }
            if (end == BATCH_CLOSE) {
                tables_close();
            }
            if (end != BATCH_ABORT) {
                misuse_mount(0);
                tables_open(&kinds[k]);
            }
            uint32_t rows = key;
            if (end == BATCH_COMMIT) {
                rows += CHANGES / 2 - 1;
            }
            ESK_CHECK_INT(rows_now(), rows);
            key += CHANGES;
            tables_work();
        }
    }
}

ESK_TEST(tree_in_place_without_batches_says_so) {
    for (size_t k = 0; k < 2; k++) {
        struct esk_tree_config config = {.store = kinds[k].config.store};
        start(&kinds[k]);
        esk_tree_close(tree);
        ESK_CHECK_INT(esk_tree_open(&tree, &misuse_volume, "map", &config),
                      ESK_OK);
        MISUSE(esk_tree_begin(tree, 1), ESK_E_UNSUPPORTED);
        tables_work();
    }
}

/* Readers. */

ESK_TEST(reader_takes_no_change_and_has_no_reader) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree *reader = NULL;
        struct esk_tree *second = NULL;
        struct esk_tree_config absurd = {.frames = 255, .policy = 255};
        uint32_t done = 7;
        start(&kinds[k]);
        MISUSE(esk_tree_reader_renew(tree), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, &absurd), ESK_OK);
        MISUSE(esk_tree_reader_open(&second, reader, NULL), ESK_E_INVALID);
        ESK_CHECK(second == NULL);
        row_make(1);
        MISUSE(esk_tree_put(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_insert(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_update(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_delete(reader, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_put_many(reader, row, 1, &done), ESK_E_READ_ONLY);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_begin(reader, 0), ESK_E_READ_ONLY);
        MISUSE(esk_tree_commit(reader), ESK_E_INVALID);
        MISUSE(esk_tree_abort(reader), ESK_E_INVALID);
        MISUSE(esk_tree_sync(reader), ESK_OK);
        ESK_CHECK_INT(esk_tree_get(reader, row, row), ESK_OK);
        MISUSE(esk_tree_reader_renew(reader), ESK_OK);
        struct esk_tree_stats stats;
        struct esk_space space;
        struct esk_tree_report report;
        struct esk_tree_walk walk;
        esk_tree_stats(reader, &stats);
        esk_tree_space(reader, &space);
        MISUSE(esk_tree_check(reader, &report), ESK_OK);
        ESK_CHECK_INT(report.rows, ROWS);
        MISUSE(esk_tree_walk_open(reader, &walk), ESK_OK);
        MISUSE(esk_volume_step(&misuse_volume, 0, NULL), ESK_OK);
        esk_tree_close(reader);
        tables_work();
        tables_verify();
    }
}

/* Cursors and walks. */

static uint32_t rows_of(struct esk_tree *table, struct esk_tree_cursor *cursor,
                        int end) {
    uint8_t got[ROW_BYTES];
    uint32_t rows = 0;
    while (esk_tree_cursor_next(table, cursor, got) == ESK_OK) {
        rows++;
    }
    ESK_CHECK_INT(esk_tree_cursor_next(table, cursor, got), end);
    return rows;
}

ESK_TEST(cursor_serves_the_tree_alone_that_it_was_opened_on) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_cursor cursor;
        struct esk_tree *reader = NULL;
        start(&kinds[k]);
        ESK_CHECK_INT(esk_tree_reader_open(&reader, tree, NULL), ESK_OK);
        memset(&cursor, 0, sizeof cursor);
        MISUSE(esk_tree_cursor_next(tree, &cursor, row), ESK_E_INVALID);
        for (uint8_t backward = 0; backward < 2; backward++) {
            struct esk_tree_query query = {.backward = backward != 0};
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            MISUSE(esk_tree_cursor_next(other, &cursor, row), ESK_E_INVALID);
            MISUSE(esk_tree_cursor_next(tree, &cursor, row), ESK_OK);
            MISUSE(esk_tree_cursor_next(other, &cursor, row), ESK_E_INVALID);
            MISUSE(esk_tree_cursor_next(reader, &cursor, row), ESK_E_INVALID);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), ROWS - 1);
        }
        tables_work();
    }
}

ESK_TEST(walk_goes_over_the_tree_alone_that_it_was_opened_on) {
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        start(&kinds[k]);
        memset(&walk, 0, sizeof walk);
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_E_INVALID);
        ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
        MISUSE(esk_tree_walk_next(other, &walk, &node), ESK_E_INVALID);
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_OK);
        MISUSE(esk_tree_walk_next(other, &walk, &node), ESK_E_INVALID);
        tables_work();
        MISUSE(esk_tree_walk_next(tree, &walk, &node), ESK_E_STALE);
        tables_verify();
    }
}

ESK_TEST(cursor_takes_bounds_in_any_order) {
    static const uint8_t low[4] = {0};
    static const uint8_t high[4] = {0xFF, 0xFF, 0xFF, 0xFF};
    for (size_t k = 0; k < KINDS; k++) {
        start(&kinds[k]);
        for (uint8_t backward = 0; backward < 2; backward++) {
            struct esk_tree_cursor cursor;
            struct esk_tree_query query = {
                .key_min = high, .key_max = low, .backward = backward != 0};
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), 0);
            query.key_min = low;
            query.key_max = high;
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), ROWS);
        }
        MISUSE(esk_tree_floor(tree, low, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_ceiling(tree, high, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_get(tree, high, row), ESK_NOT_FOUND);
        MISUSE(esk_tree_delete(tree, high), ESK_NOT_FOUND);
    }
}

/* Rows and keys. */

ESK_TEST(tree_puts_none_of_none_and_only_what_the_call_says) {
    for (size_t k = 0; k < KINDS; k++) {
        uint32_t done = 7;
        start(&kinds[k]);
        MISUSE(esk_tree_put_many(tree, NULL, 0, &done), ESK_OK);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_put_many(tree, NULL, 0, NULL), ESK_OK);
        row_make(1);
        MISUSE(esk_tree_insert(tree, row), ESK_EXISTS);
        row_make(FAR);
        MISUSE(esk_tree_update(tree, row), ESK_NOT_FOUND);
        tables_work();
        tables_verify();
    }
}

ESK_TEST(tree_takes_no_key_that_is_no_number) {
    const struct esk_column ratio = {.name = "ratio", .type = ESK_TYPE_F32};
    const float no_number[2] = {NAN, -NAN};
    for (size_t k = 0; k < KINDS; k++) {
        struct esk_tree_spec spec = spec_of(&kinds[k], "ratios");
        uint8_t got[4];
        start(&kinds[k]);
        tables_close();
        spec.table.columns = &ratio;
        spec.table.column_count = 1;
        spec.table.row_bytes = 0;
        ESK_CHECK_INT(esk_tree_open_or_create(&tree, &misuse_volume, &spec,
                                              &kinds[k].config, NULL),
                      ESK_OK);
        for (int i = -40; i < 40; i++) {
            float value = (float)i;
            ESK_CHECK_INT(esk_tree_put(tree, &value), ESK_OK);
        }
        ESK_CHECK_INT(esk_tree_sync(tree), ESK_OK);
        for (uint8_t i = 0; i < 2; i++) {
            struct esk_tree_cursor cursor;
            uint32_t done = 7;
            const void *nan = &no_number[i];
            struct esk_tree_query query = {.key_min = nan, .key_max = nan};
            MISUSE(esk_tree_put(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_insert(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_update(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_put_many(tree, nan, 1, &done), ESK_E_INVALID);
            ESK_CHECK_INT(done, 0);
            MISUSE(esk_tree_delete(tree, nan), ESK_E_INVALID);
            MISUSE(esk_tree_get(tree, nan, got), ESK_NOT_FOUND);
            ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, &query), ESK_OK);
            ESK_CHECK_INT(rows_of(tree, &cursor, ESK_END), 0);
        }
    }
}

ESK_TEST(tree_mounted_read_only_refuses_each_change) {
    for (size_t k = 0; k < KINDS; k++) {
        uint32_t done = 7;
        start(&kinds[k]);
        tables_close();
        misuse_mount(ESK_MOUNT_READ_ONLY);
        tables_open(&kinds[k]);
        row_make(1);
        MISUSE(esk_tree_put(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_insert(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_update(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_put_many(tree, row, 1, &done), ESK_E_READ_ONLY);
        ESK_CHECK_INT(done, 0);
        MISUSE(esk_tree_delete(tree, row), ESK_E_READ_ONLY);
        MISUSE(esk_tree_begin(tree, 0), ESK_E_READ_ONLY);
        MISUSE(esk_tree_sync(tree), ESK_OK);
        struct esk_tree_report report;
        MISUSE(esk_tree_check(tree, &report), ESK_OK);
        tables_close();
        misuse_mount(0);
        tables_open(&kinds[k]);
        tables_work();
        tables_verify();
    }
}

/* What is asserted: no pointer is NULL but where its call says so. */

static void pointers_asserted(const struct kind *kind) {
    struct esk_tree_cursor cursor;
    struct esk_tree_walk walk;
    struct esk_tree_node node;
    start(kind);
    row_make(1);
    MISUSE_ASSERTS(esk_tree_put(tree, NULL));
    MISUSE_ASSERTS(esk_tree_insert(tree, NULL));
    MISUSE_ASSERTS(esk_tree_update(tree, NULL));
    MISUSE_ASSERTS(esk_tree_put_many(tree, NULL, 1, NULL));
    MISUSE_ASSERTS(esk_tree_delete(tree, NULL));
    MISUSE_ASSERTS(esk_tree_get(tree, NULL, row));
    MISUSE_ASSERTS(esk_tree_get(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_floor(tree, NULL, row));
    MISUSE_ASSERTS(esk_tree_floor(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_ceiling(tree, row, NULL));
    MISUSE_ASSERTS(esk_tree_first(tree, NULL));
    MISUSE_ASSERTS(esk_tree_last(tree, NULL));
    MISUSE_ASSERTS(esk_tree_count(tree, NULL));
    MISUSE_ASSERTS(esk_tree_cursor_open(tree, NULL, NULL));
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, NULL, row));
    ESK_CHECK_INT(esk_tree_cursor_open(tree, &cursor, NULL), ESK_OK);
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, &cursor, NULL));
    ESK_CHECK_INT(esk_tree_cursor_next(tree, &cursor, row), ESK_OK);
    MISUSE_ASSERTS(esk_tree_cursor_next(tree, &cursor, NULL));
    MISUSE_ASSERTS(esk_tree_check(tree, NULL));
    MISUSE_ASSERTS(esk_tree_stats(tree, NULL));
    MISUSE_ASSERTS(esk_tree_space(tree, NULL));
    MISUSE_ASSERTS(esk_tree_walk_open(tree, NULL));
    MISUSE_ASSERTS(esk_tree_walk_next(tree, NULL, &node));
    ESK_CHECK_INT(esk_tree_walk_open(tree, &walk), ESK_OK);
    MISUSE_ASSERTS(esk_tree_walk_next(tree, &walk, NULL));
    MISUSE_ASSERTS(esk_tree_reader_open(NULL, tree, NULL));
    tables_work();
    tables_verify();
}

ESK_TEST(tree_asserts_its_pointers) {
    for (size_t k = 0; k < KINDS; k++) {
        pointers_asserted(&kinds[k]);
    }
}

ESK_TEST(tree_asserts_the_pointers_of_its_making) {
    const struct esk_tree_config *config = &kinds[3].config;
    struct esk_volume *volume = &misuse_volume;
    struct esk_tree_spec spec = spec_of(&kinds[3], "x");
    struct esk_btree_layout layout;
    struct esk_tree_options options;
    struct esk_table_info info;
    struct esk_tree *own = NULL;
    struct esk_fault fault;
    start(&kinds[3]);
    ESK_CHECK_INT(esk_volume_find(volume, "map", &info), ESK_OK);
    MISUSE_ASSERTS(esk_tree_options(NULL, &options));
    MISUSE_ASSERTS(esk_tree_options(&info, NULL));
    MISUSE_ASSERTS(esk_tree_spec_check(NULL, 256, &fault));
    MISUSE_ASSERTS(esk_tree_spec_check(&spec, 256, NULL));
    MISUSE_ASSERTS(esk_tree_create(NULL, &spec, NULL));
    MISUSE_ASSERTS(esk_tree_create(volume, NULL, NULL));
    MISUSE_ASSERTS(esk_tree_arena_bytes(NULL, &info, config));
    MISUSE_ASSERTS(esk_tree_arena_bytes(volume, NULL, config));
    MISUSE_ASSERTS(esk_tree_arena_bytes(volume, &info, NULL));
    MISUSE_ASSERTS(esk_tree_layout_read(volume, &info, NULL, &layout));
    MISUSE_ASSERTS(esk_tree_layout_read(volume, &info, config->store, NULL));
    MISUSE_ASSERTS(esk_tree_open(NULL, volume, "map", config));
    MISUSE_ASSERTS(esk_tree_open(&own, NULL, "map", config));
    MISUSE_ASSERTS(esk_tree_open(&own, volume, "map", NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(NULL, volume, &spec, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, NULL, &spec, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, volume, NULL, config, NULL));
    MISUSE_ASSERTS(esk_tree_open_or_create(&own, volume, &spec, NULL, NULL));
    ESK_CHECK_INT(esk_tree_layout_read(volume, &info, config->store, &layout),
                  ESK_OK);
    /* It is open. */
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, &layout, config));
    esk_tree_close(tree);
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, &layout, NULL));
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, NULL, &layout, config));
    MISUSE_ASSERTS(esk_tree_attach(&own, volume, &info, NULL, config));
    ESK_CHECK_INT(esk_tree_open(&tree, volume, "map", config), ESK_OK);
    tables_work();
}

/* The plan. */

ESK_TEST(tree_plan_asserts_its_pointers) {
    const struct esk_tree_need need = {.rows = 1};
    struct esk_tree_plan plan;
    uint8_t k = 0;
    MISUSE_ASSERTS(esk_tree_plan_headers(NULL));
    MISUSE_ASSERTS(esk_tree_plan_entries(NULL, 50, 1, 1));
    MISUSE_ASSERTS(esk_tree_plan_best_k(NULL, &k));
    MISUSE_ASSERTS(esk_tree_plan_best_k(&need, NULL));
    MISUSE_ASSERTS(esk_tree_plan(NULL, &plan));
    MISUSE_ASSERTS(esk_tree_plan(&need, NULL));
}

ESK_TEST(tree_plan_answers_any_need) {
    static const uint16_t words[] = {0, 1, 2, 15, 16, 127, 512, UINT16_MAX};
    static const uint32_t counts[] = {0, 1, 1000, UINT32_MAX};
    static const uint8_t bytes[] = {0, 1, 50, 100, 101, 255};
    enum { WORDS = 8, COUNTS = 4, BYTES = 6, ROUNDS = 60000 };
    uint32_t random = 12345;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t drawn[16];
        for (uint8_t n = 0; n < 16; n++) {
            random = random * 1664525u + 1013904223u;
            drawn[n] = random >> 16;
        }
        struct esk_tree_plan plan;
        uint8_t k = 0;
        struct esk_tree_need need = {
            .rows = counts[drawn[0] % COUNTS],
            .updates_a_day = counts[drawn[1] % COUNTS],
            .endurance = counts[drawn[2] % COUNTS],
            .blocks = counts[drawn[3] % COUNTS],
            .block_pages = words[drawn[4] % WORDS],
            .page_bytes = words[drawn[5] % WORDS],
            .page_header_bytes = words[drawn[6] % 5],
            .node_header_bytes = words[drawn[7] % 5],
            .leaf_entry_bytes = words[drawn[8] % WORDS],
            .index_entry_bytes = words[drawn[9] % WORDS],
            .store = (uint8_t)(drawn[10] % 6),
            .k_percent = bytes[drawn[11] % BYTES],
            .height_most = bytes[drawn[12] % BYTES],
            .fill_percent = bytes[drawn[13] % BYTES]};
        ESK_CONTEXT("need %u", i);
        int status = esk_tree_plan(&need, &plan);
        ESK_CHECK(status == ESK_OK || status == ESK_E_INVALID ||
                  status == ESK_NOT_FOUND);
        status = esk_tree_plan_best_k(&need, &k);
        ESK_CHECK(status == ESK_OK || status == ESK_NOT_FOUND);
        uint16_t entries = esk_tree_plan_entries(
            &need, bytes[drawn[14] % BYTES], bytes[drawn[15] % 2],
            bytes[drawn[14] % BYTES]);
        bool is_none = need.leaf_entry_bytes == 0 ||
                       need.page_bytes < need.page_header_bytes;
        ESK_CHECK(!is_none || bytes[drawn[15] % 2] != 1 || entries == 0);
        esk_tree_plan_headers(&need);
    }
}

ESK_TEST_MAIN()
