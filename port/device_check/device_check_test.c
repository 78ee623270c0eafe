// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// The device check finds nothing in correct drivers, and names the one fault
/// of a driver that was broken on purpose.
#include "port/device_check/device_check.h"

#include <unistd.h>

#include "esker/volume.h"
#include "port/page_cache/page_cache.h"
#include "port/posix_file/posix_file.h"
#include "port/ram/ram.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/media.h"

enum { BLOCKS = 16, PAGES = 4, PAGE = 256, MEMORY = BLOCKS * PAGES * PAGE };

static uint8_t pages[2 * 16384 + 1];
static struct esk_device_fault fault;

static int check_blocks(const struct esk_device *device, uint32_t blocks) {
    int status = esk_device_check(device, 0, blocks, pages, &fault);
    ESK_CONTEXT("%s: %s, status %d, block %lu, page %lu, other %lu, offset %u, "
                "expected %u, read %u",
                fault.call == NULL ? "no call" : fault.call,
                esk_device_fault_text(fault.what), fault.status,
                (unsigned long)fault.block, (unsigned long)fault.page,
                (unsigned long)fault.other, fault.offset, fault.expected,
                fault.read);
    return status;
}

static int check(const struct esk_device *device) {
    return check_blocks(device, device->geometry.block_count);
}

/// A volume can be made on a checked device: it reads as blank.
static void check_and_format(const struct esk_device *device) {
    static const struct esk_volume_config config = {.uuid = {1},
                                                    .tables_max = 1};
    struct esk_volume volume;
    ESK_CHECK_INT(check(device), ESK_OK);
    ESK_CHECK_INT(fault.what, ESK_DEVICE_FAULT_NONE);
    ESK_CHECK_INT(
        esk_volume_mount_or_format(&volume, device, 0, &config, TEST_SCRATCH),
        device->geometry.block_count == 3 ? ESK_E_NO_SPACE : ESK_OK);
    ESK_CHECK_INT(check(device), ESK_OK);
}

static const struct esk_geometry geometries[] = {
    ESK_NOR(BLOCKS, PAGES, PAGE),
    ESK_NAND(BLOCKS, PAGES, PAGE),
    ESK_FLASH(BLOCKS, PAGES, PAGE, 16, 4),
    ESK_FLASH(32, 1, 128, 128, 0),
    ESK_FLASH(16, 3, 264, 8, 1),
    ESK_FLASH(16, 2, 16384, 512, 0),
    ESK_OVERWRITTEN(BLOCKS, PAGES, PAGE, 1),
    ESK_CARD(16, 3, 512),
    ESK_NOR(3, PAGES, PAGE),
};

enum { GEOMETRIES = sizeof geometries / sizeof geometries[0] };

static void check_sim(const struct esk_sim_config *config) {
    struct esk_sim *sim;
    ESK_CHECK_INT(esk_sim_create(&sim, config), ESK_OK);
    check_and_format(esk_sim_device(sim));
    ESK_CHECK_TEXT(esk_sim_violation(sim), "");
    esk_sim_destroy(sim);
}

ESK_TEST(check_passes_the_simulator_in_every_geometry) {
    for (unsigned i = 0; i < GEOMETRIES; i++) {
        struct esk_sim_config config = {
            .geometry = geometries[i], .seed = i, .dirty = true};
        check_sim(&config);
        config.erase_keeps = true;
        if ((geometries[i].flags & ESK_MEDIUM_OVERWRITE) != 0) {
            check_sim(&config);
        }
    }
}

ESK_TEST(check_leaves_bad_blocks_alone) {
    struct esk_sim_config config = {
        .geometry = ESK_NAND(BLOCKS, PAGES, PAGE), .seed = 4, .bad_blocks = 3};
    check_sim(&config);
}

ESK_TEST(check_passes_every_part_of_the_simulator) {
    const struct esk_sim_part *part;
    for (size_t i = 0; (part = esk_sim_part_at(i)) != NULL; i++) {
        struct esk_sim_config config = {.part = part->name};
        struct esk_sim *sim;
        ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
        ESK_CHECK_INT(check_blocks(esk_sim_device(sim), 4), ESK_OK);
        ESK_CHECK_TEXT(esk_sim_violation(sim), "");
        esk_sim_destroy(sim);
    }
}

ESK_TEST(check_passes_ram_files_and_caches) {
    static uint32_t room[ESK_PAGE_CACHE_BYTES(16384, 7) / 4];
    static uint8_t memory[1 << 19];
    char path[] = "build/device_check_XXXXXX";
    struct esk_ram_device ram;
    struct esk_posix_file file;
    struct esk_page_cache cache;
    int descriptor = mkstemp(path);
    close(descriptor);
    for (unsigned i = 0; i < GEOMETRIES; i++) {
        ESK_CHECK_INT(
            esk_ram_device_init(&ram, &geometries[i], memory, sizeof memory),
            ESK_OK);
        check_and_format(&ram.device);
        ESK_CHECK_INT(
            esk_page_cache_init(&cache, &ram.device, room, sizeof room),
            ESK_OK);
        check_and_format(&cache.device);
        unlink(path);
        ESK_CHECK_INT(esk_posix_file_create(&file, path, &geometries[i], 0),
                      ESK_OK);
        check_and_format(&file.device);
        ESK_CHECK_INT(esk_posix_file_close(&file), ESK_OK);
    }
    unlink(path);
}

ESK_TEST(check_needs_no_aligned_pages) {
    static uint8_t memory[MEMORY];
    struct esk_ram_device ram;
    ESK_CHECK_INT(
        esk_ram_device_init(&ram, &geometries[0], memory, sizeof memory),
        ESK_OK);
    for (unsigned i = 0; i < 32; i++) {
        ESK_CHECK_INT(
            esk_device_check(&ram.device, 0, BLOCKS, pages + i, &fault),
            ESK_OK);
    }
}

ESK_TEST(check_stays_in_its_region) {
    static uint8_t memory[MEMORY];
    static uint8_t before[MEMORY];
    enum { BLOCK = PAGES * PAGE };
    struct esk_ram_device ram;
    for (unsigned i = 0; i < MEMORY; i++) {
        memory[i] = before[i] = (uint8_t)(i * 7);
    }
    ESK_CHECK_INT(
        esk_ram_device_init(&ram, &geometries[0], memory, sizeof memory),
        ESK_OK);
    ESK_CHECK_INT(esk_device_check(&ram.device, 3, 2, pages, &fault), ESK_OK);
    memset(before + 3 * BLOCK, 0xFF, 2 * BLOCK);
    ESK_CHECK_BYTES(memory, before, MEMORY);
    ESK_CHECK_INT(esk_device_check(&ram.device, BLOCKS - 1, 2, pages, &fault),
                  ESK_E_INVALID);
    ESK_CHECK_INT(fault.what, ESK_DEVICE_FAULT_REGION);
    ESK_CHECK_INT(esk_device_check(&ram.device, 2, 0, pages, &fault),
                  ESK_E_INVALID);
    ESK_CHECK_INT(esk_device_check(&ram.device, 1, UINT32_MAX, pages, &fault),
                  ESK_E_INVALID);
    ESK_CHECK_INT(fault.what, ESK_DEVICE_FAULT_REGION);
}

// ---------------------------------------------------- drivers with one bug

enum bug {
    BUG_NONE,
    BUG_NO_SYNC,
    BUG_READ_FAILS,
    BUG_PROGRAM_FAILS,
    BUG_ERASE_FAILS,
    BUG_SYNC_FAILS,
    BUG_FLAG_FAILS,
    BUG_FLAG_UNSET,
    BUG_ALL_BAD,
    BUG_READ_COUNTS,
    BUG_PROGRAM_COUNTS,
    BUG_READ_OVERRUNS,
    BUG_READ_UNDERRUNS,
    BUG_PROGRAM_CLOBBERS,
    BUG_ERASES_TO_ZERO,
    BUG_ERASE_FORGETS,
    BUG_ERASE_STOPS_SHORT,
    BUG_ERASES_TWO,
    BUG_ERASES_THE_NEXT,
    BUG_PROGRAM_FORGETS,
    BUG_PROGRAMS_HALF,
    BUG_PROGRAM_SWAPS,
    BUG_PROGRAM_WRAPS, ///< in the chip's own, shorter page
    BUG_PART_CLEARS_THE_REST,
    BUG_PART_GOES_TO_THE_START,
    BUG_PART_BEFORE_FORGOTTEN, ///< bytes before others that were programmed
    BUG_SECOND_FORGOTTEN,
    BUG_SECOND_ANDS,
    BUG_ADDRESS_WRAPS,
    BUG_PROGRAM_ADDRESS_WRAPS,
    BUG_READ_ADDRESS_WRAPS,
    BUG_PAGES_SWAPPED,
    BUG_DISTURBS,
    BUG_READ_IGNORES_OFFSET,
    BUG_READS_WORDS,
    BUG_READ_NEEDS_ALIGNMENT,
    BUG_PROGRAM_NEEDS_ALIGNMENT,
    BUG_ALIGNMENT_FAILS,
};

static uint8_t cells[MEMORY + PAGES * PAGE];
static enum bug bug;
static uint32_t address_mask; ///< the lost address bit, in pages

static bool is_odd(const void *buffer) {
    return ((uintptr_t)buffer & 3) != 0;
}

static int broken_read(const struct esk_device *device, esk_page_id page,
                       uint16_t offset, void *buffer, uint16_t bytes) {
    uint8_t *out = buffer;
    (void)device;
    if (bug == BUG_ADDRESS_WRAPS || bug == BUG_READ_ADDRESS_WRAPS) {
        page &= ~address_mask;
    }
    if (bug == BUG_READ_IGNORES_OFFSET) {
        offset = 0;
    }
    if (bug == BUG_READS_WORDS && (offset | bytes) % 4 != 0) {
        return ESK_E_INVALID;
    }
    if (bug == BUG_ALIGNMENT_FAILS && is_odd(buffer)) {
        return ESK_E_IO;
    }
    if (bug == BUG_READ_NEEDS_ALIGNMENT) {
        out = (uint8_t *)((uintptr_t)buffer & ~(uintptr_t)3);
    }
    memcpy(out, cells + page * PAGE + offset, bytes);
    if (bug == BUG_READ_OVERRUNS) {
        out[bytes] ^= 0x10;
    }
    if (bug == BUG_READ_UNDERRUNS) {
        out[-1] ^= 0x10;
    }
    return bug == BUG_READ_FAILS    ? ESK_E_CORRUPT
           : bug == BUG_READ_COUNTS ? bytes
                                    : ESK_OK;
}

/// For faults of an address: returns the wrong page.
static esk_page_id broken_place(esk_page_id page) {
    if (bug == BUG_ADDRESS_WRAPS || bug == BUG_PROGRAM_ADDRESS_WRAPS) {
        return page & ~address_mask;
    }
    return bug == BUG_PAGES_SWAPPED && page / 2 == 5 ? page ^ 1 : page;
}

static int broken_program(const struct esk_device *device, esk_page_id page,
                          uint16_t offset, const void *buffer, uint16_t bytes) {
    const uint8_t *from = buffer;
    uint8_t *at = cells + broken_place(page) * PAGE;
    uint8_t part[PAGE];
    (void)device;
    memcpy(part, from, bytes);
    if (bug == BUG_PROGRAM_NEEDS_ALIGNMENT && is_odd(buffer)) {
        memcpy(part, from - 1, bytes);
    }
    if (bug == BUG_PROGRAM_SWAPS) {
        part[0] = from[bytes - 1];
    }
    for (uint16_t i = 0; i < bytes; i++) {
        uint16_t to = (uint16_t)(offset + i);
        if (bug == BUG_PROGRAM_WRAPS && to >= 128 && offset < 128) {
            to = (uint16_t)(to - 128);
        }
        if (bug == BUG_PART_GOES_TO_THE_START) {
            to = i;
        }
        bool lost = (bug == BUG_PROGRAMS_HALF && to >= PAGE / 2) ||
                    bug == BUG_PROGRAM_FORGETS ||
                    (bug == BUG_PART_BEFORE_FORGOTTEN && offset == 0 &&
                     bytes < PAGE && at[bytes] != 0xFF) ||
                    (bug == BUG_SECOND_FORGOTTEN && at[to] != 0xFF);
        if (!lost) {
            at[to] = bug == BUG_SECOND_ANDS ? at[to] & part[i] : part[i];
        }
    }
    if (bug == BUG_PART_CLEARS_THE_REST) {
        memset(at, 0xFF, offset);
    }
    if (bug == BUG_DISTURBS && page == 9) {
        cells[4 * PAGE + 7] ^= 0x20;
    }
    if (bug == BUG_PROGRAM_CLOBBERS) {
        *(uint8_t *)(uintptr_t)buffer ^= 1;
    }
    return bug == BUG_PROGRAM_FAILS    ? ESK_E_MEDIUM
           : bug == BUG_PROGRAM_COUNTS ? bytes
                                       : ESK_OK;
}

static int broken_erase(const struct esk_device *device, uint32_t block) {
    size_t bytes = PAGES * PAGE;
    uint8_t *at = cells + block * bytes;
    (void)device;
    if (bug == BUG_ERASES_THE_NEXT) {
        memset(at + bytes, 0xFF, 1);
    }
    if (bug == BUG_ERASES_TWO) {
        at = cells + (block & ~1u) * bytes;
        bytes *= 2;
    }
    if (bug == BUG_ERASE_STOPS_SHORT) {
        bytes -= 1;
    }
    if (bug != BUG_ERASE_FORGETS) {
        memset(at, bug == BUG_ERASES_TO_ZERO ? 0 : 0xFF, bytes);
    }
    return bug == BUG_ERASE_FAILS ? ESK_E_IO : ESK_OK;
}

static int broken_sync(const struct esk_device *device) {
    (void)device;
    return bug == BUG_SYNC_FAILS ? ESK_E_IO : ESK_OK;
}

static int broken_is_bad(const struct esk_device *device, uint32_t block,
                         bool *bad) {
    (void)device;
    (void)block;
    if (bug != BUG_FLAG_UNSET) {
        *bad = bug == BUG_ALL_BAD;
    }
    return bug == BUG_FLAG_FAILS ? ESK_E_IO : ESK_OK;
}

static const struct {
    const char *name;
    enum bug bug;
    uint8_t what;
    int8_t status;
    bool overwrites;
    const char *call; ///< NULL: the fault is not one of a call
} bugs[] = {
#define BROKEN(bug, fault, status)                                             \
    {#bug, BUG_##bug, ESK_DEVICE_FAULT_##fault, status, false, NULL}
#define FAILING(bug, fault, status, call)                                      \
    {#bug, BUG_##bug, ESK_DEVICE_FAULT_##fault, status, false, call}
#define OVERWRITING(bug, fault, status)                                        \
    {#bug, BUG_##bug, ESK_DEVICE_FAULT_##fault, status, true, NULL}
    BROKEN(NONE, NONE, ESK_OK),
    OVERWRITING(NONE, NONE, ESK_OK),
    BROKEN(NO_SYNC, OPS, ESK_E_INVALID),
    FAILING(READ_FAILS, FAILED, ESK_E_CORRUPT, "read"),
    FAILING(PROGRAM_FAILS, FAILED, ESK_E_MEDIUM, "program"),
    FAILING(ERASE_FAILS, FAILED, ESK_E_IO, "erase"),
    FAILING(SYNC_FAILS, FAILED, ESK_E_IO, "sync"),
    FAILING(FLAG_FAILS, FAILED, ESK_E_IO, "block_is_bad"),
    BROKEN(FLAG_UNSET, BAD_FLAG, ESK_E_CORRUPT),
    BROKEN(ALL_BAD, ALL_BAD, ESK_E_CORRUPT),
    FAILING(READ_COUNTS, STATUS, ESK_E_CORRUPT, "read"),
    FAILING(PROGRAM_COUNTS, STATUS, ESK_E_CORRUPT, "program"),
    BROKEN(READ_OVERRUNS, READ_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(READ_UNDERRUNS, READ_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(PROGRAM_CLOBBERS, BUFFER, ESK_E_CORRUPT),
    BROKEN(ERASES_TO_ZERO, ERASED_VALUE, ESK_E_CORRUPT),
    BROKEN(ERASE_FORGETS, ERASE_LOST, ESK_E_CORRUPT),
    BROKEN(ERASE_STOPS_SHORT, ERASE_LOST, ESK_E_CORRUPT),
    BROKEN(ERASES_TWO, ERASE_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(ERASES_THE_NEXT, ERASE_OUTSIDE, ESK_E_CORRUPT),
    OVERWRITING(ERASES_TWO, ERASE_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(PROGRAM_FORGETS, PROGRAM_LOST, ESK_E_CORRUPT),
    BROKEN(PROGRAMS_HALF, PROGRAM_LOST, ESK_E_CORRUPT),
    BROKEN(PROGRAM_SWAPS, PROGRAM_WRONG, ESK_E_CORRUPT),
    BROKEN(PROGRAM_WRAPS, PROGRAM_WRONG, ESK_E_CORRUPT),
    BROKEN(PART_CLEARS_THE_REST, PROGRAM_OUTSIDE, ESK_E_CORRUPT),
    OVERWRITING(PART_CLEARS_THE_REST, PROGRAM_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(PART_GOES_TO_THE_START, PROGRAM_OUTSIDE, ESK_E_CORRUPT),
    BROKEN(PART_BEFORE_FORGOTTEN, PROGRAM_LOST, ESK_E_CORRUPT),
    OVERWRITING(SECOND_FORGOTTEN, OVERWRITE, ESK_E_CORRUPT),
    OVERWRITING(SECOND_ANDS, OVERWRITE, ESK_E_CORRUPT),
    BROKEN(PAGES_SWAPPED, ADDRESS, ESK_E_CORRUPT),
    BROKEN(DISTURBS, DISTURBED, ESK_E_CORRUPT),
    OVERWRITING(DISTURBS, DISTURBED, ESK_E_CORRUPT),
    BROKEN(READ_IGNORES_OFFSET, READ_PART, ESK_E_CORRUPT),
    BROKEN(READS_WORDS, READ_PART, ESK_E_INVALID),
    BROKEN(READ_NEEDS_ALIGNMENT, ALIGNMENT, ESK_E_CORRUPT),
    BROKEN(PROGRAM_NEEDS_ALIGNMENT, ALIGNMENT, ESK_E_CORRUPT),
    BROKEN(ALIGNMENT_FAILS, ALIGNMENT, ESK_E_IO),
};

enum { BUGS = sizeof bugs / sizeof bugs[0] };

static int check_broken(enum bug which, bool overwrites) {
    struct esk_device_ops ops = {broken_read, broken_program, broken_erase,
                                 broken_sync, broken_is_bad,  NULL};
    struct esk_device device = {.ops = &ops, .geometry = geometries[0]};
    memset(cells, 0x5A, sizeof cells);
    for (unsigned i = 0; i < sizeof cells; i += 3) {
        cells[i] = (uint8_t)i;
    }
    bug = which;
    ops.sync = bug == BUG_NO_SYNC ? NULL : ops.sync;
    device.geometry.flags = overwrites ? ESK_MEDIUM_OVERWRITE : 0;
    return check(&device);
}

ESK_TEST(check_names_the_bug_of_every_broken_driver) {
    for (unsigned i = 0; i < BUGS; i++) {
        int status = check_broken(bugs[i].bug, bugs[i].overwrites);
        ESK_CONTEXT("%s%s: %s", bugs[i].name,
                    bugs[i].overwrites ? ", overwriting" : "",
                    esk_device_fault_text(fault.what));
        ESK_CHECK_INT(fault.what, bugs[i].what);
        ESK_CHECK_INT(status, bugs[i].status);
        if (bugs[i].call != NULL) {
            ESK_CHECK_TEXT(fault.call, bugs[i].call);
        }
    }
}

ESK_TEST(check_finds_every_address_bit_that_is_lost) {
    static const enum bug lost[] = {
        BUG_ADDRESS_WRAPS, BUG_PROGRAM_ADDRESS_WRAPS, BUG_READ_ADDRESS_WRAPS};
    for (unsigned i = 0; i < 6; i++) {
        for (address_mask = 1; address_mask < BLOCKS * PAGES;
             address_mask *= 2) {
            ESK_CHECK_INT(check_broken(lost[i % 3], i >= 3), ESK_E_CORRUPT);
            ESK_CHECK_INT(fault.what, ESK_DEVICE_FAULT_ADDRESS);
            ESK_CHECK_INT(fault.page ^ fault.other, address_mask);
        }
    }
}

ESK_TEST(check_reports_place_and_value_of_the_first_wrong_byte) {
    (void)check_broken(BUG_DISTURBS, false);
    ESK_CHECK_INT(fault.page, 4);
    ESK_CHECK_INT(fault.block, 1);
    ESK_CHECK_INT(fault.offset, 7);
    ESK_CHECK_INT(fault.read ^ fault.expected, 0x20);
    (void)check_broken(BUG_PROGRAMS_HALF, false);
    ESK_CHECK_INT(fault.page, 0);
    ESK_CHECK(fault.offset >= PAGE / 2);
    ESK_CHECK_INT(fault.read, 0xFF);
    (void)check_broken(BUG_ERASES_TO_ZERO, false);
    ESK_CHECK_INT(fault.read, 0);
    ESK_CHECK_INT(fault.expected, 0xFF);
    (void)check_broken(BUG_PROGRAM_COUNTS, false);
    ESK_CHECK_INT(fault.status, PAGE);
}

ESK_TEST(check_refuses_a_geometry_that_nothing_takes) {
    struct esk_device device = {.geometry = geometries[0]};
    device.geometry.block_count = 2;
    ESK_CHECK_INT(check(&device), ESK_E_GEOMETRY);
    ESK_CHECK_INT(fault.what, ESK_DEVICE_FAULT_GEOMETRY);
}

ESK_TEST(check_costs_what_its_header_states) {
    for (unsigned i = 0; i < GEOMETRIES; i++) {
        struct esk_sim_config config = {.geometry = geometries[i]};
        const struct esk_geometry *geometry = &geometries[i];
        struct esk_sim *sim;
        ESK_CHECK_INT(esk_sim_create(&sim, &config), ESK_OK);
        ESK_CHECK_INT(check(esk_sim_device(sim)), ESK_OK);
        const struct esk_sim_counters *counted = esk_sim_counters(sim);
        uint32_t blocks = geometry->block_count;
        uint32_t all = blocks * geometry->block_pages;
        bool twice = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0;
        ESK_CONTEXT("geometry %u", i);
        ESK_CHECK(counted->erases <= 5 * blocks + 10);
        ESK_CHECK(esk_sim_block_wear(sim, 0) <= 15);
        ESK_CHECK(counted->reads <= (twice ? 6 : 8) * all + 70);
        ESK_CHECK(counted->programs <= (twice ? 3 : 1) * all + 70);
        esk_sim_destroy(sim);
    }
}

ESK_TEST(check_has_a_text_for_every_fault) {
    for (unsigned i = 0; i <= ESK_DEVICE_FAULT_ALIGNMENT; i++) {
        ESK_CHECK(esk_device_fault_text((enum esk_device_fault_what)i) != NULL);
    }
    ESK_CHECK_TEXT(esk_device_fault_text((enum esk_device_fault_what)(
                       ESK_DEVICE_FAULT_ALIGNMENT + 1)),
                   "unknown fault");
}

ESK_TEST_MAIN()
