// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The tests of the flash port, each for one family: the test has included the
/// port for FAKE_STM32 and names the PART.
#ifndef FAKE_STM32_CASES_H
#define FAKE_STM32_CASES_H

#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

static struct esk_word_flash port;
static struct esk_internal_flash flash;
static struct esk_internal_flash_config config;
static struct chip_calls calls;
static uint32_t nmis;

void NMI_Handler(void) {
    nmis++;
    ESK_CHECK(esk_stm32_flash_nmi());
}

/// As after a reset: the caches are empty.
static int start(void) {
    stm32_fake_refresh();
    stm32_fake.errors = FAKE_PGS;
    esk_stm32_flash_port(&port);
    return esk_internal_flash_init(&flash, &port, &config);
}

/// All but the first erase page, or the flash's last quarter.
static void flash_make(void) {
    stm32_fake_reset(&PART, 31);
    uint32_t bytes = PART.erase_bytes * 15;
    config = (struct esk_internal_flash_config){
        .address = PART.start + PART.bytes -
                   (bytes < PART.bytes / 4 ? PART.bytes / 4 : bytes),
    };
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &stm32_fake.model->chip, &flash.device, start, 13);
}

static const char *violation(void) {
    return stm32_fake.model->chip.violation;
}

ESK_TEST(stm32_flash_takes_its_geometry_from_the_hal) {
    flash_make();
    const struct esk_geometry *geometry = &flash.device.geometry;
    esk_page_id last = geometry->block_count * geometry->block_pages - 1;
    ESK_CHECK_INT(geometry->program_bytes, PART.word_bytes);
    ESK_CHECK_INT(geometry->block_pages * geometry->page_bytes,
                  PART.erase_bytes);
    ESK_CHECK_INT(geometry->programs_per_page_max, 1);
    ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
    chip_check(&calls, last);
    ESK_CHECK_INT((uint8_t)~stm32_fake.model->array[PART.bytes - 1],
                  calls.data[geometry->page_bytes - 1]);
    ESK_CHECK_INT(chip_program(&calls, last + 1), ESK_E_IO);
    ESK_CHECK_INT(chip_read(&calls, last + 1), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, geometry->block_count), ESK_E_IO);
    ESK_CHECK(!stm32_fake.unlocked);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(stm32_flash_erases_in_both_banks) {
    flash_make();
    config.address = PART.start + PART.erase_bytes;
    ESK_CHECK_INT(start(), ESK_OK);
    uint32_t pages = flash.device.geometry.block_pages;
    uint32_t half = PART.bytes / PART.erase_bytes / 2;
    uint32_t blocks[] = {0, half - 2, half - 1, 2 * half - 2};
    for (unsigned i = 0; i < 4; i++) {
        ESK_CHECK_INT(chip_program(&calls, blocks[i] * pages), ESK_OK);
    }
    for (unsigned i = 0; i < 4; i++) {
        chip_check(&calls, blocks[i] * pages);
        ESK_CHECK_INT(chip_erase(&calls, blocks[i]), ESK_OK);
        chip_check_erased(&calls, blocks[i] * pages);
    }
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(stm32_flash_takes_data_at_any_alignment) {
    flash_make();
    uint8_t word = PART.word_bytes;
    const struct esk_device *device = &flash.device;
    for (uint16_t i = 0; i < 4; i++) {
        ESK_CHECK_INT(device->ops->program(device, i, word, calls.data + i,
                                           (uint16_t)(2 * word)),
                      ESK_OK);
        ESK_CHECK_INT(chip_read(&calls, i), ESK_OK);
        ESK_CHECK_INT(calls.seen[word - 1], 0xFF);
        ESK_CHECK_BYTES(calls.seen + word, calls.data + i, 2u * word);
    }
    ESK_CHECK_INT(device->ops->program(device, 5, 4, calls.data, word),
                  ESK_E_INVALID);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(stm32_flash_maps_the_errors_of_the_hal) {
    flash_make();
    stm32_fake.model->is_protected = true;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_READ_ONLY);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_READ_ONLY);
    stm32_fake.model->is_protected = false;
    stm32_fake.stays_locked = true;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_IO);
    stm32_fake.stays_locked = false;
    for (int fails = 2; fails <= 3; fails++) {
        stm32_fake.fails = fails;
        ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_IO);
        stm32_fake.fails = fails;
        ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_IO);
    }
    /* The H5 has no such error; its word is read back. */
    stm32_fake.model->chip.faults.fail_erase = 1;
    ESK_CHECK_INT(chip_erase(&calls, 0),
                  FAKE_STM32 == 5 ? ESK_E_IO : ESK_E_MEDIUM);
    stm32_fake.model->chip.faults.fail_program = 2;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, 0);
    ESK_CHECK(!stm32_fake.unlocked);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(stm32_flash_reads_a_torn_word_as_corrupt) {
    flash_make();
    struct esk_chip *chip = &stm32_fake.model->chip;
    chip->faults.cut_op = chip->ops_begun + 3;
    chip->faults.cut_permille = 400;
    ESK_CHECK(chip_program(&calls, 7) != ESK_OK);
    esk_chip_power_on(chip);
    ESK_CHECK_INT(start(), ESK_OK);
    nmis = 0;
    ESK_CHECK_INT(chip_read(&calls, 7), ESK_E_CORRUPT);
    ESK_CHECK_INT(nmis != 0, FAKE_STM32 != 7);
    ESK_CHECK_INT(stm32_fake.faultmask, 0);
    ESK_CHECK_INT(chip_read(&calls, 6), ESK_OK);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    chip_check_erased(&calls, 7);
    ESK_CHECK(!esk_stm32_flash_nmi());
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(series_on_stm32_flash_survives_power_cuts_and_failing_calls) {
    flash_make();
    struct chip_series run = {.name = PART.name,
                              .chip = &stm32_fake.model->chip,
                              .device = &flash.device,
                              .start = start,
                              .cut_ops = 600,
                              .cuts = 100};
    chip_series_run(&run, 3);
}

#endif
