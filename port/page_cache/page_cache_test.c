// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The cache returns the bytes of the device below, and delays no write.
#include "port/page_cache/page_cache.h"
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"

enum {
    PAGE = 128,
    PAGES = 4,
    BLOCKS = 8,
    DEVICE_PAGES = PAGES * BLOCKS,
    BYTES = PAGE * DEVICE_PAGES,
    SLOTS = 5,
    STEPS = 20000,
};

static const struct esk_geometry geometry = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = 1,
    .erased_value = 0xFF,
    .flags = ESK_MEDIUM_OVERWRITE,
};

/// A RAM device that counts calls and fails on request.
struct below {
    struct esk_ram_device ram;
    struct esk_device device;
    struct esk_device_ops ops;
    uint32_t reads;
    uint32_t syncs;
    int failure; ///< status of each call; ESK_OK: the RAM's
};

static uint8_t memory[BYTES];
static uint32_t room[ESK_PAGE_CACHE_BYTES(PAGE, SLOTS) / 4 + 1];
static struct below below;
static struct esk_page_cache cache;

static int below_read(const struct esk_device *device, esk_page_id page,
                      uint16_t offset, void *buffer, uint16_t bytes) {
    const struct esk_device *ram = &below.ram.device;
    (void)device;
    below.reads++;
    ESK_TRY(below.failure);
    return ram->ops->read(ram, page, offset, buffer, bytes);
}

static int below_program(const struct esk_device *device, esk_page_id page,
                         uint16_t offset, const void *buffer, uint16_t bytes) {
    const struct esk_device *ram = &below.ram.device;
    (void)device;
    /* A program that fails may leave any bytes. */
    ESK_TRY(ram->ops->program(ram, page, offset, buffer, bytes));
    return below.failure;
}

static int below_erase(const struct esk_device *device, uint32_t block) {
    const struct esk_device *ram = &below.ram.device;
    (void)device;
    ESK_TRY(ram->ops->erase(ram, block));
    return below.failure;
}

static int below_sync(const struct esk_device *device) {
    (void)device;
    below.syncs++;
    return below.failure;
}

static void begin(void) {
    memset(&below, 0, sizeof below);
    memset(memory, 0xFF, sizeof memory);
    ESK_CHECK_INT(
        esk_ram_device_init(&below.ram, &geometry, memory, sizeof memory),
        ESK_OK);
    below.ops = (struct esk_device_ops){.read = below_read,
                                        .program = below_program,
                                        .erase = below_erase,
                                        .sync = below_sync};
    below.device = (struct esk_device){.ops = &below.ops, .geometry = geometry};
    ESK_CHECK_INT(esk_page_cache_init(&cache, &below.device, room,
                                      ESK_PAGE_CACHE_BYTES(PAGE, SLOTS)),
                  ESK_OK);
    ESK_CHECK_INT(cache.slots, SLOTS);
}

/// Reads a whole page and compares it with the device below.
static void check_page(esk_page_id page) {
    uint8_t seen[PAGE];
    ESK_CHECK_INT(cache.ops.read(&cache.device, page, 0, seen, PAGE), ESK_OK);
    ESK_CHECK_BYTES(seen, memory + (size_t)page * PAGE, PAGE);
}

ESK_TEST(page_cache_reads_a_page_below_once) {
    uint8_t part[3];
    begin();
    check_page(7);
    check_page(7);
    ESK_CHECK_INT(cache.ops.read(&cache.device, 7, 5, part, 3), ESK_OK);
    ESK_CHECK_INT(below.reads, 1);
    ESK_CHECK_INT(cache.hits, 2);
    ESK_CHECK_INT(cache.misses, 1);
}

ESK_TEST(page_cache_passes_on_a_part_that_it_has_not) {
    uint8_t part[3];
    begin();
    ESK_CHECK_INT(cache.ops.read(&cache.device, 7, 5, part, 3), ESK_OK);
    ESK_CHECK_INT(cache.ops.read(&cache.device, 7, 5, part, 3), ESK_OK);
    ESK_CHECK_INT(below.reads, 2);
}

ESK_TEST(page_cache_evicts_pages_that_are_not_read) {
    begin();
    for (esk_page_id page = 0; page < 3 * SLOTS; page++) {
        check_page(0);
        check_page(page);
    }
    /* Page 0 was read again and again: it was never evicted. */
    ESK_CHECK_INT(below.reads, 3 * SLOTS);
}

ESK_TEST(page_cache_is_the_device_below_whatever_is_done) {
    uint32_t state = 1;
    begin();
    for (uint32_t i = 0; i < STEPS; i++) {
        uint8_t data[PAGE];
        state = state * 1664525u + 1013904223u;
        esk_page_id page = (state >> 8) % DEVICE_PAGES;
        uint16_t from = (uint16_t)((state >> 16) % PAGE);
        uint16_t bytes = (state & 64u) != 0 ? PAGE : (uint16_t)(PAGE - from);
        from = bytes == PAGE ? 0 : from;
        memset(data, (int)(state >> 24), sizeof data);
        below.failure = (state >> 11) % 8 == 0 ? ESK_E_IO : ESK_OK;
        switch ((state >> 28) % 8) {
        case 0:
            (void)cache.ops.program(&cache.device, page, from, data, bytes);
            break;
        case 1:
            (void)cache.ops.erase(&cache.device, page / PAGES);
            break;
        case 2:
            (void)cache.ops.read(&cache.device, page, from, data, bytes);
            break;
        default:
            break;
        }
        below.failure = ESK_OK;
        ESK_CONTEXT("step %u, page %u", i, page);
        check_page(page);
    }
    ESK_CHECK(cache.hits > STEPS / 10);
    ESK_CHECK(cache.misses > STEPS / 10);
}

ESK_TEST(page_cache_returns_the_status_of_the_device_below) {
    uint8_t data[PAGE] = {0};
    begin();
    ESK_CHECK(cache.ops.block_is_bad == NULL);
    ESK_CHECK(cache.ops.block_mark_bad == NULL);
    ESK_CHECK_INT(cache.ops.sync(&cache.device), ESK_OK);
    ESK_CHECK_INT(below.syncs, 1);
    ESK_CHECK_INT(cache.ops.read(&cache.device, ESK_PAGE_NONE, 0, data, PAGE),
                  ESK_E_IO);
    ESK_CHECK_INT(cache.ops.read(&cache.device, 1, 1, data, PAGE), ESK_E_IO);
    check_page(1);
    ESK_CHECK_INT(cache.ops.read(&cache.device, 1, 1, data, PAGE), ESK_E_IO);
    below.failure = ESK_E_MEDIUM;
    ESK_CHECK_INT(cache.ops.program(&cache.device, 1, 0, data, PAGE),
                  ESK_E_MEDIUM);
    ESK_CHECK_INT(cache.ops.erase(&cache.device, 1), ESK_E_MEDIUM);
    ESK_CHECK_INT(cache.ops.sync(&cache.device), ESK_E_MEDIUM);
    below.failure = ESK_E_CORRUPT;
    ESK_CHECK_INT(cache.ops.read(&cache.device, 1, 0, data, PAGE),
                  ESK_E_CORRUPT);
}

ESK_TEST(page_cache_needs_memory_for_one_page) {
    begin();
    ESK_CHECK_INT(esk_page_cache_init(&cache, &below.device, room,
                                      ESK_PAGE_CACHE_BYTES(PAGE, 1) - 1),
                  ESK_E_NO_MEMORY);
}

ESK_TEST_MAIN()
