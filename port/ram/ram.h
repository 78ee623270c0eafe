// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A device in the caller's memory: battery-backed RAM, or a test.
///
///     static uint8_t memory[64 * 512];
///     struct esk_ram_device ram;
///     esk_ram_device_init(&ram, &geometry, memory, sizeof memory);
///     esk_volume_mount(&volume, &ram.device, 0, arena, sizeof arena);
///
/// The driver trusts its caller as a chip does: it checks bounds, not the
/// order of programs. Use port/sim to check that. It allocates nothing.
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
/// memory   kept, and left as it is: what a reset preserved can be mounted.
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
