// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Running seals: a seal right behind the bytes that it covers, so that both
/// are one program.
///
///     0            8          16
///     | closing    | opening  | bytes, seal, bytes, seal .. free |
///
/// A seal counts the bytes of the payload before it, earlier seals included. So
/// its count is its own offset, by which it is found from the page's end,
/// without knowing what the bytes mean.
#include "flash/envelope.h"

#define SPREAD UINT32_C(0x9E3779B1)

/// The checksum of a seal after `count` bytes of payload: over the seal's own
/// bytes and all before it, times a constant. A CRC that runs over a plain CRC
/// forgets what was before it: every later seal would then hold whatever these
/// bytes are.
static uint32_t seal_sum(const struct esk_envelope *envelope,
                         const uint8_t *page, uint16_t count) {
    uint16_t bytes =
        (uint16_t)(ESK_ENVELOPE_BYTES - ESK_ENVELOPE_OPENING + count);
    uint32_t sum =
        esk_envelope_sum_begin(envelope, page + ESK_ENVELOPE_BYTES + count);
    sum =
        esk_envelope_sum_add(envelope, sum, page + ESK_ENVELOPE_OPENING, bytes);
    return esk_envelope_sum_end(envelope, sum) * SPREAD;
}

/// Whether the seal after `count` bytes of payload is valid.
static bool seal_holds(const struct esk_envelope *envelope, const uint8_t *page,
                       uint16_t count) {
    const uint8_t *seal = page + ESK_ENVELOPE_BYTES + count;
    return esk_load_u16(seal + ESK_ENVELOPE_COUNT) == count &&
           seal[ESK_ENVELOPE_KIND] == envelope->kind &&
           seal[ESK_ENVELOPE_TABLE] == envelope->table &&
           esk_load_u32(seal + ESK_ENVELOPE_CHECKSUM) ==
               seal_sum(envelope, page, count);
}

static uint16_t running_prove(const struct esk_envelope *envelope,
                              uint8_t *page) {
    uint8_t erased = esk_envelope_erased(envelope);
    uint16_t count = (uint16_t)(esk_envelope_page_bytes(envelope) -
                                ESK_ENVELOPE_BYTES - ESK_SEAL_BYTES);
    while (count > 0 && !seal_holds(envelope, page, count)) {
        count--;
    }
    if (count == 0) {
        return 0;
    }
    uint16_t end = (uint16_t)(count + ESK_SEAL_BYTES);
    bool is_newest =
        esk_bytes_are(page, ESK_ENVELOPE_OPENING, erased) &&
        esk_bytes_are(page + ESK_ENVELOPE_BYTES + end,
                      (uint16_t)(esk_envelope_page_bytes(envelope) -
                                 ESK_ENVELOPE_BYTES - end),
                      erased);
    esk_store_u16(page + ESK_ENVELOPE_COUNT, end);
    page[ESK_ENVELOPE_KIND] = envelope->kind;
    page[ESK_ENVELOPE_TABLE] = envelope->table;
    return is_newest ? (uint16_t)ESK_PROVEN_ALL : end;
}

static void running_write(const struct esk_envelope *envelope, uint8_t *page,
                          uint16_t count) {
    uint16_t before = (uint16_t)(count - ESK_SEAL_BYTES);
    uint8_t *seal = page + ESK_ENVELOPE_BYTES + before;
    esk_store_u16(seal + ESK_ENVELOPE_COUNT, before);
    seal[ESK_ENVELOPE_KIND] = envelope->kind;
    seal[ESK_ENVELOPE_TABLE] = envelope->table;
    esk_store_u32(seal + ESK_ENVELOPE_CHECKSUM,
                  seal_sum(envelope, page, before));
}

const struct esk_seals esk_seals_running = {
    .prove = running_prove,
    .write = running_write,
};
