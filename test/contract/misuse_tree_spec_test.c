// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What a program can get wrong when it creates and opens a tree of each store:
/// each mistake is refused with the error that the header names, the medium
/// stays as it was, and the tables that are there go on working.
#include "test/harness/misuse_tree.h"

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
            bool few = kinds[k].store == ESK_STORE_TNC && config.frames == 2;
            int moving = few ? ESK_E_INVALID : at->moving;
            config_try(&config, kind_moves(&kinds[k]) ? moving : at->stays);
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
    SPEC_FAULT(store, 6, ESK_FAULT_STORE),
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

ESK_TEST_MAIN()
