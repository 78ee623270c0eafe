// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device contract: geometry and six calls, no policy.
///
/// A device is `block_count` blocks of `block_pages` pages of `page_bytes`
/// bytes. A block is the erase unit, a page the program and read unit.
/// Page numbers run from 0 to block_count * block_pages - 1.
///
/// EskerDB promises the driver: a page is programmed only after its block was
/// erased; pages of a block in rising order; each byte of a page at most once
/// between erases; program offsets and lengths are multiples of
/// program_bytes; at most programs_per_page_max program calls a page. On a
/// medium with ESK_MEDIUM_OVERWRITE erase is still called and may do nothing.
/// Parts of a page come in any order, and a buffer is at any address: a driver
/// whose DMA needs an aligned one copies. port/device_check checks a driver.
///
/// The driver promises EskerDB: a call that returns ESK_OK has taken effect
/// and survives a power cut once sync has returned ESK_OK; a call that fails
/// may have changed only the pages it was asked to change, and says why:
///
///     ESK_E_MEDIUM   the medium took the call and reports that the program or
///                    erase failed (a NAND's status bit, an eMMC's error bit)
///     ESK_E_CORRUPT  a read beyond ECC
///     ESK_E_IO       anything else: a time-out, a bus error, no power. What
///                    the medium did is not known
///
/// Only after ESK_E_MEDIUM is a block marked bad. After ESK_E_IO an erase is
/// tried once more, and a program's page is read back: if what was not yet
/// programmed of it looks erased it is tried again, else the next page is;
/// while it cannot be read, nothing is. No call tries a program more than four
/// times. A driver need not try again itself.
#ifndef ESKER_DEVICE_H
#define ESKER_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A page's number on the device, from 0.
typedef uint32_t esk_page_id;

/// The page number that no device has.
#define ESK_PAGE_NONE UINT32_MAX

enum esk_medium_flags {
    /// Pages may be programmed again without an erase (SD, eMMC, a file).
    ESK_MEDIUM_OVERWRITE = 1u << 0,
};

/// The shape of a medium. Stored in the superblock and checked at mount.
struct esk_geometry {
    uint32_t block_count;   ///< blocks, 4 .. 2^32 / block_pages
    uint16_t block_pages;   ///< pages a block, 1 .. 4096
    uint16_t page_bytes;    ///< bytes a page, 128 .. 16384, a multiple of 8
    uint16_t spare_bytes;   ///< spare area a page; EskerDB does not use it
    uint16_t program_bytes; ///< program unit; 1 .. page_bytes, divides it
    uint8_t programs_per_page_max; ///< between erases; 0 means no limit
    uint8_t erased_value;          ///< 0xFF on flash, 0x00 on some media
    uint8_t flags;                 ///< esk_medium_flags
};

struct esk_device;

/// What a driver fills in. Every call may block; none is re-entered.
struct esk_device_ops {
    /// Copies `bytes` bytes at `offset` of `page` into `buffer`.
    /// Returns ESK_OK; ESK_E_IO; ESK_E_CORRUPT when ECC cannot correct.
    int (*read)(const struct esk_device *device, esk_page_id page,
                uint16_t offset, void *buffer, uint16_t bytes);
    /// Programs `bytes` bytes at `offset` of `page`.
    /// Returns ESK_OK; ESK_E_MEDIUM; ESK_E_IO; ESK_E_READ_ONLY when a
    /// pin or a bit protects the medium, which is taken as ESK_E_IO is.
    int (*program)(const struct esk_device *device, esk_page_id page,
                   uint16_t offset, const void *buffer, uint16_t bytes);
    /// Erases `block`: every byte reads as erased_value.
    /// Returns as program.
    int (*erase)(const struct esk_device *device, uint32_t block);
    /// Makes every completed program and erase survive a power cut. Until
    /// then a medium with ESK_MEDIUM_OVERWRITE may lose any of them; one
    /// without takes them in order.
    int (*sync)(const struct esk_device *device);
    /// Sets `bad` when `block` is marked bad. NULL: no block ever is.
    int (*block_is_bad)(const struct esk_device *device, uint32_t block,
                        bool *bad);
    /// Marks `block` bad for good. What is live on its pages is read from
    /// there on, so a driver programs the mark where no page's bytes are: in
    /// the spare area. NULL: the medium keeps no marks.
    int (*block_mark_bad)(const struct esk_device *device, uint32_t block);
};

/// A device: const to EskerDB; what changes lives behind `context`.
/// The caller owns it and keeps it alive while a volume is mounted on it.
struct esk_device {
    const struct esk_device_ops *ops;
    void *context;
    struct esk_geometry geometry;
};

/// Checks that `geometry` is one EskerDB can use.
/// Returns ESK_OK; ESK_E_GEOMETRY.
int esk_geometry_check(const struct esk_geometry *geometry);

#ifdef __cplusplus
}
#endif

#endif
