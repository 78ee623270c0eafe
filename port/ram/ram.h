// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device in the caller's memory: battery-backed RAM, or a test.
///
///     static uint8_t memory[64 * 512];
///     struct esk_ram_device ram;
///     esk_ram_device_init(&ram, &geometry, memory, sizeof memory);
///     esk_volume_mount(&volume, &ram.device, 0, arena, sizeof arena);
///
/// The driver checks bounds, as a chip does, but not the order of programs.
/// port/sim checks the order. It allocates nothing.
#ifndef ESK_RAM_RAM_H
#define ESK_RAM_RAM_H

#include <stddef.h>
#include <stdint.h>

#include "esker/device.h"
#include "esker/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A device in RAM. The caller owns it; its fields are the driver's.
struct esk_ram_device {
    struct esk_device device; ///< mount on this
};

/// Makes a device of `geometry` over `memory`.
///
/// memory   borrowed while in use, and not changed: bytes that survived a reset
///          can be mounted.
/// bytes    at least block_count * block_pages * page_bytes.
/// Returns  ESK_OK; ESK_E_GEOMETRY; ESK_E_NO_MEMORY when `bytes` is too few.
/// Costs    nothing; erase the blocks to start empty.
int esk_ram_device_init(struct esk_ram_device *ram,
                        const struct esk_geometry *geometry, void *memory,
                        size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
