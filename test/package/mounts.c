// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Calls what every program calls that has a volume: to be linked, not run.
#include "esker/esker.h"

static struct esk_volume volume;
static struct esk_device device;
static uint64_t arena[64];

int main(void) {
    return esk_volume_mount(&volume, &device, 0, arena, sizeof arena);
}
