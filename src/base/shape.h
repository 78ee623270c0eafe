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

#ifdef ESK_SHAPE
/// `constant` in a program that has a shape; else `value`.
#define ESK_SHAPED(constant, value) ((void)sizeof(value), (constant))
#else
#define ESK_SHAPED(constant, value) (value)
#endif

/* The same of a series' shape, and of a tree's. */

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

/* The same for the only ring of a table, and whether that ring refuses rows
   when it is full. */

#if defined(ESK_SHAPE_TREE)
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

#ifdef ESK_SHAPE_SERIES
#define ESK_SHAPE_REFUSES (esk_shape_options.full_policy == ESK_FULL_REFUSE)
#else
#define ESK_SHAPE_REFUSES true
#endif

/// The breaks of a log: `value`, but NULL in a program with a shape, because a
/// break changes the table's descriptor.
#define ESK_SHAPED_BREAKS(value) ESK_SHAPED(NULL, value)

static inline const struct esk_geometry *
esk_volume_geometry(const struct esk_volume *volume) {
    return ESK_SHAPED(&esk_shape_geometry, &volume->device->geometry);
}

/// Flags of the mount, enum esk_mount_flags.
static inline uint8_t esk_volume_flags(const struct esk_volume *volume) {
    return ESK_SHAPED(ESK_SHAPE_MOUNT, volume->flags);
}

/// Whether the driver stores marks of bad blocks.
static inline bool esk_volume_keeps_marks(const struct esk_volume *volume) {
    return ESK_SHAPED(ESK_SHAPE_KEEPS_MARKS != 0,
                      volume->device->ops->block_is_bad != NULL);
}

#endif
