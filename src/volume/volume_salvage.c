// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Mounting a volume from the pages of its catalog, where no superblock is
/// left.
///
///     | half 0: pages of the catalog | tables ... | half 1: the same |
///
/// The facts of the superblock are found in the pages:
/// - The volume's seed. The checksum of a catalog page starts from it, and
///   CRC-32C can be computed backwards: each page gives the seed with which it
///   is valid.
/// - The start of half 1: the first block near the device's end that has a page
///   of the catalog.
/// - The tables' checksum: the one with which a page of a table is valid. The
///   table's descriptor has the seed.
///
/// Invariants
///  1. One page is no evidence: any bytes give some seed. A catalog needs two
///     pages that agree, or one page and a page of a table.
///  2. Of two successive commits of a volume the one with more pages is used,
///     so that an interrupted commit hides no table. Else the newest commit is
///     used, also of several volumes, which may have the same seed: the one
///     formatted last has larger numbers.
///  3. Two copies of the catalog are mixed only if the pages that both have are
///     equal. Else the copy with more pages is used: the other one seems to
///     begin at a later page, where it lost its first ones.
#include "base/crc.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum {
    /* Pages of a table that are read until one is valid. */
    PAGES_PROBED = 32,  ///< its first ones: a tree in place fills them first
    BLOCKS_PROBED = 32, ///< and the first page of blocks all over the region
};

/// The valid pages of a catalog.
struct extent {
    uint16_t pages[2]; ///< number of them, in each half
    uint16_t ends[2];  ///< index after the last of them
    bool equal;        ///< a page is the same in both halves
    bool differs;      ///< another one is not
};

/// Blocks at each end of the device in which a half can be.
static uint32_t half_blocks_most(const struct esk_volume *volume) {
    uint32_t blocks = esk_volume_geometry(volume)->block_count / 2;
    return blocks < ESK_HALF_BLOCKS_MAX ? blocks : ESK_HALF_BLOCKS_MAX;
}

/// Whether page `id` has the kind of a catalog's, with no bit wrong, for a page
/// of a table has few others; its commit.
/// Returns ESK_OK; ESK_NOT_FOUND; ESK_E_CORRUPT; ESK_E_IO.
static int header_find(struct esk_volume *volume, esk_address id,
                       uint32_t *commit) {
    struct esk_meta meta;
    uint8_t bytes[ESK_ENVELOPE_BYTES];
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    ESK_TRY(esk_region_peek(&meta.region, id, 0, bytes, sizeof bytes));
    *commit = esk_page_sequence(bytes);
    return bytes[ESK_ENVELOPE_KIND] == ESK_PAGE_CATALOG &&
                   bytes[ESK_ENVELOPE_TABLE] == 0
               ? ESK_OK
               : ESK_NOT_FOUND;
}

/// Reads page `index` of half `half`. Returns ESK_OK when it is one of the
/// volume's catalog.
static int page_read(struct esk_volume *volume, uint8_t half, uint16_t index,
                     uint8_t *page) {
    esk_address id = 0;
    uint32_t commit = 0;
    if (index >=
        volume->half_blocks * esk_volume_geometry(volume)->block_pages) {
        return ESK_NOT_FOUND;
    }
    ESK_TRY(esk_half_page(volume, half, index, &id));
    ESK_TRY(header_find(volume, id, &commit));
    return commit == volume->commit ? esk_half_read(volume, half, index, page)
                                    : ESK_NOT_FOUND;
}

/// Makes half 1 begin where the first of its pages is, or as far from the end
/// as it can be.
static void half_place(struct esk_volume *volume, uint8_t *page) {
    uint16_t pages = esk_volume_geometry(volume)->block_pages;
    uint32_t most = half_blocks_most(volume);
    for (uint32_t blocks = most; blocks > 0; blocks--) {
        volume->half_blocks = blocks;
        for (uint16_t i = 0; i < pages; i++) {
            if (page_read(volume, 1, i, page) == ESK_OK) {
                return;
            }
        }
    }
    volume->half_blocks = most;
}

/// Counts the pages of the volume's catalog in both halves.
static void extent_find(struct esk_volume *volume, struct extent *extent,
                        uint8_t *page) {
    /* What is left of half 1 says nothing about the length of half 0. */
    const uint32_t blocks[2] = {half_blocks_most(volume), volume->half_blocks};
    uint32_t pages = blocks[0] * esk_volume_geometry(volume)->block_pages;
    memset(extent, 0, sizeof *extent);
    for (uint16_t i = 0; i < pages && i < UINT16_MAX; i++) {
        uint32_t sums[2] = {0, 0};
        bool valid[2];
        for (uint8_t half = 0; half < 2; half++) {
            volume->half_blocks = blocks[half];
            valid[half] = page_read(volume, half, i, page) == ESK_OK;
            if (valid[half]) {
                sums[half] = esk_load_u32(page + ESK_ENVELOPE_CHECKSUM);
                extent->pages[half]++;
                extent->ends[half] = (uint16_t)(i + 1u);
            }
        }
        if (valid[0] && valid[1]) {
            extent->equal = extent->equal || sums[0] == sums[1];
            extent->differs = extent->differs || sums[0] != sums[1];
        }
    }
}

/// Takes as much of the catalog with the volume's seed and commit as there is.
/// Returns how many pages of it were found, both halves counted.
static uint16_t catalog_take(struct esk_volume *volume, uint8_t *page) {
    struct extent extent;
    volume->half_valid = 3;
    half_place(volume, page);
    extent_find(volume, &extent, page);
    volume->half_newest = extent.pages[1] > extent.pages[0];
    uint16_t end = extent.ends[volume->half_newest];
    if (extent.equal && !extent.differs) {
        uint16_t other = extent.ends[1 - volume->half_newest];
        end = other > end ? other : end;
    } else {
        volume->half_valid = esk_half_bit(volume->half_newest);
        if (volume->half_newest == 0) {
            volume->half_blocks = half_blocks_most(volume);
        }
    }
    volume->catalog_pages = end;
    volume->half_pages = (uint16_t)(end + 1u);
    return (uint16_t)(extent.pages[0] + extent.pages[1]);
}

/// Whether the page in `page` is valid as one of the table `info`, whatever
/// its kind, with the checksum of the volume.
static bool page_is_valid(struct esk_volume *volume,
                          const struct esk_table_info *info, uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    struct esk_envelope envelope = {
        .seed = info->seed,
        .page_bytes = geometry->page_bytes,
        .unit = 1,
        .checksum = volume->checksum,
        .kind = ESK_KIND_ANY,
        .table = info->id,
        .erased_value = geometry->erased_value,
        .seals = &esk_seals_at_end,
    };
    if (info->kind == ESK_TABLE_KV) {
        envelope.kind = ESK_PAGE_LOG;
        envelope.seals = &esk_seals_running;
    }
    if (esk_envelope_check(&envelope, page, false) != 0) {
        return true;
    }
    envelope.unit = info->row_bytes > 0 ? info->row_bytes : 1;
    return esk_envelope_check(&envelope, page, false) != 0; /* by a seal */
}

/// The page of a region that is probed after page `at`.
static uint32_t probe_next(const struct esk_volume *volume, uint32_t at,
                           uint32_t stride) {
    uint32_t block = at - at % esk_volume_geometry(volume)->block_pages;
    uint32_t far = stride < UINT32_MAX - block ? block + stride : UINT32_MAX;
    return at < PAGES_PROBED ? at + 1 : far;
}

/// Looks in region `role` of the table `info` for a page that is valid with
/// some checksum, which is the volume's then.
static bool region_probe(struct esk_volume *volume,
                         const struct esk_table_info *info, uint8_t role,
                         uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t block = info->block[role];
    uint32_t blocks = info->blocks[role];
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    if (block >= geometry->block_count ||
        blocks > geometry->block_count - block) {
        return false;
    }
    uint32_t pages = blocks * geometry->block_pages;
    uint32_t stride = (blocks / BLOCKS_PROBED + 1) * geometry->block_pages;
    for (uint32_t at = 0; at < pages; at = probe_next(volume, at, stride)) {
        esk_address id = block * geometry->block_pages + at;
        if (esk_region_peek(&meta.region, id, 0, page, geometry->page_bytes) !=
            ESK_OK) {
            continue;
        }
        for (uint8_t c = 0; c <= ESK_CHECKSUM_NONE; c++) {
            volume->checksum = c;
            if (page_is_valid(volume, info, page)) {
                return true;
            }
        }
    }
    return false;
}

/// The same in all its regions: all rows may be in the sync journal.
static bool table_probe(struct esk_volume *volume,
                        const struct esk_table_info *info, uint8_t *page) {
    bool found = false;
    for (uint8_t role = 0; role < ESK_REGION_COUNT && !found; role++) {
        found = region_probe(volume, info, role, page);
    }
    return found;
}

/// Finds the checksum of the volume's tables; without one it stays the
/// default.
/// Returns whether a table has a valid page.
static bool checksum_find(struct esk_volume *volume, uint8_t *page) {
    struct esk_table_info info;
    uint16_t cursor = 0;
    int status = ESK_OK;
    do {
        status = esk_catalog_list(volume, &cursor, &info, page);
        if (status == ESK_OK && table_probe(volume, &info, page)) {
            return true;
        }
    } while (status == ESK_OK || status == ESK_E_CORRUPT);
    volume->checksum = ESK_CHECKSUM_CRC32C;
    return false;
}

/// Takes seed and commit from page `id`. Returns ESK_OK; ESK_NOT_FOUND when it
/// is no page of a catalog; ESK_E_CORRUPT; ESK_E_IO.
static int seed_take(struct esk_volume *volume, esk_address id, uint8_t *page) {
    uint16_t bytes = esk_volume_geometry(volume)->page_bytes;
    struct esk_meta meta;
    uint32_t commit = 0;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    ESK_TRY(header_find(volume, id, &commit));
    ESK_TRY(esk_region_peek(&meta.region, id, 0, page, bytes));
    volume->commit = commit;
    volume->seed = ~esk_crc32c_undo(~esk_load_u32(page + ESK_ENVELOPE_CHECKSUM),
                                    page + ESK_ENVELOPE_COUNT,
                                    (uint16_t)(bytes - ESK_ENVELOPE_COUNT));
    return ESK_OK;
}

/// Whether the catalog of `volume` is to be used rather than that of `best`.
static bool is_better(const struct esk_volume *volume,
                      const struct esk_volume *best) {
    bool more = volume->catalog_pages > best->catalog_pages;
    bool same = volume->catalog_pages == best->catalog_pages;
    bool newer = volume->commit > best->commit;
    uint32_t apart =
        newer ? volume->commit - best->commit : best->commit - volume->commit;
    if (best->half_valid != 0 && (volume->seed != best->seed || apart > 1)) {
        return newer || (apart == 0 && more);
    }
    return more || (same && newer);
}

/// Makes `best` the volume that page `id` is of, if its catalog is better.
static int page_try(struct esk_volume *volume, struct esk_volume *best,
                    esk_address id, uint8_t *page) {
    uint32_t seed = volume->seed;
    uint32_t commit = volume->commit;
    ESK_TRY(seed_take(volume, id, page));
    if (seed == volume->seed && commit == volume->commit &&
        volume->half_valid != 0) {
        return ESK_OK; /* the same catalog */
    }
    uint16_t found = catalog_take(volume, page);
    if (is_better(volume, best) && (checksum_find(volume, page) || found > 1)) {
        *best = *volume;
    }
    return ESK_OK;
}

int esk_volume_salvage(struct esk_volume *volume,
                       const struct esk_device *device, void *arena,
                       uint32_t arena_bytes) {
    const struct esk_geometry *geometry = &device->geometry;
    struct esk_volume best;
    int failed = ESK_NOT_FOUND;
    int status = esk_geometry_check(geometry);
    if (status == ESK_OK) {
        status = esk_volume_begin(volume, device, ESK_MOUNT_READ_ONLY, arena,
                                  arena_bytes);
    }
    if (status != ESK_OK) {
        memset(volume, 0, sizeof *volume);
        return status;
    }
    uint8_t *page = esk_volume_scratch(volume);
    uint32_t half = half_blocks_most(volume);
    uint32_t pages = half * geometry->block_pages;
    memset(&best, 0, sizeof best);
    for (uint32_t i = 0; i < 2 * pages; i++) {
        esk_address id = i;
        if (i >= pages) {
            id += (geometry->block_count - 2 * half) * geometry->block_pages;
        }
        if (page_try(volume, &best, id, page) == ESK_E_IO) {
            failed = ESK_E_IO;
        }
    }
    *volume = best;
    return best.half_valid != 0 ? ESK_OK : failed;
}
