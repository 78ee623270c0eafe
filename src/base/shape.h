// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// What can be a constant: in a program that is compiled with a shape
/// (esker/shape.h) it is; else it is where a mount or an open put it. It is
/// asked for by an accessor, here or beside the struct that has it as a
/// member, so no other file knows which of the two it is.
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

/* The same of the ring of a table that has no other; and whether such a ring
   refuses rows when it is full. */

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

/// How often a log was broken off: `value`, but never in a program that has a
/// shape, for a broken log's descriptor is another.
#define ESK_SHAPED_BREAKS(value) ESK_SHAPED(0u, value)

static inline const struct esk_geometry *
esk_volume_geometry(const struct esk_volume *volume) {
    return ESK_SHAPED(&esk_shape_geometry, &volume->device->geometry);
}

/// Flags of the mount, enum esk_mount_flags.
static inline uint8_t esk_volume_flags(const struct esk_volume *volume) {
    return ESK_SHAPED(ESK_SHAPE_MOUNT, volume->flags);
}

/// Whether the driver can keep marks of bad blocks.
static inline bool esk_volume_keeps_marks(const struct esk_volume *volume) {
    return ESK_SHAPED(ESK_SHAPE_KEEPS_MARKS != 0,
                      volume->device->ops->block_is_bad != NULL);
}

#endif
