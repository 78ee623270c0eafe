// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of one table, or of a device, as constants: a firmware that is
/// compiled for them is smaller. With a table's it links no catalog.
///
///     esker header factory.img log > log_shape.h
///     cc -DESK_SHAPE='"log_shape.h"' ...      every file, the core's too
///
///     static uint64_t arena[ESK_SERIES_ARENA_BYTES(512, 2, 0) / 8];
///
///     status = esk_volume_attach(&volume, &device, 0, &esk_shape_volume,
///                                arena, sizeof arena);
///     if (status == ESK_NOT_FOUND) {
///         status = esk_volume_stamp(&volume, esk_shape_meta);
///     }
///     ... esk_series_attach(&series, &esk_shape_parts, &volume,
///                           &esk_shape_table, &esk_shape_series,
///                           &esk_shape_options, &config);
///
/// A program with one device defines it with linkage and names it, too: its
/// operations are then called without a pointer to them in RAM.
///
///     cc -DESK_SHAPE='"log_shape.h"' -DESK_SHAPE_DEVICE=flash_device ...
///
///     const struct esk_device flash_device = {.ops = &ops, .geometry = ...};
///
/// The bytes on the medium are those of any other volume: host tools read them.
/// Such a program can open only this table, on this geometry.
///
/// The shape of a device is a header of a few lines, without an image:
///
///     #define ESK_SHAPE_GEOMETRY {.block_count = 512, .block_pages = 8, ...}
///     #define ESK_SHAPE_KEEPS_MARKS 0       the driver stores no marks
///     #define ESK_SHAPE_PAGES 4096          block_count * block_pages
///     #define ESK_SHAPE_POOL_FRAMES 1       frames of each table's pool
///     #define ESK_SHAPE_PARTS {.keys = &esk_series_part_keys}
///     #define ESK_SHAPE_CONFIG {.store = &esk_store_wandering}
///
/// Such a program mounts any volume on this geometry, and opens its tables by
/// their names. Mounts of series and kv tables read every block, where the
/// device has up to 512 and no marks. ESK_SHAPE_PARTS are the parts of all
/// series, whatever esk_series_open_with is given; without ESK_SHAPE_CONFIG the
/// program has series alone, and other tables are ESK_E_UNSUPPORTED.
/// ESK_SHAPE_CONFIG has the store, the parts and the policy of all trees, which
/// esk_tree_open has to be given, too; then there are no readers and no store
/// that packs nodes. With ESK_SHAPE_POOL_FRAMES the frames of a configuration
/// are ignored: one for pages that are read is enough for series, trees need
/// two.
///
/// A program of several devices can name the parts alone:
/// -DESK_SHAPE_PARTS='{...}', -DESK_SHAPE_CONFIG='{...}', without -DESK_SHAPE.
///
/// With ESK_SHAPE_PAGES up to 32,767 a program for an 8-bit chip is smaller,
/// and opens no trees on copy-on-write stores.
///
/// The shape of a bare kv store is a header of a few lines, without an image:
///
///     #define ESK_SHAPE_GEOMETRY {.block_count = 4, .block_pages = 16, ...}
///     #define ESK_SHAPE_KEEPS_MARKS 0
///     #define ESK_SHAPE_BARE {.id = 0x53455431}
///
///     ... esk_kv_open_bare(&kv, &volume, &device, 0, &esk_shape_bare, ...);
///
/// In a program with the shape of a kv table of at most 16 KiB, a search
/// compares the hashes of all keys in RAM, in less code.
#ifndef ESKER_SHAPE_H
#define ESKER_SHAPE_H

#include "esker/arena.h"
#include "esker/kv.h"
#include "esker/series.h"
#include "esker/tree.h"
#include "esker/volume.h"

#if defined(__AVR__)
#define ESK_SHAPE_ROM __attribute__((__progmem__))
#else
#define ESK_SHAPE_ROM
#endif

#ifdef ESK_SHAPE
/* The flags of the mount are a constant, too: -DESK_SHAPE_MOUNT, default 0. */
#ifndef ESK_SHAPE_MOUNT
#define ESK_SHAPE_MOUNT 0
#endif
static const struct esk_geometry esk_shape_geometry = ESK_SHAPE_GEOMETRY;
#ifdef ESK_SHAPE_DEVICE
extern const struct esk_device ESK_SHAPE_DEVICE;
#endif
#if defined(ESK_SHAPE_SERIES) || defined(ESK_SHAPE_TREE) ||                    \
    defined(ESK_SHAPE_KV) || defined(ESK_SHAPE_BARE)
#define ESK_SHAPE_HAS_TABLE
#endif
#ifdef ESK_SHAPE_BARE
#define ESK_SHAPE_KV {.keys = 0}
/// For esk_kv_open_bare.
static const struct esk_kv_bare esk_shape_bare = ESK_SHAPE_BARE;
#elif defined(ESK_SHAPE_HAS_TABLE)
static const struct esk_table_info esk_shape_table = ESK_SHAPE_TABLE;
static const struct esk_volume_shape esk_shape_volume = ESK_SHAPE_VOLUME;
/// For esk_volume_stamp.
static const uint8_t esk_shape_meta[] ESK_SHAPE_ROM = ESK_SHAPE_META;
#endif
/* A header is of a series, of a tree or of a kv table. The pool has the fewest
   frames that the table can use; -DESK_SHAPE_POOL_FRAMES gives it more. */
#ifdef ESK_SHAPE_SERIES
#ifndef ESK_SHAPE_POOL_FRAMES
#define ESK_SHAPE_POOL_FRAMES 1
#endif
/* Whether a series is read by queries: -DESK_SHAPE_QUERIES=0 for a program
   whose cursors return all rows. */
#ifndef ESK_SHAPE_QUERIES
#define ESK_SHAPE_QUERIES 1
#endif
static const struct esk_series_shape esk_shape_series = ESK_SHAPE_SERIES;
static const struct esk_series_options esk_shape_options = ESK_SHAPE_OPTIONS;
#endif
#ifdef ESK_SHAPE_KV
#define ESK_SHAPE_POOL_FRAMES 1
/* Whether snapshots of a kv table can be opened: -DESK_SHAPE_SNAPSHOTS=1. */
#ifndef ESK_SHAPE_SNAPSHOTS
#define ESK_SHAPE_SNAPSHOTS 0
#endif
/* Whether esk_volume_step collects: -DESK_SHAPE_STEPS=0 for a program that does
   not call it. */
#ifndef ESK_SHAPE_STEPS
#define ESK_SHAPE_STEPS 1
#endif
static const struct esk_kv_options esk_shape_kv = ESK_SHAPE_KV;
#endif
#ifdef ESK_SHAPE_TREE
#ifndef ESK_SHAPE_POOL_FRAMES
#define ESK_SHAPE_POOL_FRAMES 2
#endif
static const struct esk_btree_layout esk_shape_tree = ESK_SHAPE_TREE;
#endif
#endif

#ifdef ESK_SHAPE_PARTS
/// The parts that the program uses; -DESK_SHAPE_PARTS names others.
static const struct esk_series_parts esk_shape_parts = ESK_SHAPE_PARTS;
#endif
#ifdef ESK_SHAPE_CONFIG
/// How the tree is opened; -DESK_SHAPE_CONFIG replaces it.
static const struct esk_tree_config esk_shape_config = ESK_SHAPE_CONFIG;
#endif

#endif
