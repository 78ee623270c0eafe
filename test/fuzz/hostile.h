// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Fuzzing the code that reads an image, with hostile bytes.
///
///     byte 0   geometry; with 0x80 the target's other tables, if it has some
///     byte 1   mode: changes of the image, flags of its mount
///     byte 2   how the tables are opened
///     rest     patches of a valid image (u16 offset, u8 count, bytes), or
///              the image itself
///
/// A checksum stops a fuzzer at once, so most modes correct checksums after
/// patching: the hostile pages are valid. Nothing may crash, hang, or access
/// bytes outside a page; the results do not matter.
///
/// A target includes this file, and defines the tables and their use.
/// ESK_FUZZ_SEEDS=folder writes the first inputs of the corpus.
#ifndef ESK_TEST_FUZZ_HOSTILE_H
#define ESK_TEST_FUZZ_HOSTILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "esker/esker.h"
#include "flash/envelope.h"
#include "port/ram/ram.h"
#include "test/fuzz/seeds.h"
#include "test/harness/arena.h"
#include "volume/volume_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Functions of a target. */

/// Makes the valid image's tables.
static void tables_make(struct esk_volume *volume, bool few);
/// Opens the table `how`, reads it and changes it.
static void table_use(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t how);
/// Drops a table and makes another in its place.
static void tables_renew(struct esk_volume *volume);

enum {
    IMAGE_BYTES_MAX = 48 * 1024,
    ARENA_BYTES_MAX = 64 * 1024,
    PAGE_BYTES_MAX = 256,
    ROW_BYTES_MAX = 256,
    MODE_RAW = 1 << 0,        ///< the input is the image, not a patch
    MODE_KEEP_SUPER = 1 << 1, ///< superblocks keep their checksum
    MODE_KEEP_CATALOG = 1 << 2,
    MODE_KEEP_PAGES = 1 << 3,
    MODE_READ_ONLY = 1 << 4,
    MODE_TRUST_LOADS = 1 << 5,
    MODE_FEW = 1 << 6,     ///< the valid image has few rows
    MODE_SALVAGE = 1 << 7, ///< mounted from the pages of the catalog
};

static const struct esk_geometry geometries[] = {
    {32, 4, 128, 0, 1, 0, 0xFF, 0},
    {24, 8, 256, 0, 256, 1, 0xFF, 0},
    {20, 4, 256, 0, 8, 0, 0x00, ESK_MEDIUM_OVERWRITE},
    {40, 4, 128, 0, 2, 4, 0xFF, 0},
};

enum {
    GEOMETRY_COUNT = sizeof geometries / sizeof geometries[0],
    OTHER_TABLES = 0x80, ///< of byte 0
};

static uint8_t image[IMAGE_BYTES_MAX];
static uint64_t arena[ARENA_BYTES_MAX / 8];
static bool other_tables; ///< of this input

static size_t geometry_bytes(const struct esk_geometry *geometry) {
    return (size_t)geometry->block_count * geometry->block_pages *
           geometry->page_bytes;
}

/* ------------------------------------------------------- the valid image */

/// Makes a valid volume with two tables in `image`.
static void image_make(const struct esk_geometry *geometry, uint8_t checksum,
                       bool few) {
    struct esk_volume_config config = {.checksum = checksum, .tables_max = 2};
    struct esk_ram_device ram;
    struct esk_volume volume;
    memset(image, geometry->erased_value, sizeof image);
    (void)esk_ram_device_init(&ram, geometry, image, sizeof image);
    if (esk_volume_format(&ram.device, &config, TEST_SCRATCH) != ESK_OK ||
        esk_volume_mount(&volume, &ram.device, 0, TEST_SCRATCH) != ESK_OK) {
        abort();
    }
    tables_make(&volume, few);
    esk_volume_unmount(&volume);
}

/// The valid image of each geometry and size, made once.
static const uint8_t *image_valid(uint8_t geometry, bool few) {
    static uint8_t *made[GEOMETRY_COUNT][2][2];
    uint8_t **slot = &made[geometry][few][other_tables];
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

/// Closes again every page of the envelope's table and of a kind from its own
/// up to `last`, with its own count.
static void pages_close(const struct esk_geometry *geometry,
                        struct esk_envelope envelope, uint8_t last) {
    uint32_t pages = geometry->block_count * geometry->block_pages;
    uint8_t first = envelope.kind;
    envelope.page_bytes = geometry->page_bytes;
    envelope.erased_value = geometry->erased_value;
    for (uint32_t id = 0; id < pages; id++) {
        uint8_t *at = image_page(geometry, id);
        envelope.kind = at[ESK_ENVELOPE_KIND];
        if (envelope.kind >= first && envelope.kind <= last &&
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
        pages_close(geometry, envelope, ESK_PAGE_SUPERBLOCK);
    }
    if (esk_volume_mount(&volume, device, 0, TEST_SCRATCH) != ESK_OK) {
        return;
    }
    envelope.seed = volume.seed;
    envelope.kind = ESK_PAGE_CATALOG;
    if ((mode & MODE_KEEP_CATALOG) == 0) {
        pages_close(geometry, envelope, ESK_PAGE_CATALOG);
    }
    while ((mode & MODE_KEEP_PAGES) == 0 &&
           esk_volume_list(&volume, &cursor, &info) == ESK_OK) {
        envelope.seed = info.seed;
        envelope.checksum = volume.checksum;
        envelope.table = info.id;
        envelope.kind = ESK_PAGE_DATA;
        pages_close(geometry, envelope, UINT8_MAX);
    }
}

/* ---------------------------------------------------------- what is called */

/// More rows than any device here has: a scan that goes on is a hang.
static void scan_bound(uint32_t *left) {
    if (*left == 0) {
        abort();
    }
    (*left)--;
}

static void volume_use(const struct esk_device *device, uint8_t mode,
                       uint8_t how) {
    uint8_t flags = 0;
    struct esk_volume volume;
    struct esk_table_info info;
    uint16_t cursor = 0;

    flags |= (mode & MODE_READ_ONLY) != 0 ? ESK_MOUNT_READ_ONLY : 0;
    flags |= (mode & MODE_TRUST_LOADS) != 0 ? ESK_MOUNT_TRUST_LOADS : 0;
    int status = (mode & MODE_SALVAGE) != 0
                     ? esk_volume_salvage(&volume, device, TEST_SCRATCH)
                     : esk_volume_mount(&volume, device, flags, TEST_SCRATCH);
    if (status != ESK_OK) {
        return;
    }
    for (uint8_t i = 0;
         i < 4 && esk_volume_list(&volume, &cursor, &info) == ESK_OK; i++) {
        table_use(&volume, &info, how);
    }
    tables_renew(&volume);
    esk_volume_unmount(&volume);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (bytes < 3) {
        return 0;
    }
    uint8_t number = data[0] % GEOMETRY_COUNT;
    uint8_t mode = data[1];
    other_tables = (data[0] & OTHER_TABLES) != 0;
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

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    const char *folder = getenv("ESK_FUZZ_SEEDS");
    (void)argc;
    (void)argv;
    if (folder == NULL) {
        return 0;
    }
    static const uint8_t modes[] = {0, MODE_FEW, MODE_READ_ONLY,
                                    MODE_TRUST_LOADS, MODE_SALVAGE};
    for (uint8_t i = 0; i < 4 * GEOMETRY_COUNT; i++) {
        uint8_t other = i < 2 * GEOMETRY_COUNT ? 0 : (uint8_t)OTHER_TABLES;
        uint8_t seed[] = {(uint8_t)(i % GEOMETRY_COUNT | other),
                          modes[i % 5],
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

#endif
