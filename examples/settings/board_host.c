// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The board on this machine.
///
///     SETTINGS_IMAGE=settings.img   the storage, 256 KiB; made when missing
///
/// Commands come from stdin, answers go to stdout. The settings are a table of
/// a volume, beside which other tables may be: `esker list settings.img`.
#include <stdio.h>
#include <stdlib.h>

#include "examples/settings/board.h"
#include "port/posix_file/posix_file.h"

enum { PAGE_BYTES = 256, BLOCK_PAGES = 16, BLOCKS = 64 };

static struct esk_posix_file image;
static struct esk_volume volume;
static uint64_t
    arena[SETTINGS_ARENA_BYTES(PAGE_BYTES,
                               (uint32_t)BLOCKS *BLOCK_PAGES *PAGE_BYTES) /
          sizeof(uint64_t)];

int board_start(struct settings *settings, const struct settings_set *set) {
    static const struct esk_geometry geometry = {.block_count = BLOCKS,
                                                 .block_pages = BLOCK_PAGES,
                                                 .page_bytes = PAGE_BYTES,
                                                 .program_bytes = 1,
                                                 .erased_value = 0xFF};
    static const struct esk_volume_config config = {.uuid = {'s', 'e', 't'}};
    const char *path = getenv("SETTINGS_IMAGE");
    path = path == NULL ? "settings.img" : path;
    int status = esk_posix_file_create(&image, path, &geometry, 0);
    if (status == ESK_E_EXISTS) {
        status = esk_posix_file_open(&image, path, &geometry, 0);
    }
    ESK_TRY(status);
    ESK_TRY(esk_volume_mount_or_format(&volume, &image.device, 0, &config,
                                       arena, sizeof arena));
    return settings_open(settings, set, &volume);
}

bool board_had_fault(void) {
    return false;
}

int board_get(void) {
    return getchar();
}

void board_put(char character) {
    putchar(character);
}
