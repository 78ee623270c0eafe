// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A program outside the project: uses the installed headers and the library.
#include <stdio.h>

#include "esker/esker.h"

int main(void) {
    struct esk_geometry geometry = {.block_count = 16,
                                    .block_pages = 8,
                                    .page_bytes = 512,
                                    .program_bytes = 1,
                                    .erased_value = 0xFF};
    int status = esk_geometry_check(&geometry);
    puts(esk_status_text(status));
    return status == ESK_OK ? 0 : 1;
}
