// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The RP2040 flash driver on a fake of the Pico SDK.
#include "port/rp2_flash/rp2_flash.h"

#include <hardware/flash.h>
#include <hardware/regs/addressmap.h>
#include <pico/error.h>

#include "rp2_fake.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

enum { REGION = 256 * 1024 };

static struct esk_rp2_flash flash;
static struct esk_rp2_flash_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_rp2_flash_init(&flash, &config);
}

/// An erased flash, its last 256 KB the region.
static void flash_make(uint16_t page_bytes) {
    ESK_CONTEXT("page %u", page_bytes);
    rp2_fake_reset(page_bytes);
    config = (struct esk_rp2_flash_config){.bytes = REGION,
                                           .page_bytes = page_bytes};
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &rp2_fake.chip, &flash.device, start, 11);
}

static int program(esk_page_id page, uint16_t offset, const void *data,
                   uint16_t bytes) {
    return flash.device.ops->program(&flash.device, page, offset, data, bytes);
}

ESK_TEST(rp2_flash_takes_its_geometry_from_the_region) {
    static const uint16_t pages[] = {128, 256, 512, 4096};
    for (unsigned i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        flash_make(pages[i]);
        const struct esk_geometry *geometry = &flash.device.geometry;
        ESK_CHECK_INT(geometry->block_count, REGION / 4096);
        ESK_CHECK_INT(geometry->page_bytes, pages[i]);
        ESK_CHECK_INT(geometry->block_pages, 4096 / pages[i]);
        ESK_CHECK_INT(geometry->program_bytes, 1);
        ESK_CHECK_INT(flash.address, PICO_FLASH_SIZE_BYTES - REGION);
        esk_page_id last = geometry->block_count * geometry->block_pages - 1;
        ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
        chip_check(&calls, last);
        ESK_CHECK_BYTES(fake_rp2_xip + PICO_FLASH_SIZE_BYTES - pages[i],
                        calls.data, pages[i]);
        ESK_CHECK_INT(chip_erase(&calls, geometry->block_count - 1), ESK_OK);
        chip_check_erased(&calls, last);
        ESK_CHECK_INT(rp2_fake.timeout, 1000);
        ESK_CHECK_TEXT(rp2_fake.chip.violation, "");
    }
    config.address = 64 * 1024;
    config.program_bytes = 256;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(flash.device.geometry.program_bytes, 256);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    ESK_CHECK_BYTES(fake_rp2_xip + 64 * 1024, calls.data, 256);
}

ESK_TEST(rp2_flash_refuses_regions_that_do_not_fit) {
    static const struct esk_rp2_flash_config wrong[] = {
        {.bytes = 0},
        {.bytes = REGION + 256},
        {.bytes = 2 * PICO_FLASH_SIZE_BYTES},
        {.bytes = PICO_FLASH_SIZE_BYTES},
        {.address = PICO_FLASH_SIZE_BYTES - 4096, .bytes = REGION},
        {.address = 2 * PICO_FLASH_SIZE_BYTES, .bytes = REGION},
        {.address = 1000, .bytes = REGION},
        {.bytes = REGION, .page_bytes = 384},
        {.bytes = REGION, .page_bytes = 8192},
        {.bytes = REGION, .program_bytes = 512},
        {.bytes = 8192},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("region %u", i);
        config = wrong[i];
        ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    }
}

ESK_TEST(rp2_flash_programs_parts_and_leaves_the_rest) {
    flash_make(512);
    uint8_t odd[600];
    uint8_t seen[512];
    memset(odd, 0x5A, sizeof odd);
    ESK_CHECK_INT(program(3, 0, odd + 1, 1), ESK_OK);
    ESK_CHECK_INT(program(3, 1, odd + 3, 7), ESK_OK);
    ESK_CHECK_INT(rp2_fake.chip.ops_begun, 2);
    ESK_CHECK_INT(program(3, 250, odd + 5, 200), ESK_OK);
    ESK_CHECK_INT(rp2_fake.chip.ops_begun, 4);
    ESK_CHECK_INT(program(3, 511, odd, 1), ESK_OK);
    ESK_CHECK_INT(program(3, 512, odd, 0), ESK_OK);
    ESK_CHECK_INT(flash.device.ops->read(&flash.device, 3, 0, seen, 512),
                  ESK_OK);
    for (unsigned i = 0; i < 512; i++) {
        bool done = i < 8 || (i >= 250 && i < 450) || i == 511;
        ESK_CHECK_INT(seen[i], done ? 0x5A : 0xFF);
    }
    /* A constant of the firmware is in the flash itself. */
    ESK_CHECK_INT(program(4, 3, fake_rp2_xip, 100), ESK_OK);
    ESK_CHECK_TEXT(rp2_fake.chip.violation, "");
}

ESK_TEST(rp2_flash_stays_in_its_region) {
    flash_make(256);
    uint32_t pages = REGION / 256;
    ESK_CHECK_INT(chip_program(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(chip_program(&calls, ESK_PAGE_NONE), ESK_E_IO);
    ESK_CHECK_INT(chip_read(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(program(0, 1, calls.data, 256), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, REGION / 4096), ESK_E_IO);
    ESK_CHECK_INT(rp2_fake.chip.ops_begun, 0);
}

ESK_TEST(rp2_flash_reports_what_failed) {
    flash_make(256);
    rp2_fake.chip.faults.fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    rp2_fake.chip.faults.fail_erase = 1;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    rp2_fake.core_1 = PICO_ERROR_NOT_PERMITTED;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_IO);
    rp2_fake.core_1 = 0;
    chip_check_erased(&calls, 0);
    rp2_fake.core_1 = PICO_ERROR_TIMEOUT;
    rp2_fake.late = true;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_IO);
    rp2_fake.core_1 = 0;
    chip_check(&calls, 0);
    ESK_CHECK_TEXT(rp2_fake.chip.violation, "");
}

static uint32_t own_calls;

static int own_execute(void (*call)(void *), void *parameter,
                       uint32_t timeout_ms) {
    own_calls++;
    ESK_CHECK_INT(timeout_ms, 5);
    rp2_fake.safe = true;
    call(parameter);
    rp2_fake.safe = false;
    return 0;
}

ESK_TEST(rp2_flash_takes_another_way_to_stop_the_other_core) {
    flash_make(256);
    config.execute = own_execute;
    config.timeout_ms = 5;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    ESK_CHECK_INT(own_calls, 2);
    ESK_CHECK_TEXT(rp2_fake.chip.violation, "");
}

ESK_TEST(series_on_rp2_flash_survives_power_cuts_and_failing_calls) {
    static const uint16_t pages[] = {256, 512};
    for (unsigned i = 0; i < 2; i++) {
        flash_make(pages[i]);
        struct chip_series run = {.name = "RP2040",
                                  .chip = &rp2_fake.chip,
                                  .device = &flash.device,
                                  .start = start,
                                  .cuts = 200};
        chip_series_run(&run, i + 5);
    }
}

ESK_TEST_MAIN()
