// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// As the Pico SDK's header; here the flash is an array.
#ifndef FAKE_HARDWARE_REGS_ADDRESSMAP_H
#define FAKE_HARDWARE_REGS_ADDRESSMAP_H

#include <stdint.h>

extern uint8_t fake_rp2_xip[];

#define XIP_BASE ((uintptr_t)fake_rp2_xip)

#endif
