// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The shape of a card: the device of examples/minimal_tree, and how
/// its trees are opened.
#ifndef CARD_SHAPE_H
#define CARD_SHAPE_H

// clang-format off
#define ESK_SHAPE_GEOMETRY \
    {.block_count = 512, \
     .block_pages = 8, \
     .page_bytes = 512, \
     .program_bytes = 512, \
     .programs_per_page_max = 1, \
     .erased_value = 0xFF, \
     .flags = ESK_MEDIUM_OVERWRITE}
#define ESK_SHAPE_KEEPS_MARKS 0
#define ESK_SHAPE_PAGES 4096
#ifndef ESK_SHAPE_POOL_FRAMES
#define ESK_SHAPE_POOL_FRAMES 2
#endif
#ifndef ESK_SHAPE_CONFIG
#define ESK_SHAPE_CONFIG \
    {.store = &esk_store_inplace}
#endif
// clang-format on

#endif
