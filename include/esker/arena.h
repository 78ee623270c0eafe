// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// How much of a volume's arena everything takes, as constant expressions: for
/// the static array that a mount is given.
///
///     static uint64_t arena[(ESK_SERIES_ARENA_BYTES(512, 2,
///                                ESK_SERIES_ALL_BYTES(256, sizeof(row))) +
///                            ESK_VOLUME_ARENA_BYTES(512)) /
///                           sizeof(uint64_t)];
///
/// Add up what is open at a time; one page more where calls that need a page
/// free are made meanwhile. A figure is that of esk_series_arena_bytes_with,
/// esk_tree_arena_bytes or esk_tree_reader_arena_bytes, and at most 63 bytes
/// more: each piece is rounded up to 8 bytes, on AVR the sum. What adds slack
/// beside that says so. Compiling the library proves the constants.
#ifndef ESKER_ARENA_H
#define ESKER_ARENA_H

#include <stdint.h>

#include "esker/schema.h"

/// `bytes`, rounded up to 8.
#define ESK_ARENA_ROUND(bytes) (((uint32_t)(bytes) + 7u) & ~UINT32_C(7))

/// What a piece of `bytes` bytes takes: an 8-bit processor aligns nothing.
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

/// What calls need that say so, beside the open tables.
#define ESK_VOLUME_ARENA_BYTES(page_bytes) ESK_ARENA_ROUND(page_bytes)

/* Series. */

/// An open series.
///
/// frames       config.frames, not 0: 2, +1 with value indexes, +1 with a
///              variable column. These two add up to 16 bytes of slack.
/// parts_bytes  the sum of what the parts take that the program names, below;
///              of esk_series_parts_all ESK_SERIES_ALL_BYTES and, where the
///              table has them, variable column, sync journal, value indexes.
#define ESK_SERIES_ARENA_BYTES(page_bytes, frames, parts_bytes)                \
    ESK_ARENA_ROUND(ESK_ARENA_PIECE(ESK_SERIES_HANDLE_BYTES) +                 \
                    ESK_ARENA_PIECE((uint32_t)(frames) * (page_bytes)) +       \
                    ESK_ARENA_PIECE(6u * ((frames) - 1u)) + (parts_bytes))
#define ESK_SERIES_HANDLE_BYTES                                                \
    (ESK_BY_POINTER(194, 248, 368) +                                           \
     ESK_BY_POINTER(2, 3, 2) * (uint32_t)sizeof(esk_key))

/// esk_series_part_keys with esk_series_part_log, esk_series_part_keys alone,
/// and esk_series_part_samples: one of them.
/// key_index_bytes  config.key_index_bytes, not 0: 256.
#define ESK_SERIES_LOG_BYTES(key_index_bytes)                                  \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(161, 172, 224) +                           \
                     ESK_BY_POINTER(4, 10, 8) * (uint32_t)sizeof(esk_key)) +   \
     ESK_ARENA_PIECE(key_index_bytes))
#define ESK_SERIES_KEYS_BYTES(key_index_bytes)                                 \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(69, 60, 72) +                              \
                     ESK_BY_POINTER(4, 9, 8) * (uint32_t)sizeof(esk_key)) +    \
     ESK_ARENA_PIECE(key_index_bytes))
#define ESK_SERIES_SAMPLES_BYTES(key_index_bytes)                              \
    (ESK_ARENA_PIECE(sizeof(void *)) + ESK_ARENA_PIECE(key_index_bytes))

/// esk_series_part_breaks.
#define ESK_SERIES_BREAKS_BYTES(row_bytes)                                     \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(61, 64, 64)) + ESK_ARENA_PIECE(row_bytes))

/// Of a table with a variable column, and of one with a sync journal.
#define ESK_SERIES_VAR_BYTES ESK_ARENA_PIECE(ESK_BY_POINTER(66, 84, 112))
#define ESK_SERIES_SYNC_BYTES ESK_SERIES_VAR_BYTES

/// Of a table with `columns` value indexes.
/// entry_bytes  the sum of ESK_SERIES_ENTRY_BYTES over the columns
/// group_pages  the specification's, not 0: 16, which small pages make fewer
/// edges_bytes  of all given edges together
#define ESK_SERIES_VALUES_BYTES(columns, entry_bytes, group_pages,             \
                                edges_bytes)                                   \
    (ESK_ARENA_PIECE((columns) * ESK_BY_POINTER(8, 12, 16)) +                  \
     ESK_ARENA_PIECE((uint32_t)(entry_bytes) * ((group_pages) - 1u)) +         \
     ESK_ARENA_PIECE(edges_bytes))
/// Of a column of `width` bytes.
#define ESK_SERIES_ENTRY_BYTES(width, bitmap_bits)                             \
    (2u * (width) + (bitmap_bits) / 8u)

/// What esk_series_parts_all takes of a table that has neither.
#define ESK_SERIES_ALL_BYTES(key_index_bytes, row_bytes)                       \
    (ESK_SERIES_LOG_BYTES(key_index_bytes) + ESK_SERIES_BREAKS_BYTES(row_bytes))

/* Trees. */

/// An open tree.
///
/// frames       config.frames, not 0: 2
/// key_bytes    of the key column
/// store_bytes  of its store, and what else it is opened with: below
#define ESK_TREE_ARENA_BYTES(page_bytes, frames, key_bytes, store_bytes)       \
    ESK_ARENA_ROUND(                                                           \
        ESK_ARENA_PIECE((uint32_t)(frames) * ((page_bytes) + 6u)) +            \
        ESK_ARENA_PIECE(3u * (key_bytes) + 4u) + (store_bytes))

/// esk_store_inplace and esk_store_journaled.
#define ESK_TREE_INPLACE_BYTES                                                 \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(322, 392, 516)) +                          \
     ESK_ARENA_PIECE(ESK_BY_POINTER(70, 72, 72)))
/// The same with batches, or merging.
/// batch_pages  config.batch_pages, not 0: 16
#define ESK_TREE_BATCHES_BYTES(batch_pages)                                    \
    (ESK_ARENA_PIECE(ESK_BY_POINTER(351, 424, 548)) +                          \
     ESK_ARENA_PIECE(ESK_BY_POINTER(70, 72, 72)) +                             \
     ESK_ARENA_PIECE(ESK_BY_POINTER(17, 20, 20) +                              \
                     UINT32_C(4) * (batch_pages)))
/// esk_store_wandering and esk_store_mu.
#define ESK_TREE_MOVING_BYTES ESK_ARENA_PIECE(ESK_BY_POINTER(371, 448, 572))
/// The write cache, beside that.
#define ESK_TREE_WRITE_CACHE_BYTES(frames)                                     \
    ESK_ARENA_PIECE(ESK_BY_POINTER(14, 16, 16) + 2u * (frames))
/// ESK_TREE_LRU_N, beside that: 5 bytes a frame of slack for each level that
/// the tree cannot have of 8.
#define ESK_TREE_LRU_N_BYTES(frames)                                           \
    (ESK_ARENA_PIECE(20) + ESK_ARENA_PIECE(35u * (frames)))

/// A reader of a tree, of config.frames frames, not 0: 2.
/// lru_n_bytes  ESK_TREE_LRU_N_BYTES(frames), or 0
#define ESK_TREE_READER_ARENA_BYTES(page_bytes, frames, key_bytes,             \
                                    lru_n_bytes)                               \
    ESK_ARENA_ROUND(                                                           \
        ESK_ARENA_PIECE(ESK_BY_POINTER(429, 540, 728)) +                       \
        ESK_ARENA_PIECE((uint32_t)(frames) * ((page_bytes) + 6u)) +            \
        ESK_ARENA_PIECE(2u * (key_bytes)) + (lru_n_bytes))

#endif
