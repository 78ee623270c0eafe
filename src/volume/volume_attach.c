// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Attaching a volume by its shape: reads its superblocks, not its catalog.
#include "base/rom.h"
#include "volume/table.h"
#include "volume/volume.h"
#include "volume/volume_format.h"

/// The volume's shape: constants, where the program is compiled for them.
static const struct esk_volume_shape *
shape_of(const struct esk_volume_shape *shape) {
    return ESK_SHAPED_VOLUME(&esk_shape_volume, shape);
}

/// Reads the superblock of half `half`.
/// Returns as esk_region_read; ESK_NOT_FOUND also when it may be a torn one;
/// ESK_E_SCHEMA when it is not the expected one.
static int super_look(struct esk_volume *volume,
                      const struct esk_volume_shape *shape, uint8_t half,
                      uint8_t *page) {
    struct esk_meta meta;
    esk_address id = 0;
    uint16_t last = (uint16_t)(esk_volume_half_pages(volume) - 1u);
    if (esk_half_page(volume, half, last, &id) != ESK_OK) {
        return ESK_E_CORRUPT;
    }
    esk_meta_open(&meta, volume, ESK_PAGE_SUPERBLOCK);
    int status =
        esk_region_read(&meta.region, id, ESK_SEQUENCE_ANY, page, true);
    if (status == ESK_E_CORRUPT && half == 0 &&
        esk_region_header_of(&meta.region, page) != ESK_HEADER_OTHER) {
        status = ESK_NOT_FOUND;
    }
    ESK_TRY(status);
    return esk_page_sequence(page) == shape->commit &&
                   esk_load_u32(page + ESK_SUPER_SEED) == shape->seed
               ? ESK_OK
               : ESK_E_SCHEMA;
}

/// Reads both superblocks. As esk_volume_attach.
static int supers_look(struct esk_volume *volume,
                       const struct esk_volume_shape *shape, uint8_t *page) {
    if (ESK_SHAPED_VOLUME(false, true)) {
        volume->seed = shape->seed;
        volume->commit = shape->commit;
        volume->half_blocks = shape->half_blocks;
        volume->half_pages = shape->half_pages;
        volume->catalog_pages = shape->catalog_pages;
        volume->checksum = shape->checksum;
    }
    uint8_t valid = 0;
    bool blank = true;
    for (uint8_t half = 0; half < 2; half++) {
        int status = super_look(volume, shape_of(shape), half, page);
        if (status == ESK_OK) {
            valid = (uint8_t)(valid | esk_half_bit(half));
            volume->half_newest = half;
        } else if (status == ESK_E_SCHEMA || status == ESK_E_IO) {
            return status;
        }
        if (status != ESK_NOT_FOUND) {
            blank = false;
        }
    }
    /* One half is always complete, except after power loss in a stamp. */
    volume->half_valid = valid;
    return valid != 0 ? ESK_OK : blank ? ESK_NOT_FOUND : ESK_E_CORRUPT;
}

int esk_volume_attach(struct esk_volume *volume,
                      const struct esk_device *device, uint8_t flags,
                      const struct esk_volume_shape *shape, void *arena,
                      uint32_t arena_bytes) {
    ESK_ASSERT(volume != NULL && device != NULL && shape != NULL);
    int status = esk_volume_begin(volume, device, flags, arena, arena_bytes);
    status = esk_volume_flags(volume) == flags ? status : ESK_E_INVALID;
    if (status == ESK_OK) {
        status = supers_look(volume, shape, esk_volume_scratch(volume));
    }
    if (status < 0) {
        volume->arena = NULL; /* nothing can be stamped */
    }
    return status;
}

/// Reads the first bytes of each block behind the first half, and of each page
/// of the second half, before a stamp. Power loss in a stamp leaves nothing
/// there: the second half is begun when the first one is valid.
/// Returns ESK_OK when they are erased; ESK_E_FOREIGN; ESK_E_IO.
static int blocks_probe(struct esk_volume *volume) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint16_t pages = geometry->block_pages;
    uint32_t end = geometry->block_count * pages;
    uint32_t half = esk_volume_half_blocks(volume) * pages;
    struct esk_meta meta;
    esk_meta_open(&meta, volume, ESK_PAGE_SUPERBLOCK);
    for (uint32_t id = half; id < end; id += id < end - half ? pages : 1u) {
        enum esk_header header = ESK_HEADER_OTHER;
        uint32_t sequence = 0;
        ESK_TRY(esk_region_header(&meta.region, id, &header, &sequence));
        if (header != ESK_HEADER_BLANK &&
            !esk_volume_block_is_bad(volume, id / pages)) {
            return ESK_E_FOREIGN;
        }
    }
    return ESK_OK;
}

/// Programs the pages of `meta` into half `half`.
static int half_stamp(struct esk_volume *volume, uint8_t half,
                      const uint8_t *meta, uint8_t *page) {
    struct esk_meta super;
    esk_meta_open(&super, volume, ESK_PAGE_SUPERBLOCK);
    ESK_TRY(esk_half_erase(volume, half));
    for (uint16_t i = 0; i <= esk_volume_catalog_pages(volume); i++) {
        bool last = i == esk_volume_catalog_pages(volume);
        uint16_t bytes = esk_rom_u8(meta);
        bytes = (uint16_t)(bytes | (uint16_t)esk_rom_u8(meta + 1) << 8);
        meta += 2;
        memset(page, esk_envelope_erased(&super.region.envelope),
               esk_envelope_page_bytes(&super.region.envelope));
        for (uint16_t at = 0; at < bytes; at++) {
            page[at] = esk_rom_u8(meta);
            meta++;
        }
        if (last) {
            /* As esk_half_seal. */
            ESK_TRY(esk_region_barrier(&super.region));
        }
        ESK_TRY(esk_half_program(
            volume, half,
            last ? (uint16_t)(esk_volume_half_pages(volume) - 1u) : i, page));
    }
    ESK_TRY(esk_region_sync(&super.region));
    volume->half_valid = (uint8_t)(volume->half_valid | esk_half_bit(half));
    return ESK_OK;
}

int esk_volume_stamp(struct esk_volume *volume, const uint8_t *meta) {
    ESK_ASSERT(volume != NULL && meta != NULL && volume->half_valid != 3);
    if (volume->arena == NULL) {
        return ESK_E_INVALID;
    }
    int status = volume->half_valid == 0 ? blocks_probe(volume) : ESK_OK;
    uint8_t *page = esk_volume_scratch(volume);
    for (uint8_t half = 0; half < 2 && status == ESK_OK; half++) {
        status = half_stamp(volume, half, meta, page);
    }
    return status == ESK_E_WORN ? ESK_E_NO_SPACE : status;
}
