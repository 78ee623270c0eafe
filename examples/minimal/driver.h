// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The driver of the minimal firmware.
#ifndef ESK_EXAMPLE_DRIVER_H
#define ESK_EXAMPLE_DRIVER_H

#include <stdint.h>

#include "esker/device.h"

/// Read, program, erase and sync of the board's flash.
extern const struct esk_device_ops driver_ops;

/// One sample of the board's sensor.
int32_t driver_sample(void);

#endif
