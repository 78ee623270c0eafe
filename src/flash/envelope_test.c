// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "flash/envelope.h"

#include "esker/volume.h"
#include "test/harness/esk_test.h"

enum { PAGE_BYTES = 128, UNIT = 6 };

static struct esk_envelope envelope_of(uint8_t checksum) {
    return (struct esk_envelope){
        .seed = 0xC0FFEE01u,
        .page_bytes = PAGE_BYTES,
        .unit = UNIT,
        .checksum = checksum,
        .kind = ESK_PAGE_DATA,
        .table = 3,
        .erased_value = 0xFF,
        .seals = &esk_seals_at_end,
    };
}

static void page_fill(uint8_t *page) {
    memset(page, 0xFF, PAGE_BYTES);
    for (uint8_t i = ESK_ENVELOPE_BYTES; i < 64; i++) {
        page[i] = i;
    }
    esk_envelope_open(page, 77, 88);
}

/// Checks a copy, because a check may write the count.
static bool proves(const struct esk_envelope *envelope, const uint8_t *page) {
    uint8_t copy[PAGE_BYTES];
    memcpy(copy, page, PAGE_BYTES);
    return esk_envelope_check(envelope, copy, false);
}

ESK_TEST(envelope_close_makes_a_page_valid_with_every_checksum) {
    for (uint8_t c = ESK_CHECKSUM_CRC32C; c <= ESK_CHECKSUM_NONE; c++) {
        struct esk_envelope envelope = envelope_of(c);
        uint8_t page[PAGE_BYTES];
        ESK_CONTEXT("checksum %u", c);
        page_fill(page);
        ESK_CHECK(!proves(&envelope, page));
        esk_envelope_close(&envelope, page, 8);
        ESK_CHECK(proves(&envelope, page));
        ESK_CHECK_INT(esk_page_count(page), 8);
        ESK_CHECK_INT(esk_page_sequence(page), 77);
        ESK_CHECK_INT(esk_page_aux(page), 88);
        ESK_CHECK_INT(page[ESK_ENVELOPE_KIND], ESK_PAGE_DATA);
        ESK_CHECK_INT(page[ESK_ENVELOPE_TABLE], 3);
    }
}

ESK_TEST(envelope_check_notices_every_flipped_bit) {
    static const uint8_t checksums[] = {ESK_CHECKSUM_CRC32C,
                                        ESK_CHECKSUM_CRC16};
    for (uint8_t c = 0; c < 2; c++) {
        struct esk_envelope envelope = envelope_of(checksums[c]);
        uint8_t page[PAGE_BYTES];
        page_fill(page);
        esk_envelope_close(&envelope, page, 8);
        for (uint16_t bit = 0; bit < PAGE_BYTES * 8; bit++) {
            ESK_CONTEXT("checksum %u, bit %u", checksums[c], bit);
            page[bit / 8] ^= (uint8_t)(1u << bit % 8);
            ESK_CHECK(!proves(&envelope, page));
            page[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        ESK_CHECK(proves(&envelope, page));
    }
}

ESK_TEST(envelope_without_a_checksum_still_checks_names_count_and_seed) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_NONE);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_close(&envelope, page, 8);
    for (uint8_t at = ESK_ENVELOPE_CHECKSUM; at < ESK_ENVELOPE_SEQUENCE; at++) {
        ESK_CONTEXT("byte %u", at);
        page[at] ^= 0x01;
        ESK_CHECK_INT(proves(&envelope, page), at == ESK_ENVELOPE_COUNT);
        page[at] ^= 0x01;
    }
    page[40] ^= 0x01;
    ESK_CHECK(proves(&envelope, page));
}

ESK_TEST(envelope_of_another_seed_kind_or_table_is_not_valid) {
    for (uint8_t c = ESK_CHECKSUM_CRC32C; c <= ESK_CHECKSUM_NONE; c++) {
        struct esk_envelope envelope = envelope_of(c);
        uint8_t page[PAGE_BYTES];
        ESK_CONTEXT("checksum %u", c);
        page_fill(page);
        esk_envelope_close(&envelope, page, 8);
        struct esk_envelope other = envelope;
        other.seed++;
        ESK_CHECK(!proves(&other, page));
        other = envelope;
        other.kind = ESK_PAGE_INDEX;
        ESK_CHECK(!proves(&other, page));
        other = envelope;
        other.table++;
        ESK_CHECK(!proves(&other, page));
    }
}

ESK_TEST(envelope_check_refuses_more_elements_than_fit) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint16_t room = (PAGE_BYTES - ESK_ENVELOPE_BYTES) / UNIT;
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_close(&envelope, page, room);
    ESK_CHECK(proves(&envelope, page));
    esk_envelope_close(&envelope, page, (uint16_t)(room + 1));
    ESK_CHECK(!proves(&envelope, page));
}

ESK_TEST(envelope_trust_skips_the_checksum_but_not_the_names) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_close(&envelope, page, 8);
    page[50] ^= 1;
    ESK_CHECK(esk_envelope_check(&envelope, page, true));
    page[ESK_ENVELOPE_TABLE] ^= 1;
    ESK_CHECK(!esk_envelope_check(&envelope, page, true));
}

ESK_TEST(envelope_seal_covers_the_elements_so_far) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    ESK_CHECK_INT(esk_envelope_seal(&envelope, page, 1, 4), PAGE_BYTES - 8);
    ESK_CHECK(esk_envelope_check(&envelope, page, false));
    ESK_CHECK_INT(esk_page_count(page), 4);
    ESK_CHECK_INT(esk_page_sequence(page), 77);
}

ESK_TEST(envelope_newest_valid_seal_counts) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    uint8_t copy[PAGE_BYTES];
    page_fill(page);
    esk_envelope_seal(&envelope, page, 1, 2);
    esk_envelope_seal(&envelope, page, 2, 5);
    esk_envelope_seal(&envelope, page, 3, 7);
    for (uint8_t damaged = 4; damaged > 0; damaged--) {
        static const uint8_t expected[] = {0, 0, 2, 5, 7};
        ESK_CONTEXT("seals damaged from %u on", damaged);
        memcpy(copy, page, PAGE_BYTES);
        for (uint8_t i = damaged; i <= 3; i++) {
            copy[PAGE_BYTES - i * ESK_SEAL_BYTES] ^= 0x10;
        }
        ESK_CHECK_INT(esk_envelope_check(&envelope, copy, false),
                      damaged > 3 ? ESK_PROVEN_ALL : expected[damaged]);
        if (damaged > 1) {
            ESK_CHECK_INT(esk_page_count(copy), expected[damaged]);
        }
    }
}

ESK_TEST(envelope_seals_of_a_page_that_was_closed_are_not_all_of_it) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_seal(&envelope, page, 1, 2);
    esk_envelope_close(&envelope, page, 5);
    ESK_CHECK_INT(esk_envelope_check(&envelope, page, false), ESK_PROVEN_ALL);
    page[PAGE_BYTES / 2] ^= 1;
    ESK_CHECK_INT(esk_envelope_check(&envelope, page, false), 2);
}

ESK_TEST(envelope_seal_list_ends_at_an_erased_slot) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_seal(&envelope, page, 2, 5);
    ESK_CHECK(!proves(&envelope, page));
}

ESK_TEST(envelope_seal_is_not_valid_when_elements_changed) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    page_fill(page);
    esk_envelope_seal(&envelope, page, 1, 4);
    for (uint16_t at = ESK_ENVELOPE_OPENING; at < PAGE_BYTES; at++) {
        uint16_t end = ESK_ENVELOPE_BYTES + 4 * UNIT;
        bool covered = at < end || at >= PAGE_BYTES - ESK_SEAL_BYTES;
        ESK_CONTEXT("byte %u", at);
        page[at] ^= 0x40;
        ESK_CHECK_INT(proves(&envelope, page), !covered);
        page[at] ^= 0x40;
    }
}

ESK_TEST(envelope_seal_of_all_elements_that_fit_is_all_of_the_page) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    for (uint8_t last = 1; last <= 6; last++) {
        uint16_t most =
            (uint16_t)((PAGE_BYTES - ESK_ENVELOPE_BYTES - last * 8) / UNIT);
        ESK_CONTEXT("%u seals, %u elements", last, most);
        memset(page, 0xFF, PAGE_BYTES);
        memset(page + ESK_ENVELOPE_BYTES, 0x55, (size_t)most * UNIT);
        esk_envelope_open(page, 77, 88);
        for (uint8_t i = 1; i < last; i++) {
            esk_envelope_seal(&envelope, page, i, i);
        }
        esk_envelope_seal(&envelope, page, last, most);
        ESK_CHECK_INT(esk_envelope_check(&envelope, page, false),
                      ESK_PROVEN_ALL);
    }
}

ESK_TEST(envelope_check_bears_a_page_full_of_seals) {
    struct esk_envelope envelope = envelope_of(ESK_CHECKSUM_CRC32C);
    uint8_t page[PAGE_BYTES];
    memset(page, 0x00, sizeof page);
    ESK_CHECK(!proves(&envelope, page));
    static uint8_t wide[4096];
    envelope.page_bytes = sizeof wide;
    ESK_CHECK(!esk_envelope_check(&envelope, wide, false));
}

ESK_TEST_MAIN()
