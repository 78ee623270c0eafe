// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// A fixture: a simulator, the volume on it and one open series, for tests that
/// choose their own schema. A call that fails ends the test.
///
///     fixture_start(&fixture, &fixture_nor, NULL);
///     fixture_create(&fixture, &spec);
///     fixture_open(&fixture, "log", NULL);
///     ... esk_series_append(fixture.series, row) ...
///     fixture_reboot(&fixture);          as a power cut between two calls
///     fixture_end(&fixture);
#ifndef ESK_TEST_FIXTURE_H
#define ESK_TEST_FIXTURE_H

#include "esker/esker.h"
#include "port/sim/sim.h"
#include "test/harness/arena.h"
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"
#include "test/harness/table_columns.h"

struct esk_fixture {
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
static const struct esk_geometry fixture_nor = ESK_NOR(64, 8, 256);

/// NAND: a page is programmed once, so a sync costs a page.
static const struct esk_geometry fixture_nand = ESK_NAND(64, 16, 512);

/// SD and the like: pages are overwritten, erase does nothing.
static const struct esk_geometry fixture_sd = ESK_CARD(64, 8, 512);

/// Columns of a small table, whose rows have 6 bytes.
static const struct esk_column fixture_columns[] = {
    {.name = "at", .type = ESK_TYPE_U32}, {.name = "x", .type = ESK_TYPE_U16}};

static inline void fixture_mount(struct esk_fixture *fixture) {
    ESK_CHECK_INT(esk_volume_mount(&fixture->volume, fixture->device,
                                   fixture->flags, TEST_SCRATCH),
                  ESK_OK);
}

/// Makes a formatted, mounted volume. config NULL: the defaults.
static inline void fixture_start(struct esk_fixture *fixture,
                                 const struct esk_geometry *geometry,
                                 const struct esk_volume_config *config) {
    static const struct esk_volume_config plain = {.tables_max = 2};
    struct esk_sim_config medium = {
        .geometry = *geometry,
        .seed = 1,
        .erase_keeps = (geometry->flags & ESK_MEDIUM_OVERWRITE) != 0,
    };
    memset(fixture, 0, sizeof *fixture);
    ESK_CHECK_INT(esk_sim_create(&fixture->sim, &medium), ESK_OK);
    failing_device_make(&fixture->medium, esk_sim_device(fixture->sim));
    fixture->device = &fixture->medium;
    ESK_CHECK_INT(esk_volume_format(fixture->device,
                                    config != NULL ? config : &plain,
                                    TEST_SCRATCH),
                  ESK_OK);
    fixture_mount(fixture);
}

static inline void fixture_create(struct esk_fixture *fixture,
                                  const struct esk_series_spec *spec) {
    struct esk_fault fault = {.kind = 0};
    int status = esk_series_create(&fixture->volume, spec, &fault);
    if (status == ESK_E_SCHEMA) {
        ESK_CHECK_TEXT(esk_fault_text(fault.kind), "");
    }
    ESK_CHECK_INT(status, ESK_OK);
}

/// Opens a table in an arena of exactly the bytes it needs. Returns the
/// status of open.
static inline int fixture_try_open(struct esk_fixture *fixture,
                                   const char *name,
                                   const struct esk_series_config *config) {
    struct esk_table_info info;
    int status = esk_volume_find(&fixture->volume, name, &info);
    if (status != ESK_OK) {
        return status;
    }
    fixture->name = name;
    fixture->config = config;
    fixture->arena_bytes =
        esk_series_arena_bytes(&fixture->volume, &info, config);
    if (fixture->arena_bytes == 0) {
        return ESK_E_IO; /* of the catalog */
    }
    free(fixture->arena);
    fixture->arena = malloc(fixture->arena_bytes);
    return test_series_open(&fixture->series, &fixture->volume, name, config,
                            fixture->arena, fixture->arena_bytes);
}

static inline void fixture_open(struct esk_fixture *fixture, const char *name,
                                const struct esk_series_config *config) {
    ESK_CHECK_INT(fixture_try_open(fixture, name, config), ESK_OK);
}

/// Drops all RAM, mounts and opens again.
static inline void fixture_reboot(struct esk_fixture *fixture) {
    esk_sim_power_on(fixture->sim);
    memset(fixture->arena, 0xA5, fixture->arena_bytes);
    fixture_mount(fixture);
    fixture_open(fixture, fixture->name, fixture->config);
}

/// Frees everything; checks that the medium was never misused.
static inline void fixture_end(struct esk_fixture *fixture) {
    ESK_CHECK_TEXT(esk_sim_violation(fixture->sim), "");
    esk_sim_destroy(fixture->sim);
    free(fixture->arena);
    memset(fixture, 0, sizeof *fixture);
}

#endif
