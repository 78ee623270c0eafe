// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Arenas for tests: scratch for the mounts of all volumes of the program, and
/// tables in an arena of their own; the byte after it belongs to something
/// else.
///
///     esk_volume_mount(&volume, device, 0, TEST_SCRATCH);
///     test_series_open(&series, &volume, "log", NULL, arena, bytes);
///
/// No table is in the scratch, so volumes may share it.
#ifndef ESK_TEST_ARENA_H
#define ESK_TEST_ARENA_H

#include "esker/esker.h"

/// Room for a page of any geometry.
static uint64_t test_scratch[16384 / sizeof(uint64_t)];

/// The last two arguments of a mount.
#define TEST_SCRATCH test_scratch, sizeof test_scratch

/// Lets `open` open its table in the `bytes` bytes at `arena`, and then sets
/// the volume's arena to the scratch again. Evaluates to the status.
#define TEST_IN_ARENA(volume, arena, bytes, open)                              \
    test_arena_end((volume),                                                   \
                   esk_volume_arena_set((volume), (arena), (bytes)) == ESK_OK  \
                       ? (open)                                                \
                       : esk_volume_arena_set((volume), (arena), (bytes)))

static inline int test_arena_end(struct esk_volume *volume, int status) {
    (void)esk_volume_arena_set(volume, TEST_SCRATCH);
    return status;
}

static inline int test_series_open(struct esk_series **series,
                                   struct esk_volume *volume, const char *name,
                                   const struct esk_series_config *config,
                                   void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(volume, arena, bytes,
                         esk_series_open(series, volume, name, config));
}

static inline int test_series_open_with(struct esk_series **series,
                                        const struct esk_series_parts *parts,
                                        struct esk_volume *volume,
                                        const char *name,
                                        const struct esk_series_config *config,
                                        void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(
        volume, arena, bytes,
        esk_series_open_with(series, parts, volume, name, config));
}

static inline int test_series_open_or_create(
    struct esk_series **series, const struct esk_series_parts *parts,
    struct esk_volume *volume, const struct esk_series_spec *spec,
    const struct esk_series_config *config, void *arena, uint32_t bytes,
    struct esk_fault *fault) {
    return TEST_IN_ARENA(
        volume, arena, bytes,
        esk_series_open_or_create(series, parts, volume, spec, config, fault));
}

static inline int test_series_attach(struct esk_series **series,
                                     const struct esk_series_parts *parts,
                                     struct esk_volume *volume,
                                     const struct esk_table_info *info,
                                     const struct esk_series_shape *shape,
                                     const struct esk_series_options *options,
                                     const struct esk_series_config *config,
                                     void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(
        volume, arena, bytes,
        esk_series_attach(series, parts, volume, info, shape, options, config));
}

static inline int test_series_add_columns(struct esk_volume *volume,
                                          const struct esk_series_parts *parts,
                                          const struct esk_table_spec *spec,
                                          const void *row, void *arena,
                                          uint32_t bytes,
                                          struct esk_fault *fault) {
    return TEST_IN_ARENA(
        volume, arena, bytes,
        esk_series_add_columns(volume, parts, spec, row, fault));
}

static inline int test_tree_open(struct esk_tree **tree,
                                 struct esk_volume *volume, const char *name,
                                 const struct esk_tree_config *config,
                                 void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(volume, arena, bytes,
                         esk_tree_open(tree, volume, name, config));
}

static inline int test_tree_open_or_create(struct esk_tree **tree,
                                           struct esk_volume *volume,
                                           const struct esk_tree_spec *spec,
                                           const struct esk_tree_config *config,
                                           void *arena, uint32_t bytes,
                                           struct esk_fault *fault) {
    return TEST_IN_ARENA(
        volume, arena, bytes,
        esk_tree_open_or_create(tree, volume, spec, config, fault));
}

static inline int test_tree_attach(struct esk_tree **tree,
                                   struct esk_volume *volume,
                                   const struct esk_table_info *info,
                                   const struct esk_btree_layout *layout,
                                   const struct esk_tree_config *config,
                                   void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(volume, arena, bytes,
                         esk_tree_attach(tree, volume, info, layout, config));
}

static inline int test_tree_reader_open(struct esk_volume *volume,
                                        struct esk_tree **reader,
                                        struct esk_tree *tree,
                                        const struct esk_tree_config *config,
                                        void *arena, uint32_t bytes) {
    return TEST_IN_ARENA(volume, arena, bytes,
                         esk_tree_reader_open(reader, tree, config));
}

#endif
