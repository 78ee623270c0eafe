// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What the flash layer shares about a mounted volume: its meta halves.
#ifndef ESK_VOLUME_VOLUME_H
#define ESK_VOLUME_VOLUME_H

#include "esker/volume.h"
#include "flash/region.h"

enum {
    ESK_HALF_TRIES = 3,
    ESK_HALF_BLOCKS_MAX = 32,  ///< of a half, spare ones included
    ESK_MOUNT_BLOCKS_MAX = 64, ///< at each end searched for a superblock
};

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

/// Makes the superblock page of the region's volume in `page`.
void esk_super_encode(const struct esk_region *region, uint8_t *page);

/// Whether page `id` of the device is erased, or in a bad block.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
int esk_page_probe(struct esk_volume *volume, esk_page_id id, uint8_t *page);

/// Reads the first page of at most ESK_MOUNT_BLOCKS_MAX blocks all over the
/// device, but not page `except`.
/// Returns ESK_NOT_FOUND when they are erased; ESK_E_FOREIGN; ESK_E_IO.
int esk_volume_probe(struct esk_volume *volume, esk_page_id except,
                     uint8_t *page);

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
    uint16_t rest; ///< bytes of the entry that were not taken
};

/// One region of a table.
struct esk_region_place {
    uint32_t block;
    uint32_t blocks;
    uint8_t role; ///< enum esk_region_role, or a newer one
};

/// Takes the next region; to be called region_count times after
/// esk_descriptor_regions.
int esk_descriptor_region(struct esk_descriptor *descriptor,
                          struct esk_region_place *place);

/// Begins with the descriptor's first byte.
void esk_descriptor_start(struct esk_descriptor *descriptor,
                          struct esk_volume *volume,
                          const struct esk_table_info *info, uint8_t *page);

/// Takes the next `count` bytes; `out` NULL passes over them. Whether they were
/// there is in descriptor->status.
void esk_descriptor_take(struct esk_descriptor *descriptor, void *out,
                         uint16_t count);

/// Begins with the first region. As esk_descriptor_open.
int esk_descriptor_regions(struct esk_descriptor *descriptor,
                           struct esk_volume *volume,
                           const struct esk_table_info *info, uint8_t *page);

/// Begins with the first column. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_descriptor_open(struct esk_descriptor *descriptor,
                        struct esk_volume *volume,
                        const struct esk_table_info *info, uint8_t *page);

/// A column but for its names.
struct esk_column_place {
    uint16_t bytes;
    uint16_t offset; ///< in the row
    uint8_t type;
    uint8_t flags;
};

/// Takes the next column; to be called column_count times.
/// name, unit   out, ESK_NAME_BYTES_MAX + 1 bytes each; NULL: passed over.
int esk_descriptor_column(struct esk_descriptor *descriptor,
                          struct esk_column_place *column, char *name,
                          char *unit);

/// Copies what rows from before the column that was just taken have in it:
/// `bytes` bytes, zeros where the column's entry has no more.
int esk_descriptor_default(struct esk_descriptor *descriptor, void *out,
                           uint16_t bytes);

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

/// Finds table `name` in order to open it. Returns as esk_volume_find;
/// ESK_E_BUSY when it is open; ESK_E_UNSUPPORTED when it is of another kind, or
/// of a newer version; ESK_E_READ_ONLY when a newer version says that this one
/// may not write it.
int esk_table_find(struct esk_volume *volume, const char *name, uint8_t kind,
                   struct esk_table_info *info, uint8_t *page);

/// Finds the option with tag `tag` in `bytes` bytes of options.
/// Returns its bytes, at least `least` of them; NULL: there is none.
const uint8_t *esk_option_find(const uint8_t *options, uint16_t bytes,
                               uint8_t tag, uint8_t least);

/// As esk_volume_list, in scratch that the caller has.
int esk_catalog_list(struct esk_volume *volume, uint16_t *cursor,
                     struct esk_table_info *info, uint8_t *page);

/// As esk_volume_find, in scratch that the caller has.
int esk_catalog_find_name(struct esk_volume *volume, const char *name,
                          struct esk_table_info *info, uint8_t *page);

/// Finds the table with id `id`. As esk_volume_find.
int esk_catalog_find(struct esk_volume *volume, uint8_t id,
                     struct esk_table_info *info, uint8_t *page);

/// Rewrites the catalog with table `id`'s option `tag` changed to `count` bytes
/// at `bytes`, as many as it has.
int esk_catalog_patch(struct esk_volume *volume, uint8_t id, uint8_t tag,
                      const uint8_t *bytes, uint8_t count, uint8_t *page);

/// Copies option `tag`, of at most `room` bytes, of the table that `info`
/// describes.
/// option   out; NULL: not wanted.
/// bytes    out: how many it has with its head; 0 when it is not there.
/// page     scratch.
/// Returns  ESK_OK; ESK_E_UNSUPPORTED when it has more; ESK_E_CORRUPT;
///          ESK_E_IO.
int esk_catalog_option(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t tag,
                       uint8_t *option, uint8_t room, uint16_t *bytes,
                       uint8_t *page);

/// What esk_catalog_alter changes.
struct esk_table_change {
    const uint8_t *option; ///< bytes of option `tag`, which may be a new one
    uint8_t option_bytes;
    uint8_t tag;
    const struct esk_table_spec *spec; ///< columns and version; NULL: the same
    const uint8_t *row; ///< of `spec`: what older rows have in its new columns
};

/// Rewrites the catalog with `change` of the table that `info` describes.
/// page, other  scratch, a page each.
/// Returns  ESK_OK; ESK_E_NO_SPACE when the catalog is full; ESK_E_READ_ONLY;
///          ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_alter(struct esk_volume *volume,
                      const struct esk_table_info *info,
                      const struct esk_table_change *change, uint8_t *page,
                      uint8_t *other);

/// Begins a table: its name must be free, its id is.
///
/// info     out: id, kind and row width; the rest is empty.
/// Returns  ESK_OK; ESK_E_EXISTS; ESK_E_NO_SPACE; ESK_E_READ_ONLY;
///          ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_begin(struct esk_volume *volume, uint8_t kind,
                      const struct esk_table_spec *spec,
                      struct esk_table_info *info, uint8_t *page);

/// Finds the first free run of `blocks` blocks; 0 asks for the longest run,
/// whose length goes to `blocks`.
/// fault    out: on ESK_E_NO_SPACE its kind, and the blocks of the longest run;
///          the caller says how many are wanted.
int esk_catalog_place(struct esk_volume *volume, uint32_t *blocks,
                      uint32_t *block, struct esk_fault *fault, uint8_t *page);

/// Says in `fault` how a table differs. Returns ESK_E_SCHEMA.
int esk_schema_differs(struct esk_fault *fault, uint8_t kind, uint8_t column,
                       uint32_t wanted, uint32_t found);

/// Finds the table that `spec` names, and compares its kind, columns and key.
/// Units, indexes and sizes may differ: rows are read all the same.
///
/// info     out.
/// fault    out: the first difference on ESK_E_SCHEMA.
/// Returns  ESK_OK; ESK_E_SCHEMA; as esk_volume_find; ESK_E_UNSUPPORTED.
int esk_schema_compare(struct esk_volume *volume, uint8_t kind,
                       const struct esk_table_spec *spec,
                       struct esk_table_info *info, struct esk_fault *fault,
                       uint8_t *page);

/// Adds an option to `info`, which has room for it.
void esk_option_add(struct esk_table_info *info, uint8_t tag,
                    const uint8_t *bytes, uint8_t count);

/// Adds the table to the catalog: its regions and options are in `info`.
/// indexes  info->index_count value indexes; may be NULL where that is 0.
/// fault    out: ESK_FAULT_TOO_LARGE when the catalog is full.
/// Returns  ESK_OK; ESK_E_NO_SPACE; ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_add(struct esk_volume *volume,
                    const struct esk_table_spec *spec,
                    const struct esk_index_spec *indexes,
                    struct esk_table_info *info, struct esk_fault *fault,
                    uint8_t *page);

#endif
