// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SD driver against models of three kinds of cards.
#include "port/sd_spi/sd_spi.h"

#include "port/driver.h"
#include "port/models/sd_model.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static struct esk_sd_model *model;
static struct esk_spi spi;
static struct esk_sd_spi sd;
static struct esk_sd_spi_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_sd_spi_init(&sd, &spi, &config);
}

static void card_make(size_t part) {
    if (model != NULL) {
        esk_chip_free(&model->chip);
    }
    ESK_CONTEXT("%s", esk_sd_parts[part].name);
    model = esk_sd_model_make(&esk_sd_parts[part], 23);
    memset(&config, 0, sizeof config);
    esk_chip_bus(&model->chip, &spi);
    chip_calls_set(&calls, &model->chip, &sd.device, start, 29);
}

static void card_start(size_t part) {
    card_make(part);
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(sd_takes_its_size_from_the_card) {
    for (size_t i = 0; i < esk_sd_part_count; i++) {
        card_start(i);
        ESK_CHECK_INT(sd.sectors, 8192);
        ESK_CHECK_INT(sd.device.geometry.block_count, 512);
        ESK_CHECK_INT(sd.device.geometry.flags, ESK_MEDIUM_OVERWRITE);
        ESK_CHECK_INT(sd.byte_addressed, !esk_sd_parts[i].high);
        ESK_CHECK(model->crc_on);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(sd_computes_the_size_from_either_csd_version) {
    /* Shaped like a 16 GB SDHC and a 2 GB SDSC card; from no named card. */
    static const uint8_t big[16] = {0x40, 0x0E, 0x00, 0x32, 0x5B, 0x59,
                                    0x00, 0x00, 0x76, 0xB2, 0x7F, 0x80,
                                    0x0A, 0x40, 0x40, 0x01};
    static const uint8_t old[16] = {0x00, 0x2E, 0x00, 0x32, 0x5B, 0x5A,
                                    0x83, 0xA9, 0xFF, 0xFF, 0xFF, 0x80,
                                    0x16, 0x80, 0x00, 0x91};
    card_make(2);
    memcpy(model->csd, big, 16);
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(sd.sectors, 31116288);
    ESK_CHECK_INT(sd.device.geometry.block_count, 31116288 / 16);
    card_make(0);
    memcpy(model->csd, old, 16);
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(sd.sectors, 3842048);
}

ESK_TEST(sd_writes_and_reads_to_the_last_sector) {
    for (size_t i = 0; i < esk_sd_part_count; i++) {
        card_start(i);
        ESK_CHECK_INT(chip_program(&calls, 8191), ESK_OK);
        ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
        chip_check(&calls, 8191);
        ESK_CHECK_BYTES(model->array + 8191 * 512, calls.data, 512);
        ESK_CHECK_INT(sd.device.ops->read(&sd.device, 0, 500, calls.seen, 12),
                      ESK_OK);
        ESK_CHECK_BYTES(calls.seen, calls.data + 500, 12);
        ESK_CHECK_INT(sd.device.ops->erase(&sd.device, 511), ESK_OK);
        ESK_CHECK_INT(sd.device.ops->sync(&sd.device), ESK_OK);
        ESK_CHECK_INT(chip_read(&calls, 8192), ESK_E_IO);
        ESK_CHECK_INT(chip_program(&calls, 8192), ESK_E_IO);
        ESK_CHECK_INT(sd.device.ops->erase(&sd.device, 512), ESK_E_IO);
        ESK_CHECK_INT(sd.device.ops->program(&sd.device, 0, 0, calls.data, 100),
                      ESK_E_INVALID);
        ESK_CHECK_TEXT(model->chip.violation, "");
        chip_check_contract(&calls, 16);
    }
}

ESK_TEST(sd_moves_long_pages_in_one_command) {
    for (size_t i = 0; i < esk_sd_part_count; i++) {
        card_make(i);
        config.page_bytes = 4096;
        config.sector_first = 64;
        ESK_CHECK_INT(start(), ESK_OK);
        ESK_CHECK_INT(sd.device.geometry.block_count, (8192 - 64) / 128);
        ESK_CHECK_INT(chip_program(&calls, 3), ESK_OK);
        ESK_CHECK_BYTES(model->array + (64 + 3 * 8) * 512, calls.data, 4096);
        chip_check(&calls, 3);
        ESK_CHECK_INT(sd.device.ops->read(&sd.device, 3, 1000, calls.seen, 700),
                      ESK_OK);
        ESK_CHECK_BYTES(calls.seen, calls.data + 1000, 700);
        ESK_CHECK_INT(model->many_reads, 2);
        ESK_CHECK_INT(model->many_writes, 1);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(sd_reports_what_is_wrong_with_a_card) {
    card_make(2);
    chip_check_absent(&calls);
    model->voltage = 2;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->voltage = 1;
    model->multimedia = true;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->multimedia = false;
    model->wait_polls = 2000;
    uint64_t from = model->chip.now_ns;
    ESK_CHECK_INT(start(), ESK_E_IO);
    ESK_CHECK(model->chip.now_ns - from > 1000 * 1000000ull);
    ESK_CHECK(model->chip.now_ns - from < 2000 * 1000000ull);
    model->wait_polls = 0;
    config.block_count = 513;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.block_count = 0;
    config.sector_first = 8193;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.sector_first = 0;
    config.page_bytes = 700;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.page_bytes = 0;
    model->csd[14] = 0x10;
    ESK_CHECK_INT(start(), ESK_E_READ_ONLY);
    ESK_CHECK_INT(chip_read(&calls, 5), ESK_OK);
    ESK_CHECK_BYTES(calls.seen, model->array + 5 * 512, 512);
    model->csd[0] = 0x80;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(sd_acknowledges_nothing_that_failed) {
    for (uint16_t page = 512; page <= 2048; page = (uint16_t)(page * 4)) {
        card_make(1);
        ESK_CONTEXT("pages of %u bytes", page);
        config.page_bytes = page;
        ESK_CHECK_INT(start(), ESK_OK);
        model->chip.faults.fail_program = 1;
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_MEDIUM);
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
        model->protect_sector = 2u * page / 512 + 1;
        ESK_CHECK_INT(chip_program(&calls, 2), ESK_E_READ_ONLY);
        model->protect_sector = 0;
        model->spoil_write = 1;
        ESK_CHECK_INT(chip_program(&calls, 2), ESK_E_IO);
        ESK_CHECK_INT(chip_program(&calls, 2), ESK_OK);
        model->spoil_read = page / 512u;
        ESK_CHECK_INT(chip_read(&calls, 2), ESK_E_IO);
        chip_check(&calls, 2);
        model->ecc_sector = 3u * page / 512;
        ESK_CHECK_INT(chip_read(&calls, 2), ESK_E_CORRUPT);
        ESK_CHECK_INT(chip_read(&calls, 1), ESK_OK);
        chip_check_stuck(&calls, 3, 500, 2000);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(sd_checksums_are_those_of_the_specification) {
    memset(calls.seen, 0xFF, 512);
    ESK_CHECK_INT(esk_sd_model_crc16(calls.seen, 512), 0x7FA1);
}

ESK_TEST(sd_survives_a_bus_error_at_every_byte) {
    card_start(2);
    uint32_t failed = chip_bus_error_at_every_byte(&calls, 540, 1);
    ESK_CHECK(failed > 520);
}

ESK_TEST(sd_costs_the_bytes_of_its_readme) {
    card_start(2);
    const uint64_t *bytes = &model->chip.bytes;
    uint64_t from = *bytes;
    ESK_CHECK_INT(chip_read(&calls, 0), ESK_OK);
    ESK_CHECK(*bytes - from >= 525 && *bytes - from < 560);
    from = *bytes;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK(*bytes - from >= 539 && *bytes - from < 580);
}

ESK_TEST(series_on_sd_survives_power_cuts) {
    for (size_t i = 0; i < 2 * esk_sd_part_count; i++) {
        card_make(i / 2);
        config.page_bytes = i % 2 == 0 ? 512 : 1024;
        config.block_pages = 8;
        ESK_CHECK_INT(start(), ESK_OK);
        struct chip_series run = {.name = esk_sd_parts[i / 2].name,
                                  .chip = &model->chip,
                                  .device = &sd.device,
                                  .start = start,
                                  .cuts = esk_test_rounds(25, 100)};
        chip_series_run(&run, i + 51);
    }
}

ESK_TEST_MAIN()
