// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Salvage: a volume without superblocks is mounted from the pages of its
/// catalog, and what can be read of its tables is copied into another volume,
/// with every gap reported.
#include <stdlib.h>

#include "test/harness/fixture.h"
#include "volume/volume.h"

enum {
    LOG_ROWS = 900,
    NOTES = 60,
    MAP_ROWS = 300,
    NOTE_BYTES = 64,
    CHECKSUMS = 3,
};

static const struct esk_column log_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "level", .type = ESK_TYPE_I32},
    {.name = "flow", .type = ESK_TYPE_I32},
};
static const struct esk_column note_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32},
    {.name = "note", .type = ESK_TYPE_VAR},
};
static const struct esk_column map_columns[] = {
    {.name = "id", .type = ESK_TYPE_U32},
    {.name = "x", .type = ESK_TYPE_I32},
};
static const struct esk_index_spec log_index[] = {{.column = 1}};

/// A block of one page has each page of the catalog in a block of its own.
static const struct esk_geometry media[] = {
    ESK_NOR(96, 8, 256),
    ESK_NAND(96, 8, 512),
    ESK_CARD(96, 8, 512),
    ESK_CARD(512, 1, 512),
};
enum { MEDIA = sizeof media / sizeof media[0] };

/// A volume on a simulator, and its three tables.
struct store {
    struct esk_sim *sim;
    struct esk_device device;
    struct esk_volume volume;
    struct esk_series *log;
    struct esk_series *notes;
    struct esk_tree *map;
    uint64_t arena[4096];
};

static const struct esk_geometry *geometry_of(const struct store *store) {
    return &store->device.geometry;
}

static bool has_small_blocks(const struct store *store) {
    return geometry_of(store)->block_pages == 1;
}

static struct store *store_new(const struct esk_geometry *geometry) {
    struct store *store = calloc(1, sizeof *store);
    struct esk_sim_config medium = {.geometry = *geometry, .seed = 3};
    ESK_CHECK_INT(esk_sim_create(&store->sim, &medium), ESK_OK);
    failing_device_make(&store->device, esk_sim_device(store->sim));
    return store;
}

static void store_format(struct store *store, uint8_t checksum) {
    struct esk_volume_config config = {.checksum = checksum, .uuid = {1, 2}};
    ESK_CHECK_INT(esk_volume_format(&store->device, &config, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
}

static int log_create(struct store *store) {
    struct esk_series_spec spec = {
        .table = {.name = "log", .columns = log_columns, .column_count = 3},
        .indexes = log_index,
        .index_count = 1,
        .data_blocks = has_small_blocks(store) ? 100 : 14,
        .index_blocks = 6,
    };
    return esk_series_create(&store->volume, &spec, NULL);
}

static int notes_create(struct store *store) {
    struct esk_series_spec spec = {
        .table = {.name = "notes", .columns = note_columns, .column_count = 2},
        .data_blocks = has_small_blocks(store) ? 40 : 8,
        .index_blocks = 6,
        .var_blocks = has_small_blocks(store) ? 40 : 8,
    };
    return esk_series_create(&store->volume, &spec, NULL);
}

static bool is_overwritten(const struct store *store) {
    return (geometry_of(store)->flags & ESK_MEDIUM_OVERWRITE) != 0;
}

static int map_create(struct store *store) {
    struct esk_tree_spec spec = {
        .table = {.name = "map", .columns = map_columns, .column_count = 2},
        .blocks = has_small_blocks(store) ? 80 : 16,
        .store =
            is_overwritten(store) ? ESK_STORE_INPLACE : ESK_STORE_WANDERING,
    };
    return esk_tree_create(&store->volume, &spec, NULL);
}

static int map_open(struct store *store) {
    struct esk_tree_config config = {.store = is_overwritten(store)
                                                  ? &esk_store_inplace
                                                  : &esk_store_wandering};
    return esk_tree_open(&store->map, &store->volume, "map", &config);
}

static void tables_open(struct store *store) {
    ESK_CHECK_INT(esk_series_open(&store->log, &store->volume, "log", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&store->notes, &store->volume, "notes", NULL),
                  ESK_OK);
    ESK_CHECK_INT(map_open(store), ESK_OK);
}

static void tables_close(struct store *store) {
    esk_tree_close(store->map);
    esk_series_close(store->notes);
    esk_series_close(store->log);
}

static void tables_create(struct store *store) {
    ESK_CHECK_INT(log_create(store), ESK_OK);
    ESK_CHECK_INT(notes_create(store), ESK_OK);
    ESK_CHECK_INT(map_create(store), ESK_OK);
}

static void log_row(uint8_t *row, uint32_t key) {
    esk_store_u32(row, key);
    esk_store_u32(row + 4, key * 7);
    esk_store_u32(row + 8, ~key);
}

/// The note with key `key` has key % 50 bytes.
static uint32_t note_make(uint8_t *note, uint32_t key) {
    uint32_t bytes = key % 50;
    for (uint32_t i = 0; i < bytes; i++) {
        note[i] = (uint8_t)(key + i);
    }
    return bytes;
}

static void store_fill(struct store *store) {
    uint8_t row[16] = {0};
    uint8_t note[NOTE_BYTES];
    for (uint32_t i = 1; i <= LOG_ROWS; i++) {
        log_row(row, i);
        ESK_CHECK_INT(esk_series_append(store->log, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(store->log), ESK_OK);
    for (uint32_t i = 1; i <= NOTES; i++) {
        esk_store_u32(row, i);
        uint32_t bytes = note_make(note, i);
        ESK_CHECK_INT(esk_series_append_var(store->notes, row, note, bytes),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_series_sync(store->notes), ESK_OK);
    for (uint32_t i = 1; i <= MAP_ROWS; i++) {
        esk_store_u32(row, i);
        esk_store_u32(row + 4, i * 3);
        ESK_CHECK_INT(esk_tree_put(store->map, row), ESK_OK);
    }
    ESK_CHECK_INT(esk_tree_sync(store->map), ESK_OK);
}

/// A volume with three tables, all of them with rows, closed.
static struct store *store_start(const struct esk_geometry *geometry,
                                 uint8_t checksum) {
    struct store *store = store_new(geometry);
    store_format(store, checksum);
    tables_create(store);
    tables_open(store);
    store_fill(store);
    tables_close(store);
    return store;
}

static void store_end(struct store *store) {
    esk_sim_destroy(store->sim);
    free(store);
}

static void page_spoil(struct store *store, esk_page_id id) {
    uint8_t noise[512];
    for (uint16_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)(i * 5u + id);
    }
    ESK_CHECK_INT(
        esk_sim_poke(store->sim, id, 0, noise, geometry_of(store)->page_bytes),
        ESK_OK);
}

/// Spoils page `index` of half `half` of the catalog.
static void half_spoil(struct store *store, uint8_t half, uint16_t index) {
    esk_page_id id = 0;
    ESK_CHECK_INT(esk_half_page(&store->volume, half, index, &id), ESK_OK);
    page_spoil(store, id);
}

static void superblocks_spoil(struct store *store) {
    uint16_t last = (uint16_t)(store->volume.half_pages - 1u);
    half_spoil(store, 0, last);
    half_spoil(store, 1, last);
}

/// Erases half `half`, as a boot loader that is written there.
static void half_erase(struct store *store, uint8_t half) {
    const struct esk_geometry *geometry = geometry_of(store);
    uint32_t blocks = store->volume.half_blocks;
    uint32_t first = half == 0 ? 0 : geometry->block_count - blocks;
    uint8_t blank[512];
    memset(blank, geometry->erased_value, sizeof blank);
    for (uint32_t i = 0; i < blocks * geometry->block_pages; i++) {
        ESK_CHECK_INT(esk_sim_poke(store->sim,
                                   first * geometry->block_pages + i, 0, blank,
                                   geometry->page_bytes),
                      ESK_OK);
    }
}

static int store_salvage(struct store *store) {
    return esk_volume_salvage(&store->volume, &store->device, store->arena,
                              sizeof store->arena);
}

/// Copies the log; each gap is counted.
static int log_copy(struct esk_series_copy *copy, struct esk_series *from,
                    struct esk_series *to) {
    uint8_t row[16];
    uint8_t value[NOTE_BYTES];
    int status = esk_series_copy_open(copy, from);
    while (status == ESK_OK || status == ESK_NOT_FOUND) {
        status =
            esk_series_copy_step(copy, from, to, row, value, sizeof value, 17);
    }
    return status;
}

static int map_copy(struct esk_tree_copy *copy, struct esk_tree *from,
                    struct esk_tree *to) {
    uint8_t row[16];
    int status = esk_tree_copy_open(copy, from);
    while (status == ESK_OK || status == ESK_NOT_FOUND) {
        status = esk_tree_copy_step(copy, from, to, row, 17);
    }
    return status;
}

static void notes_check(struct esk_series *notes) {
    for (uint32_t i = 1; i <= NOTES; i++) {
        struct esk_series_value value;
        uint8_t row[16];
        uint8_t note[NOTE_BYTES];
        uint8_t found[NOTE_BYTES];
        uint32_t got = 0;
        uint32_t bytes = note_make(note, i);
        ESK_CHECK_INT(esk_series_get(notes, i, row), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(notes, row, &value), ESK_OK);
        ESK_CHECK_INT(
            esk_series_value_read(notes, &value, found, sizeof found, &got),
            ESK_OK);
        ESK_CHECK_INT(got, bytes);
        ESK_CHECK(memcmp(note, found, bytes) == 0);
    }
}

/// Copies all tables of a mounted volume: each row is there.
static void whole_check(struct store *from) {
    struct store *to = store_new(geometry_of(from));
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    uint8_t expected[16];
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    tables_open(from);
    ESK_CHECK_INT(log_copy(&copy, from->log, to->log), ESK_END);
    ESK_CHECK_INT(copy.rows, LOG_ROWS);
    ESK_CHECK_INT(copy.gaps, 0);
    for (uint32_t i = 1; i <= LOG_ROWS; i++) {
        log_row(expected, i);
        ESK_CHECK_INT(esk_series_get(to->log, i, row), ESK_OK);
        ESK_CHECK(memcmp(row, expected, 12) == 0);
    }
    ESK_CHECK_INT(log_copy(&copy, from->notes, to->notes), ESK_END);
    ESK_CHECK_INT(copy.rows, NOTES);
    ESK_CHECK_INT(copy.values_lost, 0);
    notes_check(to->notes);
    ESK_CHECK_INT(map_copy(&tree, from->map, to->map), ESK_END);
    ESK_CHECK_INT(tree.rows, MAP_ROWS);
    ESK_CHECK_INT(tree.gaps, 0);
    for (uint32_t i = 1; i <= MAP_ROWS; i++) {
        esk_store_u32(expected, i);
        ESK_CHECK_INT(esk_tree_get(to->map, expected, row), ESK_OK);
        ESK_CHECK_INT(esk_load_u32(row + 4), i * 3);
    }
    tables_close(from);
    store_end(to);
}

/// What becomes of the meta halves; the catalog has three pages or more.
enum loss {
    LOSS_SUPERBLOCKS,
    LOSS_FIRST_HALF,
    LOSS_LAST_HALF,
    LOSS_MIXED, ///< also of each half a page that the other has
    LOSS_COUNT
};

static void store_lose(struct store *store, enum loss loss) {
    superblocks_spoil(store);
    if (loss == LOSS_FIRST_HALF) {
        half_erase(store, 0);
    } else if (loss == LOSS_LAST_HALF) {
        half_erase(store, 1);
    } else if (loss == LOSS_MIXED) {
        half_spoil(store, 0, 1);
        half_spoil(store, 1, 2);
    }
}

ESK_TEST(volume_without_superblocks_is_mounted_from_its_catalog) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            for (int loss = 0; loss < LOSS_COUNT; loss++) {
                struct store *store = store_start(&media[m], checksum);
                ESK_CONTEXT("medium %u, checksum %u, loss %d", (unsigned)m,
                            checksum, loss);
                store_lose(store, (enum loss)loss);
                ESK_CHECK(esk_volume_mount(&store->volume, &store->device, 0,
                                           store->arena,
                                           sizeof store->arena) != ESK_OK);
                ESK_CHECK_INT(store_salvage(store), ESK_OK);
                ESK_CHECK_INT(store->volume.checksum, checksum);
                whole_check(store);
                store_end(store);
            }
        }
    }
}

ESK_TEST(salvaged_volume_is_read_only) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint64_t before = esk_sim_op_count(store->sim);
    ESK_CHECK_INT(esk_volume_drop(&store->volume, "log"), ESK_E_READ_ONLY);
    tables_open(store);
    uint8_t row[16];
    log_row(row, LOG_ROWS + 1);
    ESK_CHECK_INT(esk_series_append(store->log, row), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esk_tree_put(store->map, row), ESK_E_READ_ONLY);
    tables_close(store);
    ESK_CHECK_INT(esk_sim_op_count(store->sim), before);
    ESK_CHECK_INT(esk_volume_unmount(&store->volume), ESK_OK);
    store_end(store);
}

/// One page of one copy is left: a row of the table is the other witness.
ESK_TEST(one_page_of_a_catalog_needs_a_page_of_its_table) {
    for (size_t m = 0; m < MEDIA; m++) {
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            for (int rows = 0; rows < 2; rows++) {
                struct store *store = store_new(&media[m]);
                ESK_CONTEXT("medium %u, checksum %u, %d rows", (unsigned)m,
                            checksum, rows);
                store_format(store, checksum);
                ESK_CHECK_INT(map_create(store), ESK_OK);
                ESK_CHECK_INT(map_open(store), ESK_OK);
                if (rows > 0) {
                    uint8_t row[16] = {5};
                    ESK_CHECK_INT(esk_tree_put(store->map, row), ESK_OK);
                    ESK_CHECK_INT(esk_tree_sync(store->map), ESK_OK);
                }
                esk_tree_close(store->map);
                ESK_CHECK_INT(store->volume.catalog_pages, 1);
                superblocks_spoil(store);
                half_erase(store, 0);
                ESK_CHECK_INT(store_salvage(store),
                              rows > 0 ? ESK_OK : ESK_NOT_FOUND);
                if (rows > 0) {
                    uint32_t count = 0;
                    ESK_CHECK_INT(store->volume.checksum, checksum);
                    ESK_CHECK_INT(map_open(store), ESK_OK);
                    ESK_CHECK_INT(esk_tree_count(store->map, &count), ESK_OK);
                    ESK_CHECK_INT(count, 1);
                }
                store_end(store);
            }
        }
    }
}

/// Rows of a series that a sync made durable within a page.
ESK_TEST(rows_that_were_sealed_tell_the_checksum) {
    for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
        struct store *store = store_new(&media[0]);
        uint8_t row[16];
        uint32_t count = 0;
        store_format(store, checksum);
        ESK_CHECK_INT(log_create(store), ESK_OK);
        ESK_CHECK_INT(esk_series_open(&store->log, &store->volume, "log", NULL),
                      ESK_OK);
        log_row(row, 1);
        ESK_CHECK_INT(esk_series_append(store->log, row), ESK_OK);
        ESK_CHECK_INT(esk_series_sync(store->log), ESK_OK);
        esk_series_close(store->log);
        superblocks_spoil(store);
        half_erase(store, 1);
        ESK_CHECK_INT(store_salvage(store), ESK_OK);
        ESK_CHECK_INT(store->volume.checksum, checksum);
        ESK_CHECK_INT(esk_series_open(&store->log, &store->volume, "log", NULL),
                      ESK_OK);
        ESK_CHECK_INT(esk_series_count(store->log, &count), ESK_OK);
        ESK_CHECK_INT(count, 1);
        store_end(store);
    }
}

/// A commit is cut at each of its operations; then both superblocks go.
ESK_TEST(commit_that_was_cut_hides_no_table) {
    for (size_t m = 0; m < MEDIA; m++) {
        bool cut = true;
        for (uint64_t op = 0; cut; op++) {
            struct store *store = store_new(&media[m]);
            ESK_CONTEXT("medium %u, operation %u", (unsigned)m, (unsigned)op);
            store_format(store, ESK_CHECKSUM_CRC32C);
            ESK_CHECK_INT(log_create(store), ESK_OK);
            ESK_CHECK_INT(notes_create(store), ESK_OK);
            esk_sim_cut_at(store->sim, esk_sim_op_count(store->sim) + op,
                           ESK_SIM_CUT_BEFORE);
            cut = map_create(store) != ESK_OK;
            esk_sim_power_on(store->sim);
            superblocks_spoil(store);
            ESK_CHECK_INT(store_salvage(store), ESK_OK);
            struct esk_table_info info;
            ESK_CHECK_INT(esk_volume_find(&store->volume, "log", &info),
                          ESK_OK);
            ESK_CHECK_INT(esk_volume_find(&store->volume, "notes", &info),
                          ESK_OK);
            if (!cut) {
                ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info),
                              ESK_OK);
            }
            store_end(store);
        }
    }
}

ESK_TEST(of_two_volumes_the_one_formatted_last_is_mounted) {
    struct store *store = store_new(&media[0]);
    struct esk_volume_config large = {.tables_max = 20, .uuid = {9}};
    struct esk_volume_config small = {
        .tables_max = 1, .uuid = {7}, .overwrite = true};
    ESK_CHECK_INT(esk_volume_format(&store->device, &large, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
    tables_create(store);
    /* Its second half begins further from the end. */
    uint16_t old_last = (uint16_t)(store->volume.half_pages - 1u);
    esk_page_id old[2];
    for (uint8_t half = 0; half < 2; half++) {
        ESK_CHECK_INT(esk_half_page(&store->volume, half, old_last, &old[half]),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_format(&store->device, &small, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(map_create(store), ESK_OK);
    superblocks_spoil(store);
    page_spoil(store, old[0]);
    page_spoil(store, old[1]);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "log", &info), ESK_NOT_FOUND);
    store_end(store);
}

/// Copies that nowhere agree: half 1 lost the block of its first page, so it
/// seems to begin later.
ESK_TEST(copies_that_do_not_agree_are_not_mixed) {
    struct store *store = store_start(&media[3], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    half_spoil(store, 1, 0);
    half_spoil(store, 0, 2);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint16_t cursor = 0;
    struct esk_table_info info;
    bool found[2] = {false, false};
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_volume_list(&store->volume, &cursor, &info);
        if (status == ESK_OK) {
            bool is_log = strcmp(info.name, "log") == 0;
            ESK_CHECK(is_log || strcmp(info.name, "notes") == 0);
            ESK_CHECK(!found[is_log]);
            found[is_log] = true;
        } else {
            ESK_CHECK(status == ESK_END || status == ESK_E_CORRUPT);
        }
    }
    ESK_CHECK(found[0] && found[1]);
    store_end(store);
}

ESK_TEST(media_without_a_catalog_are_refused) {
    for (size_t m = 0; m < MEDIA; m++) {
        struct store *store = store_new(&media[m]);
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        uint8_t noise[512];
        uint32_t state = 5;
        uint32_t pages = media[m].block_count * media[m].block_pages;
        for (uint32_t i = 0; i < pages; i++) {
            for (uint16_t j = 0; j < sizeof noise; j++) {
                state = state * 1664525u + 1013904223u;
                noise[j] = (uint8_t)(state >> 24);
            }
            /* Most look like a catalog's. */
            noise[ESK_ENVELOPE_KIND] = ESK_PAGE_CATALOG;
            noise[ESK_ENVELOPE_TABLE] = 0;
            ESK_CHECK_INT(
                esk_sim_poke(store->sim, i, 0, noise, media[m].page_bytes),
                ESK_OK);
        }
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        uint16_t cursor = 0;
        struct esk_table_info info;
        ESK_CHECK_INT(esk_volume_list(&store->volume, &cursor, &info),
                      ESK_E_INVALID);
        store_end(store);
    }
}

ESK_TEST(salvage_refuses_what_a_mount_refuses) {
    struct store *store = store_new(&media[0]);
    struct esk_volume *volume = &store->volume;
    uint8_t *arena = (uint8_t *)store->arena;
    ESK_CHECK_INT(esk_volume_salvage(volume, &store->device, arena + 1, 4096),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_volume_salvage(volume, &store->device, arena, 255),
                  ESK_E_NO_MEMORY);
    store->device.geometry.page_bytes = 100;
    ESK_CHECK_INT(store_salvage(store), ESK_E_GEOMETRY);
    store_end(store);
}

ESK_TEST(salvage_says_when_the_medium_cannot_be_read) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    superblocks_spoil(store);
    fail_from(1, UINT32_MAX, READ_BROKEN);
    ESK_CHECK_INT(store_salvage(store), ESK_E_IO);
    ESK_CHECK(fail_end());
    /* Reads that fail now and then cost at most a copy. */
    for (uint32_t first = 1; first < 700; first++) {
        fail_from(first, 0, READ_BROKEN);
        ESK_CHECK_INT(store_salvage(store), ESK_OK);
        (void)fail_end();
        ESK_CHECK_INT(store->volume.catalog_pages, 3);
    }
    whole_check(store);
    store_end(store);
}

/// Makes the data region of the only table begin at `block`, in the copy of
/// the catalog in half `half`.
static void region_forge(struct store *store, uint8_t half, uint32_t block) {
    uint8_t page[512];
    uint8_t entry[9] = {ESK_REGION_DATA};
    esk_page_id id = 0;
    uint16_t at = ESK_ENVELOPE_BYTES;
    struct esk_meta meta;
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
    esk_store_u32(entry + 1, info.block[ESK_REGION_DATA]);
    esk_store_u32(entry + 5, info.blocks[ESK_REGION_DATA]);
    ESK_CHECK_INT(esk_half_page(&store->volume, half, 0, &id), ESK_OK);
    ESK_CHECK_INT(esk_sim_peek(store->sim, id, page), ESK_OK);
    while (memcmp(page + at, entry, sizeof entry) != 0) {
        at++;
    }
    esk_store_u32(page + at + 1, block);
    esk_meta_open(&meta, &store->volume, ESK_PAGE_CATALOG);
    esk_envelope_close(&meta.region.envelope, page, esk_page_count(page));
    ESK_CHECK_INT(
        esk_sim_poke(store->sim, id, 0, page, geometry_of(store)->page_bytes),
        ESK_OK);
}

ESK_TEST(region_outside_of_the_device_is_not_read) {
    static const uint32_t blocks[] = {95, 96, 4000, UINT32_MAX};
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        struct store *store = store_new(&media[0]);
        ESK_CONTEXT("block %u", (unsigned)blocks[i]);
        store_format(store, ESK_CHECKSUM_CRC16);
        ESK_CHECK_INT(map_create(store), ESK_OK);
        region_forge(store, 0, blocks[i]);
        half_erase(store, 1);
        half_spoil(store, 0, (uint16_t)(store->volume.half_pages - 1u));
        ESK_CHECK_INT(store_salvage(store), ESK_NOT_FOUND);
        store_end(store);
    }
}

/// The device page of data page `position` of the series `name`.
static esk_page_id data_page(struct store *store, const char *name,
                             uint32_t position) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&store->volume, name, &info), ESK_OK);
    return info.block[ESK_REGION_DATA] * geometry_of(store)->block_pages +
           position;
}

ESK_TEST(copy_says_between_which_keys_rows_are_lost) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    uint8_t row[16];
    uint32_t rows = (256 - 16) / 12; /* of a page */
    store_format(to, ESK_CHECKSUM_CRC16);
    tables_create(to);
    tables_open(to);
    page_spoil(store, data_page(store, "log", 0));
    page_spoil(store, data_page(store, "log", 3));
    page_spoil(store, data_page(store, "log", 4));
    page_spoil(store, data_page(store, "log", (LOG_ROWS - 1) / rows));
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    int gaps = 0;
    for (int status = ESK_OK; status != ESK_END;) {
        status =
            esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 7);
        if (status == ESK_NOT_FOUND) {
            gaps++;
            ESK_CHECK(copy.has_after == (gaps > 1));
            ESK_CHECK(copy.has_before == (gaps < 3));
            ESK_CHECK_INT(copy.after, gaps == 1   ? 0
                                      : gaps == 2 ? 3 * rows
                                                  : LOG_ROWS - rows);
            ESK_CHECK_INT(copy.before, gaps == 1   ? rows + 1
                                       : gaps == 2 ? 5 * rows + 1
                                                   : 0);
        } else {
            ESK_CHECK(status == ESK_OK || status == ESK_END);
        }
    }
    ESK_CHECK_INT(gaps, 3);
    ESK_CHECK_INT(copy.gaps, 3);
    ESK_CHECK_INT(copy.rows, LOG_ROWS - 4 * rows);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(to->log, &count), ESK_OK);
    ESK_CHECK_INT(count, copy.rows);
    store_end(store);
    store_end(to);
}

ESK_TEST(copy_goes_on_after_a_row_could_not_be_written) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    static const struct esk_sim_failures failures = {
        .transfer = {.burst_start = 5, .burst_length = 9}};
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    int failed = 0;
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_OK);
    esk_sim_failures_set(to->sim, &failures);
    for (int status = ESK_OK; status != ESK_END;) {
        status =
            esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 100);
        failed += status == ESK_E_IO;
    }
    esk_sim_failures_set(to->sim, &failures);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_tree_copy_step(&tree, store->map, to->map, row, 100);
        failed += status == ESK_E_IO;
    }
    ESK_CHECK(failed > 0);
    ESK_CHECK_INT(copy.rows, LOG_ROWS);
    ESK_CHECK_INT(tree.rows, MAP_ROWS);
    uint32_t count = 0;
    ESK_CHECK_INT(esk_series_count(to->log, &count), ESK_OK);
    ESK_CHECK_INT(count, LOG_ROWS);
    ESK_CHECK_INT(esk_tree_count(to->map, &count), ESK_OK);
    ESK_CHECK_INT(count, MAP_ROWS);
    store_end(store);
    store_end(to);
}

ESK_TEST(values_that_are_lost_are_empty_and_counted) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    struct esk_series_value value;
    struct esk_table_info info;
    uint8_t row[16];
    uint8_t room[20];
    store_format(to, ESK_CHECKSUM_CRC32C);
    tables_create(to);
    tables_open(to);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "notes", &info), ESK_OK);
    page_spoil(store, info.block[ESK_REGION_VAR] * 8u + 1u);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
    for (int status = ESK_OK; status != ESK_END;) {
        status = esk_series_copy_step(&copy, store->notes, to->notes, row, room,
                                      sizeof room, 5);
        ESK_CHECK(status == ESK_OK || status == ESK_END);
    }
    ESK_CHECK_INT(copy.rows, NOTES);
    uint32_t lost = 0;
    for (uint32_t i = 1; i <= NOTES; i++) {
        ESK_CHECK_INT(esk_series_get(to->notes, i, row), ESK_OK);
        ESK_CHECK_INT(esk_series_value_open(to->notes, row, &value), ESK_OK);
        lost += value.bytes != i % 50;
        ESK_CHECK(value.bytes == i % 50 || value.bytes == 0);
        ESK_CHECK(value.bytes <= sizeof room);
    }
    ESK_CHECK_INT(copy.values_lost, lost);
    ESK_CHECK(lost > 30);
    store_end(store);
    store_end(to);
}

/// A read that fails may be of a page of rows, which is a gap then, or of a
/// value, which is read again.
ESK_TEST(copy_goes_on_after_a_read_failed) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    uint8_t row[16];
    uint8_t value[NOTE_BYTES];
    int gaps = 0;
    tables_open(store);
    for (uint32_t read = 1; read < 40; read++) {
        struct store *to = store_new(&media[0]);
        struct esk_series_copy copy;
        int failed = 0;
        ESK_CONTEXT("read %u", read);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
        fail_from(read, 0, READ_BROKEN);
        for (int status = ESK_OK; status != ESK_END;) {
            status = esk_series_copy_step(&copy, store->notes, to->notes, row,
                                          value, sizeof value, 1);
            failed += status == ESK_E_IO;
            ESK_CHECK(status >= 0 || status == ESK_E_IO);
        }
        ESK_CHECK_INT(failed, fail_end());
        ESK_CHECK(copy.gaps <= 1);
        ESK_CHECK((copy.gaps == 1) == (copy.rows < NOTES));
        ESK_CHECK_INT(copy.values_lost, 0);
        gaps += (int)copy.gaps;
        store_end(to);
    }
    ESK_CHECK(gaps > 0 && gaps < 20);
    store_end(store);
}

ESK_TEST(copy_of_a_tree_passes_lost_nodes) {
    for (size_t m = 0; m < 3; m++) {
        struct store *store = store_start(&media[m], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[m]);
        struct esk_tree_copy copy;
        struct esk_tree_walk walk;
        struct esk_tree_node node;
        struct esk_table_info info;
        uint32_t in_node = 0;
        esk_page_id lost = 0;
        ESK_CONTEXT("medium %u", (unsigned)m);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        tables_open(store);
        ESK_CHECK_INT(esk_tree_walk_open(store->map, &walk), ESK_OK);
        while (esk_tree_walk_next(store->map, &walk, &node) == ESK_OK) {
            if (node.level == 1 && in_node == 0) {
                lost = node.address; /* the first leaf */
                in_node = node.count;
            }
        }
        ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
        lost %= info.blocks[ESK_REGION_DATA] * media[m].block_pages;
        page_spoil(store, data_page(store, "map", lost));
        tables_close(store);
        tables_open(store);
        ESK_CHECK_INT(map_copy(&copy, store->map, to->map), ESK_END);
        ESK_CHECK_INT(copy.rows, MAP_ROWS - in_node);
        ESK_CHECK_INT(copy.gaps, 1);
        store_end(store);
        store_end(to);
    }
}

ESK_TEST(copy_refuses_rows_of_another_width_and_closed_tables) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    struct store *to = store_new(&media[0]);
    struct esk_series_copy copy;
    struct esk_tree_copy tree;
    uint8_t row[16];
    store_format(to, ESK_CHECKSUM_CRC32C);
    struct esk_tree_spec wide = {
        .table = {.name = "wide", .columns = log_columns, .column_count = 3},
        .blocks = 16,
        .store = ESK_STORE_WANDERING};
    struct esk_tree_config config = {.store = &esk_store_wandering};
    ESK_CHECK_INT(esk_tree_create(&to->volume, &wide, NULL), ESK_OK);
    tables_create(to);
    tables_open(to);
    struct esk_tree *other = NULL;
    ESK_CHECK_INT(esk_tree_open(&other, &to->volume, "wide", &config), ESK_OK);
    tables_open(store);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_OK);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_OK);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, to->notes, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, other, row, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, NULL, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, NULL, row, 1),
                  ESK_E_INVALID);
    tables_close(store);
    ESK_CHECK_INT(
        esk_series_copy_step(&copy, store->log, to->log, row, NULL, 0, 1),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_step(&tree, store->map, to->map, row, 1),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_series_copy_open(&copy, store->log), ESK_E_INVALID);
    ESK_CHECK_INT(esk_tree_copy_open(&tree, store->map), ESK_E_INVALID);
    ESK_CHECK_INT(copy.rows, 0);
    ESK_CHECK_INT(tree.rows, 0);
    store_end(store);
    store_end(to);
}

/// The pages of a table can be among those that are searched: each costs its
/// header, not a search for a catalog that it is of.
ESK_TEST(pages_of_tables_are_not_taken_for_a_catalog) {
    struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
    uint32_t pages = 64u * media[0].block_pages;
    superblocks_spoil(store);
    esk_sim_counters_reset(store->sim);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    uint64_t reads = esk_sim_counters(store->sim)->reads;
    ESK_CHECK(reads < 4u * pages);
    store_end(store);
}

/// A volume has the UUID 0 unless the program gives one, so an older volume can
/// have the same seed.
ESK_TEST(pages_of_an_older_volume_with_the_same_uuid_hide_no_table) {
    struct store *store = store_new(&media[3]);
    struct esk_volume_config large = {.tables_max = 8};
    struct esk_volume_config small = {.tables_max = 2, .overwrite = true};
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_format(&store->device, &large, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
    static const char *names[] = {"a", "b", "c", "d", "e", "f", "g"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct esk_tree_spec spec = {
            .table = {.name = names[i],
                      .columns = map_columns,
                      .column_count = 2},
            .blocks = 16,
            .store = ESK_STORE_INPLACE,
        };
        ESK_CHECK_INT(esk_tree_create(&store->volume, &spec, NULL), ESK_OK);
    }
    uint16_t old_last = (uint16_t)(store->volume.half_pages - 1u);
    esk_page_id old[2];
    for (uint8_t half = 0; half < 2; half++) {
        ESK_CHECK_INT(esk_half_page(&store->volume, half, old_last, &old[half]),
                      ESK_OK);
    }
    ESK_CHECK_INT(esk_volume_format(&store->device, &small, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(map_create(store), ESK_OK);
    superblocks_spoil(store);
    page_spoil(store, old[0]);
    page_spoil(store, old[1]);
    ESK_CHECK_INT(store_salvage(store), ESK_OK);
    ESK_CHECK_INT(esk_volume_find(&store->volume, "map", &info), ESK_OK);
    store_end(store);
}

/// All rows are in the sync journal, whose pages tell the checksum as well.
ESK_TEST(rows_of_a_sync_journal_tell_the_checksum) {
    for (size_t m = 1; m < MEDIA; m++) { /* NOR has seals in its place */
        for (uint8_t checksum = 0; checksum < CHECKSUMS; checksum++) {
            struct store *store = store_new(&media[m]);
            uint8_t row[16];
            uint32_t count = 0;
            ESK_CONTEXT("medium %u, checksum %u", (unsigned)m, checksum);
            store_format(store, checksum);
            ESK_CHECK_INT(log_create(store), ESK_OK);
            ESK_CHECK_INT(
                esk_series_open(&store->log, &store->volume, "log", NULL),
                ESK_OK);
            log_row(row, 1);
            ESK_CHECK_INT(esk_series_append(store->log, row), ESK_OK);
            ESK_CHECK_INT(esk_series_sync(store->log), ESK_OK);
            esk_series_close(store->log);
            superblocks_spoil(store);
            half_erase(store, 1);
            ESK_CHECK_INT(store_salvage(store), ESK_OK);
            ESK_CHECK_INT(store->volume.checksum, checksum);
            ESK_CHECK_INT(
                esk_series_open(&store->log, &store->volume, "log", NULL),
                ESK_OK);
            ESK_CHECK_INT(esk_series_count(store->log, &count), ESK_OK);
            ESK_CHECK_INT(count, 1);
            store_end(store);
        }
    }
}

/// Without a buffer a value is lost, however long it may be.
ESK_TEST(values_are_lost_without_a_buffer) {
    static const uint32_t rooms[] = {0, NOTE_BYTES};
    for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++) {
        struct store *store = store_start(&media[0], ESK_CHECKSUM_CRC32C);
        struct store *to = store_new(&media[0]);
        struct esk_series_copy copy;
        uint8_t row[16];
        ESK_CONTEXT("%u bytes", (unsigned)rooms[i]);
        store_format(to, ESK_CHECKSUM_CRC32C);
        tables_create(to);
        tables_open(to);
        tables_open(store);
        ESK_CHECK_INT(esk_series_copy_open(&copy, store->notes), ESK_OK);
        ESK_CHECK_INT(esk_series_copy_step(&copy, store->notes, to->notes, row,
                                           NULL, rooms[i], NOTES + 1),
                      ESK_END);
        ESK_CHECK_INT(copy.rows, NOTES);
        ESK_CHECK_INT(copy.values_lost, NOTES - NOTES / 50);
        store_end(store);
        store_end(to);
    }
}

ESK_TEST_MAIN()
