// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of a NOR flash: the device of examples/minimal, and the
/// parts of its series.
#ifndef DEVICE_SHAPE_H
#define DEVICE_SHAPE_H

// clang-format off
#define ESK_SHAPE_GEOMETRY \
    {.block_count = 512, \
     .block_pages = 8, \
     .page_bytes = 512, \
     .program_bytes = 1, \
     .erased_value = 0xFF}
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_PAGES 4096
#ifndef ESK_SHAPE_POOL_FRAMES
#define ESK_SHAPE_POOL_FRAMES 1
#endif
#ifndef ESK_SHAPE_PARTS
#define ESK_SHAPE_PARTS \
    {.keys = &esk_series_part_keys}
#endif
// clang-format on

#endif
