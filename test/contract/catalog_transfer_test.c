// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: EskerDB contributors

/// Transfers that fail in a change of the catalog: they may have done nothing,
/// part or all of it. Whatever the change returns, rows that a later sync
/// acknowledges are there after a reset.
#include "test/harness/esk_test.h"
#include "test/harness/failing_device.h"
#include "test/harness/media.h"

#include "esker/esker.h"
#include "port/sim/sim.h"

enum { OLD_ROWS = 200, NEW_ROWS = 60, KEY_STEP = 10, RATES = 7, SEEDS = 25 };

#define NARROW(C)                                                              \
    C(U32, time, "s")                                                          \
    C(U32, number, "")
#define WIDE(C)                                                                \
    NARROW(C)                                                                  \
    C(U32, more, "")
ESK_ROW(narrow, NARROW);
ESK_ROW(wide, WIDE);

static const struct esk_geometry media[] = {
    ESK_NOR(64, 8, 256), ESK_NAND(64, 8, 512), ESK_CARD(64, 8, 512)};

static const struct esk_series_spec spec = {
    .table = {.name = "log", ESK_ROW_SPEC(narrow)}, .data_blocks = 24};

/// Changes of the catalog.
enum change { ERASE_AFTER, ERASE_BEFORE, DROP, ADD_COLUMNS, CREATE, CHANGES };

/// What fails beside the transfers of programs and erases.
enum also { NOTHING, READS, SYNCS, ALSO };

static struct esk_sim *sim;
static struct esk_device front;
static struct esk_volume volume;
static struct esk_series *series;
static uint64_t arena[4096];

static void start(const struct esk_geometry *geometry, uint64_t seed) {
    static const struct esk_volume_config config = {.uuid = {1}};
    const struct esk_sim_config part = {.geometry = *geometry,
                                        .seed = seed,
                                        .erase_keeps = geometry->flags != 0 &&
                                                       seed % 2 != 0};
    esk_sim_destroy(sim);
    ESK_CHECK_INT(esk_sim_create(&sim, &part), ESK_OK);
    failing_device_make(&front, esk_sim_device(sim));
    ESK_CHECK_INT(esk_volume_mount_or_format(&volume, &front, 0, &config, arena,
                                             sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open_or_create(&series, &esk_series_parts_all,
                                            &volume, &spec, NULL, NULL),
                  ESK_OK);
}

static void rows_append(uint32_t from, uint32_t count, int *status) {
    struct narrow row = {.time = 0};
    *status = ESK_OK;
    for (uint32_t i = from; i < from + count && *status == ESK_OK; i++) {
        row.time = i * KEY_STEP;
        row.number = i;
        *status = esk_series_append(series, &row);
    }
    if (*status == ESK_OK) {
        *status = esk_series_sync(series);
    }
}

static int change_make(enum change change) {
    static const struct esk_table_spec wider = {.name = "log",
                                                ESK_ROW_SPEC(wide)};
    static const struct esk_series_spec other = {
        .table = {.name = "other", ESK_ROW_SPEC(narrow)}, .data_blocks = 8};
    switch (change) {
    case ERASE_AFTER:
        return esk_series_erase_after(series, OLD_ROWS / 2 * KEY_STEP);
    case ERASE_BEFORE:
        return esk_series_erase_before(series, OLD_ROWS / 2 * KEY_STEP);
    case CREATE:
        return esk_series_create(&volume, &other, NULL);
    case DROP:
        esk_series_close(series);
        return esk_volume_drop(&volume, "log");
    default:
        esk_series_close(series);
        return esk_series_add_columns(&volume, &esk_series_parts_all, &wider,
                                      NULL, NULL);
    }
}

/// Makes the change while transfers fail at random.
static int change_with_faults(enum change change, enum also also,
                              uint32_t per_million, uint32_t read) {
    const struct esk_sim_failures failures = {
        .transfer = {.per_million = per_million}};
    esk_sim_failures_set(sim, &failures);
    if (also == READS) {
        fail_from(read, UINT32_MAX, READ_BROKEN);
    }
    sync_fails = also == SYNCS;
    syncs_pass = read % 4;
    int status = change_make(change);
    esk_sim_failures_set(sim, NULL);
    (void)fail_end();
    sync_fails = false;
    return status;
}

/// Appends after the change, and checks the rows after a reset. Returns whether
/// a sync acknowledged them.
static bool rows_are_kept(bool is_open) {
    uint8_t row[64];
    int status = ESK_OK;
    if (!is_open) {
        status = esk_series_open(&series, &volume, "log", NULL);
        ESK_CHECK(status == ESK_OK || status == ESK_E_IO);
    }
    if (status == ESK_OK) {
        rows_append(OLD_ROWS + 1, NEW_ROWS, &status);
    }
    if (status != ESK_OK) {
        ESK_CHECK_INT(status, ESK_E_IO);
        return false;
    }
    ESK_CHECK_INT(esk_volume_mount(&volume, &front, 0, arena, sizeof arena),
                  ESK_OK);
    ESK_CHECK_INT(esk_series_open(&series, &volume, "log", NULL), ESK_OK);
    for (uint32_t i = OLD_ROWS + 1; i <= OLD_ROWS + NEW_ROWS; i++) {
        ESK_CHECK_INT(esk_series_get(series, (esk_key)i * KEY_STEP, row),
                      ESK_OK);
    }
    return true;
}

static void runs_make(enum change change, enum also also) {
    uint32_t failed = 0;
    uint32_t kept = 0;
    for (uint32_t run = 0; run < 3u * RATES * SEEDS; run++) {
        uint32_t rate = (run / 3 % RATES + 2) * 60000;
        int status = ESK_OK;
        ESK_CONTEXT("change %d, with %d, medium %lu, rate %lu, run %lu", change,
                    also, (unsigned long)run % 3, (unsigned long)rate,
                    (unsigned long)run);
        start(&media[run % 3], run);
        rows_append(1, OLD_ROWS, &status);
        ESK_CHECK_INT(status, ESK_OK);
        status = change_with_faults(change, also, rate, run / 3 % 90 + 1);
        if (status == ESK_E_IO) {
            failed++;
            kept += rows_are_kept(change != DROP && change != ADD_COLUMNS);
        }
    }
    esk_sim_destroy(sim);
    sim = NULL;
    ESK_CHECK(failed > 10);
    /* A change whose superblock is there but cannot be synced: nothing is
       acknowledged before a reset. */
    ESK_CHECK(also == SYNCS || kept * 10 > failed * 9);
}

ESK_TEST(rows_synced_after_a_change_of_the_catalog_that_failed_are_kept) {
    for (enum change change = 0; change < CHANGES; change++) {
        runs_make(change, NOTHING);
    }
}

ESK_TEST(so_are_rows_after_one_in_which_reads_fail) {
    for (enum change change = 0; change < CHANGES; change++) {
        runs_make(change, READS);
    }
}

ESK_TEST(so_are_rows_after_one_in_which_syncs_fail) {
    for (enum change change = 0; change < CHANGES; change++) {
        runs_make(change, SYNCS);
    }
}

ESK_TEST_MAIN()
