// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of a bare kv store in 4 sectors of 4 KB, for esker/shape.h.
#ifndef BARE_SHAPE_H
#define BARE_SHAPE_H

#define ESK_SHAPE_GEOMETRY                                                     \
    {.block_count = 4,                                                         \
     .block_pages = 16,                                                        \
     .page_bytes = 256,                                                        \
     .program_bytes = 1,                                                       \
     .erased_value = 0xFF}
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_PAGES 64
#define ESK_SHAPE_BARE {.id = 0x53455431}

#endif
