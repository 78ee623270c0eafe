// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Finds superblocks without the page size.
///
/// A superblock has its magic at a fixed offset of its page, and a page starts
/// at a multiple of 8: so the search tests every eighth byte for the magic. The
/// geometry there must agree with its place (the last page of one of the first
/// or last blocks), and the envelope must be valid. Until then every byte of
/// the file may be hostile.
///
/// A medium may still have superblocks of an older volume with another
/// geometry: one that fits the file's length is preferred to the first.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "esker/status.h"
#include "esker/volume.h"
#include "flash/envelope.h"
#include "port/host/image_probe.h"
#include "volume/volume_format.h"

enum {
    PROBE_CHUNK_BYTES = 65536,
    PROBE_PAGE_BYTES_MAX = 16384,
    PROBE_BLOCKS_MAX = 64, ///< at each end, where a mount searches for a
                           ///< superblock
    PROBE_STEP_BYTES = 8,  ///< every page size is a multiple of it
};

struct probe {
    FILE *file;
    uint64_t file_bytes;
    int status; ///< the most specific status so far
    struct esk_geometry geometry;
    uint8_t page[PROBE_PAGE_BYTES_MAX];
};

static bool probe_read(struct probe *probe, uint64_t address, uint8_t *buffer,
                       size_t bytes) {
    return fseeko(probe->file, (off_t)address, SEEK_SET) == 0 &&
           fread(buffer, 1, bytes, probe->file) == bytes;
}

static void geometry_decode(const uint8_t *page,
                            struct esk_geometry *geometry) {
    *geometry = (struct esk_geometry){
        .block_count = esk_load_u32(page + ESK_SUPER_BLOCK_COUNT),
        .block_pages = esk_load_u16(page + ESK_SUPER_BLOCK_PAGES),
        .page_bytes = esk_load_u16(page + ESK_SUPER_PAGE_BYTES),
        .spare_bytes = esk_load_u16(page + ESK_SUPER_SPARE_BYTES),
        .program_bytes = esk_load_u16(page + ESK_SUPER_PROGRAM_BYTES),
        .programs_per_page_max = page[ESK_SUPER_PROGRAMS_MAX],
        .erased_value = page[ESK_SUPER_ERASED_VALUE],
        .flags = page[ESK_SUPER_MEDIUM_FLAGS],
    };
}

/// Whether a superblock of `geometry` can be at `address`.
static bool geometry_agrees(const struct esk_geometry *geometry,
                            uint64_t address) {
    if (esk_geometry_check(geometry) != ESK_OK ||
        address % geometry->page_bytes != 0) {
        return false;
    }
    uint64_t page = address / geometry->page_bytes;
    uint64_t block = page / geometry->block_pages;
    return (page + 1) % geometry->block_pages == 0 &&
           block < geometry->block_count &&
           (block < PROBE_BLOCKS_MAX ||
            geometry->block_count - block <= PROBE_BLOCKS_MAX);
}

static uint64_t geometry_bytes(const struct esk_geometry *geometry) {
    return (uint64_t)geometry->block_count * geometry->block_pages *
           geometry->page_bytes;
}

/// Ranks a status: the more specific, the higher.
static int status_rank(int status) {
    switch (status) {
    case ESK_OK:
        return 3;
    case ESK_E_VERSION:
        return 2;
    case ESK_E_CORRUPT:
        return 1;
    default:
        return 0;
    }
}

/// Tests a possible superblock whose page starts at `address`.
/// Returns ESK_OK with `geometry` set; ESK_E_CORRUPT; ESK_E_VERSION.
static int probe_judge(struct probe *probe, uint64_t address,
                       struct esk_geometry *geometry) {
    if (!probe_read(probe, address, probe->page, ESK_SUPER_END)) {
        return ESK_E_CORRUPT;
    }
    geometry_decode(probe->page, geometry);
    if (!geometry_agrees(geometry, address) ||
        !probe_read(probe, address, probe->page, geometry->page_bytes)) {
        return ESK_E_CORRUPT;
    }
    const struct esk_envelope envelope = {
        .page_bytes = geometry->page_bytes,
        .unit = 1,
        .checksum = ESK_CHECKSUM_CRC32C,
        .kind = ESK_PAGE_SUPERBLOCK,
        .erased_value = geometry->erased_value,
    };
    if (!esk_envelope_check(&envelope, probe->page, false)) {
        return ESK_E_CORRUPT;
    }
    return esk_load_u16(probe->page + ESK_SUPER_VERSION) == ESK_FORMAT_VERSION
               ? ESK_OK
               : ESK_E_VERSION;
}

/// Records a candidate's status. Returns whether the search is over.
static bool probe_take(struct probe *probe, uint64_t address) {
    struct esk_geometry geometry;
    int status = probe_judge(probe, address, &geometry);
    bool fits =
        status == ESK_OK && geometry_bytes(&geometry) == probe->file_bytes;
    if (fits || status_rank(status) > status_rank(probe->status)) {
        probe->status = status;
        probe->geometry = geometry;
    }
    return fits;
}

/// Tries every place of `chunk`, which starts at `address` of the file.
static bool probe_chunk(struct probe *probe, const uint8_t *chunk, size_t bytes,
                        uint64_t address) {
    for (size_t i = 0; i + PROBE_STEP_BYTES <= bytes; i += PROBE_STEP_BYTES) {
        if (memcmp(chunk + i, ESK_SUPER_MAGIC_TEXT,
                   sizeof ESK_SUPER_MAGIC_TEXT) == 0 &&
            address + i >= ESK_SUPER_MAGIC &&
            probe_take(probe, address + i - ESK_SUPER_MAGIC)) {
            return true;
        }
    }
    return false;
}

static int probe_file(struct probe *probe) {
    uint8_t chunk[PROBE_CHUNK_BYTES];
    if (fseeko(probe->file, 0, SEEK_END) != 0) {
        return ESK_E_IO;
    }
    off_t end = ftello(probe->file);
    if (end < 0) {
        return ESK_E_IO;
    }
    probe->file_bytes = (uint64_t)end;
    for (uint64_t address = 0; address < probe->file_bytes;
         address += sizeof chunk) {
        if (fseeko(probe->file, (off_t)address, SEEK_SET) != 0) {
            return ESK_E_IO;
        }
        size_t bytes = fread(chunk, 1, sizeof chunk, probe->file);
        if (ferror(probe->file) != 0) {
            return ESK_E_IO;
        }
        if (probe_chunk(probe, chunk, bytes, address)) {
            break;
        }
    }
    return probe->status;
}

int esk_image_probe(const char *path, struct esk_geometry *geometry) {
    struct probe probe = {.status = ESK_NOT_FOUND};
    probe.file = fopen(path, "rb");
    if (probe.file == NULL) {
        return ESK_E_IO;
    }
    int status = probe_file(&probe);
    (void)fclose(probe.file);
    if (status == ESK_OK) {
        *geometry = probe.geometry;
    }
    return status;
}
