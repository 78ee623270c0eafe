// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bytes of a volume's arena that each open table takes, as constant
/// expressions: for the static array of a mount.
///
///     static uint64_t arena[(ESK_SERIES_ARENA_BYTES(512, 2,
///                                ESK_SERIES_ALL_BYTES(256, sizeof(row))) +
///                            ESK_VOLUME_ARENA_BYTES(512)) /
///                           sizeof(uint64_t)];
///
/// Add up what is open at the same time, and one page for calls that need a
/// free page. A figure is that of esk_series_arena_bytes_with,
/// esk_tree_arena_bytes or esk_tree_reader_arena_bytes plus at most 63 bytes:
/// each piece is rounded up to 8 bytes, on AVR the sum. A macro that adds more
/// says so. Compiling the library checks the constants.
#ifndef ESKER_ARENA_H
#define ESKER_ARENA_H

#include <stdint.h>

#include "esker/schema.h"

/// `bytes`, rounded up to 8.
#define ESK_ARENA_ROUND(bytes) (((uint32_t)(bytes) + 7u) & ~UINT32_C(7))

/// Bytes that a piece of `bytes` bytes takes: AVR aligns nothing.
#if defined(__AVR__)
#define ESK_ARENA_PIECE(bytes) ((uint32_t)(bytes))
#else
#define ESK_ARENA_PIECE(bytes) ESK_ARENA_ROUND(bytes)
#endif

/// One of three sizes, by the width of pointers: 2, 4 or 8 bytes.
#define ESK_BY_POINTER(two, four, eight)                                       \
    (sizeof(void *) <= 2   ? (uint32_t)(two)                                   \
     : sizeof(void *) <= 4 ? (uint32_t)(four)                                  \
                           : (uint32_t)(eight))

/// The free page that some calls need.
#define ESK_VOLUME_ARENA_BYTES(page_bytes) ESK_ARENA_ROUND(page_bytes)

/* Series. */

/// An open series.
///
/// frames       config.frames, not 0: 2, +1 with value indexes, +1 with a
///              variable column. These two add up to 16 bytes of slack.
/// parts_bytes  the sum of the parts that the program names, below; for
///              esk_series_parts_all ESK_SERIES_ALL_BYTES and, if the table has
///              them, variable column, sync journal and value indexes.
#define ESK_SERIES_ARENA_BYTES(page_bytes, frames, parts_bytes)                \
    ESK_ARENA_ROUND(ESK_ARENA_PIECE(ESK_SERIES_HANDLE_BYTES) +                 \
                    ESK_ARENA_PIECE((uint32_t)(frames) * (page_bytes)) +       \
                    ESK_ARENA_PIECE(6u * ((frames) - 1u)) + (parts_bytes))
#define ESK_SERIES_HANDLE_BYTES                                                \
    (ESK_BY_POINTER(195, 252, 376) +                                           \
     ESK_BY_POINTER(2, 3, 2) * (uint32_t)sizeof(esk_key))

/// One of: esk_series_part_keys with esk_series_part_log, esk_series_part_keys
/// alone, esk_series_part_samples.
/// key_index_bytes  config.key_index_bytes, not 0: 256.
#define ESK_SERIES_LOG_BYTES(key_index_bytes)                                  \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(171, 192, 264) +                           \
                     ESK_BY_POINTER(4, 8, 6) * (uint32_t)sizeof(esk_key)) +    \
     ESK_ARENA_PIECE(key_index_bytes))
#define ESK_SERIES_KEYS_BYTES(key_index_bytes)                                 \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(40, 32, 48) +                              \
                     ESK_BY_POINTER(3, 7, 6) * (uint32_t)sizeof(esk_key)) +    \
     ESK_ARENA_PIECE(key_index_bytes))
#define ESK_SERIES_SAMPLES_BYTES(key_index_bytes)                              \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(5, 8, 16)) +                               \
     ESK_ARENA_PIECE(key_index_bytes))

/// esk_series_part_breaks.
#define ESK_SERIES_BREAKS_BYTES(row_bytes)                                     \
    ESK_ARENA_PIECE(ESK_BY_POINTER(65, 72, 88) + (row_bytes))

/// Packed pages: esk_series_part_packed.
/// fields    columns, one more with a variable one
/// linear    of these, the ones of mode ESK_PACK_LINEAR: the key, if nothing
///           else is said
/// readers   config.readers, not 0: 2
#define ESK_SERIES_PACKED_BYTES(fields, row_bytes, linear, readers)            \
    ESK_ARENA_PIECE(ESK_BY_POINTER(34, 48, 80) +                               \
                    2u * (uint32_t)sizeof(esk_key) + 8u * (fields) +           \
                    2u * (row_bytes) +                                         \
                    (1u + (uint32_t)(readers)) *                               \
                        (24u + (fields) + (row_bytes) + 4u * (linear)))

/// A variable column, and a sync journal.
#define ESK_SERIES_VAR_BYTES ESK_ARENA_PIECE(ESK_BY_POINTER(68, 88, 120))
#define ESK_SERIES_SYNC_BYTES ESK_SERIES_VAR_BYTES

/// `columns` value indexes.
/// entry_bytes  the sum of ESK_SERIES_ENTRY_BYTES over the columns
/// group_pages  the specification's, not 0: 16, less on small pages
/// edges_bytes  of all given edges together
#define ESK_SERIES_VALUES_BYTES(columns, entry_bytes, group_pages,             \
                                edges_bytes)                                   \
    (ESK_ARENA_PIECE((columns) * ESK_BY_POINTER(9, 12, 16)) +                  \
     ESK_ARENA_PIECE((uint32_t)(entry_bytes) * (group_pages)) +                \
     ESK_ARENA_PIECE(edges_bytes))
/// A column of `width` bytes.
#define ESK_SERIES_ENTRY_BYTES(width, bitmap_bits)                             \
    (2u * (width) + ESK_BITMAP_BITS(bitmap_bits) / 8u)
#define ESK_BITMAP_BITS(bitmap_bits)                                           \
    ((bitmap_bits) == 0 ? ESK_BITMAP_DEFAULT : (bitmap_bits))
/// A packed table's value indexes have these, too.
/// steps_bytes  the sum of ESK_SERIES_STEPS_BYTES over the columns with learned
///              buckets
#define ESK_SERIES_PACKED_VALUES_BYTES(entry_bytes, steps_bytes)               \
    ESK_ARENA_PIECE((uint32_t)(entry_bytes) + (steps_bytes))
#define ESK_SERIES_STEPS_BYTES(bitmap_bits)                                    \
    (1u + (UINT32_C(32) << (ESK_BITMAP_BITS(bitmap_bits) / 32u)))

/// A sorted index: esk_series_part_sorted.
/// entries  as in its specification, not 0: 4608; a multiple of 256
/// fan      the same, not 0: 5
#define ESK_SERIES_SORTED_BYTES(page_bytes, entries, fan)                      \
    (ESK_ARENA_PIECE(ESK_SERIES_SORTING_BYTES) +                               \
     ESK_ARENA_PIECE(4u * (uint32_t)(entries)) +                               \
     ESK_ARENA_PIECE(2u * (uint32_t)(entries)) +                               \
     ESK_ARENA_PIECE((entries) / 8u < 512u ? (entries) / 8u : 512u) +          \
     (3u + (uint32_t)(fan)) * ESK_ARENA_PIECE(page_bytes) +                    \
     2u * ESK_ARENA_PIECE(4u * ((uint32_t)(entries) / 9u)) +                   \
     2u * ESK_ARENA_PIECE((uint32_t)(page_bytes) - 32u) +                      \
     2u * ESK_ARENA_PIECE(((uint32_t)(page_bytes) - 32u) / 4u))
#define ESK_SERIES_SORTING_BYTES ESK_BY_POINTER(2013, 2336, 2520)

/// esk_series_parts_all, for a table without variable column, sync journal and
/// value indexes.
#define ESK_SERIES_ALL_BYTES(key_index_bytes, row_bytes)                       \
    (ESK_SERIES_LOG_BYTES(key_index_bytes) + ESK_SERIES_BREAKS_BYTES(row_bytes))

/* Trees. */

/// An open tree.
///
/// frames       config.frames, not 0: 2
/// key_bytes    of the key column
/// store_bytes  the sum of its store and its other parts, below
#define ESK_TREE_ARENA_BYTES(page_bytes, frames, key_bytes, store_bytes)       \
    ESK_ARENA_ROUND(                                                           \
        ESK_ARENA_PIECE((uint32_t)(frames) * ((page_bytes) + 6u)) +            \
        ESK_ARENA_PIECE(3u * (key_bytes) + 4u) + (store_bytes))

/// esk_store_inplace and esk_store_journaled.
#define ESK_TREE_INPLACE_BYTES                                                 \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(324, 396, 524)) +                          \
     ESK_ARENA_PIECE(ESK_BY_POINTER(70, 72, 72)))
/// The same with batches, or merging.
/// batch_pages  config.batch_pages, not 0: 16
#define ESK_TREE_BATCHES_BYTES(batch_pages)                                    \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(353, 428, 556)) +                          \
     ESK_ARENA_PIECE(ESK_BY_POINTER(70, 72, 72)) +                             \
     ESK_ARENA_PIECE(ESK_BY_POINTER(17, 20, 20) +                              \
                     UINT32_C(4) * (batch_pages)))
/// esk_store_wandering and esk_store_mu.
#define ESK_TREE_MOVING_BYTES ESK_ARENA_PIECE(ESK_BY_POINTER(373, 452, 580))
/// The write cache, added to that.
#define ESK_TREE_WRITE_CACHE_BYTES(frames)                                     \
    ESK_ARENA_PIECE(ESK_BY_POINTER(14, 16, 16) + 2u * (frames))
/// esk_store_tnc, whose write cache is included. Its frames are smaller than a
/// page: pass ESK_TREE_TNC_FRAME_BYTES as `page_bytes` above and below.
/// k_percent  the spec's, not 0
#define ESK_TREE_TNC_FRAME_BYTES(page_bytes, k_percent)                        \
    (((page_bytes) - UINT32_C(40)) * (k_percent) / 100u + 19u)
#define ESK_TREE_TNC_BYTES(page_bytes, frames, key_bytes)                      \
    (ESK_TREE_MOVING_BYTES + ESK_TREE_WRITE_CACHE_BYTES(frames) +              \
     ESK_ARENA_PIECE(ESK_BY_POINTER(25, 32, 40) + (page_bytes) + (key_bytes)))
/// ESK_TREE_LRU_N, added to that: 5 bytes a frame too many for each level below
/// 8 that the tree cannot have.
#define ESK_TREE_LRU_N_BYTES(frames)                                           \
    (ESK_ARENA_PIECE(20) + ESK_ARENA_PIECE(35u * (frames)))

/// A reader of a tree, of config.frames frames, not 0: 2.
/// lru_n_bytes  ESK_TREE_LRU_N_BYTES(frames), or 0
#define ESK_TREE_READER_ARENA_BYTES(page_bytes, frames, key_bytes,             \
                                    lru_n_bytes)                               \
    ESK_ARENA_ROUND(                                                           \
        ESK_ARENA_PIECE(ESK_BY_POINTER(433, 548, 744)) +                       \
        ESK_ARENA_PIECE((uint32_t)(frames) * ((page_bytes) + 6u)) +            \
        ESK_ARENA_PIECE(2u * (key_bytes)) + (lru_n_bytes))

/* Kv tables. */

/// An open kv table.
///
/// keys          config.keys
/// region_bytes  of the table's blocks
#define ESK_KV_ARENA_BYTES(page_bytes, keys, region_bytes)                     \
    ESK_ARENA_ROUND(ESK_ARENA_PIECE(ESK_BY_POINTER(204, 240, 312)) +           \
                    ESK_ARENA_PIECE(page_bytes) +                              \
                    ESK_ARENA_PIECE(page_bytes) +                              \
                    ESK_ARENA_PIECE(((keys) + (keys) / 8u + 1u) *              \
                                    ESK_KV_SLOT_BYTES(region_bytes)))
/// A bare store, of a device of `device_bytes` bytes.
#define ESK_KV_BARE_ARENA_BYTES(page_bytes, keys, device_bytes)                \
    (ESK_KV_ARENA_BYTES(page_bytes, keys, device_bytes) + 32u)

/// An open kv table with an index.
///
/// index_keys  of struct esk_kv_spec
#define ESK_KV_INDEX_ARENA_BYTES(page_bytes, keys, region_bytes, index_keys)   \
    ESK_ARENA_ROUND(                                                           \
        ESK_ARENA_PIECE(ESK_BY_POINTER(204, 240, 312)) +                       \
        ESK_ARENA_PIECE(page_bytes) + ESK_ARENA_PIECE(page_bytes) +            \
        ESK_ARENA_PIECE(((keys) + (keys) / 8u + 1u) *                          \
                        (3u + ESK_KV_INDEX_ADDRESS_BYTES(region_bytes))) +     \
        ESK_ARENA_PIECE(ESK_BY_POINTER(131, 152, 200) + (page_bytes) +         \
                        ESK_KV_REFS_BYTES(page_bytes, index_keys)))
/// References of inner nodes, of at most 4 bytes: a leaf has an entry for every
/// 10 bytes of its page or more, and a node one for every 4.
#define ESK_KV_REFS_BYTES(page_bytes, index_keys)                              \
    (4u * ((index_keys) / (((page_bytes) - 26u) / 10u) /                       \
               (((page_bytes) - 16u) / 4u - 7u) +                              \
           2u))
/// The memory of a cursor that selects `keys` keys of at most `key_bytes` bytes
/// in a pass: not of the arena.
#define ESK_KV_CURSOR_BYTES(keys, key_bytes)                                   \
    (((uint32_t)(keys) + 1u) * ((key_bytes) + 3u))

#define ESK_KV_ADDRESS_BYTES(region_bytes)                                     \
    ((region_bytes) < 65535u ? 2u : (region_bytes) < 16777215u ? 3u : 4u)

/// With an index there is a bit more.
#define ESK_KV_INDEX_ADDRESS_BYTES(region_bytes)                               \
    ((region_bytes) < 32768u ? 2u : (region_bytes) < 8388608u ? 3u : 4u)

#define ESK_KV_SLOT_BYTES(region_bytes)                                        \
    ((region_bytes) < 65535u      ? 4u                                         \
     : (region_bytes) < 262144u   ? 5u                                         \
     : (region_bytes) < 16777215u ? 7u                                         \
                                  : 8u)

#endif
