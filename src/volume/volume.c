// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Superblocks and meta halves.
///
///     | half 0               | tables ... | half 1               |
///     | descriptors ...  | S |            | descriptors ...  | S |
///
/// There is one half at each end of the device: damage at one end leaves the
/// other half. The superblock S is the last page of the half's last used block.
/// So it is programmed after every descriptor, with a device sync before it
/// where a medium may reorder: a half whose superblock is valid is complete. A
/// change writes the other half first, then this one, so between changes both
/// have the same catalog.
#include "volume/volume.h"

#include "base/crc.h"
#include "base/inline.h"
#include "volume/table.h"
#include "volume/volume_format.h"

void esk_meta_open(struct esk_meta *meta, struct esk_volume *volume,
                   uint8_t kind) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    struct esk_envelope *envelope = &meta->region.envelope;
    memset(meta, 0, sizeof *meta);
    meta->region.volume = volume;
    meta->region.stats = &meta->stats;
    meta->region.pages = geometry->block_count * geometry->block_pages;
    if (ESK_SHAPED_MEDIUM(false, true)) {
        envelope->page_bytes = geometry->page_bytes;
        envelope->erased_value = geometry->erased_value;
    }
    envelope->unit = 1;
    envelope->checksum = ESK_CHECKSUM_CRC32C;
    envelope->kind = kind;
    envelope->seed = kind == ESK_PAGE_CATALOG ? esk_volume_seed(volume) : 0;
}

ESK_OUT_OF_LINE int esk_meta_read(struct esk_volume *volume, uint8_t kind,
                                  esk_address id, uint32_t sequence,
                                  uint8_t *page) {
    struct esk_meta meta;
    esk_meta_open(&meta, volume, kind);
    return esk_region_read(&meta.region, id, sequence, page, true);
}

/// The first block of half `half`.
static uint32_t half_block(const struct esk_volume *volume, uint8_t half) {
    return half == 0 ? 0
                     : esk_volume_geometry(volume)->block_count -
                           esk_volume_half_blocks(volume);
}

int esk_half_page(const struct esk_volume *volume, uint8_t half, uint16_t index,
                  esk_address *page) {
    uint16_t pages = esk_volume_geometry(volume)->block_pages;
    uint32_t block = half_block(volume, half);
    if (!esk_volume_keeps_marks(volume)) {
        *page = (esk_address)(block * pages) + index;
        return ESK_OK;
    }
    uint16_t skip = index / pages;
    uint32_t end = block + esk_volume_half_blocks(volume);
    for (; block < end; block++) {
        if (esk_volume_block_is_bad(volume, block)) {
            continue;
        }
        if (skip == 0) {
            *page = block * pages + (uint16_t)(index % pages);
            return ESK_OK;
        }
        skip--;
    }
    return ESK_E_WORN;
}

int esk_half_erase(struct esk_volume *volume, uint8_t half) {
    uint32_t start = half_block(volume, half);
    esk_address last = 0;
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);

    volume->half_valid = (uint8_t)(volume->half_valid & ~esk_half_bit(half));
    for (uint32_t i = 0; i < esk_volume_half_blocks(volume); i++) {
        if (esk_volume_block_is_bad(volume, start + i)) {
            continue;
        }
        int status = esk_region_erase(&meta.region, start + i);
        bool is_marked =
            status == ESK_E_MEDIUM && esk_volume_keeps_marks(volume);
        if (status != ESK_OK && !is_marked) {
            return ESK_E_IO;
        }
    }
    return esk_half_page(volume, half,
                         (uint16_t)(esk_volume_half_pages(volume) - 1u), &last);
}

int esk_half_program(struct esk_volume *volume, uint8_t half, uint16_t index,
                     const uint8_t *bytes) {
    esk_address page = 0;
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_CATALOG);
    ESK_TRY(esk_half_page(volume, half, index, &page));
    int status =
        esk_region_program(&meta.region, page, bytes, 0,
                           esk_envelope_page_bytes(&meta.region.envelope));
    return status == ESK_OK ? ESK_OK : ESK_E_IO;
}

void esk_super_encode(const struct esk_region *region, uint8_t *page) {
    const struct esk_volume *volume = region->volume;
    const struct esk_geometry *geometry = esk_volume_geometry(volume);

    memset(page, geometry->erased_value, geometry->page_bytes);
    memset(page, 0, ESK_SUPER_END);
    memcpy(page + ESK_SUPER_MAGIC, ESK_SUPER_MAGIC_TEXT,
           sizeof ESK_SUPER_MAGIC_TEXT);
    esk_store_u16(page + ESK_SUPER_VERSION, ESK_FORMAT_VERSION);
    page[ESK_SUPER_CHECKSUM] = volume->checksum;
    page[ESK_SUPER_TABLES_MAX] = volume->tables_max;
    esk_store_u32(page + ESK_SUPER_COMPATIBLE, volume->compatible_features);
    memcpy(page + ESK_SUPER_UUID, volume->uuid, sizeof volume->uuid);
    esk_store_u32(page + ESK_SUPER_BLOCK_COUNT, geometry->block_count);
    esk_store_u16(page + ESK_SUPER_BLOCK_PAGES, geometry->block_pages);
    esk_store_u16(page + ESK_SUPER_PAGE_BYTES, geometry->page_bytes);
    esk_store_u16(page + ESK_SUPER_SPARE_BYTES, geometry->spare_bytes);
    esk_store_u16(page + ESK_SUPER_PROGRAM_BYTES, geometry->program_bytes);
    page[ESK_SUPER_PROGRAMS_MAX] = geometry->programs_per_page_max;
    page[ESK_SUPER_ERASED_VALUE] = geometry->erased_value;
    page[ESK_SUPER_MEDIUM_FLAGS] = geometry->flags;
    page[ESK_SUPER_TABLE_NEXT] = volume->table_next;
    esk_store_u32(page + ESK_SUPER_SEED, volume->seed);
    esk_store_u32(page + ESK_SUPER_HALF_BLOCKS, volume->half_blocks);
    esk_store_u16(page + ESK_SUPER_HALF_PAGES, volume->half_pages);
    esk_store_u16(page + ESK_SUPER_CATALOG_PAGES, volume->catalog_pages);
    esk_envelope_open(page, volume->commit, 0);
    esk_envelope_close(&region->envelope, page,
                       ESK_SUPER_END - ESK_ENVELOPE_BYTES);
}

int esk_half_seal(struct esk_volume *volume, uint8_t half, uint8_t *page) {
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_SUPERBLOCK);
    esk_super_encode(&meta.region, page);
    /* It must not be durable before the descriptors, nor be there after they
       are erased: the next commit may have the same number. */
    ESK_TRY(esk_region_barrier(&meta.region));
    ESK_TRY(esk_half_program(
        volume, half, (uint16_t)(esk_volume_half_pages(volume) - 1u), page));
    ESK_TRY(esk_region_sync(&meta.region));
    volume->half_valid = (uint8_t)(volume->half_valid | esk_half_bit(half));
    volume->half_newest = half;
    return ESK_OK;
}

int esk_half_prove(struct esk_volume *volume, uint8_t half, uint8_t *page) {
    for (uint16_t p = 0; p < volume->catalog_pages; p++) {
        ESK_TRY(esk_half_read(volume, half, p, page));
    }
    return (volume->half_valid & esk_half_bit(half)) != 0 ? ESK_OK
                                                          : ESK_E_CORRUPT;
}

int esk_half_mirror(struct esk_volume *volume, uint8_t *page) {
    uint8_t from = volume->half_newest;
    uint8_t to = (uint8_t)(1 - from);
    int status = ESK_E_IO;

    for (uint8_t i = 0; i < ESK_HALF_TRIES && status != ESK_OK; i++) {
        ESK_TRY(esk_half_erase(volume, to));
        status = ESK_OK;
        for (uint16_t p = 0; p < volume->catalog_pages; p++) {
            status = esk_catalog_read(volume, p, page);
            if (status == ESK_OK) {
                status = esk_half_program(volume, to, p, page);
            }
            if (status != ESK_OK) {
                break;
            }
        }
        if (status == ESK_OK) {
            status = esk_half_seal(volume, to, page);
        }
    }
    return status;
}

/// Whether this build can use a volume with the superblock in `page`.
/// Returns ESK_OK; ESK_E_VERSION; ESK_E_UNSUPPORTED; ESK_E_READ_ONLY.
static int super_serve(const struct esk_volume *volume, const uint8_t *page) {
    if (esk_load_u16(page + ESK_SUPER_VERSION) != ESK_FORMAT_VERSION) {
        return ESK_E_VERSION;
    }
    if (esk_load_u32(page + ESK_SUPER_INCOMPATIBLE) != 0 ||
        page[ESK_SUPER_CHECKSUM] > ESK_CHECKSUM_NONE) {
        return ESK_E_UNSUPPORTED;
    }
    return esk_load_u32(page + ESK_SUPER_READ_ONLY) != 0 &&
                   (esk_volume_flags(volume) & ESK_MOUNT_READ_ONLY) == 0
               ? ESK_E_READ_ONLY
               : ESK_OK;
}

/// Reads the superblock at `id`.
/// Returns ESK_OK; ESK_NOT_FOUND when the page is erased; ESK_E_FOREIGN when it
/// is something else; ESK_E_CORRUPT when it is a damaged superblock; ESK_E_IO;
/// as super_serve.
static int super_read(struct esk_volume *volume, esk_address id,
                      uint8_t *page) {
    int status =
        esk_meta_read(volume, ESK_PAGE_SUPERBLOCK, id, ESK_SEQUENCE_ANY, page);
    if (status == ESK_E_IO || status == ESK_NOT_FOUND) {
        return status;
    }
    if (!esk_bytes_equal(page + ESK_SUPER_MAGIC, ESK_SUPER_MAGIC_TEXT,
                         sizeof ESK_SUPER_MAGIC_TEXT)) {
        return ESK_E_FOREIGN;
    }
    return status == ESK_OK ? super_serve(volume, page) : status;
}

/// Takes the volume's values from the superblock in `page`. Returns whether the
/// superblock is for this geometry. Spare area and program unit may differ: a
/// host reads the same bytes from a file.
static bool super_decode(struct esk_volume *volume, const uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    volume->seed = esk_load_u32(page + ESK_SUPER_SEED);
    volume->commit = esk_page_sequence(page);
    volume->half_blocks = esk_load_u32(page + ESK_SUPER_HALF_BLOCKS);
    volume->half_pages = esk_load_u16(page + ESK_SUPER_HALF_PAGES);
    volume->catalog_pages = esk_load_u16(page + ESK_SUPER_CATALOG_PAGES);
    volume->checksum = page[ESK_SUPER_CHECKSUM];
    volume->table_next = page[ESK_SUPER_TABLE_NEXT];
    volume->tables_max = page[ESK_SUPER_TABLES_MAX];
    volume->compatible_features = esk_load_u32(page + ESK_SUPER_COMPATIBLE);
    memcpy(volume->uuid, page + ESK_SUPER_UUID, sizeof volume->uuid);
    return esk_load_u32(page + ESK_SUPER_BLOCK_COUNT) ==
               geometry->block_count &&
           esk_load_u16(page + ESK_SUPER_BLOCK_PAGES) ==
               geometry->block_pages &&
           esk_load_u16(page + ESK_SUPER_PAGE_BYTES) == geometry->page_bytes &&
           page[ESK_SUPER_ERASED_VALUE] == geometry->erased_value &&
           volume->half_blocks <= geometry->block_count / 2 &&
           volume->half_pages <= volume->half_blocks * geometry->block_pages &&
           volume->catalog_pages < volume->half_pages;
}

/// Reads the superblock at `id` and takes the volume's values from it.
/// Returns as super_read; ESK_E_GEOMETRY: the values are of another device, and
/// not to be used.
ESK_OUT_OF_LINE static int super_take(struct esk_volume *volume, esk_address id,
                                      uint8_t *page) {
    int status = super_read(volume, id, page);
    if (status == ESK_OK && !super_decode(volume, page)) {
        return ESK_E_GEOMETRY;
    }
    return status;
}

/* Of several places without the volume's superblock, the smallest status is
   returned: it is the most specific. */
_Static_assert(ESK_NOT_FOUND > ESK_E_FOREIGN && ESK_E_FOREIGN > ESK_E_CORRUPT &&
                   ESK_E_CORRUPT > ESK_E_IO && ESK_E_IO > ESK_E_VERSION &&
                   ESK_E_IO > ESK_E_UNSUPPORTED && ESK_E_IO > ESK_E_READ_ONLY &&
                   ESK_E_IO > ESK_E_GEOMETRY,
               "a status is smaller than those that are less specific");

int esk_page_probe(struct esk_volume *volume, esk_address id, uint8_t *page) {
    int status = ESK_E_CORRUPT;
    for (uint8_t i = 0; i < 2 && status != ESK_NOT_FOUND; i++) {
        status = esk_meta_read(volume, ESK_PAGE_SUPERBLOCK, id,
                               ESK_SEQUENCE_ANY, page);
    }
    if (status != ESK_NOT_FOUND &&
        !esk_volume_block_is_bad(
            volume, id / esk_volume_geometry(volume)->block_pages)) {
        return status == ESK_E_IO ? ESK_E_IO : ESK_E_FOREIGN;
    }
    return ESK_OK;
}

int esk_volume_probe(struct esk_volume *volume, esk_address except,
                     uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t stride = (geometry->block_count - 1) / ESK_MOUNT_BLOCKS_MAX + 1;
    for (uint32_t block = 0; block < geometry->block_count; block += stride) {
        esk_address id = block * geometry->block_pages;
        if (id != except) {
            ESK_TRY(esk_page_probe(volume, id, page));
        }
    }
    return ESK_NOT_FOUND;
}

/// Finds the superblock of half `half`: the first one from that end of the
/// device on. Then this half is the newest and the only one of the volume.
/// Returns  ESK_OK; else the most specific reason: ESK_NOT_FOUND when all
///          places are erased, ESK_E_FOREIGN, ESK_E_CORRUPT, ESK_E_IO, or as
///          super_take.
static int half_find(struct esk_volume *volume, uint8_t half, uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint16_t pages = geometry->block_pages;
    uint8_t blocks = geometry->block_count / 2 < ESK_MOUNT_BLOCKS_MAX
                         ? (uint8_t)(geometry->block_count / 2)
                         : (uint8_t)ESK_MOUNT_BLOCKS_MAX;
    int most = ESK_NOT_FOUND;
    esk_address id = half == 0
                         ? pages - 1u
                         : (esk_address)(geometry->block_count * pages - 1u);
    for (; blocks > 0; blocks--) {
        esk_address place = 0;
        int status = super_take(volume, id, page);
        if (status == ESK_OK) {
            volume->half_newest = half;
            volume->half_valid = esk_half_bit(half);
            status = esk_half_page(
                volume, half, (uint16_t)(esk_volume_half_pages(volume) - 1u),
                &place);
            if (status == ESK_OK && place == id) {
                return ESK_OK;
            }
            status = ESK_E_CORRUPT; /* an old one in a block that is bad now */
        }
        if (status < most && !esk_volume_block_is_bad(volume, id / pages)) {
            most = status;
        }
        id = half == 0 ? id + pages : id - pages;
    }
    return most;
}

/// Of two commits the newer one counts, unless only the older one is complete:
/// the superblock of a failed commit may survive its erase.
static int halves_mount(struct esk_volume *volume, uint8_t *page) {
    int second = half_find(volume, 1, page);
    uint32_t commit = volume->commit;
    uint32_t seed = volume->seed;
    int first = half_find(volume, 0, page);
    int least = first < second ? first : second;
    uint8_t half = second == ESK_OK && first != ESK_OK ? 1 : 0;
    uint8_t tries = 1;
    if (first == ESK_OK && second == ESK_OK) {
        if (volume->commit == commit && volume->seed == seed) {
            volume->half_valid = 3;
            return ESK_OK;
        }
        half = commit > volume->commit ? 1 : 0;
        tries = 3;
    } else if (first != ESK_OK && second != ESK_OK) {
        return least == ESK_NOT_FOUND
                   ? esk_volume_probe(volume, ESK_ADDRESS_NONE, page)
                   : least;
    } else if (least == ESK_E_IO) {
        return least; /* that half may be the newer one */
    }
    int status = ESK_E_CORRUPT;
    for (uint8_t i = 0; i < tries && status != ESK_OK && status != ESK_E_IO;
         i++) {
        /* The newer one, the older one, then the newer one in any state. */
        status = half_find(volume, (uint8_t)(half ^ (i & 1u)), page);
        if (status == ESK_OK && tries - i > 1) {
            status = esk_half_prove(volume, volume->half_newest, page);
        }
    }
    return status;
}

int esk_volume_mount(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, void *arena, uint32_t arena_bytes) {
    ESK_ASSERT(volume != NULL && device != NULL);
    int status =
        flags < 2u * ESK_MOUNT_READ_BACK
            ? ESK_SHAPED_MEDIUM(ESK_OK, esk_geometry_check(&device->geometry))
            : ESK_E_INVALID;
    if (status == ESK_OK) {
        status = esk_volume_begin(volume, device, flags, arena, arena_bytes);
    }
    if (status == ESK_OK) {
        status = esk_volume_flags(volume) == flags
                     ? halves_mount(volume, esk_volume_scratch(volume))
                     : ESK_E_INVALID;
    }
    if (status != ESK_OK) {
        memset(volume, 0, sizeof *volume);
    }
    return status;
}

int esk_table_find(struct esk_volume *volume, const char *name, uint8_t kind,
                   struct esk_table_info *info, struct esk_descriptor *columns,
                   uint8_t *page) {
    ESK_TRY(esk_catalog_find_columns(volume, name, info, columns, page));
    if (esk_table_is_open(volume, info->id)) {
        return ESK_E_BUSY;
    }
    bool is_other = ESK_SHAPE_ALL_SERIES && kind != ESK_TABLE_SERIES;
    if (info->kind != kind || is_other ||
        info->codec > (kind == ESK_TABLE_SERIES ? ESK_CODEC_PACKED : 0) ||
        info->incompatible_features != 0) {
        return ESK_E_UNSUPPORTED;
    }
    return info->read_only_features != 0 &&
                   (esk_volume_flags(volume) & ESK_MOUNT_READ_ONLY) == 0
               ? ESK_E_READ_ONLY
               : ESK_OK;
}

int esk_volume_step(struct esk_volume *volume, uint16_t budget,
                    uint16_t *done) {
    ESK_ASSERT(volume != NULL);
    uint16_t erased = 0;
    if (!esk_volume_is_mounted(volume)) {
        return ESK_E_INVALID;
    }
    if ((volume->flags & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    for (const struct esk_table *table = volume->tables; table != NULL;
         table = table->next) {
        for (struct esk_ring *ring = table->rings; ring != NULL;
             ring = ring->next) {
            bool more = true;
            while (more && erased < budget) {
                ESK_TRY(esk_ring_step(ring, &more));
                erased = (uint16_t)(erased + (more ? 1 : 0));
            }
        }
    }
    if (done != NULL) {
        *done = erased;
    }
    return ESK_OK;
}

int esk_volume_unmount(struct esk_volume *volume) {
    ESK_ASSERT(volume != NULL);
    if (!esk_volume_is_mounted(volume)) {
        return ESK_E_INVALID;
    }
    if (volume->tables != NULL) {
        return ESK_E_BUSY;
    }
    memset(volume, 0, sizeof *volume);
    return ESK_OK;
}
