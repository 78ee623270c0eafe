// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A volume: one device, two superblocks, a catalog of tables.
///
///     | meta half A | meta half B | table regions ...                  |
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
};

/// A mounted volume. The caller owns it; its fields are EskerDB's.
struct esk_volume {
    const struct esk_device *device;
    struct esk_ring *rings; ///< rings of open tables, for step
    uint32_t seed;          ///< start value of its checksums
    uint32_t commit;        ///< number of the newest catalog
    uint32_t half_blocks;   ///< blocks of a meta half, bad ones included
    uint16_t half_pages;    ///< pages of a half in use; the last: superblock
    uint16_t catalog_pages; ///< descriptor pages of the newest catalog
    uint8_t half_newest;    ///< which half holds the newest catalog
    uint8_t half_valid;     ///< bit i: half i is whole and newest
    uint8_t checksum;       ///< enum esk_checksum
    uint8_t flags;          ///< enum esk_mount_flags
    bool is_synced;         ///< nothing was programmed since the last sync
    uint8_t table_next;     ///< id the next table gets
    uint8_t tables_max;
    uint8_t uuid[16];
};

/// One catalog entry as esk_volume_list and esk_volume_find give it.
struct esk_table_info {
    uint16_t descriptor; ///< its first descriptor page in the catalog
    uint8_t id;
    uint8_t kind; ///< enum esk_table_kind
    uint8_t descriptor_pages;
    uint8_t column_count;
    uint8_t key_column;
    uint8_t index_count;
    uint8_t full_policy;
    uint8_t group_pages; ///< trees: k_percent
    uint8_t run_pages;   ///< trees: enum esk_tree_store
    uint8_t sync_blocks; ///< series: of the data region, its last ones
    uint16_t row_bytes;
    uint32_t seed;      ///< start value of its pages' checksums
    uint32_t block[3];  ///< first block of data, index and var regions
    uint32_t blocks[3]; ///< their block counts; 0: no such region
    uint32_t tail_hint; ///< data positions below are dropped
    uint64_t floor_key; ///< rows with smaller keys are dropped
    bool floor_set;
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
    char name[ESK_NAME_BYTES_MAX + 1];
    char unit[ESK_NAME_BYTES_MAX + 1];
};

/// Makes an empty volume on `device`, erasing the meta blocks only.
///
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK; ESK_E_GEOMETRY; ESK_E_INVALID; ESK_E_NO_SPACE when good
///          blocks are too few; ESK_E_IO.
/// Costs    two meta halves erased, 2 programs.
int esk_volume_format(const struct esk_device *device,
                      const struct esk_volume_config *config, uint8_t *page);

/// Mounts the volume on `device`.
///
/// volume   out. The caller keeps it, and `device`, until unmount.
/// flags    enum esk_mount_flags.
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK; ESK_NOT_FOUND when there is no volume (a blank medium);
///          ESK_E_CORRUPT when there was one and no half is whole;
///          ESK_E_VERSION; ESK_E_GEOMETRY; ESK_E_IO. It never formats.
/// Costs    2 page reads; on damage at most one a block of the first 64.
int esk_volume_mount(struct esk_volume *volume, const struct esk_device *device,
                     uint8_t flags, uint8_t *page);

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
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK; ESK_NOT_FOUND when there is no volume, and a place of a
///          superblock is blank; ESK_E_SCHEMA when there is another volume, or
///          its catalog was changed since; ESK_E_CORRUPT; ESK_E_IO;
///          ESK_E_INVALID for other flags.
/// Costs    2 page reads.
int esk_volume_attach(struct esk_volume *volume,
                      const struct esk_device *device, uint8_t flags,
                      const struct esk_volume_shape *shape, uint8_t *page);

/// Writes a volume where esk_volume_attach found none, erasing its meta blocks
/// only. `volume` is attached then.
///
/// meta     the pages that `esker header` printed: of each its length, in 2
///          bytes, and its first bytes. On AVR in program memory.
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK; ESK_E_NO_SPACE when good blocks are too few; ESK_E_IO.
/// Costs    two meta halves erased and programmed.
int esk_volume_stamp(struct esk_volume *volume, const uint8_t *meta,
                     uint8_t *page);

/// Creates a table. Nothing is erased or reserved until it is opened.
///
/// kind     ESK_TABLE_SERIES, or ESK_TABLE_TREE by esk_tree_create.
/// fault    out: what is wrong on ESK_E_SCHEMA; on ESK_E_NO_SPACE
///          ESK_FAULT_TOO_LARGE when it is the catalog that is full. May be
///          NULL.
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK; ESK_E_SCHEMA; ESK_E_EXISTS; ESK_E_NO_SPACE (no run of
///          blocks, or the catalog is full); ESK_E_READ_ONLY; ESK_E_IO.
/// Costs    two meta halves erased and programmed.
int esk_volume_create(struct esk_volume *volume, uint8_t kind,
                      const struct esk_table_spec *spec,
                      struct esk_fault *fault, uint8_t *page);

/// Drops table `name`: its blocks are free for other tables at once.
/// No handle on it may be open.
/// Returns  ESK_OK; ESK_NOT_FOUND; ESK_E_READ_ONLY; ESK_E_IO.
int esk_volume_drop(struct esk_volume *volume, const char *name, uint8_t *page);

/// Lists tables: set *cursor to 0, call until ESK_END.
/// Returns  ESK_OK with `info` filled in; ESK_END; ESK_E_CORRUPT; ESK_E_IO.
int esk_volume_list(struct esk_volume *volume, uint16_t *cursor,
                    struct esk_table_info *info, uint8_t *page);

/// Finds table `name`.
/// Returns  ESK_OK with `info` filled in; ESK_NOT_FOUND; ESK_E_IO.
int esk_volume_find(struct esk_volume *volume, const char *name,
                    struct esk_table_info *info, uint8_t *page);

/// Reads column `index` of the table that `info` describes.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last column; ESK_E_CORRUPT.
int esk_volume_column(struct esk_volume *volume,
                      const struct esk_table_info *info, uint8_t index,
                      struct esk_column_info *column, uint8_t *page);

/// Reads value index `index` of the table: its column, its bitmap width, and
/// up to ESK_EDGE_COUNT_MAX edges (column-width bytes each) into `edges`.
/// Returns  ESK_OK; ESK_NOT_FOUND past the last; ESK_E_CORRUPT.
int esk_volume_index(struct esk_volume *volume,
                     const struct esk_table_info *info, uint8_t index,
                     struct esk_index_spec *spec, void *edges,
                     uint16_t edges_bytes, uint8_t *page);

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
///
/// report   out.
/// page     scratch, geometry.page_bytes bytes.
/// Returns  ESK_OK when each page is proven by a copy; ESK_E_CORRUPT; ESK_E_IO.
/// Costs    2 reads a catalog page.
int esk_volume_check(struct esk_volume *volume,
                     struct esk_volume_report *report, uint8_t *page);

/// Does up to `budget` block erases that later appends would have to wait
/// for, across the open tables.
/// done     out, may be NULL: erases done; fewer than budget when none is due.
/// Returns  ESK_OK; ESK_E_IO; ESK_E_READ_ONLY.
int esk_volume_step(struct esk_volume *volume, uint16_t budget, uint16_t *done);

/// Forgets the volume. Rows not synced are lost; sync first.
void esk_volume_unmount(struct esk_volume *volume);

#ifdef __cplusplus
}
#endif

#endif
