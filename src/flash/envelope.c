// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/envelope.h"

#include "base/crc.h"
#include "base/inline.h"
#include "base/scale.h"
#include "esker/assert.h"
#include "esker/volume.h"

/// The checksum's start and `count` bytes from a closing part's count on.
static ESK_APART uint32_t sum_begin(const struct esk_envelope *envelope,
                                    const uint8_t *closing, uint16_t count) {
    uint32_t sum = esk_envelope_checksum(envelope) == ESK_CHECKSUM_CRC16
                       ? envelope->seed ^ (envelope->seed >> 16)
                       : envelope->seed;
    return esk_envelope_sum_add(envelope, ~sum, closing + ESK_ENVELOPE_COUNT,
                                count);
}

uint32_t esk_envelope_sum_begin(const struct esk_envelope *envelope,
                                const uint8_t *closing) {
    return sum_begin(envelope, closing,
                     ESK_ENVELOPE_OPENING - ESK_ENVELOPE_COUNT);
}

uint32_t esk_envelope_sum_add(const struct esk_envelope *envelope, uint32_t sum,
                              const uint8_t *bytes, uint16_t count) {
    if (esk_envelope_checksum(envelope) == ESK_CHECKSUM_CRC32C) {
        return esk_crc32c(sum, bytes, count);
    }
    if (esk_envelope_checksum(envelope) == ESK_CHECKSUM_CRC16) {
        return esk_crc16((uint16_t)sum, bytes, count);
    }
    return sum;
}

ESK_APART uint32_t esk_envelope_sum_end(const struct esk_envelope *envelope,
                                        uint32_t sum) {
    return esk_envelope_checksum(envelope) == ESK_CHECKSUM_CRC16
               ? (uint16_t)sum | ((uint32_t)(uint16_t)~sum << 16)
               : ~sum;
}

/// The checksum of a whole page.
static uint32_t whole_sum(const struct esk_envelope *envelope,
                          const uint8_t *page) {
    uint16_t bytes =
        (uint16_t)(esk_envelope_page_bytes(envelope) - ESK_ENVELOPE_COUNT);
    return esk_envelope_sum_end(envelope, sum_begin(envelope, page, bytes));
}

/// The checksum of a closing part (its bytes 4..7) and `bytes` bytes of the
/// page from the opening part on.
static uint32_t page_sum(const struct esk_envelope *envelope,
                         const uint8_t *closing, const uint8_t *page,
                         uint16_t bytes) {
    uint32_t sum = esk_envelope_sum_begin(envelope, closing);
    sum =
        esk_envelope_sum_add(envelope, sum, page + ESK_ENVELOPE_OPENING, bytes);
    return esk_envelope_sum_end(envelope, sum);
}

/// Writes all of a closing part but the checksum.
static void closing_write(const struct esk_envelope *envelope, uint8_t kind,
                          uint8_t *closing, uint16_t count) {
    esk_store_u16(closing + ESK_ENVELOPE_COUNT, count);
    closing[ESK_ENVELOPE_KIND] = kind;
    closing[ESK_ENVELOPE_TABLE] = envelope->table;
}

static ESK_APART bool closing_names(const struct esk_envelope *envelope,
                                    const uint8_t *closing) {
    return esk_envelope_names(envelope, closing);
}

const struct esk_break *esk_envelope_break(const struct esk_envelope *envelope,
                                           uint32_t position) {
    const struct esk_breaks *breaks = ESK_SHAPED_BREAKS(envelope->breaks);
    return breaks == NULL ? NULL : breaks->behind(breaks, position);
}

uint16_t esk_envelope_unit(const struct esk_envelope *envelope,
                           const uint8_t *page) {
    const struct esk_break *behind =
        esk_envelope_break(envelope, esk_page_sequence(page));
    return behind != NULL && envelope->unit != 1 ? behind->unit
                                                 : envelope->unit;
}

/// How many whole elements of `unit` bytes fit before `seals` seals. A page is
/// a multiple of a seal.
static uint16_t elements_max(const struct esk_envelope *envelope, uint16_t unit,
                             uint8_t seals) {
    uint16_t used =
        (uint16_t)(ESK_ENVELOPE_BYTES + (uint16_t)seals * ESK_SEAL_BYTES);
    return (uint16_t)((unsigned)(esk_envelope_page_bytes(envelope) - used) /
                      unit);
}

void esk_envelope_open(uint8_t *page, uint32_t sequence, uint32_t aux) {
    esk_store_u32(page + ESK_ENVELOPE_SEQUENCE, sequence);
    esk_store_u32(page + ESK_ENVELOPE_AUX, aux);
}

void esk_envelope_close_as(const struct esk_envelope *envelope, uint8_t kind,
                           uint8_t *page, uint16_t count) {
    closing_write(envelope, kind, page, count);
    esk_store_u32(page + ESK_ENVELOPE_CHECKSUM, whole_sum(envelope, page));
}

uint16_t esk_envelope_seal(const struct esk_envelope *envelope, uint8_t *page,
                           uint8_t number, uint16_t count) {
    ESK_ASSERT(number > 0 &&
               count <= elements_max(envelope, envelope->unit, number));
    uint16_t offset = (uint16_t)(esk_envelope_page_bytes(envelope) -
                                 (uint16_t)number * ESK_SEAL_BYTES);
    uint16_t unit = ESK_SHAPED_RING((uint16_t)ESK_SHAPE_UNIT, envelope->unit);
    uint16_t bytes = (uint16_t)(ESK_ENVELOPE_BYTES - ESK_ENVELOPE_OPENING +
                                (uint16_t)(count * unit));
    uint8_t *seal = page + offset;
    closing_write(envelope, envelope->kind, seal, count);
    esk_store_u32(seal + ESK_ENVELOPE_CHECKSUM,
                  page_sum(envelope, seal, page, bytes));
    return offset;
}

/// An erased slot ends the list: seals are written without gaps. So does a slot
/// where elements begin.
uint16_t esk_envelope_check_seals(const struct esk_envelope *envelope,
                                  uint8_t *page) {
    uint16_t unit = ESK_SHAPED_RING((uint16_t)ESK_SHAPE_UNIT,
                                    esk_envelope_unit(envelope, page));
    uint8_t erased = esk_envelope_erased(envelope);
    uint16_t at = esk_envelope_page_bytes(envelope);
    uint16_t best = 0;
    bool newest = false;
    while (true) {
        at = (uint16_t)(at - ESK_SEAL_BYTES);
        uint16_t most =
            esk_quotient_short((uint16_t)(at - ESK_ENVELOPE_BYTES), unit);
        const uint8_t *seal = page + at;
        if (most == 0 || most < best ||
            esk_bytes_are(seal, ESK_SEAL_BYTES, erased)) {
            break;
        }
        uint16_t count = esk_load_u16(seal + ESK_ENVELOPE_COUNT);
        newest = false;
        if (count > best && count <= most && closing_names(envelope, seal)) {
            uint16_t bytes =
                (uint16_t)(ESK_ENVELOPE_BYTES - ESK_ENVELOPE_OPENING +
                           (uint16_t)(count * unit));
            if (esk_load_u32(seal + ESK_ENVELOPE_CHECKSUM) ==
                page_sum(envelope, seal, page, bytes)) {
                best = count;
                newest = true;
            }
        }
    }
    if (best == 0) {
        return 0;
    }
    bool all = newest && esk_bytes_are(page, ESK_ENVELOPE_OPENING, erased);
    closing_write(envelope, envelope->kind, page, best);
    return all ? (uint16_t)ESK_PROVEN_ALL : best;
}

const struct esk_seals esk_seals_at_end = {
    .prove = esk_envelope_check_seals,
    .write_at_end = esk_envelope_seal,
};

/// Whether the elements of a closed page, by its count, fit into the page.
static bool elements_fit(const struct esk_envelope *envelope,
                         const uint8_t *page) {
    uint16_t room =
        (uint16_t)(esk_envelope_page_bytes(envelope) - ESK_ENVELOPE_BYTES);
    uint16_t count = esk_page_count(page);
    if (envelope->unit == 1) {
        return count <= room;
    }
    uint16_t unit = ESK_SHAPED_RING((uint16_t)ESK_SHAPE_UNIT,
                                    ESK_SHAPED_BREAKS(envelope->breaks) == NULL
                                        ? envelope->unit
                                        : esk_envelope_unit(envelope, page));
    return (uint32_t)count * unit <= room;
}

/// Whether a page's checksum is right by one look, or skipped.
static bool needs_no_sum(const struct esk_envelope *envelope,
                         const uint8_t *page, bool trust) {
    return trust ||
           (esk_envelope_checksum(envelope) == ESK_CHECKSUM_NONE &&
            esk_load_u32(page + ESK_ENVELOPE_CHECKSUM) == envelope->seed);
}

static bool sum_is_right(const struct esk_envelope *envelope,
                         const uint8_t *page) {
    return esk_load_u32(page + ESK_ENVELOPE_CHECKSUM) ==
           whole_sum(envelope, page);
}

ESK_OUT_OF_LINE_WHERE_FAST ESK_HOST_FLAT bool
esk_envelope_holds(const struct esk_envelope *envelope, const uint8_t *page,
                   bool trust) {
    return elements_fit(envelope, page) &&
           (needs_no_sum(envelope, page, trust) ||
            sum_is_right(envelope, page));
}

/// Finds the newest valid seal. Returns as esk_envelope_check.
static ESK_OUT_OF_LINE uint16_t seals_prove(const struct esk_envelope *envelope,
                                            uint8_t *page) {
    const struct esk_seals *seals = esk_seals_of(envelope);
    return seals != NULL ? seals->prove(envelope, page) : 0;
}

/// esk_envelope_check, by checksum, of a page with the right kind and table.
static uint16_t sum_prove(const struct esk_envelope *envelope, uint8_t *page) {
    return sum_is_right(envelope, page) ? (uint16_t)ESK_PROVEN_ALL
                                        : seals_prove(envelope, page);
}

uint16_t esk_envelope_check(const struct esk_envelope *envelope, uint8_t *page,
                            bool trust) {
    if (!closing_names(envelope, page) || !elements_fit(envelope, page)) {
        return seals_prove(envelope, page);
    }
    return needs_no_sum(envelope, page, trust) ? (uint16_t)ESK_PROVEN_ALL
                                               : sum_prove(envelope, page);
}
