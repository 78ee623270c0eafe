// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The calls of every program with a volume: to be linked, not run.
#include "esker/esker.h"

static struct esk_volume volume;
static struct esk_device device;
static uint64_t arena[64];

int main(void) {
    return esk_volume_mount(&volume, &device, 0, arena, sizeof arena);
}
