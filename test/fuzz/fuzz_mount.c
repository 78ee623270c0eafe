// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzes everything that reads an image, with bytes nobody vouches for.
///
///     byte 0   geometry
///     byte 1   mode: what is done to the image, how it is mounted
///     byte 2   how the tables are opened
///     rest     patches of a valid image (u16 offset, u8 count, bytes), or
///              the image itself
///
/// A checksum stops a fuzzer on the spot, so most modes put checksums right
/// again after patching: hostile pages that prove themselves. Nothing may
/// crash, hang, or reach outside a page; what is answered does not matter.
///
/// ESK_FUZZ_SEEDS=folder writes the inputs that the corpus starts from.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "esker/esker.h"
#include "flash/envelope.h"
#include "flash/volume_format.h"
#include "port/ram/ram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

enum {
    IMAGE_BYTES_MAX = 48 * 1024,
    ARENA_BYTES_MAX = 64 * 1024,
    PAGE_BYTES_MAX = 256,
    ROW_BYTES_MAX = 256,
    TABLES_MAX = 4,
    MODE_RAW = 1 << 0,        ///< the input is the image, not a patch
    MODE_KEEP_SUPER = 1 << 1, ///< superblocks keep the checksum they have
    MODE_KEEP_CATALOG = 1 << 2,
    MODE_KEEP_PAGES = 1 << 3,
    MODE_READ_ONLY = 1 << 4,
    MODE_TRUST_LOADS = 1 << 5,
    MODE_FEW = 1 << 6, ///< the valid image has few rows
};

static const struct esk_geometry geometries[] = {
    {32, 4, 128, 0, 1, 0, 0xFF, 0},
    {24, 8, 256, 0, 256, 1, 0xFF, 0},
    {16, 4, 256, 0, 8, 0, 0x00, ESK_MEDIUM_OVERWRITE},
    {40, 4, 128, 0, 2, 4, 0xFF, 0},
};

enum { GEOMETRY_COUNT = sizeof geometries / sizeof geometries[0] };

static uint8_t image[IMAGE_BYTES_MAX];
static uint64_t arena[ARENA_BYTES_MAX / 8];
static uint8_t page[PAGE_BYTES_MAX];

static size_t geometry_bytes(const struct esk_geometry *geometry) {
    return (size_t)geometry->block_count * geometry->block_pages *
           geometry->page_bytes;
}

/* ------------------------------------------------------- the valid image */

static const struct esk_column plain_columns[] = {
    {.name = "at", .type = ESK_TYPE_I32},
    {.name = "heat", .unit = "degC", .type = ESK_TYPE_F32},
    {.name = "gate", .type = ESK_TYPE_U8},
};

static const uint8_t gate_edges[] = {10, 60, 120, 200};

static const struct esk_index_spec plain_indexes[] = {
    {.column = 1, .bitmap_bits = 8},
    {.column = 2, .bitmap_bits = 8, .edges = gate_edges, .edge_count = 4},
};

static const struct esk_table_spec plain_spec = {
    .name = "plain",
    .columns = plain_columns,
    .indexes = plain_indexes,
    .column_count = 3,
    .index_count = 2,
    .data_blocks = 5,
    .group_pages = 4,
    .run_pages = 3,
};

static const struct esk_column noted_columns[] = {
    {.name = "note", .type = ESK_TYPE_VAR},
    {.name = "at", .type = ESK_TYPE_U64},
};

static const struct esk_table_spec noted_spec = {
    .name = "noted",
    .columns = noted_columns,
    .column_count = 2,
    .key_column = 1,
    .full_policy = ESK_FULL_REFUSE,
    .data_blocks = 2,
    .index_blocks = 2,
    .var_blocks = 2,
};

static void rows_append(struct esk_series *series, bool noted, uint32_t count) {
    for (uint32_t i = 1; i <= count; i++) {
        uint8_t row[ROW_BYTES_MAX] = {0};
        if (noted) {
            esk_store_u64(row + ESK_VAR_REF_BYTES, i * 1000u);
            (void)esk_series_append_var(series, row, image, i * 7 % 200);
        } else {
            float heat = (float)(i % 17) - 3.0f;
            esk_store_u32(row, i * 3 - 100);
            memcpy(row + 4, &heat, sizeof heat);
            row[8] = (uint8_t)(i * 5);
            (void)esk_series_append(series, row);
        }
        if (i % 11 == 0) {
            (void)esk_series_sync(series);
        }
    }
    (void)esk_series_sync(series);
}

static void table_make(struct esk_volume *volume,
                       const struct esk_table_spec *spec, uint32_t rows) {
    struct esk_series *series = NULL;
    if (esk_volume_create(volume, ESK_TABLE_SERIES, spec, NULL, page) ==
            ESK_OK &&
        esk_series_open(&series, volume, spec->name, NULL, arena,
                        sizeof arena) == ESK_OK) {
        rows_append(series, spec == &noted_spec, rows);
        esk_series_close(series);
    }
}

/// Makes a valid volume with two tables in `image`.
static void image_make(const struct esk_geometry *geometry, uint8_t checksum,
                       bool few) {
    struct esk_volume_config config = {.checksum = checksum, .tables_max = 2};
    struct esk_ram_device ram;
    struct esk_volume volume;
    memset(image, geometry->erased_value, sizeof image);
    (void)esk_ram_device_init(&ram, geometry, image, sizeof image);
    if (esk_volume_format(&ram.device, &config, page) != ESK_OK ||
        esk_volume_mount(&volume, &ram.device, 0, page) != ESK_OK) {
        abort();
    }
    table_make(&volume, &plain_spec, few ? 30 : 400);
    table_make(&volume, &noted_spec, few ? 3 : 40);
    esk_volume_unmount(&volume);
}

/// The valid image of each geometry and size, made once.
static const uint8_t *image_valid(uint8_t geometry, bool few) {
    static uint8_t *made[GEOMETRY_COUNT][2];
    uint8_t **slot = &made[geometry][few];
    if (*slot == NULL) {
        *slot = malloc(IMAGE_BYTES_MAX);
        if (*slot == NULL) {
            abort();
        }
        image_make(&geometries[geometry], geometry % 3, few);
        memcpy(*slot, image, IMAGE_BYTES_MAX);
    }
    return *slot;
}

static void image_patch(const uint8_t *data, size_t bytes, size_t image_bytes) {
    while (bytes >= 3) {
        size_t offset = esk_load_u16(data) % image_bytes;
        size_t count = data[2];
        data += 3;
        bytes -= 3;
        count = count < bytes ? count : bytes;
        count = count < image_bytes - offset ? count : image_bytes - offset;
        memcpy(image + offset, data, count);
        data += count;
        bytes -= count;
    }
}

/* ----------------------------------------------------- checksums put right */

static uint8_t *image_page(const struct esk_geometry *geometry, uint32_t id) {
    return image + (size_t)id * geometry->page_bytes;
}

/// Closes every page of `kind` and `table` again, with the count it has.
static void pages_close(const struct esk_geometry *geometry,
                        struct esk_envelope envelope) {
    uint32_t pages = geometry->block_count * geometry->block_pages;
    envelope.page_bytes = geometry->page_bytes;
    envelope.erased_value = geometry->erased_value;
    for (uint32_t id = 0; id < pages; id++) {
        uint8_t *at = image_page(geometry, id);
        if (at[ESK_ENVELOPE_KIND] == envelope.kind &&
            at[ESK_ENVELOPE_TABLE] == envelope.table) {
            esk_envelope_close(&envelope, at, esk_page_count(at));
        }
    }
}

static void checksums_fix(const struct esk_device *device, uint8_t mode) {
    const struct esk_geometry *geometry = &device->geometry;
    struct esk_envelope envelope = {.unit = 1, .kind = ESK_PAGE_SUPERBLOCK};
    struct esk_volume volume;
    struct esk_table_info info;
    uint16_t cursor = 0;

    if ((mode & MODE_KEEP_SUPER) == 0) {
        pages_close(geometry, envelope);
    }
    if (esk_volume_mount(&volume, device, 0, page) != ESK_OK) {
        return;
    }
    envelope.seed = volume.seed;
    envelope.kind = ESK_PAGE_CATALOG;
    for (uint8_t table = 1; table <= TABLES_MAX; table++) {
        envelope.table = table;
        if ((mode & MODE_KEEP_CATALOG) == 0) {
            pages_close(geometry, envelope);
        }
    }
    while ((mode & MODE_KEEP_PAGES) == 0 &&
           esk_volume_list(&volume, &cursor, &info, page) == ESK_OK) {
        envelope.seed = info.seed;
        envelope.checksum = volume.checksum;
        envelope.table = info.id;
        for (uint8_t k = ESK_PAGE_DATA; k <= ESK_PAGE_VAR; k++) {
            envelope.kind = k;
            pages_close(geometry, envelope);
        }
    }
}

/* ---------------------------------------------------------- what is called */

/// More rows than any device here holds: a scan that goes on is a hang.
static void scan_bound(uint32_t *left) {
    if (*left == 0) {
        abort();
    }
    (*left)--;
}

static void value_read(struct esk_series *series, const uint8_t *row) {
    uint8_t bytes[300];
    uint32_t length = 0;
    uint32_t got = 0;
    if (esk_series_var_bytes(series, row, &length) == ESK_OK) {
        (void)esk_series_var_read(series, row, 0, bytes, sizeof bytes, &got);
        (void)esk_series_var_read(series, row, length / 2, bytes, 9, &got);
    }
}

static void scan(struct esk_series *series, const struct esk_query *query) {
    struct esk_series_cursor cursor;
    uint8_t row[ROW_BYTES_MAX];
    uint32_t left = 4 * IMAGE_BYTES_MAX;
    uint32_t values = 8;
    int status = esk_series_cursor_open(series, &cursor, query);
    while (status == ESK_OK || status == ESK_E_STALE || status == ESK_E_IO) {
        scan_bound(&left);
        status = esk_series_cursor_next(series, &cursor, row);
        if (status == ESK_OK && values > 0) {
            values--;
            value_read(series, row);
        }
    }
}

static void query_all(struct esk_series *series,
                      const struct esk_table_info *info) {
    for (uint8_t i = 0; i < 2 * 4; i++) {
        struct esk_range range = {.column = (uint8_t)(i / 2), .has_lo = true};
        struct esk_query query = {.backward = i % 2 == 1,
                                  .ranges = &range,
                                  .range_count = i / 2 < info->column_count};
        range.lo.f32 = 5.0f;
        if (info->kind == ESK_TABLE_SERIES) {
            scan(series, &query);
        }
    }
}

static void keys_find(struct esk_series *series) {
    static const int64_t keys[] = {0, -90, 50, 1000, 700, 30000, INT64_MIN};
    uint8_t row[ROW_BYTES_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        (void)esk_series_get(series, (esk_key)keys[i], row);
        (void)esk_series_floor(series, (esk_key)keys[i], row);
        (void)esk_series_ceiling(series, (esk_key)keys[i], row);
    }
    (void)esk_series_newest(series, row);
    (void)esk_series_oldest(series, row);
    (void)esk_series_count(series, &count);
}

static void rows_add(struct esk_series *series,
                     const struct esk_table_info *info,
                     const struct esk_column_info *key) {
    uint8_t row[ROW_BYTES_MAX] = {0};
    for (uint32_t i = 0; i < 120; i++) {
        uint64_t next = 20000u + i;
        uint8_t wide[8];
        esk_store_u64(wide, key->bytes == 1 ? i : next);
        memcpy(row + key->offset, wide, key->bytes);
        if (info->blocks[2] > 0) {
            (void)esk_series_append_var(series, row, image, i);
        } else {
            (void)esk_series_append(series, row);
        }
        if (i % 16 == 0) {
            (void)esk_series_sync(series);
        }
    }
    (void)esk_series_sync(series);
    (void)esk_series_erase_before(series, 20010);
}

static void table_use(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t how) {
    struct esk_series_config config = {
        .frames = (uint8_t)(how & 7),
        .key_index_bytes = (uint16_t)((how >> 3 & 3) * 40),
        .key_error_16ths = (uint8_t)(how >> 5),
    };
    struct esk_series *series = NULL;
    struct esk_series_report report;
    struct esk_column_info column = {.bytes = 0};
    uint8_t edges[ESK_EDGE_COUNT_MAX * 8];
    struct esk_index_spec spec;

    for (uint8_t i = 0; i < 6; i++) {
        (void)esk_volume_column(volume, info, i, &column, page);
        (void)esk_volume_index(volume, info, i, &spec, edges, sizeof edges,
                               page);
    }
    uint32_t bytes = esk_series_arena_bytes(volume, info, &config, page);
    void *exact = bytes > 0 && bytes <= sizeof arena ? malloc(bytes) : NULL;
    if (exact == NULL || esk_series_open(&series, volume, info->name, &config,
                                         exact, bytes) != ESK_OK) {
        free(exact);
        return;
    }
    struct esk_query backward = {.backward = true};
    scan(series, NULL);
    scan(series, &backward);
    query_all(series, info);
    keys_find(series);
    (void)esk_series_check(series, &report);
    if (esk_volume_column(volume, info, info->key_column, &column, page) ==
        ESK_OK) {
        rows_add(series, info, &column);
    }
    scan(series, NULL);
    query_all(series, info);
    (void)esk_series_check(series, &report);
    (void)esk_volume_step(volume, 3, NULL);
    esk_series_close(series);
    free(exact);
}

static void volume_use(const struct esk_device *device, uint8_t mode,
                       uint8_t how) {
    uint8_t flags = 0;
    struct esk_volume volume;
    struct esk_table_info info;
    uint16_t cursor = 0;

    flags |= (mode & MODE_READ_ONLY) != 0 ? ESK_MOUNT_READ_ONLY : 0;
    flags |= (mode & MODE_TRUST_LOADS) != 0 ? ESK_MOUNT_TRUST_LOADS : 0;
    if (esk_volume_mount(&volume, device, flags, page) != ESK_OK) {
        return;
    }
    for (uint8_t i = 0;
         i < 4 && esk_volume_list(&volume, &cursor, &info, page) == ESK_OK;
         i++) {
        table_use(&volume, &info, how);
    }
    (void)esk_volume_drop(&volume, "plain", page);
    table_make(&volume, &plain_spec, 20);
    esk_volume_unmount(&volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 3) {
        return 0;
    }
    uint8_t number = data[0] % GEOMETRY_COUNT;
    uint8_t mode = data[1];
    const struct esk_geometry *geometry = &geometries[number];
    size_t image_bytes = geometry_bytes(geometry);
    struct esk_ram_device ram;

    const uint8_t *valid = image_valid(number, (mode & MODE_FEW) != 0);
    if ((mode & MODE_RAW) != 0) {
        size_t count = bytes - 3 < image_bytes ? bytes - 3 : image_bytes;
        memset(image, geometry->erased_value, sizeof image);
        memcpy(image, data + 3, count);
    } else {
        memcpy(image, valid, IMAGE_BYTES_MAX);
        image_patch(data + 3, bytes - 3, image_bytes);
    }
    (void)esk_ram_device_init(&ram, geometry, image, image_bytes);
    checksums_fix(&ram.device, mode);
    volume_use(&ram.device, mode, data[2]);
    return 0;
}

/* -------------------------------------------------------- where to begin */

static void seed_write(const char *folder, const char *name,
                       const uint8_t *data, size_t bytes) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes ||
        fclose(file) != 0) {
        abort();
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *folder = getenv("ESK_FUZZ_SEEDS");
    (void)argc;
    (void)argv;
    if (folder == NULL) {
        return 0;
    }
    static const uint8_t modes[] = {0, MODE_FEW, MODE_READ_ONLY,
                                    MODE_TRUST_LOADS};
    for (uint8_t i = 0; i < 2 * GEOMETRY_COUNT; i++) {
        uint8_t seed[] = {(uint8_t)(i % GEOMETRY_COUNT),
                          modes[i % 4],
                          (uint8_t)(i * 37),
                          0,
                          0,
                          0};
        char name[32];
        snprintf(name, sizeof name, "valid_%u", i);
        seed_write(folder, name, seed, sizeof seed);
    }
    static uint8_t raw[IMAGE_BYTES_MAX + 3] = {0, MODE_RAW, 0};
    memcpy(raw + 3, image_valid(0, true), IMAGE_BYTES_MAX);
    seed_write(folder, "raw_image", raw, geometry_bytes(&geometries[0]) + 3);
    exit(0);
}
