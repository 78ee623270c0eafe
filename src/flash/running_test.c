// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Running seals: what a page proves after programs, cuts and damage.
#include "flash/envelope.h"

#include "esker/volume.h"
#include "test/harness/esk_test.h"

enum { PAGE = 128, FIRST = 20, SECOND = 50, END = 100 };

static struct esk_envelope envelope;

static void start(uint8_t checksum) {
    envelope = (struct esk_envelope){.seals = &esk_seals_running,
                                     .seed = 0x5EED,
                                     .page_bytes = PAGE,
                                     .unit = 1,
                                     .checksum = checksum,
                                     .kind = ESK_PAGE_LOG,
                                     .table = 3,
                                     .erased_value = 0xFF};
}

/// A page with bytes up to `END`, seals after FIRST and SECOND bytes; closed or
/// not.
static void page_make(uint8_t *page, bool closed) {
    memset(page, 0xFF, PAGE);
    esk_envelope_open(page, 77, 0x1234);
    for (unsigned i = 0; i < END; i++) {
        page[ESK_ENVELOPE_BYTES + i] = (uint8_t)(i * 7 + 1);
    }
    envelope.seals->write(&envelope, page, FIRST + ESK_SEAL_BYTES);
    envelope.seals->write(&envelope, page, SECOND + ESK_SEAL_BYTES);
    if (closed) {
        esk_envelope_close(&envelope, page, END);
    } else {
        memset(page + ESK_ENVELOPE_BYTES + SECOND + ESK_SEAL_BYTES, 0xFF,
               PAGE - ESK_ENVELOPE_BYTES - SECOND - ESK_SEAL_BYTES);
    }
}

static uint16_t prove(const uint8_t *page, uint16_t *count) {
    uint8_t copy[PAGE];
    memcpy(copy, page, PAGE);
    uint16_t proven = esk_envelope_check(&envelope, copy, false);
    *count = esk_page_count(copy);
    return proven;
}

ESK_TEST(the_newest_seal_says_how_much_of_a_page_is_valid) {
    static const uint8_t checksums[] = {ESK_CHECKSUM_CRC32C,
                                        ESK_CHECKSUM_CRC16};
    for (unsigned i = 0; i < 2; i++) {
        uint8_t page[PAGE];
        uint16_t count = 0;
        start(checksums[i]);
        page_make(page, false);
        ESK_CHECK_INT(prove(page, &count), ESK_PROVEN_ALL);
        ESK_CHECK_INT(count, SECOND + ESK_SEAL_BYTES);
        page[PAGE - 1] = 0; /* a program was begun after it */
        ESK_CHECK_INT(prove(page, &count), SECOND + ESK_SEAL_BYTES);
        page_make(page, true);
        ESK_CHECK_INT(prove(page, &count), ESK_PROVEN_ALL);
        ESK_CHECK_INT(count, END);
    }
}

/// A CRC that runs over its own value forgets what was before: without care the
/// later seals and the closing part hold whatever these bytes are.
ESK_TEST(no_changed_bit_is_within_what_a_page_proves) {
    static const uint8_t checksums[] = {ESK_CHECKSUM_CRC32C,
                                        ESK_CHECKSUM_CRC16};
    for (unsigned run = 0; run < 4; run++) {
        uint8_t page[PAGE];
        start(checksums[run / 2]);
        page_make(page, run % 2 != 0);
        for (unsigned bit = 64; bit < PAGE * 8u; bit++) {
            uint16_t count = 0;
            ESK_CONTEXT("run %u, bit %u", run, bit);
            page[bit / 8] ^= (uint8_t)(1u << bit % 8);
            uint16_t proven = prove(page, &count);
            unsigned place = bit / 8 - ESK_ENVELOPE_BYTES;
            bool in_opening = bit / 8 < ESK_ENVELOPE_BYTES;
            ESK_CHECK(proven == 0 || (!in_opening && count <= place));
            page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
}

/// Where an erase leaves old bytes: a new page over the beginning of an old one
/// with seals at the same places.
ESK_TEST(seals_of_an_older_page_do_not_hold_in_a_new_one) {
    uint8_t page[PAGE];
    uint8_t old[PAGE];
    uint16_t count = 0;
    start(ESK_CHECKSUM_CRC32C);
    page_make(old, true);
    memcpy(page, old, PAGE);
    esk_envelope_open(page, 78, 0x4321);
    page[ESK_ENVELOPE_BYTES + 3] ^= 0x55;
    envelope.seals->write(&envelope, page, FIRST + ESK_SEAL_BYTES);
    ESK_CHECK_INT(prove(page, &count), FIRST + ESK_SEAL_BYTES);
    ESK_CHECK_INT(count, FIRST + ESK_SEAL_BYTES);
}

ESK_TEST_MAIN()
