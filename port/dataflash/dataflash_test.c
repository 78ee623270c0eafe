// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The DataFlash driver against models of eight parts.
#include "port/dataflash/dataflash.h"

#include "port/driver.h"
#include "port/models/dataflash_model.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static struct esk_dataflash_model *model;
static struct esk_spi spi;
static struct esk_dataflash flash;
static struct esk_dataflash_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_dataflash_init(&flash, &spi, &config);
}

static void chip_make(size_t part) {
    if (model != NULL) {
        esk_chip_free(&model->chip);
    }
    ESK_CONTEXT("%s", esk_dataflash_parts[part].name);
    model = esk_dataflash_model_make(&esk_dataflash_parts[part], 17);
    memset(&config, 0, sizeof config);
    esk_chip_bus(&model->chip, &spi);
    chip_calls_set(&calls, &model->chip, &flash.device, start, 11);
}

static void chip_start(size_t part) {
    chip_make(part);
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(dataflash_takes_its_geometry_from_the_chip) {
    for (size_t i = 0; i < esk_dataflash_part_count; i++) {
        const struct esk_dataflash_part *part = &esk_dataflash_parts[i];
        chip_start(i);
        ESK_CHECK_INT(flash.device.geometry.page_bytes, part->page);
        ESK_CHECK_INT(flash.device.geometry.block_count, part->pages / 8);
        ESK_CHECK_INT(flash.page_shift, part->shift);
        ESK_CHECK_INT(flash.extended, part->extended);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(dataflash_programs_reads_and_erases_to_the_last_page) {
    for (size_t i = 0; i < esk_dataflash_part_count; i++) {
        chip_start(i);
        uint16_t bytes = flash.device.geometry.page_bytes;
        uint32_t last = esk_dataflash_parts[i].pages - 1;
        ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
        ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
        chip_check(&calls, last);
        ESK_CHECK_INT(flash.device.ops->read(&flash.device, last,
                                             (uint16_t)(bytes - 3), calls.seen,
                                             3),
                      ESK_OK);
        ESK_CHECK_BYTES(calls.seen, calls.data + bytes - 3, 3);
        ESK_CHECK_INT(chip_erase(&calls, last / 8), ESK_OK);
        chip_check_erased(&calls, last);
        chip_check(&calls, 0);
        ESK_CHECK_INT(chip_read(&calls, last + 1), ESK_E_IO);
        ESK_CHECK_INT(chip_program(&calls, last + 1), ESK_E_IO);
        ESK_CHECK_INT(chip_erase(&calls, last / 8 + 1), ESK_E_IO);
        ESK_CHECK_INT(
            flash.device.ops->program(&flash.device, 1, 0, calls.data, 8),
            ESK_E_INVALID);
        ESK_CHECK_TEXT(model->chip.violation, "");
        chip_check_contract(&calls, 16);
    }
}

ESK_TEST(dataflash_reports_what_is_wrong_with_a_chip) {
    chip_make(3);
    chip_check_absent(&calls);
    model->maker = 0xEF;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    model->maker = 0x1F;
    config.page_bytes = 512;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.page_bytes = 528;
    config.block_first = 500;
    config.block_count = 13;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.block_count = 12;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK_INT((uint8_t)~model->array[4000 * 528], calls.data[0]);
    model->is_protected = true;
    ESK_CHECK_INT(start(), ESK_E_READ_ONLY);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_READ_ONLY);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_READ_ONLY);
    chip_check(&calls, 0);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(dataflash_wakes_a_sleeping_chip_and_waits_for_a_busy_one) {
    chip_start(2);
    model->asleep = true;
    ESK_CHECK_INT(start(), ESK_OK);
    model->busy_op = 0x60;
    esk_chip_begin(&model->chip, 90000000, false);
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK(!model->chip.busy);
    ESK_CHECK_TEXT(model->chip.violation, "");
}

ESK_TEST(dataflash_acknowledges_nothing_that_failed) {
    chip_start(0); /* D: by comparison */
    model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
    chip_start(2); /* E: by its bit */
    model->chip.faults.fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
    model->chip.faults.fail_erase = 1;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    chip_check_stuck(&calls, 2, 500, 600);
    ESK_CHECK_INT(chip_read(&calls, 2), ESK_E_IO);
    ESK_CHECK_INT(start(), ESK_E_IO);
}

ESK_TEST(dataflash_survives_a_bus_error_at_every_byte) {
    chip_start(3);
    uint32_t failed = chip_bus_error_at_every_byte(&calls, 550, 1);
    ESK_CHECK(failed > 530);
}

ESK_TEST(dataflash_costs_the_bytes_of_its_readme) {
    for (size_t i = 2; i < 4; i++) {
        chip_start(i);
        const uint64_t *bytes = &model->chip.bytes;
        uint64_t page = esk_dataflash_parts[i].page;
        uint64_t from = *bytes;
        ESK_CHECK_INT(chip_read(&calls, 0), ESK_OK);
        ESK_CHECK_INT(*bytes - from, 7 + page);
        from = *bytes;
        ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
        uint64_t fixed = page + (flash.extended ? 13 : 14);
        ESK_CHECK(*bytes - from > fixed);
        ESK_CHECK_INT((*bytes - from - fixed) % 2, 0);
        from = *bytes;
        ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
        fixed = flash.extended ? 9 : 6;
        ESK_CHECK(*bytes - from > fixed);
        ESK_CHECK_INT((*bytes - from - fixed) % 2, 0);
    }
}

ESK_TEST(series_on_dataflash_survives_power_cuts) {
    for (size_t i = 0; i < esk_dataflash_part_count; i++) {
        chip_start(i);
        struct chip_series run = {.name = esk_dataflash_parts[i].name,
                                  .chip = &model->chip,
                                  .device = &flash.device,
                                  .start = start,
                                  .cuts = 100};
        chip_series_run(&run, i + 31);
    }
}

ESK_TEST_MAIN()
