// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The flash area driver on a fake of Zephyr's flash map and flash drivers.
#include "port/zephyr_flash_area/zephyr_flash_area.h"

#include <errno.h>

#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"
#include "zephyr_fake.h"

enum { KB = 1024 };

/* A chip behind SPI; flash on the chip with and without ECC; one that erases
   to 0; RRAM and FRAM, which need no erase. */
static const struct zephyr_fake_part parts[] = {
    {.name = "jedec,spi-nor",
     .sectors = {{256, 4 * KB}},
     .area_offset = 512 * KB,
     .area_bytes = 256 * KB,
     .parameters = {.write_block_size = 1, .erase_value = 0xFF}},
    {.name = "nRF52840",
     .sectors = {{256, 4 * KB}},
     .area_offset = 960 * KB,
     .area_bytes = 64 * KB,
     .parameters = {.write_block_size = 4, .erase_value = 0xFF}},
    {.name = "STM32G4",
     .sectors = {{256, 2 * KB}},
     .area_offset = 384 * KB,
     .area_bytes = 64 * KB,
     .parameters = {.write_block_size = 8, .erase_value = 0xFF},
     .has_ecc = true},
    {.name = "STM32H743",
     .sectors = {{16, 128 * KB}},
     .area_offset = 512 * KB,
     .area_bytes = 1536 * KB,
     .parameters = {.write_block_size = 32, .erase_value = 0xFF},
     .has_ecc = true},
    {.name = "STM32L1",
     .sectors = {{2048, 256}},
     .area_offset = 384 * KB,
     .area_bytes = 64 * KB,
     .parameters = {.write_block_size = 4, .erase_value = 0x00}},
    {.name = "nRF54L15",
     .sectors = {{256, 4 * KB}},
     .area_offset = 960 * KB,
     .area_bytes = 64 * KB,
     .parameters = {.write_block_size = 16,
                    .caps = {.no_explicit_erase = true},
                    .erase_value = 0xFF}},
    {.name = "FRAM",
     .sectors = {{128, 1 * KB}},
     .area_offset = 64 * KB,
     .area_bytes = 64 * KB,
     .parameters = {.write_block_size = 1,
                    .caps = {.no_explicit_erase = true},
                    .erase_value = 0x00}},
};
enum { PARTS = sizeof parts / sizeof parts[0], NOR = 0, H7 = 3, RRAM = 5 };

static struct esk_zephyr_flash_area flash;
static struct esk_zephyr_flash_area_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_zephyr_flash_area_init(&flash, &config);
}

static void flash_make(const struct zephyr_fake_part *part) {
    ESK_CONTEXT("%s", part->name);
    zephyr_fake_reset(part, 17);
    config = (struct esk_zephyr_flash_area_config){.id = FAKE_ZEPHYR_ID};
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &zephyr_fake.chip, &flash.device, start, 11);
}

static const char *violation(void) {
    return zephyr_fake.chip.violation;
}

ESK_TEST(zephyr_flash_area_takes_its_geometry_from_the_area) {
    for (unsigned i = 0; i < PARTS; i++) {
        const struct zephyr_fake_part *part = &parts[i];
        const struct flash_parameters *parameters = &part->parameters;
        uint32_t sector = part->sectors[0].bytes;
        bool overwrites = parameters->caps.no_explicit_erase;
        flash_make(part);
        const struct esk_geometry *geometry = &flash.device.geometry;
        ESK_CHECK_INT(geometry->block_count, part->area_bytes / sector);
        ESK_CHECK_INT(geometry->page_bytes, 256);
        ESK_CHECK_INT(geometry->block_pages, sector / 256);
        ESK_CHECK_INT(geometry->program_bytes, parameters->write_block_size);
        ESK_CHECK_INT(geometry->programs_per_page_max,
                      parameters->write_block_size >= 8 ? 1 : 0);
        ESK_CHECK_INT(geometry->erased_value, parameters->erase_value);
        ESK_CHECK_INT(geometry->flags, overwrites ? ESK_MEDIUM_OVERWRITE : 0);
        esk_page_id last = geometry->block_count * geometry->block_pages - 1;
        ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
        chip_check(&calls, last);
        ESK_CHECK_BYTES(zephyr_fake_array + part->area_offset +
                            part->area_bytes - 256,
                        calls.data, 256);
        ESK_CHECK_INT(chip_erase(&calls, geometry->block_count - 1), ESK_OK);
        ESK_CHECK_INT(chip_read(&calls, last), ESK_OK);
        ESK_CHECK_INT(calls.seen[5],
                      overwrites ? calls.data[5] : geometry->erased_value);
        ESK_CHECK_INT(flash.device.ops->sync(&flash.device), ESK_OK);
        ESK_CHECK_TEXT(violation(), "");
    }
}

ESK_TEST(zephyr_flash_area_keeps_the_contract) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(&parts[i]);
        chip_check_contract(&calls, flash.device.geometry.block_count);
        ESK_CHECK_TEXT(violation(), "");
    }
}

ESK_TEST(zephyr_flash_area_takes_pages_of_whole_write_blocks) {
    static const struct {
        uint32_t sector;
        uint32_t write_block;
        uint16_t asked;
        uint16_t page;
        int status;
    } cases[] = {
        {4 * KB, 1, 0, 256, ESK_OK},
        {4 * KB, 1, 512, 512, ESK_OK},
        {4 * KB, 1, 4096, 4096, ESK_OK},
        {4 * KB, 512, 0, 512, ESK_OK},
        {4 * KB, 2048, 0, 2048, ESK_OK},
        {4 * KB, 32, 128, 128, ESK_OK},
        {4 * KB, 1, 384, 0, ESK_E_GEOMETRY},
        {4 * KB, 1, 8192, 0, ESK_E_GEOMETRY},
        {4 * KB, 1, 64, 0, ESK_E_GEOMETRY},
        {4 * KB, 512, 256, 0, ESK_E_GEOMETRY},
        {4 * KB, 24, 256, 0, ESK_E_GEOMETRY},
        {4 * KB, 0, 0, 0, ESK_E_GEOMETRY},
        {4 * KB, 65536, 0, 0, ESK_E_GEOMETRY},
        {4 * KB, 65792, 256, 0, ESK_E_GEOMETRY},
        {65792, 65792, 0, 0, ESK_E_GEOMETRY},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", i);
        const struct zephyr_fake_part part = {
            .sectors = {{16, cases[i].sector}},
            .area_bytes = 16 * cases[i].sector,
            .parameters = {.write_block_size = cases[i].write_block},
        };
        zephyr_fake_reset(&part, i);
        config.page_bytes = cases[i].asked;
        ESK_CHECK_INT(start(), cases[i].status);
        ESK_CHECK_INT(zephyr_fake.closes, cases[i].status == ESK_OK ? 0 : 1);
        if (cases[i].status == ESK_OK) {
            ESK_CHECK_INT(flash.device.geometry.page_bytes, cases[i].page);
        }
    }
}

ESK_TEST(zephyr_flash_area_refuses_areas_that_are_not_of_equal_sectors) {
    static const struct {
        struct zephyr_fake_sectors sectors[2];
        off_t offset;
        size_t bytes;
        int status;
    } cases[] = {
        {{{4, 16 * KB}, {8, 64 * KB}}, 0, 64 * KB, ESK_OK},
        {{{4, 16 * KB}, {8, 64 * KB}}, 64 * KB, 512 * KB, ESK_OK},
        {{{4, 16 * KB}, {8, 64 * KB}}, 0, 512 * KB, ESK_E_UNSUPPORTED},
        {{{4, 16 * KB}, {8, 64 * KB}}, 48 * KB, 80 * KB, ESK_E_UNSUPPORTED},
        {{{64, 4 * KB}}, 1024, 64 * KB, ESK_E_GEOMETRY},
        {{{64, 4 * KB}}, 4 * KB, 63 * KB, ESK_E_GEOMETRY},
        {{{64, 4 * KB}}, 128 * KB, 256 * KB, ESK_E_GEOMETRY},
        {{{64, 4 * KB}}, 512 * KB, 64 * KB, ESK_E_GEOMETRY},
        {{{64, 4 * KB}}, 0, 8 * KB, ESK_E_GEOMETRY},
        {{{64, 4 * KB}}, 0, 0, ESK_E_GEOMETRY},
        {{{4, 1024 * KB}}, 0, 4096 * KB, ESK_OK},
        {{{4, 2048 * KB}}, 0, 8192 * KB, ESK_E_GEOMETRY},
        {{{4, 65537 * 256}}, 0, 4 * 65537 * 256, ESK_E_GEOMETRY},
    };
    config.page_bytes = 0;
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", i);
        struct zephyr_fake_part part = {
            .area_offset = cases[i].offset,
            .area_bytes = cases[i].bytes,
            .parameters = {.write_block_size = 1, .erase_value = 0xFF},
        };
        memcpy(part.sectors, cases[i].sectors, sizeof part.sectors);
        zephyr_fake_reset(&part, i);
        ESK_CHECK_INT(start(), cases[i].status);
        ESK_CHECK_INT(zephyr_fake.opens, 1);
        ESK_CHECK_INT(zephyr_fake.closes, cases[i].status == ESK_OK ? 0 : 1);
        ESK_CHECK_TEXT(violation(), "");
    }
}

ESK_TEST(zephyr_flash_area_opens_and_closes_its_area) {
    static const int errors[] = {-EACCES, -ENODEV};
    flash_make(&parts[NOR]);
    esk_zephyr_flash_area_deinit(&flash);
    ESK_CHECK_INT(zephyr_fake.closes, 1);
    ESK_CHECK_TEXT(violation(), "");
    for (unsigned i = 0; i < 2; i++) {
        zephyr_fake.open_fails = errors[i];
        ESK_CHECK_INT(start(), ESK_NOT_FOUND);
    }
    zephyr_fake.open_fails = 0;
    config.id = FAKE_ZEPHYR_ID + 1;
    ESK_CHECK_INT(start(), ESK_NOT_FOUND);
    ESK_CHECK_INT(zephyr_fake.opens, 1);
    ESK_CHECK_INT(zephyr_fake.closes, 1);
}

ESK_TEST(zephyr_flash_area_stays_in_its_area) {
    flash_make(&parts[NOR]);
    uint32_t pages = 256 * KB / 256;
    ESK_CHECK_INT(chip_program(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(chip_program(&calls, ESK_PAGE_NONE), ESK_E_IO);
    ESK_CHECK_INT(chip_read(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, 64), ESK_E_IO);
    flash_make(&parts[RRAM]);
    ESK_CHECK_INT(chip_erase(&calls, 16), ESK_E_IO);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(zephyr_flash_area_maps_errno) {
    static const struct {
        int error;
        int read;
        int change;
    } cases[] = {
        {-EIO, ESK_E_IO, ESK_E_IO},
        {-EINVAL, ESK_E_IO, ESK_E_IO},
        {-ETIMEDOUT, ESK_E_IO, ESK_E_IO},
        {-EACCES, ESK_E_READ_ONLY, ESK_E_READ_ONLY},
        {-EPERM, ESK_E_READ_ONLY, ESK_E_READ_ONLY},
        {-EROFS, ESK_E_READ_ONLY, ESK_E_READ_ONLY},
        {-EBADMSG, ESK_E_CORRUPT, ESK_E_IO},
    };
    flash_make(&parts[NOR]);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("errno %d", -cases[i].error);
        zephyr_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_read(&calls, 0), cases[i].read);
        zephyr_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_program(&calls, 0), cases[i].change);
        zephyr_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_erase(&calls, 0), cases[i].change);
    }
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, 0);
    ESK_CHECK_INT(flash.device.ops->program(&flash.device, 1, 0, calls.data, 0),
                  ESK_OK);
    ESK_CHECK_TEXT(violation(), "");
    flash_make(&parts[H7]);
    ESK_CHECK_INT(
        flash.device.ops->program(&flash.device, 1, 8, calls.data, 32),
        ESK_E_IO);
    ESK_CHECK_TEXT(violation(), "not aligned");
}

/// A page with a write block that a power cut tore.
static void page_tear(esk_page_id page) {
    struct esk_chip *chip = &zephyr_fake.chip;
    chip->faults.cut_op = chip->ops_begun + 3;
    chip->faults.cut_permille = 400;
    ESK_CHECK(chip_program(&calls, page) != ESK_OK);
    esk_chip_power_on(chip);
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(zephyr_flash_area_reads_a_torn_word_as_corrupt) {
    flash_make(&parts[H7]);
    page_tear(7);
    ESK_CHECK_INT(chip_read(&calls, 7), ESK_E_CORRUPT);
    ESK_CHECK_INT(chip_read(&calls, 6), ESK_OK);
    zephyr_fake.fails = -EINVAL;
    ESK_CHECK_INT(chip_read(&calls, 6), ESK_E_IO);
    config.ecc = ESK_ZEPHYR_FLASH_ECC_NO;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(chip_read(&calls, 7), ESK_E_IO);
    ESK_CHECK_INT(flash.device.geometry.programs_per_page_max, 0);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    chip_check_erased(&calls, 7);
    ESK_CHECK_TEXT(violation(), "");
    flash_make(&parts[NOR]);
    config.ecc = ESK_ZEPHYR_FLASH_ECC_YES;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(flash.device.geometry.programs_per_page_max, 1);
    zephyr_fake.fails = -EIO;
    ESK_CHECK_INT(chip_read(&calls, 7), ESK_E_CORRUPT);
}

ESK_TEST(zephyr_flash_area_verifies_where_it_is_asked_to) {
    struct esk_chip_faults *faults = &zephyr_fake.chip.faults;
    flash_make(&parts[NOR]);
    zephyr_fake.silent = true;
    faults->fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    config.verify = true;
    ESK_CHECK_INT(start(), ESK_OK);
    faults->fail_program = 1;
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_program(&calls, 2), ESK_OK);
    ESK_CHECK_INT(
        flash.device.ops->program(&flash.device, 3, 250, calls.data, 5),
        ESK_OK);
    /* The write succeeds, the read after it fails. */
    faults->bus_error_at = zephyr_fake.chip.bytes + 257;
    ESK_CHECK_INT(chip_program(&calls, 4), ESK_E_IO);
    flash_make(&parts[H7]);
    zephyr_fake.silent = true;
    config.verify = true;
    ESK_CHECK_INT(start(), ESK_OK);
    faults->fail_program = 2;
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_E_MEDIUM);
    ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
    chip_check(&calls, 1);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(zephyr_flash_area_overwrites_where_no_erase_is_needed) {
    flash_make(&parts[RRAM]);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    uint64_t begun = zephyr_fake.chip.ops_begun;
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
    ESK_CHECK_INT(zephyr_fake.chip.ops_begun, begun);
    chip_check(&calls, 0);
    memset(calls.data, 0x3C, sizeof calls.data);
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, 0);
    ESK_CHECK_TEXT(violation(), "");
}

ESK_TEST(series_on_zephyr_flash_area_survives_power_cuts) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(&parts[i]);
        struct chip_series run = {
            .name = parts[i].name,
            .chip = &zephyr_fake.chip,
            .device = &flash.device,
            .start = start,
            .cut_ops = parts[i].parameters.write_block_size > 1 ? 600 : 0,
            .cuts = 60,
        };
        chip_series_run(&run, i + 5);
    }
}

ESK_TEST_MAIN()
