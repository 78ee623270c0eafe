// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A program outside the project: mounts a blank device of the host's drivers.
/// The C library's own <assert.h> is found beside the library's headers.
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "esker/esker.h"
#include "port/ram/ram.h"

static unsigned char bytes[16 * 8 * 512];

int main(void) {
    const struct esk_geometry geometry = {.block_count = 16,
                                          .block_pages = 8,
                                          .page_bytes = 512,
                                          .program_bytes = 1,
                                          .erased_value = 0xFF};
    struct esk_ram_device ram;
    unsigned char first = 0;
    memset(bytes, 0xFF, sizeof bytes);
    assert(esk_version() == ESK_VERSION);
    esk_ram_device_init(&ram, &geometry, bytes, sizeof bytes);
    int status = ram.device.ops->read(&ram.device, 0, 0, &first, 1);
    puts(esk_status_text(status));
    return status == ESK_OK && first == 0xFF ? 0 : 1;
}
