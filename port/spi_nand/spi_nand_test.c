// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The SPI NAND driver against the model of W25N01GV.
#include "port/spi_nand/spi_nand.h"

#include "port/driver.h"
#include "port/models/nand_model.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static struct esk_nand_model *model;
static struct esk_spi spi;
static struct esk_spi_nand nand;
static struct esk_spi_nand_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_spi_nand_init(&nand, &spi, &config);
}

static void chip_make(const uint16_t *bad, uint32_t count) {
    if (model != NULL) {
        esk_chip_free(&model->chip);
    }
    ESK_CONTEXT("W25N01GV");
    model = esk_nand_model_make(bad, count, 9);
    memset(&config, 0, sizeof config);
    esk_chip_bus(&model->chip, &spi);
    chip_calls_set(&calls, &model->chip, &nand.device, start, 13);
}

static void chip_start(void) {
    chip_make(NULL, 0);
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(nand_is_unlocked_with_ecc_and_buffer_reads) {
    chip_start();
    ESK_CHECK_INT(model->protect, 0);
    ESK_CHECK_INT(model->config, 0x18);
    ESK_CHECK_INT(nand.device.geometry.block_count, 1024);
    ESK_CHECK_INT(nand.device.geometry.programs_per_page_max, 1);
    ESK_CHECK_INT(esk_geometry_check(&nand.device.geometry), ESK_OK);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nand_programs_reads_and_erases_to_the_last_page) {
    chip_start();
    uint32_t last = 1024 * 64 - 1;
    ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, last);
    ESK_CHECK_INT(
        nand.device.ops->read(&nand.device, last, 2000, calls.seen, 48),
        ESK_OK);
    ESK_CHECK_BYTES(calls.seen, calls.data + 2000, 48);
    ESK_CHECK_INT(chip_erase(&calls, 1023), ESK_OK);
    chip_check_erased(&calls, last);
    chip_check(&calls, 0);
    ESK_CHECK_INT(chip_read(&calls, last + 1), ESK_E_IO);
    ESK_CHECK_INT(chip_program(&calls, last + 1), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, 1024), ESK_E_IO);
    ESK_CHECK_TEXT(model->chip.violation, "");
    chip_check_contract(&calls, 4);
}

ESK_TEST(nand_loads_part_of_a_page_and_leaves_the_rest_erased) {
    chip_start();
    ESK_CHECK_INT(
        nand.device.ops->program(&nand.device, 7, 512, calls.data, 512),
        ESK_OK);
    ESK_CHECK_INT(chip_read(&calls, 7), ESK_OK);
    ESK_CHECK_INT(calls.seen[511], 0xFF);
    ESK_CHECK_BYTES(calls.seen + 512, calls.data, 512);
    ESK_CHECK_INT(calls.seen[1024], 0xFF);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nand_counts_what_ecc_corrects_and_reports_what_it_cannot) {
    chip_start();
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
    model->flips[0] = 4; /* corrected: the host sees the right bytes */
    esk_nand_model_flip(model, 1, 5);
    chip_check(&calls, 0);
    ESK_CHECK_INT(nand.pages_corrected, 1);
    ESK_CHECK_INT(nand.pages_lost, 0);
    ESK_CHECK_INT(chip_read(&calls, 1), ESK_E_CORRUPT);
    ESK_CHECK_INT(nand.pages_lost, 1);
}

ESK_TEST(nand_reads_and_writes_bad_block_marks) {
    static const uint16_t bad[] = {3, 1000};
    bool is_bad = false;
    chip_make(bad, 2);
    ESK_CHECK_INT(start(), ESK_OK);
    const struct esk_device_ops *ops = nand.device.ops;
    for (uint32_t i = 0; i < 1024; i++) {
        ESK_CHECK_INT(ops->block_is_bad(&nand.device, i, &is_bad), ESK_OK);
        ESK_CHECK_INT(is_bad, i == 3 || i == 1000);
    }
    /* A block with rows, erased, and half full: the rows stay. */
    ESK_CHECK_INT(chip_program(&calls, 5 * 64), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 5 * 64 + 1), ESK_OK);
    for (uint32_t i = 5; i < 7; i++) {
        ESK_CHECK_INT(ops->block_mark_bad(&nand.device, i), ESK_OK);
        ESK_CHECK_INT(start(), ESK_OK);
        ESK_CHECK_INT(ops->block_is_bad(&nand.device, i, &is_bad), ESK_OK);
        ESK_CHECK(is_bad);
        ESK_CHECK_INT(model->config, 0x18);
    }
    chip_check(&calls, 5 * 64);
    chip_check(&calls, 5 * 64 + 1);
    ESK_CHECK_INT(ops->block_mark_bad(&nand.device, 1024), ESK_E_IO);
    ESK_CHECK_INT(ops->block_is_bad(&nand.device, 1024, &is_bad), ESK_E_IO);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nand_reports_what_is_wrong_with_a_chip) {
    chip_make(NULL, 0);
    chip_check_absent(&calls);
    model->id[2] = 0x22;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->id[2] = 0x21;
    config.block_first = 1000;
    config.block_count = 25;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.block_count = 24;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK_INT(model->written[64000], 1);
    esk_chip_power_off(&model->chip);
    esk_chip_power_on(&model->chip);
    model->locked = true;
    ESK_CHECK_INT(start(), ESK_E_READ_ONLY);
    chip_check(&calls, 0);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nand_acknowledges_nothing_that_failed) {
    chip_start();
    model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    model->chip.faults.fail_erase = 1;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check_stuck(&calls, 1, 20, 60);
    ESK_CHECK_INT(chip_read(&calls, 0), ESK_E_IO);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(nand_survives_a_bus_error_at_every_byte) {
    chip_start();
    uint32_t failed = chip_bus_error_at_every_byte(&calls, 2100, 16);
    ESK_CHECK(failed > 190);
    model->chip.faults.bus_error_at = model->chip.bytes + 20;
    ESK_CHECK_INT(chip_read(&calls, 2200), ESK_E_IO);
    ESK_CHECK_INT(chip_read(&calls, 2200), ESK_OK);
}

ESK_TEST(nand_costs_the_bytes_of_its_readme) {
    chip_start();
    const uint64_t *bytes = &model->chip.bytes;
    uint64_t from = *bytes;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK(*bytes - from > 14 + 2048);
    ESK_CHECK_INT((*bytes - from - 14 - 2048) % 3, 0);
    from = *bytes;
    ESK_CHECK_INT(chip_read(&calls, 0), ESK_OK);
    ESK_CHECK(*bytes - from > 11 + 2048);
    ESK_CHECK_INT((*bytes - from - 11 - 2048) % 3, 0);
    from = *bytes;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    ESK_CHECK(*bytes - from > 11);
    ESK_CHECK_INT((*bytes - from - 11) % 3, 0);
}

ESK_TEST(series_on_nand_survives_power_cuts) {
    static const uint16_t bad[] = {2, 5, 9, 13};
    chip_make(bad, 4);
    ESK_CHECK_INT(start(), ESK_OK);
    struct chip_series run = {.name = "W25N01GV",
                              .chip = &model->chip,
                              .device = &nand.device,
                              .start = start,
                              .cuts = esk_test_rounds(50, 200)};
    chip_series_run(&run, 21);
}

ESK_TEST_MAIN()
