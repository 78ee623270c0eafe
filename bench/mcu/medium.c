// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "bench/mcu/medium.h"

#include <stddef.h>

#include "esker/status.h"
#include "port/board.h"

#ifndef MEDIUM_SD
#define MEDIUM_SD 0
#endif
/* Whether a program that fails leaves part of its bytes. */
#ifndef MEDIUM_TEARS
#define MEDIUM_TEARS (!MEDIUM_SD)
#endif
#ifndef MEDIUM_BLOCKS
#define MEDIUM_BLOCKS 512
#endif

enum { PAGE_BYTES = 512, BLOCK_PAGES = 8 };

struct medium medium;

void medium_clear(void) {
    medium = (struct medium){0};
}

/// Whether this call is to fail.
static bool medium_fails(void) {
    if (medium.fails_at == 0) {
        return false;
    }
    medium.calls++;
    return medium.calls >= medium.fails_at &&
           medium.calls - medium.fails_at <= medium.fails_more;
}

static uint32_t medium_address(const struct esk_device *device,
                               esk_page_id page, uint16_t offset) {
    return page * device->geometry.page_bytes + offset;
}

static int medium_status(int status) {
    return status == 0 ? ESK_OK : ESK_E_IO;
}

static int medium_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    medium.reads++;
    medium.reads_sequential += page == medium.read_next;
    medium.read_next = page + 1;
    if (!medium.fails_medium && medium_fails()) {
        return ESK_E_IO;
    }
    return medium_status(
        esk_board_read(medium_address(device, page, offset), buffer, bytes));
}

static int medium_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    medium.programs++;
    medium.programs_sequential += page == medium.program_next;
    medium.program_next = page + 1;
    uint32_t address = medium_address(device, page, offset);
    if (medium_fails()) {
        if (medium.fails_medium && MEDIUM_TEARS) {
            esk_board_program(address, buffer, bytes / 2);
        }
        return medium.fails_medium ? ESK_E_MEDIUM : ESK_E_IO;
    }
    return medium_status(esk_board_program(address, buffer, bytes));
}

static int medium_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_geometry *geometry = &device->geometry;
    uint32_t bytes = (uint32_t)geometry->block_pages * geometry->page_bytes;
    medium.erases++;
    if (medium_fails()) {
        return medium.fails_medium ? ESK_E_MEDIUM : ESK_E_IO;
    }
    if (MEDIUM_SD) {
        return ESK_OK; /* A card needs none. */
    }
    return medium_status(esk_board_erase(block * bytes, bytes));
}

static int medium_sync(const struct esk_device *device) {
    (void)device;
    return ESK_OK;
}

static const struct esk_device_ops medium_ops = {
    .read = medium_read,
    .program = medium_program,
    .erase = medium_erase,
    .sync = medium_sync,
};

const struct esk_device medium_device = {
    .ops = &medium_ops,
    .geometry = {.block_count = MEDIUM_BLOCKS,
                 .block_pages = BLOCK_PAGES,
                 .page_bytes = PAGE_BYTES,
                 .program_bytes = MEDIUM_SD ? PAGE_BYTES : 1,
                 .programs_per_page_max = MEDIUM_SD ? 1 : 0,
                 .erased_value = 0xFF,
                 .flags = MEDIUM_SD ? ESK_MEDIUM_OVERWRITE : 0},
};
