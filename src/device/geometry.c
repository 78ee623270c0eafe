// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The geometries that the flash layer supports.
#include <stddef.h>

#include "esker/assert.h"
#include "esker/device.h"
#include "esker/status.h"

enum {
    PAGE_BYTES_MAX = 16384,
    BLOCK_PAGES_MAX = 4096,
    BLOCK_COUNT_MIN = 3, ///< a bare kv store; a volume needs more
};

int esk_geometry_check(const struct esk_geometry *geometry) {
    ESK_ASSERT(geometry != NULL);
    if (geometry->page_bytes < ESK_PAGE_BYTES_MIN ||
        geometry->page_bytes > PAGE_BYTES_MAX ||
        geometry->page_bytes % 8u != 0) {
        return ESK_E_GEOMETRY;
    }
    if (geometry->block_pages < 1 || geometry->block_pages > BLOCK_PAGES_MAX) {
        return ESK_E_GEOMETRY;
    }
    if (geometry->block_count < BLOCK_COUNT_MIN ||
        geometry->block_count > UINT32_MAX / geometry->block_pages) {
        return ESK_E_GEOMETRY;
    }
    if (geometry->program_bytes < 1 ||
        geometry->program_bytes > geometry->page_bytes ||
        geometry->page_bytes % geometry->program_bytes != 0) {
        return ESK_E_GEOMETRY;
    }
    return ESK_OK;
}
