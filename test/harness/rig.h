// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A rig: a simulator, the volume on it and one open series, for tests that
/// choose their own schema. A call that fails ends the test.
///
///     rig_start(&rig, &rig_nor, NULL);
///     rig_create(&rig, &spec);
///     rig_open(&rig, "log", NULL);
///     ... esk_series_append(rig.series, row) ...
///     rig_reboot(&rig);          as a power cut between two calls
///     rig_end(&rig);
#ifndef ESK_TEST_RIG_H
#define ESK_TEST_RIG_H

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/esk_test.h"

struct esk_rig {
    struct esk_sim *sim;
    const struct esk_device *device;
    struct esk_volume volume;
    struct esk_series *series;
    const struct esk_series_config *config;
    const char *name;
    void *arena;
    uint32_t arena_bytes;
    struct esk_device medium; ///< the simulator's, with reads that fail
    struct esk_device_ops ops;
    uint8_t flags; ///< for the next mount
    uint8_t page[16384];
};

/// NOR: bytes are programmed one by one, so syncs seal.
static const struct esk_geometry rig_nor = {.block_count = 64,
                                            .block_pages = 8,
                                            .page_bytes = 256,
                                            .program_bytes = 1,
                                            .erased_value = 0xFF};

/// NAND: a page is programmed once, so a sync costs a page.
static const struct esk_geometry rig_nand = {.block_count = 64,
                                             .block_pages = 16,
                                             .page_bytes = 512,
                                             .program_bytes = 512,
                                             .programs_per_page_max = 1,
                                             .erased_value = 0xFF};

/// SD and the like: pages are overwritten, erase keeps what was there.
static const struct esk_geometry rig_sd = {.block_count = 64,
                                           .block_pages = 8,
                                           .page_bytes = 512,
                                           .program_bytes = 512,
                                           .flags = ESK_MEDIUM_OVERWRITE};

/// The simulator's own read.
static int (*rig_read_call)(const struct esk_device *device, esk_page_id page,
                            uint16_t offset, void *buffer, uint16_t bytes);

/// The read, counted from 1, that fails next; 0: none.
static uint32_t rig_read_fails;

/// The read after that one that fails as well; 0: none.
static uint32_t rig_read_again;

static inline int rig_read(const struct esk_device *device, esk_page_id page,
                           uint16_t offset, void *buffer, uint16_t bytes) {
    if (rig_read_fails > 0 && --rig_read_fails == 0) {
        rig_read_fails = rig_read_again;
        rig_read_again = 0;
        return ESK_E_IO;
    }
    return rig_read_call(device, page, offset, buffer, bytes);
}

static inline void rig_mount(struct esk_rig *rig) {
    ESK_CHECK_INT(
        esk_volume_mount(&rig->volume, rig->device, rig->flags, rig->page),
        ESK_OK);
}

/// Makes a formatted, mounted volume. config NULL: the defaults.
static inline void rig_start(struct esk_rig *rig,
                             const struct esk_geometry *geometry,
                             const struct esk_volume_config *config) {
    static const struct esk_volume_config plain = {.tables_max = 2};
    struct esk_sim_config medium = {
        .geometry = *geometry,
        .seed = 1,
        .erase_keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    memset(rig, 0, sizeof *rig);
    ESK_CHECK_INT(esk_sim_create(&rig->sim, &medium), ESK_OK);
    rig->medium = *esk_sim_device(rig->sim);
    rig->ops = *rig->medium.ops;
    rig->medium.ops = &rig->ops;
    rig->device = &rig->medium;
    rig_read_call = rig->ops.read;
    rig_read_fails = 0;
    rig->ops.read = rig_read;
    ESK_CHECK_INT(esk_volume_format(
                      rig->device, config != NULL ? config : &plain, rig->page),
                  ESK_OK);
    rig_mount(rig);
}

static inline void rig_create(struct esk_rig *rig,
                              const struct esk_table_spec *spec) {
    struct esk_fault fault = {0, 0};
    int status = esk_volume_create(&rig->volume, ESK_TABLE_SERIES, spec, &fault,
                                   rig->page);
    if (status == ESK_E_SCHEMA) {
        ESK_CHECK_TEXT(esk_fault_text(fault.kind), "");
    }
    ESK_CHECK_INT(status, ESK_OK);
}

/// Opens a table in an arena of exactly the bytes it needs. Returns the
/// status of open.
static inline int rig_try_open(struct esk_rig *rig, const char *name,
                               const struct esk_series_config *config) {
    struct esk_table_info info;
    int status = esk_volume_find(&rig->volume, name, &info, rig->page);
    if (status != ESK_OK) {
        return status;
    }
    rig->name = name;
    rig->config = config;
    rig->arena_bytes =
        esk_series_arena_bytes(&rig->volume, &info, config, rig->page);
    ESK_CHECK(rig->arena_bytes > 0);
    free(rig->arena);
    rig->arena = malloc(rig->arena_bytes);
    return esk_series_open(&rig->series, &rig->volume, name, config, rig->arena,
                           rig->arena_bytes);
}

static inline void rig_open(struct esk_rig *rig, const char *name,
                            const struct esk_series_config *config) {
    ESK_CHECK_INT(rig_try_open(rig, name, config), ESK_OK);
}

/// Forgets all RAM, mounts and opens again.
static inline void rig_reboot(struct esk_rig *rig) {
    esk_sim_power_on(rig->sim);
    memset(rig->arena, 0xA5, rig->arena_bytes);
    rig_mount(rig);
    rig_open(rig, rig->name, rig->config);
}

/// Frees everything; the medium must never have been misused.
static inline void rig_end(struct esk_rig *rig) {
    ESK_CHECK_TEXT(esk_sim_violation(rig->sim), "");
    esk_sim_destroy(rig->sim);
    free(rig->arena);
    memset(rig, 0, sizeof *rig);
}

#endif
