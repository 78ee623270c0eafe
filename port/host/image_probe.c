// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Finds superblocks, or heads of a bare kv store, without the page size.
///
/// Both have their magic at a fixed offset of their page, and a page starts at
/// a multiple of 8: so the search tests every eighth byte for the magic. The
/// geometry there must agree with its place (of a superblock the last page of
/// one of the first or last blocks), and the envelope must be valid. Until then
/// every byte of the file may be hostile.
///
/// A medium may still have superblocks of an older volume with another
/// geometry: one that fits the file's length is preferred to the first.
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "esker/kv.h"
#include "flash/envelope.h"
#include "port/host/image_probe.h"
#include "table/kv/record_format.h"
#include "volume/volume_format.h"

enum {
    PROBE_CHUNK_BYTES = 65536,
    PROBE_PAGE_BYTES_MAX = 16384,
    PROBE_BLOCKS_MAX = 64, ///< at each end, where a mount searches for a
                           ///< superblock
    PROBE_STEP_BYTES = 8,  ///< every page size is a multiple of it
};

/// What is searched for.
struct target {
    const char *magic;    ///< 8 bytes
    uint16_t magic_at;    ///< their offset in the page
    uint16_t probe_bytes; ///< up to the end of its fields
    /// Decodes the geometry in the first probe_bytes bytes of a page at
    /// `address`. Returns whether it can be there.
    bool (*decode)(const uint8_t *page, uint64_t address,
                   struct esk_geometry *geometry);
    /// Whether the page, of that geometry, is valid.
    bool (*is_valid)(uint8_t *page, const struct esk_geometry *geometry);
    uint16_t version_at;
    uint16_t version;
};

struct probe {
    const struct target *target;
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

/// Whether a page of a device of `geometry` can be at `address`.
static bool page_agrees(const struct esk_geometry *geometry, uint64_t address) {
    return esk_geometry_check(geometry) == ESK_OK &&
           address % geometry->page_bytes == 0 &&
           address / geometry->page_bytes / geometry->block_pages <
               geometry->block_count;
}

static bool super_decode(const uint8_t *page, uint64_t address,
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
    if (!page_agrees(geometry, address)) {
        return false;
    }
    uint64_t number = address / geometry->page_bytes;
    uint64_t block = number / geometry->block_pages;
    return (number + 1) % geometry->block_pages == 0 &&
           (block < PROBE_BLOCKS_MAX ||
            geometry->block_count - block <= PROBE_BLOCKS_MAX);
}

static bool super_is_valid(uint8_t *page, const struct esk_geometry *geometry) {
    const struct esk_envelope envelope = {
        .page_bytes = geometry->page_bytes,
        .unit = 1,
        .checksum = ESK_CHECKSUM_CRC32C,
        .kind = ESK_PAGE_SUPERBLOCK,
        .erased_value = geometry->erased_value,
    };
    return esk_envelope_check(&envelope, page, false) != 0;
}

static const struct target superblock = {
    .magic = ESK_SUPER_MAGIC_TEXT,
    .magic_at = ESK_SUPER_MAGIC,
    .probe_bytes = ESK_SUPER_END,
    .decode = super_decode,
    .is_valid = super_is_valid,
    .version_at = ESK_SUPER_VERSION,
    .version = ESK_FORMAT_VERSION,
};

static bool head_decode(const uint8_t *page, uint64_t address,
                        struct esk_geometry *geometry) {
    const uint8_t *head = page + ESK_ENVELOPE_BYTES;
    *geometry = (struct esk_geometry){
        .block_count = esk_load_u16(head + ESK_KV_HEAD_BLOCK_COUNT),
        .block_pages = esk_load_u16(head + ESK_KV_HEAD_BLOCK_PAGES),
        .page_bytes = esk_load_u16(head + ESK_KV_HEAD_PAGE_BYTES),
        .program_bytes = 1,
        .programs_per_page_max = 1,
        .erased_value = head[ESK_KV_HEAD_ERASED_VALUE],
    };
    return page_agrees(geometry, address) &&
           geometry->block_count <= ESK_KV_BARE_BLOCKS_MAX &&
           head[ESK_KV_HEAD_CHECKSUM] <= ESK_CHECKSUM_NONE;
}

static bool head_is_valid(uint8_t *page, const struct esk_geometry *geometry) {
    const uint8_t *head = page + ESK_ENVELOPE_BYTES;
    const struct esk_envelope envelope = {
        .seals = &esk_seals_running,
        .page_bytes = geometry->page_bytes,
        .unit = 1,
        .checksum = head[ESK_KV_HEAD_CHECKSUM],
        .kind = ESK_PAGE_LOG,
        .table = 1,
        .seed = esk_load_u32(head + ESK_KV_HEAD_SEED),
        .erased_value = geometry->erased_value,
    };
    return esk_envelope_check(&envelope, page, false) != 0;
}

static const struct target bare_head = {
    .magic = "EskerKV",
    .magic_at = ESK_ENVELOPE_BYTES + ESK_KV_HEAD_MAGIC,
    .probe_bytes = ESK_ENVELOPE_BYTES + ESK_KV_HEAD_BYTES,
    .decode = head_decode,
    .is_valid = head_is_valid,
    .version_at = ESK_ENVELOPE_BYTES + ESK_KV_HEAD_VERSION,
    .version = 1,
};

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

/// Tests what may be the target, in the page that starts at `address`.
/// Returns ESK_OK with `geometry` set; ESK_E_CORRUPT; ESK_E_VERSION.
static int probe_judge(struct probe *probe, uint64_t address,
                       struct esk_geometry *geometry) {
    const struct target *target = probe->target;
    if (!probe_read(probe, address, probe->page, target->probe_bytes) ||
        !target->decode(probe->page, address, geometry) ||
        !probe_read(probe, address, probe->page, geometry->page_bytes) ||
        !target->is_valid(probe->page, geometry)) {
        return ESK_E_CORRUPT;
    }
    return esk_load_u16(probe->page + target->version_at) == target->version
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
    const struct target *target = probe->target;
    for (size_t i = 0; i + PROBE_STEP_BYTES <= bytes; i += PROBE_STEP_BYTES) {
        if (memcmp(chunk + i, target->magic, PROBE_STEP_BYTES) == 0 &&
            address + i >= target->magic_at &&
            probe_take(probe, address + i - target->magic_at)) {
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

static int image_probe(const char *path, const struct target *target,
                       struct esk_geometry *geometry) {
    struct probe probe = {.target = target, .status = ESK_NOT_FOUND};
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

int esk_image_probe(const char *path, struct esk_geometry *geometry) {
    return image_probe(path, &superblock, geometry);
}

int esk_image_probe_bare(const char *path, struct esk_geometry *geometry) {
    return image_probe(path, &bare_head, geometry);
}
