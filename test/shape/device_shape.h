// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of a device, and the parts of every series on it.
#ifndef DEVICE_SHAPE_H
#define DEVICE_SHAPE_H

#include <stdint.h>

struct log_row {
    uint32_t time;
    int32_t air;
    int32_t ground;
    int32_t water;
};

// clang-format off
#define ESK_SHAPE_GEOMETRY \
    {.block_count = 24, \
     .block_pages = 8, \
     .page_bytes = 256, \
     .program_bytes = 1, \
     .erased_value = 0xFF}
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_POOL_FRAMES 1
#define ESK_SHAPE_PARTS \
    {.keys = &esk_series_part_keys}
// clang-format on

#endif
