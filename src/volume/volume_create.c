// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Formatting: the size of the meta halves, and the checks that the medium is
/// blank.
///
/// The first superblock is the first page that is programmed on a blank medium.
/// If power loss tears it, each bit of this page is either erased or the
/// superblock's, and all other pages are blank: then the medium may be
/// formatted again.
#include "base/crc.h"
#include "flash/envelope_format.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

enum {
    TABLES_MAX_DEFAULT = 8,
    HALF_SPARE_BLOCKS = 2, ///< of a half, for bad blocks
    PIECE_BYTES = 8,
};

/// Makes `volume` the empty volume of `config`, on no medium yet.
/// Returns ESK_OK; ESK_E_INVALID; ESK_E_NO_SPACE.
static int volume_plan(struct esk_volume *volume,
                       const struct esk_device *device,
                       const struct esk_volume_config *config) {
    const struct esk_geometry *geometry = &device->geometry;
    if (config->checksum > ESK_CHECKSUM_NONE) {
        return ESK_E_INVALID;
    }
    memset(volume, 0, sizeof *volume);
    volume->device = device;
    volume->checksum = config->checksum;
    volume->tables_max =
        config->tables_max != 0 ? config->tables_max : TABLES_MAX_DEFAULT;
    memcpy(volume->uuid, config->uuid, sizeof volume->uuid);
    volume->seed = ~esk_crc32c(~0u, config->uuid, sizeof config->uuid);
    volume->table_next = 1;
    volume->commit = 1;

    uint32_t blocks =
        ESK_VOLUME_CATALOG_BLOCKS(geometry->page_bytes, geometry->block_pages,
                                  volume->tables_max, 0u) /
        2u;
    bool go_bad = device->ops->block_is_bad != NULL;
    volume->half_blocks = blocks + (go_bad ? HALF_SPARE_BLOCKS : 0u);
    if (blocks * geometry->block_pages > UINT16_MAX ||
        volume->half_blocks > ESK_HALF_BLOCKS_MAX) {
        return ESK_E_INVALID;
    }
    volume->half_pages = (uint16_t)(blocks * geometry->block_pages);
    return geometry->block_count < 2 * volume->half_blocks + 4 ? ESK_E_NO_SPACE
                                                               : ESK_OK;
}

/// Writes both halves of `volume`, which is empty.
static int volume_write(struct esk_volume *volume, uint8_t *page) {
    int status = ESK_E_IO;
    for (uint8_t i = 0; i < ESK_HALF_TRIES && status != ESK_OK; i++) {
        status = esk_half_erase(volume, 0);
        if (status == ESK_OK) {
            status = esk_half_seal(volume, 0, page);
        }
    }
    if (status == ESK_OK) {
        status = esk_half_mirror(volume, page);
    }
    return status == ESK_E_WORN ? ESK_E_NO_SPACE : status;
}

/// Whether every page that a format erases is erased, except page `except`.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
static int halves_probe(struct esk_volume *volume, esk_address except,
                        uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t pages = volume->half_blocks * geometry->block_pages;
    uint32_t second = geometry->block_count * geometry->block_pages - pages;
    for (uint32_t i = 0; i < 2 * pages; i++) {
        esk_address id = i < pages ? i : second + i - pages;
        if (id != except) {
            ESK_TRY(esk_page_probe(volume, id, page));
        }
    }
    return ESK_OK;
}

int esk_volume_format(const struct esk_device *device,
                      const struct esk_volume_config *config, void *arena,
                      uint32_t arena_bytes) {
    ESK_ASSERT(device != NULL && config != NULL);
    struct esk_volume volume;
    struct esk_volume before;
    ESK_TRY(esk_geometry_check(&device->geometry));
    ESK_TRY(esk_volume_begin(&before, device, 0, arena, arena_bytes));
    uint8_t *page = esk_volume_scratch(&before);
    ESK_TRY(volume_plan(&volume, device, config));
    int status = esk_volume_mount(&before, device, 0, arena, arena_bytes);
    if (!config->overwrite) {
        if (status != ESK_NOT_FOUND) {
            return status == ESK_E_IO ? ESK_E_IO : ESK_E_FOREIGN;
        }
        ESK_TRY(halves_probe(&volume, ESK_ADDRESS_NONE, page));
    }
    /* Commit numbers continue those of an earlier volume, so that no page of
       its tables can be valid to a table of this one. */
    if (status == ESK_OK) {
        volume.commit = before.commit + 1;
    }
    return volume_write(&volume, page);
}

/// Whether this byte of the superblock can differ from volume to volume.
static bool byte_is_own(uint16_t at) {
    return at < ESK_ENVELOPE_COUNT ||
           (at >= ESK_SUPER_UUID && at < ESK_SUPER_BLOCK_COUNT) ||
           (at >= ESK_SUPER_SEED && at < ESK_SUPER_HALF_BLOCKS);
}

/// Whether each bit of page `id` is either erased or that of `super`, so the
/// page may be a torn superblock, perhaps with another UUID. A piece that the
/// medium cannot read proves nothing.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
static int super_is_torn(const struct esk_region *region, esk_address id,
                         const uint8_t *super) {
    uint8_t erased = esk_envelope_erased(&region->envelope);
    uint8_t piece[PIECE_BYTES];
    bool is_super = false; /* it has bits that all superblocks have */
    bool is_other = false; /* it has bits that `super` does not have */
    for (uint16_t at = 0; at < esk_envelope_page_bytes(&region->envelope);
         at = (uint16_t)(at + PIECE_BYTES)) {
        int status = esk_region_peek(region, id, at, piece, PIECE_BYTES);
        if (status == ESK_E_IO) {
            return status;
        }
        for (uint8_t i = 0; i < PIECE_BYTES && status == ESK_OK; i++) {
            uint16_t offset = (uint16_t)(at + i);
            bool own = byte_is_own(offset);
            bool odd = ((piece[i] ^ super[offset]) & (piece[i] ^ erased)) != 0;
            if (odd && !own) {
                return ESK_E_FOREIGN;
            }
            is_super = is_super || (!own && piece[i] != erased);
            is_other = is_other || odd;
        }
    }
    return is_super || !is_other ? ESK_OK : ESK_E_FOREIGN;
}

/// Whether the places of superblocks are erased, except page `except`.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
static int places_probe(struct esk_volume *volume, esk_address except,
                        uint8_t *page) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    for (uint32_t block = 0; block < geometry->block_count; block++) {
        if (block == ESK_MOUNT_BLOCKS_MAX &&
            geometry->block_count > 2 * ESK_MOUNT_BLOCKS_MAX) {
            block = geometry->block_count - ESK_MOUNT_BLOCKS_MAX;
        }
        esk_address last = (block + 1) * geometry->block_pages - 1;
        if (last != except) {
            ESK_TRY(esk_page_probe(volume, last, page));
        }
    }
    return ESK_OK;
}

/// Whether the medium is blank except for a torn first superblock of `volume`.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
static int format_was_cut(struct esk_volume *volume, uint8_t *page) {
    esk_address super = 0;
    struct esk_meta meta;
    if (esk_half_page(volume, 0, (uint16_t)(volume->half_pages - 1u), &super) !=
        ESK_OK) {
        return ESK_E_FOREIGN;
    }
    ESK_TRY(halves_probe(volume, super, page));
    ESK_TRY(places_probe(volume, super, page));
    int status = esk_volume_probe(volume, super, page);
    if (status != ESK_NOT_FOUND) {
        return status;
    }
    esk_meta_open(&meta, volume, ESK_PAGE_SUPERBLOCK);
    esk_super_encode(&meta.region, page);
    return super_is_torn(&meta.region, super, page);
}

/// Formats a medium that is blank, or whose format was cut.
/// found    the status of the mount before.
static int volume_make(struct esk_volume *volume,
                       const struct esk_device *device, uint8_t flags,
                       const struct esk_volume_config *config, int found,
                       uint8_t *page) {
    ESK_TRY(volume_plan(volume, device, config));
    volume->flags = flags;
    if (found == ESK_NOT_FOUND) {
        ESK_TRY(halves_probe(volume, ESK_ADDRESS_NONE, page));
    } else {
        int status = format_was_cut(volume, page);
        if (status != ESK_OK) {
            return status == ESK_E_FOREIGN ? found : status;
        }
    }
    return (flags & ESK_MOUNT_READ_ONLY) != 0 ? ESK_E_READ_ONLY
                                              : volume_write(volume, page);
}

int esk_volume_mount_or_format(struct esk_volume *volume,
                               const struct esk_device *device, uint8_t flags,
                               const struct esk_volume_config *config,
                               void *arena, uint32_t arena_bytes) {
    ESK_ASSERT(config != NULL);
    int found = esk_volume_mount(volume, device, flags, arena, arena_bytes);
    if (found != ESK_NOT_FOUND && found != ESK_E_FOREIGN &&
        found != ESK_E_CORRUPT) {
        return found;
    }
    (void)esk_volume_begin(volume, device, flags, arena, arena_bytes);
    int status = volume_make(volume, device, flags, config, found,
                             esk_volume_scratch(volume));
    if (status == ESK_OK) {
        return esk_volume_mount(volume, device, flags, arena, arena_bytes);
    }
    memset(volume, 0, sizeof *volume);
    return status;
}
