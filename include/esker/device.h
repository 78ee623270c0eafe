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
/// Parts of a page come in any order. A buffer is at any address: a driver
/// whose DMA needs an aligned buffer copies it. port/device_check checks a
/// driver.
///
/// The driver promises EskerDB: a call that returns ESK_OK has taken effect,
/// and is durable when sync has returned ESK_OK. A call that fails may have
/// changed only the pages of that call, and returns why:
///
///     ESK_E_MEDIUM   the medium reports that the program or erase failed (a
///                    NAND's status bit, an eMMC's error bit)
///     ESK_E_CORRUPT  a read that ECC cannot correct
///     ESK_E_IO       anything else: a time-out, a bus error, no power. The
///                    state of the medium is unknown
///
/// EskerDB marks a block bad only after ESK_E_MEDIUM. After ESK_E_IO it repeats
/// an erase once, and reads a programmed page back: if the bytes of the program
/// look erased, it repeats the program, else it goes on at the next page. If
/// the page cannot be read, the call fails. A call tries a program at most 4
/// times. So a driver need not repeat.
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

/* The values that a program is compiled for: esker/shape.h. A program that
   includes the library's source includes this header itself: the compiler may
   not find it from the library's folder. */
#if defined(ESK_SHAPE) && !defined(ESK_SHAPE_GEOMETRY)
#include ESK_SHAPE
#endif

/* ESK_SHAPE_PAGES are those of the device: if they are few, an address takes
   two registers of an 8-bit chip instead of four. The sum of two has to fit. */
#ifndef ESK_ADDRESS_BITS
#if defined(ESK_SHAPE_PAGES) && SIZE_MAX == UINT16_MAX &&                      \
    ESK_SHAPE_PAGES <= INT16_MAX
#define ESK_ADDRESS_BITS 16
#else
#define ESK_ADDRESS_BITS 32
#endif
#endif

/// Where a page of a table is, in RAM: a page of the device or of the table's
/// region, or a position of its ring.
#if ESK_ADDRESS_BITS == 16
typedef uint16_t esk_address;
#define ESK_ADDRESS_NONE UINT16_MAX
#else
typedef uint32_t esk_address;
#define ESK_ADDRESS_NONE UINT32_MAX
#endif

/// What a page in RAM is told by: an address; in a program with a series' shape
/// a position of its only ring, which only rises.
#ifdef ESK_SHAPE_SERIES
typedef uint32_t esk_tag;
#define ESK_TAG_NONE UINT32_MAX
#else
typedef esk_address esk_tag;
#define ESK_TAG_NONE ESK_ADDRESS_NONE
#endif

enum {
    ESK_PAGE_BYTES_MIN = 128, ///< bytes of the smallest page
};

enum esk_medium_flags {
    /// A page may be programmed again without an erase (SD, eMMC, a file).
    ESK_MEDIUM_OVERWRITE = 1u << 0,
};

/// The shape of a medium. Stored in the superblock and checked at mount.
struct esk_geometry {
    uint32_t block_count;   ///< blocks, 3 .. 2^32 / block_pages
    uint16_t block_pages;   ///< pages a block, 1 .. 4096
    uint16_t page_bytes;    ///< bytes a page, 128 .. 16384, a multiple of 8
    uint16_t spare_bytes;   ///< spare area a page; EskerDB does not use it
    uint16_t program_bytes; ///< program unit; 1 .. page_bytes, divides it
    uint8_t programs_per_page_max; ///< between erases; 0 means no limit
    uint8_t erased_value;          ///< 0xFF on flash, 0x00 on some media
    uint8_t flags;                 ///< esk_medium_flags
};

struct esk_device;

/// The calls of a driver. Every call may block; none is re-entered.
struct esk_device_ops {
    /// Copies `bytes` bytes at `offset` of `page` into `buffer`.
    /// Returns ESK_OK; ESK_E_IO; ESK_E_CORRUPT when ECC cannot correct.
    int (*read)(const struct esk_device *device, esk_page_id page,
                uint16_t offset, void *buffer, uint16_t bytes);
    /// Programs `bytes` bytes at `offset` of `page`.
    /// Returns ESK_OK; ESK_E_MEDIUM; ESK_E_IO; ESK_E_READ_ONLY when a
    /// pin or a bit protects the medium: EskerDB treats it as ESK_E_IO.
    int (*program)(const struct esk_device *device, esk_page_id page,
                   uint16_t offset, const void *buffer, uint16_t bytes);
    /// Erases `block`: every byte reads as erased_value.
    /// Returns as program.
    int (*erase)(const struct esk_device *device, uint32_t block);
    /// Makes every completed program and erase durable. Before that a medium
    /// with ESK_MEDIUM_OVERWRITE may lose any of them at power loss; any other
    /// medium loses the last ones only.
    int (*sync)(const struct esk_device *device);
    /// Sets `bad` to whether `block` is marked bad. NULL: no block ever is.
    int (*block_is_bad)(const struct esk_device *device, uint32_t block,
                        bool *bad);
    /// Marks `block` bad for good. EskerDB still reads the live pages of the
    /// block, so the mark must be outside of them, in the spare area. NULL: the
    /// medium has no marks.
    int (*block_mark_bad)(const struct esk_device *device, uint32_t block);
};

/// A device: const to EskerDB; the driver's state is behind `context`.
/// The caller owns it and keeps it while a volume is mounted on it.
struct esk_device {
    const struct esk_device_ops *ops;
    void *context;
    struct esk_geometry geometry;
};

/// Checks that EskerDB can use `geometry`.
/// Returns ESK_OK; ESK_E_GEOMETRY.
int esk_geometry_check(const struct esk_geometry *geometry);

#ifdef __cplusplus
}
#endif

#endif
