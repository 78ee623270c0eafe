// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A volume: one device, two superblocks, a catalog of tables.
///
///     | meta half 0 | table regions ...                  | meta half 1 |
///
/// The catalog is written whole, first to one half, then to the other; each
/// half ends with its superblock, which makes the half valid. A cut at any
/// point leaves at least one whole half, and so the catalog of the last change
/// that returned ESK_OK or of the one under way, also where the medium writes
/// pages in any order until it is synced. See FORMAT.md.
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

/// How a page proves itself; kept in the superblock.
enum esk_checksum {
    ESK_CHECKSUM_CRC32C = 0,
    ESK_CHECKSUM_CRC16 = 1, ///< CRC-16-CCITT, for the smallest chips
    /// Pages carry no checksum: for measuring its cost, or where the medium
    /// proves its own pages (SPI NAND with on-die ECC). Superblocks and
    /// catalogs keep theirs.
    ESK_CHECKSUM_NONE = 2,
};

enum esk_mount_flags {
    ESK_MOUNT_READ_ONLY = 1u << 0, ///< nothing is ever programmed or erased
    /// Page loads after mount trust the medium; mount and check still verify.
    ESK_MOUNT_TRUST_LOADS = 1u << 1,
    /// Each program is read back; bytes that differ, in two reads, are a failed
    /// program: its page is written again elsewhere, and in place the call says
    /// so. Costs a page read a program. What a cache answers is believed.
    ESK_MOUNT_READ_BACK = 1u << 2,
};

/// What esk_volume_format stores.
struct esk_volume_config {
    uint8_t uuid[16];   ///< identifies the volume; the caller's to choose
    uint8_t checksum;   ///< enum esk_checksum
    uint8_t tables_max; ///< tables it can ever hold at once; 0: 8
    bool overwrite;     ///< formats a medium that is not blank too; not stored
};

struct esk_table;

/// A mounted volume. The caller owns it; its fields are EskerDB's.
struct esk_volume {
    const struct esk_device *device;
    struct esk_table *tables; ///< that are open, the one opened last first
    uint32_t seed;            ///< start value of its checksums
    uint32_t commit;          ///< number of the newest catalog
    uint32_t half_blocks;     ///< blocks of a meta half, bad ones included
    uint16_t half_pages;      ///< pages of a half in use; the last: superblock
    uint16_t catalog_pages;   ///< descriptor pages of the newest catalog
    uint8_t half_newest;      ///< which half holds the newest catalog
    uint8_t half_valid; ///< bit i: half i is whole and newest; 0: there is
                        ///< no volume, or it was unmounted
    uint8_t checksum;   ///< enum esk_checksum
    uint8_t flags;      ///< enum esk_mount_flags
    bool is_synced;     ///< nothing was programmed since the last sync
    uint8_t table_next; ///< id the next table gets
    uint8_t tables_max;
    uint32_t compatible_features; ///< kept as they are
    uint8_t uuid[16];
    uint8_t *arena;     ///< tables are carved from it, from here on
    uint8_t *arena_end; ///< a page before it is scratch, while it is free
};

/// What a region of a table holds. On flash.
enum esk_region_role {
    ESK_REGION_DATA = 0,  ///< rows, or the pages of a tree
    ESK_REGION_INDEX = 1, ///< index pages
    ESK_REGION_VAR = 2,   ///< values of a variable column
    ESK_REGION_SYNC = 3,  ///< sync journal
    ESK_REGION_COUNT = 4,
};

/// What a region of an open table has room for, and how worn its blocks are.
/// How many days that is: pages written a day are known to the program; a
/// block is erased once for each `pages` of them.
struct esk_space {
    uint32_t pages;      ///< of the region
    uint32_t pages_used; ///< from the oldest to the newest; a tree: nodes
    uint32_t pages_free; ///< that can be written before the region is full, or
                         ///< its oldest block goes; a tree: nodes it can get
    uint32_t erases;     ///< of its blocks, since the table was created
    uint32_t erases_max; ///< of the block that was erased most often
};

enum {
    ESK_OPTIONS_BYTES_MAX = 24, ///< of these that an esk_table_info has
};

/// One catalog entry as esk_volume_list and esk_volume_find give it. What only
/// the table's kind knows is in `options`: esk_series_options and
/// esk_tree_options read them.
struct esk_table_info {
    uint16_t descriptor; ///< its first descriptor page in the catalog
    uint8_t descriptor_pages;
    uint8_t id;
    uint8_t kind;  ///< enum esk_table_kind
    uint8_t codec; ///< of its data pages; 0: raw
    uint8_t column_count;
    uint8_t key_column;
    uint8_t index_count;
    uint8_t region_count;
    uint16_t row_bytes;
    uint16_t read_only_features;    ///< of a newer version: not to be written
                                    ///< without
    uint16_t incompatible_features; ///< not to be read without
    uint16_t options_bytes;
    uint16_t columns; ///< where columns begin in the descriptor
    uint32_t seed;    ///< start value of its pages' checksums
    uint32_t version; ///< of the schema, as its creator numbered it
    uint32_t block[ESK_REGION_COUNT];  ///< first block of its regions
    uint32_t blocks[ESK_REGION_COUNT]; ///< their blocks; 0: no such region
    uint8_t options[ESK_OPTIONS_BYTES_MAX];
    char name[ESK_NAME_BYTES_MAX + 1];
};

enum esk_table_kind {
    ESK_TABLE_SERIES = 1,
    ESK_TABLE_TREE = 2,
    ESK_TABLE_KV = 3,
};

/// One column as esk_volume_column gives it.
struct esk_column_info {
    uint16_t bytes;  ///< width in the row
    uint16_t offset; ///< in the row
    uint8_t type;
    uint8_t flags; ///< enum esk_column_flags
    char name[ESK_NAME_BYTES_MAX + 1];
    char unit[ESK_NAME_BYTES_MAX + 1];
};

/// Makes an empty volume on `device`, erasing the meta blocks only. No volume
/// of the device may be mounted.
///
/// arena    scratch for the call, as esk_volume_mount wants it.
/// Returns  ESK_OK; ESK_E_FOREIGN when the medium is not blank and the
///          config does not say to overwrite it; ESK_E_GEOMETRY;
///          ESK_E_INVALID; ESK_E_NO_MEMORY; ESK_E_NO_SPACE when good blocks are
///          too few; ESK_E_IO.
/// Costs    as esk_volume_mount of a blank medium; two meta halves erased, 2
///          programs.
int esk_volume_format(const struct esk_device *device,
                      const struct esk_volume_config *config, void *arena,
                      uint32_t arena_bytes);

/// Mounts the volume on `device`. The arena is all the memory that it and its
/// tables ever take: each table is carved from behind the last open one. Static
/// ones are sized by esker/arena.h. A device has one mounted volume at a time:
/// another one would not see what the first changes.
///
/// volume   out; not one that is mounted. The caller keeps it, and `device`,
///          until unmount.
/// flags    enum esk_mount_flags.
/// arena    borrowed until unmount, aligned for uint64_t; a page at least.
/// Returns  ESK_OK; ESK_NOT_FOUND when the medium is blank, as far as it was
///          read; ESK_E_FOREIGN when it is not and there is no volume;
///          ESK_E_CORRUPT when there was one and no half is whole;
///          ESK_E_VERSION; ESK_E_UNSUPPORTED when a newer version wrote it
///          with features that this one cannot read; ESK_E_READ_ONLY when it
///          can read them but not write: mount with ESK_MOUNT_READ_ONLY;
///          ESK_E_GEOMETRY; ESK_E_IO; ESK_E_INVALID when the arena is NULL or
///          not aligned; ESK_E_NO_MEMORY. It never formats.
/// Costs    2 page reads; on damage at most one a block of the first 64
///          and of the last 64; on a blank medium at most 64 more.
int esk_volume_mount(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, void *arena, uint32_t arena_bytes);

/// Gives the volume another arena, for a host that has a heap: tables that are
/// open stay where they are, what is opened from now on is carved from it.
///
/// arena    as for esk_volume_mount.
/// Returns  ESK_OK; ESK_E_BUSY when an open table is in it; ESK_E_INVALID;
///          ESK_E_NO_MEMORY. On failure the volume keeps the arena it has.
/// Keeps    an arena from before until its tables are closed.
int esk_volume_arena_set(struct esk_volume *volume, void *arena,
                         uint32_t arena_bytes);

/// Mounts the volume on `device`; formats a blank medium first, also one on
/// which that was cut before. What a firmware calls after each reset.
///
/// config   as for esk_volume_format, the same at each call; a medium that is
///          not blank is never formatted here.
/// Returns  as esk_volume_mount and esk_volume_format; never ESK_NOT_FOUND;
///          ESK_E_READ_ONLY when there is none to mount with that flag.
int esk_volume_mount_or_format(struct esk_volume *volume,
                               const struct esk_device *device, uint8_t flags,
                               const struct esk_volume_config *config,
                               void *arena, uint32_t arena_bytes);

/// Mounts, read-only, a volume of which no superblock is left, from the pages
/// of its catalog. Call it where esk_volume_mount finds no volume.
///
/// volume, arena  as for esk_volume_mount.
/// Returns  ESK_OK; ESK_NOT_FOUND when there is no catalog: it takes two of its
///          pages, both copies counted, or one and a page of its tables;
///          ESK_E_GEOMETRY; ESK_E_IO; ESK_E_INVALID; ESK_E_NO_MEMORY.
/// Costs    a read of 16 bytes a page of the first and the last 32 blocks,
///          twice a commit that pages are left of; the catalog's pages; and at
///          most 64 page reads a table.
int esk_volume_salvage(struct esk_volume *volume,
                       const struct esk_device *device, void *arena,
                       uint32_t arena_bytes);

/// What an attach knows of a volume: constants that `esker header` prints.
struct esk_volume_shape {
    uint32_t seed;
    uint32_t commit; ///< of the catalog that the constants are of
    uint32_t half_blocks;
    uint16_t half_pages;
    uint16_t catalog_pages;
    uint8_t checksum;
};

/// Mounts a volume whose tables are attached by their shapes, and so links no
/// catalog. See esker/shape.h.
///
/// flags    enum esk_mount_flags: ESK_SHAPE_MOUNT, where that is defined.
/// shape    borrowed for the call.
/// arena    as for esk_volume_mount.
/// Returns  ESK_OK; ESK_NOT_FOUND when the places of superblocks are blank, or
///          the first is torn; ESK_E_SCHEMA when there is another volume, or
///          its catalog was changed since; ESK_E_CORRUPT; ESK_E_IO;
///          ESK_E_INVALID for other flags, or an arena that is NULL or not
///          aligned; ESK_E_NO_MEMORY.
/// Costs    2 page reads.
int esk_volume_attach(struct esk_volume *volume,
                      const struct esk_device *device, uint8_t flags,
                      const struct esk_volume_shape *shape, void *arena,
                      uint32_t arena_bytes);

/// Writes a volume where esk_volume_attach found none, erasing its meta blocks
/// only. `volume` is attached then. For the volume of that attach alone, which
/// no other call takes before. Needs a page of the arena free.
///
/// meta     the pages that `esker header` printed: of each its length, in 2
///          bytes, and its first bytes. On AVR in program memory.
/// Returns  ESK_OK; ESK_E_NO_SPACE when good blocks are too few; ESK_E_IO.
/// Costs    two meta halves erased and programmed.
int esk_volume_stamp(struct esk_volume *volume, const uint8_t *meta);

/* A volume that is not mounted, since it was unmounted or the mount failed, is
   refused by each of these calls and by those that create or open a table:
   ESK_E_INVALID. A page of the arena that is not free is ESK_E_NO_MEMORY. */

/// Drops table `name`: its blocks are free for other tables at once.
/// Needs a page of the arena free.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_BUSY when it is open; ESK_E_READ_ONLY;
///          ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_drop(struct esk_volume *volume, const char *name);

/// Lists tables: set *cursor to 0, call until ESK_END.
/// Needs a page of the arena free.
/// Returns  ESK_OK with `info` filled in, also of a table that this build
///          cannot open; ESK_END; ESK_E_CORRUPT: a descriptor is lost, the next
///          call goes on behind it; ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_list(struct esk_volume *volume, uint16_t *cursor,
                    struct esk_table_info *info);

/// Finds table `name`. Needs a page of the arena free.
/// Returns  ESK_OK with `info` filled in; ESK_NOT_FOUND; ESK_E_CORRUPT when it
///          is not found, and a descriptor is lost; ESK_E_NO_MEMORY; ESK_E_IO.
int esk_volume_find(struct esk_volume *volume, const char *name,
                    struct esk_table_info *info);

/// Reads column `index` of the table that `info` describes.
/// Needs a page of the arena free.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last column; ESK_E_UNSUPPORTED: its
///          type, or one before it, is of a newer version; ESK_E_NO_MEMORY;
///          ESK_E_CORRUPT.
int esk_volume_column(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t index,
                      struct esk_column_info *column);

/// Reads value index `index` of the table: its column, its bitmap width, and
/// up to ESK_EDGE_COUNT_MAX edges (column-width bytes each) into `edges`.
/// Needs a page of the arena free.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last; ESK_E_NO_MEMORY, also when
///          `edges_bytes` are too few; ESK_E_CORRUPT.
int esk_volume_index(struct esk_volume *volume,
                     const struct esk_table_info *info, uint8_t index,
                     struct esk_index_spec *spec, void *edges,
                     uint16_t edges_bytes);

/// What esk_volume_check found.
struct esk_volume_report {
    uint16_t pages;        ///< of the catalog
    uint16_t pages_single; ///< that only one of the two copies proves
    uint16_t pages_lost;   ///< that neither proves: tables are lost
    uint8_t halves_lost;   ///< copies without a valid superblock of the newest
                           ///< commit, as a cut in a change leaves one
};

/// Reads both copies of the catalog. What one copy lacks costs nothing yet;
/// the next change of the catalog writes both anew.
/// Needs a page of the arena free.
///
/// report   out.
/// Returns  ESK_OK when each page is proven by a copy; ESK_E_CORRUPT;
///          ESK_E_NO_MEMORY; ESK_E_IO.
/// Costs    2 reads a catalog page.
int esk_volume_check(struct esk_volume *volume,
                     struct esk_volume_report *report);

/// Does up to `budget` steps of work that later calls would have to wait for,
/// across the open tables. A program that calls it after an open and between
/// its calls until `done` is below `budget` waits for no erase in an append,
/// put, delete or sync, unless one call fills a block.
/// done     out, may be NULL: steps done; fewer than budget when none is due.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_READ_ONLY.
/// Costs    a step: an erase and 2 reads of a few bytes; of a tree whose nodes
///          move else what its collector does in a call: a path and 2 blocks
///          of programs at most, and an erase a block of them.
int esk_volume_step(struct esk_volume *volume, uint16_t budget, uint16_t *done);

/// Forgets the volume; the arena is the caller's again.
/// Returns  ESK_OK; ESK_E_BUSY when a table is open: close it first.
int esk_volume_unmount(struct esk_volume *volume);

#ifdef __cplusplus
}
#endif

#endif
