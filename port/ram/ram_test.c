// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The RAM device stores its bytes, and does not access others.
#include "port/ram/ram.h"
#include "test/harness/esk_test.h"

enum { PAGE = 128, PAGES = 2, BLOCKS = 4, BYTES = PAGE * PAGES * BLOCKS };

static const struct esk_geometry geometry = {
    .block_count = BLOCKS,
    .block_pages = PAGES,
    .page_bytes = PAGE,
    .program_bytes = 1,
    .erased_value = 0xFF,
};

static uint8_t memory[BYTES];

ESK_TEST(ram_device_maps_pages_to_memory_in_order) {
    struct esk_ram_device ram;
    uint8_t data[4] = {1, 2, 3, 4};
    uint8_t seen[4] = {0};
    memset(memory, 0, sizeof memory);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, memory, BYTES), ESK_OK);
    const struct esk_device *device = &ram.device;
    ESK_CHECK_INT(device->ops->program(device, 3, 5, data, 4), ESK_OK);
    ESK_CHECK_BYTES(memory + 3 * PAGE + 5, data, 4);
    ESK_CHECK_INT(device->ops->read(device, 3, 5, seen, 4), ESK_OK);
    ESK_CHECK_BYTES(seen, data, 4);
    ESK_CHECK_INT(device->ops->erase(device, 1), ESK_OK);
    ESK_CHECK_INT(memory[2 * PAGE - 1], 0);
    ESK_CHECK_INT(memory[2 * PAGE], 0xFF);
    ESK_CHECK_INT(memory[4 * PAGE - 1], 0xFF);
    ESK_CHECK_INT(memory[4 * PAGE], 0);
    ESK_CHECK_INT(device->ops->sync(device), ESK_OK);
}

ESK_TEST(ram_device_refuses_what_is_outside) {
    struct esk_ram_device ram;
    uint8_t data[PAGE + 1];
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, memory, BYTES), ESK_OK);
    const struct esk_device *device = &ram.device;
    const struct esk_device_ops *ops = device->ops;
    ESK_CHECK_INT(ops->read(device, PAGES * BLOCKS, 0, data, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, ESK_PAGE_NONE, 0, data, 1), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, 0, PAGE + 1, data, 0), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, 0, 1, data, PAGE), ESK_E_IO);
    ESK_CHECK_INT(ops->program(device, 7, 0, data, PAGE + 1), ESK_E_IO);
    ESK_CHECK_INT(ops->erase(device, BLOCKS), ESK_E_IO);
    ESK_CHECK_INT(ops->read(device, 7, 0, data, PAGE), ESK_OK);
}

ESK_TEST(ram_device_needs_its_memory_and_a_geometry) {
    struct esk_ram_device ram;
    struct esk_geometry none = geometry;
    none.block_count = 0;
    ESK_CHECK_INT(esk_ram_device_init(&ram, &geometry, memory, BYTES - 1),
                  ESK_E_NO_MEMORY);
    ESK_CHECK_INT(esk_ram_device_init(&ram, &none, memory, BYTES),
                  ESK_E_GEOMETRY);
}

ESK_TEST_MAIN()
