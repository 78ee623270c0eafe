// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/bytes.h"

#include "base/arena.h"
#include "esker/status.h"
#include "test/harness/esk_test.h"

static const uint8_t bytes[] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB, 0xCD, 0xEF};

ESK_TEST(bytes_load_reads_the_low_byte_first) {
    ESK_CHECK(esk_load_u16(bytes) == 0x2301u);
    ESK_CHECK(esk_load_u32(bytes) == 0x67452301u);
    ESK_CHECK(esk_load_u64(bytes) == UINT64_C(0xEFCDAB8967452301));
}

ESK_TEST(bytes_store_writes_the_low_byte_first) {
    uint8_t out[8];
    esk_store_u16(out, 0x2301u);
    ESK_CHECK_BYTES(out, bytes, 2);
    esk_store_u32(out, 0x67452301u);
    ESK_CHECK_BYTES(out, bytes, 4);
    esk_store_u64(out, UINT64_C(0xEFCDAB8967452301));
    ESK_CHECK_BYTES(out, bytes, 8);
}

ESK_TEST(bytes_load_works_at_any_address) {
    uint8_t around[16] = {0};
    for (uint8_t at = 0; at < 8; at++) {
        ESK_CONTEXT("offset %u", at);
        esk_store_u64(around + at, UINT64_C(0x8877665544332211));
        ESK_CHECK(esk_load_u64(around + at) == UINT64_C(0x8877665544332211));
    }
}

ESK_TEST(bytes_are_compares_every_byte) {
    uint8_t block[37];
    memset(block, 0xFF, sizeof block);
    ESK_CHECK(esk_bytes_are(block, sizeof block, 0xFF));
    ESK_CHECK(esk_bytes_are(block, 0, 0x00));
    for (uint16_t i = 0; i < sizeof block; i++) {
        ESK_CONTEXT("byte %u", i);
        block[i] = 0xFE;
        ESK_CHECK(!esk_bytes_are(block, sizeof block, 0xFF));
        ESK_CHECK(esk_bytes_are(block, i, 0xFF));
        block[i] = 0xFF;
    }
}

ESK_TEST(arena_gives_aligned_pieces_and_says_when_they_are_too_many) {
    uint64_t memory[4];
    struct esk_arena arena = {.start = (uint8_t *)memory,
                              .bytes = sizeof memory};
    ESK_CHECK(esk_arena_take(&arena, 9) == memory);
    ESK_CHECK(esk_arena_take(&arena, 16) == memory + 2);
    ESK_CHECK_INT(arena.used, 32);
    ESK_CHECK(esk_arena_fits(&arena));
    (void)esk_arena_take(&arena, 1);
    ESK_CHECK_INT(arena.used, 40);
    ESK_CHECK(!esk_arena_fits(&arena));
}

ESK_TEST(status_text_names_every_status) {
    for (int status = ESK_E_INVALID; status <= ESK_AGAIN; status++) {
        ESK_CONTEXT("status %d", status);
        ESK_CHECK(strlen(esk_status_text(status)) > 0);
        for (int other = ESK_E_INVALID; other < status; other++) {
            ESK_CHECK(strcmp(esk_status_text(status), esk_status_text(other)) !=
                      0);
        }
    }
    ESK_CHECK_TEXT(esk_status_text(ESK_AGAIN + 1),
                   esk_status_text(ESK_E_INVALID - 1));
}

ESK_TEST(bytes_copy_and_move_up_touch_nothing_else) {
    for (uint16_t count = 0; count < 40; count++) {
        uint8_t room[64];
        uint8_t from[40];
        ESK_CONTEXT("%u bytes", count);
        for (uint8_t i = 0; i < sizeof room; i++) {
            room[i] = i;
        }
        for (uint8_t i = 0; i < sizeof from; i++) {
            from[i] = (uint8_t)(200 - i);
        }
        esk_bytes_move_up(room + 1, 7, count);
        for (uint8_t i = 0; i < sizeof room; i++) {
            bool moved = i >= 8 && i < 8 + count;
            ESK_CHECK_INT(room[i], moved ? i - 7 : i);
        }
        esk_bytes_copy(room + 1, from, count);
        ESK_CHECK_INT(room[0], 0);
        ESK_CHECK_BYTES(room + 1, from, count);
        ESK_CHECK(count == 0 || room[count + 1] != (uint8_t)(200 - count));
    }
}

ESK_TEST(bytes_byte_from_takes_the_eight_bits_from_a_bit_on) {
    const uint32_t value = 0x89ABCDEF;
    for (uint8_t shift = 0; shift < 32; shift++) {
        uint8_t expected = 0;
        for (uint8_t bit = 0; bit < 8 && shift + bit < 32; bit++) {
            bool is_set = (value & ((uint32_t)1 << (shift + bit))) != 0;
            expected |= (uint8_t)(is_set ? 1u << bit : 0u);
        }
        ESK_CONTEXT("shift %u", shift);
        ESK_CHECK_INT(esk_byte_from(value, shift), expected);
    }
}

ESK_TEST(bytes_words_differ_in_any_bit) {
    for (uint8_t bit = 0; bit < 32; bit++) {
        ESK_CONTEXT("bit %u", bit);
        ESK_CHECK(!esk_words_equal(0x12345678, 0x12345678 ^ 1u << bit));
    }
    ESK_CHECK(esk_words_equal(0x12345678, 0x12345678));
}

ESK_TEST_MAIN()
