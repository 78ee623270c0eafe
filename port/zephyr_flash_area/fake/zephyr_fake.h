// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Flash drivers of Zephyr and the flash map above them, as documented.
///
/// It refuses, with the errno of real drivers: addresses outside the area or
/// off its alignment, a write block that was written before (where there is an
/// erase), an erase where there is none, a call on an area that is not open.
/// With ECC a write block that a power cut tore reads as EIO.
#ifndef FAKE_ZEPHYR_FAKE_H
#define FAKE_ZEPHYR_FAKE_H

#include <zephyr/drivers/flash.h>

#include "port/models/chip.h"

enum { FAKE_ZEPHYR_ID = 0, FAKE_ZEPHYR_BYTES = 4 << 20 };

/// Sectors of one size, as in a driver's page layout.
struct zephyr_fake_sectors {
    uint32_t count; ///< 0: end of the layout
    uint32_t bytes;
};

struct zephyr_fake_part {
    const char *name;
    struct zephyr_fake_sectors sectors[2];
    off_t area_offset; ///< of the partition
    size_t area_bytes;
    struct flash_parameters parameters;
    bool has_ecc;
};

struct zephyr_fake {
    struct esk_chip chip;
    const struct zephyr_fake_part *part;
    int open_fails; ///< failure of flash_area_open; 0: none
    int fails;      ///< failure of the next read, write or erase
    bool silent;    ///< a write or erase that failed returns 0, as with NOR
    uint32_t opens;
    uint32_t closes;
    size_t busy_at;
    size_t busy_bytes;
    bool erasing;
    bool failing;
    uint8_t target[256]; ///< bytes of the present write
};

extern struct zephyr_fake zephyr_fake;
extern uint8_t zephyr_fake_array[FAKE_ZEPHYR_BYTES];

/// An erased flash of that part, with power.
void zephyr_fake_reset(const struct zephyr_fake_part *part, uint64_t seed);

#endif
