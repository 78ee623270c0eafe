// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The file device: its bytes, its lengths, and no crash past its end.
#include <sys/stat.h>
#include <unistd.h>

#include "port/posix_file/posix_file.h"
#include "test/harness/esk_test.h"

enum { PAGE = 512, PAGES = 4, BLOCKS = 8, BYTES = PAGE * PAGES * BLOCKS };

static const struct esk_geometry geometry = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = 1,
    .erased_value = 0xFF,
    .flags = ESK_MEDIUM_OVERWRITE,
};

static const unsigned read_flags[] = {0, ESK_POSIX_FILE_MMAP};

static char directory[200];
static char image[256];
static uint8_t data[PAGE];
static uint8_t seen[PAGE];

/// Makes a closed image with a page of data on page 5.
static void image_begin(void) {
    struct esk_posix_file file;
    const char *base = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/esk_file_XXXXXX",
             base == NULL ? "/tmp" : base);
    ESK_CHECK(mkdtemp(directory) != NULL);
    snprintf(image, sizeof image, "%s/flash.img", directory);
    memset(data, 0x42, sizeof data);
    ESK_CHECK_INT(esk_posix_file_create(&file, image, &geometry, 0), ESK_OK);
    const struct esk_device *device = &file.device;
    ESK_CHECK_INT(device->ops->program(device, 5, 0, data, PAGE), ESK_OK);
    ESK_CHECK_INT(device->ops->sync(device), ESK_OK);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
}

static void image_end(void) {
    unlink(image);
    rmdir(directory);
}

ESK_TEST(posix_file_keeps_its_bytes_over_a_reopen) {
    for (unsigned i = 0; i < 2; i++) {
        struct esk_posix_file file;
        image_begin();
        ESK_CHECK_INT(
            esk_posix_file_open(&file, image, &geometry, read_flags[i]),
            ESK_OK);
        const struct esk_device *device = &file.device;
        ESK_CHECK_INT(device->ops->read(device, 5, 1, seen, 511), ESK_OK);
        ESK_CHECK_BYTES(seen, data, 511);
        ESK_CHECK_INT(device->ops->read(device, 6, 0, seen, 1), ESK_OK);
        ESK_CHECK_INT(seen[0], 0xFF);
        data[0] = 7;
        ESK_CHECK_INT(device->ops->program(device, 31, 511, data, 1), ESK_OK);
        ESK_CHECK_INT(device->ops->read(device, 31, 511, seen, 1), ESK_OK);
        ESK_CHECK_INT(seen[0], 7);
        /* Overwritten pages need no erase: esker/device.h. */
        ESK_CHECK_INT(device->ops->erase(device, 1), ESK_OK);
        ESK_CHECK_INT(device->ops->read(device, 5, 1, seen, 511), ESK_OK);
        ESK_CHECK_BYTES(seen + 1, data + 1, 510);
        file.device.geometry.flags = 0;
        ESK_CHECK_INT(device->ops->erase(device, 1), ESK_OK);
        ESK_CHECK_INT(device->ops->read(device, 5, 0, seen, PAGE), ESK_OK);
        ESK_CHECK_INT(seen[100], 0xFF);
        ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
        image_end();
    }
}

ESK_TEST(posix_file_create_touches_no_file_that_is_there) {
    struct esk_posix_file file;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_create(&file, image, &geometry, 0),
                  ESK_E_EXISTS);
    ESK_CHECK_INT(esk_posix_file_create(&file, "no/folder/x", &geometry, 0),
                  ESK_E_IO);
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0), ESK_OK);
    ESK_CHECK_INT(file.device.ops->read(&file.device, 5, 0, seen, PAGE),
                  ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST(posix_file_create_fills_and_maps_when_asked) {
    struct esk_posix_file file;
    struct esk_geometry zero = geometry;
    zero.erased_value = 0x00;
    image_begin();
    unlink(image);
    ESK_CHECK_INT(
        esk_posix_file_create(&file, image, &zero, ESK_POSIX_FILE_MMAP),
        ESK_OK);
    for (esk_page_id page = 0; page < PAGES * BLOCKS; page++) {
        ESK_CHECK_INT(file.device.ops->read(&file.device, page, 0, seen, PAGE),
                      ESK_OK);
        ESK_CHECK(seen[0] == 0 && memcmp(seen, seen + 1, PAGE - 1) == 0);
    }
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST(posix_file_open_reports_a_wrong_length) {
    struct esk_posix_file file;
    for (unsigned i = 0; i < 2; i++) {
        image_begin();
        ESK_CHECK_INT(truncate(image, BYTES - 1), 0);
        ESK_CHECK_INT(
            esk_posix_file_open(&file, image, &geometry, read_flags[i]),
            ESK_E_CORRUPT);
        ESK_CHECK_INT(truncate(image, BYTES + 1), 0);
        ESK_CHECK_INT(
            esk_posix_file_open(&file, image, &geometry, read_flags[i]),
            ESK_E_GEOMETRY);
        image_end();
    }
}

ESK_TEST(posix_file_of_any_length_reads_as_erased_past_its_end) {
    static const long lengths[] = {0, 1, 5 * PAGE + 100, 6 * PAGE, BYTES - 1};
    for (unsigned i = 0; i < 2 * sizeof lengths / sizeof lengths[0]; i++) {
        struct esk_posix_file file;
        long length = lengths[i / 2];
        ESK_CONTEXT("length %ld, mapped %u", length, i % 2);
        image_begin();
        ESK_CHECK_INT(truncate(image, length), 0);
        ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry,
                                          read_flags[i % 2] |
                                              ESK_POSIX_FILE_READ_ONLY |
                                              ESK_POSIX_FILE_ANY_LENGTH),
                      ESK_OK);
        for (esk_page_id page = 0; page < PAGES * BLOCKS; page++) {
            memset(seen, 0x5A, PAGE);
            ESK_CHECK_INT(
                file.device.ops->read(&file.device, page, 0, seen, PAGE),
                ESK_OK);
            for (long at = 0; at < PAGE; at++) {
                long byte = (long)page * PAGE + at;
                bool there = byte < length && page == 5;
                ESK_CHECK_INT(seen[at], there ? data[at] : 0xFF);
            }
        }
        ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
        image_end();
    }
}

ESK_TEST(posix_file_truncated_while_open_fails_its_reads) {
    struct esk_posix_file file;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0), ESK_OK);
    ESK_CHECK_INT(truncate(image, 5 * PAGE), 0);
    ESK_CHECK_INT(file.device.ops->read(&file.device, 5, 0, seen, 1), ESK_E_IO);
    ESK_CHECK_INT(file.device.ops->read(&file.device, 4, 0, seen, PAGE),
                  ESK_OK);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST(posix_file_read_only_never_writes) {
    struct esk_posix_file file;
    image_begin();
    ESK_CHECK_INT(chmod(image, 0444), 0);
    ESK_CHECK_INT(
        esk_posix_file_open(&file, image, &geometry, ESK_POSIX_FILE_READ_ONLY),
        ESK_OK);
    const struct esk_device *device = &file.device;
    ESK_CHECK_INT(device->ops->program(device, 0, 0, data, 1), ESK_E_IO);
    ESK_CHECK_INT(device->ops->erase(device, 1), ESK_E_IO);
    ESK_CHECK_INT(device->ops->sync(device), ESK_OK);
    ESK_CHECK_INT(device->ops->read(device, 5, 0, seen, PAGE), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST(posix_file_refuses_what_is_outside_the_device) {
    struct esk_posix_file file;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0), ESK_OK);
    const struct esk_device *device = &file.device;
    const struct esk_device_ops *ops = device->ops;
    uint32_t end = PAGES * BLOCKS;
    ESK_CHECK_INT(ops->read(device, end, 0, seen, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, ESK_PAGE_NONE, 0, seen, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, 0, 1, seen, PAGE), ESK_E_IO);
    ESK_CHECK_INT(ops->program(device, end, 0, data, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->program(device, 0, PAGE, data, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->erase(device, BLOCKS), ESK_E_IO);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    struct stat status;
    ESK_CHECK_INT(stat(image, &status), 0);
    ESK_CHECK_INT(status.st_size, BYTES);
    image_end();
}

ESK_TEST(posix_file_open_reports_what_is_wrong) {
    struct esk_posix_file file;
    struct esk_geometry none = geometry;
    none.page_bytes = 0;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &none, 0), ESK_E_GEOMETRY);
    ESK_CHECK_INT(esk_posix_file_create(&file, image, &none, 0),
                  ESK_E_GEOMETRY);
    ESK_CHECK_INT(esk_posix_file_open(&file, directory, &geometry, 0),
                  ESK_E_IO);
    ESK_CHECK_INT(esk_posix_file_open(&file, directory, &geometry,
                                      ESK_POSIX_FILE_READ_ONLY),
                  ESK_E_IO);
    ESK_CHECK_INT(
        esk_posix_file_open(&file, image, &geometry, ESK_POSIX_FILE_ANY_LENGTH),
        ESK_E_INVALID);
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 8),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_posix_file_create(&file, image, &geometry,
                                        ESK_POSIX_FILE_READ_ONLY),
                  ESK_E_INVALID);
    unlink(image);
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0),
                  ESK_NOT_FOUND);
    image_end();
}

ESK_TEST(posix_file_has_one_writer) {
    struct esk_posix_file writer;
    struct esk_posix_file other;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_open(&writer, image, &geometry, 0), ESK_OK);
    ESK_CHECK_INT(esk_posix_file_open(&other, image, &geometry, 0), ESK_E_BUSY);
    for (unsigned i = 0; i < 2; i++) {
        ESK_CHECK_INT(
            esk_posix_file_open(&other, image, &geometry,
                                read_flags[i] | ESK_POSIX_FILE_READ_ONLY),
            ESK_OK);
        ESK_CHECK_INT(esk_posix_file_close(&other), ESK_OK);
    }
    /* The reader that was closed has not let the lock go. */
    ESK_CHECK_INT(esk_posix_file_open(&other, image, &geometry, 0), ESK_E_BUSY);
    ESK_CHECK_INT(esk_posix_file_close(&writer), ESK_OK);
    ESK_CHECK_INT(esk_posix_file_open(&other, image, &geometry, 0), ESK_OK);
    ESK_CHECK_INT(esk_posix_file_close(&other), ESK_OK);
    image_end();
}

/// Fills `page` with its own number.
static void page_number(uint8_t *page, uint32_t number) {
    memset(page, (int)(number & 0xFFu), PAGE);
    memcpy(page, &number, sizeof number);
}

ESK_TEST(posix_file_reads_ahead_what_the_file_has) {
    enum { DEVICE_PAGES = PAGES * BLOCKS, STEPS = 4000 };
    static uint8_t ahead[3 * PAGE + 100]; /* ends within a page */
    static uint32_t numbers[DEVICE_PAGES];
    struct esk_posix_file file;
    uint32_t state = 1;
    esk_page_id page = 0;
    image_begin();
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0), ESK_OK);
    esk_posix_file_read_ahead(&file, ahead, sizeof ahead);
    const struct esk_device *device = &file.device;
    for (uint32_t i = 0; i < DEVICE_PAGES; i++) {
        page_number(data, numbers[i] = i);
        ESK_CHECK_INT(device->ops->program(device, i, 0, data, PAGE), ESK_OK);
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        state = state * 1664525u + 1013904223u;
        page = state >> 28 == 0 ? (state >> 8) % DEVICE_PAGES
                                : (page + 1) % DEVICE_PAGES;
        ESK_CONTEXT("step %u, page %u", i, page);
        if ((state >> 20) % 16 == 0) {
            numbers[page] = state;
            page_number(data, state);
            ESK_CHECK_INT(device->ops->program(device, page, 0, data, PAGE),
                          ESK_OK);
        }
        page_number(data, numbers[page]);
        ESK_CHECK_INT(device->ops->read(device, page, 0, seen, PAGE), ESK_OK);
        ESK_CHECK_BYTES(seen, data, PAGE);
    }
    file.device.geometry.flags = 0;
    ESK_CHECK_INT(device->ops->erase(device, page / PAGES), ESK_OK);
    memset(data, 0xFF, sizeof data);
    ESK_CHECK_INT(device->ops->read(device, page, 0, seen, PAGE), ESK_OK);
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST(posix_file_reads_ahead_unless_told_not_to) {
    struct esk_posix_file file;
    image_begin();
    for (int told = 0; told < 2; told++) {
        ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry, 0), ESK_OK);
        if (told != 0) {
            esk_posix_file_read_ahead(&file, NULL, 0);
        }
        const struct esk_device *device = &file.device;
        for (esk_page_id page = 0; page < 3; page++) {
            ESK_CHECK_INT(file.ahead_held, 0);
            ESK_CHECK_INT(device->ops->read(device, page, 0, seen, PAGE),
                          ESK_OK);
        }
        ESK_CHECK((file.ahead_held > 0) == (told == 0));
        ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    }
    image_end();
}

ESK_TEST(posix_file_reads_ahead_no_further_than_the_file) {
    static uint8_t ahead[8 * PAGE];
    struct esk_posix_file file;
    image_begin();
    ESK_CHECK_INT(truncate(image, 6 * PAGE + 10), 0);
    ESK_CHECK_INT(esk_posix_file_open(&file, image, &geometry,
                                      ESK_POSIX_FILE_READ_ONLY |
                                          ESK_POSIX_FILE_ANY_LENGTH),
                  ESK_OK);
    esk_posix_file_read_ahead(&file, ahead, sizeof ahead);
    const struct esk_device *device = &file.device;
    for (esk_page_id page = 0; page < 6; page++) {
        ESK_CHECK_INT(device->ops->read(device, page, 0, seen, PAGE), ESK_OK);
    }
    ESK_CHECK_BYTES(seen, data, PAGE);
    ESK_CHECK_INT(file.ahead_held, 4 * PAGE + 10);
    ESK_CHECK_INT(device->ops->read(device, 6, 0, seen, 10), ESK_OK);
    ESK_CHECK_INT(device->ops->read(device, 6, 10, seen, 1), ESK_OK);
    ESK_CHECK_INT(seen[0], 0xFF);
    ESK_CHECK_INT(device->ops->read(device, 6, 0, seen, PAGE), ESK_OK);
    ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    image_end();
}

ESK_TEST_MAIN()
