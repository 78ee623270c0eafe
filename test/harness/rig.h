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
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

struct esk_rig {
    struct esk_sim *sim;
    const struct esk_device *device;
    struct esk_volume volume;
    struct esk_series *series;
    const struct esk_series_config *config;
    const char *name;
    void *arena;
    uint32_t arena_bytes;
    struct esk_device medium; ///< before the simulator's; can fail
    uint8_t flags;            ///< for the next mount
    uint8_t page[16384];
};

/// NOR: bytes are programmed one by one, so syncs seal.
static const struct esk_geometry rig_nor = ESK_NOR(64, 8, 256);

/// NAND: a page is programmed once, so a sync costs a page.
static const struct esk_geometry rig_nand = ESK_NAND(64, 16, 512);

/// SD and the like: pages are overwritten, erase keeps what was there.
static const struct esk_geometry rig_sd = ESK_CARD(64, 8, 512);

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
    failing_device_make(&rig->medium, esk_sim_device(rig->sim));
    rig->device = &rig->medium;
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
