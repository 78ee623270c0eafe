// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A volume with three tables on a simulator, for the tests of salvage, and
/// what destroys its meta halves.
#ifndef ESK_TEST_SALVAGE_STORE_H
#define ESK_TEST_SALVAGE_STORE_H

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
static const struct esk_index_spec log_index[] = {
    {.column = 1, .bitmap_bits = ESK_BITMAP_NONE}};

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

static inline const struct esk_geometry *
geometry_of(const struct store *store) {
    return &store->device.geometry;
}

static inline bool has_small_blocks(const struct store *store) {
    return geometry_of(store)->block_pages == 1;
}

static inline struct store *store_new(const struct esk_geometry *geometry) {
    struct store *store = calloc(1, sizeof *store);
    struct esk_sim_config medium = {.geometry = *geometry, .seed = 3};
    ESK_CHECK_INT(esk_sim_create(&store->sim, &medium), ESK_OK);
    failing_device_make(&store->device, esk_sim_device(store->sim));
    return store;
}

static inline void store_format_as(struct store *store,
                                   const struct esk_volume_config *config) {
    ESK_CHECK_INT(esk_volume_format(&store->device, config, store->arena,
                                    sizeof store->arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&store->volume, &store->device, 0,
                                   store->arena, sizeof store->arena),
                  ESK_OK);
}

static inline void store_format(struct store *store, uint8_t checksum) {
    struct esk_volume_config config = {.checksum = checksum, .uuid = {1, 2}};
    store_format_as(store, &config);
}

static inline int log_create(struct store *store) {
    struct esk_series_spec spec = {
        .table = {.name = "log",
                  .columns = log_columns,
                  .column_count = 3,
                  .row_bytes = 12},
        .indexes = log_index,
        .index_count = 1,
        .data_blocks = has_small_blocks(store) ? 100 : 14,
        .index_blocks = 6,
    };
    return esk_series_create(&store->volume, &spec, NULL);
}

static inline int notes_create(struct store *store) {
    struct esk_series_spec spec = {
        .table = {.name = "notes",
                  .columns = note_columns,
                  .column_count = 2,
                  .row_bytes = 4 + ESK_VAR_REF_BYTES},
        .data_blocks = has_small_blocks(store) ? 40 : 8,
        .index_blocks = 6,
        .var_blocks = has_small_blocks(store) ? 40 : 8,
    };
    return esk_series_create(&store->volume, &spec, NULL);
}

static inline bool is_overwritten(const struct store *store) {
    return (geometry_of(store)->flags & ESK_MEDIUM_OVERWRITE) != 0;
}

static inline int map_create(struct store *store) {
    struct esk_tree_spec spec = {
        .table = {.name = "map",
                  .columns = map_columns,
                  .column_count = 2,
                  .row_bytes = 8},
        .blocks = has_small_blocks(store) ? 80 : 16,
        .store =
            is_overwritten(store) ? ESK_STORE_INPLACE : ESK_STORE_WANDERING,
    };
    return esk_tree_create(&store->volume, &spec, NULL);
}

static inline int map_open(struct store *store) {
    struct esk_tree_config config = {.store = is_overwritten(store)
                                                  ? &esk_store_inplace
                                                  : &esk_store_wandering};
    return esk_tree_open(&store->map, &store->volume, "map", &config);
}

static inline void tables_open(struct store *store) {
    ESK_CHECK_INT(esk_series_open(&store->log, &store->volume, "log", NULL),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&store->notes, &store->volume, "notes", NULL),
                  ESK_OK);
    ESK_CHECK_INT(map_open(store), ESK_OK);
}

static inline void tables_close(struct store *store) {
    esk_tree_close(store->map);
    esk_series_close(store->notes);
    esk_series_close(store->log);
}

static inline void tables_create(struct store *store) {
    ESK_CHECK_INT(log_create(store), ESK_OK);
    ESK_CHECK_INT(notes_create(store), ESK_OK);
    ESK_CHECK_INT(map_create(store), ESK_OK);
}

static inline void log_row(uint8_t *row, uint32_t key) {
    esk_store_u32(row, key);
    esk_store_u32(row + 4, key * 7);
    esk_store_u32(row + 8, ~key);
}

/// The note with key `key` has key % 50 bytes.
static inline uint32_t note_make(uint8_t *note, uint32_t key) {
    uint32_t bytes = key % 50;
    for (uint32_t i = 0; i < bytes; i++) {
        note[i] = (uint8_t)(key + i);
    }
    return bytes;
}

/// Reads the value of the row `row` into `value`, of NOTE_BYTES. Returns its
/// bytes.
static inline uint32_t note_read(struct esk_series *series, const uint8_t *row,
                                 uint8_t *value) {
    struct esk_series_value read;
    uint32_t bytes = 0;
    ESK_CHECK_INT(esk_series_value_open(series, row, &read), ESK_OK);
    ESK_CHECK_INT(
        esk_series_value_read(series, &read, value, NOTE_BYTES, &bytes),
        ESK_OK);
    return bytes;
}

static inline void store_fill(struct store *store) {
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
static inline struct store *store_start(const struct esk_geometry *geometry,
                                        uint8_t checksum) {
    struct store *store = store_new(geometry);
    store_format(store, checksum);
    tables_create(store);
    tables_open(store);
    store_fill(store);
    tables_close(store);
    return store;
}

static inline void store_end(struct store *store) {
    esk_sim_destroy(store->sim);
    free(store);
}

static inline void page_spoil(struct store *store, esk_page_id id) {
    uint8_t noise[512];
    for (uint16_t i = 0; i < sizeof noise; i++) {
        noise[i] = (uint8_t)(i * 5u + id);
    }
    ESK_CHECK_INT(
        esk_sim_poke(store->sim, id, 0, noise, geometry_of(store)->page_bytes),
        ESK_OK);
}

/// Spoils page `index` of half `half` of the catalog.
static inline void half_spoil(struct store *store, uint8_t half,
                              uint16_t index) {
    esk_page_id id = 0;
    ESK_CHECK_INT(esk_half_page(&store->volume, half, index, &id), ESK_OK);
    page_spoil(store, id);
}

static inline void superblocks_spoil(struct store *store) {
    uint16_t last = (uint16_t)(store->volume.half_pages - 1u);
    half_spoil(store, 0, last);
    half_spoil(store, 1, last);
}

/// Erases half `half`, as a boot loader that is written there.
static inline void half_erase(struct store *store, uint8_t half) {
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

static inline int store_salvage(struct store *store) {
    return esk_volume_salvage(&store->volume, &store->device, store->arena,
                              sizeof store->arena);
}

/// The device page of data page `position` of the series `name`.
static inline esk_page_id data_page(struct store *store, const char *name,
                                    uint32_t position) {
    struct esk_table_info info;
    ESK_CHECK_INT(esk_volume_find(&store->volume, name, &info), ESK_OK);
    return info.block[ESK_REGION_DATA] * geometry_of(store)->block_pages +
           position;
}

/// Copies the log; each gap is counted.
static inline int log_copy(struct esk_series_copy *copy,
                           struct esk_series *from, struct esk_series *to) {
    uint8_t row[16];
    uint8_t value[NOTE_BYTES];
    int status = esk_series_copy_open(copy, from);
    while (status == ESK_OK || status == ESK_NOT_FOUND) {
        status =
            esk_series_copy_step(copy, from, to, row, value, sizeof value, 17);
    }
    return status;
}

static inline int map_copy(struct esk_tree_copy *copy, struct esk_tree *from,
                           struct esk_tree *to) {
    uint8_t row[16];
    int status = esk_tree_copy_open(copy, from);
    while (status == ESK_OK || status == ESK_NOT_FOUND) {
        status = esk_tree_copy_step(copy, from, to, row, 17);
    }
    return status;
}

#endif
