// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Constant tables outside RAM: AVR copies const data to SRAM unless it is
/// placed in program memory and read from there.
#ifndef ESK_BASE_ROM_H
#define ESK_BASE_ROM_H

#include <stdint.h>

#if defined(__AVR__)
#include <avr/pgmspace.h>
#define ESK_ROM PROGMEM
#define esk_rom_u8(address) pgm_read_byte(address)
#define esk_rom_u16(address) pgm_read_word(address)
#define esk_rom_u32(address) pgm_read_dword(address)
#else
#define ESK_ROM
#define esk_rom_u8(address) (*(address))
#define esk_rom_u16(address) (*(address))
#define esk_rom_u32(address) (*(address))
#endif

#endif
