// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The kinds of media that tests run on, as initializers of a geometry:
///
///     static const struct esk_geometry nand = ESK_NAND(160, 8, 512);
///     {.name = "small", .geometry = ESK_NOR(18, 8, 256), ...}
///
/// blocks, pages a block and bytes a page; blocks 0: the test chooses.
#ifndef ESK_TEST_MEDIA_H
#define ESK_TEST_MEDIA_H

#include "esker/device.h"

/// Flash of which `unit` bytes are programmed at a time, a page `nop` times
/// at most; 0: as often as it has units.
#define ESK_FLASH(blocks, pages, bytes, unit, nop)                             \
    {.block_count = (blocks),                                                  \
     .block_pages = (pages),                                                   \
     .page_bytes = (bytes),                                                    \
     .program_bytes = (unit),                                                  \
     .programs_per_page_max = (nop),                                           \
     .erased_value = 0xFF}

/// NOR: bytes are programmed one by one, so syncs seal.
#define ESK_NOR(blocks, pages, bytes) ESK_FLASH(blocks, pages, bytes, 1, 0)

/// NAND: a page is programmed once, so a sync costs a page.
#define ESK_NAND(blocks, pages, bytes) ESK_FLASH(blocks, pages, bytes, bytes, 1)

/// Files and EEPROM: pages are overwritten, `unit` bytes at a time.
#define ESK_OVERWRITTEN(blocks, pages, bytes, unit)                            \
    {.block_count = (blocks),                                                  \
     .block_pages = (pages),                                                   \
     .page_bytes = (bytes),                                                    \
     .program_bytes = (unit),                                                  \
     .flags = ESK_MEDIUM_OVERWRITE}

/// SD and the like: pages are overwritten as a whole.
#define ESK_CARD(blocks, pages, bytes)                                         \
    ESK_OVERWRITTEN(blocks, pages, bytes, bytes)

#endif
