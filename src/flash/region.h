// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The region: a run of blocks with one owner, and the only code that calls a
/// device's read, program, erase and sync.
///
/// Rules that stand only here
///  1. A valid page is conclusive. Anything else may be a transient read
///     error: the page is read again until two reads agree.
///  2. A failed transfer is repeated once. After that the status is ESK_E_IO,
///     never "damaged" or "erased".
///  3. ESK_E_MEDIUM from a program or an erase marks the block bad, unless the
///     owner overwrites pages in place.
///  4. On a medium that caches writes (ESK_MEDIUM_OVERWRITE) a barrier makes
///     durable what was programmed before it.
///  5. After a commit that may have taken effect or not, nothing is changed
///     before this is known: ESK_E_IO.
///  6. With ESK_MOUNT_READ_BACK a program that reads back as other bytes has
///     failed: ESK_E_MEDIUM.
#ifndef ESK_FLASH_REGION_H
#define ESK_FLASH_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/inline.h"
#include "base/shape.h"
#include "esker/volume.h"
#include "flash/envelope.h"

/// A sequence number that no page has: esk_region_read accepts any.
#define ESK_SEQUENCE_ANY UINT32_MAX

/// Counts for the regions of one table since it was opened.
struct esk_region_stats {
    uint32_t reads;   ///< whole pages
    uint32_t headers; ///< reads of ESK_ENVELOPE_BYTES bytes
    uint32_t programs;
    uint32_t erases;
    uint32_t damaged; ///< reads of a ring that ended in ESK_E_CORRUPT
    uint16_t partial; ///< valid pages with invalid bytes after what is
                      ///< covered: calls compare it before and after a read
    uint32_t program_failures;
    uint32_t erase_failures;
    uint32_t blocks_skipped;
};

struct esk_region {
    struct esk_volume *volume;      ///< its device, flags and checksum
    struct esk_region_stats *stats; ///< shared by the regions of a table
    struct esk_envelope envelope;   ///< what its pages must have
    uint32_t first_page;            ///< on the device
    uint32_t pages;                 ///< a multiple of the pages of a block
    bool in_place; ///< pages are overwritten; no block is abandoned
};

/// What the first bytes of a page look like, before it is verified.
enum esk_header {
    ESK_HEADER_BLANK, ///< all erased
    ESK_HEADER_OTHER, ///< not blank, and not a page of this region
    ESK_HEADER_PAGE,  ///< a page of this region, complete or begun, if valid
};

static inline const struct esk_geometry *
esk_region_geometry(const struct esk_region *region) {
    return esk_volume_geometry(region->volume);
}

/// Whether the `blocks` blocks from `block` on are on the device, and at least
/// `least`: what a catalog says is checked before it is used.
static inline bool esk_region_fits(const struct esk_geometry *geometry,
                                   uint32_t block, uint32_t blocks,
                                   uint32_t least) {
    return blocks >= least && block < geometry->block_count &&
           blocks <= geometry->block_count - block;
}

/// Whether the medium may cache and reorder writes, and pages are overwritten.
static inline bool esk_region_overwrites(const struct esk_region *region) {
    return (esk_region_geometry(region)->flags & ESK_MEDIUM_OVERWRITE) != 0;
}

/// Reads page `page` of the device, again if it is not valid.
///
/// sequence  the number that the page must have; ESK_SEQUENCE_ANY: any.
/// verify    false: the checksum of a page that looks complete is not
///           computed.
/// Returns   ESK_OK, valid; ESK_NOT_FOUND, erased; ESK_E_CORRUPT, neither;
///           ESK_E_IO.
/// Costs     1 read of a valid page; else 2, or 3 when the first two differ.
int esk_region_read(const struct esk_region *region, esk_address page,
                    uint32_t sequence, uint8_t *buffer, bool verify);

/// Goes on with esk_region_read after one transfer, which ended with `status`.
int esk_region_read_on(const struct esk_region *region, esk_address page,
                       uint32_t sequence, uint8_t *buffer, bool verify,
                       int status);

/* Pages that are read often: mostly the first read is valid. So a fast build
   makes that first, with few values that live on, and the rest out of line. */

/// esk_region_read. status: of esk_region_read_once; ESK_AGAIN: not called.
static inline int esk_region_read_from(const struct esk_region *region,
                                       esk_address page, uint32_t sequence,
                                       uint8_t *buffer, bool verify,
                                       int status) {
    return ESK_FAST && status != ESK_AGAIN
               ? esk_region_read_on(region, page, sequence, buffer, verify,
                                    status)
               : esk_region_read(region, page, sequence, buffer, verify);
}

/// A transfer of page `page`. Returns the device's status.
static inline int esk_region_read_once(const struct esk_region *region,
                                       esk_address page, uint8_t *buffer) {
    const struct esk_device *device = esk_volume_device(region->volume);
    esk_count(&region->stats->reads);
    return device->ops->read(device, page, 0, buffer,
                             esk_envelope_page_bytes(&region->envelope));
}

/// Whether the bytes that were read are valid: arguments of esk_region_read.
static inline bool esk_region_is_valid(const struct esk_region *region,
                                       uint32_t sequence, const uint8_t *buffer,
                                       bool verify) {
    return esk_page_sequence(buffer) == sequence &&
           esk_envelope_is_whole(&region->envelope, buffer, !verify);
}

/// Reads `bytes` bytes at `offset` of page `page`. Repeats a failed transfer
/// once. Verifies nothing: the bytes are only a guide.
/// Returns   ESK_OK; ESK_E_CORRUPT, bytes beyond ECC; ESK_E_IO.
int esk_region_peek(const struct esk_region *region, esk_address page,
                    uint16_t offset, uint8_t *buffer, uint16_t bytes);

/// What the first ESK_ENVELOPE_BYTES bytes of a page look like.
enum esk_header esk_region_header_of(const struct esk_region *region,
                                     const uint8_t *bytes);

/// Reads the first ESK_ENVELOPE_BYTES bytes of page `page` into `bytes`.
/// Returns an enum esk_header; ESK_E_IO. Bytes beyond ECC are ESK_HEADER_OTHER.
int esk_region_look(const struct esk_region *region, esk_address page,
                    uint8_t *bytes);

/// Reads the first bytes of page `page`.
///
/// sequence  out: the page's number, if ESK_HEADER_PAGE.
/// header    out.
/// Returns   ESK_OK; ESK_E_IO. Bytes beyond ECC are ESK_HEADER_OTHER.
/// Costs     1 read of ESK_ENVELOPE_BYTES bytes.
int esk_region_header(const struct esk_region *region, esk_address page,
                      enum esk_header *header, uint32_t *sequence);

/// Whether page `page` is complete and valid. Needs a buffer of a few bytes.
/// Returns ESK_OK; ESK_E_CORRUPT when it is not; ESK_E_IO.
/// Costs   1 read of the page, in pieces.
int esk_region_prove(const struct esk_region *region, esk_address page);

/// Whether bytes [from, to) of page `page` read as erased.
/// Returns ESK_OK; ESK_NOT_FOUND when they do not; ESK_E_IO.
int esk_region_is_erased(const struct esk_region *region, esk_address page,
                         uint16_t from, uint16_t to);

/// Programs bytes [from, to) of `bytes`, a whole page, on page `page`.
/// Returns ESK_OK; ESK_E_MEDIUM, the block is marked; ESK_E_IO, the state of
/// the medium is unknown; ESK_E_READ_ONLY.
/// Costs   1 program; with ESK_MOUNT_READ_BACK a read of them, in pieces.
int esk_region_program(const struct esk_region *region, esk_address page,
                       const uint8_t *bytes, uint16_t from, uint16_t to);

/// Erases block `block` of the device. As esk_region_program.
int esk_region_erase(const struct esk_region *region, esk_address block);

/// Whether block `block` of the device is marked bad. A mark that cannot be
/// read is no mark: the next erase decides.
bool esk_volume_block_is_bad(const struct esk_volume *volume, uint32_t block);

/// Makes every completed program and erase of the volume durable.
/// Returns ESK_OK; ESK_E_IO.
int esk_region_sync(const struct esk_region *region);

/// Makes sure that what is programmed from now on is not durable before what
/// was programmed earlier. A medium that programs in order needs nothing.
/// Returns ESK_OK; ESK_E_IO.
int esk_region_barrier(const struct esk_region *region);

#endif
