// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bounds checks that the drivers of chips share.
///
/// All drivers return ESK_E_MEDIUM only when the transfer succeeded and the
/// medium itself reported that its program or erase failed: P_FAIL, E_FAIL,
/// EPE, a write error in SD's data response, bytes that read back otherwise.
#ifndef ESK_DRIVER_H
#define ESK_DRIVER_H

#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

/// Returns ESK_OK when the bytes are in a page of the device, else ESK_E_IO.
static inline int esk_driver_check(const struct esk_device *device,
                                   esk_page_id page, uint16_t offset,
                                   uint16_t bytes) {
    const struct esk_geometry *geometry = &device->geometry;
    return page >= geometry->block_count * geometry->block_pages ||
                   offset > geometry->page_bytes ||
                   bytes > geometry->page_bytes - offset
               ? ESK_E_IO
               : ESK_OK;
}

/// Fills in the device's number of blocks: the caller's, or for 0 all from
/// block `first` on. Returns ESK_E_GEOMETRY when the chip's `chip` blocks are
/// too few, or EskerDB cannot use the geometry.
static inline int esk_driver_blocks(struct esk_device *device, uint32_t chip,
                                    uint32_t first, uint32_t count) {
    if (first > chip || count > chip - first) {
        return ESK_E_GEOMETRY;
    }
    device->geometry.block_count = count != 0 ? count : chip - first;
    return esk_geometry_check(&device->geometry);
}

#endif
