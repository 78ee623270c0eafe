// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the flash layer shares about a mounted volume: its meta halves.
#ifndef ESK_VOLUME_VOLUME_H
#define ESK_VOLUME_VOLUME_H

#include "esker/volume.h"
#include "flash/region.h"

/// The door to the pages of one kind in the meta halves.
struct esk_meta {
    struct esk_region region;
    struct esk_region_stats stats;
};

/// kind  ESK_PAGE_SUPERBLOCK or ESK_PAGE_CATALOG.
void esk_meta_open(struct esk_meta *meta, struct esk_volume *volume,
                   uint8_t kind);

/// Finds the device page that is number `index` of meta half `half`, passing
/// over bad blocks. Returns ESK_OK; ESK_E_WORN.
int esk_half_page(const struct esk_volume *volume, uint8_t half, uint16_t index,
                  esk_page_id *page);

/// Erases every block of half `half` that can be erased.
/// Returns ESK_OK; ESK_E_WORN when too few good blocks are left; ESK_E_IO.
int esk_half_erase(struct esk_volume *volume, uint8_t half);

/// Programs `bytes`, one page, as number `index` of half `half`.
/// Returns ESK_OK; ESK_E_IO: again, from the half's erase; ESK_E_WORN.
int esk_half_program(struct esk_volume *volume, uint8_t half, uint16_t index,
                     const uint8_t *bytes);

/// Whether half `half` alone proves every page of the catalog. Its superblock
/// may outlive them where its erase was cut or failed.
/// Returns ESK_OK when it does; ESK_E_CORRUPT; ESK_E_IO.
int esk_half_prove(struct esk_volume *volume, uint8_t half, uint8_t *page);

/// Programs the superblock into half `half`: the half is valid from now on.
int esk_half_seal(struct esk_volume *volume, uint8_t half, uint8_t *page);

/// Copies the newest half over the other one.
int esk_half_mirror(struct esk_volume *volume, uint8_t *page);

/// Reads descriptor page `index` of the newest catalog from half `half`.
/// Returns ESK_OK; ESK_E_CORRUPT, also of a half that is not valid; ESK_E_IO.
int esk_half_read(struct esk_volume *volume, uint8_t half, uint16_t index,
                  uint8_t *page);

/// Reads descriptor page `index` of the newest catalog, from whichever half
/// still proves it. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_read(struct esk_volume *volume, uint16_t index, uint8_t *page);

/// Reads a descriptor from its first column to its last index, once through:
/// one read a page of it. The fields are the catalog's.
struct esk_descriptor {
    struct esk_volume *volume;
    uint8_t *page;
    int status;
    uint16_t index;      ///< catalog page in `page`
    uint16_t end;        ///< catalog page after the descriptor's last
    uint16_t offset;     ///< in `page`
    uint16_t row_offset; ///< of the next column
    uint16_t row_bytes;
};

/// Begins with the first column. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_descriptor_open(struct esk_descriptor *descriptor,
                        struct esk_volume *volume,
                        const struct esk_table_info *info, uint8_t *page);

/// A column but for its names.
struct esk_column_place {
    uint16_t bytes;
    uint16_t offset; ///< in the row
    uint8_t type;
};

/// Takes the next column; to be called column_count times.
/// name, unit   out, ESK_NAME_BYTES_MAX + 1 bytes each; NULL: passed over.
int esk_descriptor_column(struct esk_descriptor *descriptor,
                          struct esk_column_place *column, char *name,
                          char *unit);

/// As esk_volume_column, for callers that want no names and so need no room
/// for them. name, unit: as esk_descriptor_column.
int esk_catalog_column(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t index,
                       struct esk_column_place *column, char *name, char *unit,
                       uint8_t *page);

/// Takes the next index but for its edges, which are taken right after it.
int esk_descriptor_index(struct esk_descriptor *descriptor,
                         struct esk_index_spec *spec);

/// Takes `bytes` bytes of edges; NULL passes over them.
int esk_descriptor_edges(struct esk_descriptor *descriptor, void *edges,
                         uint16_t bytes);

/// Finds table `name` in order to open it in `arena`, whose first page serves
/// as scratch: it has one. Returns as esk_volume_find; ESK_E_BUSY when a ring
/// of the table is open, or one that lives in the arena.
int esk_table_find(struct esk_volume *volume, const char *name,
                   struct esk_table_info *info, void *arena,
                   uint32_t arena_bytes);

enum {
    ESK_TREE_PAGES_MIN = 8,
    ESK_TREE_MU_PAGES_MIN = 10, ///< beside blocks, and one of ESK_TREE_MU_SHARE
    ESK_TREE_MU_SHARE = 31,
    ESK_TREE_WANDERING_PAGES_MIN = 38, ///< beside two blocks
};

/// Whether a tree has room in `blocks` blocks: for the pages that it keeps for
/// itself, and a root with two leaves. Of mu trees the collector keeps two
/// blocks free, and one to go bad where pages are not overwritten; of wandering
/// ones a step of its sweep, with the paths above it, and two blocks.
static inline bool esk_tree_region_fits(const struct esk_volume *volume,
                                        uint8_t store, uint32_t blocks) {
    const struct esk_geometry *geometry = esk_volume_geometry(volume);
    uint32_t pages = geometry->block_pages;
    uint32_t least = (ESK_TREE_PAGES_MIN + pages - 1) / pages;
    if (store == ESK_STORE_MU) {
        uint32_t rest = blocks * pages / ESK_TREE_MU_SHARE;
        rest += ESK_TREE_MU_PAGES_MIN + pages - 1;
        least = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0 ? 2 : 3;
        least += rest / pages;
    }
    if (store == ESK_STORE_WANDERING) {
        least = 2 + (ESK_TREE_WANDERING_PAGES_MIN + pages - 1) / pages;
    }
    return blocks >= 2 && blocks >= least;
}

/// Finds the table with id `id`. As esk_volume_find.
int esk_catalog_find(struct esk_volume *volume, uint8_t id,
                     struct esk_table_info *info, uint8_t *page);

/// Rewrites the catalog with table `id`'s tail hint and floor key changed.
int esk_catalog_set_tail(struct esk_volume *volume, uint8_t id,
                         uint32_t tail_hint, uint64_t floor_key, uint8_t *page);

#endif
