// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The envelope: what makes a page valid.
///
///     0            8            16                        page_bytes
///     | closing    | opening    | elements ... free ... seals |
///
/// A page is closed once, when it is complete. Where the medium programs parts
/// of a page, a sync before that writes a *seal* at the end of the page: a
/// closing part that covers the elements so far. Seals grow downwards. The
/// newest valid seal counts, but only if the page's own closing part is not
/// valid.
///
/// Invariants
///  1. No byte of a page is used unless the closing part or a seal is valid
///     and covers it: checksum, kind, table.
///  2. The checksum starts from the table's seed, so pages of another volume,
///     or of a table that was dropped from these blocks, are not valid.
#ifndef ESK_FLASH_ENVELOPE_H
#define ESK_FLASH_ENVELOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/shape.h"
#include "esker/device.h"
#include "flash/envelope_format.h"

/// Most breaks of a log.
enum { ESK_BREAKS_MAX = 4 };

/// No page's kind: an envelope with it accepts pages of any kind.
enum { ESK_KIND_ANY = 0 };

/// A place where the log was broken off and continued in the next block,
/// because newest elements were dropped, or later ones are wider.
struct esk_break {
    uint32_t end;   ///< no position from here on ...
    uint32_t start; ///< ... up to here has a page
    uint16_t count; ///< most elements of the page before `end`
    uint16_t unit;  ///< bytes of an element before `end`
};

/// All breaks of a log.
struct esk_breaks {
    /// The first break after `position`; NULL: none. A program without breaks
    /// does not link it.
    const struct esk_break *(*behind)(const struct esk_breaks *breaks,
                                      uint32_t position);
    /// Reduces the count of the page at `position`, the last before a break.
    void (*shorten)(const struct esk_breaks *breaks, uint32_t position,
                    uint8_t *page);
    uint8_t count;
    struct esk_break at[ESK_BREAKS_MAX]; ///< the oldest first
};

struct esk_envelope;

/// What seals the pages of a table. A program without such pages does not link
/// it.
struct esk_seals {
    /// As esk_envelope_check, of a page whose closing part is not valid.
    uint16_t (*prove)(const struct esk_envelope *envelope, uint8_t *page);
    /// Writes the seal that is the last of the first `count` elements, right
    /// behind those that it covers.
    void (*write)(const struct esk_envelope *envelope, uint8_t *page,
                  uint16_t count);
    /// NULL; or else: esk_envelope_seal.
    uint16_t (*write_at_end)(const struct esk_envelope *envelope, uint8_t *page,
                             uint8_t number, uint16_t count);
    /// Bytes behind the last element are zeros in a page without a seal.
    bool ends_in_zeros;
};

extern const struct esk_seals esk_seals_running; ///< running.c
extern const struct esk_seals esk_seals_at_end;

/// What a valid page must have, and its layout.
struct esk_envelope {
    const struct esk_breaks *breaks; ///< of the log; NULL: none
    const struct esk_seals *seals;   ///< NULL: pages have none
    uint32_t seed;                   ///< start value of the checksum
    uint16_t page_bytes;
    uint16_t unit;    ///< bytes an element, for seals
    uint8_t checksum; ///< enum esk_checksum
    uint8_t kind;     ///< enum esk_page_kind
    uint8_t table;
    uint8_t erased_value;
};

/// The first break after `position`; NULL: none.
const struct esk_break *esk_envelope_break(const struct esk_envelope *envelope,
                                           uint32_t position);

/// Bytes of an element of `page`, by its sequence number.
uint16_t esk_envelope_unit(const struct esk_envelope *envelope,
                           const uint8_t *page);

/// What seals its pages; NULL: they have no seals.
static inline const struct esk_seals *
esk_seals_of(const struct esk_envelope *envelope) {
    return ESK_SHAPED_MEDIUM(ESK_SHAPE_SEALS(envelope->seals), envelope->seals);
}

static inline uint16_t
esk_envelope_page_bytes(const struct esk_envelope *envelope) {
    return ESK_SHAPED_MEDIUM(esk_shape_geometry.page_bytes,
                             envelope->page_bytes);
}

static inline uint8_t esk_envelope_erased(const struct esk_envelope *envelope) {
    return ESK_SHAPED_MEDIUM(esk_shape_geometry.erased_value,
                             envelope->erased_value);
}

static inline uint8_t
esk_envelope_checksum(const struct esk_envelope *envelope) {
    /* A volume's superblocks always have CRC-32C. */
    return ESK_SHAPED(ESK_SHAPE_CHECKSUM == ESK_CHECKSUM_CRC32C
                          ? ESK_CHECKSUM_CRC32C
                          : envelope->checksum,
                      envelope->checksum);
}

static inline uint16_t esk_page_count(const uint8_t *page) {
    return esk_load_u16(page + ESK_ENVELOPE_COUNT);
}

static inline uint32_t esk_page_sequence(const uint8_t *page) {
    return esk_load_u32(page + ESK_ENVELOPE_SEQUENCE);
}

static inline uint32_t esk_page_aux(const uint8_t *page) {
    return esk_load_u32(page + ESK_ENVELOPE_AUX);
}

/// Whether pages of elements of `unit` bytes can be sealed as often as they
/// have room for seals.
static inline bool esk_envelope_seals(const struct esk_geometry *geometry,
                                      uint16_t unit) {
    unsigned bytes = geometry->program_bytes;
    return geometry->programs_per_page_max == 0 && bytes <= ESK_SEAL_BYTES &&
           ESK_SEAL_BYTES % bytes == 0 && unit % bytes == 0;
}

/// Writes the opening part.
void esk_envelope_open(uint8_t *page, uint32_t sequence, uint32_t aux);

/// Writes the closing part of a page of `kind` over the whole page.
void esk_envelope_close_as(const struct esk_envelope *envelope, uint8_t kind,
                           uint8_t *page, uint16_t count);

/// The same for a page of the envelope's kind.
static inline void esk_envelope_close(const struct esk_envelope *envelope,
                                      uint8_t *page, uint16_t count) {
    esk_envelope_close_as(envelope, envelope->kind, page, count);
}

/// Writes seal number `number` (from 1) at the end of the page: it covers the
/// opening part and the first `count` elements.
/// Returns the seal's offset in the page.
uint16_t esk_envelope_seal(const struct esk_envelope *envelope, uint8_t *page,
                           uint8_t number, uint16_t count);

/// The checksum of a page in pieces: begin with its closing part, add the bytes
/// from the opening part on, end.
uint32_t esk_envelope_sum_begin(const struct esk_envelope *envelope,
                                const uint8_t *closing);
uint32_t esk_envelope_sum_add(const struct esk_envelope *envelope, uint32_t sum,
                              const uint8_t *bytes, uint16_t count);
uint32_t esk_envelope_sum_end(const struct esk_envelope *envelope,
                              uint32_t sum);

/// As esk_envelope_check, for a page without a valid closing part, whose seals
/// are at its end.
uint16_t esk_envelope_check_seals(const struct esk_envelope *envelope,
                                  uint8_t *page);

enum {
    ESK_PROVEN_ALL = UINT16_MAX, ///< the whole page
};

/// Whether a closing part is of this kind and table.
static inline bool esk_envelope_names(const struct esk_envelope *envelope,
                                      const uint8_t *closing) {
    return (closing[ESK_ENVELOPE_KIND] == envelope->kind ||
            envelope->kind == ESK_KIND_ANY) &&
           closing[ESK_ENVELOPE_TABLE] == envelope->table;
}

/// Whether the count of a page that has the right kind and table fits, and its
/// checksum is right. `trust` skips the checksum.
bool esk_envelope_holds(const struct esk_envelope *envelope,
                        const uint8_t *page, bool trust);

/// Whether `page` is closed and valid, without its seals. For fast builds: a
/// page of a tree without a checksum takes no call.
static inline bool esk_envelope_is_whole(const struct esk_envelope *envelope,
                                         const uint8_t *page, bool trust) {
    if (!esk_envelope_names(envelope, page)) {
        return false;
    }
    if (envelope->unit == 1 &&
        esk_page_count(page) <=
            esk_envelope_page_bytes(envelope) - ESK_ENVELOPE_BYTES &&
        esk_envelope_checksum(envelope) == ESK_CHECKSUM_NONE &&
        esk_load_u32(page + ESK_ENVELOPE_CHECKSUM) == envelope->seed) {
        return true;
    }
    return esk_envelope_holds(envelope, page, trust);
}

/// Finds out how much of `page` is valid. If any is, the page's count, kind and
/// table fields are set to what is covered, also for a seal. `trust` skips the
/// checksum of pages that look closed.
/// Returns  0: nothing is valid; ESK_PROVEN_ALL; or the count of a seal when a
///          later seal or the closing part is there but invalid: torn, or read
///          wrong.
uint16_t esk_envelope_check(const struct esk_envelope *envelope, uint8_t *page,
                            bool trust);

#endif
