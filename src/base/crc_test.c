// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

#include "base/crc.h"

#include "test/harness/esk_test.h"

/// CRC-32C from its definition: reflected polynomial, bit by bit.
static uint32_t crc32c_by_bits(uint32_t crc, const uint8_t *bytes,
                               uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (uint8_t bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82F63B78u : 0u);
        }
    }
    return crc;
}

static uint16_t crc16_by_bits(uint16_t crc, const uint8_t *bytes,
                              uint16_t count) {
    for (uint16_t i = 0; i < count; i++) {
        crc = (uint16_t)(crc ^ (bytes[i] << 8));
        for (uint8_t bit = 0; bit < 8; bit++) {
            bool high = (crc & 0x8000u) != 0;
            crc = (uint16_t)((unsigned)crc << 1 ^ (high ? 0x1021u : 0u));
        }
    }
    return crc;
}

static void noise_fill(uint8_t *bytes, size_t count) {
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(state >> 24);
    }
}

static const uint8_t digits[] = "123456789";

ESK_TEST(crc32c_has_the_published_check_values) {
    uint8_t zeros[32] = {0};
    uint8_t ones[32];
    memset(ones, 0xFF, sizeof ones);
    ESK_CHECK(~esk_crc32c(~0u, digits, 9) == 0xE3069283u);
    /* RFC 3720, B.4. */
    ESK_CHECK(~esk_crc32c(~0u, zeros, 32) == 0x8A9136AAu);
    ESK_CHECK(~esk_crc32c(~0u, ones, 32) == 0x62A8AB43u);
    ESK_CHECK(esk_crc32c(7, digits, 0) == 7);
}

ESK_TEST(crc16_has_the_published_check_value) {
    ESK_CHECK(esk_crc16(0xFFFF, digits, 9) == 0x29B1u);
    ESK_CHECK(esk_crc16(7, digits, 0) == 7);
}

ESK_TEST(crc32c_agrees_with_its_definition_at_every_length_and_offset) {
    uint8_t bytes[1100]; /* more than two of the longest steps */
    noise_fill(bytes, sizeof bytes);
    for (uint16_t offset = 0; offset < 9; offset++) {
        for (uint16_t count = 0; count <= 1080; count++) {
            ESK_CONTEXT("offset %u, count %u", offset, count);
            ESK_CHECK(esk_crc32c(0x12345678u, bytes + offset, count) ==
                      crc32c_by_bits(0x12345678u, bytes + offset, count));
        }
    }
}

ESK_TEST(crc16_agrees_with_its_definition_at_every_length) {
    uint8_t bytes[300];
    noise_fill(bytes, sizeof bytes);
    for (uint16_t count = 0; count <= sizeof bytes; count++) {
        ESK_CONTEXT("count %u", count);
        ESK_CHECK_INT(esk_crc16(0x1D0F, bytes, count),
                      crc16_by_bits(0x1D0F, bytes, count));
    }
}

ESK_TEST(crc_calls_chain) {
    uint8_t bytes[64];
    noise_fill(bytes, sizeof bytes);
    for (uint16_t cut = 0; cut <= sizeof bytes; cut++) {
        uint16_t rest = (uint16_t)(sizeof bytes - cut);
        ESK_CONTEXT("cut at %u", cut);
        ESK_CHECK(esk_crc32c(esk_crc32c(1, bytes, cut), bytes + cut, rest) ==
                  esk_crc32c(1, bytes, sizeof bytes));
        ESK_CHECK(esk_crc16(esk_crc16(1, bytes, cut), bytes + cut, rest) ==
                  esk_crc16(1, bytes, sizeof bytes));
    }
}

ESK_TEST(crc32c_portable_and_processor_paths_agree_at_every_length) {
    static uint8_t bytes[16384];
    noise_fill(bytes, sizeof bytes);
    for (uint16_t count = 0; count <= 1024; count++) {
        ESK_CONTEXT("count %u", count);
        ESK_CHECK(esk_crc32c(count, bytes, count) ==
                  esk_crc32c_portable(count, bytes, count));
    }
    ESK_CHECK(esk_crc32c(1, bytes, 16384) ==
              esk_crc32c_portable(1, bytes, 16384));
}

ESK_TEST_MAIN()
