// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Bad input on the chip: each returns a status that firmware can act on, and
/// acknowledged rows are still there.
///
///     arena one byte short, or of none     ESK_E_NO_MEMORY
///     chip of another size                 ESK_E_GEOMETRY
///     blank chip                           ESK_NOT_FOUND
///     no such table                        ESK_NOT_FOUND
///     invalid calls on the table           fault_refuses
///     the transfer or the medium fails, once, for a while or for good, from
///     any call of mount, open and the application's work on
///
/// The table is that of the file linked with it: see fault.h.
#include <stddef.h>

#include "bench/mcu/firmware.h"
#include "bench/mcu/medium.h"
#include "esker/esker.h"
#include "test/mcu/fault.h"

enum {
    MISSED_MAX = 6,   ///< works in a row without the failure
    WORKS_MIN = 50,   ///< calls; else the loop has not reached each
    WHILE_CALLS = 40, ///< that fail in a row
    MEDIUM_CALLS = 9, ///< programs and erases of a work, approximately
    MEDIUM_WORKS = 45,
};

struct esk_volume fault_volume;
uint64_t fault_arena[FAULT_ARENA_BYTES / sizeof(uint64_t)];

static int volume_mount(void) {
    return esk_volume_mount(&fault_volume, &medium_device, 0, fault_arena,
                            sizeof fault_arena);
}

static int mount(void) {
    ESK_TRY(volume_mount());
    return fault_open("log", sizeof fault_arena);
}

static void leave(void) {
    fault_close();
    esk_volume_unmount(&fault_volume);
}

/// A volume with an empty table, mounted.
static void create(void) {
    static const struct esk_volume_config format = {.uuid = {0xE5, 0xCE},
                                                    .overwrite = true};
    FIRMWARE_DO(esk_volume_format(&medium_device, &format, fault_arena,
                                  sizeof fault_arena));
    FIRMWARE_DO(volume_mount());
    FIRMWARE_DO(fault_create());
}

static void refuses_what_does_not_fit(void) {
    struct esk_table_info info;
    struct esk_device other = medium_device;
    firmware_group_begin("refuses");
    FIRMWARE_WANT(ESK_NOT_FOUND, volume_mount());
    create();
    FIRMWARE_DO(esk_volume_find(&fault_volume, "log", &info));
    uint32_t bytes = fault_arena_needed(&info);
    FIRMWARE_HOLDS(bytes > 0 && bytes <= sizeof fault_arena);
    FIRMWARE_WANT(ESK_E_NO_MEMORY, fault_open("log", bytes - 1));
    FIRMWARE_WANT(ESK_E_NO_MEMORY, fault_open("log", 0));
    FIRMWARE_WANT(ESK_NOT_FOUND, fault_open("lag", bytes));
    FIRMWARE_DO(fault_open("log", bytes));
    leave();
    other.geometry.block_count /= 2;
    FIRMWARE_WANT(ESK_E_GEOMETRY,
                  esk_volume_mount(&fault_volume, &other, 0, fault_arena,
                                   sizeof fault_arena));
    other.geometry.block_count *= 4;
    FIRMWARE_WANT(ESK_E_GEOMETRY,
                  esk_volume_mount(&fault_volume, &other, 0, fault_arena,
                                   sizeof fault_arena));
    firmware_group_end(7);
}

static void verify(void) {
    medium_clear();
    FIRMWARE_DO(mount());
    fault_verify();
    leave();
}

static void refuses_what_the_table_does(void) {
    firmware_group_begin("rows");
    FIRMWARE_DO(mount());
    fault_refuses();
    leave();
    verify();
    firmware_group_end(1);
}

/// The calls of an application while the driver fails. Returns the first
/// failure.
static int work(void) {
    int status = mount();
    if (status == ESK_OK) {
        status = fault_work();
        fault_close();
    }
    esk_volume_unmount(&fault_volume);
    return status;
}

/// Makes the driver fail from its call `at` on, for `more` calls after it, then
/// checks the rows. Returns the status; `met`: the work reached the failure.
static int fails_at(uint32_t at, uint32_t more, bool lost, bool *met) {
    medium_clear();
    medium.fails_more = more;
    medium.fails_medium = lost;
    medium.fails_at = at;
    int status = work();
    *met = medium.calls >= at;
    firmware_holds(status <= ESK_OK, __LINE__, status);
    verify();
    if (fault_is_old()) {
        create();
        esk_volume_unmount(&fault_volume);
    }
    return status;
}

/// Makes call after call fail, each `step`th of them, until the work ends
/// before it, on a table of any size: the table grows, and is made again.
static void survives_the_bus(const char *name, uint32_t more, uint8_t step) {
    uint32_t failed = 0;
    uint32_t runs = 0;
    uint32_t at = 1;
    uint8_t missed = 0;
    firmware_group_begin(name);
    while (missed <= MISSED_MAX) {
        bool met = false;
        failed += fails_at(at, more, false, &met) != ESK_OK;
        missed = met ? 0 : (uint8_t)(missed + 1);
        at += step;
        runs++;
    }
    FIRMWARE_HOLDS(at > WORKS_MIN);
    FIRMWARE_HOLDS(more == 0 || failed > 0); /* one failure is repeated */
    medium_clear();
    firmware_digest(&failed, sizeof failed);
    firmware_group_end(runs);
}

/// The medium fails a program or an erase, at any age of the table.
static void survives_the_medium(const char *name, uint32_t more) {
    uint32_t failed = 0;
    uint32_t hits = 0;
    firmware_group_begin(name);
    for (uint32_t i = 0; i < MEDIUM_WORKS; i++) {
        bool met = false;
        int status = fails_at(1 + i % MEDIUM_CALLS, more, true, &met);
        failed += status != ESK_OK;
        hits += met;
    }
    FIRMWARE_HOLDS(hits > MEDIUM_WORKS / MEDIUM_CALLS);
    FIRMWARE_HOLDS(more == 0 || failed > 0);
    medium_clear();
    firmware_digest(&failed, sizeof failed);
    firmware_digest(&hits, sizeof hits);
    firmware_group_end(MEDIUM_WORKS);
}

int main(void) {
    refuses_what_does_not_fit();
    refuses_what_the_table_does();
    survives_the_bus("transfer_once", 0, 1);
    survives_the_bus("transfer_a_while", WHILE_CALLS, 3);
    survives_the_bus("transfer_for_good", UINT32_MAX, 5);
    survives_the_medium("medium_once", 0);
    survives_the_medium("medium_for_good", UINT32_MAX);
    esk_board_exit(0);
}
