// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of the store: the first 16 KB of the chip, in pages of 128 bytes.
/// For other sizes write other numbers; esker/shape.h.
#ifndef SETTINGS_SHAPE_H
#define SETTINGS_SHAPE_H

// clang-format off
#define ESK_SHAPE_GEOMETRY \
    {.block_count = 4, \
     .block_pages = 32, \
     .page_bytes = 128, \
     .program_bytes = 1, \
     .erased_value = 0xFF}
// clang-format on
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_BARE {.id = 0x554E4F31}

#endif
