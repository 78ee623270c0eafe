// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Values that can be constants: constants in a program that is compiled with a
/// shape (esker/shape.h), else members that a mount or an open sets. Accessors
/// read them, here or beside the struct with the member, so no other file knows
/// the difference.
#ifndef ESK_BASE_SHAPE_H
#define ESK_BASE_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "esker/shape.h"

/// `constant` of the device in a program that has a shape; else `value`.
#ifdef ESK_SHAPE
#define ESK_SHAPED_MEDIUM(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED_MEDIUM(constant, value) (value)
#endif

/// The same of the shape's table: a shape can be of a device alone.
#ifdef ESK_SHAPE_HAS_TABLE
#define ESK_SHAPED(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED(constant, value) (value)
#endif

/// The same of the parts that a program names for all its series.
#ifdef ESK_SHAPE_PARTS
#define ESK_SHAPED_PARTS(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED_PARTS(constant, value) (value)
#endif

/// The same of the configuration that it names for all its trees.
#ifdef ESK_SHAPE_CONFIG
#define ESK_SHAPED_CONFIG(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED_CONFIG(constant, value) (value)
#endif

/// The same of the number of frames of its pools.
#ifdef ESK_SHAPE_POOL_FRAMES
#define ESK_SHAPED_FRAMES(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED_FRAMES(constant, value) (value)
#endif

/* Whether all tables of a program are series: it has a shape, which names parts
   for them and none for trees. Others are refused. */
#if defined(ESK_SHAPE) && defined(ESK_SHAPE_PARTS) && !defined(ESK_SHAPE_CONFIG)
#define ESK_SHAPE_ALL_SERIES true
#else
#define ESK_SHAPE_ALL_SERIES false
#endif

/* Whether its pools have one class: those of trees may have more. */
#ifdef ESK_SHAPE_CONFIG
#define ESK_SHAPE_ONE_CLASS (esk_shape_config.policy != ESK_TREE_LRU_N)
#else
#define ESK_SHAPE_ONE_CLASS ESK_SHAPE_ALL_SERIES
#endif

/* The same of a shape's kind of table. */

#ifdef ESK_SHAPE_SERIES
#define ESK_SHAPED_SERIES(constant, value) ESK_SHAPED(constant, value)
#else
#define ESK_SHAPED_SERIES(constant, value) (value)
#endif

#ifdef ESK_SHAPE_TREE
#define ESK_SHAPED_TREE(constant, value) ESK_SHAPED(constant, value)
#else
#define ESK_SHAPED_TREE(constant, value) (value)
#endif

#ifdef ESK_SHAPE_KV
#define ESK_SHAPED_KV(constant, value) ESK_SHAPED(constant, value)
#else
#define ESK_SHAPED_KV(constant, value) (value)
#endif

/* Of a bare store, or of a volume and its table. */

#ifdef ESK_SHAPE_BARE
#define ESK_SHAPE_IS_BARE true
#define ESK_SHAPE_CHECKSUM esk_shape_bare.checksum
#define ESK_SHAPE_BLOCK 0u
#define ESK_SHAPE_BLOCKS esk_shape_geometry.block_count
#define ESK_SHAPE_PERCENT esk_kv_percent(esk_shape_bare.live_percent)
#elif defined(ESK_SHAPE_HAS_TABLE)
#define ESK_SHAPE_IS_BARE false
#define ESK_SHAPE_CHECKSUM esk_shape_volume.checksum
#define ESK_SHAPE_BLOCK esk_shape_table.block[0]
#define ESK_SHAPE_BLOCKS esk_shape_table.blocks[0]
#define ESK_SHAPE_PERCENT esk_shape_kv.live_percent
#else
#define ESK_SHAPE_IS_BARE false
#define ESK_SHAPE_BLOCKS esk_shape_geometry.block_count /* at most */
#endif

/* The same for the only ring of a table, and whether that ring refuses rows
   when it is full. */

#if defined(ESK_SHAPE_KV)
#define ESK_SHAPED_RING(constant, value)                                       \
    (esk_shape_kv.keys == 0 ? (constant) : (value))
#elif defined(ESK_SHAPE_TREE)
#define ESK_SHAPED_RING(constant, value) ESK_SHAPED(constant, value)
#elif defined(ESK_SHAPE_SERIES)
#define ESK_SHAPED_RING(constant, value)                                       \
    (esk_shape_parts.log == NULL && esk_shape_parts.var == NULL &&             \
             ESK_SHAPE_SYNC_BLOCKS == 0                                        \
         ? (constant)                                                          \
         : (value))
#else
#define ESK_SHAPED_RING(constant, value) (value)
#endif

/* The seals of pages whose envelope has `own`, which is NULL for those of a
   catalog; and whether that says which pages have some. */

#if defined(ESK_SHAPE_BARE)
#define ESK_SHAPE_SEALS(own) (&esk_seals_running)
#elif defined(ESK_SHAPE_KV)
#define ESK_SHAPE_SEALS(own) ((own) != NULL ? &esk_seals_running : NULL)
#elif defined(ESK_SHAPE_SERIES)
#define ESK_SHAPE_SEALS(own) (&esk_seals_at_end)
#elif defined(ESK_SHAPE_TREE)
#define ESK_SHAPE_SEALS(own) ((void)(own), (const struct esk_seals *)NULL)
#elif defined(ESK_SHAPE_PARTS) && !defined(ESK_SHAPE_CONFIG)
#define ESK_SHAPE_SEALS(own)                                                   \
    (esk_shape_parts.packed == NULL ? &esk_seals_at_end : (own))
#else
#define ESK_SHAPE_SEALS(own) (own)
#endif
#if defined(ESK_SHAPE_KV) && !defined(ESK_SHAPE_BARE)
#define ESK_SHAPE_RUNS true
#else
#define ESK_SHAPE_RUNS false
#endif

/* Whether a table's rings are mounted by esk_ring_survey, which reads each of
   its blocks: not where that is more than ESK_SURVEY_BLOCKS_MAX. */
#if defined(ESK_SHAPE) && !defined(ESK_SHAPE_TREE)
#define ESK_SURVEY_BLOCKS_MAX 512
#define ESK_SHAPE_SURVEYS                                                      \
    (ESK_SHAPE_KEEPS_MARKS == 0 &&                                             \
     (esk_shape_geometry.flags & ESK_MEDIUM_OVERWRITE) == 0 &&                 \
     ESK_SHAPE_BLOCKS <= ESK_SURVEY_BLOCKS_MAX)
#else
#define ESK_SHAPE_SURVEYS false
#endif
/* Whether a failed transfer costs the rest of its block: a series can spare it,
   a kv table has one block to spare. */
#if defined(ESK_SHAPE_SERIES)
#define ESK_SHAPE_LEAVES ESK_SHAPE_SURVEYS
#else
#define ESK_SHAPE_LEAVES false
#endif

#ifdef ESK_SHAPE_SERIES
#define ESK_SHAPE_UNIT esk_shape_table.row_bytes
#define ESK_SHAPE_REFUSES (esk_shape_options.full_policy == ESK_FULL_REFUSE)
#else
#define ESK_SHAPE_UNIT 1
#define ESK_SHAPE_REFUSES true
#endif

/* Whether an address has enough bits for each page of the device. */
#ifdef ESK_SHAPE
#define ESK_SHAPE_PAGES_FIT                                                    \
    (ESK_ADDRESS_BITS == 32 ||                                                 \
     esk_shape_geometry.block_count * esk_shape_geometry.block_pages <=        \
         INT16_MAX)
#else
#define ESK_SHAPE_PAGES_FIT (ESK_ADDRESS_BITS == 32)
#endif

/* The same of a volume, which a bare store has none of. */

#ifdef ESK_SHAPE_BARE
#define ESK_SHAPED_VOLUME(constant, value) (value)
#else
#define ESK_SHAPED_VOLUME(constant, value) ESK_SHAPED(constant, value)
#endif

/// The breaks of a log: `value`, but NULL in a program with a table's shape,
/// because a break changes its descriptor, or without the part of breaks.
#define ESK_SHAPED_BREAKS(value)                                               \
    ESK_SHAPED(NULL,                                                           \
               ESK_SHAPED_PARTS(                                               \
                   esk_shape_parts.breaks == NULL ? NULL : (value), value))

static inline const struct esk_device *
esk_volume_device(const struct esk_volume *volume) {
#ifdef ESK_SHAPE_DEVICE
    return ESK_SHAPED_MEDIUM(&ESK_SHAPE_DEVICE, volume->device);
#else
    return volume->device;
#endif
}

static inline const struct esk_geometry *
esk_volume_geometry(const struct esk_volume *volume) {
    return ESK_SHAPED_MEDIUM(&esk_shape_geometry,
                             &esk_volume_device(volume)->geometry);
}

/* Where the meta halves are, and what their pages have. */

static inline uint32_t esk_volume_seed(const struct esk_volume *volume) {
    return ESK_SHAPED_VOLUME(esk_shape_volume.seed, volume->seed);
}

static inline uint32_t esk_volume_half_blocks(const struct esk_volume *volume) {
    return ESK_SHAPED_VOLUME(esk_shape_volume.half_blocks, volume->half_blocks);
}

static inline uint16_t esk_volume_half_pages(const struct esk_volume *volume) {
    return ESK_SHAPED_VOLUME(esk_shape_volume.half_pages, volume->half_pages);
}

static inline uint16_t
esk_volume_catalog_pages(const struct esk_volume *volume) {
    return ESK_SHAPED_VOLUME(esk_shape_volume.catalog_pages,
                             volume->catalog_pages);
}

static inline uint8_t esk_volume_checksum(const struct esk_volume *volume) {
    return ESK_SHAPED_VOLUME(esk_shape_volume.checksum, volume->checksum);
}

/// Flags of the mount, enum esk_mount_flags.
static inline uint8_t esk_volume_flags(const struct esk_volume *volume) {
    return ESK_SHAPED_MEDIUM(ESK_SHAPE_MOUNT, volume->flags);
}

/// Whether a volume knows that it is synced. A series that is compiled with its
/// shape, on a medium that programs in order, asks for a sync only after a
/// program.
static inline bool esk_volume_notes_syncs(void) {
    return ESK_SHAPED_SERIES(
        (esk_shape_geometry.flags & ESK_MEDIUM_OVERWRITE) != 0, true);
}

/// Whether the driver stores marks of bad blocks.
static inline bool esk_volume_keeps_marks(const struct esk_volume *volume) {
    return ESK_SHAPED_MEDIUM(ESK_SHAPE_KEEPS_MARKS != 0,
                             esk_volume_device(volume)->ops->block_is_bad !=
                                 NULL);
}

#endif
