// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The partition driver on a fake of ESP-IDF's partitions.
#include "port/esp_partition/esk_esp_partition.h"

#include "esp_fake.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

enum { KB = 1024, PARTITION = 256 * KB, AT = FAKE_ESP_BYTES / 2 };

static struct esk_esp_partition flash;
static struct esk_esp_partition_config config;
static struct chip_calls calls;

static int start(void) {
    return esk_esp_partition_init(&flash, &config);
}

/// An erased partition.
static void flash_make(uint16_t page_bytes) {
    ESK_CONTEXT("page %u", page_bytes);
    esp_fake_reset(PARTITION, page_bytes);
    config = (struct esk_esp_partition_config){.label = "esker",
                                               .page_bytes = page_bytes};
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &esp_fake.chip, &flash.device, start, 11);
}

static int program(esk_page_id page, uint16_t offset, const void *data,
                   uint16_t bytes) {
    return flash.device.ops->program(&flash.device, page, offset, data, bytes);
}

ESK_TEST(esp_partition_takes_its_geometry_from_the_partition) {
    static const uint16_t pages[] = {0, 128, 256, 512, 4096};
    for (unsigned i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        uint16_t page = pages[i] != 0 ? pages[i] : 256;
        flash_make(pages[i]);
        const struct esk_geometry *geometry = &flash.device.geometry;
        ESK_CHECK_INT(geometry->block_count, PARTITION / 4096);
        ESK_CHECK_INT(geometry->page_bytes, page);
        ESK_CHECK_INT(geometry->block_pages, 4096 / page);
        ESK_CHECK_INT(geometry->program_bytes, 1);
        ESK_CHECK_INT(geometry->programs_per_page_max, 0);
        ESK_CHECK_INT(geometry->erased_value, 0xFF);
        ESK_CHECK_INT(geometry->flags, 0);
        ESK_CHECK_INT(esp_fake.calls, 0);
        esk_page_id last = geometry->block_count * geometry->block_pages - 1;
        ESK_CHECK_INT(chip_program(&calls, last), ESK_OK);
        chip_check(&calls, last);
        ESK_CHECK_BYTES(esp_fake_array + AT + PARTITION - page, calls.data,
                        page);
        ESK_CHECK_INT(chip_erase(&calls, geometry->block_count - 1), ESK_OK);
        chip_check_erased(&calls, last);
        ESK_CHECK_INT(flash.device.ops->sync(&flash.device), ESK_OK);
        ESK_CHECK_INT(flash.error, ESP_OK);
        ESK_CHECK_TEXT(esp_fake.chip.violation, "");
    }
}

ESK_TEST(esp_partition_keeps_the_contract) {
    static const uint16_t pages[] = {128, 256, 512, 4096};
    for (unsigned i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        flash_make(pages[i]);
        config.program_bytes = i % 2 == 0 ? 0 : 4;
        ESK_CHECK_INT(start(), ESK_OK);
        chip_check_contract(&calls, PARTITION / 4096);
    }
}

ESK_TEST(esp_partition_refuses_geometries_that_do_not_fit) {
    static const struct {
        uint32_t size;
        uint32_t erase_size;
        uint16_t page_bytes;
        uint16_t program_bytes;
        int status;
    } cases[] = {
        {PARTITION, 4096, 0, 0, ESK_OK},
        {PARTITION, 4096, 0, 16, ESK_OK},
        {PARTITION, 4096, 512, 512, ESK_OK},
        /* What registers an external chip may leave the erase unit unset. */
        {PARTITION, 0, 0, 0, ESK_OK},
        {4 * 4096, 4096, 0, 0, ESK_OK},
        {PARTITION, 4096, 384, 0, ESK_E_GEOMETRY},
        {PARTITION, 4096, 8192, 0, ESK_E_GEOMETRY},
        {PARTITION, 4096, 64, 0, ESK_E_GEOMETRY},
        {PARTITION, 4096, 0, 3, ESK_E_GEOMETRY},
        {PARTITION, 4096, 0, 512, ESK_E_GEOMETRY},
        {3 * 4096, 4096, 0, 0, ESK_OK},
        {2 * 4096, 4096, 0, 0, ESK_E_GEOMETRY},
        {0, 4096, 0, 0, ESK_E_GEOMETRY},
        {PARTITION + 2048, 4096, 0, 0, ESK_E_GEOMETRY},
        {PARTITION + 2048, 0, 0, 0, ESK_E_GEOMETRY},
        /* As 16 bits the pages of a block would be 32. */
        {8 * 65568 * 128, 65568 * 128, 128, 0, ESK_E_GEOMETRY},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        flash_make(256);
        ESK_CONTEXT("case %u", i);
        esp_fake.table[0].size = cases[i].size;
        esp_fake.table[0].erase_size = cases[i].erase_size;
        config.page_bytes = cases[i].page_bytes;
        config.program_bytes = cases[i].program_bytes;
        ESK_CHECK_INT(start(), cases[i].status);
        ESK_CHECK_INT(esp_fake.calls, 0);
        if (cases[i].status == ESK_OK) {
            ESK_CHECK_INT(flash.device.geometry.block_count,
                          cases[i].size / 4096);
        }
    }
}

ESK_TEST(esp_partition_is_found_by_label_type_and_subtype) {
    static const struct {
        struct esk_esp_partition_config config;
        int row; ///< -1: no such partition
    } cases[] = {
        {{.label = "esker"}, 0},
        {{.label = "logs"}, 1},
        {{.subtype = 0x41}, 1},
        {{.type = 0x40}, 2},
        {{.type = 0x40, .subtype = 0x02}, 3},
        {{.label = "other"}, -1},
        {{.label = "esker", .subtype = 0x41}, -1},
        {{.label = "raw", .type = 0x40}, 2},
        {{.label = "raw"}, -1},
        {{.label = "app"}, -1},
    };
    flash_make(256);
    const esp_partition_t more[] = {
        {.type = 1, .subtype = 0x41, .label = "logs"},
        {.type = 0x40, .subtype = 0x01, .label = "raw"},
        {.type = 0x40, .subtype = 0x02, .label = "raw2"},
        {.type = ESP_PARTITION_TYPE_APP, .label = "app"},
    };
    for (unsigned i = 0; i < sizeof more / sizeof more[0]; i++) {
        esp_fake.table[i + 1] = more[i];
        esp_fake.table[i + 1].size = PARTITION;
        esp_fake.table[i + 1].erase_size = 4096;
    }
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("case %u", i);
        config = cases[i].config;
        ESK_CHECK_INT(start(), cases[i].row >= 0 ? ESK_OK : ESK_NOT_FOUND);
        ESK_CHECK(flash.partition ==
                  (cases[i].row >= 0 ? &esp_fake.table[cases[i].row] : NULL));
    }
    /* The first data partition is not for the asking: it would be NVS. */
    uint32_t finds = esp_fake.finds;
    config = (struct esk_esp_partition_config){.page_bytes = 256};
    ESK_CHECK_INT(start(), ESK_E_INVALID);
    ESK_CHECK_INT(esp_fake.finds, finds);
}

ESK_TEST(esp_partition_refuses_an_encrypted_partition) {
    flash_make(256);
    esp_fake.table[0].encrypted = true;
    ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    ESK_CHECK_INT(esp_fake.calls, 0);
}

ESK_TEST(esp_partition_refuses_a_read_only_partition_unless_it_may_be) {
    flash_make(256);
    esp_fake.table[0].readonly = true;
    ESK_CHECK_INT(start(), ESK_E_READ_ONLY);
    config.read_only = true;
    ESK_CHECK_INT(start(), ESK_OK);
    esp_fake.table[0].readonly = false;
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(esp_partition_reads_a_read_only_partition_and_changes_nothing) {
    static const struct esk_volume_config volume_config = {.tables_max = 1};
    static uint64_t arena[512];
    struct esk_volume volume;
    flash_make(256);
    ESK_CHECK_INT(
        esk_volume_format(&flash.device, &volume_config, arena, sizeof arena),
        ESK_OK);
    uint64_t begun = esp_fake.chip.ops_begun;
    esp_fake.table[0].readonly = true;
    config.read_only = true;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(esk_volume_mount(&volume, &flash.device, ESK_MOUNT_READ_ONLY,
                                   arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(flash.error, ESP_OK);
    ESK_CHECK_INT(chip_program(&calls, 900), ESK_E_READ_ONLY);
    ESK_CHECK_INT(flash.error, ESP_ERR_NOT_ALLOWED);
    ESK_CHECK_INT(chip_erase(&calls, 0), ESK_E_READ_ONLY);
    ESK_CHECK_INT(esp_fake.chip.ops_begun, begun);
    ESK_CHECK_TEXT(esp_fake.chip.violation, "");
}

ESK_TEST(esp_partition_programs_parts_and_leaves_the_rest) {
    flash_make(512);
    uint8_t odd[600];
    memset(odd, 0x5A, sizeof odd);
    ESK_CHECK_INT(program(3, 0, odd + 1, 1), ESK_OK);
    ESK_CHECK_INT(program(3, 1, odd + 3, 7), ESK_OK);
    ESK_CHECK_INT(esp_fake.chip.ops_begun, 2);
    ESK_CHECK_INT(program(3, 250, odd + 5, 200), ESK_OK);
    ESK_CHECK_INT(program(3, 511, odd, 1), ESK_OK);
    ESK_CHECK_INT(program(3, 512, odd, 0), ESK_OK);
    ESK_CHECK_INT(chip_read(&calls, 3), ESK_OK);
    for (unsigned i = 0; i < 512; i++) {
        bool done = i < 8 || (i >= 250 && i < 450) || i == 511;
        ESK_CHECK_INT(calls.seen[i], done ? 0x5A : 0xFF);
    }
    ESK_CHECK_TEXT(esp_fake.chip.violation, "");
}

ESK_TEST(esp_partition_stays_in_its_partition) {
    flash_make(256);
    uint32_t pages = PARTITION / 256;
    ESK_CHECK_INT(chip_program(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(chip_program(&calls, ESK_PAGE_NONE), ESK_E_IO);
    ESK_CHECK_INT(chip_read(&calls, pages), ESK_E_IO);
    ESK_CHECK_INT(program(0, 1, calls.data, 256), ESK_E_IO);
    ESK_CHECK_INT(chip_erase(&calls, PARTITION / 4096), ESK_E_IO);
    ESK_CHECK_INT(esp_fake.calls, 0);
    ESK_CHECK_TEXT(esp_fake.chip.violation, "");
}

ESK_TEST(esp_partition_maps_errors_and_keeps_the_last) {
    static const struct {
        esp_err_t error;
        int status;
    } cases[] = {
        {ESP_FAIL, ESK_E_IO},
        {ESP_ERR_NO_MEM, ESK_E_IO},
        {ESP_ERR_INVALID_ARG, ESK_E_IO},
        {ESP_ERR_INVALID_SIZE, ESK_E_IO},
        {ESP_ERR_TIMEOUT, ESK_E_IO},
        {ESP_ERR_NOT_SUPPORTED, ESK_E_IO},
        {ESP_ERR_FLASH_NOT_INITIALISED, ESK_E_IO},
        {ESP_ERR_NOT_ALLOWED, ESK_E_READ_ONLY},
        {ESP_ERR_FLASH_PROTECTED, ESK_E_READ_ONLY},
    };
    flash_make(256);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ESK_CONTEXT("error 0x%x", (unsigned)cases[i].error);
        esp_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_read(&calls, 0), cases[i].status);
        ESK_CHECK_INT(flash.error, cases[i].error);
        flash.error = ESP_OK;
        esp_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_program(&calls, 0), cases[i].status);
        ESK_CHECK_INT(flash.error, cases[i].error);
        flash.error = ESP_OK;
        esp_fake.fails = cases[i].error;
        ESK_CHECK_INT(chip_erase(&calls, 0), cases[i].status);
        ESK_CHECK_INT(flash.error, cases[i].error);
    }
    ESK_CHECK_INT(chip_program(&calls, 0), ESK_OK);
    chip_check(&calls, 0);
    /* What went well since does not hide it. */
    ESK_CHECK_INT(flash.error, ESP_ERR_FLASH_PROTECTED);
    ESK_CHECK_TEXT(esp_fake.chip.violation, "");
}

ESK_TEST(series_lives_on_esp_partition_through_power_cuts_and_failing_calls) {
    static const uint16_t pages[] = {256, 512};
    for (unsigned i = 0; i < 2; i++) {
        flash_make(pages[i]);
        struct chip_series run = {.name = "ESP32",
                                  .chip = &esp_fake.chip,
                                  .device = &flash.device,
                                  .start = start,
                                  .cuts = 200};
        chip_series_run(&run, i + 5);
    }
}

ESK_TEST_MAIN()
