// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/region.h"

#include "base/counter.h"
#include "base/inline.h"
#include "esker/assert.h"

enum {
    LOOKS_MAX = 3, ///< reads of a page whose first two differ
    TRANSFERS = 2, ///< tries of a transfer
    PIECE_BYTES = 8,
};

static const struct esk_device *device_of(const struct esk_region *region) {
    return esk_volume_device(region->volume);
}

/// What a transfer's status says.
static inline int transfer_status(int status) {
    return status == ESK_OK || status == ESK_E_CORRUPT ? status : ESK_E_IO;
}

/// esk_region_peek, inlined.
static inline int peek(const struct esk_region *region, esk_address page,
                       uint16_t offset, uint8_t *buffer, uint16_t bytes) {
    const struct esk_device *device = device_of(region);
    int status = ESK_E_IO;
    for (uint8_t i = 0; i < TRANSFERS && status == ESK_E_IO; i++) {
        status = device->ops->read(device, page, offset, buffer, bytes);
    }
    return transfer_status(status);
}

int esk_region_peek(const struct esk_region *region, esk_address page,
                    uint16_t offset, uint8_t *buffer, uint16_t bytes) {
    return peek(region, page, offset, buffer, bytes);
}

/// The reads of a page so far.
struct looks {
    uint16_t proven; ///< by the last one
    uint8_t count;
    bool erased; ///< in every read
};

/// Whether a page has to be read again that is not valid as a whole.
/// status   of the read
static ESK_OUT_OF_LINE_WHERE_FAST bool
looks_again(const struct esk_region *region, const uint8_t *buffer,
            uint16_t proven, struct looks *looks, int status) {
    if (proven != 0 || status != ESK_OK ||
        !esk_bytes_are(buffer, esk_envelope_page_bytes(&region->envelope),
                       esk_envelope_erased(&region->envelope))) {
        looks->erased = false;
    }
    looks->count++;
    if (looks->count > 1 &&
        (looks->count == LOOKS_MAX || proven >= looks->proven)) {
        return false;
    }
    looks->proven = proven;
    return true;
}

/// Whether `page` has the number that it must have. Mostly it has: so an 8-bit
/// chip, which compares words by bytes, looks at the page first.
static inline bool has_sequence(const uint8_t *page, uint32_t sequence) {
    return (ESK_NO_SHORT_WAYS && sequence == ESK_SEQUENCE_ANY) ||
           esk_page_sequence(page) == sequence || sequence == ESK_SEQUENCE_ANY;
}

/// esk_region_read. is_read: the first read was made, and ended with `status`.
static ESK_IN_LINE int read_from(const struct esk_region *region,
                                 esk_address page, uint32_t sequence,
                                 uint8_t *buffer, bool verify, bool is_read,
                                 int status) {
    const struct esk_envelope *envelope = &region->envelope;
    uint16_t bytes = esk_envelope_page_bytes(envelope);
    struct looks looks = {0, 0, true};
    uint16_t proven;
    do {
        proven = 0;
        if (!is_read) {
            esk_count(&region->stats->reads);
            status = (ESK_SMALL ? esk_region_peek : peek)(region, page, 0,
                                                          buffer, bytes);
        }
        is_read = false;
        if (status == ESK_OK) {
            proven = esk_envelope_check(envelope, buffer, !verify);
        } else if (status == ESK_E_IO) {
            return status;
        }
        if (!has_sequence(buffer, sequence)) {
            proven = 0;
        } else if (proven == ESK_PROVEN_ALL) {
            return ESK_OK;
        }
    } while (looks_again(region, buffer, proven, &looks, status));
    if (proven != 0) {
        region->stats->partial++;
        return ESK_OK;
    }
    return looks.erased ? ESK_NOT_FOUND : ESK_E_CORRUPT;
}

int esk_region_read(const struct esk_region *region, esk_address page,
                    uint32_t sequence, uint8_t *buffer, bool verify) {
    return read_from(region, page, sequence, buffer, verify, false, ESK_OK);
}

ESK_OUT_OF_LINE_WHERE_FAST int
esk_region_read_on(const struct esk_region *region, esk_address page,
                   uint32_t sequence, uint8_t *buffer, bool verify,
                   int status) {
    if (status == ESK_E_IO) {
        const struct esk_device *device = device_of(region);
        status = device->ops->read(device, page, 0, buffer,
                                   esk_envelope_page_bytes(&region->envelope));
    }
    return read_from(region, page, sequence, buffer, verify, true,
                     transfer_status(status));
}

/// Bits of `byte` that differ both from the erased value and from `value`: 0
/// for a byte that was programmed with `value`, completely or until power loss.
static uint8_t odd_bits(uint8_t byte, uint8_t value, uint8_t erased) {
    return (uint8_t)((byte ^ value) & (byte ^ erased));
}

enum esk_header esk_region_header_of(const struct esk_region *region,
                                     const uint8_t *bytes) {
    const struct esk_envelope *envelope = &region->envelope;
    uint8_t erased = esk_envelope_erased(envelope);
    uint16_t odd = odd_bits(bytes[ESK_ENVELOPE_KIND], envelope->kind, erased);
    odd = (uint16_t)(odd << 8 | odd_bits(bytes[ESK_ENVELOPE_TABLE],
                                         envelope->table, erased));
    if (esk_bytes_are(bytes, ESK_ENVELOPE_BYTES, erased)) {
        return ESK_HEADER_BLANK;
    }
    /* One flipped bit hides no valid page. */
    return (odd & (odd - 1u)) == 0 ? ESK_HEADER_PAGE : ESK_HEADER_OTHER;
}

int esk_region_look(const struct esk_region *region, esk_address page,
                    uint8_t *bytes) {
    esk_count(&region->stats->headers);
    int status = esk_region_peek(region, page, 0, bytes, ESK_ENVELOPE_BYTES);
    if (status != ESK_OK) {
        return status == ESK_E_CORRUPT ? ESK_HEADER_OTHER : status;
    }
    return (int)esk_region_header_of(region, bytes);
}

int esk_region_header(const struct esk_region *region, esk_address page,
                      enum esk_header *header, uint32_t *sequence) {
    uint8_t bytes[ESK_ENVELOPE_BYTES];
    int looks = esk_region_look(region, page, bytes);
    *header = ESK_HEADER_OTHER;
    if (looks < 0) {
        return looks;
    }
    *header = (enum esk_header)looks;
    *sequence = esk_page_sequence(bytes);
    return ESK_OK;
}

ESK_APART int esk_region_prove(const struct esk_region *region,
                               esk_address page) {
    const struct esk_envelope *envelope = &region->envelope;
    uint8_t closing[ESK_ENVELOPE_OPENING];
    uint8_t piece[PIECE_BYTES];
    ESK_TRY(esk_region_peek(region, page, 0, closing, sizeof closing));
    uint32_t sum = esk_envelope_sum_begin(envelope, closing);
    /* A page is a multiple of a piece. */
    for (uint16_t at = sizeof closing; at < esk_envelope_page_bytes(envelope);
         at = (uint16_t)(at + sizeof piece)) {
        ESK_TRY(esk_region_peek(region, page, at, piece, sizeof piece));
        sum = esk_envelope_sum_add(envelope, sum, piece, sizeof piece);
    }
    return closing[ESK_ENVELOPE_KIND] == envelope->kind &&
                   closing[ESK_ENVELOPE_TABLE] == envelope->table &&
                   esk_load_u32(closing) == esk_envelope_sum_end(envelope, sum)
               ? ESK_OK
               : ESK_E_CORRUPT;
}

/// Whether bytes [from, to) of page `page` read as those of `wanted`, a whole
/// page; NULL: as erased. If not, they are read once more.
/// Returns ESK_OK; ESK_NOT_FOUND when both reads differ; ESK_E_IO.
static int bytes_hold(const struct esk_region *region, esk_address page,
                      const uint8_t *wanted, uint16_t from, uint16_t to) {
    uint8_t piece[PIECE_BYTES];
    uint8_t tries = TRANSFERS;
    while (from < to) {
        uint16_t bytes = (uint16_t)(to - from);
        bytes = bytes < sizeof piece ? bytes : (uint16_t)sizeof piece;
        int status = esk_region_peek(region, page, from, piece, bytes);
        bool same = wanted != NULL
                        ? esk_bytes_equal(piece, wanted + from, bytes)
                        : esk_bytes_are(piece, bytes,
                                        esk_envelope_erased(&region->envelope));
        if (status == ESK_OK && same) {
            from = (uint16_t)(from + bytes);
        } else if (status == ESK_E_IO || --tries == 0) {
            return status == ESK_E_IO ? ESK_E_IO : ESK_NOT_FOUND;
        }
    }
    return ESK_OK;
}

int esk_region_is_erased(const struct esk_region *region, esk_address page,
                         uint16_t from, uint16_t to) {
    return bytes_hold(region, page, NULL, from, to);
}

bool esk_volume_block_is_bad(const struct esk_volume *volume, uint32_t block) {
    const struct esk_device *device = esk_volume_device(volume);
    bool bad = false;
    return esk_volume_keeps_marks(volume) &&
           device->ops->block_is_bad(device, block, &bad) == ESK_OK && bad;
}

/// The status to return for a program or an erase in block `block` that ended
/// with `status`. Marks a failed block bad.
static int medium_status(const struct esk_region *region, esk_address block,
                         int status) {
    const struct esk_device *device = device_of(region);
    if (status == ESK_E_MEDIUM && !region->in_place &&
        esk_volume_keeps_marks(region->volume) &&
        device->ops->block_mark_bad != NULL) {
        (void)device->ops->block_mark_bad(device, block);
    }
    return status == ESK_OK || status == ESK_E_MEDIUM ? status : ESK_E_IO;
}

/// To be called before a change of the medium.
/// Returns ESK_OK; ESK_E_READ_ONLY; ESK_E_IO.
static int change_begin(const struct esk_region *region) {
    if ((esk_volume_flags(region->volume) & ESK_MOUNT_READ_ONLY) != 0) {
        return ESK_E_READ_ONLY;
    }
    if (esk_volume_notes_syncs()) {
        region->volume->is_synced = false;
    }
    return ESK_SHAPED(NULL, region->volume->resolve) != NULL
               ? region->volume->resolve(region->volume)
               : ESK_OK;
}

int esk_region_program(const struct esk_region *region, esk_address page,
                       const uint8_t *bytes, uint16_t from, uint16_t to) {
    const struct esk_device *device = device_of(region);
    ESK_ASSERT(page - region->first_page < region->pages);
    ESK_ASSERT(from < to && to <= esk_envelope_page_bytes(&region->envelope));
    ESK_TRY(change_begin(region));
    int status = device->ops->program(device, page, from, bytes + from,
                                      (uint16_t)(to - from));
    if (status == ESK_OK &&
        (esk_volume_flags(region->volume) & ESK_MOUNT_READ_BACK) != 0) {
        status = bytes_hold(region, page, bytes, from, to);
        status = status == ESK_NOT_FOUND ? ESK_E_MEDIUM : status;
    }
    if (status == ESK_OK) {
        return ESK_OK;
    }
    esk_count_change(&region->stats->program_failures);
    return medium_status(
        region, page / esk_region_geometry(region)->block_pages, status);
}

int esk_region_erase(const struct esk_region *region, esk_address block) {
    const struct esk_device *device = device_of(region);
    int status = ESK_E_IO;
    ESK_ASSERT((block * esk_region_geometry(region)->block_pages) -
                   region->first_page <
               region->pages);
    ESK_TRY(change_begin(region));
    for (uint8_t i = 0; i < TRANSFERS && status == ESK_E_IO; i++) {
        status =
            medium_status(region, block, device->ops->erase(device, block));
        if (status == ESK_OK) {
            esk_count(&region->stats->erases);
            break;
        }
        esk_count_change(&region->stats->erase_failures);
    }
    return status;
}

int esk_region_sync(const struct esk_region *region) {
    const struct esk_device *device = device_of(region);
    if (esk_volume_notes_syncs() && region->volume->is_synced) {
        return ESK_OK;
    }
    ESK_TRY(device->ops->sync(device));
    region->volume->is_synced = esk_volume_notes_syncs();
    return ESK_OK;
}

int esk_region_barrier(const struct esk_region *region) {
    return esk_region_overwrites(region) ? esk_region_sync(region) : ESK_OK;
}
