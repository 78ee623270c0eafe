// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI NOR driver against models of three chips.
#include "port/spi_nor/spi_nor.h"

#include "port/driver.h"
#include "port/models/nor_model.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static struct esk_nor_model *model;
static struct esk_spi spi;
static struct esk_spi_nor nor;
static struct esk_spi_nor_config config;
static struct chip_calls calls;

static const struct esk_nor_part *const parts[] = {
    &esk_nor_w25q64jv, &esk_nor_mx25r6435f, &esk_nor_mx25l25645g};

enum { PARTS = sizeof parts / sizeof parts[0] };

static int start(void) {
    return esk_spi_nor_init(&nor, &spi, &config);
}

/// A new chip, not yet started.
static void chip_make(const struct esk_nor_part *part) {
    if (model != NULL) {
        esk_chip_free(&model->chip);
    }
    ESK_CONTEXT("%s", part->name);
    model = esk_nor_model_make(part, 3);
    memset(&config, 0, sizeof config);
    esk_chip_bus(&model->chip, &spi);
    chip_calls_set(&calls, &model->chip, &nor.device, start, 7);
}

static void chip_start(const struct esk_nor_part *part) {
    chip_make(part);
    ESK_CHECK_INT(start(), ESK_OK);
}

static int program(esk_page_id page, uint16_t offset, const void *data,
                   uint16_t bytes) {
    return nor.device.ops->program(&nor.device, page, offset, data, bytes);
}

static int read(esk_page_id page, uint16_t offset, void *data, uint16_t bytes) {
    return nor.device.ops->read(&nor.device, page, offset, data, bytes);
}

static int erase(uint32_t block) {
    return nor.device.ops->erase(&nor.device, block);
}

ESK_TEST(nor_takes_its_geometry_from_the_chip) {
    static const struct {
        uint32_t blocks;
        uint8_t address_bytes;
    } expected[PARTS] = {{2048, 3}, {2048, 3}, {8192, 4}};
    for (unsigned i = 0; i < PARTS; i++) {
        chip_start(parts[i]);
        ESK_CHECK_INT(nor.jedec_id, parts[i]->jedec_id);
        ESK_CHECK_INT(nor.device.geometry.block_count, expected[i].blocks);
        ESK_CHECK_INT(nor.device.geometry.block_pages, 16);
        ESK_CHECK_INT(nor.device.geometry.page_bytes, 256);
        ESK_CHECK_INT(nor.device.geometry.program_bytes, 1);
        ESK_CHECK_INT(nor.address_bytes, expected[i].address_bytes);
        ESK_CHECK_INT(model->chip.violations, 0);
    }
}

ESK_TEST(nor_programs_reads_and_erases_to_the_last_byte) {
    uint8_t data[256];
    uint8_t seen[256];
    for (unsigned i = 0; i < PARTS; i++) {
        chip_start(parts[i]);
        uint32_t last = nor.device.geometry.block_count * 16 - 1;
        for (unsigned j = 0; j < 256; j++) {
            data[j] = (uint8_t)(j * 7 + i);
        }
        ESK_CHECK_INT(program(0, 0, data, 256), ESK_OK);
        ESK_CHECK_INT(program(last, 100, data, 56), ESK_OK);
        ESK_CHECK_INT(program(last, 156, data + 56, 100), ESK_OK);
        ESK_CHECK_INT(read(last, 0, seen, 256), ESK_OK);
        ESK_CHECK_INT(seen[99], 0xFF);
        ESK_CHECK_BYTES(seen + 100, data, 156);
        ESK_CHECK_INT((uint8_t)~model->array[parts[i]->bytes - 1], data[155]);
        ESK_CHECK_INT(erase(last / 16), ESK_OK);
        ESK_CHECK_INT(read(last, 155, seen, 1), ESK_OK);
        ESK_CHECK_INT(seen[0], 0xFF);
        ESK_CHECK_INT(read(0, 0, seen, 256), ESK_OK);
        ESK_CHECK_BYTES(seen, data, 256);
        ESK_CHECK_INT(read(last, 255, seen, 2), ESK_E_IO);
        ESK_CHECK_INT(program(last + 1, 0, data, 1), ESK_E_IO);
        ESK_CHECK_INT(erase(last / 16 + 1), ESK_E_IO);
        ESK_CHECK_TEXT(model->chip.violation, "");
        chip_check_contract(&calls, 16);
    }
}

ESK_TEST(nor_splits_a_page_that_is_longer_than_the_chips) {
    uint8_t data[1024];
    uint8_t seen[1024];
    chip_make(&esk_nor_w25q64jv);
    config.page_bytes = 1024;
    config.block_first = 5;
    config.block_count = 4;
    config.verify = true;
    ESK_CHECK_INT(start(), ESK_OK);
    memset(data, 0x5A, sizeof data);
    ESK_CHECK_INT(program(1, 200, data, 600), ESK_OK);
    ESK_CHECK_INT(model->chip.ops_begun, 4);
    ESK_CHECK_INT(read(1, 0, seen, 1024), ESK_OK);
    ESK_CHECK_INT(seen[199], 0xFF);
    ESK_CHECK_BYTES(seen + 200, data, 600);
    ESK_CHECK_INT(seen[800], 0xFF);
    ESK_CHECK_INT((uint8_t)~model->array[5 * 4096 + 1024 + 200], 0x5A);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nor_reaches_four_byte_addresses_in_every_way_a_chip_offers) {
    static const struct {
        uint8_t modes;
        uint8_t enter;
        int status;
        bool mode_entered;
        uint8_t erase_opcode;
    } ways[] = {
        {0xFB, 0x85, ESK_OK, true, 0x20},
        {0xFB, 0xA1, ESK_OK, false, 0x21},
        {0xFB, 0x82, ESK_OK, true, 0x20},
        {0xFB, 0x84, ESK_E_UNSUPPORTED, 0, 0},
        {0xF9, 0x85, ESK_E_UNSUPPORTED, 0, 0},
    };
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        uint8_t byte = 0x3C;
        chip_make(&esk_nor_mx25l25645g);
        ESK_CONTEXT("way %u", i);
        model->sfdp[0x30 + 2] = ways[i].modes;
        model->sfdp[0x30 + 63] = ways[i].enter;
        ESK_CHECK_INT(start(), ways[i].status);
        ESK_CHECK_INT(model->four, ways[i].mode_entered);
        if (ways[i].status == ESK_OK) {
            ESK_CHECK_INT(nor.erase_opcode, ways[i].erase_opcode);
            ESK_CHECK_INT(program(0x1FFFFFF / 256, 255, &byte, 1), ESK_OK);
            ESK_CHECK_INT((uint8_t)~model->array[0x1FFFFFF], 0x3C);
        }
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(nor_reads_short_and_odd_tables) {
    chip_make(&esk_nor_w25q64jv);
    model->sfdp[11] = 9; /* the first revision: no page size */
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(nor.chip_page, 256);
    model->sfdp[11] = 8;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->sfdp[11] = 16;
    memcpy(model->sfdp + 0x80 + 4, "\x1A\0\0\x80", 4); /* 2^26 bits */
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(nor.device.geometry.block_count, 2048);
    memcpy(model->sfdp + 0x80 + 4, "\x24\0\0\x80", 4); /* 2^36 bits */
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->sfdp[0] = 'X';
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
}

ESK_TEST(nor_init_survives_every_table_of_random_bytes) {
    chip_make(&esk_nor_w25q64jv);
    for (uint32_t seed = 0; seed < 20000; seed++) {
        ESK_CONTEXT("table %lu", (unsigned long)seed);
        for (unsigned i = 0; i < 64; i++) {
            model->sfdp[0x80 + i] = (uint8_t)esk_chip_random(&model->chip, 256);
        }
        model->four = false;
        if (start() == ESK_OK) {
            ESK_CHECK_INT(esk_geometry_check(&nor.device.geometry), ESK_OK);
        }
    }
}

ESK_TEST(nor_reports_what_is_wrong_with_a_chip) {
    chip_make(&esk_nor_w25q64jv);
    chip_check_absent(&calls);
    config.jedec_id = 0xEF4018;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    config.jedec_id = 0xEF4017;
    config.block_count = 2049;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.block_first = 2049;
    config.block_count = 0;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.block_first = 0;
    config.page_bytes = 1000;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.page_bytes = 512;
    model->status = 0x04;
    ESK_CHECK_INT(start(), ESK_E_READ_ONLY);
    uint8_t byte = 0;
    ESK_CHECK_INT(program(0, 0, &byte, 1), ESK_E_READ_ONLY);
    ESK_CHECK_INT(erase(0), ESK_E_READ_ONLY);
    ESK_CHECK_INT(read(0, 0, &byte, 1), ESK_OK);
    model->status = 0x20; /* TB alone protects nothing */
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nor_wakes_a_sleeping_chip_and_waits_for_a_busy_one) {
    uint8_t byte = 0x11;
    chip_start(&esk_nor_mx25r6435f);
    ESK_CHECK_INT(esk_spi_nor_sleep(&nor), ESK_OK);
    ESK_CHECK(model->asleep);
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK(!model->asleep);
    /* A reset of the controller alone, in the middle of an erase. */
    esk_chip_begin(&model->chip, 200000000, false);
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK(!model->chip.busy);
    ESK_CHECK_INT(program(3, 0, &byte, 1), ESK_OK);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nor_ends_every_wait) {
    uint8_t byte = 0;
    chip_start(&esk_nor_w25q64jv);
    chip_check_stuck(&calls, 0, 20, 60);
    uint64_t from = model->chip.now_ns;
    ESK_CHECK_INT(read(0, 0, &byte, 1), ESK_E_IO);
    ESK_CHECK(model->chip.now_ns - from > 4000 * 1000000ull);
    ESK_CHECK(model->chip.now_ns - from < 5000 * 1000000ull);
    ESK_CHECK_INT(start(), ESK_E_IO);
    model->chip.faults.absent = ESK_CHIP_ABSENT_HIGH;
    ESK_CHECK_INT(read(0, 0, &byte, 1), ESK_E_IO);
}

ESK_TEST(nor_acknowledges_no_program_that_failed) {
    uint8_t zeros[64] = {0};
    chip_start(&esk_nor_mx25r6435f);
    model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(program(0, 0, zeros, 64), ESK_E_MEDIUM);
    ESK_CHECK_INT(program(1, 0, zeros, 64), ESK_OK);
    model->chip.faults.fail_erase = 1;
    ESK_CHECK_INT(erase(0), ESK_E_MEDIUM);
    ESK_CHECK_INT(erase(0), ESK_OK);
    chip_make(&esk_nor_w25q64jv);
    config.verify = true;
    ESK_CHECK_INT(start(), ESK_OK);
    model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(program(0, 0, zeros, 64), ESK_E_MEDIUM);
}

ESK_TEST(nor_survives_a_bus_error_at_every_byte) {
    chip_start(&esk_nor_mx25r6435f);
    uint32_t failed = chip_bus_error_at_every_byte(&calls, 282, 1);
    ESK_CHECK(failed > 262);
}

ESK_TEST(nor_costs_the_bytes_of_its_readme) {
    static uint8_t page[256];
    for (unsigned i = 0; i < PARTS; i++) {
        chip_start(parts[i]);
        uint64_t address = nor.address_bytes;
        uint64_t fail_bits = parts[i]->jedec_id >> 16 == 0xC2 ? 2 : 0;
        uint64_t from = model->chip.bytes;
        ESK_CHECK_INT(read(5, 0, page, 256), ESK_OK);
        ESK_CHECK_INT(model->chip.bytes - from, 2 + 1 + address + 256);
        from = model->chip.bytes;
        ESK_CHECK_INT(program(5, 0, page, 256), ESK_OK);
        uint64_t fixed = 3 + 1 + address + 256 + fail_bits;
        ESK_CHECK(model->chip.bytes - from > fixed);
        ESK_CHECK_INT((model->chip.bytes - from - fixed) % 2, 0);
        from = model->chip.bytes;
        ESK_CHECK_INT(erase(0), ESK_OK);
        fixed = 3 + 1 + address + fail_bits;
        ESK_CHECK(model->chip.bytes - from > fixed);
        ESK_CHECK_INT((model->chip.bytes - from - fixed) % 2, 0);
    }
}

ESK_TEST(series_on_nor_survives_power_cuts) {
    for (unsigned i = 0; i < PARTS; i++) {
        chip_start(parts[i]);
        struct chip_series run = {.name = parts[i]->name,
                                  .chip = &model->chip,
                                  .device = &nor.device,
                                  .start = start,
                                  .cuts = 200};
        chip_series_run(&run, i + 1);
    }
}

ESK_TEST_MAIN()
