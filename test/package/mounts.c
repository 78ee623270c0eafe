// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Calls what every program calls that has a volume: to be linked, not run.
#include "esker/esker.h"

static struct esk_volume volume;
static struct esk_device device;
static uint8_t page[512];

int main(void) {
    return esk_volume_mount(&volume, &device, 0, page);
}
