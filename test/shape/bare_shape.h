// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of a bare store, for esker/shape.h: written by hand.
#ifndef BARE_SHAPE_H
#define BARE_SHAPE_H

#define ESK_SHAPE_GEOMETRY                                                     \
    {.block_count = 4,                                                         \
     .block_pages = 8,                                                         \
     .page_bytes = 256,                                                        \
     .program_bytes = 1,                                                       \
     .erased_value = 0xFF}
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_BARE {.id = 7, .live_percent = 75}

#endif
