// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The internal flash driver against models of nRF52840 and STM32.
#include "port/internal_flash/internal_flash.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "port/device_check/device_check.h"
#include "port/driver.h"
#include "port/models/word_flash_model.h"
#include "test/harness/chip_series.h"

static struct esk_word_flash_model *model;
static struct esk_word_flash port;
static struct esk_internal_flash flash;
static struct esk_internal_flash_config config;
static uint8_t data[512];
static uint8_t seen[512];

static const struct esk_word_flash_part *const parts[] = {
    &esk_word_flash_nrf52840, &esk_word_flash_stm32l476,
    &esk_word_flash_stm32u575, &esk_word_flash_stm32h743};

enum { PARTS = sizeof parts / sizeof parts[0] };

static int start(void) {
    return esk_internal_flash_init(&flash, &port, &config);
}

/// The flash behind the firmware: its upper half, or all but an erase page.
static void flash_make(const struct esk_word_flash_part *part) {
    if (model != NULL) {
        esk_chip_free(&model->chip);
    }
    ESK_CONTEXT("%s", part->name);
    model = esk_word_flash_model_make(part, 41);
    esk_word_flash_model_port(model, &port);
    config = (struct esk_internal_flash_config){
        .address =
            part->start +
            (part->erase_bytes < 65536 ? part->bytes / 2 : part->erase_bytes),
        .page_bytes = part->erase_bytes < 4096 ? 256 : 512,
    };
    for (unsigned i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 31 + 7);
    }
    ESK_CHECK_INT(start(), ESK_OK);
}

static int program(esk_page_id page, uint16_t offset, uint16_t bytes) {
    return flash.device.ops->program(&flash.device, page, offset, data + offset,
                                     bytes);
}

static int read_page(esk_page_id page) {
    return flash.device.ops->read(&flash.device, page, 0, seen,
                                  flash.device.geometry.page_bytes);
}

ESK_TEST(internal_flash_programs_reads_and_erases_its_region) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(parts[i]);
        const struct esk_geometry *geometry = &flash.device.geometry;
        uint16_t bytes = geometry->page_bytes;
        uint32_t last = geometry->block_count * geometry->block_pages - 1;
        ESK_CHECK_INT(geometry->block_count,
                      (parts[i]->start + parts[i]->bytes - config.address) /
                          parts[i]->erase_bytes);
        ESK_CHECK_INT(program(last, 0, 32), ESK_OK);
        ESK_CHECK_INT(program(last, 32, (uint16_t)(bytes - 32)), ESK_OK);
        ESK_CHECK_INT(read_page(last), ESK_OK);
        ESK_CHECK_BYTES(seen, data, bytes);
        ESK_CHECK_INT((uint8_t)~model->array[parts[i]->bytes - 1],
                      data[bytes - 1]);
        ESK_CHECK_INT(program(0, 0, bytes), ESK_OK);
        ESK_CHECK_INT(
            flash.device.ops->erase(&flash.device, geometry->block_count - 1),
            ESK_OK);
        ESK_CHECK_INT(read_page(last), ESK_OK);
        ESK_CHECK_INT(seen[0], 0xFF);
        ESK_CHECK_INT(read_page(0), ESK_OK);
        ESK_CHECK_BYTES(seen, data, bytes);
        ESK_CHECK_INT(program(last + 1, 0, 8), ESK_E_IO);
        ESK_CHECK_INT(read_page(last + 1), ESK_E_IO);
        ESK_CHECK_INT(
            flash.device.ops->erase(&flash.device, geometry->block_count),
            ESK_E_IO);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(internal_flash_keeps_the_device_contract) {
    static uint8_t pages[2 * 512];
    struct esk_device_fault fault;
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(parts[i]);
        uint32_t blocks = flash.device.geometry.block_count;
        (void)esk_device_check(&flash.device, 0, blocks, pages, &fault);
        ESK_CHECK_TEXT(esk_device_fault_text(fault.what), "no fault was found");
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(internal_flash_programs_whole_words_and_no_erased_ones) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(parts[i]);
        uint16_t word = parts[i]->word_bytes;
        ESK_CHECK_INT(program(0, 2, word), ESK_E_INVALID);
        ESK_CHECK_INT(program(0, 0, (uint16_t)(word - 1)), ESK_E_INVALID);
        memset(data, 0xFF, sizeof data);
        data[4 * word] = 0;
        ESK_CHECK_INT(program(0, 0, (uint16_t)(8 * word)), ESK_OK);
        ESK_CHECK_INT(model->chip.ops_begun, 1);
        ESK_CHECK_TEXT(model->chip.violation, "");
    }
}

ESK_TEST(internal_flash_reports_what_is_wrong) {
    flash_make(parts[1]);
    config.bytes = parts[1]->bytes / 2 + 2048;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.bytes = 3000;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.bytes = 0;
    config.address += 1024;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.address = 4096;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.address = parts[1]->start;
    config.page_bytes = 384;
    ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    config.page_bytes = 0;
    ESK_CHECK_INT(start(), ESK_OK);
    ESK_CHECK_INT(flash.device.geometry.page_bytes, 256);
    model->is_protected = true;
    ESK_CHECK_INT(program(0, 0, 8), ESK_E_READ_ONLY);
    ESK_CHECK_INT(flash.device.ops->erase(&flash.device, 0), ESK_E_READ_ONLY);
    static const uint8_t words[] = {0, 2, 12, 24, 64};
    for (unsigned i = 0; i < sizeof words; i++) {
        port.word_bytes = words[i];
        ESK_CHECK_INT(start(), ESK_E_UNSUPPORTED);
    }
}

ESK_TEST(internal_flash_acknowledges_nothing_that_failed) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(parts[i]);
        model->chip.faults.fail_program = 3;
        ESK_CHECK_INT(program(0, 0, 128), ESK_E_MEDIUM);
        model->chip.faults.fail_erase = 1;
        ESK_CHECK_INT(flash.device.ops->erase(&flash.device, 0), ESK_E_MEDIUM);
        ESK_CHECK_INT(flash.device.ops->erase(&flash.device, 0), ESK_OK);
        ESK_CHECK_INT(program(0, 0, 128), ESK_OK);
        model->chip.faults.stuck_busy = true;
        ESK_CHECK_INT(program(1, 0, 128), ESK_E_IO);
    }
}

ESK_TEST(internal_flash_reads_memory_where_it_is) {
    /* An address of 32 bits, as on the controller. */
    int zero = open("/dev/zero", O_RDWR);
    uint8_t *low = mmap((void *)(uintptr_t)0x10000000, 4096,
                        PROT_READ | PROT_WRITE, MAP_PRIVATE, zero, 0);
    close(zero);
    ESK_CHECK(low != MAP_FAILED && (uintptr_t)low <= UINT32_MAX);
    flash_make(parts[0]);
    memcpy(low + 512, data, 512);
    port.read = NULL;
    flash.address = (uint32_t)(uintptr_t)low;
    ESK_CHECK_INT(read_page(1), ESK_OK);
    ESK_CHECK_BYTES(seen, data, 512);
    munmap(low, 4096);
}

ESK_TEST(series_on_internal_flash_survives_power_cuts) {
    for (unsigned i = 0; i < PARTS; i++) {
        flash_make(parts[i]);
        struct chip_series run = {.name = parts[i]->name,
                                  .chip = &model->chip,
                                  .device = &flash.device,
                                  .start = start,
                                  .cut_ops = 600,
                                  .cuts = 200};
        chip_series_run(&run, i + 71);
    }
}

ESK_TEST_MAIN()
