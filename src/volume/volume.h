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

/// Access to pages that are of no table's region.
struct esk_meta {
    struct esk_region region;
    struct esk_region_stats stats;
};

/// kind  ESK_PAGE_SUPERBLOCK or ESK_PAGE_CATALOG, of a meta half; or another.
void esk_meta_open(struct esk_meta *meta, struct esk_volume *volume,
                   uint8_t kind);

/// Reads page `id` of a meta half, one of kind `kind`. As esk_region_read.
int esk_meta_read(struct esk_volume *volume, uint8_t kind, esk_address id,
                  uint32_t sequence, uint8_t *page);

/// Finds the device page of number `index` of meta half `half`, without bad
/// blocks. Returns ESK_OK; ESK_E_WORN.
int esk_half_page(const struct esk_volume *volume, uint8_t half, uint16_t index,
                  esk_address *page);

/// The bit of half `half` in volume->half_valid.
static inline uint8_t esk_half_bit(uint8_t half) {
    return (uint8_t)(half + 1u);
}

/// Erases every block of half `half` that can be erased.
/// Returns ESK_OK; ESK_E_WORN when too few good blocks are left; ESK_E_IO.
int esk_half_erase(struct esk_volume *volume, uint8_t half);

/// Programs `bytes`, one page, as number `index` of half `half`.
/// Returns ESK_OK; ESK_E_IO: erase the half and start again; ESK_E_WORN.
int esk_half_program(struct esk_volume *volume, uint8_t half, uint16_t index,
                     const uint8_t *bytes);

/// Whether every page of the catalog is valid in half `half`. The superblock
/// may still be there without them when an erase was cut or failed.
/// Returns ESK_OK; ESK_E_CORRUPT when one is not; ESK_E_IO.
int esk_half_prove(struct esk_volume *volume, uint8_t half, uint8_t *page);

/// Makes the superblock page of the region's volume in `page`.
void esk_super_encode(const struct esk_region *region, uint8_t *page);

/// Whether page `id` of the device is erased, or in a bad block.
/// Returns ESK_OK; ESK_E_FOREIGN; ESK_E_IO.
int esk_page_probe(struct esk_volume *volume, esk_address id, uint8_t *page);

/// Reads the first page of at most ESK_MOUNT_BLOCKS_MAX blocks all over the
/// device, except page `except`.
/// Returns ESK_NOT_FOUND when they are erased; ESK_E_FOREIGN; ESK_E_IO.
int esk_volume_probe(struct esk_volume *volume, esk_address except,
                     uint8_t *page);

/// Programs the superblock into half `half`, which makes the half valid.
int esk_half_seal(struct esk_volume *volume, uint8_t half, uint8_t *page);

/// Copies the newest half over the other one.
int esk_half_mirror(struct esk_volume *volume, uint8_t *page);

/// Reads descriptor page `index` of the newest catalog from half `half`.
/// Returns ESK_OK; ESK_E_CORRUPT, also when the half is not valid; ESK_E_IO.
int esk_half_read(struct esk_volume *volume, uint8_t half, uint16_t index,
                  uint8_t *page);

/// Reads descriptor page `index` of the newest catalog from a half where the
/// page is valid. Returns ESK_OK; ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_read(struct esk_volume *volume, uint16_t index, uint8_t *page);

/// Reads a descriptor once, from its first column to its last index: one read
/// for each of its pages. The fields are the catalog's.
struct esk_descriptor {
    struct esk_volume *volume;
    const struct esk_table_info *info;
    uint8_t *page;
    int status;
    uint16_t index;      ///< catalog page in `page`
    uint16_t end;        ///< catalog page after the descriptor's last
    uint16_t offset;     ///< in `page`
    uint16_t row_offset; ///< of the next column
    uint16_t rest;       ///< unread bytes of the entry
};

/// One region of a table.
struct esk_region_place {
    uint32_t block;
    uint32_t blocks;
    uint8_t role; ///< enum esk_region_role, or a newer one
};

/// Reads the next region; to be called region_count times after
/// esk_descriptor_regions.
int esk_descriptor_region(struct esk_descriptor *descriptor,
                          struct esk_region_place *place);

/// Begins with the descriptor's first byte. info: borrowed while it is read.
void esk_descriptor_start(struct esk_descriptor *descriptor,
                          struct esk_volume *volume,
                          const struct esk_table_info *info, uint8_t *page);

/// Reads the next `count` bytes; `out` NULL skips them. descriptor->status says
/// whether they were there.
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

/// A column without its names.
struct esk_column_place {
    uint16_t bytes;
    uint16_t offset; ///< in the row
    uint8_t type;
    uint8_t flags;
    uint8_t mode; ///< as stored
};

/// Reads the next column; to be called column_count times.
/// name, unit   out, ESK_NAME_BYTES_MAX + 1 bytes each; NULL: skipped.
int esk_descriptor_column(struct esk_descriptor *descriptor,
                          struct esk_column_place *column, char *name,
                          char *unit);

/// Copies the bytes that older rows have in the column that was read last:
/// `bytes` bytes, zeros where the column's entry has no more.
int esk_descriptor_default(struct esk_descriptor *descriptor, void *out,
                           uint16_t bytes);

/// Copies the missing value of the column that was read last, zeros if it has
/// none. Not after esk_descriptor_default.
/// missing  out: ESK_MISSING_BYTES_MAX bytes.
int esk_descriptor_missing(struct esk_descriptor *descriptor,
                           struct esk_column_place *column, uint8_t *missing);

/// As esk_volume_column, for callers without room for names. name, unit: as
/// esk_descriptor_column. missing: as esk_descriptor_missing, or NULL.
int esk_catalog_column(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t index,
                       struct esk_column_place *column, char *name, char *unit,
                       uint8_t *missing, uint8_t *page);

/// Reads the next index without its edges, which are to be read right after it.
int esk_descriptor_index(struct esk_descriptor *descriptor,
                         struct esk_index_spec *spec);

/// Reads `bytes` bytes of edges; NULL skips them.
int esk_descriptor_edges(struct esk_descriptor *descriptor, void *edges,
                         uint16_t bytes);

/// Finds table `name` in order to open it.
/// columns  out: a descriptor at its first column.
/// Returns as esk_volume_find;
/// ESK_E_BUSY when it is open; ESK_E_UNSUPPORTED for another kind, or a newer
/// version; ESK_E_READ_ONLY for a newer version that this version may only
/// read.
int esk_table_find(struct esk_volume *volume, const char *name, uint8_t kind,
                   struct esk_table_info *info, struct esk_descriptor *columns,
                   uint8_t *page);

/// Finds the option with tag `tag` in `bytes` bytes of options.
/// Returns its bytes, at least `least` of them; NULL: there is none.
const uint8_t *esk_option_find(const uint8_t *options, uint16_t bytes,
                               uint8_t tag, uint8_t least);

/// As esk_volume_list, with the caller's scratch.
int esk_catalog_list(struct esk_volume *volume, uint16_t *cursor,
                     struct esk_table_info *info, uint8_t *page);

/// As esk_volume_find, with the caller's scratch. columns: as esk_table_find.
int esk_catalog_find_columns(struct esk_volume *volume, const char *name,
                             struct esk_table_info *info,
                             struct esk_descriptor *columns, uint8_t *page);

/// The same without columns.
int esk_catalog_find_name(struct esk_volume *volume, const char *name,
                          struct esk_table_info *info, uint8_t *page);

/// Finds the table with id `id`. As esk_volume_find.
int esk_catalog_find(struct esk_volume *volume, uint8_t id,
                     struct esk_table_info *info, uint8_t *page);

/// Writes the catalog with option `tag` of table `id` changed to the `count`
/// bytes at `bytes`; its length must not change.
int esk_catalog_patch(struct esk_volume *volume, uint8_t id, uint8_t tag,
                      const uint8_t *bytes, uint8_t count, uint8_t *page);

/// Copies option `tag`, of at most `room` bytes, of the table that `info`
/// describes.
/// option   out; NULL: not wanted.
/// bytes    out: length with its head; 0 when the option is not there.
/// page     scratch.
/// Returns  ESK_OK; ESK_E_UNSUPPORTED when it has more; ESK_E_CORRUPT;
///          ESK_E_IO.
int esk_catalog_option(struct esk_volume *volume,
                       const struct esk_table_info *info, uint8_t tag,
                       uint8_t *option, uint8_t room, uint16_t *bytes,
                       uint8_t *page);

/// What esk_catalog_alter changes.
struct esk_table_change {
    const uint8_t *option; ///< bytes of option `tag`, which may be new
    uint8_t option_bytes;
    uint8_t tag;
    const struct esk_table_spec *spec; ///< columns and version; NULL: the same
    const uint8_t *row; ///< a row of `spec`: the new columns' bytes in older
                        ///< rows
};

/// Writes the catalog with `change` of the table that `info` describes.
/// page, other  scratch, a page each.
/// Returns  ESK_OK; ESK_E_NO_SPACE when the catalog is full; ESK_E_READ_ONLY;
///          ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_alter(struct esk_volume *volume,
                      const struct esk_table_info *info,
                      const struct esk_table_change *change, uint8_t *page,
                      uint8_t *other);

/// Begins a new table: checks that its name is free and chooses its id.
///
/// info     out: id, kind and row width; the rest is empty.
/// Returns  ESK_OK; ESK_E_EXISTS; ESK_E_NO_SPACE; ESK_E_READ_ONLY;
///          ESK_E_CORRUPT; ESK_E_IO.
int esk_catalog_begin(struct esk_volume *volume, uint8_t kind,
                      const struct esk_table_spec *spec,
                      struct esk_table_info *info, uint8_t *page);

/// Finds the first free run of `blocks` blocks; for 0 the longest run, whose
/// length goes to `blocks`.
/// fault    out: on ESK_E_NO_SPACE its kind, and the blocks of the longest run;
///          the caller adds how many are wanted.
int esk_catalog_place(struct esk_volume *volume, uint32_t *blocks,
                      uint32_t *block, struct esk_fault *fault, uint8_t *page);

/// Sets `fault` to how a table differs. Returns ESK_E_SCHEMA.
int esk_schema_differs(struct esk_fault *fault, uint8_t kind, uint8_t column,
                       uint32_t wanted, uint32_t found);

/// Finds the table that `spec` names, and compares its kind, columns and key.
/// Indexes and sizes may differ: they do not matter for rows.
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
