// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The file driver on fakes of four libraries' files.
#include "card_fake.h"
#include "sketch.h"
#include "test/harness/chip_calls.h"
#include "test/harness/chip_series.h"

enum { PAGE = 512, BLOCK = 16 * PAGE, BYTES = 32 * BLOCK };

static enum sketch_file kind;
static struct chip_calls calls;

static int start(void) {
    return sketch_start(kind, BYTES, 0, 0);
}

/// A new file of that kind, filled.
static void file_make(int number) {
    kind = (enum sketch_file)number;
    ESK_CONTEXT("file %d", number);
    card_fake_reset((uint64_t)number + 3);
    ESK_CHECK_INT(start(), ESK_OK);
    chip_calls_set(&calls, &card_fake.chip, sketch_device(kind), start, 11);
}

static int sync(void) {
    return calls.device->ops->sync(calls.device);
}

/// Cuts the power, turns it on, and starts the sketch.
static void file_restart(void) {
    esk_chip_power_off(&card_fake.chip);
    esk_chip_power_on(&card_fake.chip);
    ESK_CHECK_INT(start(), ESK_OK);
}

ESK_TEST(arduino_file_makes_a_file_of_erased_bytes) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        const struct esk_geometry *geometry = &calls.device->geometry;
        ESK_CHECK_INT(geometry->block_count, 32);
        ESK_CHECK_INT(geometry->block_pages, 16);
        ESK_CHECK_INT(geometry->page_bytes, PAGE);
        ESK_CHECK_INT(geometry->program_bytes, PAGE);
        ESK_CHECK_INT(geometry->programs_per_page_max, 0);
        ESK_CHECK_INT(geometry->flags, ESK_MEDIUM_OVERWRITE);
        ESK_CHECK_INT(card_fake.size_kept, BYTES);
        for (uint32_t at = 0; at < BYTES; at++) {
            ESK_CHECK_INT(card_fake.kept[at], 0xFF);
        }
        chip_check_erased(&calls, 32 * 16 - 1);
        ESK_CHECK_INT(sketch_start(kind, BYTES, 1024, 4), ESK_OK);
        ESK_CHECK_INT(geometry->block_count, 64);
        ESK_CHECK_INT(geometry->program_bytes, 1024);
    }
}

ESK_TEST(arduino_file_keeps_the_device_contract) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        chip_check_contract(&calls, 32);
    }
}

ESK_TEST(arduino_file_keeps_what_was_synced) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        ESK_CHECK_INT(chip_program(&calls, 7), ESK_OK);
        ESK_CHECK_INT(chip_program(&calls, 511), ESK_OK);
        ESK_CHECK_INT(sync(), ESK_OK);
        file_restart();
        chip_check(&calls, 7);
        chip_check(&calls, 511);
        ESK_CHECK_BYTES(card_fake.kept + 7 * PAGE, calls.data, PAGE);
        calls.data[0] ^= 0xFF;
        ESK_CHECK_INT(chip_program(&calls, 7), ESK_OK);
        ESK_CHECK_INT(sync(), ESK_OK);
        file_restart();
        chip_check(&calls, 7);
        ESK_CHECK_INT(chip_erase(&calls, 0), ESK_OK);
        chip_check(&calls, 7);
    }
}

ESK_TEST(arduino_file_stays_within_the_file) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        const struct esk_device *device = calls.device;
        const struct esk_device_ops *ops = device->ops;
        ESK_CHECK_INT(chip_program(&calls, 512), ESK_E_IO);
        ESK_CHECK_INT(chip_program(&calls, ESK_PAGE_NONE), ESK_E_IO);
        ESK_CHECK_INT(chip_read(&calls, 512), ESK_E_IO);
        ESK_CHECK_INT(ops->read(device, 0, 1, calls.seen, PAGE), ESK_E_IO);
        ESK_CHECK_INT(ops->read(device, 0, PAGE + 1, calls.seen, 0), ESK_E_IO);
        ESK_CHECK_INT(ops->read(device, 0, 10, calls.seen, 65535), ESK_E_IO);
        ESK_CHECK_INT(ops->program(device, 1, 1, calls.data, PAGE), ESK_E_IO);
        ESK_CHECK_INT(chip_erase(&calls, 32), ESK_E_IO);
        ESK_CHECK_INT(chip_erase(&calls, 31), ESK_OK);
        ESK_CHECK_INT(card_fake.size, BYTES);
    }
}

ESK_TEST(arduino_file_refuses_geometries_that_do_not_fit) {
    static const struct {
        uint32_t bytes;
        uint16_t page_bytes;
        uint16_t block_pages;
    } wrong[] = {
        {0, 0, 0},          {BYTES + PAGE, 0, 0}, {2 * BLOCK, 0, 0},
        {BYTES, 100, 16},   {BYTES, 32768, 1},    {BYTES, 384, 16},
        {BYTES, 512, 8192},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ESK_CONTEXT("geometry %u", i);
        card_fake_reset(1);
        ESK_CHECK_INT(sketch_start(SKETCH_SD, wrong[i].bytes,
                                   wrong[i].page_bytes, wrong[i].block_pages),
                      ESK_E_GEOMETRY);
        ESK_CHECK_INT(card_fake.size, 0);
    }
}

ESK_TEST(arduino_file_reports_what_is_wrong_with_a_file) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        ESK_CHECK_INT(sketch_start(kind, BYTES - BLOCK, 0, 0), ESK_E_GEOMETRY);
        card_fake.absent = true;
        ESK_CHECK_INT(start(), ESK_NOT_FOUND);
        card_fake.absent = false;
        card_fake.size = card_fake.size_kept = BYTES - 1;
        card_fake.bytes[BYTES - 2] = 0;
        ESK_CHECK_INT(start(), ESK_E_CORRUPT);
        ESK_CHECK_INT(card_fake.size, BYTES - 1);
        card_fake.bytes[BYTES - 2] = 0xFF;
        ESK_CHECK_INT(start(), ESK_OK);
        ESK_CHECK_INT(card_fake.size_kept, BYTES);
    }
}

ESK_TEST(arduino_file_goes_on_with_a_fill_that_a_cut_ended) {
    static const uint32_t lengths[] = {0, 1, 63, 64, 1000, BYTES - PAGE};
    for (int i = 0; i < SKETCH_FILES; i++) {
        for (unsigned j = 0; j < sizeof lengths / sizeof lengths[0]; j++) {
            file_make(i);
            memset(card_fake.bytes + lengths[j], 0x5A, BYTES - lengths[j]);
            card_fake.size = card_fake.size_kept = lengths[j];
            ESK_CHECK_INT(start(), ESK_OK);
            ESK_CHECK_INT(card_fake.size_kept, BYTES);
            for (uint32_t at = 0; at < BYTES; at++) {
                ESK_CHECK_INT(card_fake.kept[at], 0xFF);
            }
        }
        for (unsigned cut = 1; cut < 600; cut += 37) {
            card_fake_reset(cut);
            card_fake.chip.faults.cut_op = cut;
            card_fake.chip.faults.cut_permille = 500;
            (void)start();
            file_restart();
            ESK_CHECK_INT(card_fake.size_kept, BYTES);
            chip_check_erased(&calls, cut % 512);
        }
    }
}

ESK_TEST(arduino_file_reports_calls_that_fail) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        card_fake.fail_seek = 1;
        ESK_CHECK_INT(chip_read(&calls, 1), ESK_E_IO);
        card_fake.fail_read = 1;
        ESK_CHECK_INT(chip_read(&calls, 1), ESK_E_IO);
        card_fake.chip.faults.bus_error_at = card_fake.chip.bytes + 1;
        ESK_CHECK_INT(chip_read(&calls, 1), ESK_E_IO);
        card_fake.fail_seek = 1;
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_IO);
        card_fake.chip.faults.fail_program = 1;
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_IO);
        card_fake.short_by = 1;
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_IO);
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_OK);
        chip_check(&calls, 1);
        /* Only SdFat reports a failed sync. */
        card_fake.fail_sync = 1;
        ESK_CHECK_INT(sync(), kind < SKETCH_FILE32 ? ESK_OK : ESK_E_IO);
        ESK_CHECK_INT(sync(), ESK_OK);
    }
}

ESK_TEST(arduino_file_reports_a_fill_that_fails) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        card_fake_reset(1);
        card_fake.room = BYTES - 1;
        ESK_CHECK_INT(start(), ESK_E_IO);
        card_fake_reset(1);
        card_fake.chip.faults.fail_program = 100;
        ESK_CHECK_INT(start(), ESK_E_IO);
        ESK_CHECK(card_fake_sync());
        card_fake.fail_read = 10;
        ESK_CHECK_INT(start(), ESK_E_IO);
        /* The length shows it, if it is the medium's. */
        card_fake.fail_sync = 1;
        ESK_CHECK_INT(start(), kind == SKETCH_SD ? ESK_OK : ESK_E_IO);
        ESK_CHECK_INT(start(), ESK_OK);
    }
}

ESK_TEST(arduino_file_refuses_a_file_that_was_opened_to_append) {
    for (int i = 0; i < SKETCH_FILES; i++) {
        file_make(i);
        card_fake.append = true;
        ESK_CHECK_INT(chip_program(&calls, 1), ESK_E_IO);
        ESK_CHECK_INT(sync(), ESK_OK);
        /* The next start finds how far the file grew. */
        ESK_CHECK_INT(start(), ESK_E_GEOMETRY);
    }
}

/// A program whose power was cut during a sync has no result; a void flush
/// cannot report to the driver what it did.
static int sync_or_no_power(const struct esk_device *device) {
    int status = calls.device->ops->sync(device);
    return card_fake.chip.on ? status : ESK_E_IO;
}

ESK_TEST(series_in_a_file_survives_power_cuts_and_failing_calls) {
    for (int i = 0; i < SKETCH_FILES * 2; i++) {
        file_make(i % SKETCH_FILES);
        card_fake.copies = i >= SKETCH_FILES;
        struct esk_device_ops ops = *calls.device->ops;
        struct esk_device device = *calls.device;
        ops.sync = sync_or_no_power;
        device.ops = &ops;
        struct chip_series run = {.name = "a file",
                                  .chip = &card_fake.chip,
                                  .device = &device,
                                  .start = start,
                                  .cuts = 100};
        chip_series_run(&run, (uint64_t)i + 5);
    }
}

ESK_TEST_MAIN()
