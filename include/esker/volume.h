// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A volume: one device, two superblocks, a catalog of tables.
///
///     | meta half 0 | table regions ...                  | meta half 1 |
///
/// A change writes the whole catalog to one half, then to the other. The last
/// page of a half is its superblock, which makes the half valid. So after power
/// loss one half is complete: with the catalog of the last change that returned
/// ESK_OK, or of the change under way. This also holds on a medium that writes
/// pages in any order until a sync. See FORMAT.md.
#ifndef ESKER_VOLUME_H
#define ESKER_VOLUME_H

#include <stdbool.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/schema.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The checksum of pages; stored in the superblock.
enum esk_checksum {
    ESK_CHECKSUM_CRC32C = 0,
    ESK_CHECKSUM_CRC16 = 1, ///< CRC-16-CCITT, for the smallest chips
    /// Pages have no checksum: to measure its cost, or where the medium
    /// verifies pages (SPI NAND with on-die ECC). Superblocks and catalogs
    /// always have one.
    ESK_CHECKSUM_NONE = 2,
};

enum esk_mount_flags {
    ESK_MOUNT_READ_ONLY = 1u << 0, ///< nothing is ever programmed or erased
    /// Page loads after mount do not verify; mount and check still do.
    ESK_MOUNT_TRUST_LOADS = 1u << 1,
    /// Each program is read back. If two reads differ from what was programmed,
    /// the program failed: the page is written again elsewhere, or in place the
    /// call returns an error. Costs a page read a program. Cannot see past a
    /// cache of the medium.
    ESK_MOUNT_READ_BACK = 1u << 2,
};

/// What esk_volume_format stores.
struct esk_volume_config {
    uint8_t uuid[16];   ///< identifies the volume; the caller's to choose
    uint8_t checksum;   ///< enum esk_checksum
    uint8_t tables_max; ///< most tables at a time; 0: 8
    bool overwrite;     ///< also format a medium that is not blank; not stored
};

/// Blocks that the catalog takes, half of them at each end of the device. With
/// more than 64 a format returns ESK_E_INVALID.
/// tables       config.tables_max, not 0: 8
/// spare        2 if the driver has block_is_bad, else 0
#define ESK_VOLUME_CATALOG_BLOCKS(page_bytes, block_pages, tables, spare)      \
    (2u *                                                                      \
     ((ESK_VOLUME_CATALOG_PAGES(page_bytes, tables) + (block_pages) - 1u) /    \
          (block_pages) +                                                      \
      (spare)))
/// Pages of one copy: a superblock, and for each table what holds 768 bytes.
#define ESK_VOLUME_CATALOG_PAGES(page_bytes, tables)                           \
    ((uint32_t)(tables) * (((page_bytes) + 767u) / (page_bytes)) + 1u)

struct esk_table;

/// A mounted volume. The caller owns it; its fields are EskerDB's.
struct esk_volume {
    const struct esk_device *device;
    struct esk_table *tables; ///< open ones, the last opened first
    uint32_t seed;            ///< start value of its checksums
    uint32_t commit;          ///< number of the newest catalog
    uint32_t half_blocks;     ///< blocks of a meta half, bad ones included
    uint16_t half_pages;      ///< pages of a half in use; the last: superblock
    uint16_t catalog_pages;   ///< descriptor pages of the newest catalog
    uint8_t half_newest;      ///< the half with the newest catalog
    uint8_t half_valid;       ///< bit i: half i is complete and newest; 0: no
                              ///< volume, or unmounted
    uint8_t checksum;         ///< enum esk_checksum
    uint8_t flags;            ///< enum esk_mount_flags
    bool is_synced;           ///< nothing was programmed since the last sync
    uint8_t table_next;       ///< id the next table gets
    uint8_t tables_max;
    uint32_t compatible_features; ///< never changed
    uint8_t uuid[16];
    /// Finds out what a commit did that ended in ESK_E_IO, before anything is
    /// programmed; NULL: it is known.
    int (*resolve)(struct esk_volume *volume);
    uint8_t *arena;     ///< the next table is carved from here on
    uint8_t *arena_end; ///< the page before it is scratch, if it is free
};

/// What a region of a table is for. On flash.
enum esk_region_role {
    ESK_REGION_DATA = 0,   ///< rows, the pages of a tree, or a kv log
    ESK_REGION_INDEX = 1,  ///< index pages
    ESK_REGION_VAR = 2,    ///< values of a variable column
    ESK_REGION_SYNC = 3,   ///< sync journal
    ESK_REGION_SORTED = 4, ///< a sorted index: runs that are to be merged
    ESK_REGION_MERGED = 5, ///< the same: merged runs
    ESK_REGION_COUNT = 6,
};

/// Room of a region of an open table, and wear of its blocks. Writing `pages`
/// pages erases each block once: so pages written a day give the days of life.
struct esk_space {
    uint32_t pages;      ///< of the region
    uint32_t pages_used; ///< from the oldest to the newest; a tree: nodes
    uint32_t pages_free; ///< until the region is full, or its oldest block is
                         ///< dropped; a tree: nodes that it can still get
    uint32_t erases;     ///< of its blocks, since the table was created
    uint32_t erases_max; ///< of the block with the most erases
};

enum {
    ESK_OPTIONS_BYTES_MAX = 24, ///< of the options in struct esk_table_info
};

/// One catalog entry, as esk_volume_list and esk_volume_find return it. The
/// options are the table kind's own: esk_series_options and esk_tree_options
/// decode them.
struct esk_table_info {
    uint16_t descriptor; ///< its first descriptor page in the catalog
    uint8_t descriptor_pages;
    uint8_t id;
    uint8_t kind;  ///< enum esk_table_kind
    uint8_t codec; ///< of its data pages, enum esk_codec
    uint8_t column_count;
    uint8_t key_column;
    uint8_t index_count;
    uint8_t region_count;
    uint16_t row_bytes;
    uint16_t read_only_features;    ///< a version that lacks one may read, not
                                    ///< write
    uint16_t incompatible_features; ///< a version that lacks one may not read
    uint16_t options_bytes;
    uint16_t columns;                 ///< where columns begin in the descriptor
    uint32_t seed;                    ///< start value of its pages' checksums
    uint32_t version;                 ///< of the schema, the creator's number
    uint32_t block[ESK_REGION_COUNT]; ///< first block of each region
    uint32_t blocks[ESK_REGION_COUNT]; ///< blocks of each; 0: no such region
    uint8_t options[ESK_OPTIONS_BYTES_MAX];
    char name[ESK_NAME_BYTES_MAX + 1];
};

enum esk_table_kind {
    ESK_TABLE_SERIES = 1,
    ESK_TABLE_TREE = 2,
    ESK_TABLE_KV = 3,
};

/// How data pages hold rows. The values are on flash and never change.
enum esk_codec {
    ESK_CODEC_RAW = 0,
    /// Rows are stored as differences from the row before, in bits: 1.6 to 10
    /// times the rows in a page of 512 bytes, for more work a row.
    ESK_CODEC_PACKED = 1,
};

/// One column, as esk_volume_column returns it.
struct esk_column_info {
    uint16_t bytes;  ///< width in the row
    uint16_t offset; ///< in the row
    uint8_t type;
    uint8_t flags;                          ///< enum esk_column_flags
    uint8_t missing[ESK_MISSING_BYTES_MAX]; ///< with ESK_COLUMN_MISSING, as in
                                            ///< a row; else 0
    uint8_t mode; ///< enum esk_pack_mode, not ESK_PACK_DEFAULT; 0 if the table
                  ///< is not packed
    char name[ESK_NAME_BYTES_MAX + 1];
    char unit[ESK_NAME_BYTES_MAX + 1];
};

/// Makes an empty volume on `device`; erases only the meta blocks. No volume
/// of the device may be mounted.
///
/// arena    scratch for the call, as for esk_volume_mount.
/// Returns  ESK_OK; ESK_E_FOREIGN when the medium is not blank, without
///          config.overwrite; ESK_E_GEOMETRY; ESK_E_INVALID: the checksum, or
///          more than 64 blocks for the catalog; ESK_E_NO_MEMORY;
///          ESK_E_NO_SPACE when too few blocks are good; ESK_E_IO.
/// Costs    as esk_volume_mount of a blank medium; a read of each page of the
///          catalog's blocks, and their erase; 2 programs.
int esk_volume_format(const struct esk_device *device,
                      const struct esk_volume_config *config, void *arena,
                      uint32_t arena_bytes);

/// Mounts the volume on `device`; never formats. Its tables take no memory but
/// the arena, one after another in the order of their opens (esker/arena.h). A
/// device has one mounted volume at a time.
///
/// volume   out, not a mounted one. Keep it and `device` until unmount.
/// flags    enum esk_mount_flags.
/// arena    borrowed until unmount, aligned for uint64_t; a page at least.
/// Returns  ESK_OK; ESK_NOT_FOUND: all pages read are blank; ESK_E_FOREIGN: the
///          medium has other data; ESK_E_CORRUPT: a volume without a complete
///          half; ESK_E_VERSION; ESK_E_UNSUPPORTED, ESK_E_READ_ONLY: features
///          of a newer version, not readable, or mount with
///          ESK_MOUNT_READ_ONLY; ESK_E_GEOMETRY; ESK_E_IO; ESK_E_INVALID: arena
///          NULL or not aligned; ESK_E_NO_MEMORY.
/// Costs    2 page reads; on damage at most one a block of the first 64
///          and of the last 64; on a blank medium at most 64 more.
int esk_volume_mount(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, void *arena, uint32_t arena_bytes);

/// Gives the volume another arena, for a host with a heap. Open tables stay
/// where they are; later opens take the new arena.
///
/// arena    as for esk_volume_mount.
/// Returns  ESK_OK; ESK_E_BUSY when an open table is in it; ESK_E_INVALID;
///          ESK_E_NO_MEMORY. On failure the volume keeps its arena.
/// Keeps    an earlier arena until its tables are closed.
int esk_volume_arena_set(struct esk_volume *volume, void *arena,
                         uint32_t arena_bytes);

/// Mounts the volume on `device`. Formats first a medium that is blank, or has
/// a format that power loss cut short. A firmware calls this after each reset.
///
/// config   as for esk_volume_format, the same at each call; `overwrite` is
///          ignored.
/// Returns  as esk_volume_mount and esk_volume_format; never ESK_NOT_FOUND;
///          ESK_E_READ_ONLY when there is no volume to mount with that flag.
int esk_volume_mount_or_format(struct esk_volume *volume,
                               const struct esk_device *device, uint8_t flags,
                               const struct esk_volume_config *config,
                               void *arena, uint32_t arena_bytes);

/// Mounts, read-only, a volume that lost its superblocks, from the pages of
/// its catalog. Call it where esk_volume_mount finds no volume.
///
/// volume, arena  as for esk_volume_mount.
/// Returns  ESK_OK; ESK_NOT_FOUND when there is no catalog: it takes two of its
///          pages, both copies counted, or one and a page of its tables;
///          ESK_E_GEOMETRY; ESK_E_IO; ESK_E_INVALID; ESK_E_NO_MEMORY.
/// Costs    a read of 16 bytes a page of the first and the last 32 blocks, and
///          twice that for each commit that has pages there; the catalog's
///          pages; and at most 64 page reads a region of a table.
int esk_volume_salvage(struct esk_volume *volume,
                       const struct esk_device *device, void *arena,
                       uint32_t arena_bytes);

/// The shape of a volume: constants that `esker header` prints.
struct esk_volume_shape {
    uint32_t seed;
    uint32_t commit; ///< of the catalog that the constants are of
    uint32_t half_blocks;
    uint16_t half_pages;
    uint16_t catalog_pages;
    uint8_t checksum;
};

/// Mounts a volume whose tables are attached by their shapes, without linking
/// the catalog. See esker/shape.h.
///
/// flags    enum esk_mount_flags: ESK_SHAPE_MOUNT, if defined.
/// shape    borrowed for the call.
/// arena    as for esk_volume_mount.
/// Returns  ESK_OK; ESK_NOT_FOUND when both superblocks are blank, or the first
///          one is torn; ESK_E_SCHEMA for another volume, or a catalog that was
///          changed since; ESK_E_CORRUPT; ESK_E_IO; ESK_E_INVALID for other
///          flags, or an arena that is NULL or not aligned; ESK_E_NO_MEMORY.
/// Costs    2 page reads.
int esk_volume_attach(struct esk_volume *volume,
                      const struct esk_device *device, uint8_t flags,
                      const struct esk_volume_shape *shape, void *arena,
                      uint32_t arena_bytes);

/// Writes a volume where esk_volume_attach found none, and attaches it. Erases
/// only the meta blocks. Only for the volume of that attach, before any other
/// call.
///
/// meta     the pages that `esker header` printed: for each its length, in 2
///          bytes, and its first bytes. On AVR in program memory.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_E_FOREIGN, and nothing was erased, when a block behind
///          the first half, or a page of the second, does not begin blank: rows
///          of a volume that lost its superblocks, or other data (the first
///          half may have a torn stamp); ESK_E_NO_SPACE when too few blocks are
///          good; ESK_E_IO.
/// Costs    a read of 16 bytes a block, and a page of the second half; two meta
///          halves erased and programmed.
int esk_volume_stamp(struct esk_volume *volume, const uint8_t *meta);

/* With a volume that is not mounted these calls, and those that create or open
   a table, return ESK_E_INVALID. Without the free page of the arena that a call
   needs, it returns ESK_E_NO_MEMORY.

   A create, drop, erase_before, erase_after or add_columns that returns
   ESK_E_IO did nothing. If the medium cannot be read or synced even to find
   that out, all later changes return ESK_E_IO until the next mount. */

/// Drops table `name`: its blocks are free for other tables at once.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_BUSY when it is open; ESK_E_READ_ONLY;
///          ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_drop(struct esk_volume *volume, const char *name);

/// Lists tables: set *cursor to 0, call until ESK_END.
/// Needs    a free page in the arena.
/// Returns  ESK_OK with `info` filled in, also for a table that this build
///          cannot open; ESK_END; ESK_E_CORRUPT: a descriptor is lost, call
///          again for the next; ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_list(struct esk_volume *volume, uint16_t *cursor,
                    struct esk_table_info *info);

/// Finds table `name`.
/// Needs    a free page in the arena.
/// Returns  ESK_OK with `info` filled in; ESK_NOT_FOUND; ESK_E_CORRUPT when it
///          is not found, and a descriptor is lost; ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_find(struct esk_volume *volume, const char *name,
                    struct esk_table_info *info);

/// Reads column `index` of the table that `info` describes.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last column; ESK_E_UNSUPPORTED: its
///          type, or that of a column before it, is of a newer version;
///          ESK_E_NO_MEMORY; ESK_E_CORRUPT.
int esk_volume_column(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t index,
                      struct esk_column_info *column);

/// Sets `fingerprint` to a number that says which rows a table has: two tables
/// with the same one have the same kind, key column and columns (type, width,
/// name and missing value, in order), and both or none may repeat keys. It does
/// not depend on units, regions, other options and codec. So a program for one
/// table tests one number.
///
/// It is the CRC-32C of kind u8 (bit 7: keys may repeat), number of the key
/// column u8, and of each column type u8, width u16, its name with a zero byte,
/// and its missing value if it has one. A kv table has no columns: nothing is
/// read.
/// Needs    a free page in the arena.
/// Returns  as esk_volume_column.
/// Costs    a read of the table's descriptor.
int esk_table_fingerprint(struct esk_volume *volume,
                          const struct esk_table_info *info,
                          uint32_t *fingerprint);

/// Reads value index `index` of the table: its column, its bitmap width, and
/// up to ESK_EDGE_COUNT_MAX edges (column-width bytes each) into `edges`.
/// Needs    a free page in the arena.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last; ESK_E_NO_MEMORY, also when
///          `edges_bytes` is too small; ESK_E_CORRUPT.
int esk_volume_index(struct esk_volume *volume,
                     const struct esk_table_info *info, uint8_t index,
                     struct esk_index_spec *spec, void *edges,
                     uint16_t edges_bytes);

/// What esk_volume_check found.
struct esk_volume_report {
    uint16_t pages;        ///< of the catalog
    uint16_t pages_single; ///< valid in only one of the two copies
    uint16_t pages_lost;   ///< valid in no copy: tables are lost
    uint8_t halves_lost;   ///< copies without a valid superblock of the newest
                           ///< commit; power loss in a change leaves one
};

/// Reads both copies of the catalog. A page needs one valid copy; the next
/// change of the catalog writes both copies again.
///
/// report   out.
/// Needs    a free page in the arena.
/// Returns  ESK_OK when each page has a valid copy; ESK_E_CORRUPT;
///          ESK_E_NO_MEMORY; ESK_E_IO.
/// Costs    2 reads a catalog page.
int esk_volume_check(struct esk_volume *volume,
                     struct esk_volume_report *report);

/// Does up to `budget` steps of work ahead for the open tables. A program that
/// calls it after an open and between its other calls, until `done` is below
/// `budget`, waits for no erase in an append, put, delete or sync, unless one
/// call fills a block.
/// done     out, may be NULL: steps done; fewer than budget when none is due.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_READ_ONLY.
/// Costs    a step: an erase and 2 reads of a few bytes; or, of a copy-on-write
///          tree, one call of its collector, as in esk_tree_put; or, of a kv
///          table, one page of its log, which the collector moves.
int esk_volume_step(struct esk_volume *volume, uint16_t budget, uint16_t *done);

/// Unmounts the volume; the arena is the caller's again.
/// Returns  ESK_OK; ESK_E_BUSY when a table is open: close it first.
int esk_volume_unmount(struct esk_volume *volume);

#ifdef __cplusplus
}
#endif

#endif
